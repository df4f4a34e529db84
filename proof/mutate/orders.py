# SPDX-License-Identifier: MIT
"""Weaken each order of the library, one at a time, and see that something notices.

usage: proof/run orders [--native] [--again] [--lanes N] [PATTERN...]
       proof/run orders --list [PATTERN...]

The list `mutants` has a line for each mutant:

    FUNCTION ACCESS -> LEFT: KILLER, ...        gp_scan load_acquire -> relaxed: rcu/exit.litmus:P1:RCU-3
    FUNCTION KIND "OLD" -> "NEW": KILLER, ...   gp_wait wait "more to do" -> "false": unit:rcu.public

FUNCTION is without its file, but for "mutex.c:take" where there are two of that name.
ACCESS is the access or fence without its lull_, "store_release#2" the second such one in the function;
LEFT is what is left of it (relaxed, acquire, release, fence, nothing).  The second form changes the
text OLD, which is in the function once but for how it is laid out: a wait that is skipped, a flag, a
wildcard or a check that is not looked at, somebody who is not told, a step of one thread that goes wrong
(KIND; a "pause" is a wait whose end means nothing).  Longer lines go on in the next one, further to the right.  A KILLER is one of

    rcu/exit.litmus:P1:RCU-3    a mark, as proof/expand.py prints it: its twin shows the bad outcome
    rcu/wake.c:NO_FLAG          a macro that breaks this bounded model
    real/table.c                this model, which is the source as it is, run with the mutant's source
    unit:rcu.public[@full]      a test of CTest's; with LULL_FENCE=full (or @none, @norseq)
    torture:rcu[@full]          a few seconds of this flavor

or, in their place, "equivalent: argument".  A model says of a mark which functions it stands for
(Where:), and a mark loses just what the mutant loses.  For a text, it may be a function that the changed
one calls: to skip a wait allows all that a wait without its order allows, to skip a look all that a look
without its fence does, and a flag that is not set or not looked at is one that comes too late.

An access needs no line where it is the only one of its kind in its function, and a mark with an id of the function's
ORDER comments says what becomes of it: those marks are its killers (see derive()).

proof/run check finds sites without a killer, lines without a site, and killers that are not there.  A run
gives each mutant to its models, which all must pass with their twins, and what no model notices to its tests, in a copy of
the tree; --native: everything also to its tests, or to those of its idea where it names none.  Natively a red
test kills; one that hangs does where a flag was skipped or somebody not told.  Where the programs come
out the same, byte for byte, nothing is run: this processor hides the order.  Run it on a machine that has
nothing else to do: a starved test hangs for no mutant's sake.  Exit 1 when a mutant survives.
"""
import argparse
import functools
import hashlib
import os
import re

import expand
from mutate import slips, tree
from mutate.tree import ENVIRONMENT, ROOT
from source import ORDERED, SAID_IN, Source, files, find, where

LIST = "proof/mutants"
MODEL = os.path.join(ROOT, "proof", "model")
MAY_HANG = ("flag", "recheck", "wake")  # then a thread is not told, or does not look again
HOME = re.compile(r"include/lull/(?:atomic|fence|detail/arch/\w+)\.h")
FLAVORS = ("rcu", "rcu-qsbr", "hazptr", "shazptr", "bridge", "percpu_ref", "hash", "mutex")

SOURCES = ("include", "src", "compat", "urcu/include", "urcu/source", "urcu/binary", "urcu/worker")
IDS = re.compile(r"\b[A-Z]{2,}-\d+\b")

# Mutants that a function has by what it does. None in COMPAT: the tests of urcu/, which are no unit tests, find what is
# wrong there.
COMPAT = ("compat/", "urcu/binary/")
DEMANDS = [
    ("sleeps or waits", ("wait", "pause", "recheck"),
     re.compile(r"(?<!void )(?<!int )(?<!bool )\b(?:lull__futex_wait|lull__wait_sleep|lull__give_way|lull__nap|lull__lock_await|"
                r"lull__queue_await_owner|lull__rcu_wait(?:_until)?|lull__hazptr_wait|lull_rcu_barrier)\(")),
    ("tests a flag", ("flag",), re.compile(r"(?<!bool )\blull_(?:low_)?nonzero_relaxed\(")),
    ("sets a flag or tests it", ("flag",),
     re.compile(r"(?:or_relaxed\(.*|& |\| |\()(?:LULL__\w+_)?(?:WAITED|PARKED|WAITERS|HEIR)\b")),
    ("looks for wildcards", ("wildcard",), re.compile(r"[=,] LULL__SHAZPTR_WILDCARD(?! \?)")),
    ("makes a heavy fence", ("recheck", "check", "wait"),
     re.compile(r"(?<!void )\b(?:lull_fence_heavy|lull__hazptr_fence)\(")),
]
KINDS = {kind for _, kinds, _ in DEMANDS for kind in kinds} | {"check", "step", "wake"}


