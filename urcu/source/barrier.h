/* SPDX-License-Identifier: MIT */
/*
 * barrier.h - all workers of one kind of flavors, and the barriers that look at them.
 */
#ifndef LULL_URCU_BARRIER_H
#define LULL_URCU_BARRIER_H

#include "section.h"
#include "worker.h"

/* Everything of one kind of flavors; found by readers, changed with the lock. */
struct lull__urcu {
	struct lull__lock lock, barrier_lock;
	struct call_rcu_data *all;
	struct call_rcu_data *by_default;
	struct call_rcu_data **of_cpu; /* NULL, or one for each CPU */
	int cpus;
	int any; /* has there ever been a worker? */
	uint64_t rounds; /* barriers that have begun */
	uint64_t gone;	 /* workers that have ended, and whose rest went to others */
	struct urcu_atfork *atfork;
	unsigned atfork_count;
};

extern struct lull__urcu lull__urcus[LULL__URCU_KINDS];

/* Wait until no barrier helps @w; then the lock of @urcu is held. */
void lull__urcu_await_helpers(struct lull__urcu *urcu, struct call_rcu_data *w);

#endif /* LULL_URCU_BARRIER_H */
