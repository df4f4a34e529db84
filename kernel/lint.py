# SPDX-License-Identifier: MIT
"""What the kernel's own checkers say of the patches and the modules: checkpatch.pl, kernel-doc, sparse, and gcc by W=1."""
import collections
import os
import pathlib
import re
import shutil
import subprocess

import build
import checks
import tree
from tree import Failed, run

# What checkpatch.pl says and we leave as it is: (end of the file's name, its word for it): why.
ACCEPTED = {
    ("hazptr/hazptr.h", "NEW_TYPEDEFS"): "hazptr_t is what the proposal calls a slot",
    ("hazptr/hazptr_torture.c", "ALLOC_WITH_SIZEOF"): "kernels before 7.0, for which it is built too, have no kzalloc_obj()",
    ("Add-KUnit-tests.patch", "FILE_PATH_CHANGES"): "MAINTAINERS has all of kernel/locking/",
}
SAID = re.compile(r"^(?P<file>.+?):\d+: (?:ERROR|WARNING|CHECK):(?P<word>[A-Z_]+): (?P<text>.*)$")
COMPILED = re.compile(r"^(?:\.\./|\./)*(?P<file>\S+?):\d+(?::\d+)?: (?P<text>(?:warning|error): .*)$")
FRAGMENTS = ("lockdep",)  # a configuration with all files that patches change


# ---- checkpatch.pl, kernel-doc --------------------------------------------------------------------------------------

def checkpatch_lines(status, text):
    """[(file, word, text)] of what checkpatch.pl printed. It prints nothing, and ends with 0, when there is nothing to say."""
    found = [match.group("file", "word", "text") for match in map(SAID.match, text.splitlines()) if match]
    if bool(found) != bool(status) or (text and not re.search(r"^total: \d+ errors, ", text, re.M)):
        raise Failed(f"checkpatch.pl has not checked: status {status}: " + " ".join(text.split())[:200])
    return found


def accepted(name, word):
    return next((key for key in ACCEPTED if name.endswith(key[0]) and word == key[1]), None)


def checkpatch(source, path):
    words = [str(source / "scripts/checkpatch.pl"), "--strict", "--terse", "--show-types", "--root", str(source)]
    words += [str(path)] if path.suffix == ".patch" else ["--file", str(path)]
    done = subprocess.run(words, cwd=source, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", check=False)
    return checkpatch_lines(done.returncode, done.stdout)


def files_of_modules():
    return sorted(path for folder in checks.modules() for path in folder.glob("*.[ch]") if not path.is_symlink())


def new_files():
    """Files of the kernel that patches make."""
    text = "".join(path.read_text(encoding="utf-8") for path in tree.patches())
    return sorted(set(re.findall(r"^--- /dev/null\n\+\+\+ b/(\S+\.[ch])$", text, re.M)))


def kernel_doc(source, files):
    """Lines of scripts/kernel-doc about comments of the form /** that are wrong."""
    done = subprocess.run([str(source / "scripts/kernel-doc"), "-none", "-Werror", *map(str, files)], cwd=source, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return done.stdout.splitlines() or [f"ended with {done.returncode}"] if done.returncode else []


# ---- sparse, W=1 ----------------------------------------------------------------------------------------------------

def fetch_sparse(work):
    """sparse of the release that the source comes from, unpacked beside it with the libc that it needs: the path of a wrapper.
    Debian bookworm's cannot parse the headers of a current kernel."""
    into = work / "sparse"
    wrapper = into / "run"
    if wrapper.exists() and subprocess.run([str(wrapper), "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL, check=False).returncode == 0:
        return wrapper
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    options = tree.apt_options(into / "apt")
    run(["apt-get", *options, "update"], f"the list of Debian {tree.RELEASE}'s packages")
    run(["apt-get", *options, "download", "sparse", "libc6"], "sparse", cwd=into)
    for deb in into.glob("*.deb"):
        run(["dpkg-deb", "-x", str(deb), str(into)], f"unpack {deb.name}")
        deb.unlink()
    shutil.rmtree(into / "apt")
    loader = next(iter(sorted(into.glob("usr/lib/*/ld-linux*.so.*"))), None)
    if not loader:
        raise Failed("sparse: no dynamic loader in libc6")
    half = into / "half"
    command = f"exec '{loader}' --library-path '{loader.parent}' '{into}/usr/bin/sparse' \"$@\""
    half.write_text(f"#!/bin/sh\n{command}\n", encoding="utf-8")
    half.chmod(0o755)
    run([str(half), "--version"], "sparse")
    half.rename(wrapper)
    return wrapper


def version(sparse):
    """The package's: sparse itself says 0.6.4 in each of them."""
    said = run([str(sparse), "--version"], "sparse")
    return (re.search(r"Debian: ([^)]+)", said) or re.search(r"(\S+)", said)).group(1)


def compiled_lines(text):
    """How often the compiler and sparse have said what about which file; without numbers of lines, which patches move."""
    return collections.Counter(match.group("file", "text") for match in map(COMPILED.match, text.splitlines()) if match)


def objects(root):
    """Objects of the C files that patches change or make, as far as the tree @root has them."""
    names = {name for path in tree.patches() for name in tree.files_of(path.read_text(encoding="utf-8"))}
    return sorted(name[:-2] + ".o" for name in names if name.endswith(".c") and (root / name).exists())


def words(sparse):
    return ["W=1", *(["C=2", f"CHECK={sparse}"] if sparse else [])]


def compile_objects(root, sparse):
    """Compile the objects in a folder of their own. (Counter, how many)"""
    out, wanted = root / "O-style", objects(root)
    build.configure(root, out, FRAGMENTS)
    for name in wanted:
        (out / name).unlink(missing_ok=True)
    text = build.make(root, *words(sparse), *wanted, out=out.name)
    missing = [name for name in wanted if not (out / name).exists() or (sparse and f"CHECK   ../{name[:-2]}.c" not in text)]
    if missing:
        raise Failed(f"not compiled, or not checked: {' '.join(missing)}")
    return compiled_lines(text), len(wanted)


def compile_modules(kernel, into, sparse):
    """Compile the modules for the kernel built in @kernel. (Counter of what is said about their files, names)"""
    said, names = collections.Counter(), []
    into.mkdir(parents=True, exist_ok=True)
    for folder in checks.modules():
        if not checks.fits(folder, kernel):
            continue
        log = into / f"{folder.name}.log"
        log.unlink(missing_ok=True)
        build.build_module(folder, kernel, into / folder.name, log, words(sparse))
        text = log.read_text(encoding="utf-8")
        for (file, what), count in compiled_lines(text).items():
            if (folder / os.path.basename(file)).exists():
                said[(f"{folder.name}/{os.path.basename(file)}", what)] += count
        names.append(folder.name)
    return said, names


def work_folder():
    return pathlib.Path(os.environ["LULL_KERNEL_DIR"])
