# SPDX-License-Identifier: MIT
"""Read lab/limits/limits and judge by it what each operation of lab/limits/ costs. For lab/limits/run."""
import collections
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

COUNTS = ("fences", "futexes", "calls", "allocations")
MANY, FEW = 20, 4  # as in lab/limits/operations.c
LOWER_FROM = 3  # so many instructions less than the limit ask for a lower one
LIMIT_S = 900
# The line of qemu's log for one instruction: [cs_base/pc/flags/cflags] and the function.
STEP = re.compile(r"^Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/\S+\] *(\S*)")

Limits = collections.namedtuple("Limits", "compilers rows")  # {machine: compiler}, {operation: {column: figure or None}}
# `result` is kept, lower (kept, and the limit can be lowered) or missed.
Result = collections.namedtuple("Result", "operation what figure limit result why")
Skipped = collections.namedtuple("Skipped", "what count why")


class Wrong(Exception):
    """The goals, the limits, or the instruments, are not as this script expects them."""


class Absent(Exception):
    """It cannot be measured here."""


# ---- the limits ----------------------------------------------------------------------------------

def read_limits(text):
    compilers, columns, rows = {}, None, {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "compiler" and len(words) == 4 and columns is None:
            compilers[words[1]] = " ".join(words[2:])
        elif words[0] == "operation" and columns is None:
            columns = words[1:]
            if columns != [*compilers, *COUNTS]:
                raise Wrong(f"limits:{number}: the columns are not {' '.join([*compilers, *COUNTS])}")
        elif columns and len(words) == len(columns) + 1 and words[0] not in rows and all(map(is_figure, words[1:])):
            rows[words[0]] = {column: None if word == "-" else float(word) for column, word in zip(columns, words[1:])}
        else:
            raise Wrong(f"limits:{number}: '{line.strip()}' is no line of limits")
    if not rows:
        raise Wrong("limits: no operation has limits")
    return Limits(compilers, rows)


def is_figure(word):
    return word == "-" or re.fullmatch(r"\d+(\.\d+)?", word) is not None


def figure(value):
    return "-" if value is None else f"{round(value, 4):g}"


def noted(text, measured, machines):
    """The text of limits with what was @measured instead: {operation: {column: figure}}, of all @machines."""
    limits = read_limits(text)
    columns = [*limits.compilers, *COUNTS]
    head = text[:re.search(r"^operation", text, re.MULTILINE).start()]
    rows = [["operation", *columns]]
    for name, figures in measured.items():
        old = limits.rows.get(name, {})
        rows.append([name, *(figure(figures.get(c) if c in COUNTS or c in machines else old.get(c)) for c in columns)])
    widths = [max(len(row[i]) for row in rows) for i in range(len(columns) + 1)]
    lines = [row[0].ljust(widths[0]) + "".join("  " + cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))
             for row in rows]
    return head + "\n".join(lines) + "\n"


# ---- judging -----------------------------------------------------------------------------------

def judge_calls(limits, measured):
    """Exactly so many. @measured: {operation: {column: figure, "numbers": [of other system calls]}}"""
    for name, figures in measured.items():
        for what in COUNTS:
            limit, counted = limits.rows[name][what], figures[what]
            why = f"numbers {figures['numbers']}" if what == "calls" and figures["numbers"] else ""
            result = "kept" if limit is not None and abs(counted - limit) < 0.001 else "missed"
            yield Result(name, what, counted, limit, result, why)


def judge_instructions(limits, machine, measured):
    """Check that the instructions are not more than the limits, and not far fewer."""
    for name, row in limits.rows.items():
        if row[machine] is not None and name not in measured:
            raise Wrong(f"limits: instructions of '{name}' on {machine} are not counted")
    for name, counted in measured.items():
        limit = limits.rows[name][machine]
        if limit is None:
            yield Result(name, f"instructions on {machine}", counted, limit, "missed", "it has no limit")
            continue
        result = "missed" if counted > limit + 0.01 else "lower" if counted <= limit - LOWER_FROM else "kept"
        yield Result(name, f"instructions on {machine}", counted, limit, result, "")


def check_names(limits, names, where):
    for name in names:
        if name not in limits.rows:
            raise Wrong(f"'{name}' of {where} has no line in limits: lab/limits/run --note writes it")
    for name in limits.rows:
        if name not in names:
            raise Wrong(f"limits: there is no operation '{name}' in {where}")


def is_compiler(limits, machine, compiler):
    return re.match(re.escape(limits.compilers[machine]) + r"\b", compiler) is not None


# ---- measuring ---------------------------------------------------------------------------------

