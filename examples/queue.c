/* SPDX-License-Identifier: MIT */
/*
 * A bounded queue: a thread that puts something in waits for room, one that takes something out waits until there is
 * something. One mutex guards it all; two condition variables, since the two kinds of waiters wait for different
 * things, so that a signal wakes one that can go on.
 */
#include <lull/cond.h>
#include <lull/mutex.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define ROOM 16

/* All zeros is an empty queue: neither the mutex nor the condition variables need to be initialised. */
struct queue {
	struct lull_mutex lock;
	struct lull_cond not_empty, not_full;
	unsigned head, count;
	bool closed;
	long items[ROOM];
};

/* Waits for room. */
static void queue_put(struct queue *q, long item)
{
	lull_mutex_lock(&q->lock);
	while (q->count == ROOM)
		lull_cond_wait(&q->not_full, &q->lock);
	q->items[(q->head + q->count++) % ROOM] = item;
	lull_mutex_unlock(&q->lock);
	lull_cond_signal(&q->not_empty);
}

/* Waits for an item; false when there is none, and none will come. */
static bool queue_take(struct queue *q, long *item)
{
	LULL_MUTEX_GUARD(&q->lock);

	while (q->count == 0 && !q->closed)
		lull_cond_wait(&q->not_empty, &q->lock);
	if (q->count == 0)
		return false;
	*item = q->items[q->head];
	q->head = (q->head + 1) % ROOM;
	q->count--;
	lull_cond_signal(&q->not_full);
	return true;
}

/* Let nothing be put in from now on, and tell all threads that wait for an item. */
static void queue_close(struct queue *q)
{
	lull_mutex_lock(&q->lock);
	q->closed = true;
	lull_cond_broadcast(&q->not_empty);
	lull_mutex_unlock(&q->lock);
}

/* Aborts when somebody still uses it. */
static void queue_destroy(struct queue *q)
{
	lull_cond_destroy(&q->not_empty);
	lull_cond_destroy(&q->not_full);
	lull_mutex_destroy(&q->lock);
}

enum { PRODUCERS = 3, CONSUMERS = 2, ITEMS = 20000 };

static struct queue queue;

static void *produce(void *unused)
{
	(void)unused;
	for (long i = 1; i <= ITEMS; i++)
		queue_put(&queue, i);
	return NULL;
}

static void *consume(void *sum)
{
	long item;

	while (queue_take(&queue, &item))
		*(long *)sum += item;
	return NULL;
}

static void start(pthread_t *thread, void *(*func)(void *), void *arg)
{
	if (pthread_create(thread, NULL, func, arg) != 0)
		abort();
}

int main(void)
{
	const long expected = (long)PRODUCERS * ITEMS * (ITEMS + 1) / 2;
	pthread_t producers[PRODUCERS], consumers[CONSUMERS];
	long sums[CONSUMERS] = { 0 }, sum = 0;

	for (int i = 0; i < CONSUMERS; i++)
		start(&consumers[i], consume, &sums[i]);
	for (int i = 0; i < PRODUCERS; i++)
		start(&producers[i], produce, NULL);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(producers[i], NULL);
	queue_close(&queue);
	for (int i = 0; i < CONSUMERS; i++) {
		pthread_join(consumers[i], NULL);
		sum += sums[i];
	}
	queue_destroy(&queue);
	printf("%d threads put in %d items each, %d took out a sum of %ld\n", PRODUCERS, ITEMS, CONSUMERS, sum);
	if (sum != expected) {
		fprintf(stderr, "it should have been %ld\n", expected);
		return 1;
	}
	return 0;
}
