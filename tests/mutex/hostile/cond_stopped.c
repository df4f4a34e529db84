/* SPDX-License-Identifier: MIT */
/* runs: oracles */
/*
 * cond_stopped.c - cond.h: a thread that is stopped or killed in a signal or a broadcast, after it has
 * counted whom it is going to wake, keeps no other's call from waking; what such calls, and waiters that get up for
 * no signal, cost those that come later. This program's own syscall() stops threads where they are about to wake.
 */
#include <linux/futex.h>

#include "mutex/support.h"
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

static unsigned calls_of_signals(struct lull_cond *c, int number)
{
	unsigned before = calls;

	for (int i = 0; i < number; i++)
		lull_cond_signal(c);
	return calls - before;
}

/* ---- sleepers, each of which goes when it has been told once -------------------------------------------------- */

/* In memory that processes share. */
static struct page {
	struct lull_mutex lock;
	struct lull_cond cond;
	int may_go, back; /* under the lock */
} *page;

static uint32_t tids[FEW];
static pthread_t threads[FEW];
static uint32_t flags;

static void *sleeps_until_told(void *tid)
{
	lull_mutex_lock(&page->lock);
	lull_store_release((uint32_t *)tid, my_tid());
	while (!page->may_go)
		lull_cond_wait(&page->cond, &page->lock);
	page->may_go--;
	lull_store_release(&page->back, page->back + 1);
	lull_mutex_unlock(&page->lock);
	return NULL;
}

static void await_asleep_all(int first, int number)
{
	uint64_t give_up_ns = now_ns() + PATIENCE_NS;

	for (int i = first; i < first + number; i++) {
		while (!sleeps(&tids[i])) {
			assert_true(now_ns() < give_up_ns);
			nap_ms(1);
		}
	}
	lull_mutex_lock(&page->lock); /* a waiter for the condition has unlocked it */
	lull_mutex_unlock(&page->lock);
}

static void start_sleepers(int first, int number)
{
	for (int i = first; i < first + number; i++) {
		tids[i] = 0;
		threads[i] = start_thread(sleeps_until_told, &tids[i]);
	}
	await_asleep_all(first, number);
}

static void tell(int number)
{
	lull_mutex_lock(&page->lock);
	page->may_go += number;
	lull_mutex_unlock(&page->lock);
}

static void await_back(int number)
{
	uint64_t give_up_ns = now_ns() + PATIENCE_NS;

	while (lull_load_acquire(&page->back) < number) {
		assert_true(now_ns() < give_up_ns);
		nap_ms(1);
	}
}

static void join_sleepers(int number)
{
	await_back(number);
	for (int i = 0; i < number; i++)
		join_thread(threads[i]);
}

static void begin(uint32_t with_flags)
{
	flags = with_flags;
	page->may_go = page->back = stopped = 0;
	lull_mutex_init(&page->lock, flags);
	lull_cond_init(&page->cond, flags);
}

static void end(void)
{
	assert_int_equal(page->cond.waiters, flags);
	lull_cond_destroy(&page->cond);
	lull_mutex_destroy(&page->lock);
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
	if (s->all)
		lull_cond_broadcast(&page->cond);
	else
		lull_cond_signal(&page->cond);
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

	begin(with_flags);
	start_sleepers(0, FEW);
	start_signaller(&s, stopped_all);
	tell(FEW);
	if (all)
		lull_cond_broadcast(&page->cond);
	else
		assert_int_equal(calls_of_signals(&page->cond, FEW), FEW);
	join_sleepers(FEW);
	join_signaller(&s);
	end();
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

	begin(0);
	start_sleepers(0, 2);
	start_signaller(&first, false);
	start_signaller(&second, false);
	tell(2);
	join_signaller(&first);
	assert_int_equal(calls_of_signals(&page->cond, 1), 1);
	join_sleepers(2);
	join_signaller(&second);
	end();
}

/* A call in vain for each signal beside the one that has stopped, and for each that was beside it. */
TEST(cost_of_stopped)
{
	struct signaller s;

	begin(0);
	start_sleepers(0, FEW);
	start_signaller(&s, false);
	lull_mutex_lock(&page->lock);
	page->may_go = FEW;
	assert_int_equal(calls_of_signals(&page->cond, FEW), FEW);
	assert_int_equal(calls_of_signals(&page->cond, 5), 5);
	join_signaller(&s);
	assert_in_range(calls_of_signals(&page->cond, SIGNALS), 0, FEW + 5);
	assert_int_equal(calls_of_signals(&page->cond, SIGNALS), 0);
	lull_mutex_unlock(&page->lock);
	join_sleepers(FEW);
	end();
}

/* ---- processes that are killed -------------------------------------------------------------------------------- */

