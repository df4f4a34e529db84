# SPDX-License-Identifier: MIT
"""lull mutexscale: each lock in each setting, processes that must not outlive it, options that are no good."""
import signal
import subprocess
import time
import unittest

from support import ENDLESS, LULL, PATIENCE_S, Case

METRICS = {"sections": "1/s", "wait_mean": "ns", "wait_p99": "ns", "wait_p999": "ns", "wait_max": "ns", "cpu": "ns",
           "switches": "1", "jain": "1"}
SHORT = ("--seconds", "0.05", "--runs", "1")


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in ("Z", "X")
    except FileNotFoundError:
        return False


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return [int(child) for child in file.read().split()]


class Measured(Case):
    def measure(self, *args, **more):
        text = self.good("mutexscale", *args, "--json", "results.json", **more)
        root = self.results("results.json")
        self.assert_documented(root, "mutexscale")
        self.assertIn(root["oracle"], ("rseq", "bpf", "kernel", "slice", "none"))
        return text, root


class Figures(Measured):
    def test_every_lock(self):
        """Every lock of the list is measured, unless the machine is said not to have it; no figure is missing."""
        listed = [line.split()[0] for line in self.good("mutexscale", "--list").splitlines()]
        listed = [name for name in listed if not name.endswith(":")]
        for name in ("lull-mutex", "lull-mutex-none", "pthread", "pthread-adaptive", "spinlock", "futex", "spin-park"):
            self.assertIn(name, listed)
        text, root = self.measure(*SHORT, "--threads", "3", "--section", "1us")
        out = [name for name in listed if name + " is left out: " in text]
        self.assertFalse([name for name in out if not name.startswith("lull-mutex-")])
        self.assertEqual([row["scheme"] for row in root["results"] if row["metric"] == "sections"],
                         [name for name in listed if name not in out])
        for name in set(listed) - set(out):
            rows = {row["metric"]: row for row in root["results"] if row["scheme"] == name}
            self.assertEqual({metric: row["unit"] for metric, row in rows.items()}, METRICS)
            self.assertGreater(rows["sections"]["median"], 0)
            self.assertGreater(rows["cpu"]["median"], 0)
            self.assertLessEqual(rows["wait_p99"]["median"], rows["wait_p999"]["median"])
            self.assertLessEqual(rows["wait_p999"]["median"], rows["wait_max"]["median"])
            self.assertLessEqual(rows["wait_mean"]["median"], rows["wait_max"]["median"])
            self.assertTrue(1 / 3 - 1e-5 <= rows["jain"]["median"] <= 1 + 1e-5, rows["jain"])

    def test_what_was_asked_for(self):
        _, root = self.measure(*SHORT, "--threads", "1,2", "--section", "0,500ns", "--outside", "3us", "--long", "5%:20us",
                               "--sleep", "0.5:50us", "--hogs", "1", "--schemes", "lull-mutex")
        rows = [row for row in root["results"] if row["metric"] == "cpu"]
        self.assertEqual([(row["section_ns"], row["threads"], row["scheme"]) for row in rows],
                         [(section, threads, scheme) for section in (0, 500) for threads in (1, 2)
                          for scheme in ("pthread", "lull-mutex")])
        for row in rows:
            self.assertEqual([row[key] for key in ("outside_ns", "long_share", "long_ns", "sleep_share", "sleep_ns", "hogs")],
                             [3000, 0.05, 20000, 0.5, 50000, 1])
            if row["scheme"] == "pthread":
                self.assertEqual(row["times_pthread"], 1)

    def test_rounds(self):
        """Sections a second of each lock in each round, from which the median is taken."""
        _, root = self.measure("--seconds", "0.2", "--runs", "7", "--threads", "2", "--section", "1us", "--schemes",
                               "lull-mutex,futex")
        rows = [row for row in root["results"] if row["metric"] == "sections"]
        self.assertEqual([row["scheme"] for row in rows], ["pthread", "lull-mutex", "futex"])
        for row in rows:
            self.assertEqual(len(row["rounds"]), 7)
            self.assertEqual([sorted(row["rounds"])[i] for i in (0, 3, 6)], [row["min"], row["median"], row["max"]])
        # Not put in order one by one: they belong together by round.
        self.assertTrue(any(row["rounds"] != sorted(row["rounds"]) for row in rows), rows)
        self.assertFalse([row for row in root["results"] if row["metric"] != "sections" and "rounds" in row])

    def test_others_wait_while_one_sleeps(self):
        """2 ms in each section: no more than 500 a second, and threads wait."""
        _, root = self.measure("--seconds", "0.6", "--runs", "1", "--threads", "4", "--section", "0", "--sleep", "100%:2ms",
                               "--outside", "5ms", "--schemes", "pthread,lull-mutex")
        for row in root["results"]:
            if row["metric"] == "sections":
                self.assertLess(row["max"], 550, row)
            elif row["metric"] == "wait_max":
                self.assertGreater(row["max"], 500000, row)

    def test_oracle_that_was_forced(self):
        _, root = self.measure(*SHORT, "--threads", "2", "--section", "1us", "--schemes", "lull-mutex,lull-mutex-none",
                               env={"LULL_OWNER_ORACLE": "none"})
        self.assertEqual(root["oracle"], "none")


