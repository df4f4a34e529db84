/* SPDX-License-Identifier: MIT */
/*
 * induction.h - what the models of locks have in common, for cbmc. Each is proved for any number of steps: its
 * invariant holds at the beginning, and each step of any thread keeps it. Broken, it is run for a few steps, from
 * anywhere in the invariant if not said otherwise (FROM_THE_BEGINNING), and must come to what must never be.
 *
 * A step is one access to a word or one system call, so the memory model is of no consequence.
 * A model says what a thread is (struct thread) and what else there is, and defines the functions below.
 */
#include <assert.h>

#define THREADS 3
#define TID	3 /* in the word: 1, 2, 3 */
#define WAITERS 8

#ifndef BUSTED
#define STEPS 1
#elif !defined(STEPS)
#define STEPS 4
#endif

typedef unsigned char num;

struct thread;
num nondet_num(void);
void anything(void);	   /* all of the state becomes any */
_Bool invariant(void);
_Bool sleeps(num i);	   /* thread i, for whatever */
void step(num self);
void check_the_end(void);  /* where no thread moves any more */
_Bool is_there(num i, num where);
void get_up(num i);

num any_thread(void)
{
	num self = nondet_num();

	__CPROVER_assume(self >= 1 && self <= THREADS);
	return self;
}

/* Wake one of those that sleep @where; there may be none. */
void wake_one(num where)
{
	num who = any_thread();
	_Bool done = !is_there(1, where) && !is_there(2, where) && !is_there(3, where);

	for (num i = 1; i <= THREADS; i++)
		if (i == who && is_there(i, where)) {
			get_up(i);
			done = 1;
		}
	__CPROVER_assume(done);
}

/* Nobody gets up by itself where that would save it. */
_Bool may_get_up(num i)
{
	return STEPS == 1 || !sleeps(i);
}

int main(void)
{
	assert(invariant());
#ifndef FROM_THE_BEGINNING
	anything();
	__CPROVER_assume(invariant());
#endif
	for (int i = 0; i < STEPS; i++) {
		num self = any_thread();

		for (num k = 1; k <= THREADS; k++)
			if (k == self)
				step(k);
	}
	if (STEPS == 1)
		assert(invariant());
	check_the_end();
	return 0;
}
