/* SPDX-License-Identifier: MIT */
/*
 * percpu_switch.c - the life of a percpu_ref, and the switches between its two ways to count.
 *
 * To shared: mark the word, end the sequences under way and fence (or wait for a grace period), add the
 * counters' sum and take the bias off. To counters: clear them, add the bias, then clear the mark. A
 * thread that kills, revives or switches a ref holds its lock; a switch that waits for a grace period has
 * released the lock and set `switching`, for which the next one waits. Many kills at once hold the locks of
 * their refs together, so they only try to take each.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include <lull/percpu_ref.h>

#include "../base/callback.h"
#include "../base/fault.h"
#include "../base/message.h"
#include "../base/process.h"
#include "../base/rseq_use.h"
#include "../rcu/section.h"
#include "percpu_cells.h"
#include "percpu_life.h"
#include "percpu_switch.h"

#define GROUP  512 /* refs that are killed with one barrier; as many bytes on the stack */
#define KILLED (LULL__PERCPU_REF_ATOMIC | LULL__PERCPU_REF_DEAD)
#define KNOWN_FLAGS (LULL_PERCPU_REF_INIT_ATOMIC | LULL_PERCPU_REF_INIT_DEAD | LULL_PERCPU_REF_ALLOW_REINIT)
enum switching { WAITS_FOR_READERS = 1, ENDS = 2, STATE = 3 };

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

static struct lull__percpu_data *data_of(struct lull_percpu_ref *ref, const char *call)
{
	struct lull__percpu_data *data = ref->data;

	if (!data)
		lull__die("%s: percpu_ref %p is used after lull_percpu_ref_exit()", call, (void *)ref);
	return data;
}

/* ---- switches -------------------------------------------------------------------------------- */

static intptr_t bias(void)
{
	return LULL__BUSTED(PERCPU_NO_BIAS) ? 0 : LULL__PERCPU_REF_BIAS;
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
		lull__die("%s in %s would wait for itself for ever: another switch of this percpu_ref is not over",
			  call, lull__where_called_back());
	lull_rcu_barrier();
}

/*
 * Release @data's lock if a thread of the parent held it at the fork. Every thread of this process that takes the lock
 * calls this first, so the first one in each process does it.
 *
 *	parent's thread		forking thread		child
 *	takes the lock
 *				fork
 *							ends a switch: waits for the lock, for ever
 */
static void free_of_parent(struct lull__percpu_data *data)
{
	lull__lock(&mode.lock);
	if (data->forks != process_forks) {
		data->forks = process_forks;
		data->lock.word = 0;
	}
	lull__unlock(&mode.lock);
}

static void lock_data(struct lull__percpu_data *data)
{
	free_of_parent(data);
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
		lull__percpu_ref_saturate(ref, "lull_percpu_ref_put", count - 1, "more were put than got");
	if (!data->may_reinit)
		lull__percpu_free(&data->cell);
}

/* End a switch: the shared count is in use, and the lock is free. @ref may be gone afterwards. */
static void end_switch(struct lull_percpu_ref *ref, lull_percpu_ref_func confirm, intptr_t drops)
{
	lull__tsan_acquire(ref);
	if (confirm)
		confirm(ref);
	if (drops && lull__percpu_ref_drop(ref, drops))
		ref->data->release(ref);
}

static void switch_after_grace_period(struct lull_head *head)
{
	struct lull__percpu_data *data = lull_container_of(head, struct lull__percpu_data, rcu);
	struct lull_percpu_ref *ref = data->ref;
	bool last;

	fold(ref, data->drops);
	lull__tsan_acquire(ref);
	if (data->confirm)
		data->confirm(ref);
	/*
	 * The last use of the ref, unless this drop is the last. lull_percpu_ref_exit(), which the
	 * thread that puts the last reference may call, waits until `switching` is 0.
	 */
	lull_store_relaxed(&data->switching, state_now(ENDS));
	last = lull__percpu_ref_drop(ref, data->drops);
	lock_data(data);
	lull_store_relaxed(&data->switching, 0);
	lull__unlock(&data->lock);
	lull__futex_wake(&data->switching, INT_MAX);
	if (last)
		data->release(ref);
}

/* Set @marks in the word. A ref that still has counters gets a reference that lasts until end_switch(). */
static void set_marks(struct lull_percpu_ref *ref, uintptr_t marks)
{
	uintptr_t word = ref->word;

	/* A shared count needs no switch, and may be zero: then the ref was released. */
	if (!(word & LULL__PERCPU_REF_ATOMIC))
		lull_add_relaxed(&ref->count, 1);
	/*
	 * ORDER PCR-1: the mark before the sum; pairs with PCR-1 in add_in_threads() and
	 * lull__rseq_add(); without it an addition to a counter that was summed up already is lost;
	 * model/count/percpu-ref-kill.tpl
	 */
	lull_store_relaxed(&ref->word, word | marks);
}

/*
 * Set @marks in the word, switch to the shared count, call @confirm, and drop @owners references: those
 * and the one of the switch itself at once, so that the ref exists until then and no longer. Releases
 * the lock; @ref may be gone afterwards. Returns whether that is over: else the reclaimer does it.
 */
