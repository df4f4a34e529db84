# SPDX-License-Identifier: MIT
"""Make the slips of a careless maintainer, one at a time, and see that a test of the part notices.

usage: proof/run slips [--all] [--again] [--lanes N] [PATTERN...]
       proof/run slips --sample N | --others N [--seed S]
       proof/run slips --list [PATTERN...]

A slip is a comparison or a constant off by one, a branch dropped, an argument swapped, a statement left out, a unit
wrong, an error ignored.  About one in twenty-four of each function is made (--all: each).  Each is built in a copy of
the tree.  The test that noticed last time runs first; then, of the idea that the file belongs to and of the ideas above,
which rest on it, those first that have noticed most, until one is red or hangs.  Survivors are tried once more with
the address and leak sanitizers.  The whole takes hours; what comes of it goes to the ledger, and is not done again while
the function is the same (--again does).

Tests were written for what survived, so --others N makes N that are not among these, by chance: their score is what
one may expect of any slip.  --sample takes N of those that a test without sanitizers is known to notice, by chance, and
sees that the same test still does, or another one of the idea, but for one in ten: for CI.

A slip that no compiler takes is "refused", which is not red.  A test that hangs counts where it is known to hang, or
where it passes in time once more without the slip: a busy machine makes tests hang, too.

The list `equivalent` has a line "NAME: argument" for each survivor that changes nothing a program could see, and
"NAME: gone: argument" for a slip that was red and cannot be made any more.  Exit 1 when something survives.
"""
import argparse
import hashlib
import os
import random
import re

from mutate.tree import AT_A_TIME, ROOT, YARDS, judge_all
from source import COMPAT, ORDERED, SAID_IN, Source, files

EQUIVALENT = os.path.join(ROOT, "proof", "equivalent")
TRIES = 5  # of a sampled slip: a test that goes by chance has several

# Ideas whose tests notice a slip in a file of this idea: its own first, then those that rest on it.
ABOVE = {
    "os": ["base", "watch", "mutex", "rcu", "reclaim", "count"],
    "base": ["base", "life", "rcu", "watch", "reclaim", "hazptr", "mutex", "count", "check"],
    "rcu": ["rcu", "base", "reclaim", "watch", "check"],
    "hazptr": ["hazptr", "reclaim", "watch", "check", "life"],
    "reclaim": ["reclaim", "watch", "hazptr", "rcu", "base"],
    "count": ["count", "check"],
    "hash": ["hash", "check"],
    "mutex": ["mutex", "watch", "owner_runs"],
    "owner_runs": ["owner_runs", "mutex"],
    "watch": ["watch", "rcu", "mutex", "reclaim"],
    "check": ["check", "rcu", "hazptr", "mutex"],
}
HEADERS = [("hazptr", "hazptr"), ("shazptr", "hazptr"), ("hlist|list", "lists"), ("hash", "hash"), ("mutex|cond", "mutex"),
           ("percpu|ref", "count"), ("rcu", "rcu"), ("reclaim|bridge|defer|bag|queue", "reclaim"), ("stats|debug|stall", "watch"),
           ("check", "check"), ("", "base")]


def idea_of(file):
    """The idea that a source belongs to; the other yards have one each."""
    top, _, rest = file.partition("/")
    if file.startswith(COMPAT):
        return "kernel_names" if os.path.basename(file).startswith("kernel") else "urcu"
    if top in ("src", "compat"):
        folder = rest.partition("/")[0] if "/" in rest else "base"
        return "urcu" if folder == "compat" else folder
    if top != "include":
        return top
    return next(idea for start, idea in HEADERS if re.match(start, os.path.basename(file)))


# Statements that change nothing in what the library does: checks, probes, what models and --busted modes are for.
NOT_MEANT = re.compile(r"\b(?:assert\w*|static_assert|lull__static_assert|LULL__BUSTED\w*|lull__busted\w*|LULL__PROBE\w*|"
                       r"LULL__CHECK_\w+|lull__probe\w*|lull__ghost\w*|va_end|va_start|_Static_assert)\b")
