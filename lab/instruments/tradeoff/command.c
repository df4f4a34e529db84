/* SPDX-License-Identifier: MIT */
/*
 * lull tradeoff: four ways to keep an object alive, and what each costs: readers, memory, how long
 * one may hold, walks that start again, memory that waits.
 *
 * Each measurement is made in a process of its own, so that none finds what another left behind.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/bench.h"
#include "common/clock.h"
#include "commands.h"
#include "common/figures.h"
#include "common/machine.h"
#include "common/progress.h"
#include "engine/budget.h"
#include "engine/turns.h"
#include "instruments/tradeoff/ways.h"

#define DEFAULT_SECONDS 10.0
#define DEFAULT_RUNS 3u
#define DEFAULT_SLOW_NS 10e6
#define DEFAULT_UPDATE_RATE 10000
#define LIST 100

/* Shares of the time, in the order of the parts: what decides between the ways comes first. */
#define SHARE_MIX 0.52
#define SHARE_MEMORY 0.08
#define SHARE_HOLD 0.14
#define SHARE_READ 0.14
#define SHARE_WALK 0.12
#define WALK_SECONDS 0.02 /* of a way, at least */

/* ---- options --------------------------------------------------------------------------------- */

enum { OPT_SLOW = OPTIONS_OWN_KEYS, OPT_UPDATE_RATE };

static const struct argp_option own_options[] = {
	WORKLOAD_OPTIONS,
	{ "slow", OPT_SLOW, "TIME", 0,
	  "how long the one slow reader stays; else 10ms, or --hold where that is longer", 0 },
	{ "update-rate", OPT_UPDATE_RATE, "N", 0,
	  "updates per second beside the slow reader and along the list; else 10000", 0 },
	{ 0 }
};

static void own_option(int key, char *arg, struct options *opt)
{
	struct tradeoff_run *run = opt->own;

	if (workload_option(&run->work, key, arg))
		return;
	if (key == OPT_SLOW)
		run->slow_ns = workload_time("--slow", arg, 10 * WORKLOAD_HOLD_MAX_NS);
	else
		run->update_rate = (double)options_unsigned("--update-rate", arg, 1, 10000000);
}

static void list_schemes(void)
{
	size_t i;

	for (i = 0; i < TRADEOFF_SCHEMES; i++)
		printf("%-18s %s\n", tradeoff_schemes[i]->name, tradeoff_schemes[i]->what);
}

static void pick(struct tradeoff_run *run)
{
	const char *names[TRADEOFF_SCHEMES];
	size_t i;

	for (i = 0; i < TRADEOFF_SCHEMES; i++)
		names[i] = tradeoff_schemes[i]->name;
	options_pick(run->opt, names, TRADEOFF_SCHEMES, run->chosen);
}

/* ---- a process for each ---------------------------------------------------------------------- */

/* Memory that the processes write their results to. */
struct shared {
	struct tradeoff result;
	double per_object, per_thread;
	unsigned runs; /* of the readers */
	uint64_t planned_ns;
};

enum part { PART_READ, PART_MEMORY, PART_HOLD, PART_WALK, PART_MIX };

/* @which: the scheme; of the readers, which number of threads. */
static void measure_part(struct tradeoff_run *run, struct shared *shared, enum part part, size_t which)
{
	/* Turn off the timer slack: the system must not delay wake-ups to save some. */
	prctl(PR_SET_TIMERSLACK, 1);
	switch (part) {
	case PART_READ:
		shared->runs = tradeoff_measure_read(run, which);
		break;
	case PART_MEMORY:
		tradeoff_measure_memory(run, which, &shared->per_object, &shared->per_thread);
		break;
	case PART_HOLD:
		tradeoff_measure_hold(run, which);
		break;
	case PART_WALK:
		tradeoff_measure_walk(run, which);
		break;
	case PART_MIX:
		tradeoff_measure_mix(run);
		break;
	}
	shared->planned_ns = bench_planned_ns;
}

