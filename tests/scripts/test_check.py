# SPDX-License-Identifier: MIT
"""scripts/check, and the judge of its stages: made-up stages, and CTest with made-up tests."""
import os
import signal
import subprocess
import sys
import time
import unittest

from support import PATIENCE_S, Case

CTEST = "ctest --test-dir {stage} --output-junit results.xml --test-output-size-passed 100000"


class Stages(Case):
    def setUp(self):
        super().setUp()
        self.bring("scripts/stages")

    def stages(self, *args):
        """(exit status, what it said) of the stages of the file "list"."""
        status, out, err = self.run_in(sys.executable, "scripts/stages", "--logs", "logs", *args, "list")
        self.assertEqual(err, "")
        return status, out

    def lines(self, *stages):
        """Stages that run a command: (name, command, more lines)."""
        self.write("list", "".join(f"[{name}]\ntest = {command}\n{more}\n" for name, command, more in stages))

    def ctest(self, stage, tests, more="", run=CTEST):
        """A stage that runs @tests under CTest: {name: (shell command, properties)}."""
        text = ""
        for name, (command, properties) in tests.items():
            command = ' "'.join(part.replace("\\", "\\\\").replace('"', '\\"') + '"' for part in command)
            text += f'add_test("{name}" "{command})\n'
            if properties:
                text += f'set_tests_properties("{name}" PROPERTIES {properties})\n'
        self.write(f"{stage}/CTestTestfile.cmake", text)
        return f"[{stage}]\ntest = {run}\nresults = {stage}/results.xml\n{more}\n"

    def assert_ends(self, result, passed, failed, skipped):
        """The last line, and an exit status that fits. Gives all that was said."""
        status, out = result
        self.assertEqual(out.split("\n")[-2:], [f"{passed} passed, {failed} failed, {skipped} skipped", ""], out)
        self.assertEqual(status, 1 if failed else 0, out)
        return out


def shell(text, properties=""):
    return (["/bin/sh", "-c", text], properties)


