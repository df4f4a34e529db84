/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences */
/*
 * hash.c - every function and macro of hash.h: random updates of a table and of a model, under lookups and walks too;
 * sizes; misuse, and the places from which a table is used.
 */
#include "hash/support.h"
#include "random.h"

#include <errno.h>

/* ---- the model ----------------------------------------------------------------------------------------------------- */

#define KEYS	 200
#define VERSIONS 4 /* of a key, at most */

static struct {
	struct lull_hash h;
	uint64_t random;
	uint32_t flags;
	int keys, kind, kept;		     /* how many; of which hash; the key that is always there */
	unsigned resizes;		     /* one update in so many, 0: none */
	struct item *item[KEYS][VERSIONS];   /* the latest first */
	int versions[KEYS];		     /* how many */
	int there;
	bool gone[1 + VERSIONS * KEYS];	     /* items by their marks, which replacements inherit */
} m;

static unsigned rnd(unsigned sides)
{
	return dice(&m.random, sides);
}

/* One that is good, few values, only high bits that differ, buckets that are shared in small tables. */
static uint64_t hash_of(int key)
{
	const uint64_t shared[] = { 0, 2, 4 };

	switch (m.kind) {
	case 0:
		return lull_hash_mix64((uint64_t)key);
	case 1:
		return (uint64_t)key % 13;
	case 2:
		return (uint64_t)key << 55;
	default:
		return shared[key % 3];
	}
}

/* The table asks only about elements whose whole hash is the right one. */
static bool model_match(const struct lull_hash_node *node, const void *key)
{
	assert_true(node->hash == hash_of(*(const int *)key));
	return match(node, key);
}

static void put_first(int key, struct item *item)
{
	memmove(&m.item[key][1], &m.item[key][0], sizeof(m.item[key]) - sizeof(m.item[key][0]));
	m.item[key][0] = item;
	m.versions[key]++;
	m.there++;
}

static void insert(int key)
{
	struct item *item = new_item(key);
	bool there = m.versions[key];

	switch (rnd(4)) {
	case 0:
		assert_int_equal(lull_hash_insert(&m.h, &item->node, hash_of(key), model_match, &key), there ? -EEXIST : 0);
		break;
	case 1:
		assert_ptr_equal(lull_hash_lookup_or_insert(&m.h, &item->node, hash_of(key), model_match, &key),
				 there ? &m.item[key][0]->node : NULL);
		break;
	default:
		there = m.versions[key] == VERSIONS || (there && rnd(4));
		if (!there)
			lull_hash_insert_dup(&m.h, &item->node, hash_of(key));
	}
	if (there)
		free(item);
	else
		put_first(key, item);
}

/* The latest, or another one; then that is there no more. */
static void replace(int key)
{
	struct item *item = new_item(key), *old, *fresh;
	int version = m.versions[key] ? (int)rnd((unsigned)m.versions[key]) : 0;
	const struct lull_hash_node *next;

	if (!m.versions[key]) {
		assert_null(lull_hash_replace(&m.h, &item->node, hash_of(key), model_match, &key));
		put_first(key, item);
		return;
	}
	old = m.item[key][version];
	next = old->node.next;
	if (version || rnd(2)) {
		fresh = new_item(key);
		assert_int_equal(lull_hash_replace_node(&m.h, &old->node, &item->node), 0);
		assert_int_equal(lull_hash_replace_node(&m.h, &old->node, &fresh->node), -ENOENT);
		assert_int_equal(lull_hash_remove_node(&m.h, &old->node), -ENOENT);
		free(fresh);
	} else {
		assert_ptr_equal(lull_hash_replace(&m.h, &item->node, hash_of(key), model_match, &key), &old->node);
	}
	assert_true(item->node.hash == hash_of(key));
	/* In the place of the old one, which leads a reader on it further. */
	if (m.flags & LULL_HASH_FIXED)
		assert_true(item->node.next == next && old->node.next == next);
	item->mark = old->mark;
	retire(&old->node);
	m.item[key][version] = item;
}

static void remove_version(int key)
{
	int version = m.versions[key] ? (int)rnd((unsigned)m.versions[key]) : 0;
	struct item *old = m.item[key][version], *fresh;

	if (!m.versions[key]) {
		assert_null(lull_hash_remove(&m.h, hash_of(key), model_match, &key));
		return;
	}
	if (version || rnd(2)) {
		fresh = new_item(key);
		assert_int_equal(lull_hash_remove_node(&m.h, &old->node), 0);
		assert_int_equal(lull_hash_remove_node(&m.h, &old->node), -ENOENT);
		assert_int_equal(lull_hash_replace_node(&m.h, &old->node, &fresh->node), -ENOENT);
		free(fresh);
	} else {
		assert_ptr_equal(lull_hash_remove(&m.h, hash_of(key), model_match, &key), &old->node);
	}
	m.gone[old->mark] = true;
	retire(&old->node);
	for (; version + 1 < VERSIONS; version++)
		m.item[key][version] = m.item[key][version + 1];
	m.versions[key]--;
	m.there--;
}

