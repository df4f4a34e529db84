# SPDX-License-Identifier: MIT
"""Reports of KCSAN, and which of them are about patches or modules of ours."""
import dataclasses
import functools
import re

import build
import tree

FRAME = re.compile(r"^ ([A-Za-z_][\w.]*)\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[(\w+)\])?$")
ACCESS = re.compile(r"(?:race at unknown origin, with )?\w[\w ()-]* to 0x[0-9a-f]+ of \d+ bytes by ")


@functools.cache
def modules():
    """Names of modules: those of kernel/modules/, and files that patches add, which may be one."""
    found = set()
    for kbuild in build.MODULES.glob("*/Kbuild"):
        found |= set(re.findall(r"(\w+)\.o", " ".join(re.findall(r"^obj-m.*$", kbuild.read_text(encoding="utf-8"), re.M))))
    for path in tree.patches():
        text = path.read_text(encoding="utf-8")
        found |= {name for name in re.findall(r"^--- /dev/null\n\+\+\+ b/(?:\S*/)?(\w+)\.c$", text, re.M)}
    return found


@functools.cache
def functions():
    """Names of functions that patches add to or change."""
    found = set()
    for path in tree.patches():
        name = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("@@ "):
                line = " " + line.split("@@", 2)[2].strip()
            if head := re.match(r"[ +](?:SYSCALL_DEFINE\d\((\w+)|[a-z][\w *]*?\b(\w+)\([^;]*$)", line):
                name = f"__do_sys_{head.group(1)}" if head.group(1) else head.group(2)
            elif line[:1] in "+-" and line[1:2] == "\t" and name:
                found.add(name)
    return found


def is_ours(function, module):
    return module in modules() or function in functions()


@dataclasses.dataclass
class Race:
    title: str
    stacks: list  # [[(function, module or "")]]: who accesses, who called that, and so on

    def made_on_purpose(self):
        return all(any(module == "provoke" for _, module in stack) for stack in self.stacks)

    def ours(self):
        """Whether a function of ours makes one of the accesses."""
        return any(is_ours(*stack[0]) for stack in self.stacks if stack)

    def called_by_ours(self):
        """Whether one is further up: it calls what races, or was interrupted."""
        return any(is_ours(*frame) for stack in self.stacks for frame in stack)

    def text(self):
        """What races, and the first function of ours in each stack."""
        first = [next((f"{function} [{module or 'vmlinux'}]" for function, module in stack if is_ours(function, module)),
                      "none of ours") for stack in self.stacks]
        return f"{self.title} ({'; '.join(first)})"


def parse(console):
    """The reports of a console, in their order. What belongs to none of them may be in between."""
    found, stack = [], None
    for line in console.splitlines():
        line = re.sub(r"^\[ *[\d.]+\](?:\[[^]]*\])? ?", "", line)
        if match := re.search(r"BUG: KCSAN: (.*)", line):
            found.append(Race(match.group(1).strip(), []))
            stack = None
        elif found and ACCESS.match(line):
            stack = []
            found[-1].stacks.append(stack)
        elif stack is not None and (frame := FRAME.match(line)):
            stack.append((frame.group(1).split(".")[0], frame.group(2) or ""))
        elif not line.strip() or line.startswith("Reported by "):
            stack = None
    return found
