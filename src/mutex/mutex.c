/* SPDX-License-Identifier: MIT */
/*
 * mutex.c - the contended paths of mutex.h: to sleep, to be woken, to inherit. To spin: spin.c.
 *
 * The word is 0 when the lock is free. A waiter that is about to sleep sets WAITERS in it, and the kernel
 * lets it sleep only if the word is still the same. An unlock that finds WAITERS makes the word 0 and wakes
 * one thread; so the word no longer shows that others sleep, and the thread that is woken has to set WAITERS
 * again: when it takes the lock, when it goes back to sleep, and when it gives up. At any time, then, either
 * no thread sleeps, or WAITERS is set, or a thread is on its way that will set it or has yet to make a
 * wake-up call. Meanwhile other threads lock and unlock without a system call.
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
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>

#include "../base/events.h"
#include "../base/fault.h"
#include "../base/hooks.h"
#include "../base/message.h"
#include "../owner_runs/owner_runs.h"
#include "self.h"
#include "waiting.h"

_Static_assert(LULL__MUTEX_TID == FUTEX_TID_MASK && LULL__MUTEX_WAITERS == FUTEX_WAITERS &&
	       LULL__MUTEX_HEIR == FUTEX_OWNER_DIED, "the word is as the kernel knows it");
_Static_assert(sizeof(struct lull_mutex) == 8, "its size is part of the ABI");

bool lull__mutex_shared(const struct lull_mutex *m)
{
	return lull_load_relaxed(&m->rest) & LULL_MUTEX_SHARED;
}

/* ---- to sleep ------------------------------------------------------------------------------- */

/*
 * Has this waiter seen a thread of higher priority hold the lock? Then it must not become the heir: beside other
 * programs its section may take many time slices, for which such threads would wait.
 */
static bool outranked(struct lull__lock_wait *wait)
{
	for (unsigned i = 0; i < LULL__OWNERS_SEEN; i++)
		if (wait->seen[i] && lull__owner_outranks_me(wait->seen[i]))
			return true;
	return false;
}

static void become_heir(struct lull__lock_wait *wait)
{
	uint32_t rest = lull_load_relaxed(&wait->m->rest);

	if ((lull__rest_valid(rest) & LULL__HEIR_TID) || wait->tid > LULL__HEIR_TID)
		return;
	if (outranked(wait)) {
		wait->impatient_ns = LULL__NEVER;
		return;
	}
	while (!(lull__rest_valid(rest) & LULL__HEIR_TID)) {
		if (lull_cas_relaxed(&wait->m->rest, &rest, lull__rest_valid(rest) | wait->tid)) {
			wait->heir = true;
			return;
		}
	}
}

/* Withdraw as heir. Returns false if it is too late: the owner is handing the lock over. */
static bool withdraw_heir(struct lull__lock_wait *wait)
{
	uint32_t rest = lull_load_relaxed(&wait->m->rest);

	wait->heir = false;
	do {
		if ((rest & LULL__HEIR_TID) != wait->tid)
			return false;
	} while (!lull_cas_relaxed(&wait->m->rest, &rest, rest & ~LULL__HEIR_TID));
	return true;
}

static bool impatient(struct lull__lock_wait *wait)
{
	uint64_t now_ns;

	if (wait->heir || wait->impatient_ns == LULL__NEVER)
		return false;
	now_ns = lull__now_ns();
	if (!wait->impatient_ns)
		wait->impatient_ns = now_ns + LULL_MUTEX_PATIENCE_MS * 1000000u;
	return now_ns >= wait->impatient_ns;
}

uint64_t lull__sleep_until_ns(uint64_t deadline_ns, bool looks_again)
{
	uint64_t look_ns = looks_again ? lull__now_ns() + LULL__LOOK_AGAIN_NS : LULL__NEVER;

	return look_ns < deadline_ns ? look_ns : deadline_ns;
}

/*
 * Sleep on the mutex's word. Waiters wake up every now and then: in debug builds to search for a deadlock,
 * and if processes share the mutex, because the waiter that was woken for all may have been killed.
 */
