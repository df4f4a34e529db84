/* SPDX-License-Identifier: MIT */
/*
 * lull rcuscale: how long one waits for a grace period, a deferred call, a barrier, the end of a
 * percpu_ref, and what replacing objects costs end to end. Options and tables; scale/rcu/run.c
 * measures.
 *
 * Schemes take turns, block by block, so that a disturbance falls on all of them alike. Percentile
 * P is the smallest time that at least P % of the calls did not exceed. The kernel's
 * kvm-recheck-rcuscale.sh takes position N * P / 100 rounded down: the same value when N is a
 * multiple of 100.
 */
#include "scale/rcu/rcuscale.h"

#include <stdlib.h>
#include <string.h>

#include <lull/percpu_ref.h>
#include <lull/rcu.h>

#include "common/clock.h"
#include "common/commands.h"
#include "common/cpus.h"
#include "common/figures.h"
#include "common/machine.h"
#include "common/options.h"
#include "common/peers.h"
#include "common/progress.h"
#include "common/text_table.h"

#define DEFAULT_CALLS 1000u
#define DEFAULT_SECONDS 0.5 /* for the calls of one scheme in one setup */
#define DEFAULT_ROUNDS 10u
#define DEFAULT_OBJECTS 1000000u
#define REPLACE_ROUNDS 3u
#define DEFAULT_WAITS 200u
/* The seconds are for calls back to back; with so long between them it takes more. */
#define INTERRUPTS_BUDGETS 6u

#define SCHEMES_MAX 32

/* As they are listed; others that a module has come last. */
static const struct rcuscale_scheme usual[] = {
	{ "rcu", "lull RCU, ordinary threads", NULL, true },
	{ "rcu-builtin", "the same, compiled into the command: what a module costs", NULL, true },
	{ "rcu-qsbr", "lull RCU, online threads", NULL, true },
	{ "rcu-full", "lull RCU where light fences are full ones (a process of its own)", NULL,
	  true },
	{ "hazptr", "lull hazard pointers", NULL, true },
	{ "hazptr-fenced", "lull hazard pointers with full fences", NULL, true },
	{ "hazptr-rcu", "lull bridge from RCU to hazard pointers", NULL, true },
	{ "shazptr", "lull simple hazard pointers, readers elsewhere", NULL, true },
	{ "shazptr-wildcard", "lull simple hazard pointers, readers everywhere", NULL, true },
	{ "liburcu-memb", "liburcu membarrier flavor", NULL, false },
	{ "liburcu-mb", "liburcu full-barrier flavor", NULL, false },
	{ "liburcu-qsbr", "liburcu quiescent-state flavor", NULL, false },
	{ "liburcu-bp", "liburcu self-registering flavor", NULL, false },
	{ "ck-epoch", "Concurrency Kit epochs", NULL, false },
	{ "ck-hp", "Concurrency Kit hazard pointers", NULL, false },
	{ "percpu_ref", "lull percpu_ref, which is killed", NULL, true },
	{ "membarrier", "a bare membarrier of the kind that percpu_ref uses", NULL, false },
	{ "free-at-once", "no grace period: the limit of replacement", NULL, false },
};

#define NR_USUAL (sizeof(usual) / sizeof(usual[0]))

static struct rcuscale_scheme schemes[SCHEMES_MAX];
static size_t nr_schemes;

static const char *const setup_names[NR_SETUPS] = {
	[SETUP_IDLE] = "idle",
	[SETUP_BUSY] = "busy",
	[SETUP_THREADS64] = "threads64",
	[SETUP_SECTIONS] = "sections",
	[SETUP_STUCK] = "stuck",
};

static const char *const setup_what[NR_SETUPS] = {
	[SETUP_IDLE] = "idle process",
	[SETUP_BUSY] = "one busy reader",
	[SETUP_THREADS64] = "64 registered threads asleep",
	[SETUP_SECTIONS] = "one reader in sections of 20 us",
	[SETUP_STUCK] = "one reader that sleeps in its section for 200 ms",
};

