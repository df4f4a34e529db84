/* SPDX-License-Identifier: MIT */
/*
 * kernel_keys.c - lockdep's table of keys, with the kernel's names for simple hazard pointers.
 *
 * lockdep keeps the key of each class of locks in a hash table. Code that registers a lock looks its key up; a module
 * or a network device that goes away unregisters its keys, and must wait until nobody walks over them. By a grace
 * period that took a second for a device with many queues. (B. Feng, "Introduce simple hazard pointers for lockdep",
 * 2025.) With a simple hazard pointer the reader names the bucket that it walks through, and the updater waits for the
 * readers of that bucket alone. In words of our own.
 */
#include <lull/compat/kernel.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct lock_class_key {
	struct hlist_node hash_entry;
	unsigned long alive; /* its own address, until it is gone */
};

enum { BITS = 4, BUCKETS = 1 << BITS };

static struct hlist_head lock_keys_hash[BUCKETS];
static pthread_mutex_t graph_lock = PTHREAD_MUTEX_INITIALIZER;

static struct hlist_head *keyhashentry(const struct lock_class_key *key)
{
	return &lock_keys_hash[((unsigned long)key * 0x9e3779b97f4a7c15ul) >> (64 - BITS)];
}

static void lockdep_register_key(struct lock_class_key *key)
{
	key->alive = (unsigned long)key;
	pthread_mutex_lock(&graph_lock);
	hlist_add_head_rcu(&key->hash_entry, keyhashentry(key));
	pthread_mutex_unlock(&graph_lock);
}

/* When this returns, the key's memory may be used for something else. */
static void lockdep_unregister_key(struct lock_class_key *key)
{
	struct hlist_head *hash_head = keyhashentry(key);

	pthread_mutex_lock(&graph_lock);
	hlist_del_rcu(&key->hash_entry);
	pthread_mutex_unlock(&graph_lock);
	synchronize_shazptr(hash_head);
	key->alive = 0;
}

/* The kernel has to keep the task on its CPU meanwhile. Here a thread has a slot of its own. -1: a key that is gone. */
static int is_dynamic_key(const struct lock_class_key *key)
{
	struct hlist_head *hash_head = keyhashentry(key);
	struct lock_class_key *k;
	int found = 0;

	guard(shazptr)(hash_head);
	hlist_for_each_entry_rcu(k, hash_head, hash_entry) {
		if (READ_ONCE(k->alive) != (unsigned long)k)
			return -1;
		if (k == key)
			found = 1;
	}
	return found;
}

/* ---- a device with many queues comes and goes ---------------------------------------------------------- */

enum { QUEUES = 96, REPLACEMENTS = 40 };

struct device {
	struct lock_class_key queue[QUEUES];
};

static struct device *device_new(void)
{
	struct device *dev = malloc(sizeof(*dev));

	if (!dev)
		abort();
	for (int i = 0; i < QUEUES; i++)
		lockdep_register_key(&dev->queue[i]);
	return dev;
}

/* Nothing is freed before all its keys are gone, and no key waits for a grace period. */
static void device_free(struct device *dev)
{
	for (int i = 0; i < QUEUES; i++)
		lockdep_unregister_key(&dev->queue[i]);
	free(dev);
}

static struct lock_class_key built_in[8];
static int finished, wrong;

static void *registers_locks(void *arg)
{
	unsigned long lookups = 0;

	while (!READ_ONCE(finished))
		for (int i = 0; i < 8; i++, lookups++)
			if (is_dynamic_key(&built_in[i]) != 1)
				WRITE_ONCE(wrong, 1);
	*(unsigned long *)arg = lookups;
	return NULL;
}

int main(void)
{
	unsigned long lookups[2];
	pthread_t threads[2];
	struct lock_class_key stranger;

	for (int i = 0; i < 8; i++)
		lockdep_register_key(&built_in[i]);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, registers_locks, &lookups[i]))
			abort();
	for (int i = 0; i < REPLACEMENTS; i++)
		device_free(device_new());
	WRITE_ONCE(finished, 1);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	wrong |= is_dynamic_key(&stranger) != 0;
	printf("%d keys unregistered beside %lu lookups\n", QUEUES * REPLACEMENTS, lookups[0] + lookups[1]);
	return wrong;
}
