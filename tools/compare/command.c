/* SPDX-License-Identifier: MIT */
/*
 * lull compare: what each protection costs on this machine, over these keys, and which one to use.
 *
 * Runs the other instruments in a short form, each as a process of its own, as from the command
 * line: then none sees what another left in memory, and the figures are those that anybody gets
 * from them. Their results come as JSON through a pipe.
 */
#include "compare/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/commands.h"
#include "common/cpus.h"
#include "common/figures.h"
#include "common/json.h"
#include "common/options.h"
#include "common/peers.h"
#include "common/text_table.h"
#include "common/units.h"
#include "common/workload.h"
#include "compare/instrument.h"
#include "compare/locks.h"
#include "hash_scheme.h"
#include "report/compare_report.h"
#include "scale/key_list.h"

#define DEFAULT_SECONDS 92.0
#define DEFAULT_REPORT "lull-report.html"
#define WIDTH 100 /* of lines, or as wide as a terminal that is narrower */
#define REPLACE_OBJECTS 100000
#define SCHEMES_MAX 32

/* Shares of the time. */
#define SHARE_LOOKUPS 0.165
#define SHARE_MIXED 0.35
#define SHARE_REFSCALE 0.06
#define SHARE_RCUSCALE 0.155
#define SHARE_TRADEOFF 0.14
#define SHARE_LOCKS 0.13

static const unsigned percents[] = { 0, 1, 3, 10, 33, 100 };

#define NR_PERCENTS (sizeof(percents) / sizeof(percents[0]))

/* Colours that stay apart for who sees few, in each picture; marks that do without them. */
static const struct compare_style styles[] = {
	{ "none", CHOOSE_UNPROTECTED, 0, NULL, true, false, 1, "#8a8f98", "#8b949e" },
	{ "rcu", CHOOSE_DEFERRED, 3, NULL, false, false, 7, "#0b57d0", "#6ea8fe" },
	{ "rcu-qsbr", CHOOSE_DEFERRED, 4, "threads can report quiescent states", false, false, 9,
	  "#5b8def", "#b3cdff" },
	{ "lull-hash", CHOOSE_DEFERRED, 2, NULL, false, false, 5, "#00869b", "#39c5d8" },
	{ "hazptr", CHOOSE_DEFERRED, 5, NULL, true, true, 13, "#007a5a", "#4fd1a5" },
	{ "hazptr-rcu", CHOOSE_DEFERRED, 4, NULL, true, false, 12, "#3f8f7f", "#8fdcc8" },
	{ "shazptr", CHOOSE_DEFERRED, 2, NULL, false, false, 8, "#1c7ed6", "#4dabf7" },
	{ "seqlock", CHOOSE_LOCK, 3, "elements need never be freed", false, false, 2, "#3a7d00",
	  "#9bd35a" },
	{ "brlock", CHOOSE_LOCK, 1, NULL, false, false, 4, "#8a6d00", "#d8b83a" },
	{ "spinlock", CHOOSE_LOCK, 0, NULL, false, false, 6, "#6e40c9", "#b79bff" },
	{ "mutex", CHOOSE_LOCK, 0, NULL, false, false, 8, "#57606a", "#9aa4af" },
	{ "rwlock", CHOOSE_LOCK, 0, NULL, false, false, 10, "#7a4a2b", "#d9a06f" },
	{ "refcount", CHOOSE_LOCK, 1, NULL, true, false, 5, "#c8470a", "#ff9466" },
	{ "refcount-lock", CHOOSE_LOCK, 1, NULL, true, false, 12, "#a3261f", "#ff8a80" },
	{ "percpu_ref", CHOOSE_DEFERRED, 5, NULL, true, false, 4, "#b0417f", "#f29ac6" },
	{ "liburcu-memb", CHOOSE_DEFERRED, 3, NULL, false, false, 7, "#1a7f37", "#56d364" },
	{ "liburcu-mb", CHOOSE_DEFERRED, 3, NULL, false, false, 8, "#2da44e", "#7ee787" },
	{ "liburcu-qsbr", CHOOSE_DEFERRED, 4, "threads can report quiescent states", false, false,
	  9, "#0f5323", "#a3f0b1" },
	{ "liburcu-bp", CHOOSE_DEFERRED, 3, NULL, false, false, 10, "#57ab5a", "#3fb950" },
	{ "liburcu-lfht", CHOOSE_DEFERRED, 2, NULL, false, false, 5, "#6a9a1f", "#b4d76b" },
	{ "ck-epoch", CHOOSE_DEFERRED, 3, NULL, false, false, 7, "#8250df", "#d2a8ff" },
	{ "ck-ht", CHOOSE_DEFERRED, 3, NULL, false, false, 5, "#5a32a3", "#b083f0" },
};

