# SPDX-License-Identifier: MIT
"""The stages that scripts/check runs, in the order of the table, and what judges them. See the usage in scripts/check.

A stage is built while those before it are tested, at the lowest priority. It has failed when a command of it fails, when a
test fails or is skipped without a reason, when fewer tests ran than the table says, or when it did not run. The output of
a stage is in build/check/STAGE.log.
"""
import argparse
import collections
import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
import xml.etree.ElementTree

# least: so many tests there are, at least, with some room; raise it when a stage gets more. sources: once it has passed,
# the stage runs again when any of these has changed. junit: where CTest leaves its results; without, the tests' last
# line is "N passed, N failed, N skipped". needs: a purpose of scripts/setup. beside: runs beside all others, when
# everything is built.
Stage = collections.namedtuple("Stage", "name least sources build test junit needs beside", defaults=("", "", "tests", False))
LIBRARY = "CMakeLists.txt CMakePresets.json cmake include src"
BELOW = {"tool": " tests", "lab": " tool tests README.md docs", "urcu": " tool tests"}  # what a yard needs beside the library


def build(preset, folder=".", prefix=""):
    """Build a yard and, where others stand on it, install it into build/PRESET/prefix."""
    return f"(cd {folder}; cmake --preset {preset}; cmake --build --preset {preset})\n" + \
        f"cmake --install build/{prefix}{preset} --prefix build/{preset}/prefix\n" * (folder in (".", "tool"))


def library(preset, least, more="", needs="tests"):
    return Stage(preset, least, f"{LIBRARY} tests examples {more}", build(preset), f"ctest --preset {preset}",
                 f"build/{preset}/ctest.xml", needs)


def yard(name, preset, least, before=""):
    before = f"test -e build/{preset}/prefix || {{ echo 'run the stage {preset} first'; exit 1; }}\n" + before
    if name == "urcu" and preset == "release":
        before += build("release", "tool", "tool-")
    return Stage(f"{name}-{preset}", least, f"{LIBRARY} {name}{BELOW[name]}", before + build(preset, name, f"{name}-"),
                 f"cd {name}; ctest --preset {preset}", f"build/{name}-{preset}/ctest.xml")


STAGES = [
    library("dev", 268, "docs scripts README.md CONTRIBUTING.md tool lab urcu proof kernel"),
    library("asan", 147),
    library("tsan", 146),
    library("release", 170),
    library("clang-asan", 147, needs="clang"),
    library("clang-tsan", 146, needs="clang"),
    library("aarch64", 130, needs="aarch64"),
    # Another libc: the library, and static examples.
    Stage("musl", 20, f"{LIBRARY} examples urcu/CMakeLists.txt tests/install/with-musl", "", "tests/install/with-musl", needs="musl"),
    # The headers in each language, and programs outside of the project that use what is installed.
    Stage("dev-outside", 85, f"{LIBRARY} tests examples", "", "ctest --preset dev-outside", "build/dev/ctest-outside.xml"),
    yard("tool", "dev", 8),
    yard("tool", "asan", 7),
    yard("lab", "dev", 30),
    yard("lab", "asan", 30),
    yard("lab", "tsan", 30),
    yard("lab", "release", 106, build("release", "tool", "tool-")),
    yard("lab", "clang-asan", 4),
    *(yard("urcu", preset, least) for preset, least in {"dev": 90, "asan": 25, "tsan": 16, "release": 75, "clang-asan": 25,
                                                        "aarch64": 13}.items()),
    # Programs written elsewhere, on what stands in for liburcu; half a minute, without the network.
    Stage("clients", 4, f"{LIBRARY} urcu", "", "urcu/clients/run --short --offline --lull", needs="clients"),
    # The cost of each operation, counted; also that of the build for aarch64.
    Stage("limits", 480, f"{LIBRARY} lab tool", f"test ! -e build/aarch64/prefix || {build('aarch64', 'lab')}", "lab/limits/run --counted"),
    # Its own tests; the form of patches; its modules, where there are headers of a kernel.
    Stage("kernel", 70, "kernel scripts/kernel", "", "scripts/kernel check"),
    Stage("proof", 4, f"{LIBRARY} proof tests docs examples urcu tool lab", "", "proof/run check"),
    # Ten slips of a careless maintainer, by chance.
    Stage("slips", 10, f"{LIBRARY} proof tests urcu tool lab", "", "proof/run slips --sample 10"),
    # Five promises that are broken, by chance, for the test that is named.
    Stage("promises", 5, f"{LIBRARY} proof tests", "", "proof/run promises --sample 5"),
    Stage("models", 800, f"{LIBRARY} proof urcu", "", "proof/run models", needs="models", beside=True),
]
QUICK = ["dev", "asan", "proof"]  # three minutes on two processors after a change of src/
# A stage that uses what another one has built and installed is not remembered as passed where that one is not.
STANDS_ON = {f"{name}-{preset}": preset for name in BELOW for preset in
             "dev asan tsan release clang-asan clang-tsan aarch64".split()}
