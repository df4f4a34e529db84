/* SPDX-License-Identifier: MIT */
/*
 * counts.c - when a hash table begins to grow and to shrink, however its threads' counters lag; and which
 * counters a thread adds to: its own, or those that it shares with others, which cost a locked instruction.
 */
#include <semaphore.h>

#include "child.h"
#include "threads.h"

#include "../src/base/registry.h"
#include "../src/hash/buckets.h"

#define SHARDS LULL__HASH_SHARDS

struct item {
	struct lull_hash_node node;
	int key;
};

static struct lull_hash h;
static struct item item[8192];

static bool match(const struct lull_hash_node *node, const void *key)
{
	return lull_hash_entry(node, struct item, node)->key == *(const int *)key;
}

/* A key is its hash, so chains are short. */
static void insert(int key)
{
	item[key].key = key;
	must(lull_hash_insert(&h, &item[key].node, (uint64_t)key, match, &key) == 0);
}

/* No thread reads, so the element may come again at once. */
static void take_out(int key)
{
	must(lull_hash_remove(&h, (uint64_t)key, match, &key) == &item[key].node);
}

static void in_and_out(int key, int times)
{
	for (int i = 0; i < times; i++) {
		insert(key);
		take_out(key);
	}
}

static void init(size_t buckets, uint32_t flags)
{
	struct lull_hash_config config = { buckets, 0, flags };

	assert_int_equal(lull_hash_init(&h, &config), 0);
}

static void resize(size_t buckets)
{
	assert_int_equal(lull_hash_resize(&h, buckets), 0);
}

static void finish(void)
{
	lull_hash_destroy(&h, NULL, NULL);
	lull_rcu_barrier();
}

static bool is_resizing(void)
{
	return lull_load_relaxed(&h.table->future) != NULL;
}

/* ---- threads that do what they are told ------------------------------------------------------------------------ */

/* Threads' numbers mostly follow each other: then there are two of these on each shard, and all counters are used. */
#define MANY (2 * (int)SHARDS + 1)

enum order { INSERT, TAKE_OUT, IN_AND_OUT, UNREGISTER, REGISTER, LEAVE };

static struct worker {
	pthread_t thread;
	sem_t go, done;
	enum order order;
	int key, times;
	uint32_t tid;
} worker[MANY];

static void *works(void *arg)
{
	struct worker *w = (struct worker *)arg;

	lull_thread_register();
	w->tid = lull__self.tid;
	for (;;) {
		must(sem_post(&w->done) == 0);
		must(sem_wait(&w->go) == 0);
		if (w->order == LEAVE)
			return NULL;
		if (w->order == INSERT)
			insert(w->key);
		else if (w->order == TAKE_OUT)
			take_out(w->key);
		else if (w->order == IN_AND_OUT)
			in_and_out(w->key, w->times);
		else if (w->order == UNREGISTER)
			lull_thread_unregister();
		else
			lull_thread_register();
	}
}

static void begin(struct worker *w, enum order order, int key, int times)
{
	w->order = order;
	w->key = key;
	w->times = times;
	must(sem_post(&w->go) == 0);
}

static void await(struct worker *w)
{
	must(sem_wait(&w->done) == 0);
}

static void tell(struct worker *w, enum order order, int key)
{
	begin(w, order, key, 1);
	await(w);
}

static void tell_in_and_out(struct worker *w, int key, int times)
{
	begin(w, IN_AND_OUT, key, times);
	await(w);
}

static void start_workers(void)
{
	memset(worker, 0, sizeof(worker));
	for (int i = 0; i < MANY; i++) {
		must(sem_init(&worker[i].go, 0, 0) == 0 && sem_init(&worker[i].done, 0, 0) == 0);
		worker[i].thread = start_thread(works, &worker[i]);
	}
	for (int i = 0; i < MANY; i++)
		await(&worker[i]);
}

static void join_workers(void)
{
	for (int i = 0; i < MANY; i++) {
		begin(&worker[i], LEAVE, 0, 0);
		join_thread(worker[i].thread);
	}
}

