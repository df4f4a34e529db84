/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences */
/*
 * hash.c - every function and macro of hash.h: each by itself, lookups that the table changes
 * under, and random updates against a model.
 *
 * LULL_TEST_SEED=N in the environment repeats a random run; each prints its seed.
 */
#include "child.h"
#include "threads.h"

#include <errno.h>
#include <inttypes.h>

#include <lull/hash.h>

/* The node is not the first member, so that a forgotten offset shows. */
struct item {
	int key;
	int version;
	struct lull_hash_node node;
	struct lull_rcu_head rcu;
	int met;
};

static inline bool match(const struct lull_hash_node *node, const void *key)
{
	return lull_hash_entry(node, struct item, node)->key == *(const int *)key;
}

/* What most tests use for a hash: buckets and their neighbours can be told in advance. */
static uint64_t plain_hash(int key)
{
	return (uint64_t)key;
}

static struct lull_hash_config configure(size_t buckets, size_t max_buckets, uint32_t flags)
{
	struct lull_hash_config config = { buckets, max_buckets, flags };

	return config;
}

static void init(struct lull_hash *h, size_t buckets, uint32_t flags)
{
	struct lull_hash_config config = configure(buckets, 0, flags);

	assert_int_equal(lull_hash_init(h, &config), 0);
}

static struct item *new_item(int key)
{
	struct item *item = (struct item *)calloc(1, sizeof(*item));

	assert_non_null(item);
	item->key = key;
	return item;
}

static void free_item(struct lull_hash_node *node, void *count)
{
	if (count)
		++*(int *)count;
	free(lull_hash_entry(node, struct item, node));
}

static void free_later(struct lull_rcu_head *rcu)
{
	free(lull_container_of(rcu, struct item, rcu));
}

static void retire(struct lull_hash_node *node)
{
	lull_rcu_call(&lull_hash_entry(node, struct item, node)->rcu, free_later);
}

static void fill(struct lull_hash *h, int from, int to)
{
	for (int key = from; key < to; key++) {
		struct item *item = new_item(key);

		assert_int_equal(lull_hash_insert(h, &item->node, plain_hash(key), match, &key), 0);
	}
}

static struct item *find(const struct lull_hash *h, int key)
{
	struct item *item;

	lull_rcu_read_lock();
	item = lull_hash_lookup_entry(h, plain_hash(key), match, &key, struct item, node);
	lull_rcu_read_unlock();
	return item; /* nobody else is there to free it */
}

static void check_range(const struct lull_hash *h, int from, int to)
{
	for (int key = from; key < to; key++) {
		struct item *item = find(h, key);

		assert_non_null(item);
		assert_int_equal(item->key, key);
	}
	assert_null(find(h, from - 1));
	assert_null(find(h, to));
}

/* ---- one by one ------------------------------------------------------------------------------ */

TEST(init)
{
	struct lull_hash_config config = configure(100, 64, 0);
	struct lull_hash h;

	assert_int_equal(lull_hash_init(&h, &config), -EINVAL);
	config = configure(0, 0, 4);
	assert_int_equal(lull_hash_init(&h, &config), -EINVAL);
	config = configure(SIZE_MAX / 2, 0, 0);
	assert_int_equal(lull_hash_init(&h, &config), -ENOMEM);
	config = configure(SIZE_MAX, 0, 0);
	assert_int_equal(lull_hash_init(&h, &config), -ENOMEM);

	assert_int_equal(lull_hash_init(&h, NULL), 0);
	assert_int_equal(lull_hash_buckets(&h), 16);
	assert_int_equal(lull_hash_count(&h), 0);
	assert_null(find(&h, 1));
	lull_hash_destroy(&h, NULL, NULL);

	config = configure(1, 0, LULL_HASH_FIXED);
	assert_int_equal(lull_hash_init(&h, &config), 0);
	assert_int_equal(lull_hash_buckets(&h), 2);
	lull_hash_destroy(&h, NULL, NULL);
	config = configure(65, 65, LULL_HASH_SHRINK);
	assert_int_equal(lull_hash_init(&h, &config), 0);
	assert_int_equal(lull_hash_buckets(&h), 128);
	lull_hash_destroy(&h, NULL, NULL);
}

TEST(destroy)
{
	struct lull_hash h;
	int count = 0;

	init(&h, 64, 0);
	/* The 65th begins a resize that is not over; there are elements in both tables then. */
	fill(&h, 0, 66);
	assert_int_equal(lull_hash_buckets(&h), 64);
	lull_hash_destroy(&h, free_item, &count);
	assert_int_equal(count, 66);
}

