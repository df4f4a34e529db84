/* SPDX-License-Identifier: MIT */
/* The faults that take more than leaving something out; see busted.h. */
#include <malloc.h>
#include <pthread.h>
#include <string.h>

#include "base/fault.h"
#include "base/registry.h"
#include "rcu/grace_period.h"
#include "reclaim/bag.h"
#include "watch/report.h"

enum lull__busted lull__busted;

/* More threads than that share an entry, which makes the fault worse, not better. */
#define SEEN_THREADS 1024

static uint64_t seen[SEEN_THREADS];

/*
 * On x86 a load is an acquire whether one asks for it or not, so that dropping the order changes nothing that can be
 * seen. The language allows such a load to return an older value than the newest, so this returns one where it does
 * harm: a thread that was outside when the scan before looked at it is outside for this scan, too.
 */
static uint64_t stale(const struct lull__thread *thread, uint64_t word)
{
	uint64_t *slot = &seen[(uintptr_t)thread / sizeof(*thread) % SEEN_THREADS];
	uint64_t old = *slot;

	*slot = word;
	return old < LULL__RCU_STEP ? old : word;
}

uint64_t lull__busted_word(const struct lull__thread *thread, uint64_t word)
{
	switch (lull__busted) {
	case LULL__BUSTED_NO_ACQUIRE:
		return stale(thread, word);
	case LULL__BUSTED_SKIP_QUIESCENT:
		return lull_load_relaxed(&thread->state) & LULL__STATE_ONLINE ? 0 : word;
	case LULL__BUSTED_ONE_RECORD_MISSED:
		return thread->next == &lull__registry ? 0 : word;
	default:
		return word;
	}
}

/* Replaces lull__rcu_cookie() where a deferred object asks for a grace period: cookie 0 is always over. */
lull_rcu_cookie lull__busted_cookie(void)
{
	return LULL__BUSTED(EARLY_CALLBACK) ? 0 : lull__rcu_cookie();
}

#define LINGER_NS 200000

/* Sleep without nanosleep(), at which threads can be cancelled. */
void lull__busted_linger(void)
{
	lull__nap(LINGER_NS);
}

/* ---- callbacks --------------------------------------------------------------------------------- */

#define SELDOM 512u

static bool seldom(void)
{
	static uint32_t calls;

	return lull_add_relaxed(&calls, 1u) % SELDOM == 0;
}

void lull__busted_run(struct lull_rcu_head *head)
{
	lull_rcu_func func = head->func;

	if (LULL__BUSTED(CALLBACK_LOST) && seldom())
		return;
	func(head);
	if (LULL__BUSTED(CALLBACK_TWICE) && seldom())
		func(head);
}

/* Empty the queues' entries, so that the thread that reclaims finds nothing in them. */
void lull__busted_drop(struct lull__bag *bag)
{
	if (!LULL__BUSTED(EXIT_DROPS_QUEUE))
		return;
	for (int kind = 0; kind < LULL__KINDS; kind++) {
		struct lull__queue *q = &bag->queue[kind];
		struct lull__chunk *chunk;

		if (!lull__kind_is_call((uint32_t)kind))
			continue;
		lull__lock(&q->lock);
		chunk = q->head;
		for (uint64_t at = q->get; at < q->put; at++) {
			while (at >= chunk->first + LULL__CHUNK_ITEMS)
				chunk = chunk->next;
			chunk->entry[at % LULL__CHUNK_ITEMS].item = NULL;
		}
		lull__unlock(&q->lock);
	}
}

void lull__busted_report_stall(const struct lull_stall *stall)
{
	if (!LULL__BUSTED(STALL_NOT_TOLD))
		lull__report_stall(stall);
}

/* ---- the hash table ---------------------------------------------------------------------------- */

/* Zeroed, as memory of others often is; to crash is what it would do otherwise. */
void lull__busted_free_table(void *table)
{
	if (LULL__BUSTED(HASH_TABLE_AT_ONCE))
		memset(table, 0, malloc_usable_size(table));
	else
		lull_rcu_free(table);
}

/* With a fault in the move, linger in the middle of it now and then. */
void lull__busted_pause(void)
{
	if ((LULL__BUSTED(HASH_MOVE_HEAD) || LULL__BUSTED(HASH_CUT_FIRST)) && seldom())
		lull__busted_linger();
}

/* ---- fork -------------------------------------------------------------------------------------- */

#define KEPT_MOST 64

static struct lull__thread *kept[KEPT_MOST];
static unsigned nr_kept;

static void note_records(void)
{
	struct lull__registry_hold hold;
	struct lull__thread *thread;

	nr_kept = 0;
	lull__registry_enter(&hold);
	lull__for_each_thread(thread)
		if (thread != &lull__self && nr_kept < KEPT_MOST)
			kept[nr_kept++] = thread;
	lull__registry_leave(&hold);
}

/* Put the records back, as if the child had kept the parent's list. */
static void keep_records(void)
{
	while (nr_kept) {
		struct lull__thread *thread = kept[--nr_kept];

		thread->next = lull__registry.next;
		thread->prev = &lull__registry;
		thread->next->prev = thread;
		lull__registry.next = thread;
	}
}

/* After the library's own, which was registered when the program was loaded. */
void lull__busted_begin(void)
{
	if (LULL__BUSTED(FORK_KEEPS_RECORDS))
		pthread_atfork(note_records, NULL, keep_records);
}
