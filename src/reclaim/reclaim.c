/* SPDX-License-Identifier: MIT */
/*
 * reclaim.c - configuration and counters, and reclaiming in the life of a process.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "../base/callback.h"
#include "../base/events.h"
#include "../base/hooks.h"
#include "../base/message.h"
#include "../base/own_thread.h"
#include "../base/process.h"
#include "../base/registry.h"
#include "../hazptr/slots.h"
#include "backlog.h"
#include "overflow.h"
#include "pass.h"
#include "reclaim_life.h"
#include "worker.h"

#define SOFT_WAIT_MOST_US 1000000u

static const struct lull_reclaim_config at_start = LULL__RECLAIM_AT_START;
static size_t soft_items_at_start; /* in place of that; 0: none */

void lull_reclaim_default_config(struct lull_reclaim_config *config)
{
	size_t soft_items = lull_load_relaxed(&soft_items_at_start);

	*config = at_start;
	if (soft_items)
		config->soft_items = soft_items;
}

void lull__reclaim_soft_items(size_t items)
{
	size_t start = at_start.soft_items, hard = lull_load_relaxed(&lull__reclaimer.config.hard_items);

	if (hard && items >= hard)
		return;
	lull_store_relaxed(&soft_items_at_start, items);
	(void)lull_cas_relaxed(&lull__reclaimer.config.soft_items, &start, items);
}

static void owner_leaves(struct lull__queue *q)
{
	lull__lock(&q->lock);
	lull_store_relaxed(&q->owner_helps, 0u);
	lull__queue_revoke(q);
	lull_fence_heavy(); /* REC-8 */
	if (q->bag != lull__self.bag) /* the caller is in no callback, so it does not consume its own */
		lull__queue_await_owner(q, LULL__NEVER);
	lull__queue_release(q);
}

/* Find a queue whose owner runs its callbacks, and pin its bag. NULL: there is none. */
static struct lull__queue *find_helping_owner(void)
{
	struct lull__listing *at;
	struct lull__queue *q;
	uint64_t process;

	lull__lock(&lull__reclaimer.sweep_lock); /* no queue is out of the list for a moment */
	process = lull__walk_enter();
	lull__for_each_queue(at, q)
		if (!lull__kind_is_pure(q->kind) && lull_load_relaxed(&q->owner_helps)) {
			lull_add_relaxed(&q->bag->pins, 1u);
			break;
		}
	lull__walk_leave(process);
	lull__unlock(&lull__reclaimer.sweep_lock);
	return at ? q : NULL;
}

/*
 * Stop all owners from running callbacks, under a new mode; those of pure ones may do so in any.
 *
 * ORDER REC-18: `mode` before the look for owners that help; pairs with REC-18 in lull__begin_help(); without it an owner
 * that has just begun to help is overlooked, and goes on; model/reclaim/mode.tpl
 */
static void owners_leave(void)
{
	struct lull__queue *q;

	lull_fence_heavy(); /* REC-18 */
	while ((q = find_helping_owner()) != NULL) {
		owner_leaves(q);
		lull__bag_unpin(q->bag);
	}
}

/* Return how many bytes a thread may defer between two looks at the limits. */
static size_t look_bytes(const struct lull_reclaim_config *config)
{
	size_t limit = config->soft_bytes ? config->soft_bytes : config->hard_bytes;

	return LULL__LOOK_BYTES(limit ? limit : SIZE_MAX);
}

static void thread_start(const char *name)
{
	void (*hook)(const char *name) = lull_load_relaxed(&lull__reclaimer.config.thread_start);

	lull__self.callback_depth += LULL__IN_THREAD_START;
	if (hook)
		hook(name);
	lull__self.callback_depth -= LULL__IN_THREAD_START;
}

static void must_not_be_called_back(const char *call)
{
	if (lull__self.callback_depth)
		lull__die("%s in %s", call, lull__where_called_back());
}

