/* SPDX-License-Identifier: MIT */
/* lull torture: readers of objects with a count, and references that change hands. See torture_count.h. */
#include "common/cpus.h"
#include "torture/count/torture_count.h"

#include <sched.h>

#define HOLDS_MOST 6u
#define MORE_MOST 5u
#define DUELS 200u

/* ---- to find and to take --------------------------------------------------------------------- */

static bool is_per_cpu(unsigned place)
{
	return place < COUNT_PLACES / 2;
}

static struct counted *promote(unsigned nr)
{
	struct count_place *place = &torture_counts.place[nr];

	if (is_per_cpu(nr))
		return nr % 2 ? lull_ref_handoff_hazptr_percpu(&place->object, head, ref)
			      : lull_ref_handoff_rcu_percpu(&place->object, ref);
	return nr % 2 ? lull_ref_handoff_hazptr(&place->object, head, count)
		      : lull_ref_handoff_rcu(&place->object, count);
}

/* An object that was found a while ago may be dead or released by now, but it must not be freed. */
static bool count_late(struct counted *o, uint64_t *rng)
{
	bool got;

	if (torture_once_in(rng, 2))
		torture_spin_ns(torture_random(rng, torture_once_in(rng, 8) ? 300000 : 20000));
	if (o->per_cpu && torture_once_in(rng, 2))
		return torture_counted_tryget_live(o, "object that was found long ago");
	got = o->per_cpu ? lull_percpu_ref_tryget(&o->ref) : lull_refcount_inc_not_zero(&o->count);
	if (got)
		torture_counted_took(o, 1, "object that was found long ago");
	return got;
}

/* Leave time between the look at the pointer and the one at the count. */
static struct counted *promote_late(unsigned nr, uint64_t *rng)
{
	struct count_place *place = &torture_counts.place[nr];

	return nr % 2 ? lull__ref_handoff_hazptr(&place->object, head, count_late(lull__object, rng))
		      : lull__ref_handoff_rcu(&place->object, count_late(lull__object, rng));
}

static unsigned any_place(uint64_t *rng)
{
	/* A third of the time what is changed most. */
	return torture_once_in(rng, 3) ? 0 : (unsigned)torture_random(rng, COUNT_PLACES);
}

static bool take(struct count_hold *h, uint64_t *rng)
{
	unsigned nr = any_place(rng);

	h->n = 1;
	if (torture_once_in(rng, 8)) {
		h->object = promote_late(nr, rng);
	} else {
		h->object = promote(nr);
		if (h->object)
			torture_counted_took(h->object, 1, "object that was promoted");
	}
	return h->object != NULL;
}

static void put_all(struct count_hold *h, struct torture_tally *tally, const char *where)
{
	tally->sections++;
	torture_counted_put(h->object, h->n, where);
}

/* ---- while it is held ------------------------------------------------------------------------ */

static void took_more(struct count_hold *h, uint32_t n)
{
	torture_counted_took(h->object, n, "object of which more references were taken");
	h->n += n;
}

static void get_more(struct count_hold *h, uint64_t *rng)
{
	uint32_t n = 1 + (uint32_t)torture_random(rng, MORE_MOST);

	if (!h->object->per_cpu)
		lull_refcount_add(&h->object->count, (int)n);
	else if (n == 1)
		lull_percpu_ref_get(&h->object->ref);
	else
		lull_percpu_ref_get_many(&h->object->ref, n);
	took_more(h, n);
}

/* Try to take more references to an object that is held, so its count cannot be zero. */
static void try_more(struct count_hold *h, uint64_t *rng)
{
	struct counted *o = h->object;
	uint32_t n = 1 + (uint32_t)torture_random(rng, MORE_MOST);

	if (!o->per_cpu ? lull_refcount_add_not_zero(&o->count, (int)n)
			: lull_percpu_ref_tryget_many(&o->ref, n))
		took_more(h, n);
	else
		torture_fail("object %llu had no references while some are held", (unsigned long long)o->serial);
	if (o->per_cpu && lull_percpu_ref_is_zero(&o->ref))
		torture_fail("object %llu is at zero while references to it are held",
			     (unsigned long long)o->serial);
	if (o->per_cpu && torture_counted_tryget_live(o, "object that is held"))
		h->n++;
}

static void put_some(struct count_hold *h, uint64_t *rng)
{
	uint32_t n = (uint32_t)torture_random(rng, h->n);

	if (!n)
		return;
	h->n -= n;
	torture_counted_put(h->object, n, "object of which some references were put");
}

