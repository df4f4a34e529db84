/* SPDX-License-Identifier: MIT */
/* children.c - questions: forked children, and what is deferred by defer_rcu(). */
#include "question.h"

#include <sys/wait.h>

#include <urcu/call-rcu.h>
#include <urcu/flavor.h>
#include <urcu-defer.h>

/* ---- forks ------------------------------------------------------------------------------------------------ */

/* Threads that begin allocate, and AddressSanitizer's allocator does not stand a fork meanwhile. */
static void let_workers_begin(void)
{
#ifdef SANITIZED
	get_default_call_rcu_data();
	rcu_barrier();
#endif
}

/* Workers stop first: bp keeps grace periods from them. */
static void before_fork(void)
{
	call_rcu_before_fork();
#ifdef FLAVOR_bp
	urcu_bp_before_fork();
#endif
}

static void after_fork(bool child)
{
#ifdef FLAVOR_bp
	child ? urcu_bp_after_fork_child() : urcu_bp_after_fork_parent();
#endif
	child ? call_rcu_after_fork_child() : call_rcu_after_fork_parent();
}

/* The child's answers come first. */
static void fork_and(void (*in_child)(void))
{
	int status;
	pid_t child;

	before_fork();
	child = fork();
	MUST(child >= 0);
	after_fork(child == 0);
	if (child == 0) {
		alarm(100);
		in_child();
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	if (status)
		answer("the child ended with %x", status);
	answer(" then the parent");
}

static void say_called(void)
{
	rcu_barrier();
	answer("%d", atomic_load(&called));
}

QUESTION(callbacks_in_a_child)
{
	let_workers_begin();
	for (int i = 0; i < 100; i++)
		call_rcu(new_head(), count_call);
	fork_and(say_called);
	say_called();
}

#ifndef FROM_SOURCE /* a child has a reclaimer when it defers, or has a barrier */
static void await_called(void)
{
	AWAIT(atomic_load(&called) == 100);
	answer("100");
}

QUESTION(callbacks_in_a_child_that_has_no_barrier)
{
	let_workers_begin();
	for (int i = 0; i < 100; i++)
		call_rcu(new_head(), count_call);
	fork_and(await_called);
	await_called();
}
#endif

static void defer_and_say(void)
{
	call_rcu(new_head(), count_call);
	synchronize_rcu();
	say_called();
}

QUESTION(callbacks_of_a_child)
{
	call_rcu(new_head(), count_call);
	rcu_barrier();
	fork_and(defer_and_say);
	defer_and_say();
}

static void fork_again(void)
{
	let_workers_begin();
	fork_and(defer_and_say);
	defer_and_say();
}

QUESTION(callbacks_of_a_grandchild)
{
	let_workers_begin();
	call_rcu(new_head(), count_call);
	fork_and(fork_again);
	defer_and_say();
}

QUESTION(callbacks_on_a_worker_that_the_child_has_not)
{
	struct call_rcu_data *worker = create_call_rcu_data(0, -1);

	let_workers_begin();
	set_thread_call_rcu_data(worker);
	for (int i = 0; i < 100; i++)
		call_rcu(new_head(), count_call);
	fork_and(say_called);
	answer("%s", yes_no(get_thread_call_rcu_data() == worker));
	say_called();
}

static void say_workers(void)
{
	answer("thread's %s", yes_no(get_thread_call_rcu_data() != NULL));
	answer("CPU's %s", yes_no(get_cpu_call_rcu_data(0) != NULL));
	answer("%s", yes_no(get_call_rcu_data() == get_default_call_rcu_data()));
}

QUESTION(workers_of_a_child)
{
	create_all_cpu_call_rcu_data(0);
	set_thread_call_rcu_data(create_call_rcu_data(0, -1));
	let_workers_begin();
	fork_and(say_workers);
	say_workers();
}

#ifndef FROM_SOURCE /* lull's own threads come and go */
static void say_threads(void)
{
	answer("%u", threads_now());
}

QUESTION(threads_of_a_child)
{
	create_call_rcu_data(0, -1);
	call_rcu(new_head(), count_call);
	rcu_barrier();
	fork_and(say_threads);
}

QUESTION(threads_of_a_child_of_a_program_that_defers_nothing)
{
	synchronize_rcu();
	fork_and(say_threads);
	say_threads();
}
#endif

static void say_ongoing(void)
{
	answer("%s", yes_no(rcu_read_ongoing()));
	rcu_read_lock();
	rcu_read_unlock();
	synchronize_rcu();
	rcu_unregister_thread();
	synchronize_rcu();
}

QUESTION(registered_thread_that_forks)
{
	rcu_register_thread();
	fork_and(say_ongoing);
	say_ongoing();
}

static void *stays_in(void *unused)
{
	rcu_register_thread();
	rcu_read_lock();
	atomic_store((_Atomic int *)unused, 1);
	pause();
	return NULL;
}

#ifdef FLAVOR_bp /* of the others a child must not have had such threads */
static void synchronize(void)
{
	synchronize_rcu();
	answer("returns");
}

QUESTION(reader_of_the_parent_and_grace_period_of_the_child)
{
	static _Atomic int reads;
	pthread_t reader;

	MUST(pthread_create(&reader, NULL, stays_in, &reads) == 0);
	AWAIT(atomic_load(&reads));
	fork_and(synchronize);
}
#endif

/* ---- the hooks of the hash table ------------------------------------------------------------------------------ */

static int hooks[3];

static void before(void *at)
{
	((int *)at)[0]++;
}

static void in_parent(void *at)
{
	((int *)at)[1]++;
}

static void in_child(void *at)
{
	((int *)at)[2]++;
}

static struct urcu_atfork atfork = { before, in_parent, in_child, hooks };

static void say_hooks(void)
{
	answer("%d %d %d", hooks[0], hooks[1], hooks[2]);
}

QUESTION(hooks_at_fork)
{
	rcu_flavor.register_rculfhash_atfork(&atfork);
	fork_and(say_hooks);
	say_hooks();
	fork_and(say_hooks);
	say_hooks();
}

QUESTION(hooks_that_are_registered_twice)
{
	rcu_flavor.register_rculfhash_atfork(&atfork);
	rcu_flavor.register_rculfhash_atfork(&atfork);
	rcu_flavor.unregister_rculfhash_atfork(&atfork);
	fork_and(say_hooks);
	say_hooks();
	rcu_flavor.unregister_rculfhash_atfork(&atfork);
	fork_and(say_hooks);
	say_hooks();
}

/* ---- defer_rcu() ------------------------------------------------------------------------------------------------ */

static int number, numbers[20000];
static pthread_t ran_in;
static struct call_rcu_data *worker_there;

static void give_number(void *at)
{
	*(int *)at = ++number;
	ran_in = pthread_self();
	worker_there = get_thread_call_rcu_data();
}

QUESTION(deferred_in_order)
{
	int misplaced = 0;

	rcu_register_thread();
	answer("%d", rcu_defer_register_thread());
	for (int i = 0; i < 20000; i++)
		defer_rcu(give_number, &numbers[i]);
	rcu_defer_barrier_thread();
	for (int i = 0; i < 20000; i++)
		misplaced += numbers[i] != i + 1;
	answer("%d called, %d misplaced", number, misplaced);
	rcu_defer_unregister_thread();
	rcu_unregister_thread();
}

QUESTION(deferred_before_a_barrier_of_all)
{
	rcu_register_thread();
	rcu_defer_register_thread();
	defer_rcu(give_number, &numbers[0]);
	rcu_defer_barrier();
	answer("%d", number);
	defer_rcu(give_number, &numbers[1]);
	rcu_defer_unregister_thread();
	answer("%d", number);
	rcu_unregister_thread();
}

QUESTION(deferred_functions_run_in)
{
	rcu_register_thread();
	rcu_defer_register_thread();
	/* A tenth of a second later liburcu's own thread would have been there first. */
	for (int tries = 0; tries < 100 && !pthread_equal(ran_in, pthread_self()); tries++) {
		defer_rcu(give_number, &numbers[0]);
		rcu_defer_barrier_thread();
	}
	answer("%s", pthread_equal(ran_in, pthread_self()) ? "the thread that waits" : "another one");
	answer("%s", worker_there ? "a worker" : "no worker");
	rcu_defer_unregister_thread();
	rcu_unregister_thread();
}

QUESTION(deferred_nothing)
{
	rcu_register_thread();
	rcu_defer_register_thread();
	rcu_defer_barrier_thread();
	rcu_defer_barrier();
	rcu_defer_unregister_thread();
	answer("returns");
	rcu_unregister_thread();
}
