# SPDX-License-Identifier: MIT
"""A copy of the tree, in which mutants are built one after the other, and the tests run that must notice."""
import concurrent.futures
import fcntl
import glob
import hashlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, "build", "proof")
YARDS = ("tool", "lab", "urcu")  # projects of their own, on the installed library
COPIED = ("CMakeLists.txt", "CMakePresets.json", "cmake", "include", "src", "tests", "examples", "scripts", "compat", "tools",
          "bench", *YARDS)
AT_A_TIME = 3  # tests of a lane; most of them sleep
TORTURE_SECONDS = 4
ENVIRONMENT = {"full": {"LULL_FENCE": "full"}, "none": {"LULL_OWNER_ORACLE": "none"},
               "norseq": {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}}
OPTIONS = {  # of cmake, for each kind of lane: the compiler must have reordered what it may, or the checks must be there
    "orders": ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS=-w", "-DLULL_BUILD_INSTRUMENTS=ON"],
    "slips": ["-DCMAKE_BUILD_TYPE=Debug", "-DLULL_DEBUG=ON", "-DCMAKE_LINK_DEPENDS_NO_SHARED=ON",
              "-DCMAKE_C_FLAGS=-Werror=incompatible-pointer-types -Werror=int-conversion -Werror=format"],
}
ORACLES = ["-DLULL_ORACLE_BPF=ON", "-DLULL_ORACLE_KERNEL=ON", "-DLULL_ORACLE_SLICE=ON"]  # mutants are in these, too
OPTIONS["sanitized"] = OPTIONS["slips"] + ["-DLULL_SANITIZE=address,leak,undefined"]
REFUSED = re.compile(r"(?<!fatal )\berror: |undefined reference to|multiple definition of")  # by a compiler, or by the linker
RUNNING = set()  # process groups that have to end when this does


def give_up(*_):
    for pid in list(RUNNING):
        kill(pid)
    os._exit(1)