COMPILER_BARRIER = re.compile(r"\blull_compiler_barrier\(\)")  # what compilers may not move is an order, too
# Pure files of other yards, and the tests that are named for each; (): all of the yard. The rest of those yards talks to the
# system.
PURE = {
    "lab/choose/": ("lab_choose_for", "lab_choose_lock"),
    "lab/engine/budget.c": ("lab_budget",),
    "lab/engine/other_programs.c": ("lab_engine_figures",),
    "lab/engine/text_table.c": ("lab_engine_figures",),
    "lab/engine/turns.c": ("lab_engine_figures",),
    "lab/peers/body/lock_work.c": ("lab_engine_figures", "lab_mutex_figures"),
    "lab/instruments/hash/reload_results.c": ("lab_table_figures",),
    "lab/instruments/hash/results.c": ("lab_table_figures",),
    "lab/instruments/labels/results.c": ("lab_table_figures",),
    "lab/instruments/lockdep_keys/results.c": ("lab_table_figures",),
    "lab/instruments/mutex/figures.c": ("lab_mutex_figures",),
    "lab/instruments/mutex/matrix.c": ("lab_mutex_figures",),
    "lab/instruments/mutex/pair.c": ("lab_mutex_figures",),
    "lab/instruments/mutex/results.c": ("lab_mutex_figures",),
    "lab/instruments/mutex/wait1000.c": ("lab_mutex_figures",),
    "lab/instruments/rcu/counted.c": ("lab_rcu_figures",),
    "lab/instruments/rcu/interrupts.c": ("lab_rcu_more_figures",),
    "lab/instruments/rcu/latency.c": ("lab_rcu_figures",),
    "lab/instruments/rcu/letter_table.c": ("lab_rcu_more_figures",),
    "lab/instruments/rcu/paced.c": ("lab_rcu_more_figures",),
    "lab/instruments/rcu/replacement.c": ("lab_rcu_figures",),
    "lab/instruments/rcu/updaters.c": ("lab_rcu_more_figures",),
    "lab/instruments/read/results.c": ("lab_table_figures",),
    "lab/instruments/tradeoff/figures.c": ("lab_tradeoff_figures",),
    "lab/instruments/tradeoff/json.c": ("lab_tradeoff_figures",),
    "lab/instruments/tradeoff/print.c": ("lab_tradeoff_figures",),
    "tool/common/figures.c": ("tool_figures",),
    "tool/common/json.c": ("tool_figures",),
    "tool/common/proc_counts.c": ("tool_figures",),
    "tool/common/slices.c": ("tool_figures",),
    "tool/common/topology.c": ("tool_topology",),
    "tool/common/units.c": ("tool_units",),
    "tool/doctor/advice.c": ("tool_advice",),
    "tool/doctor/fences.c": ("tool_doctor_figures",),
    "tool/doctor/findings.c": ("tool_doctor_figures",),
    "tool/doctor/json.c": ("tool_doctor_figures",),
    "tool/top/figures.c": ("tool_top_figures",),
    "tool/top/json.c": ("tool_top_figures",),
    "tool/top/lines.c": ("tool_top_figures",),
    "tool/top/waits.c": ("tool_top_figures",),
    "tool/top/words.c": ("tool_top_figures",),
    "urcu/source": (),
    "urcu/worker": (),
}
UNITS = {"1000": "1000000", "1000000": "1000", "1000000000": "1000000", "1024": "1000"}
CONSTANTS = {"true": "false", "false": "true", "INT_MAX": "1", "UINT64_MAX": "0", "UINT32_MAX": "0"}
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
ONE_OF = 24  # so many slips are made into one mutant
FEW = 8	     # of a function with fewer, one of two functions has a mutant


