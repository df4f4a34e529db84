/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences, core */
/*
 * public.c - rcu.h: sections, grace periods, cookies, online threads, misuse.
 */
#include <signal.h>

#include "seccomp.h"

struct thing {
	int value;
	struct lull_rcu_head rcu;
};

/* One type with two names: a head serves RCU and hazard pointers, and the kernel's name compiles. */
static struct lull_rcu_head *head_by_either_name(struct lull_head *head)
{
	return head;
}

/* A thread that is in a read section from `inside` until it is told to leave. */
struct reader {
	pthread_t thread;
	int inside, leave, left;
	uint32_t depth;
};

static void *reader_run(void *arg)
{
	struct reader *reader = (struct reader *)arg;

	for (uint32_t i = 0; i < reader->depth; i++)
		lull_rcu_read_lock();
	lull_store_release(&reader->inside, 1);
	await_flag(&reader->leave, 1);
	for (uint32_t i = 1; i < reader->depth; i++)
		lull_rcu_read_unlock();
	lull_store_release(&reader->left, 1);
	lull_rcu_read_unlock();
	return NULL;
}

static void reader_start(struct reader *reader, uint32_t depth)
{
	memset(reader, 0, sizeof(*reader));
	reader->depth = depth;
	reader->thread = start_thread(reader_run, reader);
	await_flag(&reader->inside, 1);
}

static void reader_stop(struct reader *reader)
{
	lull_store_release(&reader->leave, 1);
	join_thread(reader->thread);
}

static void *synchronizer_run(void *arg)
{
	lull_rcu_synchronize();
	lull_store_release((int *)arg, 1);
	return NULL;
}

/* Start a thread that waits for a grace period. That has begun on return, however late the thread comes to run. */
static pthread_t start_waiter(void *(*func)(void *), int *done)
{
	uint64_t number = lull_load_relaxed(&lull__rcu_gp);
	pthread_t waiter = start_thread(func, done);

	AWAIT_SOON(lull_load_relaxed(&lull__rcu_gp) != number);
	return waiter;
}

TEST(held)
{
	assert_false(lull_rcu_read_lock_held());
	lull_rcu_read_lock();
	assert_true(lull_rcu_read_lock_held());
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	assert_true(lull_rcu_read_lock_held());
	lull_rcu_read_unlock();
	assert_false(lull_rcu_read_lock_held());
}

/* A section may be nested as deep as one likes, and lasts until the last unlock; then all is as it was before. */
static void nest(int depths)
{
	uint64_t outside = lull__self.rcu;
	lull_rcu_cookie cookie;

	for (int depth = 0; depth < depths; depth++)
		lull_rcu_read_lock();
	cookie = lull_rcu_gp_start();
	for (int depth = depths; depth > 0; depth--) {
		if (depth % 100 < 3)
			assert_false(lull_rcu_gp_poll(cookie));
		if (depth % 1000 == 0) { /* a handler, say */
			lull_rcu_read_lock();
			lull_rcu_read_unlock();
		}
		assert_true(lull_rcu_read_lock_held());
		lull_rcu_read_unlock();
	}
	assert_false(lull_rcu_read_lock_held());
	assert_int_equal(lull__self.rcu, outside);
	lull_rcu_gp_wait(cookie);
}

TEST(deep)
{
	lull_rcu_read_lock(); /* registered from now on */
	lull_rcu_read_unlock();
	nest(511);
	nest(512);
	nest(513);
	nest(514);
	nest(8192);
	nest(100000);
}

/* So may an online thread's, which is not quiescent until the last unlock, and then is. */
TEST(deep_online)
{
	lull_rcu_cookie cookie;

	lull_rcu_online();
	for (int depth = 0; depth < 8192; depth++)
		lull_rcu_read_lock();
	cookie = lull_rcu_gp_start();
	for (int depth = 8192; depth > 0; depth--) {
		assert_true(lull__rcu_in_section());
		lull_rcu_read_unlock();
	}
	assert_false(lull__rcu_in_section());
	assert_false(lull_rcu_gp_poll(cookie));
	lull_rcu_quiescent();
	assert_int_equal(lull__self.rcu & LULL__RCU_LOW, 0);
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	lull_rcu_offline();
	lull_rcu_gp_wait(cookie);
}

