/* SPDX-License-Identifier: MIT */
/* runs: oracles */
/*
 * process.c - mutex.h where threads and processes come and go: contention, memory that is freed with the
 * last unlock, threads that end, signals, fork, and locks in memory that processes share.
 */
#include "mutex/support.h"

/* ---- counting ----------------------------------------------------------------------------------------------- */

enum { COUNTERS = 6, EACH = 6000 };

/* The second half says whether the first was left alone; plain memory, for a sanitizer to look at. */
struct counter {
	struct lull_mutex lock;
	long value, check;
};

static void count_once(struct counter *c)
{
	assert_int_equal(c->value, c->check);
	c->value++;
	c->check++;
}

static void lock_by_turns(struct lull_mutex *m, int turn)
{
	if (turn % 3 == 1) {
		AWAIT_SOON(lull_mutex_trylock(m));
	} else if (turn % 3 == 2) {
		while (lull_mutex_timedlock(m, now_ns() + (uint64_t)(turn % 50) * 1000) != 0)
			;
	} else {
		lull_mutex_lock(m);
	}
}

static void *counts(void *arg)
{
	struct counter *c = (struct counter *)arg;

	for (int i = 0; i < EACH; i++) {
		errno = i;
		lock_by_turns(&c->lock, i);
		count_once(c);
		if (i % 512 == 0)
			sched_yield(); /* with the lock: the others find an owner that does not run */
		lull_mutex_unlock(&c->lock);
		assert_int_equal(errno, i);
	}
	return NULL;
}

static void count_in_threads(struct counter *c, void *(*func)(void *))
{
	pthread_t threads[COUNTERS];

	for (int i = 0; i < COUNTERS; i++)
		threads[i] = start_thread(func, c);
	for (int i = 0; i < COUNTERS; i++)
		join_thread(threads[i]);
	assert_int_equal(c->value, c->check);
	assert_int_equal(c->lock.word, 0);
	lull_mutex_destroy(&c->lock);
}

TEST(counters)
{
	struct counter c = { LULL_MUTEX_INIT, 0, 0 };

	count_in_threads(&c, counts);
	assert_int_equal(c.value, COUNTERS * EACH);
}

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
		current[i] = (struct object *)mmap(NULL, sizeof(struct object), PROT_READ | PROT_WRITE,
						   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_true(current[i] != MAP_FAILED);
		current[i]->references = SHARERS + 1;
		lull_store_release(&handed_out, i + 1);
		put(current[i]);
	}
	for (int i = 0; i < SHARERS; i++)
		join_thread(threads[i]);
}

/* ---- threads that end --------------------------------------------------------------------------------------- */

static struct counter shared_count;
static int stop;

static void *counts_until_stop(void *arg)
{
	struct counter *c = (struct counter *)arg;

	while (!lull_load_acquire(&stop)) {
		lull_mutex_lock(&c->lock);
		count_once(c);
		lull_mutex_unlock(&c->lock);
	}
	return NULL;
}

static void *counts_once(void *arg)
{
	struct counter *c = (struct counter *)arg;

	lull_mutex_lock(&c->lock);
	count_once(c);
	lull_mutex_unlock(&c->lock);
	return NULL;
}

/* Each of these threads is looked at by waiters, and gone at once. */
TEST(owners_that_end)
{
	pthread_t lookers[2];

	memset(&shared_count, 0, sizeof(shared_count));
	stop = 0;
	for (int i = 0; i < 2; i++)
		lookers[i] = start_thread(counts_until_stop, &shared_count);
	for (int i = 0; i < 500; i++)
		join_thread(start_thread(counts_once, &shared_count));
	lull_store_release(&stop, 1);
	for (int i = 0; i < 2; i++)
		join_thread(lookers[i]);
	assert_true(shared_count.value >= 500);
	assert_int_equal(shared_count.value, shared_count.check);
	lull_mutex_destroy(&shared_count.lock);
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
	counts_once(&shared_count);
	lull_add_relaxed(&late_runs, 1);
	if (++late_round < LATE_ROUNDS)
		pthread_setspecific(late_key, value);
}

