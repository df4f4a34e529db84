/* SPDX-License-Identifier: MIT */
/* runs: c++, oracles */
/*
 * robust.c - mutex_robust.h: threads that end and processes that are killed with a lock, what the next one
 * is told, and that pthread's robust mutexes on the same list are left alone.
 */
#include "mutex/support.h"

#include <lull/mutex_robust.h>

static struct lull_mutex_robust m;
static const struct lull_mutex_robust with_macro = LULL_MUTEX_ROBUST_INIT;

/* ---- one thread --------------------------------------------------------------------------------------------- */

TEST(states)
{
	assert_int_equal(memcmp(&m, &with_macro, sizeof(m)), 0);
	for (int i = 0; i < 3; i++) {
		errno = 77;
		assert_int_equal(lull_mutex_robust_lock(&m), 0);
		assert_int_equal(lull_mutex_robust_owner(&m), my_tid());
		assert_int_equal(lull_mutex_robust_trylock(&m), -EBUSY);
		lull_mutex_robust_unlock(&m);
		assert_int_equal(lull_mutex_robust_owner(&m), 0);
		assert_int_equal(lull_mutex_robust_trylock(&m), 0);
		lull_mutex_robust_unlock(&m);
		assert_int_equal(lull_mutex_robust_timedlock(&m, i ? 0 : UINT64_MAX), 0);
		lull_mutex_robust_unlock(&m);
		assert_int_equal(errno, 77);
	}
	assert_int_equal(memcmp(&m, &with_macro, sizeof(m)), 0);
}

static void *others_find_it_locked(void *unused)
{
	uint64_t deadline_ns = now_ns() + 3 * MS;

	(void)unused;
	assert_int_equal(lull_mutex_robust_trylock(&m), -EBUSY);
	assert_int_equal(lull_mutex_robust_timedlock(&m, 0), -ETIMEDOUT);
	assert_int_equal(lull_mutex_robust_timedlock(&m, deadline_ns), -ETIMEDOUT);
	assert_true(now_ns() >= deadline_ns);
	return NULL;
}

TEST(held)
{
	assert_int_equal(lull_mutex_robust_lock(&m), 0);
	join_thread(start_thread(others_find_it_locked, NULL));
	lull_mutex_robust_unlock(&m);
	assert_int_equal(lull_mutex_robust_lock(&m), 0);
	lull_mutex_robust_unlock(&m);
}

/* ---- counting ----------------------------------------------------------------------------------------------- */

enum { COUNTERS = 4, EACH = 3000 };

static long value, check;

static void *counts(void *unused)
{
	int err;

	(void)unused;
	for (int i = 0; i < EACH; i++) {
		do {
			if (i % 3 == 0)
				err = lull_mutex_robust_lock(&m);
			else if (i % 3 == 1)
				err = lull_mutex_robust_trylock(&m);
			else
				err = lull_mutex_robust_timedlock(&m, now_ns() + (uint64_t)(i % 50) * 1000);
			if (err == -EBUSY)
				sched_yield();
		} while (err);
		assert_int_equal(value, check);
		value++;
		check++;
		lull_mutex_robust_unlock(&m);
	}
	return NULL;
}

TEST(counters)
{
	pthread_t threads[COUNTERS];

	for (int i = 0; i < COUNTERS; i++)
		threads[i] = start_thread(counts, NULL);
	for (int i = 0; i < COUNTERS; i++)
		join_thread(threads[i]);
	assert_int_equal(value, COUNTERS * EACH);
}

static int take_until(void *lock, uint64_t deadline_ns)
{
	return lull_mutex_robust_timedlock((struct lull_mutex_robust *)lock, deadline_ns);
}

static void release(void *lock)
{
	lull_mutex_robust_unlock((struct lull_mutex_robust *)lock);
}

TEST(timeout_or_lock)
{
	struct close_call call;

	memset(&call, 0, sizeof(call));
	call.lock = &m;
	call.m = &m.mutex;
	call.take = take_until;
	call.release = release;
	expect_timeout_or_lock(&call, 1000);
}

/* ---- owners that end ---------------------------------------------------------------------------------------- */

static void *ends_with_it(void *lock)
{
	struct lull_mutex_robust *robust = (struct lull_mutex_robust *)lock;
	int err = lull_mutex_robust_lock(robust);

	assert_true(err == 0 || err == -EOWNERDEAD);
	return NULL;
}

