/* SPDX-License-Identifier: MIT */
/* runs: alone */
/*
 * resize.c - the size of a hash table, from the inside: how many buckets a table should have, how often a thread
 * looks, and what is left behind where there is no memory. This program contains the sources.
 */
#include <errno.h>
#include <stdlib.h>

#include "hash/support.h"

static int blocks;	   /* allocated and not freed */
static int allowed = 1000; /* so many allocations, and then no memory */

static void *counting_calloc(size_t count, size_t size)
{
	if (!allowed)
		return NULL;
	allowed--;
	blocks++;
	return calloc(count, size);
}

static int counting_memalign(void **memory, size_t alignment, size_t size)
{
	if (!allowed)
		return ENOMEM;
	allowed--;
	blocks++;
	assert_int_equal(posix_memalign(memory, alignment, size), 0);
	memset(*memory, 0x5a, size);
	return 0;
}

static void counting_free(void *memory)
{
	blocks -= memory != NULL;
	free(memory);
}

#define calloc(count, size)		      counting_calloc(count, size)
#define posix_memalign(at, alignment, size)   counting_memalign(at, alignment, size)
#define free(memory)			      counting_free(memory)
#include "../src/hash/buckets.c"
#include "../src/hash/resize.c"
#undef calloc
#undef posix_memalign
#undef free

#define CAME LULL__HASH_CAME
#define WENT LULL__HASH_WENT

/* ---- sizes --------------------------------------------------------------------------------------------------------- */

