/* SPDX-License-Identifier: MIT */
/*
 * A sequence lock. Readers store nothing; they read again when a writer was there meanwhile. It
 * protects values, not the memory they lie in: an object may not be freed under it.
 */
#include <lull/atomic.h>

#include "flavor.h"

#define FLAVOR_NAME "seqlock"
#define FLAVOR_WHAT "sequence counter, read again after a writer; protects values, not memory"

static struct {
	uint32_t count; /* odd while a writer is at work */
} __attribute__((aligned(128))) flavor_shared;

static inline void flavor_thread_enter(void) {}
static inline void flavor_thread_leave(void) {}
static inline void flavor_quiescent(void) {}

static inline uint32_t seqlock_begin(void)
{
	uint32_t count;

	while ((count = lull_load_acquire(&flavor_shared.count)) & 1)
		lull_cpu_relax();
	return count;
}

/* The loads inside are acquires, so this one comes after them. */
#define REF_READ(cell, sum, following)                                          \
	do {                                                                    \
		struct bench_ref_object *ref_object;                            \
		uint32_t ref_count;                                             \
		uint64_t ref_value;                                             \
                                                                                \
		do {                                                            \
			ref_count = seqlock_begin();                            \
			ref_object = lull_load_acquire(&(cell)->object);        \
			ref_value = lull_load_acquire(&ref_object->value);      \
			(following) = lull_load_acquire(&ref_object->next);     \
			REF_HOLD();                                             \
		} while (lull_load_relaxed(&flavor_shared.count) != ref_count); \
		(sum) += ref_value;                                             \
	} while (0)

#define REF_BODY bench_ref_seqlock
#include "ref_body.h"

/*
 * ---- the hash table ------------------------------------------------------------------------------
 *
 * A reader walks the chain, copies the value, and does all of it again when the counter has moved.
 * It may meet an element that has been taken out meanwhile, and that must still be an element then:
 * a sequence lock protects values, not memory. So this scheme never gives elements back; each
 * thread keeps those it took out and uses them for its next updates. The other schemes use malloc
 * and free.
 *
 * Such a reader may follow a reused element into another chain. It finds its way to the end of that
 * one, and sees that the counter of its own has moved. Going round for ever would take an endless
 * series of updates.
 */

#undef FLAVOR_WHAT
#define FLAVOR_WHAT "a sequence counter in each bucket; elements are reused and never freed"

struct seq_lock {
	uint32_t count;		 /* odd while an update is going on */
	pthread_spinlock_t lock; /* among updaters */
};

#define HASH_BODY bench_hash_seqlock
#define HASH_HOLDS_UP "itself"
#define HASH_LOCK struct seq_lock
#define HASH_LOCK_INIT(seq) pthread_spin_init(&(seq)->lock, PTHREAD_PROCESS_PRIVATE)

#include "hash_table.h"

/*
 * Elements that this thread has taken out, linked by their heads: readers may still follow `next`.
 * They stay elements until no thread is at work, that is until a table is destroyed.
 */
static __thread struct bench_hash_element *spare;

static struct bench_hash_element *left; /* by threads that are not at work */
static pthread_mutex_t left_lock = PTHREAD_MUTEX_INITIALIZER;

static inline struct bench_hash_element *seq_next(struct bench_hash_element *element)
{
	return (struct bench_hash_element *)(uintptr_t)element->head[0];
}

static void seq_thread_enter(void)
{
	pthread_mutex_lock(&left_lock);
	spare = left;
	left = NULL;
	pthread_mutex_unlock(&left_lock);
}

static void seq_thread_leave(void)
{
	struct bench_hash_element *last = spare;

	if (!last)
		return;
	while (seq_next(last))
		last = seq_next(last);
	pthread_mutex_lock(&left_lock);
	last->head[0] = (uintptr_t)left;
	left = spare;
	pthread_mutex_unlock(&left_lock);
	spare = NULL;
}

