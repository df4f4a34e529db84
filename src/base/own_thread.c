/* SPDX-License-Identifier: MIT */
/*
 * own_thread.c - start the library's threads: see own_thread.h.
 */
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <lull/atomic.h>

#include "lock.h"
#include "own_thread.h"

/* musl has none: there a thread begins on the CPUs of the one that starts it. */
#ifndef __GLIBC__
#define pthread_attr_setaffinity_np(attr, size, cpus) ((void)(attr))
#endif
#define LEAST_STACK ((size_t)256 << 10) /* and all that there is where each new page takes up memory */

static struct {
	uint32_t idle_ms;
	uint32_t begin; /* how many have been started and do not work yet */
	size_t stack_bytes; /* 0: pthread's default */
	size_t tls_bytes; /* glibc takes a thread's variables out of its stack */
	void (*hook)(const char *name);
} own_threads = { .idle_ms = LULL__IDLE_MS };

static struct lull__lock visit_lock; /* a thread visits all CPUs, perhaps main: its own set is not to be seen now */

static int add_tls_bytes(struct dl_phdr_info *info, size_t size, void *sum)
{
	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS)
			*(size_t *)sum += info->dlpi_phdr[i].p_memsz + info->dlpi_phdr[i].p_align;
	return 0;
}

/*
 * Count now, not in a forked child: there the lock that this takes may be held by a thread that the child does not
 * have.
 */
void lull__own_thread_init(void)
{
	dl_iterate_phdr(add_tls_bytes, &own_threads.tls_bytes);
}

void lull__own_thread_fork_child(uint32_t old_tid)
{
	(void)old_tid;
	visit_lock.word = 0;
	own_threads.begin = 0;
}

/* Without signals: a handler might start a thread, and wait for the lock. */
int lull__visit_cpus(void)
{
	sigset_t saved;
	int err;

	lull__block_signals(&saved);
	lull__lock(&visit_lock);
	err = lull__visit_all_cpus();
	lull__unlock(&visit_lock);
	lull__restore_signals(&saved);
	return err;
}

void lull__own_thread_configure(uint32_t idle_ms, size_t stack_bytes, void (*hook)(const char *name))
{
	lull_store_relaxed(&own_threads.idle_ms, idle_ms);
	lull_store_relaxed(&own_threads.stack_bytes, stack_bytes);
	lull_store_relaxed(&own_threads.hook, hook);
}

uint64_t lull__idle_end_ns(uint64_t now_ns, uint32_t doubled)
{
	uint32_t ms = lull_load_relaxed(&own_threads.idle_ms);

	return ms == UINT32_MAX ? LULL__NEVER : now_ns + ((uint64_t)ms * 1000000u << doubled);
}

/* Nothing is ordered here: the caller only wants to know what system calls are still to come. */
void lull__own_threads_await(void)
{
	uint32_t begin;

	while ((begin = lull_load_relaxed(&own_threads.begin)) != 0)
		lull__futex_wait(&own_threads.begin, begin, LULL__NEVER);
}

static void one_begins(void)
{
	lull_sub_relaxed(&own_threads.begin, 1u);
	lull__futex_wake(&own_threads.begin, INT_MAX);
}

/* The nice value is the one property that cannot be given to a thread before it runs. */
static void *run(void *arg)
{
	const struct lull__own_thread *own = arg;
	void (*hook)(const char *name) = lull_load_relaxed(&own_threads.hook);
	int saved = errno;

	if (getpriority(PRIO_PROCESS, 0) != 0)
		setpriority(PRIO_PROCESS, 0, 0);
	errno = saved;
	pthread_setname_np(pthread_self(), own->name);
	lull__fine_timers();
	if (hook)
		hook(own->name);
	one_begins();
	own->body();
	return NULL;
}

/* Give the thread the stack that the program wants; without @small, the one that all its threads have. */
static void set_stack(pthread_attr_t *attr, bool small)
{
	size_t wanted = lull_load_relaxed(&own_threads.stack_bytes);
	size_t bytes = (wanted ? wanted : LEAST_STACK) + own_threads.tls_bytes, usual = 0;
	size_t page = (size_t)sysconf(_SC_PAGESIZE), least = (size_t)sysconf(_SC_THREAD_STACK_MIN);

	pthread_attr_getstacksize(attr, &usual);
	if (!small && usual > bytes)
		return;
	pthread_attr_setstacksize(attr, ((bytes < least ? least : bytes) + page - 1) & -page);
}

static void ask_for_policy(pthread_attr_t *attr)
{
	static const struct sched_param none;

	if (sched_getscheduler(0) == SCHED_OTHER)
		return;
	pthread_attr_setinheritsched(attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(attr, SCHED_OTHER);
	pthread_attr_setschedparam(attr, &none);
}

/*
 * Ask for the main thread's CPUs. The kernel may allow more, but a program that was started on some CPUs stays there;
 * and the CPUs of another thread may be set aside for it alone.
 */
static void ask_for_cpus(pthread_attr_t *attr)
{
	cpu_set_t mine, mains;
	bool differ;

	lull__lock(&visit_lock);
	differ = sched_getaffinity(0, sizeof(mine), &mine) == 0 &&
		 sched_getaffinity(getpid(), sizeof(mains), &mains) == 0 && !CPU_EQUAL(&mine, &mains);
	lull__unlock(&visit_lock);
	if (differ)
		pthread_attr_setaffinity_np(attr, sizeof(mains), &mains);
}

enum { INHERIT, ASK_FOR_CPUS, ASK_FOR_ALL };

static int start_as(const struct lull__own_thread *own, pthread_t *id, int wish, bool small)
{
	pthread_attr_t attr;
	int err = pthread_attr_init(&attr);

	if (err)
		return err;
	set_stack(&attr, small);
	if (wish >= ASK_FOR_CPUS)
		ask_for_cpus(&attr);
	if (wish >= ASK_FOR_ALL)
		ask_for_policy(&attr);
	err = pthread_create(id, &attr, run, (void *)(uintptr_t)own);
	pthread_attr_destroy(&attr);
	return err;
}

/*
 * Give the thread its properties before it runs. With those of its starter it might never run, and so never change
 * them: the starter may have a high priority and not sleep. It inherits what the kernel refuses to change. The stack is
 * small where all of it would be memory at once, or where there is no room for more.
 */
int lull__own_thread_start(const struct lull__own_thread *own, pthread_t *id)
{
	bool small = lull_load_relaxed(&own_threads.stack_bytes) || lull__new_memory_is_locked(), was_small;
	int saved = errno, err, wish = ASK_FOR_ALL;
	sigset_t mask;

	lull__block_all_but_faults(&mask);
	lull_add_relaxed(&own_threads.begin, 1u);
	do {
		was_small = small;
		err = start_as(own, id, wish, small);
		small |= err == EAGAIN;
	} while (err && (err == EAGAIN ? !was_small : wish-- > INHERIT));
	if (err)
		one_begins();
	lull__restore_signals(&mask);
	errno = saved;
	return err;
}
