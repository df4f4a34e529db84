# SPDX-License-Identifier: MIT
"""The kernel's source: the newest that Debian has, a tree of it with our patches, and what a patch must be like."""
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PATCHES = HERE / "patches"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
MIRROR = "http://deb.debian.org/debian"
RELEASE = "sid"
SKIP = re.compile(r"^Skip-when: (\S+) has (.*)$", re.M)
HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class Failed(Exception):
    """What cannot be done, in one line."""


def run(words, what, **more):
    """Run a command quietly. Its output; the end of it is shown if the command fails."""
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False, **more)
    except OSError as err:
        raise Failed(f"{what}: {err}") from err
    if done.returncode:
        print("\n".join(done.stdout.splitlines()[-30:]), file=sys.stderr)
        raise Failed(f"{what}: {words[0]} ended with {done.returncode}")
    return done.stdout


# ---- the source -----------------------------------------------------------------------------------------------------

def apt_options(state):
    for name in ("lists/partial", "archives/partial"):
        (state / name).mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    (state / "sources.list").write_text(f"deb [signed-by={KEYRING}] {MIRROR} {RELEASE} main\n", encoding="utf-8")
    return ["-qq", "-o", f"Dir::Etc::SourceList={state}/sources.list", "-o", "Dir::Etc::SourceParts=-",
            "-o", f"Dir::State={state}", "-o", f"Dir::State::status={state}/status", "-o", f"Dir::Cache={state}",
            "-o", "APT::Sandbox::User=", "-o", "Acquire::Languages=none", "-o", "Acquire::Retries=3",
            "-o", "APT::Update::Error-Mode=any", "-o", "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
            "-o", "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false"]


def version_key(package):
    return [int(part) for part in package.removeprefix("linux-source-").split(".")]


def newest(names):
    """The package with the newest source, of all names of packages."""
    found = [name for name in names if re.fullmatch(r"linux-source-\d+(\.\d+)+", name)]
    if not found:
        raise Failed(f"Debian {RELEASE} has no package linux-source-VERSION")
    return max(found, key=version_key)


def source_in(work):
    """The folder of the plain source in @work, or None."""
    found = sorted(work.glob("linux-[0-9]*/Makefile"), key=lambda path: path.stat().st_mtime)
    return found[-1].parent if found else None


