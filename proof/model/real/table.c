/* SPDX-License-Identifier: MIT */
/*
 * ORDER HAZ-2, HAZ-4
 * table.c - which addresses the slots name, for cbmc: the code of src/hazptr/table.c, table.h and slots.h, as it is.
 * Where: lull__hazptr_slots(), lull__hazptr_table_reserve(), lull__hazptr_table_empty(), lull__hazptr_table_insert(),
 * lull__hazptr_place_of(), lull__hazptr_table_find(), lull__hazptr_collect(), visit_insert(), lull__hazptr_is_named(),
 * lull__hazptr_is_named_slow(), visit_compare(), visit_park(), lull__hazptr_park(), lull__hazptr_for_each_slot(),
 * visit_thread_slots(), visit_listed_slots(), visit_slot(), lull__hazptr_collect_parked(), visit_insert_parked()
 *
 * A scan with a table that is large enough, with one from before that is too small, for there is no memory for
 * another, or with none.  The slots are those of two threads, of which the second came after the table was made, of a
 * context and of a hold; one of each names any of three addresses, or nothing.  Any hash function.
 * Never: an address that a slot names is not found, or one is that none names; a slot that names what is parked has no
 * PARKED; an address counts as parked that no slot with PARKED names, or does not count though one does.
 * Smaller than they are, so that it comes to an end:
 * With include/lull/thread.h: "LULL_HAZPTR_SLOTS 8" -> "LULL_HAZPTR_SLOTS 2"
 * With src/hazptr/slots.h: "SHARDS 16u" -> "SHARDS 2u"
 * With src/hazptr/slots.c: "SHARD(2), SHARD(3), SHARD(4), SHARD(5), SHARD(6), SHARD(7), SHARD(8)," -> ""
 * With src/hazptr/slots.c: "SHARD(9), SHARD(10), SHARD(11), SHARD(12), SHARD(13), SHARD(14), SHARD(15)" -> ""
 * With src/hazptr/table.c: "TABLE_LEAST 64u" -> "TABLE_LEAST 4u"
 * With src/hazptr/table.h: "uintptr_t key[];" -> "uintptr_t key[16];"
 * With src/hazptr/table.h: "(size_t)((uint64_t)addr * 0x9e3779b97f4a7c15u >> table->shift)" -> "place_of(table, addr)"
 * Flags: --no-standard-checks --unwinding-assertions --object-bits 10 --stop-on-fail --unwind 5 --unwindset lull__hazptr_table_find.0:5,clear.0:17
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#undef __x86_64__ /* cbmc reads no assembly */

struct lull__hazptr_table;
static size_t place_of(const struct lull__hazptr_table *table, uintptr_t addr);
static void *get(size_t size);
#define malloc get
#define free(memory) (void)(memory)

/* cbmc's own memset() leaves something over. */
static void clear(uintptr_t *key, int value, size_t size)
{
	assert(!value && size <= 16 * sizeof(*key));
	for (size_t i = 0; i < 16; i++)
		if (i < size / sizeof(*key))
			key[i] = 0;
}

#define memset clear

#define LULL_EVENTS_H
#include <lull/stats.h>

static void lull__event_scan_start(void)
{
}

static void lull__event_scan_end(uint64_t in_use)
{
	(void)in_use;
}

#include "hazptr/lists.c"
#include "hazptr/slots.c"
#include "hazptr/table.c"

bool nondet_bool(void);
uintptr_t nondet_uintptr_t(void);

__thread struct lull__thread lull__self;
struct lull__thread lull__registry;
uint32_t lull__registry_count = 1;
uint32_t lull__fence_full_mode;

static struct lull__thread threads[2];
static struct lull_hazptr_context context;
static struct lull_hazptr_hold hold;
static struct lull_hazptr *const slots[] = { &threads[0].hazptr.slot[0], &threads[1].hazptr.slot[LULL_HAZPTR_SLOTS - 1],
					     &context.slot[LULL_HAZPTR_SLOTS - 1], &hold.backup };