TEST(owner_ends)
{
	for (int i = 0; i < 3; i++) {
		join_thread(start_thread(ends_with_it, &m));
		assert_int_equal(lull_mutex_robust_owner(&m), 0);
		errno = 77;
		switch (i) {
		case 0:
			assert_int_equal(lull_mutex_robust_lock(&m), -EOWNERDEAD);
			break;
		case 1:
			assert_int_equal(lull_mutex_robust_trylock(&m), -EOWNERDEAD);
			break;
		default:
			assert_int_equal(lull_mutex_robust_timedlock(&m, 0), -EOWNERDEAD);
		}
		assert_int_equal(errno, 77);
		assert_int_equal(lull_mutex_robust_owner(&m), my_tid());
		assert_int_equal(lull_mutex_robust_trylock(&m), -EBUSY);
		lull_mutex_robust_consistent(&m);
		lull_mutex_robust_unlock(&m);
		assert_int_equal(lull_mutex_robust_lock(&m), 0);
		lull_mutex_robust_unlock(&m);
	}
}

/* The thread that was told of it dies, too: so the next one is told. */
TEST(owner_ends_again)
{
	for (int i = 0; i < 3; i++)
		join_thread(start_thread(ends_with_it, &m));
	assert_int_equal(lull_mutex_robust_lock(&m), -EOWNERDEAD);
	lull_mutex_robust_consistent(&m);
	lull_mutex_robust_unlock(&m);
	assert_int_equal(lull_mutex_robust_lock(&m), 0);
	lull_mutex_robust_unlock(&m);
}

enum { WAITERS = 5 };

struct robust_waiter {
	uint32_t tid;
	int result;
	bool repairs;
	pthread_t thread;
};

static void *waits_for_end(void *arg)
{
	struct robust_waiter *w = (struct robust_waiter *)arg;

	lull_store_release(&w->tid, my_tid());
	w->result = lull_mutex_robust_lock(&m);
	if (w->result == -EOWNERDEAD && w->repairs)
		lull_mutex_robust_consistent(&m);
	if (w->result == 0 || w->result == -EOWNERDEAD)
		lull_mutex_robust_unlock(&m);
	return NULL;
}

static int may_end;

static void *ends_when_told(void *tid)
{
	assert_int_equal(lull_mutex_robust_lock(&m), 0);
	lull_store_release((uint32_t *)tid, my_tid());
	await_flag(&may_end, 1);
	return NULL;
}

/* With all asleep. How many were told @result. */
static int end_with_waiters(bool repairs, int result)
{
	struct robust_waiter waiters[WAITERS];
	pthread_t owner;
	uint32_t tid = 0;
	int told = 0;

	memset(waiters, 0, sizeof(waiters));
	may_end = 0;
	owner = start_thread(ends_when_told, &tid);
	AWAIT_SOON(lull_load_acquire(&tid));
	for (int i = 0; i < WAITERS; i++) {
		waiters[i].repairs = repairs;
		waiters[i].thread = start_thread(waits_for_end, &waiters[i]);
		await_asleep(&m.mutex, LULL__MUTEX_WAITERS, &waiters[i].tid);
	}
	lull_store_release(&may_end, 1);
	join_thread(owner);
	for (int i = 0; i < WAITERS; i++)
		join_thread(waiters[i].thread);
	for (int i = 0; i < WAITERS; i++)
		told += waiters[i].result == result;
	return told;
}

TEST(waiters_are_told)
{
	lull_mutex_robust_init(&m, 0);
	assert_int_equal(end_with_waiters(true, -EOWNERDEAD), 1);
	assert_int_equal(end_with_waiters(true, 0), WAITERS - 1);
	assert_int_equal(lull_mutex_robust_lock(&m), 0);
	lull_mutex_robust_unlock(&m);
}

/* No thread puts it right: all who wait are told, and all who come later; until it is made anew. */
TEST(lost)
{
	lull_mutex_robust_init(&m, 0);
	assert_int_equal(end_with_waiters(false, -ENOTRECOVERABLE), WAITERS - 1);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(lull_mutex_robust_lock(&m), -ENOTRECOVERABLE);
		assert_int_equal(lull_mutex_robust_trylock(&m), -ENOTRECOVERABLE);
		assert_int_equal(lull_mutex_robust_timedlock(&m, now_ns() + MS), -ENOTRECOVERABLE);
		assert_int_equal(lull_mutex_robust_owner(&m), 0);
	}
	lull_mutex_robust_init(&m, 0);
	assert_int_equal(lull_mutex_robust_lock(&m), 0);
	lull_mutex_robust_unlock(&m);
}

