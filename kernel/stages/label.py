# SPDX-License-Identifier: MIT
"""A label that all tasks share, as AppArmor has it, at each open of a file: what it costs to keep it.

The seed's table has the throughput of a web server without AppArmor, and with hazard pointers, over that with kref.
"""
import statistics

from stage import Boot, Stage, Wrong, clock, columns, pairs, said

ROUNDS = 5
WAYS = ("kref", "none", "hazptr", "hazptr_ready", "percpu_ref", "acquire")
NAMES = {
    "kref": "baseline kref",
    "none": 'label not kept ("disabled")',
    "hazptr": "hazard pointers",
    "hazptr_ready": "the same, context made ahead",
    "percpu_ref": "percpu_ref",
    "acquire": "hazptr_acquire",
}

SCRIPT = f"""
dmesg -n 5
mod hazptr
for round in $(seq {ROUNDS}); do
	for path in /run ""; do
		for keep in {' '.join(WAYS)}; do
			dmesg -c >/dev/null
			mod label keep=$keep path="$path" duration_ms=1000
			rmmod label
			echo "@@ run path=${{path:-none}} $(dmesg | sed -n 's/.*label: //p' | tr '\\n' ' ')"
		done
	done
done
rmmod hazptr
"""

# One thread and a clock that counts instructions: what a use of the label costs while nobody else wants the line.
COUNT = f"""
dmesg -n 5
mod hazptr
for keep in {' '.join(WAYS)}; do
	dmesg -c >/dev/null
	mod label keep=$keep path="" duration_ms=300
	rmmod label
	echo "@@ run path=counted $(dmesg | sed -n 's/.*label: //p' | tr '\\n' ' ')"
done
rmmod hazptr
"""
NS_PER_INSTRUCTION = 2  # -icount shift=1


def table(consoles):
    runs = [pairs(words) for words in said(consoles["boot"], "run") + said(consoles["counted"], "run")]
    if len(runs) != (2 * ROUNDS + 1) * len(WAYS):
        raise Wrong(f"{len(runs)} of {(2 * ROUNDS + 1) * len(WAYS)} runs have a line")
    for run in runs:
        if int(run["failures"]) or int(run["left"]):
            raise Wrong(f"{run['keep']}: {run['failures']} opens failed, {run['left']} labels were not freed")
    yield clock(consoles["boot"])
    yield f"Two threads; medians of {ROUNDS} rounds of 1 s, all ways by turns; the label is replaced every 50 ms or more."
    for path, what in (("/run", "opens of a file per second (filp_open, and filp_close behind the label's use)"),
                       ("none", "uses of the label alone per second")):
        per_second = {}
        for run in runs:
            if run["path"] == path:
                per_second.setdefault(run["keep"], []).append(int(run["opens"]) * 1e6 / int(run["us"]))
        base = statistics.median(per_second["kref"])
        yield ""
        yield what
        yield from columns([("", "median", "least", "most", "over kref")] + [
            (NAMES[way], f"{statistics.median(values):.0f}", f"{min(values):.0f}", f"{max(values):.0f}",
             f"{(statistics.median(values) / base - 1) * 100:+.1f} %" if way != "kref" else "")
            for way, values in ((way, per_second[way]) for way in WAYS)])
    counted = {run["keep"]: int(run["us"]) * 1e3 / NS_PER_INSTRUCTION / int(run["opens"])
               for run in runs if run["path"] == "counted"}
    yield ""
    yield "instructions of one use of the label alone, with the loop around it; one CPU"
    yield clock(consoles["counted"])
    yield from columns([("", "instructions"), *((NAMES[way], f"{counted[way]:.0f}") for way in WAYS)])
    yield ""
    yield "No label was used after its end, and all were freed."


STAGE = Stage(
    title="A shared label at each open of a file",
    boots=[Boot(SCRIPT, cpus=2, limit_s=300), Boot(COUNT, "counted", cpus=1, icount=True, limit_s=240)],
    table=table,
    modules=("hazptr", "label"),
)
