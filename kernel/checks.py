# SPDX-License-Identifier: MIT
"""What scripts/check asks of this folder: seconds, no source of a kernel, no emulator."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import build
import litmus
import tree


def check_patch(path):
    """What is wrong with a patch: its form, and what git says of its hunks."""
    wrong = tree.complain(path)
    if not wrong and shutil.which("git"):
        done = subprocess.run(["git", "apply", "--numstat", str(path)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, check=False, cwd="/")
        if done.returncode:
            wrong = [f"{path.name}: {done.stderr.strip().splitlines()[0]}"]
    return wrong


def runs(tool, word):
    """Does @tool of packaged headers run, and say @word? Those of a newer release need a newer libc, others another CPU."""
    try:
        done = subprocess.run([tool], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False)
    except OSError:
        return False
    return word in done.stdout and "GLIBC" not in done.stdout and done.returncode >= 0


def headers():
    """Build folders of the packaged headers that are here, and a reason if there is none to compile against."""
    found = sorted(pathlib.Path("/usr/src").glob("linux-headers-*/Module.symvers"))
    if not found:
        return [], "no package linux-headers-* is installed"
    for tool in ("make", "gcc"):
        if not shutil.which(tool):
            return [], f"no {tool} here"
    usable, why = [], ""
    for path in found:
        if runs(path.parent / "scripts/basic/fixdep", "Usage") and runs(path.parent / "scripts/mod/modpost", ""):
            usable.append(path.parent)
        else:
            why = f"the tools of {path.parent.name} do not run here"
    return usable, "" if usable else why


def modules():
    return sorted(path.parent for path in build.MODULES.glob("*/Kbuild"))


def check_modules():
    """[(name, what is wrong, why it was skipped)]"""
    folders, why = headers()
    if not folders:
        return [(f"modules/{folder.name}", "", why) for folder in modules()]
    results = []
    for headers_folder in folders:
        for folder in modules():
            name = f"modules/{folder.name} for {headers_folder.name.removeprefix('linux-headers-')}"
            if not fits(folder, headers_folder):
                results.append((name, "", f"needs {needs(folder)}, which these headers lack"))
                continue
            with tempfile.TemporaryDirectory() as into:
                try:
                    build.build_module(folder, headers_folder, pathlib.Path(into) / folder.name)
                    results.append((name, "", ""))
                except tree.Failed as err:
                    results.append((name, str(err), ""))
    return results


def needs(folder):
    """A header that only a patched kernel has, named in the module's Kbuild: "# Needs: include/linux/x.h"."""
    for line in (folder / "Kbuild").read_text(encoding="utf-8").splitlines():
        if line.startswith("# Needs: "):
            return line.removeprefix("# Needs: ").strip()
    return ""


def fits(folder, headers_folder):
    wanted = needs(folder)
    common = pathlib.Path(os.path.realpath(headers_folder / "source")) if (headers_folder / "source").exists() else headers_folder
    return not wanted or (headers_folder / wanted).exists() or (common / wanted).exists()


def check_own():
    """Run kernel/tests. (how many passed, how many failed, [(test, why it was skipped)])"""
    tests = unittest.defaultTestLoader.discover(pathlib.Path(__file__).resolve().parent / "tests")
    done = unittest.TextTestRunner(stream=sys.stdout, verbosity=0).run(tests)
    failed = len(done.failures) + len(done.errors)
    return done.testsRun - failed - len(done.skipped), failed, [(test.id(), why) for test, why in done.skipped]


def check():
    """Print a line for each thing that is wrong or skipped, and the closing line. 1 if anything is wrong."""
    passed, failed, left_out = check_own()
    skipped = len(left_out)
    for test, why in left_out:
        print(f"skipped: {test}: {why}")
    for path in tree.patches():
        wrong = check_patch(path)
        passed, failed = passed + (not wrong), failed + bool(wrong)
        for line in wrong:
            print(line)
    judge = litmus.self_test()
    passed, failed = passed + (not judge), failed + judge
    for name, wrong, why in check_modules():
        passed, failed, skipped = passed + (not wrong and not why), failed + bool(wrong), skipped + bool(why)
        if wrong:
            print(f"{name}: {wrong}")
        elif why:
            print(f"skipped: {name}: {why}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0
