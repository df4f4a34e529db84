/* SPDX-License-Identifier: MIT */
/*
 * lull torture: one object that a reader of hazptr or bridge holds, in all ways there are, and releases. See torture.h.
 */
#include "torture/hazptr/torture_hazptr.h"

#include <lull/hazptr_fenced.h>

#define TRIES 4u

bool torture_is_bridge(void)
{
	return torture.flavor->is_bridge;
}

bool torture_slot_is_full(unsigned slot)
{
	return slot == TORTURE_SLOTS - 1 && !torture_is_bridge();
}

static void *protect_full(struct lull_hazptr *h, struct torture_slot *slot, enum torture_kind kind,
			  bool once)
{
	switch (kind) {
	case KIND_ELEMENT:
		return once ? lull_hazptr_fenced_tryprotect(h, slot->element, head)
			    : lull_hazptr_fenced_protect(h, slot->element, head);
	case KIND_BLOB:
		return once ? lull_hazptr_fenced_tryprotect_ptr(h, slot->blob)
			    : lull_hazptr_fenced_protect_ptr(h, slot->blob);
	default:
		return once ? lull_hazptr_fenced_tryprotect(h, slot->parcel, head)
			    : lull_hazptr_fenced_protect(h, slot->parcel, head);
	}
}

/* In a read section. */
static void *protect_found(struct lull_hazptr *h, struct torture_slot *slot, enum torture_kind kind)
{
	switch (kind) {
	case KIND_ELEMENT:
		return lull_hazptr_protect_rcu(h, lull_rcu_dereference(slot->element), head);
	case KIND_BLOB:
		return lull_hazptr_protect_rcu_ptr(h, lull_rcu_dereference(slot->blob));
	default:
		return lull_hazptr_protect_rcu(h, lull_rcu_dereference(slot->parcel), head);
	}
}

/* Protect as if those who remove the object waited for sections, too; with a pause in between, as if preempted. */
static void *protect_late(struct lull_hazptr *h, struct torture_slot *slot)
{
	struct element *e;

	lull_rcu_read_lock();
	e = lull_rcu_dereference(slot->element);
	torture_spin_ns(3000);
	lull_hazptr_protect_rcu(h, e, head);
	lull_rcu_read_unlock();
	return e;
}

static void *protect(struct lull_hazptr *h, struct torture_slot *slot, enum torture_kind kind,
		     bool once)
{
	if (torture.use_fault == FAULT_NO_SECOND_LOOK && kind == KIND_ELEMENT)
		return protect_late(h, slot);
	switch (kind) {
	case KIND_ELEMENT:
		return once ? lull_hazptr_tryprotect(h, slot->element, head)
			    : lull_hazptr_protect(h, slot->element, head);
	case KIND_BLOB:
		return once ? lull_hazptr_tryprotect_ptr(h, slot->blob)
			    : lull_hazptr_protect_ptr(h, slot->blob);
	default:
		return once ? lull_hazptr_tryprotect(h, slot->parcel, head)
			    : lull_hazptr_protect(h, slot->parcel, head);
	}
}

static void *acquire(struct lull_hazptr_hold *hold, struct torture_slot *slot,
		     enum torture_kind kind)
{
	if (kind == KIND_ELEMENT)
		return lull_hazptr_acquire(hold, &slot->element);
	return lull_hazptr_acquire(hold, &slot->blob);
}

/* Find the pointer, and hold the object a while later. The caller is in a read section. */
static void *acquire_found(struct lull_hazptr_hold *hold, struct torture_slot *slot,
			   enum torture_kind kind, uint64_t *rng)
{
	struct element *e = lull_rcu_dereference(slot->element);
	struct blob *b = lull_rcu_dereference(slot->blob);

	torture_spin_ns(torture_random(rng, 3000));
	if (kind == KIND_ELEMENT)
		return lull_hazptr_acquire_rcu(hold, e);
	return lull_hazptr_acquire_rcu(hold, b);
}

