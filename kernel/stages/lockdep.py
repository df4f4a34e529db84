# SPDX-License-Identifier: MIT
"""lockdep_unregister_key(): replace the discipline "mq" of a device with 96 queues, with each of three ways to wait."""
from stage import COUNTED, Boot, Stage, Wrong, columns, pairs, said
from tree import HERE

QUEUES, REPLACEMENTS, GOAL = 96, 10, 10
WAITS = {"2": "synchronize_rcu()", "1": "synchronize_rcu_expedited()", "0": "synchronize_shazptr()"}  # lockdep.key_wait


def script():
    return f"QUEUES={QUEUES} REPLACEMENTS={REPLACEMENTS}\n" + (HERE / "guest/lockdep-mq.sh").read_text(encoding="utf-8")


def table(consoles):
    console = consoles["icount"]
    once = {pairs(words)["wait"]: int(pairs(words)["us"]) / 1000 for words in said(console, "once")}
    rows = [("lockdep waits by", "ms per replacement", "CAL per replacement", "the command alone, ms")]
    took = {}
    for row in (pairs(words) for words in said(console, "replace")):
        wait, count = row["wait"], int(row["count"])
        took[wait] = int(row["us"]) / count / 1000
        rows.append((WAITS[wait], f"{took[wait]:.2f}", f"{int(row['cal']) / count:.1f}", f"{once[wait]:.2f}"))
    if set(took) != set(WAITS):
        raise Wrong("the guest did not replace what it should")
    yield COUNTED
    yield f"tc qdisc replace dev mq0 root handle N: mq, {QUEUES} queues: {REPLACEMENTS} in one batch of tc, and one alone"
    yield ""
    yield from columns(rows)
    yield ""
    times = took["2"] / took["0"]
    yield f"synchronize_rcu() / synchronize_shazptr(): {times:.1f} (goal: {GOAL})"
    if times < GOAL:
        raise Wrong(f"a replacement is {times:.1f} times as fast as with RCU, not {GOAL}")


STAGE = Stage(title="lockdep: unregister the lock classes of 96 queues", config=("lockdep",), commands=("tc", "ip"),
              boots=[Boot(script(), name="icount", cpus=2, icount=True, limit_s=600)], table=table)
