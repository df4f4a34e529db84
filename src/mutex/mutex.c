/* SPDX-License-Identifier: MIT */
/*
 * mutex.c - the contended paths of mutex.h: to lock, to wake, to hand over. To spin: spin.c. To sleep: sleep.c.
 *
 * Waiters sleep on a count of their own, `turn`, that only an unlock changes which wakes one of them. (The word would not do:
 * it has the owner's thread id in it, and where sections are short the owner changes before a waiter gets to sleep.) A
 * waiter that is about to sleep reads the count, then sets WAITERS in the word, and the kernel lets it sleep only if the
 * count is still the same. An unlock that wakes takes WAITERS back, changes the count, frees the word if nobody has set
 * WAITERS again, and wakes one thread. So who has read the old count does not sleep, or is there to be woken; and who has
 * read the new one sees that WAITERS is not set (MTX-4), sets it, and the unlock begins anew. The word no longer shows that
 * others sleep, and the thread that is woken has to set WAITERS again: when it takes the lock, when it is counted among
 * those that spin, when it goes back to sleep, and when it gives up. At any time, then, either no thread sleeps, or WAITERS
 * is set, or a thread is on its way that will set it or has yet to make a wake-up call. Meanwhile other threads lock and
 * unlock without a system call.
 *
 * To pass sleepers by. Where many threads want the lock, it is best if few of them take turns, and the others sleep (D.
 * Dice, "Malthusian locks", 2017). A thread that spins where others sleep, or for longer than a moment, is counted in
 * the word. An unlock that sees one frees the word with WAITERS still in it, and wakes nobody: the spinner takes the
 * lock. Should it leave just then, it looks once more. Were it counted elsewhere, that would need a full fence on both
 * sides, and the owner's look after the word is free, when the memory may be gone. But both are in one word:
 *
 *	owner						spinner
 *	sees it counted
 *							no longer counted
 *	to free the word fails: it has changed		looks: held, sleeps
 *	sees nobody counted, wakes one
 *
 * Every LULL_MUTEX_BYPASSth such unlock wakes one all the same. And a spinner may be in a signal handler that waits for one
 * of the sleepers, or be preempted, or have a low priority. So a waiter that is about to sleep, and sees a spinner, sets
 * WATCH, if no other has, and sleeps no longer than LULL_MUTEX_PATIENCE_MS before it looks; and while WATCH is not set,
 * no sleeper is passed by.
 *
 * To look before one takes. A compare-and-swap that fails has taken the cache line away from the owner, who is about to
 * unlock; a load leaves it where it is. But if the lock is free, a load before the compare-and-swap is one transfer of the
 * line more. So the inline code does not look first, and a thread that has met a crowd locks and unlocks out of line, where
 * it does, until it has found a lock free four times.
 *
 * Heirs, waiters for a mutex that processes share, and those that a kernel with FUTEX2_SPIN is to spin for, sleep on the
 * word. If processes share a mutex nobody is counted, since a process may be killed.
 *
 * Nothing touches the lock after the store that frees it: the next owner may free its memory. The wake-up
 * call uses only the address; threads that sleep there for another reason must expect wake-ups.
 *
 * The heir (MTX-2). A waiter that has waited for too long puts its thread id in `rest`, if there is no
 * other's, and then HEIR in the word. The unlock that sees HEIR, and wakes the heir, takes it out of `rest` and
 * stores its thread id in the word: the lock was never free. Apart from the heir itself, only a thread that holds the
 * lock takes an heir out. So an heir that gets the lock by chance, or gives up, and is still in `rest`, has
 * not been handed the lock. It does no harm if HEIR is set and no heir is in `rest`: the lock is freed, and
 * all threads that sleep as heirs are woken.
 */
#include <limits.h>
#include <linux/futex.h>

#include "../base/fault.h"
#include "../base/hooks.h"
#include "../base/message.h"
#include "../owner_runs/owner_runs.h"
#include "self.h"
#include "waiting.h"

_Static_assert((LULL__MUTEX_TID & ~FUTEX_TID_MASK) == 0 && LULL__MUTEX_WAITERS == FUTEX_WAITERS &&
	       LULL__MUTEX_HEIR == FUTEX_OWNER_DIED, "the word is as the kernel knows it");
_Static_assert(sizeof(struct lull_mutex) == 12, "its size is part of the ABI");

bool lull__mutex_shared(const struct lull_mutex *m)
{
	return lull_load_relaxed(&m->rest) & LULL_MUTEX_SHARED;
}

/* ---- lock ----------------------------------------------------------------------------------- */

/* Take the lock, if it is free. Others may spin for it, or sleep. */
static bool take(struct lull__lock_wait *wait, uint32_t word)
{
	uint32_t known = wait->woken && !LULL__BUSTED(MUTEX_NO_WAITERS) ? LULL__MUTEX_WAITERS : 0, crowd;

	while (!(word & LULL__MUTEX_TID)) {
		crowd = lull__crowd(word);
		if (wait->counted && (crowd & LULL__SPINNERS))
			crowd -= LULL__SPINNER;
		known |= word & LULL__MUTEX_WAITERS;
		/* MTX-1 as in lull__mutex_try_inline(). */
		if (lull_cas_acquire(&wait->m->word, &word, lull__with_crowd(wait->tid | known, crowd))) {
			wait->counted = false;
			return true;
		}
	}
	return false;
}

