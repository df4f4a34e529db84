/* SPDX-License-Identifier: MIT */
/*
 * bucket_lock.c - the contended paths of bucket_lock.h.
 */
#include "bucket_lock.h"
#include "../os/os.h"

#define BUCKET_SPINS 100 /* a section under these locks takes a fraction of a microsecond */

/* Take the lock if it is free. Returns the word: 0 means that this thread has the lock. */
static uint32_t bucket_look(struct lull__hash_bucket *bucket)
{
	/*
	 * ORDER HASH-6: the mark before the future table's buckets; pairs with HASH-6 in
	 * lull__bucket_release(); without it an update there comes before the moves, and finds nothing;
	 * model/structure/hash-lock.litmus
	 */
	uint32_t word = lull_load_acquire(&bucket->lock);

	return word == 0 && !lull__bucket_trylock(bucket) ? LULL__BUCKET_HELD : word;
}

/* Look until the lock is not held, but not for long. Returns the word, as bucket_look(). */
static uint32_t bucket_spin(struct lull__hash_bucket *bucket)
{
	uint32_t word = bucket_look(bucket);

	for (int i = 0; i < BUCKET_SPINS && word == LULL__BUCKET_HELD; i++) {
		lull_cpu_relax();
		word = bucket_look(bucket);
	}
	return word;
}

/*
 * A thread falls asleep only while `wanted` is 1. The holder sets that to 0 when it frees the lock, and wakes one
 * thread; so the next holders make no system call until that thread has come. The thread then sees to the
 * others that sleep: if it gets the lock, it sets `wanted` again, and wakes one when it frees the lock. If the
 * bucket has moved, it wakes one at once, as does each thread that has set `wanted` by then.
 */
bool lull__bucket_lock_slow(struct lull__hash_bucket *bucket)
{
	bool said = false;
	uint32_t word;

	while ((word = bucket_spin(bucket)) == LULL__BUCKET_HELD) {
		lull_store_relaxed(&bucket->wanted, 1u);
		said = true;
		/*
		 * ORDER HASH-7: the wish before the look at the lock; pairs with HASH-7 in
		 * lull__bucket_release() (light); without it a thread sleeps for ever;
		 * model/structure/hash-sleep.tpl
		 */
		lull_fence_heavy();
		word = bucket_look(bucket);
		if (word != LULL__BUCKET_HELD)
			break;
		lull__futex_wait(&bucket->wanted, 1, LULL__NEVER);
	}
	if (said && word == 0)
		lull_store_relaxed(&bucket->wanted, 1u);
	else if (said)
		lull__bucket_wake(bucket);
	return word == 0;
}

void lull__bucket_wake(struct lull__hash_bucket *bucket)
{
	lull_store_relaxed(&bucket->wanted, 0u);
	lull__futex_wake(&bucket->wanted, 1);
}
