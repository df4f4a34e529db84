# SPDX-License-Identifier: MIT
"""Which names a C source defines, declares and uses: found among its words, without a compiler, for layers."""
import bisect
import os
import re

TOKEN = re.compile(r"""
    (?P<comment>/\*.*?\*/|//[^\n]*)
  | (?P<string>(?:u8|[LuU])?"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<directive>(?:(?<=\n)|\A)[ \t]*\#(?:[^\n\\/]|/(?![*/])|\\\r?\n|\\.|/\*.*?\*/|//[^\n]*)*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<number>\.?\d[\w.]*)
  | (?P<sign>->|\S)
""", re.S | re.X)
SPECIFIERS = {"__attribute__", "__attribute", "_Alignas", "alignas", "__asm__", "asm", "__declspec", "__typeof__",
              "typeof"}
NOT_A_FUNCTION = {"_Static_assert", "static_assert", "if", "for", "while", "switch", "return", "sizeof", "defined"}
OF_OUR_OWN = ("lull_", "LULL_")
NAME_IN_STRING = {"weakref", "__weakref__", "alias", "__alias__", "ifunc", "__ifunc__"}  # attributes
NOT_CODE = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""", re.S)
# How a name or a directive can be written so that a reader of words misses it.
HIDDEN = ((re.compile(r"\\[uU][0-9A-Fa-f]"), "spells a name with \\u"),
          (re.compile(r"%:|<%|%>|<:|:>"), "has a digraph"),
          (re.compile(r"#[ \t]*pragma[ \t]+(?:weak|redefine_extname)|\b_Pragma\b"), "has a pragma that can rename"))


def splice(text):
    """@text without the newlines that a backslash takes away, and the place in it where each line ends."""
    parts, ends, at, length = [], [], 0, 0
    for match in re.finditer(r"(\\[ \t]*\r?)?\n", text):
        kept = text[at:match.start() if match.group(1) else match.end()]
        parts.append(kept)
        length += len(kept)
        ends.append(length - 1)
        at = match.end()
    return "".join(parts) + text[at:], ends


class Definition:
    """@kind: function, data, type, macro (one with parameters), constant (one without), enum (a constant of one).
    @local: no other file sees it."""

    def __init__(self, file, name, kind, line, local):
        self.file, self.name, self.kind, self.line, self.local = file, name, kind, line, local
        self.length = 0  # of a function: the lines from { to }
        self.uses = set()  # of a function or macro: names


class CFile:
    def __init__(self, root, name):
        self.name = name
        with open(os.path.join(root, name), encoding="utf-8") as file:
            self.text, self.ends = splice(file.read())
        self.lines = len(self.ends)
        self.includes = []  # (line, name, is it in quotes?)
        self.hidden = []  # (line, what a reader of words does not see through)
        self.asm = []  # lines with an asm statement, or an asm label
        self.code = ""  # without comments, and with nothing in its strings
        self.definitions = []
        self.declared = {}  # name -> (line, is it LULL_API?, is it a function?, only in debug builds?)
        self.uses = {}  # name -> first line where it is used
        self.calls = set()  # names that ( follows
        self.undefined = set()  # macros that do not outlive the file
        self.inside = None  # the definition whose text is being read
        self.code_lines = 0
        self.read()
        self.find_hidden()

    def line(self, at):
        return bisect.bisect_left(self.ends, at) + 1

    def find_hidden(self):
        def blank(match):
            text = match.group()
            return re.sub(r"[^\n]", " ", text) if text[0] == "/" else text[0] * len(text)
        code = self.code = NOT_CODE.sub(blank, self.text)
        for pattern, what in HIDDEN:
            self.hidden += [(self.line(match.start()), what) for match in pattern.finditer(code)
                            if not self.text.startswith('("GCC diagnostic ', match.end())]
        for match in re.finditer(r"\b(\w+)\s*\(\s*\"", code):
            if match.group(1) in NAME_IN_STRING:
                self.hidden.append((self.line(match.start()),
                                    f"has {match.group(1)}, which names a function in a string"))
        self.asm = [self.line(match.start()) for match in re.finditer(r"\b(?:__asm__|__asm|asm)\b", code)]

    def read(self):
        """Cut the text into words, and these into definitions and declarations at the outermost level."""
        code, tokens = set(), []
        depth, conditions, in_debug = 0, [], []
        self.head, self.body, self.opened = [], [], None
        for match in TOKEN.finditer(self.text):
            kind, text, at = match.lastgroup, match.group(), match.start()
            if kind == "comment":
                continue
            first = self.line(at)
            code.add(first)
            if kind == "directive":
                depth = self.read_directive(text, at, first, code, conditions, in_debug, depth)
                continue
            if kind == "string" and text.count("\n"):
                code.update(range(first, self.line(match.end()) + 1))
            self.debug = any(in_debug)
            depth = self.read_token(kind, text, first, depth)
        self.code_lines = len(code)

    # ---- directives ---------------------------------------------------------------------------------

    def read_directive(self, text, at, line, code, conditions, in_debug, depth):
        plain = re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)
        code.update(self.line(at + match.start()) for match in re.finditer(r"\S+", plain))
        match = re.match(r"\s*#\s*(\w+)\s*(.*)", plain, re.S)
        if not match:
            return depth
        word, rest = match.groups()
        if word in ("include", "include_next", "import", "embed"):
            named = re.match(r'(["<])([^">]+)', rest)
            if named:
                self.includes.append((line, named.group(2), named.group(1) == '"'))
            else:
                self.hidden.append((line, f"includes {rest.strip()}, a macro"))
        elif word in ("if", "ifdef", "ifndef"):
            conditions.append((depth, list(self.head)))
            in_debug.append(bool(re.search(r"\bLULL_DEBUG\b", rest)) and word != "ifndef" and "!" not in rest)
        elif word in ("else", "elif") and conditions:
            depth = conditions[-1][0]
            self.head = list(conditions[-1][1])
            in_debug[-1] = False
        elif word == "endif" and conditions:
            conditions.pop()
            in_debug.pop()
        elif word == "undef":
            self.undefined.add(rest.strip())
        elif word == "define":
            self.read_macro(rest, line)
        if word in ("if", "elif"):
            self.use_words(rest, line)
        return depth

    def read_macro(self, rest, line):
        match = re.match(r"(\w+)(\(([^)]*)\))?(.*)", rest, re.S)
        name, _, parameters, body = match.groups()
        kind = "constant" if parameters is None else "macro"
        self.inside = self.define(name, kind, line, self.name.endswith((".c", ".cpp")))
        self.use_words(body, line, set(re.findall(r"\w+", parameters or "")) | {name})
        self.inside = None

    def use_words(self, text, line, but=frozenset()):
        """The words of a directive, whose strings do not count."""
        text = re.sub(r'"(?:[^"\\\n]|\\.)*"', " ", text)
        for match in re.finditer(r"(->|\.)?\s*([A-Za-z_]\w*)\s*(\()?", text):
            if match.group(2) not in but and not match.group(1):
                self.use(match.group(2), line, bool(match.group(3)))

    # ---- declarations -------------------------------------------------------------------------------

    def read_token(self, kind, text, line, depth):
        """@depth: of braces whose inside is no declaration of this level."""
        if depth == 0:
            if text == ";":
                self.end_declaration()
            elif text == "{":
                if self.opens_nothing():
                    self.head = []
                    return 0
                self.opened = line
                self.head.append((kind, text, line))
                return 1
            elif text == "}" and not self.head:
                pass  # of what opens_nothing()
            else:
                self.head.append((kind, text, line))
            return depth
        if text == "{":
            depth += 1
        elif text == "}":
            depth -= 1
        self.head.append((kind, text, line))
        if depth == 0 and self.function_name(self.head):
            self.end_function(line)
        return depth

    def opens_nothing(self):
        """extern "C" { and, in C++, namespace and class: what is inside are declarations like those outside."""
        words = [text for kind, text, _ in self.head if kind == "word"]
        if words[:1] == ["extern"] and any(kind == "string" for kind, _, _ in self.head):
            return True
        return self.name.endswith(".cpp") and "(" not in [t for _, t, _ in self.head] and \
            any(word in words for word in ("namespace", "class", "struct"))

    @staticmethod
    def without_specifiers(tokens):
        """Leave out __attribute__((...)) and its like."""
        out, skip, depth = [], False, 0
        for token in tokens:
            if depth:
                depth += {"(": 1, ")": -1}.get(token[1], 0)
            elif skip and token[1] == "(":
                depth = 1
            elif token[1] in SPECIFIERS:
                skip = True
                continue
            elif token[1] == "LULL_API" or token[1] == "__extension__":
                continue
            else:
                out.append(token)
            skip = False
        return out

    def function_name(self, tokens):
        """Of a definition that @tokens begin, up to its brace, or of a declaration; None: of something else."""
        last, tokens = None, self.without_specifiers(tokens)
        for n, (kind, text, _) in enumerate(tokens):
            if text in ("=", "{", "[", "typedef") or [token[1] for token in tokens[n : n + 2]] == ["(", "*"]:
                return None
            if text == "(":
                return last[1] if last and last[0] == "word" and last[1] not in NOT_A_FUNCTION else None
            last = (kind, text)
        return None

    def define(self, name, kind, line, local):
        self.definitions.append(Definition(self.name, name, kind, line, local))
        return self.definitions[-1]

    def end_function(self, line):
        opening = next(n for n, token in enumerate(self.head) if token[1] == "{")
        words = {text for _, text, _ in self.head[:opening]}
        name = self.function_name(self.head)
        one = self.define(name, "function", self.head[0][2], "static" in words and not self.name.endswith(".h"))
        one.length = line - self.opened + 1
        self.inside = one
        self.use_tokens(self.head[opening:])
        self.inside = None
        self.head = []

    def end_declaration(self):
        tokens, self.head = self.head, []
        words = [text for _, text, _ in tokens]
        if not words or words[0] in ("typedef", "_Static_assert", "static_assert", "using"):
            return
        if "=" in words:
            self.use_tokens(tokens[words.index("="):])
        self.use_tokens(self.in_brackets(tokens))
        name = self.function_name(tokens)
        line = tokens[0][2]
        for at, (_, text, _) in enumerate(tokens[:-2]):
            if text in ("struct", "union", "enum") and tokens[at + 2][1] == "{":
                self.define(tokens[at + 1][1], "type", line, self.name.endswith((".c", ".cpp")))
        self.define_enum(tokens)
        if name:
            self.declared.setdefault(name, (line, "LULL_API" in words, True, self.debug))
            return
        for name in self.data_names(self.without_specifiers(tokens)):
            if "extern" in words:
                self.declared.setdefault(name, (line, "LULL_API" in words, False, self.debug))
            else:
                self.define(name, "data", line, "static" in words and not self.name.endswith(".h"))

    def define_enum(self, tokens):
        """The constants of the enum that @tokens declare, if they do."""
        words = [text for _, text, _ in tokens[:3]]
        if "enum" not in words or "{" not in [text for _, text, _ in tokens]:
            return
        begin, depth = [text for _, text, _ in tokens].index("{"), 0
        for n, (kind, text, line) in enumerate(tokens[begin:], begin):
            if depth == 1 and kind == "word" and tokens[n - 1][1] in ("{", ","):
                self.define(text, "enum", line, self.name.endswith((".c", ".cpp")))
            depth += (text in "({[") - (text in ")}]")

    @staticmethod
    def data_names(tokens):
        """Of a declaration of data: a word before , ; = or [, outside all braces and parentheses, or in (*word)."""
        depth, ended, names = 0, False, []
        for n, (_, text, _) in enumerate(tokens + [("sign", ",", 0)]):
            if text in "({[":
                if text == "[" and depth == 0 and not ended and tokens[n - 1][0] == "word":
                    names.append(tokens[n - 1][1])
                    ended = True
                elif text == "(" and depth == 0 and not ended and n + 2 < len(tokens) and tokens[n + 1][1] == "*":
                    names += [word for kind, word, _ in tokens[n + 2:] if kind == "word" and word != "const"][:1]
                    ended = True
                depth += 1
            elif text in ")}]":
                depth -= 1
            elif depth == 0 and text in ("=", ","):
                before = [token[1] for token in tokens[max(0, n - 2):n]]
                if not ended and n > 1 and tokens[n - 1][0] == "word" and \
                        before[0] not in ("struct", "union", "enum", "class"):
                    names.append(before[1])
                ended = text == "="
        return names

    # ---- uses ---------------------------------------------------------------------------------------

    @staticmethod
    def in_brackets(tokens):
        """Of a declaration: the sizes of its arrays."""
        depth, out = 0, []
        for token in tokens:
            depth += (token[1] == "[") - (token[1] == "]")
            if depth:
                out.append(token)
        return out

    def use_tokens(self, tokens):
        for n, (kind, text, line) in enumerate(tokens):
            if kind == "word" and (n == 0 or tokens[n - 1][1] not in ("->", ".", "struct", "union", "enum", "goto")):
                self.use(text, line, n + 1 < len(tokens) and tokens[n + 1][1] == "(")

    def use(self, name, line, is_call):
        """Other people's names are too short to be told from a variable's, but where they are called."""
        if is_call or name.startswith(OF_OUR_OWN) or name.isupper():
            self.uses.setdefault(name, line)
            if self.inside:
                self.inside.uses.add(name)
        if is_call:
            self.calls.add(name)
