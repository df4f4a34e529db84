/* SPDX-License-Identifier: MIT */
/*
 * thread.h - the record that every thread has, and that inline read sides use.
 *
 * A thread's record is linked into the registry the first time that the thread enters a read section, uses a hazard
 * pointer or registers. No call is needed. It leaves the registry when the thread exits. A thread that only updates is
 * not in it: no grace period looks at that thread. One that waits for readers often should register all the same: a
 * thread that is not registered blocks signals, by two system calls, each time it looks through the registry. The
 * record itself lives in the thread's static TLS, so a reader finds it without a call and without a test. A read lock
 * makes one test anyway (am I outside?). This test also finds a thread that is not registered, because the word of such
 * a thread is not 0 but LULL__RCU_REST.
 *
 * Thread exit: a destructor of a pthread key takes the record out. Destructors of other keys, and of C++
 * thread_local objects, may still run after that and may still read: each outermost read section then
 * registers on entry and leaves on exit, which is slow and always right. Such a destructor may also be the
 * thread's first use of lull; in the last round of destructors only if the program has at most 30 such keys.
 *
 * fork: the child keeps the record of the thread that called fork and no other.
 *
 * Coroutines with stacks of their own (fibers, ucontext) may go on in another thread, but not within a read section,
 * with a lock held, or with a slot or a hold in use that is not detached. Compilers take it that a function stays in
 * one thread, and may use the address of thread-local data again after the switch, which is the record of a thread left
 * behind. So call lull in functions of your own that do not switch, and that are noinline.
 *
 * A child of _Fork(), which calls no fork handlers, should call lull_thread_register() before any other
 * function of lull, from the thread that forked. Without that call lull notices the fork by itself, when the
 * child waits for readers, polls, or has deferred 64 objects, but not when it locks a mutex that processes
 * share. On kernels before Linux 4.14 it does not notice it at all.
 */
#ifndef LULL_THREAD_H
#define LULL_THREAD_H

#include <lull/atomic.h>
#include <lull/detail/abi.h>
#include <lull/detail/tsan.h>

LULL_BEGIN_DECLS

struct lull__bag;

/*
 * A hazard pointer: the address of one object that its owner uses now. See hazptr.h. The members are for lull
 * alone.
 */
struct lull_hazptr {
	uintptr_t addr; /* written by the owner alone; 0: nothing */
	uint64_t state; /* LULL__HAZPTR_*, set by others, and above them a stamp that the owner sets */
#ifdef __cplusplus
	/* A slot, a context and a hold are never copied or moved: other threads look at them where they are. */
	lull_hazptr() = default;
	lull_hazptr(const lull_hazptr &) = delete;
	lull_hazptr &operator=(const lull_hazptr &) = delete;
#endif
};

#define LULL_HAZPTR_SLOTS 8

struct lull__hazptr_links {
	struct lull__hazptr_links *next, *prev;
};

/*
 * Slots, and which of them are in use. A thread takes them from a stack and gives them back to it;
 * src/hazptr/slots.c says what happens when it gives one back from below the top.
 */
struct lull_hazptr_context {
	struct lull_hazptr slot[LULL_HAZPTR_SLOTS];
	struct lull_hazptr *top, *end;	 /* the next free slot; not below `end`: go out of line */
	struct lull__hazptr_links links; /* of contexts outside thread records; see src/hazptr/slots.c */
	uint16_t used;			 /* bit n: slot n is in use; not valid while it is a stack */
	uint16_t shard;			 /* which of the lists it is on */
	uint32_t owner;			 /* tid of the thread that uses it; 0: any thread may (detached) */
};

/*
 * The hot words come first: 16 bytes that never straddle a cache line. Only this thread writes them, except
 * `flags`, which a thread that waits for this one sets. The record has at most 256 bytes and an alignment of
 * 16, because a dlopened liblull must fit into the static TLS that was reserved at the start of the program
 * (on AArch64 that block is aligned to 16, and the loader refuses a greater alignment).
 */
struct lull__thread {
	uint64_t rcu;	/* see rcu.h: 0 outside, else grace-period number and depth */
	uint32_t flags; /* LULL__FLAG_*; set by others too, cleared by this thread */
	uint32_t state; /* LULL__STATE_*; this thread only */
	struct lull__bag *bag; /* the deferred memory of this thread (src/reclaim/bag.h); NULL until needed */
	const void *rcu_site;  /* debug builds: return address of the outermost read lock */
	struct lull__thread *next, *prev; /* registry; under the registry lock */
	uint32_t tid;
	uint32_t rcu_deep; /* nested sections, where they are more than `rcu` counts */
	struct lull_hazptr_context hazptr; /* default context, for callers that bring none; hazptr.h */
	uintptr_t shazptr;	 /* see shazptr.h: 0, an address, or the wildcard */
	uint64_t shazptr_state;	 /* set by others, and above that a stamp that this thread sets */
	uint32_t shazptr_nested; /* acquisitions inside the outermost one */
	uint16_t shazptr_group;	 /* which bit of a waiter's mask is this thread's */
	uint8_t callback_depth;	 /* > 0 while a deferred callback runs on this thread */
	uint32_t lock_tid;	 /* see mutex.h: the thread's id if it may lock inline, else 0 */
	uint16_t walks, walks_counted; /* the walks over queues that this thread is in (src/reclaim/list.c) */
} __attribute__((aligned(16)));

#define LULL__FLAG_RCU_WAITED 1u /* a grace period sleeps until this thread's section ends */
#define LULL__FLAG_OWES	      2u /* this thread has deferred past a limit in its section, and pays at the end of that */

#define LULL__STATE_REGISTERED 1u
#define LULL__STATE_EXITED     2u /* gave its record back: registers per section */
#define LULL__STATE_ONLINE     4u /* quiescent-state thread, between online and offline */
#define LULL__STATE_EXITING    8u /* ... because it exits: never registers for good again */
#define LULL__STATE_RESTS     32u /* begins no section, nor do its handlers: sleeps, and is lull's own */
#define LULL__STATE_LISTED    16u /* has made a context, or a hold with a slot of its own: on a list */

__extension__ extern __thread LULL_API struct lull__thread lull__self __attribute__((tls_model("initial-exec")));

/*
 * Link this thread's record in now instead of in its first section: then that one is as fast as the
 * second. A thread whose signal handlers read should call this. Otherwise a handler that runs while its
 * thread exits may be that thread's very first use of lull, and leave a record in the registry for ever. A
 * second call is harmless. So is a call in a read section, or while the thread's simple hazard pointer is in
 * use. Cannot fail. Not in signal handlers, nor in destructors of thread-specific data.
 */
LULL_API void lull_thread_register(void);

/*
 * Give the record back before the thread exits, so that no scan visits it (useful for a pool whose threads
 * sleep for ever). From then on, until lull_thread_register(), each outermost section registers for itself,
 * which is slow, and the thread has no hazard pointers except those of holds and of other contexts. An online
 * thread goes offline. Aborts inside a read section, in a callback, and while slots of the thread's own
 * context, or its simple hazard pointer, are in use. Not in signal handlers.
 */
LULL_API void lull_thread_unregister(void);

/* Count the threads whose record is linked in now. Takes the registry lock; not in signal handlers. */
LULL_API unsigned lull_thread_count(void);

LULL_END_DECLS

#endif /* LULL_THREAD_H */
