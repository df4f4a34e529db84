# SPDX-License-Identifier: MIT
"""A test that is killed, as by a time limit or an impatient user, leaves no process behind."""
import os
import signal
import subprocess
import sys
import time
import unittest
import uuid

from keeper import marked
from support import ENDLESS, PATIENCE_S

HERE = os.path.dirname(os.path.abspath(__file__))

# A runner with an instrument that goes on for a day: its own threads, processes that it has started, or another
# program, in sessions of their own.
RUNNER = """
import sys
import support
case = support.Case()
case.setUp()
case.lull(*sys.argv[1:])
"""
LONG = {
    "mutexscale": ["mutexscale", *ENDLESS["mutexscale"], "--hogs", "2", "--threads", "1", "--schemes", "pthread"],
    "compare": ["compare", *ENDLESS["compare"]],
}


class Killed(unittest.TestCase):
    def setUp(self):
        self.mark = "LULL_TEST_VICTIM=" + uuid.uuid4().hex
        self.addCleanup(self.kill_all)

    def all(self):
        return list(marked(os.fsencode(self.mark)))

    def kill_all(self):
        for pid in self.all():
            os.kill(pid, signal.SIGKILL)

    def start(self, command):
        name, value = self.mark.split("=")
        process = subprocess.Popen(command, cwd=HERE, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env={**os.environ, name: value})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_for(self, what, condition):
        end = time.monotonic() + PATIENCE_S
        while not condition():
            self.assertLess(time.monotonic(), end, (what, self.all()))
            time.sleep(0.02)

    def measures(self):
        """Does an instrument run, and has it had time to start others?"""
        busy = 0
        for pid in self.all():
            try:
                with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                    busy += file.read().startswith("lull")
            except OSError:
                pass
        return busy > 0

    def check(self, command, kill):
        process = self.start(command)
        self.wait_for("start", self.measures)
        time.sleep(0.5)
        os.kill(process.pid, kill)
        process.wait()
        self.wait_for("end", lambda: not self.all())

    def test_runner(self):
        for name, args in LONG.items():
            with self.subTest(name):
                self.check([sys.executable, "-B", "-c", RUNNER, *args], signal.SIGKILL)

    def test_its_parent(self):
        """ctest, say."""
        parent = "import subprocess, sys; subprocess.run(sys.argv[1:])"
        self.check([sys.executable, "-c", parent, sys.executable, "-B", "-c", RUNNER, *LONG["mutexscale"]],
                   signal.SIGKILL)

    def test_interrupted(self):
        self.check([sys.executable, "-B", "-c", RUNNER, *LONG["mutexscale"]], signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
