/* SPDX-License-Identifier: MIT */
/*
 * percpu_ref.c - the rare half of percpu_ref.h: the shared count, and the switches between the two
 * ways to count.
 *
 * While counters are in use the shared count is BIAS too high, so that no put that comes here for any
 * reason (a sequence that was interrupted, a thread without rseq) takes it to zero. Such a thread only
 * has to add to the shared count: in either way of counting that is right.
 *
 * To shared: mark the word, end the sequences under way and fence (or wait for a grace period), add the
 * counters' sum and take the bias off. To counters: clear them, add the bias, then clear the mark. A
 * thread that kills, revives or switches a ref holds its lock; a switch that waits for a grace period has
 * released the lock and set `switching`, for which the next one waits.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include <lull/percpu_ref.h>

#include "../base/fault.h"
#include "../base/lock.h"
#include "../base/message.h"
#include "../base/process.h"
#include "../base/rseq_use.h"
#include "../rcu/section.h"
#include "percpu_cells.h"
#include "percpu_life.h"

#define BIAS	  ((intptr_t)1 << (sizeof(intptr_t) * CHAR_BIT - 2))
#define SATURATED (BIAS / 2) /* the count of a ref after misuse; as far from zero as from a bias */
#define KNOWN_FLAGS (LULL_PERCPU_REF_INIT_ATOMIC | LULL_PERCPU_REF_INIT_DEAD | LULL_PERCPU_REF_ALLOW_REINIT)
enum switching { WAITS_FOR_READERS = 1, ENDS = 2, STATE = 3 };

struct lull__percpu_data {
	struct lull__percpu cell; /* .chunk is NULL when the counters were given back */
	lull_percpu_ref_func release, confirm;
	struct lull_percpu_ref *ref;
	struct lull_head rcu; /* of the switch that waits for a grace period */
	struct lull__lock lock;
	intptr_t drops;	    /* references that the end of the switch drops */
	uint32_t switching; /* 0, or state_now() of the switch that is under way */
	uint32_t forks;	    /* process_forks when the lock was last taken; under mode.lock */
	bool may_reinit, stay_atomic;
};

static struct {
	struct lull__lock lock;
	bool decided, rseq;
} mode;

static uint32_t process_forks; /* from the first process to this one */

bool lull_percpu_ref_per_cpu(void)
{
	bool rseq;

	lull__init();
	lull__lock(&mode.lock);
	if (!mode.decided) {
		mode.rseq = lull__rseq_usable();
		mode.decided = true;
	}
	rseq = mode.rseq;
	lull__unlock(&mode.lock);
	return rseq;
}

/* ---- misuse ---------------------------------------------------------------------------------- */

/* Saturate @ref, whose count @count is wrong, and report it: it will not reach zero again. */
static void saturate(struct lull_percpu_ref *ref, const char *call, intptr_t count, const char *what)
{
	if (!lull_load_relaxed(&ref->data))
		lull__die("%s: percpu_ref %p is used after lull_percpu_ref_exit()", call, (void *)ref);
	lull_store_relaxed(&ref->count, SATURATED);
	lull__say("%s: percpu_ref %p had %lld references: %s. It is never released now", call, (void *)ref,
		  (long long)count, what);
}

static struct lull__percpu_data *data_of(struct lull_percpu_ref *ref, const char *call)
{
	struct lull__percpu_data *data = ref->data;

