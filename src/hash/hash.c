/* SPDX-License-Identifier: MIT */
/*
 * hash.c - updates and resizing of the hash table; hash.h has the lookups, and says why this works.
 *
 * Locks, outermost first: `begin` of the control block; a bucket; the same key's bucket in the
 * future table. Tables are followed from old to new only, in a read section, so none vanishes. A
 * table's future is set once, and only when the table is the current one, so there is never a
 * third table that elements are moved to.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <lull/hash.h>

#include "../base/internal.h"

#define LEAST_BUCKETS	16u  /* unless told otherwise */
#define SHARDS		16u  /* of the count of elements; threads spread over them */
#define MOVE_PER_UPDATE 16u  /* buckets: done long before the next resize is due */
#define MOVE_AT_ONCE	256u /* buckets that a thread claims which does nothing else */
#define RUNS		64u  /* runs of a chain noted in one walk over it */

struct shard {
	long count;
} __attribute__((aligned(LULL__CACHELINE)));

struct lull__hash_control {
	struct shard shard[SHARDS];
	struct lull__lock begin; /* who starts a resize */
	uint64_t resizes;	 /* that are over */
	size_t least, most;
	uint32_t flags;
};

/* In front of what lookups see, and well away from it: what the movers of the buckets share. */
struct table {
	struct lull__lock leaving; /* locked until all elements have left for the future */
	size_t claimed;		   /* buckets that somebody has moved or is moving */
	size_t moved;
	char apart[104];
	struct lull__hash_table seen;
};
_Static_assert(offsetof(struct table, seen) >= 2 * LULL__CACHELINE, "no line in common");
_Static_assert(sizeof(struct table) % sizeof(struct lull__hash_bucket) == 0, "buckets are aligned");

static struct table *whole(const struct lull__hash_table *seen)
{
	return lull_container_of(seen, struct table, seen);
}

static size_t size_of(const struct lull__hash_table *table)
{
	return (size_t)table->mask / sizeof(struct lull__hash_bucket) + 1;
}

static struct lull__hash_bucket *bucket_at(const struct lull__hash_table *table, size_t index)
{
	return lull__hash_bucket_of(table, index);
}

static struct lull__lock *lock_of(struct lull__hash_bucket *bucket)
{
	return (struct lull__lock *)(void *)&bucket->lock;
}

static inline struct lull__hash_table *future_of(const struct lull__hash_table *table)
{
	/* ORDER HASH-3: the future before its buckets; pairs with HASH-3 in begin_resize(); without
	 * it an update takes garbage for a bucket; model/hash-future.litmus */
	return lull_load_acquire(&table->future);
}

static inline struct lull__hash_table *table_of(const struct lull_hash *h)
{
	/* ORDER HASH-4: the table before its buckets; pairs with HASH-4 in end_resize(); without it
	 * an update takes garbage for a bucket; model/hash-switch.litmus */
	LULL__HASH_ALIVE(h);
	return lull_load_acquire(&h->table);
}

/* The power of two from @least up that is @buckets or the next; 0 when there is none. */
static size_t round_up(size_t buckets)
{
	size_t size = 2;

	while (size && size < buckets)
		size *= 2;
	return size;
}

static struct lull__hash_table *new_table(size_t buckets)
{
	struct table *table;

	if (!buckets || buckets > SIZE_MAX / 2 / sizeof(struct lull__hash_bucket))
		return NULL;
	/* Not memset: fresh pages are zero, and so are touched one by one as buckets are moved. */
	buckets *= sizeof(struct lull__hash_bucket);
	table = (struct table *)calloc(1, sizeof(*table) + buckets);
	if (!table)
		return NULL;
	lull__lock(&table->leaving);
	table->seen.mask = buckets - sizeof(struct lull__hash_bucket);
	return &table->seen;
}

/* ---- chains, under the bucket's lock -------------------------------------------------------- */

/*
 * ORDER HASH-1: an element's contents before the link to it; pairs with HASH-1 in
 * lull__hash_first(); without it a reader sees the element before its contents;
 * model/hash-publish.litmus (Links that are passed on when an element is taken out or replaced
 * too: the reader need not have seen the link that they are copied from.)
 */
static inline void link_element(struct lull_hash_node **link, struct lull_hash_node *node)
{
	lull_store_release(link, node);
}

