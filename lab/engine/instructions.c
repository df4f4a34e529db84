/* SPDX-License-Identifier: MIT */
/* Counting instructions by single steps of a traced child. */
#include "engine/instructions.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#if __has_include(<sys/rseq.h>) /* glibc 2.35 */
#include <sys/rseq.h>
#endif

#include <lull/atomic.h>

#include "common/bench.h"

/* A sanitizer makes hundreds of instructions out of ten, and a step costs 25 us: the count is not worth it. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define STEP_SENSIBLE false
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define STEP_SENSIBLE false
#endif
#endif
#ifndef STEP_SENSIBLE
#define STEP_SENSIBLE true
#endif

#define STEP_FEW 4u
#define STEP_MANY 20u
#define STEP_LIMIT 2000000u /* a body that does not come to its end */

#ifdef RSEQ_SIG
/*
 * Each step is an interruption, so that no restartable sequence would ever come to its end, and the way around it would
 * be counted. The kernel is asked to forget this thread's sequences; then it ends them no more, and the number of its
 * CPU stays what is written here. Any CPU will do: the child is a process with one thread, and no other process uses
 * its counters.
 */
static void keep_sequences_going(void)
{
	struct rseq *area;

	if (!__rseq_size)
		return;
	area = (struct rseq *)(void *)((char *)__builtin_thread_pointer() + __rseq_offset);
	/* glibc registers no less than this, whatever it says that there is in it. */
	if (syscall(SYS_rseq, area, __rseq_size < 32 ? 32 : __rseq_size, RSEQ_FLAG_UNREGISTER,
		    RSEQ_SIG) == 0)
		lull_store_relaxed(&area->cpu_id, 0u);
}
#else
static void keep_sequences_going(void)
{
}
#endif

/* The child stops itself around each of the two parts that are counted. */
static _Noreturn void child(void (*enter)(void), void (*leave)(void),
			    uint64_t (*body)(void *, uint64_t), void *arg)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
		_exit(1);
	keep_sequences_going();
	if (enter)
		enter();
	/* Lazy binding, first use, predictors: over before anything is counted. */
	bench_sink(body(arg, STEP_MANY));
	raise(SIGSTOP);
	bench_sink(body(arg, STEP_FEW));
	raise(SIGSTOP);
	bench_sink(body(arg, STEP_MANY));
	raise(SIGSTOP);
	if (leave)
		leave();
	_exit(0);
}

/*
 * Continues the child in the given way until it stops itself; returns the number of stops before,
 * or -1.
 */
static long run_to_stop(pid_t pid, int how)
{
	long steps = 0;
	int status;

	while (steps < (long)STEP_LIMIT) {
		if (ptrace(how, pid, NULL, NULL) != 0 || waitpid(pid, &status, 0) != pid ||
		    !WIFSTOPPED(status))
			return -1;
		if (WSTOPSIG(status) == SIGSTOP)
			return steps;
		if (WSTOPSIG(status) != SIGTRAP)
			return -1;
		steps++;
	}
	return -1;
}

static double count_in(pid_t pid)
{
	int status;
	long few, many;

	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return -1;
	few = run_to_stop(pid, PTRACE_SINGLESTEP);
	many = few < 0 ? -1 : run_to_stop(pid, PTRACE_SINGLESTEP);
	if (many < 0)
		return -1;
	/* Subtract the instructions around the body, which are the same in both. */
	return (double)(many - few) / (STEP_MANY - STEP_FEW);
}

double step_count(void (*enter)(void), void (*leave)(void), uint64_t (*body)(void *arg, uint64_t n),
		  void *arg)
{
	double result;
	pid_t pid = STEP_SENSIBLE ? fork() : -1;

	if (pid < 0)
		return -1;
	if (pid == 0)
		child(enter, leave, body, arg);
	result = count_in(pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return result;
}
