/* SPDX-License-Identifier: MIT */
/* runs: c++, oracles */
/*
 * cond.c - cond.h: no wake-up is lost, a broadcast moves sleepers instead of waking them, and misuse.
 */
#include "mutex/support.h"

static struct lull_mutex lock;
static struct lull_cond cond;
static const struct lull_cond with_macro = LULL_COND_INIT;

/* The count in lull_cond's `waiters`. */
#define COUNT  0x3fffff00u
#define WAITER 0x00000100u

static uint32_t how_many_wait(const struct lull_cond *c)
{
	return (lull_load_acquire(&c->waiters) & COUNT) / WAITER;
}

/* ---- sleepers that wait for a turn ---------------------------------------------------------------------------- */

enum { SLEEPERS = 5 };

struct sleeper {
	uint32_t tid;
	int may_go; /* the condition, under the lock */
	int back;
	pthread_t thread;
};

static struct sleeper sleepers[SLEEPERS];
static int all_back;

static void *sleeps_for_turn(void *arg)
{
	struct sleeper *s = (struct sleeper *)arg;

	lull_store_release(&s->tid, my_tid());
	lull_mutex_lock(&lock);
	errno = 77;
	while (!s->may_go)
		lull_cond_wait(&cond, &lock);
	assert_int_equal(errno, 77);
	assert_int_equal(lull_mutex_owner(&lock), my_tid());
	lull_store_release(&s->back, 1);
	lull_add_release(&all_back, 1);
	lull_mutex_unlock(&lock);
	return NULL;
}

static void await_all_asleep(void)
{
	uint64_t give_up_ns = now_ns() + PATIENCE_NS;

	for (int i = 0; i < SLEEPERS; i++) {
		while (how_many_wait(&cond) != SLEEPERS || !sleeps(&sleepers[i].tid)) {
			assert_true(now_ns() < give_up_ns);
			nap_ms(1);
		}
	}
}

static void start_sleepers(void)
{
	memset(sleepers, 0, sizeof(sleepers));
	all_back = 0;
	for (int i = 0; i < SLEEPERS; i++)
		sleepers[i].thread = start_thread(sleeps_for_turn, &sleepers[i]);
	await_all_asleep();
}

static void all_may_go(void)
{
	for (int i = 0; i < SLEEPERS; i++)
		sleepers[i].may_go = 1;
}

static void join_sleepers(void)
{
	for (int i = 0; i < SLEEPERS; i++)
		join_thread(sleepers[i].thread);
	assert_int_equal(all_back, SLEEPERS);
	assert_int_equal(lock.word, 0);
	assert_int_equal(how_many_wait(&cond), 0);
	lull_cond_destroy(&cond);
	lull_mutex_destroy(&lock);
}

/* How often it has gone to sleep so far; 0 where that is not to be had. */
static unsigned long sleeps_of(uint32_t tid)
{
	char path[64], line[256];
	unsigned long number = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		sscanf(line, "voluntary_ctxt_switches: %lu", &number);
	fclose(file);
	return number;
}

/* By the owner: the mutex has sleepers now, and not one of them has got up. */
TEST(broadcast_moves)
{
	unsigned long before[SLEEPERS];

	start_sleepers();
	lull_mutex_lock(&lock);
	for (int i = 0; i < SLEEPERS; i++)
		before[i] = sleeps_of(sleepers[i].tid);
	assert_int_equal(lock.word, my_tid());
	all_may_go();
	lull_cond_broadcast(&cond);
	assert_int_equal(lock.word, my_tid() | LULL__MUTEX_WAITERS);
	nap_ms(20);
	for (int i = 0; i < SLEEPERS; i++) {
		assert_true(sleeps(&sleepers[i].tid));
		assert_false(lull_load_acquire(&sleepers[i].back));
#ifndef LULL_TEST_EMULATED
		assert_int_equal(sleeps_of(sleepers[i].tid), before[i]);
#else
		(void)before; /* what /proc says there is of the emulator */
#endif
	}
	lull_mutex_unlock(&lock);
	join_sleepers();
}

