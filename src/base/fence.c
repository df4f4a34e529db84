/* SPDX-License-Identifier: MIT */
/*
 * fence.c - heavy fences: the strategy, and one membarrier for all callers that wait for one.
 *
 * Sharing works like a grace period. A caller takes a ticket: the fence after the newest that has
 * started. The thread that gets the leader's lock starts the next fence, which serves every ticket
 * taken until then; the others sleep until the leader leaves.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "deadline.h"
#include "events.h"
#include "fence_choice.h"
#include "lock.h"
#include "message.h"
#include "own_thread.h"
#include "process.h"

#define LAG_NS	     1000000u /* a fence that takes another thread so long is not waited for */
#define SKIP_DOUBLES 10	     /* while membarrier fails it is tried at every 1024th fence at least */

uint32_t lull__fence_full_mode; /* see fence.h */

static struct {
	struct lull__lock leader;
	uint64_t started; /* written by the leader */
	uint64_t done;	  /* written by the leader */
	uint64_t late;	  /* the fence after this one makes others wait for LAG_NS */
	unsigned failures; /* of membarrier, in a row; leader only */
	unsigned skip;	   /* so many fences are made without trying it; leader only */
} heavy __attribute__((aligned(LULL__CACHELINE)));

void lull__fence_init(void)
{
	const char *forced = getenv("LULL_FENCE");
	bool full = false;

#ifdef LULL_FENCE_FIXED_FULL
	full = true;
#endif
	if (forced && *forced && strcmp(forced, "full") != 0 && strcmp(forced, "membarrier") != 0) {
		lull__say("LULL_FENCE is \"%.60s\", which is ignored; it can be membarrier or full", forced);
		forced = NULL;
	}
	if (forced && strcmp(forced, "full") == 0)
		full = true;
	if (!full && !lull__membarrier_register()) {
		if (forced && *forced)
			lull__say("LULL_FENCE is membarrier, but the kernel refuses it here: readers make full fences");
		full = true;
	}
	lull_store_relaxed(&lull__fence_full_mode, full ? 1u : 0u);
}

/* Try membarrier. After it has failed, leave it alone for ever longer times. Returns 0 or -errno. */
static int try_membarrier(void)
{
	int err;

	if (heavy.skip) {
		heavy.skip--;
		return -EAGAIN;
	}
	err = lull__membarrier();
	if (err == -EPERM && lull__membarrier_register())
		err = 0; /* registering ends with a fence */
	heavy.skip = err ? (1u << heavy.failures) - 1 : 0;
	heavy.failures = err ? heavy.failures + (heavy.failures < SKIP_DOUBLES) : 0;
	return err;
}

/*
 * membarrier worked at the start. Readers rely on light fences that are only the compiler's, so they cannot go
 * back to full ones when it fails; but any other way to make each CPU switch threads will do.
 */
static void carry_out(void)
{
	int refusal, visit = 0;

	if (lull_likely(try_membarrier() == 0) || lull__visit_cpus() == 0 || lull__membarrier_global() == 0)
		return;
	for (int i = 0; i < LULL__FENCE_AGAIN_MOST; i++) {
		refusal = lull__membarrier();
		if (refusal == 0 || (visit = lull__visit_cpus()) == 0)
			return;
		if (!lull__fence_short_of(refusal) && !lull__fence_short_of(visit))
			break;
		lull__nap(LULL__FENCE_AGAIN_NS);
	}
	lull__die("membarrier is no longer permitted (%s) and threads cannot be moved either (%s); "
		  "start the program with LULL_FENCE=full", strerror(-refusal), strerror(-visit));
}

/*
 * Wait for another thread's fence, or make one that is not shared, and return true: the scheduler may not run that
 * thread for seconds (see grace_period.c). One caller waits for LAG_NS to learn that; the others, until a fence starts
 * again, know it.
 */
static bool await_leader(void)
{
	uint64_t started = lull_load_relaxed(&heavy.started), late_ns = lull__now_ns() + LAG_NS;

	if (started != lull_load_relaxed(&heavy.late)) {
		lull__lock_await(&heavy.leader, late_ns);
		if (!lull__is_past(late_ns))
			return false;
		lull_store_relaxed(&heavy.late, started);
	}
	if (lull__membarrier() == 0)
		return true;
	lull__lock_await(&heavy.leader, late_ns + LAG_NS); /* there may be no memory for now */
	return false;
}

void lull_fence_heavy(void)
{
	uint64_t ticket;

	lull__init();
	/*
	 * ORDER FEN-1: the caller's stores before the load of `started`; pairs with FEN-1 in
	 * lull_fence_heavy() (started, then the system call); without it a fence that began before
	 * these stores is taken for one that covers them; model/base/fence-share.tpl
	 */
	lull_fence_full();
	if (lull__fence_full_mode)
		return;
	ticket = lull_load_relaxed(&heavy.started) + 1;
	for (;;) {
		/*
		 * ORDER FEN-2: a fence that is over before the caller's loads; pairs with FEN-2 in
		 * lull_fence_heavy(); without it the caller's loads run ahead of the fence it
		 * shares; model/base/fence-done.litmus
		 */
		if (lull_load_acquire(&heavy.done) >= ticket)
			return;
		if (!lull__trylock(&heavy.leader)) {
			if (await_leader())
				return;
			continue;
		}
		if (heavy.done < ticket) {
			/*
			 * ORDER FEN-1: `started` before the fence (membarrier begins with a full
			 * one); pairs with FEN-1 in lull_fence_heavy(); without it as there;
			 * model/base/fence-share.tpl
			 */
			lull_store_relaxed(&heavy.started, heavy.started + 1);
			carry_out();
			lull__event_heavy_fence();
			/*
			 * ORDER FEN-2: the fence before `done`; pairs with FEN-2 in
			 * lull_fence_heavy(); without it as there; model/base/fence-done.litmus
			 */
			lull_store_release(&heavy.done, heavy.started);
		}
		lull__unlock_wake(&heavy.leader, INT32_MAX);
	}
}

enum lull_fence_strategy lull_fence_strategy(void)
{
	lull__init();
	return lull__fence_full_mode ? LULL_FENCE_FULL : LULL_FENCE_MEMBARRIER;
}

const char *lull_fence_strategy_name(void)
{
	return lull_fence_strategy() == LULL_FENCE_FULL ? "full" : "membarrier";
}

uint64_t lull_fence_heavy_count(void)
{
	return lull_load_relaxed(&heavy.done);
}

/* Begin afresh in the child: the thread that led a fence in the parent does not exist here. */
void lull__fence_fork_child(uint32_t old_tid)
{
	(void)old_tid;
	heavy.leader.word = 0;
	heavy.started = heavy.done;
	if (!lull__fence_full_mode)
		lull__membarrier_register(); /* else the first fence tries again */
}
