/* SPDX-License-Identifier: MIT */
/*
 * test_hazptr.c - hazptr.h: contexts and slots, protecting, holds, retiring and its bound, barriers,
 * waiting, fork, signal handlers, thread exit, misuse. Also compiled as C++.
 */
#include <signal.h>

#include <lull/mutex.h>

#include "hazptr/hazptr_support.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* In here the head is not the first member: what is protected by it has another address. */
struct offset_thing {
	long before[3];
	struct lull_rcu_head rcu;
	int *gone;
};

static void offset_thing_gone(struct lull_rcu_head *head)
{
	struct offset_thing *thing = lull_container_of(head, struct offset_thing, rcu);
	int *gone = thing->gone;

	free(thing);
	lull_add_release(gone, 1);
}

static struct lull_hazptr_context *own(void)
{
	lull_thread_register();
	return lull_hazptr_thread_context();
}

/* All eight slots of @ctx can be had, each once, and no more. */
static void check_all_free(struct lull_hazptr_context *ctx)
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

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)random_state * limit >> 32);
}

static int gone;

static int setup(void **state)
{
	(void)state;
	set_mode(LULL_RECLAIM_THREAD);
	assert_int_equal(lull_hazptr_barrier_timeout(20000), 0); /* no test leaves anything behind */
	lull_rcu_barrier();
	lull_debug_set_stall_ms(0);
	lull_store_relaxed(&gone, 0);
	return 0;
}

/* Every test leaves the thread's slots as it found them: free. */
static int teardown(void **state)
{
	(void)state;
	check_all_free(own());
	return 0;
}

/* ---- contexts and slots ---------------------------------------------------------------------- */

static void test_slots(void **state)
{
	struct lull_hazptr_context on_stack, *on_heap;

	(void)state;
	check_all_free(own());
	check_all_free(own());

	lull_hazptr_context_init(&on_stack);
	check_all_free(&on_stack);
	lull_hazptr_context_cleanup(&on_stack);
	memset(&on_stack, 0x5a, sizeof(on_stack));
	lull_hazptr_context_init(&on_stack);
	check_all_free(&on_stack);
	lull_hazptr_context_cleanup(&on_stack);

	on_heap = (struct lull_hazptr_context *)malloc(sizeof(*on_heap));
	assert_non_null(on_heap);
	lull_hazptr_context_init(on_heap);
	check_all_free(on_heap);
	lull_hazptr_context_cleanup(on_heap);
	free(on_heap);
}

static void *first_slot_run(void *unused)
{
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();
	struct lull_hazptr *h = lull_hazptr_alloc(ctx);

	assert_non_null(h);
	lull_hazptr_free(ctx, h);
	check_all_free(ctx);
	return unused;
}

/* A thread that has never heard of lull has its eight slots, too. */
static void test_slots_of_new_thread(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++)
		join_thread(start_thread(first_slot_run, NULL));
}

static void swap(int *a, int *b)
{
	int c = *a;

	*a = *b;
	*b = c;
}

/* Take all, give back in this order, some at first and the rest later: none is lost or had twice. */
static void free_in_order(struct lull_hazptr_context *ctx, const int *order, int at_first)
{
	struct lull_hazptr *slot[LULL_HAZPTR_SLOTS], *again[LULL_HAZPTR_SLOTS];

	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		slot[i] = lull_hazptr_alloc(ctx);
	for (int i = 0; i < at_first; i++)
		lull_hazptr_free(ctx, slot[order[i]]);
	for (int i = 0; i < at_first; i++) {
		again[i] = lull_hazptr_alloc(ctx);
		assert_non_null(again[i]);
		for (int j = 0; j < i; j++)
			assert_ptr_not_equal(again[i], again[j]);
		for (int j = at_first; j < LULL_HAZPTR_SLOTS; j++)
			assert_ptr_not_equal(again[i], slot[order[j]]);
	}
	assert_null(lull_hazptr_alloc(ctx));
	for (int i = 0; i < at_first; i++)
		lull_hazptr_free(ctx, again[i]);
	for (int i = at_first; i < LULL_HAZPTR_SLOTS; i++)
		lull_hazptr_free(ctx, slot[order[i]]);
	check_all_free(ctx);
}

static void test_free_in_any_order(void **state)
{
	int order[LULL_HAZPTR_SLOTS];
	struct lull_hazptr_context ctx;

	(void)state;
	lull_hazptr_context_init(&ctx);
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		order[i] = i;
	for (int round = 0; round < 3000; round++) {
		for (int i = LULL_HAZPTR_SLOTS - 1; i > 0; i--)
			swap(&order[i], &order[random_below((uint32_t)i + 1)]);
		free_in_order(round % 2 ? &ctx : own(), order, round % (LULL_HAZPTR_SLOTS + 1));
	}
	lull_hazptr_context_cleanup(&ctx);
}

/* Slots are protected by as many contexts as there are, and by each until it ends. */
static void test_many_contexts(void **state)
{
	enum { CONTEXTS = 100 };
	struct lull_hazptr_context *ctx =
		(struct lull_hazptr_context *)malloc(CONTEXTS * sizeof(*ctx));
	int n = 0;

	(void)state;
	assert_non_null(ctx);
	for (int i = 0; i < CONTEXTS; i++) {
		lull_hazptr_context_init(&ctx[i]);
		for (int j = 0; j < LULL_HAZPTR_SLOTS; j++, n++) {
			struct thing *thing = new_thing(&gone);

			assert_ptr_equal(lull_hazptr_protect(lull_hazptr_alloc(&ctx[i]), thing, rcu), thing);
			lull_hazptr_call(&thing->rcu, thing_gone);
		}
	}
	assert_int_equal(lull_hazptr_barrier_timeout(30), -ETIMEDOUT);
	assert_int_equal(lull_load_relaxed(&gone), 0);
	assert_int_equal(waiting(), n);
	for (int i = 0; i < CONTEXTS; i++) {
		lull_hazptr_context_cleanup(&ctx[i]);
		if (i % 25 == 0)
			await_count(&gone, (i + 1) * LULL_HAZPTR_SLOTS);
	}
	lull_hazptr_barrier();
	assert_int_equal(gone, n);
	free(ctx);
}

/* A context that was detached goes on with another thread. */
struct handed_over {
	struct lull_hazptr_context ctx;
	struct lull_hazptr *h;
	struct thing *thing;
};

static void *goes_on_run(void *arg)
{
	struct handed_over *over = (struct handed_over *)arg;

	check_alive(over->thing);
	lull_hazptr_clear(over->h);
	lull_hazptr_free(&over->ctx, over->h);
	check_all_free(&over->ctx);
	lull_hazptr_context_cleanup(&over->ctx);
	return NULL;
}

static void test_context_detach(void **state)
{
	struct handed_over over;

	(void)state;
	lull_hazptr_context_init(&over.ctx);
	over.h = lull_hazptr_alloc(&over.ctx);
	over.thing = new_thing(&gone);
	lull_hazptr_protect(over.h, over.thing, rcu);
	lull_hazptr_context_detach(&over.ctx);
	lull_hazptr_call(&over.thing->rcu, thing_gone);
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	assert_int_equal(lull_load_relaxed(&gone), 0);
	join_thread(start_thread(goes_on_run, &over));
	await_count(&gone, 1);
}

/* ---- protecting ---------------------------------------------------------------------------------- */

static struct thing first, second, *variable;
static int looks;

/* The pointer variable, which another thread changes between a first look and the second. */
static struct thing **changing(void)
{
	static struct thing *seen[2];

	seen[0] = &first;
	seen[1] = &second;
	return &seen[looks++ > 0];
}

static void test_tryprotect(void **state)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());

	(void)state;
	variable = NULL;
	assert_null(lull_hazptr_tryprotect(h, variable, rcu));
	assert_null(lull_hazptr_tryprotect_ptr(h, variable));
	lull_hazptr_publish(variable, &first);
	assert_ptr_equal(lull_hazptr_tryprotect(h, variable, rcu), &first);
	assert_false(is_free_of(&first));
	lull_hazptr_publish(variable, &second);
	assert_ptr_equal(lull_hazptr_tryprotect_ptr(h, variable), &second);
	assert_true(is_free_of(&first));
	assert_false(is_free_of(&second));
	lull_hazptr_clear(h);
	assert_true(is_free_of(&second));

	/* Changed meanwhile: nothing, and nothing is protected. */
	looks = 0;
	assert_null(lull_hazptr_tryprotect_ptr(h, *changing()));
	assert_true(is_free_of(&first));
	assert_true(is_free_of(&second));
	lull_hazptr_free(own(), h);
}

static void test_protect(void **state)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());

	(void)state;
	variable = NULL;
	assert_null(lull_hazptr_protect(h, variable, rcu));
	assert_null(lull_hazptr_protect_ptr(h, variable));
	lull_hazptr_publish(variable, &first);
	assert_ptr_equal(lull_hazptr_protect(h, variable, rcu), &first);
	assert_ptr_equal(lull_hazptr_protect_ptr(h, variable), &first);
	assert_false(is_free_of(&first));

	/* Changed meanwhile: the new one. */
	looks = 0;
	assert_ptr_equal(lull_hazptr_protect_ptr(h, *changing()), &second);
	assert_true(is_free_of(&first));
	assert_false(is_free_of(&second));
	lull_hazptr_free(own(), h);
	assert_true(is_free_of(&second));
}

static int flip_stop;

/* One change in each turn: wherever in a turn this thread is preempted, another time something else is there. */
static void *flip_run(void *unused)
{
	static struct thing *const values[] = { &first, &second, NULL };

	for (unsigned turn = 0; !lull_load_relaxed(&flip_stop); turn++)
		lull_hazptr_publish(variable, values[turn % 3]);
	return unused;
}

