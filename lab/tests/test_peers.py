# SPDX-License-Identifier: MIT
"""The modules of measured rows: some are missing, one is broken, lull-lab depends on none of their libraries."""
import os
import shutil
import subprocess
import unittest

from support import LAB, PEERS, SANITIZE, SHORT, Case

INSTRUMENTS = ("refscale", "rcuscale", "hashscale", "mutexscale")
OURS = ("lull", "locks", "counts")
THEIRS = ("liburcu", "libck", "libcds", "libabsl", "libstdc++")


class Modules(Case):
    """A folder of one's own with all the modules, from which a test takes some."""

    def setUp(self):
        super().setUp()
        built = PEERS
        self.modules = self.path("peers")
        shutil.copytree(built, self.modules)
        self.env = {"LULL_PEERS_PATH": self.modules}

    def module(self, name):
        return os.path.join(self.modules, name + ".so")

    def need(self, name):
        if not os.path.exists(self.module(name)):
            self.skipTest(f"{name}.so is not built here")

    def listed(self, instrument):
        """The names of the rows, and the lines about modules that are missing."""
        lines = self.good(instrument, "--list", env=self.env).splitlines()
        missing = [line for line in lines if line.split()[0].endswith(":")]
        return {line.split()[0] for line in lines} - {line.split()[0] for line in missing}, missing

    def machine(self, *args):
        self.good("refscale", *SHORT["refscale"], "--json", "results.json", *args, env=self.env)
        return self.results("results.json")["machine"]

    def test_each_instrument_has_rows_of_all_kinds(self):
        self.assertLessEqual({"none", "rcu", "rcu-builtin", "refcount"}, self.listed("refscale")[0])
        self.assertLessEqual({"rcu", "rcu-builtin", "rcu-full", "percpu_ref", "free-at-once"}, self.listed("rcuscale")[0])
        self.assertLessEqual({"none", "rcu", "rcu-builtin", "refcount"}, self.listed("hashscale")[0])
        self.assertLessEqual({"pthread", "lull-mutex", "lull-mutex-builtin"}, self.listed("mutexscale")[0])
        for name, rows in (("urcu", {"liburcu-memb", "liburcu-bp"}), ("ck", {"ck-epoch"})):
            if os.path.exists(self.module(name)):
                for instrument in ("refscale", "rcuscale", "hashscale"):
                    self.assertLessEqual(rows, self.listed(instrument)[0])
        if os.path.exists(self.module("ck")):
            for instrument in ("refscale", "hashscale"):
                self.assertIn("ck-brlock", self.listed(instrument)[0])

    def test_a_module_for_all_that_can_be_built(self):
        _, missing = self.listed("refscale")
        self.assertFalse([line for line in missing if "there is no module " not in line], missing)
        if SANITIZE:
            self.assertIn(f"liburcu: there is no module urcu.so in {self.modules}", missing)

    def test_one_is_missing(self):
        self.need("ck")
        before = {instrument: self.listed(instrument)[0] for instrument in INSTRUMENTS}
        os.remove(self.module("ck"))
        line = f"ck: there is no module ck.so in {self.modules}"
        for instrument in INSTRUMENTS:
            after, missing = self.listed(instrument)
            self.assertIn(line, missing)
            self.assertEqual(after, {name for name in before[instrument] if not name.startswith("ck-")})
        self.assertNotEqual(before["refscale"], self.listed("refscale")[0])
        self.assertIn(f"scheme 'ck-hp' is not here: {line}",
                      self.bad("refscale", "--schemes", "ck-hp", env=self.env))
        machine = self.machine()
        self.assertIn(line, machine["peers_missing"])
        self.assertNotIn("ck ", machine["peers"])
        self.assertIn(line + "\n", self.good("peers", env=self.env))

    def test_all_of_others_are_missing(self):
        for name in os.listdir(self.modules):
            if name.removesuffix(".so") not in OURS:
                os.remove(os.path.join(self.modules, name))
        for instrument in INSTRUMENTS:
            self.good(instrument, *SHORT[instrument], env=self.env)
        out = self.good("refscale", "--seconds", "0.01", "--runs", "1", "--threads", "1", env=self.env)
        self.assertNotIn("left out: /", out)
        self.assertEqual(self.machine()["peers"], "")
        self.assertTrue(self.good("peers", env=self.env).startswith("none\n"))

    def test_one_that_nothing_can_be_measured_without(self):
        os.remove(self.module("locks"))
        for instrument, row in (("refscale", "none"), ("mutexscale", "pthread")):
            result = self.lull(instrument, "--seconds", "0.01", env=self.env)
            self.assertEqual((result.returncode, result.stdout), (1, b""))
            self.assert_one_line(result.stderr, instrument)
            self.assertIn(f"cannot measure anything without '{row}': there is no module locks.so in ".encode(),
                          result.stderr)

    def test_one_is_broken(self):
        """The instrument that would have measured the missing rows says so, once."""
        self.need("ck")
        with open(self.module("ck"), "wb") as file:
            file.write(b"no shared object\n")
        rows, missing = self.listed("refscale")
        self.assertNotIn("ck-hp", rows)
        self.assertIn("rcu", rows)
        line, = (line for line in missing if line.startswith("ck: "))
        self.assertIn(self.module("ck"), line)
        out = self.good("refscale", "--seconds", "0.01", "--runs", "1", "--threads", "1", env=self.env)
        self.assertEqual([told for told in out.splitlines() if " is left out: " in told],
                         [line.replace("ck: ", "ck is left out: ", 1)])
        self.assertIn(line, self.machine()["peers_missing"])
        self.assertIn(line, self.bad("refscale", "--schemes", "ck-hp", env=self.env))

    def test_no_module_of_rows(self):
        """A shared object that is none, and one that another build made."""
        shutil.copy(os.path.realpath(shutil.which("python3") or "/bin/sh"), self.module("other"))
        with open(self.module("counts"), "rb") as file:
            code = file.read()
        self.assertGreaterEqual(code.count(b", rows 4\0"), 1)
        with open(self.module("counts"), "wb") as file:
            file.write(code.replace(b", rows 4\0", b", rows 0\0"))
        rows, missing = self.listed("refscale")
        self.assertNotIn("refcount", rows)
        self.assertIn("rcu", rows)
        other, = (line for line in missing if line.startswith("other.so: "))
        self.assertIn(self.module("other"), other)
        counts, = (line for line in missing if line.startswith("counts: "))
        self.assertRegex(counts, "a module for lull [0-9.]+, rows 0, and this is lull [0-9.]+, rows 4$")

    def test_a_module_that_lull_does_not_come_with(self):
        """It is loaded after lull's own; a row that is there already is not there twice."""
        shutil.copy(self.module("counts"), self.module("mine"))
        rows = [line.split()[0] for line in self.good("refscale", "--list", env=self.env).splitlines()]
        self.assertEqual(rows.count("refcount"), 1)
        os.remove(self.module("counts"))
        rows, missing = self.listed("refscale")
        self.assertIn("refcount", rows)
        self.assertIn(f"counts: there is no module counts.so in {self.modules}", missing)

    def test_no_folder(self):
        shutil.rmtree(self.modules)
        rows, missing = self.listed("refscale")
        self.assertEqual(rows, {"rcu-builtin"})
        self.assertGreater(len(missing), len(OURS))
        self.assertIn("lull", self.good("--version", env=self.env))


