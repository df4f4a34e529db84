/* SPDX-License-Identifier: MIT */
/*
 * shazptr.c - simple hazard pointers: the rare parts of a reader, and what an updater calls.
 *
 * shazptr_scan.c scans the readers' slots, and waits.
 */
#include <errno.h>

#include "../base/deadline.h"
#include "../base/fault.h"
#include "../base/hooks.h"
#include "../base/message.h"
#include "../base/registry.h"
#include "shazptr_life.h"
#include "shazptr_scan.h"

static uint64_t stamp_of_now(void)
{
	return lull_load_relaxed(&lull__shazptr.clock) * LULL__SHAZPTR_STAMP;
}

/* ---- threads past their exit handling --------------------------------------------------------- */

/*
 * Acquire @addr in a thread past its exit handling. A signal handler that acquires after this nests, as in
 * a late read section. SHAZ-1 as in lull__shazptr_acquire(): either the scan comes before this record is
 * linked in (THR-1), or it sees the slot.
 */
static void acquire_late(uintptr_t addr)
{
	struct lull__thread *self = &lull__self;
	sigset_t saved;

	lull__record_enter(&saved);
	lull__record_link_late();
	lull_store_relaxed(&self->shazptr_state, stamp_of_now() | LULL__SHAZPTR_LATE);
	lull_store_relaxed(&self->shazptr, addr);
	lull__record_leave(&saved);
	lull_fence_full();
}

/*
 * Clear in such a thread. A signal handler that acquired and cleared just before may have done this
 * already.
 */
static void clear_late(void)
{
	sigset_t saved;

	lull__record_enter(&saved);
	lull_and_relaxed(&lull__self.shazptr_state, ~(uint64_t)LULL__SHAZPTR_LATE);
	lull_store_relaxed(&lull__self.shazptr, LULL__SHAZPTR_REST);
	lull__record_unlink_late();
	lull__record_leave(&saved);
}

/* ---- the rare parts of a reader -------------------------------------------------------------- */

/* Acquire for threads that are not registered, and for those whose slot is in use. */
void lull__shazptr_acquire_slow(uintptr_t addr)
{
	struct lull__thread *self = &lull__self;

	if (self->shazptr == LULL__SHAZPTR_REST) {
		lull__ensure_registered();
		if (self->state & LULL__STATE_EXITED) {
			acquire_late(addr);
			return;
		}
	}
	if (self->shazptr == 0) {
		lull_store_fence(&self->shazptr, addr); /* SHAZ-1 */
		return;
	}
	lull_store_relaxed(&self->shazptr_nested, self->shazptr_nested + 1);
	/*
	 * ORDER SHAZ-1: the wildcard before the caller's loads; pairs with SHAZ-1 in
	 * synchronize_until(); without it the scan takes the slot for the outer acquisition's
	 * and misses the inner one; model/hazptr/shazptr-wildcard.litmus
	 */
	lull_store_fence(&self->shazptr, LULL__SHAZPTR_WILDCARD);
	if (LULL__BUSTED(SHAZPTR_NESTED))
		lull_store_relaxed(&self->shazptr, addr);
}

/*
 * Stamp the slot, which is 0 now, and wake the thread that scans for those that wait for it. A signal handler
 * that uses the slot in between leaves it at 0 and may have answered already.
 */
static void answer(void)
{
	struct lull__thread *self = &lull__self;
	uint64_t state = lull_load_relaxed(&self->shazptr_state);
	/*
	 * Relaxed: there is a full fence between this and the loads of the next reader here.
	 *
	 * ORDER SHAZ-3: the clock before the next acquisition's loads (that fence), and all use of
	 * the objects before the stamp; pairs with SHAZ-3 in synchronize_until() and
	 * SHAZ-3 in lull__shazptr_visit() and look_for_all(); without it a scan passes a slot whose
	 * reader does not see the unlinking; model/hazptr/shazptr-stamp.litmus
	 */
	uint64_t stamp = stamp_of_now(), answered;

	do {
		if (!(state & LULL__SHAZPTR_WAITED))
			return;
		answered = stamp | (state & LULL__SHAZPTR_LATE);
	} while (!lull_cas_release(&self->shazptr_state, &state, answered));
	/*
	 * ORDER SHAZ-5: taking WAITED off before the event; pairs with SHAZ-5 in wait_in_line();
	 * without it the leader sees a WAITED that is being taken off, and sleeps;
	 * model/hazptr/shazptr-event.litmus
	 */
	lull__shazptr_tell_leader();
}

void lull__shazptr_clear_slow(void)
{
	answer();
	if (lull_load_relaxed(&lull__self.shazptr_state) & LULL__SHAZPTR_LATE)
		clear_late();
}

#ifdef LULL_DEBUG
void lull__shazptr_check_addr(uintptr_t addr)
{
	if (lull_unlikely(!addr || addr >= LULL__SHAZPTR_REST))
		lull__misuse("lull_shazptr_acquire: not an address");
}

