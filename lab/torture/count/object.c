/* SPDX-License-Identifier: MIT */
/* lull torture: objects with a count, what is done to them, and what is checked. See torture_count.h. */
#include "torture/count/torture_count.h"

#include <stdlib.h>

#include "common/options.h"

#define BURIED 256u /* freed objects that are looked at later */

struct torture_counts torture_counts;

static __thread bool in_handler;
static struct counted *left;		 /* released in signal handlers */
static struct counted *buried[BURIED];

bool torture_count_set_handler(bool now)
{
	bool before = in_handler;

	in_handler = now;
	return before;
}

struct counted *torture_count_publish(unsigned place, struct counted *o)
{
	return lull_xchg_acq_rel(&torture_counts.place[place].object, o);
}

static enum count_phase phase_of(uint32_t phase)
{
	return (enum count_phase)(phase % PHASES);
}

/* ---- checks ---------------------------------------------------------------------------------- */

void torture_counted_check(const struct counted *o, const char *where)
{
	enum count_phase phase = phase_of(lull_load_relaxed(&o->phase));

	if (phase >= PHASE_RELEASED)
		torture_fail("%s: object %llu was %s while references to it are held", where,
			     (unsigned long long)o->serial, phase == PHASE_RELEASED ? "released" : "freed");
	else if (o->contents != ~o->serial)
		torture_fail("%s: an object was freed while references to it are held", where);
}

void torture_counted_took(struct counted *o, uint32_t n, const char *where)
{
	lull_add_relaxed(&o->shadow, n);
	torture_counted_check(o, where);
}

bool torture_counted_tryget_live(struct counted *o, const char *where)
{
	uint32_t before = lull_load_acquire(&o->phase);
	bool got = lull_percpu_ref_tryget_live(&o->ref);

	/* A thread that brings the object back to life has written the next phase before. */
	lull_fence_full();
	if (got && phase_of(before) != PHASE_LIVE && lull_load_relaxed(&o->phase) == before)
		torture_fail("%s: tryget_live gave a reference to object %llu after its kill was confirmed",
			     where, (unsigned long long)o->serial);
	if (got)
		torture_counted_took(o, 1, where);
	return got;
}

