# SPDX-License-Identifier: MIT
"""What surrounds the kernel of scripts/kernel: its patches, what the guest said, tables; no kernel, no emulator."""
import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "kernel"))

import build  # noqa: E402 (behind the path)
import checks  # noqa: E402
import guest  # noqa: E402
import lanes  # noqa: E402
import lint  # noqa: E402
import races  # noqa: E402
import stage  # noqa: E402
import sweep  # noqa: E402
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


def load(name, loader):
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def load_stage(name):
    return load(name, importlib.machinery.SourceFileLoader(name, str(ROOT / f"kernel/stages/{name}.py")))


NEEDS_PATCH = unittest.skipUnless(shutil.which("patch"), "no command patch here")


class Case(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="lull-test-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def command(self, name, text):
        """A made-up command: a shell script."""
        path = self.write(name, "#!/bin/bash\n" + text)
        path.chmod(0o755)
        return path

    def environment(self):
        """Commands in the folder "bin" come first."""
        return {**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}"}


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


class Guest(Case):
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

    def test_a_boot_that_its_time_limit_ends(self):
        """An emulator that says something and does not end."""
        self.command("bin/qemu-system-x86_64", "printf '@@ begin 7.2.13, 1 CPUs\\r\\n\\033[1;31mtorn \\377'\nexec sleep 600\n")
        boot = stage.Boot("", icount=True, limit_s=1)
        kernel = unittest.mock.Mock(image="bzImage")
        with unittest.mock.patch.dict(os.environ, self.environment()):
            console, seconds, late = guest.start(kernel, self.root / "cpio", boot, self.root / "log")
        self.assertGreaterEqual(seconds, 1)
        line, = guest.judge(console, late, boot)
        self.assertTrue(line.startswith("no end in 1 s; its last line: "), line)
        self.assertTrue(line.isprintable(), ascii(line))

    def test_a_long_last_line_is_cut(self):
        line, = self.judge("@@ begin\n" + "x" * 5000, late="no end in 5 s")
        self.assertLess(len(line), 200)

    def elf(self, *kinds, machine=62):
        head = b"\x7fELF\x02\x01" + bytes(10) + struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0, 64, 0, 0, 64, 56, len(kinds), 0, 0, 0)
        path = self.write("busybox", "")
        path.write_bytes(head + b"".join(struct.pack("<I52x", kind) for kind in kinds))
        return path

    def test_a_static_busybox(self):
        load, dynamic, interp = 1, 2, 3
        self.assertTrue(guest.is_static(self.elf(load, load)))
        self.assertTrue(guest.is_static(self.elf(load, dynamic)), "a program that may be anywhere has a dynamic section")
        self.assertFalse(guest.is_static(self.elf(load, interp)), "of another libc, which ldd does not know")
        self.assertFalse(guest.is_static(self.elf(load, machine=183)), "of another processor")
        path = self.elf(load, load)
        path.write_bytes(path.read_bytes()[:100])
        self.assertFalse(guest.is_static(path), "cut off")
        self.assertFalse(guest.is_static(self.write("script", "#!/bin/sh\n" + "# words\n" * 100)))

    def test_a_dynamic_busybox_of_the_machine_is_not_taken(self):
        """Debian's package is taken then; here it lies where a run before has unpacked it."""
        mine = self.elf(1).rename(self.root / "static")
        theirs = self.elf(1, 3)
        (self.root / "work/busybox/bin").mkdir(parents=True)
        unpacked = mine.rename(self.root / "work/busybox/bin/busybox")
        with unittest.mock.patch.object(guest.shutil, "which", lambda name: str(theirs)):
            self.assertEqual(guest.busybox(self.root / "work"), str(unpacked))
            unpacked.write_bytes(theirs.read_bytes())
            with self.assertRaises(tree.Failed) as caught:
                guest.busybox(self.root / "work")
        self.assertIn("no static busybox for x86-64", str(caught.exception))


