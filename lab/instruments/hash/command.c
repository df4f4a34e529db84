/* SPDX-License-Identifier: MIT */
/*
 * lull hashscale: hash table lookups and updates per second, by scheme, number of threads and
 * fraction of updates; what a single update takes; how much memory waits to be freed meanwhile. Or how long
 * a reload of the whole table takes (reload.c).
 *
 * All schemes have the same keys and the same shape of table (lab/peers/body/hash_scheme.h), each with elements of
 * its own, so that no scheme finds in the cache what another one has just read. For lookups alone a scheme has one
 * table, and for mixes with updates another.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "commands.h"
#include "common/cpus.h"
#include "common/machine.h"
#include "engine/budget.h"
#include "engine/peers.h"
#include "common/progress.h"
#include "instruments/hash/hashscale.h"

#define ELEMENTS_MAX 100000000u
#define ELEMENT_BYTES 100 /* with what malloc adds, and its share of what else there is */
#define COUNTERS_BYTES 150 /* heap that belongs to an element's counters */
#define BUCKET_BYTES 100  /* two arrays; a reader-writer lock is the largest */
#define DEFAULT_SECONDS 60.0
#define MAKING 0.5 /* of the time that the keys leave, at most, for making tables */

/* Order of the list; schemes that only a module has come last. */
static const char *const order[] = {
	"none", "rcu", "rcu-builtin", "rcu-qsbr", "lull-hash", "seqlock", "brlock", "spinlock",
	"mutex", "rwlock", "percpu_rwsem", "refcount", "hazptr", "hazptr-fenced", "hazptr-rcu", "shazptr",
	"refcount-lock", "percpu_ref", "liburcu-memb", "liburcu-mb", "liburcu-qsbr", "liburcu-bp",
	"liburcu-lfht", "ck-brlock", "ck-epoch", "ck-ht", "cxx-hash_map", "unordered_map",
	"unordered_map-shared_ptr", "papaya", "flurry", "scc-index", NULL,
};

/* For reloads alone, and listed first there. */
static const char *const reload_order[] = {
	"rcu-table", "rwlock-table", "rwlock-table-writer", "rwlock-table-each", "percpu_rwsem-table", "mutex-table",
	NULL,
};

static const struct bench_hash_scheme *schemes[HASHSCALE_SCHEMES_MAX];
static size_t nr_schemes;

/* ---- options --------------------------------------------------------------------------------- */

enum {
	OPT_KEYS = OPTIONS_OWN_KEYS,
	OPT_ELEMENTS,
	OPT_BUCKETS,
	OPT_PREHASHED,
	OPT_GROW,
	OPT_UPDATES,
	OPT_FIGURE,
	OPT_SEED,
	OPT_CHECK,
	OPT_RELOAD,
};

static const struct argp_option own_options[] = {
	{ "keys", OPT_KEYS, "FILE", 0, "read keys from FILE, one per line (the paths under " KEYS_ROOT ")", 0 },
	{ "elements", OPT_ELEMENTS, "N", 0, "use at most N keys; without --keys: use N integers", 0 },
	{ "buckets", OPT_BUCKETS, "N", 0, "number of buckets, a power of two (one for each key)", 0 },
	{ "prehashed", OPT_PREHASHED, NULL, 0, "compute the hash of each key beforehand", 0 },
	{ "grow", OPT_GROW, NULL, 0, "let tables that can resize choose their number of buckets",
	  0 },
	{ "updates", OPT_UPDATES, "0,1,3,...", 0, "percentages of updates to measure", 0 },
	{ "figure", OPT_FIGURE, "1|4|5", 0,
	  "measure that figure of \"Using RCU in the Linux 2.5 Kernel\" (2003); 1: locks, by number of threads; "
	  "4: all schemes, by number of threads (1024 integers in 1024 buckets); 5: all schemes, by share of updates (8192 "
	  "integers in 1024 buckets)",
	  0 },
	{ "seed", OPT_SEED, "N", 0, "seed of the order of the keys", 0 },
	{ "check", OPT_CHECK, NULL, 0, "measure nothing: read the keys, and say what is wrong with them or with the options", 0 },
	{ "reload", OPT_RELOAD, NULL, 0,
	  "measure instead how long a reload takes: one thread replaces every element of the table "
	  "once, while readers look keys up all the time. --threads sets the number of readers "
	  "(1 and 6); without --keys the table has 8192 integers",
	  0 },
	{ 0 }
};

