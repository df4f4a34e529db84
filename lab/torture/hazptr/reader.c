/* SPDX-License-Identifier: MIT */
/*
 * lull torture: readers of hazptr and bridge. They hold many objects at a time, by slots of all
 * kinds of contexts and by holds, longer than any section lasts. See torture.h.
 */
#include "torture/hazptr/torture_hazptr.h"

#include <stdlib.h>

#include <lull/hazptr_fenced.h>

#include "common/options.h"

#define GRIPS_MOST 20u /* more than the thread's slots, so that holds need their own */
#define DUELS 200u

/* ---- many at a time -------------------------------------------------------------------------- */

struct hand {
	unsigned count;
	struct lull_hazptr_context *own; /* made for this; NULL: none */
	struct grip grip[GRIPS_MOST];
};

/* The slot protects something else, without a clear in between. */
static void overwrite(struct grip *g, struct torturer *t)
{
	unsigned nr;

	torture_grip_check(g, &t->tally, "slot before it protects something else");
	do
		nr = (unsigned)torture_random(&t->rng, TORTURE_SLOTS);
	while (torture_slot_is_full(nr) != g->is_full);
	g->kind = (enum torture_kind)torture_random(&t->rng, NR_KINDS);
	g->object = torture_grip_by_slot(g, nr, &t->rng);
	if (g->object)
		torture_grip_note(g);
}

/*
 * Detach the hold from the thread, and then not hand it over after all. It belongs to no thread meanwhile, so a forked
 * child would keep it.
 */
static void detach(struct grip *g, struct torturer *t, uint64_t ns)
{
	torture_hand_enter();
	lull_hazptr_detach(&g->hold);
	if (torture_once_in(&t->rng, 8))
		lull_hazptr_detach(&g->hold);
	torture_spin_ns(ns);
	torture_grip_end(g, &t->tally, &t->rng, "hold that was detached");
	torture_hand_leave();
	g->object = NULL;
}

/* Something in the middle: another object, another place. */
static void rework(struct hand *hand, struct torturer *t)
{
	unsigned i;

	for (i = 0; i < hand->count; i++) {
		struct grip *g = &hand->grip[i];

		if (!torture_once_in(&t->rng, 4))
			continue;
		if (g->ctx)
			overwrite(g, t);
		else
			detach(g, t, torture_random(&t->rng, 10000));
	}
}

/* In any order, so that slots become free in the middle. */
static void let_go_of_all(struct hand *hand, struct torturer *t, const char *where)
{
	unsigned char order[GRIPS_MOST];
	unsigned i, k;

	for (i = 0; i < hand->count; i++) {
		k = (unsigned)torture_random(&t->rng, i + 1);
		order[i] = order[k];
		order[k] = (unsigned char)i;
	}
	for (i = 0; i < hand->count; i++) {
		struct grip *g = &hand->grip[order[i]];

		/* Some are left to the context's end. */
		if (hand->own && g->ctx == hand->own && torture_once_in(&t->rng, 4))
			torture_grip_check(g, &t->tally, where);
		else
			torture_grip_end(g, &t->tally, &t->rng, where);
	}
}

static struct lull_hazptr_context *any_context(struct hand *hand, uint64_t *rng)
{
	if (torture_once_in(rng, 3))
		return NULL;
	if (hand->own && torture_once_in(rng, 2))
		return hand->own;
	return lull_hazptr_thread_context();
}

static void keep_some(struct hand *hand, struct torturer *t, const char *where)
{
	uint64_t *rng = &t->rng;
	unsigned n = 1 + (unsigned)torture_random(rng, torture_once_in(rng, 4) ? GRIPS_MOST : 3);

	for (hand->count = 0; n; n--) {
		if (torture_grip(&hand->grip[hand->count], any_context(hand, rng), rng))
			hand->count++;
		if (torture_once_in(rng, 8))
			torture_linger(rng);
	}
	torture_linger(rng);
	if (torture_once_in(rng, 2))
		rework(hand, t);
	let_go_of_all(hand, t, where);
}

/* Check that a hold of NULL holds nothing. */
static void keep_nothing(void)
{
	static struct element *nothing;
	struct lull_hazptr_hold hold;

	if (lull_hazptr_acquire(&hold, &nothing))
		torture_fail("an element was read where there is none");
	lull_hazptr_release(&hold, NULL);
}

