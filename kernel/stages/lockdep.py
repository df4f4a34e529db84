# SPDX-License-Identifier: MIT
"""lockdep_unregister_key(): replace the discipline "mq" of a device with 96 queues, with each of three ways to wait."""
from stage import Boot, Stage, Wrong, clock, columns, pairs, said
from tree import HERE

QUEUES, REPLACEMENTS, GOAL = 96, 10, 10
WAITS = {"2": "synchronize_rcu()", "1": "synchronize_rcu_expedited()", "0": "synchronize_shazptr()"}  # lockdep.key_wait


def script(queues=QUEUES, replacements=REPLACEMENTS):
    return f"QUEUES={queues} REPLACEMENTS={replacements}\n" + (HERE / "guest/lockdep-mq.sh").read_text(encoding="utf-8")


def measured(console):
    """{wait: (ms of a replacement, CAL interrupts in one, ms of the command alone)}"""
    once = {pairs(words)["wait"]: int(pairs(words)["us"]) / 1000 for words in said(console, "once")}
    found = {}
    for row in (pairs(words) for words in said(console, "replace")):
        count = int(row["count"])
        found[row["wait"]] = int(row["us"]) / count / 1000, int(row["cal"]) / count, once[row["wait"]]
    if set(found) != set(WAITS):
        raise Wrong("the guest did not replace what it should")
    return found


def lines(found):
    rows = [("lockdep waits by", "ms per replacement", "CAL per replacement", "the command alone, ms")]
    rows += [(text, *(f"{value:.1f}" for value in found[wait])) for wait, text in WAITS.items()]
    yield from columns(rows)
    yield f"synchronize_rcu() / synchronize_shazptr(): {found['2'][0] / found['0'][0]:.1f} (goal: {GOAL})"


def table(consoles):
    """Times are not judged: how long the work besides the waits takes is a matter of the emulator."""
    yield f"tc qdisc replace dev mq0 root handle N: mq, {QUEUES} queues: {REPLACEMENTS} in one batch of tc, and one alone"
    yield from ("", clock(consoles["icount"]), "")
    yield from lines(measured(consoles["icount"]))
    yield from ("", clock(consoles["parallel"]), "")
    found = measured(consoles["parallel"])
    yield from lines(found)
    if found["1"][1] > 10 and found["0"][1] > found["1"][1] / 3:  # a CPU that is idle is not interrupted
        raise Wrong(f"{found['0'][1]:.0f} CAL interrupts in a replacement by simple hazard pointers, {found['1'][1]:.0f} by expedited RCU")


# Without these words, the start of the second CPU takes a counting emulator minutes with this kernel.
STAGE = Stage(title="lockdep: unregister the lock classes of 96 queues", config=("lockdep",), commands=("tc", "ip"), table=table,
              boots=[Boot(script(), name="icount", icount=True, append="tsc=reliable lpj=1000000", limit_s=600), Boot(script(), name="parallel")])
