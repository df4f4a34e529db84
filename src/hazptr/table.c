/* SPDX-License-Identifier: MIT */
/*
 * hazscan.c - which of many retired objects does no slot name?
 *
 * What all slots say goes into a table with open addressing, and each object is looked up in it: a
 * scan costs the number of slots plus the number of objects. The table belongs to the bag of the
 * thread that scans. It is made before a scan, for all slots that there are then, and never in one;
 * when it turns out too small, or there was no memory for it, objects are looked for slot by slot.
 */
#include <stdlib.h>
#include <string.h>

#include "slots.h"
#include "../base/events.h"

#define TABLE_LEAST 64u /* a power of two */

struct lull__hazptr_table {
	size_t size; /* a power of two, at least twice the number of addresses */
	size_t used;
	unsigned shift;	  /* 64 - log2(size) */
	bool is_complete; /* all that the slots said is in it */
	uintptr_t key[];
};

static size_t place_of(const struct lull__hazptr_table *table, uintptr_t addr)
{
	/* Fibonacci hashing: the low bits of addresses are alike, the product's high bits are not. */
	return (size_t)((uint64_t)addr * 0x9e3779b97f4a7c15u >> table->shift);
}

/* Where @addr is, or would be. */
static uintptr_t *find(struct lull__hazptr_table *table, uintptr_t addr)
{
	size_t at = place_of(table, addr);

	while (table->key[at] && table->key[at] != addr)
		at = (at + 1) & (table->size - 1);
	return &table->key[at];
}

static void insert(struct lull__hazptr_table *table, uintptr_t addr)
{
	uintptr_t *key;

	if (table->used * 2 >= table->size) {
		table->is_complete = false;
		return;
	}
	key = find(table, addr);
	table->used += *key == 0;
	*key = addr;
}

static void empty(struct lull__hazptr_table *table)
{
	memset(table->key, 0, table->size * sizeof(table->key[0]));
	table->used = 0;
	table->is_complete = true;
}

struct lull__hazptr_table *lull__hazptr_reserve(void)
{
	/* A thread that is past its exit handling would leave a bag behind. */
	struct lull__bag *bag = lull__self.state & LULL__STATE_EXITED ? NULL : lull__own_bag();
	size_t slots = lull__hazptr_slots(), size = TABLE_LEAST;
	struct lull__hazptr_table *table, *old;

	if (!bag)
		return NULL;
	while (size < 2 * (slots + LULL_HAZPTR_SLOTS))
		size *= 2;
	if (bag->table && bag->table->size >= size)
		return bag->table;
	table = malloc(sizeof(*table) + size * sizeof(table->key[0]));
	if (!table)
		return bag->table;
	table->size = size;
	table->shift = 64 - (unsigned)__builtin_ctzll(size);
	old = bag->table;
	bag->table = table;
	lull_compiler_barrier(); /* a child that is forked in free() finds the new one */
	free(old);
	return table;
}

static void visit_insert(struct lull_hazptr *h, uintptr_t addr, uint32_t owner, void *arg)
{
	(void)h;
	(void)owner;
	insert(arg, LULL__BUSTED(HAZPTR_WRONG_KEY) ? addr & ~(uintptr_t)63 : addr);
}

void lull__hazptr_collect(struct lull__hazptr_table *table)
{
	if (!table)
		return;
	lull__note_scan_start();
	empty(table);
	lull__hazptr_look(visit_insert, table);
	lull__note_scan_end(table->used);
}

struct search {
	uintptr_t addr;
	bool found;
};

static void visit_compare(struct lull_hazptr *h, uintptr_t addr, uint32_t owner, void *arg)
{
	struct search *search = arg;

	(void)h;
	(void)owner;
	if (addr == search->addr)
		search->found = true;
}

static bool is_named(struct lull__hazptr_table *table, const void *item)
{
	struct search search = { .addr = (uintptr_t)item };

	if (lull_likely(table && table->is_complete))
		return table->used && *find(table, search.addr);
	lull__hazptr_look(visit_compare, &search);
	return search.found;
}

/* ---- one queue ------------------------------------------------------------------------------ */

struct cursor {
	struct lull__chunk *chunk;
	uint64_t at; /* number of the entry that comes next */
};

static struct lull__entry *next_entry(struct cursor *cursor)
{
	while (cursor->at >= cursor->chunk->first + LULL__CHUNK_ITEMS)
		cursor->chunk = cursor->chunk->next;
	return &cursor->chunk->entry[cursor->at++ % LULL__CHUNK_ITEMS];
}