def race(title, *stacks):
    """What KCSAN prints, with something else in between."""
    lines = ["=" * 66, f"BUG: KCSAN: {title}", ""]
    for number, stack in enumerate(stacks):
        lines += [f"{'read' if number else 'write'} to 0xffff888000000000 of 8 bytes by task {number} on cpu {number}:",
                  *(f" {frame}" for frame in stack), ""]
    lines += ["value changed: 0x1 -> 0x2", "", "Reported by Kernel Concurrency Sanitizer on:", "CPU: 1 UID: 0", "=" * 66]
    return "".join(f"[    3.{number:06}] {line}\n" for number, line in enumerate(lines)) + "@@ run a=1\n"


class Races(unittest.TestCase):
    KERNEL = race("data-race in tick / tock", ["tick+0x1/0x2", "run+0x3/0x4"], ["tock.isra.0+0x5/0x6"])
    MADE = "".join(f"@@ provoke {kind}\n" + race(f"data-race in provoke_{kind} / provoke_{kind}", *2 * [[f"provoke_{kind}+0x1/0x2 [provoke]"]]) +
                   f"@@ provoked {kind}\n" for kind in ("race", "order"))

    def test_whose(self):
        for stacks, ours in (([["tick+0x1/0x2"], ["tock+0x1/0x2"]], False), ([["tick+0x1/0x2"], ["check+0x1/0x2 [hazptr_torture]"]], True),
                             ([["tick+0x1/0x2", "synchronize_shazptr+0x1/0x2"]], False), ([["futex_spin_owner.isra.0+0x1/0x2"]], True),
                             ([["tick+0x1/0x2"], ["st_read+0x1/0x2 [shazptrtorture]"]], True), ([["st_reader+0x1/0x2 [other]"]], True),
                             ([["futex_wake+0x1/0x2"], ["do_exit+0x1/0x2 [rcutorture]"]], False)):
            found, = races.parse(race("data-race in a / b", *stacks))
            self.assertEqual(len(found.stacks), len(stacks))
            self.assertEqual(found.ours(), ours, stacks)
            self.assertEqual(found.called_by_ours(), ours or "synchronize_shazptr" in str(stacks), stacks)

    def test_a_stack_behind_a_report_is_not_of_it(self):
        found, = races.parse(self.KERNEL + "Call Trace:\n call_hazptr+0x1/0x2 [hazptr]\n")
        self.assertFalse(found.ours())
        self.assertEqual(found.stacks, [[("tick", ""), ("run", "")], [("tock", "")]])

    def test_one_stack_of_two(self):
        found, = races.parse("BUG: KCSAN: data-race in f\nrace at unknown origin, with read to 0x1 of 8 bytes by task 1 on cpu 1:\n f+0x1/0x2\n")
        self.assertEqual(found.stacks, [[("f", "")]])

    def test_verdict(self):
        kcsan = load_stage("kcsan")
        kcsan.sweep = unittest.mock.Mock(lines=lambda console, with_lockdep: [])
        text = "\n".join(kcsan.table({"boot": self.KERNEL + self.MADE}))
        self.assertIn("makes an access: 0", text)
        self.assertIn("  data-race in tick / tock\n", text + "\n")
        called = race("data-race in tick / tock", ["tick+0x1/0x2", "call_hazptr+0x1/0x2 [hazptr]"], ["tock+0x1/0x2"])
        self.assertIn("  data-race in tick / tock (call_hazptr [hazptr]; none of ours)", "\n".join(kcsan.table({"boot": called + self.MADE})))
        ours = race("data-race in tick / reader", ["tick+0x1/0x2"], ["reader+0x1/0x2 [hazptr_torture]"])
        for console, words in ((self.KERNEL + self.MADE + ours, "data-race in tick / reader (none of ours; reader [hazptr_torture])"),
                               (self.KERNEL + self.MADE.replace("provoke_order", "other"), "does not report, as one of ours, the race of: order"),
                               (self.MADE.replace("[provoke]", ""), "the race of: race, order")):
            with self.assertRaises(stage.Wrong) as caught:
                list(kcsan.table({"boot": console}))
            self.assertIn(words, str(caught.exception))


