/* SPDX-License-Identifier: MIT */
/*
 * costs.c - the cost of reclaiming does not grow with threads that have nothing to reclaim, and nobody waits for a thread
 * that does not run. All is counted, none is timed.
 */
#include <string.h>
#include <sys/resource.h>

#include <lull/hazptr.h>
#include <lull/thread.h>

#include "../src/reclaim/backlog.h"
#include "../src/reclaim/pass.h"
#include "random.h"
#include "reader.h"
#include "steps.h"

#if UNDER_TSAN || defined(LULL_TEST_EMULATED)
#define CROWD 40
#else
#define CROWD 200
#endif

/* ---- a crowd of threads that defer once, and again when they are told to --------------------------------------------- */

static int have_deferred, turn, have_run;
static pthread_t crowd[CROWD];
static bool only_register;

static void has_run(struct lull_head *head)
{
	lull_add_release(&have_run, 1);
	free(head);
}

static void defer_all(void)
{
	lull_rcu_free(malloc(24));
	lull_hazptr_retire(malloc(24));
	lull_rcu_call((struct lull_head *)malloc(sizeof(struct lull_head)), has_run);
}

static void *is_in_crowd(void *unused)
{
	int last = 0;

	lull_thread_register();
	while (last >= 0) {
		if (last == 0 && only_register)
			lull_add_release(&have_run, 1);
		else
			defer_all();
		lull_add_release(&have_deferred, 1);
		AWAIT(lull_load_acquire(&turn) != last);
		last = lull_load_acquire(&turn);
	}
	return unused;
}

static void start_crowd(bool registers_only)
{
	only_register = registers_only;
	have_deferred = turn = have_run = 0;
	for (int i = 0; i < CROWD; i++)
		crowd[i] = start_thread(is_in_crowd, NULL);
	await_flag(&have_deferred, CROWD);
}

static void end_crowd(void)
{
	lull_store_release(&turn, -1);
	for (int i = 0; i < CROWD; i++)
		join_thread(crowd[i]);
	lull_hazptr_barrier();
}

/* A sweep takes queues out of the list, and lends what their owners have not added after that. */
static void await_sweep(void)
{
	lull__lock(&lull__reclaimer.sweep_lock);
	lull__unlock(&lull__reclaimer.sweep_lock);
}

/* Reclaim until the list has lost the queues in which nothing waits. */
static void await_short_list(void)
{
	for (int i = 0; i < 10000 && lull_load_relaxed(&lull__reclaimer.listed) > LULL__SPARE_PLACES; i++) {
		lull_hazptr_barrier();
		nap_ms(1);
	}
	assert_in_range(lull_load_relaxed(&lull__reclaimer.listed), 0, LULL__SPARE_PLACES);
	await_sweep();
}

/* Walks look at each queue that is listed, so the list is what they cost. */
TEST(idle_threads_leave_the_list)
{
	start_crowd(false);
	await_flag(&have_run, CROWD);
	await_short_list();
	end_crowd();
}

/* The crowd has not added its entries to the estimate, and may never do so. A look at the list does not show that. */
TEST(what_they_have_not_added_is)
{
	const ssize_t few = 3 * (ssize_t)LULL__SPARE_PLACES;

	start_crowd(false);
	await_flag(&have_run, CROWD);
	await_short_list();
	assert_in_range((ssize_t)lull_load_relaxed(&lull__reclaimer.items) + few, 0, 2 * few);
	assert_in_range((ssize_t)lull_load_relaxed(&lull__reclaimer.retired) + few, 0, 2 * few);
	assert_true((ssize_t)lull_load_relaxed(&lull__reclaimer.bytes) >= -24 * few);
	lull_store_release(&turn, 1);
	await_flag(&have_deferred, 2 * CROWD);
	await_flag(&have_run, 2 * CROWD);
	lull_hazptr_barrier();
	assert_in_range((ssize_t)lull_load_relaxed(&lull__reclaimer.items) + 6 * CROWD, 0, 12 * CROWD);
	end_crowd();
	await_sweep();
	assert_in_range((ssize_t)lull_load_relaxed(&lull__reclaimer.items) + few, 0, 2 * few);
}

