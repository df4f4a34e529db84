/* SPDX-License-Identifier: MIT */
/*
 * A cache that reuses its memory at once, as memcached does. To put a new entry in means to take an
 * entry that nobody reads, unlink it, fill it anew and link it in, perhaps on another bucket's list:
 * no malloc, no grace period, nothing deferred. Lookups take no lock all the same, because an entry
 * stays an entry: a reader whose entry is refilled under it never reads anything but an entry. It has to find out
 * whether this still is the right one:
 *
 *   - It takes a reference, which is refused while the entry is being refilled, and then compares the
 *     key again. An entry is not refilled as long as somebody has a reference, so from then on the
 *     value may be read at leisure (memcached sends it from there).
 *   - An entry that is moved carries the readers that stand on it to the other list. The end of each
 *     list has the number of its bucket in it, so a reader that comes to a foreign end looks again.
 *
 * Memory goes back to malloc() by whole slabs. That does take a grace period, because readers may
 * still look at the links and the count of an entry that is in no list any more; so a lookup is a
 * read section.
 */
#include <lull/hlist_nulls.h>
#include <lull/rcu.h>
#include <lull/refcount.h>

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUCKETS = 4, KEYS = 40, PINNED = 4, READERS = 2, LOOKUPS = 100000, SLABS = 2, SLAB_ITEMS = 16 };

struct item {
	struct lull_hlist_nulls_node link;
	struct lull_refcount refs; /* one is the pool's; none while the item is being refilled */
	uint32_t key;		   /* changes under readers: loaded and stored relaxed */
	char value[32];		   /* read with a reference only, so no access of it is atomic */
};

struct slab {
	struct lull_rcu_head rcu;
	struct item items[SLAB_ITEMS];
};

static struct lull_hlist_nulls_head table[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held by whoever changes lists or slabs */
static struct slab *slabs[SLABS];
static unsigned nr_slabs, hand, slabs_made, slabs_freed;
static int finished; /* readers that have done their lookups */

static unsigned bucket_of(uint32_t key)
{
	return key % BUCKETS;
}

/* The pool's reference is never the last to go this way, so there is nothing to do at zero. */
static void item_put(struct item *item)
{
	lull_refcount_dec(&item->refs);
}

/* Find the item by this key and take a reference to it; NULL when there is none. Takes no lock. */
static struct item *cache_get(uint32_t key)
{
	struct lull_hlist_nulls_node *node;
	struct item *item;

	lull_rcu_read_lock();
restart:
	lull_hlist_nulls_for_each_entry_rcu(item, node, &table[bucket_of(key)], link) {
		if (lull_load_relaxed(&item->key) != key)
			continue;
		if (!lull_refcount_inc_not_zero_acquire(&item->refs))
			continue; /* it is being refilled: as if it had not been met */
		if (lull_load_relaxed(&item->key) == key)
			goto out; /* and stays so: nobody refills it now */
		item_put(item); /* refilled before there was a reference */
		goto restart;
	}
	if (lull_get_nulls_value(node) != bucket_of(key))
		goto restart; /* carried to another list: the rest of ours was not seen */
	item = NULL;
out:
	lull_rcu_read_unlock();
	return item;
}

/* Make an item nobody's, so that no reader can get a reference, and unlink it. False: it is in use. */
static bool item_claim(struct item *item)
{
	if (!lull_refcount_dec_if_one(&item->refs))
		return false;
	lull_hlist_nulls_del_init_rcu(&item->link);
	return true;
}

/* Take the next item that nobody uses, round and round: there are more items than references. */
static struct item *cache_evict(void)
{
	struct item *item;

	do {
		hand = (hand + 1) % (nr_slabs * SLAB_ITEMS);
		item = &slabs[hand / SLAB_ITEMS]->items[hand % SLAB_ITEMS];
	} while (!item_claim(item));
	return item;
}

/* Take an item for a new value: the one that has this key, or the next that nobody uses. */
static struct item *cache_make_room(uint32_t key)
{
	struct lull_hlist_nulls_node *node;
	struct item *item;

	lull_hlist_nulls_for_each_entry_rcu(item, node, &table[bucket_of(key)], link) {
		if (item->key != key)
			continue;
		if (item_claim(item))
			return item;
		lull_hlist_nulls_del_init_rcu(&item->link); /* its readers keep the old value */
		break;
	}
	return cache_evict();
}

/* Store a value, in the place of the one that is there, if any. Readers may miss the key meanwhile. */
static void cache_set(uint32_t key, unsigned version)
{
	struct item *item;

	pthread_mutex_lock(&lock);
	item = cache_make_room(key);
	lull_store_relaxed(&item->key, key);
	snprintf(item->value, sizeof(item->value), "%u, version %u", key, version);
	/* Readers may still look at what the item was: they get no reference before key and value are there. */
	lull_refcount_set_release(&item->refs, 1);
	lull_hlist_nulls_add_head_rcu(&item->link, &table[bucket_of(key)]);
	pthread_mutex_unlock(&lock);
}

static void cache_grow(void)
{
	struct slab *slab = calloc(1, sizeof(*slab));

	if (!slab)
		abort();
	for (int i = 0; i < SLAB_ITEMS; i++)
		lull_refcount_set(&slab->items[i].refs, 1);
	pthread_mutex_lock(&lock);
	slabs[nr_slabs++] = slab;
	slabs_made++;
	pthread_mutex_unlock(&lock);
}

static void slab_free(struct lull_rcu_head *rcu)
{
	free(lull_container_of(rcu, struct slab, rcu));
	slabs_freed++;
}

/* Give the last slab back. References do not last long: wait for them. */
static void cache_shrink(void)
{
	struct slab *slab;

	pthread_mutex_lock(&lock);
	slab = slabs[--nr_slabs];
	for (int i = 0; i < SLAB_ITEMS; i++)
		while (!item_claim(&slab->items[i]))
			sched_yield();
	pthread_mutex_unlock(&lock);
	lull_rcu_call(&slab->rcu, slab_free);
}

struct reader {
	pthread_t thread;
	uint32_t state;
	unsigned hits, misses, wrong;
};

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 16;
}

