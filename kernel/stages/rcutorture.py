# SPDX-License-Identifier: MIT
"""The kernel's own torture of RCU on the patched kernel: CPUs come and go, and the early report is switched on and off."""
import re

from stage import Boot, Stage, Wrong, columns

SECONDS = 40
TYPES = ("rcu", "srcu", "busted")  # the last one is broken, and must be found


def script(types, seconds=SECONDS):
    return f"""
[ -e /sys/module/torture ] || mod torture
for type in {' '.join(types)}; do
	echo "@@ torture $type"
	mod rcutorture torture_type=$type onoff_interval=200 onoff_holdoff=5 stat_interval=10 stutter=3 n_barrier_cbs=2 shutdown_secs=0
	for second in $(seq {seconds}); do
		echo $((second % 2)) >/sys/module/rcutree/parameters/early_gp_qs
		sleep 1
	done
	rmmod rcutorture
	echo 1 >/sys/module/rcutree/parameters/early_gp_qs
	echo "@@ ended $type"
done
"""


def one_type(console, name):
    """(how it ended, {what: number}) of the torture of a type."""
    match = re.search(rf"^@@ torture {name}$(.*?)^@@ ended {name}$", console, re.M | re.S)
    end = re.findall(r"--- End of test: (\w+)", match.group(1)) if match else []
    if not end:
        raise Wrong(f"{name}: the torture did not end")
    pipe = [sum(map(int, numbers.split()[2:])) for numbers in re.findall(r"Reader Pipe: ([ \d]+)", match.group(1))]
    online = re.findall(r"onoff: (\d+)/(\d+):", match.group(1))
    barriers = re.findall(r"barrier: (\d+)/(\d+):(\d+)", match.group(1))
    reads = re.findall(r"Reader Pipe: +(\d+)", match.group(1))
    return end[-1], {"reads": reads[-1] if reads else "?", "too old": pipe[-1] if pipe else "?",
                     "CPUs on": online[-1][0] if online else "?", "barriers": barriers[-1][0] if barriers else "?"}


def table(consoles):
    rows, wrong = [("type", "end", "reads", "too old", "CPUs on", "barriers")], []
    for name in TYPES:
        end, counts = one_type(consoles["broken" if name == "busted" else "boot"], name)
        rows.append((name, end, *counts.values()))
        if end != ("FAILURE" if name == "busted" else "SUCCESS"):
            wrong.append(f"{name}: {end}")
        elif idle := [what for what in ("reads", "CPUs on", "barriers") if name != "busted" and counts[what] in ("?", "0")]:
            wrong.append(f"{name}: no {', '.join(idle)}")
    yield f"{SECONDS} seconds each; stutter, barriers and CPU hotplug; rcutree.early_gp_qs changes each second"
    yield "A broken kind of RCU is among them, to show that the torture finds one: it must end with FAILURE."
    yield ""
    yield from columns(rows)
    if wrong:
        raise Wrong("; ".join(wrong))


STAGE = Stage(
    title="rcutorture on the patched kernel",
    boots=[Boot(script(TYPES[:-1]), cpus=2, limit_s=600),
           Boot(script(TYPES[-1:]), "broken", cpus=2, limit_s=300, expected="rcutorture")],
    table=table,
    modules=("torture", "rcutorture"),
)
