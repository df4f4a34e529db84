# SPDX-License-Identifier: MIT
"""Simple hazard pointers: the six-line tables of B. Feng's letter (2025) by the kernel's own refscale and rcuscale."""
import re

from stage import Boot, Stage, Wrong, clock, columns, percentile, said
from tree import HERE

REF_TYPES = ("rcu", "srcu", "srcu-fast", "refcnt", "rwlock", "preempt", "shazptr", "shazptr_wildcard")
# Readers are busy all the time, which takes a counting emulator minutes for a second. So they are in the other boot only.
ALONE = ("rcu", "rcu_expedited", "shazptr", "shazptr_skip")
BUSY = ("rcu", "rcu_expedited", "shazptr", "shazptr_skip", "shazptr_wildcard", "shazptr_wildcard_skip")
LINES = (("Average grace-period duration", "average"), ("Minimum grace-period duration", 0), ("50th percentile grace-period duration", 50),
         ("90th percentile grace-period duration", 90), ("99th percentile grace-period duration", 99),
         ("Maximum grace-period duration", 100))
GOAL = 20


def script(refs, scales, readers, runs=9):
    return f"""REF_TYPES="{' '.join(refs)}" SCALE_TYPES="{' '.join(scales)}"
RUNS={runs} LOOPS=1000 REF_READERS=1 READERS={readers}
""" + (HERE / "guest/shazptr-scale.sh").read_text(encoding="utf-8")


def part(console, what, name, end):
    """The lines of the console from "@@ WHAT NAME" to the next line "@@ END"."""
    match = re.search(rf"^@@ {what} {name}$(.*?)^@@ {end}", console, re.M | re.S)
    if not match:
        raise Wrong(f"{name}: no {what}")
    return match.group(1)


def reader_ns(console, name):
    """The runs of refscale: [nanoseconds for one read section]."""
    text = part(console, "refscale", name, r"\w")
    runs = [float(ns) for ns in re.findall(r"^(?:\[[ \d.]+\] )?\d+\t(\d+\.\d+)$", text, re.M)]
    if not runs:
        raise Wrong(f"refscale {name}: no runs")
    return runs


def wait_us(console, name):
    """The waits of rcuscale: [microseconds]."""
    text = part(console, "rcuscale", name, f"done {name}")
    return [int(ns) / 1000 for ns in re.findall(r"-scale:\s+\d+ writer-duration:\s+\d+ (\d+)", text)]


def six_lines(samples):
    """The six lines that the kernel's own scripts print for rcuscale."""
    for text, which in LINES:
        if which == "average":
            value = sum(samples) / len(samples)
        else:
            value = min(samples) if which == 0 else percentile(samples, which)
        yield f"{text}: {value:.3f}" + (" microseconds" if which == "average" else "")


def waits(console, names, middle):
    """The tables of some types; adds their medians to @middle."""
    cal = {words[0]: int(words[1]) for words in said(console, "cal")}
    for name in names:
        samples = wait_us(console, name)
        if len(samples) < 100:
            raise Wrong(f"rcuscale {name}: {len(samples)} waits, not 100")
        middle[name] = percentile(samples, 50)
        yield f"{name}: {len(samples)} waits, {cal[name]} CAL interrupts (2 s without waits: {cal['nothing']})"
        yield from six_lines(samples)
        yield ""


def table(consoles):
    rows = [("readers (refscale)", "median ns", "min", "max")]
    for name in REF_TYPES:
        runs = reader_ns(consoles["icount"], name)
        rows.append((name, f"{percentile(runs, 50):.2f}", f"{min(runs):.2f}", f"{max(runs):.2f}"))
    yield from (clock(consoles["icount"]), "", *columns(rows), "", "Waits (rcuscale), no reader in the way:", "")
    alone = {}
    yield from waits(consoles["icount"], ALONE, alone)
    times = alone["rcu_expedited"] / alone["shazptr"]
    yield f"rcu_expedited / shazptr, 50th percentile: {times:.1f} (goal: {GOAL})"
    yield from ("", clock(consoles["busy"]), "", "Waits (rcuscale), a busy reader on each CPU:", "")
    yield from waits(consoles["busy"], BUSY, {})
    cal = {words[0]: int(words[1]) for words in said(consoles["icount"], "cal")}
    if cal["shazptr"] - cal["nothing"] > 5:
        raise Wrong(f"{cal['shazptr']} CAL interrupts while shazptr waited, and {cal['nothing']} in the same time without")
    if times < GOAL:
        raise Wrong(f"shazptr waits 1/{times:.1f} of synchronize_rcu_expedited(), not 1/{GOAL}")


STAGE = Stage(title="Simple hazard pointers: the costs of readers and of waits", modules=("torture", "refscale", "rcuscale"),
              boots=[Boot(script(REF_TYPES, ALONE, 0), name="icount", cpus=4, icount=True, limit_s=600),
                     Boot(script((), BUSY, 2), name="busy", limit_s=300)], table=table)
