#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run kernel/model/*.litmus under the kernel's own memory model (LKMM), whose files come with the kernel's source.

usage: kernel/litmus.py [-v] [--source TREE] [NAME...]      NAME picks the tests whose names contain it
       kernel/litmus.py --self-test                          needs no tools

TREE is an unpacked source of the kernel: tools/memory-model in it is used. Without it the newest in $LULL_KERNEL_DIR
(build/kernel by default) is. Each test must be "Never" as it is written. A line that ends with

    // broken: OTHER           stands for a fault: with OTHER in its place ("nothing": with the line gone) ...
    // broken late: OTHER      ... with OTHER one statement (or one section of a lock) later
    // broken early: OTHER     ... or earlier
    // broken too: OTHER       belongs to the fault above it: both at once

and with each fault `exists` must be reached. The line at the end is "litmus: N passed, N failed"; with no herd7 or no
source it is "litmus: skipped: WHY", and the exit status is 77.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTS = ROOT / "kernel" / "model"
MARK = re.compile(r"\s*// broken( late| early| too)?: (.*)$")


class Defect(Exception):
    pass


def without_marks(lines):
    return [MARK.sub("", line) for line in lines]


def block_at(lines, at, step):
    """How many lines from @at on, in direction @step, are one statement, or the section of a lock."""
    word = {1: ("spin_lock(", "spin_unlock("), -1: ("spin_unlock(", "spin_lock(")}[step]
    if word[0] not in lines[at]:
        return 1
    count = 1
    while word[1] not in lines[at + step * (count - 1)]:
        count += 1
    return count


def broken(lines, at):
    """@lines, some of which are None, with the fault of the line @at."""
    plain = without_marks(lines)
    kind, other = MARK.search(lines[at]).groups()
    indent = re.match(r"\s*", lines[at]).group(0)
    if (kind or "").strip() in ("late", "early"):
        step = 1 if kind == " late" else -1
        count = block_at(plain, at + step, step)
        del plain[at]
        plain.insert(at + step * count, indent + other)
        return plain
    ats = [at]
    for after in range(at + 1, len(lines)):
        mark = MARK.search(lines[after])
        if mark and mark.group(1) == " too":
            ats.append(after)
        elif mark:
            break
    for one in ats:
        other = MARK.search(lines[one]).group(2)
        plain[one] = "" if other == "nothing" else indent + other
    return plain


def variants(text):
    """[(what is broken or "", the text for herd7)]"""
    lines = text.splitlines()
    found = [("", "\n".join(without_marks(lines)) + "\n")]
    thread = "?"
    for at, line in enumerate(lines):
        if match := re.match(r"(P\d+)\s*\(", line):
            thread = match.group(1)
        if (mark := MARK.search(line)) and mark.group(1) != " too":
            what = f"{thread}: {MARK.sub('', line).strip()} -> {(mark.group(1) or '').strip()} {mark.group(2)}"
            found.append((re.sub(r"\s+", " ", what), "\n".join(broken(lines, at)) + "\n"))
    return found


def judge(what, said):
    """None, or what is wrong. @said: herd7's output."""
    seen = re.search(r"^Observation \S+ (\w+) (\d+) (\d+)", said, re.M)
    if not seen:
        return "herd7 says nothing: " + " ".join(said.split())[:200]
    word = seen.group(1)
    if "Flag data-race" in said:
        return "a data race"
    if not what and word != "Never":
        return f"must be Never, is {word}"
    if not what and int(seen.group(3)) == 0:
        return "proves nothing: no execution"
    if what and word == "Never":
        return f"still Never with {what}"
    return None


