/* SPDX-License-Identifier: MIT */
/* runs: oracles */
/*
 * cond_stopped.c - cond.h: a thread that is stopped or killed in a signal or a broadcast, after it has
 * counted whom it is going to wake, keeps no other's call from waking; what such calls, and waiters that get up for
 * no signal, cost those that come later. This program's own syscall() stops threads where they are about to wake.
 */
#include <linux/futex.h>

#include "mutex/sleepers.h"
#include "own_syscall.h"

enum { FEW = 3, SIGNALS = 10000 };

static __thread unsigned calls; /* of this thread, that wake or move */
static __thread int *stops_for; /* it stops in the next one until this is set */
static __thread bool is_killed; /* ... or there */
static int stopped;

static bool instead_of_syscall(long number, const long *arg, long *result)
{
	long op = arg[1] & FUTEX_CMD_MASK;
	int *flag = stops_for;

	(void)result;
	if (number != SYS_futex || (op != FUTEX_WAKE && op != FUTEX_WAKE_BITSET && op != FUTEX_CMP_REQUEUE))
		return false;
	calls++;
	if (is_killed)
		kill(getpid(), SIGKILL);
	stops_for = NULL;
	if (flag) {
		lull_add_release(&stopped, 1);
		await_flag(flag, 1);
	}
	return false;
}

static unsigned calls_of_signals(int number)
{
	unsigned before = calls;

	for (int i = 0; i < number; i++)
		lull_cond_signal(&place->cond);
	return calls - before;
}

static void signal_or_broadcast(bool all)
{
	if (all)
		lull_cond_broadcast(&place->cond);
	else
		lull_cond_signal(&place->cond);
}

/* ---- a signaller that stops before it wakes ------------------------------------------------------------------- */

struct signaller {
	bool all;
	int may_go_on;
	pthread_t thread;
};

static void *signals(void *arg)
{
	struct signaller *s = (struct signaller *)arg;

	stops_for = &s->may_go_on;
	signal_or_broadcast(s->all);
	return NULL;
}

static void start_signaller(struct signaller *s, bool all)
{
	int before = stopped;

	s->all = all;
	s->may_go_on = 0;
	s->thread = start_thread(signals, s);
	await_flag(&stopped, before + 1);
}

static void join_signaller(struct signaller *s)
{
	lull_store_release(&s->may_go_on, 1);
	join_thread(s->thread);
}

/* Signals, one for each sleeper, or a broadcast, while another's signal or broadcast has stopped: all get up. */
static void expect_woken_beside(uint32_t with_flags, bool stopped_all, bool all)
{
	struct signaller s;

	make_place(with_flags);
	start_sleepers(FEW);
	start_signaller(&s, stopped_all);
	tell(FEW);
	if (all)
		lull_cond_broadcast(&place->cond);
	else
		assert_int_equal(calls_of_signals(FEW), FEW);
	join_sleepers(FEW);
	join_signaller(&s);
	leave_place();
}

TEST(stopped)
{
	for (int way = 0; way < 8; way++)
		expect_woken_beside(way & 1 ? LULL_MUTEX_SHARED : 0, way & 2, way & 4);
}

/* The first, that goes on, is no reason not to wake whom the second was to wake. */
TEST(two_stopped)
{
	struct signaller first, second;

	make_place(0);
	start_sleepers(2);
	start_signaller(&first, false);
	start_signaller(&second, false);
	tell(2);
	join_signaller(&first);
	assert_int_equal(calls_of_signals(1), 1);
	join_sleepers(2);
	join_signaller(&second);
	leave_place();
}

/* ---- and then others use another mutex ------------------------------------------------------------------------ */

static struct lull_mutex second;
static uint32_t second_tids[FEW];
static int gone_second;

static void *waits_with_second(void *tid)
{
	lull_mutex_lock(&second);
	lull_store_release((uint32_t *)tid, my_tid());
	while (!gone_second)
		lull_cond_wait(&place->cond, &second);
	lull_mutex_unlock(&second);
	return NULL;
}

static void *waits_for_a_while(void *unused)
{
	lull_mutex_lock(&place->lock);
	while (lull_cond_timedwait(&place->cond, &place->lock, now_ns() + 50 * MS) == 0)
		;
	lull_mutex_unlock(&place->lock);
	return unused;
}

/*
 * A broadcast has stopped that was for one whose time is up since. When it goes on, it moves nobody to the mutex of
 * that one, where no unlock wakes them.
 */
