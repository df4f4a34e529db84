/* SPDX-License-Identifier: MIT */
/*
 * list.c - the list of queues in which something waits. See bag.h.
 */
#include <limits.h>

#include "../base/process.h"
#include "../base/registry.h"
#include "bag.h"

/* ---- walks -------------------------------------------------------------------------------------- */

/*
 * A handler may fork between any two instructions of these functions, and the walk goes on in the child. There the count
 * begins anew, with a number for the process above it, and 1 if the only thread has a walk, which it then takes off at the
 * end of its outermost one (walks_counted). What it added itself before the fork it must not take off; the sum that it
 * added to says which process that was. So `walks` is more than 0 whenever the thread may look at a queue.
 */

uint64_t lull__walk_enter(void)
{
	uint64_t before;

	lull_store_relaxed(&lull__self.walks, (uint16_t)(lull__self.walks + 1));
	lull_compiler_barrier();
	before = lull_add_relaxed(&lull__reclaimer.walkers, (uint64_t)1);
	/*
	 * ORDER REC-14: the count of walkers before the list; pairs with REC-14 in lull__sweep()
	 * (take out, heavy, count the walkers); without it a bag is freed under a thread that has found one of its queues;
	 * model/reclaim/bag-walk.tpl
	 */
	lull_fence_light();
	return before / LULL__WALKS_OF;
}

void lull__walk_leave(uint64_t process)
{
	uint64_t now, at, mine;
	uint16_t left = (uint16_t)(lull__self.walks - 1), counted = 0;

	lull_compiler_barrier();
	lull_store_relaxed(&lull__self.walks, left);
	lull_compiler_barrier();
	now = lull_load_relaxed(&lull__reclaimer.walkers);
	at = now / LULL__WALKS_OF;
	lull_compiler_barrier();
	if (!left)
		counted = lull_xchg_relaxed(&lull__self.walks_counted, (uint16_t)0); /* or the walk of a handler has */
	do {
		mine = (now / LULL__WALKS_OF == process) + (now / LULL__WALKS_OF == at ? counted : 0u);
		/*
		 * ORDER REC-15: the walker's last look at a queue before it is no walker; pairs with REC-15 in
		 * lull__sweep(); without it a bag is freed while it is read; model/reclaim/bag-free.litmus
		 */
	} while (!lull_cas_release(&lull__reclaimer.walkers, &now, now - mine));
}

/* ---- what has not been added to the backlog ------------------------------------------------------ */

/*
 * Its owner adds what is deferred to @q only now and then, and may never defer again. So the backlog is lent the rest while
 * @q is out of the list: @items, with @bytes, in place of what it was lent before.
 */
static void lend(struct lull__queue *q, uint64_t items, uint64_t bytes)
{
	bytes -= lull_xchg_relaxed(&q->lent_bytes, bytes); /* first: who sees `lent` takes both back */
	items -= lull_xchg_relaxed(&q->lent, items);
	if (q->kind == LULL__HAZPTR_FREES)
		lull_add_relaxed(&lull__reclaimer.retired, (size_t)items);
	lull_add_relaxed(&lull__reclaimer.items, (size_t)items);
	lull_add_relaxed(&lull__reclaimer.bytes, (size_t)bytes);
}

/*
 * The rest is less than nothing where the owner has reclaimed in its last turns. It may defer again meanwhile: then what is
 * read does not fit together, and nothing is lent.
 */
static void lend_rest(struct lull__queue *q)
{
	uint64_t items = lull_load_relaxed(&q->done) - lull_load_relaxed(&q->in_backlog);
	uint64_t bytes = lull_load_relaxed(&q->done_bytes) - lull_load_relaxed(&q->in_backlog_bytes);
	bool fits = items && items + 4 * (uint64_t)LULL__CHECK_EVERY < 8 * (uint64_t)LULL__CHECK_EVERY;

	lend(q, fits ? items : 0, fits ? bytes : 0);
}

void lull__queue_take_back(struct lull__queue *q)
{
	if (lull_unlikely(lull_load_relaxed(&q->lent)))
		lend(q, 0, 0);
}

/* ---- the list of queues in which something waits -------------------------------------------------- */

/* Signals are blocked, so that no child finds a queue of its only thread halfway in. */
__attribute__((noinline)) static void list_now(struct lull__queue *q)
{
	uint32_t no = 0;
	sigset_t saved;

	lull__block_signals(&saved);
	if (lull_cas_relaxed(&q->listed, &no, 1u)) {
		/*
		 * ORDER REC-17: OUT, after the last walker's use of this place, before its reuse; pairs with REC-17 in
		 * settle(); without it the walker is led elsewhere; model/reclaim/place.litmus
		 */
		struct lull__listing *at = &q->listing[lull_load_acquire(&q->listing[0].state) != LULL__LISTING_OUT];

		lull_store_relaxed(&at->state, (uint32_t)LULL__LISTING_IN);
		lull_add_relaxed(&lull__reclaimer.listed, 1u);
		at->next = lull_load_relaxed(&lull__reclaimer.list);
		/*
		 * Every change at the head is a swap, so a thread that acquires the newest place acquires all.
		 * ORDER REC-6: the queue before its link; pairs with REC-6 in lull__for_each_queue(); without
		 * it a walker sees garbage; model/reclaim/queue.litmus
		 */
		while (!lull_cas_release(&lull__reclaimer.list, &at->next, at))
			;
		lull__queue_take_back(q);
	}
	lull__restore_signals(&saved);
}