TEST(insert)
{
	struct item *item = new_item(7), *again = new_item(7), *other = new_item(8);
	struct lull_hash h;
	int key = 7;

	init(&h, 16, LULL_HASH_FIXED);
	assert_int_equal(lull_hash_insert(&h, &item->node, 77, match, &key), 0);
	assert_int_equal(lull_hash_insert(&h, &again->node, 77, match, &key), -EEXIST);
	assert_int_equal(lull_hash_count(&h), 1);
	lull_rcu_read_lock();
	assert_ptr_equal(lull_hash_lookup_or_insert(&h, &again->node, 77, match, &key),
			 &item->node);
	assert_ptr_equal(lull_hash_lookup(&h, 77, match, &key), &item->node);
	/* The hash counts, not its bucket alone; and the key, not the hash alone. */
	assert_null(lull_hash_lookup(&h, 77 + 16, match, &key));
	key = 8;
	assert_null(lull_hash_lookup(&h, 77, match, &key));
	assert_null(lull_hash_lookup_or_insert(&h, &other->node, 77, match, &key));
	assert_ptr_equal(lull_hash_lookup_entry(&h, 77, match, &key, struct item, node), other);
	key = 7;
	assert_ptr_equal(lull_hash_lookup_entry(&h, 77, match, &key, struct item, node), item);
	lull_rcu_read_unlock();
	assert_int_equal(lull_hash_count(&h), 2);
	free(again);
	lull_hash_destroy(&h, free_item, NULL);
}

static uint64_t wanted_hash;

static bool match_wanted(const struct lull_hash_node *node, const void *key)
{
	assert_true(node->hash == wanted_hash);
	return match(node, key);
}

/* The table asks only about elements whose hash is the right one, all of it. */
TEST(match)
{
	struct lull_hash_iter iter;
	struct lull_hash_node *node;
	struct item *item[8], *again = new_item(3);
	struct lull_hash h;
	int key = 3, met = 0;

	init(&h, 2, LULL_HASH_FIXED);
	for (int i = 0; i < 8; i++) {
		item[i] = new_item(i);
		lull_hash_insert_dup(&h, &item[i]->node, (uint64_t)(i % 4) << 61 | (uint64_t)(i / 4) << 1);
	}
	wanted_hash = item[3]->node.hash;
	lull_rcu_read_lock();
	assert_ptr_equal(lull_hash_lookup(&h, wanted_hash, match_wanted, &key), &item[3]->node);
	lull_hash_for_each_match(node, &iter, &h, wanted_hash, match_wanted, &key)
		met++;
	assert_int_equal(met, 1);
	assert_ptr_equal(lull_hash_lookup_or_insert(&h, &again->node, wanted_hash, match_wanted, &key), &item[3]->node);
	lull_rcu_read_unlock();
	assert_int_equal(lull_hash_insert(&h, &again->node, wanted_hash, match_wanted, &key), -EEXIST);
	assert_ptr_equal(lull_hash_remove(&h, wanted_hash, match_wanted, &key), &item[3]->node);
	assert_null(lull_hash_replace(&h, &again->node, wanted_hash, match_wanted, &key));
	free(item[3]);
	lull_hash_destroy(&h, free_item, NULL);
}

/* The versions of the elements with @key, in the order met, as digits. */
static void check_versions(const struct lull_hash *h, int key, const char *expect)
{
	struct lull_hash_iter iter;
	struct lull_hash_node *node;

	lull_rcu_read_lock();
	lull_hash_for_each_match(node, &iter, h, plain_hash(key), match, &key) {
		assert_int_equal('0' + lull_hash_entry(node, struct item, node)->version, *expect);
		expect++;
	}
	lull_rcu_read_unlock();
	assert_int_equal(*expect, '\0');
}

static void insert_version(struct lull_hash *h, int key, int version)
{
	struct item *item = new_item(key);

	item->version = version;
	lull_hash_insert_dup(h, &item->node, plain_hash(key));
}

TEST(insert_dup)
{
	struct lull_hash_node *node;
	struct item *item;
	struct lull_hash h;
	int key = 3;

	init(&h, 4, LULL_HASH_FIXED);
	check_versions(&h, 3, "");
	for (int version = 1; version <= 4; version++) {
		insert_version(&h, 3, version);
		insert_version(&h, 7, 0); /* the same bucket */
	}
	assert_int_equal(lull_hash_count(&h), 8);
	check_versions(&h, 3, "4321");
	/* They stay in this order wherever they are moved. */
	assert_int_equal(lull_hash_resize(&h, 64), 0);
	check_versions(&h, 3, "4321");
	assert_int_equal(lull_hash_resize(&h, 2), 0);
	check_versions(&h, 3, "4321");
	node = lull_hash_remove(&h, plain_hash(key), match, &key);
	assert_int_equal(lull_hash_entry(node, struct item, node)->version, 4);
	retire(node);
	check_versions(&h, 3, "321");
	check_versions(&h, 7, "0000");
	/* The latest is the one that is replaced, and looked up. */
	item = new_item(key);
	item->version = 5;
	node = lull_hash_replace(&h, &item->node, plain_hash(key), match, &key);
	assert_int_equal(lull_hash_entry(node, struct item, node)->version, 3);
	retire(node);
	check_versions(&h, 3, "521");
	assert_ptr_equal(find(&h, key), item);
	lull_hash_destroy(&h, free_item, NULL);
	lull_rcu_barrier();
}

TEST(replace)
{
	struct item *item = new_item(5), *old;
	struct lull_hash_node *node;
	struct lull_hash h;
	int key = 5;

	init(&h, 4, LULL_HASH_FIXED);
	fill(&h, 1, 2);
	item->version = 1;
	assert_null(lull_hash_replace(&h, &item->node, plain_hash(key), match, &key));
	assert_int_equal(lull_hash_count(&h), 2);
	fill(&h, 9, 10);
	/* In the place of the old one: 9, 5, 1 is the chain. */
	old = item;
	item = new_item(5);
	item->version = 2;
	node = lull_hash_replace(&h, &item->node, plain_hash(key), match, &key);
	assert_ptr_equal(node, &old->node);
	assert_ptr_equal(find(&h, 9)->node.next, &item->node);
	assert_ptr_equal(item->node.next, &find(&h, 1)->node);
	assert_ptr_equal(old->node.next, item->node.next); /* for who stands on it */
	assert_int_equal(item->node.hash, plain_hash(key));
	assert_int_equal(lull_hash_count(&h), 3);
	check_versions(&h, 5, "2");
	retire(node);
	lull_hash_destroy(&h, free_item, NULL);
	lull_rcu_barrier();
}

