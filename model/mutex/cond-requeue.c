/* SPDX-License-Identifier: MIT */
/*
 * ORDER MTX-3
 * cond-requeue.c - waiting for a condition, for cbmc: threads lock, unlock, wait, signal and broadcast as
 * often as they like, with the lock and without, and get up by themselves at any time.
 * Where: wait_until() in cond.c, announce(), lull_cond_signal(), lull_cond_broadcast(), take() in
 * mutex.c, sleep_once(), lull__mutex_unlock_slow()
 *
 * Proved by induction, as wake.c.  Beyond that one's invariant: who began to wait before a broadcast
 * has seen an older count, or sleeps and is about to be woken or moved.
 * Never: somebody sleeps for the lock, or for a condition that was broadcast since, while all others are
 * gone.  The broken ones begin anywhere in the invariant, and must come to such an end.
 * `old` stands for the count: it has changed since this thread read it.  A step is one access or one
 * system call; all are read-modify-writes, or ordered by the lock (MTX-1).
 * Flags: --stop-on-fail
 * With each of these it must fail:
 * Busted NO_ANNOUNCEMENT: sc
 * Busted NOBODY_WOKEN: sc
 * Busted WOKEN_WITHOUT_WAITERS: sc
 * Busted COUNT_AFTER_UNLOCK: sc
 * Busted NO_RETRY: sc
 */
#include "induction.h"

enum {
	OUT,	    /* has not got the lock and does not want it */
	TRIES,	    /* spins, or has just got up */
	ASKS,	    /* about to sleep for the lock */
	ASLEEP,
	OWNS,
	LEAVES,	    /* has read the count, and is about to unlock and wait */
	WAKES,	    /* has unlocked, and is about to wake one */
	WAITS,	    /* about to sleep for the condition */
	DREAMS,	    /* asleep for the condition */
	ANNOUNCES,  /* broadcasts: has the count, may have the lock */
	MOVES,
	SIGNALS,
};

num word;
struct thread {
	num at, woken, seen;
	num waits;  /* from before the unlock until it gets up */
	num old;    /* the count is not what it was */
	num due;    /* there has been a broadcast since it waits */
	num stranger; /* it broadcasts without the lock */
} threads[THREADS + 1];
struct thread nondet_thread(void);

_Bool asleep(num i)
{
	return threads[i].at == ASLEEP;
}

_Bool dreams(num i)
{
	return threads[i].at == DREAMS;
}

_Bool sleeps(num i)
{
	return asleep(i) || dreams(i);
}

_Bool is_there(num i, num where)
{
	return threads[i].at == where;
}

void get_up_alone(num i)
{
	threads[i].at = TRIES;
	threads[i].waits = 0;
	threads[i].due = 0;
}

void get_up(num i)
{
	get_up_alone(i);
	threads[i].woken = 1;
}

void count(_Bool broadcast)
{
	for (num i = 1; i <= THREADS; i++) {
		threads[i].old = 1;
		if (threads[i].waits && broadcast)
			threads[i].due = 1;
	}
}

void away(struct thread *t)
{
	t->at = t->waits ? WAITS : OUT;
#ifdef COUNT_AFTER_UNLOCK
	t->old = 0;
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
		word |= WAITERS;
		t->seen = word;
		t->at = ASKS;
	}
}

void begin(struct thread *t)
{
	num what = nondet_num();

	if (what == 0 && t->at == OUT) {
		t->at = TRIES;
		t->woken = 0;
	} else if (what == 0) {
		t->at = LEAVES;
	} else if (what == 1 && t->at == OWNS) {
		t->at = LEAVES;
		t->waits = 1;
		t->woken = 0;
		t->due = 0;
		t->old = 0;
	} else if (what == 2) {
		count(1);
		t->old = 0;
		t->at = ANNOUNCES;
	} else if (what == 3 && t->at == OUT) {
		count(0);
		t->at = SIGNALS;
	}
}

void announce(struct thread *t, num self)
{
	t->stranger = (word & TID) != self;
#ifndef NO_ANNOUNCEMENT
	if (!t->stranger)
		word |= WAITERS;
#endif
	t->at = MOVES;
}

void move(struct thread *t)
{
	_Bool retry = t->old;

#ifdef NO_RETRY
	if (retry) {
		t->at = t->stranger ? OUT : OWNS;
		return;
	}
#endif
	t->old = 0;
	t->at = retry ? ANNOUNCES : t->stranger ? OUT : OWNS;
	if (retry)
		return;
#ifndef NOBODY_WOKEN
	if (t->stranger)
		wake_one(DREAMS);
#endif
	for (num i = 1; i <= THREADS; i++)
		if (dreams(i))
			threads[i].at = ASLEEP;
}

void step(num self)
{
	struct thread *t = &threads[self];
	num was = word;

	if (!may_get_up(self))
		return;
	switch (t->at) {
	case OUT:
	case OWNS:
		begin(t);
		break;
	case TRIES:
		try(t, self);
		break;
	case ASKS:
		t->at = word == t->seen ? ASLEEP : TRIES;
		break;
	case ASLEEP:
	case DREAMS:
		get_up_alone(self); /* its time is up, or a signal came */
		break;
	case LEAVES:
		word = 0;
		if (was & WAITERS)
			t->at = WAKES;
		else
			away(t);
		break;
	case WAKES:
		wake_one(ASLEEP);
		away(t);
		break;
	case WAITS:
		if (t->old)
			get_up_alone(self);
		else
			t->at = DREAMS;
		break;
	case ANNOUNCES:
		announce(t, self);
		break;
	case MOVES:
		move(t);
		break;
	case SIGNALS:
		wake_one(DREAMS);
		t->at = OUT;
		break;
	}
}

/* Somebody who will see to those that sleep for the lock. */
_Bool on_its_way(num i)
{
	const struct thread *t = &threads[i];

	return t->at == WAKES || ((t->at == TRIES || t->at == ASKS) && t->woken);
}

_Bool broadcasts(num i)
{
	return threads[i].at == ANNOUNCES || threads[i].at == MOVES;
}

_Bool in_order(num i)
{
	const struct thread *t = &threads[i];
	_Bool named = (word & TID) == i, waits = t->at == WAITS || t->at == DREAMS;
	_Bool may_wait = waits || t->at == LEAVES || t->at == WAKES || t->at == ASLEEP;

	return t->at <= SIGNALS && t->woken <= 1 && (t->at != ASKS || (t->seen & WAITERS)) &&
	       (broadcasts(i) || named == (t->at == OWNS || t->at == LEAVES)) &&
	       (t->at != MOVES || t->stranger == !named) &&
	       (t->at != MOVES || t->stranger || (word & WAITERS)) &&
	       (t->waits ? may_wait : !waits && !t->due) && (!t->due || t->old) &&
	       (!t->due || t->at != DREAMS || broadcasts(1) || broadcasts(2) || broadcasts(3)) &&
	       (!t->waits || !t->woken);
}

_Bool invariant(void)
{
	_Bool sleep = 0, known = word & WAITERS, ok = word < 16 && (!word || (word & TID)) && !(word & 4);

	for (num i = 1; i <= THREADS; i++) {
		sleep |= asleep(i);
		known |= on_its_way(i);
		ok = ok && in_order(i);
	}
	return ok && (!sleep || known);
}

_Bool nobody_moves(void)
{
	_Bool still = 1;

	for (num i = 1; i <= THREADS; i++)
		still &= threads[i].at == OUT || asleep(i) || dreams(i);
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
		for (num i = 1; i <= THREADS; i++)
			assert(!asleep(i) && !(dreams(i) && threads[i].due));
}
