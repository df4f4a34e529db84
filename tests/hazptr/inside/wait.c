/* SPDX-License-Identifier: MIT */
/* runs: alone */
/*
 * wait.c - src/hazptr/hazptr_wait.c from the inside: a reader that goes at the last moment.
 */
#include "threads.h"

#include <lull/hazptr.h>

#include "../src/base/wait.h"
#include "../src/hazptr/slots.h"

static void fence_of_waiter(bool full);
static void begin_to_wait(struct lull__wait *wait, enum lull_wait_kind kind, uint64_t quiet_ns);

#define lull__hazptr_fence fence_of_waiter
#define lull__wait_begin   begin_to_wait
#include "../src/hazptr/hazptr_wait.c"
#undef lull__hazptr_fence
#undef lull__wait_begin

static struct lull_hazptr *slot;
static int fences, clears_at;

/* The second fence is the one between the flag in the slot and the last look. */
static void fence_of_waiter(bool full)
{
	lull__hazptr_fence(full);
	if (++fences == clears_at)
		lull_hazptr_clear(slot);
}

static bool clears_before_wait;

static void begin_to_wait(struct lull__wait *wait, enum lull_wait_kind kind, uint64_t quiet_ns)
{
	lull__wait_begin(wait, kind, quiet_ns);
	if (clears_before_wait)
		lull_hazptr_clear(slot);
}

/* A waiter that sees at the last looks that the slot is clear has not run out of time, and does not sleep. */
TEST(clear_at_last_look)
{
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();
	int object, *shared = &object;

	lull_add_relaxed(&lull__registry_awake, 1u); /* as if there was another thread */
	for (clears_at = 1; clears_at <= 2; clears_at++) {
		fences = 0;
		slot = lull_hazptr_alloc(ctx);
		assert_ptr_equal(lull_hazptr_protect_ptr(slot, shared), &object);
		assert_true(lull__hazptr_wait(NULL, &object, 1, lull__now_ns() + PATIENCE_NS, false));
		assert_int_equal(fences, clears_at);
		lull_hazptr_free(ctx, slot);
	}
	clears_at = fences = 0;
	clears_before_wait = true;
	slot = lull_hazptr_alloc(ctx);
	assert_ptr_equal(lull_hazptr_protect_ptr(slot, shared), &object);
	assert_true(lull__hazptr_wait(NULL, &object, 1, lull__now_ns() + PATIENCE_NS, false));
	assert_int_equal(fences, 1);
	lull_hazptr_free(ctx, slot);
	clears_before_wait = false;
	slot = lull_hazptr_alloc(ctx);
	assert_ptr_equal(lull_hazptr_protect_ptr(slot, shared), &object);
	assert_false(lull__hazptr_wait(NULL, &object, 1, lull__now_ns() + 1000000, false));
	lull_hazptr_free(ctx, slot);
}

BEFORE_ALL
{
	set_stall_ms(0);
}