/* Check that an item found by a key is that key's, and that one which cannot be evicted is always found. */
static void *reader_run(void *arg)
{
	struct reader *reader = arg;

	for (int i = 0; i < LOOKUPS; i++) {
		uint32_t key = next_random(&reader->state) % KEYS;
		struct item *item = cache_get(key);

		if (item) {
			reader->hits++;
			reader->wrong += strtoul(item->value, NULL, 10) != key;
			item_put(item);
		} else {
			reader->misses++;
			reader->wrong += key < PINNED;
		}
	}
	lull_add_relaxed(&finished, 1);
	return NULL;
}

int main(void)
{
	struct reader readers[READERS] = { { .state = 1 }, { .state = 2 } };
	unsigned stored = 0, hits = 0, misses = 0, wrong = 0;
	struct item *pinned[PINNED];
	uint32_t state = 3;

	for (unsigned i = 0; i < BUCKETS; i++)
		lull_hlist_nulls_init(&table[i], i);
	cache_grow();
	for (uint32_t key = 0; key < PINNED; key++) {
		cache_set(key, 0);
		pinned[key] = cache_get(key); /* never evicted as long as we have the reference */
	}
	for (int i = 0; i < READERS; i++)
		if (pthread_create(&readers[i].thread, NULL, reader_run, &readers[i]) != 0)
			abort();
	for (; lull_load_relaxed(&finished) < READERS; stored++) {
		if (stored % 2000 == 1000)
			cache_grow();
		if (stored % 2000 == 0 && stored > 0)
			cache_shrink();
		cache_set(PINNED + next_random(&state) % (KEYS - PINNED), stored);
	}
	for (int i = 0; i < READERS; i++) {
		pthread_join(readers[i].thread, NULL);
		hits += readers[i].hits;
		misses += readers[i].misses;
		wrong += readers[i].wrong;
	}
	for (int i = 0; i < PINNED; i++)
		item_put(pinned[i]);
	while (nr_slabs > 0)
		cache_shrink();
	lull_rcu_barrier();
	printf("%u lookups, %u found; %u entries stored; %u slabs given back\n", hits + misses, hits, stored,
	       slabs_freed);
	return wrong || slabs_freed != slabs_made;
}