def losses(access, left):
    """The losses of a mark that stands for @access."""
    if access in ("fence_light", "compiler_barrier"):
        return {"light", "fence"}
    if access in ("fence_heavy", "hazptr_fence", "rseq_barrier"):
        return {"heavy", "fence"}
    if access == "fence_full" or (access == "store_fence" and left == "release"):
        return {"fence", "heavy"}
    if access == "store_fence":
        return {"release"}
    if access.endswith("acq_rel"):
        return {"acquire" if left == "release" else "release"}
    return {access.rsplit("_", 1)[1]}


def lefts(access):
    """The orders that may be left of @access, one mutant each."""
    if "fence" in access or "barrier" in access:
        return ("release", "fence") if access == "store_fence" else ("nothing",)
    return ("acquire", "release") if access.endswith("acq_rel") else ("relaxed",)


def sites_of(source):
    """(function, access, n) -> (line, column) of what has an order; compiler barriers are against signal
    handlers and forks but for the headers', which are light fences."""
    pattern, found, counts = ORDERED, {}, {}
    if source.name.startswith("include/"):
        pattern = re.compile(ORDERED.pattern + r"|\blull_(?P<light>compiler_barrier)\(")
    for at, line in enumerate(source.code):
        for match in pattern.finditer(line):
            access = next(group for group in match.groups() if group)
            function = source.name_of_line.get(at, "")
            counts[function, access] = n = counts.get((function, access), 0) + 1
            found[function, access, n] = (at, match.start())
    return found


def loose(text):
    """Finds @text however it is laid out, and whatever is said in between."""
    words = re.findall(r"\w+|[^\w\s]", text)
    return re.compile(r"(?:\s|/\*.*?\*/)*".join(re.escape(word) for word in words), re.S)


def is_native(killer):
    return killer.startswith(("unit:", "torture:"))


class Mutant:
    hangs = ()  # tests that are known to hang with it

    def __init__(self, place, source, match):
        self.place, self.source, self.file = place, source, source.name
        self.function, self.what, self.old = match["called"].rpartition(":")[2], match["what"], match["old"]
        self.new, self.left = match["new"], match["left"]
        self.access, _, n = self.what.partition("#")
        self.n = int(n or 1)
        rest = match["rest"].strip()
        self.argument = rest[len("equivalent:"):].strip() if rest.startswith("equivalent:") else None
        self.killers = [] if self.argument else re.split(r",\s*", rest)
        self.name = f"{os.path.basename(self.file)}:{self.function}:{self.what}"
        self.name += ":" + self.left if self.left else ""
        self.may_hang = self.access in MAY_HANG

    def by_model(self):
        """The models that notice it."""
        return {k.partition(":")[0] for k in self.killers if not is_native(k)}

    def tests(self, lane):
        """The tests that it is given to: those that it names, or all of its idea."""
        named = [k.removeprefix("unit:") for k in self.killers if is_native(k)]
        named += [name for name in named if name.startswith("torture:")] * 2  # which goes by chance
        return named or [name for name, test in lane.tests.items() if test.idea == slips.idea_of(self.file)]

    def key(self):
        """The name of a run of a model of model/real with this change in the source."""
        return f"{self.name} {hashlib.sha256(self.describe().encode()).hexdigest()[:6]}"

    def describe(self):
        return (f'`{self.old}` → `{self.new or " "}`' if self.old is not None else f"{self.access} → {self.left}")

    def apply(self):
        """The file's text with this mutant."""
        source = self.source
        if self.old is not None:
            start, end = self.span(source)
            found = loose(self.old).search(source.text, start, end)
            return source.text[: found.start()] + self.new + source.text[found.end() :]
        at, column = sites_of(source)[self.function, self.access, self.n]
        start = sum(len(line) + 1 for line in source.lines[:at]) + column
        head = re.compile(r"\w+\(").match(source.text, start)
        end, depth = head.end(), 1
        while depth:
            depth += {"(": 1, ")": -1}.get(source.text[end], 0)
            end += 1
        call, arguments = head.group(0)[:-1], source.text[head.end() : end - 1]
        if self.left == "nothing":
            call, arguments = "(void)", arguments or "0"
        elif self.access == "store_fence" and self.left == "fence":
            call, arguments = "", f"lull_store_relaxed({arguments}), lull_fence_full()"
        elif self.access.startswith("sub"):
            call, arguments = "__atomic_fetch_sub", arguments + ", __ATOMIC_RELAXED"
        else:
            call = re.sub(r"_(?:acquire|release|acq_rel|fence)$", "_" + self.left, call)
        return source.text[:start] + f"{call}({arguments})" + source.text[end:]

    def span(self, source):
        """The function's place in the text; if several have that name, the first that contains OLD."""
        lines = sorted(at for at, name in source.name_of_line.items() if name == self.function)
        while lines:
            size = next((i for i in range(1, len(lines)) if lines[i] != lines[i - 1] + 1), len(lines))
            start = sum(len(line) + 1 for line in source.lines[: lines[0]])
            end = start + sum(len(line) + 1 for line in source.lines[lines[0] : lines[size - 1] + 1])
            if self.old is None or loose(self.old).search(source.text, start, end):
                return start, end
            lines = lines[size:]
        return None


