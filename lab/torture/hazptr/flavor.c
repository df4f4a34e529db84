/* SPDX-License-Identifier: MIT */
/* lull torture: flavors hazptr and bridge. See torture.h. */
#include "torture/flavors.h"
#include "torture/hazptr/torture_hazptr.h"

/* The bridge has the same readers and updaters, which take its way half of the time. */
#define KEEP_FLAVOR                                                                                \
	.wait = "wait",                                                            \
	.form = { "synchronize",	  "synchronize_range", "synchronize_timeout", "call",      \
		  "call and synchronize", "barrier",	       "barrier_timeout" },                \
	.reader = torture_keeper, .updater = torture_retirer, .handler = torture_keep_in_handler,  \
	.use = torture_keep, .use_shortly = torture_keep_shortly, .wait_once = torture_wait_any,   \
	.live = torture_keep_live, .die = torture_keep_die, .begin = torture_keep_begin,           \
	.end = torture_keep_end, .wait_for = torture_wait_kept, .fork = torture_keep_fork,         \
	.child = torture_keep_child, .call = torture_retire_debris, .free = torture_free_debris,   \
	.barrier = lull_hazptr_barrier, .releaser = torture_releaser,                              \
	.settle = torture_hand_settle

const struct torture_flavor torture_hazptr = {
	.name = "hazptr",
	KEEP_FLAVOR,
};

const struct torture_flavor torture_bridge = {
	.name = "bridge",
	.is_bridge = true,
	KEEP_FLAVOR,
};
