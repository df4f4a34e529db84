/* SPDX-License-Identifier: MIT */
/* lull's RCU for ordinary threads, read side inlined from the public header. */
#include <lull/rcu.h>

#include "flavor.h"

/* A file may have names of its own. */
#ifndef FLAVOR_NAME
#define FLAVOR_NAME "rcu"
#define FLAVOR_WHAT "lull RCU, ordinary threads"
#endif
#define FLAVOR_HAS_GP 1
#define FLAVOR_HAS_FREE 1

static inline void flavor_thread_enter(void) {}
static inline void flavor_thread_leave(void) {}
static inline void flavor_read_lock(void) { lull_rcu_read_lock(); }
static inline void flavor_read_unlock(void) { lull_rcu_read_unlock(); }
static inline void flavor_quiescent(void) {}

#define flavor_dereference(p) lull_rcu_dereference(p)
#define flavor_assign(p, v) lull_rcu_assign(p, v)
#define flavor_head lull_rcu_head

static inline void flavor_synchronize(void) { lull_rcu_synchronize(); }
static inline void flavor_call(struct lull_rcu_head *head, void (*func)(struct lull_rcu_head *))
{
	lull_rcu_call(head, func);
}
static inline void flavor_barrier(void) { lull_rcu_barrier(); }
static inline void flavor_poll(void) {}
static inline void flavor_free(void *object) { lull_rcu_free(object); }
static inline void flavor_free_sized(void *object, size_t bytes) { lull_rcu_free_sized(object, bytes); }
