# SPDX-License-Identifier: MIT
"""The slips of a careless maintainer, one at a time: mutants of what the code does. See scripts/mutate --meaning."""
import hashlib
import os
import re

from source import ORDERED, Source, files

# Whose statements say nothing of what the library does: checks, probes, what models and --busted modes are for.
NOT_MEANT = re.compile(r"\b(?:assert\w*|static_assert|lull__static_assert|LULL__BUSTED\w*|lull__busted\w*|LULL__PROBE\w*|"
                       r"LULL__CHECK\w*|lull__probe\w*|lull__ghost\w*|va_end|va_start|_Static_assert)\b")
COMPILER_BARRIER = re.compile(r"\blull_compiler_barrier\(\)")  # what compilers may not move is an order, too
PURE = ("tools/choose", "tools/compare/budget.c", "tools/common/topology.c", "tools/common/units.c",
        "tools/inspect/doctor/advice.c")
UNITS = {"1000": "1000000", "1000000": "1000", "1000000000": "1000000", "1024": "1000"}
CONSTANTS = {"true": "false", "false": "true", "INT_MAX": "1", "UINT64_MAX": "0", "UINT32_MAX": "0"}
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
ONE_OF = 24  # so many slips are made into one mutant
FEW = 8	     # of a function with fewer, one of two functions has a mutant


class Slip:
    """Put @new for what is at @start to @end of a source."""

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
        """Of the function and of what is done to it."""
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
CALL = re.compile(r"[a-z_]\w*\(|[\w>.-]+->\w+\(|\(\*?[\w>.-]+\)\(")
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
        [name for name in files(root, ("tools",), (".c",)) if name.startswith(PURE)]
    # What atomic.h is made of is orders: scripts/mutate without --meaning.
    return [Source(root, name) for name in names if os.path.basename(name) not in ("all.c", "abi.h", "atomic.h")]


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


GOOD = """/* Up to three. */
static int count(struct list *list, int most)
{
	int found = 0;

	for (struct item *item = list->first; found < most; item = item->next) {
		if (item->is_good && !item->gone)
			found++; /* a < b */
		else
			item->copy = item->value;
	}
	if (found > 3)
		return -EINVAL;
	wake(&list->word, INT_MAX);
	set(found, most);
	assert_int_equal(found, 1);
	lull_store_release(&list->found, 1);
	lull_compiler_barrier();
	return found + 1000;
}
"""
WANTED = [
    ("comparison", "found < most", "found <= most"), ("comparison", "found > 3", "found >= 3"),
    ("and-or", "is_good && !item", "is_good || !item"), ("not", "&& !item->gone", "&& item->gone"),
    ("constant", "found = 0", "found = 1"), ("constant", "> 3", "> 4"), ("constant", "INT_MAX", "1"),
    ("unit", "+ 1000", "+ 1000000"), ("sum", "found + 1000", "found - 1000"),
    ("loop", "; found < most", "; found + 1 < most"),
    ("branch", "if (found > 3)", "if (0 && (found > 3))"), ("branch", "if (found > 3)", "if (1 || (found > 3))"),
    ("left-out", "found++;", ";"), ("left-out", "item->copy = item->value;", ";"), ("left-out", "wake(&list->word, INT_MAX);", ";"),
    ("error", "return -EINVAL;", "return 0;"), ("swap", "set(found, most)", "set(most, found)"),
]


def self_test(root):
    """See that these slips are made in GOOD, each once, and none in what is not meant, in orders and in comments."""
    os.makedirs(os.path.join(root, "src"))
    with open(os.path.join(root, "src", "good.c"), "w", encoding="utf-8") as file:
        file.write(GOOD)
    slips = slips_of(Source(root, "src/good.c"))
    failed = 0
    for kind, old, new in WANTED:
        text = GOOD.replace(old, new, 1)
        if sum(slip.kind == kind and slip.apply() == text for slip in slips) != 1:
            print(f"FAILED {kind}: {old!r} to {new!r} is not there once")
            failed += 1
    for slip in slips:
        line = slip.describe().partition(" → ")[0]
        if "assert" in line or (slip.kind == "left-out" and ("store_release" in line or "barrier" in line)) or "a <= b" in slip.apply():
            print(f"FAILED {slip.kind}: {slip.describe()}")
            failed += 1
    print(f"careless: {len(WANTED) - failed} passed, {failed} failed")
    return 1 if failed else 0
