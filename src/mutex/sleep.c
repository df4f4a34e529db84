/* SPDX-License-Identifier: MIT */
/*
 * sleep.c - a waiter sleeps until it is woken, becomes the heir, and gives up; and who wakes it. The whole: mutex.c.
 */
#include <errno.h>
#include <limits.h>

#include "../base/events.h"
#include "../base/hooks.h"
#include "../owner_runs/owner_runs.h"
#include "waiting.h"

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

#define LOOK_AGAIN_NS 100000000u  /* the longest sleep of a waiter that has to check now and then, at first */
#define LOOK_MOST_NS  5000000000u /* ... and after it has checked in vain again and again */

/*
 * Return until when to sleep in one piece. Waiters wake up every now and then: if processes share the mutex, because the
 * waiter that was woken for all may have been killed; in debug builds to search for a deadlock; and the one that has set
 * WATCH.
 */
static uint64_t sleep_until_ns(struct lull__lock_wait *wait, bool watches)
{
	uint64_t look_ns = LULL__NEVER;

	if (wait->shared && !wait->look_ns)
		wait->look_ns = LOOK_AGAIN_NS;
	if (watches)
		look_ns = lull__now_ns() + LULL_MUTEX_PATIENCE_MS * 1000000u;
	else if (wait->shared || LULL__LOOKS_FOR_DEADLOCKS)
		look_ns = lull__now_ns() + (LULL__LOOKS_FOR_DEADLOCKS ? LOOK_AGAIN_NS : wait->look_ns);
	return look_ns < wait->deadline_ns ? look_ns : wait->deadline_ns;
}

/* Sleep on the word, if it is still @word, or on the count, if that is still @turn. */
static int futex_wait(struct lull__lock_wait *wait, uint32_t word, uint32_t turn, bool watches)
{
	uint64_t until_ns = sleep_until_ns(wait, watches);
	int err;

	LULL__CHECK(may_block, "lull_mutex_lock");
	lull__owner_set_wish(wait->m, wait->deadline_ns != LULL__NEVER);
	if (wait->deadline_ns == LULL__NEVER)
		LULL__CHECK(mutex_waits, wait->m, wait->tid);
	if (wait->heir)
		err = lull__oracle_wait(&wait->m->word, word, LULL__MUTEX_HEIRS, until_ns, false);
	else if (wait->shared || lull__oracle_waits())
		err = lull__oracle_wait(&wait->m->word, word, LULL__MUTEX_ANY, until_ns, wait->shared);
	else
		err = lull__futex_wait_bits(&wait->m->turn, turn, watches ? LULL__MUTEX_WATCHES : LULL__MUTEX_ANY, until_ns,
					    false);
	if (err != -ETIMEDOUT || until_ns == wait->deadline_ns)
		return err;
	if (wait->look_ns < LOOK_MOST_NS / 2)
		wait->look_ns *= 2;
	else if (wait->look_ns)
		wait->look_ns = LOOK_MOST_NS;
	return -EINTR;
}

/* Does @wait have to look by itself? The spinners may be in signal handlers, say, and no other sleeper looks. */
static bool has_to_watch(const struct lull__lock_wait *wait, uint32_t word)
{
	uint32_t crowd = lull__crowd(word);

	return !wait->shared && !wait->heir && (crowd & LULL__SPINNERS) && !(crowd & LULL__WATCH);
}

/* Take WATCH back. If a signal handler has forked: in the child it is not set. */
static void watches_no_more(struct lull_mutex *m)
{
	uint32_t word = lull_load_relaxed(&m->word), crowd;

	do {
		crowd = lull__crowd(word);
	} while (!lull_cas_relaxed(&m->word, &word, lull__with_crowd(word, crowd & ~LULL__WATCH)));
}

/* Sleep once. Returns -ETIMEDOUT, or 0: check again. */
static int sleep_once(struct lull__lock_wait *wait)
{
	/*
	 * ORDER MTX-4: the count before WAITERS; pairs with MTX-4 in forget_sleepers(); without it a waiter that has read
	 * the new count sees WAITERS as it was before, and sleeps while nobody knows of it; model/mutex/wake.c
	 * model/mutex/wake-count.litmus
	 */
	uint32_t turn = lull_load_acquire(&wait->m->turn), word = lull_load_relaxed(&wait->m->word), asleep;
	bool watches;
	int err;

	do {
		if ((word & LULL__MUTEX_TID) == 0 || (word & LULL__MUTEX_TID) == wait->tid)
			return 0;
		asleep = word | LULL__MUTEX_WAITERS | (wait->heir ? LULL__MUTEX_HEIR : 0);
		watches = has_to_watch(wait, word);
		if (watches)
			asleep = lull__with_crowd(asleep, lull__crowd(word) | LULL__WATCH);
		/*
		 * ORDER MTX-3: WAITERS in the word before the kernel compares it, or the count (the kernel sees to it:
		 * relaxed will do); pairs with MTX-3 in lull__mutex_unlock_slow(); without it the unlock does not know of
		 * a thread that goes to sleep; model/mutex/wake.c
		 */
	} while (asleep != word && !lull_cas_relaxed(&wait->m->word, &word, asleep));
	lull__lock_saw(wait, asleep & LULL__MUTEX_TID);
	err = futex_wait(wait, asleep, turn, watches);
	if (watches)
		watches_no_more(wait->m);
	if (err == 0)
		wait->woken = true;
	return err == -ETIMEDOUT ? err : 0;
}

void lull__mutex_wake(struct lull_mutex *m, bool watched, bool shared)
{
	uint32_t first = watched ? LULL__MUTEX_ANY : LULL__MUTEX_ANY | LULL__MUTEX_WATCHES;

	if (lull__futex_wake_bits(lull__mutex_bed(m, shared), 1, first, shared))
		return;
	if (watched && lull__futex_wake_bits(&m->turn, 1, LULL__MUTEX_WATCHES, false))
		return;
#ifdef LULL_ORACLE_KERNEL
	if (!shared) /* those that the kernel spins for; none that an earlier oracle has put to sleep was there */
		lull__futex_wake_bits(&m->word, 1, LULL__MUTEX_ANY, false);
#endif
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
	lull__mutex_wake(m, !shared && lull__crowd(word) & LULL__WATCH, shared);
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
	if (slept)
		lull__owner_set_wish(NULL, false);
	return err;
}
