/* SPDX-License-Identifier: MIT */
/*
 * bag.h - bags, and the state that deferring threads and the threads that reclaim for them share.
 *
 * Each thread that defers has a bag with a queue of each kind (queue.h). Bags are never freed. The bag of a
 * thread that exits becomes an orphan; when it is empty, the next new thread takes it. So the list of bags
 * can be walked without a lock.
 */
#ifndef LULL_BAG_H
#define LULL_BAG_H

#include <pthread.h>

#include <lull/reclaim.h>

#include "queue.h"

enum { BAG_FREE, BAG_OWNED, BAG_ORPHAN };

struct lull__bag {
	struct lull__queue queue[LULL__KINDS];
	struct lull__hazptr_table *table; /* for scans by this thread, see hazptr/table.h */
	struct lull__bag *next; /* all bags, never changes once linked */
	uint32_t state;
};

/* How deep the background thread sleeps. A deferral wakes it if it must not wait for the end of the sleep. */
enum {
	AWAKE,
	NAPPING,   /* a moment, so that a flood of callbacks comes in batches; barriers wake it */
	LINGERING, /* until a timer; callbacks wake it */
	ASLEEP,	   /* anything wakes it */
	GONE,	   /* there is no thread, and anything starts one; not under POLL */
};

enum { NO_THREAD, HAS_THREAD, CANNOT_HAVE_ONE };

#define LULL__RECLAIM_AT_START                                                                     \
	{                                                                                          \
		.mode = LULL_RECLAIM_THREAD, .on_hard = LULL_RECLAIM_TELL, .soft_items = 4096,     \
		.soft_bytes = (size_t)16 << 20, .hard_items = 1000000,                             \
		.hard_bytes = (size_t)1 << 30, .linger_ms = 10,                                    \
	}

struct lull__reclaimer {
	/*
	 * Read by every deferral; written when the background thread goes to sleep or wakes up, and
	 * otherwise rarely.
	 */
	struct lull__bag *bags __attribute__((aligned(LULL__CACHELINE)));
	uint32_t sleep;
	uint32_t mode;
	uint32_t thread; /* NO_THREAD ... */
	uint32_t stop;	 /* the process ends */
	uint32_t failures; /* of starting the thread */
	uint64_t retry_ns; /* the next try is not made before this time */
	uint32_t unserved; /* threads that began to defer while it could not be started */
	pthread_t id;
	struct lull_reclaim_config config;

	/* Written by some deferrals. */
	size_t items __attribute__((aligned(LULL__CACHELINE))); /* to within LULL__CHECK_EVERY per queue */
	size_t bytes, peak_items, peak_bytes;
	uint64_t noted_items, noted_bytes; /* deferred since the start, to within as many */
	uint32_t limit_reported; /* the backlog is over its hard limit, and that has been reported */
	uint64_t from_callbacks; /* deferrals that callbacks made */

	/* Written by passes and barriers. */
	uint64_t passes __attribute__((aligned(LULL__CACHELINE)));
	uint64_t wakeups;
	uint64_t flush_wanted, flush_done; /* tickets of barriers */
	uint32_t flush_event;
	uint32_t futile;	 /* passes in a row that took something and reclaimed nothing */
	uint32_t mark_awaited;	 /* a barrier also waits for the entries that passes cannot reclaim */
	struct lull__lock barrier_lock; /* one barrier at a time marks and waits */
	struct lull__lock config_lock;
};

extern struct lull__reclaimer lull__reclaimer;

#define LULL__CHECK_EVERY 64u /* the owner checks its queue and the limits at every 64th entry */

/* REC-6: the link before the bag. */
#define lull__for_each_bag(bag)                                                                          \
	for ((bag) = lull_load_acquire(&lull__reclaimer.bags); (bag); (bag) = (bag)->next)

/* Return the calling thread's bag; give it one if it has none. NULL: no memory. */
struct lull__bag *lull__own_bag(void);

/* Return a table for scans by the calling thread, for all current slots if there is memory. NULL: none. */
struct lull__hazptr_table *lull__own_table(void);

/* Let a new thread have @bag if it is an orphan and empty. The caller holds no consumer's lock. */
void lull__bag_recycle(struct lull__bag *bag);
bool lull__bag_is_empty(struct lull__bag *bag);

#endif /* LULL_BAG_H */
