# SPDX-License-Identifier: MIT
"""Hazard pointers under torture: pipe, circulation, stutter and CPUs that come and go, as rcutorture has them.

It must come through as it is, in both forms, and with faults it must not.
"""
from stage import Boot, Stage, Wrong, columns, pairs, said

SECONDS = 20
# The type of readers and writers by which each fault is looked for. What is said of two_phase needs a synchronize that is not
# behind others, which wait for each other there: so it is the only writer's.
FAULTS = {"no_reload": "context", "one_slot": "context", "scan_first": "context", "forget": "acquire",
          "two_phase": "acquire nwriters=0", "lists_first": "acquire", "skip_wildcard": "acquire", "skip_parked": "acquire",
          "online_only": "acquire"}
# A fault is looked for so many times, and must be caught once.
TRIES = 3

SCRIPT = f"""
count()
{{
	dmesg >/tmp/said
	echo "@@ run broken=$1 type=$2 end=$(sed -n 's/.*End of test: //p' /tmp/said)" \\
		"$(grep -E 'hazptr-torture: (type|remote|late)=' /tmp/said | sed 's/.*hazptr-torture: //; s/type=[a-z]* //' | tr '\\n' ' ')"
	sed -nE 's/.*hazptr-torture: (Reader Pipe|Free-Block Circulation):/@@ pipe '$1' '$2' \\1:/p' /tmp/said
}}

# torture BROKEN TYPE SECONDS MODULE [broken=... [PARAMETER=VALUE]]
torture()
{{
	dmesg -c >/dev/null
	mod $4 $5
	mod $4_torture type=$2 onoff_ms=200 stutter_ms=2000 $6
	sleep $3
	rmmod $4_torture
	rmmod $4
	count $1 $2
}}
dmesg -n 5
for type in context acquire; do
	torture product $type {SECONDS} hazptr
	torture none $type {SECONDS} hazptr_faulty broken=none
done
while read fault type more; do
	for try in $(seq {TRIES}); do
		torture $fault $type {SECONDS // 2} hazptr_faulty broken=$fault $more
		grep -q 'End of test: FAILURE' /tmp/said && break
	done
done <<END
{chr(10).join(f"{fault} {kind}" for fault, kind in FAULTS.items())}
END
"""


def table(consoles):
    runs = [pairs(words) for words in said(consoles["boot"], "run")]
    keys = ("reads", "writes", "sleeps", "handed-over", "remote", "stutters", "onoff", "late", "unsound", "leaks")
    yield f"{SECONDS} s each as it is built for use (product) and with stretched steps (none); then faults, which must be caught"
    yield ""
    yield from columns([("", "type", *keys, "end"), *((run["broken"], run["type"], *(run.get(key, "?") for key in keys),
                                                       run.get("end", "?")) for run in runs)])
    yield ""
    for words in said(consoles["boot"], "pipe"):
        if words[0] in ("product", "none"):
            yield " ".join(words)
    sound = [run for run in runs if run["broken"] in ("product", "none")]
    if len(sound) != 4:
        raise Wrong(f"{len(sound)} of 4 runs without a fault have a line")
    for run in sound:
        if run.get("end") != "SUCCESS":
            raise Wrong(f"{run['broken']}, {run['type']}: {run.get('end', 'no end')}")
        if not int(run["onoff"]) or not int(run["stutters"]):
            raise Wrong(f"{run['broken']}, {run['type']}: no CPU came and went, or nothing was stopped")
    caught = {run["broken"] for run in runs if run.get("end") == "FAILURE" and int(run["late"])}
    if missed := set(FAULTS) - caught:
        raise Wrong(f"not caught: {', '.join(sorted(missed))}")


STAGE = Stage(
    title="Hazard pointers under torture",
    boots=[Boot(SCRIPT, cpus=2, limit_s=600)],
    table=table,
    modules=("hazptr", "hazptr_torture", "hazptr_faulty", "hazptr_faulty_torture"),
)
