/* SPDX-License-Identifier: MIT */
/*
 * wake.c - start the background thread, wake it, and end it with the process. See worker.h.
 */
#include <limits.h>
#include <string.h>

#include "../base/deadline.h"
#include "../base/message.h"
#include "../base/own_thread.h"
#include "../base/process.h"
#include "../base/registry.h"
#include "../hazptr/slots.h"
#include "backlog.h"
#include "reclaim_life.h"
#include "worker.h"

#define WORKER_EXIT_NS 100000000 /* for a callback, or a grace period, that does not end */
#define RETRY_NS       10000000u /* after a failure to start the thread; doubles ... */
#define RETRY_DOUBLES  7	 /* ... up to 1.28 s */

/*
 * Record that the thread could not be started, because of @err. Say so once, and let later deferrals, waits
 * and threads that come and go try again. Entries that wait stay in their queues: no callback runs in a thread that has
 * not asked for it.
 */
static void no_worker(int err)
{
	uint32_t failures = lull_add_relaxed(&lull__reclaimer.failures, 1u);
	uint32_t awake = AWAKE;
	uint64_t wait_ns = (uint64_t)RETRY_NS << (failures < RETRY_DOUBLES ? failures : RETRY_DOUBLES);

	/* The time first: a thread that sees CANNOT_HAVE_ONE but not yet the time only tries too early. */
	lull_store_relaxed(&lull__reclaimer.retry_ns, lull__now_ns() + wait_ns);
	lull_store_relaxed(&lull__reclaimer.thread, (uint32_t)CANNOT_HAVE_ONE);
	if (lull_load_relaxed(&lull__reclaimer.mode) != LULL_RECLAIM_POLL)
		lull_cas_relaxed(&lull__reclaimer.sleep, &awake, (uint32_t)GONE);
	lull__retry_want(true);
	/* A barrier may wait for the thread already, or for slots that it now has to look at itself. */
	lull_add_release(&lull__reclaimer.flush_event, 1u); /* REC-7 */
	lull__futex_wake(&lull__reclaimer.flush_event, INT_MAX);
	lull__hazptr_wake();
	if (!failures)
		lull__say("cannot start the reclaimer's thread (%s): callbacks wait until it starts after all, or for a "
			  "barrier", strerror(err));
}

/* Is it too early for another try, after the last one failed? */
static bool may_not_start_yet(void)
{
	return lull_load_relaxed(&lull__reclaimer.thread) == CANNOT_HAVE_ONE &&
	       !lull__is_past(lull_load_relaxed(&lull__reclaimer.retry_ns));
}

static bool start_worker(void)
{
	sigset_t saved;
	bool there;
	int err;

	lull__config_enter(&saved);
	/*
	 * ORDER REC-13: GONE in `sleep` before the look whether there is a thread (both have the lock); pairs with
	 * REC-13 in let_go(); without it the thread that ends is taken for one that is there, and the entry waits
	 * for ever; model/reclaim/end.litmus
	 */
	there = lull_load_relaxed(&lull__reclaimer.thread) == HAS_THREAD;
	lull_store_relaxed(&lull__reclaimer.thread, (uint32_t)HAS_THREAD);
	if (!there)
		lull_store_relaxed(&lull__reclaimer.tid, 0u);
	/* Under the lock, so that exit() finds a thread to join. */
	err = there ? 0 : lull__own_thread_start(&lull__reclaimer_thread, &lull__reclaimer.id);
	lull__config_leave(&saved);
	if (err)
		no_worker(err);
	else if (!there)
		lull__retry_want(false);
	return !err;
}

bool lull__start_worker(void)
{
	return lull_load_relaxed(&lull__reclaimer.thread) == HAS_THREAD || (!may_not_start_yet() && start_worker());
}

/*
 * End the thread at exit(), so that leak checkers do not report it. Entries that still wait stay where they are. For a
 * callback or a grace period that does not end, wait WORKER_EXIT_NS only.
 */
__attribute__((destructor)) static void stop_worker(void)
{
	bool there;
	sigset_t saved;

	if (lull__watch)
		lull__watch->process_ends();
	if (lull_load_relaxed(&lull__reclaimer.thread) != HAS_THREAD)
		return;
	lull__config_enter(&saved); /* a thread that ends for itself does so before or not at all */
	there = lull_load_relaxed(&lull__reclaimer.thread) == HAS_THREAD &&
		!pthread_equal(lull__reclaimer.id, pthread_self());
	lull_store_relaxed(&lull__reclaimer.stop, (uint32_t)there);
	lull__config_leave(&saved);
	if (!there)
		return;
	/* Not lull__notify(): under POLL that notifies the program and wakes no thread. REC-2 as there. */
	lull_fence_light();
	lull_store_relaxed(&lull__reclaimer.sleep, (uint32_t)AWAKE);
	lull__futex_wake(&lull__reclaimer.sleep, 1);
	if (lull__join(lull__reclaimer.id, WORKER_EXIT_NS))
		lull_store_relaxed(&lull__reclaimer.thread, (uint32_t)NO_THREAD);
	lull_store_relaxed(&lull__reclaimer.stop, 0u);
}

static void notify_program(void)
{
	struct lull_reclaim_config config;
	sigset_t saved;

	lull__config_enter(&saved);
	config = lull__reclaimer.config;
	lull__config_leave(&saved);
	if (config.notify)
		config.notify(config.notify_arg);
}

/* Wake the thread, or notify the program, if `sleep` was @was and has just been made AWAKE. */
static void wake_from(uint32_t was)
{
	if (was == AWAKE)
		return;
	if (lull_load_relaxed(&lull__reclaimer.mode) == LULL_RECLAIM_POLL)
		notify_program();
	else
		lull__futex_wake(&lull__reclaimer.sleep, 1);
}

void lull__wake_reclaimer(void)
{
	lull__init(); /* the thread of an unnoticed child's parent is not there */
	uint32_t was;

	if (lull_load_relaxed(&lull__reclaimer.sleep) == GONE && may_not_start_yet())
		return;
	was = lull_xchg_relaxed(&lull__reclaimer.sleep, (uint32_t)AWAKE);
	if (was == GONE)
		start_worker();
	else
		wake_from(was);
}

void lull__reclaim_retry(void)
{
	if (lull_load_relaxed(&lull__reclaimer.sleep) == GONE)
		lull__wake_reclaimer();
}

/*
 * Start no thread: the one that parked an object because of this reader is there. REC-2 as in
 * lull__notify().
 */
void lull__notify_from_reader(void)
{
	uint32_t was;

	lull_fence_light();
	was = lull_load_relaxed(&lull__reclaimer.sleep);
	while (was >= LINGERING && was != GONE)
		if (lull_cas_relaxed(&lull__reclaimer.sleep, &was, (uint32_t)AWAKE)) {
			wake_from(was);
			break;
		}
}