class Dependencies(Case):
    def needed(self, path):
        out = subprocess.run(["readelf", "--dynamic", "--wide", path], check=True, capture_output=True, text=True).stdout
        return [line.split("[")[1].rstrip("]") for line in out.splitlines() if "(NEEDED)" in line]

    def test_the_command_needs_no_library_that_it_is_compared_with(self):
        needed = self.needed(LAB)
        self.assertTrue([name for name in needed if name.startswith("liblull.")], needed)
        self.assertFalse([name for name in needed if name.startswith(THEIRS)], needed)

    def test_who_looks_at_a_process_loads_no_module(self):
        """Only the instruments load modules: a library may bring threads, signals, memory."""
        env = {"LULL_PEERS_PATH": self.folder, "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": self.path("loaded")}
        shutil.copytree(PEERS, self.folder, dirs_exist_ok=True)
        self.lull("top", "--once", str(os.getpid()), env=env)
        self.lull("trace", str(os.getpid()), env=env)
        self.lull("oracle", env=env)
        self.good("torture", "--seconds", "0.1", "--json", "results.json", env=env)
        told = b""
        for name in self.files():
            if name.startswith("loaded."):
                with open(self.path(name), "rb") as file:
                    told += file.read()
        self.assertIn(b"liblull.so", told)
        self.assertNotIn(self.folder.encode(), told)


if __name__ == "__main__":
    unittest.main()
