# SPDX-License-Identifier: MIT
"""lull oracle: the table of which thread runs on each CPU. Loaded in a mount namespace of this test, so that nobody
else sees it, a table that is loaded on this machine is left alone, and nothing stays."""
import ctypes
import errno
import json
import mmap
import os
import re
import signal
import struct
import subprocess
import threading
import time
import unittest

from support import LULL, Case

TABLE = "/sys/fs/bpf/lull/running"
MOUNT = "/sys/fs/bpf"
NOBODY = 65534

CLONE_NEWNS, MS_REC, MS_PRIVATE, MNT_DETACH = 0x20000, 0x4000, 0x40000, 2
BPF_MAP_UPDATE_ELEM, BPF_OBJ_GET = 2, 7
SYS_BPF = {"x86_64": 321, "aarch64": 280}.get(os.uname().machine)

LIBC = ctypes.CDLL(None, use_errno=True)

# Reasons why root cannot load it: kernels built without it, or locked down.
THE_KERNEL_REFUSES = (b"does not describe its types", b"does not accept the program", b"cannot attach the program",
                      b"cannot mount")


def without_bpf():
    result = subprocess.run([LULL, "oracle", "status"], capture_output=True, check=False)
    return result.returncode == 2 and result.stderr.decode()


def bpf(command, attr):
    buffer = ctypes.create_string_buffer(attr.ljust(128, b"\0"), 128)
    result = LIBC.syscall(SYS_BPF, command, buffer, 128)
    if result < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return result


def open_table():
    path = ctypes.create_string_buffer(TABLE.encode())
    return bpf(BPF_OBJ_GET, struct.pack("=QII", ctypes.addressof(path), 0, 0))


class Mapped:
    """The table as an unprivileged process has it."""

    def __init__(self):
        self.cpus = os.sysconf("SC_NPROCESSORS_CONF")
        self.fd = open_table()
        self.map = mmap.mmap(self.fd, 8 * self.cpus, mmap.MAP_SHARED, mmap.PROT_READ)

    def running(self, cpu):
        return struct.unpack_from("=Q", self.map, 8 * cpu)[0]

    def close(self):
        self.map.close()
        os.close(self.fd)


def become_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def in_child(function):
    """The exit status of a child that ran it: 0, or 1 when it raised."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            function()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def eventually(condition):
    """Patient: it is only not true when it never is."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.001)
    return False


class Words(Case):
    def test_of_the_command(self):
        if without_bpf():
            self.skipTest(without_bpf())
        self.assertIn("Usage: lull oracle", self.good("oracle", "--help"))
        self.good("oracle", "--version")
        self.assertIn("unknown option '--nonsense'", self.bad("oracle", "--nonsense"))

    def test_this_build_lacks_it(self):
        missing = without_bpf()
        if not missing:
            self.skipTest("this build has it")
        for action in ("load", "unload", "status", "measure", "nonsense"):
            line = self.bad("oracle", action)
            self.assertEqual(line, missing)
            self.assertTrue(line.startswith("lull oracle: this build has no BPF support: "), line)

    def test_bad_input(self):
        if without_bpf():
            self.skipTest(without_bpf())
        self.assertIn("load, unload, status or measure", self.bad("oracle"))
        self.assertIn("'nonsense'", self.bad("oracle", "nonsense"))
        self.bad("oracle", "lo\nad")
        for action in ("load", "unload", "status", "measure"):
            self.assertIn("Usage: lull oracle " + action, self.good("oracle", action, "--help"))
            self.assertIn("'--nonsense'", self.bad("oracle", action, "--nonsense"))
            self.assertIn("'word'", self.bad("oracle", action, "word"))
        for mode in ("", "0", "0644", "0777", "666", "x", "-1"):
            self.assertIn("0600, 0660, 0666", self.bad("oracle", "load", "--mode", mode))
        for group in ("", "no such group", "-1", "4294967295", "1x"):
            self.assertIn("--group: ", self.bad("oracle", "load", "--group", group))
        for seconds in ("", "0", "x", "nan", "1e99"):
            self.assertIn("--seconds: ", self.bad("oracle", "measure", "--seconds", seconds))
        for action in ("load", "unload"):
            self.assertIn("--json", self.bad("oracle", action, "--json", "results.json"))
        self.bad("oracle", "status", "--json", "nowhere/results.json")

    def test_environment(self):
        self.assertIn("rseq, bpf, kernel, slice or none", self.bad("--version", env={"LULL_OWNER_ORACLE": "nonsense"}))