TEST(replace_node)
{
	struct item *fresh = new_item(5), *fresher = new_item(5), *old;
	struct lull_hash h;
	int key = 5;

	init(&h, 4, LULL_HASH_FIXED);
	fill(&h, 1, 10);
	fresh->version = 1;
	fresher->version = 2;
	lull_rcu_read_lock();
	old = find(&h, 5);
	assert_int_equal(lull_hash_replace_node(&h, &old->node, &fresh->node), 0);
	retire(&old->node);
	assert_int_equal(lull_hash_replace_node(&h, &old->node, &fresher->node), -ENOENT);
	check_versions(&h, 5, "1");
	assert_int_equal(lull_hash_replace_node(&h, &fresh->node, &fresher->node), 0);
	retire(&fresh->node);
	check_versions(&h, 5, "2");
	assert_int_equal(lull_hash_count(&h), 9);
	retire(lull_hash_remove(&h, plain_hash(key), match, &key));
	fresh = new_item(5);
	assert_int_equal(lull_hash_replace_node(&h, &fresher->node, &fresh->node), -ENOENT);
	lull_rcu_read_unlock();
	check_versions(&h, 5, "");
	free(fresh);
	lull_hash_destroy(&h, free_item, NULL);
	lull_rcu_barrier();
}

TEST(remove)
{
	const int keys[] = { 5, 13, 1, 9 }; /* one bucket: in the middle, first, last, alone */
	struct lull_hash_node *node;
	struct lull_hash h;
	struct item *item;

	init(&h, 4, LULL_HASH_FIXED);
	fill(&h, 1, 14);
	for (int i = 0; i < 4; i++) {
		item = find(&h, keys[i]);
		node = lull_hash_remove(&h, plain_hash(keys[i]), match, &keys[i]);
		assert_ptr_equal(node, &item->node);
		retire(node);
		assert_null(find(&h, keys[i]));
		assert_null(lull_hash_remove(&h, plain_hash(keys[i]), match, &keys[i]));
		assert_int_equal(lull_hash_count(&h), 12 - i);
	}
	lull_rcu_read_lock();
	item = find(&h, 6);
	assert_int_equal(lull_hash_remove_node(&h, &item->node), 0);
	retire(&item->node);
	assert_int_equal(lull_hash_remove_node(&h, &item->node), -ENOENT);
	lull_rcu_read_unlock();
	assert_null(find(&h, 6));
	assert_int_equal(lull_hash_count(&h), 8);
	lull_hash_destroy(&h, free_item, NULL);
	lull_rcu_barrier();
}

/* ---- sizes ----------------------------------------------------------------------------------- */

TEST(grow)
{
	struct lull_hash h;
	size_t most = 16;

	init(&h, 16, 0);
	for (int key = 0; key < 3000; key++) {
		fill(&h, key, key + 1);
		if (key < 300 || key % 100 == 0)
			check_range(&h, 0, key + 1);
		if (lull_hash_buckets(&h) > most)
			most = lull_hash_buckets(&h);
	}
	lull_hash_finish_resize(&h);
	assert_int_equal(lull_hash_count(&h), 3000);
	assert_in_range(lull_hash_buckets(&h), 2048, 4096);
	assert_true(most >= 2048);
	check_range(&h, 0, 3000);
	lull_hash_destroy(&h, free_item, NULL);
}

TEST(max_buckets)
{
	struct lull_hash_config config = configure(16, 60, 0);
	struct lull_hash h;

	assert_int_equal(lull_hash_init(&h, &config), 0);
	fill(&h, 0, 1000);
	lull_hash_finish_resize(&h);
	assert_int_equal(lull_hash_buckets(&h), 64);
	check_range(&h, 0, 1000);
	lull_hash_destroy(&h, free_item, NULL);

	/* More than any table can have: no limit. */
	for (int shift = 0; shift < 2; shift++) {
		config = configure(16, SIZE_MAX >> shift, 0);
		assert_int_equal(lull_hash_init(&h, &config), 0);
		fill(&h, 0, 1000);
		lull_hash_finish_resize(&h);
		assert_in_range(lull_hash_buckets(&h), 512, 2048);
		lull_hash_destroy(&h, free_item, NULL);
	}
}

static void remove_range(struct lull_hash *h, int from, int to)
{
	for (int key = from; key < to; key++)
		retire(lull_hash_remove(h, plain_hash(key), match, &key));
}

