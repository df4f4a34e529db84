# SPDX-License-Identifier: MIT
"""lull top: what it shows of a process, on a terminal and for scripts; what it does with pages that lie."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

from support import LULL, Case

TARGET = os.environ["LULL_TOP_TARGET"]
LIAR = os.environ["LULL_TOP_LIAR"]
NOBODY = 65534
PATIENCE_S = 120

COUNTERS = {"grace_periods", "heavy_fences", "passes", "wakeups", "queued_items", "queued_bytes", "done_items",
            "done_bytes", "scans", "shazptr_scans", "mutex_sleeps", "stalls"}
MEMBERS = {"tool", "version", "pid", "command", "began_ns", "up_seconds", "seconds", "threads", "fence", "debug",
           "per_second", "total", "gp_latency_ns", "waiting", "slots_in_use", "kept", "waits"}


def become_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


class Processes(Case):
    def start(self, *args, **more):
        """A process that says when it is ready, and ends with its standard input."""
        process = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **more)
        self.addCleanup(self.end, process)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def end(self, process):
        if not process.stdin.closed:
            process.stdin.close()
        process.stdout.close()
        process.wait(PATIENCE_S)

    def fails(self, *args, **more):
        """Gives the one line; nothing was shown."""
        result = self.lull("top", *args, **more)
        self.assertEqual((result.returncode, result.stdout), (1, b""), result.stderr)
        self.assert_one_line(result.stderr, args)
        return result.stderr.decode()

    def look(self, pid, *options):
        """One look, since the process began, as JSON."""
        text = self.good("top", "--once", "--json", "-", "--interval", "0", *options, str(pid))
        self.assertTrue(text.isascii() and text.endswith("}\n") and text.count("\n") == 1, text)
        return json.loads(text)

    def show(self, pid, *options):
        """The same as text, which has nothing that could steer a terminal."""
        text = self.good("top", "--once", "--interval", "0", *options, str(pid))
        self.assertFalse([c for c in text if not " " <= c <= "~" and c != "\n"], text)
        return text

    def wait_for(self, pid, holder="reader-1"):
        """The wait for that thread, once it is on the page and both are asleep."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            for wait in self.look(pid)["waits"]:
                threads = [wait["holder"] or {"name": "", "state": ""}, wait["waiter"]]
                if threads[0]["name"] == holder and all(thread["state"] == "sleeps" for thread in threads):
                    return wait
        self.fail(self.show(pid))


class Words(Processes):
    def test_help(self):
        self.assertIn("\n  top ", self.good("--help"))
        text = self.good("top", "--help")
        self.assertTrue(text.startswith("Usage: lull top [OPTION...] PID"), text)
        for option in ("--once", "--json", "--interval"):
            self.assertIn(option, text)
        self.assertEqual(self.good("top", "--version"), self.good("--version"))

    def test_bad_input(self):
        self.assertIn("PID", self.bad("top"))
        for pid in ("", "x", "0", "1x", "4194305", "99999999999999999999", "re\nf\x1b[2J"):
            self.assertIn("PID: ", self.bad("top", pid))
        self.assertIn("unexpected '2'", self.bad("top", "1", "2"))
        for word in ("--nonsense", "-x", "--threads=1", "--list"):
            self.assertIn(f"unknown option '{word}'", self.bad("top", word, "1"))
        self.assertIn("--once takes no value", self.bad("top", "--once=1", "1"))
        self.assertIn("--interval needs a value", self.bad("top", "1", "--interval"))
        for seconds in ("", "x", "-1", "nan", "1e99"):
            self.assertIn("--interval: ", self.bad("top", "--interval", seconds, "1"))
        self.assertIn("--interval: ", self.bad("top", "--json", "-", "--interval", "0", "1"))


class NoPage(Processes):
    def test_no_process(self):
        with subprocess.Popen(["true"]) as process:
            pass
        self.assertIn(f"there is no process {process.pid}\n", self.fails(str(process.pid)))

    def test_dead_process(self):
        with subprocess.Popen(["true"]) as process:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            self.assertIn("has ended", self.fails(str(process.pid)))

    def test_without_lull(self):
        self.assertIn("does not use lull", self.fails(str(os.getpid())))

    def test_switched_off(self):
        target = self.start(TARGET, env={**os.environ, "LULL_STATS": "off"})
        self.assertIn("LULL_STATS=off", self.fails(str(target.pid)))

    @unittest.skipIf(os.geteuid() != 0, "only root can be somebody else")
    def test_of_another_user(self):
        target = self.start(TARGET)
        self.assertIn("not permitted", self.fails(str(target.pid), preexec_fn=become_nobody))