int lull_reclaim_configure(const struct lull_reclaim_config *config)
{
	size_t items, bytes;
	sigset_t saved;
	bool none;

	if ((unsigned)config->mode > LULL_RECLAIM_CALLER || (unsigned)config->on_hard > LULL_RECLAIM_HELP ||
	    config->linger_ms == 0 || config->soft_wait_us > SOFT_WAIT_MOST_US ||
	    (config->hard_items && config->hard_items < config->soft_items) ||
	    (config->hard_bytes && config->hard_bytes < config->soft_bytes))
		return -EINVAL;
	must_not_be_called_back("lull_reclaim_configure");
	lull__config_enter(&saved);
	lull_store_relaxed(&lull__reclaimer.config.on_hard, config->on_hard);
	lull_store_relaxed(&lull__reclaimer.config.soft_items, config->soft_items);
	lull_store_relaxed(&lull__reclaimer.config.soft_bytes, config->soft_bytes);
	lull_store_relaxed(&lull__reclaimer.config.hard_items, config->hard_items);
	lull_store_relaxed(&lull__reclaimer.config.hard_bytes, config->hard_bytes);
	lull_store_relaxed(&lull__reclaimer.config.linger_ms, config->linger_ms);
	lull_store_relaxed(&lull__reclaimer.config.soft_wait_us, config->soft_wait_us);
	lull_store_relaxed(&lull__reclaimer.look_bytes, look_bytes(config));
	lull__reclaimer.config.notify = config->notify;
	lull__reclaimer.config.notify_arg = config->notify_arg;
	lull_store_relaxed(&lull__reclaimer.config.thread_start, config->thread_start);
	lull__own_thread_configure(config->idle_ms ? config->idle_ms : LULL__IDLE_MS, config->stack_bytes, thread_start);
	lull_store_relaxed(&lull__reclaimer.mode, (uint32_t)config->mode);
	lull__reclaim_limits(&lull__page()->hard_items, &lull__page()->hard_bytes);
	lull__config_leave(&saved);
	if (config->mode != LULL_RECLAIM_CALLER)
		owners_leave();
	/* Wake the thread, or notify the program, that reclaims under the new mode. REC-13: under the lock. */
	lull__config_enter(&saved);
	none = lull_load_relaxed(&lull__reclaimer.thread) != HAS_THREAD && config->mode != LULL_RECLAIM_POLL;
	lull_store_relaxed(&lull__reclaimer.sleep, (uint32_t)(none ? GONE : ASLEEP));
	lull__config_leave(&saved);
	lull__queues_heed();
	lull_fence_heavy(); /* REC-2, as in go_to_sleep() */
	lull__backlog(&items, &bytes);
	/* A barrier that began meanwhile may have seen the value of `sleep` from the previous mode. */
	if (items || (config->mode != LULL_RECLAIM_POLL &&
		      lull_load_relaxed(&lull__reclaimer.flush_wanted) > lull_load_relaxed(&lull__reclaimer.flush_done)))
		lull__wake_reclaimer();
	/* A barrier may now have to make the passes itself. */
	lull_add_release(&lull__reclaimer.flush_event, 1u); /* REC-7 */
	lull__futex_wake(&lull__reclaimer.flush_event, INT_MAX);
	lull__hazptr_wake();
	return 0;
}

/*
 * A thread that is there may be about to end, but not after a configuration with which none ends: it decides under the
 * lock that this was stored under.
 */
int lull_reclaim_start(void)
{
	bool there = true;

	must_not_be_called_back("lull_reclaim_start");
	if (lull_load_relaxed(&lull__reclaimer.mode) == LULL_RECLAIM_POLL)
		return 0;
	lull__init();
	there &= lull__start_worker();
	there &= !lull__watch || lull__watch->start();
	lull__own_threads_await();
	return there ? 0 : -EAGAIN;
}

