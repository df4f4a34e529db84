/* SPDX-License-Identifier: MIT */
/*
 * lull torture: updaters of hazptr and bridge. An element goes down the pipe of ages by waits for
 * this one element, or by callbacks; other objects are retired. See torture.h.
 */
#include "torture/hazptr/torture_hazptr.h"

#include <errno.h>
#include <stdlib.h>

#include <lull/hazptr_fenced.h>
#include <lull/reclaim.h>

#include "common/options.h"

#define TIMEOUT_MOST_MS 3u
#define BARRIER_MS 50u
#define SYNCS_MOST 4u /* waits for elements that were removed earlier */

/* The ways to wait. */
enum keep_form {
	KEEP_SYNC,
	KEEP_RANGE,
	KEEP_TIMEOUT,
	KEEP_CALL,
	KEEP_CALL_SYNC,
	KEEP_BARRIER,
	KEEP_DRAIN,
};

/* ---- by flavor ------------------------------------------------------------------------------- */

void torture_retire_debris(struct lull_rcu_head *head, lull_rcu_func func, size_t bytes)
{
	if (!torture_is_bridge())
		lull_hazptr_call_sized(head, func, bytes);
	else
		lull_rcu_call_hazptr_sized(head, func, bytes);
}

void torture_free_debris(void *ptr)
{
	if (!torture_is_bridge())
		lull_hazptr_retire(ptr);
	else
		lull_rcu_free_hazptr(ptr);
}

/* First a grace period, then the look at the slots. */
void torture_wait_kept(struct element *e)
{
	if (torture_is_bridge())
		lull_rcu_synchronize();
	lull_hazptr_synchronize(e);
}

void torture_wait_any(void)
{
	static struct element nobodys;

	torture_wait_kept(&nobodys);
}

/* @full: only readers of hazptr_fenced.h have it. */
static void call(struct lull_rcu_head *head, lull_rcu_func func, size_t bytes, bool full,
		 uint64_t *rng)
{
	if (full && torture_once_in(rng, 2))
		lull_hazptr_fenced_call(head, func);
	else if (torture_once_in(rng, 2))
		torture_retire_debris(head, func, bytes);
	else if (torture_is_bridge())
		lull_rcu_call_hazptr(head, func);
	else
		lull_hazptr_call(head, func);
}

static void retire(struct blob *b, bool full, uint64_t *rng)
{
	if (full && torture_once_in(rng, 2))
		lull_hazptr_fenced_retire(b);
	else if (!torture_is_bridge() && torture_once_in(rng, 2))
		lull_hazptr_retire_sized(b, sizeof(*b));
	else
		torture_free_debris(b);
}

/* ---- blobs and parcels ----------------------------------------------------------------------- */

static void parcel_called(struct lull_rcu_head *head)
{
	struct parcel *p = lull_container_of(head, struct parcel, head);

	lull_add_relaxed(&torture.callbacks, (uint64_t)1);
	p->serial = p->check[0] = p->check[1] = p->check[2] = 0;
	free(p);
}

static void swap_blob(unsigned nr, uint64_t *rng)
{
	struct torture_slot *slot = &torture.slot[nr];
	struct blob *fresh = torture_new_blob(), *old;

	pthread_mutex_lock(&slot->update);
	old = slot->blob;
	lull_hazptr_publish(slot->blob, fresh);
	pthread_mutex_unlock(&slot->update);
	retire(old, torture_slot_is_full(nr), rng);
}

static void swap_parcel(unsigned nr, uint64_t *rng)
{
	struct torture_slot *slot = &torture.slot[nr];
	struct parcel *fresh = torture_new_parcel(), *old;

	pthread_mutex_lock(&slot->update);
	old = slot->parcel;
	lull_hazptr_publish(slot->parcel, fresh);
	pthread_mutex_unlock(&slot->update);
	call(&old->head, parcel_called, sizeof(*old), torture_slot_is_full(nr), rng);
}

/* Replace a blob or a parcel; the caller may be a callback. */
static void swap_other(uint64_t *rng)
{
	unsigned nr = (unsigned)torture_random(rng, TORTURE_SLOTS);

	lull_add_relaxed(&torture.blobs, (uint64_t)1);
	if (torture_once_in(rng, 2))
		swap_blob(nr, rng);
	else
		swap_parcel(nr, rng);
}

