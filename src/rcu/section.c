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
	lull_and_relaxed(&lull__self.flags, ~(LULL__FLAG_RCU_WAITED | LULL__FLAG_OWES));
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
	lull_fence_light(); /* RCU-2, before a handler nests */
	lull__record_leave(&saved);
}

static void leave_late(void)
{
	sigset_t saved;

	lull__record_enter(&saved);
	lull__record_unlink_late();
	lull__record_leave(&saved);
}

/*
 * Enter an outermost section with a full fence, and with @word. REST until then: a handler's section that nests before
 * the fence goes out of line, and makes one of its own. RCU-4 and RCU-2 as in lull_rcu_read_lock().
 */
static void enter_fenced(uint64_t word)
{
	lull_store_release(&lull__self.rcu, word | LULL__RCU_REST);
	/*
	 * ORDER RCU-11: the word before the loads of an online thread, or of its handler's section while it waits;
	 * pairs with RCU-11 in gp_begin(); without it the scan misses an online thread that found the object;
	 * model/rcu/handler.litmus
	 */
	lull_fence_full();
	lull_store_relaxed(&lull__self.rcu, word);
}

#define DEEP 1000u /* debug builds ask about a missing unlock */

/*
 * Count one more section. Up to FAR in the word, and `rcu_deep` is 0; above, all but the outermost one are in `rcu_deep`, and
 * the word has depth 0 and REST, so that locks and unlocks go out of line. So both say nothing but how deep the thread is,
 * and a handler leaves them as it found them, between any two instructions of a lock or an unlock, also inline. (REST alone
 * may stay behind, and does no harm: the section's end goes out of line then.) Between the two stores that change from one
 * to the other the word looks as in the outermost section: a handler counts from there, and comes back to that.
 */
static void count_apart(struct lull__thread *self)
{
	uint32_t deep = self->rcu_deep;

	if (!deep) {
		lull_store_release(&self->rcu, (self->rcu & ~(uint64_t)LULL__RCU_DEPTH) | LULL__RCU_REST); /* RCU-6 */
		deep = LULL__RCU_FAR;
	}
	if (deep == UINT32_MAX)
		lull__misuse("lull_rcu_read_lock: nested too deep; is an unlock missing?");
	lull_compiler_barrier();
	lull_store_relaxed(&self->rcu_deep, deep + 1);
#ifdef LULL_DEBUG
	static uint32_t said;

	if (self->rcu_deep == DEEP - 1 && !lull_xchg_relaxed(&said, 1u))
		lull__say("lull_rcu_read_lock: nested %u deep; is an unlock missing?", DEEP);
#endif
}

/* The reverse. */
static void uncount_apart(struct lull__thread *self)
{
	if (self->rcu_deep > LULL__RCU_FAR + 1) {
		lull_store_relaxed(&self->rcu_deep, self->rcu_deep - 1);
		return;
	}
	lull_store_relaxed(&self->rcu_deep, 0u);
	lull_compiler_barrier();
	lull_own_add_release(&self->rcu, LULL__RCU_FAR); /* RCU-6 */
}

/*
 * Enter a read section out of line: for threads that are not registered, for all threads if light fences
 * are real ones, and far inside other sections.
 */
void lull__rcu_read_lock_slow(void)
{
	struct lull__thread *self = &lull__self;

	if (self->rcu >= LULL__RCU_STEP) {
		if (self->rcu_deep || !lull_own_low_is_zero(&self->rcu, LULL__RCU_FAR))
			count_apart(self);
		else
			lull_store_release(&self->rcu, self->rcu + 1); /* RCU-6 */
		lull_fence_full(); /* RCU-11: the outermost section's may not have been made yet */
		return;
	}
	lull__ensure_registered();
	if (self->state & LULL__STATE_EXITED) {
		enter_late();
		return;
	}
	/*
	 * The word may rest at a value that is not 0, because light fences are real ones or an online thread waits;
	 * then the unlock must go out of line as well.
	 */
	enter_fenced(lull_load_relaxed(&lull__rcu_gp) | (self->rcu ? LULL__RCU_SLOW : 0));
}

void lull__rcu_end_section(uint64_t word)
{
	/*
	 * RCU-3 and RCU-5 as in lull_rcu_read_unlock().
	 *
	 * ORDER RCU-10: all loads until now before the new number of an online thread; pairs with RCU-3 in gp_scan();
	 * without it an object is freed that was read before the quiescent state;
	 * model/rcu/quiescent.tpl
	 */
	lull_store_release(&lull__self.rcu, word);
	lull_fence_light();
	if (lull_nonzero_relaxed(&lull__self.flags))
		lull__rcu_wake();
}

/* ---- what a section owes for its deferrals --------------------------------------------------- */

/*
 * Let the calling thread pay for what it defers past a limit when its outermost section ends, or, online, in its next
 * quiescent state. The word says so as well: these ends go out of line, and a signal handler's own section, whose word
 * is another, never pays. RCU-6: the word keeps its number.
 */
void lull__rcu_owe(void)
{
	if (lull_own_low_is_zero(&lull__self.rcu, LULL__RCU_SLOW))
		lull_own_add_release(&lull__self.rcu, LULL__RCU_SLOW);
	lull_or_relaxed(&lull__self.flags, LULL__FLAG_OWES);
}

/* Does the calling thread's section owe something? From now on not: call this before the section ends, see above. */
static bool take_debt(void)
{
	return lull_nonzero_relaxed(&lull__self.flags) &&
	       (lull_and_relaxed(&lull__self.flags, ~LULL__FLAG_OWES) & LULL__FLAG_OWES);
}

static void pay(void)
{
	for (const struct lull__mechanism *m = lull__mechanisms; m->name; m++)
		if (m->pay)
			m->pay();
}

