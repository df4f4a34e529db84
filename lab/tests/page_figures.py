# SPDX-License-Identifier: MIT
"""The figures of lull compare three times: in its JSON, on the page, on the terminal. They are the same, rounded alike; and
what was not measured is null in the JSON, and n/a for people."""
import html
import html.parser
import re

NOT = "n/a"


def decimals(value):
    value = abs(value)
    return 2 if value < 9.995 else 1 if value < 99.95 else 0


def scaled(value, units):
    for unit in units:
        if value < 999.5 or unit == units[-1]:
            break
        value /= 1000
    text = f"{value:.{decimals(value)}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + " " + unit


def time(ns):
    return NOT if ns is None else scaled(ns, ("ns", "us", "ms", "s"))


def size(count):
    return NOT if count is None else "-" * (count < 0) + scaled(abs(count), ("B", "kB", "MB", "GB", "TB"))


def plain(value):
    return NOT if value is None else f"{value:.{decimals(value)}f}"


def of(row, key="median"):
    return None if row is None else row[key]


def spread(row, factor=1.0):
    """A median with minimum and maximum, as the page has it."""
    if of(row) is None:
        return NOT
    low, middle, high = (row[key] * factor for key in ("min", "median", "max"))
    digits = decimals(middle)
    return f"{middle:.{digits}f} {low:.{digits}f}..{high:.{digits}f}"


class Tables(html.parser.HTMLParser):
    """The tables of the page: under which headline, and the texts of all cells."""

    def __init__(self, source):
        super().__init__()
        self.tables, self.headline, self.text, self.into = [], "", None, None
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.tables.append((self.headline, []))
        elif tag == "tr":
            self.tables[-1][1].append([])
        elif tag in ("td", "th", "h2", "h3"):
            self.text, self.into = [], tag
        elif tag in ("br", "small") and self.text is not None:
            self.text.append(" ")

    def handle_endtag(self, tag):
        if tag != self.into:
            return
        text = " ".join("".join(self.text).replace("\u2019", "'").split())
        self.text = self.into = None
        if tag in ("h2", "h3"):
            self.headline = text
        else:
            self.tables[-1][1][-1].append(text)

    def handle_data(self, data):
        if self.text is not None:
            self.text.append(data)


class Figures:
    """Figures of the JSON."""

    def __init__(self, root):
        self.root = root
        self.titles = {way["title"]: way["scheme"] for way in root["ways"]}
        self.sections = {scheme["scheme"]: scheme.get("section") for scheme in root["schemes"]}

    def rows(self, instrument, scheme, metric, **keys):
        return [row for row in self.root["results"]
                if (row["instrument"], row["scheme"], row["metric"]) == (instrument, scheme, metric) and
                all(row.get(key) == value for key, value in keys.items())]

    def row(self, *args, last=False, **keys):
        """Return the one row; of two measurements of one thing the first, or the @last. None: it was not measured."""
        found = self.rows(*args, **keys)
        return found[-1 if last else 0] if found else None

    def lookups(self, scheme, threads):
        return self.row("hashscale", scheme, "operations", threads=threads, update_percent=0)

    def mixed(self, scheme, percent, cpus):
        return self.row("hashscale", scheme, "operations", threads=cpus, update_percent=percent, last=True)

    def read(self, scheme, threads):
        return self.row("refscale", self.sections[scheme], "read_section", threads=threads)

    def lock(self, name, metric, threads, hogs, longer=False):
        locks = self.root["locks"]
        section = locks["longer_ns"] if longer else 0 if locks["sleep"] else locks["section_ns"]
        return self.row("mutexscale", name, metric, threads=threads, hogs=hogs, section_ns=section)

    def times(self, name, threads, hogs, longer=False):
        rate, first = (of(self.lock(lock, "sections", threads, hogs, longer)) for lock in (name, "pthread"))
        return NOT if rate is None or not first else f"{rate / first:.2f}"