/* A child that ends with anything but 0 has said why. */
static void in_child(struct tradeoff_run *run, struct shared *shared, enum part part, size_t which)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		options_fail("cannot make a process: %s", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		measure_part(run, shared, part, which);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status))
		exit(WEXITSTATUS(status));
	if (!WIFEXITED(status))
		options_fail("a measurement ended with signal %d", WTERMSIG(status));
	budget_planned((double)shared->planned_ns);
}

/* Locks keep no object: only what reads and the workload take is asked of them. */
static bool is_way(const struct tradeoff_run *run, size_t scheme)
{
	return run->chosen[scheme] && !tradeoff_schemes[scheme]->is_lock;
}

static void measure_memory(struct tradeoff_run *run, struct shared *shared)
{
	double *object = options_alloc((size_t)TRADEOFF_SCHEMES * run->runs, sizeof(*object));
	double *thread = options_alloc((size_t)TRADEOFF_SCHEMES * run->runs, sizeof(*thread));
	double seconds = budget_next(SHARE_MEMORY, 0, "memory of objects and threads");
	struct budget_rounds r = budget_rounds(seconds);
	size_t i;

	while (seconds > 0 && budget_round(&r, 1, run->runs))
		for (i = 0; i < TRADEOFF_SCHEMES; i++) {
			if (!is_way(run, i))
				continue;
			bench_progress("tradeoff: memory of %s", tradeoff_schemes[i]->name);
			in_child(run, shared, PART_MEMORY, i);
			object[i * run->runs + r.done - 1] = shared->per_object;
			thread[i * run->runs + r.done - 1] = shared->per_thread;
		}
	for (i = 0; i < TRADEOFF_SCHEMES; i++) {
		if (!r.done || !is_way(run, i))
			continue;
		shared->result.scheme[i].object_bytes = bench_stat_of(&object[i * run->runs], r.done);
		shared->result.scheme[i].thread_bytes = bench_stat_of(&thread[i * run->runs], r.done);
	}
	if (r.done)
		budget_runs(r.done, "memory of objects and threads");
	free(object);
	free(thread);
}

/* Measure a part of one way after the other; each is to have @least seconds. */
static void measure_ways(struct tradeoff_run *run, struct shared *shared, enum part part, double share, double least,
			 const char *name)
{
	double seconds, count = 0;
	size_t i;

	for (i = 0; i < TRADEOFF_SCHEMES; i++)
		count += is_way(run, i);
	seconds = budget_next(share, least * count, name);
	seconds = seconds > 0 ? fmax(seconds, least * count) : 0;
	for (i = 0; i < TRADEOFF_SCHEMES && seconds > 0; i++) {
		if (!is_way(run, i))
			continue;
		bench_progress("tradeoff: %s, %s", name, tradeoff_schemes[i]->name);
		run->seconds = seconds / count;
		in_child(run, shared, part, i);
	}
}

static void measure_readers(struct tradeoff_run *run, struct shared *shared)
{
	const struct options *opt = run->opt;
	char name[64];
	size_t i;

	for (i = 0; i < opt->nr_threads; i++) {
		snprintf(name, sizeof(name), "%u thread%s on one object", opt->threads[i], opt->threads[i] == 1 ? "" : "s");
		run->seconds = budget_next(SHARE_READ / (double)opt->nr_threads,
					   bench_least_seconds(opt->threads[i], TRADEOFF_SCHEMES), name);
		if (run->seconds <= 0)
			continue;
		in_child(run, shared, PART_READ, i);
		budget_runs(shared->runs, name);
	}
}

static void measure(struct tradeoff_run *run, struct shared *shared)
{
	budget_begin(run->opt, DEFAULT_SECONDS, SHARE_MIX + SHARE_MEMORY + SHARE_HOLD + SHARE_READ + SHARE_WALK);
	run->seconds = budget_next(SHARE_MIX, 0, "the workload");
	in_child(run, shared, PART_MIX, 0);
	tradeoff_keep_measured(run);
	measure_memory(run, shared);
	measure_ways(run, shared, PART_HOLD, SHARE_HOLD, TRADEOFF_STAYS * run->slow_ns / 1e9, "a slow reader");
	measure_readers(run, shared);
	measure_ways(run, shared, PART_WALK, SHARE_WALK, WALK_SECONDS, "walks along a list");
	bench_progress_clear();
}

