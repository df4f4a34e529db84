# SPDX-License-Identifier: MIT
"""A C source cut into functions and macros, for orders, promises and mutants."""
import hashlib
import os
import re

# A call of an access with an order, or of a fence; not what defines or declares one.
ORDERED = re.compile(r"(?<!void )\b(?:lull_(?P<access>fence_(?:light|heavy|full)|store_fence|"
                     r"(?:load|store|xchg|(?:own_)?add|sub|or|and|cas)_(?:acquire|release|acq_rel))|"
                     r"lull__(?P<barrier>rseq_barrier|hazptr_fence))\s*\((?!p[,)])")
KEYWORDS = ("if", "for", "while", "switch", "return", "sizeof", "defined")
# How the names of headers end: for C, and for C++; two of these are called as the standard's.
CXX_HEADERS = (".hpp", "hazard_pointer", "rcu")
HEADERS = (".h",) + CXX_HEADERS
# What programs and library say to ThreadSanitizer: no access of theirs, and functions in front of others.
SAID_IN = re.compile(r"include/lull/detail/tsan\w*\.h|src/tsan/.*")
# Headers with the names of other projects. The library uses none of them, and they may use all of it.
COMPAT = "include/lull/compat/"
# Words that stand before a ( in the head of a C++ function and are not its name.
NO_NAME = KEYWORDS + ("catch", "noexcept", "decltype", "alignas", "explicit", "requires", "static_assert", "throw")


def files(root, folders, endings):
    """Names from @root on."""
    for folder in folders:
        for path, _, names in sorted(os.walk(os.path.join(root, folder))):
            for name in sorted(names):
                if name.endswith(endings):
                    yield os.path.relpath(os.path.join(path, name), root)


class Source:
    """One file: its comments, and the pieces (functions, macros) that it defines."""

    def __init__(self, root, name):
        self.name = name
        with open(os.path.join(root, name), encoding="utf-8") as file:
            self.text = file.read()
        self.lines = self.text.split("\n")
        self.code = self.without_comments()
        self.pieces = {}  # name -> text, with the comment on top
        self.piece_of_line = {}
        self.name_of_line = {}
        self.code_of = {}  # name -> code
        self.codes = []  # (name, code); in C++ several functions have one name
        self.find_pieces()

    def without_comments(self):
        """The lines with comments and strings blanked out."""
        def blank(match):
            return re.sub(r"[^\n]", " ", match.group(0))
        return re.sub(r'/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', blank, self.text, flags=re.S).split("\n")

    def comments(self):
        """(line number, text on one line)"""
        for match in re.finditer(r"/\*.*?\*/", self.text, re.S):
            line = self.text.count("\n", 0, match.start()) + 1
            body = re.sub(r"\n\s*\*(?!/)", " ", match.group(0)[2:-2])
            yield line, re.sub(r"\s+", " ", body.lstrip("*")).strip()

    def comment_above(self, at):
        """First line of the comment that ends right above line @at."""
        end = at - 1
        if end < 0 or not self.lines[end].rstrip().endswith("*/"):
            return at
        while end >= 0 and "/*" not in self.lines[end]:
            end -= 1
        return max(end, 0)

    def add_piece(self, name, start, end):
        top = self.comment_above(start)
        text = "\n".join(self.lines[top : end + 1])
        self.pieces[name] = self.pieces.get(name, "") + text
        for line in range(top, end + 1):
            self.piece_of_line[line] = (top, end)
        for line in range(start, end + 1):
            self.name_of_line[line] = name
        code = "\n".join(self.code[start : end + 1])
        self.code_of[name] = self.code_of.get(name, "") + code
        self.codes.append((name, code))

    def find_cxx_pieces(self):
        """Functions of C++, which may be members: { and } stand alone, at one indentation. Namespaces and classes are no
        pieces, what is in them is."""
        at = 0
        while at < len(self.code):
            opened = re.fullmatch(r"(\s*)\{\s*", self.code[at])
            start = at
            while opened and start > 0 and self.code[start - 1].strip() and \
                    not re.match(r"\s*[#}{]|.*[;{}]\s*$|\s*(?:public|private|protected):", self.code[start - 1]):
                start -= 1
            names = [n for n in re.findall(r"(operator\s*[^\s\w(]+|\w+)\s*\(", " ".join(self.code[start:at]))
                     if n not in NO_NAME and not n.startswith("__")]
            if opened and names:
                end = at
                while end + 1 < len(self.code) and not self.code[end].startswith(opened.group(1) + "}"):
                    end += 1
                self.add_piece(names[0], start, end)
                at = end
            at += 1

    def find_pieces(self):
        if self.name.endswith(CXX_HEADERS):
            self.find_cxx_pieces()
            return
        at = 0
        while at < len(self.code):
            line = self.code[at]
            macro = re.match(r"#\s*define\s+(\w+)", line)
            if macro:
                end = at
                while end + 1 < len(self.code) and self.code[end].rstrip().endswith("\\"):
                    end += 1
                self.add_piece(macro.group(1), at, end)
                at = end + 1
                continue
            if line.rstrip() == "{":
                # The head of the function begins behind the last blank line, directive or brace.
                start = at
                while start > 0 and self.code[start - 1].strip() and \
                        not re.match(r"[#}]|.*;\s*$", self.code[start - 1]):
                    start -= 1
                head = " ".join(self.code[start:at])
                names = [n for n in re.findall(r"(\w+)\s*\(", head)
                         if n not in KEYWORDS and not n.startswith("__")]
                end = at
                while end + 1 < len(self.code) and not self.code[end].startswith("}"):
                    end += 1
                if names:
                    self.add_piece(names[0], start, end)
                at = end
            at += 1

    def code_hash(self, name):
        """A hash of a function's code, whatever is said about it and however it is laid out."""
        return hashlib.sha256(re.sub(r"\s+", " ", self.code_of[name]).encode()).hexdigest()[:12]


def where(text):
    """The functions that a model stands for: each "take" or, where the name is there twice and the model says "take()
    in mutex.c", "mutex.c:take"."""
    words = where_words(text)
    return words if words is None else [f"{os.path.basename(file)}:{name}" if file else name
                                        for name, file in re.findall(r"(\w+)\(\)(?: in ([\w/]+\.[ch]\b|lull/\w+(?:\.hpp)?))?", words)]


def where_words(text):
    part = re.search(r"^ \* Where: (.*?)\n \*\s*(?:\n|[A-Z]\w* [A-Z_]+-?\d*:)", text, re.M | re.S)
    return re.sub(r"\n \*\s*", " ", part.group(1)) if part else None


def find(sources, called):
    """(the source that has the function which is @called so, None), or (None, what is wrong with that)"""
    file, _, function = called.rpartition(":")
    found = [s for s in sources if function in s.code_of and file in ("", os.path.basename(s.name))]
    if len(found) == 1:
        return found[0], None
    if not found:
        return None, f"there is no {function}()" + (f" in {file}" if file else "")
    return None, f"{function}() is in {' and in '.join(s.name for s in found)}: say in which"
