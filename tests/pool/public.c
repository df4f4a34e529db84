/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences */
/*
 * public.c - hazptr_pool.h: slots that belong to no thread.
 */
#include <malloc.h>

#include <lull/hazptr_pool.h>

#include "hazptr/fixture.h"

#define BLOCK LULL_HAZPTR_SLOTS

/* How often the library has asked for a block, and whether it gets one. Sanitizers have an aligned_alloc() of their own. */
static int blocks_made, no_blocks;
#if !SANITIZED
void *aligned_alloc(size_t alignment, size_t size) LULL_NOEXCEPT
{
	void *memory = NULL;

	if (lull_load_relaxed(&no_blocks) || posix_memalign(&memory, alignment, size) != 0)
		return NULL;
	lull_add_relaxed(&blocks_made, 1);
	return memory;
}
#endif

static struct lull_hazptr *get(void)
{
	struct lull_hazptr *h = lull_hazptr_pool_get();

	assert_non_null(h);
	assert_int_equal(h->addr, 0);
	return h;
}

static void get_all(struct lull_hazptr **h, int n)
{
	for (int i = 0; i < n; i++) {
		h[i] = get();
		for (int j = 0; j < i && n < 200; j++)
			assert_ptr_not_equal(h[i], h[j]);
	}
}

static void put_all(struct lull_hazptr **h, int n)
{
	for (int i = 0; i < n; i++)
		lull_hazptr_pool_put(h[i]);
}

TEST(protects)
{
	struct thing *thing = new_thing(&gone), *other = &first, *none = NULL;
	struct lull_hazptr *h = get();

	assert_null(lull_hazptr_protect(h, none, rcu));
	assert_ptr_equal(lull_hazptr_protect(h, thing, rcu), thing);
	assert_false(is_free_of(thing));
	lull_hazptr_call(&thing->rcu, thing_gone);
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	check_alive(thing);
	assert_ptr_equal(lull_hazptr_tryprotect(h, other, rcu), other);
	await_count(&gone, 1);
	assert_false(is_free_of(other));
	lull_hazptr_clear(h);
	assert_true(is_free_of(other));
	lull_hazptr_publish(other, &second);
	assert_ptr_equal(lull_hazptr_protect(h, other, rcu), &second);
	lull_hazptr_pool_put(h);
	assert_true(is_free_of(&second));
	h = get(); /* it protects nothing */
	lull_hazptr_pool_put(h);
}

/* However many, in whatever order. */
TEST(many)
{
	enum { MANY = 150 };
	struct lull_hazptr *h[MANY];
	struct thing *thing[MANY];
	int order[MANY], counts[MANY];

	for (int round = 0; round < 3; round++) {
		get_all(h, MANY);
		for (int i = 0; i < MANY; i++) {
			order[i] = i;
			lull_store_relaxed(&counts[i], 0);
			thing[i] = new_thing(&counts[i]);
			lull_hazptr_protect(h[i], thing[i], rcu);
			lull_hazptr_call(&thing[i]->rcu, thing_gone);
		}
		for (int i = MANY - 1; i > 0; i--)
			swap(&order[i], &order[random_below((uint32_t)i + 1)]);
		for (int i = 0; i < MANY; i++) {
			check_alive(thing[order[i]]);
			lull_hazptr_pool_put(h[order[i]]);
			if (i % 29 == 0)
				await_count(&counts[order[i]], 1);
		}
		for (int i = 0; i < MANY; i++)
			await_count(&counts[i], 1);
	}
}

/* A context that a thread has at hand comes back to it, whoever puts it. */
static void *puts_run(void *arg)
{
	struct lull_hazptr **h = (struct lull_hazptr **)arg;

	put_all(h, BLOCK / 2);
	return NULL;
}

static bool is_among(struct lull_hazptr *const *h, int n, const struct lull_hazptr *what)
{
	for (int i = 0; i < n; i++)
		if (h[i] == what)
			return true;
	return false;
}