/* The bucket where the keys with this hash are at home, locked. In a read section. */
static inline struct lull__hash_bucket *lock_home(const struct lull__hash_table *table,
						  uint64_t hash)
{
	for (;;) {
		struct lull__hash_bucket *bucket = lull__hash_bucket_of(table, hash);

		lull__lock(lock_of(bucket));
		if (lull_likely(!bucket->moved))
			return bucket;
		lull__unlock(lock_of(bucket));
		table = future_of(table);
	}
}

static inline void unlock_home(struct lull__hash_bucket *bucket)
{
	lull__unlock(lock_of(bucket));
}

/* The link to the element with this key, or NULL. */
static inline struct lull_hash_node **find_key(struct lull__hash_bucket *bucket, uint64_t hash,
					       lull_hash_match_fn match, const void *key)
{
	struct lull_hash_node **link = &bucket->first, *node;

	for (; (node = lull_load_relaxed(link)); link = &node->next) {
		if (node->hash == hash && match(node, key))
			return link;
	}
	return NULL;
}

/* The link to @wanted, or NULL. */
static inline struct lull_hash_node **find_node(struct lull__hash_bucket *bucket,
						const struct lull_hash_node *wanted)
{
	struct lull_hash_node **link = &bucket->first, *node;

	for (; (node = lull_load_relaxed(link)); link = &node->next) {
		if (node == wanted)
			return link;
	}
	return NULL;
}

static void add_element(struct lull__hash_bucket *bucket, struct lull_hash_node *node,
			uint64_t hash)
{
	node->hash = hash;
	lull_store_relaxed(&node->next, lull_load_relaxed(&bucket->first));
	link_element(&bucket->first, node);
}

/* Both leave the old element's own link as it is, for readers who stand on it. */
static inline void replace_element(struct lull_hash_node **link, struct lull_hash_node *node)
{
	const struct lull_hash_node *old = lull_load_relaxed(link);

	node->hash = old->hash;
	lull_store_relaxed(&node->next, lull_load_relaxed(&old->next));
	link_element(link, node);
}

static inline void remove_element(struct lull_hash_node **link)
{
	link_element(link, lull_load_relaxed(&lull_load_relaxed(link)->next));
}

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
	lull__lock(lock_of(to));
	/*
	 * ORDER HASH-2: what was moved before, linked in, before the way from here into the new
	 * chain; pairs with HASH-2 in lull__hash_first(); without it who goes that way misses
	 * what was behind; model/hash-move.litmus
	 */
	lull_store_release(&last->next, lull_load_relaxed(&to->first));
	lull__busted_pause();
	link_element(&to->first, first);
	lull__unlock(lock_of(to));
	lull__busted_pause();
	/*
	 * ORDER HASH-2: the link in the new chain before the end of the old; pairs with HASH-2 in
	 * lull__hash_first(); without it a reader finds the element in neither;
	 * model/hash-move.litmus
	 */
	lull_store_release(link, (struct lull_hash_node *)NULL);
}

/*
 * Move a chain, from its end. Neighbours that go to the same bucket go as one run. Only the last
 * RUNS runs are noted in a walk over the chain; if there are more, it is walked again.
 */
static void move_chain(struct lull__hash_bucket *from, const struct lull__hash_table *future)
{
	struct { struct lull_hash_node **link; struct lull__hash_bucket *to; } run[RUNS];
	struct lull_hash_node *node;

	while (LULL__BUSTED(HASH_MOVE_HEAD) && (node = from->first)) {
		struct lull_hash_node *rest = node->next;

		move_run(&from->first, node, lull__hash_bucket_of(future, node->hash));
		link_element(&from->first, rest);
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
			/* The link that was cut is the `next` of the last one left, or the head. */
			last = lull_container_of(link, struct lull_hash_node, next);
		}
	}
}

static void move_bucket(struct lull__hash_bucket *from, const struct lull__hash_table *future)
{
	lull__lock(lock_of(from));
	move_chain(from, future);
	from->moved = 1;
	lull__unlock(lock_of(from));
}

