#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What scripts/kernel does: build a current kernel with the patches beside this, boot it, run the proposals, print tables.

usage: scripts/kernel [STAGE...] [--work DIR] [--out DIR] [--plain] [--keep]
       scripts/kernel --list | fetch | patch | build | check

Without a STAGE: all of them (--list), and DIR/times.txt says how long each took. What a stage needs is done before: the
newest source of Debian's archive is fetched, a tree of it patched, the kernel built for the stage's configuration, and booted
by qemu (with KVM where that works; TCG otherwise, or where the stage's clock counts instructions). Stages run while the next
kernel is built. A stage prints its table and writes it to DIR/STAGE.txt (--out; kernel/results, and with --plain WORK/out). kernel/README.md says
what a stage is.

fetch, patch, build: only so far; build makes the kernels of all stages named beside it, or the base. check: what
scripts/check runs: that patches have the form of patches, and that modules compile against packaged headers.
--work: where sources, builds and consoles are (build/kernel, or $LULL_KERNEL_DIR). --plain: without any patch.
--keep: go on behind a stage that failed.

The last line is "N passed, N failed, N skipped": stages.
"""
import argparse
import concurrent.futures
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True

import build  # noqa: E402 (behind what must come first)
import checks  # noqa: E402
import guest  # noqa: E402
import lanes  # noqa: E402
import tree  # noqa: E402
from stage import Wrong, columns  # noqa: E402
from tree import Failed  # noqa: E402

STEPS = ("fetch", "patch", "build", "check")


def load_stages():
    """{name: Stage} of kernel/stages/, in the order of their names, "early-qs" from early_qs.py."""
    found = {}
    for path in sorted((ROOT / "kernel/stages").glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"stage_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found[path.stem.replace("_", "-")] = module.STAGE
    return found


def say(text):
    print(f"kernel: {text}", file=sys.stderr, flush=True)


class Run:
    def __init__(self, args):
        self.args = args
        self.work = args.work.resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        os.environ["LULL_KERNEL_DIR"] = str(self.work)  # for stages that look into the source
        self.source = None
        self.applied = {}
        self.builds = lanes.Once()
        self.processors = lanes.Processors()
        self.clock = lanes.Clock()
        self.printing = threading.Lock()

    def fetch(self):
        if not self.source:
            self.source = tree.fetch(self.work)
            say(f"source: {self.source} ({self.version()})")
        return self.source

    def version(self):
        note = self.source / "debian-version"
        return note.read_text(encoding="utf-8").strip().removesuffix(".deb") if note.exists() else tree.release_of(self.source)

    def patches(self, only=""):
        return [] if self.args.plain else tree.patches(only=only)

    def tree(self, only=""):
        """The folder of the tree for a choice of patches."""
        chosen = self.patches(only)
        return self.work / ("plain" if not chosen else "tree" if not only else f"tree-{tree.digest(chosen)}")

    def patch(self, only=""):
        source, root = self.fetch(), self.tree(only)
        if root not in self.applied:
            self.applied[root] = tree.update(source, root, self.patches(only))
            count = len(self.applied[root])
            say(f"tree: {root}, {count} patches applied, {len(self.patches(only)) - count} not needed")
        return root

    def about(self, kernel):
        """What a table says of the kernel that it comes from."""
        numbers = " ".join(name[:4] for name in self.applied[kernel.root]) or "none"
        return f"Linux {kernel.release()} ({self.version()}), patches {numbers}, configuration {kernel.name}"

    def kernel(self, what):
        """The kernel of a stage, which is built first, by a thread of its own: a future."""
        return self.builds.ask((self.tree(what.patches), what.config), lambda: self.build(what))

    def build(self, what):
        made = build.Kernel(self.patch(what.patches), what.config)
        seconds = self.clock.time(f"build {made.name}", made.build)
        say(f"build: {made.out}, {seconds:.0f} s")
        return made

    @staticmethod
    def setup():
        if subprocess.run([ROOT / "scripts/setup", "kernel"], stdin=subprocess.DEVNULL, check=False).returncode:
            raise Failed("this machine lacks what a kernel needs")

    def own(self, what):
        """Programs of this repository for the guest, built in their turn: a future."""
        return self.builds.ask(what.own, lambda: self.build_own(what.own))

    def build_own(self, targets):
        if subprocess.run([ROOT / "scripts/setup", "build", "tests"], stdin=subprocess.DEVNULL, check=False).returncode:
            raise Failed("this machine lacks what the library and its tests need")
        return build.own(targets, self.work / "lull")

    def boot(self, name, kernel, boot, first_files):
        """(what the console said, what is wrong) of one run of the guest."""
        with self.processors.taken(1 if boot.icount else boot.cpus):
            console, seconds, late = guest.start(kernel, first_files, boot, first_files.parent / f"{boot.name}.log")
        say(f"{name}: {boot.name}, {seconds:.0f} s ({first_files.parent}/{boot.name}.log)")
        return console, [f"{boot.name}: {line}" for line in guest.judge(console, late, boot)]

    def prepare(self, what, folder):
        """What the guests of a stage are made of: (kernel, modules, programs, own programs, other files)."""
        kernel = self.kernel(what).result()
        folder.mkdir(parents=True, exist_ok=True)
        with kernel.lock:  # another stage makes the same module anew
            modules = [pathlib.Path(shutil.copy(kernel.module(module), folder)) for module in what.modules]
        programs = [build.program(program, folder) for program in what.programs]
        own = self.own(what).result() if what.own else {}
        return kernel, modules, programs, own, {path: ROOT / here for path, here in what.files.items()}

    def stage(self, name, what, prepared, folder):
        """Boot, and write the table of a stage."""
        kernel, modules, programs, own, files = prepared
        consoles, wrong, boots = {}, [], []
        for boot in what.boots:
            first_files = folder / f"{boot.name}.cpio.gz"
            guest.image(self.work, first_files, boot, modules, programs, what.commands, own, files)
            console, bad = self.boot(name, kernel, boot, first_files)
            consoles[boot.name] = f"@@ clock {guest.clock(boot)}\n{console}"
            wrong += bad
            boots.append(f"{boot.name}: {boot.cpus} CPUs, {' '.join(guest.accelerator(boot)[:-2])}")
        if wrong:
            raise Wrong("; ".join(wrong))
        self.write(name, [what.title, "; ".join([self.about(kernel), *boots]), "", *what.table(consoles)],
                   f"scripts/kernel {name}" + " --plain" * self.args.plain)

    def write(self, name, lines, command):
        text = "\n".join(lines) + "\n"
        with self.printing:
            print(text, flush=True)
        self.args.out.mkdir(parents=True, exist_ok=True)
        (self.args.out / f"{name}.txt").write_text(f"$ {command}\n{text}", encoding="utf-8")

    def one(self, name, what, stop):
        """Run a stage. True if it passed, False if not, None if another one had failed before."""
        try:
            if stop.is_set():
                return None
            folder = self.work / "stages" / name
            prepared = self.prepare(what, folder)
            seconds = self.clock.time(f"stage {name}", lambda: self.stage(name, what, prepared, folder))
            say(f"{name}: passed, {seconds:.0f} s")
            return True
        except concurrent.futures.CancelledError:
            return None
        except (Wrong, Failed) as why:
            text = str(why)
        except Exception as why:  # pylint: disable=broad-except  # a line of a console that is torn, a full disk
            text = f"{type(why).__name__}: {why}"
        if not self.args.keep:
            stop.set()
            self.builds.forget()
        with self.printing:
            print(f"{name}: FAILED: {text}", flush=True)
        return False

    def all(self, names, known):
        """Run stages: those of one kernel while the next one is built, as many as there are processors."""
        keys = [(self.tree(known[name].patches), known[name].config) for name in names]
        for key in sorted(set(keys), key=lambda key: (-keys.count(key), keys.index(key))):
            self.kernel(known[names[keys.index(key)]])
            for what in (known[name] for name in names if known[name].own):
                self.own(what)  # behind the first kernel
        order = sorted(range(len(names)), key=lambda at: ([*self.builds.asked].index(keys[at]), at))
        guest.busybox(self.work)  # fetched once, before threads want it
        stop = threading.Event()
        with concurrent.futures.ThreadPoolExecutor(self.processors.count) as pool:
            try:
                ends = list(pool.map(lambda at: self.one(names[at], known[names[at]], stop), order))
            except BaseException:
                stop.set()
                self.builds.forget()
                raise
        failed = ends.count(False)
        if ends.count(True) == len(known):
            self.write("times", list(self.times()), "scripts/kernel")
        print(f"{ends.count(True)} passed, {failed} failed, {ends.count(None)} skipped")
        return 1 if failed else 0

    def times(self):
        """The table of how long everything took."""
        yield f"How long it took, {self.processors.count} processors; kernels are built while stages run, and stages wait for processors"
        yield ""
        yield from columns([("", "seconds"), *((what, f"{seconds:.0f}") for what, seconds in self.clock.took),
                            ("from the beginning to the end", f"{self.clock.whole():.0f}")])


def main():
    known = load_stages()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stages", nargs="*", metavar="STAGE")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path(os.environ.get("LULL_KERNEL_DIR", ROOT / "build/kernel")))
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--keep", action="store_true")
    args = parser.parse_args()
    if args.list:
        print("\n".join(f"{name:14} {what.title}" for name, what in known.items()))
        return 0
    if unknown := [name for name in args.stages if name not in known and name not in STEPS]:
        print(f"scripts/kernel: no stage '{unknown[0]}'; there are: {' '.join([*STEPS, *known])}", file=sys.stderr)
        return 2
    if args.stages == ["check"]:
        return checks.check()
    steps = sorted((name for name in args.stages if name in STEPS), key=STEPS.index)
    if "check" in steps or (steps and steps[-1] != "build" and len(steps) < len(args.stages)):
        print("scripts/kernel: check, fetch and patch go without stages", file=sys.stderr)
        return 2
    names = [name for name in args.stages if name in known] or ([] if steps else list(known))
    args.out = args.out or (args.work.resolve() / "out" if args.plain else ROOT / "kernel/results")
    try:
        Run.setup()
        run = Run(args)
        if steps:
            {"fetch": run.fetch, "patch": run.patch, "build": lambda: build_named(run, known, names)}[steps[-1]]()
            return 0
        return run.all(names, known)
    except Failed as why:
        print(f"scripts/kernel: {why}", file=sys.stderr)
        return 1


def build_named(run, known, names):
    base = next(name for name, what in known.items() if not what.config and not what.patches)
    for name in names or [base]:
        run.kernel(known[name]).result()


if __name__ == "__main__":
    sys.exit(main())
