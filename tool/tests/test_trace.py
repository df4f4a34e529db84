# SPDX-License-Identifier: MIT
"""lull trace: the probes in the library, the timeline that is made of records, and both ends of it together where
this machine lets a process watch another one."""
import decimal
import glob
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import time
import unittest

from support import LULL, PATIENCE_S, Case

TARGET = os.environ["LULL_TRACE_TARGET"]
FEED = os.environ["LULL_TRACE_FEED"]
SMALL = os.environ["LULL_TRACE_SMALL"]
LIBRARY = os.environ["LULL_LIBRARY"]
DEBUG = os.environ["LULL_DEBUG"] == "1"
SDT = os.environ["LULL_SDT"] == "1"

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PROBE_H = os.path.join(TOP, "src", "base", "probe.h")

# In the order of the records.
PROBES = ("section_enter", "section_exit", "gp_start", "gp_end", "batch_start", "batch_end", "scan_start", "scan_end",
          "mutex_wait_start", "mutex_wait_end", "wait_start", "wait_end", "stall")

# Reasons why a trace cannot be had here, with nothing wrong in lull. The last is the C library's text for ENOSYS.
NOT_HERE = re.compile(rb"this build has no BPF support|the kernel does not accept the program|the kernel shows no uprobes|"
                      rb"cannot attach to probe .*: (Operation not permitted|Permission denied|.* not supported|"
                      rb"Function not implemented)")

STEP = 0x1000  # from one grace period's number to the next one's
BEGIN, END = 1000000, 2000000  # of what is fed


def documented():
    """The probes of the table in probe.h, with how many arguments each has."""
    with open(PROBE_H, encoding="utf-8") as file:
        table = re.findall(r"^ \*\t(\w+)\(([^)]*)\)", file.read(), re.MULTILINE)
    return {name: len(args.split(",")) if args else 0 for name, args in table}


def ns(value):
    """A time of the timeline, which is in microseconds with three digits after the point."""
    exact = decimal.Decimal(value) * 1000
    assert exact == int(exact), value
    return int(exact)


class Timeline(Case):
    def parse(self, text):
        return json.loads(text, parse_float=decimal.Decimal)

    def check(self, root):
        """Check what viewers of the format need. Return the events by phase."""
        self.assertEqual(root["displayTimeUnit"], "ns")
        self.assertEqual(root["otherData"]["tool"], "lull trace")
        by_phase = {phase: [] for phase in "XbeiM"}
        for event in root["traceEvents"]:
            self.assertIs(type(event["pid"]), int)
            self.assertIs(type(event["tid"]), int)
            self.assertIsInstance(event["name"], str)
            self.assertIsInstance(event.get("args", {}), dict)
            if event["ph"] != "M":
                self.assertGreaterEqual(event["ts"], 0)
                self.assertIsInstance(event["cat"], str)
            by_phase[event["ph"]].append(event)
        self.check_names(root["traceEvents"])
        self.check_nesting(by_phase["X"])
        self.check_pairs([e for e in root["traceEvents"] if e["ph"] in "be"])
        for event in by_phase["i"]:
            self.assertEqual(event["s"], "t")
        return by_phase

    def check_names(self, events):
        self.assertEqual([e["name"] for e in events[:1]], ["process_name"])
        named = {e["tid"] for e in events if e["name"] == "thread_name"}
        self.assertLessEqual({e["tid"] for e in events if e["ph"] != "M"}, named)

    def check_nesting(self, slices):
        """Check that a thread's slices are within, or after, each other; and none is written before it ends."""
        tracks = {}
        for event in slices:
            begin = ns(event["ts"])
            tracks.setdefault(event["tid"], []).append((begin, begin + ns(event["dur"]), event))
        for track in tracks.values():
            complete = [end for begin, end, event in track if not event["args"].get("cut", "").startswith("goes on")]
            self.assertEqual(complete, sorted(complete))
            stack = []
            for begin, end, event in sorted(track, key=lambda s: (s[0], -s[1])):
                while stack and stack[-1] <= begin:
                    stack.pop()
                self.assertTrue(not stack or end <= stack[-1], event)
                stack.append(end)

    def check_pairs(self, events):
        """Each "e" comes after its "b", and none is left alone. One id has one pair at a time."""
        going = {}
        for event in events:
            key = (event["cat"], event["id"], event["name"])
            if event["ph"] == "b":
                self.assertNotIn(key, going)
                going[key] = ns(event["ts"])
            else:
                self.assertGreaterEqual(ns(event["ts"]), going.pop(key))
        self.assertEqual(going, {})


