# SPDX-License-Identifier: MIT
"""Debian's other programs that use liburcu: each is started, asked to do what it is for as far as a machine without its
hardware allows, and ended."""
import os
import pty
import re
import select
import signal
import socket
import struct

import dns
from client import Client, Result
from room import end, tool, until


def judge_log(room, log, wrong):
    """Judge the @log of a program by lines that must not be there."""
    for line in room.said(log).splitlines():
        if re.search(r"\blull: |AddressSanitizer|Assertion|assertion .*failed", line):
            wrong.append(f"it said: {line.strip()[-300:]}")


def stop(room, program, log, result, statuses=(0,)):
    result.grace_periods = room.grace_periods(program.pid)
    status, _ = end(program)
    if status not in statuses:
        result.wrong.append(f"ended with {status}: {room.said(log)[-300:]}")
    judge_log(room, log, result.wrong)


# ---- xfsprogs --------------------------------------------------------------------------------------

def xfs(room, how):
    result = Result()
    room.path("/tmp").mkdir(exist_ok=True)
    for number in range(2 if how.short else 10):
        image = f"/tmp/{number}.xfs"
        tool(room, result.wrong, "truncate", "-s", "320M", image)
        tool(room, result.wrong, "mkfs.xfs", "-q", image, client=True)
        said = tool(room, result.wrong, "xfs_db", "-r", "-c", "sb 0", "-c", "p magicnum", image, client=True)
        if "magicnum = 0x58465342" not in said:
            result.wrong.append(f"xfs_db: {said.strip()[-200:]}")
        # A damaged one is repaired, a whole one is left alone.
        tool(room, result.wrong, "xfs_db", "-x", "-c", "agf 0", "-c", "write -d freeblks 1", image, client=True)
        tool(room, result.wrong, "xfs_repair", "-n", image, statuses=(1,), client=True)
        tool(room, result.wrong, "xfs_repair", image, client=True)
        tool(room, result.wrong, "xfs_repair", "-n", image, client=True)
        result.checked += 6
    return result


# ---- gdnsd -----------------------------------------------------------------------------------------

GDNSD_PORT = 5303


def gdnsd(room, how):
    result = Result()
    zone = "/etc/gdnsd/zones/zone.test"
    text = "@ SOA ns admin 1 3600 600 86400 60\n@ NS ns\nns A 127.0.0.1\nn A 10.0.0.{}\n"
    room.write("/etc/gdnsd/config", f"options => {{ listen => 127.0.0.1:{GDNSD_PORT}, run_dir => /run/gdnsd, "
                                    "state_dir => /state/gdnsd, zones_default_ttl => 60 }\n")
    room.write(zone, text.format(0))
    for name in ("/run/gdnsd", "/state/gdnsd"):
        room.path(name).mkdir(parents=True, exist_ok=True)
    log = "/state/log"
    program = room.start("gdnsd", "-c", "/etc/gdnsd", "start", log=log)
    server = dns.Server(GDNSD_PORT)
    until(lambda: program.poll() is not None or server.addresses("n.zone.test") == ["10.0.0.0"], "gdnsd's first answer", 20)
    if program.poll() is not None:
        result.wrong.append(f"status {program.returncode}: {room.said(log)[-300:]}")
        return result
    room.must_run_on(program.pid, result.wrong)
    for number in range(1, 6 if how.short else 101):
        room.write(zone, text.format(number))
        tool(room, result.wrong, "gdnsdctl", "-c", "/etc/gdnsd", "reload-zones")
        answer = server.addresses("n.zone.test")
        if answer != [f"10.0.0.{number}"]:
            result.wrong.append(f"reload {number}: {answer}")
        result.checked += 1
    stop(room, program, log, result, (0, -15))
    return result


# ---- multipathd ------------------------------------------------------------------------------------

def multipathd(room, how):
    """Without a device mapper it starts its threads, finds that out, ends them, and says 1."""
    result = Result()
    room.write("/etc/multipath.conf", "defaults {\n}\n")
    status, text = room.run("multipathd", "-d", "-s", timeout=20, environment={"LISTEN_PID": ""})
    result.note = f"status {status}: {text.strip().splitlines()[-1][:80] if text.strip() else ''}"
    result.checked = 1
    if status not in (0, 1):
        result.wrong.append(f"status {status}: {text.strip()[-300:]}")
    return result