class Judge(Stages):
    def test_good(self):
        self.write("list", self.ctest("a", {"one": shell("true"), "two": shell("true")}, "tests = 2")
                   + "[b]\ntest = echo '7 passed, 0 failed'\n")
        out = self.assert_ends(self.stages(), 9, 0, 0)
        self.assertRegex(out, r"(?m)^a +ok +2 passed +0 failed +0 skipped +\d+ s$")
        self.assertRegex(out, r"(?m)^b +ok +7 passed +0 failed +0 skipped +\d+ s$")
        self.assertNotIn("skipped:", out)

    def test_failed_tests(self):
        self.write("list", self.ctest("a", {"good": shell("true"), "wrong": shell("exit 3"),
                                            "slow": shell("sleep 60", "TIMEOUT 1"), "gone": (["./nothing"], "")}))
        out = self.assert_ends(self.stages(), 1, 3, 0)
        self.assertIn("a: wrong: failed\n", out)
        self.assertIn("a: slow: failed\n", out)
        self.assertIn("a: gone: did not run", out)
        self.assertRegex(out, r"(?m)^a +FAILED +1 passed +3 failed")
        self.assertRegex(out, r"(?m)^failed: a: wrong: failed$")

    def test_what_failed_has_said(self):
        """Not what passed has said; of much the end, and the finding of a sanitizer before that."""
        found = "echo WARNING: ThreadSanitizer: data race; echo here; seq 1000; exit 3"
        self.write("list", self.ctest("a", {"good": shell("echo fine"), "wrong": shell("echo because; exit 3"),
                                            "race": shell(found)}))
        out = self.assert_ends(self.stages(), 1, 2, 0)
        self.assertIn("--- what a: wrong said:\nbecause\n---\n", out)
        self.assertIn("--- what a: race said:\nWARNING: ThreadSanitizer: data race\nhere\n1\n", out)
        self.assertIn("\n999\n1000\n---\n", out)
        self.assertNotIn("\n500\n", out)
        self.assertNotIn("\nfine\n", out)

    SECOND = "second = ctest --test-dir a --rerun-failed --output-junit {second} --test-output-size-passed 100000"

    def test_second_run(self):
        """What passes then is excused, and named; what has not run before does not count."""
        self.write("list", self.ctest("a", {"good": shell("true"), "once": shell("test -e was || { touch was; exit 3; }"),
                                            "two": shell("echo 'skipped: ThreadSanitizer starts no threads'; "
                                                         "test -e two || { touch two; exit 3; }")},
                                      "tests = 3\n" + self.SECOND))
        out = self.assert_ends(self.stages(), 3, 0, 0)
        self.assertRegex(out, r"(?m)^a +ok +3 passed +0 failed")
        for name in ("once", "two"):
            self.assertIn(f"unsteady: {name} (a) failed, and passed when it ran again", out)
            self.assertIn(f"a: {name}: failed, and passed when it ran again\n", out)
        self.assertNotIn("good", [line.split()[1] for line in out.split("\n") if line.startswith("unsteady")])

    def test_second_run_fails_too(self):
        self.write("list", self.ctest("a", {"good": shell("true"), "wrong": shell("exit 3"),
                                            "once": shell("test -e was || { touch was; exit 3; }")}, self.SECOND))
        out = self.assert_ends(self.stages(), 1, 2, 0)
        self.assertIn("a: wrong: failed\n", out)
        self.assertNotIn("unsteady", out)
        self.assertIn("--- what a: wrong said:\n--- once more:\n---\n", out.replace("\n\n", "\n"))

    def test_no_second_run(self):
        """For more than two that failed, what did not run, findings, skips without a reason, fewer tests than there are."""
        once = "test -e {0} || {{ touch {0}; {1}exit 3; }}"
        for name, tests, more in (
                ("three", {name: shell(once.format(name, "")) for name in ("x", "y", "z")}, ""),
                ("gone", {"x": shell(once.format("gone1", "")), "gone": (["./nothing"], "")}, ""),
                ("found", {"x": shell(once.format("found1", "echo ERROR: ThreadSanitizer: data race; "))}, ""),
                ("torture", {"torture_rcu": shell(once.format("torture1", ""))}, ""),
                ("quiet", {"x": shell(once.format("quiet1", "")), "y": shell("exit 77", "SKIP_RETURN_CODE 77")}, ""),
                ("few", {"x": shell(once.format("few1", "")), "y": shell("true")}, "tests = 3\n")):
            self.write("list", self.ctest("a", tests, more + self.SECOND))
            status, out = self.stages()
            self.assertEqual(status, 1, (name, out))
            self.assertNotRegex(out, r"\b0 failed, \d+ skipped\n$", name)
        self.write("list", self.ctest("a", {"torture_busted_x": shell(once.format("busted1", ""))}, self.SECOND))
        self.assert_ends(self.stages(), 1, 0, 0)

    def test_failed_build(self):
        self.lines(("a", "echo 5 passed, 0 failed", "build = echo going; false; echo on"),
                   ("b", "echo 2 passed, 0 failed", "build = true"))
        out = self.assert_ends(self.stages(), 2, 1, 0)
        self.assertIn("a: the build failed: exit status 1\n", out)
        self.assertIn("\ngoing\n---\n", out)
        self.assertNotIn("5 passed", out)

    def test_no_results(self):
        self.write("list", "[a]\ntest = true\nresults = a.xml\n[b]\ntest = echo '<' >b.xml\nresults = b.xml\n")
        out = self.assert_ends(self.stages(), 0, 2, 0)
        self.assertIn("a: no results of tests", out)
        self.assertIn("b: no results of tests", out)

    def test_results_of_an_earlier_run(self):
        self.write("list", self.ctest("a", {"one": shell("true")}))
        self.assert_ends(self.stages(), 1, 0, 0)
        self.write("list", "[a]\ntest = true\nresults = a/results.xml\n")
        self.assert_ends(self.stages(), 0, 1, 0)

    def test_status_without_a_failed_test(self):
        self.write("list", self.ctest("a", {"one": shell("true")}, run=CTEST + "; exit 8"))
        self.assertIn("a: exit status 8\n", self.assert_ends(self.stages(), 1, 1, 0))

    def test_closing_line(self):
        self.lines(("mute", "exit 3", ""), ("cut", "echo 'models: 3 pas'", ""), ("bad", "echo 'm: 3 passed, 2 failed'; exit 1", ""),
                   ("last", "echo 1 passed, 1 failed; echo 'all of them: 4 passed, 0 failed'", ""),
                   ("wrong", "echo 4 passed, 0 failed; exit 7", ""))
        out = self.assert_ends(self.stages(), 3 + 4 + 4, 5, 0)
        self.assertIn("mute: no closing line with what passed (exit status 3)\n", out)
        self.assertIn("cut: no closing line", out)
        self.assertIn("wrong: exit status 7\n", out)

    def test_killed_command(self):
        self.lines(("a", "echo 5 passed, 0 failed; kill -KILL $$", ""))
        self.assertIn("a: killed by SIGKILL\n", self.assert_ends(self.stages(), 5, 1, 0))

    def test_fewer_than_expected(self):
        self.write("list", self.ctest("a", {"one": shell("true"), "two": shell("true")}, "tests = 3")
                   + "[b]\ntest = echo 2 passed, 0 failed\ntests = 3\n"
                   + self.ctest("c", {}, "tests = 1"))
        out = self.assert_ends(self.stages(), 4, 3, 0)
        self.assertIn("a: 2 tests, at least 3 were expected", out)
        self.assertIn("b: 2 tests, at least 3 were expected", out)

    def test_the_list_itself(self):
        for text, words in (("[a]\n", "no test"), ("[a]\ntest = true\nfancy = 1\n", "what is 'fancy'?")):
            self.write("list", text)
            status, out, err = self.run_in(sys.executable, "scripts/stages", "list")
            self.assertEqual((status, out), (1, ""))
            self.assert_one_line(err, words)