/* All has been moved. In a read section: @old is still there afterwards. */
static void end_resize(struct lull_hash *h, struct lull__hash_table *old)
{
	struct lull__hash_control *control = h->control;

	/*
	 * ORDER HASH-4: all that was moved before the table; pairs with HASH-4 in
	 * lull__hash_table_of(); without it a reader misses what was moved;
	 * model/hash-switch.litmus
	 */
	lull_store_release(&h->table, future_of(old));
	/* HASH-4 again: who sees the number sees the table. */
	lull_add_release(&control->resizes, (uint64_t)1);
	lull__unlock_wake(&whole(old)->leaving, INT_MAX);
	lull_rcu_free(whole(old));
}

/* Move up to @most buckets that nobody has claimed. False: there were none. In a read section. */
static bool move_some(struct lull_hash *h, struct lull__hash_table *old, size_t most)
{
	struct table *table = whole(old);
	size_t size = size_of(old), at, end;

	if (lull_load_relaxed(&table->claimed) >= size)
		return false;
	at = lull_add_relaxed(&table->claimed, most);
	if (at >= size)
		return false;
	end = size - at < most ? size : at + most;
	most = end - at;
	for (; at < end; at++)
		move_bucket(bucket_at(old, at), future_of(old));
	/*
	 * ORDER HASH-5: what was moved before its being counted, and the count before
	 * end_resize(); pairs with HASH-5 in move_some(), in the thread that counts the last;
	 * without it HASH-4 covers that thread's moves only; model/hash-count.litmus
	 */
	if (lull_add_acq_rel(&table->moved, most) + most == size)
		end_resize(h, old);
	return true;
}

/*
 * Start a resize. The `begin` lock is held: nobody else does. In a read section. Returns 0,
 * -EBUSY when one goes on, or -ENOMEM.
 */
