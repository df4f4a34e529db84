/* SPDX-License-Identifier: MIT */
/*
 * mutex.h - a mutex whose waiters spin only while its owner runs.
 *
 * To sleep and be woken takes longer than most critical sections last, so a waiter had better spin. But a
 * waiter that spins for an owner that does not run burns the time that the owner needs. The kernel's own
 * mutex knows whether the owner runs, and user space does not. In this mutex the word has the owner's thread id
 * in it, so that a waiter can ask an *oracle* whether that thread runs just now:
 *
 *	rseq	the owner's restartable-sequence area says on which CPU the owner last ran in user mode: if
 *		that is the waiter's CPU, or another waiter has been seen there since, the owner does not
 *		run; else lull takes it to run, for some tens of microseconds, or ten if that was in vain lately
 *	bpf	a program in the kernel keeps a table of the thread that runs on each CPU; a user with the
 *		right to load it has done so (`lull oracle`)
 *	kernel	the kernel spins for a waiter that is about to sleep, while the owner runs (FUTEX2_SPIN, which no
 *		released kernel has)
 *	slice	as rseq; and the owner asks the kernel not to be preempted (rseq time-slice extension)
 *	none	nobody knows: waiters spin for a short bounded time
 *
 * Before the first lock lull chooses `rseq`, or `none` where the process cannot have it;
 * LULL_OWNER_ORACLE=rseq|bpf|kernel|slice|none in the environment forces one. The others are in libraries that were
 * built with them, for those who ask.
 *
 * A thread that finds the lock free takes it, whoever came first: a free lock never waits for a sleeper to wake up.
 * Sleepers are woken in the order in which they went to sleep: one by each unlock, as long as no thread spins. The one
 * that wakes by itself (see below) has its turn if no other sleeps, or by each LULL_MUTEX_BYPASSth unlock that sees a
 * thread spin. Where many threads want a lock it is best if a few of them take turns, so an unlock that sees a thread
 * spin leaves the lock to that one, or to whoever comes, and wakes nobody. No more than LULL_MUTEX_BYPASS - 1 unlocks
 * in a row pass the sleepers by in that way. Three threads spin for one lock, but one if others sleep, beside one that
 * was woken. And while sleepers are passed by, one of them wakes by itself after LULL_MUTEX_PATIENCE_MS, and looks: so
 * the lock does not stay free for longer than that because those that spin have been preempted, or are in a signal
 * handler, which may wait for a sleeper.
 *
 * A waiter becomes the heir if it is awake and finds the lock taken LULL_MUTEX_PATIENCE_MS after it began to wait. The
 * next unlock that finds the heir asleep gives the lock to it and to no other thread. (A thread in a signal handler is
 * not asleep. But a signal may come after the heir was woken and before it runs; then the lock waits for the handler.)
 * There is one heir at a time; the next thread to be woken is the next heir. So a thread at the head of the sleepers
 * waits no longer than LULL_MUTEX_PATIENCE_MS, LULL_MUTEX_BYPASS sections, those of the owner and of an heir before it,
 * and the time that the scheduler takes to run it.
 *
 * A waiter does not become the heir if it has seen an owner of higher priority while it waited (by policy, realtime
 * priority and nice value): such threads would wait for a thread that the kernel runs less often. That waiter takes the
 * lock when it finds it free. Mutexes that processes share have no heir, because an heir may be killed.
 *
 * Ideas: FUTEX_SPIN (A. Almeida, 2024), "Malthusian locks" (D. Dice, 2017), the mutex of the Linux kernel (spin on
 * owner, hand-off), of Solaris (schedctl), of Go (starvation after 1 ms), U. Drepper, "Futexes are tricky".
 */
#ifndef LULL_MUTEX_H
#define LULL_MUTEX_H

#include <lull/thread.h>

#ifdef LULL__TSAN
#include <sanitizer/tsan_interface.h>
#endif

/*
 * A mutex of zero bytes is free. In C++ a mutex begins free, and cannot be copied. While a thread holds it,
 * the low 22 bits of the word are that owner's thread id, so a debugger, or `lull_mutex_owner()`, can show
 * who holds it. After fork, the child's thread owns each mutex that the forking thread owned. A mutex that
 * another thread owned stays locked: call lull_mutex_init() on it.
 *
 * Not in signal handlers, except lull_mutex_trylock() and the unlock that goes with it. Do not leave a call
 * that waits by longjmp() or asynchronous cancellation; no call is a cancellation point. A thread that locks
 * must end by returning or by pthread_exit().
 */