class StalledReader(Processes):
    def test_json(self):
        target = self.start(TARGET)
        wait = self.wait_for(target.pid)
        self.assertEqual((wait["kind"], wait["holders"], wait["depth"]), ("rcu grace period", 1, 1))
        self.assertEqual(wait["waiter"]["name"], "updater")
        self.assertGreater(wait["seconds"], 0)
        root = self.look(target.pid)
        self.assertEqual(set(root), MEMBERS)
        self.assertEqual((root["tool"], root["pid"], root["command"]), ("top", target.pid, "lull_top_target"))
        self.assertEqual("lull " + root["version"] + "\n", self.good("--version"))
        self.assertEqual((set(root["per_second"]), set(root["total"])), (COUNTERS, COUNTERS))
        self.assertGreater(root["up_seconds"], wait["seconds"])
        self.assertGreaterEqual(self.wait_for(target.pid)["seconds"], wait["seconds"])
        if root["debug"]:
            self.assertRegex(wait["site"], r"^lull_top_target\+0x[0-9a-f]+$")
        else:
            self.assertIsNone(wait["site"])
        # A thread's number stands for its process.
        self.assertEqual(self.look(wait["holder"]["tid"])["pid"], target.pid)

    def test_text(self):
        target = self.start(TARGET)
        wait = self.wait_for(target.pid)
        text = self.show(target.pid)
        self.assertTrue(text.startswith(f"process {target.pid} (lull_top_target), up "), text)
        self.assertRegex(text, rf"\d [mu]?s  rcu grace period: \d+ updater waits for {wait['holder']['tid']} reader-1\n"
                               r" +depth 1, the thread sleeps")
        self.assertRegex(text, r"\n  last [\d.]+ m?s +-")
        # In a pipe it looks once.
        self.assertIn("reader-1", self.good("top", "--interval", "0.02", str(target.pid)))

    def test_descriptor_was_closed(self):
        target = self.start(TARGET, "closed")
        self.assertNotIn("memfd", " ".join(os.readlink(f"/proc/{target.pid}/fd/{fd}") for fd in range(3)))
        result = self.lull("top", "--once", "--interval", "0", str(target.pid))
        if b"its memory cannot be read" in result.stderr:
            self.skipTest(result.stderr.decode())
        self.assertEqual(self.wait_for(target.pid)["waiter"]["name"], "updater")

    @staticmethod
    def stat(pid):
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read()

    def test_first_thread_has_exited(self):
        target = self.start(TARGET, "headless")
        end = time.monotonic() + PATIENCE_S
        while b") Z " not in self.stat(target.pid):
            self.assertLess(time.monotonic(), end)
        self.assertEqual(self.wait_for(target.pid)["waiter"]["name"], "updater")

    @unittest.skipIf(subprocess.run(["unshare", "--fork", "--pid", "true"], stderr=subprocess.DEVNULL, check=False).returncode,
                     "no PID namespace here")
    def test_other_numbers_in_a_container(self):
        outer = self.start("unshare", "--fork", "--pid", TARGET)
        with open(f"/proc/{outer.pid}/task/{outer.pid}/children", encoding="ascii") as children:
            pid = int(children.read())
        wait = self.wait_for(pid)
        self.assertEqual(wait["waiter"]["name"], "updater")
        self.assertLess(wait["holder"]["tid"], 10)
        self.assertEqual(self.look(pid)["pid"], pid)


