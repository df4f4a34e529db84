# SPDX-License-Identifier: MIT
"""The guest: its first file system, the emulator, and what the kernel said."""
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import time

from tree import HERE, Failed, run

GUEST = HERE / "guest"
EM_X86_64, PT_INTERP = 62, 3  # of ELF
# A busy host's emulator may fail the check of the timer, and then the kernel panics.
WORDS = "console=ttyS0 panic=-1 oops=panic no_timer_check"
# First lines of what a kernel reports about itself.
REPORT = re.compile(r"BUG: |WARNING: |Oops: |Oops:|general protection fault|Kernel panic|INFO: task .* blocked|rcu: INFO: .* stall|"
                    r"possible (recursive|circular|irq)|suspicious RCU usage|inconsistent lock state|ODEBUG: |"
                    r"BUG [\w.-]+ \(|trying to register non-static key|turning off the locking correctness validator|"
                    r"sleeping function called|scheduling while atomic|unreferenced object|Voluntary context switch within RCU")


def is_static(path):
    """Whether a file is a program for the guest's processor that asks for no loader. ldd knows only the loader of this libc."""
    whole = pathlib.Path(path).read_bytes()
    if whole[:6] != b"\x7fELF\x02\x01" or len(whole) < 64:
        return False
    machine, = struct.unpack_from("<H", whole, 18)
    table, = struct.unpack_from("<Q", whole, 32)
    size, count = struct.unpack_from("<HH", whole, 54)
    if not count or table + size * count > len(whole):
        return False
    kinds = [struct.unpack_from("<I", whole, table + size * i)[0] for i in range(count)]
    return machine == EM_X86_64 and PT_INTERP not in kinds


def busybox(work):
    """A static busybox: the machine's, or Debian's package, unpacked."""
    found = shutil.which("busybox")
    if found and is_static(found):
        return found
    into = work / "busybox"
    places = (into / "bin/busybox", into / "usr/bin/busybox")
    if not any(path.exists() for path in places):
        into.mkdir(parents=True, exist_ok=True)
        run(["apt-get", "-qq", "download", "busybox-static"], "no static busybox here, and none to fetch", cwd=into)
        deb, = into.glob("busybox-static_*.deb")
        run(["dpkg-deb", "-x", str(deb), str(into)], "unpack busybox-static")
    for path in places:
        if path.exists() and is_static(path):
            return str(path)
    raise Failed(f"no static busybox for x86-64 in {into}")


def libraries(path):
    """The loader and the libraries that a command of this machine needs."""
    said = run(["ldd", str(path)], f"libraries of {path}")
    return sorted(set(re.findall(r"(/\S+)\s+\(0x", said)))


def place(library):
    """Where the loader of the guest finds a library: where it is here, or in /lib, if it was built here."""
    return library if library.startswith(("/lib", "/usr/lib")) else f"lib/{pathlib.Path(library).name}"


def put(root, here, there):
    """Copy a program with its libraries."""
    for path, into in ((here, there), *((library, place(library)) for library in libraries(here))):
        (root / str(into).lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, root / str(into).lstrip("/"))


def image(work, out, boot, modules, programs, commands, own, files):
    """Write the first file system of the guest to @out."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name in ("bin", "lib/modules"):
            (root / name).mkdir(parents=True)
        shutil.copy(GUEST / "init", root / "init")
        shutil.copy(busybox(work), root / "bin/busybox")
        (root / "run").write_text(boot.script, encoding="utf-8")
        for path in modules:
            into = root / "lib/modules" / path.name.replace("-", "_")
            run(["strip", "--strip-debug", "-o", str(into), str(path)], f"strip {path.name}")
        for path in programs:
            shutil.copy(path, root / "bin" / path.name)
        for name in commands:
            found = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
            if not found:
                raise Failed(f"no command {name} here, which the guest needs")
            put(root, found, f"bin/{name}")
        for there, path in own.items():
            put(root, path, there)
        for name, path in files.items():
            (root / name.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, root / name.lstrip("/"))
        with open(out, "wb") as file:
            run_cpio(root, file)


def run_cpio(root, file):
    """All of @root, packed, to @file."""
    names = "\n".join(sorted(str(path.relative_to(root)) for path in root.rglob("*")))
    packed = subprocess.run(["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0"], cwd=root, input=names.encode(),
                            stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["gzip", "-1"], input=packed, stdout=file, check=True)


def accelerator(boot):
    """Words for the emulator. A counted clock is the emulator's alone; else the processor's own help, where that opens."""
    if boot.icount:
        return ["-accel", "tcg,thread=single", "-icount", "shift=1,sleep=off", "-cpu", "max"]
    if can_kvm():
        return ["-accel", "kvm", "-cpu", "host"]
    return ["-accel", "tcg,thread=multi", "-cpu", "max"]


def clock(boot):
    """The word of stage.CLOCKS for the times of a boot."""
    if boot.icount:
        return "counted"
    return "kvm" if "kvm" in accelerator(boot) else "emulated"


def can_kvm():
    """Whether /dev/kvm opens and this processor has what it needs."""
    try:
        os.close(os.open("/dev/kvm", os.O_RDWR))
        flags = re.search(r"^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
    except OSError:
        return False
    return bool(flags) and bool({"svm", "vmx"} & set(flags.group(1).split()))


def start(kernel, first_files, boot, log):
    """Boot, and wait for the end. (console, seconds)"""
    words = ["qemu-system-x86_64", *accelerator(boot), "-smp", str(boot.cpus), "-m", str(boot.memory_mb), "-nodefaults",
             "-display", "none", "-serial", "stdio", "-no-reboot", "-kernel", str(kernel.image), "-initrd", str(first_files),
             "-append", f"{WORDS} {boot.append}".strip()]
    since = time.monotonic()
    late = ""
    with open(log, "wb") as file:
        try:
            subprocess.run(words, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, timeout=boot.limit_s, check=False)
        except FileNotFoundError as err:
            raise Failed("no qemu-system-x86_64 here (scripts/setup kernel)") from err
        except subprocess.TimeoutExpired:
            late = f"no end in {boot.limit_s} s"
    console = log.read_text(encoding="utf-8", errors="replace").replace("\r", "")
    return console, time.monotonic() - since, late


def reports(console, expected=""):
    """First lines of what the kernel reported about itself, but those that were expected."""
    return [line.strip() for line in console.splitlines()
            if REPORT.search(line) and not line.startswith("@@ ") and not (expected and re.search(expected, line))]


def judge(console, late, boot):
    """What is wrong with a boot, or nothing."""
    wrong = reports(console, boot.expected)[:3]
    wrong += [line.removeprefix("@@ fail ") for line in console.splitlines() if line.startswith("@@ fail ")]
    if late or not re.search(r"^@@ end \d+$", console, re.M):
        # What a terminal would make of a torn line is not for a terminal here.
        lines = ["".join(char for char in line if char.isprintable()).strip() for line in console.splitlines()]
        last = [line for line in lines if line][-1:] or ["nothing"]
        wrong.append(f"{late or 'the guest ended early'}; its last line: {last[0][:120]}")
    return wrong
