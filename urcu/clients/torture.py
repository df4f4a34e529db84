# SPDX-License-Identifier: MIT
"""liburcu's own torture and tests, from its source, with headers and libraries of a release: readers called and inlined.

The torture counts how many grace periods old what a reader holds is: rcu_stress_count. Only the first two numbers may be
other than 0. It is read here, since 0.13 prints "ok" whatever they are.
"""
import functools
import os
import pathlib
import re
import shutil
import subprocess

import client as clients
from client import Client, Result
from debian import Absent, Broken

HERE = pathlib.Path(__file__).resolve().parent
BUILT = HERE.parents[1] / "build/clients/built"
FLAVORS = {"memb": ("RCU_MEMBARRIER", "urcu"), "mb": ("RCU_MB", "urcu-mb"), "bp": ("RCU_BP", "urcu-bp"),
           "qsbr": ("RCU_QSBR", "urcu-qsbr")}
WORKERS = ("callrcu_global", "callrcu_percpu", "callrcu_perthread")
HAVE = ("HAVE_RAND_R", "HAVE_GETTID", "HAVE_SYSCONF", "HAVE_SCHED_GETCPU", "HAVE_SCHED_SETAFFINITY")
PART_S = 60  # for a program to come to its end, behind the time that it is told to run

# The parts built of liburcu's other tests: {name: (source, {macro}, libraries)}
TESTS = {
    "fork": ("regression/test_urcu_fork.c", "", ("urcu",)),
    # Without the signal flavor, which 0.15 no longer has.
    "multiflavor": ("unit/test_urcu_multiflavor*.c", "test_mf_signal=test_mf_mb", ("urcu-memb", "urcu-mb", "urcu-qsbr", "urcu-bp")),
    "urcu": ("benchmark/test_urcu.c", "", ("urcu",)),
    "mb": ("benchmark/test_urcu.c", "RCU_MB", ("urcu-mb",)),
    "bp": ("benchmark/test_urcu_bp.c", "", ("urcu-bp",)),
    "qsbr": ("benchmark/test_urcu_qsbr.c", "", ("urcu-qsbr",)),
    "gc": ("benchmark/test_urcu_gc.c", "", ("urcu",)),
    "qsbr_gc": ("benchmark/test_urcu_qsbr_gc.c", "", ("urcu-qsbr",)),
    "defer": ("benchmark/test_urcu_defer.c", "", ("urcu",)),
    "assign": ("benchmark/test_urcu_assign.c", "", ("urcu",)),
    "lfq": ("benchmark/test_urcu_lfq.c", "", ("urcu", "urcu-cds")),
    "lfs_rcu": ("benchmark/test_urcu_lfs_rcu.c", "", ("urcu", "urcu-cds")),
    "hash": ("benchmark/test_urcu_hash*.c", "RCU_QSBR", ("urcu-qsbr", "urcu-cds")),
}
# (program, arguments): one second each where there is a time
RUNS = [
    ("fork", ()), ("multiflavor", ()), ("urcu", (2, 1, 1)), ("mb", (2, 1, 1)), ("bp", (2, 1, 1)), ("qsbr", (2, 1, 1)),
    ("gc", (2, 1, 1, "-b", 64)), ("qsbr_gc", (2, 1, 1, "-b", 64)), ("defer", (2, 1, 1)), ("assign", (2, 1, 1)),
    ("lfq", (2, 2, 1, "-v")), ("lfs_rcu", (2, 2, 1)),
    ("hash", (2, 2, 1, "-A", "-s", "-M", 1, "-N", 1, "-O", 1)), ("hash", (2, 2, 1, "-A", "-u", "-M", 1, "-N", 1, "-O", 1)),
    ("hash", (2, 2, 1, "-A", "-s")), ("hash", (2, 2, 1, "-A", "-u", "-U", "-M", 1000, "-N", 1000)),
    ("hash", (2, 2, 1, "-A", "-B", "chunk")), ("hash", (2, 2, 1, "-A", "-B", "mmap")),
]


