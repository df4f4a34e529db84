/* SPDX-License-Identifier: MIT */
/*
 * kernel_hazptr.h - the kernel's hazard pointers, of three series of patches (part of kernel.h).
 *
 * The form of 2024, with contexts, slots and callbacks:
 *
 *	init_hazptr_context(&ctx);			WRITE_ONCE(gp, NULL);
 *	h = hazptr_alloc(&ctx);				call_hazptr(&p->head, func);
 *	p = hazptr_tryprotect(h, gp, head);
 *	... use *p ...
 *	hazptr_clear(h);
 *	cleanup_hazptr_context(&ctx);
 *
 * The form of 2026, which cannot fail and can be handed to another thread:
 *
 *	p = hazptr_acquire(&ctx, &gp);			WRITE_ONCE(gp, NULL);
 *	... use *p ...					hazptr_synchronize(p);
 *	hazptr_release(&ctx, p);			kfree(p);
 *
 * The simple ones of 2025, one for each thread in place of one for each CPU:
 *
 *	guard = shazptr_acquire(bucket);		hlist_del_rcu(&p->node);
 *	... walk the bucket ...				synchronize_shazptr(bucket);
 *	shazptr_clear(guard);				kfree(p);
 *
 * In the first, the object is named by its head, in the second and third by what was passed: do not mix them for one
 * object. call_hazptr() and then call_rcu() is not the order in which an RCU reader may take a hazard pointer without
 * a second look: bridge.h.
 */
#ifndef LULL_KERNEL_HAZPTR_H
#define LULL_KERNEL_HAZPTR_H

#include <lull/compat/kernel_part.h>
#include <lull/hazptr.h>
#include <lull/shazptr.h>

/* ---- 2024 --------------------------------------------------------------------------------------- */

#define hazptr_context lull_hazptr_context
typedef struct lull_hazptr hazptr_t;

#define init_hazptr_context    lull_hazptr_context_init
#define cleanup_hazptr_context lull_hazptr_context_cleanup
#define hazptr_alloc	       lull_hazptr_alloc
#define hazptr_free	       lull_hazptr_free
#define hazptr_clear	       lull_hazptr_clear

#define hazptr_tryprotect(h, gp, field) lull_hazptr_tryprotect(h, gp, field)
#define hazptr_protect(h, gp, field)	lull_hazptr_protect(h, gp, field)
#define call_hazptr			lull_hazptr_call

/* ---- 2026 --------------------------------------------------------------------------------------- */

#define hazptr_ctx lull_hazptr_hold

/* @addr_p: the address of the pointer, of its own type or of type void *const *. */
#define hazptr_acquire(ctx, addr_p) lull_hazptr_acquire(ctx, addr_p)
#define hazptr_release		    lull_hazptr_release
#define hazptr_detach		    lull_hazptr_detach
#define hazptr_synchronize	    lull_hazptr_synchronize

/* ---- simple ones, 2025 ---------------------------------------------------------------------------- */

#define shazptr_guard lull_shazptr_guard

#define SHAZPTR_WILDCARD ((void *)LULL__SHAZPTR_WILDCARD)

/* Acquire @ptr, or everything if that is SHAZPTR_WILDCARD. */
static inline struct lull_shazptr_guard shazptr_acquire(const void *ptr)
{
#ifdef LULL_DEBUG
	if (ptr != SHAZPTR_WILDCARD)
		LULL__SHAZPTR_CHECK_ADDR((uintptr_t)ptr);
#endif
	return lull__shazptr_acquire((uintptr_t)ptr);
}
#define shazptr_clear	    lull_shazptr_clear
#define synchronize_shazptr lull_shazptr_synchronize

#endif /* LULL_KERNEL_HAZPTR_H */
