# SPDX-License-Identifier: MIT
"""lull labelscale: opens with each scheme, labels that are replaced, files that go away, roots that are no good."""
import ctypes
import errno
import os
import struct
import subprocess
import time
import unittest

from support import ENDLESS, LULL, PATIENCE_S, Case

SCHEMES = ["none", "refcount", "percpu_ref", "hazptr", "rcu", "bridge"]
SHORT = ("--seconds", "0.3", "--runs", "1")
# Numbers of system calls, by machine.
KCMP, UNSHARE, CAPSET = {"x86_64": (312, 272, 126), "aarch64": (272, 97, 91)}[os.uname().machine]
KCMP_FILES = 2
libc = ctypes.CDLL(None, use_errno=True)


def refuse(number):
    """Have the kernel refuse one system call of this process with EPERM, as a sandbox does."""
    code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | errno.EPERM), (0x06, 0, 0, 0x7fff0000)]
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(text)))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program):  # PR_SET_NO_NEW_PRIVS; PR_SET_SECCOMP with a filter
        raise OSError(ctypes.get_errno(), "seccomp")


class Figures(Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("root"))
        for name in ("a", "b", "c"):
            self.write("root/" + name, b"text")

    def measure(self, *args, **more):
        text = self.good("labelscale", *args, "--json", "results.json", **more)
        root = self.results("results.json")
        self.assert_documented(root, "labelscale")
        return text, root

    def test_every_scheme(self):
        _, root = self.measure(*SHORT, "--threads", "1,2", "--root", "root")
        self.assertEqual([(row["scheme"], row["threads"]) for row in root["results"]],
                         [(scheme, threads) for threads in (1, 2) for scheme in SCHEMES])
        for row in root["results"]:
            self.assertEqual((row["metric"], row["unit"], row["failed"]), ("opens", "1/s", 0))
            self.assertGreater(row["min"], 0)
            self.assertGreater(row["ns"], 0)
            if row["scheme"] == "none":
                self.assertEqual(row["times_none"], 1)
        self.assertEqual((root["files"], root["root"]), (3, "root"))

    def tables(self, *args):
        """How many tables of files the threads have."""
        with subprocess.Popen([LULL, "labelscale", "--seconds", "600", "--threads", "2", "--root", "root", *args], cwd=self.folder,
                              stdout=subprocess.DEVNULL) as process:
            self.addCleanup(process.kill)
            deadline = time.monotonic() + PATIENCE_S
            while True:
                tids = [int(tid) for tid in os.listdir(f"/proc/{process.pid}/task")]
                tables = sum(all(libc.syscall(KCMP, a, b, KCMP_FILES, 0, 0) != 0 for b in tids[:i]) for i, a in enumerate(tids))
                if tables > 1 or time.monotonic() > deadline or (args and len(tids) > 3):
                    process.kill()
                    return tables
                time.sleep(0.05)

    def test_threads_have_files_and_a_table_of_their_own(self):
        if libc.syscall(KCMP, os.getpid(), os.getpid(), KCMP_FILES, 0, 0):
            self.skipTest("no kcmp()")
        self.assertGreater(self.tables(), 1)
        self.assertEqual(self.tables("--shared"), 1)
        self.assertIn("of its own", self.measure(*SHORT, "--threads", "2", "--root", "root")[0])
        self.assertIn("threads share", self.measure(*SHORT, "--threads", "2", "--root", "root", "--shared")[0])

    def test_threads_that_may_not_be_apart(self):
        for number in (UNSHARE, CAPSET):
            text, root = self.measure(*SHORT, "--threads", "2", "--root", "root", preexec_fn=lambda: refuse(number))
            self.assertIn("threads share their table of files and their credential, or one of them: Operation not permitted", text)
            self.assertFalse(root["apart"])
        for args in ((), ("--shared",)):
            text, root = self.measure(*SHORT, "--threads", "2", "--root", "root", *args)
            self.assertNotIn("not permitted", text)
            self.assertEqual(root["apart"], not args)

    def test_label_is_replaced_as_often_as_asked(self):
        _, root = self.measure(*SHORT, "--threads", "2", "--root", "root", "--replace-per-second", "20000")
        self.assertGreater(root["replaced"], 20)
        _, root = self.measure(*SHORT, "--threads", "2", "--root", "root", "--replace-per-second", "0")
        self.assertEqual(root["replaced"], 0)

    def test_without_restartable_sequences(self):
        _, root = self.measure(*SHORT, "--threads", "2", "--root", "root", "--replace-per-second", "20000", "--schemes",
                               "percpu_ref", env={"GLIBC_TUNABLES": "glibc.pthread.rseq=0"})
        self.assertGreater(root["replaced"], 20)
        self.assertEqual([row["scheme"] for row in root["results"]], ["none", "percpu_ref"])

    def test_none_is_always_measured(self):
        _, root = self.measure(*SHORT, "--threads", "1", "--root", "root", "--schemes", "bridge")
        self.assertEqual([row["scheme"] for row in root["results"]], ["none", "bridge"])

    def test_only_regular_files(self):
        os.mkfifo(self.path("root/fifo"))
        os.symlink("a", self.path("root/link"))
        os.symlink("root", self.path("other"))
        _, root = self.measure(*SHORT, "--threads", "1", "--root", "other")
        self.assertEqual((root["files"], root["root"]), (3, "other"))

    def test_files_that_go_away(self):
        """They are removed when the first table is there, and missing in the second."""
        args = ["--seconds", "0.6", "--runs", "1", "--threads", "1,2", "--root", "root", "--json", "results.json"]
        with subprocess.Popen([LULL, "labelscale", *args], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            while not process.stdout.readline().startswith("bridge"):
                self.assertIsNone(process.poll())
            for name in ("a", "b", "c"):
                os.unlink(self.path("root/" + name))
            text, complaints = process.communicate(timeout=PATIENCE_S)
        self.assertEqual((process.returncode, complaints), (0, ""))
        self.assertIn("opens failed", text)
        for row in self.results("results.json")["results"]:
            self.assertEqual(row["failed"] > 0, row["threads"] == 2, row)


class Refused(Case):
    def root(self, path):
        return self.bad("labelscale", *ENDLESS["labelscale"], "--root", path)

    def test_root(self):
        self.write("file", b"")
        os.mkdir(self.path("empty"))
        os.makedirs(self.path("nothing/in/it"))
        os.symlink("nowhere", self.path("dangling"))
        for path, why in (("nowhere", "No such file"), ("file", "Not a directory"), ("dangling", "No such file"),
                          ("", "No such file"), ("two\nlines", "No such file"), ("empty", "no file"), ("nothing", "no file")):
            line = self.root(path)
            self.assertTrue(line.startswith("lull labelscale: --root: "), line)
            self.assertIn(why, line)
            self.assertIn(f"'{path}'".replace("\n", "?"), line)

    @unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_root_that_may_not_be_read(self):
        os.mkdir(self.path("secret"), 0o000)
        self.assertIn("Permission denied", self.root("secret"))
        os.mkdir(self.path("secrets"))
        os.close(os.open(self.path("secrets/file"), os.O_CREAT | os.O_WRONLY, 0o000))
        self.assertIn("no file", self.root("secrets"))

    def test_root_without_files_leaves_the_old_results(self):
        self.write("results.json", b"old")
        os.mkdir(self.path("empty"))
        self.bad("labelscale", *ENDLESS["labelscale"], "--root", "empty", "--json", "results.json")
        with open(self.path("results.json"), "rb") as file:
            self.assertEqual(file.read(), b"old")

    def test_numbers(self):
        for option in ("--replace-per-second", "--seed", "--threads", "--runs"):
            for number in ("", "x", "-1", "1x", "99999999999999999999"):
                self.assertIn(option + ": ", self.bad("labelscale", *ENDLESS["labelscale"], option, number))
        self.assertIn("--threads: ", self.bad("labelscale", *ENDLESS["labelscale"], "--threads", "0"))

    def test_schemes(self):
        self.assertIn("did you mean refcount?", self.bad("labelscale", *ENDLESS["labelscale"], "--schemes", "refcont"))


if __name__ == "__main__":
    unittest.main()
