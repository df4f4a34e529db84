/* SPDX-License-Identifier: MIT */
/* runs: full-fences, core */
/*
 * fork.c - hazptr.h: protection and waiting across fork(), and contexts that are left at exit().
 */
#include "hazptr/fixture.h"

/* ---- fork ------------------------------------------------------------------------------------------ */

TEST(fork_under_waiter)
{
	struct thing *thing = &first;
	struct lull_hazptr_hold hold;
	struct waiter waiter;

	lull_hazptr_acquire(&hold, &thing);
	waiter_start(&waiter, &first, 0);
	nap_ms(20);
	/* A thread that waited in the parent is not there to be woken in the child. */
	EXPECT_FINE {
		lull_hazptr_release(&hold, &first);
		lull_hazptr_synchronize(&first);
	}
	assert_int_equal(lull_load_acquire(&waiter.done), 0);
	lull_hazptr_release(&hold, &first);
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
