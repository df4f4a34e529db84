/* SPDX-License-Identifier: MIT */
/*
 * table.h - the addresses that slots name, in a table.
 *
 * The addresses of all slots go into a table with open addressing, and each retired object is looked up in
 * it: a scan costs the number of slots plus the number of objects. The table belongs to the caller. It is
 * allocated before a scan, for all slots that there are then, and never during one. If it turns out too
 * small, or there was no memory for it, each object is compared with slot after slot.
 */
#ifndef LULL_TABLE_H
#define LULL_TABLE_H

#include <lull/detail/base.h>

struct lull__hazptr_table {
	size_t size; /* a power of two, at least twice the number of addresses */
	size_t used;
	unsigned shift;	  /* 64 - log2(size) */
	bool is_complete; /* it contains all addresses that the slots named */
	uintptr_t key[];
};

static inline size_t lull__hazptr_place_of(const struct lull__hazptr_table *table, uintptr_t addr)
{
	/* Fibonacci hashing: the low bits of addresses are alike, the product's high bits are not. */
	return (size_t)((uint64_t)addr * 0x9e3779b97f4a7c15u >> table->shift);
}

/* Find the place where @addr is, or would be. */
static inline uintptr_t *lull__hazptr_table_find(struct lull__hazptr_table *table, uintptr_t addr)
{
	size_t at = lull__hazptr_place_of(table, addr);

	while (table->key[at] && table->key[at] != addr)
		at = (at + 1) & (table->size - 1);
	return &table->key[at];
}

/*
 * Make *@place, NULL or an older table, large enough for the current slots, if there is memory. Returns the
 * table, or NULL if there is none.
 */
struct lull__hazptr_table *lull__hazptr_table_reserve(struct lull__hazptr_table **place);

void lull__hazptr_table_empty(struct lull__hazptr_table *table);
void lull__hazptr_table_insert(struct lull__hazptr_table *table, uintptr_t addr);

/* Fill @table with the addresses that all slots name. NULL: do nothing. */
void lull__hazptr_collect(struct lull__hazptr_table *table);
void lull__hazptr_collect_parked(struct lull__hazptr_table *table); /* only what slots with PARKED name */

bool lull__hazptr_is_named_slow(const void *item, uint64_t flags); /* asks the slots */

/*
 * Does a slot name @item whose state has @flags, 0 or LULL__HAZPTR_PARKED? Looks it up in @table, which
 * lull__hazptr_collect() or lull__hazptr_collect_parked() has filled; NULL: visits the slots.
 */
static inline bool lull__hazptr_is_named(struct lull__hazptr_table *table, const void *item, uint64_t flags)
{
	if (lull_likely(table && table->is_complete))
		return table->used && *lull__hazptr_table_find(table, (uintptr_t)item);
	return lull__hazptr_is_named_slow(item, flags);
}

/*
 * Set PARKED in all slots that name an address in @table (NULL: any address), and fence. From then on
 * on_unpark() is called when one of them is set.
 */
void lull__hazptr_park(struct lull__hazptr_table *table);

#endif /* LULL_TABLE_H */
