# SPDX-License-Identifier: MIT
"""lull keyscale: each scheme in each setup, what the waits depend on, what is refused."""
import unittest

from support import ENDLESS, Case

SCHEMES = ("rcu", "hazptr", "shazptr")
SETUPS = ("idle", "lookups", "unrelated")


class Figures(Case):
    def rows(self, *args):
        text = self.good("keyscale", *args, "--json", "results.json")
        root = self.results("results.json")
        self.assert_documented(root, "keyscale")
        return text, root["results"]

    def test_every_scheme_in_every_setup(self):
        text, rows = self.rows("--seconds", "0.5", "--runs", "2", "--threads", "1,2", "--keys", "50", "--buckets", "7",
                               "--unrelated-us", "200")
        self.assertEqual(sorted((row["scheme"], row["metric"], row["threads"]) for row in rows),
                         sorted((scheme, "unregister_1000_" + setup, threads) for scheme in SCHEMES
                                for setup in SETUPS for threads in ((0,) if setup == "idle" else (1, 2))))
        for row in rows:
            self.assertEqual(row["unit"], "ms")
            self.assertGreater(row["min"], 0)
            self.assertGreaterEqual(row["count"], 1)
            self.assertLessEqual(row["p50_ns"], row["p99_ns"], row)
            self.assertLessEqual(row["p99_ns"], row["max_ns"], row)
            self.assertEqual(row["lookups_per_second"] is None, row["threads"] == 0, row)
            if row["scheme"] == "rcu":
                self.assertEqual(row["times_rcu"], 1)
        for scheme in SCHEMES:
            self.assertIn("\n" + scheme + " ", text)

    def test_unrelated_readers_hold_up_grace_periods(self):
        """The reason for the other schemes. Each wait begins in a section of 20 ms that has just begun."""
        _, rows = self.rows("--seconds", "0.6", "--runs", "1", "--threads", "1", "--schemes", "rcu", "--unrelated-us", "20000",
                            "--setup", "unrelated")
        self.assertGreater(rows[0]["p50_ns"], 1000000)

    def test_one_bucket_one_key(self):
        self.rows("--seconds", "0.2", "--runs", "1", "--threads", "2", "--keys", "1", "--buckets", "1", "--setup", "lookups")

    def test_several_updaters(self):
        _, rows = self.rows("--seconds", "0.6", "--runs", "2", "--threads", "1", "--updaters", "3", "--keys", "50", "--buckets",
                            "1", "--unrelated-us", "200")
        self.assertEqual({row["updaters"] for row in rows}, {3})

    def test_without_rcu_there_is_no_ratio(self):
        text, rows = self.rows("--seconds", "0.05", "--runs", "1", "--schemes", "shazptr", "--setup", "idle")
        self.assertEqual([row["times_rcu"] for row in rows], [None])
        self.assertIn("n/a", text)


class Refused(Case):
    def test_schemes(self):
        self.assertIn("known: rcu, hazptr, shazptr", self.bad("keyscale", *ENDLESS["keyscale"], "--schemes", "rcu,nonsense"))

    def test_setups(self):
        for setups in ("nonsense", "", "idle,", "idle,nonsense"):
            self.assertIn("--setup: ", self.bad("keyscale", *ENDLESS["keyscale"], "--setup", setups))

    def test_numbers(self):
        self.assertIn("--keys: ", self.bad("keyscale", *ENDLESS["keyscale"], "--keys", "2", "--updaters", "3"))
        for option in ("--keys", "--buckets", "--updaters", "--unrelated-us", "--threads", "--runs"):
            for number in ("", "x", "-1", "1x", "0", "99999999999999999999"):
                self.assertIn(option + ": ", self.bad("keyscale", *ENDLESS["keyscale"], option, number))
        for number in ("", "x", "-1", "0", "nan"):
            self.assertIn("--seconds: ", self.bad("keyscale", "--seconds", number))


if __name__ == "__main__":
    unittest.main()