/* In the order of enum rcuscale_what. */
static const char *const metric_names[NR_WHATS] = { "synchronize", "call", "barrier",
						    "barrier_queued", "replace", "kill",
						    "interrupts", "wake", "scan" };

static const char *const what_titles[NR_WHATS] = {
	[WHAT_SYNCHRONIZE] = "synchronize",
	[WHAT_CALL] = "call until its callback runs, one at a time",
	[WHAT_BARRIER] = "barrier, nothing queued",
	[WHAT_BARRIER_QUEUED] = "barrier, one callback queued",
	[WHAT_REPLACE] = "replacing 64-byte objects",
	[WHAT_KILL] = "kill of a percpu_ref until it is confirmed, and one membarrier",
};

static const char *const way_names[BENCH_GP_WAYS] = {
	[BENCH_GP_CALL] = "call",
	[BENCH_GP_FREE] = "free",
	[BENCH_GP_HELP] = "help",
	[BENCH_GP_DEFER] = "defer",
	[BENCH_GP_NOW] = "now",
};

/* ---- options --------------------------------------------------------------------------------- */

enum gp_engine { GP_EVENT, GP_POLLED };

struct settings {
	bool what[NR_WHATS];
	bool setup[NR_SETUPS];
	bool what_given, setup_given, calls_given;
	uint32_t calls, objects, rounds;
	uint64_t budget_ns;
	enum gp_engine gp;
	struct rcuscale_polled polled;
	bool kernel_format;
	const char *block;
	struct rcuscale_letter letter;
	bool chosen[SCHEMES_MAX];
};

enum {
	OPT_WHAT = OPTIONS_OWN_KEYS,
	OPT_SETUP,
	OPT_CALLS,
	OPT_OBJECTS,
	OPT_GP,
	OPT_SELF_QS,
	OPT_FQS_FIRST,
	OPT_FQS_NEXT,
	OPT_KERNEL_FORMAT,
	OPT_FLAVOR,
	OPT_SKIP_SELF_SCAN,
	OPT_BLOCK
};

static const struct argp_option own_options[] = {
	{ "what", OPT_WHAT, "WHAT,...", 0, 
	  "synchronize, call, barrier, replace (these four), kill, interrupts, wake, scan, all", 0 },
	{ "setup", OPT_SETUP, "SETUP,...", 0,
	  "idle, busy, threads64, sections, stuck (for replace), all (synchronize: all but stuck; "
	  "the others: idle and busy)",
	  0 },
	{ "calls", OPT_CALLS, "N", 0,
	  "calls of each scheme in each setup (1000), fewer where --seconds are over first", 0 },
	{ "objects", OPT_OBJECTS, "N", 0, "objects to replace (1000000)", 0 },
	{ "gp", OPT_GP, "event|polled", 0,
	  "polled: grace periods by scanning twice, to be compared with lull's", 0 },
	{ "self-qs", OPT_SELF_QS, "late|early|both", 0,
	  "polled: when the driver is found quiescent (both)", 0 },
	{ "fqs-first", OPT_FQS_FIRST, "US", 0, "polled: microseconds before the first scan (3000)",
	  0 },
	{ "fqs-next", OPT_FQS_NEXT, "US", 0, "polled: microseconds before each further scan (3000)",
	  0 },
	{ "kernel-format", OPT_KERNEL_FORMAT, NULL, 0,
	  "samples of one scheme in the lines of the kernel's rcuscale, for its scripts", 0 },
	{ "flavor", OPT_FLAVOR, "FLAVOR,...", 0,
	  "rcu, hazptr, hazptr-fenced, shazptr, shazptr-wildcard, letter, all: six lines for each, as "
	  "in the letter of the simple hazard pointers",
	  0 },
	{ "skip-self-scan", OPT_SKIP_SELF_SCAN, NULL, 0,
	  "flavors shazptr, shazptr-wildcard: leave all to the scan thread", 0 },
	{ "block", OPT_BLOCK, "BLOCK", OPTION_HIDDEN, NULL, 0 },
	{ 0 }
};

