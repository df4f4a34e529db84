/* SPDX-License-Identifier: MIT */
/*
 * lull torture: updaters that replace objects with a count and end their lives, and checks for when no thread holds
 * any. See torture_count.h.
 */
#include "torture/count/torture_count.h"

#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/options.h"

#define RESTING_MOST 4u
#define DUELS 100u
#define DUEL_NS 5000000u

/* ---- objects that wait to be reinited -------------------------------------------------------- */

/* Objects of one updater; another thread uses them only while all threads pause. */
static struct resting {
	struct counted *object[RESTING_MOST];
	unsigned count;
} *resting;

void torture_count_init(void)
{
	uint64_t rng = torture.seed | 1;
	unsigned i;

	resting = options_alloc(torture.updaters, sizeof(*resting));
	for (i = 0; i < COUNT_PLACES; i++)
		torture_count_publish(i, torture_counted_new(i < COUNT_PLACES / 2, i % 2, &rng));
}

/* One that was released by now; NULL: none. */
static struct counted *wake_up(struct resting *r, bool by_hazptr)
{
	unsigned i;

	for (i = 0; i < r->count; i++) {
		struct counted *o = r->object[i];

		if (o->by_hazptr == by_hazptr && torture_counted_is_released(o)) {
			r->object[i] = r->object[--r->count];
			return o;
		}
	}
	return NULL;
}

static void let_go_resting(struct resting *r)
{
	while (r->count) {
		struct counted *o = r->object[--r->count];

		if (torture_counted_is_released(o))
			torture_counted_retire(o);
		else
			torture_fail("object %llu was killed, nobody has references to it, and it is not released",
				     (unsigned long long)o->serial);
	}
}

/* ---- ends of a life -------------------------------------------------------------------------- */

static void doing(enum count_form form)
{
	lull_add_relaxed(&torture.forms[form], (uint64_t)1);
	torture_doing(torture.flavor->form[form]);
}

static void kill_in_section(struct counted *o, uint64_t *rng)
{
	lull_rcu_read_lock();
	torture_linger(rng);
	torture_counted_kill(o, torture_once_in(rng, 2));
	lull_rcu_read_unlock();
}

/* Dead for a while and alive again, with readers that have references all the time or not. */
static void resurrect(struct counted *o, uint64_t *rng)
{
	bool confirm = torture_once_in(rng, 2);

	lull_percpu_ref_get(&o->ref);
	torture_counted_took(o, 1, "object to be resurrected");
	torture_counted_kill(o, confirm);
	if (confirm)
		torture_counted_wait_dead(o);
	torture_counted_resurrect(o);
	torture_counted_put(o, 1, "object that was resurrected");
}

/* Counted in one place the owner's reference can be put like any other. */
static void put_last(struct counted *o)
{
	torture_counted_check(o, "object before its last put");
	lull_percpu_ref_switch_to_atomic_sync(&o->ref);
	torture_counted_put(o, 1, "object before its last put");
}

static enum count_form any_form(const struct counted *o, const struct resting *r, uint64_t *rng)
{
	uint64_t dice = torture_random(rng, 10);

	if (dice < 2 && o->may_reinit)
		return COUNT_RESURRECT;
	if (dice < 5 && o->may_reinit && r && r->count < RESTING_MOST)
		return COUNT_REINIT;
	if (dice < 6 && !o->may_switch)
		return COUNT_LAST;
	if (dice < 7)
		return COUNT_SWITCH;
	return dice < 9 ? COUNT_CONFIRM : COUNT_KILL;
}

static void end_percpu(struct counted *o, struct resting *r, uint64_t *rng)
{
	enum count_form form = any_form(o, r, rng);

	if (r)
		doing(form);
	switch (form) {
	case COUNT_RESURRECT:
		resurrect(o, rng);
		torture_counted_kill(o, torture_once_in(rng, 2));
		break;
	case COUNT_REINIT:
		o->rests = true;
		r->object[r->count++] = o;
		torture_counted_kill(o, torture_once_in(rng, 2));
		break;
	case COUNT_LAST:
		put_last(o);
		break;
	case COUNT_SWITCH:
		torture_counted_switch(o, rng);
		torture_counted_kill(o, torture_once_in(rng, 2));
		break;
	default:
		/* In a section a thread cannot wait for another one's switch. */
		if (!o->may_switch && torture_once_in(rng, 8))
			kill_in_section(o, rng);
		else
			torture_counted_kill(o, form == COUNT_CONFIRM);
	}
}

