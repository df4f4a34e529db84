# SPDX-License-Identifier: MIT
"""Bad input: one line on stderr, exit status 2, nothing on stdout, before anything is measured."""
import resource
import unittest

from support import ENDLESS, INSTRUMENTS, SANITIZE, Case

NUMBERS = ("", "x", "-1", "1x", "1.5", "0", " 1", "99999999999999999999", "1,", ",1", "1,,2", "1,x")


class Words(Case):
    def test_no_command(self):
        self.assertIn("--help", self.bad())

    def test_unknown_command(self):
        line = self.bad("measure")
        self.assertIn("'measure'", line)
        for name in INSTRUMENTS:
            self.assertIn(name, line)
        self.bad("")
        self.bad("--json")
        self.bad("re\nf\x1b[2J\x7f")

    def test_unknown_option(self):
        for name in INSTRUMENTS:
            for word in ("--nonsense", "--nonsense=3", "-x", "-xyz", "--json-file=x"):
                line = self.bad(name, *ENDLESS[name], word)
                self.assertTrue(line.startswith(f"lull {name}: unknown option '{word}'"), line)
            self.assertIn("unexpected 'word'", self.bad(name, *ENDLESS[name], "word"))
            self.assertIn("unexpected '-x'", self.bad(name, *ENDLESS[name], "--", "-x"))
            self.bad(name, *ENDLESS[name], "two\nlines")

    def test_value_missing_or_too_many(self):
        for name in INSTRUMENTS:
            self.assertIn("--json needs a value", self.bad(name, "--json"))
            self.assertIn("--list takes no value", self.bad(name, "--list=3"))
        self.assertIn("--flavor needs a value", self.bad("rcuscale", "--flavor"))
        self.assertIn("--skip-self-scan takes no value", self.bad("rcuscale", "--flavor", "shazptr", "--skip-self-scan=1"))

    def test_options_that_an_instrument_lacks(self):
        self.assertIn("--threads", self.bad("doctor", "--threads", "1"))
        self.assertIn("--schemes", self.bad("torture", "--schemes", "rcu"))
        self.assertIn("--runs", self.bad("torture", "--runs", "1"))
        for flavor in ("domain", "percpu_rwsem"):
            self.assertIn(f"--stall: reports of flavor {flavor} name no thread",
                          self.bad("torture", "--flavor", flavor, "--stall", "100"))

    def test_unknown_scheme(self):
        for name in ("compare", "refscale", "rcuscale", "hashscale"):
            line = self.bad(name, *ENDLESS[name], "--schemes", "none,rcuu" if name != "rcuscale" else "rcuu")
            self.assertIn("'rcuu': did you mean rcu?", line)
            self.assertIn("known: ", line)
            self.assertIn("rcu-qsbr", line)
            for schemes in ("", ",", "rcu,", "RCU", "rc\nu", "x" * 5000):
                self.bad(name, *ENDLESS[name], "--schemes", schemes)

    def test_unknown_word(self):
        self.assertIn("late", self.bad("rcuscale", "--gp", "polled", "--self-qs", "soon"))
        for option in ("--gp", "--what", "--setup", "--flavor"):
            self.assertIn("'nonsense'", self.bad("rcuscale", *ENDLESS["rcuscale"], option, "nonsense"))
        self.assertIn("'6'", self.bad("hashscale", "--figure", "6"))
        for option in ("--flavor", "--reclaim", "--busted"):
            self.assertIn("nonsense", self.bad("torture", *ENDLESS["torture"], option, "nonsense"))