/* ---- the command ----------------------------------------------------------------------------- */

static struct shared *prepare(struct tradeoff_run *run)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct options *opt = run->opt;
	struct tradeoff *t;
	size_t i;

	if (shared == MAP_FAILED)
		options_fail("out of memory");
	t = run->result = &shared->result;
	t->count = TRADEOFF_SCHEMES;
	t->nr_threads = opt->nr_threads;
	for (i = 0; i < opt->nr_threads; i++) {
		t->threads[i] = opt->threads[i];
		if (opt->threads[i] > t->mix_threads)
			t->mix_threads = opt->threads[i];
	}
	t->slow_ns = run->slow_ns;
	t->update_rate = run->update_rate;
	t->size = (double)run->work.size;
	t->list = LIST;
	t->updates = run->work.updates;
	t->hold_ns = run->work.hold_ns;
	t->objects = (double)run->work.objects;
	t->block = run->work.block;
	for (i = 0; i < TRADEOFF_SCHEMES; i++) {
		t->scheme[i].name = tradeoff_schemes[i]->name;
		t->scheme[i].title = tradeoff_schemes[i]->title;
		t->scheme[i].what = tradeoff_schemes[i]->what;
		t->scheme[i].said = tradeoff_schemes[i]->said;
		t->scheme[i].header = tradeoff_schemes[i]->header;
		t->scheme[i].is_lock = tradeoff_schemes[i]->is_lock;
		t->scheme[i].unbounded = tradeoff_schemes[i]->unbounded;
		t->scheme[i].may_not_block = tradeoff_schemes[i]->may_not_block;
		t->scheme[i].effort = tradeoff_schemes[i]->effort;
	}
	tradeoff_points(run);
	return shared;
}

/* Print nothing about schemes that were not chosen. */
static void keep_chosen(const struct tradeoff_run *run)
{
	struct tradeoff *t = run->result;
	size_t i;

	t->count = 0;
	for (i = 0; i < TRADEOFF_SCHEMES; i++)
		if (run->chosen[i])
			t->scheme[t->count++] = t->scheme[i];
}

int lull_cmd_tradeoff(int argc, char **argv)
{
	struct options opt = OPTIONS_INIT("tradeoff");
	struct tradeoff_run run = { .opt = &opt,
				    .work = WORKLOAD_DEFAULT,
				    .slow_ns = -1,
				    .update_rate = DEFAULT_UPDATE_RATE };
	struct machine machine;
	struct jsonout *json;
	struct shared *shared;

	opt.own = &run;
	options_parse(&opt, own_options, own_option,
		      "Measures what four ways to keep an object alive cost, and three locks: readers, memory, long "
		      "holds, walks that start again, memory that waits." BUDGET_HELP,
		      argc, argv);
	if (opt.list) {
		list_schemes();
		options_free(&opt);
		return 0;
	}
	if (opt.nr_threads > TRADEOFF_THREADS_MAX)
		options_bad("--threads: at most %d of them here", TRADEOFF_THREADS_MAX);
	pick(&run);
	workload_check(&run.work);
	run.runs = opt.runs ? opt.runs : DEFAULT_RUNS;
	run.rounds = opt.runs < CHOOSE_ROUNDS_MAX ? opt.runs : CHOOSE_ROUNDS_MAX;
	if (run.slow_ns < 0)
		run.slow_ns = run.work.hold_ns > DEFAULT_SLOW_NS ? run.work.hold_ns :
								   DEFAULT_SLOW_NS;
	json = jsonout_open(&opt);
	bench_turns_calibrate();
	shared = prepare(&run);
	measure(&run, shared);
	keep_chosen(&run);
	machine_read(&machine);
	machine_print(&machine);
	putchar('\n');
	tradeoff_print(run.result);
	tradeoff_write_json(json, run.result);
	budget_end(json);
	jsonout_close(json);
	munmap(shared, sizeof(*shared));
	options_free(&opt);
	return 0;
}
