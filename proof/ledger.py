# SPDX-License-Identifier: MIT
"""Keep what is known of each mutant in one file, ledger.tsv.

usage: proof/run ledger                                counts, and what has changed since it was judged
       proof/run ledger --part IDEA [--lanes N]        judge anew what is red in IDEA, and the models that notice orders of it
       proof/run ledger --write                        take over what the list `mutants` says, and where functions are now; drop
                                                       what is gone; note the tests of rows that have no hash of them
       proof/run ledger --compare OLD                  OLD: a file, or a commit whose ledger is meant

A row is: the idea, "order" or "slip", the name, a hash of the mutation (of a slip: and of the function), the verdict,
what noticed, and, where tests did, a hash of their sources, comments left out: who changes a test judges anew what it
noticed.  Verdicts: red; green: nothing noticed; equivalent: there is nothing to notice, `mutants` or `equivalent`
says why; refused: no compiler takes it; same: it is not in the program that is tested; unknown: not tried yet.

A row of an order says what the list says must notice, and a model that passes has seen all of its marks matter; where
tests alone notice, `proof/run orders --native` and --part say whether they do.  A row of a slip is what came of it last.

--compare names those that were red in OLD and are not known to be red now: green, refused although nothing in the function
has changed, gone without a reason in the list `equivalent`, or not judged since their function, or the test that noticed,
changed.  Exit 1 if there are any: no change of the tests may do that.
"""
import argparse
import collections
import hashlib
import functools
import os
import re
import subprocess
import sys
from pathlib import Path

from mutate import orders, slips
from mutate.tree import ROOT, source_of

PROOF = os.path.join(ROOT, "proof")
PATH = os.path.join(PROOF, "ledger.tsv")
HEAD = "# Each mutant, and what is known of it: proof/ledger.py writes this.\n" \
    "# idea\tkind\tname\thash\tverdict\tnoticed by\ttests' hash\n"
Row = collections.namedtuple("Row", "part hash verdict by tests", defaults=("",))


def parse(text):
    """{(kind, name): Row}; older ledgers have no hash of tests"""
    rows = (line.split("\t") for line in text.splitlines() if not line.startswith("#"))
    return {(kind, name): Row(part, *rest) for part, kind, name, *rest in rows}


@functools.lru_cache(None)
def tests_of(by):
    """A hash of the sources of those tests that a row says noticed, or "": a model or the torture did."""
    names = {name for each in by.split(", ") for name in each.replace("unit:", " ").split() if ":" not in name}
    sources = sorted({source for source in map(source_of, names) if source})
    code = [" ".join(code_of(source).split()) for source in sources]
    return hashlib.sha256("\n".join(sources + code).encode()).hexdigest()[:6] if sources else ""


@functools.lru_cache(None)
def code_of(source):
    """What a test does; a word that it compares with is part of that."""
    return re.sub(r'/\*.*?\*/|("(?:[^"\\\n]|\\.)*")', r"\1", (Path(ROOT) / source).read_text("utf-8"), flags=re.S)


def digest_of(mutant):
    """A hash of the mutation alone: a model notices it or not whatever else the function does."""
    return hashlib.sha256(mutant.describe().encode()).hexdigest()[:6]


