/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences, no-rseq */
/*
 * percpu_rwsem.c - percpu_rwsem.h: each call at random against plain numbers; who comes in before whom, by counts;
 * readers and writers beside each other. Also as C++, and run without restartable sequences.
 */
#include <signal.h>

#include "child.h"
#include "random.h"
#include "threads.h"

#include <lull/percpu_ref.h>
#include <lull/percpu_rwsem.h>

static struct lull_percpu_rwsem sem;

static void begin_lock(void)
{
	memset(&sem, 0x5a, sizeof(sem)); /* init needs no cleared memory */
	lull_percpu_rwsem_init(&sem);
	lull_debug_set_stall_ms(0); /* a busy machine makes writers wait, too */
	start_hearing();
}

static void end_lock(void)
{
	lull_percpu_rwsem_destroy(&sem);
	check_silence();
	stop_hearing();
	lull_debug_set_stall_ms(1000);
}

USE_SETUP(begin_lock)
USE_TEARDOWN(end_lock)

/* ---- one thread -------------------------------------------------------------------------------------- */

static struct {
	uint64_t random;
	int readers;
	bool writer;
} m;

static unsigned rnd(unsigned sides)
{
	return dice(&m.random, sides);
}

/* Act as an interrupted thread: what came in on a CPU leaves by the shared word, or the other way round. */
static bool is_interrupted(void)
{
	return rnd(3) == 0;
}

static bool try_to_read(void)
{
	return is_interrupted() ? lull__percpu_rwsem_read_trylock_slow(&sem) : lull_percpu_rwsem_read_trylock(&sem);
}

static void read_more(void)
{
	if (m.writer) {
		assert_false(try_to_read());
		return;
	}
	if (rnd(2))
		assert_true(try_to_read());
	else if (is_interrupted())
		lull__percpu_rwsem_read_lock_slow(&sem);
	else
		lull_percpu_rwsem_read_lock(&sem);
	m.readers++;
}

static void read_less(void)
{
	if (!m.readers)
		return;
	if (is_interrupted())
		lull__percpu_rwsem_read_unlock_slow(&sem);
	else
		lull_percpu_rwsem_read_unlock(&sem);
	m.readers--;
}

static void write_it(void)
{
	if (m.writer) {
		assert_false(lull_percpu_rwsem_write_trylock(&sem)); /* held by this thread */
		lull_percpu_rwsem_write_unlock(&sem);
		m.writer = false;
	} else if (m.readers || rnd(2)) {
		m.writer = lull_percpu_rwsem_write_trylock(&sem);
		assert_int_equal(m.writer, !m.readers);
	} else {
		lull_percpu_rwsem_write_lock(&sem);
		m.writer = true;
	}
}

/* Some time without a writer: readers are fast again. */
static void pause_writers(void)
{
	lull_rcu_barrier();
	lull_rcu_barrier();
	assert_int_equal(lull_rcu_sync_is_idle(&sem.sync), !m.writer);
}

static void begin_anew(void)
{
	if (m.readers || m.writer)
		return;
	lull_percpu_rwsem_destroy(&sem);
	memset(&sem, 0x5a, sizeof(sem));
	lull_percpu_rwsem_init(&sem);
}

/* Each call, in each state: also by threads whose sequences were interrupted, fast and slow. */
TEST(random)
{
	static void (*const steps[])(void) = { read_more, read_more, read_more, read_less, read_less,
					       read_less, write_it,  write_it,  pause_writers, begin_anew };

	m.random = test_seed();
	m.readers = 0;
	m.writer = false;
	for (int i = 0; i < (lull_percpu_ref_per_cpu() ? 4000 : 1500); i++)
		steps[rnd(10)]();
	while (m.readers)
		read_less();
	if (m.writer)
		write_it();
}

/* While no writer is there, readers that are not interrupted leave the shared word alone. */
TEST(counts_apart)
{
	uint64_t before;
	int apart = 0;

	for (int i = 0; i < 1000; i++) {
		before = lull_load_relaxed(&sem.state);
		lull_percpu_rwsem_read_lock(&sem);
		assert_true(lull_percpu_rwsem_read_trylock(&sem));
		lull_percpu_rwsem_read_unlock(&sem);
		lull_percpu_rwsem_read_unlock(&sem);
		apart += lull_load_relaxed(&sem.state) == before;
	}
	assert_true(apart > 500);
	lull_percpu_rwsem_write_lock(&sem);
	lull_percpu_rwsem_write_unlock(&sem);
	before = lull_load_relaxed(&sem.state);
	lull_rcu_read_lock(); /* so the lock does not become fast */
	lull_percpu_rwsem_read_lock(&sem);
	if (!lull_rcu_sync_is_idle(&sem.sync))
		assert_true(lull_load_relaxed(&sem.state) != before);
	lull_percpu_rwsem_read_unlock(&sem);
	lull_rcu_read_unlock();
}

