/* SPDX-License-Identifier: MIT */
/*
 * as_before.h - the parts of a thread's state that a call must leave as they were, and threads in many states.
 */
#ifndef LULL_TEST_AS_BEFORE_H
#define LULL_TEST_AS_BEFORE_H

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "library.h"

#include <lull/lull.h>

#include "../src/base/registry.h"
#include "../src/check/waits.h"
#include "../src/reclaim/bag.h"
#include "../src/reclaim/worker.h"

/* ---- the state ------------------------------------------------------------------------------------------------ */

static intptr_t error_number(void)
{
	return errno;
}

static intptr_t sum_of_signals(const sigset_t *set)
{
	uint64_t bits = 0;

	for (int i = 1; i < 64; i++)
		bits |= (uint64_t)(sigismember(set, i) == 1) << i;
	return (intptr_t)(bits ^ bits >> 32);
}

static intptr_t signal_mask(void)
{
	sigset_t set;

	pthread_sigmask(SIG_BLOCK, NULL, &set);
	return sum_of_signals(&set);
}

static intptr_t pending_signals(void)
{
	sigset_t set;

	sigpending(&set);
	return sum_of_signals(&set);
}

static intptr_t cancel_state(void)
{
	int was;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
	pthread_setcancelstate(was, NULL);
	return was;
}

static intptr_t cancel_type(void)
{
	int was;

	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &was);
	pthread_setcanceltype(was, NULL);
	return was;
}

static intptr_t allowed_cpus(void)
{
	cpu_set_t set;
	intptr_t sum = 0;

	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	for (int i = 0; i < CPU_SETSIZE; i++)
		sum += CPU_ISSET(i, &set) ? i + 1 : 0;
	return sum;
}

static intptr_t timer_slack(void)
{
	return prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
}

/* An unlock or lock of a robust mutex that the kernel would finish, if the thread died. */
static intptr_t robust_pending(void)
{
	struct robust_list_head *head = NULL;
	size_t size;

	return syscall(SYS_get_robust_list, 0, &head, &size) == 0 && head ? (intptr_t)head->list_op_pending : 0;
}

static intptr_t life(void)
{
	return (intptr_t)lull__self.state;
}

static intptr_t is_linked(void)
{
	return lull__is_linked();
}

/* Online is depth 1. */
static intptr_t section_depth(void)
{
	uint64_t word = lull__self.rcu;

	return word < LULL__RCU_STEP ? 0 : (intptr_t)(1 + (word & LULL__RCU_DEPTH) + lull__self.rcu_deep);
}

static intptr_t word_rests(void)
{
	return (lull__self.rcu & LULL__RCU_REST) != 0;
}

static intptr_t owes_now(void)
{
	return (lull_load_relaxed(&lull__self.flags) & LULL__FLAG_OWES) != 0;
}

static intptr_t callback_depth(void)
{
	return lull__self.callback_depth;
}

static intptr_t walks(void)
{
	return lull__self.walks;
}

static intptr_t own_shazptr(void)
{
	return (intptr_t)lull__self.shazptr;
}

static intptr_t shazptr_nested(void)
{
	return (intptr_t)lull__self.shazptr_nested;
}

static intptr_t next_slot(void)
{
	return (intptr_t)lull__self.hazptr.top;
}

static intptr_t slots_protect(void)
{
	uintptr_t sum = 0;

	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		sum = sum * 31 + lull__self.hazptr.slot[i].addr;
	return (intptr_t)sum;
}

static intptr_t offered_help(void)
{
	intptr_t kinds = 0;

	for (uint32_t kind = 0; lull__self.bag && kind < LULL__KINDS; kind++)
		kinds |= (intptr_t)lull_load_relaxed(&lull__self.bag->queue[kind].owner_helps) << kind;
	return kinds;
}

/* What others think that it waits for: on the page, and in debug builds in the table for deadlocks. */
static intptr_t waits_on_page(void)
{
	const struct lull_stats_page *page = lull_stats_page();
	intptr_t count = 0;

	for (unsigned i = 0; i < LULL_STATS_WAITS; i++)
		count += lull_load_relaxed(&page->waits[i].kind) != LULL_WAIT_NONE &&
			 lull_load_relaxed(&page->waits[i].waiter_tid) == (uint32_t)gettid();
	return count;
}

static intptr_t waits_in_table(void)
{
#ifdef LULL_DEBUG
	struct lull__wish wish;

	return lull__waits_of((uint32_t)gettid(), &wish);
#else
	return 0;
#endif
}

/* No other thread makes a barrier here. */
static intptr_t barriers(void)
{
	return (intptr_t)(lull_load_relaxed(&lull__reclaimer.flushing) + lull_load_relaxed(&lull__reclaimer.drains) +
			  lull_load_relaxed(&lull__reclaimer.mark_awaited));
}

/* What a call may change. */
#define DEBTS  (1u << 0) /* a deferral makes some, and perhaps begins to help */
#define MALLOC (1u << 1) /* says in errno that there is no memory */

