/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences */
/*
 * fenced.c - hazptr_fenced.h: the same protection without interrupts.
 */
#include "hazptr/fixture.h"

#include <lull/hazptr_fenced.h>

static bool is_full_free_of(const void *addr)
{
	return lull_hazptr_fenced_synchronize_range_timeout(addr, 1, 0) == 0;
}

/* The thread that looks must not be the one that protects. */
static void *full_look_run(void *arg)
{
	return is_full_free_of(*(const void **)arg) ? arg : NULL;
}

static bool others_find_free(const void *addr)
{
	void *result;

	assert_int_equal(pthread_join(start_thread(full_look_run, &addr), &result), 0);
	return result != NULL;
}

TEST(protect)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());

	variable = NULL;
	assert_null(lull_hazptr_fenced_tryprotect(h, variable, rcu));
	assert_null(lull_hazptr_fenced_tryprotect_ptr(h, variable));
	assert_null(lull_hazptr_fenced_protect(h, variable, rcu));
	assert_null(lull_hazptr_fenced_protect_ptr(h, variable));
	lull_hazptr_publish(variable, &first);
	assert_ptr_equal(lull_hazptr_fenced_tryprotect(h, variable, rcu), &first);
	assert_false(others_find_free(&first));
	assert_false(is_free_of(&first)); /* hazptr.h sees the same slots */
	assert_ptr_equal(lull_hazptr_fenced_tryprotect_ptr(h, variable), &first);
	lull_hazptr_publish(variable, &second);
	assert_ptr_equal(lull_hazptr_fenced_protect(h, variable, rcu), &second);
	assert_true(others_find_free(&first));
	assert_ptr_equal(lull_hazptr_fenced_protect_ptr(h, variable), &second);
	assert_false(others_find_free(&second));
	lull_hazptr_fenced_clear(h);
	assert_true(others_find_free(&second));

	/* Changed meanwhile. */
	looks = 0;
	assert_null(lull_hazptr_fenced_tryprotect_ptr(h, *changing()));
	assert_true(others_find_free(&first) && others_find_free(&second));
	looks = 0;
	assert_ptr_equal(lull_hazptr_fenced_protect_ptr(h, *changing()), &second);
	assert_true(others_find_free(&first));
	assert_false(others_find_free(&second));
	lull_hazptr_free(own(), h);
}

TEST(member)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct offset_thing object, *thing = &object, *none = NULL;

	assert_null(lull_hazptr_fenced_tryprotect(h, none, rcu));
	assert_null(lull_hazptr_fenced_protect(h, none, rcu));
	lull_hazptr_fenced_protect(h, thing, rcu);
	assert_false(others_find_free(&object.rcu));
	assert_true(others_find_free(&object));
	lull_hazptr_fenced_tryprotect_ptr(h, thing);
	assert_true(others_find_free(&object.rcu));
	assert_false(others_find_free(&object));
	lull_hazptr_free(own(), h);
}

TEST(call_and_retire)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own()), *other = lull_hazptr_alloc(own());
	struct thing *called = new_thing(&gone), *retired = new_thing(NULL);

	lull_hazptr_fenced_retire(NULL);
	lull_hazptr_fenced_protect(h, called, rcu);
	lull_hazptr_fenced_protect_ptr(other, retired);
	lull_hazptr_fenced_call(&called->rcu, thing_gone);
	lull_hazptr_fenced_retire(retired);
	for (int i = 0; i < 5000; i++)
		lull_hazptr_fenced_retire(malloc(32));
	await_waiting(2);
	check_alive(called);
	check_alive(retired);
	lull_hazptr_fenced_clear(h);
	await_count(&gone, 1);
	check_alive(retired);
	lull_hazptr_fenced_clear(other);
	lull_hazptr_barrier();
	assert_int_equal(waiting(), 0);
	lull_hazptr_free(own(), other);
	lull_hazptr_free(own(), h);
}

/* Objects that are protected here may also be retired with hazptr.h. */
TEST(retired_by_other_domain)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct thing *thing = new_thing(&gone);

	lull_hazptr_fenced_protect(h, thing, rcu);
	lull_hazptr_call(&thing->rcu, thing_gone);
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	check_alive(thing);
	lull_hazptr_fenced_clear(h);
	await_count(&gone, 1);
	lull_hazptr_free(own(), h);
}