static void nest_twice(void)
{
	for (int times = 0; times < 2; times++) {
		for (int depth = 0; depth < 2000; depth++)
			lull_rcu_read_lock();
		for (int depth = 0; depth < 2000; depth++)
			lull_rcu_read_unlock();
	}
}

FIRST_TEST(deep_said)
{
	char text[4096];
	int status = run_child(nest_twice, text, sizeof(text));

	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
#ifdef LULL_DEBUG
	assert_string_equal(text, "lull: lull_rcu_read_lock: nested 1000 deep; is an unlock missing?\n");
#else
	assert_string_equal(text, "");
#endif
}

static int guarded(int way)
{
	LULL_RCU_GUARD();
	assert_true(lull_rcu_read_lock_held());
	for (int i = 0; i < 3; i++) {
		LULL_RCU_GUARD();
		if (way == i)
			continue;
		if (way == i + 10)
			break;
		if (way == i + 20)
			return i;
	}
	return -1;
}

TEST(guard)
{
	for (int way = 0; way < 30; way++) {
		guarded(way);
		assert_false(lull_rcu_read_lock_held());
	}
}

TEST(publish)
{
	struct thing first = { 1, { NULL, NULL } }, second = { 2, { NULL, NULL } };
	struct thing *pointer = &first;

	lull_rcu_read_lock();
	assert_int_equal(lull_rcu_dereference(pointer)->value, 1);
	lull_rcu_read_unlock();
	assert_ptr_equal(lull_rcu_replace(pointer, &second), &first);
	assert_ptr_equal(lull_rcu_access(pointer), &second);
	assert_ptr_equal(lull_rcu_dereference_protected(pointer), &second);
	lull_rcu_assign(pointer, &first);
	assert_ptr_equal(pointer, &first);
}

/* synchronize() waits for a section that was there, at any depth, and not for others. */
TEST(waits)
{
	for (uint32_t depth = 1; depth <= 3; depth++) {
		struct reader old, other;
		int done = 0;
		pthread_t waiter;

		reader_start(&old, depth);
		waiter = start_waiter(synchronizer_run, &done);
		nap_ms(20);
		/* This section begins after the grace period did: it must not hold it up. */
		reader_start(&other, 1);
		assert_int_equal(lull_load_acquire(&done), 0);
		reader_stop(&old);
		join_thread(waiter);
		assert_int_equal(done, 1);
		reader_stop(&other);
	}
}

static int idle_ready, idle_leave;

static void *idles(void *unused)
{
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	lull_add_release(&idle_ready, 1);
	await_flag(&idle_leave, 1);
	return unused;
}

/* Threads that are registered, between two sections: a grace period ends while they are there. */
TEST(idle_threads_do_not_matter)
{
	enum { N = 8 };
	pthread_t threads[N];

	idle_ready = idle_leave = 0;
	for (int i = 0; i < N; i++)
		threads[i] = start_thread(idles, NULL);
	await_flag(&idle_ready, N);
	alarm(60);
	lull_rcu_synchronize();
	alarm(0);
	assert_true(lull_thread_count() >= N);
	lull_store_release(&idle_leave, 1);
	for (int i = 0; i < N; i++)
		join_thread(threads[i]);
}

static void *waits_for_cookie(void *done)
{
	lull_rcu_gp_wait(lull_rcu_gp_start());
	lull_store_release((int *)done, 1);
	return NULL;
}

/* gp_wait() waits as synchronize() does, but not for a cookie that is over. */
TEST(gp_wait)
{
	lull_rcu_cookie before = lull_rcu_gp_start();
	struct reader reader;
	int done = 0;
	pthread_t waiter;

	lull_rcu_gp_wait(before);
	reader_start(&reader, 1);
	waiter = start_waiter(waits_for_cookie, &done);
	nap_ms(20);
	lull_rcu_gp_wait(before);
	assert_int_equal(lull_load_acquire(&done), 0);
	reader_stop(&reader);
	join_thread(waiter);
	assert_int_equal(done, 1);
}

#define SHARERS 6

