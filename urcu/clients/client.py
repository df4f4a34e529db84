# SPDX-License-Identifier: MIT
"""A client: a program from elsewhere, and what is done with it."""
import dataclasses
import pathlib
import re
import typing

# For a shell, for tools, and what the command `lull` is linked with.
BASE = ("dash", "coreutils", "libjansson4", "libncurses6", "libbpf1")


@dataclasses.dataclass
class Result:
    """The results of one run. wrong: what must not be, one line each. note: what a reader should know."""
    figures: dict = dataclasses.field(default_factory=dict)
    wrong: list = dataclasses.field(default_factory=list)
    checked: int = 0
    note: str = ""
    grace_periods: typing.Optional[int] = None  # that lull made, where it was asked
    refused: str = ""  # lull's own line, if it refuses the program


@dataclasses.dataclass
class Client:
    name: str
    release: str
    package: str  # whose version is told
    packages: tuple  # all that is unpacked
    readers: str  # "called", "inlined", "both"
    what: str  # what is done with it, for the table
    run: typing.Callable  # (room, how) -> Result
    figures: tuple = ()  # (key, what it is, "less" or "more" is better), of those that are compared
    source: str = ""  # the package whose source it is built from
    build: typing.Callable = None  # (release, folder, sources) before the room is made, with the machine's compiler
    options: tuple = ()  # for lull urcu
    alone: bool = False  # on lull only: there is nothing to compare
    source_release: str = "bookworm"  # whose source it is built from


@dataclasses.dataclass
class How:
    """How much. seconds: of each load; size: names of a zone, and the like; rate: queries in a second."""
    short: bool = False
    build: str = ""  # the folder in which lull is built

    @property
    def seconds(self):
        return 2 if self.short else 6

    @property
    def names(self):
        return 2000 if self.short else 20000

    @property
    def rate(self):
        return 2000 if self.short else 15000


where = {}  # "build": the folder in which the yard urcu is built, before clients are


def tool_of(build):
    """The command that the tests in @build run: the one beside the installed library."""
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    return re.search(r"^LULL_TOOL:FILEPATH=(.*)$", cache, re.M).group(1)


def prefix_of(build):
    """Where the library is installed that @build stands on."""
    return pathlib.Path(tool_of(build)).parents[1]