static void set_whats(struct settings *s, const char *arg)
{
	static const char *const words[] = { "synchronize", "call", "barrier", "replace", "kill",
					     "interrupts",  "wake", "scan",    "all",	  NULL };
	static const bool includes[][NR_WHATS] = {
		{ [WHAT_SYNCHRONIZE] = true },
		{ [WHAT_CALL] = true },
		{ [WHAT_BARRIER] = true, [WHAT_BARRIER_QUEUED] = true },
		{ [WHAT_REPLACE] = true },
		{ [WHAT_KILL] = true },
		{ [WHAT_INTERRUPTS] = true },
		{ [WHAT_WAKE] = true },
		{ [WHAT_SCAN] = true },
		{ true, true, true, true, true, true, true, true, true },
	};
	size_t count, i, w;
	char **items = options_split("--what", arg, &count);

	for (i = 0; i < count; i++) {
		size_t word = options_word("--what", items[i], words);

		for (w = 0; w < NR_WHATS; w++)
			s->what[w] = s->what[w] || includes[word][w];
		free(items[i]);
	}
	free(items);
	s->what_given = true;
}

static void set_setups(struct settings *s, const char *arg)
{
	static const char *const words[] = { "idle",  "busy", "threads64", "sections",
					     "stuck", "all",  NULL };
	size_t count, i, k;
	char **items = options_split("--setup", arg, &count);

	for (i = 0; i < count; i++) {
		size_t word = options_word("--setup", items[i], words);

		for (k = 0; k < NR_SETUPS; k++)
			s->setup[k] = s->setup[k] || word == NR_SETUPS || word == k;
		free(items[i]);
	}
	free(items);
	s->setup_given = true;
}

static void own_option(int key, char *arg, struct options *opt)
{
	static const char *const engines[] = { "event", "polled", NULL };
	static const char *const self_qs[] = { "late", "early", "both", NULL };
	struct settings *s = opt->own;

	switch (key) {
	case OPT_WHAT:
		set_whats(s, arg);
		break;
	case OPT_SETUP:
		set_setups(s, arg);
		break;
	case OPT_CALLS:
		s->calls = (uint32_t)options_unsigned("--calls", arg, 1, 10000000);
		s->calls_given = true;
		break;
	case OPT_OBJECTS:
		s->objects = (uint32_t)options_unsigned("--objects", arg, 1000, 1000000000);
		break;
	case OPT_GP:
		s->gp = (enum gp_engine)options_word("--gp", arg, engines);
		break;
	case OPT_SELF_QS:
		s->polled.self_qs = (enum rcuscale_self_qs)options_word("--self-qs", arg, self_qs);
		break;
	case OPT_FQS_FIRST:
		s->polled.first_us = options_unsigned("--fqs-first", arg, 1, 1000000);
		break;
	case OPT_FQS_NEXT:
		s->polled.next_us = options_unsigned("--fqs-next", arg, 1, 1000000);
		break;
	case OPT_KERNEL_FORMAT:
		s->kernel_format = true;
		break;
	case OPT_FLAVOR:
		rcuscale_letter_flavors(&s->letter, arg);
		break;
	case OPT_SKIP_SELF_SCAN:
		s->letter.skip_self_scan = true;
		break;
	default:
		s->block = arg;
	}
}

static void fill_in(struct settings *s, const struct options *opt)
{
	size_t i;

	for (i = 0; i < NR_WHATS; i++)
		s->what[i] = s->what[i] || (!s->what_given && i <= WHAT_REPLACE);
	s->budget_ns = (uint64_t)((opt->seconds > 0 ? opt->seconds : DEFAULT_SECONDS) * 1e9);
	s->rounds = opt->runs;
	s->polled.calls = s->calls_given ? s->calls : 100;
	s->polled.runs = opt->runs ? opt->runs : 6;
}

