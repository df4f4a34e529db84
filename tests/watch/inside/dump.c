/* SPDX-License-Identifier: MIT */
/*
 * dump.c - lull_debug_dump(): what it tells, from a signal handler, with the registry locked, and into a file that
 * is full.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "watch/stalls.h"

#include "../src/base/registry.h"

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

enum { DEPTH = 600 }; /* more than the word counts */

static void *reads(void *unused)
{
	struct lull_hazptr *hazptr[LULL_HAZPTR_SLOTS];

	for (int i = 0; i < DEPTH; i++)
		lull_rcu_read_lock();
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++) {
		hazptr[i] = lull_hazptr_alloc(&lull__self.hazptr);
		lull_hazptr_protect_ptr(hazptr[i], place);
	}
	with_simple_slot(NULL);
	for (int i = LULL_HAZPTR_SLOTS; i > 0; i--)
		lull_hazptr_free(&lull__self.hazptr, hazptr[i - 1]);
	for (int i = 0; i < DEPTH; i++)
		lull_rcu_read_unlock();
	return unused;
}

/* Behind @words is the time since @since_ns in ms: at the time of a dump between @before_ns and now. */
static void assert_age(const char *words, uint64_t since_ns, uint64_t before_ns)
{
	const char *at = strstr(text, words);
	unsigned long long ms;
	char unit[3];

	assert_non_null(at);
	assert_int_equal(sscanf(at + strlen(words), "%llu %2s", &ms, unit), 2);
	assert_string_equal(unit, "ms");
	assert_in_range(ms, (before_ns - since_ns) / 1000000, (now_ns() - since_ns) / 1000000);
}

TEST(tells_all)
{
	const struct lull_stats_wait *wait = &lull_stats_page()->waits[0];
	pthread_t reader, waiter;
	const char *line;
	char by_whom[64];
	uint64_t asked_ns;

	lull_thread_register();
	pthread_setname_np(pthread_self(), "asks");
	reader = start_holder(reads, NULL);
	waiter = start_waiter(lull_rcu_synchronize);
	AWAIT(lull_load_relaxed(&wait->kind) == LULL_WAIT_GP && lull_load_relaxed(&wait->tid) &&
	      lull_load_relaxed(&wait->holders));
	lull_rcu_free(malloc(5000));
	nap_ms(2);
	asked_ns = now_ns();
	dump();
	assert_age(" threads registered, for ", lull_stats_page()->began_ns, asked_ns);
	snprintf(by_whom, sizeof(by_whom), ", by tid %u, for ", lull_load_relaxed(&wait->waiter_tid));
	assert_age(by_whom, lull_load_relaxed(&wait->since_ns), asked_ns);
	assert_says("lull %s: process %d, fence ", lull_version(), getpid());
	assert_says("thread %u \"a holder\": section depth %d, 1 grace periods old", holder_tid, DEPTH);
	assert_says(", %d hazard pointers, a simple one for 0x%lx", LULL_HAZPTR_SLOTS, (unsigned long)(uintptr_t)&object);
	assert_says(", a grace period sleeps for it\n%s", "");
	assert_says("\"%s\" (this one): in no section", "asks");
	assert_says("wait: rcu grace period, by tid %s", "");
	assert_says(", for tid %u and 1 in all", holder_tid);
	line = strstr(text, "\nwait: "); /* one of its own */
	assert_non_null(line);
	assert_non_null(strstr(line, "thread "));
	assert_ptr_equal(strstr(line, "thread "), strchr(line + 1, '\n') + 1);
	assert_says("rcu free: 1 wait (%s", "5");
	assert_says("deferred: 1 objects (%s", "5");
#ifdef LULL_DEBUG
	assert_says(", entered at 0x%s", "");
#endif
	let_go();
	join_thread(waiter);
	join_thread(reader);
	lull_rcu_barrier();
	dump();
	assert_null(strstr(text, "wait: "));
	assert_null(strstr(text, "queue "));
}

#define CROWD 20

static uint32_t crowd_tid[CROWD];

