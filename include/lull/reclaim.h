/* SPDX-License-Identifier: MIT */
/*
 * reclaim.h - which thread frees deferred objects and runs callbacks, when, and how much may wait.
 *
 * Each thread has queues of pointers to free (lull_rcu_free, lull_hazptr_retire, ...) and of callbacks
 * (lull_rcu_call, lull_hazptr_call, ...). A thread that defers appends to its own queue: no lock, no locked
 * instruction, no allocation but for one page per 256 entries.
 *
 * Memory. The thread that deferred a pointer also frees it, in its later calls, a few at a time: as soon as a
 * grace period has passed, or no hazard pointer names the object, and while the memory is still in its cache.
 * A small backlog makes deferral fast. So it is with pure callbacks (lull_rcu_call_pure and its like), outside sections.
 *
 * Other callbacks. They run user code, so one background thread runs them: no callback ever runs under a lock that
 * its caller holds. It is woken for a call that comes alone; where many come, it runs them in batches, every
 * 600 us or so, and no call has to wake it. Calls cost readers 2000 heavy fences a second at most, on average, and
 * 2000 more can be saved up in an idle second. When these are used up, a call that comes alone waits for a batch, too.
 * Where callbacks defer callbacks, each follows as soon as it can, 32,768 times in a row; these are saved up at 2000 a
 * second, too.
 * The background thread also takes over the queues of threads that fell idle or exited. It starts when needed,
 * wakes at events, and ends after idle_ms without work (while objects wait that hazard pointers protect, it
 * sleeps). If it cannot be started, callbacks wait. Later deferrals, waits for readers, and threads that begin or
 * exit try to start it again; a barrier runs the callbacks itself; threads that defer free the memory that exited
 * threads left. A program may instead run callbacks in its own loop
 * (LULL_RECLAIM_POLL), or let the deferring threads run them as well (LULL_RECLAIM_CALLER).
 *
 * It does not matter which thread happens to need lull's own threads (this one, and that of debug.h) first.
 * They have SCHED_OTHER, nice 0, the main thread's CPUs, and the stack that pthread_create() gives by default,
 * 256 KiB at least. Where new memory is locked (mlockall() with MCL_FUTURE) all of a stack would be memory at
 * once, and where there is no room: then they have 256 KiB beside the program's thread-local variables. A
 * property that the kernel refuses to change (an unprivileged thread may not leave SCHED_IDLE) stays as in the
 * thread that started them. They block all signals but SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP and SIGSYS,
 * which callbacks may cause. To change this, set stack_bytes and thread_start below. When they are the only
 * threads left, for instance after main() has ended by pthread_exit(), they end, and the process ends with
 * them, as it would without lull; but not with an idle_ms of UINT32_MAX.
 *
 * Past a soft limit lull reclaims at every chance, and holds a thread that defers back, if it is in no section
 * and in no callback. What it defers in a section it pays for when its outermost section ends: there it waits as long
 * as these deferrals would have, 32 times soft_wait_us at most for each kind of deferral, and reclaims what it can. An
 * online thread pays in lull_rcu_quiescent() and lull_rcu_offline(); if it waits for readers before that, it owes
 * nothing. A thread that frees memory itself is held back only past twice soft_items, so a burst of
 * so many goes through without a wait. The thread waits until the backlog is below the limit, for soft_wait_us at
 * most (up to 32 times that for one large object). It does so at every 64th deferral, or when a 16th of soft_bytes
 * has come (if that is less than 24 KiB, perhaps only when 24 KiB have come, in objects of up to 4 KiB). So a flood
 * goes on as fast as lull reclaims. Suppose that a reader stays, or that a callback
 * waits for a lock of the thread that defers: then this thread adds 64 items, or that many bytes, every
 * soft_wait_us and no more. So read-modify-write loops are bounded, too: their sections are short. Nothing is held back
 * in callbacks, with soft_wait_us 0, or, under POLL, for callbacks. Signal handlers pay for nothing.
 * Objects that hazard pointers hold do not count here: no wait makes them fewer.
 *
 * After fork the child's queues hold everything that the parent's queues held, also those of threads that the
 * child does not have. The child's next deferral, barrier or drain starts the background thread again. A
 * callback that was running in another thread at the time of the fork does not run again.
 */
#ifndef LULL_RECLAIM_H
#define LULL_RECLAIM_H

#include <lull/detail/abi.h>

LULL_BEGIN_DECLS

enum lull_reclaim_mode {
	LULL_RECLAIM_THREAD, /* callbacks on a background thread */
	LULL_RECLAIM_POLL,   /* callbacks in lull_reclaim_poll(), barrier and drain; no thread is started */
	LULL_RECLAIM_CALLER, /* callbacks in later lull_rcu_call()s of the same thread; the background
			      * thread runs the rest. They must not wait for anything that a thread may
			      * protect while it defers */
};

enum lull_reclaim_hard {
	LULL_RECLAIM_TELL, /* past the hard limit: write one line through the message hook, and go on */
	LULL_RECLAIM_HELP, /* the deferring thread waits until the backlog is below, and reclaims what it has
			    * deferred, callbacks included, there and in its later deferrals until
			    * it falls idle. In a read section it does so when the section ends, and
			    * tells if the section goes on deferring; in a callback it cannot: there
			    * like TELL. Do not defer, or end such a section, with a lock held that
			    * callbacks take, nor while protecting what they wait for */
};

