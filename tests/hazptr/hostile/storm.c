/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * storm.c - hazptr.h: everything at once, at random and under load. Also compiled as
 * C++.
 */
#include "hazptr/fixture.h"

/* ---- everything at once ----------------------------------------------------------------------------- */

/* Protections in all forms, taken and ended at random, each of its own object that is retired at once. */
struct actor {
	struct thing *thing;
	struct lull_hazptr *h; /* NULL: by the hold */
	struct lull_hazptr_context *ctx;
	struct lull_hazptr_hold hold;
};

static void actor_begins(struct actor *actor, struct lull_hazptr_context *ctx)
{
	struct thing *thing = new_thing(&gone);

	actor->ctx = ctx;
	actor->h = random_below(2) ? lull_hazptr_alloc(ctx) : NULL;
	if (actor->h)
		lull_hazptr_protect(actor->h, thing, rcu);
	else
		lull_hazptr_acquire(&actor->hold, &thing);
	if (!actor->h && random_below(3) == 0)
		lull_hazptr_detach(&actor->hold);
	actor->thing = thing;
	if (random_below(3))
		lull_hazptr_call(&thing->rcu, thing_gone);
	else
		lull_rcu_call_hazptr(&thing->rcu, thing_gone);
}

static void actor_ends(struct actor *actor)
{
	check_alive(actor->thing);
	if (actor->h)
		lull_hazptr_free(actor->ctx, actor->h);
	else
		lull_hazptr_release(&actor->hold, actor->thing);
	actor->thing = NULL;
}

static void act(enum lull_reclaim_mode mode)
{
	struct actor actor[40];
	struct lull_hazptr_context ctx[2];
	int begun = 0;

	set_mode(mode);
	lull_store_relaxed(&gone, 0);
	memset(actor, 0, sizeof(actor));
	for (int i = 0; i < 2; i++)
		lull_hazptr_context_init(&ctx[i]);
	for (int step = 0; step < 20000; step++) {
		struct actor *next = &actor[random_below(ARRAY_SIZE(actor))];
		uint32_t which = random_below(3);

		if (next->thing) {
			actor_ends(next);
		} else {
			actor_begins(next, which < 2 ? &ctx[which] : own());
			begun++;
		}
		if (mode == LULL_RECLAIM_POLL && step % 7 == 0)
			lull_reclaim_poll(SIZE_MAX, 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(actor); i++)
		if (actor[i].thing)
			actor_ends(&actor[i]);
	lull_hazptr_barrier();
	assert_int_equal(gone, begun);
	for (int i = 0; i < 2; i++) {
		check_all_free(&ctx[i]);
		lull_hazptr_context_cleanup(&ctx[i]);
	}
}

TEST(random)
{
	act(LULL_RECLAIM_THREAD);
	act(LULL_RECLAIM_POLL);
	act(LULL_RECLAIM_CALLER);
}

/* Readers in all forms against updaters in all forms; holds go from thread to thread. */
enum { SHARED = 4 };
static struct thing *shared[SHARED];
static struct handed {
	struct lull_hazptr_hold hold;
	struct thing *thing;
} *mailbox;
static int storm_stop;

static void hand_over(struct handed *handed)
{
	if (handed)
		lull_hazptr_detach(&handed->hold);
	handed = lull_xchg_acq_rel(&mailbox, handed);
	if (!handed)
		return;
	check_alive(handed->thing);
	lull_hazptr_release(&handed->hold, handed->thing);
	free(handed);
}

static void *storm_reader(void *unused)
{
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();

	for (unsigned n = 0; !lull_load_relaxed(&storm_stop); n++) {
		struct lull_hazptr_hold hold[10];
		struct thing *thing[10];
		struct lull_hazptr *h = lull_hazptr_alloc(ctx);
		struct thing *got;

		assert_non_null(h);
		if ((got = lull_hazptr_tryprotect(h, shared[n % SHARED], rcu)))
			check_alive(got);
		for (int i = 0; i < 10; i++)
			thing[i] = lull_hazptr_acquire(&hold[i], &shared[(n + (unsigned)i) % SHARED]);
		if (n % 4 == 0) {
			struct handed *handed = (struct handed *)malloc(sizeof(*handed));

			handed->thing = lull_hazptr_acquire(&handed->hold, &shared[n / 4 % SHARED]);
			hand_over(handed);
		}
		for (int i = 0; i < 10; i++)
			check_alive(thing[i]);
		if (got)
			check_alive(got);
		for (int i = 0; i < 10; i++)
			lull_hazptr_release(&hold[n & 1 ? i : 9 - i], thing[n & 1 ? i : 9 - i]);
		got = lull_hazptr_protect(h, shared[n % SHARED], rcu);
		check_alive(got);
		lull_hazptr_free(ctx, h);
	}
	return unused;
}

static void *storm_updater(void *unused)
{
	for (unsigned n = 0; !lull_load_relaxed(&storm_stop); n++) {
		struct thing *old = lull_xchg_acq_rel(&shared[n % SHARED], new_thing(NULL));

		switch (n % 5) {
		case 0:
			lull_hazptr_synchronize(old);
			thing_gone(&old->rcu);
			break;
		case 1:
			lull_hazptr_synchronize_range(old, sizeof(*old));
			thing_gone(&old->rcu);
			break;
		case 2:
			lull_hazptr_retire(old);
			break;
		default:
			lull_hazptr_call(&old->rcu, thing_gone);
			break;
		}
	}
	return unused;
}

TEST(storm)
{
	pthread_t thread[4];

	storm_stop = 0;
	for (int i = 0; i < SHARED; i++)
		shared[i] = new_thing(NULL);
	for (int i = 0; i < 4; i++)
		thread[i] = start_thread(i < 2 ? storm_reader : storm_updater, NULL);
	nap_ms(1000);
	lull_store_relaxed(&storm_stop, 1);
	for (int i = 0; i < 2; i++)
		join_thread(thread[i]);
	hand_over(NULL); /* an updater may wait for just this */
	for (int i = 2; i < 4; i++)
		join_thread(thread[i]);
	lull_hazptr_barrier();
	assert_int_equal(waiting(), 0);
	for (int i = 0; i < SHARED; i++)
		free(shared[i]);
}