void lull__rcu_read_unlock_slow(void)
{
	struct lull__thread *self = &lull__self;
	bool owes;

	/* REST says nothing here: a handler may have jumped out of enter_fenced(). */
	if (self->rcu < LULL__RCU_STEP)
		lull__misuse("lull_rcu_read_unlock: not in a read section");
	if (self->rcu_deep) {
		uncount_apart(self);
		return;
	}
	owes = take_debt();
	/* A debt alone, or depth alone, leaves the next lock inline. */
	lull__rcu_end_section(owes || lull_own_low_is_zero(&self->rcu, LULL__RCU_SLOW) ? lull__rest_word()
										       : LULL__RCU_REST);
	if (self->state & LULL__STATE_EXITED)
		leave_late();
	if (owes)
		pay();
}

/* Abort from the inline code of rcu.h. */
void lull__rcu_misuse(const char *what)
{
	lull__misuse("%s", what);
}

#ifdef LULL_DEBUG
void lull__rcu_check_section(const char *what)
{
	/* A section of a domain belongs to no thread: any one will do. */
	if (lull_unlikely(!lull_rcu_read_lock_held()) && !(lull__checks.any_domain_open && lull__checks.any_domain_open()))
		lull__misuse("%s: outside a read section", what);
}
#endif

/* ---- calls that make no sense in a section -------------------------------------------------- */

void lull__rcu_no_section(const char *call)
{
	if (lull_unlikely(lull__rcu_in_section()))
		lull__misuse("%s in a read section would wait for itself for ever; section entered at %p", call,
			     lull__self.rcu_site);
}

void lull__rcu_thread_exit(void)
{
	struct lull__thread *self = &lull__self;

	if (self->rcu < LULL__RCU_STEP)
		return;
	if (lull__rcu_in_section())
		lull__say("%s exits in a read section (depth %u); the section ends here", lull__thread_words(self->tid).text,
			  (unsigned)(self->rcu & LULL__RCU_DEPTH) + self->rcu_deep + 1);
	lull__tsan_release(&self->rcu);
	lull_store_relaxed(&self->rcu_deep, 0u);
	lull_store_relaxed(&self->state, self->state & ~LULL__STATE_ONLINE);
	lull__rcu_end_section(LULL__RCU_REST);
}

/* ---- quiescent-state threads ---------------------------------------------------------------- */

/*
 * While the state says ONLINE, each section of the thread begins with a full fence, or with a number that was loaded
 * with acquire: a grace period that reads ONLINE makes no heavy fence. So outside, when it waits, the word is REST,
 * and sections of its signal handlers go out of line. The state changes only while the word is that of the endless
 * section.
 */
void lull__rcu_enter_online(void)
{
	enter_fenced(lull_load_relaxed(&lull__rcu_gp));
}

void lull_rcu_online(void)
{
	lull_thread_register();
	if (lull__self.state & LULL__STATE_EXITING)
		lull__misuse("lull_rcu_online: thread is exiting");
	if (lull__self.rcu >= LULL__RCU_STEP)
		lull__misuse("lull_rcu_online: online already, or in a read section");
	/*
	 * ORDER RCU-12: the words of all earlier sections, and that of the endless one, before the state (a full
	 * fence); pairs with RCU-12 in gp_wants_heavy(); without it as there; model/rcu/online.litmus
	 */
	lull__rcu_enter_online();
	lull_store_relaxed(&lull__self.state, lull__self.state | LULL__STATE_ONLINE);
}

static inline void check_online(const char *outside, const char *nested)
{
	if (!(lull__self.state & LULL__STATE_ONLINE))
		lull__misuse("%s", outside);
	if (lull_unlikely(!lull_own_low_is_zero(&lull__self.rcu, LULL__RCU_LOW)) && lull__rcu_in_section())
		lull__misuse("%s", nested);
}

static inline void end_online(void)
{
	lull_store_relaxed(&lull__self.state, lull__self.state & ~LULL__STATE_ONLINE);
	/*
	 * ORDER RCU-11: the state before the loads of the sections that follow; pairs with RCU-11 in
	 * gp_begin(); without it a grace period without a heavy fence misses a section that begins with a
	 * light one; model/rcu/offline.litmus
	 */
	lull_fence_full();
	lull__rcu_end_section(lull__rest_word());
}

__attribute__((noinline)) static void end_online_and_pay(void)
{
	end_online();
	pay();
}

void lull_rcu_offline(void)
{
	check_online("lull_rcu_offline: not online", "lull_rcu_offline: in a read section");
	if (lull_unlikely(take_debt()))
		end_online_and_pay();
	else
		end_online();
}

void lull__rcu_quiescent_slow(uint64_t number)
{
	check_online("lull_rcu_quiescent: not online", "lull_rcu_quiescent: in a read section");
	if (lull_unlikely(lull_load_relaxed(&lull__self.flags) & LULL__FLAG_OWES)) {
		lull_rcu_offline(); /* pays */
		lull_rcu_online();
		return;
	}
	/*
	 * ORDER RCU-11: the number before the thread's next loads; pairs with RCU-11 in gp_begin();
	 * without it the thread says that it knows a grace period, and finds what that frees;
	 * model/rcu/online-quiescent.litmus
	 */
	number = lull_load_acquire(&lull__rcu_gp);
	lull__rcu_end_section(number); /* RCU-10 */
}

/* Prepare the calling thread for unregistering in @call: abort in a section, go offline. */
void lull__rcu_unregister(const char *call)
{
	lull__rcu_no_section(call);
	if (lull__self.state & LULL__STATE_ONLINE)
		lull_rcu_offline();
}
