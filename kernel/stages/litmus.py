# SPDX-License-Identifier: MIT
"""Models of the kernel forms, kernel/model/*.litmus, under the memory model that comes with the kernel's source."""
import litmus
from stage import Stage, Wrong, columns


def table(_consoles):
    model, why = litmus.memory_model(None)
    herd, no_herd = litmus.herd7() if model else (None, None)
    if not herd:
        raise Wrong(why or no_herd)
    verdicts = litmus.run(herd, model, [])
    rows = [("model", "fault", "")]
    rows += [(name, what or "as it is", wrong or ("reached" if what else "Never")) for name, what, wrong in verdicts]
    yield "Never: what must not happen does not. With each fault it does."
    yield ""
    yield from columns(rows, right=False)
    if failed := [f"{name}: {wrong}" for name, _, wrong in verdicts if wrong]:
        raise Wrong("; ".join(failed[:3]))


STAGE = Stage(title="Models under LKMM", boots=[], table=table)
