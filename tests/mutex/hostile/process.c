/* SPDX-License-Identifier: MIT */
/* runs: oracles */
/*
 * process.c - mutex.h where threads and processes come and go: memory that is freed with the last unlock, threads that
 * end, signals, fork.
 */
#include "mutex/support.h"

/* ---- freed with the last unlock ----------------------------------------------------------------------------- */

/* In a page of its own, so that the last touch after it is gone is a fault. */
struct object {
	struct lull_mutex lock;
	int references;
};

enum { SHARERS = 3, OBJECTS = 1500 };

static struct object *current[OBJECTS];
static int handed_out;

static void put(struct object *o)
{
	int left;

	lull_mutex_lock(&o->lock);
	left = --o->references;
	lull_mutex_unlock(&o->lock);
	if (!left)
		munmap(o, sizeof(*o));
}

static void *puts_each(void *unused)
{
	(void)unused;
	for (int i = 0; i < OBJECTS; i++) {
		AWAIT_SOON(lull_load_acquire(&handed_out) > i);
		put(current[i]);
	}
	return NULL;
}

TEST(freed_after_unlock)
{
	pthread_t threads[SHARERS];

	for (int i = 0; i < SHARERS; i++)
		threads[i] = start_thread(puts_each, NULL);
	for (int i = 0; i < OBJECTS; i++) {
		current[i] = (struct object *)shared_memory(sizeof(struct object));
		current[i]->references = SHARERS + 1;
		lull_store_release(&handed_out, i + 1);
		put(current[i]);
	}
	for (int i = 0; i < SHARERS; i++)
		join_thread(threads[i]);
}

/* ---- threads that end --------------------------------------------------------------------------------------- */

/* The second half says whether the first was left alone; plain memory, for a sanitizer to look at. */
static struct counter {
	struct lull_mutex lock;
	long value, check;
} counter, in_handlers;

static int stop;

static void count_once(struct counter *c)
{
	assert_int_equal(c->value, c->check);
	c->value++;
	c->check++;
}

static void *counts_once(void *unused)
{
	LULL_MUTEX_GUARD(&counter.lock);
	count_once(&counter);
	return unused;
}

static void *counts_until_stop(void *unused)
{
	while (!lull_load_acquire(&stop))
		counts_once(NULL);
	return unused;
}

enum { COUNTERS = 6 };

static pthread_t counters[COUNTERS];

static void start_counters(int number)
{
	memset(&counter, 0, sizeof(counter));
	stop = 0;
	for (int i = 0; i < number; i++)
		counters[i] = start_thread(counts_until_stop, NULL);
}

static void stop_counters(int number)
{
	lull_store_release(&stop, 1);
	for (int i = 0; i < number; i++)
		join_thread(counters[i]);
	assert_int_equal(counter.value, counter.check);
	lull_mutex_destroy(&counter.lock);
}

/* Each of these threads is looked at by waiters, and gone at once. */
TEST(owners_that_end)
{
	start_counters(2);
	for (int i = 0; i < 500; i++)
		join_thread(start_thread(counts_once, NULL));
	stop_counters(2);
	assert_true(counter.value >= 500);
}

/*
 * Asks for another round as long as glibc gives one, so the last ones come after lull's own destructor. (In the
 * last round of all ThreadSanitizer is gone from the thread.)
 */
#ifdef LULL__TSAN
#define LATE_ROUNDS 2
#else
#define LATE_ROUNDS 100
#endif
static pthread_key_t late_key;
static __thread int late_round;
static int late_runs;

static void locks_late(void *value)
{
	counts_once(NULL);
	lull_add_relaxed(&late_runs, 1);
	if (++late_round < LATE_ROUNDS)
		pthread_setspecific(late_key, value);
}

static void *ends_late(void *locks_early)
{
	pthread_setspecific(late_key, &late_key);
	if (locks_early)
		counts_once(NULL);
	return NULL;
}

TEST(late_locks)
{
	assert_int_equal(pthread_key_create(&late_key, locks_late), 0);
	start_counters(1);
	for (int i = 0; i < 50; i++)
		join_thread(start_thread(ends_late, i % 2 ? &late_key : NULL));
	stop_counters(1);
	assert_true(late_runs >= 100);
	assert_true(counter.value >= late_runs);
	pthread_key_delete(late_key);
}

/* ---- signals ------------------------------------------------------------------------------------------------ */

