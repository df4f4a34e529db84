# SPDX-License-Identifier: MIT
"""Running the lull command in a folder that is empty at first, and what every complaint must look like."""
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import uuid

LULL = os.environ["LULL_TOOL"]
LAB = os.environ.get("LULL_LAB", "")
PEERS = os.path.join(os.path.dirname(LAB), "peers")  # the modules of the laboratory
SANITIZE = os.environ.get("LULL_SANITIZE", "")

INSTRUMENTS = ("compare", "refscale", "rcuscale", "hashscale", "keyscale", "labelscale", "mutexscale", "tradeoff",
               "torture", "doctor")

# Each in its shortest form that still measures. The time is an upper bound of what is asked for, not of what it takes.
SHORT = {
    "refscale": ["--seconds", "0.05", "--runs", "1", "--threads", "1,2", "--schemes", "none,rcu"],
    "rcuscale": ["--seconds", "0.05", "--calls", "50", "--schemes", "rcu,rcu-qsbr", "--what", "synchronize,call,barrier",
                 "--setup", "idle"],
    "hashscale": ["--seconds", "0.1", "--runs", "1", "--threads", "1,2", "--schemes", "none,rcu,spinlock",
                  "--elements", "100", "--updates", "0,10"],
    "keyscale": ["--seconds", "0.1", "--runs", "1", "--threads", "1", "--schemes", "rcu,hazptr,shazptr", "--keys", "100"],
    "labelscale": ["--seconds", "0.1", "--runs", "1", "--threads", "1,2", "--schemes",
                   "none,refcount,percpu_ref,hazptr,rcu,bridge", "--root", "/etc"],
    "mutexscale": ["--seconds", "0.05", "--runs", "1", "--threads", "1,2", "--section", "1us", "--schemes", "pthread,futex"],
    "tradeoff": ["--seconds", "0.05", "--runs", "1", "--threads", "1,2", "--objects", "100", "--slow", "1ms"],
    "torture": ["--seconds", "0.3", "--readers", "2"],
    "doctor": [],
}

# The instrument that is over first, also under a sanitizer, for tests that depend on none.
QUICK = ["rcuscale", "--seconds", "0.01", "--calls", "10", "--schemes", "rcu", "--what", "synchronize", "--setup", "idle"]

# With these options an instrument that measured before it looked at its input would not end.
ENDLESS = {
    "compare": ["--seconds", "86400"],
    "refscale": ["--seconds", "86400"],
    "rcuscale": ["--seconds", "86400", "--calls", "10000000"],
    "hashscale": ["--seconds", "86400"],
    "keyscale": ["--seconds", "86400"],
    "labelscale": ["--seconds", "86400"],
    "mutexscale": ["--seconds", "86400"],
    "tradeoff": ["--seconds", "86400"],
    "torture": ["--seconds", "86400"],
    "doctor": [],
}

PATIENCE_S = 300


def leave_nothing_behind():
    """However this process ends, what it starts ends with it (keeper.py); and it ends with the one that started it."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        sys.exit("the process that started this test has ended")
    name = "LULL_TEST_RUNNER"
    os.environ.pop(name, None)
    mark = uuid.uuid4().hex
    # In a session of its own; no other process inherits the pipe to it, so that it ends with this process.
    keeper = subprocess.Popen([sys.executable, "-B", os.path.join(os.path.dirname(os.path.abspath(__file__)), "keeper.py"),
                               name + "=" + mark], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, start_new_session=True)
    keeper.returncode = 0  # nobody waits for it
    os.environ[name] = mark
    return keeper


KEEPER = leave_nothing_behind()


STALL_LINE = re.compile(rb"^lull: [^\n]+ has (?:waited|not returned for) \d+ ms[^\n]*\n", re.M)


def others_may_run(path):
    return all(os.stat(folder).st_mode & 1 for folder in pathlib.Path(path).resolve().parents)


class Case(unittest.TestCase):
    maxDiff = None  # of what was said on a machine that nobody sees again

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="lull-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def files(self):
        return sorted(os.listdir(self.folder))

    def lull(self, *args, env=None, **more):
        """Runs it in the folder, stdout and stderr in pipes."""
        if getattr(more.get("preexec_fn"), "__name__", "") == "become_nobody" and not others_may_run(LULL):
            self.skipTest("another user may not enter the folder of the command")
        with subprocess.Popen([LULL, *args], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={**os.environ, **(env or {})}, start_new_session=True,
                              **more) as process:
            try:
                out, err = process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # with those that it started
                raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def good(self, *args, **more):
        """Success with a quiet stderr; gives stdout. A busy machine may stop a reader for a second in its section, and
        lull says so: that is no fault of the command's."""
        result = self.lull(*args, **more)
        self.assertEqual((result.returncode, STALL_LINE.sub(b"", result.stderr)), (0, b""), args)
        return result.stdout.decode(errors="replace")

    def assert_one_line(self, text, args):
        self.assertTrue(text.startswith(b"lull"), (args, text))
        self.assertTrue(text.endswith(b"\n"), (args, text))
        line = text[:-1]
        self.assertFalse([byte for byte in line if byte < 0x20 or byte == 0x7f], (args, text))

    def bad(self, *args, **more):
        """Refused with one line, before there was anything to say; leaves no files. Gives the line."""
        before = self.files()
        result = self.lull(*args, **more)
        self.assertEqual((result.returncode, result.stdout), (2, b""), (args, result.stderr))
        self.assert_one_line(result.stderr, args)
        self.assertEqual(self.files(), before, args)
        return result.stderr.decode(errors="replace")

    def results(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return json.load(file)

    def assert_documented(self, root, tool):
        """{"tool", "version", "machine", "command", "results": [{"scheme", "threads", "unit", ...}]}"""
        self.assertEqual(root["tool"], tool)
        self.assertEqual("lull " + root["version"] + "\n", self.good("--version"))
        self.assertIsInstance(root["machine"], dict)
        self.assertTrue(root["machine"])
        self.assertTrue(root["command"].startswith("lull " + tool), root["command"])
        self.assertIsInstance(root["results"], list)
        for row in root["results"]:
            self.assertIsInstance(row["scheme"], str)
            self.assertIs(type(row["threads"]), int)
            self.assertIsInstance(row["unit"], str)
            figures = [row["min"], row["median"], row["max"]]
            if None in figures:
                self.assertEqual(figures, [None] * 3, row)
            else:
                self.assertLessEqual(figures[0], figures[1], row)
                self.assertLessEqual(figures[1], figures[2], row)
