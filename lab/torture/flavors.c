/* SPDX-License-Identifier: MIT */
/* lull torture: what can be tortured. See flavors.h. */
#include "torture/flavors.h"

#include <stddef.h>

const struct torture_flavor *const torture_flavors[] = {
	&torture_rcu,	 &torture_rcu_qsbr,   &torture_hazptr,	    &torture_shazptr,
	&torture_bridge, &torture_percpu_ref, &torture_cohort_flavor, &torture_hash_flavor,
	&torture_mutex_flavor, &torture_domain, &torture_rwsem, &torture_wild, NULL,
};
