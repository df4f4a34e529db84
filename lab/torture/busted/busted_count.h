/* SPDX-License-Identifier: MIT */
/*
 * The faults of counts that are in inline code: what holds the references is compiled with this before
 * everything else. See busted.h.
 */
#ifndef LULL_BUSTED_COUNT_H
#define LULL_BUSTED_COUNT_H

#include <sched.h>

#include <lull/refcount.h>
#include <lull/detail/rseq.h>

#include "busted.h"

/*
 * lull__rseq_add(), unknown to the kernel as a restartable sequence. On x86 the addition is a single instruction and
 * only the look at the CPU's number can be too old by then; elsewhere it is three, and so it is here. To be preempted
 * in the middle takes luck, so now and then it asks for it.
 */
static inline bool lull__busted_rseq_add(const uintptr_t *where, intptr_t n, const int at)
{
#ifdef LULL__RSEQ
	static uint32_t calls;
	uintptr_t word;
	intptr_t *counter, old;
	int cpu;

	if (!LULL__BUSTED(PERCPU_NO_RESTART))
		return lull__rseq_add(where, n, at);
	word = lull_load_relaxed(where);
	cpu = sched_getcpu();
	if ((word & LULL__RSEQ_NOT) || cpu < 0)
		return false;
	counter = (intptr_t *)(word + ((uintptr_t)cpu << LULL__RSEQ_SHIFT) + (uintptr_t)at);
	old = lull_load_relaxed(counter);
	if (lull_add_relaxed(&calls, 1u) % 256 == 0)
		sched_yield();
	lull_store_relaxed(counter, old + n);
	return true;
#else
	return lull__rseq_add(where, n, at);
#endif
}

#define lull__rseq_add lull__busted_rseq_add

/* Any reference is as good as any other, so why ask? */
static inline bool lull__busted_inc_not_zero(struct lull_refcount *r)
{
	if (!LULL__BUSTED(HANDOFF_NO_CHECK))
		return lull_refcount_inc_not_zero(r);
	lull_refcount_inc(r);
	return true;
}

#define lull_refcount_inc_not_zero lull__busted_inc_not_zero

#endif