class Slip:
    """Put @new for what is at @start to @end of a source."""

    may_hang = True
    hangs = ()  # tests that are known to hang with it

    def __init__(self, source, function, kind, start, end, new):
        self.source, self.function, self.kind = source, function, kind
        self.start, self.end, self.new = start, end, new
        self.file = source.name
        self.name = None  # given by slips_of()

    def old(self):
        return self.source.text[self.start : self.end]

    def apply(self):
        return self.source.text[: self.start] + self.new + self.source.text[self.end :]

    def line(self):
        return self.source.text.count("\n", 0, self.start) + 1

    def hash(self):
        """A hash of the function and of what is done to it."""
        change = f"{self.kind} {self.old()} {self.new}"
        return self.source.code_hash(self.function) + hashlib.sha256(change.encode()).hexdigest()[:6]

    def describe(self):
        """The line as it is, and with the slip."""
        first = self.source.text.rfind("\n", 0, self.start) + 1
        last = self.source.text.find("\n", self.end)
        old = self.source.text[first:last]
        new = self.source.text[first : self.start] + self.new + self.source.text[self.end : last]
        return " → ".join(f"`{' '.join(text.split())}`" for text in (old, new))


def closing(text, at):
    """The place of the bracket that closes the one at @at."""
    depth = 0
    for here in range(at, len(text)):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[here], 0)
        if depth == 0:
            return here
    return None


def arguments(text, start, end):
    """(start, end) of each argument between the brackets at @start and @end."""
    found, depth, begin = [], 0, start + 1
    for here in range(start + 1, end + 1):
        if (text[here] == "," and depth == 0) or here == end:
            part = text[begin:here]
            found.append((begin + len(part) - len(part.lstrip()), begin + len(part.rstrip())))
            begin = here + 1
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[here], 0)
    return found


def words(text, start, end):
    """Slips in a word or a sign: comparison, constant, unit, sum, the condition and its contrary."""
    for match in re.compile(r"(?<=\s)(<=|>=|<|>|==|!=)(?=\s)").finditer(text, start, end):
        yield "comparison", match.start(), match.end(), COMPARISONS[match.group(0)]
    for match in re.compile(r"(?<=\s)(&&|\|\|)(?=\s)").finditer(text, start, end):
        yield "and-or", match.start(), match.end(), {"&&": "||", "||": "&&"}[match.group(0)]
    for match in re.compile(r"(?<![\w.])(0x[0-9a-fA-F]+|\d+)([uUlL]*)\b(?!\.)").finditer(text, start, end):
        value = match.group(1)
        if value in UNITS:
            yield "unit", match.start(), match.end(), UNITS[value] + match.group(2)
        else:
            yield "constant", match.start(), match.end(), f"{int(value, 0) + 1}{match.group(2)}"
    for match in re.compile(r"\b(" + "|".join(CONSTANTS) + r")\b").finditer(text, start, end):
        yield "constant", match.start(), match.end(), CONSTANTS[match.group(0)]
    for match in re.compile(r"(?<=[\w)\]] )[+-](?= [\w(])").finditer(text, start, end):
        yield "sum", match.start(), match.end(), {"+": "-", "-": "+"}[match.group(0)]
    for match in re.compile(r"(?<= )([+-])=(?= )").finditer(text, start, end):
        yield "sum", match.start(), match.end(), {"+": "-=", "-": "+="}[match.group(1)]
    for match in re.compile(r"(?<=[(\s])!(?=[\w(])").finditer(text, start, end):
        yield "not", match.start(), match.end(), ""


def conditions(text, start, end):
    """Slips in a condition: a branch that is never or always taken, a wait that is left out, a loop that is one short."""
    for match in re.compile(r"\b(if|while) \(").finditer(text, start, end):
        close = closing(text, match.end() - 1)
        if close is None or close > end:
            continue
        inner = text[match.end() : close]
        if match.group(1) == "if":
            yield "branch", match.end(), close, f"0 && ({inner})"
            yield "branch", match.end(), close, f"1 || ({inner})"
        elif not text[: match.start()].rstrip().endswith("}") or text[close + 1] != ";":
            yield "loop", match.end(), close, f"0 && ({inner})"
    for match in re.compile(r"\bfor \([^;\n]*; (\w+) < ").finditer(text, start, end):
        yield "loop", match.start(1), match.end(1), match.group(1) + " + 1"


