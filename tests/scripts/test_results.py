# SPDX-License-Identifier: MIT
"""scripts/results among made-up commands: what it writes, and where it stops."""
import unittest

from support import Case

LULL = """
case $1 in oracle) exit 1 ;; esac
echo "$*" >>ran
while test "$1" != --json; do
	test ! -e broken || test "$(cat broken)" != "$1" || { echo "lull: no such moon"; exit 1; }
	shift
done
echo measured
echo '{}' >"$2"
"""


class Results(Case):
    def setUp(self):
        super().setUp()
        self.bring("scripts/results", "scripts/pack-json")
        self.command("scripts/setup", "echo setup $* >>ran\n")
        self.command("scripts/gates", "echo gates $* >>ran\n")
        self.command("bin/cmake", "echo cmake $* >>ran; test ! -e no-build\n")
        self.command("build/release/tools/lull/lull", LULL)

    def results(self, *args):
        (self.root / "ran").unlink(missing_ok=True)
        return self.run_in("scripts/results", *args)

    def ran(self):
        path = self.root / "ran"
        return path.read_text().split("\n")[:-1] if path.exists() else []

    def test_good(self):
        self.command("scripts/gates", "echo gates $* >>ran\n")
        status, out, err = self.results("out")
        self.assertEqual((status, out), (0, ""), err)
        names = {line.removesuffix(" ...") for line in err.split("\n")[:-1]}
        self.assertEqual({path.name for path in (self.root / "out").iterdir()},
                         {name + ".txt" for name in names} | {"json.tar.gz"})
        self.assertEqual((self.root / "out/doctor.txt").read_text(), "$ lull doctor\nmeasured\n")
        self.assertEqual(self.ran()[-1], "gates out")

    def test_arguments(self):
        for args in ((), ("a", "b"), ("",), ("--help",)):
            status, out, err = self.results(*args)
            self.assertEqual((status, out, self.ran()), (2, "", []), args)
            self.assertEqual(err, "usage: scripts/results DIR\n")

    def test_half_way(self):
        self.write("broken", "tradeoff")
        status, _, err = self.results("out")
        self.assertEqual(status, 1)
        self.assertTrue(err.endswith("scripts/results: lull tradeoff has failed; what it said is in out/tradeoff.txt\n"), err)
        self.assertEqual((self.root / "out/tradeoff.txt").read_text(), "$ lull tradeoff\nlull: no such moon\n")
        self.assertEqual(self.ran()[-1].split()[0], "tradeoff")
        self.assertFalse((self.root / "out/json.tar.gz").exists())

    def test_no_build(self):
        self.write("no-build", "")
        self.assertNotEqual(self.results("out")[0], 0)
        self.assertEqual([line for line in self.ran() if line.split()[0] not in ("setup", "cmake")], [])

    def test_no_setup(self):
        self.command("scripts/setup", "echo missing packages: moon >&2; exit 1\n")
        status, _, err = self.results("out")
        self.assertEqual((status, err, self.ran()), (1, "missing packages: moon\n", []))


if __name__ == "__main__":
    unittest.main()