class Files(Processes):
    def test_line_in_a_file(self):
        """The text is printed beside it, as with other commands; and standard output has the line alone."""
        target = self.start(TARGET)
        text = self.good("top", "--once", "--interval", "0", "--json", "top.json", str(target.pid))
        self.assertIn("who waits for whom", text)
        self.assertEqual(self.files(), ["top.json"])
        self.assertEqual(self.results("top.json")["pid"], target.pid)
        self.assertEqual(self.look(target.pid)["pid"], target.pid)
        self.assertEqual(self.files(), ["top.json"])
        for path in ("nowhere/top.json", ".", ""):
            self.assertIn("--json: ", self.bad("top", "--once", "--json", path, str(target.pid)))
        result = self.lull("top", "--once", "--interval", "0", "--json", "/dev/full", str(target.pid))
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"--json: cannot write '/dev/full': ", result.stderr)
        self.end(target)

    def test_other_way(self):
        """The form without a file, of old scripts, says what is missing."""
        self.assertIn("no process given", self.bad("top", "--once", "--json", "1"))
        self.assertIn("--json needs a value", self.bad("top", "--once", "1", "--json"))


class Stream(Processes):
    def stream(self, pid):
        process = subprocess.Popen([LULL, "top", "--json=-", "--interval", "0.01", str(pid)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_until_it_ends(self):
        target = self.start(TARGET)
        top = self.stream(target.pid)
        looks = [json.loads(top.stdout.readline()) for _ in range(3)]
        self.assertLess(looks[0]["up_seconds"], looks[1]["up_seconds"])
        self.assertLess(looks[2]["seconds"], looks[2]["up_seconds"])
        self.end(target)
        self.assertEqual(top.wait(PATIENCE_S), 0)
        self.assertEqual(top.stderr.read().decode(), f"lull top: process {target.pid} has ended\n")
        for line in top.stdout:
            json.loads(line)

    def test_another_program_in_its_place(self):
        """One that is seen between the two, or not, and has its page at the same descriptor."""
        for unseen in (False, True):
            target = self.start(TARGET, "again")
            top = self.stream(target.pid)
            look = json.loads(top.stdout.readline())
            if unseen:
                top.send_signal(signal.SIGSTOP)
            target.stdin.write(b"\n")
            target.stdin.flush()
            self.assertEqual(target.stdout.readline(), b"ready\n")
            top.send_signal(signal.SIGCONT)
            for _ in range(1000):
                before, look = look, json.loads(top.stdout.readline())
                if look["began_ns"] != before["began_ns"]:
                    break
            self.assertGreater(look["began_ns"], before["began_ns"])
            # Its figures begin where it does.
            self.assertLessEqual(look["seconds"], look["up_seconds"])
            self.assertNotIn(None, look["per_second"].values())

    def test_page_changes_under_its_eyes(self):
        for change, told in (("len=700", "cut short"), ("version=9", "version 9")):
            liar = self.start(LIAR, "then", change)
            top = self.stream(liar.pid)
            json.loads(top.stdout.readline())
            liar.stdin.write(b"\n")
            liar.stdin.flush()
            self.assertEqual(top.wait(PATIENCE_S), 1, change)
            line = top.stderr.read()
            self.assert_one_line(line, change)
            self.assertIn(told, line.decode())

    def test_counts_go_backwards(self):
        liar = self.start(LIAR, "stalls=7", "then", "stalls=6", "gp_ended=99")
        top = self.stream(liar.pid)
        self.assertEqual(json.loads(top.stdout.readline())["total"]["stalls"], 7)
        liar.stdin.write(b"\n")
        liar.stdin.flush()
        for _ in range(1000):
            look = json.loads(top.stdout.readline())
            if look["per_second"]["stalls"] is None:
                self.assertIsNone(look["per_second"]["grace_periods"])
                self.assertEqual(look["per_second"]["passes"], 0)
                return
        self.fail(look)


class Lies(Processes):
    def test_refused(self):
        for lie, told in (("magic=1", "not one of lull's"), ("magic=0", "is still empty"), ("version=9", "version 9"),
                          ("size=8", "has 8 bytes"), ("len=0", "cut short: 0 bytes"), ("len=11", "cut short: 11 bytes"),
                          ("len=200", "cut short: 200 bytes of "), ("pid=1", "that of process 1\n")):
            liar = self.start(LIAR, lie)
            self.assertIn(told, self.fails("--once", str(liar.pid)), lie)
            self.end(liar)

    def test_an_honest_liar(self):
        """An honest page, to compare the others with."""
        liar = self.start(LIAR, "kind=1", "tid=tid", "name=me", "since_ns=now", "hard_items=100", "waiting_items=50")
        text = self.show(liar.pid)
        self.assertRegex(text, r"\n  ever +1\.5 us +1\.54 us +2 us +2 us +100\n")
        self.assertRegex(text, r"\n  items  \[#{10}\.{10}\] +50  of +100 ")
        self.assertRegex(text, rf"\d [mu]?s  rcu grace period: nobody in particular waits for {liar.pid} me\n")
        self.assertIn("up 10", text)
        latency = self.look(liar.pid)["gp_latency_ns"]["ever"]
        self.assertEqual((latency["count"], latency["mean"], latency["max"]), (100, 1500, 2000))
        self.assertTrue(1024 <= latency["p50"] <= latency["p99"] <= 2000, latency)

    def test_doubted(self):
        wait = ("kind=1", "tid=tid", "name=me", "since_ns=now")
        for lies, told in ((("gp_ns[10]=5",), r"ever +the page contradicts itself\n"),
                           (("gp_ns[10]=0xffffffffffffffff", "gp_ns[39]=1"), r"ever +the page contradicts itself\n"),
                           (("gp_ended=101",), r"ever +the page contradicts itself\n"),
                           (("began_ns=0xffffffffffffffff",), r", up \?, "),
                           (("began_ns=0",), r", up \?, "),
                           (("fence=7",), r", fence \?\n"),
                           (("waiting_items=0xffffffffffffffff",), r"\n  items  \[\.{20}\] +0 "),
                           (("waiting_bytes=0x7fffffffffffffff", "hard_bytes=1"), r"bytes  \[#{20}\].* OVER\n"),
                           ((*wait, "kind=99"), r"s  \?: nobody in particular waits"),
                           ((*wait, "tid=0xffffffff", "waiter_tid=4194305"), r"period: \? waits for \?\n"),
                           ((*wait, "tid=4194304"), r"the thread has exited\n"),
                           ((*wait, "since_ns=0xffffffffffffffff"), r"\n +\?  rcu grace period: "),
                           ((*wait, "since_ns=0"), r"\n +\?  rcu grace period: "),
                           ((*wait, "holders=4294967295", "depth=4294967295"), r"one of 4294967295\n +depth 4294967295, "),
                           ((*wait, r"name=\x1b[2J\x7f\xff"), r"waits for \d+ \?\[2J\?\?\n"),
                           ((*wait, r"name=) Z 1\x0a"), r"waits for \d+ \) Z 1\?\n +the thread (sleeps|runs)"),
                           ((*wait, "kind=5", "site=1"), r"s  callback on \d+ me does not return\n")):
            liar = self.start(LIAR, *lies)
            self.assertRegex(self.show(liar.pid), told, lies)
            self.look(liar.pid)
            self.end(liar)

    def test_names_in_json(self):
        for name, told in ((r"\x1b[2J", "\x1b[2J"), (r"\xc3\xa9", "\u00e9"), (r"\xff\x7f", "??"), (r"a\x22b", 'a"b')):
            liar = self.start(LIAR, "kind=1", "tid=tid", "since_ns=now", "name=" + name)
            self.assertEqual(self.look(liar.pid)["command"], told)
            self.end(liar)

    def test_read_by_address(self):
        liar = self.start(LIAR, "closed=1", "stalls=5")
        result = self.lull("top", "--once", "--interval", "0", str(liar.pid))
        if b"its memory cannot be read" in result.stderr:
            self.skipTest(result.stderr.decode())
        self.assertEqual(self.look(liar.pid)["total"]["stalls"], 5)
        other = self.start(LIAR, "closed=1", "pid=1")
        self.assertIn("that of process 1\n", self.fails(str(other.pid)))


class Terminal:
    """Screen that a process draws on a terminal of this size."""

    def __init__(self, args, rows, columns, term="xterm"):
        try:
            self.fd, theirs = pty.openpty()
        except OSError:
            raise unittest.SkipTest("there is no /dev/pts here") from None
        self.resize(rows, columns)
        self.before = termios.tcgetattr(theirs)
        self.theirs = theirs
        self.process = subprocess.Popen(args, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
                                        env={**os.environ, "TERM": term}, preexec_fn=self.take_over)
        self.shown = b""

    @staticmethod
    def take_over():
        """Take the terminal over: only then is the process told when its size changes."""
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, done):
        end = time.monotonic() + PATIENCE_S
        while not done() and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.02)[0]:
                self.shown += os.read(self.fd, 65536)
        return done()

    def sees(self, text):
        return self.read_until(lambda: text in self.shown)

    def ends(self):
        """The exit status, with everything that was written."""
        ended = self.read_until(lambda: self.process.poll() is not None)
        while select.select([self.fd], [], [], 0)[0]:
            self.shown += os.read(self.fd, 65536)
        return self.process.returncode if ended else None

    def restored(self):
        return termios.tcgetattr(self.theirs) == self.before

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.theirs)
        os.close(self.fd)


