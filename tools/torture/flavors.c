/* SPDX-License-Identifier: MIT */
/* lull torture: what can be tortured, and how. See torture.h. */
#include "torture/torture.h"

static void rcu_wait_for(struct element *e)
{
	static uint32_t count;

	(void)e;
	if (count++ % 2)
		lull_rcu_synchronize();
	else
		lull_rcu_gp_wait(lull_rcu_gp_start());
}

static struct element *rcu_begin(struct torture_use *use, struct element **where)
{
	(void)use;
	lull_rcu_read_lock();
	return lull_rcu_dereference(*where);
}

static void rcu_end(struct torture_use *use)
{
	(void)use;
	lull_rcu_read_unlock();
}

static void rcu_live(struct torturer *t)
{
	if (!torture.without[PART_ONLINE] && torture_once_in(&t->rng, 4))
		torture_churn_online(t);
}

/* What it holds it has until it goes offline. */
static struct element *qsbr_begin(struct torture_use *use, struct element **where)
{
	(void)use;
	lull_rcu_online();
	return lull_rcu_dereference(*where);
}

static void qsbr_end(struct torture_use *use)
{
	(void)use;
	lull_rcu_offline();
}

/* Both kinds of readers have the same updaters. */
#define RCU_FLAVOR                                                                                 \
	.wait = "grace period",                                                                    \
	.form = {                                                                                  \
		[FORM_SYNC] = "synchronize", [FORM_CALL] = "call", [FORM_POLL] = "gp_poll",        \
		[FORM_WAIT] = "gp_wait", [FORM_COOKIE] = "cookies", [FORM_BARRIER] = "barrier",    \
		[FORM_DRAIN] = "drain",                                                            \
	},                                                                                         \
	.updater = torture_updater, .handler = torture_section_in_handler, .use = torture_section, \
	.use_shortly = torture_short_section, .wait_once = lull_rcu_synchronize, .live = rcu_live, \
	.wait_for = rcu_wait_for, .fork = torture_fork_in_section, .call = lull_rcu_call_sized,    \
	.free = lull_rcu_free, .barrier = lull_rcu_barrier

const struct torture_flavor torture_rcu = {
	.name = "rcu",
	.reader = torture_reader,
	.begin = rcu_begin,
	.end = rcu_end,
	RCU_FLAVOR,
};

const struct torture_flavor torture_rcu_qsbr = {
	.name = "rcu-qsbr",
	.reader = torture_qsbr_reader,
	.begin = qsbr_begin,
	.end = qsbr_end,
	RCU_FLAVOR,
};

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
	KEEP_FLAVOR,
};

const struct torture_flavor torture_shazptr = {
	.name = "shazptr",
	.wait = "wait",
	.form = { "synchronize", "synchronize of all", "synchronize and free" },
	.reader = torture_shaz_reader,
	.updater = torture_shaz_updater,
	.handler = torture_shaz_in_handler,
	.use = torture_shaz,
	.use_shortly = torture_shaz_shortly,
	.wait_once = torture_shaz_wait_any,
	.die = torture_shaz_die,
	.begin = torture_shaz_begin,
	.end = torture_shaz_end,
	.wait_for = torture_shaz_wait_for,
	.fork = torture_shaz_fork,
	.child = torture_shaz_child,
	.change = torture_shaz_change,
};

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
	.begin = rcu_begin,
	.end = rcu_end,
	.wait_for = rcu_wait_for,
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
	.begin = rcu_begin,
	.end = rcu_end,
	.wait_for = rcu_wait_for,
	.fork = torture_hash_fork,
	.child = torture_hash_child,
	.call = lull_rcu_call_hazptr_sized,
	.free = lull_rcu_free_hazptr,
	.barrier = lull_hazptr_barrier,
	.init = torture_hash_init,
	.check = torture_hash_check,
	.report = torture_hash_report,
};

const struct torture_flavor torture_mutex_flavor = {
	.name = "mutex",
	.form = { "meetings", "starvations", "broadcasts", "cancellations", "exits of owners", "processes" },
	.unit = "locks",
	.count = torture_mutex_count,
	.reader = torture_mutex_reader,
	.updater = torture_mutex_updater,
	.handler = torture_mutex_in_handler,
	.use = torture_mutex,
	.use_shortly = torture_mutex_shortly,
	.wait_once = torture_mutex_wait_once,
	.die = torture_mutex_die,
	/* In a child the pipe of RCU beside the locks. */
	.begin = rcu_begin,
	.end = rcu_end,
	.wait_for = rcu_wait_for,
	.fork = torture_mutex_fork,
	.child = torture_mutex_child,
	.releaser = torture_watcher,
	.change = torture_mutex_change,
	.init = torture_mutex_init,
	.check = torture_mutex_check,
	.report = torture_mutex_report,
};

const struct torture_flavor *const torture_flavors[] = {
	&torture_rcu,	 &torture_rcu_qsbr,   &torture_hazptr,	    &torture_shazptr,
	&torture_bridge, &torture_percpu_ref, &torture_hash_flavor, &torture_mutex_flavor,
	NULL,
};
