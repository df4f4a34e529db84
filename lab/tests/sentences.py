# SPDX-License-Identifier: MIT
"""Each sentence of lull compare's answer against its tables. One that is not known here is an error, and so is one that the
figures do not bear out."""
import math
import re

import page_figures

LEVEL, BEHIND, SCATTER_MOST, SCATTER_LITTLE, LOADED = 1.05, 1.10, 0.15, 0.04, 0.25
HEAVY_WAITING = 16e6
AXES = {"updates": "updates", "hold": "hold_ns", "objects": "objects"}
NEAR = 1e-5  # the JSON has six digits


def times(value):
    return f"{value:.{2 if value < 1.995 else 1 if value < 9.95 else 0}f}"


def of_to(low, high):
    return low if low == high else f"{low} to {high}"


class Report:
    """The figures that the sentences are about."""

    def __init__(self, case, root):
        self.case, self.root, self.work, self.verdict = case, root, root["workload"], root["verdict"]
        self.ways = {way["scheme"]: way for way in root["ways"]}
        self.said = {way["said"]: way["scheme"] for way in root["ways"]}
        self.rows, self.points, self.own = {}, {}, {}
        for row in root["results"]:
            if row.get("instrument", "tradeoff") != "tradeoff":
                continue
            if row["metric"] == "mix":
                self.points[row["scheme"], row["axis"], row["point"]] = row
            elif row["metric"] != "get_put":
                self.rows[row["scheme"], row["metric"]] = row
            elif row["threads"] == self.work["threads"]:
                self.rows[row["scheme"], "read"] = row
        for axis, key in AXES.items():
            self.own[axis] = self.work["points"][axis].index(self.work[key])

    def row(self, way, place=None):
        axis, point = place or ("updates", self.own["updates"])
        found = self.points.get((way, axis, point))
        return found if found and found["median"] is not None else None

    def ns(self, way, place=None):
        return self.row(way, place)["median"]

    def time(self, way, place=None):
        return page_figures.time(self.ns(way, place))

    def range(self, way, place=None):
        row = self.row(way, place)
        return of_to(page_figures.time(row["min"]), page_figures.time(row["max"]))

    def usable(self, place=None):
        return [name for name, way in self.ways.items()
                if self.row(name, place) and not (self.work["block"] and way["may_not_block"])]

    def ratio(self, way, than, place=None):
        """Low and high, round by round, with the ratio of the medians in between."""
        a, b = self.row(way, place), self.row(than, place)
        each = sorted(x / y for x, y in zip(a["rounds"], b["rounds"]))
        middle, n = a["median"] / b["median"], len(each)
        if n < 6:
            return 0, math.inf
        out = max(0, int((n - 2.58 * math.sqrt(n)) / 2))
        return min(each[out], middle), max(each[n - 1 - out], middle)

    def scatter(self, way, than, place=None):
        low, high = self.ratio(way, than, place)
        return (high - low) / 2 / (self.ns(way, place) / self.ns(than, place))

    def memory(self, way, place=None):
        def median(metric):
            return max(0, page_figures.of(self.rows.get((way, metric))) or 0)
        axis, point = place or (None, None)
        objects = self.work["points"]["objects"][point] if axis == "objects" else self.work["objects"]
        waiting = self.row(way, place)["waiting_bytes"]
        return median("object_bytes") * objects + median("thread_bytes") * self.work["threads"] + \
            (waiting if waiting > HEAVY_WAITING else 0)

    def names(self, text):
        return [self.said[name] for name in re.split(", | and ", text)]

    def is_level(self, way, place=None):
        fastest = min(self.usable(place), key=lambda name: self.ns(name, place))
        return self.ratio(way, fastest, place)[1] <= LEVEL + NEAR

    def check_tie(self, best, tied, words, place=None):
        """@words: "A to B with NAMES, and REASON". Each is level or its lead is below the scatter, and no other ranked one is."""
        case = self.case
        what = re.fullmatch(r"an operation takes (.*?) with (.*), and (none of the others is easier to use than (.*)|"
                            r"those that are easier to use than (.*) take more memory)", words)
        case.assertTrue(what, words)
        names = self.names(what[2])
        case.assertEqual(sorted(names), sorted([best, *tied]))
        all_ns = [self.ns(name, place) for name in names]
        case.assertEqual(what[1], of_to(page_figures.time(min(all_ns)), page_figures.time(max(all_ns))))
        case.assertEqual(self.said[what[4] or what[5]], best)
        for name in tied:
            case.assertTrue(self.ratio(name, best, place)[0] <= 1 + NEAR or self.is_level(name, place), (name, words))
        easier = [name for name in tied if self.ways[name]["effort"] < self.ways[best]["effort"]]
        case.assertEqual(bool(easier), what[4] is None, words)
        for name in easier:
            case.assertGreater(self.memory(name, place), self.memory(best, place), words)

    def check_clear(self, best, but):
        """All that are not named otherwise are slower beyond the scatter."""
        for name in self.usable():
            if name != best and name not in but:
                self.case.assertGreater(self.ratio(name, best)[0], 1 - NEAR, name)

    def place(self, text):
        """("updates", 2) of "1 % updates"."""
        for axis, values in self.work["points"].items():
            for point, value in enumerate(values):
                told = f"{100 * value:.3g} % updates" if axis == "updates" else \
                    ("no hold" if not value else f"a hold of {page_figures.time(value)}") if axis == "hold" else \
                    "one object" if value == 1 else f"{value:.0f} objects"
                if told == text:
                    return axis, point
        raise AssertionError(text)