void lull__reclaim_limits(uint64_t *items, uint64_t *bytes)
{
	lull_store_relaxed(items, (uint64_t)lull_load_relaxed(&lull__reclaimer.config.hard_items));
	lull_store_relaxed(bytes, (uint64_t)lull_load_relaxed(&lull__reclaimer.config.hard_bytes));
}

void lull_reclaim_stats(struct lull_reclaim_counts *stats)
{
	memset(stats, 0, sizeof(*stats));
	lull__backlog(&stats->items, &stats->bytes);
	stats->total_items = lull__backlog_total();
	lull__backlog_raise_peak(stats->items, stats->bytes);
	stats->peak_items = lull_load_relaxed(&lull__reclaimer.peak_items);
	stats->peak_bytes = lull_load_relaxed(&lull__reclaimer.peak_bytes);
	stats->passes = lull_load_relaxed(&lull__reclaimer.passes);
	stats->wakeups = lull_load_relaxed(&lull__reclaimer.wakeups);
}

void lull_reclaim_reset_peak(void)
{
	lull_store_relaxed(&lull__reclaimer.peak_items, (size_t)0);
	lull_store_relaxed(&lull__reclaimer.peak_bytes, (size_t)0);
	lull__event_peak(0, 0);
}

/* Its bag would go while lull__queue_run() is in it. */
void lull__reclaim_unregister(const char *call)
{
	if (lull__self.callback_depth)
		lull__misuse("%s in %s", call, lull__where_called_back());
	lull__reclaim_thread_exit();
}

void lull__reclaim_init(void)
{
	lull_store_relaxed(&lull__hazptr.on_unpark, lull__notify_from_reader);
}

/*
 * Repair the queues in the child: the other bags' owners, the background thread and holders of locks do not
 * exist.
 */
void lull__reclaim_fork_child(uint32_t old_tid)
{
	struct lull__bag *bag;

	(void)old_tid;
	lull__reclaimer.items = lull__reclaimer.bytes = lull__reclaimer.retired = 0;
	lull__reclaimer.kept_items = lull__reclaimer.kept_bytes = 0;
	lull__in_hand = NULL;
	lull__for_each_bag(bag) {
		for (int kind = 0; kind < LULL__KINDS; kind++) {
			struct lull__queue *q = &bag->queue[kind];

			q->lock.word = q->revoked = 0;
			q->lent = q->lent_bytes = 0;
			q->holder = NULL;
			if (bag != lull__self.bag)
				q->busy = 0;
			lull__queue_fork_child(q, q->busy);
			lull__reclaimer.items += (size_t)(q->put - q->done);
			lull__reclaimer.retired += kind == LULL__HAZPTR_FREES ? (size_t)(q->put - q->done) : 0;
			lull__reclaimer.bytes += (size_t)(q->put_bytes - q->done_bytes);
		}
	}
	lull__bags_fork_child();
	lull__reclaimer.config_lock.word = lull__reclaimer.retired_lock.word = 0;
	lull__reclaimer.barrier_lock.word = lull__reclaimer.park_lock.word = 0;
	lull__overflow_fork_child();
	lull__backlog_fork_child();
	lull__reclaimer.mark_awaited = lull__reclaimer.held_back = lull__reclaimer.failures = 0;
	lull__reclaimer.thread = NO_THREAD;
	lull__reclaimer.passes = lull__reclaimer.wakeups = lull__queue_awaited = lull__descendants = 0;
	lull__reclaimer.drains = lull__reclaimer.flushing = 0;
	lull__in_drained = false;
	lull__reclaimer.sleep = lull__reclaimer.mode == LULL_RECLAIM_POLL ? ASLEEP : GONE;
	lull__reclaimer.flush_done = lull__reclaimer.flush_wanted;
	/* A handler that forked in the middle of a wait goes back into the wait: let it find another event there. */
	lull__reclaimer.flush_event++;
	lull__hazptr.event++;
}
