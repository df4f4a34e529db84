# SPDX-License-Identifier: MIT
"""lockdep_unregister_key(): replace the discipline "mq" of a device with 96 queues, by kernels without and with the patch."""
from stage import COUNTED, Boot, Stage, Wrong, columns, pairs, said
from tree import HERE

QUEUES, REPLACEMENTS, GOAL = 96, 10, 10
BEFORE = r"^(?!0003-)"  # all patches but the one that makes lockdep wait by simple hazard pointers


def script():
    return f"QUEUES={QUEUES} REPLACEMENTS={REPLACEMENTS}\n" + (HERE / "guest/lockdep-mq.sh").read_text(encoding="utf-8")


def measured(console):
    """{rcu_normal: (milliseconds of a replacement, CAL interrupts of one, milliseconds of the command alone)}"""
    once = {pairs(words)["normal"]: int(pairs(words)["us"]) / 1000 for words in said(console, "once")}
    found = {}
    for row in (pairs(words) for words in said(console, "replace")):
        count = int(row["count"])
        found[row["normal"]] = int(row["us"]) / count / 1000, int(row["cal"]) / count, once[row["normal"]]
    if sorted(found) != ["0", "1"]:
        raise Wrong("the guest did not replace what it should")
    return found


def table(consoles):
    before, after = measured(consoles["before"]), measured(consoles["after"])
    yield COUNTED
    yield f"tc qdisc replace dev mq0 root handle N: mq, {QUEUES} queues, {REPLACEMENTS} in a batch of tc, and one alone"
    yield ""
    rows = [("lockdep waits by", "ms per replacement", "CAL per replacement", "command alone, ms")]
    for text, (ms, cal, once) in (("synchronize_rcu() (rcu_normal=1)", before["1"]), ("synchronize_rcu_expedited()", before["0"]),
                                  ("synchronize_shazptr(), rcu_normal=1", after["1"]), ("synchronize_shazptr()", after["0"])):
        rows.append((text, f"{ms:.2f}", f"{cal:.1f}", f"{once:.1f}"))
    yield from columns(rows)
    times = before["1"][0] / after["1"][0]
    yield ""
    yield f"synchronize_rcu() / synchronize_shazptr(), both with rcu_normal=1: {times:.1f} (goal: {GOAL})"
    if times < GOAL:
        raise Wrong(f"a replacement is {times:.1f} times as fast as with RCU, not {GOAL}")


STAGE = Stage(title="lockdep: unregister the lock classes of 96 queues", config=("lockdep",), commands=("tc", "ip"),
              boots=[Boot(script(), name="before", cpus=4, icount=True, limit_s=600, patches=BEFORE),
                     Boot(script(), name="after", cpus=4, icount=True, limit_s=600)], table=table)
