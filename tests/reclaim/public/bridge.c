/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences, core */
/*
 * bridge.c - bridge.h: found in a read section, kept by a hazard pointer.
 */
#include <signal.h>

#include "hazptr/fixture.h"

/* ---- keeping ------------------------------------------------------------------------------------- */

static struct thing *find_and_keep(struct lull_hazptr *h)
{
	struct thing *thing;

	lull_rcu_read_lock();
	thing = lull_hazptr_protect_rcu(h, lull_rcu_dereference(variable), rcu);
	lull_rcu_read_unlock();
	return thing;
}

/* The object outlasts its section and grace periods, and goes when the slot says something else. */
TEST(keeps)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct thing *thing;

	lull_rcu_assign(variable, new_thing(&gone));
	thing = find_and_keep(h);
	assert_ptr_equal(thing, variable);
	lull_rcu_assign(variable, (struct thing *)NULL);
	lull_rcu_call_hazptr(&thing->rcu, thing_gone);
	for (int i = 0; i < 5; i++)
		lull_rcu_synchronize();
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	assert_int_equal(lull_load_relaxed(&gone), 0);
	check_alive(thing);
	assert_null(find_and_keep(h)); /* the slot says something else */
	await_count(&gone, 1);
	lull_hazptr_free(own(), h);
}

TEST(keeps_ptr)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct thing *thing, *none = NULL;

	lull_rcu_assign(variable, new_thing(NULL));
	lull_rcu_read_lock();
	thing = lull_hazptr_protect_rcu_ptr(h, lull_rcu_dereference(variable));
	lull_rcu_read_unlock();
	assert_ptr_equal(thing, variable);
	lull_rcu_free_hazptr(NULL);
	lull_rcu_free_hazptr(thing);
	for (int i = 0; i < 3000; i++)
		lull_rcu_free_hazptr(malloc(sizeof(*thing)));
	await_waiting(1);
	check_alive(thing); /* free() would have written over the first words at least */
	lull_hazptr_clear(h);
	AWAIT(!waiting());
	lull_rcu_read_lock();
	assert_null(lull_hazptr_protect_rcu_ptr(h, none));
	assert_null(lull_hazptr_protect_rcu(h, none, rcu));
	lull_rcu_read_unlock();
	lull_hazptr_free(own(), h);
}

/* By a hold, which cannot fail: 20 at once, some of them released elsewhere. */
struct kept {
	struct lull_hazptr_hold hold;
	struct thing *thing;
};

static void *release_run(void *arg)
{
	struct kept *kept = (struct kept *)arg;

	check_alive(kept->thing);
	lull_hazptr_release(&kept->hold, kept->thing);
	return NULL;
}

TEST(acquire)
{
	struct kept kept[20], nothing;
	struct thing *none = NULL;

	memset(kept, 0x5a, sizeof(kept));
	lull_rcu_read_lock();
	for (int i = 0; i < 20; i++) {
		struct thing *thing = new_thing(&gone);

		kept[i].thing = lull_hazptr_acquire_rcu(&kept[i].hold, thing);
		assert_ptr_equal(kept[i].thing, thing);
	}
	assert_null(lull_hazptr_acquire_rcu(&nothing.hold, none));
	lull_hazptr_release(&nothing.hold, none);
	lull_rcu_read_unlock();
	for (int i = 0; i < 20; i++)
		lull_rcu_call_hazptr(&kept[i].thing->rcu, thing_gone);
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(lull_load_relaxed(&gone), i);
		check_alive(kept[i].thing);
		if (i % 2) {
			lull_hazptr_detach(&kept[i].hold);
			join_thread(start_thread(release_run, &kept[i]));
		} else {
			release_run(&kept[i]);
		}
		await_count(&gone, i + 1);
	}
}