/* How many grace periods are begun for threads that wait at the same time. */
static uint64_t periods_of_sharers(void)
{
	struct reader reader;
	pthread_t waiters[SHARERS];
	int done[SHARERS] = { 0 };
	uint64_t number;

	reader_start(&reader, 1);
	number = lull_load_relaxed(&lull__rcu_gp);
	for (int i = 0; i < SHARERS; i++)
		waiters[i] = start_thread(synchronizer_run, &done[i]);
	nap_ms(20);
	for (int i = 0; i < SHARERS; i++)
		assert_int_equal(lull_load_acquire(&done[i]), 0);
	reader_stop(&reader);
	for (int i = 0; i < SHARERS; i++)
		join_thread(waiters[i]);
	return (lull_load_relaxed(&lull__rcu_gp) - number) / LULL__RCU_STEP;
}

/* One that the first of them begins, and one for all others; more if a thread comes late: the best of some tries. */
TEST(shared_grace_period)
{
	uint64_t least = UINT64_MAX;

	for (int tries = 0; tries < 50 && least > 2; tries++) {
		uint64_t periods = periods_of_sharers();

		least = periods < least ? periods : least;
	}
	assert_in_range(least, 1, 2);
}

TEST(cookies)
{
	struct reader reader;
	lull_rcu_cookie before, during;

	before = lull_rcu_gp_start();
	lull_rcu_gp_wait(before);
	assert_true(lull_rcu_gp_poll(before));

	reader_start(&reader, 1);
	during = lull_rcu_gp_start();
	assert_true(lull_rcu_gp_poll(before));
	for (int i = 0; i < 1000; i++)
		assert_false(lull_rcu_gp_poll(during));
	reader_stop(&reader);
	assert_true(lull_rcu_gp_poll(during));
	lull_rcu_gp_wait(during);

	/* A cookie from inside a section is not over there. */
	lull_rcu_read_lock();
	during = lull_rcu_gp_start();
	assert_false(lull_rcu_gp_poll(during));
	assert_true(lull_rcu_gp_poll(before));
	lull_rcu_read_unlock();
	assert_true(lull_rcu_gp_poll(during));
}

/* gp_start() begins a grace period, but no second one while that is open. */
FIRST_TEST(one_is_open)
{
	lull_rcu_cookie first, second;
	struct reader reader;
	uint64_t number;

	reader_start(&reader, 1);
	number = lull_load_relaxed(&lull__rcu_gp);
	first = lull_rcu_gp_start();
	assert_int_equal(lull_load_relaxed(&lull__rcu_gp), number + LULL__RCU_STEP);
	second = lull_rcu_gp_start();
	assert_true(second > first);
	assert_int_equal(lull_load_relaxed(&lull__rcu_gp), number + LULL__RCU_STEP);
	assert_false(lull_rcu_gp_poll(second));
	assert_int_equal(lull_load_relaxed(&lull__rcu_gp), number + LULL__RCU_STEP);
	reader_stop(&reader);
	assert_true(lull_rcu_gp_poll(second));
}

/* A poll that ends one grace period, and begins and ends the next one, makes one heavy fence. */
FIRST_TEST(fence_of_poll)
{
	struct reader first, other;
	lull_rcu_cookie cookie;
	uint64_t fences;

	reader_start(&first, 1);
	lull_rcu_gp_start();
	cookie = lull_rcu_gp_start();
	reader_start(&other, 1);
	reader_stop(&first);
	fences = lull_fence_heavy_count();
	assert_false(lull_rcu_gp_poll(cookie));
	assert_int_equal(lull_fence_heavy_count() - fences, lull_fence_strategy() == LULL_FENCE_MEMBARRIER);
	fences = lull_fence_heavy_count();
	for (int i = 0; i < 100; i++)
		assert_false(lull_rcu_gp_poll(cookie));
	assert_int_equal(lull_fence_heavy_count(), fences);
	reader_stop(&other);
	assert_true(lull_rcu_gp_poll(cookie));
	assert_int_equal(lull_fence_heavy_count(), fences);
}

/* A grace period that a poller began is finished by the next thread, and covers no later cookie. */
TEST(open_grace_period)
{
	struct reader first, second;
	lull_rcu_cookie one, two;

	reader_start(&first, 1);
	one = lull_rcu_gp_start();
	reader_start(&second, 1);
	two = lull_rcu_gp_start();
	assert_true(two > one);
	reader_stop(&first);
	assert_false(lull_rcu_gp_poll(two));
	reader_stop(&second);
	lull_rcu_synchronize();
	assert_true(lull_rcu_gp_poll(one));
	assert_true(lull_rcu_gp_poll(two));
}

