/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * table.c - from the inside: the table of the addresses that slots name, when it has to grow, is full, or
 * there is no memory for it; what callbacks cost in memory; threads that retire and wait for one of them.
 */
#include "hazptr/fixture.h"

#include <lull/hazptr_fenced.h>

#include "../src/hazptr/slots.h"
#include "../src/hazptr/table.h"
#include "../src/reclaim/bag.h"

/* ---- a malloc() that fails, and counts ------------------------------------------------------------------------- */

#if !SANITIZED && defined(__GLIBC__)
#define OWN_MALLOC 1
static size_t malloc_most = SIZE_MAX; /* larger blocks are not to be had */
static int mallocs;

void *__libc_malloc(size_t size);

void *malloc(size_t size)
{
	lull_add_relaxed(&mallocs, 1);
	return size <= lull_load_relaxed(&malloc_most) ? __libc_malloc(size) : NULL;
}
#endif

/* ---- the table --------------------------------------------------------------------------------------------------- */

#define SMALL 64u

static struct lull__hazptr_table *new_table(void)
{
	struct lull__hazptr_table *table = (struct lull__hazptr_table *)calloc(1, sizeof(*table) + SMALL * sizeof(uintptr_t));

	assert_non_null(table);
	table->size = SMALL;
	table->shift = 64 - 6;
	lull__hazptr_table_empty(table);
	return table;
}

static bool has(struct lull__hazptr_table *table, uintptr_t addr)
{
	return *lull__hazptr_table_find(table, addr) == addr;
}

/* The next address from @from on whose place is @place. */
static uintptr_t address_at(const struct lull__hazptr_table *table, size_t place, uintptr_t from)
{
	while (lull__hazptr_place_of(table, from) != place)
		from += 16;
	return from;
}

/* All want the last place: they go on at the first. */
TEST(collide)
{
	struct lull__hazptr_table *table = new_table();
	uintptr_t addr[20], stranger;

	for (int i = 0; i < 20; i++)
		addr[i] = address_at(table, SMALL - 1, i ? addr[i - 1] + 16 : 4096);
	stranger = address_at(table, SMALL - 1, addr[19] + 16);
	for (int i = 0; i < 20; i++) {
		assert_false(has(table, addr[i]));
		lull__hazptr_table_insert(table, addr[i]);
		lull__hazptr_table_insert(table, addr[i]); /* two slots name it */
		assert_int_equal(table->used, i + 1);
		for (int j = 0; j <= i; j++)
			assert_true(has(table, addr[j]));
		assert_false(has(table, stranger));
	}
	assert_int_equal(table->key[SMALL - 1], addr[0]);
	for (int i = 1; i < 20; i++)
		assert_int_equal(table->key[i - 1], addr[i]);
	assert_true(table->is_complete);
	lull__hazptr_table_empty(table);
	assert_int_equal(table->used, 0);
	for (int i = 0; i < 20; i++)
		assert_false(has(table, addr[i]));
	free(table);
}

/* Half of the places are used at most, and a table that lacks an address says so. */
TEST(full)
{
	struct lull__hazptr_table *table = new_table();

	for (uintptr_t i = 1; i <= SMALL / 2; i++) {
		assert_true(table->is_complete);
		lull__hazptr_table_insert(table, 4096 * i);
		assert_int_equal(table->used, i);
	}
	assert_true(table->is_complete);
	lull__hazptr_table_insert(table, 4096 * (SMALL / 2 + 1));
	assert_false(table->is_complete);
	assert_int_equal(table->used, SMALL / 2);
	lull__hazptr_table_insert(table, 4096 * (SMALL / 2 + 2));
	assert_false(table->is_complete);
	lull__hazptr_table_empty(table);
	assert_true(table->is_complete);
	free(table);
}

/* ---- scans ------------------------------------------------------------------------------------------------------- */

enum { CONTEXTS = 30, OBJECTS = CONTEXTS * LULL_HAZPTR_SLOTS };
static struct lull_hazptr_context context[CONTEXTS];
static char object[2 * OBJECTS]; /* those with even numbers are protected */

static void protect_all(void)
{
	for (int i = 0; i < OBJECTS; i++) {
		char *next = &object[2 * i];

		if (i % LULL_HAZPTR_SLOTS == 0)
			lull_hazptr_context_init(&context[i / LULL_HAZPTR_SLOTS]);
		assert_ptr_equal(lull_hazptr_protect_ptr(lull_hazptr_alloc(&context[i / LULL_HAZPTR_SLOTS]), next), next);
	}
}

