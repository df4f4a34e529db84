/* SPDX-License-Identifier: MIT */
/* flavors.c - questions: what are the flavors to each other? Asked once, by names with prefixes. */
#include <urcu/urcu-memb.h>
#include <urcu/urcu-mb.h>
#include <urcu/urcu-bp.h>
#include <urcu/urcu-qsbr.h>

#include <urcu/call-rcu.h>
#include <urcu/flavor.h>

#define QUESTION_OF_ALL
#include "question.h"

/* liburcu has them in no header. */
#ifndef FROM_SOURCE
void urcu_memb_call_rcu(struct rcu_head *head, void (*function)(struct rcu_head *head));
void urcu_bp_call_rcu(struct rcu_head *head, void (*function)(struct rcu_head *head));
void urcu_memb_barrier(void);
void urcu_bp_barrier(void);
struct call_rcu_data *urcu_memb_get_default_call_rcu_data(void);
struct call_rcu_data *urcu_bp_get_default_call_rcu_data(void);
#endif

QUESTION(flavors_bp_waits_in_a_section_of_memb)
{
	urcu_memb_register_thread();
	urcu_memb_read_lock();
	urcu_bp_synchronize_rcu();
	answer("%d", urcu_memb_read_ongoing());
	urcu_memb_read_unlock();
	urcu_memb_unregister_thread();
}

QUESTION(flavors_qsbr_waits_in_a_section_of_mb)
{
	urcu_mb_register_thread();
	urcu_qsbr_register_thread();
	urcu_mb_read_lock();
	urcu_qsbr_synchronize_rcu();
	answer("%d", urcu_mb_read_ongoing());
	urcu_mb_read_unlock();
	urcu_qsbr_unregister_thread();
	urcu_mb_unregister_thread();
}

QUESTION(flavors_quiescent_state_in_a_section_of_memb)
{
	urcu_memb_register_thread();
	urcu_qsbr_register_thread();
	urcu_memb_read_lock();
	urcu_qsbr_quiescent_state();
	answer("%d", urcu_memb_read_ongoing());
	urcu_memb_read_unlock();
	urcu_qsbr_unregister_thread();
	urcu_memb_unregister_thread();
}

QUESTION(flavors_offline_in_a_section_of_memb)
{
	urcu_memb_register_thread();
	urcu_qsbr_register_thread();
	urcu_memb_read_lock();
	urcu_qsbr_thread_offline();
	urcu_qsbr_thread_online();
	answer("%d", urcu_memb_read_ongoing());
	urcu_memb_read_unlock();
	urcu_qsbr_unregister_thread();
	urcu_memb_unregister_thread();
}

QUESTION(flavors_barrier_of_bp_in_a_section_of_memb)
{
	urcu_memb_register_thread();
	urcu_memb_read_lock();
	urcu_bp_call_rcu(new_head(), count_call);
	urcu_bp_barrier();
	answer("%d", atomic_load(&called));
	urcu_memb_read_unlock();
	urcu_memb_unregister_thread();
}

QUESTION(flavors_memb_waits_in_an_online_thread_of_qsbr)
{
	urcu_qsbr_register_thread();
	urcu_memb_synchronize_rcu();
	urcu_memb_call_rcu(new_head(), count_call);
	urcu_memb_barrier();
	answer("%d", atomic_load(&called));
	urcu_qsbr_unregister_thread();
}

static void waits_for_bp(struct rcu_head *head)
{
	urcu_bp_barrier();
	count_call(head);
}

QUESTION(flavors_barrier_of_bp_in_a_callback_of_memb)
{
	urcu_bp_call_rcu(new_head(), count_call);
	urcu_memb_call_rcu(new_head(), waits_for_bp);
	urcu_memb_barrier();
	answer("%d", atomic_load(&called));
}

QUESTION(flavors_have_the_same_default_worker)
{
	answer("%s", yes_no(urcu_memb_get_default_call_rcu_data() == urcu_bp_get_default_call_rcu_data()));
}

QUESTION(flavors_in_and_out_of_each_other)
{
	urcu_memb_register_thread();
	urcu_mb_register_thread();
	urcu_memb_read_lock();
	urcu_mb_read_lock();
	urcu_memb_read_unlock();
	answer("%d %d", urcu_memb_read_ongoing(), urcu_mb_read_ongoing());
	urcu_mb_read_unlock();
	answer("%d %d", urcu_memb_read_ongoing(), urcu_mb_read_ongoing());
	urcu_memb_synchronize_rcu();
	urcu_mb_synchronize_rcu();
	urcu_mb_unregister_thread();
	urcu_memb_unregister_thread();
}

/* ---- a lock that one thread has in a section of memb, and another while it waits for bp ---------------------- */

static _Atomic int holds;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *reads_and_locks(void *unused)
{
	urcu_memb_register_thread();
	urcu_memb_read_lock();
	atomic_store(&holds, 1);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	urcu_memb_read_unlock();
	urcu_memb_unregister_thread();
	return unused;
}

#ifndef FROM_SOURCE /* where all flavors are one: this is a deadlock */
QUESTION(flavors_do_not_lock_each_other_out)
{
	pthread_t thread;

	pthread_mutex_lock(&lock);
	MUST(pthread_create(&thread, NULL, reads_and_locks, NULL) == 0);
	AWAIT(atomic_load(&holds));
	urcu_bp_synchronize_rcu();
	urcu_bp_call_rcu(new_head(), count_call);
	urcu_bp_barrier();
	answer("%d", atomic_load(&called));
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
}
#endif