/* Retire a blob that this thread itself holds. */
static void swap_while_held(struct torturer *t)
{
	struct lull_hazptr_hold hold;
	struct blob *b = lull_hazptr_acquire(&hold, &torture.slot[0].blob);
	uint64_t serial = b->serial;

	lull_add_relaxed(&torture.blobs, (uint64_t)1);
	swap_blob(0, &t->rng);
	torture_linger(&t->rng);
	torture_check_blob(b, serial, "object retired by who holds it");
	lull_hazptr_release(&hold, b);
}

/* ---- elements -------------------------------------------------------------------------------- */

static bool is_full(const struct element *e)
{
	return torture_slot_is_full(e->slot);
}

static struct element *swap_element(unsigned nr)
{
	struct torture_slot *slot = &torture.slot[nr];
	struct element *fresh = torture_pool_get(), *old;

	if (!fresh)
		return NULL;
	torture_fill_element(fresh);
	pthread_mutex_lock(&slot->update);
	old = slot->element;
	lull_hazptr_publish(slot->element, fresh);
	pthread_mutex_unlock(&slot->update);
	old->slot = nr;
	torture_grow_older(old);
	return old;
}

/* Do what a callback may do besides: wait for its own element, hold an object, retire one. */
static void element_called(struct lull_rcu_head *head)
{
	struct element *e = lull_container_of(head, struct element, head);
	uint64_t rng = (e->serial * TORTURE_AGES + e->age) * 0x9e3779b97f4a7c15u | 1;
	struct grip g;

	if (!torture_element_ran(e))
		return;
	lull_add_relaxed(&torture.callbacks, (uint64_t)1);
	torture_random(&rng, 1);
	if (torture_grow_older(e))
		return;
	if (torture_once_in(&rng, 16)) {
		torture_wait_kept(e);
		if (torture_grow_older(e))
			return;
	}
	if (torture_once_in(&rng, 16)) {
		struct torture_tally unused = { 0 };

		if (torture_grip(&g, NULL, &rng))
			torture_grip_end(&g, &unused, &rng, "object held by a callback");
	}
	if (torture_once_in(&rng, 16))
		swap_other(&rng);
	torture_element_defer(e);
	call(&e->head, element_called, sizeof(*e), is_full(e), &rng);
}

struct flag {
	struct lull_rcu_head head;
	uint32_t ran;
};

struct retirer {
	struct torturer *t;
	struct element *removed;
	struct flag *flag;
};

static void wait_full(struct element *e, uint64_t *rng)
{
	if (torture_once_in(rng, 2))
		lull_hazptr_fenced_synchronize(e);
	else
		while (lull_hazptr_fenced_synchronize_range_timeout(e, sizeof(*e), TIMEOUT_MOST_MS) != 0)
			;
}

/* Wait for one element after the other, the last one removed first, as long as readers have it. */
static void age_one_by_one(struct retirer *r)
{
	struct element **link = &r->removed;
	unsigned n = SYNCS_MOST;

	while (*link && n--) {
		struct element *e = *link, *next = e->next;

		torture_wait_begin();
		if (is_full(e) && torture_once_in(&r->t->rng, 2))
			wait_full(e, &r->t->rng);
		else
			torture_wait_kept(e);
		torture_wait_end();
		if (torture_grow_older(e))
			*link = next;
		else
			link = &e->next;
	}
}

static void age_with_timeout(struct retirer *r)
{
	struct element *e = r->removed;
	int err;

	if (!e)
		return;
	if (torture_is_bridge())
		lull_rcu_synchronize();
	err = lull_hazptr_synchronize_timeout(e, torture_random(&r->t->rng, TIMEOUT_MOST_MS));
	if (err == 0) {
		r->removed = e->next;
		if (!torture_grow_older(e))
			torture_put_in(&r->removed, e);
	} else if (err != -ETIMEDOUT) {
		torture_fail("lull_hazptr_synchronize_timeout() gives %d", err);
	}
}

/* Make the removed elements in [first, last) older by one, after a wait until no thread has any of these. */
static void age_range(struct retirer *r)
{
	uint64_t *rng = &r->t->rng;
	size_t from = torture_once_in(rng, 2) ? 0 : torture_random(rng, torture.nr_elements);
	struct element *first = &torture.elements[from], *last;
	struct element **link = &r->removed;

	last = torture_once_in(rng, 2) ? &torture.elements[torture.nr_elements]
				       : first + 1 + torture_random(rng, torture.nr_elements - from);
	torture_wait_begin();
	if (torture_is_bridge())
		lull_rcu_synchronize();
	lull_hazptr_synchronize_range(first, (size_t)((char *)last - (char *)first));
	torture_wait_end();
	while (*link) {
		struct element *e = *link, *next = e->next;

		if (e >= first && e < last && torture_grow_older(e))
			*link = next;
		else
			link = &e->next;
	}
}

