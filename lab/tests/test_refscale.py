# SPDX-License-Identifier: MIT
"""lull refscale: hazard pointers, counts and their peers in every mode; counted instructions."""
import platform
import unittest

from support import ENDLESS, Case

OURS = ("hazptr", "hazptr-alloc", "hazptr-hold", "hazptr-fenced", "hazptr-rcu", "shazptr", "shazptr-wildcard",
        "store-fence-store")
PEERS = ("ck-hp", "libcds-hp", "xenium-hp")
COUNTS = ("refcount", "refcount-lock", "refcount-rcu", "refcount-hazptr", "percpu_ref", "percpu_ref-rcu",
          "percpu_ref-hazptr", "c11-atomic")
COUNT_PEERS = ("shared_ptr",)
OF_CPUS = ("rcu-domain", "percpu_rwsem")  # each CPU counts their readers
NESTS = ("rcu", "rcu-qsbr", "rcu-builtin", "rcu-domain", "hazptr-hold", "shazptr", "shazptr-wildcard", "rwlock") + \
    COUNTS
MODES = (((), "read_section"), (("--chain",), "read_chain"), (("--readers-hold", "2000"), "read_hold"))
SHORT = ("--seconds", "0.05", "--runs", "1", "--json", "results.json")
NO_RSEQ = {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}


class EveryMode(Case):
    def listed(self, names):
        listed = [line.split()[0] for line in self.good("refscale", "--list").splitlines()]
        return tuple(name for name in names if name in listed)

    def measure(self, schemes, modes=MODES, **more):
        for mode, metric in modes:
            self.good("refscale", "--schemes", ",".join(schemes), "--threads", "1,2", *mode, *SHORT, **more)
            rows = self.results("results.json")["results"]
            self.assertEqual({(row["scheme"], row["threads"], row["metric"]) for row in rows},
                             {(scheme, threads, metric) for scheme in ("none",) + schemes for threads in (1, 2)})
            for row in rows:
                if metric == "read_hold":
                    self.assertGreaterEqual(row["min"], 2000, row)
                self.assertEqual(row.get("nested"), int(mode[1]) if metric == "read_nested" else None, row)

    def test_hazard_pointers(self):
        self.measure(OURS + self.listed(PEERS))

    def test_counts(self):
        self.measure(COUNTS + OF_CPUS + self.listed(COUNT_PEERS))

    def test_counts_without_restartable_sequences(self):
        self.measure(COUNTS + OF_CPUS, env=NO_RSEQ)
        self.assertIs(self.results("results.json")["percpu_ref_per_cpu"], False)

    def test_nested(self):
        self.measure(NESTS + self.listed(COUNT_PEERS), [(("--nested", "2"), "read_nested")])
        self.measure(("hazptr-hold", "percpu_ref"), [(("--nested", "16"), "read_nested")])
        self.measure(COUNTS, [(("--nested", "3"), "read_nested")], env=NO_RSEQ)

    def test_peers_that_are_missing(self):
        listed = self.good("refscale", "--list")
        for name in PEERS:
            if f"\n{name} " not in listed:
                library = name.removesuffix("-hp")
                self.assertIn(f"\n{library}: ", listed)
                self.assertIn(f"'{name}' is not here: {library}: ", self.bad("refscale", "--schemes", name))
        if "\nshared_ptr " not in listed:
            self.assertIn("\nC++: ", listed)
            self.assertIn("'shared_ptr' is not here: C++: ", self.bad("refscale", "--schemes", "shared_ptr"))


class Nested(Case):
    def test_one_at_a_time(self):
        for name in ("hazptr", "hazptr-alloc", "hazptr-rcu", "seqlock", "spinlock", "mutex", "brlock", "percpu_rwsem"):
            line = self.bad("refscale", *ENDLESS["refscale"], "--nested", "2", "--schemes", name)
            self.assertIn(f"'{name}' cannot run: a thread has one at a time", line)
        text = self.good("refscale", "--nested", "1", "--threads", "1", *SHORT)
        self.assertIn("spinlock is left out: a thread has one at a time\n", text)
        schemes = {row["scheme"] for row in self.results("results.json")["results"]}
        self.assertTrue(schemes.issuperset(NESTS), schemes)
        self.assertNotIn("spinlock", schemes)

    def test_refused(self):
        for number in ("", "x", "-1", "1x", "1,2", "99999999999999999999", "0", "17"):
            self.assertIn("--nested: ", self.bad("refscale", *ENDLESS["refscale"], "--nested", number))
        for other in (["--chain"], ["--readers-hold", "5"]):
            self.assertIn("exclude each other", self.bad("refscale", *ENDLESS["refscale"], "--nested", "2", *other))
            self.assertIn("exclude each other", self.bad("refscale", *ENDLESS["refscale"], *other, "--nested", "2"))


class Instructions(Case):
    def counted(self, schemes, *args, **more):
        self.good("refscale", "--schemes", ",".join(schemes), "--threads", "1", *args, *SHORT, **more)
        root = self.results("results.json")
        counted = {row["scheme"]: row["instructions"] for row in root["results"]}
        if counted["none"] is None:
            self.skipTest("nothing counts instructions here")
        self.assertNotIn(None, counted.values())
        return counted, root["percpu_ref_per_cpu"]

    def test_restartable_sequences_come_to_their_end(self):
        """
        Each single step interrupts. If that ended the sequences, it would not be the two of them that are counted, but
        their first instructions and the way around them.
        """
        with_them, per_cpu = self.counted(("percpu_ref",))
        if not per_cpu:
            self.skipTest("no restartable sequences here")
        without, per_cpu = self.counted(("percpu_ref",), env=NO_RSEQ)
        self.assertFalse(per_cpu)
        self.assertGreaterEqual(with_them["percpu_ref"] - with_them["none"], 2 * 10)
        # Without optimisation the code around the sequences is as long as they are.
        self.assertLess(with_them["percpu_ref"] - with_them["none"], 60)
        self.assertGreater(without["percpu_ref"], 2 * with_them["percpu_ref"])

    def test_more_for_more_inside_each_other(self):
        schemes = ("rcu", "refcount", "percpu_ref")
        one, _ = self.counted(schemes, "--nested", "1")
        five, _ = self.counted(schemes, "--nested", "5")
        for scheme in schemes:
            self.assertGreater(five[scheme] - five["none"], 3 * (one[scheme] - one["none"]), scheme)
        if platform.machine() == "x86_64" and one["none"] < 16:  # optimised; the calls around the sections are in it
            self.assertLessEqual(one["rcu"] - one["none"], 16)
            self.assertLessEqual((five["rcu"] - one["rcu"] - five["none"] + one["none"]) / 4, 26)


if __name__ == "__main__":
    unittest.main()
