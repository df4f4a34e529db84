# SPDX-License-Identifier: MIT
"""lull hashscale: tables whose elements are counted, what they add to memory, what belongs to which read section, and
reloads."""
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from support import LULL, PATIENCE_S, PEERS, SANITIZE, Case

COUNTS = ("refcount", "refcount-lock", "percpu_ref")
RUST = ("papaya", "flurry", "scc-index")


class Counts(Case):
    ARGS = ("hashscale", "--schemes", ",".join(COUNTS + ("rcu",)), "--elements", "16", "--runs", "1", "--json", "results.json")

    def measure(self, *args, **more):
        """A reference that is got too late or put twice is named on stderr, which must stay quiet."""
        self.good(*self.ARGS, *args, **more)
        root = self.results("results.json")
        self.assert_documented(root, "hashscale")
        return root

    def test_updates_while_others_look_up(self):
        for env in ({}, {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}):
            root = self.measure("--seconds", "0.4", "--threads", "1,3", "--updates", "0,50", env=env)
            rows = {(row["scheme"], row["threads"], row["update_percent"]) for row in root["results"]
                    if row["metric"] == "operations"}
            self.assertEqual(rows, {(scheme, threads, updates) for scheme in COUNTS + ("rcu",) for threads in (1, 3)
                                    for updates in (0, 50)})

    @unittest.skipIf(SANITIZE, "a sanitizer has a heap of its own, which does not tell")
    def test_memory(self):
        root = self.measure("--seconds", "0.05", "--threads", "1", "--updates", "0")
        added = {scheme["scheme"]: scheme["bytes_per_object"] for scheme in root["schemes"]}
        self.assertEqual(added["refcount"] - added["rcu"], 4)
        # The struct, two words for each CPU, and something in the heap.
        self.assertGreater(added["percpu_ref"], 24 + 16)


class Sections(Case):
    def test_each_has_its_read_section_in_refscale(self):
        listed = {line.split()[0] for line in self.good("refscale", "--list").splitlines()}
        names = [line.split()[0] for line in self.good("hashscale", "--list").splitlines()]
        names = [name for name in names if not name.endswith(":")]
        self.good("hashscale", "--schemes", ",".join(names), "--elements", "4", "--seconds", "0.05", "--runs", "1",
                  "--threads", "1", "--updates", "0", "--json", "results.json")
        sections = {scheme["scheme"]: scheme["section"] for scheme in self.results("results.json")["schemes"]}
        self.assertEqual(set(sections), set(names))
        for scheme, section in sections.items():
            if scheme not in RUST:  # these are tables, and have no section that could be measured by itself
                self.assertIn(section, listed, scheme)
        self.assertEqual([sections[name] for name in COUNTS], ["refcount-rcu", "refcount-lock", "percpu_ref-rcu"])

    def test_none_has_no_updates_beside_readers(self):
        text = self.good("hashscale", "--schemes", "none", "--elements", "10", "--threads", "1,2", "--updates", "10", "--seconds",
                         "1", "--json", "results.json")
        self.assertEqual({row["threads"] for row in self.results("results.json")["results"]}, {1})
        self.assertIn("\n2 threads\n", text)

    def test_check(self):
        """Measures nothing, and finds what is wrong all the same."""
        self.good("hashscale", "--check", "--schemes", "rcu", "--elements", "100", "--json", "results.json")
        self.assertEqual(self.results("results.json")["results"], [])
        self.assertIn("--keys: cannot read", self.bad("hashscale", "--check", "--keys", "none"))
        self.assertIn("unknown scheme", self.bad("hashscale", "--check", "--schemes", "rcuu"))


class LittleTime(Case):
    def resident(self, pid):
        """Megabytes; 0 when it has ended."""
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            found = re.search(r"VmRSS:\s*(\d+) kB", file.read())
        return int(found[1]) / 1000 if found else 0

    def test_tables_that_are_not_made(self):
        """Stopped while tables are made, until the time is over: the schemes that have none are named, the others measured."""
        with subprocess.Popen([LULL, "hashscale", "--seconds", "2", "--threads", "1", "--updates", "0", "--elements", "50000",
                               "--json", "results.json"], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              start_new_session=True) as process:
            end = time.monotonic() + PATIENCE_S
            while self.resident(process.pid) < 60:
                self.assertIsNone(process.poll())
                self.assertLess(time.monotonic(), end)
                time.sleep(0.005)
            os.killpg(process.pid, signal.SIGSTOP)
            time.sleep(2)
            os.killpg(process.pid, signal.SIGCONT)
            text = process.communicate(timeout=PATIENCE_S)[0].decode()
        self.assertEqual(process.returncode, 0)
        root = self.results("results.json")
        names = [line.split()[0] for line in self.good("hashscale", "--list").splitlines()]
        measured = [row["scheme"] for row in root["results"]]
        self.assertEqual(measured, [scheme["scheme"] for scheme in root["schemes"]])
        self.assertEqual(measured + root["left_out"], [name for name in names if not name.endswith(":")])
        self.assertTrue(measured)
        self.assertIn(f"left out, for there was no time left: {', '.join(root['left_out'])}; ", text)


