/* SPDX-License-Identifier: MIT */
/*
 * vigil.c - waits that last, on the page and in reports; and who looks after callbacks.
 */
#include <pthread.h>
#include <string.h>

#include "../base/internal.h"
#include "../base/events.h"
#include "stall.h"

#define LOOK_MOST_NS 100000000u /* between two looks at callbacks: one that is over is not shown for longer */
#define STOP_WAIT_NS 100000000	/* at exit, for a hook that does not return */

_Static_assert(LULL_STATS_WAITS <= 32, "one bit each");

static struct lull__lock places_lock;
static uint32_t places; /* of the page, that are taken; kept here because the page is not believed */

/* Locked. */
static int take_place(void)
{
	for (unsigned i = 0; i < LULL_STATS_WAITS; i++)
		if (!(places >> i & 1)) {
			places |= 1u << i;
			return (int)i;
		}
	return -1;
}

void lull__vigil_begin(struct lull__vigil *vigil, enum lull_wait_kind kind, uint64_t since_ns)
{
	struct lull_stats_wait *wait;

	vigil->kind = kind;
	vigil->since_ns = since_ns ? since_ns : lull__now_ns();
	vigil->report_ms = lull__stall_ms();
	LULL__PROBE2(wait_start, kind, vigil);
	lull__lock(&places_lock);
	vigil->place = take_place();
	if (vigil->place >= 0) {
		wait = &lull__stats->waits[vigil->place];
		lull_store_relaxed(&wait->waiter_tid, kind == LULL_WAIT_CALLBACK ? 0 : lull__self.tid);
		lull_store_relaxed(&wait->tid, 0u);
		lull_store_relaxed(&wait->holders, 0u);
		lull_store_relaxed(&wait->depth, 0u);
		lull_store_relaxed(&wait->since_ns, vigil->since_ns);
		lull_store_relaxed(&wait->site, (uint64_t)0);
		lull_store_relaxed(&wait->kind, (uint32_t)kind);
	}
	lull__unlock(&places_lock);
}

void lull__vigil_end(struct lull__vigil *vigil)
{
	LULL__PROBE2(wait_end, vigil->kind, vigil);
	vigil->kind = LULL_WAIT_NONE;
	if (vigil->place < 0)
		return;
	lull__lock(&places_lock);
	lull_store_relaxed(&lull__stats->waits[vigil->place].kind, (uint32_t)LULL_WAIT_NONE);
	places &= ~(1u << vigil->place);
	lull__unlock(&places_lock);
	vigil->place = -1;
}

bool lull__vigil_due(struct lull__vigil *vigil)
{
	uint64_t due_ns = lull__vigil_report_ns(vigil);

	if (!due_ns || lull__now_ns() < due_ns)
		return false;
	vigil->report_ms *= 2;
	return true;
}

void lull__vigil_holder(const struct lull__vigil *vigil, const struct lull_stall *stall, unsigned holders)
{
	struct lull_stats_wait *wait;

	if (vigil->place < 0)
		return;
	wait = &lull__stats->waits[vigil->place];
	lull_store_relaxed(&wait->tid, stall->tid);
	lull_store_relaxed(&wait->depth, stall->depth);
	lull_store_relaxed(&wait->site, (uint64_t)(uintptr_t)stall->site);
	lull_store_relaxed(&wait->holders, holders);
}

void lull__vigil_report(const struct lull__vigil *vigil, struct lull_stall *stall)
{
	uint64_t now_ns = lull__now_ns();
	struct lull__task task;
	char site[128];
	int cancel;

	lull__no_cancel(&cancel); /* a hook of the program's, with locks of ours held */
	lull__task_look(stall->tid, &task);
	lull__symbol(stall->site, site, sizeof(site));
	stall->what = vigil->kind;
	stall->kind = lull_wait_kind_name(vigil->kind);
	stall->thread_name = task.name;
	stall->state = task.state;
	stall->where = task.where;
	stall->site_name = site;
	stall->since_ns = vigil->since_ns;
	stall->age_ms = now_ns > vigil->since_ns ? (now_ns - vigil->since_ns) / 1000000u : 0;
	lull__reclaim_backlog(&stall->waiting_items, &stall->waiting_bytes);
	lull__count(&lull__stats->stalls, 1);
	LULL__PROBE5(stall, vigil->kind, stall->tid, stall->age_ms, stall->waiting_items, stall->thread_name);
	lull__report_stall(stall);
	lull__may_cancel(cancel);
}

/* ---- callbacks ---------------------------------------------------------------------------------- */

