# SPDX-License-Identifier: MIT
"""Make the slips of a careless maintainer, one at a time, and see that a test of the part notices.

usage: scripts/mutate --meaning [--all] [--again | --retry] [--lanes N] [PATTERN...]
       scripts/mutate --meaning --others N [--seed S]
       scripts/mutate --meaning --sample N [--seed S]
       scripts/mutate --meaning --report | --list [PATTERN...] | --self-test

scripts/careless.py finds the slips: a comparison or a constant off by one, a branch dropped, an argument
swapped, a statement left out, a unit wrong, an error ignored.  About one in twenty-four of each function is made
(--all: each).  Each is built in a copy of the tree, and the unit tests of the folder that it is in
are run, those first that have noticed most, until one is red or hangs.  After them come those of the
folders above, which rest on it.  What survives is tried once more with the address and leak sanitizers.
It takes hours; what was found is kept in build/meaning and is not done again while the function is
the same (--again does; --retry does what survived).  Two lanes work at a time.

Tests were written for what survived, so --others N makes N that are not among these, by chance: their score is what
one may expect of any slip.

model/meaning has a line "NAME: argument" for each survivor that changes nothing a program could see.
--report writes docs/results/meaning.md, which lists the other ones, and meaning.tsv beside it, which has
a line for each.  --sample takes N of those that a test without sanitizers has killed, by chance, and sees that the same test
still does, but for one in ten: for CI.  Exit 1 when something survives.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import careless
from mutant_tree import TreeCopy, read
from source import COMPAT

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build", "meaning")
RESULTS = os.path.join(BUILD, "results.json")
EQUIVALENT = "model/meaning"
PAGE, TABLE = "docs/results/meaning.md", "docs/results/meaning.tsv"
TRIES = 5      # of a sampled slip
AT_A_TIME = 3  # tests of a lane; most of them sleep

# Whose tests a file of this folder has to fear: those of its own, then of those that rest on it.
ABOVE = {
    "os": ["base", "watch", "mutex", "rcu", "reclaim", "count"],
    "base": ["base", "rcu", "watch", "reclaim", "hazptr", "mutex", "count", "check"],
    "rcu": ["rcu", "base", "reclaim", "watch", "check"],
    "hazptr": ["hazptr", "reclaim", "watch", "check"],
    "reclaim": ["reclaim", "watch", "hazptr", "rcu", "base"],
    "cohort": ["cohort"],
    "count": ["count", "check"],
    "hash": ["hash", "check"],
    "mutex": ["mutex", "watch", "oracle"],
    "owner_runs": ["oracle", "mutex"],
    "watch": ["watch", "rcu", "mutex", "reclaim"],
    "check": ["check", "rcu", "hazptr", "mutex"],
    "structure": ["structure"],
    "compat": ["compat"],
    "tools": ["tools"],
}
HEADERS = [("hazptr", "hazptr"), ("shazptr", "hazptr"), ("hlist|list", "structure"), ("hash", "hash"), ("mutex|cond", "mutex"),
           ("percpu|ref", "count"), ("rcu", "rcu"), ("reclaim|bridge|defer|bag|queue", "reclaim"), ("stats|debug|stall", "watch"),
           ("check", "check"), ("", "base")]


def folder_of(file):
    top, _, rest = file.partition("/")
    if top == "src":
        return rest.partition("/")[0] if "/" in rest else "base"
    if top == "tools":
        return "tools"
    if file.startswith(COMPAT):
        return "compat"
    return next(folder for start, folder in HEADERS if re.match(start, os.path.basename(file)))


def unit_tests(folder):
    path = os.path.join(ROOT, "tests", "unit", folder)
    return {name[:-2] for name in os.listdir(path) if name.startswith("test_")} if os.path.isdir(path) else set()


RUNNING = set()  # what has to end when this does


def give_up(*_):
    for pid in list(RUNNING):
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    os._exit(1)


class Test:
    def __init__(self, found):
        properties = {p["name"]: p["value"] for p in found["properties"]}
        self.name, self.command = found["name"], found["command"]
        self.environment = dict(v.split("=", 1) for v in properties.get("ENVIRONMENT", []))
        self.program = os.path.basename(self.command[0])
        self.seconds = None

    def limit(self):
        return 20 + 10 * self.seconds


class Lane(TreeCopy):
    """A copy of the tree, and what is built of it."""

    def __init__(self, name, sanitized=False):
        folder = os.path.join(BUILD, name)
        self.options = ["-DLULL_SANITIZE=address,leak,undefined"] if sanitized else []
        self.before = ["setarch", "--addr-no-randomize"] if sanitized else []
        self.note = " sanitized" if sanitized else ""
        super().__init__(ROOT, os.path.join(folder, "tree"))
        self.out = os.path.join(folder, "out")
        self.tests, self.good = {}, {}

    def configure(self):
        subprocess.run(["cmake", "-S", self.tree, "-B", self.out, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DLULL_DEBUG=ON",
                        "-DCMAKE_C_FLAGS=-Werror=incompatible-pointer-types -Werror=int-conversion -Werror=format",
                        "-DCMAKE_LINK_DEPENDS_NO_SHARED=ON", "-DLULL_BUILD_TESTS=ON", "-DLULL_TEST_CXX=OFF",
                        "-DLULL_BUILD_EXAMPLES=OFF", *self.options], check=True, stdout=subprocess.DEVNULL)

    def prepare(self, programs):
        self.copy()
        self.configure()
        if self.build(programs):  # what a run that was killed has left behind, perhaps
            shutil.rmtree(self.out)
            self.configure()
        error = self.build(programs)
        if error:
            sys.exit(f"mutate: the tree does not build without a mutant:\n{error[-3000:]}")
        # Which has the command of a program that is there.
        said = subprocess.run(["ctest", "--test-dir", self.out, "--show-only=json-v1"], check=True, stdout=subprocess.PIPE)
        for found in json.loads(said.stdout)["tests"]:
            if "command" in found and re.match(r"test_", found["name"]):
                test = Test(found)
                self.tests[test.name] = test
        self.good = {program: self.hash(program) for program in list(programs) + ["lull"]}

    def build(self, programs):
        run = subprocess.run(["ninja", "-C", self.out, "-j2"] + sorted(programs) + ["lull"], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, check=False)
        return run.stdout if run.returncode else None

    def hash(self, program):
        path = os.path.join(self.out, "tests", program)
        if program == "lull":
            path = os.path.realpath(os.path.join(self.out, "src", "liblull.so"))
        return hashlib.sha256(read(path)).hexdigest()

    def is_same(self, programs):
        return all(self.hash(program) == self.good[program] for program in list(programs) + ["lull"])

    def run(self, test, limit, over):
        """"red", "green", "hangs", or None when it is @over."""
        def bounds():
            if not self.before:  # shadow memory would count
                resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        began = time.time()
        with subprocess.Popen(self.before + test.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                              env={**os.environ, **test.environment}, start_new_session=True, cwd=self.out,
                              preexec_fn=bounds) as run:
            RUNNING.add(run.pid)
            try:
                while run.poll() is None and time.time() - began < limit and not over.is_set():
                    time.sleep(0.02)
                status = run.poll()
            finally:
                RUNNING.discard(run.pid)
                try:
                    os.killpg(run.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        if status is None:
            return None if over.is_set() else "hangs"
        return "red" if status else "green"

    def measure(self, names):
        """How long each takes when nothing is wrong. One that is red then says nothing of a mutant."""
        def one(name):
            began = time.time()
            if self.run(self.tests[name], 300, threading.Event()) == "green":
                self.tests[name].seconds = time.time() - began
            else:
                print(f"{name} is not green without a mutant, and says nothing of one", flush=True)
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
            list(pool.map(one, sorted(names)))

    def judge(self, slip, groups):
        """(verdict, the test that noticed). The programs of a group of names are built when those before did not notice."""
        self.put(slip.file, slip.apply().encode())
        differs = False
        try:
            for names in groups:
                programs = {self.tests[name].program for name in names}
                if self.build(programs):
                    return "no build", ""
                if self.is_same(programs):
                    continue
                differs = True
                noticed = self.run_all(names)
                if noticed:
                    return "killed", noticed + self.note
            return ("survives" if differs else "same"), ""
        finally:
            self.put(slip.file, slip.source.text.encode())

    def run_all(self, names):
        """Return how the first of @names that notices says so, and its name."""
        over, killer = threading.Event(), []

        def one(name):
            if over.is_set():
                return
            verdict = self.run(self.tests[name], self.tests[name].limit(), over)
            if verdict in ("red", "hangs") and not over.is_set():
                over.set()
                killer.append(f"{verdict} {name}")
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
            list(pool.map(one, names))
        return killer[0] if killer else None


class Session:
    """Who tests what, and what has come of it."""

    def __init__(self, slips):
        self.slips, self.results, self.lock = slips, {}, threading.Lock()
        if os.path.exists(RESULTS):
            with open(RESULTS, encoding="utf-8") as file:
                self.results = json.load(file)
        self.kills = {}  # file -> {test: how often}
        for name, found in self.results.items():
            self.count_kill(name.partition(":")[0], found["by"])

    def count_kill(self, file, by):
        if by:
            of_file = self.kills.setdefault(file, {})
            of_file[by.split()[1]] = of_file.get(by.split()[1], 0) + 1

    def found(self, slip):
        """What came of it, if it has been made since its function changed."""
        found = self.results.get(slip.name)
        return found if found and found["hash"] == slip.hash() else None

    def tests_for(self, slip, tests):
        """Groups of names, in the order in which they are run: those that noticed most, the folder's own, those above."""
        order, kills = [], self.kills.get(slip.file, {})
        for folder in ABOVE[folder_of(slip.file)]:
            stems = unit_tests(folder)
            seen = {name for group in order for name in group}
            mine = [t for t in tests.values() if t.seconds is not None and t.program in stems and t.name not in seen]
            mine.sort(key=lambda t: (-kills.get(t.name, 0), t.seconds))
            order.append([t.name for t in mine])
        flat = [name for group in order for name in group]
        often = sorted((name for name in flat if kills.get(name)), key=lambda name: -kills[name])[:AT_A_TIME]
        own = [name for name in order[0] if name not in often]
        above = [name for name in flat if name not in often and name not in own]
        return [group for group in (often, own, above) if group]

    def keep(self, slip, verdict, by, seconds):
        with self.lock:
            before = self.found(slip)
            self.results[slip.name] = {"hash": slip.hash(), "verdict": verdict, "by": by, "line": slip.line(),
                                       "what": slip.describe(), "seconds": round(seconds, 1),
                                       "first": before.get("first", before["verdict"]) if before else verdict}
            self.count_kill(slip.file, by)
            os.makedirs(BUILD, exist_ok=True)
            with open(RESULTS + ".new", "w", encoding="utf-8") as file:
                json.dump(self.results, file, indent=1, sort_keys=True)
            os.replace(RESULTS + ".new", RESULTS)

    def run(self, due, lanes):
        self.run_in(due, [Lane(str(number)) for number in range(lanes)])
        because = arguments()
        alive = [slip for slip in due if self.found(slip)["verdict"] == "survives" and slip.name not in because]
        if alive:
            self.run_in(alive, [Lane(f"sanitized-{number}", True) for number in range(lanes)])

    def run_in(self, due, made):
        stems = {stem for slip in due for folder in ABOVE[folder_of(slip.file)] for stem in unit_tests(folder)}
        for lane in made:
            lane.prepare(stems)
        names = [t.name for t in made[0].tests.values() if t.program in stems]
        made[0].measure(names)
        for lane in made[1:]:
            for name in names:
                lane.tests[name].seconds = made[0].tests[name].seconds
        left, done = list(reversed(due)), [0]

        def work(lane):
            while True:
                with self.lock:
                    if not left:
                        return
                    slip = left.pop()
                    order = self.tests_for(slip, lane.tests)
                began = time.time()
                verdict, by = lane.judge(slip, order)
                self.keep(slip, verdict, by, time.time() - began)
                done[0] += 1
                print(f"{done[0]}/{len(due)} {slip.name}: {verdict} {by} {time.time() - began:.0f} s: {slip.describe()}",
                      flush=True)
        with concurrent.futures.ThreadPoolExecutor(len(made)) as pool:
            for future in [pool.submit(work, lane) for lane in made]:
                future.result()