/* Under a thread that changes the pointer all the time: what comes back is what is protected. */
static void test_protect_what_changes(void **state)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	int results[3] = { 0, 0, 0 };
	pthread_t thread;

	(void)state;
	flip_stop = 0;
	thread = start_thread(flip_run, NULL);
	for (uint64_t end = now_ns() + 100000000u; now_ns() < end || !results[1] || !results[2];) {
		struct thing *got = random_below(2) ? lull_hazptr_tryprotect(h, variable, rcu)
						    : lull_hazptr_protect(h, variable, rcu);

		assert_true(!got || got == &first || got == &second);
		if (got)
			assert_true(h->addr == (uintptr_t)got);
		results[got == &first ? 1 : got == &second ? 2 : 0]++;
	}
	lull_store_relaxed(&flip_stop, 1);
	join_thread(thread);
	lull_hazptr_free(own(), h);
}

/* What is scanned is the address of the head, wherever that is, and in the _ptr forms the object's. */
static void test_member(void **state)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct offset_thing *thing = (struct offset_thing *)malloc(sizeof(*thing));

	(void)state;
	assert_non_null(thing);
	thing->gone = &gone;
	assert_ptr_equal(lull_hazptr_tryprotect(h, thing, rcu), thing);
	assert_false(is_free_of(&thing->rcu));
	assert_true(is_free_of(thing));
	assert_ptr_equal(lull_hazptr_protect_ptr(h, thing), thing);
	assert_true(is_free_of(&thing->rcu));
	assert_false(is_free_of(thing));
	assert_ptr_equal(lull_hazptr_tryprotect_ptr(h, thing), thing);
	assert_false(is_free_of(thing));
	assert_ptr_equal(lull_hazptr_protect(h, thing, rcu), thing);
	assert_false(is_free_of(&thing->rcu));

	lull_hazptr_call(&thing->rcu, offset_thing_gone);
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	assert_int_equal(lull_load_relaxed(&gone), 0);
	lull_hazptr_free(own(), h);
	await_count(&gone, 1);
}

static void test_member_of_null(void **state)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct offset_thing *none = NULL;

	(void)state;
	assert_null(lull_hazptr_tryprotect(h, none, rcu));
	assert_null(lull_hazptr_protect(h, none, rcu));
	lull_hazptr_free(own(), h);
}

/* ---- holds --------------------------------------------------------------------------------------- */

static void test_hold(void **state)
{
	struct lull_hazptr_hold hold;
	struct thing *thing = new_thing(&gone), *none = NULL;

	(void)state;
	memset(&hold, 0x5a, sizeof(hold));
	assert_ptr_equal(lull_hazptr_acquire(&hold, &thing), thing);
	assert_false(is_free_of(thing));
	lull_hazptr_call(&thing->rcu, thing_gone);
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	check_alive(thing);
	lull_hazptr_release(&hold, thing);
	await_count(&gone, 1);

	for (int i = 0; i < 20; i++) {
		memset(&hold, 0x5a, sizeof(hold));
		assert_null(lull_hazptr_acquire(&hold, &none));
		lull_hazptr_release(&hold, none);
		lull_hazptr_detach(&hold);
		lull_hazptr_detach(&hold);
	}
	check_all_free(own());
}

/* Many at once: it cannot fail. Each is released alone, in whatever order. */
static void hold_many(const int *order, int n)
{
	struct lull_hazptr_hold hold[32], nothing;
	struct thing *thing[32], *none = NULL;
	int counts[32];

	memset(hold, 0x5a, sizeof(hold));
	for (int i = 0; i < n; i++) {
		lull_store_relaxed(&counts[i], 0);
		thing[i] = new_thing(&counts[i]);
		assert_ptr_equal(lull_hazptr_acquire(&hold[i], &thing[i]), thing[i]);
	}
	assert_null(lull_hazptr_acquire(&nothing, &none));
	for (int i = 0; i < n; i++)
		lull_hazptr_call(&thing[i]->rcu, thing_gone);
	for (int i = 0; i < n; i++) {
		if (i % 5 == 0)
			assert_int_equal(lull_hazptr_barrier_timeout(5), -ETIMEDOUT);
		for (int j = i; j < n; j++)
			check_alive(thing[order[j]]);
		lull_hazptr_release(&hold[order[i]], thing[order[i]]);
		await_count(&counts[order[i]], 1);
	}
	check_all_free(own());
}

static void test_hold_many(void **state)
{
	int order[20];
	const int n = (int)ARRAY_SIZE(order);

	(void)state;
	for (int i = 0; i < n; i++)
		order[i] = i;
	hold_many(order, n);
	for (int i = 0; i < n / 2; i++)
		swap(&order[i], &order[n - 1 - i]);
	hold_many(order, n);
	for (int round = 0; round < 5; round++) {
		for (int i = n - 1; i > 0; i--)
			swap(&order[i], &order[random_below((uint32_t)i + 1)]);
		hold_many(order, n);
	}
}

static void *releases_run(void *arg)
{
	struct holder *holder = (struct holder *)arg;

	check_alive(holder->thing);
	lull_hazptr_release(&holder->hold, holder->thing);
	return NULL;
}

static void detach_and_release_elsewhere(struct holder *holder)
{
	holder->thing = new_thing(&gone);
	memset(&holder->hold, 0x5a, sizeof(holder->hold));
	assert_ptr_equal(lull_hazptr_acquire(&holder->hold, &holder->thing), holder->thing);
	lull_hazptr_detach(&holder->hold);
	lull_hazptr_detach(&holder->hold);
	assert_false(is_free_of(holder->thing));
	lull_hazptr_call(&holder->thing->rcu, thing_gone);
	assert_int_equal(lull_hazptr_barrier_timeout(10), -ETIMEDOUT);
	assert_int_equal(lull_load_relaxed(&gone), 0);
	join_thread(start_thread(releases_run, holder));
	await_count(&gone, 1);
	lull_store_relaxed(&gone, 0);
}

static void *only_locks(void *lock)
{
	lull_mutex_lock((struct lull_mutex *)lock);
	lull_mutex_unlock((struct lull_mutex *)lock);
	return NULL;
}

static void test_detach(void **state)
{
	struct lull_hazptr *slot[LULL_HAZPTR_SLOTS];
	static struct lull_mutex lock;
	struct holder holder;

	(void)state;
	memset(&holder, 0, sizeof(holder));
	detach_and_release_elsewhere(&holder);
	check_all_free(own());
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		slot[i] = lull_hazptr_alloc(own());
	detach_and_release_elsewhere(&holder); /* it had its own slot all the time */
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		lull_hazptr_free(own(), slot[i]);

	/* By the thread itself, after all; nor is it anything to a thread that only locks, and ends. */
	holder.thing = &first;
	assert_ptr_equal(lull_hazptr_acquire(&holder.hold, &holder.thing), &first);
	lull_hazptr_detach(&holder.hold);
	check_all_free(own());
	join_thread(start_thread(only_locks, &lock));
	assert_false(is_free_of(&first));
	lull_hazptr_release(&holder.hold, &first);
	assert_true(is_free_of(&first));
}

static void test_detach_out_of_order(void **state)
{
	struct lull_hazptr_hold hold[12];
	struct thing *thing = &first;

	(void)state;
	for (int i = 0; i < 12; i++)
		lull_hazptr_acquire(&hold[i], &thing);
	for (int i = 0; i < 12; i += 2)
		lull_hazptr_detach(&hold[i]);
	for (int i = 0; i < 12; i++) {
		assert_false(is_free_of(&first));
		lull_hazptr_release(&hold[i], thing);
	}
	assert_true(is_free_of(&first));
}

static struct lull_hazptr_hold misused;
static struct thing misused_thing, *misused_source = &misused_thing;

static void *release_misused_run(void *unused)
{
	lull_hazptr_release(&misused, &misused_thing);
	return unused;
}

static void release_by_other(void)
{
	lull_hazptr_acquire(&misused, &misused_source);
	join_thread(start_thread(release_misused_run, NULL));
}

static void release_overflow_by_other(void)
{
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		must(lull_hazptr_alloc(own()));
	release_by_other();
}

static void release_twice(void)
{
	lull_hazptr_acquire(&misused, &misused_source);
	lull_hazptr_release(&misused, &misused_thing);
	lull_hazptr_release(&misused, &misused_thing);
}

static void release_detached_twice(void)
{
	lull_hazptr_acquire(&misused, &misused_source);
	lull_hazptr_detach(&misused);
	lull_hazptr_release(&misused, &misused_thing);
	lull_hazptr_release(&misused, &misused_thing);
}

static void release_overflow_twice(void)
{
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		must(lull_hazptr_alloc(own()));
	release_twice();
}

static void free_twice(void)
{
	struct lull_hazptr *low = lull_hazptr_alloc(own()), *high = lull_hazptr_alloc(own());

	must(high);
	lull_hazptr_free(own(), low);
	lull_hazptr_free(own(), low);
}

static void free_to_wrong_context(void)
{
	struct lull_hazptr_context other;

	lull_hazptr_context_init(&other);
	lull_hazptr_free(own(), lull_hazptr_alloc(&other));
}

static void clean_up_own(void)
{
	lull_hazptr_context_cleanup(own());
}

static void detach_own(void)
{
	lull_hazptr_context_detach(own());
}

static void test_hold_misuse(void **state)
{
	(void)state;
	expect_abort(release_twice, "lull_hazptr_release: ");
	expect_abort(release_detached_twice, "lull_hazptr_release: ");
	expect_abort(release_overflow_twice, "lull_hazptr_release: ");
	expect_abort(free_twice, "lull_hazptr_free: ");
	expect_abort(free_to_wrong_context, "lull_hazptr_free: ");
	expect_abort(clean_up_own, "lull_hazptr_context_cleanup: ");
	expect_abort(detach_own, "lull_hazptr_context_detach: ");
	NEEDS_THREADS_IN_CHILD();
	expect_abort(release_by_other, "lull_hazptr_release: another thread holds it");
	expect_abort(release_overflow_by_other, "lull_hazptr_release: another thread holds it");
}

/* ---- retiring ------------------------------------------------------------------------------------ */