	if (!data)
		lull__die("%s: percpu_ref %p is used after lull_percpu_ref_exit()", call, (void *)ref);
	return data;
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

void lull__percpu_ref_get_slow(struct lull_percpu_ref *ref, intptr_t n)
{
	intptr_t old;

	if (add_in_threads(ref, n))
		return;
	old = lull_add_relaxed(&ref->count, n);
	if (lull_unlikely(old <= 0))
		saturate(ref, "lull_percpu_ref_get", old, "it was at its end");
}

/* Drop @n references from the shared count. Returns whether they were the last. */
static bool drop(struct lull_percpu_ref *ref, intptr_t n)
{
	/*
	 * ORDER REF-1: this thread's use of the object before its references are gone; pairs with
	 * REF-1 in drop() (the last put); without it the object is freed under a use that is still
	 * on its way; model/count/refcount-put.litmus
	 */
	intptr_t old = lull_add_release(&ref->count, -n);

	if (lull_likely(old > n))
		return false;
	if (lull_unlikely(old != n || old <= 0)) {
		saturate(ref, "lull_percpu_ref_put", old, "more were put than got");
		return false;
	}
	/*
	 * ORDER REF-1: the last put before the release; pairs with REF-1 in drop() (the puts before
	 * it); without it as there; model/count/refcount-put.litmus
	 */
	(void)lull_load_acquire(&ref->count);
	return true;
}

void lull__percpu_ref_put_slow(struct lull_percpu_ref *ref, intptr_t n)
{
	if (!add_in_threads(ref, -n) && drop(ref, n))
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

/* ---- switches -------------------------------------------------------------------------------- */

static intptr_t bias(void)
{
	return LULL__BUSTED(PERCPU_NO_BIAS) ? 0 : BIAS;
}

/* Add the process to @state: after a fork the thread that would end a switch may be the parent's. */
static uint32_t state_now(enum switching state)
{
	return (process_forks << 2) | (uint32_t)state;
}

static bool is_of_parent(uint32_t switching)
{
	return switching >> 2 != (process_forks & (UINT32_MAX >> 2));
}

/* Wait for a switch that waits for a grace period, and for its turn in the reclaimer. */
static void await_readers(const char *call)
{
	lull__rcu_no_section(call);
	if (lull__self.callback_depth)
		lull__die("%s in a callback would wait for itself for ever: the last switch of this "
			  "percpu_ref is not over", call);
	lull_rcu_barrier();
}

/*
 * Take the lock of @data. A thread of the parent's may have held it at the fork. Every thread of this
 * process takes it here, so the first one in each process can make it free.
 *
 *	parent's thread		forking thread		child
 *	takes the lock
 *				fork
 *							ends a switch: waits for the lock, for ever
 */
static void lock_data(struct lull__percpu_data *data)
{
	lull__lock(&mode.lock);
	if (data->forks != process_forks) {
		data->forks = process_forks;
		data->lock.word = 0;
	}
	lull__unlock(&mode.lock);
	lull__lock(&data->lock);
}

/* Take the lock of @ref at a time when no switch is under way. */
static struct lull__percpu_data *begin_change(struct lull_percpu_ref *ref, const char *call)
{
	struct lull__percpu_data *data = data_of(ref, call);
	bool waited = false;
	uint32_t switching;

	lull__init();
	for (;;) {
		lock_data(data);
		switching = lull_load_relaxed(&data->switching);
		if (lull_likely(!switching))
			return data;
		if (waited && is_of_parent(switching)) {
			lull_store_relaxed(&data->switching, 0);
			return data;
		}
		lull__unlock(&data->lock);
		if ((switching & STATE) == WAITS_FOR_READERS)
			await_readers(call);
		else if (!is_of_parent(switching))
			lull__futex_wait(&data->switching, switching, LULL__NEVER);
		waited = true;
	}
}

/* Add the counters, to which no thread adds any more, to the shared count. The switch then drops @drops. */
static void fold(struct lull_percpu_ref *ref, intptr_t drops)
{
	struct lull__percpu_data *data = ref->data;
	intptr_t rest = lull__percpu_sum(&data->cell) - bias();
	intptr_t count = lull_add_relaxed(&ref->count, rest) + rest;

	if (lull_unlikely(count < drops))
		saturate(ref, "lull_percpu_ref_put", count - 1, "more were put than got");
	if (!data->may_reinit)
		lull__percpu_free(&data->cell);
}

/* End a switch: the shared count is in use, and the lock is free. @ref may be gone afterwards. */
static void end_switch(struct lull_percpu_ref *ref, lull_percpu_ref_func confirm, intptr_t drops)
{
	if (confirm)
		confirm(ref);
	if (drops && drop(ref, drops))
		ref->data->release(ref);
}

static void switch_after_grace_period(struct lull_head *head)
{
	struct lull__percpu_data *data = lull_container_of(head, struct lull__percpu_data, rcu);
	struct lull_percpu_ref *ref = data->ref;
	bool last;

	fold(ref, data->drops);
	if (data->confirm)
		data->confirm(ref);
	/*
	 * The last use of the ref, unless this drop is the last. lull_percpu_ref_exit(), which the
	 * thread that puts the last reference may call, waits until `switching` is 0.
	 */
	lull_store_relaxed(&data->switching, state_now(ENDS));
	last = drop(ref, data->drops);
	lock_data(data);
	lull_store_relaxed(&data->switching, 0);
	lull__unlock(&data->lock);
	lull__futex_wake(&data->switching, INT_MAX);
	if (last)
		data->release(ref);
}

/*
 * Set @marks in the word, switch to the shared count, call @confirm, and drop @owners references: those
 * and the one of the switch itself at once, so that the ref exists until then and no longer. Releases
 * the lock; @ref may be gone afterwards.
 */
static void to_shared(struct lull_percpu_ref *ref, uintptr_t marks, lull_percpu_ref_func confirm, intptr_t owners)
{
	struct lull__percpu_data *data = ref->data;
	uintptr_t word = ref->word;
	bool shared = word & LULL__PERCPU_REF_ATOMIC;

	/* A shared count needs no switch, and may be zero: then the ref was released. */
	if (!shared)
		lull_add_relaxed(&ref->count, 1);
	/*
	 * ORDER PCR-1: the mark before the sum; pairs with PCR-1 in add_in_threads() and
	 * lull__rseq_add(); without it an addition to a counter that was summed up already is lost;
	 * model/count/percpu-ref-kill.tpl
	 */
	lull_store_relaxed(&ref->word, word | marks);
	if (shared) {
		lull__unlock(&data->lock);
		end_switch(ref, confirm, owners);
	} else if (word & LULL__PERCPU_REF_THREADS) {
		data->confirm = confirm;
		data->drops = owners + 1;
		data->ref = ref;
		lull_store_relaxed(&data->switching, state_now(WAITS_FOR_READERS));
		lull__unlock(&data->lock);
		lull_rcu_call(&data->rcu, switch_after_grace_period);
	} else {
		if (!LULL__BUSTED(PERCPU_NO_BARRIER))
			lull__rseq_barrier(); /* PCR-1: in between */
		fold(ref, owners + 1);
		lull__unlock(&data->lock);
		end_switch(ref, confirm, owners + 1);
	}
}

/* Switch to counters, unless the shared count was asked for or the ref is dead. Under the lock. */
static void to_counters(struct lull_percpu_ref *ref, const char *call)
{
	struct lull__percpu_data *data = ref->data;

	if (data->stay_atomic || !(ref->word & LULL__PERCPU_REF_ATOMIC) || (ref->word & LULL__PERCPU_REF_DEAD))
		return;
	if (lull_unlikely(lull_load_relaxed(&ref->count) <= 0)) {
		saturate(ref, call, lull_load_relaxed(&ref->count), "it was at its end");
		return;
	}
	lull__percpu_zero(&data->cell);
	lull_add_relaxed(&ref->count, bias());
	/*
	 * ORDER PCR-2: the bias before the word; pairs with PCR-2 in add_in_threads() and
	 * lull__rseq_add() (there by the way in which the reference is passed on); without it a put
	 * on the shared count takes that to zero while references are in the counters;
	 * model/count/percpu-ref-bias.litmus
	 *
	 * ORDER PCR-3: the cleared counters before the word; pairs with PCR-3 in add_in_threads() and
	 * lull__rseq_add() (there by the dependency); without it as there;
	 * model/count/percpu-ref-reinit.litmus
	 */
	lull_store_release(&ref->word, (uintptr_t)data->cell.first | (ref->word & LULL__PERCPU_REF_THREADS));
}

/* ---- life ------------------------------------------------------------------------------------ */

int lull_percpu_ref_init(struct lull_percpu_ref *ref, lull_percpu_ref_func release, unsigned flags)
{
	struct lull__percpu_data *data;
	bool dead = flags & LULL_PERCPU_REF_INIT_DEAD;

	if (!release || (flags & ~(unsigned)KNOWN_FLAGS))
		return -EINVAL;
	data = calloc(1, sizeof(*data));
	if (!data)
		return -ENOMEM;
	if (!lull__percpu_alloc(&data->cell)) {
		free(data);
		return -ENOMEM;
	}
	data->release = release;
	data->may_reinit = flags != 0;
	data->stay_atomic = flags & LULL_PERCPU_REF_INIT_ATOMIC;
	ref->data = data;
	ref->count = dead ? 0 : 1;
	ref->word = LULL__PERCPU_REF_ATOMIC;
	if (dead)
		ref->word |= LULL__PERCPU_REF_DEAD;
	if (!lull_percpu_ref_per_cpu())
		ref->word |= LULL__PERCPU_REF_THREADS;
	to_counters(ref, "lull_percpu_ref_init");
	return 0;
}

void lull_percpu_ref_exit(struct lull_percpu_ref *ref)
{
	struct lull__percpu_data *data = ref->data;

	if (!data) {
		/* In a zeroed struct the word would lead to counters at address 0. */
		lull_store_relaxed(&ref->word, LULL__PERCPU_REF_ATOMIC | LULL__PERCPU_REF_DEAD);
		return;
	}
	begin_change(ref, "lull_percpu_ref_exit");
	lull__unlock(&data->lock);
	lull_store_relaxed(&ref->word, LULL__PERCPU_REF_ATOMIC | LULL__PERCPU_REF_DEAD);
	lull_store_relaxed(&ref->count, 0);
	lull_store_relaxed(&ref->data, NULL);
	if (data->cell.chunk)
		lull__percpu_free(&data->cell);
	free(data);
}

void lull_percpu_ref_kill_and_confirm(struct lull_percpu_ref *ref, lull_percpu_ref_func confirm)
{
	begin_change(ref, "lull_percpu_ref_kill");
	if (lull_percpu_ref_is_dying(ref))
		lull__die("lull_percpu_ref_kill: percpu_ref %p was killed before", (void *)ref);
	to_shared(ref, LULL__PERCPU_REF_ATOMIC | LULL__PERCPU_REF_DEAD, confirm, 1);
}

void lull_percpu_ref_kill(struct lull_percpu_ref *ref)
{
	lull_percpu_ref_kill_and_confirm(ref, NULL);
}

static void resurrect(struct lull_percpu_ref *ref, const char *call, bool from_zero)
{
	struct lull__percpu_data *data = begin_change(ref, call);

	if (!data->may_reinit)
		lull__die("%s: percpu_ref %p was not made with LULL_PERCPU_REF_ALLOW_REINIT", call, (void *)ref);
	if (!lull_percpu_ref_is_dying(ref))
		lull__die("%s: percpu_ref %p was not killed", call, (void *)ref);
	if (from_zero && !lull_percpu_ref_is_zero(ref))
		lull__die("%s: percpu_ref %p still has references", call, (void *)ref);
	lull_add_relaxed(&ref->count, 1);
	lull_store_relaxed(&ref->word, ref->word & ~LULL__PERCPU_REF_DEAD);
	to_counters(ref, call);
	lull__unlock(&data->lock);
}

void lull_percpu_ref_reinit(struct lull_percpu_ref *ref)
{
	resurrect(ref, "lull_percpu_ref_reinit", true);
}

void lull_percpu_ref_resurrect(struct lull_percpu_ref *ref)
{
	resurrect(ref, "lull_percpu_ref_resurrect", false);
}

void lull_percpu_ref_switch_to_atomic(struct lull_percpu_ref *ref, lull_percpu_ref_func confirm)
{
	begin_change(ref, "lull_percpu_ref_switch_to_atomic")->stay_atomic = true;
	to_shared(ref, LULL__PERCPU_REF_ATOMIC, confirm, 0);
}

void lull_percpu_ref_switch_to_atomic_sync(struct lull_percpu_ref *ref)
{
	struct lull__percpu_data *data;
	bool held;

	lull__rcu_no_section("lull_percpu_ref_switch_to_atomic_sync");
	/* A thread that waits for the switch needs the ref. At zero there is no switch to wait for. */
	held = lull__percpu_ref_tryget_slow(ref, 1);
	lull_percpu_ref_switch_to_atomic(ref, NULL);
	if (!held)
		return;
	data = begin_change(ref, "lull_percpu_ref_switch_to_atomic_sync");
	lull__unlock(&data->lock);
	lull__percpu_ref_put_slow(ref, 1);
}

void lull_percpu_ref_switch_to_percpu(struct lull_percpu_ref *ref)
{
	struct lull__percpu_data *data = begin_change(ref, "lull_percpu_ref_switch_to_percpu");

	if (!data->may_reinit)
		lull__die("lull_percpu_ref_switch_to_percpu: percpu_ref %p was not made with "
			  "LULL_PERCPU_REF_ALLOW_REINIT", (void *)ref);
	data->stay_atomic = false;
	to_counters(ref, "lull_percpu_ref_switch_to_percpu");
	lull__unlock(&data->lock);
}

void lull__percpu_ref_fork_child(uint32_t old_tid)
{
	(void)old_tid;
	mode.lock.word = 0;
	process_forks++;
	if (mode.rseq)
		lull__rseq_fork_child();
}