WAITS = {
    "Waiting for readers, nobody reading": "synchronize_idle",
    "Waiting for readers, one of them busy": "synchronize_busy",
    "From a deferred call to its callback, nobody reading": "call_idle",
    "From a deferred call to its callback, one busy reader": "call_busy",
    "Until a barrier returns, nobody reading": "barrier_queued_idle",
    "Until a barrier returns, one busy reader": "barrier_queued_busy",
}
LATENCY = ["", "min", "median", "90 %", "99 %", "max", "mean"]
KILLS = {
    "kill, nobody reading": ("percpu_ref", "kill_idle"),
    "kill, busy reader": ("percpu_ref", "kill_busy"),
    "membarrier, nobody": ("membarrier", "kill_idle"),
    "membarrier, busy": ("membarrier", "kill_busy"),
}
AXES = {
    "Your workload, with more or fewer updates": "updates",
    "Your workload, held for longer or shorter": "hold",
    "Your workload, with more or fewer objects": "objects",
}


def latency(row):
    return [time(of(row, key)) for key in ("min", "p50", "p90", "p99", "max", "mean")]


def page_row(figures, headline, head, label, cpus):
    """The cells that the page must have behind @label; None: a table that is not of figures."""
    units = head[0]
    if headline.startswith(("Figure 1", "Figure 4")):
        assert units == "Mops"
        return [spread(figures.lookups(label, int(threads))) for threads in head[1:]]
    if headline.startswith("Figure 5"):
        assert units == "Mops"
        return [spread(figures.mixed(label, int(percent[:-2]), cpus)) for percent in head[1:]]
    if headline == "What a read section costs":
        assert head == ["ns", "1 thread", "2 threads"]
        return [spread(figures.read(label, threads)) for threads in (1, 2)]
    if headline == "How long an update takes":
        assert head == LATENCY
        return latency(figures.row("hashscale", label, "update"))
    if headline in WAITS:
        assert head == LATENCY
        return latency(figures.row("rcuscale", label, WAITS[headline]))
    if headline.startswith("How long the kill"):
        assert head == LATENCY
        return latency(figures.row("rcuscale", *KILLS[label]))
    if headline == "What replacing an object costs":
        assert units == "ns"
        scheme, _, way = label.partition(", ")
        both = [figures.row("rcuscale", scheme, f"replace_{way}_{beside}") for beside in ("idle", "busy")]
        return [spread(row) for row in both] + [NOT if of(row) is None else str(row["peak_objects"]) for row in both]
    if headline.startswith("The slides' chart"):
        assert units == "ns"
        return [spread(figures.row("tradeoff", figures.titles[label], "get_put", threads=int(text.split()[0])))
                if "prediction" not in text else None for text in head[1:]]
    if headline in AXES:
        assert units == "ns"
        return [spread(figures.row("tradeoff", figures.titles[label], "mix", axis=AXES[headline], point=point))
                for point in range(len(head) - 1)]
    return page_row_of_locks(figures, headline, head, label) or page_row_of_decision(figures, headline, label)


def page_row_of_locks(figures, headline, head, label):
    hogs = figures.root["locks"]["hogs"]
    if headline in ("What gets done under one lock", "The same beside hogs"):
        assert head[0] == "thousand/s"
        beside = hogs if "hogs" in headline else 0
        return [spread(figures.lock(label, "sections", int(threads), beside), 1e-3) for threads in head[1:]]
    most = max(row["threads"] for row in figures.root["results"] if row["metric"] == "sections")
    if headline == "How long a section is waited for" and head[0] == "":
        name, _, beside = label.partition(", ")
        return [time(of(figures.lock(name, metric, most, hogs if beside else 0)))
                for metric in ("wait_mean", "wait_p99", "wait_p999", "wait_max", "cpu")]
    if head[0] == "lock":
        assert f"{most} thread" in head[2] and f"beside {hogs} hog" in head[4]
        return [spread(figures.row("mutexscale", label, "pair")),
                spread(figures.lock(label, "sections", most, 0), 1e-3), figures.times(label, most, 0),
                spread(figures.lock(label, "sections", most, hogs), 1e-3), figures.times(label, most, hogs),
                figures.times(label, most, 0, longer=True)] + [
                    time(of(figures.lock(label, metric, most, 0))) for metric in ("wait_mean", "wait_p999", "cpu")]
    return None


def decision(figures, label):
    """Compute what the page and the terminal say about a scheme: times, and in bytes what waits and what it adds."""
    scheme = next(scheme for scheme in figures.root["schemes"] if scheme["scheme"] == label)
    update = figures.row("hashscale", label, "update")
    waiting = max(row["deferred_bytes"] for row in figures.root["results"]
                  if row["instrument"] == "hashscale" and row["scheme"] == label and "deferred_bytes" in row) \
        if update and scheme["defers"] else None
    read, none = of(figures.read(label, 1)), of(figures.read("none", 1))
    times = NOT if read is None or not none else plain(read / none)
    return times, [time(of(update, "p50")), time(of(update, "p99")), "-" if waiting is None else size(waiting),
                   size(scheme["bytes_per_object"]), size(scheme["bytes_per_thread"]),
                   scheme["holds_up"] if scheme["reader_may_block"] else "must not sleep"]