class Ledger:
    def __init__(self):
        self.read()

    def read(self):
        with open(PATH, encoding="utf-8") as file:
            self.rows = parse(file.read())

    def save(self):
        lines = sorted((row.part, kind, name, *row[1:]) for (kind, name), row in self.rows.items())
        with open(PATH + ".new", "w", encoding="utf-8") as file:
            file.write(HEAD + "".join("\t".join(line).rstrip("\t") + "\n" for line in lines))
        os.replace(PATH + ".new", PATH)

    def keep(self, kind, mutant, part, verdict, by):
        if kind == "slip" and verdict in ("green", "same") and mutant.name in slips.reasons():
            verdict = "equivalent"
        self.read()  # what another run has found in the meantime
        self.rows[kind, mutant.name] = Row(part, mutant.hash() if kind == "slip" else digest_of(mutant), verdict, by, tests_of(by))
        self.save()

    # ---- of slips ----

    def row(self, slip):
        return self.rows.get(("slip", slip.name))

    def is_same(self, slip):
        """Was it judged since its function changed? A survivor is tried again."""
        row = self.row(slip)
        return bool(row) and row.hash == slip.hash() and row.verdict not in ("green", "unknown")

    def is_fresh(self, slip):
        """Was it judged since its function changed, and the test that noticed?"""
        return self.is_same(slip) and tests_of(self.row(slip).by) == self.row(slip).tests

    def verdict(self, slip):
        return self.row(slip).verdict

    def killer(self, slip):
        """The test that noticed last time, without sanitizers, or None."""
        row = self.row(slip)
        words = row.by.split() if row and row.verdict == "red" else []
        return words[1] if len(words) == 2 else None

    def hangs(self, slip):
        """The tests that are known to hang with it."""
        return self.row(slip).by.split()[1:2] if self.row(slip) and self.row(slip).by.startswith("hangs ") else []

    def kills(self, file):
        """{test: how often it has noticed a slip in this file}"""
        return collections.Counter(row.by.split()[1] for (kind, name), row in self.rows.items()
                                   if kind == "slip" and row.verdict == "red" and name.startswith(file + ":"))

    # ---- of orders ----

    def take_orders(self, listed):
        """Rows of all that the list has; what models notice is red as listed, what tests notice as it was found."""
        old = {key: row for key, row in self.rows.items() if key[0] == "order"}
        self.rows = {key: row for key, row in self.rows.items() if key[0] != "order"}
        for mutant in listed.mutants:
            digest, by = digest_of(mutant), ", ".join(sorted(mutant.killers)) or "-"
            key = ("order", mutant.name)
            before = old.get(key) or old.get(("order", moved(key, Row("", digest, "", ""), old)))
            verdict = "equivalent" if mutant.argument else "red"
            if verdict == "red" and not mutant.by_model():
                verdict = before.verdict if before and before.hash == digest and set(before.by.split(", ")) & set(mutant.killers) else "unknown"
            tests = before.tests if before and before.hash == digest and before.by == by else tests_of(by)
            self.rows["order", mutant.name] = Row(slips.idea_of(mutant.file), digest, verdict, by, tests)


def defects(listed):
    """Where the ledger, the sources and the lists do not go together; quick."""
    ledger, now = Ledger(), sites()
    found = [f"ledger.tsv: {name} is {row.verdict}" for (kind, name), row in ledger.rows.items()
             if kind == "order" and row.verdict in ("green", "unknown")]
    found += [f"equivalent: there is no {name}" for name, why in slips.reasons().items()
              if ("slip", name) not in now and not why.startswith("gone: ")]
    before = dict(ledger.rows)
    ledger.take_orders(listed)
    return found + [f"ledger.tsv: {key[1]} is not as in mutants: proof/run ledger --write"
                    for key in sorted(set(before) | set(ledger.rows)) if before.get(key) != ledger.rows.get(key)]


def moved(key, row, rows):
    """The name in @rows of the same mutation, or None: of the same function in another file, or of a slip that has another
    number since its function has changed."""
    function, _, number = key[1].partition(":")[2].rpartition("#")
    found = [name for (kind, name), other in rows.items() if kind == key[0] == "slip" and other.hash[-6:] == row.hash[-6:]
             and name.partition(":")[2].rpartition("#")[0] == function] if key[0] == "slip" else \
        [name for (kind, name), other in rows.items() if kind == "order" and other.hash == row.hash
         and name.partition(":")[2] == key[1].partition(":")[2]]
    return min(found, key=lambda name: (name != key[1], rows[key[0], name].hash != row.hash, name.rpartition("#")[2] != number), default=None)


def sites():
    """{("slip", name): Row} of all slips that could be made, with nothing known of them"""
    return {("slip", slip.name): Row(slips.idea_of(slip.file), slip.hash(), "unknown", "-") for slip in slips.every()}


def stale(rows, now):
    """{name: why nothing is known of it as it is now}"""
    found, because = {}, slips.reasons()
    for key, row in rows.items():
        if row.verdict == "red" and row.tests != tests_of(row.by):
            found[key[1]] = "is not judged since the test that noticed has changed" if row.tests else \
                "does not say which test noticed: proof/run ledger --write"
        if key[0] == "slip" and (key not in now or now[key].hash != row.hash) and key[1] not in because:
            name = moved(key, row, now)
            found[key[1]] = "is gone" if not name else "its function has changed since it was judged" if name == key[1] else \
                f"is now {name}: proof/run ledger --write"
    return found