bool torture_counted_is_released(const struct counted *o)
{
	return phase_of(lull_load_acquire(&o->phase)) == PHASE_RELEASED;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Bury @o with counts that still give references, so that a late user takes one. */
static void bury(struct counted *o)
{
	o->contents = 0;
	lull_refcount_set(&o->count, 1);
	lull_store_relaxed(&o->ref.count, (intptr_t)1);
	lull_store_relaxed(&o->ref.word, LULL__PERCPU_REF_ATOMIC);
}

/* Check that no thread has touched the object since it was freed. */
static void dig_up(struct counted *o)
{
	if (o->contents || o->shadow || phase_of(o->phase) != PHASE_FREED || o->count.count != 1 ||
	    o->ref.count != 1)
		torture_fail("an object was changed after it was freed");
	free(o);
}

void torture_counted_flush(void)
{
	unsigned i;

	for (i = 0; i < BURIED; i++) {
		struct counted *o = lull_xchg_acq_rel(&buried[i], (struct counted *)NULL);

		if (o)
			dig_up(o);
	}
}

/* Called when no thread can find the object any more. */
static void freed(struct lull_rcu_head *head)
{
	static unsigned next;
	struct counted *o = lull_container_of(head, struct counted, head);
	uint64_t serial = o->serial;

	if (!torture_counted_is_released(o))
		torture_fail("object %llu was freed twice", (unsigned long long)serial);
	lull_percpu_ref_exit(&o->ref);
	lull_store_relaxed(&o->phase, o->phase + (PHASE_FREED - PHASE_RELEASED));
	bury(o);
	lull_add_relaxed(&torture_counts.freed, (uint64_t)1);
	/* A sanitizer sees more if it goes at once. */
	if (serial % 2)
		o = lull_xchg_acq_rel(&buried[lull_add_relaxed(&next, 1u) % BURIED], o);
	if (o)
		dig_up(o);
}

/* Nothing can be deferred in a signal handler. */
static void leave(struct counted *o)
{
	struct counted *first = lull_load_relaxed(&left);

	do
		o->next = first;
	while (!lull_cas_release(&left, &first, o));
}

void torture_counted_retire(struct counted *o)
{
	if (in_handler) {
		leave(o);
		return;
	}
	/* With a fault there may be puts to come, for which the library aborts. */
	if (o->serial % 4 < 2 && !torture.fault_name)
		lull_percpu_ref_exit(&o->ref);
	if (o->by_hazptr)
		lull_hazptr_call_sized(&o->head, freed, sizeof(*o));
	else
		lull_rcu_call_sized(&o->head, freed, sizeof(*o));
}

void torture_counted_retire_left(void)
{
	struct counted *o, *next;

	if (!lull_load_relaxed(&left))
		return;
	for (o = lull_xchg_acquire(&left, (struct counted *)NULL); o; o = next) {
		next = o->next;
		torture_counted_retire(o);
	}
}

/* Return what is wrong with the release of @o, seen in @phase; NULL: nothing. */
static const char *released_wrongly(const struct counted *o, uint32_t phase)
{
	if (phase_of(phase) >= PHASE_RELEASED)
		return "was released twice";
	if (lull_load_relaxed(&o->shadow))
		return "was released while references to it are held";
	if (o->confirmed_first && phase_of(phase) != PHASE_DEAD)
		return "was released before its kill was confirmed";
	if (lull_load_relaxed(&o->switches) != lull_load_relaxed(&o->switched))
		return "was released before a switch was confirmed";
	return NULL;
}

/*
 * Leave an object alone that was released wrongly: some thread may still use it. An object that rests belongs to its
 * updater as soon as the phase says so.
 */
static void released(struct counted *o)
{
	uint32_t phase = lull_load_relaxed(&o->phase), life = phase - phase % PHASES;
	const char *wrong = released_wrongly(o, phase);
	bool rests = o->rests;

	if (!wrong && !lull_cas_acq_rel(&o->phase, &phase, life + PHASE_RELEASED))
		wrong = "was released by two at the same time";
	if (wrong) {
		torture_fail("object %llu (percpu_ref: %d, %u references) %s", (unsigned long long)o->serial,
			     o->per_cpu, lull_load_relaxed(&o->shadow), wrong);
		return;
	}
	lull_add_relaxed(&torture_counts.released, (uint64_t)1);
	if (!rests)
		torture_counted_retire(o);
}

static void ref_released(struct lull_percpu_ref *ref)
{
	released(lull_container_of(ref, struct counted, ref));
}

void torture_counted_put(struct counted *o, uint32_t n, const char *where)
{
	torture_counted_check(o, where);
	lull_sub_relaxed(&o->shadow, n);
	if (o->per_cpu)
		lull_percpu_ref_put_many(&o->ref, n);
	else if (lull_refcount_sub_and_test(&o->count, (int)n))
		released(o);
}

/* ---- the beginning --------------------------------------------------------------------------- */

static void init_ref(struct counted *o, uint64_t *rng)
{
	static const unsigned all[] = {
		0, 0, 0, LULL_PERCPU_REF_ALLOW_REINIT, LULL_PERCPU_REF_ALLOW_REINIT, LULL_PERCPU_REF_ALLOW_REINIT,
		LULL_PERCPU_REF_INIT_ATOMIC, LULL_PERCPU_REF_INIT_DEAD,
	};
	unsigned flags = all[torture_random(rng, sizeof(all) / sizeof(all[0]))];
	int err = lull_percpu_ref_init(&o->ref, ref_released, flags);

	if (err)
		options_fail("lull_percpu_ref_init() gives %d", err);
	o->may_reinit = flags != 0;
	if (flags == LULL_PERCPU_REF_INIT_DEAD)
		lull_percpu_ref_reinit(&o->ref);
	if (flags == LULL_PERCPU_REF_INIT_ATOMIC && torture_once_in(rng, 2))
		lull_percpu_ref_switch_to_percpu(&o->ref);
}

struct counted *torture_counted_new(bool per_cpu, bool by_hazptr, uint64_t *rng)
{
	struct counted *o = options_alloc(1, sizeof(*o));

	o->per_cpu = per_cpu;
	o->by_hazptr = by_hazptr;
	o->may_switch = per_cpu && torture_once_in(rng, 4);
	o->shadow = 1;
	o->serial = lull_add_relaxed(&torture_counts.made, (uint64_t)1) + 1;
	o->contents = ~o->serial;
	if (per_cpu)
		init_ref(o, rng);
	else
		lull_refcount_set(&o->count, 1);
	return o;
}

/* ---- what the owner does --------------------------------------------------------------------- */

static void confirmed(struct lull_percpu_ref *ref)
{
	struct counted *o = lull_container_of(ref, struct counted, ref);
	uint32_t phase = lull_load_relaxed(&o->phase);

	if (phase_of(phase) != PHASE_LIVE || !lull_cas_release(&o->phase, &phase, phase + PHASE_DEAD))
		torture_fail("the kill of object %llu was confirmed in phase %d of its life",
			     (unsigned long long)o->serial, (int)phase_of(phase));
	if (!lull_percpu_ref_is_dying(ref) || lull_percpu_ref_is_zero(ref))
		torture_fail("object %llu is not dying, or has no references, when its kill is confirmed",
			     (unsigned long long)o->serial);
	lull_add_relaxed(&torture_counts.confirmed, (uint64_t)1);
}

/*
 * Kill @o, half of the time with one more reference, so that the shadow shows a release in the kill. With a fault
 * always, because the torture has to report it before the library does.
 */
void torture_counted_kill(struct counted *o, bool confirm)
{
	bool held = torture.fault_name || o->serial % 8 < 4;
	struct lull_percpu_ref *const many[] = { &o->ref };

	if (held) {
		lull_percpu_ref_get(&o->ref);
		torture_counted_took(o, 1, "object to be killed");
	}
	o->confirmed_first = confirm;
	lull_sub_relaxed(&o->shadow, 1u);
	if (torture.use_fault == FAULT_KILL_TWICE)
		lull_percpu_ref_kill(&o->ref);
	if (confirm)
		lull_percpu_ref_kill_and_confirm(&o->ref, confirmed);
	else if (o->serial % 2)
		lull_percpu_ref_kill_many(many, 1);
	else
		lull_percpu_ref_kill(&o->ref);
	if (held)
		torture_counted_put(o, 1, "object that was killed");
}

static void switched(struct lull_percpu_ref *ref)
{
	struct counted *o = lull_container_of(ref, struct counted, ref);

	lull_add_relaxed(&o->switched, 1u);
	lull_add_relaxed(&torture_counts.switched, (uint64_t)1);
}

/* Switch the mode of @o. The caller holds @o and is in no section. */
void torture_counted_switch(struct counted *o, uint64_t *rng)
{
	switch (torture_random(rng, 4)) {
	case 0:
		lull_percpu_ref_switch_to_atomic_sync(&o->ref);
		break;
	case 1:
		lull_add_relaxed(&o->switches, 1u);
		lull_percpu_ref_switch_to_atomic(&o->ref, switched);
		break;
	default:
		if (o->may_reinit)
			lull_percpu_ref_switch_to_percpu(&o->ref);
	}
}

void torture_counted_wait_dead(const struct counted *o)
{
	while (phase_of(lull_load_acquire(&o->phase)) == PHASE_LIVE)
		lull_rcu_barrier();
}

static void next_life(struct counted *o)
{
	uint32_t phase = lull_load_relaxed(&o->phase);

	o->confirmed_first = false;
	if (phase_of(phase) != PHASE_LIVE)
		lull_store_relaxed(&o->phase, phase - phase % PHASES + PHASES);
	/* A thread that finds the object alive finds it in its new life. */
	lull_fence_full();
}

/* Resurrect @o. The caller holds a reference besides. */
void torture_counted_resurrect(struct counted *o)
{
	next_life(o);
	lull_percpu_ref_resurrect(&o->ref);
	torture_counted_took(o, 1, "object that was resurrected");
}

void torture_counted_reinit(struct counted *o)
{
	if (!lull_percpu_ref_is_zero(&o->ref))
		torture_fail("object %llu was released and is not at zero", (unsigned long long)o->serial);
	next_life(o);
	lull_percpu_ref_reinit(&o->ref);
	torture_counted_took(o, 1, "object that was reinited");
}

void torture_counted_drop(struct counted *o, uint64_t *rng)
{
	uint64_t how = torture_random(rng, 3);

	if (how == 0) {
		lull_refcount_add(&o->count, 3);
		torture_counted_took(o, 3, "object of a refcount");
		torture_counted_put(o, 3, "object of a refcount");
	}
	torture_counted_check(o, "object of a refcount");
	lull_sub_relaxed(&o->shadow, 1u);
	if (how == 1 && lull_refcount_dec_not_one(&o->count))
		return;
	if (how == 2 && lull_refcount_dec_if_one(&o->count))
		released(o);
	else if (lull_refcount_dec_and_test(&o->count))
		released(o);
}
