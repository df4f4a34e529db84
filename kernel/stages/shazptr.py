# SPDX-License-Identifier: MIT
"""Simple hazard pointers: the letter's six-line tables by the kernel's own refscale and rcuscale."""
import re

from stage import COUNTED, Boot, Stage, Wrong, columns, percentile, said
from tree import HERE

REF_TYPES = ("rcu", "srcu", "srcu-fast", "refcnt", "rwlock", "preempt", "shazptr", "shazptr_wildcard")
SCALE = ("rcu", "rcu_expedited", "shazptr", "shazptr_skip", "shazptr_wildcard", "shazptr_wildcard_skip")
LINES = (("Average grace-period duration", "average"), ("Minimum grace-period duration", 0), ("50th percentile grace-period duration", 50),
         ("90th percentile grace-period duration", 90), ("99th percentile grace-period duration", 99),
         ("Maximum grace-period duration", 100))
GOAL = 20


def script():
    return f"""REF_TYPES="{' '.join(REF_TYPES)}"
RUNS=9 LOOPS=1000 REF_READERS=1 READERS=3 REF_MORE=shutdown_secs=0 SCALE_MORE=shutdown_secs=0
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
    """The letter's six lines of a table."""
    for text, which in LINES:
        if which == "average":
            value = sum(samples) / len(samples)
        else:
            value = min(samples) if which == 0 else percentile(samples, which)
        yield f"{text}: {value:.3f}" + (" microseconds" if which == "average" else "")


def table(consoles):
    console = consoles["icount"]
    rows = [("readers (refscale)", "median ns", "min", "max")]
    for name in REF_TYPES:
        runs = reader_ns(console, name)
        rows.append((name, f"{percentile(runs, 50):.2f}", f"{min(runs):.2f}", f"{max(runs):.2f}"))
    yield from (COUNTED, "", *columns(rows), "")
    cal = {words[0]: int(words[1]) for words in said(console, "cal")}
    middle = {}
    for name in SCALE:
        samples = wait_us(console, name)
        if len(samples) < 100:
            raise Wrong(f"rcuscale {name}: {len(samples)} waits, not 100")
        middle[name] = percentile(samples, 50)
        yield f"waits (rcuscale), {name}: {len(samples)} samples, {cal.get(name, -1)} CAL interrupts"
        yield from six_lines(samples)
        yield ""
    times = middle["rcu_expedited"] / middle["shazptr"]
    yield f"rcu_expedited / shazptr, 50th percentile: {times:.1f} (goal: {GOAL})"
    if times < GOAL:
        raise Wrong(f"shazptr waits 1/{times:.1f} of synchronize_rcu_expedited(), not 1/{GOAL}")
    if cal["shazptr"]:
        raise Wrong(f"{cal['shazptr']} CAL interrupts while shazptr waited")


STAGE = Stage(title="Simple hazard pointers: the costs of readers and of waits", config=(), modules=("torture", "refscale", "rcuscale"),
              boots=[Boot(script(), name="icount", cpus=4, icount=True, limit_s=900)], table=table)