def release_of(tree):
    """Such as 7.2.13, as the source's own Makefile says."""
    text = (tree / "Makefile").read_text(encoding="utf-8")
    parts = [re.search(rf"^{name} = *(.*)$", text, re.M).group(1) for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    return ".".join(parts)


def fetch(work):
    """Fetch the newest source of Debian's archive, unpacked into work/linux-VERSION; quick if it is there."""
    if source := source_in(work):
        return source
    for tool in ("apt-get", "apt-cache", "dpkg-deb"):
        if not shutil.which(tool):
            raise Failed(f"cannot fetch the kernel's source: no {tool} here")
    options = apt_options(work / "apt")
    run(["apt-get", *options, "update"], f"the list of Debian {RELEASE}'s packages")
    package = newest(run(["apt-cache", *options, "pkgnames", "linux-source-"], "names of sources").split())
    for old in work.glob("linux-source-*.deb"):
        old.unlink()
    run(["apt-get", *options, "download", package], package, cwd=work)
    deb, = work.glob("linux-source-*.deb")
    with tempfile.TemporaryDirectory(dir=work) as folder:
        run(["dpkg-deb", "-x", str(deb), folder], f"unpack {deb.name}")
        archive, = pathlib.Path(folder).glob("usr/src/linux-source-*.tar.xz")
        with tarfile.open(archive) as tar:
            top = tar.next().name.split("/")[0]
        run(["tar", "-C", folder, "-xf", str(archive)], f"unpack {archive.name}")
        unpacked = pathlib.Path(folder) / top
        (unpacked / "debian-version").write_text(f"{deb.name}\n", encoding="utf-8")
        into = work / f"linux-{release_of(unpacked)}"
        unpacked.rename(into)
    deb.unlink()
    shutil.rmtree(work / "apt")
    return into


# ---- patches --------------------------------------------------------------------------------------------------------

def patches(folder=PATCHES, only=""):
    return [path for path in sorted(folder.glob("[0-9][0-9][0-9][0-9]-*.patch")) if re.search(only, path.name)]


def files_of(text):
    """Names of files that a patch changes or makes."""
    return sorted({name for name in re.findall(r"^(?:---|\+\+\+) [ab]/(\S+)", text, re.M)})


def complain(path):
    """What is wrong with the form of a patch, one line each."""
    text = path.read_text(encoding="utf-8")
    head, mark, body = text.partition("\n---\n")
    if not mark:
        return [f"{path.name}: no line '---' behind the commit message"]
    wrong = []
    for what in ("From: ", "Subject: [PATCH", "Signed-off-by: "):
        if not re.search("^" + re.escape(what), head, re.M):
            wrong.append(f"{path.name}: the commit message has no '{what.strip()}'")
    if len([line for line in head.partition("\n\n")[2].splitlines() if line]) < 4:
        wrong.append(f"{path.name}: the commit message does not say what and why")
    lines = body.splitlines()
    number = head.count("\n") + 3  # of the first line of the body
    at = hunks = 0
    while at < len(lines):
        match = HUNK.match(lines[at])
        at += 1
        if not match:
            continue
        hunks += 1
        start, old, new = at, int(match.group(2) or 1), int(match.group(4) or 1)
        while at < len(lines) and (old or new):
            kind = lines[at][:1] or " "
            old -= kind in " -"
            new -= kind in " +"
            if kind not in " +-\\" or min(old, new) < 0:
                break
            at += 1
        if old or new:
            wrong.append(f"{path.name}:{number + start - 1}: a hunk does not have as many lines as it says")
    if not hunks or not files_of(body):
        wrong.append(f"{path.name}: changes nothing")
    return wrong


def unneeded(text, root):
    """Whether the tree has what the patch brings, as its line 'Skip-when: FILE has TEXT' says."""
    match = SKIP.search(text)
    path = root / match.group(1) if match else None
    return bool(match) and path.exists() and match.group(2).strip() in path.read_text(encoding="utf-8", errors="replace")


def apply_one(path, root):
    """Apply a patch in @root. One clear line if it does not fit."""
    # With more fuzz a short hunk fits anywhere.
    done = subprocess.run(["patch", "-p1", "--batch", "--forward", "--no-backup-if-mismatch", "--fuzz=1", "-r", "-", "-i",
                           str(path)], cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        name, hunk = "?", "it does not apply"
        for line in done.stdout.splitlines():
            if match := re.match(r"(?:patching|checking) file '?([^' ]+)", line):
                name = match.group(1)
            if re.search(r"FAILED|can't find file|Reversed|No file to patch", line):
                hunk = line.strip().rstrip(".")
                break
        raise Failed(f"{path.name} does not fit this kernel: {name}: {hunk}")


def patched(source, chosen, room):
    """Apply the patches @chosen to copies of the files that they change, in the folder @room. ({file}, [applied])"""
    touched = {name for path in chosen for name in files_of(path.read_text(encoding="utf-8"))}
    for name in touched:
        if (source / name).exists():
            (room / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source / name, room / name)
    applied = []
    for path in chosen:
        if not unneeded(path.read_text(encoding="utf-8"), source):
            apply_one(path, room)
            applied.append(path.name)
    return touched, applied


def differs(one, other):
    return not one.exists() or not other.exists() or one.read_bytes() != other.read_bytes()


def version_note(root):
    note = root / "debian-version"
    return note.read_text(encoding="utf-8") if note.exists() else release_of(root)


def update(source, tree, chosen):
    """Make @tree the source with the patches; only files that change are written, so that a build goes on from there."""
    tree.parent.mkdir(parents=True, exist_ok=True)
    with open(tree.parent / f"{tree.name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with tempfile.TemporaryDirectory(dir=tree.parent) as folder:
            room = pathlib.Path(folder)
            touched, applied = patched(source, chosen, room)
            if not (tree / "Makefile").exists() or version_note(tree) != version_note(source):
                for half in (tree, f"{tree}.new"):
                    shutil.rmtree(half, ignore_errors=True)
                # patch() and we make new files, so links are as good as copies.
                run(["cp", "-a", "--link", str(source), f"{tree}.new"], "copy the source")
                os.rename(f"{tree}.new", tree)
            (tree / "patched-by").write_text(f"{digest(chosen)}\n", encoding="utf-8")
            note = tree / "patched-files"
            before = set(note.read_text(encoding="utf-8").split()) if note.exists() else set()
            note.write_text("\n".join(sorted(touched | before)) + "\n", encoding="utf-8")
            for name in sorted(touched | before):
                wanted = room / name if (room / name).exists() else source / name
                if not wanted.exists():
                    (tree / name).unlink(missing_ok=True)
                elif differs(wanted, tree / name):
                    (tree / name).parent.mkdir(parents=True, exist_ok=True)
                    (tree / name).unlink(missing_ok=True)  # a link
                    shutil.copyfile(wanted, tree / name)
                    os.chmod(tree / name, wanted.stat().st_mode)
    return applied


def digest(paths):
    """A short name for what @paths contain."""
    whole = hashlib.sha256()
    for path in paths:
        whole.update(path.name.encode() + path.read_bytes())
    return whole.hexdigest()[:12]
