/* SPDX-License-Identifier: MIT */
/*
 * lull rcuscale: whom updates interrupt, how soon a sleeping reader's waiter goes on, and what the
 * looks at many hazard pointers cost. See rcuscale.h.
 */
#include "instruments/rcu/rcuscale.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/cpus.h"
#include "common/figures.h"
#include "common/options.h"
#include "engine/peers.h"
#include "engine/text_table.h"
#include "common/units.h"
#include "scan_scheme.h"

static size_t count_of(const struct rcuscale_scheme *const *schemes)
{
	size_t n = 0;

	while (schemes[n])
		n++;
	return n;
}

/* ---- interrupts ------------------------------------------------------------------------------ */

struct interrupts {
	const struct rcuscale_scheme *scheme; /* NULL: no updates */
	double *per_core, *heavy; /* per second, by round */
	unsigned rounds;
	bool known;
};

static const char *interrupts_name(const void *rows, size_t i)
{
	const struct rcuscale_scheme *scheme = ((const struct interrupts *)rows)[i].scheme;

	return scheme ? scheme->name : "no-updates";
}

static void run_interrupts(void *rows, size_t i, uint64_t budget_ns)
{
	struct interrupts *to = (struct interrupts *)rows + i;
	const struct rcuscale_scheme *scheme = to->scheme;
	struct rcuscale_job job = { .what = WHAT_INTERRUPTS, .setup = SETUP_BUSY };
	struct rcuscale_block block;
	double seconds;

	job.most = (uint32_t)(budget_ns * RCUSCALE_RATE / 1000000000u);
	job.most = job.most ? job.most : 1;
	/* Without a scheme: no updates, while rcu's readers read. */
	job.quiet = !scheme;
	if (scheme)
		rcuscale_run_scheme(scheme, &job, &block);
	else
		rcuscale_run(rcuscale_gp(NULL), &job, &block);
	free(block.ns);
	seconds = (double)block.elapsed_ns / 1e9;
	to->known = block.interrupts_known;
	to->per_core[to->rounds] = (double)block.interrupts / seconds / bench_cpus();
	to->heavy[to->rounds++] = (double)block.heavy / seconds;
}

static void interrupts_row(struct bench_table *t, struct interrupts *r, struct jsonout *json)
{
	const struct rcuscale_scheme *scheme = r->scheme;
	struct bench_stat per_core = bench_stat_of(r->per_core, r->known ? r->rounds : 0);
	struct bench_stat heavy = bench_stat_of(r->heavy, r->rounds);
	const char *name = interrupts_name(r, 0);
	json_t *row = jsonout_stat(json, name, bench_cpus(), "interrupts_busy", "1/s/core",
				   &per_core);

	bench_cell(t, "%s", name);
	bench_cell_stat(t, &per_core);
	if (!scheme || scheme->ours) {
		bench_cell_stat(t, &heavy);
		jsonout_set(row, "heavy_fences_per_second", json_real(heavy.median));
	} else {
		bench_cell(t, "-");
	}
}

void rcuscale_interrupts(const struct rcuscale_scheme *const *schemes, unsigned rounds, double seconds,
			 struct jsonout *json)
{
	size_t count = count_of(schemes) + 1, i; /* the last is without updates */
	struct interrupts *all = options_alloc(count, sizeof(*all));
	struct bench_table *t;

	for (i = 0; i < count; i++) {
		all[i].scheme = schemes[i];
		all[i].per_core = options_alloc(rounds, sizeof(double));
		all[i].heavy = options_alloc(rounds, sizeof(double));
	}
	rcuscale_rounds(&(struct rcuscale_rounds){ "interrupts", rounds, count, seconds, all, interrupts_name,
						   run_interrupts });
	printf("\ninterrupts while %u updates per second wait for readers, a busy reader on each "
	       "other CPU; per second\n",
	       RCUSCALE_RATE);
	t = bench_table_new("scheme|interrupts per core|heavy fences of lull");
	for (i = 0; i < count; i++) {
		if (all[i].rounds)
			interrupts_row(t, &all[i], json);
		free(all[i].per_core);
		free(all[i].heavy);
	}
	bench_table_print(t);
	free(all);
}

/* ---- waking up ------------------------------------------------------------------------------- */

