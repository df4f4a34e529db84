# SPDX-License-Identifier: MIT
"""BIND's named: a zone that is asked for and updated at the same time, each update checked; and a resolver before it."""
import os
import statistics
import time

import dns
from client import Client, Result
from load import Load, address, centile, zone_text
from room import end, highest_rss_kb, threads_of, until

ZONE = "zone.test"
PORTS = {"auth": 5301, "resolver": 5302}
CONTROL = {"auth": 9531, "resolver": 9532}
KEY = 'key "test" { algorithm hmac-sha256; secret "bm90IGEgc2VjcmV0LCBidXQgbG9uZyBlbm91Z2g="; };\n'


def config(name):
    own = {"auth": "recursion no; notify no;",
           "resolver": f"recursion yes; forward only; forwarders {{ 127.0.0.1 port {PORTS['auth']}; }}; empty-zones-enable no;"}
    text = (f"options {{ directory \"/state/{name}\"; listen-on port {PORTS[name]} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};"
            f" pid-file none; session-keyfile none; dnssec-validation no; {own[name]} }};\n{KEY}"
            f"controls {{ inet 127.0.0.1 port {CONTROL[name]} allow {{ 127.0.0.1; }} keys {{ \"test\"; }}; }};\n")
    if name == "auth":
        text += f"zone \"{ZONE}\" {{ type primary; file \"/state/auth/zone\"; allow-update {{ 127.0.0.1; }}; }};\n"
    return text


class Named:
    def __init__(self, room, name, wrong):
        self.room, self.name, self.wrong = room, name, wrong
        room.write(f"/state/{name}/named.conf", config(name))
        room.write("/state/key", KEY)
        self.server = dns.Server(PORTS[name])
        self.log = f"/state/{name}/log"
        self.program = room.start("named", "-g", "-n", 2, "-c", f"/state/{name}/named.conf", log=self.log)

    def ready(self):
        until(lambda: self.program.poll() is not None or isinstance(self.server.addresses(f"n1.{ZONE}"), list),
              f"the first answer of {self.name}")
        if self.program.poll() is not None:
            self.wrong.append(f"{self.name}: status {self.program.returncode}: {self.room.said(self.log)[-300:]}")
            return False
        self.room.must_run_on(self.program.pid, self.wrong)
        return True

    def control(self, *words):
        status, text = self.room.run("rndc", "-s", "127.0.0.1", "-p", CONTROL[self.name], "-k", "/state/key", *words,
                                     client=False)
        if status != 0:
            self.wrong.append(f"rndc {' '.join(words)} of {self.name}: status {status}: {text.strip()[-200:]}")

    def end(self):
        """Milliseconds that its end took."""
        status, took = end(self.program)
        if status != 0:
            self.wrong.append(f"{self.name} ended with {status}")
        said = [line for line in self.room.said(self.log).splitlines()
                if "lull" in line or "assertion" in line or "critical" in line or "AddressSanitizer" in line]
        if said:
            self.wrong.append(f"{self.name} said: {said[0][-300:]}")
        return took


class Scheduled:
    """How long threads have run, and how long they have waited for a CPU: a wait that no library can be blamed for."""

    def __init__(self, pid):
        self.threads = [os.open(f"/proc/{pid}/task/{tid}/schedstat", os.O_RDONLY) for tid in os.listdir(f"/proc/{pid}/task")]
        self.own = os.open("/proc/self/schedstat", os.O_RDONLY)
        self.before = self.read()

    @staticmethod
    def of(file):
        ran, waited = os.pread(file, 100, 0).split()[:2]
        return int(ran) / 1e6, int(waited) / 1e6

    def read(self):
        return [self.of(file) for file in self.threads], self.of(self.own)

    def explained(self):
        """Milliseconds since the last call: of this thread's wait, the longest wait of the other threads, and their runs."""
        (old, old_own), now = self.before, self.read()
        self.before = now
        since = [(after[0] - before[0], after[1] - before[1]) for before, after in zip(old, now[0])]
        return now[1][1] - old_own[1] + max(waited for _, waited in since) + sum(ran for ran, _ in since)


def updates(auth, how, wrong):
    """Milliseconds of each update, one behind the other; and the same without what its threads ran, or waited for a CPU."""
    took, slept, number, begin = [], [], 1 << 20, time.monotonic()
    scheduled = Scheduled(auth.program.pid)
    while time.monotonic() < begin + how.seconds:
        number += 1
        name, new = f"n{number * 7919 % how.names}.{ZONE}", address(number)
        since = time.monotonic()
        code = auth.server.set_address(ZONE, name, new)
        took.append((time.monotonic() - since) * 1000)
        slept.append(took[-1] - scheduled.explained())
        if code != 0:
            wrong.append(f"update {number}: {'no answer' if code is None else f'RCODE {code}'}")
        answer = auth.server.addresses(name)
        if answer != [new]:
            wrong.append(f"update {number}: {name} is {answer}, not {new}")
        scheduled.explained()
    return took, slept


def run(room, how):
    result = Result()
    room.write("/state/auth/zone", zone_text(ZONE, how.names))
    auth = Named(room, "auth", result.wrong)
    if not auth.ready():
        return result
    resolver = Named(room, "resolver", result.wrong)
    if not resolver.ready():
        return result
    loads = [Load(room, PORTS["auth"], ZONE, how.names, how.seconds, how.rate // 5),
             Load(room, PORTS["resolver"], ZONE, how.names, how.seconds, how.rate // 7)]
    for load in loads:
        load.start()
    took, slept = updates(auth, how, result.wrong)
    for load in loads:
        load.join()
        load.judge(result.wrong)
    for words in (["sync"], ["reload"]):
        auth.control(*words)
    resolver.control("flush")
    for server in auth, resolver:
        if server.server.addresses(f"ns.{ZONE}") != ["127.0.0.1"]:
            result.wrong.append(f"{server.name} does not answer behind sync, reload and flush")
    result.checked = len(took)
    result.figures = {"updates": len(took), "update p50 ms": statistics.median(took), "update p99 ms": centile(took, 0.99),
                      "worst update ms": max(took), "longest sleep ms": max(slept), "rss kB": highest_rss_kb(auth.program.pid),
                      "threads": threads_of(auth.program.pid)}
    result.grace_periods = room.grace_periods(auth.program.pid)
    result.figures["resolver stop ms"] = resolver.end()
    result.figures["stop ms"] = auth.end()
    return result


FIGURES = (("updates", "updates done", "more"), ("update p50 ms", "update, median, ms", "less"),
           ("update p99 ms", "update, 99 of 100, ms", "less"), ("worst update ms", "worst update, ms", "less"),
           ("longest sleep ms", "longest update but for waits for a CPU, ms", "less"),
           ("rss kB", "memory at most, kB", "less"), ("threads", "threads", "less"), ("stop ms", "stop, ms", "less"),
           ("resolver stop ms", "stop of the resolver, ms", "less"))
CLIENTS = [Client("named", "trixie", "bind9", ("bind9", "bind9-utils", "dnsperf"), "called",
                  "queries at a fixed rate, to it and to a second one that forwards; updates of a client that waits for each; "
                  "sync, reload, flush", run, FIGURES)]
