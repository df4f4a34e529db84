/* SPDX-License-Identifier: MIT */
/*
 * stress_hash.c - a hash table that never loses an element, however it is updated and resized.
 *
 * First by steps: one thread, readers that are advanced hop by hop, also from inside a resize
 * (the sources of src/hash are compiled into this program with pauses). Every interleaving is one of a seed.
 * Then with threads: readers, a walker, updaters and some that resize up and down without end.
 *
 * Steady keys are always there, so every lookup of one must find it; the others come and go. An
 * element's contents are spoilt before its memory is freed, and readers look. Most keys have one
 * updater, who knows what must be there; contested keys have two, whose successes must add up.
 *
 *	stress_hash [--busted FAULT] [SEED [MILLISECONDS]]
 *
 * --busted switches a fault on (busted.h), which the program has to notice: then the
 * exit status is the other way round.
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lull/hash.h>

#include "busted.h"

#define STEADY	40
#define OWNED	96 /* keys below have one updater */
#define KEYS	104
#define HASHES	64 /* keys share hashes, and all are in few buckets now and then */
#define SPOILT	0x5b01c7u

struct element {
	struct lull_hash_node node;
	struct lull_rcu_head rcu;
	unsigned key, check; /* check == ~key until it is spoilt */
};

enum lull__busted lull__busted;
static struct lull_hash table;
static struct element *element_of[OWNED]; /* the updater's view */
static int balance_of[KEYS];		 /* of contested keys: insertions less removals */
static unsigned failures;
static uint32_t stop;

static void report(const char *what, unsigned key)
{
	if (lull_add_relaxed(&failures, 1u) == 0)
		printf("%s (key %u)\n", what, key);
}

static bool match(const struct lull_hash_node *node, const void *key)
{
	return lull_hash_entry(node, struct element, node)->key == *(const unsigned *)key;
}

static uint64_t hash_of(unsigned key)
{
	return key % HASHES;
}

/* A generator for each thread; its state is never 0. */
static unsigned dice(uint64_t *random, unsigned sides)
{
	*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(*random >> 33) % sides;
}

/* ---- updates: one thread makes them ---------------------------------------------------------- */

static struct element *new_element(unsigned key)
{
	struct element *element = malloc(sizeof(*element));

	if (!element)
		abort();
	element->key = key;
	element->check = ~key;
	return element;
}

static void spoil(struct lull_rcu_head *head)
{
	struct element *element = lull_container_of(head, struct element, rcu);

	if (element->check != ~element->key)
		report("taken out of the table twice", element->key);
	element->key = element->check = SPOILT;
	if (!LULL__BUSTED(HASH_FREE_AT_ONCE)) /* with it, readers may still come to see */
		free(element);
}

static void retire(struct element *element)
{
	if (LULL__BUSTED(HASH_FREE_AT_ONCE))
		spoil(&element->rcu);
	else
		lull_rcu_call_sized(&element->rcu, spoil, sizeof(*element));
}

static void toggle(unsigned key)
{
	struct element *element = element_of[key];

	if (element) {
		struct lull_hash_node *node = lull_hash_remove(&table, hash_of(key), match, &key);

		element_of[key] = NULL;
		if (node != &element->node)
			report("removed another element than was there", key);
		else
			retire(element);
	} else {
		element = element_of[key] = new_element(key);
		if (lull_hash_insert(&table, &element->node, hash_of(key), match, &key) != 0)
			report("inserted a key that was not there, and it was", key);
	}
}

static void replace(unsigned key)
{
	struct element *old = element_of[key], *element = new_element(key);
	struct lull_hash_node *node =
		lull_hash_replace(&table, &element->node, hash_of(key), match, &key);

	element_of[key] = element;
	if (node != (old ? &old->node : NULL))
		report("replaced another element than was there", key);
	else if (old)
		retire(old);
}

static void update(uint64_t *random)
{
	unsigned key = dice(random, OWNED);

	if (key < STEADY || dice(random, 3) == 0)
		replace(key);
	else
		toggle(key);
}

