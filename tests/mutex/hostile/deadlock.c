/* SPDX-License-Identifier: MIT */
/* runs: oracles */
/*
 * deadlock.c - builds with LULL_DEBUG find threads that wait for each other in a circle, name them and
 * abort; and find nothing where there is no circle, or none that lasts.
 */
#include "mutex/support.h"

enum { MOST = 3 };

static struct lull_mutex ring[MOST];
static uint32_t tids[MOST];
static int members, have_first;

/* Has one lock, and wants the next thread's. */
static void *waits_for_next(void *which)
{
	int me = (int)(uintptr_t)which;
	char name[16];

	snprintf(name, sizeof(name), "member %d", me);
	pthread_setname_np(pthread_self(), name);
	tids[me] = my_tid();
	lull_mutex_lock(&ring[me]);
	lull_add_release(&have_first, 1);
	await_flag(&have_first, members);
	lull_mutex_lock(&ring[(me + 1) % members]);
	return NULL;
}

/* The thread that finds it first begins the line; the others come in their order. */
static void say_who_waits(void)
{
	static struct lull_mutex forever;

	have_first = 0;
	for (int i = 0; i < members; i++)
		start_thread(waits_for_next, (void *)(uintptr_t)i);
	await_flag(&have_first, members);
	for (int first = 0; first < members; first++) {
		char *line = wanted_line + first * WANTED_SIZE;
		int at = snprintf(line, WANTED_SIZE, "lull: deadlock: ");

		for (int i = 0; i < members; i++) {
			int who = (first + i) % members;

			at += snprintf(line + at, (size_t)(WANTED_SIZE - at),
				       "%sthread \"member %d\" (tid %u) waits for mutex %p", i ? ", held by " : "",
				       who, tids[who], (void *)&ring[(who + 1) % members]);
		}
		snprintf(line + at, (size_t)(WANTED_SIZE - at), ", held by the first\n");
	}
	lull_mutex_lock(&forever);
	while (pause())
		;
}

static bool is_wanted(const char *line, size_t length)
{
	for (int first = 0; first < members; first++) {
		const char *wanted = wanted_line + first * WANTED_SIZE;

		if (length == strlen(wanted) && memcmp(line, wanted, length) == 0)
			return true;
	}
	return false;
}

/* Two of them may find it at a time, and both say so. */
static __attribute__((unused)) void expect_deadlock(int how_many)
{
	char text[4096], *line = text, *end;
	int status, lines = 0;

	members = how_many;
	status = run_child(say_who_waits, text, sizeof(text));
	for (; (end = strchr(line, '\n')); line = end + 1, lines++)
		if (!is_wanted(line, (size_t)(end + 1 - line)))
			break;
	if (*line)
		print_error("status %x, wrote: %swanted, or turned round: %s", (unsigned)status, text, wanted_line);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	assert_in_range(lines, 1, members);
	assert_string_equal(line, "");
}

/* Other builds, and systems where a child may have no threads, do without it. */
#if defined(LULL_DEBUG) && THREADS_IN_CHILD
TEST(circles)
{
	for (int how_many = 2; how_many <= MOST; how_many++)
		expect_deadlock(how_many);
}
#endif

/* ---- where there is none -------------------------------------------------------------------------------------- */

enum { NESTED = 4, THREADS = 6 };

static struct lull_mutex nested[NESTED];
static long counts[NESTED];
static int stop;

/* In order, with or without an end; backwards only when it does not wait, or has an end. */
static void *nests(void *seed)
{
	uint32_t random = (uint32_t)(uintptr_t)seed;

	while (!lull_load_acquire(&stop)) {
		bool backwards = (random >> 20) % 4 == 0;
		int held = 0;

		for (; held < NESTED; held++) {
			struct lull_mutex *m = &nested[backwards ? NESTED - 1 - held : held];

			random = random * 1664525u + 1013904223u;
			if (backwards && (random >> 16) % 2) {
				if (!lull_mutex_trylock(m))
					break;
			} else if (backwards || (random >> 16) % 4 == 0) {
				if (lull_mutex_timedlock(m, now_ns() + (random >> 8) % 50000) != 0)
					break;
			} else {
				lull_mutex_lock(m);
			}
			counts[m - nested]++;
			if ((random >> 12) % 64 == 0)
				sched_yield();
		}
		while (held--)
			lull_mutex_unlock(&nested[backwards ? NESTED - 1 - held : held]);
	}
	return NULL;
}

TEST(no_circle)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		threads[i] = start_thread(nests, (void *)(uintptr_t)(i + 1));
	nap_ms(600);
	lull_store_release(&stop, 1);
	for (int i = 0; i < THREADS; i++)
		join_thread(threads[i]);
	for (int i = 0; i < NESTED; i++) {
		assert_true(counts[i] > 0);
		lull_mutex_destroy(&nested[i]);
	}
}

/* A circle that a signal handler opens again: what it has from trylock, it can also unlock. */
static struct lull_mutex from_handler, from_thread;
static int handler_has_it;

static void takes(int signal)
{
	(void)signal;
	if (lull_mutex_trylock(&from_handler))
		lull_store_release(&handler_has_it, 1);
}

static void gives(int signal)
{
	(void)signal;
	lull_mutex_unlock(&from_handler);
}

static void *locks_both(void *tid)
{
	lull_mutex_lock(&from_thread);
	await_flag(&handler_has_it, 1);
	lull_store_release((uint32_t *)tid, my_tid());
	lull_mutex_lock(&from_handler);
	lull_mutex_unlock(&from_handler);
	lull_mutex_unlock(&from_thread);
	return NULL;
}

static void *is_interrupted(void *tid)
{
	raise(SIGUSR1);
	lull_store_release((uint32_t *)tid, my_tid());
	lull_mutex_lock(&from_thread);
	lull_mutex_unlock(&from_thread);
	return NULL;
}

TEST(circle_that_opens)
{
	uint32_t tid = 0, other_tid = 0;
	pthread_t thread, other;

	handle(SIGUSR1, takes);
	handle(SIGUSR2, gives);
	other = start_thread(locks_both, &other_tid);
	AWAIT_SOON(lull_mutex_is_locked(&from_thread));
	thread = start_thread(is_interrupted, &tid);
	await_asleep(&from_handler, LULL__MUTEX_WAITERS, &other_tid);
	await_asleep(&from_thread, LULL__MUTEX_WAITERS, &tid);
	nap_ms(500); /* the handler may be preempted for so long */
	pthread_kill(thread, SIGUSR2);
	join_thread(other);
	join_thread(thread);
	lull_mutex_destroy(&from_handler);
	lull_mutex_destroy(&from_thread);
}

BEFORE_ALL
{
	wanted_line = (char *)shared_memory(MOST * WANTED_SIZE);
}
