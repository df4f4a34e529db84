/* SPDX-License-Identifier: MIT */
/*
 * scarce.c - a barrier that cannot get memory, or a thread for a worker, holds up only its caller: meanwhile workers
 * are made and freed, and the process forks. It goes on when it can. liburcu itself ends the process without a thread.
 */
#include "urcu_flavor.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);

static _Atomic int no_threads, no_memory, tries;
static __thread int waits; /* memory is refused to this thread alone */

static int refuses(void)
{
	if (!waits || !atomic_load(&no_memory))
		return 0;
	atomic_fetch_add(&tries, 1);
	return 1;
}

void *malloc(size_t size)
{
	return refuses() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return refuses() ? NULL : __libc_calloc(count, size);
}

static int real_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	return real(thread, attr, run, arg);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	if (!atomic_load(&no_threads))
		return real_create(thread, attr, run, arg);
	if (waits)
		atomic_fetch_add(&tries, 1);
	return EAGAIN;
}

static struct rcu_head head;
static _Atomic int called, passed, others_done;

static void count(struct rcu_head *unused)
{
	(void)unused;
	atomic_fetch_add(&called, 1);
}

static void *waits_at_barrier(void *unused)
{
	waits = 1;
	rcu_barrier();
	MUST(atomic_load(&called) == 1);
	atomic_store(&passed, 1);
	return unused;
}

#define STACKS 4

static _Atomic int stacks_filled, stacks_may_be_read;

/* On a stack of the parent's threads: one of them waited at the barrier. */
static void *fills_its_stack(void *unused)
{
	volatile unsigned char fill[32768];

	memset((void *)fill, 0x5a, sizeof(fill));
	atomic_fetch_add(&stacks_filled, 1);
	AWAIT(atomic_load(&stacks_may_be_read));
	for (unsigned i = 0; i < sizeof(fill); i++)
		MUST(fill[i] == 0x5a);
	return unused;
}

static void in_child(void)
{
	pthread_t threads[STACKS];

	alarm(100);
	for (int i = 0; i < STACKS; i++)
		MUST(real_create(&threads[i], NULL, fills_its_stack, NULL) == 0);
	AWAIT(atomic_load(&stacks_filled) == STACKS);
	atomic_store(&no_threads, 0);
	atomic_store(&no_memory, 0);
	call_rcu_after_fork_child();
	rcu_barrier();
	MUST(atomic_load(&called) == 1);
	atomic_store(&stacks_may_be_read, 1);
	for (int i = 0; i < STACKS; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}

static void *others(void *unused)
{
	struct call_rcu_data *worker = create_call_rcu_data(0, -1);
	int status;
	pid_t child;

	MUST(worker);
	call_rcu_data_free(worker);
	call_rcu_before_fork();
	child = fork();
	if (child == 0)
		in_child();
	call_rcu_after_fork_parent();
	MUST(child > 0 && waitpid(child, &status, 0) == child);
	MUST(status == 0);
	atomic_store(&others_done, 1);
	return unused;
}

/* A barrier that cannot go on for want of what @scarce stands for. */
static void try(_Atomic int *scarce)
{
	struct call_rcu_data *worker;
	pthread_t waiter, other;

	atomic_store(&called, 0);
	atomic_store(&passed, 0);
	atomic_store(&others_done, 0);
	atomic_store(&tries, 0);
	atomic_store(scarce, 1);
	worker = create_call_rcu_data(0, -1);
	set_thread_call_rcu_data(worker);
	call_rcu(&head, count);
	set_thread_call_rcu_data(NULL);
	MUST(real_create(&waiter, NULL, waits_at_barrier, NULL) == 0);
	AWAIT(atomic_load(&tries) >= 2);
	MUST(real_create(&other, NULL, others, NULL) == 0);
	AWAIT(atomic_load(&others_done));
	MUST(!atomic_load(&passed));
	atomic_store(scarce, 0);
	AWAIT(atomic_load(&passed));
	pthread_join(waiter, NULL);
	pthread_join(other, NULL);
	call_rcu_data_free(worker);
}

int main(void)
{
	alarm(100);
	get_default_call_rcu_data();
	try(&no_threads);
	puts("ok threads");
	try(&no_memory);
	puts("ok memory");
	return 0;
}
