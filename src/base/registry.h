/* SPDX-License-Identifier: MIT */
/*
 * registry.h - the records of all threads, in one list under one lock.
 *
 * Locks of the library, outermost first: the lock of hazard barriers, a reclaim queue's consumer lock
 * (callbacks run under it), the leader's lock of grace periods, a shard of hazard slots, the lists of waiters for simple hazard pointers, the registry lock, the leader's lock of
 * heavy fences, the lock of visits to all CPUs. The watchdog's lock is taken with consumer locks held, and nothing under it.
 */
#ifndef LULL_REGISTRY_H
#define LULL_REGISTRY_H

#include <lull/rcu.h>
#include <lull/shazptr.h>

#include "../os/os.h"
#include "lock.h"

extern struct lull__lock lull__registry_lock;
extern struct lull__thread lull__registry; /* list head of next/prev; under the lock */
extern uint32_t lull__registry_count;	    /* written under the lock */
extern uint32_t lull__registry_left;	    /* how many records were taken out; likewise */
extern uint32_t lull__registry_awake;	    /* how many are those of threads that do not rest */

#define lull__for_each_thread(t)                                                                   \
	for ((t) = lull__registry.next; (t) != &lull__registry; (t) = (t)->next)

/*
 * Move the record of @thread to behind that of @after, with the registry lock held. A grace period keeps the threads
 * that it waits for at the front (rcu/grace_period.c); to all others the order means nothing. A thread looks at its own
 * `next` without the lock: see lull__is_linked().
 */
static inline void lull__registry_move(struct lull__thread *thread, struct lull__thread *after)
{
	if (thread->prev == after)
		return;
	lull_store_relaxed(&thread->prev->next, thread->next);
	thread->next->prev = thread->prev;
	thread->prev = after;
	lull_store_relaxed(&thread->next, after->next);
	after->next->prev = thread;
	lull_store_relaxed(&after->next, thread);
}

/* Take the registry lock to read the records. lull__registry_leave() restores the signal mask. */
struct lull__registry_hold {
	sigset_t saved;
	bool masked;
};
void lull__registry_enter(struct lull__registry_hold *hold);
void lull__registry_enter_to_move(struct lull__registry_hold *hold); /* signals are blocked in any case */
void lull__registry_leave(const struct lull__registry_hold *hold);

/* ---- the calling thread's record -------------------------------------------------------------- */

void lull__ensure_registered(void);

/* For a thread that only updates: set its id, and see to it that its exit is noticed. Its record stays in no list. */
void lull__ensure_known(void);

/*
 * Is the calling thread's record in the registry? What it points to changes as its neighbours come and go, but whether
 * it is NULL is its own thread's business.
 */
static inline bool lull__is_linked(void)
{
	return lull_load_relaxed(&lull__self.next) != NULL;
}

/*
 * Can no thread but the calling one be in a section, or use a hazard pointer of its own? Ask after a full fence (THR-3):
 * then a thread that comes later finds nothing that was unlinked before the fence.
 */
static inline bool lull__is_alone(void)
{
	/* First: a signal handler that registers this thread between the two makes the answer no, never yes. */
	uint32_t own = lull__is_linked();

	lull_compiler_barrier();
	/*
	 * ORDER THR-4: the count before whatever the caller frees; pairs with THR-4 in unlink_record(); without it as
	 * there; model/base/alone.litmus
	 */
	return lull_load_acquire(&lull__registry_awake) == own;
}

/*
 * Arrange for the exit handling of the calling thread, registered or not. Returns false if the thread is
 * already past it.
 */
bool lull__arm_thread_exit(void);

/* Take the registry lock to change the calling thread's own record; signals are blocked. */
void lull__record_enter(sigset_t *saved);
void lull__record_leave(const sigset_t *saved);

/*
 * Link the record of a thread that is past its exit handling, and take it out again. Such a record is in
 * the list only while the thread uses something: no later exit handling takes it out before the thread's
 * memory goes. To be called between record_enter() and record_leave().
 */
void lull__record_link_late(void);
void lull__record_unlink_late(void); /* unless it still uses something */

/* Does the calling thread use its simple hazard pointer? */
static inline bool lull__record_holds_shazptr(void)
{
	return lull__self.shazptr != 0 && lull__self.shazptr != LULL__SHAZPTR_REST;
}

/* Return the word of a thread outside sections. If light fences are real ones, each lock goes out of line. */
static inline uint64_t lull__rest_word(void)
{
	return lull__fence_full_mode ? LULL__RCU_REST : 0;
}

/* ---- for life.c ------------------------------------------------------------------------------- */

void lull__registry_init(void);
uint32_t lull__registry_tid(void);
void lull__registry_fork_child(uint32_t old_tid);

/*
 * Rest, until lull__thread_rise(): for a thread of lull's own that sleeps, with signals blocked. It begins no section
 * meanwhile, so no grace period makes a heavy fence because of it.
 */
void lull__thread_rest(void);
void lull__thread_rise(void);

#endif /* LULL_REGISTRY_H */
