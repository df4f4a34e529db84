/* SPDX-License-Identifier: MIT */
/*
 * ORDER MTX-1, MTX-3
 * robust.c - owners die, for cbmc: threads lock, unlock, wait, give up, put right what is wrong or do
 * not, wait for a condition, broadcast it with the lock and without, and are killed between any two accesses.
 * Where: put_in(), take_out(), pending(), verdict(), unlock() in mutex_robust.c,
 * lull_mutex_robust_consistent(), take_robust(), futex_wait(), sleep_once(), pass_on(), lull__lock_wait_for(),
 * lock_robust_until(), lull__cond_timedwait_robust(), lull__robust_lock_again()
 *
 * Proved by induction, as wake.c.  Beyond that one's invariant: who owns is on its list or pending;
 * what is wrong is said by the word while nobody has the lock, and by rest while somebody has.
 * The kernel marks the word of a dead thread if that is the owner and is listed or pending, keeps WAITERS,
 * and wakes one; if the lock is pending and nobody has it, it only wakes one.
 * Never: a dead thread has the lock; an owner is not told that one before it died, or is told for nothing;
 * or somebody sleeps while all others are gone.  The broken ones begin anywhere in the invariant.
 * A thread may be killed that was on its way to those that sleep, while another has the lock already and
 * knows nothing of them; the kernel does nothing then.  `missed` is that.  Nobody sleeps for ever for all
 * that, because each sleep has an end, and the sleeper then looks again (futex_wait(), sleep_on_cond()).
 * A thread that waits for a condition is not pending until it is up, even if it has been moved to the sleepers of the lock.
 * That no signal is lost is cond-requeue.c's part: here who sleeps for a condition may sleep for ever.
 * A step is one access or one system call; a thread's own are seen by the kernel in their order.
 * Flags: --stop-on-fail
 * With each of these it must fail:
 * Busted NO_PENDING_LOCK: sc
 * Busted NO_PENDING_UNLOCK: sc
 * Busted NO_PENDING_WAIT: sc
 * Busted MARK_NOT_KEPT: sc
 * Busted WAITERS_NOT_KEPT: sc
 * Busted ENDLESS_SLEEP: sc
 * Busted NO_WAKE: sc
 * Busted NO_ANNOUNCEMENT: sc
 * Busted WOKEN_WITHOUT_WAITERS: sc
 * Busted NO_PENDING_AGAIN: sc
 */
#include "induction.h"

#define DIED	4

enum {
	OUT,	   /* has not got the lock and does not want it */
	DREAMS,	   /* asleep for the condition */
	UP,	   /* ... and was woken, or got up */
	TRIES,	   /* spins, or has just got up */
	ASKS,	   /* about to call futex_wait() */
	ASLEEP,
	PASSES_ON, /* gives up after it was woken */
	QUITS,	   /* gives up */
	TOOK,	   /* has the lock, and may have to write down what the word said */
	MARKED,	   /* has done that */
	LISTED,
	OWNS,
	MOVES,	   /* has said that others sleep, and is about to move them there */
	LETS_GO,   /* about to leave the list */
	UNLISTED,  /* about to release */
	WAKES,	   /* has released, and is about to wake one */
	DYING,	   /* the kernel is about to wake one in its name */
	DEAD,
};

num word, inconsistent, lost;
num wrong;  /* what it guards is: an owner died */
num missed;
struct thread {
	num at, woken, seen;
	num pending, listed; /* the lock, in this thread's list */
	num waits;	     /* for a condition, until it is up */
	num died;	     /* the word said so when it took the lock */
	num told;	     /* -EOWNERDEAD */
	num refused;	     /* -ENOTRECOVERABLE */
} threads[THREADS + 1];
struct thread nondet_thread(void);

_Bool asleep(num i)
{
	return threads[i].at == ASLEEP;
}

_Bool sleeps(num i)
{
	return asleep(i) || threads[i].at == DREAMS;
}

_Bool is_there(num i, num where)
{
	return threads[i].at == where;
}