def arguments():
    """{name: why it changes nothing}"""
    path, found = os.path.join(ROOT, EQUIVALENT), {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"\n[ \t]+", " ", file.read())
        for line in text.split("\n"):
            if line and not line.startswith("#"):
                name, _, why = line.partition(": ")
                found[name] = why
    return found


# ---- the page, and the sample -----------------------------------------------------------------


def report(session, slips, others, where):
    """Write the page and the table, of what is in @slips and was made; and of @others, which are not in the table."""
    because, rows, lines = arguments(), {}, []
    total = {"killed": 0, "equivalent": 0, "survives": 0}
    alive = []
    others = [(slip, session.found(slip)) for slip in others if session.found(slip)]
    alive_others = [slip for slip, found in others if found["verdict"] == "survives" and slip.name not in because]
    # As it was before tests were written for them.
    first = [found.get("first", found["verdict"]) for slip, found in others if slip.name not in because]
    killed_first, judged_first = first.count("killed"), first.count("killed") + first.count("survives")
    with open(os.path.join(ROOT, TABLE), "w", encoding="utf-8") as table:
        for slip in slips:
            found = session.found(slip)
            if not found or found["verdict"] in ("no build", "same"):
                continue
            verdict = found["verdict"]
            if verdict == "survives" and slip.name in because:
                verdict = "equivalent"
            elif verdict == "survives":
                alive.append(slip)
            total[verdict] += 1
            for row in (f"`{os.path.dirname(slip.file)}`", slip.kind):
                rows.setdefault(row, {"killed": 0, "equivalent": 0, "survives": 0})[verdict] += 1
            print(slip.name, slip.hash(), verdict, found["by"] or "-", slip.describe(), sep="\t", file=table)
    judged = total["killed"] + total["survives"]
    due = sum(not session.found(slip) for slip in slips)
    lines = ["# Mutation score of the meaning", "", INTRODUCTION.strip(), "",
             f"**{total['killed']} of {judged} killed: {100 * total['killed'] / max(judged, 1):.1f} %.** {total['equivalent']} more change nothing "
             "that a program could see; `model/meaning` says why."
             + (f" Of {len(slips)} slips that were chosen {due} have not been made yet, or not since the function changed; those that "
                "have been are a sample by chance." if due else ""), ""]
    if judged_first:
        lines += [OTHERS.strip(), "",
                  f"**Of {judged_first} others {killed_first} were killed: {100 * killed_first / judged_first:.1f} %.** "
                  f"{len(alive_others)} of them survive by now.", ""]
    head = ["where, or what", "mutants", "killed", "survive", "equivalent"]
    lines += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in sorted(rows, key=lambda r: (not r.startswith("`"), r)):
        counts = rows[row]
        lines.append(f"| {row} | {sum(counts.values())} | {counts['killed']} | {counts['survives']} | {counts['equivalent']} |")
    lines += ["", "## Survivors", ""] + [f"* `{slip.name}`: {slip.describe()}" for slip in alive + alive_others]
    lines += ["", "## Do it again", "", "    scripts/mutate --meaning             # hours; resumes; --again starts afresh",
              "    scripts/mutate --meaning --report    # this page", "", *where, ""]
    with open(os.path.join(ROOT, PAGE), "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    print(f"mutate: {total['killed']} of {judged} killed, {total['equivalent']} equivalent")
    return 1 if alive else 0


OTHERS = """
Tests were written for those that survived at first, so this score says how much was looked at, and little of what is
still to be found. A slip outside of this set says more. Some were taken by chance, and made once with the tests that there
were:
"""
INTRODUCTION = """
Slips of a careless maintainer, of the kinds that are named below, were made one at a time in `src/`, `include/lull/` and
the pure parts of the tools: about one in twenty-four of those that there are, and at least one in every function of some
size. A unit test of the part had to go red, or hang. `scripts/careless.py` makes them; orders of memory are
[elsewhere](mutation.md). Slips that no compiler accepts and those in code that this machine does not compile do not count.
"""


def sample(slips, count, seed):
    """See that @count of the killed ones are still killed by the test that did it."""
    known = {slip.name: slip for slip in slips}
    listed = []
    with open(os.path.join(ROOT, TABLE), encoding="utf-8") as file:
        for line in file:
            name, digest, verdict, by, _ = line.rstrip("\n").split("\t")
            if verdict == "killed" and len(by.split()) == 2 and by.startswith("red ") and name in known and known[name].hash() == digest:
                listed.append((known[name], by.split()[1]))
    seed = seed if seed is not None else random.randrange(1000000)
    print(f"mutate: {count} of {len(listed)} slips, --seed {seed}", flush=True)
    taken = random.Random(seed).sample(listed, min(count, len(listed)))
    stems = {test.partition("-")[0] for _, test in taken}
    lane = Lane("sample")
    lane.prepare(stems)
    lane.measure({test for _, test in taken})
    alive = 0
    for slip, test in taken:
        # A test that goes by chance has several.
        tries = 0
        verdict = "not tried: the test is red as it is"
        while lane.tests[test].seconds is not None and verdict != "killed" and tries < TRIES:
            verdict, _ = lane.judge(slip, [[test]])
            tries += 1
        alive += verdict != "killed"
        print(f"{verdict}: {slip.name} by {test}: {slip.describe()}", flush=True)
    failed = max(alive - len(taken) // 10, 0)
    print(f"mutate --meaning: {len(taken) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not taken else 0


def not_in(slips, every):
    names = {slip.name for slip in slips}
    return [slip for slip in every if slip.name not in names]


def main(given, where):
    parser = argparse.ArgumentParser(prog="scripts/mutate --meaning", description="Make slips, and see that a test notices.")
    for name in ("all", "again", "retry", "report", "list", "self-test"):
        parser.add_argument("--" + name, action="store_true")
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("--others", type=int, metavar="N")
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--seed", type=int)
    parser.add_argument("pattern", nargs="*")
    args = parser.parse_args(given)
    if args.self_test:
        with tempfile.TemporaryDirectory() as folder:
            return careless.self_test(folder)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, give_up)
    every = [slip for source in careless.sources(ROOT) for slip in careless.slips_of(source)]
    if args.sample:
        return sample(every, args.sample, args.seed)
    slips = every if args.all else list(careless.chosen(every))
    if args.others:
        slips = not_in(slips, every)
        slips = random.Random(args.seed or 1).sample(slips, min(args.others, len(slips)))
    slips = [s for s in slips if not args.pattern or any(p in s.name for p in args.pattern)]
    if not slips:
        print("mutate: no such slip")
        return 2
    if args.list:
        print("\n".join(f"{s.name}: {s.describe()}" for s in slips))
        return 0
    session = Session(slips)
    if args.report:
        return report(session, slips, not_in(slips, every), where())
    because = arguments()
    # In an order of chance: a run that is cut off has seen a fair part of them.
    due = [s for s in slips if args.again or not session.found(s) or
           (args.retry and session.found(s)["verdict"] == "survives" and s.name not in because)]
    due.sort(key=lambda s: careless.chance(s.hash()))
    if due:
        session.run(due, args.lanes)
    alive = [s for s in slips if session.found(s)["verdict"] == "survives" and s.name not in because]
    for slip in alive:
        print(f"survives: {slip.name}: {slip.describe()}")
    counts = [session.found(s)["verdict"] for s in slips]
    print(f"mutate: {counts.count('killed')} of {counts.count('killed') + len(alive)} killed, "
          f"{counts.count('survives') - len(alive)} equivalent, {counts.count('no build')} do not build, "
          f"{counts.count('same')} are not in this build")
    return 1 if alive else 0