/*
 * A child that is forked in here must not find an entry twice; that it finds one of them nowhere,
 * and never frees it, does no harm.
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

/* Mark what is named. Returns how many. */
static uint64_t mark(struct lull__queue *q, struct lull__hazptr_table *table)
{
	struct cursor cursor = { q->head, q->ready };
	uint64_t named = 0;

	while (cursor.at < q->wait) {
		struct lull__entry *entry = next_entry(&cursor);

		entry->bytes &= ~LULL__ENTRY_NAMED;
		if (entry->item && is_named(table, entry->item)) {
			entry->bytes |= LULL__ENTRY_NAMED;
			named++;
		}
	}
	return named;
}

/* Move what is marked to the end of [ready, wait), where @named entries are. */
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

/*
 * [ready, wait) is what was unlinked before the fence that came before the table was filled; of a
 * queue with grace periods, its grace period is over. What is not named is ready now.
 */
void lull__hazptr_sift(struct lull__queue *q, struct lull__hazptr_table *table)
{
	uint64_t named;

	if (q->ready == q->wait)
		return;
	named = mark(q, table);
	if (named)
		move_to_end(q, named);
	lull_store_relaxed(&q->kept, named);
	lull_store_relaxed(&q->settled, (uint32_t)LULL__UNSETTLED);
	lull__queue_make_ready(q, q->wait - named);
	q->wait = q->ready;
}

uint64_t lull__queue_mark_old(struct lull__queue *q)
{
	struct cursor cursor = { q->head, q->ready };
	uint64_t marked = 0;

	for (uint64_t i = 0; i < q->kept; i++) {
		struct lull__entry *entry = next_entry(&cursor);

		if (entry->bytes & LULL__ENTRY_OLD)
			continue;
		entry->bytes |= LULL__ENTRY_OLD;
		marked++;
	}
	return marked;
}

/* ---- what is left ----------------------------------------------------------------------------- */

static void visit_left(struct lull_hazptr *h, uintptr_t addr, uint32_t owner, void *arg)
{
	struct lull__hazptr_table *table = arg;

	if (table && table->is_complete && !*find(table, addr))
		return;
	lull_store_relaxed(&lull__hazptr.left_owner, owner);
	lull_or_relaxed(&h->state, (uint64_t)LULL__HAZPTR_LEFT);
}

static void insert_kept(struct lull__queue *q, struct lull__hazptr_table *table)
{
	struct cursor cursor = { q->head, q->ready };

	for (uint64_t i = 0; i < q->kept; i++) {
		struct lull__entry *entry = next_entry(&cursor);

		if (entry->item)
			insert(table, (uintptr_t)entry->item);
	}
}

void lull__hazptr_left(struct lull_stall *stall)
{
	*stall = (struct lull_stall){ .tid = lull_load_relaxed(&lull__hazptr.left_owner) };
	stall->slots = (uint32_t)lull_load_relaxed(&lull__rc.old);
}

/*
 * Where the heavy fence is only this thread's, a reader that clears without a fence
 * (lull_hazptr_fenced_clear) may miss LEFT if it does so at this very moment. Its slot is seen to be
 * clear a moment later, so look once more, after linger_ms.
 */
static uint32_t settled(const struct lull__queue *q)
{
	if (!q->kept)
		return LULL__UNSETTLED;
	return lull__fence_full_mode && !q->relooking ? LULL__SETTLED_RELOOK : LULL__SETTLED;
}

bool lull__hazptr_settle(struct lull__queue *taken)
{
	struct lull__hazptr_table *table;
	struct lull__queue *q;
	uint32_t left_event;
	uint64_t kept = 0;

	for (q = taken; q; q = q->next_taken)
		kept += q->kept;
	if (!kept)
		return false;
	/*
	 * ORDER HAZ-10: left_event before LEFT; pairs with HAZ-10 in lull__hazptr_slow(); without
	 * it as there; model/hazptr/leftover.tpl
	 */
	left_event = lull_load_acquire(&lull__hazptr.left_event);
	table = lull__hazptr_reserve();
	if (table) {
		empty(table);
		for (q = taken; q; q = q->next_taken)
			insert_kept(q, table);
	}
	lull__hazptr_look(visit_left, table);
	lull__hazptr_fence(false); /* HAZ-5: LEFT instead of WAITED */
	lull__hazptr_collect(table);
	for (q = taken; q; q = q->next_taken) {
		if (!q->kept)
			continue;
		q->wait = q->ready + q->kept;
		lull__hazptr_sift(q, table);
		lull_store_relaxed(&q->seen_left, left_event);
		lull_store_relaxed(&q->settled, settled(q));
	}
	return true;
}
