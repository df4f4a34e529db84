# SPDX-License-Identifier: MIT
"""See that the test that is named for a promise is red when the promise is broken.

usage: proof/run promises [--again] [--minutes N] [--list] [PATTERN...]
       proof/run promises --sample N [--seed S]

A sentence of a C header speaks of functions: those that its comment stands over, and those that it names.  If it speaks
of none (an essay does), those are meant that other sentences with the same test speak of, or that the test calls.  Of each
such function, and of those that it calls, slips are made (slips.py), and each test that is named for such a sentence is run
on them alone, without the rest of its file, until one is red.  A sentence that says that something never happens (an
allocation, a system call, a change of errno) gets a slip that does just this, and the test has to notice that one.

A PATTERN is a part of "HEADER:TEST", as in "rcu:rcu.public:waits".  What comes of it is kept in teeth.tsv: a function, a test,
the verdict, the slip that was red, and hashes of slip and test, as in the ledger.  A promise none of whose tests was red for
any slip of its functions is listed, and fails: perhaps the test has no teeth, or the slips miss what it is about.
--sample sees that N of the red ones, by chance, still are: for CI.  Tests of C++ and programs that must not compile are left out.
"""
import argparse
import collections
import functools
import hashlib
import os
import random
import re
import time

import promises
from mutate import slips, tree
from source import Source

PATH = os.path.join(slips.ROOT, "proof", "teeth.tsv")
HEAD = "# What is red when a promise is broken: proof/mutate/teeth.py writes this.\n" \
    "# function\ttest\tverdict\tslip, or how many were tried\tits hash\ttest's hash\n"
Row = collections.namedtuple("Row", "verdict slip hash tests")
TRIES = 8    # slips for one function and test
CALLED = 12  # functions that a function calls, whose slips are tried, too
MEANT = 4    # functions that an essay speaks of
WORDS = {"full-fences": "@full", "oracles": "@none", "no-rseq": "@norseq"}  # of a line "runs:", and the run that is meant
# (what a sentence says never happens, the kind, and code that makes it happen)
NEVER = [
    (r"\b[Nn]o(?:thing| function)\b[^;.]*\ballocat|\b[Nn]o allocation|\b[Nn]eeds? no memory", "allocates",
     "{ void *volatile lull__more = __builtin_malloc(24); __builtin_free(lull__more); }"),
    (r"\b[Nn]ever blocks?\b|\b[Nn]o function blocks|\b[Nn]o system calls?\b", "sleeps", "{ extern int usleep(unsigned); usleep(100); }"),
    (r"\berrno (?:stays|is left) as it|\b[Kk]eeps? errno|\bdoes not change errno", "sets-errno",
     "{ extern int *__errno_location(void); *__errno_location() = 77; }"),
]


class Promise:
    def __init__(self, header, sentence, line, about, tests):
        self.header, self.sentence, self.line, self.tests = header, sentence, line, tests
        self.functions = about | set(re.findall(r"\b(lull_\w+)\b", sentence))
        self.is_essay = False

    def never(self):
        return [(kind, code) for pattern, kind, code in NEVER if re.search(pattern, self.sentence)]


class Code:
    """All functions of the library, and their slips."""

    def __init__(self):
        self.sources = slips.sources(slips.ROOT)
        self.of = {}
        for source in self.sources:
            if source.name.startswith(("src/", "include/")):
                for name in source.code_of:
                    self.of.setdefault(name, []).append(source)

    @functools.lru_cache(None)
    def slips_in(self, source):
        return slips.slips_of(source)

    def calls(self, name):
        """Functions of the library that this one calls: the nearest first."""
        found, left = [], [name]
        while left and len(found) < CALLED:
            code = " ".join(source.code_of[left[0]] for source in self.of.get(left[0], ()))
            for word in re.findall(r"\b(\w+)\(", code):
                if word in self.of and word not in found and word != name:
                    found.append(word)
                    left.append(word)
            left.pop(0)
        return found[:CALLED]

    def all_slips(self, name):
        return [slip for source in self.of.get(name, ()) for slip in self.slips_in(source) if slip.function == name]

    def never(self, name, kind, code):
        """The slip that does in function @name what a sentence says it never does."""
        for source in self.of.get(name, ()):
            for function, start, end in slips.spans(source):
                body = "\n".join(source.code).find("{", start)
                if function == name and start <= body < end and not source.code_of[name].startswith("#"):
                    slip = slips.Slip(source, name, kind, body, body + 1, "{ " + code)
                    slip.name = f"{source.name}:{name}:{kind}"
                    return slip
        return None


