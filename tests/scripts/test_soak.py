# SPDX-License-Identifier: MIT
"""scripts/soak among made-up commands: what it refuses, what it reports, and that it reports when it is ended."""
import os
import signal
import subprocess
import time
import unittest

from support import PATIENCE_S, Case

LULL = """
case $1 in
torture) echo "$*" >>ran ;;
doctor) echo '  cpu   made up'; exit ;;
esac
case "$*" in
*"--flavor hazptr"*) echo 'failure after 3 s: a reader saw letter 7'; exit 1 ;;
esac
sleep 0.01
"""


class Soak(Case):
    def setUp(self):
        super().setUp()
        self.bring("scripts/soak")
        self.command("bin/cmake", "echo cmake $* >>ran; test ! -e no-build || { echo no compiler; exit 1; }\n")
        self.command("build/release/tools/lull/lull", LULL)

    def test_arguments(self):
        for args in (("x",), ("--fast",), ("0",), ("0m",), ("m",), ("-1",), ("1.5",), ("-o",), ("",), ("5m", "x")):
            status, out, err = self.run_in("scripts/soak", *args)
            self.assertEqual((status, out), (2, ""), args)
            self.assertIn("usage: scripts/soak ", err)
            self.assertFalse((self.root / "ran").exists(), args)

    def test_file_that_cannot_be_written(self):
        status, out, err = self.run_in("scripts/soak", "1m", "-o", "no/such/folder")
        self.assertEqual((status, out), (2, ""))
        self.assert_one_line(err, "no/such/folder")

    def test_no_build(self):
        self.write("no-build", "")
        status, _, err = self.run_in("scripts/soak", "1m")
        self.assertEqual((status, err), (1, "no compiler\n"))

    def ended(self, number, *builds):
        """(exit status, output, report) of one that is ended after twenty runs."""
        (self.root / "ran").unlink(missing_ok=True)
        with subprocess.Popen(["scripts/soak", "600m", "-o", "report", *builds], cwd=self.root, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environment()) as process:
            patience = time.monotonic() + PATIENCE_S
            while not (self.root / "ran").exists() or (self.root / "ran").read_text().count("torture") < 20:
                self.assertLess(time.monotonic(), patience, "it does not run")
                time.sleep(0.02)
            os.kill(process.pid, number)
            out, _ = process.communicate(timeout=PATIENCE_S)
        return process.returncode, out, (self.root / "report").read_text()

    def test_ended_with_failures(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            status, out, report = self.ended(number)
            self.assertEqual(status, 1)
            self.assertTrue(out.endswith(report), out)
            self.assertRegex(report, r"(?m)^lasted: .* \d\d+ runs of ")
            self.assertIn(f"ended by {number.name}", report)
            self.assertRegex(report, r"(?m)^hazptr +(\d+) runs, \1 failed$")
            self.assertRegex(report, r"(?m)^rcu +\d+ runs, 0 failed$")
            self.assertRegex(report, r"release, exit status 1: LULL_FENCE=\w+ lull torture --flavor hazptr .* --seed \d+")
            self.assertIn("\nfailure after 3 s: a reader saw letter 7\n", report)

    def test_ended_without(self):
        self.command("build/release/tools/lull/lull", LULL.replace("exit 1", "exit 0"))
        status, _, report = self.ended(signal.SIGTERM)
        self.assertEqual(status, 0)
        self.assertTrue(report.endswith("failures: none\n"), report)


if __name__ == "__main__":
    unittest.main()
