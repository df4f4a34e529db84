# SPDX-License-Identifier: MIT
"""Files of keys: those that cannot be read, and those that are read though they look odd."""
import os
import unittest

from support import ENDLESS, Case

RUN = ["--seconds", "0.02", "--runs", "1", "--threads", "1", "--updates", "0,100", "--schemes",
       "none,rcu,lull-hash"]


class Keys(Case):
    def refused(self, path, reason):
        for name in ("hashscale", "compare"):
            line = self.bad(name, *ENDLESS[name], "--keys", path)
            self.assertIn("--keys: ", line)
            self.assertIn(path.replace("\n", "?"), line)
            self.assertIn(reason, line)

    def test_cannot_be_read(self):
        self.refused("missing", "No such file")
        self.refused("missing\nfile", "No such file")
        self.refused("/proc/self/mem", "Input/output error")

    @unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_permission(self):
        os.chmod(self.write("closed", b"key\n"), 0)
        self.refused("closed", "Permission denied")

    def test_directory(self):
        self.refused(self.folder, "it is a directory")

    def test_no_keys(self):
        self.write("empty", b"")
        self.refused("empty", "it is empty")
        self.write("blank", b"\n\n\n")
        self.refused("blank", "all its lines are empty")

    def test_too_long(self):
        self.write("long", b"short\n" + b"x" * 1000000 + b"\n")
        self.refused("long", "line 2 is too long")

    def measured(self, content, *options):
        self.write("keys", content)
        text = self.good("hashscale", "--keys", "keys", "--json", "results.json", *RUN, *options)
        root = self.results("results.json")
        self.assert_documented(root, "hashscale")
        return text, root["keys"]

    def test_one_key(self):
        for content in (b"key\n", b"key"):
            _, keys = self.measured(content)
            self.assertEqual((keys["elements"], keys["bytes"], keys["buckets"]), (1, 3, 1))

    def test_one_key_in_every_table(self):
        self.write("keys", b"key\n")
        schemes = [line.split()[0] for line in self.good("hashscale", "--list").splitlines()]
        text = self.good("hashscale", "--keys", "keys", *RUN, "--schemes",
                         ",".join(scheme for scheme in schemes if not scheme.endswith(":")))
        for scheme in schemes:
            self.assertEqual(scheme.endswith(":"), f"\n{scheme} " not in text, scheme)

    def test_duplicates(self):
        text, keys = self.measured(b"a\nb\na\n\nb\na\nc")
        self.assertEqual((keys["elements"], keys["duplicates"]), (3, 3))
        self.assertIn("duplicate keys that were skipped: 3\n", text)
        self.assertIn("empty lines that were skipped: 1\n", text)

    def test_any_bytes(self):
        _, keys = self.measured(b"\0\n\xff\xfe\n\0\0\n\r\n \n")
        self.assertEqual((keys["elements"], keys["duplicates"]), (5, 0))

    def test_fewer_than_there_are(self):
        _, keys = self.measured(b"a\nb\nc\nd\n", "--elements", "2", "--buckets", "8")
        self.assertEqual((keys["elements"], keys["buckets"], keys["more"]), (2, 8, True))

    def test_name_of_any_bytes(self):
        name = os.fsdecode(b"keys \xff'$x\n")
        self.write(name, b"a\nb\n")
        self.good("hashscale", "--keys", name, "--json", "results.json", *RUN)
        self.assertEqual(self.results("results.json")["keys"]["elements"], 2)


if __name__ == "__main__":
    unittest.main()
