/* SPDX-License-Identifier: MIT */
/*
 * table.c - the addresses that slots name, as a table with open addressing.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/events.h"
#include "slots.h"
#include "table.h"

#define TABLE_LEAST 64u /* a power of two */

void lull__hazptr_table_insert(struct lull__hazptr_table *table, uintptr_t addr)
{
	uintptr_t *key;

	if (table->used * 2 >= table->size) {
		table->is_complete = false;
		return;
	}
	key = lull__hazptr_table_find(table, addr);
	table->used += *key == 0;
	*key = addr;
}

void lull__hazptr_table_empty(struct lull__hazptr_table *table)
{
	memset(table->key, 0, table->size * sizeof(table->key[0]));
	table->used = 0;
	table->is_complete = true;
}

struct lull__hazptr_table *lull__hazptr_table_reserve(struct lull__hazptr_table **place)
{
	size_t slots = lull__hazptr_slots(), size = TABLE_LEAST;
	struct lull__hazptr_table *table, *old;

	while (size < 2 * (slots + LULL_HAZPTR_SLOTS))
		size *= 2;
	if (*place && (*place)->size >= size)
		return *place;
	table = malloc(sizeof(*table) + size * sizeof(table->key[0]));
	if (!table)
		return *place;
	table->size = size;
	table->shift = 64 - (unsigned)__builtin_ctzll(size);
	old = *place;
	*place = table;
	lull_compiler_barrier(); /* a child that is forked in free() finds the new one */
	free(old);
	return table;
}

static void visit_insert(struct lull_hazptr *h, uintptr_t addr, uint32_t owner, void *arg)
{
	(void)h;
	(void)owner;
	lull__hazptr_table_insert(arg, LULL__BUSTED(HAZPTR_WRONG_KEY) ? addr & ~(uintptr_t)63 : addr);
}

void lull__hazptr_collect(struct lull__hazptr_table *table)
{
	if (!table)
		return;
	lull__event_scan_start();
	lull__hazptr_table_empty(table);
	lull__hazptr_for_each_slot(visit_insert, table);
	lull__event_scan_end(table->used);
}

static void visit_insert_parked(struct lull_hazptr *h, uintptr_t addr, uint32_t owner, void *arg)
{
	if (lull_load_relaxed(&h->state) & LULL__HAZPTR_PARKED)
		visit_insert(h, addr, owner, arg);
}

void lull__hazptr_collect_parked(struct lull__hazptr_table *table)
{
	if (!table)
		return;
	lull__hazptr_table_empty(table);
	lull__hazptr_for_each_slot(visit_insert_parked, table);
}

struct search {
	uintptr_t addr;
	uint64_t flags;
	bool found;
};

static void visit_compare(struct lull_hazptr *h, uintptr_t addr, uint32_t owner, void *arg)
{
	struct search *search = arg;

	(void)owner;
	if (addr == search->addr && (lull_load_relaxed(&h->state) & search->flags) == search->flags)
		search->found = true;
}

bool lull__hazptr_is_named_slow(const void *item, uint64_t flags)
{
	struct search search = { .addr = (uintptr_t)item, .flags = flags };

	lull__hazptr_for_each_slot(visit_compare, &search);
	return search.found;
}

static void visit_park(struct lull_hazptr *h, uintptr_t addr, uint32_t owner, void *arg)
{
	struct lull__hazptr_table *table = arg;

	if (table && table->is_complete && !*lull__hazptr_table_find(table, addr))
		return;
	lull_store_relaxed(&lull__hazptr.parked_owner, owner);
	lull_or_relaxed(&h->state, (uint64_t)LULL__HAZPTR_PARKED);
}

void lull__hazptr_park(struct lull__hazptr_table *table)
{
	lull__hazptr_for_each_slot(visit_park, table);
	lull__hazptr_fence(false); /* HAZ-5: PARKED instead of WAITED */
}
