# SPDX-License-Identifier: MIT
"""lull rcuscale: every kind of figure for every setup, the two tables of the early report, the kernel's lines."""
import re
import unittest

from support import Case

SETUPS = ("idle", "busy", "threads64", "sections")
LATENCIES = ("synchronize", "call", "barrier", "barrier_queued")


class Figures(Case):
    def test_every_kind_in_every_setup(self):
        self.good("rcuscale", "--schemes", "rcu,rcu-qsbr,rcu-full", "--setup", "all", "--runs", "2", "--calls", "8",
                  "--objects", "2000", "--json", "results.json")
        rows = self.results("results.json")["results"]
        for scheme in ("rcu", "rcu-qsbr", "rcu-full"):
            ways = ("replace_call", "replace_free")
            if scheme != "rcu-qsbr":  # an online thread cannot wait where it defers
                ways += ("replace_help",)
            self.assertEqual({row["metric"] for row in rows if row["scheme"] == scheme},
                             {f"{kind}_{setup}" for kind in LATENCIES + ways for setup in SETUPS})
        for row in rows:
            if row["metric"].startswith("replace"):
                self.assertLessEqual(row["peak_objects"], 2000, row)
                continue
            self.assertGreaterEqual(row["count"], 1, row)
            self.assertLessEqual(row["p50"], row["p90"], row)
            self.assertLessEqual(row["p90"], row["p99"], row)
            self.assertLessEqual(row["p99"], row["max"], row)

    def test_limit_of_replacement(self):
        self.good("rcuscale", "--schemes", "free-at-once", "--objects", "1000", "--json", "results.json")
        rows = self.results("results.json")["results"]
        self.assertEqual([(row["metric"], row["peak_objects"]) for row in rows], [("replace_now_idle", 0)])


class Polled(Case):
    ARGS = ("rcuscale", "--gp", "polled", "--calls", "5", "--runs", "2", "--fqs-first", "500", "--fqs-next", "500")

    def test_second_scans(self):
        """How many scans it takes depends on nobody's speed: only on when the driver reports itself."""
        out = self.good(*self.ARGS, "--json", "results.json")
        self.assertEqual(re.findall(r"second scan: (\d+ of \d+)", out), ["10 of 10", "0 of 10"])
        root = self.results("results.json")
        self.assertEqual((root["second_scans_late"], root["second_scans_early"]), (10, 0))
        for row in root["results"]:
            waits = {"synchronize_self_qs_late": 2, "synchronize_self_qs_early": 1}.get(row["metric"], 0)
            self.assertGreaterEqual(row["min"], waits * 500000, row)

    def test_one_of_them(self):
        out = self.good(*self.ARGS, "--self-qs", "early")
        self.assertEqual(re.findall(r"second scan: (\d+ of \d+)", out), ["0 of 10"])


class KernelFormat(Case):
    def test_words_by_position(self):
        """The kernel's script takes words 9 and 11 of the line with the batches, and word 5 of each sample."""
        out = self.good("rcuscale", "--kernel-format", "--schemes", "rcu", "--setup", "idle", "--calls", "7").split("\n")
        batches = [line.split() for line in out if re.search(r"-scale: .* gps: .* batches:", line)]
        self.assertEqual([line[8] for line in batches], ["7"])
        self.assertGreaterEqual(int(batches[0][10]), 7)
        samples = [line.split() for line in out if re.search(r"-scale: .*writer-duration", line)]
        self.assertEqual([line[3] for line in samples], [str(i) for i in range(7)])
        for line in samples:
            self.assertGreater(int(line[4]), 0)

    def test_needs_one_scheme_and_setup(self):
        self.assertIn("--schemes", self.bad("rcuscale", "--kernel-format"))
        self.assertIn("--schemes", self.bad("rcuscale", "--kernel-format", "--schemes", "rcu,rcu-qsbr"))
        self.assertIn("setup", self.bad("rcuscale", "--kernel-format", "--schemes", "rcu", "--setup", "idle,busy"))


if __name__ == "__main__":
    unittest.main()
