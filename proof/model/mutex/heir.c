/* SPDX-License-Identifier: MIT */
/*
 * ORDER MTX-2, MTX-3
 * heir.c - the heir, for cbmc: threads lock and unlock as often as they like, lose patience, become
 * the heir, sleep, give up, and hand the lock over, at any time.
 * Where: become_heir(), withdraw_heir(), lull__lock_is_mine(), sleep_once(), futex_wait(), give_up(), lull__lock_wait_for(),
 * hand_over(), forget_sleepers(), free_private(), lull__mutex_unlock_slow()
 *
 * Proved by induction, as wake.c.  Beyond that one's invariant: a sleeping heir is known by HEIR or
 * is about to be woken; a thread that is taken out of rest stays until it has the lock; who has the
 * lock is not in rest for longer than it takes to leave it, and a thread that has gone is not in rest.
 * The broken ones begin anywhere in the invariant.
 * An heir's sleep is not a waiter's: it is on the word, and theirs on the count (`old`: it has changed since this thread read
 * it). The wake-up calls for the one do not reach the other. Nobody is counted among those that spin; see wake.c.
 * Never: the lock is handed to a thread that does not wait for it, or that has been in a signal handler since
 * before the unlock began; or somebody sleeps while all others are gone.
 * Which of those that lose patience becomes the heir is left open, as it hangs on priorities.
 * Each step is one access or one system call.  HEIR is set after rest, but nothing orders the two, so the
 * unlock may see HEIR and come too early to see the name; it then does as if there was none.
 * Flags: --stop-on-fail
 * With each of these it must fail:
 * Busted HEIR_NOBODY: sc
 * Busted STAYS_IN_REST: sc
 * Busted LEAVES_UNASKED: sc
 * Busted NO_HEIR_WAKE: sc
 * Busted WAKES_ONE_HEIR: sc
 * Busted GIVEN_WITHOUT_WAITERS: sc
 * Busted GIVEN_UNASKED: sc
 */
#ifdef GIVEN_WITHOUT_WAITERS
#define STEPS 5
#endif
#include "induction.h"

#define HEIR	4

enum {
	OUT,	   /* has not got the lock and does not want it */
	TRIES,	   /* spins, or has just got up */
	READ,	   /* has read the count, and is about to say that it sleeps */
	ASKS,	   /* about to call futex_wait() */
	ASLEEP,
	HANDLES,   /* is in a signal handler, for as long as that likes */
	WITHDRAWS, /* out of time: about to leave rest */
	AWAITS,	   /* out of time, and being handed the lock */
	GOT,	   /* has the lock, and may be in rest */
	OWNS,
	ASKS_HEIR, /* saw HEIR: about to wake whoever sleeps as the heir */
	LOOKS,	   /* has woken one: about to look into rest */
	GIVES,	   /* has taken somebody out of rest */
	CLEARS,	   /* ... none: about to take WAITERS back */
	COUNTS,	   /* ... and to change the count */
	RELEASES,  /* about to free the lock */
	WAKES,	   /* about to make the calls that `calls` says */
	PASSES_ON,
};

num word, rest;
struct thread {
	num at, woken, heir, old;
	num seen;  /* the word that it expects */
	num to;	   /* to whom it gives the lock */
	num calls; /* it makes, or will: WAITERS: wake one; HEIR: wake all heirs */
} threads[THREADS + 1];
struct thread nondet_thread(void);
_Bool shut[THREADS + 1]; /* has it been in its handler since before the unlock began? */
_Bool nondet_bool(void);

_Bool sleeps(num i)
{
	return threads[i].at == ASLEEP;
}

_Bool asleep(num i, _Bool heir)
{
	return sleeps(i) && threads[i].heir == heir;
}

/* A waiter's bed or an heir's. */
_Bool is_there(num i, num heir)
{
	return asleep(i, heir);
}

void get_up(num i)
{
	threads[i].at = TRIES;
	threads[i].woken = 1;
}

/* Returns whether there was one. */
_Bool wake_heirs(void)
{
	_Bool any = 0;

	for (num i = 1; i <= THREADS; i++)
		if (asleep(i, 1)) {
			get_up(i);
			any = 1;
		}
	return any;
}

void wake(struct thread *t)
{
	if (t->calls & WAITERS) {
		wake_one(0);
		t->calls &= HEIR;
	} else if (t->calls) {
#ifdef WAKES_ONE_HEIR
		wake_one(1);
#else
		wake_heirs();
#endif
		t->calls = 0;
	}
	if (!t->calls)
		t->at = OUT;
}