void get_up(num i)
{
	threads[i].at = threads[i].waits ? UP : TRIES;
	threads[i].woken = 1;
}

_Bool owns(num i)
{
	return threads[i].at >= TOOK && threads[i].at <= UNLISTED;
}

/* Somebody who will see to those that sleep. */
_Bool on_its_way(num i)
{
	const struct thread *t = &threads[i];

	return t->at == PASSES_ON || t->at == WAKES || t->at == DYING ||
	       ((t->at == UP || t->at == TRIES || t->at == ASKS) && t->woken);
}

void die(num self)
{
	struct thread *t = &threads[self];
	_Bool mine = (word & TID) == self, carried = on_its_way(self);
	_Bool up = t->at == UP, known = (word & TID) && (word & WAITERS);

#ifdef NO_PENDING_WAIT
	if (t->at < TOOK)
		t->pending = 0;
#endif
	wrong |= mine;
	t->at = DEAD;
	if (mine && (t->pending || t->listed)) {
#ifdef WAITERS_NOT_KEPT
		word = DIED;
#else
		t->at = word & WAITERS ? DYING : DEAD;
		word = (word & WAITERS) | DIED;
#endif
	} else if (t->pending && !(word & TID)) {
		t->at = DYING;
	} else if (carried && !known && (up || (word & TID))) {
		missed = 1;
	}
	t->pending = 0;
	t->listed = 0;
	t->waits = 0;
}

void try(struct thread *t, num self)
{
	if (!(word & TID)) {
		t->died = word & DIED;
#ifdef WOKEN_WITHOUT_WAITERS
		t->woken = 0;
#endif
		word = self | (word & WAITERS) | (t->woken ? WAITERS : 0);
#ifdef NO_PENDING_LOCK
		t->pending = 0;
#endif
		t->at = TOOK;
	} else if (nondet_num()) {
		t->at = t->woken ? PASSES_ON : QUITS;
	} else if (nondet_num()) {
		word |= WAITERS;
		t->seen = word;
		t->at = ASKS;
	}
}

void release(struct thread *t)
{
	t->at = word & WAITERS ? WAKES : QUITS;
	word = 0;
}

void use(struct thread *t)
{
	if (t->told && nondet_num()) {
		inconsistent = 0;
		t->told = 0;
		wrong = 0;
		return;
	}
	if (nondet_num()) {
#ifndef NO_ANNOUNCEMENT
		word |= WAITERS;
#endif
		t->at = MOVES;
		return;
	}
	if (inconsistent)
		lost = 1;
	t->waits = !!nondet_num();
	t->at = LETS_GO;
}

void move_all(void)
{
	for (num i = 1; i <= THREADS; i++)
		if (is_there(i, DREAMS))
			threads[i].at = ASLEEP;
}

void pass_on(struct thread *t)
{
	t->at = word & TID ? QUITS : WAKES;
	if (word & TID)
		word |= WAITERS;
}

void begin(struct thread *t)
{
	if (nondet_num()) { /* broadcasts: wakes one and moves the others */
		wake_one(DREAMS);
		move_all();
		return;
	}
	t->woken = 0;
	t->pending = 1;
	t->at = TRIES;
}

void get_up_alone(struct thread *t)
{
	t->at = t->waits ? UP : TRIES;
}

