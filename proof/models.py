#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the models in model/: the memory-model tests under herd7, the bounded models under cbmc or ESBMC, or compiled.

usage: proof/models.py [-j N] [-v] [--again] [--times] [--keep DIR] [NAME...]

A NAME picks the models whose names contain it, as rcu/enter.tpl.  Without one all models run but for those that have
passed on this machine since anything changed that their verdict depends on (see Passed; --again: these too).
Each model must hold as it is written, and its bad outcome, what `exists` says, must be reached in each twin in which
one order is weakened (see expand.py).  A data race in a twin is not enough, unless its mark says "race"; these twins
are listed.  Where `exists` has several alternatives, each must be reached in one of the twins.  A model of model/real
must fail with each of the mutants in the list `mutants` that name it.

Prints one line per failure and a closing line, "N passed, N failed, N skipped"; exit 1 when anything failed, 77 when
nothing could be run.  herd7, cbmc and esbmc are fetched by scripts/setup-herd unless $HERD7, $CBMC and $ESBMC name
them; the C compiler is cc, or $CC.  Where one cannot be fetched, its models are skipped: each is named, with the
reason.  A run of all herd7's models also judges the variants of the test in `wrong`, whose defects must be noticed.
"""
import argparse
import concurrent.futures
import contextlib
import functools
import hashlib
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import expand
from mutate import orders
from source import files

PROOF = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(PROOF)
MODEL = os.path.join(PROOF, "model")
WRONG = os.path.join(PROOF, "wrong")
PASSED = os.path.join(ROOT, "build", "models-passed.json")
# What has passed on this machine, in any working copy, as ccache has its objects: a file for each key, with the count.
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "lull", "models")
# All models that are used here forbid what is not coherent location by location, so herd7 need not put it together.
HERD = ["-optace", "true"]
# How a model is compiled that is for cc: what it does not call need not be there.
COMPILE = ["-O2", "-w", "-D_GNU_SOURCE", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"]
CHUNK = 40  # tests per run of herd7: starting it costs as much as one test


@functools.lru_cache(None)
def tool(name):
    """(the program, None), or (None, why there is none)"""
    given = os.environ.get(name.upper())
    if name == "cc" and not given:
        return shutil.which("cc"), None if shutil.which("cc") else "there is no C compiler"
    if given:
        if not shutil.which(given):
            sys.exit(f"models: {name.upper()}={given} is no program")
        return given, None
    setup = subprocess.run([os.path.join(ROOT, "scripts", "setup-herd"), name],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if setup.returncode:
        said = setup.stderr.strip().split("\n")[-1]
        return None, said.removeprefix("setup-herd: ") or f"scripts/setup-herd {name} failed"
    return setup.stdout.strip(), None


def run_tool(command):
    """Its two outputs, its exit status, and the processor time that it took."""
    with tempfile.TemporaryFile("w+") as errors, \
         subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        return said, errors.read(), process.returncode, usage.ru_utime + usage.ru_stime


class Outcome:
    """A verdict of herd7 about one test."""

    def __init__(self, text):
        seen = re.search(r"^Observation \S+ (\w+) (\d+) (\d+)", text, re.M)
        self.seen = bool(seen)
        self.word = seen.group(1) if seen else "nothing"
        self.executions = int(seen.group(2)) + int(seen.group(3)) if seen else 0
        self.race = bool(re.search(r"^Undef$|^Flag \*undef\*", text, re.M))
        took = re.search(r"^Time \S+ ([\d.]+)", text, re.M)
        self.seconds = float(took.group(1)) if took else 0.0
        self.reached = self.word in ("Sometimes", "Always")  # what `exists` says, whether or not there is a race
        condition = re.search(r"^Condition exists (.*)", text, re.M)
        self.condition = condition.group(1) if condition else ""
        part = re.search(r"^States \d+\n(.*?)^(?:Ok|No|Undef|Loop)$", text, re.M | re.S)
        self.states = [dict(re.findall(r"(\S+?)=(\S+);", line)) for line in part.group(1).splitlines()] if part else []

    def __str__(self):
        return self.word + (" with a data race" if self.race else "")


def alternatives(condition):
    """The ways in which @condition, as herd7 prints it, may come true: [[(is it so?, place, value)]]"""
    words = re.findall(r"\\/|/\\|[()]|not\b|[^\s()=]+=[^\s()]+", condition)

    def alternative():
        ways = both()
        while words[:1] == ["\\/"]:
            del words[0]
            ways += both()
        return ways

    def both():
        ways = one()
        while words[:1] == ["/\\"]:
            del words[0]
            more = one()
            ways = [a + b for a in ways for b in more]
        return ways

    def one():
        word = words.pop(0)
        if word == "not":
            return [list(way) for way in itertools.product(*[[(not so, place, value) for so, place, value in way]
                                                             for way in one()])]
        if word == "(":
            ways = alternative()
            words.pop(0)
            return ways
        return [[(True,) + tuple(word.split("=", 1))]]

    return alternative()


def say_way(way):
    return " /\\ ".join(f"{place}{'=' if so else '!='}{value}" for so, place, value in way)


def is_true(way, state):
    return all((state.get(place) == value) == so for so, place, value in way)


def run_herd(herd, folder, names):
    """(name -> Outcome, seconds)"""
    outcomes = {}
    with open(os.path.join(folder, names[0] + ".litmus"), encoding="utf-8") as file:
        in_c = file.read(2) == "C "
    command = [herd] + HERD + (["-model", os.path.join(MODEL, "lull.cat")] if in_c else [])
    command += [os.path.join(folder, name + ".litmus") for name in names]
    output, errors, _, seconds = run_tool(command)
    for part in re.split(r"^(?=Test )", output, flags=re.M):
        head = re.match(r"Test (\S+)", part)
        if head:
            outcomes[head.group(1)] = Outcome(part)
    for name in names:
        if name not in outcomes:
            error = [l for l in errors.split("\n") if name in l] or errors.split("\n")
            outcomes[name] = Outcome("")
            outcomes[name].word = "nothing: " + " ".join(error)[:300]
    return outcomes, seconds


def judge(group, tests, outcomes):
    """Return the fault of this model or twin, or None."""
    file, mode, ids, _, race, _ = group
    results = {name: outcomes[name] for name in tests}
    broken = [n for n, o in results.items() if not o.seen]
    if broken:
        return f"{file} ({mode}): herd7 says {results[broken[0]]} ({broken[0]})"
    if ids == "-":
        for name, outcome in results.items():
            if outcome.reached or outcome.race:
                return f"{file} ({mode}): must be Never, is {outcome} ({name})"
        if not any(o.executions for o in results.values()):
            return f"{file} ({mode}): proves nothing, no execution passes the filter"
        return None
    reached, races = any(o.reached for o in results.values()), any(o.race for o in results.values())
    if race and reached:
        return f"{file} ({mode}): the mark {ids} says \"race\", but the bad outcome itself is reached"
    if reached or (race and races):
        return None
    if races:
        return (f"{file} ({mode}): without {ids} there is a data race, but what `exists` says is never reached: mend the "
                "clause, or mark the line \"race\"")
    return f"{file} ({mode}): still Never without {ids}: the order is not needed or not modelled"


def unreached(outcomes):
    """Alternatives of `exists` that none of the twins of one model reaches, so that nothing shows that they can be. One
    of negations alone says what must come about, and needs no twin: "the object is not reused"."""
    condition = next((o.condition for o in outcomes if o.condition), "")
    return [way for way in alternatives(condition)
            if any(so for so, _, _ in way)
            and not any(is_true(way, state) for o in outcomes for state in o.states)] if condition else []


def write_tests(folder, tests):
    """{group: [names of its tests, which are written to @folder]}; a group is a model, or one of its twins, in one mode."""
    groups = {}
    for file, test in tests:
        races = test.races()
        for name, mode, ids, mark, loss, text in test.variants():
            with open(os.path.join(folder, name + ".litmus"), "w", encoding="utf-8") as out:
                out.write(text)
            group = (file, mode, ",".join(ids) or "-", "-" if mark == "-" else f"{mark} {loss}", mark in races,
                     re.sub(r"-at[\d_]*$", "", name))
            groups.setdefault(group, []).append(name)
    return groups


def herd_runs(herd, folder, groups):
    """The runs to make: tests of one language together."""
    kinds = {}
    for name in itertools.chain(*groups.values()):
        with open(os.path.join(folder, name + ".litmus"), encoding="utf-8") as test:
            kinds.setdefault(test.readline().split()[0], []).append(name)
    return [(herd, folder, names[at : at + CHUNK]) for names in kinds.values() for at in range(0, len(names), CHUNK)]


def herd_verdicts(groups, outcomes):
    """[(what, None or failure, (model, what was weakened, mode), seconds)]"""
    verdicts, of_model = [], {}
    for group, tests in groups.items():
        file, mode, ids, weakened, _, stem = group
        verdicts.append((f"{stem} ({mode}, {len(tests)} tests)", judge(group, tests, outcomes), (file, weakened, mode),
                         sum(outcomes[name].seconds for name in tests)))
        of_model.setdefault(file, []).extend(outcomes[name] for name in tests if ids != "-")
    for file, twins in of_model.items():
        for way in unreached(twins):
            verdicts.append((f"{file}: exists", f"{file}: no twin reaches this part of `exists`: " + say_way(way),
                             (file, "exists", "-"), 0.0))
    return verdicts


def name_of(path):
    return os.path.relpath(path, MODEL)


def tool_for(path):
    """The name of the program that a model is for."""
    if not path.endswith(".c"):
        return "herd7"
    with open(path, encoding="utf-8") as file:
        named = re.search(r"^ \* Tool: (\w+)$", file.read(), re.M)
    return named.group(1) if named else "cbmc"


def is_the_source(path):
    return name_of(path).startswith("real" + os.sep)


def change_source(model, mutant, root):
    """The tree of sources as @model wants it ('With FILE: "OLD" -> "NEW"') and with @mutant in it, or None; by links."""
    with open(model, encoding="utf-8") as file:
        wanted = re.findall(r'^ \* With (\S+): "(.*)" -> "(.*)"$', file.read(), re.M)
    texts = {mutant.file: mutant.apply()} if mutant else {}
    for name, old, new in wanted:
        if name not in texts:
            with open(os.path.join(ROOT, name), encoding="utf-8") as file:
                texts[name] = file.read()
        if texts[name].count(old) != 1:
            sys.exit(f"models: {name_of(model)}: \"{old}\" is {texts[name].count(old)} times in {name}")
        texts[name] = texts[name].replace(old, new)
    for name in files(ROOT, ("include", "src"), (".h", ".c")):
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if name in texts:
            with open(path, "w", encoding="utf-8") as file:
                file.write(texts[name])
        else:
            os.symlink(os.path.join(ROOT, name), path)


def run_bounded(checker, path, memory, define, mutant):
    """(None, or what is wrong; seconds). @define: '' for the model as it is, else the macro that breaks it. @mutant: None,
    or what breaks the source that it goes through."""
    if not is_the_source(path):
        return run_checker(checker, path, memory, define, ROOT, define)
    with tempfile.TemporaryDirectory() as root:
        change_source(path, mutant, root)
        return run_checker(checker, path, memory, define, root, mutant.name if mutant else define)


def run_checker(checker, path, memory, define, root, broken):
    with open(path, encoding="utf-8") as file:
        source = file.read()
    flags = re.search(r"Flags: (.*)", source)
    command = [checker, "-I", os.path.join(root, "include"), "-I", os.path.join(root, "src")]
    command += flags.group(1).split() if flags else []
    command += ["-DBUSTED", "-D" + define] if define else []
    if tool_for(path) == "cc":
        program = os.path.join(root, "model")
        _, errors, status, seconds = run_tool(command + COMPILE + [path, "-o", program])
        if status:
            return f"{name_of(path)} {broken}: does not compile: {errors[:300]}", seconds
        command = [program]
    else:
        if tool_for(path) == "cbmc":  # what is broken must fail by an assertion of the model's own
            command += ["--mm", memory] + (["--no-standard-checks"] if broken else [])
        command.append(path)
    output, errors, status, seconds = run_tool(command)
    output += errors
    said = re.search(r"^VERIFICATION (\w+)", output, re.M)
    want = "FAILED" if broken else "SUCCESSFUL"
    got = said.group(1) if said else f"nothing (exit {status})"
    # A loop that was cut short is no proof, and no counterexample either.
    unwound = re.search(r"unwinding assertion.*FAILURE", output)
    if got == want and not unwound:
        return None, seconds
    what = f" with {broken}" if broken else ""
    return (f"{name_of(path)} ({memory}){what}: must be {want}, is {got}"
            + (": a loop is longer than its bound" if unwound else "")), seconds


def bounded_jobs(checker, paths, mutants):
    """PSO allows all executions that TSO allows, and TSO all those of sequential consistency. So a model that holds
    under PSO holds under the others, and one that fails under a stronger one fails under the weaker ones. In the file:
    'Busted NAME: sc' (or tso), the strongest under which that fails. ESBMC knows no other than sc. A model that is the
    source as it is must fail with each of the mutants that name it."""
    jobs = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            source = file.read()
        threads = "__CPROVER_ASYNC" in source
        jobs.append((checker, path, "pso" if threads else "sc", "", None))
        jobs += [(checker, path, memory, name, None)
                 for name, memory in re.findall(r"Busted (\w+): (\w+)", source)]
        jobs += [(checker, path, "sc", "", m) for m in mutants if name_of(path) in m.killers]
    return jobs


def print_times(verdicts, spent):
    """herd7 says what each test took, without its own start."""
    models = {}
    for _, _, (model, weakened, mode), seconds in verdicts:
        models.setdefault(model, []).append((seconds, f"{mode}{'' if weakened == '-' else ' ' + weakened}"))
    for model, runs in sorted(models.items(), key=lambda item: -sum(seconds for seconds, _ in item[1])):
        slowest, what = max(runs)
        print(f"{sum(seconds for seconds, _ in runs):7.2f} s  {model}: {len(runs)} runs, {slowest:.2f} s of it {what}")
    print(f"{spent:7.2f} s  all, with the start of the tools")


def run_models(litmus, bounded, workers, folder, with_wrong):
    """(verdicts: [(what, None or failure, (model, what was weakened, mode), seconds)]; twins of which a data race is all
    that is wanted; what was skipped: [(model, why)], one for each run; seconds)"""
    verdicts, races, skipped, waiting, spent = [], [], [], [], 0.0
    mutants = orders.List(ROOT).mutants if any(is_the_source(path) for path in bounded) else []
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for name in ("cc", "cbmc", "esbmc"):
            mine = [path for path in bounded if tool_for(path) == name]
            checker, why = tool(name) if mine else (None, None)
            for job in bounded_jobs(checker, mine, mutants):
                if checker:
                    waiting.append((job, pool.submit(run_bounded, *job)))
                else:
                    skipped.append((name_of(job[1]), why))
        if litmus:
            groups = write_tests(folder, [(name_of(path), expand.load(path)) for path in litmus])
            herd, why = tool("herd7")
            if not herd:
                skipped += [(group[0], why) for group in groups]
                groups = {}
            outcomes = {}
            for result, seconds in pool.map(lambda run: run_herd(*run), herd_runs(herd, folder, groups)):
                outcomes.update(result)
                spent += seconds
            verdicts += herd_verdicts(groups, outcomes) + (judge_wrong(herd) if herd and with_wrong else [])
            races = sorted({f"{group[0]} {group[3]}" for group in groups if group[4]})
        for job, future in waiting:
            name = name_of(job[1])
            failure, seconds = future.result()
            spent += seconds
            broken = job[4].key() if job[4] else job[3]
            verdicts.append((f"{name} ({job[2]}) {broken}", failure, (name, broken or "-", job[2]), seconds))
    return verdicts, races, skipped, spent


def read_wrong():
    """The test in `wrong`, and what is wrong with its variants: [(old, new, what must be said, None: nothing)]"""
    with open(WRONG, encoding="utf-8") as file:
        test, _, lines = re.sub(r"^#.*\n", "", file.read(), flags=re.M).partition("\n----\n")
    for line in lines.splitlines():
        old, new, wanted = re.fullmatch(r'"(.*)" -> "(.*)": (.*)', line).groups()
        old, new = old.replace("\\n", "\n"), new.replace("\\n", "\n")
        assert old in test, line
        yield old, new, test.replace(old, new) + "\n", wanted if wanted != "nothing" else None


def judge_wrong(herd):
    """Verdicts about the judge itself: herd7 and judge() must find what is wrong in each variant of the test in `wrong`."""
    verdicts = []
    for number, (old, new, text, wanted) in enumerate(read_wrong()):
        with tempfile.TemporaryDirectory() as folder:
            groups = write_tests(folder, [("box", expand.CTest("box", text))])
            outcomes, seconds = run_herd(herd, folder, list(itertools.chain(*groups.values())))
            found = [failure for _, failure, _, _ in herd_verdicts(groups, outcomes) if failure]
        right = any(wanted in failure for failure in found) if wanted else not found
        verdicts.append((f"wrong, {old!r} -> {new!r}", None if right else
                         f"wrong: {old!r} -> {new!r}: {wanted or 'nothing'} must be said, not {found}",
                         ("wrong", str(number), "-"), seconds))
    return verdicts


# ---- what has passed ------------------------------------------------------------------------


def included(path, folders, found):
    """Add to @found all files of this project that the file @path includes, and the file itself."""
    path = os.path.realpath(path)
    if path in found:
        return
    found.add(path)
    with open(path, encoding="utf-8") as file:
        names = re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', file.read(), re.M)
    for name in names:
        for folder in (os.path.dirname(path), *folders):
            if os.path.isfile(os.path.join(folder, name)):
                included(os.path.join(folder, name), folders, found)
                break


@functools.lru_cache(None)
def content(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


@functools.lru_cache(None)
def version(name):
    """The version that the tool of this name prints."""
    program = tool(name)[0]
    if not program:
        return "none"
    done = subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    return f"{program} {done.returncode} {done.stdout}"


class Passed:
    """The models that passed here, and with what: the model, every file that it includes, the changes of the source
    that it must notice, what expands and judges it, and the tool. A fresh clone has what others have passed (CACHE)."""

    def __init__(self, mutants=None):
        self.mutants = orders.List(ROOT).mutants if mutants is None else mutants
        try:
            with open(PASSED, encoding="utf-8") as file:
                self.noted = dict(json.load(file))
        except (OSError, ValueError, TypeError):
            self.noted = {}

    def key(self, model):
        needed = {os.path.join(PROOF, name) for name in ("models.py", "expand.py", "source.py", "mutate/orders.py", "model/lull.cat")}
        included(model, [os.path.join(ROOT, "include"), os.path.join(ROOT, "src")], needed)
        parts = [f"{os.path.relpath(path, ROOT)} {content(path)}" for path in sorted(needed)]
        parts += [m.key() for m in self.mutants if name_of(model) in m.killers] + [version(tool_for(model))]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def count(self, model):
        """How many verdicts it had, if it has passed as it is now, or 0."""
        noted, count = self.noted.get(name_of(model), ("", 0))
        key = self.key(model)
        if not count or noted != key:
            try:
                with open(os.path.join(CACHE, key), encoding="ascii") as file:
                    count = int(file.read())
            except (OSError, ValueError):
                count = 0
        return count

    def note(self, models, verdicts, skipped):
        for model in models:
            mine = [failure for _, failure, key, _ in verdicts if key[0] == name_of(model)]
            self.noted.pop(name_of(model), None)
            if mine and not any(mine) and name_of(model) not in skipped:
                self.noted[name_of(model)] = (self.key(model), len(mine))
            share(self.key(model), len(mine) if name_of(model) in self.noted else 0)
        os.makedirs(os.path.dirname(PASSED), exist_ok=True)
        with open(PASSED + ".new", "w", encoding="utf-8") as file:
            json.dump(self.noted, file, indent=0, sort_keys=True)
        os.replace(PASSED + ".new", PASSED)


def share(key, count):
    """Tell other working copies how many verdicts of a model passed, or, with 0, that it failed."""
    path = os.path.join(CACHE, key)
    with contextlib.suppress(OSError):  # a home that cannot be written to
        if not count:
            os.remove(path)
            return
        os.makedirs(CACHE, exist_ok=True)
        with open(f"{path}.{os.getpid()}", "w", encoding="ascii") as file:
            file.write(str(count))
        os.replace(f"{path}.{os.getpid()}", path)


def passing(names, again=False):
    """Run those of these models that have not passed before. Return the names of those that pass."""
    wanted = [model for model in all_models() if name_of(model) in names]
    passed = Passed()
    due = [name_of(model) for model in wanted if again or not passed.count(model)]
    if due:
        main(["--exact", *due])
        passed = Passed()
    return {name_of(model) for model in wanted if passed.count(model)}


def all_models():
    return [os.path.join(ROOT, name) for name in files(ROOT, ("proof/model",), (".litmus", ".tpl", ".c"))]


def main(argv=None):
    parser = argparse.ArgumentParser(prog="proof/models.py", description="Run the models.")
    parser.add_argument("-j", type=int, default=min(2, os.cpu_count() or 1), metavar="N")
    parser.add_argument("-v", action="store_true", help="one line per model, not only failures")
    parser.add_argument("--again", action="store_true", help="also what has passed, and has not changed since")
    parser.add_argument("--keep", metavar="DIR", help="leave the expanded tests there")
    parser.add_argument("--times", action="store_true", help="the processor time of each model, the slowest first")
    parser.add_argument("--exact", action="store_true", help="a NAME is a whole name")
    parser.add_argument("name", nargs="*")
    args = parser.parse_args(argv)
    picked = [model for model in all_models() if not args.name or any(n == name_of(model) or not args.exact and n in name_of(model)
                                                                       for n in args.name)]
    if not picked:
        sys.exit("models: no such model")
    passed = Passed()
    before = {} if args.again or args.name else {model: count for model in picked if (count := passed.count(model))}
    due = [model for model in picked if model not in before]
    with tempfile.TemporaryDirectory() as scratch:
        if args.keep:
            os.makedirs(args.keep, exist_ok=True)
        litmus = [model for model in due if not model.endswith(".c")]
        verdicts, races, skipped, spent = run_models(litmus, [model for model in due if model.endswith(".c")], args.j,
                                                     args.keep or scratch, litmus and not args.name)
    passed.note(due, verdicts, {model for model, _ in skipped})
    if args.times:
        print_times(verdicts, spent)
    for what, failure, _, _ in verdicts:
        if failure:
            print(f"FAILED {failure}")
        elif args.v:
            print(f"passed {what}")
    if races:
        print(f"{len(races)} twins show a data race and no other bad outcome: {', '.join(races)}")
    for model, why in sorted(set(skipped)):
        print(f"skipped {model}, {skipped.count((model, why))} runs: {why}")
    if before:
        print(f"{len(before)} models have passed before, and nothing has changed since")
    failed = sum(1 for _, failure, _, _ in verdicts if failure)
    good = len(verdicts) - failed + sum(before.values())
    print(f"models: {good} passed, {failed} failed, {len(skipped)} skipped"
          + (": " + "; ".join(sorted({why for _, why in skipped})) if skipped else ""))
    return 1 if failed else 0 if good else 77


if __name__ == "__main__":
    try:
        sys.exit(main())
    except expand.Defect as defect:
        sys.exit(f"expand: {defect}")