#define ADDRS 3
#define SLOTS (sizeof(slots) / sizeof(slots[0]))

static struct lull__hazptr_table *table, small = { .size = 4, .shift = 62 }, big;

#define NEVER() __CPROVER_assume(false)
#include "rest.h"

static bool has_memory;

static void *get(size_t size)
{
	assert(size == sizeof(big) + 16 * sizeof(big.key[0]));
	return has_memory ? &big : NULL;
}

static size_t place[ADDRS + 1];

/* Any hash function: two addresses may have one place. */
static size_t place_of(const struct lull__hazptr_table *t, uintptr_t addr)
{
	return place[addr] & (t->size - 1);
}

static uintptr_t any_addr(void)
{
	return nondet_uintptr_t() & ADDRS;
}

static bool is_named(uintptr_t addr)
{
	bool named = false;

	for (size_t i = 0; i < SLOTS; i++)
		named |= slots[i]->addr == addr;
	return named;
}

static void set_up(void)
{
	lull__registry.next = &threads[0];
	threads[0].next = &threads[1];
	threads[1].next = &lull__registry;
	lull__hazptr_link(&context.links, &lull__hazptr.shard[LULL__HAZPTR_SHARDS - 1].contexts);
	lull__hazptr_link(&hold.links, &lull__hazptr.shard[0].holds);
	lull__hazptr.shard[LULL__HAZPTR_SHARDS - 1].slots = LULL_HAZPTR_SLOTS;
	lull__hazptr.shard[0].slots = 1;
	for (uintptr_t addr = 0; addr <= ADDRS; addr++)
		place[addr] = nondet_uintptr_t() & 3;
	for (size_t i = 0; i < SLOTS; i++)
		slots[i]->addr = any_addr();
}

void lull__registry_enter(struct lull__registry_hold *held)
{
	(void)held;
}

void lull__registry_leave(const struct lull__registry_hold *held)
{
	(void)held;
}

void lull__lock_slow(struct lull__lock *lock)
{
	(void)lock;
	assert(false); /* nobody has it */
}

void lull__lock_wake(struct lull__lock *lock, int how_many)
{
	(void)lock, (void)how_many;
}

void lull_fence_heavy(void)
{
}

/* Which addresses do slots with PARKED name? */
static void look_for_parked(void)
{
	uintptr_t retired = any_addr();
	bool named = false;

	for (size_t i = 0; i < SLOTS; i++) {
		slots[i]->state = nondet_bool() ? LULL__HAZPTR_PARKED : 0;
		named |= slots[i]->addr == retired && slots[i]->state;
	}
	small.key[retired] = retired;
	lull__hazptr_collect_parked(&small);
	assert(!retired || !small.is_complete || (*lull__hazptr_table_find(&small, retired) != 0) == named);
	assert(!retired || lull__hazptr_is_named(nondet_bool() ? &small : NULL, (void *)retired, LULL__HAZPTR_PARKED) == named);
}

/* A scan, a look for any address, and then that is parked. */
static void scan(struct lull__hazptr_table *old, bool memory)
{
	uintptr_t retired;

	table = old;
	has_memory = memory;
	lull__hazptr_table_reserve(&table);
	assert(table == (memory ? &big : old));
	lull__hazptr_collect(table);
	retired = any_addr();
	if (!retired)
		return;
	assert(lull__hazptr_is_named(table, (void *)retired, 0) == is_named(retired));
	if (table) {
		lull__hazptr_table_empty(table);
		lull__hazptr_table_insert(table, retired);
	}
	lull__hazptr_park(table);
	for (size_t i = 0; i < SLOTS; i++)
		assert(slots[i]->addr != retired || slots[i]->state & LULL__HAZPTR_PARKED);
}

int main(void)
{
	set_up();
	if (nondet_bool())
		look_for_parked();
	else if (nondet_bool())
		scan(NULL, true);
	else
		scan(nondet_bool() ? &small : NULL, false);
	return 0;
}
