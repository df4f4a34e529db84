/* SPDX-License-Identifier: MIT */
/* runs: c++, oracles */
/*
 * mutex.c - mutex.h between the threads of one process: what each call does and says, for each kind of mutex; who gets
 * the lock after whom, and that it is never lost. Also as C++, where it is what std::lock_guard takes.
 */
#include "mutex/support.h"
#include "random.h"

#include <sys/time.h>

#ifdef __cplusplus
/* cmocka's word for it is in the way of the standard library. */
#pragma push_macro("fail")
#undef fail
#include <mutex>
#include <type_traits>
#pragma pop_macro("fail")
#endif

/* ---- one thread --------------------------------------------------------------------------------------------- */

static struct lull_mutex_robust zero; /* never initialised */
static const struct lull_mutex_robust with_macro = LULL_MUTEX_ROBUST_INIT;
static const struct lull_mutex mutex_with_macro = LULL_MUTEX_INIT;

static void expect_held_by_me(const struct lull_mutex *m)
{
	assert_int_equal(m->word, my_tid());
	assert_int_equal(lull_mutex_owner(m), my_tid());
	assert_true(lull_mutex_is_locked(m));
}

static void *finds_it_held(void *lock)
{
	struct some_lock *l = (struct some_lock *)lock;

	assert_int_equal(try_acquire(l), -EBUSY);
	for (int i = 0; i < 5; i++) {
		uint64_t deadline_ns = i == 0 ? 0 : i == 1 ? now_ns() - 1 : now_ns() + (uint64_t)(i * i - 4) * MS;

		errno = 77;
		assert_int_equal(acquire_until(l, deadline_ns), -ETIMEDOUT);
		assert_int_equal(errno, 77);
		assert_true(now_ns() >= deadline_ns);
	}
	assert_true(lull_mutex_owner(&l->robust.mutex) != my_tid());
	return NULL;
}

static int acquire_somehow(struct some_lock *l, int way)
{
	const uint64_t deadlines[] = { 0, 1, now_ns(), now_ns() + MS, UINT64_MAX };

	return way == 0 ? acquire(l) : way == 1 ? try_acquire(l) : acquire_until(l, deadlines[way - 2]);
}

TEST(states)
{
	struct some_lock l;
	const struct lull_mutex *m = &l.robust.mutex;

	for (int kind = 0; kind < kinds_here(); kind++) {
		make_lock(&l, (enum kind)kind);
		for (int way = 0; way < 7; way++) {
			errno = 77;
			assert_int_equal(acquire_somehow(&l, way), 0);
			expect_held_by_me(m);
			assert_int_equal(try_acquire(&l), -EBUSY); /* held by this thread */
			assert_int_equal(errno, 77);
			if (way < 2)
				join_thread(start_thread(finds_it_held, &l));
			release(&l);
			assert_int_equal(errno, 77);
			assert_false(lull_mutex_is_locked(m));
			assert_int_equal(m->rest, kind == PRIVATE ? 0 : LULL_MUTEX_SHARED);
		}
		lull_mutex_destroy(&l.robust.mutex);
	}
}

/* Memory of zero bytes is a mutex; and so it is again in the end. */
TEST(zero)
{
	assert_int_equal(sizeof(struct lull_mutex), 12);
	assert_int_equal(memcmp(&zero.mutex, &mutex_with_macro, sizeof(zero.mutex)), 0);
	assert_int_equal(memcmp(&zero, &with_macro, sizeof(zero)), 0);
	expect_free(&zero.mutex);
	lull_mutex_lock(&zero.mutex);
	expect_held_by_me(&zero.mutex);
	lull_mutex_unlock(&zero.mutex);
	lull_mutex_destroy(&zero.mutex);
	if (lull_mutex_robust_lock(&zero) == 0) {
		assert_int_equal(lull_mutex_robust_owner(&zero), my_tid());
		lull_mutex_robust_unlock(&zero);
		assert_int_equal(lull_mutex_robust_owner(&zero), 0);
	}
	assert_int_equal(memcmp(&zero, &with_macro, sizeof(zero)), 0);
}

TEST(init)
{
	struct lull_mutex m;

	memset(&m, 0xa5, sizeof(m));
	lull_mutex_init(&m, 0);
	expect_free(&m);
	if (!UNDER_TSAN) /* which remembers that it was held */
		lull_mutex_lock(&m);
	lull_mutex_init(&m, LULL_MUTEX_SHARED);
	assert_false(lull_mutex_is_locked(&m));
	lull_mutex_init(&m, 0);
	expect_free(&m);
	lull_mutex_destroy(&m);
}

static int returns_inside(struct lull_mutex *m)
{
	LULL_MUTEX_GUARD(m);
	return lull_mutex_owner(m) == my_tid();
}

#define GUARD_BOTH(first, second)                                                                  \
	LULL_MUTEX_GUARD(first);                                                                   \
	LULL_MUTEX_GUARD(second)