#define STREAM 64

/*
 * A cookie for each retired object, while one section or another is always open: each grace period that begins is
 * finished, although the next cookie asks for a newer one before its readers have left.
 */
TEST(stream_of_cookies)
{
	struct reader reader[2];
	lull_rcu_cookie cookie[STREAM];
	int begun = 0, over = 0, late = 0;

	reader_start(&reader[1], 1);
	for (int i = 0; i < STREAM; i++) {
		reader_start(&reader[i % 2], 1);
		cookie[begun++] = lull_rcu_gp_start();
		reader_stop(&reader[(i + 1) % 2]);
		if (lull_rcu_gp_poll(cookie[over]))
			over++;
		late += over < begun - 3;
	}
	reader_stop(&reader[(STREAM - 1) % 2]);
	assert_int_equal(late, 0);
	/* The first call may only finish the one that is open. */
	lull_rcu_gp_poll(cookie[STREAM - 1]);
	assert_true(lull_rcu_gp_poll(cookie[STREAM - 1]));
}

/* ---- online threads ------------------------------------------------------------------------------- */

struct looper {
	pthread_t thread;
	const struct lull__thread *record;
	int online, go, told, finish;
};

/* The next grace period sleeps until the thread of @looper, which is online, wakes it. */
static void await_sleeper(const struct looper *looper)
{
	AWAIT(lull_load_relaxed(&looper->record->flags) & LULL__FLAG_RCU_WAITED);
	nap_ms(20);
}

static void *looper_run(void *arg)
{
	struct looper *looper = (struct looper *)arg;

	lull_rcu_online();
	assert_true(lull_rcu_read_lock_held());
	lull_rcu_online_read_lock();
	looper->record = &lull__self;
	lull_store_release(&looper->online, 1);
	await_flag(&looper->go, 1);
	lull_rcu_online_read_unlock();
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	assert_true(lull_rcu_read_lock_held());
	lull_rcu_quiescent();
	lull_store_release(&looper->told, 1);
	await_flag(&looper->finish, 1);
	lull_rcu_offline();
	assert_false(lull_rcu_read_lock_held());
	return NULL;
}

TEST(online)
{
	struct looper looper;
	int done = 0;
	pthread_t waiter;

	set_stall_ms(0); /* nothing else shall wake a waiter */
	memset(&looper, 0, sizeof(looper));
	looper.thread = start_thread(looper_run, &looper);
	await_flag(&looper.online, 1);
	waiter = start_waiter(synchronizer_run, &done);
	await_sleeper(&looper);
	assert_int_equal(lull_load_acquire(&done), 0);
	alarm(60);
	lull_store_release(&looper.go, 1);
	join_thread(waiter); /* the quiescent state was enough; the thread is still online */
	await_flag(&looper.told, 1);
	waiter = start_thread(synchronizer_run, &done);
	await_sleeper(&looper);
	lull_store_release(&looper.finish, 1); /* and so is going offline */
	join_thread(waiter);
	join_thread(looper.thread);
	alarm(0);
	set_stall_ms(1000);
}

/* An online thread that waits does not wait for itself, nor two of them for each other. */
static void *online_synchronizer(void *unused)
{
	(void)unused;
	lull_rcu_online();
	for (int i = 0; i < 200; i++) {
		lull_rcu_synchronize();
		assert_true(lull_rcu_read_lock_held());
		lull_rcu_barrier();
		assert_true(lull_rcu_read_lock_held());
	}
	lull_rcu_offline();
	return NULL;
}

TEST(online_threads_synchronize)
{
	pthread_t one, two;

	one = start_thread(online_synchronizer, NULL);
	two = start_thread(online_synchronizer, NULL);
	join_thread(one);
	join_thread(two);
}

static void *exits_online(void *arg)
{
	struct looper *looper = (struct looper *)arg;

	lull_rcu_online();
	looper->record = &lull__self;
	lull_store_release(&looper->online, 1);
	await_flag(&looper->go, 1);
	return NULL;
}

