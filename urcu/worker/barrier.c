/* SPDX-License-Identifier: MIT */
/*
 * barrier.c - rcu_barrier(): wait for what waits at all workers of a domain.
 *
 * The barrier puts a callback of its own behind those of each worker. One that ends meanwhile leaves that to its heir,
 * with the rest. Where a worker cannot get a thread the barrier does its work.
 */
#include <limits.h>
#include <stdlib.h>

#include "workers.h"

#define WORKER_RETRY_NS 10000000u /* between two tries to get memory, or a thread that is waited for */
#define WORKER_AGAIN_NS 1000000000u /* ... where there was none to start */

/* On the heap: workers of a forked child come to the barrier, and there the waiter's stack may be another's. */
struct barrier {
	uint32_t left; /* how many queues have not come to it yet */
	struct arrival {
		struct lull_head head;
		struct barrier *barrier;
	} arrivals[];
};

static void barrier_reached(struct lull_head *head)
{
	uint32_t *left = &((struct arrival *)(void *)head)->barrier->left;

	lull_add_relaxed(&lull__worker_here->waiting, (size_t)1); /* it was not one of those */
	/*
	 * ORDER URCU-9: the callbacks of a queue before it is counted; pairs with URCU-9 in await_arrivals();
	 * without it what a callback did is not seen behind the barrier; model/urcu/barrier.litmus
	 */
	if (lull_sub_release(left, 1u) == 1)
		lull__ground.wake(left, INT_MAX);
}

/* Take the lock of workers, and return a barrier with room for each. It is not held while there is no memory. */
static struct barrier *lock_with_room(struct lull__workers *of)
{
	struct barrier *barrier = NULL;
	size_t room = 0;

	for (;;) {
		uint32_t never = 0;
		size_t count = 0;

		lull__ground.lock_take(&of->lock);
		for (const struct call_rcu_data *w = of->all; w; w = w->next)
			count++;
		if (barrier && count <= room)
			return barrier;
		lull__ground.lock_leave(&of->lock);
		free(barrier);
		room = 2 * count; /* others may create some meanwhile */
		while (!(barrier = calloc(1, sizeof(*barrier) + room * sizeof(*barrier->arrivals))))
			lull__worker_sleep(&never, 0, lull__worker_now_ns() + WORKER_RETRY_NS);
	}
}

/*
 * Let all workers come to what waits on their queues. Returns one that has something to do, can get no thread, and is
 * helped by nobody: the caller is to help it. *@all_run: has each got a thread?
 */
static struct call_rcu_data *hurry_all(struct lull__workers *of, bool *all_run)
{
	struct call_rcu_data *idle = NULL;

	*all_run = true;
	lull__ground.lock_take(&of->lock);
	for (struct call_rcu_data *w = of->all; w; w = w->next) {
		lull_store_relaxed(&w->urgent, 1u);
		(void)lull__worker_start(w);
		lull__worker_nudge(w);
		*all_run &= w->has_thread != 0;
		if (!idle && !w->has_thread && !w->helped && (w->batch || lull_load_relaxed(&w->pushed)))
			idle = w;
	}
	if (idle)
		lull_store_relaxed(&idle->helped, 1u);
	lull__ground.lock_leave(&of->lock);
	return idle;
}

/* Returns true if all have arrived; false, at @until_ns, if not. */
static bool await_arrivals(uint32_t *left, uint64_t until_ns)
{
	uint32_t now;

	/* ORDER URCU-9: that all queues have come to the barrier before what the caller does next; pairs with URCU-9
	 * in barrier_reached(); without it as there; model/urcu/barrier.litmus */
	while ((now = lull_load_acquire(left)) != 0 && lull__worker_now_ns() < until_ns)
		lull__worker_sleep(left, now, until_ns);
	return now == 0;
}

void lull__workers_barrier(struct lull__workers *of)
{
	struct barrier *barrier;
	struct arrival *one;
	uint64_t until_ns;

	lull__ground.init();
	barrier = lock_with_room(of);
	barrier->left = 1;
	one = barrier->arrivals;
	for (struct call_rcu_data *w = of->all; w; w = w->next, one++) {
		*one = (struct arrival){ .head.func = barrier_reached, .barrier = barrier };
		lull_add_relaxed(&barrier->left, 1u);
		(void)lull__worker_push(w, &one->head);
	}
	lull__ground.lock_leave(&of->lock);
	lull_sub_relaxed(&barrier->left, 1u);
	do {
		bool all_run;
		struct call_rcu_data *idle = hurry_all(of, &all_run);

		if (idle)
			lull__worker_help(idle);
		until_ns = idle ? 0 : lull__worker_now_ns() + (all_run ? WORKER_AGAIN_NS : WORKER_RETRY_NS);
	} while (!await_arrivals(&barrier->left, until_ns));
	free(barrier);
}