/* Two that count in the same shard. */
static void find_neighbours(struct worker **a, struct worker **b)
{
	struct worker *seen[SHARDS] = { NULL };

	for (int i = 0; i < MANY; i++) {
		*b = &worker[i];
		*a = seen[worker[i].tid % SHARDS];
		if (*a)
			return;
		seen[worker[i].tid % SHARDS] = *b;
	}
	fail();
}

static uint64_t deferred_frees(void)
{
	struct lull_reclaim_counts counts;

	lull_reclaim_stats(&counts);
	return counts.total_items;
}

/* ---- growing and shrinking ------------------------------------------------------------------------------------- */

static const int sizes[] = { 16, 128, 256, 2048, 4096 };

enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

/* When there is more than one element per bucket, and at the latest when there are a quarter more. */
TEST_WITH(grows_in_time, start_workers, join_workers)
{
	for (int i = 0; i < SIZES; i++) {
		int size = sizes[i], count;

		init((size_t)size, 0);
		for (count = 0; count < size; count++)
			insert(count);
		assert_false(is_resizing());
		for (; !is_resizing() && count <= 2 * size; count++)
			tell(&worker[count % MANY], INSERT, count);
		assert_in_range(count, size + 1, size + size / 4);
		lull_hash_finish_resize(&h);
		assert_int_equal(lull_hash_buckets(&h), 2 * size);
		finish();
	}
}

/* When there are fewer elements than one per eight buckets, and at the latest when they are one per sixteen. */
TEST_WITH(shrinks_in_time, start_workers, join_workers)
{
	for (int i = 0; i < SIZES; i++) {
		int size = sizes[i], count;

		init(2, LULL_HASH_SHRINK);
		resize((size_t)size);
		/* Insertions into a table that was made large in advance do not make it small. */
		for (count = 0; count < size; count++)
			insert(count);
		while (count > size / 8)
			take_out(--count);
		assert_false(is_resizing());
		while (!is_resizing() && count) {
			count--;
			tell(&worker[count % MANY], TAKE_OUT, count);
		}
		assert_in_range(count, size / 16, size / 8 - 1);
		lull_hash_finish_resize(&h);
		assert_in_range(lull_hash_buckets(&h), size / 8, size / 4);
		while (count)
			take_out(--count);
		lull_hash_finish_resize(&h);
		assert_in_range(lull_hash_buckets(&h), 2, 16);
		finish();
	}
}

/* Never to less than it had at the start. */
TEST(shrinks_to_start)
{
	init(1024, LULL_HASH_SHRINK);
	resize(2048);
	for (int key = 0; key < 300; key++)
		insert(key);
	for (int key = 0; key < 300; key++)
		take_out(key);
	lull_hash_finish_resize(&h);
	assert_int_equal(lull_hash_buckets(&h), 1024);
	finish();
}

/* Removals never make a table grow, nor shrink without the flag. */
TEST(removals)
{
	for (uint32_t flags = 0; flags <= LULL_HASH_SHRINK; flags += LULL_HASH_SHRINK) {
		init(2, flags);
		resize(256);
		for (int key = 0; key < 256; key++)
			insert(key);
		resize(16);
		for (int key = flags ? 2 : 0; key < 256; key++) {
			take_out(key);
			assert_false(is_resizing());
		}
		assert_int_equal(lull_hash_buckets(&h), 16);
		finish();
	}
}

/* However seldom updates of the old table look, the first insertion and the first removal after a resize do. */
TEST(looks_after_resize)
{
	init(2, LULL_HASH_SHRINK);
	resize(1 << 16);
	for (int key = 0; key < 300; key++)
		insert(key);
	resize(64);
	assert_false(is_resizing());
	insert(300);
	assert_true(is_resizing());
	lull_hash_finish_resize(&h);
	assert_int_equal(lull_hash_buckets(&h), 512);

	resize(2048);
	in_and_out(301, 1);
	assert_false(is_resizing());
	resize(4096);
	insert(301);
	assert_false(is_resizing());
	take_out(301);
	assert_true(is_resizing());
	lull_hash_finish_resize(&h);
	assert_int_equal(lull_hash_buckets(&h), 1024);
	finish();
}

