/* SPDX-License-Identifier: MIT */
/*
 * dlopen.c - a program that is not linked with lull loads it while threads run, uses it in them, and closes it: the
 * record fits into the static TLS that was set aside, and a thread that exits afterwards still finds the code.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t meet;
static void (*thread_register)(void);
static void (*rcu_free)(void *);
static void (*rcu_barrier)(void);

static void *worker(void *unused)
{
	pthread_barrier_wait(&meet); /* I was here before the library */
	pthread_barrier_wait(&meet); /* loaded */
	thread_register();
	rcu_free(malloc(100));
	pthread_barrier_wait(&meet); /* used */
	pthread_barrier_wait(&meet); /* closed; my exit handling is still to come */
	return unused;
}

static void *must_find(void *library, const char *name)
{
	void *symbol = dlsym(library, name);

	if (!symbol) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return symbol;
}

int main(void)
{
	pthread_t threads[4];
	void *library;

	pthread_barrier_init(&meet, NULL, 5);
	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, worker, NULL) != 0)
			return 1;
	pthread_barrier_wait(&meet);
	library = dlopen(LULL_TEST_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&thread_register = must_find(library, "lull_thread_register");
	*(void **)&rcu_free = must_find(library, "lull_rcu_free");
	*(void **)&rcu_barrier = must_find(library, "lull_rcu_barrier");
	pthread_barrier_wait(&meet);
	pthread_barrier_wait(&meet);
	rcu_barrier();
	dlclose(library);
	pthread_barrier_wait(&meet);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	library = dlopen(LULL_TEST_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
	if (!library) {
		fprintf(stderr, "the library was unloaded\n");
		return 1;
	}
	rcu_barrier();
	return 0;
}
