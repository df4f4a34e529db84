/* SPDX-License-Identifier: MIT */
/* runs: full-fences, core */
/*
 * fork.c - hazptr.h: protection and waiting across fork(), and contexts that are left at exit().
 */
#include "hazptr/fixture.h"

/* ---- fork ------------------------------------------------------------------------------------------ */

enum { OTHERS = 3, DETACHED = 3, OWN_SLOT, OWN_OVERFLOW, OWN_DETACHED, OWN_CONTEXT, FORKED };
static struct thing *forked[FORKED];
static struct holder forked_holder[4];
static struct lull_hazptr_hold forked_hold[FORKED];
static struct lull_hazptr_context forked_ctx;
static struct lull_hazptr *forked_slot[LULL_HAZPTR_SLOTS];
static int forked_gone;

static void let_go_in_child(int n)
{
	if (n == DETACHED)
		lull_hazptr_release(&forked_holder[DETACHED].hold, forked[n]);
	else if (n == OWN_SLOT)
		lull_hazptr_free(own(), forked_slot[0]);
	else if (n == OWN_CONTEXT)
		lull_hazptr_context_cleanup(&forked_ctx);
	else
		lull_hazptr_release(&forked_hold[n], forked[n]);
}

TEST(fork)
{
	static const enum letting_go ways[4] = { FREE_SLOT, RELEASE_OVERFLOW, CLEAN_UP, RELEASE_ELSEWHERE };

	forked_gone = 0;
	for (int n = 0; n < FORKED; n++)
		forked[n] = new_thing(&forked_gone);
	for (int n = 0; n < 4; n++)
		holder_start(&forked_holder[n], ways[n], &forked[n]);
	lull_hazptr_acquire(&forked_hold[OWN_DETACHED], &forked[OWN_DETACHED]);
	lull_hazptr_detach(&forked_hold[OWN_DETACHED]);
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		forked_slot[i] = lull_hazptr_alloc(own());
	lull_hazptr_protect(forked_slot[0], forked[OWN_SLOT], rcu);
	lull_hazptr_acquire(&forked_hold[OWN_OVERFLOW], &forked[OWN_OVERFLOW]);
	lull_hazptr_context_init(&forked_ctx);
	lull_hazptr_protect(lull_hazptr_alloc(&forked_ctx), forked[OWN_CONTEXT], rcu);

	EXPECT_FINE {
		struct lull_reclaim_config config;

		lull_reclaim_default_config(&config);
		config.mode = LULL_RECLAIM_POLL;
		must(lull_reclaim_configure(&config) == 0);
		/* Contexts of other threads are not there. */
		for (int n = 0; n < OTHERS; n++)
			must(lull_hazptr_synchronize_timeout(forked[n], 5000) == 0);
		must(lull_hazptr_synchronize_timeout(forked[DETACHED], 10) == -ETIMEDOUT);
		/* Its own ones, and those of no thread, are, and they work. */
		for (int n = DETACHED; n < FORKED; n++)
			lull_hazptr_call(&forked[n]->rcu, thing_gone);
		must(lull_reclaim_poll(100, 0) == 0);
		must(lull_hazptr_barrier_timeout(10) == -ETIMEDOUT);
		for (int n = DETACHED; n < FORKED; n++) {
			must(lull_load_relaxed(&forked[n]->value) == 42);
			let_go_in_child(n);
			must(lull_reclaim_poll(100, 0) == 1);
			must(forked_gone == n - DETACHED + 1);
		}
		for (int i = 1; i < LULL_HAZPTR_SLOTS; i++)
			lull_hazptr_free(own(), forked_slot[i]);
		check_all_free(own());
		lull_hazptr_call(&forked[0]->rcu, thing_gone);
		lull_hazptr_barrier();
		must(forked_gone == FORKED - DETACHED + 1);
	}

	/* Here everything is as it was. */
	for (int n = 0; n < FORKED; n++)
		assert_false(is_free_of(forked[n]));
	for (int n = 0; n < 4; n++) {
		holder_let_go(&forked_holder[n]);
		holder_finish(&forked_holder[n]);
	}
	lull_hazptr_release(&forked_hold[OWN_DETACHED], forked[OWN_DETACHED]);
	lull_hazptr_release(&forked_hold[OWN_OVERFLOW], forked[OWN_OVERFLOW]);
	lull_hazptr_context_cleanup(&forked_ctx);
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		lull_hazptr_free(own(), forked_slot[i]);
	for (int n = 0; n < FORKED; n++) {
		assert_true(is_free_of(forked[n]));
		free(forked[n]);
	}
}

