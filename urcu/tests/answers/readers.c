/* SPDX-License-Identifier: MIT */
/* readers.c - questions: sections, and threads that come and go. */
#include "question.h"

#include <signal.h>

#include <urcu/flavor.h>

#ifdef FLAVOR_qsbr
#define COUNT() yes_no(rcu_read_ongoing()) /* a number that grows */
#else
#define COUNT() (snprintf(count_text, sizeof(count_text), "%d", rcu_read_ongoing()), count_text)
static char count_text[16];
#endif

static void enter(int times)
{
	while (times--)
		rcu_read_lock();
}

static void leave(int times)
{
	while (times--)
		rcu_read_unlock();
}

/* ---- how deep is it? ---------------------------------------------------------------------------------- */

QUESTION(nesting_before_a_thread_registers)
{
	answer("%s", COUNT());
}

QUESTION(nesting_of_registered_threads)
{
	rcu_register_thread();
	answer("%s", COUNT());
	rcu_unregister_thread();
	answer("%s", COUNT());
}

QUESTION(nesting_in_and_out)
{
	rcu_register_thread();
	for (int i = 0; i < 3; i++) {
		enter(1);
		answer("%s", COUNT());
	}
	for (int i = 0; i < 3; i++) {
		leave(1);
		answer("%s", COUNT());
	}
	rcu_unregister_thread();
}

QUESTION(nesting_a_hundred_thousand_deep)
{
	rcu_register_thread();
	enter(100000);
	answer("%s", COUNT());
	leave(99999);
	answer("%s", COUNT());
	leave(1);
	answer("%s", COUNT());
	synchronize_rcu();
	rcu_unregister_thread();
}

QUESTION(nesting_after_a_second_registration)
{
	rcu_register_thread();
	enter(1);
	leave(1);
	rcu_unregister_thread();
	rcu_register_thread();
	enter(2);
	answer("%s", COUNT());
	leave(2);
	answer("%s", COUNT());
	rcu_unregister_thread();
}

QUESTION(nesting_after_grace_periods)
{
	rcu_register_thread();
	for (int i = 0; i < 100; i++)
		synchronize_rcu();
	answer("%s", COUNT());
	enter(1);
	answer("%s", COUNT());
	leave(1);
	answer("%s", COUNT());
	rcu_unregister_thread();
}

QUESTION(nesting_by_the_flavor_structure)
{
	rcu_flavor.register_thread();
	rcu_flavor.read_lock();
	rcu_read_lock();
	answer("%s", COUNT());
	answer("%s", yes_no(rcu_flavor.read_ongoing()));
	rcu_flavor.read_unlock();
	answer("%s", COUNT());
	rcu_read_unlock();
	answer("%s", COUNT());
	rcu_flavor.unregister_thread();
}

static void *reads_once(void *unused)
{
	(void)unused;
	rcu_register_thread();
	enter(1);
	answer("%s", COUNT());
	leave(1);
	answer("%s", COUNT());
	rcu_unregister_thread();
	return NULL;
}

QUESTION(nesting_is_a_threads_own)
{
	rcu_register_thread();
	enter(2);
	in_thread(reads_once, NULL);
	answer("%s", COUNT());
	leave(2);
	rcu_unregister_thread();
}

QUESTION(nesting_of_two_hundred_threads)
{
	for (int i = 0; i < 200; i++)
		in_thread(reads_once, NULL);
	synchronize_rcu();
}

#ifdef FLAVOR_bp
static void *reads_unregistered(void *unused)
{
	answer("%s", COUNT());
	enter(1);
	answer("%s", COUNT());
	leave(1);
	return unused;
}

QUESTION(nesting_of_threads_that_bp_registers)
{
	for (int i = 0; i < 200; i++)
		in_thread(reads_unregistered, NULL);
	synchronize_rcu();
}
#endif

static int in_handler;

static void reads_in_handler(int number)
{
	(void)number;
	enter(1);
	in_handler = rcu_read_ongoing();
	leave(1);
}

static void ask_handler(void)
{
	raise(SIGUSR1);
#ifdef FLAVOR_qsbr
	answer("%s", yes_no(in_handler));
#else
	answer("%d", in_handler);
#endif
}

