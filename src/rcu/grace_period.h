/* SPDX-License-Identifier: MIT */
/*
 * grace_period.h - what the rest of the library asks of grace periods, beside rcu.h.
 */
#ifndef LULL_GRACE_PERIOD_H
#define LULL_GRACE_PERIOD_H

#include <lull/rcu.h>

#include "../base/wait.h"

extern uint64_t lull__rcu_looks;  /* at threads' records, by leaders of grace periods */
extern uint64_t lull__rcu_beside; /* grace periods beside a leader that seems not to run */

/* Return the cookie of the first grace period that begins from here on. */
lull_rcu_cookie lull__rcu_cookie(void);
/* Advance the grace period of @cookie as far as it goes without waiting. Returns whether it is over. */
bool lull__rcu_advance(lull_rcu_cookie cookie);
/*
 * Has the grace period of @cookie, or a later one, made a heavy fence? It covers what was unlinked before the cookie
 * was taken. A grace period that finds no thread with light fences in its sections makes none.
 */
bool lull__rcu_has_fenced(lull_rcu_cookie cookie);
/*
 * Wait for the grace period of @cookie until @deadline_ns. Returns whether it is over. Not in a section.
 * @later: NULL, or where a report is stored that is due; then it is not made, and the wait ends.
 */
bool lull__rcu_wait_until(lull_rcu_cookie cookie, uint64_t deadline_ns, struct lull__report *later);

bool lull__rcu_is_over(lull_rcu_cookie cookie); /* without a try to advance it */

static inline void lull__rcu_wait(lull_rcu_cookie cookie)
{
	lull__rcu_wait_until(cookie, LULL__NEVER, NULL);
}

/* For life.c. */
void lull__rcu_fork_child(uint32_t old_tid);

#endif /* LULL_GRACE_PERIOD_H */
