/* SPDX-License-Identifier: MIT */
/*
 * cond.c - wait for a condition: a count of signals to sleep on, and a move to the mutex's queue.
 *
 * A waiter reads the count before it unlocks, so that a signal after the unlock either has changed the
 * count, and the kernel does not let the waiter sleep; or it finds the waiter asleep. A thread that has had
 * the lock since then sees that there are waiters (MTX-1), and other threads have nothing to signal.
 *
 * A broadcast moves sleepers to the mutex's word without setting its WAITERS bit. A thread that knows of
 * them has to set it (see mutex.c): the caller, if it owns the mutex, sets it now; else one sleeper is
 * woken instead of moved, and takes the lock with WAITERS, as all threads do that come from here.
 */
#include <errno.h>
#include <limits.h>

#include <lull/cond.h>

#include "../base/deadline.h"
#include "../base/hooks.h"
#include "../base/message.h"
#include "self.h"
#include "waiting.h"

#define COUNT	  0x3fffffffu /* of `waiters`; the highest bit is LULL_MUTEX_SHARED */
#define DESTROYED 0x40000000u /* a thread sleeps on `waiters` until there are none */

#define LOOK_AGAIN_MS 5000 /* the longest sleep where the process that would wake may have been killed */
#define GONE_MS	      1000 /* after that long a waiter that was woken has been killed with its process */
#define STUCK_MS      60000 /* ... or cannot be in this process */

static bool is_shared(const struct lull_cond *c)
{
	return lull_load_relaxed(&c->waiters) & LULL_MUTEX_SHARED;
}

void lull_cond_init(struct lull_cond *c, uint32_t flags)
{
	if (flags & ~LULL_MUTEX_SHARED)
		lull__die("lull_cond_init: unknown flags 0x%x", flags);
	lull_store_relaxed(&c->seq, 0u);
	lull_store_relaxed(&c->waiters, flags);
	c->mutex = 0;
}

static void waited_for(struct lull_cond *c) __attribute__((noreturn, cold));
static void waited_for(struct lull_cond *c)
{
	lull__die("condition variable %p is destroyed while threads wait for it", (void *)c);
}

/*
 * Wait for the waiters that were woken. They leave @c before they take the mutex, which the caller may have. Those that
 * a broadcast has moved there are woken once more, to leave @c at once.
 */
static void await_waiters(struct lull_cond *c)
{
	bool shared = is_shared(c);
	uint64_t until_ns = lull__deadline_in_ms(shared ? GONE_MS : STUCK_MS);
	struct lull_mutex *m = (struct lull_mutex *)((intptr_t)c + lull_load_relaxed(&c->mutex));
	uint32_t waiters = lull_or_relaxed(&c->waiters, DESTROYED) | DESTROYED;

	lull_add_relaxed(&c->seq, 1u);
	if (lull__futex_wake_bits(&c->seq, INT_MAX, LULL__MUTEX_ANY, shared) > 0)
		waited_for(c);
	lull__futex_wake_bits(&m->word, INT_MAX, LULL__MUTEX_ANY, shared);
	/*
	 * ORDER CND-1: no waiter before the memory may be used for something else; pairs with CND-1 in
	 * wait_until(); without it a waiter's last load comes after that; model/mutex/cond-destroy.litmus
	 */
	while ((waiters = lull_load_acquire(&c->waiters)) & COUNT) {
		if (lull__is_past(until_ns)) {
			if (!shared)
				waited_for(c);
			break;
		}
		lull__futex_wait_bits(&c->waiters, waiters, LULL__MUTEX_ANY, until_ns, shared);
	}
	lull_store_relaxed(&c->waiters, waiters & LULL_MUTEX_SHARED);
}

void lull_cond_destroy(struct lull_cond *c)
{
	/* CND-1, CND-2 */
	if (lull_load_acquire(&c->waiters) & COUNT)
		await_waiters(c);
}

/*
 * Wait on @c until @deadline_ns. Returns 0 or -ETIMEDOUT. If @c is shared, this returns every now and then
 * for no reason, which callers have to expect anyway.
 */
