#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check that every sentence of a public header is tested, and that every test is there for a sentence.

usage: proof/promises.py [--missing]

The comments of include/lull/NAME.h, and of the headers in a folder lull/compat/, promise.  proof/promises/NAME (of
NAME.hpp: NAME.hpp; of a C++ header that is called NAME: NAME.cxx) has a line for each of their sentences, which says what
is red when it is not kept:

    4be95a Waits until every section that was | rcu.public:waits rcu.public:nested ctest:headers_gcc_c11
    09c1d2 Never fails. | untested: a reason why no test does this
    f38e40 The source of the idea is | explains

The hash is of the sentence, white space folded; its first words are for people.  A sentence that is there twice has two
lines.  A sentence that promises nothing a program could see explains.  A test is

    FILE:TEST         TEST(name), or a word of the line "runs:", in tests/rcu/public.c (rcu.public); a test_name in a
                      file of Python; TEST(name), CLAUSE(name) and the like in tests/cxx/run/FILE.cc, or there a
                      function, type or macro that it has and uses.  FILE:* are all tests
    cxx:PROGRAM       tests/cxx/PROGRAM.cc, what must not compile
    ctest:NAME        another test that ctest runs
    busted:NAME       a fault that lull torture --busted must find

proof/promises/inside lists tests of public.c and hostile.c that look at the inside, for no sentence: FILE:TEST or FILE:*,
and behind that what they look at.

Not a sentence: what a comment shows behind a tab (code, interleavings); what is said in a function's body, about a name
in lull__, or in ORDER paragraphs (orders.py).

One line per defect, exit 1 if there are any: sentences without a line, lines without a sentence, tests that do not exist,
tests that no promise names.  --missing prints drafts of the lines that are missing.
"""
import collections
import difflib
import hashlib
import os
import re
import sys
from pathlib import Path

from ctests import ctests
from source import COMPAT, CXX_HEADERS, HEADERS, Source, files

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "proof/promises"
HEADER = re.compile(r"(?:urcu/)?include/lull/(?:compat/)?[^/]+")
YARDS = ("tests", "urcu/tests", "tool/tests", "lab/tests")
END = r'[.!?][)"]*\s'
NO_END = re.compile(r'(?:\b[A-Z]|\bal|\be\.g|\bi\.e|\.\.)\.[)"]*$|"\?"$')  # initials, abbreviations, "2, 4, 8 ... times"
LINE = re.compile(r"([0-9a-f]{6}) (.*?) \| (\S.*)")


def hash_of(sentence):
    return hashlib.sha256(sentence.encode()).hexdigest()[:6]


def draft(sentence, tests=""):
    return f"{hash_of(sentence)} {' '.join(sentence.split()[:6])} | {tests}"


def declared_name(code):
    """The name in a declaration that begins at the top of @code (a list of lines without comments)."""
    if re.match(r"#\s*(?!define\b|\s)", "".join(code[:1])):
        return ""
    text = " ".join(re.split(r"[;{]", "\n".join(code[:20]), maxsplit=1)[0].split())
    text = re.sub(r"\bLULL_(?:API|INLINE|NOEXCEPT)\b|__attribute__.*|__extension__|\bextern\b|\bstatic\b", "", text)
    for form in (r"#\s*define (\w+)", r"typedef .*?\(\*(\w+)\)", r"(?:struct|enum|union) (\w+)\s*$", r"(\w+)\s*\(",
                 r"(\w+)(?:\[\w*\])*\s*(?:=.*)?$"):
        found = re.match(form, text.strip()) or (not form.startswith("#") and re.search(form, text.strip()))
        if found:
            return found.group(1)
    return ""


class Header:
    """The sentences of a header's public comments, each with its line, and the name that the comment is about, or ""."""

    def __init__(self, path):
        base = os.path.basename(path)
        self.path = path
        self.name = base.removesuffix(".h") if "." in base else base + ".cxx"
        self.source = Source(ROOT, path)
        self.sentences = []
        not_public = self.find_not_public() if base.endswith(CXX_HEADERS) else set()
        for comment in re.finditer(r"/\*.*?\*/", self.source.text, re.S):
            line = self.source.text.count("\n", 0, comment.start())
            if line not in not_public:
                self.add_comment(comment, line)

    def find_not_public(self):
        """Lines of C++ that are not for programs: in namespace detail, and what is private in a class."""
        found, end = set(), None
        for number, line in enumerate(self.source.lines):
            if end is None and line == "namespace detail":
                end = {"} // namespace detail"}
            elif end is None and line.strip() == "private:":
                end = {"};"} | {line.replace("private:", word) for word in ("};", "public:", "protected:")}
            if end:
                found.add(number)
                end = None if line in end else end
        return found

    def add_comment(self, comment, line):
        code = self.source.code
        after = self.source.text.count("\n", 0, comment.end()) + 1
        trails = code[line].strip()
        about = declared_name(code[line:] if trails else code[after:]) if trails or code[after:][:1] != [""] else ""
        if "lull__" in about + " " + self.enclosing(line) or about.startswith("LULL__") or \
                (line in self.source.name_of_line and not code[line].startswith("#")):
            return
        lines = [re.sub(r"^\s*\*? ?", "", text, count=1) if not re.match(r" \*\t", text) else ""
                 for text in comment.group(0)[2:-2].split("\n")]
        for paragraph in re.split(r"\n\s*\n", "\n".join(lines)):
            paragraph = " ".join(paragraph.split())
            if paragraph and not re.match(r"LULL_\w+$|SPDX-|-{4} |ORDER [A-Z]+-\d+:", paragraph):
                self.add_paragraph(re.sub(r" ORDER [A-Z]+-\d+:.*", "", paragraph), line + 1, about)

    def enclosing(self, line):
        """The name of the structure or enumeration that line @line is in, or ""."""
        for at in range(line, 0, -1):
            if re.match(r"\S.*\{$", self.source.code[at].rstrip()) and at < line:
                return declared_name(self.source.code[at:])
            if self.source.code[at].startswith("}"):
                return ""
        return ""

    def add_paragraph(self, paragraph, line, about):
        begin = 0
        for found in list(re.finditer(END, paragraph)) + [None]:
            end = len(paragraph) if found is None else found.end() - 1
            if found is None or not NO_END.search(paragraph[:end]):
                self.sentences.append((paragraph[begin:end], line, about))
                begin = end + 1