static void *ends_late(void *locks_early)
{
	pthread_setspecific(late_key, &late_key);
	if (locks_early)
		counts_once(&shared_count);
	return NULL;
}

TEST(late_locks)
{
	pthread_t looker;

	memset(&shared_count, 0, sizeof(shared_count));
	stop = 0;
	assert_int_equal(pthread_key_create(&late_key, locks_late), 0);
	looker = start_thread(counts_until_stop, &shared_count);
	for (int i = 0; i < 50; i++)
		join_thread(start_thread(ends_late, i % 2 ? &late_key : NULL));
	lull_store_release(&stop, 1);
	join_thread(looker);
	assert_true(late_runs >= 100);
	assert_true(shared_count.value >= late_runs);
	assert_int_equal(shared_count.value, shared_count.check);
	pthread_key_delete(late_key);
	lull_mutex_destroy(&shared_count.lock);
}

/* ---- signals ------------------------------------------------------------------------------------------------ */

static struct counter in_handlers;

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

	(void)unused;
	raise(SIGUSR1);
	assert_int_equal(in_handlers.value, before + 1);
	counts_once(&in_handlers);
	return NULL;
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
	struct counter c = { LULL_MUTEX_INIT, 0, 0 };
	pthread_t threads[COUNTERS];

	memset(&in_handlers, 0, sizeof(in_handlers));
	handle(SIGUSR1, counts_in_handler);
	stop = 0;
	for (int i = 0; i < COUNTERS; i++)
		threads[i] = start_thread(counts_until_stop, &c);
	for (int i = 0; i < 1500; i++) {
		pthread_kill(threads[i % COUNTERS], SIGUSR1);
		if (i % 16 == 0)
			nap_ms(1);
	}
	lull_store_release(&stop, 1);
	for (int i = 0; i < COUNTERS; i++)
		join_thread(threads[i]);
	assert_int_equal(c.value, c.check);
	assert_int_equal(in_handlers.value, in_handlers.check);
	lull_mutex_destroy(&c.lock);
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

static void lock_forked(void)
{
	lull_mutex_lock(&forked);
}

static void unlock_forked(void)
{
	lull_mutex_unlock(&forked);
}

static bool at_fork; /* not for the forks of other tests */

static void prepare(void)
{
	if (at_fork)
		lock_forked();
}

static void release_waiter(void)
{
	if (at_fork)
		unlock_forked();
}

static void *locks_until_stop(void *unused)
{
	(void)unused;
	while (!lull_load_acquire(&stop)) {
		lock_forked();
		unlock_forked();
	}
	return NULL;
}

/* With the mutex held by the thread that forks, as malloc's locks are, and without: then others may spin for it. */
TEST(fork_under_contention)
{
	pthread_t threads[3];
	int status = 0, fine = 0;
	pid_t child;

	if (UNDER_TSAN)
		SKIP(TSAN_OVER_FORK);
	stop = 0;
	assert_int_equal(pthread_atfork(prepare, release_waiter, release_waiter), 0);
	for (int i = 0; i < 3; i++)
		threads[i] = start_thread(locks_until_stop, NULL);
	for (int i = 0; i < 150; i++) {
		at_fork = i % 2;
		child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			at_fork = false;
			if (!lull_mutex_is_locked(&forked))
				expect_usable();
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		fine += status == 0;
	}
	at_fork = false;
	lull_store_release(&stop, 1);
	for (int i = 0; i < 3; i++)
		join_thread(threads[i]);
	assert_int_equal(fine, 150);
	lull_mutex_destroy(&forked);
}

/* ---- between processes -------------------------------------------------------------------------------------- */

struct page {
	struct counter c;
	uint32_t tid; /* of a child that is about to wait */
	int result;
};

static struct page *page;

static void make_page(void)
{
	page = (struct page *)mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(page != MAP_FAILED);
	lull_mutex_init(&page->c.lock, LULL_MUTEX_SHARED);
}