class Skips(Stages):
    CMOCKA = ("printf '[ RUN      ] test_x\\n[       OK ] test_x\\n[ RUN      ] test_y\\nskipped: no moon\\n"
              "[  SKIPPED ] test_y\\n[ RUN      ] test_z\\nskipped: no sun\\n[  SKIPPED ] test_z\\n"
              "[  PASSED  ] 1 test(s).\\n[  SKIPPED ] 2 test(s), listed below:\\n[  SKIPPED ] test_y\\n[  SKIPPED ] test_z\\n'")

    def test_functions(self):
        tests = {"test_p": shell(self.CMOCKA), "test_p-fence-full": shell(self.CMOCKA)}
        copies = {name: shell(self.CMOCKA) for name in ("test_p", "core_test_p")}
        copies["test_q-no-rseq"] = shell("printf '[ RUN      ] test_a\nskipped: no moon\n[  SKIPPED ] test_a\n'")
        self.write("list", self.ctest("a", tests) + self.ctest("b", copies))
        out = self.assert_ends(self.stages(), 5, 0, 9)
        self.assertIn("\nskipped: test_q-no-rseq: test_a (b): no moon\n", out)
        self.assertIn("\nskipped: test_p: test_y (a, b): no moon\n", out)
        self.assertIn("\nskipped: test_p: test_z (a, b): no sun\n", out)
        self.assertEqual(out.count("\nskipped: "), 3, out)

    def test_no_reason(self):
        said = "printf '[ RUN      ] test_x\\nskipped: no moon\\n[  SKIPPED ] test_x\\n[ RUN      ] test_y\\n[  SKIPPED ] test_y\\n'"
        self.write("list", self.ctest("a", {"p": shell(said), "q": shell("exit 77", "SKIP_RETURN_CODE 77")}))
        out = self.assert_ends(self.stages(), 1, 2, 3)
        self.assertIn("a: p:test_y: skipped, and does not say why\n", out)
        self.assertIn("a: q: skipped, and does not say why\n", out)

    def test_whole_tests(self):
        self.write("list", self.ctest("a", {"p": shell("echo skipped: no strace; exit 77", "SKIP_RETURN_CODE 77"),
                                            "q": shell("exit 77")}))
        out = self.assert_ends(self.stages(), 0, 1, 1)
        self.assertIn("\nskipped: p (a): no strace\n", out)
        self.assertIn("a: q: failed\n", out)

    def test_unittest(self):
        self.write("a/test_it.py", "import unittest\nclass T(unittest.TestCase):\n"
                   "    @unittest.skip('no moon')\n    def test_x(self):\n        pass\n"
                   "    def test_y(self):\n        'It has words.'\n        self.skipTest(\"nobody's here\")\n"
                   "    def test_z(self):\n        pass\n"
                   "@unittest.skip('no sun')\nclass U(unittest.TestCase):\n    def test_w(self):\n        pass\nunittest.main()\n")
        self.write("list", self.ctest("a", {"tool": ([sys.executable, "test_it.py", "-v"], "")}))
        out = self.assert_ends(self.stages(), 1, 0, 3)
        self.assertIn("\nskipped: tool: test_x (a): no moon\n", out)
        self.assertIn("\nskipped: tool: test_y (a): nobody's here\n", out)
        self.assertIn("\nskipped: tool: test_w (a): no sun\n", out)

    def test_command(self):
        self.lines(("models", "echo 'skipped rcu/a.c, 3 runs: no cbmc'; echo 'models: 4 passed, 0 failed, 3 skipped: no cbmc'", "tests = 7"),
                   ("gates", "echo 'skipped: a, b: no valgrind'; echo '2 passed, 0 failed, 1 skipped'", ""),
                   ("lies", "echo '2 passed, 0 failed, 1 skipped'", ""))
        out = self.assert_ends(self.stages(), 8, 1, 5)
        self.assertIn("\nskipped: rcu/a.c (models): no cbmc\n", out)
        self.assertIn("\nskipped: a, b (gates): no valgrind\n", out)
        self.assertIn("lies: one that has no name: skipped, and does not say why\n", out)

    def test_stage_left_out(self):
        self.lines(("a", "echo 1 passed, 0 failed", ""), ("b", "touch ran; echo 1 passed, 0 failed", ""))
        out = self.assert_ends(self.stages("--without", "b=no emulator here"), 1, 0, 1)
        self.assertIn("\nskipped: all of b: no emulator here\n", out)
        self.assertFalse((self.root / "ran").exists())
        for wrong in ("b", "b=", "c=no such thing"):
            status, said, err = self.run_in(sys.executable, "scripts/stages", "--without", wrong, "list")
            self.assertEqual((status, said), (1, ""))
            self.assert_one_line(err, "NAME=WHY")


