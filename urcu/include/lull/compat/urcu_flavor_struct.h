/* SPDX-License-Identifier: MIT */
/*
 * urcu_flavor_struct.h - struct rcu_flavor_struct of a flavor, by which liburcu-cds calls it (part of urcu.h).
 *
 * Its layout is that of the liburcu that is installed: 0.14 has put two more members at its end.
 */
#ifndef LULL_COMPAT_URCU_FLAVOR_STRUCT_H
#define LULL_COMPAT_URCU_FLAVOR_STRUCT_H

#include "urcu_helpers.h"

#ifdef LULL__URCU_BESIDE
/* It says by what it includes whether it has them; the program may have included it before. */
#ifndef _URCU_FLAVOR_H
#undef LULL__URCU_POLL_ASKED_FOR
#include <urcu/flavor.h>
#endif
#ifdef LULL__URCU_POLL_ASKED_FOR
#define LULL__URCU_POLL_MEMBERS 2
#endif
#else
#define LULL__URCU_POLL_MEMBERS 2
struct urcu_atfork {
	void (*before_fork)(void *priv);
	void (*after_fork_parent)(void *priv);
	void (*after_fork_child)(void *priv);
	void *priv;
};

struct rcu_flavor_struct {
	void (*read_lock)(void);
	void (*read_unlock)(void);
	int (*read_ongoing)(void);
	void (*read_quiescent_state)(void);
	void (*update_call_rcu)(struct rcu_head *head, void (*func)(struct rcu_head *head));
	void (*update_synchronize_rcu)(void);
	void (*update_defer_rcu)(void (*fct)(void *p), void *p);
	void (*thread_offline)(void);
	void (*thread_online)(void);
	void (*register_thread)(void);
	void (*unregister_thread)(void);
	void (*barrier)(void);
	void (*register_rculfhash_atfork)(struct urcu_atfork *atfork);
	void (*unregister_rculfhash_atfork)(struct urcu_atfork *atfork);
	struct urcu_gp_poll_state (*update_start_poll_synchronize_rcu)(void);
	bool (*update_poll_state_synchronize_rcu)(struct urcu_gp_poll_state state);
};
#endif

#ifdef LULL__URCU_POLL_MEMBERS
#define LULL__URCU_SET_POLL(s, f)                                                                  \
	(s).update_start_poll_synchronize_rcu = urcu_##f##_start_poll_synchronize_rcu;             \
	(s).update_poll_state_synchronize_rcu = urcu_##f##_poll_state_synchronize_rcu;
#define LULL__URCU_INIT_POLL(f)                                                                    \
	.update_start_poll_synchronize_rcu = urcu_##f##_start_poll_synchronize_rcu,                \
	.update_poll_state_synchronize_rcu = urcu_##f##_poll_state_synchronize_rcu,
#else
#define LULL__URCU_POLL_MEMBERS 0
#define LULL__URCU_SET_POLL(s, f)
#define LULL__URCU_INIT_POLL(f)
#endif

#define LULL__URCU_ALL_MEMBERS(x, f)                                                               \
	x(read_lock, urcu_##f##_read_lock)							   \
	x(read_unlock, urcu_##f##_read_unlock)							   \
	x(read_ongoing, urcu_##f##_read_ongoing)						   \
	x(read_quiescent_state, urcu_##f##_quiescent_state)					   \
	x(update_call_rcu, urcu_##f##_call_rcu)							   \
	x(update_synchronize_rcu, urcu_##f##_synchronize_rcu)					   \
	x(update_defer_rcu, urcu_##f##_defer_rcu)						   \
	x(thread_offline, urcu_##f##_thread_offline)						   \
	x(thread_online, urcu_##f##_thread_online)						   \
	x(register_thread, urcu_##f##_register_thread)						   \
	x(unregister_thread, urcu_##f##_unregister_thread)					   \
	x(barrier, urcu_##f##_barrier)								   \
	x(register_rculfhash_atfork, urcu_##f##_register_rculfhash_atfork)			   \
	x(unregister_rculfhash_atfork, urcu_##f##_unregister_rculfhash_atfork)

/* A structure with more members than these is of a liburcu that nobody has looked at. */
#ifdef __cplusplus
static_assert(sizeof(struct rcu_flavor_struct) == (14 + LULL__URCU_POLL_MEMBERS) * sizeof(void (*)(void)),
	      "lull does not know this liburcu's struct rcu_flavor_struct");
#define LULL__URCU_SET(member, function) flavor.member = function;
#define LULL__URCU_FLAVOR_STRUCT(f)                                                                \
	static inline const struct rcu_flavor_struct *lull__urcu_flavor_##f()                      \
	{                                                                                          \
		struct make {                                                                      \
			static rcu_flavor_struct all()                                             \
			{                                                                          \
				rcu_flavor_struct flavor = rcu_flavor_struct();                    \
				LULL__URCU_ALL_MEMBERS(LULL__URCU_SET, f)                          \
				LULL__URCU_SET_POLL(flavor, f)                                     \
				return flavor;                                                     \
			}                                                                          \
		};                                                                                 \
		static const rcu_flavor_struct flavor = make::all();                               \
		return &flavor;                                                                    \
	}
#define LULL__URCU_FLAVOR_OBJECT(f) (*lull__urcu_flavor_##f())
#else
_Static_assert(sizeof(struct rcu_flavor_struct) == (14 + LULL__URCU_POLL_MEMBERS) * sizeof(void (*)(void)),
	       "lull does not know this liburcu's struct rcu_flavor_struct");
#define LULL__URCU_INIT(member, function) .member = (function),
#define LULL__URCU_FLAVOR_STRUCT(f)                                                                \
	__attribute__((unused)) static const struct rcu_flavor_struct lull__urcu_flavor_##f = {    \
		LULL__URCU_ALL_MEMBERS(LULL__URCU_INIT, f) LULL__URCU_INIT_POLL(f)                 \
	};
#define LULL__URCU_FLAVOR_OBJECT(f) lull__urcu_flavor_##f
#endif

#endif /* LULL_COMPAT_URCU_FLAVOR_STRUCT_H */