class Tests:
    """Which tests there are."""

    def __init__(self):
        self.files = collections.defaultdict(set)  # end of a path, as rcu.public or public -> paths
        self.tests, self.runs = {}, collections.defaultdict(set)  # path -> names, words
        for path in files(ROOT, YARDS, (".c", ".cc", ".py")):
            text = (ROOT / path).read_text("utf-8")
            if path.endswith(".c"):
                # TEST(name), or another macro that a body follows: BOTH_WAYS(name).
                names = set(re.findall(r"^(?!WITH_)[A-Z_]+\((\w+).*\)\n\{", text, re.M))
                self.runs[path] = set(re.findall(r"[\w+-]+", "".join(re.findall(r"\A/\*.*\n/\* runs: (.*) \*/", text))))
            elif path.endswith(".py"):
                names = set(re.findall(r"\bdef (test_\w+)\(", text))
            else:
                code = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
                names = set(re.findall(r"^[A-Z_]*(?:TEST|CLAUSE)[A-Z_]*\((?:[A-Z]\w*, )?(\w+)", code, re.M))
                count = collections.Counter(re.findall(r"\w+", code))
                self.runs[path] = {name for name in re.findall(r"^#\s*define (\w+)|^(?:struct|class) (\w+)|^[a-z][\w:<>*& ]* \*?(\w+)(?:\(| =)",
                                                               code, re.M) for name in name if count[name] > 1}
            if names or self.runs[path]:
                self.tests[path] = names
                parts = re.sub(r"\.\w+$", "", path).split("/")
                for at in range(len(parts)):
                    self.files[".".join(parts[at:])].add(path)
        self.ctests = ctests(ROOT, ("tests", "examples", "urcu", "tool", "lab"))

    def named(self, test):
        """The tests that FILE:TEST or FILE:* names, as {(path, name)}; or what is wrong there."""
        file, _, name = test.partition(":")
        paths = self.files.get(file, ())
        if len(paths) != 1:
            return f"{file} is {' and '.join(sorted(paths))}" if paths else f"there is no {file} with tests"
        path, = paths
        if name == "*":
            return {(path, each) for each in self.tests[path]}
        return {(path, name)} if name in self.tests[path] | self.runs[path] else f"there is no test {name} in {path}"

    def wrong(self, test):
        """Say what is wrong with a test that is named otherwise, or return None."""
        kind, _, name = test.partition(":")
        if kind == "ctest":
            return None if name in self.ctests else "no CMakeLists.txt adds that test"
        if kind == "busted":
            return None if f"torture_busted_{name}" in self.ctests else "torture has no such fault"
        return None if (ROOT / f"tests/cxx/{name}.cc").is_file() else f"there is no tests/cxx/{name}.cc"