void lull__queue_list(struct lull__queue *q)
{
	if (lull_unlikely(!lull_load_relaxed(&q->listed)))
		list_now(q);
}

void lull__queues_heed(void)
{
	struct lull__listing *at;
	struct lull__queue *q;
	uint64_t process = lull__walk_enter();

	lull__for_each_queue(at, q)
		/*
		 * ORDER REC-16: the reclaimer's `sleep` before `heed`; pairs with REC-16 in attend(); without it an
		 * owner takes `heed` back and believes that the reclaimer is awake; model/reclaim/heed-later.litmus
		 */
		lull_store_release(&q->heed, 1u);
	lull__walk_leave(process);
}

/* ---- sweeps --------------------------------------------------------------------------------------- */

static bool has_idle_places(void)
{
	uint32_t listed = lull_load_relaxed(&lull__reclaimer.listed);

	return listed > LULL__SPARE_PLACES && lull_load_relaxed(&lull__reclaimer.idle) > listed / 2;
}

bool lull__is_to_sweep(void)
{
	return lull_load_relaxed(&lull__reclaimer.left) || has_idle_places() || lull__bags_to_spare();
}

/*
 * Take @at, to which *@link leads, out of the list if its queue is empty and its other place is free. No thread takes
 * the queue meanwhile. Returns the queue, or NULL.
 */
static struct lull__queue *unlist(struct lull__listing *at, struct lull__listing **link)
{
	struct lull__queue *q = at->queue;
	struct lull__listing *was = at;

	/* The last: the watch has not seen yet that its last callback is over, and looks for it in the list. */
	if (!lull__queue_is_empty(q) || lull_load_relaxed(&q->listing[at == &q->listing[0]].state) != LULL__LISTING_OUT ||
	    lull_load_relaxed(&q->watched) || !lull__trylock(&q->lock))
		return NULL;
	lull_store_relaxed(&at->state, (uint32_t)LULL__LISTING_LEFT); /* first, for a child: see lull__bags_fork_child() */
	/* New ones come in at the head at any time, so *link may lead to a new one by now. */
	if (!lull_cas_relaxed(link, &was, at->next)) {
		lull_store_relaxed(&at->state, (uint32_t)LULL__LISTING_IN);
		lull__unlock_wake(&q->lock, INT_MAX);
		return NULL;
	}
	lull_sub_relaxed(&lull__reclaimer.listed, 1u);
	lull_store_relaxed(&q->listed, 0u);
	/*
	 * ORDER REC-16: `listed` before `heed`; pairs with REC-16 in attend(); without it the owner
	 * takes `heed` back, believes that its queue is listed, and what it defers is found by nobody;
	 * model/reclaim/heed-later.litmus
	 */
	lull_store_release(&q->heed, 1u);
	return q;
}

/* Take empty queues out of the list. They are linked by next_taken, and locked. */
static struct lull__queue *unlist_idle(void)
{
	struct lull__listing **link = &lull__reclaimer.list, *at;
	struct lull__queue *out = NULL, *q;

	while ((at = lull_load_acquire(link)) != NULL) { /* REC-6 */
		q = unlist(at, link);
		if (!q) {
			link = &at->next;
			continue;
		}
		q->next_taken = out;
		out = q;
	}
	return out;
}

/* Let the queues in @out stay out of the list, but for those to which an entry came before the fence. */
static void part_with(struct lull__queue *out)
{
	while (out) {
		struct lull__queue *q = out;
		uint64_t done = lull_load_relaxed(&q->done), done_bytes = lull_load_relaxed(&q->done_bytes);

		out = q->next_taken;
		lull__reclaimer.folded_items += done - q->folded;
		lull__reclaimer.folded_bytes += done_bytes - q->folded_bytes;
		lull_store_relaxed(&q->folded, done);
		lull_store_relaxed(&q->folded_bytes, done_bytes);
		q->next_left = lull__reclaimer.left;
		lull_store_relaxed(&lull__reclaimer.left, q);
		if (lull__queue_is_empty(q)) {
			lend_rest(q);
		} else {
			lull__queue_list(q);
			/*
			 * ORDER REC-19: the queue in the list before `relisted`; pairs with REC-2 in lull__notify()
			 * (load `relisted`, light, `sleep`); without it a thread takes the reclaimer for awake,
			 * and that has not found the queue; model/reclaim/relisted.tpl
			 */
			lull_store_release(&lull__reclaimer.relisted, 1u);
		}
		lull__unlock_wake(&q->lock, INT_MAX);
	}
}

