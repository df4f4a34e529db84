/* SPDX-License-Identifier: MIT */
/*
 * queue.h - one thread's deferrals in order: one producer, one consumer at a time, no locked instruction.
 *
 * Entries are numbered from 0 for ever, and five numbers divide them:
 *
 *	done <= get <= ready <= wait <= put
 *
 *	[0, done)	reclaimed
 *	[get, ready)	a grace period has passed: may be reclaimed
 *	[ready, wait)	wait for the grace period of `cookie`
 *	[wait, put)	no grace period asked for yet
 *
 * Objects that hazard pointers may protect wait for a scan of all slots instead, or after the grace
 * period. The entries that a slot names then, `named` of them, are moved to the end and stay:
 * [wait, wait + named).
 *
 * The producer is the thread that owns the queue. The consumer is most often that thread too, entry
 * by entry, and now and then another thread, which takes over the entries that the owner abandoned.
 * So the right to consume is biased: the owner takes it with a store and a light fence; another
 * thread takes the lock, sets `revoked`, makes a heavy fence, and waits until the owner no longer
 * consumes (Dekker's handshake, as between a reader and a grace period).
 */
#ifndef LULL_QUEUE_H
#define LULL_QUEUE_H

#include <stdlib.h>

#include <lull/rcu.h>

#include "../base/hooks.h"
#include "../base/lock.h"
#include "../base/wait.h"
#include "../rcu/grace_period.h"

#define LULL__CHUNK_ITEMS 256u /* a power of two; with the link a little over a page */

struct lull__entry {
	void *item;   /* NULL: nothing */
	size_t bytes; /* how many wait with it, and LULL__ENTRY_* */
};

#define LULL__ENTRY_NAMED  (SIZE_MAX / 2 + 1) /* a slot names it */
#define LULL__ENTRY_AWAITED	   (SIZE_MAX / 4 + 1) /* a barrier waits for it */
#define LULL__ENTRY_DRAINED	   (SIZE_MAX / 8 + 1) /* counted in `descendants` */
#define LULL__ENTRY_FLAGS  (LULL__ENTRY_NAMED | LULL__ENTRY_AWAITED | LULL__ENTRY_DRAINED)

/*
 * A chunk knows the number of its first entry, so that a child forked between any two instructions of the
 * producer or the consumer finds its place: the number that is stored last (put, get) decides.
 */
struct lull__chunk {
	struct lull__chunk *next;
	uint64_t first;
	struct lull__entry entry[LULL__CHUNK_ITEMS];
};

/* Kinds of queues, by what their entries wait for and what they are: pointers for free(3), or struct lull_head. */
enum lull__queue_kind {
	LULL__FREES, /* after a grace period */
	LULL__CALLS,
	LULL__HAZPTR_FREES, /* when no slot names it */
	LULL__HAZPTR_CALLS,
	LULL__BRIDGE_FREES, /* after a grace period, and then when no slot names it */
	LULL__BRIDGE_CALLS,
	LULL__PURE_CALLS, /* after a grace period; the owner runs them outside sections, as it frees memory */
	LULL__HAZPTR_PURE_CALLS, /* the same when no slot names it */
	LULL__KINDS,
};

static inline bool lull__kind_is_call(uint32_t kind)
{
	return kind & 1 || kind == LULL__PURE_CALLS;
}

static inline bool lull__kind_is_pure(uint32_t kind)
{
	return kind >= LULL__PURE_CALLS;
}

static inline bool lull__kind_has_gp(uint32_t kind)
{
	return kind < LULL__HAZPTR_FREES || (kind >= LULL__BRIDGE_FREES && kind != LULL__HAZPTR_PURE_CALLS);
}

static inline bool lull__kind_has_slots(uint32_t kind)
{
	return kind >= LULL__HAZPTR_FREES && kind != LULL__PURE_CALLS;
}

/* Are the entries that slots name parked? If so, nothing needs to be done about them until... */
enum {
	LULL__NOT_PARKED,
	LULL__PARKED,	      /* ... one of these slots is set */
	LULL__PARKED_RECHECK, /* ... or some time has passed: see parked_how() */
};

/*
 * A place in the list of queues in which something waits (bag.h). A queue has two, since a walker may still stand on the
 * last one when the queue comes in again.
 */
struct lull__listing {
	struct lull__listing *next;
	struct lull__queue *queue;
	uint32_t state; /* LISTING_...; all but OUT -> IN under the lock of sweeps */
};

