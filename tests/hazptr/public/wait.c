/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences, core */
/*
 * wait.c - hazptr.h, hazptr_fenced.h: waiting until no thread protects an object or a range of addresses, by each of the
 * calls.
 */
#include "hazptr/actor.h"
#include "hazptr/fixture.h"

/* ---- the calls, which wait for a thing ----------------------------------------------------------- */

static void wait_range(const void *addr)
{
	lull_hazptr_synchronize_range(addr, sizeof(first));
}

static void wait_timeout(const void *addr)
{
	assert_int_equal(lull_hazptr_synchronize_timeout(addr, 60000), 0);
}

static void wait_range_timeout(const void *addr)
{
	assert_int_equal(lull_hazptr_synchronize_range_timeout(addr, sizeof(first), UINT64_MAX), 0);
}

static void wait_fenced_range_timeout(const void *addr)
{
	assert_int_equal(lull_hazptr_fenced_synchronize_range_timeout(addr, sizeof(first), 60000), 0);
}

enum { PLAIN = 4, CALLS = 6 };
static void (*const calls[CALLS])(const void *addr) = { lull_hazptr_synchronize, wait_range, wait_timeout, wait_range_timeout,
							lull_hazptr_fenced_synchronize, wait_fenced_range_timeout };

static void start_waiters(struct waiter *waiter, const void *addr)
{
	for (int i = 0; i < CALLS; i++)
		waiter_start_by(&waiter[i], calls[i], addr);
}

static void check_waiting(const struct waiter *waiter)
{
	for (int i = 0; i < CALLS; i++)
		assert_int_equal(lull_load_acquire(&waiter[i].done), 0);
}

static void join_waiters(const struct waiter *waiter)
{
	for (int i = 0; i < CALLS; i++)
		join_thread(waiter[i].thread);
}

/* ---- synchronize --------------------------------------------------------------------------------- */

TEST(synchronize_nothing)
{
	lull_hazptr_synchronize(NULL); /* empty slots do not protect it */
	lull_rcu_read_lock();
	lull_hazptr_synchronize(&second);
	lull_rcu_read_unlock();
	lull_rcu_online();
	lull_hazptr_synchronize(&second);
	assert_true(lull_rcu_read_lock_held());
	lull_rcu_offline();
}

/* Readers make no fence of their own, so who waits for them makes one for them: by whichever call. */
TEST(fences)
{
	if (lull_fence_strategy() != LULL_FENCE_MEMBARRIER)
		SKIP("readers make the fences here");
	for (int i = 0; i < PLAIN; i++) {
		uint64_t before = lull_fence_heavy_count();

		calls[i](&second);
		assert_true(lull_fence_heavy_count() > before);
	}
}

