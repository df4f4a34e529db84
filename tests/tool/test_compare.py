# SPDX-License-Identifier: MIT
"""lull compare from the beginning to the end, in its shortest form, and the page it writes."""
import html.parser
import re
import shlex
import unittest

from support import Case

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
        self.assertEqual({row["scheme"] for row in root["results"]}, SCHEMES)
        self.assertEqual({row["instrument"] for row in root["results"]}, {"hashscale", "refscale", "rcuscale"})
        # All that defer or make updaters wait, and no others.
        self.assertEqual({row["scheme"] for row in root["results"] if row["instrument"] == "rcuscale"},
                         {"rcu", "hazptr", "hazptr-rcu", "shazptr"})
        self.assertEqual({row["scheme"] for row in root["results"] if row["instrument"] == "refscale"}, SCHEMES)
        self.assertTrue(root["advice"])
        self.assertTrue([line for line in root["advice"] if "sleeps with it: " in line], root["advice"])
        self.assertEqual(root["keys"]["elements"], 200)

        with open(self.path("report.html"), encoding="utf-8") as file:
            source = file.read()
        page = Page(source)
        self.assertEqual(page.errors, [])
        self.check_alone(source, page)
        self.assertGreater(page.tags.count("svg"), 2)
        for scheme in SCHEMES:
            self.assertIn(scheme, page.text)
            self.assertIn(f"\n{scheme} ", text)
        # What is to be typed to get the same again.
        self.assertIn(root["command"], page.text)
        self.assertEqual(shlex.split(root["command"]), ["lull", *args])

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
