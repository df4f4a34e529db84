# SPDX-License-Identifier: MIT
"""FUTEX2_SPIN: a waiter spins while the owner that the futex word names runs. kernel/guest/futex_spin.c tests it."""
from stage import Boot, Stage, Wrong, clock, columns, pairs, said

# With one CPU an owner never runs while somebody waits.
TESTS = {"one-cpu": ("refused", "owner-sleeps", "unowned", "owner-killed", "tid-recycled", "tasks-kept", "pid-namespace", "mutex")}
TESTS["two-cpus"] = (*TESTS["one-cpu"], "limit", "time-out", "signal", "unlock", "changed", "owner-stops", "owner-exits", "resched", "requeue")

SCRIPT = "futex_spin\n"
# For so many us owners are busy.
BUSY = ("5", "20", "100", "400", "2000")
COUNTED_BUSY = ("5", "100", "400")


def tests(name, console):
    found = {words[0]: " ".join(words[1:]) for words in said(console, "ok")}
    missing = [test for test in TESTS[name] if test not in found]
    if missing:
        raise Wrong(f"{name}: no result of {', '.join(missing)}")
    if name == "one-cpu" and any(int(pairs(words).get("turns", 0)) for words in said(console, "ok")):
        raise Wrong("with one CPU somebody has spun")
    yield from columns([(test, found[test]) for test in TESTS[name]], right=False)


def letter(console, sizes, what):
    """The lines of the letter, and what the waiter did."""
    runs = {run["us"]: run for run in (pairs(words) for words in said(console, "bench"))}
    if sorted(runs) != sorted(sizes):
        raise Wrong("the measurement has not all of its rows")
    yield ""
    yield what
    yield ""
    rows = [("busy, us", "", "total wait time, us", "calls", "switches", "spun", "ended by the unlock")]
    for us in sizes:
        run = runs[us]
        for how, name, spun in (("spin", "FUTEX2_SPIN | FUTEX_WAIT", (run["spins"], run["ended"])), ("plain", "FUTEX_WAIT", ())):
            rows.append((us, name, int(run[f"{how}_ns"]) // 1000, run[f"{how}_calls"], run[f"{how}_switches"], *spun))
    yield from columns(rows)
    spun, ended = (sum(int(runs[us][key]) for us in sizes) for key in ("spins", "ended"))
    fewer = sum(int(runs[us]["plain_switches"]) - int(runs[us]["spin_switches"]) for us in sizes)
    yield f"Of {len(sizes) * 1000} waits with the flag {spun} spun; the unlock ended {ended} spins. Switches of the waiter that the flag saved: {fewer}"


def table(consoles):
    yield "What the kernel counted in each test (turns: of the loop that spins; idle_owner: the owner did not run at first)"
    for name, what in (("one-cpu", "One CPU: no owner runs while somebody waits, so nobody spins"), ("two-cpus", "Two CPUs")):
        yield ""
        yield what
        yield from tests(name, consoles[name])
    yield ""
    yield "1000 waits, one after the other, for owners that are busy for so long; with the flag and without it in turns"
    yield from letter(consoles["bench"], BUSY, f"Two CPUs ({clock(consoles['bench'])})")
    yield from letter(consoles["bench-one-cpu"], COUNTED_BUSY, f"One CPU, where nobody spins: what the flag costs ({clock(consoles['bench-one-cpu'])})")
    runs = [pairs(words) for words in said(consoles["bench-one-cpu"], "bench")]
    more = [(int(run["spin_ns"]) - int(run["plain_ns"])) // int(run["n"]) for run in runs]
    yield f"More with the flag than without: {min(more)} to {max(more)} ns of that clock, a wait"


STAGE = Stage(
    title="FUTEX2_SPIN: what ends a spin, and what is refused",
    boots=[Boot(SCRIPT, "one-cpu", cpus=1), Boot(SCRIPT, "two-cpus", cpus=2, limit_s=600), Boot(f"futex_spin bench {' '.join(BUSY)}\n", "bench", cpus=2, limit_s=600),
           Boot(f"futex_spin bench {' '.join(COUNTED_BUSY)}\n", "bench-one-cpu", cpus=1, icount=True)],
    table=table,
    programs=("futex_spin",),
)
