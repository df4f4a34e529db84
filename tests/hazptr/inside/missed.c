/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * missed.c - from the inside: where heavy fences order only the calling thread, a reader that clears its slot at the wrong
 * moment misses that it is waited for, and wakes nobody. So each new slot says so, and who waits looks again. Here the moment
 * is made: the reader stores 0, and looks at nothing.
 */
#include "hazptr/support.h"

#include <lull/reclaim.h>

#include "../src/hazptr/slots.h"

static bool is_full(void)
{
	return lull_fence_strategy() == LULL_FENCE_FULL;
}

static void check_slot(const struct lull_hazptr *h)
{
	assert_int_equal((lull_load_relaxed(&h->state) & LULL__HAZPTR_FULL) != 0, is_full());
}

/* In a thread's own slots, in those of a context, and behind each way in which a slot is stamped. */
TEST(slots_say_so)
{
	struct lull_hazptr_context made, *ctx[] = { lull_hazptr_thread_context(), &made };
	int object, *shared = &object;

	lull_hazptr_context_init(&made);
	for (int i = 0; i < 2; i++) {
		struct lull_hazptr *h[LULL_HAZPTR_SLOTS];

		for (int n = 0; n < LULL_HAZPTR_SLOTS; n++) {
			h[n] = lull_hazptr_alloc(ctx[i]);
			check_slot(h[n]);
			assert_ptr_equal(lull_hazptr_protect_ptr(h[n], shared), &object);
			check_slot(h[n]);
			lull_or_relaxed(&h[n]->state, (uint64_t)LULL__HAZPTR_WAITED); /* answered with a stamp */
			lull_hazptr_clear(h[n]);
			check_slot(h[n]);
		}
		for (int n = LULL_HAZPTR_SLOTS; n-- > 0;)
			lull_hazptr_free(ctx[i], h[n]);
	}
	lull_hazptr_context_cleanup(&made);
}

/* ---- a reader that looks at nothing ------------------------------------------------------------------------------ */

static struct thing *thing;
static struct lull_hazptr *slot;
static int holds, leave, done, gone;

static void *reads(void *unused)
{
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();

	slot = lull_hazptr_alloc(ctx);
	check_alive(lull_hazptr_fenced_protect(slot, thing, rcu));
	lull_store_release(&holds, 1);
	await_flag(&leave, 1);
	lull_hazptr_free(ctx, slot);
	return unused;
}

static bool is_waited_for(void)
{
	return (lull_load_relaxed(&slot->state) & (LULL__HAZPTR_LOW & ~LULL__HAZPTR_FULL)) != 0;
}

static void clears_and_wakes_nobody(void)
{
	AWAIT(is_waited_for());
	nap_ms(20); /* it sleeps */
	assert_int_equal(lull_load_acquire(&done), 0);
	lull_store_release(&slot->addr, (uintptr_t)0);
}

static void *synchronizes(void *unused)
{
	lull_hazptr_synchronize(thing);
	lull_store_release(&done, 1);
	return unused;
}

static void *synchronizes_fenced(void *unused)
{
	lull_hazptr_fenced_synchronize(thing);
	lull_store_release(&done, 1);
	return unused;
}

static void *waits_for_queues(void *unused)
{
	lull_hazptr_barrier();
	lull_store_release(&done, 1);
	return unused;
}

static void wait_misses(void *(*waits)(void *), bool retired)
{
	pthread_t reader, waiter;

	holds = leave = done = gone = 0;
	thing = new_thing(&gone);
	reader = start_thread(reads, NULL);
	await_flag(&holds, 1);
	if (retired)
		lull_hazptr_call(&thing->rcu, thing_gone);
	waiter = start_thread(waits, NULL);
	clears_and_wakes_nobody();
	AWAIT(lull_load_acquire(&done));
	join_thread(waiter);
	assert_int_equal(gone, retired);
	lull_store_release(&leave, 1);
	join_thread(reader);
	if (!retired)
		free(thing);
}

TEST(waiter_looks_again)
{
	wait_misses(synchronizes_fenced, false);
	if (is_full())
		wait_misses(synchronizes, false);
}

/* The background thread looks once more, after linger_ms: see reclaim.inside.queue. A thread in its place looks again and again. */
TEST(barrier_looks_again)
{
	if (!is_full())
		SKIP("heavy fences interrupt the reader");
	set_mode(LULL_RECLAIM_POLL);
	wait_misses(waits_for_queues, true);
	set_mode(LULL_RECLAIM_THREAD);
}

BEFORE_ALL
{
	set_stall_ms(0);
}