static bool wants_setup(const struct settings *s, enum rcuscale_what what,
			enum rcuscale_setup setup)
{
	if (setup == SETUP_STUCK && what != WHAT_REPLACE)
		return false;
	if (s->setup_given)
		return s->setup[setup];
	if (setup == SETUP_STUCK)
		return false;
	return what == WHAT_SYNCHRONIZE || setup == SETUP_IDLE || setup == SETUP_BUSY;
}

static const char *metric(enum rcuscale_what what, const char *way, enum rcuscale_setup setup)
{
	static char text[64];

	snprintf(text, sizeof(text), "%s%s%s_%s", metric_names[what], way ? "_" : "",
		 way ? way : "", setup_names[setup]);
	return text;
}

/* Of what other processors interrupted, per operation and per second and core. */
static void interrupt_cells(struct bench_table *t, bool known, uint64_t interrupts, uint64_t calls,
			    uint64_t elapsed_ns)
{
	if (!known || !calls || !elapsed_ns) {
		bench_cell(t, "n/a");
		bench_cell(t, "n/a");
		return;
	}
	bench_cell(t, "%.2f", (double)interrupts / (double)calls);
	bench_cell(t, "%.0f", (double)interrupts * 1e9 / (double)elapsed_ns / bench_cpus());
}

/* ---- latencies ------------------------------------------------------------------------------- */

/* The blocks of one scheme. */
struct series {
	uint64_t *ns;
	uint32_t count;
	double *p50; /* of each block */
	uint32_t rounds;
	uint64_t elapsed_ns, interrupts;
	bool interrupts_known;
};

static void add_block(struct series *series, struct rcuscale_block *block)
{
	memcpy(series->ns + series->count, block->ns, block->count * sizeof(*block->ns));
	series->p50[series->rounds++] = bench_latency_of(block->ns, block->count).p50;
	series->count += block->count;
	series->elapsed_ns += block->elapsed_ns;
	series->interrupts += block->interrupts;
	series->interrupts_known = series->interrupts_known && block->interrupts_known;
	free(block->ns);
}

static void measure_series(const struct settings *s, enum rcuscale_what what,
			   enum rcuscale_setup setup, struct series *all)
{
	uint32_t rounds = s->rounds ? s->rounds : DEFAULT_ROUNDS, round;
	struct rcuscale_job job = { .what = what, .setup = setup };
	size_t i;

	if (rounds > s->calls)
		rounds = s->calls;
	job.most = (s->calls + rounds - 1) / rounds;
	job.budget_ns = s->budget_ns / rounds;
	for (i = 0; i < nr_schemes; i++) {
		all[i] = (struct series){ .interrupts_known = true };
		all[i].ns = options_alloc((size_t)job.most * rounds, sizeof(*all[i].ns));
		all[i].p50 = options_alloc(rounds, sizeof(*all[i].p50));
	}
	for (round = 0; round < rounds; round++) {
		bench_progress("rcuscale: %s, %s, round %u of %u", what_titles[what],
			       setup_what[setup], round + 1, rounds);
		for (i = 0; i < nr_schemes; i++) {
			struct rcuscale_block block;

			if (!s->chosen[i] || !rcuscale_can(&schemes[i], what))
				continue;
			rcuscale_run_scheme(&schemes[i], &job, &block);
			add_block(&all[i], &block);
		}
	}
	bench_progress_clear();
}

static void cell_us(struct bench_table *t, double ns)
{
	bench_cell(t, "%.*f", ns < 99950 ? 2 : 0, ns / 1000);
}

