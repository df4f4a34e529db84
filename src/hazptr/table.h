/* SPDX-License-Identifier: MIT */
/*
 * table.h - which addresses do slots name?
 *
 * What all slots say goes into a table with open addressing, and each retired object is looked up in it: a
 * scan costs the number of slots plus the number of objects. The table belongs to the caller. It is made before a
 * scan, for all slots that there are then, and never in one; when it turns out too small, or there was no memory for
 * it, objects are looked for slot by slot.
 */
#ifndef LULL_TABLE_H
#define LULL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lull__hazptr_table;

/*
 * Make *@place, NULL or an older table, large enough for the slots of now, if there is memory. Returns the table; NULL:
 * there is none.
 */
struct lull__hazptr_table *lull__hazptr_table_reserve(struct lull__hazptr_table **place);

void lull__hazptr_table_empty(struct lull__hazptr_table *table);
void lull__hazptr_table_insert(struct lull__hazptr_table *table, uintptr_t addr);

/* Fill @table with what all slots name. NULL: nothing to do. */
void lull__hazptr_collect(struct lull__hazptr_table *table);

/* Does a slot name @item, as far as @table, filled by lull__hazptr_collect(), knows? NULL: ask the slots. */
bool lull__hazptr_is_named(struct lull__hazptr_table *table, const void *item);

/*
 * Let all slots that name an address in @table (NULL: any) say PARKED, and fence: on_unpark() is called when one of
 * them says something else from then on.
 */
void lull__hazptr_park(struct lull__hazptr_table *table);

#endif /* LULL_TABLE_H */
