/* SPDX-License-Identifier: MIT */
/*
 * lull keyscale: the table of keys, and the schemes; see keyscale.h.
 *
 * To unregister is to unlink a key, under the table's lock, and to wait until no reader has it;
 * then the memory is poisoned, lies in a queue for a while, and becomes another key. Readers look
 * for the poison: with a wait that is too short they meet it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include <lull/hash.h>
#include <lull/hazptr.h>
#include <lull/hlist.h>
#include <lull/rcu.h>
#include <lull/shazptr.h>

#include "common/clock.h"
#include "common/bench.h"
#include "hash_scheme.h"
#include "instruments/lockdep_keys/keyscale.h"

#define REGISTERED UINT64_C(0x6b65792d6c697665)
#define FREED UINT64_C(0xdeaddeaddeaddead)
#define QUEUE 64u /* keys that were freed and are not used again yet, per updater */

struct key {
	struct lull_hlist_node node;
	uint64_t id;
	uint64_t mark; /* REGISTERED or FREED */
};

/* A thread that unregisters, and its part of the keys. Half of the ids that it has are in use. */
struct updater {
	struct key **registered;
	uint64_t *unused;
	size_t keys;
	struct key *queue[QUEUE];
	size_t oldest;
} __attribute__((aligned(BENCH_LINE)));

struct keyscale_table {
	struct keyscale_shape shape;
	struct lull_hlist_head *bucket;
	struct key *key; /* all of them */
	struct updater *updater;
	struct key bystander, *unrelated; /* protected by the unrelated thread */
	/* Protects the lists. It has its own cache line, because readers read the fields above. */
	pthread_mutex_t lock __attribute__((aligned(BENCH_LINE)));
};

static struct lull_hlist_head *bucket_of(const struct keyscale_table *t, uint64_t id)
{
	return &t->bucket[(lull_hash_mix64(id) >> 32) * t->shape.buckets >> 32];
}

static size_t random_index(uint64_t *state, size_t count)
{
	return (size_t)((bench_random(state) >> 32) * count >> 32);
}

/* Register u->keys keys of the array @key, with ids from 2 * @first, and keep QUEUE more for later. */
static void init_updater(struct keyscale_table *t, struct updater *u, struct key *key, size_t first)
{
	size_t i;

	u->registered = options_alloc(u->keys, sizeof(struct key *));
	u->unused = options_alloc(u->keys, sizeof(*u->unused));
	for (i = 0; i < u->keys; i++) {
		u->registered[i] = &key[i];
		u->unused[i] = 2 * first + u->keys + i;
		key[i].id = 2 * first + i;
		key[i].mark = REGISTERED;
		lull_hlist_add_head(&key[i].node, bucket_of(t, key[i].id));
	}
	for (i = 0; i < QUEUE; i++) {
		u->queue[i] = &key[u->keys + i];
		u->queue[i]->mark = FREED;
	}
}

struct keyscale_table *keyscale_table_new(const struct keyscale_shape *shape)
{
	struct keyscale_table *t = bench_hash_alloc(1, sizeof(*t));
	size_t first = 0, share;
	unsigned i;

	t->shape = *shape;
	pthread_mutex_init(&t->lock, NULL);
	t->bucket = options_alloc(shape->buckets, sizeof(*t->bucket));
	t->key = options_alloc(shape->keys + shape->updaters * QUEUE, sizeof(*t->key));
	t->updater = bench_hash_alloc(shape->updaters, sizeof(*t->updater));
	t->bystander.mark = REGISTERED;
	t->unrelated = &t->bystander;
	for (i = 0; i < shape->updaters; i++, first += share) {
		share = (shape->keys - first) / (shape->updaters - i);
		t->updater[i].keys = share;
		init_updater(t, &t->updater[i], t->key + first + i * QUEUE, first);
	}
	return t;
}

void keyscale_table_free(struct keyscale_table *t)
{
	unsigned i;

	for (i = 0; i < t->shape.updaters; i++) {
		free(t->updater[i].registered);
		free(t->updater[i].unused);
	}
	pthread_mutex_destroy(&t->lock);
	free(t->updater);
	free(t->bucket);
	free(t->key);
	free(t);
}

const struct keyscale_shape *keyscale_shape(const struct keyscale_table *t)
{
	return &t->shape;
}

/* ---- readers --------------------------------------------------------------------------------- */

