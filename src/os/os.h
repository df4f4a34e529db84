/* SPDX-License-Identifier: MIT */
/*
 * os.h - all that the library asks of Linux: futexes, membarrier, clocks, CPUs, threads.
 *
 * No logic of the library's own and no state. Every function leaves errno as it was.
 */
#ifndef LULL_OS_H
#define LULL_OS_H

#include <pthread.h>
#include <signal.h>

#include <lull/debug.h>

/* ---- linux.c: time ---------------------------------------------------------------------------- */

/*
 * Points in time are CLOCK_MONOTONIC in ns. LULL__NEVER is later than all: it means "no deadline"
 * everywhere in the library, and the earlier of two times is the smaller number.
 */
#define LULL__NEVER UINT64_MAX

uint64_t lull__now_ns(void);
void lull__nap(uint64_t ns);	/* sleep, without a cancellation point */
void lull__fine_timers(void);	/* make the calling thread's timed sleeps end on time (no timer slack) */

/* ---- linux.c: futexes ------------------------------------------------------------------------- */

/* Sleep while *@word == @value, until @deadline_ns at the latest. May return early: check again. */
void lull__futex_wait(uint32_t *word, uint32_t value, uint64_t deadline_ns);
void lull__futex_wake(uint32_t *word, int how_many);

/*
 * Sleep and wake with several kinds of sleepers: a wake-up reaches those whose @bitset has a bit in
 * common with it. @shared: processes share the word. wait returns 0 when woken, else -EAGAIN, -EINTR or
 * -ETIMEDOUT; wake returns how many it woke.
 */
int lull__futex_wait_bits(uint32_t *word, uint32_t value, uint32_t bitset, uint64_t deadline_ns, bool shared);
int lull__futex_wake_bits(uint32_t *word, int how_many, uint32_t bitset, bool shared);

/*
 * Wake @wake of the threads that sleep on @from, and let @move others sleep on @to. Returns 0, or -EAGAIN
 * if *@from is no longer @value.
 */
int lull__futex_requeue(uint32_t *from, uint32_t value, int wake, int move, uint32_t *to, bool shared);

/* ---- linux.c: fences on other CPUs ------------------------------------------------------------ */

bool lull__membarrier_register(void); /* true: private expedited works for this process */
int lull__membarrier(void);	      /* 0 or -errno */
int lull__membarrier_global(void);    /* the same, slowly: it needs no memory and was not registered */
int lull__visit_all_cpus(void);	      /* run on each CPU that any thread may use; 0 or -errno */

/* ---- linux.c: CPUs, threads, memory ----------------------------------------------------------- */

unsigned lull__cpus_allowed(void);  /* CPUs that the calling thread may run on, at least 1 */
unsigned lull__cpus_possible(void); /* all CPU numbers are below this, also those plugged in later */
uint32_t lull__gettid(void);
bool lull__join(pthread_t thread, uint64_t timeout_ns); /* @timeout_ns < 1 s; false: it has not ended */
uint32_t *lull__page_cleared_by_fork(void); /* a page of zeros, again so in each child; NULL: cannot be had */
void lull__free_page(void *page);
bool lull__new_memory_is_locked(void); /* does new memory take up pages at once, because of mlockall(2)? */
bool lull__peek(const uint32_t *from, uint32_t *to);	/* false: there is no such memory */

/* Keep the calling thread from being cancelled while it has a lock of the library's. */
static inline void lull__no_cancel(int *saved)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, saved);
}

static inline void lull__may_cancel(int saved)
{
	pthread_setcancelstate(saved, NULL);
}

/* Keep signal handlers away from the calling thread. */
static inline void lull__block_signals(sigset_t *saved)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, saved);
}

/* The same, but for those that faults raise: the kernel would end the process past its handler. For threads to inherit. */
static inline void lull__block_all_but_faults(sigset_t *saved)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
	sigset_t most;

	sigfillset(&most);
	for (unsigned i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigdelset(&most, faults[i]);
	pthread_sigmask(SIG_SETMASK, &most, saved);
}

static inline void lull__restore_signals(const sigset_t *saved)
{
	pthread_sigmask(SIG_SETMASK, saved, NULL);
}

/* ---- module.c: the program and the libraries in this process ------------------------------------ */

/* Find the first two modules that contain a copy of lull, by their names; NULL: there is no other. */
void lull__find_copies(const char *copy_in[2]);

/* Let dlclose() leave the module of that name where it is. */
void lull__stay_loaded(const char *module);

/* ---- write.c: descriptors of the program's ---------------------------------------------------- */

/*
 * Write @len bytes, at most PIPE_BUF of them unless @may_wait. Raises no SIGPIPE, SIGXFSZ or SIGTTOU. Without @may_wait
 * only what there is room for is written, and the call does not block. Returns 0 or -errno, -ENOSPC if that is not all.
 * Async-signal-safe, no cancellation point.
 */
int lull__write(int fd, const char *buf, size_t len, bool may_wait);

/* ---- task.c: what /proc says about a thread of this process ----------------------------------- */

/* Read file @what ("/comm") of thread @tid, without the newline. Async-signal-safe, no cancellation point. */
bool lull__task_file(uint32_t tid, const char *what, char *buf, size_t size);
bool lull__is_last_thread(void); /* has every other thread of this process exited, main included? */
void lull__thread_name(uint32_t tid, char *buf, size_t size); /* async-signal-safe; "?" when it is gone */

#endif /* LULL_OS_H */