enum {
	LULL__LISTING_OUT,  /* no walker can be there */
	LULL__LISTING_IN,
	LULL__LISTING_LEFT, /* taken out; a walker that began before may still be there */
};

struct lull__queue {
	/* The producer's: other threads write only heed and owner_helps, and rarely. */
	uint64_t put, put_bytes;
	uint64_t append_until; /* while `put` is below this, a deferral is an append and no more */
	struct lull__chunk *tail;
	uint64_t turn_at;      /* the owner takes its next turn of reclaiming when `put` is there */
	uint64_t in_backlog;   /* how many of these are in the backlog of the process, ... */
	uint64_t looked_bytes; /* put_bytes when the owner last looked at the limits */
	uint64_t in_backlog_bytes; /* ... and how many bytes */
	uint64_t share;		   /* so many the owner reclaims in a turn */
	uint64_t in_stats, in_stats_bytes; /* how many of these are on the page of stats.h */
	uint32_t kind;
	uint32_t busy;	      /* the owner is consuming */
	uint32_t owner_helps; /* calls: the owner runs them, because it defers more than others can run */
	uint32_t has_light;   /* LULL__HAZPTR_*: not all entries are protected with full fences */
	uint32_t heed;	      /* others have written this: after a deferral look whether the queue is listed, and who sleeps */
	/* The consumer's. */
	uint32_t revoked __attribute__((aligned(64))); /* the owner may not consume */
	uint32_t listed; /* it is in the list, or about to be */
	struct lull__lock lock; /* held by a consumer other than the owner */
	struct lull__bag *bag;
	struct lull__listing listing[2];
	struct lull__queue *next_left; /* see bag.h */
	uint64_t folded, folded_bytes; /* so many of its entries are in the reclaimer's totals; under the lock of sweeps */
	uint64_t lent, lent_bytes; /* added to the backlog for its owner, who has not done so when it left the list; see list.c */
	uint64_t kept, kept_bytes; /* entries that slots named at the last scan, as the reclaimer has counted them */
	uint64_t get, ready, wait;
	lull_rcu_cookie cookie;
	struct lull__chunk *head;
	uint64_t done, done_bytes;
	struct lull__chunk *spare; /* a used chunk on its way back to the producer */
	uint64_t last_done;	   /* `done` when the background thread last checked for abandoned entries */
	uint64_t named;		   /* entries from `wait` on that a slot named at the last scan */
	uint64_t awaited;	   /* entries with LULL__ENTRY_AWAITED */
	uint32_t running_awaited;	   /* awaited entries that are taken out and not in `done` yet */
	uint32_t parked;	   /* LULL__PARKED... */
	uint32_t rechecking;	   /* taken because of LULL__PARKED_RECHECK */
	uint32_t seen_unpark;	   /* unpark_event before PARKED was set in the slots */
	struct lull__queue *next_taken; /* on the list of the thread that has taken it */
	const struct lull__thread *holder; /* which runs callbacks with this queue in hand, ... */
	struct lull__queue *next_held;	   /* ... and with this one */
	void *running;		   /* the function of the callback that is running */
	uint32_t runner_tid;	   /* ... and on which thread */
	uint64_t watched_get;	   /* the watchdog's: `get` at its last check, ... */
	uint64_t watched_ns;	   /* ... and since when; 0: nothing was running */
	uint32_t watched;	   /* it waits for a callback: the queue stays in the list until it has seen the end */
	struct lull__wait callback_wait;
};

/* ---- producer ------------------------------------------------------------------------------- */

bool lull__queue_add_chunk(struct lull__queue *q);

/* Is there no place for another entry in the chunk at the end of @q? */
static inline bool lull__queue_needs_chunk(const struct lull__queue *q)
{
	return q->put % LULL__CHUNK_ITEMS == 0;
}

/* Append @item, with which @bytes wait, to @q, whose last chunk has a place for it. @flag: 0, or LULL__ENTRY_DRAINED. */
static inline void lull__queue_append(struct lull__queue *q, void *item, size_t bytes, size_t flag)
{
	struct lull__entry *entry = &q->tail->entry[q->put % LULL__CHUNK_ITEMS];

	bytes &= ~LULL__ENTRY_FLAGS;
	entry->item = item;
	entry->bytes = bytes | flag;
	lull_own_add_relaxed(&q->put_bytes, bytes);
	/*
	 * ORDER REC-1: the entry, and the unlinking before it, before the count; pairs with REC-1
	 * in lull__queue_put(); without it the consumer reads an entry that is not there;
	 * model/reclaim/queue.litmus
	 */
	lull_own_add_release(&q->put, 1);
}

