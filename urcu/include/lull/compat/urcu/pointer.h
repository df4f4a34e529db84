/* SPDX-License-Identifier: MIT */
/*
 * pointer.h - liburcu's fetches and stores of pointers, as lull_rcu_dereference() and lull_rcu_assign() order them.
 * Updaters fetch too, so nothing is checked.
 */
#ifndef _URCU_POINTER_H
#define _URCU_POINTER_H

#include "../urcu_helpers.h"

#define lull__urcu_load(p) lull_load_acquire(p)

#define rcu_dereference(p) lull__urcu_load(&(p))
#define rcu_set_pointer(p, v) lull_store_release(p, v)
#define rcu_assign_pointer(p, v) rcu_set_pointer(&(p), v)
/* Both return the previous pointer, and see what it points to. */
#define rcu_xchg_pointer(p, v) lull_xchg_acq_rel(p, v)
#define rcu_cmpxchg_pointer(p, old, _new)                                                          \
	__extension__({                                                                            \
		__typeof__(*(p)) lull__was = (old);                                                \
		(void)lull_cas_acq_rel(p, &lull__was, (_new));                                     \
		lull__was;                                                                         \
	})
#ifndef cmm_ptr_eq
#define cmm_ptr_eq(a, b) ((uintptr_t)(a) == (uintptr_t)(b))
#endif

/* The names that were for inline use, and those with a flavor. */
#define _rcu_dereference(p)		rcu_dereference(p)
#define _rcu_set_pointer(p, v)		rcu_set_pointer(p, v)
#define _rcu_assign_pointer(p, v)	rcu_assign_pointer(p, v)
#define _rcu_xchg_pointer(p, v)		rcu_xchg_pointer(p, v)
#define _rcu_cmpxchg_pointer(p, o, n)	rcu_cmpxchg_pointer(p, o, n)
#define urcu_bp_dereference(p)		rcu_dereference(p)
#define urcu_bp_set_pointer(p, v)	rcu_set_pointer(p, v)
#define urcu_bp_xchg_pointer(p, v)	rcu_xchg_pointer(p, v)
#define urcu_bp_cmpxchg_pointer(p, o, n) rcu_cmpxchg_pointer(p, o, n)

/* Functions of liburcu's that such calls are where readers are not inlined. Some programs call them by name. */
static inline void *rcu_dereference_sym(void *p)
{
	return p;
}

static inline void *rcu_set_pointer_sym(void **p, void *v)
{
	rcu_set_pointer(p, v);
	return v;
}

static inline void *rcu_xchg_pointer_sym(void **p, void *v)
{
	return rcu_xchg_pointer(p, v);
}

static inline void *rcu_cmpxchg_pointer_sym(void **p, void *old, void *_new)
{
	return rcu_cmpxchg_pointer(p, old, _new);
}

#ifdef _LGPL_SOURCE
#include "static/pointer.h"
#endif

#endif /* _URCU_POINTER_H */