TEST(at_hand)
{
	struct lull_hazptr *h[BLOCK], *again[BLOCK], *more;

	get_all(h, BLOCK);
	for (int i = 0; i < BLOCK; i++) /* a block: what one thread sets shares its cache lines with no other thread */
		assert_int_equal((uintptr_t)h[i] / LULL__HAZPTR_BLOCK, (uintptr_t)h[0] / LULL__HAZPTR_BLOCK);
	join_thread(start_thread(puts_run, h));
	get_all(again, BLOCK / 2);
	for (int i = 0; i < BLOCK / 2; i++)
		assert_true(is_among(h, BLOCK / 2, again[i]));
	more = get();
	assert_false(is_among(h, BLOCK, more));
	lull_hazptr_pool_put(more);
	put_all(again, BLOCK / 2);
	put_all(h + BLOCK / 2, BLOCK / 2);
}

/* Free slots of blocks that are partly in use are found before memory is taken for another block. */
TEST(reuses)
{
	enum { MANY = 100 * BLOCK, STAY = 3 };
	static struct lull_hazptr *h[MANY], *kept[MANY], *again[MANY];
	int stay = 0, n = 0;

	get_all(h, MANY);
	for (int i = 0; i < MANY; i++) {
		if ((uintptr_t)h[i] % LULL__HAZPTR_BLOCK / sizeof(*h[i]) == STAY)
			kept[stay++] = h[i];
		else
			lull_hazptr_pool_put(h[i]);
	}
	assert_int_equal(stay, MANY / BLOCK);
	for (; n < MANY - stay; n++) {
		again[n] = get();
		assert_true(is_among(kept, stay, again[n] - (uintptr_t)again[n] % LULL__HAZPTR_BLOCK / sizeof(*h[0]) + STAY));
	}
	put_all(again, n);
	put_all(kept, stay);
}

/* ---- other threads --------------------------------------------------------------------------------- */

struct gift {
	struct thing *source;
	struct lull_hazptr *h[BLOCK + 1];
};

static void *protects_and_ends(void *arg)
{
	struct gift *gift = (struct gift *)arg;

	get_all(gift->h, BLOCK + 1);
	for (int i = 0; i <= BLOCK; i++)
		assert_ptr_equal(lull_hazptr_protect(gift->h[i], gift->source, rcu), gift->source);
	return NULL;
}

/* The thread that protected has exited: another one uses its slots, and puts them. */
TEST(outlives_thread)
{
	struct gift gift;

	for (int round = 0; round < 20; round++) {
		lull_store_relaxed(&gone, 0);
		gift.source = new_thing(&gone);
		start_hearing();
		join_thread(start_thread(protects_and_ends, &gift));
		stop_hearing();
		check_silence();
		lull_hazptr_call(&gift.source->rcu, thing_gone);
		for (int i = 0; i < BLOCK; i++)
			lull_hazptr_pool_put(gift.h[i]);
		assert_int_equal(lull_hazptr_barrier_timeout(1), -ETIMEDOUT);
		check_alive(gift.source);
		lull_hazptr_clear(gift.h[BLOCK]);
		await_count(&gone, 1);
		lull_hazptr_pool_put(gift.h[BLOCK]);
	}
}

/* A thread that sleeps for the slot is woken, by whatever thread. */
static void *clears_run(void *arg)
{
	lull_hazptr_clear((struct lull_hazptr *)arg);
	return NULL;
}

TEST(wakes)
{
	struct thing *thing = &first;
	struct lull_hazptr *h = get();
	struct waiter waiter;

	lull_hazptr_protect(h, thing, rcu);
	waiter_start(&waiter, &first, 0);
	nap_ms(20);
	assert_int_equal(lull_load_acquire(&waiter.done), 0);
	join_thread(start_thread(clears_run, h));
	join_thread(waiter.thread);
	lull_hazptr_pool_put(h);
}

/* Slots wander between threads, each with something that it protects. */
static struct lull_hazptr *stage[16];
static int storm_stop, wandered;
#define WANDERED_LEAST 1000

