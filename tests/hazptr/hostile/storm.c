/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * storm.c - hazptr.h, hazptr_fenced.h: everything at once, under load.
 */
#include "hazptr/fixture.h"

/*
 * Readers in all forms against updaters in all forms; holds go from thread to thread. At some places readers make fences,
 * and updaters make none for them.
 */
enum { SHARED = 4, FENCED = 2 };
static struct thing *shared[SHARED], *fenced[FENCED];
static struct handed {
	struct lull_hazptr_hold hold;
	struct thing *thing;
} *mailbox;
static int storm_stop, reads, updates;
#define ROUNDS_LEAST 100

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
		struct lull_hazptr *h = lull_hazptr_alloc(ctx), *other = lull_hazptr_alloc(ctx);
		struct thing *got, *kept;

		assert_true(h && other);
		kept = lull_hazptr_fenced_protect(other, fenced[n % FENCED], rcu);
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
		check_alive(kept);
		lull_hazptr_fenced_clear(other);
		if ((kept = lull_hazptr_fenced_tryprotect(other, fenced[n % FENCED], rcu)))
			for (int i = 0; i < 20; i++)
				check_alive(kept);
		lull_hazptr_free(ctx, other);
		lull_hazptr_free(ctx, h);
		came_round(&reads);
	}
	return unused;
}

static void replace_fenced(unsigned n)
{
	struct thing *old = lull_xchg_acq_rel(&fenced[n % FENCED], new_thing(NULL));

	switch (n / 2 % 5) {
	case 0:
		lull_hazptr_fenced_synchronize(old);
		thing_gone(&old->rcu);
		break;
	case 1:
		lull_hazptr_fenced_retire(old);
		break;
	case 2:
		lull_hazptr_call(&old->rcu, thing_gone);
		break;
	default:
		lull_hazptr_fenced_call(&old->rcu, thing_gone);
		break;
	}
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
		replace_fenced(n);
		came_round(&updates);
	}
	return unused;
}

TEST(storm)
{
	uint64_t since_ns = now_ns();
	pthread_t thread[4];

	storm_stop = reads = updates = 0;
	for (int i = 0; i < SHARED; i++)
		shared[i] = new_thing(NULL);
	for (int i = 0; i < FENCED; i++)
		fenced[i] = new_thing(NULL);
	for (int i = 0; i < 4; i++)
		thread[i] = start_thread(i < 2 ? storm_reader : storm_updater, NULL);
	while (storm_goes_on(since_ns, 1000000000u, &reads, ROUNDS_LEAST) || storm_goes_on(since_ns, 0, &updates, ROUNDS_LEAST))
		nap_ms(1);
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
	for (int i = 0; i < FENCED; i++)
		free(fenced[i]);
}