def page_row_of_decision(figures, headline, label):
    if headline != "Every scheme, every figure":
        return None
    times, rest = decision(figures, label)
    return [spread(figures.read(label, 1)), spread(figures.read(label, 2)), times] + rest


def way_cells(figures, scheme, what, readers):
    """A column's cells of the table of four ways: what has to be in them."""
    def row(metric):
        return figures.row("tradeoff", scheme, metric)
    if what == "readers":
        rows = [(n, figures.row("tradeoff", scheme, "get_put", threads=n)) for n in readers]
        return [f"{time(of(row))} with {n} reader" for n, row in rows if of(row) is not None]
    if what == "memory overhead":
        return [f"{size(of(row('object_bytes')))} per object", f"{size(of(row('thread_bytes')))} per thread"]
    if what == "protection duration":
        times = [time(of(row("hold_wait"), key)) for key in ("p50", "max")]
        return [] if times[0] == NOT else [f"others freed after {times[0]}, at most {times[1]}"]
    if what == "traversal retries":
        restarts, again = of(row("walk_restarts")), of(row("walk_steps_again"))
        return [NOT] if restarts is None else [f"{plain(restarts)} restarts", f"{plain(again)} single steps again"]
    if what == "deferred memory":
        objects = of(row("hold_waiting"), "max")
        return [NOT] if objects is None else [f"{objects:.0f} object", size(of(row("hold_waiting_bytes"), "max"))]
    if of(row("hold_update")) is None:
        return [NOT]
    return [f"{time(of(row('hold_update'), 'p50'))}, 99 %: {time(of(row('hold_update'), 'p99'))}"]


def check_cells(case, figures, headline, table, cpus):
    head, *rows = table
    readers = sorted({row["threads"] for row in figures.root["results"] if row["metric"] == "get_put"})
    for label, *cells in rows:
        if headline.startswith("Four ways"):
            what = next(what for what in ("readers", "memory overhead", "protection duration", "traversal retries",
                                          "deferred memory", "a replacement") if label.startswith(what))
            for title, cell in zip(head[1:], cells, strict=True):
                for words in way_cells(figures, figures.titles[title], what, readers):
                    case.assertIn(words, cell, (headline, label, title))
            continue
        wanted = page_row(figures, headline, head, label, cpus)
        case.assertIsNotNone(wanted, (headline, head))
        case.assertEqual([cell for cell, want in zip(cells, wanted, strict=True) if want is not None],
                         [want for want in wanted if want is not None], (headline, label))


# Text that a point of a picture shows when the mouse is over it.
LINE_TIP = re.compile(r"(.+), (.+) (threads|updates|readers|held for|objects): (\S+)$")