/* Drop the owner's reference to @o, which no thread finds any more. @r NULL: of no updater. */
static void end(struct counted *o, struct resting *r, uint64_t *rng)
{
	if (o->per_cpu) {
		end_percpu(o, r, rng);
		return;
	}
	lull_add_relaxed(&torture.blobs, (uint64_t)1);
	torture_counted_drop(o, rng);
}

/* ---- updaters -------------------------------------------------------------------------------- */

static void update(struct torturer *t, unsigned nr)
{
	struct resting *r = &resting[t->index];
	bool per_cpu = nr < COUNT_PLACES / 2;
	struct counted *fresh = per_cpu ? wake_up(r, nr % 2) : NULL, *old;

	if (fresh) {
		fresh->rests = false;
		torture_counted_reinit(fresh);
	} else {
		fresh = torture_counted_new(per_cpu, nr % 2, &t->rng);
	}
	old = torture_count_publish(nr, fresh);
	if (!old)
		return;
	if (torture_once_in(&t->rng, 2))
		torture_spin_ns(torture_random(&t->rng, 5000));
	end(old, r, &t->rng);
}

/* Many kills, of an object that readers have or are about to have. */
static void duel(struct torturer *t)
{
	uint64_t until = bench_now_ns() + DUEL_NS;
	unsigned nr = (unsigned)torture_random(&t->rng, COUNT_PLACES / 2), n;
	struct counted *o;

	for (n = 0; n < DUELS && bench_now_ns() < until; n++) {
		torture_spin_ns(torture_random(&t->rng, 3000));
		o = torture_count_publish(nr, NULL);
		if (!o)
			return;
		if (o->may_reinit)
			resurrect(o, &t->rng);
		o = torture_count_publish(nr, o);
		if (o)
			end(o, &resting[t->index], &t->rng);
	}
}

static void update_round(struct torturer *t)
{
	torture_counted_retire_left();
	if (torture_once_in(&t->rng, 8))
		duel(t);
	update(t, torture_once_in(&t->rng, 2) ? 0 : (unsigned)torture_random(&t->rng, COUNT_PLACES));
	if (torture_once_in(&t->rng, 8))
		torture_spin_ns(torture_random(&t->rng, 20000));
}

void *torture_count_updater(void *arg)
{
	return torture_rounds(arg, &torture.active_updaters, update_round);
}

/* ---- a whole life in one place --------------------------------------------------------------- */

/* Private objects: a thread takes references on any CPU, ends the owner's, and puts the rest. */
void torture_count_once(void)
{
	uint64_t rng = bench_now_ns() | 1;
	struct counted *o = torture_counted_new(true, torture_once_in(&rng, 2), &rng);
	uint32_t n = 1 + (uint32_t)torture_random(&rng, 10);

	lull_percpu_ref_get_many(&o->ref, n);
	torture_counted_took(o, n, "object of one thread");
	end(o, NULL, &rng);
	torture_counted_put(o, n, "object of one thread");
}

/* ---- forked children ------------------------------------------------------------------------- */

#define FORKED 3u
#define CHILD_ROUNDS 2000u

static void must_be_released(struct counted *o, const char *whose)
{
	if (!torture_counted_is_released(o))
		torture_fail("an object %s was killed, all its references were put, and it is not released", whose);
	else
		torture_counted_retire(o);
}