void *torture_grip_by_slot(struct grip *g, unsigned nr, uint64_t *rng)
{
	struct torture_slot *slot = &torture.slot[nr];
	bool once = torture_once_in(rng, 2);
	unsigned tries = TRIES;
	void *object;

	g->is_full = torture_slot_is_full(nr);
	if (torture_is_bridge() && torture_once_in(rng, 2)) {
		lull_rcu_read_lock();
		object = protect_found(g->h, slot, g->kind);
		if (torture_once_in(rng, 4))
			torture_linger(rng);
		lull_rcu_read_unlock();
		return object;
	}
	do
		object = g->is_full ? protect_full(g->h, slot, g->kind, once)
				    : protect(g->h, slot, g->kind, once);
	while (!object && --tries);
	return object;
}

static void *by_hold(struct grip *g, unsigned nr, uint64_t *rng)
{
	struct torture_slot *slot = &torture.slot[nr];
	void *object;

	g->is_full = false;
	if (!torture_is_bridge() || torture_once_in(rng, 2))
		return acquire(&g->hold, slot, g->kind);
	lull_rcu_read_lock();
	object = acquire_found(&g->hold, slot, g->kind, rng);
	lull_rcu_read_unlock();
	return object;
}

void torture_grip_note(struct grip *g)
{
	const uint64_t *check;

	if (g->kind == KIND_ELEMENT) {
		const struct element *e = g->object;

		g->serial = lull_load_relaxed(&e->serial);
		check = &e->contents;
	} else if (g->kind == KIND_BLOB) {
		const struct blob *b = g->object;

		g->serial = b->serial;
		check = b->check;
	} else {
		const struct parcel *p = g->object;

		g->serial = p->serial;
		check = p->check;
	}
	if (*check != ~g->serial)
		torture_fail("an object was seen before its contents, or was freed while it was "
			     "read");
}

void torture_grip_check(const struct grip *g, struct torture_tally *tally, const char *where)
{
	if (!g->object)
		return;
	tally->sections++;
	if (g->kind == KIND_ELEMENT) {
		torture_check_element(g->object, g->serial, tally, where);
	} else if (g->kind == KIND_BLOB) {
		torture_check_blob(g->object, g->serial, where);
	} else {
		const struct parcel *p = g->object;
		struct blob b = { p->serial, { p->check[0], p->check[1], p->check[2] } };

		torture_check_blob(&b, g->serial, where);
	}
}

bool torture_grip(struct grip *g, struct lull_hazptr_context *ctx, uint64_t *rng)
{
	unsigned nr = (unsigned)torture_random(rng, TORTURE_SLOTS);

	/* Half of the time choose the slot that is changed most. */
	if (torture_once_in(rng, 2))
		nr = 0;
	g->kind = (enum torture_kind)torture_random(rng, NR_KINDS);
	g->h = ctx ? lull_hazptr_alloc(ctx) : NULL;
	g->ctx = g->h ? ctx : NULL;
	if (g->h) {
		g->object = torture_grip_by_slot(g, nr, rng);
	} else {
		/* A hold names the object itself: no parcels; and it is not of hazptr_fenced.h. */
		if (g->kind == KIND_PARCEL)
			g->kind = KIND_ELEMENT;
		g->object = by_hold(g, torture_slot_is_full(nr) ? 0 : nr, rng);
	}
	if (g->object)
		torture_grip_note(g);
	else if (g->h)
		lull_hazptr_free(g->ctx, g->h);
	return g->object != NULL;
}

static void let_go(struct grip *g)
{
	if (!g->ctx) {
		lull_hazptr_release(&g->hold, g->object);
		return;
	}
	if (g->is_full)
		lull_hazptr_fenced_clear(g->h);
	lull_hazptr_free(g->ctx, g->h);
}

void torture_grip_end(struct grip *g, struct torture_tally *tally, uint64_t *rng, const char *where)
{
	if (torture.use_fault != FAULT_LOOK_AFTER_CLEAR) {
		torture_grip_check(g, tally, where);
		let_go(g);
		return;
	}
	/* The last look at the object was not ordered before the clear, and so it comes late. */
	let_go(g);
	torture_spin_ns(torture_random(rng, 4000));
	torture_grip_check(g, tally, where);
}

