/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences, core */
/*
 * slots.c - hazptr.h: contexts and their slots, protecting with them, and how both are
 * misused.
 */
#include "hazptr/fixture.h"

#include "seccomp.h"

/* ---- contexts and slots ---------------------------------------------------------------------- */

TEST(slots)
{
	struct lull_hazptr_context on_stack, *on_heap;

	assert_int_equal(LULL_HAZPTR_SLOTS, 8);
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

/* A thread that has never heard of lull has its eight slots, too. */
TEST(slots_of_new_thread)
{
	for (int i = 0; i < 20; i++)
		join_thread(start_thread(first_slot_run, NULL));
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

TEST(free_in_any_order)
{
	int order[LULL_HAZPTR_SLOTS];
	struct lull_hazptr_context ctx;

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
TEST(many_contexts)
{
	enum { CONTEXTS = 100 };
	struct lull_hazptr_context *ctx =
		(struct lull_hazptr_context *)malloc(CONTEXTS * sizeof(*ctx));
	int n = 0;

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
	int detached;
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

static void *sets_up_run(void *arg)
{
	struct handed_over *over = (struct handed_over *)arg;

	lull_hazptr_context_init(&over->ctx);
	over->h = lull_hazptr_alloc(&over->ctx);
	lull_hazptr_protect(over->h, over->thing, rcu);
	lull_hazptr_context_detach(&over->ctx);
	return NULL;
}

static struct handed_over interrupted;

static void detaching_handler(int unused)
{
	(void)unused;
	lull_hazptr_context_detach(&interrupted.ctx);
	lull_store_release(&interrupted.detached, 1);
}

/* In any context: here in a signal handler, and in a read section. */
TEST(detach_in_handler)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	memset(&interrupted, 0, sizeof(interrupted));
	action.sa_handler = detaching_handler;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	lull_hazptr_context_init(&interrupted.ctx);
	interrupted.h = lull_hazptr_alloc(&interrupted.ctx);
	interrupted.thing = new_thing(NULL);
	lull_hazptr_protect(interrupted.h, interrupted.thing, rcu);
	lull_rcu_read_lock();
	interrupt_until(pthread_self(), SIGUSR1, &interrupted.detached, 1);
	lull_rcu_read_unlock();
	assert_false(is_free_of(interrupted.thing));
	join_thread(start_thread(goes_on_run, &interrupted));
	assert_true(is_free_of(interrupted.thing));
	free(interrupted.thing);
}

TEST(context_detach)
{
	struct handed_over over;

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

	/* And protects when the thread that set it up has exited. */
	over.thing = new_thing(&gone);
	join_thread(start_thread(sets_up_run, &over));
	assert_false(is_free_of(over.thing));
	lull_hazptr_call(&over.thing->rcu, thing_gone);
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	goes_on_run(&over);
	await_count(&gone, 2);
}

/* ---- protecting ---------------------------------------------------------------------------------- */

TEST(tryprotect)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());

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
	assert_int_equal(looks, 2); /* and no third look */
	assert_true(is_free_of(&first));
	assert_true(is_free_of(&second));
	lull_hazptr_free(own(), h);
}

TEST(protect)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());

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
TEST(protect_what_changes)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	int results[3] = { 0, 0, 0 };
	pthread_t thread;

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

/* Scans are for the address of the head, wherever that is, and in the _ptr forms for the object's. */
TEST(member)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct offset_thing *thing = (struct offset_thing *)malloc(sizeof(*thing));

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

TEST(member_of_null)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct offset_thing *none = NULL;

	assert_null(lull_hazptr_tryprotect(h, none, rcu));
	assert_null(lull_hazptr_protect(h, none, rcu));
	lull_hazptr_free(own(), h);
}

/* ---- no system calls --------------------------------------------------------------------------------- */

TEST(no_system_calls)
{
	if (SANITIZED || !THREADS_IN_CHILD || under_valgrind()) /* they ask the kernel for themselves */
		SKIP(OWN_MEMORY);
	/* Slots, and more holds than slots. No thread sleeps for any of them. */
	EXPECT_FINE {
		struct lull_hazptr_hold hold[LULL_HAZPTR_SLOTS + 4];

		own();
		lull_hazptr_publish(variable, &first);
		lull_hazptr_synchronize(&first);
		forbid_all();
		for (int round = 0; round < 1000; round++) {
			struct lull_hazptr *h = lull_hazptr_alloc(own());

			if (lull_hazptr_protect(h, variable, rcu) != &first || lull_hazptr_tryprotect_ptr(h, variable) != &first)
				_exit(1);
			for (int i = 0; i < LULL_HAZPTR_SLOTS + 4; i++)
				if (lull_hazptr_acquire(&hold[i], &variable) != &first)
					_exit(1);
			for (int i = 0; i < LULL_HAZPTR_SLOTS + 4; i++)
				lull_hazptr_release(&hold[i], &first);
			lull_hazptr_clear(h);
			lull_hazptr_free(own(), h);
		}
	}
}

/* ---- misuse ---------------------------------------------------------------------------------------- */

TEST(slot_misuse)
{
	EXPECT_ABORT("lull_hazptr_free: ") {
		struct lull_hazptr *low = lull_hazptr_alloc(own()), *high = lull_hazptr_alloc(own());

		must(high);
		lull_hazptr_free(own(), low);
		lull_hazptr_free(own(), low);
	}
	EXPECT_ABORT("lull_hazptr_free: ") {
		struct lull_hazptr_context other;

		lull_hazptr_context_init(&other);
		lull_hazptr_free(own(), lull_hazptr_alloc(&other));
	}
	EXPECT_ABORT("lull_hazptr_context_cleanup: ")
		lull_hazptr_context_cleanup(own());
	EXPECT_ABORT("lull_hazptr_context_detach: ")
		lull_hazptr_context_detach(own());
}

#ifdef LULL_DEBUG
static struct lull_hazptr_context others;

static void *alloc_foreign_run(void *unused)
{
	lull_hazptr_alloc(&others);
	return unused;
}

static struct lull_hazptr *others_slot;

static void *free_foreign_run(void *unused)
{
	lull_thread_register();
	lull_hazptr_free(&others, others_slot);
	return unused;
}

static void *cleanup_foreign_run(void *unused)
{
	lull_thread_register();
	lull_hazptr_context_cleanup(&others);
	return unused;
}

TEST(debug_checks)
{
	NEEDS_THREADS_IN_CHILD();
	EXPECT_ABORT("lull_hazptr_alloc: the context belongs to another thread") {
		lull_hazptr_context_init(&others);
		join_thread(start_thread(first_slot_run, NULL));
		join_thread(start_thread(alloc_foreign_run, NULL));
	}
	EXPECT_ABORT("lull_hazptr_free: the context belongs to another thread") {
		lull_hazptr_context_init(&others);
		others_slot = lull_hazptr_alloc(&others);
		join_thread(start_thread(free_foreign_run, NULL));
	}
	EXPECT_ABORT("lull_hazptr_context_cleanup: the context belongs to another") {
		lull_hazptr_context_init(&others);
		join_thread(start_thread(cleanup_foreign_run, NULL));
	}
}
#endif
