/* SPDX-License-Identifier: MIT */
/*
 * Settings that requests read for as long as they take, and that an operator changes now and then. A request may
 * sleep while it holds them: that is why it does not read them in a section of RCU. And it must not see one half of a
 * change. The operator's changes come in bursts, of which only the first makes all CPUs look.
 */
#include <lull/percpu_rwsem.h>

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { REQUESTS = 3, BURSTS = 5, CHANGES = 10 };

static struct lull_percpu_rwsem settings_lock;
static int threads_most, queue_most; /* the second is always ten times the first */
static int over, served[REQUESTS];

static void *serves(void *count)
{
	static char half[] = "saw one half of a change";

	while (!lull_load_relaxed(&over)) {
		LULL_PERCPU_READ_GUARD(&settings_lock);
		int threads = threads_most;

		usleep(200); /* it waits for a disk */
		if (queue_most != 10 * threads)
			return half;
		lull_store_relaxed((int *)count, *(int *)count + 1);
	}
	return NULL;
}

static void change(void)
{
	lull_percpu_rwsem_write_lock(&settings_lock);
	threads_most++;
	queue_most += 10;
	lull_percpu_rwsem_write_unlock(&settings_lock);
}

int main(void)
{
	pthread_t threads[REQUESTS];
	int bad = 0;

	lull_percpu_rwsem_init(&settings_lock);
	for (int i = 0; i < REQUESTS; i++)
		if (pthread_create(&threads[i], NULL, serves, &served[i]))
			return 1;
	for (int burst = 0; burst < BURSTS; burst++) {
		for (int i = 0; i < CHANGES; i++)
			change();
		usleep(2000);
	}
	for (int i = 0; i < REQUESTS; i++)
		while (!lull_load_relaxed(&served[i]))
			usleep(1000);
	lull_store_relaxed(&over, 1);
	for (int i = 0; i < REQUESTS; i++) {
		void *what;

		pthread_join(threads[i], &what);
		if (what)
			bad = printf("request %d %s\n", i, (const char *)what);
	}
	lull_percpu_rwsem_destroy(&settings_lock);
	if (!bad)
		printf("%d changes, and every request saw all or nothing of each\n", threads_most);
	return bad != 0;
}