static void *storm_run(void *arg)
{
	uint32_t seed = (uint32_t)(uintptr_t)arg;

	while (!lull_load_relaxed(&storm_stop)) {
		struct thing *thing = new_thing(&gone);
		struct lull_hazptr *h = get(), *other;

		seed = seed * 1664525u + 1013904223u;
		assert_ptr_equal(lull_hazptr_protect(h, thing, rcu), thing);
		lull_hazptr_call(&thing->rcu, thing_gone);
		other = lull_xchg_acq_rel(&stage[seed >> 28], h);
		if (!other)
			continue;
		check_alive((struct thing *)lull_load_relaxed(&other->addr));
		lull_hazptr_pool_put(other);
		came_round(&wandered);
	}
	return NULL;
}

TEST(storm)
{
	uint64_t since_ns = now_ns();
	pthread_t thread[3];

	storm_stop = wandered = 0;
	for (uintptr_t i = 0; i < 3; i++)
		thread[i] = start_thread(storm_run, (void *)(i * 77));
	while (storm_goes_on(since_ns, 500000000u, &wandered, WANDERED_LEAST))
		nap_ms(1);
	lull_store_relaxed(&storm_stop, 1);
	for (int i = 0; i < 3; i++)
		join_thread(thread[i]);
	for (int i = 0; i < 16; i++) {
		if (stage[i])
			lull_hazptr_pool_put(stage[i]);
		stage[i] = NULL;
	}
	lull_hazptr_barrier();
}

/* ---- where it may be called ------------------------------------------------------------------------ */

/* The destructor of thread-specific data that runs in each round of destructors: before lull's, and after. */
static pthread_key_t own_key;
static int late_rounds;
enum { ROUNDS = UNDER_TSAN ? 2 : 4 }; /* before the last one ThreadSanitizer has ended */

static void *gets_others(void *arg)
{
	struct lull_hazptr *h[6 * BLOCK];

	get_all(h, 6 * BLOCK);
	assert_false(is_among(h, 6 * BLOCK, (struct lull_hazptr *)arg));
	put_all(h, 6 * BLOCK);
	return NULL;
}

static void late(void *arg)
{
	struct lull_hazptr *h[BLOCK + 2];
	struct thing *thing = &first;

	if (lull_load_relaxed(&no_blocks)) {
		assert_null(lull_hazptr_pool_get());
		return;
	}
	get_all(h, BLOCK + 2);
	lull_hazptr_protect(h[BLOCK + 1], thing, rcu);
	assert_false(is_free_of(thing));
	join_thread(start_thread(gets_others, h[0]));
	put_all(h, BLOCK + 2);
	if (++late_rounds < ROUNDS)
		assert_int_equal(pthread_setspecific(own_key, arg), 0);
}

static void *late_run(void *arg)
{
	late_rounds = 0;
	assert_int_equal(pthread_setspecific(own_key, &late_rounds), 0);
	if (arg) {
		lull_hazptr_pool_put(get());
		lull_thread_unregister();
		lull_hazptr_pool_put(get());
	}
	return NULL;
}

TEST(late_destructors)
{
	for (int i = 0; i < 20; i++) {
		join_thread(start_thread(late_run, i % 2 ? &own_key : NULL));
		assert_int_equal(late_rounds, ROUNDS);
	}
	assert_true(is_free_of(&first));
}

static struct lull_hazptr *from_callback[BLOCK + 1];

static void callback_gets(struct lull_rcu_head *head) LULL_NOEXCEPT
{
	get_all(from_callback, BLOCK + 1);
	thing_gone(head);
}

TEST(contexts)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct lull_hazptr *h[BLOCK + 1];

	lull_rcu_read_lock();
	pthread_mutex_lock(&lock);
	get_all(h, BLOCK + 1);
	put_all(h, BLOCK + 1);
	pthread_mutex_unlock(&lock);
	lull_rcu_read_unlock();
	lull_rcu_call(&new_thing(&gone)->rcu, callback_gets);
	lull_rcu_barrier();
	assert_int_equal(lull_load_acquire(&gone), 1);
	put_all(from_callback, BLOCK + 1);
}

/* ---- memory ---------------------------------------------------------------------------------------- */