class Loaded(Case):
    @classmethod
    def setUpClass(cls):
        if without_bpf():
            raise unittest.SkipTest(without_bpf())
        if os.geteuid() != 0:
            raise unittest.SkipTest("only root can load it")
        if not SYS_BPF or not os.path.isdir(MOUNT):
            raise unittest.SkipTest("no BPF file system here")
        if LIBC.unshare(CLONE_NEWNS) != 0 or LIBC.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) != 0:
            raise unittest.SkipTest("cannot have file systems of its own here")

    def setUp(self):
        super().setUp()
        self.addCleanup(self.unmount)
        self.unmount()

    def unmount(self):
        while os.path.ismount(MOUNT):
            self.assertEqual(LIBC.umount2(MOUNT.encode(), MNT_DETACH), 0)

    def load(self, *options):
        result = self.lull("oracle", "load", *options)
        if any(words in result.stderr for words in THE_KERNEL_REFUSES):
            self.skipTest(result.stderr.decode())
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout.decode()

    def fails(self, *args, **more):
        result = self.lull(*args, **more)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assert_one_line(result.stderr, args)
        return result.stderr.decode()

    def status_of_nobody(self):
        result = self.lull("oracle", "status", preexec_fn=become_nobody)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout.decode()

    def test_there_and_gone(self):
        self.assertEqual(self.good("oracle", "status"), "table     not loaded\n")
        self.assertIn("not loaded", self.fails("oracle", "unload"))
        self.assertIn("loaded    " + TABLE + ", mode 0666", self.load())
        self.assertIn("already loaded", self.fails("oracle", "load"))
        text = self.good("oracle", "status", "--json", "status.json")
        self.assertIn("readable  yes, ", text)
        self.assertIn("live      yes, ", text)
        self.assertIn("program   attached, ", text)
        root = self.results("status.json")
        self.assert_documented(root, "oracle status")
        told = root["oracle"]
        self.assertEqual((told["loaded"], told["readable"], told["live"], told["mode"]), (True, True, True, 0o666))
        self.assertEqual(json.loads(self.good("oracle", "status", "--json", "-"))["oracle"].keys(), told.keys())
        self.good("oracle", "unload")
        self.assertEqual(os.listdir(MOUNT).count("lull"), 0)
        self.assertEqual(self.good("oracle", "status"), "table     not loaded\n")
        self.load()

    def test_who_may(self):
        self.load()
        self.assertEqual(os.stat("/sys/fs/bpf/lull/link").st_mode & 0o777, 0o600)
        for action in ("load", "unload", "measure"):
            self.assertIn("only root", self.fails("oracle", action, preexec_fn=become_nobody))
        self.assertTrue(os.path.exists(TABLE))
        self.assertIn("readable  yes, ", self.status_of_nobody())
        self.assertIn("live      yes, ", self.status_of_nobody())
        self.assertIn("only root can see it", self.status_of_nobody())
        for options, readable in ((["--mode", "0600"], False), (["--group", "0"], False),
                                  (["--group", str(NOBODY)], True)):
            self.good("oracle", "unload")
            self.load(*options)
            self.assertEqual("readable  yes, " in self.status_of_nobody(), readable, options)

    def test_mounted_for_root_alone(self):
        self.assertEqual(LIBC.mount(b"bpf", MOUNT.encode(), b"bpf", 0, b"mode=0700"), 0)
        self.assertNotIn("changed", self.load("--mode", "0600"))
        self.assertIn("table     n/a: ", self.status_of_nobody())
        self.good("oracle", "unload")
        self.assertIn("changed   " + MOUNT, self.load())
        self.assertIn("readable  yes, ", self.status_of_nobody())

    def test_a_folder_of_somebody_else(self):
        self.load()
        self.good("oracle", "unload")
        os.mkdir("/sys/fs/bpf/lull")
        os.chown("/sys/fs/bpf/lull", NOBODY, NOBODY)
        self.assertIn("cannot pin the table in /sys/fs/bpf/lull", self.fails("oracle", "load"))
        self.assertEqual(os.listdir("/sys/fs/bpf/lull"), [])

    def test_it_cannot_be_written_to(self):
        self.load()
        table = open_table()
        key, value = ctypes.create_string_buffer(4), ctypes.create_string_buffer(8)
        attr = struct.pack("=IIQQQ", table, 0, ctypes.addressof(key), ctypes.addressof(value), 0)
        with self.assertRaises(OSError) as caught:
            bpf(BPF_MAP_UPDATE_ELEM, attr)
        self.assertEqual(caught.exception.errno, errno.EPERM)
        with self.assertRaises(PermissionError):
            mmap.mmap(table, 8, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        os.close(table)

    def test_names_who_runs(self):
        """A process without rights is told that a child runs while it computes, and not while it is stopped."""
        self.load()
        cpus = os.sched_getaffinity(0)
        cpu = max(cpus)
        if len(cpus) < 2:
            self.skipTest("while this test looks, nobody else runs: there is one CPU")
        # On the same CPU as the child, a look would always find the process that looks.
        self.addCleanup(os.sched_setaffinity, 0, cpus)
        os.sched_setaffinity(0, cpus - {cpu})
        child = os.fork()
        if child == 0:
            os.sched_setaffinity(0, {cpu})
            while True:
                pass
        self.addCleanup(os.waitpid, child, 0)
        self.addCleanup(os.kill, child, signal.SIGKILL)

        def look():
            become_nobody()
            table = Mapped()
            assert eventually(lambda: table.running(cpu) == child)

        self.assertEqual(in_child(look), 0)
        os.kill(child, signal.SIGSTOP)
        os.waitid(os.P_PID, child, os.WSTOPPED)
        table = Mapped()
        self.addCleanup(table.close)
        self.assertTrue(eventually(lambda: table.running(cpu) != child))
        for _ in range(100):
            time.sleep(0.0005)
            self.assertNotIn(child, [table.running(i) for i in range(table.cpus)])

        # A thread by its own number, not the process's.
        found = []
        thread = threading.Thread(target=lambda: found.append(eventually(
            lambda: table.running(LIBC.sched_getcpu()) == threading.get_native_id())))
        thread.start()
        thread.join()
        self.assertEqual(found, [True])

    def test_the_mutex_takes_it(self):
        self.assertIn("  table            not loaded", self.good("doctor"))
        self.assertIn("no table is loaded", self.bad("doctor", env={"LULL_OWNER_ORACLE": "bpf"}))
        # The environment's choice does not keep a user from loading the table.
        self.good("oracle", "status", env={"LULL_OWNER_ORACLE": "bpf"})
        self.load()
        text = self.good("doctor", env={"LULL_OWNER_ORACLE": "none"})
        self.assertIn("  oracle           none: asked for by LULL_OWNER_ORACLE", text)
        self.assertIn("  table            loaded, of ", text)
        self.assertIn("  oracle           bpf: asked for by LULL_OWNER_ORACLE", self.good("doctor", env={"LULL_OWNER_ORACLE": "bpf"}))
        self.assertNotIn("bpf", re.search("oracle .*", self.good("doctor")).group())

    def test_measure(self):
        self.load()
        self.good("oracle", "unload")
        text = self.good("oracle", "measure", "--seconds", "1", "--json", "measure.json")
        self.assertRegex(text, r"\nnet +-?\d")
        root = self.results("measure.json")
        self.assert_documented(root, "oracle measure")
        self.assertEqual([row["scheme"] for row in root["results"]], ["store", "nothing", "net"])
        self.assertEqual(self.good("oracle", "status"), "table     not loaded\n")


if __name__ == "__main__":
    unittest.main()