static size_t power_of_two(const char *arg)
{
	size_t n = (size_t)options_unsigned("--buckets", arg, 1, ELEMENTS_MAX), up = 1;

	while (up < n)
		up *= 2;
	if (up != n)
		options_bad("--buckets: %zu is not a power of two; %zu and %zu are", n, up / 2, up);
	return n;
}

static void set_updates(struct hashscale_settings *s, const char *arg)
{
	free(s->updates);
	s->updates = options_unsigned_list("--updates", arg, 0, 100, &s->nr_updates);
}

static void own_option(int key, char *arg, struct options *opt)
{
	static const char *const figures[] = { "1", "4", "5", NULL };
	struct hashscale_settings *s = opt->own;

	switch (key) {
	case OPT_KEYS:
		s->keys_path = arg;
		break;
	case OPT_ELEMENTS:
		s->elements = (size_t)options_unsigned("--elements", arg, 1, ELEMENTS_MAX);
		break;
	case OPT_BUCKETS:
		s->buckets = power_of_two(arg);
		break;
	case OPT_PREHASHED:
		s->prehashed = true;
		break;
	case OPT_GROW:
		s->grow = true;
		break;
	case OPT_UPDATES:
		set_updates(s, arg);
		break;
	case OPT_FIGURE:
		s->figure = (unsigned)atoi(figures[options_word("--figure", arg, figures)]);
		break;
	case OPT_SEED:
		s->seed = options_unsigned("--seed", arg, 0, UINT64_MAX);
		break;
	case OPT_CHECK:
		s->check = true;
		break;
	case OPT_RELOAD:
		s->reload = true;
		break;
	}
}

/* 1 to twice the CPUs: each number while they are few, else doubling. */
static unsigned next_threads(unsigned n, unsigned cpus)
{
	if (cpus <= 2)
		return n + 1;
	return n < cpus && n * 2 > cpus ? cpus : n * 2;
}

static void set_threads(struct options *opt)
{
	unsigned cpus = bench_cpus(), n;

	opt->nr_threads = 0;
	for (n = 1; n <= cpus * 2 && n <= OPTIONS_THREADS_LIMIT; n = next_threads(n, cpus))
		opt->threads[opt->nr_threads++] = n;
}

/* The same for reloads. Each scheme gets a table for updates. */
static void fill_in_reload(struct hashscale_settings *s, struct options *opt)
{
	char all[] = "100";

	if (s->figure || s->updates || opt->runs)
		options_bad("--reload measures reloads alone, as often as --seconds allows; leave out --figure, "
			    "--updates and --runs");
	set_updates(s, all);
	if (opt->threads[0] == 0) {
		opt->threads[0] = 1;
		opt->threads[1] = 6;
		opt->nr_threads = 2;
	}
	if (!s->keys_path && !s->prehashed && !s->elements)
		s->elements = 8192;
}

