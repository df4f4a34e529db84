/* SPDX-License-Identifier: MIT */
/*
 * resize.c - move the elements of a hash table to more or fewer buckets, while it is read and updated.
 */
#include <errno.h>
#include <limits.h>

#include "buckets.h"
#include "../base/fault.h"
#include "../os/os.h"

#define MOVE_PER_UPDATE 16u  /* buckets: done long before the next resize is due */
#define MOVE_AT_ONCE	256u /* buckets that lull_hash_resize() claims at a time */
#define RUNS		64u  /* runs of a chain that one walk over it records */

/* ---- moving --------------------------------------------------------------------------------- */

/*
 * Move the elements from *@link to @last, which is the last of its chain; all go to @to, so they
 * stay linked to each other. The old bucket's lock is held.
 */
static void move_run(struct lull_hash_node **link, struct lull_hash_node *last,
		     struct lull__hash_bucket *to)
{
	struct lull_hash_node *first = lull_load_relaxed(link);

	if (LULL__BUSTED(HASH_CUT_FIRST)) {
		lull_store_release(link, (struct lull_hash_node *)NULL);
		lull__busted_pause();
	}
	(void)lull__bucket_lock(to); /* not moved: there is no third table */
	/*
	 * ORDER HASH-2: the elements that were moved before, linked in, before the link from here
	 * into the new chain; pairs with HASH-2 in lull__hash_first(); without it a reader that
	 * follows that link misses elements that were behind; model/structure/hash-move.litmus
	 */
	lull_store_release(&last->next, lull_load_relaxed(&to->first));
	lull__busted_pause();
	lull__hash_link(&to->first, first);
	lull__bucket_unlock(to);
	lull__busted_pause();
	/*
	 * ORDER HASH-2: the link in the new chain before the end of the old; pairs with HASH-2 in
	 * lull__hash_first(); without it a reader finds the element in neither;
	 * model/structure/hash-move.litmus
	 */
	lull_store_release(link, (struct lull_hash_node *)NULL);
}

/*
 * Move a chain, from its end. Neighbours that go to the same bucket go as one run. A walk over the chain
 * records only the last RUNS runs; if there are more, it is walked again.
 */
static void move_chain(struct lull__hash_bucket *from, const struct lull__hash_table *future)
{
	struct { struct lull_hash_node **link; struct lull__hash_bucket *to; } run[RUNS];
	struct lull_hash_node *node;

	while (LULL__BUSTED(HASH_MOVE_HEAD) && (node = from->first)) {
		struct lull_hash_node *rest = node->next;

		move_run(&from->first, node, lull__hash_bucket_of(future, node->hash));
		lull__hash_link(&from->first, rest);
	}
	while (lull_load_relaxed(&from->first)) {
		struct lull_hash_node **link = &from->first, *last = NULL;
		struct lull__hash_bucket *to = NULL;
		size_t count = 0;

		for (; (node = lull_load_relaxed(link)); link = &node->next, last = node) {
			if (lull__hash_bucket_of(future, node->hash) == to)
				continue;
			to = lull__hash_bucket_of(future, node->hash);
			run[count % RUNS].link = link;
			run[count++ % RUNS].to = to;
		}
		for (size_t left = count < RUNS ? count : RUNS; left; left--) {
			link = run[--count % RUNS].link;
			move_run(link, last, run[count % RUNS].to);
			/* The link that was cut is the `next` of the last remaining element, or the head. */
			last = lull_container_of(link, struct lull_hash_node, next);
		}
	}
}

static void move_bucket(struct lull__hash_bucket *from, const struct lull__hash_table *future)
{
	(void)lull__bucket_lock(from); /* not moved: only this thread has claimed it */
	move_chain(from, future);
	lull__bucket_release(from, LULL__BUCKET_MOVED);
}

/* End a resize after all elements have been moved. In a read section: @old still exists afterwards. */
static void end_resize(struct lull_hash *h, struct lull__hash_table *old)
{
	struct lull__hash_control *control = h->control;

	/* Let the next update look at what came and went meanwhile. Do it here, where no other resize can begin yet. */
	lull_store_relaxed(&control->seldom[LULL__HASH_CAME], (size_t)0);
	lull_store_relaxed(&control->seldom[LULL__HASH_WENT], (size_t)0);
	/*
	 * ORDER HASH-4: all moves before the table; pairs with HASH-4 in lull__hash_table_of();
	 * without it a reader misses elements that were moved; model/structure/hash-switch.litmus
	 */
	lull_store_release(&h->table, lull__hash_future(old));
	/* HASH-4 again: a thread that sees the number sees the table. */
	lull_add_release(&control->resizes, (uint64_t)1);
	lull__unlock_wake(&lull__hash_whole(old)->leaving, INT_MAX);
	lull__tsan_release(LULL__TSAN_DEFERRED);
	lull_rcu_free(lull__hash_whole(old));
}

/*
 * Move up to @most buckets that no thread has claimed. Returns false if there were none. In a read section.
 */
static bool move_some(struct lull_hash *h, struct lull__hash_table *old, size_t most)
{
	struct lull__hash_whole *table = lull__hash_whole(old);
	size_t size = lull__hash_size(old), at, end;

	if (lull_load_relaxed(&table->claimed) >= size)
		return false;
	at = lull_add_relaxed(&table->claimed, most);
	if (at >= size)
		return false;
	end = size - at < most ? size : at + most;
	most = end - at;
	for (; at < end; at++)
		move_bucket(lull__hash_bucket_of(old, at), lull__hash_future(old));
	/*
	 * ORDER HASH-5: the moves before they are counted, and the count before end_resize(); pairs
	 * with HASH-5 in move_some(), in the thread that counts the last;
	 * without it HASH-4 covers that thread's moves only; model/structure/hash-count.litmus
	 */
	if (lull_add_acq_rel(&table->moved, most) + most == size)
		end_resize(h, old);
	return true;
}

