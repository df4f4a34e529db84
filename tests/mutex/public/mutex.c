/* SPDX-License-Identifier: MIT */
/* runs: c++, oracles */
/*
 * mutex.c - mutex.h between the threads of one process: what each call does and says, misuse, who gets the lock
 * after whom, and that it is never lost. Also as C++, where it is what std::lock_guard takes.
 */
#include "mutex/support.h"

#ifdef __cplusplus
/* cmocka's word for it is in the way of the standard library. */
#pragma push_macro("fail")
#undef fail
#include <mutex>
#include <type_traits>
#pragma pop_macro("fail")
#endif

/* Parts of struct lull_mutex's `rest`. */
#define HEIR_TID 0x3fffffu

static struct lull_mutex zero; /* never initialised */
static const struct lull_mutex with_macro = LULL_MUTEX_INIT;

/* ---- one thread --------------------------------------------------------------------------------------------- */

static void *trylock_is(void *wanted)
{
	bool got = lull_mutex_trylock(&zero);

	assert_int_equal(got, *(bool *)wanted);
	if (got)
		lull_mutex_unlock(&zero);
	return NULL;
}

static void others_find_it(bool is_free)
{
	join_thread(start_thread(trylock_is, &is_free));
}

static void expect_held_by_me(const struct lull_mutex *m)
{
	assert_int_equal(m->word, my_tid());
	assert_int_equal(lull_mutex_owner(m), my_tid());
	assert_true(lull_mutex_is_locked(m));
}

static void expect_free(const struct lull_mutex *m)
{
	assert_int_equal(m->word, 0);
	assert_int_equal(m->rest, 0);
	assert_int_equal(lull_mutex_owner(m), 0);
	assert_false(lull_mutex_is_locked(m));
}

TEST(states)
{
	assert_int_equal(sizeof(struct lull_mutex), 8);
	assert_int_equal(memcmp(&zero, &with_macro, sizeof(zero)), 0);
	expect_free(&zero);
	for (int i = 0; i < 3; i++) {
		lull_mutex_lock(&zero);
		expect_held_by_me(&zero);
		assert_false(lull_mutex_trylock(&zero)); /* held by this thread */
		others_find_it(false);
		lull_mutex_unlock(&zero);
		expect_free(&zero);
		others_find_it(true);
		assert_true(lull_mutex_trylock(&zero));
		expect_held_by_me(&zero);
		lull_mutex_unlock(&zero);
	}
	lull_mutex_destroy(&zero);
	expect_free(&zero);
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
	lull_mutex_lock(&m);
	lull_mutex_unlock(&m);
	lull_mutex_destroy(&m);
	lull_mutex_init(&m, 0);
	expect_free(&m);
	lull_mutex_destroy(&m);
}