/*
 * Let deferrals to @q be appends until the next turn is due, which is still to come. After a look at the limits it is
 * not called before another entry has come. So between `put` and `append_until` all places are in the last chunk, which
 * ends where the owner looks at the limits; and light fences are no instruction. Call it after a fence, so that a child
 * forked in between sees either the chunk or the old limit.
 */
static inline void lull__queue_may_append(struct lull__queue *q)
{
	q->append_until = lull__fence_full_mode ? 0 : q->turn_at - 1;
}

/* Append as lull__queue_append() does. Returns false when there is no memory for another chunk. */
static inline bool lull__queue_push(struct lull__queue *q, void *item, size_t bytes, size_t flag)
{
	if (lull_unlikely(lull__queue_needs_chunk(q)) && !lull__queue_add_chunk(q))
		return false;
	lull__queue_append(q, item, bytes, flag);
	return true;
}

/* Free the chunks of @q, which is empty and which no thread uses. */
void lull__queue_free_chunks(struct lull__queue *q);

/* ---- the right to consume ------------------------------------------------------------------- */

/* Wake the thread that waits until the owner of @q no longer consumes. */
void lull__queue_wake_consumer(struct lull__queue *q);

static inline void lull__queue_owner_leave(struct lull__queue *q)
{
	/*
	 * ORDER REC-9: what the owner consumed before `busy` is 0; pairs with REC-9 in
	 * lull__queue_await_owner(); without it an entry is reclaimed twice;
	 * model/reclaim/queue-bias.litmus
	 */
	lull_store_release(&q->busy, 0u);
	/*
	 * ORDER REC-10: `busy` before the load of `revoked`; pairs with REC-8 in
	 * lull__queue_revoke(); without it a thread that waits for the owner is never woken;
	 * model/reclaim/queue-bias.tpl
	 */
	lull_fence_light();
	if (lull_unlikely(lull_load_relaxed(&q->revoked)))
		lull__queue_wake_consumer(q);
}

/* Take the right to consume @q as its owner. Returns false when another thread has it. */
static inline bool lull__queue_owner_enter(struct lull__queue *q)
{
	lull_store_relaxed(&q->busy, 1u);
	/*
	 * ORDER REC-8: `busy` before the load of `revoked`; pairs with REC-8 in
	 * lull__queue_revoke(); without it two threads consume at once; model/reclaim/queue-bias.tpl
	 */
	lull_fence_light();
	/*
	 * ORDER REC-9: `revoked` before the queue; pairs with REC-9 in lull__queue_release();
	 * without it the owner does not see what another thread consumed; model/reclaim/queue-bias.litmus
	 */
	if (lull_likely(!lull_load_acquire(&q->revoked)))
		return true;
	lull__queue_owner_leave(q);
	return false;
}

/*
 * To consume a queue that another thread owns: take the lock, revoke, lull_fence_heavy() (one for any
 * number of queues), await the owner; at the end release. The owner itself needs only the lock.
 */
void lull__queue_revoke(struct lull__queue *q);
bool lull__queue_await_owner(struct lull__queue *q, uint64_t deadline_ns); /* false: it is past */
void lull__queue_release(struct lull__queue *q);

/* ---- consumer ------------------------------------------------------------------------------- */

static inline uint64_t lull__queue_put(struct lull__queue *q)
{
	/*
	 * ORDER REC-1: the count before the entries; pairs with REC-1 in lull__queue_append();
	 * without it as there; model/reclaim/queue.litmus
	 */
	return lull_load_acquire(&q->put);
}

/* Is everything in @q done? Any thread. */
static inline bool lull__queue_is_empty(struct lull__queue *q)
{
	/*
	 * ORDER REC-4: `done` before what the caller does about it; pairs with REC-4 in
	 * lull__queue_set_done(); without it a barrier returns before it sees what a callback did;
	 * model/reclaim/queue-done.litmus
	 */
	uint64_t done = lull_load_acquire(&q->done);

	return lull__queue_put(q) == done;
}

/* Count the entries of @q for which no grace period or scan of the slots has been asked for. */
static inline uint64_t lull__queue_new(const struct lull__queue *q)
{
	return q->put - q->wait - q->named;
}

/* Ask for a grace period, or a scan of the slots, for all entries before @put. */
static inline void lull__queue_ask(struct lull__queue *q, uint64_t put)
{
	q->wait = put;
	lull_store_relaxed(&q->named, (uint64_t)0);
	if (lull__kind_has_gp(q->kind))
		q->cookie = lull__rcu_cookie();
}