TEST(member)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct offset_thing *thing = (struct offset_thing *)malloc(sizeof(*thing)), *none = NULL;

	assert_non_null(thing);
	thing->gone = &gone;
	lull_rcu_read_lock();
	assert_null(lull_hazptr_protect_rcu(h, none, rcu));
	assert_ptr_equal(lull_hazptr_protect_rcu(h, thing, rcu), thing);
	lull_rcu_read_unlock();
	lull_rcu_call_hazptr_sized(&thing->rcu, offset_thing_gone, sizeof(*thing));
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	assert_int_equal(lull_load_relaxed(&gone), 0);
	assert_false(is_free_of(&thing->rcu));
	assert_true(is_free_of(thing));
	lull_hazptr_free(own(), h);
	await_count(&gone, 1);
}

/* The same with a hold. */
TEST(acquire_member)
{
	struct offset_thing *thing = (struct offset_thing *)malloc(sizeof(*thing)), *none = NULL;
	struct lull_hazptr_hold hold, nothing;

	assert_non_null(thing);
	thing->gone = &gone;
	lull_rcu_read_lock();
	assert_null(lull_hazptr_acquire_rcu_member(&nothing, none, rcu));
	lull_hazptr_release(&nothing, none);
	assert_ptr_equal(lull_hazptr_acquire_rcu_member(&hold, thing, rcu), thing);
	lull_rcu_read_unlock();
	lull_rcu_call_hazptr(&thing->rcu, offset_thing_gone);
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	assert_int_equal(lull_load_relaxed(&gone), 0);
	assert_false(is_free_of(&thing->rcu));
	assert_true(is_free_of(thing));
	lull_hazptr_release(&hold, thing);
	await_count(&gone, 1);
}

static struct lull_hazptr *handlers_slot;

static void keeps_in_handler(int signal)
{
	(void)signal;
	find_and_keep(handlers_slot);
}

/* In a signal handler, too. */
TEST(in_handler)
{
	struct sigaction action, before;
	struct thing *thing = new_thing(&gone);

	memset(&action, 0, sizeof(action));
	action.sa_handler = keeps_in_handler;
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	handlers_slot = lull_hazptr_alloc(own());
	lull_rcu_assign(variable, thing);
	assert_int_equal(raise(SIGUSR1), 0);
	sigaction(SIGUSR1, &before, NULL);
	lull_rcu_assign(variable, (struct thing *)NULL);
	lull_rcu_call_hazptr(&thing->rcu, thing_gone);
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	check_alive(thing);
	lull_hazptr_free(own(), handlers_slot);
	await_count(&gone, 1);
}

/* ---- first a grace period, then the slots --------------------------------------------------------- */

struct section {
	pthread_t thread;
	int inside, keep, kept, leave, left, release_waiter;
};

/* In a section; keeps what it found there when it is told to, long after it has been retired. */
static void *section_run(void *arg)
{
	struct section *section = (struct section *)arg;
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct thing *thing;

	lull_rcu_read_lock();
	thing = lull_rcu_dereference(variable);
	lull_store_release(&section->inside, 1);
	await_count(&section->keep, 1);
	check_alive(thing);
	lull_hazptr_protect_rcu(h, thing, rcu);
	lull_store_release(&section->kept, 1);
	await_count(&section->leave, 1);
	lull_rcu_read_unlock();
	lull_store_release(&section->left, 1);
	await_count(&section->release_waiter, 1);
	check_alive(thing);
	lull_hazptr_free(own(), h);
	return NULL;
}

static void start_section(struct section *section)
{
	memset(section, 0, sizeof(*section));
	section->thread = start_thread(section_run, section);
	await_count(&section->inside, 1);
}

