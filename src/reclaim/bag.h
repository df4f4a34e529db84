/* SPDX-License-Identifier: MIT */
/*
 * defer.h - bags, and what deferring threads (defer.c) and those who reclaim for them (reclaim.c)
 * share.
 *
 * Each thread that defers has a bag with a queue of each kind (queue.h). Bags are never freed. A thread that
 * exits leaves its bag as an orphan; when it is empty the next new thread takes it. So the list of
 * bags can be walked without a lock.
 */
#ifndef LULL_DEFER_H
#define LULL_DEFER_H

#include <pthread.h>

#include <lull/reclaim.h>

#include "queue.h"

enum { BAG_FREE, BAG_OWNED, BAG_ORPHAN };

struct lull__bag {
	struct lull__queue queue[LULL__KINDS];
	struct lull__hazptr_table *table; /* for scans by this thread, see hazscan.c */
	struct lull__bag *next; /* all bags, never changes once linked */
	uint32_t state;
};

/* What the background thread sleeps on; a deferral wakes it when what it brings needs it. */
enum {
	AWAKE,
	NAPPING,   /* a moment, so that a flood of callbacks comes in batches; barriers wake it */
	LINGERING, /* until a timer; callbacks wake it */
	ASLEEP,	   /* anything wakes it */
};

enum { NO_THREAD, HAS_THREAD, CANNOT_HAVE_ONE };

struct lull__rc {
	/*
	 * What every deferral reads; written when the background thread goes to sleep or gets up,
	 * and rarely.
	 */
	struct lull__bag *bags __attribute__((aligned(LULL__CACHELINE)));
	uint32_t sleep;
	uint32_t mode;
	uint32_t thread; /* NO_THREAD ... */
	uint32_t stop;	 /* the process ends */
	pthread_t id;
	struct lull_reclaim_config config;

	/* What some deferrals write. */
	size_t items __attribute__((aligned(LULL__CACHELINE))); /* to within LOOK_EVERY per queue */
	size_t bytes, peak_items, peak_bytes;
	uint32_t told;		 /* over the hard limit, and said so */
	uint64_t from_callbacks; /* deferrals that callbacks made */

	/* What passes and barriers write. */
	uint64_t passes __attribute__((aligned(LULL__CACHELINE)));
	uint64_t wakeups;
	uint64_t flush_wanted, flush_done; /* tickets of barriers */
	uint32_t flush_event;
	uint32_t futile;	 /* passes in a row that took something and reclaimed nothing */
	uint32_t mark_old;	 /* a barrier waits for what passes leave */
	uint64_t old;		 /* entries that it waits for */
	struct lull__lock barrier_lock; /* one barrier at a time marks and waits */
	struct lull_rcu_head *overflow; /* callbacks for which there was no memory: a stack */
	struct lull__lock overflow_lock; /* one pass at a time takes it all, and runs it */
	struct lull__lock config_lock;
};

extern struct lull__rc lull__rc;

/* What a pass takes. */
enum lull__pass {
	PASS_CALLS, /* what nobody but the background thread reclaims */
	PASS_LEFT,  /* ... and what its owner seems to have left behind */
	PASS_ALL,   /* everything, for a barrier */
};

/* REC-6: the link before the bag. */
#define lull__for_each_bag(bag)                                                                          \
	for ((bag) = lull_load_acquire(&lull__rc.bags); (bag); (bag) = (bag)->next)

/* ---- defer.c -------------------------------------------------------------------------------- */

struct lull__bag *lull__own_bag(void);
bool lull__over_soft(void);
void lull__note_peak(size_t items, size_t bytes);
void lull__note_done(size_t items, size_t bytes);
void lull__note_exactly(void);

/* Does the thread that defers also reclaim? */
static inline bool lull__is_left_to_owner(const struct lull__queue *q)
{
	return !lull__kind_is_call(q->kind) || lull_load_relaxed(&q->owner_helps);
}

/* ---- reclaim.c ------------------------------------------------------------------------------ */

size_t lull__pass(enum lull__pass what);
void lull__wake_reclaimer(void);
void lull__notify_from_reader(void);

/*
 * ORDER REC-2: the entry before the look at the sleeper; pairs with REC-2 in go_to_sleep() (sleep,
 * heavy, look at the queues again); without it the entry waits for the next one;
 * model/reclaim/sleep.tpl
 */
static inline void lull__notify(uint32_t sleeps_too_deep)
{
	lull_fence_light();
	if (lull_unlikely(lull_load_relaxed(&lull__rc.sleep) >= sleeps_too_deep))
		lull__wake_reclaimer();
}

#endif /* LULL_DEFER_H */
