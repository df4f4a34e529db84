/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences, core */
/*
 * wait.c - hazptr.h, hazptr_fenced.h: waiting until no thread protects an object or a range of addresses, by each of the
 * calls. For whom a thread waits, and that it is woken when that one lets go in any way, is in slots.c.
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
	struct thing *thing = &first;
	struct holder reader;

	if (lull_fence_strategy() != LULL_FENCE_MEMBARRIER)
		SKIP("readers make the fences here");
	first.value = 42;
	holder_start(&reader, &thing);
	for (int i = 0; i < PLAIN; i++) {
		uint64_t before = lull_fence_heavy_count();

		calls[i](&second);
		assert_true(lull_fence_heavy_count() > before);
	}
	holder_end(&reader);
}

#ifdef LULL_TEST_EMULATED /* the emulator's threads sleep at its own locks */
#define EMULATED 1
#else
#define EMULATED 0
#endif

/* Waiting costs no processor time. (Where fences are full ones the waiter may look again, ever more rarely; it may sleep at locks.) */
TEST(waiting_sleeps)
{
	struct thing *thing = &first;
	struct waiter waiter[CALLS];
	struct holder holder;

	first.value = 42;
	holder_start(&holder, &thing);
	start_waiters(waiter, &first);
	nap_ms(1000);
	check_waiting(waiter);
	holder_end(&holder);
	join_waiters(waiter);
	for (int i = 0; i < CALLS; i++) {
		assert_true(waiter[i].cpu_ns < 200000000u);
		assert_true(waiter[i].switches < (i >= PLAIN || lull_fence_strategy() == LULL_FENCE_FULL || EMULATED ? 200 : 10));
	}
}

/* ---- starvation: readers that come back for ever to what was never unlinked ---------------------- */

static int again_stop, again_started;

enum again {
	CLEARS,
	CLEARS_SOME_FENCED,
	OVERWRITES,
	HAND_OVER_HAND, /* one of the two slots has it at any time */
	HOLD_AFTER_HOLD /* in slots and without, and detached, so that the lists move as well */
};

static void again(enum again how, unsigned n, struct lull_hazptr **h, struct lull_hazptr_hold *holds)
{
	struct lull_hazptr_hold *next = &holds[n % 10];

	switch (how) {
	case HOLD_AFTER_HOLD:
		if (n >= 10 && n % 3 == 0)
			lull_hazptr_detach(next);
		if (n >= 10)
			lull_hazptr_release(next, &first);
		lull_hazptr_acquire(next, &variable);
		break;
	case HAND_OVER_HAND:
		lull_hazptr_protect(h[n % 2], variable, rcu);
		lull_hazptr_clear(h[1 - n % 2]);
		break;
	case CLEARS_SOME_FENCED:
		lull_hazptr_fenced_protect(h[0], variable, rcu);
		if (n % 3 == 0)
			lull_hazptr_fenced_clear(h[0]);
		break;
	default:
		lull_hazptr_protect(h[0], variable, rcu);
		if (how == CLEARS)
			lull_hazptr_clear(h[0]);
	}
}

static void *again_run(void *arg)
{
	struct lull_hazptr_hold hold[10];
	struct lull_hazptr *h[2] = { lull_hazptr_alloc(own()), lull_hazptr_alloc(own()) };
	enum again how = *(enum again *)arg;
	unsigned n = 0;

	for (; n < 10; n++)
		again(how, n, h, hold);
	lull_add_release(&again_started, 1);
	for (; !lull_load_relaxed(&again_stop); n++)
		again(how, n, h, hold);
	for (int i = 0; how == HOLD_AFTER_HOLD && i < 10; i++)
		lull_hazptr_release(&hold[i], &first);
	for (int i = 0; i < 2; i++)
		lull_hazptr_free(own(), h[i]);
	return NULL;
}

static void wait_under(enum again one, enum again other)
{
	pthread_t thread[2];

	again_stop = again_started = 0;
	lull_hazptr_publish(variable, &first);
	thread[0] = start_thread(again_run, &one);
	thread[1] = start_thread(again_run, &other);
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
	wait_under(CLEARS, CLEARS);
	wait_under(OVERWRITES, CLEARS);
	wait_under(HAND_OVER_HAND, OVERWRITES);
	wait_under(HAND_OVER_HAND, HOLD_AFTER_HOLD);
	wait_under(CLEARS_SOME_FENCED, CLEARS_SOME_FENCED);
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
	holder_start(&holder, &thing);
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
	holder_end(&holder);
	assert_int_equal(lull_hazptr_synchronize_timeout(thing, UINT64_MAX), 0);
	assert_int_equal(lull_hazptr_barrier_timeout(UINT64_MAX), 0);
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