static void flag_called(struct lull_rcu_head *head)
{
	lull_store_relaxed(&lull_container_of(head, struct flag, head)->ran, 1u);
}

/* Not on the stack: a forked child runs the callback too. */
static void wait_for_flag(struct retirer *r, bool timed)
{
	lull_store_relaxed(&r->t->rests, 1u);
	lull_store_relaxed(&r->flag->ran, 0u);
	call(&r->flag->head, flag_called, sizeof(*r->flag), false, &r->t->rng);
	if (!timed)
		lull_hazptr_barrier();
	else
		while (lull_hazptr_barrier_timeout(BARRIER_MS) != 0)
			;
	lull_store_relaxed(&r->t->rests, 0u);
	if (lull_load_relaxed(&r->flag->ran))
		return;
	torture_fail("lull_hazptr_barrier%s has returned and a callback from before it has not run",
		     timed ? "_timeout" : "");
	/* That callback may yet come. */
	r->flag = options_alloc(1, sizeof(*r->flag));
}

static void wait_somehow(struct retirer *r, enum keep_form form)
{
	switch (form) {
	case KEEP_RANGE:
		age_range(r);
		break;
	case KEEP_TIMEOUT:
		age_with_timeout(r);
		break;
	case KEEP_BARRIER:
	case KEEP_DRAIN:
		wait_for_flag(r, form == KEEP_DRAIN);
		break;
	default:
		age_one_by_one(r);
	}
}

static void update(struct retirer *r, enum keep_form form)
{
	uint64_t *rng = &r->t->rng;
	/* Half of the time the slot that readers look at most. */
	unsigned nr = torture_once_in(rng, 2) ? 0 : (unsigned)torture_random(rng, TORTURE_SLOTS);
	struct element *old = swap_element(nr);

	lull_add_relaxed(&torture.forms[form], (uint64_t)1);
	torture_doing(torture.flavor->form[form]);
	if (old && (form == KEEP_CALL || form == KEEP_CALL_SYNC)) {
		torture_element_defer(old);
		call(&old->head, element_called, sizeof(*old), is_full(old), rng);
		if (form == KEEP_CALL)
			return;
	} else if (old) {
		torture_put_in(&r->removed, old);
	}
	wait_somehow(r, form);
}

/* Mostly the quick ones: they meet readers most often. For the bridge callbacks are the main thing. */
static enum keep_form pick_form(uint64_t *rng)
{
	if (torture_is_bridge() && torture_once_in(rng, 2))
		return KEEP_CALL;
	if (torture_once_in(rng, 2))
		return KEEP_SYNC;
	if (torture_once_in(rng, 32))
		return torture_once_in(rng, 2) ? KEEP_BARRIER : KEEP_DRAIN;
	return (enum keep_form)torture_random(rng, KEEP_BARRIER);
}

static void flush(struct retirer *r)
{
	torture_doing("sending what it removed down the pipe");
	while (r->removed)
		age_one_by_one(r);
}

static void retire_round(struct retirer *r)
{
	uint64_t *rng = &r->t->rng;

	update(r, pick_form(rng));
	if (torture_once_in(rng, 4))
		swap_other(rng);
	if (torture_once_in(rng, 64))
		swap_while_held(r->t);
	if (torture_once_in(rng, 64))
		torture_hand_take(r->t);
	if (torture_once_in(rng, 8))
		torture_spin_ns(torture_random(rng, 20000));
	torture_update_delay(r->t);
}

void *torture_retirer(void *arg)
{
	struct retirer r = { .t = arg };

	torture_me = r.t;
	r.flag = options_alloc(1, sizeof(*r.flag));
	lull_thread_register();
	torture_timer_start(r.t, TORTURE_SIGNAL_US);
	while (!torture_stopped()) {
		/* One look for both: a pause may begin at any time, and finds nothing removed here. */
		if (lull_load_relaxed(&torture.pausing)) {
			flush(&r);
			torture_pause_point();
		}
		if (r.t->index >= lull_load_relaxed(&torture.active_updaters)) {
			torture_rest(r.t);
			continue;
		}
		retire_round(&r);
		lull_store_relaxed(&r.t->work, r.t->work + 1);
	}
	flush(&r);
	free(r.flag);
	return NULL;
}