class Screen(Processes):
    def terminal(self, pid, rows=24, columns=80, **more):
        terminal = Terminal([LULL, "top", "--interval", "0.05", str(pid)], rows, columns, **more)
        self.addCleanup(terminal.close)
        terminal.read_until(lambda: b"process " in terminal.shown or terminal.process.poll() is not None)
        if b"has no screen" in terminal.shown:
            self.skipTest(terminal.shown.decode())
        return terminal

    def test_shows_and_quits(self):
        target = self.start(TARGET)
        self.wait_for(target.pid)
        for term in ("xterm", "vt100"):
            terminal = self.terminal(target.pid, term=term)
            for text in (f"process {target.pid} (lull_top_target)", "grace periods", "reader-1", "q quits"):
                self.assertTrue(terminal.sees(text.encode()), terminal.shown)
            self.assertFalse(terminal.restored())
            # It does not stand still.
            drawn = len(terminal.shown)
            self.assertTrue(terminal.read_until(lambda at=drawn: len(terminal.shown) > at))
            os.write(terminal.fd, b"q")
            self.assertEqual(terminal.ends(), 0, terminal.shown)
            self.assertTrue(terminal.restored())

    def test_sizes(self):
        liar = self.start(LIAR, r"name=\x1b[2J\x1b[5n", "kind=1", "tid=tid", "since_ns=now")
        terminal = self.terminal(liar.pid)
        self.assertTrue(terminal.sees(b"q quits"))
        for rows, columns, text in ((8, 60, b"lines more"), (5, 50, b"too small"), (24, 80, b"every 0.05 s"),
                                    (1, 1, b"t"), (200, 400, b"who waits for whom")):
            terminal.shown = b""
            terminal.resize(rows, columns)
            self.assertTrue(terminal.sees(text), (rows, columns, terminal.shown[-2000:]))
        self.assertNotIn(b"\x1b[5n", terminal.shown)
        os.write(terminal.fd, b"q")
        self.assertEqual(terminal.ends(), 0)

    def test_process_ends(self):
        target = self.start(TARGET)
        terminal = self.terminal(target.pid)
        self.assertTrue(terminal.sees(b"q quits"))
        self.end(target)
        self.assertEqual(terminal.ends(), 0)
        self.assertTrue(terminal.shown.endswith(f"lull top: process {target.pid} has ended\r\n".encode()), terminal.shown)
        self.assertTrue(terminal.restored())

    def test_page_goes_bad(self):
        liar = self.start(LIAR, "then", "len=0")
        terminal = self.terminal(liar.pid)
        self.assertTrue(terminal.sees(b"q quits"))
        liar.stdin.write(b"\n")
        liar.stdin.flush()
        self.assertEqual(terminal.ends(), 1)
        self.assertRegex(terminal.shown, rb"lull top: process \d+: its stats page is cut short: 0 bytes\r\n$")
        self.assertTrue(terminal.restored())

    def test_interrupted(self):
        target = self.start(TARGET)
        for number in (signal.SIGINT, signal.SIGTERM):
            terminal = self.terminal(target.pid)
            self.assertTrue(terminal.sees(b"q quits"))
            terminal.process.send_signal(number)
            self.assertIsNotNone(terminal.ends())
            self.assertTrue(terminal.restored())

    def test_unknown_terminal(self):
        target = self.start(TARGET)
        terminal = self.terminal(target.pid, term="no-such-terminal")
        self.assertEqual(terminal.ends(), 1)
        self.assertRegex(terminal.shown, rb"^lull top: .*--once.*\r\n$")


if __name__ == "__main__":
    unittest.main()