struct wake {
	const struct rcuscale_scheme *scheme;
	uint32_t calls; /* in a round */
	uint64_t *ns;
	uint32_t count;
	double *own_cpu_ns, *cpu_ns; /* by round */
	unsigned rounds;
};

static const char *wake_name(const void *rows, size_t i)
{
	return ((const struct wake *)rows)[i].scheme->name;
}

static void run_wake(void *rows, size_t i, uint64_t budget_ns)
{
	struct wake *to = (struct wake *)rows + i;
	struct rcuscale_job job = { .what = WHAT_WAKE, .setup = SETUP_IDLE, .most = to->calls, .budget_ns = budget_ns };
	struct rcuscale_block block;

	rcuscale_run_scheme(to->scheme, &job, &block);
	memcpy(to->ns + to->count, block.ns, block.count * sizeof(*block.ns));
	to->count += block.count;
	to->own_cpu_ns[to->rounds] = block.own_cpu_ns;
	to->cpu_ns[to->rounds++] = block.cpu_ns;
	free(block.ns);
}

static void wake_row(struct bench_table *t, struct wake *w, struct jsonout *json)
{
	struct bench_latency lat = bench_latency_of(w->ns, w->count);
	struct bench_stat own = bench_stat_of(w->own_cpu_ns, w->rounds);
	struct bench_stat cpu = bench_stat_of(w->cpu_ns, w->rounds);
	json_t *row = jsonout_latency(json, w->scheme->name, 2, "wake", &lat);

	jsonout_set(row, "own_cpu_ns", json_real(own.median));
	jsonout_set(row, "process_cpu_ns", json_real(cpu.median));
	bench_cell(t, "%s", w->scheme->name);
	bench_cell(t, "%zu", lat.count);
	bench_cell(t, "%.1f", lat.min / 1000);
	bench_cell(t, "%.1f", lat.p50 / 1000);
	bench_cell(t, "%.1f", lat.p90 / 1000);
	bench_cell(t, "%.1f", lat.p99 / 1000);
	bench_cell(t, "%.1f", lat.max / 1000);
	bench_cell(t, "%.1f", own.median / 1000);
	bench_cell(t, "%.1f", cpu.median / 1000);
}

void rcuscale_wake(const struct rcuscale_scheme *const *schemes, unsigned rounds, unsigned calls,
		   double seconds, struct jsonout *json)
{
	size_t count = count_of(schemes), i;
	struct wake *all = options_alloc(count, sizeof(*all));
	struct bench_table *t;

	rounds = rounds > calls ? calls : rounds;
	calls = (calls + rounds - 1) / rounds;
	for (i = 0; i < count; i++) {
		all[i].scheme = schemes[i];
		all[i].calls = calls;
		all[i].ns = options_alloc((size_t)calls * rounds, sizeof(*all[i].ns));
		all[i].own_cpu_ns = options_alloc(rounds, sizeof(double));
		all[i].cpu_ns = options_alloc(rounds, sizeof(double));
	}
	rcuscale_rounds(&(struct rcuscale_rounds){ "waking up", rounds, count, seconds, all, wake_name, run_wake });
	printf("\nwaiting for a reader that sleeps for %s: from its unlock to the return of the wait, "
	       "and processor time per wait; us\n",
	       units_time(RCUSCALE_SLEEP_NS).text);
	t = bench_table_new("scheme|waits|min|p50|p90|p99|max|cpu of the call|of the process");
	for (i = 0; i < count; i++) {
		if (all[i].rounds)
			wake_row(t, &all[i], json);
		free(all[i].ns);
		free(all[i].own_cpu_ns);
		free(all[i].cpu_ns);
	}
	bench_table_print(t);
	free(all);
}

/* ---- scans ----------------------------------------------------------------------------------- */

#define SCAN_OBJECTS 2000u /* made at a time, then retired at a time */
#define SCAN_TIMES 24u
#define OBJECT_BYTES 64u

/* Order of the list; schemes that only a module has come last. */
static const char *const scan_order[] = { "free-at-once", "hazptr", "hazptr-fenced", "ck-hp", NULL };

#define SCANS_MAX 16

/* One context of 8 to 125 of them. */
static const size_t scan_slots[] = { 8, 500, 1000 };

#define NR_SLOTS (sizeof(scan_slots) / sizeof(scan_slots[0]))

