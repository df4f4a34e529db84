# SPDX-License-Identifier: MIT
"""lull compare from the beginning to the end, in its shortest form, its answer, and the page it writes."""
import html.parser
import math
import os
import re
import shlex
import signal
import subprocess
import time
import unittest

import page_figures
import sentences
from support import ENDLESS, LULL, PATIENCE_S, Case

SCHEMES = {"none", "rcu", "spinlock", "refcount", "hazptr", "hazptr-rcu", "shazptr"}
FEW = ["--seconds", "0.01", "--runs", "6", "--threads", "1,2", "--schemes", "none,rcu", "--elements", "100"]
SHORT = ["--seconds", "0.01", "--runs", "1", "--threads", "1,2", "--schemes"]
WAYS = ["refcount", "percpu_ref", "rcu", "hazptr", "rwlock", "percpu_rwsem", "spinlock"]

# Elements without an end tag.
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
READ_ON = {"https://www.linuxjournal.com/article/6993"}
LOADING = {"src", "href", "xlink:href", "srcset", "data", "poster", "action", "background"}


class Page(html.parser.HTMLParser):
    """Collects what a page is made of; elements that are not closed, or not in order, are errors."""

    def __init__(self, text):
        super().__init__()
        self.open, self.errors, self.tags, self.ids, self.loads, self.pieces = [], [], [], [], [], []
        self.feed(text)
        self.close()
        self.errors += [f"<{tag}> is not closed" for tag in self.open]
        self.text = "".join(self.pieces)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        self.loads += [value for name, value in attrs if name in LOADING]

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.errors.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        self.pieces.append(data)


