/* SPDX-License-Identifier: MIT */
/*
 * call_rcu_worker.h - a thread that runs callbacks, and its queue: what the files of call_rcu.h share.
 */
#ifndef LULL_URCU_WORKER_H
#define LULL_URCU_WORKER_H

#include "call_rcu.h"

struct call_rcu_data {
	struct rcu_head *pushed; /* the newest first */
	size_t waiting;		 /* callbacks that have not run, for reports */
	uint32_t event;		 /* changes when the worker should look */
	uint32_t urgent;	 /* a thread waits for this queue */
	uint32_t has_thread;
	uint32_t stop, ended;
	uint64_t waits_for;	   /* the first grace period that may end the worker's wait for one; 0: it does not wait */
	struct lull__lock running; /* held while callbacks run */
	struct rcu_head *batch;	   /* those that have not been called yet of what the worker has taken */
	struct urcu_domain *domain;
	struct call_rcu_data *next; /* of the domain's; under its lock */
	pthread_t thread;
	unsigned long flags;
	int cpu;
};

/* The calling thread's, if it is a worker. */
extern __thread struct call_rcu_data *lull__urcu_own_worker __attribute__((tls_model("initial-exec")));

/* Start the thread of @w, unless it has one. Returns whether it has one now. */
bool lull__urcu_worker_runs(struct call_rcu_data *w);
/* Take @w out of its domain's list, under the list's lock. */
void lull__urcu_worker_forget(struct call_rcu_data *w);
/* Let the default worker have what @w has not called, and free @w, which has no thread. */
void lull__urcu_worker_bury(struct call_rcu_data *w);

#endif /* LULL_URCU_WORKER_H */