struct keyscale_scheme {
	const char *name, *what;
	bool (*lookup)(struct keyscale_reader *r, struct lull_hlist_head *head, uint64_t id);
	void (*unlink)(struct key *key); /* under the lock */
	/* Wait until no thread has the key, which was in this bucket. */
	void (*wait)(struct key *key, struct lull_hlist_head *head);
	/* Protect what has nothing to do with keys, sleeping. */
	void (*stay)(struct keyscale_reader *r, const struct keyscale_table *t);
};

/* While the reader has the key in hand. */
static void check(struct keyscale_reader *r, const struct key *key)
{
	r->met_freed += lull_load_relaxed(&key->mark) != REGISTERED;
}

/* Sleep while @key is protected, as the unrelated thread does. */
static void sleep_inside(struct keyscale_reader *r, const struct keyscale_table *t,
			 const struct key *key)
{
	uint64_t ns = t->shape.unrelated_ns;
	struct timespec ts = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	check(r, key);
	lull_store_relaxed(&r->presence, KEYSCALE_INSIDE);
	nanosleep(&ts, NULL);
	lull_store_relaxed(&r->presence, KEYSCALE_OUTSIDE);
	check(r, key);
}

/* Walk a bucket from which nothing goes away meanwhile. */
static bool walk_bucket(struct keyscale_reader *r, const struct lull_hlist_head *head, uint64_t id)
{
	const struct key *key;

	lull_hlist_for_each_entry_rcu(key, head, node) {
		check(r, key);
		if (key->id != id)
			continue;
		check(r, key);
		return true;
	}
	return false;
}

static void unlink_key(struct key *key)
{
	lull_hlist_del_rcu(&key->node);
}

/* ---- rcu ------------------------------------------------------------------------------------- */

static bool rcu_lookup(struct keyscale_reader *r, struct lull_hlist_head *head, uint64_t id)
{
	bool found;

	lull_rcu_read_lock();
	found = walk_bucket(r, head, id);
	lull_rcu_read_unlock();
	return found;
}

static void rcu_wait(struct key *key, struct lull_hlist_head *head)
{
	(void)key;
	(void)head;
	lull_rcu_synchronize();
}

static void rcu_stay(struct keyscale_reader *r, const struct keyscale_table *t)
{
	lull_rcu_read_lock();
	sleep_inside(r, t, lull_rcu_dereference(t->unrelated));
	lull_rcu_read_unlock();
}

static const struct keyscale_scheme rcu = {
	"rcu",	 "lull RCU: wait for all readers of anything", rcu_lookup, unlink_key, rcu_wait,
	rcu_stay
};

/* ---- hazptr ---------------------------------------------------------------------------------- */

/*
 * Hand over hand: while one slot names a key, the other protects the next one. That takes care of
 * each key that was reached, but not of the way there: a key in hand may have been unlinked, and
 * its `next` leads to what may be gone as well. So who unlinks a key poisons its `next`, under the
 * same lock:
 *
 *	reader, has A in hand			updaters
 *	B = A's next				unlink A, A's next = poison
 *	other slot = B		(light fence)	unlink B, from where it is linked by then
 *	look at A's next again			heavy fence, look at all slots for B
 *
 * When the second look gives B, A was not unlinked at that time, so B was linked: whoever unlinks
 * it does so later, and the heavy fence after that finds the slot. Had B been unlinked before that
 * fence, together with A, behind A, or in front of it, the second look would give poison, or what
 * came behind B. Poison is where a walk ends that has to begin again; each time, some key was
 * unregistered.
 */
static struct lull_hlist_node *walk_hand_over_hand(struct keyscale_reader *r,
						   struct lull_hlist_head *head, uint64_t id)
{
	struct lull_hlist_node *node = lull_hazptr_protect_ptr(r->slot[0], head->first);
	unsigned free_slot = 1;

	while (node && node != LULL_HLIST_POISON_NEXT) {
		const struct key *key = lull_hlist_entry(node, struct key, node);

		check(r, key);
		if (key->id == id)
			break;
		node = lull_hazptr_protect_ptr(r->slot[free_slot], node->next);
		free_slot ^= 1;
	}
	return node;
}

static bool hazptr_lookup(struct keyscale_reader *r, struct lull_hlist_head *head, uint64_t id)
{
	struct lull_hlist_node *node;

	do {
		node = walk_hand_over_hand(r, head, id);
	} while (node == LULL_HLIST_POISON_NEXT);
	if (node)
		check(r, lull_hlist_entry(node, struct key, node));
	lull_hazptr_clear(r->slot[0]);
	lull_hazptr_clear(r->slot[1]);
	return node;
}