static const struct compare_style plain_style = {
	"", CHOOSE_UNPROTECTED, 0, NULL, false, false, 1, "#57606a", "#8b949e"
};

#define WAIT_BUSY 1 /* which of these tells how long updaters wait */

/* ---- options --------------------------------------------------------------------------------- */

/* What their results are kept under. */
enum {
	LOOKUPS,
	MIXED,
	REFSCALE,
	RCUSCALE,
	TRADEOFF,
	LOCKS,
	INSTRUMENTS = LOCKS + COMPARE_LOCKS_ROOTS
};

struct settings {
	const char *keys, *elements, *buckets, *report;
	struct workload work;
};

enum { OPT_KEYS = OPTIONS_OWN_KEYS, OPT_ELEMENTS, OPT_BUCKETS, OPT_REPORT };

static const struct argp_option own_options[] = {
	{ "keys", OPT_KEYS, "FILE", 0, "your keys, one per line; else the paths under " KEYS_ROOT,
	  0 },
	{ "elements", OPT_ELEMENTS, "N", 0, "use at most N keys; without --keys: N integers", 0 },
	{ "buckets", OPT_BUCKETS, "N", 0, "a power of two; else one for each key", 0 },
	{ "report", OPT_REPORT, "FILE", 0, "where the report goes; else " DEFAULT_REPORT, 0 },
	WORKLOAD_OPTIONS,
	{ 0 }
};

static void own_option(int key, char *arg, struct options *opt)
{
	struct settings *s = opt->own;

	if (workload_option(&s->work, key, arg))
		return;
	if (key == OPT_KEYS)
		s->keys = arg;
	else if (key == OPT_ELEMENTS)
		s->elements = arg;
	else if (key == OPT_BUCKETS)
		s->buckets = arg;
	else
		s->report = arg;
}

/* ---- the instruments ------------------------------------------------------------------------- */

/* All that a module has: "rcu-builtin", which none has, is no protection of its own. */
static char *all_schemes(void)
{
	static const char *const any_order[] = { NULL };
	const void *found[SCHEMES_MAX];
	size_t count = peers_schemes(PEER_HASH, any_order, found, SCHEMES_MAX), i;
	char *list = options_printf("--schemes=");

	for (i = 0; i < count; i++)
		list = compare_append(compare_append(list, i ? "," : ""),
				      ((const struct bench_hash_scheme *)found[i])->name);
	return list;
}

static void add_table_args(struct compare_command *c, const struct settings *s,
			   const struct options *opt)
{
	char *list;
	size_t i;

	if (s->keys)
		compare_arg(c, "--keys=%s", s->keys);
	if (s->elements)
		compare_arg(c, "--elements=%s", s->elements);
	if (s->buckets)
		compare_arg(c, "--buckets=%s", s->buckets);
	if (opt->schemes)
		list = options_printf("--schemes=%s", opt->schemes[0]);
	else
		list = all_schemes();
	for (i = 1; i < opt->nr_schemes; i++)
		list = compare_append(compare_append(list, ","), opt->schemes[i]);
	compare_arg(c, "%s", list);
	free(list);
	if (opt->runs)
		compare_arg(c, "--runs=%u", opt->runs);
}