/* Not reclaimed while protected, reclaimed when let go of in any way, without anybody else's help. */
static void test_call(void **state)
{
	(void)state;
	for (int way = 0; way < WAYS; way++) {
		struct thing *thing = new_thing(&gone);
		struct holder holder;

		start_hearing();
		holder_start(&holder, (enum letting_go)way, &thing);
		lull_hazptr_call(&thing->rcu, thing_gone);
		assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
		assert_int_equal(lull_load_relaxed(&gone), 0);
		assert_int_equal(waiting(), 1);
		holder_let_go(&holder);
		await_count(&gone, 1);
		holder_finish(&holder);
		stop_hearing();
		assert_int_equal(heard_lines, holder_exits(&holder) ? 1 : 0);
		while (waiting())
			nap_ms(1);
		lull_store_relaxed(&gone, 0);
	}
}

static void test_retire(void **state)
{
	(void)state;
	for (int way = 0; way < WAYS; way++) {
		struct thing *thing = new_thing(NULL);
		struct holder holder;

		start_hearing();
		holder_start(&holder, (enum letting_go)way, &thing);
		lull_hazptr_retire(thing);
		for (int i = 0; i < 5000; i++)
			lull_hazptr_retire(malloc(sizeof(*thing)));
		await_waiting(1);
		check_alive(thing); /* free() would have written over the first words at least */
		holder_let_go(&holder);
		while (waiting())
			nap_ms(1);
		holder_finish(&holder);
		stop_hearing();
	}
}

static void test_retire_forms(void **state)
{
	struct lull_reclaim_counts stats;
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct thing *thing = new_thing(&gone);

	(void)state;
	lull_hazptr_retire(NULL);
	lull_hazptr_retire_sized(NULL, 100);
	assert_int_equal(waiting(), 0);

	/* By who protects it, in a read section, with the bytes counted. */
	lull_hazptr_protect(h, thing, rcu);
	lull_rcu_read_lock();
	lull_hazptr_call_sized(&thing->rcu, thing_gone, 123456);
	lull_rcu_read_unlock();
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	lull_reclaim_stats(&stats);
	assert_int_equal(stats.items, 1);
	assert_true(stats.bytes >= 123456 && stats.bytes < 123456 + 4096);
	lull_hazptr_clear(h);
	await_count(&gone, 1);
	thing = new_thing(NULL);
	lull_hazptr_protect_ptr(h, thing);
	lull_hazptr_retire_sized(thing, sizeof(*thing));
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	check_alive(thing);
	lull_hazptr_free(own(), h);
	lull_hazptr_barrier();
	lull_reclaim_stats(&stats);
	assert_int_equal(stats.items, 0);
	assert_int_equal(stats.bytes, 0);
}

/* A hazard pointer is no read section: what RCU readers do does not matter. */
static void test_read_sections_do_not_matter(void **state)
{
	struct thing *thing = new_thing(&gone);

	(void)state;
	lull_rcu_read_lock();
	lull_hazptr_call(&thing->rcu, thing_gone);
	await_count(&gone, 1);
	lull_hazptr_retire(malloc(16));
	while (waiting())
		nap_ms(1);
	lull_rcu_read_unlock();
}

static pthread_t called_by;

static void note_caller(struct lull_rcu_head *head)
{
	lull_store_relaxed(&called_by, pthread_self());
	thing_gone(head);
}

static void *retires_and_exits(void *unused)
{
	lull_hazptr_retire(malloc(24));
	lull_hazptr_call(&new_thing(&gone)->rcu, note_caller);
	return unused;
}

/* What a thread leaves behind is reclaimed without anybody asking, whether it sleeps or is gone. */
static void test_leftovers(void **state)
{
	(void)state;
	lull_hazptr_retire(malloc(24));
	while (waiting())
		nap_ms(1);
	for (int i = 0; i < 100; i++)
		join_thread(start_thread(retires_and_exits, NULL));
	await_count(&gone, 100);
	while (waiting())
		nap_ms(1);
	lull_hazptr_call(&new_thing(&gone)->rcu, note_caller);
	await_count(&gone, 101);
	assert_false(pthread_equal(lull_load_relaxed(&called_by), pthread_self()));
}

/* Orphans that are protected are kept, too. */
static struct thing *orphan;

static void *retires_orphan(void *unused)
{
	lull_hazptr_call(&orphan->rcu, thing_gone);
	return unused;
}

static void test_protected_orphan(void **state)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());

	(void)state;
	orphan = new_thing(&gone);
	lull_hazptr_protect(h, orphan, rcu);
	join_thread(start_thread(retires_orphan, NULL));
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	assert_int_equal(lull_load_relaxed(&gone), 0);
	lull_hazptr_free(own(), h);
	await_count(&gone, 1);
}

static void test_quiet_while_protected(void **state)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own()), *other = lull_hazptr_alloc(own());
	struct thing *called = new_thing(&gone), *retired = new_thing(NULL);

	(void)state;
	lull_hazptr_protect(h, called, rcu);
	lull_hazptr_protect(other, retired, rcu);
	lull_hazptr_call(&called->rcu, thing_gone);
	lull_hazptr_retire(retired);
	check_quiet(2);
	check_alive(called);
	check_alive(retired);
	lull_hazptr_free(own(), h);
	await_count(&gone, 1);
	check_alive(retired);
	lull_hazptr_free(own(), other);
	while (waiting())
		nap_ms(1);
}

/* ---- how much waits ------------------------------------------------------------------------------ */

static size_t bound_of(size_t contexts)
{
	size_t slots = (lull_thread_count() + contexts) * LULL_HAZPTR_SLOTS;

	return 2 * slots > 1000 ? 2 * slots : 1000;
}

enum { RETIRED = 100000, BLOCK = 64 };

static void check_block(const unsigned char *block)
{
	for (int i = 0; i < BLOCK; i++)
		assert_int_equal(block[i], 0xa7);
}

/*
 * Retire many blocks, of which @contexts * 8 get protected at about even distances, by readers that then
 * do nothing more. Never do more than the bound wait.
 */
static void retire_under_stalled_readers(size_t contexts)
{
	size_t slots = contexts * LULL_HAZPTR_SLOTS, held = 0, bound;
	size_t stride = RETIRED / (slots + 1);
	struct lull_hazptr_context *ctx = (struct lull_hazptr_context *)calloc(contexts + 1, sizeof(*ctx));
	unsigned char **block = (unsigned char **)calloc(slots + 1, sizeof(*block)), *next;
	struct lull_reclaim_counts stats;

	assert_true(ctx && block && stride);
	for (size_t i = 0; i < contexts; i++)
		lull_hazptr_context_init(&ctx[i]);
	lull_reclaim_reset_peak();
	for (size_t i = 0; i < RETIRED; i++) {
		next = (unsigned char *)malloc(BLOCK);
		memset(next, 0xa7, BLOCK);
		if (i % stride == 0 && held < slots) {
			struct lull_hazptr *h = lull_hazptr_alloc(&ctx[held / LULL_HAZPTR_SLOTS]);

			block[held++] = lull_hazptr_protect_ptr(h, next);
		}
		lull_hazptr_retire(next);
		if (i % 97 == 0)
			assert_true(waiting() <= bound_of(contexts));
	}
	bound = bound_of(contexts);
	lull_reclaim_stats(&stats);
	if (stats.peak_items > bound)
		print_error("%zu waited, %zu are allowed\n", stats.peak_items, bound);
	assert_true(stats.peak_items <= bound);
	assert_true(stats.peak_items >= held);
	assert_true(stats.items >= held);
	for (size_t i = 0; i < held; i++)
		check_block(block[i]);
	if (held)
		await_waiting(held);
	for (size_t i = 0; i < held; i++)
		check_block(block[i]);
	for (size_t i = 0; i < contexts; i++)
		lull_hazptr_context_cleanup(&ctx[i]);
	lull_hazptr_barrier();
	assert_int_equal(waiting(), 0);
	free(block);
	free(ctx);
}

static void test_bound(void **state)
{
	static const enum lull_reclaim_mode modes[] = { LULL_RECLAIM_THREAD, LULL_RECLAIM_CALLER,
							LULL_RECLAIM_POLL };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		set_mode(modes[i]);
		retire_under_stalled_readers(0);
		retire_under_stalled_readers(1);
		retire_under_stalled_readers(50);
		retire_under_stalled_readers(200);
	}
}

/* A reader that is stuck in a read section holds up nothing of it. */
static void test_bound_under_rcu_reader(void **state)
{
	(void)state;
	lull_rcu_read_lock();
	for (int i = 0; i < 100000; i++) {
		lull_hazptr_retire(malloc(BLOCK));
		if (i % 97 == 0)
			assert_true(waiting() <= bound_of(0));
	}
	lull_rcu_read_unlock();
	lull_hazptr_barrier();
}

/*
 * Nor does the reclaimer, when that has taken everything for a barrier and comes to nothing: because of a stuck
 * RCU reader, or in a callback that does not end.
 */
static int stuck, unstick;

static void *stuck_reader(void *unused)
{
	lull_rcu_read_lock();
	lull_store_release(&stuck, 1);
	await_count(&unstick, 1);
	lull_rcu_read_unlock();
	return unused;
}

static void stuck_callback(struct lull_rcu_head *head)
{
	lull_store_release(&stuck, 1);
	await_count(&unstick, 1);
	thing_gone(head);
}

static void *rcu_barrier_run(void *unused)
{
	lull_rcu_barrier();
	return unused;
}

static void retire_under_stuck_reclaimer(void)
{
	pthread_t thread = start_thread(rcu_barrier_run, NULL);
	size_t most = 0;

	await_count(&stuck, 1);
	nap_ms(50);
	for (int i = 0; i < 100000; i++) {
		size_t now;

		lull_hazptr_retire(malloc(BLOCK));
		if (i % 97 == 0 && (now = waiting()) > most)
			most = now;
	}
	lull_store_release(&unstick, 1);
	join_thread(thread);
	lull_hazptr_barrier();
	if (most > bound_of(0))
		print_error("%zu waited, %zu are allowed\n", most, bound_of(0));
	assert_true(most <= bound_of(0));
}