/* In a read section: what it retires stays until the section's end. */
static void update(bool filling)
{
	int key = (int)rnd((unsigned)m.keys);

	if (m.resizes && rnd(m.resizes) == 0) {
		if (rnd(4))
			assert_int_equal(lull_hash_resize(&m.h, (size_t)1 << (m.keys > 24 ? rnd(12) : 1 + rnd(4))), 0);
		else
			lull_hash_finish_resize(&m.h);
	} else if (rnd(3) == 0) {
		replace(key);
	} else if (rnd(4) ? filling : !filling) {
		insert(key);
	} else if (key != m.kept) {
		remove_version(key);
	}
}

static void begin_model(size_t buckets, uint32_t flags, int keys, int kind)
{
	memset(m.item, 0, sizeof(m.item));
	memset(m.versions, 0, sizeof(m.versions));
	m.flags = flags;
	m.keys = keys;
	m.kind = kind;
	m.kept = -1;
	m.there = 0;
	init_table(&m.h, buckets, flags);
}

/* Check what lookups find, and what walks meet, and once, as no other thread moves anything. */
static void check_model(void)
{
	struct lull_hash_iter iter;
	struct lull_hash_node *node;
	struct item *item;
	int met = 0;

	assert_int_equal(lull_hash_count(&m.h), m.there);
	lull_rcu_read_lock();
	for (int key = 0; key < m.keys; key++) {
		int version = 0;

		assert_ptr_equal(lull_hash_lookup_entry(&m.h, hash_of(key), model_match, &key, struct item, node),
				 m.versions[key] ? m.item[key][0] : NULL);
		/* They stay in this order wherever they are moved. */
		lull_hash_for_each_match(node, &iter, &m.h, hash_of(key), model_match, &key) {
			assert_in_range(version, 0, m.versions[key] - 1);
			assert_ptr_equal(node, &m.item[key][version++]->node);
		}
		assert_int_equal(version, m.versions[key]);
	}
	lull_hash_for_each_entry(item, &iter, &m.h, node) {
		int version = 0;

		while (version < VERSIONS && m.item[item->key][version] != item)
			version++;
		assert_in_range(version, 0, m.versions[item->key] - 1);
		met++;
	}
	lull_rcu_read_unlock();
	assert_int_equal(met, m.there);
}

TEST(random)
{
	const uint32_t flags[] = { 0, LULL_HASH_SHRINK, LULL_HASH_FIXED };

	m.random = test_seed();
	m.resizes = 200;
	for (int round = 0; round < 9; round++) {
		begin_model((size_t)1 << rnd(7), flags[round % 3], KEYS, round / 3);
		for (int step = 0; step < 6000; step++) {
			lull_rcu_read_lock();
			update(step / 1500 % 2 == 0);
			lull_rcu_read_unlock();
			if (step % 300 == 0)
				check_model();
		}
		check_model();
		finish(&m.h, m.there);
	}
}

/* ---- lookups and walks that the table changes under ---------------------------------------------------------------- */

/*
 * A lookup that has come to an element with the right hash calls the match function. That one is of this test,
 * and updates and resizes the table: so the lookup stands on an element that is moved, removed or replaced.
 */
static int upsets;

static bool upsetting_match(const struct lull_hash_node *node, const void *key)
{
	bool right = match(node, key);

	for (; !right && upsets > 0 && rnd(2); upsets--)
		update(rnd(2));
	return right;
}

TEST(lookup_upset)
{
	m.random = test_seed();
	m.resizes = 3;
	begin_model(2, LULL_HASH_FIXED, 24, 3);
	for (int round = 0; round < 30000; round++) {
		struct lull_hash_node *node;

		lull_rcu_read_lock();
		m.kept = (int)rnd(24);
		if (!m.versions[m.kept])
			replace(m.kept);
		upsets = 8;
		node = lull_hash_lookup(&m.h, hash_of(m.kept), upsetting_match, &m.kept);
		assert_non_null(node);
		assert_int_equal(lull_hash_entry(node, struct item, node)->key, m.kept);
		lull_rcu_read_unlock();
	}
	check_model();
	finish(&m.h, m.there);
}

