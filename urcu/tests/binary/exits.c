/* SPDX-License-Identifier: MIT */
/*
 * exits.c - bp: a thread that exits gets a signal as its registration has just ended, and the handler reads: grace
 * periods wait for it. exits_wrap.c sends the signal.
 */
#include "urcu_flavor.h"

#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static _Atomic int reads, waited, handled;

static void handler(int signal)
{
	(void)signal;
	rcu_read_lock();
	atomic_store(&reads, 1);
	for (int i = 0; i < 200 && !atomic_load(&waited); i++)
		poll(NULL, 0, 1);
	MUST(!atomic_load(&waited));
	rcu_read_unlock();
	atomic_store(&handled, 1);
}

static void *reads_once(void *unused)
{
	rcu_read_lock();
	rcu_read_unlock();
	return unused;
}

static void *waits(void *unused)
{
	AWAIT(atomic_load(&reads));
	synchronize_rcu();
	atomic_store(&waited, 1);
	return unused;
}

int main(void)
{
	struct sigaction action = { .sa_handler = handler };
	pthread_t reader, waiter;

	alarm(100);
	MUST(sigaction(SIGUSR1, &action, NULL) == 0);
	MUST(pthread_create(&waiter, NULL, waits, NULL) == 0);
	MUST(pthread_create(&reader, NULL, reads_once, NULL) == 0);
	pthread_join(reader, NULL);
	MUST(atomic_load(&handled));
	pthread_join(waiter, NULL);
	return 0;
}
