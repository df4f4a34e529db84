# SPDX-License-Identifier: MIT
"""How many operations liburcu's own benchmarks do: on liburcu, by `lull urcu`, and compiled on lull's headers."""
import re

from client import Client, Result
from torture import BUILT, HAVE, PART_S, TESTS, compiled, includes, refusal, source_door

# {benchmark: [(readers, updaters)]}; where nobody reads there is nothing to wait for.
ALONE = [(0, 1), (0, 2), (0, 3)]
RATES = {"urcu": [*ALONE, (1, 1)], "mb": [*ALONE, (1, 1)], "qsbr": [*ALONE, (1, 1)], "bp": [*ALONE, (1, 1)],
         "gc": [(1, 1)], "qsbr_gc": [(1, 1)], "defer": [(1, 1)], "assign": [(1, 1)]}


def build(release, folder, source):
    for name in RATES:
        pattern, macro, libraries = TESTS[name]
        sources = [*sorted((source / "tests").glob(pattern)), source / "tests/common/debug-yield.c"]
        for door in ("liburcu", "source"):
            compiled(release, folder / f"rate-{name}-{door}", sources, [macro, *HAVE], libraries, includes(source),
                     source_door() if door == "source" else None)


def judge(status, text):
    """(what is wrong, reads, updates)"""
    found = re.search(r"nr_reads +(\d+) nr_writes +(\d+)", text)
    if status != 0 or not found or "lull: " in text:
        return f"status {status}: {text[-300:]}", 0, 0
    return "", int(found.group(1)), int(found.group(2))


def run(room, how):
    result = Result()
    for name, cells in RATES.items():
        for readers, updaters in cells[1:2] if how.short else cells:
            batch = ("-b", 64) if name.endswith("gc") else ()
            for door in ("liburcu", "source") if room.side == "lull" else ("liburcu",):
                status, text = room.run(BUILT / "bookworm" / f"rate-{name}-{door}", readers, updaters, 1, *batch,
                                        client=door == "liburcu", timeout=PART_S)
                result.refused = result.refused or refusal(status, text)
                wrong, reads, updates = judge(status, text)
                if wrong:
                    result.wrong.append(f"{name} {readers} {updaters}, {door}: {wrong}")
                result.checked += 1
                for way in ("binary", "source") if room.side == "liburcu" else ("binary" if door == "liburcu" else door,):
                    result.figures[key(way, name, readers, updaters, "updates")] = updates / 1e6
                    if readers:
                        result.figures[key(way, name, readers, updaters, "reads")] = reads / 1e6
    return result


def key(way, name, readers, updaters, what):
    return f"{way}: {name}, {readers} readers, {updaters} updaters, million {what}"


FIGURES = tuple((key(way, name, readers, updaters, what),) * 2 + ("more",) for way in ("binary", "source")
                for name, cells in RATES.items() for readers, updaters in cells
                for what in (["updates", "reads"] if readers else ["updates"]))

CLIENTS = [Client("rates-0.13", "bookworm", "liburcu-dev", ("liburcu-dev",), "inlined",
                  "operations in a second of test_urcu and others of 0.13.2; on lull also compiled on its headers", run, FIGURES,
                  "liburcu", build)]