TEST(shrink)
{
	struct lull_hash h;

	init(&h, 32, LULL_HASH_SHRINK);
	fill(&h, 0, 5000);
	lull_hash_finish_resize(&h);
	assert_in_range(lull_hash_buckets(&h), 4096, 8192);
	for (int key = 0; key < 5000; key += 100) {
		remove_range(&h, key, key + 100);
		check_range(&h, key + 100, 5000);
	}
	lull_hash_finish_resize(&h);
	assert_int_equal(lull_hash_count(&h), 0);
	assert_int_equal(lull_hash_buckets(&h), 32);
	lull_hash_destroy(&h, free_item, NULL);

	init(&h, 32, 0);
	fill(&h, 0, 5000);
	remove_range(&h, 0, 5000);
	lull_hash_finish_resize(&h);
	assert_in_range(lull_hash_buckets(&h), 4096, 8192);
	lull_hash_destroy(&h, NULL, NULL);
	lull_rcu_barrier();
}

TEST(resize)
{
	const size_t sizes[] = { 1024, 2, 3, 65536, 100, 16, 2, 512 };
	struct lull_hash h;

	init(&h, 16, LULL_HASH_FIXED);
	fill(&h, 0, 1000);
	assert_int_equal(lull_hash_buckets(&h), 16);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(lull_hash_resize(&h, sizes[i]), 0);
		assert_in_range(lull_hash_buckets(&h), sizes[i], 2 * sizes[i] - 1);
		check_range(&h, 0, 1000);
		assert_int_equal(lull_hash_count(&h), 1000);
	}
	assert_int_equal(lull_hash_resize(&h, 512), 0);
	assert_int_equal(lull_hash_resize(&h, 0), -EINVAL);
	assert_int_equal(lull_hash_resize(&h, SIZE_MAX / 2), -ENOMEM);
	assert_int_equal(lull_hash_resize(&h, SIZE_MAX), -ENOMEM);
	lull_hash_finish_resize(&h);
	assert_int_equal(lull_hash_buckets(&h), 512);
	remove_range(&h, 0, 1000);
	assert_int_equal(lull_hash_count(&h), 0);
	lull_hash_destroy(&h, NULL, NULL);
	lull_rcu_barrier();
}

/* A resize begun by an insertion is carried on by any kind of update, and by lull_hash_resize(). */
TEST(resize_goes_on)
{
	struct item *item;
	struct lull_hash h;
	int key = 0;

	init(&h, 256, 0);
	fill(&h, 0, 256);
	while (lull_hash_count(&h) <= 256 || !lull_load_relaxed(&h.table->future)) {
		key = (int)lull_hash_count(&h);
		assert_true(key < 512);
		fill(&h, key, key + 1);
	}
	for (int updates = 0; lull_hash_buckets(&h) == 256; updates++) {
		assert_true(updates < 256 / 16);
		check_range(&h, 0, key + 1);
		item = new_item(updates);
		retire(lull_hash_replace(&h, &item->node, plain_hash(updates), match, &updates));
		check_range(&h, 0, key + 1);
	}
	assert_int_equal(lull_hash_buckets(&h), 512);

	for (key = (int)lull_hash_count(&h); !lull_load_relaxed(&h.table->future); key++)
		fill(&h, key, key + 1);
	assert_int_equal(lull_hash_buckets(&h), 512);
	assert_int_equal(lull_hash_resize(&h, 128), 0);
	assert_int_equal(lull_hash_buckets(&h), 128);
	check_range(&h, 0, key);
	lull_hash_destroy(&h, free_item, NULL);
	lull_rcu_barrier();
}

/* More runs in a chain than are noted at once. */
TEST(long_chain)
{
	struct lull_hash h;

	init(&h, 2, LULL_HASH_FIXED);
	fill(&h, 0, 2000);
	assert_int_equal(lull_hash_resize(&h, 4096), 0);
	check_range(&h, 0, 2000);
	for (int key = 0; key < 2000; key++)
		assert_null(find(&h, key)->node.next);
	lull_hash_destroy(&h, free_item, NULL);
}

#if !SANITIZED
/* Stands in front of the C library's, for liblull.so too, which makes tables with it. */
static bool no_memory;
/* Not memset() itself: the compiler would make a calloc() of that and malloc(). */
static void *(*volatile fill_memory)(void *, int, size_t) = memset;

LULL_BEGIN_DECLS
void *calloc(size_t count, size_t size)
{
	void *memory = NULL;

	if (!(no_memory && count * size > 256) && count <= SIZE_MAX / 2 / (size ? size : 1))
		memory = malloc(count * size);
	return memory ? fill_memory(memory, 0, count * size) : NULL;
}
LULL_END_DECLS

TEST(no_memory)
{
	struct lull_hash h;

	if (under_valgrind())
		SKIP(OWN_MEMORY);
	no_memory = true;
	assert_int_equal(lull_hash_init(&h, NULL), -ENOMEM);
	no_memory = false;
	init(&h, 16, 0);
	no_memory = true;
	fill(&h, 0, 2000);
	assert_int_equal(lull_hash_resize(&h, 1024), -ENOMEM);
	assert_int_equal(lull_hash_buckets(&h), 16);
	check_range(&h, 0, 2000);
	no_memory = false;
	fill(&h, 2000, 2010);
	lull_hash_finish_resize(&h);
	assert_in_range(lull_hash_buckets(&h), 2048, 4096);
	check_range(&h, 0, 2010);
	lull_hash_destroy(&h, free_item, NULL);
}
#endif

/* ---- iteration ------------------------------------------------------------------------------- */

