/* SPDX-License-Identifier: MIT */
/* runs: oracles */
/*
 * shared.c - mutex.h, mutex_robust.h: contention between threads and between processes, for each kind of mutex; and what
 * is left of a lock when a process that has it, or waits for it, is stopped or killed.
 */
#include "mutex/support.h"
#include "random.h"

/* In memory that processes share. The second half says whether the first was left alone. */
static struct page {
	struct some_lock lock;
	struct lull_cond cond;
	long value, check, deaths;
	uint32_t tid, waiter_tid; /* of a child that has the lock, or is about to wait */
	int may_go;
} *page;

static void make_page(enum kind kind)
{
	if (!page)
		page = (struct page *)shared_memory(sizeof(*page));
	memset(page, 0, sizeof(*page));
	make_lock(&page->lock, kind);
	lull_cond_init(&page->cond, LULL_MUTEX_SHARED);
}

/* ---- counting ----------------------------------------------------------------------------------------------- */

enum { COUNTERS = 6 };

static int each;

static void acquire_by_turns(int turn)
{
	if (turn % 3 == 1) {
		AWAIT_SOON(try_acquire(&page->lock) == 0);
	} else if (turn % 3 == 2) {
		while (acquire_until(&page->lock, now_ns() + (uint64_t)(turn % 50) * 1000) != 0)
			;
	} else {
		must(acquire(&page->lock) == 0);
	}
}

static void count_up_to(int number)
{
	for (int i = 0; i < number; i++) {
		errno = i;
		acquire_by_turns(i);
		must(page->value == page->check);
		page->value++;
		if (i % 512 == 0)
			sched_yield(); /* with the lock: the others find an owner that does not run */
		page->check++;
		release(&page->lock);
		must(errno == i);
	}
}

static void count_in_process(void)
{
	count_up_to(each);
}

static void *count_in_thread(void *unused)
{
	count_up_to(each);
	return unused;
}

static void count_at_once(bool processes, int number, int so_often)
{
	pthread_t threads[COUNTERS];
	pid_t children[COUNTERS];

	each = so_often;
	for (int i = 0; i < number; i++) {
		if (processes)
			children[i] = start_process(count_in_process);
		else
			threads[i] = start_thread(count_in_thread, NULL);
	}
	for (int i = 0; i < number; i++) {
		if (processes)
			assert_int_equal(join_process(children[i]), 0);
		else
			join_thread(threads[i]);
	}
	assert_int_equal(page->value, number * each);
	assert_int_equal(page->check, number * each);
	assert_int_equal(page->lock.robust.mutex.word, 0);
	lull_mutex_destroy(&page->lock.robust.mutex);
}

TEST(counters)
{
	for (int kind = 0; kind < kinds_here(); kind++) {
		make_page((enum kind)kind);
		count_at_once(false, COUNTERS, 6000);
		if (kind == PRIVATE)
			continue;
		make_page((enum kind)kind);
		count_at_once(true, COUNTERS / 2, 6000);
	}
}

/* ---- stopped and killed --------------------------------------------------------------------------------------- */

static void holds(void)
{
	must(acquire(&page->lock) == 0);
	lull_store_release(&page->tid, my_tid());
	for (;;)
		pause();
}

static void waits_for_it(void)
{
	handle(SIGUSR1, does_nothing);
	lull_store_release(&page->tid, my_tid());
	must(acquire(&page->lock) == 0);
	release(&page->lock);
}

static void spins(void)
{
	for (;;) {
		acquire_until(&page->lock, now_ns() + 20000);
		lull_store_release(&page->tid, my_tid());
	}
}

static const struct blow {
	enum kind kind;
	void (*child)(void);
	int signal;
	int found; /* by the one that tries next */
} blows[] = {
	{ SHARED, holds, SIGSTOP, -EBUSY },
	{ SHARED, holds, SIGKILL, -EBUSY }, /* no thread is told */
	{ ROBUST, holds, SIGSTOP, -EBUSY },
	{ ROBUST, holds, SIGKILL, -EOWNERDEAD },
	/* It must not get the lock, neither as one that was woken, nor as the heir. */
	{ SHARED, waits_for_it, SIGSTOP, 0 },
	{ SHARED, waits_for_it, SIGKILL, 0 },
	{ ROBUST, waits_for_it, SIGSTOP, 0 },
	{ ROBUST, waits_for_it, SIGKILL, 0 },
	/* However many are killed as they spin, those to come may. */
	{ SHARED, spins, SIGSTOP, 0 },
	{ SHARED, spins, SIGKILL, 0 },
	{ ROBUST, spins, SIGSTOP, 0 },
	{ ROBUST, spins, SIGKILL, 0 },
};