class Sweep(unittest.TestCase):
    def test_provocations(self):
        checked = load_stage("checked")
        first = {"sleep": "BUG: sleeping function called from invalid context at /x/provoke/provoke.c:1", "rcu": "WARNING: suspicious RCU usage",
                 "lock": "WARNING: possible circular locking dependency detected", "uaf": "BUG: KASAN: slab-use-after-free in provoke_uaf+0x1"}
        console = "".join(f"@@ provoke {kind}\n[  1.0] {line}\n@@ provoked {kind}\n" for kind, line in first.items())
        self.assertEqual([kind for kind, _ in sweep.provocations(console, checked.PROVOKED)], list(first))
        self.assertEqual(guest.reports(console, checked.STAGE.boots[1].expected), [])
        self.assertEqual(len(guest.reports(console)), 4)
        self.assertEqual(checked.STAGE.boots[0].expected, "")
        for kind, line in first.items():
            with self.assertRaises(stage.Wrong) as caught:
                list(sweep.provocations(console.replace(line, "nothing"), checked.PROVOKED))
            self.assertIn(f"somebody provokes {kind}", str(caught.exception))

    def test_a_console_that_is_not_whole(self):
        with unittest.mock.patch.multiple(sweep, hazptr=lambda _: [], simple=lambda _: [], rest=lambda _: [], keys=lambda _: []):
            self.assertEqual(len(list(sweep.lines("x\n"))), 4)
            with self.assertRaises(stage.Wrong):
                list(sweep.lines("** 7 printk messages dropped **\n"))


