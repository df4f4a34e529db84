# SPDX-License-Identifier: MIT
"""What surrounds the kernel of scripts/kernel: its patches, what the guest said, tables; no kernel, no emulator."""
import importlib.util
import os
import shutil
import subprocess
import sys
import unittest

from support import ROOT, Case

sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "kernel"))

import build  # noqa: E402 (behind the path)
import checks  # noqa: E402
import guest  # noqa: E402
import lint  # noqa: E402
import stage  # noqa: E402
import tree  # noqa: E402

HEAD = """From 0 Mon Sep 17 00:00:00 2001
From: A <a@b.example>
Subject: [PATCH] lists: Add a word

One word was missing
in the list
of words, which
has it now.

Signed-off-by: A <a@b.example>
---
 words | 1 +
"""
HUNK = """
diff --git a/words b/words
--- a/words
+++ b/words
@@ -1,3 +1,4 @@
 one
 two
+two and a half
 three
"""


def load_stage(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"kernel/stages/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


NEEDS_PATCH = unittest.skipUnless(shutil.which("patch"), "no command patch here")


class Patches(Case):
    def patch(self, text, name="0001-words.patch"):
        return self.write(f"patches/{name}", text)

    def source(self, words="one\ntwo\nthree\n"):
        self.write("source/Makefile", "VERSION = 7\nPATCHLEVEL = 2\nSUBLEVEL = 13\n")
        self.write("source/other", "other\n")
        self.write("source/words", words)
        return self.root / "source"

    def test_form(self):
        self.assertEqual(tree.complain(self.patch(HEAD + HUNK)), [])

    def test_form_of_ours(self):
        for path in tree.patches():
            self.assertEqual(tree.complain(path), [], path.name)

    def test_bad_forms(self):
        for text, words in ((HUNK, "no line '---'"), (HEAD, "changes nothing"),
                            (HEAD.replace("Signed-off-by", "Thanks-to") + HUNK, "no 'Signed-off-by:'"),
                            (HEAD.replace("Subject: [PATCH] ", "Title: ") + HUNK, "no 'Subject: [PATCH'"),
                            (HEAD.replace("in the list\nof words, which\nhas it now.\n", "") + HUNK, "what and why"),
                            (HEAD + HUNK.replace("1,4", "1,5"), ":17: a hunk"),
                            (HEAD + HUNK.replace(" three\n", ""), "a hunk does not have as many lines"),
                            (HEAD + HUNK.replace("+two and", "two and"), "a hunk does not have as many lines")):
            self.assertIn(words, "\n".join(tree.complain(self.patch(text))), text)

    def test_git_reads_what_we_read(self):
        self.assertEqual(checks.check_patch(self.patch(HEAD + HUNK)), [])

    @NEEDS_PATCH
    def test_applied(self):
        source, root = self.source(), self.root / "tree"
        self.assertEqual(tree.update(source, root, [self.patch(HEAD + HUNK)]), ["0001-words.patch"])
        self.assertEqual((root / "words").read_text(), "one\ntwo\ntwo and a half\nthree\n")
        self.assertEqual((source / "words").read_text(), "one\ntwo\nthree\n")

    @NEEDS_PATCH
    def test_only_what_changes_is_written(self):
        source, root = self.source(), self.root / "tree"
        first = self.patch(HEAD + HUNK)
        tree.update(source, root, [first])
        for name in ("words", "other"):
            os.utime(root / name, (1, 1))
        tree.update(source, root, [first])
        self.assertEqual((root / "words").stat().st_mtime, 1)
        tree.update(source, root, [])
        self.assertEqual((root / "words").read_text(), "one\ntwo\nthree\n")
        self.assertEqual((root / "other").stat().st_mtime, 1)

    @NEEDS_PATCH
    def test_a_file_of_a_patch_that_is_gone(self):
        source, root = self.source(), self.root / "tree"
        new = HEAD + "\ndiff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+new\n"
        self.assertEqual(tree.complain(self.patch(new)), [])
        tree.update(source, root, [self.patch(new)])
        self.assertEqual((root / "new").read_text(), "new\n")
        tree.update(source, root, [])
        self.assertFalse((root / "new").exists())

    @NEEDS_PATCH
    def test_a_hunk_that_does_not_fit(self):
        source, root = self.source("1\n2\n3\n4\n"), self.root / "tree"
        with self.assertRaises(tree.Failed) as caught:
            tree.update(source, root, [self.patch(HEAD + HUNK)])
        self.assertEqual(str(caught.exception), "0001-words.patch does not fit this kernel: words: Hunk #1 FAILED at 1")
        self.assertFalse(root.exists())

    @NEEDS_PATCH
    def test_a_file_that_is_not_there(self):
        source = self.source()
        with self.assertRaises(tree.Failed) as caught:
            tree.update(source, self.root / "tree", [self.patch((HEAD + HUNK).replace("words", "none"))])
        self.assertIn("0001-words.patch does not fit this kernel: ", str(caught.exception))

    @NEEDS_PATCH
    def test_not_needed(self):
        source, root = self.source(), self.root / "tree"
        text = HEAD.replace("---\n", "---\nSkip-when: words has two\n") + HUNK
        self.assertEqual(tree.update(source, root, [self.patch(text)]), [])
        self.assertEqual(tree.update(source, root, [self.patch(text.replace("has two", "has four"))]), ["0001-words.patch"])

    def test_newest(self):
        names = ["linux-source-6.12", "linux-source-7.2", "linux-source-7.10", "linux-source", "linux-source-7.2-rt"]
        self.assertEqual(tree.newest(names), "linux-source-7.10")
        with self.assertRaises(tree.Failed):
            tree.newest(["linux-source"])


class Guest(unittest.TestCase):
    GOOD = "[    1.0] Linux version 7.2.13\n@@ begin 7.2.13, 2 CPUs\n@@ run a=1\n@@ end 0\n"

    def judge(self, console, late="", **more):
        return guest.judge(console, late, stage.Boot("", **more))

    def test_good(self):
        self.assertEqual(self.judge(self.GOOD), [])

    def test_what_a_kernel_reports(self):
        for line in ("[    2.0] WARNING: kernel/rcu/tree.c:1 at rcu_gp_init+0x1", "WARNING: suspicious RCU usage",
                     "[ 3.0] BUG: KASAN: slab-use-after-free in f+0x1", "BUG: KCSAN: data-race in f / g",
                     "BUG: sleeping function called from invalid context at x.c:1", "rcu: INFO: rcu_preempt detected stalls on",
                     "WARNING: possible circular locking dependency detected", "INFO: task a:1 blocked for more than 1 seconds"):
            self.assertEqual(self.judge(self.GOOD.replace("@@ run", f"{line}\n@@ run")), [line])

    def test_expected(self):
        console = self.GOOD + "WARNING: suspicious RCU usage\n"
        self.assertEqual(self.judge(console, expected="suspicious RCU"), [])
        self.assertEqual(len(self.judge(console + "BUG: KASAN: x\n", expected="suspicious RCU")), 1)

    def test_a_script_that_failed(self):
        self.assertEqual(self.judge(self.GOOD + "@@ fail limit: no spin\n"), ["limit: no spin"])

    def test_no_end(self):
        console = self.GOOD.replace("@@ end 0\n", "")
        self.assertIn("the guest ended early; its last line: @@ run a=1", self.judge(console)[0])
        self.assertIn("no end in 5 s", self.judge(console, late="no end in 5 s")[0])
        self.assertIn("its last line: nothing", self.judge("")[0])


class Tables(unittest.TestCase):
    def test_percentile(self):
        self.assertEqual([stage.percentile([4, 1, 3, 2], p) for p in (0, 25, 50, 51, 100)], [1, 1, 2, 3, 4])

    def test_columns(self):
        self.assertEqual(list(stage.columns([("a", "b"), ("long", 7)])), ["a     b", "long  7"])

    def test_said(self):
        self.assertEqual(stage.said("x @@ run no\n@@ run a=1 b\n@@ runner c\n", "run"), [["a=1", "b"]])
        self.assertEqual(stage.pairs(["a=1", "b", "c=d=e"]), {"a": "1", "c": "d=e"})

    def early(self, second, runs=6, gps=101, on=25000):
        lines = ["@@ begin 7.2.13, 1 CPUs"]
        for run in range(1, runs + 1):
            for early in (0, 1):
                lines.append(f"@@ run number={run} early={early} n=100 mean={on if early else 1006000} min=3000000 max=5000000 ns gps={gps} none=1 "
                             f"one=0 more={second[early]}")
        return "\n".join(lines)

    def test_early_qs(self):
        early = load_stage("early_qs")
        good = self.early((100, 0))
        text = "\n".join(early.table({"one-cpu": good, "four-cpus": good}))
        self.assertIn("one-cpu 600 -> 0", text)
        self.assertIn("1.006 ms", text)
        for bad, words in ((self.early((100, 1)), "6 grace periods needed a second scan"), (self.early((1, 0), runs=5), "10 of 12"),
                           (self.early((1, 0), gps=99), "99 grace periods of 100"),
                           (self.early((0, 0), on=1006000), "less than ten times as fast")):
            with self.assertRaises(stage.Wrong) as caught:
                list(early.table({"one-cpu": bad, "four-cpus": good}))
            self.assertIn(words, str(caught.exception))

    def test_futex_spin(self):
        spin = load_stage("futex_spin")

        def console(name, turns=0):
            return "\n".join(f"@@ ok {test} waits=1 turns={turns}" for test in spin.TESTS[name])

        bench = "\n".join(f"@@ bench us={us} n=10 plain=1000000 spin=500000 spins=9 ended=8" for us in range(5))
        good = {"one-cpu": console("one-cpu"), "two-cpus": console("two-cpus", 5), "bench": bench}
        self.assertIn(stage.EMULATED, "\n".join(spin.table(good)))
        for name, text, words in (("one-cpu", console("one-cpu", 1), "with one CPU somebody has spun"),
                                  ("two-cpus", console("one-cpu"), "no result of limit"),
                                  ("bench", bench.replace("@@ bench us=3", "x"), "not all of its rows")):
            with self.assertRaises(stage.Wrong) as caught:
                list(spin.table({**good, name: text}))
            self.assertIn(words, str(caught.exception))


class Lint(Case):
    def test_checkpatch(self):
        text = ("/a/b.c:7: WARNING:LONG_LINE: line length of 101\n/a/p.patch:9: ERROR:SPACING: x\n"
                "total: 1 errors, 1 warnings, 0 checks, 9 lines checked\n")
        self.assertEqual(lint.checkpatch_lines(1, text), [("/a/b.c", "LONG_LINE", "line length of 101"), ("/a/p.patch", "SPACING", "x")])
        self.assertEqual(lint.checkpatch_lines(0, ""), [])
        for status, bad in ((1, ""), (127, "perl: not found\n"), (0, text), (1, text.partition("total")[0]), (0, "no such file\n")):
            with self.assertRaises(tree.Failed):
                lint.checkpatch_lines(status, bad)

    def test_accepted(self):
        self.assertTrue(lint.accepted("/x/hazptr/hazptr.h", "NEW_TYPEDEFS"))
        self.assertIsNone(lint.accepted("/x/hazptr/hazptr.h", "LONG_LINE"))
        self.assertIsNone(lint.accepted("/x/label.c", "NEW_TYPEDEFS"))

    def test_what_is_new(self):
        before = lint.compiled_lines("  CC      a.o\n../a.c:5:1: warning: old\n../a.c:5:1:    struct x *\n")
        after = lint.compiled_lines("../a.c:9:1: warning: old\n./a.c:11: warning: old\n/m/b.c:1:2: error: bad\n")
        self.assertEqual(before, {("a.c", "warning: old"): 1})
        self.assertEqual(after - before, {("a.c", "warning: old"): 1, ("/m/b.c", "error: bad"): 1})

    def test_objects_that_patches_change(self):
        self.write("kernel/locking/shazptr.c", "")
        self.write("include/linux/shazptr.h", "")
        self.assertEqual(lint.objects(self.root), ["kernel/locking/shazptr.o"])
        self.assertIn("include/linux/shazptr.h", lint.new_files())


class Builds(unittest.TestCase):
    def test_fragments(self):
        for path in build.CONFIG.glob("*.config"):
            for line in path.read_text().splitlines():
                self.assertRegex(line, r"^(CONFIG_\w+=.+|# .*)$", path.name)
            build.wanted([path.stem])

    def test_later_fragments_win(self):
        self.assertEqual(build.wanted([])["CONFIG_SMP"], "y")
        self.assertEqual(build.wanted([])["CONFIG_CPU_MITIGATIONS"], "n")

    def test_what_stages_name_is_there(self):
        listed = subprocess.run([ROOT / "scripts/kernel", "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
        names = [path.stem.replace("_", "-") for path in (ROOT / "kernel/stages").glob("*.py")]
        self.assertEqual(sorted(line.split()[0] for line in listed.splitlines()), sorted(names))
        for name in names:
            one = load_stage(name.replace("-", "_")).STAGE
            for program in one.programs:
                self.assertTrue((build.HERE / f"guest/{program}.c").exists(), program)
            for fragment in one.config:
                self.assertTrue((build.CONFIG / f"{fragment}.config").exists(), fragment)

    def test_unknown_stage(self):
        done = subprocess.run([ROOT / "scripts/kernel", "moon"], stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no stage 'moon'; there are: fetch patch build check ", done.stderr)


class Modules(Case):
    def test_one_that_needs_a_patched_kernel(self):
        folder = self.write("modules/m/Kbuild", "# Needs: include/linux/words.h\nobj-m := m.o\n").parent
        headers = self.root / "headers"
        headers.mkdir()
        self.assertFalse(checks.fits(folder, headers))
        self.write("headers/include/linux/words.h", "")
        self.assertTrue(checks.fits(folder, headers))
        self.write("modules/m/Kbuild", "obj-m := m.o\n")
        self.assertEqual(checks.needs(folder), "")


if __name__ == "__main__":
    unittest.main()
