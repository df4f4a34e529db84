# SPDX-License-Identifier: MIT
"""lull hashscale: tables whose elements are counted, what they add to memory, and what belongs to which read section."""
import unittest

from support import SANITIZE, Case

COUNTS = ("refcount", "refcount-lock", "percpu_ref")


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
            self.assertIn(section, listed, scheme)
        self.assertEqual([sections[name] for name in COUNTS], ["refcount-rcu", "refcount-lock", "percpu_ref-rcu"])


if __name__ == "__main__":
    unittest.main()
