/* SPDX-License-Identifier: MIT */
/*
 * fork_steps.h - fork at any moment of a call: a thread makes single steps through it, and at one of them forks in the
 * handler of the trap, or waits there until another thread has forked. Only where CAN_STEP.
 */
#ifndef LULL_TEST_FORK_STEPS_H
#define LULL_TEST_FORK_STEPS_H

#include "child.h"
#include "steps.h"
#include "threads.h"

#if CAN_STEP

/* Fork at each so manieth instruction. Without optimisation a store takes several. */
#ifdef __OPTIMIZE__
enum { EACH = 2 };
#else
enum { EACH = 7 };
#endif

static int steps, stop_at; /* of the call; a child is forked at that one */
static int stopped, may_go; /* the thread waits until another thread has forked */
static bool forks_itself, in_child;

static void expect_child(pid_t child)
{
	int status = 1;

	must(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void trapped(int sig, siginfo_t *info, void *arg)
{
	pid_t child;

	(void)sig;
	(void)info;
	if (++steps != stop_at)
		return;
	if (!forks_itself) {
		lull_store_release(&stopped, 1);
		await_flag(&may_go, 1);
		return;
	}
	child = fork();
	in_child = child == 0;
	if (in_child) /* and goes on */
		((ucontext_t *)arg)->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
	else
		expect_child(child);
}

static void begin_traps(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = trapped;
	action.sa_flags = SA_SIGINFO;
	assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
}

/* Run @call in single steps. The child that is forked in there goes on behind it, with in_child set. */
static void step_through(void (*call)(void))
{
	void (*volatile run)(void) = call;

	steps = 0;
	set_trap_flag(true);
	run();
	set_trap_flag(false);
}

#endif
#endif /* LULL_TEST_FORK_STEPS_H */
