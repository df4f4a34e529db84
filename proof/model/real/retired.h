/* SPDX-License-Identifier: MIT */
/*
 * retired.h - what surrounds a queue of deferred objects, for the models that are the code of src/reclaim/ as it is:
 * queue.c and pass.c. Objects, slots that name them, fences and grace periods, memory for chunks, a queue in any state
 * that is in order. Included before the sources, and after them.
 *
 * When an object may be reclaimed: a grace period that was asked for after it was deferred is over; then, after a fence
 * that came after it was deferred too, the slots were looked at and none named it. Each kind of queue (queue.h) waits
 * for one of these or for both. From then on a slot that names it all the same is that of a reader who found the pointer
 * long ago, and who will look again and find another one: such a slot does not matter, and may come and go at any time.
 *
 * Not in here: several queues with something in them, two peculiarities at once, other threads but the producer.
 * Which addresses are named, table.c shows for src/hazptr/table.c. So here a table is a set of objects.
 */
#ifndef RETIRED_H
#define RETIRED_H

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#define LULL__INSIDE
#define LULL__TSAN_SEES_ALL

#define OBJECTS 8u
#define CHUNKS	6u

static void *get_memory(size_t size);
static void give_memory(void *memory);
#define malloc get_memory
#define free   give_memory

static void make_fence(bool heavy);
#include <lull/fence.h>
#define lull_fence_full() make_fence(false)

#define LULL_EVENTS_H
#include <lull/stats.h>

static struct lull_stats_page page;

static struct lull_stats_page *lull__page(void)
{
	return &page;
}

static void lull__event_count(uint64_t *what, uint64_t n)
{
	(void)what, (void)n;
}

static void lull__event_batch_start(uint32_t kind, uint64_t items)
{
	(void)kind, (void)items;
}

static void lull__event_batch_end(uint32_t kind, uint64_t items, uint64_t bytes)
{
	(void)kind, (void)items, (void)bytes;
}

#define LULL_TABLE_H
struct lull__hazptr_table {
	bool has[OBJECTS], is_complete;
};

static bool lull__hazptr_is_named(struct lull__hazptr_table *table, const void *item, uint64_t flags);
static void lull__hazptr_table_empty(struct lull__hazptr_table *table);
static void lull__hazptr_table_insert(struct lull__hazptr_table *table, uintptr_t addr);
static void lull__hazptr_collect(struct lull__hazptr_table *table);
static void lull__hazptr_collect_parked(struct lull__hazptr_table *table);
static void lull__hazptr_park(struct lull__hazptr_table *table);

#else

__thread struct lull__thread lull__self;
struct lull__hazptr_domain lull__hazptr;
struct lull__reclaimer lull__reclaimer;
uint32_t lull__fence_full_mode;
const struct lull__watch *const lull__watch;

static struct lull__bag bag;
static struct lull__queue *queue; /* the only one in the list */

/* ---- what may be ------------------------------------------------------------------------------ */

/* What is peculiar, one thing at a time: about the entries, the memory, or who makes a pass. */
static enum peculiar {
	NULL_0, NULL_1, NULL_2, NULL_3, /* the entry without an object */
	NOTHING,
	NO_MEMORY,
	SPARE_CHUNK,
	NO_TABLE,
	OWNERS_PASS,
	BUSY_OWNER,
	HELPING_OWNER,
	/* For hazard pointers only. */
	ALL_FULL,			/* only full fences protect */
	STALE_ODD, STALE_ALL,		/* flags of an earlier scan */
	AWAITED_ODD, AWAITED_ALL,	/* by an earlier barrier */
	BARRIER, BARRIER_ODD,		/* by the pass; some already */
	WAS_PARKED,
	PECULIARITIES
} peculiar;

/* Is it peculiar about entry @i? All: @all. */
static bool is_odd(unsigned i, enum peculiar odd, enum peculiar all)
{
	return peculiar == all || (peculiar == odd && i & 1);
}

/* ---- objects, slots and fences ---------------------------------------------------------------- */

static struct lull_head object[OBJECTS];
static bool is_null[OBJECTS]; /* its entry has lost it, in a fork */
static bool fenced[OBJECTS], waited[OBJECTS], may_go[OBJECTS]; /* in that order, see above */
static bool gone[OBJECTS]; /* it was reclaimed */
static bool was_named[OBJECTS]; /* when that was last asked */
static enum { NOT_NAMED, NAMED, PARKED } slot_of[OBJECTS]; /* PARKED: a slot that names it says so */
static uint64_t cookies, cookie_put[8]; /* how many were deferred when it was taken */
static unsigned last_gone;
static uint64_t first_get, awaited_elsewhere, entries_most;