class Order(Stages):
    def test_first_fails(self):
        self.lines(("setup", "echo no apt-get; exit 1", "first = yes"), ("a", "touch ran; echo 1 passed, 0 failed", ""),
                   ("b", "echo 1 passed, 0 failed", "beside = yes"))
        out = self.assert_ends(self.stages(), 0, 3, 0)
        self.assertIn("\nno apt-get\n", out)
        for name in "ab":
            self.assertRegex(out, f"(?m)^{name} +FAILED did not run$")
        self.assertFalse((self.root / "ran").exists())

    def test_quick_again_needs(self):
        self.lines(("setup", "echo {needs} >needs; echo 0 passed, 0 failed", "first = yes"),
                   ("a", "echo again:{again} >a; echo 1 passed, 0 failed", "quick = yes\nneeds = x y"),
                   ("b", "echo again:{again} >b; echo 1 passed, 0 failed", "needs = y z"))
        self.assertIn("\n--quick leaves out b\n", self.assert_ends(self.stages("--quick"), 1, 0, 0))
        self.assertEqual(((self.root / "needs").read_text(), (self.root / "a").read_text()), ("x y\n", "again:\n"))
        self.assertFalse((self.root / "b").exists())
        self.assert_ends(self.stages("--again"), 2, 0, 0)
        self.assertEqual(((self.root / "needs").read_text(), (self.root / "b").read_text()), ("x y z\n", "again:--again\n"))

    WAIT = "for i in $(seq 600); do test -e %s && break; sleep 0.1; done; test -e %s"

    def test_builds_beside_tests(self):
        """The tests of a wait for the build of b, and c, beside all tests, for those of b."""
        self.lines(("a", self.WAIT % ("b-built", "b-built") + "; echo 1 passed, 0 failed", "build = true"),
                   ("b", "touch b-tested; echo 1 passed, 0 failed", "build = touch b-built"),
                   ("c", self.WAIT % ("b-tested", "b-tested") + "; echo 1 passed, 0 failed; exit 4", "beside = yes"))
        out = self.assert_ends(self.stages(), 3, 1, 0)
        self.assertIn("c: exit status 4\n", out)

    def test_nothing_inherited(self):
        """A stage that reads its input gets nothing, and logs are written anew."""
        self.lines(("a", "read -r x && echo got $x; echo 1 passed, 0 failed", ""))
        for _ in range(2):
            self.assert_ends(self.stages(), 1, 0, 0)
        self.assertEqual((self.root / "logs/a.log").read_text(), "1 passed, 0 failed\n")


