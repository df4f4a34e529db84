/* SPDX-License-Identifier: MIT */
/* runs: full-fences, core */
/*
 * barrier.c - hazptr.h: barriers, and what callbacks may do.
 */
#include <signal.h>

#include "hazptr/actor.h"
#include "hazptr/fixture.h"
#include "random.h"

#include <lull/stats.h>

/* ---- callbacks ----------------------------------------------------------------------------------- */

static struct thing callbacks_thing, *callbacks_source = &callbacks_thing;

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

TEST(busy_callbacks)
{
	for (int i = 0; i < 100; i++)
		lull_hazptr_call(&new_thing(&gone)->rcu, busy_callback);
	lull_hazptr_barrier();
	assert_int_equal(gone, 100);
	assert_int_equal(waiting(), 0);
}

/* Defers itself as many times as its object says. */
static int generations;

static void defers_again(struct lull_rcu_head *head)
{
	struct thing *thing = lull_container_of(head, struct thing, rcu);

	generations++;
	if (--thing->value)
		lull_hazptr_call(head, defers_again);
	else
		thing_gone(head);
}

/* Follows 16 generations, those that were there the first, and no more: here all of them are made by barriers' passes. */
TEST(generations)
{
	static const struct {
		int in_all, by_barrier[3];
	} rows[] = { { 1, { 1, 1, 1 } }, { 12, { 12, 12, 12 } }, { 16, { 16, 16, 16 } }, { 40, { 16, 32, 40 } } };

	set_mode(LULL_RECLAIM_POLL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct thing *thing = new_thing(&gone);

		thing->value = rows[i].in_all;
		generations = 0;
		lull_hazptr_call(&thing->rcu, defers_again);
		for (int nth = 0; nth < 3; nth++) {
			assert_int_equal(lull_hazptr_barrier_timeout(60000), 0);
			assert_int_equal(generations, rows[i].by_barrier[nth]);
		}
		assert_int_equal(waiting(), 0);
		assert_int_equal(gone, i + 1);
	}
}

/* A callback waits for what a reader holds, and others go on when the reader clears it. */
static void waiting_callback(struct lull_rcu_head *head)
{
	lull_hazptr_synchronize(&callbacks_thing);
	thing_gone(head);
}

static void fenced_waiting_callback(struct lull_rcu_head *head)
{
	lull_hazptr_fenced_synchronize(&callbacks_thing);
	lull_hazptr_fenced_retire(malloc(24));
	thing_gone(head);
}

TEST(callback_waits)
{
	callbacks_thing.value = 42;
	for (int fenced = 0; fenced < 2; fenced++) {
		struct holder holder;

		lull_store_relaxed(&gone, 0);
		holder_start(&holder, &callbacks_source);
		lull_rcu_read_lock();
		if (fenced)
			lull_hazptr_fenced_call(&new_thing(&gone)->rcu, fenced_waiting_callback);
		else
			lull_hazptr_call(&new_thing(&gone)->rcu, waiting_callback);
		lull_hazptr_fenced_retire(malloc(24));
		lull_hazptr_fenced_synchronize(&second);
		lull_rcu_read_unlock();
		nap_ms(30);
		assert_int_equal(lull_load_relaxed(&gone), 0);
		holder_end(&holder);
		await_count(&gone, 1);
	}
}

/* An object that a callback protects beyond its end stays, too. */
static struct lull_hazptr_hold callbacks_hold;
static struct thing *callbacks_kept;

static void keeping_callback(struct lull_rcu_head *head)
{
	lull_hazptr_acquire(&callbacks_hold, &callbacks_kept);
	lull_hazptr_detach(&callbacks_hold);
	lull_hazptr_call(&callbacks_kept->rcu, thing_gone);
	thing_gone(head);
}

TEST(callback_keeps)
{
	callbacks_kept = new_thing(&gone);
	lull_hazptr_call(&new_thing(&gone)->rcu, keeping_callback);
	await_count(&gone, 1);
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	check_alive(callbacks_kept);
	lull_hazptr_release(&callbacks_hold, callbacks_kept);
	await_count(&gone, 2);
}

/* ---- barrier ------------------------------------------------------------------------------------- */

