/* SPDX-License-Identifier: MIT */
/*
 * The array of buckets and its chains. Included by hash_body.h, or before it by a file with
 * accesses of its own. HASH_LOCK is the type of the updaters' lock in each bucket, a spin lock
 * unless the file says otherwise. HASH_MAKE is described there, too.
 */
#ifndef BENCH_HASH_TABLE_H
#define BENCH_HASH_TABLE_H

#include <pthread.h>

#include "hash_scheme.h"

#ifndef HASH_LOCK
#define HASH_LOCK pthread_spinlock_t
#define HASH_LOCK_INIT(lock) pthread_spin_init(lock, PTHREAD_PROCESS_PRIVATE)
#define HASH_UPDATE_LOCK(bucket) pthread_spin_lock(&(bucket)->lock)
#define HASH_UPDATE_UNLOCK(bucket) pthread_spin_unlock(&(bucket)->lock)
#endif

#ifndef HASH_MAKE
#define HASH_MAKE(element) ((void)0)
#define HASH_UNMAKE(element) ((void)0)
#endif

struct hash_bucket {
	struct bench_hash_element *first;
	HASH_LOCK lock;
};

struct hash_table {
	struct bench_hash_shape shape;
	struct hash_bucket *bucket;
	uint64_t mask;
};

static void *hash_create(const struct bench_hash_shape *shape)
{
	struct hash_table *table = bench_hash_alloc(1, sizeof(*table));
	size_t i;

	table->shape = *shape;
	table->mask = shape->buckets - 1;
	table->bucket = bench_hash_alloc(shape->buckets, sizeof(*table->bucket));
	for (i = 0; i < shape->buckets; i++)
		HASH_LOCK_INIT(&table->bucket[i].lock);
	for (i = 0; i < shape->elements; i++) {
		struct bench_hash_element *element = bench_hash_element(shape, shape->mode, i);
		struct hash_bucket *bucket = &table->bucket[element->hash & table->mask];

		HASH_MAKE(element);
		element->next = bucket->first;
		bucket->first = element;
	}
	return table;
}

static void hash_destroy(void *arg)
{
	struct hash_table *table = arg;
	struct bench_hash_element *element, *next;
	size_t i;

	for (i = 0; i < table->shape.buckets; i++)
		for (element = table->bucket[i].first; element; element = next) {
			next = element->next;
			HASH_UNMAKE(element);
			free(element);
		}
	free(table->bucket);
	free(table);
}

#endif