class Check:
    def __init__(self):
        self.defects, self.drafts, self.named = [], [], set()
        self.count = collections.Counter()
        self.tests = Tests()

    def defect(self, place, text):
        self.defects.append(f"{place}: {text}")

    def lines(self, path):
        for number, line in enumerate(path.read_text("utf-8").splitlines() if path.is_file() else [], 1):
            if line and not line.startswith("#"):
                yield f"proof/promises/{path.name}:{number}", line

    def check_tests(self, place, tests):
        kind = "explains" if tests == "explains" else "untested" if tests.startswith("untested: ") else "tested"
        self.count[kind] += 1
        for test in tests.partition("untested: ")[0].split() if kind == "tested" else []:
            wrong = self.tests.wrong(test) if re.match("(?:ctest|busted|cxx):", test) else self.tests.named(test)
            if isinstance(wrong, set):
                self.named |= wrong
            elif wrong:
                self.defect(place, f"{test}: {wrong}")

    def check_header(self, header):
        sentences = collections.defaultdict(list)  # hash -> [(sentence, line)]
        for sentence, line, _ in header.sentences:
            sentences[hash_of(sentence)].append((sentence, line))
        strangers = []
        for place, line in self.lines(FOLDER / header.name):
            entry = LINE.fullmatch(line)
            if not entry:
                self.defect(place, "not of the form HASH FIRST WORDS | TESTS")
            elif not sentences[entry[1]]:
                strangers.append((place, entry))
            else:
                sentence, _ = sentences[entry[1]].pop(0)
                if not sentence.startswith(entry[2]):
                    self.defect(place, f"that is the hash of \"{sentence}\"")
            if entry:
                self.check_tests(place, entry[3])
        missing = [each for rest in sentences.values() for each in rest]
        for place, entry in strangers:
            like = [s for s, _ in missing if s.startswith(entry[2])] or difflib.get_close_matches(entry[2], [
                s[:len(entry[2])] for s, _ in missing], 1, 0.5)
            now = next((s for s, _ in missing if like and s.startswith(like[0])), None)
            self.defect(place, f"no sentence of {header.path} any more" + (
                f", which may now be \"{now}\": {draft(now, entry[3])}" if now else f": {entry[2]}"))
        for sentence, line in missing:
            self.defect(f"{header.path}:{line}", f"no line of proof/promises/{header.name} for \"{sentence}\"")
        self.drafts += [f"# {header.name}"] * bool(missing) + [draft(sentence) for sentence, _ in missing]

    def check_inside(self):
        for place, line in self.lines(FOLDER / "inside"):
            test, _, what = line.partition(" ")
            tests = self.tests.named(test)
            if isinstance(tests, str):
                self.defect(place, tests)
            elif not what.strip():
                self.defect(place, f"{test}: what does that look at?")
            else:
                self.named |= tests
        for path, tests in sorted(self.tests.tests.items()):
            if re.match(r"tests/\w+/(?:public|hostile)\b", path):
                for name in sorted(name for name in tests if (path, name) not in self.named):
                    self.defect(path, f"no promise names the test {name}, nor does proof/promises/inside")

    def run(self, args):
        headers = [Header(name) for name in files(ROOT, ("include", "urcu/include"), HEADERS) if HEADER.fullmatch(name)]
        for header in headers:
            self.check_header(header)
        for name in sorted(set(os.listdir(FOLDER)) - {"inside"} - {header.name for header in headers}):
            self.defect(f"proof/promises/{name}", "there is no such header")
        self.check_inside()
        print("\n".join(self.drafts if args else self.defects), end="\n" * bool(self.drafts if args else self.defects))
        count = sum(self.count.values())
        print(f"promises: {count} sentences of {len(headers)} headers, {self.count['untested']} untested, "
              f"{self.count['explains']} explain; {len(self.named)} tests")
        print(f"{count} passed, {len(self.defects)} failed, 0 skipped")
        return 1 if self.defects and not args else 0


def main(args):
    if args not in ([], ["--missing"]):
        print("usage: promises.py [--missing]", file=sys.stderr)
        return 2
    return Check().run(args)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