/*
 * Start a resize. The caller holds the `begin` lock, so no other thread does. In a read section. Returns
 * 0, -EBUSY if one goes on, or -ENOMEM.
 */
static int begin_resize(struct lull_hash *h, size_t buckets)
{
	struct lull__hash_table *old = lull__hash_current(h), *fresh;

	if (lull_load_relaxed(&old->future))
		return -EBUSY;
	if (lull__hash_size(old) == buckets)
		return 0;
	fresh = lull__hash_new_table(buckets);
	if (!fresh)
		return -ENOMEM;
	/*
	 * ORDER HASH-3: the new table's contents before the future, and that before the moves of
	 * threads that see it; pairs with HASH-3 in lull__hash_seek(); without it a reader finds an
	 * element that was moved in neither table; model/structure/hash-future.litmus
	 */
	lull_store_release(&old->future, fresh);
	return 0;
}

/* Help with the resize that goes on until it is over; not with one that begins after it. */
static void finish_resize(struct lull_hash *h)
{
	/* HASH-4, as in end_resize(). */
	const uint64_t number = lull_load_acquire(&h->control->resizes);
	bool going_on;

	do {
		struct lull__hash_table *table;

		/* A section for each step: grace periods need not wait for all of it. */
		lull_rcu_read_lock();
		table = lull__hash_current(h);
		going_on = lull__hash_future(table) && lull_load_acquire(&h->control->resizes) == number;
		if (going_on && !move_some(h, table, MOVE_AT_ONCE))
			lull__lock_await(&lull__hash_whole(table)->leaving, LULL__NEVER);
		lull_rcu_read_unlock();
	} while (going_on);
}

int lull_hash_resize(struct lull_hash *h, size_t buckets)
{
	int err;

	if (buckets == 0)
		return -EINVAL;
	do {
		lull_rcu_read_lock();
		lull__lock(&h->control->begin);
		err = begin_resize(h, lull__hash_round_up(buckets));
		lull__unlock(&h->control->begin);
		lull_rcu_read_unlock();
		if (err != -ENOMEM)
			finish_resize(h);
	} while (err == -EBUSY);
	return err;
}

void lull_hash_finish_resize(struct lull_hash *h)
{
	finish_resize(h);
}

/* ---- resizes that the table starts itself ------------------------------------------------------ */

/*
 * How seldom to consider a resize of a table of @buckets: see `seldom`. There are two counters of a kind in each
 * shard. Together they may count a quarter of the buckets before one of them looks whether to grow, and a
 * sixteenth whether to shrink: hash.h promises that.
 */
static size_t how_seldom(const struct lull__hash_control *control, enum lull__hash_kind kind, size_t buckets)
{
	size_t often = buckets / (2 * LULL__HASH_SHARDS) / (kind == LULL__HASH_CAME ? 4 : 16);

	if (control->flags & LULL_HASH_FIXED || (kind == LULL__HASH_WENT && !(control->flags & LULL_HASH_SHRINK)))
		return SIZE_MAX;
	return often > 256 ? 255 : often ? often - 1 : 0;
}

/* Return how many buckets a table should have that has @count elements and @now buckets. */
static size_t fitting(const struct lull__hash_control *control, enum lull__hash_kind kind, size_t count, size_t now)
{
	size_t want;

	if (kind == LULL__HASH_CAME && count > now && now < control->most) {
		want = lull__hash_round_up(count + count / 2);
		return want < control->most ? want : control->most;
	}
	if (kind == LULL__HASH_WENT && count < now / 8 && now > control->least) {
		want = lull__hash_round_up(count * 2);
		return want > control->least ? want : control->least;
	}
	return now;
}

/* Without memory, chains get longer until there is some. */
void lull__hash_consider_resize(struct lull_hash *h, enum lull__hash_kind kind)
{
	struct lull__hash_control *control = h->control;
	const struct lull__hash_table *table = lull__hash_current(h);
	size_t now = lull__hash_size(table), want = now, seldom = how_seldom(control, kind, now);

	if (lull_load_relaxed(&table->future))
		return;
	if (seldom != SIZE_MAX)
		want = fitting(control, kind, lull_hash_count(h), now);
	if (want == now && lull_load_relaxed(&control->seldom[kind]) == seldom)
		return;
	if (!lull__trylock(&control->begin)) {
		lull_store_relaxed(&control->seldom[kind], (size_t)0); /* the next update tries again */
		return;
	}
	/* No other table takes the place of this one before the lock is free, unless one is about to. */
	if (lull__hash_current(h) == table && !lull_load_relaxed(&table->future)) {
		lull_store_relaxed(&control->seldom[kind], seldom);
		/* Count again: a thread that has just found the lock taken leaves its look to this one. */
		begin_resize(h, seldom == SIZE_MAX ? now : fitting(control, kind, lull_hash_count(h), now));
	}
	lull__unlock(&control->begin);
}

void lull__hash_help_resize(struct lull_hash *h, struct lull__hash_table *table)
{
	move_some(h, table, MOVE_PER_UPDATE);
}
