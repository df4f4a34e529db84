/* SPDX-License-Identifier: MIT */
/* runs: alone */
/*
 * self.c - a thread locks out of line after it has met a crowd, and inline again after four locks that were free.
 */
#include "mutex/support.h"

#undef LULL_DEBUG /* where each lock goes out of line */
#define my_tid id_in_locks
#include "../src/mutex/self.c"
#undef my_tid

TEST(crowd_and_calm)
{
	uint32_t tid = lull__mutex_self();

	assert_int_equal(tid, my_tid());
	for (int round = 0; round < 3; round++) {
		assert_int_equal(lull__self.lock_tid, tid);
		lull__mutex_crowded();
		for (int i = 0; i < 3; i++) {
			assert_int_equal(lull__self.lock_tid, 0);
			lull__mutex_calm();
		}
		if (round == 1) { /* it begins anew */
			lull__mutex_crowded();
			for (int i = 0; i < 3; i++)
				lull__mutex_calm();
		}
		assert_int_equal(lull__self.lock_tid, 0);
		lull__mutex_calm();
	}
}

/* Where each lock has to go out of line, the thread stays there. */
TEST(stays_out_of_line)
{
	inline_tid = lull__self.lock_tid = 0;
	for (int i = 0; i < 10; i++)
		lull__mutex_calm();
	assert_int_equal(lull__self.lock_tid, 0);
}