/* Meet all elements and note it; returns how many times. */
static int meet_all(const struct lull_hash *h)
{
	struct lull_hash_iter iter;
	struct item *item;
	int count = 0;

	lull_rcu_read_lock();
	lull_hash_for_each_entry(item, &iter, h, node) {
		item->met++;
		count++;
	}
	lull_rcu_read_unlock();
	return count;
}

TEST(for_each)
{
	struct lull_hash_iter iter;
	struct lull_hash_node *node;
	struct lull_hash h;
	int count = 0;

	init(&h, 64, 0);
	assert_int_equal(meet_all(&h), 0);
	fill(&h, 0, 66);
	assert_non_null(h.table->future); /* half here, half there */
	assert_int_equal(meet_all(&h), 66);
	for (int key = 0; key < 66; key++)
		assert_int_equal(find(&h, key)->met, 1);
	lull_rcu_read_lock();
	lull_hash_for_each(node, &iter, &h) {
		int key = lull_hash_entry(node, struct item, node)->key;

		assert_int_equal(lull_hash_remove_node(&h, node), 0);
		assert_null(find(&h, key));
		retire(node);
		count++;
	}
	lull_rcu_read_unlock();
	assert_int_equal(count, 66);
	assert_int_equal(lull_hash_count(&h), 0);
	lull_hash_destroy(&h, NULL, NULL);
	lull_rcu_barrier();
}

/* The current element may be removed or replaced: the walk goes on behind it, and meets all others. */
TEST(for_each_changed)
{
	struct lull_hash_iter iter;
	struct lull_hash h;
	struct item *item;

	init(&h, 8, LULL_HASH_FIXED);
	fill(&h, 0, 100);
	lull_rcu_read_lock();
	lull_hash_for_each_entry(item, &iter, &h, node) {
		item->met++;
		if (item->met == 1 && item->key % 3 == 0) {
			struct item *next = new_item(item->key);

			next->met = 1;
			assert_int_equal(lull_hash_replace_node(&h, &item->node, &next->node), 0);
			retire(&item->node);
		} else if (item->key % 3 == 1) {
			assert_int_equal(lull_hash_remove_node(&h, &item->node), 0);
			retire(&item->node);
		}
	}
	lull_rcu_read_unlock();
	for (int key = 0; key < 100; key++)
		assert_int_equal(find(&h, key) ? find(&h, key)->met : 0, key % 3 != 1);
	assert_int_equal(lull_hash_count(&h), 67);
	lull_hash_destroy(&h, free_item, NULL);
	lull_rcu_barrier();
}

/* What is there throughout is met, whatever the table does under the walk. */
TEST(for_each_resized)
{
	const size_t sizes[] = { 2, 512, 8, 32, 4 };
	struct lull_hash_iter iter;
	struct lull_hash h;
	struct item *item;

	for (int at = 0; at < 100; at++) {
		int count = 0;

		init(&h, 16, LULL_HASH_FIXED);
		fill(&h, 0, 100);
		lull_rcu_read_lock();
		lull_hash_for_each_entry(item, &iter, &h, node) {
			item->met++;
			if (count++ == at || count % 50 == 0)
				assert_int_equal(lull_hash_resize(&h, sizes[(at + count) % 5]), 0);
			assert_true(count < 10000);
		}
		lull_rcu_read_unlock();
		for (int key = 0; key < 100; key++)
			assert_true(find(&h, key)->met >= 1);
		lull_hash_destroy(&h, free_item, NULL);
	}
}

/* ---- lookups that the table changes under ---------------------------------------------------- */

/*
 * A lookup that has come to an element with the right hash asks the match function about it. That
 * one is of this test, and updates and resizes the table: so the lookup stands on an element that
 * is moved, removed or replaced. Elements have three hashes, which share buckets in small tables.
 */
static struct {
	struct lull_hash h;
	uint64_t random;
	struct item *item[24];
	int wanted, actions;
} upset;

static unsigned dice(unsigned sides)
{
	upset.random = upset.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(upset.random >> 33) % sides;
}

static uint64_t upset_hash(int key)
{
	const uint64_t hash[] = { 0, 2, 4 };

	return hash[key % 3];
}

static void upset_toggle(int key)
{
	if (upset.item[key]) {
		assert_int_equal(lull_hash_remove_node(&upset.h, &upset.item[key]->node), 0);
		retire(&upset.item[key]->node);
		upset.item[key] = NULL;
	} else {
		upset.item[key] = new_item(key);
		lull_hash_insert_dup(&upset.h, &upset.item[key]->node, upset_hash(key));
	}
}

static void upset_replace(int key)
{
	struct item *item = new_item(key);

	if (!upset.item[key])
		lull_hash_insert_dup(&upset.h, &item->node, upset_hash(key));
	else if (lull_hash_replace_node(&upset.h, &upset.item[key]->node, &item->node) == 0)
		retire(&upset.item[key]->node);
	else
		fail();
	upset.item[key] = item;
}

static void upset_something(void)
{
	int key = (int)dice(24);

	switch (dice(3)) {
	case 0:
		assert_int_equal(lull_hash_resize(&upset.h, (size_t)2 << dice(4)), 0);
		break;
	case 1:
		if (key != upset.wanted)
			upset_toggle(key);
		break;
	default:
		upset_replace(key);
		break;
	}
}

