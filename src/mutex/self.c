/* SPDX-License-Identifier: MIT */
/*
 * self.c - the calling thread's first lock, and its first one in a forked child; what it did wrong.
 */
#include "../base/message.h"
#include "../base/process.h"
#include "../base/registry.h"
#include "../owner_runs/owner.h"
#include "../owner_runs/owner_runs.h"
#include "self.h"
#include "waiting.h"

static __thread uint32_t my_tid __attribute__((tls_model("initial-exec"))); /* 0 before the first lock */

static __thread uint32_t inline_tid __attribute__((tls_model("initial-exec"))); /* 0: each lock has to go out of line */
static __thread uint32_t calm __attribute__((tls_model("initial-exec")));	 /* so many locks were free since the crowd */

#define CALM 4 /* so many are enough */

void lull__mutex_crowded(void)
{
	lull__self.lock_tid = 0;
	calm = 0;
}

void lull__mutex_calm(void)
{
	uint32_t tid;

	if (++calm < CALM)
		return;
	do {
		tid = lull_load_relaxed(&inline_tid);
		lull_store_relaxed(&lull__self.lock_tid, tid);
		lull_compiler_barrier();
	} while (tid != lull_load_relaxed(&inline_tid)); /* a signal handler has forked: this thread has a new id */
}

static void enter_locks(void)
{
	lull__owner_enter();
	my_tid = lull__owner_tid();
	lull__oracle_decide();
	lull__oracle_thread_enter();
#ifndef LULL_DEBUG
	if (lull__oracle_inline_locks())
		lull__self.lock_tid = inline_tid = lull__owner_tid();
#endif
}

uint32_t lull__mutex_self(void)
{
	sigset_t saved;

	lull__init();
	if (lull_likely(my_tid))
		return my_tid;
	lull__block_signals(&saved);
	if (!my_tid) /* a signal handler may have been faster */
		enter_locks();
	lull__restore_signals(&saved);
	return my_tid;
}

void lull__mutex_fork_child(uint32_t old_tid)
{
	(void)old_tid;
	lull__owner_fork_child();
	if (!my_tid)
		return;
	lull__self.lock_tid = inline_tid = 0;
	enter_locks();
}

void lull__mutex_misuse(const char *what, const void *m, uint32_t tid)
{
	struct lull__thread_words self = lull__thread_words(lull__mutex_self());

	if (!tid)
		lull__die("%s %s mutex %p, which no thread holds", self.text, what, m);
	lull__die("%s %s mutex %p, which %s holds", self.text, what, m, lull__thread_words(tid).text);
}