static void waits_in_barrier(void *unused)
{
	(void)unused;
	lull_hazptr_barrier();
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

TEST(barrier)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct thing *thing = new_thing(&gone);
	struct actor actor[4];

	lull_hazptr_barrier();
	lull_hazptr_protect(h, thing, rcu);
	lull_hazptr_call(&thing->rcu, thing_gone);
	for (int i = 0; i < 4; i++) {
		actor_start(&actor[i]);
		actor_begin(&actor[i], waits_in_barrier, NULL);
	}
	nap_ms(50);
	for (int i = 0; i < 4; i++)
		assert_false(actor_is_done(&actor[i]));
	assert_int_equal(lull_hazptr_barrier_timeout(0), -ETIMEDOUT);
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	lull_hazptr_free(own(), h);
	for (int i = 0; i < 4; i++) {
		actor_await(&actor[i]);
		actor_end(&actor[i]);
	}
	assert_int_equal(gone, 1);
	assert_int_equal(lull_hazptr_barrier_timeout(60000), 0);
}

TEST(concurrent_barriers)
{
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		thread[i] = start_thread(barriers_run, NULL);
	for (int i = 0; i < 4; i++)
		join_thread(thread[i]);
}

/* A grace period's barrier has nothing to do with what hazard pointers protect. */
TEST(rcu_barrier_does_not_wait)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct thing *thing = new_thing(&gone);

	lull_hazptr_protect(h, thing, rcu);
	lull_hazptr_call(&thing->rcu, thing_gone);
	lull_rcu_barrier();
	check_alive(thing);
	assert_int_equal(lull_reclaim_drain(20), -ETIMEDOUT); /* of all there is */
	check_alive(thing);
	lull_hazptr_free(own(), h);
	await_count(&gone, 1);
}

#ifndef LULL_TEST_CORE
static bool barrier_waits(void)
{
	const struct lull_stats_page *page = lull_stats_page();

	for (int i = 0; i < (int)LULL_STATS_WAITS; i++)
		if (lull_load_relaxed(&page->waits[i].kind) == LULL_WAIT_HAZPTR_BARRIER)
			return true;
	return false;
}
#else
/* The core alone shows no waits. */
static bool barrier_waits(void)
{
	nap_ms(300);
	return true;
}
#endif

/* ---- at random, against a list of what is held ---------------------------------------------------- */

#ifndef LULL_TEST_CORE
enum { OBJECTS = 16, STEPS = 1500 };
#else
enum { OBJECTS = 16, STEPS = 150 };
#endif

static struct held {
	struct thing *thing; /* NULL: none */
	struct lull_hazptr_hold hold;
	int kind;
	bool was_before; /* retired before the barrier */
} held[OBJECTS];

static void *retires(void *arg)
{
	struct held *at = (struct held *)arg;

	switch (at->kind) {
	case 0:
		lull_hazptr_call(&at->thing->rcu, thing_gone);
		break;
	case 1:
		lull_rcu_call_hazptr(&at->thing->rcu, thing_gone);
		break;
	case 2:
		lull_hazptr_retire(at->thing);
		break;
	default:
		lull_rcu_free_hazptr(at->thing);
		break;
	}
	return NULL;
}

/* Hold another, which is retired by this thread, or by one that is gone then. */
static void hold_another(struct held *at, uint64_t *seed)
{
	at->thing = new_thing(NULL);
	at->kind = (int)dice(seed, 4);
	at->was_before = false;
	lull_hazptr_acquire(&at->hold, &at->thing);
	if (dice(seed, 3))
		retires(at);
	else
		join_thread(start_thread(retires, at));
	for (unsigned n = dice(seed, 4) ? 0 : 200; n; n--)
		lull_hazptr_retire(malloc(48));
}

static void release(struct held *at)
{
	check_alive(at->thing);
	lull_hazptr_release(&at->hold, at->thing);
	at->thing = NULL;
}

static bool is_any_of_before(void)
{
	for (int i = 0; i < OBJECTS; i++)
		if (held[i].thing && held[i].was_before)
			return true;
	return false;
}

static void begin_barrier(struct actor *barrier)
{
	for (int i = 0; i < OBJECTS; i++)
		held[i].was_before = held[i].thing != NULL;
	actor_begin(barrier, waits_in_barrier, NULL);
	AWAIT(actor_is_done(barrier) || barrier_waits());
}

static void await_barrier(struct actor *barrier)
{
#ifdef LULL_TEST_CORE
	for (int i = 0; i < OBJECTS; i++) /* perhaps it began too late */
		if (held[i].thing)
			release(&held[i]);
#endif
	actor_await(barrier);
}

/*
 * Others come and go while a barrier waits for objects that are held: of all kinds, before these in the queues and behind
 * them. It ends when the last of its own is gone, though others are held by then.
 */
