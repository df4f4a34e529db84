/* SPDX-License-Identifier: MIT */
/*
 * lull keyscale: how long it takes to unregister keys that other threads look up.
 *
 * A table of keys in which keys come and go all the time. A thread that takes a key out must wait, each time and at
 * once, for the threads that look at it before its memory may be used again: the case of the kernel's lock checker,
 * where replacing one network queue took a second of such waits. Options and figures; instruments/lockdep_keys/table.c
 * has the table of keys and the schemes, instruments/lockdep_keys/run.c the threads.
 */
#include "instruments/lockdep_keys/keyscale.h"

#include <stdio.h>
#include <stdlib.h>

#include "commands.h"
#include "common/cpus.h"
#include "common/figures.h"
#include "common/json.h"
#include "common/machine.h"
#include "engine/budget.h"
#include "engine/rounds.h"
#include "engine/text_table.h"
#include "common/units.h"
#include "common/bench.h"

#define DEFAULT_SECONDS 6.0
#define DEFAULT_KEYS 8192u
#define DEFAULT_BUCKETS 4096u
#define DEFAULT_UNRELATED_US 1000u
#define KEYS_LIMIT 10000000u

static const char *const setup_names[KEYSCALE_SETUPS] = {
	[KEYSCALE_IDLE] = "idle",
	[KEYSCALE_LOOKUPS] = "lookups",
	[KEYSCALE_UNRELATED] = "unrelated",
};

/* ---- options --------------------------------------------------------------------------------- */

struct settings {
	struct keyscale_shape shape;
	bool setup[KEYSCALE_SETUPS];
	bool setup_given;
};

enum { OPT_KEYS = OPTIONS_OWN_KEYS, OPT_BUCKETS, OPT_UPDATERS, OPT_UNRELATED, OPT_SETUP };

static const struct argp_option own_options[] = {
	{ "keys", OPT_KEYS, "N", 0, "number of keys that are registered at any time (8192)", 0 },
	{ "buckets", OPT_BUCKETS, "N", 0, "number of buckets of the table (4096)", 0 },
	{ "updaters", OPT_UPDATERS, "N", 0, "number of threads that unregister keys (1)", 0 },
	{ "setup", OPT_SETUP, "SETUP,...", 0,
	  "idle: no other threads; lookups: --threads threads look keys up; unrelated: also, one more thread "
	  "protects something else, for long; all (all)",
	  0 },
	{ "unrelated-us", OPT_UNRELATED, "US", 0, "setup unrelated: protect the other thing for US microseconds (1000)", 0 },
	{ 0 }
};

static void set_setups(struct settings *s, const char *arg)
{
	static const char *const words[] = { "idle", "lookups", "unrelated", "all", NULL };
	size_t count, i, k;
	char **items = options_split("--setup", arg, &count);

	for (i = 0; i < count; i++) {
		size_t word = options_word("--setup", items[i], words);

		for (k = 0; k < KEYSCALE_SETUPS; k++)
			s->setup[k] = s->setup[k] || word == KEYSCALE_SETUPS || word == k;
		free(items[i]);
	}
	free(items);
	s->setup_given = true;
}

static void own_option(int key, char *arg, struct options *opt)
{
	struct settings *s = opt->own;

	switch (key) {
	case OPT_KEYS:
		s->shape.keys = (size_t)options_unsigned("--keys", arg, 1, KEYS_LIMIT);
		break;
	case OPT_BUCKETS:
		s->shape.buckets = (size_t)options_unsigned("--buckets", arg, 1, KEYS_LIMIT);
		break;
	case OPT_UPDATERS:
		s->shape.updaters =
			(unsigned)options_unsigned("--updaters", arg, 1, OPTIONS_THREADS_LIMIT);
		break;
	case OPT_UNRELATED:
		s->shape.unrelated_ns = 1000 * options_unsigned("--unrelated-us", arg, 1, 100000);
		break;
	default:
		set_setups(s, arg);
	}
}

/* Lookups are for the CPUs that those who unregister leave. */
static void fill_in(struct settings *s, struct options *opt)
{
	unsigned cpus = bench_cpus(), updaters = s->shape.updaters;
	size_t i;

	if (updaters > s->shape.keys)
		options_bad("--keys: each of the %u threads that unregister needs a key", updaters);
	if (opt->threads[0] == 0)
		opt->threads[0] = cpus > updaters ? cpus - updaters : 1;
	for (i = 0; i < KEYSCALE_SETUPS; i++)
		s->setup[i] = s->setup[i] || !s->setup_given;
}

static void list_schemes(void)
{
	size_t i;

	for (i = 0; i < KEYSCALE_SCHEMES; i++)
		printf("%-8s %s\n", keyscale_name(keyscale_schemes[i]),
		       keyscale_what(keyscale_schemes[i]));
}

/* ---- the run --------------------------------------------------------------------------------- */

struct run {
	const struct options *opt;
	const struct settings *settings;
	const struct keyscale_scheme *scheme[KEYSCALE_SCHEMES];
	size_t count;
	struct bench_pool *pool;
	struct keyscale_table *table;
	struct jsonout *json;
};