/* Make [q->ready, @ready) ready: these entries wait for nothing any more. */
static inline void lull__queue_make_ready(struct lull__queue *q, uint64_t ready)
{
	LULL__CHECK(ready, q, ready);
	q->ready = ready;
}

/* Entries of all queues that a barrier waits for. */
extern uint64_t lull__queue_awaited;
/*
 * Entries with LULL__ENTRY_DRAINED: callbacks that callbacks deferred for which a drain waits; so it waits for these, too.
 * While one runs, what it defers in its turn gets the flag. Memory needs none: nothing comes of that.
 */
extern uint64_t lull__descendants;
extern __thread bool lull__in_drained __attribute__((tls_model("initial-exec")));

/* So many of those that @count counts are done; the last one wakes who waits for them. */
void lull__awaited_done(uint64_t *count, uint64_t done);

/* Count the callback that the calling thread has just run as done, if it was a descendant. */
static inline void lull__end_drained(void)
{
	if (lull_likely(!lull__in_drained))
		return;
	lull__in_drained = false;
	if (lull_load_relaxed(&lull__descendants)) /* a handler may have forked amid the deferral: a child counts anew */
		lull__awaited_done(&lull__descendants, 1);
}

/* Count the awaited entries that were taken out of @q as done, for a barrier. The consumer of @q. */
void lull__queue_awaited_done(struct lull__queue *q);

/* Does the thread that defers to @q also reclaim? */
static inline bool lull__queue_owner_reclaims(const struct lull__queue *q)
{
	return !lull__kind_is_call(q->kind) || lull_load_relaxed(&q->owner_helps);
}

/*
 * Repair @q in a forked child: entries that were being reclaimed count as done and are not reclaimed again.
 * @is_running: a callback of this queue has forked, and it goes on in the child.
 */
void lull__queue_fork_child(struct lull__queue *q, bool is_running);

/* Everything before @done is done, with which @bytes more have gone. */
static inline void lull__queue_set_done(struct lull__queue *q, uint64_t done, size_t bytes)
{
	lull_own_add_relaxed(&q->done_bytes, bytes);
	/*
	 * ORDER REC-4: what callbacks did before `done`; pairs with REC-4 in
	 * lull__queue_is_empty(); without it as there; model/reclaim/queue-done.litmus
	 */
	lull_store_release(&q->done, done);
}

/*
 * Queues that the calling thread has in hand while it runs callbacks, by next_held. A callback may have to run some of
 * their entries out of turn: see cohort/inside.h. hold() adds the list @taken, and returns what unhold() takes.
 */
extern __thread struct lull__queue *lull__in_hand __attribute__((tls_model("initial-exec")));
struct lull__queue *lull__hold(struct lull__queue *taken);
void lull__unhold(struct lull__queue *taken, struct lull__queue *before);

/* Reclaim up to @most of what is ready. Returns how many; their bytes are added to *bytes. */
size_t lull__queue_run(struct lull__queue *q, size_t most, size_t *bytes);

/*
 * lull__queue_run() for a queue of frees, inline for the few entries of a turn: they mostly lie in one chunk, and no
 * barrier waits for one of them in particular.
 */
static inline size_t lull__queue_free(struct lull__queue *q, size_t most, size_t *bytes)
{
	uint64_t get = q->get, count = q->ready - get < most ? q->ready - get : most;
	struct lull__chunk *chunk = q->head;
	struct lull__entry *entry = &chunk->entry[get % LULL__CHUNK_ITEMS], *end = entry + count;
	size_t these = 0, of_all = 0;

	if (lull_unlikely(q->awaited || get + count > chunk->first + LULL__CHUNK_ITEMS)) {
		count = lull__queue_run(q, most, &of_all);
		*bytes = of_all; /* not stored there: then the caller need not keep it in memory */
		return (size_t)count;
	}
	lull__self.callback_depth = 1; /* was 0: a callback's deferrals take no turn */
	for (; entry != end; entry++) {
		lull_own_add_relaxed(&q->get, 1);
		lull_compiler_barrier(); /* as in take_entry() */
		these += entry->bytes;
		LULL__CHECK(reclaimed, entry->item);
		free(entry->item);
	}
	lull__self.callback_depth = 0;
	lull__queue_set_done(q, q->get, these);
	*bytes = these;
	return (size_t)count;
}

#endif /* LULL_QUEUE_H */
