/* SPDX-License-Identifier: MIT */
/*
 * poll.c - reclaim a little in the program's own loop: lull_reclaim_poll().
 */
#include "../base/callback.h"
#include "../base/deadline.h"
#include "../base/message.h"
#include "../base/registry.h"
#include "backlog.h"
#include "overflow.h"
#include "partition.h"
#include "pass.h"
#include "worker.h"

#define POLL_STEP 64u /* read the clock after so many entries */

/* Reclaim what is ready in one queue, in small steps until @deadline_ns. Returns how many. */
static size_t run_in_steps(struct lull__queue *q, size_t most, uint64_t deadline_ns)
{
	size_t count = 0, bytes = 0, got;

	do {
		size_t step = most - count < POLL_STEP ? most - count : POLL_STEP;

		got = lull__queue_run(q, step, &bytes);
		count += got;
	} while (got == POLL_STEP && !lull__is_past(deadline_ns));
	lull__backlog_sub(q, count, bytes);
	return count;
}

void lull__queue_poll(struct lull__queue *q)
{
	uint64_t put = lull__queue_put(q);

	lull__advance(q);
	if (q->ready == q->wait && q->wait < put && (!lull__queue_is_parked(q) || q->rechecking)) {
		lull__queue_ask(q, put);
		lull__advance(q);
	}
}

static size_t run_polled(struct lull__queue *taken, bool calls, size_t most, uint64_t deadline_ns)
{
	struct lull__queue *before = lull__hold(taken);
	size_t count = 0;

	for (struct lull__queue *q = taken; q && count < most; q = q->next_taken) {
		if (lull__kind_is_call(q->kind) == calls)
			count += run_in_steps(q, most - count, deadline_ns);
		if (count && lull__is_past(deadline_ns)) /* one step at least, however short the time */
			break;
	}
	lull__unhold(taken, before);
	return count;
}

/* Does @q have entries that slots name, and for which PARKED is not set? */
static bool is_unparked(struct lull__queue *q)
{
	return lull_load_relaxed(&q->named) && !lull__queue_is_parked(q);
}

static void park_polled(struct lull__queue *taken)
{
	bool any = false;

	for (struct lull__queue *q = taken; q; q = q->next_taken)
		any |= is_unparked(q);
	if (any)
		lull__park_named(taken);
}

bool lull__anything_unparked(bool taken)
{
	struct lull__listing *at;
	struct lull__queue *q;
	bool any = false;
	uint64_t process;

	process = lull__walk_enter();
	lull__for_each_queue(at, q) {
		any = is_unparked(q) && (taken || !lull_load_relaxed(&q->lock.word));
		if (any)
			break;
	}
	lull__walk_leave(process);
	return any;
}

/*
 * Re-arm the program's notification. If another poll has done so, it could not have the queues that this thread had, and
 * has left them to this one (REC-2: given back, light, a look whether they are parked).
 */
static void end_of_poll(void)
{
	uint32_t awake = AWAKE;
	size_t before, items, bytes;

	if (lull_load_relaxed(&lull__reclaimer.mode) != LULL_RECLAIM_POLL)
		return;
	lull__backlog(&before, &bytes);
	if (lull_cas_relaxed(&lull__reclaimer.sleep, &awake, (uint32_t)ASLEEP)) {
		lull__queues_heed();
		lull_fence_heavy(); /* REC-2, as in go_to_sleep() */
	}
	lull__backlog(&items, &bytes);
	if (items > before || lull__anything_unparked(false))
		lull__wake_reclaimer();
}

size_t lull_reclaim_poll(size_t max_items, uint64_t max_ns)
{
	uint64_t now_ns = max_ns ? lull__now_ns() : 0;
	uint64_t deadline_ns = max_ns && max_ns < LULL__NEVER - now_ns ? now_ns + max_ns : LULL__NEVER;
	struct lull__queue *taken;
	size_t count;

	if (lull__self.callback_depth)
		lull__die("lull_reclaim_poll in %s", lull__where_called_back());
	lull__ensure_known();
	taken = lull__take_due(PASS_ALL, LULL__TAKE_ALL, false);
	for (struct lull__queue *q = taken; q; q = q->next_taken)
		lull__queue_poll(q);
	park_polled(taken);
	count = run_polled(taken, false, max_items, deadline_ns);
	taken = lull__give_back_frees(taken);
	count += run_polled(taken, true, max_items - count, deadline_ns);
	lull__give_back(taken);
	lull__own_table_done();
	lull__sweep();
	count += lull__overflow_poll(max_items - count);
	lull__backlog_publish();
	end_of_poll();
	lull__notify_relisted();
	return count;
}