struct lull_mutex {
	uint32_t word LULL__ZERO; /* a futex; the owner's thread id (0: free), how many spin, LULL__MUTEX_WAITERS, _HEIR */
	uint32_t rest LULL__ZERO; /* the heir's thread id, how often sleepers were passed by, LULL_MUTEX_SHARED */
	uint32_t turn LULL__ZERO; /* a futex; counts the wake-ups of those that sleep */
#ifdef __cplusplus
	lull_mutex() = default;
	lull_mutex(const lull_mutex &) = delete;
	lull_mutex &operator=(const lull_mutex &) = delete;
	/* For std::lock_guard and its like. */
	inline void lock();
	inline bool try_lock();
	inline void unlock();
#endif
};

#ifdef __cplusplus
#define LULL_MUTEX_INIT {}
#else
#define LULL_MUTEX_INIT { 0, 0, 0 }
#endif

/* Flags for lull_mutex_init(). */
#define LULL_MUTEX_SHARED 0x80000000u /* in memory that processes share; they see the same thread ids */

#define LULL_MUTEX_PATIENCE_MS 5
#define LULL_MUTEX_BYPASS      64

#define LULL__MUTEX_TID	    0x003fffffu /* Linux has none above */
#define LULL__MUTEX_HEIR    0x40000000u /* the heir gets it next */
#define LULL__MUTEX_WAITERS 0x80000000u /* FUTEX_WAITERS: unlock must go out of line */

LULL_BEGIN_DECLS

LULL_API void lull__mutex_lock_slow(struct lull_mutex *m);
LULL_API bool lull__mutex_trylock_slow(struct lull_mutex *m);
LULL_API int lull__mutex_timedlock_slow(struct lull_mutex *m, uint64_t deadline_ns);
LULL_API void lull__mutex_unlock_slow(struct lull_mutex *m);

/*
 * Make @m a free mutex, whatever it was. @flags: 0 or LULL_MUTEX_SHARED. You need this call only for flags,
 * and for memory that is not zero. Any context.
 */
LULL_API void lull_mutex_init(struct lull_mutex *m, uint32_t flags);

/*
 * Say that nobody uses @m any more. Aborts if a thread holds it or waits for it. Then you may free it, or
 * make it another mutex; you may also do that without this call, when the last thread that will lock it has
 * unlocked it. Any context.
 */
LULL_API void lull_mutex_destroy(struct lull_mutex *m);

#ifdef LULL__TSAN
#define LULL__TSAN_MUTEX(call) call
#else
#define LULL__TSAN_MUTEX(call) ((void)0)
#endif

/*
 * Try to lock @m inline, with lock_tid. That is 0 if each lock has to go out of line: before the thread's
 * first lock, in debug builds, with oracles that act at each lock, and for some locks after the thread has met a crowd.
 */
LULL_INLINE bool lull__mutex_try_inline(struct lull_mutex *m)
{
	uint32_t free_word = 0, tid = lull__self.lock_tid;

	/*
	 * ORDER MTX-1: the lock before what it guards; pairs with MTX-1 in lull_mutex_unlock();
	 * without it the last owner's stores are not seen; model/mutex/lock.litmus
	 */
	return lull_likely(tid != 0) && lull_likely(lull_cas_acquire(&m->word, &free_word, tid));
}

/*
 * Lock @m; waits as long as it takes. May block, so not in a read section of RCU that should be short. Aborts
 * if the thread holds @m already. Cannot fail.
 */
LULL_INLINE void lull_mutex_lock(struct lull_mutex *m)
{
	LULL__TSAN_MUTEX(__tsan_mutex_pre_lock(m, __tsan_mutex_linker_init));
	if (lull_unlikely(!lull__mutex_try_inline(m)))
		lull__mutex_lock_slow(m);
	LULL__TSAN_MUTEX(__tsan_mutex_post_lock(m, __tsan_mutex_linker_init, 1));
}

/* Lock @m if it is free. Returns false if a thread holds it, also if this thread does. Any context. */
LULL_INLINE bool lull_mutex_trylock(struct lull_mutex *m)
{
	bool got;

	LULL__TSAN_MUTEX(__tsan_mutex_pre_lock(m, __tsan_mutex_linker_init | __tsan_mutex_try_lock));
	got = lull__mutex_try_inline(m) || lull__mutex_trylock_slow(m);
	LULL__TSAN_MUTEX(__tsan_mutex_post_lock(m, __tsan_mutex_linker_init | __tsan_mutex_try_lock |
							(got ? 0 : __tsan_mutex_try_lock_failed), 1));
	return got;
}

