/* SPDX-License-Identifier: MIT */
/*
 * lull torture: finds a run that hangs, not by the clock alone: once a second it looks at the threads' progress, and
 * at the kernel's state of each. See torture.h.
 *
 * A wake-up is lost when a thread waits for readers, has slept for seconds without being woken once, and each thread
 * that it may have waited for has released everything since it fell asleep: that thread had to wake it. And the run
 * hangs when no thread has made progress, none of them has run, and none wants to. Signals are held off for this check:
 * a handler wakes its thread, too.
 */
#include "torture/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/options.h"

#define PATIENCE_S 60u /* nothing moves, whatever the kernel says */
#define STILL_S	   10u /* ... and the kernel says that nothing can */
#define LOST_S	   5u  /* asleep, without being woken */
#define QUIET_S	   2u  /* no signals from then on */
#define END_S	   8u  /* after a failure, for all to come to their end */

/* State of a thread that is kept from one second to the next. */
struct watched {
	uint64_t waits, switches;
	unsigned asleep_s;
	uint64_t *others; /* of each thread: its work when this one was first found asleep */
};

static struct watched *watched;
static struct {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t stops;
	bool stop;
} dog = { .lock = PTHREAD_MUTEX_INITIALIZER, .stops = PTHREAD_COND_INITIALIZER };

/* ---- what the kernel says -------------------------------------------------------------------- */

struct task {
	char state;
	uint64_t switches;
};

/* False: it is gone. */
static bool task_read(uint32_t tid, struct task *task)
{
	char path[64], line[128];
	unsigned long long n;
	FILE *file;

	*task = (struct task){ .state = '?' };
	snprintf(path, sizeof(path), "/proc/self/task/%u/status", tid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "State: %c", &task->state) == 1)
			continue;
		if (sscanf(line, "voluntary_ctxt_switches: %llu", &n) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %llu", &n) == 1)
			task->switches += n;
	}
	fclose(file);
	return true;
}

/* ---- a wake-up that was lost ----------------------------------------------------------------- */

/* Could it have something that another thread waits for? */
static bool may_hold(const struct torturer *t)
{
	return strcmp(t->role, "reader") == 0 || strcmp(t->role, "updater") == 0 || strcmp(t->role, "staller") == 0;
}

/* Each has ended a round, at whose end it holds nothing, or waits itself, or rests. */
static bool all_let_go(const struct watched *w)
{
	unsigned i;

	for (i = 0; i < torture.nr_threads; i++) {
		const struct torturer *t = &torture.threads[i];

		if (!may_hold(t) || !lull_load_relaxed(&t->is_running) || lull_load_relaxed(&t->rests) ||
		    lull_load_relaxed(&t->waits))
			continue;
		if (lull_load_relaxed(&t->work) < w->others[i] + 2)
			return false;
	}
	return true;
}

static void fall_asleep(struct watched *w)
{
	unsigned i;

	w->asleep_s = 0;
	for (i = 0; i < torture.nr_threads; i++)
		w->others[i] = lull_load_relaxed(&torture.threads[i].work);
}

/* One second later. */
static void watch_wait(struct torturer *t, struct watched *w)
{
	uint64_t waits = lull_load_relaxed(&t->waits);
	struct task task;
	bool same;

	if (!waits || !task_read(lull_load_relaxed(&t->tid), &task)) {
		w->waits = 0;
		return;
	}
	same = waits == w->waits && task.state == 'S' && task.switches == w->switches;
	if (waits == w->waits && !same)
		torture_timer_stop(t); /* its handler ran, perhaps; not in this wait again */
	if (waits != w->waits || !same)
		fall_asleep(w);
	else
		w->asleep_s++;
	w->waits = waits;
	w->switches = task.switches;
}

static const struct torturer *find_lost(void)
{
	unsigned i;

	for (i = 0; i < torture.nr_threads; i++)
		if (watched[i].waits && watched[i].asleep_s >= LOST_S && all_let_go(&watched[i]))
			return &torture.threads[i];
	return NULL;
}