def compiler():
    found = shutil.which(os.environ.get("CC", "cc"))
    if not found:
        raise Absent("there is no C compiler")
    return found


def liburcu(release, libraries):
    """Words for a compiler: (the headers of @release, its libraries)."""
    urcu = next((release.root / "usr/include").glob("*/urcu.h"), None) or release.root / "usr/include/urcu.h"
    libs = next((release.root / "usr/lib").glob("*/liburcu.so"), None)
    if not libs:
        raise Absent(f"there is no liburcu.so in Debian {release.name}'s liburcu-dev")
    return ([f"-I{urcu.parent}"], [f"-L{libs.parent}", "-Wl,--allow-shlib-undefined", "-Wl,--no-as-needed",
                                   *(f"-l{one}" for one in libraries), "-lurcu-common"])


def source_door():
    """The same for a program that is compiled on lull: headers of liburcu's names, and what they need."""
    build = clients.where["build"]
    prefix = clients.prefix_of(build)
    return ([f"-I{HERE.parent}/include/lull/compat", f"-I{HERE.parent}/include", f"-I{prefix}/include"],
            [str(build / "source/liblull-urcu.a"), f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib", "-llull"])


def compiled(release, into, sources, defines, libraries, flags=(), door=None):
    """
    Compile for @release, whose headers and libraries are used, or those of another @door. Does nothing if @into is newer
    than its sources.
    """
    watched = [*map(pathlib.Path, sources), pathlib.Path(__file__)]
    if into.exists() and all(into.stat().st_mtime > path.stat().st_mtime for path in watched):
        return
    into.parent.mkdir(parents=True, exist_ok=True)
    headers, linked = door or liburcu(release, libraries)
    words = [compiler(), "-O2", "-g", "-w", "-pthread", "-D_GNU_SOURCE", *(f"-D{one}" for one in defines if one), *flags,
             *headers, *sources, *linked, "-o", f"{into}.new"]
    done = subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stdout.splitlines() if "error" in line] or [done.stdout[-300:]]
        raise Broken(f"{into.name} does not compile: {errors[0]}")
    os.replace(f"{into}.new", into)


def includes(source):
    return [f"-I{source}/tests/common", f"-I{source}/tests/utils", f"-I{source}/tests/regression", f"-I{source}/src"]


def torture_name(release, flavor, readers):
    return BUILT / release / f"rcutorture-{flavor}-{readers}"


def build_torture(release, folder, source, readers):
    for flavor, (macro, library) in FLAVORS.items():
        main = HERE / "rcutorture_called.c" if readers == "called" else source / "tests/regression/urcutorture.c"
        compiled(release, folder / f"rcutorture-{flavor}-{readers}", [main, HERE / "sleep_less.c", source / "tests/utils/tap.c"],
                 [macro, "TORTURE_QSBR" if flavor == "qsbr" else ""], [library], includes(source))


def build_tests(release, folder, source, readers):
    common = [source / "tests/utils/tap.c", source / "tests/common/debug-yield.c"]
    for name, (pattern, macro, libraries) in TESTS.items():
        found = sorted(path for path in (source / "tests").glob(pattern)
                       if not path.stem.endswith(("single_unit", "-signal")))
        compiled(release, folder / f"test-{name}-{readers}", [*found, *common],
                 [macro, "DYNAMIC_LINK_TEST" if readers == "called" else "", *HAVE], libraries,
                 includes(source))


def judge_stress(text):
    """Say what is wrong with the output of a torture, by its own numbers."""
    counts = re.search(r"rcu_stress_count:((?: -?\d+)+)", text)
    totals = re.search(r"n_reads: (\d+)\s+n_updates: (\d+)\s+n_mberror: (\d+)", text)
    if not counts or not totals:
        return f"no numbers: {text[-300:]}"
    numbers = [int(word) for word in counts.group(1).split()]
    reads, updates, errors = map(int, totals.groups())
    if any(numbers[2:]) or errors:
        return f"rcu_stress_count: {' '.join(map(str, numbers))}, n_mberror {errors}"
    if not reads or not updates or len(numbers) < 3:
        return f"nothing was tried: {reads} reads, {updates} updates"
    return ""


def refusal(status, text):
    """lull's line, if it would not run the program at all."""
    line = next((line for line in text.splitlines() if line.startswith("lull urcu: ")), "")
    return line if status not in (0, "timeout") else ""


def stress(room, release, flavor, readers, worker, milliseconds, **options):
    """(exit status, what it printed) of one torture."""
    return room.run(torture_name(release, flavor, readers), 2, "stress", 1, worker, timeout=milliseconds / 1000 + PART_S,
                    environment={"LULL_CLIENTS_SLEEP_MS": str(milliseconds)}, **options)


def timed(room, release, flavor, readers, how):
    """ns/read and ns/update of a reader and an updater, and ns/update of an updater alone."""
    program = torture_name(release, flavor, readers)
    found = {}
    for kind, cells in (("perf", ("read", "update")), ("uperf", ("update",))):
        status, text = room.run(program, 1, kind, timeout=60 + PART_S)
        for cell in cells if status == 0 else ():
            number = re.search(rf"ns/{cell}: +([\d.]+)", text)
            if number:
                name = f"{flavor}, ns for each {cell}{', no reader' if kind == 'uperf' else ''}"
                found[name] = float(number.group(1))
    return found


def run_torture(release, readers, room, how):
    result = Result()
    for number, flavor in enumerate(FLAVORS):
        for worker in WORKERS[number % 3:number % 3 + 1] if how.short else WORKERS:
            status, text = stress(room, release, flavor, readers, worker, 1500 if how.short else 10000)
            result.refused = refusal(status, text)
            if result.refused:
                return result
            wrong = judge_stress(text) if status == 0 else f"status {status}: {text[-300:]}"
            if wrong:
                result.wrong.append(f"{flavor}, {worker}: {wrong}")
            result.checked += sum(int(word) for word in re.findall(r"n_reads: (\d+)", text))
        if not how.short:
            result.figures.update(timed(room, release, flavor, readers, how))
    return result


def run_tests(release, readers, room, how):
    result = Result()
    for name, arguments in RUNS:
        status, text = room.run(BUILT / release / f"test-{name}-{readers}", *arguments, timeout=PART_S)
        result.refused = refusal(status, text)
        if result.refused:
            return result
        if status != 0 or "not ok" in text or "lull: " in text:
            result.wrong.append(f"{name} {' '.join(map(str, arguments))}: status {status}: {text[-300:]}")
        result.checked += 1
    return result


FIGURES = tuple((f"{flavor}, ns for each {cell}",) * 2 + ("less",) for flavor in FLAVORS
                for cell in ("read", "update", "update, no reader"))


def all_clients():
    for release, version in (("bookworm", "0.13"), ("trixie", "0.15")):
        for readers in ("called", "inlined"):
            yield Client(f"torture-{version}-{readers}", release, "liburcu-dev", ("liburcu-dev",), readers,
                         "rcutorture of 0.13.2, four flavors, three kinds of call_rcu workers",
                         functools.partial(run_torture, release, readers), FIGURES, "liburcu",
                         functools.partial(build_torture, readers=readers))
            yield Client(f"tests-{version}-{readers}", release, "liburcu-dev", ("liburcu-dev",), readers,
                         "test_urcu_fork, _multiflavor, _gc, _defer, _lfq, _lfs_rcu, _hash and others of 0.13.2",
                         functools.partial(run_tests, release, readers), (), "liburcu",
                         functools.partial(build_tests, readers=readers))


CLIENTS = list(all_clients())
