/* SPDX-License-Identifier: MIT */
/*
 * lull torture: processes that share locks. Users of the robust one are killed at any moment; users of the plain one
 * end by themselves. See torture_mutex.h.
 */
#include "torture/mutex/torture_mutex.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/options.h"

#define PROCESSES 3u
#define LIFE_NS 20000000u /* of a process that is not killed, because its killer waits for the lock */
#define VISITS 500u

/* In memory that all processes share. Updaters take turns. */
static struct shared {
	struct lull_mutex_robust robust;
	struct lull_mutex plain;
	struct mutex_watch robust_watch, plain_watch;
	struct mutex_pair robust_pair, plain_pair;
	uint64_t plain_taken;
	uint64_t died;	 /* owners of the robust one */
	uint32_t begun;	 /* processes of this round */
	char wrong[200]; /* what a process found */
} *shared;

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

void torture_kill_init(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		options_fail("out of memory");
	lull_mutex_robust_init(&shared->robust, LULL_MUTEX_SHARED);
	lull_mutex_init(&shared->plain, LULL_MUTEX_SHARED);
	shared->robust_watch = (struct mutex_watch){
		.word = &shared->robust.mutex.word, .is_shared = true, .heal_us = MUTEX_HEAL_US
	};
	shared->plain_watch = (struct mutex_watch){ .word = &shared->plain.word, .is_shared = true };
}

/* ---- what each of them does ------------------------------------------------------------------ */

static int robust_take(uint64_t *rng)
{
	struct mutex_op *op = torture_op_begin(&shared->robust_watch);
	int err;

	switch (torture_random(rng, 4)) {
	case 0:
		err = lull_mutex_robust_trylock(&shared->robust);
		break;
	case 1:
		err = lull_mutex_robust_timedlock(&shared->robust, torture_mutex_deadline(rng));
		break;
	default:
		err = lull_mutex_robust_lock(&shared->robust);
	}
	if (err == 0 || err == -EOWNERDEAD)
		lull_store_relaxed(&shared->robust_watch.entries, shared->robust_watch.entries + 1);
	torture_op_end(op);
	return err;
}

/* NULL: it is as it has to be after @err. */
static const char *repair(int err)
{
	struct mutex_pair *pair = &shared->robust_pair;

	if (err && err != -EOWNERDEAD)
		return "a robust lock cannot be locked";
	if (!err && pair->a != pair->b)
		return "the owner of a robust lock died, and the next owner did not learn of it";
	if (pair->a - pair->b > 1)
		return "more than one process had a robust lock";
	pair->b = pair->a;
	if (err) {
		shared->died++;
		lull_mutex_robust_consistent(&shared->robust);
	}
	return NULL;
}

static const char *robust_visit(uint64_t *rng)
{
	int err = robust_take(rng);
	struct mutex_op *op;
	const char *wrong;

	if (err == -EBUSY || err == -ETIMEDOUT)
		return NULL;
	wrong = repair(err);
	if (wrong)
		return wrong;
	lull_store_relaxed(&shared->robust_pair.a, shared->robust_pair.a + 1);
	if (torture_once_in(rng, 2))
		torture_spin_ns(torture_random(rng, torture_once_in(rng, 8) ? 100000 : 3000));
	lull_store_relaxed(&shared->robust_pair.b, shared->robust_pair.b + 1);
	op = torture_op_begin(&shared->robust_watch);
	lull_mutex_robust_unlock(&shared->robust);
	torture_op_end(op);
	return NULL;
}

static const char *plain_visit(uint64_t *rng)
{
	struct mutex_pair *pair = &shared->plain_pair;

	if (!torture_mutex_take(&shared->plain, &shared->plain_watch, rng))
		return NULL;
	if (pair->a != pair->b)
		return "more than one process had a lock that processes share";
	pair->a++;
	torture_spin_ns(torture_random(rng, 2000));
	pair->b++;
	shared->plain_taken++;
	torture_mutex_drop(&shared->plain, &shared->plain_watch);
	return NULL;
}

