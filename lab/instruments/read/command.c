/* SPDX-License-Identifier: MIT */
/*
 * lull refscale: what one read section costs, by scheme and number of readers.
 *
 * A section enters, loads a shared pointer, reads a field of the object and leaves; with hazard pointers the object is
 * protected, read and released, with counts a reference is got and put (lab/peers/body/ref_body.h). The loop around it
 * is the same for all schemes and is included in the figures; "none" is that loop alone.
 */
#include <stdlib.h>
#include <string.h>

#include <lull/percpu_ref.h>

#include "commands.h"
#include "common/counters.h"
#include "common/cpus.h"
#include "common/figures.h"
#include "common/json.h"
#include "common/machine.h"
#include "common/options.h"
#include "engine/budget.h"
#include "engine/peers.h"
#include "common/progress.h"
#include "engine/text_table.h"
#include "common/bench.h"
#include "engine/instructions.h"
#include "ref_scheme.h"
#include "instruments/read/predict.h"
#include "instruments/read/results.h"
#include "instruments/read/schemes.h"

#define DEFAULT_SECONDS 2.0 /* for each number of threads, and for counting instructions */

static const struct bench_ref_scheme *schemes[READ_SCHEMES_MAX];
static size_t nr_schemes;

#define NESTED_MAX 16 /* twice the hazard pointers that a thread has at hand */

struct settings {
	struct read_sections sections;
	unsigned *predict; /* readers to predict for */
	size_t nr_predict;
};

static struct bench_ref_data data;

/* ---- options --------------------------------------------------------------------------------- */

enum { OPT_CHAIN = OPTIONS_OWN_KEYS, OPT_HOLD, OPT_NESTED, OPT_PREDICT };

static const struct argp_option own_options[] = {
	{ "chain", OPT_CHAIN, NULL, 0,
	  "find each pointer in the object before: measures latency instead of throughput", 0 },
	{ "readers-hold", OPT_HOLD, "NS", 0, "let readers stay in their section for NS nanoseconds",
	  0 },
	{ "nested", OPT_NESTED, "N", 0,
	  "put N sections, or references, inside each other, by a function that calls itself; figures "
	  "are for all N together",
	  0 },
	{ "predict", OPT_PREDICT, "4,8,...", 0,
	  "predict, by a model, what this many readers would pay, from what is measured here", 0 },
	{ 0 }
};

