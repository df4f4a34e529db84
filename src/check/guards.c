/* SPDX-License-Identifier: MIT */
/*
 * guards.c - debug builds: check which lock guards what (lull/check.h), and that no online thread sleeps.
 */
#ifdef LULL_DEBUG
#include <pthread.h>

#include <lull/check.h>

#include "../base/message.h"
#include "../base/registry.h"
#include "../owner_runs/owner.h"
#include "../mutex/self.h"
#include "checks.h"
#include "ranges.h"

struct guard {
	struct lull__range range;
	lull_check_held held;
	const void *lock;
};

static struct lull__ranges guards = { .size = sizeof(struct guard) };

/* ---- owners of locks ------------------------------------------------------------------------ */

static bool is_calling_thread(uint32_t tid)
{
	return tid == lull__mutex_self() || lull__owner_was_me(tid);
}

bool lull_check_mutex_held(const void *mutex)
{
	return is_calling_thread(lull_mutex_owner((const struct lull_mutex *)mutex));
}

bool lull_check_pthread_mutex_held(const void *mutex)
{
#ifdef __GLIBC__
	/* Other threads never write this thread's id there. */
	return is_calling_thread((uint32_t)lull_load_relaxed(&((const pthread_mutex_t *)mutex)->__data.__owner));
#else
	(void)mutex;
	return true;
#endif
}

/* ---- guards --------------------------------------------------------------------------------- */

static void forget_guards(uintptr_t from, uintptr_t to)
{
	struct lull__range *range;

	while ((range = lull__ranges_find(&guards, from, to)))
		lull__ranges_remove(&guards, range);
}

void lull__guards_forget(uintptr_t from, uintptr_t to)
{
	if (lull_likely(!lull_load_relaxed(&guards.count)))
		return;
	lull__ranges_enter(&guards);
	forget_guards(from, to);
	lull__ranges_leave(&guards);
}

void lull_check_unguarded(const void *at, size_t len)
{
	lull__guards_forget((uintptr_t)at, (uintptr_t)at + len);
}

void lull_check_guarded_by(const void *at, size_t len, lull_check_held held, const void *lock)
{
	struct guard *guard;

	lull__ranges_enter(&guards);
	forget_guards((uintptr_t)at, (uintptr_t)at + len);
	guard = (struct guard *)lull__ranges_new(&guards);
	if (guard) {
		guard->range.from = (uintptr_t)at;
		guard->range.to = (uintptr_t)at + len;
		guard->held = held;
		guard->lock = lock;
		lull__ranges_insert(&guards, &guard->range);
	}
	lull__ranges_leave(&guards);
	if (!guard)
		lull__say("lull_check_guarded_by: no memory: %p is not checked", at);
}

/* Is @at guarded by a lock that this thread does not hold? Stores the guard in *@guard. */
static bool is_unlocked(const void *at, struct guard *guard)
{
	const struct guard *found;

	if (lull_likely(!lull_load_relaxed(&guards.count)) || !lull__ranges_try_enter(&guards))
		return false;
	found = (const struct guard *)lull__ranges_find(&guards, (uintptr_t)at, (uintptr_t)at + 1);
	if (found)
		*guard = *found;
	lull__ranges_leave(&guards);
	return found && !guard->held(guard->lock);
}

static void without_lock(const char *call, const char *what, const void *at, const void *lock)
	__attribute__((noreturn, cold));
static void without_lock(const char *call, const char *what, const void *at, const void *lock)
{
	lull__misuse("%s: %p is %s without the lock that guards it, %p", call, at, what, lock);
}

void *lull__check_update(const char *call, const void *at)
{
	struct guard guard;

	if (lull_unlikely(is_unlocked(at, &guard)))
		without_lock(call, "used", at, guard.lock);
	return (void *)(uintptr_t)at;
}

void lull__check_walk(const char *call, const void *at)
{
	struct guard guard;

	if (lull_rcu_read_lock_held() || lull__record_holds_shazptr())
		return;
	if (lull_unlikely(is_unlocked(at, &guard)))
		without_lock(call, "read outside a read section", at, guard.lock);
}

/* ---- sleeping online ------------------------------------------------------------------------ */

static __thread bool warned __attribute__((tls_model("initial-exec")));

void lull__check_sleeps_online(const char *call)
{
	/* A thread that waits for a grace period is offline meanwhile, whatever its state says. */
	if (lull_likely(!(lull__self.state & LULL__STATE_ONLINE)) || lull__self.rcu < LULL__RCU_STEP || warned)
		return;
	warned = true;
	lull__say("%s: %s sleeps while it is online, and grace periods wait for it: lull_rcu_offline() first", call,
		  lull__thread_words(lull__self.tid).text);
}

/* ---- fork ----------------------------------------------------------------------------------- */

static __thread bool guards_whole __attribute__((tls_model("initial-exec")));

void lull__guards_fork(bool begins)
{
	if (begins)
		guards_whole = lull__ranges_fork_prepare(&guards);
	else if (guards_whole)
		lull__ranges_leave(&guards);
	guards_whole = guards_whole && begins;
}

void lull__guards_fork_child(void)
{
	lull__ranges_fork_child(&guards, guards_whole);
	guards_whole = false; /* the next child may come by _Fork(), which does not call the function above */
}
#endif