static bool upsetting_match(const struct lull_hash_node *node, const void *key)
{
	bool right = match(node, key);

	for (; !right && upset.actions > 0 && dice(2); upset.actions--)
		upset_something();
	return right;
}

static uint64_t a_seed(void)
{
	const char *given = getenv("LULL_TEST_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : now_ns();

	print_message("LULL_TEST_SEED=%" PRIu64 "\n", seed);
	return seed;
}

TEST(lookup_upset)
{
	upset.random = a_seed();
	init(&upset.h, 2, LULL_HASH_FIXED);
	for (int key = 0; key < 24; key++)
		upset_replace(key);
	for (int round = 0; round < 30000; round++) {
		struct lull_hash_node *node;

		lull_rcu_read_lock();
		upset.wanted = (int)dice(24);
		if (!upset.item[upset.wanted])
			upset_toggle(upset.wanted);
		upset.actions = 8;
		node = lull_hash_lookup(&upset.h, upset_hash(upset.wanted), upsetting_match,
					&upset.wanted);
		assert_non_null(node);
		assert_int_equal(lull_hash_entry(node, struct item, node)->key, upset.wanted);
		lull_rcu_read_unlock();
	}
	lull_hash_destroy(&upset.h, free_item, NULL);
	lull_rcu_barrier();
}

/* The same for walks: an update at each step; what is there all the while has to be met. */
TEST(for_each_upset)
{
	upset.random = a_seed();
	for (int round = 0; round < 1000; round++) {
		struct lull_hash_iter iter;
		struct item *item;
		bool met = false;

		memset(upset.item, 0, sizeof(upset.item));
		init(&upset.h, (size_t)2 << dice(4), LULL_HASH_FIXED);
		for (int key = 0; key < 24; key++)
			upset_replace(key);
		upset.wanted = (int)dice(24);
		upset.actions = 60;
		lull_rcu_read_lock();
		lull_hash_for_each_entry(item, &iter, &upset.h, node) {
			met = met || item->key == upset.wanted;
			if (upset.actions-- > 0)
				upset_something();
		}
		lull_rcu_read_unlock();
		assert_true(met);
		lull_hash_destroy(&upset.h, free_item, NULL);
	}
	lull_rcu_barrier();
}

/* ---- random updates against a model ---------------------------------------------------------- */

enum { KEYS = 400 };

/* A hash that is good, one with few values, one in which only high bits differ. */
static uint64_t random_hash(int kind, int key)
{
	switch (kind) {
	case 0:
		return lull_hash_mix64((uint64_t)key);
	case 1:
		return (uint64_t)key % 13;
	default:
		return (uint64_t)key << 55;
	}
}

static void check_walk(struct lull_hash *h, struct item *const *model)
{
	struct lull_hash_iter iter;
	struct item *item;
	size_t count = 0;

	lull_rcu_read_lock();
	lull_hash_for_each_entry(item, &iter, h, node) {
		assert_ptr_equal(model[item->key], item);
		count++;
	}
	lull_rcu_read_unlock();
	/* Nobody else moves anything, so none is met twice. */
	assert_int_equal(count, lull_hash_count(h));
	for (int key = 0; key < KEYS; key++)
		count -= model[key] != NULL;
	assert_int_equal(count, 0);
}

static void random_insert(struct lull_hash *h, struct item **model, int key, uint64_t hash)
{
	struct item *item = new_item(key);
	bool there = model[key] != NULL;

	if (dice(2)) {
		assert_int_equal(lull_hash_insert(h, &item->node, hash, match, &key),
				 there ? -EEXIST : 0);
	} else {
		struct lull_hash_node *node =
			lull_hash_lookup_or_insert(h, &item->node, hash, match, &key);

		assert_ptr_equal(node, there ? &model[key]->node : NULL);
	}
	if (there)
		free(item);
	else
		model[key] = item;
}

static void random_replace(struct lull_hash *h, struct item **model, int key, uint64_t hash)
{
	struct item *item = new_item(key), *old = model[key];

	if (dice(2) && old) {
		assert_int_equal(lull_hash_replace_node(h, &old->node, &item->node), 0);
	} else {
		struct lull_hash_node *node = lull_hash_replace(h, &item->node, hash, match, &key);

		assert_ptr_equal(node, old ? &old->node : NULL);
	}
	if (old)
		retire(&old->node);
	model[key] = item;
}

static void random_remove(struct lull_hash *h, struct item **model, int key, uint64_t hash)
{
	struct item *old = model[key];

	if (dice(2) && old) {
		assert_int_equal(lull_hash_remove_node(h, &old->node), 0);
	} else {
		struct lull_hash_node *node = lull_hash_remove(h, hash, match, &key);

		assert_ptr_equal(node, old ? &old->node : NULL);
	}
	if (old)
		retire(&old->node);
	model[key] = NULL;
}

static void random_step(struct lull_hash *h, struct item **model, int kind, bool filling)
{
	int key = (int)dice(KEYS);
	uint64_t hash = random_hash(kind, key);
	struct item *found;

	switch (dice(8)) {
	case 0:
	case 1:
		random_replace(h, model, key, hash);
		break;
	case 2:
		lull_rcu_read_lock();
		found = lull_hash_lookup_entry(h, hash, match, &key, struct item, node);
		lull_rcu_read_unlock();
		assert_ptr_equal(found, model[key]);
		break;
	case 3:
		if (dice(50) == 0)
			assert_int_equal(lull_hash_resize(h, (size_t)1 << dice(12)), 0);
		else if (dice(50) == 0)
			lull_hash_finish_resize(h);
		break;
	default:
		if (dice(4) ? filling : !filling)
			random_insert(h, model, key, hash);
		else
			random_remove(h, model, key, hash);
		break;
	}
}

TEST(random)
{
	const uint32_t flags[] = { 0, LULL_HASH_SHRINK, LULL_HASH_FIXED };
	struct item *model[KEYS];
	struct lull_hash h;

	upset.random = a_seed();
	for (int round = 0; round < 9; round++) {
		memset(model, 0, sizeof(model));
		init(&h, (size_t)1 << dice(7), flags[round % 3]);
		for (int step = 0; step < 20000; step++) {
			random_step(&h, model, round / 3, step / 2500 % 2 == 0);
			if (step % 500 == 0)
				check_walk(&h, model);
		}
		check_walk(&h, model);
		lull_hash_destroy(&h, free_item, NULL);
		lull_rcu_barrier();
	}
}

/* ---- hashes, misuse -------------------------------------------------------------------------- */

/* Flip each bit of the input: each bit of the hash must change about every second time. */
TEST(hash_functions)
{
	unsigned char bytes[40];
	uint64_t changed[64] = { 0 };
	unsigned flips = 0;

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 37);
	for (unsigned size = 1; size <= sizeof(bytes); size++) {
		uint64_t hash = lull_hash_bytes(bytes, size, 1);

		assert_true(hash == lull_hash_bytes(bytes, size, 1));
		assert_true(hash != lull_hash_bytes(bytes, size, 2));
		assert_true(hash != lull_hash_bytes(bytes, size - 1, 1));
		for (unsigned bit = 0; bit < size * 8; bit++, flips++) {
			uint64_t other;

			bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
			other = lull_hash_bytes(bytes, size, 1);
			bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
			for (unsigned i = 0; i < 64; i++)
				changed[i] += (hash ^ other) >> i & 1;
		}
	}
	for (unsigned i = 0; i < 64; i++)
		assert_in_range(changed[i], flips * 45 / 100, flips * 55 / 100);
	assert_true(lull_hash_string("a string", 7) == lull_hash_bytes("a string", 8, 7));
	/* A zero byte counts. */
	assert_true(lull_hash_bytes("", 0, 7) != lull_hash_bytes("", 1, 7));
	assert_true(lull_hash_mix64(1) != lull_hash_mix64(2));
}