/* An update that finds another thread about to resize leaves it to the next. */
TEST(looks_again)
{
	init(4096, 0);
	for (int key = 0; key < 4096; key++)
		insert(key);
	assert_true(lull__trylock(&h.control->begin));
	for (int key = 4096; key < 4096 + 32; key++)
		insert(key); /* one of these looks */
	assert_false(is_resizing());
	lull__unlock(&h.control->begin);
	insert(5000);
	assert_true(is_resizing());
	finish();
}

/* Lookups move nothing; the update that moves the last bucket, and no other, gives the old table to lull_rcu_free(). */
TEST(who_moves)
{
	const size_t size = 256;
	uint64_t freed;
	size_t claimed;
	int key = 0;

	set_mode(LULL_RECLAIM_POLL); /* no other thread frees */
	init(size, 0);
	while (!is_resizing())
		insert(key++);
	while (lull_hash_buckets(&h) == size) {
		int all = 0;
		struct lull_hash_iter iter;
		struct lull_hash_node *node;

		claimed = lull__hash_whole(h.table)->claimed;
		lull_rcu_read_lock();
		for (int i = 0; i < key; i++)
			assert_ptr_equal(lull_hash_lookup(&h, (uint64_t)i, match, &i), &item[i].node);
		lull_hash_for_each(node, &iter, &h)
			all++;
		lull_rcu_read_unlock();
		assert_int_equal(all, key);
		assert_int_equal(lull__hash_whole(h.table)->claimed, claimed);
		assert_int_equal(lull__hash_whole(h.table)->moved, claimed);
		freed = deferred_frees();
		insert(key++);
		if (lull_hash_buckets(&h) == size) {
			assert_int_equal(deferred_frees(), freed);
			assert_true(lull__hash_whole(h.table)->claimed > claimed);
		} else {
			assert_int_equal(deferred_frees(), freed + 1);
		}
	}
	assert_int_equal(lull_hash_buckets(&h), 2 * size);
	finish();
	set_mode(LULL_RECLAIM_THREAD);
}

