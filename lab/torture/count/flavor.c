/* SPDX-License-Identifier: MIT */
/* lull torture: flavor percpu_ref. See torture_count.h. */
#include "torture/count/torture_count.h"
#include "torture/flavors.h"

const struct torture_flavor torture_percpu_ref = {
	.name = "percpu_ref",
	.form = { "kill", "kill_and_confirm", "switch and kill", "put of the last", "resurrect", "reinit" },
	.reader = torture_count_reader,
	.updater = torture_count_updater,
	.handler = torture_count_in_handler,
	.use = torture_count,
	.use_shortly = torture_count_shortly,
	.wait_once = torture_count_once,
	.live = torture_count_live,
	.die = torture_count_die,
	/* In a child the pipe of RCU beside the counts. */
	.begin = torture_rcu_begin,
	.end = torture_rcu_end,
	.wait_for = torture_rcu_wait_for,
	.fork = torture_count_fork,
	.child = torture_count_child,
	.call = lull_rcu_call_hazptr_sized,
	.free = lull_rcu_free_hazptr,
	.barrier = lull_hazptr_barrier,
	.releaser = torture_count_releaser,
	.init = torture_count_init,
	.settle = torture_count_settle,
	.check = torture_count_check,
	.report = torture_count_report,
};
