/* SPDX-License-Identifier: MIT */
/* workers.c - questions: the threads that run callbacks, which programs make, find and end. */
#include "question.h"

#include <errno.h>
#include <sched.h>

#include <urcu/call-rcu.h>

static void defer_to(struct call_rcu_data *worker, void (*function)(struct rcu_head *head))
{
	set_thread_call_rcu_data(worker);
	call_rcu(new_head(), function);
	set_thread_call_rcu_data(NULL);
}

static pthread_t ran_in;
static int ongoing, read_there;
static char name[16];
static size_t stack;
static cpu_set_t cpus;

static void look_around(struct rcu_head *head)
{
	pthread_attr_t attr;

	ran_in = pthread_self();
	ongoing = rcu_read_ongoing() != 0;
	rcu_read_lock();
	read_there = rcu_read_ongoing() != 0;
	rcu_read_unlock();
	pthread_getname_np(ran_in, name, sizeof(name));
	pthread_getattr_np(ran_in, &attr);
	pthread_attr_getstacksize(&attr, &stack);
	pthread_attr_destroy(&attr);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	count_call(head);
}

static bool ran_on(struct call_rcu_data *worker)
{
	return pthread_equal(ran_in, get_call_rcu_thread(worker));
}

/* ---- which worker? --------------------------------------------------------------------------------------- */

QUESTION(workers_at_first)
{
	answer("thread's %s", yes_no(get_thread_call_rcu_data() != NULL));
	answer("CPU's %s", yes_no(get_cpu_call_rcu_data(0) != NULL));
	answer("default %s", yes_no(get_default_call_rcu_data() != NULL));
	answer("%s", yes_no(get_call_rcu_data() == get_default_call_rcu_data()));
	answer("%s", yes_no(get_default_call_rcu_data() == get_default_call_rcu_data()));
}

QUESTION(worker_of_a_thread)
{
	struct call_rcu_data *worker = create_call_rcu_data(0, -1);

	set_thread_call_rcu_data(worker);
	answer("%s", yes_no(get_thread_call_rcu_data() == worker));
	answer("%s", yes_no(get_call_rcu_data() == worker));
	set_thread_call_rcu_data(NULL);
	answer("%s", yes_no(get_thread_call_rcu_data() == NULL));
	answer("%s", yes_no(get_call_rcu_data() == get_default_call_rcu_data()));
}

static void *says_its_worker(void *unused)
{
	answer("%s", yes_no(get_thread_call_rcu_data() != NULL));
	return unused;
}

QUESTION(worker_of_another_thread)
{
	set_thread_call_rcu_data(create_call_rcu_data(0, -1));
	in_thread(says_its_worker, NULL);
}

QUESTION(worker_that_runs_what_is_deferred_to_it)
{
	struct call_rcu_data *worker = create_call_rcu_data(0, -1);

	defer_to(worker, look_around);
	rcu_barrier();
	answer("%s", yes_no(ran_on(worker)));
	defer_to(NULL, look_around);
	rcu_barrier();
	answer("%s", yes_no(ran_on(get_default_call_rcu_data())));
}

QUESTION(worker_with_the_flag_rt)
{
	struct call_rcu_data *worker = create_call_rcu_data(URCU_CALL_RCU_RT, -1);

	defer_to(worker, look_around);
	rcu_barrier();
	answer("%s", yes_no(ran_on(worker)));
}

QUESTION(worker_of_a_CPU_that_is_not_there)
{
	struct call_rcu_data *worker = create_call_rcu_data(0, 1000);

	answer("%s", yes_no(worker != NULL));
	defer_to(worker, look_around);
	rcu_barrier();
	answer("%s", yes_no(ran_on(worker)));
}

/* ---- workers of CPUs ------------------------------------------------------------------------------------- */

static void stay_on_one_cpu(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	MUST(sched_setaffinity(0, sizeof(one), &one) == 0);
}

static void say_error(int returned)
{
	answer("%d (errno %d)", returned, returned ? errno : 0);
	errno = 0;
}

QUESTION(CPUs_that_there_are_not)
{
	errno = 0;
	say_error(set_cpu_call_rcu_data(-1, NULL));
	say_error(set_cpu_call_rcu_data(1 << 20, NULL));
	answer("%s", yes_no(get_cpu_call_rcu_data(-1) != NULL));
	answer("%s", yes_no(get_cpu_call_rcu_data(1 << 20) != NULL));
}