static void check_kept_late(enum lull_reclaim_mode mode)
{
	struct thing *thing = new_thing(&gone);
	struct section section;

	set_mode(mode);
	lull_store_relaxed(&gone, 0);
	lull_rcu_assign(variable, thing);
	start_section(&section);
	lull_rcu_assign(variable, (struct thing *)NULL);
	lull_rcu_call_hazptr(&thing->rcu, thing_gone);
	/* Not protected, and not gone: its grace period is not over. */
	lull_reclaim_poll(100, 0);
	assert_int_equal(lull_hazptr_barrier_timeout(30), -ETIMEDOUT);
	check_alive(thing);
	/* Slots have been looked at by now if ever they are before the grace period ends. */
	lull_store_release(&section.keep, 1);
	await_count(&section.kept, 1);
	lull_store_release(&section.leave, 1);
	await_count(&section.left, 1);
	lull_rcu_synchronize();
	lull_reclaim_poll(100, 0);
	assert_int_equal(lull_hazptr_barrier_timeout(30), -ETIMEDOUT);
	assert_int_equal(lull_load_relaxed(&gone), 0);
	check_alive(thing);
	lull_store_release(&section.release_waiter, 1);
	join_thread(section.thread);
	lull_hazptr_barrier();
	assert_int_equal(gone, 1);
}

TEST(order)
{
	check_kept_late(LULL_RECLAIM_THREAD);
	check_kept_late(LULL_RECLAIM_POLL);
	check_kept_late(LULL_RECLAIM_CALLER);
}

/* Many slots come up while the reclaimer waits for the grace period: more than it has made room for. */
TEST(slots_grow_meanwhile)
{
	enum { CONTEXTS = 100, SLOTS = CONTEXTS * LULL_HAZPTR_SLOTS };
	struct lull_hazptr_context *ctx = (struct lull_hazptr_context *)calloc(CONTEXTS, sizeof(*ctx));
	struct thing *thing[SLOTS];
	struct lull_reclaim_counts before, now;

	assert_non_null(ctx);
	lull_reclaim_stats(&before);
	lull_rcu_read_lock();
	for (int i = 0; i < SLOTS; i++) {
		thing[i] = new_thing(&gone);
		lull_rcu_call_hazptr(&thing[i]->rcu, thing_gone);
	}
	do {
		nap_ms(20);
		lull_reclaim_stats(&now);
	} while (now.passes == before.passes);
	for (int i = 0; i < SLOTS; i++) {
		if (i % LULL_HAZPTR_SLOTS == 0)
			lull_hazptr_context_init(&ctx[i / LULL_HAZPTR_SLOTS]);
		lull_hazptr_protect_rcu(lull_hazptr_alloc(&ctx[i / LULL_HAZPTR_SLOTS]), thing[i], rcu);
	}
	lull_rcu_read_unlock();
	assert_int_equal(lull_hazptr_barrier_timeout(50), -ETIMEDOUT);
	assert_int_equal(lull_load_relaxed(&gone), 0);
	for (int i = 0; i < CONTEXTS; i++)
		lull_hazptr_context_cleanup(&ctx[i]);
	await_count(&gone, SLOTS);
	free(ctx);
}

/* First the grace period, too, for what the retiring thread frees by itself, in later calls. */
TEST(order_of_frees)
{
	struct thing *thing = new_thing(NULL);
	struct section section;

	lull_rcu_assign(variable, thing);
	start_section(&section);
	lull_rcu_assign(variable, (struct thing *)NULL);
	lull_rcu_free_hazptr(thing);
	for (int i = 0; i < 3000; i++)
		lull_rcu_free_hazptr(malloc(sizeof(*thing)));
	check_alive(thing);
	lull_store_release(&section.keep, 1);
	await_count(&section.kept, 1);
	lull_store_release(&section.leave, 1);
	await_count(&section.left, 1);
	for (int i = 0; i < 3000; i++)
		lull_rcu_free_hazptr(malloc(sizeof(*thing)));
	await_waiting(1);
	check_alive(thing);
	lull_store_release(&section.release_waiter, 1);
	join_thread(section.thread);
	lull_hazptr_barrier();
	assert_int_equal(waiting(), 0);
}

/* ---- the reclaimer --------------------------------------------------------------------------------- */

TEST(comes_by_itself)
{
	lull_rcu_call_hazptr(&new_thing(&gone)->rcu, thing_gone);
	await_count(&gone, 1);
	lull_rcu_free_hazptr(malloc(16));
	AWAIT(!waiting());
}

static void *retires_and_exits(void *unused)
{
	lull_rcu_call_hazptr(&new_thing(&gone)->rcu, thing_gone);
	lull_rcu_free_hazptr(malloc(24));
	return unused;
}