static const struct part {
	const char *name;
	intptr_t (*get)(void);
	unsigned changes;
} parts[] = {
	{ "errno", error_number, MALLOC }, /* first */
	{ "signal mask", signal_mask, 0 },
	{ "pending signals", pending_signals, 0 },
	{ "cancel state", cancel_state, 0 },
	{ "cancel type", cancel_type, 0 },
	{ "allowed CPUs", allowed_cpus, 0 },
	{ "timer slack", timer_slack, 0 },
	{ "pending robust mutex", robust_pending, 0 },
	{ "state (registered, online)", life, 0 },
	{ "linked", is_linked, 0 },
	{ "depth of sections", section_depth, 0 },
	{ "resting word", word_rests, 0 },
	{ "debts", owes_now, DEBTS },
	{ "depth of callbacks", callback_depth, 0 },
	{ "walks", walks, 0 },
	{ "simple hazard pointer", own_shazptr, 0 },
	{ "its nesting", shazptr_nested, 0 },
	{ "next slot", next_slot, 0 },
	{ "slots", slots_protect, 0 },
	{ "offered help", offered_help, DEBTS },
	{ "waits on the page", waits_on_page, 0 },
	{ "waits in the table", waits_in_table, 0 },
	{ "barriers", barriers, 0 },
};
#define PARTS (sizeof(parts) / sizeof(*parts))

static void look(intptr_t *values)
{
	for (size_t i = 0; i < PARTS; i++)
		values[i] = parts[i].get();
}

/* Say what a call has changed, but for @changes, and return whether that is nothing. */
static bool is_as_before(const char *call, unsigned state, const intptr_t *before, const intptr_t *after,
			 unsigned changes)
{
	bool good = true;

	for (size_t i = 0; i < PARTS; i++)
		if (before[i] != after[i] && !(parts[i].changes & changes)) {
			print_error("%s, state %#x: %s was %#tx, and is %#tx\n", call, state, parts[i].name,
				    before[i], after[i]);
			good = false;
		}
	return good;
}

/* ---- threads before the call ---------------------------------------------------------------------------------- */

enum {
	REGISTERED = 1, /* not, nor LEFT: the thread has never used lull */
	LEFT = 2,	/* registered, and no more */
	ONLINE = 4,
	SECTION = 8,
	HOLDS = 16,	/* a hold, the simple hazard pointer, and a slot */
	BLOCKS = 32,	/* some signals */
	BLOCKS_ALL = 64,
	NO_CANCEL = 128,
	DEFERRED = 256, /* has a bag */
	NESTED = 512,	/* one section more */
};

static const unsigned states[] = {
	0,
	BLOCKS_ALL | NO_CANCEL,
	REGISTERED,
	REGISTERED | BLOCKS | HOLDS,
	REGISTERED | BLOCKS_ALL | DEFERRED,
	REGISTERED | SECTION | NO_CANCEL,
	REGISTERED | SECTION | NESTED | HOLDS | BLOCKS_ALL,
	REGISTERED | ONLINE,
	REGISTERED | ONLINE | HOLDS | BLOCKS_ALL | NO_CANCEL,
	REGISTERED | ONLINE | DEFERRED | BLOCKS,
	REGISTERED | ONLINE | SECTION | HOLDS,
	LEFT,
	LEFT | BLOCKS_ALL | DEFERRED,
	LEFT | SECTION | BLOCKS,
};
#define STATES (sizeof(states) / sizeof(*states))

struct own {
	struct lull_hazptr_hold hold;
	struct lull_hazptr *slot;
	struct lull_shazptr_guard guard;
	const void *held;
};

static int unrelated[3], *published[3] = { &unrelated[0], &unrelated[1], &unrelated[2] };

static void enter_state(struct own *own, unsigned state)
{
	sigset_t set;

	if (state & (REGISTERED | LEFT))
		lull_thread_register();
	if (state & LEFT)
		lull_thread_unregister();
	if (state & DEFERRED)
		lull_rcu_free(malloc(8));
	if (state & ONLINE)
		lull_rcu_online();
	if (state & HOLDS) {
		own->slot = lull_hazptr_alloc(lull_hazptr_thread_context());
		lull_hazptr_protect_ptr(own->slot, published[0]);
		own->held = lull_hazptr_acquire(&own->hold, &published[1]);
		own->guard = lull_shazptr_acquire(published[2]);
	}
	for (unsigned bit = SECTION; bit; bit = bit == SECTION ? NESTED : 0)
		if (state & bit)
			lull_rcu_read_lock();
	if (state & NO_CANCEL)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGTERM);
	if (state & BLOCKS_ALL)
		sigfillset(&set);
	if (state & (BLOCKS | BLOCKS_ALL))
		pthread_sigmask(SIG_SETMASK, &set, NULL);
}

static void leave_state(struct own *own, unsigned state)
{
	for (unsigned bit = SECTION; bit; bit = bit == SECTION ? NESTED : 0)
		if (state & bit)
			lull_rcu_read_unlock();
	if (state & HOLDS) {
		lull_shazptr_clear(own->guard);
		lull_hazptr_release(&own->hold, own->held);
		lull_hazptr_free(lull_hazptr_thread_context(), own->slot);
	}
	if (state & ONLINE)
		lull_rcu_offline();
}

#endif /* LULL_TEST_AS_BEFORE_H */