static int futex_wait(struct lull__lock_wait *wait, uint32_t word, uint32_t bitset)
{
	uint64_t until_ns = lull__sleep_until_ns(wait->deadline_ns, wait->shared || LULL__LOOKS_FOR_DEADLOCKS);
	int err;

	lull__check_may_block("lull_mutex_lock");
	if (wait->deadline_ns == LULL__NEVER)
		lull__check_mutex_waits(wait->m, wait->tid);
	err = lull__oracle_wait(&wait->m->word, word, bitset, until_ns, wait->shared);
	return err == -ETIMEDOUT && until_ns != wait->deadline_ns ? -EINTR : err;
}

/* Sleep once. Returns -ETIMEDOUT, or 0: check again. */
static int sleep_once(struct lull__lock_wait *wait)
{
	uint32_t word = lull_load_relaxed(&wait->m->word), asleep;
	int err;

	if ((word & LULL__MUTEX_TID) == 0 || (word & LULL__MUTEX_TID) == wait->tid)
		return 0;
	lull__lock_saw(wait, word & LULL__MUTEX_TID);
	asleep = word | LULL__MUTEX_WAITERS | (wait->heir ? LULL__MUTEX_HEIR : 0);
	/*
	 * ORDER MTX-3: WAITERS in the word before the kernel compares it (one word: relaxed will do); pairs
	 * with MTX-3 in lull__mutex_unlock_slow(); without it the unlock does not know of a thread that
	 * goes to sleep; model/mutex/wake.c
	 */
	if (asleep != word && !lull_cas_relaxed(&wait->m->word, &word, asleep))
		return 0;
	err = futex_wait(wait, asleep, wait->heir ? LULL__MUTEX_HEIRS : LULL__MUTEX_ANY);
	if (err == 0)
		wait->woken = true;
	return err == -ETIMEDOUT ? err : 0;
}

/*
 * Pass on a wake-up: a thread that was woken for all sleepers leaves without the lock. Set WAITERS for an
 * owner, or, if the lock is free, wake the next sleeper.
 */
static void pass_on(struct lull_mutex *m, bool shared)
{
	uint32_t word = lull_load_relaxed(&m->word);

	while (word & LULL__MUTEX_TID) {
		if ((word & LULL__MUTEX_WAITERS) || lull_cas_relaxed(&m->word, &word, word | LULL__MUTEX_WAITERS))
			return;
	}
	lull__futex_wake_bits(&m->word, 1, LULL__MUTEX_ANY, shared);
}

/* Stop waiting. Returns -ETIMEDOUT, or 0 if the lock has been handed over at the last moment. */
static int give_up(struct lull__lock_wait *wait)
{
	unsigned rounds = 0;

	if (wait->heir && !withdraw_heir(wait)) {
		/* The owner has read this thread's id and is about to store it in the word. */
		while (!lull__lock_is_mine(wait))
			lull__give_way(&rounds);
		return 0;
	}
	if (wait->woken)
		pass_on(wait->m, wait->shared);
	return -ETIMEDOUT;
}

int lull__lock_wait_for(struct lull__lock_wait *wait)
{
	bool late = false;
	uint32_t slept = 0;
	int err = 0;

	lull__event_mutex_wait_start(wait->m, lull_load_relaxed(&wait->m->word) & LULL__MUTEX_TID);
	while (!lull__lock_spin(wait)) {
		if (late || (wait->deadline_ns != LULL__NEVER && lull__now_ns() >= wait->deadline_ns)) {
			err = give_up(wait);
			break;
		}
		if (impatient(wait))
			become_heir(wait);
		if (!slept++)
			lull__oracle_sleeps();
		late = sleep_once(wait) == -ETIMEDOUT;
	}
	if (wait->heir)
		withdraw_heir(wait);
	lull__event_mutex_wait_end(wait->m, slept);
	lull__check_mutex_waits(NULL, wait->tid);
	return err;
}

/* ---- lock ----------------------------------------------------------------------------------- */

