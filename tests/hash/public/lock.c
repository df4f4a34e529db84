/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences */
/*
 * lock.c - threads that want the same bucket: they sleep, are woken, follow a bucket that has moved,
 * and are counted.
 *
 * Updates call the match function with the bucket locked, so one that waits is a holder for as long as a test
 * likes.
 */
#include "hash/support.h"

#define SLEEPERS 3

struct hold {
	int key, entered, leave;
};

static struct lull_hash h;

static bool holding_match(const struct lull_hash_node *node, const void *arg)
{
	struct hold *hold = (struct hold *)(uintptr_t)arg;

	if (!match(node, &hold->key))
		return false;
	lull_store_release(&hold->entered, 1);
	await_flag(&hold->leave, 1);
	return true;
}

struct updater {
	pthread_t thread;
	int key;
	uint32_t tid;
};

static void replace(int key)
{
	retire(lull_hash_replace(&h, &new_item(key)->node, (uint64_t)key, match, &key));
}

static void *replaces(void *arg)
{
	struct updater *updater = (struct updater *)arg;

	lull_thread_register();
	lull_store_release(&updater->tid, lull__self.tid);
	replace(updater->key);
	return NULL;
}

static void await_asleep(const uint32_t *tid)
{
	char path[64], text[256], *end;
	FILE *file;

	do {
		nap_ms(5);
		snprintf(path, sizeof(path), "/proc/self/task/%u/stat", lull_load_acquire(tid));
		file = fopen(path, "r");
		text[0] = '\0';
		if (file && !fgets(text, sizeof(text), file))
			text[0] = '\0';
		if (file)
			fclose(file);
		end = strrchr(text, ')');
	} while (!end || end[1] != ' ' || end[2] != 'S');
}

static void start_sleepers(struct updater *updater, int key)
{
	for (int i = 0; i < SLEEPERS; i++) {
		updater[i].key = key;
		updater[i].tid = 0;
		updater[i].thread = start_thread(replaces, &updater[i]);
	}
	for (int i = 0; i < SLEEPERS; i++)
		await_asleep(&updater[i].tid);
}

static void join_sleepers(const struct updater *updater)
{
	for (int i = 0; i < SLEEPERS; i++)
		join_thread(updater[i].thread);
}

static void *holds(void *arg)
{
	struct hold *hold = (struct hold *)arg;

	retire(lull_hash_replace(&h, &new_item(hold->key)->node, (uint64_t)hold->key, holding_match, hold));
	return NULL;
}

static pthread_t start_to_hold(struct hold *hold)
{
	pthread_t thread = start_thread(holds, hold);

	await_flag(&hold->entered, 1);
	return thread;
}

static void let_go(struct hold *hold, pthread_t thread)
{
	lull_store_release(&hold->leave, 1);
	join_thread(thread);
}

/* A key is its hash. */
static void init(size_t buckets, int keys)
{
	init_table(&h, buckets, LULL_HASH_FIXED);
	fill(&h, 0, keys);
}

static void look_around(int keys)
{
	struct lull_hash_iter iter;
	struct lull_hash_node *node;
	int met = 0;

	lull_rcu_read_lock();
	for (int key = 0; key < keys; key++)
		assert_non_null(lull_hash_lookup(&h, (uint64_t)key, match, &key));
	lull_hash_for_each(node, &iter, &h)
		met++;
	lull_rcu_read_unlock();
	assert_int_equal(met, keys);
	assert_int_equal(lull_hash_count(&h), keys);
	assert_int_equal(lull_hash_buckets(&h), 2);
}

/*
 * A thread that sleeps makes a heavy fence, and no other does. The first of all tests, so that the reclaimer's thread,
 * which makes some of its own, is not there.
 */
TEST(fences)
{
	struct hold hold = { 1, 0, 0 };
	struct updater sleeper[SLEEPERS];
	uint64_t before = lull_fence_heavy_count(), after;
	struct item *item = new_item(0);
	pthread_t holder;

	init(2, 2);
	holder = start_to_hold(&hold);
	for (int i = 0; i < 1000; i++) {
		lull_hash_insert_dup(&h, &item->node, 0);
		assert_int_equal(lull_hash_remove_node(&h, &item->node), 0);
	}
	free(item);
	assert_int_equal(lull_fence_heavy_count(), before);
	start_sleepers(sleeper, 1);
	after = lull_fence_heavy_count();
	let_go(&hold, holder);
	join_sleepers(sleeper);
	assert_true(lull_fence_strategy() == LULL_FENCE_FULL || after > before);
	finish(&h, 2);
}

