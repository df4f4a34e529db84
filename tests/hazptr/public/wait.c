/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences, core */
/*
 * wait.c - hazptr.h: waiting until no thread protects an object or a range of addresses.
 */
#include "hazptr/fixture.h"

/* ---- synchronize --------------------------------------------------------------------------------- */

TEST(synchronize_nothing)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct thing *thing = &first;

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

/* Readers make no fence of their own, so who waits for them makes one for them: by whichever call. */
TEST(fences)
{
	uint64_t before[5];

	if (lull_fence_strategy() != LULL_FENCE_MEMBARRIER)
		SKIP("readers make the fences here");
	before[0] = lull_fence_heavy_count();
	lull_hazptr_synchronize(&second);
	before[1] = lull_fence_heavy_count();
	lull_hazptr_synchronize_range(&second, sizeof(second));
	before[2] = lull_fence_heavy_count();
	assert_int_equal(lull_hazptr_synchronize_timeout(&second, 0), 0);
	before[3] = lull_fence_heavy_count();
	assert_int_equal(lull_hazptr_synchronize_range_timeout(&second, sizeof(second), 0), 0);
	before[4] = lull_fence_heavy_count();
	for (int i = 0; i < 4; i++)
		assert_true(before[i + 1] > before[i]);
}

/* Waits while it is held, and is woken however that ends. */
TEST(synchronize)
{
	struct thing *thing = &first;

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

TEST(synchronize_many_times)
{
	pthread_t thread[2];

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
TEST(waiting_sleeps)
{
	struct thing *thing = &first;
	struct waiter waiter;
	struct holder holder;

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

TEST(starvation)
{
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

TEST(range)
{
	struct waiter waiter;
	struct lull_hazptr *h;

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

TEST(timeout)
{
	struct thing *thing = &first;
	struct holder holder;

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

/* The time is in milliseconds: no thread waits for minutes. */
TEST(timeout_ends)
{
	struct thing *thing = new_thing(&gone);
	struct holder holder;

	alarm(60);
	holder_start(&holder, FREE_SLOT, &thing);
	lull_hazptr_call(&thing->rcu, thing_gone);
	assert_int_equal(lull_hazptr_synchronize_timeout(thing, 200), -ETIMEDOUT);
	assert_int_equal(lull_hazptr_synchronize_range_timeout(thing, sizeof(*thing), 200), -ETIMEDOUT);
	assert_int_equal(lull_hazptr_barrier_timeout(200), -ETIMEDOUT);
	holder_let_go(&holder);
	assert_int_equal(lull_hazptr_synchronize_timeout(thing, UINT64_MAX), 0);
	assert_int_equal(lull_hazptr_barrier_timeout(UINT64_MAX), 0);
	holder_finish(&holder);
	alarm(0);
}

/* ---- in a section ---------------------------------------------------------------------------------- */

static int stage; /* 1: in the section, 2: it has waited, 3: it may leave */

/* Waits in a section, and in one that lasts as long as the thread is online. */
static void *waits_in_section(void *online)
{
	if (online)
		lull_rcu_online();
	else
		lull_rcu_read_lock();
	lull_store_release(&stage, 1);
	lull_hazptr_synchronize(&first);
	assert_true(lull_rcu_read_lock_held());
	lull_store_release(&stage, 2);
	await_count(&stage, 3);
	if (online)
		lull_rcu_offline();
	else
		lull_rcu_read_unlock();
	return NULL;
}

TEST(in_section)
{
	struct thing *thing = &first;

	first.value = 42;
	start_hearing(); /* a debug build warns of the online thread */
	for (int online = 0; online < 2; online++) {
		struct holder holder;
		pthread_t thread;
		lull_rcu_cookie cookie;

		lull_store_relaxed(&stage, 0);
		holder_start(&holder, CLEAR, &thing);
		thread = start_thread(waits_in_section, online ? &holder : NULL);
		await_count(&stage, 1);
		cookie = lull_rcu_gp_start();
		nap_ms(30);
		assert_int_equal(lull_load_acquire(&stage), 1);
		holder_let_go(&holder);
		await_count(&stage, 2);
		assert_false(lull_rcu_gp_poll(cookie)); /* it has been in its section all the while */
		lull_store_release(&stage, 3);
		join_thread(thread);
		lull_rcu_gp_wait(cookie);
		holder_finish(&holder);
	}
	stop_hearing();
}

/* ---- misuse ---------------------------------------------------------------------------------------- */

static struct lull_hazptr_hold misused;
static struct thing misused_thing, *misused_source = &misused_thing;

static void protect_misused(void)
{
	must(lull_hazptr_protect_ptr(lull_hazptr_alloc(own()), misused_source));
}

TEST(misuse)
{
	EXPECT_ABORT("lull_hazptr_synchronize") {
		protect_misused();
		lull_hazptr_synchronize(&misused_thing);
	}
	EXPECT_ABORT("lull_hazptr_synchronize_range") {
		inside = array + 8;
		must(lull_hazptr_protect_ptr(lull_hazptr_alloc(own()), inside));
		lull_hazptr_synchronize_range(array, sizeof(array));
	}
	EXPECT_ABORT("lull_hazptr_synchronize_timeout") {
		protect_misused();
		lull_hazptr_synchronize_timeout(&misused_thing, 1000);
	}
	EXPECT_ABORT("lull_hazptr_synchronize") {
		lull_hazptr_acquire(&misused, &misused_source);
		lull_hazptr_synchronize(&misused_thing);
	}
	EXPECT_ABORT("lull_thread_unregister") {
		protect_misused();
		lull_thread_unregister();
	}
}