void torture_keep(struct torturer *t)
{
	struct lull_hazptr_context stack;
	struct hand hand = { .own = NULL };
	uint64_t how = torture_random(&t->rng, 8);

	if (how == 0)
		hand.own = &stack;
	else if (how == 1)
		hand.own = options_alloc(1, sizeof(*hand.own));
	if (hand.own)
		lull_hazptr_context_init(hand.own);
	keep_some(&hand, t, "held object");
	if (hand.own)
		lull_hazptr_context_cleanup(hand.own);
	if (how == 1)
		free(hand.own);
	if (torture_once_in(&t->rng, 64))
		keep_nothing();
}

void torture_keep_shortly(struct torturer *t, const char *where)
{
	struct grip g;

	if (!torture_grip(&g, lull_hazptr_thread_context(), &t->rng))
		return;
	torture_spin_ns(torture_random(&t->rng, torture_once_in(&t->rng, 4) ? 30000 : 2000));
	torture_grip_end(&g, &t->tally, &t->rng, where);
}

/* By a slot, or by a hold, which may have to bring its own slot. */
void torture_keep_in_handler(struct torturer *t)
{
	bool slot = torture_once_in(&t->handler_rng, 2);
	struct grip g;

	if (!torture_grip(&g, slot ? lull_hazptr_thread_context() : NULL, &t->handler_rng))
		return;
	torture_spin_ns(torture_random(&t->handler_rng, 3000));
	torture_grip_end(&g, &t->handler_tally, &t->handler_rng, "signal handler");
}

/* ---- duels ----------------------------------------------------------------------------------- */

/*
 * Try what the fence between the slot and the second look at the pointer is for: the slot waits in the store buffer,
 * the load does not. Short and always the same, on the object that updater 0 changes most, because everything has to
 * meet within a fraction of a microsecond.
 */
static void duel_by_slot(struct torturer *t)
{
	struct grip g = { .ctx = lull_hazptr_thread_context() };
	unsigned n;

	g.h = lull_hazptr_alloc(g.ctx);
	if (!g.h)
		return;
	for (n = 0; n < DUELS; n++) {
		uint64_t ns = torture_random(&t->rng, 2000);

		torture_fill_store_buffer(&t->rng);
		g.object = lull_hazptr_protect(g.h, torture.slot[0].element, head);
		torture_grip_note(&g);
		torture_spin_ns(ns);
		torture_grip_check(&g, &t->tally, "object held shortly");
		lull_hazptr_clear(g.h);
	}
	lull_hazptr_free(g.ctx, g.h);
}

/*
 * The protection moves from the thread's slot to the hold's, at any time between the unlinking and
 * the end of an updater's look at the slots.
 */
static void duel_by_hold(struct torturer *t)
{
	struct grip g = { .ctx = NULL };
	unsigned n;

	for (n = 0; n < DUELS; n++) {
		g.object = lull_hazptr_acquire(&g.hold, &torture.slot[0].element);
		torture_grip_note(&g);
		torture_spin_ns(torture_random(&t->rng, 12000));
		detach(&g, t, 1000 + torture_random(&t->rng, 8000));
	}
}

/*
 * Found in a section that lasts as long as it takes the reclaimer to wake up, protected at its end,
 * and kept as long as it takes a callback to be called.
 */
static void duel_over_bridge(struct torturer *t)
{
	struct grip g = { .ctx = NULL };
	unsigned n;

	for (n = 0; n < DUELS / 8; n++) {
		struct element *e;

		lull_rcu_read_lock();
		e = lull_rcu_dereference(torture.slot[0].element);
		torture_spin_ns(torture_random(&t->rng, 150000));
		g.object = lull_hazptr_acquire_rcu(&g.hold, e);
		torture_grip_note(&g);
		lull_rcu_read_unlock();
		torture_spin_ns(torture_random(&t->rng, 300000));
		torture_grip_end(&g, &t->tally, &t->rng, "object kept from a section");
	}
}

/* ---- readers --------------------------------------------------------------------------------- */

static void keep_burst(struct torturer *t)
{
	uint64_t n;

	torture_doing("holding objects");
	switch (torture_random(&t->rng, 6)) {
	case 0:
	case 1:
		duel_by_slot(t);
		break;
	case 2:
		duel_by_hold(t);
		break;
	case 3:
		if (torture_is_bridge())
			duel_over_bridge(t);
		break;
	}
	for (n = torture_random(&t->rng, 50); n; n--) {
		torture_keep(t);
		if (torture_once_in(&t->rng, 8))
			torture_hand_over(t);
		if (torture_once_in(&t->rng, 32))
			torture_hand_take(t);
		/* Readers of the bridge that know of RCU alone. */
		if (torture_is_bridge() && torture_once_in(&t->rng, 2))
			torture_section(t);
	}
}

void *torture_keeper(void *arg)
{
	return torture_rounds(arg, &torture.active_readers, keep_burst);
}