/* No walker is left that could be at a place that is LEFT. */
static void settle(void)
{
	struct lull__queue *q = lull__reclaimer.left;

	lull_store_relaxed(&lull__reclaimer.left, (struct lull__queue *)NULL);
	for (; q; q = q->next_left)
		for (int i = 0; i < 2; i++)
			if (lull_load_relaxed(&q->listing[i].state) == LULL__LISTING_LEFT)
				/* ORDER REC-17: the walkers' end before OUT; pairs with REC-17 in list_now(); without
				 * it as there; model/reclaim/place.litmus */
				lull_store_release(&q->listing[i].state, (uint32_t)LULL__LISTING_OUT);
}

void lull__sweep(void)
{
	struct lull__queue *out;
	sigset_t saved;

	if (!lull__is_to_sweep())
		return;
	lull__init(); /* an unnoticed child makes the lock free before it takes it */
	lull__block_signals(&saved); /* no child's only thread is in a sweep */
	if (!lull__trylock(&lull__reclaimer.sweep_lock)) {
		lull__restore_signals(&saved);
		return;
	}
	out = unlist_idle();
	if (out) {
		/*
		 * ORDER REC-14: out of the list before the count of walkers; pairs with REC-14 in
		 * lull__walk_enter(); without it as there; model/reclaim/bag-walk.tpl
		 * ORDER REC-16: `heed` before the look whether the queue is still empty; pairs with REC-16 in
		 * attend() (entry, light, heed); without it the entry waits for the next one;
		 * model/reclaim/heed.tpl
		 */
		lull_fence_heavy();
		part_with(out);
	}
	/*
	 * ORDER REC-15: the count of walkers before the end of the bags; pairs with REC-15 in
	 * lull__walk_leave(); without it as there; model/reclaim/bag-free.litmus
	 */
	if (lull_load_acquire(&lull__reclaimer.walkers) % LULL__WALKS_OF == 0) {
		settle();
		if (lull__bags_to_spare())
			lull__bags_free_spare();
	}
	lull__unlock(&lull__reclaimer.sweep_lock);
	lull__restore_signals(&saved);
}

/* ---- fork ----------------------------------------------------------------------------------------- */

/* Forget the places of @bag's queues; those that are in the list come back. Other threads may have been amid a change. */
static void fork_bag(struct lull__bag *bag)
{
	for (int kind = 0; kind < LULL__KINDS; kind++) {
		struct lull__queue *q = &bag->queue[kind];

		for (int i = 0; i < 2; i++)
			if (q->listing[i].state == LULL__LISTING_IN)
				q->listing[i].state = LULL__LISTING_OUT;
		q->listed = 0;
		q->heed = 1;
	}
	bag->pins = 0;
	if (bag == lull__self.bag)
		return;
	bag->owed = 0;
	bag->state = BAG_ORPHAN;
	bag->next_orphan = lull__reclaimer.orphan;
	lull__reclaimer.orphan = bag;
	lull__reclaimer.orphans++;
}

/* The calling thread may be in a walk, and go on with it; so no place moves, and one that was LEFT stays so. */
static void fork_place(struct lull__queue *q)
{
	for (int i = 0; i < 2; i++) {
		if (q->listing[i].state != LULL__LISTING_LEFT)
			continue;
		q->next_left = lull__reclaimer.left;
		lull__reclaimer.left = q;
	}
	if (!lull__queue_is_empty(q)) {
		lull__queue_list(q);
	} else if (!q->listed) {
		q->folded = q->done;
		q->folded_bytes = q->done_bytes;
	}
}

/* After the repair of the queues. All threads but the calling one are gone, and whatever they were doing here. */
void lull__bags_fork_child(void)
{
	struct lull__bag *bag, *prev = NULL;
	struct lull__listing *at;
	struct lull__queue *q;

	lull__reclaimer.sweep_lock.word = lull__reclaimer.bags_lock.word = 0;
	lull__self.walks_counted = lull__self.walks != 0;
	lull__reclaimer.walkers = ((lull__reclaimer.walkers / LULL__WALKS_OF + 1) * LULL__WALKS_OF) + lull__self.walks_counted;
	lull__reclaimer.listed = lull__reclaimer.orphans = lull__reclaimer.idle = 0;
	lull__reclaimer.left = NULL;
	lull__reclaimer.orphan = NULL;
	lull__for_each_bag(bag) {
		bag->prev = prev;
		prev = bag;
		fork_bag(bag);
	}
	lull__for_each_queue(at, q) {
		at->state = LULL__LISTING_IN;
		q->listed = 1;
		lull__reclaimer.listed++;
	}
	lull__for_each_bag(bag)
		for (int kind = 0; kind < LULL__KINDS; kind++)
			fork_place(&bag->queue[kind]);
}