void step(num self)
{
	struct thread *t = &threads[self];

	if (nondet_num() && t->at < DYING) {
		die(self);
		return;
	}
	if (!may_get_up(self))
		return;
	switch (t->at) {
	case OUT:
		begin(t);
		break;
	case DREAMS:
		get_up_alone(t);
		break;
	case UP:
#ifndef NO_PENDING_AGAIN
		t->pending = 1;
#endif
		t->waits = 0;
		t->at = TRIES;
		break;
	case TRIES:
		try(t, self);
		break;
	case ASKS:
		t->at = word == t->seen ? ASLEEP : TRIES;
		break;
	case ASLEEP:
		get_up_alone(t); /* its time is up, a signal came, or it looks again */
		break;
	case PASSES_ON:
		pass_on(t);
		break;
	case QUITS:
		t->pending = 0;
		t->woken = 0;
		t->at = t->waits ? DREAMS : OUT;
		break;
	case TOOK:
#ifndef MARK_NOT_KEPT
		if (t->died)
			inconsistent = 1;
#endif
		t->pending = 1;
		t->at = MARKED;
		break;
	case MARKED:
		t->told = inconsistent;
		t->refused = lost;
		t->listed = 1;
		t->at = LISTED;
		break;
	case LISTED:
		assert(t->refused || t->told == wrong);
		t->pending = 0;
		t->at = t->refused ? LETS_GO : OWNS;
		break;
	case OWNS:
		use(t);
		break;
	case MOVES:
		move_all();
		t->at = OWNS;
		break;
	case LETS_GO:
#ifndef NO_PENDING_UNLOCK
		t->pending = 1;
#endif
		t->listed = 0;
		t->at = UNLISTED;
		break;
	case UNLISTED:
		release(t);
		break;
	case WAKES:
#ifndef NO_WAKE
		wake_one(ASLEEP);
#endif
		t->at = QUITS;
		break;
	case DYING:
		wake_one(ASLEEP);
		t->at = DEAD;
		break;
	}
}

_Bool owner_in_order(const struct thread *t)
{
	switch (t->at) {
	case TOOK:
		return lost || wrong == (t->died || inconsistent);
	case MARKED:
		return lost || wrong == inconsistent;
	case LISTED:
		return t->refused == lost &&
		       (lost || (wrong == inconsistent && t->told == inconsistent));
	case OWNS:
	case MOVES:
		return !lost && wrong == inconsistent && t->told == inconsistent;
	default:
		return lost || (!wrong && !inconsistent);
	}
}

_Bool in_order(num i)
{
	const struct thread *t = &threads[i];
	_Bool named = (word & TID) == i, dreams = t->at == DREAMS || t->at == UP;

	if (owns(i) && !(named && (t->pending || t->listed) && owner_in_order(t)))
		return 0;
	if (t->waits ? !dreams && t->at < LETS_GO && t->at != QUITS && t->at != ASLEEP : dreams)
		return 0;
	return t->at <= DEAD && t->waits <= 1 && (t->at != MOVES || (word & WAITERS)) && (owns(i) || !named) && t->told <= 1 && t->refused <= 1 &&
	       (t->at != ASKS || ((t->seen & WAITERS) && (t->seen & TID))) &&
	       t->listed == (t->at >= LISTED && t->at <= LETS_GO) &&
	       t->pending == ((t->at >= TRIES && t->at <= LISTED && !(t->at == ASLEEP && t->waits)) ||
			      t->at == UNLISTED || t->at == WAKES);
}

_Bool invariant(void)
{
	_Bool sleep = 0, known = ((word & WAITERS) && (word & TID)) || missed;
	_Bool ok = word < 16 && !((word & TID) && (word & DIED)) && inconsistent <= 1 &&
		   lost <= 1 && wrong <= 1 && missed <= 1;

	for (num i = 1; i <= THREADS; i++) {
		sleep |= asleep(i);
		known |= on_its_way(i);
		ok = ok && in_order(i);
	}
	if (!(word & TID))
		ok = ok && (lost || (wrong == !!(word & DIED) && inconsistent <= wrong));
	return ok && (!sleep || known);
}

_Bool nobody_moves(void)
{
	_Bool still = 1;

	for (num i = 1; i <= THREADS; i++)
		still &= threads[i].at == OUT || threads[i].at == DEAD || sleeps(i);
	return still;
}

void anything(void)
{
	word = nondet_num();
	inconsistent = nondet_num();
	lost = nondet_num();
	wrong = nondet_num();
	missed = STEPS == 1 && nondet_num();
	for (num i = 1; i <= THREADS; i++)
		threads[i] = nondet_thread();
}

void check_the_end(void)
{
#ifdef ENDLESS_SLEEP
	missed = 0;
#endif
	if (nobody_moves())
		for (num i = 1; i <= THREADS; i++)
			assert((word & TID) != i && (!asleep(i) || missed));
}
