/* SPDX-License-Identifier: MIT */
/* runs: full-fences, alone */
/*
 * inside.c - cohorts that end in a callback: its thread runs their members there, wherever they wait.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "cohort/support.h"

/* An object with a cohort of its own, and its parts. The last one is retired when the object itself goes. */
enum { PARTS = 4 };

struct owner {
	struct lull_cohort_head cohort;
	struct lull_cohort own;
	struct owner *below; /* an owner in place of a part */
	struct member *last;
	retire_func way;
	int gone; /* of the parts */
};

static int owners, wrong;

static struct owner *new_owner(retire_func way, struct owner *below)
{
	struct owner *owner = (struct owner *)calloc(1, sizeof(*owner));

	assert_non_null(owner);
	owner->way = way;
	owner->below = below;
	owner->last = new_member(&owner->gone);
	for (int i = 0; i < PARTS - 1; i++)
		way(&owner->own, &new_member(&owner->gone)->cohort, member_gone);
	return owner;
}

static void owner_gone(struct lull_cohort_head *head)
{
	struct owner *owner = lull_container_of(head, struct owner, cohort);
	int seen = owners, deeper = 0;

	owner->way(&owner->own, &owner->last->cohort, member_gone);
	for (struct owner *below = owner->below; below; below = below->below)
		deeper++;
	if (owner->below)
		owner->way(&owner->own, &owner->below->cohort, owner_gone);
	lull_cohort_destroy(&owner->own);
	wrong += owner->gone != PARTS || owners < seen + deeper;
	free(owner);
	lull_add_release(&owners, 1);
}

static struct lull_cohort all;

static void check_owners(int count)
{
	lull_cohort_wait(&all);
	assert_int_equal(owners, count);
	assert_int_equal(wrong, 0);
	owners = 0;
}

static const enum lull_reclaim_mode modes[] = { LULL_RECLAIM_THREAD, LULL_RECLAIM_POLL, LULL_RECLAIM_CALLER };

TEST(each_way)
{
	for (int mode = 0; mode < 3; mode++) {
		set_mode(modes[mode]);
		for (int i = 0; i < WAYS * WAYS; i++) {
			ways[i / WAYS](&all, &new_owner(ways[i % WAYS], NULL)->cohort, owner_gone);
			check_owners(1);
		}
		for (int i = 0; i < 300; i++)
			ways[i % WAYS](&all, &new_owner(ways[i / WAYS % WAYS], NULL)->cohort, owner_gone);
		check_owners(300);
	}
}

TEST(owners_of_owners)
{
	for (int mode = 0; mode < 3; mode++) {
		struct owner *top = NULL;

		set_mode(modes[mode]);
		for (int i = 0; i < 50; i++)
			top = new_owner(ways[i % WAYS], top);
		ways[mode](&all, &top->cohort, owner_gone);
		check_owners(50);
	}
}

/* A callback that is no cohort's may end one, too; and wait for one, with a limit. */
static struct lull_cohort ended;
static int ended_in_time, part_gone;

static void ends_another(struct lull_head *unused)
{
	(void)unused;
	lull_store_release(&ended_in_time, lull_cohort_wait_timeout(&ended, 20));
	lull_cohort_destroy(&ended);
}

/* No member goes before its reader; a wait in a callback waits for that one. */
static void held_by(void *(*how)(void *), retire_func way)
{
	struct member *member = new_member(&part_gone);
	struct lull_head head;
	pthread_t reader;

	part_gone = 0;
	reader = start_reader(how, &member);
	way(&ended, &member->cohort, member_gone);
	ended_in_time = 1;
	lull_hazptr_call(&head, ends_another);
	AWAIT(lull_load_acquire(&ended_in_time) != 1);
	assert_int_equal(ended_in_time, -ETIMEDOUT);
	assert_int_equal(part_gone, 0);
	end_reader(reader);
	lull_hazptr_barrier();
	assert_int_equal(part_gone, 1);
	assert_true(lull_cohort_is_empty(&ended));
}

