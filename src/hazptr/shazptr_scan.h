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

/* One waiting thread, on its stack. Guarded by the domain's lock while it is on a list, except `done`. */
struct lull__shazptr_waiter {
	struct lull_list_head list;
	uintptr_t ptr;
	uint64_t tick;
	uint64_t groups; /* groups that have not been seen out of the way */
	uint32_t done;
};

/* The groups that are in the way of one waiter, or of several. */
struct lull__shazptr_way {
	uint64_t groups;
	uint64_t tick;	/* the latest one of these waiters */
	bool unflagged; /* one of the slots does not have WAITED */
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
	bool running;			/* the scanning thread has been started */
	bool failed;			/* it could not be started, and a line has said so */
	pthread_t thread;
	struct lull__shazptr_snapshot *snapshot; /* scanning thread only; NULL or complete at a fork */
	size_t count;
};

extern struct lull__shazptr_domain lull__shazptr;

/* Is a slot with @word in the way of a waiter for @ptr? */
bool lull__shazptr_is_match(uintptr_t word, uintptr_t ptr);

void lull__shazptr_count_scan(void);
/* Scan all slots once for @w, and store in @way what is in its way. */
void lull__shazptr_visit(const struct lull__shazptr_waiter *w, struct lull__shazptr_way *way);
/* Set WAITED in all slots of the groups of @way, and fence. */
void lull__shazptr_flag(const struct lull__shazptr_way *way);
/* Return how long to sleep before the next scan; longer each time. *@shift: 0 at first. */
uint64_t lull__shazptr_nap_ns(unsigned *shift);

/* Wake the scanning thread, and the threads that scan for themselves. */
void lull__shazptr_tell_scanners(void);
/* Hand @w to the scanning thread. Returns false if that cannot be started. */
bool lull__shazptr_enqueue(struct lull__shazptr_waiter *w);
/* Take @w back, as its time is up. Returns true if the scanning thread has finished with it before. */
bool lull__shazptr_withdraw(struct lull__shazptr_waiter *w);

#endif /* LULL_SHAZPTR_SCAN_H */