class Numbers(Case):
    def test_lists(self):
        for name in ("compare", "refscale", "hashscale", "rcuscale"):
            for number in NUMBERS + ("4097", "1,4097"):
                if number != "0" or name == "refscale":
                    self.assertIn("--threads: ", self.bad(name, *ENDLESS[name], "--threads", number))
        for number in ("101", "-1", "x", ""):
            self.assertIn("--updates: ", self.bad("hashscale", *ENDLESS["hashscale"], "--updates", number))

    def test_no_threads(self):
        for name in ("compare", "refscale", "hashscale", "rcuscale"):
            self.assertIn("--threads: 0 is out of range", self.bad(name, *ENDLESS[name], "--threads", "0"))

    def test_single(self):
        options = {
            "compare": ("--runs", "--elements", "--buckets"),
            "refscale": ("--runs",),
            "rcuscale": ("--runs", "--calls", "--objects", "--fqs-first", "--fqs-next"),
            "hashscale": ("--runs", "--elements", "--buckets"),
            "torture": ("--readers", "--updaters", "--seed"),
        }
        for name, numbers in options.items():
            for option in numbers:
                for number in ("", "x", "-1", "1x", "99999999999999999999"):
                    self.assertIn(option, self.bad(name, *ENDLESS[name], option, number))

    def test_seconds(self):
        for name in ("compare", "refscale", "rcuscale", "hashscale", "mutexscale", "torture"):
            for number in ("", "x", "-1", "0", "1s", "nan", "inf", "1e99"):
                self.assertIn("--seconds: ", self.bad(name, "--seconds", number))

    def test_buckets(self):
        line = self.bad("hashscale", *ENDLESS["hashscale"], "--elements", "10", "--buckets", "1000")
        self.assertIn("512 and 1024", line)

    @unittest.skipIf(SANITIZE, "sanitizers need more memory than the limit of this test")
    def test_more_threads_than_can_be_made(self):
        def few():
            resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))

        # Some have said what they measure by then; nothing is left behind all the same.
        for name, args in (("refscale", []), ("hashscale", ["--elements", "10"]), ("mutexscale", ["--schemes", "pthread"])):
            result = self.lull(name, "--threads", "1,4096", "--schemes", "none", "--json", "results.json", *ENDLESS[name],
                               *args, preexec_fn=few)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assert_one_line(result.stderr, name)
            self.assertIn(b"you asked for 4096 threads; only ", result.stderr)
            self.assertEqual(self.files(), [])


class Environment(Case):
    def test_fence(self):
        for value in ("nonsense", "FULL", "full ", "two\nlines", "x" * 5000):
            for args in (["--version"], ["refscale", *ENDLESS["refscale"]], []):
                line = self.bad(*args, env={"LULL_FENCE": value})
                self.assertIn("LULL_FENCE", line)
                self.assertIn("membarrier or full", line)
        self.good("--version", env={"LULL_FENCE": "full"})
        self.good("--version", env={"LULL_FENCE": ""})
        self.assertIn("full: asked for by LULL_FENCE", self.good("doctor", env={"LULL_FENCE": "full"}))

    def test_oracle(self):
        for value in ("nonsense", "RSEQ", "rseq ", "two\nlines", "x" * 5000):
            for args in (["--version"], ["mutexscale", *ENDLESS["mutexscale"]], []):
                line = self.bad(*args, env={"LULL_OWNER_ORACLE": value})
                self.assertIn("LULL_OWNER_ORACLE", line)
                self.assertIn("rseq, bpf, kernel, slice or none", line)
        for value in ("none", ""):
            self.good("--version", env={"LULL_OWNER_ORACLE": value})


class Files(Case):
    def test_json_cannot_be_written(self):
        self.write("file", b"")
        for name in INSTRUMENTS:
            for path in ("nowhere/results.json", ".", "file/results.json", "", "/proc/results.json"):
                line = self.bad(name, *ENDLESS[name], "--json", path)
                self.assertTrue(line.startswith(f"lull {name}: --json: "), line)
                self.assertIn(f"'{path}'" if path else "empty", line)

    def test_report_cannot_be_written(self):
        self.write("file", b"")
        for path in ("nowhere/report.html", ".", "file/report.html", "", "/proc/report.html"):
            line = self.bad("compare", *ENDLESS["compare"], "--report", path)
            self.assertTrue(line.startswith("lull compare: --report: "), line)
            self.assertIn(f"'{path}'" if path else "empty", line)

    def test_one_file_for_both(self):
        self.bad("compare", *ENDLESS["compare"], "--json", "results", "--report", "results")


if __name__ == "__main__":
    unittest.main()
