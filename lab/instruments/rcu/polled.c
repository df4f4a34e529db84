/* SPDX-License-Identifier: MIT */
/*
 * lull rcuscale --gp polled: what an early report of the driver's quiescent state is worth; see
 * fqs.h.
 */
#include "instruments/rcu/rcuscale.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include <lull/rcu.h>

#include "common/clock.h"
#include "common/figures.h"
#include "common/options.h"
#include "common/progress.h"
#include "engine/budget.h"
#include "instruments/rcu/fqs.h"

#define IDLE_THREADS 4u

/* ---- idle threads, known to both engines ----------------------------------------------------- */

struct idlers {
	struct fqs *fqs;
	sem_t ready, go;
	pthread_t thread[IDLE_THREADS];
};

static void sem_wait_for(sem_t *sem)
{
	while (sem_wait(sem) != 0)
		;
}

static void *idler_main(void *arg)
{
	struct idlers *idlers = arg;
	struct fqs_thread self;

	lull_thread_register();
	fqs_register(idlers->fqs, &self);
	sem_post(&idlers->ready);
	sem_wait_for(&idlers->go);
	fqs_unregister(idlers->fqs, &self);
	return NULL;
}

static void idlers_start(struct idlers *idlers, struct fqs *fqs)
{
	unsigned i;
	int err;

	idlers->fqs = fqs;
	sem_init(&idlers->ready, 0, 0);
	sem_init(&idlers->go, 0, 0);
	for (i = 0; i < IDLE_THREADS; i++) {
		err = pthread_create(&idlers->thread[i], NULL, idler_main, idlers);
		if (err)
			options_bad("cannot make %u threads: %s", IDLE_THREADS, strerror(err));
	}
	for (i = 0; i < IDLE_THREADS; i++)
		sem_wait_for(&idlers->ready);
}

static void idlers_stop(struct idlers *idlers)
{
	unsigned i;

	for (i = 0; i < IDLE_THREADS; i++)
		sem_post(&idlers->go);
	for (i = 0; i < IDLE_THREADS; i++)
		pthread_join(idlers->thread[i], NULL);
	sem_destroy(&idlers->ready);
	sem_destroy(&idlers->go);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* One grace period; returns how many scans it took, 0 where there are none. */
typedef unsigned (*one_gp)(struct fqs *fqs, struct fqs_thread *self);

static unsigned event_driven(struct fqs *fqs, struct fqs_thread *self)
{
	(void)fqs;
	(void)self;
	lull_rcu_synchronize();
	return 0;
}

struct table {
	const char *scheme, *metric;
	const char *unit;
	double unit_ns;
	one_gp one;
};

static void add_json(struct jsonout *json, const struct table *t, unsigned run,
		     const struct bench_latency *lat)
{
	json_t *row = jsonout_latency(json, t->scheme, IDLE_THREADS + 1, t->metric, lat);

	jsonout_set(row, "run", json_integer(run));
}

/*
 * Prints a table in the seed's form. Returns how many grace periods took more than one scan, of *@all; there are fewer when
 * the time of a run is over.
 */
static unsigned print_runs(const struct rcuscale_polled *polled, const struct table *t, double seconds,
			   struct fqs *fqs, struct fqs_thread *self, struct jsonout *json, unsigned *all)
{
	uint64_t *ns = options_alloc(polled->calls, sizeof(*ns)), began = bench_now_ns(), run_ns, until;
	unsigned run, i, more = 0;

	run_ns = (uint64_t)(seconds * 1e9 / polled->runs);
	printf("| Run | Mean      | Min       | Max       "
	       "|\n|-----|-----------|-----------|-----------|\n");
	for (run = 1; run <= polled->runs && (run == 1 || !budget_is_over(1)); run++) {
		struct bench_latency lat;

		bench_progress("rcuscale: %s, run %u of %u", t->metric, run, polled->runs);
		until = budget_is_short() ? UINT64_MAX : began + run * run_ns;
		for (i = 0; i < polled->calls && (!i || bench_now_ns() < until); i++) {
			uint64_t before = bench_now_ns();

			more += t->one(fqs, self) > 1;
			ns[i] = bench_now_ns() - before;
		}
		*all += i;
		lat = bench_latency_of(ns, i);
		bench_progress_clear();
		printf("| %-3u | %6.3f %s | %6.3f %s | %6.3f %s |\n", run, lat.mean / t->unit_ns,
		       t->unit, lat.min / t->unit_ns, t->unit, lat.max / t->unit_ns, t->unit);
		fflush(stdout);
		add_json(json, t, run, &lat);
	}
	budget_runs(run - 1, t->metric);
	free(ns);
	return more;
}

static void polled_table(const struct rcuscale_polled *polled, bool early, double seconds, struct jsonout *json)
{
	struct table t = { "polled",
			   early ? "synchronize_self_qs_early" : "synchronize_self_qs_late", "ms",
			   1e6, fqs_synchronize };
	struct fqs_thread self;
	struct idlers idlers;
	unsigned more, all = 0;
	struct fqs fqs;

	fqs_init(&fqs, polled->first_us * 1000, polled->next_us * 1000, early);
	idlers_start(&idlers, &fqs);
	fqs_register(&fqs, &self);
	fqs_online(&self);
	if (early)
		printf("\nThe driver reports its own quiescent state when the grace period "
		       "begins:\n");
	else
		printf("\nThe scans have to find the driver's quiescent state:\n");
	more = print_runs(polled, &t, seconds, &fqs, &self, json, &all);
	printf("grace periods that needed a second scan: %u of %u\n", more, all);
	jsonout_set(jsonout_root(json), early ? "second_scans_early" : "second_scans_late",
		    json_integer(more));
	fqs_offline(&self);
	fqs_unregister(&fqs, &self);
	idlers_stop(&idlers);
}

static void event_table(const struct rcuscale_polled *polled, double seconds, struct jsonout *json)
{
	struct table t = { "rcu-qsbr", "synchronize_event_driven", "us", 1e3, event_driven };
	struct idlers idlers;
	unsigned all = 0;
	struct fqs fqs;

	fqs_init(&fqs, 0, 0, true);
	idlers_start(&idlers, &fqs);
	printf("\nlull_rcu_synchronize() with the same threads, driven by events, without a timed "
	       "wait:\n");
	lull_rcu_online();
	print_runs(polled, &t, seconds, NULL, NULL, json, &all);
	lull_rcu_offline();
	idlers_stop(&idlers);
}

void rcuscale_polled(const struct rcuscale_polled *polled, struct jsonout *json)
{
	double seconds;

	printf("%u grace periods a run; %u threads idle, the driver online; scans after %g and "
	       "every further %g ms\n",
	       polled->calls, IDLE_THREADS, (double)polled->first_us / 1000,
	       (double)polled->next_us / 1000);
	if (polled->self_qs != SELF_QS_EARLY && (seconds = budget_next(1, 0, "scans that find the driver")) > 0)
		polled_table(polled, false, seconds, json);
	if (polled->self_qs != SELF_QS_LATE && (seconds = budget_next(1, 0, "a driver that reports itself")) > 0)
		polled_table(polled, true, seconds, json);
	if ((seconds = budget_next(1, 0, "grace periods driven by events")) > 0)
		event_table(polled, seconds, json);
}
