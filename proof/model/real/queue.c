/* SPDX-License-Identifier: MIT */
/*
 * ORDER HAZ-1
 * queue.c - a queue of deferred objects: the code of src/reclaim/ as it is. Its owner defers, asks, marks what
 * slots name, moves that to the end, and reclaims the rest; a child repairs it after a fork. One step of these from
 * any state that is in order, with what retired.h says.
 * Where: lull__queue_append(), lull__queue_push(), lull__queue_add_chunk(), next_chunk(), take_entry(), take_item(), run_frees(),
 * run_calls(), lull__queue_run(), lull__queue_free(), lull__queue_fork_child(), lull__queue_awaited_done(),
 * lull__queue_ask(), lull__queue_make_ready(), lull__queue_set_done(), lull__advance(), scan_queue(), lull__partition(),
 * mark_named(), move_to_end(), exchange() in partition.c, next_entry(), lull__mark_awaited(), look_and_reclaim(),
 * lull__advance_own_queue(), reclaim_own()
 *
 * Never: an object is reclaimed before it may be, or twice; one is lost; two are reclaimed in another order, but that
 * a scan of the slots has moved one; the five numbers, the bytes, or the entries that a barrier waits for are wrong.
 * Smaller than it is, so that it comes to an end:
 * With src/reclaim/queue.h: "LULL__CHUNK_ITEMS 256u" -> "LULL__CHUNK_ITEMS 2u"
 * Tool: cc
 */
#include "every.h"
#include "retired.h"
#include "reclaim/queue.c"
#include "reclaim/partition.c"
#include "reclaim/pass.c"
#include "reclaim/defer.c"
#include "reclaim/limits.c"
#include "retired.h"

uint64_t lull__scan_threshold(void)
{
	return choose(3);
}

/* The owner takes its share of what is ready, and makes more ready first if there are many. */
static void reclaim_share(void)
{
	uint64_t done = queue->done, ready = queue->ready, asked = queue->wait;
	bool look = chance();

	look_and_reclaim(queue, look, chance(), chance());
	assert(queue->in_backlog == queue->done - done && queue->in_backlog_bytes == queue->done_bytes - 1000);
	assert(look || (queue->ready == ready && queue->wait == asked));
	assert(!queue->busy && !lull__self.callback_depth);
}

/* As many as may be, up to @most. */
static void run_some(bool inlined)
{
	size_t most = choose(5), bytes = inlined ? 0 : 7, given = bytes, ready = queue->ready - queue->get, count;
	uint64_t done = queue->done;

	count = inlined ? lull__queue_free(queue, most, &bytes) : lull__queue_run(queue, most, &bytes);
	assert(count == (ready < most ? ready : most) && queue->done == done + count);
	assert(bytes == given + queue->done_bytes - 1000 && !lull__self.callback_depth);
}

/* In a child that is forked while nothing is being reclaimed. */
static void be_child(void)
{
	lull__queue_awaited = awaited_elsewhere;
	lull__queue_fork_child(queue, chance());
	assert(!queue->named && !queue->parked && !queue->awaited);
	assert(queue->get == first_get);
}

static void mark_for_barrier(void)
{
	uint64_t more = lull__mark_awaited(queue);

	queue->awaited += more;
	lull__queue_awaited += more;
}

static void run(void)
{
	any_queue(4);
	entries_most++;
	switch (choose(6)) {
	case 0:
		defer_one();
		break;
	case 1:
		if (queue->head) /* there is one after a deferral */
			reclaim_share();
		break;
	case 2:
		run_some(false);
		break;
	case 3:
		if (queue->head && !lull__kind_is_call(queue->kind))
			run_some(true);
		break;
	case 4:
		if (lull__kind_has_slots(queue->kind))
			mark_for_barrier();
		break;
	case 5:
		be_child();
		break;
	}
	check_order();
}
