/* SPDX-License-Identifier: MIT */
/*
 * bag.h - bags, and the state that deferring threads and the threads that reclaim for them share.
 *
 * Each thread that defers has a bag with a queue of each kind (queue.h). The bag of a thread that exits
 * becomes an orphan: the next new thread takes it, with what waits in it. Orphans that are empty are freed,
 * all but a few.
 *
 * Whoever reclaims looks at one list, of the queues in which something waits, and at some that have just become empty.
 * So no thread that has nothing to reclaim costs anything. The list is walked without a lock; walkers are counted. They
 * wait for nothing. A queue that is found empty is taken out now and then (a sweep), many at a time:
 *
 *	IN ---- sweep, empty ----> LEFT ---- no walker is left ----> OUT ---- deferral ----> IN
 *
 * Its owner must notice that. A sweep sets `heed`, makes a heavy fence, and looks once more whether the queue is empty;
 * the owner looks at `heed` after each entry. While a place is LEFT, the queue can come in by its other place.
 */
#ifndef LULL_BAG_H
#define LULL_BAG_H

#include <pthread.h>

#include <lull/reclaim.h>

#include "../base/own_thread.h"
#include "queue.h"

enum { BAG_OWNED, BAG_ORPHAN };

struct lull__bag {
	struct lull__queue queue[LULL__KINDS];
	struct lull__hazptr_table *table; /* for scans by this thread, see hazptr/table.h */
	struct lull__bag *next, *prev;	  /* all bags; for a forked child. Under bags_lock */
	struct lull__bag *next_orphan;	  /* likewise */
	uint32_t state;
	uint32_t pins; /* threads that use a queue of it without being its owner, or in a walk */
	uint32_t at_once;	     /* how often memory was freed at once, see free_at_once(), ... */
	uint64_t at_once_since_ns;   /* ... since then */
	uint32_t owed;		     /* a bit for each kind that was deferred past a limit in the owner's section, ... */
	uint64_t owed_shares;	     /* ... and how often hold_back() would have waited there */
};

/* How deep the background thread sleeps. A deferral wakes it if it must not wait for the end of the sleep. */
enum {
	AWAKE,
	NAPPING,   /* a moment, so that a flood of callbacks comes in batches; barriers wake it */
	DOZING,	   /* a moment; callbacks wake it */
	LINGERING, /* until a timer; callbacks wake it */
	ASLEEP,	   /* anything wakes it */
	GONE,	   /* there is no thread, and anything starts one; not under POLL */
};

enum { NO_THREAD, HAS_THREAD, CANNOT_HAVE_ONE };

#define LULL__RECLAIM_AT_START                                                                                           \
	{ .mode = LULL_RECLAIM_THREAD, .on_hard = LULL_RECLAIM_TELL, .soft_items = 4096, .soft_bytes = (size_t)16 << 20, \
	  .hard_items = 1000000, .hard_bytes = (size_t)1 << 30, .linger_ms = 10, .soft_wait_us = 2000, .idle_ms = LULL__IDLE_MS, }

struct lull__reclaimer {
	/*
	 * Read by every deferral; written when the background thread goes to sleep or wakes up, and
	 * otherwise rarely.
	 */
	struct lull__listing *list __attribute__((aligned(LULL__CACHELINE))); /* queues in which something waits */
	uint32_t sleep;
	uint32_t mode;
	uint32_t thread; /* NO_THREAD ... */
	uint32_t stop;	 /* the process ends */
	uint32_t failures; /* of starting the thread */
	uint64_t retry_ns; /* the next try is not made before this time */
	uint32_t unserved; /* threads that began to defer while it could not be started */
	pthread_t id;
	uint32_t tid; /* for debug builds: of the thread; 0: not known yet */
	struct lull_reclaim_config config;
	size_t look_bytes; /* a deferrer looks at the limits when so many bytes have come */

	/* Written by some deferrals. */
	size_t items __attribute__((aligned(LULL__CACHELINE))); /* to within LULL__CHECK_EVERY per queue */
	size_t bytes, peak_items, peak_bytes;
	size_t retired; /* items of memory that hazard pointers may protect */
	size_t kept_items, kept_bytes; /* of these, and of bridges': what slots named at the last scans */
	uint32_t held_back;   /* threads that wait until the backlog is below its soft limits */
	uint32_t relief; /* an event for these */
	uint64_t noted_items, noted_bytes; /* deferred since the start, to within as many */
	uint32_t limit_reported; /* the backlog is over its hard limit, and that has been reported */
	uint64_t from_callbacks; /* deferrals that callbacks made */
	uint64_t wanted; /* of these, so many that a drain, or a thread that waits for a cohort, waits for */

