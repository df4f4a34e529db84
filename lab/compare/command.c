/* SPDX-License-Identifier: MIT */
/*
 * lull compare: which protection to use for a workload, and what each costs on this machine, over these keys.
 *
 * Runs the other instruments in a short form, each as a process of its own, as from the command
 * line: then none sees what another left in memory, and the figures are those that anybody gets
 * from them. Their results come as JSON through a pipe.
 */
#include "compare/compare.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "commands.h"
#include "common/cpus.h"
#include "common/figures.h"
#include "common/json.h"
#include "common/options.h"
#include "engine/budget.h"
#include "engine/peers.h"
#include "engine/workload.h"
#include "compare/instrument.h"
#include "compare/locks.h"
#include "hash_scheme.h"
#include "report/compare_report.h"
#include "instruments/hash/key_file.h"

#define DEFAULT_SECONDS 100.0
#define DEFAULT_REPORT "lull-report.html"
#define REPLACE_OBJECTS 30000
/* A part that would get less of its share is left out: on a busy machine, what it does before it measures takes longer. */
#define LEAST_SHARE 0.4
#define LEAST_SECONDS 20.0 /* in all; with less, which is for trying things out, all parts run */
#define SCHEMES_MAX 64

#define PREDICT 16 /* threads: what a machine has that people serve from */

static const unsigned percents[] = { 0, 1, 3, 10, 33, 100 };

#define NR_PERCENTS (sizeof(percents) / sizeof(percents[0]))

#define WAIT_BUSY 1 /* which of these tells how long updaters wait */

/* ---- options --------------------------------------------------------------------------------- */

/* The parts in their order, and what their results are kept under. The verdict depends on the first alone. */
enum {
	TRADEOFF,
	LOOKUPS,
	MIXED,
	REFSCALE,
	LOCKS,
	RCUSCALE, /* it has a least time of its own, which nothing after it could give */
	PARTS,
	LOCK_ROOTS = PARTS,
	INSTRUMENTS = LOCK_ROOTS + COMPARE_LOCKS_ROOTS
};

static const double shares[PARTS] = { 0.25, 0.13, 0.25, 0.05, 0.17, 0.15 };

/* The parts, for people. The verdict needs the first; the second says which schemes there are. The others can be left out. */
static const char *const part_names[PARTS] = {
	[TRADEOFF] = "your workload",
	[LOOKUPS] = "the table without updates",
	[MIXED] = "the table with updates",
	[REFSCALE] = "read sections alone",
	[LOCKS] = "locks",
	[RCUSCALE] = "updates and waits",
};

struct settings {
	const char *keys, *elements, *buckets, *report;
	struct workload work;
	bool full;
	uint64_t start;
	struct budget budget;
	double least; /* part of its share that a part must get, or it is left out */
};

enum { OPT_KEYS = OPTIONS_OWN_KEYS, OPT_ELEMENTS, OPT_BUCKETS, OPT_REPORT, OPT_FULL };