TEST(guard)
{
	struct lull_mutex a = LULL_MUTEX_INIT, b = LULL_MUTEX_INIT;

	{
		LULL_MUTEX_GUARD(&a);
		expect_held_by_me(&a);
		{
			LULL_MUTEX_GUARD(&b);
			expect_held_by_me(&b);
		}
		expect_free(&b);
		expect_held_by_me(&a);
	}
	expect_free(&a);
	assert_true(returns_inside(&a));
	expect_free(&a);
	{
		GUARD_BOTH(&a, &b);
		expect_held_by_me(&a);
		expect_held_by_me(&b);
	}
	expect_free(&a);
	expect_free(&b);
	for (int i = 0; i < 3; i++) {
		LULL_MUTEX_GUARD(&a);
		if (i == 1)
			break;
	}
	expect_free(&a);
}

#ifdef __cplusplus
TEST(cxx)
{
	lull_mutex a = LULL_MUTEX_INIT, b{};

	static_assert(!std::is_copy_constructible<lull_mutex>::value && !std::is_copy_assignable<lull_mutex>::value,
		      "who has a copy does not have the lock");
	{
		std::lock_guard<lull_mutex> guard(a);
		expect_held_by_me(&a);
		std::unique_lock<lull_mutex> second(b, std::try_to_lock);
		assert_true(second.owns_lock());
		expect_held_by_me(&b);
		second.unlock();
		expect_free(&b);
	}
	expect_free(&a);
	try {
		std::unique_lock<struct lull_mutex> one(a, std::defer_lock), other(b, std::defer_lock);

		std::lock(one, other);
		expect_held_by_me(&a);
		expect_held_by_me(&b);
		assert_false(a.try_lock());
		throw 1;
	} catch (int) {
	}
	expect_free(&a);
	expect_free(&b);
}
#endif

/* ---- timeouts ----------------------------------------------------------------------------------------------- */

static struct some_lock contended;
static uint64_t release_ns;
static int turn; /* 1: take it; 2: it is; 3: it no longer is; 4: that is all */

static void *releases(void *unused)
{
	int now;

	for (;;) {
		AWAIT_SOON((now = lull_load_acquire(&turn)) == 1 || now == 4);
		if (now == 4)
			return unused;
		assert_int_equal(acquire_until(&contended, UINT64_MAX), 0);
		lull_store_release(&turn, 2);
		sleep_until(release_ns);
		release(&contended);
		lull_store_release(&turn, 3);
	}
}

/* Held by another thread until about the deadline: one told that time is up does not have it; one not told has. */
TEST(timeout_or_lock)
{
	uint64_t random = test_seed();
	pthread_t thread;

	for (int kind = 0; kind < kinds_here(); kind++) {
		make_lock(&contended, (enum kind)kind);
		turn = 0;
		thread = start_thread(releases, NULL);
		for (int i = 0; i < 1000; i++) {
			uint64_t deadline_ns = now_ns() + 300000;
			int err;

			release_ns = deadline_ns - 40000 + dice(&random, 80000);
			lull_store_release(&turn, 1);
			AWAIT_SOON(lull_load_acquire(&turn) >= 2);
			err = acquire_until(&contended, deadline_ns);
			assert_int_equal(lull_mutex_owner(&contended.robust.mutex) == my_tid(), err == 0);
			if (err == 0)
				release(&contended);
			else
				assert_int_equal(err, -ETIMEDOUT);
			await_flag(&turn, 3);
			assert_int_equal(contended.robust.mutex.word, 0);
		}
		lull_store_release(&turn, 4);
		join_thread(thread);
		lull_mutex_destroy(&contended.robust.mutex);
	}
}

/* ---- who spins ------------------------------------------------------------------------------------------------ */

#define SPINNERS_MOST 3u

static struct lull_mutex spun_for;
static int spinners_stop;
static long vain;

static void *spins_in_vain(void *unused)
{
	(void)unused;
	while (!lull_load_acquire(&spinners_stop)) {
		assert_int_equal(lull_mutex_timedlock(&spun_for, now_ns() + 300000), -ETIMEDOUT);
		lull_add_relaxed(&vain, 1);
	}
	return NULL;
}

static uint32_t spinners(void)
{
	return (lull_load_relaxed(&spun_for.word) & SPINNERS) / SPINNER;
}

/*
 * Watch, as the owner, two threads that spin for the lock beside @others, until @wanted have been seen at a time, or
 * after @rounds waits. Returns the most that have been seen.
 */
static uint32_t watch_spinners(uint32_t others, uint32_t wanted, long rounds)
{
	uint64_t give_up_ns = now_ns() + PATIENCE_NS;
	long end = lull_load_relaxed(&vain) + rounds;
	pthread_t threads[2];
	uint32_t most = 0;

	lull_store_relaxed(&spun_for.word, my_tid() | others * SPINNER);
	spinners_stop = 0;
	for (int i = 0; i < 2; i++)
		threads[i] = start_thread(spins_in_vain, NULL);
	while (most < wanted && lull_load_relaxed(&vain) < end && now_ns() < give_up_ns)
		for (int i = 0; i < 100; i++)
			most = spinners() > most ? spinners() : most;
	lull_store_release(&spinners_stop, 1);
	for (int i = 0; i < 2; i++)
		join_thread(threads[i]);
	assert_int_equal(spinners(), others);
	return most;
}