static json_t *run_hashscale(const struct settings *s, const struct options *opt,
			     const unsigned *threads, size_t nr_threads, const unsigned *updates,
			     size_t nr_updates, double seconds)
{
	struct compare_command c = { 0 };

	compare_arg(&c, "lull");
	compare_arg(&c, "hashscale");
	add_table_args(&c, s, opt);
	compare_numbers(&c, "--threads", threads, nr_threads);
	compare_numbers(&c, "--updates", updates, nr_updates);
	compare_seconds(&c, seconds);
	return compare_run(&c);
}

static json_t *run_refscale(const char *sections, double seconds)
{
	struct compare_command c = { 0 };

	compare_arg(&c, "lull");
	compare_arg(&c, "refscale");
	compare_arg(&c, "--schemes=%s", sections);
	compare_arg(&c, "--threads=1,2");
	compare_seconds(&c, seconds / 2);
	return compare_run(&c);
}

/* What an instrument lists, one scheme per line, the name first. */
static char *list_of(const char *instrument)
{
	char *path = options_printf("exec /proc/%d/exe %s --list", (int)getpid(), instrument),
	     *listed = NULL;
	size_t room = 0;
	FILE *file = popen(path, "r");

	if (!file || getdelim(&listed, &room, 0, file) < 0 || pclose(file) != 0)
		options_fail("'lull %s --list' failed", instrument);
	free(path);
	return listed;
}

static bool is_listed(const char *listed, const char *name)
{
	size_t length = strlen(name);
	const char *line;

	for (line = listed; *line; line += line[0] == '\n') {
		if (!strncmp(line, name, length) && line[length] == ' ')
			return true;
		line += strcspn(line, "\n");
	}
	return false;
}

/* The names of a list that the instrument knows; the list is freed. */
static char *known_names(char *names, const char *instrument)
{
	char *listed = list_of(instrument), *known = options_printf("%s", ""), *rest = names, *name;

	while ((name = strsep(&rest, ",")) != NULL)
		if (is_listed(listed, name))
			known = compare_append(compare_append(known, *known ? "," : ""), name);
	free(listed);
	free(names);
	return known;
}

/* What it takes for seconds is for one scheme, in one setup, of one kind. */
static json_t *run_rcuscale(const char *schemes, double seconds)
{
	struct compare_command c = { 0 };
	unsigned count = 1;
	const char *p;

	for (p = schemes; *p; p++)
		count += *p == ',';

	compare_arg(&c, "lull");
	compare_arg(&c, "rcuscale");
	compare_arg(&c, "--schemes=%s,percpu_ref,membarrier", schemes);
	compare_arg(&c, "--what=synchronize,call,barrier,kill,replace");
	compare_arg(&c, "--setup=idle,busy");
	compare_arg(&c, "--objects=%d", REPLACE_OBJECTS);
	compare_seconds(&c, seconds / 6 / count);
	return compare_run(&c);
}

static json_t *run_tradeoff(const struct workload *work, const struct options *opt,
			    double seconds)
{
	struct compare_command c = { 0 };

	compare_arg(&c, "lull");
	compare_arg(&c, "tradeoff");
	compare_arg(&c, "--updates=%.17g", work->updates);
	compare_arg(&c, "--hold=%.17gns", work->hold_ns);
	compare_arg(&c, "--objects=%zu", work->objects);
	compare_arg(&c, "--size=%zu", work->size);
	compare_arg(&c, "--block=%s", work->block ? "yes" : "no");
	if (opt->runs)
		compare_arg(&c, "--runs=%u", opt->runs);
	compare_seconds(&c, seconds);
	return compare_run(&c);
}

/* ---- reading their results ------------------------------------------------------------------- */