/* Comes with something deferred, in as many sections as its number says, and stays. */
static void *is_one_of_crowd(void *number)
{
	int depth = (int)(intptr_t)number;

	lull_thread_register();
	crowd_tid[depth] = lull__self.tid;
	lull_rcu_free(malloc(10));
	for (int i = 0; i < depth; i++)
		lull_rcu_read_lock();
	lull_add_release(&inside, 1);
	await_flag(&leave, 1);
	for (int i = 0; i < depth; i++)
		lull_rcu_read_unlock();
	return NULL;
}

static void start_crowd(pthread_t *threads, int count)
{
	for (intptr_t i = 0; i < count; i++)
		threads[i] = start_thread(is_one_of_crowd, (void *)i);
	await_flag(&inside, count);
}

static void end_crowd(const pthread_t *threads, int count)
{
	let_go();
	join_threads(threads, count);
	lull_rcu_barrier();
}

/* Each thread has queues of its own, and they are numbered. */
TEST(queues)
{
	unsigned number[3], count = 0;
	pthread_t threads[2];
	const char *at = text;

	lull_rcu_read_lock(); /* nothing is reclaimed */
	start_crowd(threads, 2);
	dump();
	assert_null(strstr(text, "registry is locked"));
	while (count < 3 && (at = strstr(at, "\nqueue ")) && sscanf(at++, "\nqueue %u, rcu free: 1 wait (", &number[count]) == 1)
		count++;
	lull_rcu_read_unlock();
	end_crowd(threads, 2);
	assert_int_equal(count, 2);
	assert_int_not_equal(number[0], number[1]);
}

/* Return how often @words are in the text. */
static int times(const char *words)
{
	int count = 0;

	for (const char *at = text; (at = strstr(at, words)); at += strlen(words))
		count++;
	return count;
}

/* Is each of the crowd there once, with what it holds? */
static bool crowd_is_there(void)
{
	char words[64];

	for (int depth = 0; depth < CROWD; depth++) {
		snprintf(words, sizeof(words), "thread %u \"", crowd_tid[depth]);
		if (times(words) != 1)
			return false;
		snprintf(words, sizeof(words), ": section depth %d, ", depth);
		if (depth && times(words) != 1)
			return false;
	}
	return true;
}

/* More threads than fit into one look at the registry. Again, should one of lull's have left between two looks. */
TEST(twenty_threads)
{
	pthread_t threads[CROWD];
	bool there = false;

	start_crowd(threads, CROWD);
	for (int tries = 0; tries < 20 && !there; tries++) {
		dump();
		there = crowd_is_there();
	}
	if (!there)
		print_error("not all of the crowd, or not once, in:\n%s", text);
	assert_true(there);
	end_crowd(threads, CROWD);
}

static int allocations;

#if !SANITIZED && defined(__GLIBC__)
extern void *__libc_malloc(size_t bytes);

void *malloc(size_t bytes)
{
	lull_add_relaxed(&allocations, 1);
	return __libc_malloc(bytes);
}
#endif

TEST(allocates_nothing)
{
	void *volatile ptr;

#if SANITIZED || !defined(__GLIBC__)
	SKIP(OWN_MEMORY);
#endif
	if (under_valgrind())
		SKIP(OWN_MEMORY);
	lull_rcu_synchronize();
	lull_rcu_barrier();
	nap_ms(20);
	lull_store_relaxed(&allocations, 0);
	assert_int_equal(lull_debug_dump(ends[1]), 0);
	assert_int_equal(lull_load_relaxed(&allocations), 0);
	take_all();
	ptr = malloc(1);
	free(ptr);
	assert_true(lull_load_relaxed(&allocations) > 0); /* they are counted */
}

TEST(no_reader)
{
	/* SIGPIPE would end the child. */
	EXPECT_FINE {
		int dead[2];

		must(pipe(dead) == 0);
		close(dead[0]);
		must(lull_debug_dump(dead[1]) == -EPIPE);
	}
}

static int handled;

