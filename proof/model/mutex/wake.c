/* SPDX-License-Identifier: MIT */
/*
 * ORDER MTX-3, MTX-4
 * wake.c - nobody sleeps for ever, for cbmc: threads lock and unlock as often as they like, spin, are counted
 * among those that spin, stay in a signal handler, sleep, are woken, wake, pass sleepers by, and give up, at any time.
 * Where: take() in mutex.c, sleep_once(), futex_wait(), pass_on(), give_up(), lull__lock_wait_for(), may_pass(), forget_sleepers(),
 * free_private(), lull__mutex_unlock_slow(), lull_mutex_lock(), lull_mutex_unlock(), lock_until(), may_spin(),
 * watches_no_more(), spins_no_more()
 *
 * Proved by induction, for any number of steps: the invariant holds at the beginning, and each step of
 * any thread keeps it.  For a sleeper that WAITERS does not tell of, another thread is on its way: one that
 * was woken and has not got the lock, that passes the wake-up on, or that has yet to make the call.  A sleeper that WAITERS
 * tells of has an owner, or a thread that is awake and will take the free lock; and should all such spinners be in signal
 * handlers for ever, one of the sleepers looks by itself (WATCH).
 * Most unlocks wake the one that looks by itself only if no other sleeps; here they may wake any.
 * The broken ones begin anywhere in the invariant, and end with a thread that sleeps while all others are gone, or in
 * handlers; unless these are all in handlers, it must not be left to the one that looks by itself.
 * A step is one read-modify-write of the word or of the count, or one system call, so the memory model is of no
 * consequence, except that who reads the new count sees the word that came before it (MTX-4); a load that is late is a
 * thread that was slow.  `old` stands for the count: it has changed since this thread read it.  There is no heir; see
 * heir.c.
 * Flags: --stop-on-fail
 * With each of these it must fail:
 * Busted NO_WAITERS: sc
 * Busted NO_COMPARISON: sc
 * Busted NO_WAKE: sc
 * Busted WAKE_BEFORE_RELEASE: sc
 * Busted WOKEN_WITHOUT_WAITERS: sc
 * Busted NO_PASS_ON: sc
 * Busted COUNT_UNCHANGED: sc
 * Busted COUNT_BEFORE_WAITERS: sc
 * Busted PASSED_UNCOUNTED: sc
 * Busted FREES_UNSEEN: sc
 * Busted LEAVES_BLIND: sc
 * Busted JOINS_FREE: sc
 * Busted JOINS_SILENTLY: sc
 * Busted UNWATCHED: sc
 * Busted WATCH_STAYS: sc
 * Busted PASSES_NOBODY: sc
 */
#ifdef BUSTED
#define STEPS 6
#endif
#include "induction.h"

#define SPINNER	 16
#define SPINNERS 48
#define WATCH	 64

enum {
	OUT,	 /* has not got the lock and does not want it */
	TRIES,	 /* spins uncounted, or has just got up */
	SPINS,	 /* is counted */
	HANDLES, /* is counted, and in a signal handler, for as long as that likes */
	READ,	 /* has read the count, and is about to say that it sleeps */
	ASKS,	 /* about to call futex_wait() */
	ASLEEP,
	UP,	 /* was the one that looks by itself: about to take WATCH back */
	OWNS,
	CLEARS,	 /* has to wake one, and is about to take WAITERS back */
	COUNTS,	 /* ... and to change the count */
	FREES,
	WAKES,	 /* about to call futex_wake() */
	RELEASES, /* WAKE_BEFORE_RELEASE: has made the call */
	PASSES_ON,
};