class Ends(Stages):
    def start_and_signal(self, number):
        """What was said when a signal comes while a builds and tests."""
        self.lines(("z", "echo 3 passed, 0 failed", ""),
                   ("a", "echo $$ >pid; touch started; sleep 600; echo 1 passed, 0 failed", ""),
                   ("b", "echo 1 passed, 0 failed", "build = touch built; sleep 600"),
                   ("c", "echo 1 passed, 0 failed", "build = true"))
        with subprocess.Popen([sys.executable, "scripts/stages", "--logs", "logs", "list"], cwd=self.root,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
            patience = time.monotonic() + PATIENCE_S
            while not ((self.root / "started").exists() and (self.root / "built").exists()):
                self.assertLess(time.monotonic(), patience, "no stage has begun")
                time.sleep(0.02)
            process.send_signal(number)
            out, _ = process.communicate(timeout=PATIENCE_S)
        return process.returncode, out

    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            out = self.assert_ends(self.start_and_signal(number), 3, 3, 0)
            self.assertRegex(out, f"(?m)^a +FAILED not finished: ended by {number.name}$")
            self.assertRegex(out, f"(?m)^b +FAILED not finished: ended by {number.name}$")
            self.assertRegex(out, "(?m)^c +FAILED did not run$")
            pid = int((self.root / "pid").read_text())
            with self.assertRaises(ProcessLookupError):
                os.kill(pid, 0)
            for name in ("started", "built", "pid"):
                (self.root / name).unlink()

    def test_fault_of_its_own(self):
        self.lines(("a", "echo 3 passed, 0 failed", ""), ("b", "echo 1 passed, 0 failed", ""))
        (self.root / "logs/b.log").mkdir(parents=True)
        out = self.assert_ends(self.stages(), 0, 2, 0)
        self.assertIn("scripts/stages itself: ", out)


class Check(Case):
    """scripts/check is short: what is missing is set up, and the stages run."""

    def setUp(self):
        super().setUp()
        self.bring("scripts/check", "scripts/stages")
        self.write("scripts/stages.ini", "[setup]\nfirst = yes\ntest = scripts/setup {needs} && echo 0 passed, 0 failed\n"
                   "[a]\nquick = yes\nneeds = tests\ntest = echo 3 passed, 0 failed\n[b]\ntest = echo 4 passed, 0 failed\n")

    def check(self, *args):
        status, out, err = self.run_in("scripts/check", *args)
        return status, out.split("\n")[-2:-1], out, err

    def test_good(self):
        self.command("scripts/setup", "echo $* >needs")
        self.assertEqual(self.check()[:2], (0, ["7 passed, 0 failed, 0 skipped"]))
        self.assertEqual((self.root / "needs").read_text(), "tests\n")
        self.assertTrue((self.root / "build/check/a.log").exists())
        self.assertEqual(self.check("--quick")[:2], (0, ["3 passed, 0 failed, 0 skipped"]))

    def test_ccache(self):
        """A folder of any name finds what another has compiled."""
        self.command("scripts/setup", "true")
        self.command("bin/ccache", "true")
        self.write("scripts/stages.ini", "[a]\ntest = echo $CMAKE_C_COMPILER_LAUNCHER $CMAKE_CXX_COMPILER_LAUNCHER "
                   "$CCACHE_BASEDIR $CCACHE_NOHASHDIR >env; echo 1 passed, 0 failed\n")
        self.assertEqual(self.check()[0], 0)
        self.assertEqual((self.root / "env").read_text(), f"ccache ccache {self.root} 1\n")

    def test_setup_fails(self):
        self.command("scripts/setup", "echo scripts/setup: missing packages: moon; exit 1")
        status, last, out, _ = self.check()
        self.assertEqual((status, last), (1, ["0 passed, 3 failed, 0 skipped"]))
        self.assertIn("missing packages: moon", out)

    def test_arguments(self):
        self.command("scripts/setup", "touch ran")
        for args in (("--fast",), ("--without",), ("more",)):
            status, last, _, err = self.check(*args)
            self.assertEqual((status, last), (2, []))
            self.assertIn("usage: ", err)
        self.assertFalse((self.root / "ran").exists())

    def test_no_python(self):
        self.command("scripts/setup", "echo missing python3 >&2; exit 1")
        for name in ("bash", "dirname", "env"):
            (self.root / "few").mkdir(exist_ok=True)
            (self.root / "few" / name).symlink_to(f"/usr/bin/{name}")
        status, out, err = self.run_in("scripts/check", env={"PATH": str(self.root / "few")})
        self.assertEqual((status, out, err), (1, "0 passed, 1 failed, 0 skipped\n", "missing python3\n"))


if __name__ == "__main__":
    unittest.main()
