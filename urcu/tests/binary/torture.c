/* SPDX-License-Identifier: MIT */
/*
 * torture.c - readers that look how many grace periods their object has seen since it was unlinked: none, for it would
 * have waited for them. usage: torture MILLISECONDS [call]; with `call`, objects age by callbacks. Ends early when it
 * has found one.
 */
#include "urcu_flavor.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#ifdef SEES_NO_VOLATILE /* a sanitizer that takes liburcu's load for a plain one */
#undef rcu_dereference
#define rcu_dereference(p) __atomic_load_n(&(p), __ATOMIC_CONSUME)
#endif

#define READERS	4
#define AGES	10
#ifndef OBJECTS
#define OBJECTS 1000
#endif

struct object {
	struct rcu_head head;
	_Atomic int age;
	int payload; /* for ThreadSanitizer: changed by plain stores when no reader is left */
	struct object *next_free;
};

static struct object objects[OBJECTS], *current, *free_objects;
static pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int stop, found;
static unsigned long seen[READERS][AGES + 1];

static struct object *take(void)
{
	struct object *object;

	for (;;) {
		pthread_mutex_lock(&free_lock);
		object = free_objects;
		if (object)
			free_objects = object->next_free;
		pthread_mutex_unlock(&free_lock);
		if (object)
			break;
		rcu_thread_offline();
		poll(NULL, 0, 1);
		rcu_thread_online();
	}
	object->payload++;
	atomic_store(&object->age, 0);
	return object;
}

static void give(struct object *object)
{
	pthread_mutex_lock(&free_lock);
	object->next_free = free_objects;
	free_objects = object;
	pthread_mutex_unlock(&free_lock);
}

static void *reader(void *arg)
{
	unsigned long *ages = arg;
	unsigned round = 0;

	rcu_register_thread();
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		struct object *object;
		int age, nested = ++round % 8 == 0;

		rcu_read_lock();
		if (nested)
			rcu_read_lock();
		object = rcu_dereference(current);
		if (round % 64 == 0)
			for (volatile int i = 0; i < 2000; i++)
				;
		if (round % 4096 == 0)
			sched_yield();
		age = atomic_load_explicit(&object->age, memory_order_relaxed);
		*(volatile int *)&object->payload;
		if (nested)
			rcu_read_unlock();
		rcu_read_unlock();
		ages[age > AGES ? AGES : age]++;
		if (age > 0)
			atomic_store_explicit(&found, 1, memory_order_relaxed);
		if (round % 16 == 0)
			rcu_quiescent_state();
		if (round % 10000 == 0) {
			rcu_thread_offline();
			rcu_thread_online();
		}
	}
	rcu_unregister_thread();
	return NULL;
}

/* Another grace period has passed. */
static void grow_older(struct rcu_head *head)
{
	struct object *object = caa_container_of(head, struct object, head);

	if (atomic_fetch_add(&object->age, 1) + 1 >= AGES)
		give(object);
	else
		call_rcu(head, grow_older);
}

static void replace_and_wait(struct object *aging[AGES])
{
	struct object *object = rcu_xchg_pointer(&current, take());

	synchronize_rcu();
	for (int i = 0; i < AGES; i++) {
		struct object *next = aging[i];

		aging[i] = object;
		if (object && atomic_fetch_add(&object->age, 1) + 1 >= AGES) {
			give(object);
			aging[i] = NULL;
		}
		object = next;
	}
}

static unsigned long update(int by_callbacks, long ms)
{
	struct object *aging[AGES] = { NULL };
	struct timespec began, now;
	unsigned long updates = 0;

	clock_gettime(CLOCK_MONOTONIC, &began);
	do {
		updates++;
		if (by_callbacks) {
			struct object *object = rcu_xchg_pointer(&current, take());

			call_rcu(&object->head, grow_older);
			rcu_quiescent_state();
		} else {
			replace_and_wait(aging);
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (!atomic_load(&found) && (now.tv_sec - began.tv_sec) * 1000 + (now.tv_nsec - began.tv_nsec) / 1000000 < ms);
	return updates;
}

int main(int argc, char **argv)
{
	unsigned long all[AGES + 1] = { 0 }, updates;
	pthread_t threads[READERS];
	int bad = 0;

	MUST(argc >= 2);
	for (int i = 0; i < OBJECTS; i++)
		give(&objects[i]);
	current = take();
	for (int i = 0; i < READERS; i++)
		MUST(pthread_create(&threads[i], NULL, reader, seen[i]) == 0);
	rcu_register_thread();
	updates = update(argc > 2, atol(argv[1]));
	atomic_store(&stop, 1);
	rcu_thread_offline();
	for (int i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	rcu_thread_online();
	for (int i = 0; argc > 2 && i <= AGES; i++)
		rcu_barrier(); /* each waits for one generation of callbacks at least */
	rcu_unregister_thread();
	for (int i = 0; i < READERS; i++)
		for (int age = 0; age <= AGES; age++)
			all[age] += seen[i][age];
	printf("updates %lu, reads by age:", updates);
	for (int age = 0; age <= AGES; age++) {
		printf(" %lu", all[age]);
		bad |= age > 0 && all[age];
	}
	printf("\n%s\n", bad ? "BAD: objects were read that should have been freed" : "ok");
	return bad;
}
