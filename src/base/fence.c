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

#include "events.h"
#include "fence_choice.h"
#include "lock.h"
#include "message.h"
#include "process.h"

uint32_t lull__fence_full_mode; /* see fence.h */

static struct {
	struct lull__lock leader;
	uint64_t started; /* written by the leader */
	uint64_t done;	  /* written by the leader */
	bool visit_cpus;  /* membarrier was taken away; leader only */
} heavy __attribute__((aligned(LULL__CACHELINE)));

void lull__fence_init(void)
{
	const char *forced = getenv("LULL_FENCE");
	bool full = false;

#ifdef LULL_FENCE_FIXED_FULL
	full = true;
#endif
	if (forced && *forced && strcmp(forced, "full") != 0 && strcmp(forced, "membarrier") != 0)
		lull__die("LULL_FENCE is \"%.60s\"; it can be membarrier or full", forced);
	if (forced && strcmp(forced, "full") == 0)
		full = true;
	if (!full && !lull__membarrier_register()) {
		if (forced && *forced)
			lull__die("LULL_FENCE is membarrier, but the kernel refuses it here");
		full = true;
	}
	lull_store_relaxed(&lull__fence_full_mode, full ? 1u : 0u);
}

static void carry_out(void)
{
	int err = heavy.visit_cpus ? -EPERM : lull__membarrier();

	if (lull_likely(err == 0))
		return;
	/*
	 * membarrier worked at the start. Readers rely on light fences that are only the compiler's,
	 * so they cannot go back to full ones; but any other way to make each CPU switch threads
	 * will do.
	 */
	heavy.visit_cpus = true;
	err = lull__visit_all_cpus();
	if (err)
		lull__die("membarrier is no longer permitted and threads cannot be moved either (%s); "
			  "start the program with LULL_FENCE=full", strerror(-err));
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
			lull__lock_await(&heavy.leader, LULL__NEVER);
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
	if (!lull__fence_full_mode && !heavy.visit_cpus && !lull__membarrier_register())
		heavy.visit_cpus = true;
}