/* By a thread that does not have the lock, while another has it, or none. */
TEST(broadcast_from_outside)
{
	struct waiter holder;

	start_sleepers();
	lull_mutex_lock(&lock);
	all_may_go();
	lull_mutex_unlock(&lock);
	lull_cond_broadcast(&cond);
	join_sleepers();

	start_sleepers();
	lull_mutex_lock(&lock);
	all_may_go();
	lull_mutex_unlock(&lock);
	waiter_start(&holder, &lock, 0);
	await_flag(&holder.done, 1);
	lull_cond_broadcast(&cond);
	nap_ms(5);
	for (int i = 0; i < SLEEPERS; i++)
		assert_false(lull_load_acquire(&sleepers[i].back));
	waiter_join(&holder);
	join_sleepers();
}

/* One signal each, with the lock and without. */
TEST(signals)
{
	start_sleepers();
	for (int i = 0; i < SLEEPERS; i++) {
		lull_mutex_lock(&lock);
		all_may_go();
		if (i % 2)
			lull_cond_signal(&cond);
		lull_mutex_unlock(&lock);
		if (i % 2 == 0)
			lull_cond_signal(&cond);
		AWAIT_SOON(lull_load_acquire(&all_back) != i);
	}
	join_sleepers();
}

/* It wakes one and not all: the others have not got up since. */
TEST(signal_wakes_one)
{
	unsigned long before[SLEEPERS];

	start_sleepers();
	lull_mutex_lock(&lock);
	all_may_go();
	for (int i = 0; i < SLEEPERS; i++)
		before[i] = sleeps_of(sleepers[i].tid);
	lull_mutex_unlock(&lock);
	lull_cond_signal(&cond);
	await_flag(&all_back, 1);
	nap_ms(5);
	assert_int_equal(lull_load_acquire(&all_back), 1);
	assert_int_equal(how_many_wait(&cond), SLEEPERS - 1);
#ifndef LULL_TEST_EMULATED
	for (int i = 0; i < SLEEPERS; i++)
		if (!lull_load_acquire(&sleepers[i].back))
			assert_int_equal(sleeps_of(sleepers[i].tid), before[i]);
#else
	(void)before;
#endif
	lull_cond_broadcast(&cond);
	join_sleepers();
}

FIRST_TEST(nobody_waits)
{
	assert_int_equal(memcmp(&cond, &with_macro, sizeof(cond)), 0);
	lull_cond_signal(&cond);
	lull_cond_broadcast(&cond);
	assert_int_equal(cond.seq, 0);
	assert_int_equal(cond.waiters, 0);
	lull_cond_destroy(&cond);
	memset(&cond, 0xa5, sizeof(cond));
	lull_cond_init(&cond, 0);
	assert_int_equal(memcmp(&cond, &with_macro, sizeof(cond)), 0);
}

/* ---- timeouts ----------------------------------------------------------------------------------------------- */

TEST(timeouts)
{
	lull_mutex_lock(&lock);
	assert_int_equal(lull_cond_timedwait(&cond, &lock, 0), -ETIMEDOUT);
	for (int i = 0; i < 4; i++) {
		uint64_t deadline_ns = now_ns() + (uint64_t)i * i * MS;

		errno = 77;
		assert_int_equal(lull_cond_timedwait(&cond, &lock, deadline_ns), -ETIMEDOUT);
		assert_int_equal(errno, 77);
		assert_true(now_ns() >= deadline_ns);
		assert_int_equal(lock.word, my_tid());
		assert_int_equal(how_many_wait(&cond), 0);
	}
	lull_mutex_unlock(&lock);
}

static void *signals_soon(void *flag)
{
	lull_mutex_lock(&lock);
	*(int *)flag = 1;
	lull_cond_signal(&cond);
	lull_mutex_unlock(&lock);
	return NULL;
}

TEST(no_deadline)
{
	pthread_t thread;
	int flag = 0;

	lull_mutex_lock(&lock);
	thread = start_thread(signals_soon, &flag);
	while (!flag)
		assert_int_equal(lull_cond_timedwait(&cond, &lock, UINT64_MAX), 0);
	lull_mutex_unlock(&lock);
	join_thread(thread);
}