static int lock_until(struct lull_mutex *m, uint64_t deadline_ns, bool woken)
{
	struct lull__lock_wait wait = {
		.m = m,
		.take = take,
		.tid = lull__mutex_self(),
		.woken = woken,
		.shared = lull__mutex_shared(m),
		.deadline_ns = deadline_ns,
		.impatient_ns = lull__mutex_shared(m) ? LULL__NEVER : 0,
	};
	uint32_t word = lull_load_relaxed(&m->word), owner;
	int err;

	lull__oracle_tries();
	if (!take(&wait, word)) {
		owner = lull_mutex_owner(m);
		if (lull_unlikely(owner == wait.tid || (owner && !wait.shared && lull__owner_was_me(owner))))
			lull__mutex_misuse("locks", m, owner);
		err = lull__lock_wait_for(&wait);
		if (wait.changes >= LULL__CROWD_CHANGES)
			lull__mutex_crowded();
		if (err) {
			lull__oracle_released();
			return err;
		}
	} else if (!word) {
		lull__mutex_calm();
	}
	lull__oracle_acquired();
	return 0;
}

void lull__mutex_lock_slow(struct lull_mutex *m)
{
	lock_until(m, LULL__NEVER, false);
}

void lull__mutex_lock_woken(struct lull_mutex *m)
{
	lock_until(m, LULL__NEVER, true);
}

int lull__mutex_timedlock_slow(struct lull_mutex *m, uint64_t deadline_ns)
{
	return lock_until(m, deadline_ns, false);
}

bool lull__mutex_trylock_slow(struct lull_mutex *m)
{
	uint32_t word = lull_load_relaxed(&m->word);
	struct lull__lock_wait wait;

	if (word & LULL__MUTEX_TID)
		return false;
	wait = (struct lull__lock_wait){ .m = m, .tid = lull__mutex_self() };
	lull__oracle_tries();
	if (take(&wait, word)) {
		if (!word)
			lull__mutex_calm();
		lull__oracle_acquired();
		return true;
	}
	lull__oracle_released();
	return false;
}

/* ---- unlock --------------------------------------------------------------------------------- */

/*
 * Hand @m, whose word has HEIR, over to the heir. Returns false if that does not sleep, or has withdrawn. One that
 * does not sleep stays the heir. It may be in a signal handler, which waits for a thread that needs the lock:
 *
 *	heir					owner			another thread
 *	handler: waits for the third		unlock: to the heir
 *									waits for the lock, for ever
 */
static bool hand_over(struct lull_mutex *m)
{
	uint32_t heir, word;

	if (!lull__futex_wake_bits(&m->word, INT_MAX, LULL__MUTEX_HEIRS, false))
		return false;
	heir = lull__rest_valid(lull_and_relaxed(&m->rest, ~LULL__HEIR_TID)) & LULL__HEIR_TID;
	if (!heir)
		return false;
	if (LULL__BUSTED(MUTEX_HEIR_NOBODY))
		heir = LULL__HEIR_TID;
	word = lull_load_relaxed(&m->word);
	/*
	 * Until here the next heir may set HEIR a second time: it has gone to sleep then, or will find the
	 * word changed. All heirs are woken, and that one checks again.
	 *
	 * ORDER MTX-2: what it guards before the lock is the heir's; pairs with MTX-2 in lull__lock_is_mine();
	 * without it the heir misses stores; model/mutex/heir.litmus
	 */
	while (!lull_cas_release(&m->word, &word, lull__with_crowd(heir | LULL__MUTEX_WAITERS, lull__crowd(word))))
		;
	return true;
}

/* Store @tid in the word of @m, which has the calling thread's id from before fork. */
static void inherit(struct lull_mutex *m, uint32_t tid)
{
	uint32_t word = lull_load_relaxed(&m->word);

	while (!lull_cas_relaxed(&m->word, &word, tid | (word & ~LULL__MUTEX_TID)))
		;
}

void lull__mutex_must_own(struct lull_mutex *m, const char *what)
{
	uint32_t tid = lull__mutex_self(), owner = lull_mutex_owner(m);

	if (lull_likely(owner == tid))
		return;
	if (lull__mutex_shared(m) || !lull__owner_was_me(owner))
		lull__mutex_misuse(what, m, owner);
	inherit(m, tid);
}

/*
 * May the unlock that sees @crowd pass the sleepers by? If a thread spins, and one of them looks by itself, except now and
 * then.
 */
static bool may_pass(struct lull_mutex *m, uint32_t crowd)
{
	uint32_t rest = lull_load_relaxed(&m->rest), valid;
	bool passes;

	if (!(crowd & LULL__SPINNERS) || !(crowd & LULL__WATCH))
		return false;
	do {
		valid = lull__rest_valid(rest);
		passes = (valid & LULL__PASSES) / LULL__PASS < LULL_MUTEX_BYPASS - 1;
	} while (!lull_cas_relaxed(&m->rest, &rest, passes ? valid + LULL__PASS : valid & ~LULL__PASSES));
	return passes;
}