	/* Written by passes and barriers. */
	uint64_t passes __attribute__((aligned(LULL__CACHELINE)));
	uint64_t wakeups;
	uint64_t flush_wanted, flush_done; /* tickets of barriers */
	uint32_t flush_event;
	uint32_t futile;	 /* passes in a row that took something and reclaimed nothing */
	uint32_t mark_awaited;	 /* a barrier also waits for the entries that passes cannot reclaim */
	uint32_t drains, flushing; /* so many go on; so many of these still make passes: all that callbacks defer now is theirs */
	struct lull__lock barrier_lock; /* one barrier at a time marks and waits */
	struct lull__lock config_lock;
	struct lull__lock retired_lock; /* one thread at a time frees what others have retired */
	struct lull__lock park_lock; /* one thread at a time parks */

	/* Bags and queues that come and go. */
	uint64_t walkers __attribute__((aligned(LULL__CACHELINE))); /* threads that walk the list of queues; from LULL__WALKS_OF on: see list.c */
	uint32_t listed; /* how many there are in it, ... */
	uint32_t idle;	 /* ... of which so many were empty when a thread last looked */
	uint32_t orphans;
	struct lull__lock sweep_lock; /* one sweep at a time; guards what follows */
	struct lull__queue *left;	 /* queues with a place that is LEFT */
	uint32_t relisted; /* a sweep has listed a queue; who has made it looks who sleeps */
	uint64_t folded_items, folded_bytes; /* deferred to queues while they were listed, up to their last time as empty ones */
	struct lull__lock bags_lock; /* guards what follows; never held over a wait. Signals are blocked meanwhile */
	struct lull__bag *all, *orphan;
};

#define LULL__WALKS_OF ((uint64_t)1 << 32)

/* Hidden: code for shared objects that sees only this declaration would otherwise look up the address first. */
extern struct lull__reclaimer lull__reclaimer __attribute__((visibility("hidden")));

/* Compute how many bytes a deferrer adds before it looks at the limits, with a soft limit of @soft bytes. */
#define LULL__LOOK_BYTES(soft) ((soft) / 16 + 1)

#define LULL__CHECK_EVERY 64u /* the owner checks its queue and the limits at every 64th entry */

/*
 * Begin and end a walk over the queues in which something waits. Walks nest, may be in signal handlers, and must not wait.
 * Pass what the first one returns to the second one.
 */
uint64_t lull__walk_enter(void);
void lull__walk_leave(uint64_t process);

/* In a walk, with @at, a struct lull__listing *. REC-6: the link before the queue. */
#define lull__for_each_queue(at, q)                                                                                  \
	for ((at) = lull_load_acquire(&lull__reclaimer.list); (at) && ((q) = (at)->queue, true);                     \
	     (at) = lull_load_relaxed(&(at)->next))

/* Return a number that is another one in a forked child. */
static inline uint64_t lull__reclaim_process(void)
{
	return lull_load_relaxed(&lull__reclaimer.walkers) / LULL__WALKS_OF;
}

/* In a child, before it has a second thread. */
#define lull__for_each_bag(bag) for ((bag) = lull__reclaimer.all; (bag); (bag) = (bag)->next)

/*
 * Put @q, to which an entry has just come, into the list unless it is there. The owner, after a light fence; sweeps.
 */
void lull__queue_list(struct lull__queue *q);
/* Take back what the backlog was lent of @q while that was out of the list. Its owner. */
void lull__queue_take_back(struct lull__queue *q);
/* Let the owners of all queues look, after their next deferral, whether the reclaimer sleeps. A heavy fence must follow. */
void lull__queues_heed(void);

/* May this thread wait for a grace period, and run callbacks? */
static inline bool lull__can_help(void)
{
	return !lull_rcu_read_lock_held() && !lull__self.callback_depth;
}

/* Return the calling thread's bag; give it one if it has none. NULL: no memory. */
struct lull__bag *lull__own_bag(void);

/* Return a table for scans by the calling thread, for all current slots if there is memory. NULL: none. */
struct lull__hazptr_table *lull__own_table(void);

/* Free that table unless it is small, so that many threads do not keep a table for the slots of all. */
void lull__own_table_done(void);

void lull__bag_unpin(struct lull__bag *bag); /* a thread adds to `pins` in a walk */
/* Make the calling thread's bag an orphan. Returns whether anything waits in it. */
bool lull__bag_leave(struct lull__bag *bag);
/*
 * Take queues that are empty out of the list, and free orphans that are empty, but for LULL__SPARE_BAGS, if no thread
 * walks.
 */
void lull__sweep(void);
/* Is there anything to sweep, now or later? */
bool lull__is_to_sweep(void);
void lull__bags_fork_child(void);
/* Are there more empty orphans than are to be kept? Free these; sweeps, when no thread walks. */
bool lull__bags_to_spare(void);
void lull__bags_free_spare(void);

#define LULL__SPARE_BAGS  2u  /* orphans that are kept for the next threads */
#define LULL__SPARE_PLACES 16u /* a list of so many queues is not swept */

#endif /* LULL_BAG_H */
