/* SPDX-License-Identifier: MIT */
/*
 * worker.h - threads that run callbacks, for programs of liburcu's that want their own: to pin them, to join them,
 * or to read in callbacks as an online thread does.
 */
#ifndef LULL_URCU_WORKER_H
#define LULL_URCU_WORKER_H

#include <lull/compat/urcu_core.h>
#include <lull/detail/ground.h>

struct call_rcu_data {
	struct call_rcu_data *next; /* of all; guarded by the caller, as are the next two */
	uint64_t round;		    /* the last round of a barrier that has been here */
	unsigned helpers;	    /* barriers that look at it */
	struct lull__lock lock;	    /* guards the rest; no thread blocks with it */
	uint32_t event;		    /* changes when the thread has to look */
	uint32_t answer;	    /* changes when the thread has paused */
	struct lull_head *first, **last; /* what waits for a grace period, the oldest first */
	struct lull_head *batch;    /* what has waited, and is still to be run */
	pthread_t thread;
	unsigned kind;
	int cpu; /* -1: any */
	bool has_thread, asleep, stop, pause, paused;
};

/* Set up @w without a thread. */
void lull__urcu_worker_init(struct call_rcu_data *w, unsigned kind, int cpu);

/* Start its thread, if it has none. Returns 0 or an errno value. */
int lull__urcu_worker_start(struct call_rcu_data *w);

/* Call @func(@head) after a grace period, on the thread of @w, or on a helper. */
void lull__urcu_worker_push(struct call_rcu_data *w, struct lull_head *head, lull_rcu_func func);

/* Do what the thread of @w would do now, if it could not be started. Blocks. */
void lull__urcu_worker_help(struct call_rcu_data *w);

/* End the thread of @w; what it has not run is left in `first`. Blocks. */
void lull__urcu_worker_stop(struct call_rcu_data *w);

/* Keep the thread of @w away from callbacks; and let it go on. */
void lull__urcu_worker_pause(struct call_rcu_data *w);
void lull__urcu_worker_go_on(struct call_rcu_data *w);

/* In a forked child: @w has no thread, and what it would have run waits again. */
void lull__urcu_worker_fork_child(struct call_rcu_data *w);

#endif /* LULL_URCU_WORKER_H */