static struct {
	struct lull__lock lock; /* running, sleeps, stop */
	uint32_t running;	/* passes that run callbacks just now */
	uint32_t sleeps;	/* the thread, until the next one does */
	uint32_t stop;
	bool is_there;
	pthread_t thread;
} dog;

/* How far the callbacks of a queue are. The second look that finds the same one is when it begins to last. */
static void look_at(struct lull__queue *q, uint64_t now_ns)
{
	void *running = lull_load_relaxed(&q->running);
	uint64_t get = lull_load_relaxed(&q->get);
	struct lull_stall stall = { .tid = lull_load_relaxed(&q->runner_tid), .site = running };

	if (!running || get != q->watched_get || !q->watched_ns) {
		if (q->vigil.kind != LULL_WAIT_NONE)
			lull__vigil_end(&q->vigil);
		q->watched_get = get;
		q->watched_ns = running ? now_ns : 0;
		return;
	}
	if (q->vigil.kind == LULL_WAIT_NONE)
		lull__vigil_begin(&q->vigil, LULL_WAIT_CALLBACK, q->watched_ns);
	lull__vigil_holder(&q->vigil, &stall, 1);
	if (lull__vigil_due(&q->vigil))
		lull__vigil_report(&q->vigil, &stall);
}

static void look_at_all(void)
{
	uint64_t now_ns = lull__now_ns();
	struct lull__bag *bag;

	lull__for_each_bag(bag)
		for (int kind = 0; kind < LULL__KINDS; kind++)
			if (lull__kind_is_call((uint32_t)kind))
				look_at(&bag->queue[kind], now_ns);
}

/* Until passes run callbacks again, or the end. */
static void sleep_deep(void)
{
	lull__lock(&dog.lock);
	if (!dog.running && !dog.stop)
		lull_store_relaxed(&dog.sleeps, 1u);
	lull__unlock(&dog.lock);
	while (lull_load_relaxed(&dog.sleeps))
		lull__futex_wait(&dog.sleeps, 1, 0);
}

static uint64_t look_every_ns(void)
{
	uint64_t half_ns = lull__stall_ms() * (uint64_t)500000;

	return half_ns && half_ns < LOOK_MOST_NS ? half_ns : LOOK_MOST_NS;
}

static void *watchdog(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "lull-watchdog");
	while (!lull_load_relaxed(&dog.stop)) {
		bool idle = !lull_load_relaxed(&dog.running);

		look_at_all();
		if (idle)
			sleep_deep();
		else
			lull__futex_wait(&dog.stop, 0, look_every_ns());
	}
	return NULL;
}

static void rouse(void)
{
	lull_store_relaxed(&dog.sleeps, 0u);
	lull__futex_wake(&dog.sleeps, 1);
}

void lull__watchdog_enter(void)
{
	lull__lock(&dog.lock);
	lull_store_relaxed(&dog.running, dog.running + 1);
	if (lull_unlikely(dog.sleeps))
		rouse();
	lull__unlock(&dog.lock);
}

void lull__watchdog_leave(void)
{
	lull__lock(&dog.lock);
	if (dog.running) /* else one of the callbacks forked, and this is the child */
		lull_store_relaxed(&dog.running, dog.running - 1);
	lull__unlock(&dog.lock);
}

/* With signals blocked, by whoever starts the reclaimer's thread. Without memory for it nobody looks. */
void lull__watchdog_start(void)
{
	dog.is_there = pthread_create(&dog.thread, NULL, watchdog, NULL) == 0;
}

void lull__watchdog_stop(void)
{
	if (!dog.is_there)
		return;
	lull__lock(&dog.lock);
	lull_store_relaxed(&dog.stop, 1u);
	rouse();
	lull__unlock(&dog.lock);
	lull__futex_wake(&dog.stop, 1);
	if (lull__join(dog.thread, STOP_WAIT_NS))
		dog.is_there = false;
}

/* Other threads' callbacks run in the parent. @old_tid: as it was called there. */
void lull__watchdog_fork_child(uint32_t old_tid)
{
	struct lull__bag *bag;

	memset(&dog, 0, sizeof(dog));
	places_lock.word = 0;
	places = 0;
	lull__for_each_bag(bag) {
		for (int kind = 0; kind < LULL__KINDS; kind++) {
			struct lull__queue *q = &bag->queue[kind];

			q->watched_ns = 0;
			q->vigil.kind = LULL_WAIT_NONE;
			if (q->runner_tid != old_tid || !lull__self.callback_depth)
				q->running = NULL;
			else
				q->runner_tid = lull__self.tid;
		}
	}
}
