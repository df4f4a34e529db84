# SPDX-License-Identifier: MIT
"""liburcu's unit and regression tests of Debian 13, in C and C++: by `lull urcu`, and compiled on lull's headers."""
import re

from client import Client, Result
from torture import BUILT, FLAVORS, HAVE, HERE, PART_S, compiled, includes, judge_stress, liburcu, refusal, source_door

RELEASE = "trixie"
ALL = ("urcu-memb", "urcu-mb", "urcu-qsbr", "urcu-bp")

# {name: (sources, macros, libraries)}, each in C and C++; test_arch and test_uatomic use nothing that lull replaces.
TESTS = {
    "build": (["unit/test_build"], [], ("urcu",)),
    "multiflavor": ([f"unit/test_urcu_multiflavor{part}" for part in ("", "-memb", "-mb", "-bp", "-qsbr")], [], ALL),
    "single_unit": (["unit/test_urcu_multiflavor_single_unit"], [], ALL),
    "fork": (["regression/test_urcu_fork"], [], ("urcu",)),
    **{f"torture-{flavor}": (["regression/urcutorture"], [macro, *["TORTURE_QSBR"] * (flavor == "qsbr")], (library,))
       for flavor, (macro, library) in FLAVORS.items()},
}
LANGUAGES = {"c": ".c", "cxx": "_cxx.cpp"}


def doors(release, libraries):
    """{door: words for a compiler}; what lull does not replace is liburcu's: headers, and a library for futexes."""
    headers, linked = source_door()
    beside = liburcu(release, ())
    return {"liburcu": liburcu(release, libraries), "source": ([*headers, *beside[0]], [*linked, *beside[1]])}


def path_of(name, language, door):
    return BUILT / RELEASE / f"newest-{name}-{language}-{door}"


def build(release, _folder, source):
    tests = source / "tests"
    for name, (sources, macros, libraries) in TESTS.items():
        for language, ending in LANGUAGES.items():
            files = [*(tests / f"{one}{ending}" for one in sources), HERE / "sleep_less.c", tests / "utils/tap.c"]
            for door, words in doors(release, libraries).items():
                compiled(release, path_of(name, language, door), files, [*macros, *HAVE],
                         libraries, includes(source), (words[0], [*words[1], "-lstdc++"]))


def judge(name, status, text):
    """What is wrong with the output of a test, or nothing."""
    if status != 0 or re.search(r"^not ok", text, re.M) or "lull: " in text:
        return f"status {status}: {text[-300:]}"
    if name.startswith("torture"):
        return judge_stress(text)
    return "" if re.search(r"^(?:ok|1\.\.)", text, re.M) else f"nothing was tried: {text[-300:]}"


def run(room, how):
    result = Result()
    for name in TESTS:
        arguments = (2, "stress", 1, "callrcu_global") if name.startswith("torture") else ()
        milliseconds = 500 if how.short else 3000
        for language in LANGUAGES:
            for door in ("liburcu", "source") if room.side == "lull" else ("liburcu",):
                status, text = room.run(path_of(name, language, door), *arguments, client=door == "liburcu",
                                        timeout=PART_S, environment={"LULL_CLIENTS_SLEEP_MS": str(milliseconds)})
                result.refused = result.refused or refusal(status, text)
                wrong = judge(name, status, text)
                if wrong and not result.refused:
                    result.wrong.append(f"{name}, {language}, {door}: {wrong}")
                result.checked += len(re.findall(r"^ok", text, re.M))
    return result


CLIENTS = [Client("newest", RELEASE, "liburcu-dev", ("liburcu-dev", "libstdc++6"), "inlined",
                  "test_build, _multiflavor, _fork, rcutorture of 0.15, in C and C++; on lull also compiled on its headers",
                  run, (), "liburcu", build, source_release=RELEASE)]
