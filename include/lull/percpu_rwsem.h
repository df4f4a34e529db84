/* SPDX-License-Identifier: MIT */
/*
 * percpu_rwsem.h - a lock for many readers and rare writers: each CPU counts its own readers while no writer is
 * there.
 *
 * A reader-writer lock lets readers in together, but each of them writes to the one word that counts them, and that
 * cache line is then the limit. Here a reader adds to a counter of the CPU it runs on: no shared cache line is
 * written, no locked instruction. Readers may sleep while they hold the lock, for any time, where RCU's must not.
 *
 * A writer marks the lock, and makes all CPUs see the mark. From then on readers count in one shared word, in which
 * writers can say that they are in. The counters are frozen, and are added to that word:
 *
 *	reader					writer
 *	[ no mark: add to my CPU's counter ]	set the mark
 *						end all sequences that are under way, a fence for all
 *						sum up the counters, say "a writer"
 *	a mark: count in the shared word,	wait until no reader is in
 *	if it says "a writer": sleep
 *
 * The bracket is a restartable sequence (percpu_ref.h has more on these). Where a process has none, each thread is
 * assigned one of the counters, the bracket is a read section of RCU with an atomic addition in it, and a writer that
 * sets the mark waits for a grace period. The mark stays for some time when the writer has left (rcu_sync.h). So a
 * burst of writers makes the CPUs see the mark once, and its readers count in the shared word.
 *
 * Bounds. When a writer begins to wait, no reader comes in before it any more: the writer waits only for those that
 * are in. Readers that wait for a writer come in together when it unlocks, before the next writer: a reader
 * waits for no more than one writer's section. Writers wait for each other in a mutex (mutex.h). So a reader that
 * holds the lock must not lock it again: a writer may have come in between, and the two wait for each other. A thread
 * that holds it for writing must not lock it again either.
 *
 * When not: if writers are frequent, readers are slower than with a plain reader-writer lock, and a writer takes one
 * membarrier(2), or a grace period. If readers only need an object to stay allocated, RCU or a hazard pointer never
 * makes them wait. Memory: 16 bytes for each CPU that the machine can have, in pages that each belong to one CPU.
 *
 * Contexts: read_trylock and read_unlock never block, and may be called wherever a read section of RCU may begin: in
 * signal handlers too. All other calls: not in signal handlers. write_lock and write_trylock abort in a read section
 * of RCU, which they may wait for. A reader's hold belongs to no thread: another thread may unlock it, and a thread
 * that exits leaves it held. What a thread has locked for writing only that thread can unlock. If it exits before,
 * the lock is lost.
 *
 * A writer that has waited a second for readers says in a line how many are in, and again after 2, 4, 8 ... seconds
 * (lull_debug_set_stall_ms()). Nobody knows which threads they are. No stall hook is called.
 *
 * fork: the child has all holds, its own and those of threads that it does not have. Its thread may unlock what it
 * had locked. A lock that another thread held, or was about to hold, stays held: the child calls lull_rcu_barrier(), and
 * then lull_percpu_rwsem_init() on it.
 *
 * Source: percpu_rw_semaphore of the Linux kernel, by M. Patocka, O. Nesterov and P. Zijlstra; phase-fair locks of B.
 * Brandenburg and J. Anderson.
 */
#ifndef LULL_PERCPU_RWSEM_H
#define LULL_PERCPU_RWSEM_H

#include <lull/detail/rseq.h>
#include <lull/mutex.h>
#include <lull/rcu_sync.h>

struct lull__percpu_chunk;

struct lull_percpu_rwsem {
	struct lull_rcu_sync sync; /* its word leads to the counters, or has a mark */
	uint64_t state;		   /* readers in the shared word, readers that wait, "a writer": percpu_rwsem.c */
	struct lull_mutex writers;
	struct lull__percpu_chunk *chunk; /* of the counters; NULL: there was no memory */
};

/* Offsets in a CPU's counter: readers that came, readers that left. */
#define LULL__PERCPU_RWSEM_CAME 0
#define LULL__PERCPU_RWSEM_LEFT 8

LULL_BEGIN_DECLS

LULL_API void lull__percpu_rwsem_read_lock_slow(struct lull_percpu_rwsem *sem);
LULL_API bool lull__percpu_rwsem_read_trylock_slow(struct lull_percpu_rwsem *sem);
LULL_API void lull__percpu_rwsem_read_unlock_slow(struct lull_percpu_rwsem *sem);

