/* SPDX-License-Identifier: MIT */
/*
 * test_urcu_worker.c - a fork that no worker is told of, at each moment while one takes its queue.
 */
#define EACH_STEP
#include "fork_steps.h"

#if CAN_STEP
#include "../../worker/worker.c"
#include "../../worker/workers.c"

static struct call_rcu_data w;
static struct lull_head heads[3];

static void fills(void)
{
	w = (struct call_rcu_data){ .cpu = -1 };
	for (int i = 0; i < 3; i++)
		urcu_push(&w, &heads[i]);
}

static void takes(void)
{
	urcu_take(&w);
}

static void has_all(void)
{
	const struct lull_head *head = w.batch;

	for (int i = 0; i < 3; i++, head = head->next)
		must(head == &heads[i]);
	must(!head && !w.pushed && !w.taken);
}

static void goes_on(void)
{
	lull__worker_take_on(&w);
	if (!w.batch)
		urcu_take(&w);
	has_all();
}

TEST(fork_amid_take)
{
	fork_at_steps(&(const struct call){ fills, takes, has_all, goes_on, NULL });
}
#else
TEST(fork_amid_take)
{
	SKIP("no single steps here");
}
#endif
