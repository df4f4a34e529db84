# SPDX-License-Identifier: MIT
"""lull rcuscale: every kind of figure for every setup, hazard pointers, the end of a percpu_ref, the letter's lines, the early report, the kernel's lines."""
import re
import unittest

from support import Case

SETUPS = ("idle", "busy", "threads64", "sections")
LATENCIES = ("synchronize", "call", "barrier", "barrier_queued")


class Figures(Case):
    def test_every_kind_in_every_setup(self):
        self.good("rcuscale", "--schemes", "rcu,rcu-qsbr,rcu-full", "--setup", ",".join(SETUPS), "--runs", "2",
                  "--calls", "8", "--objects", "2000", "--json", "results.json")
        rows = self.results("results.json")["results"]
        for scheme in ("rcu", "rcu-qsbr", "rcu-full"):
            ways = ("replace_call", "replace_free")
            if scheme != "rcu-qsbr":  # an online thread cannot wait where it defers, and runs no callback there
                ways += ("replace_help", "replace_pure")
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


class HazardPointers(Case):
    SCHEMES = {
        "hazptr": LATENCIES + ("replace_call", "replace_free"),
        "hazptr-fenced": LATENCIES + ("replace_call", "replace_free"),
        "hazptr-rcu": LATENCIES[1:] + ("replace_call", "replace_free"),
        "shazptr": ("synchronize",),
        "shazptr-wildcard": ("synchronize",),
    }

    def test_what_each_has_in_every_setup(self):
        out = self.good("rcuscale", "--schemes", ",".join(self.SCHEMES), "--setup", ",".join(SETUPS), "--runs", "1",
                        "--calls", "4", "--objects", "2000", "--json", "results.json")
        rows = self.results("results.json")["results"]
        for scheme, kinds in self.SCHEMES.items():
            self.assertIn(f"\n{scheme} ", out)
            self.assertEqual({row["metric"] for row in rows if row["scheme"] == scheme},
                             {f"{kind}_{setup}" for kind in kinds for setup in SETUPS})

    def test_peers(self):
        if "\nck-hp " not in self.good("rcuscale", "--list"):
            self.skipTest("ck-hp is not here")
        self.good("rcuscale", "--schemes", "ck-hp", "--runs", "1", "--objects", "2000", "--json", "results.json")
        rows = self.results("results.json")["results"]
        self.assertEqual({row["metric"] for row in rows}, {"replace_call_idle", "replace_call_busy"})

    def test_stuck_reader_and_the_stated_bound(self):
        """A reader that keeps an object for 200 ms holds up that one only: one thread keeps about 1000 others."""
        self.good("rcuscale", "--schemes", "rcu,hazptr,hazptr-fenced", "--what", "replace", "--setup", "stuck", "--runs",
                  "1", "--objects", "20000", "--json", "results.json")
        rows = {(row["scheme"], row["metric"]): row for row in self.results("results.json")["results"]}
        self.assertIn(("rcu", "replace_free_stuck"), rows)
        for scheme in ("hazptr", "hazptr-fenced"):
            self.assertLessEqual(rows[scheme, "replace_free_stuck"]["peak_objects"], 1000 + 2 * 64)

    def test_interrupts(self):
        """A scheme that needs no heavy fence makes none, whatever /proc/interrupts says."""
        self.good("rcuscale", "--schemes", "rcu,hazptr,hazptr-fenced,shazptr", "--what", "interrupts", "--seconds", "0.02",
                  "--runs", "1", "--json", "results.json")
        root = self.results("results.json")
        heavy = {row["scheme"]: row["heavy_fences_per_second"] for row in root["results"]}
        self.assertEqual(set(heavy), {"rcu", "hazptr", "hazptr-fenced", "shazptr", "no-updates"})
        self.assertEqual((heavy["shazptr"], heavy["no-updates"]), (0, 0))
        if root["machine"]["fence"] == "membarrier":
            self.assertEqual(heavy["hazptr-fenced"], 0)
            self.assertGreater(heavy["rcu"], 0)
            self.assertGreater(heavy["hazptr"], 0)

    def test_wake(self):
        """The instrument itself ends with a complaint when a call returns before the reader leaves."""
        schemes = ("rcu", "rcu-qsbr", "rcu-full", "hazptr", "hazptr-fenced", "shazptr", "shazptr-wildcard")
        self.good("rcuscale", "--schemes", ",".join(schemes + ("hazptr-rcu",)), "--what", "wake", "--calls", "4", "--runs",
                  "2", "--json", "results.json")
        rows = self.results("results.json")["results"]
        self.assertEqual([(row["scheme"], row["metric"], row["count"]) for row in rows],
                         [(scheme, "wake", 4) for scheme in schemes])
        for row in rows:
            self.assertGreater(row["min"], 0, row)
            self.assertGreater(row["own_cpu_ns"], 0, row)

    def test_paced(self):
        """Every call is counted, and its callback has run; fences are those of lull's own schemes."""
        self.good("rcuscale", "--schemes", "rcu,rcu-qsbr,liburcu-memb,free-at-once", "--what", "paced", "--seconds", "0.1",
                  "--runs", "2", "--json", "results.json")
        rows = {(row["scheme"], row["metric"]): row for row in self.results("results.json")["results"]}
        self.assertEqual({metric for _, metric in rows},
                         {f"paced_{rate}_{what}" for rate in (1000, 100000) for what in ("call", "until_run")})
        self.assertLessEqual({"rcu", "rcu-qsbr"}, {scheme for scheme, _ in rows})
        self.assertNotIn("free-at-once", {scheme for scheme, _ in rows})
        for (scheme, metric), row in rows.items():
            self.assertEqual(row["count"], rows["rcu", metric]["count"], row)
            self.assertGreaterEqual(row["count"], 2 * (2 if "_1000_" in metric else 200), row)
            if metric.endswith("until_run"):
                self.assertGreater(row["min"], rows[scheme, metric.replace("until_run", "call")]["min"], row)
                self.assertEqual(row["heavy_fences_per_second"] is None, scheme.startswith("liburcu"), row)

    def test_updaters(self):
        wanted = {("rcu", "updaters_call"), ("rcu", "updaters_free"), ("hazptr", "updaters_call"), ("hazptr", "updaters_free"),
                  ("free-at-once", "updaters_now")}
        for args, numbers in (((), (2,)), (("--threads", "1,2,5"), (1, 2, 5))):
            text = self.good("rcuscale", "--schemes", "rcu,hazptr,free-at-once", "--what", "updaters", "--seconds", "0.1", *args,
                             "--json", "results.json")
            rows = self.results("results.json")["results"]
            self.assertEqual({(row["scheme"], row["metric"], row["threads"]) for row in rows},
                             {(*one, threads) for one in wanted for threads in numbers})
            for row in rows:
                self.assertEqual(row["unit"], "Mops")
                self.assertGreater(row["min"], 0)
            for threads in numbers:
                words = f"{threads} thread{'s' * (threads > 1)}"
                self.assertIn(f"\n{words}, each replaces 64-byte objects in a place of its own\n", text)

    def test_scan(self):
        self.good("rcuscale", "--schemes", "hazptr,free-at-once", "--what", "scan", "--runs", "1", "--json",
                  "results.json")
        rows = self.results("results.json")["results"]
        self.assertEqual({(row["scheme"], row["metric"]) for row in rows},
                         {(scheme, f"scan_{slots}") for scheme in ("hazptr", "free-at-once") for slots in (8, 500, 1000)})