class Modes(Measured):
    def test_uncontended(self):
        text, root = self.measure("--uncontended", "--seconds", "0.05", "--runs", "2", "--schemes", "lull-mutex,futex")
        self.assertIn("instructions", text)
        self.assertEqual([(row["scheme"], row["threads"], row["metric"], row["unit"]) for row in root["results"]],
                         [(scheme, 1, "pair", "ns") for scheme in ("pthread", "lull-mutex", "futex")])
        for row in root["results"]:
            self.assertGreater(row["min"], 0)
            self.assertTrue(row["instructions"] is None or row["instructions"] >= 4, row)

    def test_wait1000(self):
        """Where threads meet again, a wait is no longer than the owner is busy, and not much shorter."""
        _, root = self.measure("--wait1000", "--seconds", "0.1", "--runs", "1", "--schemes", "lull-mutex,futex")
        self.assertEqual([(row["busy_us"], row["scheme"]) for row in root["results"]],
                         [(us, scheme) for us in (2, 10, 50, 200, 1000, 8000)
                          for scheme in ("pthread", "lull-mutex", "futex")])
        for row in root["results"]:
            self.assertEqual((row["metric"], row["unit"], row["base"]), ("wait1000", "us", "futex"))
            if row["scheme"] == "futex":
                self.assertEqual(row["times_base"], 1)

    def test_matrix(self):
        text, root = self.measure("--matrix", "--seconds", "0.1", "--runs", "1", "--threads", "2", "--schemes",
                                  "lull-mutex,pthread-adaptive,spin-park")
        for title in ("of the best lock", "x pthread", "x spin-park", "a crowd"):
            self.assertIn(title, text)
        self.assertEqual(text.count("geometric mean"), 6)
        cells = {(row["shape"], row["section_ns"], row["threads"], row["hogs"]) for row in root["results"]}
        self.assertEqual(len(cells), 6 * 2 + 2)
        # The best is the best, and no lock better than it.
        shares = text[text.index("of the best lock"):text.index("throughput, x pthread")].splitlines()[2:-3]
        self.assertEqual(len(shares), 12)
        for line in shares:
            figures = [float(figure) for figure in line.split()[-4:]]
            self.assertEqual(max(figures), 1, line)


    def test_matrix_that_is_left_out_in_part(self):
        """Only what was measured is a row. No clock decides: all cells together take two seconds at least."""
        text, root = self.measure("--matrix", "--seconds", "1", "--threads", "2,4,8")
        left = [name for name in root["left_out"] if " threads, sections of " in name and " runs of " not in name]
        cells = {(row["shape"], row["section_ns"], row["threads"], row["hogs"]) for row in root["results"]}
        self.assertEqual(len(cells) + len(left), 6 * 3 * 2 + 2)
        self.assertTrue(left)
        shown = text[text.index("of the best lock"):text.index("throughput, x pthread")].splitlines()[2:-3]
        self.assertEqual(len(shown), len([cell for cell in cells if cell[0] != "crowd"]))
        self.assertEqual("a crowd: " in text, len([cell for cell in cells if cell[0] == "crowd"]) == 2)
        self.assertNotIn("nan", text)