void lull__shazptr_check_owner(const struct lull__thread *owner)
{
	if (lull_unlikely(owner != &lull__self))
		lull__misuse("lull_shazptr_clear: acquired by another thread");
	if (lull_unlikely(!lull__record_holds_shazptr()))
		lull__misuse("lull_shazptr_clear: cleared already");
}
#endif

/* ---- threads come and go; the registry lock is held, signals are blocked --------------------- */

/*
 * Set up the calling thread's slot. It is stamped as if it had just been cleared, so that a series of
 * short-lived threads holds up no waiter. SHAZ-3.
 */
void lull__shazptr_thread_enter(void)
{
	struct lull__thread *self = &lull__self;

	if (lull__record_holds_shazptr()) { /* since lull_thread_unregister(): it is an ordinary one from now on */
		lull_and_relaxed(&self->shazptr_state, ~(uint64_t)LULL__SHAZPTR_LATE);
		return;
	}
	self->shazptr_group = lull__shazptr.next_group++ % LULL__SHAZPTR_GROUPS;
	lull_store_relaxed(&self->shazptr_state, stamp_of_now());
	lull_store_relaxed(&self->shazptr, (uintptr_t)0);
}

void lull__shazptr_thread_leave(void)
{
	lull_store_relaxed(&lull__self.shazptr, LULL__SHAZPTR_REST);
}

/* ---- threads come and go; no lock ------------------------------------------------------------ */

void lull__shazptr_unregister(const char *call)
{
	if (lull_unlikely(lull__record_holds_shazptr()))
		lull__misuse("%s while the thread's simple hazard pointer is in use", call);
}

void lull__shazptr_thread_exit(void)
{
	struct lull__thread *self = &lull__self;

	if (!lull__record_holds_shazptr())
		return;
	lull__say("%s exits with its simple hazard pointer in use (depth %u); it is cleared here",
		  lull__thread_words(self->tid).text, self->shazptr_nested + 1);
	lull_store_relaxed(&self->shazptr_nested, 0u);
	lull_store_release(&self->shazptr, (uintptr_t)0); /* SHAZ-2, as lull_shazptr_clear() */
	answer();
}

/* ---- updaters -------------------------------------------------------------------------------- */

static bool synchronize_until(const char *call, const void *ptr, uint64_t deadline_ns)
{
	struct lull__shazptr_waiter w = { .ptr = (uintptr_t)ptr, .groups = ~(uint64_t)0 };

	if (!ptr)
		return true; /* no reader can have acquired NULL */
	if (lull__record_holds_shazptr() && lull__shazptr_is_match(lull__self.shazptr, w.ptr))
		lull__die("%s of %p, which this thread (tid %u) has acquired%s, would wait for "
			  "itself for ever", call, ptr, lull__self.tid,
			  lull__self.shazptr == LULL__SHAZPTR_WILDCARD ? " by a wildcard" : "");
	lull__ensure_known();
	/*
	 * ORDER SHAZ-3: the unlinking before the tick; pairs with SHAZ-3 in answer(); without it a
	 * reader is stamped with the tick and finds the object all the same;
	 * model/hazptr/shazptr-stamp.litmus
	 */
	w.tick = lull_add_release(&lull__shazptr.clock, (uint64_t)1) + 1;
	/*
	 * ORDER SHAZ-1: the unlinking before the scan of the slots, by any thread; pairs with SHAZ-1
	 * in lull__shazptr_acquire(); without it a reader that found the object is not seen;
	 * model/hazptr/shazptr-enter.litmus
	 */
	lull_fence_full();
	if (!lull_load_relaxed(&lull__shazptr.skip_self_scan)) {
		if (lull__is_alone()) /* THR-3 */
			return true;
		w.groups = lull__shazptr_visit(&w);
		if (!w.groups)
			return true;
	}
	LULL__CHECK(may_block, call);
	return lull__shazptr_wait(&w, deadline_ns);
}

void lull_shazptr_synchronize(const void *ptr)
{
	synchronize_until("lull_shazptr_synchronize", ptr, LULL__NEVER);
	lull__tsan_seen(simple);
}

int lull_shazptr_synchronize_timeout(const void *ptr, uint64_t timeout_ms)
{
	uint64_t deadline_ns = lull__deadline_in_ms(timeout_ms);
	bool done = synchronize_until("lull_shazptr_synchronize_timeout", ptr, deadline_ns);

	if (done)
		lull__tsan_seen(simple);
	return done ? 0 : -ETIMEDOUT;
}

void lull_shazptr_set_skip_self_scan(bool skip)
{
	lull_store_relaxed(&lull__shazptr.skip_self_scan, (uint32_t)skip);
}

bool lull_shazptr_skip_self_scan(void)
{
	return lull_load_relaxed(&lull__shazptr.skip_self_scan) != 0;
}

uint64_t lull_shazptr_scan_count(void)
{
	return lull_load_relaxed(&lull__shazptr.scans);
}
