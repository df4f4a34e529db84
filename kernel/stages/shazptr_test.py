# SPDX-License-Identifier: MIT
"""Simple hazard pointers: KUnit tests of what needs no race; and each fault, which must turn one of them red.

On the configuration of shazptr-torture, which has the faults, and lockdep, which has readers of its own.
"""
from stage import Boot, Stage, Wrong, columns, pairs, said

TESTS = 12
# The test that each fault must turn red.
FAULTS = {1: "name_is_waited_for", 2: "wildcard_is_waited_for", 3: "nest_is_waited_for", 4: "nest_is_the_wildcard_to_its_end",
          5: "name_is_waited_for", 6: "name_is_waited_for"}

SCRIPT = f"""
P=/sys/module/shazptr/parameters
# tests NAME FAULT SKIP_SELF_SCAN
tests()
{{
	dmesg -c >/dev/null
	echo "$2" >$P/fault
	echo "$3" >$P/skip_self_scan
	mod shazptr_kunit
	dmesg >/tmp/said
	rmmod shazptr_kunit
	echo 0 >$P/fault
	echo 0 >$P/skip_self_scan
	echo "@@ run name=$1 passed=$(grep -cE '^[^#]*  +ok [0-9]+ [^#]*$' /tmp/said)" \\
		"skipped=$(grep -cE '  +ok [0-9]+ .*# SKIP' /tmp/said)" \\
		"red=$(sed -nE 's/.*  +not ok [0-9]+ ([a-z_]+)$/\\1/p' /tmp/said | tr '\\n' ',')"
}}
dmesg -n 5
mod kunit enable=1 autorun=1
tests whole 0 0
tests skip_self_scan 0 1
for fault in {' '.join(map(str, FAULTS))}; do
	tests "fault_$fault" "$fault" 0
done
"""


def table(consoles):
    runs = {words["name"]: words for words in map(pairs, said(consoles["boot"], "run"))}
    rows = [("", "passed", "skipped", "red")]
    for name, words in runs.items():
        red = [test for test in words["red"].split(",") if test]
        rows.append((name, words["passed"], words["skipped"], ", ".join(red) or "-"))
    yield "KUnit tests: as it is, with all scans left to the kthread, and with each fault"
    yield ""
    yield from columns(rows, right=False)
    missing = [name for name in ("whole", "skip_self_scan", *(f"fault_{fault}" for fault in FAULTS)) if name not in runs]
    if missing:
        raise Wrong(f"no result of {', '.join(missing)}")
    for name in ("whole", "skip_self_scan"):
        if int(runs[name]["passed"]) != TESTS or int(runs[name]["skipped"]) or runs[name]["red"]:
            raise Wrong(f"{name}: {runs[name]['red'] or f'{TESTS} tests did not pass'}")
    for fault, test in FAULTS.items():
        if test not in runs[f"fault_{fault}"]["red"].split(","):
            raise Wrong(f"fault {fault} does not turn {test} red")


STAGE = Stage(title="Simple hazard pointers: tests that need no race", boots=[Boot(SCRIPT, cpus=4, limit_s=300)], table=table,
              config=("lockdep",), modules=("kunit", "shazptr_kunit"))
