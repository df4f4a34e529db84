/* SPDX-License-Identifier: MIT */
/*
 * support.h - what the tests of locks share: to know that a thread sleeps, to interrupt it, to hold a lock in
 * another thread, and the exact line that misuse ends with.
 */
#ifndef LULL_TEST_MUTEX_SUPPORT_H
#define LULL_TEST_MUTEX_SUPPORT_H

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "child.h"
#include "threads.h"

#include <lull/cond.h>

#define MS UINT64_C(1000000)

static inline uint32_t my_tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

/* The state in /proc: R runs, S sleeps, ...; 0: there is no such thread. */
static inline char state_of(uint32_t tid)
{
	char path[64], text[256], *end = NULL;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/stat", tid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (fgets(text, sizeof(text), file))
		end = strrchr(text, ')');
	fclose(file);
	return end ? end[2] : '\0';
}

static inline bool sleeps(const uint32_t *tid)
{
	uint32_t who = lull_load_acquire(tid);

	return who && state_of(who) == 'S';
}

/* *tid has said with @bits in the word that it will sleep, and does. */
static inline void await_asleep(const struct lull_mutex *m, uint32_t bits, const uint32_t *tid)
{
	AWAIT((lull_load_relaxed(&m->word) & bits) == bits && sleeps(tid));
}

/* ---- signals ------------------------------------------------------------------------------------------------ */

static inline void does_nothing(int signal)
{
	(void)signal;
}

/* Calls that @signal interrupts return. */
static inline void handle(int signal, void (*handler)(int))
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	assert_int_equal(sigaction(signal, &action, NULL), 0);
}

/* ---- a waiter in a thread of its own ------------------------------------------------------------------------ */

/* Waits for the lock until the deadline, keeps it until `release_waiter`. */
struct waiter {
	struct lull_mutex *m;
	uint64_t deadline_ns; /* 0: lull_mutex_lock() */
	uint32_t tid;
	int err, done, release_waiter;
	pthread_t thread;
};

static inline void *waits(void *arg)
{
	struct waiter *w = (struct waiter *)arg;

	lull_store_release(&w->tid, my_tid());
	if (w->deadline_ns == 0)
		lull_mutex_lock(w->m);
	else
		w->err = lull_mutex_timedlock(w->m, w->deadline_ns);
	lull_store_release(&w->done, 1);
	if (w->err == 0) {
		await_flag(&w->release_waiter, 1);
		lull_mutex_unlock(w->m);
	}
	return NULL;
}

static inline void waiter_start(struct waiter *w, struct lull_mutex *m, uint64_t deadline_ns)
{
	memset(w, 0, sizeof(*w));
	w->m = m;
	w->deadline_ns = deadline_ns;
	w->thread = start_thread(waits, w);
}

static inline void waiter_join(struct waiter *w)
{
	lull_store_release(&w->release_waiter, 1);
	join_thread(w->thread);
}

/*
 * Get the sleeping waiter to look at the clock, until it has become the heir and sleeps again. Not so when another is
 * the heir already.
 */
static inline void make_heir(struct waiter *w)
{
	uint64_t since_ns = now_ns();

	handle(SIGUSR1, does_nothing);
	while (!(lull_load_relaxed(&w->m->word) & LULL__MUTEX_HEIR) || !sleeps(&w->tid)) {
		check_patience(since_ns, "an heir that sleeps", __FILE__, __LINE__);
		nap_ms(2);
		pthread_kill(w->thread, SIGUSR1);
	}
}

/* ---- released when time is up ------------------------------------------------------------------------------- */

static inline void sleep_until(uint64_t time_ns)
{
	struct timespec time;

	time.tv_sec = (time_t)(time_ns / 1000000000u);
	time.tv_nsec = (long)(time_ns % 1000000000u);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

/* A lock of any kind. */
struct close_call {
	void *lock;
	const struct lull_mutex *m; /* its word */
	int (*take)(void *lock, uint64_t deadline_ns);
	void (*release)(void *lock);
	uint64_t release_ns;
	int turn; /* 1: take it; 2: it is; 3: it no longer is; 4: that is all */
};

static inline void *releases(void *arg)
{
	struct close_call *call = (struct close_call *)arg;
	int turn;

	for (;;) {
		while ((turn = lull_load_acquire(&call->turn)) != 1) {
			if (turn == 4)
				return NULL;
			sched_yield();
		}
		assert_int_equal(call->take(call->lock, UINT64_MAX), 0);
		lull_store_release(&call->turn, 2);
		sleep_until(call->release_ns);
		call->release(call->lock);
		lull_store_release(&call->turn, 3);
	}
}

/* Held by another thread until about the deadline: one told that time is up does not have it; one not told has. */
static inline void expect_timeout_or_lock(struct close_call *call, int rounds)
{
	pthread_t thread = start_thread(releases, call);
	uint32_t random = 1;

	for (int i = 0; i < rounds; i++) {
		uint64_t deadline_ns = now_ns() + 300000;
		int err;

		random = random * 1664525u + 1013904223u;
		call->release_ns = deadline_ns - 40000 + (random >> 8) % 80000;
		lull_store_release(&call->turn, 1);
		AWAIT_SOON(lull_load_acquire(&call->turn) >= 2);
		err = call->take(call->lock, deadline_ns);
		assert_int_equal(lull_mutex_owner(call->m) == my_tid(), err == 0);
		if (err == 0)
			call->release(call->lock);
		else
			assert_int_equal(err, -ETIMEDOUT);
		await_flag(&call->turn, 3);
		assert_int_equal(call->m->word, 0);
	}
	lull_store_release(&call->turn, 4);
	join_thread(thread);
}

/* ---- misuse ------------------------------------------------------------------------------------------------- */

/* The line that the child is going to abort with, if all is well; in memory that it shares with its parent. */
static char *wanted_line;
#define WANTED_SIZE 512

static inline void make_wanted_line(void)
{
	wanted_line = (char *)mmap(NULL, WANTED_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(wanted_line != MAP_FAILED);
}

#define want_line(...) snprintf(wanted_line, WANTED_SIZE, __VA_ARGS__)

/* This thread's name in /proc: under an emulator, the emulator. */
static inline const char *my_name(void)
{
	static char name[32];
	FILE *file = fopen("/proc/thread-self/comm", "re");

	assert_non_null(file);
	assert_non_null(fgets(name, sizeof(name), file));
	fclose(file);
	name[strcspn(name, "\n")] = '\0';
	return name;
}

static inline void judge_wanted_line(const struct child *child, const char *words, const char *file, int line)
{
	size_t length = strlen(wanted_line);
	bool right = child_aborted(child) && !strncmp(child->text, "lull: ", 6) && !strncmp(child->text + 6, wanted_line, length);

	(void)words;
#ifndef LULL_TEST_EMULATED /* the emulator has something to say about it, too */
	right = right && !strcmp(child->text + 6 + length, "\n");
#endif
	judge_child(right, child, wanted_line, file, line);
}

/* EXPECT_WANTED_LINE { body }: the body, run in a child, aborts with the line that it has announced. */
#define EXPECT_WANTED_LINE                                                                          \
	for (bool in_child_ = want_line("nothing announced") &&                                    \
			      in_child_of(judge_wanted_line, "", __FILE__, __LINE__);              \
	     in_child_; in_child_ = (_exit(0), false))

static inline void expect_wanted_line(void (*func)(void))
{
	EXPECT_WANTED_LINE
		func();
}

#endif /* LULL_TEST_MUTEX_SUPPORT_H */
