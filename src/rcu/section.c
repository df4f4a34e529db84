/* SPDX-License-Identifier: MIT */
/*
 * section.c - the rare parts of a read section, and quiescent-state threads.
 */
#include <limits.h>

#include "../base/hooks.h"
#include "../base/message.h"
#include "../base/registry.h"
#include "section.h"

uint64_t lull__rcu_gp __attribute__((aligned(LULL__CACHELINE))) = LULL__RCU_STEP;
uint32_t lull__rcu_event __attribute__((aligned(LULL__CACHELINE)));

/* Wake the grace period that sleeps until the calling thread has left its section. */
void lull__rcu_wake(void)
{
	lull_and_relaxed(&lull__self.flags, ~LULL__FLAG_RCU_WAITED);
	/*
	 * ORDER RCU-1: the flag's clearing before the event; pairs with RCU-1 in
	 * gp_wait_holdouts(); without it the leader takes a flag for set that is being cleared and
	 * sleeps; model/rcu/event.tpl
	 */
	lull_add_release(&lull__rcu_event, 1u);
	lull__futex_wake(&lull__rcu_event, INT_MAX);
}

/* ---- threads that are not registered -------------------------------------------------------- */

/* Enter a read section of a thread past its exit handling, which is in the registry only for that section. */
static void enter_late(void)
{
	sigset_t saved;

	lull__record_enter(&saved);
	lull__record_link_late();
	/*
	 * Within the lock: a handler that reads from now on nests, and does not take the record out
	 * when it leaves. Relaxed, for the scan takes the lock too: THR-2 instead of RCU-4.
	 */
	lull_store_relaxed(&lull__self.rcu, lull_load_relaxed(&lull__rcu_gp) | LULL__RCU_SLOW);
	lull__record_leave(&saved);
	lull_fence_light(); /* RCU-2 */
}

static void leave_late(void)
{
	sigset_t saved;

	lull__record_enter(&saved);
	lull__record_unlink_late();
	lull__record_leave(&saved);
}

/*
 * Enter a read section out of line: for threads that are not registered, for all threads if light fences
 * are real ones, and to abort if a thread nests too deep.
 */
void lull__rcu_read_lock_slow(void)
{
	struct lull__thread *self = &lull__self;

	if (!(self->rcu & LULL__RCU_REST))
		lull__misuse("lull_rcu_read_lock: nested too deep; is an unlock missing?");
	lull__ensure_registered();
	if (self->state & LULL__STATE_EXITED) {
		enter_late();
		return;
	}
	/*
	 * RCU-4 and RCU-2 as in lull_rcu_read_lock(), with a full fence if light fences are real ones. The
	 * word then rests at a value that is not 0, so the unlock must go out of line as well.
	 */
	lull_store_release(&self->rcu, lull_load_relaxed(&lull__rcu_gp) | (self->rcu ? LULL__RCU_SLOW : 0));
	lull_fence_light();
}

void lull__rcu_read_unlock_slow(void)
{
	struct lull__thread *self = &lull__self;

	if (self->rcu & LULL__RCU_REST)
		lull__misuse("lull_rcu_read_unlock: not in a read section");
	/* RCU-3 and RCU-5 as in lull_rcu_read_unlock(), with a full fence. */
	lull_store_release(&self->rcu, (uint64_t)LULL__RCU_REST);
	lull_fence_light();
	if (lull_nonzero_relaxed(&self->flags))
		lull__rcu_wake();
	if (self->state & LULL__STATE_EXITED)
		leave_late();
}

/* Abort from the inline code of rcu.h. */
void lull__rcu_misuse(const char *what)
{
	lull__misuse("%s", what);
}

#ifdef LULL_DEBUG
void lull__rcu_check_section(const char *what)
{
	if (lull_unlikely(!lull_rcu_read_lock_held()))
		lull__misuse("%s: outside a read section", what);
}
#endif

/* ---- is the calling thread in a section? ----------------------------------------------------- */

static bool in_section(void)
{
	struct lull__thread *self = &lull__self;

	if (self->state & LULL__STATE_ONLINE)
		return (self->rcu & LULL__RCU_DEPTH) != 0;
	return self->rcu >= LULL__RCU_STEP;
}

void lull__rcu_no_section(const char *call)
{
	if (lull_unlikely(in_section()))
		lull__misuse("%s in a read section would wait for itself for ever; section entered at %p", call,
			     lull__self.rcu_site);
}

void lull__rcu_thread_exit(void)
{
	struct lull__thread *self = &lull__self;

	if (self->rcu < LULL__RCU_STEP)
		return;
	if (in_section())
		lull__say("%s exits in a read section (depth %u); the section ends here", lull__thread_words(self->tid).text,
			  (unsigned)(self->rcu & LULL__RCU_DEPTH) + 1);
	lull_store_relaxed(&self->state, self->state & ~LULL__STATE_ONLINE);
	/* RCU-3, RCU-5: an unlock. */
	lull_store_release(&self->rcu, (uint64_t)LULL__RCU_REST);
	lull_fence_light();
	if (lull_nonzero_relaxed(&self->flags))
		lull__rcu_wake();
}

/* ---- quiescent-state threads ---------------------------------------------------------------- */

void lull__rcu_enter_online(void)
{
	/* RCU-4 and RCU-2 as in lull_rcu_read_lock(). */
	lull_store_release(&lull__self.rcu, lull_load_relaxed(&lull__rcu_gp));
	lull_fence_light();
}

void lull__rcu_leave_online(void)
{
	/* RCU-3 and RCU-5 as in lull_rcu_read_unlock(). */
	lull_store_release(&lull__self.rcu, lull__rest_word());
	lull_fence_light();
	if (lull_nonzero_relaxed(&lull__self.flags))
		lull__rcu_wake();
}

void lull_rcu_online(void)
{
	lull_thread_register();
	if (lull__self.state & LULL__STATE_EXITING)
		lull__misuse("lull_rcu_online: thread is exiting");
	if (lull__self.rcu >= LULL__RCU_STEP)
		lull__misuse("lull_rcu_online: online already, or in a read section");
	lull_store_relaxed(&lull__self.state, lull__self.state | LULL__STATE_ONLINE);
	lull__rcu_enter_online();
}

static void check_online(const char *outside, const char *nested)
{
	if (!(lull__self.state & LULL__STATE_ONLINE))
		lull__misuse("%s", outside);
	if (in_section())
		lull__misuse("%s", nested);
}

void lull_rcu_offline(void)
{
	check_online("lull_rcu_offline: not online", "lull_rcu_offline: in a read section");
	lull_store_relaxed(&lull__self.state, lull__self.state & ~LULL__STATE_ONLINE);
	lull__rcu_leave_online();
}

void lull__rcu_quiescent_slow(uint64_t number)
{
	check_online("lull_rcu_quiescent: not online", "lull_rcu_quiescent: in a read section");
	/*
	 * ORDER RCU-10: all loads until now before the new number; pairs with RCU-3 in gp_scan();
	 * without it an object is freed that was read before the quiescent state;
	 * model/rcu/quiescent.tpl
	 */
	lull_store_release(&lull__self.rcu, number);
	/* RCU-2 for the next loads, RCU-5 for the flag. */
	lull_fence_light();
	if (lull_nonzero_relaxed(&lull__self.flags))
		lull__rcu_wake();
}

/* Prepare the calling thread for unregistering in @call: abort in a section, go offline. */
void lull__rcu_unregister(const char *call)
{
	lull__rcu_no_section(call);
	if (lull__self.state & LULL__STATE_ONLINE)
		lull_rcu_offline();
}