/* Each that gets up wakes the next; updates of another bucket go on meanwhile, and so do all lookups and walks. */
TEST(sleepers)
{
	struct hold hold = { 1, 0, 0 };
	struct updater sleeper[SLEEPERS];
	pthread_t holder;

	init(2, 2);
	holder = start_to_hold(&hold);
	start_sleepers(sleeper, 1);
	replace(0);
	look_around(2);
	let_go(&hold, holder);
	join_sleepers(sleeper);
	finish(&h, 2);
}

static void *halves(void *arg)
{
	lull_thread_register();
	lull_store_release((uint32_t *)arg, lull__self.tid);
	assert_int_equal(lull_hash_resize(&h, 2), 0);
	return NULL;
}

/*
 * With four buckets, number 2 goes to number 0 of the new table. There it waits for a holder, with its own lock
 * held, and others fall asleep before that lock. All of them go on in the new table.
 */
TEST(sleepers_of_moved)
{
	struct hold before = { 2, 0, 0 }, behind = { 0, 0, 0 };
	struct updater sleeper[SLEEPERS];
	pthread_t resizer, holder[2];
	uint32_t tid = 0;

	init(4, 4);
	holder[0] = start_to_hold(&before);
	resizer = start_thread(halves, &tid);
	await_asleep(&tid);
	holder[1] = start_to_hold(&behind);
	let_go(&before, holder[0]); /* which has woken the resizer */
	await_asleep(&tid);
	start_sleepers(sleeper, 2);
	let_go(&behind, holder[1]);
	join_sleepers(sleeper);
	join_thread(resizer);
	assert_int_equal(lull_hash_buckets(&h), 2);
	finish(&h, 4);
}

/* ---- counting ---------------------------------------------------------------------------------------------- */

/* Threads whose numbers differ by a multiple of this count in the same place; of a crowd, three or more do. */
#define PLACES 16u
#define CROWD  (2 * (int)PLACES + 1)
#define ROUNDS (SANITIZED || under_valgrind() ? 20000 : 1000000)

static struct worker {
	pthread_t thread;
	int key;
	uint32_t tid;
} worker[CROWD];
static int go;
static uint32_t place;

static void *comes_and_goes(void *arg)
{
	struct worker *w = (struct worker *)arg;
	struct item *item = new_item(w->key);
	const int rounds = ROUNDS;

	lull_thread_register();
	lull_store_release(&w->tid, lull__self.tid);
	await_flag(&go, 1);
	for (int i = 0; i < rounds && w->tid % PLACES == place; i++) {
		lull_hash_insert_dup(&h, &item->node, (uint64_t)w->key);
		assert_int_equal(lull_hash_remove_node(&h, &item->node), 0);
	}
	assert_int_equal(lull_hash_insert(&h, &item->node, (uint64_t)w->key, match, &w->key), 0);
	return NULL;
}

static uint32_t crowded_place(void)
{
	unsigned count[PLACES] = { 0 };
	uint32_t most = 0;

	for (int i = 0; i < CROWD; i++) {
		uint32_t tid;

		AWAIT_SOON((tid = lull_load_acquire(&worker[i].tid)) != 0);
		if (++count[tid % PLACES] > count[most])
			most = tid % PLACES;
	}
	assert_true(count[most] >= 3);
	return most;
}

/* No element is forgotten, whether its thread counts alone or with others, nor when threads have gone and come. */
TEST(count)
{
	init(128, 0);
	for (int round = 0; round < 2; round++) {
		lull_store_release(&go, 0);
		for (int i = 0; i < CROWD; i++) {
			worker[i].key = round * CROWD + i;
			worker[i].tid = 0;
			worker[i].thread = start_thread(comes_and_goes, &worker[i]);
		}
		place = crowded_place();
		lull_store_release(&go, 1);
		for (int i = 0; i < CROWD; i++)
			join_thread(worker[i].thread);
		assert_int_equal(lull_hash_count(&h), (round + 1) * CROWD);
	}
	finish(&h, 2 * CROWD);
}

BEFORE_ALL
{
	alarm(100);
}
