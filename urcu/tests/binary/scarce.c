/* SPDX-License-Identifier: MIT */
/*
 * scarce.c - a barrier that cannot get memory, or that waits for a reader, holds up only its caller: meanwhile workers are
 * made and freed, and the process forks. It goes on when it can. Where a worker can get no thread it runs the callbacks
 * itself. liburcu ends the process without memory, and without a thread.
 */
#include "urcu_flavor.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);

static _Atomic int no_threads, no_memory, tries;
static __thread int waits; /* memory is refused to this thread alone, and its tries are counted */
static void (*_Atomic while_starting)(void); /* called when a thread runs, before its pthread_create() returns */

static int refuses(void)
{
	if (waits)
		atomic_fetch_add(&tries, 1);
	return waits && atomic_load(&no_memory);
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
	void (*then)(void) = atomic_exchange(&while_starting, NULL);
	int err = atomic_load(&no_threads) ? EAGAIN : real_create(thread, attr, run, arg);

	if (then)
		then();
	return err;
}

static struct rcu_head head;
static _Atomic int called, passed, others_done;

static void count(struct rcu_head *unused)
{
	(void)unused;
	atomic_fetch_add(&called, 1);
}

static pthread_t called_in;

static void note_thread(struct rcu_head *unused)
{
	called_in = pthread_self();
	count(unused);
}

static struct call_rcu_data *worker_without_thread(void)
{
	struct call_rcu_data *worker;

	atomic_store(&called, 0);
	atomic_store(&no_threads, 1);
	worker = create_call_rcu_data(0, -1);
	MUST(worker);
	set_thread_call_rcu_data(worker);
	return worker;
}

/* ---- a barrier without a thread ------------------------------------------------------------------------------- */

static void without_threads(void)
{
	struct call_rcu_data *worker = worker_without_thread();

	call_rcu(&head, note_thread);
	rcu_barrier();
	MUST(atomic_load(&called) == 1 && pthread_equal(called_in, pthread_self()));
	call_rcu(&head, note_thread);
	MUST(get_thread_call_rcu_data() == worker);
	set_thread_call_rcu_data(NULL);
	call_rcu_data_free(worker); /* the default one has it */
	rcu_barrier();
	MUST(atomic_load(&called) == 2);
	atomic_store(&no_threads, 0);
}

/* ---- a call while the worker's thread is started ---------------------------------------------------------------- */

static pthread_t second_caller;
static _Atomic int calls_twice;
static struct rcu_head second;

static void *calls(void *worker)
{
	set_thread_call_rcu_data(worker);
	atomic_store(&calls_twice, 1);
	call_rcu(&second, count);
	return NULL;
}

/* The worker has run all there is, and sleeps. For the other thread to defer, which finds no thread yet, and waits. */
static void calls_while_starting(void)
{
	AWAIT(atomic_load(&called) == 1);
	poll(NULL, 0, 20);
	MUST(real_create(&second_caller, NULL, calls, get_thread_call_rcu_data()) == 0);
	AWAIT(atomic_load(&calls_twice));
	poll(NULL, 0, 20);
}

static void while_it_starts(void)
{
	struct call_rcu_data *worker = worker_without_thread();

	atomic_store(&no_threads, 0);
	atomic_store(&while_starting, calls_while_starting);
	call_rcu(&head, count);
	AWAIT(atomic_load(&called) == 2);
	pthread_join(second_caller, NULL);
	set_thread_call_rcu_data(NULL);
	call_rcu_data_free(worker);
}

/* ---- a barrier that cannot go on -------------------------------------------------------------------------------- */

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

static _Atomic int reads, may_go;

static void *stays_in(void *unused)
{
	rcu_register_thread();
	rcu_read_lock();
	atomic_store(&reads, 1);
	AWAIT(atomic_load(&may_go));
	rcu_read_unlock();
	rcu_unregister_thread();
	return unused;
}

/* @scarce: it gets no memory; else a reader is in the way, and it waits for a worker. */
static void try(bool scarce)
{
	struct call_rcu_data *worker = create_call_rcu_data(0, -1);
	pthread_t reader, waiter, other;

	atomic_store(&called, 0);
	atomic_store(&passed, 0);
	atomic_store(&others_done, 0);
	atomic_store(&tries, 0);
	atomic_store(&no_memory, scarce);
	atomic_store(&may_go, scarce);
	MUST(real_create(&reader, NULL, stays_in, NULL) == 0);
	AWAIT(atomic_load(&reads));
	set_thread_call_rcu_data(worker);
	call_rcu(&head, count);
	set_thread_call_rcu_data(NULL);
	MUST(real_create(&waiter, NULL, waits_at_barrier, NULL) == 0);
	AWAIT(atomic_load(&tries) >= (scarce ? 2 : 1));
	poll(NULL, 0, 20); /* for its callbacks to be in the queues */
	MUST(real_create(&other, NULL, others, NULL) == 0);
	AWAIT(atomic_load(&others_done));
	MUST(!atomic_load(&passed));
	atomic_store(&no_memory, 0);
	atomic_store(&may_go, 1);
	AWAIT(atomic_load(&passed));
	pthread_join(waiter, NULL);
	pthread_join(other, NULL);
	pthread_join(reader, NULL);
	call_rcu_data_free(worker);
}

int main(void)
{
	alarm(100);
	get_default_call_rcu_data();
	without_threads();
	puts("ok threads");
	while_it_starts();
	puts("ok start");
	try(false);
	puts("ok reader");
	try(true);
	puts("ok memory");
	return 0;
}