/* Each waits while it is held, and is woken however that ends. */
TEST(synchronize)
{
	struct thing *thing = &first;

	first.value = 42;
	for (int way = 0; way < WAYS; way++) {
		struct waiter waiter[CALLS];
		struct holder holder;

		start_hearing();
		holder_start(&holder, (enum letting_go)way, &thing);
		start_waiters(waiter, &first);
		nap_ms(20);
		check_waiting(waiter);
		holder_let_go(&holder);
		join_waiters(waiter);
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
	struct waiter waiter[CALLS];
	struct holder holder;

	first.value = 42;
	holder_start(&holder, RELEASE, &thing);
	start_waiters(waiter, &first);
	nap_ms(1000);
	check_waiting(waiter);
	holder_let_go(&holder);
	join_waiters(waiter);
	holder_finish(&holder);
	for (int i = 0; i < CALLS; i++) {
		assert_true(waiter[i].cpu_ns < 200000000u);
		assert_true(waiter[i].switches < (i >= PLAIN || lull_fence_strategy() == LULL_FENCE_FULL ? 40 : 10));
	}
}

/* ---- starvation: readers that come back for ever to what was never unlinked ---------------------- */

static int again_stop, again_started;

static void *again_with_fence(void *unused)
{
	struct lull_hazptr *h = lull_hazptr_alloc(lull_hazptr_thread_context());

	lull_add_release(&again_started, 1);
	for (unsigned n = 0; !lull_load_relaxed(&again_stop); n++) {
		lull_hazptr_fenced_protect(h, variable, rcu);
		if (n % 3 == 0)
			lull_hazptr_fenced_clear(h);
	}
	lull_hazptr_free(lull_hazptr_thread_context(), h);
	return unused;
}

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
	for (int round = 0; round < 20; round++) {
		struct waiter waiter[CALLS];

		start_waiters(waiter, &first);
		join_waiters(waiter);
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
	wait_under(again_with_fence, again_with_fence);
}

/* ---- ranges and time limits ------------------------------------------------------------------------ */

static char array[64], *inside;

static void looks_at_range(void *is_inside)
{
	int result = *(bool *)is_inside ? -ETIMEDOUT : 0;

	assert_int_equal(lull_hazptr_synchronize_range_timeout(array + 16, 32, 1), result);
	assert_int_equal(lull_hazptr_fenced_synchronize_range_timeout(array + 16, 32, 1), result);
}

TEST(range)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct actor looker;
	struct waiter waiter;

	actor_start(&looker);
	for (int i = 0; i < 64; i++) {
		bool inside_it = i >= 16 && i < 48;

		inside = array + i;
		assert_ptr_equal(lull_hazptr_protect_ptr(h, inside), inside);
		on(&looker, looks_at_range, &inside_it);
	}
	actor_end(&looker);

	/* It ends when the slot points to somewhere else, outside. */
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

/* The time is in milliseconds: no thread waits for minutes. */
TEST(timeout)
{
	struct thing *thing = new_thing(&gone);
	struct holder holder;

	alarm(60);
	holder_start(&holder, FREE_SLOT, &thing);
	lull_hazptr_call(&thing->rcu, thing_gone);
	for (uint64_t ms = 0; ms <= 200; ms += 100) {
		uint64_t start_ns = now_ns();

		assert_int_equal(lull_hazptr_synchronize_timeout(thing, ms), -ETIMEDOUT);
		assert_int_equal(lull_hazptr_synchronize_range_timeout(thing, 1, ms), -ETIMEDOUT);
		assert_int_equal(lull_hazptr_fenced_synchronize_range_timeout(thing, sizeof(*thing), ms), -ETIMEDOUT);
		assert_int_equal(lull_hazptr_barrier_timeout(ms), -ETIMEDOUT);
		assert_true(now_ns() - start_ns >= 4 * ms * 1000000u);
		assert_int_equal(lull_hazptr_synchronize_range_timeout(array, sizeof(array), ms), 0);
		assert_int_equal(lull_hazptr_fenced_synchronize_range_timeout(thing + 1, 64, ms), 0);
		assert_int_equal(lull_hazptr_fenced_synchronize_range_timeout((char *)thing - 64, 64, ms), 0);
	}
	holder_let_go(&holder);
	assert_int_equal(lull_hazptr_synchronize_timeout(thing, UINT64_MAX), 0);
	assert_int_equal(lull_hazptr_barrier_timeout(UINT64_MAX), 0);
	holder_finish(&holder);
	alarm(0);
}

/* ---- in a section ---------------------------------------------------------------------------------- */

static struct lull_hazptr_hold hold;

static void acquires_first(void *unused)
{
	static struct thing *thing = &first;

	(void)unused;
	lull_hazptr_acquire(&hold, &thing);
}

static void releases_first(void *unused)
{
	(void)unused;
	lull_hazptr_release(&hold, &first);
}

static void waits_for_first(void *unused)
{
	(void)unused;
	lull_hazptr_synchronize(&first);
	assert_true(lull_rcu_read_lock_held());
}

TEST(in_section)
{
	check_wait_in_section(acquires_first, releases_first, waits_for_first);
}
