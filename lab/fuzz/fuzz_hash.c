/* SPDX-License-Identifier: MIT */
/*
 * fuzz_hash.c - the hash table against a model. The input is a table's configuration and then a row of operations on
 * it; the model is an array that has the elements of each key in the order in which they came. What the table says
 * must be what the model says, after each operation for its key and now and then for all.
 *
 * One thread does all that, but not in one go: a walk over all elements, or over those with one key, begins, goes on a
 * step at a time with updates and resizes between the steps, and must have met what was there all the while. The read
 * section that it needs keeps the elements that have gone meanwhile; AddressSanitizer sees to it that it does, and that
 * afterwards all of them are freed.
 */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include <lull/hash.h>
#include <lull/reclaim.h>

#define KEYS	 256u
#define DEPTH	 3u /* elements with the same key */
#define INTACT	 0x900dda7au
#define WALK_END 1000000u /* steps that no walk takes */

struct item {
	unsigned intact, key;
	struct lull_hash_node node;
	struct lull_rcu_head rcu;
	unsigned met; /* in the walk that goes on: how often */
	bool stays;   /* it is there since the walk began */
};

struct table {
	struct lull_hash h;
	unsigned hashing; /* which hash function */
	uint32_t flags;
	size_t fixed; /* LULL_HASH_FIXED: how many buckets it has */

	struct item *there[KEYS][DEPTH]; /* the latest last */
	unsigned depth[KEYS];
	size_t count;

	/* The walk. */
	bool walking, one_key;
	unsigned walk_key;
	struct lull_hash_iter iter;
	struct lull_hash_node *stand;
	struct item *left; /* one that was removed since it began, or NULL */
};

static struct item *item_of(struct lull_hash_node *node)
{
	return lull_hash_entry_or_null(node, struct item, node);
}

static inline bool match(const struct lull_hash_node *node, const void *key)
{
	const struct item *item = lull_hash_entry(node, struct item, node);

	fuzz_must(item->intact == INTACT);
	return item->key == *(const unsigned *)key;
}

/* A good one, the key itself, one of four, and one whose low bits are all the same. */
static uint64_t hash_of(const struct table *t, unsigned key)
{
	switch (t->hashing) {
	case 0:
		return lull_hash_mix64(key);
	case 1:
		return key;
	case 2:
		return key % 4;
	default:
		return (uint64_t)key << 56;
	}
}

static struct item *item_new(unsigned key)
{
	struct item *item = calloc(1, sizeof(*item));

	fuzz_must(item);
	item->intact = INTACT;
	item->key = key;
	return item;
}

static void item_free(struct lull_rcu_head *rcu)
{
	struct item *item = lull_container_of(rcu, struct item, rcu);

	fuzz_must(item->intact == INTACT);
	item->intact = 0;
	free(item);
}

/* ---- the model ------------------------------------------------------------------------------- */

static struct item *latest(const struct table *t, unsigned key)
{
	return t->depth[key] ? t->there[key][t->depth[key] - 1] : NULL;
}

static void model_add(struct table *t, struct item *item)
{
	t->there[item->key][t->depth[item->key]++] = item;
	t->count++;
}

/* The element has just been taken off the table, by both ways of freeing. */
static void retire(struct table *t, struct item *item)
{
	item->stays = false;
	if (t->walking)
		t->left = item;
	if (item->key % 2)
		lull_rcu_call(&item->rcu, item_free);
	else
		lull_rcu_free(item);
}

static void model_remove(struct table *t, unsigned key, unsigned at)
{
	struct item *item = t->there[key][at];

	t->depth[key]--;
	memmove(&t->there[key][at], &t->there[key][at + 1], (t->depth[key] - at) * sizeof(item));
	t->count--;
	retire(t, item);
}

static void model_replace(struct table *t, unsigned key, unsigned at, struct item *item)
{
	struct item *old = t->there[key][at];

	t->there[key][at] = item;
	retire(t, old);
}

static void check_key(const struct table *t, unsigned key)
{
	struct lull_hash_node *node;
	struct lull_hash_iter iter;
	unsigned at = t->depth[key];

	lull_rcu_read_lock();
	fuzz_must(lull_hash_lookup_entry(&t->h, hash_of(t, key), match, &key, struct item, node) ==
		  latest(t, key));
	lull_hash_for_each_match(node, &iter, &t->h, hash_of(t, key), match, &key)
		fuzz_must(at && item_of(node) == t->there[key][--at]);
	fuzz_must(!at);
	lull_rcu_read_unlock();
}

