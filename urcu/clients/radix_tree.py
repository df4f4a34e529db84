# SPDX-License-Identifier: MIT
"""Linux's own tests of its xarray, idr and radix tree, which run in user space on liburcu (tools/testing/radix-tree).

Built three times: on liburcu, to be run by `lull urcu` as well; on lull's headers of the same names (source); and with the
kernel's names from lull (kernel), where one header of the tree is replaced. They count their checks, by tens of millions.
"""
import os
import re
import shutil
import subprocess
import time

from client import Client, Result
from debian import Broken
from torture import BUILT, compiler, liburcu, refusal, source_door

RELEASE, PACKAGE = "bookworm", "linux-source-6.1"
TREE = "tools/testing/radix-tree"
PARTS = (TREE, "tools/include", "tools/lib", "tools/arch", "lib", "include/linux", "include/uapi", "include/asm-generic",
         "include/vdso", "arch/x86/include", "arch/x86/lib")
PROGRAMS = ("xarray", "idr-test", "multiorder")
LIMIT_S = 300  # of one program: idr-test takes half a minute of processor time

# Compiled for this tree alone: its own headers lack the first.
SHIM = "#define fallthrough __attribute__((__fallthrough__))\n"
# In the place of the tree's linux/rcupdate.h.
KERNEL_NAMES = """#pragma once
#include <stdlib.h>
#include <unistd.h>
#include <urcu/uatomic.h>
#include <lull/compat/kernel_rcu.h>
static inline void rcu_register_thread(void) { }
static inline void rcu_unregister_thread(void) { }
"""


def unpacked(release, folder):
    """The tree, out of the package's archive."""
    into = folder / "linux"
    if not (into / TREE).exists():
        archive = release.root / "usr/src" / f"{PACKAGE}.tar.xz"
        shutil.rmtree(f"{into}.new", ignore_errors=True)
        os.makedirs(f"{into}.new")
        done = subprocess.run(["tar", "-C", f"{into}.new", "--strip-components=1", "-xf", archive,
                               *(f"{PACKAGE}/{part}" for part in PARTS)], stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise Broken(f"{archive}: {done.stderr.strip()[-300:]}")
        os.replace(f"{into}.new", into)
    return into / TREE


def ways(release, folder):
    """{way: (headers, libraries)}"""
    others, source = liburcu(release, ["urcu"]), source_door()
    # The tree uses uatomic.h of liburcu, which has nothing to do with RCU.
    kernel = [f"-I{folder}/kernel", *source[0][-1:], *others[0]], source[1][1:]
    return {"liburcu": others, "source": source, "kernel": kernel}


def build(release, folder, _):
    tree = unpacked(release, folder)
    (folder / "kernel/linux").mkdir(parents=True, exist_ok=True)
    (folder / "kernel/linux/rcupdate.h").write_text(KERNEL_NAMES, encoding="utf-8")
    (folder / "shim.h").write_text(SHIM, encoding="utf-8")
    for way, (headers, libraries) in ways(release, folder).items():
        words = ["make", "-s", "-C", tree, f"CC={compiler()}", "LDFLAGS=",
                 f"CFLAGS={' '.join(headers)} -I. -I../../include -O2 -g -w -D_LGPL_SOURCE -include {folder}/shim.h",
                 f"LDLIBS=-lpthread {' '.join(libraries)}"]
        for targets in (["clean"], PROGRAMS):
            done = subprocess.run(list(map(str, [*words, *targets])), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, check=False)
            if done.returncode:
                errors = [line for line in done.stdout.splitlines() if "error" in line] or [done.stdout[-300:]]
                raise Broken(f"{way}: {errors[0]}")
        for program in PROGRAMS:
            shutil.copy2(tree / program, folder / f"radix-{way}-{program}")


def judge(program, status, text):
    """(what is wrong, how many answers were checked)"""
    counts = re.findall(r"(\d+) of (\d+) tests passed", text)
    if status != 0 or "BUG" in text or "lull: " in text or any(right != asked for right, asked in counts):
        return f"{program}: status {status}: {text[-300:]}", 0
    if program != "multiorder" and not counts:
        return f"{program}: no numbers: {text[-300:]}", 0
    return "", sum(int(right) for right, _ in counts)


def run_way(room, how, way, client):
    """(result, {program: answers}, {program: seconds})"""
    result, answers, seconds = Result(), {}, {}
    for program in PROGRAMS if not how.short else ("xarray", "multiorder"):
        since = time.monotonic()
        status, text = room.run(BUILT / RELEASE / f"radix-{way}-{program}", client=client, timeout=LIMIT_S)
        seconds[program] = time.monotonic() - since
        result.refused = result.refused or refusal(status, text)
        wrong, answers[program] = judge(program, status, text)
        if wrong:
            result.wrong.append(f"{way}: {wrong}")
        result.checked += answers[program]
    return result, answers, seconds


def run(room, how):
    result, answers, seconds = run_way(room, how, "liburcu", True)
    for way in ("source", "kernel"):
        other, found, times = run_way(room, how, way, False) if room.side == "lull" else (Result(), answers, seconds)
        result.wrong += other.wrong
        result.checked += other.checked
        # How often idr-test checks depends on the time.
        if found["xarray"] != answers["xarray"]:
            result.wrong.append(f"{way}: xarray checked {found['xarray']} answers, and {answers['xarray']} on liburcu's binary")
        result.figures.update({f"{way}: {program}": times[program] for program in times})
    result.figures.update({f"binary: {program}": seconds[program] for program in seconds})
    return result


FIGURES = tuple((f"{way}: {program}", f"{way}: {program}, s", "less") for way in ("binary", "source", "kernel")
                for program in PROGRAMS)

CLIENTS = [Client("radix-tree", RELEASE, PACKAGE, ("liburcu-dev", PACKAGE), "inlined",
                  "Linux's tests of xarray, idr and radix tree; on lull also built on its headers, and with the kernel's names",
                  run, FIGURES, "", build)]
