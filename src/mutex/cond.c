/* SPDX-License-Identifier: MIT */
/*
 * cond.c - wait for a condition: a count of signals to sleep on, and a move to the mutex's queue.
 *
 * A waiter reads the count before it unlocks, so that a signal after the unlock either has changed the
 * count, and the kernel does not let the waiter sleep; or it finds the waiter asleep. A thread that has had
 * the lock since then sees that there are waiters (MTX-1), and other threads have nothing to signal.
 *
 * `waiters` also says for how many of them there was no signal yet. A signal takes one off, then changes the count,
 * then wakes one. If there is none to take off, each waiter is up, or moved, and the next signal has nothing to do. A
 * waiter reads the count, and is in `waiters` only then: so a signal that takes one off for this waiter changes the
 * count after that (CND-3). A waiter that gets up by itself cannot know whether a signal has taken one off for it, and
 * takes off nothing; but each waiter that leaves makes the number no larger than that of the waiters still there.
 *
 * A signal that has taken one off may be preempted, or killed, before it wakes. So UNDER_WAY is set until it has.
 * A signal that finds UNDER_WAY takes off nothing and wakes one, and relies on no other signal. So the number is never
 * too small while UNDER_WAY is not set; if it is too large, a signal makes a call in vain.
 *
 * A signal by the mutex's owner, and a broadcast, move sleepers to the mutex's `turn` without setting its WAITERS
 * bit. A thread that knows of them has to set it (see mutex.c): the caller, if it owns the mutex, sets it now;
 * else one sleeper is woken instead of moved, and takes the lock with WAITERS, as all threads do that come
 * from here.
 */
#include <errno.h>
#include <limits.h>

#include <lull/cond.h>
#include <lull/mutex_robust.h>

#include "../base/deadline.h"
#include "../base/hooks.h"
#include "../base/message.h"
#include "self.h"
#include "waiting.h"

/* Parts of `waiters`; the highest bit is LULL_MUTEX_SHARED. */
#define UNSIGNALLED 0x0000007fu /* waiters without a signal so far; if all bits are set, so many or more */
#define UNDER_WAY   0x00000080u /* a signal has taken off waiters that it has yet to wake */
#define WAITER	    0x00000100u
#define COUNT	    0x3fffff00u /* calls of wait that still use it; Linux has no more threads */
#define DESTROYED   0x40000000u /* a thread sleeps on `waiters` until there are none */

#define LOOK_AGAIN_MS 5000 /* the longest sleep where the process that would wake may have been killed */
#define GONE_MS	      1000 /* after that long a waiter that was woken has been killed with its process */
#define STUCK_MS      60000 /* ... or cannot be in this process */

static bool is_shared(const struct lull_cond *c)
{
	return lull_load_relaxed(&c->waiters) & LULL_MUTEX_SHARED;
}

