/* SPDX-License-Identifier: MIT */
/* runs: oracles */
/*
 * cond_signal.c - cond.h: a signal asks the kernel once for each waiter and not more often, moves a sleeper to
 * the mutex, and is never lost: with many sleepers, beside timeouts, and where the kernel only knows wait and wake.
 */
#include <errno.h>
#include <linux/futex.h>

#include "mutex/support.h"
#include "own_syscall.h"

static struct lull_mutex lock;
static struct lull_cond cond;

/* ---- the calls of the library -------------------------------------------------------------------------------- */

static __thread unsigned wakes, moves; /* of this thread */
static bool no_requeue;

static bool instead_of_syscall(long number, const long *arg, long *result)
{
	long op = arg[1] & FUTEX_CMD_MASK;

	if (number != SYS_futex)
		return false;
	wakes += op == FUTEX_WAKE || op == FUTEX_WAKE_BITSET;
	moves += op == FUTEX_CMP_REQUEUE;
	if (op != FUTEX_CMP_REQUEUE || !no_requeue)
		return false;
	errno = ENOSYS;
	*result = -1;
	return true;
}

static unsigned calls(void)
{
	return wakes + moves;
}

/* A lost wake-up ends the test: by a line, where it is awaited, or by this. */
SETUP
{
	alarm(100);
	wakes = moves = 0;
}

TEARDOWN
{
	alarm(0);
	no_requeue = false;
}

/* ---- sleepers, each of which goes when it has been told once -------------------------------------------------- */

enum { FEW = 5, EXACT = 126 /* as the header says */, MANY = 300, SIGNALS = 10000 };

struct sleeper {
	uint32_t tid;
	pthread_t thread;
};

static struct sleeper sleepers[MANY];
static int may_go, back; /* under the lock */

static void *sleeps_until_told(void *arg)
{
	struct sleeper *s = (struct sleeper *)arg;

	lull_mutex_lock(&lock);
	lull_store_release(&s->tid, my_tid());
	while (!may_go)
		lull_cond_wait(&cond, &lock);
	may_go--;
	lull_store_release(&back, back + 1);
	lull_mutex_unlock(&lock);
	return NULL;
}

static void start_sleepers(int number)
{
	uint64_t give_up_ns = now_ns() + PATIENCE_NS;
	pthread_attr_t attr;

	memset(sleepers, 0, sizeof(sleepers));
	may_go = back = 0;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	for (int i = 0; i < number; i++)
		assert_int_equal(pthread_create(&sleepers[i].thread, &attr, sleeps_until_told, &sleepers[i]), 0);
	pthread_attr_destroy(&attr);
	for (int i = 0; i < number; i++) {
		while (!sleeps(&sleepers[i].tid)) {
			assert_true(now_ns() < give_up_ns);
			nap_ms(1);
		}
	}
	lull_mutex_lock(&lock); /* a waiter for the condition has unlocked it */
	lull_mutex_unlock(&lock);
	wakes = moves = 0;
}

static void await_back(int number)
{
	uint64_t give_up_ns = now_ns() + PATIENCE_NS;

	while (lull_load_acquire(&back) < number) {
		assert_true(now_ns() < give_up_ns);
		nap_ms(1);
	}
	assert_int_equal(lull_load_acquire(&back), number);
}

static void join_sleepers(int number)
{
	await_back(number);
	for (int i = 0; i < number; i++)
		join_thread(sleepers[i].thread);
	assert_int_equal(cond.waiters, 0);
	lull_cond_destroy(&cond);
	lull_mutex_destroy(&lock);
}

static void tell(int number)
{
	lull_mutex_lock(&lock);
	may_go += number;
	lull_mutex_unlock(&lock);
}

static unsigned calls_of_signals(int number)
{
	unsigned before = calls();

	for (int i = 0; i < number; i++)
		lull_cond_signal(&cond);
	return calls() - before;
}

/* ---- one call for each waiter --------------------------------------------------------------------------------- */

/* The owner's signals move: the waiters are still on their way when the last signal comes, and a broadcast. */
TEST(calls_of_owner)
{
	for (int way = 0; way < 3; way++) {
		int number = way == 0 ? 1 : way == 1 ? FEW : EXACT;

		start_sleepers(number);
		lull_mutex_lock(&lock);
		may_go = number;
		for (int i = 0; i < SIGNALS; i++)
			lull_cond_signal(&cond);
		lull_cond_broadcast(&cond);
		assert_int_equal(moves, number);
		assert_int_equal(wakes, 0);
		lull_mutex_unlock(&lock);
		join_sleepers(number);
	}
}

