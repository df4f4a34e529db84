# SPDX-License-Identifier: MIT
"""What goes on at the same time: one build after the other, and as many boots as the machine has processors for."""
import concurrent.futures
import contextlib
import os
import threading
import time


class Processors:
    """The processors of this machine, for boots: who asks first gets first."""

    def __init__(self, count=None):
        self.count = self.free = count or os.cpu_count() or 1
        self.waiting = []
        self.change = threading.Condition()

    @contextlib.contextmanager
    def taken(self, wanted):
        """Have so many of them, or all if there are fewer."""
        wanted, me = min(wanted, self.count), object()
        with self.change:
            self.waiting.append(me)
            self.change.wait_for(lambda: self.waiting[0] is me and self.free >= wanted)
            self.waiting.remove(me)
            self.free -= wanted
            self.change.notify_all()
        try:
            yield
        finally:
            with self.change:
                self.free += wanted
                self.change.notify_all()


class Once:
    """Work that several may ask for, and that is done once, by one thread, in the order in which it was asked for."""

    def __init__(self):
        self.pool = concurrent.futures.ThreadPoolExecutor(1)
        self.asked = {}
        self.forgotten = False
        self.lock = threading.Lock()

    def ask(self, key, work):
        """A future of work(); the one from before if @key was asked for before."""
        with self.lock:
            if key not in self.asked:
                self.asked[key] = self.pool.submit(work) if not self.forgotten else concurrent.futures.Future()
                if self.forgotten:
                    self.asked[key].cancel()
            return self.asked[key]

    def forget(self):
        """Begin nothing more. What is under way ends."""
        with self.lock:
            self.forgotten = True
            self.pool.shutdown(wait=False, cancel_futures=True)


class Clock:
    """How long each thing took: [(what, seconds)], in the order of their ends."""

    def __init__(self):
        self.since = time.monotonic()
        self.took = []

    def time(self, what, work):
        """Do work(). How long it took."""
        since = time.monotonic()
        work()
        seconds = time.monotonic() - since
        self.took.append((what, seconds))
        return seconds

    def whole(self):
        return time.monotonic() - self.since
