/* SPDX-License-Identifier: MIT */
/* lull torture: what can be tortured. */
#ifndef LULL_LAB_FLAVORS_H
#define LULL_LAB_FLAVORS_H

#include "torture/torture.h"

extern const struct torture_flavor torture_rcu, torture_rcu_qsbr, torture_hazptr, torture_shazptr, torture_bridge,
	torture_percpu_ref, torture_cohort_flavor, torture_hash_flavor, torture_mutex_flavor,
	torture_domain, torture_rwsem, torture_wild;
extern const struct torture_flavor *const torture_flavors[]; /* NULL at the end */

#endif
