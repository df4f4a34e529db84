/* SPDX-License-Identifier: MIT */
/*
 * own_thread.h - the threads that the library starts: how they begin, and when they end.
 *
 * A thread that needs one of them for the first time must not decide how it runs. So it starts with
 * SCHED_OTHER, nice 0, the CPUs of the main thread (which are the process's own, as taskset(1) takes them),
 * and all signals blocked but those that faults raise: a callback may use these.
 */
#ifndef LULL_OWN_THREAD_H
#define LULL_OWN_THREAD_H

#include "../os/os.h"

#define LULL__IDLE_MS 2000u /* so long without anything to do, and a thread of the library's ends; the default */

struct lull__own_thread {
	const char *name;
	void (*body)(void);
};

/* Start @own, and store its id in *@id before it runs. Returns 0 or an errno value. */
int lull__own_thread_start(const struct lull__own_thread *own, pthread_t *id);

/* Wait until each thread that has been started has run its hook, and begun with its work. */
void lull__own_threads_await(void);

/*
 * @idle_ms without work, and a thread ends; UINT32_MAX: none ends. For threads that start from now on: the stack, 0 for
 * the default; @hook, or NULL, runs in them first.
 */
void lull__own_thread_configure(uint32_t idle_ms, size_t stack_bytes, void (*hook)(const char *name));

/* Return when a thread that has nothing to do from @now_ns on is to end, after twice the time for each @doubled. */
uint64_t lull__idle_end_ns(uint64_t now_ns, uint32_t doubled);

/* Is none to end any more, whatever time a thread has slept for? Look under the lock under which it says that it ends. */
static inline bool lull__own_threads_stay(void)
{
	return lull__idle_end_ns(0, 0) == LULL__NEVER;
}

/* Run on each CPU that any thread may use, while no new thread of the library's takes on this one's CPUs: 0 or -errno. */
int lull__visit_cpus(void);

void lull__own_thread_init(void); /* for life.c */
void lull__own_thread_fork_child(uint32_t old_tid);

#endif /* LULL_OWN_THREAD_H */