TEST(readers)
{
	held_by(reads, lull_cohort_call_rcu);
	held_by(protects, lull_cohort_call_hazptr);
	held_by(reads, lull_cohort_call_rcu_hazptr);
	held_by(protects, lull_cohort_call_rcu_hazptr);
}

/*
 * The pass that runs the callback waits for a grace period, with this thread's queue in hand. What comes to that
 * queue now is not part of the pass. What was there is, and a barrier waits for it.
 */
static int in_callback, may_end, earlier, barrier_is_over;

static void ends_late(struct lull_head *unused)
{
	(void)unused;
	lull_store_release(&in_callback, 1);
	await_flag(&may_end, 1);
	lull_cohort_destroy(&ended);
}

static void runs_earlier(struct lull_head *unused)
{
	(void)unused;
	lull_add_release(&earlier, 1);
}

static void *barrier_and_look(void *unused)
{
	lull_rcu_barrier();
	lull_store_release(&barrier_is_over, 1 + lull_load_relaxed(&earlier));
	return unused;
}

TEST(in_hand)
{
	struct lull_head head, before;
	pthread_t reader, barrier;

	for (int i = 0; i < 20; i++) {
		in_callback = may_end = earlier = barrier_is_over = part_gone = 0;
		reader = start_reader(reads, NULL);
		lull_rcu_call(&before, runs_earlier);
		lull_hazptr_call(&head, ends_late);
		barrier = start_thread(barrier_and_look, NULL);
		await_flag(&in_callback, 1);
		lull_cohort_call_rcu(&ended, &new_member(&part_gone)->cohort, member_gone);
		lull_store_release(&may_end, 1);
		end_reader(reader);
		AWAIT(lull_load_acquire(&barrier_is_over));
		join_thread(barrier);
		assert_int_equal(barrier_is_over, 2);
		lull_hazptr_barrier();
		assert_int_equal(part_gone, 1);
	}
}

/*
 * The callback asks for a grace period for what came to the queue in hand. The pass, whose own is over, must not take it
 * for over.
 */
static int later_ran, has_ended;

static void runs_later(struct lull_head *unused)
{
	(void)unused;
	lull_store_release(&later_ran, 1);
}

static void ends_held(struct lull_head *unused)
{
	(void)unused;
	lull_store_release(&in_callback, 1);
	lull_cohort_destroy(&ended);
	lull_store_release(&has_ended, 1);
}

TEST(asked_in_hand)
{
	struct member *member = new_member(&part_gone), *seen;
	struct lull_head head, before, later;
	struct lull_hazptr_hold hold;
	pthread_t reader = start_reader(reads, NULL);

	in_callback = later_ran = has_ended = earlier = part_gone = 0;
	seen = lull_hazptr_acquire_member(&hold, &member, cohort.head);
	lull_rcu_call(&before, runs_earlier);
	lull_cohort_call_hazptr(&ended, &member->cohort, member_gone);
	lull_hazptr_call(&head, ends_held);
	await_flag(&in_callback, 1);
	lull_rcu_read_lock();
	lull_rcu_call(&later, runs_later);
	end_reader(reader); /* the pass's grace period is over ... */
	usleep(40000);	    /* ... and the callback has asked for another one, which waits for this thread */
	lull_hazptr_release(&hold, seen);
	await_flag(&has_ended, 1);
	usleep(20000);
	assert_int_equal(later_ran, 0);
	lull_rcu_read_unlock();
	assert_int_equal(lull_reclaim_drain(20000), 0);
	assert_int_equal(later_ran + earlier + part_gone, 3);
}

/* Two threads are in callbacks, and each has the member in hand that the other's callback waits for. */
static struct {
	struct lull_cohort cohort;
	struct lull_head owner;
	struct lull_cohort_head part; /* of the other's cohort */
	int is_in, parts, over;
} side[2];

static void part_of_other(struct lull_cohort_head *head)
{
	lull_add_release(&side[head == &side[0].part].parts, 1);
}