static void test_bound_under_stuck_reclaimer(void **state)
{
	pthread_t reader;

	(void)state;
	for (int way = 0; way < 2; way++) {
		stuck = unstick = 0;
		lull_hazptr_retire(malloc(BLOCK));
		if (way == 0)
			reader = start_thread(stuck_reader, NULL);
		else
			lull_hazptr_call(&new_thing(NULL)->rcu, stuck_callback);
		await_count(&stuck, 1);
		lull_rcu_free(malloc(BLOCK));
		lull_hazptr_retire(malloc(BLOCK));
		retire_under_stuck_reclaimer();
		if (way == 0)
			join_thread(reader);
	}
}

/* Many more slots, all protecting, than there were when this thread retired for the first time. */
static void test_slots_grow(void **state)
{
	enum { CONTEXTS = 1500, SLOTS = CONTEXTS * LULL_HAZPTR_SLOTS };
	struct lull_hazptr_context *ctx = (struct lull_hazptr_context *)calloc(CONTEXTS, sizeof(*ctx));
	unsigned char **block = (unsigned char **)calloc(SLOTS, sizeof(*block));

	(void)state;
	assert_true(ctx && block);
	lull_hazptr_retire(malloc(BLOCK));
	lull_hazptr_barrier();
	for (int i = 0; i < SLOTS; i++) {
		if (i % LULL_HAZPTR_SLOTS == 0)
			lull_hazptr_context_init(&ctx[i / LULL_HAZPTR_SLOTS]);
		block[i] = (unsigned char *)malloc(BLOCK);
		memset(block[i], 0xa7, BLOCK);
		lull_hazptr_protect_ptr(lull_hazptr_alloc(&ctx[i / LULL_HAZPTR_SLOTS]), block[i]);
		lull_hazptr_retire(block[i]);
		lull_hazptr_retire(malloc(BLOCK));
	}
	await_waiting(SLOTS);
	for (int i = 0; i < 3 * SLOTS; i++)
		lull_hazptr_retire(malloc(BLOCK));
	assert_true(waiting() <= bound_of(CONTEXTS));
	for (int i = 0; i < SLOTS; i++)
		check_block(block[i]);
	for (int i = 0; i < CONTEXTS; i++)
		lull_hazptr_context_cleanup(&ctx[i]);
	lull_hazptr_barrier();
	assert_int_equal(waiting(), 0);
	free(block);
	free(ctx);
}

/* ---- modes --------------------------------------------------------------------------------------- */

static int notified;

static void note(void *arg)
{
	lull_add_relaxed((int *)arg, 1);
}

static void test_poll_mode(void **state)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct thing *kept = new_thing(&gone);
	struct lull_reclaim_config config;

	(void)state;
	lull_reclaim_default_config(&config);
	config.mode = LULL_RECLAIM_POLL;
	config.notify = note;
	config.notify_arg = &notified;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	notified = 0;
	lull_hazptr_protect(h, kept, rcu);
	lull_hazptr_call(&kept->rcu, note_caller);
	assert_int_equal(notified, 1);
	for (int i = 0; i < 10; i++)
		lull_hazptr_call(&new_thing(&gone)->rcu, note_caller);
	nap_ms(30);
	assert_int_equal(lull_load_relaxed(&gone), 0); /* nobody else does it */
	assert_int_equal(lull_reclaim_poll(3, 0), 3);
	assert_int_equal(lull_reclaim_poll(100, 0), 7);
	assert_int_equal(gone, 10);
	assert_true(pthread_equal(lull_load_relaxed(&called_by), pthread_self()));
	assert_int_equal(lull_reclaim_poll(100, 0), 0);
	check_alive(kept);
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	check_alive(kept);
	lull_hazptr_clear(h);
	assert_int_equal(lull_reclaim_poll(100, 0), 1);
	assert_int_equal(gone, 11);
	lull_hazptr_free(own(), h);

	/* A barrier does it itself, and what is left goes to the thread. */
	lull_hazptr_call(&new_thing(&gone)->rcu, thing_gone);
	lull_hazptr_barrier();
	assert_int_equal(gone, 12);
	lull_hazptr_call(&new_thing(&gone)->rcu, thing_gone);
	set_mode(LULL_RECLAIM_THREAD);
	await_count(&gone, 13);
}

static void test_caller_mode(void **state)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct thing *kept = new_thing(&gone);

	(void)state;
	set_mode(LULL_RECLAIM_CALLER);
	lull_hazptr_protect(h, kept, rcu);
	lull_hazptr_call(&kept->rcu, thing_gone);
	for (int i = 0; i < 5000; i++) {
		lull_hazptr_call(&new_thing(&gone)->rcu, note_caller);
		if (lull_load_acquire(&gone))
			assert_true(pthread_equal(lull_load_relaxed(&called_by), pthread_self()));
	}
	assert_true(gone > 0);
	await_waiting(1);
	assert_int_equal(lull_load_relaxed(&gone), 5000);
	check_alive(kept);
	lull_hazptr_free(own(), h);
	await_count(&gone, 5001);
}

/* ---- callbacks ----------------------------------------------------------------------------------- */

static struct thing callbacks_thing, *callbacks_source = &callbacks_thing;

static void defer_another(struct lull_rcu_head *head)
{
	struct thing *thing = lull_container_of(head, struct thing, rcu);

	if (lull_sub_relaxed(&thing->value, 1) > 30)
		lull_hazptr_call(head, defer_another);
	else
		thing_gone(head);
}

/* Retires, protects what others publish, protects what it has itself, waits, in all ways. */
static void busy_callback(struct lull_rcu_head *head)
{
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();
	struct lull_hazptr_hold hold[12];
	struct lull_hazptr *h = lull_hazptr_alloc(ctx);

	assert_non_null(h);
	assert_ptr_equal(lull_hazptr_protect(h, callbacks_source, rcu), &callbacks_thing);
	for (int i = 0; i < 12; i++)
		lull_hazptr_acquire(&hold[i], &callbacks_source);
	lull_hazptr_retire(malloc(40));
	lull_rcu_free(malloc(40));
	lull_rcu_free_hazptr(malloc(40));
	lull_hazptr_synchronize(&first);
	lull_hazptr_synchronize(head);
	assert_int_equal(lull_hazptr_synchronize_range_timeout(&first, sizeof(first), 1000), 0);
	for (int i = 0; i < 12; i++)
		lull_hazptr_release(&hold[i], &callbacks_thing);
	lull_hazptr_free(ctx, h);
	lull_rcu_synchronize();
	lull_hazptr_call(head, thing_gone);
}

static void test_busy_callbacks(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)
		lull_hazptr_call(&new_thing(&gone)->rcu, busy_callback);
	lull_hazptr_barrier();
	assert_int_equal(gone, 100);
	assert_int_equal(waiting(), 0);
}

static void test_callbacks_call(void **state)
{
	(void)state;
	lull_hazptr_call(&new_thing(&gone)->rcu, defer_another);
	lull_hazptr_barrier(); /* follows 16 generations */
	assert_int_equal(gone, 1);
	assert_int_equal(waiting(), 0);
}

/* A callback waits for what a reader holds, and others go on when that lets go. */
static void waiting_callback(struct lull_rcu_head *head)
{
	lull_hazptr_synchronize(&callbacks_thing);
	thing_gone(head);
}

static void test_callback_waits(void **state)
{
	struct holder holder;

	(void)state;
	callbacks_thing.value = 42;
	holder_start(&holder, CLEAR, &callbacks_source);
	lull_hazptr_call(&new_thing(&gone)->rcu, waiting_callback);
	nap_ms(30);
	assert_int_equal(lull_load_relaxed(&gone), 0);
	holder_let_go(&holder);
	await_count(&gone, 1);
	holder_finish(&holder);
}

/* What a callback protects beyond its end stays, too. */
static struct lull_hazptr_hold callbacks_hold;
static struct thing *callbacks_kept;

static void keeping_callback(struct lull_rcu_head *head)
{
	lull_hazptr_acquire(&callbacks_hold, &callbacks_kept);
	lull_hazptr_detach(&callbacks_hold);
	lull_hazptr_call(&callbacks_kept->rcu, thing_gone);
	thing_gone(head);
}

static void test_callback_keeps(void **state)
{
	(void)state;
	callbacks_kept = new_thing(&gone);
	lull_hazptr_call(&new_thing(&gone)->rcu, keeping_callback);
	await_count(&gone, 1);
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	check_alive(callbacks_kept);
	lull_hazptr_release(&callbacks_hold, callbacks_kept);
	await_count(&gone, 2);
}

static void self_waiting_callback(struct lull_rcu_head *head)
{
	struct lull_hazptr_hold hold;

	lull_hazptr_acquire(&hold, &callbacks_source);
	lull_hazptr_synchronize(&callbacks_thing);
	thing_gone(head);
}

static void synchronize_own_in_callback(void)
{
	lull_hazptr_call(&new_thing(&gone)->rcu, self_waiting_callback);
	nap_ms(5000);
}

static void barrier_callback(struct lull_rcu_head *head)
{
	(void)head;
	lull_hazptr_barrier();
}

static void barrier_in_callback(void)
{
	lull_hazptr_call(&new_thing(&gone)->rcu, barrier_callback);
	nap_ms(5000);
}

static void test_callback_misuse(void **state)
{
	(void)state;
	NEEDS_THREADS_IN_CHILD();
	expect_abort(synchronize_own_in_callback, "lull_hazptr_synchronize");
	expect_abort(barrier_in_callback, "lull_hazptr_barrier in a callback");
}

/* ---- barrier ------------------------------------------------------------------------------------- */

static void *barrier_run(void *arg)
{
	lull_hazptr_barrier();
	lull_store_release((int *)arg, 1);
	return NULL;
}

static void *barriers_run(void *unused)
{
	for (int i = 0; i < 100; i++) {
		int mine = 0;

		lull_hazptr_call(&new_thing(&mine)->rcu, thing_gone);
		lull_hazptr_retire(malloc(48));
		lull_hazptr_barrier();
		assert_int_equal(lull_load_acquire(&mine), 1);
	}
	return unused;
}

