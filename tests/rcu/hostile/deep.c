/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * deep.c - sections nest deeper than the thread's word can count (rcu.h), and a signal handler reads at any moment of a lock or
 * an unlock there: the section ends with its last unlock, no sooner and no later.
 */
#include <signal.h>

#include <lull/rcu.h>

#include "child.h"
#include "steps.h"

#if CAN_STEP

/* At each so manieth instruction. Without optimisation there are many that change nothing. */
#ifdef __OPTIMIZE__
enum { EACH = 1 };
#else
enum { EACH = 3 };
#endif

static int steps, stop_at, handler_depth;

static void handler(int sig)
{
	(void)sig;
	if (++steps != stop_at)
		return;
	for (int i = 0; i < handler_depth; i++)
		lull_rcu_read_lock();
	for (int i = 0; i < handler_depth; i++) {
		must(lull__rcu_in_section());
		lull_rcu_read_unlock();
	}
}

static void locks(void)
{
	lull_rcu_read_lock();
}

static void unlocks(void)
{
	lull_rcu_read_unlock();
}

/* Make @call at @depth, with a handler at each of its instructions; then it is at @after. */
static void at_each_step(int depth, void (*call)(void), int after)
{
	void (*volatile run)(void) = call;

	for (stop_at = 1; stop_at == 1 || steps >= stop_at - EACH; stop_at += EACH) {
		for (int i = 0; i < depth; i++)
			lull_rcu_read_lock();
		steps = 0;
		set_trap_flag(true);
		run();
		set_trap_flag(false);
		for (int i = 0; i < after; i++) {
			must(lull__rcu_in_section());
			lull_rcu_read_unlock();
		}
		must(!lull__rcu_in_section());
	}
	assert_in_range(stop_at, 4, 1000);
}

TEST(handler_at_steps)
{
	struct sigaction action = { .sa_handler = handler }, saved;

	if (under_valgrind())
		SKIP("valgrind steps in its own way");
	lull_thread_register();
	assert_int_equal(sigaction(SIGTRAP, &action, &saved), 0);
	for (int online = 0; online < 2; online++) {
		if (online)
			lull_rcu_online();
		for (int depth = 510; depth <= 515; depth++)
			for (handler_depth = 1; handler_depth <= 3; handler_depth++) {
				at_each_step(depth, locks, depth + 1);
				at_each_step(depth, unlocks, depth - 1);
			}
		if (online)
			lull_rcu_offline();
	}
	sigaction(SIGTRAP, &saved, NULL);
}
#else
TEST(handler_at_steps)
{
	SKIP("no single steps here");
}
#endif
