/* SPDX-License-Identifier: MIT */
/* The faults that take more than leaving something out; see busted.h. */
#include "internal.h"

enum lull__busted lull__busted;

/* More threads than that share an entry, which makes the fault worse, not better. */
#define SEEN_THREADS 1024

static uint64_t seen[SEEN_THREADS];

/*
 * On x86 a load is an acquire whether one asks for it or not, so that dropping the order changes
 * nothing that can be seen. What the language allows for such a load is an older value than the
 * newest; so that is what this gives, where it does harm: a thread that was outside when the scan
 * before looked at it is outside for this one.
 */
static uint64_t stale(const struct lull__thread *thread, uint64_t word)
{
	uint64_t *slot = &seen[(uintptr_t)thread / sizeof(*thread) % SEEN_THREADS];
	uint64_t old = *slot;

	*slot = word;
	return old < LULL__RCU_STEP ? old : word;
}

uint64_t lull__busted_word(const struct lull__thread *thread, uint64_t word)
{
	switch (lull__busted) {
	case LULL__BUSTED_NO_ACQUIRE:
		return stale(thread, word);
	case LULL__BUSTED_SKIP_QUIESCENT:
		return lull_load_relaxed(&thread->state) & LULL__STATE_ONLINE ? 0 : word;
	case LULL__BUSTED_ONE_RECORD_MISSED:
		return thread->next == &lull__registry ? 0 : word;
	default:
		return word;
	}
}

/*
 * In the place of lull__rcu_cookie() where something that was deferred asks for a grace period:
 * cookie 0 is always over.
 */
lull_rcu_cookie lull__busted_cookie(void)
{
	return LULL__BUSTED(EARLY_CALLBACK) ? 0 : lull__rcu_cookie();
}

#define LINGER_NS 200000

/* Not nanosleep(), at which threads can be cancelled. */
void lull__busted_linger(void)
{
	uint32_t word = 0;

	lull__futex_wait(&word, 0, LINGER_NS);
}
