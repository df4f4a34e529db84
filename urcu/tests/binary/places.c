/* SPDX-License-Identifier: MIT */
/*
 * places.c - bp: threads that read in their last round of destructors, when no registration is taken back any more.
 * Others use again what they leave behind: there are not many more words of readers than there are threads at a time.
 */
#define _LGPL_SOURCE
#include "urcu_flavor.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS	 1000
#define MOST	 250 /* a thread may take a while to be gone after it was joined */

static pthread_key_t key;
static const void *places[THREADS];
static unsigned used;

static void note_place(const void *place)
{
	for (unsigned i = 0; i < used; i++)
		if (places[i] == place)
			return;
	places[used++] = place;
}

/* In each round, and so in the last one, too. */
static void reads_at_exit(void *round)
{
	rcu_read_lock();
	rcu_read_unlock();
	note_place(URCU_TLS(urcu_bp_reader));
	pthread_setspecific(key, round);
}

static void *exits(void *reads_before)
{
	if (reads_before) {
		rcu_read_lock();
		rcu_read_unlock();
	}
	pthread_setspecific(key, &key);
	return NULL;
}

static void run_threads(int reads_before)
{
	used = 0;
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;

		MUST(pthread_create(&thread, NULL, exits, reads_before ? &key : NULL) == 0);
		pthread_join(thread, NULL);
	}
	printf("%u places for %d threads\n", used, THREADS);
	MUST(used < MOST);
	synchronize_rcu();
}

/* ---- a child that is forked while others have places ---------------------------------------------------------- */

#define OTHERS 100

static _Atomic int inside, may_go, waited;

static void *stays(void *unused)
{
	rcu_read_lock();
	atomic_fetch_add(&inside, 1);
	AWAIT(atomic_load(&may_go));
	MUST(!atomic_load(&waited));
	rcu_read_unlock();
	return unused;
}

static void *waits(void *unused)
{
	synchronize_rcu();
	atomic_store(&waited, 1);
	return unused;
}

/* The readers of the parent hold up no thread here, and those of the child do. */
static void in_child(void)
{
	pthread_t readers[OTHERS], waiter;

	alarm(100);
	synchronize_rcu();
	atomic_store(&inside, 0);
	for (int i = 0; i < OTHERS; i++)
		MUST(pthread_create(&readers[i], NULL, stays, NULL) == 0);
	AWAIT(atomic_load(&inside) == OTHERS);
	MUST(pthread_create(&waiter, NULL, waits, NULL) == 0);
	poll(NULL, 0, 50); /* for the waiter to begin; on a busy machine this proves less */
	atomic_store(&may_go, 1);
	for (int i = 0; i < OTHERS; i++)
		pthread_join(readers[i], NULL);
	pthread_join(waiter, NULL);
	run_threads(1);
}

int main(void)
{
	pthread_t others[OTHERS];
	pid_t child;
	int status;

	alarm(100);
	synchronize_rcu(); /* what stands in for liburcu has its own key before that of this program */
	MUST(pthread_key_create(&key, reads_at_exit) == 0);
	run_threads(1);
	run_threads(0);
	for (int i = 0; i < OTHERS; i++)
		MUST(pthread_create(&others[i], NULL, stays, NULL) == 0);
	AWAIT(atomic_load(&inside) == OTHERS);
	child = fork();
	MUST(child >= 0);
	if (child == 0) {
		in_child();
		return 0;
	}
	MUST(waitpid(child, &status, 0) == child && status == 0);
	atomic_store(&may_go, 1);
	for (int i = 0; i < OTHERS; i++)
		pthread_join(others[i], NULL);
	return 0;
}