void try(struct thread *t, num self)
{
	if (!word) {
		word = self | (t->woken ? WAITERS : 0);
		t->at = GOT;
	} else if ((word & TID) == self) {
		t->at = GOT;
	} else if (nondet_num()) {
		t->at = WITHDRAWS;
	} else if (!t->heir && !rest && nondet_num()) {
		rest = self;
		t->heir = 1;
	} else if (nondet_num()) {
		t->old = 0;
		t->at = READ;
	}
}

void say_so(struct thread *t, num self)
{
	if (!word || (word & TID) == self) {
		t->at = TRIES;
		return;
	}
	word |= WAITERS | (t->heir ? HEIR : 0);
	t->seen = word;
	t->at = ASKS;
}

void leave_rest(struct thread *t, num self)
{
#ifndef STAYS_IN_REST
	if (rest == self)
		rest = 0;
#endif
	t->heir = 0;
}

void lull__shazptr_withdraw(struct thread *t, num self)
{
	_Bool late = t->heir && rest != self;

	leave_rest(t, self);
	t->at = late ? AWAITS : t->woken ? PASSES_ON : OUT;
#ifdef LEAVES_UNASKED
	t->at = t->woken ? PASSES_ON : OUT;
#endif
}

/* It will not be handed over. */
void begin_release(struct thread *t)
{
	t->calls |= t->seen & (WAITERS | HEIR);
	t->at = t->calls ? CLEARS : RELEASES;
}

void clear(struct thread *t)
{
	word &= ~WAITERS;
	t->seen = word;
	t->calls |= WAITERS | (word & HEIR);
	t->at = COUNTS;
}

void count(struct thread *t)
{
	for (num i = 1; i <= THREADS; i++)
		threads[i].old = 1;
	t->at = RELEASES;
}

void release(struct thread *t)
{
	if (word != t->seen) {
		t->at = OWNS;
		return;
	}
	word = 0;
#ifdef NO_HEIR_WAKE
	t->calls &= WAITERS;
#endif
	t->at = t->calls ? WAKES : OUT;
}

void ask_heir(struct thread *t)
{
	_Bool any = wake_heirs();

#ifdef GIVEN_UNASKED
	any = 1;
#endif
	if (any)
		t->at = LOOKS;
	else
		begin_release(t);
}

void look(struct thread *t)
{
	_Bool too_early = nondet_num();

	t->to = too_early ? 0 : rest;
	if (!too_early)
		rest = 0;
	if (t->to)
		t->at = GIVES;
	else
		begin_release(t);
#ifdef HEIR_NOBODY
	if (!t->to)
		t->to = any_thread();
	t->at = GIVES;
#endif
}

void give(struct thread *t)
{
	for (num i = 1; i <= THREADS; i++)
		assert(i != t->to || !shut[i]);
	word = t->to | WAITERS;
#ifdef GIVEN_WITHOUT_WAITERS
	word = t->to;
#endif
	t->calls = HEIR;
	t->at = WAKES;
}

void pass_on(struct thread *t)
{
	t->at = word ? OUT : WAKES;
	t->calls = word ? 0 : WAITERS;
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
		t->heir = 0;
		break;
	case TRIES:
		if (nondet_bool())
			t->at = HANDLES;
		else
			try(t, self);
		break;
	case READ:
		say_so(t, self);
		break;
	case ASKS:
		t->at = (t->heir ? word == t->seen : !t->old) ? ASLEEP : TRIES;
		break;
	case ASLEEP:
		t->at = nondet_bool() ? HANDLES : TRIES; /* a signal came, or its time is up */
		break;
	case HANDLES:
		shut[self] = 0;
		t->at = TRIES;
		break;
	case WITHDRAWS:
		lull__shazptr_withdraw(t, self);
		break;
	case AWAITS:
		assert(word & TID);
		if ((word & TID) == self) {
			t->calls = 0;
			t->at = OWNS;
		}
		break;
	case GOT:
		leave_rest(t, self);
		t->calls = 0;
		t->at = OWNS;
		break;
	case OWNS:
		for (num i = 1; i <= THREADS; i++)
			shut[i] = threads[i].at == HANDLES;
		t->seen = word;
		if (word & HEIR)
			t->at = ASKS_HEIR;
		else
			begin_release(t);
		break;
	case ASKS_HEIR:
		ask_heir(t);
		break;
	case LOOKS:
		look(t);
		break;
	case GIVES:
		give(t);
		break;
	case CLEARS:
		clear(t);
		break;
	case COUNTS:
		count(t);
		break;
	case RELEASES:
		release(t);
		break;
	case WAKES:
		wake(t);
		break;
	case PASSES_ON:
		pass_on(t);
		break;
	}
}

_Bool waits(num i)
{
	return threads[i].at >= TRIES && threads[i].at <= WITHDRAWS;
}

_Bool owns(num i)
{
	return threads[i].at >= GOT && threads[i].at <= RELEASES;
}

