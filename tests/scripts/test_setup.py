# SPDX-License-Identifier: MIT
"""scripts/setup where something is missing: made-up package tools, and a search path with little in it."""
import unittest

from support import Case

FEW = ("bash", "env", "dirname", "sort", "mktemp", "cat", "rm", "ln")


class Setup(Case):
    def setUp(self):
        super().setUp()
        self.bring("scripts/setup")
        for name in FEW:
            (self.root / "few").mkdir(exist_ok=True)
            (self.root / "few" / name).symlink_to(f"/usr/bin/{name}")

    def setup(self, *purposes):
        return self.run_in("scripts/setup", *purposes, env={"PATH": str(self.root / "few")})

    def made_up(self, uid, apt_get=None):
        self.command("few/id", f"echo {uid}\n")
        if apt_get is not None:
            self.command("few/apt-get", "echo \"$*\" >>asked\n" + apt_get)

    def asked(self):
        path = self.root / "asked"
        return path.read_text() if path.exists() else ""

    def test_nothing_missing(self):
        self.command("few/python3", "")
        self.assertEqual(self.setup("models"), (0, "", ""))

    def test_no_or_unknown_purpose(self):
        for purposes, words in (((), "usage: scripts/setup PURPOSE..."), (("models", "moon"), "unknown purpose 'moon'"),
                                (("",), "unknown purpose ''"), (("--help",), "unknown purpose '--help'")):
            status, out, err = self.setup(*purposes)
            self.assertEqual((status, out), (2, ""), purposes)
            self.assert_one_line(err, words)

    def test_no_root(self):
        self.made_up(1000, "exit 0\n")
        status, out, err = self.setup("models")
        self.assertEqual((status, out, self.asked()), (1, "", ""))
        self.assert_one_line(err, "missing packages: python3; install them with: apt-get install python3")

    def test_no_apt_get(self):
        self.made_up(0)
        status, out, err = self.setup("models")
        self.assertEqual((status, out), (1, ""))
        self.assert_one_line(err, "missing packages: python3;")

    def test_package_that_is_not_there(self):
        self.made_up(0, "case \"$*\" in *install*) echo 'E: Unable to locate package python3'; exit 100 ;; esac\n")
        status, out, err = self.setup("models")
        self.assertEqual((status, out), (1, ""))
        self.assertEqual(err.split("\n")[0], "scripts/setup: installing python3")
        self.assertIn("E: Unable to locate package python3\n", err)
        self.assertIn("missing packages: python3;", err)
        self.assertIn("update", self.asked())

    def test_no_network(self):
        self.made_up(0, "case \"$*\" in *update*) echo 'E: no mirror'; exit 100 ;; esac\n")
        status, _, err = self.setup("models")
        self.assertEqual(status, 1)
        self.assertIn("E: no mirror\n", err)
        self.assertNotIn("install python3", self.asked())

    def test_package_without_what_is_needed(self):
        self.made_up(0, "echo quiet\n")
        status, _, err = self.setup("models")
        self.assertEqual(status, 1)
        self.assertEqual(err.count("\n"), 2, err)
        self.assertIn("missing packages: python3;", err)

    def test_installed(self):
        self.made_up(0, "case \"$*\" in *install*) ln -s /usr/bin/true few/python3 ;; esac; echo quiet\n")
        self.assertEqual(self.setup("models"), (0, "", "scripts/setup: installing python3\n"))
        self.assertIn("install python3\n", self.asked())


if __name__ == "__main__":
    unittest.main()
