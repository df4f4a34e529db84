/* SPDX-License-Identifier: MIT */
/*
 * holdouts.h - one look at threads' words: who holds a grace period up, and for whom its fence has to be a heavy one.
 */
#ifndef LULL_HOLDOUTS_H
#define LULL_HOLDOUTS_H

#include "../base/fault.h"
#include "../base/registry.h"
#include "../base/wait.h"

static inline uint64_t number_of(uint64_t word)
{
	return word & ~(uint64_t)LULL__RCU_LOW;
}

struct holdouts {
	unsigned count;
	uint64_t oldest; /* number that one of them carries; none is older */
	bool flagged_now; /* some flag was set that was not set before */
	struct lull_stall named[LULL__BLAME_MOST];
};

enum gp_scan_what { GP_COUNT, GP_FLAG };

static inline void gp_add_holdout(struct lull__thread *thread, uint64_t word, enum gp_scan_what what,
				  struct holdouts *held)
{
	if (what == GP_FLAG && LULL__BUSTED(NO_RECHECK))
		lull__busted_linger();
	if (what == GP_FLAG && !(lull_or_relaxed(&thread->flags, LULL__FLAG_RCU_WAITED) & LULL__FLAG_RCU_WAITED))
		held->flagged_now = true;
	if (what == GP_FLAG && held->count < LULL__BLAME_MOST) {
		struct lull_stall *stall = &held->named[held->count];

		*stall = (struct lull_stall){ .tid = thread->tid };
		stall->site = lull_load_relaxed(&thread->rcu_site);
		stall->depth = (unsigned)(word & LULL__RCU_DEPTH) + lull_load_relaxed(&thread->rcu_deep) + 1;
		if (lull_load_relaxed(&thread->state) & LULL__STATE_ONLINE)
			stall->depth--;
	}
	if (number_of(word) < held->oldest)
		held->oldest = number_of(word);
	held->count++;
}

/* Is no thread in a section, nor this one? See lull__is_alone(). */
static inline bool gp_nobody_reads(void)
{
	return lull__is_alone() && lull__self.rcu < LULL__RCU_STEP;
}

/* Does a caller that has unlinked something need no grace period? */
static inline bool gp_is_needless(void)
{
	/*
	 * ORDER THR-3: unlinking before the count of threads; pairs with THR-3 in link_record() and lull__thread_rise();
	 * without it as there; model/base/alone.litmus
	 */
	lull_fence_full();
	return gp_nobody_reads();
}

/* Is there a thread but this one whose sections may begin with a light fence? Ask after a full fence. */
static inline bool gp_wants_heavy(void)
{
	struct lull__registry_hold hold;
	struct lull__thread *thread;
	bool wants = false;

	if (lull__is_alone())
		return false;
	/* THR-1: a thread that is not there yet comes after this look, and finds nothing that was unlinked before. */
	lull__registry_enter(&hold);
	for (thread = lull__registry.next; !wants && thread != &lull__registry; thread = thread->next)
		/*
		 * ORDER RCU-12: whether a thread is online, or rests, before its word; pairs with RCU-12 in
		 * lull_rcu_online() and lull__thread_rest(); without it the scan misses an ordinary section
		 * from before; model/rcu/online.litmus
		 */
		wants = thread != &lull__self &&
			!(lull_load_acquire(&thread->state) & (LULL__STATE_ONLINE | LULL__STATE_RESTS));
	lull__registry_leave(&hold);
	return wants;
}

#endif /* LULL_HOLDOUTS_H */
