/* SPDX-License-Identifier: MIT */
/*
 * percpu_switch.h - what gets and puts (percpu_ref.c) and switches (percpu_switch.c) share.
 */
#ifndef LULL_PERCPU_SWITCH_H
#define LULL_PERCPU_SWITCH_H

#include <limits.h>

#include <lull/percpu_ref.h>

#include "../base/lock.h"
#include "percpu_cells.h"

/* Bias: the shared count is too high by so much while counters are in use. */
#define LULL__PERCPU_REF_BIAS ((intptr_t)1 << (sizeof(intptr_t) * CHAR_BIT - 2))

struct lull__percpu_data {
	struct lull__percpu cell; /* .chunk is NULL when the counters were given back */
	lull_percpu_ref_func release, confirm;
	struct lull_percpu_ref *ref;
	struct lull_head rcu; /* of the switch that waits for a grace period */
	struct lull__lock lock;
	intptr_t drops;	    /* references that the end of the switch drops */
	uint32_t switching; /* 0, or state_now() of the switch that is under way */
	uint32_t forks;	    /* process_forks when the lock was last taken; under mode.lock */
	bool may_reinit, stay_atomic;
};

/* Drop @n references from the shared count. Returns whether they were the last. */
bool lull__percpu_ref_drop(struct lull_percpu_ref *ref, intptr_t n);
/* Saturate @ref, whose count @count is wrong, and report it: it will not reach zero again. */
void lull__percpu_ref_saturate(struct lull_percpu_ref *ref, const char *call, intptr_t count, const char *what);

#endif /* LULL_PERCPU_SWITCH_H */