/* Take the settings that were not given on the command line from the figure, if there is one. */
static void fill_in(struct hashscale_settings *s, struct options *opt)
{
	static const char *const locks[] = { "none", "spinlock", "rwlock", "brlock",
					     "refcount-lock" };
	char all[] = "0,1,3,10,33,100", none[] = "0";
	size_t i;

	if (opt->threads[0] == 0) {
		set_threads(opt);
		if (s->figure == 5) {
			opt->threads[0] = bench_cpus();
			opt->nr_threads = 1;
		}
	}
	if (!s->updates)
		set_updates(s, s->figure == 1 || s->figure == 4 ? none : all);
	if (s->figure && !s->keys_path && !s->elements) {
		s->elements = s->figure == 5 ? 8192 : 1024;
		if (!s->buckets)
			s->buckets = 1024;
	}
	if (s->figure == 1 && !opt->schemes) {
		opt->nr_schemes = sizeof(locks) / sizeof(locks[0]);
		opt->schemes = options_alloc(opt->nr_schemes, sizeof(*opt->schemes));
		for (i = 0; i < opt->nr_schemes; i++)
			opt->schemes[i] = options_printf("%s", locks[i]);
	}
}

static void find_schemes(bool reload)
{
	const void *found[HASHSCALE_SCHEMES_MAX];
	size_t count = 0, i;

	peers_load(&bench_builtin);
	if (reload)
		count = peers_schemes(PEER_RELOAD, reload_order, found, HASHSCALE_SCHEMES_MAX);
	count += peers_schemes(PEER_HASH, order, found + count, HASHSCALE_SCHEMES_MAX - count);
	if (!count)
		peers_need(PEER_HASH, order[0]);
	for (i = 0; i < count; i++) {
		schemes[nr_schemes] = found[i];
		nr_schemes += !reload || !schemes[nr_schemes]->updates_alone;
	}
}

static void list_schemes(void)
{
	size_t i;

	for (i = 0; i < nr_schemes; i++)
		printf("%-19s %s\n", schemes[i]->name, schemes[i]->what);
	peers_print_missing();
}

/* ---- setting up ------------------------------------------------------------------------------ */

static void load_keys(struct hashscale *run)
{
	const struct hashscale_settings *s = run->settings;
	struct bench_hash_shape *shape = &run->shape;

	shape->grow = s->grow;
	if (s->elements && !s->keys_path) {
		shape->mode = BENCH_HASH_INTEGERS;
		shape->elements = s->elements;
	} else {
		if (s->keys_path)
			keys_read_file(&run->keys, s->keys_path,
				       s->elements ? s->elements : KEYS_FILE_LIMIT, s->seed);
		else
			keys_find_paths(&run->keys, KEYS_ROOT, KEYS_PATHS_LIMIT, s->seed);
		shape->mode = s->prehashed ? BENCH_HASH_PREHASHED : BENCH_HASH_TEXTS;
		shape->elements = run->keys.count;
		shape->asked = run->keys.asked;
		shape->kept = run->keys.kept;
	}
	shape->buckets = s->buckets;
	if (!shape->buckets)
		for (shape->buckets = 1; shape->buckets < shape->elements; shape->buckets *= 2)
			;
}

static void print_head(const struct hashscale *run)
{
	const struct keys *keys = &run->keys;
	struct machine machine;

	machine_read(&machine);
	machine_print(&machine);
	if (run->shape.mode == BENCH_HASH_INTEGERS)
		printf("integers: %zu", run->shape.elements);
	else
		printf("keys: %zu %s%s, %.1f bytes on average%s", keys->count,
		       run->settings->keys_path ? "from " : "paths under ",
		       run->settings->keys_path ? run->settings->keys_path : KEYS_ROOT,
		       (double)keys->bytes / (double)keys->count,
		       run->shape.mode == BENCH_HASH_PREHASHED ? ", hashed beforehand" : "");
	printf("; buckets: %zu; elements of %zu bytes\n", run->shape.buckets,
	       sizeof(struct bench_hash_element));
	if (keys->duplicates)
		printf("duplicate keys that were skipped: %zu\n", keys->duplicates);
	if (keys->empty)
		printf("empty lines that were skipped: %zu\n", keys->empty);
	if (keys->more)
		printf("there are more keys; %zu are used%s\n", keys->count,
		       run->settings->keys_path && !run->settings->elements
			       ? " (--elements N for more)"
			       : "");
}