def compare(old, rows, changed):
    """[(name, why)]: those that are red in @old and are not known to be so now."""
    lost, because = [], slips.reasons()
    for key, row in sorted(old.items()):
        if row.verdict != "red" or because.get(key[1], "").startswith("gone: "):
            continue
        name = key[1] if key[0] == "order" and key in rows else moved(key, row, rows)
        now = rows.get((key[0], name))
        if not now:
            lost.append((key[1], "is gone"))
        elif now.verdict != "red" and not (now.verdict in ("equivalent", "refused") and now.hash != row.hash):
            lost.append((name, f"is {now.verdict}"))
        elif name in changed:
            lost.append((name, changed[name]))
    return lost


def read_old(given):
    if os.path.exists(given):
        with open(given, encoding="utf-8") as file:
            return parse(file.read())
    said = subprocess.run(["git", "-C", ROOT, "show", given + ":proof/ledger.tsv"], stdout=subprocess.PIPE, text=True, check=False)
    return parse(said.stdout) if said.returncode == 0 else sys.exit(f"ledger: {given} is neither a file nor a commit with a ledger")


def run_part(ledger, listed, part, lanes):
    """Judge anew what is red: orders by their models, and by tests where no model notices; slips by the test that did, then all."""
    mine = [m for m in listed.mutants if slips.idea_of(m.file) == part and m.argument is None]
    failed = orders.judge(mine, ledger, native=False)
    rows = {name for (kind, name), row in ledger.rows.items() if kind == "slip" and row.part == part and row.verdict == "red"}
    due = [slip for slip in slips.every() if slip.name in rows]
    verdicts = slips.judge(due, ledger, lanes, lambda slip, *found: ledger.keep("slip", slip, part, *found)) if due else {}
    gone = rows - set(verdicts)
    for name in sorted(gone):
        print(f"is gone: {name}")
    alive = [name for name, verdict in verdicts.items() if verdict != "red"]
    for name in alive:
        print(f"is not red any more: {name}")
    total = len(mine) + len(verdicts) + len(gone)
    print(f"ledger: {total - failed - len(alive) - len(gone)} passed, {failed + len(alive) + len(gone)} failed, 0 skipped")
    return 1 if failed or alive or gone or not total else 0


def counts(ledger):
    """Lines of a table: each idea, and how many of its orders and slips are red, and how many change nothing."""
    table = {}
    for (kind, _), row in ledger.rows.items():
        for name in (row.part, "all"):
            table.setdefault(name, collections.Counter())[kind, row.verdict] += 1
    heads = [(kind, verdict) for kind in ("order", "slip") for verdict in ("red", "equivalent", "green", "unknown")
             if verdict in ("red", "equivalent") or table["all"][kind, verdict]]
    yield f"{'':12}" + "".join(f"{kind + 's ' + verdict:>19}" for kind, verdict in heads)
    for name in sorted(table, key=lambda name: (name == "all", name)):
        yield f"{name:12}" + "".join(f"{table[name][head]:19}" for head in heads)


def main(argv):
    parser = argparse.ArgumentParser(prog="proof/run ledger", description="What is known of each mutant.")
    parser.add_argument("--part", metavar="IDEA")
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--compare", metavar="OLD")
    args = parser.parse_args(argv)
    ledger = Ledger()
    listed = orders.whole()
    if args.part:
        return run_part(ledger, listed, args.part, args.lanes)
    now = sites()
    if args.write:
        ledger.take_orders(listed)
        for key, row in [item for item in ledger.rows.items() if item[0][0] == "slip"]:
            if key not in now or now[key].hash != row.hash and key[1] not in slips.reasons():
                del ledger.rows[key]
                if name := moved(key, row, now):
                    ledger.rows.setdefault(("slip", name), row)
        ledger.rows = {key: row._replace(part=now[key].part if key in now else row.part, tests=row.tests or tests_of(row.by))
                       for key, row in ledger.rows.items()}
        ledger.save()
    changed = stale(ledger.rows, now)
    if args.compare:
        lost = compare(read_old(args.compare), ledger.rows, changed)
        for name, why in lost:
            print(f"{name} was red, and {why}")
        print(f"ledger: {len(ledger.rows)} mutants, {len(lost)} of those that were red are not known to be")
        return 1 if lost else 0
    print("\n".join(counts(ledger)))
    for name, why in sorted(changed.items()):
        print(f"{name} {why}")
    return 0