struct lull_reclaim_config {
	enum lull_reclaim_mode mode;
	enum lull_reclaim_hard on_hard;
	size_t soft_items, soft_bytes; /* past this, reclaim at every chance, and hold threads back that
					* defer (those that free from twice soft_items on); 0: no such limit */
	size_t hard_items, hard_bytes; /* past this, on_hard; 0: no such limit */
	uint32_t linger_ms;	       /* the background thread takes over pointers that wait this long */
	uint32_t soft_wait_us;	       /* past a soft limit a deferral waits so long at most, for readers or */
				       /* the background thread; at most 1,000,000; 0: it does not wait */
	/*
	 * POLL: called when something begins to wait; may be NULL. Runs in the deferral, or in a reader that
	 * clears a slot for which an object is parked, even in a signal handler: do no more than, for
	 * instance, write to an eventfd.
	 */
	void (*notify)(void *arg) LULL__NOEXCEPT_TYPE;
	void *notify_arg;
	/*
	 * For those of lull's own threads that start from now on. stack_bytes: the stack of each, for
	 * callbacks that need more or less (0: see above). thread_start: each thread calls it first, with its name, for
	 * instance to choose its priority and CPUs. It may do what a callback may do.
	 */
	size_t stack_bytes;
	void (*thread_start)(const char *name) LULL__NOEXCEPT_TYPE; /* may be NULL */
	/*
	 * Each of lull's own threads ends when it has had no work for this long (0: 2000). UINT32_MAX: none ends before
	 * the process does, and one that is there already stays. Another change holds from a thread's next work on.
	 */
	uint32_t idle_ms;
};

/*
 * Fill @config with the configuration at the start: THREAD, TELL, soft limits 4096 items and 16 MiB,
 * hard limits 1,000,000 items and 1 GiB, linger 10 ms, waits of 2000 us, threads idle for 2000 ms.
 */
LULL_API void lull_reclaim_default_config(struct lull_reclaim_config *config);

/*
 * Set the configuration, at any time, from one thread at a time. Returns 0, or -EINVAL for an unknown
 * enumerator, a zero linger_ms, a soft_wait_us above 1,000,000, or a hard limit below its soft limit; in
 * these cases it changes nothing. Aborts in a callback and in thread_start. Not in signal handlers.
 */
LULL_API int lull_reclaim_configure(const struct lull_reclaim_config *config);

/*
 * Start all of lull's own threads now, and not when they are needed; under POLL none. Returns when thread_start has
 * returned in each: 0, or -EAGAIN if one of them could not be started. With an idle_ms of UINT32_MAX lull starts no
 * thread after that: for programs that forbid themselves to (see "Sandboxes" in docs/GUIDE.md). A forked child has
 * none of them, and may call this again. Aborts in a callback and in thread_start. Not in signal handlers.
 */
LULL_API int lull_reclaim_start(void);

/*
 * Reclaim as much as is possible without waiting, at most @max_items, for about @max_ns at most (0: no
 * limit), on this thread. Returns how many items it reclaimed. Meant for LULL_RECLAIM_POLL, works in every
 * mode. Items beyond a limit, or in a grace period that a reader holds up, stay until the next call. lull
 * calls notify for later deferrals, and when a reader clears the hazard pointer of a parked object, but not
 * at the end of a grace period: while lull_reclaim_stats() shows items, call again after a while. Aborts in
 * callbacks. Not in signal handlers; in a read section it can do little.
 */
LULL_API size_t lull_reclaim_poll(size_t max_items, uint64_t max_ns);

/*
 * Wait until all that any thread deferred before the call has been called or freed, and all that these callbacks
 * defer, however many generations: nothing that comes of it runs any more. It ends although others go on deferring.
 * Each generation follows the one before it at once. So this is what a program calls before it takes away what its
 * callbacks use; a barrier (rcu.h, hazptr.h) follows 16 generations. A callback that defers itself again and again has
 * no end: give a limit then, or stop it before. Returns 0, or -ETIMEDOUT if that takes longer than @timeout_ms
 * (UINT64_MAX: no limit). It waits for readers as lull_hazptr_barrier() does, and for no callbacks of domains
 * (rcu_domain.h). Same contexts.
 */
LULL_API int lull_reclaim_drain(uint64_t timeout_ms);

/*
 * Exact, whichever threads defer; the page of stats.h has the same numbers after each barrier, pass and poll. A
 * forked child counts anew, and begins with what waited at the fork.
 */
struct lull_reclaim_counts {
	size_t items, bytes;	       /* waiting now; callbacks for which there was no memory have no bytes */
	size_t peak_items, peak_bytes; /* most since the start or the last reset, to within 64 per thread and kind */
	uint64_t total_items;	       /* deferred since the start */
	uint64_t passes;	       /* of the background thread, and of threads in its place */
	uint64_t wakeups;	       /* times that it was woken or its timer ran out */
};

/* Fill @stats; the second begins a new peak. Any thread; not in signal handlers. */
LULL_API void lull_reclaim_stats(struct lull_reclaim_counts *stats);
LULL_API void lull_reclaim_reset_peak(void);

LULL_END_DECLS

#include <lull/detail/tsan_reclaim.h>

#endif /* LULL_RECLAIM_H */