static void latency_row(struct bench_table *t, const struct rcuscale_scheme *scheme, struct series *series,
			const char *name, unsigned threads, struct jsonout *json)
{
	struct bench_latency lat = bench_latency_of(series->ns, series->count);
	struct bench_stat by_round =
		bench_stat_scale(bench_stat_of(series->p50, series->rounds), 0.001);
	json_t *row = jsonout_latency(json, scheme->name, threads, name, &lat);

	jsonout_set(row, "p50_round_min", json_real(by_round.min * 1000));
	jsonout_set(row, "p50_round_median", json_real(by_round.median * 1000));
	jsonout_set(row, "p50_round_max", json_real(by_round.max * 1000));
	if (series->interrupts_known && series->count) {
		jsonout_set(row, "interrupts_per_call",
			    json_real((double)series->interrupts / series->count));
		jsonout_set(row, "interrupts_per_second_per_core",
			    json_real((double)series->interrupts * 1e9 /
				      (double)series->elapsed_ns / bench_cpus()));
	}
	bench_cell(t, "%s", scheme->name);
	bench_cell(t, "%zu", lat.count);
	cell_us(t, lat.mean);
	cell_us(t, lat.min);
	cell_us(t, lat.p50);
	cell_us(t, lat.p90);
	cell_us(t, lat.p99);
	cell_us(t, lat.max);
	bench_cell_stat(t, &by_round);
	interrupt_cells(t, series->interrupts_known, series->interrupts, series->count,
			series->elapsed_ns);
}

static void latency_table(const struct settings *s, enum rcuscale_what what,
			  enum rcuscale_setup setup, struct jsonout *json)
{
	unsigned threads = setup == SETUP_IDLE ? 1 : setup == SETUP_THREADS64 ? 65 : 2;
	struct series all[SCHEMES_MAX];
	struct bench_table *t;
	size_t i;

	measure_series(s, what, setup, all);
	printf("\n%s: %s; us%s\n", what_titles[what], setup_what[setup],
	       what == WHAT_KILL && !lull_percpu_ref_per_cpu() ?
		       "; no restartable sequences here, so it waits for a grace period" :
		       "");
	t = bench_table_new(
		"scheme|calls|average|min|p50|p90|p99|max|p50 by round|interrupts/call|/s/core");
	for (i = 0; i < nr_schemes; i++) {
		if (all[i].count)
			latency_row(t, &schemes[i], &all[i], metric(what, NULL, setup), threads,
				    json);
		free(all[i].ns);
		free(all[i].p50);
	}
	bench_table_print(t);
}

/* ---- replacement ----------------------------------------------------------------------------- */

/* One way of one scheme. */
struct replacement {
	const struct rcuscale_scheme *scheme;
	enum bench_gp_way way;
	double *ns, *cost, *cpu;
	uint32_t rounds;
	bool has_cost;
	uint64_t peak;
};

static bool scheme_has_way(const struct rcuscale_scheme *scheme, enum bench_gp_way way)
{
	return rcuscale_gp(scheme)->ways[way];
}

static size_t list_replacements(const struct settings *s, enum rcuscale_setup setup,
				uint32_t rounds, struct replacement *all)
{
	size_t i, count = 0;
	int way;

	for (i = 0; i < nr_schemes; i++) {
		for (way = 0; way < BENCH_GP_WAYS; way++) {
			if (!s->chosen[i] || !scheme_has_way(&schemes[i], (enum bench_gp_way)way))
				continue;
			/* There is no reader that could stand it. */
			if (way == BENCH_GP_NOW && setup != SETUP_IDLE)
				continue;
			all[count] = (struct replacement){ .scheme = &schemes[i],
							   .way = (enum bench_gp_way)way };
			all[count].ns = options_alloc(rounds, sizeof(double));
			all[count].cost = options_alloc(rounds, sizeof(double));
			all[count].cpu = options_alloc(rounds, sizeof(double));
			count++;
		}
	}
	return count;
}

static void measure_replacement(const struct settings *s, enum rcuscale_setup setup,
				struct replacement *r)
{
	struct rcuscale_job job = {
		.what = WHAT_REPLACE, .setup = setup, .way = r->way, .most = s->objects
	};
	struct rcuscale_block block;

	rcuscale_run_scheme(r->scheme, &job, &block);
	r->ns[r->rounds] = block.replaced.ns;
	r->has_cost = block.count > 0;
	r->cost[r->rounds] = bench_stat_of(block.cost, block.count).median;
	r->cpu[r->rounds] = block.cpu_ns;
	r->peak = block.replaced.peak > r->peak ? block.replaced.peak : r->peak;
	r->rounds++;
	free(block.cost);
}

