# SPDX-License-Identifier: MIT
"""--json: what is in the file, and that nothing is lost or left behind."""
import json
import os
import shlex
import signal
import subprocess
import time
import unittest

from support import ENDLESS, LULL, PATIENCE_S, QUICK, SHORT, Case


class Json(Case):
    def test_each(self):
        for name, options in SHORT.items():
            args = [name, *options, "--json", "the results.json"]
            self.good(*args)
            self.assertEqual(self.files(), ["the results.json"])
            root = self.results("the results.json")
            self.assert_documented(root, name)
            self.assertEqual(shlex.split(root["command"]), ["lull", *args])
            if name != "torture":
                self.assertTrue(root["results"], name)
            if "--schemes" in options:
                self.assertEqual({row["scheme"] for row in root["results"]},
                                 set(options[options.index("--schemes") + 1].split(",")))

    def test_threads_that_were_asked_for(self):
        for name in ("refscale", "hashscale"):
            self.good(name, *SHORT[name], "--schemes", "none", "--threads", "1,3", "--json", "results.json")
            rows = self.results("results.json")["results"]
            self.assertEqual({row["threads"] for row in rows if row["metric"] in ("read_section", "operations")}, {1, 3})

    def test_old_file_is_replaced(self):
        self.write("results.json", b"x" * 100000)
        self.good(*QUICK, "--json", "results.json")
        self.assertEqual(self.files(), ["results.json"])
        self.assert_documented(self.results("results.json"), QUICK[0])

    def test_bad_input_leaves_the_old_file_alone(self):
        self.write("results.json", b"old")
        self.bad("refscale", "--schemes", "nonsense", "--json", "results.json")
        with open(self.path("results.json"), "rb") as file:
            self.assertEqual(file.read(), b"old")

    def test_pipe(self):
        text = self.good(*QUICK, "--json", "/dev/stdout")
        self.assert_documented(json.loads(text[text.index("\n{\n"):]), QUICK[0])

    def test_standard_output(self):
        """It has the results alone, with every command. Nothing is printed, and no file is made."""
        few = ["--seconds", "0.01", "--runs", "1", "--threads", "1", "--schemes", "none,rcu", "--elements", "100"]
        for name, options in {**SHORT, "compare": [*few, "--report", "/dev/null"]}.items():
            with self.subTest(name):
                self.assert_documented(json.loads(self.good(name, *options, "--json", "-")), name)
                self.assertEqual(self.files(), [])
        self.assertIn("already the file", self.bad("compare", *ENDLESS["compare"], "--json", "-", "--report", "-"))
        with open("/dev/full", "wb") as full:
            result = subprocess.run([LULL, *QUICK, "--json", "-"], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"--json: cannot write to standard output: ", result.stderr)
        self.assert_one_line(result.stderr, QUICK)

    def test_disk_is_full_at_the_end(self):
        result = self.lull(*QUICK, "--json", "/dev/full")
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "/dev/full")
        self.assertIn(b"the results are on stdout", result.stderr)
        text = result.stdout.decode()
        self.assert_documented(json.loads(text[text.index("\n{\n"):]), QUICK[0])


class Interrupted(Case):
    def interrupted(self, name, number, *options):
        command = [LULL, name, *ENDLESS[name], *options, "--json", "results.json"]
        with subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, start_new_session=True) as process:
            deadline = time.monotonic() + PATIENCE_S
            while "results.json.tmp" not in self.files():
                self.assertIsNone(process.poll(), name)
                self.assertLess(time.monotonic(), deadline, name)
                time.sleep(0.01)
            # A terminal's Ctrl-C goes to the whole group.
            os.killpg(process.pid, number)
            process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, -number, name)
        self.assertEqual(self.files(), [], name)

    def test_each(self):
        self.interrupted("refscale", signal.SIGINT)
        self.interrupted("refscale", signal.SIGTERM)
        self.interrupted("rcuscale", signal.SIGINT)
        self.interrupted("hashscale", signal.SIGINT, "--elements", "100")

    def test_nobody_listens(self):
        """The words meet a closed pipe, as behind head. The files are complete."""
        listen, say = os.pipe()
        os.close(listen)
        with os.fdopen(say) as pipe:
            subprocess.run([LULL, "compare", "--seconds", "0.01", "--runs", "1", "--elements", "100", "--schemes", "none,rcu",
                            "--full", "--json", "results.json"], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=pipe,
                           stderr=subprocess.DEVNULL, timeout=PATIENCE_S, check=False)
        self.assertEqual(self.files(), ["lull-report.html", "results.json"])
        self.assertTrue(self.results("results.json")["results"])

    def test_compare(self):
        self.interrupted("compare", signal.SIGINT, "--elements", "100")


if __name__ == "__main__":
    unittest.main()