static void await_killed(pid_t child)
{
	int status = 0;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void kill_signaller(bool all)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		is_killed = true;
		if (all)
			lull_cond_broadcast(&page->cond);
		else
			lull_cond_signal(&page->cond);
		_exit(0);
	}
	await_killed(child);
}

/* Each signal wakes from then on, as long as there are waiters. */
TEST(killed_signaller)
{
	for (int all = 0; all <= 1; all++) {
		begin(LULL_MUTEX_SHARED);
		start_sleepers(0, FEW);
		kill_signaller(all);
		await_asleep_all(0, FEW); /* one that was on its way to sleep has seen the signal, and waits again */
		tell(FEW);
		for (int i = 1; i <= FEW; i++) {
			assert_int_equal(calls_of_signals(&page->cond, 1), 1);
			await_back(i);
		}
		join_sleepers(FEW);
		assert_int_equal(calls_of_signals(&page->cond, SIGNALS), 0);
		lull_cond_broadcast(&page->cond);
		lull_cond_destroy(&page->cond);
	}
}

/* A signal is stopped; its waiter gets up by itself and is gone; then this process is forked. */
TEST(forked_amid)
{
	struct page *shared = page, own;
	struct signaller s;

	NEEDS_THREADS_IN_CHILD();
	page = &own; /* of which the child has a copy */
	handle(SIGUSR1, does_nothing);
	begin(0);
	start_sleepers(0, 1);
	start_signaller(&s, false);
	tell(1);
	interrupt_until(threads[0], SIGUSR1, &page->back, 1);
	join_thread(threads[0]);
	/* The child's own threads wait for this. The signal that was under way at the fork is never over there. */
	EXPECT_FINE {
		must(calls_of_signals(&page->cond, SIGNALS) == 0); /* no thread waits */
		page->may_go = page->back = 0;
		start_sleepers(0, FEW);
		lull_mutex_lock(&page->lock);
		page->may_go = FEW;
		must(calls_of_signals(&page->cond, SIGNALS) == SIGNALS);
		lull_mutex_unlock(&page->lock);
		join_sleepers(FEW);
		must(calls_of_signals(&page->cond, SIGNALS) == 0);
		lull_cond_destroy(&page->cond);
	}
	join_signaller(&s);
	end();
	page = shared;
}

TEST(broadcast_after_kill)
{
	for (int all = 0; all <= 1; all++) {
		begin(LULL_MUTEX_SHARED);
		start_sleepers(0, FEW);
		kill_signaller(all);
		tell(FEW);
		calls = 0;
		lull_cond_broadcast(&page->cond);
		assert_int_equal(calls, 1);
		join_sleepers(FEW);
		lull_cond_destroy(&page->cond);
	}
}

/* It costs one call in vain. */
TEST(killed_waiter)
{
	pid_t child;
	uint32_t tid;

	begin(LULL_MUTEX_SHARED);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		lull_mutex_lock(&page->lock);
		page->back = -1;
		for (;;)
			lull_cond_wait(&page->cond, &page->lock);
	}
	tid = (uint32_t)child;
	await_flag(&page->back, -1);
	AWAIT(sleeps(&tid));
	kill(child, SIGKILL);
	await_killed(child);
	assert_in_range(calls_of_signals(&page->cond, SIGNALS), 0, 1);
	assert_int_equal(calls_of_signals(&page->cond, SIGNALS), 0);
	lull_cond_destroy(&page->cond);
}

/* ---- who gets up for no signal -------------------------------------------------------------------------------- */

/* A signal handler beside a waiter that has been moved and cannot leave: a call in vain at most. */
TEST(interrupted)
{
	uint64_t give_up_ns;

	handle(SIGUSR1, does_nothing);
	begin(0);
	start_sleepers(0, 2);
	lull_mutex_lock(&page->lock);
	page->may_go = 2;
	assert_int_equal(calls_of_signals(&page->cond, 1), 1);
	give_up_ns = now_ns() + PATIENCE_NS;
	while (page->cond.waiters >> 8 == 2) { /* either gets up at once */
		assert_true(now_ns() < give_up_ns);
		pthread_kill(threads[1], SIGUSR1);
		nap_ms(1);
	}
	assert_in_range(calls_of_signals(&page->cond, SIGNALS), 0, 1);
	assert_int_equal(calls_of_signals(&page->cond, SIGNALS), 0);
	lull_mutex_unlock(&page->lock);
	join_sleepers(2);
	end();
}

/* ---- main ----------------------------------------------------------------------------------------------------- */

static void make_page(void)
{
	page = (struct page *)mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(page != MAP_FAILED);
}

/* A lost wake-up ends the test: by a line, where it is awaited, or by this. */
SETUP
{
	alarm(100);
}

BEFORE_ALL
{
	make_page();
}