static void replacement_row(struct bench_table *t, struct replacement *r, enum rcuscale_setup setup,
			    struct jsonout *json)
{
	struct bench_stat ns = bench_stat_of(r->ns, r->rounds);
	struct bench_stat cost = bench_stat_of(r->cost, r->has_cost ? r->rounds : 0);
	struct bench_stat cpu = bench_stat_of(r->cpu, r->has_cost ? r->rounds : 0);
	json_t *row = jsonout_stat(json, r->scheme->name, setup == SETUP_IDLE ? 1 : 2,
				   metric(WHAT_REPLACE, way_names[r->way], setup), "ns", &ns);

	jsonout_set(row, "peak_objects", json_integer((json_int_t)r->peak));
	jsonout_set(row, "retire_ns", r->has_cost ? json_real(cost.median) : json_null());
	jsonout_set(row, "retire_cpu_ns", r->has_cost ? json_real(cpu.median) : json_null());
	bench_cell(t, "%s", r->scheme->name);
	bench_cell(t, "%s", r->way == BENCH_GP_NOW ? "-" : way_names[r->way]);
	bench_cell_stat(t, &ns);
	bench_cell(t, "%llu", (unsigned long long)r->peak);
	bench_cell_stat(t, &cost);
	bench_cell_stat(t, &cpu);
}

static void replace_table(const struct settings *s, enum rcuscale_setup setup, struct jsonout *json)
{
	uint32_t rounds = s->rounds ? s->rounds : REPLACE_ROUNDS, round;
	struct replacement all[SCHEMES_MAX * BENCH_GP_WAYS];
	size_t count = list_replacements(s, setup, rounds, all), i;
	struct bench_table *t;

	for (round = 0; round < rounds; round++)
		for (i = 0; i < count; i++) {
			bench_progress("rcuscale: replacing, %s, %s, round %u of %u",
				       setup_what[setup], all[i].scheme->name, round + 1, rounds);
			measure_replacement(s, setup, &all[i]);
		}
	bench_progress_clear();
	printf("\n%s, %u of them: %s; ns per object\n", what_titles[WHAT_REPLACE], s->objects,
	       setup_what[setup]);
	t = bench_table_new("scheme|by|until all are freed|deferred at peak|the call "
			    "alone|processor time of it all");
	for (i = 0; i < count; i++) {
		replacement_row(t, &all[i], setup, json);
		free(all[i].ns);
		free(all[i].cost);
		free(all[i].cpu);
	}
	bench_table_print(t);
}

/* ---- the kernel's lines ---------------------------------------------------------------------- */

/* For kvm-recheck-rcuscale.sh, which looks at words by their position. */
static void kernel_format(const struct settings *s)
{
	struct rcuscale_job job = { .what = WHAT_SYNCHRONIZE,
				    .most = s->calls,
				    .budget_ns = s->budget_ns };
	const struct rcuscale_scheme *scheme = NULL;
	uint64_t gps = lull_load_relaxed(&lull__rcu_gp), began = bench_now_ns();
	struct rcuscale_block block;
	uint32_t i;

	for (i = 0; i < NR_SETUPS; i++)
		if (s->setup[i])
			job.setup = (enum rcuscale_setup)i;
	for (i = 0; i < nr_schemes; i++)
		if (s->chosen[i])
			scheme = &schemes[i];
	rcuscale_run_scheme(scheme, &job, &block);
	gps = (lull_load_relaxed(&lull__rcu_gp) - gps) / LULL__RCU_STEP;
	if (!gps) /* another library's, or in another process */
		gps = block.count;
	printf("%s-scale: writer 0 gps: %u\n", scheme->name, block.count);
	printf("%s-scale: start: %llu end: %llu duration: %llu gps: %u batches: %llu\n",
	       scheme->name, (unsigned long long)began,
	       (unsigned long long)(began + block.elapsed_ns), (unsigned long long)block.elapsed_ns,
	       block.count, (unsigned long long)gps);
	for (i = 0; i < block.count; i++)
		printf("%s-scale: %4d writer-duration: %5u %llu\n", scheme->name, 0, i,
		       (unsigned long long)block.ns[i]);
	free(block.ns);
}