LINE = re.compile(r'(?P<called>(?:[\w.]+:)?\w+) (?P<what>[\w#]+) (?:"(?P<old>(?:[^"\\]|\\.)+)" -> "(?P<new>(?:[^"\\]|\\.)*)"|'
                  r"-> (?P<left>\w+)): *(?P<rest>.+)")


class List:
    """The mutants, and what they are about."""

    def __init__(self, root=ROOT):
        self.sources = {name: Source(root, name) for name in files(root, SOURCES, (".h", ".c"))
                        if not SAID_IN.fullmatch(name)}
        self.mutants, self.defects, self.models = [], [], Models(root)
        self.read()
        self.derive()

    def defect(self, place, text):
        self.defects.append(f"{place}: {text}")

    def read(self):
        with open(os.path.join(ROOT, LIST), encoding="utf-8") as file:
            lines = [(n, line.rstrip()) for n, line in enumerate(file, 1)]
        joined, names = [], {}  # [number, indent, text]
        for number, line in lines:
            indent = len(line) - len(line.lstrip())
            if joined and indent > joined[-1][1]:
                joined[-1][2] += " " + line.strip()
            elif line and not line.startswith("#"):
                joined.append([number, indent, line.strip()])
        for number, _, line in joined:
            place = f"{LIST}:{number}"
            match = LINE.fullmatch(line)
            source, wrong = find(self.sources.values(), match["called"]) if match else (None, None)
            if not match:
                self.defect(place, "is not FUNCTION ACCESS -> LEFT: KILLERS")
            elif wrong:
                self.defect(place, wrong)
            else:
                mutant = Mutant(place, source, match.groupdict())
                if mutant.old is not None:
                    names[mutant.name] = n = names.get(mutant.name, 0) + 1
                    mutant.name += f"#{n}" if n > 1 else ""
                self.mutants.append(mutant)

    def derive(self):
        """Add the mutants of accesses that have no line: each is the only one of its function that loses this, and there are
        marks that lose it, of ids in the function's comments, in models that stand for the function."""
        listed = {(m.file, m.function, m.access, m.n, m.left) for m in self.mutants if m.old is None}
        for source in self.sources.values():
            sites = [] if HOME.fullmatch(source.name) else list(sites_of(source))
            for function, access, n in sites:
                for left in lefts(access):
                    alike = sum(1 for other in sites if other[0] == function and losses(other[1], left) & losses(access, left))
                    killers = self.models.killers(source, function, losses(access, left)) if alike == 1 else []
                    if killers and (source.name, function, access, n, left) not in listed:
                        self.mutants.append(Mutant(source.name, source, {
                            "called": function, "what": access, "old": None, "new": None, "left": left, "rest": ", ".join(killers)}))