/* ---- waiting ------------------------------------------------------------------------------------- */

struct full_waiter {
	pthread_t thread;
	int done;
	uint64_t cpu_ns;
};

static void *full_waiter_run(void *arg)
{
	struct full_waiter *waiter = (struct full_waiter *)arg;
	uint64_t cpu_ns = thread_cpu_ns();

	lull_hazptr_fenced_synchronize(&first);
	waiter->cpu_ns = thread_cpu_ns() - cpu_ns;
	lull_store_release(&waiter->done, 1);
	return NULL;
}

TEST(synchronize)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());

	lull_hazptr_fenced_synchronize(&first);
	lull_hazptr_publish(variable, &first);
	for (int way = 0; way < 3; way++) {
		struct full_waiter waiter = { 0, 0, 0 };
		struct thing *other = &second;

		lull_hazptr_fenced_protect(h, variable, rcu);
		waiter.thread = start_thread(full_waiter_run, &waiter);
		nap_ms(way ? 20 : 500);
		assert_int_equal(lull_load_acquire(&waiter.done), 0);
		if (way == 0)
			lull_hazptr_fenced_clear(h);
		else if (way == 1)
			lull_hazptr_fenced_protect(h, other, rcu);
		else
			lull_hazptr_free(own(), h);
		join_thread(waiter.thread);
		assert_true(waiter.cpu_ns < 200000000u);
	}
}

/*
 * A thread that clears makes no fence, and may miss that another has just gone to sleep for the slot. So that one looks
 * again by itself. Here the slot changes as if all had missed it, once the thread has asked for news of it.
 */
TEST(looks_again)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct full_waiter waiter = { 0, 0, 0 };

	alarm(60);
	lull_hazptr_publish(variable, &first);
	lull_hazptr_fenced_protect(h, variable, rcu);
	waiter.thread = start_thread(full_waiter_run, &waiter);
	AWAIT(lull_load_relaxed(&h->state) & LULL__HAZPTR_WAITED);
	nap_ms(50);
	assert_int_equal(lull_load_acquire(&waiter.done), 0);
	lull_store_release(&h->addr, (uintptr_t)0);
	join_thread(waiter.thread);
	lull_hazptr_free(own(), h);
	alarm(0);
}

static int again_stop;

static void *again_run(void *unused)
{
	struct lull_hazptr *h = lull_hazptr_alloc(lull_hazptr_thread_context());

	for (unsigned n = 0; !lull_load_relaxed(&again_stop); n++) {
		lull_hazptr_fenced_protect(h, variable, rcu);
		if (n % 3 == 0)
			lull_hazptr_fenced_clear(h);
	}
	lull_hazptr_free(lull_hazptr_thread_context(), h);
	return unused;
}

/* Readers that come back for ever to what was never unlinked do not make it last. */
TEST(starvation)
{
	pthread_t thread[2];

	again_stop = 0;
	lull_hazptr_publish(variable, &first);
	for (int i = 0; i < 2; i++)
		thread[i] = start_thread(again_run, NULL);
	for (int i = 0; i < 100; i++)
		lull_hazptr_fenced_synchronize(&first);
	lull_store_relaxed(&again_stop, 1);
	for (int i = 0; i < 2; i++)
		join_thread(thread[i]);
}

/* ---- errors and contexts are those of hazptr.h -------------------------------------------------- */

TEST(timeout)
{
	struct thing *thing = &first;
	struct holder holder;

	alarm(60);
	first.value = 42;
	holder_start(&holder, FREE_SLOT, &thing);
	for (uint64_t ms = 0; ms < 300; ms += 100) {
		uint64_t start_ns = now_ns();

		assert_int_equal(lull_hazptr_fenced_synchronize_range_timeout(&first, sizeof(first), ms), -ETIMEDOUT);
		assert_true(now_ns() - start_ns >= ms * 1000000u);
		assert_int_equal(lull_hazptr_fenced_synchronize_range_timeout(&first + 1, 64, ms), 0);
		assert_int_equal(lull_hazptr_fenced_synchronize_range_timeout((void *)((uintptr_t)&first - 64), 64, ms), 0);
	}
	holder_let_go(&holder);
	assert_int_equal(lull_hazptr_fenced_synchronize_range_timeout(&first, sizeof(first), UINT64_MAX), 0);
	holder_finish(&holder);
	alarm(0);
}