static size_t index_of(const unsigned *list, size_t count, double value)
{
	size_t i;

	for (i = 0; i < count && list[i] != value; i++)
		;
	return i;
}

static struct compare_scheme *find_scheme(struct compare *data, const char *name)
{
	size_t i;

	for (i = 0; i < data->count; i++)
		if (!strcmp(data->scheme[i].name, name))
			return &data->scheme[i];
	return NULL;
}

static const struct compare_style *find_style(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(styles) / sizeof(styles[0]); i++)
		if (!strcmp(styles[i].name, name))
			return &styles[i];
	return &plain_style;
}

static void read_schemes(struct compare *data, const json_t *root)
{
	const json_t *list = json_object_get(root, "schemes"), *one;
	size_t i;

	data->count = json_array_size(list);
	data->scheme = options_alloc(data->count, sizeof(*data->scheme));
	json_array_foreach(list, i, one)
	{
		struct compare_scheme *s = &data->scheme[i];

		s->name = jsonin_text(one, "scheme");
		s->what = jsonin_text(one, "what");
		s->holds_up = jsonin_text(one, "holds_up");
		s->style = find_style(s->name);
		s->colour = (unsigned)i + 1;
		s->own_section = !strcmp(jsonin_text(one, "section"), s->name);
		s->may_block = json_is_true(json_object_get(one, "reader_may_block"));
		s->defers = json_is_true(json_object_get(one, "defers"));
		s->object_bytes = jsonin_number(one, "bytes_per_object");
		s->thread_bytes = jsonin_number(one, "bytes_per_thread");
	}
}

static void read_keys(struct compare *data, const json_t *root)
{
	const json_t *keys = json_object_get(root, "keys");
	const char *source = jsonin_text(keys, "source");
	double elements = jsonin_number(keys, "elements"), buckets = jsonin_number(keys, "buckets");

	if (*source)
		data->keys =
			options_printf("%.0f keys from %s, %.1f bytes on average, in %.0f buckets",
				       elements, source, jsonin_number(keys, "bytes") / elements, buckets);
	else
		data->keys = options_printf("%.0f integers in %.0f buckets", elements, buckets);
}

static void read_lookups(struct compare *data, const json_t *root)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(root, "results"), i, row)
	{
		struct compare_scheme *s = find_scheme(data, jsonin_text(row, "scheme"));
		size_t at = index_of(data->threads, data->nr_threads, jsonin_number(row, "threads"));

		if (s && at < data->nr_threads && !strcmp(jsonin_text(row, "metric"), "operations"))
			s->lookups[at] = jsonin_stat(row);
	}
}

static void read_mixed(struct compare *data, const json_t *root)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(root, "results"), i, row)
	{
		struct compare_scheme *s = find_scheme(data, jsonin_text(row, "scheme"));
		const char *metric = jsonin_text(row, "metric");
		size_t at =
			index_of(data->percent, data->nr_percents, jsonin_number(row, "update_percent"));

		if (!s)
			continue;
		if (!strcmp(metric, "operations") && at < data->nr_percents) {
			s->mixed[at] = jsonin_stat(row);
			s->cpu_ns[at] = jsonin_number(row, "cpu_ns");
		} else if (!strcmp(metric, "update")) {
			s->update = jsonin_latency(row);
		}
		if (jsonin_number(row, "deferred_bytes") > s->waiting_bytes)
			s->waiting_bytes = jsonin_number(row, "deferred_bytes");
	}
}

/* The name of the read section that a scheme is made of, in the other instruments. */
static const char *section_of(const json_t *hashscale, const char *scheme)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(hashscale, "schemes"), i,
			   one) if (!strcmp(jsonin_text(one, "scheme"), scheme)) return jsonin_text(one,
										      "section");
	return "";
}

