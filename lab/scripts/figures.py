# SPDX-License-Identifier: MIT
"""Finds figures in the tables of lab/results/*.txt.

A place is written "1 reader > rcu > ns per section": after a line that has "1 reader" in it, in the row "rcu", in
the column "ns per section" of the table there. Without the first part, the first table with such a column is meant.
"""
import re

CELL = re.compile(r"x?(\d+(?:\.\d+)?)(?: (ns|us|ms|s|B|kB|MB))?(?=$|[ %])")


def cells(line):
    return re.split(r" {2,}", line.strip())


def row_of(line, row):
    """The cells of a line if it is that row; the name may be spread over the first cells."""
    found = cells(line)
    for count in range(1, len(found)):
        if " ".join(found[:count]) == row:
            return found
    return None


def look_up_cell(lines, where):
    """Gives (cell, None), or (None, what is missing)."""
    *section, row, column = [part.strip() for part in where.split(">")]
    at = 0
    if section:
        at = next((i for i, line in enumerate(lines) if section[0] in line and not line.startswith("$")), None)
        if at is None:
            return None, f"no line has '{section[0]}'"
    head = next((cells(line) for line in lines[at:] if column in cells(line)), None)
    if not head:
        return None, f"no column '{column}'"
    found = next((row_of(line, row) for line in lines[at:] if row_of(line, row)), None)
    if not found or len(found) != len(head):
        return None, f"no row '{row}' with that column"
    return found[head.index(column)], None


def look_up(lines, where):
    """Gives ((figure, unit), None), or (None, what is missing)."""
    cell, missing = look_up_cell(lines, where)
    if missing:
        return None, missing
    match = CELL.match(cell)
    if not match:
        return None, f"no figure there but '{cell}'"
    return match.groups(), None
