/* SPDX-License-Identifier: MIT */
/*
 * ORDER MTX-3, MTX-4, CND-3
 * cond-requeue.c - waiting for a condition, for cbmc: threads lock, unlock, wait, signal and broadcast as
 * often as they like, with the lock and without, and get up by themselves at any time.
 * Where: wait_until() in cond.c, lull__cond_timedwait_robust(), begin_wait(), cond_enter(), cond_leave(), cond_take(),
 * announce(), cond_wake(), take() in mutex.c, sleep_once(), forget_sleepers(), free_private(), lull__mutex_unlock_slow()
 *
 * A thread that signals without the lock may be killed at any time (SHARED). A robust mutex has sleepers on its word, and
 * no count; robust.c has the deaths of its owners.
 *
 * Proved by induction, as wake.c.  Beyond that one's invariant: who began to wait before a broadcast
 * has seen an older count, or sleeps and is about to be woken or moved; and if not `under_way`, there are no more
 * waiters that no signal has been for than `unsignalled` says (`full`: any number).
 * Never: somebody sleeps for the lock, or for a condition that was broadcast since, while all others are gone.
 * Nor does a signal or a broadcast return without a call while somebody sleeps for the condition or is about to;
 * nor does `unsignalled` say more than there are waiters.
 * The broken ones begin anywhere in the invariant, and must come to such an end.
 * Those that sleep for the lock do so on its own count (`stale`: it has changed since this thread read it); nobody is
 * counted among those that spin, see wake.c.
 * `old` stands for the condition's count: it has changed since this thread read it.  A step is one access or one
 * system call; all are read-modify-writes, or ordered by the lock (MTX-1) or by CND-3.
 * Flags: --stop-on-fail
 * With each of these it must fail:
 * Busted NO_ANNOUNCEMENT: sc
 * Busted NOBODY_WOKEN: sc
 * Busted WOKEN_WITHOUT_WAITERS: sc
 * Busted COUNT_AFTER_UNLOCK: sc
 * Busted NO_RETRY: sc
 * Busted COUNTED_FIRST: sc
 * Busted TAKES_OFF_LAST: sc
 * Busted TAKES_TWO_OFF: sc
 * Busted TAKES_OFF_FULL: sc
 * Busted SIGNAL_DOES_NOT_WAKE: sc
 * Busted TIMEOUT_TAKES_OFF: sc
 * Busted TIMEOUT_FORGETS: sc
 * Busted UNDER_WAY_NOT_SEEN: sc
 * Busted UNDER_WAY_OVER_EARLY: sc
 * Busted TWO_UNDER_WAY: sc
 * Busted ALL_TAKE_OFF: sc
 * Busted ENDS_ANOTHERS_WAY: sc
 */
#if defined(TAKES_TWO_OFF) || defined(TAKES_OFF_FULL) || defined(NO_ANNOUNCEMENT)
#define STEPS 5 /* one signal, from its beginning to its end, by one thread */
#endif
#include "induction.h"

enum {
	OUT,	    /* has not got the lock and does not want it */
	TRIES,	    /* spins, or has just got up */
	READ,	    /* has read the lock's count, and is about to say that it sleeps */
	ASKS,	    /* about to sleep for the lock */
	ASLEEP,
	OWNS,
	ENTERS,	    /* has read the count, and is about to say that it waits */
	LEAVES,	    /* ... and to unlock and wait */
	CLEARS,	    /* unlocks: has seen WAITERS */
	CHANGES,    /* ... has taken it back, and is about to change the lock's count */
	FREES,
	WAKES,	    /* has unlocked, and is about to wake one */
	WAITS,	    /* about to sleep for the condition */
	DREAMS,	    /* asleep for the condition */
	UP,	    /* about to be no waiter any more */
	COUNTS,	    /* signals: has taken off, may have the lock */
	ANNOUNCES,  /* has the count */
	MOVES,
	AGAIN,	    /* ... the count was another's: about to read it anew */
	IS_DONE,    /* about to say that it is not under way any more */
};