static size_t bytes_of(unsigned i)
{
	return (size_t)1 << i;
}

static unsigned index_of(const void *item)
{
	size_t i = (size_t)((const struct lull_head *)item - object);

	assert(i < OBJECTS);
	return (unsigned)i;
}

static void reclaim(const void *item)
{
	unsigned i = index_of(item);

	assert(may_go[i] && !gone[i]);
	gone[i] = true;
	assert(lull__kind_has_slots(queue->kind) || i >= last_gone); /* in order, but where a scan has moved some */
	last_gone = i;
}

/* Does @i wait in the queue? */
static bool is_there(unsigned i)
{
	return i >= first_get && i < queue->put && !is_null[i] && !gone[i];
}

/* The slots change: another one than before may name @i, or none. The reader says so if it finds PARKED. */
static void change(unsigned i)
{
	switch (slot_of[i]) {
	case NOT_NAMED:
	case NAMED:
		slot_of[i] = chance() ? NAMED : NOT_NAMED;
		break;
	case PARKED:
		slot_of[i] = (unsigned)PARKED - choose(3);
		lull__hazptr.unpark_event += slot_of[i] != PARKED;
		break;
	}
}

/* Does a slot name @i? */
static bool look(unsigned i)
{
	if (!is_there(i))
		return false;
	change(i);
	if (slot_of[i] == NOT_NAMED && fenced[i] && (waited[i] || !lull__kind_has_gp(queue->kind)))
		may_go[i] = true;
	return slot_of[i] != NOT_NAMED;
}

static void fence_before(uint64_t put, bool heavy)
{
	for (unsigned i = 0; i < OBJECTS; i++)
		if (i < put && (heavy || !queue->has_light))
			fenced[i] = true;
}

static void defer_one(void);

static void make_fence(bool heavy)
{
	uint64_t put = queue->put;

	defer_one();
	fence_before(put, heavy);
}

void lull_fence_heavy(void)
{
	make_fence(true);
}

/* Does a slot with PARKED name @i? */
static bool look_for_parked(unsigned i)
{
	bool parked = is_there(i) && slot_of[i] == PARKED;

	if (parked)
		change(i); /* after the walk has come by */
	return parked;
}

static bool lull__hazptr_is_named(struct lull__hazptr_table *table, const void *item, uint64_t flags)
{
	unsigned i = index_of(item);

	if (flags)
		return table ? table->has[i] : look_for_parked(i);
	was_named[i] = table && table->is_complete ? table->has[i] : look(i);
	return was_named[i];
}

static void lull__hazptr_table_empty(struct lull__hazptr_table *table)
{
	for (unsigned i = 0; i < OBJECTS; i++)
		table->has[i] = false;
	table->is_complete = true;
}

static void lull__hazptr_table_insert(struct lull__hazptr_table *table, uintptr_t addr)
{
	table->has[index_of((const void *)addr)] = true;
}

static void lull__hazptr_collect(struct lull__hazptr_table *table)
{
	if (!table)
		return;
	lull__hazptr_table_empty(table);
	for (unsigned i = 0; i < OBJECTS; i++)
		table->has[i] = look(i);
}

static void lull__hazptr_collect_parked(struct lull__hazptr_table *table)
{
	if (!table)
		return;
	lull__hazptr_table_empty(table);
	for (unsigned i = 0; i < OBJECTS; i++)
		table->has[i] = look_for_parked(i);
}

static void lull__hazptr_park(struct lull__hazptr_table *table)
{
	for (unsigned i = 0; i < OBJECTS; i++) {
		assert(!table || table->has[i] == (is_there(i) && was_named[i]));
		if (!is_there(i))
			continue;
		if (table && !table->has[i])
			continue;
		/*
		 * None names it any more, or the one that does is cleared at this very moment, so that the reader misses
		 * PARKED (HAZ-5). Or the reader has moved its protection to another slot just then.
		 */
		lull__hazptr.unpark_event += slot_of[i] == PARKED;
		slot_of[i] = (unsigned)PARKED - choose(3);
	}
	make_fence(true);
}

static struct lull__hazptr_table table;

/* One that is too small is as none. */
struct lull__hazptr_table *lull__own_table(void)
{
	return peculiar == NO_TABLE ? NULL : &table;
}

void lull__own_table_done(void)
{
}

static unsigned wakes; /* of barriers */