/* To look costs a visit to all counters: updates of a large table do so seldom, some never. */
TEST(looks_seldom)
{
	static const struct {
		uint32_t flags;
		size_t size, came, went; /* SIZE_MAX: never */
	} table[] = {
		{ LULL_HASH_FIXED, 4096, SIZE_MAX, SIZE_MAX },
		{ LULL_HASH_FIXED | LULL_HASH_SHRINK, 4096, SIZE_MAX, SIZE_MAX },
		{ 0, 64, 0, SIZE_MAX },
		{ 0, 4096, 31, SIZE_MAX },
		{ LULL_HASH_SHRINK, 4096, 31, 7 },
		{ LULL_HASH_SHRINK, 1 << 18, 255, 255 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		init(table[i].size, table[i].flags);
		for (int round = 0; round < 2; round++) {
			in_and_out(1, 1);
			assert_int_equal(h.control->seldom[LULL__HASH_CAME], table[i].came);
			assert_int_equal(h.control->seldom[LULL__HASH_WENT], table[i].went);
			resize(2 * table[i].size);
			resize(table[i].size);
		}
		finish();
	}
}

/* ---- whose counters -------------------------------------------------------------------------------------------- */

#define ENOUGH 1024 /* insertions after which a thread has a shard whose owner is gone */

/* How many updates took no locked instruction to be counted. */
static size_t counted_alone(void)
{
	size_t sum = 0;

	for (unsigned i = 0; i < SHARDS; i++)
		sum += lull_load_relaxed(&h.control->shard[i].own[0]) + lull_load_relaxed(&h.control->shard[i].own[1]);
	return sum;
}

static void check_counts_alone(struct worker *w, bool alone)
{
	size_t before = counted_alone();

	tell_in_and_out(w, 7, 50);
	assert_int_equal(counted_alone() - before, alone ? 100 : 0);
}

static void *comes_once(void *key)
{
	in_and_out((int)(intptr_t)key, 1);
	return NULL;
}

static void someone_comes_and_goes(void)
{
	join_thread(start_thread(comes_once, (void *)(intptr_t)1));
}

/* The owner of each shard is gone: a thread that stays gets the one to which it comes. */
static void inherit(void)
{
	size_t before;

	in_and_out(1, ENOUGH);
	before = counted_alone();
	in_and_out(1, 50);
	must(counted_alone() - before == 100);
}

static void *inherits(void *unused)
{
	inherit();
	return unused;
}

TEST(inherit)
{
	init(4096, 0);
	for (unsigned i = 0; i < 4 * SHARDS; i++)
		someone_comes_and_goes();
	for (unsigned i = 0; i < 2 * SHARDS; i++)
		join_thread(start_thread(inherits, NULL));
	assert_int_equal(lull_hash_count(&h), 0);
	finish();
}

/* A shard is never taken from a thread that is there. */
TEST_WITH(owner_stays, start_workers, join_workers)
{
	struct worker *a, *b;

	find_neighbours(&a, &b);
	init(4096, 0);
	tell_in_and_out(a, 1, 1);
	for (int i = 0; i < 3; i++) {
		someone_comes_and_goes();
		tell_in_and_out(b, 2, 2 * ENOUGH);
		check_counts_alone(a, true);
		check_counts_alone(b, false);
	}
	begin(a, IN_AND_OUT, 1, 20 * ENOUGH);
	begin(b, IN_AND_OUT, 2, 20 * ENOUGH);
	await(a);
	await(b);
	assert_int_equal(lull_hash_count(&h), 0);
	finish();
}

/* An owner that left the registry finds that its shard is another's, before and after it comes back. */
TEST_WITH(owner_comes_back, start_workers, join_workers)
{
	struct worker *a, *b;

	find_neighbours(&a, &b);
	init(4096, 0);
	tell_in_and_out(a, 1, 1);
	tell(a, UNREGISTER, 0);
	check_counts_alone(a, true);
	tell_in_and_out(b, 2, ENOUGH);
	check_counts_alone(b, true);
	check_counts_alone(a, false);
	tell(a, REGISTER, 0);
	check_counts_alone(a, false);
	begin(a, IN_AND_OUT, 1, 20 * ENOUGH);
	begin(b, IN_AND_OUT, 2, 20 * ENOUGH);
	await(a);
	await(b);
	check_counts_alone(b, true);
	assert_int_equal(lull_hash_count(&h), 0);
	finish();
}

/* The table may go before its owners do. */
TEST_WITH(destroyed_first, start_workers, join_workers)
{
	for (int round = 0; round < 3; round++) {
		init(4096, 0);
		for (int i = 0; i < MANY; i++)
			tell(&worker[i], INSERT, i);
		finish();
	}
}

/* A forked child has none of the owners but one, of another number. */
TEST_WITH(fork, start_workers, join_workers)
{
	init(4096, 0);
	someone_comes_and_goes();
	for (int i = 0; i < MANY; i++) /* these have looked, and found the owners there */
		tell_in_and_out(&worker[i], 2, ENOUGH);
	expect_fine(inherit);
	finish();
}

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34) /* _Fork() */
static int held, enough;

static void *holds_registry(void *unused)
{
	struct lull__registry_hold hold;

	lull__registry_enter(&hold);
	lull_store_release(&held, 1);
	AWAIT(lull_load_acquire(&enough));
	lull__registry_leave(&hold);
	return unused;
}

/* A child that was not told of the fork looks whether an owner is gone, when a thread of the parent had the lock. */
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
TEST_WITH(underscore_fork, start_workers, join_workers)
{
	pthread_t thread;
	int status;
	pid_t child;

	NEEDS_THREADS_IN_CHILD();
	init(4096, 0);
	someone_comes_and_goes();
	for (int i = 0; i < MANY; i++)
		tell_in_and_out(&worker[i], 2, 1);
	insert(1);
	take_out(1);
	thread = start_thread(holds_registry, NULL);
	AWAIT(lull_load_acquire(&held));
	child = _Fork();
	if (child == 0) {
		alarm(60);
		in_and_out(1, ENOUGH);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	lull_store_release(&enough, 1);
	join_thread(thread);
	finish();
}
#endif
#endif

BEFORE_ALL
{
	alarm(100);
	set_stall_ms(0); /* a slow machine is not worth a line */
}
