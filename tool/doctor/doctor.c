/* SPDX-License-Identifier: MIT */
/* lull doctor: what this machine and kernel offer to lull, what lull chose, and what that costs. */
#include "doctor/doctor.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lull/fence.h>
#include <lull/mutex.h>
#include <lull/percpu_ref.h>

#include "common/clock.h"
#include "commands.h"
#include "common/cpus.h"
#include "common/machine.h"
#include "common/progress.h"
#include "common/bench.h"
#include "doctor/advice.h"

#define HEAVY_CALLS 1000
#define HEAVY_BATCH 100
#define SIBLING_ATTEMPTS 300
#define SIBLING_RAN 0.9

/* ---- findings -------------------------------------------------------------------------------- */

static void say_machine(struct report *r)
{
	struct machine m;

	machine_read(&m);
	doctor_section(r, "machine");
	doctor_say(r, "cpu", "%s", m.cpu_model);
	doctor_say(r, "cpus", "%u allowed of %u online", m.cpus_allowed, m.cpus_online);
	doctor_say(r, "kernel", "%s", m.kernel);
	doctor_say(r, "virtualised", "%s", m.hypervisor);
	doctor_say(r, "governor", "%s", m.governor);
	doctor_say(r, "compiler", "%s", m.compiler);
	doctor_say(r, "counters", "%s",
	    m.perf_counters ? "cycles and instructions can be counted" :
			      "n/a: cycles are estimated, instructions counted by single steps");
}

/* ---- fences ---------------------------------------------------------------------------------- */

static void say_strategy(struct report *r)
{
	const char *forced = getenv("LULL_FENCE"), *why;

	if (forced && *forced)
		why = "asked for by LULL_FENCE";
#ifdef LULL_FENCE_FIXED_FULL
	else if (true)
		why = "fixed when it was compiled";
#endif
	else if (lull_fence_strategy() == LULL_FENCE_MEMBARRIER)
		why = "the kernel offers membarrier";
	else
		why = "membarrier is missing or forbidden here";
	doctor_section(r, "fence");
	doctor_say(r, "strategy", "%s: %s", lull_fence_strategy_name(), why);
}

/* A store, then the fence under test, then a load: how a read section uses it. */
#define FENCE_BODY(name, fence)                                             \
	static uint64_t name(struct bench_thread *t, void *arg, uint64_t n) \
	{                                                                   \
		uint64_t *words = arg;                                      \
                                                                            \
		(void)t;                                                    \
		for (; n; n--) {                                            \
			lull_store_relaxed(&words[0], n);                   \
			fence;                                              \
			lull_load_relaxed(&words[8]);                       \
		}                                                           \
		return 0;                                                   \
	}

FENCE_BODY(body_none, (void)0)
FENCE_BODY(body_light, lull_fence_light())
FENCE_BODY(body_full, lull_fence_full())

static void say_reader_fences(struct report *r)
{
	static uint64_t words[16] __attribute__((aligned(BENCH_LINE)));
	const struct bench_case cases[] = {
		[DOCTOR_NONE] = { .name = "none", .arg = words, .body = body_none },
		[DOCTOR_LIGHT] = { .name = "light", .arg = words, .body = body_light },
		[DOCTOR_FULL] = { .name = "full", .arg = words, .body = body_full },
	};
	struct bench_plan plan = bench_plan_for(1, 5, 0.3, 3);
	struct bench_pool *pool = bench_pool_new(1);
	struct bench_result results[DOCTOR_FENCES];

	plan.label = "doctor: fences";
	bench_measure(pool, &plan, cases, DOCTOR_FENCES, results);
	bench_pool_free(pool);
	doctor_say_fences(r, results);
}

/* A sibling thread that computes on the second CPU, so that a heavy fence has a thread to interrupt. */
struct sibling {
	pthread_t thread;
	uint32_t running, stop;
};

static void *sibling_main(void *arg)
{
	struct sibling *s = arg;

	bench_pin(1);
	lull_store_release(&s->running, 1u);
	while (!lull_load_acquire(&s->stop))
		lull_cpu_relax();
	return NULL;
}

struct heavy {
	bool with_sibling;
	uint64_t ns[HEAVY_CALLS];
	unsigned count;
	uint64_t interrupts; /* of the whole machine, in the counted calls */
	bool interrupts_known;
};

/*
 * Adds a batch of calls to the figures, without counting it yet. Returns the interrupts meanwhile.
 */
static uint64_t heavy_batch(struct heavy *h)
{
	uint64_t before, after = 0;
	unsigned i;

	h->interrupts_known = bench_call_interrupts(&before, NULL, 0);
	for (i = 0; i < HEAVY_BATCH; i++) {
		uint64_t start = bench_now_ns();

		lull_fence_heavy();
		h->ns[h->count + i] = bench_now_ns() - start;
	}
	h->interrupts_known = h->interrupts_known && bench_call_interrupts(&after, NULL, 0);
	return h->interrupts_known ? after - before : 0;
}

