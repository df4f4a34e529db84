# SPDX-License-Identifier: MIT
"""Questions for name servers: a zone of many names, and a load of queries for them."""
import random
import re
import threading


def address(number):
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def zone_text(zone, names):
    head = f"$ORIGIN {zone}.\n$TTL 60\n@ SOA ns admin 1 3600 600 86400 60\n@ NS ns\nns A 127.0.0.1\n"
    return head + "".join(f"n{at} A {address(at)}\n" for at in range(names))


def centile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))] if values else None


class Load(threading.Thread):
    """dnsperf for so many seconds; what it counted is in figures."""

    def __init__(self, room, port, zone, names, seconds, rate=None):
        super().__init__()
        self.room, self.figures, self.status, self.text = room, {}, None, ""
        room.write("/state/queries", "".join(f"n{random.randrange(names)}.{zone} A\n" for _ in range(5000)))
        self.words = ["dnsperf", "-s", "127.0.0.1", "-p", port, "-d", "/state/queries", "-l", seconds, "-c", 4, "-q", 60]
        self.words += ["-Q", rate] if rate else []
        self.seconds = seconds

    def run(self):
        self.status, self.text = self.room.run(*self.words, client=False, timeout=self.seconds + 60)
        for key, what in (("lost", r"Queries lost:\s+(\d+)"), ("qps", r"Queries per second:\s+([\d.]+)")):
            found = re.search(what, self.text)
            if found:
                self.figures[key] = float(found.group(1))
        codes = re.search(r"Response codes:\s+(.*)", self.text)
        self.figures["codes"] = codes.group(1) if codes else "not counted"

    def judge(self, wrong):
        if self.status != 0 or "qps" not in self.figures:
            wrong.append(f"dnsperf: status {self.status}: {self.text[-300:]}")
            return
        if self.figures["lost"]:
            wrong.append(f"{self.figures['lost']:.0f} queries lost")
        if not re.fullmatch(r"NOERROR \d+ \(100\.00%\)", self.figures["codes"]):
            wrong.append(f"answers are {self.figures['codes']}")