QUESTION(CPU_that_has_a_worker)
{
	struct call_rcu_data *worker = create_call_rcu_data(0, 0);

	errno = 0;
	say_error(set_cpu_call_rcu_data(0, worker));
	answer("%s", yes_no(get_cpu_call_rcu_data(0) == worker));
	say_error(set_cpu_call_rcu_data(0, worker));
	say_error(set_cpu_call_rcu_data(0, create_call_rcu_data(0, 0)));
	say_error(set_cpu_call_rcu_data(0, NULL));
	answer("%s", yes_no(get_cpu_call_rcu_data(0) == NULL));
	say_error(set_cpu_call_rcu_data(0, worker));
}

QUESTION(workers_of_all_CPUs)
{
	errno = 0;
	say_error(create_all_cpu_call_rcu_data(0));
	answer("%s", yes_no(get_cpu_call_rcu_data(0) != NULL));
	say_error(create_all_cpu_call_rcu_data(0));
	for (int i = 0; i < 1000; i++)
		call_rcu(new_head(), count_call);
	rcu_barrier();
	answer("%d", atomic_load(&called));
	free_all_cpu_call_rcu_data();
	answer("%s", yes_no(get_cpu_call_rcu_data(0) == NULL));
	call_rcu(new_head(), count_call);
	rcu_barrier();
	answer("%d", atomic_load(&called));
	say_error(create_all_cpu_call_rcu_data(0));
}

QUESTION(worker_of_this_CPU)
{
	stay_on_one_cpu();
	create_all_cpu_call_rcu_data(0);
	answer("%s", yes_no(get_call_rcu_data() == get_cpu_call_rcu_data(sched_getcpu())));
	answer("%s", yes_no(get_call_rcu_data() == get_default_call_rcu_data()));
	call_rcu(new_head(), look_around);
	rcu_barrier();
	answer("%s", yes_no(ran_on(get_cpu_call_rcu_data(sched_getcpu()))));
}

QUESTION(worker_of_the_thread_and_of_its_CPU)
{
	struct call_rcu_data *worker = create_call_rcu_data(0, -1);

	create_all_cpu_call_rcu_data(0);
	set_thread_call_rcu_data(worker);
	answer("%s", yes_no(get_call_rcu_data() == worker));
	call_rcu(new_head(), look_around);
	rcu_barrier();
	answer("%s", yes_no(ran_on(worker)));
}

QUESTION(where_may_the_worker_of_a_CPU_run)
{
	cpu_set_t all;

	MUST(sched_getaffinity(0, sizeof(all), &all) == 0);
	defer_to(create_call_rcu_data(0, sched_getcpu()), look_around);
	rcu_barrier();
	answer("%s", CPU_COUNT(&all) == 1 ? "cannot be asked here" : CPU_COUNT(&cpus) == 1 ? "there" : "everywhere");
}

QUESTION(worker_that_the_program_pins)
{
	struct call_rcu_data *worker = create_call_rcu_data(0, -1);
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	MUST(pthread_setaffinity_np(get_call_rcu_thread(worker), sizeof(one), &one) == 0);
	defer_to(worker, look_around);
	rcu_barrier();
	answer("%s", CPU_EQUAL(&one, &cpus) ? "stays there" : "moves");
}

/* ---- the end of a worker --------------------------------------------------------------------------------- */

QUESTION(end_of_workers_that_do_not_end)
{
	call_rcu_data_free(NULL);
	call_rcu_data_free(get_default_call_rcu_data());
	call_rcu(new_head(), count_call);
	rcu_barrier();
	answer("%d", atomic_load(&called));
}

QUESTION(end_of_a_worker_that_has_work)
{
	for (int round = 0; round < 5; round++) {
		struct call_rcu_data *worker = create_call_rcu_data(0, -1);

		for (int i = 0; i < 1000; i++)
			defer_to(worker, count_call);
		call_rcu_data_free(worker);
		rcu_barrier();
		answer("%d", atomic_load(&called));
	}
}

QUESTION(end_of_the_worker_of_a_CPU)
{
	struct call_rcu_data *worker = create_call_rcu_data(0, 0);

	set_cpu_call_rcu_data(0, worker);
	set_cpu_call_rcu_data(0, NULL);
	synchronize_rcu();
	call_rcu_data_free(worker);
	call_rcu(new_head(), count_call);
	rcu_barrier();
	answer("%d", atomic_load(&called));
}

#ifdef JOINS
QUESTION(end_of_a_worker_that_the_program_joins)
{
	struct call_rcu_data *worker = create_call_rcu_data(0, -1);
	pthread_t thread = get_call_rcu_thread(worker);

	call_rcu_data_free(worker);
	answer("%d", pthread_join(thread, NULL));
}
#endif

