# SPDX-License-Identifier: MIT
"""liburcu-cds' hash table under a storm of changes (storm.c), with AddressSanitizer."""
import functools
import re

from client import Client, Result
from torture import BUILT, FLAVORS, HERE, PART_S, compiled, includes, refusal

ASAN = ["-fsanitize=address", "-static-libasan", "-fno-omit-frame-pointer"]
# The sources of the table: compiled in, these accesses are seen by the sanitizer as well.
TABLE = ("rculfhash.c", "rculfhash-mm-order.c", "rculfhash-mm-chunk.c", "rculfhash-mm-mmap.c", "workqueue.c", "compat_arch.c")
LIBRARIES = ["urcu-memb", "urcu-mb", "urcu-bp", "urcu-qsbr"]
HAVE = ("HAVE_SYSCONF", "HAVE_SCHED_GETCPU", "HAVE_SCHED_SETAFFINITY")


def build(release, folder, source, inside):
    parts = [source / "src" / name for name in TABLE if (source / "src" / name).exists()] if inside else []
    compiled(release, folder / f"storm-{'inside' if inside else 'asan'}", [HERE / "storm.c", *parts], HAVE,
             [*LIBRARIES, *([] if inside else ["urcu-cds"])], [*ASAN, *includes(source)])


def judge(status, text):
    """Say what is wrong with one storm, and how many operations there were."""
    found = re.search(r"storm: \w+, (\d+) operations, (\d+) resizes, (\d+) objects walked over, 0 wrong", text)
    operations = int(found.group(1)) if found else 0
    if status == 0 and found and min(map(int, found.groups())) > 0 and "AddressSanitizer" not in text:
        return "", operations
    lines = [line for line in text.splitlines() if "ERROR" in line or "wrong" in line or "lull" in line]
    return f"status {status}: {'; '.join(lines[:3]) or text[-300:]}", operations


def storm(room, release, flavor, milliseconds, inside=False):
    return room.run(BUILT / release / f"storm-{'inside' if inside else 'asan'}", flavor, milliseconds,
                    timeout=milliseconds / 1000 + PART_S)


def run(release, inside, room, how):
    result = Result()
    for flavor in FLAVORS:
        status, text = storm(room, release, flavor, 1000 if how.short else 5000, inside)
        result.refused = refusal(status, text)
        if result.refused:
            return result
        wrong, operations = judge(status, text)
        if wrong:
            result.wrong.append(f"{flavor}: {wrong}")
        result.checked += operations
    return result


def clients():
    for release, version, inside in (("bookworm", "0.13", False), ("bookworm", "0.13", True), ("trixie", "0.15", False)):
        yield Client(f"storm-{version}{'-source' if inside else ''}", release, "liburcu-dev", ("liburcu-dev",), "called",
                     f"cds_lfht{', its source' if inside else ''}: add, add_unique, add_replace, replace, del, lookup, walk, "
                     "resize at once; AddressSanitizer; four flavors", functools.partial(run, release, inside), (),
                     "liburcu", functools.partial(build, inside=inside))


CLIENTS = list(clients())
