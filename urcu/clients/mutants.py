# SPDX-License-Identifier: MIT
"""Faults in what stands in for liburcu (urcu/tests/binary/busted.c): foreign programs must find each of them."""
import pathlib

from client import Client, Result
from debian import Absent
import storm
import torture

RELEASE = "bookworm"
TRIES, MILLISECONDS = 6, 1000


def by_torture(flavor, readers, worker):
    def look(room):
        status, text = torture.stress(room, RELEASE, flavor, readers, worker, MILLISECONDS)
        return torture.judge_stress(text) if status == 0 else f"status {status}: {text[-200:]}"
    return f"rcutorture {flavor}, {readers}", look


def by_storm(flavor):
    def look(room):
        return storm.judge(*storm.storm(room, RELEASE, flavor, MILLISECONDS))[0]
    return f"storm {flavor}", look


FAULTS = {
    "no_wait": [by_torture("memb", "called", "callrcu_global"), by_torture("memb", "inlined", "callrcu_global"),
                     by_torture("qsbr", "inlined", "callrcu_global"), by_storm("memb")],
    "early_callbacks": [by_torture("memb", "called", "callrcu_percpu"), by_storm("memb"), by_storm("bp")],
    "unseen": [by_torture("memb", "called", "callrcu_global"), by_torture("bp", "inlined", "callrcu_global"),
                    by_torture("qsbr", "inlined", "callrcu_perthread"), by_storm("mb")],
}
# Signs that the program was not tried at all. Anything else is the fault's doing: what was freed too early may be
# read, make a loop of a list, or be anything.
NOT_TRIED = ("status 126", "status 127", "lull urcu: ", "cannot be preloaded", "stands in for")


def tried(room, look):
    """Return what was seen of a fault, in one of some tries, or nothing."""
    for _ in range(TRIES):
        seen = look(room)
        if seen:
            return f"UNEXPECTED {seen}" if any(sign in seen for sign in NOT_TRIED) else seen
    return ""


def library_of(how, fault):
    library = pathlib.Path(how.build) / f"tests/binary/liblull_urcu_{fault}.so"
    if not library.exists():
        raise Absent(f"there is no {library}: tests are not built there, or there is no liburcu-dev")
    if b"urcu_signal_flavor" not in library.read_bytes():
        raise Absent("the faulty libraries stand in for another liburcu than 0.13, which is what this machine has")
    return library


def run(room, how):
    result = Result()
    sound_prefix = room.prefix
    notes = []
    for fault, finders in FAULTS.items():
        library = library_of(how, fault)
        found = []
        for name, look in finders[:2] if how.short else finders:
            room.prefix = sound_prefix
            sound = look(room)
            if sound:
                result.wrong.append(f"{name}, without the fault: {sound}")
            room.prefix = ["env", f"LD_PRELOAD={library}"]
            seen = tried(room, look)
            result.checked += 1
            if seen.startswith("UNEXPECTED"):
                result.wrong.append(f"{fault}, {name}: {seen}")
            elif seen:
                found.append(name)
        if not found:
            result.wrong.append(f"{fault} is found by none of those that looked")
        notes.append(f"{fault} found by {', '.join(found) or 'none'}")
    result.note = "; ".join(notes)
    return result


CLIENTS = [Client("mutants", RELEASE, "liburcu-dev", ("liburcu-dev",), "both", "faults put into lull on purpose: each is found",
                  run, (), "liburcu", lambda *given: [build(*given) for build in BUILDS], alone=True)]
BUILDS = [lambda *given: torture.build_torture(*given, readers="called"),
          lambda *given: torture.build_torture(*given, readers="inlined"), lambda *given: storm.build(*given, inside=False)]
