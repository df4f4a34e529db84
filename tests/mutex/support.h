/* SPDX-License-Identifier: MIT */
/*
 * support.h - what the tests of locks share: to know that a thread sleeps, to interrupt it, to hold a lock of any kind
 * in another thread or process, and the exact line that misuse ends with.
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
#include <lull/mutex_robust.h>

#define MS UINT64_C(1000000)

/* Parts of struct lull_mutex's `rest`: the heir, how often sleepers were passed by. */
#define HEIR_TID 0x3fffffu
#define PASSES	 0xfc00000u

/* Parts of its word: how many spin; one of those that sleep looks by itself. */
#define SPINNER	 0x400000u
#define SPINNERS 0x1c00000u
#define WATCH	 0x10000000u

/* The count in lull_cond's `waiters`. */
#define COUNT  0x3fffff00u
#define WAITER 0x00000100u

static inline uint32_t how_many_wait(const struct lull_cond *c)
{
	return (lull_load_acquire(&c->waiters) & COUNT) / WAITER;
}

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

static inline void expect_free(const struct lull_mutex *m)
{
	assert_int_equal(m->word, 0);
	assert_int_equal(m->rest & ~PASSES, 0);
	assert_int_equal(lull_mutex_owner(m), 0);
	assert_false(lull_mutex_is_locked(m));
}

/* *tid has said with @bits in the word that it will sleep, and does. */
static inline void await_asleep(const struct lull_mutex *m, uint32_t bits, const uint32_t *tid)
{
	AWAIT((lull_load_relaxed(&m->word) & bits) == bits && sleeps(tid));
}

/* Wake one of those that sleep for a private mutex, as an unlock does. */
static inline void wake_one_for(struct lull_mutex *m)
{
	lull_add_release(&m->turn, 1u);
	if (syscall(SYS_futex, &m->turn, 1 /* FUTEX_WAKE */ | 128 /* private */, 1) == 0)
		syscall(SYS_futex, &m->word, 1 | 128, 1); /* heirs, and sleepers of the oracle `kernel` */
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

/*
 * A handler of SIGUSR2 that stays until `handler_ends`: the interrupted thread is not asleep, cannot take a lock, and
 * waits for others, as those do that stop the world.
 */
static int in_handler, handler_ends;

static inline void stays(int signal)
{
	int saved = errno;

	(void)signal;
	lull_store_release(&in_handler, 1);
	AWAIT(lull_load_acquire(&handler_ends));
	errno = saved;
}

static inline void keep_in_handler(pthread_t thread)
{
	handle(SIGUSR2, stays);
	lull_store_release(&in_handler, 0);
	lull_store_release(&handler_ends, 0);
	interrupt_until(thread, SIGUSR2, &in_handler, 1);
}

static inline void end_handler(void)
{
	lull_store_release(&handler_ends, 1);
}

/* ---- processes ------------------------------------------------------------------------------------------------ */

/* Memory that is zero, and that children share. */
static inline void *shared_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	must(memory != MAP_FAILED);
	return memory;
}

static inline pid_t start_process(void (*func)(void))
{
	pid_t child;

	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		func();
		_exit(0);
	}
	return child;
}

static inline int join_process(pid_t child)
{
	int status = 0;

	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static inline void expect_killed(pid_t child)
{
	int status = join_process(child);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

static inline void kill_process(pid_t child)
{
	kill(child, SIGKILL);
	expect_killed(child);
}

/* ---- a lock of any kind ----------------------------------------------------------------------------------------- */

enum kind { PRIVATE, SHARED, ROBUST, KINDS };

struct some_lock {
	enum kind kind;
	struct lull_mutex_robust robust; /* of other kinds: its mutex */
};

/* Only an emulator has no robust mutexes. */
static inline int kinds_here(void)
{
	void *head;
	size_t size;

	return syscall(SYS_get_robust_list, 0, &head, &size) == 0 ? KINDS : ROBUST;
}

static inline void make_lock(struct some_lock *l, enum kind kind)
{
	l->kind = kind;
	lull_mutex_robust_init(&l->robust, kind == PRIVATE ? 0 : LULL_MUTEX_SHARED);
}

static inline int acquire(struct some_lock *l)
{
	if (l->kind == ROBUST)
		return lull_mutex_robust_lock(&l->robust);
	lull_mutex_lock(&l->robust.mutex);
	return 0;
}

static inline int try_acquire(struct some_lock *l)
{
	if (l->kind == ROBUST)
		return lull_mutex_robust_trylock(&l->robust);
	return lull_mutex_trylock(&l->robust.mutex) ? 0 : -EBUSY;
}

static inline int acquire_until(struct some_lock *l, uint64_t deadline_ns)
{
	if (l->kind == ROBUST)
		return lull_mutex_robust_timedlock(&l->robust, deadline_ns);
	return lull_mutex_timedlock(&l->robust.mutex, deadline_ns);
}

static inline void release(struct some_lock *l)
{
	if (l->kind == ROBUST)
		lull_mutex_robust_unlock(&l->robust);
	else
		lull_mutex_unlock(&l->robust.mutex);
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

static inline void sleep_until(uint64_t time_ns)
{
	struct timespec time;

	time.tv_sec = (time_t)(time_ns / 1000000000u);
	time.tv_nsec = (long)(time_ns % 1000000000u);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

/* ---- misuse ------------------------------------------------------------------------------------------------- */

/* The line that the child is going to abort with, if all is well; in memory that it shares with its parent. */
static char *wanted_line;
#define WANTED_SIZE 512

#define want_line(...) snprintf(wanted_line, WANTED_SIZE, __VA_ARGS__)

static inline bool want_nothing(void)
{
	if (!wanted_line)
		wanted_line = (char *)shared_memory(WANTED_SIZE);
	return want_line("nothing announced") > 0;
}

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
	for (bool in_child_ = want_nothing() && in_child_of(judge_wanted_line, "", __FILE__, __LINE__); in_child_;          \
	     in_child_ = (_exit(0), false))

#endif /* LULL_TEST_MUTEX_SUPPORT_H */
