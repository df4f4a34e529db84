# SPDX-License-Identifier: MIT
"""Early quiescent state: the CPU on which the thread of grace periods runs is reported when a grace period begins.

Grace periods of an idle guest, with the switch off and on by turns, in one boot. From the kernel's own trace events
comes how many scans each grace period needed.
"""
import re

from stage import Boot, Stage, Wrong, clock, columns, pairs, said

RUNS = 6
GRACE_PERIODS = 100
SWITCH = "/sys/module/rcutree/parameters/early_gp_qs"
TRACING = "/sys/kernel/tracing"

SCRIPT = f"""
test -w {SWITCH} || echo "@@ fail there is no {SWITCH}"
sleep 2
echo 4096 >{TRACING}/buffer_size_kb
for run in $(seq {RUNS}); do
	for early in 0 1; do
		echo $early >{SWITCH}
		sleep 1
		echo >{TRACING}/trace
		echo 1 >{TRACING}/events/rcu/rcu_grace_period/enable
		mod gpwait n={GRACE_PERIODS}
		echo 0 >{TRACING}/events/rcu/rcu_grace_period/enable
		rmmod gpwait
		took=$(dmesg | grep 'gpwait: n=' | tail -n 1 | sed 's/.*gpwait: //')
		scans=$(awk '/ start$/ {{ seen[$(NF-1)] = 1 }} / fqsstart$/ {{ n[$(NF-1)]++ }}
			END {{ for (gp in seen) count[n[gp] > 1 ? 2 : n[gp] + 0]++
			print "gps=" length(seen), "none=" count[0] + 0, "one=" count[1] + 0, "more=" count[2] + 0 }}' {TRACING}/trace)
		echo "@@ run number=$run early=$early $took $scans"
	done
done
"""

NAMES = {"0": "Off: RCU waits for a tick or a scan", "1": "On: reported when the grace period begins"}


def milliseconds(ns):
    return f"{int(ns) / 1e6:.3f} ms"


def one_boot(console):
    """The letter's two tables, and the scans. (lines, {"0": grace periods with a second scan, "1": ...}, {"0": times, ...})"""
    runs = [pairs(words) for words in said(console, "run")]
    if len(runs) != 2 * RUNS:
        raise Wrong(f"{len(runs)} of {2 * RUNS} runs have a line")
    lines, second = [], {}
    for early, name in NAMES.items():
        rows = [("run", "mean", "min", "max", "grace periods", "no scan", "one scan", "more")]
        for run in (one for one in runs if one["early"] == early):
            if int(run["gps"]) < int(run["n"]):
                raise Wrong(f"the trace has {run['gps']} grace periods of {run['n']}")
            rows.append((run["number"], *(milliseconds(run[key]) for key in ("mean", "min", "max")),
                         *(run[key] for key in ("gps", "none", "one", "more"))))
        second[early] = sum(int(row[-1]) for row in rows[1:])
        lines += [name, *columns(rows), ""]
    return lines, second, {early: sum(int(run["mean"]) for run in runs if run["early"] == early) for early in NAMES}


def table(consoles):
    totals, means = {}, {}
    for name, console in consoles.items():
        cpus = int(re.search(r"@@ begin .*, (\d+) CPUs", console).group(1))
        lines, totals[name], means[name] = one_boot(console)
        yield f"{cpus} CPU{'s' if cpus > 1 else ''}, idle; {RUNS} runs of {GRACE_PERIODS} synchronize_rcu(), off and on by turns"
        yield clock(console)
        yield ""
        yield from lines
    yield "Grace periods with a second scan, off -> on: " + "; ".join(
        f"{name} {second['0']} -> {second['1']}" for name, second in totals.items())
    yield "An emulated processor has one idle state. Then the kernel keeps the tick at first when a CPU gets idle, and the tick"
    yield "reports the CPU within a millisecond: scans are not needed for it, off or on. Processors with deep idle states stop it."
    if totals["one-cpu"]["1"]:
        raise Wrong(f"with one CPU and the switch on, {totals['one-cpu']['1']} grace periods needed a second scan")
    if means["one-cpu"]["1"] * 10 > means["one-cpu"]["0"]:
        raise Wrong("with one CPU the switch makes grace periods less than ten times as fast")


STAGE = Stage(
    title="Early quiescent state: grace periods of an idle guest",
    boots=[Boot(SCRIPT, "one-cpu", cpus=1, icount=True), Boot(SCRIPT, "four-cpus", cpus=4, icount=True)],
    table=table,
    modules=("gpwait",),
)