class Compare(Case):
    def test_report(self):
        self.write("<my> 'keys' & more", b"".join(b"key %d\n" % i for i in range(200)))
        args = ["compare", *SHORT, ",".join(sorted(SCHEMES)), "--full", "--keys", "<my> 'keys' & more", "--json", "results.json", "--report", "report.html"]
        text = self.good(*args)
        self.assertEqual(self.files(), ["<my> 'keys' & more", "report.html", "results.json"])
        self.assertIn("\nReport: report.html\n", text)
        self.assertFalse([c for c in text if c < " " and c != "\n"])

        root = self.results("results.json")
        self.assert_documented(root, "compare")
        self.assertIsNone(root["not_measured"])
        self.assertEqual({row["scheme"] for row in root["results"] if row["instrument"] == "hashscale"}, SCHEMES)
        self.assertEqual({row["instrument"] for row in root["results"]},
                         {"hashscale", "refscale", "rcuscale", "tradeoff", "mutexscale"})
        # All that defer or make updaters wait, the end of a percpu_ref, and no others.
        self.assertEqual({row["scheme"] for row in root["results"] if row["instrument"] == "rcuscale"},
                         {"rcu", "hazptr", "hazptr-rcu", "shazptr", "percpu_ref", "membarrier"})
        self.assertEqual({row["scheme"] for row in root["results"] if row["instrument"] == "refscale"},
                         {scheme["section"] for scheme in root["schemes"]})
        self.assertEqual(root["keys"]["elements"], 200)
        self.check_answer(root, text)
        self.check_tables(text)
        self.check_locks(root, text, 100)
        # Nothing was said about the workload: what --help tells holds.
        self.assertEqual([root["workload"][key] for key in ("updates", "hold_ns", "objects", "size", "block")],
                         [0.01, 0, 10000, 64, False])

        with open(self.path("report.html"), encoding="utf-8") as file:
            source = file.read()
        page = Page(source)
        self.assertEqual(page.errors, [])
        self.check_alone(source, page)
        self.assertGreater(page.tags.count("svg"), 2)
        # Each picture has a title and a description; what was not measured says so.
        self.assertGreater(source.count('role="img"'), 10)
        self.assertEqual(source.count('role="img"'), page.tags.count("desc"))
        self.assertIn("prediction", page.text)
        self.assertIn("Locks", page.text)
        for line in root["lock_answer"]:
            self.assertIn(line, page.text)
        for scheme in SCHEMES:
            self.assertIn(scheme, page.text)
            self.assertIn(f"\n{scheme} ", text)
        # The figures are the same three times.
        cpus = len(os.sched_getaffinity(0))
        page_figures.check_nulls(self, root)
        page_figures.check_page(self, root, source, cpus)
        page_figures.check_terminal(self, root, text, cpus)
        # The page and the JSON say what to type to get the same again.
        self.assertIn(root["command"], page.text)
        self.assertEqual(shlex.split(root["command"]), ["lull", *args])

    def test_what_does_not_fit(self):
        """Stopped for most of its time: what is still to come is left out and named, and the rest is there."""
        with subprocess.Popen([LULL, "compare", "--seconds", "20", *FEW[2:], "--full", "--json", "results.json", "--report",
                               "report.html"], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              start_new_session=True) as process:
            time.sleep(0.5)
            os.killpg(process.pid, signal.SIGSTOP)
            time.sleep(19)
            os.killpg(process.pid, signal.SIGCONT)
            text = " ".join(process.communicate(timeout=PATIENCE_S)[0].decode().split())
        self.assertEqual(process.returncode, 0)
        root = self.results("results.json")
        # The verdict has what it needs, and no more.
        self.assertRegex(root["not_measured"], "^the table with updates, read sections alone, locks, updates and waits; "
                                               "of your workload: 0 % updates, .*, a slow reader, .*, walks along a list$")
        self.assertNotEqual(root["verdict"]["outcome"], "none")
        if root["verdict"]["use"] in WAYS[:4]:
            self.assertRegex(root["answer"][1], "^Cost: .* measured[.]")
        self.assertEqual({row["instrument"] for row in root["results"]}, {"tradeoff", "hashscale"})
        self.assertIsNone(root["locks"])
        line = f"Not measured, since the time was up: {root['not_measured']}. A longer --seconds, or a calmer machine, has them too."
        self.assertIn(line, text)
        with open(self.path("report.html"), encoding="utf-8") as file:
            page = Page(file.read())
        self.assertEqual(page.errors, [])
        self.assertIn(line, page.text)
        self.assertNotIn("What gets done under one lock", page.text)

    def check_answer(self, root, text):
        """The first lines say what to do, with nothing before them; the words name what the figures name."""
        ways = {way["scheme"]: way["said"] for way in root["ways"]}
        self.assertEqual(list(ways), WAYS)
        self.assertEqual({row["scheme"] for row in root["results"] if row["instrument"] == "tradeoff"}, set(WAYS))
        verdict, answer = root["verdict"], root["answer"]
        self.assertGreaterEqual(len(answer), 3)
        said = " ".join(text.split())
        self.assertTrue(said.startswith(" ".join(" ".join(answer[:3]).split())), text)
        for line in answer:
            self.assertIn(" ".join(line.split()), said)
        self.assertTrue(answer[2].startswith("Confidence: "), answer)
        if verdict["outcome"] in ("winner", "level"):
            self.assertTrue(answer[0].startswith(f"Use {ways[verdict['use']]}"), answer)
            self.assertTrue(answer[1].startswith("Cost: "), answer)
        else:
            self.assertIsNone(verdict["use"])
            self.assertTrue(answer[0].startswith("No winner: " if verdict["outcome"] == "close" else "No verdict: "), answer)
            self.assertFalse(verdict["changes"])
        # Each change is told, and none is told that is not there.
        told = [line for line in answer if re.match(r"With .* (updates|hold|objects?|us|ns|ms): ", line)]
        self.assertEqual(len(told), len(verdict["changes"]), answer)
        sentences.check(self, root)

    def check_tables(self, text):
        for row in ("Readers, 1 thread", "Memory overhead, per object", "Protection duration", "Traversal retries",
                    "Deferred memory", "a spin lock for each object"):
            self.assertIn("\n" + row, text)

    def check_locks(self, root, text, section_ns, sleep=False):
        """Each lock alone, with each number of threads, with and without hogs, and in long sections."""
        locks = ["pthread", "pthread-adaptive", "lull-mutex", "spin-park", "futex", "spinlock"]
        self.assertEqual(root["locks"]["section_ns"], section_ns)
        self.assertEqual(root["locks"]["sleep"], sleep)
        rows = [row for row in root["results"] if row["instrument"] == "mutexscale"]
        self.assertEqual(sorted(row["scheme"] for row in rows if row["metric"] == "pair"), sorted(locks))
        part = text[text.index("One lock that threads want at a time, sections "):]
        hogs = root["locks"]["hogs"]
        self.assertGreater(hogs, 0)
        section = (0, section_ns) if sleep else (section_ns, 0)
        # One thread beside hogs tells nothing about a lock.
        cells = [(*section, *cell) for cell in ((1, 0), (2, 0), (2, hogs))]
        cells += [(root["locks"]["longer_ns"], 0, 2, 0)]
        for lock in locks:
            measured = {tuple(row[key] for key in ("section_ns", "sleep_ns", "threads", "hogs")): row["times_pthread"]
                        for row in rows if row["scheme"] == lock and row["metric"] == "sections"}
            self.assertEqual(list(measured), cells, lock)
            # The figures for two threads, beside hogs, and in long sections are those that were measured there.
            times = [measured[(*section, 2, 0)], measured[(*section, 2, hogs)], measured[cells[-1]]]
            printed = re.findall(r" x(\d+\.\d+) ", re.search(rf"^{lock} .*$", part, re.M).group())
            for said, was in zip(printed, times, strict=True):
                self.assertAlmostEqual(float(said), was, delta=0.006 + was / 1e4)
            mean = math.sqrt(times[0] * times[1])
            self.assertAlmostEqual(root["locks"]["times_pthread"][lock] / mean, 1, delta=0.001)
        # The words name what the figures name.
        use = root["locks"]["use"]
        self.assertIn(use, [*locks, None])
        self.assertEqual(set(root["locks"]["times_pthread"]), set(locks))
        self.assertEqual(root["locks"]["times_pthread"]["pthread"], 1)
        self.assertIn("no " if use is None else "pthread will do" if use == "pthread" else use + ", which gets ",
                      root["lock_answer"][0])
        self.assertLessEqual(max(map(len, part.splitlines())), 100)
        for line in root["lock_answer"]:
            self.assertIn(" ".join(line.split()), " ".join(part.split()))

    def test_workload(self):
        text = self.good("compare", *SHORT, "none,rcu", "--full", "--elements", "100", "--updates", "25%", "--hold", "3us", "--objects", "50",
                         "--size", "200", "--block", "yes", "--json", "results.json")
        root = self.results("results.json")
        self.check_answer(root, text)
        self.check_locks(root, text, 3000, sleep=True)
        workload = root["workload"]
        self.assertEqual([workload[key] for key in ("updates", "hold_ns", "objects", "size", "block")],
                         [0.25, 3000, 50, 200, True])
        self.assertIn("Your workload: 25 % updates, readers hold an object for 3 us and sleep, 50 objects of 200 B, "
                      "2 thread", " ".join(text.split()))
        # Readers of neither may sleep.
        self.assertNotIn(root["verdict"]["use"], ("rcu", "spinlock"))
        self.assertLessEqual(max(map(len, text[text.index("Four ways"):].splitlines())), 100)

    def test_few_lines(self):
        """Without --full: what to do, what would change it, what was asked, where the rest is. Six rounds are enough."""
        text = self.good("compare", *FEW, "--json", "results.json")
        root = self.results("results.json")
        self.check_answer(root, text)
        self.assertNotEqual(root["verdict"]["scatter"], None)
        self.assertLess(len(text.splitlines()), 40)
        self.assertLessEqual(max(map(len, text.splitlines()[:-4])), 100)
        self.assertNotIn("Four ways", text)
        self.assertTrue(text.endswith("\nTables: --full. Report: lull-report.html\n"), text)
        if len(root["answer"]) > 3:
            self.assertIn("What would change the answer:\n", text)

    def test_threads_that_are_not_here(self):
        """More threads than twice the CPUs are predicted, never measured."""
        self.assertIn("--threads: ", self.bad("compare", *ENDLESS["compare"], "--threads", "5000"))
        args = [*FEW, "--runs", "1"]
        args[args.index("--threads") + 1] = "1,2,500"
        self.good("compare", *args, "--json", "results.json")
        root = self.results("results.json")
        self.assertEqual(root["verdict"]["predicted_threads"], 500)
        self.assertEqual(root["workload"]["threads"], len(os.sched_getaffinity(0)))
        self.assertLessEqual(max(row["threads"] for row in root["results"]), 2)
        # One that there is no room for beside those that there are.
        args[args.index("--threads") + 1] = "4096"
        self.good("compare", *args)

    def test_says_what_was_typed(self):
        """The error names compare, because the user typed the options for it."""
        for bad in (("--elements", "0"), ("--schemes", "nosuch"), ("--keys", "/nonexistent"), ("--buckets", "3")):
            self.assertTrue(self.bad("compare", *ENDLESS["compare"], *bad).startswith("lull compare: "), bad)

    def test_threads_that_were_asked_for(self):
        """The verdict is about the threads that were named."""
        args = [*FEW, "--runs", "1"]
        args[args.index("--threads") + 1] = "1"
        self.assertIn(", 1 thread.", " ".join(self.good("compare", *args, "--json", "results.json").split()))
        root = self.results("results.json")
        self.assertEqual(root["workload"]["threads"], 1)
        self.assertEqual({row["threads"] for row in root["results"] if row["instrument"] == "tradeoff"}, {1})
        self.assertEqual(root["verdict"]["predicted_threads"], 0)

    def test_many_runs(self):
        """More than the verdict has room for."""
        self.good("tradeoff", "--seconds", "0.01", "--runs", "42", "--threads", "1", "--objects", "10", "--slow", "0",
                  "--schemes", "rcu,refcount", "--json", "results.json")
        rounds = [len(row["rounds"]) for row in self.results("results.json")["results"] if row["metric"] == "mix"]
        self.assertEqual(set(rounds), {41})

    def test_bad_workload(self):
        bad = {
            "--updates": ("", "x", "-1", "1.5", "101%", "10 %", "1e", "nan", "inf", "0x", "%", "10%%", "+1"),
            "--hold": ("", "x", "5", "-1us", "5 us", "5m", "us", "1h", "101ms", "1s", "nan", "1e99s", "5us ", "+5us"),
            "--objects": ("", "x", "0", "-1", "1.5", "1e3", "10000001", "99999999999999999999"),
            "--size": ("", "x", "0", "7", "-1", "1.5", "1048577"),
            "--block": ("", "x", "YES", "true", "1", "maybe"),
        }
        for name in ("compare", "tradeoff"):
            for option, values in bad.items():
                for value in values:
                    self.assertIn(option + ": ", self.bad(name, *ENDLESS[name], option, value))
                self.assertIn(option + " needs a value", self.bad(name, *ENDLESS[name], option))
            line = self.bad(name, *ENDLESS[name], "--objects", "10000000", "--size", "1048576")
            self.assertIn("do not fit into memory here", line)

    def check_alone(self, source, page):
        """Loads nothing, and refers to nothing that is not in it."""
        self.assertFalse({"link", "script", "iframe", "object", "embed", "base"} & set(page.tags))
        loads = [value for value in page.loads if value not in READ_ON]
        self.assertEqual([value for value in loads if not value.startswith("#")], [])
        self.assertNotIn("@import", source)
        self.assertFalse(re.search(r"url\(\s*['\"]?(?!#)[^'\"#)]", source))
        self.assertEqual(len(page.ids), len(set(page.ids)))
        wanted = {value[1:] for value in loads} | set(re.findall(r"url\(\s*['\"]?#([^'\")]+)", source))
        self.assertFalse(wanted - set(page.ids))
        # A name of a namespace is not loaded; no other address belongs here. What a person may read on is linked once.
        self.assertFalse(set(re.findall(r"https?://[^\s\"'<>]+", source)) -
                         {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"} - READ_ON)
        for address in READ_ON:
            self.assertEqual((source.count(address), source.count(f'<a href="{address}">')), (1, 1))


if __name__ == "__main__":
    unittest.main()
