/* SPDX-License-Identifier: MIT */
/* lull torture: readers that are online, for a while or for good. See torture.h. */
#include "torture/rcu/torture_rcu.h"

/* A section of code that only online threads run. */
static void online_section(struct torturer *t)
{
	struct glimpse g;

	lull_rcu_online_read_lock();
	torture_glimpse(&g, &t->rng);
	torture_linger(&t->rng);
	if (torture.use_fault == FAULT_EARLY_QUIESCENT && torture_once_in(&t->rng, 4)) {
		lull_rcu_quiescent();
		torture_spin_ns(torture_random(&t->rng, 30000));
	}
	torture_glimpse_end(&g, &t->tally, "online section");
	lull_rcu_online_read_unlock();
}

/* From one quiescent state to the next. */
static void online_span(struct torturer *t)
{
	uint64_t *rng = &t->rng, n;
	struct glimpse whole;

	torture_glimpse(&whole, rng);
	for (n = torture_random(rng, 8); n; n--) {
		online_section(t);
		if (torture_once_in(rng, 8))
			torture_section(t);
	}
	if (torture_once_in(rng, 4))
		torture_read_mailbox(rng);
	torture_glimpse_end(&whole, &t->tally, "online thread between quiescent states");
}

/* Something that an online thread may do when it holds nothing. */
static void online_pause(struct torturer *t)
{
	if (torture.use_fault == FAULT_NO_QUIESCENT && t->index == 0)
		return;
	switch (torture_random(&t->rng, 16)) {
	case 0:
		lull_rcu_offline();
		torture_sleep_us(torture_random(&t->rng, 1000));
		lull_rcu_online();
		break;
	case 1:
		torture_doing("lull_rcu_synchronize, online");
		torture_wait_begin();
		lull_rcu_synchronize();
		torture_wait_end();
		break;
	default:
		lull_rcu_quiescent();
	}
}

void torture_online_burst(struct torturer *t)
{
	uint64_t n;

	lull_rcu_online();
	for (n = torture_random(&t->rng, 20); n; n--) {
		online_span(t);
		online_pause(t);
	}
	lull_rcu_offline();
}

void *torture_online_life(struct torturer *t)
{
	bool forgets = torture.use_fault == FAULT_NO_QUIESCENT && t->index == 0;

	torture_me = t;
	lull_thread_register();
	torture_timer_start(t, TORTURE_SIGNAL_US);
	lull_rcu_online();
	while (!torture_stopped()) {
		bool rests = t->index >= lull_load_relaxed(&torture.active_readers);

		if (!forgets && (rests || lull_load_relaxed(&torture.pausing))) {
			lull_rcu_offline();
			torture_pause_point();
			if (rests)
				torture_rest(t);
			lull_rcu_online();
			continue;
		}
		torture_doing("reading online");
		online_span(t);
		online_pause(t);
		lull_store_relaxed(&t->work, t->work + 1);
	}
	lull_rcu_offline();
	return NULL;
}
