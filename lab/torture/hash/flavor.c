/* SPDX-License-Identifier: MIT */
/* lull torture: flavor hash. See torture_hash.h. */
#include "torture/flavors.h"
#include "torture/hash/torture_hash.h"

const struct torture_flavor torture_hash_flavor = {
	.name = "hash",
	.form = { "insert", "remove", "replace", "remove_node", "resize" },
	.reader = torture_hash_reader,
	.updater = torture_hash_updater,
	.handler = torture_hash_in_handler,
	.use = torture_hash,
	.use_shortly = torture_hash_shortly,
	.wait_once = lull_rcu_synchronize,
	/* In a child the pipe of RCU beside the table. */
	.begin = torture_rcu_begin,
	.end = torture_rcu_end,
	.wait_for = torture_rcu_wait_for,
	.fork = torture_hash_fork,
	.child = torture_hash_child,
	.call = lull_rcu_call_hazptr_sized,
	.free = lull_rcu_free_hazptr,
	.barrier = lull_hazptr_barrier,
	.init = torture_hash_init,
	.check = torture_hash_check,
	.report = torture_hash_report,
};