def tests_of_promise(known, words):
    """{name of a run: (path, test)} of those of C."""
    found = {}
    for word in words.split():
        if re.match("(?:ctest|busted|cxx):", word) or isinstance(known.named(word), str):
            continue
        for path, name in known.named(word):
            if not re.match(r"tests/(?!cxx/).*\.c$", path):
                continue
            file = re.sub(r"/", ".", path[len("tests/"):-len(".c")])
            if name in known.tests[path]:
                found[f"{file}:{name}"] = (path, name)
            elif name in WORDS:
                found[file + WORDS[name]] = (path, name)
    return found


@functools.lru_cache(None)
def hash_of_test(path, name):
    """A hash of the test alone, or of the file where the whole is meant."""
    with open(os.path.join(slips.ROOT, path), encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    body = re.search(r"^[A-Z_]+\(" + name + r"\b.*?^\}", text, re.M | re.S)
    return hashlib.sha256(" ".join((body.group(0) if body else text).split()).encode()).hexdigest()[:6]


class Promises:
    """Which test has to be red for slips of which function."""

    def __init__(self):
        self.code, self.known = Code(), promises.Tests()
        self.promises, self.path_of = list(self.every()), {}
        for promise in self.promises:
            self.path_of.update(promise.tests)
            promise.functions = {name for name in promise.functions if name in self.code.of}
        spoken = collections.defaultdict(set)
        for promise in self.promises:
            for test in promise.tests:
                spoken[test] |= promise.functions
        for promise in self.promises:
            if not promise.functions:
                promise.is_essay = True
                meant = sorted(set().union(*(spoken[test] or self.called_by(test) for test in promise.tests)), key=slips.chance)
                promise.functions = set(meant[:MEANT])

    def every(self):
        for path in promises.files(promises.ROOT, ("include",), (".h",)):
            if not promises.HEADER.fullmatch(path) or path.startswith(promises.COMPAT):
                continue
            header = promises.Header(path)
            lines = collections.defaultdict(list)
            for line in (promises.FOLDER / header.name).read_text("utf-8").splitlines():
                if entry := promises.LINE.fullmatch(line):
                    lines[entry[1]].append(entry[3])
            for sentence, line, about in header.sentences:
                about = {about} | self.declared_below(header.source, line) if about else set()
                words = lines[promises.hash_of(sentence)]
                tests = tests_of_promise(self.known, words.pop(0)) if words else {}
                if tests:
                    yield Promise(header.name, sentence, line, about, tests)

    def declared_below(self, source, line):
        """The functions that are declared together, under the comment that begins at @line."""
        at = next((n for n in range(line, len(source.code)) if source.code[n].strip()), len(source.code))
        names = set()
        while at < len(source.code) and source.code[at].strip() and source.code[at].startswith("LULL_API"):
            names |= set(re.findall(r"\b(lull_\w+)\(", source.code[at]))
            at += 1
        return names

    def called_by(self, test):
        path, name = self.path_of[test]
        with open(os.path.join(slips.ROOT, path), encoding="utf-8") as file:
            body = re.search(r"^[A-Z_]+\(" + name + r"\b.*?^\}", file.read(), re.M | re.S)
        return {word for word in re.findall(r"\b(lull_\w+)\(", body.group(0)) if word in self.code.of} if body else set()

    def pairs(self, promise):
        """(function, test, kind): a kind only for what the sentence says never happens."""
        never = [(function, kind) for kind, _ in promise.never() for function in sorted(promise.functions, key=slips.chance)[:MEANT]
                 if self.never_slip(function, kind)]
        return [(function, test, kind) for function, kind in never or [(name, "") for name in sorted(promise.functions)]
                for test in sorted(promise.tests)]

    @functools.lru_cache(None)
    def never_slip(self, function, kind):
        return self.code.never(function, kind, next(code for _, name, code in NEVER if name == kind))

    def slips_for(self, function, kind, ledger, test):
        """In the order in which they are tried: what the test's file is known to notice, the function's own, those it calls."""
        if kind:
            return [self.never_slip(function, kind)]
        file = re.sub(r"[@:].*", "", test)
        mine, below = self.code.all_slips(function), [s for name in self.code.calls(function) for s in self.code.all_slips(name)]

        def rank(slip):
            return (ledger.killer(slip) != file, slip.kind in ("constant", "sum", "swap"), slips.chance(slip.name))
        mine, below = sorted(mine, key=rank), sorted(below, key=rank)
        known = [slip for slip in below if ledger.killer(slip) == file][:2]
        own = max(TRIES - len(below), 5)
        return (known + mine[:own] + [slip for slip in below if slip not in known])[:TRIES]


class Kept:
    def __init__(self):
        self.rows = {}
        if os.path.exists(PATH):
            with open(PATH, encoding="utf-8") as file:
                for line in file.read().splitlines()[2:]:
                    function, test, *row = line.split("\t")
                    self.rows[function, test] = Row(*row)

    def save(self):
        with open(PATH + ".new", "w", encoding="utf-8") as file:
            file.write(HEAD + "".join("\t".join((*key, *row)) + "\n" for key, row in sorted(self.rows.items())))
        os.replace(PATH + ".new", PATH)


def named(function, kind):
    return f"{function}:{kind}" if kind else function


class Runner:
    """Gives slips of a function to tests, one after the other."""

    def __init__(self, all_of, kept, ledger, end):
        self.all, self.kept, self.ledger, self.end = all_of, kept, ledger, end
        self.lane = tree.Lane("slips")
        self.lane.open()

    def row(self, verdict, slip, digest, test):
        return Row(verdict, slip, digest, hash_of_test(*self.all.path_of[test]))

    def judge(self, function, kind, tests):
        """Try slips until each of @tests was red for one, or all are tried."""
        left = {test: [slip for slip in self.all.slips_for(function, kind, self.ledger, test) if slip] for test in tests if self.lane.find(test)}
        tried = collections.Counter()
        self.lane.prepare(set(left))
        left = {test: due for test, due in left.items() if self.lane.tests[test].seconds is not None}
        while any(left.values()) and time.time() < self.end:
            slip = next(due[0] for due in left.values() if due)
            these = [test for test, due in left.items() if slip in due]
            red = self.lane.noticed_by(slip, these)
            for test in these:
                left[test].remove(slip)
                tried[test] += red is not None
                if red and test in red:
                    self.kept.rows[named(function, kind), test] = self.row("red", slip.name, slip.hash(), test)
                    del left[test]
            said = "refused, or the same" if red is None else " ".join(red) or "green for " + " ".join(these)
            print(f"{slip.name}: {said}: {slip.describe()}", flush=True)
        for test, due in left.items():
            if not due and tried[test]:
                self.kept.rows[named(function, kind), test] = self.row("green", str(tried[test]), "-", test)
        self.kept.save()


def verdict_of(all_of, kept, promise):
    pairs = all_of.pairs(promise)
    rows = [kept.rows.get((named(function, kind), test)) for function, test, kind in pairs]
    found = {row.verdict if row and row.tests == hash_of_test(*all_of.path_of[test]) else "" for row, (_, test, _) in zip(rows, pairs)}
    return "red" if "red" in found else "unknown" if "" in found else "green" if pairs else "none"


def due(all_of, kept, wanted):
    """({(function, kind): tests} of promises for which nothing was red, and not all is tried; {(function, kind): what a try is
    worth}): those first that a few tests are named for, and many promises."""
    found, worth = collections.defaultdict(set), collections.Counter()
    for promise in wanted:
        if verdict_of(all_of, kept, promise) == "unknown":
            for function, test, kind in all_of.pairs(promise):
                row = kept.rows.get((named(function, kind), test))
                if not row or row.tests != hash_of_test(*all_of.path_of[test]):
                    found[function, kind].add(test)
                    worth[function, kind] += (0.1 if promise.is_essay else 1) / len(promise.tests)
    return found, {key: worth[key] / (2 + len(tests)) for key, tests in found.items()}


def score(all_of, kept, wanted):
    """Print promises for which no slip was red, and the line at the end."""
    count = collections.Counter()
    for promise in wanted:
        verdict = verdict_of(all_of, kept, promise)
        count[verdict] += 1
        if verdict == "green":
            print(f"include/lull/{promise.header}.h:{promise.line}: no slip of {', '.join(sorted(promise.functions))} is red in "
                  f"{' '.join(sorted(promise.tests))}: {promise.sentence}")
    print(f"promises: {count['red']} passed, {count['green']} failed, {count['unknown'] + count['none']} skipped: {count['unknown']} "
          f"are not tried to the end, {count['none']} speak of no function")
    return 1 if count["green"] else 0 if count["red"] else 77


def sample(all_of, kept, ledger, number, seed):
    """See that tests still notice what they noticed."""
    every = {slip.name: slip for source in all_of.code.sources for slip in all_of.code.slips_in(source)}
    known = sorted(key for key, row in kept.rows.items() if row.verdict == "red" and row.slip in every
                   and every[row.slip].hash() == row.hash and key[1] in all_of.path_of)
    print(f"promises: {number} of {len(known)}, --seed {seed}", flush=True)
    runner, lost = Runner(all_of, kept, ledger, 0), []
    taken = random.Random(seed).sample(known, min(number, len(known)))
    for function, test in taken:
        if not runner.lane.find(test):
            continue
        runner.lane.prepare({test})
        slip = every[kept.rows[function, test].slip]
        if not any(runner.lane.noticed_by(slip, [test]) for _ in range(slips.TRIES)):
            lost.append(test)
            print(f"{test} was red with {slip.name}, and is not: {slip.describe()}")
    print(f"promises: {len(taken) - len(lost)} passed, {len(lost)} failed, 0 skipped")
    return 1 if lost or not taken else 0


def main(argv, ledger):
    parser = argparse.ArgumentParser(prog="proof/run promises", description="Break promises, and see that the named test notices.")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=random.randrange(1000000))
    parser.add_argument("pattern", nargs="*")
    args = parser.parse_args(argv)
    all_of, kept = Promises(), Kept()
    if args.sample:
        return sample(all_of, kept, ledger, args.sample, args.seed)
    wanted = [promise for promise in all_of.promises
              if not args.pattern or any(word in f"{promise.header}:{test}" for word in args.pattern for test in promise.tests)]
    if args.again:
        for promise in wanted:
            for function, test, kind in all_of.pairs(promise):
                kept.rows.pop((named(function, kind), test), None)
    left, worth = due(all_of, kept, wanted)
    if args.list:
        for (function, kind), tests in sorted(left.items()):
            print(f"{named(function, kind)}: {' '.join(sorted(tests))}")
        return 0
    runner, tried = Runner(all_of, kept, ledger, time.time() + 60 * args.minutes) if left else None, set()
    while left and time.time() < runner.end:
        function, kind = max(left, key=lambda key: (worth[key], key))
        runner.judge(function, kind, sorted(left[function, kind]))
        tried.add((function, kind))  # perhaps to no end: a test that is not green says nothing
        left, worth = due(all_of, kept, wanted)
        left = {key: tests for key, tests in left.items() if key not in tried}
    return score(all_of, kept, wanted)
