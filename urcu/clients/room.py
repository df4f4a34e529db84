# SPDX-License-Identifier: MIT
"""A room: namespaces in which a client runs, with a network of 127.0.0.1 alone.

Its files are a release's (debian.py) under a layer in memory that takes all writes, so that each run finds what was
unpacked. The project stands in it at its own path. When the room's first process ends, all others in it are killed.
"""
import ctypes
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import time

from debian import Absent

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNSHARE = ["unshare", "--net", "--mount", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc"]
PATIENCE_S = 60
STANDS_IN = re.compile(r"/liblull[-_]urcu")


def needs():
    """Say why there can be no room here."""
    if os.geteuid() != 0:
        raise Absent("chroot and namespaces are for root")
    for tool in ("unshare", "mount", "chroot"):
        if not shutil.which(tool):
            raise Absent(f"there is no {tool} here")
    done = subprocess.run([*UNSHARE, "true"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode:
        raise Absent(f"no namespaces here: {done.stderr.strip()}")


def until(condition, what, seconds=PATIENCE_S):
    """Return the result of condition() once that is true."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds} s for {what}")
        time.sleep(0.01)


def mount(*words):
    done = subprocess.run(["mount", *map(str, words)], stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise Absent(f"mount {' '.join(map(str, words))}: {done.stderr.strip()}")


def loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH14x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS, up and running


class Room:
    """Made by the first process of the namespaces. side: "liburcu", or "lull": then programs are started by @prefix."""

    def __init__(self, release, scratch, side, prefix, environment=None):
        self.side, self.prefix, self.release = side, list(prefix), release.name
        self.seen, self.strays = 0, []  # programs whose library was looked at, and those that ran on the wrong one
        self.environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
                            **(environment or {})}
        self.files = pathlib.Path(scratch) / "files"
        scratch = pathlib.Path(scratch)
        mount("-t", "tmpfs", "tmpfs", scratch)
        for name in ("upper", "work", "files", "state"):
            (scratch / name).mkdir()
        mount("-t", "overlay", "overlay", "-o",
              f"lowerdir={release.root},upperdir={scratch}/upper,workdir={scratch}/work", self.files)
        for name in ("proc", "dev", "sys", "tmp", "run", "etc", "root", "state", "var/run", str(ROOT).lstrip("/")):
            if not (self.files / name).exists():
                (self.files / name).mkdir(parents=True)
        mount("-t", "proc", "proc", self.files / "proc")
        mount("--rbind", "/dev", self.files / "dev")
        mount("-t", "tmpfs", "tmpfs", self.files / "dev/shm")
        mount("-t", "tmpfs", "tmpfs", self.files / "run")
        mount("--rbind", ROOT, self.files / str(ROOT).lstrip("/"))
        (self.files / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n")
        (self.files / "etc/group").write_text("root:x:0:\nnogroup:x:65534:\n")
        (self.files / "etc/hosts").write_text("127.0.0.1 localhost\n")
        loopback_up()

    def path(self, name):
        """The place of the room's file @name outside of its chroot."""
        return self.files / str(name).lstrip("/")

    def write(self, name, text):
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def command(self, words, client):
        # Only the client itself is run on lull: tools that ask it and load it are not what is measured.
        return ["chroot", str(self.files), *(self.prefix if client else []), *map(str, words)]

    def start(self, *words, client=True, log=None, **options):
        """Start a program; what it says goes to the room's file @log."""
        out = open(self.path(log), "ab") if log else subprocess.DEVNULL
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", out)
        options.setdefault("stderr", subprocess.STDOUT)
        options["env"] = {**self.environment, **options.pop("environment", {})}
        try:
            return subprocess.Popen(self.command(words, client), **options)
        finally:
            if log:
                out.close()

    def run(self, *words, client=True, timeout=PATIENCE_S, **options):
        """Run a program to its end: (exit status, what it said)."""
        program = self.start(*words, client=client, stdout=subprocess.PIPE, text=True, **options)
        if client:
            self.watch(program)
        try:
            said, _ = program.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            program.kill()
            said, _ = program.communicate()
            return "timeout", said
        return program.returncode, said

    def must_run_on(self, pid, wrong):
        """@pid runs on the library that is meant."""
        try:
            maps = pathlib.Path(f"/proc/{pid}/maps").read_text(encoding="utf-8")
            name = pathlib.Path(os.readlink(f"/proc/{pid}/exe")).name
        except OSError:  # it has ended
            return
        self.seen += 1
        on_lull = STANDS_IN.search(maps) is not None
        if on_lull != (self.side == "lull"):
            wrong.append(f"{name} does {'' if on_lull else 'not '}run on lull")

    def watch(self, program):
        """Look which library @program runs on, as soon as it has loaded one; a short program may end before that."""
        while program.poll() is None:
            try:
                maps = pathlib.Path(f"/proc/{program.pid}/maps").read_text(encoding="utf-8")
                name = pathlib.Path(os.readlink(f"/proc/{program.pid}/exe")).name
            except OSError:
                return
            # Preloaded libraries are there before. The command `lull` itself looks into the file.
            if "/liburcu" in maps and name != "lull":
                self.must_run_on(program.pid, self.strays)
                return
            time.sleep(0.001)

    def grace_periods(self, pid):
        """How many lull has made for @pid; returns None on liburcu, which does not say."""
        if self.side != "lull":
            return None
        status, text = self.run(self.prefix[0], "top", "--once", "--interval=0", "--json=-", pid, client=False)
        # There is nothing to look at before the first one.
        return json.loads(text)["total"]["grace_periods"] if status == 0 else 0

    def said(self, log):
        return self.path(log).read_text(encoding="utf-8", errors="replace") if self.path(log).exists() else ""


def end(program, how=signal.SIGTERM, seconds=PATIENCE_S):
    """Tell @program to end: (exit status, milliseconds that it took)."""
    since = time.monotonic()
    program.send_signal(how)
    try:
        status = program.wait(seconds)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()
        return "hangs", seconds * 1000.0
    return status, (time.monotonic() - since) * 1000.0


def highest_rss_kb(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return None


def threads_of(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def subreaper():
    """Daemons that leave their parents become children of this process."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def tool(room, wrong, *words, statuses=(0,), client=False):
    """The output of a tool that must come to a good end."""
    status, text = room.run(*words, client=client)
    if status not in statuses:
        wrong.append(f"{' '.join(map(str, words))}: status {status}: {text.strip()[-300:]}")
    return text
