/* SPDX-License-Identifier: MIT */
/* lull torture: memory that a callback frees, and what threads leave behind. See torture.h. */
#include "torture/torture.h"

#include <stdlib.h>

#include "common/options.h"

bool torture_drop_ran(struct torture_drop *d)
{
	if (lull_xchg_relaxed(&d->is_deferred, 0u))
		return true;
	torture_fail("a callback ran twice, or was never deferred");
	return false;
}

void torture_drop_defer(struct torture_drop *d, lull_rcu_func func)
{
	lull_store_relaxed(&d->is_deferred, 1u);
	torture.flavor->call(&d->head, func, sizeof(*d));
}

void torture_drop_free(struct torture_drop *d)
{
	if (!torture.fault_name)
		free(d);
}

/* ---- what threads leave behind --------------------------------------------------------------- */

static void debris_called(struct lull_rcu_head *head)
{
	struct torture_drop *d = lull_container_of(head, struct torture_drop, head);

	if (!torture_drop_ran(d))
		return;
	lull_add_relaxed(&torture.callbacks, (uint64_t)1);
	lull_add_relaxed(&torture.debris_gone, (uint64_t)1);
	torture_drop_free(d);
}

/* Things that are deferred, for others to see to. */
void torture_leave_debris(uint64_t *rng)
{
	uint64_t n;

	if (!torture.flavor->call)
		return;

	for (n = torture_random(rng, 4); n; n--) {
		struct torture_drop *d = options_alloc(1, sizeof(*d));

		if (torture_once_in(rng, 2)) {
			lull_add_relaxed(&torture.debris_left, (uint64_t)1);
			torture_drop_defer(d, debris_called);
		} else {
			torture.flavor->free(d);
		}
	}
}

/* Called after a barrier, while all threads pause. */
void torture_debris_check(const char *when)
{
	uint64_t left = lull_load_relaxed(&torture.debris_left), gone = lull_load_relaxed(&torture.debris_gone);

	if (left != gone)
		torture_fail("%s: %llu callbacks of %llu that threads left behind have run", when,
			     (unsigned long long)gone, (unsigned long long)left);
}