num word, unsignalled, under_way;
num full = 1; /* `unsignalled` counts no further */
struct thread {
	num at, woken, seen, stale;
	num owes;   /* it unlocks, and will wake one */
	num waits;  /* is a waiter, until it is up and says so */
	num old;    /* the count is not what it was */
	num due;    /* there has been a broadcast since it waits */
	num all;    /* it broadcasts */
	num stranger; /* it signals without the lock */
	num took;     /* it signals, and has set under_way */
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

num waiters(void)
{
	return threads[1].waits + threads[2].waits + threads[3].waits;
}

void get_up_alone(num i)
{
	threads[i].at = threads[i].waits ? UP : TRIES;
#ifdef TIMEOUT_TAKES_OFF
	if (threads[i].waits && unsignalled)
		unsignalled--;
#endif
}

void get_up(num i)
{
	threads[i].at = threads[i].waits ? UP : TRIES;
	threads[i].woken = 1;
}

void take_off(_Bool all)
{
	if (all)
		unsignalled = 0;
#ifndef TAKES_OFF_FULL
	else if (unsignalled == full)
		return;
#endif
	else if (unsignalled)
		unsignalled--;
#ifdef TAKES_TWO_OFF
	if (unsignalled)
		unsignalled--;
#endif
}

_Bool is_sleepy(num i)
{
	const struct thread *t = &threads[i];

	return t->waits && !t->old && t->at >= LEAVES && t->at <= WAITS;
}

/* Those that a signal has to be for: who is about to sleep for the condition, and who does. */
num to_be_woken(void)
{
	num sum = 0;

	for (num i = 1; i <= THREADS; i++)
		sum += is_sleepy(i) || dreams(i);
	return sum;
}

void count(struct thread *t)
{
	for (num i = 1; i <= THREADS; i++) {
		threads[i].old = 1;
		if (threads[i].waits && t->all)
			threads[i].due = 1;
	}
	t->old = 0;
	t->at = ANNOUNCES;
#ifdef UNDER_WAY_OVER_EARLY
	if (t->took)
		under_way = 0;
#endif
}

void be_counted(void)
{
	if (unsignalled < full)
		unsignalled++;
}

void be_gone(struct thread *t)
{
	t->waits = 0;
	t->due = 0;
	t->at = TRIES;
#ifndef TIMEOUT_FORGETS
	if (unsignalled > waiters())
		unsignalled = waiters();
#endif
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
		t->stale = 0;
		t->at = READ;
	}
}

void say_so(struct thread *t)
{
	t->at = word ? ASKS : TRIES;
	if (word)
		word |= WAITERS;
}

void change(struct thread *t)
{
	for (num i = 1; i <= THREADS; i++)
		threads[i].stale = 1;
	t->at = FREES;
}

void release(struct thread *t)
{
	if (word != t->seen) {
		t->at = LEAVES;
		return;
	}
	word = 0;
	if (t->owes)
		t->at = WAKES;
	else
		away(t);
}

void signal(struct thread *t)
{
#ifdef UNDER_WAY_NOT_SEEN
	if (!unsignalled) {
#else
	if (!waiters() || !(unsignalled || under_way)) {
#endif
		assert(!to_be_woken());
		return;
	}
	t->took = !under_way;
#ifdef TWO_UNDER_WAY
	t->took = 1;
#endif
#ifdef ALL_TAKE_OFF
	take_off(t->all);
#elif !defined(TAKES_OFF_LAST)
	if (t->took)
		take_off(t->all);
#endif
	under_way = 1;
	t->at = COUNTS;
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
		t->at = ENTERS;
		t->woken = 0;
		t->old = 0;
#ifdef COUNTED_FIRST
		t->waits = 1;
		be_counted();
#endif
	} else if (what <= 3) {
		t->all = what == 2;
		signal(t);
	}
}

