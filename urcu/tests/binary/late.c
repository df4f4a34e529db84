/* SPDX-License-Identifier: MIT */
/*
 * late.c - a thread that reads in a destructor of its own, as it exits, and unregisters there: grace periods wait for
 * it. Its readers are inlined, so nothing registers it again. usage: late [waits], where it has waited for readers before it
 * registers. CALLED: it reads before it exits, its readers are called, and nothing registers it but its first section.
 */
#ifndef CALLED
#define _LGPL_SOURCE
#endif
#include "urcu_flavor.h"

#include <stdatomic.h>
#include <unistd.h>

static pthread_key_t key;
static _Atomic int reads, waited, may_go;

static void at_exit(void *unused)
{
	(void)unused;
	rcu_read_lock();
	atomic_store(&reads, 1);
	AWAIT(atomic_load(&may_go));
	MUST(!atomic_load(&waited));
	rcu_read_unlock();
	AWAIT(atomic_load(&waited));
	rcu_unregister_thread();
}

static void *registers(void *waits_before)
{
	if (waits_before)
		synchronize_rcu();
#ifdef CALLED
	at_exit(NULL);
#else
	rcu_register_thread();
	pthread_setspecific(key, &key);
#endif
	return NULL;
}

static void *waits(void *unused)
{
	(void)unused;
	synchronize_rcu();
	atomic_store(&waited, 1);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t reader, waiter;

	alarm(100);
	synchronize_rcu(); /* what stands in for liburcu has its own key before that of this program */
	MUST(pthread_key_create(&key, at_exit) == 0);
	MUST(pthread_create(&reader, NULL, registers, argc > 1 ? argv : NULL) == 0);
	AWAIT(atomic_load(&reads));
	MUST(pthread_create(&waiter, NULL, waits, NULL) == 0);
	poll(NULL, 0, 100);
	atomic_store(&may_go, 1);
	pthread_join(reader, NULL);
	pthread_join(waiter, NULL);
	return 0;
}
