# SPDX-License-Identifier: MIT
"""The names of the tests that files of CMake add, found without CMake: lists, loops, functions and patterns of files."""
import itertools
import os
import re

from source import files

WORD = re.compile(r'\[\[.*?\]\]|#[^\n]*|"((?:[^"\\]|\\.)*)"|([()])|([^\s()"#]+(?:"[^"]*")?)', re.S)
DEEP = 6  # variables in values of variables


def commands(text):
    """[(name, [argument])] of a file; brackets in an argument list are left out."""
    found, name, args, depth = [], None, [], 0
    for match in WORD.finditer(text):
        quoted, bracket, word = match.groups()
        if bracket == "(":
            depth += 1
        elif bracket == ")":
            depth -= 1
            if depth == 0:
                found.append((name, args))
                args = []
        elif depth:
            args.append(quoted if quoted is not None else word or "")
        elif word:
            name = word.lower()
    return found


class Lists:
    """One file."""

    def __init__(self, root, path):
        self.folder = os.path.join(root, os.path.dirname(path))
        with open(os.path.join(root, path), encoding="utf-8") as file:
            self.commands = commands(file.read())
        self.call = None  # only this call of the function in question

    def tests(self):
        names, function = set(), None
        for at, (name, args) in enumerate(self.commands):
            if name in ("function", "endfunction"):
                function = args[0].lower() if name == "function" else None
            if name != "add_test" or args[:1] != ["NAME"]:
                continue
            for self.call in [place for place, (called, _) in enumerate(self.commands) if called == function] if function else [None]:
                names |= self.expand(args[1], at, 0)
        return names

    def expand(self, form, at, deep):
        """All that @form, which stands in command @at, may be."""
        if deep > DEEP:
            return set()
        parts = re.split(r"\$\{(\w+)\}", form)
        choices = [self.values(part, at, deep + 1) if i % 2 else {part} for i, part in enumerate(parts)]
        return {"".join(one) for one in itertools.product(*choices)}

    def all_of(self, words, at, deep):
        return set().union(*(self.expand(word, at, deep) for word in words))

    def values(self, variable, at, deep):
        """What @variable may be in command @at. The loop or function that it belongs to says so, or the commands that set it."""
        found, over = set(), 0
        for place in range(at - 1, -1, -1):
            name, args = self.commands[place]
            # A loop or function that is over has variables of its own.
            over += name in ("endforeach", "endfunction", "endmacro")
            if over and name in ("foreach", "function", "macro"):
                over -= 1
                continue
            if over:
                continue
            if name == "foreach" and args[0] == variable:
                words = args[1:]
                if words[:2] == ["IN", "LISTS"]:
                    words = ["${%s}" % word for word in words[2:]]
                return found | self.all_of([word for word in words if word not in ("IN", "ITEMS")], place, deep)
            if name in ("function", "macro") and (variable in args[1:] or variable == "ARGN"):
                return found | self.given(args, variable, deep)
            if name == "cmake_path" and args[0] == "GET" and args[-1] == variable:
                paths = {os.path.basename(path) for path in self.values(args[1], place, deep)}
                return found | {os.path.splitext(path)[0] if args[2] == "STEM" else path for path in paths}
            if name == "string" and args[0] == "REPLACE" and args[3] == variable:
                return found | {value.replace(args[1], args[2]) for value in self.all_of(args[4:], place, deep)}
            if name == "set" and args[0] == variable:
                found |= self.all_of(args[1:], place, deep)
            elif name == "list" and args[:2] == ["APPEND", variable]:
                found |= self.all_of(args[2:], place, deep)
            elif name == "find_program" and args[0] == variable:
                found.add(args[1])
            elif name == "file" and args[0] == "GLOB" and args[1] == variable:
                patterns = [re.compile(re.escape(word).replace(r"\*", "[^/]*")) for word in args[2:] if "*" in word]
                found |= {name for name in os.listdir(self.folder) if any(one.fullmatch(name) for one in patterns)}
        return found

    def given(self, function, variable, deep):
        """What the calls of @function, its name and parameters, give for @variable."""
        found = set()
        for place, (name, args) in enumerate(self.commands):
            if name == function[0].lower() and self.call in (None, place):
                given = args[len(function) - 1:] if variable == "ARGN" else args[function.index(variable) - 1:][:1]
                found |= self.all_of(given, place, deep)
        return found


def ctests(root, folders):
    return set().union(*(Lists(root, path).tests() for path in files(root, folders, ("CMakeLists.txt", ".cmake"))))