# ---- a function for each kind of line; its groups are what it says -------------------------------

def use(report, said, header, rest):
    case, best = report.case, report.said[said]
    verdict = report.verdict
    case.assertEqual(best, verdict["use"])
    case.assertIn(best, report.usable())
    case.assertEqual(header, report.ways[best]["header"])
    report.check_clear(best, [*verdict["tied"], *verdict["not_ranked"]])
    tie = re.fullmatch(r" It (makes no difference here|is a tie, within 5 % or the scatter): (.*?)[.](?: With (.*) it takes (.*)[.])?",
                       rest)
    case.assertEqual(bool(tie), bool(verdict["tied"]), rest)
    if tie:
        report.check_tie(best, verdict["tied"], tie[2])
        if tie[1].startswith("makes"):
            case.assertEqual(sorted([best, *verdict["tied"]]), sorted(report.usable()))
        if tie[3]:
            other = report.said[tie[3]]
            case.assertNotIn(other, verdict["tied"])
            case.assertEqual(tie[4], report.time(other))
        return
    alone = re.fullmatch(r" An operation of your workload takes (.*); nothing else was measured that may be used[.]", rest)
    if alone:
        case.assertEqual(alone[1], report.time(best))
        case.assertEqual(report.usable(), [best])
        return
    told = re.fullmatch(r"(?: A read takes (.*?), with (.*?) ([\d.]+ \w+)(?:, when (\d+) threads read the same object)?[.])?"
                        r" An operation of your workload takes (.*?), with (.*) ([\d.]+ \w+)[.]", rest)
    case.assertTrue(told, rest)
    other = report.said[told[6]]
    case.assertEqual([told[5], told[7]], [report.time(best), report.time(other)])
    case.assertGreater(report.ns(other), report.ns(best))
    if told[1]:
        mine, theirs = report.rows[best, "read"], report.rows[other, "read"]
        case.assertEqual(report.said[told[2]], other)
        case.assertEqual([told[1], told[3]], [page_figures.time(mine["median"]), page_figures.time(theirs["median"])])
        case.assertGreater(theirs["min"], mine["max"])
        case.assertLess(report.work["updates"], 1)


def no_winner(report, names, figures):
    close = report.verdict["close"]
    report.case.assertEqual(report.names(names), close)
    report.case.assertEqual(re.split(", | and ", figures), [report.time(name) for name in close])
    fastest = min(report.usable(), key=report.ns)
    for name in close:
        report.case.assertLessEqual(report.ratio(name, fastest)[0], BEHIND + NEAR)


def others_of_close(report, those):
    close = report.verdict["close"]
    report.case.assertEqual(bool(those), report.work["block"])
    for name in set(report.usable()) - set(close):
        report.case.assertTrue(report.ns(name) > min(map(report.ns, close)) or
                               report.memory(name) > min(map(report.memory, close)) or
                               report.ways[name]["effort"] >= max(report.ways[one]["effort"] for one in close), name)


def lead(report, words):
    """Check "round by round, ... Rounds took ..."; return the two ways."""
    case = report.case
    told = re.fullmatch(r"round by round, an operation takes (.*?) times as long with (.*?)(, the next best,)? as with (.*?)"
                        r"(, which does not say which to use)?[.] Rounds took (.*), and (.*)[.]", words)
    case.assertTrue(told, words)
    way, than = report.said[told[2]], report.said[told[4]]
    low, high = report.ratio(way, than)
    case.assertEqual(told[1], of_to(times(low), times(high)))
    case.assertEqual([told[6], told[7]], [report.range(way), report.range(than)])
    if told[3]:
        rest = set(report.usable()) - {than, *report.verdict["tied"], *report.verdict["not_ranked"]}
        case.assertEqual(way, min(rest, key=report.ns))
        case.assertGreater(low, 1 - NEAR)
    elif report.verdict["use"]:
        case.assertIn(way, report.verdict["tied"])
    case.assertAlmostEqual(report.verdict["scatter"], report.scatter(way, than), delta=1e-4)
    return way, than