class Tables(unittest.TestCase):
    def test_percentile(self):
        self.assertEqual([stage.percentile([4, 1, 3, 2], p) for p in (0, 25, 50, 51, 100)], [1, 1, 2, 3, 4])

    def test_columns(self):
        self.assertEqual(list(stage.columns([("a", "b"), ("long", 7)])), ["a     b", "long  7"])

    def test_said(self):
        self.assertEqual(stage.said("x @@ run no\n@@ run a=1 b\n@@ runner c\n", "run"), [["a=1", "b"]])
        self.assertEqual(stage.pairs(["a=1", "b", "c=d=e"]), {"a": "1", "c": "d=e"})

    def test_clock(self):
        for icount, kvm, word in ((True, True, "counted"), (False, True, "kvm"), (False, False, "emulated")):
            with unittest.mock.patch.object(guest, "can_kvm", lambda kvm=kvm: kvm):
                self.assertEqual(guest.clock(stage.Boot("", icount=icount)), word)
            says = stage.clock(f"@@ clock {word}\n@@ begin\n")
            self.assertEqual("order of magnitude" in says, word == "emulated")
            self.assertEqual("emulated" in says, word != "kvm")
        for console in ("", "@@ clock\n", "@@ clock sun\n"):
            with self.assertRaises(stage.Wrong):
                stage.clock(console)

    def early(self, part, more=(0, 0), runs=6, **changes):
        """A console of a part of the stage; @more: grace periods with a second scan, off and on."""
        lines = ["@@ clock counted", "@@ begin 7.2.13, 1 CPUs"]
        for run in range(1, runs + 1):
            for early in (0, 1):
                words = {"part": part, "number": run, "early": early, "n": 100, "mean": 25000 if early else 1006000, "min": 20000, "max": 5000000,
                         "gps": 103, "none": 6, "one": 0, "more": more[early], "late": "0" if more[early] else "-",
                         "stops": 0 if early else 99, "deep": 0 if early or part == "tick" else 100, **changes}
                lines.append("@@ run " + " ".join(f"{key}={value}" for key, value in words.items()) + " ns")
        return "\n".join(lines) + "\n"

    def test_early_qs(self):
        stage_of = load_stage("early_qs")

        def consoles(tick=None, states=None, neighbour=None, four=None):
            return {"one-cpu": (tick or self.early("tick")) + (states or self.early("states")),
                    "two-cpus": neighbour or self.early("neighbour", (97, 0)), "four-cpus": four or self.early("states", (3, 2))}

        text = "\n".join(stage_of.table(consoles()))
        self.assertRegex(text, r"two-cpus, neighbour +582 of 618 -> 0 of 618 +1\.006 ms -> 0\.025 ms")
        for words, bad in (
                ("two-cpus neighbour: with the switch on, 6 grace", {"neighbour": self.early("neighbour", (97, 1))}),
                ("with the switch off, 89 of 100 grace periods needed a second scan, not nearly all", {"neighbour": self.early("neighbour", (89, 0))}),
                ("with the switch on, 582 grace", {"neighbour": self.early("neighbour", (97, 97))}),
                ("a second scan was for CPU 0,1", {"neighbour": self.early("neighbour", (97, 0), late="0,1")}),
                ("two-cpus neighbour: no CPU was in its deep", {"neighbour": self.early("neighbour", (97, 0), deep=0)}),
                ("one-cpu states: no CPU was in its deep", {"states": self.early("states", stops=0)}),
                ("one-cpu tick: there are idle states already", {"tick": self.early("tick", deep=1)}),
                ("one-cpu states: with the switch on, 6 grace", {"states": self.early("states", (0, 1))}),
                ("one-cpu tick: the switch makes grace periods less than ten", {"tick": self.early("tick", mean=1006000)}),
                ("states: 5 of 6 runs have a line", {"four": self.early("states", runs=5)}),
                ("neighbour: the trace has 99 grace periods of 100", {"neighbour": self.early("neighbour", (97, 0), gps=99)})):
            with self.assertRaises(stage.Wrong, msg=words) as caught:
                list(stage_of.table(consoles(**bad)))
            self.assertIn(words, str(caught.exception))

    def test_futex_spin(self):
        spin = load_stage("futex_spin")

        def console(name, turns=0):
            return "\n".join(f"@@ ok {test} waits=1 turns={turns}" for test in spin.TESTS[name])

        def bench(sizes):
            return "@@ clock emulated\n" + "\n".join(f"@@ bench us={us} n=10 plain_ns=1900000 plain_calls=10 plain_switches=10 spin_ns=500000 spin_calls=10 "
                             "spin_switches=2 spins=9 ended=8" for us in sizes)

        good = {"one-cpu": console("one-cpu"), "two-cpus": console("two-cpus", 5), "bench": bench(spin.BUSY),
                "bench-one-cpu": bench(spin.COUNTED_BUSY)}
        text = "\n".join(spin.table(good))
        self.assertIn("order of magnitude", text)
        fast = "\n".join(spin.table({**good, **{name: good[name].replace("emulated", "kvm") for name in ("bench", "bench-one-cpu")}}))
        self.assertNotIn("order of magnitude", fast)
        self.assertIn("KVM", fast)
        self.assertRegex(text, r"20 +FUTEX2_SPIN \| FUTEX_WAIT +500 +10 +2 +9 +8\n20 +FUTEX_WAIT +1900 +10 +10\n")
        for name, text, words in (("one-cpu", console("one-cpu", 1), "with one CPU somebody has spun"),
                                  ("two-cpus", console("one-cpu"), "no result of limit"),
                                  ("bench", bench(spin.BUSY[1:]), "not all of its rows"),
                                  ("bench-one-cpu", bench(spin.BUSY), "not all of its rows")):
            with self.assertRaises(stage.Wrong) as caught:
                list(spin.table({**good, name: text}))
            self.assertIn(words, str(caught.exception))

    def test_mutexscale(self):
        scale = load_stage("mutexscale")

        def console(oracle="kernel: the best one here", spins=7, tests=scale.TESTS, schemes=scale.SCHEMES, named="kernel"):
            lines = ["@@ clock emulated", "@@ offered offered", f"@@ oracle {oracle}"]
            for name in (*tests, "mutexscale"):
                lines.append(f"@@ before {name} waits=5 spins=3 woken=1 changed=1 idle_owner=1 refused=0")
                lines.append(f"@@ after {name} waits=25 spins={3 + spins} woken=4 changed=2 idle_owner=2 refused=1")
            lines += [f"@@ passed {name} n=5" for name in tests]
            rows = [{"scheme": scheme, "threads": n, "section_ns": 1000.0, "metric": metric, "median": 12.0}
                    for scheme in schemes for n in (2, 4) for metric in scale.METRICS]
            return "\n".join([*lines, f"@@ json {json.dumps({'results': rows, 'oracle': named})}"])

        text = "\n".join(scale.table({"two-cpus": console()}))
        self.assertRegex(text, r"\nmutex.public/mutex +5 +20 +7 +4 +1 +1\n")
        self.assertRegex(text, r"\n4 +1 +lull-mutex-kernel +12 +12 +12$")
        for bad, words in ((console(oracle="rseq: the best one here"), "says 'rseq: the best one here', and not"),
                           (console(spins=0), "has not spun for anybody"), (console(tests=scale.TESTS[1:]), "nothing is known of mutex.public/mutex"),
                           (console(schemes=scale.SCHEMES[1:]), "no figures of pthread"), (console(named="rseq"), "names the oracle rseq")):
            with self.assertRaises(stage.Wrong) as caught:
                list(scale.table({"two-cpus": bad}))
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
    def test_where_libraries_go(self):
        self.assertEqual([guest.place(path) for path in ("/lib64/ld.so.2", "/usr/lib/a/b.so", "/tmp/w/src/liblull.so.2")],
                         ["/lib64/ld.so.2", "/usr/lib/a/b.so", "lib/liblull.so.2"])

    def test_where_own_programs_go(self):
        into = build.pathlib.Path("w")
        self.assertEqual(build.own((), into), {})
        self.assertEqual([build.own_place(name, into) for name in ("lull_tool", "lull_lab", "lull_peer_locks", "mutex.public")],
                         [("bin/lull", into / "tool/lull"), ("bin/lull-lab", into / "lab/lull-lab"),
                          ("bin/peers/locks.so", into / "lab/peers/locks.so"), ("bin/mutex.public", into / "library/tests/mutex.public")])

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


