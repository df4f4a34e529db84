# SPDX-License-Identifier: MIT
"""Simple hazard pointers under torture: readers, writers, interrupts and CPU hotplug; and faults that must be found."""
import re

from stage import Boot, Stage, Wrong, columns
from tree import HERE

FAULTS = {1: "the kthread forgets for what a waiter waits", 2: "the wildcard is ignored", 3: "the first clear of a nest empties the slot",
          4: "a nested acquisition keeps the outer name", 5: "a clear from before the wait counts", 6: "the last slot is not scanned"}

WHOLE = {"whole": "SUCCESS", "whole_skip": "SUCCESS"}


def script(seconds=15, faults=tuple(FAULTS)):
    return f"""SECONDS_WHOLE={seconds} SECONDS_FAULT=6 FAULTS="{' '.join(map(str, faults))}"
""" + (HERE / "guest/shazptr-torture.sh").read_text(encoding="utf-8")


def verdict(console, name):
    """(SUCCESS or FAILURE, {count}, pipe) of one run."""
    match = re.search(rf"^@@ torture {name}$(.*?)^@@ ended {name}$", console, re.M | re.S)
    end = re.search(r"--- End of test: (\w+)", match.group(1)) if match else None
    if not end:
        raise Wrong(f"torture {name}: no end")
    counts = {key: int(value) for key, value in re.findall(r"([a-z-]+): (\d+)", re.findall(r"waits: .*", match.group(1))[-1])}
    pipe = [int(value) for value in re.findall(r"Reader Pipe: ([ \d]+)", match.group(1))[-1].split()]
    return end.group(1), counts, pipe


def runs(console, wanted):
    """(rows of a table, [what is wrong]) of the runs @wanted, {name: how it must end}."""
    wrong = []
    rows = [("run", "end", "waits", "reads", "nested", "in interrupts", "... in a section", "too old", "lost")]
    for name, must in wanted.items():
        end, counts, pipe = verdict(console, name)
        idle = [what for what, n in (("waits", counts["waits"]), ("reads", sum(pipe)), ("nested", counts["nested"])) if not n]
        if end != must or idle:
            wrong.append(f"{name}: {end}, not {must}" if end != must else f"{name}: no {', '.join(idle)}")
        rows.append((name, end, counts["waits"], sum(pipe), counts["nested"], counts["irq"], counts["irq-nested"],
                     sum(pipe[2:]) + counts["unpublished"], counts["lost"]))
    return rows, wrong


def table(consoles):
    rows, wrong = runs(consoles["torture"], {**WHOLE, **{f"fault_{fault}": "FAILURE" for fault in FAULTS}})
    yield from columns(rows)
    yield ""
    yield from (f"fault_{fault}: {text}" for fault, text in FAULTS.items())
    if wrong:
        raise Wrong("; ".join(wrong))


STAGE = Stage(title="Simple hazard pointers: torture, and faults that must be found", config=("lockdep",), modules=("torture", "shazptrtorture"),
              boots=[Boot(script(), name="torture", cpus=4, limit_s=300)], table=table)
