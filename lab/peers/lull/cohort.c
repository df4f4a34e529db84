/* SPDX-License-Identifier: MIT */
/* lull's RCU, and what is deferred is retired into a cohort, one for all threads: what the count of a cohort costs. */
#include <lull/cohort.h>

#include "flavor.h"

#define FLAVOR_NAME "rcu-cohort"
#define FLAVOR_WHAT "lull RCU, retired into one cohort"
#define FLAVOR_HAS_GP 1

static struct lull_cohort flavor_cohort;

static inline void flavor_thread_enter(void) {}
static inline void flavor_thread_leave(void) {}
static inline void flavor_read_lock(void) { lull_rcu_read_lock(); }
static inline void flavor_read_unlock(void) { lull_rcu_read_unlock(); }
static inline void flavor_quiescent(void) {}

#define flavor_dereference(p) lull_rcu_dereference(p)
#define flavor_assign(p, v) lull_rcu_assign(p, v)
#define flavor_head lull_cohort_head

static inline void flavor_synchronize(void) { lull_rcu_synchronize(); }
static inline void flavor_call(struct lull_cohort_head *head, void (*func)(struct lull_cohort_head *))
{
	lull_cohort_call_rcu(&flavor_cohort, head, func);
}
static inline void flavor_barrier(void) { lull_cohort_wait(&flavor_cohort); }
static inline void flavor_poll(void) {}

#include "gp_peak.h"
#define GP_HELP
#define GP_ENTER() lull_thread_register()
#define GP_LEAVE() lull_thread_unregister()
#define GP_BODY bench_gp_rcu_cohort
#include "gp_body.h"