/* Move the thread to some CPU at once; then it is free to go anywhere. */
static void migrate(uint64_t *rng)
{
	int to = bench_cpu((unsigned)torture_random(rng, bench_cpus()));
	cpu_set_t before, one;

	if (to < 0 || to >= CPU_SETSIZE || sched_getaffinity(0, sizeof(before), &before) != 0)
		return;
	CPU_ZERO(&one);
	CPU_SET((size_t)to, &one);
	sched_setaffinity(0, sizeof(one), &one);
	if (torture_once_in(rng, 2))
		sched_setaffinity(0, sizeof(before), &before);
}

static void do_something(struct count_hold *h, uint64_t *rng)
{
	switch (torture_random(rng, 16)) {
	case 0:
	case 1:
		get_more(h, rng);
		break;
	case 2:
	case 3:
		try_more(h, rng);
		break;
	case 4:
	case 5:
		put_some(h, rng);
		break;
	case 6:
		if (torture_once_in(rng, 8))
			migrate(rng);
		break;
	case 7:
		if (h->object->may_switch && torture_once_in(rng, 4))
			torture_counted_switch(h->object, rng);
		break;
	case 8:
		if (torture_once_in(rng, 32))
			torture_sleep_us(torture_random(rng, 2000));
		break;
	default:
		torture_linger(rng);
	}
}

/* Hold several references at a time, and put them in any order. */
void torture_count(struct torturer *t)
{
	struct count_hold hold[HOLDS_MOST];
	unsigned count = 0, n = 1 + (unsigned)torture_random(&t->rng, torture_once_in(&t->rng, 4) ? HOLDS_MOST : 2);
	unsigned i;

	while (n--) {
		count += take(&hold[count], &t->rng);
		if (count && torture_once_in(&t->rng, 2))
			do_something(&hold[torture_random(&t->rng, count)], &t->rng);
	}
	while (count) {
		i = (unsigned)torture_random(&t->rng, count);
		do_something(&hold[i], &t->rng);
		put_all(&hold[i], &t->tally, "object that was held");
		hold[i] = hold[--count];
	}
}

void torture_count_shortly(struct torturer *t, const char *where)
{
	struct count_hold h;

	if (!take(&h, &t->rng))
		return;
	torture_spin_ns(torture_random(&t->rng, torture_once_in(&t->rng, 4) ? 30000 : 2000));
	put_all(&h, &t->tally, where);
}

void torture_count_in_handler(struct torturer *t)
{
	struct count_hold h;
	bool before;

	/* Threads that pause still get signals, and must not hold anything. */
	if (lull_load_acquire(&torture.pausing))
		return;
	before = torture_count_set_handler(true);
	if (take(&h, &t->handler_rng)) {
		if (torture_once_in(&t->handler_rng, 2))
			get_more(&h, &t->handler_rng);
		torture_spin_ns(torture_random(&t->handler_rng, 3000));
		put_all(&h, &t->handler_tally, "object held in a signal handler");
	}
	torture_count_set_handler(before);
}

/* ---- from thread to thread ------------------------------------------------------------------- */

#define HANDS 64u
#define RELEASER_SLEEP_US 300u

static struct {
	pthread_mutex_t lock;
	struct count_hold hold[HANDS];
	unsigned count;
} hands = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void hand_over(struct torturer *t)
{
	struct count_hold h;
	bool full;

	if (!take(&h, &t->rng))
		return;
	if (torture_once_in(&t->rng, 2))
		get_more(&h, &t->rng);
	pthread_mutex_lock(&hands.lock);
	full = hands.count == HANDS;
	if (!full)
		hands.hold[hands.count++] = h;
	pthread_mutex_unlock(&hands.lock);
	if (full)
		put_all(&h, &t->tally, "object that nobody took");
}

static bool hand_take(struct torturer *t)
{
	struct count_hold h = { .object = NULL };

	pthread_mutex_lock(&hands.lock);
	if (hands.count) {
		unsigned i = (unsigned)torture_random(&t->rng, hands.count);

		h = hands.hold[i];
		hands.hold[i] = hands.hold[--hands.count];
	}
	pthread_mutex_unlock(&hands.lock);
	if (!h.object)
		return false;
	do_something(&h, &t->rng);
	put_all(&h, &t->tally, "object that was handed over");
	lull_add_relaxed(&torture.handed, (uint64_t)1);
	return true;
}