static int guarded;

static void leave_by_return(bool writes)
{
	if (writes) {
		LULL_PERCPU_WRITE_GUARD(&sem);
		guarded++;
		assert_false(lull_percpu_rwsem_read_trylock(&sem));
		return;
	}
	LULL_PERCPU_READ_GUARD(&sem);
	assert_false(lull_percpu_rwsem_write_trylock(&sem));
	guarded++;
}

TEST(guards)
{
	leave_by_return(true);
	leave_by_return(false);
	leave_by_return(true);
	assert_int_equal(guarded, 3);
	assert_true(lull_percpu_rwsem_write_trylock(&sem));
	lull_percpu_rwsem_write_unlock(&sem);
}

/* Where a reader of RCU's would wait for itself. */
TEST(reader_waits_for_all)
{
	lull_percpu_rwsem_read_lock(&sem);
	lull_rcu_synchronize();
	lull_rcu_barrier();
	lull_percpu_rwsem_read_unlock(&sem);
}

/* ---- threads ----------------------------------------------------------------------------------------- */

static void *locks_and_exits(void *unused)
{
	lull_percpu_rwsem_read_lock(&sem);
	return unused;
}

static void *unlocks(void *unused)
{
	lull_percpu_rwsem_read_unlock(&sem);
	return unused;
}

/* A hold outlasts its thread, and another one gives it back. */
TEST(hold_of_no_thread)
{
	join_thread(start_thread(locks_and_exits, NULL));
	assert_false(lull_percpu_rwsem_write_trylock(&sem));
	join_thread(start_thread(unlocks, NULL));
	assert_true(lull_percpu_rwsem_write_trylock(&sem));
	lull_percpu_rwsem_write_unlock(&sem);
}

enum { READERS = 3, WRITERS = 2 };
static int over, reads_done, order[1 + WRITERS], ordered;
static long left_half, right_half; /* plain: equal outside of a writer's section */

/* The readers in and waiting, of the state. */
static int waiting_now(void)
{
	return (int)((uint32_t)lull_load_relaxed(&sem.state) / 4);
}

static bool writer_is_near(void)
{
	return lull_load_relaxed(&sem.state) & 1;
}

static void *reads_once(void *unused)
{
	lull_percpu_rwsem_read_lock(&sem);
	assert_int_equal(left_half, right_half);
	lull_add_relaxed(&reads_done, 1);
	lull_percpu_rwsem_read_unlock(&sem);
	return unused;
}

static void *writes_once(void *may_leave)
{
	int turn;

	lull_percpu_rwsem_write_lock(&sem);
	left_half++;
	right_half++;
	turn = lull_load_relaxed(&ordered);
	order[turn] = lull_load_relaxed(&reads_done);
	lull_store_relaxed(&ordered, turn + 1);
	if (may_leave)
		await_flag((int *)may_leave, 1);
	lull_percpu_rwsem_write_unlock(&sem);
	return NULL;
}

/* Let a writer wait for one reader until so many lines have been said. */
static void write_after_lines(int lines)
{
	pthread_t writer;

	lull_percpu_rwsem_read_lock(&sem);
	writer = start_thread(writes_once, NULL);
	AWAIT(writer_is_near());
	nap_ms(40);
	AWAIT(lull_load_relaxed(&heard_lines) >= lines);
	lull_percpu_rwsem_read_unlock(&sem);
	join_thread(writer);
	ordered = 0;
}

static void no_stall(const struct lull_stall *unused, void *calls)
{
	(void)unused;
	lull_add_relaxed((int *)calls, 1);
}

/* A writer that waits long says for how many readers, and again after twice the time. */
TEST(long_wait)
{
	static int calls;

	lull_debug_set_stall_hook(no_stall, &calls);
	write_after_lines(0);
	check_silence();
	lull_debug_set_stall_ms(10);
	write_after_lines(2);
	assert_non_null(strstr(heard, "a writer of percpu_rwsem "));
	assert_non_null(strstr(heard, " ms for 1 reader"));
	assert_null(strstr(heard, "readers"));
	assert_int_equal(lull_load_relaxed(&calls), 0);
	lull_debug_set_stall_hook(NULL, NULL);
	start_hearing();
}

/*
 * No reader comes in before a writer that waits; and of the readers that wait for a writer each comes in before the
 * next writer, although that one has waited for longer.
 */
