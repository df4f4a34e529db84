#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turn the tests in model/ into what herd7 runs, and each into its weakened twins.

usage: proof/expand.py FILE...        prints a line for each mark; proof/models.py runs the tests, and --keep leaves them somewhere

A test is written once, correct.  Marks in it say which order is the business of which id, and the
twins are made from the marks: in each twin exactly one marked order is weakened, and then the bad
outcome must be possible.  So a twin cannot drift away from its original, and an order that is not
needed is noticed.

In C tests:
  statement;  // ID          an ordered access or fence.  Weakened: the access becomes relaxed, the
                             fence goes.  Several ids may be named: "// RCU-3, RCU-4".  An access
                             that acquires and releases is weakened twice, by either half.
  statement;  // ID late     what matters is that it comes before the next line, or the sequence
                             (@RSEQ) that begins there.  Weakened: it comes after it.  ("early": the
                             other way round.)
  statement;  // ID race     without it there is a data race, and nothing that `exists` could say: the two
                             accesses that race store, say.
  @LIGHT [ID]                lull_fence_light().
  @HEAVY [ID]                lull_fence_heavy(); every thread with a @LIGHT is interrupted by it.
  @RSEQ [ID] ... @END        a restartable sequence (rseq.h); @HEAVY is then lull__rseq_barrier(),
                             which does not hit a sequence in the middle.  Weakened: it does, as
                             membarrier without RSEQ would.
                             (Files with these are *.tpl; herd7 runs the others as they are.)
In the comment at the top:
  Strategy: membarrier       a template that makes sense under this strategy only (or: full).
  Weaken ID: P0: DMB ISH -> NOP       in assembly tests: the first such instruction of P0.

membarrier is not in any memory model, so a template is expanded into one test per place where the
interrupt can hit: the handler there acknowledges a request, with a full fence between, and the
caller waits for it, with full fences around; executions without the acknowledgement are filtered
out.  A light fence that binds only the compiler is nothing in such a test, and weakening
it swaps its two neighbours, which is what a compiler may then do.  One more test is the strategy
without membarrier: both fences are full ones.

A sequence has no effect before its last instruction, so one that is hit in the middle and starts
afresh is one that was hit before it began: the places inside are left out.  That a sequence is
ended and not tried again, which may happen at any time, is for the test to say.  Sequences are for
membarrier only.

The test inside is called after its file, "rcu-enter-x86" in rcu/enter.x86.litmus.

A mark is called by its thread and its first id, "P0:RCU-3"; if there are more of these, "P0:RCU-3#2" is the second:
mutants names it so.  It loses acquire, release, fence, light, heavy, rseq, or order: it moves.
"""
import itertools
import os
import re
import sys

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "model")
FENCE = "  atomic_thread_fence(memory_order_seq_cst);"


class Defect(Exception):
    pass


def ids_of(text):
    return [i for i in re.split(r"[,\s]+", text.strip()) if i]


def weakenings(line, where):
    """[(what is lost, the line without it)]; None instead of the line when all of it goes."""
    if "atomic_thread_fence" in line:
        return [("fence", None)]
    if "memory_order_acq_rel" in line:
        return [("acquire", line.replace("memory_order_acq_rel", "memory_order_release")),
                ("release", line.replace("memory_order_acq_rel", "memory_order_acquire"))]
    order = re.search(r"memory_order_(release|acquire)", line)
    if not order:
        raise Defect(f"{where}: nothing to weaken in: {line.strip()}")
    return [(order.group(1), line.replace(order.group(0), "memory_order_relaxed"))]


def asm_loss(old, new):
    """The loss when one instruction is changed into another."""
    if "DMB" in old or old.startswith(("lock", "xchg")):
        return "fence"
    return "acquire" if re.match(r"LDA(?!DD)|CASA|LDADDA|SWPA", old) else "release"


class Line:
    """One line of a thread's body."""

    def __init__(self, text, where):
        self.kind, self.ids, self.shift, self.race = "code", [], 0, False
        limit = re.search(r"\s*\((membarrier|full)\)\s*$", text)
        self.mode = limit and limit.group(1)
        if limit:
            text = text[: limit.start()]
        mark = re.match(r"\s*@(LIGHT|HEAVY|RSEQ|END)\b(.*)$", text)
        tag = re.match(r"(.*?)\s*//\s*([A-Z]+-\d+(?:\s*,\s*[A-Z]+-\d+)*)(\s+(?:late|early))?(\s+race)?\s*$",
                       text)
        if mark:
            self.kind, self.ids, text = mark.group(1).lower(), ids_of(mark.group(2)), ""
        elif tag:
            text, self.ids = tag.group(1), ids_of(tag.group(2))
            self.shift = {None: 0, "late": 1, "early": -1}[tag.group(3) and tag.group(3).strip()]
            self.race = bool(tag.group(4))
            if not self.shift:
                weakenings(text, where)
        elif re.match(r"\s*@", text):
            raise Defect(f"{where}: unknown mark: {text.strip()}")
        self.text = text

    def losses(self, where):
        """[(what is lost without its mark, the line without it)]"""
        if self.shift:
            return [("order", None)]
        return [(self.kind, None)] if self.kind != "code" else weakenings(self.text, where)