TEST(timedlock_free)
{
	const uint64_t deadlines[] = { 0, 1, now_ns(), now_ns() + MS, UINT64_MAX };
	struct lull_mutex m = LULL_MUTEX_INIT;

	for (size_t i = 0; i < sizeof(deadlines) / sizeof(deadlines[0]); i++) {
		assert_int_equal(lull_mutex_timedlock(&m, deadlines[i]), 0);
		expect_held_by_me(&m);
		lull_mutex_unlock(&m);
		expect_free(&m);
	}
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

/* ---- misuse ------------------------------------------------------------------------------------------------- */

static struct lull_mutex misused;

static void name_me(const char *name)
{
	pthread_setname_np(pthread_self(), name);
}

static void unlocks_free(void)
{
	name_me("wrong");
	want_line("thread \"wrong\" (tid %u) unlocks mutex %p, which no thread holds", my_tid(), (void *)&misused);
	lull_mutex_unlock(&misused);
}

static int holder_has_it;
static uint32_t holder_tid;

static void *holds(void *unused)
{
	(void)unused;
	name_me("holder");
	lull_mutex_lock(&misused);
	holder_tid = my_tid();
	lull_store_release(&holder_has_it, 1);
	while (pause())
		;
	return NULL;
}

static void somebody_holds(void)
{
	start_thread(holds, NULL);
	await_flag(&holder_has_it, 1);
	name_me("stranger");
}

TEST(misuse)
{
	EXPECT_WANTED_LINE {
		name_me("twice");
		lull_mutex_lock(&misused);
		want_line("thread \"twice\" (tid %u) locks mutex %p, which thread \"twice\" (tid %u) holds", my_tid(),
			  (void *)&misused, my_tid());
		lull_mutex_lock(&misused);
	}
	EXPECT_WANTED_LINE {
		name_me("twice");
		lull_mutex_lock(&misused);
		want_line("thread \"twice\" (tid %u) locks mutex %p, which thread \"twice\" (tid %u) holds", my_tid(),
			  (void *)&misused, my_tid());
		lull_mutex_timedlock(&misused, now_ns() + 100 * MS);
	}
	if (!UNDER_TSAN) { /* which says so first */
		expect_wanted_line(unlocks_free);
		EXPECT_WANTED_LINE {
			lull_mutex_lock(&misused);
			lull_mutex_unlock(&misused);
			unlocks_free();
		}
	}
	EXPECT_WANTED_LINE {
		name_me("mine");
		lull_mutex_lock(&misused);
		want_line("thread \"mine\" (tid %u) destroys mutex %p, which thread \"mine\" (tid %u) holds", my_tid(),
			  (void *)&misused, my_tid());
		lull_mutex_destroy(&misused);
	}
	EXPECT_WANTED_LINE {
		want_line("lull_mutex_init: unknown flags 0x2");
		lull_mutex_init(&misused, 2);
	}
}

TEST(misuse_between_threads)
{
	NEEDS_THREADS_IN_CHILD();
	EXPECT_WANTED_LINE {
		somebody_holds();
		want_line("thread \"stranger\" (tid %u) unlocks mutex %p, which thread \"holder\" (tid %u) holds", my_tid(),
			  (void *)&misused, holder_tid);
		lull_mutex_unlock(&misused);
	}
	EXPECT_WANTED_LINE {
		somebody_holds();
		want_line("thread \"stranger\" (tid %u) destroys mutex %p, which thread \"holder\" (tid %u) holds", my_tid(),
			  (void *)&misused, holder_tid);
		lull_mutex_destroy(&misused);
	}
	/* The heir has yet to look, and the lock is free. */
	EXPECT_WANTED_LINE {
		static struct waiter w;

		lull_mutex_lock(&misused);
		waiter_start(&w, &misused, 0);
		make_heir(&w);
		lull_store_relaxed(&misused.word, 0u);
		name_me("hasty");
		want_line("thread \"hasty\" (tid %u) destroys mutex %p, for which thread \"impatient\" (tid %u) waits", my_tid(),
			  (void *)&misused, w.tid);
		pthread_setname_np(w.thread, "impatient");
		lull_mutex_destroy(&misused);
	}
}

/* ---- timeouts ----------------------------------------------------------------------------------------------- */

static void *times_out(void *arg)
{
	struct lull_mutex *m = (struct lull_mutex *)arg;
	uint64_t deadline_ns;

	assert_int_equal(lull_mutex_timedlock(m, 0), -ETIMEDOUT);
	assert_int_equal(lull_mutex_timedlock(m, now_ns() - 1), -ETIMEDOUT);
	for (int i = 0; i < 5; i++) {
		deadline_ns = now_ns() + (uint64_t)i * i * MS;
		errno = 77;
		assert_int_equal(lull_mutex_timedlock(m, deadline_ns), -ETIMEDOUT);
		assert_int_equal(errno, 77);
		assert_true(now_ns() >= deadline_ns);
	}
	assert_true(lull_mutex_owner(m) != my_tid());
	return NULL;
}

TEST(timedlock_held)
{
	struct lull_mutex m = LULL_MUTEX_INIT;
	struct waiter w;

	lull_mutex_lock(&m);
	join_thread(start_thread(times_out, &m));
	waiter_start(&w, &m, UINT64_MAX);
	await_asleep(&m, LULL__MUTEX_WAITERS, &w.tid);
	lull_mutex_unlock(&m);
	await_flag(&w.done, 1);
	assert_int_equal(w.err, 0);
	assert_int_equal(lull_mutex_owner(&m), w.tid);
	waiter_join(&w);
	assert_int_equal(lull_mutex_timedlock(&m, 0), 0);
	lull_mutex_unlock(&m);
	lull_mutex_destroy(&m);
}

static int take_until(void *lock, uint64_t deadline_ns)
{
	return lull_mutex_timedlock((struct lull_mutex *)lock, deadline_ns);
}

static void release(void *lock)
{
	lull_mutex_unlock((struct lull_mutex *)lock);
}

TEST(timeout_or_lock)
{
	struct lull_mutex m = LULL_MUTEX_INIT;
	struct close_call call;

	memset(&call, 0, sizeof(call));
	call.lock = &m;
	call.m = &m;
	call.take = take_until;
	call.release = release;
	expect_timeout_or_lock(&call, 1500);
	lull_mutex_destroy(&m);
}

/* To the heir the lock may be on its way then. */
TEST(heir_times_out)
{
	struct lull_mutex m = LULL_MUTEX_INIT;
	struct waiter w;
	int got = 0;

	for (int i = 0; i < 40; i++) {
		uint64_t deadline_ns = now_ns() + 12 * MS;

		lull_mutex_lock(&m);
		waiter_start(&w, &m, deadline_ns);
		handle(SIGUSR1, does_nothing);
		sleep_until(deadline_ns - 4 * MS);
		pthread_kill(w.thread, SIGUSR1);
		sleep_until(deadline_ns - 60000 + (uint64_t)i * 3000);
		lull_mutex_unlock(&m);
		waiter_join(&w);
		got += w.err == 0;
		assert_true(w.err == 0 || w.err == -ETIMEDOUT);
		/* HEIR, if it is left in the word, goes with the next unlock. */
		lull_mutex_lock(&m);
		lull_mutex_unlock(&m);
		expect_free(&m);
	}
	assert_true(got > 0);
	lull_mutex_destroy(&m);
}

/* An owner has read the heir's name, and is stopped before it has written it down. The heir has to wait for that. */
TEST(heir_is_named_late)
{
	struct lull_mutex m = LULL_MUTEX_INIT;
	struct waiter w;
	uint64_t deadline_ns;

	if (UNDER_TSAN)
		SKIP(TSAN_MISSES_UNLOCK);
	lull_mutex_lock(&m);
	deadline_ns = now_ns() + 1500 * MS;
	waiter_start(&w, &m, deadline_ns);
	make_heir(&w);
	assert_int_equal(lull_and_relaxed(&m.rest, ~HEIR_TID) & HEIR_TID, w.tid);
	sleep_until(deadline_ns + 20 * MS);
	assert_false(lull_load_acquire(&w.done));
	lull_store_release(&m.word, w.tid | LULL__MUTEX_WAITERS);
	await_flag(&w.done, 1);
	assert_int_equal(w.err, 0);
	waiter_join(&w);
	expect_free(&m);
}

/* ---- who sleeps, who is woken ------------------------------------------------------------------------------- */

static uint64_t late_ns;

static void sleeps_past_deadline(int signal)
{
	(void)signal;
	AWAIT(now_ns() >= late_ns);
}

/* An unlock has taken WAITERS back and woken one of two; before that one looks, the lock is held again. */
static void unlock_and_lock(struct lull_mutex *m)
{
	lull_and_relaxed(&m->word, ~LULL__MUTEX_WAITERS);
	syscall(SYS_futex, &m->word, 1 /* FUTEX_WAKE */ | 128 /* private */, 1);
}

/* Then its time is up: it must not be the only one that knew of the other. */
TEST(gives_up_woken)
{
	struct lull_mutex m = LULL_MUTEX_INIT;
	struct waiter first, second;

	handle(SIGUSR2, sleeps_past_deadline);
	for (int i = 0; i < 4; i++) {
		lull_mutex_lock(&m);
		late_ns = now_ns() + 1000 * MS; /* the first is asleep by then */
		waiter_start(&first, &m, late_ns);
		await_asleep(&m, LULL__MUTEX_WAITERS, &first.tid);
		waiter_start(&second, &m, UINT64_MAX); /* does not look at the clock meanwhile */
		await_asleep(&m, LULL__MUTEX_WAITERS, &second.tid);
		unlock_and_lock(&m);
		pthread_kill(first.thread, SIGUSR2);
		waiter_join(&first);
		assert_int_equal(first.err, -ETIMEDOUT);
		/* At once; or, if it was so late that the other one was woken, when that sleeps again. */
		await_asleep(&m, LULL__MUTEX_WAITERS, &second.tid);
		lull_mutex_unlock(&m);
		waiter_join(&second);
		expect_free(&m);
	}
}

/* The lock is never free in between. */
TEST(hand_over)
{
	struct lull_mutex m = LULL_MUTEX_INIT;
	struct waiter waiters[2], *heir;

	for (int i = 0; i < 5; i++) {
		lull_mutex_lock(&m);
		waiter_start(&waiters[0], &m, 0);
		await_asleep(&m, LULL__MUTEX_WAITERS, &waiters[0].tid);
		waiter_start(&waiters[1], &m, 0);
		make_heir(&waiters[1]);
		assert_int_equal(lull_mutex_owner(&m), my_tid());
		/* The other one may have got up first, in a build that looks for deadlocks. */
		heir = &waiters[(m.rest & HEIR_TID) == waiters[1].tid];
		assert_int_equal(m.rest & HEIR_TID, heir->tid);
		lull_mutex_unlock(&m);
		assert_int_equal(lull_mutex_owner(&m), heir->tid);
		assert_false(lull_mutex_trylock(&m));
		await_flag(&heir->done, 1);
		assert_int_equal(lull_mutex_owner(&m), heir->tid);
		waiter_join(heir);
		waiter_join(&waiters[heir == waiters]);
		expect_free(&m);
	}
}

static int in_handler, handler_ends;

static void waits_for_another_thread(int signal)
{
	(void)signal;
	lull_store_release(&in_handler, 1);
	AWAIT(lull_load_acquire(&handler_ends));
}

/*
 * The heir is in a signal handler, which waits for a thread that needs the lock, as those do that stop the world. It
 * must not be given the lock.
 */
TEST(heir_in_handler)
{
	struct lull_mutex m = LULL_MUTEX_INIT;
	struct waiter heir, other;

	handle(SIGUSR2, waits_for_another_thread);
	for (int i = 0; i < 5; i++) {
		in_handler = handler_ends = 0;
		lull_mutex_lock(&m);
		waiter_start(&heir, &m, 0);
		make_heir(&heir);
		assert_int_equal(m.rest & HEIR_TID, heir.tid);
		interrupt_until(heir.thread, SIGUSR2, &in_handler, 1);
		if (i & 1) { /* one that sleeps when the lock is released, or that comes later */
			waiter_start(&other, &m, 0);
			await_asleep(&m, LULL__MUTEX_WAITERS, &other.tid);
			lull_mutex_unlock(&m);
		} else {
			lull_mutex_unlock(&m);
			waiter_start(&other, &m, 0);
		}
		await_flag(&other.done, 1);
		lull_store_release(&handler_ends, 1);
		waiter_join(&other);
		await_flag(&heir.done, 1);
		waiter_join(&heir);
		expect_free(&m);
	}
}

/* ---- who spins ------------------------------------------------------------------------------------------------ */

/* Parts of struct lull_mutex's `rest`: how many spin, and how many may. */
#define SPINNER 0x400000u
#define SPINNERS 0xfc00000u
#define SPINNERS_MOST 4u

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
	return (lull_load_relaxed(&spun_for.rest) & SPINNERS) / SPINNER;
}