TEST(fork_under_waiter)
{
	struct thing *thing = &first;
	struct waiter waiter;

	lull_hazptr_acquire(&forked_hold[0], &thing);
	waiter_start(&waiter, &first, 0);
	nap_ms(20);
	/* A thread that waited in the parent is not there to be woken in the child. */
	EXPECT_FINE {
		lull_hazptr_release(&forked_hold[0], &first);
		lull_hazptr_synchronize(&first);
	}
	assert_int_equal(lull_load_acquire(&waiter.done), 0);
	lull_hazptr_release(&forked_hold[0], &first);
	join_thread(waiter.thread);
}

/* fork at any moment of what other threads do. */
static int churn_stop;

static void *churn_run(void *arg)
{
	struct thing handed_on, *source = &handed_on; /* a child keeps what is detached */
	struct lull_hazptr_hold hold[12];
	struct lull_hazptr_context ctx;
	struct thing *thing;

	while (!lull_load_relaxed(&churn_stop)) {
		lull_hazptr_context_init(&ctx);
		lull_hazptr_protect(lull_hazptr_alloc(&ctx), variable, rcu);
		for (int i = 0; i < 12; i++)
			lull_hazptr_acquire(&hold[i], i == 3 ? &source : &variable);
		lull_hazptr_detach(&hold[3]);
		for (int i = 0; i < 12; i++)
			lull_hazptr_release(&hold[i], &first);
		lull_hazptr_context_cleanup(&ctx);
		thing = new_thing(NULL);
		lull_hazptr_call(&thing->rcu, thing_gone);
		lull_hazptr_retire(malloc(32));
		lull_hazptr_synchronize(&second);
		if (arg)
			join_thread(start_thread(first_slot_run, NULL));
	}
	return NULL;
}

TEST(fork_under_load)
{
#ifdef LULL_TEST_EMULATED
	const int forks = 20; /* it was seen to hang here once under the emulator, and never without */
#else
	const int forks = 100;
#endif
	pthread_t thread[2];

#if SANITIZED
	SKIP(SANITIZER_HEAP_OVER_FORK);
#endif
	churn_stop = 0;
	lull_hazptr_publish(variable, &first);
	for (int i = 0; i < 2; i++)
		thread[i] = start_thread(churn_run, i ? &thread : NULL);
	for (int n = 0; n < forks; n++)
		EXPECT_FINE {
			struct lull_reclaim_config config;
			struct lull_hazptr_hold hold[12];
			struct lull_hazptr_context ctx;
			struct thing *thing;
			int count = 0;

			lull_reclaim_default_config(&config);
			config.mode = LULL_RECLAIM_POLL;
			must(lull_reclaim_configure(&config) == 0);
			check_all_free(own());
			lull_hazptr_context_init(&ctx);
			for (int i = 0; i < 12; i++)
				lull_hazptr_acquire(&hold[i], &variable);
			for (int i = 0; i < 12; i++)
				lull_hazptr_release(&hold[i], &first);
			must(lull_hazptr_synchronize_timeout(&first, 5000) == 0);
			thing = new_thing(&count);
			lull_hazptr_protect(lull_hazptr_alloc(&ctx), thing, rcu);
			lull_hazptr_call(&thing->rcu, thing_gone);
			must(lull_hazptr_barrier_timeout(1) == -ETIMEDOUT);
			lull_hazptr_context_cleanup(&ctx);
			must(lull_hazptr_barrier_timeout(5000) == 0);
			must(count == 1);
		}
	lull_store_relaxed(&churn_stop, 1);
	for (int i = 0; i < 2; i++)
		join_thread(thread[i]);
}

/* ---- exit ------------------------------------------------------------------------------------------ */

static __attribute__((noinline)) void leave_on_frame(void)
{
	struct lull_hazptr_context ctx;

	lull_hazptr_context_init(&ctx);
	__asm__ volatile("" : : "r"(&ctx) : "memory");
}

static __attribute__((noinline)) void use_the_stack(void)
{
	char frames[16384];

	memset(frames, 0x55, sizeof(frames));
	__asm__ volatile("" : : "r"(frames) : "memory");
}

TEST(context_left_at_exit)
{
#if SANITIZED || defined(LULL_TEST_EMULATED)
	SKIP("a sanitizer looks for leaks in a forked child, and the emulator has no threads there");
#endif
	/* The list leads nowhere, as after main() has returned, which has left a context on its frame. */
	EXPECT_FINE {
		alarm(60);
		lull_rcu_free(malloc(16));
		lull_rcu_barrier(); /* lull's thread is there */
		leave_on_frame();
		use_the_stack();
		exit(0);
	}
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