static void *unregisters_online(void *arg)
{
	struct looper *looper = (struct looper *)arg;

	exits_online(arg);
	lull_thread_unregister();
	lull_store_release(&looper->told, 1);
	await_flag(&looper->finish, 1);
	return NULL;
}

/* A grace period that sleeps for an online thread hears of it when that does @what, which takes its record back. */
static void check_woken_by(void *(*what)(void *))
{
	struct looper looper;
	int done = 0;
	pthread_t waiter;

	set_stall_ms(0); /* nothing else shall wake it */
	memset(&looper, 0, sizeof(looper));
	looper.thread = start_thread(what, &looper);
	await_flag(&looper.online, 1);
	waiter = start_thread(synchronizer_run, &done);
	await_sleeper(&looper);
	alarm(60);
	lull_store_release(&looper.go, 1);
	join_thread(waiter);
	alarm(0);
	lull_store_release(&looper.finish, 1);
	join_thread(looper.thread);
	set_stall_ms(1000);
	lull_rcu_synchronize();
}

TEST(unregister_online)
{
	check_woken_by(unregisters_online);
}

TEST(exit_online)
{
	check_woken_by(exits_online);
}

/* ---- one thread that has a section of each kind, one after the other ---------------------------------- */

static void nothing(void)
{
}

static void unregister_and_lock(void)
{
	lull_thread_unregister();
	lull_rcu_read_lock();
}

static void register_and_lock(void)
{
	lull_thread_register();
	lull_rcu_read_lock();
}

static const struct {
	void (*enter)(void), (*leave)(void);
} kinds[] = {
	{ lull_rcu_read_lock, lull_rcu_read_unlock },
	{ lull_rcu_online, lull_rcu_quiescent },
	{ nothing, lull_rcu_quiescent }, /* since the last time that it was quiescent */
	{ lull_rcu_synchronize, lull_rcu_quiescent },
	{ nothing, lull_rcu_synchronize },
	{ nothing, lull_rcu_offline },
	{ lull_rcu_read_lock, lull_rcu_read_unlock },
	{ unregister_and_lock, lull_rcu_read_unlock },
	{ lull_rcu_read_lock, lull_rcu_read_unlock },
	{ register_and_lock, lull_rcu_read_unlock },
	{ lull_rcu_online, lull_thread_unregister },
	{ lull_rcu_read_lock, lull_rcu_read_unlock },
	{ lull_rcu_online, lull_rcu_offline },
	{ lull_rcu_read_lock, lull_rcu_read_unlock },
};

#define KINDS (int)(sizeof(kinds) / sizeof(*kinds))

struct switcher {
	int inside, leave, left, next; /* number of the section, from 1 on */
};

static void *switcher_run(void *arg)
{
	struct switcher *switcher = (struct switcher *)arg;

	for (int i = 0; i < KINDS; i++) {
		kinds[i].enter();
		assert_true(lull_rcu_read_lock_held());
		lull_store_release(&switcher->inside, i + 1);
		await_flag(&switcher->leave, i + 1);
		kinds[i].leave();
		lull_store_release(&switcher->left, i + 1);
		await_flag(&switcher->next, i + 1);
	}
	return NULL;
}

/* A grace period waits for the section, whatever kinds came before, and no longer than it lasts. */
TEST(each_kind_of_section)
{
	struct switcher switcher = { 0, 0, 0, 0 };
	pthread_t thread = start_thread(switcher_run, &switcher);

	for (int i = 0; i < KINDS; i++) {
		lull_rcu_cookie cookie;

		await_flag(&switcher.inside, i + 1);
		cookie = lull_rcu_gp_start();
		for (int j = 0; j < 10; j++)
			assert_false(lull_rcu_gp_poll(cookie));
		lull_store_release(&switcher.leave, i + 1);
		await_flag(&switcher.left, i + 1);
		assert_true(lull_rcu_gp_poll(cookie));
		lull_store_release(&switcher.next, i + 1);
	}
	join_thread(thread);
}

/* ---- signals ----------------------------------------------------------------------------------------- */

static int in_handler;

static void reading_handler(int unused)
{
	(void)unused;
	lull_rcu_read_lock();
	lull_add_relaxed(&in_handler, 1);
	lull_rcu_read_unlock();
}

