/* SPDX-License-Identifier: MIT */
/*
 * weak.c - debug builds say once of a table that its hash is weak, and of no other.
 */
#include "hash/support.h"

#define MANY 2000

#ifdef LULL_DEBUG
enum { SAYS = 1 };
#else
enum { SAYS = 0 };
#endif

static uint64_t as_it_is(uint64_t key)
{
	return key << 32;
}

static uint64_t one_of_eight(uint64_t key)
{
	return lull_hash_mix64(key % 8);
}

static uint64_t followed(uint64_t key)
{
	return key;
}

static int lines_of(uint64_t (*hash)(uint64_t), bool replaces, size_t buckets, uint32_t flags)
{
	struct lull_hash h;

	init_table(&h, buckets, flags);
	start_hearing();
	for (int key = 0; key < MANY; key++) {
		struct item *item = new_item(key);

		if (replaces)
			assert_null(lull_hash_replace(&h, &item->node, hash((uint64_t)key), match, &key));
		else
			assert_int_equal(lull_hash_insert(&h, &item->node, hash((uint64_t)key), match, &key), 0);
	}
	stop_hearing();
	finish(&h, MANY);
	return heard_lines;
}

/* Once of each table, in debug builds. Long chains in a table that is too small, or of elements with one key, are no sign. */
TEST(weak_hash)
{
	static const struct {
		uint64_t (*hash)(uint64_t);
		size_t buckets;
		uint32_t flags;
		int lines;
	} table[] = {
		{ as_it_is, 16, 0, 1 },		 { as_it_is, 65536, LULL_HASH_SHRINK, 1 }, { as_it_is, 1024, LULL_HASH_FIXED, 1 },
		{ one_of_eight, 16, 0, 1 },	 { lull_hash_mix64, 16, 0, 0 },		   { followed, 16, 0, 0 },
		{ lull_hash_mix64, 8, LULL_HASH_FIXED, 0 }, { lull_hash_mix64, 4096, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		for (int replaces = 0; replaces < 2; replaces++) {
			int lines = lines_of(table[i].hash, replaces, table[i].buckets, table[i].flags);

			assert_int_equal(lines, SAYS * table[i].lines);
			if (lines)
				assert_non_null(strstr(heard, " has a weak hash: of its "));
		}
	}
}

TEST(many_of_one_key)
{
	struct lull_hash h;

	init_table(&h, 16, LULL_HASH_FIXED);
	start_hearing();
	for (int n = 0; n < MANY; n++)
		lull_hash_insert_dup(&h, &new_item(1)->node, 1);
	fill(&h, 17, 18); /* beside them */
	stop_hearing();
	assert_int_equal(heard_lines, 0);
	finish(&h, MANY + 1);
}
