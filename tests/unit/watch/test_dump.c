/* SPDX-License-Identifier: MIT */
/*
 * test_dump.c - lull_debug_dump(): what it tells, from a signal handler, with the registry locked, and into a file that
 * is full.
 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include <lull/hazptr.h>
#include <lull/shazptr.h>

#include "../../src/base/registry.h"

static char text[65536];
static int ends[2];

static void take_all(void)
{
	ssize_t got = read(ends[0], text, sizeof(text) - 1);

	assert_true(got > 0);
	text[got] = '\0';
}

static void dump(void)
{
	assert_int_equal(lull_debug_dump(ends[1]), 0);
	take_all();
}

static void assert_says(const char *format, ...)
{
	char words[256];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	if (!strstr(text, words))
		print_error("no \"%s\" in:\n%s", words, text);
	assert_non_null(strstr(text, words));
}

static int inside, leave;
static uint32_t reader_tid;
static int object;

static void *reads(void *unused)
{
	struct lull_shazptr_guard simple;
	struct lull_hazptr *hazptr;
	int *place = &object;

	pthread_setname_np(pthread_self(), "holds all");
	lull_rcu_read_lock();
	lull_rcu_read_lock();
	hazptr = lull_hazptr_alloc(&lull__self.hazptr);
	lull_hazptr_protect_ptr(hazptr, place);
	simple = lull_shazptr_acquire(&object);
	reader_tid = lull__self.tid;
	lull_store_release(&inside, 1);
	await_flag(&leave, 1);
	lull_shazptr_clear(simple);
	lull_hazptr_free(&lull__self.hazptr, hazptr);
	lull_rcu_read_unlock();
	lull_rcu_read_unlock();
	return unused;
}

static void *waits(void *unused)
{
	lull_rcu_synchronize();
	return unused;
}

static void test_tells_all(void **state)
{
	pthread_t reader, waiter;

	(void)state;
	pthread_setname_np(pthread_self(), "asks");
	reader = start_thread(reads, NULL);
	await_flag(&inside, 1);
	waiter = start_thread(waits, NULL);
	while (lull_load_relaxed(&lull_stats_page()->waits[0].kind) != LULL_WAIT_GP ||
	       !lull_load_relaxed(&lull_stats_page()->waits[0].tid))
		nap_ms(1);
	lull_rcu_free(malloc(5000));
	dump();
	assert_says("lull %s: process %d, fence ", lull_version(), getpid());
	assert_says("thread %u \"holds all\": section depth 2, 1 grace periods old", reader_tid);
	assert_says(", 1 hazard pointers, a simple one for 0x%lx", (unsigned long)(uintptr_t)&object);
	assert_says(", a grace period sleeps for it\n%s", "");
	assert_says("\"%s\" (this one): in no section", "asks");
	assert_says("wait: rcu grace period, by tid %s", "");
	assert_says(", for tid %u and 1 in all", reader_tid);
	assert_says("rcu free: 1 wait (%s", "5");
	assert_says("deferred: 1 objects (%s", "5");
#ifdef LULL_DEBUG
	assert_says(", entered at 0x%s", "");
#endif
	lull_store_release(&leave, 1);
	join_thread(waiter);
	join_thread(reader);
	lull_rcu_barrier();
	dump();
	assert_null(strstr(text, "wait: "));
	assert_null(strstr(text, "queue "));
}

static int handled;

static void on_signal(int signal)
{
	(void)signal;
	handled = lull_debug_dump(ends[1]) == 0;
}

/* It may have interrupted anything: here, whoever has the registry, who goes on only after the handler. */
static void test_in_handler_with_lock_held(void **state)
{
	struct sigaction action = { .sa_handler = on_signal }, saved;

	(void)state;
	sigaction(SIGUSR1, &action, &saved);
	lull__lock(&lull__registry_lock);
	raise(SIGUSR1);
	lull__unlock(&lull__registry_lock);
	sigaction(SIGUSR1, &saved, NULL);
	assert_true(handled);
	take_all();
	assert_says("threads: %u, but the registry is locked", lull_thread_count());
	assert_null(strstr(text, "thread "));
}

