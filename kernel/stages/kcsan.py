# SPDX-License-Identifier: MIT
"""All patches and modules in a kernel that reports data races (KCSAN).

Without lockdep, which KCSAN does not look into. The kernel itself has races that are known or accepted: its timers write
plainly what sleepers read. A race fails the stage if one of the two accesses is made by a function of a patch or a module of
ours; the others are listed. Two mistakes are made on purpose, and must be reported as ours.
"""
import races
import sweep
from stage import Boot, Stage, Wrong

PROVOKED = {"race": "data-race in provoke_race", "order": "data-race in provoke_order"}
ON = "echo on >/sys/kernel/debug/kcsan || echo '@@ fail no KCSAN'\n"


def table(consoles):
    console = consoles["boot"]
    yield from sweep.lines(console, with_lockdep=False)
    ours = [race for race in races.parse(console) if race.ours()]
    made = [race for race in ours if race.made_on_purpose()]
    rest = [race for race in ours if race not in made]
    others = {race.text() if race.called_by_ours() else race.title for race in races.parse(console) if not race.ours()}
    if missing := [kind for kind, title in PROVOKED.items() if not any(race.title.startswith(title) for race in made)]:
        raise Wrong(f"KCSAN does not report, as one of ours, the race of: {', '.join(missing)}")
    yield f"Races that were made on purpose, and reported: {', '.join(race.title for race in made)}"
    yield f"Other races in which a function of the patches or modules makes an access: {len(rest)}"
    yield from (f"  {race.text()}" for race in rest)
    yield f"Races of the kernel's own functions, which do not count (behind them: what calls them, or was interrupted): {len(others)}"
    yield from (f"  {text}" for text in sorted(others))
    if rest:
        raise Wrong("; ".join(race.text() for race in rest[:3]))


STAGE = Stage(
    title="All of it in a kernel with KCSAN: strict, with interrupts and a model of weak memory",
    boots=[Boot(ON + sweep.script(10, with_lockdep=False) + sweep.provoke(PROVOKED), cpus=2, memory_mb=1024, limit_s=900, expected="BUG: KCSAN: data-race")],
    table=table,
    config=("kcsan",),
    modules=sweep.MODULES,
    programs=sweep.PROGRAMS,
)
