/* SPDX-License-Identifier: MIT */
/*
 * overflow.c - deferrals for which there is no memory. Callbacks are linked through their heads; memory waits until it
 * can be freed.
 */
#include <stdlib.h>

#include "../base/callback.h"
#include "../base/deadline.h"
#include "../base/fault.h"
#include "../base/message.h"
#include "../base/registry.h"
#include "../hazptr/hazptr_wait.h"
#include "bag.h"
#include "overflow.h"
#include "partition.h"

#define OOM_WAIT_MS 1000u /* memory for which there is no place in a queue waits no longer than this */

static struct {
	struct lull_head *newest; /* a stack, which any thread adds to */
	uint64_t put, done;	  /* entries; an entry that runs is done */
	struct lull__lock lock;	  /* guards all that follows */
	struct lull_head *taken;  /* off that stack: they wait for `cookie` */
	lull_rcu_cookie cookie;
	struct lull_head *kept;	  /* that is over, and slots named them */
	uint64_t kept_count;
	bool awaited; /* a barrier waits until none of these is left */
	const struct lull__thread *runner; /* has the lock, and runs callbacks */
} overflow;

void lull__overflow_push(struct lull_head *head)
{
	head->next = lull_load_relaxed(&overflow.newest);
	/* REC-1: entry before link. */
	while (!lull_cas_release(&overflow.newest, &head->next, head))
		;
	lull_add_relaxed(&overflow.put, (uint64_t)1);
}

uint64_t lull__overflow_put(void)
{
	return lull_load_relaxed(&overflow.put);
}

uint64_t lull__overflow_waiting(void)
{
	uint64_t done = lull_load_relaxed(&overflow.done), put = lull_load_relaxed(&overflow.put);

	return put > done ? put - done : 0; /* one may have run before it is counted */
}

/* Take what is on the stack, if nothing is left of the last time. Returns whether anything is taken. */
static bool take_overflow(void)
{
	struct lull_head *head = lull_load_relaxed(&overflow.newest);

	if (overflow.taken || !head)
		return overflow.taken != NULL;
	/* Keep them in both places for a moment, rather than in none: see lull__overflow_fork_child(). */
	do
		lull_store_relaxed(&overflow.taken, head);
	while (!lull_cas_acquire(&overflow.newest, &head, (struct lull_head *)NULL)); /* REC-1 */
	overflow.cookie = lull__rcu_cookie();
	return true;
}

/* Run @head, which is in no list any more: a child that is forked by it must not run it again. */
static void run_head(struct lull_head *head)
{
	uint64_t process = lull__reclaim_process();
	bool outer = lull__in_drained;

	lull_add_relaxed(&overflow.done, (uint64_t)1);
	LULL__CHECK(reclaimed, head);
	lull__in_drained = lull_load_relaxed(&lull__reclaimer.drains) != 0; /* perhaps of none, but there is no place to note it */
	lull__tsan_batch();
	LULL__CALLBACK("a deferred callback", head->func(head));
	lull__tsan_release(LULL__TSAN_DEFERRED);
	lull__in_drained = outer && process == lull__reclaim_process(); /* else it has forked: a child counts anew */
}

static bool is_unnamed(const struct lull_head *head)
{
	return lull__hazptr_wait(NULL, lull__name_of(LULL__HAZPTR_CALLS, head), 1, lull__now_ns(), false);
}

static void kept_done(void)
{
	if (overflow.kept || !overflow.awaited)
		return;
	overflow.awaited = false;
	lull__awaited_done(&lull__queue_awaited, 1);
}

/*
 * Run at most @most of the list *@first: those that @is_chosen picks (NULL: any) and that no slot names. Each callback may
 * do the same.
 */
static size_t run_list(struct lull_head **first, size_t most, bool (*is_chosen)(const void *item, const void *arg), const void *arg)
{
	struct lull_head **at = first, *head;
	size_t count = 0;

	while (count < most && (head = *at) != NULL) {
		if ((is_chosen && !is_chosen(head, arg)) || !is_unnamed(head)) {
			at = &head->next;
			continue;
		}
		lull_store_relaxed(at, head->next);
		overflow.kept_count -= first == &overflow.kept;
		run_head(head);
		count++;
		at = first;
	}
	return count;
}

/*
 * Run at most @most of those whose grace period is over, and keep what a slot names: to wait for it here would let all
 * others wait, too, and a reader may itself wait for a callback.
 */
static size_t run_over(size_t most)
{
	lull_rcu_cookie cookie = overflow.cookie;
	struct lull_head *head;
	size_t count = 0;

	/* A callback may have taken others: lull__overflow_run_chosen(). */
	while (count < most && (head = overflow.taken) != NULL && overflow.cookie == cookie) {
		bool runs = is_unnamed(head);

		lull_store_relaxed(&overflow.taken, head->next);
		if (runs) {
			run_head(head);
			count++;
			continue;
		}
		head->next = overflow.kept;
		lull_store_relaxed(&overflow.kept, head);
		overflow.kept_count++;
	}
	return count;
}

