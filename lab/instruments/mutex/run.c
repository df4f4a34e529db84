/* SPDX-License-Identifier: MIT */
/*
 * lull mutexscale: one lock, its threads and the processes beside them, for a slice of time.
 *
 * Threads are made for each slice: a lull_mutex's oracle is chosen when a thread locks for the
 * first time. They are not pinned: where they run is the scheduler's business, as in any program.
 */
#include "instruments/mutex/mutexscale.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lull/atomic.h>

#include "common/clock.h"
#include "common/options.h"
#include "common/progress.h"
#include "common/units.h"
#include "common/bench.h"
#include "engine/budget.h"
#include "engine/other_programs.h"
#include "engine/turns.h"

#define STACK (256u * 1024)
#define WARM_SHARE 8 /* of a slice, before it */
#define SLICE_MIN_NS 5e6
#define REPEATS 1.5 /* times its share of the time, at most, for a round and what is repeated of it */

/* ---- work ------------------------------------------------------------------------------------ */


/* The fastest of many attempts: nothing makes work shorter than it is. */
static uint64_t share32(double share)
{
	return (uint64_t)(share * 4294967296.0);
}

/* ---- hogs ------------------------------------------------------------------------------------ */

struct hogs {
	pid_t *pid;
	unsigned count;
};

/* A hog ends with the main thread, which made it, however that ends. */
static _Noreturn void hog(pid_t parent)
{
	uint64_t x = 1;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
		_exit(1);
	for (;;)
		bench_sink(x = bench_lock_work(x, 1u << 20));
}

static void hogs_end(struct hogs *hogs)
{
	unsigned i;

	for (i = 0; i < hogs->count; i++)
		kill(hogs->pid[i], SIGKILL);
	for (i = 0; i < hogs->count; i++)
		waitpid(hogs->pid[i], NULL, 0);
	free(hogs->pid);
}

static struct hogs hogs_begin(unsigned count)
{
	struct hogs hogs = { options_alloc(count, sizeof(*hogs.pid)), 0 };
	pid_t parent = getpid(), pid;

	for (; hogs.count < count; hogs.count++) {
		pid = fork();
		if (pid == 0)
			hog(parent);
		if (pid < 0)
			options_fail("cannot make %u processes, only %u", count, hogs.count);
		hogs.pid[hogs.count] = pid;
	}
	return hogs;
}

/* ---- threads --------------------------------------------------------------------------------- */

struct worker {
	struct bench_lock_thread t;
	const struct bench_lock_scheme *scheme;
	struct bench_lock_plan *plan;
	pthread_t thread;
};

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	/* Sleeps in a section are as long as they are said to be. */
	prctl(PR_SET_TIMERSLACK, 1);
	w->scheme->contend(w->plan, &w->t);
	return NULL;
}

static void start_thread(pthread_t *thread, void *(*main_fn)(void *), void *arg)
{
	pthread_attr_t attr;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	err = pthread_create(thread, &attr, main_fn, arg);
	pthread_attr_destroy(&attr);
	if (err)
		options_fail("cannot make a thread: %s", strerror(err));
}

void mutexscale_in_thread(void *(*main_fn)(void *), void *arg)
{
	pthread_t thread;

	start_thread(&thread, main_fn, arg);
	pthread_join(thread, NULL);
}

/* ---- a slice --------------------------------------------------------------------------------- */

static struct mutexscale_used used_now(const struct hogs *hogs)
{
	struct rusage usage;
	struct mutexscale_used u;