def wanted_tip(figures, headline, tip, cpus):
    """The words that the tip must have; None: a prediction."""
    label, _, rest = tip.partition(": ")
    line = LINE_TIP.match(tip)
    if headline.startswith(("Figure 1", "Figure 4")):
        return f"{line[1]}, {line[2]} threads: {of(figures.lookups(line[1], int(line[2]))):.3g}"
    if headline.startswith("Figure 5"):
        return f"{line[1]}, {line[2]} updates: {of(figures.mixed(line[1], int(line[2][:-2]), cpus)):.3g}"
    if headline in ("What gets done under one lock", "The same beside hogs"):
        hogs = figures.root["locks"]["hogs"] if "hogs" in headline else 0
        return f"{line[1]}, {line[2]} threads: {of(figures.lock(line[1], 'sections', int(line[2]), hogs)) / 1e3:.3g}"
    if headline.startswith("The slides' chart"):
        row = line and figures.row("tradeoff", figures.titles[line[1]], "get_put", threads=int(line[2]))
        return f"{line[1]}, {line[2]} readers: {of(row):.3g}" if row else None
    if headline == "What a read section costs":
        return f"{label}: {time(of(figures.read(label, 1)))} and {time(of(figures.read(label, 2)))}"
    if headline == "What replacing an object costs":
        scheme, _, way = label.partition(", ")
        return f"{label}: " + " and ".join(time(of(figures.row("rcuscale", scheme, f"replace_{way}_{beside}")))
                                            for beside in ("idle", "busy"))
    if headline == "How long a section is waited for":
        name, _, beside = label.partition(", ")
        most = max(row["threads"] for row in figures.root["results"] if row["metric"] == "sections")
        hogs = figures.root["locks"]["hogs"] if beside else 0
        mean, p99, p999, longest = (time(of(figures.lock(name, metric, most, hogs)))
                                    for metric in ("wait_mean", "wait_p99", "wait_p999", "wait_max"))
        return f"{label}: mean {mean}, 99 % {p99}, 99.9 % {p999}, longest {longest}"
    if headline in AXES:
        scheme = figures.titles[line[1]]
        values = {f"{of(row):.3g}" for row in figures.rows("tradeoff", scheme, "mix", axis=AXES[headline])}
        return tip if line[4] in values else f"{line[1]}: one of {values}"
    times = latency(figures.row("hashscale", label, "update") if headline == "How long an update takes" else
                    figures.row("rcuscale", *(KILLS[label] if label in KILLS else (label, WAITS[headline]))))
    return f"{label}: min {times[0]}, median {times[1]}, 90 % {times[2]}, 99 % {times[3]}, max {times[4]}"


def check_tips(case, figures, source, cpus):
    for part in source.split("<figure>")[1:]:
        part = html.unescape(part.partition("</figure>")[0]).replace("\u2019", "'")
        headline = re.search(r"<h3>(.*?)</h3>", part)[1]
        tips = [tip for tip in re.findall(r"<title>(.*?)</title>", part) if "(prediction)" not in tip]
        case.assertTrue(tips, headline)
        with case.subTest("points", headline=headline):
            for tip in tips:
                case.assertEqual(tip, wanted_tip(figures, headline, tip, cpus), headline)


def check_page(case, root, source, cpus):
    """Each cell of each table, and what the points of the pictures say."""
    figures, seen = Figures(root), set()
    for headline, table in Tables(source).tables:
        seen.add(headline)
        with case.subTest("table", headline=headline):
            check_cells(case, figures, headline, table, cpus)
    for headline in [*WAITS, *AXES, "Every scheme, every figure", "What gets done under one lock", "The same beside hogs",
                     "How long a section is waited for", "What a read section costs", "Figure 1: locks do not scale",
                     "Figure 4: what does", "Figure 5: by fraction of updates", "How long an update takes",
                     "How long the kill of a percpu_ref takes", "What replacing an object costs",
                     "The slides' chart: what a read costs each reader"]:
        case.assertIn(headline, seen)
    check_tips(case, figures, source, cpus)


# ---- the terminal


def terminal_table(text, first):
    """The rows of the table whose head begins with @first."""
    lines = iter(text[text.index("\n" + first) + 1:].splitlines())
    head = re.split(r" {2,}", next(lines))
    rows = []
    for line in lines:
        if not line.strip():
            break
        cells = re.split(r" {2,}", line.strip())
        if len(cells) != len(head):
            break
        rows.append(cells)
    return head, rows


def thousands(row):
    if of(row) is None:
        return NOT
    value = row["median"] / 1e3
    return f"{value:.{2 if value < 9.95 else 0}f}"


def check_terminal(case, root, text, cpus):
    figures = Figures(root)
    for check in (check_terminal_schemes, check_terminal_throughput, check_terminal_ways, check_terminal_workload,
                  check_terminal_locks):
        with case.subTest(check.__name__):
            check(case, figures, text, cpus)


def check_terminal_schemes(case, figures, text, _cpus):
    _, rows = terminal_table(text, "scheme ")
    case.assertEqual([row[0] for row in rows], [scheme["scheme"] for scheme in figures.root["schemes"]])
    for label, *cells in rows:
        times, rest = decision(figures, label)
        case.assertEqual(cells, [plain(of(figures.read(label, 1))), plain(of(figures.read(label, 2))),
                                 times if times == NOT else "x" + times] + rest, label)


def check_terminal_throughput(case, figures, text, cpus):
    head, rows = terminal_table(text, "M operations/s ")
    case.assertEqual(len(rows), len(figures.root["schemes"]))
    for label, *cells in rows:
        case.assertEqual(cells, [plain(of(figures.lookups(label, int(what.split()[0])) if what.endswith("thr") else
                                          figures.mixed(label, int(what.split()[0]), cpus))) for what in head[1:]], label)