static void choose(struct run *run)
{
	const char *names[KEYSCALE_SCHEMES];
	bool chosen[KEYSCALE_SCHEMES];
	size_t i;

	for (i = 0; i < KEYSCALE_SCHEMES; i++)
		names[i] = keyscale_name(keyscale_schemes[i]);
	options_pick(run->opt, names, KEYSCALE_SCHEMES, chosen);
	for (i = 0; i < KEYSCALE_SCHEMES; i++)
		if (chosen[i])
			run->scheme[run->count++] = keyscale_schemes[i];
}

static char *title_of(const struct run *run, enum keyscale_setup setup, unsigned lookups)
{
	const char *s = lookups == 1 ? "" : "s", *looks = lookups == 1 ? "looks" : "look";

	if (setup == KEYSCALE_IDLE)
		return options_printf("nobody else");
	if (setup == KEYSCALE_LOOKUPS)
		return options_printf("%u thread%s %s up keys", lookups, s, looks);
	return options_printf("%u thread%s %s up keys, one protects something else for %s at a time", lookups, s, looks,
			      units_time((double)run->settings->shape.unrelated_ns).text);
}

/* A wrong result that looks like a fast one. */
static void refuse_faults(const struct run *run, const struct keyscale_result *results)
{
	size_t i;

	for (i = 0; i < run->count; i++)
		if (results[i].met_freed)
			options_fail("%s: readers met a key that was free, %llu times",
				     keyscale_name(run->scheme[i]),
				     (unsigned long long)results[i].met_freed);
}

static void measure(struct run *run, enum keyscale_setup setup, unsigned lookups)
{
	char *title = title_of(run, setup, lookups);
	double seconds = budget_next(1, rounds_least_seconds(run->count), title);
	struct keyscale_result results[KEYSCALE_SCHEMES];

	if (seconds > 0) {
		budget_runs(keyscale_measure(run->pool, run->opt, seconds, run->table, setup, lookups, run->scheme,
					     run->count, results),
			    title);
		refuse_faults(run, results);
		printf("\n%s\n", title);
		keyscale_write_json(run->json, run->scheme, run->count, setup_names[setup], lookups,
				    run->settings->shape.updaters, results);
		keyscale_print(run->scheme, run->count, results);
	}
	free(title);
}

static void measure_all(struct run *run)
{
	const bool *setup = run->settings->setup;
	size_t i, tables = setup[KEYSCALE_IDLE] +
			   run->opt->nr_threads *
				   (size_t)(setup[KEYSCALE_LOOKUPS] + setup[KEYSCALE_UNRELATED]);

	budget_begin(run->opt, DEFAULT_SECONDS, (double)tables);
	if (setup[KEYSCALE_IDLE])
		measure(run, KEYSCALE_IDLE, 0);
	for (i = 0; i < run->opt->nr_threads; i++) {
		if (setup[KEYSCALE_LOOKUPS])
			measure(run, KEYSCALE_LOOKUPS, run->opt->threads[i]);
		if (setup[KEYSCALE_UNRELATED])
			measure(run, KEYSCALE_UNRELATED, run->opt->threads[i]);
	}
	budget_end(run->json);
}

static void print_head(const struct keyscale_shape *shape)
{
	struct machine machine;

	machine_read(&machine);
	machine_print(&machine);
	printf("%zu keys in %zu buckets; %u thread%s unregister%s keys at random, one after the "
	       "other; speed-up against rcu\n",
	       shape->keys, shape->buckets, shape->updaters, shape->updaters == 1 ? "" : "s",
	       shape->updaters == 1 ? "s" : "");
}

int lull_cmd_keyscale(int argc, char **argv)
{
	struct settings settings = { .shape = { DEFAULT_KEYS, DEFAULT_BUCKETS, 1,
						DEFAULT_UNRELATED_US * 1000 } };
	struct options opt = OPTIONS_INIT("keyscale");
	struct run run = { .opt = &opt, .settings = &settings };

	opt.own = &settings;
	/* 0 is no number of threads: if it is still there afterwards, none was given. */
	opt.threads = options_alloc(1, sizeof(*opt.threads));
	opt.nr_threads = 1;
	options_parse(&opt, own_options, own_option,
		      "Measures how long it takes to unregister keys that other threads look up." BUDGET_HELP,
		      argc, argv);
	if (opt.list) {
		list_schemes();
		options_free(&opt);
		return 0;
	}
	fill_in(&settings, &opt);
	choose(&run);
	run.json = jsonout_open(&opt);
	run.pool = bench_pool_new(
		keyscale_threads(&settings.shape, KEYSCALE_UNRELATED, options_most_threads(&opt)));
	run.table = keyscale_table_new(&settings.shape);
	print_head(&settings.shape);
	measure_all(&run);
	bench_pool_free(run.pool);
	keyscale_table_free(run.table);
	jsonout_close(run.json);
	options_free(&opt);
	return 0;
}