/* An update at each step of a walk; what is there all the while, or replaced, has to be met. */
TEST(for_each_upset)
{
	m.random = test_seed();
	for (int round = 0; round < 1000; round++) {
		struct lull_hash_iter iter;
		struct item *item;
		bool met[1 + 24 * VERSIONS] = { false };
		int steps = 0, marks = 0;

		begin_model((size_t)2 << rnd(4), LULL_HASH_FIXED, 24, round % 4);
		m.resizes = round % 2 ? 3 : 0;
		lull_rcu_read_lock();
		while (m.there < 20)
			update(true);
		memset(m.gone, 0, sizeof(m.gone));
		for (int key = 0; key < 24; key++)
			for (int version = 0; version < m.versions[key]; version++)
				m.item[key][version]->mark = ++marks;
		upsets = 60;
		lull_hash_for_each_entry(item, &iter, &m.h, node) {
			met[item->mark] = true;
			if (upsets-- > 0)
				update(rnd(2));
			assert_true(++steps < 10000);
		}
		lull_rcu_read_unlock();
		for (int mark = 1; mark <= marks; mark++)
			assert_true(met[mark] || m.gone[mark]);
		check_model();
		finish(&m.h, m.there);
	}
}

/* The current element may be removed or replaced: the walk goes on behind it, and meets all others, once. */
TEST(for_each_changed)
{
	struct lull_hash_iter iter;
	struct lull_hash h;
	struct item *item;

	init_table(&h, 8, LULL_HASH_FIXED);
	fill(&h, 0, 100);
	lull_rcu_read_lock();
	lull_hash_for_each_entry(item, &iter, &h, node) {
		item->mark++;
		if (item->mark == 1 && item->key % 3 == 0) {
			struct item *next = new_item(item->key);

			next->mark = 1;
			assert_int_equal(lull_hash_replace_node(&h, &item->node, &next->node), 0);
			retire(&item->node);
		} else if (item->key % 3 == 1) {
			assert_int_equal(lull_hash_remove_node(&h, &item->node), 0);
			retire(&item->node);
		}
	}
	lull_rcu_read_unlock();
	for (int key = 0; key < 100; key++)
		assert_int_equal(find(&h, key) ? find(&h, key)->mark : 0, key % 3 != 1);
	finish(&h, 67);
}

/* ---- sizes --------------------------------------------------------------------------------------------------------- */

TEST(init)
{
	static const struct {
		struct lull_hash_config config;
		int err, buckets;
	} cases[] = {
		{ { 100, 64, 0 }, -EINVAL, 0 },
		{ { 0, 0, 4 }, -EINVAL, 0 },
		{ { SIZE_MAX / 2, 0, 0 }, -ENOMEM, 0 },
		{ { SIZE_MAX, 0, 0 }, -ENOMEM, 0 },
		{ { 0, 0, 0 }, 0, 16 },
		{ { 1, 0, LULL_HASH_FIXED }, 0, 2 },
		{ { 65, 65, LULL_HASH_SHRINK }, 0, 128 },
	};
	struct lull_hash h;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(lull_hash_init(&h, &cases[i].config), cases[i].err);
		if (cases[i].err)
			continue;
		assert_int_equal(lull_hash_buckets(&h), cases[i].buckets);
		assert_null(find(&h, 1));
		finish(&h, 0);
	}
	assert_int_equal(lull_hash_init(&h, NULL), 0);
	assert_int_equal(lull_hash_buckets(&h), 16);
	lull_hash_destroy(&h, NULL, NULL);

	/* The 65th begins a resize that is not over; there are elements in both tables then. */
	init_table(&h, 64, 0);
	fill(&h, 0, 66);
	assert_int_equal(lull_hash_buckets(&h), 64);
	assert_non_null(h.table->future);
	finish(&h, 66);
}

TEST(grow_and_shrink)
{
	struct lull_hash h;

	for (uint32_t flags = 0; flags <= LULL_HASH_SHRINK; flags += LULL_HASH_SHRINK) {
		init_table(&h, 32, flags);
		for (int key = 0; key < 5000; key++) {
			fill(&h, key, key + 1);
			if (key < 300 || key % 500 == 0)
				check_range(&h, 0, key + 1);
		}
		lull_hash_finish_resize(&h);
		assert_in_range(lull_hash_buckets(&h), 4096, 8192);
		for (int key = 0; key < 5000; key += 250) {
			remove_range(&h, key, key + 250);
			check_range(&h, key + 250, 5000);
		}
		lull_hash_finish_resize(&h);
		assert_in_range(lull_hash_buckets(&h), flags ? 32 : 4096, flags ? 32 : 8192);
		finish(&h, 0);
	}
}