QUESTION(nesting_in_a_signal_handler)
{
	rcu_register_thread();
	MUST(signal(SIGUSR1, reads_in_handler) != SIG_ERR);
	ask_handler();
	enter(1);
	ask_handler();
	answer("%s", COUNT());
	leave(1);
	answer("%s", COUNT());
	rcu_unregister_thread();
}

QUESTION(init_and_exit_by_hand)
{
#ifndef FLAVOR_qsbr
	rcu_init();
	rcu_init();
#endif
	rcu_register_thread();
	synchronize_rcu();
	rcu_unregister_thread();
	answer("fine");
}

/* ---- quiescent states ----------------------------------------------------------------------------------- */

#ifdef FLAVOR_qsbr

QUESTION(qsbr_online_and_offline_again_and_again)
{
	rcu_register_thread();
	rcu_thread_online();
	rcu_thread_online();
	answer("%s", COUNT());
	rcu_thread_offline();
	answer("%s", COUNT());
	rcu_thread_offline();
	answer("%s", COUNT());
	rcu_thread_online();
	answer("%s", COUNT());
	rcu_unregister_thread();
}

QUESTION(qsbr_after_a_quiescent_state)
{
	rcu_register_thread();
	rcu_quiescent_state();
	answer("%s", COUNT());
	rcu_unregister_thread();
}

QUESTION(qsbr_after_a_quiescent_state_offline)
{
	rcu_register_thread();
	rcu_thread_offline();
	rcu_quiescent_state();
	answer("%s", COUNT());
	rcu_unregister_thread();
}

QUESTION(qsbr_after_waiting_online_and_offline)
{
	rcu_register_thread();
	synchronize_rcu();
	answer("%s", COUNT());
	rcu_barrier();
	answer("%s", COUNT());
	rcu_thread_offline();
	synchronize_rcu();
	answer("%s", COUNT());
	rcu_barrier();
	answer("%s", COUNT());
	rcu_thread_online();
	rcu_unregister_thread();
}

QUESTION(qsbr_by_the_flavor_structure)
{
	rcu_flavor.register_thread();
	rcu_flavor.read_quiescent_state();
	answer("%s", COUNT());
	rcu_flavor.thread_offline();
	answer("%s", COUNT());
	rcu_flavor.thread_online();
	answer("%s", COUNT());
	rcu_flavor.unregister_thread();
}

#endif

/* ---- the flavor structure ----------------------------------------------------------------------------------- */

#define SAY_IF_THERE(member) answer(#member " %s", yes_no(rcu_flavor.member != NULL))

QUESTION(members_of_the_flavor_structure)
{
	SAY_IF_THERE(read_lock);
	SAY_IF_THERE(read_unlock);
	SAY_IF_THERE(read_ongoing);
	SAY_IF_THERE(read_quiescent_state);
	SAY_IF_THERE(update_call_rcu);
	SAY_IF_THERE(update_synchronize_rcu);
	SAY_IF_THERE(update_defer_rcu);
	SAY_IF_THERE(thread_offline);
	SAY_IF_THERE(thread_online);
	SAY_IF_THERE(register_thread);
	SAY_IF_THERE(unregister_thread);
	SAY_IF_THERE(barrier);
	SAY_IF_THERE(register_rculfhash_atfork);
	SAY_IF_THERE(unregister_rculfhash_atfork);
}

QUESTION(updates_by_the_flavor_structure)
{
	rcu_flavor.update_synchronize_rcu();
	rcu_flavor.update_call_rcu(new_head(), count_call);
	rcu_flavor.barrier();
	answer("%d", atomic_load(&called));
}

#ifndef FLAVOR_qsbr
QUESTION(offline_and_online_by_a_flavor_that_has_none)
{
	rcu_flavor.register_thread();
	rcu_flavor.read_quiescent_state();
	rcu_flavor.thread_offline();
	rcu_flavor.thread_online();
	rcu_flavor.read_lock();
	answer("%s", COUNT());
	rcu_flavor.read_unlock();
	rcu_flavor.unregister_thread();
}
#endif