/* There are more than lull counts: each signal is for one of them. */
TEST(calls_of_many)
{
	start_sleepers(EXACT + 1);
	lull_mutex_lock(&lock);
	may_go = EXACT + 1;
	assert_int_equal(calls_of_signals(SIGNALS), SIGNALS);
	lull_mutex_unlock(&lock);
	join_sleepers(EXACT + 1);
}

/* After a broadcast, which has been for all, signals have nothing to do either. */
TEST(calls_after_broadcast)
{
	start_sleepers(FEW);
	lull_mutex_lock(&lock);
	may_go = FEW;
	lull_cond_broadcast(&cond);
	for (int i = 0; i < SIGNALS; i++)
		lull_cond_signal(&cond);
	assert_int_equal(calls(), 1);
	lull_mutex_unlock(&lock);
	join_sleepers(FEW);
}

/* With an unlock each time, and without the lock. */
TEST(calls_of_others)
{
	start_sleepers(FEW);
	tell(FEW);
	wakes = moves = 0;
	for (int i = 0; i < SIGNALS; i++)
		lull_cond_signal(&cond);
	assert_int_equal(calls(), FEW);
	join_sleepers(FEW);

	start_sleepers(FEW);
	for (int i = 0; i < SIGNALS; i++) {
		lull_mutex_lock(&lock);
		may_go = FEW - back;
		lull_cond_signal(&cond);
		lull_mutex_unlock(&lock);
	}
	assert_int_equal(moves, FEW);
	join_sleepers(FEW);
}

/* Waiters whose time is up are not signalled any more. */
TEST(calls_after_timeouts)
{
	lull_mutex_lock(&lock);
	for (int i = 0; i < 100; i++)
		assert_int_equal(lull_cond_timedwait(&cond, &lock, 0), -ETIMEDOUT);
	assert_int_equal(cond.waiters, 0);
	assert_int_equal(calls_of_signals(SIGNALS), 0);
	lull_mutex_unlock(&lock);
}

static void *times_out(void *deadline_ns)
{
	lull_mutex_lock(&lock);
	lull_cond_timedwait(&cond, &lock, *(uint64_t *)deadline_ns);
	lull_mutex_unlock(&lock);
	return NULL;
}

/* Beside waiters that sleep on and that signals are yet to come for. */
TEST(timeouts_beside)
{
	uint64_t past_ns = now_ns();

	start_sleepers(2);
	for (int i = 0; i < 20; i++)
		join_thread(start_thread(times_out, &past_ns));
	tell(2);
	assert_int_equal(calls_of_signals(SIGNALS), 2);
	join_sleepers(2);
}

static void await_waiters(uint32_t number)
{
	uint64_t give_up_ns = now_ns() + PATIENCE_NS;

	while ((lull_load_relaxed(&cond.waiters) & 0x3fffff00) != number << 8) {
		assert_true(now_ns() < give_up_ns);
		sched_yield();
	}
}

/* Beside one that has been signalled and cannot leave: a call in vain, which makes the count right. */
TEST(timeout_beside_moved)
{
	uint64_t deadline_ns;
	pthread_t thread;

	for (int i = 0; i < 10; i++) {
		start_sleepers(1);
		deadline_ns = now_ns() + 30 * MS;
		thread = start_thread(times_out, &deadline_ns);
		while (lull_load_relaxed(&cond.waiters) >> 8 != 2 && now_ns() < deadline_ns)
			sched_yield();
		lull_mutex_lock(&lock);
		may_go = 1;
		assert_int_equal(calls_of_signals(1), 1);
		await_waiters(1);
		assert_in_range(calls_of_signals(SIGNALS), 0, 1);
		assert_int_equal(calls_of_signals(SIGNALS), 0);
		lull_mutex_unlock(&lock);
		join_thread(thread);
		join_sleepers(1);
	}
}

/* ---- a signal moves a sleeper --------------------------------------------------------------------------------- */

