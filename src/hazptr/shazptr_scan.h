/* SPDX-License-Identifier: MIT */
/*
 * shazptr_scan.h - what readers of simple hazard pointers and those that wait for them share.
 */
#ifndef LULL_SHAZPTR_SCAN_H
#define LULL_SHAZPTR_SCAN_H

#include <lull/list.h>
#include <lull/shazptr.h>

#include "../base/lock.h"

#define LULL__SHAZPTR_GROUPS 64u

enum lull__shazptr_word {
	LULL__SHAZPTR_WAITS, /* another waiter leads */
	LULL__SHAZPTR_LEADS, LULL__SHAZPTR_DONE,
};

/* One waiting thread, on its stack. Guarded by the domain's lock; `word` may be loaded without. */
struct lull__shazptr_waiter {
	struct lull_list_head list;
	uintptr_t ptr;
	uint64_t tick;
	uint64_t groups; /* groups that have not been seen out of the way */
	uint64_t found;	 /* ... and are in the way, as far as the scan has come that is being made */
	uint32_t word;
};

struct lull__shazptr_domain {
	uint64_t clock;
	uint32_t event; /* changes when there is something new for the leader */
	uint32_t skip_self_scan;
	uint32_t next_group; /* under the registry lock */
	uint64_t asleep_at;  /* one more than the event until whose change the leader sleeps; 0: it does not */
	struct lull__lock lock;
	uint64_t scans; /* changes under the lock */
	struct lull_list_head waiters;
	struct lull__shazptr_waiter *leader; /* one of them, if there are any */
};

extern struct lull__shazptr_domain lull__shazptr;

/* Is a slot with @word in the way of a waiter for @ptr? */
bool lull__shazptr_is_match(uintptr_t word, uintptr_t ptr);

/* Scan all slots once for @w, and return the groups that are in its way. */
uint64_t lull__shazptr_visit(const struct lull__shazptr_waiter *w);
/* Wake the waiter that leads. */
void lull__shazptr_tell_leader(void);
/* Wait until nothing is in the way of @w. Returns false if that is not so at @deadline_ns. */
bool lull__shazptr_wait(struct lull__shazptr_waiter *w, uint64_t deadline_ns);

#endif /* LULL_SHAZPTR_SCAN_H */
