# SPDX-License-Identifier: MIT
"""What a stage of scripts/kernel is made of, and what tables are made of."""
import dataclasses
import math
import typing

# What the times of a boot are worth, by what ran it: scripts/kernel puts a line "@@ clock WORD" before each console.
CLOCKS = {
    "counted": "emulated, its clock counts instructions (-icount): repeats within some per cent, blind to caches",
    "emulated": "emulated: order of magnitude only",
    "kvm": "on this machine's processor (KVM): with what else ran on the machine, and the costs of a guest",
}


class Wrong(Exception):
    """A stage did not show what it should; the text is one line."""


@dataclasses.dataclass
class Boot:
    """One run of the guest. script: what its shell runs; files of kernel/guest/ may be named by include."""

    script: str
    name: str = "boot"
    cpus: int = 2
    icount: bool = False  # the guest's clock counts instructions, and one host thread runs all CPUs
    memory_mb: int = 512
    append: str = ""  # more words for the kernel's command line
    limit_s: int = 300
    # Reports of the kernel that this boot provokes: a regular expression that their first lines match.
    expected: str = ""


@dataclasses.dataclass
class Stage:
    """boots: what runs, one after the other. table: makes the lines of kernel/results/NAME.txt from {boot's name:
    console}, and raises Wrong if a goal is missed."""

    title: str
    boots: list
    table: typing.Callable
    config: tuple = ()  # fragments of kernel/config/ on top of base.config: each combination is a kernel of its own
    modules: tuple = ()  # "refscale" of the kernel's own, or "gpwait" of kernel/modules/gpwait/, in the order of loading
    programs: tuple = ()  # kernel/guest/NAME.c, linked statically, is /bin/NAME in the guest
    commands: tuple = ()  # commands of this machine that the guest gets, with their libraries: "tc"
    own: tuple = ()  # targets of this repository, built beside the kernels: "lull_tool" (which is /bin/lull), "mutex.public"
    files: dict = dataclasses.field(default_factory=dict)  # {path in the guest: path here}
    patches: str = ""  # a regular expression: only patches whose names match; all, if empty


def percentile(values, per_cent):
    """The least value that so many per cent of @values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * per_cent / 100) - 1)]


def columns(rows, right=True):
    """Lines of a table whose columns are aligned: the first to the left, the others to the right."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(max(map(len, rows)))]
    for row in rows:
        cells = [cell.rjust(widths[i]) if i and right else cell.ljust(widths[i]) for i, cell in enumerate(row)]
        yield "  ".join(cells).rstrip()


def clock(console):
    """What to say beside the times of a boot, from its console."""
    words = [line[0] for line in said(console, "clock") if line]
    if not words or words[0] not in CLOCKS:
        raise Wrong("a console does not say what its clock is")
    return CLOCKS[words[0]]


def said(console, word):
    """The lines "@@ WORD ..." of a console, each as a list of the words behind WORD."""
    return [line.split()[2:] for line in console.splitlines() if line.startswith(f"@@ {word} ") or line == f"@@ {word}"]


def pairs(words):
    """{"a": "1"} of the words "a=1"; other words are left out."""
    return dict(word.split("=", 1) for word in words if "=" in word)