/* The multiplier's inverse undoes a step, so no two numbers have one result; and each bit changes half of the others. */
static uint64_t unmixed(uint64_t x)
{
	const uint64_t factor = UINT64_C(0xd6e8feb86659fd93);
	uint64_t inverse = factor;

	for (int i = 0; i < 6; i++)
		inverse *= 2 - factor * inverse;
	assert_true(factor * inverse == 1);
	x ^= x >> 32;
	x *= inverse;
	x ^= x >> 32;
	x *= inverse;
	return x ^ x >> 32;
}

TEST(mix64)
{
	enum { NUMBERS = 4000 };
	static unsigned changed[64][64];

	upset.random = a_seed();
	memset(changed, 0, sizeof(changed));
	for (int i = 0; i < NUMBERS; i++) {
		uint64_t x = (uint64_t)dice(1u << 31) << 33 ^ (uint64_t)dice(1u << 31) << 11 ^ dice(1u << 31);

		x = i % 4 ? x : (uint64_t)i; /* small ones as well */
		assert_true(unmixed(lull_hash_mix64(x)) == x);
		for (int bit = 0; bit < 64; bit++) {
			uint64_t flipped = lull_hash_mix64(x) ^ lull_hash_mix64(x ^ UINT64_C(1) << bit);

			for (int other = 0; other < 64; other++)
				changed[bit][other] += flipped >> other & 1;
		}
	}
	for (int bit = 0; bit < 64; bit++)
		for (int other = 0; other < 64; other++)
			assert_in_range(changed[bit][other], NUMBERS * 2 / 5, NUMBERS * 3 / 5);
}

/* Multiples of a power of two, addresses say, spread over the buckets about as by chance. */
TEST(hash_spread)
{
	for (unsigned shift = 0; shift < 48; shift++) {
		unsigned char used[1024] = { 0 };
		unsigned buckets = 0;

		for (uint64_t i = 0; i < 1024; i++) {
			unsigned bucket = (unsigned)(lull_hash_mix64(i << shift) % 1024);

			buckets += !used[bucket];
			used[bucket] = 1;
		}
		assert_in_range(buckets, 590, 710); /* 647 are expected */
	}
}

#ifdef LULL_DEBUG
TEST(gone)
{
	EXPECT_MISUSE("hash table 0x* is used, but it was destroyed or never set up") {
		struct lull_hash h;
		int key = 1;

		must(lull_hash_init(&h, NULL) == 0);
		lull_hash_destroy(&h, NULL, NULL);
		lull_rcu_read_lock();
		(void)lull_hash_lookup(&h, 1, match, &key);
	}
	EXPECT_MISUSE("hash table 0x* is used, but it was destroyed or never set up") {
		static struct lull_hash h;
		static struct item item;
		int key = 1;

		lull_hash_insert(&h, &item.node, 1, match, &key);
	}
}

