/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * queue.c - a queue of deferrals from the inside: the five numbers that divide its entries, what a scan of the slots
 * moves to the end, what a barrier waits for, and what a forked child finds.
 */
#include <linux/futex.h>

#include <lull/hazptr.h>

#include "own_syscall.h"
#include "threads.h"

#include "../src/hazptr/slots.h"
#include "../src/hazptr/table.h"
#include "../src/reclaim/partition.h"

#if !SANITIZED && defined(__GLIBC__)
#define OWN_MALLOC 1
static __thread bool no_memory;

void *__libc_malloc(size_t size);

void *malloc(size_t size)
{
	return no_memory ? NULL : __libc_malloc(size);
}
#else
#define OWN_MALLOC 0
static bool no_memory;
#endif

/* ---- a queue, and what each of its entries should be --------------------------------------------------------------- */

enum state { FREE, NEW, WAITS, NAMED, READY };

#define ITEMS 700 /* in three chunks and more */

static struct item {
	struct lull_head head;
	enum state state;
	size_t bytes;
	bool awaited;
} items[ITEMS];

static struct lull__queue *q;
static struct lull__hazptr_table *table;
static int runs;
static uint64_t random_state = 1;

static int sleeps_for_owner;
static bool (*instead_of_fence)(const long *arg, long *result);