static void sleepy_callback(struct lull_rcu_head *head)
{
	(void)head;
	lull_store_release(&inside, 2);
	await_flag(&leave, 2);
}

static void test_callback(void **state)
{
	static struct lull_rcu_head head;

	(void)state;
	lull_rcu_call(&head, sleepy_callback);
	await_flag(&inside, 2);
	dump();
	assert_says("rcu call: 1 wait (%zu bytes), 0 of them ready", sizeof(head));
	assert_says("; callback 0x%lx runs on tid ", (unsigned long)(uintptr_t)sleepy_callback);
	lull_store_release(&leave, 2);
	lull_rcu_barrier();
}

static int written;

static void *dumps(void *unused)
{
	lull_debug_dump(ends[1]);
	lull_store_release(&written, 1);
	return unused;
}

static void *is_there(void *unused)
{
	lull_thread_register();
	lull_add_release(&inside, 1);
	await_flag(&leave, 3);
	return unused;
}

#define MANY 20
#define ROOM 600 /* for what comes before the threads, and not for all of them */

/* Whoever should read what is written sleeps: that is no reason to keep anybody from anything. */
static void test_pipe_is_full(void **state)
{
	int flags = fcntl(ends[1], F_GETFL), size = fcntl(ends[1], F_SETPIPE_SZ, 4096);
	pthread_t threads[MANY], dumper;

	(void)state;
	if (size <= ROOM)
		skip();
	inside = 0;
	for (int i = 0; i < MANY; i++)
		threads[i] = start_thread(is_there, NULL);
	await_flag(&inside, MANY);
	assert_int_equal(write(ends[1], text, (size_t)(size - ROOM)), size - ROOM);
	dumper = start_thread(dumps, NULL);
	nap_ms(20);
	join_thread(start_thread(waits, NULL)); /* it comes, scans and goes */
	assert_int_equal(lull_load_acquire(&written), 0);
	fcntl(ends[0], F_SETFL, flags | O_NONBLOCK);
	while (!lull_load_acquire(&written) || read(ends[0], text, sizeof(text)) > 0)
		if (read(ends[0], text, sizeof(text)) < 0)
			nap_ms(1);
	fcntl(ends[0], F_SETFL, 0);
	lull_store_release(&leave, 3);
	join_thread(dumper);
	for (int i = 0; i < MANY; i++)
		join_thread(threads[i]);
}

static void looks_after_fork(void)
{
	must(lull_debug_dump(ends[1]) == 0);
}

/* A callback that another thread of the parent's runs is not the child's. */
static void test_callback_and_fork(void **state)
{
	static struct lull_rcu_head head;

	(void)state;
	lull_store_release(&inside, 0);
	lull_store_release(&leave, 0);
	lull_rcu_call(&head, sleepy_callback);
	await_flag(&inside, 2);
	expect_fine(looks_after_fork);
	take_all();
	assert_null(strstr(text, "callback 0x"));
	lull_store_release(&leave, 2);
	lull_rcu_barrier();
}

static void test_full(void **state)
{
	int fd = open("/dev/full", O_WRONLY);

	(void)state;
	if (fd < 0)
		skip();
	assert_int_equal(lull_debug_dump(fd), -ENOSPC);
	close(fd);
	assert_int_equal(lull_debug_dump(-1), -EBADF);
}

static int open_pipe(void **state)
{
	(void)state;
	return pipe(ends);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tells_all),
		cmocka_unit_test(test_in_handler_with_lock_held),
		cmocka_unit_test(test_callback),
		cmocka_unit_test(test_pipe_is_full),
		cmocka_unit_test(test_callback_and_fork),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, open_pipe, NULL);
}