static void unprotect_all(void)
{
	for (int i = 0; i < CONTEXTS; i++)
		lull_hazptr_context_cleanup(&context[i]);
}

static void check_named(struct lull__hazptr_table *table)
{
	for (int i = 0; i < 2 * OBJECTS; i++)
		assert_int_equal(lull__hazptr_is_named(table, &object[i], 0), i % 2 == 0);
}

/* A table for as many slots as there are knows them all; of one that is too small, and of none, the slots are asked. */
TEST(collect)
{
	struct lull__hazptr_table *small = new_table(), *large = NULL;

	protect_all();
	assert_non_null(lull__hazptr_table_reserve(&large));
	lull__hazptr_collect(large);
	assert_true(large->is_complete);
	assert_true(large->used >= OBJECTS);
	check_named(large);
	lull__hazptr_collect(small);
	assert_false(small->is_complete);
	check_named(small);
	lull__hazptr_collect(NULL);
	check_named(NULL);
	unprotect_all();

	/* The last time has left nothing. */
	lull__hazptr_collect(large);
	assert_int_equal(large->used, 0);
	for (int i = 0; i < 2 * OBJECTS; i++)
		assert_false(lull__hazptr_is_named(large, &object[i], 0) || lull__hazptr_is_named(NULL, &object[i], 0));
	free(large);
	free(small);
}

/* Twice as many places as slots, and room for eight that come meanwhile; it stays while it is large enough. */
static void check_large_enough(const struct lull__hazptr_table *table)
{
	size_t slots = (size_t)lull_thread_count() * LULL_HAZPTR_SLOTS;

	assert_true(table->size >= SMALL);
	assert_int_equal(table->size & (table->size - 1), 0);
	assert_int_equal((uint64_t)1 << (64 - table->shift), table->size);
	assert_true(table->size >= 2 * (slots + LULL_HAZPTR_SLOTS));
}

TEST(grow)
{
	struct lull__hazptr_table *table = NULL, *before;
	struct lull_hazptr_context *more = (struct lull_hazptr_context *)calloc(200, sizeof(*more));
	int grown = 0;

	assert_non_null(more);
	own();
	assert_non_null(lull__hazptr_table_reserve(&table));
	check_large_enough(table);
	for (size_t i = 0; i < 200; i++) {
		lull_hazptr_context_init(&more[i]);
		before = table;
		assert_non_null(lull__hazptr_table_reserve(&table));
		grown += table != before;
		check_large_enough(table);
		assert_true(table->size >= 2 * LULL_HAZPTR_SLOTS * (i + 2));
	}
	assert_in_range(grown, 3, 7); /* it doubles */
	for (size_t i = 0; i < 200; i++)
		lull_hazptr_context_cleanup(&more[i]);
	before = table;
	assert_ptr_equal(lull__hazptr_table_reserve(&table), before);
	free(table);
	free(more);
}

static void *adds_slots(void *hold)
{
	struct lull_hazptr_context *ctx = (struct lull_hazptr_context *)malloc(sizeof(*ctx));
	struct lull_hazptr *taken[LULL_HAZPTR_SLOTS];
	struct thing *thing = &first;

	assert_non_null(ctx);
	lull_hazptr_context_init(ctx);
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		taken[i] = lull_hazptr_alloc(own());
	lull_hazptr_acquire((struct lull_hazptr_hold *)hold, &thing);
	lull_hazptr_clear(taken[0]);
	return ctx;
}

/* Not those of threads, which come and go. */
static size_t listed(void)
{
	size_t slots = 0;

	for (unsigned n = 0; n < LULL__HAZPTR_SHARDS; n++)
		slots += lull__hazptr.shard[n].slots;
	return slots;
}