TEST(stopped_before_another_mutex)
{
	pthread_t threads[FEW], first;
	struct signaller s;

	make_place(0);
	gone_second = 0;
	first = start_thread(waits_for_a_while, NULL);
	AWAIT(how_many_wait(&place->cond) == 1);
	start_signaller(&s, true);
	join_thread(first);
	for (int i = 0; i < FEW; i++) {
		second_tids[i] = 0;
		threads[i] = start_thread(waits_with_second, &second_tids[i]);
	}
	for (int i = 0; i < FEW; i++)
		AWAIT(how_many_wait(&place->cond) == FEW && sleeps(&second_tids[i]));
	join_signaller(&s);
	lull_mutex_lock(&second);
	gone_second = 1;
	lull_cond_broadcast(&place->cond);
	lull_mutex_unlock(&second);
	for (int i = 0; i < FEW; i++)
		join_thread(threads[i]); /* or one sleeps where nobody unlocks */
	leave_place();
}

/* ---- what it costs ---------------------------------------------------------------------------------------------- */

/* A call in vain for each signal beside the one that has stopped, and for each that was beside it. */
TEST(cost_of_stopped)
{
	struct signaller s;

	make_place(0);
	start_sleepers(FEW);
	start_signaller(&s, false);
	lull_mutex_lock(&place->lock);
	place->may_go = FEW;
	assert_int_equal(calls_of_signals(FEW), FEW);
	assert_int_equal(calls_of_signals(5), 5);
	join_signaller(&s);
	assert_in_range(calls_of_signals(SIGNALS), 0, FEW + 5);
	assert_int_equal(calls_of_signals(SIGNALS), 0);
	lull_mutex_unlock(&place->lock);
	join_sleepers(FEW);
	leave_place();
}

/* ---- processes that are killed -------------------------------------------------------------------------------- */

static void kill_signaller(bool all)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		is_killed = true;
		signal_or_broadcast(all);
		_exit(0);
	}
	expect_killed(child);
}

/* Each signal wakes from then on, as long as there are waiters, and a broadcast does. */
TEST(killed_signaller)
{
	for (int way = 0; way < 4; way++) {
		bool all = way & 2;

		make_place(LULL_MUTEX_SHARED);
		start_sleepers(FEW);
		kill_signaller(way & 1);
		await_all_asleep(FEW); /* one that was on its way to sleep has seen the signal, and waits again */
		tell(FEW);
		calls = 0;
		if (all)
			lull_cond_broadcast(&place->cond);
		for (int i = 1; i <= FEW && !all; i++) {
			assert_int_equal(calls_of_signals(1), 1);
			await_back(i);
		}
		assert_int_equal(calls, all ? 1 : FEW);
		join_sleepers(FEW);
		assert_int_equal(calls_of_signals(SIGNALS), 0);
		lull_cond_destroy(&place->cond);
	}
}

/* A signal is stopped; its waiter gets up by itself and is gone; then this process is forked. */
TEST(forked_amid)
{
	struct place *shared = place, own;
	struct signaller s;

	NEEDS_THREADS_IN_CHILD();
	place = &own; /* of which the child has a copy */
	handle(SIGUSR1, does_nothing);
	make_place(0);
	start_sleepers(1);
	start_signaller(&s, false);
	tell(1);
	interrupt_until(sleepers[0].thread, SIGUSR1, &place->back, 1);
	join_sleepers(1);
	/* The child's own threads wait for this. The signal that was under way at the fork is never over there. */
	EXPECT_FINE {
		must(calls_of_signals(SIGNALS) == 0); /* no thread waits */
		place->may_go = place->back = 0;
		start_sleepers(FEW);
		lull_mutex_lock(&place->lock);
		place->may_go = FEW;
		must(calls_of_signals(SIGNALS) == SIGNALS);
		lull_mutex_unlock(&place->lock);
		join_sleepers(FEW);
		must(calls_of_signals(SIGNALS) == 0);
		lull_cond_destroy(&place->cond);
	}
	join_signaller(&s);
	leave_place();
	place = shared;
}

/* It costs one call in vain. */
static void waits_for_ever(void)
{
	lull_mutex_lock(&place->lock);
	place->back = -1;
	for (;;)
		lull_cond_wait(&place->cond, &place->lock);
}

TEST(killed_waiter)
{
	uint32_t tid;

	make_place(LULL_MUTEX_SHARED);
	tid = (uint32_t)start_process(waits_for_ever);
	await_flag(&place->back, -1);
	AWAIT(sleeps(&tid));
	kill_process((pid_t)tid);
	assert_in_range(calls_of_signals(SIGNALS), 0, 1);
	assert_int_equal(calls_of_signals(SIGNALS), 0);
	lull_cond_destroy(&place->cond);
}

/* A lost wake-up ends the test: by a line, where it is awaited, or by this. */
SETUP
{
	alarm(100);
	stopped = 0;
}