ASSIGNMENT = re.compile(r"[*(]*[\w>.\[\]()*+-]+ (?:[-+|&^]|<<|>>)?= ")
CALL = re.compile(r"[a-z_]\w*\(|LULL__CHECK\(|[\w>.-]+->\w+\(|\(\*?[\w>.-]+\)\(")
COUNT = re.compile(r"(?:\+\+|--)?[\w>.\[\]()*-]+(?:\+\+|--)?;$")


def statements(text, start, end):
    """Slips that leave something out: a call, an assignment, an error, the end of a loop."""
    at = text.find("\n", start)
    while at != -1 and at < end:
        begin = at + 1 + len(re.match(r"\t*", text[at + 1 :]).group(0))
        at = text.find("\n", begin)
        line = text[begin : at if at != -1 else end]
        if re.match(r"return -E\w+;", line):
            yield "error", begin, begin + line.index(";") + 1, "return 0;"
        elif re.match(r"(?:break|continue);", line):
            yield "left-out", begin, begin + line.index(";"), ""
        elif CALL.match(line) or ASSIGNMENT.match(line) or (COUNT.match(line.rstrip()) and re.search(r"\+\+|--", line)):
            stop = begin
            while stop < end and text[stop] not in ";{}":
                stop = closing(text, stop) or end if text[stop] in "([" else stop
                stop += 1
            if stop < end and text[stop] == ";":
                yield "left-out", begin, stop, ""
    for match in re.compile(r"(?<=[{,\s]\.)\w+ = ").finditer(text, start, end):
        stop = match.end()
        while stop < end and text[stop] not in ",}":
            stop = closing(text, stop) or end if text[stop] in "([{" else stop
            stop += 1
        if text[match.end() : stop].strip() not in ("0", "NULL", "false"):
            yield "left-out", match.end(), stop, "0"


def swaps(text, start, end):
    """Two arguments that change places. Where their types do not fit, the compiler refuses."""
    for match in re.compile(r"(?<!\bif )(?<!\bfor )\b[a-z_]\w*\(").finditer(text, start, end):
        close = closing(text, match.end() - 1)
        if close is None or close > end:
            continue
        given = arguments(text, match.end() - 1, close)
        for (one, one_end), (two, two_end) in zip(given, given[1:]):
            first, second = text[one:one_end], text[two:two_end]
            if first != second and re.match(r"[&\w]", first) and re.match(r"[&\w]", second) \
                    and not re.match(r"(?:struct|const|u?int\d*_t|unsigned|void|bool|size_t|int|enum|char)\b", first):
                yield "swap", one, two_end, f"{second}{text[one_end:two]}{first}"
                break


def spans(source):
    """(function, start, end) of each piece of code."""
    lines = sorted(source.name_of_line)
    starts = [0]
    for line in source.lines:
        starts.append(starts[-1] + len(line) + 1)
    for first in [n for n in lines if source.name_of_line.get(n - 1) != source.name_of_line[n]]:
        last = first
        while source.name_of_line.get(last + 1) == source.name_of_line[first]:
            last += 1
        body = first
        if not source.code[first].startswith("#"):
            while body < last and source.code[body].rstrip() != "{":
                body += 1
        elif first == last and not re.search(r"\bif \(|\? ", source.code[first]):
            continue  # a constant, or a name for something
        yield source.name_of_line[first], starts[body], starts[last + 1] - 1


