/* SPDX-License-Identifier: MIT */
/*
 * forker.c - a callback forks, which liburcu does not let it. In the child its worker goes on, and is its own as before:
 * what the callback defers runs on this thread.
 */
#include "urcu_flavor.h"

#include <sys/wait.h>
#include <unistd.h>

#include <urcu/call-rcu.h>

static struct rcu_head first, second;
static struct call_rcu_data *worker;
static pthread_t forked_in;

static void ends_child(struct rcu_head *unused)
{
	(void)unused;
	MUST(pthread_equal(pthread_self(), forked_in));
	_exit(7);
}

static void forks(struct rcu_head *unused)
{
	int status;
	pid_t child;

	(void)unused;
	forked_in = pthread_self();
	call_rcu_before_fork();
	child = fork();
	MUST(child >= 0);
	if (child == 0) {
		alarm(60);
		call_rcu_after_fork_child();
		MUST(get_thread_call_rcu_data() == worker && get_call_rcu_data() == worker);
		call_rcu(&second, ends_child);
		return;
	}
	call_rcu_after_fork_parent();
	MUST(get_thread_call_rcu_data() == worker);
	MUST(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static int inside, online_again;

static void waits_for_readers(struct rcu_head *unused)
{
	(void)unused;
	CMM_STORE_SHARED(inside, 1);
	AWAIT(CMM_LOAD_SHARED(online_again));
	synchronize_rcu();
	CMM_STORE_SHARED(inside, 2);
}

/* A thread that is online, in the flavor qsbr, waits before its fork for a callback, which waits for readers. */
static void online_thread_forks(void)
{
	rcu_register_thread();
	call_rcu(&first, waits_for_readers);
	rcu_thread_offline();
	AWAIT(CMM_LOAD_SHARED(inside));
	rcu_thread_online();
	CMM_STORE_SHARED(online_again, 1);
	call_rcu_before_fork();
	MUST(CMM_LOAD_SHARED(inside) == 2);
	call_rcu_after_fork_parent();
	rcu_unregister_thread();
}

int main(void)
{
	alarm(100);
	online_thread_forks();
	worker = create_call_rcu_data(0, -1);
	set_thread_call_rcu_data(worker);
	call_rcu(&first, forks);
	rcu_barrier();
	return 0;
}