/* Watch, as the owner, threads that spin for the lock, until @wanted of them at a time have been seen, or @rounds waits. */
static uint32_t watch_spinners(uint32_t wanted, long rounds)
{
	uint64_t give_up_ns = now_ns() + PATIENCE_NS;
	long end = lull_load_relaxed(&vain) + rounds;
	uint32_t most = 0;

	while (most < wanted && lull_load_relaxed(&vain) < end && now_ns() < give_up_ns)
		for (int i = 0; i < 100; i++)
			most = spinners() > most ? spinners() : most;
	return most;
}

/* A thread that spins for long is counted; and if as many spin as may, others sleep. */
TEST(spinners_are_few)
{
	pthread_t threads[2];
	uint32_t cpus, most;
	cpu_set_t set;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	cpus = (uint32_t)CPU_COUNT(&set);
	if (cpus < 2)
		SKIP("on one CPU nobody spins");
	most = cpus > SPINNERS_MOST ? SPINNERS_MOST : cpus - 1;
	lull_mutex_lock(&spun_for);
	for (int i = 0; i < 2; i++)
		threads[i] = start_thread(spins_in_vain, NULL);
	assert_in_range(watch_spinners(1, 1000000000), 1, most);
	lull_store_release(&spinners_stop, 1);
	for (int i = 0; i < 2; i++)
		join_thread(threads[i]);
	assert_int_equal(spinners(), 0);

	lull_store_relaxed(&spun_for.rest, most * SPINNER);
	spinners_stop = 0;
	for (int i = 0; i < 2; i++)
		threads[i] = start_thread(spins_in_vain, NULL);
	assert_int_equal(watch_spinners(most + 1, 2000), most);
	lull_store_release(&spinners_stop, 1);
	for (int i = 0; i < 2; i++)
		join_thread(threads[i]);
	assert_int_equal(lull_load_relaxed(&spun_for.rest), most * SPINNER);
	lull_store_relaxed(&spun_for.rest, 0u);
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

BEFORE_ALL
{
	make_wanted_line();
}