static void on_signal(int signal)
{
	(void)signal;
	handled = lull_debug_dump(ends[1]) == 0;
}

/* It may have interrupted anything: here, the registry's owner, which goes on only after the handler. */
TEST(in_handler_with_lock_held)
{
	struct sigaction action = { .sa_handler = on_signal }, saved;
	unsigned threads;

	sigaction(SIGUSR1, &action, &saved);
	lull__lock(&lull__registry_lock);
	threads = lull_load_relaxed(&lull__registry_count); /* no thread comes or goes now */
	raise(SIGUSR1);
	lull__unlock(&lull__registry_lock);
	sigaction(SIGUSR1, &saved, NULL);
	assert_true(handled);
	take_all();
	assert_says("threads: %u, but the registry is locked", threads);
	assert_null(strstr(text, "thread "));
}

/* A callback is told of while it runs; but not by a child, whose thread does not run it. */
TEST(callback)
{
	static struct lull_rcu_head head;

	lull_rcu_call(&head, sleepy_callback);
	await_flag(&inside, 1);
	dump();
	assert_says("rcu call: 1 wait (%zu bytes), 0 of them ready", sizeof(head));
	assert_says("; callback 0x%lx runs on tid ", (unsigned long)(uintptr_t)sleepy_callback);
	EXPECT_FINE
		must(lull_debug_dump(ends[1]) == 0);
	take_all();
	assert_null(strstr(text, "callback 0x"));
	let_go();
	lull_rcu_barrier();
}

static int written;

static void *dumps(void *unused)
{
	lull_debug_dump(ends[1]);
	lull_store_release(&written, 1);
	return unused;
}

static void come_scan_and_go(void)
{
	lull_thread_register();
	hazptr_synchronize();
}

#define ROOM 600 /* for what comes before the threads, and not for all of them */

/* The thread that should read what is written sleeps: no other is kept from anything. */
TEST(pipe_is_full)
{
	int flags = fcntl(ends[1], F_GETFL), size = fcntl(ends[1], F_SETPIPE_SZ, 4096);
	pthread_t threads[CROWD], dumper;

	if (size <= ROOM)
		SKIP("the kernel makes no pipe that is small enough");
	start_crowd(threads, CROWD);
	assert_int_equal(write(ends[1], text, (size_t)(size - ROOM)), size - ROOM);
	dumper = start_thread(dumps, NULL);
	nap_ms(20);
	join_thread(start_waiter(come_scan_and_go));
	assert_int_equal(lull_load_acquire(&written), 0);
	fcntl(ends[0], F_SETFL, flags | O_NONBLOCK);
	while (!lull_load_acquire(&written) || read(ends[0], text, sizeof(text)) > 0)
		if (read(ends[0], text, sizeof(text)) < 0)
			nap_ms(1);
	fcntl(ends[0], F_SETFL, 0);
	join_thread(dumper);
	end_crowd(threads, CROWD);
}

TEST(full)
{
	int fd = open("/dev/full", O_WRONLY);

	if (fd < 0)
		SKIP("there is no /dev/full here");
	assert_int_equal(lull_debug_dump(fd), -ENOSPC);
	close(fd);
	assert_int_equal(lull_debug_dump(-1), -EBADF);
}

static int next_file(void)
{
	int fd = dup(ends[1]);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

/* It reads the names of threads from files. No file stays open. */
TEST(leaves_no_file_open)
{
	int before = next_file();

	for (int i = 0; i < 10; i++) {
		dump();
		assert_int_equal(next_file(), before);
	}
}

/* Where light fences are full ones the word of a thread outside says so: that is no address. */
TEST(no_address)
{
	uintptr_t before = lull_load_relaxed(&lull__self.shazptr);

	lull_thread_register();
	lull_store_relaxed(&lull__self.shazptr, LULL__SHAZPTR_REST);
	dump();
	lull_store_relaxed(&lull__self.shazptr, before);
	assert_null(strstr(text, "a simple one"));
}

BEFORE_ALL
{
	must(pipe(ends) == 0);
}