/* A number that no table can have is no limit. */
TEST(max_buckets)
{
	const size_t most[] = { 60, SIZE_MAX, SIZE_MAX / 2 };

	for (int i = 0; i < 3; i++) {
		struct lull_hash_config config = { 16, most[i], 0 };
		struct lull_hash h;

		assert_int_equal(lull_hash_init(&h, &config), 0);
		fill(&h, 0, 1000);
		lull_hash_finish_resize(&h);
		assert_in_range(lull_hash_buckets(&h), i ? 512 : 64, i ? 2048 : 64);
		check_range(&h, 0, 1000);
		finish(&h, 1000);
	}
}

TEST(resize)
{
	const size_t sizes[] = { 1024, 2, 3, 65536, 100, 16, 2, 4096, 512, 512 };
	struct lull_hash h;

	init_table(&h, 16, LULL_HASH_FIXED);
	fill(&h, 0, 2000);
	assert_int_equal(lull_hash_buckets(&h), 16);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(lull_hash_resize(&h, sizes[i]), 0);
		assert_in_range(lull_hash_buckets(&h), sizes[i], 2 * sizes[i] - 1);
		check_range(&h, 0, 2000);
		/* Out of a chain with more runs than are noted at once. */
		for (int key = 0; key < 2000 && sizes[i] == 4096; key++)
			assert_null(find(&h, key)->node.next);
	}
	assert_int_equal(lull_hash_resize(&h, 0), -EINVAL);
	assert_int_equal(lull_hash_resize(&h, SIZE_MAX / 2), -ENOMEM);
	assert_int_equal(lull_hash_resize(&h, SIZE_MAX), -ENOMEM);
	lull_hash_finish_resize(&h);
	assert_int_equal(lull_hash_buckets(&h), 512);
	finish(&h, 2000);
}

/* A resize begun by an insertion is carried on by any kind of update, and by lull_hash_resize(). */
TEST(resize_goes_on)
{
	struct lull_hash h;
	int key = 256;

	init_table(&h, 256, 0);
	for (fill(&h, 0, key); !lull_load_relaxed(&h.table->future) && key < 512; key++)
		fill(&h, key, key + 1);
	assert_in_range(key, 257, 511);
	for (int updates = 0; lull_hash_buckets(&h) == 256; updates++) {
		assert_true(updates < 256 / 16);
		check_range(&h, 0, key);
		retire(lull_hash_replace(&h, &new_item(updates)->node, (uint64_t)updates, match, &updates));
		check_range(&h, 0, key);
	}
	assert_int_equal(lull_hash_buckets(&h), 512);

	for (; !lull_load_relaxed(&h.table->future) && key < 1024; key++)
		fill(&h, key, key + 1);
	assert_int_equal(lull_hash_buckets(&h), 512);
	assert_int_equal(lull_hash_resize(&h, 128), 0);
	assert_int_equal(lull_hash_buckets(&h), 128);
	check_range(&h, 0, key);
	finish(&h, key);
}

/* ---- numbers, misuse -------------------------------------------------------------------------------------------- */

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

	m.random = test_seed();
	memset(changed, 0, sizeof(changed));
	for (int i = 0; i < NUMBERS; i++) {
		uint64_t x = (uint64_t)rnd(1u << 31) << 33 ^ (uint64_t)rnd(1u << 31) << 11 ^ rnd(1u << 31);

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
		if (!lull_hash_lookup(&handled_table, (uint64_t)key, match, &key))
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
		retire(lull_hash_remove(&handled_table, (uint64_t)key, match, &key));
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
	init_table(&handled_table, 4, LULL_HASH_FIXED);
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
	init_table(&local, 4, 0);
	fill(&local, 0, 100);
	lull_hash_destroy(&local, free_item, &count);
	assert_int_equal(count, 100);
	lull_rcu_read_unlock();
	fill(&callbacks_table, 10, 100);
	retire(lull_hash_remove(&callbacks_table, (uint64_t)key, match, &key));
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
	init_table(&callbacks_table, 16, 0);
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

	init_table(&h, 2, 0);
	lull_rcu_online();
	fill(&h, 0, 100);
	assert_non_null(lull_hash_lookup(&h, (uint64_t)key, match, &key));
	retire(lull_hash_remove(&h, (uint64_t)key, match, &key));
	assert_null(lull_hash_lookup(&h, (uint64_t)key, match, &key));
	assert_int_equal(lull_hash_resize(&h, 1024), 0);
	lull_rcu_quiescent();
	lull_rcu_offline();
	lull_rcu_barrier();
	lull_hash_destroy(&h, free_item, NULL);
}
