/* SPDX-License-Identifier: MIT */
/*
 * life.c - the only file that knows all mechanisms.
 *
 * It lists what each of them does when the process begins, when a thread comes and goes, and in a forked
 * child, in this order; and the functions behind the hooks of the lower floors.
 */
#include "base/callback.h"
#include "base/deadline.h"
#include "base/fence_choice.h"
#include "base/hooks.h"
#include "base/lock.h"
#include "base/message.h"
#include "base/own_thread.h"
#include "base/process.h"
#include "base/registry.h"
#include "hazptr/shazptr_life.h"
#include "hazptr/threads.h"
#include "rcu/grace_period.h"
#include "rcu/section.h"
#include "reclaim/reclaim_life.h"
#include "tsan/seen.h"

#ifndef LULL_CORE_ALONE
#include "cohort/cohort_life.h"
#include "count/percpu_life.h"
#include "domain/domain_life.h"
#include "mutex/self.h"
#include "owner_runs/owner.h"
#include "owner_runs/owner_runs.h"
#include "pool/pool_life.h"
#endif

#ifdef LULL_URCU
/* Of urcu/binary/, which is compiled with this file. */
void lull__urcu_life_init(void);
void lull__urcu_fork_child(uint32_t old_tid);
#endif

#ifdef LULL_WATCH
#include "watch/stall.h"
#include "watch/stats_page.h"
#include "watch/watchdog.h"
#endif

#ifdef LULL__INSIDE /* else, as in the test of the core alone, nobody tells ThreadSanitizer anything */
const struct lull__tsan lull__tsan = {
	.sections = lull__tsan_sections,
	.slots = lull__tsan_slots,
	.simple = lull__tsan_simple,
};
#endif

#ifdef LULL_DEBUG
#include "check/checks.h"
#include "check/waits.h"

static void checks_fork(bool begins)
{
	lull__guards_fork(begins);
#if LULL__CHECK_RETIRED
	lull__retired_fork(begins);
#endif
}

static void checks_fork_child(uint32_t old_tid)
{
	(void)old_tid;
	lull__guards_fork_child();
	lull__waits_fork_child();
#if LULL__CHECK_RETIRED
	lull__retired_fork_child();
#endif
}

const struct lull__checks lull__checks = {
	.may_block = lull__check_sleeps_online,
#if LULL__CHECK_RETIRED
	.deferred = lull__retired_add,
	.ready = lull__retired_ready,
	.reclaimed = lull__retired_remove,
	.protects_none = lull__retired_protects_none,
#endif
	.mutex_waits = lull__deadlock_check,
	.waits = lull__waits_set,
	.look_for_circle = lull__deadlock_look,
	.calls_back = lull__waits_calls_back,
	.awaited = lull__edges_awaited,
	.fenced_waits = lull__mixed_check,
	.fork = checks_fork,
#ifndef LULL_CORE_ALONE
	.any_domain_open = lull__domain_any_open,
#endif
};
#endif

#ifndef LULL_URCU
/* Work of another library of lull's in a forked child. */
static void (*above_fork_child)(void);

static void fork_child_above(uint32_t old_tid)
{
	(void)old_tid;
	if (above_fork_child)
		above_fork_child();
}
#endif

/*
 * The page of counts is made after the fences that it names have been chosen, and before any event is
 * counted on it.
 */