def slips_of(source):
    """All there are, named FILE:FUNCTION:KIND#N."""
    text = "\n".join(source.code)
    ordered = [match.start() for what in (ORDERED, COMPILER_BARRIER) for match in what.finditer(text)]
    found = []
    for function, start, end in spans(source):
        numbers = {}
        for how in (words, conditions, statements, swaps):
            for kind, first, last, new in how(text, start, end):
                line_start = text.rfind("\n", 0, first) + 1
                line = text[line_start : text.find("\n", first)]
                if NOT_MEANT.search(line) or line.lstrip().startswith(("#if", "#elif", "#include", "#error")) \
                        or (kind == "left-out" and any(first <= at < last for at in ordered)):
                    continue
                if len(new) > last - first:  # it has the old text in it, from which comments and strings were blanked
                    new = new.replace(text[first:last], source.text[first:last])
                slip = Slip(source, function, kind, first, last, new)
                numbers[kind] = numbers.get(kind, 0) + 1
                slip.name = f"{source.name}:{function}:{kind}#{numbers[kind]}"
                found.append(slip)
    return found


def sources(root):
    names = list(files(root, ("include/lull", "src"), (".h", ".c"))) + \
        [name for name in files(root, YARDS, (".h", ".c")) if name.startswith(tuple(PURE))]
    # atomic.h is nothing but orders.
    return [Source(root, name) for name in names if os.path.basename(name) not in ("all.c", "abi.h", "atomic.h") and
            not SAID_IN.fullmatch(name)]


def chance(name):
    """The same each time."""
    return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16)


