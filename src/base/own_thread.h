/* SPDX-License-Identifier: MIT */
/*
 * own_thread.h - the threads that the library starts: how they begin, and when they end.
 *
 * A thread that needs one of them for the first time must not decide how it runs. So it starts with
 * SCHED_OTHER, nice 0, the CPUs of the main thread (which are the process's own, as taskset(1) takes them),
 * a small stack, and all signals blocked but those that faults raise: a callback may use these.
 */
#ifndef LULL_OWN_THREAD_H
#define LULL_OWN_THREAD_H

#include "../os/os.h"

#define LULL__IDLE_NS 2000000000u /* so long without anything to do, and a thread of the library's ends */

struct lull__own_thread {
	const char *name;
	void (*body)(void);
};

/* Start @own, and store its id in *@id before it runs. Returns 0 or an errno value. */
int lull__own_thread_start(const struct lull__own_thread *own, pthread_t *id);

/* For threads that start from now on: the stack, 0 for the default; @hook, or NULL, runs in them first. */
void lull__own_thread_configure(size_t stack_bytes, void (*hook)(const char *name));

/* Run on each CPU that any thread may use, while no new thread of the library's takes on this one's CPUs: 0 or -errno. */
int lull__visit_cpus(void);

void lull__own_thread_init(void); /* for life.c */
void lull__own_thread_fork_child(uint32_t old_tid);

#endif /* LULL_OWN_THREAD_H */