static void must_be_right(const char *wrong)
{
	if (!wrong)
		return;
	if (torture.in_child) {
		snprintf(shared->wrong, sizeof(shared->wrong), "%s", wrong);
		_exit(EXIT_FAILURE);
	}
	torture_fail("%s", wrong);
}

static _Noreturn void process_main(uint64_t rng, bool robust)
{
	uint64_t until = bench_now_ns() + LIFE_NS;
	unsigned n;

	lull_add_relaxed(&shared->begun, 1u);
	for (n = 0; robust ? bench_now_ns() < until : n < VISITS; n++)
		must_be_right(robust ? robust_visit(&rng) : plain_visit(&rng));
	_exit(EXIT_SUCCESS);
}

/* ---- a round of them ------------------------------------------------------------------------- */

static unsigned start(struct torturer *t, pid_t *pid, bool robust)
{
	unsigned n = 1 + (unsigned)torture_random(&t->rng, PROCESSES), i;
	pid_t parent = getpid();

	lull_store_relaxed(&shared->begun, 0u);
	for (i = 0; i < n; i++) {
		uint64_t rng = torture_random(&t->rng, UINT64_MAX) | 1;

		pid[i] = fork();
		if (pid[i] == 0) {
			torture.in_child = true;
			torture_die_with(parent);
			process_main(rng, robust);
		}
		if (pid[i] < 0)
			break;
	}
	n = i;
	while (lull_load_relaxed(&shared->begun) < n)
		sched_yield();
	return n;
}

static void visit_for(uint64_t ns, bool robust, uint64_t *rng)
{
	uint64_t until = bench_now_ns() + ns;

	do
		must_be_right(robust ? robust_visit(rng) : plain_visit(rng));
	while (bench_now_ns() < until && !torture_stopped());
}

static void reap(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	torture_op_forget(pid);
	if (*shared->wrong)
		torture_fail("in another process: %s", shared->wrong);
	else if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		torture_fail("a process that shares locks died from signal %d (%s)", WTERMSIG(status),
			     strsignal(WTERMSIG(status)));
}

static void kill_one(pid_t pid)
{
	kill(pid, SIGKILL);
	lull_add_relaxed(&torture_mutexes.killed, (uint64_t)1);
}

/* One after the other. */
static void join_in(struct torturer *t, const pid_t *pid, unsigned n, bool robust)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		visit_for(torture_random(&t->rng, 2000000), robust, &t->rng);
		if (robust)
			kill_one(pid[i]);
		/* Half of the time let the others find out before the process is reaped. */
		if (torture_once_in(&t->rng, 2))
			visit_for(100000, robust, &t->rng);
		reap(pid[i]);
	}
}

/* One is killed, and all the others have to come to their end without help. */
static void stay_out(struct torturer *t, const pid_t *pid, unsigned n)
{
	unsigned i;

	torture_spin_ns(torture_random(&t->rng, 3000000));
	kill_one(pid[0]);
	for (i = 0; i < n; i++)
		reap(pid[i]);
}

void torture_mutex_kill(struct torturer *t)
{
	bool robust = !torture_once_in(&t->rng, 4);
	pid_t pid[PROCESSES];
	unsigned n;

	pthread_mutex_lock(&turn);
	n = start(t, pid, robust);
	if (!robust)
		join_in(t, pid, n, false);
	else if (torture_once_in(&t->rng, 2))
		join_in(t, pid, n, true);
	else
		stay_out(t, pid, n);
	visit_for(0, robust, &t->rng);
	if (!robust)
		lull_add_relaxed(&torture_mutexes.visited, (uint64_t)n);
	lull_store_relaxed(&torture_mutexes.died, shared->died);
	pthread_mutex_unlock(&turn);
}

void torture_kill_check(const char *when)
{
	uint64_t rng = 1;

	if (shared->plain_pair.a != shared->plain_taken || lull_mutex_is_locked(&shared->plain))
		torture_fail("%s: a lock that processes share was taken %llu times, what it guards was changed %llu "
			     "times",
			     when, (unsigned long long)shared->plain_taken, (unsigned long long)shared->plain_pair.a);
	must_be_right(robust_visit(&rng));
}