/* Sweep until @q, which is empty, is out of the list, however short that is. */
static void sweep_out(struct lull__queue *q)
{
	lull_add_relaxed(&lull__reclaimer.listed, 3u * LULL__SPARE_PLACES);
	while (lull_load_relaxed(&q->listed)) {
		lull_store_relaxed(&lull__reclaimer.idle, 1000u * LULL__SPARE_PLACES);
		lull__sweep();
	}
	lull_sub_relaxed(&lull__reclaimer.listed, 3u * LULL__SPARE_PLACES);
}

/*
 * An owner has added less than it has deferred, or more, since it has reclaimed in its last turns. What does not fit together,
 * since it defers at this moment, is not lent.
 */
TEST(lent_both_ways)
{
	static const struct {
		int more, lent;
	} cases[] = { { 60, -60 }, { -40, 40 }, { 5000, 0 }, { -5000, 0 } };
	struct lull__queue *q;

	start_crowd(false);
	await_flag(&have_run, CROWD);
	lull_rcu_free(malloc(24));
	q = &lull__self.bag->queue[LULL__FREES];
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t before;

		lull_store_relaxed(&q->watched, 1u); /* stays in the list */
		lull_rcu_free(malloc(24));
		lull_hazptr_barrier();
		before = q->in_backlog;
		lull_store_relaxed(&q->in_backlog, q->done + (uint64_t)cases[i].more);
		lull_store_relaxed(&q->watched, 0u);
		sweep_out(q);
		assert_int_equal((int64_t)lull_load_relaxed(&q->lent), cases[i].lent);
		lull_store_relaxed(&q->in_backlog, before);
	}
	end_crowd();
}

/* In a child all that waits has been added, and nothing is lent any more. */
static void has_added_all(void)
{
	must(lull__reclaimer.items == 1 && lull__reclaimer.bytes == 24);
	lull_rcu_barrier();
	must(lull__reclaimer.items == 0 && lull__reclaimer.bytes == 0);
}

TEST(lent_over_fork)
{
	struct lull__queue *q;

	NEEDS_THREADS_IN_CHILD();
	start_crowd(false);
	await_flag(&have_run, CROWD);
	lull_rcu_free(malloc(24));
	await_short_list();
	end_crowd();
	q = &lull__self.bag->queue[LULL__FREES];
	sweep_out(q);
	assert_true(lull__queue_push(q, malloc(24), 24, 0)); /* and forks before it looks whether that is listed */
	EXPECT_FINE {
		has_added_all();
	}
	lull_rcu_free(malloc(24));
	lull_rcu_barrier();
}

/* ---- the look at the hard limits -------------------------------------------------------------------------------------- */

static void limit(size_t hard_items, size_t hard_bytes)
{
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.mode = LULL_RECLAIM_POLL;
	config.soft_items = config.soft_bytes = 0;
	config.hard_items = hard_items;
	config.hard_bytes = hard_bytes;
	assert_int_equal(lull_reclaim_configure(&config), 0);
}

/* How many looks does it take to see that the backlog is over its limit? */
static unsigned looks(void)
{
	size_t items, bytes;
	unsigned count = 1;

	while (count <= 1000 && !lull__over_hard(&items, &bytes))
		count++;
	return count;
}

/*
 * The crowd has added nothing of what it has deferred, items and bytes. So all is counted if a limit might be exceeded. If it
 * is not, the next count comes after some more looks: after one entry in each queue of the list, about.
 */
TEST(counts_now_and_then)
{
	pthread_t reader = start_hold_up();
	size_t items, bytes;
	unsigned pause;

	limit(0, 0); /* nobody reclaims from here on */
	start_crowd(false);
	pause = lull_load_relaxed(&lull__reclaimer.listed) / 64;
	limit(2 * CROWD, 0);
	assert_int_equal(looks(), 1);
	limit(0, 30 * CROWD);
	assert_int_equal(looks(), 1);
	limit(10 * CROWD, 0);
	assert_false(lull__over_hard(&items, &bytes));
	limit(2 * CROWD, 0);
	assert_int_equal(looks(), pause + 1);
	assert_int_equal(looks(), 1);
	end_hold_up(reader);
	set_mode(LULL_RECLAIM_THREAD);
	end_crowd();
}