def chosen(slips):
    """A part of all: of each function those that come first in an order of chance."""
    groups = {}
    for slip in slips:
        groups.setdefault((slip.file, slip.function), []).append(slip)
    for group in groups.values():
        if len(group) >= FEW or chance(group[0].file + group[0].function) % 2:
            yield from sorted(group, key=lambda slip: chance(slip.name))[: -(-len(group) // ONE_OF)]


def reasons():
    """{name: why it changes nothing, or why it is gone}"""
    with open(EQUIVALENT, encoding="utf-8") as file:
        text = re.sub(r"\n[ \t]+", " ", file.read())
    return dict(line.split(": ", 1) for line in text.split("\n") if line and not line.startswith("#"))


# ---- giving them to the tests -----------------------------------------------------------------


def yards_of(slips):
    return {idea_of(slip.file) for slip in slips} & set(YARDS)


def named_for(slip):
    """The tests that are named for a file of another yard."""
    return next((names for start, names in PURE.items() if slip.file.startswith(start)), ())


def groups(slip, tests, kills):
    """All that may notice, in the order in which it runs: what noticed most, the idea's own, those above."""
    if named := named_for(slip):
        return [[name for name in named if name in tests]]
    ideas = ABOVE.get(idea_of(slip.file), [idea_of(slip.file)])
    mine = [[name for name, test in tests.items() if test.idea == idea] for idea in ideas]
    often = sorted((name for names in mine for name in names if kills.get(name)), key=lambda name: -kills[name])[:AT_A_TIME]
    flat = [[name for name in names if name not in often] for names in mine]
    return [group for group in (often, flat[0], [name for names in flat[1:] for name in names]) if group]


def judge(slips, ledger, lanes, keep):
    """Run first the tests that are known to notice, then all, and then the sanitizers for what survives."""
    verdicts, because = {}, reasons()

    def found(slip, verdict, by):
        verdicts[slip.name] = verdict
        if verdict in ("red", "refused"):
            keep(slip, verdict, by)

    def left(*with_these):
        return [slip for slip in slips if verdicts.get(slip.name, "unknown") in with_these]

    known = {slip.name: ledger.killer(slip) for slip in slips if ledger.killer(slip)}
    for slip in slips:
        slip.hangs = ledger.hangs(slip)
    if known:
        judge_all("slips", [slip for slip in slips if slip.name in known], lambda slip, lane: [[known[slip.name]]], found, lanes,
                  yards_of(slips), "what noticed last time")
    for kind, rest in (("slips", lambda: left("unknown", "green", "same")),
                       ("sanitized", lambda: [slip for slip in left("green") if slip.name not in because])):
        if due := rest():
            judge_all(kind, due, lambda slip, lane: groups(slip, lane.tests, ledger.kills(slip.file)), found, lanes, yards_of(due))
    for slip in left("green", "same"):
        keep(slip, verdicts[slip.name], "-")
    return verdicts


def close(verdicts, allowed=0):
    """The line at the end, and the exit status."""
    because = reasons()
    alive = [name for name, verdict in verdicts.items() if verdict == "green" and name not in because]
    for name in alive:
        print(f"survives: {name}")
    good = sum(verdict == "red" for verdict in verdicts.values())
    refused = sum(verdict == "refused" for verdict in verdicts.values())
    failed = max(len(alive) - allowed, 0)
    rest = len(verdicts) - good - len(alive) - refused
    why = [f"{refused} are refused by the compiler"] * bool(refused) + [f"{rest} change nothing, or are not in this build"] * bool(rest)
    print(f"slips: {good + len(alive) - failed} passed, {failed} failed, {refused + rest} skipped{': ' * bool(why)}{'; '.join(why)}")
    return 1 if failed or not verdicts else 0


def sample(slips, ledger, count, seed):
    """See that @count of the red ones are still noticed, by the test that did it, or else by another one of the idea: the
    one that was the first to notice may do so by chance."""
    known = [slip for slip in slips if ledger.is_same(slip) and ledger.killer(slip) and ledger.row(slip).by.startswith("red ")]
    print(f"slips: {count} of {len(known)}, --seed {seed}", flush=True)
    taken = random.Random(seed).sample(known, min(count, len(known)))
    verdicts = {}

    def found(slip, verdict, _):
        verdicts[slip.name] = "green" if verdict in ("same", "refused") else verdict

    judge_all("slips", taken, lambda slip, lane: [[ledger.killer(slip)]] * TRIES, found, 1, yards_of(taken), "what noticed last time")
    if left := [slip for slip in taken if verdicts[slip.name] == "green"]:
        judge_all("slips", left, lambda slip, lane: groups(slip, lane.tests, ledger.kills(slip.file)), found, 1, yards_of(left))
    return close(verdicts, len(taken) // 10)


def every():
    return [slip for source in sources(ROOT) for slip in slips_of(source)]


def main(argv, ledger):
    parser = argparse.ArgumentParser(prog="proof/run slips", description="Make slips, and see that a test notices.")
    for name in ("all", "again", "list"):
        parser.add_argument("--" + name, action="store_true")
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("--others", type=int, metavar="N")
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=random.randrange(1000000))
    parser.add_argument("pattern", nargs="*")
    args = parser.parse_args(argv)
    slips = every()
    if args.sample:
        return sample(slips, ledger, args.sample, args.seed)
    listed = list(chosen(slips))
    if args.others:
        names = {slip.name for slip in listed}
        others = random.Random(args.seed).sample([slip for slip in slips if slip.name not in names], args.others)
        return close(judge(others, ledger, args.lanes, lambda *found: None))
    wanted = [s for s in (slips if args.all else listed) if not args.pattern or any(p in s.name for p in args.pattern)]
    if args.list:
        print("\n".join(f"{slip.name}: {slip.describe()}" for slip in wanted))
        return 0
    known = {slip.name for slip in listed} | {name for kind, name in ledger.rows if kind == "slip"}

    def keep(slip, verdict, by):
        if slip.name in known:
            ledger.keep("slip", slip, idea_of(slip.file), verdict, by)

    # Run in random order: a run that is cut off has seen a fair part of them.
    due = sorted((slip for slip in wanted if args.again or not ledger.is_fresh(slip)), key=lambda slip: chance(slip.hash()))
    verdicts = {slip.name: ledger.verdict(slip) for slip in wanted if ledger.is_fresh(slip)}
    verdicts.update(judge(due, ledger, args.lanes, keep))
    return close(verdicts)
