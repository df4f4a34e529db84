/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * storm.c - owners of cohorts end in callbacks of many threads, beside barriers and drains; and what attacks have found.
 */
#include <lull/bridge.h>

#include "cohort/support.h"

struct owner {
	struct lull_cohort_head member;
	struct lull_head alone;
	struct lull_cohort own;
	int depth, value;
};

static struct lull_cohort top[4];
static long born, died;
static int over;
static __thread unsigned seed;

static unsigned chance(unsigned of)
{
	if (!seed)
		seed = (unsigned)(uintptr_t)&seed | 1;
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % of;
}

static void member_ends(struct lull_cohort_head *head);

static struct owner *new_one(int depth)
{
	struct owner *owner = (struct owner *)calloc(1, sizeof(*owner));

	must(owner != NULL);
	owner->depth = depth;
	owner->value = 42;
	lull_add_relaxed(&born, 1);
	for (unsigned i = depth ? chance(3) : 0; i; i--)
		ways[chance(WAYS)](&owner->own, &new_one(depth - 1)->member, member_ends);
	return owner;
}

static void owner_ends(struct owner *owner)
{
	must(owner->value == 42);
	if (chance(2))
		while (lull_cohort_wait_timeout(&owner->own, 1))
			;
	lull_cohort_destroy(&owner->own);
	owner->value = 0;
	free(owner);
	lull_add_relaxed(&died, 1);
}

static void ends_alone(struct lull_head *head)
{
	owner_ends(lull_container_of(head, struct owner, alone));
}

/* Before a member ends it retires more: into its own cohort, and into none. */
static void member_ends(struct lull_cohort_head *head)
{
	struct owner *owner = lull_container_of(head, struct owner, member);

	if (owner->depth) {
		ways[chance(WAYS)](&owner->own, &new_one(owner->depth - 1)->member, member_ends);
		if (!chance(4))
			lull_rcu_call(&new_one(owner->depth - 1)->alone, ends_alone);
	}
	owner_ends(owner);
}

static void *retires(void *unused)
{
	for (int i = 0; i < (SANITIZED ? 100 : 500); i++) {
		struct owner *owner = new_one(2);

		if (chance(2))
			lull_hazptr_call(&owner->alone, ends_alone);
		else
			ways[chance(WAYS)](&top[chance(4)], &owner->member, member_ends);
	}
	return unused;
}

static void *reads_on(void *unused)
{
	while (!lull_load_relaxed(&over)) {
		lull_rcu_read_lock();
		if (!chance(100))
			usleep(200);
		lull_rcu_read_unlock();
	}
	return unused;
}

static void *waits_on(void *unused)
{
	while (!lull_load_relaxed(&over)) {
		lull_reclaim_poll(100, 0);
		lull_cohort_wait_timeout(&top[chance(4)], 5);
		lull_reclaim_drain(20);
		lull_hazptr_barrier_timeout(20);
		usleep(chance(1000));
	}
	return unused;
}

/* Past the hard limit the threads that defer run their own callbacks, so many do at once. */
TEST(owners)
{
	static const enum lull_reclaim_mode modes[] = { LULL_RECLAIM_THREAD, LULL_RECLAIM_POLL, LULL_RECLAIM_CALLER };

	for (int mode = 0; mode < 3; mode++) {
		struct lull_reclaim_counts counts;
		struct lull_reclaim_config config;
		pthread_t threads[5];

		lull_reclaim_default_config(&config);
		config.mode = modes[mode];
		config.soft_items = 500;
		config.hard_items = 1000;
		config.on_hard = LULL_RECLAIM_HELP;
		assert_int_equal(lull_reclaim_configure(&config), 0);
		lull_store_relaxed(&over, 0);
		for (int i = 0; i < 5; i++)
			threads[i] = start_thread(i < 3 ? retires : i == 3 ? reads_on : waits_on, NULL);
		for (int i = 0; i < 5; i++) {
			if (i == 3)
				lull_store_relaxed(&over, 1);
			join_thread(threads[i]);
		}
		assert_int_equal(lull_reclaim_drain(60000), 0);
		assert_int_equal(born, died);
		lull_reclaim_stats(&counts);
		assert_int_equal(counts.items + counts.bytes, 0);
	}
}