static void counts_in_handler(int signal)
{
	int saved = errno;

	(void)signal;
	if (lull_mutex_trylock(&in_handlers.lock)) {
		in_handlers.value++;
		in_handlers.check++;
		lull_mutex_unlock(&in_handlers.lock);
	}
	errno = saved;
}

static void *locks_in_handler_first(void *unused)
{
	long before = in_handlers.value;

	raise(SIGUSR1);
	assert_int_equal(in_handlers.value, before + 1);
	lull_mutex_lock(&in_handlers.lock);
	count_once(&in_handlers);
	lull_mutex_unlock(&in_handlers.lock);
	return unused;
}

TEST(first_lock_in_handler)
{
	memset(&in_handlers, 0, sizeof(in_handlers));
	handle(SIGUSR1, counts_in_handler);
	for (int i = 0; i < 20; i++)
		join_thread(start_thread(locks_in_handler_first, NULL));
	assert_int_equal(in_handlers.value, 40);
	lull_mutex_destroy(&in_handlers.lock);
}

/* Waits are interrupted in all their parts, by handlers that lock something else. */
TEST(interrupted)
{
	memset(&in_handlers, 0, sizeof(in_handlers));
	handle(SIGUSR1, counts_in_handler);
	start_counters(COUNTERS);
	for (int i = 0; i < 1500; i++) {
		pthread_kill(counters[i % COUNTERS], SIGUSR1);
		if (i % 16 == 0)
			nap_ms(1);
	}
	stop_counters(COUNTERS);
	assert_int_equal(in_handlers.value, in_handlers.check);
	lull_mutex_destroy(&in_handlers.lock);
}

/* ---- fork --------------------------------------------------------------------------------------------------- */

static struct lull_mutex forked;

static void expect_usable(void)
{
	for (int i = 0; i < 3; i++) {
		must(!lull_mutex_is_locked(&forked));
		lull_mutex_lock(&forked);
		must(lull_mutex_owner(&forked) == my_tid());
		must(!lull_mutex_trylock(&forked));
		lull_mutex_unlock(&forked);
		must(lull_mutex_timedlock(&forked, 0) == 0);
		lull_mutex_unlock(&forked);
	}
	lull_mutex_destroy(&forked);
}

static void unlocks_and_uses(void)
{
	must(lull_mutex_is_locked(&forked));
	must(!lull_mutex_trylock(&forked));
	lull_mutex_unlock(&forked);
	expect_usable();
}

/* Each generation holds it over its own fork, too; the last one still owns what the first has locked. */
static void unlocks_in_generation(int generation)
{
	static struct lull_mutex own;
	int status = 0;
	pid_t child;

	if (generation == 0) {
		unlocks_and_uses();
		return;
	}
	lull_mutex_init(&own, 0);
	lull_mutex_lock(&own);
	child = fork();
	if (child == 0) {
		lull_mutex_unlock(&own);
		unlocks_in_generation(generation - 1);
		_exit(0);
	}
	lull_mutex_unlock(&own);
	must(waitpid(child, &status, 0) == child && status == 0);
	unlocks_and_uses();
}

static void nested_forks(void)
{
	unlocks_in_generation(5);
}

static void *forks_with_it(void *unused)
{
	(void)unused;
	lull_mutex_lock(&forked);
	expect_fine(unlocks_and_uses);
	expect_fine(nested_forks);
	lull_mutex_unlock(&forked);
	return NULL;
}

TEST(held_over_fork)
{
	lull_mutex_lock(&forked);
	expect_fine(unlocks_and_uses);
	expect_fine(nested_forks);
	assert_int_equal(lull_mutex_owner(&forked), my_tid());
	lull_mutex_unlock(&forked);
	expect_fine(expect_usable);
	if (!UNDER_TSAN)
		join_thread(start_thread(forks_with_it, NULL));
	lull_mutex_destroy(&forked);
}

static void *holds_until_stop(void *arg)
{
	lull_mutex_lock(&forked);
	lull_store_release((int *)arg, 1);
	await_flag(&stop, 1);
	lull_mutex_unlock(&forked);
	return NULL;
}