def check_terminal_locks(case, figures, text, _cpus):
    head, rows = terminal_table(text, "lock ")
    locks = figures.root["locks"]
    most, hogs = max(row["threads"] for row in figures.root["results"] if row["metric"] == "sections"), locks["hogs"]
    case.assertEqual(head, ["lock", "alone", "k/s", "x", "hogs: k/s", "x", time(locks["longer_ns"]) + ": x", "wait", "p99.9",
                            "CPU time"])
    case.assertEqual([row[0] for row in rows], list(locks["times_pthread"]))
    for label, *cells in rows:
        case.assertEqual([cell.removeprefix("x") for cell in cells], [
            time(of(figures.row("mutexscale", label, "pair"))), thousands(figures.lock(label, "sections", most, 0)),
            figures.times(label, most, 0), thousands(figures.lock(label, "sections", most, hogs)),
            figures.times(label, most, hogs), figures.times(label, most, 0, longer=True)] + [
                time(of(figures.lock(label, metric, most, 0))) for metric in ("wait_mean", "wait_p999", "cpu")], label)


def check_terminal_workload(case, figures, text, _cpus):
    """The workload that was described: what an operation takes, and what waits."""
    head, rows = terminal_table(text, "way ")
    case.assertEqual(head, ["way", "an operation", "least", "most", "rounds", "a read", "waits"])
    workload = figures.root["workload"]
    said = {way["said"]: way["scheme"] for way in figures.root["ways"]}
    point = workload["points"]["updates"].index(workload["updates"])
    for label, *cells in rows:
        mix = figures.row("tradeoff", said[label], "mix", axis="updates", point=point)
        reads = figures.rows("tradeoff", said[label], "get_put")
        case.assertEqual(cells, [time(of(mix, key)) for key in ("median", "min", "max")] + [
            str(len(mix["rounds"])), time(of(reads[-1])), size(mix["waiting_bytes"])], label)
    case.assertEqual(len(rows), len(said))


def check_terminal_ways(case, figures, text, _cpus=0):
    def retries(row):
        value = of(row)
        return NOT if value is None else f"{value:.{2 if 0 < value < 9.95 else 0}f}"
    def whole(value):
        return NOT if value is None else f"{value:.0f}"
    lines = {  # what the line begins with -> the cell of a way
        "Memory overhead, per object": lambda get: size(of(get("object_bytes"))),
        "per thread": lambda get: size(of(get("thread_bytes"))),
        "slow reader: others' wait": lambda get: time(of(get("hold_wait"), "p50")),
        "at most": lambda get: time(of(get("hold_wait"), "max")),
        "Traversal retries: restarts": lambda get: retries(get("walk_restarts")),
        "of one step": lambda get: retries(get("walk_steps_again")),
        "Deferred memory, objects": lambda get: whole(of(get("hold_waiting"), "max")),
        "bytes": lambda get: size(of(get("hold_waiting_bytes"), "max")),
        "Update, slow reader": lambda get: time(of(get("hold_update"), "p50")),
    }
    head, rows = terminal_table(text, "property ")
    case.assertEqual({row[0] for row in rows} & set(lines), set(lines))
    for label, *cells in rows:
        for title, cell in zip(head[1:], cells, strict=True):
            scheme = figures.titles[title]
            readers = re.fullmatch(r"Readers, (\d+) threads?", label)
            if readers:
                wanted = time(of(figures.row("tradeoff", scheme, "get_put", threads=int(readers[1]))))
            elif label in lines:
                wanted = lines[label](lambda metric, scheme=scheme: figures.row("tradeoff", scheme, metric))
            else:
                case.assertEqual(label, "Protection duration")
                continue
            case.assertEqual(cell, wanted, (label, title))


def check_nulls(case, root):
    """Check that a figure that was not measured is null, never a number."""
    for row in root["results"]:
        if row["median"] is None:
            figures = [row[key] for key in ("min", "max", "mean", "p50", "p90", "p99") if key in row]
            case.assertEqual(set(figures), {None}, row)
        if "count" in row:
            case.assertEqual(row["count"] > 0, row["median"] is not None, row)
        if "steps" in row:
            case.assertEqual(row["steps"] > 0, row["median"] is not None, row)
