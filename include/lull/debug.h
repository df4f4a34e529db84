/* SPDX-License-Identifier: MIT */
/*
 * debug.h - what lull tells people: stalls and misuse, through hooks that can be replaced.
 */
#ifndef LULL_DEBUG_H
#define LULL_DEBUG_H

#include <lull/base.h>

LULL_BEGIN_DECLS

/* A thread that holds something up for longer than it should. */
struct lull_stall {
	const char *kind;	 /* what waits: "rcu grace period", "hazptr synchronize", ... */
	const char *thread_name; /* of the thread that is waited for */
	uint32_t tid;
	uint32_t depth;		 /* nesting depth of its read section; 0: an online thread */
	uint32_t slots;		 /* hazard pointers that are waited for; 0: it is a grace period that waits */
	uint64_t age_ms;	 /* for how long this has been waited for */
	const void *site;	 /* where it entered (debug builds), else NULL */
	size_t waiting_items;	 /* deferred objects that wait behind it */
	size_t waiting_bytes;
};

/*
 * Called when a grace period, or whoever waits for hazard pointers, has waited stall_ms for a
 * thread, and again at 2, 4, 8 ... times that, on the thread that waits (of those that share a grace
 * period the one that leads it). The hook may read and defer, but not wait for a grace period. NULL
 * restores the default: one line through the message hook. Any thread, any time; not in signal
 * handlers.
 */
typedef void (*lull_stall_hook)(const struct lull_stall *stall, void *arg);
LULL_API void lull_debug_set_stall_hook(lull_stall_hook hook, void *arg);

/* How long a grace period may wait before it is reported. 1000 at the start; 0: never report. */
LULL_API void lull_debug_set_stall_ms(uint32_t stall_ms);

/*
 * Where lull's lines go: stalls, a backlog over its limit, and the line before an abort. One line
 * without a newline. NULL restores the default: standard error, prefixed "lull: ". The hook may run
 * in any context that the call at fault was made in.
 */
typedef void (*lull_message_hook)(const char *line);
LULL_API void lull_debug_set_message_hook(lull_message_hook hook);

LULL_END_DECLS

#endif /* LULL_DEBUG_H */
