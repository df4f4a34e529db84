/* SPDX-License-Identifier: MIT */
/*
 * beside.c - a program that uses lull, into which the library is preloaded: each waits for its own readers, and none
 * ends the process because of the other.
 */
#include <dlfcn.h>
#include <lull/rcu.h>
#include <sys/wait.h>
#include <unistd.h>

#include "urcu_must.h"

static void (*urcu_lock)(void), (*urcu_unlock)(void), (*urcu_synchronize)(void);

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

int main(void)
{
	int status;
	pid_t child;

	alarm(100);
	*(void **)&urcu_lock = find("urcu_memb_read_lock");
	*(void **)&urcu_unlock = find("urcu_memb_read_unlock");
	*(void **)&urcu_synchronize = find("urcu_memb_synchronize_rcu");
	both();
	child = fork();
	if (child == 0) {
		both();
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child && status == 0);
	both();
	return 0;
}
