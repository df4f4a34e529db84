/* SPDX-License-Identifier: MIT */
/*
 * guards.cc - a guard lasts until the end of the block, so it has to stand in one. Where a lone statement
 * stands it would end at once.
 */
#include <lull/mutex.h>
#include <lull/rcu.h>
#include <lull/shazptr.h>

// wrong 1: lull_guard_wants_a_block
// wrong 2: lull_guard_wants_a_block
// wrong 3: lull_guard_wants_a_block
// wrong 4: lull_guard_wants_a_block
// wrong 5: lull_guard_wants_a_block

#define LOCK_BOTH(a, b)                                                                            \
	LULL_MUTEX_GUARD(a);                                                                       \
	LULL_MUTEX_GUARD(b)

lull_mutex first, second;
int *shared;

int work(int often);

int work(int often)
{
	LOCK_BOTH(&first, &second);
#if defined WRONG && WRONG == 1
	if (often)
		LULL_RCU_GUARD();
#elif defined WRONG && WRONG == 2
	if (often)
		return 1;
	else
		LULL_MUTEX_GUARD(&first);
#elif defined WRONG && WRONG == 3
	while (often)
		LULL_SHAZPTR_GUARD(&shared);
#elif defined WRONG && WRONG == 4
	for (int i = 0; i < 2; i++)
		LULL_RCU_GUARD();
#elif defined WRONG && WRONG == 5
	if (often)
		LULL_MUTEX_GUARD(&first);
#endif
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
