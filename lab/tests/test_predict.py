# SPDX-License-Identifier: MIT
"""lull refscale --predict: what follows from what was measured, and that it is called what it is."""
import os
import unittest

from support import Case

SHORT = ["--seconds", "0.05", "--runs", "1", "--schemes", "none,rcu,refcount,percpu_ref"]


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "takes two CPUs")
class Predict(Case):
    def test_model(self):
        text = self.good("refscale", *SHORT, "--threads", "1,2", "--predict", "4,64", "--json", "results.json")
        self.assertIn("a prediction, not a measurement", text)
        self.assertIn("4, prediction", text)
        machine = self.results("results.json")["machine"]
        self.assertIn(f" with a core for each reader: {machine['cpu']},\nwith {machine['cpus_allowed']} CPUs here.", text)
        root = self.results("results.json")
        self.assert_documented(root, "refscale")
        measured = {row["scheme"]: row["median"] for row in root["results"]
                    if row["metric"] == "read_section" and row["threads"] == 2}
        predicted = {(row["scheme"], row["threads"]): row for row in root["results"]
                     if row["metric"] == "read_section_prediction"}
        self.assertEqual(set(predicted), {(scheme, threads) for scheme in measured for threads in (4, 64)})
        for (scheme, threads), row in predicted.items():
            # All readers write to the one count; each of the others' words has one writer.
            times = threads / 2 if scheme == "refcount" else 1
            self.assertAlmostEqual(row["median"], measured[scheme] * times, delta=measured[scheme] / 1000)
            self.assertEqual(row["measured_threads"], 2)
            self.assertEqual((row["measured_cpu"], row["measured_cpus"]),
                             (root["machine"]["cpu"], root["machine"]["cpus_allowed"]))
        line = [row for row in root["results"] if row["metric"] == "handover"]
        self.assertEqual([(row["scheme"], row["threads"]) for row in line], [("line", 2)])
        self.assertGreater(line[0]["min"], 0)

    def test_begins_with_the_most_that_need_not_take_turns(self):
        cpus = len(os.sched_getaffinity(0))
        self.good("refscale", *SHORT, "--threads", f"1,2,{cpus},{cpus + 1}", "--predict", "4", "--json", "results.json")
        rows = [row for row in self.results("results.json")["results"] if row["metric"] == "read_section_prediction"]
        self.assertEqual({row["measured_threads"] for row in rows}, {cpus})

    def test_bad_input(self):
        for threads in ("1", "2", "4096"):
            self.assertIn("--predict needs --threads 1,2", self.bad("refscale", "--threads", threads, "--predict", "4"))
        for more in (["--chain"], ["--readers-hold", "10"], ["--nested", "2"]):
            self.assertIn("--predict is for plain sections", self.bad("refscale", *more, "--predict", "4"))
        self.assertIn("--predict", self.bad("refscale", "--predict", "1"))
        self.assertIn("--predict", self.bad("refscale", "--predict", "4,x"))
        self.assertIn("--predict", self.bad("refscale", "--predict", ""))


if __name__ == "__main__":
    unittest.main()