static char array[64];

static void *range_run(void *result)
{
	*(int *)result = lull_hazptr_fenced_synchronize_range_timeout(array + 16, 32, 1);
	return NULL;
}

TEST(range)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());

	for (int i = 0; i < 64; i++) {
		char *inside = array + i;
		int result;

		lull_hazptr_fenced_protect_ptr(h, inside);
		join_thread(start_thread(range_run, &result));
		assert_int_equal(result, i >= 16 && i < 48 ? -ETIMEDOUT : 0);
	}
	lull_hazptr_free(own(), h);
}

static void waits_in_callback(struct lull_rcu_head *head)
{
	lull_hazptr_fenced_synchronize(&first);
	lull_hazptr_fenced_retire(malloc(24));
	thing_gone(head);
}

TEST(contexts)
{
	struct thing *thing = &first;
	struct holder holder;

	first.value = 42;
	holder_start(&holder, CLEAR, &thing);
	lull_rcu_read_lock();
	lull_hazptr_fenced_call(&new_thing(&gone)->rcu, waits_in_callback);
	lull_hazptr_fenced_retire(malloc(24));
	lull_hazptr_fenced_synchronize(&second);
	lull_rcu_read_unlock();
	nap_ms(30);
	assert_int_equal(lull_load_relaxed(&gone), 0);
	holder_let_go(&holder);
	await_count(&gone, 1);
	holder_finish(&holder);
}

TEST(misuse)
{
	EXPECT_ABORT("lull_hazptr_fenced_synchronize of ") {
		struct thing *thing = &first;

		must(lull_hazptr_fenced_protect(lull_hazptr_alloc(own()), thing, rcu));
		lull_hazptr_fenced_synchronize(&first);
	}
	EXPECT_ABORT("lull_hazptr_fenced_synchronize_range_timeout of ") {
		struct thing *thing = &first;

		must(lull_hazptr_fenced_protect(lull_hazptr_alloc(own()), thing, rcu));
		lull_hazptr_fenced_synchronize_range_timeout(&first, 1, 1000);
	}
}

/* ---- no interrupts ------------------------------------------------------------------------------- */

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

/* ---- readers and updaters ------------------------------------------------------------------------ */

static struct thing *shared[2];
static int storm_stop;

static void *storm_reader(void *unused)
{
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();
	struct lull_hazptr *one = lull_hazptr_alloc(ctx), *two = lull_hazptr_alloc(ctx);

	while (!lull_load_relaxed(&storm_stop)) {
		struct thing *a = lull_hazptr_fenced_protect(one, shared[0], rcu);
		struct thing *b = lull_hazptr_fenced_tryprotect(two, shared[1], rcu);

		for (int i = 0; i < 20; i++)
			check_alive(a);
		lull_hazptr_fenced_clear(one);
		if (b)
			check_alive(b);
		lull_hazptr_fenced_clear(two);
	}
	lull_hazptr_free(ctx, two);
	lull_hazptr_free(ctx, one);
	return unused;
}

static void *storm_updater(void *unused)
{
	for (unsigned n = 0; !lull_load_relaxed(&storm_stop); n++) {
		struct thing *old = lull_xchg_acq_rel(&shared[n % 2], new_thing(NULL));

		switch (n % 5) {
		case 0:
			lull_hazptr_fenced_synchronize(old);
			thing_gone(&old->rcu);
			break;
		case 1:
			lull_hazptr_fenced_retire(old);
			break;
		case 2:
			lull_hazptr_call(&old->rcu, thing_gone);
			break;
		default:
			lull_hazptr_fenced_call(&old->rcu, thing_gone);
			break;
		}
	}
	return unused;
}

TEST(storm)
{
	pthread_t thread[4];

	storm_stop = 0;
	shared[0] = new_thing(NULL);
	shared[1] = new_thing(NULL);
	for (int i = 0; i < 4; i++)
		thread[i] = start_thread(i < 2 ? storm_reader : storm_updater, NULL);
	nap_ms(700);
	lull_store_relaxed(&storm_stop, 1);
	for (int i = 0; i < 4; i++)
		join_thread(thread[i]);
	lull_hazptr_barrier();
	assert_int_equal(waiting(), 0);
	free(shared[0]);
	free(shared[1]);
}
