/* SPDX-License-Identifier: MIT */
/*
 * fork_steps.h - stop, or fork, at any moment of a call. A thread makes single steps through it, and at one of them forks in the
 * handler of the trap, or waits there until another thread has forked. In the child of its own the call goes on; and all
 * that it leaves behind is the child's, and its child's. In the other child lull works as ever. A call that blocks
 * signals cannot be made in steps, nor can malloc().
 */
#ifndef LULL_TEST_FORK_STEPS_H
#define LULL_TEST_FORK_STEPS_H

#include <lull/hazptr.h>

#include "child.h"
#include "steps.h"
#include "threads.h"

#if CAN_STEP

/* Fork at each so manieth instruction. Without optimisation a store takes several. EACH_STEP: of a short call, at each. */
#ifdef EACH_STEP
enum { EACH = 1 };
#elif defined(__OPTIMIZE__)
enum { EACH = 2 };
#else
enum { EACH = 7 };
#endif

/* A call, by a thread; and what it does before and after it, also in a child that it has forked in there. */
struct call {
	void (*before)(void), (*call)(void), (*after)(void);
	void (*look)(void); /* in a child that another thread has forked; NULL: as in others */
	void (*handler)(void); /* NULL, or what the handler that has forked does in the child */
};

static const struct call *stepped;
static int steps, stop_at; /* of the call; a child is forked at that one */
static int stopped, may_go, ended;
static bool forks_itself, in_child;

static void trapped(int sig, siginfo_t *info, void *arg)
{
	pid_t child;
	int status;

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
	if (in_child && stepped->handler)
		stepped->handler();
	if (in_child) /* and goes on */
		((ucontext_t *)arg)->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
	else
		must(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void begin_traps(struct sigaction *saved)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = trapped;
	action.sa_flags = SA_SIGINFO;
	assert_int_equal(sigaction(SIGTRAP, &action, saved), 0);
}

static void step_through(void (*call)(void))
{
	void (*volatile run)(void) = call;

	steps = 0;
	set_trap_flag(true);
	run();
	set_trap_flag(false);
}

static inline void *makes_steps(void *unused)
{
	stepped->before();
	step_through(stepped->call);
	if (in_child) {
		alarm(60);
		expect_fine(stepped->after); /* its own child finds all, too */
		stepped->after();
		_exit(0);
	}
	stepped->after();
	lull_store_release(&ended, 1);
	return unused;
}

static inline void works_as_ever(void)
{
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	lull_rcu_synchronize();
	lull_hazptr_synchronize(&stopped);
	lull_hazptr_barrier();
}

static inline void fork_at_steps(const struct call *this_call)
{
	struct sigaction saved;

	begin_traps(&saved);
	stepped = this_call;
	for (int itself = 0; itself < 2; itself++) {
		forks_itself = itself;
		for (stop_at = 1; stop_at == 1 || steps >= stop_at - EACH; stop_at += EACH) {
			pthread_t thread;

			stopped = may_go = ended = 0;
			thread = start_thread(makes_steps, NULL);
			AWAIT_SOON(lull_load_acquire(&stopped) || lull_load_acquire(&ended));
			if (lull_load_acquire(&stopped))
				EXPECT_FINE {
					alarm(60);
					(stepped->look ? stepped->look : works_as_ever)();
				}
			lull_store_release(&may_go, 1);
			join_thread(thread);
		}
		assert_in_range(stop_at, 10, 3000);
	}
	sigaction(SIGTRAP, &saved, NULL);
}

#endif
#endif /* LULL_TEST_FORK_STEPS_H */