@unittest.skipUnless(SDT and shutil.which("bpftrace"), "no probes, or no bpftrace")
class Scripts(Case):
    """The scripts in examples/trace are understood, and the probes exist with as many arguments."""

    def test_scripts(self):
        if os.geteuid() != 0:
            self.skipTest("bpftrace is for root")
        scripts = sorted(glob.glob(os.path.join(TOP, "examples", "trace", "*.bt")))
        self.assertEqual(len(scripts), 2)
        with subprocess.Popen([TARGET, "0", "ask"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as target:
            self.assertEqual(target.stdout.readline(), b"ready\n")
            for script in scripts:
                result = subprocess.run(["bpftrace", "-d", "-p", str(target.pid), script], capture_output=True, check=False,
                                        timeout=PATIENCE_S)
                self.assertEqual(result.returncode, 0, result.stderr)


class Probes(Case):
    def test_library_has_what_is_documented(self):
        expected = documented()
        self.assertEqual(sorted(expected), sorted(PROBES))
        if not SDT:
            self.skipTest("built without <sys/sdt.h>")
        if not DEBUG:
            expected = {name: args for name, args in expected.items() if not name.startswith("section_")}
        notes = subprocess.run(["readelf", "-n", LIBRARY], check=True, capture_output=True, text=True).stdout
        found = re.findall(r"Provider: lull\s+Name: (\w+)\s+Location:.*\s+Arguments: *(.*)", notes)
        self.assertEqual({name: len(args.split()) for name, args in found}, expected)
        # Arguments are in registers, or constants: not all tracers understand other places.
        for name, args in found:
            for arg in args.split():
                self.assertRegex(arg, r"^-?[1248]@(%\w+|\$-?\d+|[xw]\d+|-?\d+)$", name)

        listed = self.good("trace", "--list", "--run", TARGET)
        self.assertTrue(os.path.samefile(listed.splitlines()[0], LIBRARY))
        self.assertEqual({name: int(args) for name, args in re.findall(r"^  (\w+) +(\d) argument", listed, re.MULTILINE)},
                         expected)

    def test_a_probe_is_a_nop(self):
        if not SDT:
            self.skipTest("built without <sys/sdt.h>")
        notes = subprocess.run(["readelf", "-n", LIBRARY], check=True, capture_output=True, text=True).stdout
        places = {int(place, 16) for place in re.findall(r"Provider: lull\s+Name: \w+\s+Location: (0x\w+)", notes)}
        code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", LIBRARY], check=True, capture_output=True,
                              text=True).stdout
        at_places = {instruction for place, instruction in re.findall(r"^ *([0-9a-f]+):\t(\S+)", code, re.MULTILINE)
                     if int(place, 16) in places}
        self.assertTrue(places)
        self.assertEqual(at_places, {"nop"})

    def test_files_that_are_cut_short(self):
        if not SDT:
            self.skipTest("built without <sys/sdt.h>")
        with open(LIBRARY, "rb") as file:
            whole = file.read()
        generator = random.Random(6)
        for i in range(24):
            data = bytearray(whole[:generator.randrange(len(whole))] if i % 2 else whole)
            # Headers and notes with other numbers in them.
            for _ in range(20):
                at = generator.randrange(64) if i % 3 else generator.randrange(max(len(data) - 6000, 0), len(data))
                if at >= 5 and at < len(data):
                    data[at] = generator.randrange(256)
            result = self.lull("trace", "--list", "--object", self.write("part.so", bytes(data)), "--run", TARGET)
            self.assertIn(result.returncode, (0, 2), result.stderr)


    def test_sections_that_overlap(self):
        """Many times the same notes, which are many."""
        sections, notes, size = 60000, 4 << 20, 32 << 20
        header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 0, 64, 0, 64, 0, 0, 64, sections, 0)
        path = self.write("often.so", header + struct.pack("<IIQQQQIIQQ", 0, 7, 0, 0, notes, size - notes, 0, 0, 4, 0) * sections)
        os.truncate(path, size)
        self.assertIn("has no probes", self.bad("trace", "--list", "--object", path, "--run", TARGET))

    def test_names_that_steer_a_terminal(self):
        if not SDT:
            self.skipTest("built without <sys/sdt.h>")
        path = self.path("a\x1b]0;b\x07\n\x7f\u009bc\u00e9.so")
        shutil.copy(SMALL, path)
        listed = self.good("trace", "--list", "--object", path, "--run", TARGET)
        self.assertEqual(listed.splitlines()[0], self.path("a?]0;b?????c\u00e9.so"))

    def test_a_list_runs_nothing(self):
        """Not even the file runs that the program names as its dynamic linker."""
        with open(TARGET, "rb") as file:
            whole = file.read()
        linker = re.search(rb"/[\w./-]*/ld[\w.-]*\.so\.\d+", whole).group()
        os.chmod(self.write("ld.so.1", b"#!/bin/sh\n>it-ran\n"), 0o700)
        os.symlink("/bin/touch", self.path("ld.so.2"))
        places = [b"./ld.so.1", b"./ld.so.2", b"/lib/../bin/touch", b"/bin/touch", b"/lib/no/ld.so.1"]
        for place in places:
            os.chmod(self.write("program", whole.replace(linker, place.ljust(len(linker), b"\0"))), 0o700)
            result = self.lull("trace", "--list", "--run", "./program")
            self.assertEqual((result.returncode, result.stdout), (1, b""), place)
            self.assert_one_line(result.stderr, place)
            self.assertIn(b"without running '" + place + b"'", result.stderr)
            self.assertEqual(self.files(), ["ld.so.1", "ld.so.2", "program"])