TEST(leftovers)
{
	for (int i = 0; i < 100; i++)
		join_thread(start_thread(retires_and_exits, NULL));
	await_count(&gone, 100);
	AWAIT(!waiting());
}

/* Both barriers end, for what is theirs. */
TEST(barriers)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct thing *thing = new_thing(&gone);

	lull_rcu_assign(variable, thing);
	find_and_keep(h);
	lull_rcu_call_hazptr(&thing->rcu, thing_gone);
	lull_rcu_barrier(); /* what is protected does not hold it up */
	check_alive(thing);
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	lull_hazptr_free(own(), h);
	lull_hazptr_barrier();
	assert_int_equal(gone, 1);
	for (int i = 0; i < 3000; i++)
		lull_rcu_call_hazptr(&new_thing(&gone)->rcu, thing_gone);
	lull_hazptr_barrier();
	assert_int_equal(gone, 3001);
	assert_int_equal(waiting(), 0);
}

TEST(quiet_while_protected)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct thing *thing = new_thing(&gone);

	lull_rcu_assign(variable, thing);
	find_and_keep(h);
	lull_rcu_call_hazptr(&thing->rcu, thing_gone);
	check_quiet(1);
	lull_hazptr_free(own(), h);
	await_count(&gone, 1);
}

static void calls_again(struct lull_rcu_head *head)
{
	struct thing *thing = lull_container_of(head, struct thing, rcu);

	lull_rcu_free_hazptr(malloc(40));
	if (--thing->value > 37)
		lull_rcu_call_hazptr(head, calls_again);
	else
		thing_gone(head);
}

TEST(callbacks_call)
{
	lull_hazptr_call(&new_thing(&gone)->rcu, calls_again);
	lull_hazptr_barrier();
	assert_int_equal(gone, 1);
	assert_int_equal(waiting(), 0);
}

/* ---- the other order, with a second look ------------------------------------------------------------ */

static void after_slots(struct lull_rcu_head *head)
{
	lull_rcu_call(head, thing_gone);
}

static int storm_stop;
static int rounds;
#define ROUNDS_LEAST 100
static struct thing *other_order;

static void *validating_reader(void *unused)
{
	struct lull_hazptr *h = lull_hazptr_alloc(lull_hazptr_thread_context());

	while (!lull_load_relaxed(&storm_stop)) {
		struct thing *thing;

		lull_rcu_read_lock();
		check_alive(lull_rcu_dereference(other_order));
		thing = lull_hazptr_tryprotect(h, other_order, rcu);
		lull_rcu_read_unlock();
		if (thing) {
			check_alive(thing);
			came_round(&rounds);
		}
		lull_hazptr_clear(h);
	}
	lull_hazptr_free(lull_hazptr_thread_context(), h);
	return unused;
}

TEST(other_order)
{
	uint64_t since_ns = now_ns();
	pthread_t thread[2];

	storm_stop = rounds = 0;
	other_order = new_thing(NULL);
	for (int i = 0; i < 2; i++)
		thread[i] = start_thread(validating_reader, NULL);
	while (storm_goes_on(since_ns, 200000000u, &rounds, ROUNDS_LEAST))
		lull_hazptr_call(&lull_rcu_replace(other_order, new_thing(NULL))->rcu, after_slots);
	lull_store_relaxed(&storm_stop, 1);
	for (int i = 0; i < 2; i++)
		join_thread(thread[i]);
	lull_hazptr_barrier();
	lull_rcu_barrier();
	free(other_order);
}

/* ---- readers of all kinds ---------------------------------------------------------------------------- */

static void *rcu_reader(void *unused)
{
	while (!lull_load_relaxed(&storm_stop)) {
		struct thing *thing;

		lull_rcu_read_lock();
		thing = lull_rcu_dereference(variable);
		for (int i = 0; i < 30; i++)
			check_alive(thing);
		lull_rcu_read_unlock();
	}
	return unused;
}