static bool take(struct lull__lock_wait *wait, uint32_t word)
{
	uint32_t mine = wait->tid;

	if (wait->woken && !LULL__BUSTED(MUTEX_NO_WAITERS))
		mine |= LULL__MUTEX_WAITERS;
	/* MTX-1 as in lull__mutex_try_inline(). */
	return word == 0 && lull_cas_acquire(&wait->m->word, &word, mine);
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
	uint32_t owner;
	int err;

	lull__oracle_tries();
	if (!take(&wait, lull_load_relaxed(&m->word))) {
		owner = lull_mutex_owner(m);
		if (lull_unlikely(owner == wait.tid || (owner && !wait.shared && lull__owner_was_me(owner))))
			lull__mutex_misuse("locks", m, owner);
		err = lull__lock_wait_for(&wait);
		if (err) {
			lull__oracle_released();
			return err;
		}
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
	struct lull__lock_wait wait = { .m = m, .tid = lull__mutex_self() };

	lull__oracle_tries();
	if (take(&wait, lull_load_relaxed(&m->word))) {
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
static bool hand_over(struct lull_mutex *m, bool shared)
{
	uint32_t heir;

	if (shared || !lull__futex_wake_bits(&m->word, INT_MAX, LULL__MUTEX_HEIRS, false))
		return false;
	heir = lull__rest_valid(lull_and_relaxed(&m->rest, ~LULL__HEIR_TID)) & LULL__HEIR_TID;
	if (!heir)
		return false;
	if (LULL__BUSTED(MUTEX_HEIR_NOBODY))
		heir = LULL__HEIR_TID;
	/*
	 * Until here the next heir may set HEIR a second time: it has gone to sleep then, or will find the
	 * word changed. All heirs are woken, and that one checks again.
	 *
	 * ORDER MTX-2: what it guards before the lock is the heir's; pairs with MTX-2 in lull__lock_is_mine();
	 * without it the heir misses stores; model/mutex/heir.litmus
	 */
	lull_store_release(&m->word, heir | LULL__MUTEX_WAITERS);
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

void lull__mutex_unlock_slow(struct lull_mutex *m)
{
	bool shared = lull__mutex_shared(m), handed;
	uint32_t word;

	lull__mutex_must_own(m, "unlocks");
	do {
		word = lull_load_relaxed(&m->word);
		handed = (word & LULL__MUTEX_HEIR) && hand_over(m, shared);
		/* MTX-1 as in lull_mutex_unlock(). */
	} while (!handed && !lull_cas_release(&m->word, &word, 0u));
	lull__oracle_released();
	/*
	 * ORDER MTX-3: the lock free, or the heir's, before the call that wakes; pairs with MTX-3 in
	 * sleep_once(); without it the woken thread sees no change and sleeps again; model/mutex/wake.c
	 */
	if (!handed && (word & LULL__MUTEX_WAITERS) && !LULL__BUSTED(MUTEX_NO_WAKE))
		lull__futex_wake_bits(&m->word, 1, LULL__MUTEX_ANY, shared);
	/* Wake the heir, should it sleep again; or one that has become the heir since hand_over() found none. */
	if (word & LULL__MUTEX_HEIR)
		lull__futex_wake_bits(&m->word, INT_MAX, LULL__MUTEX_HEIRS, shared);
}

/* ---- begin and end -------------------------------------------------------------------------- */

void lull_mutex_init(struct lull_mutex *m, uint32_t flags)
{
	if (flags & ~LULL_MUTEX_SHARED)
		lull__die("lull_mutex_init: unknown flags 0x%x", flags);
	lull_store_relaxed(&m->word, 0u);
	lull_store_relaxed(&m->rest, flags);
#ifdef LULL__TSAN
	__tsan_mutex_create(m, __tsan_mutex_not_static);
#endif
}

/* Abort because other threads wait for @m, which is free. @heir is the tid of one of them, or 0. */
static void destroyed_early(struct lull_mutex *m, uint32_t heir)
{
	lull__die("%s destroys mutex %p, for which %s waits", lull__thread_words(lull__mutex_self()).text, (void *)m,
		  heir ? lull__thread_words(heir).text : "another thread");
}

void lull_mutex_destroy(struct lull_mutex *m)
{
	uint32_t owner = lull_mutex_owner(m), rest = lull_load_relaxed(&m->rest);

	if (owner)
		lull__mutex_misuse("destroys", m, owner);
	if (!(rest & LULL_MUTEX_SHARED) && lull__rest_valid(rest) & (LULL__SPINNERS | LULL__HEIR_TID))
		destroyed_early(m, lull__rest_valid(rest) & LULL__HEIR_TID);
#ifdef LULL__TSAN
	__tsan_mutex_destroy(m, 0);
#endif
}