static void free_page(void)
{
	lull_mutex_destroy(&page->c.lock);
	munmap(page, sizeof(*page));
}

static void count_in_page(void)
{
	for (int i = 0; i < EACH; i++) {
		lock_by_turns(&page->c.lock, i);
		must(page->c.value == page->c.check);
		page->c.value++;
		if (i % 512 == 0)
			sched_yield();
		page->c.check++;
		lull_mutex_unlock(&page->c.lock);
	}
}

static pid_t start_process(void (*func)(void))
{
	pid_t child;

	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		func();
		_exit(0);
	}
	return child;
}

static int join_process(pid_t child)
{
	int status = 0;

	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

TEST(shared)
{
	pid_t children[3];

	make_page();
	for (int i = 0; i < 3; i++)
		children[i] = start_process(count_in_page);
	count_in_page();
	for (int i = 0; i < 3; i++)
		assert_int_equal(join_process(children[i]), 0);
	assert_int_equal(page->c.value, 4 * EACH);
	free_page();
}

static void waits_in_page(void)
{
	lull_store_release(&page->tid, my_tid());
	handle(SIGUSR1, does_nothing);
	page->result = lull_mutex_timedlock(&page->c.lock, UINT64_MAX);
	lull_mutex_unlock(&page->c.lock);
}

TEST(shared_not_inherited)
{
	pid_t child;

	make_page();
	lull_mutex_lock(&page->c.lock);
	/* It does not name a process's thread that goes by another name in the parent: a shared one is not inherited. */
	EXPECT_WANTED_LINE {
		want_line("thread \"%s\" (tid %u) unlocks mutex %p, which thread \"?\" (tid %u) holds", my_name(),
			  my_tid(), (void *)&page->c.lock, (unsigned)getppid());
		lull_mutex_unlock(&page->c.lock);
	}
	child = start_process(waits_in_page); /* the parent's is not its own, which would be a second lock */
	await_asleep(&page->c.lock, LULL__MUTEX_WAITERS, &page->tid);
	lull_mutex_unlock(&page->c.lock);
	assert_int_equal(join_process(child), 0);
	free_page();
}

/* It must not get the lock, neither as one that was woken, nor as the heir. */
TEST(waiter_killed)
{
	pid_t child, other;

	make_page();
	for (int i = 0; i < 6; i++) {
		lull_mutex_lock(&page->c.lock);
		page->tid = 0;
		child = start_process(waits_in_page);
		await_asleep(&page->c.lock, LULL__MUTEX_WAITERS, &page->tid);
		/* It gets impatient. */
		for (int j = 0; j < i; j++) {
			nap_ms(3);
			kill(child, SIGUSR1);
			await_asleep(&page->c.lock, LULL__MUTEX_WAITERS, &page->tid);
		}
		kill(child, SIGKILL);
		assert_true(WIFSIGNALED(join_process(child)));
		lull_mutex_unlock(&page->c.lock);
		assert_int_equal(lull_mutex_owner(&page->c.lock), 0);
		other = start_process(count_in_page);
		count_in_page();
		assert_int_equal(join_process(other), 0);
	}
	assert_int_equal(page->c.value, 12 * EACH);
	free_page();
}

static void spins_in_page(void)
{
	for (;;) {
		lull_mutex_timedlock(&page->c.lock, now_ns() + 20000);
		lull_store_release(&page->tid, my_tid());
	}
}

/* However many are killed as they spin, those to come may. */
TEST(spinner_killed)
{
	make_page();
	lull_mutex_lock(&page->c.lock);
	for (int i = 0; i < 30; i++) {
		pid_t child;

		page->tid = 0;
		child = start_process(spins_in_page);
		AWAIT_SOON(lull_load_acquire(&page->tid));
		kill(child, SIGKILL);
		join_process(child);
		assert_int_equal(page->c.lock.rest, LULL_MUTEX_SHARED);
	}
	lull_mutex_unlock(&page->c.lock);
	free_page();
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
	make_wanted_line();
}