static int begin_resize(struct lull_hash *h, size_t buckets)
{
	struct lull__hash_table *old = table_of(h), *fresh;

	if (lull_load_relaxed(&old->future))
		return -EBUSY;
	if (size_of(old) == buckets)
		return 0;
	fresh = new_table(buckets);
	if (!fresh)
		return -ENOMEM;
	/*
	 * ORDER HASH-3: the new table's contents before the future, and that before the moving
	 * that who sees it begins with; pairs with HASH-3 in lull__hash_seek(); without it a
	 * reader finds what was moved in neither table; model/hash-future.litmus
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
		table = table_of(h);
		going_on = future_of(table) && lull_load_acquire(&h->control->resizes) == number;
		if (going_on && !move_some(h, table, MOVE_AT_ONCE))
			lull__lock_await(&whole(table)->leaving, 0);
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
		err = begin_resize(h, round_up(buckets));
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

/* ---- counting, and resizing by itself ------------------------------------------------------- */

size_t lull_hash_count(const struct lull_hash *h)
{
	long sum = 0;

	for (unsigned i = 0; i < SHARDS; i++)
		sum += lull_load_relaxed(&h->control->shard[i].count);
	return sum > 0 ? (size_t)sum : 0;
}

size_t lull_hash_buckets(const struct lull_hash *h)
{
	size_t buckets;

	lull_rcu_read_lock();
	buckets = size_of(table_of(h));
	lull_rcu_read_unlock();
	return buckets;
}

/* How many buckets it should have with @count elements and @now buckets. */
static size_t fitting(const struct lull__hash_control *control, size_t count, size_t now)
{
	size_t want;

	if (count > now && now < control->most) {
		want = round_up(count + count / 2);
		return want < control->most ? want : control->most;
	}
	if ((control->flags & LULL_HASH_SHRINK) && count < now / 8 && now > control->least) {
		want = round_up(count * 2);
		return want > control->least ? want : control->least;
	}
	return now;
}

/* Start a resize if one is due. Without memory, chains get longer until there is some. */
static void consider_resize(struct lull_hash *h, const struct lull__hash_table *table)
{
	struct lull__hash_control *control = h->control;
	size_t now = size_of(table), want;

	if (lull_load_relaxed(&table->future))
		return;
	want = fitting(control, lull_hash_count(h), now);
	if (want == now || !lull__trylock(&control->begin))
		return;
	begin_resize(h, want);
	lull__unlock(&control->begin);
}

/* An element more or less. In a read section; no bucket is locked. */
static void count_element(struct lull_hash *h, const struct lull__hash_table *table, long change)
{
	struct lull__hash_control *control = h->control;
	/* A registered thread has its number; records of threads are too regular in memory. */
	struct shard *shard = &control->shard[lull__self.tid % SHARDS];
	long count = lull_add_relaxed(&shard->count, change) + change;
	/* All shards together may then be off by a quarter of the size. */
	size_t often = size_of(table) / (4 * SHARDS);

	if (control->flags & LULL_HASH_FIXED)
		return;
	if (often > 256)
		often = 256;
	if (often < 2 || ((size_t)count & (often - 1)) == 0)
		consider_resize(h, table);
}

/* ---- updates -------------------------------------------------------------------------------- */

static inline struct lull__hash_table *begin_update(const struct lull_hash *h)
{
	(void)LULL__CHECK_UPDATE("an update of a lull_hash", h);
	lull_rcu_read_lock();
	return table_of(h);
}

static inline void end_update(struct lull_hash *h, struct lull__hash_table *table)
{
	if (lull_unlikely(future_of(table) != NULL))
		move_some(h, table, MOVE_PER_UPDATE);
	lull_rcu_read_unlock();
}

/* Insert @node if there is no such key (@match NULL: in any case). Returns what there is. */
static struct lull_hash_node *insert(struct lull_hash *h, struct lull_hash_node *node,
				     uint64_t hash, lull_hash_match_fn match, const void *key)
{
	struct lull__hash_table *table = begin_update(h);
	struct lull__hash_bucket *bucket = lock_home(table, hash);
	struct lull_hash_node **link = match ? find_key(bucket, hash, match, key) : NULL;
	struct lull_hash_node *found = link ? lull_load_relaxed(link) : NULL;

	if (!found)
		add_element(bucket, node, hash);
	unlock_home(bucket);
	if (!found)
		count_element(h, table, 1);
	end_update(h, table);
	return found;
}

int lull_hash_insert(struct lull_hash *h, struct lull_hash_node *node, uint64_t hash,
		     lull_hash_match_fn match, const void *key)
{
	return insert(h, node, hash, match, key) ? -EEXIST : 0;
}

struct lull_hash_node *lull_hash_lookup_or_insert(struct lull_hash *h, struct lull_hash_node *node,
						  uint64_t hash, lull_hash_match_fn match,
						  const void *key)
{
	return insert(h, node, hash, match, key);
}

void lull_hash_insert_dup(struct lull_hash *h, struct lull_hash_node *node, uint64_t hash)
{
	insert(h, node, hash, NULL, NULL);
}

struct lull_hash_node *lull_hash_replace(struct lull_hash *h, struct lull_hash_node *node,
					 uint64_t hash, lull_hash_match_fn match, const void *key)
{
	struct lull__hash_table *table = begin_update(h);
	struct lull__hash_bucket *bucket = lock_home(table, hash);
	struct lull_hash_node **link = find_key(bucket, hash, match, key);
	struct lull_hash_node *old = link ? lull_load_relaxed(link) : NULL;

	if (link)
		replace_element(link, node);
	else
		add_element(bucket, node, hash);
	unlock_home(bucket);
	if (!old)
		count_element(h, table, 1);
	end_update(h, table);
	return old;
}

int lull_hash_replace_node(struct lull_hash *h, struct lull_hash_node *old,
			   struct lull_hash_node *node)
{
	struct lull__hash_table *table = begin_update(h);
	struct lull__hash_bucket *bucket = lock_home(table, old->hash);
	struct lull_hash_node **link = find_node(bucket, old);

	if (link)
		replace_element(link, node);
	unlock_home(bucket);
	end_update(h, table);
	return link ? 0 : -ENOENT;
}

struct lull_hash_node *lull_hash_remove(struct lull_hash *h, uint64_t hash,
					lull_hash_match_fn match, const void *key)
{
	struct lull__hash_table *table = begin_update(h);
	struct lull__hash_bucket *bucket = lock_home(table, hash);
	struct lull_hash_node **link = find_key(bucket, hash, match, key);
	struct lull_hash_node *old = link ? lull_load_relaxed(link) : NULL;

	if (link)
		remove_element(link);
	unlock_home(bucket);
	if (old)
		count_element(h, table, -1);
	end_update(h, table);
	return old;
}

int lull_hash_remove_node(struct lull_hash *h, struct lull_hash_node *node)
{
	struct lull__hash_table *table = begin_update(h);
	struct lull__hash_bucket *bucket = lock_home(table, node->hash);
	struct lull_hash_node **link = find_node(bucket, node);

	if (link)
		remove_element(link);
	unlock_home(bucket);
	if (link && !LULL__BUSTED(HASH_NO_COUNT))
		count_element(h, table, -1);
	end_update(h, table);
	return link ? 0 : -ENOENT;
}

#ifdef LULL_DEBUG
void lull__hash_gone(const struct lull_hash *h)
{
	char name[32];

	lull__thread_name(lull__gettid(), name, sizeof(name));
	lull__die("hash table %p is used, which was destroyed or never set up (thread \"%s\", tid %u)",
		  (const void *)h, name, lull__gettid());
}
#endif

/* ---- iteration ------------------------------------------------------------------------------ */

/* The first element in this bucket or a later one, of this table or a later one. */
static struct lull_hash_node *iter_find(struct lull_hash_iter *iter)
{
	do {
		for (; iter->bucket < size_of(iter->table); iter->bucket++) {
			/* HASH-1, HASH-2 as in lull__hash_first(). */
			struct lull_hash_node *node =
				lull_load_acquire(&bucket_at(iter->table, iter->bucket)->first);

			if (node)
				return node;
		}
		/* What has been moved before we came to its bucket is there. */
		iter->table = future_of(iter->table);
		iter->bucket = 0;
	} while (iter->table);
	return NULL;
}

struct lull_hash_node *lull__hash_iter_first(const struct lull_hash *h, struct lull_hash_iter *iter)
{
	LULL__RCU_CHECK("lull_hash_for_each");
	iter->table = table_of(h);
	iter->bucket = 0;
	return iter_find(iter);
}

struct lull_hash_node *lull__hash_iter_next(struct lull_hash_iter *iter,
					    const struct lull_hash_node *node)
{
	LULL__RCU_CHECK("lull_hash_for_each");
	/* HASH-1, HASH-2 as in lull__hash_first(). */
	struct lull_hash_node *next = lull_load_acquire(&node->next);

	if (next)
		return next;
	iter->bucket++;
	return iter_find(iter);
}

/* ---- setting up ----------------------------------------------------------------------------- */

int lull_hash_init(struct lull_hash *h, const struct lull_hash_config *config)
{
	const struct lull_hash_config defaults = { 0, 0, 0 };
	struct lull__hash_control *control = NULL;
	size_t least;

	if (!config)
		config = &defaults;
	if ((config->flags & ~(LULL_HASH_FIXED | LULL_HASH_SHRINK)) ||
	    (config->max_buckets && config->max_buckets < config->buckets))
		return -EINVAL;
	least = round_up(config->buckets ? config->buckets : LEAST_BUCKETS);
	h->table = new_table(least);
	if (!h->table)
		return -ENOMEM;
	if (posix_memalign((void **)&control, LULL__CACHELINE, sizeof(*control)) != 0) {
		free(whole(h->table));
		return -ENOMEM;
	}
	memset(control, 0, sizeof(*control));
	control->least = least;
	control->most = config->max_buckets ? round_up(config->max_buckets) : SIZE_MAX;
	control->flags = config->flags;
	h->control = control;
	return 0;
}

void lull_hash_destroy(struct lull_hash *h, void (*gone)(struct lull_hash_node *node, void *arg),
		       void *arg)
{
	struct lull__hash_table *table = h->table, *future;

	for (; table; table = future) {
		for (size_t i = 0; gone && i < size_of(table); i++) {
			struct lull_hash_node *node = bucket_at(table, i)->first, *next;

			for (; node; node = next) {
				next = node->next;
				gone(node, arg);
			}
		}
		future = table->future;
		free(whole(table));
	}
	free(h->control);
	h->table = NULL;
	h->control = NULL;
}

/* ---- hashes --------------------------------------------------------------------------------- */

#define MULTIPLIER UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio */

uint64_t lull_hash_bytes(const void *bytes, size_t size, uint64_t seed)
{
	const unsigned char *at = (const unsigned char *)bytes;
	uint64_t hash = seed ^ size, word;

	for (; size >= sizeof(word); size -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = (hash ^ word) * MULTIPLIER;
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, at, size);
	return lull_hash_mix64((hash ^ word) * MULTIPLIER);
}

uint64_t lull_hash_string(const char *string, uint64_t seed)
{
	return lull_hash_bytes(string, strlen(string), seed);
}
