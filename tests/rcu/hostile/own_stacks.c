/* SPDX-License-Identifier: MIT */
/*
 * own_stacks.c - thread.h: a coroutine with a stack of its own goes on in another thread, between read sections, holds
 * and locks, which are functions of their own; and with a hold that is detached.
 */
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <lull/hazptr.h>
#include <lull/mutex.h>
#include <lull/rcu.h>

#include "test.h"
#include "threads.h"

enum { THREADS = 3, LEGS = 300 };

#define OWN_FUNCTION __attribute__((noinline))

static ucontext_t coroutine, threads[THREADS];
static char stack[256 << 10] __attribute__((aligned(16)));
static struct lull_mutex lock;
static int object, *shared = &object;
static struct lull_hazptr_hold hold;
static void *held;
static int leg, legs_over; /* the number of switches so far; of those that have returned */

static OWN_FUNCTION bool in_section(void)
{
	return lull_rcu_read_lock_held();
}

static OWN_FUNCTION void reads(void)
{
	lull_rcu_read_lock();
	must(lull_rcu_dereference(shared) == &object);
	must(in_section());
	lull_rcu_read_unlock();
	must(!in_section());
}

static OWN_FUNCTION void holds(void)
{
	struct lull_hazptr_hold here;
	int *p = lull_hazptr_acquire(&here, &shared);

	must(p == &object);
	lull_hazptr_release(&here, p);
}

static OWN_FUNCTION void locks(void)
{
	lull_mutex_lock(&lock);
	must(lull_mutex_owner(&lock) == (uint32_t)syscall(SYS_gettid));
	lull_mutex_unlock(&lock);
}

static OWN_FUNCTION void takes_along(void)
{
	held = lull_hazptr_acquire(&hold, &shared);
	lull_hazptr_detach(&hold);
}

static OWN_FUNCTION void gives_back(void)
{
	lull_hazptr_release(&hold, held);
}

/* Each function before the switch and after it. */
static void runs_in_turn(void)
{
	for (leg = 1;; leg++) {
		reads();
		holds();
		locks();
		takes_along();
		swapcontext(&coroutine, &threads[(leg - 1) % THREADS]);
		gives_back();
		locks();
		holds();
		reads();
	}
}

static void *runs_legs(void *number)
{
	int me = (int)(intptr_t)number;

	for (int next = me; next < LEGS; next += THREADS) {
		await_flag(&legs_over, next);
		must(swapcontext(&threads[me], &coroutine) == 0);
		must(leg == next + 1);
		must(!in_section());
		lull_store_release(&legs_over, next + 1);
	}
	await_flag(&legs_over, LEGS); /* its thread-local data stay until then */
	return NULL;
}

TEST(coroutine_in_threads)
{
	pthread_t started[THREADS];

	if (UNDER_TSAN)
		SKIP("ThreadSanitizer takes a coroutine for the thread that it began in");
	must(getcontext(&coroutine) == 0);
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = sizeof(stack);
	makecontext(&coroutine, runs_in_turn, 0);
	for (int i = 0; i < THREADS; i++)
		started[i] = start_thread(runs_legs, (void *)(intptr_t)i);
	for (int i = 0; i < THREADS; i++)
		join_thread(started[i]);
	lull_rcu_synchronize(); /* no section is left over */
	gives_back();
	lull_hazptr_synchronize(shared);
	lull_mutex_destroy(&lock);
}
