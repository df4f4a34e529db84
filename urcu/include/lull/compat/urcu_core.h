/* SPDX-License-Identifier: MIT */
/*
 * urcu_core.h - what the functions of urcu.h are made of, of one kind of flavor or the other.
 */
#ifndef LULL_COMPAT_URCU_CORE_H
#define LULL_COMPAT_URCU_CORE_H

#include <pthread.h>

#include <lull/rcu.h>

LULL_BEGIN_DECLS

struct call_rcu_data;
struct urcu_atfork;

/* Two kinds of flavors. Flavors of one kind differ in nothing but their names. */
#define LULL__URCU_NESTS  0 /* memb, mb, bp, signal */
#define LULL__URCU_ONLINE 1 /* qsbr */

/* ---- sections --------------------------------------------------------------------------------- */

/* Of flavors that nest. */
LULL_INLINE void lull__urcu_read_lock(void)
{
	lull_rcu_read_lock();
}

LULL_INLINE void lull__urcu_read_unlock(void)
{
	lull_rcu_read_unlock();
}

LULL_INLINE int lull__urcu_is_online(void)
{
	return (lull__self.state & LULL__STATE_ONLINE) != 0;
}

/*
 * Count the sections that the calling thread is in, and has entered by locks. Never 0 in one, which compilers see: so an
 * assertion makes one look.
 */
LULL_INLINE int lull__urcu_nesting(void)
{
	int depth;

	if (!lull__rcu_in_section())
		return 0;
	depth = (int)((lull__self.rcu & LULL__RCU_DEPTH) + lull__self.rcu_deep + !lull__urcu_is_online());
	return depth ? depth : 1;
}

/* May be repeated, as liburcu's may. In a section of another flavor they abort, because that section would end. */
LULL_INLINE void lull__urcu_online(void)
{
	if (!lull__urcu_is_online())
		lull_rcu_online();
}

LULL_INLINE void lull__urcu_offline(void)
{
	if (lull__urcu_is_online())
		lull_rcu_offline();
}

/* In a section of another flavor it comes later. */
LULL_INLINE void lull__urcu_quiescent(void)
{
	if (!lull__rcu_in_section())
		lull_rcu_quiescent();
}

/* ---- updaters --------------------------------------------------------------------------------- */

LULL_API void lull__urcu_synchronize(unsigned kind);
LULL_API void lull__urcu_barrier(unsigned kind);
LULL_API void lull__urcu_call(struct lull_head *head, lull_rcu_func func, unsigned kind);
LULL_API void lull__urcu_defer(void (*fct)(void *p), void *p, unsigned kind);

/* ---- threads that run callbacks ----------------------------------------------------------------- */

LULL_API struct call_rcu_data *lull__urcu_create(unsigned long flags, int cpu, unsigned kind);
LULL_API void lull__urcu_destroy(struct call_rcu_data *crdp);
LULL_API struct call_rcu_data *lull__urcu_default(unsigned kind);
LULL_API struct call_rcu_data *lull__urcu_of_cpu(int cpu, unsigned kind);
LULL_API struct call_rcu_data *lull__urcu_of_thread(unsigned kind);
LULL_API struct call_rcu_data *lull__urcu_chosen(unsigned kind);
LULL_API pthread_t lull__urcu_thread_of(struct call_rcu_data *crdp);
LULL_API void lull__urcu_set_of_thread(struct call_rcu_data *crdp, unsigned kind);
LULL_API int lull__urcu_set_of_cpu(int cpu, struct call_rcu_data *crdp, unsigned kind);
LULL_API int lull__urcu_create_all(unsigned long flags, unsigned kind);
LULL_API void lull__urcu_destroy_all(unsigned kind);

/* ---- fork --------------------------------------------------------------------------------------- */

LULL_API void lull__urcu_before_fork(unsigned kind);
LULL_API void lull__urcu_after_fork_parent(unsigned kind);
LULL_API void lull__urcu_after_fork_child(unsigned kind);
LULL_API void lull__urcu_register_atfork(struct urcu_atfork *atfork, unsigned kind);
LULL_API void lull__urcu_unregister_atfork(struct urcu_atfork *atfork, unsigned kind);

LULL_END_DECLS

#endif /* LULL_COMPAT_URCU_CORE_H */
