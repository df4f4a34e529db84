/* SPDX-License-Identifier: MIT */
/*
 * ORDER RCU-3, RCU-4, RCU-6, RCU-10
 * reader.c - a reader's word, for cbmc: the code of include/lull/rcu.h and src/rcu/section.c, as it is.
 * Where: lull_rcu_read_lock(), lull_rcu_read_unlock(), lull_rcu_quiescent(),
 * lull_rcu_online_read_lock(), lull_rcu_online_read_unlock(), lull__rcu_read_lock_slow(),
 * lull__rcu_read_unlock_slow(), lull__rcu_end_section(), lull__rcu_quiescent_slow(), enter_fenced(),
 * lull__rcu_enter_online(), lull_rcu_online(), lull_rcu_offline(), lull__rcu_in_section(), check_online(),
 * count_apart(), uncount_apart(),
 * lull__rcu_owe(), take_debt(), pay()
 *
 * One thread: from any word that is in order one call, at any depth, while the newest grace period is any,
 * with light fences that are real ones and without.  Never: the word is not in order afterwards.  In
 * order is one that says nothing outside, and inside the depth and the number that the outermost lock found;
 * an online thread is inside always.  Nor: a section that owes ends, or an online thread is quiescent, and the thread
 * does not pay, once, outside; or anything else pays.  What aborts for the caller's mistake is left out.
 * Flags: --unwind 2
 * With each of these it must fail:
 * Busted OUT_OF_DEPTH: sc
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#undef __x86_64__ /* cbmc reads no assembly */
#include "base/events.h"
#include "base/hooks.h"

#define PAYS
static void pays(void);
const struct lull__mechanism lull__mechanisms[] = { { .name = "rest", .pay = pays }, { .name = NULL } };
#ifdef OUT_OF_DEPTH /* one more is a bit that means something else */
#include <lull/rcu.h>
#undef LULL__RCU_FAR
#define LULL__RCU_FAR LULL__RCU_SLOW
#endif
#include "rcu/section.c"

bool nondet_bool(void);
unsigned nondet_unsigned(void);
uint64_t nondet_uint64_t(void);

__thread struct lull__thread lull__self;
uint32_t lull__fence_full_mode;

static int paid;

/* A handler's section that begins now owes nothing. */
static void pays(void)
{
	assert(lull__self.rcu < LULL__RCU_STEP && !lull__self.flags && !(lull__self.state & LULL__STATE_ONLINE));
	paid++;
}

#define NEVER() __CPROVER_assume(false)
#include "rest.h"

void lull_thread_register(void)
{
}

static unsigned depth;	/* sections that the thread is in */
static uint64_t number; /* of the outermost one, or of its last report */
static bool online, owes;

static bool in_order(void)
{
	uint64_t word = lull__self.rcu, slow = lull__fence_full_mode ? LULL__RCU_SLOW : 0;
	uint64_t inside = word & LULL__RCU_DEPTH;

	if (lull__self.flags != (owes ? LULL__FLAG_OWES : 0) || (owes && !online && !depth))
		return false;
	if (owes && !(word & LULL__RCU_SLOW))
		return false;
	if (owes && (online || !slow))
		word -= LULL__RCU_SLOW;
	if (online != !!(lull__self.state & LULL__STATE_ONLINE))
		return false;
	if (!online && !depth)
		return word == (slow ? LULL__RCU_REST : 0) && !lull__self.rcu_deep;
	/* One of the two counts; the word says so as long as it is not written anew. */
	if (lull__self.rcu_deep && (inside || !(word & LULL__RCU_REST) || lull__self.rcu_deep <= LULL__RCU_FAR))
		return false;
	if (inside + lull__self.rcu_deep != depth - !online)
		return false;
	return (word & ~(uint64_t)LULL__RCU_REST) == (number | (online ? 0 : slow) | inside);
}

int main(void)
{
	bool owed;

	lull__fence_full_mode = nondet_bool();
	lull__rcu_gp = nondet_uint64_t();
	lull__self.rcu = nondet_uint64_t();
	lull__self.state = LULL__STATE_REGISTERED | (nondet_bool() ? LULL__STATE_ONLINE : 0);
	online = lull__self.state & LULL__STATE_ONLINE;
	lull__self.flags = nondet_bool() ? LULL__FLAG_OWES : 0;
	owed = owes = lull__self.flags;
	number = nondet_uint64_t();
	depth = nondet_unsigned();
	lull__self.rcu_deep = nondet_unsigned();
	__CPROVER_assume(depth < UINT32_MAX && (lull__self.rcu & LULL__RCU_DEPTH) <= LULL__RCU_FAR && number % LULL__RCU_STEP == 0 && number &&
			 lull__rcu_gp % LULL__RCU_STEP == 0 && lull__rcu_gp >= number);
	__CPROVER_assume(in_order());

	switch (nondet_unsigned()) {
	case 0:
		lull_rcu_read_lock();
		if (!depth && !online)
			number = lull__rcu_gp;
		depth++;
		break;
	case 1:
		__CPROVER_assume(depth);
		lull_rcu_read_unlock();
		depth--;
		owes = owes && (depth || online);
		break;
	case 2:
		__CPROVER_assume(online && !depth);
		lull_rcu_quiescent();
		number = lull__rcu_gp;
		owes = false;
		break;
	case 3:
		__CPROVER_assume(!online && !depth);
		lull_rcu_online();
		number = lull__rcu_gp;
		online = true;
		break;
	case 4:
		__CPROVER_assume(online && !depth);
		lull_rcu_offline();
		online = owes = false;
		break;
	case 5:
		lull_rcu_online_read_lock();
		lull_rcu_online_read_unlock();
		break;
	case 6:
		__CPROVER_assume(depth || online);
		lull__rcu_owe();
		owed = owes = true;
		break;
	}
	assert(in_order());
	assert(paid == (owed && !owes));
	return 0;
}