static void resize(uint64_t *random)
{
	if (lull_hash_resize(&table, (size_t)2 << dice(random, 6)) != 0)
		report("no memory for a table", 0);
}

static void fill(uint32_t flags)
{
	struct lull_hash_config config = { .buckets = 2, .flags = flags };

	if (lull_hash_init(&table, &config) != 0)
		abort();
	for (unsigned key = 0; key < STEADY; key++)
		replace(key);
}

static void drop(struct lull_hash_node *node, void *unused)
{
	(void)unused;
	retire(lull_hash_entry(node, struct element, node));
}

static void empty(void)
{
	lull_rcu_barrier();
	lull_hash_destroy(&table, drop, NULL);
	for (unsigned key = 0; key < OWNED; key++)
		element_of[key] = NULL;
	lull_rcu_barrier();
}

/* ---- a lookup by steps ----------------------------------------------------------------------- */

/* The same as lull_hash_lookup(), except that it can rest anywhere. */
struct lookup {
	const struct lull__hash_table *table; /* NULL: not begun */
	struct lull_hash_node *node;
	unsigned key;
};

static void lookup_begin(struct lookup *lookup, unsigned key)
{
	lookup->key = key;
	lookup->table = lull__hash_table_of(&table);
	lookup->node = lull__hash_first(lookup->table, hash_of(key));
}

/* One hop. True when it is over: found, or not there. */
static bool lookup_hop(struct lookup *lookup)
{
	if (lookup->node) {
		if (lookup->node->hash == hash_of(lookup->key) && match(lookup->node, &lookup->key))
			return true;
		lookup->node = lull_load_acquire(&lookup->node->next);
		return false;
	}
	lookup->table = lull_load_acquire(&lookup->table->future);
	if (LULL__BUSTED(HASH_NO_FUTURE))
		lookup->table = NULL;
	if (!lookup->table)
		return true;
	lookup->node = lull__hash_first(lookup->table, hash_of(lookup->key));
	return false;
}

/* What a lookup found; in the read section that it was made in. */
static void judge(const struct lull_hash_node *node, unsigned key)
{
	const struct element *element;

	if (!node) {
		if (key < STEADY)
			report("missed an element that was there all the while", key);
		return;
	}
	element = lull_hash_entry(node, struct element, node);
	if (lull_load_relaxed(&element->check) != ~key || lull_load_relaxed(&element->key) != key)
		report("found an element that had been freed", key);
}

/* ---- by steps -------------------------------------------------------------------------------- */

#define STEPPED 6

static struct lookup stepped[STEPPED];
static uint64_t stepped_random;
static bool stepping;

static void step_lookup(struct lookup *lookup)
{
	if (!lookup->table) {
		lookup_begin(lookup, dice(&stepped_random, STEADY));
	} else if (lookup_hop(lookup)) {
		judge(lookup->node, lookup->key);
		lookup->table = NULL;
	}
}

/* Called between any two stores of a resize, and between updates. */
static void step_some(void)
{
	unsigned most = dice(&stepped_random, 4) ? 3 : 30;

	for (unsigned i = dice(&stepped_random, most); i; i--)
		step_lookup(&stepped[dice(&stepped_random, STEPPED)]);
}

/* One read section in one thread: what updates retire stays until the lookups are over. */
static void step_round(void)
{
	lull_rcu_read_lock();
	stepping = true;
	for (int i = 0; i < 100; i++) {
		step_some();
		if (dice(&stepped_random, 6) == 0)
			resize(&stepped_random);
		else
			update(&stepped_random);
	}
	stepping = false;
	for (unsigned i = 0; i < STEPPED; i++) {
		while (stepped[i].table)
			step_lookup(&stepped[i]);
	}
	lull_rcu_read_unlock();
}

