/* SPDX-License-Identifier: MIT */
/*
 * kernel_rcu.h - rcupdate.h: sections, pointers, grace periods, callbacks (part of kernel.h).
 */
#ifndef LULL_KERNEL_RCU_H
#define LULL_KERNEL_RCU_H

#include <pthread.h>

#include <lull/compat/kernel_part.h>
#include <lull/rcu.h>

#ifndef LULL_KERNEL_2003
#define rcu_head lull_head
#endif
#define callback_head lull_head
typedef lull_rcu_func rcu_callback_t;

/* The kernel's checker reads this; compilers do not. */
#ifndef __rcu
#define __rcu
#endif

/* ---- sections --------------------------------------------------------------------------------- */

#define rcu_read_lock	       lull_rcu_read_lock
#define rcu_read_unlock	       lull_rcu_read_unlock
#define rcu_read_lock_held     lull_rcu_read_lock_held
#define rcu_read_lock_any_held lull_rcu_read_lock_held

/* ---- pointers --------------------------------------------------------------------------------- */

/* Abort in debug builds unless @c; other builds do not even look whether what it names is declared. */
#if defined(LULL_DEBUG) && !defined(LULL_KERNEL_UNCHECKED)
#define LULL__KERNEL_MUST(c, what) ((c) ? (void)0 : lull__rcu_misuse(what ": suspicious usage"))
#else
#define LULL__KERNEL_MUST(c, what) ((void)0)
#endif

/*
 * Does the caller hold @lock, a struct lull_mutex or a pthread_mutex_t? See check.h; true in builds without its checks.
 */
#define lockdep_is_held(lock)                                                                      \
	_Generic((lock), pthread_mutex_t *: lull_check_pthread_mutex_held,                         \
		 default: lull_check_mutex_held)(lock)

/*
 * Fetch @p in a read section. The _check form is also right where @c holds, the _raw form anywhere; the _protected
 * form is for updaters, where @c holds. Debug builds evaluate and check @c, other builds do neither.
 */
#define rcu_dereference(p) lull_rcu_dereference(p)
#define rcu_dereference_check(p, c)                                                                \
	(LULL__KERNEL_MUST((c) || lull_rcu_read_lock_held(), "rcu_dereference_check"),             \
	 rcu_dereference_raw(p))
#define rcu_dereference_raw(p) lull__kernel_load(&(p))
#define rcu_dereference_protected(p, c)                                                            \
	(LULL__KERNEL_MUST(c, "rcu_dereference_protected"), lull_rcu_dereference_protected(p))
#define rcu_access_pointer(p)  lull_rcu_access(p)
#define rcu_pointer_handoff(p) (p)
#define unrcu_pointer(p)       (p)

#define rcu_assign_pointer(p, v) lull_rcu_assign(p, v)
/* Store @v where no order is needed: NULL, or before readers can find @p. */
#define RCU_INIT_POINTER(p, v) lull_store_relaxed(&(p), (v))
#define RCU_INITIALIZER(v)     (v)
#define rcu_replace_pointer(p, v, c)                                                               \
	(LULL__KERNEL_MUST(c, "rcu_replace_pointer"), lull_rcu_replace(p, v))

/* ---- grace periods ---------------------------------------------------------------------------- */

#define synchronize_rcu		  lull_rcu_synchronize
#define synchronize_rcu_expedited lull_rcu_synchronize
#define synchronize_net		  lull_rcu_synchronize
#define rcu_barrier		  lull_rcu_barrier

_Static_assert(sizeof(unsigned long) == sizeof(lull_rcu_cookie), "the kernel keeps cookies in unsigned long");

/* Return a cookie for a grace period that begins now or later. Both begin it, if none is open. */
static inline unsigned long get_state_synchronize_rcu(void)
{
	return lull_rcu_gp_start();
}
#define start_poll_synchronize_rcu	     get_state_synchronize_rcu
#define start_poll_synchronize_rcu_expedited get_state_synchronize_rcu

/* Return a cookie that is over. */
static inline unsigned long get_completed_synchronize_rcu(void)
{
	return 0;
}

static inline bool poll_state_synchronize_rcu(unsigned long cookie)
{
	return lull_rcu_gp_poll(cookie);
}

/* Wait, unless @cookie is over. */
static inline void cond_synchronize_rcu(unsigned long cookie)
{
	lull_rcu_gp_wait(cookie);
}
#define cond_synchronize_rcu_expedited cond_synchronize_rcu

static inline bool same_state_synchronize_rcu(unsigned long cookie1, unsigned long cookie2)
{
	return cookie1 == cookie2;
}

/* The same in a structure. */
struct rcu_gp_oldstate {
	unsigned long rgos_norm;
};

static inline void get_state_synchronize_rcu_full(struct rcu_gp_oldstate *rgosp)
{
	rgosp->rgos_norm = get_state_synchronize_rcu();
}
#define start_poll_synchronize_rcu_full		  get_state_synchronize_rcu_full
#define start_poll_synchronize_rcu_expedited_full get_state_synchronize_rcu_full

static inline void get_completed_synchronize_rcu_full(struct rcu_gp_oldstate *rgosp)
{
	rgosp->rgos_norm = get_completed_synchronize_rcu();
}

static inline bool poll_state_synchronize_rcu_full(struct rcu_gp_oldstate *rgosp)
{
	return poll_state_synchronize_rcu(rgosp->rgos_norm);
}

static inline void cond_synchronize_rcu_full(struct rcu_gp_oldstate *rgosp)
{
	cond_synchronize_rcu(rgosp->rgos_norm);
}
#define cond_synchronize_rcu_expedited_full cond_synchronize_rcu_full

static inline bool same_state_synchronize_rcu_full(struct rcu_gp_oldstate *rgosp1,
						   struct rcu_gp_oldstate *rgosp2)
{
	return rgosp1->rgos_norm == rgosp2->rgos_norm;
}

/* ---- callbacks -------------------------------------------------------------------------------- */

#ifndef LULL_KERNEL_2003
#define call_rcu       lull_rcu_call
#define call_rcu_hurry lull_rcu_call

/*
 * kfree_rcu(ptr, rcu): free(3) @ptr after a grace period; @rcu is a struct rcu_head in the object, of any offset, which
 * stays unused. kfree_rcu(ptr), and the _mightsleep form, do without it and sleep no more than the other.
 */
#define kfree_rcu(...)                                                                             \
	LULL__KERNEL_FIRST3(__VA_ARGS__, LULL__KERNEL_FREE2, LULL__KERNEL_FREE1, )(__VA_ARGS__)
#define kvfree_rcu(...)	      kfree_rcu(__VA_ARGS__)
#define kfree_rcu_mightsleep(ptr)  LULL__KERNEL_FREE1(ptr)
#define kvfree_rcu_mightsleep(ptr) LULL__KERNEL_FREE1(ptr)
#define LULL__KERNEL_FIRST3(a, b, c, ...) c
#define LULL__KERNEL_FREE1(ptr)		  lull_rcu_free((void *)(uintptr_t)(ptr))
/* Does not compile unless @rhf is such a head. */
#define LULL__KERNEL_FREE2(ptr, rhf)                                                               \
	__extension__({                                                                            \
		__typeof__(ptr) lull__ptr = (ptr);                                                 \
		(void)sizeof(&lull__ptr->rhf == (struct lull_head *)0);                            \
		LULL__KERNEL_FREE1(lull__ptr);                                                     \
	})
#endif

#endif /* LULL_KERNEL_RCU_H */