/*
 * Make @sem a free lock, whatever it was. Cannot fail: without memory for counters readers always count in the shared
 * word.
 */
LULL_API void lull_percpu_rwsem_init(struct lull_percpu_rwsem *sem);

/*
 * Say that nobody uses @sem any more, and free its counters. Aborts if it is held. May wait as lull_rcu_barrier()
 * does, and aborts where that does. The last writer may call this at once when it has unlocked, also beside readers
 * whose unlock has not returned.
 */
LULL_API void lull_percpu_rwsem_destroy(struct lull_percpu_rwsem *sem);

/* Lock @sem for reading; waits while a writer is in, or waits for readers. May block. Cannot fail. */
LULL_INLINE void lull_percpu_rwsem_read_lock(struct lull_percpu_rwsem *sem)
{
	if (lull_unlikely(!lull__rseq_add(&sem->sync.word, 1, LULL__PERCPU_RWSEM_CAME)))
		lull__percpu_rwsem_read_lock_slow(sem);
	LULL__TSAN_ACQUIRE(sem);
}

/* Lock @sem for reading, unless that would have to wait: then returns false. */
LULL_INLINE bool lull_percpu_rwsem_read_trylock(struct lull_percpu_rwsem *sem)
{
	return lull_likely(lull__rseq_add(&sem->sync.word, 1, LULL__PERCPU_RWSEM_CAME)) ||
	       lull__percpu_rwsem_read_trylock_slow(sem);
}

/* Undo one lock for reading. Wakes a writer that waits for this one. */
LULL_INLINE void lull_percpu_rwsem_read_unlock(struct lull_percpu_rwsem *sem)
{
	LULL__TSAN_RELEASE(&sem->state);
	if (lull_unlikely(!lull__rseq_add(&sem->sync.word, 1, LULL__PERCPU_RWSEM_LEFT)))
		lull__percpu_rwsem_read_unlock_slow(sem);
}

/*
 * Lock @sem for writing: no reader and no other writer is in until the unlock. May block. Aborts if more readers have
 * unlocked than locked, and if this thread has locked it for writing before.
 */
LULL_API void lull_percpu_rwsem_write_lock(struct lull_percpu_rwsem *sem);

/*
 * Lock @sem for writing, unless somebody holds it: then returns false. Does not wait for a holder, but makes all CPUs
 * see the mark, as a lock does.
 */
LULL_API bool lull_percpu_rwsem_write_trylock(struct lull_percpu_rwsem *sem);

/* Undo the lock for writing. Aborts if this thread has not locked it. Does not wait for readers. */
LULL_API void lull_percpu_rwsem_write_unlock(struct lull_percpu_rwsem *sem);

/*
 * Hold @sem until the end of the enclosing block, however the block ends (by cancellation or an exception: only if
 * compiled with -fexceptions, as C++ is):
 *	{ LULL_PERCPU_READ_GUARD(&sem); n = count; }
 */
struct lull_percpu_read_guard {
	struct lull_percpu_rwsem *held;
};

struct lull_percpu_write_guard {
	struct lull_percpu_rwsem *held;
};

LULL_INLINE struct lull_percpu_read_guard lull__percpu_read_guard_enter(struct lull_percpu_rwsem *sem)
{
	struct lull_percpu_read_guard guard = { sem };

	lull_percpu_rwsem_read_lock(sem);
	return guard;
}

LULL_INLINE void lull__percpu_read_guard_leave(struct lull_percpu_read_guard *guard)
{
	lull_percpu_rwsem_read_unlock(guard->held);
}

LULL_INLINE struct lull_percpu_write_guard lull__percpu_write_guard_enter(struct lull_percpu_rwsem *sem)
{
	struct lull_percpu_write_guard guard = { sem };

	lull_percpu_rwsem_write_lock(sem);
	return guard;
}

LULL_INLINE void lull__percpu_write_guard_leave(struct lull_percpu_write_guard *guard)
{
	lull_percpu_rwsem_write_unlock(guard->held);
}

#define LULL_PERCPU_READ_GUARD(sem)                                                                \
	LULL__GUARD(lull_percpu_read_guard, lull__percpu_read_guard_leave, lull__percpu_read_guard_enter(sem))
#define LULL_PERCPU_WRITE_GUARD(sem)                                                               \
	LULL__GUARD(lull_percpu_write_guard, lull__percpu_write_guard_leave, lull__percpu_write_guard_enter(sem))

LULL_END_DECLS

#include <lull/detail/tsan_percpu_rwsem.h>

#endif /* LULL_PERCPU_RWSEM_H */