static void measure_alone(struct heavy *h)
{
	heavy_batch(h);
	while (h->count < HEAVY_CALLS) {
		h->interrupts += heavy_batch(h);
		h->count += HEAVY_BATCH;
	}
}

static uint64_t thread_cpu_ns(pthread_t thread)
{
	struct timespec ts = { 0 };
	clockid_t clock;

	if (pthread_getcpuclockid(thread, &clock) == 0)
		clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/*
 * A sibling that waits for its turn on the CPU costs no interrupt, so only those batches count in
 * which it had the CPU nearly all the time.
 */
static void measure_with_sibling(struct heavy *h)
{
	const struct timespec nap = { .tv_nsec = 2000000 };
	struct sibling sibling = { 0 };
	unsigned attempt;

	if (pthread_create(&sibling.thread, NULL, sibling_main, &sibling))
		return;
	while (!lull_load_acquire(&sibling.running))
		lull_cpu_relax();
	for (attempt = 0; attempt < SIBLING_ATTEMPTS && h->count < HEAVY_CALLS; attempt++) {
		uint64_t cpu = thread_cpu_ns(sibling.thread), start = bench_now_ns(),
			 interrupts = heavy_batch(h);
		double ran = (double)(thread_cpu_ns(sibling.thread) - cpu) /
			     (double)(bench_now_ns() - start);

		if (ran > SIBLING_RAN) {
			h->interrupts += interrupts;
			h->count += HEAVY_BATCH;
		} else {
			nanosleep(&nap, NULL);
		}
	}
	lull_store_release(&sibling.stop, 1u);
	pthread_join(sibling.thread, NULL);
}

static void *heavy_main(void *arg)
{
	struct heavy *h = arg;

	bench_pin(0);
	if (h->with_sibling)
		measure_with_sibling(h);
	else
		measure_alone(h);
	return NULL;
}

static void say_heavy(struct report *r, bool with_sibling)
{
	const char *key = with_sibling ? "heavy, sibling" : "heavy, alone";
	struct heavy *h = options_alloc(1, sizeof(*h));
	pthread_t thread;

	bench_progress("doctor: %s", key);
	h->with_sibling = with_sibling;
	/* Run on a thread of its own, because it is pinned. */
	if (pthread_create(&thread, NULL, heavy_main, h))
		options_fail("cannot make a thread");
	pthread_join(thread, NULL);
	bench_progress_clear();
	doctor_say_heavy(r, key, h->ns, h->count, h->interrupts_known ? &h->interrupts : NULL,
			 with_sibling ? &r->sibling : &r->alone);
	free(h);
}

static void list_fences(void)
{
	printf("light          the fence of a read section\n"
	       "full           a full fence in its place\n"
	       "heavy-alone    the fence of a grace period, with no other thread running\n"
	       "heavy-sibling  the same while another thread computes\n");
}

static void say_advice(struct report *r)
{
	const char *forced = getenv("LULL_FENCE");
	struct doctor_state state = {
		.has_membarrier = lull_fence_strategy() == LULL_FENCE_MEMBARRIER,
		.asked_for_full = forced && *forced,
		.counts_per_cpu = lull_percpu_ref_per_cpu(),
		.sees_owners = strcmp(lull_mutex_oracle_name(), "none") != 0,
		.cpus = bench_cpus(),
	};

#ifdef LULL_FENCE_FIXED_FULL
	state.asked_for_full = true;
#endif
	r->well = doctor_advise(&state, r->advice, sizeof(r->advice));
	printf("\n%s\n", r->advice);
}

int lull_cmd_doctor(int argc, char **argv)
{
	struct options opt = OPTIONS_INIT("doctor");
	struct report report = { 0 };
	struct jsonout *json;

	opt.plain = true;
	options_parse(&opt, NULL, NULL,
		      "Says what this machine and kernel offer, which fence strategy lull chose, "
		      "and what that strategy costs.",
		      argc, argv);
	if (opt.list) {
		list_fences();
		options_free(&opt);
		return 0;
	}
	json = doctor_json_open(&opt);
	say_machine(&report);
	doctor_say_kernel(&report);
	doctor_say_mutex(&report);
	say_strategy(&report);
	say_reader_fences(&report);
	say_heavy(&report, false);
	if (bench_cpus() > 1)
		say_heavy(&report, true);
	else
		doctor_say(&report, "heavy, sibling", "n/a: needs two CPUs");
	say_advice(&report);
	doctor_json_close(json, &report);
	doctor_forget(&report);
	options_free(&opt);
	return 0;
}
