/* SPDX-License-Identifier: MIT */
/*
 * queue.c - the parts of queue.h that are rare or long.
 */
#include <limits.h>

#include "../base/callback.h"
#include "../base/deadline.h"
#include "../base/events.h"
#include "../base/fault.h"
#include "../hazptr/slots.h"
#include "queue.h"

uint64_t lull__queue_awaited;
uint64_t lull__descendants;
__thread struct lull__queue *lull__in_hand;
__thread bool lull__in_drained;

bool lull__queue_add_chunk(struct lull__queue *q)
{
	struct lull__chunk *chunk;

	if (q->tail && q->tail->first == q->put)
		return true; /* forked right here */
	/*
	 * ORDER REC-3: the consumer's last load from the chunk before its reuse; pairs with REC-3 in
	 * next_chunk(); without it an entry is overwritten while it is read;
	 * model/reclaim/chunk-reuse.litmus
	 */
	chunk = lull_xchg_acquire(&q->spare, (struct lull__chunk *)NULL);
	if (!chunk)
		chunk = (struct lull__chunk *)malloc(sizeof(*chunk));
	if (!chunk)
		return false;
	chunk->next = NULL;
	chunk->first = q->put;
	/*
	 * Releases for a child that is forked in the middle; the consumer reads these only after the
	 * put (REC-1).
	 */
	if (q->tail)
		lull_store_release(&q->tail->next, chunk);
	else
		q->head = chunk;
	lull_store_release(&q->tail, chunk);
	return true;
}

__attribute__((noinline)) static void next_chunk(struct lull__queue *q)
{
	struct lull__chunk *used = q->head;

	q->head = used->next;
	/* ORDER REC-3: the last load from the chunk before it is given back; pairs with REC-3 in
	 * lull__queue_add_chunk(); without it as there; model/reclaim/chunk-reuse.litmus */
	used = lull_xchg_release(&q->spare, used);
	free(used);
}

void lull__queue_free_chunks(struct lull__queue *q)
{
	struct lull__chunk *chunk = q->head;

	while (chunk) {
		struct lull__chunk *next = chunk->next;

		free(chunk);
		chunk = next;
	}
	free(q->spare);
}

/*
 * Take an entry. It counts as taken before it is reclaimed: a child that is forked in the middle must not
 * reclaim it again, as its callback may be half done.
 */
__attribute__((always_inline)) static inline struct lull__entry take_entry(struct lull__queue *q)
{
	uint64_t get = q->get;

	if (lull_unlikely(get >= q->head->first + LULL__CHUNK_ITEMS))
		next_chunk(q);
	lull_store_relaxed(&q->get, get + 1);
	lull_compiler_barrier(); /* to the compiler free(3) does not read `get`; a child forked there does */
	return q->head->entry[get % LULL__CHUNK_ITEMS];
}

void lull__awaited_done(uint64_t *count, uint64_t done)
{
	/*
	 * ORDER REC-11: what callbacks did before the count of entries that a barrier waits for;
	 * pairs with REC-11 in awaited_is_done(); without it the barrier returns before it sees what
	 * they did; model/reclaim/barrier-awaited.litmus
	 */
	if (done && lull_add_release(count, -done) == done)
		lull__hazptr_wake();
}

void lull__queue_awaited_done(struct lull__queue *q)
{
	uint64_t done = q->running_awaited;

	q->running_awaited = 0;
	if (q->awaited < done)
		return; /* one of the callbacks has forked: in the child the parent's barriers do not exist */
	q->awaited -= done;
	lull__awaited_done(&lull__queue_awaited, done);
}

/* Take an entry, and note its bytes in *bytes and whether a barrier waits for it. Return its item. */
__attribute__((always_inline)) static inline void *take_item(struct lull__queue *q, size_t *bytes)
{
	struct lull__entry entry = take_entry(q);

	LULL__CHECK(reclaimed, entry.item);
	*bytes += entry.bytes & ~LULL__ENTRY_FLAGS;
	if (lull_unlikely(entry.bytes & (LULL__ENTRY_AWAITED | LULL__ENTRY_DRAINED))) {
		if (entry.bytes & LULL__ENTRY_AWAITED) {
			LULL__CHECK(awaited, entry.item, false);
			q->running_awaited++;
		}
		lull__in_drained = (entry.bytes & LULL__ENTRY_DRAINED) != 0;
	}
	return entry.item;
}

/* Free @count entries. Return their bytes. */
static size_t run_frees(struct lull__queue *q, uint64_t count)
{
	size_t bytes = 0;

	for (; count; count--)
		free(take_item(q, &bytes));
	return bytes;
}