TEST(turns)
{
	pthread_t first, second, readers[READERS];
	int may_leave = 0;

	ordered = reads_done = 0;
	lull_percpu_rwsem_read_lock(&sem);
	first = start_thread(writes_once, &may_leave);
	AWAIT(writer_is_near());
	second = start_thread(writes_once, NULL);
	for (int i = 0; i < 1000; i++)
		assert_false(lull_percpu_rwsem_read_trylock(&sem));
	start_threads(readers, READERS, reads_once, NULL);
	AWAIT(waiting_now() == READERS);
	assert_int_equal(ordered, 0);
	lull_percpu_rwsem_read_unlock(&sem);
	AWAIT(lull_load_relaxed(&ordered) == 1);
	assert_int_equal(waiting_now(), READERS);
	lull_store_release(&may_leave, 1);
	join_thread(first);
	join_thread(second);
	join_threads(readers, READERS);
	assert_int_equal(order[0], 0);
	assert_int_equal(order[1], READERS);
}

static void *reads_often(void *unused)
{
	for (int i = 0; !lull_load_relaxed(&over); i++) {
		if (i % 4 == 0) {
			if (!lull_percpu_rwsem_read_trylock(&sem))
				continue;
		} else {
			lull_percpu_rwsem_read_lock(&sem);
		}
		assert_int_equal(left_half, right_half);
		if (i % 16 == 0)
			sched_yield();
		assert_int_equal(left_half, right_half);
		lull_add_relaxed(&reads_done, 1);
		lull_percpu_rwsem_read_unlock(&sem);
	}
	return unused;
}

static void *writes_often(void *times)
{
	for (int i = 0; i < *(int *)times;) {
		if (i % 4 == 0) {
			if (!lull_percpu_rwsem_write_trylock(&sem))
				lull_percpu_rwsem_write_lock(&sem);
		} else {
			lull_percpu_rwsem_write_lock(&sem);
		}
		left_half++;
		if (i % 8 == 0)
			sched_yield();
		right_half++;
		i++;
		lull_percpu_rwsem_write_unlock(&sem);
		if (i % 50 == 0)
			lull_rcu_barrier(); /* readers are fast for a moment */
	}
	return NULL;
}

/* Writers exclude readers and each other, and neither side is kept out by a storm of the other. */
TEST(storm)
{
	pthread_t readers[READERS], writers[WRITERS];
	int times = lull_percpu_ref_per_cpu() ? 1000 : 200;
	long before = left_half;

	over = reads_done = 0;
	start_threads(readers, READERS, reads_often, NULL);
	start_threads(writers, WRITERS, writes_often, &times);
	join_threads(writers, WRITERS);
	AWAIT_SOON(lull_load_relaxed(&reads_done) > 100);
	lull_store_relaxed(&over, 1);
	join_threads(readers, READERS);
	assert_int_equal(left_half, before + WRITERS * times);
	assert_int_equal(right_half, left_half);
}

static void *writes_until_over(void *unused)
{
	while (!lull_load_relaxed(&over)) {
		lull_percpu_rwsem_write_lock(&sem);
		left_half++;
		right_half++;
		lull_percpu_rwsem_write_unlock(&sem);
	}
	return unused;
}

/* A storm of writers lets readers in. */
TEST(reader_in_storm_of_writers)
{
	pthread_t writers[WRITERS];

	over = 0;
	start_threads(writers, WRITERS, writes_until_over, NULL);
	for (int i = 0; i < 200; i++)
		reads_once(NULL);
	lull_store_relaxed(&over, 1);
	join_threads(writers, WRITERS);
}

/* The last writer ends the lock beside a reader whose unlock has not returned. */
TEST(ended_by_last_writer)
{
	for (int i = 0; i < 100; i++) {
		pthread_t reader;

		reads_done = 0;
		reader = start_thread(reads_once, NULL);
		AWAIT_SOON(lull_load_relaxed(&reads_done) == 1);
		lull_percpu_rwsem_write_lock(&sem);
		lull_percpu_rwsem_write_unlock(&sem);
		lull_percpu_rwsem_destroy(&sem);
		if (lull_percpu_ref_per_cpu())
			memset(&sem, 0x5a, sizeof(sem));
		join_thread(reader);
		lull_percpu_rwsem_init(&sem);
	}
}

static int handled, handled_in;

static void reads_in_handler(int signal)
{
	(void)signal;
	if (lull_percpu_rwsem_read_trylock(&sem)) {
		handled_in++;
		lull_percpu_rwsem_read_unlock(&sem);
	}
	handled++;
}

TEST(in_handler)
{
	void (*before)(int) = signal(SIGUSR1, reads_in_handler);

	handled = handled_in = 0;
	raise(SIGUSR1);
	lull_percpu_rwsem_read_lock(&sem);
	raise(SIGUSR1);
	lull_percpu_rwsem_read_unlock(&sem);
	lull_percpu_rwsem_write_lock(&sem);
	raise(SIGUSR1);
	lull_percpu_rwsem_write_unlock(&sem);
	raise(SIGUSR1);
	signal(SIGUSR1, before);
	assert_int_equal(handled, 4);
	assert_int_equal(handled_in, 3);
}

/* ---- misuse -------------------------------------------------------------------------------------------- */

