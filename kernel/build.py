# SPDX-License-Identifier: MIT
"""Builds: kernels, modules, programs of the guest."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

import tree
from tree import HERE, Failed, run

CONFIG = HERE / "config"
MODULES = HERE / "modules"
# One time for all builds, so that ccache finds what was compiled before.
SAME = {"KBUILD_BUILD_TIMESTAMP": "2026-01-01", "KBUILD_BUILD_USER": "lull", "KBUILD_BUILD_HOST": "lull",
        "KBUILD_BUILD_VERSION": "1", "CCACHE_NOHASHDIR": "1", "CCACHE_DEPEND": "1"}


def environment(root):
    """ccache calls a file by its path from the folder of the tree on, wherever that is."""
    return {**os.environ, **SAME, "CCACHE_BASEDIR": os.environ.get("CCACHE_BASEDIR", str(root.parent.resolve()))}


def make(root, *words, out=None, log=None, jobs=None):
    """Run make in @root. Its output is in the file @log, and the errors of it are shown when it fails."""
    compiler = ["CC=ccache gcc", "HOSTCC=ccache gcc"] if shutil.which("ccache") else []
    jobs = jobs or os.environ.get("LULL_KERNEL_JOBS") or str(os.cpu_count())
    command = ["nice", "-n", "5", "make", f"-j{jobs}", "-C", str(root), *([f"O={out}"] if out else []), *compiler, *words]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", env=environment(root), check=False)
    if log:
        with open(log, "a", encoding="utf-8") as file:
            file.write(f"$ {' '.join(command)}\n{done.stdout}")
    if done.returncode:
        lines = done.stdout.splitlines()
        errors = [line for line in lines if re.search(r"error:|\*\*\*|Error \d", line)] or lines[-20:]
        print("\n".join(errors[:30]), file=sys.stderr)
        raise Failed(f"make {' '.join(words)} failed" + (f"; see {log}" if log else ""))
    return done.stdout


# ---- configuration --------------------------------------------------------------------------------------------------

def wanted(fragments):
    """{CONFIG_X: "y"}, later fragments first; "n" is a line "# CONFIG_X is not set"."""
    found = {}
    for name in ["base", *fragments]:
        for line in (CONFIG / f"{name}.config").read_text(encoding="utf-8").splitlines():
            if match := re.match(r"(CONFIG_\w+)=(.*)$", line):
                found[match.group(1)] = match.group(2)
            elif match := re.match(r"# (CONFIG_\w+) is not set$", line):
                found[match.group(1)] = "n"
    return found


def symbols(text):
    return dict(re.findall(r"^(CONFIG_\w+)=(.*)$", text, re.M))


def kconfigs(root):
    """The files Kconfig of a tree. Not those of its builds, of which others may be going on."""
    for folder, folders, names in os.walk(root):
        if pathlib.Path(folder) == pathlib.Path(root):
            folders[:] = [name for name in folders if not name.startswith("O-")]
        yield from (pathlib.Path(folder) / name for name in names if name.startswith("Kconfig"))


def configure(root, out, fragments):
    """Write out/.config: what the fragments say, and nothing else. True if it has changed."""
    asked = wanted(fragments)
    out.mkdir(parents=True, exist_ok=True)
    all_config = out / "asked.config"
    lines = [f"# {key} is not set" if value == "n" else f"{key}={value}" for key, value in asked.items()]
    by = root / "patched-by"  # patches may bring a symbol that is asked for
    text = "\n".join([*lines, f"# patches {by.read_text(encoding='utf-8').strip() if by.exists() else 'none'}"]) + "\n"
    if all_config.exists() and all_config.read_text(encoding="utf-8") == text and (out / ".config").exists():
        return False
    asking = out / "asking.config"  # takes its name when its answer is there: a run may be ended in between
    asking.write_text(text, encoding="utf-8")
    make(root, f"KCONFIG_ALLCONFIG={asking.resolve()}", "allnoconfig", out=out.name)
    asking.rename(all_config)
    have = symbols((out / ".config").read_text(encoding="utf-8"))
    known = {line.split()[1] for path in kconfigs(root)
             for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
             if re.match(r"\s*(?:menu)?config\s+\w+\s*$", line)}
    lost = [f"{key}={value}" for key, value in asked.items()
            if have.get(key, "n") != value and key.removeprefix("CONFIG_") in known]
    unknown = [key for key in asked if key.removeprefix("CONFIG_") not in known and asked[key] != "n"]
    if lost:
        all_config.unlink()
        raise Failed(f"the configuration did not take {', '.join(lost)}")
    if unknown:
        print(f"kernel: this source has no {', '.join(unknown)}", file=sys.stderr)
    return True


# ---- kernels --------------------------------------------------------------------------------------------------------

class Kernel:
    """A kernel of the tree @root, with the configuration of @fragments; built in a folder of the tree, so that all paths
    are relative, and a copy of the tree goes on from there."""

    def __init__(self, root, fragments):
        self.root, self.fragments = pathlib.Path(root), tuple(fragments)
        self.name = "+".join(["base", *self.fragments])
        self.out = self.root / f"O-{self.name}"
        self.image = self.out / "arch/x86/boot/bzImage"
        self.log = self.root.parent / f"build-{self.root.name}-{self.name}.log"
        self.lock = threading.Lock()  # over the folders of modules: stages may want the same one

    def build(self):
        self.log.unlink(missing_ok=True)
        configure(self.root, self.out, self.fragments)
        make(self.root, "bzImage", "modules", out=self.out.name, log=self.log)
        if not self.image.exists():
            raise Failed(f"no {self.image}")

    def release(self):
        return (self.out / "include/config/kernel.release").read_text(encoding="utf-8").strip()

    def module(self, name):
        """The file of a module: one of kernel/modules/ is built for this kernel first."""
        if (MODULES / name).is_dir():
            return build_module(MODULES / name, self.out, self.out / "lull-modules" / name)
        found = list(self.out.rglob(f"{name}.ko")) or list(self.out.rglob(f"{name.replace('_', '-')}.ko"))
        if not found:
            raise Failed(f"{self.name}: no module {name}: neither in kernel/modules/ nor among the kernel's own")
        return found[0]


def beside(folder):
    """The module whose header and names this one uses, in its Kbuild: "# Beside: hazptr"."""
    match = re.search(r"^# Beside: (\w+)$", (folder / "Kbuild").read_text(encoding="utf-8"), re.M)
    return match and match.group(1)


def build_module(folder, kernel, into, log=None, more=()):
    """Build kernel/modules/NAME against a build folder or packaged headers; the file of the module."""
    if other := beside(folder):
        build_module(MODULES / other, kernel, into.parent / other, log)
    shutil.rmtree(into, ignore_errors=True)
    shutil.copytree(folder, into)
    make(kernel, f"M={into.resolve()}", "modules", *more, log=log)
    path = into / f"{folder.name}.ko"
    if not path.exists():
        raise Failed(f"{folder.name}: the build made no {path.name}")
    return path


# ---- programs -------------------------------------------------------------------------------------------------------

def program(name, into):
    """Link kernel/guest/NAME.c statically, with its parts NAME_*.c."""
    parts = sorted((HERE / "guest").glob(f"{name}_*.c"))
    into.mkdir(parents=True, exist_ok=True)
    run(["gcc", "-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-pthread", "-static", "-o", str(into / name),
         str(HERE / "guest" / f"{name}.c"), *map(str, parts)], f"compile {name}.c")
    return into / name


YARDS = (".", "tool", "lab")  # in the order in which each builds on the ones before


def own(targets, into):
    """Build the library, the command and the laboratory below @into. {path in the guest: path here} of @targets."""
    if not targets:
        return {}
    launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    jobs = os.environ.get("LULL_KERNEL_JOBS") or str(os.cpu_count())
    prefix = into / "prefix"
    for yard in YARDS:
        build = into / "library" if yard == "." else into / yard
        tests = ["-DLULL_BUILD_TESTS=ON", "-DLULL_TEST_CXX=OFF"] if yard == "." else []
        run(["cmake", "-S", str(HERE.parent / yard), "-B", str(build), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
             f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_INSTALL_PREFIX={prefix}", *launcher, *tests], f"cmake {yard}")
        wanted = [target for target in targets if target_yard(target) == yard]
        wanted += ["lull", "lull_static"] if yard == "." else []
        if wanted:
            run(["nice", "-n", "5", "cmake", "--build", str(build), f"-j{jobs}", "--target", *wanted], f"build {' '.join(wanted)}")
        if yard == ".":
            run(["cmake", "--install", str(build)], "install the library")
    return dict(own_place(target, into) for target in targets)


def target_yard(target):
    return "tool" if target == "lull_tool" else "lab" if target.startswith(("lull_lab", "lull_peer_")) else "."


def own_place(target, into):
    """Where a target's file is to be in the guest, and where it is here."""
    if target == "lull_tool":
        return "bin/lull", into / "tool/lull"
    if target == "lull_lab":
        return "bin/lull-lab", into / "lab/lull-lab"
    if target.startswith("lull_peer_"):
        module = f"{target.removeprefix('lull_peer_')}.so"
        return f"bin/peers/{module}", into / "lab/peers" / module
    return f"bin/{target}", into / "library/tests" / target