static void hazptr_unlink(struct key *key)
{
	unlink_key(key);
	lull_store_relaxed(&key->node.next, LULL_HLIST_POISON_NEXT);
}

/* Slots name nodes. */
static void hazptr_wait(struct key *key, struct lull_hlist_head *head)
{
	(void)head;
	lull_hazptr_synchronize(&key->node);
}

static void hazptr_stay(struct keyscale_reader *r, const struct keyscale_table *t)
{
	sleep_inside(r, t, lull_hazptr_protect_ptr(r->slot[0], t->unrelated));
	lull_hazptr_clear(r->slot[0]);
}

static const struct keyscale_scheme hazptr = {
	"hazptr",      "hazard pointers: wait for readers of the key",
	hazptr_lookup, hazptr_unlink,
	hazptr_wait,   hazptr_stay
};

/* ---- shazptr --------------------------------------------------------------------------------- */

/*
 * The reader says which bucket it is in before it looks for anything there, and who unlinks a key
 * waits for the bucket: either that is seen, or the reader comes after the unlinking. So there is
 * nothing to look at twice, and the walk is that of RCU.
 */
static bool shazptr_lookup(struct keyscale_reader *r, struct lull_hlist_head *head, uint64_t id)
{
	struct lull_shazptr_guard guard = lull_shazptr_acquire(head);
	bool found = walk_bucket(r, head, id);

	lull_shazptr_clear(guard);
	return found;
}

static void shazptr_wait(struct key *key, struct lull_hlist_head *head)
{
	(void)key;
	lull_shazptr_synchronize(head);
}

static void shazptr_stay(struct keyscale_reader *r, const struct keyscale_table *t)
{
	struct lull_shazptr_guard guard = lull_shazptr_acquire(t->unrelated);

	sleep_inside(r, t, t->unrelated);
	lull_shazptr_clear(guard);
}

static const struct keyscale_scheme shazptr = {
	"shazptr",	"simple hazard pointers: wait for readers of the bucket",
	shazptr_lookup, unlink_key,
	shazptr_wait,	shazptr_stay
};

/* ---- what the threads do with it ------------------------------------------------------------- */

const struct keyscale_scheme *const keyscale_schemes[KEYSCALE_SCHEMES] = { &rcu, &hazptr,
									   &shazptr };

const char *keyscale_name(const struct keyscale_scheme *scheme)
{
	return scheme->name;
}

const char *keyscale_what(const struct keyscale_scheme *scheme)
{
	return scheme->what;
}

bool keyscale_lookup(const struct keyscale_scheme *scheme, const struct keyscale_table *t,
		     struct keyscale_reader *r, uint64_t *rng)
{
	uint64_t id = random_index(rng, 2 * t->shape.keys);

	return scheme->lookup(r, bucket_of(t, id), id);
}

void keyscale_stay(const struct keyscale_scheme *scheme, const struct keyscale_table *t,
		   struct keyscale_reader *r)
{
	scheme->stay(r, t);
}

static uint64_t unregister(const struct keyscale_scheme *scheme, struct keyscale_table *t,
			   struct key *key)
{
	struct lull_hlist_head *head = bucket_of(t, key->id);
	uint64_t start = bench_now_ns(), took;

	pthread_mutex_lock(&t->lock);
	scheme->unlink(key);
	pthread_mutex_unlock(&t->lock);
	scheme->wait(key, head);
	took = bench_now_ns() - start;
	key->mark = FREED;
	return took;
}

uint64_t keyscale_renew(const struct keyscale_scheme *scheme, struct keyscale_table *t,
			unsigned updater, uint64_t *rng)
{
	struct updater *u = &t->updater[updater];
	size_t at = random_index(rng, u->keys), other = random_index(rng, u->keys);
	struct key *key = u->registered[at], *fresh = u->queue[u->oldest];
	uint64_t took = unregister(scheme, t, key);

	u->queue[u->oldest] = key;
	u->oldest = (u->oldest + 1) % QUEUE;
	u->registered[at] = fresh;
	fresh->id = u->unused[other];
	u->unused[other] = key->id;
	fresh->mark = REGISTERED;
	pthread_mutex_lock(&t->lock);
	lull_hlist_add_head_rcu(&fresh->node, bucket_of(t, fresh->id));
	pthread_mutex_unlock(&t->lock);
	return took;
}
