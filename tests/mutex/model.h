/* SPDX-License-Identifier: MIT */
/*
 * model.h - a plain model of a mutex of any kind, its condition variable, and the threads that use them, for
 * hostile/steps.c: who has the lock, who sleeps for what, and what a step's call returns.
 */
#ifndef LULL_TEST_MUTEX_MODEL_H
#define LULL_TEST_MUTEX_MODEL_H

#include <semaphore.h>

#include "mutex/support.h"

enum { ACTORS = 5, STEPS = 800 };

/* A deadline is past, or never comes. */
enum step { LOCK, TRYLOCK, LOCK_LATE, LOCK_EVER, UNLOCK, WAIT, WAIT_LATE, WAIT_EVER, SIGNAL, BROADCAST, REPAIR, END };

/*
 * QUEUED: asleep for the mutex. MOVED: asleep, by a signal or a broadcast, from the condition's queue to the mutex's. HELD:
 * was queued, and is in a signal handler.
 */
enum place { IDLE, OWNER, QUEUED, MOVED, WAITING, HELD };

struct actor {
	pthread_t thread;
	sem_t told;
	enum step step;
	uint32_t tid;
	int result, done;
	unsigned sleeps, wakes, moves; /* calls of this step */
	uint32_t owner_after;	       /* its unlock */
	enum place place;
	int wanted;	/* result of the step, if all is well when it gets the lock */
	unsigned since; /* the place in its queue */
	unsigned due;	/* so often it has to go to sleep to stay where it is */
	unsigned slept; /* so often it had before this step */
};

static struct actor actors[ACTORS], *owner, *heir;
static struct some_lock lock;
static struct lull_cond cond;
static bool no_requeue;
static enum { SOUND, UNREPAIRED, LOST } data; /* that a robust mutex guards */
static unsigned turn;
static bool in_order;  /* threads get the lock in the order in which they went to sleep */
static unsigned spare; /* signals that may make a call in vain: waiters got up by themselves while others were moved */
static struct actor *loser; /* it gave the lock up to one that sleeps, and wants it at once: either has to sleep again */

static unsigned how_many(enum place place)
{
	unsigned number = 0;

	for (int i = 0; i < ACTORS; i++)
		number += actors[i].place == place;
	return number;
}

static unsigned want_lock(void)
{
	return how_many(QUEUED) + how_many(MOVED);
}

static void go_to(struct actor *a, enum place place)
{
	a->place = place;
	a->since = turn++;
}

/* A thread gets up, or comes out of a handler. It sleeps again if another thread has the lock. */
static void get_up(struct actor *a)
{
	go_to(a, QUEUED);
	a->due = lull_load_relaxed(&a->sleeps) + 1;
}

/* The one of these that has been there for longest, or NULL. */
static struct actor *first_of(bool wants_lock)
{
	struct actor *first = NULL;

	for (int i = 0; i < ACTORS; i++) {
		struct actor *a = &actors[i];

		if ((wants_lock ? a->place == QUEUED || a->place == MOVED : a->place == WAITING) &&
		    (!first || a->since < first->since))
			first = a;
	}
	return first;
}

/* The lock was free, or has become so: it is @a's, if the data that it guards are not lost. */
static void gets_lock(struct actor *a)
{
	if (data == UNREPAIRED)
		a->wanted = -EOWNERDEAD;
	if (data == LOST)
		a->wanted = -ENOTRECOVERABLE;
	a->place = data == LOST ? IDLE : OWNER;
	owner = data == LOST ? NULL : a;
	if (heir == a)
		heir = NULL;
	assert_int_equal(a->result, a->wanted);
}

/* One waiter, or @all. The first gets up, unless the mutex's owner calls, or there is no way to move them: then all do. */
static void model_signal(struct actor *caller, bool all)
{
	struct actor *up = first_of(false), *next;

	spare = all ? 0 : spare - (spare && !up);
	if (!up)
		return;
	/* The kernel leaves one that it moves in front of later sleepers, if both words hash to one queue of its own. */
	in_order = in_order && !how_many(QUEUED);
	if (caller == owner && !no_requeue)
		go_to(up, MOVED);
	else
		get_up(up);
	while (all && (next = first_of(false))) {
		if (no_requeue) {
			get_up(next);
			in_order = false;
		} else {
			go_to(next, MOVED);
		}
	}
	if (up->place == QUEUED && owner)
		up->since = turn++; /* those that were moved were there before it */
}

/* Make the step @step of @a in the model, before threads that wait for the lock do anything. */
static void model_step(struct actor *a, enum step step)
{
	a->wanted = 0;
	a->due = step == WAIT_LATE ? 2 : 1;
	loser = NULL;
	switch (step) {
	case LOCK_LATE:
	case TRYLOCK:
		a->wanted = !owner ? 0 : step == TRYLOCK ? -EBUSY : -ETIMEDOUT;
		if (owner)
			break;
		/* fall through */
	case LOCK:
	case LOCK_EVER:
		go_to(a, QUEUED);
		break;
	case WAIT_LATE: /* it wants the lock again, beside one that its unlock has woken */
		a->wanted = -ETIMEDOUT;
		loser = want_lock() ? a : NULL;
		in_order = in_order && !loser;
		spare++;
		go_to(a, QUEUED);
		owner = NULL;
		break;
	case WAIT:
	case WAIT_EVER:
		go_to(a, WAITING);
		owner = NULL;
		break;
	case UNLOCK:
	case END:
		a->place = IDLE;
		owner = NULL;
		if (lock.kind == ROBUST && (step == END || data == UNREPAIRED))
			data = step == END ? UNREPAIRED : LOST;
		break;
	case REPAIR:
		data = SOUND;
		break;
	case SIGNAL:
	case BROADCAST:
		model_signal(a, step == BROADCAST);
	}
}

#endif /* LULL_TEST_MUTEX_MODEL_H */