static void read_sections(struct compare *data, const json_t *root, const json_t *hashscale)
{
	const json_t *row;
	size_t i, j;

	json_array_foreach(json_object_get(root, "results"), i, row)
	{
		unsigned threads = (unsigned)jsonin_number(row, "threads");

		if (threads < 1 || threads > 2 || strcmp(jsonin_text(row, "metric"), "read_section"))
			continue;
		for (j = 0; j < data->count; j++)
			if (!strcmp(section_of(hashscale, data->scheme[j].name),
				    jsonin_text(row, "scheme")))
				data->scheme[j].read[threads - 1] = jsonin_stat(row);
	}
}

/* Each name once: "none,rcu,..." of all schemes, or of those whose updaters defer or wait. */
static char *sections(const struct compare *data, const json_t *hashscale, bool deferring)
{
	char *list = options_printf("%s", "");
	size_t i, j;

	for (i = 0; i < data->count; i++) {
		const char *section = section_of(hashscale, data->scheme[i].name);

		if (deferring && !data->scheme[i].defers &&
		    data->scheme[i].style->family != CHOOSE_DEFERRED)
			continue;
		for (j = 0; j < i && strcmp(section_of(hashscale, data->scheme[j].name), section);
		     j++)
			;
		if (j == i)
			list = compare_append(compare_append(list, *list ? "," : ""), section);
	}
	return list;
}

static void read_wait(struct compare_scheme *s, const json_t *row)
{
	size_t i;

	for (i = 0; i < COMPARE_WAITS_MAX; i++)
		if (!strcmp(compare_waits[i].metric, jsonin_text(row, "metric")))
			s->wait[i] = jsonin_latency(row);
}

/* Kills belong to no scheme: the ways that are compared count or defer, this is the end of a count. */
static void read_kill(struct compare *data, const json_t *row)
{
	const char *metric = jsonin_text(row, "metric");
	bool bare = !strcmp(jsonin_text(row, "scheme"), "membarrier");
	size_t at = !strcmp(metric, "kill_busy");

	if (at || !strcmp(metric, "kill_idle"))
		*(bare ? &data->membarrier[at] : &data->kill[at]) = jsonin_latency(row);
}

/* "replace_free_idle": how it is retired, and beside what. */
static void read_replace(struct compare *data, const struct compare_scheme *s, const json_t *row)
{
	struct compare_replace *r = data->replace, *end = r + data->nr_replaces;
	char way[16], beside[16];
	size_t at;

	if (sscanf(jsonin_text(row, "metric"), "replace_%15[^_]_%15s", way, beside) != 2)
		return;
	at = !strcmp(beside, "busy");
	if (!at && strcmp(beside, "idle"))
		return;
	while (r < end && (r->scheme != s || strcmp(r->way, way)))
		r++;
	if (r == end && data->nr_replaces++ == COMPARE_REPLACES_MAX)
		options_fail("rcuscale has more to say than there is room for");
	r->scheme = s;
	memcpy(r->way, way, sizeof(way));
	r->ns[at] = jsonin_stat(row);
	r->peak[at] = jsonin_number(row, "peak_objects");
}

static void read_waits(struct compare *data, const json_t *root)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(root, "results"), i, row)
	{
		struct compare_scheme *s = find_scheme(data, jsonin_text(row, "scheme"));

		read_kill(data, row);
		if (!s)
			continue;
		read_wait(s, row);
		read_replace(data, s, row);
	}
}

/* ---- the recommendation ---------------------------------------------------------------------- */

/* A disturbance makes things slower: what was best tells how much the median has suffered. */
static double spread_of(const struct bench_stat *s)
{
	return s->median > 0 ? (s->max - s->median) / s->median : 0;
}

