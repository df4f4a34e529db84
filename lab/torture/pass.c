/* SPDX-License-Identifier: MIT */
/* lull torture: what one thread begins and another one ends. See torture.h. */
#include "torture/torture.h"

#define RELEASER_SLEEP_US 300u

static struct torture_held *hand;
static uint32_t open; /* passed on, and not ended yet */

static bool end_held(struct torture_held *held, struct torturer *t)
{
	if (!held)
		return false;
	lull_add_relaxed(&torture.handed, (uint64_t)1);
	held->end(held, t);
	lull_sub_release(&open, 1u);
	return true;
}

void torture_pass_on(struct torture_held *held, struct torturer *t)
{
	lull_add_relaxed(&open, 1u);
	end_held(lull_xchg_acq_rel(&hand, held), t);
}

void *torture_pass_releaser(void *arg)
{
	struct torturer *t = arg;
	bool any = true;

	torture_me = t;
	while (any || !lull_load_acquire(&torture.over)) {
		torture_doing("ending what was handed over");
		any = end_held(lull_xchg_acquire(&hand, (struct torture_held *)NULL), t);
		if (!any)
			torture_sleep_us(RELEASER_SLEEP_US);
		lull_store_relaxed(&t->work, t->work + 1);
	}
	return NULL;
}

void torture_pass_await(void)
{
	while (lull_load_acquire(&open))
		torture_sleep_us(RELEASER_SLEEP_US);
}
