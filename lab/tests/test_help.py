# SPDX-License-Identifier: MIT
"""--help, --version and --list; nothing but text in a pipe, a progress line on a terminal."""
import os
import pty
import re
import subprocess
import unittest

from support import INSTRUMENTS, LULL, QUICK, SHORT, Case


class Help(Case):
    def test_command(self):
        text = self.good("--help")
        self.assertEqual(text, self.good("help"))
        for name in INSTRUMENTS:
            self.assertIn("\n  " + name + " ", text)

    def test_help_of_each(self):
        for name in INSTRUMENTS:
            text = self.good(name, "--help")
            self.assertTrue(text.startswith("Usage: lull " + name), text)
            for option in ("--json", "--list", "--help", "--version"):
                self.assertIn(option, text, name)

    def test_json_of_each(self):
        """The commands that have --json take it in the same way."""
        commands = re.findall(r"^  (\w+) ", self.good("--help"), re.M)
        self.assertLess(set(INSTRUMENTS) | {"top", "trace"}, set(commands))
        for name in commands:
            text = " ".join(self.good(name, "--help").split())
            if name not in ("peers", "urcu"):
                self.assertRegex(text, r"--json=FILE [^=]*FILE[^=]*; -: to standard output", name)
            self.assertEqual("--json=FILE" in text, "--json" in text, name)

    def test_other_ways_to_ask(self):
        self.assertEqual(self.good("-h"), self.good("--help"))
        for name in INSTRUMENTS:
            text = self.good(name, "--help")
            self.assertEqual(self.good(name, "-h"), text)
            self.assertEqual(self.good("help", name), text)
        self.assertIn("unknown command 'nonsense'", self.bad("help", "nonsense"))
        self.assertIn("unexpected 'doctor'", self.bad("help", "top", "doctor"))
        self.assertIn("unknown option '-x'", self.bad("doctor", "-x"))

    def test_doctor_ends_with_advice(self):
        """One sentence, the same in the JSON; what a user has switched off is named there."""
        for env, word in (({}, None), ({"LULL_FENCE": "full"}, "LULL_FENCE"),
                          ({"LULL_OWNER_ORACLE": "none"}, "LULL_OWNER_ORACLE"),
                          ({"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}, "glibc.pthread.rseq")):
            last = self.good("doctor", "--json", "doctor.json", env=env).splitlines()[-1]
            root = self.results("doctor.json")
            self.assertEqual(root["advice"], last)
            self.assertEqual(root["all_is_well"], last.startswith("All is well"))
            if word and (word != "LULL_OWNER_ORACLE" or os.cpu_count() > 1):
                self.assertIn(word, last)

    def test_version_of_each(self):
        version = self.good("--version")
        self.assertRegex(version, r"^lull \d+\.\d+\.\d+\n$")
        for name in INSTRUMENTS:
            self.assertEqual(self.good(name, "--version"), version)

    def test_list_of_each(self):
        for name in INSTRUMENTS:
            self.assertTrue(self.good(name, "--list").endswith("\n"), name)

    def test_listed_schemes_can_be_chosen(self):
        for name in ("refscale", "rcuscale", "hashscale"):
            lines = self.good(name, "--list").splitlines()
            schemes = [line.split()[0] for line in lines if not line.split()[0].endswith(":")]
            self.assertIn("rcu", schemes)
            self.assertEqual(len(schemes), len(set(schemes)))
            # A wrong one at the end keeps them from running.
            line = self.bad(name, "--schemes", ",".join(schemes + ["nonsense"]))
            self.assertIn("unknown scheme 'nonsense'", line)


class Output(Case):
    def test_nothing_but_text_in_a_pipe(self):
        for name, options in SHORT.items():
            text = self.good(name, *options)
            self.assertFalse([c for c in text if c < " " and c not in "\n"], name)
            self.assertTrue(text, name)

    def test_progress_on_a_terminal(self):
        try:
            ours, theirs = pty.openpty()
        except OSError:
            self.skipTest("there is no /dev/pts here")
        with subprocess.Popen([LULL, *QUICK], cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=theirs) as process:
            os.close(theirs)
            text = process.stdout.read()
            shown = b""
            try:
                while chunk := os.read(ours, 65536):
                    shown += chunk
            except OSError:
                pass  # how a terminal ends whose other side is closed
        os.close(ours)
        self.assertEqual(process.returncode, 0)
        self.assertIn(QUICK[0].encode() + b": ", shown)
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown[-80:])
        self.assertNotIn(b"\x1b", text)

    def test_full_disk(self):
        with open("/dev/full", "wb") as full:
            for args in (["--help"], ["refscale", "--list"], ["doctor"]):
                result = subprocess.run([LULL, *args], stdout=full, stderr=subprocess.PIPE, check=False)
                self.assertEqual(result.returncode, 1, args)
                self.assert_one_line(result.stderr, args)


if __name__ == "__main__":
    unittest.main()
