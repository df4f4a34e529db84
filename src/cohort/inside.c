/* SPDX-License-Identifier: MIT */
/*
 * inside.c - see inside.h.
 */
#include <limits.h>

#include "../base/callback.h"
#include "../base/lock.h"
#include "../reclaim/backlog.h"
#include "../reclaim/overflow.h"
#include "../reclaim/pass.h"
#include "cohort_life.h"
#include "inside.h"

#define MEMBER_KINDS (1u << LULL__CALLS | 1u << LULL__HAZPTR_CALLS | 1u << LULL__BRIDGE_CALLS)
#define LENT_NAP_NS  10000000u /* the longest sleep between two looks whether others have returned */

/* LOCK-1: what a thread that opens has done to its queues before what others do there, and the reverse. */
static struct {
	struct lull__lock lock;
	struct lull__opened *first;
} opened_all;

static bool has_members(const struct lull__queue *q)
{
	return MEMBER_KINDS >> q->kind & 1;
}

/* ---- one queue, which the caller may consume, or which is open and locked ------------------------------ */

/* A place in a queue. */
struct spot {
	struct lull__chunk *chunk;
	uint64_t at;
};

/* Begin at the first entry of @q that is not taken; with @newest not before its last chunk, for its owner. */
static struct spot first_spot(struct lull__queue *q, bool newest)
{
	struct spot spot = { newest ? q->tail : q->head, q->get };

	if (newest && spot.chunk->first > spot.at)
		spot.at = spot.chunk->first;
	return spot;
}

/* Return the next entry of @m before @end, and step behind it; NULL: there is none. */
static struct lull__entry *next_member(struct spot *spot, uint64_t end, const struct lull__members *m)
{
	while (spot->at < end) {
		struct lull__entry *entry;

		if (spot->at >= spot->chunk->first + LULL__CHUNK_ITEMS)
			spot->chunk = spot->chunk->next;
		entry = &spot->chunk->entry[spot->at++ % LULL__CHUNK_ITEMS];
		if (entry->item && m->is_one(entry->item, m->cohort))
			return entry;
	}
	return NULL;
}

/* Take the item of @entry out, and return what was there: from here on a child that is forked does not run it. */
static struct lull__entry take_member(struct lull__entry *entry)
{
	struct lull__entry taken = *entry;

	lull_store_relaxed(&entry->item, NULL);
	lull_compiler_barrier();
	LULL__CHECK(reclaimed, taken.item);
	LULL__CHECK(awaited, taken.item, false);
	return taken;
}

/* Run what was in an entry; a drain that counts it as a descendant waits until its place is let go. */
static void run_taken_out(struct lull__entry entry)
{
	struct lull_head *head = (struct lull_head *)entry.item;
	uint64_t process = lull__reclaim_process();
	bool outer = lull__in_drained;

	lull__in_drained = (entry.bytes & LULL__ENTRY_DRAINED) != 0;
	lull__tsan_batch();
	LULL__CALLBACK("a deferred callback", head->func(head));
	lull__tsan_release(LULL__TSAN_DEFERRED);
	lull__in_drained = outer && process == lull__reclaim_process(); /* else it has forked: a child counts anew */
}

/* Run the members in @q that are ready. Returns how many; *@waiting: so many more are not ready. */
static size_t run_in_queue(struct lull__queue *q, const struct lull__members *m, bool newest, size_t *waiting)
{
	uint64_t put = lull__queue_put(q);
	struct lull__entry *entry;
	struct spot spot;
	size_t ran = 0;

	if (q->get == put)
		return 0;
	spot = first_spot(q, newest);
	while ((entry = next_member(&spot, put, m)) != NULL) {
		if (spot.at > q->ready) {
			++*waiting;
			continue;
		}
		run_taken_out(take_member(entry));
		ran++;
	}
	return ran;
}

/* Let go of the entries at the front of @q whose places are empty: the thread's own queue stays short. */
static void drop_empty(struct lull__queue *q)
{
	struct spot spot = { q->head, q->get };
	bool outer = lull__in_drained;
	size_t empty = 0, bytes = 0;

	for (; spot.at < q->ready; empty++) {
		if (spot.at >= spot.chunk->first + LULL__CHUNK_ITEMS)
			spot.chunk = spot.chunk->next;
		if (spot.chunk->entry[spot.at++ % LULL__CHUNK_ITEMS].item)
			break;
	}
	lull__in_drained = false;
	lull__backlog_sub(q, lull__queue_run(q, empty, &bytes), bytes);
	lull__in_drained = outer;
}

/* ---- where members may be ------------------------------------------------------------------------------ */

