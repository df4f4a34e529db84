# SPDX-License-Identifier: MIT
"""Judge the clients of scripts/clients: by what they print, by what servers answer, by the release's packages."""
import importlib.machinery
import importlib.util
import pathlib
import socket
import struct
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "urcu/clients"))

import debian  # noqa: E402 (behind the path)
import dns  # noqa: E402
import load  # noqa: E402
import mutants  # noqa: E402
import newest  # noqa: E402
import storm  # noqa: E402
import torture  # noqa: E402
from client import Client, Result  # noqa: E402


def stress(counts, errors=0, updates=7):
    return (f"# n_reads: 114633217  n_updates: {updates}  n_mberror: {errors}\n# rcu_stress_count: {counts}\n"
            "ok 1 - stresstest readers: 2, stride: 1\n")


class Torture(unittest.TestCase):
    def test_two_numbers_may_be_other_than_0(self):
        self.assertEqual(torture.judge_stress(stress("114618391 14826 0 0 0 0 0 0 0 0 0")), "")

    def test_it_prints_ok_all_the_same(self):
        for counts in ("5 1 1 0 0 0 0 0 0 0 0", "5 0 0 0 0 0 0 0 0 0 3", "5 1 0 0 -1 0 0 0 0 0 0"):
            self.assertIn("rcu_stress_count: ", torture.judge_stress(stress(counts)), counts)

    def test_a_reader_saw_half_of_an_object(self):
        self.assertIn("n_mberror 1", torture.judge_stress(stress("5 1 0 0 0 0 0 0 0 0 0", errors=1)))

    def test_nothing_was_tried(self):
        self.assertIn("nothing was tried", torture.judge_stress(stress("5 1 0 0 0 0 0 0 0 0 0", updates=0)))
        self.assertIn("nothing was tried", torture.judge_stress(stress("5 1")))

    def test_no_numbers(self):
        self.assertIn("no numbers", torture.judge_stress("ok 1 - stresstest readers: 2, stride: 1\n"))

    def test_refusal(self):
        self.assertEqual(torture.refusal(2, "lull urcu: no\n"), "lull urcu: no")
        self.assertEqual(torture.refusal(0, "lull urcu: no\n"), "")
        self.assertEqual(torture.refusal(-11, "Segmentation fault\n"), "")


class Newest(unittest.TestCase):
    def test_all_is_ok(self):
        self.assertEqual(newest.judge("fork", 0, "1..2\nok 1 - forks\nok 2 - waits\n"), "")
        self.assertEqual(newest.judge("torture-mb", 0, stress("114618391 14826 0 0 0 0 0 0 0 0 0")), "")

    def test_not_ok(self):
        for name, status, text in (("fork", 0, "ok 1 - forks\nnot ok 2 - waits\n"), ("fork", -6, "ok 1 - forks\n"), ("fork", 0, ""),
                                   ("fork", 0, "ok 1 - forks\nlull: a reader has been in its section for 1 s\n"),
                                   ("torture-mb", 0, stress("5 1 1 0 0 0 0 0 0 0 0")), ("torture-mb", 0, "ok 1 - stresstest\n")):
            self.assertTrue(newest.judge(name, status, text), (name, status, text))

    def test_source_is_its_own_release_s(self):
        self.assertEqual([one.source_release for one in newest.CLIENTS], ["trixie"])


class Storm(unittest.TestCase):
    def test_clean(self):
        self.assertEqual(storm.judge(0, "storm: bp, 100 operations, 3 resizes, 7 objects walked over, 0 wrong\n"), ("", 100))

    def test_not_clean(self):
        good = "storm: bp, 100 operations, 3 resizes, 7 objects walked over, 0 wrong\n"
        for status, text in ((1, good), (0, good.replace("0 wrong", "2 wrong")), (0, ""), (0, good.replace("3 resizes", "0 resizes")),
                             (0, good + "==1==ERROR: AddressSanitizer: heap-use-after-free\n"), (-6, "lull: no memory\n")):
            self.assertTrue(storm.judge(status, text)[0], (status, text))


class Mutants(unittest.TestCase):
    def test_found_in_one_of_some_tries(self):
        for what in ("rcu_stress_count: 1 2 3", "status timeout: "):
            said = iter(["", what])
            self.assertEqual(mutants.tried(None, lambda room: next(said)), what)

    def test_not_found(self):
        self.assertEqual(mutants.tried(None, lambda room: ""), "")

    def test_not_tried(self):
        self.assertTrue(mutants.tried(None, lambda room: "status 127: not there").startswith("UNEXPECTED"))


class Queries(unittest.TestCase):
    def judged(self, text, status=0):
        one = load.Load(type("Room", (), {"write": lambda *_: None, "run": lambda *_, **__: (status, text)})(), 53, "z", 5, 1)
        wrong = []
        one.run()
        one.judge(wrong)
        return wrong

    def test_loads(self):
        good = "  Queries lost:  0 (0.00%)\n  Response codes:   NOERROR 10 (100.00%)\n  Queries per second:   10.5\n"
        self.assertEqual(self.judged(good), [])
        self.assertEqual(len(self.judged(good, 1)), 1)
        self.assertEqual(self.judged(good.replace("lost:  0", "lost:  3")), ["3 queries lost"])
        self.assertEqual(len(self.judged(good.replace("NOERROR 10 (100.00%)", "NOERROR 9 (90.00%), REFUSED 1 (10.00%)"))), 1)
        self.assertEqual(len(self.judged("")), 1)