class Reload(Case):
    TABLES = {"rcu-table", "rwlock-table", "rwlock-table-writer", "percpu_rwsem-table", "mutex-table"}  # a reload is one step

    def names(self, *args):
        """Return the names of the schemes listed."""
        names = [line.split()[0] for line in self.good("hashscale", *args, "--list").splitlines()]
        return {name for name in names if not name.endswith(":")}

    def measure(self, *args, **more):
        """Give the text, the limit, and the rows as {(scheme, readers): (reload, reload_update)}."""
        text = self.good("hashscale", "--reload", *args, "--json", "results.json", **more)
        root = self.results("results.json")
        self.assert_documented(root, "hashscale")
        rows = {(row["scheme"], row["threads"], row["metric"]): row for row in root["results"]}
        self.assertEqual(len(rows), len(root["results"]))
        cells = {key[:2] for key in rows}
        return text, root["limit_ns"], {cell: (rows.pop((*cell, "reload")), rows.pop((*cell, "reload_update")))
                                        for cell in cells}

    def check(self, cell, elements, limit, whole, each):
        self.assertGreaterEqual(whole["count"], 1, cell)
        self.assertGreaterEqual(whole["slices"], 1, cell)
        self.assertLessEqual(whole["given_up"], whole["count"], cell)
        self.assertEqual(whole["max"] == limit, whole["given_up"] > 0, whole)
        self.assertLessEqual(whole["max"], limit, whole)
        self.assertGreater(whole["min"], 0, whole)
        if cell[0] in self.TABLES:
            self.assertEqual((each["count"], each["max"]), (0, None), each)
            return
        through = whole["count"] - whole["given_up"]
        self.assertGreaterEqual(each["count"], elements * through + whole["given_up"], (whole, each))
        self.assertLessEqual(each["count"], elements * whole["count"], (whole, each))
        self.assertLessEqual(each["p50"], each["p99"], each)
        self.assertLessEqual(each["max"], whole["max"], (whole, each))

    def test_each_scheme_beside_one_reader_and_many(self):
        names = self.names("--reload")
        self.assertLessEqual(self.TABLES | {"rwlock-table-each", "rwlock", "rcu"}, names)
        text, limit, cells = self.measure("--seconds", "0.9", "--elements", "256", "--threads", "1,6")
        self.assertEqual(set(cells), {(name, readers) for name in names for readers in (1, 6)})
        for cell, (whole, each) in cells.items():
            self.check(cell, 256, limit, whole, each)
        for where in ("lookups_mops", "lookups_mops_in_pauses"):
            self.assertGreater(sum(whole[where] for whole, _ in cells.values()), 0, where)
        self.assertIn("\n1 reader\n", text)
        self.assertIn("\n6 readers\n", text)
        for name in names:
            lines = [line for line in text.splitlines() if line.split() and line.split()[0] == name]
            self.assertEqual(len(lines), 2, name)

    def test_one_that_takes_too_long_is_given_up(self):
        """No scheme replaces so many elements in so little time."""
        elements = 200000 if SANITIZE else 1000000
        text, limit, cells = self.measure("--seconds", "0.01", "--elements", str(elements), "--threads", "2", "--schemes",
                                          "rcu,rwlock-table")
        for cell, (whole, each) in cells.items():
            self.check(cell, elements, limit, whole, each)
            self.assertEqual(whole["given_up"], whole["count"], whole)
            self.assertLess(each["count"], elements * whole["count"], "it went on all the same")
            row, = (line for line in text.splitlines() if line.split() and line.split()[0] == cell[0])
            self.assertIn(f"  0 of {whole['count']}  ", row)
            self.assertIn("  > ", row)
        self.assertGreater(cells["rcu", 2][1]["count"], 0)

    def test_a_writer_that_readers_keep_out_for_ever(self):
        """It gets in when the readers stop because the reload is given up."""
        modules = self.path("peers")
        shutil.copytree(PEERS, modules)
        shutil.copy(os.environ["LULL_STUBBORN"], modules)
        text, limit, cells = self.measure("--seconds", "0.1", "--elements", "10", "--threads", "3", "--schemes", "stubborn",
                                          env={"LULL_PEERS_PATH": modules})
        (whole, each), = cells.values()
        self.assertEqual((whole["given_up"], whole["min"]), (whole["count"], limit), whole)
        self.assertEqual((each["count"], each["max"]), (whole["count"], limit), each)
        row, = (line for line in text.splitlines() if line.startswith("stubborn "))
        self.assertEqual(row.count("> "), 5, row)

    def test_what_is_refused(self):
        for option in (("--updates", "1"), ("--figure", "5"), ("--runs", "3")):
            self.assertIn("--reload measures reloads alone", self.bad("hashscale", "--reload", *option))
        self.assertIn("--reload takes no value", self.bad("hashscale", "--reload=1"))
        # It cannot be read during updates; and the others are measured by --reload alone.
        self.assertIn("unknown scheme 'none'", self.bad("hashscale", "--reload", "--schemes", "none"))
        self.assertIn("unknown scheme 'rcu-table'", self.bad("hashscale", "--schemes", "rcu-table"))
        self.assertEqual(self.names("--reload") - self.names(), self.TABLES | {"rwlock-table-each"})
        self.assertEqual(self.names() - self.names("--reload"), {"none"})


if __name__ == "__main__":
    unittest.main()
