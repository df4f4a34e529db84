/* SPDX-License-Identifier: MIT */
/*
 * percpu_ref.c - the rare half of gets and puts of percpu_ref.h: the shared count, counters of threads,
 * misuse. percpu_switch.c switches between the two ways to count.
 *
 * While counters are in use the shared count is far too high (a bias), so that no put that comes here for
 * any reason (a sequence that was interrupted, a thread without rseq) takes it to zero. Such a thread only
 * has to add to the shared count: in either way of counting that is right.
 */
#include <lull/percpu_ref.h>

#include "../base/message.h"
#include "../rcu/section.h"
#include "percpu_cells.h"
#include "percpu_switch.h"

#define SATURATED (LULL__PERCPU_REF_BIAS / 2) /* the count of a ref after misuse; as far from zero as from a bias */

/* ---- misuse ---------------------------------------------------------------------------------- */

void lull__percpu_ref_saturate(struct lull_percpu_ref *ref, const char *call, intptr_t count, const char *what)
{
	if (!lull_load_relaxed(&ref->data))
		lull__die("%s: percpu_ref %p is used after lull_percpu_ref_exit()", call, (void *)ref);
	lull_store_relaxed(&ref->count, SATURATED);
	lull__say("%s: percpu_ref %p had %lld references: %s. It will never be released", call, (void *)ref,
		  (long long)count, what);
}

/* ---- get and put ----------------------------------------------------------------------------- */

/* Add @n to this thread's counter. Returns false if threads have no counters, or these are not in use. */
static bool add_in_threads(struct lull_percpu_ref *ref, intptr_t n)
{
	uintptr_t word = lull_load_relaxed(&ref->word), cpu;

	if (!(word & LULL__PERCPU_REF_THREADS) || (word & LULL__PERCPU_REF_ATOMIC))
		return false;
	lull_rcu_read_lock();
	/*
	 * ORDER PCR-2: the word before all that is done with a reference got here; pairs with PCR-2
	 * in to_counters(); without it as there; model/count/percpu-ref-bias.litmus
	 *
	 * ORDER PCR-3: the word before the counter; pairs with PCR-3 in to_counters(); without it
	 * an addition is wiped out by the clearing that it came after; model/count/percpu-ref-reinit.litmus
	 */
	word = lull_load_acquire(&ref->word);
	if (!(word & LULL__PERCPU_REF_ATOMIC)) {
		cpu = lull__self.tid % lull__percpu_count();
		lull_add_relaxed((intptr_t *)(word - LULL__PERCPU_REF_THREADS + (cpu << LULL__RSEQ_SHIFT)), n);
	}
	/* PCR-1: in the section, so before the end of the grace period that follows the mark. */
	lull_rcu_read_unlock();
	return !(word & LULL__PERCPU_REF_ATOMIC);
}

/* May the count of @ref be zero, and go up again? Not when it was killed, nor after exit. */
static bool may_rest(const struct lull_percpu_ref *ref)
{
	return !lull_percpu_ref_is_dying(ref) && lull_load_relaxed(&ref->data)->may_reinit;
}

void lull__percpu_ref_get_slow(struct lull_percpu_ref *ref, intptr_t n)
{
	intptr_t old;

	if (add_in_threads(ref, n))
		return;
	old = lull_add_relaxed(&ref->count, n);
	if (lull_unlikely(old <= 0) && (old < 0 || !may_rest(ref)))
		lull__percpu_ref_saturate(ref, "lull_percpu_ref_get", old, "it was at its end");
}

bool lull__percpu_ref_drop(struct lull_percpu_ref *ref, intptr_t n)
{
	/*
	 * ORDER REF-1: this thread's use of the object before its references are gone; pairs with
	 * REF-1 in lull__percpu_ref_drop() (the last put); without it the object is freed under a use
	 * that is still on its way; model/count/refcount-put.litmus
	 */
	intptr_t old = lull_add_release(&ref->count, -n);

	if (lull_likely(old > n))
		return false;
	if (lull_unlikely(old != n || old <= 0)) {
		lull__percpu_ref_saturate(ref, "lull_percpu_ref_put", old, "more were put than got");
		return false;
	}
	/*
	 * ORDER REF-1: the last put before the release; pairs with REF-1 in lull__percpu_ref_drop()
	 * (the puts before it); without it as there; model/count/refcount-put.litmus
	 */
	(void)lull_load_acquire(&ref->count);
	lull__tsan_acquire(ref);
	return true;
}

void lull__percpu_ref_put_slow(struct lull_percpu_ref *ref, intptr_t n)
{
	if (!add_in_threads(ref, -n) && lull__percpu_ref_drop(ref, n))
		ref->data->release(ref);
}

static bool count_not_zero(struct lull_percpu_ref *ref, intptr_t n)
{
	intptr_t old = lull_load_relaxed(&ref->count);

	do {
		if (old <= 0)
			return false;
	} while (!lull_cas_relaxed(&ref->count, &old, old + n));
	return true;
}

bool lull__percpu_ref_tryget_slow(struct lull_percpu_ref *ref, intptr_t n)
{
	return add_in_threads(ref, n) || count_not_zero(ref, n);
}

bool lull__percpu_ref_tryget_live_slow(struct lull_percpu_ref *ref, intptr_t n)
{
	return add_in_threads(ref, n) || (!lull_percpu_ref_is_dying(ref) && count_not_zero(ref, n));
}

bool lull_percpu_ref_is_zero(const struct lull_percpu_ref *ref)
{
	uintptr_t word = lull_load_relaxed(&ref->word);

	return (word & (LULL__PERCPU_REF_ATOMIC | LULL__PERCPU_REF_DEAD)) && lull_load_relaxed(&ref->count) == 0;
}
