/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * hostile.c - life.c: a child that is forked at any moment of a call (fork_steps.h). pool/hostile.c has calls that change
 * the pool.
 */
#include <lull/mutex.h>

#include "fork_steps.h"
#include "hazptr/support.h"

#if CAN_STEP

/* ---- hazptr.h: an acquire that finds no free slot; a context ---------------------------------------------------- */

static struct thing first, *variable = &first;
static struct lull_hazptr_hold hold;
static struct lull_hazptr_context ctx;
static struct thing *held;

static void *finds_kept(void *addr)
{
	return lull_hazptr_synchronize_timeout(addr, 0) == -ETIMEDOUT ? addr : NULL;
}

/* Asked by another thread: one that protects the object itself may not. */
static bool is_kept(void *addr)
{
	pthread_t other;
	void *found;

	must(pthread_create(&other, NULL, finds_kept, addr) == 0 && pthread_join(other, &found) == 0);
	return found != NULL;
}

static struct lull_hazptr *slot[LULL_HAZPTR_SLOTS];

static void takes_all_slots(void)
{
	lull_thread_register();
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		slot[i] = lull_hazptr_alloc(lull_hazptr_thread_context());
}

static void acquires(void)
{
	held = lull_hazptr_acquire_member(&hold, &variable, rcu);
}

static void uses_hold(void)
{
	must(held == &first && is_kept(&first.rcu));
	lull_hazptr_release(&hold, held);
	must(!is_kept(&first.rcu));
	acquires();
	lull_hazptr_release(&hold, held);
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		lull_hazptr_free(lull_hazptr_thread_context(), slot[i]);
}

static void makes_context(void)
{
	lull_hazptr_context_init(&ctx);
}

static void uses_context(void)
{
	struct lull_hazptr *h = lull_hazptr_alloc(&ctx);

	must(h && lull_hazptr_protect(h, variable, rcu) == &first && is_kept(&first.rcu));
	lull_hazptr_free(&ctx, h);
	must(!is_kept(&first.rcu));
	lull_hazptr_context_cleanup(&ctx);
}

/* ---- others ----------------------------------------------------------------------------------------------------- */

static void nothing(void)
{
}

static struct lull_mutex lock;

static void locks(void)
{
	lull_mutex_lock(&lock);
}

static void unlocks(void)
{
	lull_mutex_unlock(&lock);
}

/* In a child it may have the parent's number at first. */
static void unlocks_and_locks(void)
{
	unlocks();
	locks();
	must(lull_mutex_owner(&lock) == (uint32_t)gettid());
	unlocks();
}

static void locks_and_unlocks(void)
{
	locks();
	unlocks_and_locks();
}

/* As a thread that has met a crowd, and then found locks free: its next lock out of line is the last. */
static void comes_out_of_line(void)
{
	for (int i = 0; i < 5; i++) {
		lull__self.lock_tid = 0;
		locks();
		unlocks();
	}
	lull__self.lock_tid = 0;
}

/* At the other half of the instructions. */
static void locks_later(void)
{
	__asm__ volatile("nop");
	locks();
}

static void sets_hook(void)
{
	lull_debug_set_stall_hook(NULL, NULL);
	lull_debug_set_stall_hook(NULL, NULL);
}

TEST(fork_at_steps)
{
	static const struct call calls[] = {
		{ takes_all_slots, acquires, uses_hold, NULL, NULL },
		{ lull_thread_register, makes_context, uses_context, NULL, NULL },
		{ locks_and_unlocks, locks, unlocks_and_locks, NULL, NULL },
		{ locks, unlocks, locks_and_unlocks, NULL, NULL },
		{ comes_out_of_line, locks, unlocks_and_locks, NULL, NULL },
		{ comes_out_of_line, locks_later, unlocks_and_locks, NULL, NULL },
		{ nothing, sets_hook, sets_hook, sets_hook, NULL },
	};

	if (under_valgrind())
		SKIP("valgrind steps in its own way");
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		fork_at_steps(&calls[i]);
}
#else
TEST(fork_at_steps)
{
	SKIP("no single steps here");
}
#endif

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
