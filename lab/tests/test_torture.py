# SPDX-License-Identifier: MIT
"""lull torture that is interrupted ends soon, and says what it did until then."""
import os
import signal
import subprocess
import time
import unittest

from support import LULL, PATIENCE_S, Case


class Interrupted(Case):
    def interrupt(self, *args, number=signal.SIGINT):
        """The lines that it writes, and its exit status."""
        with subprocess.Popen([LULL, "torture", "--seconds", "3600", "--json", "results.json", *args], cwd=self.folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            try:
                first = process.stdout.readline() + process.stdout.readline()
                time.sleep(0.5)
                process.send_signal(number)
                out, err = process.communicate(timeout=PATIENCE_S)
            finally:
                process.kill()
        self.assertEqual(err, b"")
        return (first + out).decode().splitlines(), process.returncode

    def test_one_flavor(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            lines, status = self.interrupt("--flavor", "rcu", number=number)
            self.assertEqual(status, 128 + number)
            self.assertRegex(lines[-1], r"^--- End of test: SUCCESS, but interrupted after \d+\.\d of 3600 s$")
            self.assertTrue(any(line.startswith("Grace periods:") for line in lines), lines)
            self.assertEqual(self.results("results.json")["failures"], 0)

    def test_rounds(self):
        lines, status = self.interrupt("--flavor", "wild", "--conditions", "none")
        self.assertEqual(status, 130)
        self.assertRegex(lines[-1], r"^--- End of test: SUCCESS, but interrupted after .* of 3600 s, \d+ rounds, 0 failures$")

    def test_all_flavors(self):
        """The signal is for the first process alone; the one that it waits for is told."""
        lines, status = self.interrupt("--flavor", "all")
        self.assertEqual(status, 130)
        self.assertEqual(lines[-1], "=== End of all: SUCCESS, but interrupted")
        stopped, = (line for line in lines if line.startswith("=== ") and "End" not in line)
        self.assertRegex(stopped, r"^=== rcu +STOPPED ")

    def test_ignored(self):
        """A signal that the caller ignores stays ignored, as under nohup."""
        process = subprocess.run([LULL, "torture", "--flavor", "rcu", "--seconds", "1"], cwd=self.folder, check=False,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 preexec_fn=lambda: (signal.signal(signal.SIGINT, signal.SIG_IGN),
                                                     os.kill(os.getpid(), signal.SIGINT)))
        self.assertEqual((process.returncode, process.stderr), (0, b""))


if __name__ == "__main__":
    unittest.main()