static const struct argp_option own_options[] = {
	{ "keys", OPT_KEYS, "FILE", 0, "your keys, one per line; else the paths under " KEYS_ROOT,
	  0 },
	{ "elements", OPT_ELEMENTS, "N", 0, "use at most N keys; without --keys: N integers", 0 },
	{ "buckets", OPT_BUCKETS, "N", 0, "a power of two; else one for each key", 0 },
	{ "report", OPT_REPORT, "FILE", 0, "where the report goes; else " DEFAULT_REPORT, 0 },
	{ "full", OPT_FULL, NULL, 0, "print all tables, too; they are in the report in any case", 0 },
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
	else if (key == OPT_FULL)
		s->full = true;
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

static void add_table_args(struct compare_command *c, const struct settings *s, const struct options *opt)
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

/* Report bad keys and schemes before anything is measured. */
static void check_table(const struct settings *s, const struct options *opt)
{
	struct compare_command c = { 0 };

	compare_arg(&c, "lull");
	compare_arg(&c, "hashscale");
	add_table_args(&c, s, opt);
	compare_arg(&c, "--check");
	json_decref(compare_run(&c));
}

static json_t *run_refscale(const char *sections, double seconds)
{
	struct compare_command c = { 0 };

	compare_arg(&c, "lull");
	compare_arg(&c, "refscale");
	compare_arg(&c, "--schemes=%s", sections);
	compare_arg(&c, "--threads=1,2");
	compare_seconds(&c, seconds);
	return compare_run(&c);
}

/* Return the list of @instrument: one scheme per line, the name first. */
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

static json_t *run_rcuscale(const char *schemes, double seconds)
{
	struct compare_command c = { 0 };

	compare_arg(&c, "lull");
	compare_arg(&c, "rcuscale");
	compare_arg(&c, "--schemes=%s,percpu_ref,membarrier", schemes);
	compare_arg(&c, "--what=synchronize,call,barrier,kill,replace");
	compare_arg(&c, "--setup=idle,busy");
	compare_arg(&c, "--objects=%d", REPLACE_OBJECTS);
	compare_seconds(&c, seconds);
	return compare_run(&c);
}

static json_t *run_tradeoff(const struct workload *work, const struct options *opt, unsigned most, double seconds)
{
	struct compare_command c = { 0 };
	unsigned threads[33], n;
	size_t count = 0;

	compare_arg(&c, "lull");
	compare_arg(&c, "tradeoff");
	compare_arg(&c, "--updates=%.17g", work->updates);
	compare_arg(&c, "--hold=%.17gns", work->hold_ns);
	compare_arg(&c, "--objects=%zu", work->objects);
	compare_arg(&c, "--size=%zu", work->size);
	compare_arg(&c, "--block=%s", work->block ? "yes" : "no");
	for (n = 1; n < most; n *= 2)
		threads[count++] = n;
	threads[count++] = most;
	compare_numbers(&c, "--threads", threads, count);
	if (opt->runs)
		compare_arg(&c, "--runs=%u", opt->runs);
	compare_seconds(&c, seconds);
	return compare_run(&c);
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
	json_object_set(root, "workload", json_object_get(roots[TRADEOFF], "workload"));
	json_object_set(root, "ways", json_object_get(roots[TRADEOFF], "schemes"));
	json_object_set_new(root, "verdict", compare_verdict_json(data));
	json_object_set_new(root, "answer", lines_of(data->answer, data->nr_answers));
	json_object_set_new(root, "not_measured", data->left_out ? json_string(data->left_out) : json_null());
	json_object_set_new(root, "locks", compare_locks_json(&data->locks));
	json_object_set_new(root, "lock_answer",
			    lines_of(data->locks.answer, data->locks.nr_answers));
}

/* ---- the command ----------------------------------------------------------------------------- */

/*
 * The verdict is about the most that were asked for. Where there are no CPUs for so many it is about as many as there
 * are, and a prediction: to measure more would tell something about the scheduler. Tables go up to twice the CPUs.
 */
static void split_threads(struct options *opt, struct compare *data)
{
	unsigned cpus = bench_cpus(), most = 0;
	size_t i, kept = 0;

	for (i = 0; i < opt->nr_threads; i++) {
		unsigned n = opt->threads[i];

		most = n > most ? n : most;
		if (n <= cpus * 2)
			opt->threads[kept++] = n;
	}
	opt->nr_threads = kept;
	data->threads_here = most < cpus ? most : cpus;
	data->predict = most > cpus ? most : 0;
}

/* Without --threads: 1 to twice the CPUs, doubling, and all CPUs. */
static void set_threads(struct options *opt, struct compare *data)
{
	unsigned cpus = bench_cpus(), n;

	data->threads_here = cpus;
	if (opt->threads[0] != 0) {
		split_threads(opt, data);
		if (opt->nr_threads)
			return;
	} else if (cpus < PREDICT) {
		data->predict = PREDICT;
	}
	free(opt->threads);
	opt->threads = options_alloc(COMPARE_THREADS_MAX, sizeof(*opt->threads));
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

static double seconds_for(struct settings *s, size_t part)
{
	double rest = 0;
	size_t i;

	for (i = part; i < PARTS; i++)
		rest += shares[i];
	return budget_for(&s->budget, (double)(bench_now_ns() - s->start) / 1e9, shares[part], rest,
			  s->least * shares[part] * s->budget.seconds);
}

/* Return whether there is time left for @part, and set @seconds to it; if not, add @part to those left out. */
static bool has_time(struct compare *data, struct settings *s, size_t part, double *seconds)
{
	*seconds = seconds_for(s, part);
	if (*seconds > 0 || s->least <= 0)
		return true;
	compare_leave_out(data, ", ", part_names[part]);
	return false;
}

static void measure(struct compare *data, struct settings *s, const struct options *opt, json_t **roots)
{
	static const unsigned none[] = { 0 };
	double seconds;
	char *names;
	size_t part;

	check_table(s, opt);
	roots[TRADEOFF] = run_tradeoff(&s->work, opt, data->threads_here, seconds_for(s, TRADEOFF));
	tradeoff_read_json(roots[TRADEOFF], &data->tradeoff);
	roots[LOOKUPS] = run_hashscale(s, opt, data->threads, data->nr_threads, none, 1, seconds_for(s, LOOKUPS));
	compare_read_schemes(data, roots[LOOKUPS]);
	compare_read_keys(data, roots[LOOKUPS]);
	compare_read_lookups(data, roots[LOOKUPS]);
	if (has_time(data, s, MIXED, &seconds)) {
		roots[MIXED] = run_hashscale(s, opt, &data->mixed_threads, 1, percents, NR_PERCENTS, seconds);
		compare_read_mixed(data, roots[MIXED]);
	}
	if (has_time(data, s, REFSCALE, &seconds)) {
		names = compare_sections(data, roots[LOOKUPS], false);
		roots[REFSCALE] = run_refscale(names, seconds);
		compare_read_sections(data, roots[REFSCALE], roots[LOOKUPS]);
		free(names);
	}
	if (has_time(data, s, LOCKS, &seconds))
		compare_locks_measure(&data->locks, &s->work, data->threads, data->nr_threads, opt->runs, seconds,
				      &roots[LOCK_ROOTS]);
	names = known_names(compare_sections(data, roots[LOOKUPS], true), "rcuscale");
	if (*names && has_time(data, s, RCUSCALE, &seconds)) {
		roots[RCUSCALE] = run_rcuscale(names, seconds);
		compare_read_waits(data, roots[RCUSCALE]);
	}
	free(names);
	for (part = 0; part < INSTRUMENTS; part++)
		compare_read_left_out(data, roots[part], part_names[part < PARTS ? part : LOCKS]);
	data->took_seconds = (double)(bench_now_ns() - s->start) / 1e9;
}

static void clean_up(struct compare *data, json_t **roots)
{
	size_t i;

	for (i = 0; i < INSTRUMENTS; i++)
		json_decref(roots[i]);
	free(data->scheme);
	free(data->keys);
	free(data->when);
	free(data->left_out);
}

static const char doc[] =
	"Says which protection to use for your workload, from what it measures on this "
	"machine.\v"
	"It takes about 100 seconds, or as many as --seconds says: 20 at least, and more with long holds. On a busy "
	"machine, tables that the time is too short for are left out. The verdict is for as many threads as "
	"there are CPUs here, or for the most that --threads names. For more threads than CPUs there is a "
	"prediction. The verdict always compares seven ways; --schemes, --keys, --elements and --buckets "
	"change the tables alone.";

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
	options_parse(&opt, own_options, own_option, doc, argc, argv);
	if (opt.list)
		execl("/proc/self/exe", "lull", "hashscale", "--list", (char *)NULL);
	set_threads(&opt, &data);
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
	settings.budget.seconds = opt.seconds > 0 ? opt.seconds : DEFAULT_SECONDS;
	settings.least = settings.budget.seconds < LEAST_SECONDS ? 0 : LEAST_SHARE;
	data.seconds = settings.budget.seconds;
	settings.start = bench_now_ns();
	measure(&data, &settings, &opt, roots);
	compare_answer(&data);
	/* Write the files even when the reader stops after the first lines, as `head` does. */
	signal(SIGPIPE, SIG_IGN);
	compare_print(&data, settings.full);
	write_json(json, &data, roots, INSTRUMENTS);
	jsonout_close(json);
	report_write(report, &data);
	printf("\n%sReport: %s\n", settings.full ? "" : "Tables: --full. ", settings.report);
	clean_up(&data, roots);
	options_free(&opt);
	return 0;
}