static void *get_and_put_run(void *arg)
{
	struct lull_hazptr *h[BLOCK * 2];

	get_all(h, BLOCK * 2);
	put_all(h, BLOCK * 2);
	return arg;
}

static void *puts_all_run(void *arg)
{
	struct lull_hazptr **h = (struct lull_hazptr **)arg;

	put_all(h, 6 * BLOCK);
	return NULL;
}

/* Another thread puts all that this one has. Then it exits, or with @arg goes on first. */
static void *hand_over_run(void *arg)
{
	struct lull_hazptr *h[6 * BLOCK];

	get_all(h, 6 * BLOCK);
	join_thread(start_thread(puts_all_run, h));
	if (arg)
		lull_hazptr_pool_put(get());
	return arg;
}

/* After many at once, and after many threads, the pool has no more memory than before. */
TEST(gives_back)
{
	enum { MANY = 8000 };
	static struct lull_hazptr *h[MANY];
	size_t before, full, after;

#if SANITIZED || defined(LULL_TEST_EMULATED)
	SKIP(OWN_MEMORY);
#endif
	if (under_valgrind())
		SKIP(OWN_MEMORY);
	get_and_put_run(NULL);
	join_thread(start_thread(get_and_put_run, NULL));
	before = mallinfo2().uordblks;
	get_all(h, MANY);
	full = mallinfo2().uordblks;
	assert_true(full - before > MANY / BLOCK * LULL__HAZPTR_BLOCK - 8 * 1024);
	put_all(h, MANY);
	for (int i = 0; i < 600; i++)
		join_thread(start_thread(i % 2 ? hand_over_run : late_run, i % 4 == 1 ? h : NULL));
	after = mallinfo2().uordblks;
	assert_true(after < before + 16 * 1024); /* malloc, too, keeps a few of a size */
}

/* Four blocks stay, so that threads that come and go do not need malloc each time. */
TEST(spare)
{
	enum { MANY = 5 * BLOCK };
	struct lull_hazptr *h[MANY];
	int before;

#if SANITIZED
	SKIP(OWN_MEMORY);
#endif
	if (under_valgrind())
		SKIP(OWN_MEMORY);
	for (int i = 0; i < 5; i++) {
		before = lull_load_relaxed(&blocks_made);
		get_all(h, MANY);
		put_all(h, MANY);
	}
	assert_int_equal(lull_load_relaxed(&blocks_made), before);
}

static void *gets_nothing(void *arg)
{
	return lull_hazptr_pool_get() ? arg : NULL;
}

TEST(no_memory)
{
	struct lull_hazptr *h[100];
	struct thing *thing = &first;
	void *result;
	int n = 0;

#if SANITIZED
	SKIP(OWN_MEMORY);
#endif
	if (under_valgrind())
		SKIP(OWN_MEMORY);
	lull_store_relaxed(&no_blocks, 1);
	while (n < 100 && (h[n] = lull_hazptr_pool_get()) != NULL)
		n++;
	assert_in_range(n, 1, 99);
	assert_null(lull_hazptr_pool_get());
	assert_int_equal(pthread_join(start_thread(gets_nothing, &first), &result), 0);
	assert_null(result);
	join_thread(start_thread(late_run, NULL));
	assert_ptr_equal(lull_hazptr_protect(h[n - 1], thing, rcu), thing);
	lull_hazptr_pool_put(h[n - 1]);
	assert_ptr_equal(lull_hazptr_pool_get(), h[n - 1]);
	lull_store_relaxed(&no_blocks, 0);
	h[n] = get();
	put_all(h, n + 1);
}

/* ---- fork ------------------------------------------------------------------------------------------ */

static struct gift forked, of_other;

static bool is_kept(const void *addr)
{
	return lull_hazptr_synchronize_timeout(addr, 0) == -ETIMEDOUT;
}

static int other_is_there, other_may_end;

static void *other_protects(void *arg)
{
	protects_and_ends(arg);
	lull_store_release(&other_is_there, 1);
	await_flag(&other_may_end, 1);
	return NULL;
}

