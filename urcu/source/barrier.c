/* SPDX-License-Identifier: MIT */
/*
 * barrier.c - rcu_barrier(): wait for the callbacks of all workers, and for the reclaimer's.
 *
 * The barrier puts a callback of its own behind those of each worker. A worker that ends meanwhile gives its rest to
 * others, the barrier's callback too; then the barrier goes round once more.
 */
#include <limits.h>

#include "barrier.h"

#define SOFT_ITEMS 65536u

struct lull__urcu lull__urcus[LULL__URCU_KINDS];

static struct lull__lock arrival_lock;
static uint32_t barrier_event; /* changes when a barrier's callback has run, and when one has helped */

static void tell_barriers(void)
{
	lull__ground.lock_take(&arrival_lock);
	lull_store_relaxed(&barrier_event, barrier_event + 1);
	lull__ground.lock_leave(&arrival_lock);
	lull__ground.wake(&barrier_event, INT_MAX);
}

/* The event is taken first: a helper changes it last. */
void lull__urcu_await_helpers(struct lull__urcu *urcu, struct call_rcu_data *w)
{
	for (;;) {
		uint32_t event = lull_load_relaxed(&barrier_event);

		lull__ground.lock_take(&urcu->lock);
		if (!w->helpers)
			return;
		lull__ground.lock_leave(&urcu->lock);
		lull__ground.sleep(&barrier_event, event);
	}
}

struct arrival {
	struct lull_head head;
	bool arrived; /* guarded by arrival_lock */
};

/* The waiter may be gone as soon as the lock is free: only the event, which is not its own, is touched after that. */
static void arrive(struct lull_head *head)
{
	struct arrival *arrival = lull_container_of(head, struct arrival, head);

	lull__ground.lock_take(&arrival_lock);
	arrival->arrived = true;
	lull_store_relaxed(&barrier_event, barrier_event + 1);
	lull__ground.lock_leave(&arrival_lock);
	lull__ground.wake(&barrier_event, INT_MAX);
}

static void await_arrival(struct arrival *arrival)
{
	for (;;) {
		uint32_t event;
		bool arrived;

		lull__ground.lock_take(&arrival_lock);
		event = barrier_event;
		arrived = arrival->arrived;
		lull__ground.lock_leave(&arrival_lock);
		if (arrived)
			return;
		lull__ground.sleep(&barrier_event, event);
	}
}

/*
 * Return a worker where the barrier @round has not been yet, with an arrival in its queue; NULL: there is none. It does not
 * go before end_help().
 */
static struct call_rcu_data *begin_help(struct lull__urcu *urcu, uint64_t round, struct arrival *arrival)
{
	struct call_rcu_data *w;

	lull__ground.lock_take(&urcu->lock);
	for (w = urcu->all; w && w->round == round; w = w->next)
		;
	if (w) {
		w->round = round;
		w->helpers++;
		lull__urcu_worker_push(w, &arrival->head, arrive);
	}
	lull__ground.lock_leave(&urcu->lock);
	return w;
}

static void end_help(struct lull__urcu *urcu, struct call_rcu_data *w)
{
	lull__ground.lock_take(&urcu->lock);
	w->helpers--;
	lull__ground.lock_leave(&urcu->lock);
	tell_barriers();
}

/* Wait for what all workers have now. Returns false if one has ended meanwhile: its rest may be where we have been. */
static bool await_round(struct lull__urcu *urcu)
{
	struct call_rcu_data *w;
	uint64_t round, gone;
	bool none_gone;

	lull__ground.lock_take(&urcu->lock);
	round = ++urcu->rounds;
	gone = urcu->gone;
	lull__ground.lock_leave(&urcu->lock);
	for (;;) {
		struct arrival arrival = { .arrived = false };

		w = begin_help(urcu, round, &arrival);
		if (!w)
			break;
		lull__urcu_worker_help(w);
		end_help(urcu, w);
		await_arrival(&arrival);
	}
	lull__ground.lock_take(&urcu->lock);
	none_gone = gone == urcu->gone;
	lull__ground.lock_leave(&urcu->lock);
	return none_gone;
}

/* One barrier at a time, because a worker knows of one round. */
static void await_workers(struct lull__urcu *urcu)
{
	lull__ground.lock_take(&urcu->barrier_lock);
	while (!await_round(urcu))
		;
	lull__ground.lock_leave(&urcu->barrier_lock);
}

void lull__urcu_barrier(unsigned kind)
{
	static int said;
	bool online = lull__urcu_is_online();

	/* Say so once and return, like liburcu. */
	if (lull__rcu_in_section()) {
		if (!lull_xchg_relaxed(&said, 1))
			lull__ground.say("rcu_barrier in a read section does nothing, as it would wait for itself for ever");
		return;
	}
	if (lull__self.callback_depth)
		lull__ground.misuse("rcu_barrier in a callback would wait for itself for ever");
	lull__urcu_check_may_wait("rcu_barrier", kind);
	if (online)
		lull_rcu_offline();
	await_workers(&lull__urcus[kind]);
	lull_rcu_barrier();
	if (online)
		lull_rcu_online();
}

/* ---- fork ------------------------------------------------------------------------------------------- */

/* Before anything else in the child, and also without liburcu's handlers. */
static void fork_child(void)
{
	arrival_lock.word = 0;
	for (int kind = 0; kind < LULL__URCU_KINDS; kind++) {
		lull__urcus[kind].lock.word = lull__urcus[kind].barrier_lock.word = 0;
		for (struct call_rcu_data *w = lull__urcus[kind].all; w; w = w->next)
			lull__urcu_worker_fork_child(w);
	}
}

/*
 * Without the first a lock that another thread holds at a fork stays locked in the child. The second: call_rcu() of
 * liburcu's never waits, and its programs defer tens of thousands of objects at once.
 */
__attribute__((constructor)) static void stand_on_lull(void)
{
	lull__ground.at_fork_child(fork_child);
	lull__ground.soft_items(SOFT_ITEMS);
}