/* ---- they come back --------------------------------------------------------------------------------------------------- */

/* A thread that has left the list is found again, however often, and nothing of it is lost. It defers no more. */
TEST(they_come_back)
{
	start_crowd(false);
	for (int round = 1; round < 5; round++) {
		await_flag(&have_run, round * CROWD);
		await_short_list();
		lull_store_release(&turn, round);
		await_flag(&have_deferred, (round + 1) * CROWD);
	}
	await_flag(&have_run, 5 * CROWD);
	AWAIT(waiting() == 0);
	end_crowd();
}

/* While a walker may stand at a queue's last place, the queue comes in by the other one. */
TEST(comes_back_elsewhere)
{
	int places = 0;
	uint64_t process;

	process = lull__walk_enter();
	start_crowd(false);
	await_flag(&have_run, CROWD);
	lull_hazptr_barrier();
	for (int i = 0; i < 10000 && lull_load_relaxed(&lull__reclaimer.listed) > LULL__SPARE_PLACES; i++, nap_ms(1)) {
		lull_store_relaxed(&lull__reclaimer.idle, 3 * CROWD);
		lull__sweep();
	}
	lull_store_release(&turn, 1);
	await_flag(&have_deferred, 2 * CROWD);
	await_flag(&have_run, 2 * CROWD);
	lull__lock(&lull__reclaimer.sweep_lock);
	for (struct lull__queue *q = lull__reclaimer.left; q; q = q->next_left, places++)
		assert_true(lull_load_relaxed(&q->listing[0].state) == LULL__LISTING_LEFT ||
			    lull_load_relaxed(&q->listing[1].state) == LULL__LISTING_LEFT);
	lull__unlock(&lull__reclaimer.sweep_lock);
	lull__walk_leave(process);
	assert_true(places > CROWD);
	end_crowd();
}

/* ---- instructions ----------------------------------------------------------------------------------------------------- */

#if CAN_STEP
static int steps;

static void count_step(int signal)
{
	(void)signal;
	steps++;
}

static void poll_in_vain(void)
{
	assert_int_equal(lull_reclaim_poll(SIZE_MAX, 0), 0);
}

static void ask_counts(void)
{
	struct lull_reclaim_counts counts;

	lull_reclaim_stats(&counts);
}

static void end_walks(void)
{
	size_t items, bytes;

	lull__over_hard(&items, &bytes);
	lull__over_soft(false);
	lull__over_retired();
}

/* The fewest of some calls: now and then one does more, for instance sweeps. */
static int steps_of(void (*call)(void))
{
	struct sigaction action = { .sa_handler = count_step }, before;
	int least = 0;

	sigaction(SIGTRAP, &action, &before);
	for (int i = 0; i < 5; i++) {
		steps = 0;
		set_trap_flag(true);
		call();
		set_trap_flag(false);
		least = i == 0 || steps < least ? steps : least;
	}
	sigaction(SIGTRAP, &before, NULL);
	return least;
}

#define CALLS 3

static void count_steps(int *all)
{
	static void (*const call[CALLS])(void) = { poll_in_vain, ask_counts, end_walks };

	await_short_list();
	set_mode(LULL_RECLAIM_POLL);
	lull_hazptr_barrier();
	for (int i = 0; i < CALLS; i++)
		all[i] = steps_of(call[i]);
	set_mode(LULL_RECLAIM_THREAD);
}