class Kernel:
    """Stands for a kernel that is built."""

    def __init__(self, name="base", wrong=""):
        self.name, self.wrong, self.lock = name, wrong, threading.Lock()


class Lanes(Case):
    """Which stages run, in which order, and at the same time as what."""

    STAGES = {"a": ("slow",), "b": (), "c": (), "d": ("slow",), "e": ()}

    def setUp(self):
        super().setUp()
        self.script = load("main", importlib.machinery.SourceFileLoader("main", str(ROOT / "kernel/main.py")))
        self.done, self.built, self.wrong, self.lock = [], [], {}, threading.Lock()

    def run(self, result=None):
        with unittest.mock.patch.dict(os.environ), unittest.mock.patch.object(guest, "busybox"):
            return super().run(result)

    def start(self, known, keep=False, processors=2, build_one=None, names=None):
        """Run stages that do nothing but say so. (exit status, what was printed)"""
        run = self.script.Run(argparse.Namespace(work=self.root / "work", out=self.root / "out", plain=True, keep=keep))
        run.processors = lanes.Processors(processors)
        run.build = build_one or (lambda what: self.built.append(what.config) or Kernel())
        run.stage = self.stage
        with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()):
            code = run.all(names or list(known), known)
        return code, said.getvalue()

    def run_all(self, **how):
        return self.start({name: stage.Stage(name, [], None, config=config) for name, config in self.STAGES.items()}, **how)

    def stage(self, name, _what, _prepared, _folder):
        with self.lock:
            self.done.append(name)
        if name in self.wrong:
            raise self.wrong[name]

    def test_the_kernel_of_most_stages_is_built_first(self):
        code, said = self.run_all(processors=1)
        self.assertEqual((code, self.built, self.done), (0, [(), ("slow",)], ["b", "c", "e", "a", "d"]))
        self.assertIn("5 passed, 0 failed, 0 skipped\n", said)

    def test_times_of_a_whole_run_only(self):
        self.run_all()
        text = (self.root / "out/times.txt").read_text()
        self.assertTrue(text.startswith("$ scripts/kernel\n"))
        self.assertIn("stage e", text)
        (self.root / "out/times.txt").unlink()
        self.run_all(names=["a", "b"])
        self.wrong["a"] = stage.Wrong("no")
        self.run_all(keep=True)
        self.assertFalse((self.root / "out/times.txt").exists())

    def test_the_first_failure_ends_it(self):
        self.wrong["c"] = stage.Wrong("7 is not 8")
        code, said = self.run_all(processors=1)
        self.assertEqual((code, self.done), (1, ["b", "c"]))
        self.assertIn("c: FAILED: 7 is not 8\n1 passed, 1 failed, 3 skipped\n", said)

    def test_keep(self):
        self.wrong["c"] = tree.Failed("no")
        code, said = self.run_all(keep=True)
        self.assertEqual((code, sorted(self.done)), (1, ["a", "b", "c", "d", "e"]))
        self.assertIn("4 passed, 1 failed, 0 skipped\n", said)

    def test_a_kernel_that_cannot_be_built(self):
        def fail(_what):
            raise tree.Failed("make failed")

        code, said = self.start({name: stage.Stage(name, [], None) for name in "ab"}, keep=True, build_one=fail)
        self.assertEqual(code, 1)
        self.assertIn("a: FAILED: make failed\n", said)
        self.assertIn("b: FAILED: make failed\n", said)

    def test_what_nobody_has_thought_of(self):
        self.wrong["b"] = KeyError("onoff")
        code, said = self.run_all(keep=True)
        self.assertEqual(code, 1)
        self.assertIn("b: FAILED: KeyError: 'onoff'\n", said)
        self.assertIn("4 passed, 1 failed, 0 skipped\n", said)

    def test_stages_run_while_a_kernel_is_built(self):
        ran = threading.Event()

        def build_one(what):
            if what.config and not ran.wait(10):
                raise tree.Failed("the stage has not run beside the build")
            return Kernel()

        known = {"a": stage.Stage("a", [], None), "b": stage.Stage("b", [], None, config=("slow",))}
        self.stage = lambda name, *_rest: ran.set()
        self.assertIn("2 passed", self.start(known, build_one=build_one)[1])

    def test_who_waits_for_a_kernel_that_is_not_built_any_more(self):
        failed = threading.Event()

        def build_one(what):
            if what.config and not failed.wait(10):
                raise tree.Failed("no stage has failed")
            return Kernel()

        def one(name, *_rest):
            if name == "a":
                failed.set()
                raise stage.Wrong("no")

        known = {"a": stage.Stage("a", [], None), "b": stage.Stage("b", [], None, config=("slow",)),
                 "c": stage.Stage("c", [], None, config=("slower",))}
        self.stage = one
        code, said = self.start(known, processors=3, build_one=build_one)
        self.assertEqual(code, 1)
        self.assertRegex(said, r"a: FAILED: no\n[01] passed, 1 failed, [12] skipped\n")

    def test_two_stages_with_the_same_module(self):
        """Each has a copy of its own."""
        made = self.write("hazptr.ko", "first")
        kernel = Kernel()
        kernel.module = lambda name: made
        run = self.script.Run(argparse.Namespace(work=self.root / "work", out=self.root / "out", plain=True, keep=True))
        run.build = lambda what: kernel
        what = stage.Stage("a", [], None, modules=("hazptr",))
        _, modules, _, _, _ = run.prepare(what, self.root / "a")
        made.unlink()
        self.assertEqual(modules[0].read_text(), "first")

    def test_processors(self):
        both, order = lanes.Processors(2), []

        def await_waiting(count):
            for _ in range(10000):
                if len(both.waiting) >= count:
                    return
                time.sleep(0.001)
            self.fail(f"nobody waits as number {count}")

        def take(name, count):
            with both.taken(count):
                order.append(name)

        with both.taken(1):
            wide = threading.Thread(target=take, args=("wide", 9), daemon=True)
            wide.start()
            await_waiting(1)
            narrow = threading.Thread(target=take, args=("narrow", 1), daemon=True)
            narrow.start()
            await_waiting(2)
            self.assertEqual(order, [])  # narrow came later, though there is room for it
        wide.join()
        narrow.join()
        self.assertEqual((order, both.free), (["wide", "narrow"], 2))


class Trees(Case):
    def test_symbols_of_builds_are_not_read(self):
        for name in ("Kconfig", "a/Kconfig.b", "a/O-c/Kconfig", "O-base/Kconfig", "a/Makefile"):
            self.write(name, "config A\n")
        found = sorted(str(path.relative_to(self.root)) for path in build.kconfigs(self.root))
        self.assertEqual(found, ["Kconfig", "a/Kconfig.b", "a/O-c/Kconfig"])


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