/* ---- threads there are --------------------------------------------------------------------------------------- */

#ifndef FROM_SOURCE /* lull's own threads come and go */
QUESTION(threads_after_grace_periods)
{
	for (int i = 0; i < 10; i++)
		synchronize_rcu();
	answer("%u", threads_now());
}

QUESTION(threads_after_a_callback)
{
	call_rcu(new_head(), count_call);
	rcu_barrier();
	answer("%u", threads_now());
}

QUESTION(threads_after_two_workers_are_made)
{
	create_call_rcu_data(0, -1);
	create_call_rcu_data(0, -1);
	answer("%u", threads_now());
}

QUESTION(threads_after_a_barrier_that_has_nothing_to_wait_for)
{
	rcu_barrier();
	answer("%u", threads_now());
}
#endif

/* ---- what callbacks find ---------------------------------------------------------------------------------- */

QUESTION(callback_and_sections)
{
	call_rcu(new_head(), look_around);
	rcu_barrier();
	answer("in one %s", yes_no(ongoing));
	answer("may read %s", yes_no(read_there));
}

QUESTION(name_of_a_workers_thread)
{
	defer_to(create_call_rcu_data(0, -1), look_around);
	rcu_barrier();
	answer("%s", name);
}

static void *says_stack(void *unused)
{
	pthread_attr_t attr;
	size_t size;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstacksize(&attr, &size);
	pthread_attr_destroy(&attr);
	answer("%s", size == stack ? "the same" : size > stack ? "less" : "more");
	return unused;
}

QUESTION(stack_of_callbacks_and_of_threads)
{
	call_rcu(new_head(), look_around);
	rcu_barrier();
	in_thread(says_stack, NULL);
	defer_to(create_call_rcu_data(0, -1), look_around);
	rcu_barrier();
	in_thread(says_stack, NULL);
}

static int order[1000], next_in_order, misplaced;
static struct rcu_head ordered[1000];

static void note_order(struct rcu_head *head)
{
	misplaced += head - ordered != next_in_order++;
	atomic_fetch_add(&called, 1);
}

QUESTION(order_of_a_thousand_callbacks)
{
	for (int i = 0; i < 1000; i++)
		call_rcu(&ordered[i], note_order);
	rcu_barrier();
	answer("%d called, %d misplaced", atomic_load(&called), misplaced);
}

QUESTION(order_on_a_worker_of_ones_own)
{
	set_thread_call_rcu_data(create_call_rcu_data(0, -1));
	for (int i = 0; i < 1000; i++)
		call_rcu(&ordered[i], note_order);
	rcu_barrier();
	answer("%d called, %d misplaced", atomic_load(&called), misplaced);
}

static void waits_for_readers(struct rcu_head *head)
{
	synchronize_rcu();
	count_call(head);
}

QUESTION(callback_that_waits_for_a_grace_period)
{
	call_rcu(new_head(), waits_for_readers);
	rcu_barrier();
	answer("%d", atomic_load(&called));
}

static void defers_another(struct rcu_head *head)
{
	call_rcu(new_head(), count_call);
	count_call(head);
}

QUESTION(callback_that_defers_and_two_barriers)
{
	call_rcu(new_head(), defers_another);
	rcu_barrier();
	rcu_barrier();
	answer("%d", atomic_load(&called));
}

static void makes_worker(struct rcu_head *head)
{
	defer_to(create_call_rcu_data(0, -1), count_call);
	count_call(head);
}

QUESTION(callback_that_makes_a_worker)
{
	call_rcu(new_head(), makes_worker);
	rcu_barrier();
	rcu_barrier();
	answer("%d", atomic_load(&called));
}

static void *defers_and_ends(void *unused)
{
	call_rcu(new_head(), count_call);
	return unused;
}

QUESTION(callback_of_a_thread_that_is_gone)
{
	in_thread(defers_and_ends, NULL);
	rcu_barrier();
	answer("%d", atomic_load(&called));
}

#ifndef FLAVOR_bp /* liburcu's unmaps what its worker looks at */
QUESTION(callbacks_when_the_program_ends)
{
	for (int i = 0; i < 100; i++)
		call_rcu(new_head(), count_call);
	answer("it ends");
}
#endif

QUESTION(callback_that_is_deferred_in_a_section)
{
	rcu_register_thread();
	rcu_read_lock();
	call_rcu(new_head(), count_call);
	poll(NULL, 0, 20);
	answer("%d", atomic_load(&called));
	rcu_read_unlock();
	rcu_barrier();
	answer("%d", atomic_load(&called));
	rcu_unregister_thread();
}
