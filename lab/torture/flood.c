/* SPDX-License-Identifier: MIT */
/* lull torture: callbacks by the thousand, and barriers that are counted. See torture.h. */
#include "torture/flavors.h"
#include "torture/run.h"

#include <stdlib.h>

#include "common/options.h"

/* ---- flood ----------------------------------------------------------------------------------- */

#define FLOOD_IN_SECTION 200u
#define FLOOD_GENERATIONS 8u /* within what a barrier follows */

static uint32_t flood_called;

static void drop_called(struct lull_rcu_head *head)
{
	struct torture_drop *d = lull_container_of(head, struct torture_drop, head);

	if (!torture_drop_ran(d))
		return;
	lull_add_relaxed(&flood_called, 1u);
	if (d->again--)
		torture_drop_defer(d, drop_called);
	else
		torture_drop_free(d);
}

/* Returns how many callbacks it will be. */
static uint32_t post_drop(uint32_t again)
{
	struct torture_drop *d = options_alloc(1, sizeof(*d));

	d->again = again;
	torture_drop_defer(d, drop_called);
	return again + 1;
}

/*
 * Check that a callback deferred in a section does not run in it: with RCU and the bridge. Return how many callbacks
 * will run.
 */
static uint32_t flood_section(struct torturer *t)
{
	uint32_t posted = 0, before;

	lull_rcu_read_lock();
	before = lull_load_relaxed(&flood_called);
	while (posted < FLOOD_IN_SECTION)
		posted += post_drop(0);
	torture_spin_ns(torture_random(&t->rng, 100000));
	if (lull_load_relaxed(&flood_called) != before)
		torture_fail("a callback ran in the section that it was deferred in");
	lull_rcu_read_unlock();
	return posted;
}

static bool slots_keep_called(void)
{
	return torture.flavor->barrier == lull_hazptr_barrier;
}

/* Check that the callback of a held object does not run: with hazard pointers and the bridge. */
static uint32_t flood_held(struct torturer *t)
{
	struct lull_hazptr *h = lull_hazptr_alloc(lull_hazptr_thread_context());
	struct torture_drop *d = options_alloc(1, sizeof(*d)), *held;

	d->again = FLOOD_GENERATIONS;
	held = lull_hazptr_protect(h, d, head);
	torture_drop_defer(d, drop_called);
	torture_linger(&t->rng);
	if (held->again != FLOOD_GENERATIONS)
		torture_fail("a callback ran while its object was held to be read");
	lull_hazptr_free(lull_hazptr_thread_context(), h);
	return FLOOD_GENERATIONS + 1;
}

static void flood(struct torturer *t)
{
	uint64_t n = torture_random(&t->rng, torture.flood_most);
	uint32_t posted;

	torture_doing("flooding");
	lull_store_relaxed(&flood_called, 0u);
	posted = torture.flavor == &torture_hazptr ? 0 : flood_section(t);
	if (slots_keep_called())
		posted += flood_held(t);
	for (; n; n--) {
		posted += post_drop(torture_once_in(&t->rng, 64) ? FLOOD_GENERATIONS : 0);
		torture.flavor->free(malloc(1 + torture_random(&t->rng, 200)));
	}
	torture_doing("a barrier after a flood");
	torture.flavor->barrier();
	if (lull_load_relaxed(&flood_called) != posted)
		torture_fail("%u callbacks of %u have run after a barrier",
			     lull_load_relaxed(&flood_called), posted);
	torture.floods++;
}

void *torture_flooder(void *arg)
{
	struct torturer *t = arg;

	torture_me = t;
	while (!torture_stopped()) {
		torture_pause_point();
		flood(t);
		torture_sleep_us(torture_random(&t->rng, 200000));
		lull_store_relaxed(&t->work, t->work + 1);
	}
	return NULL;
}

/* ---- barrier --------------------------------------------------------------------------------- */

#define POSTERS 3u
#define POST_MOST 50u

/* Several threads defer, one waits for all of them. */
static struct {
	pthread_barrier_t meet;
	uint32_t posted, called;
	bool over;
} test;

struct poster {
	uint64_t rng;
	pthread_t thread;
};

static void letter_called(struct lull_rcu_head *head)
{
	struct torture_drop *d = lull_container_of(head, struct torture_drop, head);

	if (!torture_drop_ran(d))
		return;
	lull_add_relaxed(&test.called, 1u);
	torture_drop_free(d);
}

static void *poster_main(void *arg)
{
	struct poster *p = arg;
	uint64_t n;

	for (;;) {
		pthread_barrier_wait(&test.meet);
		if (test.over)
			return NULL;
		n = torture_random(&p->rng, POST_MOST);
		lull_add_relaxed(&test.posted, (uint32_t)n);
		for (; n; n--)
			torture_drop_defer(options_alloc(1, sizeof(struct torture_drop)), letter_called);
		pthread_barrier_wait(&test.meet);
	}
}

static void barrier_round(void)
{
	uint32_t posted, called;

	test.posted = test.called = 0;
	pthread_barrier_wait(&test.meet);
	pthread_barrier_wait(&test.meet);
	torture_doing("a barrier for several threads");
	torture.flavor->barrier();
	posted = lull_load_relaxed(&test.posted);
	called = lull_load_relaxed(&test.called);
	if (called != posted)
		torture_fail("%u callbacks of %u, deferred by %u threads, have run after a barrier",
			     called, posted, POSTERS);
	torture.barriers++;
}

void *torture_barrier_tester(void *arg)
{
	struct torturer *t = arg;
	struct poster poster[POSTERS];
	unsigned i;

	torture_me = t;
	pthread_barrier_init(&test.meet, NULL, POSTERS + 1);
	for (i = 0; i < POSTERS; i++) {
		poster[i] = (struct poster){ .rng = torture_random(&t->rng, UINT64_MAX) | 1 };
		if (pthread_create(&poster[i].thread, NULL, poster_main, &poster[i]) != 0)
			options_fail("cannot make a thread");
	}
	while (!torture_stopped()) {
		torture_pause_point();
		barrier_round();
		torture_sleep_us(torture_random(&t->rng, 20000));
		lull_store_relaxed(&t->work, t->work + 1);
	}
	test.over = true;
	pthread_barrier_wait(&test.meet);
	for (i = 0; i < POSTERS; i++)
		pthread_join(poster[i].thread, NULL);
	pthread_barrier_destroy(&test.meet);
	return NULL;
}