/* Contexts count, and holds that use a slot of their own; and no more when they are gone. */
TEST(slots_counted)
{
	struct thing *thing = &first;
	struct lull_hazptr *taken[LULL_HAZPTR_SLOTS];
	struct lull_hazptr_hold hold[3];
	struct lull_hazptr_context ctx;
	void *left;

	own();
	assert_int_equal(listed(), 0);
	lull_hazptr_context_init(&ctx);
	assert_int_equal(listed(), LULL_HAZPTR_SLOTS);
	lull_hazptr_acquire(&hold[0], &thing); /* a slot of this thread's */
	assert_int_equal(listed(), LULL_HAZPTR_SLOTS);
	lull_hazptr_detach(&hold[0]);
	assert_int_equal(listed(), LULL_HAZPTR_SLOTS + 1);
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		taken[i] = lull_hazptr_alloc(own());
	for (int i = 1; i < 3; i++)
		lull_hazptr_acquire(&hold[i], &thing);
	assert_int_equal(listed(), LULL_HAZPTR_SLOTS + 3);
	for (int i = 0; i < 3; i++)
		lull_hazptr_release(&hold[i], thing);
	assert_int_equal(listed(), LULL_HAZPTR_SLOTS);
	lull_hazptr_context_cleanup(&ctx);
	assert_int_equal(listed(), 0);
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		lull_hazptr_free(own(), taken[i]);
	/* A thread that ends leaves none. */
	start_hearing();
	assert_int_equal(pthread_join(start_thread(adds_slots, &hold[0]), &left), 0);
	stop_hearing();
	assert_int_equal(listed(), 0);
	free(left);
}

/* An entry that was handed on keeps its stamp, and what the slot names next is younger than all waiters of now. */
TEST(detach_stamps)
{
	struct thing *thing = &first;
	struct lull_hazptr_hold hold;
	struct lull_hazptr *slot;
	uint64_t stamp;

	own();
	lull_hazptr_acquire(&hold, &thing);
	slot = hold.slot;
	stamp = slot->state / LULL__HAZPTR_STAMP;
	for (int i = 0; i < 3; i++)
		lull_hazptr_synchronize(&second);
	lull_hazptr_detach(&hold);
	assert_ptr_equal(hold.slot, &hold.backup);
	assert_int_equal(hold.backup.state / LULL__HAZPTR_STAMP, stamp);
	assert_true(slot->state / LULL__HAZPTR_STAMP >= stamp + 3);
	lull_hazptr_release(&hold, thing);
}

#ifdef OWN_MALLOC
/* Without memory for a larger table the one that is there has to do, or none. */
TEST(no_memory)
{
	struct lull__hazptr_table *table = NULL, *before;

	if (under_valgrind())
		SKIP(OWN_MEMORY);
	own();
	malloc_most = 64;
	assert_null(lull__hazptr_table_reserve(&table));
	assert_null(table);
	malloc_most = SIZE_MAX;
	before = lull__hazptr_table_reserve(&table);
	assert_non_null(before);
	protect_all();
	malloc_most = 64;
	assert_ptr_equal(lull__hazptr_table_reserve(&table), before);
	assert_ptr_equal(table, before);
	malloc_most = SIZE_MAX;
	lull__hazptr_collect(table);
	check_named(table);
	assert_ptr_not_equal(lull__hazptr_table_reserve(&table), before);
	lull__hazptr_collect(table);
	assert_true(table->is_complete);
	check_named(table);
	unprotect_all();
	free(table);
}

/* ---- callbacks, and memory for them ------------------------------------------------------------------------------- */

enum { MANY = 2560, HELD = 5 };
static struct called {
	struct lull_head head;
	int runs;
} called[MANY];

static void note_run(struct lull_head *head)
{
	lull_container_of(head, struct called, head)->runs++;
}

static int runs_of(int from, int to)
{
	int runs = 0;

	for (int i = from; i < to; i++)
		runs += called[i].runs;
	return runs;
}

/* A page for 256 of those that wait, and nothing else. */
TEST(memory_of_callbacks)
{
	int before;

	if (under_valgrind())
		SKIP(OWN_MEMORY);
	set_mode(LULL_RECLAIM_POLL);
	memset(called, 0, sizeof(called));
	lull_hazptr_call(&called[0].head, note_run);
	assert_int_equal(lull_reclaim_poll(1, 0), 1);
	before = mallocs;
	malloc_most = 4500;
	for (int i = 1; i < MANY; i++)
		lull_hazptr_call(&called[i].head, note_run);
	assert_in_range(mallocs - before, MANY / 256 - 1, MANY / 256);
	malloc_most = SIZE_MAX;
	assert_int_equal(lull_reclaim_poll(SIZE_MAX, 0), MANY - 1);
	assert_int_equal(runs_of(0, MANY), MANY);
}

