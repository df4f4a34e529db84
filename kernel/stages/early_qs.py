# SPDX-License-Identifier: MIT
"""Early quiescent state: the CPU on which the thread of grace periods runs is reported when a grace period begins.

Grace periods of idle guests, with the switch off and on by turns, in one boot. From the kernel's own trace events comes how
many scans each grace period needed, and for which CPU a second one was made. A second scan is needed if the CPU of the
kthread has no tick while a grace period waits: a governor has stopped it, and the timer that wakes the kthread runs on
another CPU. With one CPU there is no other: the interrupt that wakes the kthread is a tick, and reports the CPU at once.
"""
from stage import Boot, Stage, Wrong, clock, columns, pairs, said
from tree import HERE

RUNS = 6
GRACE_PERIODS = 100
# (boot, part, what it is, are there idle states)
PARTS = (
    ("one-cpu", "tick", "1 CPU, idle, no idle states: the kernel keeps the tick, and the tick reports the CPU", False),
    ("one-cpu", "states", "1 CPU, idle, idle states: the tick is stopped until a timer wakes the kthread, and then reports the CPU", True),
    ("two-cpus", "neighbour", "2 CPUs, idle states: RCU on CPU 0, which is idle; CPU 1 wakes up every 50 us, and runs the timers of both", True),
    ("four-cpus", "states", "4 CPUs, idle, idle states", True),
)
NAMES = {"0": "Off: RCU waits for a tick or a scan", "1": "On: reported when the grace period begins"}
# The guest loses ticks of an emulated HPET, finds its CPUs' timers wrong by these, and then never stops a tick. Without
# HPET nothing confirms the time-stamp counter, which is needed for that, too.
APPEND = "hpet=disable tsc=reliable"


def script(*commands):
    return "\n".join([f"RUNS={RUNS} GRACE_PERIODS={GRACE_PERIODS}", (HERE / "guest/early-qs.sh").read_text(encoding="utf-8"),
                      *commands, ""])


def milliseconds(ns):
    return f"{int(ns) / 1e6:.3f} ms"


def runs_of(console, part):
    """{"0": [the runs with the switch off], "1": [on]} of a part."""
    runs = [run for run in map(pairs, said(console, "run")) if run["part"] == part]
    found = {early: [run for run in runs if run["early"] == early] for early in NAMES}
    for early, some in found.items():
        if len(some) != RUNS:
            raise Wrong(f"{part}: {len(some)} of {RUNS} runs have a line, switch {early}")
        for run in some:
            if int(run["gps"]) < int(run["n"]):
                raise Wrong(f"{part}: the trace has {run['gps']} grace periods of {run['n']}")
    return found


def lines_of(found):
    """The letter's two tables, and the scans."""
    for early, name in NAMES.items():
        yield from (name, *columns([
            ("run", "mean", "min", "max", "grace periods", "no scan", "one scan", "more", "for CPU", "tick stopped", "deep idle"),
            *((run["number"], *(milliseconds(run[key]) for key in ("mean", "min", "max")),
               *(run[key] for key in ("gps", "none", "one", "more", "late", "stops", "deep"))) for run in found[early])]), "")


def total(found, early, key):
    return sum(int(run[key]) for run in found[early])


def judge(name, found, states):
    """Raise Wrong if a part does not show what it is for."""
    for run in found["0"]:
        if states and not (int(run["deep"]) and int(run["stops"])):
            raise Wrong(f"{name}: no CPU was in its deep idle state with the tick stopped")
        if not states and int(run["deep"]):
            raise Wrong(f"{name}: there are idle states already")
    if name == "four-cpus states":
        return
    if more := total(found, "1", "more"):
        raise Wrong(f"{name}: with the switch on, {more} grace periods needed a second scan")
    if name == "two-cpus neighbour":
        for run in found["0"]:
            if int(run["more"]) * 10 < int(run["n"]) * 9:
                raise Wrong(f"{name}: with the switch off, {run['more']} of {run['n']} grace periods needed a second scan, not nearly all")
            if run["late"] != "0":
                raise Wrong(f"{name}: a second scan was for CPU {run['late']}, not for that of the kthread")
    elif total(found, "1", "mean") * 10 > total(found, "0", "mean"):
        raise Wrong(f"{name}: the switch makes grace periods less than ten times as fast")


def table(consoles):
    found = {}
    for boot, part, what, _ in PARTS:
        found[boot, part] = runs_of(consoles[boot], part)
        yield f"{what}; {RUNS} runs of {GRACE_PERIODS} synchronize_rcu(), off and on by turns"
        yield clock(consoles[boot])
        yield ""
        yield from lines_of(found[boot, part])
    yield "Grace periods with a second scan, and the mean of all waits, off -> on:"
    yield ""
    yield from columns([("", "second scan", "mean"), *(
        (f"{boot}, {part}", f"{total(some, '0', 'more')} of {total(some, '0', 'gps')} -> {total(some, '1', 'more')} of {total(some, '1', 'gps')}",
         " -> ".join(milliseconds(total(some, early, "mean") / RUNS) for early in NAMES)) for (boot, part), some in found.items())])
    yield ""
    yield "With one CPU no grace period can need a second scan: what wakes the kthread is a timer, timers run in the tick, and the"
    yield "tick reports the CPU. With two, the timer runs on the CPU that is awake. The other wakes up without a tick, for the scan, is"
    yield "busy with it, and sleeps until the next scan: two waits of 4 ms (3 ticks and the rest of one), as the letter describes them."
    yield "Among idle CPUs the last one that got idle runs the timers. That is mostly the kthread's own, so few waits are long there,"
    yield "as in the letter's table of means."
    for boot, part, _, states in PARTS:
        judge(f"{boot} {part}", found[boot, part], states)


STAGE = Stage(
    title="Early quiescent state: grace periods of an idle guest",
    boots=[Boot(script("measure tick", "mod idlestates", "measure states"), "one-cpu", cpus=1, icount=True, append=APPEND, limit_s=900),
           Boot(script("mod idlestates", "neighbour"), "two-cpus", cpus=2, icount=True, append=APPEND, limit_s=900),
           Boot(script("mod idlestates", "measure states"), "four-cpus", cpus=4, icount=True, append=APPEND, limit_s=900)],
    table=table,
    modules=("gpwait", "idlestates"),
    programs=("nap",),
)
