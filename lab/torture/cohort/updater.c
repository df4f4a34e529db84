/* SPDX-License-Identifier: MIT */
/* lull torture: who retires into cohorts, waits for them, and forks meanwhile. See torture_cohort.h. */
#include "torture/cohort/torture_cohort.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/options.h"

#define SLICE_MS 50u
#define MOST_AGAIN 3u
#define KEPT 12u /* more than a thread has slots */

static struct cohort_life **lives; /* of each updater */
static struct cohort_life *of_all;

static enum cohort_way way_of(unsigned place)
{
	return (enum cohort_way)(place % COHORT_WAYS);
}

static enum cohort_way any_way(uint64_t *rng)
{
	return (enum cohort_way)torture_random(rng, COHORT_WAYS);
}

static void retire_new(struct cohort_life *life, uint64_t *rng)
{
	struct cohort_member *m = torture_member_new(any_way(rng));

	m->again = (uint32_t)torture_random(rng, MOST_AGAIN);
	torture_member_retire(life, m);
}

/* ---- waits ------------------------------------------------------------------------------------ */

/* A member that the calling thread keeps. */
struct kept {
	struct lull_hazptr_hold hold;
	struct cohort_member *member;
};

static void keep(struct kept *kept, struct cohort_life *life, uint64_t *rng)
{
	enum cohort_way way = torture_once_in(rng, 2) ? COHORT_HAZPTR : COHORT_BRIDGE;
	struct cohort_member *fresh = torture_member_new(way);

	fresh->is_kept = true;
	kept->member = lull_hazptr_acquire_member(&kept->hold, &fresh, c.head);
	torture_member_retire(life, fresh);
}

static void let_go(struct kept *kept)
{
	torture_member_check(kept->member, kept->member->serial, "member that was kept");
	lull_hazptr_release(&kept->hold, kept->member);
}

static void wait_in_slices(struct cohort_life *life)
{
	while (lull_cohort_wait_timeout(&life->cohort, SLICE_MS) != 0)
		;
}

/* It must last while a member is kept, and only then. */
static void timeout(struct cohort_life *life, uint64_t *rng)
{
	struct cohort_life *other = torture_cohort_begin();
	struct kept kept;
	int err;

	keep(&kept, other, rng);
	wait_in_slices(life); /* the other's member is kept all the time */
	err = lull_cohort_wait_timeout(&other->cohort, torture_random(rng, 3));
	if (err != -ETIMEDOUT || lull_cohort_is_empty(&other->cohort))
		torture_fail("a wait for a cohort has ended while a member of it is kept and was not freed");
	let_go(&kept);
	wait_in_slices(other);
	torture_cohort_end(other, "lull_cohort_wait_timeout");
}

static void *waits(void *life)
{
	lull_cohort_wait(&((struct cohort_life *)life)->cohort);
	return NULL;
}

static void two_waits(struct cohort_life *life)
{
	pthread_t other;
	int err = pthread_create(&other, NULL, waits, life);

	lull_cohort_wait(&life->cohort);
	if (!err)
		pthread_join(other, NULL);
}

static void await_empty(struct cohort_life *life)
{
	while (!lull_cohort_is_empty(&life->cohort))
		torture_sleep_us(200);
}

static const char *const calls[] = {
	[COHORT_DESTROY] = "lull_cohort_destroy", [COHORT_WAIT] = "lull_cohort_wait",
	[COHORT_TIMEOUT] = "lull_cohort_wait_timeout", [COHORT_EMPTY] = "lull_cohort_is_empty",
	[COHORT_TWO] = "lull_cohort_wait by two",
};

static void end_life(struct torturer *t, struct cohort_life *life)
{
	enum cohort_form form = torture_once_in(&t->rng, 32) ? COHORT_TWO : (enum cohort_form)torture_random(&t->rng, COHORT_TWO);

	lull_add_relaxed(&torture.forms[form], (uint64_t)1);
	torture_doing(calls[form]);
	if (form == COHORT_DESTROY)
		lull_cohort_destroy(&life->cohort);
	else if (form == COHORT_WAIT)
		lull_cohort_wait(&life->cohort);
	else if (form == COHORT_TIMEOUT)
		timeout(life, &t->rng);
	else if (form == COHORT_EMPTY)
		await_empty(life);
	else
		two_waits(life);
	torture_cohort_end(life, calls[form]);
}

/* ---- updaters --------------------------------------------------------------------------------- */

static void replace(struct torturer *t, struct cohort_life *life, unsigned place)
{
	struct cohort_member *fresh = torture_member_new(way_of(place)), *old;

	old = lull_xchg_acq_rel(&torture_cohorts.place[place].member, fresh);
	if (!old)
		return;
	if (torture_once_in(&t->rng, 4))
		old->again = (uint32_t)torture_random(&t->rng, MOST_AGAIN);
	torture_member_retire(life, old);
}