static void recommend(struct compare *data)
{
	struct choose_row *row = options_alloc(data->count, sizeof(*row));
	struct choose_input in = { row, data->count, data->percent, data->nr_percents,
				   data->mixed_threads };
	struct choose_result result;
	size_t i, j;

	for (i = 0; i < data->count; i++) {
		const struct compare_scheme *s = &data->scheme[i];

		row[i].name = s->name;
		row[i].family = s->style->family;
		row[i].effort = s->style->effort;
		row[i].demand = s->style->demand;
		row[i].long_readers = s->style->long_readers;
		row[i].bounded = s->style->bounded;
		row[i].wait_ns = s->wait[WAIT_BUSY].count ? s->wait[WAIT_BUSY].p50 : 0;
		row[i].waiting_bytes = s->waiting_bytes;
		for (j = 0; j < data->nr_percents; j++) {
			row[i].mops[j] = s->mixed[j].count ? s->mixed[j].median : 0;
			row[i].spread[j] = spread_of(&s->mixed[j]);
		}
	}
	choose(&in, &result);
	data->nr_advice = choose_words(&in, &result, data->advice);
	free(row);
}

/* ---- on the terminal ------------------------------------------------------------------------- */

static void cell_median(struct bench_table *table, const struct bench_stat *s)
{
	if (!s->count)
		bench_cell(table, "n/a");
	else
		bench_cell(table, "%.*f",
			   s->median < 9.995   ? 2
			   : s->median < 99.95 ? 1
					       : 0,
			   s->median);
}

static void print_decision(struct compare *data)
{
	struct bench_table *table = bench_table_new(
		"scheme|ns/read|2 thr|x none|update|p99|waiting|B/obj|B/thr|holds up|sleeps");
	static const struct bench_stat missing;
	struct compare_scheme *none = find_scheme(data, "none");
	size_t i;

	for (i = 0; i < data->count; i++) {
		const struct compare_scheme *s = &data->scheme[i];

		bench_cell(table, "%s", s->name);
		cell_median(table, &s->read[0]);
		cell_median(table, &s->read[1]);
		bench_cell_ratio(table, &s->read[0], none ? &none->read[0] : &missing);
		bench_cell(table, "%s",
			   units_time(s->update.count ? s->update.p50 : -1).text);
		bench_cell(table, "%s",
			   units_time(s->update.count ? s->update.p99 : -1).text);
		bench_cell(table, "%s",
			   units_bytes(s->defers ? s->waiting_bytes : -1).text);
		bench_cell(table, "%s", units_bytes(s->object_bytes).text);
		bench_cell(table, "%s", units_bytes(s->thread_bytes).text);
		bench_cell(table, "%s", s->holds_up);
		bench_cell(table, "%s", s->may_block ? "yes" : "no");
	}
	bench_table_print(table);
	printf("\nns/read: one read section, 1 and 2 threads. update: one replacement, median and "
	       "p99.\n"
	       "waiting: most bytes that waited to be freed. B/obj, B/thr: what the scheme "
	       "adds.\n"
	       "holds up: what a reader that stays in delays; sleeps: whether it may sleep "
	       "there.\n");
}

/* Lookups by threads and mixes by updates, side by side where that fits. */
static void print_throughput(const struct compare *data, bool by_threads, bool by_updates)
{
	char *header = options_printf("M operations/s"), column[32];
	struct bench_table *table;
	size_t i, j;

	for (j = 0; j < data->nr_threads && by_threads; j++) {
		snprintf(column, sizeof(column), "|%u thr", data->threads[j]);
		header = compare_append(header, column);
	}
	for (j = 0; j < data->nr_percents && by_updates; j++) {
		snprintf(column, sizeof(column), "|%u %%", data->percent[j]);
		header = compare_append(header, column);
	}
	table = bench_table_new(header);
	for (i = 0; i < data->count; i++) {
		bench_cell(table, "%s", data->scheme[i].name);
		for (j = 0; j < data->nr_threads && by_threads; j++)
			cell_median(table, &data->scheme[i].lookups[j]);
		for (j = 0; j < data->nr_percents && by_updates; j++)
			cell_median(table, &data->scheme[i].mixed[j]);
	}
	putchar('\n');
	bench_table_print(table);
	free(header);
}

