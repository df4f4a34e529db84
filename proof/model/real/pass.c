/* SPDX-License-Identifier: MIT */
/*
 * ORDER BRI-1, HAZ-1, HAZ-10
 * pass.c - a pass over the queues: the code of src/reclaim/ as it is. It takes what is due, asks, makes a fence, waits for a
 * grace period, looks at the slots, reclaims, parks what slots name, and gives back. One pass from any state of one
 * queue that is in order, with what retired.h says; its owner may defer an object at any fence.
 * Where: lull__pass(), pass_until_report(), await_gp(), reclaim_for_slots(), reclaim_taken(), lull__give_back_frees(),
 * mark_taken_awaited(), run_taken(), collect_slots(), make_ready(), fence_for(), ask_for_gp(), ask_for_slots(), split(),
 * lull__give_back(), lull__take_due(), take_in_walk(), await_owners(), take_locked(), lull__is_due(), lull__park_named(), park_locked(), insert_named(),
 * parked_how(), lull__queue_is_parked(), lull__queue_needs_recheck(), lull__partition(), mark_named(), move_to_end(),
 * exchange() in partition.c, next_entry(), lull__mark_awaited(), lull__queue_run()
 *
 * Never: an object is reclaimed before it may be, or twice; one is lost; one that no slot named when the pass looked is
 * still there; a barrier is not told of one that is; the queue counts as parked and no slot that names an object in it
 * has PARKED, so that nobody looks at it again; the five numbers, the bytes or the counts of what was reclaimed are wrong;
 * the queue is not given back.
 * Smaller than it is, so that it comes to an end:
 * With src/reclaim/queue.h: "LULL__CHUNK_ITEMS 256u" -> "LULL__CHUNK_ITEMS 2u"
 * Tool: cc
 */
#include "every.h"
#include "retired.h"
#include "reclaim/queue.c"
#include "reclaim/partition.c"
#include "reclaim/pass.c"
#include "retired.h"

static size_t subtracted, subtracted_bytes;
static bool is_reported;

void lull__backlog_sub(struct lull__queue *q, size_t items, size_t bytes)
{
	assert(q == queue || !items);
	subtracted += items;
	subtracted_bytes += bytes;
}

void lull__backlog_publish(void)
{
}

size_t lull__overflow_run(bool awaited)
{
	(void)awaited;
	return 0;
}

uint64_t lull__overflow_waiting(void)
{
	return 0;
}

uint64_t lull__walk_enter(void)
{
	return 0;
}

void lull__walk_leave(uint64_t process)
{
	(void)process;
}

void lull__sweep(void)
{
}

void lull__lock_slow(struct lull__lock *lock)
{
	(void)lock;
	fail("nobody has it");
}

void lull__lock_await(struct lull__lock *lock, uint64_t deadline_ns)
{
	(void)lock, (void)deadline_ns;
	fail("nobody has it");
}

void lull__lock_wake(struct lull__lock *lock, int how_many)
{
	(void)lock, (void)how_many;
}

void lull__futex_wait(uint32_t *word, uint32_t value, uint64_t until_ns)
{
	(void)word, (void)value, (void)until_ns;
	fail("nobody is consuming");
}

uint64_t lull__now_ns(void)
{
	return 1;
}

void lull__wait_report(struct lull__report *report)
{
	assert((report->named != 0) == is_reported && !queue->lock.word);
}

bool lull__rcu_wait_until(lull_rcu_cookie cookie, uint64_t deadline_ns, struct lull__report *report)
{
	(void)deadline_ns;
	assert(cookie && cookie <= cookies);
	if (report && chance()) {
		report->named = 1;
		is_reported = true;
		return false;
	}
	period_is_over(cookie);
	return true;
}

/* What a pass looks at first. */
static void any_state(void)
{
	queue->owner_helps = lull__kind_is_call(queue->kind) && peculiar == HELPING_OWNER;
	lull__self.bag = peculiar == OWNERS_PASS ? &bag : NULL;
	queue->last_done = peculiar == BUSY_OWNER ? 0 : queue->done;
	lull__reclaimer.mark_awaited = peculiar == BARRIER || peculiar == BARRIER_ODD;
	lull__reclaimer.mode = LULL_RECLAIM_THREAD;
	queue->parked = peculiar == WAS_PARKED && queue->named ? LULL__PARKED : LULL__NOT_PARKED;
	if (lull__queue_is_parked(queue))
		for (uint64_t i = queue->get; i < queue->put; i++)
			slot_of[i] = PARKED;
}

/* If it counts as parked, it is; and if slots with PARKED name all that is in it, and no more has happened, it counts. */
static void check_parked(void)
{
	bool all = queue->named && queue->named == queue->put - queue->get && !lull__hazptr.unpark_event;

	for (unsigned i = 0; i < OBJECTS; i++)
		all &= !is_there(i) || slot_of[i] == PARKED;
	assert(!all || is_reported || lull__queue_is_parked(queue));
	if (!lull__queue_is_parked(queue))
		return;
	for (unsigned i = 0; i < OBJECTS; i++)
		assert(!is_there(i) || slot_of[i] == PARKED);
}

/* It has taken the queue, which then had entries until @asked that it asked for. */
static void check_taken(uint64_t asked, bool awaited)
{
	assert(queue->get == queue->wait);
	for (uint64_t at = queue->wait; at < queue->wait + queue->named; at++) {
		const struct lull__chunk *c = queue->head;

		while (at >= c->first + LULL__CHUNK_ITEMS)
			c = c->next;
		assert(was_named[index_of(c->entry[at % LULL__CHUNK_ITEMS].item)]);
		assert(!awaited || (c->entry[at % LULL__CHUNK_ITEMS].bytes & LULL__ENTRY_AWAITED));
	}
	for (unsigned i = 0; i < asked; i++)
		assert(!is_there(i) || was_named[i]);
	if (asked == queue->put)
		assert(queue->wait + queue->named == queue->put);
}

static void run(void)
{
	enum lull__pass what;
	bool is_due;
	uint64_t asked;
	size_t count;

	any_queue(3);
	any_state();
	what = (enum lull__pass)choose(3);
	is_due = lull__is_due(queue, what);
	asked = what == PASS_ALL || !lull__kind_has_gp(queue->kind) || queue->ready == queue->wait ? queue->put : queue->wait;
	count = lull__pass(what);
	check_order();
	check_parked();
	assert(count == queue->done - first_get && subtracted == count && subtracted_bytes == queue->done_bytes - 1000);
	assert(!queue->revoked && !queue->lock.word && !queue->next_taken && !lull__reclaimer.park_lock.word);
	assert(is_due || !count);
	assert(is_due || what != PASS_ALL || queue->get == queue->put);
	if (is_due && !is_reported)
		check_taken(asked, what == PASS_ALL && lull__reclaimer.mark_awaited);
}
