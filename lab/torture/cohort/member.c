/* SPDX-License-Identifier: MIT */
/* lull torture: members of cohorts, and the lives of cohorts. See torture_cohort.h. */
#include "torture/cohort/torture_cohort.h"

#include <stdlib.h>

#include "common/options.h"

enum { LIVE, RETIRED, GONE };

struct torture_cohorts torture_cohorts;

/* ---- members ---------------------------------------------------------------------------------- */

struct cohort_member *torture_member_new(enum cohort_way way)
{
	struct cohort_member *m = malloc(sizeof(*m));

	if (!m)
		options_fail("out of memory");
	*m = (struct cohort_member){ .way = way };
	m->serial = lull_add_relaxed(&torture_cohorts.made, (uint64_t)1) + 1;
	m->contents = ~m->serial;
	return m;
}

void torture_member_check(const struct cohort_member *m, uint64_t serial, const char *where)
{
	if (lull_load_relaxed(&m->state) == GONE || m->serial != serial || m->contents != ~serial)
		torture_fail("%s: a member of a cohort was freed while it was read", where);
}

static void member_gone(struct lull_cohort_head *c)
{
	struct cohort_member *m = lull_container_of(c, struct cohort_member, c), *another;
	struct cohort_life *life = m->life;
	bool kept = m->is_kept;

	if (lull_xchg_relaxed(&m->state, (uint32_t)GONE) != RETIRED)
		torture_fail("the callback of a member ran twice");
	if (lull_load_relaxed(&life->number) != m->number) {
		torture_fail("a callback has run after a wait for its cohort had returned");
		return;
	}
	if (m->serial % 8 == 0)
		torture_spin_ns(m->serial % 128 * 1000);
	if (m->again) {
		another = torture_member_new(m->way);
		another->again = m->again - 1;
		torture_member_retire(life, another);
	}
	m->contents = 0;
	free(m);
	lull_add_relaxed(&torture_cohorts.gone, (uint64_t)1);
	if (lull_load_relaxed(&life->returned) % 16 == 0)
		torture_spin_ns(20000);
	if (kept)
		lull_add_relaxed(&life->kept_returned, 1u);
	lull_add_relaxed(&life->returned, 1u);
}

void torture_member_retire(struct cohort_life *life, struct cohort_member *m)
{
	m->life = life;
	m->number = lull_load_relaxed(&life->number);
	lull_store_relaxed(&m->state, (uint32_t)RETIRED);
	lull_add_relaxed(&life->retired, 1u);
	if (m->way == COHORT_RCU)
		lull_cohort_call_rcu_sized(&life->cohort, &m->c, member_gone, sizeof(*m));
	else if (m->way == COHORT_HAZPTR)
		lull_cohort_call_hazptr(&life->cohort, &m->c, member_gone);
	else
		lull_cohort_call_rcu_hazptr(&life->cohort, &m->c, member_gone);
}

/* ---- lives ------------------------------------------------------------------------------------ */

static pthread_mutex_t lives_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cohort_life *free_lives;

void torture_cohort_lock(void)
{
	pthread_mutex_lock(&lives_lock);
}

void torture_cohort_unlock(void)
{
	pthread_mutex_unlock(&lives_lock);
}

struct cohort_life *torture_cohort_begin(void)
{
	struct cohort_life *life;

	torture_cohort_lock();
	life = free_lives;
	if (life)
		free_lives = life->next;
	torture_cohort_unlock();
	return life ? life : options_alloc(1, sizeof(*life));
}

void torture_cohort_end(struct cohort_life *life, const char *after)
{
	uint32_t retired = lull_load_relaxed(&life->retired), returned = lull_load_relaxed(&life->returned);

	/* A child does not run the callbacks that other threads were running at the fork. */
	if (torture.in_child ? returned > retired : returned != retired)
		torture_fail("after %s %u callbacks of a cohort have returned, of %u", after, returned, retired);
	lull_store_relaxed(&life->number, life->number + 1);
	life->retired = life->returned = life->kept_returned = 0;
	lull_add_relaxed(&torture_cohorts.ended, (uint64_t)1);
	torture_cohort_lock();
	life->next = free_lives;
	free_lives = life;
	torture_cohort_unlock();
}