class Models:
    """Marks and macros, and which functions each model stands for."""

    def __init__(self, root):
        self.marks, self.where, self.macros = {}, {}, {}
        for path in files(root, ("proof/model",), (".litmus", ".tpl", ".c")):
            with open(os.path.join(root, path), encoding="utf-8") as file:
                text = file.read()
            name = os.path.relpath(path, "proof/model")
            self.where[name] = set(where(text) or [])
            if path.endswith(".c"):
                self.macros[name] = set(re.findall(r"Busted (\w+):", text))
            else:
                self.read_marks(name, expand.load(os.path.join(root, path)).marks())

    def killers(self, source, function, lost):
        """The marks that lose this of this function; none where one of the models has them in two threads, and cannot say
        which of these the function is."""
        ids = set(IDS.findall(" ".join(re.findall(r"/\*.*?\*/", source.pieces.get(function, ""), re.S))))
        names = {function, f"{os.path.basename(source.name)}:{function}"}
        found = [(model, mark) for (model, mark), losing in sorted(self.marks.items())
                 if self.where[model] & names and IDS.search(mark).group(0) in ids and any(loss in lost for _, loss in losing)]
        threads = {(model, mark.partition(":")[0]) for model, mark in found}
        return [f"{model}:{mark}" for model, mark in found] if len(threads) == len({model for model, _ in found}) else []

    def read_marks(self, name, marks):
        seen, last = {}, None
        for mark, ids, loss in marks:
            for ident in ids:
                called = f"{mark[:3]}{ident}"
                seen[called] = n = seen.get(called, 0) + (mark != last)
                called += f"#{n}" if n > 1 else ""
                self.marks.setdefault((name, called), []).append((mark, loss))
            last = mark

    def twin(self, name, mark, mutant):
        """The twin that is this mutant: a mark and what it loses."""
        for canonical, loss in self.marks.get((name, mark), []):
            if mutant.old is not None or loss in losses(mutant.access, mutant.left):
                return f"{canonical} {loss}"
        return None


class Check:
    def __init__(self, listed):
        self.listed, self.defect, self.models = listed, listed.defect, listed.models

    def killer(self, mutant, killer):
        name, _, what = killer.partition(":")
        if name in ("unit", "torture"):
            test, _, how = what.partition("@")
            if how and how not in ENVIRONMENT:
                self.defect(mutant.place, f"{killer}: there is no @{how}")
            elif name == "torture" and test not in FLAVORS:
                self.defect(mutant.place, f"{killer}: there is no such flavor")
            elif name == "unit" and not tree.yard_of(test):
                self.defect(mutant.place, f"{killer}: there is no such test")
            return
        if name not in self.models.where:
            self.defect(mutant.place, f"there is no proof/model/{name}")
            return
        if name.startswith("real/") and not what:
            pass  # this very change is made to the source, see proof/models.py
        elif name in self.models.macros:
            if what not in self.models.macros[name]:
                self.defect(mutant.place, f"proof/model/{name} has no Busted {what}")
        elif (name, what) not in self.models.marks:
            self.defect(mutant.place, f"proof/model/{name} has no mark {what}")
        elif not self.models.twin(name, what, mutant):
            self.defect(mutant.place, f"{killer} does not lose what {mutant.name} loses")
        self.stands_for(mutant, name)

    def stands_for(self, mutant, model):
        code = self.listed.sources[mutant.file].code_of.get(mutant.function, "")
        called = set(re.findall(r"(\w+)\s*\(", code)) if mutant.old is not None else set()
        own = (mutant.function, f"{os.path.basename(mutant.file)}:{mutant.function}")
        if not any(name in own or name.rpartition(":")[2] in called for name in self.models.where[model]):
            self.defect(mutant.place, f"proof/model/{model} does not say that it stands for {mutant.function}() in "
                                      f"{mutant.file}")

    def text(self, mutant, source):
        if mutant.access not in KINDS:
            self.defect(mutant.place, f"\"{mutant.access}\" is none of {', '.join(sorted(KINDS))}")
        span = mutant.function in source.code_of and mutant.span(source)
        count = len(loose(mutant.old).findall(source.text, *span)) if span else 0
        if count != 1:
            self.defect(mutant.place, f"\"{mutant.old}\" is {count} times in {mutant.function}()")

    def sites(self, source):
        """No site without a line, no line without a site."""
        sites = {(f, a, n, left) for f, a, n in sites_of(source) for left in lefts(a)}
        if HOME.fullmatch(source.name):
            sites = set()
        mutants = [m for m in self.listed.mutants if m.file == source.name]
        listed = {(m.function, m.access, m.n, m.left): m for m in mutants if m.old is None}
        for function, access, n, left in sorted(sites - set(listed)):
            self.defect(source.name, f"{function}(): {access}{f'#{n}' if n > 1 else ''} -> {left} "
                                     f"is not in {LIST}, and no mark says what becomes of it")
        for key in sorted(set(listed) - sites):
            self.defect(listed[key].place, f"there is no {key[1]}#{key[2]} -> {key[3]} in {key[0]}() in "
                                           f"{source.name}")
        kinds = {}
        for mutant in mutants:
            if mutant.old is not None:
                self.text(mutant, source)
                kinds.setdefault(mutant.function, set()).add(mutant.access)
        self.demands(source, kinds)

    def demands(self, source, kinds):
        missing = set()
        for at, line in enumerate(source.code):
            function = source.name_of_line.get(at)
            if function and not line.startswith("#") and not HOME.fullmatch(source.name) and \
                    not source.name.startswith(COMPAT):
                missing |= {(function, why, wanted) for why, wanted, pattern in DEMANDS
                            if pattern.search(line) and not set(wanted) & kinds.get(function, set())}
        for function, why, wanted in sorted(missing):
            self.defect(source.name, f"{function}() {why}: {LIST} has no {' or '.join(wanted)} of it")

    def run(self):
        seen = set()
        for mutant in self.listed.mutants:
            if mutant.name in seen:
                self.defect(mutant.place, f"{mutant.name} is there twice")
            seen.add(mutant.name)
            if mutant.argument is not None and len(mutant.argument) < 20:
                self.defect(mutant.place, "an equivalent mutant needs an argument")
            for killer in mutant.killers:
                self.killer(mutant, killer)
        for source in self.listed.sources.values():
            self.sites(source)
        return self.listed.defects