# ---- lttng -----------------------------------------------------------------------------------------

WRAPPER = "liblttng-ust-libc-wrapper.so.1"


def lttng(room, how):
    result = Result()
    log = "/state/log"
    program = room.start("lttng-sessiond", "--no-kernel", log=log)
    until(lambda: program.poll() is not None or room.run("lttng", "list", client=False)[0] == 0, "lttng-sessiond", 30)
    if program.poll() is not None:
        result.wrong.append(f"status {program.returncode}: {room.said(log)[-300:]}")
        return result
    room.must_run_on(program.pid, result.wrong)
    for number in range(3 if how.short else 20):
        name, trace = f"s{number}", f"/state/trace{number}"
        for words in (["create", name, f"--output={trace}"], ["enable-event", "-u", "-a", "-s", name], ["start", name]):
            tool(room, result.wrong, "lttng", *words)
        for _ in range(4):
            room.run("/bin/ls", "/", client=False, environment={"LD_PRELOAD": WRAPPER, "LTTNG_UST_REGISTER_TIMEOUT": "-1"})
        for words in (["stop", name], ["destroy", name]):
            tool(room, result.wrong, "lttng", *words)
        size = sum(path.stat().st_size for path in room.path(trace).rglob("*") if path.is_file())
        if size < 10000:
            result.wrong.append(f"session {number} has traced {size} bytes")
        result.checked += 1
    stop(room, program, log, result)
    return result


# ---- nfs-ganesha -----------------------------------------------------------------------------------

NFS_PORT = 20490
GANESHA = f"""NFS_CORE_PARAM {{ Protocols = 4; NFS_Port = {NFS_PORT}; Enable_NLM = false;
  Enable_RQUOTA = false; }}
NFSV4 {{ Graceless = true; RecoveryBackend = fs; }}
EXPORT {{ Export_Id = 1; Path = /state/export; Pseudo = /e; Access_Type = RW; Protocols = 4; Transports = TCP;
  SecType = none, sys; Squash = none; FSAL {{ Name = VFS; }} }}
"""


class Nfs:
    """The part of ONC RPC and NFSv4 that asks for the attributes of the root."""

    def __init__(self):
        self.socket = socket.create_connection(("127.0.0.1", NFS_PORT), 10)
        self.number = 0

    def call(self, procedure, body=b""):
        self.number += 1
        head = struct.pack(">6I", self.number, 0, 2, 100003, 4, procedure) + struct.pack(">4I", 0, 0, 0, 0)
        message = head + body
        self.socket.sendall(struct.pack(">I", 0x80000000 | len(message)) + message)
        size = struct.unpack(">I", self.exactly(4))[0] & 0x7fffffff
        return self.exactly(size)

    def exactly(self, size):
        got = b""
        while len(got) < size:
            part = self.socket.recv(size - len(got))
            if not part:
                raise EOFError("ganesha.nfsd has closed the connection")
            got += part
        return got

    def null(self):
        return self.call(0)[8:24] == bytes(16)  # accepted, no verifier, success

    def root_is_directory(self):
        """COMPOUND: PUTROOTFH, GETATTR of the type."""
        body = struct.pack(">I", 0) + struct.pack(">2I", 0, 2) + struct.pack(">I", 24) + struct.pack(">3I", 9, 1, 2)
        said = self.call(1, body)
        return said[24:28] == bytes(4) and said.endswith(struct.pack(">2I", 4, 2))


def ganesha(room, how):
    result = Result()
    # Later ones ask for a right that a room may not give.
    allowed = "" if room.release == "bookworm" else " allow_set_io_flusher_fail = true;"
    room.write("/etc/ganesha/ganesha.conf", GANESHA.replace("Protocols = 4;", f"Protocols = 4;{allowed}", 1))
    for name in ("/state/export", "/var/lib/nfs/ganesha", "/run/ganesha", "/var/run/ganesha", "/var/log/ganesha"):
        room.path(name).mkdir(parents=True, exist_ok=True)
    log = "/state/log"
    program = room.start("ganesha.nfsd", "-F", "-f", "/etc/ganesha/ganesha.conf", "-p", "/run/ganesha.pid", "-L", log,
                         log="/state/out")

    def connected():
        try:
            return Nfs()
        except OSError:
            return None

    client = until(lambda: program.poll() is not None or connected(), "ganesha.nfsd's port", 60)
    if program.poll() is not None:
        result.wrong.append(f"status {program.returncode}: {(room.said(log) + room.said('/state/out'))[-1400:]}")
        return result
    room.must_run_on(program.pid, result.wrong)
    for number in range(40 if how.short else 400):
        if number % 10 == 0:
            client = Nfs()
        if not client.null() or not client.root_is_directory():
            result.wrong.append(f"answer {number} is wrong")
        result.checked += 1
    stop(room, program, log, result)
    return result


