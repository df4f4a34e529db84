/* SPDX-License-Identifier: MIT */
/* runs: alone */
/*
 * looks.c - how often a waiter looks at all slots before it sleeps: seldom where there are many, because meanwhile no
 * thread comes or goes, and no grace period scans. This program contains the waiter's source.
 */
#include "threads.h"

#include <lull/hazptr.h>

#include "../src/base/wait.h"
#include "../src/hazptr/slots.h"

static size_t slots;
static unsigned looked;

static size_t slots_now(void)
{
	return slots;
}

static void look(lull__hazptr_visit visit, void *arg)
{
	looked++;
	lull__hazptr_for_each_slot(visit, arg);
}

#define lull__hazptr_slots	   slots_now
#define lull__hazptr_for_each_slot look
#include "../src/hazptr/hazptr_wait.c"
#undef lull__hazptr_slots
#undef lull__hazptr_for_each_slot

/* The looks of a wait that ends at once because it may not take any time. */
static unsigned looks_among(size_t many)
{
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();
	struct lull_hazptr *h = lull_hazptr_alloc(ctx);
	int object, *shared = &object;

	slots = many;
	looked = 0;
	assert_ptr_equal(lull_hazptr_protect_ptr(h, shared), &object);
	assert_false(lull__hazptr_wait(NULL, &object, 1, lull__now_ns(), false));
	lull_hazptr_free(ctx, h);
	return looked;
}

/* One, then one that leaves word in the slot, and one after the fence. */
TEST(few_looks_among_many_slots)
{
	unsigned most = looks_among(SPIN_SLOTS);

	assert_in_range(most, SPIN_LOOKS + 1, SPIN_LOOKS + 4);
	assert_in_range(looks_among(SPIN_SLOTS + 1), 2, 4);
	assert_in_range(looks_among(100000), 2, 4);
}