/* Deferred without memory they are protected all the same: each runs once, and not before its slot says something else. */
TEST(called_without_memory)
{
	struct lull_hazptr_hold hold[HELD];
	struct called *held[HELD];

	if (under_valgrind())
		SKIP(OWN_MEMORY);
	set_mode(LULL_RECLAIM_POLL);
	memset(called, 0, sizeof(called));
	lull_hazptr_call(&called[0].head, note_run); /* it has a queue */
	assert_int_equal(lull_reclaim_poll(1, 0), 1);
	for (int i = 0; i < HELD; i++) {
		held[i] = &called[1000 + i];
		assert_ptr_equal(lull_hazptr_acquire(&hold[i], &held[i]), held[i]);
	}
	malloc_most = 64;
	for (int i = 1; i < MANY; i++)
		lull_hazptr_call(&called[i].head, note_run);
	malloc_most = SIZE_MAX;
	assert_int_equal(waiting(), MANY - 1);
	for (int i = 0; i < 10000 && waiting() > HELD; i++)
		lull_reclaim_poll(1000, 0);
	assert_int_equal(waiting(), HELD);
	for (int i = 0; i < HELD; i++) {
		assert_int_equal(lull_reclaim_poll(SIZE_MAX, 0), 0);
		assert_int_equal(runs_of(1000, 1000 + HELD), i);
		assert_int_equal(held[i]->runs, 0);
		lull_hazptr_release(&hold[i], held[i]);
		assert_int_equal(lull_reclaim_poll(SIZE_MAX, 0), 1);
		assert_int_equal(held[i]->runs, 1);
	}
	assert_int_equal(waiting(), 0);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(called[i].runs, 1);
}
#endif

/* ---- one frees for all ------------------------------------------------------------------------------------------- */

/* Few of each thread, so that none frees them of itself, and more than 4096 of all. */
enum { RETIRERS = 32, LOOK = 64 /* a thread looks at the limits when it has retired so many */, BOUND = 4096 };
static int of_each;
static int retirers, stay;

static void *retires_and_stays(void *unused)
{
	for (int i = 0; i < of_each; i++)
		lull_hazptr_retire(malloc(24));
	lull_add_release(&retirers, 1);
	await_count(&stay, 0);
	return unused;
}

static void start_retirers(pthread_t *thread)
{
	lull_store_relaxed(&retirers, 0);
	lull_store_relaxed(&stay, 1);
	for (int i = 0; i < RETIRERS; i++)
		thread[i] = start_thread(retires_and_stays, NULL);
	await_count(&retirers, RETIRERS);
}

static void end_retirers(const pthread_t *thread)
{
	lull_store_release(&stay, 0);
	for (int i = 0; i < RETIRERS; i++)
		join_thread(thread[i]);
}

/* No thread polls, and the first to come do nothing more: one of the others frees theirs. */
TEST(one_frees_for_all)
{
	pthread_t thread[RETIRERS];

	set_mode(LULL_RECLAIM_POLL);
	of_each = 320;
	start_retirers(thread);
	assert_in_range(waiting(), 0, BOUND + LOOK * RETIRERS);
	end_retirers(thread);
}

/*
 * As much waits as the bound allows, of threads that retire no more. This one retires what it protects, so that it can free
 * nothing itself, and the one that would free the others' does not run: this one waits for a while, and goes on.
 */
TEST(waits_not_for_ever)
{
	struct lull_hazptr_hold hold[LOOK];
	pthread_t thread[RETIRERS];
	void *mine[LOOK];

	set_mode(LULL_RECLAIM_POLL);
	of_each = BOUND / RETIRERS;
	start_retirers(thread);
	assert_int_equal(waiting(), BOUND);
	lull__lock(&lull__reclaimer.retired_lock);
	for (int i = 0; i < LOOK; i++) {
		mine[i] = malloc(24);
		assert_ptr_equal(lull_hazptr_acquire(&hold[i], &mine[i]), mine[i]);
		lull_hazptr_retire(mine[i]);
	}
	assert_int_equal(waiting(), BOUND + LOOK);
	lull__unlock(&lull__reclaimer.retired_lock);
	for (int i = 0; i < LOOK; i++)
		lull_hazptr_release(&hold[i], mine[i]);
	for (int i = 0; i < LOOK; i++)
		lull_hazptr_retire(malloc(24));
	assert_int_equal(waiting(), BOUND);
	end_retirers(thread);
	lull_hazptr_barrier();
	assert_int_equal(waiting(), 0);
}

BEFORE_ALL
{
	alarm(100);
}