/* Both go on with the references that the forking thread had. */
pid_t torture_count_fork(struct torturer *t)
{
	struct counted *o[FORKED];
	uint32_t n[FORKED];
	unsigned i;
	pid_t pid;

	for (i = 0; i < FORKED; i++) {
		o[i] = torture_counted_new(true, i % 2, &t->rng);
		o[i]->rests = true;
		n[i] = 1 + (uint32_t)torture_random(&t->rng, 100);
		lull_percpu_ref_get_many(&o[i]->ref, n[i]);
		torture_counted_took(o[i], n[i], "object before a fork");
	}
	torture_leave_debris(&t->rng);
	torture_pool_lock();
	pid = fork();
	torture.in_child = pid == 0;
	torture_pool_unlock();
	for (i = 0; i < FORKED; i++) {
		torture_linger(&t->rng);
		torture_counted_put(o[i], 1, "object after a fork");
		torture_counted_kill(o[i], i == 0);
		if (n[i] > 1)
			torture_counted_put(o[i], n[i] - 1, "object after a fork");
	}
	torture.flavor->barrier();
	for (i = 0; i < FORKED; i++)
		must_be_released(o[i], "from before a fork");
	return pid;
}

static void *child_holder(void *arg)
{
	struct counted *o = arg;
	unsigned n;

	for (n = 0; n < CHILD_ROUNDS; n++) {
		lull_percpu_ref_get_many(&o->ref, 2);
		torture_counted_took(o, 2, "object of a child");
		torture_counted_put(o, 1, "object of a child");
		torture_counted_put(o, 1, "object of a child");
	}
	torture_counted_put(o, 1, "object of a child");
	return NULL;
}

/* Counts and kills work in the child, with a thread of its own. */
void torture_count_child(struct torturer *t)
{
	struct counted *o = torture_counted_new(true, false, &t->rng);
	pthread_t thread;

	o->rests = true;
	lull_percpu_ref_get(&o->ref);
	torture_counted_took(o, 1, "object of a child");
	if (pthread_create(&thread, NULL, child_holder, o) != 0)
		torture_fail("cannot make a thread");
	torture_spin_ns(torture_random(&t->rng, 100000));
	torture_counted_kill(o, true);
	pthread_join(thread, NULL);
	torture.flavor->barrier();
	must_be_released(o, "of a child");
}

/* ---- when no thread holds anything -------------------------------------------------------------- */

/* Take away the published objects, too, so that each count is checked. */
void torture_count_settle(void)
{
	static uint64_t rng = 1;
	bool over = lull_load_acquire(&torture.over);
	unsigned i;

	torture_count_hand_settle();
	torture_counted_retire_left();
	torture.flavor->barrier();
	for (i = 0; i < torture.updaters; i++)
		let_go_resting(&resting[i]);
	for (i = 0; i < COUNT_PLACES; i++) {
		struct counted *fresh = over ? NULL : torture_counted_new(i < COUNT_PLACES / 2, i % 2, &rng), *old;

		old = torture_count_publish(i, fresh);
		/* This is the thread that polls: what would wait for a callback waits for ever. */
		if (old && old->per_cpu)
			torture_counted_kill(old, torture_once_in(&rng, 2));
		else if (old)
			torture_counted_drop(old, &rng);
	}
}

void torture_count_check(const char *when)
{
	uint64_t made = lull_load_relaxed(&torture_counts.made), gone = lull_load_relaxed(&torture_counts.freed);
	uint64_t published = 0;
	unsigned i;

	for (i = 0; i < COUNT_PLACES; i++)
		published += torture_counts.place[i].object != NULL;
	if (gone + published != made)
		torture_fail("%s: of %llu objects %llu are published and %llu were freed: the others were not "
			     "released (%llu ends of lives)",
			     when, (unsigned long long)made, (unsigned long long)published, (unsigned long long)gone,
			     (unsigned long long)lull_load_relaxed(&torture_counts.released));
	torture_counted_flush();
}

void torture_count_report(const struct torture_tally *sum)
{
	printf("%-24s %llu times held; counters of %s\n", "References:", (unsigned long long)sum->sections,
	       lull_percpu_ref_per_cpu() ? "CPUs" : "threads");
	printf("%-24s %llu made, %llu released at the end of a life, %llu freed\n",
	       "Objects:", (unsigned long long)torture_counts.made, (unsigned long long)torture_counts.released,
	       (unsigned long long)torture_counts.freed);
	printf("%-24s %llu kills, %llu switches\n",
	       "Confirmed:", (unsigned long long)torture_counts.confirmed,
	       (unsigned long long)torture_counts.switched);
}
