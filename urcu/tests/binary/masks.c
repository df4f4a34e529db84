/* SPDX-License-Identifier: MIT */
/*
 * masks.c - a thread of bp that has never read blocks signals once for each grace period, however often that looks
 * through the list of readers: a handler that reads registers the thread, under the list's lock. usage: masks.
 */
#include "urcu_flavor.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UPDATES 1000

static int masks;

/* In the place of libc's, also for what stands in for liburcu. */
int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	masks++;
	return syscall(SYS_rt_sigprocmask, how, set, old, (size_t)_NSIG / 8) == 0 ? 0 : errno;
}

static sem_t ready, never;

static void *reader(void *unused)
{
	rcu_read_lock();
	rcu_read_unlock();
	sem_post(&ready);
	while (sem_wait(&never))
		;
	return unused;
}

int main(void)
{
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, reader, NULL) == 0);
	MUST(sem_wait(&ready) == 0);
	synchronize_rcu();
	masks = 0;
	for (int i = 0; i < UPDATES; i++)
		synchronize_rcu();
	printf("%d changes of the mask, for %d grace periods\n", masks, UPDATES);
	return masks != 2 * UPDATES;
}