def check_load(report, words):
    load = report.work["others_cpus"]
    report.case.assertEqual(bool(words), load > LOADED, words)
    if words:
        report.case.assertIn(f" {load:.1f} of {report.root['machine']['cpus_allowed']} CPUs", words)


def confidence(report, how, words, two_runs, load):
    both = lead(report, words)
    repeats = all((report.row(way)["max"] - report.row(way)["min"]) / 2 <= SCATTER_MOST * report.ns(way) for way in both)
    sure = report.scatter(*both) <= SCATTER_LITTLE and report.work["others_cpus"] <= LOADED and repeats
    close = report.verdict["outcome"] == "close"
    report.case.assertEqual(how, "none in any of them" if close else "high" if sure else "fair")
    report.case.assertEqual(bool(two_runs), close)
    report.case.assertLessEqual(0 if not close and report.ratio(*both)[0] > BEHIND else report.scatter(*both), SCATTER_MOST + NEAR)
    check_load(report, load)


def not_ranked(report, said, figures):
    way = report.said[said]
    report.case.assertIn(way, report.verdict["not_ranked"])
    report.case.assertEqual(figures, report.range(way))
    fastest = min(report.usable(), key=report.ns)
    report.case.assertGreater(max(report.scatter(way, fastest), report.scatter(way, report.verdict["use"] or fastest)),
                              SCATTER_MOST - NEAR)


def cost(report, words):
    way, told = report.verdict["use"], []
    for metric, per in (("object_bytes", "object"), ("thread_bytes", "thread")):
        median = page_figures.of(report.rows.get((way, metric))) or 0
        if median >= 1:
            told.append(f"{page_figures.size(median)}{'' if told else ' more'} for each {per}")
    waits = max(report.row(way)["waiting_bytes"], page_figures.of(report.rows.get((way, "hold_waiting_bytes")), "max") or 0)
    waits = f"up to {page_figures.size(waits)} of memory waits to be freed" if waits > 0 and report.work["updates"] > 0 else ""
    said = ", ".join(told) + (", and " if told and waits else "") + waits
    unknown = not report.ways[way]["is_lock"] and None in [page_figures.of(report.rows.get((way, metric)))
                                                           for metric in ("object_bytes", "hold_waiting_bytes")]
    first = said + (", as far as it was measured." if unknown else ".") if said else \
        "what it takes in memory was not measured." if unknown else "none in memory."
    report.case.assertTrue(words.startswith(first), (words, first))
    rest = re.fullmatch(r"(?: Not for readers that sleep: (.*?)(?: \(use (.*) there\))?[.])?", words[len(first):])
    report.case.assertTrue(rest, words)
    report.case.assertEqual(rest[1], None if report.work["block"] else report.ways[way]["may_not_block"])
    if rest[2]:
        report.case.assertIsNone(report.ways[report.said[rest[2]]]["may_not_block"])
        report.case.assertEqual(report.said[rest[2]], report.verdict["if_readers_sleep"])


def forbidden(report, said, why, stayed, waited, held):
    way = report.ways[report.said[said]]
    report.case.assertTrue(report.work["block"])
    report.case.assertEqual(why, way["may_not_block"])
    if stayed:
        report.case.assertEqual(stayed, page_figures.time(report.work["slow_ns"]))
        report.case.assertEqual(waited, page_figures.time(report.rows[way["scheme"], "hold_wait"]["max"]))
        report.case.assertEqual(held, page_figures.size(report.rows[way["scheme"], "hold_waiting_bytes"]["max"]))


def if_awake(report, said):
    report.case.assertEqual(report.said[said], report.verdict["if_readers_do_not_sleep"])


def if_bounded(report, said):
    report.case.assertFalse(report.ways[report.said[said]]["unbounded"])
    report.case.assertTrue(report.ways[report.verdict["use"]]["unbounded"])


def prediction(report, threads, then, first, other, second):
    verdict = report.verdict
    way = verdict["use"] if then == "the same" else report.said[then]
    report.case.assertEqual([way, int(threads)], [verdict["predicted"], verdict["predicted_threads"]])
    report.case.assertIn(way, report.usable())

    def number(text):
        value, unit = text.split()
        return float(value) * {"ns": 1, "us": 1e3, "ms": 1e6}[unit]
    read = report.rows[way, "read"]["median"]
    report.case.assertTrue(number(first) >= number(page_figures.time(read)), first)
    if other:
        report.case.assertLessEqual(number(first), number(second))
        report.case.assertNotEqual(report.said[other], way)


