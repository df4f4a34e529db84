/* SPDX-License-Identifier: MIT */
/*
 * guards.cc - a guard lasts until the end of the block, so it has to stand in one. Where a lone statement
 * stands it would end at once.
 */
#include <lull/mutex.h>
#include <lull/rcu.h>
#include <lull/shazptr.h>

#define LOCK_BOTH(a, b)                                                                            \
	LULL_MUTEX_GUARD(a);                                                                       \
	LULL_MUTEX_GUARD(b)

lull_mutex first, second;
int *shared;

int work(int often);

int work(int often)
{
	LOCK_BOTH(&first, &second);
	WRONG("lull_guard_wants_a_block", if (often) LULL_RCU_GUARD();)
	WRONG("lull_guard_wants_a_block", if (often) return 1; else LULL_MUTEX_GUARD(&first);)
	WRONG("lull_guard_wants_a_block", while (often) LULL_SHAZPTR_GUARD(&shared);)
	WRONG("lull_guard_wants_a_block", for (int i = 0; i < 2; i++) LULL_RCU_GUARD();)
	WRONG("lull_guard_wants_a_block", if (often) LULL_MUTEX_GUARD(&first);)
	if (often) {
		LULL_RCU_GUARD();
		LULL_RCU_GUARD();
		LULL_SHAZPTR_GUARD(&shared);
		return *lull_rcu_dereference(shared);
	}
	switch (often) {
	default:
		LULL_RCU_GUARD();
		return *lull_rcu_dereference(shared);
	}
}
