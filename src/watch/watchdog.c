/* SPDX-License-Identifier: MIT */
/*
 * watchdog.c - callbacks that do not return: a thread that checks while a pass runs some.
 *
 * The thread exists while the background thread runs callbacks, and until it has been idle for long.
 */
#include <string.h>

#include "../base/own_thread.h"
#include "../reclaim/bag.h"
#include "stall.h"
#include "watchdog.h"

#define CHECK_MOST_NS 100000000u /* between two checks: a callback that is over is not shown for longer */
#define RESTART_NS    1000000000u /* between two tries to start it */
#define STOP_WAIT_NS  100000000	 /* at exit, for a hook that does not return */

static struct {
	struct lull__lock lock; /* all of this */
	uint32_t running;	/* how many passes run callbacks now */
	uint32_t sleeps;	/* 1: the thread sleeps until a pass runs callbacks */
	uint32_t stop;
	bool is_there;
	uint64_t again_ns; /* it could not be started: no other try before */
	pthread_t thread;
} watchdog;

/*
 * Check whether the callbacks of @q make progress. A wait for a callback begins when two checks in a row
 * find that the same one runs.
 */
static void check_running_callback(struct lull__queue *q, uint64_t now_ns)
{
	void *running = lull_load_relaxed(&q->running);
	uint64_t get = lull_load_relaxed(&q->get);
	struct lull_stall stall = { .tid = lull_load_relaxed(&q->runner_tid), .site = running };

	if (!running || get != q->watched_get || !q->watched_ns) {
		if (q->callback_wait.kind != LULL_WAIT_NONE)
			lull__stall_end(&q->callback_wait);
		lull_store_relaxed(&q->watched, 0u);
		q->watched_get = get;
		q->watched_ns = running ? now_ns : 0;
		return;
	}
	if (q->callback_wait.kind == LULL_WAIT_NONE) {
		lull_store_relaxed(&q->watched, 1u);
		q->callback_wait = (struct lull__wait){ .kind = LULL_WAIT_CALLBACK, .since_ns = q->watched_ns };
		lull__stall_begin(&q->callback_wait);
	}
	if (lull__stall_blame(&q->callback_wait, &stall, 1, 1) == 0)
		lull__stall_report(&q->callback_wait, &stall, 1);
}

static void check_all(void)
{
	uint64_t now_ns = lull__now_ns();
	struct lull__listing *at;
	struct lull__queue *q;
	uint64_t process;

	process = lull__walk_enter();
	lull__for_each_queue(at, q)
		if (lull__kind_is_call(q->kind))
			check_running_callback(q, now_ns);
	lull__walk_leave(process);
}

/* Sleep until a pass runs callbacks again, or the thread is to stop. Returns true if that takes too long: end. */
static bool sleep_until_needed(void)
{
	uint64_t until_ns = lull__idle_end_ns(lull__now_ns(), 0);
	bool ends;

	lull__lock(&watchdog.lock);
	if (!watchdog.running && !watchdog.stop)
		lull_store_relaxed(&watchdog.sleeps, 1u);
	lull__unlock(&watchdog.lock);
	while (lull_load_relaxed(&watchdog.sleeps) && !lull__is_past(until_ns))
		lull__futex_wait(&watchdog.sleeps, 1, until_ns);
	lull__lock(&watchdog.lock);
	ends = watchdog.sleeps && !lull__own_threads_stay();
	lull_store_relaxed(&watchdog.sleeps, 0u);
	if (ends) {
		watchdog.is_there = false;
		pthread_detach(pthread_self());
	}
	lull__unlock(&watchdog.lock);
	return ends;
}

static uint64_t check_every_ns(void)
{
	uint64_t half_ns = lull__stall_ms() * (uint64_t)500000;

	return half_ns && half_ns < CHECK_MOST_NS ? half_ns : CHECK_MOST_NS;
}

static void watchdog_thread(void)
{
	while (!lull_load_relaxed(&watchdog.stop)) {
		bool idle = !lull_load_relaxed(&watchdog.running);

		check_all();
		if (idle && sleep_until_needed())
			return;
		if (!idle)
			lull__futex_wait(&watchdog.stop, 0, lull__now_ns() + check_every_ns());
	}
}

static const struct lull__own_thread own_thread = { "lull-watchdog", watchdog_thread };

static void wake(void)
{
	lull_store_relaxed(&watchdog.sleeps, 0u);
	lull__futex_wake(&watchdog.sleeps, 1);
}

/* Start the thread. Without memory for it callbacks are not checked. */
static void start(void)
{
	watchdog.is_there = lull__own_thread_start(&own_thread, &watchdog.thread) == 0;
	if (!watchdog.is_there)
		watchdog.again_ns = lull__now_ns() + RESTART_NS;
}

/* Watch no thread that runs callbacks in its place: LULL_RECLAIM_POLL promises that no thread is started. */
static bool is_background_thread(void)
{
	return lull_load_relaxed(&lull__reclaimer.thread) == HAS_THREAD &&
	       pthread_equal(lull__reclaimer.id, pthread_self());
}

void lull__watchdog_callbacks_begin(void)
{
	lull__lock(&watchdog.lock);
	lull_store_relaxed(&watchdog.running, watchdog.running + 1);
	if (lull_unlikely(watchdog.sleeps))
		wake();
	if (lull_unlikely(!watchdog.is_there) && !watchdog.stop && is_background_thread() &&
	    lull__is_past(watchdog.again_ns))
		start();
	lull__unlock(&watchdog.lock);
}

bool lull__watchdog_start(void)
{
	bool there;

	lull__lock(&watchdog.lock);
	if (!watchdog.is_there && !watchdog.stop)
		start();
	there = watchdog.is_there;
	lull__unlock(&watchdog.lock);
	return there;
}

void lull__watchdog_callbacks_end(void)
{
	lull__lock(&watchdog.lock);
	if (watchdog.running) /* else one of the callbacks forked, and this is the child */
		lull_store_relaxed(&watchdog.running, watchdog.running - 1);
	lull__unlock(&watchdog.lock);
}

void lull__watchdog_stop(void)
{
	bool there;

	lull__lock(&watchdog.lock);
	there = watchdog.is_there && !pthread_equal(watchdog.thread, pthread_self());
	lull_store_relaxed(&watchdog.stop, 1u); /* also if there is none: a pass may go on, and starts none now */
	if (there)
		wake();
	lull__unlock(&watchdog.lock);
	if (!there)
		return;
	lull__futex_wake(&watchdog.stop, 1);
	if (!lull__join(watchdog.thread, STOP_WAIT_NS)) {
		pthread_detach(watchdog.thread); /* it will end; ThreadSanitizer reports threads that are not joined */
		return;
	}
	lull__lock(&watchdog.lock); /* the reclaimer may still begin to run callbacks */
	watchdog.is_there = false;
	lull__unlock(&watchdog.lock);
}

/*
 * Begin afresh in the child: other threads' callbacks run in the parent, where the calling thread was
 * @old_tid.
 */
void lull__watchdog_fork_child(uint32_t old_tid)
{
	struct lull__bag *bag;

	memset(&watchdog, 0, sizeof(watchdog));
	lull__for_each_bag(bag) {
		for (int kind = 0; kind < LULL__KINDS; kind++) {
			struct lull__queue *q = &bag->queue[kind];

			q->watched_ns = 0;
			q->callback_wait.kind = LULL_WAIT_NONE;
			q->watched = 0;
			if (q->runner_tid != old_tid || !lull__self.callback_depth)
				q->running = NULL;
			else
				q->runner_tid = lull__self.tid;
		}
	}
}
