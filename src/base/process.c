/* SPDX-License-Identifier: MIT */
/*
 * process.c - first use and fork, for all mechanisms in their order.
 */
#include <lull/atomic.h>

#include "hooks.h"
#include "message.h"
#include "process.h"

static uint32_t init_state; /* 0 not yet, 1 being done, 2 done */
static uint32_t retry_wanted;

/* ---- fork ----------------------------------------------------------------------------------- */

/*
 * The registry lock is not taken. The child makes its own registry anyway, and the lock would be held
 * while fork waits for malloc's locks. A thread may hold one of those whose signal handler waits for
 * the registry lock:
 *
 *	forking thread			another thread
 *	registry lock			malloc's lock
 *	waits for malloc's lock		signal handler: its first section waits for the registry lock
 *
 * fork waits for nothing else either: a grace period may itself wait for the thread that forks.
 * Signals are blocked until the child is in order.
 */
static __thread sigset_t fork_saved __attribute__((tls_model("initial-exec")));
static __thread uint32_t fork_tid __attribute__((tls_model("initial-exec"))); /* of the thread that forks */

static void fork_prepare(void)
{
	lull__block_signals(&fork_saved);
	fork_tid = lull__gettid();
	lull__check_fork(true);
}

static void fork_parent(void)
{
	lull__check_fork(false);
	lull__restore_signals(&fork_saved);
}

static void fork_child(void)
{
	for (const struct lull__mechanism *m = lull__mechanisms; m->name; m++)
		if (m->fork_child)
			m->fork_child(fork_tid);
	lull__restore_signals(&fork_saved);
}

void lull__process_init(void)
{
	if (pthread_atfork(fork_prepare, fork_parent, fork_child) != 0)
		lull__die("cannot register fork handlers: out of memory");
}

/* ---- try again ------------------------------------------------------------------------------ */

void lull__retry_want(bool wanted)
{
	lull_store_relaxed(&retry_wanted, (uint32_t)wanted);
}

void lull__retry(void)
{
	if (lull_likely(!lull_load_relaxed(&retry_wanted)))
		return;
	for (const struct lull__mechanism *m = lull__mechanisms; m->name; m++)
		if (m->retry)
			m->retry();
}

/* ---- first use ------------------------------------------------------------------------------ */

static void init_slow(void)
{
	uint32_t not_yet = 0;

	if (!lull_cas_relaxed(&init_state, &not_yet, 1u)) {
		while (lull_load_acquire(&init_state) != 2)
			lull_cpu_relax();
		return;
	}
	for (const struct lull__mechanism *m = lull__mechanisms; m->name; m++)
		if (m->init)
			m->init();
	/*
	 * ORDER INIT-1: the strategy and the key before `done`; pairs with INIT-1 in lull__init();
	 * without it a thread uses a key that is not there; model/base/init.litmus
	 */
	lull_store_release(&init_state, 2u);
}

void lull__init(void)
{
	/*
	 * ORDER INIT-1: `done` before the use of what was set up; pairs with INIT-1 in init_slow();
	 * without it as there; model/base/init.litmus
	 */
	if (lull_unlikely(lull_load_acquire(&init_state) != 2))
		init_slow();
}

/*
 * Initialise early, while there is no other thread and the key gets a low number (glibc stores the
 * values of low keys without allocating).
 */
__attribute__((constructor)) static void init_at_load(void)
{
	lull__init();
}