class Hogs(Case):
    def endless(self):
        return subprocess.Popen([LULL, "mutexscale", *ENDLESS["mutexscale"], "--hogs", "2", "--threads", "1", "--schemes",
                                 "pthread"], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, start_new_session=True)

    def test_none_outlives_it(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with self.endless() as process:
                deadline = time.monotonic() + PATIENCE_S
                hogs = []
                while len(hogs) < 2:
                    self.assertIsNone(process.poll())
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.01)
                    hogs = children(process.pid)
                time.sleep(0.1)  # until they have said with whom they end
                self.assertTrue(all(alive(hog) for hog in hogs))
                process.send_signal(number)
                process.wait(PATIENCE_S)
            while any(alive(hog) for hog in hogs):
                self.assertLess(time.monotonic(), deadline, hogs)
                time.sleep(0.01)


class Refused(Case):
    def refused(self, *args):
        return self.bad("mutexscale", *ENDLESS["mutexscale"], *args)

    def test_times(self):
        for option in ("--section", "--outside"):
            for text in ("", "x", "-1us", "1", "1h", "1us2", "1s", "nan"):
                self.assertIn(option + ": ", self.refused(option, text))
        for text in (",", "1us,", "1us,,2us", "1us,x"):
            self.assertIn("--section: ", self.refused("--section", text))

    def test_shares(self):
        for option in ("--long", "--sleep"):
            for text in ("", "5%", "50us", ":", "5%:", ":50us", "5%:50", "101%:50us", "1.1:50us", "-5%:50us", "x:50us",
                         "5%:50us:50us", "5%:1s"):
                self.assertIn(option + ": ", self.refused(option, text))

    def test_numbers(self):
        for option in ("--hogs", "--threads", "--runs"):
            for number in ("", "x", "-1", "1x", "99999999999999999999"):
                self.assertIn(option + ": ", self.refused(option, number))
        self.assertIn("--threads: ", self.refused("--threads", "0"))

    def test_options_that_exclude_each_other(self):
        modes = ("--matrix", "--uncontended", "--wait1000")
        for first in modes:
            for second in modes:
                if first != second:
                    self.assertIn("exclude each other", self.refused(first, second))
            for option, value in (("--section", "1us"), ("--outside", "1us"), ("--long", "5%:1us"), ("--sleep", "1%:1us"),
                                  ("--hogs", "0")):
                self.assertIn(f"{option} does not go with {first}", self.refused(first, option, value))

    def test_locks(self):
        self.assertIn("did you mean pthread?", self.refused("--schemes", "ptread"))
        self.assertIn("known: pthread, lull-mutex", self.refused("--schemes", "nonsense"))
        text = self.good("mutexscale", "--list")
        if "Abseil: " in text:
            self.assertIn("Abseil: ", self.refused("--schemes", "absl"))

    def test_oracle_that_cannot_be_had(self):
        text = self.good("mutexscale", "--seconds", "0.01", "--runs", "1", "--threads", "1", "--section", "0")
        for line in text.splitlines():
            if " is left out: " in line:
                name = line.split()[0]
                self.assertIn(f"scheme '{name}' cannot run: ", self.refused("--schemes", name))


if __name__ == "__main__":
    unittest.main()
