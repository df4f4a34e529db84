/* SPDX-License-Identifier: MIT */
/*
 * ORDER HASH-7
 * hash-sleep.c - nobody sleeps for ever at a bucket's lock, for cbmc: threads lock and free it as often as they
 * like, spin, sleep, get up and wake, at any time, and one marks the bucket as moved at the end.
 * Where: lull__bucket_trylock(), lull__bucket_release(), lull__bucket_lock_slow(), bucket_look(),
 * lull__bucket_wake(), lull__bucket_lock()
 *
 * Proved by induction, for any number of steps: while a thread sleeps, the lock is wanted, or somebody is about
 * to wake one, or is awake and has said that it wants the lock, and will say so again or wake one. While
 * the lock is wanted, there is a holder, or somebody who is about to look or to wake.
 * A step is one access or one system call. That a holder who has freed the lock sees the wish, unless who made
 * it sees the lock free, is hash-sleep.tpl's.
 * Flags: --stop-on-fail
 * With each of these it must fail:
 * Busted NO_WISH: sc
 * Busted WISH_NOT_LOOKED_AT: sc
 * Busted NO_SECOND_WISH: sc
 * Busted LEAVES_OTHERS: sc
 * Busted NO_COMPARISON: sc
 */
#ifdef BUSTED
#define STEPS 6
#endif
#include "../mutex/induction.h"

enum { FREE, HELD, MOVED }; /* the word */
enum {
	OUT,
	TRIES, /* spins */
	SAYS,  /* has seen it held, and is about to say that it wants it */
	LOOKS_AGAIN,
	ASKS, /* about to call futex_wait() */
	ASLEEP,
	OWNS,
	LOOKS, /* has freed the lock, and is about to look whether it is wanted */
	WAKES, /* about to say that it is not */
	CALLS, /* ... and then to call futex_wake() */
};

num word, wanted;
struct thread {
	num at, said;
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
}

/* The lock is held: @next. */
void look(struct thread *t, num next)
{
	if (word == HELD) {
		t->at = next;
	} else if (word == FREE) {
		word = HELD;
		t->at = OWNS;
	} else {
		t->at = t->said ? WAKES : OUT;
#ifdef LEAVES_OTHERS
		t->at = OUT;
#endif
		t->said = 0;
	}
}

void own(struct thread *t)
{
#ifdef NO_SECOND_WISH
	t->said = 0;
#endif
	if (t->said) {
		wanted = 1;
		t->said = 0;
		return;
	}
	word = nondet_num() ? MOVED : FREE;
	t->at = LOOKS;
}

void step(num self)
{
	struct thread *t = &threads[self];

	if (!may_get_up(self))
		return;
	switch (t->at) {
	case OUT:
		t->at = TRIES;
		break;
	case TRIES:
		look(t, nondet_num() ? SAYS : TRIES);
		break;
	case SAYS:
#ifndef NO_WISH
		wanted = 1;
#endif
		t->said = 1;
		t->at = LOOKS_AGAIN;
		break;
	case LOOKS_AGAIN:
		look(t, ASKS);
		break;
	case ASKS:
		t->at = wanted ? ASLEEP : TRIES;
#if defined(NO_COMPARISON) || defined(NO_WISH)
		t->at = ASLEEP;
#endif
		break;
	case ASLEEP:
		/* A signal came. */
		t->at = TRIES;
		break;
	case OWNS:
		own(t);
		break;
	case LOOKS:
		t->at = wanted ? WAKES : OUT;
#ifdef WISH_NOT_LOOKED_AT
		t->at = OUT;
#endif
		break;
	case WAKES:
		wanted = 0;
		t->at = CALLS;
		break;
	case CALLS:
		wake_one(ASLEEP);
		t->at = OUT;
		break;
	}
}

/* Somebody who will see to the wish. */
_Bool will_look(num i)
{
	num at = threads[i].at;

	return at == LOOKS_AGAIN || at == OWNS || at == LOOKS || at == WAKES;
}

/* Somebody who will see to those that sleep, though nobody knows that the lock is wanted. */
_Bool on_its_way(num i)
{
	return threads[i].at >= WAKES || (threads[i].said && !sleeps(i));
}

_Bool in_order(num i)
{
	const struct thread *t = &threads[i];

	if (t->at > CALLS || t->said > 1)
		return 0;
	if (t->at == OUT || t->at >= LOOKS)
		return !t->said;
	return t->said || (t->at != LOOKS_AGAIN && t->at != ASKS && t->at != ASLEEP);
}

_Bool invariant(void)
{
	_Bool sleep = 0, known = 0, seen = 0, ok = word <= MOVED && wanted <= 1;
	num owners = 0;

	for (num i = 1; i <= THREADS; i++) {
		sleep |= sleeps(i);
		known |= on_its_way(i);
		seen |= will_look(i);
		ok &= in_order(i);
		owners += threads[i].at == OWNS;
	}
	return ok && owners == (word == HELD) && (!wanted || seen) && (!sleep || wanted || known);
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
	wanted = nondet_num();
	for (num i = 1; i <= THREADS; i++)
		threads[i] = nondet_thread();
}

void check_the_end(void)
{
	if (nobody_moves())
		assert(!sleeps(1) && !sleeps(2) && !sleeps(3));
}