/* Goes on in pauses, so that what was handed over comes home. */
void *torture_count_releaser(void *arg)
{
	struct torturer *t = arg;

	torture_me = t;
	while (!lull_load_acquire(&torture.over)) {
		if (!hand_take(t))
			torture_sleep_us(RELEASER_SLEEP_US);
		/* A pause needs to know when the last put is over. */
		lull_store_release(&t->work, t->work + 1);
	}
	while (hand_take(t))
		;
	return NULL;
}

void torture_count_hand_settle(void)
{
	uint64_t work;
	bool empty;

	if (lull_load_acquire(&torture.over))
		return;
	do {
		work = lull_load_acquire(&torture.releaser.work);
		torture_sleep_us(RELEASER_SLEEP_US);
		pthread_mutex_lock(&hands.lock);
		empty = hands.count == 0;
		pthread_mutex_unlock(&hands.lock);
		/* Two rounds: one that was under way, and one that found nothing. */
	} while (!empty || lull_load_acquire(&torture.releaser.work) < work + 2);
}

void torture_count_live(struct torturer *t)
{
	if (torture_once_in(&t->rng, 4))
		hand_over(t);
	if (torture_once_in(&t->rng, 4))
		hand_take(t);
}

/* The references stay when the thread has gone. */
void torture_count_die(struct torturer *t)
{
	if (!torture_once_in(&t->rng, 4))
		return;
	hand_over(t);
	lull_add_relaxed(&torture.dropped, (uint64_t)1);
}

/* ---- duels ----------------------------------------------------------------------------------- */

/*
 * Try what the barrier of a kill is for: an addition waits in the store buffer after it saw no mark. Short and always
 * the same, on the object that updater 0 changes most.
 */
static void duel_for_new(struct torturer *t)
{
	unsigned n;

	for (n = 0; n < DUELS; n++) {
		uint64_t ns = torture_random(&t->rng, 2000);
		struct counted *o;

		torture_fill_store_buffer(&t->rng);
		o = promote(0);
		if (!o)
			continue;
		torture_spin_ns(ns);
		torture_counted_took(o, 1, "object held shortly");
		torture_fill_store_buffer(&t->rng);
		torture_counted_put(o, 1, "object held shortly");
		t->tally.sections++;
	}
}

/* A holder may get and put without a look at the shadow in between. */
static void duel_while_held(struct torturer *t)
{
	struct counted *o = promote((unsigned)torture_random(&t->rng, COUNT_PLACES / 2));
	unsigned n, more;

	if (!o)
		return;
	torture_counted_took(o, 1, "object held long");
	for (n = 0; n < DUELS; n++) {
		if (n % 4 == 0)
			torture_fill_store_buffer(&t->rng);
		more = 1 + n % 3;
		lull_percpu_ref_get_many(&o->ref, more);
		while (more--)
			lull_percpu_ref_put(&o->ref);
	}
	torture_counted_put(o, 1, "object held long");
	t->tally.sections++;
}

/* ---- readers --------------------------------------------------------------------------------- */

/* Promoted in a section, and kept beyond it. */
static void from_section(struct torturer *t)
{
	struct count_hold h;
	bool got, online = !torture.without[PART_ONLINE] && torture_once_in(&t->rng, 2);

	if (online)
		lull_rcu_online();
	else
		lull_rcu_read_lock();
	got = take(&h, &t->rng);
	torture_linger(&t->rng);
	if (online)
		lull_rcu_offline();
	else
		lull_rcu_read_unlock();
	torture_linger(&t->rng);
	if (got)
		put_all(&h, &t->tally, "object kept from a section");
}

static void burst(struct torturer *t)
{
	uint64_t n;

	torture_doing("holding references");
	switch (torture_random(&t->rng, 4)) {
	case 0:
		duel_for_new(t);
		break;
	case 1:
		duel_while_held(t);
		break;
	}
	for (n = torture_random(&t->rng, 50); n; n--) {
		torture_count(t);
		if (torture_once_in(&t->rng, 8))
			hand_over(t);
		if (torture_once_in(&t->rng, 32))
			hand_take(t);
		if (torture_once_in(&t->rng, 8))
			from_section(t);
	}
}

void *torture_count_reader(void *arg)
{
	return torture_rounds(arg, &torture.active_readers, burst);
}