static void run_stepped(uint64_t seed)
{
	stepped_random = seed;
	for (int run = 0; run < 200 && !failures; run++) {
		fill(run % 2 ? LULL_HASH_FIXED : LULL_HASH_SHRINK);
		for (int round = 0; round < 5; round++)
			step_round();
		empty();
	}
}

/* ---- with threads ---------------------------------------------------------------------------- */

static __thread uint64_t thread_random;

/* Between any two stores of a resize. */
static void pause_somewhat(void)
{
	unsigned how_long = dice(&thread_random, 64);

	if (how_long == 0)
		sched_yield();
	else if (how_long < 16)
		for (; how_long; how_long--)
			lull_cpu_relax();
}

void lull__busted_pause(void)
{
	if (stepping)
		step_some();
	else
		pause_somewhat();
}

static const struct lull_hash_node *look_up(unsigned key)
{
	struct lookup lookup;

	if (!LULL__BUSTED(HASH_NO_FUTURE) && dice(&thread_random, 2))
		return lull_hash_lookup(&table, hash_of(key), match, &key);
	lookup_begin(&lookup, key);
	while (!lookup_hop(&lookup))
		pause_somewhat();
	return lookup.node;
}

static void *reader(void *seed)
{
	thread_random = (uint64_t)(uintptr_t)seed;
	while (!lull_load_relaxed(&stop)) {
		unsigned key = dice(&thread_random, dice(&thread_random, 2) ? STEADY : KEYS);
		const struct lull_hash_node *node;

		lull_rcu_read_lock();
		node = look_up(key);
		judge(node, key);
		if (node && dice(&thread_random, 16) == 0) {
			pause_somewhat();
			judge(node, key);
		}
		lull_rcu_read_unlock();
	}
	return NULL;
}

static void *walker(void *seed)
{
	thread_random = (uint64_t)(uintptr_t)seed;
	while (!lull_load_relaxed(&stop)) {
		bool met[KEYS] = { false };
		struct lull_hash_iter iter;
		struct element *element;

		lull_rcu_read_lock();
		lull_hash_for_each_entry(element, &iter, &table, node) {
			unsigned key = lull_load_relaxed(&element->key);

			if (key >= KEYS)
				report("met an element that had been freed", 0);
			else
				met[key] = true;
			pause_somewhat();
		}
		lull_rcu_read_unlock();
		for (unsigned key = 0; key < STEADY; key++) {
			if (!met[key])
				report("a walk missed what was there all the while", key);
		}
	}
	return NULL;
}

/* Updates are faster than slow readers let grace periods pass; what waits must not pile up. */
static void keep_pace(void)
{
	if (dice(&thread_random, 256) == 0)
		lull_rcu_synchronize();
}

static void *updater(void *seed)
{
	thread_random = (uint64_t)(uintptr_t)seed;
	while (!lull_load_relaxed(&stop)) {
		update(&thread_random);
		keep_pace();
	}
	return NULL;
}

static void contest_insert(unsigned key)
{
	struct element *element = new_element(key);

	if (lull_hash_insert(&table, &element->node, hash_of(key), match, &key) == 0)
		lull_add_relaxed(&balance_of[key], 1);
	else
		free(element);
}

static void contest_remove(unsigned key)
{
	struct lull_hash_node *node;

	if (dice(&thread_random, 2)) {
		node = lull_hash_remove(&table, hash_of(key), match, &key);
	} else {
		lull_rcu_read_lock();
		node = lull_hash_lookup(&table, hash_of(key), match, &key);
		if (node && lull_hash_remove_node(&table, node) != 0)
			node = NULL;
		lull_rcu_read_unlock();
	}
	if (node) {
		lull_add_relaxed(&balance_of[key], -1);
		retire(lull_hash_entry(node, struct element, node));
	}
}

static void contest_replace(unsigned key)
{
	struct element *element = new_element(key);
	struct lull_hash_node *node;

	lull_rcu_read_lock();
	node = lull_hash_lookup(&table, hash_of(key), match, &key);
	if (node && lull_hash_replace_node(&table, node, &element->node) == 0)
		retire(lull_hash_entry(node, struct element, node));
	else
		free(element);
	lull_rcu_read_unlock();
}

