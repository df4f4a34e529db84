/* SPDX-License-Identifier: MIT */
/*
 * self.c - the calling thread's first lock, and its first one in a forked child.
 */
#include "../base/process.h"
#include "../base/registry.h"
#include "oracle.h"
#include "owner.h"
#include "self.h"

static void enter_locks(void)
{
	lull__owner_enter();
	lull__oracle_thread_enter();
#ifndef LULL_DEBUG
	if (lull__oracle_inline_locks())
		lull__self.lock_tid = lull__owner_tid();
#endif
}

uint32_t lull__mutex_self(void)
{
	uint32_t tid = lull__owner_tid();
	sigset_t saved;

	if (lull_likely(tid))
		return tid;
	lull__init();
	lull__block_signals(&saved);
	if (!lull__owner_tid()) /* a signal handler may have been faster */
		enter_locks();
	lull__restore_signals(&saved);
	return lull__owner_tid();
}

void lull__mutex_fork_child(uint32_t old_tid)
{
	bool locks = lull__owner_tid() != 0;

	(void)old_tid;
	lull__owner_fork_child();
	if (!locks)
		return;
	lull__self.lock_tid = 0;
	enter_locks();
}