/* Run the callbacks of @count entries. Return the bytes that waited with them. */
static size_t run_calls(struct lull__queue *q, uint64_t count)
{
	size_t bytes = 0;

	lull_store_relaxed(&q->runner_tid, lull__self.tid);
	lull__event_batch_start(q->kind, count);
	for (uint64_t i = 0; i < count && q->get < q->ready; i++) { /* a child may have run some out of turn */
		struct lull_head *head = (struct lull_head *)take_item(q, &bytes);

		if (head) {
			lull_store_relaxed(&q->running, (void *)(uintptr_t)head->func);
			LULL__CALLBACK("a deferred callback", lull__busted_run(head));
		}
		lull__end_drained();
	}
	lull_store_relaxed(&q->running, (void *)NULL);
	lull__tsan_release(LULL__TSAN_DEFERRED); /* for barriers */
	lull__event_batch_end(q->kind, count, bytes);
	return bytes;
}

struct lull__queue *lull__hold(struct lull__queue *taken)
{
	struct lull__queue *before = lull__in_hand;

	for (struct lull__queue *q = taken; q; q = q->next_taken) {
		lull_store_relaxed(&q->holder, &lull__self);
		q->next_held = q->next_taken ? q->next_taken : before;
	}
	if (taken)
		lull__in_hand = taken;
	return before;
}

void lull__unhold(struct lull__queue *taken, struct lull__queue *before)
{
	if (!taken || lull__in_hand != taken) /* the last: a callback has forked, and this is the child */
		return;
	for (struct lull__queue *q = taken; q; q = q->next_taken)
		lull_store_relaxed(&q->holder, NULL);
	lull__in_hand = before;
}

/*
 * Run callbacks of @q, which is among those that the thread holds, or which it consumes as its owner: then next_taken may
 * be another thread's, which has taken it and waits for its owner.
 */
static size_t run_held(struct lull__queue *q, uint64_t count)
{
	size_t bytes;

	if (lull_load_relaxed(&q->holder) == &lull__self)
		return run_calls(q, count);
	q->next_held = lull__in_hand;
	lull_store_relaxed(&q->holder, &lull__self);
	lull__in_hand = q;
	bytes = run_calls(q, count);
	if (lull__in_hand == q) { /* else a callback has forked, and this is the child */
		lull_store_relaxed(&q->holder, NULL);
		lull__in_hand = q->next_held;
	}
	return bytes;
}

size_t lull__queue_run(struct lull__queue *q, size_t most, size_t *bytes)
{
	uint64_t ready = q->ready - q->get, count = ready < most ? ready : most;
	size_t these;

	if (!count)
		return 0;
	lull__tsan_batch();
	lull__self.callback_depth++;
	these = lull__kind_is_call(q->kind) ? run_held(q, count) : run_frees(q, count);
	lull__self.callback_depth--;
	lull__queue_set_done(q, q->get, these);
	if (lull_unlikely(q->running_awaited))
		lull__queue_awaited_done(q);
	*bytes += these;
	return (size_t)count;
}

void lull__queue_wake_consumer(struct lull__queue *q)
{
	lull__futex_wake(&q->busy, 1);
}

void lull__queue_revoke(struct lull__queue *q)
{
	lull_store_relaxed(&q->revoked, 1u);
	/* REC-8: the caller's lull_fence_heavy() comes next. */
}

bool lull__queue_await_owner(struct lull__queue *q, uint64_t deadline_ns)
{
	/*
	 * ORDER REC-9: `busy` before the queue; pairs with REC-9 in lull__queue_owner_leave();
	 * without it as there; model/reclaim/queue-bias.litmus
	 */
	while (lull_load_acquire(&q->busy)) {
		if (lull__is_past(deadline_ns))
			return false;
		lull__futex_wait(&q->busy, 1, deadline_ns);
	}
	return true;
}

void lull__queue_release(struct lull__queue *q)
{
	/* ORDER REC-9: what was consumed before `revoked` is taken back; pairs with REC-9 in
	 * lull__queue_owner_enter(); without it as there; model/reclaim/queue-bias.litmus */
	lull_store_release(&q->revoked, 0u);
	/*
	 * Wake all: an owner that awaits this thread does not take the lock, and must not use up the only
	 * wake-up.
	 */
	lull__unlock_wake(&q->lock, INT_MAX);
}

void lull__queue_fork_child(struct lull__queue *q, bool is_running)
{
	struct lull__chunk *chunk = q->head;
	uint64_t bytes = 0;

	for (uint64_t at = q->get; at < q->put; at++) {
		struct lull__entry *entry;

		if (at >= chunk->first + LULL__CHUNK_ITEMS)
			chunk = chunk->next;
		entry = &chunk->entry[at % LULL__CHUNK_ITEMS];
		entry->bytes &= ~LULL__ENTRY_FLAGS;
		bytes += entry->bytes;
	}
	q->named = q->kept = q->kept_bytes = q->awaited = q->parked = q->running_awaited = 0;
	if (is_running)
		return;
	q->done = q->get;
	q->done_bytes = q->put_bytes - bytes;
}