/* ---- nothing is lost ---------------------------------------------------------------------------------------- */

enum { PAIRS = 4, ROOM = 3, TOTAL = 12000 };

static struct lull_cond not_empty, not_full;
static int queued, put_in, taken_out;

static uint32_t next_random(uint32_t *random)
{
	*random = *random * 1664525u + 1013904223u;
	return *random >> 8;
}

static void wait_or_timeout(struct lull_cond *c, uint32_t random)
{
	if (random % 2)
		lull_cond_wait(c, &lock);
	else
		lull_cond_timedwait(c, &lock, now_ns() + random % 16000);
}

/* With the lock or without, one or all. The end is for all. */
static void tell(struct lull_cond *c, uint32_t random, bool all)
{
	bool outside = random & 1;

	if (outside)
		lull_mutex_unlock(&lock);
	if (all || (random & 2))
		lull_cond_broadcast(c);
	else
		lull_cond_signal(c);
	if (!outside)
		lull_mutex_unlock(&lock);
}

static void *produces(void *seed)
{
	uint32_t random = (uint32_t)(uintptr_t)seed;

	for (;;) {
		lull_mutex_lock(&lock);
		while (queued == ROOM && put_in < TOTAL)
			wait_or_timeout(&not_full, 1);
		if (put_in == TOTAL) {
			tell(&not_full, next_random(&random), true);
			return NULL;
		}
		put_in++;
		queued++;
		tell(&not_empty, next_random(&random), false);
	}
}

static void *consumes(void *seed)
{
	uint32_t random = (uint32_t)(uintptr_t)seed;

	for (;;) {
		lull_mutex_lock(&lock);
		while (queued == 0 && taken_out < TOTAL)
			wait_or_timeout(&not_empty, next_random(&random));
		if (taken_out == TOTAL) {
			tell(&not_empty, next_random(&random), true);
			return NULL;
		}
		taken_out++;
		queued--;
		tell(&not_full, next_random(&random), taken_out == TOTAL);
	}
}

TEST(queue)
{
	pthread_t threads[2 * PAIRS];

	for (int i = 0; i < 2 * PAIRS; i++)
		threads[i] = start_thread(i % 2 ? produces : consumes, (void *)(uintptr_t)(i + 1));
	for (int i = 0; i < 2 * PAIRS; i++)
		join_thread(threads[i]);
	assert_int_equal(put_in, TOTAL);
	assert_int_equal(taken_out, TOTAL);
	assert_int_equal(queued, 0);
	lull_cond_destroy(&not_empty);
	lull_cond_destroy(&not_full);
	lull_mutex_destroy(&lock);
}

static int token, finished;

static void *waits_until(void *deadline_ns)
{
	lull_mutex_lock(&lock);
	while (lull_cond_timedwait(&cond, &lock, *(uint64_t *)deadline_ns) == 0) {
		if (token) {
			token = 0;
			break;
		}
	}
	lull_mutex_unlock(&lock);
	return NULL;
}

static void *waits_for_token(void *unused)
{
	(void)unused;
	lull_mutex_lock(&lock);
	while (!token && !finished)
		lull_cond_wait(&cond, &lock);
	token = 0;
	lull_mutex_unlock(&lock);
	return NULL;
}

static void await_waiters(uint32_t number, uint64_t give_up_ns)
{
	while (how_many_wait(&cond) < number && now_ns() < give_up_ns)
		sched_yield();
}

static bool token_is_there(void)
{
	LULL_MUTEX_GUARD(&lock);
	return token;
}

/* One signal, about when the first waiter's time is up: if it goes by that, it has not used it up. */
TEST(timeout_or_signal)
{
	uint64_t deadline_ns, give_up_ns;
	pthread_t first, second;

	for (int i = 0; i < 200; i++) {
		token = finished = 0;
		deadline_ns = now_ns() + MS;
		first = start_thread(waits_until, &deadline_ns);
		await_waiters(1, deadline_ns);
		second = start_thread(waits_for_token, NULL);
		await_waiters(2, deadline_ns);
		sleep_until(deadline_ns - 60000 + (uint64_t)(i % 100) * 1000);
		lull_mutex_lock(&lock);
		token = 1;
		lull_mutex_unlock(&lock);
		lull_cond_signal(&cond);
		join_thread(first);
		give_up_ns = now_ns() + PATIENCE_NS;
		while (token_is_there()) {
			assert_true(now_ns() < give_up_ns);
			nap_ms(1);
		}
		lull_mutex_lock(&lock);
		finished = 1;
		lull_cond_broadcast(&cond);
		lull_mutex_unlock(&lock);
		join_thread(second);
	}
	lull_cond_destroy(&cond);
}