static size_t line_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_col < WIDTH)
		return size.ws_col;
	return WIDTH;
}

static void print_wrapped(const char *line)
{
	size_t column = 0, width = line_width();

	while (*line) {
		size_t word = strcspn(line, " ");

		if (column && column + 1 + word > width) {
			printf("\n ");
			column = 1;
		}
		printf("%s%.*s", column ? " " : "", (int)word, line);
		column += word + (column > 0);
		line += word + strspn(line + word, " ");
	}
	putchar('\n');
}

static void print_all(struct compare *data)
{
	size_t i;

	peers_print_broken();
	machine_print(&data->machine);
	printf("%s\n\n", data->keys);
	print_decision(data);
	if (data->nr_threads <= 4) {
		print_throughput(data, true, true);
	} else {
		print_throughput(data, true, false);
		print_throughput(data, false, true);
	}
	printf("thr: threads, lookups only; %%: of updates, on %u thread%s.\n\n",
	       data->mixed_threads, data->mixed_threads == 1 ? "" : "s");
	for (i = 0; i < data->nr_advice; i++)
		print_wrapped(data->advice[i]);
	printf("\nFour ways to keep an object alive:\n\n");
	tradeoff_print(&data->tradeoff);
	putchar('\n');
	print_wrapped(data->workload);
	for (i = 0; i < data->nr_answers; i++)
		print_wrapped(data->answer[i]);
	putchar('\n');
	compare_locks_print(&data->locks);
	if (data->locks.nr_answers)
		putchar('\n');
	for (i = 0; i < data->locks.nr_answers; i++)
		print_wrapped(data->locks.answer[i]);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void copy_results(json_t *to, const json_t *root)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(root, "results"), i, row)
	{
		json_object_set(row, "instrument", json_object_get(root, "tool"));
		json_array_append(to, row);
	}
}

static json_t *lines_of(char (*line)[CHOOSE_LINE], size_t count)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < count; i++)
		json_array_append_new(list, json_string(line[i]));
	return list;
}

static void write_json(struct jsonout *json, struct compare *data, json_t *const *roots,
		       size_t count)
{
	json_t *root = jsonout_root(json);
	size_t i;

	if (!root)
		return;
	for (i = 0; i < count; i++)
		if (roots[i])
			copy_results(json_object_get(root, "results"), roots[i]);
	json_object_set(root, "keys", json_object_get(roots[LOOKUPS], "keys"));
	json_object_set(root, "schemes", json_object_get(roots[LOOKUPS], "schemes"));
	json_object_set_new(root, "advice", lines_of(data->advice, data->nr_advice));
	json_object_set(root, "workload", json_object_get(roots[TRADEOFF], "workload"));
	json_object_set(root, "ways", json_object_get(roots[TRADEOFF], "schemes"));
	json_object_set_new(root, "verdict", compare_verdict_json(data));
	json_object_set_new(root, "answer", lines_of(data->answer, data->nr_answers));
	json_object_set_new(root, "locks", compare_locks_json(&data->locks));
	json_object_set_new(root, "lock_answer",
			    lines_of(data->locks.answer, data->locks.nr_answers));
}

/* ---- the command ----------------------------------------------------------------------------- */

/* 1 to twice the CPUs, doubling, and all CPUs. */
static void set_threads(struct options *opt)
{
	unsigned cpus = bench_cpus(), n;

	opt->nr_threads = 0;
	for (n = 1; n <= cpus * 2 && n <= OPTIONS_THREADS_LIMIT;
	     n = n < cpus && n * 2 > cpus ? cpus : n * 2)
		opt->threads[opt->nr_threads++] = n;
}

static void set_when(struct compare *data)
{
	time_t now = time(NULL);
	struct tm tm;
	char day[64] = "";

	if (localtime_r(&now, &tm))
		strftime(day, sizeof(day), "%Y-%m-%d %H:%M", &tm);
	data->when = options_printf("%s", day);
}