STANDS_ON.update({"dev-outside": "dev", "clients": "urcu-release", "limits": "lab-release"})

# Failures that no second run excuses: found by chance, and a fault of the code at any time. A test that fails leaves threads
# and memory behind, which is no finding.
FOUND = re.compile(r"(Address|Memory|UndefinedBehavior)Sanitizer:|ThreadSanitizer: (?!thread leak|reported )|runtime error:|uninitialised value"
                   r"|Invalid (read|write)")
LEFT, FAILED = re.compile(r"(Leak|Thread)Sanitizer:"), re.compile(r"^\[  FAILED  \]", re.M)
FOUND_BY = re.compile(r"torture_(?!busted_)")


def ending(status):
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"


class Verdict:
    """passed: how many; skips: [(test, why)]; failures: lines; said: {test that failed: its output}"""

    def __init__(self):
        self.passed, self.skips, self.failures, self.said, self.unsteady = 0, [], [], {}, False
        self.whole = 0  # skips of tests that CTest counts, not of functions inside

    def read_junit(self, path):
        try:
            cases = list(xml.etree.ElementTree.parse(path).iter("testcase"))
        except (OSError, xml.etree.ElementTree.ParseError) as error:
            self.failures.append(f"no results of tests: {error}")
            return
        for case in cases:
            name, text, status = case.get("name"), case.findtext("system-out") or "", case.get("status")
            function, whole = "", [""] + re.findall(r"^skipped: (.+)$", text, re.M)
            skipped = case.find("skipped")
            if status == "notrun" and skipped is not None and skipped.get("message", "").startswith("SKIP_"):
                self.skips.append((name, whole[-1]))
                self.whole += 1
            elif status != "run":
                self.failures.append(f"{name}: {'failed' if status == 'fail' else f'did not run ({status})'}")
                self.said[name] = text
            else:
                self.passed += 1
                for line in text.split("\n"):  # of functions in programs of tests, and in unittest scripts
                    begins = re.match(r"\[ RUN +\] (\w+)|((?:test_|setUpClass)\w*) \(", line)
                    function = begins.group(1) or begins.group(2) if begins else function
                    why = re.search(r"^skipped: (.*)$|(?:^|\.\.\. )skipped ['\"](.*)['\"]$", line)
                    if why:
                        self.skips.append((f"{name} {function}".strip(), (why.group(1) or why.group(2) or "").strip()))

    def read_line(self, text, status):
        """'12 passed, 0 failed, 3 skipped' at the end, and lines 'skipped: WHAT: WHY', or 'skipped WHAT, 3 runs: WHY'."""
        lines = re.findall(r"(?:^|: )(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\b", text, re.M)
        self.passed, failed, skipped = [int(number or 0) for number in lines[-1]] if lines else (0, 0, 0)
        self.failures += [f"no closing line with what passed, {ending(status)}"] * (not lines) + [f"{failed} failed"] * (failed > 0)
        for what, runs, why in re.findall(r"^skipped:? ([^:\n]+?)(?:, (\d+) runs)?: (.*)$", text, re.M):
            self.skips += [(what, why.strip())] * int(runs or 1)
        self.skips += [("one that has no name", "")] * (skipped - len(self.skips))
        self.whole = len(self.skips)

    def close(self, status, least):
        self.failures += [f"{what}: skipped, and does not say why" for what, why in self.skips if not why]
        if status not in (0, 77) and not self.failures:  # 77: nothing could be run, which least knows
            self.failures.append(ending(status))
        if not self.failures and self.passed + self.whole < least:
            self.failures.append(f"{self.passed + self.whole} tests, at least {least} were expected (scripts/stages.py)")
        return self

    def excusable(self):
        return 0 < len(self.failures) == len(self.said) <= 2 and \
            not any(FOUND.search(text) or FOUND_BY.match(name) or LEFT.search(text) and not FAILED.search(text)
                    for name, text in self.said.items())


def key_of(stage):
    """Names what the result of @stage depends on; None: where there is no git."""
    listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard", "--", *stage.sources.split(), "scripts/setup"],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.split(b"\0")
    tools = subprocess.run("cc --version; clang-14 --version; cmake --version; uname -r", shell=True, capture_output=True, check=False)
    key = hashlib.sha256(repr(stage).encode() + tools.stdout)
    for name in sorted({*listed} - {b""}):
        with open(name if os.path.isfile(name) else os.devnull, "rb") as file:
            key.update(name + b"\0" + hashlib.sha256(file.read()).digest())
    return key.hexdigest() if listed != [b""] else None


