/* SPDX-License-Identifier: MIT */
/*
 * test_urcu_worker.c - moments that are hard to meet: a call while the thread of a worker is started, and a fork that no
 * worker is told of, at each step while one takes its queue.
 */
#define EACH_STEP
#include "fork_steps.h"

static int starts_slowly(pthread_t *thread, const pthread_attr_t *attr, void *(*func)(void *), void *arg);

#define pthread_create starts_slowly
#include "../../worker/worker.c"
#include "../../worker/workers.c"
#undef pthread_create

static struct lull_head heads[3];

/* ---- a start ------------------------------------------------------------------------------------------------ */

static __thread struct call_rcu_data *own;

static struct call_rcu_data **chosen(void)
{
	return &own;
}

static void waits(struct lull__workers *of, uint64_t *number)
{
	(void)of;
	(void)number;
	lull_rcu_synchronize();
}

static void reads(bool begins)
{
	(void)begins;
}

static struct lull__workers workers = { .wait = waits, .reads = reads, .chosen = chosen };

static int called, defers;
static bool no_threads;
static pthread_t second_caller;

static void counts(struct lull_head *head)
{
	(void)head;
	lull_add_release(&called, 1);
}

static void *defers_too(void *w)
{
	lull_store_release(&defers, 1);
	lull__worker_defer(w, &heads[1]);
	return NULL;
}

/* Let the thread run all there is, and sleep, and another one defer, which is to find no thread yet. */
static int starts_slowly(pthread_t *thread, const pthread_attr_t *attr, void *(*func)(void *), void *arg)
{
	int err = no_threads ? EAGAIN : pthread_create(thread, attr, func, arg);

	if (err)
		return err;
	AWAIT(lull_load_acquire(&called) == 1);
	nap_ms(20);
	second_caller = start_thread(defers_too, arg);
	AWAIT(lull_load_acquire(&defers) == 1);
	nap_ms(20);
	return 0;
}

TEST(call_while_starting)
{
	struct call_rcu_data *one;

	heads[0].func = heads[1].func = counts;
	no_threads = true;
	one = lull__worker_create(&workers, -1);
	no_threads = false;
	lull__worker_defer(one, &heads[0]);
	AWAIT(lull_load_acquire(&called) == 2);
	join_thread(second_caller);
	lull__worker_free(one, NULL);
}

/* ---- a fork ------------------------------------------------------------------------------------------------- */

#if CAN_STEP
static struct call_rcu_data w;

static void fills(void)
{
	w = (struct call_rcu_data){ .cpu = -1 };
	for (int i = 0; i < 3; i++)
		lull__worker_push(&w, &heads[i]);
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