static void *hazptr_reader(void *unused)
{
	struct lull_hazptr_hold hold;

	while (!lull_load_relaxed(&storm_stop)) {
		struct thing *thing = lull_hazptr_acquire(&hold, &variable);

		for (int i = 0; i < 30; i++)
			check_alive(thing);
		lull_hazptr_release(&hold, thing);
	}
	return unused;
}

static void *bridge_reader(void *unused)
{
	struct lull_hazptr_context *ctx = own();
	struct lull_hazptr *h = lull_hazptr_alloc(ctx);
	struct lull_hazptr_hold hold[9];
	struct thing *thing;

	for (unsigned n = 0; !lull_load_relaxed(&storm_stop); n++) {
		struct lull_hazptr_hold *next = &hold[n % 9];

		thing = find_and_keep(h);
		sched_yield();
		check_alive(thing);
		if (n < 9)
			continue;
		lull_rcu_read_lock();
		thing = lull_hazptr_acquire_rcu(next, lull_rcu_dereference(variable));
		lull_rcu_read_unlock();
		sched_yield();
		check_alive(thing);
		if (n % 4 == 0)
			lull_hazptr_detach(next);
		check_alive(thing);
		lull_hazptr_release(next, thing);
		came_round(&rounds);
	}
	lull_hazptr_free(ctx, h);
	return unused;
}

TEST(storm)
{
	static void *(*const readers[4])(void *) = { rcu_reader, hazptr_reader, bridge_reader,
						     bridge_reader };
	uint64_t since_ns = now_ns();
	pthread_t thread[4];

	storm_stop = rounds = 0;
	variable = new_thing(NULL);
	for (int i = 0; i < 4; i++)
		thread[i] = start_thread(readers[i], NULL);
	while (storm_goes_on(since_ns, 1000000000u, &rounds, ROUNDS_LEAST)) {
		for (int i = 0; i < 20; i++)
			lull_rcu_call_hazptr(&lull_rcu_replace(variable, new_thing(NULL))->rcu, thing_gone);
		lull_rcu_free_hazptr(lull_rcu_replace(variable, new_thing(NULL)));
		sched_yield();
	}
	lull_store_relaxed(&storm_stop, 1);
	for (int i = 0; i < 4; i++)
		join_thread(thread[i]);
	lull_hazptr_barrier();
	assert_int_equal(waiting(), 0);
	free(variable);
}

/* ---- misuse ------------------------------------------------------------------------------------------- */

/*
 * A thread that is alone makes no heavy fence for a grace period. But readers with two looks need no record, and may
 * protect what comes over the bridge: then the look at the slots makes one.
 */
static uint64_t fences_of_reclaiming(bool bridge)
{
	struct thing *thing = new_thing(&gone);
	uint64_t before = lull_fence_heavy_count();
	int gone_before = gone;

	if (bridge)
		lull_rcu_call_hazptr(&thing->rcu, thing_gone);
	else
		lull_rcu_call(&thing->rcu, thing_gone);
	lull_reclaim_poll(1, 0);
	must(gone == gone_before + 1);
	return lull_fence_heavy_count() - before;
}

static void alone(void)
{
	uint64_t plain;

	set_mode(LULL_RECLAIM_POLL);
	fences_of_reclaiming(false);
	must(lull_thread_count() == 1);
	plain = fences_of_reclaiming(false);
	must(fences_of_reclaiming(true) == plain + (lull_fence_strategy() == LULL_FENCE_MEMBARRIER ? 1 : 0));
}

TEST(fence_of_its_own)
{
	expect_fine(alone);
}

#ifdef LULL_DEBUG
static struct thing outside_thing, *outside = &outside_thing;

TEST(debug_checks)
{
	EXPECT_MISUSE("lull_hazptr_protect_rcu: outside a read section")
		lull_hazptr_protect_rcu(lull_hazptr_alloc(own()), outside, rcu);
	EXPECT_MISUSE("lull_hazptr_protect_rcu: outside a read section") {
		struct lull_hazptr_hold hold;

		lull_hazptr_acquire_rcu(&hold, outside);
	}
}
#endif

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
