/* SPDX-License-Identifier: MIT */
/*
 * Lookups and updates of `lull hashscale` in the table of hash_table.h. Included once per .c file,
 * after a flavor header; defines the scheme HASH_BODY. Readers are in a section of the flavor and
 * updaters hold the bucket's lock, unless the file defines otherwise:
 *
 *	HASH_READ_LOCK(bucket), HASH_READ_UNLOCK(bucket)
 *	HASH_HOLD(element), HASH_DROP(element)	keep it across the end of the section; else its
 *						value is read inside. HASH_HOLD is false when it
 *						was too late: there is another one by now
 *	HASH_RETIRE(element)	after it was unlinked and the update lock dropped
 *	HASH_MAKE(element), HASH_UNMAKE(element)	what it needs before it is in the table, and
 *						gives back
 *	HASH_OWN_ACCESS		the file has its own hash_lookup() and hash_replace()
 *
 * HASH_HOLDS_UP is mandatory; the other words are as in struct bench_hash_scheme.
 */
#include <lull/atomic.h>

#include "hash_table.h"

#ifndef HASH_READ_LOCK
#define HASH_READ_LOCK(bucket) flavor_read_lock()
#define HASH_READ_UNLOCK(bucket) flavor_read_unlock()
#endif

/* ---- retirement ------------------------------------------------------------------------------ */

#if defined(HASH_RETIRE)
/* the file's own */
#elif defined(FLAVOR_HAS_FREE)
#define HASH_RETIRE(element) flavor_free_sized(element, sizeof(*(element)))
#elif defined(FLAVOR_HAS_GP)
#include "hash_defer.h"
#define HASH_RETIRE(element) hash_defer(element)
#else
#define HASH_RETIRE(element) free(element)
#endif

/* ---- lookup and update ----------------------------------------------------------------------- */

#ifndef HASH_OWN_ACCESS
/* In a read section. */
BENCH_HASH_INLINE struct bench_hash_element *hash_find(struct hash_bucket *bucket,
						       enum bench_hash_mode mode, uint64_t hash,
						       const struct bench_hash_key *key)
{
	struct bench_hash_element *element = flavor_dereference(bucket->first);

	while (element && !bench_hash_match(element, mode, hash, key))
		element = flavor_dereference(element->next);
	if (__builtin_expect(!element, 0))
		bench_hash_broken(FLAVOR_NAME);
	return element;
}

BENCH_HASH_INLINE uint64_t hash_lookup(struct hash_table *table, enum bench_hash_mode mode,
				       uint64_t hash, const struct bench_hash_key *key)
{
	struct hash_bucket *bucket = &table->bucket[hash & table->mask];
	struct bench_hash_element *element;
	uint64_t value;

	HASH_READ_LOCK(bucket);
#ifdef HASH_HOLD
	do
		element = hash_find(bucket, mode, hash, key);
	while (__builtin_expect(!HASH_HOLD(element), 0));
	HASH_READ_UNLOCK(bucket);
	value = element->value;
	HASH_DROP(element);
#else
	element = hash_find(bucket, mode, hash, key);
	value = element->value;
	HASH_READ_UNLOCK(bucket);
#endif
	return value;
}

/* Under the update lock. */
BENCH_HASH_INLINE struct bench_hash_element *hash_exchange(struct hash_bucket *bucket,
							   struct bench_hash_element *element,
							   enum bench_hash_mode mode, uint64_t hash,
							   const struct bench_hash_key *key)
{
	struct bench_hash_element **link = &bucket->first, *old;

	while ((old = lull_load_relaxed(link)) && !bench_hash_match(old, mode, hash, key))
		link = &old->next;
	if (__builtin_expect(!old, 0))
		bench_hash_broken(FLAVOR_NAME);
	element->next = lull_load_relaxed(&old->next);
	flavor_assign(*link, element);
	return old;
}

BENCH_HASH_INLINE void hash_replace(struct hash_table *table, enum bench_hash_mode mode,
				    size_t index)
{
	const struct bench_hash_key *key = bench_hash_key_at(table->shape.asked, mode, index);
	struct bench_hash_element *element = bench_hash_element(&table->shape, mode, index), *old;
	uint64_t hash = bench_hash_of(key, index, mode);
	struct hash_bucket *bucket = &table->bucket[hash & table->mask];

	HASH_MAKE(element);
	HASH_UPDATE_LOCK(bucket);
	old = hash_exchange(bucket, element, mode, hash, key);
	HASH_UPDATE_UNLOCK(bucket);
	HASH_RETIRE(old);
#ifdef FLAVOR_HAS_GP
	flavor_poll();
#endif
}
#endif

#include "hash_loop.h"