class Names:
    """The names of a thread's marks."""

    def __init__(self, thread):
        self.thread, self.seen = thread, {}

    def next(self, ids):
        name = f"P{self.thread}:{ids[0]}"
        self.seen[name] = self.seen.get(name, 0) + 1
        return name if self.seen[name] == 1 else f"{name}#{self.seen[name]}"


class CTest:
    """A C test, cut into head, threads and condition."""

    def __init__(self, path, source):
        self.path = path
        lines = source.split("\n")
        self.name = re.match(r"C (\S+)", lines[0]).group(1)
        starts = [i for i, l in enumerate(lines) if re.match(r"P\d+\s*\(", l)]
        end = next(i for i, l in enumerate(lines) if re.match(r"(exists|filter)\b", l))
        self.head = lines[1 : starts[0]]
        self.tail = lines[end:]
        self.threads = []  # (signature, [Line])
        for start, stop in zip(starts, starts[1:] + [end]):
            body = []
            for offset, text in enumerate(lines[start + 1 : stop]):
                if text.strip() and text.rstrip() != "}":
                    body.append(Line(text, f"{path}:{start + 2 + offset}"))
            if len(body) != sum(1 for l in lines[start + 1 : stop] if l.strip()) - 1:
                raise Defect(f"{path}: each thread must end with a }} in the first column")
            self.threads.append((lines[start], body))
        self.modes = ["plain"]
        if any(l.kind != "code" for _, body in self.threads for l in body):
            only = re.search(r"Strategy: (full|membarrier)", source)
            self.modes = [only.group(1)] if only else ["full", "membarrier"]
            if any(l.kind == "rseq" for _, body in self.threads for l in body):
                self.modes = ["membarrier"]
        for _, body in self.threads:
            self.inside(body)

    def marked(self):
        """(thread, line number in it, mark, loss, the line without it)"""
        for thread, (_, body) in enumerate(self.threads):
            names = Names(thread)
            for at, line in enumerate(body):
                if line.ids:
                    mark = names.next(line.ids)
                    for loss, weak in line.losses(self.path):
                        yield thread, at, mark, loss, weak

    def marks(self):
        for thread, at, mark, loss, _ in self.marked():
            yield mark, self.threads[thread][1][at].ids, loss

    def races(self):
        """The marks without which there is a data race and no other bad outcome."""
        return {mark for thread, at, mark, _, _ in self.marked() if self.threads[thread][1][at].race}

    def weakened_bodies(self):
        """(ids, mark, loss, mode, bodies): first the correct test, then each mark weakened in turn."""
        bodies = [body for _, body in self.threads]
        for mode in self.modes:
            yield [], "-", "-", mode, bodies
        for thread, at, mark, loss, line in self.marked():
            old = bodies[thread][at]
            for mode in [old.mode] if old.mode else self.modes:
                weak = list(bodies)
                weak[thread] = self.weaken(bodies[thread], at, mode, line)
                yield old.ids, mark, loss, mode, weak

    def inside(self, body):
        """The points in the middle of a sequence: behind its first line, and before its last."""
        points, start = set(), None
        for at, line in enumerate(body):
            if line.kind == "rseq":
                if start is not None or "end" not in [l.kind for l in body[at:]]:
                    raise Defect(f"{self.path}: each @RSEQ needs an @END of its own")
                start = at
            elif line.kind == "end":
                points |= set(range(start + 2, at)) if start is not None else set()
                start = None
        return points

    def places(self, body):
        """Where an interrupt can hit. A point right before a mark or a closing brace is the point behind it; one right
        behind an if that accesses nothing is the point before that, which is there when the branch is not taken too."""
        inside = self.inside(body)
        behind_if = {at for at, line in enumerate(body, 1)
                     if line.kind == "code" and re.fullmatch(r"\s*if \([^*]*\) \{\s*", line.text)
                     and "atomic_" not in line.text}
        return [at for at in range(len(body) + 1)
                if at == len(body) or (body[at].kind == "code" and body[at].text.strip() != "}"
                                       and at not in inside | behind_if)]

    def weaken(self, body, at, mode, weak):
        """weak: the line without its order, None where it goes"""
        line, before, after = body[at], body[:at], body[at + 1 :]
        if line.shift > 0:
            passed = 1
            if after[0].kind == "rseq":
                passed += [l.kind for l in after].index("end")
            return before + after[:passed] + [line] + after[passed:]
        if line.shift < 0:
            return before[:-1] + [line, before[-1]] + after
        if line.kind in ("heavy", "rseq"):
            return before + after
        if line.kind == "light":
            if mode == "full":
                return before + after
            if not before or not after:
                raise Defect(f"{self.path}: a light fence needs two neighbours")
            # The thread keeps being one that is interrupted.
            return before[:-1] + [line, after[0], before[-1]] + after[1:]
        if weak is None:
            return before + after
        changed = Line(weak, self.path)
        return before + [changed] + after

    def render(self, name, bodies, calls, hits):
        """calls: (thread, index of its n-th heavy) ; hits: {(call, reader): line before which}"""
        out = [f"C {name}"]
        extra = [f"ia{c}_{r}" for c, r in sorted(hits)] + [f"ib{c}_{r}" for c, r in sorted(hits)]
        head = "\n".join(self.head)
        if extra:
            head = head.replace("{", "{ " + " ".join(f"[{e}]=0;" for e in extra), 1)
        out.append(head)
        terms = []
        for thread, (signature, _) in enumerate(self.threads):
            if extra:
                args = "".join(f", atomic_int* {e}" for e in extra)
                signature = re.sub(r"\)\s*\{\s*$", args + ") {", signature)
            out.append(signature)
            heavies = 0
            body = bodies[thread]
            for c, r in sorted(hits):
                if r == thread:
                    out.append(f"  int h{c} = 0;")
                    terms.append(f"{thread}:h{c}=1")
            for at in range(len(body) + 1):
                for (c, r), place in sorted(hits.items()):
                    if r == thread and place == at:
                        out += [
                            f"  h{c} = atomic_load_explicit(ia{c}_{r}, memory_order_acquire);",
                            FENCE,
                            f"  atomic_store_explicit(ib{c}_{r}, 1, memory_order_release);",
                        ]
                if at == len(body):
                    break
                line = body[at]
                if line.kind == "code":
                    out.append(line.text)
                elif line.kind in ("rseq", "end"):
                    continue
                elif not extra and not calls:
                    out.append(FENCE)
                elif line.kind == "heavy":
                    call = calls.index((thread, heavies))
                    heavies += 1
                    mine = [(c, r) for c, r in sorted(hits) if c == call]
                    out.append(FENCE)
                    out += [f"  atomic_store_explicit(ia{c}_{r}, 1, memory_order_release);"
                            for c, r in mine]
                    for c, r in mine:
                        out.append(f"  int g{c}_{r} = "
                                   f"atomic_load_explicit(ib{c}_{r}, memory_order_acquire);")
                        terms.append(f"{thread}:g{c}_{r}=1")
                    out.append(FENCE)
            out.append("}")
        tail = "\n".join(self.tail)
        if terms:
            both = " /\\ ".join(terms)
            if re.match(r"filter\s*\(", tail):
                tail = re.sub(r"filter\s*\(", lambda m: f"filter ({both} /\\ ", tail, count=1)
            else:
                tail = f"filter ({both})\n{tail}"
        out.append(tail)
        return "\n".join(out)

    def variants(self):
        """(name, mode, ids, mark, loss, text)"""
        numbers = itertools.count(1)
        for ids, mark, loss, mode, bodies in self.weakened_bodies():
            stem = self.name
            if ids:
                stem += f"-busted{next(numbers)}"
            if mode != "membarrier":
                full = stem + ("-full" if mode == "full" else "")
                yield full, mode, ids, mark, loss, self.render(full, bodies, [], {})
                continue
            calls, readers = [], []
            for thread, body in enumerate(bodies):
                calls += [(thread, n) for n in range(sum(l.kind == "heavy" for l in body))]
                if any(l.kind in ("light", "end") for l in body):
                    readers.append(thread)
            pairs = [(c, r) for c, (t, _) in enumerate(calls) for r in readers if r != t]
            places = {r: self.places(bodies[r]) for r in readers}
            combos = itertools.product(*[places[r] for _, r in pairs])
            for combo in combos:
                name = stem + "-at" + "_".join(str(p) for p in combo)
                hits = dict(zip(pairs, combo))
                if not calls:
                    # The heavy fence was weakened away: no thread is interrupted.
                    calls = [None]
                yield name, mode, ids, mark, loss, self.render(name, bodies, calls, hits)