class Words(Case):
    def test_bad_input(self):
        for args in ((), ("--run",), ("--run", ""), ("12", "--run", "ls"), ("--seconds", "1")):
            self.assertRegex(self.bad("trace", *args), "--run", args)
        for pid in ("", "0", "-1", "x", "1x", "2147483648", "1\n2"):
            self.bad("trace", "--", pid)
        self.assertIn("unexpected '2'", self.bad("trace", "1", "2"))
        self.assertIn("cannot run 'no such program'", self.bad("trace", "--list", "--run", "no such program"))
        self.assertIn("--run CMD [ARG...]", self.bad("trace", "--run=ls"))
        self.assertIn("--seconds: 0 is out of range", self.bad("trace", "--seconds", "0", "1"))
        self.assertIn("--object: cannot read 'nowhere'", self.bad("trace", "--list", "--object", "nowhere", "1"))
        self.assertIn("has no probes", self.bad("trace", "--list", "--object", self.write("empty", b""), "1"))
        self.assertIn("--nonsense", self.bad("trace", "--nonsense", "1"))

    def test_no_probes_there(self):
        for args, words in ((("--list", str(os.getpid())), "has no probes of lull"),
                            (("--list", "--run", "true"), "is not linked with probes of lull"),
                            (("--list", "2147483647"), "there is no process 2147483647")):
            result = self.lull("trace", *args)
            self.assertEqual((result.returncode, result.stdout), (1, b""))
            self.assert_one_line(result.stderr, args)
            self.assertIn(words, result.stderr.decode())

    def test_words_of_the_command(self):
        self.assertIn("--run CMD [ARG...]", self.good("trace", "--help"))
        # Arguments after --run are not lull's.
        self.assertIn("cannot run '--help'", self.bad("trace", "--list", "--run", "--help"))


