/* SPDX-License-Identifier: MIT */
/* lull torture: flavors rcu and rcu-qsbr. See torture.h. */
#include "torture/flavors.h"
#include "torture/rcu/torture_rcu.h"

#include <unistd.h>

/* Fork in the middle of a section, or online, or neither. The child goes on with it. */
static pid_t fork_in_section(struct torturer *t)
{
	uint64_t where = torture_random(&t->rng, torture.without[PART_ONLINE] ? 2 : 3);
	struct glimpse g;
	pid_t pid;

	torture_leave_debris(&t->rng);
	if (where == 1)
		lull_rcu_read_lock();
	else if (where == 2)
		lull_rcu_online();
	if (where)
		torture_glimpse(&g, &t->rng);
	torture_pool_lock(); /* callbacks of the parent run in the child too */
	pid = fork();
	torture.in_child = pid == 0;
	torture_pool_unlock();
	if (where)
		torture_glimpse_end(&g, &t->tally, "section around a fork");
	if (where == 1)
		lull_rcu_read_unlock();
	else if (where == 2)
		lull_rcu_offline();
	return pid;
}

static void rcu_live(struct torturer *t)
{
	if (!torture.without[PART_ONLINE] && torture_once_in(&t->rng, 4))
		torture_churn_online(t);
}

/* Go online: the element is safe until the thread goes offline. */
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
		[FORM_WAIT] = "gp_wait", [FORM_COOKIE] = "cookies", [FORM_STREAM] = "streams",     \
		[FORM_BARRIER] = "barrier", [FORM_DRAIN] = "drain",                                \
	},                                                                                         \
	.updater = torture_updater, .handler = torture_section_in_handler, .use = torture_section, \
	.use_shortly = torture_short_section, .wait_once = lull_rcu_synchronize, .live = rcu_live, \
	.wait_for = torture_rcu_wait_for, .fork = fork_in_section, .call = lull_rcu_call_sized,    \
	.free = lull_rcu_free, .barrier = lull_rcu_barrier

const struct torture_flavor torture_rcu = {
	.name = "rcu",
	.reader = torture_reader,
	.begin = torture_rcu_begin,
	.end = torture_rcu_end,
	RCU_FLAVOR,
};

const struct torture_flavor torture_rcu_qsbr = {
	.name = "rcu-qsbr",
	.reader = torture_qsbr_reader,
	.begin = qsbr_begin,
	.end = qsbr_end,
	.online_readers = true,
	RCU_FLAVOR,
};
