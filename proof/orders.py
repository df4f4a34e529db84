#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check that every order in the source has an id, a partner and a model, and that docs/ORDERING.md has its table of them.

usage: proof/orders.py [--write | --pin NAME... | --pin all | --repin [NEW=OLD...]]

An order is explained where it is made, in a comment of this form; model/FILE is in proof/:

    ORDER <id>: <what> before <what>; pairs with <id> in <function>(); without it <failure>; model/<file>

Checked: the form; that the partner's function is there and speaks of the partner's id; that the model is there and names
the id on an ORDER line of its own; that each access with an order, and each fence, has an id in its function or in the
comment on top of that; that builtins and assembly are in atomic.h, fence.h and arch/ only; that the table is what --write
makes of the comments; that a model stands for each function which calls two functions with orders, for it says which of
them comes first; that the code that models stand for is the one that proof/pins knows.

A line of proof/pins is NAME HASH MODEL..., of a function and the models that were read beside it; or NAME HASH, of a macro
or an enumerator that such functions use.  The macros of atomic.h, fence.h and arch/ are one line, (accesses).  The hash is
of the code's words, without attributes and hints, and an enumerator has nothing of what comes after it.  Times (RETRY_NS)
have none, for no model knows how long something takes.  A function is named without its file, so it may move; where there
are two of that name, a model says "take() in mutex.c".

