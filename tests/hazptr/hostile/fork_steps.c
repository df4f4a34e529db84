/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * fork_steps.c - hazptr.h: a signal handler forks in the middle of an acquire that finds no free slot, or while
 * a context is made. In the child they go on, and the hold and the context are the child's.
 */
#include "fork_steps.h"
#include "hazptr/fixture.h"

#if CAN_STEP
static struct lull_hazptr_hold hold;
static struct lull_hazptr_context ctx;
static struct thing *held;

static void acquires(void)
{
	held = lull_hazptr_acquire_member(&hold, &variable, rcu);
}

static void makes_context(void)
{
	lull_hazptr_context_init(&ctx);
}

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

static void uses_hold(void)
{
	must(held == &first && is_kept(&first.rcu));
	lull_hazptr_release(&hold, held);
	must(!is_kept(&first.rcu));
	acquires();
	lull_hazptr_release(&hold, held);
}

static void uses_context(void)
{
	struct lull_hazptr *h = lull_hazptr_alloc(&ctx);

	must(h && lull_hazptr_protect(h, variable, rcu) == &first && is_kept(&first.rcu));
	lull_hazptr_free(&ctx, h);
	must(!is_kept(&first.rcu));
	lull_hazptr_context_cleanup(&ctx);
}

/* A grandchild finds them on the list, and as its own. */
static void look(void (*use)(void))
{
	pid_t grandchild;

	alarm(60);
	grandchild = fork();
	if (!grandchild) {
		use();
		_exit(0);
	}
	expect_child(grandchild);
	use();
}

static void fork_at_steps(void (*call)(void), void (*use)(void))
{
	forks_itself = true;
	for (stop_at = 1; stop_at == 1 || steps >= stop_at - EACH; stop_at += EACH) {
		step_through(call);
		if (in_child) {
			look(use);
			_exit(0);
		}
		use();
	}
	assert_in_range(stop_at, 20, 3000);
}

TEST(fork_at_steps)
{
	struct lull_hazptr *slot[LULL_HAZPTR_SLOTS];

	if (under_valgrind())
		SKIP("valgrind steps in its own way");
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		slot[i] = lull_hazptr_alloc(own());
	lull_hazptr_publish(variable, &first);
	begin_traps();
	fork_at_steps(acquires, uses_hold);
	fork_at_steps(makes_context, uses_context);
	signal(SIGTRAP, SIG_DFL);
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		lull_hazptr_free(own(), slot[i]);
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