static int wait_until(struct lull_cond *c, struct lull_mutex *m, uint64_t deadline_ns)
{
	bool shared = is_shared(c);
	uint64_t until_ns = shared ? lull__earlier(deadline_ns, lull__deadline_in_ms(LOOK_AGAIN_MS)) : deadline_ns;
	uint32_t seq, waiters;
	bool late;
	int err;

	lull__mutex_must_own(m, "waits for a condition with");
	lull__check_may_block("lull_cond_wait");
	if (shared != lull__mutex_shared(m))
		lull__die("condition variable %p and mutex %p are not both shared", (void *)c, (void *)m);
	lull_store_relaxed(&c->mutex, (intptr_t)m - (intptr_t)c);
	/*
	 * ORDER CND-2: the mutex's place before the count of waiters; pairs with CND-2 in
	 * lull_cond_broadcast(); without it a broadcast follows the way to the mutex of earlier waiters,
	 * which may be gone; model/mutex/cond-mutex.litmus
	 */
	lull_add_release(&c->waiters, 1u);
	seq = lull_load_relaxed(&c->seq);
	lull__mutex_unlock_slow(m);
	err = lull__futex_wait_bits(&c->seq, seq, LULL__MUTEX_ANY, until_ns, shared);
	/* Not late if there was a signal in time, for this waiter or another. */
	late = err == -ETIMEDOUT && lull_load_relaxed(&c->seq) == seq && lull__now_ns() >= deadline_ns;
	/*
	 * ORDER CND-1: the last load from the condition variable before this waiter is no longer counted;
	 * pairs with CND-1 in await_waiters(); without it as there; model/mutex/cond-destroy.litmus
	 */
	waiters = lull_sub_release(&c->waiters, 1u);
	if (lull_unlikely((waiters & (DESTROYED | COUNT)) == (DESTROYED | 1)))
		lull__futex_wake_bits(&c->waiters, 1, LULL__MUTEX_ANY, shared);
	if (err == 0)
		lull__mutex_lock_woken(m);
	else
		lull__mutex_lock_slow(m);
	return late ? -ETIMEDOUT : 0;
}

void lull__cond_wait(struct lull_cond *c, struct lull_mutex *m)
{
	wait_until(c, m, LULL__NEVER);
}

int lull__cond_timedwait(struct lull_cond *c, struct lull_mutex *m, uint64_t deadline_ns)
{
	return wait_until(c, m, deadline_ns);
}

void lull_cond_signal(struct lull_cond *c)
{
	bool shared = is_shared(c);

	if (!(lull_load_relaxed(&c->waiters) & COUNT))
		return;
	lull_add_relaxed(&c->seq, 1u);
	lull__futex_wake_bits(&c->seq, 1, LULL__MUTEX_ANY, shared);
}

/* Does the caller hold @m? Then set WAITERS, so that its own unlock knows of the sleepers to come. */
static bool announce(struct lull_mutex *m)
{
	uint32_t word = lull_load_relaxed(&m->word);

	while ((word & LULL__MUTEX_TID) == lull__mutex_self())
		if (lull_cas_relaxed(&m->word, &word, word | LULL__MUTEX_WAITERS))
			return true;
	return false;
}

void lull_cond_broadcast(struct lull_cond *c)
{
	bool shared = is_shared(c);
	struct lull_mutex *m;
	uint32_t seq;
	int err;

	/*
	 * ORDER CND-2: the count of waiters before the mutex's place; pairs with CND-2 in wait_until();
	 * without it as there; model/mutex/cond-mutex.litmus
	 */
	if (!(lull_load_acquire(&c->waiters) & COUNT))
		return;
	m = (struct lull_mutex *)((intptr_t)c + lull_load_relaxed(&c->mutex));
	seq = lull_add_relaxed(&c->seq, 1u) + 1;
	/* -EAGAIN: another signal came in between. Still move the sleepers. */
	while ((err = lull__futex_requeue(&c->seq, seq, announce(m) ? 0 : 1, &m->word, shared)) == -EAGAIN)
		seq = lull_load_relaxed(&c->seq);
	if (err) /* a sandbox that knows futex wait and wake only */
		lull__futex_wake_bits(&c->seq, INT_MAX, LULL__MUTEX_ANY, shared);
}