TEST(round_up)
{
	static const size_t wanted[][2] = {
		{ 0, 2 }, { 1, 2 }, { 2, 2 }, { 3, 4 }, { 4, 4 }, { 5, 8 }, { 1000, 1024 }, { 1024, 1024 }, { 1025, 2048 },
		{ SIZE_MAX / 2 + 1, SIZE_MAX / 2 + 1 }, { SIZE_MAX / 2 + 2, 0 }, { SIZE_MAX, 0 },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		assert_int_equal(lull__hash_round_up(wanted[i][0]), wanted[i][1]);
}

/* A table grows by more than one element for each bucket, to two thirds of that; it shrinks below one for eight, to a half. */
TEST(fitting)
{
	static const struct {
		enum lull__hash_kind kind;
		size_t count, now, wanted;
	} cases[] = {
		{ CAME, 64, 64, 64 },	 { CAME, 65, 64, 128 },	  { CAME, 85, 64, 128 },   { CAME, 86, 64, 256 },
		{ CAME, 1000, 64, 2048 }, { CAME, 3000, 64, 4096 }, { CAME, 3000, 4096, 4096 }, { CAME, 5000, 4096, 4096 },
		{ CAME, 3000, 2048, 4096 }, { CAME, 0, 64, 64 },   { CAME, 5000, 8192, 8192 }, { CAME, 9000, 8192, 8192 },
		{ WENT, 128, 1024, 1024 }, { WENT, 127, 1024, 256 }, { WENT, 64, 1024, 128 },  { WENT, 63, 1024, 128 },
		{ WENT, 33, 1024, 128 },  { WENT, 32, 1024, 64 }, { WENT, 9, 1024, 32 },    { WENT, 8, 1024, 32 },
		{ WENT, 0, 1024, 32 },	  { WENT, 0, 32, 32 },	   { WENT, 7, 64, 32 },	    { WENT, 8, 64, 64 },
		{ WENT, 0, 16, 16 },	  { WENT, 5000, 64, 64 },  { CAME, 20, 16, 32 },
	};
	const struct lull__hash_control control = { .least = 32, .most = 4096 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(fitting(&control, cases[i].kind, cases[i].count, cases[i].now), cases[i].wanted);
}

/* Two counters of each of 16 shards come to a quarter of the buckets together, or to a sixteenth; and to 256 at most each. */
TEST(how_seldom)
{
	static const struct {
		enum lull__hash_kind kind;
		size_t buckets, often;
	} cases[] = {
		{ CAME, 2, 1 },	     { CAME, 64, 1 },	  { CAME, 128, 1 },    { CAME, 256, 2 },      { CAME, 1024, 8 },
		{ CAME, 32768, 256 }, { CAME, 65536, 256 }, { CAME, 1 << 20, 256 }, { WENT, 2, 1 },	{ WENT, 512, 1 },
		{ WENT, 1024, 2 },   { WENT, 4096, 8 },	  { WENT, 131072, 256 }, { WENT, 262144, 256 }, { WENT, 1 << 20, 256 },
	};
	struct lull__hash_control control = { .flags = LULL_HASH_SHRINK };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		control.flags = LULL_HASH_SHRINK;
		assert_int_equal(how_seldom(&control, cases[i].kind, cases[i].buckets), cases[i].often - 1);
		control.flags = 0;
		assert_int_equal(how_seldom(&control, cases[i].kind, cases[i].buckets),
				 cases[i].kind == CAME ? cases[i].often - 1 : SIZE_MAX);
		control.flags = LULL_HASH_FIXED | LULL_HASH_SHRINK;
		assert_int_equal(how_seldom(&control, cases[i].kind, cases[i].buckets), SIZE_MAX);
	}
}

TEST(control)
{
	static const struct {
		struct lull_hash_config config;
		size_t least, most;
	} cases[] = {
		{ { 0, 0, 0 }, 16, SIZE_MAX },
		{ { 1, 0, LULL_HASH_FIXED }, 2, SIZE_MAX },
		{ { 100, 100, LULL_HASH_SHRINK }, 128, 128 },
		{ { 17, 1000, 0 }, 32, 1024 },
		{ { 64, SIZE_MAX / 2 + 1, 0 }, 64, SIZE_MAX / 2 + 1 },
		{ { 64, SIZE_MAX / 2 + 2, 0 }, 64, SIZE_MAX }, /* no power of two is as large */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct lull__hash_control *control;
		struct lull_hash h;

		assert_int_equal(lull_hash_init(&h, &cases[i].config), 0);
		control = h.control;
		assert_int_equal(control->least, cases[i].least);
		assert_int_equal(control->most, cases[i].most);
		assert_int_equal(control->flags, cases[i].config.flags);
		assert_int_equal(lull_hash_buckets(&h), cases[i].least);
		assert_int_equal(lull_hash_count(&h), 0);
		assert_int_equal((uintptr_t)control % LULL__CACHELINE, 0);
		assert_int_equal(lull__hash_whole(h.table)->leaving.word, 1); /* until all have left */
		assert_int_equal(blocks, 2);
		lull_hash_destroy(&h, NULL, NULL);
		assert_int_equal(blocks, 0);
		assert_null(h.table);
		assert_null(h.control);
	}
}

/* ---- no memory ----------------------------------------------------------------------------------------------------- */

TEST(no_memory)
{
	struct lull_hash h;

	for (int nth = 0; nth < 3; nth++) {
		allowed = nth;
		assert_int_equal(lull_hash_init(&h, NULL), nth < 2 ? -ENOMEM : 0);
		assert_int_equal(blocks, nth < 2 ? 0 : 2);
	}
	assert_int_equal(lull_hash_resize(&h, 64), -ENOMEM);
	assert_int_equal(lull_hash_buckets(&h), 16);
	assert_int_equal(h.control->begin.word, 0);
	allowed = 1000;
	assert_int_equal(lull_hash_resize(&h, 16), 0);
	assert_int_equal(blocks, 2); /* it had as many */
	assert_int_equal(lull_hash_resize(&h, 0), -EINVAL);
	assert_int_equal(lull_hash_resize(&h, SIZE_MAX), -ENOMEM);
	assert_null(lull__hash_new_table(SIZE_MAX / 2 / sizeof(struct lull__hash_bucket) + 1));
	lull_hash_destroy(&h, NULL, NULL);
	assert_int_equal(blocks, 0);

	/* Updates go on, in a table that is too small, and which grows as soon as it can. */
	init_table(&h, 16, 0);
	allowed = 0;
	fill(&h, 0, 2000);
	assert_int_equal(lull_hash_buckets(&h), 16);
	check_range(&h, 0, 2000);
	allowed = 1000;
	fill(&h, 2000, 2010);
	lull_hash_finish_resize(&h);
	assert_in_range(lull_hash_buckets(&h), 2048, 4096);
	check_range(&h, 0, 2010);
	finish(&h, 2010);
	blocks = 0; /* but for what the library's own free() gave back */
}

/* ---- buckets that move --------------------------------------------------------------------------------------------- */

/* Each is claimed once, in the order of their numbers; the last one ends it. */
TEST(move_some)
{
	const struct lull_hash_config config = { 64, 0, 0 };
	struct lull__hash_whole *whole;
	struct lull_hash h;

	assert_int_equal(lull_hash_init(&h, &config), 0);
	lull_rcu_read_lock();
	whole = lull__hash_whole(h.table);
	assert_int_equal(begin_resize(&h, 256), 0);
	assert_int_equal(begin_resize(&h, 256), -EBUSY);
	for (size_t moved = 0; moved < 64;) {
		size_t most = moved < 48 ? 16 : 10;

		assert_ptr_equal(h.table, &whole->seen);
		for (size_t i = 0; i < 64; i++)
			assert_int_equal(lull__hash_bucket_of(h.table, i)->lock, i < moved ? LULL__BUCKET_MOVED : 0);
		assert_true(move_some(&h, h.table, most));
		moved = moved + most < 64 ? moved + most : 64;
		assert_int_equal(whole->moved, moved);
	}
	assert_int_equal(lull_hash_buckets(&h), 256);
	assert_int_equal(h.control->resizes, 1);
	assert_int_equal(whole->leaving.word, 0);
	assert_false(move_some(&h, &whole->seen, 16));
	lull_rcu_read_unlock();
	blocks--; /* by the library's own free() */
	lull_hash_destroy(&h, NULL, NULL);
	assert_int_equal(blocks, 0);
}

BEFORE_ALL
{
	alarm(100);
}
