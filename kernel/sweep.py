# SPDX-License-Identifier: MIT
"""All that there is here, one after the other in one boot: what stages run in a kernel that checks itself.

Each part is the script of the stage that has it, for less time, and its verdict is that stage's. Mistakes are provoked too,
because a kernel that reports nothing may be one that does not look.
"""
import re

import guest
from stage import Wrong, columns, pairs, said
from stages import futex_spin, lockdep, rcutorture, shazptr, shazptr_torture
from tree import HERE

WAYS = ("kref", "none", "hazptr", "hazptr_ready", "percpu_ref", "acquire")  # of modules/label/
SCALES = ("shazptr", "shazptr_skip", "shazptr_wildcard", "shazptr_wildcard_skip")
TYPES = ("shazptr", "shazptr_wildcard")
QUEUES, REPLACEMENTS = 16, 3

MODULES = ("torture", "kunit", "hazptr", "hazptr_test", "hazptr_torture", "hazptr_faulty", "hazptr_faulty_test", "hazptr_faulty_torture",
           "label", "shazptrtorture", "rcutorture", "refscale", "rcuscale", "provoke")
PROGRAMS, COMMANDS = ("futex_spin",), ("tc", "ip")  # commands for lockdep


def piece(name, **variables):
    """A file of kernel/guest/, behind the variables that it wants."""
    lines = [f'{key.upper()}="{value}"' for key, value in variables.items()]
    return "\n".join(lines) + "\n" + (HERE / "guest" / name).read_text(encoding="utf-8")


def script(seconds, with_lockdep=True):
    """What the guest runs; each torture takes so many seconds."""
    return "\n".join([
        piece("hazptr-sweep.sh", hazptr_seconds=seconds, label_ms=500, ways=" ".join(WAYS)),
        shazptr_torture.script(seconds, faults=()),
        "futex_spin",
        lockdep.script(QUEUES, REPLACEMENTS) if with_lockdep else "",
        rcutorture.script(("rcu",), 2 * seconds),
        shazptr.script(TYPES, SCALES, readers=1, runs=2),
    ])


def provoke(kinds):
    return piece("provoke.sh", kinds=" ".join(kinds))


def provoked(console, kind):
    """What the console has of a mistake that was made on purpose."""
    match = re.search(rf"^@@ provoke {kind}$(.*?)^@@ provoked {kind}$", console, re.M | re.S)
    if not match:
        raise Wrong(f"provoke {kind}: it did not end")
    return match.group(1)


def provocations(console, wanted):
    """Rows of a table; @wanted is {kind: a regular expression for the first line of the report}."""
    for kind, report in wanted.items():
        found = [line for line in guest.reports(provoked(console, kind)) if re.search(report, line)]
        if not found:
            raise Wrong(f"the kernel does not report that somebody provokes {kind}")
        yield kind, re.sub(r"^\[ *[\d.]+\] ", "", found[0]).split(" at ")[0]


# ---- verdicts -------------------------------------------------------------------------------------------------------

def hazptr(console):
    kunit, torture = ([pairs(words) for words in said(console, word)] for word in ("kunit", "hazptr"))
    labels = [pairs(words) for words in said(console, "label")]
    yield from columns([("KUnit", "passed", "red"), *((run["module"], run["passed"], run["red"]) for run in kunit)])
    yield ""
    keys = ("reads", "writes", "stutters", "onoff", "late", "unsound", "leaks", "end")
    yield from columns([("torture", "type", *keys), *((run["module"], run["type"], *(run.get(key, "?") for key in keys))
                                                      for run in torture)])
    yield ""
    yield from columns([("label", "opens", "replaced", "failures", "left"),
                        *((run["keep"], run["opens"], run["replaced"], run["failures"], run["left"]) for run in labels)])
    if len(kunit) != 2 or any(int(run["red"]) or not int(run["passed"]) for run in kunit):
        raise Wrong("KUnit: not all tests passed")
    if len(torture) != 4 or any(run.get("end") != "SUCCESS" for run in torture):
        raise Wrong("torture of hazptr: not all came through")
    if len(labels) != len(WAYS) or any(int(run["failures"]) or int(run["left"]) for run in labels):
        raise Wrong("label: an open failed, or a label was not freed")


def simple(console):
    """Simple hazard pointers: torture, and the tests that measure."""
    rows, wrong = shazptr_torture.runs(console, shazptr_torture.WHOLE)
    yield from columns([("shazptrtorture", *rows[0][1:]), *rows[1:]])
    yield ""
    counts = [(name, len(shazptr.reader_ns(console, name))) for name in TYPES]
    yield "refscale, runs: " + ", ".join(f"{name} {count}" for name, count in counts)
    counts = [(name, len(shazptr.wait_us(console, name))) for name in SCALES]
    yield "rcuscale, waits: " + ", ".join(f"{name} {count}" for name, count in counts)
    wrong += [f"rcuscale {name}: {count} waits, not 100" for name, count in counts if count < 100]
    if wrong:
        raise Wrong("; ".join(wrong))


def rest(console):
    names = futex_spin.TESTS["two-cpus"]
    tests = list(futex_spin.tests("two-cpus", console))
    yield f"futex_spin: {len(tests)} tests passed: {', '.join(names)}"
    end, counts = rcutorture.one_type(console, "rcu")
    yield f"rcutorture rcu, rcutree.early_gp_qs changes each second: {end}; " + ", ".join(f"{name}: {n}" for name, n in counts.items())
    if end != "SUCCESS":
        raise Wrong(f"rcutorture: {end}")


def keys(console):
    found = lockdep.measured(console)
    yield f"tc qdisc replace ... mq, {QUEUES} queues: {REPLACEMENTS + 1} times with each of {len(found)} ways to wait"


def lines(console, with_lockdep=True):
    """What the parts did, and whether they came through."""
    for part in (hazptr, simple, rest, *((keys,) if with_lockdep else ())):
        yield from part(console)
        yield ""
    if lost := re.search(r"\d+ printk messages dropped", console):
        raise Wrong(f"the console is not whole: {lost.group()}")