/*
 * Take WAITERS back, to wake a sleeper, and change the count that waiters sleep on. A waiter that read the count before
 * does not fall asleep any more, and one that reads it now has to set WAITERS. Returns the word.
 *
 * ORDER MTX-4: WAITERS before the count; pairs with MTX-4 in sleep_once(); without it as there; model/mutex/wake.c
 * model/mutex/wake-count.litmus
 */
static uint32_t forget_sleepers(struct lull_mutex *m)
{
	uint32_t word = lull_and_relaxed(&m->word, ~LULL__MUTEX_WAITERS) & ~LULL__MUTEX_WAITERS;

	lull_add_release(&m->turn, 1u);
	return word;
}

/*
 * Free the lock, or hand it over. Returns whom to wake: WAITERS, one of the sleepers (with WATCH, the one that watches is the
 * last); HEIR, the heirs.
 */
static uint32_t free_private(struct lull_mutex *m)
{
	uint32_t word, known, wake = 0;

	do {
		word = lull_load_relaxed(&m->word);
		if ((word & LULL__MUTEX_HEIR) && hand_over(m))
			return LULL__MUTEX_HEIR;
		wake |= word & LULL__MUTEX_HEIR;
		known = word & LULL__MUTEX_WAITERS;
		if (wake || (known && !may_pass(m, lull__crowd(word)))) {
			word = forget_sleepers(m);
			wake |= LULL__MUTEX_WAITERS | (word & LULL__MUTEX_HEIR);
			/* Others sleep, perhaps: then one spinner is enough (has_room() in spin.c). */
			known = lull__crowd(word) & LULL__SPINNERS ? LULL__MUTEX_WAITERS : 0;
		}
		/* MTX-1 as in lull_mutex_unlock(). */
	} while (!lull_cas_release(&m->word, &word, lull__with_crowd(known, lull__crowd(word))));
	/* With a spinner it is the BYPASSth: the one that watches has its turn. */
	return lull__crowd(word) & LULL__SPINNERS ? wake : wake | (lull__crowd(word) & LULL__WATCH);
}

/* Processes share @m. */
static uint32_t free_shared(struct lull_mutex *m)
{
	/* MTX-1 as in lull_mutex_unlock(). */
	return lull_xchg_release(&m->word, 0u) & LULL__MUTEX_WAITERS;
}

void lull__mutex_unlock_slow(struct lull_mutex *m)
{
	bool shared = lull__mutex_shared(m);
	uint32_t wake;

	lull__mutex_must_own(m, "unlocks");
	wake = shared ? free_shared(m) : free_private(m);
	lull__oracle_released();
	/*
	 * ORDER MTX-3: the lock free, or the heir's, before the call that wakes; pairs with MTX-3 in
	 * sleep_once(); without it the woken thread sees no change and sleeps again; model/mutex/wake.c
	 */
	if ((wake & LULL__MUTEX_WAITERS) && !LULL__BUSTED(MUTEX_NO_WAKE))
		lull__mutex_wake(m, wake & LULL__WATCH, shared);
	/* Wake the heir, should it sleep again; or one that has become the heir since hand_over() found none. */
	if (wake & LULL__MUTEX_HEIR)
		lull__futex_wake_bits(&m->word, INT_MAX, LULL__MUTEX_HEIRS, false);
}

/* ---- begin and end -------------------------------------------------------------------------- */

void lull_mutex_init(struct lull_mutex *m, uint32_t flags)
{
	if (flags & ~LULL_MUTEX_SHARED)
		lull__die("lull_mutex_init: unknown flags 0x%x", flags);
	lull_store_relaxed(&m->word, 0u);
	lull_store_relaxed(&m->rest, flags);
	lull_store_relaxed(&m->turn, 0u);
#ifdef LULL__TSAN
	__tsan_mutex_create(m, __tsan_mutex_not_static);
#endif
}

/* Abort if other threads wait for @m, which is free: what it says of them may be older than this process. */
static void check_waiters(const struct lull_mutex *m, uint32_t word, uint32_t rest)
{
	uint32_t heir = lull__rest_valid(rest) & LULL__HEIR_TID;

	if (heir || lull__crowd(word) & LULL__SPINNERS)
		lull__die("%s destroys mutex %p, for which %s waits", lull__thread_words(lull__mutex_self()).text, (const void *)m,
			  heir ? lull__thread_words(heir).text : "another thread");
}

void lull_mutex_destroy(struct lull_mutex *m)
{
	uint32_t word = lull_load_relaxed(&m->word), rest = lull_load_relaxed(&m->rest);

	if (word & LULL__MUTEX_TID)
		lull__mutex_misuse("destroys", m, word & LULL__MUTEX_TID);
	if (word & LULL__SPINNERS || rest & LULL__HEIR_TID) /* never of a shared one */
		check_waiters(m, word, rest);
#ifdef LULL__TSAN
	__tsan_mutex_destroy(m, 0);
#endif
}