/* All who wait at a time use the same mutex; at another time another, and the first one may be gone. */
static void *waits_once(void *arg)
{
	struct lull_mutex *m = (struct lull_mutex *)arg;

	lull_mutex_lock(m);
	lull_cond_wait(&cond, m);
	lull_mutex_unlock(m);
	return NULL;
}

TEST(mutex_after_mutex)
{
	for (int i = 0; i < 50; i++) {
		struct lull_mutex *m = (struct lull_mutex *)mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE,
								 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		pthread_t threads[2];

		assert_true(m != MAP_FAILED);
		for (int j = 0; j < 2; j++)
			threads[j] = start_thread(waits_once, m);
		await_waiters(2, now_ns() + PATIENCE_NS);
		lull_mutex_lock(m); /* the second has unlocked it by now */
		lull_cond_broadcast(&cond);
		lull_mutex_unlock(m);
		for (int j = 0; j < 2; j++)
			join_thread(threads[j]);
		lull_cond_broadcast(&cond);
		lull_mutex_destroy(m);
		munmap(m, sizeof(*m));
	}
	lull_cond_destroy(&cond);
}

/* ---- between processes -------------------------------------------------------------------------------------- */

struct page {
	struct lull_mutex lock;
	struct lull_cond cond;
	int turn;
};

static struct page *page;

static void plays(int me, int players, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		lull_mutex_lock(&page->lock);
		while (page->turn % players != me)
			lull_cond_wait(&page->cond, &page->lock);
		page->turn++;
		lull_cond_broadcast(&page->cond);
		lull_mutex_unlock(&page->lock);
	}
}

TEST(shared)
{
	enum { PLAYERS = 4, ROUNDS = 200 };
	pid_t children[PLAYERS];
	int status = 0;

	page = (struct page *)mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(page != MAP_FAILED);
	lull_mutex_init(&page->lock, LULL_MUTEX_SHARED);
	lull_cond_init(&page->cond, LULL_MUTEX_SHARED);
	for (int i = 1; i < PLAYERS; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] == 0) {
			plays(i, PLAYERS, ROUNDS);
			_exit(0);
		}
	}
	plays(0, PLAYERS, ROUNDS);
	for (int i = 1; i < PLAYERS; i++) {
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(page->turn, PLAYERS * ROUNDS);
	lull_cond_destroy(&page->cond);
	lull_mutex_destroy(&page->lock);
	munmap(page, sizeof(*page));
}

/* One page at two addresses, as in two processes: the mutex is where the condition variable says, from there. */
static void *takes_turns(void *arg)
{
	struct page *mine = (struct page *)arg;

	for (int i = 0; i < 100; i++) {
		lull_mutex_lock(&mine->lock);
		while (lull_load_relaxed(&mine->turn) % 2 == 0)
			lull_cond_wait(&mine->cond, &mine->lock);
		lull_store_relaxed(&mine->turn, lull_load_relaxed(&mine->turn) + 1);
		lull_cond_signal(&mine->cond);
		lull_mutex_unlock(&mine->lock);
	}
	return NULL;
}