class Kill(Case):
    def measure(self, *args, **more):
        out = self.good("rcuscale", "--what", "kill", "--calls", "40", "--runs", "2", *args, "--json", "results.json", **more)
        root = self.results("results.json")
        for row in root["results"]:
            self.assertEqual(row["count"], 40, row)
            self.assertGreater(row["min"], 0, row)
            self.assertLess(row["max"], 60e9, row)
        return out, root, {(row["scheme"], row["metric"]) for row in root["results"]}

    def test_beside_a_bare_membarrier(self):
        _, root, rows = self.measure()
        self.assertIn(("percpu_ref", "kill_busy"), rows)
        if root["machine"]["fence"] == "membarrier":
            self.assertEqual(rows, {(scheme, f"kill_{setup}") for scheme in ("percpu_ref", "membarrier")
                                    for setup in ("idle", "busy")})

    def test_every_setup(self):
        _, _, rows = self.measure("--setup", ",".join(SETUPS), "--schemes", "percpu_ref,rcu")
        self.assertEqual(rows, {("percpu_ref", f"kill_{setup}") for setup in SETUPS})

    def test_without_restartable_sequences(self):
        out, root, rows = self.measure("--schemes", "percpu_ref", env={"GLIBC_TUNABLES": "glibc.pthread.rseq=0"})
        self.assertEqual(rows, {("percpu_ref", "kill_idle"), ("percpu_ref", "kill_busy")})
        self.assertIs(root["percpu_ref_per_cpu"], False)
        self.assertIn("it waits for a grace period", out)


