/* SPDX-License-Identifier: MIT */
/*
 * waits.h - debug builds: what each thread waits for without a deadline, and which threads hold that up.
 */
#ifndef LULL_WAITS_H
#define LULL_WAITS_H

#include "../base/hooks.h"

/* One thread's wait. */
struct lull__wish {
	uint32_t tid;
	uint32_t seq; /* another one for each wait of the thread */
	struct lull__awaited of;
};

/* waits.c: see `waits` and `calls_back` in hooks.h */
void lull__waits_set(uint64_t deadline_ns, const struct lull__awaited *awaited);
void lull__waits_calls_back(const void *cohort);
void lull__waits_thread_exit(void);
void lull__waits_fork_child(void);

/* Does @tid wait, as far as is known? */
bool lull__waits_of(uint32_t tid, struct lull__wish *wish);
/* Which threads are in a callback of @cohort? Returns how many of them are in @tids, at most @most. */
unsigned lull__waits_callers(const void *cohort, uint32_t *tids, unsigned most);

#define LULL__HOLDERS_MOST 8u

void lull__edges_awaited(const void *item, bool begins); /* edges.c: see `awaited` in hooks.h */

/* edges.c: which threads hold @wish up now? Stores some, and returns how many. Takes locks of the registry and of slots. */
unsigned lull__holders_of(const struct lull__wish *wish, uint32_t tids[LULL__HOLDERS_MOST]);

#endif /* LULL_WAITS_H */
