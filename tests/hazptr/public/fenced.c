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

/* ---- readers of the other family ------------------------------------------------------------------------------- */

#ifdef LULL_DEBUG
static char mixed_line[512];
static int mixed_lines;

static void note_line(const char *line)
{
	snprintf(mixed_line, sizeof(mixed_line), "%s", line);
	lull_add_relaxed(&mixed_lines, 1);
}

static void by_light_fence(struct lull_hazptr *h)
{
	lull_hazptr_protect(h, variable, rcu);
}

/* In turn: the slot has had the address by a light fence before, or another address. */
static void by_full_fence(struct lull_hazptr *h)
{
	lull_hazptr_protect(h, variable, rcu);
	lull_hazptr_clear(h);
	lull_hazptr_fenced_protect(h, variable, rcu);
}

static void by_light_fence_other(struct lull_hazptr *h)
{
	struct lull_hazptr *other = lull_hazptr_alloc(own());

	lull_hazptr_publish(variable, &second);
	lull_hazptr_protect(other, variable, rcu);
	lull_hazptr_publish(variable, &first);
	lull_hazptr_fenced_protect(h, variable, rcu);
	lull_hazptr_free(own(), other);
}

static void fenced_wait_a_moment(const void *addr)
{
	assert_true(lull_hazptr_fenced_synchronize_range_timeout(addr, 1, 1) <= 0);
}

static void wait_by_heavy_fence(const void *addr)
{
	assert_true(lull_hazptr_synchronize_timeout(addr, 1) <= 0);
}

static void (*mixed_protects)(struct lull_hazptr *h);
static int is_protected, may_clear;

static void *protects_it(void *unused)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());

	mixed_protects(h);
	lull_store_release(&is_protected, 1);
	await_flag(&may_clear, 1);
	lull_hazptr_free(own(), h);
	return unused;
}

static void mixed_pair(void (*protects)(struct lull_hazptr *h), void (*waits)(const void *addr))
{
	pthread_t reader;

	is_protected = may_clear = 0;
	mixed_protects = protects;
	lull_hazptr_publish(variable, &first);
	reader = start_thread(protects_it, NULL);
	await_flag(&is_protected, 1);
	waits(&first);
	lull_store_release(&may_clear, 1);
	join_thread(reader);
}

/* Who protects the way it should, and who does not; said once. */
TEST(mixed)
{
	static const struct {
		void (*protects)(struct lull_hazptr *h);
		void (*waits)(const void *addr);
		int lines;
	} rows[] = {
		{ by_full_fence, fenced_wait_a_moment, 0 },
		{ by_full_fence, wait_by_heavy_fence, 0 },
		{ by_light_fence, wait_by_heavy_fence, 0 },
		{ by_light_fence_other, fenced_wait_a_moment, 0 },
		{ by_light_fence, fenced_wait_a_moment, 1 },
		{ by_light_fence, fenced_wait_a_moment, 1 },
	};
	bool full = lull_fence_strategy() == LULL_FENCE_FULL;

	lull_debug_set_message_hook(note_line);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		mixed_pair(rows[i].protects, rows[i].waits);
		assert_int_equal(lull_load_relaxed(&mixed_lines), full ? 0 : rows[i].lines);
	}
	lull_debug_set_message_hook(NULL);
	if (!full)
		assert_non_null(strstr(mixed_line, "by a function of hazptr.h: it must use hazptr_fenced.h, too"));
}
#endif