num word;
struct thread {
	num at, woken, old;
	num watch; /* sleeps no longer than for a while, and has set WATCH */
	num seen;  /* the word, by the owner that is about to free it */
	num owes;  /* ... and then has to wake one */
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

void get_up_alone(num i)
{
	threads[i].at = threads[i].watch ? UP : TRIES;
}

void get_up(num i)
{
	get_up_alone(i);
	threads[i].woken = 1;
}

void take(struct thread *t, num self)
{
	word |= self;
#ifndef WOKEN_WITHOUT_WAITERS
	if (t->woken)
		word |= WAITERS;
#endif
	t->at = OWNS;
}

void try(struct thread *t, num self)
{
	num what = nondet_num();
	_Bool held = word & TID;

	if (what == 3 && (word & SPINNERS) < 2 * SPINNER) {
#ifndef JOINS_FREE
		if (!held)
			return;
#endif
		word += SPINNER;
#ifndef JOINS_SILENTLY
		if (t->woken)
			word |= WAITERS;
		t->woken = 0;
#endif
		t->at = SPINS;
	} else if (!held) {
		take(t, self);
	} else if (what == 1) {
		/* It is too late for this one. */
		t->at = t->woken ? PASSES_ON : OUT;
#ifdef NO_PASS_ON
		t->at = OUT;
#endif
	} else if (what == 2) {
		t->at = READ;
		t->old = 0;
	}
}

/* Take the free lock, leave to look once more, or go on. */
void spin(struct thread *t, num self)
{
	num what = nondet_num();

	if (what == 0) {
		t->at = HANDLES;
	} else if (what == 1) {
		word -= SPINNER;
		t->at = TRIES;
#ifdef LEAVES_BLIND
		t->at = OUT;
#endif
	} else if (!(word & TID)) {
		word -= SPINNER;
		take(t, self);
	}
}

void say_so(struct thread *t)
{
	if (!(word & TID)) {
		t->at = TRIES;
		return;
	}
#ifndef NO_WAITERS
	word |= WAITERS;
#endif
	if ((word & SPINNERS) && !(word & WATCH)) {
		word |= WATCH;
		t->watch = 1;
	}
	t->at = ASKS;
}

void count(struct thread *t)
{
#ifndef COUNT_UNCHANGED
	for (num i = 1; i <= THREADS; i++)
		threads[i].old = 1;
#endif
	t->at = FREES;
}

void begin_unlock(struct thread *t)
{
	_Bool watched = word & WATCH;

	t->seen = word;
	t->at = FREES;
#ifdef UNWATCHED
	watched = 1;
#endif
	if (!(word & WAITERS))
		return;
#ifdef PASSES_NOBODY
	if (nondet_num())
		return;
#endif
	if ((word & SPINNERS) && watched && !t->owes && nondet_num())
		return; /* pass the sleepers by */
	t->owes = 1;
	t->at = CLEARS;
#ifdef PASSED_UNCOUNTED
	if (word & SPINNERS)
		t->at = FREES;
#endif
#ifdef COUNT_BEFORE_WAITERS
	count(t);
#endif
}

void clear(struct thread *t)
{
	word &= ~WAITERS;
	t->seen = word;
	t->at = COUNTS;
}

void release(struct thread *t)
{
#ifndef FREES_UNSEEN
	if (word != t->seen) {
		t->at = OWNS;
		return;
	}
#endif
	word &= ~TID;
	if (t->owes && (word & SPINNERS))
		word |= WAITERS;
#ifdef COUNT_BEFORE_WAITERS
	if (!(word & SPINNERS))
		word &= ~WAITERS;
#endif
	t->at = t->owes ? WAKES : OUT;
#if defined(NO_WAKE) || defined(WAKE_BEFORE_RELEASE)
	t->at = OUT;
#endif
}

void pass_on(struct thread *t)
{
	_Bool held = word & TID;

	t->at = held ? OUT : WAKES;
	if (held)
		word |= WAITERS;
}

void step(num self)
{
	struct thread *t = &threads[self];

	if (!may_get_up(self) && !t->watch)
		return;
	switch (t->at) {
	case OUT:
		t->at = TRIES;
		t->woken = 0;
		t->owes = 0;
		break;
	case TRIES:
		try(t, self);
		break;
	case SPINS:
		spin(t, self);
		break;
	case HANDLES:
		t->at = SPINS;
		break;
	case READ:
		say_so(t);
		break;
	case ASKS:
		if (t->old)
			get_up_alone(self);
		else
			t->at = ASLEEP;
#ifdef NO_COMPARISON
		t->at = ASLEEP;
#endif
		break;
	case ASLEEP:
		get_up_alone(self); /* its time is up, or a signal came */
		break;
	case UP:
#ifndef WATCH_STAYS
		word &= ~WATCH;
#endif
		t->watch = 0;
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
		begin_unlock(t);
		break;
	case CLEARS:
		clear(t);
		break;
	case COUNTS:
		count(t);
		break;
	case FREES:
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

/* Owner, and has taken WAITERS back or is about to wake: it will look at those that sleep now. */
_Bool will_wake(num i)
{
	const struct thread *t = &threads[i];

	return t->at == WAKES || ((t->at == OWNS || t->at == CLEARS || t->at == COUNTS || t->at == FREES) && t->owes);
}

/* Somebody who will see to those that sleep. */
_Bool on_its_way(num i)
{
	const struct thread *t = &threads[i];
	_Bool waits = t->at >= TRIES && t->at <= UP && t->at != ASLEEP;

	return will_wake(i) || t->at == PASSES_ON || (waits && t->woken);
}

_Bool will_sleep(num i)
{
	return threads[i].at == ASKS && !threads[i].old;
}

/* It is not asleep, and will take a free lock, however long others stay in their handlers. */
_Bool moves(num i)
{
	const struct thread *t = &threads[i];

	return t->at == TRIES || t->at == READ || t->at == UP || (t->at == ASKS && t->old);
}

/* Somebody has the lock, or will take it when it is free. */
_Bool tended(void)
{
	return (word & (TID | SPINNERS)) || moves(1) || moves(2) || moves(3);
}

_Bool in_order(num i)
{
	const struct thread *t = &threads[i];
	_Bool owns = t->at >= OWNS && t->at <= FREES;
	_Bool known = (word & WAITERS) && tended();

	return t->at <= PASSES_ON && t->at != RELEASES && (!t->woken || (t->at != SPINS && t->at != HANDLES)) && owns == ((word & TID) == i) && t->woken <= 1 && t->old <= 1 &&
	       t->watch <= 1 && t->owes <= 1 && (!t->watch || t->at == ASKS || t->at == ASLEEP || t->at == UP) &&
	       (t->at != UP || t->watch) && (!t->owes || owns || t->at == WAKES || t->at == OUT) &&
	       ((t->at != CLEARS && t->at != COUNTS) || t->owes) &&
	       (t->at != COUNTS || !(t->seen & WAITERS)) && (t->at != FREES || !t->owes || !(t->seen & WAITERS)) &&
	       ((t->at != COUNTS && t->at != FREES) || (t->seen & TID) == i) &&
	       (t->at != FREES || t->owes || !(t->seen & WAITERS) || ((t->seen & SPINNERS) && (t->seen & WATCH))) &&
	       (t->at != FREES || !(t->seen & WAITERS) || (t->seen & SPINNERS)) &&
	       (t->at != FREES || !t->owes || word != t->seen ||
		(!will_sleep(1) && !will_sleep(2) && !will_sleep(3))) &&
	       (!will_sleep(i) || known || threads[1].at == COUNTS || threads[2].at == COUNTS ||
		threads[3].at == COUNTS);
}

_Bool invariant(void)
{
	num spin = 0, watch = 0, owner = word & TID;
	_Bool known = (word & WAITERS) && tended(), moved = owner || (word & WATCH);
	_Bool sleep = 0, soon = 0, woken = 0, ok = 1;

	for (num i = 1; i <= THREADS; i++) {
		sleep |= sleeps(i);
		soon |= will_sleep(i);
		known |= on_its_way(i);
		moved |= moves(i);
		woken |= threads[i].at == WAKES || threads[i].at == PASSES_ON;
		spin += threads[i].at == SPINS || threads[i].at == HANDLES;
		watch += threads[i].watch;
		ok = ok && in_order(i);
	}
	return ok && !(word & 4) && (word & SPINNERS) == spin * SPINNER && watch <= 1 && watch == !!(word & WATCH) &&
	       (!sleep || (known && (moved || woken))) && (!soon || moved);
}

/* But for those in handlers, and, if @watched, one that looks by itself. */
_Bool nobody_moves(_Bool watched)
{
	_Bool still = 1;

	for (num i = 1; i <= THREADS; i++)
		still &= threads[i].at == OUT || (watched && threads[i].at == HANDLES) ||
			 (sleeps(i) && !(watched && threads[i].watch));
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
	if (nobody_moves(0) || nobody_moves(1))
		assert(!sleeps(1) && !sleeps(2) && !sleeps(3));
}
