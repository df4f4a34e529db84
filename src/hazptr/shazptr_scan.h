/* SPDX-License-Identifier: MIT */
/*
 * shazptr_scan.h - what readers, waiters and the scanning thread of simple hazard pointers share.
 */
#ifndef LULL_SHAZPTR_SCAN_H
#define LULL_SHAZPTR_SCAN_H

#include <pthread.h>

#include <lull/list.h>
#include <lull/shazptr.h>

#include "../base/lock.h"

#define LULL__SHAZPTR_GROUPS 64u

/* One thread that waits; on its stack. Under the domain's lock while it is on a list, but for `done`. */
struct lull__shazptr_waiter {
	struct lull_list_head list;
	uintptr_t ptr;
	uint64_t tick;
	uint64_t groups; /* that have not been seen out of the way */
	uint32_t done;
};

/* What stands in the way of one waiter, or of several. */
struct lull__shazptr_way {
	uint64_t groups;
	uint64_t tick;	/* the latest */
	bool unflagged; /* by a slot that does not say WAITED */
};

struct lull__shazptr_snapshot;

struct lull__shazptr_domain {
	uint64_t clock;
	uint32_t event; /* changes when a thread begins to wait or a slot is cleared for one */
	uint32_t stop;
	uint32_t skip_self_scan;
	uint32_t next_group; /* under the registry lock */
	uint64_t scans;
	struct lull__lock lock;
	struct lull_list_head queued;	/* for the next snapshot */
	struct lull_list_head scanning; /* for the one that is being made or used */
	bool running;			/* there is a thread */
	bool failed;			/* there could not be one, once */
	pthread_t thread;
	struct lull__shazptr_snapshot *snapshot; /* the scanning thread's; NULL or whole at any time, for fork */
	size_t count;
};

extern struct lull__shazptr_domain lull__shazptr;

/* Does a slot that says @word stand in the way of one who waits for @ptr? */
bool lull__shazptr_is_match(uintptr_t word, uintptr_t ptr);

void lull__shazptr_count_scan(void);
/* Look at all slots once for @w. */
void lull__shazptr_look(const struct lull__shazptr_waiter *w, struct lull__shazptr_way *way);
/* Say WAITED in all slots of the groups of @way, and fence. */
void lull__shazptr_flag(const struct lull__shazptr_way *way);
/* How long to sleep before the next look; longer each time. *@shift: 0 at first. */
uint64_t lull__shazptr_nap_ns(unsigned *shift);

/* Wake the scanning thread, and the threads that scan for themselves. */
void lull__shazptr_tell_scanners(void);
/* Hand @w to the scanning thread. Returns false when there can be none. */
bool lull__shazptr_enqueue(struct lull__shazptr_waiter *w);
/* Take @w back, as the time is up. Returns true when the scanning thread has been faster. */
bool lull__shazptr_withdraw(struct lull__shazptr_waiter *w);

#endif /* LULL_SHAZPTR_SCAN_H */
