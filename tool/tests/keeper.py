# SPDX-License-Identifier: MIT
"""keeper.py MARK: waits for the end of its standard input, then kills every process that has MARK in its environment.

The runner of a test (support.py) holds the other end. However it ends, by SIGKILL even, what it has started ends with
it, and what that has started, in whatever session it is by then."""
import os
import signal
import sys
import time

PATIENCE_S = 30


def marked(mark):
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if mark in file.read().split(b"\0"):
                    yield int(name)
        except OSError:
            continue  # gone, or not ours


def main():
    mark = os.fsencode(sys.argv[1])
    while os.read(0, 1):
        pass
    give_up = time.monotonic() + PATIENCE_S
    quiet = 0
    while quiet < 3 and time.monotonic() < give_up:
        found = list(marked(mark))
        quiet = 0 if found else quiet + 1
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        time.sleep(0.05)


if __name__ == "__main__":
    main()