/* All of it. The caller has finished the resize, so a walk meets each element once. */
static void check_all(const struct table *t)
{
	struct lull_hash_iter iter;
	struct item *item;
	size_t met = 0;

	for (unsigned key = 0; key < KEYS; key++)
		check_key(t, key);
	lull_rcu_read_lock();
	lull_hash_for_each_entry(item, &iter, &t->h, node) {
		fuzz_must(item->intact == INTACT && item->key < KEYS);
		met++;
	}
	lull_rcu_read_unlock();
	fuzz_must(met == t->count);
	fuzz_must(lull_hash_count(&t->h) == t->count);
}

static void check_buckets(const struct table *t)
{
	size_t buckets = lull_hash_buckets(&t->h);

	fuzz_must(buckets >= 2 && (buckets & (buckets - 1)) == 0);
	if (t->flags & LULL_HASH_FIXED)
		fuzz_must(buckets == t->fixed);
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void walk_mark(struct table *t, bool stays)
{
	for (unsigned key = 0; key < KEYS; key++) {
		for (unsigned at = 0; at < t->depth[key]; at++) {
			t->there[key][at]->met = 0;
			t->there[key][at]->stays = stays;
		}
	}
}

static void walk_begin(struct table *t, bool one_key, unsigned key)
{
	if (t->walking)
		return;
	walk_mark(t, true);
	lull_rcu_read_lock();
	t->walking = true;
	t->one_key = one_key;
	t->walk_key = key;
	if (one_key)
		t->stand = lull__hash_first_match(&t->h, &t->iter, hash_of(t, key), match, &t->walk_key);
	else
		t->stand = lull__hash_iter_first(&t->h, &t->iter);
}

static void walk_step(struct table *t)
{
	if (!t->walking || !t->stand)
		return;
	fuzz_must(item_of(t->stand)->intact == INTACT);
	item_of(t->stand)->met++;
	if (t->one_key)
		t->stand = lull__hash_next_match(&t->iter, t->stand, hash_of(t, t->walk_key), match,
						 &t->walk_key);
	else
		t->stand = lull__hash_iter_next(&t->iter, t->stand);
}

static void walk_end(struct table *t)
{
	unsigned steps = 0;

	if (!t->walking)
		return;
	for (; t->stand; walk_step(t))
		fuzz_must(steps++ < WALK_END);
	for (unsigned key = 0; key < KEYS; key++) {
		for (unsigned at = 0; at < t->depth[key]; at++) {
			const struct item *item = t->there[key][at];

			if (item->stays && (!t->one_key || key == t->walk_key))
				fuzz_must(item->met);
		}
	}
	walk_mark(t, false);
	t->walking = false;
	t->left = NULL;
	lull_rcu_read_unlock();
}

/* ---- operations ------------------------------------------------------------------------------ */

static void op_insert(struct table *t, unsigned key)
{
	struct item *item = item_new(key);
	int err = lull_hash_insert(&t->h, &item->node, hash_of(t, key), match, &key);

	fuzz_must(err == (latest(t, key) ? -EEXIST : 0));
	if (err)
		free(item);
	else
		model_add(t, item);
}

static void op_lookup_or_insert(struct table *t, unsigned key)
{
	struct item *item = item_new(key), *found;

	lull_rcu_read_lock();
	found = item_of(lull_hash_lookup_or_insert(&t->h, &item->node, hash_of(t, key), match, &key));
	lull_rcu_read_unlock();
	fuzz_must(found == latest(t, key));
	if (found)
		free(item);
	else
		model_add(t, item);
}

static void op_insert_dup(struct table *t, unsigned key)
{
	struct item *item;

	if (t->depth[key] == DEPTH)
		return;
	item = item_new(key);
	lull_hash_insert_dup(&t->h, &item->node, hash_of(t, key));
	model_add(t, item);
}

static void op_replace(struct table *t, unsigned key)
{
	struct item *item = item_new(key);
	struct item *old = item_of(lull_hash_replace(&t->h, &item->node, hash_of(t, key), match, &key));

	fuzz_must(old == latest(t, key));
	if (old)
		model_replace(t, key, t->depth[key] - 1, item);
	else
		model_add(t, item);
}

static void op_replace_node(struct table *t, unsigned key, unsigned at)
{
	struct item *item;

	if (t->depth[key] <= at)
		return;
	item = item_new(key);
	fuzz_must(lull_hash_replace_node(&t->h, &t->there[key][at]->node, &item->node) == 0);
	model_replace(t, key, at, item);
}

static void op_remove(struct table *t, unsigned key)
{
	struct item *old = item_of(lull_hash_remove(&t->h, hash_of(t, key), match, &key));

	fuzz_must(old == latest(t, key));
	if (old)
		model_remove(t, key, t->depth[key] - 1);
}

static void op_remove_node(struct table *t, unsigned key, unsigned at)
{
	if (t->depth[key] <= at)
		return;
	fuzz_must(lull_hash_remove_node(&t->h, &t->there[key][at]->node) == 0);
	model_remove(t, key, at);
}

/* One that has gone can be neither removed nor replaced. The walk's section keeps it. */
static void op_too_late(struct table *t)
{
	struct item *item;

	if (!t->left)
		return;
	item = item_new(t->left->key);
	fuzz_must(lull_hash_remove_node(&t->h, &t->left->node) == -ENOENT);
	fuzz_must(lull_hash_replace_node(&t->h, &t->left->node, &item->node) == -ENOENT);
	free(item);
}

static void op_resize(struct table *t, unsigned choice)
{
	size_t buckets = (size_t)1 << choice % 10;

	fuzz_must(lull_hash_resize(&t->h, 0) == -EINVAL);
	fuzz_must(lull_hash_resize(&t->h, buckets) == 0);
	t->fixed = buckets < 2 ? 2 : buckets;
	check_buckets(t);
}

static void op_many(struct table *t, unsigned key, void (*op)(struct table *t, unsigned key))
{
	for (unsigned i = 0; i < 48; i++)
		op(t, (key + i) % KEYS);
}

static void operate(struct table *t, struct fuzz_input *input)
{
	unsigned op = fuzz_byte(input), key = fuzz_byte(input) % KEYS;

	switch (op % 20) {
	case 0:	 op_insert(t, key); break;
	case 1:	 op_insert_dup(t, key); break;
	case 2:	 op_lookup_or_insert(t, key); break;
	case 3:	 op_replace(t, key); break;
	case 4:	 op_replace_node(t, key, op / 20 % DEPTH); break;
	case 5:	 op_remove(t, key); break;
	case 6:	 op_remove_node(t, key, op / 20 % DEPTH); break;
	case 7:	 op_too_late(t); break;
	case 8:	 op_resize(t, key); break;
	case 9:	 lull_hash_finish_resize(&t->h); check_buckets(t); break;
	case 10: op_many(t, key, op_insert); break;
	case 11: op_many(t, key, op_remove); break;
	case 12: op_many(t, key, op_insert_dup); break;
	case 13: walk_begin(t, false, 0); break;
	case 14: walk_begin(t, true, key); break;
	case 15: case 16: case 17: walk_step(t); break;
	case 18: walk_end(t); break;
	case 19: lull_hash_finish_resize(&t->h); check_all(t); break;
	}
	check_key(t, key);
}

/* ---- from the beginning to the end ----------------------------------------------------------- */

static bool begin(struct table *t, struct fuzz_input *input)
{
	static const size_t sizes[] = { 0, 1, 2, 3, 8, 64, 100, 1024 };
	struct lull_hash_config config = { 0, 0, 0 };
	unsigned choice = fuzz_byte(input);
	bool good;
	int err;

	t->hashing = choice % 4;
	config.flags = choice / 4 % 5;
	choice = fuzz_byte(input);
	config.buckets = sizes[choice % 8];
	config.max_buckets = sizes[choice / 8 % 8];
	good = config.flags < 4 && (!config.max_buckets || config.max_buckets >= config.buckets);
	err = lull_hash_init(&t->h, &config);
	fuzz_must(err == (good ? 0 : -EINVAL));
	t->flags = config.flags;
	t->fixed = good ? lull_hash_buckets(&t->h) : 0;
	return good;
}

static void gone(struct lull_hash_node *node, void *arg)
{
	struct table *t = arg;

	t->count--;
	item_free(&item_of(node)->rcu);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	struct table t;

	memset(&t, 0, sizeof(t));
	if (!begin(&t, &input))
		return 0;
	check_buckets(&t);
	while (input.left)
		operate(&t, &input);
	walk_end(&t);
	check_buckets(&t);
	lull_hash_finish_resize(&t.h);
	check_all(&t);
	/* Readers are gone, but the old tables and elements are still to be freed. */
	lull_hash_destroy(&t.h, gone, &t);
	fuzz_must(!t.count);
	lull_rcu_barrier();
	return 0;
}