static void test_barrier(void **state)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct thing *thing = new_thing(&gone);
	pthread_t thread[4];
	int done[4] = { 0 };

	(void)state;
	lull_hazptr_barrier();
	lull_hazptr_protect(h, thing, rcu);
	lull_hazptr_call(&thing->rcu, thing_gone);
	for (int i = 0; i < 4; i++)
		thread[i] = start_thread(barrier_run, &done[i]);
	nap_ms(50);
	for (int i = 0; i < 4; i++)
		assert_int_equal(lull_load_acquire(&done[i]), 0);
	assert_int_equal(lull_hazptr_barrier_timeout(0), -ETIMEDOUT);
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	lull_hazptr_free(own(), h);
	for (int i = 0; i < 4; i++)
		join_thread(thread[i]);
	assert_int_equal(gone, 1);
	assert_int_equal(lull_hazptr_barrier_timeout(60000), 0);
}

static void test_concurrent_barriers(void **state)
{
	pthread_t thread[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		thread[i] = start_thread(barriers_run, NULL);
	for (int i = 0; i < 4; i++)
		join_thread(thread[i]);
}

/* What is retired and protected after a barrier began does not make it last. */
static void test_barrier_is_of_before(void **state)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own()), *later = lull_hazptr_alloc(own());
	struct thing *old = new_thing(&gone), *young = new_thing(&gone);
	pthread_t thread;
	int done = 0;

	(void)state;
	lull_hazptr_protect(h, old, rcu);
	lull_hazptr_protect(later, young, rcu);
	lull_hazptr_call(&old->rcu, thing_gone);
	thread = start_thread(barrier_run, &done);
	nap_ms(50);
	assert_int_equal(lull_load_acquire(&done), 0);
	lull_hazptr_call(&young->rcu, thing_gone);
	lull_hazptr_free(own(), h);
	join_thread(thread);
	assert_true(lull_load_acquire(&gone) >= 1);
	check_alive(young);
	lull_hazptr_free(own(), later);
	await_count(&gone, 2);
}

/* A grace period's barrier has nothing to do with what hazard pointers protect. */
static void test_rcu_barrier_does_not_wait(void **state)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct thing *thing = new_thing(&gone);

	(void)state;
	lull_hazptr_protect(h, thing, rcu);
	lull_hazptr_call(&thing->rcu, thing_gone);
	lull_rcu_barrier();
	check_alive(thing);
	assert_int_equal(lull_reclaim_drain(20), -ETIMEDOUT); /* of all there is */
	check_alive(thing);
	lull_hazptr_free(own(), h);
	await_count(&gone, 1);
}

static void barrier_in_section(void)
{
	lull_rcu_read_lock();
	lull_hazptr_barrier();
}

static void barrier_timeout_in_section(void)
{
	lull_rcu_read_lock();
	lull_hazptr_barrier_timeout(10);
}

static void test_barrier_misuse(void **state)
{
	(void)state;
	expect_abort(barrier_in_section, "lull_hazptr_barrier in a read section");
	expect_abort(barrier_timeout_in_section, "lull_hazptr_barrier_timeout in a read section");
}

/* ---- synchronize --------------------------------------------------------------------------------- */

static void test_synchronize_nothing(void **state)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct thing *thing = &first;

	(void)state;
	lull_hazptr_synchronize(&first);
	lull_hazptr_synchronize_range(&first, sizeof(first));
	lull_hazptr_synchronize(NULL); /* empty slots do not protect it */
	lull_hazptr_protect(h, thing, rcu);
	lull_hazptr_synchronize(&second);
	lull_hazptr_synchronize_range(&second, sizeof(second));
	assert_int_equal(lull_hazptr_synchronize_timeout(&second, 0), 0);
	assert_int_equal(lull_hazptr_synchronize_range_timeout(&second, sizeof(second), 0), 0);
	lull_rcu_read_lock();
	lull_hazptr_synchronize(&second);
	lull_rcu_read_unlock();
	lull_rcu_online();
	lull_hazptr_synchronize(&second);
	assert_true(lull_rcu_read_lock_held());
	lull_rcu_offline();
	lull_hazptr_free(own(), h);
}

/* Waits while it is held, and is woken however that ends. */
static void test_synchronize(void **state)
{
	struct thing *thing = &first;

	(void)state;
	first.value = 42;
	for (int way = 0; way < WAYS; way++) {
		struct waiter waiter[2];
		struct holder holder;

		start_hearing();
		holder_start(&holder, (enum letting_go)way, &thing);
		waiter_start(&waiter[0], &first, 0);
		waiter_start(&waiter[1], &first, sizeof(first));
		nap_ms(20);
		assert_int_equal(lull_load_acquire(&waiter[0].done), 0);
		assert_int_equal(lull_load_acquire(&waiter[1].done), 0);
		holder_let_go(&holder);
		for (int i = 0; i < 2; i++)
			join_thread(waiter[i].thread);
		holder_finish(&holder);
		stop_hearing();
		assert_int_equal(heard_lines, holder_exits(&holder) ? 1 : 0);
	}
}

/* The same with the waiter at any point of its way to sleep. */
static struct thing *bounce;
static int bounce_stop;

static void *bounce_run(void *unused)
{
	struct lull_hazptr_hold hold;

	while (!lull_load_relaxed(&bounce_stop)) {
		struct thing *thing = lull_hazptr_acquire(&hold, &bounce);

		for (int i = 0; i < 50; i++)
			check_alive(thing);
		lull_hazptr_release(&hold, thing);
	}
	return unused;
}

static void test_synchronize_many_times(void **state)
{
	pthread_t thread[2];

	(void)state;
	bounce_stop = 0;
	bounce = new_thing(NULL);
	for (int i = 0; i < 2; i++)
		thread[i] = start_thread(bounce_run, NULL);
	for (uint64_t end = now_ns() + 300000000u; now_ns() < end;) {
		struct thing *old = bounce;

		lull_hazptr_publish(bounce, new_thing(NULL));
		lull_hazptr_synchronize(old);
		thing_gone(&old->rcu);
	}
	lull_store_relaxed(&bounce_stop, 1);
	for (int i = 0; i < 2; i++)
		join_thread(thread[i]);
	free(bounce);
}

/* Waiting costs no processor time. (Where fences are full ones the waiter may look again, ever more rarely.) */
static void test_waiting_sleeps(void **state)
{
	struct thing *thing = &first;
	struct waiter waiter;
	struct holder holder;

	(void)state;
	first.value = 42;
	holder_start(&holder, RELEASE, &thing);
	waiter_start(&waiter, &first, 0);
	nap_ms(1000);
	assert_int_equal(lull_load_acquire(&waiter.done), 0);
	holder_let_go(&holder);
	join_thread(waiter.thread);
	holder_finish(&holder);
	assert_true(waiter.cpu_ns < 200000000u);
	assert_true(waiter.switches < (lull_fence_strategy() == LULL_FENCE_FULL ? 40 : 10));
}

/* ---- starvation: readers that come back for ever to what was never unlinked ---------------------- */

static int again_stop, again_started;

static void *again_clears(void *unused)
{
	struct lull_hazptr *h = lull_hazptr_alloc(lull_hazptr_thread_context());

	lull_add_release(&again_started, 1);
	while (!lull_load_relaxed(&again_stop)) {
		lull_hazptr_protect(h, variable, rcu);
		lull_hazptr_clear(h);
	}
	lull_hazptr_free(lull_hazptr_thread_context(), h);
	return unused;
}

static void *again_overwrites(void *unused)
{
	struct lull_hazptr *h = lull_hazptr_alloc(lull_hazptr_thread_context());

	lull_add_release(&again_started, 1);
	while (!lull_load_relaxed(&again_stop))
		lull_hazptr_protect(h, variable, rcu);
	lull_hazptr_free(lull_hazptr_thread_context(), h);
	return unused;
}

/* One of the two slots has it at any time. */
static void *again_hand_over_hand(void *unused)
{
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();
	struct lull_hazptr *h[2] = { lull_hazptr_alloc(ctx), lull_hazptr_alloc(ctx) };

	lull_hazptr_protect(h[0], variable, rcu);
	lull_add_release(&again_started, 1);
	for (int i = 0; !lull_load_relaxed(&again_stop); i ^= 1) {
		lull_hazptr_protect(h[i ^ 1], variable, rcu);
		lull_hazptr_clear(h[i]);
	}
	lull_hazptr_free(ctx, h[0]);
	lull_hazptr_free(ctx, h[1]);
	return unused;
}

/* Holds one after the other, in slots and without, and detached, so that the lists move as well. */
static void *again_holds(void *unused)
{
	struct lull_hazptr_hold hold[10];
	unsigned n = 0;

	for (; n < 10; n++)
		lull_hazptr_acquire(&hold[n], &variable);
	lull_add_release(&again_started, 1);
	for (; !lull_load_relaxed(&again_stop); n++) {
		struct lull_hazptr_hold *next = &hold[n % 10];

		if (n % 3 == 0)
			lull_hazptr_detach(next);
		lull_hazptr_release(next, &first);
		lull_hazptr_acquire(next, &variable);
	}
	for (int i = 0; i < 10; i++)
		lull_hazptr_release(&hold[i], &first);
	return unused;
}

static void wait_under(void *(*one)(void *), void *(*other)(void *))
{
	pthread_t thread[2];

	again_stop = again_started = 0;
	lull_hazptr_publish(variable, &first);
	thread[0] = start_thread(one, NULL);
	thread[1] = start_thread(other, NULL);
	await_count(&again_started, 2);
	for (int round = 0; round < 30; round++) {
		struct waiter waiter[2];

		waiter_start(&waiter[0], &first, 0);
		waiter_start(&waiter[1], &first, sizeof(first));
		join_thread(waiter[0].thread);
		join_thread(waiter[1].thread);
	}
	lull_store_relaxed(&again_stop, 1);
	join_thread(thread[0]);
	join_thread(thread[1]);
}