/* A thread that spins for long is counted; and if as many spin as may, others sleep. */
TEST(spinners_are_few)
{
	uint32_t cpus, most;
	cpu_set_t set;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	cpus = (uint32_t)CPU_COUNT(&set);
	if (cpus < 2)
		SKIP("on one CPU nobody spins");
	most = cpus > SPINNERS_MOST ? SPINNERS_MOST : cpus - 1;
	lull_mutex_lock(&spun_for);
	assert_in_range(watch_spinners(0, 1, 1000000000), 1, most);
	assert_int_equal(watch_spinners(most, most + 1, 2000), most);
	lull_store_relaxed(&spun_for.word, my_tid());
	lull_mutex_unlock(&spun_for);
	lull_mutex_destroy(&spun_for);
}

/* ---- who waits longest ------------------------------------------------------------------------------------------ */

static struct lull_mutex coveted;
static int barger_stops, starved_has_it;
static uint32_t starved_tid;
static long hand_overs;

/* The CPUs that this process may run on, by turns. */
static void stay_on_cpu(int nth)
{
	cpu_set_t set;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	nth %= CPU_COUNT(&set);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set) && nth-- != 0)
			CPU_CLR(cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

static void work_for(uint64_t ns)
{
	uint64_t end_ns = now_ns() + ns;

	while (now_ns() < end_ns)
		;
}

/* Longer than any waiter spins, and nanoseconds in between. */
static void *barges(void *unused)
{
	uint64_t stop_ns = now_ns() + PATIENCE_NS;
	uint32_t tid;

	(void)unused;
	stay_on_cpu(0);
	while (!lull_load_acquire(&barger_stops) && now_ns() < stop_ns) {
		lull_mutex_lock(&coveted);
		work_for(300000);
		lull_mutex_unlock(&coveted);
		tid = lull_load_relaxed(&starved_tid);
		if (tid && lull_mutex_owner(&coveted) == tid)
			hand_overs++;
	}
	return NULL;
}

static void *is_starved(void *unused)
{
	(void)unused;
	stay_on_cpu(1);
	lull_store_release(&starved_tid, my_tid());
	lull_mutex_lock(&coveted);
	lull_store_release(&starved_has_it, 1);
	nap_ms(2); /* so that the barger sees who has it */
	lull_mutex_unlock(&coveted);
	lull_store_release(&barger_stops, 1);
	return NULL;
}

/* A thread that has been woken finds the lock held each time. (By chance it does not, now and then.) */
TEST(starving)
{
	pthread_t barger, starved;

	hand_overs = 0;
	for (int i = 0; i < 30 && hand_overs < 2; i++) {
		barger_stops = starved_has_it = 0;
		starved_tid = 0;
		barger = start_thread(barges, NULL);
		nap_ms(1);
		starved = start_thread(is_starved, NULL);
		join_thread(barger);
		assert_true(lull_load_acquire(&starved_has_it));
		join_thread(starved);
	}
	assert_true(hand_overs >= 2);
	lull_mutex_destroy(&coveted);
}

/* ---- calls that may be made anywhere --------------------------------------------------------------------------- */

static int handler_runs;

/* Make the calls that must get through although the interrupted thread holds a lock inside such a call. */
static void calls_anything(int signal)
{
	struct lull_mutex m;

	(void)signal;
	lull_mutex_init(&m, 0);
	must(lull_mutex_owner(&m) == 0);
	must(lull_mutex_trylock(&m));
	must(lull_mutex_is_locked(&m));
	must(!lull_mutex_trylock(&m));
	lull_mutex_unlock(&m);
	lull_mutex_destroy(&m);
	must(*lull_mutex_oracle_name());
	lull_store_relaxed(&handler_runs, handler_runs + 1);
}

/* The handler comes after each millisecond of this thread's work, wherever it is then. */
TEST(any_context)
{
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	uint64_t since_ns = now_ns();

	handle(SIGPROF, calls_anything);
	handler_runs = 0;
	assert_int_equal(setitimer(ITIMER_PROF, &often, NULL), 0);
	while (lull_load_relaxed(&handler_runs) < 50) {
		struct lull_mutex m;

		check_patience(since_ns, "fifty signals", __FILE__, __LINE__);
		for (int i = 0; i < 100; i++) {
			lull_mutex_init(&m, 0);
			lull_mutex_lock(&m);
			must(lull_mutex_owner(&m) == my_tid());
			lull_mutex_unlock(&m);
			lull_mutex_destroy(&m);
			must(*lull_mutex_oracle_name());
		}
	}
	assert_int_equal(setitimer(ITIMER_PROF, &never, NULL), 0);
}