TEST(not_mine_over_fork)
{
	pthread_t holder;
	int held = 0;

	lull_mutex_lock(&forked);
	EXPECT_WANTED_LINE {
		want_line("thread \"%s\" (tid %u) locks mutex %p, which thread \"?\" (tid %u) holds", my_name(),
			  my_tid(), (void *)&forked, lull_mutex_owner(&forked));
		lull_mutex_lock(&forked);
	}
	lull_mutex_unlock(&forked);
	if (UNDER_TSAN)
		SKIP(TSAN_OVER_FORK);
	stop = 0;
	holder = start_thread(holds_until_stop, &held);
	await_flag(&held, 1);
	EXPECT_WANTED_LINE {
		want_line("thread \"%s\" (tid %u) unlocks mutex %p, which thread \"?\" (tid %u) holds", my_name(),
			  my_tid(), (void *)&forked, lull_mutex_owner(&forked));
		lull_mutex_unlock(&forked);
	}
	/* Mutexes that other threads held at the fork stay locked. */
	EXPECT_FINE {
		must(!lull_mutex_trylock(&forked));
		must(lull_mutex_timedlock(&forked, now_ns() + 2 * MS) == -ETIMEDOUT);
		lull_mutex_init(&forked, 0);
		expect_usable();
	}
	lull_store_release(&stop, 1);
	join_thread(holder);
	lull_mutex_destroy(&forked);
}

static long children_counted;

static void *counts_in_child(void *unused)
{
	(void)unused;
	lull_mutex_lock(&forked);
	children_counted++;
	lull_mutex_unlock(&forked);
	return NULL;
}

TEST(second_thread_in_child)
{
	NEEDS_THREADS_IN_CHILD();
	lull_mutex_lock(&forked);
	/* The word still says the parent's thread id, and the child's second thread is not that one. */
	EXPECT_FINE {
		pthread_t second = start_thread(counts_in_child, NULL);

		nap_ms(20);
		must(children_counted == 0);
		children_counted++;
		lull_mutex_unlock(&forked);
		join_thread(second);
		must(children_counted == 2);
		expect_usable();
	}
	lull_mutex_unlock(&forked);
	lull_mutex_destroy(&forked);
}

/* The parent's heir does not exist in the child. */
TEST(heir_over_fork)
{
	struct waiter w;

	if (UNDER_TSAN)
		SKIP(TSAN_OVER_FORK);
	lull_mutex_lock(&forked);
	waiter_start(&w, &forked, 0);
	make_heir(&w);
	expect_fine(unlocks_and_uses);
	expect_fine(nested_forks);
	if (THREADS_IN_CHILD)
		/* It hands it to its own threads. */
		EXPECT_FINE {
			struct waiter mine;

			must(lull_mutex_is_locked(&forked));
			lull_mutex_unlock(&forked);
			expect_usable();
			lull_mutex_lock(&forked);
			waiter_start(&mine, &forked, 0);
			make_heir(&mine);
			lull_mutex_unlock(&forked);
			must(lull_mutex_owner(&forked) == mine.tid);
			waiter_join(&mine);
			expect_usable();
		}
	lull_mutex_unlock(&forked);
	assert_int_equal(lull_mutex_owner(&forked), w.tid);
	waiter_join(&w);
	lull_mutex_destroy(&forked);
}

static bool at_fork; /* not for the forks of other tests */

static void before_fork(void)
{
	if (at_fork)
		lull_mutex_lock(&forked);
}

static void after_fork(void)
{
	if (at_fork)
		lull_mutex_unlock(&forked);
}

static void *locks_until_stop(void *unused)
{
	while (!lull_load_acquire(&stop)) {
		lull_mutex_lock(&forked);
		lull_mutex_unlock(&forked);
	}
	return unused;
}

static void uses_if_free(void)
{
	at_fork = false;
	if (!lull_mutex_is_locked(&forked))
		expect_usable();
}

/* With the mutex held by the thread that forks, as malloc's locks are, and without: then others may spin for it. */
TEST(fork_under_contention)
{
	pthread_t threads[3];
	int fine = 0;

	if (UNDER_TSAN)
		SKIP(TSAN_OVER_FORK);
	stop = 0;
	assert_int_equal(pthread_atfork(before_fork, after_fork, after_fork), 0);
	for (int i = 0; i < 3; i++)
		threads[i] = start_thread(locks_until_stop, NULL);
	for (int i = 0; i < 150; i++) {
		at_fork = i % 2;
		fine += join_process(start_process(uses_if_free)) == 0;
	}
	at_fork = false;
	lull_store_release(&stop, 1);
	for (int i = 0; i < 3; i++)
		join_thread(threads[i]);
	assert_int_equal(fine, 150);
	lull_mutex_destroy(&forked);
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