/* The owner's unlock wakes it, and nothing before. */
TEST(signal_moves)
{
	unsigned woken;

	start_sleepers(FEW);
	for (unsigned i = 1; i <= FEW; i++) {
		lull_mutex_lock(&lock);
		may_go++;
		woken = wakes;
		lull_cond_signal(&cond);
		assert_int_equal(lock.word, my_tid() | LULL__MUTEX_WAITERS);
		assert_int_equal(moves, i);
		assert_int_equal(wakes, woken);
		lull_mutex_unlock(&lock);
		assert_int_equal(wakes, woken + 1);
		await_back(i);
	}
	join_sleepers(FEW);
}

/* A seccomp filter may know wait and wake only. */
TEST(no_requeue)
{
	no_requeue = true;
	start_sleepers(FEW);
	for (int i = 1; i <= 2; i++) {
		tell(1);
		lull_cond_signal(&cond);
		await_back(i);
	}
	lull_mutex_lock(&lock);
	may_go = FEW - 2;
	lull_cond_broadcast(&cond);
	lull_mutex_unlock(&lock);
	join_sleepers(FEW);
}

/* ---- no signal is lost ---------------------------------------------------------------------------------------- */

/* Send as many signals as there are sleepers: more than the condition variable counts, too. */
static void signal_each(int number, bool at_once, bool locked)
{
	start_sleepers(number);
	lull_mutex_lock(&lock);
	for (int i = 1; i <= number; i++) {
		may_go++;
		if (!locked)
			lull_mutex_unlock(&lock);
		lull_cond_signal(&cond);
		if (!at_once) {
			if (locked)
				lull_mutex_unlock(&lock);
			await_back(i);
		}
		if (!locked || !at_once)
			lull_mutex_lock(&lock);
	}
	lull_mutex_unlock(&lock);
	join_sleepers(number);
}

TEST(one_signal_each)
{
	for (int way = 0; way < 4; way++) {
		signal_each(2, way & 1, way & 2);
		signal_each(FEW, way & 1, way & 2);
	}
	signal_each(MANY, true, true);
	signal_each(MANY, true, false);
}

/* Threads that hand a turn on, each with a condition of its own; the next one is told by one signal. */
enum { PLAYERS = 4, TURNS = 6000 };

static struct lull_cond turns[PLAYERS];
static int players, turn;

static void *plays(void *arg)
{
	int me = (int)(intptr_t)arg;

	lull_mutex_lock(&lock);
	for (;;) {
		while (turn < TURNS && turn % players != me)
			lull_cond_wait(&turns[me], &lock);
		if (turn >= TURNS)
			break;
		turn++;
		if (turn % 3) {
			lull_cond_signal(&turns[turn % players]);
			continue;
		}
		lull_mutex_unlock(&lock);
		lull_cond_signal(&turns[(me + 1) % players]);
		lull_mutex_lock(&lock);
	}
	lull_cond_signal(&turns[(me + 1) % players]);
	lull_mutex_unlock(&lock);
	return NULL;
}

/* Waits where a player waits, for a short time. A signal that it gets is another's, so it passes it on. */
static void *interferes(void *arg)
{
	int where = (int)(intptr_t)arg;

	lull_mutex_lock(&lock);
	for (uint64_t i = 0; turn < TURNS; i++)
		if (lull_cond_timedwait(&turns[where], &lock, now_ns() + i % 5 * 20000) == 0)
			lull_cond_signal(&turns[where]);
	lull_cond_signal(&turns[where]);
	lull_mutex_unlock(&lock);
	return NULL;
}

static void play(int number, int interferers)
{
	pthread_t threads[2 * PLAYERS];

	players = number;
	turn = 0;
	for (int i = 0; i < number + interferers; i++)
		threads[i] = i < number ? start_thread(plays, (void *)(intptr_t)i)
					: start_thread(interferes, (void *)(intptr_t)(i - number));
	for (int i = 0; i < number + interferers; i++)
		join_thread(threads[i]);
	assert_int_equal(turn, TURNS);
	for (int i = 0; i < PLAYERS; i++) {
		assert_int_equal(turns[i].waiters, 0);
		lull_cond_destroy(&turns[i]);
	}
	lull_mutex_destroy(&lock);
}

TEST(turns)
{
	play(2, 0);
	play(4, 0);
}

TEST(turns_beside_timeouts)
{
	play(2, 1);
	play(2, 2);
	play(4, 4);
}