static struct lull_mutex *mutex_of(const struct lull_cond *c)
{
	return (struct lull_mutex *)((intptr_t)c + lull_load_relaxed(&c->mutex));
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
 * Wait for the waiters that were woken. They leave @c before they take the mutex, which the caller may have. Waiters
 * that a broadcast has moved there are woken once more, to leave @c at once.
 */
static void await_waiters(struct lull_cond *c)
{
	bool shared = is_shared(c);
	uint64_t until_ns = lull__deadline_in_ms(shared ? GONE_MS : STUCK_MS);
	uint32_t waiters = lull_or_relaxed(&c->waiters, DESTROYED) | DESTROYED;

	lull_add_relaxed(&c->seq, 1u);
	if (lull__futex_wake_bits(&c->seq, INT_MAX, LULL__MUTEX_ANY, shared) > 0)
		waited_for(c);
	lull__futex_wake_bits(lull__mutex_bed(mutex_of(c), shared), INT_MAX, LULL__MUTEX_ANY, shared);
	/*
	 * ORDER CND-1: no waiter before the memory may be used for something else; pairs with CND-1 in
	 * cond_leave(); without it a waiter's last load comes after that; model/mutex/cond-destroy.litmus
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

/* Count the caller among the waiters, and among those without a signal so far. */
static void cond_enter(struct lull_cond *c)
{
	uint32_t waiters = lull_load_relaxed(&c->waiters);

	/*
	 * ORDER CND-2: the mutex's place before the count of waiters; pairs with CND-2 in cond_take(); without
	 * it a signal follows the way to the mutex of earlier waiters, which may be gone;
	 * model/mutex/cond-mutex.litmus
	 *
	 * ORDER CND-3: the load of the count of signals before the waiter is counted; pairs with CND-3 in
	 * cond_take(); without it the waiter sleeps, and a signal has taken it off for nothing;
	 * model/mutex/cond-signalled.litmus model/mutex/cond-requeue.c
	 */
	while (!lull_cas_release(&c->waiters, &waiters,
				 waiters + WAITER + ((waiters & UNSIGNALLED) != UNSIGNALLED)))
		;
}

/* Take the caller off the count of waiters. @c may be something else after that. */
static void cond_leave(struct lull_cond *c, bool shared)
{
	uint32_t waiters = lull_load_relaxed(&c->waiters), rest;

	do {
		rest = waiters - WAITER;
		if ((rest & UNSIGNALLED) > (rest & COUNT) / WAITER)
			rest--;
		/*
		 * ORDER CND-1: the last load from the condition variable before this waiter is no longer counted;
		 * pairs with CND-1 in await_waiters(); without it as there; model/mutex/cond-destroy.litmus
		 */
	} while (!lull_cas_release(&c->waiters, &waiters, rest));
	if (lull_unlikely((rest & (DESTROYED | COUNT)) == DESTROYED))
		lull__futex_wake_bits(&c->waiters, 1, LULL__MUTEX_ANY, shared);
}

/*
 * Let the waiters to come use @m, which the caller holds. Those of the mutex before it need not have left @c: they are
 * up, or a broadcast has moved them there, and they are woken once more, to leave @c at once. None may still sleep for
 * a signal. (Shared: one may, as its process is being killed.)
 */
static void use_mutex(struct lull_cond *c, struct lull_mutex *m, bool shared)
{
	struct lull_mutex *before = mutex_of(c);

	if (lull_likely(before == m))
		return;
	lull_store_relaxed(&c->mutex, (intptr_t)m - (intptr_t)c);
	/*
	 * ORDER CND-4: the mutex's place before the count of signals is changed; pairs with CND-4 in cond_wake();
	 * without it a broadcast that began before moves waiters to the mutex before this one, where no unlock wakes
	 * them; model/mutex/cond-second-mutex.litmus
	 */
	lull_add_release(&c->seq, 1u);
	if (!(lull_load_relaxed(&c->waiters) & COUNT))
		return;
	if (lull__futex_wake_bits(&c->seq, INT_MAX, LULL__MUTEX_ANY, shared) > 0 && !shared)
		lull__die("%s waits for condition variable %p with mutex %p, and others use mutex %p",
			  lull__thread_words(lull__mutex_self()).text, (void *)c, (void *)m, (void *)before);
	lull__futex_wake_bits(lull__mutex_bed(before, shared), INT_MAX, LULL__MUTEX_ANY, shared);
}

/* Say that the caller will wait on @c with @m, which it holds. Returns the count of signals to sleep on. */
static uint32_t begin_wait(struct lull_cond *c, struct lull_mutex *m, bool shared)
{
	uint32_t seq;

	use_mutex(c, m, shared);
	seq = lull_load_relaxed(&c->seq);
	cond_enter(c);
	return seq;
}

/*
 * Sleep on @c until @deadline_ns, and leave it. Returns whether a signal may have woken the caller, which then takes
 * the lock with WAITERS. If @c is shared, this returns every now and then for no reason, which callers have to expect
 * anyway.
 */
static bool sleep_on_cond(struct lull_cond *c, uint32_t seq, uint64_t deadline_ns, bool *late)
{
	bool shared = is_shared(c);
	uint64_t until_ns = shared ? lull__earlier(deadline_ns, lull__deadline_in_ms(LOOK_AGAIN_MS)) : deadline_ns;
	int err = lull__futex_wait_bits(&c->seq, seq, LULL__MUTEX_ANY, until_ns, shared);

	/* A signal in time, for this waiter or another, means that it is not late. */
	*late = err == -ETIMEDOUT && lull_load_relaxed(&c->seq) == seq && lull__now_ns() >= deadline_ns;
	cond_leave(c, shared);
	return err == 0;
}

/* Wait on @c until @deadline_ns. Returns 0 or -ETIMEDOUT. */
static int wait_until(struct lull_cond *c, struct lull_mutex *m, uint64_t deadline_ns)
{
	bool shared = is_shared(c), late;
	uint32_t seq;

	lull__mutex_must_own(m, "waits for a condition with");
	LULL__CHECK(may_block, "lull_cond_wait");
	if (shared != lull__mutex_shared(m))
		lull__die("condition variable %p and mutex %p are not both shared", (void *)c, (void *)m);
	seq = begin_wait(c, m, shared);
	lull__mutex_unlock_slow(m);
	if (sleep_on_cond(c, seq, deadline_ns, &late))
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

/*
 * The kernel wakes a shared futex when an owner dies, so waiters for a robust mutex sleep on one, also within one
 * process. They can be moved there only from a shared condition variable.
 */
int lull__cond_timedwait_robust(struct lull_cond *c, struct lull_mutex_robust *m, uint64_t deadline_ns)
{
	uint32_t seq;
	bool late;
	int err;

	lull__robust_must_own(m, "waits for a condition with");
	LULL__CHECK(may_block, "lull_cond_wait_robust");
	if (!is_shared(c))
		lull__die("condition variable %p is not shared, and mutex %p is robust", (void *)c, (void *)m);
	seq = begin_wait(c, &m->mutex, true);
	lull__mutex_robust_unlock(m);
	err = lull__robust_lock_again(m, sleep_on_cond(c, seq, deadline_ns, &late));
	return err == 0 && late ? -ETIMEDOUT : err;
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

/*
 * Take off one waiter without a signal so far, or @all, and set UNDER_WAY and *@took. If another signal is under way,
 * take off none, for UNDER_WAY can stand for one only. Returns false if there is no waiter to wake.
 */
static bool cond_take(struct lull_cond *c, bool all, bool *took)
{
	uint32_t waiters = lull_load_relaxed(&c->waiters), rest;

	do {
		if (!(waiters & COUNT) || !(waiters & (UNSIGNALLED | UNDER_WAY)))
			return false;
		*took = !(waiters & UNDER_WAY);
		rest = all ? waiters & ~UNSIGNALLED : waiters - ((waiters & UNSIGNALLED) != UNSIGNALLED);
		rest = *took ? rest | UNDER_WAY : waiters;
		/*
		 * ORDER CND-2: the count of waiters before the mutex's place; pairs with CND-2 in cond_enter();
		 * without it as there; model/mutex/cond-mutex.litmus
		 *
		 * ORDER CND-3: a waiter off the count of those without a signal before the count of signals is
		 * changed; pairs with CND-3 in cond_enter(); without it as there;
		 * model/mutex/cond-signalled.litmus model/mutex/cond-requeue.c
		 */
	} while (!lull_cas_acquire(&c->waiters, &waiters, rest));
	return true;
}

/* Wake a waiter, or @all; but those that can be moved to the mutex sleep until it is theirs. */
static void cond_wake(struct lull_cond *c, bool all)
{
	bool shared = is_shared(c), took;
	int most = all ? INT_MAX : 1, now, err = 0;
	struct lull_mutex *m;
	uint32_t seq;

	if (!cond_take(c, all, &took))
		return;
	m = mutex_of(c);
	/*
	 * ORDER CND-4: the count of signals before the mutex's place; pairs with CND-4 in use_mutex(); without it as
	 * there; model/mutex/cond-second-mutex.litmus
	 */
	seq = lull_add_acquire(&c->seq, 1u) + 1;
	while (mutex_of(c) == m) { /* else all whom this signal was for have been woken */
		now = announce(m) ? 0 : 1;
		err = lull__futex_requeue(&c->seq, seq, now, most - now, lull__mutex_bed(m, shared), shared);
		if (err != -EAGAIN)
			break;
		seq = lull_load_acquire(&c->seq); /* CND-4; another signal came in between: still move them */
	}
	if (err) /* a sandbox that knows futex wait and wake only; or waiters use another mutex by now */
		lull__futex_wake_bits(&c->seq, most, LULL__MUTEX_ANY, shared);
	/* Relaxed: a thread that sees this needs to know only that this thread has made its system call. */
	if (took)
		lull_and_relaxed(&c->waiters, ~UNDER_WAY);
}

void lull_cond_signal(struct lull_cond *c)
{
	cond_wake(c, false);
}

void lull_cond_broadcast(struct lull_cond *c)
{
	cond_wake(c, true);
}