class Writer(Timeline):
    """The writer of timelines, fed with records instead of a kernel."""

    def feed(self, records):
        lines = []
        for when, tid, probe, args, *name in records:
            args = list(args) + [0] * (4 - len(args))
            number = PROBES.index(probe) if isinstance(probe, str) else probe
            lines.append(" ".join(map(str, [when, tid, number, *args, (name or [b"thread"])[0].hex() or "00"])))
        result = subprocess.run([FEED], input="\n".join(lines).encode(), capture_output=True, check=False,
                                timeout=PATIENCE_S)
        self.assertEqual(result.returncode, 0, result.stderr)
        root = self.parse(result.stdout.decode())
        self.unpaired = root["otherData"]["unpaired"]
        self.assertEqual(root["otherData"]["lost"], 5)
        return self.check(root)

    @staticmethod
    def times(event):
        """In the clock of the records. The timeline begins a few nanoseconds earlier than they may."""
        begin = ns(event["ts"]) + BEGIN - 16
        return (begin, begin + ns(event["dur"])) if "dur" in event else begin

    def test_nothing(self):
        events = self.feed([])
        self.assertEqual([len(events[phase]) for phase in "XbeiM"], [0, 0, 0, 0, 1])

    def test_slices_within_one_another(self):
        events = self.feed([(1000100, 5, "section_enter", [0xabc]),
                            (1000200, 5, "mutex_wait_start", [0xdef, 9]),
                            (1000250, 6, "scan_start", []),
                            (1000300, 5, "mutex_wait_end", [0xdef, 1]),
                            (1000350, 6, "scan_end", [3, 4]),
                            (1000400, 5, "section_exit", []),
                            (1000500, 7, "batch_start", [1, 10]),
                            (1000600, 7, "batch_end", [1, 10, 160])])
        self.assertEqual([(e["tid"], e["name"], self.times(e), e["args"]) for e in events["X"]], [
            (5, "mutex wait", (1000200, 1000300), {"mutex": "0xdef", "owner_tid": 9, "slept": True}),
            (6, "hazard scan", (1000250, 1000350), {"slots_in_use": 3, "kept": 4}),
            (5, "read section", (1000100, 1000400), {"site": "0xabc", "at": "77's+2748"}),
            (7, "callbacks", (1000500, 1000600), {"kind": "rcu call", "items": 10, "bytes": 160})])
        self.assertEqual(self.unpaired, 0)

    def test_grace_periods(self):
        """They end on other threads than they began on, and the newest ends the others."""
        events = self.feed([(1000100, 5, "gp_start", [2 * STEP]),
                            (1000200, 6, "gp_start", [3 * STEP]),
                            (1000300, 7, "gp_end", [3 * STEP, 100]),
                            (1000400, 5, "gp_start", [4 * STEP])])
        began = {e["args"]["number"]: self.times(e) for e in events["b"]}
        self.assertEqual(began, {2: 1000100, 3: 1000200, 4: 1000400})
        self.assertEqual(sorted(self.times(e) for e in events["e"]), [1000300, 1000300, END])
        self.assertEqual([e["args"].get("cut") for e in events["b"]], [None, None, "goes on after the trace"])

    def test_a_grace_period_from_before(self):
        events = self.feed([(1000300, 7, "gp_end", [3 * STEP, 100]), (1000400, 7, "gp_end", [4 * STEP, 1000400]),
                            (1000500, 7, "gp_end", [5 * STEP, 0])])
        self.assertEqual([self.times(e) for e in events["b"]], [1000200, BEGIN - 16, BEGIN - 16])
        self.assertEqual([e["args"]["cut"] for e in events["b"]], ["began before the trace"] * 3)

    def test_waits(self):
        """Two waits of one kind at the same time, and one at the same address again."""
        events = self.feed([(1000100, 5, "wait_start", [1, 0x10]),
                            (1000200, 6, "wait_start", [1, 0x20]),
                            (1000300, 7, "wait_end", [1, 0x10]),
                            (1000400, 7, "wait_start", [4, 0x10]),
                            (1000500, 7, "wait_end", [4, 0x10]),
                            (1000600, 6, "wait_end", [1, 0x20])])
        self.assertEqual([(e["name"], e["id"], self.times(e)) for e in events["e"]], [
            ("wait: rcu grace period", "0x10", 1000300),
            ("wait: shazptr synchronize", "0x10", 1000500),
            ("wait: rcu grace period", "0x20", 1000600)])

    def test_cut_at_both_ends(self):
        events = self.feed([(1000100, 5, "mutex_wait_end", [1, 0]),
                            (1000200, 5, "section_exit", []),
                            (1000300, 5, "section_enter", [0x1]),
                            (1000400, 5, "mutex_wait_start", [0x2, 8])])
        self.assertEqual([(e["name"], e["args"].get("cut")) for e in events["X"]], [
            ("mutex wait", "began before the trace"), ("read section", "began before the trace"),
            ("mutex wait", "goes on after the trace"), ("read section", "goes on after the trace")])
        self.assertEqual({self.times(e)[1] for e in events["X"][2:]}, {END})
        # Viewers put what begins earlier around what begins later.
        self.assertGreater(events["X"][0]["ts"], events["X"][1]["ts"])
        self.assertEqual(self.unpaired, 0)

    def test_what_is_lost_in_between(self):
        events = self.feed([(1000100, 5, "section_enter", [1]),
                            (1000200, 5, "mutex_wait_start", [2, 8]),
                            (1000300, 5, "section_exit", []),
                            (1000400, 5, "mutex_wait_end", [2, 0])])
        self.assertEqual([(e["name"], self.times(e)) for e in events["X"]], [("read section", (1000100, 1000300))])
        self.assertEqual(self.unpaired, 2)

    def test_lost_ends_pile_up(self):
        """The newest stay: sixteen of a thread, and a number of those that are of no thread."""
        events = self.feed([(1000100 + i, 5, "section_enter", [i]) for i in range(40)])
        self.assertEqual([e["args"]["site"] for e in events["X"]], [hex(i) for i in reversed(range(24, 40))])
        self.assertEqual(self.unpaired, 24)
        events = self.feed([(1000100 + i, 5, "wait_start", [1, i]) for i in range(1000)])
        self.assertEqual(len(events["b"]), len(events["e"]))
        self.assertEqual(len(events["b"]) + self.unpaired, 1000)
        self.assertIn(hex(999), [e["id"] for e in events["b"]])

    def test_stalls(self):
        # The name is that of the thread that is waited for, here.
        events = self.feed([(1000200, 6, "stall", [1, 5, 1000, 77], b"the reader"),
                            (1000300, 6, "stall", [99, 4000000000, 2 ** 64 - 1, 0], b"sixteen letters!")])
        self.assertEqual([(e["name"], e["tid"], self.times(e), e["args"]) for e in events["i"]], [
            ("stall: rcu grace period", 6, 1000200,
             {"tid": 5, "age_ms": 1000, "waiting_items": 77, "thread": "the reader"}),
            ("stall: ?", 6, 1000300, {"tid": 4000000000, "age_ms": 2 ** 63 - 1, "waiting_items": 0, "thread": "sixteen letters!"})])

    def test_names_of_threads(self):
        """Any bytes, sixteen of them at most; a number may have another name later."""
        names = [b"", b"\"\\\n\x01\t", b"\xff\xfe", b"sixteen letters!", "grüße".encode()]
        events = self.feed([(1000100 + i, 5, "stall", [1, 0, 0, 0], name) for i, name in enumerate(names)])
        self.assertEqual([e["args"]["name"] for e in events["M"][1:]],
                         ["", "\"\\\n\x01\t", "not UTF-8", "sixteen letters!", "grüße"])

    def test_records_that_make_no_sense(self):
        self.feed([(BEGIN - 1, 5, "stall", [1, 0, 0, 0]), (BEGIN, 4194305, "stall", [1, 0, 0, 0]),
                   (BEGIN, 4294967295, 0, []), (BEGIN, 5, 13, []), (BEGIN, 5, 4294967295, [])])
        self.assertEqual(self.unpaired, 5)

    def test_any_records(self):
        """Any records, in any order, give a file that can be opened."""
        generator = random.Random(6)
        numbers = (0, 1, 2, 3, STEP, 2 * STEP, 3 * STEP, 2 ** 63, 2 ** 64 - 1)
        for _ in range(20):
            when, records = BEGIN, []
            threads = generator.choice((1, 3, 40))
            for _ in range(generator.choice((10, 300, 3000))):
                when += generator.randrange(1, 100)
                records.append((when, generator.randrange(threads), generator.randrange(len(PROBES)),
                                [generator.choice(numbers) for _ in range(4)], b"t%d" % generator.randrange(2)))
            self.feed(records)


