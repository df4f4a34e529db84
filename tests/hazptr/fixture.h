/* SPDX-License-Identifier: MIT */
/*
 * fixture.h - what every test program of hazard pointers begins with: objects and a variable that points
 * to one, a count of those that have gone, and a setup that finds nothing left behind.
 */
#ifndef LULL_TEST_HAZPTR_FIXTURE_H
#define LULL_TEST_HAZPTR_FIXTURE_H

#include "hazptr/support.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static int gone;
static struct thing first __attribute__((unused)), second __attribute__((unused));
static struct thing *variable __attribute__((unused));

/* In here the head is not the first member: what is protected by it has another address. */
struct offset_thing {
	long before[3];
	struct lull_rcu_head rcu;
	int *gone;
};

static inline void offset_thing_gone(struct lull_rcu_head *head)
{
	struct offset_thing *thing = lull_container_of(head, struct offset_thing, rcu);
	int *count = thing->gone;

	free(thing);
	lull_add_release(count, 1);
}

static inline struct lull_hazptr_context *own(void)
{
	lull_thread_register();
	return lull_hazptr_thread_context();
}

/* All eight slots of @ctx can be had, each once, and no more. */
static inline void check_all_free(struct lull_hazptr_context *ctx)
{
	struct lull_hazptr *slot[LULL_HAZPTR_SLOTS];

	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++) {
		slot[i] = lull_hazptr_alloc(ctx);
		assert_non_null(slot[i]);
		for (int j = 0; j < i; j++)
			assert_ptr_not_equal(slot[i], slot[j]);
	}
	assert_null(lull_hazptr_alloc(ctx));
	for (int i = LULL_HAZPTR_SLOTS; i > 0; i--)
		lull_hazptr_free(ctx, slot[i - 1]);
}

static __thread uint32_t random_state = 12345;

static inline uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)random_state * limit >> 32);
}

SETUP
{
	set_mode(LULL_RECLAIM_THREAD);
	assert_int_equal(lull_hazptr_barrier_timeout(20000), 0); /* no test leaves anything behind */
	lull_rcu_barrier();
	set_stall_ms(0);
	lull_store_relaxed(&gone, 0);
}

/* Every test leaves the thread's slots as it found them: free. */
TEARDOWN
{
	check_all_free(own());
}

static inline void *first_slot_run(void *unused)
{
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();
	struct lull_hazptr *h = lull_hazptr_alloc(ctx);

	assert_non_null(h);
	lull_hazptr_free(ctx, h);
	check_all_free(ctx);
	return unused;
}

static inline void swap(int *a, int *b)
{
	int c = *a;

	*a = *b;
	*b = c;
}

#endif /* LULL_TEST_HAZPTR_FIXTURE_H */