def change(report, where, said, words):
    place, way, best = report.place(where), report.said[said], report.verdict["use"]
    axis, point = place
    found = [one for one in report.verdict["changes"]
             if one["of"] == AXES[axis] and abs(one["at"] - report.work["points"][axis][point]) <= NEAR * one["at"]]
    report.case.assertEqual([one["use"] for one in found], [way])
    if words.startswith("it is a tie, within 5 % or the scatter: "):
        words = words[len("it is a tie, within 5 % or the scatter: "):]
        names = report.names(re.fullmatch(r"an operation takes .*? with (.*), and (?:none|those) .*", words)[1])
        report.case.assertIn(best, names)
        report.check_tie(way, [name for name in names if name != way], words, place)
        return
    told = re.fullmatch(r"an operation takes (.*), with (.*) ([\d.]+ \w+)", words)
    report.case.assertTrue(told, words)
    report.case.assertEqual([told[1], report.said[told[2]], told[3]], [report.time(way, place), best, report.time(best, place)])
    report.case.assertGreater(report.ratio(best, way, place)[0], 1 - NEAR, words)


def unchanged(report, words):
    """The answer is level with the fastest at every point from one end to the other."""
    best = report.verdict["use"]
    for first, last in re.findall(r"from (.*?) to (.*?)(?:, (?=from)|$)", words):
        axis, low = report.place(first)
        _, high = report.place(last)
        report.case.assertLess(low, high)
        report.case.assertTrue(low <= report.own[axis] <= high)
        for point in range(low, high + 1):
            report.case.assertTrue(report.is_level(best, (axis, point)), (words, axis, point))


def no_verdict(report, words):
    both = lead(report, words)
    report.case.assertGreater(report.scatter(*both), SCATTER_MOST / 2 - NEAR)
    report.case.assertLess(report.ratio(*both)[0], 1.10 + NEAR, words)


def few_rounds(report, number, plural):
    rounds = len(report.row(min(report.usable(), key=report.ns))["rounds"])
    report.case.assertEqual((int(number), plural), (rounds, "" if rounds == 1 else "s"))
    report.case.assertLess(rounds, 6)


def nothing(report, *_):
    report.case.assertLessEqual(len(report.usable()), 1)


def missing(report, load):
    check_load(report, load)


def debug(_report, *_):
    pass  # nothing that a table could say


LINES = (
    (r"Use (.+?)(?: \((lull/.*?)\))?[.](.*)", use),
    (r"No winner: (.*) may differ by less than 10 %[.] Take the one that you know best[.] An operation takes (.*)[.]", no_winner),
    (r"All others( that may be used)? take longer than the fastest of these, take more memory or are no easier to use[.]",
     others_of_close),
    (r"Confidence: (high|fair|none in any of them): (.*?)( Two runs may differ by 10 %[.])?( Other programs used .* CPUs meanwhile[.])?",
     confidence),
    (r"Confidence: there was nothing to compare with[.]", nothing),
    (r"Confidence: low: this is a debug build, in which lull's own ways take longer than they would[.]", debug),
    (r"Confidence: none[.]", debug),
    (r"Not ranked: (.*), whose figures scatter too much: an operation took (.*)[.]", not_ranked),
    (r"Cost: (.*)", cost),
    (r"Not (.*), because readers sleep: (.*?)(?:[.] A reader that stayed (.*?) made others wait up to (.*?) for memory, and (.*?) wait, "
     r"at \d+ updates a second)?[.]", forbidden),
    (r"If readers need not sleep: (.*)[.]", if_awake),
    (r"If memory must stay bounded while a reader stalls: (.*)[.]", if_bounded),
    (r"With (\d+) threads that read the same object: (.*?)[.] A read is predicted, not measured, to take (.*?)(?:, with (.*) ([\d.]+ \w+))?"
     r"[.]", prediction),
    (r"With \d+ threads: not known[.] Only one thread was measured, and it never waits for another[.]", debug),
    (r"With (.*?): (.*?); (.*)[.]", change),
    (r"The same answer (.*); one of them changed at a time[.]", unchanged),
    (r"No verdict: (round by round, .*)", no_verdict),
    (r"No verdict: (\d+) round(s?) of measurements cannot say how the figures scatter[.]", few_rounds),
    (r"No verdict: nothing was measured that may be used[.]", nothing),
    (r"What is missing:( an idle machine \(other programs used .* CPUs\), or)? more time \(--seconds=\d+\)[.]", missing),
    (r"What is missing: at least 6 rounds \(--runs\)[.]", debug),
)


def check(case, root):
    """Return the kinds of sentences that there were."""
    report, kinds = Report(case, root), set()
    for line in root["answer"]:
        for pattern, function in LINES:
            told = re.fullmatch(pattern, line)
            if told:
                function(report, *told.groups())
                kinds.add(pattern)
                break
        else:
            case.fail(f"no table says: {line}")
    return kinds
