# SPDX-License-Identifier: MIT
"""All patches and modules in a kernel that checks itself: locks, RCU, sleeping where nobody may, objects, use after free.

What the kernel reports about itself fails the stage. In the other boot it must report: there each mistake is made once.
"""
import sweep
from stage import Boot, Stage, columns

# Lockdep is off behind what it reports, and behind what KASAN reports. So these come last.
PROVOKED = {
    "sleep": "sleeping function called from invalid context at .*provoke",
    "rcu": "WARNING: suspicious RCU usage",
    "lock": "WARNING: possible circular locking dependency",
    "uaf": "KASAN: slab-use-after-free in provoke_uaf",
}


def table(consoles):
    yield from sweep.lines(consoles["boot"])
    yield "No report of the kernel. It checks: when somebody makes a mistake on purpose, it reports"
    yield from columns(sweep.provocations(consoles["provoked"], PROVOKED), right=False)


STAGE = Stage(
    title="All of it in a kernel with PROVE_LOCKING, PROVE_RCU, DEBUG_ATOMIC_SLEEP, DEBUG_OBJECTS, KASAN",
    boots=[Boot(sweep.script(10), cpus=2, memory_mb=1024, limit_s=900),
           Boot(sweep.provoke(PROVOKED), "provoked", expected="|".join(PROVOKED.values()))],
    table=table,
    config=("lockdep", "prove", "kasan"),
    modules=sweep.MODULES,
    programs=sweep.PROGRAMS,
    commands=sweep.COMMANDS,
)