const struct lull__mechanism lull__mechanisms[] = {
#ifdef LULL_DEBUG
	{ "lock", .fork_child = lull__lock_fork_child },
#endif
	{ "fence", .init = lull__fence_init, .fork_child = lull__fence_fork_child },
	{ "own threads", .init = lull__own_thread_init, .fork_child = lull__own_thread_fork_child },
	{ "registry", .init = lull__registry_init, .tid = lull__registry_tid, .fork_child = lull__registry_fork_child },
#ifdef LULL_WATCH
	{ "page", .init = lull__page_init, .fork_child = lull__page_fork_child },
	{ "stall", .fork_child = lull__stall_fork_child },
	{ "watchdog", .fork_child = lull__watchdog_fork_child },
#endif
	{ "rcu", .unregister = lull__rcu_unregister, .exit = lull__rcu_thread_exit, .fork_child = lull__rcu_fork_child },
	{ "hazptr", .enter = lull__hazptr_thread_enter, .unregister = lull__hazptr_unregister,
	  .exit = lull__hazptr_thread_exit, .leave = lull__hazptr_thread_leave, .fork_child = lull__hazptr_fork_child },
	{ "shazptr", .enter = lull__shazptr_thread_enter, .unregister = lull__shazptr_unregister,
	  .exit = lull__shazptr_thread_exit, .leave = lull__shazptr_thread_leave,
	  .fork_child = lull__shazptr_fork_child },
	{ "reclaim", .init = lull__reclaim_init, .unregister = lull__reclaim_unregister,
	  .exit = lull__reclaim_thread_exit, .fork_child = lull__reclaim_fork_child,
	  .retry = lull__reclaim_retry, .pay = lull__reclaim_pay },
#ifndef LULL_CORE_ALONE
	{ "cohort", .fork_child = lull__cohort_fork_child },
	{ "percpu cells", .fork_child = lull__percpu_cells_fork_child },
	{ "percpu_ref", .fork_child = lull__percpu_ref_fork_child },
	{ "rcu_sync", .fork_child = lull__rcu_sync_fork_child },
	{ "domain calls", .fork_child = lull__domain_call_fork_child },
	{ "domains", .fork_child = lull__domain_fork_child },
	{ "mutex", .init = lull__oracle_init, .exit = lull__owner_thread_exit, .fork_child = lull__mutex_fork_child },
	/* Behind all that may call the program's code when a thread exits. */
	{ "pool", .exit = lull__hazptr_pool_thread_exit, .fork_child = lull__hazptr_pool_fork_child },
#endif
#ifdef LULL_URCU
	{ "urcu", .init = lull__urcu_life_init, .fork_child = lull__urcu_fork_child },
#else
	{ "above", .fork_child = fork_child_above },
#endif
#ifdef LULL_DEBUG
	{ "checks", .exit = lull__waits_thread_exit, .fork_child = checks_fork_child },
#endif
	/* Last: a fork by another thread meets no handler before everything is set up. */
	{ "process", .init = lull__process_init },
	{ .name = NULL },
};

#ifndef LULL_CORE_ALONE
/* In the order in which they are tried. */
const struct lull__oracle *const lull__oracles[] = {
#ifdef LULL_ORACLE_BPF
	&lull__oracle_bpf,
#endif
#ifdef LULL_ORACLE_KERNEL
	&lull__oracle_kernel,
#endif
	&lull__oracle_rseq,
	&lull__oracle_none,
#ifdef LULL_ORACLE_SLICE
	&lull__oracle_slice,
#endif
	NULL,
};
#endif

#ifdef LULL_WATCH
static const struct lull__watch watch = {
	.page_make = lull__stats_page_make,
	.wait_begin = lull__stall_begin,
	.wait_end = lull__stall_end,
	.wait_left = lull__stall_left,
	.wait_blame = lull__stall_blame,
	.wait_report = lull__stall_report,
	.over_limit = lull__stall_over_limit,
	.callbacks_begin = lull__watchdog_callbacks_begin,
	.callbacks_end = lull__watchdog_callbacks_end,
	.start = lull__watchdog_start,
	.process_ends = lull__watchdog_stop,
};

const struct lull__watch *const lull__watch = &watch;
#else
const struct lull__watch *const lull__watch = NULL;
#endif

/* ---- for libraries that stand on this one --------------------------------------------------------- */

#ifndef LULL_URCU
static void ground_at_fork_child(void (*func)(void))
{
	/* Each copy would have its own workers, which the other one's barriers do not wait for. */
	if (above_fork_child && above_fork_child != func)
		lull__misuse("there are two copies of liblull-urcu in this process: link all with the same liblull-urcu.so");
	above_fork_child = func;
}

static void ground_lock(struct lull__lock *lock)
{
	lull__lock(lock);
}

static void ground_unlock(struct lull__lock *lock)
{
	lull__unlock(lock);
}

static void ground_sleep(uint32_t *word, uint32_t value)
{
	lull__futex_wait(word, value, LULL__NEVER);
}

static void ground_call(const char *what, struct lull_head *head)
{
	(void)what;
	LULL__CALLBACK(what, head->func(head));
}

const struct lull__ground lull__ground = {
	.init = lull__init,
	.at_fork_child = ground_at_fork_child,
	.say = lull__say,
	.misuse = lull__misuse,
	.lock_take = ground_lock,
	.lock_leave = ground_unlock,
	.sleep = ground_sleep,
	.wake = lull__futex_wake,
	.cpus_possible = lull__cpus_possible,
	.call = ground_call,
	.soft_items = lull__reclaim_soft_items,
};
#endif