@functools.lru_cache(None)
def listed():
    """The list, checked."""
    found = List()
    Check(found).run()
    return found


def whole():
    """Return the list if it has no mistakes."""
    if listed().defects:
        raise SystemExit("\n".join(listed().defects))
    return listed()


def judge(mutants, ledger, native=False, again=False, lanes=1):
    """Give them to their models, and what these do not notice, or all, to tests. Return how many survive."""
    import models  # which needs this list
    names = sorted(set().union(*(m.by_model() for m in mutants)))
    passed = models.passing(names, again) if names else set()
    noticed = {m.name for m in mutants if m.by_model() & passed}
    due = [m for m in mutants if native or m.name not in noticed]
    due.sort(key=lambda m: (m.file.startswith("include"), m.name))

    def keep(mutant, verdict, by):
        if verdict == "red":
            noticed.add(mutant.name)
        if not mutant.by_model() & passed:
            ledger.keep("order", mutant, slips.idea_of(mutant.file), verdict, ", ".join(sorted(mutant.killers)))

    for kind in ("orders", "slips"):  # what debug builds check is in these alone
        those = [m for m in due if m.file.startswith("src/check/") == (kind == "slips")]
        if those:
            tree.judge_all(kind, those, lambda mutant, lane: [[name] for name in mutant.tests(lane)], keep, lanes,
                           {tree.yard_of(k.removeprefix("unit:")) for m in those for k in m.killers if is_native(k)})
    survivors = [m for m in mutants if m.name not in noticed]
    for mutant in survivors:
        print(f"survives: {mutant.name}: {mutant.describe()}")
    return len(survivors)


def main(argv, ledger):
    parser = argparse.ArgumentParser(prog="proof/run orders", description="Weaken each order, and see that something notices.")
    for name in ("native", "again", "list"):
        parser.add_argument("--" + name, action="store_true")
    parser.add_argument("--lanes", type=int, default=1)
    parser.add_argument("pattern", nargs="*")
    args = parser.parse_args(argv)
    mutants = [m for m in whole().mutants if not args.pattern or any(p in m.name for p in args.pattern)]
    if args.list:
        print("\n".join(f"{m.name}: {m.describe()}: {m.argument or ', '.join(m.killers)}" for m in mutants))
        return 0
    real = [m for m in mutants if m.argument is None]
    failed = judge(real, ledger, args.native, args.again, args.lanes)
    print(f"orders: {len(real) - failed} passed, {failed} failed, {len(mutants) - len(real)} skipped: equivalent")
    return 1 if failed or not real else 0
