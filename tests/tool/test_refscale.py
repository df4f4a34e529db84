# SPDX-License-Identifier: MIT
"""lull refscale: hazard pointers and their peers in every mode."""
import unittest

from support import Case

OURS = ("hazptr", "hazptr-alloc", "hazptr-hold", "hazptr-full", "hazptr-rcu", "shazptr", "shazptr-wildcard",
        "store-fence-store")
PEERS = ("ck-hp", "libcds-hp", "xenium-hp")


class HazardPointers(Case):
    def test_every_mode(self):
        listed = [line.split()[0] for line in self.good("refscale", "--list").splitlines()]
        schemes = OURS + tuple(name for name in PEERS if name in listed)
        for mode, metric in (((), "read_section"), (("--chain",), "read_chain"), (("--readers-hold", "2000"), "read_hold")):
            self.good("refscale", "--schemes", ",".join(schemes), "--seconds", "0.05", "--runs", "1", "--threads", "1,2",
                      *mode, "--json", "results.json")
            rows = self.results("results.json")["results"]
            self.assertEqual({(row["scheme"], row["threads"], row["metric"]) for row in rows},
                             {(scheme, threads, metric) for scheme in ("none",) + schemes for threads in (1, 2)})
            for row in rows:
                if mode[:1] == ("--readers-hold",):
                    self.assertGreaterEqual(row["min"], 2000, row)

    def test_peers_that_are_missing(self):
        listed = self.good("refscale", "--list")
        for name in PEERS:
            if f"\n{name} " not in listed:
                library = name.removesuffix("-hp")
                self.assertIn(f"\n{library}: ", listed)
                self.assertIn(f"'{name}' is not in this build: {library}: ", self.bad("refscale", "--schemes", name))


if __name__ == "__main__":
    unittest.main()