--pin takes over NAME as it is now, for who has read it beside its models; it runs these first, and pins nothing unless all
of them pass.  --repin takes over what is the same code but for names: where OLD is now called NEW, and nothing else in the
function is or was called so.
"""
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

from source import CXX_HEADERS, HEADERS, ORDERED, SAID_IN, Source, files, find, where, where_words

ROOT = Path(__file__).resolve().parent.parent
FOLDERS, MODELS, PINS = ("include", "src", "urcu/include", "urcu/source", "urcu/binary", "urcu/worker"), "proof/model", ROOT / "proof/pins"
TABLE, HEADING = ROOT / "docs/ORDERING.md", "## The table\n"
ID = r"[A-Z]+-\d+"
RAW = re.compile(r"__atomic_\w|__sync_\w|\b__asm__\b|\b__asm\b|\basm\s*(?:volatile|__volatile__)?\s*\(")
# The files of the accesses and fences themselves, and of what only a processor's own instructions can say.
HOME = re.compile(r"(?:urcu/)?include/lull/(?:atomic|fence|detail/arch/\w+)\.h")
# An operation of std::atomic in the headers for C++: one that has an order, and any.
ORDERED_CXX = re.compile(r"\bmemory_order(?:_|::)(?:acquire|release|acq_rel|consume|seq_cst)\b")
ATOMIC_CXX = re.compile(r"(?:\.|->)(?:load|store|exchange|fetch_\w+|compare_exchange_\w+)\s*\(")
WORD = re.compile(r"\w+|'(?:[^'\\]|\\.)*'|->|\+\+|--|(?:<<|>>|[-+*/%&|^!=<>])=?|&&|\|\||[^\s\\]")
NOT_PINNED = re.compile(r"static|inline|lull_(?:un)?likely|LULL_(?:INLINE|API|NOEXCEPT)")
# What is said to ThreadSanitizer orders nothing, and is no instruction for a program without it.
SAYS = re.compile(r"\b(?:LULL__TSAN_(?:ACQUIRE|RELEASE)|lull__tsan_(?:acquire|release|batch|seen))\((?:[^()]|\([^()]*\))*\);")
TIME = re.compile(r"\w+_[NUM]S")


def hash_of(code, renamed):
    """With the names as they were before they were @renamed (new -> old), unless old and new names are both in use."""
    words = [word for word in WORD.findall(SAYS.sub("", code)) if not NOT_PINNED.fullmatch(word)]
    if not any(new in words and old in words for new, old in renamed.items()):
        words = [renamed.get(word, word) for word in words]
    return hashlib.sha256(" ".join(words).encode()).hexdigest()[:12]


def named_in(sources):
    """Macro or enumerator -> its definitions; of an enumerator, the list up to there."""
    named = {}
    for source in sources:
        here = [(name, code) for name, code in source.code_of.items() if code.startswith("#")]
        for body in re.findall(r"\benum\b[^;{}()]*\{(.*?)\}", "\n".join(source.code), re.S):
            here += [(name[1], body[:name.end()]) for name in re.finditer(r"(?:^|(?<=,))\s*(\w+)[^,]*", body)]
        for name, text in here:
            if not TIME.fullmatch(name) and not NOT_PINNED.fullmatch(name):
                named[name] = named.get(name, "") + "\n" + text
    return named


def read_pins():
    """name -> (hash, set of models)"""
    return {name: (code, set(models)) for name, code, *models in map(str.split, PINS.read_text("utf-8").splitlines())}


def write_pins(pins):
    PINS.write_text("".join(" ".join([n, pins[n][0], *sorted(pins[n][1])]) + "\n" for n in sorted(pins)), "utf-8")


class Check:
    def __init__(self, renamed):
        self.renamed = renamed
        self.defects, self.checked = [], 0
        self.sources = [Source(ROOT, name) for name in files(ROOT, FOLDERS, HEADERS + (".c",)) if not SAID_IN.fullmatch(name)]
        self.orders = {}  # id -> [(where it is made, what before what, [(id, function)] of partners, failure)]
        self.ids = {}  # model -> those on its ORDER lines
        self.wanted = {}  # as read_pins(), of the code as it is
        self.former = {}  # name -> its hash with the names from before they were renamed
        self.models_of = {}  # name -> models which stand for what uses it
        self.read_models()
        self.read_comments()

    def defect(self, place, text):
        self.defects.append(f"{place}: {text}")

    def read_models(self):
        functions = {}  # as a model calls them -> models
        for path in files(ROOT, (MODELS,), (".litmus", ".tpl", ".c")):
            model = os.path.relpath(path, MODELS)
            text = (ROOT / path).read_text("utf-8")
            self.ids[model] = {i for line in re.findall(r"^ \* ORDER (.*)$", text, re.M) for i in re.findall(ID, line)}
            if where(text) is None:
                self.defect(path, "does not say what in the source it stands for (Where:)")
            for name in re.findall(r"(?<!/)\b\w+\b(?!\(|\.[ch]\b)", where_words(text) or ""):
                if any(name in source.code_of for source in self.sources):
                    self.defect(path, f"says {name} without (), so that it does not count")
            for called in where(text) or []:
                wrong = find(self.sources, called)[1]
                if wrong:
                    self.defect(path, wrong)
                else:
                    functions.setdefault(called, set()).add(model)
        self.want_all(functions)

    def want(self, name, code, models, read=()):
        """Let @name be pinned, for those @models that are @read beside it."""
        self.wanted[name] = (hash_of(code, {}), set(read))
        self.former[name] = hash_of(code, self.renamed)
        self.models_of[name] = models

    def want_all(self, functions):
        """@functions, the macros and enumerators that they use, and those that these use."""
        # C cannot use what C++ headers define, nor the library what has others' names.
        mine = [s for s in self.sources if not s.name.endswith(CXX_HEADERS) and "/compat/" not in s.name]
        named, home = named_in(mine), named_in(s for s in mine if HOME.fullmatch(s.name))
        used, todo = {}, []  # name -> models
        for called, models in functions.items():
            code = find(self.sources, called)[0].code_of[called.rpartition(":")[2]]
            self.want(called, code, models, models)
            todo.append((code, models))
        while todo:
            code, models = todo.pop()
            for name in set(WORD.findall(code)) & set(named):
                if not models <= used.setdefault(name, set()):
                    used[name] |= models
                    todo.append((named[name], models))
        for name in set(used) - set(home) - set(functions):
            self.want(name, named[name], used[name])
        self.want("(accesses)", "\n".join(home[name] for name in sorted(set(used) & set(home))), {"lull.cat"})

    def read_comments(self):
        for source, line, text in ((source, *comment) for source in self.sources for comment in source.comments()):
            parts = re.split(rf"\bORDER ({ID}|\S+):", text)
            for ident, body in zip(parts[1::2], parts[2::2]):
                if re.fullmatch(ID, ident):
                    self.read_order(source, line, ident, body.strip())
                else:
                    self.defect(f"{source.name}:{line}", f"\"{ident}\" is no id")

    def read_order(self, source, line, ident, text):
        """text: what follows 'ORDER id:' in the comment."""
        place = f"{source.name}:{line}: {ident}"
        self.checked += 1
        form = re.match(r"(.+?); pairs with (.+?); without it (.+?); (?:\w+ )*?model/([\w./-]+)", text)
        if not form:
            self.defect(place, "not of the form ... before ...; pairs with id in function(); without it ...; model/file")
            return
        what, partners, failure, model = form.groups()
        pairs = re.findall(rf"({ID}) in (\w+)\(\)", partners)
        pairs += [(re.findall(ID, partners)[0], name)
                  for name in re.findall(r"(?:and|or) (\w+)\(\)", partners)] if pairs else []
        at = source.name_of_line.get(source.piece_of_line.get(line - 1, (0, -1))[1], source.name)
        self.orders.setdefault(ident, []).append((at, what, pairs, failure))
        if " before " not in what:
            self.defect(place, "does not say what comes before what")
        if not pairs:
            self.defect(place, "pairs with nothing (\"id in function()\" is wanted)")
        for partner, function in pairs:
            pieces = [s.pieces[function] for s in self.sources if function in s.pieces]
            if not pieces:
                self.defect(place, f"its partner's function {function}() is not there")
            elif not any(re.search(rf"\b{partner}\b", piece) for piece in pieces):
                self.defect(place, f"{function}() does not speak of {partner}")
        if model not in self.ids:
            self.defect(place, f"there is no model/{model}")
        elif ident not in self.ids[model]:
            self.defect(place, f"model/{model} does not name it on its ORDER line")

    def check_accesses(self):
        for source in (s for s in self.sources if not HOME.fullmatch(s.name)):
            for at, line in enumerate(source.code):
                place, raw, ordered = f"{source.name}:{at + 1}", RAW.search(line), ORDERED.search(line)
                if raw:
                    self.defect(place, f"{raw.group(0).strip()} outside atomic.h, fence.h and arch/")
                if ordered and re.match(r"\w.*\blull_fence_\w+\(void\)", line):
                    continue
                if source.name.endswith(CXX_HEADERS):
                    ordered, called = ordered or ORDERED_CXX.search(line), ATOMIC_CXX.search(line)
                    if called and "memory_order" not in " ".join(source.code[at:at + 3]).split(";")[0]:
                        self.defect(place, f"{called.group(0).strip('.->( ')}() that does not say its order")
                if ordered:
                    self.checked += 1
                    top, end = source.piece_of_line.get(at, (at, at))
                    if not re.search(rf"\b{ID}\b", "\n".join(source.lines[top : end + 1])):
                        self.defect(place, f"{ordered.group(0).rstrip('( ')} without an id")

    def check_models(self):
        for model, ids in self.ids.items():
            if not ids:
                self.defect(f"model/{model}", "has no ORDER line")
            for ident in ids - set(self.orders):
                self.defect(f"model/{model}", f"{ident} is nowhere in the source")
        # A caller of two functions that each make an order says which comes first, and a model rests on that.
        known = {called.rpartition(":")[2] for called in self.wanted}
        orders = {name for source in self.sources for name, code in source.code_of.items()
                  if name in known and ORDERED.search(code)}
        for source in self.sources:
            for name, code in source.codes if source.name.endswith(CXX_HEADERS) else source.code_of.items():
                called = sorted((set(re.findall(r"\b(\w+)\s*\(", code)) & orders) - {name})
                if len(called) > 1 and name not in known:
                    self.defect(source.name, f"no model stands for {name}(), which calls {'() and '.join(called)}()")

    def check_pins(self):
        """The code that models stand for is as it was when the two were last read together."""
        pins = read_pins()
        for name, (now, models) in sorted(self.wanted.items()):
            then, read = pins.get(name, ("", set()))
            if (now, models) != (then, read):
                what = "is not pinned" if not then else "has changed" if now != then else "has other models"
                unread = sorted(self.models_of[name] if now != then else models ^ read)
                self.defect("pins", f"{name} {what}: read {', '.join(unread)} beside it, then proof/orders.py --pin {name}")
        for name in sorted(set(pins) - set(self.wanted)):
            self.defect("pins", f"no model stands for {name} any more: proof/orders.py --pin {name}")

    def pin(self, names):
        """Pin @names as they are now, if all runs of their models pass; returns whether they do."""
        pins, every = read_pins(), names == ["all"]
        models = set().union(*(self.models_of.get(name, ()) for name in names))
        if not every and set(names) - set(self.wanted) - set(pins):
            return False
        if every or models:
            which = [] if every or "lull.cat" in models else ["--exact", *models]
            run = subprocess.run([ROOT / "proof/run", "models", *which], stdout=subprocess.PIPE, text=True, check=False)
            print(run.stdout, end="")
            if run.returncode or not re.search(r"^models: [1-9]\d* passed, 0 failed, 0 skipped$", run.stdout, re.M):
                return False
        write_pins({**{n: pin for n, pin in pins.items() if n not in names and not every},
                    **{n: pin for n, pin in self.wanted.items() if every or n in names}})
        return True

    def repin(self):
        """Pin anew what is the code that was pinned for these models, apart from the names that were renamed."""
        pins = read_pins()
        known = {then: models for then, models in pins.values()}  # the code has its name in it
        write_pins({n: pin if self.former[n] in known and pin[1] <= known[self.former[n]] else pins[n]
                    for n, pin in self.wanted.items() if self.former[n] in known or n in pins})

    def table(self):
        said = [(name, re.findall(rf"\b{ID}\b", text)) for s in self.sources for name, text in s.pieces.items()
                if ORDERED.search(s.code_of[name])]
        rows = ["", "| id | what before what | pairs with | without it | models |", "|---|---|---|---|---|"]
        for ident in sorted(self.orders, key=lambda i: (i.split("-")[0], int(i.split("-")[1]))):
            made = {at for at, _, _, _ in self.orders[ident]}
            what = [f"`{at}()`: {what}" for at, what, _, _ in self.orders[ident]]
            also = sorted({f"`{name}()`" for name, ids in said if ident in ids and name not in made})
            pairs = [f"{i} in `{f}()`" for order in self.orders[ident] for i, f in order[2] if i != ident or f not in made]
            failures = [order[3] for order in self.orders[ident] if not re.match(r"as (?:there|in )", order[3])]
            rows.append(f"| {ident} | {'<br>'.join(what + (['also ' + ', '.join(also)] if also else []))} | "
                        f"{', '.join(dict.fromkeys(pairs)) or ident} | {'; or '.join(dict.fromkeys(failures))} | "
                        f"{' '.join(model for model, ids in sorted(self.ids.items()) if ident in ids)} |")
        return "\n".join(rows) + "\n"

    def check_table(self, write):
        now = TABLE.read_text("utf-8")
        wanted = now.partition(HEADING)[0] + HEADING + self.table()
        if write:
            TABLE.write_text(wanted, "utf-8")
        elif now != wanted:
            self.defect("docs/ORDERING.md", "its table is not that of the ORDER comments: proof/orders.py --write")

    def run(self, write):
        self.check_accesses()
        self.check_models()
        self.check_pins()
        self.check_table(write)
        for defect in self.defects:
            print(defect)
        print(f"orders: {len(self.orders)} ids, {self.checked} comments and ordered accesses, {len(self.wanted)} pins")
        print(f"{max(self.checked + len(self.wanted) - len(self.defects), 0)} passed, {len(self.defects)} failed, 0 skipped")
        return 1 if self.defects else 0


def main(args):
    if not re.fullmatch(r"|--write|--pin( \S+)+|--repin( \w+=\w+)*", " ".join(args)):
        print("usage: orders.py [--write | --pin NAME... | --pin all | --repin [NEW=OLD...]]", file=sys.stderr)
        return 2
    command, names = (args or [""])[0], args[1:]
    check = Check(dict(name.split("=") for name in names) if command == "--repin" else {})
    if command == "--pin" and not check.pin(names):
        print("orders: nothing is pinned, for not all of these models pass, or there is no such name", file=sys.stderr)
        return 1
    if command == "--repin":
        check.repin()
    return check.run(write=command == "--write")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