/*
 * Lock @m, or give up at @deadline_ns of CLOCK_MONOTONIC (if that is past: try once; UINT64_MAX: never
 * give up). Returns 0 or -ETIMEDOUT. May block.
 */
LULL_INLINE int lull_mutex_timedlock(struct lull_mutex *m, uint64_t deadline_ns)
{
	int err = 0;

	LULL__TSAN_MUTEX(__tsan_mutex_pre_lock(m, __tsan_mutex_linker_init | __tsan_mutex_try_lock));
	if (lull_unlikely(!lull__mutex_try_inline(m)))
		err = lull__mutex_timedlock_slow(m, deadline_ns);
	LULL__TSAN_MUTEX(__tsan_mutex_post_lock(m, __tsan_mutex_linker_init | __tsan_mutex_try_lock |
							(err ? __tsan_mutex_try_lock_failed : 0), 1));
	return err;
}

/*
 * Unlock @m; another thread may free it at once. Aborts if this thread does not hold it. Does not block.
 * Cannot fail.
 */
LULL_INLINE void lull_mutex_unlock(struct lull_mutex *m)
{
	uint32_t tid = lull__self.lock_tid, word = tid;

	LULL__TSAN_MUTEX(__tsan_mutex_pre_unlock(m, __tsan_mutex_linker_init));
	/*
	 * ORDER MTX-1: what it guards before the lock is free; pairs with MTX-1 in
	 * lull__mutex_try_inline(); without it the next owner misses stores; model/mutex/lock.litmus
	 */
	if (lull_unlikely(tid == 0) || lull_unlikely(!lull_cas_release(&m->word, &word, 0u)))
		lull__mutex_unlock_slow(m);
	LULL__TSAN_MUTEX(__tsan_mutex_post_unlock(m, __tsan_mutex_linker_init));
}

/* Return the owner's thread id; 0: @m is free. May be out of date, unless the caller is the owner. Any context. */
LULL_INLINE uint32_t lull_mutex_owner(const struct lull_mutex *m)
{
	return lull_load_relaxed(&m->word) & LULL__MUTEX_TID;
}

LULL_INLINE bool lull_mutex_is_locked(const struct lull_mutex *m)
{
	return lull_mutex_owner(m) != 0;
}

/*
 * `lull oracle` pins the table of the oracle "bpf" here, in a folder of root's. No setting moves the table:
 * nobody can make a process read the table of somebody else.
 */
#define LULL_MUTEX_TABLE_DIR "/sys/fs/bpf/lull"
#define LULL_MUTEX_TABLE     LULL_MUTEX_TABLE_DIR "/running"

/* Return the oracle of this process: "rseq", "bpf", "kernel", "slice" or "none". Any context. */
LULL_API const char *lull_mutex_oracle_name(void);

/*
 * Choose another oracle by its @name. Returns 0, -EINVAL (no such name) or -ENOTSUP (not on this machine).
 * For instruments, and for programs that know better. Applies to threads that have not locked anything yet.
 * Not in signal handlers.
 */
LULL_API int lull_mutex_choose_oracle(const char *name);

/*
 * Lock @m until the end of the enclosing block, however the block ends (by cancellation or an exception: only
 * if compiled with -fexceptions, as C++ is):
 *	{ LULL_MUTEX_GUARD(&lock); count++; }
 */
struct lull_mutex_guard {
	struct lull_mutex *held;
};

LULL_INLINE struct lull_mutex_guard lull__mutex_guard_enter(struct lull_mutex *m)
{
	struct lull_mutex_guard guard = { m };

	lull_mutex_lock(m);
	return guard;
}

LULL_INLINE void lull__mutex_guard_leave(struct lull_mutex_guard *guard)
{
	lull_mutex_unlock(guard->held);
}

#define LULL_MUTEX_GUARD(m)                                                                        \
	LULL__GUARD(lull_mutex_guard, lull__mutex_guard_leave, lull__mutex_guard_enter(m))

LULL_END_DECLS

#ifdef __cplusplus
inline void lull_mutex::lock()
{
	lull_mutex_lock(this);
}

inline bool lull_mutex::try_lock()
{
	return lull_mutex_trylock(this);
}

inline void lull_mutex::unlock()
{
	lull_mutex_unlock(this);
}
#endif

#endif /* LULL_MUTEX_H */
