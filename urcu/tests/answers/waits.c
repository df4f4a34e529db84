/* SPDX-License-Identifier: MIT */
/* waits.c - questions: what do grace periods and barriers wait for, and what for not? */
#include "question.h"

#include <urcu/call-rcu.h>

#define A_WHILE_MS 30 /* in which what must not happen could happen; too short on a busy machine proves less */

/* ---- a reader, and something that waits ------------------------------------------------------------------ */

enum step { OUTSIDE, READS, NESTED, ENDS };
static _Atomic int wanted, reached;
static pthread_t reader, waiter;
static _Atomic int over;

static void quiescent(void)
{
	rcu_quiescent_state();
	rcu_thread_offline();
	rcu_thread_online();
}

/* A reader of qsbr is in a section until it passes a quiescent state. */
static void *reads(void *unused)
{
	(void)unused;
	rcu_register_thread();
	rcu_read_lock();
	atomic_store(&reached, READS);
	AWAIT(atomic_load(&wanted) >= NESTED);
	rcu_read_lock();
	rcu_read_unlock();
	atomic_store(&reached, NESTED);
	AWAIT(atomic_load(&wanted) >= OUTSIDE + ENDS);
	rcu_read_unlock();
	quiescent();
	atomic_store(&reached, ENDS);
	rcu_unregister_thread();
	return NULL;
}

static void begin_reader(void)
{
	MUST(pthread_create(&reader, NULL, reads, NULL) == 0);
	AWAIT(atomic_load(&reached) == READS);
}

static void end_reader(void)
{
	atomic_store(&wanted, ENDS);
	pthread_join(reader, NULL);
}

static void *waits(void *wait)
{
	((void (*)(void))wait)();
	atomic_store(&over, 1);
	return NULL;
}

static void begin_waiter(void (*wait)(void))
{
	MUST(pthread_create(&waiter, NULL, waits, (void *)wait) == 0);
}

/* Is it over before the reader leaves, and after? */
static void ask_whether_over(void)
{
	poll(NULL, 0, A_WHILE_MS);
	answer("%s", yes_no(atomic_load(&over)));
	atomic_store(&wanted, NESTED);
	AWAIT(atomic_load(&reached) == NESTED);
	poll(NULL, 0, A_WHILE_MS);
	answer("%s", yes_no(atomic_load(&over)));
	end_reader();
	pthread_join(waiter, NULL);
	answer("%s", yes_no(atomic_load(&over)));
}

static void synchronize(void)
{
	synchronize_rcu();
}

static void barrier(void)
{
	rcu_barrier();
}

QUESTION(does_a_grace_period_wait_for_a_section)
{
	begin_reader();
	begin_waiter(synchronize);
	ask_whether_over();
}

QUESTION(does_a_barrier_wait_for_a_section_if_there_is_a_callback)
{
	begin_reader();
	call_rcu(new_head(), count_call);
	begin_waiter(barrier);
	ask_whether_over();
	answer("%d", atomic_load(&called));
}

QUESTION(does_a_barrier_wait_for_a_section_if_a_worker_waits_for_it)
{
	struct call_rcu_data *worker = create_call_rcu_data(0, -1);

	begin_reader();
	set_thread_call_rcu_data(worker);
	call_rcu(new_head(), count_call);
	set_thread_call_rcu_data(NULL);
	begin_waiter(barrier);
	ask_whether_over();
	answer("%d", atomic_load(&called));
}

QUESTION(is_a_callback_called_while_a_section_lasts)
{
	begin_reader();
	call_rcu(new_head(), count_call);
	poll(NULL, 0, A_WHILE_MS);
	answer("%d", atomic_load(&called));
	end_reader();
	rcu_barrier();
	answer("%d", atomic_load(&called));
}

static void *registered_and_outside(void *unused)
{
	(void)unused;
	rcu_register_thread();
	rcu_read_lock();
	rcu_read_unlock();
	rcu_thread_offline();
	atomic_store(&reached, READS);
	AWAIT(atomic_load(&wanted) == ENDS);
	rcu_thread_online();
	rcu_unregister_thread();
	return NULL;
}

QUESTION(does_a_grace_period_wait_for_a_thread_outside)
{
	MUST(pthread_create(&reader, NULL, registered_and_outside, NULL) == 0);
	AWAIT(atomic_load(&reached) == READS);
	synchronize_rcu();
	call_rcu(new_head(), count_call);
	rcu_barrier();
	answer("no");
	end_reader();
}

static void *synchronizes(void *unused)
{
	(void)unused;
	rcu_register_thread();
	for (int i = 0; i < 200; i++)
		synchronize_rcu();
	rcu_unregister_thread();
	return NULL;
}

static void *has_barriers(void *unused)
{
	(void)unused;
	for (int i = 0; i < 5; i++) {
		call_rcu(new_head(), count_call);
		rcu_barrier();
	}
	return NULL;
}

static void four_at_once(void *(*function)(void *))
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		MUST(pthread_create(&threads[i], NULL, function, NULL) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

QUESTION(do_four_threads_get_their_grace_periods)
{
	four_at_once(synchronizes);
	answer("yes");
}

QUESTION(do_four_threads_get_their_barriers)
{
	four_at_once(has_barriers);
	answer("%d", atomic_load(&called));
}

QUESTION(grace_periods_of_a_thread_that_has_not_registered)
{
	for (int i = 0; i < 100; i++)
		synchronize_rcu();
	rcu_register_thread();
	for (int i = 0; i < 100; i++)
		synchronize_rcu();
	rcu_unregister_thread();
	synchronize_rcu();
	answer("return");
}

/* ---- barriers -------------------------------------------------------------------------------------------- */

#ifndef FLAVOR_qsbr
QUESTION(barrier_in_a_section)
{
	rcu_register_thread();
	rcu_read_lock();
	rcu_barrier();
	answer("returns");
	answer("%d", rcu_read_ongoing());
	rcu_read_unlock();
	synchronize_rcu();
	rcu_unregister_thread();
}
#endif

static void *frees(void *worker)
{
	call_rcu_data_free(worker);
	return NULL;
}

/* The worker ends while the barrier begins; what waited there is called before the barrier is over. */
QUESTION(barrier_beside_a_worker_that_ends)
{
	struct call_rcu_data *worker = create_call_rcu_data(0, -1);
	pthread_t freer;

	begin_reader();
	set_thread_call_rcu_data(worker);
	call_rcu(new_head(), count_call);
	set_thread_call_rcu_data(NULL);
	poll(NULL, 0, A_WHILE_MS);
	MUST(pthread_create(&freer, NULL, frees, worker) == 0);
	poll(NULL, 0, A_WHILE_MS);
	begin_waiter(barrier);
	ask_whether_over();
	answer("%d", atomic_load(&called));
	pthread_join(freer, NULL);
}

/* ---- polling ----------------------------------------------------------------------------------------------- */

#ifdef POLL
QUESTION(polled_grace_period)
{
	struct urcu_gp_poll_state state;

	begin_reader();
	state = start_poll_synchronize_rcu();
	poll(NULL, 0, A_WHILE_MS);
	answer("%s", yes_no(poll_state_synchronize_rcu(state)));
	end_reader();
	AWAIT(poll_state_synchronize_rcu(state));
	answer("%s", yes_no(poll_state_synchronize_rcu(state)));
}

QUESTION(polled_grace_period_after_another_one)
{
	struct urcu_gp_poll_state state = start_poll_synchronize_rcu();

	synchronize_rcu();
	AWAIT(poll_state_synchronize_rcu(state));
	answer("over");
}
#endif