static bool instead_of_syscall(long number, const long *arg, long *result)
{
	bool (*instead)(const long *, long *) = lull_load_acquire(&instead_of_fence);

	if (number == SYS_futex && (arg[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && arg[0] == (long)(uintptr_t)&q->busy)
		lull_add_release(&sleeps_for_owner, 1);
	return instead && number == SYS_membarrier && instead(arg, result);
}

static unsigned dice(unsigned sides)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(random_state >> 33) % sides;
}

static void run(struct lull_head *head)
{
	struct item *item = lull_container_of(head, struct item, head);

	assert_int_equal(item->state, READY);
	item->state = FREE;
	item->awaited = false;
	runs++;
}

static struct lull__queue *new_queue(enum lull__queue_kind kind)
{
	struct lull__queue *queue = NULL;

	assert_int_equal(posix_memalign((void **)&queue, LULL__CACHELINE, sizeof(*queue)), 0);
	memset(queue, 0, sizeof(*queue));
	queue->kind = kind;
	return queue;
}

static void free_queue(struct lull__queue *queue)
{
	lull__queue_free_chunks(queue);
	free(queue);
}

SETUP
{
	const size_t size = 4096;

	lull_thread_register();
	memset(items, 0, sizeof(items));
	q = new_queue(LULL__HAZPTR_CALLS);
	table = (struct lull__hazptr_table *)calloc(1, sizeof(*table) + size * sizeof(uintptr_t));
	assert_non_null(table);
	table->size = size;
	table->shift = 64 - 12;
	lull__hazptr_table_empty(table);
}

TEARDOWN
{
	assert_int_equal(lull_load_relaxed(&lull__queue_awaited), 0);
	free_queue(q);
	free(table);
}

static struct lull__entry *entry_at(uint64_t number)
{
	struct lull__chunk *chunk = q->head;

	while (number >= chunk->first + LULL__CHUNK_ITEMS)
		chunk = chunk->next;
	assert_true(number >= chunk->first);
	return &chunk->entry[number % LULL__CHUNK_ITEMS];
}

static struct item *item_at(uint64_t number)
{
	return lull_container_of((struct lull_head *)entry_at(number)->item, struct item, head);
}

static size_t count(enum state state)
{
	size_t n = 0;

	for (int i = 0; i < ITEMS; i++)
		n += items[i].state == state;
	return n;
}

/* By its number, an entry is one thing or another. */
static enum state state_at(uint64_t number)
{
	if (number < q->ready)
		return READY;
	if (number < q->wait)
		return WAITS;
	return number < q->wait + q->named ? NAMED : NEW;
}

/* The numbers, the entries between them, and the bytes. */
static void check(void)
{
	size_t bytes = 0, awaited = 0;

	assert_true(q->done == q->get && q->get <= q->ready && q->ready <= q->wait && q->wait + q->named <= q->put);
	assert_int_equal(q->ready - q->get, count(READY));
	assert_int_equal(q->wait - q->ready, count(WAITS));
	assert_int_equal(q->named, count(NAMED));
	assert_int_equal(lull__queue_new(q), count(NEW));
	assert_int_equal(lull__queue_is_empty(q), count(FREE) == ITEMS);
	for (uint64_t at = q->get; at < q->put; at++) {
		const struct item *item = item_at(at);

		assert_int_equal(item->state, state_at(at));
		assert_int_equal(entry_at(at)->bytes & ~LULL__ENTRY_FLAGS, item->bytes);
		assert_int_equal((entry_at(at)->bytes & LULL__ENTRY_AWAITED) != 0, item->awaited);
		bytes += item->bytes;
		awaited += item->awaited;
	}
	assert_int_equal(q->put_bytes - q->done_bytes, bytes);
	assert_int_equal(q->awaited, awaited);
	assert_int_equal(lull_load_relaxed(&lull__queue_awaited), awaited);
}

static void push(struct item *item)
{
	assert_int_equal(item->state, FREE);
	item->head.func = run;
	item->bytes = dice(100000);
	item->state = NEW;
	assert_true(lull__queue_push(q, &item->head, item->bytes, 0));
}

static void ask(void)
{
	lull__queue_ask(q, q->put);
	for (int i = 0; i < ITEMS; i++)
		if (items[i].state == NEW || items[i].state == NAMED)
			items[i].state = WAITS;
}

static void name(const struct item *item)
{
	lull__hazptr_table_insert(table, (uintptr_t)&item->head);
}

static bool is_named(const struct item *item)
{
	return *lull__hazptr_table_find(table, (uintptr_t)&item->head) != 0;
}

static void partition(void)
{
	bool any = q->ready != q->wait;

	lull__partition(q, table);
	for (int i = 0; i < ITEMS && any; i++)
		if (items[i].state == WAITS)
			items[i].state = is_named(&items[i]) ? NAMED : READY;
}

static void run_some(size_t most)
{
	size_t ready = count(READY), bytes = 7, before = q->done_bytes;

	runs = 0;
	assert_int_equal(lull__queue_run(q, most, &bytes), ready < most ? ready : most);
	assert_int_equal(runs, ready < most ? ready : most);
	assert_int_equal(bytes, 7 + q->done_bytes - before);
}

/* Wait as a barrier's pass does. */
static void await_named(void)
{
	uint64_t more = lull__mark_awaited(q), expected = 0;

	for (int i = 0; i < ITEMS; i++)
		if ((items[i].state == NAMED || items[i].state == WAITS) && !items[i].awaited) {
			items[i].awaited = true;
			expected++;
		}
	assert_int_equal(more, expected);
	q->awaited += more;
	lull_add_relaxed(&lull__queue_awaited, more);
}

static void run_all(void)
{
	lull__hazptr_table_empty(table);
	ask();
	partition();
	run_some(SIZE_MAX);
	check();
	assert_int_equal(count(FREE), ITEMS);
}

/* ---- the tests ------------------------------------------------------------------------------------------------------- */

/* Calls in any order lose no entry, and run none twice, or while it is named or waits. */
TEST(numbers)
{
	const int rounds = SANITIZED || under_valgrind() ? 2000 : 20000;

	for (int round = 0; round < rounds; round++) {
		switch (dice(6)) {
		case 0:
			ask();
			break;
		case 1:
			lull__hazptr_table_empty(table);
			for (unsigned i = dice(dice(2) ? 300 : 3); i; i--)
				name(&items[dice(ITEMS)]);
			partition();
			break;
		case 2:
			run_some(dice(2) ? dice(400) : SIZE_MAX);
			break;
		case 3:
			await_named();
			break;
		default:
			for (unsigned i = dice(60); i; i--) {
				struct item *item = &items[dice(ITEMS)];

				if (item->state == FREE)
					push(item);
			}
			break;
		}
		if (round % 8 == 0)
			check();
	}
	run_all();
	assert_true(q->put > (uint64_t)rounds);
}

/* Each set of ten neighbours, across the border between two chunks, half of which a barrier waits for. */
TEST(sift)
{
	enum { FEW = 10 };
	const unsigned first = LULL__CHUNK_ITEMS - FEW / 2;

	for (unsigned i = 0; i < first; i++)
		push(&items[i]);
	ask();
	partition();
	run_some(SIZE_MAX);
	for (unsigned set = 0; set < 1u << FEW; set++) {
		uint64_t put = q->put;

		lull__hazptr_table_empty(table);
		for (unsigned i = 0; i < FEW / 2; i++) {
			push(&items[i]);
			name(&items[i]);
		}
		ask();
		partition();
		await_named();
		check();
		/* Now these, of twice as many. The others are not marked any more, and go. */
		for (unsigned i = FEW / 2; i < FEW; i++)
			push(&items[i]);
		ask();
		lull__hazptr_table_empty(table);
		for (unsigned i = 0; i < FEW; i++)
			if (set >> i & 1)
				name(&items[i]);
		partition();
		check();
		for (uint64_t at = put; at < q->put; at++)
			assert_int_equal((entry_at(at)->bytes & LULL__ENTRY_NAMED) != 0, at >= q->wait);
		run_some(SIZE_MAX);
		check();
		assert_int_equal(count(NAMED), __builtin_popcount(set));
		run_all();
		/* Back to the border. */
		while (q->put % LULL__CHUNK_ITEMS != first)
			push(&items[ITEMS - 1 - q->put % LULL__CHUNK_ITEMS]);
		run_all();
	}
}

/* Entries that only the owner frees, a few at a time. */
TEST(frees)
{
	enum { FREES = 3 * LULL__CHUNK_ITEMS };
	struct lull__queue *frees = new_queue(LULL__HAZPTR_FREES);
	size_t bytes, all = 0, freed = 0;

	for (size_t i = 0; i < FREES; i++)
		assert_true(lull__queue_push(frees, malloc(16), i + 1, 0));
	lull__queue_ask(frees, FREES - 1);
	assert_int_equal(lull__queue_free(frees, 6, &bytes), 0);
	lull__queue_make_ready(frees, FREES - 1);
	while (freed < FREES - 1) {
		size_t most = freed % 5 + 3, expected = 0, got;

		bytes = 0;
		got = lull__queue_free(frees, most, &bytes);
		assert_int_equal(got, FREES - 1 - freed < most ? FREES - 1 - freed : most);
		for (size_t i = 0; i < got; i++)
			expected += ++freed;
		assert_int_equal(bytes, expected);
		all += bytes;
		assert_true(frees->done == freed && frees->get == freed && frees->done_bytes == all);
	}
	assert_int_equal(lull__queue_free(frees, 6, &bytes), 0);
	assert_int_equal(lull__queue_new(frees), 1);
	assert_int_equal(frees->put_bytes - frees->done_bytes, FREES);
	lull__queue_ask(frees, FREES);
	lull__queue_make_ready(frees, FREES);
	assert_int_equal(lull__queue_free(frees, SIZE_MAX, &bytes), 1);
	assert_int_equal(bytes, FREES);
	assert_true(lull__queue_is_empty(frees));
	free_queue(frees);
}

/* The child counts what was being reclaimed as done, with its bytes, and knows of no barriers and no slots. */
TEST(fork_child)
{
	size_t rest = 0, all;

	for (int i = 0; i < 600; i++)
		push(&items[i]);
	ask();
	for (int i = 500; i < 600; i++)
		name(&items[i]);
	partition();
	await_named();
	run_some(20);
	check();
	all = q->put_bytes;
	q->get = 300; /* in another chunk than the first */
	q->running_awaited = 3;
	for (uint64_t at = q->get; at < q->put; at++)
		rest += item_at(at)->bytes;
	lull_store_relaxed(&lull__queue_awaited, (uint64_t)0);

	lull__queue_fork_child(q, true); /* the callback goes on in the child */
	assert_int_equal(q->done, 20);
	q->running_awaited = 3;
	lull__queue_fork_child(q, false);
	assert_int_equal(q->done, 300);
	assert_int_equal(q->put_bytes, all);
	assert_int_equal(q->put_bytes - q->done_bytes, rest);
	assert_true(q->named == 0 && q->awaited == 0 && q->running_awaited == 0 && q->parked == LULL__NOT_PARKED);
	for (uint64_t at = q->get; at < q->put; at++)
		assert_int_equal(entry_at(at)->bytes & LULL__ENTRY_FLAGS, 0);
	/* And frees or runs each of the others. */
	for (uint64_t at = q->get; at < q->put; at++) {
		item_at(at)->state = READY;
		item_at(at)->awaited = false;
	}
	lull__queue_ask(q, q->put);
	lull__queue_make_ready(q, q->put);
	runs = 0;
	assert_int_equal(lull__queue_run(q, SIZE_MAX, &rest), 300);
	assert_int_equal(runs, 300);
}

/* ---- parked ---------------------------------------------------------------------------------------------------------- */

static bool is_parked_in(const struct lull_hazptr *h)
{
	return lull_load_relaxed(&h->state) & LULL__HAZPTR_PARKED;
}

/* The slots that name an entry are asked to tell when they change, and the queue sleeps until one of them does. */
TEST(park)
{
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();
	struct lull_hazptr *first = lull_hazptr_alloc(ctx), *second = lull_hazptr_alloc(ctx), *other = lull_hazptr_alloc(ctx);
	struct item stranger, *named[3] = { &items[0], &items[1], &stranger };

	lull_hazptr_protect(first, named[0], head);
	lull_hazptr_protect(second, named[1], head);
	lull_hazptr_protect(other, named[2], head);
	for (int i = 0; i < 3; i++)
		push(&items[i]);
	ask();
	lull__hazptr_collect(table);
	partition();
	assert_int_equal(q->named, 2);
	run_some(SIZE_MAX);
	assert_false(lull__queue_is_parked(q));

	/* One clears its slot just before it is asked. */
	lull_hazptr_clear(second);
	assert_true(lull__park_named(q));
	assert_int_equal(q->named, 1);
	assert_true(is_parked_in(first) && !is_parked_in(second) && !is_parked_in(other));
	items[1].state = READY;
	assert_int_equal(q->ready - q->get, 1);
	assert_false(lull__queue_is_parked(q)); /* one is ready */
	run_some(SIZE_MAX);
	assert_true(lull__queue_is_parked(q));
	assert_int_equal(lull__queue_needs_recheck(q), lull_fence_strategy() == LULL_FENCE_FULL);
	lull_hazptr_clear(other);
	lull_hazptr_protect(second, named[2], head);
	assert_true(lull__queue_is_parked(q));

	push(&items[5]); /* something new */
	assert_false(lull__queue_is_parked(q));
	ask();
	lull__hazptr_collect(table);
	partition();
	run_some(SIZE_MAX);
	assert_true(lull__park_named(q) && lull__queue_is_parked(q));

	/* It protects something else: the queue is to be looked at, and nothing is named. */
	lull_hazptr_protect(first, named[2], head);
	assert_false(is_parked_in(first));
	assert_false(lull__queue_is_parked(q));
	assert_true(lull__park_named(q));
	assert_int_equal(q->named, 0);
	assert_int_equal(q->parked, LULL__NOT_PARKED);
	assert_false(lull__park_named(q));
	items[0].state = READY;
	run_some(SIZE_MAX);
	check();
	lull_hazptr_free(ctx, other);
	lull_hazptr_free(ctx, second);
	lull_hazptr_free(ctx, first);
}

/* Without memory for a table of its own a thread asks the slots. */
static void drop_table(void)
{
	free(lull__own_bag()->table);
	lull__own_bag()->table = NULL;
	no_memory = true;
	assert_null(lull__own_table());
}

static void get_table(void)
{
	no_memory = false;
	assert_non_null(lull__own_table());
}

/*
 * A reader has found the pointer to an object before that was retired, and is slow: it names the object when the slots have
 * just been told to tell, looks again, and finds that the pointer has changed. Its slot has not been told. The one that
 * named the object in the last scan names nothing any more.
 */
static int late_locked, late_looked;

static void *be_late(void *arg)
{
	struct lull__lock *lock = &lull__hazptr.shard[LULL__HAZPTR_SHARDS - 1].lock;
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();
	struct lull_hazptr *h = lull_hazptr_alloc(ctx);

	(void)arg;
	lull__lock(lock);
	lull_store_release(&late_locked, 1);
	/* The walk that tells has been to all threads' slots, and sleeps. */
	AWAIT(lull_load_relaxed(&lock->word) == 2);
	lull__hazptr_set(h, (uintptr_t)&items[0].head);
	lull__unlock(lock);
	await_flag(&late_looked, 1);
	lull_hazptr_free(ctx, h);
	return NULL;
}

static void come_late(bool has_table)
{
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();
	struct lull_hazptr *h = lull_hazptr_alloc(ctx);
	struct item *named = &items[0];
	pthread_t thread;

	late_locked = late_looked = 0;
	lull_hazptr_protect(h, named, head);
	push(&items[0]);
	ask();
	lull__hazptr_collect(table);
	partition();
	assert_int_equal(q->named, 1);
	lull_hazptr_clear(h);
	assert_int_equal(pthread_create(&thread, NULL, be_late, NULL), 0);
	await_flag(&late_locked, 1);
	if (!has_table)
		drop_table();
	assert_true(lull__park_named(q));
	if (!has_table)
		get_table();
	assert_int_equal(q->named, 1); /* the late reader's slot names it, as far as one can tell */
	assert_false(lull__queue_is_parked(q));

	/* The next pass finds that slot. */
	assert_true(lull__park_named(q));
	assert_true(lull__queue_is_parked(q));
	lull_store_release(&late_looked, 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_false(lull__queue_is_parked(q));
	run_all();
	lull_hazptr_free(ctx, h);
}

TEST(late_reader)
{
	come_late(true);
	if (OWN_MALLOC && !under_valgrind())
		come_late(false);
}

/* Without a table an object is parked all the same. */
TEST(park_without_table)
{
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();
	struct lull_hazptr *h = lull_hazptr_alloc(ctx), *untold = lull_hazptr_alloc(ctx);
	struct item *named[2] = { &items[0], &items[1] };

	if (!OWN_MALLOC || under_valgrind())
		SKIP(OWN_MEMORY);
	lull_hazptr_protect(h, named[0], head);
	lull_hazptr_protect(untold, named[1], head);
	push(&items[0]);
	ask();
	lull__hazptr_collect(table);
	partition();
	drop_table();
	assert_true(lull__park_named(q));
	assert_true(lull__queue_is_parked(q) && is_parked_in(h));
	get_table();
	assert_true(lull__hazptr_is_named(NULL, &items[0].head, LULL__HAZPTR_PARKED));
	lull_hazptr_clear(untold);
	lull_hazptr_protect(untold, named[1], head);
	assert_true(lull__hazptr_is_named(NULL, &items[1].head, 0));
	assert_false(lull__hazptr_is_named(NULL, &items[1].head, LULL__HAZPTR_PARKED));
	lull_hazptr_free(ctx, untold);
	lull_hazptr_free(ctx, h);
	assert_false(lull__queue_is_parked(q));
	run_all();
}

/*
 * Two threads park, and the late reader's slot is told by the other one, whose fence is yet to come: the reader may have
 * looked at the slot's state before, and what it stores then may be on its way. So this does not park the object.
 */
static pthread_t parks_first;
static struct lull_hazptr *late;
static struct lull__queue *parked_by_another;
static int has_fenced, has_looked;

static bool at_fence(const long *arg, long *result)
{
	if (pthread_equal(pthread_self(), parks_first)) {
		lull_store_release(&instead_of_fence, NULL);
		*result = syscall(SYS_membarrier, arg[0], arg[1], arg[2]);
		lull_store_release(&instead_of_fence, at_fence);
		lull_store_release(&has_fenced, 1);
		AWAIT((lull_load_relaxed(&late->state) & LULL__HAZPTR_PARKED) ||
		      lull_load_relaxed(&lull__reclaimer.park_lock.word) == 2);
		return true;
	}
	await_flag(&has_looked, 1);
	return false;
}

static void *parks_another(void *unused)
{
	lull_thread_register();
	lull_store_release(&late, lull_hazptr_alloc(lull_hazptr_thread_context()));
	await_flag(&has_fenced, 1);
	lull__hazptr_set(late, (uintptr_t)&items[0].head);
	drop_table(); /* so it tells all slots */
	assert_true(lull__park_named(parked_by_another));
	get_table();
	assert_true(lull__queue_is_parked(parked_by_another));
	lull_hazptr_free(lull_hazptr_thread_context(), late);
	return unused;
}

TEST(two_park)
{
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();
	struct item *named = &items[0];
	struct lull_hazptr *h, *other;
	void *memory;
	pthread_t thread;

	if (lull_fence_strategy() != LULL_FENCE_MEMBARRIER)
		SKIP("the test stops a fence in its system call");
	if (!OWN_MALLOC || under_valgrind())
		SKIP(OWN_MEMORY);
	memory = malloc(16);
	h = lull_hazptr_alloc(ctx);
	other = lull_hazptr_alloc(ctx);
	has_fenced = has_looked = 0;
	late = NULL;
	thread = start_thread(parks_another, NULL);
	AWAIT(lull_load_acquire(&late));
	parked_by_another = new_queue(LULL__HAZPTR_FREES);
	assert_true(lull__queue_push(parked_by_another, memory, 16, 0));
	lull__queue_ask(parked_by_another, 1);
	lull_hazptr_protect_ptr(other, memory);
	lull_hazptr_protect(h, named, head);
	push(&items[0]);
	ask();
	lull__hazptr_collect(table);
	lull__partition(parked_by_another, table);
	partition();
	assert_true(q->named == 1 && parked_by_another->named == 1);
	lull_hazptr_clear(h);
	parks_first = pthread_self();
	lull_store_release(&instead_of_fence, at_fence);
	assert_true(lull__park_named(q));
	assert_int_equal(q->named, 1);
	lull_store_release(&late->addr, (uintptr_t)0); /* now it has come, unheard */
	assert_false(lull__queue_is_parked(q));
	lull_store_release(&has_looked, 1);
	join_thread(thread);
	lull_store_release(&instead_of_fence, NULL);
	lull_hazptr_free(ctx, other);
	lull__queue_make_ready(parked_by_another, 1);
	assert_int_equal(lull__queue_free(parked_by_another, 1, &(size_t){ 0 }), 1);
	free_queue(parked_by_another);
	lull_hazptr_free(ctx, h);
	run_all();
}

/* Another queue that waits, and of which nothing is named, goes on waiting for the same. */
TEST(park_beside_another)
{
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();
	struct lull_hazptr *slot = lull_hazptr_alloc(ctx);
	struct lull__queue *other = new_queue(LULL__BRIDGE_FREES);
	struct item *named = &items[0];

	assert_true(lull__queue_push(other, malloc(16), 16, 0));
	lull__queue_ask(other, 1);
	lull_hazptr_protect(slot, named, head);
	push(&items[0]);
	ask();
	lull__hazptr_collect(table);
	partition();
	q->next_taken = other;
	assert_true(lull__park_named(q));
	assert_true(lull__queue_is_parked(q) && !lull__queue_is_parked(other));
	assert_true(other->ready == 0 && other->wait == 1 && other->parked == LULL__NOT_PARKED);
	q->next_taken = NULL;
	lull_hazptr_free(ctx, slot);
	lull__queue_make_ready(other, 1);
	assert_int_equal(lull__queue_free(other, 1, &(size_t){ 0 }), 1);
	free_queue(other);
	run_all();
}

/* A child may find a chunk without an entry, and an entry without an item: it adds no second one, and runs nothing. */
TEST(forked_amid)
{
	const struct lull__chunk *chunk;

	assert_true(lull__queue_add_chunk(q));
	chunk = q->tail;
	assert_true(lull__queue_add_chunk(q));
	assert_ptr_equal(q->tail, chunk);
	assert_ptr_equal(q->head, chunk);
	for (int i = 0; i < 3; i++)
		push(&items[i]);
	ask();
	partition();
	entry_at(1)->item = NULL;
	items[1].state = FREE;
	runs = 0;
	assert_int_equal(lull__queue_run(q, SIZE_MAX, &(size_t){ 0 }), 3);
	assert_int_equal(runs, 2);
}

/* ---- the right to consume --------------------------------------------------------------------------------------------- */

static int owner_is_in, owner_may_leave;

static void *consumes_as_owner(void *unused)
{
	lull_thread_register();
	assert_true(lull__queue_owner_enter(q));
	lull_store_release(&owner_is_in, 1);
	await_flag(&owner_may_leave, 1);
	lull__queue_owner_leave(q);
	return unused;
}

static void *takes_from_owner(void *unused)
{
	lull__lock(&q->lock);
	lull__queue_revoke(q);
	lull_fence_heavy();
	lull__queue_await_owner(q, LULL__NEVER);
	assert_int_equal(lull_load_acquire(&owner_may_leave), 1);
	assert_int_equal(lull_load_relaxed(&q->busy), 0);
	return unused;
}

/* A taker of a queue sleeps while its owner consumes, and is woken. The owner gets it back when it is released. */
TEST(take_from_owner)
{
	pthread_t owner, taker;

	sleeps_for_owner = owner_is_in = owner_may_leave = 0;
	owner = start_thread(consumes_as_owner, NULL);
	await_flag(&owner_is_in, 1);
	taker = start_thread(takes_from_owner, NULL);
	AWAIT(lull_load_acquire(&sleeps_for_owner));
	lull_store_release(&owner_may_leave, 1);
	join_thread(taker);
	join_thread(owner);
	assert_false(lull__queue_owner_enter(q));
	lull__queue_release(q);
	assert_true(lull__queue_owner_enter(q));
	lull__queue_owner_leave(q);
}

BEFORE_ALL
{
	set_stall_ms(0);
	alarm(100);
}