static void check_kernel_format(const struct settings *s, const struct options *opt)
{
	unsigned setups = 0, i;

	for (i = 0; i < NR_SETUPS; i++)
		setups += s->setup[i];
	if (opt->nr_schemes != 1 || setups > 1 || opt->json_path)
		options_bad("--kernel-format: the lines have no place for more than one scheme and "
			    "setup; "
			    "name one with --schemes, and no --json");
	for (i = 0; i < nr_schemes; i++)
		if (s->chosen[i] && !rcuscale_can(&schemes[i], WHAT_SYNCHRONIZE))
			options_bad("--kernel-format: %s waits for nothing", schemes[i].name);
}

/* ---- the command ----------------------------------------------------------------------------- */

static bool is_usual(const char *name)
{
	size_t i;

	for (i = 0; i < NR_USUAL && strcmp(usual[i].name, name); i++)
		;
	return i < NR_USUAL;
}

static void find_schemes(void)
{
	static const char *const no_order[] = { NULL };
	const void *found[SCHEMES_MAX];
	size_t count, i;

	peers_load(&bench_builtin);
	for (i = 0; i < NR_USUAL; i++) {
		struct rcuscale_scheme s = usual[i];
		bool full = !strcmp(s.name, "rcu-full");

		s.gp = peers_scheme(PEER_GP, s.name);
		if (s.gp || (full && peers_scheme(PEER_GP, "rcu")))
			schemes[nr_schemes++] = s;
	}
	count = peers_schemes(PEER_GP, no_order, found, SCHEMES_MAX);
	for (i = 0; i < count && nr_schemes < SCHEMES_MAX; i++) {
		const struct bench_gp_scheme *gp = found[i];

		if (!is_usual(gp->name))
			schemes[nr_schemes++] = (struct rcuscale_scheme){ gp->name, gp->what, gp, false };
	}
	if (!nr_schemes)
		peers_need(PEER_GP, "rcu");
}

static void list_schemes(void)
{
	size_t i;

	for (i = 0; i < nr_schemes; i++)
		printf("%-18s %s\n", schemes[i].name, schemes[i].what);
	peers_print_missing();
}

static void choose(struct settings *s, const struct options *opt)
{
	const char *names[SCHEMES_MAX];
	size_t i;

	if (!opt->schemes && !s->kernel_format)
		peers_print_broken();
	for (i = 0; i < nr_schemes; i++)
		names[i] = schemes[i].name;
	options_pick(opt, names, nr_schemes, s->chosen);
	/* Where fences are full ones anyway it would be the same as rcu. */
	for (i = 0; i < nr_schemes && !opt->schemes; i++)
		if (!schemes[i].gp && lull_fence_strategy() == LULL_FENCE_FULL)
			s->chosen[i] = false;
}

static void setup_table(const struct settings *s, enum rcuscale_what what,
			enum rcuscale_setup setup, struct jsonout *json)
{
	if (!s->what[what] || !wants_setup(s, what, setup))
		return;
	if (what == WHAT_KILL)
		jsonout_set(jsonout_root(json), "percpu_ref_per_cpu",
			    json_boolean(lull_percpu_ref_per_cpu()));
	if (what == WHAT_REPLACE)
		replace_table(s, setup, json);
	else
		latency_table(s, what, setup, json);
}

/* Those of the chosen schemes that have it; NULL ends the list. */
static const struct rcuscale_scheme **chosen_for(const struct settings *s, enum rcuscale_what what)
{
	const struct rcuscale_scheme **list = options_alloc(nr_schemes + 1, sizeof(*list));
	size_t count = 0, i;

	for (i = 0; i < nr_schemes; i++)
		if (s->chosen[i] && rcuscale_can(&schemes[i], what))
			list[count++] = &schemes[i];
	return list;
}