static void *signalled_run(void *arg)
{
	lull_thread_register();
	while (!lull_load_acquire((int *)arg)) {
		lull_rcu_read_lock();
		lull_rcu_read_lock();
		lull_rcu_read_unlock();
		lull_rcu_read_unlock();
	}
	assert_false(lull_rcu_read_lock_held());
	return NULL;
}

TEST(signal_handlers_read)
{
	struct sigaction action;
	int stop = 0, done = 0;
	pthread_t thread, waiter;

	memset(&action, 0, sizeof(action));
	action.sa_handler = reading_handler;
	sigaction(SIGUSR1, &action, NULL);
	for (int round = 0; round < 20; round++) {
		lull_store_release(&stop, 0);
		thread = start_thread(signalled_run, &stop);
		for (int i = 0; i < 100; i++) {
			pthread_kill(thread, SIGUSR1);
			waiter = start_thread(synchronizer_run, &done);
			pthread_kill(waiter, SIGUSR1);
			join_thread(waiter);
		}
		lull_store_release(&stop, 1);
		join_thread(thread);
	}
	assert_true(in_handler > 0);
}

static int handled;

static void nests_in_handler(int signal)
{
	(void)signal;
	assert_int_equal(lull__self.rcu, LULL__RCU_REST); /* its sections go out of line, where the full fence is */
	assert_false(lull_rcu_read_lock_held());
	lull_rcu_read_lock();
	lull_rcu_read_lock();
	assert_true(lull_rcu_read_lock_held());
	lull_rcu_read_unlock();
	assert_true(lull_rcu_read_lock_held());
	lull_rcu_read_unlock();
	assert_int_equal(lull__self.rcu, LULL__RCU_REST); /* its sections go out of line, where the full fence is */
	assert_false(lull_rcu_read_lock_held());
	lull_add_relaxed(&handled, 1);
}

static void *online_waiter(void *done)
{
	lull_rcu_online();
	lull_rcu_synchronize();
	assert_true(lull_rcu_read_lock_held());
	lull_rcu_offline();
	assert_false(lull_rcu_read_lock_held());
	lull_store_release((int *)done, 1);
	return NULL;
}

/* While an online thread waits, its signal handlers have ordinary sections, nested too. */
TEST(handlers_read_while_online_waits)
{
	struct sigaction act, old;
	struct reader holds_up;
	pthread_t waiter;
	int done = 0;

	memset(&act, 0, sizeof(act));
	act.sa_handler = nests_in_handler;
	assert_int_equal(sigaction(SIGUSR2, &act, &old), 0);
	reader_start(&holds_up, 1);
	waiter = start_waiter(online_waiter, &done);
	lull_store_relaxed(&handled, 0);
	for (int before; (before = lull_load_relaxed(&handled)) < 20;)
		interrupt_until(waiter, SIGUSR2, &handled, before + 1);
	assert_int_equal(lull_load_acquire(&done), 0);
	reader_stop(&holds_up);
	join_thread(waiter);
	assert_int_equal(done, 1);
	sigaction(SIGUSR2, &old, NULL);
}

static sigjmp_buf out;
static volatile sig_atomic_t armed;
static int no_more_signals;

static void jumps_out(int signal)
{
	(void)signal;
	if (armed) {
		armed = 0;
		siglongjmp(out, 1);
	}
}