class Letter(Case):
    SHORT = ("--calls", "40", "--runs", "2", "--json", "results.json")
    LINES = ("Average", "Minimum", "50th percentile", "90th percentile", "99th percentile", "Maximum")

    def blocks(self, *args):
        """The titles of the blocks, each of which has the six lines, in this order."""
        out = self.good("rcuscale", *args, *self.SHORT)
        blocks = re.findall(r"^(\S+(?: \(skip_self_scan=1\))?):\n\n((?:.* grace-period duration: .*\n)+)", out, re.M)
        rows = self.results("results.json")["results"]
        self.assertEqual(len(rows), len(blocks))
        for (title, lines), row in zip(blocks, rows):
            self.assertEqual(tuple(line.split(" grace-period duration: ")[0] for line in lines.splitlines()), self.LINES,
                             title)
            self.assertRegex(lines.splitlines()[0], r"^Average grace-period duration: [0-9.]+ microseconds$")
            figures = [float(re.search(r": ([0-9.]+)", line).group(1)) for line in lines.splitlines()]
            for figure, name in zip(figures, ("mean", "min", "p50", "p90", "p99", "max")):
                self.assertAlmostEqual(figure, row[name] / 1000, delta=0.001 + 1e-5 * figure, msg=(title, name))
        return [title for title, _ in blocks]

    def test_five_blocks(self):
        self.assertEqual(self.blocks("--flavor", "letter"),
                         ["rcu", "shazptr", "shazptr (skip_self_scan=1)", "shazptr-wildcard",
                          "shazptr-wildcard (skip_self_scan=1)"])
        rows = self.results("results.json")["results"]
        self.assertEqual([(row["scheme"], row["metric"]) for row in rows],
                         [("rcu", "flavor"), ("shazptr", "flavor"), ("shazptr", "flavor_skip_self_scan"),
                          ("shazptr-wildcard", "flavor"), ("shazptr-wildcard", "flavor_skip_self_scan")])

    def test_one_by_one(self):
        self.assertEqual(self.blocks("--flavor", "shazptr", "--setup", "idle"), ["shazptr"])
        self.assertEqual(self.blocks("--flavor", "shazptr,shazptr-wildcard", "--skip-self-scan"),
                         ["shazptr (skip_self_scan=1)", "shazptr-wildcard (skip_self_scan=1)"])
        self.assertEqual(self.blocks("--flavor", "hazptr,hazptr-fenced"), ["hazptr", "hazptr-fenced"])
        self.assertEqual(len(self.blocks("--flavor", "all", "--setup", "sections")), 7)

    def test_refused(self):
        self.assertIn("--flavor shazptr", self.bad("rcuscale", "--skip-self-scan"))
        self.assertIn("hazptr has no such scan", self.bad("rcuscale", "--flavor", "hazptr", "--skip-self-scan"))
        self.assertIn("rcu has no such scan", self.bad("rcuscale", "--flavor", "shazptr,rcu", "--skip-self-scan"))
        for more in (["--schemes", "rcu"], ["--what", "call"], ["--kernel-format"], ["--gp", "polled"]):
            self.assertIn("does not go with", self.bad("rcuscale", "--flavor", "rcu", *more))
        for setup in ("idle,busy", "all", "stuck"):
            self.assertIn("one --setup", self.bad("rcuscale", "--flavor", "rcu", "--setup", setup))
        for flavor in ("", "rcu,", "shazptrs", "RCU", "rc\nu"):
            self.assertIn("--flavor: ", self.bad("rcuscale", "--flavor", flavor))


class Polled(Case):
    ARGS = ("rcuscale", "--gp", "polled", "--calls", "5", "--runs", "2", "--fqs-first", "500", "--fqs-next", "500")

    def test_second_scans(self):
        """The number of scans does not depend on speed, only on when the driver reports itself."""
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