static void choose(struct hashscale *run)
{
	const char *names[HASHSCALE_SCHEMES_MAX];
	bool chosen[HASHSCALE_SCHEMES_MAX];
	size_t i;

	if (!run->opt->schemes)
		peers_print_broken();
	for (i = 0; i < nr_schemes; i++)
		names[i] = schemes[i]->name;
	options_pick(run->opt, names, nr_schemes, chosen);
	for (i = 0; i < nr_schemes; i++)
		if (chosen[i])
			run->entries[run->count++].scheme = schemes[i];
}

/* Counters are for all CPUs that the machine can have. */
static double cpu_bytes(const struct bench_hash_scheme *scheme)
{
	return (double)scheme->cpu_bytes * (double)sysconf(_SC_NPROCESSORS_CONF);
}

/* Return the bytes that @scheme adds to an object and to its share of the table. */
static double object_bytes(const struct bench_hash_scheme *scheme,
			   const struct bench_hash_shape *shape, size_t table)
{
	double share = (double)shape->buckets / (double)shape->elements,
	       bytes = (double)scheme->object_bytes + cpu_bytes(scheme);
	void *element = malloc(sizeof(struct bench_hash_element));
	double chunk = (double)(malloc_usable_size(element) + sizeof(size_t));

	free(element);
	if (scheme->bucket_bytes != BENCH_HASH_MEASURED)
		return bytes + (double)scheme->bucket_bytes * share;
	bytes += (double)table / (double)shape->elements - chunk - (double)sizeof(void *) * share;
	return bytes > 0 ? bytes : 0;
}

/* Bytes that can be had without swapping; 0 where the system does not say. */
static double available_bytes(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	double kilobytes = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file) &&
	       sscanf(line, "MemAvailable: %lf", &kilobytes) != 1)
		;
	if (file)
		fclose(file);
	return kilobytes * 1024;
}

bool hashscale_updates(const struct hashscale *run)
{
	bool updates = false;
	size_t i;

	for (i = 0; i < run->settings->nr_updates; i++)
		updates = updates || run->settings->updates[i];
	return updates;
}

/* All tables are there at the same time. Better refused now than killed later. */
static void check_memory(const struct hashscale *run)
{
	double tables = hashscale_updates(run) ? 2 : 1;
	double per_scheme = (double)run->shape.elements * ELEMENT_BYTES * tables +
			    (double)run->shape.buckets * BUCKET_BYTES;
	double needed = per_scheme * (double)run->count, available = available_bytes();
	size_t i;

	for (i = 0; i < run->count; i++)
		if (run->entries[i].scheme->cpu_bytes)
			needed += 2 * (double)run->shape.elements *
				  (ELEMENT_BYTES + COUNTERS_BYTES + cpu_bytes(run->entries[i].scheme));

	if (available > 0 && needed > available * 0.8)
		options_bad(
			"%zu keys in the tables of %zu schemes need about %.1f GB and %.1f GB are "
			"free; use --elements N for fewer keys, or --schemes",
			run->shape.elements, run->count, needed / 1e9, available / 1e9);
}

static void make_tables(struct hashscale *run)
{
	const struct bench_hash_shape *shape = &run->shape;
	bool updates = hashscale_updates(run);
	uint64_t until = bench_now_ns() + (uint64_t)(MAKING * 1e9 * budget_left());
	size_t heap, left, i;

	for (i = 0; i < run->count; i++) {
		struct hashscale_entry *e = &run->entries[i];

		if (i && bench_now_ns() > until && !budget_is_short())
			break;
		bench_progress("hashscale: making tables, %s", e->scheme->name);
		heap = hashscale_heap();
		e->lookups = e->scheme->create(shape);
		e->object_bytes = object_bytes(e->scheme, shape, hashscale_heap() - heap);
		if (updates)
			e->mixed = e->scheme->create(shape);
		if (e->scheme->settle)
			e->scheme->settle();
	}
	bench_progress_clear();
	for (left = i; left < run->count; left++)
		budget_leave_out("%s", run->entries[left].scheme->name);
	run->count = i;
}