class Traced(Timeline):
    @classmethod
    def setUpClass(cls):
        if not SDT:
            raise unittest.SkipTest("built without <sys/sdt.h>")
        result = subprocess.run([LULL, "trace", "--json", "/dev/null", "--object", SMALL, "--seconds", "0.01",
                                 str(os.getpid())], capture_output=True, check=False, timeout=PATIENCE_S)
        if result.returncode and NOT_HERE.search(result.stderr):
            raise unittest.SkipTest(result.stderr.decode())

    def test_standard_output(self):
        """It has the timeline alone; the program's own words are beside it."""
        result = self.lull("trace", "--json", "-", "--object", SMALL, "--run", "echo", "own", "words")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("traceEvents", json.loads(result.stdout))
        self.assertIn(b"own words\n", result.stderr)
        self.assertEqual(self.files(), [])

    def timeline(self, name="lull-trace.json"):
        with open(self.path(name), encoding="utf-8") as file:
            return self.parse(file.read())

    def check_target(self, root, out, pid):
        """Check the events of the target, which does each thing once."""
        events = self.check(root)
        told = root["otherData"]
        self.assertEqual((told["lost"], told["unpaired"], told["pid"]), (0, 0, pid))
        main, child = map(int, out.split())
        self.assertEqual(main, pid)
        self.assertEqual({e["pid"] for e in root["traceEvents"]}, {pid})
        self.assertNotIn(child, {e["tid"] for e in root["traceEvents"]})
        names = {e["tid"]: e["args"]["name"] for e in events["M"] if e["name"] == "thread_name"}
        tids = {name: tid for tid, name in names.items()}

        stalls = events["i"]
        # Once each, or again where this machine is slow.
        holders = {e["name"]: e["args"]["thread"] for e in stalls}
        self.assertEqual(sorted(holders), ["stall: hazptr synchronize", "stall: rcu grace period"])
        self.assertEqual(holders["stall: rcu grace period"], "reader-1")
        self.assertTrue(holders["stall: hazptr synchronize"].startswith("hol\"der\\"), holders)
        for stall in stalls:
            self.assertEqual(stall["tid"], main)
            self.assertGreaterEqual(stall["args"]["age_ms"], 20)
            kind = stall["name"].split(": ")[1]
            begin = [ns(e["ts"]) for e in events["b"] if e["name"] == "wait: " + kind][0]
            end = [ns(e["ts"]) for e in events["e"] if e["name"] == "wait: " + kind][0]
            self.assertTrue(begin < ns(stall["ts"]) < end)
        numbers = [e["args"]["number"] for e in events["b"] if e["name"] == "grace period"]
        self.assertGreaterEqual(len(numbers), 2)
        self.assertEqual(numbers, sorted(set(numbers)))

        slices = {}
        for event in events["X"]:
            slices.setdefault(event["name"], []).append(event)
        batches = slices["callbacks"]
        self.assertEqual({names[e["tid"]] for e in batches}, {"lull-reclaim"})
        items = {}
        for event in batches:
            items[event["args"]["kind"]] = items.get(event["args"]["kind"], 0) + event["args"]["items"]
        self.assertGreaterEqual(items["rcu call"], 100)
        self.assertGreaterEqual(items["hazptr call"], 1)
        self.assertGreaterEqual(len(slices["hazard scan"]), 1)
        waits = slices["mutex wait"]
        self.assertEqual([(e["tid"], e["args"]["owner_tid"], e["args"]["slept"]) for e in waits],
                         [(tids["contender"], main, True)])
        return slices, tids

    def test_run(self):
        result = self.lull("trace", "--no-sections", "--run", TARGET, "7")
        self.assertEqual(result.returncode, 7, result.stderr)
        self.assert_one_line(result.stderr, "trace")
        root = self.timeline()
        self.assertTrue(root["otherData"]["command"].endswith("--run " + TARGET + " 7"))
        slices, _ = self.check_target(root, result.stdout, root["otherData"]["pid"])
        self.assertNotIn("read section", slices)
        # It was not let go before all was in place.
        self.assertNotIn("began before the trace", {e.get("args", {}).get("cut") for e in root["traceEvents"]})
        self.assertEqual(self.files(), ["lull-trace.json"])

    def attach(self, pid, *options):
        tracer = subprocess.Popen([LULL, "trace", *options, str(pid)], cwd=self.folder, stderr=subprocess.PIPE)
        self.addCleanup(tracer.stderr.close)
        self.addCleanup(tracer.wait, PATIENCE_S)
        self.assertIn(b"tracing process", tracer.stderr.readline())
        return tracer

    def finish(self, tracer):
        self.assertEqual(tracer.wait(PATIENCE_S), 0)
        self.assertRegex(tracer.stderr.read(),
                         rb"^lull trace: lull-trace.json: \d+ slices and \d+ stalls of \d+ threads in .*\n$")
        return self.timeline()

    def test_process_until_told(self):
        with subprocess.Popen([TARGET, "0", "ask"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as target:
            self.assertEqual(target.stdout.readline(), b"ready\n")
            tracer = self.attach(target.pid)
            target.stdin.write(b"\n")
            target.stdin.flush()
            out = target.stdout.readline()
            # The process is still there to say what is where in it.
            tracer.send_signal(signal.SIGINT)
            slices, tids = self.check_target(self.finish(tracer), out, target.pid)
        # The section that the grace period waited for, in builds that tell.
        sections = [e for e in slices.get("read section", ()) if e["tid"] == tids.get("reader-1")]
        self.assertEqual(len(sections), DEBUG)
        for section in sections:
            self.assertGreaterEqual(ns(section["dur"]), 20000000)
            name, place = section["args"]["at"].split("+")
            self.assertEqual(name, os.path.basename(TARGET))
            self.assertLess(int(place, 16), os.path.getsize(TARGET))

    def start(self, *command):
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_process_until_its_end(self):
        process = self.start("sleep", "1000")
        tracer = self.attach(process.pid, "--object", SMALL)
        # The exit status is asked for only after the tracer has seen that the process ended.
        process.kill()
        self.check(self.finish(tracer))

    def test_process_until_it_is_terminated(self):
        tracer = self.attach(self.start("sleep", "1000").pid, "--object", SMALL)
        tracer.terminate()
        self.check(self.finish(tracer))

    def test_process_for_a_time(self):
        process = self.start("sleep", "1000")
        tracer = self.attach(process.pid, "--object", SMALL, "--seconds", "0.1")
        self.check(self.finish(tracer))
        self.assertIsNone(process.poll())

    def test_program_that_is_killed(self):
        shutil.copy(SMALL, self.path("small.so"))
        result = self.lull("trace", "--object", "small.so", "--run", "sh", "-c", "kill -9 $$")
        self.assertEqual(result.returncode, 128 + 9)
        self.assertIn(b"'sh' was ended by signal 9", result.stderr)
        self.check(self.timeline())

    def begin(self, *command, options=()):
        """Traces a program; Ctrl-C would reach both."""
        tracer = subprocess.Popen([LULL, "trace", "--object", SMALL, *options, "--run", *command], cwd=self.folder,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  start_new_session=True)
        self.addCleanup(tracer.communicate)
        self.addCleanup(lambda: tracer.poll() is None and os.killpg(tracer.pid, signal.SIGKILL))
        return tracer

    def test_signals_are_passed_on(self):
        """Signals that reach the tracer alone: while it traces, and while it waits for the program's end."""
        script = "trap 'trap \"exit 5\" {0}; echo again' {0}; echo ready; while :; do sleep 0.02; done"
        for name, options in (("TERM", ()), ("HUP", ()), ("TERM", ("--seconds", "0.01")), ("HUP", ("--seconds", "0.01"))):
            tracer = self.begin("sh", "-c", script.format(name), options=options)
            self.assertEqual(tracer.stdout.readline(), b"ready\n")
            if options:
                self.assertIn(b"slices", tracer.stderr.readline())
            tracer.send_signal(getattr(signal, "SIG" + name))
            self.assertEqual(tracer.stdout.readline(), b"again\n")
            tracer.send_signal(getattr(signal, "SIG" + name))
            self.assertEqual(tracer.wait(PATIENCE_S), 5)
            self.check(self.timeline())
            os.unlink(self.path("lull-trace.json"))

    def at_the_gate(self):
        """A tracer that is stopped before it has let a script go, and the process that is to run that."""
        os.chmod(self.write("program", b"#!/bin/sh\n>it-ran\n"), 0o700)
        for _ in range(20):
            tracer = self.begin("./program", options=("--object", LIBRARY))
            try:
                children = []
                while not children:
                    self.assertIsNone(tracer.poll())
                    with open("/proc/%d/task/%d/children" % (tracer.pid, tracer.pid), encoding="ascii") as file:
                        children = file.read().split()
                tracer.send_signal(signal.SIGSTOP)
                time.sleep(0.05)  # if it had been let go already, it would run by now
                if os.path.samefile("/proc/%s/exe" % children[0], LULL):
                    self.assertNotIn("it-ran", self.files())
                    return tracer, int(children[0])
            except FileNotFoundError:
                pass  # it was let go, and has ended
            tracer.send_signal(signal.SIGCONT)
            tracer.wait(PATIENCE_S)
            for name in set(self.files()) - {"program"}:
                os.unlink(self.path(name))  # "it-ran", and the timeline of a tracer that came in time
        self.fail("never seen at the gate")

    def test_signals_before_the_program_runs(self):
        for reached in ("tracer", "program", "both"):
            tracer, child = self.at_the_gate()
            if reached != "tracer":
                os.kill(child, signal.SIGINT)
            if reached != "program":
                tracer.send_signal(signal.SIGINT)
            tracer.send_signal(signal.SIGCONT)
            status = tracer.wait(PATIENCE_S)
            words = tracer.stderr.read()
            self.assertEqual((status, self.files()), (1, ["program"]), words)
            self.assert_one_line(words, reached)
            self.assertIn(b"ended before it could" if reached == "program" else b"before './program' was started", words)

    def test_process_that_has_ended(self):
        """Its number may be another one's by the time it is traced."""
        process = self.start("true")
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        result = self.lull("trace", "--object", SMALL, str(process.pid))
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assert_one_line(result.stderr, "trace")
        self.assertIn(b"ended before it could be traced", result.stderr)
        self.assertEqual(self.files(), [])

    def test_program_that_cannot_be_run(self):
        path = self.write("nothing", b"#!/no/such/interpreter\n")
        os.chmod(path, 0o700)
        result = self.lull("trace", "--object", SMALL, "--run", path)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assert_one_line(result.stderr, "trace")
        self.assertIn(b"cannot run", result.stderr)
        self.assertEqual(self.files(), ["nothing"])

    def test_nothing_runs_when_it_cannot_be_traced(self):
        """The program does not run when the user has no right to trace it."""
        flag = self.path("it-ran")

        def become_nobody():
            os.chmod(self.folder, 0o777)
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

        if os.geteuid() != 0:
            self.skipTest("this is for root")
        result = self.lull("trace", "--object", SMALL, "--run", "touch", flag, preexec_fn=become_nobody)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assert_one_line(result.stderr, "trace")
        self.assertIn(b"it takes root", result.stderr)
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    unittest.main()
