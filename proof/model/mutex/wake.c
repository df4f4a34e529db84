/* SPDX-License-Identifier: MIT */
/*
 * ORDER MTX-3
 * wake.c - nobody sleeps for ever, for cbmc: threads lock and unlock as often as they like, spin,
 * sleep, are woken, wake, and give up, at any time.
 * Where: take() in mutex.c, sleep_once(), pass_on(), give_up(), lull__lock_wait_for(),
 * lull__mutex_unlock_slow(), lull_mutex_lock(), lull_mutex_unlock(), lock_until()
 *
 * Proved by induction, for any number of steps: the invariant holds at the beginning, and each step of
 * any thread keeps it.  Who sleeps and is not known by WAITERS has somebody who is on its way: who
 * was woken and has not got the lock, who passes that on, or who has yet to make the call.
 * The broken ones are run from the beginning, and end with a thread that sleeps while all others
 * are gone.
 * A step is one read-modify-write of the word or one system call, so the memory model is of no
 * consequence; a load that is late is a thread that was slow.  There is no heir; see heir.c.
 * Flags: --stop-on-fail
 * With each of these it must fail:
 * Busted NO_WAITERS: sc
 * Busted NO_COMPARISON: sc
 * Busted NO_WAKE: sc
 * Busted WAKE_BEFORE_RELEASE: sc
 * Busted WOKEN_WITHOUT_WAITERS: sc
 * Busted NO_PASS_ON: sc
 */
#ifdef BUSTED
#define STEPS 14
#define FROM_THE_BEGINNING
#endif
#include "induction.h"

enum {
	OUT,	 /* has not got the lock and does not want it */
	TRIES,	 /* spins, or has just got up */
	ASKS,	 /* about to call futex_wait() */
	ASLEEP,
	OWNS,
	WAKES,	 /* about to call futex_wake() */
	RELEASES, /* WAKE_BEFORE_RELEASE: has made the call */
	PASSES_ON,
};

num word;
struct thread {
	num at, woken, seen;
} threads[THREADS + 1];
struct thread nondet_thread(void);

_Bool sleeps(num i)
{
	return threads[i].at == ASLEEP;
}

_Bool is_there(num i, num where)
{
	return threads[i].at == where;
}

void get_up(num i)
{
	threads[i].at = TRIES;
	threads[i].woken = 1;
}

void release(struct thread *t)
{
	num was = word;

	word = 0;
	t->at = was & WAITERS ? WAKES : OUT;
#if defined(NO_WAKE) || defined(WAKE_BEFORE_RELEASE)
	t->at = OUT;
#endif
}

void try(struct thread *t, num self)
{
	if (!word) {
		word = self;
#ifndef WOKEN_WITHOUT_WAITERS
		if (t->woken)
			word |= WAITERS;
#endif
		t->at = OWNS;
	} else if (nondet_num()) {
		/* It is too late for this one. */
		t->at = t->woken ? PASSES_ON : OUT;
#ifdef NO_PASS_ON
		t->at = OUT;
#endif
	} else if (nondet_num()) {
#ifndef NO_WAITERS
		word |= WAITERS;
#endif
		t->seen = word;
		t->at = ASKS;
	}
}

void pass_on(struct thread *t)
{
	t->at = word ? OUT : WAKES;
	if (word)
		word |= WAITERS;
}

void step(num self)
{
	struct thread *t = &threads[self];

	if (!may_get_up(self))
		return;
	switch (t->at) {
	case OUT:
		t->at = TRIES;
		t->woken = 0;
		break;
	case TRIES:
		try(t, self);
		break;
	case ASKS:
		t->at = word == t->seen ? ASLEEP : TRIES;
#ifdef NO_COMPARISON
		t->at = ASLEEP;
#endif
		break;
	case ASLEEP:
		/* Its time is up, or a signal came. */
		t->at = TRIES;
		break;
	case OWNS:
#ifdef WAKE_BEFORE_RELEASE
		if (word & WAITERS)
			wake_one(ASLEEP);
		t->at = RELEASES;
		break;
	case RELEASES:
#endif
		release(t);
		break;
	case WAKES:
		wake_one(ASLEEP);
		t->at = OUT;
		break;
	case PASSES_ON:
		pass_on(t);
		break;
	}
}

/* Somebody who will see to those that sleep. */
_Bool on_its_way(num i)
{
	const struct thread *t = &threads[i];

	return t->at == WAKES || t->at == PASSES_ON || ((t->at == TRIES || t->at == ASKS) && t->woken);
}

_Bool in_order(num i)
{
	const struct thread *t = &threads[i];
	num owner = word & (WAITERS - 1);

	return t->at <= PASSES_ON && t->at != RELEASES && (t->at == OWNS) == (owner == i) &&
	       (t->at != ASKS || (t->seen & WAITERS));
}

_Bool invariant(void)
{
	_Bool sleep = 0, known = word & WAITERS, ok = word < 2 * WAITERS && word != WAITERS;

	for (num i = 1; i <= THREADS; i++) {
		sleep |= sleeps(i);
		known |= on_its_way(i);
		ok &= in_order(i);
	}
	return ok && (word & (WAITERS - 1)) <= THREADS && (!sleep || known);
}

_Bool nobody_moves(void)
{
	_Bool still = 1;

	for (num i = 1; i <= THREADS; i++)
		still &= threads[i].at == OUT || sleeps(i);
	return still;
}

void anything(void)
{
	word = nondet_num();
	for (num i = 1; i <= THREADS; i++)
		threads[i] = nondet_thread();
}

void check_the_end(void)
{
	if (nobody_moves())
		assert(!sleeps(1) && !sleeps(2) && !sleeps(3));
}