/* A poll with nothing to do, the counts, and the look at the limits cost the same, whoever has ever deferred. */
TEST(idle_threads_cost_no_instruction)
{
	int beside_few[CALLS], beside_crowd[CALLS];

	if (under_valgrind())
		SKIP("valgrind steps through nothing");
	start_crowd(true);
	count_steps(beside_few);
	end_crowd();
	start_crowd(false);
	await_flag(&have_run, CROWD);
	count_steps(beside_crowd);
	end_crowd();
	for (int i = 0; i < CALLS; i++)
		/* Some places stay in the list, and a call has some walks. */
		if (beside_crowd[i] > beside_few[i] + 400 * (int)LULL__SPARE_PLACES)
			fail_msg("call %d: %d instructions, %d beside others", i, beside_few[i], beside_crowd[i]);
}
#endif

/* ---- sweeps against deferrals --------------------------------------------------------------------------------------------- */

#define DEFERRERS 4
#define OF_EACH	  (UNDER_TSAN ? 300 : 2000)

static int deferrers_left;

static void *defers_now_and_then(void *arg)
{
	uint64_t seed = (uint64_t)(uintptr_t)arg;

	for (int i = 0; i < OF_EACH; i++) {
		switch (dice(&seed, 4)) {
		case 0:
			lull_rcu_free(malloc(24));
			break;
		case 1:
			lull_hazptr_retire(malloc(24));
			break;
		case 2:
			lull_rcu_call((struct lull_head *)malloc(sizeof(struct lull_head)), has_run);
			break;
		default:
			sched_yield();
		}
	}
	lull_sub_release(&deferrers_left, 1);
	return NULL;
}

/* Sweeps all the time, whether that is worth while or not. */
static void *sweeps(void *unused)
{
	while (lull_load_acquire(&deferrers_left)) {
		lull_store_relaxed(&lull__reclaimer.idle, CROWD);
		lull__sweep();
		sched_yield();
	}
	return unused;
}

/* The crowd makes the list long enough for sweeps. */
TEST(sweeps_lose_nothing)
{
	pthread_t threads[DEFERRERS], sweeper;

	start_crowd(false);
	deferrers_left = DEFERRERS;
	sweeper = start_thread(sweeps, NULL);
	for (uintptr_t i = 0; i < DEFERRERS; i++)
		threads[i] = start_thread(defers_now_and_then, (void *)(i + 1));
	for (int i = 0; i < DEFERRERS; i++)
		join_thread(threads[i]);
	join_thread(sweeper);
	AWAIT(waiting() == 0); /* without a barrier, and nobody defers any more */
	end_crowd();
}

/* ---- nobody waits ------------------------------------------------------------------------------------------------------- */

static struct lull__bag *owners_bag;

static void *lends_bag(void *unused)
{
	lull_rcu_free(malloc(24));
	lull_store_release(&owners_bag, lull__self.bag);
	await_flag(&turn, 1);
	return unused;
}

/* A pass that looks for abandoned entries finds an owner that is reclaiming, and the scheduler has stopped: it goes on. */
TEST(owner_does_not_run)
{
	struct lull__queue *taken;
	pthread_t reader = start_hold_up(), owner; /* so that it is still there */

	set_mode(LULL_RECLAIM_POLL);
	owners_bag = NULL;
	turn = 0;
	owner = start_thread(lends_bag, NULL);
	AWAIT(lull_load_acquire(&owners_bag) != NULL);
	lull_store_relaxed(&owners_bag->queue[LULL__FREES].owner_helps, 1u);
	lull_store_release(&owners_bag->queue[LULL__FREES].busy, 1u);
	taken = lull__take_due(PASS_ABANDONED, LULL__TAKE_ALL, true);
	for (struct lull__queue *q = taken; q; q = q->next_taken)
		assert_ptr_not_equal(q, &owners_bag->queue[LULL__FREES]);
	assert_int_equal(lull_load_relaxed(&owners_bag->queue[LULL__FREES].revoked), 0);
	assert_int_equal(lull_load_relaxed(&owners_bag->queue[LULL__FREES].owner_helps), 1); /* else the next pass would not wait for it */
	lull__give_back(taken);
	lull_store_release(&owners_bag->queue[LULL__FREES].busy, 0u);
	end_hold_up(reader);
	lull_store_release(&turn, 1);
	join_thread(owner);
	set_mode(LULL_RECLAIM_THREAD);
}