TEST(outside_section)
{
	EXPECT_ABORT("lull_hash_lookup: outside a read section") {
		struct lull_hash h;
		int key = 1;

		must(lull_hash_init(&h, NULL) == 0);
		(void)lull_hash_lookup(&h, 1, match, &key);
	}
	EXPECT_ABORT("lull_hash_for_each: outside a read section") {
		struct lull_hash_iter iter;
		struct lull_hash_node *node;
		struct lull_hash h;

		must(lull_hash_init(&h, NULL) == 0);
		lull_hash_for_each(node, &iter, &h)
			break;
	}
}
#endif

/* A handler looks up, walks and counts, wherever it interrupts the updates of its thread. */
static struct lull_hash handled_table;
static int handled;
static bool handler_missed;
static __thread bool is_handled;

static void looking_handler(int unused)
{
	struct lull_hash_iter iter;
	struct lull_hash_node *node;
	int met = 0;

	(void)unused;
	if (!is_handled)
		return;
	lull_rcu_read_lock();
	for (int key = 0; key < 10; key++)
		if (!lull_hash_lookup(&handled_table, plain_hash(key), match, &key))
			handler_missed = true;
	lull_hash_for_each(node, &iter, &handled_table)
		met += lull_hash_entry(node, struct item, node)->key < 10;
	lull_rcu_read_unlock();
	if (met < 10 || lull_hash_count(&handled_table) < 10)
		handler_missed = true;
	lull_add_relaxed(&handled, 1);
}

static int handler_stop;

static void *updates_under_signals(void *unused)
{
	lull_thread_register();
	is_handled = true;
	for (int i = 0; !lull_load_relaxed(&handler_stop); i++) {
		int key = 10 + i % 200;

		fill(&handled_table, key, key + 1);
		if (i % 64 == 0)
			assert_int_equal(lull_hash_resize(&handled_table, (size_t)4 << i / 64 % 5), 0);
		retire(lull_hash_remove(&handled_table, plain_hash(key), match, &key));
		if (i % 4096 == 0)
			lull_rcu_barrier();
	}
	is_handled = false;
	return unused;
}

TEST(signal_handler)
{
	struct sigaction action;
	pthread_t thread;

	memset(&action, 0, sizeof(action));
	action.sa_handler = looking_handler;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	handler_missed = false;
	handler_stop = handled = 0;
	init(&handled_table, 4, LULL_HASH_FIXED);
	fill(&handled_table, 0, 10);
	thread = start_thread(updates_under_signals, NULL);
	while (lull_load_relaxed(&handled) < 1000) {
		pthread_kill(thread, SIGUSR1);
		for (int i = lull_load_relaxed(&handled) % 64; i > 0; i--)
			lull_cpu_relax();
		sched_yield();
	}
	lull_store_relaxed(&handler_stop, 1);
	join_thread(thread);
	assert_false(handler_missed);
	lull_hash_destroy(&handled_table, free_item, NULL);
	lull_rcu_barrier();
}

/* Updates in a callback, those of a resize too; and a table that is set up and destroyed there, in a section even. */
static struct lull_hash callbacks_table;
static int callback_ran;

static void updating_callback(struct lull_rcu_head *head)
{
	struct lull_hash local;
	int key = 3, count = 0;

	lull_rcu_read_lock();
	init(&local, 4, 0);
	fill(&local, 0, 100);
	lull_hash_destroy(&local, free_item, &count);
	assert_int_equal(count, 100);
	lull_rcu_read_unlock();
	fill(&callbacks_table, 10, 100);
	retire(lull_hash_remove(&callbacks_table, plain_hash(key), match, &key));
	assert_int_equal(lull_hash_resize(&callbacks_table, 512), 0);
	lull_hash_finish_resize(&callbacks_table);
	free(head);
	lull_store_release(&callback_ran, 1);
}

TEST(in_callback)
{
	struct lull_rcu_head *head = (struct lull_rcu_head *)malloc(sizeof(*head));

	assert_non_null(head);
	lull_store_relaxed(&callback_ran, 0);
	init(&callbacks_table, 16, 0);
	fill(&callbacks_table, 0, 10);
	lull_rcu_call(head, updating_callback);
	await_flag(&callback_ran, 1);
	assert_int_equal(lull_hash_count(&callbacks_table), 99);
	assert_int_equal(lull_hash_buckets(&callbacks_table), 512);
	assert_null(find(&callbacks_table, 3));
	check_range(&callbacks_table, 4, 100);
	lull_hash_destroy(&callbacks_table, free_item, NULL);
	lull_rcu_barrier();
}

/* An online thread needs no section. */
TEST(online)
{
	struct lull_hash h;
	int key = 5;

	init(&h, 2, 0);
	lull_rcu_online();
	fill(&h, 0, 100);
	assert_non_null(lull_hash_lookup(&h, plain_hash(key), match, &key));
	retire(lull_hash_remove(&h, plain_hash(key), match, &key));
	assert_null(lull_hash_lookup(&h, plain_hash(key), match, &key));
	assert_int_equal(lull_hash_resize(&h, 1024), 0);
	lull_rcu_quiescent();
	lull_rcu_offline();
	lull_rcu_barrier();
	lull_hash_destroy(&h, free_item, NULL);
}