/* ---- on one list with pthread's ------------------------------------------------------------------------------- */

enum { KIND = 3, LOCKS = 2 * KIND };

static struct lull_mutex_robust ours[KIND];
static pthread_mutex_t theirs[KIND];

static int lock_nth(int nth)
{
	return nth < KIND ? lull_mutex_robust_lock(&ours[nth]) : -pthread_mutex_lock(&theirs[nth - KIND]);
}

static int trylock_nth(int nth)
{
	return nth < KIND ? lull_mutex_robust_trylock(&ours[nth]) : -pthread_mutex_trylock(&theirs[nth - KIND]);
}

static void unlock_nth(int nth)
{
	if (nth < KIND)
		lull_mutex_robust_unlock(&ours[nth]);
	else
		assert_int_equal(pthread_mutex_unlock(&theirs[nth - KIND]), 0);
}

static void repair_nth(int nth)
{
	if (nth < KIND)
		lull_mutex_robust_consistent(&ours[nth]);
	else
		assert_int_equal(pthread_mutex_consistent(&theirs[nth - KIND]), 0);
}

static uint32_t random_state = 1;
static unsigned left_locked; /* a bit for each */

static unsigned next_random(unsigned below)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (random_state >> 8) % below;
}

static void shuffle(int *order)
{
	for (int i = 0; i < LOCKS; i++)
		order[i] = i;
	for (unsigned i = LOCKS - 1; i > 0; i--) {
		unsigned other = next_random(i + 1);
		int kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
}

static void *locks_all_and_ends(void *unused)
{
	int order[LOCKS];
	unsigned unlocked = next_random(LOCKS + 1);

	(void)unused;
	shuffle(order);
	for (int i = 0; i < LOCKS; i++)
		assert_int_equal(lock_nth(order[i]), 0);
	shuffle(order);
	left_locked = (1u << LOCKS) - 1;
	for (unsigned i = 0; i < unlocked; i++) {
		unlock_nth(order[i]);
		left_locked &= ~(1u << order[i]);
	}
	return NULL;
}

TEST(mixed)
{
	pthread_mutexattr_t attr;

	if (UNDER_TSAN)
		SKIP("ThreadSanitizer wants pthread mutexes in one order, and unlocked by a dead thread");
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	for (int i = 0; i < KIND; i++)
		assert_int_equal(pthread_mutex_init(&theirs[i], &attr), 0);
	for (int round = 0; round < 1500; round++) {
		join_thread(start_thread(locks_all_and_ends, NULL));
		for (int i = 0; i < LOCKS; i++) {
			int err = trylock_nth(i);

			assert_int_equal(err, left_locked >> i & 1 ? -EOWNERDEAD : 0);
			if (err)
				repair_nth(i);
			unlock_nth(i);
		}
	}
	for (int i = 0; i < KIND; i++)
		pthread_mutex_destroy(&theirs[i]);
}

/* ---- processes that are killed -------------------------------------------------------------------------------- */

struct page {
	struct lull_mutex_robust lock;
	long first, second, deaths;
};

static struct page *page;

/* For ever. It may be killed between the two. */
static void counts_in_page(uint32_t random)
{
	for (;;) {
		uint64_t deadline_ns;
		int err;

		random = random * 1664525u + 1013904223u;
		deadline_ns = random >> 16 & 1 ? UINT64_MAX : now_ns() + (random >> 8) % 100000;
		err = lull_mutex_robust_timedlock(&page->lock, deadline_ns);
		if (err == -ETIMEDOUT)
			continue;
		if (err == -EOWNERDEAD) {
			page->second = page->first;
			page->deaths++;
			lull_mutex_robust_consistent(&page->lock);
		} else if (err) {
			_exit(3);
		}
		if (page->first != page->second)
			_exit(4);
		page->first++;
		for (volatile int i = 0; i < 500; i = i + 1)
			;
		page->second++;
		lull_mutex_robust_unlock(&page->lock);
	}
}

static void expect_killed(pid_t child)
{
	int status = 0;

	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

static pid_t start_counting(uint32_t random)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		counts_in_page(random);
	return child;
}

static void make_page(void)
{
	page = (struct page *)mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(page != MAP_FAILED);
	lull_mutex_robust_init(&page->lock, LULL_MUTEX_SHARED);
}

TEST(killed)
{
	enum { CHILDREN = 3 };
	pid_t children[CHILDREN];
	int err;

	make_page();
	for (int i = 0; i < CHILDREN; i++)
		children[i] = start_counting((uint32_t)i);
	for (int round = 0; round < 150; round++) {
		pid_t *child = &children[round % CHILDREN];

		nap_ms(1);
		expect_killed(*child);
		*child = start_counting((uint32_t)round);
	}
	for (int i = 0; i < CHILDREN; i++)
		expect_killed(children[i]);
	err = lull_mutex_robust_timedlock(&page->lock, now_ns() + PATIENCE_NS);
	assert_true(err == 0 || err == -EOWNERDEAD);
	if (err)
		lull_mutex_robust_consistent(&page->lock);
	assert_true(err || page->first == page->second);
	assert_true(page->first > 0);
	assert_true(page->deaths > 0);
	lull_mutex_robust_unlock(&page->lock);
	munmap(page, sizeof(*page));
}

/* With it, for certain. */
static void holds_in_page(void)
{
	must(lull_mutex_robust_lock(&page->lock) == 0);
	page->first = 1;
	for (;;)
		pause();
}

TEST(killed_with_it)
{
	pid_t child;

	make_page();
	for (int i = 0; i < 5; i++) {
		page->first = 0;
		child = fork();
		assert_true(child >= 0);
		if (child == 0)
			holds_in_page();
		AWAIT_SOON(lull_load_acquire(&page->first));
		assert_int_equal(lull_mutex_robust_owner(&page->lock), child);
		assert_int_equal(lull_mutex_robust_trylock(&page->lock), -EBUSY);
		expect_killed(child);
		assert_int_equal(lull_mutex_robust_lock(&page->lock), -EOWNERDEAD);
		lull_mutex_robust_consistent(&page->lock);
		lull_mutex_robust_unlock(&page->lock);
	}
	munmap(page, sizeof(*page));
}

TEST(fork)
{
	assert_int_equal(lull_mutex_robust_lock(&m), 0);
	/* The child has none of its parent's. */
	EXPECT_FINE {
		must(lull_mutex_robust_trylock(&m) == -EBUSY);
		lull_mutex_robust_init(&m, 0);
		must(lull_mutex_robust_lock(&m) == 0);
		lull_mutex_robust_unlock(&m);
	}
	assert_int_equal(lull_mutex_robust_owner(&m), my_tid());
	lull_mutex_robust_unlock(&m);
}

/* ---- misuse ------------------------------------------------------------------------------------------------- */

static void name_me(void)
{
	pthread_setname_np(pthread_self(), "robust");
}

TEST(misuse)
{
	EXPECT_WANTED_LINE {
		name_me();
		want_line("thread \"robust\" (tid %u) locks mutex %p, which thread \"robust\" (tid %u) holds", my_tid(),
			  (void *)&m, my_tid());
		lull_mutex_robust_lock(&m);
		lull_mutex_robust_lock(&m);
	}
	if (!UNDER_TSAN) /* which says so first */
		EXPECT_WANTED_LINE {
			name_me();
			want_line("thread \"robust\" (tid %u) unlocks mutex %p, which no thread holds", my_tid(), (void *)&m);
			lull_mutex_robust_unlock(&m);
		}
	EXPECT_WANTED_LINE {
		name_me();
		want_line("thread \"robust\" (tid %u) makes consistent mutex %p, which no thread holds", my_tid(), (void *)&m);
		lull_mutex_robust_consistent(&m);
	}
	EXPECT_WANTED_LINE {
		want_line("lull_mutex_robust_consistent: nothing is wrong with mutex %p", (void *)&m);
		lull_mutex_robust_lock(&m);
		lull_mutex_robust_consistent(&m);
	}
}

/* ---- where there is no list ----------------------------------------------------------------------------------- */

TEST(not_supported)
{
	if (!test_only)
		return;
	assert_int_equal(lull_mutex_robust_lock(&m), -ENOTSUP);
	assert_int_equal(lull_mutex_robust_trylock(&m), -ENOTSUP);
	assert_int_equal(lull_mutex_robust_timedlock(&m, 0), -ENOTSUP);
	assert_int_equal(memcmp(&m, &with_macro, sizeof(m)), 0);
	print_message("no robust list here: the other tests are left out\n");
}

BEFORE_ALL
{
	void *head;
	size_t size;

	/* Only an emulator has none. */
	if (syscall(SYS_get_robust_list, 0, &head, &size) != 0)
		test_only = "not_supported";
	set_stall_ms(0); /* a slow machine is not worth a line */
	make_wanted_line();
}