static void test_starvation(void **state)
{
	(void)state;
	wait_under(again_clears, again_clears);
	wait_under(again_overwrites, again_clears);
	wait_under(again_hand_over_hand, again_overwrites);
	wait_under(again_hand_over_hand, again_holds);
}

/* ---- ranges and time limits ------------------------------------------------------------------------ */

static char array[64], *inside;

static void *range_run(void *arg)
{
	int *result = (int *)arg;

	*result = lull_hazptr_synchronize_range_timeout(array + 16, 32, 5);
	return NULL;
}

static int range_with(char *pointer)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	int result;

	inside = pointer;
	assert_ptr_equal(lull_hazptr_protect_ptr(h, inside), pointer);
	join_thread(start_thread(range_run, &result));
	lull_hazptr_free(own(), h);
	return result;
}

static void test_range(void **state)
{
	struct waiter waiter;
	struct lull_hazptr *h;

	(void)state;
	for (int i = 0; i < 64; i++)
		assert_int_equal(range_with(array + i), i >= 16 && i < 48 ? -ETIMEDOUT : 0);

	/* It ends when the slot points to somewhere else, outside. */
	h = lull_hazptr_alloc(own());
	inside = array + 20;
	lull_hazptr_protect_ptr(h, inside);
	waiter_start(&waiter, array + 16, 32);
	nap_ms(20);
	assert_int_equal(lull_load_acquire(&waiter.done), 0);
	inside = array + 48;
	lull_hazptr_protect_ptr(h, inside);
	join_thread(waiter.thread);
	lull_hazptr_free(own(), h);
}

static void test_timeout(void **state)
{
	struct thing *thing = &first;
	struct holder holder;

	(void)state;
	first.value = 42;
	holder_start(&holder, FREE_SLOT, &thing);
	for (uint64_t ms = 0; ms < 30; ms += 10) {
		uint64_t start_ns = now_ns();

		assert_int_equal(lull_hazptr_synchronize_timeout(&first, ms), -ETIMEDOUT);
		assert_int_equal(lull_hazptr_synchronize_range_timeout(array, sizeof(array), ms), 0);
		assert_int_equal(lull_hazptr_synchronize_range_timeout(&first, 1, ms), -ETIMEDOUT);
		assert_true(now_ns() - start_ns >= 2 * ms * 1000000u);
	}
	holder_let_go(&holder);
	assert_int_equal(lull_hazptr_synchronize_timeout(&first, 60000), 0);
	holder_finish(&holder);
}

/* ---- misuse ---------------------------------------------------------------------------------------- */

static void protect_misused(void)
{
	must(lull_hazptr_protect_ptr(lull_hazptr_alloc(own()), misused_source));
}

static void synchronize_own(void)
{
	protect_misused();
	lull_hazptr_synchronize(&misused_thing);
}

static void synchronize_own_range(void)
{
	inside = array + 8;
	must(lull_hazptr_protect_ptr(lull_hazptr_alloc(own()), inside));
	lull_hazptr_synchronize_range(array, sizeof(array));
}

static void synchronize_own_timeout(void)
{
	protect_misused();
	lull_hazptr_synchronize_timeout(&misused_thing, 1000);
}

static void synchronize_own_hold(void)
{
	lull_hazptr_acquire(&misused, &misused_source);
	lull_hazptr_synchronize(&misused_thing);
}

static void unregister_protecting(void)
{
	protect_misused();
	lull_thread_unregister();
}

static void test_misuse(void **state)
{
	(void)state;
	expect_abort(synchronize_own, "lull_hazptr_synchronize");
	expect_abort(synchronize_own_range, "lull_hazptr_synchronize_range");
	expect_abort(synchronize_own_timeout, "lull_hazptr_synchronize_timeout");
	expect_abort(synchronize_own_hold, "lull_hazptr_synchronize");
	expect_abort(unregister_protecting, "lull_thread_unregister");
}

#ifdef LULL_DEBUG
static struct lull_hazptr_context others;

static void *alloc_foreign_run(void *unused)
{
	lull_hazptr_alloc(&others);
	return unused;
}

static void alloc_foreign(void)
{
	lull_hazptr_context_init(&others);
	join_thread(start_thread(first_slot_run, NULL));
	join_thread(start_thread(alloc_foreign_run, NULL));
}

static struct lull_hazptr *others_slot;

static void *free_foreign_run(void *unused)
{
	lull_thread_register();
	lull_hazptr_free(&others, others_slot);
	return unused;
}

static void free_foreign(void)
{
	lull_hazptr_context_init(&others);
	others_slot = lull_hazptr_alloc(&others);
	join_thread(start_thread(free_foreign_run, NULL));
}

static void *cleanup_foreign_run(void *unused)
{
	lull_thread_register();
	lull_hazptr_context_cleanup(&others);
	return unused;
}

static void cleanup_foreign(void)
{
	lull_hazptr_context_init(&others);
	join_thread(start_thread(cleanup_foreign_run, NULL));
}

static void test_debug_checks(void **state)
{
	(void)state;
	NEEDS_THREADS_IN_CHILD();
	expect_abort(alloc_foreign, "lull_hazptr_alloc: the context belongs to another thread");
	expect_abort(free_foreign, "lull_hazptr_free: the context belongs to another thread");
	expect_abort(cleanup_foreign, "lull_hazptr_context_cleanup: the context belongs to another");
}
#endif

/* ---- threads that end ------------------------------------------------------------------------------ */

static void *unregistered_run(void *unused)
{
	struct lull_hazptr_hold hold[10];

	own();
	lull_thread_unregister();
	assert_null(lull_hazptr_alloc(lull_hazptr_thread_context()));
	for (int i = 0; i < 10; i++)
		assert_ptr_equal(lull_hazptr_acquire(&hold[i], &variable), &first);
	assert_false(is_free_of(&first));
	for (int i = 0; i < 10; i++)
		lull_hazptr_release(&hold[i], &first);
	assert_true(is_free_of(&first));
	lull_hazptr_retire(malloc(16));
	lull_hazptr_synchronize(&first);
	lull_thread_register();
	check_all_free(lull_hazptr_thread_context());
	return unused;
}

static void test_unregistered(void **state)
{
	(void)state;
	lull_hazptr_publish(variable, &first);
	for (int i = 0; i < 20; i++)
		join_thread(start_thread(unregistered_run, NULL));
}

/* Ends with more holds than slots and a context. Their memory goes when it is gone. */
struct left_behind {
	struct lull_hazptr_hold hold[12];
	struct lull_hazptr_context ctx;
};

static void *exits_holding(void *arg)
{
	struct left_behind *left = (struct left_behind *)arg;

	for (int i = 0; i < 12; i++)
		lull_hazptr_acquire(&left->hold[i], &variable);
	lull_hazptr_context_init(&left->ctx);
	lull_hazptr_protect(lull_hazptr_alloc(&left->ctx), variable, rcu);
	return NULL;
}

static void test_exit_holding(void **state)
{
	struct left_behind *left = (struct left_behind *)malloc(sizeof(*left));

	(void)state;
	assert_non_null(left);
	lull_hazptr_publish(variable, &first);
	start_hearing();
	join_thread(start_thread(exits_holding, left));
	assert_int_equal(heard_lines, 1);
	assert_non_null(strstr(heard, "protects 13 objects"));
	stop_hearing();
	memset(left, 0x5a, sizeof(*left));
	free(left);
	lull_hazptr_synchronize(&first); /* does not wait for the dead */
	join_thread(start_thread(first_slot_run, NULL));
	lull_hazptr_retire(malloc(16));
	lull_hazptr_barrier();
}

/* Asks for another round as long as glibc gives one, so the last ones come after lull's own destructor. */
#ifdef LULL__TSAN
#define LATE_ROUNDS 2
#else
#define LATE_ROUNDS 100
#endif
static pthread_key_t late_key;
static __thread int late_round;
static int late_runs;

static void late_reader(void *value)
{
	struct lull_hazptr_hold hold[12];
	struct lull_hazptr *h = lull_hazptr_alloc(lull_hazptr_thread_context());

	for (int i = 0; i < 12; i++)
		assert_ptr_equal(lull_hazptr_acquire(&hold[i], &variable), &first);
	assert_int_equal(lull_hazptr_synchronize_timeout(&second, 1000), 0);
	lull_hazptr_retire(malloc(32));
	for (int i = 0; i < 12; i++)
		lull_hazptr_release(&hold[i], &first);
	if (h)
		lull_hazptr_free(lull_hazptr_thread_context(), h);
	lull_add_relaxed(&late_runs, 1);
	if (++late_round < LATE_ROUNDS)
		pthread_setspecific(late_key, value);
}

static void *ends_late(void *unused)
{
	pthread_setspecific(late_key, &late_key);
	own();
	return unused;
}

static void test_late_readers(void **state)
{
	(void)state;
	lull_hazptr_publish(variable, &first);
	start_hearing();
	assert_int_equal(pthread_key_create(&late_key, late_reader), 0);
	for (int i = 0; i < 50; i++) {
		join_thread(start_thread(ends_late, NULL));
		lull_hazptr_synchronize(&first);
	}
	assert_true(late_runs >= 100);
	pthread_key_delete(late_key);
	lull_hazptr_barrier();
	stop_hearing();
	assert_int_equal(heard_lines, 0);
}

/* ---- fork ------------------------------------------------------------------------------------------ */

enum { OTHERS = 3, DETACHED = 3, OWN_SLOT, OWN_OVERFLOW, OWN_DETACHED, OWN_CONTEXT, FORKED };
static struct thing *forked[FORKED];
static struct holder forked_holder[4];
static struct lull_hazptr_hold forked_hold[FORKED];
static struct lull_hazptr_context forked_ctx;
static struct lull_hazptr *forked_slot[LULL_HAZPTR_SLOTS];
static int forked_gone;

static void let_go_in_child(int n)
{
	if (n == DETACHED)
		lull_hazptr_release(&forked_holder[DETACHED].hold, forked[n]);
	else if (n == OWN_SLOT)
		lull_hazptr_free(own(), forked_slot[0]);
	else if (n == OWN_CONTEXT)
		lull_hazptr_context_cleanup(&forked_ctx);
	else
		lull_hazptr_release(&forked_hold[n], forked[n]);
}

