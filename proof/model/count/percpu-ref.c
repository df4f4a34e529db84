/* SPDX-License-Identifier: MIT */
/*
 * ORDER PCR-1, PCR-2
 * percpu-ref.c - the life of a per-CPU count, bounded, for cbmc: two threads get and put on the
 * counters of two CPUs, or on the shared count where their sequence was interrupted, while the
 * owner kills the ref.
 * Where: lull__rseq_add(), bias(), lull__percpu_ref_drop(), lull__percpu_ref_tryget_live_slow(),
 * set_marks(), to_shared(), fold(), end_switch(), switch_after_grace_period(),
 * lull_percpu_ref_kill_and_confirm(), lull__rseq_barrier()
 *
 * A sequence looks at the mark, picks the CPU, and adds, which happens only if no barrier came in
 * between; or it ends, at any time and for no reason, and is not tried again.  Thread 0 has no
 * reference and tries to get one, and puts that; thread 1 has one, and puts it.  The owner's put comes
 * after the fold, or, where the counters are shared out among threads, before it: the fold is
 * then the reclaimer's, and waits for sections.
 * Never: the ref is released while somebody has a reference, twice, or not at all.
 * An addition is one step here, and a fence to cbmc; what is ordered by what, percpu-ref-kill.tpl and
 * its neighbours tell.
 * Must hold; with each of these it must not:
 * Busted NO_BARRIER: sc
 * Busted NO_WAITING: sc
 * Busted NO_BIAS: sc
 * Busted PUT_BEFORE_FOLD: sc
 * Busted SUM_BEFORE_MARK: sc
 * Busted SPLIT_ADDITION: sc
 */
#include "../harness.h"

#ifdef NO_BIAS
#define BIAS 0
#else
#define BIAS 50
#endif

typedef signed char num; /* enough for these, and quick */

num word;			   /* 1: killed */
num gets0, gets1, puts0, puts1;	   /* of two CPUs */
num count;			   /* shared */
num barriers;			   /* how many there have been */
num section0, section1;		   /* of the threads, where those share out the counters */
num threads;			   /* do they? */
num held0, held1;		   /* the thread knows that it has a reference */
num released;
num done0, done1;

#define ADD(where, n)                                                                              \
	{                                                                                          \
		AT_ONCE(old = where; where = old + (n));                                           \
	}

/* The counter of the CPU that it runs on; the sequence is over with it. */
#ifdef SPLIT_ADDITION
#define COMMIT(counter)                                                                            \
	{                                                                                          \
		old = counter;                                                                     \
		counter = old + 1;                                                                 \
		added = 1;                                                                         \
	}
#else
#define COMMIT(counter)                                                                            \
	{                                                                                          \
		__CPROVER_atomic_begin();                                                          \
		if (barriers == began) {                                                           \
			counter = counter + 1;                                                     \
			added = 1;                                                                 \
		}                                                                                  \
		__CPROVER_atomic_end();                                                            \
	}
#endif

#define SEQUENCE(section, counter0, counter1)                                                      \
	{                                                                                          \
		num began, old, cpu = nondet_int() ? 1 : 0;                                                \
                                                                                                   \
		added = 0;                                                                         \
		if (threads) {                                                                     \
			section = 1;                                                               \
			FULL();                                                                    \
		}                                                                                  \
		began = barriers;                                                                  \
		FULL();                                                                            \
		if (!word && (threads || nondet_int())) {                                          \
			if (cpu)                                                                   \
				COMMIT(counter1)                                                   \
			else                                                                       \
				COMMIT(counter0)                                                   \
		}                                                                                  \
		FULL();                                                                            \
		section = 0;                                                                       \
	}

#define DROP()                                                                                     \
	{                                                                                          \
		num old;                                                                           \
                                                                                                   \
		FULL();                                                                            \
		ADD(count, -1);                                                                    \
		FULL();                                                                            \
		if (old == 1) {                                                                    \
			assert(!held0 && !held1);                                                  \
			assert(!released);                                                         \
			released = 1;                                                              \
		}                                                                                  \
	}

#define PUT(section, held)                                                                         \
	{                                                                                          \
		num added;                                                                         \
                                                                                                   \
		assert(!released);                                                                 \
		held = 0;                                                                          \
		FULL();                                                                            \
		SEQUENCE(section, puts0, puts1);                                                   \
		if (!added)                                                                        \
			DROP();                                                                    \
	}

#define TRYGET_LIVE(section, held)                                                                 \
	{                                                                                          \
		num added;                                                                         \
                                                                                                   \
		SEQUENCE(section, gets0, gets1);                                                   \
		if (!added && !word) {                                                             \
			__CPROVER_atomic_begin();                                                  \
			if (count > 0) {                                                           \
				count = count + 1;                                                 \
				added = 1;                                                         \
			}                                                                          \
			__CPROVER_atomic_end();                                                    \
		}                                                                                  \
		held = added;                                                                      \
		got = added;                                                                       \
	}

void thread0(void)
{
	num got;

	TRYGET_LIVE(section0, held0);
	if (got)
		PUT(section0, held0);
	FULL();
	done0 = 1;
}

void thread1(void)
{
	PUT(section1, held1);
	FULL();
	done1 = 1;
}

/* All sequences end here, and all sections that began before are over. */
void barrier(void)
{
#ifndef NO_BARRIER
	num old;

	FULL();
	if (!threads)
		ADD(barriers, 1);
#endif
#ifndef NO_WAITING
	if (threads) {
		num in = section0;

		__CPROVER_assume(!in);
		in = section1;
		__CPROVER_assume(!in);
	}
#endif
	FULL();
}

num sum(void)
{
	return gets0 - puts0 + gets1 - puts1;
}

void kill(void)
{
	num rest, old;

	ADD(count, 1); /* the switch's own */
#ifdef SUM_BEFORE_MARK
	rest = sum() - BIAS;
#endif
	word = 1;
#ifndef PUT_BEFORE_FOLD
	if (threads)
#endif
		DROP(); /* the owner's */
#ifdef PUT_BEFORE_FOLD
	DROP(); /* the switch's */
#endif
	barrier();
#ifndef SUM_BEFORE_MARK
	rest = sum() - BIAS;
#endif
	ADD(count, rest);
#ifndef PUT_BEFORE_FOLD
	DROP();
	if (!threads)
		DROP();
#endif
}

int main(void)
{
	threads = nondet_int() ? 1 : 0;
	count = BIAS + 1;
	gets0 = 1; /* thread 1's */
	held1 = 1;
__CPROVER_ASYNC_1:
	thread0();
__CPROVER_ASYNC_2:
	thread1();
	kill();
	__CPROVER_assume(done0 && done1);
	FULL();
	assert(released == 1);
	return 0;
}