TEST(shared_at_two_addresses)
{
	int fd = (int)syscall(SYS_memfd_create, "page", 0);
	struct page *pages[2];
	pthread_t thread;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)sizeof(struct page)), 0);
	for (int i = 0; i < 2; i++) {
		pages[i] = (struct page *)mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		assert_true(pages[i] != MAP_FAILED);
	}
	close(fd);
	lull_mutex_init(&pages[0]->lock, LULL_MUTEX_SHARED);
	lull_cond_init(&pages[0]->cond, LULL_MUTEX_SHARED);
	thread = start_thread(takes_turns, pages[1]);
	for (int i = 0; i < 100; i++) {
		lull_mutex_lock(&pages[0]->lock);
		while (lull_load_relaxed(&pages[0]->turn) % 2)
			lull_cond_wait(&pages[0]->cond, &pages[0]->lock);
		lull_store_relaxed(&pages[0]->turn, lull_load_relaxed(&pages[0]->turn) + 1);
		if (i % 2)
			lull_mutex_unlock(&pages[0]->lock);
		lull_cond_broadcast(&pages[0]->cond);
		if (i % 2 == 0)
			lull_mutex_unlock(&pages[0]->lock);
	}
	join_thread(thread);
	assert_int_equal(lull_load_relaxed(&pages[0]->turn), 200);
	assert_int_equal(how_many_wait(&pages[1]->cond), 0);
	lull_cond_destroy(&pages[0]->cond);
	for (int i = 0; i < 2; i++)
		munmap(pages[i], sizeof(struct page));
}

TEST(fork)
{
	start_sleepers();
	/* A child may use what the parent's threads wait for when it has made it anew. */
	EXPECT_FINE {
		lull_cond_init(&cond, 0);
		lull_mutex_lock(&lock);
		must(lull_cond_timedwait(&cond, &lock, now_ns() + MS) == -ETIMEDOUT);
		lull_cond_broadcast(&cond);
		lull_mutex_unlock(&lock);
		lull_cond_destroy(&cond);
		lull_mutex_destroy(&lock);
	}
	lull_mutex_lock(&lock);
	all_may_go();
	lull_cond_broadcast(&cond);
	lull_mutex_unlock(&lock);
	join_sleepers();
}

/* ---- destroyed and freed after a wake-up ------------------------------------------------------------------------ */

struct element {
	struct lull_mutex lock;
	struct lull_cond cond;
	int waits, gone, returned;
};

static void *waits_for_element(void *arg)
{
	struct element *e = (struct element *)arg;
	struct lull_mutex *m = &e->lock;

	lull_mutex_lock(m);
	e->waits++;
	while (!e->gone)
		lull_cond_wait(&e->cond, m);
	e->returned++;
	lull_mutex_unlock(m);
	return NULL;
}

enum { DESTROY_LOCKED = 1, BROADCAST_UNLOCKED = 2, SIGNALS = 4, WAYS = 8 };

static void wake_all(struct element *e, int way)
{
	if (!(way & SIGNALS))
		lull_cond_broadcast(&e->cond);
	for (int i = 0; i < SLEEPERS && (way & SIGNALS); i++)
		lull_cond_signal(&e->cond);
}

/* POSIX: safe "immediately after all the threads that are blocked on it are awakened". Then it is something else. */
static void destroy_and_scribble(struct lull_cond *c)
{
	lull_cond_destroy(c);
	memset(c, 0x5a, sizeof(*c));
}

TEST(destroy_after_wake)
{
	for (int round = 0; round < 20 * WAYS; round++) {
		struct element *e = (struct element *)calloc(1, sizeof(*e));
		int way = round % WAYS, waits = 0;
		pthread_t threads[SLEEPERS];
		uint32_t scribbled;

		for (int i = 0; i < SLEEPERS; i++)
			threads[i] = start_thread(waits_for_element, e);
		while (waits < SLEEPERS) {
			lull_mutex_lock(&e->lock);
			waits = e->waits;
			if (waits < SLEEPERS)
				lull_mutex_unlock(&e->lock);
		}
		e->gone = 1;
		if (way & BROADCAST_UNLOCKED)
			lull_mutex_unlock(&e->lock);
		wake_all(e, way);
		if ((way & DESTROY_LOCKED) && (way & BROADCAST_UNLOCKED))
			lull_mutex_lock(&e->lock);
		else if (!(way & DESTROY_LOCKED) && !(way & BROADCAST_UNLOCKED))
			lull_mutex_unlock(&e->lock);
		destroy_and_scribble(&e->cond);
		if (way & DESTROY_LOCKED)
			lull_mutex_unlock(&e->lock);
		for (int i = 0; i < SLEEPERS; i++)
			join_thread(threads[i]);
		assert_int_equal(e->returned, SLEEPERS);
		memcpy(&scribbled, &e->cond.waiters, sizeof(scribbled));
		assert_int_equal(scribbled, 0x5a5a5a5a);
		lull_mutex_destroy(&e->lock);
		free(e);
	}
}