static void *contender(void *seed)
{
	thread_random = (uint64_t)(uintptr_t)seed;
	while (!lull_load_relaxed(&stop)) {
		unsigned key = OWNED + dice(&thread_random, KEYS - OWNED);

		keep_pace();
		switch (dice(&thread_random, 3)) {
		case 0:
			contest_insert(key);
			break;
		case 1:
			contest_replace(key);
			break;
		default:
			contest_remove(key);
			break;
		}
	}
	return NULL;
}

static void *resizer(void *seed)
{
	thread_random = (uint64_t)(uintptr_t)seed;
	while (!lull_load_relaxed(&stop)) {
		resize(&thread_random);
		if (dice(&thread_random, 8) == 0)
			sched_yield();
	}
	return NULL;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

static void check_end(void)
{
	size_t count = 0;

	lull_rcu_read_lock();
	for (unsigned key = 0; key < KEYS; key++) {
		int expect = key < OWNED ? element_of[key] != NULL : balance_of[key];
		int there = lull_hash_lookup(&table, hash_of(key), match, &key) != NULL;

		if (there != expect)
			report("in the end the table is not what the updaters made it", key);
		count += (size_t)there;
	}
	lull_rcu_read_unlock();
	if (count != lull_hash_count(&table))
		report("elements have been miscounted", (unsigned)count);
}

static void run_threads(uint64_t seed, uint64_t milliseconds)
{
	void *(*const work[])(void *) = { updater, contender, contender, resizer, resizer,
					  walker,  reader,    reader,	 reader };
	enum { THREADS = sizeof(work) / sizeof(work[0]) };
	const struct timespec nap = { 0, 10000000 };
	uint64_t end_ms = now_ms() + milliseconds;
	pthread_t thread[THREADS];

	thread_random = seed;
	fill(0);
	for (unsigned i = 0; i < THREADS; i++) {
		if (pthread_create(&thread[i], NULL, work[i], (void *)(uintptr_t)(seed + i)) != 0)
			abort();
	}
	while (now_ms() < end_ms && !lull_load_relaxed(&failures))
		nanosleep(&nap, NULL);
	lull_store_relaxed(&stop, 1u);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	check_end();
	empty();
}

/* Switch on the fault that is called @name. False: it is none of those that this program notices. */
static bool switch_on(const char *name)
{
	static const struct {
		const char *name;
		enum lull__busted fault;
	} faults[] = {
		{ "hash-no-future", LULL__BUSTED_HASH_NO_FUTURE },
		{ "hash-move-head", LULL__BUSTED_HASH_MOVE_HEAD },
		{ "hash-cut-first", LULL__BUSTED_HASH_CUT_FIRST },
		{ "hash-free-at-once", LULL__BUSTED_HASH_FREE_AT_ONCE },
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (strcmp(faults[i].name, name) == 0)
			lull__busted = faults[i].fault;
	return lull__busted != LULL__BUSTED_NOTHING;
}

int main(int argc, char **argv)
{
	uint64_t seed, milliseconds;

	if (argc > 2 && strcmp(argv[1], "--busted") == 0) {
		if (!switch_on(argv[2])) {
			fprintf(stderr, "%s: no such fault: %s\n", argv[0], argv[2]);
			return 2;
		}
		argc -= 2;
		argv += 2;
	}
	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : now_ms() | 1;
	milliseconds = argc > 2 ? strtoull(argv[2], NULL, 0) : 1000;
	printf("seed %" PRIu64 "\n", seed);
	run_stepped(seed);
	if (!failures)
		run_threads(seed, milliseconds);
	printf("%u failures\n", failures);
	if (lull__busted != LULL__BUSTED_NOTHING)
		return failures ? 0 : 1;
	return failures ? 1 : 0;
}
