# SPDX-License-Identifier: MIT
"""lockdep_unregister_key(): replace the discipline "mq" of a device with 96 queues, with each of three ways to wait."""
from stage import EMULATED, Boot, Stage, Wrong, columns, pairs, said
from tree import HERE

QUEUES, REPLACEMENTS, GOAL = 96, 10, 10
WAITS = {"2": "synchronize_rcu()", "1": "synchronize_rcu_expedited()", "0": "synchronize_shazptr()"}  # lockdep.key_wait


def script():
    return f"QUEUES={QUEUES} REPLACEMENTS={REPLACEMENTS}\n" + (HERE / "guest/lockdep-mq.sh").read_text(encoding="utf-8")


def table(consoles):
    console = consoles["boot"]
    once = {pairs(words)["wait"]: int(pairs(words)["us"]) / 1000 for words in said(console, "once")}
    rows = [("lockdep waits by", "ms per replacement", "CAL per replacement", "the command alone, ms")]
    took, cal = {}, {}
    for row in (pairs(words) for words in said(console, "replace")):
        wait, count = row["wait"], int(row["count"])
        took[wait], cal[wait] = int(row["us"]) / count / 1000, int(row["cal"]) / count
        rows.append((WAITS[wait], f"{took[wait]:.1f}", f"{cal[wait]:.1f}", f"{once[wait]:.1f}"))
    if set(took) != set(WAITS):
        raise Wrong("the guest did not replace what it should")
    yield EMULATED
    yield f"tc qdisc replace dev mq0 root handle N: mq, {QUEUES} queues: {REPLACEMENTS} in one batch of tc, and one alone"
    yield ""
    yield from columns(rows)
    yield ""
    # The time is not judged, because it is that of an emulator on a machine that does other things as well.
    yield f"synchronize_rcu() / synchronize_shazptr(): {took['2'] / took['0']:.1f} (goal: {GOAL})"
    if cal["0"] > cal["1"] / 3:
        raise Wrong(f"{cal['0']:.0f} CAL interrupts in a replacement by simple hazard pointers, {cal['1']:.0f} by expedited RCU")


STAGE = Stage(title="lockdep: unregister the lock classes of 96 queues", config=("lockdep",), commands=("tc", "ip"),
              boots=[Boot(script())], table=table)