/* A process that waited was killed. */
TEST(destroy_after_kill)
{
	int status;
	pid_t child;

	page = (struct page *)mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(page != MAP_FAILED);
	lull_mutex_init(&page->lock, LULL_MUTEX_SHARED);
	lull_cond_init(&page->cond, LULL_MUTEX_SHARED);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		lull_mutex_lock(&page->lock);
		for (;;)
			lull_cond_wait(&page->cond, &page->lock);
	}
	AWAIT(how_many_wait(&page->cond) && state_of((uint32_t)child) == 'S');
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	lull_cond_destroy(&page->cond);
	munmap(page, sizeof(*page));
}

/* Where another process may be killed that would have woken a waiter, waiters look again; but not often. */
TEST(shared_idle)
{
	static struct lull_mutex idle_lock;
	static struct lull_cond idle;
	uint64_t deadline_ns = now_ns() + 1500 * MS;
	int returns = 0;

	lull_mutex_init(&idle_lock, LULL_MUTEX_SHARED);
	lull_cond_init(&idle, LULL_MUTEX_SHARED);
	lull_mutex_lock(&idle_lock);
	while (lull_cond_timedwait(&idle, &idle_lock, deadline_ns) == 0)
		returns++;
	lull_mutex_unlock(&idle_lock);
	assert_true(returns <= 2);
	lull_cond_destroy(&idle);
}

/* ---- misuse ------------------------------------------------------------------------------------------------- */

TEST(misuse)
{
	if (!UNDER_TSAN) /* which says so first */
		EXPECT_WANTED_LINE {
			want_line("thread \"test_cond\" (tid %u) waits for a condition with mutex %p, which no thread holds", my_tid(),
				  (void *)&lock);
			pthread_setname_np(pthread_self(), "test_cond"); /* also as C++ */
			lull_cond_wait(&cond, &lock);
		}
	EXPECT_WANTED_LINE {
		static struct lull_mutex shared;

		want_line("condition variable %p and mutex %p are not both shared", (void *)&cond, (void *)&shared);
		lull_mutex_init(&shared, LULL_MUTEX_SHARED);
		lull_mutex_lock(&shared);
		lull_cond_timedwait(&cond, &shared, 0);
	}
	EXPECT_WANTED_LINE {
		static struct lull_cond shared;

		want_line("condition variable %p and mutex %p are not both shared", (void *)&shared, (void *)&lock);
		lull_cond_init(&shared, LULL_MUTEX_SHARED);
		lull_mutex_lock(&lock);
		lull_cond_wait(&shared, &lock);
	}
	EXPECT_WANTED_LINE {
		want_line("lull_cond_init: unknown flags 0x1");
		lull_cond_init(&cond, 1);
	}
}

TEST(misuse_beside_waiters)
{
	NEEDS_THREADS_IN_CHILD();
	EXPECT_WANTED_LINE {
		start_sleepers();
		want_line("condition variable %p is destroyed while threads wait for it", (void *)&cond);
		lull_cond_destroy(&cond);
	}
	/* The first has been moved to its mutex, and may not leave that before its owner lets it. */
	EXPECT_WANTED_LINE {
		static struct lull_mutex other;

		start_sleepers();
		lull_mutex_lock(&lock);
		all_may_go();
		lull_cond_broadcast(&cond);
		lull_mutex_lock(&other);
		want_line("thread \"test_cond\" (tid %u) waits for condition variable %p with mutex %p, and others use "
			  "mutex %p",
			  my_tid(), (void *)&cond, (void *)&other, (void *)&lock);
		pthread_setname_np(pthread_self(), "test_cond"); /* also as C++ */
		lull_cond_wait(&cond, &other);
	}
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
	make_wanted_line();
}
