/* SPDX-License-Identifier: MIT */
/*
 * debug.h - what lull tells people: stalls and misuse, through hooks that can be replaced, and the
 * state of everything on request.
 */
#ifndef LULL_DEBUG_H
#define LULL_DEBUG_H

#include <lull/detail/base.h>
#include <lull/stats.h>

LULL_BEGIN_DECLS

/* What a thread that is waited for is doing, as the kernel tells. */
enum lull_thread_state {
	LULL_THREAD_UNKNOWN, /* nobody in particular, or /proc is not there */
	LULL_THREAD_RUNS,    /* or would, if it had a processor */
	LULL_THREAD_SLEEPS,
	LULL_THREAD_STOPPED, /* by a debugger, or a signal */
	LULL_THREAD_GONE,    /* there is no such thread any more: it will never let go */
};

/* Something that takes longer than it should, and the thread that holds it up. */
struct lull_stall {
	enum lull_wait_kind what;
	const char *kind;	 /* the same in words: "rcu grace period", "hazptr synchronize", ... */
	const char *thread_name; /* of the thread that is waited for; "?" if it is gone, or none is known */
	uint32_t tid;
	enum lull_thread_state state;
	const char *where;   /* the thread just now: "in futex at libc.so.6+0x8ce22"; "": not known */
	uint32_t depth;	     /* nesting depth of its read section; 0: an online thread, or no section */
	uint32_t slots;	     /* hazard pointers that are waited for; 0: something else is */
	uint64_t since_ns;   /* CLOCK_MONOTONIC: waited for since */
	uint64_t age_ms;     /* the same as a length of time */
	const void *site;    /* where it entered (debug builds); of a callback, its function; else NULL */
	const char *site_name;	/* "function+0x1a", or "program+0x12f0" where symbols are not exported; "" */
	size_t waiting_items;	/* deferred objects that wait behind it */
	size_t waiting_bytes;
};

/*
 * Called when a grace period, or whoever waits for hazard pointers, has waited stall_ms for a thread, and
 * again at 2, 4, 8 ... times that, on the thread that waits (of those that share a grace period the one
 * that leads it); when a callback on the reclaimer's thread has not returned for as long, and again (at
 * most stall_ms / 2 late), on a thread of the library's own; and when the backlog passes its hard limit, on
 * the thread that defers. The hook may read and defer, but not wait for a grace period, and is no
 * cancellation point. NULL restores the default: one line through the message hook. Any thread, any time;
 * not in signal handlers.
 */
typedef void (*lull_stall_hook)(const struct lull_stall *stall, void *arg);
LULL_API void lull_debug_set_stall_hook(lull_stall_hook hook, void *arg);

/* How long something may wait before it is reported. 1000 at the start; 0: never report. */
LULL_API void lull_debug_set_stall_ms(uint32_t stall_ms);

/*
 * Where lull's lines go: stalls, a backlog over its limit, and the line before an abort. One line
 * without a newline. NULL restores the default: standard error, prefixed "lull: ". The hook may run
 * in any context that the call at fault was made in.
 */
typedef void (*lull_message_hook)(const char *line);
LULL_API void lull_debug_set_message_hook(lull_message_hook hook);

/*
 * Write the state of the library to @fd, in lines for people: grace periods, every thread and what
 * it holds, what waits to be reclaimed, who waits for whom. Async-signal-safe: for handlers of
 * SIGSEGV or SIGQUIT, and for debuggers, which stop the other threads:
 *
 *	gdb -p PID -batch -ex 'call (void)lull_debug_dump(2)'
 *
 * A part that is locked by a thread that does not let go is left out, and that is said. Allocates nothing;
 * waits for locks for a few milliseconds at most, and for who reads @fd as long as write(2) does. Returns 0
 * or -errno of the first write that failed.
 */
LULL_API int lull_debug_dump(int fd);

LULL_END_DECLS

#endif /* LULL_DEBUG_H */