void enter(struct thread *t)
{
	t->at = LEAVES;
#ifdef COUNTED_FIRST
	t->old = 0;
	return;
#endif
	t->waits = 1;
	be_counted();
}

void announce(struct thread *t, num self)
{
	t->stranger = (word & TID) != self;
#ifdef TAKES_OFF_LAST
	if (t->took)
		take_off(t->all);
#endif
#ifndef NO_ANNOUNCEMENT
	if (!t->stranger)
		word |= WAITERS;
#endif
	t->at = MOVES;
}

/* Move one of those that sleep for the condition; there may be none. */
void move_one(void)
{
	num who = any_thread();
	_Bool done = !dreams(1) && !dreams(2) && !dreams(3);

	for (num i = 1; i <= THREADS; i++)
		if (i == who && dreams(i)) {
			threads[i].at = ASLEEP;
			done = 1;
		}
	__CPROVER_assume(done);
}

void end_signal(struct thread *t)
{
	_Bool ends = t->took;

#ifdef ENDS_ANOTHERS_WAY
	ends = 1;
#endif
	t->at = ends ? IS_DONE : t->stranger ? OUT : OWNS;
}

void move(struct thread *t)
{
	if (t->old) {
#ifdef NO_RETRY
		end_signal(t);
#else
		t->at = AGAIN;
#endif
		return;
	}
	end_signal(t);
#ifdef SIGNAL_DOES_NOT_WAKE
	if (!t->all)
		return;
#endif
#ifndef NOBODY_WOKEN
	if (t->stranger)
		wake_one(DREAMS);
#endif
	if (!t->all && !t->stranger)
		move_one();
	for (num i = 1; i <= THREADS; i++)
		if (dreams(i) && t->all)
			threads[i].at = ASLEEP;
}

_Bool signals(num i)
{
	return threads[i].at >= COUNTS;
}

/* Those that a broadcast has not got to yet have to wait for the next one, or look again. */
void be_killed(struct thread *t)
{
	t->at = OUT;
	for (num i = 1; i <= THREADS; i++)
		threads[i].due &= !t->all;
}

void step(num self)
{
	struct thread *t = &threads[self];

	if (!may_get_up(self))
		return;
#if STEPS == 5
	if (self != 1)
		return;
#endif
	if (signals(self) && (word & TID) != self && nondet_num()) {
		be_killed(t);
		return;
	}
	switch (t->at) {
	case OUT:
	case OWNS:
		begin(t);
		break;
	case TRIES:
		try(t, self);
		break;
	case READ:
		say_so(t);
		break;
	case ASKS:
		t->at = t->stale ? TRIES : ASLEEP;
		break;
	case ASLEEP:
	case DREAMS:
		get_up_alone(self); /* its time is up, or a signal came */
		break;
	case ENTERS:
		enter(t);
		break;
	case LEAVES:
		t->seen = word;
		t->at = (word & WAITERS) || t->owes ? CLEARS : FREES;
		break;
	case CLEARS:
		word &= ~WAITERS;
		t->seen = word;
		t->owes = 1;
		t->at = CHANGES;
		break;
	case CHANGES:
		change(t);
		break;
	case FREES:
		release(t);
		break;
	case WAKES:
		wake_one(ASLEEP);
		t->owes = 0;
		away(t);
		break;
	case WAITS:
		if (t->old)
			get_up_alone(self);
		else
			t->at = DREAMS;
		break;
	case UP:
		be_gone(t);
		break;
	case COUNTS:
		count(t);
		break;
	case ANNOUNCES:
		announce(t, self);
		break;
	case MOVES:
		move(t);
		break;
	case AGAIN:
		t->old = 0;
		t->at = ANNOUNCES;
		break;
	case IS_DONE:
		under_way = 0;
		t->at = t->stranger ? OUT : OWNS;
		break;
	}
}

/* Somebody who will see to those that sleep for the lock. */
_Bool on_its_way(num i)
{
	const struct thread *t = &threads[i];

	return t->at == WAKES || t->owes || ((t->at == UP || (t->at >= TRIES && t->at <= ASKS)) && t->woken);
}