def output(*command):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except FileNotFoundError as err:
        raise Wrong(f"there is no {err.filename}") from err
    if done.returncode != 0:
        raise Wrong(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done


def parsed(text, command):
    try:
        return json.loads(text)
    except ValueError as err:
        raise Wrong(f"{command} has printed no JSON: {err}") from err


def less_the_loop(instructions):
    """Subtract the loop that repeats an operation."""
    return {name: counted - instructions["nothing"] for name, counted in instructions.items()}


def counted_here(program, *options):
    """Give the program's own report, the calls of each operation, and the instructions of those that are short."""
    report = parsed(output(program, *options).stdout, program)
    calls = {row["name"]: {**{what: row[what] / row["times"] for what in COUNTS}, "numbers": row["numbers"]}
             for row in report["operations"]}
    steps = {row["name"]: row["instructions"] for row in report["operations"] if row["instructions"] is not None}
    return report, calls, less_the_loop(steps) if "nothing" in steps else {}


def counts_of_log(lines, names):
    """Instructions of each operation: the log has one line for each, and three calls of mark() for each operation."""
    counts, seen, start = [], 0, None
    for line in lines:
        step = STEP.match(line)
        if not step:
            continue
        if step[2] == "mark":
            start = start or step[1]
            if step[1] == start:
                counts.append(seen)
        seen += 1
    if len(counts) != 3 * len(names):
        raise Wrong(f"the emulator's log has {len(counts)} marks, and 3 for each of {len(names)} operations are expected")
    parts = [counts[i:i + 3] for i in range(0, len(counts), 3)]
    return less_the_loop({name: ((c - b) - (b - a)) / (MANY - FEW) for name, (a, b, c) in zip(names, parts)})


def counted_in_emulator(program, root="/usr/aarch64-linux-gnu"):
    """Instructions for aarch64 on another machine, by qemu's log of single steps."""
    emulator = shutil.which("qemu-aarch64")
    if not emulator:
        raise Absent("there is no qemu-aarch64")
    qemu = [emulator, "-L", root]
    names = output(*qemu, program, "--names").stdout.split()
    about = parsed(output(*qemu, program, "--about").stdout, program)
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        # Log the code of the program and of lull, not of the C library. It is at the same address each time.
        steps = [*qemu, "-singlestep", "-d", "exec,nochain", "-dfilter", ",".join(about["code"]), "-D", log]
        if parsed(output(*steps, program, "--marked").stdout, program) != about:
            raise Absent("the program is elsewhere each time")
        with open(log, encoding="ascii", errors="replace") as lines:
            return about, counts_of_log(lines, names)


def instructions_of(limits, machine, count):
    """Give what @count counts on @machine, or why it says nothing about the limits."""
    report, steps = count()
    if not is_compiler(limits, machine, report["compiler"]):
        raise Absent(f"other compiler: {report['compiler']}, and the limits are for {limits.compilers[machine]}")
    if not report["optimised"]:
        raise Absent("not optimised")
    if not steps:
        raise Absent("no single steps here")
    return steps


def is_older(program, root):
    """Was @program, or the library that it uses, built before the source in @root changed?"""
    built = [program, *program.parents[2].glob("aarch64/prefix/lib/liblull.so")]
    source = [path for folder in ("src", "include", "lab/limits") for path in (root / folder).rglob("*.[ch]")]
    return max((path.stat().st_mtime for path in source), default=0) > max(path.stat().st_mtime for path in built)


def counted_beside(build, root):
    program = build.parent / "lab-aarch64/limits/operations"
    if not program.is_file():
        raise Absent(f"there is no {program}: scripts/check builds it")
    if is_older(program, root):
        raise Absent(f"{program} is older than the source: scripts/check builds it")
    return counted_in_emulator(program)


def judge_operations(limits, build, judged=True, calls_only=False):
    """
    Count in @build, and for aarch64 beside it. Give results, what was skipped, what was measured, and on which machines
    its instructions. Not @judged: operations may be new or gone, and there are no results.
    """
    report, calls, steps = counted_here(build / "limits/operations", *(["--calls"] if calls_only else []))
    if judged:
        check_names(limits, calls, build)
    here = "aarch64" if report["machine"] == "aarch64" else "x86_64"
    sources = {"aarch64": lambda: counted_beside(build, pathlib.Path(__file__).resolve().parents[2]), here: lambda: (report, steps)}
    results, skipped, measured, machines = list(judge_calls(limits, calls)) if judged else [], [], {**calls}, []
    for machine in () if calls_only else limits.compilers:
        try:
            if machine not in sources:
                raise Absent("this is another machine")
            steps = instructions_of(limits, machine, sources[machine])
        except Absent as why:
            count = sum(row[machine] is not None for row in limits.rows.values())
            skipped.append(Skipped(f"instructions on {machine}", count, str(why)))
            continue
        machines.append(machine)
        for name, counted in steps.items():
            measured[name] = {**measured[name], machine: counted}
        if judged:
            results += judge_instructions(limits, machine, steps)
    return results, skipped, measured, machines
