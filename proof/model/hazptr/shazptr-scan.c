/* SPDX-License-Identifier: MIT */
/*
 * ORDER SHAZ-1, SHAZ-2, SHAZ-3
 * shazptr-scan.c - waiters and those that scan for all of them, bounded, for cbmc: a reader that nests and
 * clears in the wrong order, a second one that comes back to what it held; an updater each for two names,
 * who looks for itself or does not, and then queues; two threads that lead, one after the other.
 * Where: lull__shazptr_acquire(), lull_shazptr_clear(), lull__shazptr_acquire_slow(), answer(),
 * synchronize_until(), lull__shazptr_visit(), lull__shazptr_is_match(), enqueue(), look_for_all(),
 * ask_waiters(), release_waiter(), scan_for_all(), tell_waiter()
 *
 * cbmc takes no pointers between threads: names are 1 and 2, objects and waiters are variables, and
 * a leader frees what a waiter would free when it is told.  Each reader is a group.
 * Ticks and locks are read-modify-writes, which these memory models take for fences: what the
 * updater's fence is for, shazptr-enter.litmus and shazptr-queue.litmus tell.
 * Must hold; with each of these it must not:
 * Busted NO_READER_FENCE: tso
 * Busted FORGOTTEN_POINTER: sc
 * Busted IGNORED_WILDCARD: sc
 * Busted NESTED_KEEPS_THE_NAME: sc
 * Busted NESTED_TAKES_THE_NAME: sc
 * Busted FIRST_CLEAR_IS_THE_LAST: sc
 * Busted LIST_AFTER_SLOTS: sc
 * Busted STAMP_BEFORE_CLEAR: sc
 * Busted EARLIER_STAMP_PASSES: sc
 */
#include "../harness.h"
#ifdef NO_READER_FENCE
#define READER_FENCE()
#else
#define READER_FENCE() FULL()
#endif

#define WILDCARD 3

int word1, word2;	   /* the readers' slots */
int stamp1, stamp2;	   /* and their stamps */
int clock;
int unlinked_a, unlinked_b; /* the objects; name 1 leads to a, name 2 to b */
int freed_a, freed_b;

/* The waiters, and the lock of their list. mask: bit 0 for reader 1, bit 1 for reader 2. */
int on_list_a, tick_a, mask_a;
int on_list_b, tick_b, mask_b;
int list_lock;

#define USE_A(got) if (got) assert(!freed_a)
#define USE_B(got) if (got) assert(!freed_b)

void reader1(void)
{
	int nested = 0, got_a, got_b;

	word1 = 1;
	READER_FENCE();
	got_a = !unlinked_a;
	USE_A(got_a);

	nested++;
#if defined(NESTED_TAKES_THE_NAME)
	word1 = 2;
#elif !defined(NESTED_KEEPS_THE_NAME)
	word1 = WILDCARD;
#endif
	READER_FENCE();
	got_b = !unlinked_b;
	USE_B(got_b);
	USE_A(got_a);

	/* Clear either of the two first: the other one's object is still used. */
	nested--;
#ifdef FIRST_CLEAR_IS_THE_LAST
	RELEASE();
	word1 = 0;
#endif
	if (nondet_int())
		USE_A(got_a);
	else
		USE_B(got_b);
	if (!nested) {
		RELEASE();
		word1 = 0;
	}
}

void reader2(void)
{
	int got_a, stamp;

	word2 = 1;
	READER_FENCE();
	got_a = !unlinked_a;
#ifdef STAMP_BEFORE_CLEAR
	stamp = clock;
	RELEASE();
	stamp2 = stamp;
#endif
	USE_A(got_a);
	RELEASE();
	word2 = 0;
	/* Somebody may wait; then it answers. */
	if (nondet_int()) {
		stamp = clock;
		RELEASE();
		stamp2 = stamp;
	}
	word2 = 1;
	READER_FENCE();
	got_a = !unlinked_a;
	USE_A(got_a);
	RELEASE();
	word2 = 0;
}

#ifdef EARLIER_STAMP_PASSES
#define IS_STAMPED(stamp, tick) ((stamp) + 1 >= (tick))
#else
#define IS_STAMPED(stamp, tick) ((stamp) >= (tick))
#endif

#ifdef IGNORED_WILDCARD
#define IS_MATCH(word, name) ((word) == (name))
#else
#define IS_MATCH(word, name) ((word) == (name) || (word) == WILDCARD)
#endif

#define BLOCKING(w1, s1, w2, s2, name, tick)                                               \
	((IS_MATCH(w1, name) && !IS_STAMPED(s1, tick) ? 1 : 0) |                           \
	 (IS_MATCH(w2, name) && !IS_STAMPED(s2, tick) ? 2 : 0))

#define UPDATER(name, unlinked, freed, on_list, tick, mask)                                \
	{                                                                                  \
		unlinked = 1;                                                              \
		RELEASE();                                                                 \
		AT_ONCE(clock = clock + 1; tick = clock);                                  \
		FULL();                                                                    \
		mask = 3;                                                                  \
		if (nondet_int()) {                                                        \
			int w1 = word1, s1 = stamp1, w2 = word2, s2 = stamp2;              \
                                                                                           \
			mask = BLOCKING(w1, s1, w2, s2, name, tick);                       \
		}                                                                          \
		if (!mask) {                                                               \
			freed = 1;                                                         \
		} else {                                                                   \
			LOCK(list_lock);                                                   \
			on_list = 1;                                                       \
			UNLOCK(list_lock);                                                 \
		}                                                                          \
	}

void updater_a(void)
{
	UPDATER(1, unlinked_a, freed_a, on_list_a, tick_a, mask_a);
}

void updater_b(void)
{
	UPDATER(2, unlinked_b, freed_b, on_list_b, tick_b, mask_b);
}

#define JUDGE(name, freed, on_list, tick, mask)                                            \
	if (on_list) {                                                                     \
		mask &= BLOCKING(w1, s1, w2, s2, name, tick);                              \
		if (!mask) {                                                               \
			on_list = 0;                                                       \
			RELEASE();                                                         \
			freed = 1;                                                         \
		}                                                                          \
	}

#ifdef FORGOTTEN_POINTER
#define NAME_OF_WAITER(name) (-1)
#else
#define NAME_OF_WAITER(name) (name)
#endif

void scan_for_all(void)
{
	int w1, s1, w2, s2;

#ifndef LIST_AFTER_SLOTS
	LOCK(list_lock);
#endif
	w1 = word1;
	s1 = stamp1;
	w2 = word2;
	s2 = stamp2;
#ifdef LIST_AFTER_SLOTS
	LOCK(list_lock);
#endif
	JUDGE(NAME_OF_WAITER(1), freed_a, on_list_a, tick_a, mask_a);
	JUDGE(NAME_OF_WAITER(2), freed_b, on_list_b, tick_b, mask_b);
	UNLOCK(list_lock);
}

int main(void)
{
__CPROVER_ASYNC_1:
	reader1();
__CPROVER_ASYNC_2:
	reader2();
__CPROVER_ASYNC_3:
	updater_a();
__CPROVER_ASYNC_4:
	updater_b();
__CPROVER_ASYNC_5:
	scan_for_all();
	scan_for_all();
	return 0;
}