/* ---- nothing moves --------------------------------------------------------------------------- */

uint64_t torture_all_work(void)
{
	uint64_t sum = lull_load_relaxed(&torture.pauses);
	unsigned i;

	for (i = 0; i < torture.nr_threads; i++)
		sum += lull_load_relaxed(&torture.threads[i].work);
	return sum;
}

/* Return for how many seconds no thread has run or wanted to. */
static unsigned still_for(void)
{
	static uint64_t last;
	static unsigned still;
	uint64_t sum = 0;
	struct task task;
	bool runs = task_read((uint32_t)getpid(), &task) && task.state != 'S';
	unsigned i;

	for (i = 0; i < torture.nr_threads && !runs; i++) {
		torture_timer_stop(&torture.threads[i]);
		if (!task_read(lull_load_relaxed(&torture.threads[i].tid), &task))
			continue;
		runs = task.state != 'S';
		sum += task.switches;
	}
	still = !runs && sum == last ? still + 1 : 0;
	last = sum;
	return still;
}

static _Noreturn void hang(void)
{
	unsigned i;

	for (i = 0; i < torture.nr_threads; i++) {
		const struct torturer *t = &torture.threads[i];

		if (lull_load_relaxed(&t->is_running))
			printf("still there: %s %u (tid %u), %s\n", t->role, t->index, t->tid,
			       lull_load_relaxed(&t->doing));
	}
	torture_give_up();
}

static void watch_all(void)
{
	static uint64_t last;
	static unsigned idle, failed;
	const struct torturer *lost;
	uint64_t now = torture_all_work();
	unsigned i, still;

	/* A failure may have left nothing whole: give the threads END_S to end. */
	if (torture_failed() && failed++ == END_S)
		hang();
	for (i = 0; i < torture.nr_threads; i++)
		watch_wait(&torture.threads[i], &watched[i]);
	lost = find_lost();
	if (lost) {
		torture_fail("%s %u (%s) sleeps, although every thread that it can wait for has let go since: nobody will wake it",
			     lost->role, lost->index, lull_load_relaxed(&lost->doing));
		hang();
	}
	idle = now == last ? idle + 1 : 0;
	last = now;
	still = idle > QUIET_S ? still_for() : 0;
	if (still >= STILL_S)
		torture_fail("nothing has moved for %u s, and nobody who could change that has run", idle);
	else if (idle >= PATIENCE_S)
		torture_fail("nothing has moved for %u s", idle);
	else
		return;
	hang();
}

static void *watchdog(void *unused)
{
	struct timespec next;

	(void)unused;
	pthread_mutex_lock(&dog.lock);
	while (!dog.stop) {
		watch_all();
		clock_gettime(CLOCK_REALTIME, &next);
		next.tv_sec++;
		while (!dog.stop && pthread_cond_timedwait(&dog.stops, &dog.lock, &next) == 0)
			;
	}
	pthread_mutex_unlock(&dog.lock);
	return NULL;
}

void torture_watch_start(void)
{
	unsigned i;

	watched = options_alloc(torture.nr_threads, sizeof(*watched));
	for (i = 0; i < torture.nr_threads; i++)
		watched[i].others = options_alloc(torture.nr_threads, sizeof(*watched[i].others));
	if (pthread_create(&dog.thread, NULL, watchdog, NULL) != 0)
		options_bad("cannot make the watchdog's thread");
}

void torture_watch_stop(void)
{
	unsigned i;

	pthread_mutex_lock(&dog.lock);
	dog.stop = true;
	pthread_cond_signal(&dog.stops);
	pthread_mutex_unlock(&dog.lock);
	pthread_join(dog.thread, NULL);
	for (i = 0; i < torture.nr_threads; i++)
		free(watched[i].others);
	free(watched);
}
