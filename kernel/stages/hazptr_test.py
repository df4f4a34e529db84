# SPDX-License-Identifier: MIT
"""Hazard pointers: KUnit tests of what needs no race; and each fault, which must turn one of them red.

The two mistakes that were published are among them: "forget", a wait that goes on without its pointer, and "two_phase", a
scan in two phases that a reader escapes by hazptr_detach().
"""
import re

from stage import Boot, Stage, Wrong, columns, pairs, said

# The test that each fault must turn red.
TESTS, TESTS_OF_FAULTS = 8, 22  # as they are built for use, and with what makes faults
FAULTS = {
    "no_reload": "changed_pointer_is_noticed",
    "one_slot": "named_object_stays",
    "scan_first": "what_comes_after_the_snapshot_waits",
    "forget": "wait_keeps_its_pointer",
    "two_phase": "detach_does_not_hide_from_the_scan",
    "lists_first": "detach_in_a_wait_does_not_hide",
    "skip_wildcard": "wildcard_in_a_slot_is_waited_for",
    "skip_parked": "wildcard_in_a_list_is_waited_for",
    "online_only": "offline_cpu_is_scanned",
}

SCRIPT = f"""
count()
{{
	dmesg >/tmp/said
	echo "@@ run broken=$1 passed=$(grep -cE '^[^#]*  +ok [0-9]+ [^#]*$' /tmp/said)" \\
		"skipped=$(grep -cE '  +ok [0-9]+ .*# SKIP' /tmp/said)" \\
		"red=$(sed -nE 's/.*  +not ok [0-9]+ ([a-z_]+)$/\\1/p' /tmp/said | tr '\\n' ',')"
}}
dmesg -n 5
mod kunit enable=1 autorun=1
dmesg -c >/dev/null
mod hazptr
mod hazptr_test
count product
rmmod hazptr_test
rmmod hazptr
for broken in none {' '.join(FAULTS)}; do
	dmesg -c >/dev/null
	mod hazptr_faulty broken=$broken
	mod hazptr_faulty_test
	count $broken
	rmmod hazptr_faulty_test
	rmmod hazptr_faulty
done
"""


def table(consoles):
    runs = {words["broken"]: words for words in map(pairs, said(consoles["boot"], "run"))}
    rows = [("", "passed", "skipped", "red")]
    for name, words in runs.items():
        red = [test for test in words["red"].split(",") if test]
        rows.append((name, words["passed"], words["skipped"], ", ".join(red) or "-"))
    yield "KUnit tests, as they are built for use, built with faults, and with each fault"
    yield ""
    yield from columns(rows, right=False)
    missing = [name for name in ("product", "none", *FAULTS) if name not in runs]
    if missing:
        raise Wrong(f"no result of {', '.join(missing)}")
    for name, tests in (("product", TESTS), ("none", TESTS_OF_FAULTS)):
        if int(runs[name]["passed"]) != tests or int(runs[name]["skipped"]) or runs[name]["red"]:
            raise Wrong(f"{name}: {runs[name]['red'] or f'{tests} tests did not pass'}")
    for name, test in FAULTS.items():
        if test not in runs[name]["red"].split(","):
            raise Wrong(f"broken={name} does not turn {test} red")


STAGE = Stage(
    title="Hazard pointers: tests that need no race",
    boots=[Boot(SCRIPT, cpus=2, limit_s=240)],
    table=table,
    modules=("kunit", "hazptr", "hazptr_test", "hazptr_faulty", "hazptr_faulty_test"),
)