/*
 * A callback in the pass of a barrier asks for a later grace period for a queue in which a hazard pointer holds something.
 * The barrier waits for that, too.
 */
static int held_gone;
static struct lull_cohort ended;

static void *reads_later(void *unused)
{
	lull_rcu_read_lock();
	lull_store_release(&reader_is_in, 1);
	await_flag(&reader_may_leave, 1);
	lull_rcu_read_unlock();
	return unused;
}

static pthread_t later_reader;

static void starts_reader(struct lull_cohort_head *unused)
{
	(void)unused;
	later_reader = start_reader(reads_later, NULL);
}

static void ends_cohort(struct lull_head *unused)
{
	(void)unused;
	lull_cohort_destroy(&ended);
}

static void counts_held(struct lull_head *unused)
{
	(void)unused;
	held_gone++;
}

TEST(barrier_for_held)
{
	static struct lull_cohort_head member;
	static struct lull_head head;
	struct held { struct lull_head head; } object, *source = &object, *seen;
	struct lull_hazptr_hold hold;

	set_mode(LULL_RECLAIM_POLL);
	held_gone = 0;
	seen = lull_hazptr_acquire_member(&hold, &source, head);
	lull_cohort_call_rcu(&ended, &member, starts_reader);
	lull_rcu_call_hazptr(&object.head, counts_held);
	lull_hazptr_call(&head, ends_cohort);
	assert_int_equal(lull_hazptr_barrier_timeout(200), -ETIMEDOUT);
	assert_int_equal(held_gone, 0);
	end_reader(later_reader);
	lull_hazptr_release(&hold, seen);
	assert_int_equal(lull_reclaim_drain(20000), 0);
	assert_int_equal(held_gone, 1);
}

/* A barrier waits for a thread that is in its own callback, and that one for a member in a queue which the barrier wants. */
static int in_callback, may_end;
static pthread_t helper;

static void ends_in_own(struct lull_head *unused)
{
	(void)unused;
	if (!pthread_equal(pthread_self(), helper) || lull_load_relaxed(&in_callback))
		return;
	lull_store_release(&in_callback, 1);
	await_flag(&may_end, 1);
	lull_cohort_destroy(&ended);
	lull_store_release(&in_callback, 2);
}

static void *helps_itself(void *unused)
{
	static struct lull_head heads[4000];

	helper = pthread_self();
	for (int i = 0; i < 4000 && !lull_load_relaxed(&in_callback); i++)
		lull_hazptr_call(&heads[i], ends_in_own);
	return unused;
}

static void *barrier(void *unused)
{
	lull_hazptr_barrier();
	return unused;
}

TEST(barrier_beside_owner)
{
	static int gone;
	pthread_t threads[2];

	set_mode(LULL_RECLAIM_CALLER);
	in_callback = may_end = gone = 0;
	threads[0] = start_thread(helps_itself, NULL);
	AWAIT(lull_load_acquire(&in_callback));
	lull_cohort_call_rcu(&ended, &new_member(&gone)->cohort, member_gone);
	threads[1] = start_thread(barrier, NULL);
	usleep(50000);
	lull_store_release(&may_end, 1);
	for (int i = 0; i < 2; i++)
		join_thread(threads[i]);
	assert_int_equal(in_callback, 2);
	assert_int_equal(gone, 1);
}

/* A member forks, inside of a callback for which a drain waits: the child's next drain ends. */
static pid_t forked;

static void forks(struct lull_cohort_head *unused)
{
	(void)unused;
	forked = fork();
	if (forked == 0)
		alarm(60);
}

static void ends_forking(struct lull_head *unused)
{
	static struct lull_cohort_head member;

	(void)unused;
	lull_cohort_call_rcu(&ended, &member, forks);
	lull_cohort_destroy(&ended);
}

static void defers_that(struct lull_head *head)
{
	lull_rcu_call(head, ends_forking);
}

static void fork_inside(void)
{
	struct lull_head head;
	int status;

	set_mode(LULL_RECLAIM_POLL);
	lull_rcu_call(&head, defers_that);
	must(lull_reclaim_drain(20000) == 0);
	if (forked == 0) {
		must(lull_reclaim_drain(20000) == 0);
		_exit(0);
	}
	must(waitpid(forked, &status, 0) == forked && status == 0);
}

TEST(fork_in_drain)
{
	expect_fine(fork_inside);
}