static void own_option(int key, char *arg, struct options *opt)
{
	struct settings *s = opt->own;
	enum read_mode mode;

	if (key == OPT_PREDICT) {
		free(s->predict);
		s->predict = options_unsigned_list("--predict", arg, 2, OPTIONS_THREADS_LIMIT,
						   &s->nr_predict);
		return;
	}
	mode = key == OPT_CHAIN ? MODE_CHAIN : key == OPT_HOLD ? MODE_HOLD : MODE_NESTED;

	if (s->sections.mode != MODE_READ && s->sections.mode != mode)
		options_bad("--chain, --readers-hold and --nested exclude each other");
	s->sections.mode = mode;
	if (key == OPT_HOLD)
		s->sections.hold_ns = options_unsigned("--readers-hold", arg, 1, 1000000000);
	else if (key == OPT_NESTED)
		s->sections.nested = (unsigned)options_unsigned("--nested", arg, 1, NESTED_MAX);
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* One chosen scheme, in the mode that was asked for. */
struct entry {
	const struct bench_ref_scheme *scheme;
	const struct settings *settings;
	double instructions; /* counted by single steps; negative: not */
	double one, many;    /* ns with one reader and with run.many; 0: not measured */
};

static uint64_t run_loop(void *arg, uint64_t n)
{
	const struct entry *e = arg;

	switch (e->settings->sections.mode) {
	case MODE_READ:
		return e->scheme->read(&data, n);
	case MODE_CHAIN:
		return e->scheme->chain(&data, n);
	case MODE_NESTED:
		return e->scheme->nested(&data, n, e->settings->sections.nested);
	default:
		return e->scheme->hold(&data, n, e->settings->sections.hold_ns);
	}
}

static void case_enter(struct bench_thread *t, void *arg)
{
	(void)t;
	((struct entry *)arg)->scheme->thread_enter();
}

static uint64_t case_body(struct bench_thread *t, void *arg, uint64_t n)
{
	(void)t;
	return run_loop(arg, n);
}

static void case_leave(struct bench_thread *t, void *arg)
{
	(void)t;
	((struct entry *)arg)->scheme->thread_leave();
}

static void init_data(void)
{
	size_t i;

	for (i = 0; i < BENCH_REF_OBJECTS; i++) {
		data.object[i].value = i;
		data.object[i].next = &data.cell[(i + 1) % BENCH_REF_OBJECTS];
		lull_refcount_set(&data.object[i].count, 1);
		data.cell[i].object = &data.object[i];
	}
}

/* The processor's clock, where its cycles cannot be counted: READ_CLOCK_CHAIN multiplications. */
static uint64_t clock_body(struct bench_thread *t, void *arg, uint64_t n)
{
	uint64_t x = t->rng | 1;

	(void)arg;
	for (; n; n--) {
		x *= x;
		x *= x;
		x *= x;
		x *= x;
		x *= x;
		x *= x;
		x *= x;
		x *= x;
	}
	return x;
}

/* ---- the run --------------------------------------------------------------------------------- */

struct run {
	const struct options *opt;
	const struct settings *settings;
	unsigned many; /* readers that a prediction begins from; 0: none is made */
	struct entry entries[READ_SCHEMES_MAX];
	size_t count;
};

static void measure(struct run *run, struct bench_pool *pool, struct jsonout *json,
		    unsigned threads)
{
	struct bench_case cases[READ_SCHEMES_MAX + 1];
	struct bench_result results[READ_SCHEMES_MAX + 1];
	const char *names[READ_SCHEMES_MAX];
	struct bench_plan plan;
	char name[32];
	double seconds;
	size_t i;

	snprintf(name, sizeof(name), "%u reader%s", threads, threads == 1 ? "" : "s");
	seconds = budget_next(1, bench_least_seconds(threads, run->count + 1), name);
	if (seconds <= 0)
		return;
	plan = bench_plan_for(threads, run->opt->runs, seconds, run->count + 1);
	for (i = 0; i < run->count; i++)
		cases[i] = (struct bench_case){
			.name = run->entries[i].scheme->name,
			.arg = &run->entries[i],
			.enter = case_enter,
			.body = case_body,
			.leave = case_leave,
			.chunk = run->settings->sections.mode == MODE_HOLD &&
						 run->settings->sections.hold_ns > 20000 ?
					 1 :
					 0,
		};
	cases[run->count] = (struct bench_case){ .name = "clock", .body = clock_body };
	plan.most_ns = budget_most_ns(seconds);
	plan.label = "refscale";
	bench_measure(pool, &plan, cases, run->count + 1, results);
	budget_runs(results[0].runs, name);

	printf("\n%s\n", name);
	for (i = 0; i < run->count; i++) {
		names[i] = run->entries[i].scheme->name;
		read_fill_in(&results[i], run->entries[i].instructions, &results[run->count]);
		read_write_json(json, &run->settings->sections, names[i], threads, &results[i], &results[0],
				bench_pool_counters(pool));
		if (threads == 1)
			run->entries[i].one = results[i].ns.median;
		if (threads == run->many)
			run->entries[i].many = results[i].ns.median;
	}
	read_print(names, run->count, results);
}

static void print_head(const struct settings *s, bool counters)
{
	struct machine machine;

	machine_read(&machine);
	machine_print(&machine);
	if (!lull_percpu_ref_per_cpu())
		printf("no restartable sequences here: a percpu_ref counts by atomic additions\n");
	if (s->sections.mode == MODE_HOLD)
		printf("section: enter, load a pointer, read a field, stay for %llu ns, leave; "
		       "loop included\n",
		       (unsigned long long)s->sections.hold_ns);
	else if (s->sections.mode == MODE_NESTED)
		printf("section: enter, load a pointer, read a field, the next section, leave; "
		       "%u inside each other, loop included\n",
		       s->sections.nested);
	else
		printf("section: enter, load a pointer, read a field, leave; loop included%s\n",
		       s->sections.mode == MODE_CHAIN ? "; the field says which pointer comes next" : "");
	if (counters)
		return;
	printf("no hardware counters here: cycles %s, instructions %s\n",
	       read_clock_known() ? "are times over the clock that a chain of multiplications shows" :
			       "are n/a",
	       s->sections.mode == MODE_HOLD ? "are n/a" : "are counted by single steps");
}

/*
 * Sets up the chosen schemes; one that cannot be is left out, or is bad input when it was named.
 * The unprotected loop is always among them, first: all ratios are taken against it.
 */
static void choose(struct run *run)
{
	const char *names[READ_SCHEMES_MAX];
	bool chosen[READ_SCHEMES_MAX];
	size_t i;

	read_schemes_need_first();
	if (!run->opt->schemes)
		peers_print_broken();
	for (i = 0; i < nr_schemes; i++)
		names[i] = schemes[i]->name;
	options_pick(run->opt, names, nr_schemes, chosen);
	chosen[0] = true;
	for (i = 0; i < nr_schemes; i++) {
		const char *wrong = NULL;

		if (!chosen[i])
			continue;
		if (schemes[i]->setup)
			wrong = schemes[i]->setup(schemes[i], &data);
		if (!wrong && run->settings->sections.mode == MODE_NESTED && !schemes[i]->nested)
			wrong = "a thread has one at a time";
		if (wrong && run->opt->schemes)
			options_bad("scheme '%s' cannot run: %s", schemes[i]->name, wrong);
		if (wrong)
			printf("%s is left out: %s\n", schemes[i]->name, wrong);
		else
			run->entries[run->count++] =
				(struct entry){ .scheme = schemes[i],
						.settings = run->settings,
						.instructions = -1 };
	}
}

/*
 * The time begins. Counting, if there is to be any, has as much of it as a table: a step is two turns of the scheduler,
 * which other programs may hold up.
 */
static void begin(struct run *run, bool counting)
{
	double tables = (double)run->opt->nr_threads, all = tables + counting;
	size_t i;

	budget_begin(run->opt, DEFAULT_SECONDS * all, tables);
	for (i = 0; counting && i < run->count; i++) {
		struct entry *e = &run->entries[i];

		if (budget_is_over(1 / all)) {
			budget_leave_out("instructions of %s", e->scheme->name);
			continue;
		}
		bench_progress("refscale: counting instructions of %s", e->scheme->name);
		e->instructions = step_count(e->scheme->thread_enter, e->scheme->thread_leave,
					     run_loop, e);
	}
	bench_progress_clear();
}

/* A prediction needs one reader, and as many as there can be without taking turns. */
static void choose_prediction(struct run *run)
{
	const struct options *opt = run->opt;
	bool one = false;
	size_t i;

	if (!run->settings->nr_predict)
		return;
	if (run->settings->sections.mode != MODE_READ)
		options_bad("--predict is for plain sections: not with --chain, --readers-hold or "
			    "--nested");
	for (i = 0; i < opt->nr_threads; i++) {
		one = one || opt->threads[i] == 1;
		if (opt->threads[i] > run->many && opt->threads[i] <= bench_cpus())
			run->many = opt->threads[i];
	}
	if (!one || run->many < 2)
		options_bad("--predict needs --threads 1,2 and at least two CPUs; this machine has %u",
			    bench_cpus());
}

static void predict(const struct run *run, struct jsonout *json)
{
	struct predict_row row[READ_SCHEMES_MAX];
	size_t i;

	for (i = 0; i < run->count; i++)
		row[i] = (struct predict_row){ run->entries[i].scheme->name, run->entries[i].one,
					       run->entries[i].many };
	predict_print(json, row, run->count, run->many, run->settings->predict,
		      run->settings->nr_predict);
}

int lull_cmd_refscale(int argc, char **argv)
{
	struct settings settings = { .sections = { .mode = MODE_READ } };
	struct options opt = OPTIONS_INIT("refscale");
	struct run run = { .opt = &opt, .settings = &settings };
	struct bench_pool *pool;
	struct jsonout *json;
	bool counters;
	size_t i;

	opt.own = &settings;
	options_parse(&opt, own_options, own_option,
		      "Measures what one read section costs: enter, load a shared pointer, read a "
		      "field, leave." BUDGET_HELP,
		      argc, argv);
	nr_schemes = read_schemes(schemes);
	if (opt.list) {
		read_schemes_print(schemes, nr_schemes);
		options_free(&opt);
		return 0;
	}
	choose_prediction(&run);
	json = jsonout_open(&opt);
	init_data();
	choose(&run);
	counters = bench_counters_work();
	begin(&run, !counters && settings.sections.mode != MODE_HOLD);
	pool = bench_pool_new(options_most_threads(&opt));
	print_head(&settings, counters);
	jsonout_set(jsonout_root(json), "percpu_ref_per_cpu",
		    json_boolean(lull_percpu_ref_per_cpu()));
	for (i = 0; i < opt.nr_threads; i++)
		measure(&run, pool, json, opt.threads[i]);
	if (run.many && run.entries[0].one > 0 && run.entries[0].many > 0)
		predict(&run, json);
	else if (run.many)
		budget_leave_out("the prediction");
	budget_end(json);
	free(settings.predict);
	bench_pool_free(pool);
	jsonout_close(json);
	options_free(&opt);
	return 0;
}
