/* SPDX-License-Identifier: MIT */
/*
 * kernel_srcu.h - srcu.h: RCU whose readers may sleep (part of kernel.h).
 *
 * A struct srcu_struct is a struct lull_rcu_domain: rcu_domain.h says what each function does.
 */
#ifndef LULL_KERNEL_SRCU_H
#define LULL_KERNEL_SRCU_H

#include <lull/compat/kernel_rcu.h>
#include <lull/rcu_domain.h>

#define srcu_struct lull_rcu_domain

/* Returns 0 or -ENOMEM. Reports call @ssp what the source calls it. */
#define init_srcu_struct(ssp) lull_rcu_domain_init(ssp, #ssp)
#define cleanup_srcu_struct   lull_rcu_domain_destroy
/* Do not compile: a domain has memory of its own, which only a call can allocate. */
#define DEFINE_SRCU(name)                                                                          \
	_Static_assert(0, "DEFINE_SRCU: define a struct srcu_struct, and call init_srcu_struct()")
#define DEFINE_STATIC_SRCU(name) DEFINE_SRCU(name)

#define srcu_read_lock	 lull_rcu_domain_read_lock
#define srcu_read_unlock lull_rcu_domain_read_unlock

/*
 * Fetch @p in a section of @ssp. The _check form is also right where @c holds. Debug builds evaluate @c, and abort
 * outside all sections; that the section is one of @ssp nobody checks.
 */
#define srcu_dereference(p, ssp) ((void)LULL__KERNEL_DOMAIN(ssp), lull_rcu_dereference(p))
#if defined(LULL_DEBUG) && !defined(LULL_KERNEL_UNCHECKED)
#define srcu_dereference_check(p, ssp, c) ((c) ? rcu_dereference_raw(p) : srcu_dereference(p, ssp))
#else
#define srcu_dereference_check(p, ssp, c) ((void)LULL__KERNEL_DOMAIN(ssp), rcu_dereference_raw(p))
#endif
/* Does not compile unless @ssp leads to a domain. */
#define LULL__KERNEL_DOMAIN(ssp) sizeof((ssp) == (struct lull_rcu_domain *)0)

#define synchronize_srcu	   lull_rcu_domain_synchronize
#define synchronize_srcu_expedited lull_rcu_domain_synchronize
#define call_srcu		   lull_rcu_domain_call
#define srcu_barrier		   lull_rcu_domain_barrier

/* Return a cookie for a grace period of @ssp that begins now or later. Both begin it, if none is open. */
static inline unsigned long get_state_synchronize_srcu(struct lull_rcu_domain *ssp)
{
	return lull_rcu_domain_gp_start(ssp);
}
#define start_poll_synchronize_srcu get_state_synchronize_srcu

static inline bool poll_state_synchronize_srcu(struct lull_rcu_domain *ssp, unsigned long cookie)
{
	return lull_rcu_domain_gp_poll(ssp, cookie);
}

#endif /* LULL_KERNEL_SRCU_H */
