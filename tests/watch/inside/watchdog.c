/* SPDX-License-Identifier: MIT */
/*
 * watchdog.c - src/watch/watchdog.c from the inside: when a callback counts as one that does not return, how often that
 * is checked, and how its thread sleeps and stops.
 */
#include "child.h"
#include "threads.h"

#include "../src/watch/watchdog.c"

static void some_callback(struct lull_head *head)
{
	(void)head;
}

#define RUNNING ((void *)(uintptr_t)some_callback)

/* Two checks in a row find the same one, and it has been there since the first. */
TEST(checks)
{
	static const struct {
		bool runs;
		uint64_t got; /* how many entries have been taken */
		uint64_t since_ns; /* as shown; 0: it is not */
	} looks[] = {
		{ false, 0, 0 },    { false, 5, 0 },
		{ true, 5, 0 }, /* has it just begun? It was taken before. */
		{ true, 5, 3000 },  { true, 5, 3000 },
		{ true, 6, 0 }, /* the next one */
		{ true, 6, 6000 },  { false, 6, 0 },	{ false, 6, 0 }, { true, 7, 0 }, { true, 8, 0 }, { false, 8, 0 },
	};
	static struct lull__queue q;

	lull_debug_set_stall_ms(0);
	for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); i++) {
		q.running = looks[i].runs ? RUNNING : NULL;
		q.get = looks[i].got;
		check_running_callback(&q, 1000 * (i + 1));
		assert_int_equal(q.callback_wait.kind, looks[i].since_ns ? LULL_WAIT_CALLBACK : LULL_WAIT_NONE);
		if (looks[i].since_ns)
			assert_int_equal(q.callback_wait.since_ns, looks[i].since_ns);
	}
	lull_debug_set_stall_ms(1000);
}

/* Half of a stall's time late at most, and shown for no longer than a tenth of a second after it is over. */
TEST(how_often)
{
	static const struct {
		uint32_t stall_ms;
		uint64_t ns;
	} cases[] = {
		{ 0, CHECK_MOST_NS },	{ 1, 500000 },		{ 20, 10000000 }, { 199, 99500000 },
		{ 200, CHECK_MOST_NS }, { 201, CHECK_MOST_NS }, { UINT32_MAX, CHECK_MOST_NS },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		lull_debug_set_stall_ms(cases[i].stall_ms);
		assert_int_equal(check_every_ns(), cases[i].ns);
	}
	lull_debug_set_stall_ms(1000);
}

/* No thread walks over the bags afterwards: else none of them is ever freed. */
TEST(walks)
{
	for (int i = 0; i < 3; i++)
		check_all();
	AWAIT(lull_load_relaxed(&lull__reclaimer.walkers) % LULL__WALKS_OF == 0);
}

static bool ended;

static void *sleeps(void *unused)
{
	ended = sleep_until_needed();
	return unused;
}

/* It goes to sleep under the lock, under which a pass that begins looks whether it sleeps. */
TEST(goes_to_sleep)
{
	pthread_t thread;

	lull__lock(&watchdog.lock);
	thread = start_thread(sleeps, NULL);
	nap_ms(20);
	assert_int_equal(lull_load_relaxed(&watchdog.sleeps), 0);
	lull__unlock(&watchdog.lock);
	AWAIT(lull_load_relaxed(&watchdog.sleeps) == 1);
	lull__watchdog_callbacks_begin();
	join_thread(thread);
	assert_false(ended);
	/* Not at all while callbacks run, or when it is to stop. */
	assert_false(sleep_until_needed());
	lull__watchdog_callbacks_end();
	assert_int_equal(watchdog.running, 0);
	watchdog.stop = 1;
	assert_false(sleep_until_needed());
	watchdog.stop = 0;
}

static void stops(void)
{
	lull__lock(&watchdog.lock);
	start();
	lull__unlock(&watchdog.lock);
	must(watchdog.is_there);
	AWAIT(lull_load_relaxed(&watchdog.sleeps) == 1);
	lull__watchdog_stop();
	_exit(watchdog.is_there ? 3 : 0);
}

#define TRIES 5

/* The end of the process wakes it, and need not wait; the machine may stop for longer than it would wait. */
TEST(stop)
{
	char text[4096];
	int status = -1;

	NEEDS_THREADS_IN_CHILD();
	for (int i = 0; i < TRIES && status; i++) {
		status = run_child(stops, text, sizeof(text));
		assert_string_equal(text, "");
	}
	assert_int_equal(status, 0);
}

/* A child begins afresh; what it has of other threads' callbacks is nothing that runs. */
TEST(child)
{
	struct lull__queue *q;

	lull_rcu_free(malloc(1));
	lull_rcu_barrier();
	q = &lull__self.bag->queue[LULL__CALLS];
	q->watched_ns = 5;
	q->watched_get = q->get;
	q->running = RUNNING;
	q->runner_tid = lull__self.tid + 1;
	q->callback_wait.kind = LULL_WAIT_CALLBACK;
	watchdog.running = 3;
	watchdog.again_ns = 77;
	lull__watchdog_fork_child(lull__self.tid);
	assert_int_equal(q->watched_ns, 0);
	assert_null(q->running);
	assert_int_equal(q->callback_wait.kind, LULL_WAIT_NONE);
	assert_true(!watchdog.running && !watchdog.again_ns && !watchdog.is_there && !watchdog.sleeps && !watchdog.stop);
	/* Its own goes on. */
	q->running = RUNNING;
	q->runner_tid = lull__self.tid + 1;
	lull__self.callback_depth = 1;
	lull__watchdog_fork_child(lull__self.tid + 1);
	lull__self.callback_depth = 0;
	assert_ptr_equal(q->running, RUNNING);
	assert_int_equal(q->runner_tid, lull__self.tid);
	q->running = NULL;
}
