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
    (2, "hashscale --threads 1,2,4,8,16 --elements 1000 --runs 20 --schemes rcu,refcount,hazptr,spinlock"),
    (1, "hashscale --threads 1 --updates 0 --elements 100000"),
    (1, "hashscale --reload --threads 1,2,4,8,16 --elements 256"),
    (1, "mutexscale --threads 1,2,4,8,16 --runs 9"),
    (1, "mutexscale --matrix --threads 2,4 --schemes lull-mutex,futex"),
    (1, "mutexscale --wait1000 --runs 9"),
    (1, "mutexscale --uncontended --runs 50"),
)


class Seconds(Case):
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

    def test_less_than_a_second_leaves_nothing_out(self):
        self.good("refscale", "--threads", "1,5", "--seconds", "0.01", "--schemes", "rcu", "--json", "results.json")
        root = self.results("results.json")
        self.assertEqual((root["left_out"], {row["threads"] for row in root["results"]}), ([], {1, 5}))


if __name__ == "__main__":
    unittest.main()