	u.ticks = bench_lock_ticks();
	bench_load_read(&u.load, hogs->pid, hogs->count);
	getrusage(RUSAGE_SELF, &usage);
	u.switches = (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
	return u;
}

static void sum_up(const struct bench_lock_scheme *scheme, const struct bench_lock_plan *plan,
		   const struct worker *workers, unsigned threads, const struct mutexscale_used *from,
		   const struct mutexscale_used *to, double *value)
{
	const struct bench_lock_waits **waits = options_alloc(threads, sizeof(*waits));
	uint64_t sections = 0;
	unsigned i;

	for (i = 0; i < threads; i++) {
		waits[i] = &workers[i].t.waits;
		sections += workers[i].t.sections;
	}
	/* Two that were in the section at a time have lost one of their additions. */
	if (sections != plan->guarded)
		options_fail("%s lets more than one in: %llu sections, counted under the lock %llu",
			     scheme->name, (unsigned long long)sections,
			     (unsigned long long)plan->guarded);
	mutexscale_figures(waits, threads, from, to, value);
	free(waits);
}

static void run_slice(const struct bench_lock_scheme *scheme, const struct mutexscale_cell *cell,
		      const struct hogs *hogs, uint64_t slice_ns, struct mutexscale_slice *slice)
{
	struct bench_lock_plan *plan = bench_alloc_lines(1, sizeof(*plan));
	struct worker *workers = bench_alloc_lines(cell->threads, sizeof(*workers));
	struct mutexscale_used from, to;
	unsigned i;

	plan->section = bench_turns(cell->section);
	plan->outside = bench_turns(cell->outside);
	plan->longer = bench_turns(cell->longer);
	plan->longer_share = share32(cell->longer_share);
	plan->sleep_ns = (uint64_t)cell->sleep;
	plan->sleep_share = share32(cell->sleep_share);
	scheme->renew(scheme);
	for (i = 0; i < cell->threads; i++) {
		workers[i].t.rng = 0x9e3779b97f4a7c15u * (i + 1);
		workers[i].scheme = scheme;
		workers[i].plan = plan;
		start_thread(&workers[i].thread, worker_main, &workers[i]);
	}
	bench_sleep_ns(slice_ns / WARM_SHARE);
	from = used_now(hogs);
	lull_store_relaxed(&plan->phase, (uint32_t)BENCH_LOCK_COUNT);
	bench_sleep_ns(slice_ns);
	lull_store_relaxed(&plan->phase, (uint32_t)BENCH_LOCK_STOP);
	to = used_now(hogs);
	for (i = 0; i < cell->threads; i++)
		pthread_join(workers[i].thread, NULL);
	sum_up(scheme, plan, workers, cell->threads, &from, &to, slice->value);
	slice->foreign = bench_foreign(&from.load, &to.load);
	free(workers);
	free(plan);
}

/* ---- all of them ----------------------------------------------------------------------------- */

void mutexscale_shuffle(size_t *order, size_t count)
{
	static uint64_t rng = 0x2545f4914f6cdd1du;
	size_t i;

	for (i = 0; i < count; i++)
		order[i] = i;
	for (i = count; i > 1; i--) {
		size_t j = (size_t)((bench_random(&rng) >> 32) * i >> 32), at = order[i - 1];

		order[i - 1] = order[j];
		order[j] = at;
	}
}

static const char *describe(const struct mutexscale_cell *cell)
{
	static char text[96];

	snprintf(text, sizeof(text), "%s %s, %u threads, %u hogs", cell->name,
		 units_time(cell->section).text, cell->threads, cell->hogs);
	return text;
}

/* The time of a slice, with what comes before it. */
static double whole(double slice_ns)
{
	return slice_ns * (WARM_SHARE + 1) / WARM_SHARE;
}

/* A round; or the repetitions that end before @until of its slices that were disturbed. */
static void run_round(const struct mutexscale *m, const struct mutexscale_cell *cell, const struct hogs *hogs,
		      double slice_ns, bool again, double until, struct mutexscale_slice *kept)
{
	size_t order[MUTEXSCALE_LOCKS], i;
	struct mutexscale_slice slice;

	mutexscale_shuffle(order, m->count);
	for (i = 0; i < m->count; i++) {
		struct mutexscale_slice *before = &kept[order[i]];

		if (again && (before->foreign <= 0 || (double)bench_now_ns() + whole(slice_ns) > until))
			continue;
		run_slice(m->locks[order[i]], cell, hogs, (uint64_t)slice_ns, &slice);
		budget_planned(whole(slice_ns));
		if (!again || slice.foreign < before->foreign)
			*before = slice;
	}
}

/* Return how many rounds there was time for. What one takes more than its share, those after it do without. */
static unsigned run_rounds(const struct mutexscale *m, const struct mutexscale_cell *cell, double seconds,
			   struct mutexscale_slice *slices)
{
	double from = (double)bench_now_ns(), until = from + seconds * 1e9, least = whole(SLICE_MIN_NS) * (double)m->count;
	struct hogs hogs = hogs_begin(cell->hogs);
	unsigned round;

	for (round = 0; round < m->runs && (!round || budget_is_short() || from + least <= until); round++) {
		double share = fmax((until - from) / (m->runs - round), least), end = fmin(from + REPEATS * share, until);
		double slice_ns = share / least * SLICE_MIN_NS;

		bench_progress("mutexscale: %s, run %u of %u", describe(cell), round + 1, m->runs);
		run_round(m, cell, &hogs, slice_ns, false, 0, &slices[round * m->count]);
		run_round(m, cell, &hogs, slice_ns, true, end, &slices[round * m->count]);
		from = (double)bench_now_ns();
	}
	hogs_end(&hogs);
	bench_progress_clear();
	return round;
}

/* "2 threads, sections of 1 us, 5 % longer, hogs" */
static char *name_of(const struct mutexscale_cell *cell)
{
	bool own = !strcmp(cell->name, MUTEXSCALE_OWN);

	return options_printf("%u thread%s, sections of %s%s%s%s", cell->threads, cell->threads == 1 ? "" : "s",
			      units_time(cell->section).text, own ? "" : ", ", own ? "" : cell->name,
			      cell->hogs ? ", hogs" : "");
}

bool mutexscale_measure(const struct mutexscale *m, const struct mutexscale_cell *cell, struct mutexscale_result *results)
{
	double least = whole(SLICE_MIN_NS) * (double)m->count / 1e9, seconds;
	char *name = name_of(cell);
	struct mutexscale_slice *slices; /* of all locks in the first round, ... */
	unsigned runs;
	size_t i;

	seconds = budget_next(1, least, name);
	if (seconds > 0) {
		slices = options_alloc(m->count * m->runs, sizeof(*slices));
		runs = run_rounds(m, cell, seconds, slices);
		budget_runs(runs, name);
		for (i = 0; i < m->count; i++)
			mutexscale_finish(slices, m->count, i, runs, &results[i]);
		free(slices);
	}
	free(name);
	return seconds > 0;
}
