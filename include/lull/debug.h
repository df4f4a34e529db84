/* SPDX-License-Identifier: MIT */
/*
 * debug.h - reports of stalls and misuse, through hooks that can be replaced, and a dump of the state.
 */
#ifndef LULL_DEBUG_H
#define LULL_DEBUG_H

#include <lull/detail/abi.h>
#include <lull/stats.h>

LULL_BEGIN_DECLS

/* The state of the thread that a wait waits for, according to the kernel. */
enum lull_thread_state {
	LULL_THREAD_UNKNOWN, /* no thread is known, or there is no /proc */
	LULL_THREAD_RUNS,    /* or would run, if it had a processor */
	LULL_THREAD_SLEEPS,
	LULL_THREAD_STOPPED, /* by a debugger, or a signal */
	LULL_THREAD_GONE,    /* the thread does not exist any more: the wait will never end */
};

/* A wait that lasts longer than it should, and the thread that holds it up. */
struct lull_stall {
	enum lull_wait_kind what;
	const char *kind;	 /* the same in words: "rcu grace period", "hazptr synchronize", ... */
	const char *thread_name; /* of the thread that holds it up; "?" if it is gone, or none is known */
	uint32_t tid;
	enum lull_thread_state state;
	/*
	 * Where the thread is now: "in futex at libc.so.6+0x8ce22"; "": not known. If it waits there for a mutex of lull's,
	 * also which one, and which thread has it; if it is in another wait of lull's, which kind, and which thread holds it up.
	 */
	const char *where;
	uint32_t depth;	     /* nesting depth of its read section, or of its simple hazard pointer; 0: online, or neither */
	uint32_t slots;	     /* hazard pointers, of all threads, that hold it up; 0: something else does */
	uint64_t since_ns;   /* CLOCK_MONOTONIC: when the wait began */
	uint64_t age_ms;     /* how long it has lasted */
	const void *site;    /* where that thread entered (debug builds); of a callback, its function; else NULL */
	const char *site_name;	/* "function+0x1a", or "program+0x12f0" where symbols are not exported; "" */
	size_t waiting_items;	/* deferred objects that wait behind it */
	size_t waiting_bytes;
};

/*
 * Let @hook get reports, with @arg. It is called
 * - when a grace period, or a thread that waits for hazard pointers, has waited stall_ms for another thread,
 *   and again at 2, 4, 8 ... times that, on the thread that waits (if several share a grace period: on the
 *   one that leads it; if several wait for one thread's hazard pointers: on one of them, for all);
 * - when a callback on the reclaimer's thread has run for stall_ms, and again as above (at most stall_ms / 2
 *   late), on a thread of the library's own;
 * - when the backlog exceeds its hard limit, on the thread that defers.
 * Grace periods go on while the hook runs. It may read, defer, and wait for a grace period, but not for a
 * barrier. It is no cancellation point. NULL restores the default: one line through the message hook. Any
 * thread, any time; not in signal handlers.
 */
typedef void (*lull_stall_hook)(const struct lull_stall *stall, void *arg) LULL__NOEXCEPT_TYPE;
LULL_API void lull_debug_set_stall_hook(lull_stall_hook hook, void *arg);

/* Report waits that last @stall_ms or longer. 1000 at the start; 0: report none. */
LULL_API void lull_debug_set_stall_ms(uint32_t stall_ms);

/*
 * Let @hook get lull's lines: stalls, a backlog over its limit, and the line before an abort. One line
 * per call, without a newline. The hook runs in the context of the call at fault.
 *
 * NULL restores the default: lines on standard error that begin with "lull: ". The default never blocks and
 * raises no signal. A line is lost when there is no room for it (a pipe that nobody empties, a terminal that
 * is stopped) or when its reader is gone. It is also lost when descriptor 2 is not the file that it was when
 * the library was loaded, because a program that closed it may have its data there. A program that sends its
 * standard error elsewhere says so: it calls this with NULL afterwards. The line before an abort also goes to another
 * descriptor 2, if that is a pipe, a socket, a terminal, or a file that was opened to append. lull counts all stalls in
 * any case (stats.h), and a hook gets every line.
 *
 * With LULL_MESSAGES=/path/of/a/file in the environment the default appends to that file, which it makes if need be; only
 * the line before an abort goes to standard error, too. Where the file cannot be had, one line says so, and all go to
 * standard error. A program that has rights beyond its user's does not follow the variable.
 */
typedef void (*lull_message_hook)(const char *line) LULL__NOEXCEPT_TYPE;
LULL_API void lull_debug_set_message_hook(lull_message_hook hook);

/*
 * The line before an abort, wherever it went, for who has nothing but a core dump; empty before. Not for programs:
 *
 *	gdb PROGRAM CORE -batch -ex 'x/s &lull__abort_message'
 */
extern LULL_API char lull__abort_message[512];

/*
 * Write the state of the library to @fd, in lines for people: grace periods, every thread and what it holds,
 * how much waits to be reclaimed, which thread waits for which. Async-signal-safe: for handlers of SIGSEGV or
 * SIGQUIT, and for debuggers, which stop the other threads:
 *
 *	gdb -p PID -batch -ex 'call (void)lull_debug_dump(2)'
 *
 * If a lock is not released in time, leaves out the part under that lock, and says so. Allocates nothing.
 * Waits for locks for a few milliseconds at most, and for the reader of @fd as long as write(2) does, but
 * raises no SIGPIPE. Returns 0 or -errno of the first write that failed.
 */
LULL_API int lull_debug_dump(int fd);

LULL_END_DECLS

#endif /* LULL_DEBUG_H */
