/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences */
/*
 * fenced.c - hazptr_fenced.h: protection without interrupts. Its slots are those of hazptr.h, whose tests do the same by its
 * calls: slots.c, wait.c, ../hostile/storm.c.
 */
#include "hazptr/fixture.h"

/*
 * A thread that clears makes no fence, and may miss that another has just gone to sleep for the slot. So that one looks
 * again by itself. Here the slot changes as if all had missed it, once the thread has asked for news of it.
 */
TEST(looks_again)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct waiter waiter;

	alarm(60);
	lull_hazptr_publish(variable, &first);
	lull_hazptr_fenced_protect(h, variable, rcu);
	waiter_start_by(&waiter, lull_hazptr_fenced_synchronize, &first);
	AWAIT(lull_load_relaxed(&h->state) & LULL__HAZPTR_WAITED);
	nap_ms(50);
	assert_int_equal(lull_load_acquire(&waiter.done), 0);
	lull_store_release(&h->addr, (uintptr_t)0);
	join_thread(waiter.thread);
	lull_hazptr_free(own(), h);
	alarm(0);
}

/*
 * Protecting, waiting, and what a thread reclaims of what it retired, make no heavy fence. The first of all tests, so
 * that the reclaimer's thread, which makes one when it goes to sleep, is not there.
 */
FIRST_TEST_BARE(no_heavy_fences)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct thing *kept = new_thing(NULL);
	struct lull_reclaim_counts stats;
	uint64_t before;

	set_mode(LULL_RECLAIM_POLL);
	lull_hazptr_fenced_retire(malloc(16));
	lull_hazptr_barrier();
	before = lull_fence_heavy_count();
	lull_reclaim_reset_peak();
	lull_hazptr_fenced_protect(h, kept, rcu);
	lull_hazptr_fenced_retire(kept);
	lull_hazptr_publish(variable, &first);
	for (int i = 0; i < 50000; i++) {
		struct lull_hazptr *other = lull_hazptr_alloc(own());

		assert_ptr_equal(lull_hazptr_fenced_protect(other, variable, rcu), &first);
		lull_hazptr_fenced_clear(other);
		lull_hazptr_free(own(), other);
		lull_hazptr_fenced_retire(malloc(32));
		if (i % 16 == 0)
			lull_hazptr_fenced_synchronize(&second);
	}
	assert_int_equal(lull_fence_heavy_count(), before);
	lull_reclaim_stats(&stats);
	assert_true(stats.peak_items <= 1000); /* it did reclaim */
	check_alive(kept);
	lull_hazptr_fenced_clear(h);
	lull_hazptr_free(own(), h);
	lull_hazptr_barrier();
	assert_int_equal(waiting(), 0);
}
