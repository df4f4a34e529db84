/* SPDX-License-Identifier: MIT */
/*
 * urcu_flavor.h - the functions of one flavor, with its prefix (part of urcu.h).
 */
#ifndef LULL_COMPAT_URCU_H
#define LULL_COMPAT_URCU_H

#ifdef LULL_KERNEL_PART_H
#error "lull/compat/kernel.h and lull/compat/urcu.h have the same names for different things: include one of them."
#endif

#include <lull/detail/arch/urcu_apart.h>

#include "urcu/call-rcu.h"
#include "urcu/defer.h"
#include "urcu/pointer.h"
#ifndef LULL__URCU_POLL_ASKED_FOR
#include "urcu/urcu-poll.h"
#undef LULL__URCU_POLL_ASKED_FOR
#endif

/* Define @name as a function that does nothing. */
#define LULL__URCU_NOTHING(name)                                                                   \
	static inline void name(void)                                                              \
	{                                                                                          \
	}

/* Define @name as a function without arguments that is lull__urcu_@of(@kind). */
#define LULL__URCU_CALLS(name, of, kind)                                                           \
	static inline void name(void)                                                              \
	{                                                                                          \
		lull__urcu_##of(kind);                                                             \
	}

/* A flavor whose sections nest. */
#define LULL__URCU_NESTING_FLAVOR(f)                                                               \
	static inline void urcu_##f##_read_lock(void)                                              \
	{                                                                                          \
		lull__urcu_read_lock();                                                            \
	}                                                                                          \
	static inline void urcu_##f##_read_unlock(void)                                            \
	{                                                                                          \
		lull__urcu_read_unlock();                                                          \
	}                                                                                          \
	static inline int urcu_##f##_read_ongoing(void)                                            \
	{                                                                                          \
		return lull__urcu_nesting();                                                       \
	}                                                                                          \
	static inline void urcu_##f##_register_thread(void)                                        \
	{                                                                                          \
		lull_thread_register();                                                            \
	}                                                                                          \
	LULL__URCU_NOTHING(urcu_##f##_unregister_thread)                                           \
	LULL__URCU_NOTHING(urcu_##f##_quiescent_state)                                             \
	LULL__URCU_NOTHING(urcu_##f##_thread_offline)                                              \
	LULL__URCU_NOTHING(urcu_##f##_thread_online)                                               \
	LULL__URCU_UPDATERS(f, LULL__URCU_NESTS)

/* A flavor of threads that say when they read nothing. */
#define LULL__URCU_QSBR_FLAVOR(f)                                                                  \
	static inline void urcu_##f##_read_lock(void)                                              \
	{                                                                                          \
		lull_rcu_online_read_lock();                                                       \
	}                                                                                          \
	static inline void urcu_##f##_read_unlock(void)                                            \
	{                                                                                          \
		lull_rcu_online_read_unlock();                                                     \
	}                                                                                          \
	static inline int urcu_##f##_read_ongoing(void)                                            \
	{                                                                                          \
		return lull__urcu_is_online();                                                     \
	}                                                                                          \
	static inline void urcu_##f##_register_thread(void)                                        \
	{                                                                                          \
		lull__urcu_online();                                                               \
	}                                                                                          \
	static inline void urcu_##f##_unregister_thread(void)                                      \
	{                                                                                          \
		lull__urcu_offline();                                                              \
	}                                                                                          \
	static inline void urcu_##f##_quiescent_state(void)                                        \
	{                                                                                          \
		lull__urcu_quiescent();                                                            \
	}                                                                                          \
	static inline void urcu_##f##_thread_offline(void)                                         \
	{                                                                                          \
		lull__urcu_offline();                                                              \
	}                                                                                          \
	static inline void urcu_##f##_thread_online(void)                                          \
	{                                                                                          \
		lull__urcu_online();                                                               \
	}                                                                                          \
	LULL__URCU_UPDATERS(f, LULL__URCU_ONLINE)

/* The rest of a flavor: what updaters call. */
#define LULL__URCU_UPDATERS(f, kind)                                                               \
	LULL__URCU_NOTHING(urcu_##f##_init)                                                        \
	LULL__URCU_NOTHING(urcu_##f##_exit)                                                        \
	LULL__URCU_CALLS(urcu_##f##_synchronize_rcu, synchronize, kind)                            \
	LULL__URCU_CALLS(urcu_##f##_barrier, barrier, kind)                                        \
	LULL__URCU_CALL_RCU(f, kind)                                                               \
	LULL__URCU_CALL_RCU_DATA(f, kind)                                                          \
	LULL__URCU_DEFER(f, kind)                                                                  \
	LULL__URCU_POLL(f)                                                                         \
	LULL__URCU_CALLS(urcu_##f##_call_rcu_before_fork, before_fork, kind)                       \
	LULL__URCU_CALLS(urcu_##f##_call_rcu_after_fork_parent, after_fork_parent, kind)           \
	LULL__URCU_CALLS(urcu_##f##_call_rcu_after_fork_child, after_fork_child, kind)             \
	static inline void urcu_##f##_register_rculfhash_atfork(struct urcu_atfork *atfork)        \
	{                                                                                          \
		lull__urcu_register_atfork(atfork, kind);                                          \
	}                                                                                          \
	static inline void urcu_##f##_unregister_rculfhash_atfork(struct urcu_atfork *atfork)      \
	{                                                                                          \
		lull__urcu_unregister_atfork(atfork, kind);                                        \
	}

#define LULL__URCU_CALL_RCU(f, kind)                                                               \
	static inline void urcu_##f##_call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head)) \
	{                                                                                          \
		lull__urcu_call(&head->lull__head, (lull_rcu_func)func, kind);                     \
	}

#define LULL__URCU_CALL_RCU_DATA(f, kind)                                                          \
	static inline struct call_rcu_data *urcu_##f##_create_call_rcu_data(unsigned long flags, int cpu) \
	{                                                                                          \
		return lull__urcu_create(flags, cpu, kind);                                        \
	}                                                                                          \
	static inline void urcu_##f##_call_rcu_data_free(struct call_rcu_data *crdp)               \
	{                                                                                          \
		lull__urcu_destroy(crdp);                                                          \
	}                                                                                          \
	static inline struct call_rcu_data *urcu_##f##_get_default_call_rcu_data(void)             \
	{                                                                                          \
		return lull__urcu_default(kind);                                                   \
	}                                                                                          \
	static inline struct call_rcu_data *urcu_##f##_get_cpu_call_rcu_data(int cpu)              \
	{                                                                                          \
		return lull__urcu_of_cpu(cpu, kind);                                               \
	}                                                                                          \
	static inline struct call_rcu_data *urcu_##f##_get_thread_call_rcu_data(void)              \
	{                                                                                          \
		return lull__urcu_of_thread(kind);                                                 \
	}                                                                                          \
	static inline struct call_rcu_data *urcu_##f##_get_call_rcu_data(void)                     \
	{                                                                                          \
		return lull__urcu_chosen(kind);                                                    \
	}                                                                                          \
	static inline pthread_t urcu_##f##_get_call_rcu_thread(struct call_rcu_data *crdp)         \
	{                                                                                          \
		return lull__urcu_thread_of(crdp);                                                 \
	}                                                                                          \
	static inline void urcu_##f##_set_thread_call_rcu_data(struct call_rcu_data *crdp)         \
	{                                                                                          \
		lull__urcu_set_of_thread(crdp, kind);                                              \
	}                                                                                          \
	static inline int urcu_##f##_set_cpu_call_rcu_data(int cpu, struct call_rcu_data *crdp)    \
	{                                                                                          \
		return lull__urcu_set_of_cpu(cpu, crdp, kind);                                     \
	}                                                                                          \
	static inline int urcu_##f##_create_all_cpu_call_rcu_data(unsigned long flags)             \
	{                                                                                          \
		return lull__urcu_create_all(flags, kind);                                         \
	}                                                                                          \
	LULL__URCU_CALLS(urcu_##f##_free_all_cpu_call_rcu_data, destroy_all, kind)

#define LULL__URCU_DEFER(f, kind)                                                                  \
	static inline void urcu_##f##_defer_rcu(void (*fct)(void *p), void *p)                     \
	{                                                                                          \
		lull__urcu_defer(fct, p, kind);                                                    \
	}                                                                                          \
	static inline int urcu_##f##_defer_register_thread(void)                                   \
	{                                                                                          \
		return 0;                                                                          \
	}                                                                                          \
	LULL__URCU_CALLS(urcu_##f##_defer_unregister_thread, barrier, kind)                        \
	LULL__URCU_CALLS(urcu_##f##_defer_barrier, barrier, kind)                                  \
	LULL__URCU_CALLS(urcu_##f##_defer_barrier_thread, barrier, kind)                           \
	LULL__URCU_NOTHING(urcu_##f##_defer_exit)

#define LULL__URCU_POLL(f)                                                                         \
	static inline struct urcu_gp_poll_state urcu_##f##_start_poll_synchronize_rcu(void)        \
	{                                                                                          \
		struct urcu_gp_poll_state state = { lull_rcu_gp_start() };                         \
		return state;                                                                      \
	}                                                                                          \
	static inline bool urcu_##f##_poll_state_synchronize_rcu(struct urcu_gp_poll_state state)  \
	{                                                                                          \
		return lull_rcu_gp_poll(state.grace_period_id);                                    \
	}

#endif /* LULL_COMPAT_URCU_H */
