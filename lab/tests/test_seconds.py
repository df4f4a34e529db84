# SPDX-License-Identifier: MIT
"""--seconds is the time of all tables together; what there is no time for is left out and named."""
import os
import unittest

from support import Case

COMMANDS = (
    (2, "refscale --threads 1,2,4,8,16 --schemes rcu,refcount,hazptr"),
    (3, "refscale --threads 1,3,7 --schemes rcu,spinlock --runs 40"),
    (2, "rcuscale --schemes rcu,hazptr,percpu_ref,free-at-once"),
    (2, "rcuscale --what interrupts,kill,wake --schemes rcu,rcu-full,hazptr,percpu_ref"),
    (2, "rcuscale --what updaters --threads 1,2,4,8,16 --schemes rcu,hazptr"),
    (2, "rcuscale --what all --setup all --schemes rcu,percpu_ref"),
    (2, "rcuscale --flavor letter"),
    (1, "rcuscale --gp polled --fqs-first 20000 --fqs-next 20000"),
    (1, "rcuscale --gp polled --runs 1000"),
    (1, "labelscale --threads 1,2,4,8 --runs 50"),
    (1, "keyscale --threads 1,2,4,8,16 --runs 40"),
    (2, "hashscale --threads 1,2,4,8,16 --elements 1000 --runs 60 --schemes rcu,refcount,hazptr,spinlock"),
    (1, "hashscale --threads 1,16 --elements 100 --schemes rcu,refcount,hazptr,spinlock,mutex,rwlock,seqlock,brlock"),
    (1, "hashscale --reload --threads 1,2,4,8,16 --elements 256"),
    (1, "mutexscale --threads 1,2,4,8,16 --runs 9"),
    (1, "mutexscale --matrix --threads 2,4 --schemes lull-mutex,futex"),
    (1, "mutexscale --wait1000 --runs 9"),
    (1, "mutexscale --uncontended --runs 50"),
    (2, "tradeoff --threads 1,2,4,8,16 --runs 20 --objects 100"),
    (1, "tradeoff --threads 1 --hold 2ms --objects 100"),
)

# Tables or rows of each, and those of the results that are one each: where there is no time for all, each is there or named.
PARTS = (
    (41, "keyscale --threads " + ",".join("1" * 20), lambda row: row["scheme"] == "rcu"),
    (26, "mutexscale --matrix --threads 2,4", lambda row: row["scheme"] == "pthread" and row["metric"] == "sections"),
    (15, "mutexscale --threads 1,2,3,4,5", lambda row: row["scheme"] == "pthread" and row["metric"] == "sections"),
    (21, "hashscale --threads " + ",".join("2" * 20) + " --updates 1 --elements 100 --schemes rcu", lambda row: True),
    (40, "hashscale --reload --threads " + ",".join("1" * 40) + " --elements 10 --schemes rcu",
     lambda row: row["metric"] == "reload"),
)


class Seconds(Case):
    def test_measured_or_named(self):
        for count, command, is_part in PARTS:
            with self.subTest(command):
                self.good(*command.split(), "--seconds", "1", "--json", "results.json")
                root = self.results("results.json")
                self.assertEqual(len([row for row in root["results"] if is_part(row)]) + len(root["left_out"]), count,
                                 root["left_out"])

    def test_planned(self):
        """Slices and blocks that began would fit in, each in the time that it should take: whatever else runs here."""
        for seconds, command in COMMANDS:
            with self.subTest(command):
                text = self.good(*command.split(), "--seconds", str(seconds), "--json", "results.json")
                root = self.results("results.json")
                self.assertEqual(root["seconds"], seconds)
                self.assertLessEqual(root["planned_seconds"], 1.1 * seconds)
                self.assertTrue(root["results"])
                for name in root["left_out"]:
                    self.assertIn(name, text)
                self.assertEqual("left out, for there was no time left: " in text, bool(root["left_out"]))

    def test_left_out(self):
        """
        More threads than CPUs have slices of 20 ms, of which all schemes together need more than a second. No clock decides:
        the least of these tables is more than all there is.
        """
        numbers = [1] + [len(os.sched_getaffinity(0)) + more for more in (1, 2, 3)]
        self.good("refscale", "--threads", ",".join(map(str, numbers)), "--seconds", "1", "--json", "results.json")
        root = self.results("results.json")
        schemes = {row["scheme"] for row in root["results"]}
        if len(schemes) < 25:
            self.skipTest("too few schemes here")
        self.assertEqual({row["threads"] for row in root["results"]}, {1})
        self.assertEqual([name for name in root["left_out"] if name.endswith(" readers")],
                         [f"{number} readers" for number in numbers[1:]])
        # Each scheme has its instructions, by counters or by single steps, or is named.
        for row in root["results"]:
            if root["results"][0]["instructions"] is not None:
                self.assertEqual(row["instructions"] is None, f"instructions of {row['scheme']}" in root["left_out"], row)

    def test_points_that_were_left_out(self):
        """
        More threads than CPUs: two rounds of two points, or six of one, do not fit into its half of the time. The workload has
        them in any case, and points that were not measured are none of their axis.
        """
        for rounds, runs in ((2, ("--runs", "2")), (6, ())):
            with self.subTest(rounds):
                self.check_points(rounds, *runs)

    def check_points(self, rounds, *runs):
        threads = str(len(os.sched_getaffinity(0)) + 1)
        text = self.good("tradeoff", "--threads", threads, "--slow", "1s", "--seconds", "1.6", *runs, "--json", "results.json")
        root = self.results("results.json")
        self.assertLessEqual({"0 % updates", "a hold of 10 us", "1 object", "a slow reader"}, set(root["left_out"]))
        self.assertEqual(root["workload"]["points"], {"updates": [0.01], "hold": [0], "objects": [10000]})
        mix = [row for row in root["results"] if row["metric"] == "mix"]
        self.assertEqual(len(mix), 3 * len(root["schemes"]))
        self.assertEqual({len(row["rounds"]) for row in mix}, {rounds})
        self.assertEqual({row["median"] for row in root["results"] if row["metric"] == "hold_wait"}, {None})
        self.assertIn("a slow reader", text.split("left out, for there was no time left: ")[1])

    def test_less_than_a_second_leaves_nothing_out(self):
        self.good("refscale", "--threads", "1,5", "--seconds", "0.01", "--schemes", "rcu", "--json", "results.json")
        root = self.results("results.json")
        self.assertEqual((root["left_out"], {row["threads"] for row in root["results"]}), ([], {1, 5}))


if __name__ == "__main__":
    unittest.main()