static void free_tables(struct hashscale *run)
{
	size_t i;

	for (i = 0; i < run->count; i++) {
		run->entries[i].scheme->destroy(run->entries[i].lookups);
		if (run->entries[i].mixed)
			run->entries[i].scheme->destroy(run->entries[i].mixed);
	}
}

/* ---- the command ----------------------------------------------------------------------------- */

static json_t *describe_keys(const struct hashscale *run)
{
	static const char *const kinds[] = { "integers", "texts", "prehashed texts" };
	const struct bench_hash_shape *shape = &run->shape;
	const char *source = run->settings->keys_path ? run->settings->keys_path : KEYS_ROOT;

	return json_pack("{s:s, s:o, s:I, s:I, s:I, s:I, s:b}", "kind", kinds[shape->mode],
			 "source", jsonout_string(shape->mode == BENCH_HASH_INTEGERS ? "" : source),
			 "elements", (json_int_t)shape->elements, "buckets",
			 (json_int_t)shape->buckets, "duplicates", (json_int_t)run->keys.duplicates,
			 "bytes", (json_int_t)run->keys.bytes, "more", (int)run->keys.more);
}

static json_t *describe_scheme(const struct hashscale_entry *e)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:b, s:f, s:I, s:b}", "scheme", e->scheme->name,
			 "what", e->scheme->what, "section", e->scheme->section, "holds_up",
			 e->scheme->holds_up, "reader_may_block", (int)e->scheme->reader_may_block,
			 "bytes_per_object", e->object_bytes, "bytes_per_thread",
			 (json_int_t)e->thread_bytes, "defers", (int)(e->scheme->deferred != NULL));
}

static void describe(struct hashscale *run)
{
	json_t *root = jsonout_root(run->json), *list = json_array();
	size_t i;

	for (i = 0; i < run->count; i++)
		json_array_append_new(list, describe_scheme(&run->entries[i]));
	jsonout_set(root, "schemes", list);
	jsonout_set(root, "keys", describe_keys(run));
}

static void measure(struct hashscale *run)
{
	make_tables(run);
	print_head(run);
	describe(run);
	if (run->settings->reload)
		hashscale_reload(run);
	else
		hashscale_measure(run);
	budget_end(run->json);
	free_tables(run);
}

int lull_cmd_hashscale(int argc, char **argv)
{
	struct hashscale_settings settings = { .seed = 1 };
	struct options opt = OPTIONS_INIT("hashscale");
	struct hashscale run = { .opt = &opt, .settings = &settings };

	opt.own = &settings;
	/* 0 is no number of threads: if it is still there afterwards, none was given. */
	opt.threads = options_alloc(34, sizeof(*opt.threads));
	opt.nr_threads = 1;
	options_parse(
		&opt, own_options, own_option,
		"Measures hash table lookups and updates per second, for several numbers of threads "
		"and shares of updates; or how long a reload takes beside readers (--reload)." BUDGET_HELP,
		argc, argv);
	find_schemes(settings.reload);
	if (opt.list) {
		list_schemes();
		options_free(&opt);
		return 0;
	}
	if (settings.reload)
		fill_in_reload(&settings, &opt);
	else
		fill_in(&settings, &opt);
	choose(&run);
	budget_begin(&opt, DEFAULT_SECONDS, hashscale_shares(&run));
	run.json = jsonout_open(&opt);
	load_keys(&run);
	hashscale_probe(run.entries, run.count);
	check_memory(&run);
	if (!settings.check)
		measure(&run);
	jsonout_close(run.json);
	keys_free(&run.keys);
	free(settings.updates);
	options_free(&opt);
	return 0;
}
