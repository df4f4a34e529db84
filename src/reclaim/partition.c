/* SPDX-License-Identifier: MIT */
/*
 * partition.c - divide a queue into the entries that slots name and the others. See partition.h.
 */
#include "../base/registry.h"
#include "../hazptr/slots.h"
#include "../hazptr/table.h"
#include "partition.h"

void lull__call_keyed(struct lull_head *head)
{
	lull_container_of(head, struct lull_hazptr_key, head)->func(head);
}

struct cursor {
	struct lull__chunk *chunk;
	uint64_t at; /* number of the next entry */
};

static struct lull__entry *next_entry(struct cursor *cursor)
{
	while (cursor->at >= cursor->chunk->first + LULL__CHUNK_ITEMS)
		cursor->chunk = cursor->chunk->next;
	return &cursor->chunk->entry[cursor->at++ % LULL__CHUNK_ITEMS];
}

/*
 * Exchange two entries. A child that is forked in the middle must not find an entry twice. It may miss one
 * of them and never free it; that does no harm.
 */
static void exchange(struct lull__entry *a, struct lull__entry *b)
{
	struct lull__entry was_a = *a, was_b = *b;

	lull_store_relaxed(&a->item, (void *)NULL);
	lull_store_relaxed(&b->item, (void *)NULL);
	lull_compiler_barrier();
	a->bytes = was_b.bytes;
	b->bytes = was_a.bytes;
	lull_compiler_barrier();
	lull_store_relaxed(&a->item, was_b.item);
	lull_store_relaxed(&b->item, was_a.item);
}

/*
 * Mark the entries that slots name. Returns how many, and in *bytes how many bytes wait with these. Compiled once
 * for the @kind that may have keys and once for the others: they cost not an instruction more.
 */
__attribute__((always_inline)) static inline uint64_t mark_named(struct lull__queue *q, struct lull__hazptr_table *table,
								  uint32_t kind, uint64_t *bytes)
{
	struct cursor cursor = { q->head, q->ready };
	uint64_t named = 0;

	*bytes = 0;
	while (cursor.at < q->wait) {
		struct lull__entry *entry = next_entry(&cursor);
		const void *name = lull__name_of(kind, entry->item);

		entry->bytes &= ~LULL__ENTRY_NAMED;
		if (!name || !lull__hazptr_is_named(table, name, 0))
			continue;
		*bytes += entry->bytes & ~LULL__ENTRY_FLAGS;
		entry->bytes |= LULL__ENTRY_NAMED;
		named++;
	}
	return named;
}

/* Move the @named marked entries of @q to the end of [ready, wait). */
static void move_to_end(struct lull__queue *q, uint64_t named)
{
	struct cursor from = { q->head, q->ready }, to = { q->head, q->wait - named };

	while (to.at < q->wait) {
		struct lull__entry *here = next_entry(&to), *marked;

		if (here->bytes & LULL__ENTRY_NAMED)
			continue;
		do
			marked = next_entry(&from);
		while (!(marked->bytes & LULL__ENTRY_NAMED));
		exchange(here, marked);
	}
}

/* Slots name so many entries of @q: these the limits leave out. */
static void count_kept(struct lull__queue *q, uint64_t items, uint64_t bytes)
{
	if (items == q->kept && bytes == q->kept_bytes)
		return;
	lull_add_relaxed(&lull__reclaimer.kept_items, (size_t)(items - q->kept));
	lull_add_relaxed(&lull__reclaimer.kept_bytes, (size_t)(bytes - q->kept_bytes));
	q->kept = items;
	q->kept_bytes = bytes;
}

void lull__partition(struct lull__queue *q, struct lull__hazptr_table *table)
{
	uint64_t named, bytes;

	if (q->ready == q->wait)
		return;
	named = q->kind == LULL__HAZPTR_CALLS ? mark_named(q, table, LULL__HAZPTR_CALLS, &bytes) :
						mark_named(q, table, LULL__KINDS, &bytes);
	if (named)
		move_to_end(q, named);
	count_kept(q, named, bytes);
	lull_store_relaxed(&q->named, named);
	lull_store_relaxed(&q->parked, (uint32_t)LULL__NOT_PARKED);
	lull__queue_make_ready(q, q->wait - named);
	q->wait = q->ready;
}