# ---- glusterd --------------------------------------------------------------------------------------

def glusterd(room, how):
    result = Result()
    log = "/state/log"
    for name in ("/var/lib/glusterd", "/var/log/glusterfs", "/run/gluster"):
        room.path(name).mkdir(parents=True, exist_ok=True)
    program = room.start("glusterd", "-N", "-L", "INFO", "-l", log, "-p", "/run/glusterd.pid", log="/state/out")
    until(lambda: program.poll() is not None or room.run("gluster", "--mode=script", "pool", "list", client=False)[0] == 0,
          "glusterd's first answer", 60)
    if program.poll() is not None:
        result.wrong.append(f"status {program.returncode}: {(room.said(log) + room.said('/state/out'))[-1400:]}")
        return result
    room.must_run_on(program.pid, result.wrong)
    for _ in range(5 if how.short else 50):
        tool(room, result.wrong, "gluster", "--mode=script", "volume", "list")
        result.checked += 1
    stop(room, program, log, result, (0, 15))
    return result


# ---- netsniff-ng's flowtop ----------------------------------------------------------------------------

def flowtop(room, how):
    """It shows the flows that the kernel tracks, on a terminal."""
    result = Result()
    ours, its = pty.openpty()
    program = room.start("flowtop", "-G", stdin=its, stdout=its, stderr=its, environment={"TERM": "xterm"},
                         start_new_session=True)
    os.close(its)
    shown = b""
    for _ in range(20 if how.short else 50):
        if select.select([ours], [], [], 0.2)[0]:
            try:
                shown += os.read(ours, 65536)
            except OSError:  # it has ended
                break
    if program.poll() is None:
        room.must_run_on(program.pid, result.wrong)
        result.grace_periods = room.grace_periods(program.pid)
        os.write(ours, b"q")
        status, _ = end(program, signal.SIGTERM, 10)
    else:
        status = program.returncode
    result.note = f"status {status}, {'a screen' if b'flowtop' in shown else repr(shown[-80:].decode(errors='replace'))}"
    result.checked = 1
    if status not in (0, 1):
        result.wrong.append(f"ended with {status}")
    return result


def both(name, package, packages, readers, what, run, **more):
    """The same of two releases, whose liburcu and whose programs differ: NAME and NAME-trixie."""
    for release in ("bookworm", "trixie"):
        options = tuple(word.format({"bookworm": "0.13", "trixie": "0.15"}[release]) for word in more.get("options", ()))
        renamed = tuple(one.replace("liblttng-ust1", "liblttng-ust1t64") if release == "trixie" else one for one in packages)
        yield Client(name + ("" if release == "bookworm" else "-trixie"), release, package, renamed, readers, what, run,
                     options=options)


CLIENTS = [
    *both("multipathd", "multipath-tools", ("multipath-tools",), "called", "started and ended, without a device mapper",
          multipathd),
    *both("xfsprogs", "xfsprogs", ("xfsprogs",), "inlined", "mkfs.xfs, xfs_db, xfs_repair of damaged images", xfs),
    *both("gdnsd", "gdnsd", ("gdnsd",), "inlined", "zones reloaded, each answer checked", gdnsd),
    *both("lttng-sessiond", "lttng-tools", ("lttng-tools", "liblttng-ust1"), "both", "sessions of user-space traces", lttng),
    *both("ganesha.nfsd", "nfs-ganesha", ("nfs-ganesha", "nfs-ganesha-vfs"), "both", "NULL and COMPOUND over NFSv4",
          ganesha),
    *both("glusterd", "glusterfs-server", ("glusterfs-server",), "inlined", "started, asked, ended; a plugin loads "
          "liburcu, so lull urcu is told the version", glusterd, options=("--as={}",)),
    *both("flowtop", "netsniff-ng", ("netsniff-ng", "ncurses-base"), "inlined", "started, in a terminal", flowtop),
]