static void child_of_holders(void)
{
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.mode = LULL_RECLAIM_POLL;
	must(lull_reclaim_configure(&config) == 0);
	/* Those of other threads are not there. */
	for (int n = 0; n < OTHERS; n++)
		must(lull_hazptr_synchronize_timeout(forked[n], 5000) == 0);
	must(lull_hazptr_synchronize_timeout(forked[DETACHED], 10) == -ETIMEDOUT);
	/* The own ones, and those of nobody in particular, are, and they work. */
	for (int n = DETACHED; n < FORKED; n++)
		lull_hazptr_call(&forked[n]->rcu, thing_gone);
	must(lull_reclaim_poll(100, 0) == 0);
	must(lull_hazptr_barrier_timeout(10) == -ETIMEDOUT);
	for (int n = DETACHED; n < FORKED; n++) {
		must(lull_load_relaxed(&forked[n]->value) == 42);
		let_go_in_child(n);
		must(lull_reclaim_poll(100, 0) == 1);
		must(forked_gone == n - DETACHED + 1);
	}
	for (int i = 1; i < LULL_HAZPTR_SLOTS; i++)
		lull_hazptr_free(own(), forked_slot[i]);
	check_all_free(own());
	lull_hazptr_call(&forked[0]->rcu, thing_gone);
	lull_hazptr_barrier();
	must(forked_gone == FORKED - DETACHED + 1);
}

static void test_fork(void **state)
{
	static const enum letting_go ways[4] = { FREE_SLOT, RELEASE_OVERFLOW, CLEAN_UP, RELEASE_ELSEWHERE };

	(void)state;
	forked_gone = 0;
	for (int n = 0; n < FORKED; n++)
		forked[n] = new_thing(&forked_gone);
	for (int n = 0; n < 4; n++)
		holder_start(&forked_holder[n], ways[n], &forked[n]);
	lull_hazptr_acquire(&forked_hold[OWN_DETACHED], &forked[OWN_DETACHED]);
	lull_hazptr_detach(&forked_hold[OWN_DETACHED]);
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		forked_slot[i] = lull_hazptr_alloc(own());
	lull_hazptr_protect(forked_slot[0], forked[OWN_SLOT], rcu);
	lull_hazptr_acquire(&forked_hold[OWN_OVERFLOW], &forked[OWN_OVERFLOW]);
	lull_hazptr_context_init(&forked_ctx);
	lull_hazptr_protect(lull_hazptr_alloc(&forked_ctx), forked[OWN_CONTEXT], rcu);

	expect_fine(child_of_holders);

	/* Here everything is as it was. */
	for (int n = 0; n < FORKED; n++)
		assert_false(is_free_of(forked[n]));
	for (int n = 0; n < 4; n++) {
		holder_let_go(&forked_holder[n]);
		holder_finish(&forked_holder[n]);
	}
	lull_hazptr_release(&forked_hold[OWN_DETACHED], forked[OWN_DETACHED]);
	lull_hazptr_release(&forked_hold[OWN_OVERFLOW], forked[OWN_OVERFLOW]);
	lull_hazptr_context_cleanup(&forked_ctx);
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		lull_hazptr_free(own(), forked_slot[i]);
	for (int n = 0; n < FORKED; n++) {
		assert_true(is_free_of(forked[n]));
		free(forked[n]);
	}
}

/* A thread that waited in the parent is not there to be woken in the child. */
static void child_releases(void)
{
	lull_hazptr_release(&forked_hold[0], &first);
	lull_hazptr_synchronize(&first);
}

static void test_fork_under_waiter(void **state)
{
	struct thing *thing = &first;
	struct waiter waiter;

	(void)state;
	lull_hazptr_acquire(&forked_hold[0], &thing);
	waiter_start(&waiter, &first, 0);
	nap_ms(20);
	expect_fine(child_releases);
	assert_int_equal(lull_load_acquire(&waiter.done), 0);
	lull_hazptr_release(&forked_hold[0], &first);
	join_thread(waiter.thread);
}

/* fork at any moment of what other threads do. */
static int churn_stop;

static void *churn_run(void *arg)
{
	struct thing handed_on, *source = &handed_on; /* a child keeps what is detached */
	struct lull_hazptr_hold hold[12];
	struct lull_hazptr_context ctx;
	struct thing *thing;

	while (!lull_load_relaxed(&churn_stop)) {
		lull_hazptr_context_init(&ctx);
		lull_hazptr_protect(lull_hazptr_alloc(&ctx), variable, rcu);
		for (int i = 0; i < 12; i++)
			lull_hazptr_acquire(&hold[i], i == 3 ? &source : &variable);
		lull_hazptr_detach(&hold[3]);
		for (int i = 0; i < 12; i++)
			lull_hazptr_release(&hold[i], &first);
		lull_hazptr_context_cleanup(&ctx);
		thing = new_thing(NULL);
		lull_hazptr_call(&thing->rcu, thing_gone);
		lull_hazptr_retire(malloc(32));
		lull_hazptr_synchronize(&second);
		if (arg)
			join_thread(start_thread(first_slot_run, NULL));
	}
	return NULL;
}

static void child_of_churn(void)
{
	struct lull_reclaim_config config;
	struct lull_hazptr_hold hold[12];
	struct lull_hazptr_context ctx;
	struct thing *thing;
	int count = 0;

	lull_reclaim_default_config(&config);
	config.mode = LULL_RECLAIM_POLL;
	must(lull_reclaim_configure(&config) == 0);
	check_all_free(own());
	lull_hazptr_context_init(&ctx);
	for (int i = 0; i < 12; i++)
		lull_hazptr_acquire(&hold[i], &variable);
	for (int i = 0; i < 12; i++)
		lull_hazptr_release(&hold[i], &first);
	must(lull_hazptr_synchronize_timeout(&first, 5000) == 0);
	thing = new_thing(&count);
	lull_hazptr_protect(lull_hazptr_alloc(&ctx), thing, rcu);
	lull_hazptr_call(&thing->rcu, thing_gone);
	must(lull_hazptr_barrier_timeout(1) == -ETIMEDOUT);
	lull_hazptr_context_cleanup(&ctx);
	must(lull_hazptr_barrier_timeout(5000) == 0);
	must(count == 1);
}

static void test_fork_under_load(void **state)
{
	pthread_t thread[2];

	(void)state;
#if SANITIZED
	skip(); /* its own heap is not made whole for the child: the lock may be held by the thread that is gone */
#endif
	churn_stop = 0;
	lull_hazptr_publish(variable, &first);
	for (int i = 0; i < 2; i++)
		thread[i] = start_thread(churn_run, i ? &thread : NULL);
	for (int i = 0; i < 100; i++)
		expect_fine(child_of_churn);
	lull_store_relaxed(&churn_stop, 1);
	for (int i = 0; i < 2; i++)
		join_thread(thread[i]);
}

/* ---- signal handlers -------------------------------------------------------------------------------- */

static struct thing *signalled_source;
static int handled, handler_stop;
static bool slot_in_use[LULL_HAZPTR_SLOTS]; /* by the signalled thread's code, or its handler's */
static __thread bool is_signalled;

static void take_note(const struct lull_hazptr *h, bool in_use)
{
	size_t n = (size_t)(h - lull_hazptr_thread_context()->slot);

	assert_true(n < LULL_HAZPTR_SLOTS);
	assert_true(lull_load_relaxed(&slot_in_use[n]) != in_use);
	lull_store_relaxed(&slot_in_use[n], in_use);
}

/* A few slots and holds, given back in an order that changes. */
static void use_some(unsigned turn)
{
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();
	struct lull_hazptr *h[3];
	struct lull_hazptr_hold hold;
	struct thing *thing;
	unsigned n = turn % 4, from = turn / 4;

	for (unsigned i = 0; i < n; i++) {
		h[i] = lull_hazptr_alloc(ctx);
		if (!h[i]) {
			n = i;
			break;
		}
		take_note(h[i], true);
		thing = lull_hazptr_protect(h[i], signalled_source, rcu);
		check_alive(thing);
	}
	thing = lull_hazptr_acquire(&hold, &signalled_source);
	check_alive(thing);
	lull_hazptr_release(&hold, thing);
	for (unsigned i = 0; i < n; i++) {
		struct lull_hazptr *next = h[(i + from) % n];

		take_note(next, false);
		lull_hazptr_free(ctx, next);
	}
}

static void using_handler(int unused)
{
	(void)unused;
	if (is_signalled)
		use_some((unsigned)lull_add_relaxed(&handled, 1));
}

static void *signalled_run(void *arg)
{
	struct lull_hazptr_context *ctx = own();
	struct lull_hazptr *h[LULL_HAZPTR_SLOTS];
	struct lull_hazptr_hold hold[4];
	struct thing *thing[4];
	int order[LULL_HAZPTR_SLOTS];
	uint32_t n;

	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		order[i] = i;
	is_signalled = true;
	lull_store_release((int *)arg, 1);
	while (!lull_load_relaxed(&handler_stop)) {
		/* At times nearly all, and holds that have to use their own. */
		n = random_below(LULL_HAZPTR_SLOTS + 1);
		for (uint32_t i = 0; i < n; i++) {
			h[i] = lull_hazptr_alloc(ctx);
			assert_non_null(h[i]);
			take_note(h[i], true);
			check_alive(lull_hazptr_protect(h[i], signalled_source, rcu));
		}
		for (int i = 0; i < 4; i++) {
			thing[i] = lull_hazptr_acquire(&hold[i], &signalled_source);
			check_alive(thing[i]);
		}
		for (uint32_t i = n; i > 1; i--)
			swap(&order[i - 1], &order[random_below(i)]);
		for (uint32_t i = 0, got = 0; got < n && i < LULL_HAZPTR_SLOTS; i++) {
			if ((uint32_t)order[i] >= n)
				continue;
			got++;
			take_note(h[order[i]], false);
			lull_hazptr_free(ctx, h[order[i]]);
		}
		for (int i = 0; i < 4; i++) {
			check_alive(thing[i]);
			lull_hazptr_release(&hold[i], thing[i]);
		}
	}
	is_signalled = false;
	check_all_free(ctx);
	return NULL;
}