static void *keeps_signalling(void *target)
{
	const struct timespec pause = { 0, 50000 };

	while (!lull_load_acquire(&no_more_signals)) {
		pthread_kill(*(pthread_t *)target, SIGUSR2);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* A handler jumps out of a lock or unlock: lull_rcu_read_lock_held() says whether there is one to unlock. */
TEST(jumped_out_of)
{
	struct sigaction act, old;
	pthread_t self = pthread_self(), signals;

	if (UNDER_TSAN)
		SKIP("ThreadSanitizer keeps signals until the thread calls something");
	lull_thread_register();
	memset(&act, 0, sizeof(act));
	act.sa_handler = jumps_out;
	assert_int_equal(sigaction(SIGUSR2, &act, &old), 0);
	no_more_signals = 0;
	signals = start_thread(keeps_signalling, &self);
	for (volatile int jumps = under_valgrind() ? 280 : 0; jumps < 300; jumps++) {
		if (sigsetjmp(out, 1) == 0) {
			armed = 1;
			for (;;) {
				lull_rcu_read_lock();
				lull_rcu_read_unlock();
			}
		}
		while (lull_rcu_read_lock_held())
			lull_rcu_read_unlock();
		lull_rcu_synchronize();
	}
	lull_store_release(&no_more_signals, 1);
	join_thread(signals);
	sigaction(SIGUSR2, &old, NULL);
}

/* ---- system calls ------------------------------------------------------------------------------------- */

#if !SANITIZED && !defined(LULL_TEST_EMULATED)
/* The kernel ends the child if a section asks it for anything. */
static void reads_only(void)
{
	static int object, *pointer = &object;

	lull_thread_register();
	lull_rcu_synchronize();
	forbid_all();
	for (int i = 0; i < 1000; i++) {
		lull_rcu_read_lock();
		lull_rcu_read_lock();
		if (lull_rcu_dereference(pointer) != &object || !lull_rcu_read_lock_held())
			_exit(1);
		lull_rcu_read_unlock();
		lull_rcu_read_unlock();
	}
	lull_rcu_online();
	for (int i = 0; i < 1000; i++) {
		lull_rcu_online_read_lock();
		lull_rcu_online_read_unlock();
		lull_rcu_quiescent();
	}
	lull_rcu_offline();
}
#endif

/* Without a sleeping waiter a thread that reads makes no system call. */
TEST(no_system_calls)
{
#if SANITIZED || defined(LULL_TEST_EMULATED)
	SKIP(OWN_MEMORY);
#else
	if (under_valgrind())
		SKIP(OWN_MEMORY);
	expect_fine(reads_only);
#endif
}

/* ---- misuse --------------------------------------------------------------------------------------------- */

static void synchronize_inside(void)
{
	lull_rcu_read_lock();
	lull_rcu_synchronize();
}

static void gp_wait_inside(void)
{
	lull_rcu_read_lock();
	lull_rcu_gp_wait(lull_rcu_gp_start());
}

static void barrier_inside(void)
{
	lull_rcu_read_lock();
	lull_rcu_barrier();
}

static void barrier_online_nested(void)
{
	lull_rcu_online();
	lull_rcu_read_lock();
	lull_rcu_barrier();
}

static void goes_online(void *unused)
{
	(void)unused;
	lull_rcu_online();
}

static void *uses_key(void *key)
{
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	pthread_setspecific(*(pthread_key_t *)key, key);
	return NULL;
}

static void unregister_inside(void)
{
	lull_rcu_read_lock();
	lull_thread_unregister();
}

#define FOR_ITSELF "in a read section would wait for itself for ever; section entered at *"

TEST(misuse)
{
	expect_misuse(synchronize_inside, "lull_rcu_synchronize " FOR_ITSELF);
	expect_misuse(gp_wait_inside, "lull_rcu_gp_wait " FOR_ITSELF);
	expect_misuse(barrier_inside, "lull_rcu_barrier " FOR_ITSELF);
	expect_misuse(barrier_online_nested, "lull_rcu_barrier " FOR_ITSELF);
	EXPECT_MISUSE("lull_rcu_quiescent: in a read section") {
		lull_rcu_online();
		lull_rcu_synchronize();
		lull_rcu_read_lock();
		lull_rcu_quiescent();
	}
	EXPECT_MISUSE("lull_rcu_quiescent: not online") {
		lull_rcu_read_lock();
		lull_rcu_read_unlock();
		lull_rcu_quiescent();
	}
	EXPECT_MISUSE("lull_rcu_offline: in a read section") {
		lull_rcu_online();
		lull_rcu_read_lock();
		lull_rcu_offline();
	}
	EXPECT_MISUSE("lull_rcu_offline: not online")
		lull_rcu_offline();
	EXPECT_MISUSE("lull_rcu_online: online already, or in a read section") {
		lull_rcu_online();
		lull_rcu_online();
	}
	if (THREADS_IN_CHILD)
		EXPECT_MISUSE("lull_rcu_online: thread is exiting") {
			pthread_key_t key;

			must(pthread_key_create(&key, goes_online) == 0);
			join_thread(start_thread(uses_key, &key));
		}
	EXPECT_MISUSE("lull_rcu_read_lock: nested too deep; is an unlock missing[?]") {
		for (int i = 0; i < 1000; i++)
			lull_rcu_read_lock();
		lull__self.rcu_deep = UINT32_MAX - 1;
		lull_rcu_read_lock();
		must(lull__self.rcu_deep == UINT32_MAX);
		lull_rcu_read_lock();
	}
	EXPECT_MISUSE("lull_rcu_quiescent: in a read section") {
		lull_rcu_online();
		for (int i = 0; i < 600; i++)
			lull_rcu_read_lock();
		lull_rcu_quiescent();
	}
	expect_misuse(unregister_inside, "lull_thread_unregister " FOR_ITSELF);
	EXPECT_MISUSE("lull_rcu_read_unlock: not in a read section") {
		lull_thread_unregister();
		lull_rcu_read_unlock();
	}
}

#ifdef LULL_DEBUG
static void online_lock_offline(void)
{
	lull_rcu_online_read_lock();
}

TEST(debug_checks)
{
	EXPECT_MISUSE("lull_rcu_dereference: outside a read section") {
		static int target;
		int *pointer = &target;

		(void)lull_rcu_dereference(pointer);
	}
	EXPECT_MISUSE("lull_rcu_read_unlock: not in a read section") {
		lull_rcu_read_lock();
		lull_rcu_read_unlock();
		lull_rcu_read_unlock();
	}
	expect_misuse(online_lock_offline, "lull_rcu_online_read_lock: thread is not online");
}
#endif

/* ---- many threads: a reader must never see what was given up before its section ---------------------------- */

static struct thing *current;
static int storm_stop, reads;
#define READS_LEAST 1000

static void *storm_reader(void *unused)
{
	(void)unused;
	while (!lull_load_relaxed(&storm_stop)) {
		lull_rcu_read_lock();
		struct thing *thing = lull_rcu_dereference(current);

		for (int i = 0; i < 20; i++)
			assert_int_equal(lull_load_relaxed(&thing->value), 42);
		lull_rcu_read_unlock();
		came_round(&reads);
	}
	return NULL;
}

static void storm_dead(struct lull_rcu_head *head)
{
	struct thing *thing = lull_container_of(head, struct thing, rcu);

	lull_store_relaxed(&thing->value, -1);
	free(thing);
}

static struct thing *new_thing(void)
{
	struct thing *thing = (struct thing *)malloc(sizeof(*thing));

	assert_non_null(thing);
	thing->value = 42;
	return thing;
}

TEST(storm)
{
	pthread_t readers[3];
	uint64_t since_ns;

	storm_stop = reads = 0;
	current = new_thing();
	for (int i = 0; i < 3; i++)
		readers[i] = start_thread(storm_reader, NULL);
	since_ns = now_ns();
	while (storm_goes_on(since_ns, 300000000u, &reads, READS_LEAST)) {
		for (int i = 0; i < 50; i++)
			lull_rcu_call(head_by_either_name(&lull_rcu_replace(current, new_thing())->rcu), storm_dead);
		struct thing *old = lull_rcu_replace(current, new_thing());
		lull_rcu_synchronize();
		storm_dead(&old->rcu);
		lull_rcu_free(lull_rcu_replace(current, new_thing()));
	}
	lull_store_relaxed(&storm_stop, 1);
	for (int i = 0; i < 3; i++)
		join_thread(readers[i]);
	lull_rcu_barrier();
	free(current);
}

/* Macros, and yet their arguments are evaluated once. */
FIRST_TEST(evaluated_once)
{
	static int values[3];
	static int *places[3];
	int **at = places;
	int *value = values;

	lull_rcu_assign(*at++, value++);
	assert_null(lull_rcu_replace(*at++, value++));
	lull_rcu_assign(*at++, value++);
	assert_ptr_equal(at, places + 3);
	assert_ptr_equal(value, values + 3);
	at = places;
	lull_rcu_read_lock();
	assert_ptr_equal(lull_rcu_dereference(*at++), &values[0]);
	assert_ptr_equal(lull_rcu_dereference(*at++), &values[1]);
	lull_rcu_read_unlock();
	assert_ptr_equal(lull_rcu_dereference_protected(*at++), &values[2]);
	assert_ptr_equal(at, places + 3);
}
