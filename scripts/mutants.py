# SPDX-License-Identifier: MIT
"""model/mutants: its form, and whether it is whole. See scripts/mutate."""
import glob
import hashlib
import os
import re
from importlib import machinery, util

from source import ORDERED, Source, files, find, try_broken, where

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIST = "model/mutants"


def script(path):
    """A script of ours, as a module."""
    loader = machinery.SourceFileLoader(os.path.basename(path), os.path.join(ROOT, path))
    module = util.module_from_spec(util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


EXPAND = script("model/expand")
HOME = re.compile(r"include/lull/(?:atomic|fence|detail/arch/\w+)\.h")
ENVIRONMENT = {"full": {"LULL_FENCE": "full"}, "none": {"LULL_OWNER_ORACLE": "none"},
               "norseq": {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}}
FLAVORS = ("rcu", "rcu-qsbr", "hazptr", "shazptr", "bridge", "percpu_ref", "hash", "mutex")

# What a function does, and the kinds of mutants of which it then has one. Not there: what is wrong in that is for
# tests/urcu/ to find, which are no unit tests.
COMPAT = "compat/"
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
PROSE = re.compile(r"^ \* ?(?!.*\b(?:Weaken|Strategy|Busted|Flags|With)\b).*\n", re.M)  # of the comment on top of a model
KINDS = {kind for _, kinds, _ in DEMANDS for kind in kinds} | {"check", "step", "wake"}


def losses(access, left):
    """What a mark may lose that stands for this."""
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
    """What there is to be left of it, one mutant each."""
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


class Mutant:
    def __init__(self, place, group, file, match):
        self.place, self.group, self.file = place, group, file
        self.function, self.what, self.old = match["called"].rpartition(":")[2], match["what"], match["old"]
        self.new, self.left = match["new"], match["left"]
        self.access, _, n = self.what.partition("#")
        self.n = int(n or 1)
        rest = match["rest"].strip()
        self.argument = rest[len("equivalent:"):].strip() if rest.startswith("equivalent:") else None
        self.killers = [] if self.argument else re.split(r",\s*", rest)
        self.name = f"{os.path.basename(file)}:{self.function}:{self.what}"
        self.name += ":" + self.left if self.left else ""

    def key(self):
        """What scripts/models calls it when it runs a model of model/real with this change in the source."""
        return f"{self.name} {hashlib.sha256(self.describe().encode()).hexdigest()[:6]}"

    def describe(self):
        return (f'`{self.old}` → `{self.new or " "}`' if self.old is not None else f"{self.access} → {self.left}")

    def apply(self, source):
        """The text of the file with this mutant in it."""
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
        """Where the function is in the text; of several of that name the first that has OLD in it."""
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

    def __init__(self, root):
        self.root = root
        self.sources = {name: Source(root, name) for name in files(root, ("include", "src", "compat"), (".h", ".c"))}
        self.mutants, self.defects, self.defaults = [], [], {}
        self.read()

    def defect(self, place, text):
        self.defects.append(f"{place}: {text}")

    def read(self):
        with open(os.path.join(self.root, LIST), encoding="utf-8") as file:
            lines = [(n, line.rstrip()) for n, line in enumerate(file, 1)]
        group, names = None, {}
        joined = []  # [number, indent, text]
        for number, line in lines:
            indent = len(line) - len(line.lstrip())
            if not line or line.startswith("#"):
                continue
            if joined and indent and joined[-1][1] and indent > joined[-1][1]:
                joined[-1][2] += " " + line.strip()
            else:
                joined.append([number, indent, line.strip()])
        for number, indent, line in joined:
            place = f"{LIST}:{number}"
            if not indent:
                group, colon, default = line.partition(":")
                self.defaults[group] = [k for k in re.split(r",\s*", default.strip()) if k]
                if not colon:
                    self.defect(place, "is neither a mechanism and a colon nor indented")
                continue
            match = LINE.fullmatch(line)
            source, wrong = find(self.sources.values(), match["called"]) if match else (None, None)
            if not match:
                self.defect(place, "is not FUNCTION ACCESS -> LEFT: KILLERS")
            elif wrong:
                self.defect(place, wrong)
            else:
                mutant = Mutant(place, group, source.name, match.groupdict())
                if mutant.old is not None:
                    names[mutant.name] = n = names.get(mutant.name, 0) + 1
                    mutant.name += f"#{n}" if n > 1 else ""
                self.mutants.append(mutant)

    def native(self, mutant):
        own = [k for k in mutant.killers if k.startswith(("unit:", "torture:"))]
        return own or ([] if mutant.argument else self.defaults.get(mutant.group, []))


class Models:
    """Marks and macros, and which functions each model stands for."""

    def __init__(self, root, sources):
        self.marks, self.where, self.macros, self.hash = {}, {}, {}, {}
        folder = os.path.join(root, "model")
        for path in files(root, ("model",), (".litmus", ".tpl", ".c")):
            with open(os.path.join(root, path), encoding="utf-8") as file:
                text = file.read()
            name = os.path.relpath(path, "model")
            self.where[name] = set(where(text) or [])
            said = PROSE.sub("", text)
            for header in re.findall(r'^#include "((?:\.\./)?\w+\.h)"', text, re.M):
                with open(os.path.join(root, os.path.dirname(path), header), encoding="utf-8") as file:
                    said += file.read()
            if name.startswith("real/"):  # it is as good as the code that it goes through
                found = {find(sources.values(), called)[0] for called in self.where[name]}
                said += "".join(sorted(source.text for source in found if source))
            self.hash[name] = hashlib.sha256(said.encode()).hexdigest()[:12]
            if path.endswith(".c"):
                self.macros[name] = set(re.findall(r"Busted (\w+):", text))
        for name in sorted(self.where):
            if not name.endswith(".c"):
                self.read_marks(name, EXPAND.load(os.path.join(folder, name)).marks())

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
        """The twin that is this mutant, as scripts/models calls it: a mark and what it loses."""
        for canonical, loss in self.marks.get((name, mark), []):
            if mutant.old is not None or loss in losses(mutant.access, mutant.left):
                return f"{canonical} {loss}"
        return None


class Check:
    def __init__(self, listed):
        self.listed, self.root, self.defect = listed, listed.root, listed.defect
        self.models = Models(self.root, listed.sources)

    def killer(self, mutant, killer):
        name, _, what = killer.partition(":")
        if name in ("unit", "torture"):
            test, _, how = what.partition("@")
            if how and how not in ENVIRONMENT:
                self.defect(mutant.place, f"{killer}: there is no @{how}")
            elif name == "torture" and test not in FLAVORS:
                self.defect(mutant.place, f"{killer}: there is no such flavor")
            elif name == "unit" and not glob.glob(os.path.join(self.root, "tests", "unit", "*", test + ".c")):
                self.defect(mutant.place, f"{killer}: there is no such test")
            return
        if name not in self.models.where:
            self.defect(mutant.place, f"there is no model/{name}")
            return
        if name.startswith("real/") and not what:
            pass  # this very change is made to the source, see scripts/models
        elif name in self.models.macros:
            if what not in self.models.macros[name]:
                self.defect(mutant.place, f"model/{name} has no Busted {what}")
        elif (name, what) not in self.models.marks:
            self.defect(mutant.place, f"model/{name} has no mark {what}")
        elif not self.models.twin(name, what, mutant):
            self.defect(mutant.place, f"{killer} does not lose what {mutant.name} loses")
        self.stands_for(mutant, name)

    def stands_for(self, mutant, model):
        code = self.listed.sources[mutant.file].code_of.get(mutant.function, "")
        called = set(re.findall(r"(\w+)\s*\(", code)) if mutant.old is not None else set()
        own = (mutant.function, f"{os.path.basename(mutant.file)}:{mutant.function}")
        if not any(name in own or name.rpartition(":")[2] in called for name in self.models.where[model]):
            self.defect(mutant.place, f"model/{model} does not say that it stands for {mutant.function}() in "
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
                                     f"is not in {LIST}")
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


GOOD = {
    "src/a.c": """/* A mailbox. */
static void put(int *box, int v)
{
	lull_store_release(box, v); /* lull_store_release(box, v) */
	lull_fence_light();
	if (lull_nonzero_relaxed(&flags))
		wake();
}

static int take(int *box)
{
	int v = lull_load_acquire(box);

	if (!v)
		lull__futex_wait(box, 0, 0);
	return lull_add_acq_rel(box, 1);
}
""",
    "include/lull/b.h": "#define B(p) lull_load_acquire(&(p))\n",
    "tests/unit/a/test_a.c": "",
    "model/a/box.litmus": """C a-box
(*
 * ORDER BOX-1
 * Where: put(), take() in a.c, B()
 *
 *)
{ [box]=0; [a]=0; }

P0 (atomic_int* box, atomic_int* a) {
  atomic_store_explicit(box, 1, memory_order_release); // BOX-1
  atomic_thread_fence(memory_order_seq_cst); // BOX-1, BOX-2
  int r0 = atomic_fetch_add_explicit(box, 1, memory_order_acq_rel); // BOX-1
}

P1 (atomic_int* box, atomic_int* a) {
  int r1 = atomic_load_explicit(box, memory_order_acquire); // BOX-1
}

exists (1:r1=1)
""",
    "model/a/box.c": "/*\n * ORDER BOX-1\n * Where: put(), take()\n *\n * Busted NO_FLAG: sc\n */\n",
    "model/mutants": """# Two mechanisms.
a: unit:test_a
	put store_release -> relaxed: a/box.litmus:P0:BOX-1
	put fence_light -> nothing: a/box.litmus:P0:BOX-2
	put flag "lull_nonzero_relaxed( &flags )" -> "false": a/box.c:NO_FLAG, unit:test_a@full
	a.c:take load_acquire -> relaxed: a/box.litmus:P1:BOX-1,
		torture:rcu
	take wait "if (!v) lull__futex_wait(box, 0, 0);" -> ";": a/box.litmus:P1:BOX-1
	take add_acq_rel -> acquire: a/box.litmus:P0:BOX-1#3
	take add_acq_rel -> release: a/box.litmus:P0:BOX-1#3
b:
	B load_acquire -> relaxed: equivalent: nobody uses it, and it is here for the test
""",
}

BROKEN = [
    ("src/a.c", "wake();", "wake();\n\tlull_fence_full();", "put(): fence_full -> nothing is not in"),
    ("src/a.c", "wake();", "wake();\n\tlull_store_release(box, 2);", "put(): store_release#2 -> relaxed is not in"),
    ("src/a.c", "lull_store_release(box, v); /*", "lull_store_relaxed(box, v); /*", "no store_release#1 -> relaxed in put()"),
    ("src/a.c", "wake();", "lull__wait_sleep(w);", "put() sleeps or waits: model/mutants has no wait"),
    ("src/a.c", "static int take(", "static int fetch(", "there is no take() in a.c"),
    ("include/lull/b.h", "B(p)", "put(p)", "put() is in include/lull/b.h and in src/a.c: say in which"),
    ("src/a.c", "if (!v)", "if (v == 0)", "is 0 times in take()"),
    ("src/a.c", "return lull_add", "lull__give_way(&v);\n\tif (!v)\n\t\tlull__futex_wait(box, 0, 0);\n\treturn lull_add",
     "is 2 times in take()"),
    ("model/mutants", "put fence_light", "put fence_heavy", "put(): fence_light -> nothing is not in"),
    ("model/mutants", "	take wait", "	take flag", "take() sleeps or waits: model/mutants has no wait"),
    ("model/mutants", "	put flag", "	put wait", "put() tests a flag: model/mutants has no flag"),
    ("model/mutants", "	put flag", "	put gate", "\"gate\" is none of"),
    ("model/mutants", "	take add_acq_rel -> release: a/box.litmus:P0:BOX-1#3\n", "", "add_acq_rel -> release is not in"),
    ("model/mutants", "put store_release -> relaxed", "put store_release", "is not FUNCTION ACCESS"),
    ("model/mutants", "b:\n", "b\n", "is neither a mechanism and a colon"),
    ("model/mutants", "	B load", "	C load", "there is no C()"),
    ("model/mutants", "P0:BOX-2", "P0:BOX-3", "has no mark P0:BOX-3"),
    ("model/mutants", "P0:BOX-2", "P1:BOX-1", "does not lose what a.c:put:fence_light:nothing loses"),
    ("model/mutants", "box.c:NO_FLAG", "box.c:FLAG", "has no Busted FLAG"),
    ("model/mutants", "box.c:NO_FLAG", "bag.c:NO_FLAG", "there is no model/a/bag.c"),
    ("model/mutants", "test_a@full", "test_b@full", "there is no such test"),
    ("model/mutants", "test_a@full", "test_a@fast", "there is no @fast"),
    ("model/mutants", "torture:rcu", "torture:rcv", "there is no such flavor"),
    ("model/mutants", "nobody uses it, and it is here for the test", "so it is", "needs an argument"),
    ("model/mutants", "	put fence", "	put store_release -> relaxed: a/box.litmus:P0:BOX-1\n	put fence", "is there twice"),
    ("model/a/box.litmus", "put(), take()", "put()", "does not say that it stands for take()"),
    ("model/a/box.litmus", "take() in a.c", "take() in b.h", "does not say that it stands for take()"),
    ("model/a/box.litmus", "memory_order_release); // BOX-1", "memory_order_release);", "does not lose what"),
]


def self_test():
    return try_broken("mutate", GOOD, BROKEN, lambda root: Check(List(root)).run())