static void meets_and_ends(struct lull_head *head)
{
	int mine = head == &side[1].owner;

	lull_store_release(&side[mine].is_in, 1);
	await_flag(&side[!mine].is_in, 1);
	lull_cohort_destroy(&side[mine].cohort);
	if (lull_load_relaxed(&side[mine].parts) != 1)
		lull_add_relaxed(&wrong, 1);
	lull_store_release(&side[mine].over, 1);
}

static void nothing(struct lull_head *unused)
{
	(void)unused;
}

/* The first one has its own queue in hand when the second one's comes. */
static void *polls_own(void *arg)
{
	int mine = arg != NULL;

	if (mine)
		await_flag(&side[0].is_in, 1);
	lull_rcu_call(&side[mine].owner, meets_and_ends);
	lull_cohort_call_rcu(&side[!mine].cohort, &side[mine].part, part_of_other);
	while (!lull_load_acquire(&side[mine].over))
		lull_reclaim_poll(SIZE_MAX, 0);
	return NULL;
}

TEST(each_has_the_others)
{
	set_mode(LULL_RECLAIM_POLL);
	for (int i = 0; i < 50; i++) {
		pthread_t threads[2];

		memset(side, 0, sizeof(side));
		wrong = 0;
		threads[0] = start_thread(polls_own, NULL);
		threads[1] = start_thread(polls_own, &side[1]);
		for (int k = 0; k < 2; k++)
			join_thread(threads[k]);
		assert_int_equal(wrong, 0);
	}
}

/* Nothing holds the first one's wait up but that another thread runs a member out of its queue: it goes on when that returns. */
static int lent_runs, lent_may_return;

static void lent_part(struct lull_cohort_head *unused)
{
	(void)unused;
	lull_store_release(&lent_runs, 1);
	await_flag(&lent_may_return, 1);
}

static void *polls_first(void *unused)
{
	lull_hazptr_call(&side[0].owner, meets_and_ends);
	lull_cohort_call_hazptr(&side[1].cohort, &side[0].part, lent_part);
	lull_reclaim_poll(SIZE_MAX, 0);
	return unused;
}

static void *polls_second(void *unused)
{
	await_flag(&side[0].is_in, 1);
	side[1].parts = 1;
	lull_hazptr_call(&side[1].owner, meets_and_ends);
	while (!lull_load_acquire(&side[1].over))
		lull_reclaim_poll(SIZE_MAX, 0);
	return unused;
}

TEST(lent)
{
	struct member *member = new_member(&side[0].parts), *seen;
	struct lull_hazptr_hold hold;
	pthread_t threads[2];
	int early;

	memset(side, 0, sizeof(side));
	wrong = lent_runs = lent_may_return = 0;
	set_mode(LULL_RECLAIM_POLL);
	seen = lull_hazptr_acquire_member(&hold, &member, cohort.head);
	lull_cohort_call_hazptr(&side[0].cohort, &member->cohort, member_gone);
	threads[0] = start_thread(polls_first, NULL);
	threads[1] = start_thread(polls_second, NULL);
	await_flag(&lent_runs, 1);
	lull_hazptr_release(&hold, seen);
	usleep(30000);
	early = lull_load_relaxed(&side[0].over);
	lull_store_release(&lent_may_return, 1);
	for (int k = 0; k < 2; k++)
		join_thread(threads[k]);
	assert_int_equal(early, 0);
	assert_int_equal(wrong, 0);
}

/* Callbacks that wait elsewhere are not looked at when all that is left has just been retired by the callback itself. */
enum { OTHERS = 500 };

static void *defers_others(void *others)
{
	for (int i = 0; i < OTHERS; i++)
		lull_rcu_call((struct lull_head *)others + i, nothing);
	return NULL;
}

