/* SPDX-License-Identifier: MIT */
/*
 * beside.c - a program that uses lull, into which the library is preloaded: each waits for its own readers, and none
 * ends the process because of the other. And threads that exit as liburcu does not allow.
 */
#include <dlfcn.h>
#include <lull/rcu.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "urcu_must.h"

static void (*urcu_lock)(void), (*urcu_unlock)(void), (*urcu_synchronize)(void), (*urcu_register)(void);
static int (*urcu_ongoing)(void);

static void *find(const char *name)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);

	MUST(symbol);
	return symbol;
}

static void both(void)
{
	lull_rcu_read_lock();
	urcu_synchronize();
	lull_rcu_read_unlock();
	urcu_lock();
	lull_rcu_synchronize();
	lull_rcu_free(malloc(100));
	lull_rcu_barrier();
	urcu_unlock();
	urcu_synchronize();
}

/* ---- threads that exit without unregistering ---------------------------------------------------------- */

static pthread_key_t reads_late;
static int late_reads;

/* In each round of destructors: a section that others wait for. */
static void read_late(void *round)
{
	urcu_lock();
	MUST(urcu_ongoing());
	urcu_unlock();
	late_reads++;
	if ((uintptr_t)round < 4)
		pthread_setspecific(reads_late, (const void *)((uintptr_t)round + 1));
}

static void *exits_registered(void *unused)
{
	(void)unused;
	urcu_register();
	pthread_setspecific(reads_late, (const void *)1);
	return NULL;
}

static void *exits_in_a_section(void *unused)
{
	(void)unused;
	urcu_lock();
	return NULL;
}

static void exits(void)
{
	pthread_t thread;

	MUST(pthread_key_create(&reads_late, read_late) == 0);
	for (int i = 0; i < 20; i++) {
		MUST(pthread_create(&thread, NULL, exits_registered, NULL) == 0);
		pthread_join(thread, NULL);
		urcu_synchronize();
	}
	MUST(late_reads == 80);
	MUST(pthread_create(&thread, NULL, exits_in_a_section, NULL) == 0);
	pthread_join(thread, NULL);
	urcu_synchronize();
}

/* ---- polled grace periods, which liburcu has from 0.14 on --------------------------------------------- */

struct poll_state {
	unsigned long id;
};

static void polls(void)
{
	struct poll_state (*start)(void), state;
	bool (*poll_state)(struct poll_state);

	*(void **)&start = dlsym(RTLD_DEFAULT, "urcu_memb_start_poll_synchronize_rcu");
	*(void **)&poll_state = dlsym(RTLD_DEFAULT, "urcu_memb_poll_state_synchronize_rcu");
	MUST(!start == !poll_state);
	if (!start)
		return;
	for (int round = 0; round < 3; round++) {
		urcu_lock();
		state = start();
		for (int i = 0; i < 100; i++)
			MUST(!poll_state(state));
		urcu_unlock();
		MUST(poll_state(state));
		urcu_lock();
		MUST(poll_state(state)); /* and so it stays */
		urcu_unlock();
	}
}

int main(void)
{
	int status;
	pid_t child;

	alarm(100);
	*(void **)&urcu_lock = find("urcu_memb_read_lock");
	*(void **)&urcu_unlock = find("urcu_memb_read_unlock");
	*(void **)&urcu_synchronize = find("urcu_memb_synchronize_rcu");
	*(void **)&urcu_register = find("urcu_memb_register_thread");
	*(void **)&urcu_ongoing = find("urcu_memb_read_ongoing");
	both();
	child = fork();
	if (child == 0) {
		both();
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child && status == 0);
	both();
	exits();
	polls();
	return 0;
}