static void await_child(const struct blow *blow, pid_t child, int impatience)
{
	struct lull_mutex *m = &page->lock.robust.mutex;

	AWAIT_SOON(lull_load_acquire(&page->tid));
	if (blow->child == holds)
		assert_int_equal(lull_mutex_owner(m), child);
	if (blow->child != waits_for_it)
		return;
	await_asleep(m, LULL__MUTEX_WAITERS, &page->tid);
	for (int i = 0; i < impatience; i++) {
		nap_ms(3);
		kill(child, SIGUSR1);
		await_asleep(m, LULL__MUTEX_WAITERS, &page->tid);
	}
}

static void strike(const struct blow *blow, int impatience)
{
	struct lull_mutex *m = &page->lock.robust.mutex;
	int status, found;
	pid_t child;

	page->tid = 0;
	if (blow->child != holds)
		assert_int_equal(acquire(&page->lock), 0);
	child = start_process(blow->child);
	await_child(blow, child, impatience);
	kill(child, blow->signal);
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_int_equal(WIFSTOPPED(status), blow->signal == SIGSTOP);
	if (blow->child != holds) {
		assert_int_equal(m->rest, LULL_MUTEX_SHARED);
		release(&page->lock);
		assert_int_equal(lull_mutex_owner(m), 0);
	}
	found = try_acquire(&page->lock);
	assert_int_equal(found, blow->found);
	if (found == -EBUSY)
		assert_int_equal(acquire_until(&page->lock, now_ns() + MS), -ETIMEDOUT);
	if (found == -EOWNERDEAD)
		lull_mutex_robust_consistent(&page->lock.robust);
	if (found != -EBUSY)
		release(&page->lock);
	if (blow->signal == SIGSTOP)
		kill_process(child);
	if (found == -EBUSY)
		make_lock(&page->lock, blow->kind);
}

TEST(killed)
{
	for (size_t i = 0; i < sizeof(blows) / sizeof(blows[0]); i++) {
		if ((int)blows[i].kind >= kinds_here())
			continue;
		make_page(blows[i].kind);
		for (int impatience = 0; impatience < 6; impatience++)
			strike(&blows[i], impatience);
		count_at_once(true, 2, 1000); /* others go on */
	}
}

/* With the lock, or after an error. */
static int wait_a_little(uint64_t *random)
{
	int err;

	if (dice(random, 2))
		lull_cond_signal(&page->cond);
	else
		lull_cond_broadcast(&page->cond);
	err = lull_cond_timedwait_robust(&page->cond, &page->lock.robust, now_ns() + dice(random, 30000));
	return err == -ETIMEDOUT ? 0 : err;
}

/* For ever. It may be killed between the two, or as it waits. */
static void counts_for_ever(void)
{
	uint64_t random = (uint64_t)getpid();

	for (;;) {
		uint64_t deadline_ns = dice(&random, 2) ? UINT64_MAX : now_ns() + dice(&random, 100000);
		int err = acquire_until(&page->lock, deadline_ns);

		if (err == -ETIMEDOUT)
			continue;
		if (err == 0 && dice(&random, 256) == 0)
			err = wait_a_little(&random);
		if (err == -EOWNERDEAD) {
			page->check = page->value;
			page->deaths++;
			lull_mutex_robust_consistent(&page->lock.robust);
		} else if (err) {
			_exit(3);
		}
		if (page->value != page->check)
			_exit(4);
		page->value++;
		for (volatile int i = 0; i < 500; i = i + 1)
			;
		page->check++;
		release(&page->lock);
	}
}

TEST(killed_anywhere)
{
	enum { CHILDREN = 3 };
	pid_t children[CHILDREN];
	int err;

	if (kinds_here() != KINDS)
		SKIP("no robust mutexes here");
	make_page(ROBUST);
	for (int i = 0; i < CHILDREN; i++)
		children[i] = start_process(counts_for_ever);
	for (int round = 0; round < 150; round++) {
		nap_ms(1);
		kill_process(children[round % CHILDREN]);
		children[round % CHILDREN] = start_process(counts_for_ever);
	}
	for (int i = 0; i < CHILDREN; i++)
		kill_process(children[i]);
	err = acquire_until(&page->lock, now_ns() + PATIENCE_NS);
	assert_true(err == 0 || err == -EOWNERDEAD);
	if (err)
		lull_mutex_robust_consistent(&page->lock.robust);
	assert_true(err || page->value == page->check);
	assert_true(page->value > 0);
	assert_true(page->deaths > 0);
	release(&page->lock);
}