static void update_round(struct torturer *t)
{
	struct cohort_life **life = &lives[t->index];
	uint64_t n;

	torture_doing("retiring into a cohort");
	for (n = torture_random(&t->rng, 30); n; n--)
		replace(t, *life, (unsigned)torture_random(&t->rng, COHORT_PLACES));
	if (torture_once_in(&t->rng, 2)) {
		end_life(t, *life);
		*life = torture_cohort_begin();
	}
	if (torture_once_in(&t->rng, 8))
		torture_spin_ns(torture_random(&t->rng, 20000));
}

void *torture_cohort_updater(void *arg)
{
	return torture_rounds(arg, &torture.active_updaters, update_round);
}

/* ---- other threads ---------------------------------------------------------------------------- */

void torture_cohort_once(void)
{
	uint64_t rng = bench_now_ns() | 1, n;
	struct cohort_life *life = torture_cohort_begin();

	for (n = 1 + torture_random(&rng, 5); n; n--)
		retire_new(life, &rng);
	lull_cohort_wait(&life->cohort);
	torture_cohort_end(life, "lull_cohort_wait");
}

void torture_cohort_live(struct torturer *t)
{
	if (torture_once_in(&t->rng, 4))
		retire_new(of_all, &t->rng);
}

/* ---- forked children -------------------------------------------------------------------------- */

/* Both wait for what the forking thread has kept. */
pid_t torture_cohort_fork(struct torturer *t)
{
	struct cohort_life *life = torture_cohort_begin();
	struct kept kept[KEPT];
	uint32_t returned;
	pid_t pid;

	for (unsigned i = 0; i < KEPT; i++) {
		keep(&kept[i], life, &t->rng);
		retire_new(life, &t->rng);
	}
	torture_leave_debris(&t->rng);
	torture_cohort_lock();
	torture_pool_lock();
	pid = fork();
	torture.in_child = pid == 0;
	torture_pool_unlock();
	torture_cohort_unlock();
	torture_linger(&t->rng);
	if (lull_cohort_is_empty(&life->cohort))
		torture_fail("after a fork a cohort is empty, and members of it are kept and were not freed");
	for (unsigned i = 0; i < KEPT; i++)
		let_go(&kept[i]);
	lull_cohort_wait(&life->cohort);
	returned = lull_load_relaxed(&life->kept_returned);
	if (returned != KEPT)
		torture_fail("after a fork and a wait %u callbacks of a cohort have returned, of %u", returned, KEPT);
	torture_cohort_end(life, "a fork and lull_cohort_wait");
	return pid;
}

static void *child_thread(void *unused)
{
	torture_cohort_once();
	return unused;
}

void torture_cohort_child(struct torturer *t)
{
	pthread_t thread;

	(void)t;
	if (pthread_create(&thread, NULL, child_thread, NULL) != 0)
		torture_fail("cannot make a thread");
	torture_cohort_once();
	pthread_join(thread, NULL);
}

/* ---- the run ---------------------------------------------------------------------------------- */

void torture_cohort_init(void)
{
	lives = options_alloc(torture.updaters, sizeof(*lives));
	for (unsigned i = 0; i < torture.updaters; i++)
		lives[i] = torture_cohort_begin();
	of_all = torture_cohort_begin();
	for (unsigned i = 0; i < COHORT_PLACES; i++)
		torture_cohorts.place[i].member = torture_member_new(way_of(i));
}

/* Called while no thread retires anything. */
void torture_cohort_settle(void)
{
	lull_cohort_wait(&of_all->cohort);
	torture_cohort_end(of_all, "lull_cohort_wait in a pause");
	of_all = torture_cohort_begin();
	for (unsigned i = 0; i < torture.updaters; i++) {
		lull_cohort_destroy(&lives[i]->cohort);
		torture_cohort_end(lives[i], "lull_cohort_destroy in a pause");
		lives[i] = torture_cohort_begin();
	}
}

void torture_cohort_check(const char *when)
{
	uint64_t made = lull_load_relaxed(&torture_cohorts.made), gone = lull_load_relaxed(&torture_cohorts.gone);

	if (gone + COHORT_PLACES != made)
		torture_fail("%s: of %llu members %llu were freed, and %u are published", when, (unsigned long long)made,
			     (unsigned long long)gone, COHORT_PLACES);
}

void torture_cohort_report(const struct torture_tally *sum)
{
	printf("%-24s %llu sections and holds\n", "Reading:", (unsigned long long)sum->sections);
	printf("%-24s %llu made, %llu freed\n", "Members:", (unsigned long long)torture_cohorts.made,
	       (unsigned long long)torture_cohorts.gone);
	printf("%-24s %llu ended\n", "Cohorts:", (unsigned long long)torture_cohorts.ended);
}
