# SPDX-License-Identifier: MIT
"""lull tradeoff: what it measures, in its shortest form, and what can be told of it on any machine."""
import unittest

from support import ENDLESS, SANITIZE, Case

WAYS = ["refcount", "percpu_ref", "rcu", "hazptr"]
LOCKS = ["rwlock", "percpu_rwsem", "spinlock"]  # only what reads and the workload take
SHORT = ["--seconds", "0.4", "--runs", "2", "--threads", "1,2", "--objects", "500", "--size", "40", "--updates", "0.2",
         "--hold", "2us", "--slow", "5ms", "--update-rate", "5000", "--json", "results.json"]


class Tradeoff(Case):
    def rows(self, root, metric):
        return {row["scheme"]: row for row in root["results"] if row["metric"] == metric}

    def test_results(self):
        text = self.good("tradeoff", *SHORT)
        root = self.results("results.json")
        self.assert_documented(root, "tradeoff")
        self.assertEqual([scheme["scheme"] for scheme in root["schemes"]], WAYS + LOCKS)
        for metric in ("object_bytes", "thread_bytes", "hold_update", "hold_wait", "hold_waiting",
                       "hold_waiting_bytes", "walk_restarts", "walk_steps_again"):
            self.assertEqual(list(self.rows(root, metric)), WAYS, metric)
        for metric in ("get_put", "mix"):
            self.assertEqual(list(self.rows(root, metric)), WAYS + LOCKS, metric)
        self.assertEqual({row["threads"] for row in root["results"] if row["metric"] == "get_put"}, {1, 2})
        if not SANITIZE:
            self.assertLessEqual(max(map(len, text.split("\n\n", 1)[1].splitlines())), 100)
        self.check_points(root)
        self.check_figures(root)

    def check_points(self, root):
        """The workload itself is one of the points in each direction, and every point was measured."""
        workload = root["workload"]
        own = {"updates": 0.2, "hold": 2000, "objects": 500}
        self.assertEqual([workload["updates"], workload["hold_ns"], workload["objects"]], list(own.values()))
        for axis, value in own.items():
            points = workload["points"][axis]
            self.assertIn(value, points)
            self.assertEqual(points, sorted(set(points)))
            for scheme in WAYS + LOCKS:
                rows = [row for row in root["results"]
                        if row["metric"] == "mix" and row["axis"] == axis and row["scheme"] == scheme]
                column = "hold_ns" if axis == "hold" else axis
                self.assertEqual([row[column] for row in rows], points)
                for row in rows:
                    self.assertGreater(row["median"], 0)
                    # All have taken part in each round, and --runs says how many there are.
                    self.assertEqual(len(row["rounds"]), 2)

    def check_figures(self, root):
        # RCU never goes back, whatever is deleted; and it did meet deletions.
        walk = self.rows(root, "walk_restarts")
        self.assertEqual(walk["rcu"]["max"], 0)
        for scheme in WAYS:
            self.assertGreater(walk[scheme]["steps"], 0)
            self.assertGreater(walk[scheme]["deletions"], 0)
        # The last put frees at once: what waits is what the slow reader holds. RCU's readers hold up all.
        waiting = self.rows(root, "hold_waiting")
        self.assertLessEqual(waiting["refcount"]["max"], 1)
        self.assertGreater(waiting["rcu"]["max"], 1)
        # Counters for each CPU are beside the object.
        if not SANITIZE:
            memory = self.rows(root, "object_bytes")
            self.assertGreater(memory["percpu_ref"]["median"], memory["rcu"]["median"])
        # A reader that sleeps or spins for 2 us takes that long, 4 times of 5.
        for row in root["results"]:
            if row["metric"] == "mix" and row["updates"] == 0.2 and row["hold_ns"] == 2000:
                self.assertGreater(row["median"], 1500)

    def test_chosen_only(self):
        text = self.good("tradeoff", "--seconds", "0.05", "--runs", "1", "--threads", "1", "--objects", "10", "--slow", "0",
                         "--hold", "0", "--schemes", "hazptr,rcu", "--json", "results.json")
        self.assertEqual({row["scheme"] for row in self.results("results.json")["results"]}, {"rcu", "hazptr"})
        self.assertNotIn("atomic count", text)
        self.assertIn("hazard pointer", text)

    def test_counters_of_threads(self):
        """Where there are no restartable sequences."""
        text = self.good("tradeoff", "--seconds", "0.05", "--runs", "1", "--threads", "1,2", "--objects", "50", "--slow",
                         "1ms", "--schemes", "percpu_ref", env={"GLIBC_TUNABLES": "glibc.pthread.rseq=0"})
        self.assertIn("per-CPU count", text)

    def test_bad_input(self):
        for value in ("", "x", "5", "-1ms", "2s", "1h"):
            self.assertIn("--slow: ", self.bad("tradeoff", *ENDLESS["tradeoff"], "--slow", value))
        for value in ("", "x", "0", "-1", "1.5", "10000001"):
            self.assertIn("--update-rate: ", self.bad("tradeoff", *ENDLESS["tradeoff"], "--update-rate", value))
        self.assertIn("unknown scheme 'rcuu': did you mean rcu?",
                      self.bad("tradeoff", *ENDLESS["tradeoff"], "--schemes", "rcuu"))
        self.assertIn("--threads: at most 40",
                      self.bad("tradeoff", *ENDLESS["tradeoff"], "--threads", ",".join(["1"] * 41)))


if __name__ == "__main__":
    unittest.main()