class Dns(unittest.TestCase):
    """A server that gives one made-up answer."""

    def answered(self, make, ask):
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(server.close)
        server.bind(("127.0.0.1", 0))
        server.settimeout(30)

        def serve():
            message, sender = server.recvfrom(4096)
            server.sendto(make(message), sender)
        thread = threading.Thread(target=serve)
        thread.start()
        client = dns.Server(server.getsockname()[1])
        self.addCleanup(client.socket.close)
        said = ask(client)
        thread.join()
        return said

    def test_addresses(self):
        def make(message):
            records = b"".join(b"\xc0\x0c" + struct.pack(">2HIH", 1, 1, 60, 4) + bytes([10, 0, 0, at]) for at in (1, 2))
            return message[:2] + struct.pack(">5H", 0x8400, 1, 2, 0, 0) + message[12:] + records
        self.assertEqual(self.answered(make, lambda client: client.addresses("n1.zone.test")), ["10.0.0.1", "10.0.0.2"])

    def test_refused(self):
        def make(message):
            return message[:2] + struct.pack(">5H", 0x8405, 1, 0, 0, 0) + message[12:]
        self.assertEqual(self.answered(make, lambda client: client.addresses("n1.zone.test")), "RCODE 5")
        self.assertEqual(self.answered(make, lambda client: client.set_address("zone.test", "a.zone.test", "1.2.3.4")), 5)

    def test_update_names_the_zone(self):
        seen = []

        def make(message):
            seen.append(message)
            return message[:2] + struct.pack(">5H", 0xa800, 1, 0, 2, 0)
        self.assertEqual(self.answered(make, lambda client: client.set_address("zone.test", "a.zone.test", "1.2.3.4")), 0)
        self.assertEqual(seen[0][12:23], b"\4zone\4test\0")
        self.assertTrue(seen[0].endswith(bytes([1, 2, 3, 4])))


class Release(unittest.TestCase):
    def test_nothing_is_fetched_offline(self):
        with tempfile.TemporaryDirectory() as folder:
            release = debian.Release("bookworm", folder, fetch=False)
            with self.assertRaisesRegex(debian.Absent, "knot of Debian bookworm is not here"):
                release.get(["knot"])
            with self.assertRaisesRegex(debian.Absent, "the source of liburcu of Debian bookworm is not here"):
                release.source("liburcu")
            release.done(["knot", "source:liburcu"])
            release.get(["knot"])

    def test_version(self):
        with tempfile.TemporaryDirectory() as folder:
            release = debian.Release("bookworm", folder)
            (release.folder / "apt").mkdir(parents=True)
            (release.folder / "apt/status").write_text("Package: ab\nVersion: 2-3\n\nPackage: a\nVersion: 1\n", encoding="utf-8")
            self.assertEqual((release.version("ab"), release.version("a"), release.version("b")), ("2-3", "1", "?"))


class Report(unittest.TestCase):
    def setUp(self):
        loader = importlib.machinery.SourceFileLoader("clients", str(ROOT / "urcu/clients/run"))
        self.clients = importlib.util.module_from_spec(importlib.util.spec_from_loader("clients", loader))
        loader.exec_module(self.clients)
        self.client = Client("one", "bookworm", "p", (), "called", "it is run", None, (("t", "time, ms", "less"),))

    def test_ratio_is_of_the_medians(self):
        results = {"liburcu": [Result({"t": value}) for value in (1, 2, 9)], "lull": [Result({"t": value}) for value in (4, 1, 1)]}
        self.assertEqual(list(self.clients.rows(self.client, results)),
                         ["| one | time, ms | 2 [1 2 9] | 1 [4 1 1] | 0.50 | less |"])

    def test_verdicts(self):
        results = {"liburcu": [Result(checked=3)], "lull": [Result(checked=4, grace_periods=1000)]}
        self.assertEqual(self.clients.verdict(results), "clean, 1,000 grace periods of lull's, 3 and 4 answers checked")
        results["lull"][0].wrong = ["an answer"]
        self.assertTrue(self.clients.verdict(results).startswith("1 WRONG"))
        results["lull"][0] = Result(refused="lull urcu: no")
        self.assertTrue(self.clients.verdict(results).startswith("refused: lull urcu: no"))

    def test_short_form_is_there(self):
        names = {client.name for client in self.clients.CLIENTS}
        self.assertLessEqual(set(self.clients.SHORT), names)
        self.assertEqual(len(names), len(self.clients.CLIENTS))
        self.assertTrue(pathlib.Path(self.clients.FOLDER).is_relative_to(ROOT / "build"))


if __name__ == "__main__":
    unittest.main()