uint64_t lull__mark_awaited(struct lull__queue *q)
{
	struct cursor cursor = { q->head, q->ready };
	uint64_t marked = 0, left = q->wait + q->named;

	while (cursor.at < left) {
		struct lull__entry *entry = next_entry(&cursor);

		LULL__CHECK(awaited, entry->item, true);
		if (entry->bytes & LULL__ENTRY_AWAITED)
			continue;
		entry->bytes |= LULL__ENTRY_AWAITED;
		marked++;
	}
	return marked;
}

/* ---- parked ----------------------------------------------------------------------------------- */

static void insert_named(struct lull__queue *q, struct lull__hazptr_table *table)
{
	struct cursor cursor = { q->head, q->ready };

	for (uint64_t i = 0; i < q->named; i++) {
		const void *name = lull__name_of(q->kind, next_entry(&cursor)->item);

		if (name)
			lull__hazptr_table_insert(table, (uintptr_t)name);
	}
}

/*
 * Do slots with PARKED name all entries of @q that stay? @table has what such slots name; NULL: ask the slots. A reader
 * that found its pointer long ago may name an entry after PARKED was set in the slots, and one may move its protection to
 * another slot at that moment: no thread would be told of their end.
 */
static bool all_parked(const struct lull__queue *q, struct lull__hazptr_table *table)
{
	struct cursor cursor = { q->head, q->ready };

	for (uint64_t i = 0; i < q->named; i++)
		if (!lull__hazptr_is_named(table, lull__name_of(q->kind, next_entry(&cursor)->item), LULL__HAZPTR_PARKED))
			return false;
	return true;
}

/*
 * Return how the entries of @q are parked. If heavy fences order only the calling thread, a reader that clears without a
 * fence (lull_hazptr_fenced_clear) at this very moment may miss PARKED. Its slot is seen to be clear a moment later, so
 * check the entries once more, after linger_ms.
 */
static uint32_t parked_how(const struct lull__queue *q, struct lull__hazptr_table *table)
{
	if (!all_parked(q, table))
		return LULL__NOT_PARKED;
	return lull__fence_full_mode && !q->rechecking ? LULL__PARKED_RECHECK : LULL__PARKED;
}

/*
 * One thread at a time, so that each PARKED which it finds was there before its fence. Else PARKED may be another
 * thread's, whose fence is yet to come, and the reader has missed it (HAZ-5):
 *
 *	late reader		this thread		another thread
 *				PARKED, fence
 *	slot = the object
 *				looks: named
 *	slot = 0
 *	its state: nothing
 *							PARKED, for what the slot named before
 *				looks: PARKED
 */
static void park_locked(struct lull__queue *taken, struct lull__hazptr_table *table)
{
	/*
	 * ORDER HAZ-10: unpark_event before PARKED; pairs with HAZ-10 in lull__hazptr_slow(); without
	 * it as there; model/hazptr/parked.tpl
	 */
	uint32_t unpark_event = lull_load_acquire(&lull__hazptr.unpark_event);
	struct lull__queue *q;

	if (table) {
		lull__hazptr_table_empty(table);
		for (q = taken; q; q = q->next_taken)
			insert_named(q, table);
	}
	lull__hazptr_park(table);
	lull__hazptr_collect(table);
	for (q = taken; q; q = q->next_taken) {
		if (!q->named)
			continue;
		q->wait = q->ready + q->named;
		lull__partition(q, table);
	}
	lull__hazptr_collect_parked(table);
	for (q = taken; q; q = q->next_taken) {
		if (!q->named)
			continue;
		lull_store_relaxed(&q->seen_unpark, unpark_event);
		lull_store_relaxed(&q->parked, parked_how(q, table));
	}
}

bool lull__park_named(struct lull__queue *taken)
{
	struct lull__hazptr_table *table;
	uint64_t named = 0;

	for (struct lull__queue *q = taken; q; q = q->next_taken)
		named += q->named;
	if (!named)
		return false;
	table = lull__own_table();
	lull__lock(&lull__reclaimer.park_lock);
	park_locked(taken, table);
	lull__unlock(&lull__reclaimer.park_lock);
	lull__own_table_done();
	return true;
}

bool lull__queue_is_parked(struct lull__queue *q)
{
	return lull_load_relaxed(&q->parked) != LULL__NOT_PARKED &&
	       lull_load_relaxed(&q->put) - lull_load_relaxed(&q->done) == lull_load_relaxed(&q->named) &&
	       lull_load_relaxed(&q->seen_unpark) == lull_load_relaxed(&lull__hazptr.unpark_event);
}

bool lull__queue_needs_recheck(struct lull__queue *q)
{
	return lull__queue_is_parked(q) && lull_load_relaxed(&q->parked) == LULL__PARKED_RECHECK;
}