static void measure(struct compare *data, const struct settings *s, const struct options *opt,
		    json_t **roots)
{
	static const unsigned none[] = { 0 };
	double seconds = opt->seconds > 0 ? opt->seconds : DEFAULT_SECONDS;
	uint64_t start = bench_now_ns();
	char *names;

	roots[LOOKUPS] = run_hashscale(s, opt, data->threads, data->nr_threads, none, 1,
				 seconds * SHARE_LOOKUPS);
	read_schemes(data, roots[LOOKUPS]);
	read_keys(data, roots[LOOKUPS]);
	read_lookups(data, roots[LOOKUPS]);
	roots[MIXED] = run_hashscale(s, opt, &data->mixed_threads, 1, percents, NR_PERCENTS,
				 seconds * SHARE_MIXED);
	read_mixed(data, roots[MIXED]);
	names = sections(data, roots[LOOKUPS], false);
	roots[REFSCALE] = run_refscale(names, seconds * SHARE_REFSCALE);
	read_sections(data, roots[REFSCALE], roots[LOOKUPS]);
	free(names);
	names = known_names(sections(data, roots[LOOKUPS], true), "rcuscale");
	if (*names) {
		roots[RCUSCALE] = run_rcuscale(names, seconds * SHARE_RCUSCALE);
		read_waits(data, roots[RCUSCALE]);
	}
	free(names);
	roots[TRADEOFF] = run_tradeoff(&s->work, opt, seconds * SHARE_TRADEOFF);
	tradeoff_read_json(roots[TRADEOFF], &data->tradeoff);
	compare_locks_measure(&data->locks, &s->work, data->threads, data->nr_threads, opt->runs,
			      seconds * SHARE_LOCKS, &roots[LOCKS]);
	data->took_seconds = (double)(bench_now_ns() - start) / 1e9;
}

int lull_cmd_compare(int argc, char **argv)
{
	struct settings settings = { .report = DEFAULT_REPORT, .work = WORKLOAD_DEFAULT };
	struct options opt = OPTIONS_INIT("compare");
	struct compare data = { 0 };
	json_t *roots[INSTRUMENTS] = { NULL };
	struct report *report;
	struct jsonout *json;
	size_t i;

	opt.own = &settings;
	/* 0 is no number of threads: if it is still there afterwards, none was given. */
	opt.threads = options_alloc(COMPARE_THREADS_MAX, sizeof(*opt.threads));
	opt.nr_threads = 1;
	options_parse(&opt, own_options, own_option,
		      "Measures on this machine, over your keys, what each protection costs, and says "
		      "which one to use.", argc, argv);
	if (opt.list)
		execl("/proc/self/exe", "lull", "hashscale", "--list", (char *)NULL);
	if (opt.threads[0] == 0)
		set_threads(&opt);
	if (opt.nr_threads > COMPARE_THREADS_MAX)
		options_bad("--threads: at most %d of them here", COMPARE_THREADS_MAX);
	workload_check(&settings.work);
	peers_load(NULL);
	report = report_open(settings.report);
	json = jsonout_open(&opt);
	data.command = opt.command;
	data.threads = opt.threads;
	data.nr_threads = opt.nr_threads;
	data.mixed_threads = bench_cpus();
	data.nr_percents = NR_PERCENTS;
	memcpy(data.percent, percents, sizeof(percents));
	machine_read(&data.machine);
	set_when(&data);
	measure(&data, &settings, &opt, roots);
	recommend(&data);
	compare_answer(&data);
	print_all(&data);
	write_json(json, &data, roots, INSTRUMENTS);
	jsonout_close(json);
	report_write(report, &data);
	printf("\nreport: %s\n", settings.report);
	for (i = 0; i < INSTRUMENTS; i++)
		json_decref(roots[i]);
	free(data.scheme);
	free(data.keys);
	free(data.when);
	options_free(&opt);
	return 0;
}
