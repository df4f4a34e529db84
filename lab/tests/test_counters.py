# SPDX-License-Identifier: MIT
"""Cycles and instructions beside times: where the hardware counts them, and where it does not. Both are made up
(counters_made_up.c): three instructions in two cycles in each nanosecond."""
import os
import unittest

from support import SANITIZE, SHORT, Case

MADE_UP = {"LD_PRELOAD": os.environ["LULL_COUNTERS_MADE_UP"], "MADE_UP_COUNTERS": "some"}
NONE = {**MADE_UP, "MADE_UP_COUNTERS": "none"}
REPLACE = ["--seconds", "0.05", "--calls", "20", "--objects", "2000", "--runs", "1", "--schemes", "rcu,free-at-once", "--what",
           "synchronize,call,barrier,replace", "--setup", "idle"]
HASH = SHORT["hashscale"]
TITLE = "Instructions and cycles of an operation"


@unittest.skipIf(SANITIZE, "a sanitizer wants to be loaded first")
class Counters(Case):
    def measure(self, *args, env):
        text = self.good(*args, "--json", "results.json", env=env)
        root = self.results("results.json")
        self.assert_documented(root, args[0])
        self.assertEqual(root["machine"]["perf_counters"], env is MADE_UP)
        return text, root["results"]

    def check(self, rows):
        self.assertTrue(rows)
        for row in rows:
            self.assertGreater(row["cycles"], 0, row)
            # Two medians, and a clock that is read twice.
            self.assertAlmostEqual(row["instructions"] / row["cycles"], 1.5, delta=0.1, msg=str(row))

    def test_refscale(self):
        text, rows = self.measure("refscale", *SHORT["refscale"], env=MADE_UP)
        self.check(rows)
        self.assertEqual({(row["cycles_from"], row["instructions_from"]) for row in rows}, {("counter", "counter")})
        self.assertNotIn("no hardware counters here", text)
        _, rows = self.measure("refscale", *SHORT["refscale"], env=NONE)
        self.assertFalse([row for row in rows if "counter" in (row["cycles_from"], row["instructions_from"])])

    def test_hashscale(self):
        text, rows = self.measure("hashscale", *HASH, env=MADE_UP)
        self.check([row for row in rows if row["metric"] == "operations"])
        for row in rows:
            # A thread is counted while it runs: no longer than it takes.
            if row["metric"] == "operations":
                self.assertLess(row["cycles"], 2 * row["ns"] * 3, row)
        for threads in (1, 2):
            table = text.partition(f"\n{threads} thread")[2].partition(" threads\n")[0]
            for what in ("cycles", "instructions"):
                lines = table.partition(f"\n{what}/operation")[2].splitlines()
                self.assertEqual([line.split()[0] for line in lines[1:4]], ["none", "rcu", "spinlock"], text)
                self.assertRegex(lines[2], r"^rcu +[0-9]+ +[0-9]+$")
        text, rows = self.measure("hashscale", *HASH, env=NONE)
        for row in rows:
            if row["metric"] == "operations":
                self.assertEqual((row["cycles"], row["instructions"]), (None, None), row)
        self.assertNotIn("cycles", text)
        self.assertNotIn("instructions", text)

    def test_rcuscale(self):
        text, rows = self.measure("rcuscale", *REPLACE, env=MADE_UP)
        self.assertEqual({row["metric"].split("_")[0] for row in rows}, {"synchronize", "call", "barrier", "replace"})
        self.check(rows)
        heads = [line for line in text.splitlines() if line.startswith("scheme ")]
        self.assertGreaterEqual(len(heads), 4)
        for head in heads:
            self.assertRegex(head, " cycles +instructions$")
        # The figures of the table are those of the JSON.
        row, = (row for row in rows if row["metric"] == "replace_now_idle")
        line, = (line for line in text.splitlines() if line.startswith("free-at-once"))
        self.assertEqual(line.split()[-2:], [f"{row['cycles']:.1f}", f"{row['instructions']:.1f}"])
        text, rows = self.measure("rcuscale", *REPLACE, env=NONE)
        self.assertEqual({(row["cycles"], row["instructions"]) for row in rows}, {(None, None)})
        self.assertNotIn("cycles", text)

    def test_the_page_of_compare(self):
        few = ["compare", "--seconds", "0.01", "--runs", "1", "--threads", "1,2", "--schemes", "none,rcu", "--elements", "100",
               "--full", "--report", "report.html"]
        for env in (MADE_UP, NONE):
            self.good(*few, env=env)
            with open(self.path("report.html"), encoding="utf-8") as file:
                page = file.read()
            self.assertEqual(TITLE in page, env is MADE_UP)
            if env is MADE_UP:
                self.assertRegex(page.partition(TITLE)[2].partition("</figure>")[0], r"<td>[0-9]+ in [0-9]+</td>")


if __name__ == "__main__":
    unittest.main()