void lull__hazptr_wake(void)
{
	wakes++;
}

void lull__futex_wake(uint32_t *word, int how_many)
{
	(void)word, (void)how_many;
}

/* ---- grace periods ---------------------------------------------------------------------------- */

static void period_is_over(lull_rcu_cookie cookie)
{
	for (unsigned i = 0; i < OBJECTS; i++)
		if (i < cookie_put[cookie]) {
			waited[i] = true;
			may_go[i] |= !lull__kind_has_slots(queue->kind);
		}
}

lull_rcu_cookie lull__rcu_cookie(void)
{
	cookie_put[++cookies] = queue->put;
	defer_one();
	return cookies;
}

bool lull__rcu_advance(lull_rcu_cookie cookie)
{
	bool over = chance();

	assert(cookie && cookie <= cookies);
	if (over)
		period_is_over(cookie);
	return over;
}

bool lull__rcu_has_fenced(lull_rcu_cookie cookie)
{
	bool has = !cookie || chance();

	if (has)
		fence_before(cookie_put[cookie], true);
	return has;
}

/* ---- chunks ----------------------------------------------------------------------------------- */

static struct lull__chunk chunk[CHUNKS];
static bool is_used[CHUNKS];

static void *get_memory(size_t size)
{
	assert(size == sizeof(chunk[0]));
	for (unsigned n = 0; n < CHUNKS; n++)
		if (!is_used[n]) {
			if (peculiar == NO_MEMORY)
				return NULL;
			is_used[n] = true;
			return &chunk[n];
		}
	assert(false);
	return NULL;
}

static void give_memory(void *memory)
{
	size_t n = (size_t)((struct lull__chunk *)memory - chunk);

	if (!memory)
		return;
	if ((struct lull_head *)memory >= object && (struct lull_head *)memory < object + OBJECTS) {
		assert(!lull__kind_is_call(queue->kind));
		reclaim(memory);
		return;
	}
	assert(n < CHUNKS && is_used[n]);
	is_used[n] = false;
	memset(&chunk[n], 0xff, sizeof(chunk[n])); /* so that a late use is found */
}

static void call_back(struct lull_head *head)
{
	assert(lull__kind_is_call(queue->kind));
	reclaim(head);
}

/* ---- a queue, and what it should be like ------------------------------------------------------ */

static void any_entry(unsigned i)
{
	struct lull__entry *entry = &chunk[i / LULL__CHUNK_ITEMS].entry[i % LULL__CHUNK_ITEMS];
	bool asked = i < queue->wait + queue->named, slots = lull__kind_has_slots(queue->kind);

	entry->item = is_null[i] ? NULL : &object[i];
	entry->bytes = bytes_of(i);
	if (asked && slots && (i >= queue->wait || (i >= queue->ready && is_odd(i, STALE_ODD, STALE_ALL))))
		entry->bytes |= LULL__ENTRY_NAMED;
	if (asked && slots && (is_odd(i, AWAITED_ODD, AWAITED_ALL) || is_odd(i, BARRIER_ODD, AWAITED_ALL))) {
		entry->bytes |= LULL__ENTRY_AWAITED;
		queue->awaited++;
	}
	queue->put_bytes += bytes_of(i);
}

/* Memory for the chunks of the entries from 0 on, and one perhaps that is on its way back. */
static void make_chunks(void)
{
	unsigned n;

	for (n = 0; n * LULL__CHUNK_ITEMS < queue->put; n++) {
		is_used[n] = true;
		chunk[n].first = n * LULL__CHUNK_ITEMS;
		if (n)
			chunk[n - 1].next = &chunk[n];
		else
			queue->head = &chunk[n];
		queue->tail = &chunk[n];
	}
	if (peculiar == SPARE_CHUNK) {
		queue->spare = &chunk[n];
		is_used[n] = true;
	}
}

/* What is known of the objects, and the entries of those that are here. */
static void make_objects(void)
{
	for (unsigned i = 0; i < OBJECTS; i++) {
		bool asked = i < queue->wait + queue->named;

		object[i].func = call_back;
		if (i < queue->get || i >= queue->put)
			continue;
		is_null[i] = (unsigned)peculiar == i - queue->get && (i < queue->wait || !asked);
		slot_of[i] = i >= queue->wait && asked ? NAMED : NOT_NAMED;
		fenced[i] = waited[i] = may_go[i] = i < queue->ready;
		any_entry(i);
	}
}