struct sender {
	pthread_t thread, target;
};

static void *sender_run(void *arg)
{
	struct sender *sender = (struct sender *)arg;
	uint32_t state = 1;

	while (!lull_load_relaxed(&handler_stop)) {
		pthread_kill(sender->target, SIGUSR1);
		state = state * 1664525u + 1013904223u;
		for (uint32_t i = state >> 22; i > 0; i--)
			lull_cpu_relax();
	}
	return NULL;
}

static void test_signal_handlers(void **state)
{
	struct sigaction action;
	struct sender sender;
	pthread_t signalled;
	int ready = 0;

	(void)state;
	memset(&action, 0, sizeof(action));
	memset(slot_in_use, 0, sizeof(slot_in_use));
	action.sa_handler = using_handler;
	sigaction(SIGUSR1, &action, NULL);
	handler_stop = handled = 0;
	signalled_source = new_thing(NULL);
	signalled = start_thread(signalled_run, &ready);
	await_count(&ready, 1);
	sender.target = signalled;
	sender.thread = start_thread(sender_run, &sender);
	for (uint64_t end = now_ns() + 1500000000u; now_ns() < end;) {
		struct thing *old = signalled_source;

		lull_hazptr_publish(signalled_source, new_thing(NULL));
		lull_hazptr_call(&old->rcu, thing_gone);
		if (random_below(4) == 0)
			lull_hazptr_synchronize(old + 1);
		nap_ms(0);
	}
	lull_store_relaxed(&handler_stop, 1);
	join_thread(sender.thread);
	join_thread(signalled);
	assert_true(handled > 0);
	lull_hazptr_barrier();
	free(signalled_source);
}

/* ---- everything at once ----------------------------------------------------------------------------- */

/* Protections in all forms, taken and ended at random, each of its own object that is retired at once. */
struct actor {
	struct thing *thing;
	struct lull_hazptr *h; /* NULL: by the hold */
	struct lull_hazptr_context *ctx;
	struct lull_hazptr_hold hold;
};

static void actor_begins(struct actor *actor, struct lull_hazptr_context *ctx)
{
	struct thing *thing = new_thing(&gone);

	actor->ctx = ctx;
	actor->h = random_below(2) ? lull_hazptr_alloc(ctx) : NULL;
	if (actor->h)
		lull_hazptr_protect(actor->h, thing, rcu);
	else
		lull_hazptr_acquire(&actor->hold, &thing);
	if (!actor->h && random_below(3) == 0)
		lull_hazptr_detach(&actor->hold);
	actor->thing = thing;
	if (random_below(3))
		lull_hazptr_call(&thing->rcu, thing_gone);
	else
		lull_rcu_call_hazptr(&thing->rcu, thing_gone);
}

static void actor_ends(struct actor *actor)
{
	check_alive(actor->thing);
	if (actor->h)
		lull_hazptr_free(actor->ctx, actor->h);
	else
		lull_hazptr_release(&actor->hold, actor->thing);
	actor->thing = NULL;
}

static void act(enum lull_reclaim_mode mode)
{
	struct actor actor[40];
	struct lull_hazptr_context ctx[2];
	int begun = 0;

	set_mode(mode);
	lull_store_relaxed(&gone, 0);
	memset(actor, 0, sizeof(actor));
	for (int i = 0; i < 2; i++)
		lull_hazptr_context_init(&ctx[i]);
	for (int step = 0; step < 20000; step++) {
		struct actor *next = &actor[random_below(ARRAY_SIZE(actor))];
		uint32_t which = random_below(3);

		if (next->thing) {
			actor_ends(next);
		} else {
			actor_begins(next, which < 2 ? &ctx[which] : own());
			begun++;
		}
		if (mode == LULL_RECLAIM_POLL && step % 7 == 0)
			lull_reclaim_poll(SIZE_MAX, 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(actor); i++)
		if (actor[i].thing)
			actor_ends(&actor[i]);
	lull_hazptr_barrier();
	assert_int_equal(gone, begun);
	for (int i = 0; i < 2; i++) {
		check_all_free(&ctx[i]);
		lull_hazptr_context_cleanup(&ctx[i]);
	}
}

static void test_random(void **state)
{
	(void)state;
	act(LULL_RECLAIM_THREAD);
	act(LULL_RECLAIM_POLL);
	act(LULL_RECLAIM_CALLER);
}

/* Readers in all forms against updaters in all forms; holds go from thread to thread. */
enum { SHARED = 4 };
static struct thing *shared[SHARED];
static struct handed {
	struct lull_hazptr_hold hold;
	struct thing *thing;
} *mailbox;
static int storm_stop;

static void hand_over(struct handed *handed)
{
	if (handed)
		lull_hazptr_detach(&handed->hold);
	handed = lull_xchg_acq_rel(&mailbox, handed);
	if (!handed)
		return;
	check_alive(handed->thing);
	lull_hazptr_release(&handed->hold, handed->thing);
	free(handed);
}

static void *storm_reader(void *unused)
{
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();

	for (unsigned n = 0; !lull_load_relaxed(&storm_stop); n++) {
		struct lull_hazptr_hold hold[10];
		struct thing *thing[10];
		struct lull_hazptr *h = lull_hazptr_alloc(ctx);
		struct thing *got;

		assert_non_null(h);
		if ((got = lull_hazptr_tryprotect(h, shared[n % SHARED], rcu)))
			check_alive(got);
		for (int i = 0; i < 10; i++)
			thing[i] = lull_hazptr_acquire(&hold[i], &shared[(n + (unsigned)i) % SHARED]);
		if (n % 4 == 0) {
			struct handed *handed = (struct handed *)malloc(sizeof(*handed));

			handed->thing = lull_hazptr_acquire(&handed->hold, &shared[n / 4 % SHARED]);
			hand_over(handed);
		}
		for (int i = 0; i < 10; i++)
			check_alive(thing[i]);
		if (got)
			check_alive(got);
		for (int i = 0; i < 10; i++)
			lull_hazptr_release(&hold[n & 1 ? i : 9 - i], thing[n & 1 ? i : 9 - i]);
		got = lull_hazptr_protect(h, shared[n % SHARED], rcu);
		check_alive(got);
		lull_hazptr_free(ctx, h);
	}
	return unused;
}

static void *storm_updater(void *unused)
{
	for (unsigned n = 0; !lull_load_relaxed(&storm_stop); n++) {
		struct thing *old = lull_xchg_acq_rel(&shared[n % SHARED], new_thing(NULL));

		switch (n % 5) {
		case 0:
			lull_hazptr_synchronize(old);
			thing_gone(&old->rcu);
			break;
		case 1:
			lull_hazptr_synchronize_range(old, sizeof(*old));
			thing_gone(&old->rcu);
			break;
		case 2:
			lull_hazptr_retire(old);
			break;
		default:
			lull_hazptr_call(&old->rcu, thing_gone);
			break;
		}
	}
	return unused;
}

static void test_storm(void **state)
{
	pthread_t thread[4];

	(void)state;
	storm_stop = 0;
	for (int i = 0; i < SHARED; i++)
		shared[i] = new_thing(NULL);
	for (int i = 0; i < 4; i++)
		thread[i] = start_thread(i < 2 ? storm_reader : storm_updater, NULL);
	nap_ms(1000);
	lull_store_relaxed(&storm_stop, 1);
	for (int i = 0; i < 2; i++)
		join_thread(thread[i]);
	hand_over(NULL); /* an updater may wait for just this */
	for (int i = 2; i < 4; i++)
		join_thread(thread[i]);
	lull_hazptr_barrier();
	assert_int_equal(waiting(), 0);
	for (int i = 0; i < SHARED; i++)
		free(shared[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_slots),
		TEST(test_slots_of_new_thread),
		TEST(test_free_in_any_order),
		TEST(test_many_contexts),
		TEST(test_context_detach),
		TEST(test_tryprotect),
		TEST(test_protect),
		TEST(test_protect_what_changes),
		TEST(test_member),
		TEST(test_member_of_null),
		TEST(test_hold),
		TEST(test_hold_many),
		TEST(test_detach),
		TEST(test_detach_out_of_order),
		TEST(test_hold_misuse),
		TEST(test_call),
		TEST(test_retire),
		TEST(test_retire_forms),
		TEST(test_read_sections_do_not_matter),
		TEST(test_leftovers),
		TEST(test_protected_orphan),
		TEST(test_quiet_while_protected),
		TEST(test_bound),
		TEST(test_bound_under_rcu_reader),
		TEST(test_bound_under_stuck_reclaimer),
		TEST(test_slots_grow),
		TEST(test_poll_mode),
		TEST(test_caller_mode),
		TEST(test_busy_callbacks),
		TEST(test_callbacks_call),
		TEST(test_callback_waits),
		TEST(test_callback_keeps),
		TEST(test_callback_misuse),
		TEST(test_barrier),
		TEST(test_concurrent_barriers),
		TEST(test_barrier_is_of_before),
		TEST(test_rcu_barrier_does_not_wait),
		TEST(test_barrier_misuse),
		TEST(test_synchronize_nothing),
		TEST(test_synchronize),
		TEST(test_synchronize_many_times),
		TEST(test_waiting_sleeps),
		TEST(test_starvation),
		TEST(test_range),
		TEST(test_timeout),
		TEST(test_misuse),
#ifdef LULL_DEBUG
		TEST(test_debug_checks),
#endif
		TEST(test_unregistered),
		TEST(test_exit_holding),
		TEST(test_late_readers),
		TEST(test_fork),
		TEST(test_fork_under_waiter),
		TEST(test_fork_under_load),
		TEST(test_signal_handlers),
		TEST(test_random),
		TEST(test_storm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
