# SPDX-License-Identifier: MIT
"""Hazard pointers in a kernel that checks itself: lockdep, PROVE_RCU, sleeping where nobody may, objects, and KASAN.

Tests and torture run as they are, and the label in each of its ways. What the kernel reports about itself fails the stage.
"""
from stage import Boot, Stage, Wrong, columns, pairs, said

SECONDS = 15
WAYS = ("kref", "none", "hazptr", "hazptr_ready", "percpu_ref", "acquire")

SCRIPT = f"""
dmesg -n 5
mod kunit enable=1 autorun=1
for module in hazptr hazptr_faulty; do
	dmesg -c >/tmp/before
	cat /tmp/before >>/tmp/all
	mod $module
	mod $module"_test"
	rmmod $module"_test"
	dmesg -c >/tmp/said
	cat /tmp/said >>/tmp/all
	echo "@@ kunit module=$module passed=$(grep -cE '  +ok [0-9]+ ' /tmp/said) red=$(grep -cE '  +not ok [0-9]+ ' /tmp/said)"
	for type in context acquire; do
		mod $module"_torture" type=$type onoff_ms=300 stutter_ms=3000
		sleep {SECONDS}
		rmmod $module"_torture"
		dmesg -c >/tmp/said
		cat /tmp/said >>/tmp/all
		echo "@@ torture module=$module type=$type end=$(sed -n 's/.*End of test: //p' /tmp/said)" \\
			"$(grep -E 'hazptr-torture: (type|remote|late)=' /tmp/said | sed 's/.*hazptr-torture: //; s/type=[a-z]* //' | tr '\\n' ' ')"
	done
	rmmod $module
done
mod hazptr
for keep in {' '.join(WAYS)}; do
	dmesg -c >>/tmp/all
	mod label keep=$keep path=/run duration_ms=1000
	rmmod label
	echo "@@ label $(dmesg | sed -n 's/.*label: //p' | tr '\\n' ' ')"
done
rmmod hazptr
dmesg -c >>/tmp/all
grep -E 'BUG:|WARNING:|INFO:|suspicious|ODEBUG:' /tmp/all | sed 's/^/@@ fail /'
grep -oE 'Lock dependency validator|KernelAddressSanitizer initialized' /tmp/all | sort -u | sed 's/^/@@ checks /'
"""


def table(consoles):
    console = consoles["boot"]
    kunit, torture = ([pairs(words) for words in said(console, word)] for word in ("kunit", "torture"))
    labels = [pairs(words) for words in said(console, "label")]
    checks = {" ".join(words) for words in said(console, "checks")}
    yield f"Without a report of the kernel; {', '.join(sorted(checks))}."
    yield ""
    yield from columns([("KUnit", "passed", "red"), *((run["module"], run["passed"], run["red"]) for run in kunit)])
    yield ""
    keys = ("reads", "writes", "stutters", "onoff", "late", "unsound", "leaks", "end")
    yield from columns([("torture", "type", *keys), *((run["module"], run["type"], *(run.get(key, "?") for key in keys))
                                                      for run in torture)])
    yield ""
    yield from columns([("label", "opens", "replaced", "failures", "left"),
                        *((run["keep"], run["opens"], run["replaced"], run["failures"], run["left"]) for run in labels)])
    if len(checks) != 2:
        raise Wrong(f"this kernel does not check itself: {checks or 'nothing'}")
    if len(kunit) != 2 or any(int(run["red"]) or not int(run["passed"]) for run in kunit):
        raise Wrong("KUnit: not all tests passed")
    if len(torture) != 4 or any(run.get("end") != "SUCCESS" for run in torture):
        raise Wrong("torture: not all came through")
    if len(labels) != len(WAYS) or any(int(run["failures"]) or int(run["left"]) for run in labels):
        raise Wrong("label: an open failed, or a label was not freed")


STAGE = Stage(
    title="Hazard pointers in a kernel that checks itself",
    boots=[Boot(SCRIPT, cpus=2, memory_mb=1024, limit_s=480)],
    table=table,
    config=("prove", "kasan"),
    modules=("kunit", "hazptr", "hazptr_test", "hazptr_torture", "hazptr_faulty", "hazptr_faulty_test", "hazptr_faulty_torture",
             "label"),
)