TEST(others_are_not_touched)
{
	size_t bytes = OTHERS * sizeof(struct lull_head) + 4096;
	struct lull_head *others = (struct lull_head *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t reader;

	assert_true(others != MAP_FAILED);
	if (SANITIZED)
		SKIP("a sanitizer's library looks at what is deferred");
	set_mode(LULL_RECLAIM_POLL);
	lull_rcu_free(malloc(16)); /* or this thread gets the queue of the one that has ended, and the others are its own */
	reader = start_reader(reads, NULL);
	join_thread(start_thread(defers_others, others));
	lull_cohort_call_hazptr(&all, &new_owner(lull_cohort_call_hazptr, NULL)->cohort, owner_gone);
	assert_int_equal(mprotect(others, bytes, PROT_NONE), 0);
	while (!lull_load_relaxed(&owners))
		lull_reclaim_poll(SIZE_MAX, 0);
	assert_int_equal(mprotect(others, bytes, PROT_READ | PROT_WRITE), 0);
	end_reader(reader);
	lull_rcu_barrier();
	check_owners(1);
	munmap(others, bytes);
}

/* A member's callback forks inside. Both processes go on with it, and with what waits for it. */
static pid_t forked;

static void forks(struct lull_cohort_head *head)
{
	forked = fork();
	if (forked == 0)
		alarm(60);
	member_gone(head);
}

static void ends_with_fork(struct lull_cohort_head *head)
{
	lull_cohort_call_hazptr(&ended, &new_member(&part_gone)->cohort, forks);
	lull_cohort_call_hazptr(&ended, &new_member(&part_gone)->cohort, member_gone);
	lull_cohort_destroy(&ended);
	member_gone(head);
}

static void fork_inside(void)
{
	int gone = 0, status;

	set_mode(LULL_RECLAIM_POLL);
	part_gone = 0;
	lull_cohort_call_rcu(&all, &new_member(&gone)->cohort, ends_with_fork);
	lull_cohort_call_rcu(&all, &new_member(&gone)->cohort, member_gone);
	lull_cohort_wait(&all);
	must(part_gone == 2 && gone == 2);
	lull_cohort_call_rcu(&all, &new_member(&gone)->cohort, member_gone);
	must(!lull_cohort_is_empty(&all));
	lull_cohort_wait(&all);
	must(gone == 3);
	if (forked == 0)
		_exit(0);
	must(waitpid(forked, &status, 0) == forked && status == 0);
}

TEST(forks)
{
	expect_fine(fork_inside);
}

/* A callback cannot wait for its own cohort. */
static void waits_for_own(struct lull_cohort_head *head)
{
	lull_cohort_wait(head->cohort);
}

static void ends_the_outer(struct lull_cohort_head *head)
{
	(void)head;
	lull_cohort_destroy(&all);
}

static void outer(struct lull_cohort_head *head)
{
	static struct lull_cohort_head inner;

	(void)head;
	lull_cohort_call_hazptr(&ended, &inner, ends_the_outer);
	lull_cohort_wait(&ended);
}

static void waits_at_start(const char *unused)
{
	static int others;

	(void)unused;
	if (!lull_add_relaxed(&others, 1)) /* lull starts two threads */
		lull_cohort_wait(&all);
}

TEST(misuse)
{
	struct lull_cohort_head head;

	EXPECT_ABORT("lull_cohort_wait in a callback of the same cohort would wait for itself for ever") {
		set_mode(LULL_RECLAIM_POLL);
		lull_cohort_call_rcu(&all, &head, waits_for_own);
		lull_rcu_barrier();
	}
	EXPECT_ABORT("lull_cohort_destroy in a callback of the same cohort would wait for itself for ever") {
		set_mode(LULL_RECLAIM_POLL);
		lull_cohort_call_rcu(&all, &head, outer);
		lull_rcu_barrier();
	}
}

TEST_BARE(at_start_of_thread)
{
	NEEDS_THREADS_IN_CHILD();
	EXPECT_ABORT("lull_cohort_wait in thread_start would wait for itself for ever") {
		struct lull_reclaim_config config;

		lull_reclaim_default_config(&config);
		config.thread_start = waits_at_start;
		lull_reclaim_configure(&config);
		lull_reclaim_start();
	}
}