/* Run those in @q, which the calling thread owns, and may have in hand. */
static size_t run_in_own(struct lull__queue *q, const struct lull__members *m, size_t *waiting)
{
	bool mine = lull_load_relaxed(&q->holder) == &lull__self;
	struct lull__queue *before = NULL;
	size_t ran;

	if (lull__queue_is_empty(q) || (!mine && !lull__trylock(&q->lock)))
		return 0;
	if (!mine) {
		q->next_taken = NULL;
		before = lull__hold(q);
	}
	lull__queue_poll(q);
	ran = run_in_queue(q, m, true, waiting);
	if (!mine) {
		lull__unhold(q, before);
		drop_empty(q);
		lull__queue_release(q);
	}
	return ran;
}

/* Run those in all queues that the calling thread has in hand, or can have. */
static size_t run_in_all(const struct lull__members *m)
{
	struct lull__queue *taken = lull__take_due(PASS_ALL, MEMBER_KINDS, false), *before = lull__hold(taken);
	size_t ran = 0, waiting = 0;

	for (struct lull__queue *q = lull__in_hand; q && m->left(m->cohort); q = q->next_held) {
		if (!has_members(q))
			continue;
		lull__queue_poll(q);
		ran += run_in_queue(q, m, false, &waiting);
	}
	lull__unhold(taken, before);
	lull__give_back(taken);
	return ran;
}

/* Take one of @m out of what others have opened. *@from: whose it is. With the lock. Returns whether there is one. */
static bool take_lent(const struct lull__members *m, struct lull__opened **from, struct lull__entry *taken)
{
	for (struct lull__opened *o = opened_all.first; o; o = o->next) {
		for (struct lull__queue *q = o->held; q; q = q->next_held) {
			struct lull__entry *entry;
			struct spot spot;

			if (!has_members(q))
				continue;
			lull__queue_poll(q); /* its owner sleeps, perhaps until what others run has returned */
			spot = (struct spot){ q->head, q->get };
			entry = next_member(&spot, q->ready, m);
			if (!entry)
				continue;
			o->lent++;
			*from = o;
			*taken = take_member(entry);
			return true;
		}
	}
	return false;
}

/* Return where @opened is in the list; NULL: nowhere, for this is a child that was forked since. With the lock. */
static struct lull__opened **find_opened(const struct lull__opened *opened)
{
	struct lull__opened **at = &opened_all.first;

	while (*at && *at != opened)
		at = &(*at)->next;
	return *at ? at : NULL;
}

static size_t run_lent(const struct lull__members *m)
{
	struct lull__opened *from = NULL;
	struct lull__entry entry;
	size_t ran = 0;
	bool any;

	while (lull_load_relaxed(&opened_all.first)) {
		lull__lock(&opened_all.lock);
		any = take_lent(m, &from, &entry);
		lull__unlock(&opened_all.lock);
		if (!any)
			break;
		run_taken_out(entry);
		ran++;
		lull__lock(&opened_all.lock);
		if (find_opened(from)) {
			lull_store_relaxed(&from->lent, from->lent - 1);
			lull__futex_wake(&from->lent, INT_MAX);
		}
		lull__unlock(&opened_all.lock);
	}
	return ran;
}

bool lull__cohort_run_inside(const struct lull__members *m)
{
	static const int kinds[] = { LULL__CALLS, LULL__HAZPTR_CALLS, LULL__BRIDGE_CALLS };
	struct lull__bag *bag = lull__self.bag;
	size_t ran = 0, waiting = 0;

	for (int i = 0; bag && i < 3; i++)
		ran += run_in_own(&bag->queue[kinds[i]], m, &waiting);
	if (m->left(m->cohort) > waiting)
		ran += run_in_all(m) + run_lent(m) + lull__overflow_run_chosen(m->is_one, m->cohort);
	return ran != 0;
}

/* ---- a thread that waits ------------------------------------------------------------------------------- */

void lull__cohort_open(struct lull__opened *opened)
{
	opened->held = lull__in_hand;
	opened->lent = 0;
	if (!opened->held)
		return;
	lull__lock(&opened_all.lock);
	opened->next = opened_all.first;
	lull_store_relaxed(&opened_all.first, opened);
	lull__unlock(&opened_all.lock);
}

/* Returns whether all that others run has returned; then @opened is closed. */
static bool close_now(struct lull__opened *opened, uint32_t *lent)
{
	struct lull__opened **at;

	lull__lock(&opened_all.lock);
	at = find_opened(opened);
	*lent = at ? opened->lent : 0;
	if (at && !*lent)
		lull_store_relaxed(at, opened->next);
	lull__unlock(&opened_all.lock);
	return !*lent;
}

void lull__cohort_close(struct lull__opened *opened)
{
	uint32_t lent;

	while (opened->held && !close_now(opened, &lent))
		lull__futex_wait(&opened->lent, lent, lull__now_ns() + LENT_NAP_NS);
}

void lull__cohort_inside_fork_child(void)
{
	opened_all.lock.word = 0;
	opened_all.first = NULL;
}
