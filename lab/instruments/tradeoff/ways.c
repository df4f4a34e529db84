/* SPDX-License-Identifier: MIT */
/* lull tradeoff: the four ways, in the order of the slides, then locks. */
#include "instruments/tradeoff/ways.h"

const struct tradeoff_scheme *const tradeoff_schemes[TRADEOFF_SCHEMES] = {
	&tradeoff_refcount,
	&tradeoff_percpu_ref,
	&tradeoff_rcu,
	&tradeoff_hazptr,
	&tradeoff_rwlock,
	&tradeoff_percpu_rwsem,
	&tradeoff_spinlock,
};