struct scan {
	const struct bench_scan_scheme *scheme;
	char name[48];
	size_t slots;
	double *ns; /* per object, by round */
	unsigned rounds;
};

static void make_objects(void **object, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		object[i] = options_alloc(1, OBJECT_BYTES);
}

static void *scan_main(void *arg)
{
	struct scan *scan = arg;
	void **named = options_alloc(scan->slots, sizeof(*named)), *object[SCAN_OBJECTS];
	double ns[SCAN_TIMES];
	uint64_t before;
	unsigned i;

	bench_pin(0);
	make_objects(named, scan->slots);
	scan->scheme->occupy(named, scan->slots);
	/*
	 * The first time is not measured: it fills the caches and the backlog. Each time retires about as many objects
	 * as a scheme lets wait, so that it has a scan.
	 */
	for (i = 0; i <= SCAN_TIMES; i++) {
		make_objects(object, SCAN_OBJECTS);
		before = bench_now_ns();
		scan->scheme->retire(object, SCAN_OBJECTS);
		if (i)
			ns[i - 1] = (double)(bench_now_ns() - before) / SCAN_OBJECTS;
	}
	scan->scheme->barrier();
	scan->scheme->vacate();
	for (i = 0; i < scan->slots; i++)
		free(named[i]);
	free(named);
	scan->ns[scan->rounds++] = bench_stat_of(ns, SCAN_TIMES).median;
	return NULL;
}

static const char *scan_name(const void *rows, size_t i)
{
	return ((const struct scan *)rows)[i].name;
}

static void run_scan(void *rows, size_t i, uint64_t budget_ns)
{
	pthread_t thread;
	int err = pthread_create(&thread, NULL, scan_main, (struct scan *)rows + i);

	(void)budget_ns; /* so many objects as a scheme lets wait: fewer would have no scan */
	if (err)
		options_bad("cannot make a thread: %s", strerror(err));
	pthread_join(thread, NULL);
}

static bool is_chosen(const struct rcuscale_scheme *const *schemes, const char *name)
{
	for (; *schemes; schemes++)
		if (!strcmp((*schemes)->name, name))
			return true;
	return false;
}

static void print_scans(struct scan *all, size_t count, struct jsonout *json)
{
	struct bench_table *t = bench_table_new("scheme|slots in use|retired, looked up and freed");
	char metric[32];
	size_t i;

	printf("\nretiring %u objects at a time while other slots are in use; ns per object\n",
	       SCAN_OBJECTS);
	for (i = 0; i < count; i++) {
		struct bench_stat ns = bench_stat_of(all[i].ns, all[i].rounds);

		if (!ns.count) {
			free(all[i].ns);
			continue;
		}
		snprintf(metric, sizeof(metric), "scan_%zu", all[i].slots);
		jsonout_stat(json, all[i].scheme->name, 1, metric, "ns", &ns);
		bench_cell(t, "%s", all[i].scheme->name);
		bench_cell(t, "%zu", all[i].slots);
		bench_cell_stat(t, &ns);
		free(all[i].ns);
	}
	bench_table_print(t);
}

void rcuscale_scan(const struct rcuscale_scheme *const *schemes, unsigned rounds, double seconds,
		   struct jsonout *json)
{
	size_t scans, count = 0, i, j;
	struct scan all[SCANS_MAX * NR_SLOTS];
	const void *found[SCANS_MAX];

	scans = peers_schemes(PEER_SCAN, scan_order, found, SCANS_MAX);
	for (i = 0; i < scans; i++)
		for (j = 0; j < NR_SLOTS; j++) {
			const struct bench_scan_scheme *scheme = found[i];

			if (!is_chosen(schemes, scheme->name) ||
			    (scheme->most_slots && scan_slots[j] > scheme->most_slots))
				continue;
			all[count] = (struct scan){
				.scheme = scheme,
				.slots = scan_slots[j],
				.ns = options_alloc(rounds, sizeof(double)),
			};
			snprintf(all[count].name, sizeof(all[count].name), "%s with %zu slots", scheme->name,
				 scan_slots[j]);
			count++;
		}
	if (!count)
		return;
	rcuscale_rounds(&(struct rcuscale_rounds){ "scans", rounds, count, seconds, all, scan_name, run_scan });
	print_scans(all, count, json);
}