/* Thread i is being handed the lock: somebody is at it. */
_Bool given_to(num i)
{
	return (threads[1].at == GIVES && threads[1].to == i) ||
	       (threads[2].at == GIVES && threads[2].to == i) ||
	       (threads[3].at == GIVES && threads[3].to == i);
}

_Bool wakes(num call)
{
	return (threads[1].at == WAKES && (threads[1].calls & call)) ||
	       (threads[2].at == WAKES && (threads[2].calls & call)) ||
	       (threads[3].at == WAKES && (threads[3].calls & call));
}

/* Somebody who will see to those that sleep and are no heirs. */
_Bool on_its_way(num i)
{
	const struct thread *t = &threads[i];

	return t->at == PASSES_ON || (owns(i) && t->at != GOT && (t->calls & WAITERS)) || (waits(i) && t->at != ASLEEP && t->woken);
}

/* The owner will wake a sleeper. */
_Bool owes(void)
{
	return (threads[1].at > GOT && owns(1) && (threads[1].calls & WAITERS)) || (threads[2].at > GOT && owns(2) && (threads[2].calls & WAITERS)) ||
	       (threads[3].at > GOT && owns(3) && (threads[3].calls & WAITERS));
}

_Bool is_shut(num i)
{
	return (i == 1 && shut[1]) || (i == 2 && shut[2]) || (i == 3 && shut[3]);
}

/* What is said of a thread that owns, or is to own. */
_Bool owner_in_order(num i)
{
	const struct thread *t = &threads[i];
	_Bool named = (word & TID) == i, called = waits(i) && t->heir && rest != i;

	if (owns(i))
		return named && ((t->at != COUNTS && t->at != RELEASES) || 
				  (!(t->seen & WAITERS) && (t->seen & TID) == i && !(t->seen & HEIR & ~t->calls))) &&
		       (t->at != CLEARS || t->calls) && (t->at != COUNTS || (t->calls & WAITERS)) &&
		       ((t->at != ASKS_HEIR && t->at != LOOKS) || (word & t->seen & HEIR)) &&
		       (t->at != LOOKS || !is_shut(rest)) &&
		       (t->at != GIVES || (!is_shut(t->to) && t->to && t->to <= THREADS && t->to != i &&
					   rest != t->to && (word & HEIR) &&
					   (threads[t->to].at == AWAITS ||
					    (waits(t->to) && threads[t->to].heir))));
	return named + given_to(i) == (called || t->at == AWAITS) && (!named || (word & WAITERS));
}

_Bool in_order(num i)
{
	const struct thread *t = &threads[i];
	num known = WAITERS | (t->heir ? HEIR : 0);

	return t->at <= PASSES_ON && t->old <= 1 && !(t->calls & ~(WAITERS | HEIR)) && (!shut[i] || t->at == HANDLES) && t->woken <= 1 && t->heir <= 1 && owner_in_order(i) &&
	       (rest != i || (t->heir && (waits(i) || t->at == GOT))) &&
	       (t->at != WAKES || t->calls) &&
	       (t->at != ASKS || t->heir || t->old || (word & WAITERS) || threads[1].at == COUNTS || threads[2].at == COUNTS ||
		threads[3].at == COUNTS) &&
	       (t->at != ASKS || ((t->seen & known) == known && (t->seen & TID) &&
				  (t->seen & TID) != i)) &&
	       (!asleep(i, 1) || (word & HEIR) || wakes(HEIR)) &&
	       (!asleep(i, 1) || (word & TID) != i || wakes(HEIR));
}

_Bool invariant(void)
{
	_Bool sleep = 0, known = (word & WAITERS) || wakes(WAITERS);
	_Bool ok = word < 16 && (!word || (word & TID)) && (!(word & HEIR) || (word & WAITERS) || owes()) && rest <= THREADS;

	for (num i = 1; i <= THREADS; i++) {
		sleep |= asleep(i, 0);
		known |= on_its_way(i);
		ok = ok && in_order(i);
	}
	return ok && (!sleep || known);
}

_Bool nobody_moves(void)
{
	_Bool still = 1;

	for (num i = 1; i <= THREADS; i++)
		still &= threads[i].at == OUT || threads[i].at == ASLEEP ||
			 (threads[i].at == AWAITS && (word & TID) != i);
	return still;
}

void anything(void)
{
	word = nondet_num();
	rest = nondet_num();
	for (num i = 1; i <= THREADS; i++) {
		threads[i] = nondet_thread();
		shut[i] = nondet_bool();
	}
}

void check_the_end(void)
{
	if (nobody_moves())
		for (num i = 1; i <= THREADS; i++)
			assert(threads[i].at == OUT && !word);
}