static void seq_destroy(void *table)
{
	struct bench_hash_element *element;

	while ((element = left)) {
		left = seq_next(element);
		free(element);
	}
	hash_destroy(table);
}

static inline uint32_t seq_begin(struct seq_lock *seq)
{
	uint32_t count;

	while ((count = lull_load_acquire(&seq->count)) & 1)
		lull_cpu_relax();
	return count;
}

/*
 * All loads of an element are acquires: what a reused element shows implies that the counter has
 * moved.
 */
BENCH_HASH_INLINE bool seq_match(struct bench_hash_element *element, enum bench_hash_mode mode,
				 uint64_t hash, const struct bench_hash_key *key)
{
	/*
	 * The length is that of some key at any time, but not always the one that belongs to the
	 * text.
	 */
	return lull_load_acquire(&element->hash) == hash &&
	       (mode == BENCH_HASH_INTEGERS ||
		(lull_load_acquire(&element->length) == key->length &&
		 !memcmp(lull_load_acquire(&element->text), key->text, key->length)));
}

BENCH_HASH_INLINE uint64_t hash_lookup(struct hash_table *table, enum bench_hash_mode mode,
				       uint64_t hash, const struct bench_hash_key *key)
{
	struct hash_bucket *bucket = &table->bucket[hash & table->mask];
	struct bench_hash_element *element;
	uint64_t value = 0;
	uint32_t count;

	for (;;) {
		count = seq_begin(&bucket->lock);
		element = lull_load_acquire(&bucket->first);
		while (element && !seq_match(element, mode, hash, key))
			element = lull_load_acquire(&element->next);
		if (element)
			value = lull_load_acquire(&element->value);
		if (__builtin_expect(lull_load_relaxed(&bucket->lock.count) != count, 0))
			continue;
		if (__builtin_expect(!element, 0))
			bench_hash_broken(FLAVOR_NAME);
		return value;
	}
}

BENCH_HASH_INLINE struct bench_hash_element *seq_element(const struct bench_hash_shape *shape,
							 enum bench_hash_mode mode, size_t index)
{
	struct bench_hash_element *element = spare;

	if (!element)
		return bench_hash_element(shape, mode, index);
	spare = seq_next(element);
	lull_store_release(&element->hash,
			   mode == BENCH_HASH_INTEGERS ? index : shape->kept[index].hash);
	if (mode != BENCH_HASH_INTEGERS) {
		lull_store_release(&element->length, (uint32_t)shape->kept[index].length);
		lull_store_release(&element->text, shape->kept[index].text);
	}
	lull_store_release(&element->value, index);
	return element;
}

BENCH_HASH_INLINE void hash_replace(struct hash_table *table, enum bench_hash_mode mode,
				    size_t index)
{
	const struct bench_hash_key *key = bench_hash_key_at(table->shape.asked, mode, index);
	struct bench_hash_element *element = seq_element(&table->shape, mode, index), **link, *old;
	uint64_t hash = bench_hash_of(key, index, mode);
	struct hash_bucket *bucket = &table->bucket[hash & table->mask];

	pthread_spin_lock(&bucket->lock.lock);
	link = &bucket->first;
	while ((old = *link) && !bench_hash_match(old, mode, hash, key))
		link = &old->next;
	if (__builtin_expect(!old, 0))
		bench_hash_broken(FLAVOR_NAME);
	lull_store_relaxed(&bucket->lock.count, bucket->lock.count + 1);
	/* Store with release, so that a reader that sees one of them sees the odd count. */
	lull_store_release(&element->next, old->next);
	lull_store_release(link, element);
	lull_store_release(&bucket->lock.count, bucket->lock.count + 1);
	pthread_spin_unlock(&bucket->lock.lock);
	old->head[0] = (uintptr_t)spare;
	spare = old;
}

#define hash_destroy seq_destroy
#define flavor_thread_enter seq_thread_enter
#define flavor_thread_leave seq_thread_leave
#define HASH_OWN_ACCESS
#include "hash_body.h"
