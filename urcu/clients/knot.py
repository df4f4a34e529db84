# SPDX-License-Identifier: MIT
"""knotd: a zone that is asked for and changed at the same time, each change checked."""
import random
import statistics
import subprocess
import time

import dns
from client import Client, Result
from load import Load, address, centile, zone_text
from room import end, highest_rss_kb, threads_of, until

PORT = 5300
ZONE = "zone.test"
CONFIG = f"""server:
    listen: 127.0.0.1@{PORT}
    rundir: /run/knot
    udp-workers: 2
    tcp-workers: 1
    background-workers: 1
log:
  - target: stderr
    any: warning
database:
    storage: /state
zone:
  - domain: {ZONE}
    file: /state/zone
    zonefile-sync: -1
    journal-content: none
"""


class Control:
    """One knotc that reads commands; it answers each with a line."""

    def __init__(self, room):
        self.program = room.start("stdbuf", "-oL", "-eL", "knotc", "-s", "/run/knot/knot.sock", client=False,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)

    def ask(self, command):
        self.program.stdin.write(command.encode() + b"\n")
        while True:
            line = self.program.stdout.readline().decode()
            if not line:
                raise EOFError(f"knotc has ended, behind '{command}'")
            if "termcap" not in line and "terminal settings" not in line:
                return line.strip()

    def commit(self, name, new):
        """Give @name the address @new, and no other: what was said that is not OK."""
        said = [self.ask(f"zone-begin {ZONE}"), self.ask(f"zone-unset {ZONE} {name} A"),
                self.ask(f"zone-set {ZONE} {name} 60 A {new}"), self.ask(f"zone-commit {ZONE}")]
        return [line for line in said if line != "OK"]

    def close(self):
        self.program.stdin.close()
        self.program.wait(30)


class Changes:
    """Commits, one behind the other, each of them asked for; every fifth is followed by a reload."""

    def __init__(self, room, names, wrong):
        self.control, self.server = Control(room), dns.Server(PORT)
        self.names, self.wrong = names, wrong
        self.commits, self.reloads, self.number = [], [], 1 << 20

    def one(self):
        self.number += 1
        name, new = f"n{random.randrange(self.names)}", address(self.number)
        since = time.monotonic()
        refused = self.control.commit(name, new)
        self.commits.append((time.monotonic() - since) * 1000)
        if refused:
            self.wrong.append(f"commit {self.number}: {'; '.join(refused)}")
        answer = self.server.addresses(f"{name}.{ZONE}")
        if answer != [new]:
            self.wrong.append(f"commit {self.number}: {name} is {answer}, not {new}")
        if self.number % 5 == 0:
            since = time.monotonic()
            said = self.control.ask("reload")
            self.reloads.append((time.monotonic() - since) * 1000)
            if said != "Reloaded":
                self.wrong.append(f"reload: {said}")

    def go_on(self, seconds, rate=None):
        begin = time.monotonic()
        while time.monotonic() < begin + seconds:
            if rate:
                time.sleep(max(0.0, begin + len(self.commits) / rate - time.monotonic()))
            self.one()


def run(room, how, rate, commits_rate):
    result = Result()
    room.write("/etc/knot/knot.conf", CONFIG)
    room.write("/state/zone", zone_text(ZONE, how.names))
    room.path("/run/knot").mkdir()
    knotd = room.start("knotd", "-c", "/etc/knot/knot.conf", log="/state/log")
    server = dns.Server(PORT)
    until(lambda: knotd.poll() is not None or isinstance(server.addresses(f"n1.{ZONE}"), list), "knotd's first answer")
    if knotd.poll() is not None:
        result.wrong.append(f"knotd: status {knotd.returncode}: {room.said('/state/log')[-300:]}")
        return result
    room.must_run_on(knotd.pid, result.wrong)
    load = Load(room, PORT, ZONE, how.names, how.seconds, rate)
    changes = Changes(room, how.names, result.wrong)
    load.start()
    changes.go_on(how.seconds, commits_rate)
    load.join()
    load.judge(result.wrong)
    changes.control.close()
    result.checked = len(changes.commits)
    result.figures = {"commits": len(changes.commits), "commit p50 ms": statistics.median(changes.commits),
                      "commit p99 ms": centile(changes.commits, 0.99), "reload p50 ms": statistics.median(changes.reloads),
                      "qps": load.figures.get("qps"), "rss kB": highest_rss_kb(knotd.pid), "threads": threads_of(knotd.pid)}
    result.grace_periods = room.grace_periods(knotd.pid)
    status, result.figures["stop ms"] = end(knotd)
    if status != 0:
        result.wrong.append(f"knotd ended with {status}")
    said = room.said("/state/log").strip()
    if "lull" in said or "AddressSanitizer" in said:
        result.wrong.append(f"knotd said: {said[-300:]}")
    return result


def waiting(room, how):
    return run(room, how, how.rate, None)


def equal(room, how):
    return run(room, how, None, 40)


FIGURES = (("commits", "commits done", "more"), ("commit p50 ms", "commit, median, ms", "less"),
           ("commit p99 ms", "commit, 99 of 100, ms", "less"), ("reload p50 ms", "reload, median, ms", "less"),
           ("qps", "queries in a second", "more"), ("rss kB", "memory at most, kB", "less"), ("threads", "threads", "less"),
           ("stop ms", "stop, ms", "less"))
PACKAGES = ("knot", "knot-dnsutils", "dnsperf")
CLIENTS = [Client(f"knotd{mode}{'' if release == 'bookworm' else '-trixie'}", release, "knot", PACKAGES, "called", what, run_it,
                  FIGURES)
           for release in ("bookworm", "trixie") for mode, what, run_it in (
               ("", "queries at a fixed rate; commits of a client that waits for each; reloads", waiting),
               ("-equal", "as many queries as it takes; 40 commits in a second; reloads", equal))]
