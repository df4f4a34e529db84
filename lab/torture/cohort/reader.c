/* SPDX-License-Identifier: MIT */
/* lull torture: readers of the members of cohorts. See torture_cohort.h. */
#include "torture/cohort/torture_cohort.h"

static void in_section(struct cohort_place *place, uint64_t *rng, const char *where)
{
	const struct cohort_member *m;

	lull_rcu_read_lock();
	m = lull_rcu_dereference(place->member);
	if (m) {
		uint64_t serial = m->serial;

		torture_linger(rng);
		torture_member_check(m, serial, where);
	}
	lull_rcu_read_unlock();
}

static void held(struct cohort_place *place, uint64_t *rng, const char *where)
{
	struct lull_hazptr_hold hold;
	const struct cohort_member *m = lull_hazptr_acquire_member(&hold, &place->member, c.head);

	if (m) {
		uint64_t serial = m->serial;

		torture_linger(rng);
		torture_member_check(m, serial, where);
	}
	lull_hazptr_release(&hold, m);
}

static void read_one(struct torturer *t, const char *where)
{
	unsigned nr = (unsigned)torture_random(&t->rng, COHORT_PLACES);
	struct cohort_place *place = &torture_cohorts.place[nr];
	enum cohort_way way = (enum cohort_way)(nr % COHORT_WAYS);

	if (way == COHORT_RCU || (way == COHORT_BRIDGE && torture_once_in(&t->rng, 2)))
		in_section(place, &t->rng, where);
	else
		held(place, &t->rng, where);
	t->tally.sections++;
}

void torture_cohort_use(struct torturer *t)
{
	read_one(t, "use");
}

void torture_cohort_use_shortly(struct torturer *t, const char *where)
{
	read_one(t, where);
}

void torture_cohort_in_handler(struct torturer *t)
{
	/* Threads that pause still get signals, and must not hold anything. */
	if (lull_load_acquire(&torture.pausing))
		return;
	in_section(&torture_cohorts.place[COHORT_RCU], &t->handler_rng, "section in a signal handler");
	t->handler_tally.sections++;
}

static void burst(struct torturer *t)
{
	uint64_t n;

	torture_doing("reading");
	for (n = torture_random(&t->rng, 100); n; n--)
		read_one(t, "use");
}

void *torture_cohort_reader(void *arg)
{
	return torture_rounds(arg, &torture.active_readers, burst);
}
