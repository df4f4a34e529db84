# SPDX-License-Identifier: MIT
"""lull compare from the beginning to the end, in its shortest form, its answer, and the page it writes."""
import html.parser
import math
import re
import shlex
import unittest

from support import ENDLESS, Case

SCHEMES = {"none", "rcu", "spinlock", "refcount", "hazptr", "hazptr-rcu", "shazptr"}
SHORT = ["--seconds", "0.01", "--runs", "1", "--threads", "1,2", "--schemes", ",".join(sorted(SCHEMES))]

# Elements without an end tag.
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
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
        args = ["compare", *SHORT, "--keys", "<my> 'keys' & more", "--json", "results.json", "--report", "report.html"]
        text = self.good(*args)
        self.assertEqual(self.files(), ["<my> 'keys' & more", "report.html", "results.json"])
        self.assertIn("\nreport: report.html\n", text)
        self.assertFalse([c for c in text if c < " " and c != "\n"])

        root = self.results("results.json")
        self.assert_documented(root, "compare")
        self.assertEqual({row["scheme"] for row in root["results"] if row["instrument"] == "hashscale"}, SCHEMES)
        self.assertEqual({row["instrument"] for row in root["results"]},
                         {"hashscale", "refscale", "rcuscale", "tradeoff", "mutexscale"})
        # All that defer or make updaters wait, the end of a percpu_ref, and no others.
        self.assertEqual({row["scheme"] for row in root["results"] if row["instrument"] == "rcuscale"},
                         {"rcu", "hazptr", "hazptr-rcu", "shazptr", "percpu_ref", "membarrier"})
        self.assertEqual({row["scheme"] for row in root["results"] if row["instrument"] == "refscale"},
                         {scheme["section"] for scheme in root["schemes"]})
        self.assertTrue(root["advice"])
        self.assertTrue([line for line in root["advice"] if "sleeps with it: " in line], root["advice"])
        self.assertEqual(root["keys"]["elements"], 200)
        self.check_answer(root, text)
        self.check_locks(root, text, 1000)
        # Nothing was said about the workload: what --help tells holds.
        self.assertEqual([root["workload"][key] for key in ("updates", "hold_ns", "objects", "size", "block")],
                         [0.01, 1000, 10000, 64, False])

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
        # What is to be typed to get the same again.
        self.assertIn(root["command"], page.text)
        self.assertEqual(shlex.split(root["command"]), ["lull", *args])

    def check_answer(self, root, text):
        """The four ways in the table, and one of them for the workload, as it was described."""
        ways = [way["scheme"] for way in root["ways"]]
        self.assertEqual(ways, ["refcount", "percpu_ref", "rcu", "hazptr"])
        self.assertEqual({row["scheme"] for row in root["results"] if row["instrument"] == "tradeoff"}, set(ways))
        verdict = root["verdict"]
        self.assertIn(verdict["use"], ways)
        self.assertIn(verdict["runner_up"], ways)
        self.assertNotEqual(verdict["use"], verdict["runner_up"])
        self.assertIn(f"Use {verdict['use']}: ", root["answer"][0])
        self.assertIn(f"Runner-up: {verdict['runner_up']}", root["answer"][1])
        said = " ".join(text.split())
        for line in root["answer"]:
            self.assertIn(" ".join(line.split()), said)
        for row in ("Readers, 1 thread", "Memory overhead, per object", "Protection duration", "Traversal retries",
                    "Deferred memory"):
            self.assertIn("\n" + row, text)
        # Each change is told, and none is told that is not there.
        told = [line for line in root["answer"] if re.match(r"(From|Up to) about ", line)]
        self.assertEqual(len(told), len(verdict["changes"]))
        for change, line in zip(verdict["changes"], told):
            self.assertIn(f": {change['use']}, ", line)

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
        cells = [(*section, threads, busy) for busy in (0, hogs) for threads in (1, 2)]
        cells += [(root["locks"]["longer_ns"], 0, 2, 0)]
        for lock in locks:
            measured = {tuple(row[key] for key in ("section_ns", "sleep_ns", "threads", "hogs")): row["times_pthread"]
                        for row in rows if row["scheme"] == lock and row["metric"] == "sections"}
            self.assertEqual(list(measured), cells, lock)
            # What is said of two threads, beside hogs, and in long sections, is what was measured there.
            times = [measured[(*section, 2, 0)], measured[(*section, 2, hogs)], measured[cells[-1]]]
            printed = re.findall(r" x(\d+\.\d+) ", re.search(rf"^{lock} .*$", part, re.M).group())
            for said, was in zip(printed, times, strict=True):
                self.assertAlmostEqual(float(said), was, delta=0.006 + was / 1e4)
            mean = math.sqrt(times[0] * times[1])
            self.assertAlmostEqual(root["locks"]["times_pthread"][lock] / mean, 1, delta=0.001)
        # The words name what the figures name.
        self.assertIn(root["locks"]["use"], locks)
        self.assertEqual(set(root["locks"]["times_pthread"]), set(locks))
        self.assertEqual(root["locks"]["times_pthread"]["pthread"], 1)
        self.assertIn(root["locks"]["use"] + (" will do" if root["locks"]["use"] == "pthread" else ", which gets "),
                      root["lock_answer"][0])
        self.assertLessEqual(max(map(len, part.splitlines())), 100)
        for line in root["lock_answer"]:
            self.assertIn(" ".join(line.split()), " ".join(part.split()))

    def test_workload(self):
        text = self.good("compare", *SHORT, "--elements", "100", "--updates", "25%", "--hold", "3us", "--objects", "50",
                         "--size", "200", "--block", "yes", "--json", "results.json")
        root = self.results("results.json")
        self.check_answer(root, text)
        self.check_locks(root, text, 3000, sleep=True)
        workload = root["workload"]
        self.assertEqual([workload[key] for key in ("updates", "hold_ns", "objects", "size", "block")],
                         [0.25, 3000, 50, 200, True])
        self.assertIn("Your workload: 25 % updates, readers hold an object for 3 us and sleep, 50 objects of 200 B, "
                      "2 thread", " ".join(text.split()))
        # RCU's readers may not sleep: named as what it is not, and why.
        self.assertNotIn("rcu", (root["verdict"]["use"], root["verdict"]["runner_up"]))
        self.assertTrue([line for line in root["answer"] if line.startswith("Not rcu, because readers sleep: ")])
        self.assertLessEqual(max(map(len, text[text.index("Four ways"):].splitlines())), 100)

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
            self.assertIn("more than fit into memory here", line)

    def check_alone(self, source, page):
        """Loads nothing, and refers to nothing that is not in it."""
        self.assertFalse({"link", "script", "iframe", "object", "embed", "base"} & set(page.tags))
        self.assertEqual([value for value in page.loads if not value.startswith("#")], [])
        self.assertNotIn("@import", source)
        self.assertFalse(re.search(r"url\(\s*['\"]?(?!#)[^'\"#)]", source))
        self.assertEqual(len(page.ids), len(set(page.ids)))
        wanted = {value[1:] for value in page.loads} | set(re.findall(r"url\(\s*['\"]?#([^'\")]+)", source))
        self.assertFalse(wanted - set(page.ids))
        # A name of a namespace is not loaded; no other address belongs here.
        self.assertFalse(set(re.findall(r"https?://[^\s\"'<>]+", source)) -
                         {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"})


if __name__ == "__main__":
    unittest.main()