def herd7():
    """(program, None), or (None, why there is none)"""
    if given := os.environ.get("HERD7"):
        return given, None
    done = subprocess.run([str(ROOT / "scripts" / "setup-herd"), "herd7"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return None, (done.stderr.strip().splitlines() or ["no herd7"])[-1]
    return done.stdout.strip(), None


def memory_model(given):
    """(folder, None), or (None, why there is none)"""
    work = pathlib.Path(os.environ.get("LULL_KERNEL_DIR", ROOT / "build" / "kernel"))
    trees = [pathlib.Path(given)] if given else sorted(work.glob("linux-[0-9]*"), key=lambda path: path.stat().st_mtime)
    for tree in reversed(trees):
        if (tree / "tools/memory-model/linux-kernel.cfg").exists():
            return tree / "tools/memory-model", None
    return None, f"no kernel source with tools/memory-model in {given or work} (scripts/kernel fetches one)"


def run_test(herd, model, text, folder):
    path = folder / "test.litmus"
    path.write_text(text, encoding="utf-8")
    done = subprocess.run([herd, "-conf", "linux-kernel.cfg", str(path)], cwd=model, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout


def run(herd, model, names, verbose=False):
    """[(test, what is broken, None or what is wrong)]"""
    verdicts = []
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(TESTS.glob("*.litmus")):
            if names and not any(name in path.stem for name in names):
                continue
            found = variants(path.read_text(encoding="utf-8"))
            if len(found) < 2:
                verdicts.append((path.stem, "", "nothing in it is marked as broken"))
            for what, text in found:
                wrong = judge(what, run_test(herd, model, text, pathlib.Path(folder)))
                verdicts.append((path.stem, what, wrong))
                if verbose and not wrong:
                    print(f"passed {path.stem}: {'reached with ' + what if what else 'Never'}")
    return verdicts


def close(verdicts):
    """The lines at the end, and the exit status."""
    failed = [verdict for verdict in verdicts if verdict[2]]
    for name, _, wrong in failed:
        print(f"FAILED {name}: {wrong}")
    print(f"litmus: {len(verdicts) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed or not verdicts else 0


# ---- who judges the judge -------------------------------------------------------------------------------------------

BOX = """P0(int *x)
{
	a = 1; // broken: a = 2;
	b = 1; // broken: nothing
	spin_lock(l); // broken: nothing
	c = 1;
	spin_unlock(l); // broken too: nothing
	d = 1; // broken early: D = 1;
}

P1(int *x)
{
	e = 1; // broken late: E = 1;
	spin_lock(l);
	f = 1;
	spin_unlock(l);
	g = 1;
}
"""
WANTED = [
    "a = 1; b = 1; spin_lock(l); c = 1; spin_unlock(l); d = 1; | e = 1; spin_lock(l); f = 1; spin_unlock(l); g = 1;",
    "a = 2; b = 1; spin_lock(l); c = 1; spin_unlock(l); d = 1; | e = 1; spin_lock(l); f = 1; spin_unlock(l); g = 1;",
    "a = 1; spin_lock(l); c = 1; spin_unlock(l); d = 1; | e = 1; spin_lock(l); f = 1; spin_unlock(l); g = 1;",
    "a = 1; b = 1; c = 1; d = 1; | e = 1; spin_lock(l); f = 1; spin_unlock(l); g = 1;",
    "a = 1; b = 1; D = 1; spin_lock(l); c = 1; spin_unlock(l); | e = 1; spin_lock(l); f = 1; spin_unlock(l); g = 1;",
    "a = 1; b = 1; spin_lock(l); c = 1; spin_unlock(l); d = 1; | spin_lock(l); f = 1; spin_unlock(l); E = 1; g = 1;",
]
JUDGED = [
    ("", "Observation box Never 0 4", True),
    ("", "Observation box Never 0 0", False),
    ("", "Observation box Sometimes 1 3", False),
    ("", "Error: no such file", False),
    ("", "Flag data-race\nObservation box Never 0 4", False),
    ("P0: a -> b", "Observation box Sometimes 1 3", True),
    ("P0: a -> b", "Observation box Always 1 0", True),
    ("P0: a -> b", "Observation box Never 0 4", False),
]


def self_test():
    wrong = 0
    found = [re.sub(r"P0\(int \*x\) \{ ", "", re.sub(r" \} P1\(int \*x\) \{", " |", " ".join(text.split()))).removesuffix(" }")
             for _, text in variants(BOX)]
    for have, want in zip(found + [""] * len(WANTED), WANTED):
        if have != want:
            wrong += 1
            print(f"FAILED must be: {want}\n            is: {have}")
    for what, said, good in JUDGED:
        if (judge(what, said) is None) != good:
            wrong += 1
            print(f"FAILED {what or 'as written'}, {said}: {judge(what, said)}")
    print(f"litmus: {len(WANTED) + len(JUDGED) - wrong} passed, {wrong} failed")
    return 1 if wrong or len(found) != len(WANTED) else 0


def main():
    parser = argparse.ArgumentParser(description="Run kernel/model/*.litmus under the kernel's memory model.")
    parser.add_argument("-v", action="store_true", help="a line for each verdict")
    parser.add_argument("--source", metavar="TREE", help="the kernel's source")
    parser.add_argument("--self-test", action="store_true", help="of what judges the tests")
    parser.add_argument("name", nargs="*")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    model, why = memory_model(args.source)
    herd, no_herd = herd7() if model else (None, None)
    if not herd:
        print(f"litmus: skipped: {why or no_herd}")
        return 77
    return close(run(herd, model, args.name, args.v))


if __name__ == "__main__":
    sys.exit(main())
