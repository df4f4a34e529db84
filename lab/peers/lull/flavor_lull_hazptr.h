/* SPDX-License-Identifier: MIT */
/* lull's hazard pointers. A thread keeps two slots: walks need the second (hazptr.c). */
#include <lull/hazptr.h>

#include "flavor.h"

#define FLAVOR_NAME "hazptr"
#define FLAVOR_WHAT "lull hazard pointer, in a slot that the thread keeps"
#define FLAVOR_KEEPS 1
#define FLAVOR_HAS_GP 1
#define FLAVOR_HAS_FREE 1

static __thread struct lull_hazptr *flavor_slot, *flavor_second;

static inline void flavor_thread_enter(void)
{
	flavor_slot = lull_hazptr_alloc(lull_hazptr_thread_context());
	flavor_second = lull_hazptr_alloc(lull_hazptr_thread_context());
}

static inline void flavor_thread_leave(void)
{
	lull_hazptr_free(lull_hazptr_thread_context(), flavor_second);
	lull_hazptr_free(lull_hazptr_thread_context(), flavor_slot);
}

static inline void flavor_quiescent(void) {}

#define flavor_keep(slot, p) lull_hazptr_protect_ptr(slot, p)
#define flavor_drop(slot) lull_hazptr_clear(slot)
#define flavor_assign(p, v) lull_hazptr_publish(p, v)
#define flavor_head lull_rcu_head

static inline void flavor_synchronize_on(const void *address) { lull_hazptr_synchronize(address); }
static inline void flavor_call(struct lull_rcu_head *head, void (*func)(struct lull_rcu_head *))
{
	lull_hazptr_call(head, func);
}
static inline void flavor_barrier(void) { lull_hazptr_barrier(); }
static inline void flavor_poll(void) {}
static inline void flavor_free(void *object) { lull_hazptr_retire(object); }
static inline void flavor_free_sized(void *object, size_t bytes)
{
	lull_hazptr_retire_sized(object, bytes);
}
