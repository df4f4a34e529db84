/* SPDX-License-Identifier: MIT */
/*
 * pointer.c - liburcu's pointers, for programs that call instead of inlining.
 */
#include <lull/atomic.h>

#include "urcu_abi.h"

URCU_API void *rcu_dereference_sym(void *p);
URCU_API void *rcu_set_pointer_sym(void **p, void *v);
URCU_API void *rcu_xchg_pointer_sym(void **p, void *v);
URCU_API void *rcu_cmpxchg_pointer_sym(void **p, void *old, void *new_);
URCU_API void *urcu_bp_dereference_sym(void *p);
URCU_API void *urcu_bp_set_pointer_sym(void **p, void *v);
URCU_API void *urcu_bp_xchg_pointer_sym(void **p, void *v);
URCU_API void *urcu_bp_cmpxchg_pointer_sym(void **p, void *old, void *new_);

/* The caller has loaded it: nothing is left to order. */
void *rcu_dereference_sym(void *p)
{
	return p;
}

void *rcu_set_pointer_sym(void **p, void *v)
{
	lull_store_release(p, v); /* RCU-9 */
	return v;
}

void *rcu_xchg_pointer_sym(void **p, void *v)
{
	return lull_xchg_acq_rel(p, v); /* RCU-9 */
}

void *rcu_cmpxchg_pointer_sym(void **p, void *old, void *new_)
{
	(void)lull_cas_acq_rel(p, &old, new_); /* RCU-9 */
	return old;
}

void *urcu_bp_dereference_sym(void *p)
{
	return p;
}

void *urcu_bp_set_pointer_sym(void **p, void *v)
{
	return rcu_set_pointer_sym(p, v);
}

void *urcu_bp_xchg_pointer_sym(void **p, void *v)
{
	return rcu_xchg_pointer_sym(p, v);
}

void *urcu_bp_cmpxchg_pointer_sym(void **p, void *old, void *new_)
{
	return rcu_cmpxchg_pointer_sym(p, old, new_);
}