/* Run at most @most; the lock is held until they have run, so that a barrier's pass that finds none knows that they have. */
static size_t run_overflow(size_t most)
{
	size_t count;

	lull__self.callback_depth++;
	lull_store_relaxed(&overflow.runner, &lull__self);
	count = run_list(&overflow.kept, most, NULL, NULL);
	kept_done();
	if (take_overflow() && lull__rcu_advance(overflow.cookie))
		count += run_over(most - count);
	lull_store_relaxed(&overflow.runner, NULL);
	lull__self.callback_depth--;
	return count;
}

size_t lull__overflow_run_chosen(bool (*is_chosen)(const void *item, const void *arg), const void *arg)
{
	bool has_lock = lull_load_relaxed(&overflow.runner) == &lull__self;
	size_t count = 0;

	if (!lull__overflow_waiting() || (!has_lock && !lull__trylock(&overflow.lock)))
		return 0;
	lull_store_relaxed(&overflow.runner, &lull__self);
	count = run_list(&overflow.kept, SIZE_MAX, is_chosen, arg);
	kept_done();
	if (take_overflow() && lull__rcu_advance(overflow.cookie))
		count += run_list(&overflow.taken, SIZE_MAX, is_chosen, arg);
	if (!has_lock) {
		lull_store_relaxed(&overflow.runner, NULL);
		lull__unlock(&overflow.lock);
	}
	return count;
}

size_t lull__overflow_run(bool awaited)
{
	uint64_t goal = lull_load_relaxed(&overflow.put);
	lull_rcu_cookie cookie;
	size_t count = 0;
	bool over;

	/* Never has there been one. Else the lock tells: one that runs is done in the count. */
	if (!goal)
		return 0;
	do {
		lull__lock(&overflow.lock);
		cookie = take_overflow() ? overflow.cookie : 0;
		lull__unlock(&overflow.lock);
		lull__rcu_wait(cookie);
		lull__lock(&overflow.lock);
		count += run_overflow(SIZE_MAX);
		over = lull_load_relaxed(&overflow.done) + overflow.kept_count >= goal;
		if (over && awaited && overflow.kept && !overflow.awaited) {
			overflow.awaited = true;
			lull_add_relaxed(&lull__queue_awaited, (uint64_t)1);
		}
		lull__unlock(&overflow.lock);
	} while (!over);
	return count;
}

size_t lull__overflow_poll(size_t most)
{
	size_t count = 0;

	if (!lull__overflow_waiting() || !lull__trylock(&overflow.lock))
		return 0;
	count = run_overflow(most);
	lull__unlock(&overflow.lock);
	return count;
}

void lull__overflow_fork_child(void)
{
	overflow.lock.word = 0;
	overflow.runner = NULL;
	overflow.awaited = false;
	overflow.put = overflow.done;
	for (struct lull_head *head = overflow.newest; head; head = head->next, overflow.put++)
		if (head == overflow.taken)
			overflow.taken = NULL; /* forked in take_overflow() */
	for (struct lull_head *head = overflow.taken; head; head = head->next)
		overflow.put++;
	overflow.kept_count = 0;
	for (struct lull_head *head = overflow.kept; head; head = head->next, overflow.kept_count++)
		overflow.put++;
}

void lull__overflow_each(void (*look)(struct lull_head *head))
{
	for (struct lull_head *head = overflow.newest; head; head = head->next)
		look(head);
	for (struct lull_head *head = overflow.taken; head; head = head->next)
		look(head);
	for (struct lull_head *head = overflow.kept; head; head = head->next)
		look(head);
}

/* Wait until @item can be freed. Returns false after OOM_WAIT_MS: this thread may protect it itself. */
static bool wait_without_memory(const void *item)
{
	uint64_t deadline_ns = lull__deadline_in_ms(OOM_WAIT_MS);

	lull__ensure_known();
	/* A reader may wait for a lock that this thread holds. */
	return lull__rcu_wait_until(lull__rcu_cookie(), deadline_ns, NULL) &&
	       lull__hazptr_wait(NULL, item, 1, deadline_ns, false);
}

void lull__defer_without_memory(int kind, void *item)
{
	if (LULL__BUSTED(OVERFLOW_LOST))
		return;
	if (lull__kind_is_call((uint32_t)kind)) {
		lull__overflow_push((struct lull_head *)item);
	} else if (lull__can_help() && wait_without_memory(item)) {
		LULL__CHECK(reclaimed, item);
		free(item);
	} else {
		LULL__CHECK(reclaimed, item);
		lull__say("no memory to defer the free of %p: leaked", item);
	}
}