class AsmTest:
    def __init__(self, path, source):
        self.path, self.source = path, source
        self.name = re.match(r"\w+ (\S+)", source).group(1)
        self.weaken = re.findall(r"Weaken (\S+): P(\d+): (.*?) -> (.*?)\s*$", source, re.M)

    def marks(self):
        names = [Names(thread) for thread in range(10)]
        for ident, thread, old, new in self.weaken:
            yield names[int(thread)].next([ident]), [ident], asm_loss(old, new)

    def races(self):
        return set()

    def variants(self):
        yield self.name, "plain", [], "-", "-", self.source
        marks = list(self.marks())
        for number, (ident, thread, old, new) in enumerate(self.weaken, 1):
            name = f"{self.name}-busted{number}"
            lines, done = self.source.split("\n"), False
            in_code = False
            for i, line in enumerate(lines):
                in_code = in_code or bool(re.match(r"\s*P0\s*\|", line))
                if not in_code or done or "|" not in line:
                    continue
                cells = line.rstrip().rstrip(";").split("|")
                if cells[int(thread)].strip() == old:
                    cells[int(thread)] = f" {'' if new == 'NOP' else new} "
                    lines[i], done = "|".join(cells) + ";", True
            if not done:
                raise Defect(f"{self.path}: P{thread} has no {old!r} to weaken")
            text = "\n".join(lines)
            mark, _, loss = marks[number - 1]
            yield name, "plain", [ident], mark, loss, re.sub(r"^(\w+) \S+", rf"\1 {name}", text, count=1)


def load(path):
    with open(path, encoding="utf-8") as file:
        source = file.read()
    kind = next((kind for kind, first in ((CTest, r"C \S+"), (AsmTest, r"(X86_64|AArch64) \S+")) if re.match(first, source)), None)
    if not kind:
        raise Defect(f"{path}: not a test in C, X86_64 or AArch64")
    test = kind(path, source)
    if test.name != re.sub(r"[/.]", "-", os.path.relpath(path, MODEL).rpartition(".")[0]):
        raise Defect(f"{path}: the test inside is called {test.name}")
    return test


if __name__ == "__main__":
    for given in sys.argv[1:]:
        for called, of, lost in load(given).marks():
            print(os.path.relpath(os.path.abspath(given), MODEL), called, ",".join(of), lost, sep="\t")