static bool to_shared(struct lull_percpu_ref *ref, uintptr_t marks, lull_percpu_ref_func confirm, intptr_t owners)
{
	struct lull__percpu_data *data = ref->data;
	uintptr_t word = ref->word;
	bool shared = word & LULL__PERCPU_REF_ATOMIC;

	set_marks(ref, marks);
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
		return false;
	} else {
		if (!LULL__BUSTED(PERCPU_NO_BARRIER))
			lull__rseq_barrier(); /* PCR-1: in between */
		fold(ref, owners + 1);
		lull__unlock(&data->lock);
		end_switch(ref, confirm, owners + 1);
	}
	return true;
}

/* Switch to counters, unless the shared count was asked for or the ref is dead. It may be zero. Under the lock. */
static void to_counters(struct lull_percpu_ref *ref)
{
	struct lull__percpu_data *data = ref->data;

	if (data->stay_atomic || !(ref->word & LULL__PERCPU_REF_ATOMIC) || (ref->word & LULL__PERCPU_REF_DEAD))
		return;
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
	to_counters(ref);
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

static void must_live(const struct lull_percpu_ref *ref, const char *call)
{
	if (lull_percpu_ref_is_dying(ref))
		lull__die("%s: percpu_ref %p was killed before", call, (const void *)ref);
}

void lull_percpu_ref_kill_and_confirm(struct lull_percpu_ref *ref, lull_percpu_ref_func confirm)
{
	begin_change(ref, "lull_percpu_ref_kill");
	must_live(ref, "lull_percpu_ref_kill");
	to_shared(ref, KILLED, confirm, 1);
}

void lull_percpu_ref_kill(struct lull_percpu_ref *ref)
{
	lull_percpu_ref_kill_and_confirm(ref, NULL);
}

/*
 * Take the lock of @ref and mark it killed, if it counts by restartable sequences and no other thread is changing it:
 * never wait, as the caller holds other refs' locks. Returns whether it did. (`switching` is 0 here: switches wait for
 * grace periods only where threads have the counters.)
 */
static bool begin_kill(struct lull_percpu_ref *ref)
{
	struct lull__percpu_data *data = data_of(ref, "lull_percpu_ref_kill_many");

	must_live(ref, "lull_percpu_ref_kill_many"); /* before the lock, which this call may hold: twice in the array */
	free_of_parent(data);
	if (!lull__trylock(&data->lock))
		return false;
	if (ref->word & (LULL__PERCPU_REF_ATOMIC | LULL__PERCPU_REF_THREADS)) {
		lull__unlock(&data->lock);
		return false;
	}
	set_marks(ref, KILLED);
	return true;
}

/*
 * Kill @n <= GROUP refs: what to_shared() does to one, in step. All marks come before the barrier and all sums
 * after it (PCR-1). The user's functions run when no lock is held; each may free its ref.
 */
static void kill_group(struct lull_percpu_ref *const *refs, size_t n)
{
	bool begun[GROUP], any = false;
	struct lull__percpu_data *data;
	size_t i;

	for (i = 0; i < n; i++) {
		begun[i] = begin_kill(refs[i]);
		any |= begun[i];
	}
	if (any && !LULL__BUSTED(PERCPU_NO_BARRIER))
		lull__rseq_barrier(); /* PCR-1: in between */
	for (i = 0; i < n; i++) {
		if (!begun[i])
			continue;
		data = refs[i]->data;
		fold(refs[i], 2);
		lull__unlock(&data->lock);
	}
	for (i = 0; i < n; i++) {
		if (begun[i])
			end_switch(refs[i], NULL, 2);
	}
	/* These need no barrier, or have to wait for a thread that may itself wait for a release above. */
	for (i = 0; i < n; i++) {
		if (!begun[i])
			lull_percpu_ref_kill(refs[i]);
	}
}

void lull_percpu_ref_kill_many(struct lull_percpu_ref *const *refs, size_t n)
{
	size_t group;

	lull__init();
	for (; n; refs += group, n -= group) {
		group = n < GROUP ? n : GROUP;
		kill_group(refs, group);
	}
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
	to_counters(ref);
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

static bool switch_to_shared(struct lull_percpu_ref *ref, lull_percpu_ref_func confirm)
{
	begin_change(ref, "lull_percpu_ref_switch_to_atomic")->stay_atomic = true;
	return to_shared(ref, LULL__PERCPU_REF_ATOMIC, confirm, 0);
}

void lull_percpu_ref_switch_to_atomic(struct lull_percpu_ref *ref, lull_percpu_ref_func confirm)
{
	switch_to_shared(ref, confirm);
}

void lull_percpu_ref_switch_to_atomic_sync(struct lull_percpu_ref *ref)
{
	lull__rcu_no_section("lull_percpu_ref_switch_to_atomic_sync");
	/* The ref may be gone when the switch is over: if that drops the last reference. */
	if (!switch_to_shared(ref, NULL))
		await_readers("lull_percpu_ref_switch_to_atomic_sync");
}

void lull_percpu_ref_switch_to_percpu(struct lull_percpu_ref *ref)
{
	struct lull__percpu_data *data = begin_change(ref, "lull_percpu_ref_switch_to_percpu");

	if (!data->may_reinit)
		lull__die("lull_percpu_ref_switch_to_percpu: percpu_ref %p was not made with "
			  "LULL_PERCPU_REF_ALLOW_REINIT", (void *)ref);
	data->stay_atomic = false;
	to_counters(ref);
	lull__unlock(&data->lock);
}

void lull__percpu_ref_fork_child(uint32_t old_tid)
{
	(void)old_tid;
	mode.lock.word = 0;
	process_forks++;
}