TEST(fork)
{
	pthread_t other;

	forked.source = &first;
	of_other.source = &second;
	protects_and_ends(&forked);
	other_is_there = other_may_end = 0;
	other = start_thread(other_protects, &of_other);
	await_flag(&other_is_there, 1);
	EXPECT_FINE {
		struct lull_hazptr *more[3 * BLOCK];

		must(is_kept(&first) && is_kept(&second));
		for (int i = 0; i < 3 * BLOCK; i++) {
			more[i] = lull_hazptr_pool_get();
			must(more[i] && !more[i]->addr);
		}
		for (int i = 0; i <= BLOCK; i++)
			lull_hazptr_pool_put(forked.h[i]);
		must(!is_kept(&first) && is_kept(&second));
		for (int i = 0; i <= BLOCK; i++)
			lull_hazptr_pool_put(of_other.h[i]);
		must(!is_kept(&second));
		for (int i = 0; i < 3 * BLOCK; i++)
			lull_hazptr_pool_put(more[i]);
		get_and_put_run(NULL);
	}
	assert_true(is_kept(&first) && is_kept(&second));
	lull_store_release(&other_may_end, 1);
	join_thread(other);
	put_all(forked.h, BLOCK + 1);
	put_all(of_other.h, BLOCK + 1);
	assert_true(is_free_of(&first));
	assert_true(is_free_of(&second));
}

/* At any moment of what other threads do. */
static int churn_stop;

static void *churn_run(void *unused)
{
	while (!lull_load_relaxed(&churn_stop))
		get_and_put_run(NULL);
	return unused;
}

TEST(fork_under_load)
{
	pthread_t thread[2];

#if SANITIZED
	SKIP(SANITIZER_HEAP_OVER_FORK);
#endif
	churn_stop = 0;
	forked.source = &first;
	protects_and_ends(&forked);
	for (int i = 0; i < 2; i++)
		thread[i] = start_thread(churn_run, NULL);
	for (int n = 0; n < 100; n++)
		EXPECT_FINE {
			struct lull_hazptr *h[4 * BLOCK];

			for (int round = 0; round < 3; round++) {
				for (int i = 0; i < 4 * BLOCK; i++) {
					h[i] = lull_hazptr_pool_get();
					must(h[i] && !h[i]->addr);
					for (int j = 0; j < i; j++)
						must(h[i] != h[j]);
				}
				for (int i = 0; i <= BLOCK; i++)
					must(h[i] != forked.h[i]);
				for (int i = 0; i < 4 * BLOCK; i++)
					lull_hazptr_pool_put(h[i]);
			}
			must(is_kept(&first));
			for (int i = 0; i <= BLOCK; i++)
				lull_hazptr_pool_put(forked.h[i]);
			must(!is_kept(&first));
		}
	lull_store_relaxed(&churn_stop, 1);
	for (int i = 0; i < 2; i++)
		join_thread(thread[i]);
	put_all(forked.h, BLOCK + 1);
}

/* ---- misuse ---------------------------------------------------------------------------------------- */

static void *foreign_run(void *arg)
{
	*(struct lull_hazptr **)arg = lull_hazptr_pool_get();
	return NULL;
}

static void child_puts_twice(void)
{
	struct lull_hazptr *h = lull_hazptr_pool_get();

	lull_hazptr_pool_put(h);
	lull_hazptr_pool_put(h);
}

TEST(put_twice)
{
	NEEDS_THREADS_IN_CHILD();
	EXPECT_MISUSE("lull_hazptr_pool_put: the slot is free already") {
		struct lull_hazptr *foreign;
		pthread_t thread;

		lull_hazptr_pool_put(lull_hazptr_pool_get());
		must(pthread_create(&thread, NULL, foreign_run, &foreign) == 0);
		pthread_join(thread, NULL);
		lull_hazptr_pool_put(foreign);
		lull_hazptr_pool_put(foreign);
	}
#ifdef LULL_DEBUG
	expect_misuse(child_puts_twice, "lull_hazptr_pool_put: the slot is free already");
#else
	(void)child_puts_twice;
#endif
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
	must(pthread_key_create(&own_key, late) == 0);
}
