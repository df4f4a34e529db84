# SPDX-License-Identifier: MIT
"""lull's mutex where the kernel has FUTEX2_SPIN: it finds that out by itself, its tests pass, and `lull mutexscale` runs."""
import json

from stage import Boot, Stage, Wrong, clock, columns, pairs, said

SCHEMES = ("pthread", "lull-mutex-none", "lull-mutex-rseq", "lull-mutex-kernel")
# Programs of tests/, and the files of each that are run.
TESTS = ("mutex.public/mutex", "mutex.public/heir", "mutex.public/robust", "mutex.public/cond",
         "mutex.hostile/process", "mutex.hostile/shared", "owner_runs.inside.owner/owner")
THREADS, SECTIONS = ("2", "4"), ("1us", "50us")
METRICS = {"sections": "sections/s", "cpu": "CPU ns per section", "switches": "switches per section"}

# What is counted of spins while a command runs, as a line "@@ spins NAME KEY=N...".
SCRIPT = f"""
spins() {{ sed 's/ /=/' /sys/kernel/debug/futex_spin | tr '\\n' ' '; }}
lull doctor >/tmp/doctor 2>/tmp/progress || cat /tmp/progress
sed -n 's/^  spinning wait  *//p' /tmp/doctor | sed 's/^/@@ offered /'
sed -n 's/^  oracle  *//p' /tmp/doctor | sed 's/^/@@ oracle /'
for test in {" ".join(TESTS)}; do
	before=$(spins)
	LULL_OWNER_ORACLE=kernel ${{test%/*}} --file ${{test#*/}} >/tmp/said 2>&1 || {{ how=$?; tail -n 30 /tmp/said; echo "@@ fail $test ended with $how"; }}
	grep -q "is ignored" /tmp/said && echo "@@ fail $test ran with another oracle"
	echo "@@ before $test $before"
	echo "@@ after $test $(spins)"
	sed -n 's/^.*PASSED *. *\\([0-9]*\\) test.*$/\\1/p' /tmp/said | sed "s/^/@@ passed $test n=/"
done
echo "@@ before mutexscale $(spins)"
lull mutexscale --seconds 24 --runs 1 --threads {",".join(THREADS)} --section {",".join(SECTIONS)} \\
	--schemes {",".join(SCHEMES)} --json /tmp/results.json 2>/tmp/progress || {{ how=$?; cat /tmp/progress; echo "@@ fail mutexscale ended with $how"; }}
echo "@@ after mutexscale $(spins)"
echo "@@ json $(tr -d '\\n' </tmp/results.json)"
"""


def spins(console):
    """{name: {key: how often while it ran}}"""
    def counts(word):
        return {words[0]: {key: int(n) for key, n in pairs(words[1:]).items()} for words in said(console, word)}
    before, after = counts("before"), counts("after")
    return {name: {key: after[name][key] - before[name].get(key, 0) for key in after[name]} for name in before if name in after}


def results(console):
    """{(scheme, threads, section in ns, metric): median}"""
    lines = said(console, "json")
    if len(lines) != 1:
        raise Wrong("no results of lull mutexscale")
    root = json.loads(" ".join(lines[0]))
    return {(row["scheme"], row["threads"], row["section_ns"], row["metric"]): row["median"] for row in root["results"]}, root["oracle"]


def table(consoles):
    console = consoles["two-cpus"]
    for word, wanted in (("offered", "offered"), ("oracle", "kernel: the best one here")):
        found = " ".join(" ".join(words) for words in said(console, word))
        if found != wanted:
            raise Wrong(f"lull doctor says '{found}', and not '{wanted}'")
    passed = {words[0]: int(pairs(words)["n"]) for words in said(console, "passed")}
    counted = spins(console)
    if missing := [name for name in (*TESTS, "mutexscale") if name not in counted or not (name == "mutexscale" or passed.get(name))]:
        raise Wrong(f"nothing is known of {', '.join(missing)}")
    if not counted["mutexscale"]["spins"] or not sum(counted[name]["spins"] for name in TESTS):
        raise Wrong("the kernel has not spun for anybody")
    yield "lull chose the oracle `kernel` by itself. What the kernel counted in tests of the mutex and the condition variable with it:"
    rows = [("", "tests passed", "waits", "spins", "ended by the unlock", "owner did not run", "refused")]
    for name in (*TESTS, "mutexscale"):
        n = counted[name]
        rows.append((name, passed.get(name, ""), n["waits"], n["spins"], n["woken"] + n["changed"], n["idle_owner"], n["refused"]))
    yield from columns(rows)
    figures, oracle = results(console)
    if oracle != "kernel":
        raise Wrong(f"lull mutexscale names the oracle {oracle}")
    yield ""
    yield f"lull mutexscale ({clock(console)})"
    cells = sorted({key[1:3] for key in figures})
    rows = [("threads", "section, us", "lock", *METRICS.values())]
    for threads, section in cells:
        for scheme in SCHEMES:
            if (scheme, threads, section, "sections") not in figures:
                raise Wrong(f"no figures of {scheme}")
            rows.append((threads, f"{section / 1000:g}", scheme, *(f"{figures[scheme, threads, section, metric]:.3g}" for metric in METRICS)))
    yield from columns(rows)


STAGE = Stage(
    title="lull's mutex over FUTEX2_SPIN: its tests, and lull mutexscale",
    boots=[Boot(SCRIPT, "two-cpus", cpus=2, memory_mb=1024, limit_s=900)],
    table=table,
    own=("lull_tool", "lull_lab", "lull_peer_lull", "lull_peer_locks", *sorted({test.split("/")[0] for test in TESTS})),
)
