/* SPDX-License-Identifier: MIT */
/*
 * bucket_lock.h - the lock of a bucket: one atomic to take it, a plain store to free it.
 *
 * Updates are short and many, and rarely do two of them want the same bucket. So the holder frees the lock with
 * a store, and then looks whether a thread sleeps. A thread that is about to sleep pays for both of them: it
 * says so, makes a heavy fence, and looks at the lock again. The lock of a bucket that has moved is never
 * free again.
 */
#ifndef LULL_HASH_BUCKET_LOCK_H
#define LULL_HASH_BUCKET_LOCK_H

#include <lull/hash.h>

#define LULL__BUCKET_HELD  1u
#define LULL__BUCKET_MOVED 2u /* its keys are in the future table */

bool lull__bucket_lock_slow(struct lull__hash_bucket *bucket);
void lull__bucket_wake(struct lull__hash_bucket *bucket);

static inline bool lull__bucket_trylock(struct lull__hash_bucket *bucket)
{
	uint32_t free_word = 0;

	/*
	 * ORDER HASH-6: the lock before the chain; pairs with HASH-6 in lull__bucket_release(); without it
	 * the last holder's links are not seen; model/structure/hash-lock.litmus
	 */
	return lull_cas_acquire(&bucket->lock, &free_word, LULL__BUCKET_HELD);
}

/* Returns false, without the lock, if the bucket has moved. In a read section. */
static inline bool lull__bucket_lock(struct lull__hash_bucket *bucket)
{
	return lull_likely(lull__bucket_trylock(bucket)) || lull__bucket_lock_slow(bucket);
}

/* @word: 0, or LULL__BUCKET_MOVED. In a read section: without one, the table may go as soon as the lock is free. */
static inline void lull__bucket_release(struct lull__hash_bucket *bucket, uint32_t word)
{
	/*
	 * ORDER HASH-6: the chain before the lock is free, and the moves before the mark; pairs with HASH-6
	 * in lull__bucket_trylock() and bucket_look(); without it the next holder misses links, and an
	 * update in the future table comes before the moves; model/structure/hash-lock.litmus
	 */
	lull_store_release(&bucket->lock, word);
	/*
	 * ORDER HASH-7: the lock is free before the look whether it is wanted; pairs with HASH-7 in
	 * lull__bucket_lock_slow() (heavy); without it a thread sleeps for ever;
	 * model/structure/hash-sleep.tpl
	 */
	lull_fence_light();
	if (lull_unlikely(lull_nonzero_relaxed(&bucket->wanted)))
		lull__bucket_wake(bucket);
}

static inline void lull__bucket_unlock(struct lull__hash_bucket *bucket)
{
	lull__bucket_release(bucket, 0);
}

#endif /* LULL_HASH_BUCKET_LOCK_H */
