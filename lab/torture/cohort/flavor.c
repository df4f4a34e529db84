/* SPDX-License-Identifier: MIT */
/* lull torture: flavor cohort. See torture_cohort.h. */
#include "torture/cohort/torture_cohort.h"
#include "torture/flavors.h"

const struct torture_flavor torture_cohort_flavor = {
	.name = "cohort",
	.form = { "destroy", "wait", "wait_timeout", "is_empty", "two waits" },
	.reader = torture_cohort_reader,
	.updater = torture_cohort_updater,
	.handler = torture_cohort_in_handler,
	.use = torture_cohort_use,
	.use_shortly = torture_cohort_use_shortly,
	.wait_once = torture_cohort_once,
	.live = torture_cohort_live,
	.die = torture_cohort_live,
	/* In a child the pipe of RCU beside the cohorts. */
	.begin = torture_rcu_begin,
	.end = torture_rcu_end,
	.wait_for = torture_rcu_wait_for,
	.fork = torture_cohort_fork,
	.child = torture_cohort_child,
	.call = lull_rcu_call_hazptr_sized,
	.free = lull_rcu_free_hazptr,
	.barrier = lull_hazptr_barrier,
	.init = torture_cohort_init,
	.settle = torture_cohort_settle,
	.check = torture_cohort_check,
	.report = torture_cohort_report,
};
