/* SPDX-License-Identifier: MIT */
/*
 * process.c - first use and fork, for all mechanisms in their order.
 */
#include <unistd.h>

#include <lull/atomic.h>

#include "hooks.h"
#include "message.h"
#include "process.h"

#define PAGE_DOUBLES 10 /* without the page that notices forks it is tried for at every 1024th slow path at least */

/*
 * 0: not set up yet, or not for this process; 1: being done; 2: done. From the first use on it is in a page that the
 * kernel clears in each child. So a child that no fork handler told notices the fork in its first slow path: after
 * _Fork(), or in fork handlers that run before lull's. Loading the library alone makes no such page.
 */
static uint32_t at_load, *init_state = &at_load;
static uint32_t at_load_pid; /* without the page: the process that at_load speaks of; 0: none yet */
static uint32_t page_failures, page_skips; /* slow paths that do not try to have the page, after it could not be had */
static bool set_up; /* in this process, or in one that forked it */
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
 * Let fork wait for nothing else either: a grace period may itself wait for the thread that forks. Signals are blocked
 * until the child is in order.
 */
static __thread sigset_t fork_saved __attribute__((tls_model("initial-exec")));
static __thread bool forking __attribute__((tls_model("initial-exec")));

static void fork_prepare(void)
{
	lull__block_signals(&fork_saved);
	forking = true;
	LULL__CHECK(fork, true);
}

static void fork_parent(void)
{
	LULL__CHECK(fork, false);
	forking = false;
	lull__restore_signals(&fork_saved);
}

static void set_up_process(uint32_t *word);

static void fork_child(void)
{
	if (forking) { /* no other fork handler has used lull before */
		*init_state = 0;
		set_up_process(init_state);
	}
	lull__restore_signals(&fork_saved);
}

void lull__process_init(void)
{
	set_up = true;
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

/*
 * Abort if this is the second copy of lull in the process. Each copy would wait for its own readers only; and where the
 * dynamic linker makes their symbols one, both would link the same thread records into lists of their own.
 *
 * Keep the one copy where it is: as long as a thread lives, the function that handles its exit has to be there, and the
 * background threads run in it.
 */
static void be_the_only_copy(void)
{
	const char *copy_in[2];

	lull__find_copies(copy_in);
	if (copy_in[1])
		lull__die("there are two copies of lull in this process, in %s and in %s; neither sees the other's "
			  "readers: link both with the same liblull.so", copy_in[0], copy_in[1]);
	lull__stay_loaded(copy_in[0]);
}

/* Set the library up, or, in a child, repair what has come from the parent. */
static void set_up_process(uint32_t *word)
{
	uint32_t not_yet = 0, old_tid = 0;

	if (!lull_cas_relaxed(word, &not_yet, 1u)) {
		while (lull_load_acquire(word) != 2)
			lull_cpu_relax();
		return;
	}
	forking = false;
	if (set_up) {
		lull_store_relaxed(&at_load_pid, (uint32_t)getpid());
		for (const struct lull__mechanism *m = lull__mechanisms; m->name; m++) {
			if (m->tid)
				old_tid = m->tid();
			if (m->fork_child)
				m->fork_child(old_tid);
		}
	} else {
		be_the_only_copy();
		for (const struct lull__mechanism *m = lull__mechanisms; m->name; m++)
			if (m->init)
				m->init();
	}
	/*
	 * ORDER INIT-1: the strategy and the key before `done`; pairs with INIT-1 in lull__init();
	 * without it a thread uses a key that is not there; model/base/init.litmus
	 */
	lull_store_release(word, 2u);
}

/* At first memory may be short; some kernels never have such a page. So try ever more rarely. */
static void no_page(void)
{
	uint32_t failures = lull_load_relaxed(&page_failures);

	lull_store_relaxed(&page_skips, (1u << failures) - 1);
	if (failures < PAGE_DOUBLES)
		lull_store_relaxed(&page_failures, failures + 1);
}

static bool skips_page(void)
{
	uint32_t skips = lull_load_relaxed(&page_skips);

	if (skips)
		lull_store_relaxed(&page_skips, skips - 1);
	return skips;
}

static void notice_forks(void)
{
	uint32_t *page = lull__page_cleared_by_fork(), *none = &at_load;

	if (!page) {
		no_page();
		return;
	}
	lull_store_relaxed(page, 2u);
	/*
	 * ORDER INIT-2: the word in the page, and what INIT-1 orders, before its place; pairs with INIT-2 in
	 * lull__init(); without it a thread finds 0 there and takes itself for a forked child;
	 * model/base/init-page.litmus
	 */
	if (!lull_cas_release(&init_state, &none, page))
		lull__free_page(page);
}

/* Until there is such a page, a child notices by its pid. It has one thread, or its other ones have not used lull yet. */
static void notice_by_pid(void)
{
	uint32_t was = lull_load_relaxed(&at_load_pid), pid = (uint32_t)getpid();

	/* Loading does not ask for the pid. Nothing has been used before the first slow path does. */
	if (was != pid && lull_cas_relaxed(&at_load_pid, &was, pid) && was)
		lull_store_relaxed(&at_load, 0u);
}

/* Signals are blocked: a handler that comes here would wait for the thread that it interrupts. */
static void init_slow(uint32_t *word)
{
	sigset_t saved;

	lull__block_signals(&saved);
	if (word == &at_load)
		notice_by_pid();
	set_up_process(word);
	if (word == &at_load && !skips_page())
		notice_forks();
	lull__restore_signals(&saved);
}

void lull__init(void)
{
	/*
	 * ORDER INIT-2: the place of the word before the word; pairs with INIT-2 in notice_forks(); without it
	 * as there; model/base/init-page.litmus
	 */
	uint32_t *word = lull_load_acquire(&init_state);

	/*
	 * ORDER INIT-1: `done` before the use of what was set up; pairs with INIT-1 in set_up_process();
	 * without it as there; model/base/init.litmus
	 */
	if (lull_unlikely(lull_load_acquire(word) != 2 || word == &at_load))
		init_slow(word);
}

/*
 * Initialise early, while there is no other thread and few keys are taken (see lull__registry_init()). A library that
 * is preloaded everywhere waits until it is used.
 */
#ifndef LULL_URCU
__attribute__((constructor)) static void init_at_load(void)
{
	if (init_state == &at_load)
		set_up_process(&at_load);
}
#endif