/* Signals or broadcasts, has changed the count already, and has yet to wake. */
_Bool has_counted(num i, _Bool all)
{
	return threads[i].at >= ANNOUNCES && threads[i].at <= AGAIN && threads[i].all == all;
}

_Bool any_broadcast(void)
{
	return has_counted(1, 1) || has_counted(2, 1) || has_counted(3, 1);
}

_Bool in_order(num i)
{
	const struct thread *t = &threads[i];
	_Bool named = (word & TID) == i, waits = t->at == WAITS || t->at == DREAMS || t->at == UP;
	_Bool may_wait = waits || (t->at >= LEAVES && t->at <= WAKES) || t->at == ASLEEP;
#ifdef COUNTED_FIRST
	may_wait |= t->at == ENTERS;
#endif

	return t->at <= IS_DONE && t->woken <= 1 && t->waits <= 1 && t->all <= 1 && t->took <= 1 &&
	       t->stale <= 1 && t->owes <= 1 && (!t->owes || (t->at >= LEAVES && t->at <= WAKES)) &&
	       (t->at != CHANGES || t->owes) && ((t->at != FREES && t->at != CHANGES) || (!(t->seen & WAITERS) && (t->seen & TID) == i)) &&
	       (t->at != ASKS || t->stale || (word & WAITERS) || threads[1].at == CHANGES || threads[2].at == CHANGES ||
		threads[3].at == CHANGES) &&
	       (signals(i) || named == (t->at >= OWNS && t->at <= FREES)) &&
	       ((t->at != MOVES && t->at != AGAIN && t->at != IS_DONE) || t->stranger == !named) &&
	       (t->at != IS_DONE || t->took) &&
	       (t->at != MOVES || t->stranger || (word & WAITERS)) &&
	       (t->waits ? may_wait : !waits && !t->due) &&
	       (!t->due || t->old || t->at == UP) && (!t->due || t->at != DREAMS || any_broadcast()) &&
	       (!t->woken || t->at == UP || (!t->waits && t->at != ENTERS));
}

/*
 * `unsignalled` says enough if no signal is under way. The one that is has yet to be for some: of those about to sleep,
 * who see a count that changes, and of those asleep, of whom it wakes one. Nothing is said after it was killed.
 */
_Bool enough(void)
{
	num asleep = dreams(1) + dreams(2) + dreams(3), one = asleep > 0, owed = 0, ways = 0;
	_Bool for_all = 0;

	for (num i = 1; i <= THREADS; i++)
		if (signals(i) && threads[i].took) {
			ways++;
			for_all = threads[i].at == COUNTS && threads[i].all;
			owed = threads[i].at == COUNTS ? 1 : has_counted(i, 1) ? asleep : has_counted(i, 0) ? one : 0;
		}
	return full >= 1 && full <= THREADS && unsignalled <= full && unsignalled <= waiters() && under_way <= 1 &&
	       ways <= under_way &&
	       (ways < under_way || for_all || unsignalled == full || unsignalled + owed >= to_be_woken());
}

_Bool invariant(void)
{
	_Bool sleep = 0, known = word & WAITERS, ok = word < 16 && (!word || (word & TID)) && !(word & 4);

	for (num i = 1; i <= THREADS; i++) {
		sleep |= asleep(i);
		known |= on_its_way(i);
		ok = ok && in_order(i);
	}
	return ok && (!sleep || known) && enough();
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
	unsignalled = nondet_num();
	under_way = nondet_num();
	full = nondet_num();
	for (num i = 1; i <= THREADS; i++)
		threads[i] = nondet_thread();
}

void check_the_end(void)
{
	assert(unsignalled <= waiters());
	if (!under_way)
		assert(unsignalled == full || to_be_woken() <= unsignalled);
	if (nobody_moves())
		for (num i = 1; i <= THREADS; i++)
			assert(!asleep(i) && !(dreams(i) && threads[i].due));
}