static void *takes_all(void *unused)
{
	lull__give_back(lull__take_due(PASS_ALL, LULL__TAKE_ALL, true));
	return unused;
}

/* A thread that waits for a queue is in no walk, so bags are freed meanwhile; but not the bag of that queue. */
TEST(waits_outside_of_walks)
{
	pthread_t reader = start_hold_up(), owner, taker;
	struct lull__queue *q;

	set_mode(LULL_RECLAIM_POLL);
	owners_bag = NULL;
	turn = 0;
	owner = start_thread(lends_bag, NULL);
	AWAIT(lull_load_acquire(&owners_bag) != NULL);
	q = &owners_bag->queue[LULL__FREES];
	lull__lock(&q->lock);
	taker = start_thread(takes_all, NULL);
	AWAIT(lull_load_acquire(&owners_bag->pins) == 1);
	AWAIT(lull_load_acquire(&lull__reclaimer.walkers) == 0);
	assert_int_equal(lull_load_relaxed(&owners_bag->pins), 1);
	lull__unlock_wake(&q->lock, 1);
	join_thread(taker);
	assert_int_equal(lull_load_relaxed(&owners_bag->pins), 0);
	end_hold_up(reader);
	lull_store_release(&turn, 1);
	join_thread(owner);
	set_mode(LULL_RECLAIM_THREAD);
}

/* ---- callbacks that defer callbacks ------------------------------------------------------------------------------------- */

#define LINKS 2000

static int links_left;
static long slept_at_first, slept_at_last;

static long sleeps(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
	return usage.ru_nvcsw;
}

static void goes_on(struct lull_head *head)
{
	if (links_left == LINKS)
		slept_at_first = sleeps();
	slept_at_last = sleeps();
	if (lull_sub_release(&links_left, 1) > 1)
		lull_rcu_call(head, goes_on);
}

/* Each link of a chain of callbacks waits for a grace period, and not for a nap. */
TEST(chain)
{
	struct lull_head head;
	long least = LINKS;

	for (int tries = 0; tries < 5 && least > LINKS / 4; tries++) {
		long slept;

		links_left = LINKS;
		lull_rcu_call(&head, goes_on);
		AWAIT(lull_load_acquire(&links_left) == 0);
		slept = slept_at_last - slept_at_first;
		least = slept < least ? slept : least;
	}
	if (!under_valgrind())
		assert_in_range(least, 0, LINKS / 4);
}

/* ---- what hazard pointers hold ----------------------------------------------------------------------------------------------- */

#define FLOOD 8000

static void *floods(void *slept)
{
	long before = sleeps();

	for (int i = 0; i < FLOOD; i++)
		lull_rcu_call((struct lull_head *)malloc(sizeof(struct lull_head)), has_run);
	*(long *)slept = sleeps() - before;
	return NULL;
}

static long sleeps_in_flood(void)
{
	long slept = 0;

	join_thread(start_thread(floods, &slept));
	lull_rcu_barrier();
	return slept;
}

/* A thread is held back when that can do some good: not by an object that somebody protects, however large. */
TEST(held_object_holds_nobody_back)
{
	struct lull_hazptr_hold hold;
	void *object = malloc((size_t)32 << 20);
	long free_of_it = FLOOD, beside = FLOOD;

	assert_non_null(object);
	for (int tries = 0; tries < 5; tries++) {
		long slept = sleeps_in_flood();

		free_of_it = slept < free_of_it ? slept : free_of_it;
	}
	assert_ptr_equal(lull_hazptr_acquire(&hold, &object), object);
	lull_hazptr_retire(object);
	lull_rcu_barrier(); /* a pass has seen that it is protected */
	for (int tries = 0; tries < 5; tries++) {
		long slept = sleeps_in_flood();

		beside = slept < beside ? slept : beside;
	}
	assert_int_equal(lull__reclaimer.kept_items, 1);
	assert_in_range(lull__reclaimer.kept_bytes, (size_t)32 << 20, (size_t)33 << 20);
	lull_hazptr_release(&hold, object);
	lull_hazptr_barrier();
	assert_int_equal(lull__reclaimer.kept_items, 0);
	assert_int_equal(lull__reclaimer.kept_bytes, 0);
	if (beside > free_of_it + FLOOD / 64 / 2)
		fail_msg("%ld waits, %ld beside an object that is held", free_of_it, beside);
}

