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
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/commands.h"
#include "common/cpus.h"
#include "common/figures.h"
#include "common/json.h"
#include "common/options.h"
#include "common/peers.h"
#include "common/workload.h"
#include "compare/instrument.h"
#include "compare/locks.h"
#include "hash_scheme.h"
#include "report/compare_report.h"
#include "scale/key_list.h"

#define DEFAULT_SECONDS 92.0
#define DEFAULT_REPORT "lull-report.html"
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
	compare_read_schemes(data, roots[LOOKUPS]);
	compare_read_keys(data, roots[LOOKUPS]);
	compare_read_lookups(data, roots[LOOKUPS]);
	roots[MIXED] = run_hashscale(s, opt, &data->mixed_threads, 1, percents, NR_PERCENTS,
				 seconds * SHARE_MIXED);
	compare_read_mixed(data, roots[MIXED]);
	names = compare_sections(data, roots[LOOKUPS], false);
	roots[REFSCALE] = run_refscale(names, seconds * SHARE_REFSCALE);
	compare_read_sections(data, roots[REFSCALE], roots[LOOKUPS]);
	free(names);
	names = known_names(compare_sections(data, roots[LOOKUPS], true), "rcuscale");
	if (*names) {
		roots[RCUSCALE] = run_rcuscale(names, seconds * SHARE_RCUSCALE);
		compare_read_waits(data, roots[RCUSCALE]);
	}
	free(names);
	roots[TRADEOFF] = run_tradeoff(&s->work, opt, seconds * SHARE_TRADEOFF);
	tradeoff_read_json(roots[TRADEOFF], &data->tradeoff);
	compare_locks_measure(&data->locks, &s->work, data->threads, data->nr_threads, opt->runs,
			      seconds * SHARE_LOCKS, &roots[LOCKS]);
	data->took_seconds = (double)(bench_now_ns() - start) / 1e9;
}

static void clean_up(struct compare *data, json_t **roots)
{
	size_t i;

	for (i = 0; i < INSTRUMENTS; i++)
		json_decref(roots[i]);
	free(data->scheme);
	free(data->keys);
	free(data->when);
}

int lull_cmd_compare(int argc, char **argv)
{
	struct settings settings = { .report = DEFAULT_REPORT, .work = WORKLOAD_DEFAULT };
	struct options opt = OPTIONS_INIT("compare");
	struct compare data = { 0 };
	json_t *roots[INSTRUMENTS] = { NULL };
	struct report *report;
	struct jsonout *json;

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
	compare_print(&data);
	write_json(json, &data, roots, INSTRUMENTS);
	jsonout_close(json);
	report_write(report, &data);
	printf("\nreport: %s\n", settings.report);
	clean_up(&data, roots);
	options_free(&opt);
	return 0;
}
