/* SPDX-License-Identifier: MIT */
/*
 * test_rcu.c - rcu.h: sections, grace periods, cookies, online threads, misuse.
 */
#include <signal.h>

#include "support.h"

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

static void test_held(void **state)
{
	(void)state;
	assert_false(lull_rcu_read_lock_held());
	lull_rcu_read_lock();
	assert_true(lull_rcu_read_lock_held());
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	assert_true(lull_rcu_read_lock_held());
	lull_rcu_read_unlock();
	assert_false(lull_rcu_read_lock_held());
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

static void test_guard(void **state)
{
	(void)state;
	for (int way = 0; way < 30; way++) {
		guarded(way);
		assert_false(lull_rcu_read_lock_held());
	}
}

static void test_publish(void **state)
{
	struct thing first = { 1, { NULL, NULL } }, second = { 2, { NULL, NULL } };
	struct thing *pointer = &first;

	(void)state;
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
static void test_waits(void **state)
{
	(void)state;
	for (uint32_t depth = 1; depth <= 3; depth++) {
		struct reader old, other;
		int done = 0;
		pthread_t waiter;

		reader_start(&old, depth);
		waiter = start_thread(synchronizer_run, &done);
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

static void test_idle_threads_do_not_matter(void **state)
{
	struct reader readers[8];

	(void)state;
	for (int i = 0; i < 8; i++)
		reader_start(&readers[i], 1);
	for (int i = 0; i < 8; i++)
		reader_stop(&readers[i]);
	lull_rcu_synchronize();
}

static void test_shared_grace_period(void **state)
{
	enum { N = 6 };
	struct reader reader;
	pthread_t waiters[N];
	int done[N] = { 0 };

	(void)state;
	reader_start(&reader, 1);
	for (int i = 0; i < N; i++)
		waiters[i] = start_thread(synchronizer_run, &done[i]);
	nap_ms(20);
	for (int i = 0; i < N; i++)
		assert_int_equal(lull_load_acquire(&done[i]), 0);
	reader_stop(&reader);
	for (int i = 0; i < N; i++)
		join_thread(waiters[i]);
}

static void test_cookies(void **state)
{
	struct reader reader;
	lull_rcu_cookie before, during;

	(void)state;
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

/* A grace period that a poller began is finished by whoever comes next, and covers no later cookie. */
static void test_open_grace_period(void **state)
{
	struct reader first, second;
	lull_rcu_cookie one, two;

	(void)state;
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
static void test_stream_of_cookies(void **state)
{
	struct reader reader[2];
	lull_rcu_cookie cookie[STREAM];
	int begun = 0, over = 0, late = 0;

	(void)state;
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
	int online, go, told, finish;
};

static void *looper_run(void *arg)
{
	struct looper *looper = (struct looper *)arg;

	lull_rcu_online();
	assert_true(lull_rcu_read_lock_held());
	lull_rcu_online_read_lock();
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

static void test_online(void **state)
{
	struct looper looper;
	int done = 0;
	pthread_t waiter;

	(void)state;
	memset(&looper, 0, sizeof(looper));
	looper.thread = start_thread(looper_run, &looper);
	await_flag(&looper.online, 1);
	waiter = start_thread(synchronizer_run, &done);
	nap_ms(20);
	assert_int_equal(lull_load_acquire(&done), 0);
	lull_store_release(&looper.go, 1);
	join_thread(waiter); /* the quiescent state was enough; the thread is still online */
	await_flag(&looper.told, 1);
	waiter = start_thread(synchronizer_run, &done);
	nap_ms(20);
	lull_store_release(&looper.finish, 1); /* and so is going offline */
	join_thread(waiter);
	join_thread(looper.thread);
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

static void test_online_threads_synchronize(void **state)
{
	pthread_t one, two;

	(void)state;
	one = start_thread(online_synchronizer, NULL);
	two = start_thread(online_synchronizer, NULL);
	join_thread(one);
	join_thread(two);
}

static void *exits_online(void *unused)
{
	(void)unused;
	lull_rcu_online();
	return NULL;
}

/* A grace period that sleeps for an online thread hears of it when that gives its record back. */
static void *unregisters_online(void *arg)
{
	struct looper *looper = (struct looper *)arg;

	lull_rcu_online();
	lull_store_release(&looper->online, 1);
	await_flag(&looper->go, 1);
	lull_thread_unregister();
	lull_store_release(&looper->told, 1);
	await_flag(&looper->finish, 1);
	return NULL;
}

static void test_unregister_online(void **state)
{
	struct looper looper;
	int done = 0;
	pthread_t waiter;

	(void)state;
	set_stall_ms(0); /* nothing else shall wake it */
	memset(&looper, 0, sizeof(looper));
	looper.thread = start_thread(unregisters_online, &looper);
	await_flag(&looper.online, 1);
	waiter = start_thread(synchronizer_run, &done);
	nap_ms(20);
	lull_store_release(&looper.go, 1);
	join_thread(waiter);
	lull_store_release(&looper.finish, 1);
	join_thread(looper.thread);
	set_stall_ms(1000);
}

static void test_exit_online(void **state)
{
	(void)state;
	join_thread(start_thread(exits_online, NULL));
	lull_rcu_synchronize();
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

static void test_signal_handlers_read(void **state)
{
	struct sigaction action;
	int stop = 0, done = 0;
	pthread_t thread, waiter;

	(void)state;
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

static void quiescent_nested(void)
{
	lull_rcu_online();
	lull_rcu_synchronize();
	lull_rcu_read_lock();
	lull_rcu_quiescent();
}

static void quiescent_offline(void)
{
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	lull_rcu_quiescent();
}

static void offline_offline(void)
{
	lull_rcu_offline();
}

static void online_twice(void)
{
	lull_rcu_online();
	lull_rcu_online();
}

static void too_deep(void)
{
	for (int i = 0; i < 100000; i++)
		lull_rcu_read_lock();
}

static void unregister_inside(void)
{
	lull_rcu_read_lock();
	lull_thread_unregister();
}

static void unlock_without_lock(void)
{
	lull_thread_unregister();
	lull_rcu_read_unlock();
}

static void test_misuse(void **state)
{
	(void)state;
	expect_abort(synchronize_inside, "lull_rcu_synchronize in a read section would wait for itself");
	expect_abort(gp_wait_inside, "lull_rcu_gp_wait in a read section");
	expect_abort(barrier_inside, "lull_rcu_barrier in a read section");
	expect_abort(barrier_online_nested, "lull_rcu_barrier in a read section");
	expect_abort(quiescent_nested, "lull_rcu_quiescent: in a read section");
	expect_abort(quiescent_offline, "lull_rcu_quiescent: not online");
	expect_abort(offline_offline, "lull_rcu_offline: not online");
	expect_abort(online_twice, "lull_rcu_online: online already");
	expect_abort(too_deep, "nested too deep");
	expect_abort(unregister_inside, "lull_thread_unregister in a read section");
	expect_abort(unlock_without_lock, "lull_rcu_read_unlock: not in a read section");
}

#ifdef LULL_DEBUG
static void dereference_outside(void)
{
	static int target;
	int *pointer = &target;

	(void)lull_rcu_dereference(pointer);
}

static void unlock_twice(void)
{
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	lull_rcu_read_unlock();
}

static void online_lock_offline(void)
{
	lull_rcu_online_read_lock();
}

static void test_debug_checks(void **state)
{
	(void)state;
	expect_abort(dereference_outside, "lull_rcu_dereference: outside a read section");
	expect_abort(unlock_twice, "lull_rcu_read_unlock: not in a read section");
	expect_abort(online_lock_offline, "lull_rcu_online_read_lock: thread is not online");
}
#endif

/* ---- many threads: a reader must never see what was given up before its section ---------------------------- */

static struct thing *current;
static int storm_stop;

static void *storm_reader(void *unused)
{
	(void)unused;
	while (!lull_load_relaxed(&storm_stop)) {
		lull_rcu_read_lock();
		struct thing *thing = lull_rcu_dereference(current);

		for (int i = 0; i < 20; i++)
			assert_int_equal(lull_load_relaxed(&thing->value), 42);
		lull_rcu_read_unlock();
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

static void test_storm(void **state)
{
	pthread_t readers[3];
	uint64_t end;

	(void)state;
	storm_stop = 0;
	current = new_thing();
	for (int i = 0; i < 3; i++)
		readers[i] = start_thread(storm_reader, NULL);
	end = now_ns() + 300000000u;
	while (now_ns() < end) {
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
static void test_evaluated_once(void **state)
{
	static int values[3];
	static int *places[3];
	int **at = places;
	int *value = values;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_evaluated_once),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_guard),
		cmocka_unit_test(test_publish),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_idle_threads_do_not_matter),
		cmocka_unit_test(test_shared_grace_period),
		cmocka_unit_test(test_cookies),
		cmocka_unit_test(test_open_grace_period),
		cmocka_unit_test(test_stream_of_cookies),
		cmocka_unit_test(test_online),
		cmocka_unit_test(test_online_threads_synchronize),
		cmocka_unit_test(test_exit_online),
		cmocka_unit_test(test_unregister_online),
		cmocka_unit_test(test_signal_handlers_read),
		cmocka_unit_test(test_misuse),
#ifdef LULL_DEBUG
		cmocka_unit_test(test_debug_checks),
#endif
		cmocka_unit_test(test_storm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