/* ---- threads that have unregistered ------------------------------------------------------------------------------------------- */

#define RETIRED_MANY 20000

static void *unregisters_and_retires(void *most)
{
	lull_thread_unregister();
	for (int i = 0; i < RETIRED_MANY; i++) {
		lull_hazptr_retire(malloc(24));
		if (i % 64 == 0 && waiting() > *(size_t *)most)
			*(size_t *)most = waiting();
	}
	return NULL;
}

static void *unregisters_and_floods(void *slept)
{
	lull_thread_unregister();
	return floods(slept);
}

/* The bound of retired memory holds for them, and they are held back by a reader that stays. */
TEST(unregistered)
{
	pthread_t thread;
	size_t most = 0;
	long slept = 0;

	set_mode(LULL_RECLAIM_POLL); /* nobody else frees */
	join_thread(start_thread(unregisters_and_retires, &most));
	assert_in_range(most, 1, 4096 + 128 * 8 + 3 * LULL_HAZPTR_SLOTS * 8);
	lull_hazptr_barrier();
	set_mode(LULL_RECLAIM_THREAD);
	thread = start_hold_up();
	join_thread(start_thread(unregisters_and_floods, &slept));
	end_hold_up(thread);
	lull_rcu_barrier();
	if (!under_valgrind())
		assert_in_range(slept, (FLOOD - 4096) / 64 - 8, FLOOD);
}

/* ---- callbacks that defer, in a look at the limits of a thread past its exit handling ------------------------------------------ */

struct once {
	struct lull_head head;
	int runs, left;
};

#define ONCES 3000
static struct once onces[2][ONCES];

static void runs_once(struct lull_head *head)
{
	struct once *o = lull_container_of(head, struct once, head);

	lull_add_relaxed(&o->runs, 1);
	if (o->left-- > 0)
		lull_rcu_call(head, runs_once);
}

static void *unregisters_and_calls(void *all)
{
	lull_thread_unregister();
	for (int i = 0; i < ONCES; i++) {
		((struct once *)all)[i] = (struct once){ .left = 1 };
		lull_rcu_call(&((struct once *)all)[i].head, runs_once);
	}
	return NULL;
}

TEST(past_exit_handling)
{
	struct lull_reclaim_config config;
	pthread_t threads[2];

	lull_reclaim_default_config(&config);
	config.on_hard = LULL_RECLAIM_HELP;
	config.soft_items = 64;
	config.hard_items = 256;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	for (int i = 0; i < 2; i++)
		threads[i] = start_thread(unregisters_and_calls, onces[i]);
	for (int i = 0; i < 2; i++)
		join_thread(threads[i]);
	lull_rcu_barrier();
	for (int i = 0; i < 2 * ONCES; i++)
		assert_int_equal(onces[i / ONCES][i % ONCES].runs, 2);
	set_mode(LULL_RECLAIM_THREAD);
}

/* ---- the thread has ended ---------------------------------------------------------------------------------------------------- */

/* A thread that frees its own memory at once, while there is no other, still finds out when something stays. */
TEST(comes_without_thread)
{
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.idle_ms = 1;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 200; i++)
			lull_rcu_free(malloc(24));
		AWAIT(waiting() == 0);
		AWAIT(lull_load_relaxed(&lull__reclaimer.thread) == NO_THREAD);
		lull_rcu_free(malloc(24));
		lull_rcu_free(malloc(24));
		AWAIT(waiting() == 0);
	}
	set_mode(LULL_RECLAIM_THREAD);
}

BEFORE_ALL
{
	alarm(100);
}