TEST(barriers_of_before)
{
	uint64_t seed = test_seed();
	struct actor barrier;
	bool begun = false;

	alarm(100);
	actor_start(&barrier);
	for (int step = 0; step < STEPS; step++) {
		struct held *at = &held[dice(&seed, OBJECTS)];

		if (at->thing)
			release(at);
		else
			hold_another(at, &seed);
		if (!begun && dice(&seed, 6) == 0) {
			begin_barrier(&barrier);
			begun = true;
		}
		if (begun && is_any_of_before()) {
			assert_false(actor_is_done(&barrier));
		} else if (begun) {
			await_barrier(&barrier);
			begun = false;
		}
	}
	for (int i = 0; i < OBJECTS; i++)
		if (held[i].thing)
			release(&held[i]);
	if (begun)
		actor_await(&barrier);
	actor_end(&barrier);
	alarm(0);
}

/* ---- what a barrier does not wait for ------------------------------------------------------------ */

static struct {
	int held, go, result;
} unrelated;

/* The thread of the barrier stands still in here, whatever wakes it. */
static void stand_still(int signal)
{
	(void)signal;
	lull_store_release(&unrelated.held, 1);
	AWAIT(lull_load_acquire(&unrelated.go));
}

static void waits_for_seconds(void *unused)
{
	(void)unused;
	unrelated.result = lull_hazptr_barrier_timeout(5000);
}

/* Start a barrier that waits for *@hold of *@source. */
static void start_barrier(struct actor *actor, struct lull_hazptr_hold *hold, void **source)
{
	void *object = *source;

	memset(&unrelated, 0, sizeof(unrelated));
	assert_ptr_equal(lull_hazptr_acquire(hold, source), object);
	*source = NULL;
	lull_hazptr_retire(object);
	actor_start(actor);
	actor_begin(actor, waits_for_seconds, NULL);
	AWAIT(barrier_waits());
	nap_ms(100); /* it sleeps until the slot is cleared */
}

/* All that a barrier waited for is done: a section that began after the barrier did is none of its business. */
TEST(barrier_and_unrelated_reader)
{
	struct sigaction action;
	struct lull_hazptr_hold hold;
	void *object = malloc(40), *source = object;
	struct actor waits, reads;

	memset(&action, 0, sizeof(action));
	action.sa_handler = stand_still;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	set_mode(LULL_RECLAIM_POLL);
	start_barrier(&waits, &hold, &source);
	interrupt_until(waits.thread, SIGUSR1, &unrelated.held, 1);
	actor_start(&reads);
	on(&reads, actor_enters, NULL);
	lull_hazptr_release(&hold, object);
	while (waiting())
		lull_reclaim_poll(100, 0);
	lull_store_release(&unrelated.go, 1);
	actor_await(&waits);
	on(&reads, actor_leaves, NULL);
	actor_end(&waits);
	actor_end(&reads);
	assert_int_equal(unrelated.result, 0);
	set_mode(LULL_RECLAIM_THREAD);
}

/* The reclaimer stands still in here. */
static void hold_reclaimer(struct lull_rcu_head *head)
{
	stand_still(0);
	thing_gone(head);
}

/* Objects a barrier waits for may also be freed by their own thread, in its turns: more than one turn frees. */
#define HELD 40

TEST(barrier_and_busy_owner)
{
	struct lull_hazptr_hold hold[HELD + 1];
	void *object[HELD + 1], *source;
	struct lull_reclaim_counts stats;
	struct actor waits;

	for (int i = 0; i < HELD; i++) {
		source = object[i] = malloc(40);
		assert_ptr_equal(lull_hazptr_acquire(&hold[i], &source), object[i]);
		lull_hazptr_retire(object[i]);
	}
	source = object[HELD] = malloc(40);
	start_barrier(&waits, &hold[HELD], &source);
	lull_hazptr_call(&new_thing(&gone)->rcu, hold_reclaimer);
	AWAIT(lull_load_acquire(&unrelated.held));
	for (int i = 0; i <= HELD; i++)
		lull_hazptr_release(&hold[i], object[i]);
	for (int i = 0; i < 20000; i++)
		lull_hazptr_retire(malloc(40));
	actor_await(&waits);
	actor_end(&waits);
	assert_int_equal(unrelated.result, 0);
	lull_store_release(&unrelated.go, 1);
	assert_int_equal(lull_hazptr_barrier_timeout(60000), 0);
	lull_reclaim_stats(&stats);
	assert_int_equal(stats.items, 0);
	assert_int_equal(stats.bytes, 0);
}
