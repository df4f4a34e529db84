/* SPDX-License-Identifier: MIT */
/* lull torture: readers of RCU, ordinary and online. See torture_rcu.h. */
#include "torture/rcu/torture_rcu.h"

#define ORDINARY_EACH 4u /* every so manieth reader of rcu-qsbr is an ordinary one */

/*
 * Try what the fence between the word and the first load is for: the word waits in the store buffer, the load does not.
 * Short and always the same, on what updater 0 changes most, because everything has to meet within a fraction of a
 * microsecond.
 */
static void duel(struct torturer *t)
{
	const struct torture_mailbox *box = &torture.mailbox[0];
	uint64_t ns = torture_random(&t->rng, 2000);

	torture_fill_store_buffer(&t->rng);
	lull_rcu_read_lock();
	torture_check_mailbox(box, ns);
	lull_rcu_read_unlock();
}

static void ordinary_burst(struct torturer *t)
{
	uint64_t n;

	if (torture_once_in(&t->rng, 2))
		for (n = 200; n; n--)
			duel(t);
	for (n = torture_random(&t->rng, 100); n; n--)
		torture_section(t);
}

static void burst(struct torturer *t)
{
	torture_doing("reading");
	if (!torture.without[PART_ONLINE] && torture_once_in(&t->rng, 3))
		torture_online_burst(t);
	else
		ordinary_burst(t);
}

void *torture_reader(void *arg)
{
	return torture_rounds(arg, &torture.active_readers, burst);
}

void *torture_qsbr_reader(void *arg)
{
	struct torturer *t = arg;

	if (t->index % ORDINARY_EACH == ORDINARY_EACH - 1)
		return torture_reader(t);
	return torture_online_life(t);
}