/* Those that have one setup of their own. */
static void other_table(const struct settings *s, enum rcuscale_what what, struct jsonout *json)
{
	const struct rcuscale_scheme **list;
	uint32_t rounds = s->rounds ? s->rounds : DEFAULT_ROUNDS;

	if (!s->what[what])
		return;
	list = chosen_for(s, what);
	if (what == WHAT_SCAN)
		rcuscale_scan(list, rounds, json);
	else if (*list && what == WHAT_WAKE)
		rcuscale_wake(list, rounds, s->calls_given ? s->calls : DEFAULT_WAITS, json);
	else if (*list)
		rcuscale_interrupts(list, rounds, s->budget_ns * INTERRUPTS_BUDGETS / rounds, json);
	free(list);
}

static void all_tables(const struct settings *s, struct jsonout *json)
{
	struct machine machine;
	size_t i;
	int what, setup;

	machine_read(&machine);
	machine_print(&machine);
	for (i = 0; i < nr_schemes; i++)
		if (s->chosen[i] && schemes[i].gp)
			rcuscale_prime(schemes[i].gp);
	for (what = 0; what <= WHAT_KILL; what++)
		for (setup = 0; setup < NR_SETUPS; setup++)
			setup_table(s, (enum rcuscale_what)what, (enum rcuscale_setup)setup, json);
	for (; what < NR_WHATS; what++)
		other_table(s, (enum rcuscale_what)what, json);
}

static void letter(const struct settings *s, struct jsonout *json)
{
	struct rcuscale_letter l = s->letter;
	struct machine machine;
	int setup;

	machine_read(&machine);
	machine_print(&machine);
	l.calls = s->calls;
	l.rounds = s->rounds ? s->rounds : DEFAULT_ROUNDS;
	l.budget_ns = s->budget_ns;
	l.setup = SETUP_BUSY;
	for (setup = 0; setup < NR_SETUPS; setup++)
		if (s->setup[setup])
			l.setup = (enum rcuscale_setup)setup;
	printf("waiting for readers: %s\n", setup_what[l.setup]);
	rcuscale_letter(&l, json);
}

static void check_letter(const struct settings *s, const struct options *opt)
{
	unsigned setups = 0, i;

	rcuscale_letter_check(&s->letter);
	if (!s->letter.given)
		return;
	for (i = 0; i < NR_SETUPS; i++)
		setups += s->setup[i];
	if (opt->nr_schemes || s->what_given || s->kernel_format || s->gp == GP_POLLED)
		options_bad("--flavor says what to measure; it does not go with --schemes, --what, "
			    "--gp and --kernel-format");
	if (setups > 1 || s->setup[SETUP_STUCK])
		options_bad("--flavor: one --setup, and not stuck");
}

static void run(struct settings *s, const struct options *opt)
{
	struct jsonout *json;

	check_letter(s, opt);
	if (s->kernel_format)
		check_kernel_format(s, opt);
	json = jsonout_open(opt);
	if (s->letter.given)
		letter(s, json);
	else if (s->gp == GP_POLLED)
		rcuscale_polled(&s->polled, json);
	else if (s->kernel_format)
		kernel_format(s);
	else
		all_tables(s, json);
	jsonout_close(json);
}

int lull_cmd_rcuscale(int argc, char **argv)
{
	struct settings settings = {
		.calls = DEFAULT_CALLS,
		.objects = DEFAULT_OBJECTS,
		.polled = { .self_qs = SELF_QS_BOTH, .first_us = 3000, .next_us = 3000 },
	};
	struct options opt = OPTIONS_INIT("rcuscale");

	opt.own = &settings;
	options_parse(&opt, own_options, own_option,
		      "Measures how long one waits for a grace period, a deferred call or a "
		      "barrier, and what it costs to "
		      "replace objects.",
		      argc, argv);
	fill_in(&settings, &opt);
	find_schemes();
	if (opt.list) {
		list_schemes();
	} else if (settings.block) {
		rcuscale_serve_block(settings.block);
	} else {
		choose(&settings, &opt);
		run(&settings, &opt);
	}
	options_free(&opt);
	return 0;
}