def without_aslr():
    """ThreadSanitizer of gcc 12 cannot live with more random address bits than this."""
    try:
        with open("/proc/sys/vm/mmap_rnd_bits", encoding="ascii") as file:
            return ["setarch", "--addr-no-randomize"] * (int(file.read()) > 28)
    except OSError:
        return []


class Run:
    def __init__(self, stages):
        self.stages, self.children, self.lock, self.prefix = stages, set(), threading.RLock(), without_aslr()
        self.killed = ""  # by which signal; its handler writes this and no more, so that no child is lost
        self.verdicts, self.built = {}, {}  # built: name -> status
        self.seconds, self.used = collections.Counter(), collections.Counter()  # of a stage's part; used: processor time

    def log(self, name):
        return f"build/check/{name}.log"

    def command(self, name, part, text, nice=False):
        """Run commands of a stage. Their status, and where in the log their output begins."""
        since = time.monotonic()
        with self.lock, open(self.log(name), "ab") as log:
            start = log.tell()
            if self.killed:
                return -signal.SIGTERM, start
            child = subprocess.Popen(["nice", "-n", "19"] * nice + self.prefix + ["bash", "-e", "-o", "pipefail", "-c", text],
                                     stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
            self.children.add(child)
        for how, patience in ((None, None), (signal.SIGTERM, 5), (signal.SIGKILL, None)):
            end = time.monotonic() + (patience or 1e9)
            if how and not self.ended(child, name, part):
                os.killpg(child.pid, how)
            while not self.ended(child, name, part) and time.monotonic() < end and (how or not self.killed):
                time.sleep(0.1)
        self.seconds[name, part] += time.monotonic() - since
        return child.returncode, start

    def ended(self, child, name, part):
        """Has it ended? Then the processor time of all its children is known."""
        if child.returncode is None:
            pid, status, used = os.wait4(child.pid, os.WNOHANG)
            if pid:
                child.returncode = os.waitstatus_to_exitcode(status)
                self.used[name, part] += used.ru_utime + used.ru_stime
        return child.returncode is not None

    def took(self, name, part):
        return f"{self.seconds[name, part]:.0f} s (cpu {self.used[name, part]:.0f} s)"

    def run_tests(self, stage, least, nice, more="", junit=""):
        verdict = Verdict()
        if junit:
            junit = os.path.abspath(junit)
            more += f" --output-junit '{junit}'"
            if os.path.exists(junit):
                os.remove(junit)
        status, start = self.command(stage.name, "test", stage.test + more, nice)
        if junit:
            verdict.read_junit(junit)
        else:
            with open(self.log(stage.name), encoding="utf-8", errors="replace") as file:
                file.seek(start)
                verdict.read_line(file.read(), status)
        return verdict.close(status, least)

    def test(self, stage, nice=False):
        """Run the tests of a stage that is built, judge them, and print its line."""
        if self.built.get(stage.name):
            verdict = Verdict()
            verdict.failures.append("the build failed")
        else:
            verdict = self.run_tests(stage, stage.least, nice, "", stage.junit)
        if stage.junit and verdict.excusable():
            again = self.run_tests(stage, 0, nice, " --rerun-failed", stage.junit + ".second")
            if again.passed == len(verdict.said) and not again.failures:
                print("".join(f"unsteady: {name} ({stage.name}) failed, and passed when it ran again; {self.log(stage.name)} has both\n"
                              for name in verdict.said), end="")
                verdict.passed, verdict.failures, verdict.said, verdict.unsteady = verdict.passed + again.passed, [], {}, True
        if self.killed:
            return
        self.verdicts[stage.name] = verdict
        print(f"{stage.name:15} {'FAILED' if verdict.failures else 'ok':6} {verdict.passed:4} passed (of {stage.least} or more) "
              f"{len(verdict.failures)} failed {len(verdict.skips):3} skipped, {self.took(stage.name, 'test')}"
              + f", built in {self.took(stage.name, 'build')}" * bool(stage.build), flush=True)
        if verdict.failures and not verdict.said:
            with open(self.log(stage.name), encoding="utf-8", errors="replace") as file:
                verdict.said[self.log(stage.name)] = file.read()
        for name, text in verdict.said.items():  # from the report of a sanitizer on, or the end
            found = FOUND.search(text)
            print(f"--- {stage.name}, {name}:\n{text[found.start():][:12000] if found else text[-12000:]}\n---", flush=True)

    def build_all(self):
        for stage in self.stages:
            self.built[stage.name] = stage.build and self.command(stage.name, "build", stage.build, stage is not self.stages[0])[0]
        for stage in self.stages:
            if stage.beside:
                self.test(stage, nice=True)

    def all(self):
        for name in ["setup"] + [stage.name for stage in self.stages]:
            open(self.log(name), "wb").close()
        if self.command("setup", "test", "scripts/setup " + " ".join(sorted({stage.needs for stage in self.stages})))[0]:
            with open(self.log("setup"), encoding="utf-8", errors="replace") as file:
                return [f"scripts/setup: {file.read().strip()}"]
        builder = threading.Thread(target=self.build_all)
        builder.start()
        for stage in self.stages:
            while stage.name not in self.built and builder.is_alive():
                builder.join(0.2)
            if not stage.beside:
                self.test(stage)
        builder.join()
        return [f"ended by {self.killed}"] * bool(self.killed)


def list_skips(verdicts):
    """One paragraph for each reason: which tests, and in which stages."""
    tests, stages = collections.defaultdict(set), collections.defaultdict(set)
    for name, verdict in verdicts.items():
        for what, why in verdict.skips:
            tests[why].add(what)
            stages[why].add(name)
    for why, names in tests.items():
        print(textwrap.fill(f"skipped: {', '.join(sorted(names))} ({', '.join(sorted(stages[why]))}): {why}", 118,
                            subsequent_indent="    ", break_long_words=False, break_on_hyphens=False))


def main():
    since = time.monotonic()
    parser = argparse.ArgumentParser(prog="scripts/check", description="Build and test all that has changed since it passed.")
    parser.add_argument("stage", nargs="*", help="only these: " + " ".join(stage.name for stage in STAGES))
    parser.add_argument("--quick", action="store_true", help="only " + " ".join(QUICK) + ": for a change of src/")
    parser.add_argument("--again", action="store_true", help="also what has passed, and has not changed since")
    parser.add_argument("--without", action="append", default=[], metavar="STAGE=WHY", help="leave a stage out")
    args = parser.parse_args()
    left_out = dict(text.partition("=")[::2] for text in args.without)
    only = args.stage or (QUICK if args.quick else [stage.name for stage in STAGES])
    if not set(only) <= {stage.name for stage in STAGES}:
        parser.error("no such stage; see --help")
    for name, why in list(left_out.items()):
        if not why.strip() or name not in [stage.name for stage in STAGES]:
            parser.error(f"--without {name}: give STAGE=WHY; stages: {' '.join(stage.name for stage in STAGES)}")
        left_out.update({stage.name: why for stage in STAGES if stage.name in [f"{yard_}-{name}" for yard_ in BELOW]})
    os.makedirs("build/check", exist_ok=True)
    try:
        with open("build/check/passed.json", encoding="utf-8") as file:
            known = json.load(file)
    except (OSError, ValueError):
        known = {}
    wanted = [stage for stage in STAGES if stage.name not in left_out and stage.name in only]
    keys = {stage.name: key_of(stage) for stage in wanted}
    run = Run([stage._replace(test=stage.test + " --again" * (args.again and stage.beside)) for stage in wanted
               if args.again or not keys[stage.name] or known.get(stage.name) != keys[stage.name]])

    def end(number, _):
        run.killed = signal.Signals(number).name

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    failures = run.all() if run.stages else []
    for stage in STAGES:
        verdict, below = run.verdicts.get(stage.name), STANDS_ON.get(stage.name)
        stands = not below or known.get(below) == key_of(next(one for one in STAGES if one.name == below))
        if verdict:
            known[stage.name] = keys[stage.name] if stands and not verdict.failures and not verdict.unsteady else None
    with open("build/check/passed.json", "w", encoding="utf-8") as file:
        json.dump(known, file)
    for stage in run.stages:
        verdict = run.verdicts.get(stage.name)
        failures += [f"{stage.name}: {line}" for line in (verdict.failures if verdict else ["did not run to its end"])]
    list_skips(run.verdicts)
    print("".join([f"skipped: all of {name}: {why}\n" for name, why in left_out.items()] + [f"failed: {line}\n" for line in failures]), end="")
    same = [stage.name for stage in wanted if stage.name not in [one.name for one in run.stages]]
    print(f"as they were when they passed (--again runs them): {', '.join(same)}\n" * bool(same), end="")
    seconds, used = time.monotonic() - since, resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"all of it took {seconds / 60:.1f} min, and {(used.ru_utime + used.ru_stime) / 60:.1f} min of processor time")
    print(f"{sum(verdict.passed for verdict in run.verdicts.values())} passed, {len(failures)} failed, "
          f"{sum(len(verdict.skips) for verdict in run.verdicts.values()) + len(left_out)} skipped", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
