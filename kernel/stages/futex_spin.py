# SPDX-License-Identifier: MIT
"""FUTEX2_SPIN: a waiter spins while the owner that the futex word names runs. kernel/guest/futex_spin.c tests it."""
from stage import Boot, Stage, Wrong, clock, columns, pairs, said

# With one CPU an owner never runs while somebody waits.
TESTS = {"one-cpu": ("refused", "owner-sleeps", "unowned", "owner-killed", "tid-recycled", "tasks-kept", "pid-namespace", "mutex")}
TESTS["two-cpus"] = (*TESTS["one-cpu"], "limit", "time-out", "signal", "unlock", "changed", "owner-stops", "resched", "requeue")

SCRIPT = "futex_spin\n"
BENCH = "futex_spin bench\n"


def tests(name, console):
    found = {words[0]: " ".join(words[1:]) for words in said(console, "ok")}
    missing = [test for test in TESTS[name] if test not in found]
    if missing:
        raise Wrong(f"{name}: no result of {', '.join(missing)}")
    if name == "one-cpu" and any(int(pairs(words).get("turns", 0)) for words in said(console, "ok")):
        raise Wrong("with one CPU somebody has spun")
    yield from columns([(test, found[test]) for test in TESTS[name]], right=False)


def table(consoles):
    yield "What the kernel counted in each test (turns: of the loop that spins; idle_owner: the owner did not run at first)"
    for name, what in (("one-cpu", "One CPU: no owner runs while somebody waits, so nobody spins"), ("two-cpus", "Two CPUs")):
        yield ""
        yield what
        yield from tests(name, consoles[name])
    yield ""
    yield f"1000 waits, one after the other, for owners that are busy for so long ({clock(consoles['bench'])})"
    rows = [("busy, us", "waits, us each", "with FUTEX2_SPIN", "spun", "of these ended by the unlock")]
    for run in (pairs(words) for words in said(consoles["bench"], "bench")):
        each = [f"{int(run[key]) / int(run['n']) / 1000:.0f}" for key in ("plain", "spin")]
        rows.append((run["us"], *each, run["spins"], run["ended"]))
    if len(rows) != 6:
        raise Wrong("the measurement has not all of its rows")
    yield from columns(rows)


STAGE = Stage(
    title="FUTEX2_SPIN: what ends a spin, and what is refused",
    boots=[Boot(SCRIPT, "one-cpu", cpus=1), Boot(SCRIPT, "two-cpus", cpus=2), Boot(BENCH, "bench", cpus=2)],
    table=table,
    programs=("futex_spin",),
)