static void *unlocks_for_writing(void *unused)
{
	lull_percpu_rwsem_write_unlock(&sem);
	return unused;
}

TEST(misuse)
{
	stop_hearing();
	EXPECT_ABORT("lull_percpu_rwsem_write_unlock: percpu_rwsem 0x")
		lull_percpu_rwsem_write_unlock(&sem);
	/* Also before they look whether another writer is there, who may wait for this section. */
	EXPECT_ABORT("lull_percpu_rwsem_write_lock in a read section would wait for itself for ever") {
		lull_percpu_rwsem_write_lock(&sem);
		lull_rcu_read_lock();
		lull_percpu_rwsem_write_lock(&sem);
	}
	EXPECT_ABORT("lull_percpu_rwsem_write_trylock in a read section would wait for itself for ever") {
		lull_percpu_rwsem_write_lock(&sem);
		lull_rcu_read_lock();
		lull_percpu_rwsem_write_trylock(&sem);
	}
	EXPECT_ABORT("lull_rcu_sync_dtor in a read section would wait for itself for ever") {
		lull_rcu_read_lock();
		lull_percpu_rwsem_destroy(&sem);
	}
	EXPECT_ABORT("lull_percpu_rwsem_destroy: percpu_rwsem 0x") {
		lull_percpu_rwsem_read_lock(&sem);
		lull_percpu_rwsem_destroy(&sem);
	}
	EXPECT_ABORT("lull_percpu_rwsem_write_lock: more readers of percpu_rwsem 0x") {
		lull_percpu_rwsem_read_unlock(&sem);
		lull_percpu_rwsem_write_lock(&sem);
	}
	EXPECT_ABORT(" destroys mutex ") {
		lull_percpu_rwsem_write_lock(&sem);
		lull_percpu_rwsem_destroy(&sem);
	}
	EXPECT_ABORT(" locks mutex ") {
		lull_percpu_rwsem_write_lock(&sem);
		lull_percpu_rwsem_write_lock(&sem);
	}
	if (THREADS_IN_CHILD)
		EXPECT_ABORT(" unlocks mutex ") {
			lull_percpu_rwsem_write_lock(&sem);
			join_thread(start_thread(unlocks_for_writing, NULL));
		}
	start_hearing();
}

/* ---- fork ---------------------------------------------------------------------------------------------- */

static void *writes_until_told(void *flag)
{
	lull_percpu_rwsem_write_lock(&sem);
	lull_store_release((int *)flag, 1);
	await_flag((int *)flag, 2);
	lull_percpu_rwsem_write_unlock(&sem);
	return NULL;
}

/* The child has all holds, may give its own back, and makes the lock anew for those of others. */
TEST(fork)
{
	pthread_t other;
	int flag = 0;

	NEEDS_THREADS_IN_CHILD();
	stop_hearing();
	lull_percpu_rwsem_read_lock(&sem);
	EXPECT_FINE {
		must(!lull_percpu_rwsem_write_trylock(&sem));
		lull_percpu_rwsem_read_unlock(&sem);
		lull_percpu_rwsem_write_lock(&sem);
		lull_percpu_rwsem_write_unlock(&sem);
		lull_percpu_rwsem_read_lock(&sem);
		lull_percpu_rwsem_read_unlock(&sem);
	}
	lull_percpu_rwsem_read_unlock(&sem);
	lull_percpu_rwsem_write_lock(&sem);
	EXPECT_FINE {
		must(!lull_percpu_rwsem_read_trylock(&sem));
		lull_percpu_rwsem_write_unlock(&sem);
		must(lull_percpu_rwsem_read_trylock(&sem));
		lull_percpu_rwsem_read_unlock(&sem);
		must(lull_percpu_rwsem_write_trylock(&sem));
		lull_percpu_rwsem_write_unlock(&sem);
	}
	lull_percpu_rwsem_write_unlock(&sem);
	join_thread(start_thread(locks_and_exits, NULL));
	EXPECT_FINE {
		must(!lull_percpu_rwsem_write_trylock(&sem));
		lull_rcu_barrier();
		lull_percpu_rwsem_init(&sem);
		must(lull_percpu_rwsem_write_trylock(&sem));
		lull_percpu_rwsem_write_unlock(&sem);
	}
	lull_percpu_rwsem_read_unlock(&sem);
	other = start_thread(writes_until_told, &flag);
	await_flag(&flag, 1);
	EXPECT_FINE {
		must(!lull_percpu_rwsem_read_trylock(&sem));
		lull_rcu_barrier();
		lull_percpu_rwsem_init(&sem);
		must(lull_percpu_rwsem_read_trylock(&sem));
		lull_percpu_rwsem_read_unlock(&sem);
	}
	lull_store_release(&flag, 2);
	join_thread(other);
	start_hearing();
}