def kill(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def read(path):
    with open(path, "rb") as file:
        return file.read()


def files_below(root):
    """Return the names of the files that are copied, of those that are in @root."""
    names = {top for top in COPIED if os.path.isfile(os.path.join(root, top))}
    for top in COPIED:
        for folder, _, found in os.walk(os.path.join(root, top)):
            names |= {os.path.relpath(os.path.join(folder, n), root) for n in found if not n.endswith(".pyc")}
    return names


def source_of(test):
    """The source of a test of one part, from the root on, or None: "mutex.public.handlers" is tests/mutex/public/handlers.c,
    and "lab_budget" is lab/tests/budget.c."""
    plain = test.partition("@")[0]
    places = ["tests/" + plain.replace(".", "/"), "tests/unit/*/" + plain]
    places += [f"{yard}/tests/{name}" for yard in YARDS for name in (plain.removeprefix(yard + "_"), "*/" + plain)]
    found = [path for place in places for path in glob.glob(os.path.join(ROOT, place + ".c"))]
    return os.path.relpath(found[0], ROOT) if found else None


def yard_of(test):
    """The yard in which this test is, or None: there is none of this name."""
    source = "lab/" if test.startswith("torture:") else source_of(test)
    return source and source.partition("/")[0].replace("tests", ".")


def idea_of_test(name):
    """The idea whose tests this one belongs to, or None: it is no test of a part, or one that takes long."""
    source, how = source_of(name), name.partition("@")[2]
    if not source or (how and how not in ENVIRONMENT):
        return None
    folders = source.split("/")
    return folders[0] if folders[0] in YARDS else "urcu" if folders[1] == "unit" else folders[1]


class Test:
    """A test as CTest runs it; @programs are what has to be built, from @out on."""

    def __init__(self, yard, out, name, command, environment):
        self.yard, self.name, self.command, self.environment = yard, name, command, environment
        self.programs = [os.path.relpath(word, out) for word in command if word.startswith(out + os.sep)]
        self.idea = idea_of_test(name)
        self.seconds = None  # without a mutant; None means: not green then, so it says nothing

    def limit(self, may_hang):
        """How long it may take; a test that waits in vain is red by itself after its PATIENCE_NS, of a minute."""
        return (20 if may_hang else 90) + 10 * self.seconds


def ctests(yard, out, folder):
    """CTest's tests. CTest says the command of a program that is built only, so read what CMake has written for it."""
    path = os.path.join(folder, "CTestTestfile.cmake")
    if not os.path.exists(path):
        return
    text = read(path).decode()
    for name, command in re.findall(r"^add_test\(\[=\[(.*?)\]=\] (.*)\)$", text, re.M):
        said = re.search(rf'^set_tests_properties\(\[=\[{re.escape(name)}\]=\] PROPERTIES .*?\bENVIRONMENT "([^"]*)"', text, re.M)
        yield Test(yard, out, name, re.findall(r'"((?:[^"\\]|\\.)*)"', command),
                   dict(v.split("=", 1) for v in said.group(1).split(";") if v) if said else {})
    for below in re.findall(r'^subdirs\("(.*)"\)$', text, re.M):
        yield from ctests(yard, out, os.path.join(folder, below))


class Lane:
    """A copy of the tree, and its builds."""

    def __init__(self, kind, number=0):
        self.kind, self.folder = kind, os.path.join(BUILD, f"{kind}-{number}")
        self.tree, self.prefix = os.path.join(self.folder, "tree"), os.path.join(self.folder, "prefix")
        self.before = ["setarch", "--addr-no-randomize"] if kind == "sanitized" else []
        self.tests, self.good, self.yards, self.lock = {}, {}, ["."], None

    # ---- building ----

    def out(self, yard="."):
        return os.path.join(self.folder, "out" if yard == "." else "out-" + yard)

    def copy(self):
        """Copy what has changed since the last time; programs that are up to date stay so."""
        wanted = files_below(ROOT)
        for name in files_below(self.tree) - wanted:
            os.remove(os.path.join(self.tree, name))
        for name in sorted(wanted):
            self.put(name, read(os.path.join(ROOT, name)), os.path.join(ROOT, name))

    def put(self, name, content, like=None):
        target = os.path.join(self.tree, name)
        if not os.path.exists(target) or read(target) != content:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(content)
            if like:
                shutil.copymode(like, target)

    def configure(self, yard):
        subprocess.run(["cmake", "-S", os.path.join(self.tree, yard), "-B", self.out(yard), "-G", "Ninja", "-DLULL_BUILD_TESTS=ON",
                        "-DLULL_TEST_CXX=OFF", "-DLULL_BUILD_EXAMPLES=OFF", f"-DCMAKE_PREFIX_PATH={self.prefix}", *ORACLES, *OPTIONS[self.kind]],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.tests.update((test.name, test) for test in ctests(yard, self.out(yard), self.out(yard)))

    def open(self, yards=()):
        """Make the copy as the tree is, and find the tests of the library and of these @yards. Their tests need the tool."""
        os.makedirs(self.folder, exist_ok=True)
        self.lock = open(os.path.join(self.folder, "lock"), "w", encoding="utf-8")  # while this process lives
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"proof: another run is at work in {self.folder}")
        self.copy()
        self.configure(".")
        wanted = [yard for yard in YARDS if (yard in yards or yard == "tool" and set(yards) & set(YARDS))
                  and os.path.exists(os.path.join(self.tree, yard, "CMakeLists.txt"))]
        if wanted:
            self.must_build([])
            self.install(".")
        for yard in wanted:
            self.configure(yard)
            self.yards.append(yard)
            if yard == "tool":
                subprocess.run(["ninja", "-C", self.out(yard), "-j2"], check=True, stdout=subprocess.DEVNULL)
                self.install(yard)

    def install(self, yard):
        subprocess.run(["cmake", "--install", self.out(yard), "--prefix", self.prefix], check=True, stdout=subprocess.DEVNULL)

    def torture(self, flavor):
        """A few seconds of `lull-lab torture`, as a test."""
        yard, program = ("lab", "lull-lab") if "lab" in self.yards else (".", "tools/lull/lull")
        return Test(yard, self.out(yard), "torture:" + flavor, [os.path.join(self.out(yard), program), "torture", "--flavor", flavor,
                                                                 "--seconds", str(TORTURE_SECONDS)], {})

    def find(self, name):
        """The test of this name, "NAME@full" with one more variable, "NAME:TEST" of a file's tests that one, or None. Kept, for
        it is measured."""
        if name not in self.tests:
            plain, _, how = name.partition("@")
            file, _, only = plain.partition(":")
            if only and file in self.tests:
                test = self.tests[file]
                self.tests[plain] = Test(test.yard, self.out(test.yard), plain, test.command + ["--only", only], test.environment)
            if plain.startswith("torture:"):
                self.tests[plain] = self.torture(plain.partition(":")[2])
            if not how or plain not in self.tests:
                return self.tests.get(plain)
            test = self.tests[plain]
            self.tests[name] = made = Test(test.yard, self.out(test.yard), name, test.command, {**test.environment, **ENVIRONMENT[how]})
            made.idea = None  # no test of CTest's
        return self.tests[name]

    def build(self, names):
        """Build what these tests run; return what went wrong, or None."""
        wanted = {yard: {p for name in names if self.tests[name].yard == yard for p in self.tests[name].programs} for yard in self.yards}
        for yard in self.yards:
            if yard == "." or wanted[yard]:
                targets = sorted(wanted[yard]) + (["lull", "lull_static"] if yard == "." else [])
                run = subprocess.run(["ninja", "-C", self.out(yard), "-j2"] + targets, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True, check=False)
                if run.returncode:
                    return run.stdout
            if yard == "." and any(wanted[other] for other in self.yards[1:]):
                self.install(".")
        return None

    def must_build(self, names):
        if self.build(names):  # what a run that was killed has left behind, perhaps
            for yard in self.yards:
                shutil.rmtree(self.out(yard))
                self.configure(yard)
                if yard == ".":
                    self.build([])
                    self.install(yard)
        if error := self.build(names):
            sys.exit(f"proof: the tree does not build without a mutant:\n{error[-3000:]}")

    def hash(self, test):
        """A hash of the test's programs, and of the shared libraries they may be linked with."""
        paths = [os.path.join(self.out(test.yard), p) for p in test.programs] + [os.path.join(self.out(), "src", "liblull.so")]
        paths += glob.glob(os.path.join(self.out("urcu"), "source", "liblull-urcu.so"))
        return [hashlib.sha256(read(os.path.realpath(path))).hexdigest() for path in paths]

    def prepare(self, names, measured=None):
        """Build these tests without a mutant, and see which are green, and how long they take; or take that from another lane."""
        self.must_build(names)

        def one(name):
            test = self.tests[name]
            self.good[name] = self.hash(test)
            if measured:
                test.seconds = measured.tests[name].seconds
                return
            began = time.time()
            if self.run(test, 300, threading.Event()) == "green":
                test.seconds = time.time() - began
            else:
                print(f"{name} is not green without a mutant, and says nothing of one", flush=True)
        with concurrent.futures.ThreadPoolExecutor(self.at_a_time()) as pool:
            list(pool.map(one, sorted(names)))

    # ---- running ----

    def at_a_time(self):
        return 1 if self.kind == "orders" else AT_A_TIME  # a starved test hangs for no mutant's sake

    def run(self, test, limit, over):
        """"red", "green", "hangs", or None when it is @over."""
        def bounds():
            if not self.before:  # shadow memory would count
                resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        began = time.time()
        with subprocess.Popen(self.before + test.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              stdin=subprocess.DEVNULL, env={**os.environ, **test.environment}, start_new_session=True,
                              cwd=self.out(), preexec_fn=bounds) as run:
            RUNNING.add(run.pid)
            try:
                while run.poll() is None and time.time() - began < limit and not over.is_set():
                    time.sleep(0.02)
                status = run.poll()
            finally:
                RUNNING.discard(run.pid)
                kill(run.pid)
        if status is None:
            return None if over.is_set() else "hangs"
        return "red" if status else "green"

    def judge(self, mutant, groups):
        """(verdict, what noticed): the verdict of a ledger. A group of tests is built when those before did not notice."""
        differs = False
        try:
            for names in groups:
                self.put(mutant.file, mutant.apply().encode())
                if said := self.build(names):
                    if not REFUSED.search(said):
                        sys.exit(f"proof: {mutant.name}: no compiler refuses it, and it does not build:\n{said[-3000:]}")
                    return "refused", "-"
                changed = [name for name in names if self.hash(self.tests[name]) != self.good[name]]
                differs = differs or bool(changed)
                if noticed := self.run_all(changed, mutant):
                    return "red", noticed + (" sanitized" if self.kind == "sanitized" else "")
            return ("green" if differs else "same"), "-"
        finally:
            self.put(mutant.file, mutant.source.text.encode())

    def noticed_by(self, mutant, names):
        """Those of the tests @names that notice, each for itself; None: it does not compile, or changes no program."""
        try:
            self.put(mutant.file, mutant.apply().encode())
            if self.build(names):
                return None
            changed = [name for name in names if self.hash(self.tests[name]) != self.good[name]]
            with concurrent.futures.ThreadPoolExecutor(self.at_a_time()) as pool:
                said = dict(zip(changed, pool.map(
                    lambda name: self.run(self.tests[name], self.tests[name].limit(mutant.may_hang), threading.Event()), changed)))
            return [name for name in changed if said[name] != "green"] if changed else None
        finally:
            self.put(mutant.file, mutant.source.text.encode())

    def is_slow(self, mutant, name):
        """Does test @name hang without the mutant, too, as long as the machine is as busy as it is?"""
        self.put(mutant.file, mutant.source.text.encode())
        slow = self.build([name]) or self.run(self.tests[name], self.tests[name].limit(mutant.may_hang), threading.Event()) != "green"
        self.put(mutant.file, mutant.apply().encode())
        if slow:
            print(f"{name} hangs with {mutant.name}, and without: that says nothing", flush=True)
        return bool(slow)

    def run_all(self, names, mutant):
        """Return how the first of @names that notices says so, and its name. The quick ones go first: they look at one thing,
        and notice it each time."""
        over, killer, left = threading.Event(), [], [name for name in names if self.tests[name].seconds is not None]

        def one(name):
            if over.is_set():
                return
            verdict = self.run(self.tests[name], self.tests[name].limit(mutant.may_hang), over)
            if (verdict == "red" or (verdict == "hangs" and mutant.may_hang)) and not over.is_set():
                over.set()
                killer.append((verdict, name))
        while left:
            with concurrent.futures.ThreadPoolExecutor(self.at_a_time()) as pool:
                list(pool.map(one, sorted(left, key=lambda name: self.tests[name].seconds)))
            if not killer:
                return None
            verdict, name = killer.pop()
            if verdict == "red" or name in mutant.hangs or not self.is_slow(mutant, name):
                return f"{verdict} {name}"
            # It says nothing, and the others were stopped for it. Those that build are built with the mutant again.
            left.remove(name)
            self.build(left)
            over.clear()
        return None


def judge_all(kind, mutants, plan, keep, lanes=2, yards=(), by="all"):
    """Give each of @mutants to the tests of its plan: plan(mutant, tests) is groups of names; keep(mutant, verdict, by). What
    is printed of a mutant that is green says for which tests: @by."""
    for program in ("cmake", "ninja"):
        if not shutil.which(program):
            print(f"skipped: there is no {program}")
            sys.exit(77)
    opened = [Lane(kind, number) for number in range(max(1, min(lanes, len(mutants))))]
    for lane in opened:
        lane.open(yards)
    plans = {}
    for lane in opened:
        for mutant in mutants:
            plans[mutant.name] = [[name for name in group if lane.find(name)] for group in plan(mutant, lane)]
    named = {name for groups in plans.values() for group in groups for name in group}
    for lane in opened:
        lane.prepare(named, opened[0] if lane is not opened[0] else None)
    left, done, lock = list(reversed(mutants)), [0], threading.Lock()

    def work(lane):
        while True:
            with lock:
                if not left:
                    return
                mutant = left.pop()
            began = time.time()
            verdict, killer = lane.judge(mutant, plans[mutant.name])
            with lock:
                keep(mutant, verdict, killer)
                done[0] += 1
                noticed = killer if verdict == "red" else f"green for {by}" if verdict == "green" else verdict
                print(f"{done[0]}/{len(mutants)} {mutant.name}: {noticed} {time.time() - began:.0f} s: {mutant.describe()}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(len(opened)) as pool:
        for future in [pool.submit(work, lane) for lane in opened]:
            future.result()