/*
 * A queue of any kind in any state that is in order, of up to @most entries in up to three chunks: some are ready, some
 * wait, slots have named some, some are new.
 */
static void any_queue(unsigned most)
{
	uint32_t kind = choose(LULL__KINDS);
	bool slots = lull__kind_has_slots(kind);

	queue = &bag.queue[kind];
	queue->kind = kind;
	queue->done = queue->get = first_get = 1 + choose(LULL__CHUNK_ITEMS);
	queue->ready = queue->get + choose(3);
	queue->wait = queue->ready + choose(most + 1);
	queue->named = slots && queue->ready == queue->wait ? choose(most + 1) : 0;
	queue->put = queue->wait + queue->named + choose(2);
	if (queue->put > queue->get + most)
		never();
	entries_most = most;
	peculiar = (enum peculiar)choose(slots ? PECULIARITIES : ALL_FULL);
	queue->done_bytes = queue->put_bytes = 1000;
	make_chunks();
	make_objects();
	awaited_elsewhere = 5;
	lull__queue_awaited = queue->awaited + awaited_elsewhere;
	cookies = 1;
	cookie_put[1] = queue->wait + queue->named;
	queue->cookie = 1;
	queue->has_light = slots && peculiar != ALL_FULL;
	queue->bag = &bag;
	queue->listed = 1;
	queue->listing[0] = (struct lull__listing){ .queue = queue, .state = LULL__LISTING_IN };
	lull__reclaimer.list = &queue->listing[0];
	memset(&lull__self, 0, sizeof(lull__self));
	lull__self.bag = &bag;
}

/* Check the entry with number @at, and note whose it is. */
static void check_entry(const struct lull__entry *entry, uint64_t at, bool *seen)
{
	bool flagged = (entry->bytes & LULL__ENTRY_NAMED) != 0;
	unsigned i;

	assert(flagged || at < queue->wait || at >= queue->wait + queue->named);
	assert(!flagged || (at >= queue->ready && at < queue->wait + queue->named));
	if (!entry->item)
		return;
	i = index_of(entry->item);
	assert(!seen[i] && !gone[i]);
	seen[i] = true;
	assert(at >= queue->ready || may_go[i]);
	assert((entry->bytes & ~LULL__ENTRY_FLAGS) == bytes_of(i));
	assert(lull__kind_has_slots(queue->kind) || i == at);
	if (at >= queue->wait + queue->named)
		assert(!(entry->bytes & LULL__ENTRY_AWAITED));
}

/* Each object is in the queue once or was reclaimed once, and all that is counted agrees. */
static void check_order(void)
{
	bool seen[OBJECTS] = { false };
	const struct lull__chunk *c = queue->head;
	uint64_t awaited = 0;
	size_t bytes = 0;

	assert(queue->done == queue->get && queue->get <= queue->ready && queue->ready <= queue->wait);
	assert(queue->wait + queue->named <= queue->put && (!queue->named || queue->wait == queue->ready));
	for (uint64_t at = queue->get; at < queue->put; at++) {
		const struct lull__entry *entry;

		while (at >= c->first + LULL__CHUNK_ITEMS)
			c = c->next;
		entry = &c->entry[at % LULL__CHUNK_ITEMS];
		check_entry(entry, at, seen);
		bytes += entry->bytes & ~LULL__ENTRY_FLAGS;
		awaited += (entry->bytes & LULL__ENTRY_AWAITED) != 0;
	}
	assert(c == queue->tail || queue->get == queue->put);
	for (unsigned i = 0; i < OBJECTS; i++)
		assert(seen[i] + gone[i] == (i >= first_get && i < queue->put && !is_null[i]));
	assert(queue->put_bytes - queue->done_bytes == bytes);
	assert(queue->awaited == awaited && !queue->running_awaited);
	assert(lull__queue_awaited == awaited + awaited_elsewhere);
	for (unsigned n = 0, used = 0; n < CHUNKS; n++) { /* none is lost, and none is free that is linked */
		used += is_used[n];
		if (n == CHUNKS - 1)
			for (c = queue->head; c; c = c->next)
				used--;
		assert(n < CHUNKS - 1 || used == (queue->spare != NULL));
	}
}

/* The producer appends an object, or it does not. */
static void defer_one(void)
{
	uint64_t put = queue->put;
	static bool has;

	if (has || put >= first_get + entries_most || !chance())
		return;
	has = true;
	if (lull__queue_push(queue, &object[put], bytes_of((unsigned)put), 0))
		assert(queue->put == put + 1);
	else
		assert(queue->put == put);
}

#endif