/* ---- killed as they wait for a condition, or have moved those that do -------------------------------------------- */

static void waits_for_value(void)
{
	int err = acquire(&page->lock);

	lull_store_release(&page->waiter_tid, my_tid());
	while (err == 0 && !page->value)
		err = lull_cond_wait_robust(&page->cond, &page->lock.robust);
	must(err == 0 || err == -EOWNERDEAD);
	if (err) {
		page->deaths++;
		lull_mutex_robust_consistent(&page->lock.robust);
	}
	page->check++;
	release(&page->lock);
}

static void broadcasts_and_holds(void)
{
	must(acquire(&page->lock) == 0);
	page->value = 1;
	lull_cond_broadcast(&page->cond);
	lull_store_release(&page->tid, my_tid());
	AWAIT(lull_load_acquire(&page->may_go));
	release(&page->lock);
}

enum { ASLEEP = 1, MOVED = 2, OWNER = 4, VICTIMS = 8 };

/* The first of two waiters is killed, asleep for the condition or moved, or the owner is that has moved them, or both. */
static void kill_beside_waiter(int victims)
{
	bool waiter = victims & (ASLEEP | MOVED), owner = victims & OWNER;
	pid_t waiters[2], child;

	make_page(ROBUST);
	for (int i = 0; i < 2; i++) {
		page->waiter_tid = 0;
		waiters[i] = start_process(waits_for_value);
		AWAIT(how_many_wait(&page->cond) == (uint32_t)i + 1 && sleeps(&page->waiter_tid));
	}
	if (victims & ASLEEP)
		kill_process(waiters[0]);
	child = start_process(broadcasts_and_holds);
	AWAIT(lull_load_acquire(&page->tid));
	if ((victims & MOVED) && !(victims & ASLEEP))
		kill_process(waiters[0]);
	if (owner)
		kill_process(child);
	lull_store_release(&page->may_go, 1);
	if (!owner)
		assert_int_equal(join_process(child), 0);
	for (int i = waiter; i < 2; i++)
		assert_int_equal(join_process(waiters[i]), 0);
	assert_int_equal(page->check, waiter ? 1 : 2);
	assert_int_equal(page->deaths, owner);
	assert_int_equal(how_many_wait(&page->cond), waiter); /* for ever */
	assert_int_equal(acquire(&page->lock), 0);
	release(&page->lock);
}

TEST(killed_beside_waiter)
{
	if (kinds_here() != KINDS)
		SKIP("no robust mutexes here");
	for (int victims = 0; victims < VICTIMS; victims++)
		kill_beside_waiter(victims);
}

/* ---- over fork ------------------------------------------------------------------------------------------------ */

TEST(not_inherited)
{
	struct lull_mutex *m;
	pid_t child;

	make_page(SHARED);
	m = &page->lock.robust.mutex;
	lull_mutex_lock(m);
	/* It does not name a process's thread that goes by another name in the parent: a shared one is not inherited. */
	EXPECT_WANTED_LINE {
		want_line("thread \"%s\" (tid %u) unlocks mutex %p, which thread \"?\" (tid %u) holds", my_name(), my_tid(),
			  (void *)m, (unsigned)getppid());
		lull_mutex_unlock(m);
	}
	child = start_process(waits_for_it); /* the parent's is not its own, which would be a second lock */
	await_asleep(m, LULL__MUTEX_WAITERS, &page->tid);
	lull_mutex_unlock(m);
	assert_int_equal(join_process(child), 0);
}

/* The child has none of its parent's robust ones. */
TEST(robust_not_inherited)
{
	static struct lull_mutex_robust m;

	if (kinds_here() != KINDS)
		SKIP("no robust mutexes here");
	assert_int_equal(lull_mutex_robust_lock(&m), 0);
	EXPECT_FINE {
		must(lull_mutex_robust_trylock(&m) == -EBUSY);
		lull_mutex_robust_init(&m, 0);
		must(lull_mutex_robust_lock(&m) == 0);
		lull_mutex_robust_unlock(&m);
	}
	assert_int_equal(lull_mutex_robust_owner(&m), my_tid());
	lull_mutex_robust_unlock(&m);
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
