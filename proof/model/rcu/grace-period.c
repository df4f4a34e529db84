/* SPDX-License-Identifier: MIT */
/*
 * ORDER RCU-2, RCU-7, RCU-8
 * grace-period.c - whole grace periods, bounded, for cbmc: two readers, and two updaters that unlink
 * one object each, take cookies, and push the grace period along twice without waiting.  So they
 * share grace periods, lead them for each other, and leave them open for the next one to scan.  None begins
 * while another one is open, and a scan looks only at readers that no scan of this grace period has seen out of
 * the way.
 * Where: lull__rcu_cookie(), lull__rcu_advance(), gp_push(), gp_open(), gp_begin(), gp_scan(), gp_end(), gp_complete(),
 * lull_rcu_read_lock(), lull_rcu_read_unlock()
 *
 * cbmc takes no pointers between threads, so objects are variables.  Fences are full ones
 * (LULL_FENCE=full).  Must hold; with each of these it must not:
 * Busted NO_LIGHT: tso
 * Busted NO_HEAVY: tso
 * Busted NO_COOKIE_FENCE: tso
 * Busted COOKIE_OF_THE_OPEN_ONE: sc
 * Busted OLD_READER_PASSES: sc
 * Busted SCAN_MISSES_A_READER: sc
 * Busted SCAN_BEFORE_THE_NUMBER: sc
 * Busted LOOKED_AT_ONCE_FOR_ALL: sc
 */
#include "../harness.h"

int started = 1, gp = 1, completed = 1;
int word1, word2;	      /* the readers' words */
int unlinked1, unlinked2;     /* the pointers to the objects */
int freed1, freed2;	      /* the objects' memory */
int waits1 = 1, waits2 = 1;   /* for this reader: it has not been seen out of the way */
int leader;		      /* the leader's lock */

#define READER(word)                                                                               \
	{                                                                                          \
		int number = gp;                                                                   \
		RELEASE();                                                                         \
		word = number;                                                                     \
		LIGHT();                                                                           \
		if (!unlinked1)                                                                    \
			assert(!freed1);                                                           \
		if (!unlinked2)                                                                    \
			assert(!freed2);                                                           \
		RELEASE();                                                                         \
		word = 0;                                                                          \
	}

void reader1(void)
{
	READER(word1);
	READER(word1);
}

void reader2(void)
{
	READER(word2);
}

int trylock(void)
{
	int got;

	AT_ONCE(got = !leader; leader = 1);
	FULL();
	return got;
}

void unlock(void)
{
	FULL();
	leader = 0;
}

void scan(int number)
{
#ifdef OLD_READER_PASSES
	number--;
#endif
	if (waits1) {
		int w = word1;

		waits1 = w != 0 && w < number;
	}
	if (waits2) {
		int w = word2;

#ifdef SCAN_MISSES_A_READER
		w = 0;
#endif
		waits2 = w != 0 && w < number;
	}
}

void begin(void)
{
	int number = started + 1;

#ifdef SCAN_BEFORE_THE_NUMBER
	waits1 = waits2 = 1;
	scan(number);
#endif
	started = number;
	HEAVY();
	gp = number;
#if !defined(SCAN_BEFORE_THE_NUMBER) && !defined(LOOKED_AT_ONCE_FOR_ALL)
	waits1 = waits2 = 1;
#endif
}

int push(void)
{
	if (started == completed)
		begin();
	scan(started);
	if (waits1 || waits2)
		return 0;
	RELEASE();
	completed = started;
	return 1;
}

void advance(int cookie)
{
	if (completed >= cookie || !trylock())
		return;
	if (completed < cookie && push() && completed < cookie)
		push();
	unlock();
}

#define UPDATER(unlinked, freed)                                                                   \
	{                                                                                          \
		int cookie;                                                                        \
                                                                                                   \
		unlinked = 1;                                                                      \
		COOKIE_FENCE();                                                                    \
		cookie = started + COOKIE_STEP;                                                    \
		advance(cookie);                                                                   \
		advance(cookie);                                                                   \
		if (completed >= cookie)                                                           \
			freed = 1;                                                                 \
	}

#ifdef NO_COOKIE_FENCE
#define COOKIE_FENCE()
#else
#define COOKIE_FENCE() FULL()
#endif
#ifdef COOKIE_OF_THE_OPEN_ONE
#define COOKIE_STEP 0
#else
#define COOKIE_STEP 1
#endif

void updater1(void)
{
	UPDATER(unlinked1, freed1);
}

void updater2(void)
{
	UPDATER(unlinked2, freed2);
}

int main(void)
{
__CPROVER_ASYNC_1:
	reader1();
__CPROVER_ASYNC_2:
	reader2();
__CPROVER_ASYNC_3:
	updater1();
	updater2();
	return 0;
}
