/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences */
/*
 * public.c - cohort.h: what a wait waits for, and what not; in all modes of reclaim.h.
 */
#include "cohort/support.h"

/* ---- what it waits for ------------------------------------------------------------------------------ */

/* A reader that may have the object, in a section or by a hazard pointer, holds the wait up; and what it has is whole. */
static void wait_for_reader(retire_func retire, void *(*how)(void *))
{
	struct lull_cohort c = LULL_COHORT_INIT;
	int gone = 0;
	struct member *member = new_member(&gone), *published = member;
	pthread_t reader = start_reader(how, &published), waiter;

	lull_store_relaxed(&published, (struct member *)NULL);
	assert_true(lull_cohort_is_empty(&c));
	retire(&c, &member->cohort, member_gone);
	assert_false(lull_cohort_is_empty(&c));
	waiter = start_waiter(&c);
	assert_int_equal(lull_cohort_wait_timeout(&c, 20), -ETIMEDOUT);
	assert_int_equal(lull_load_acquire(&waited), 0);
	assert_int_equal(lull_load_relaxed(&gone), 0);
	end_reader(reader);
	join_thread(waiter);
	assert_int_equal(gone, 1);
	assert_true(lull_cohort_is_empty(&c));
}

TEST(readers)
{
	wait_for_reader(lull_cohort_call_rcu, reads);
	wait_for_reader(lull_cohort_call_hazptr, protects);
	wait_for_reader(lull_cohort_call_rcu_hazptr, reads);
	wait_for_reader(lull_cohort_call_rcu_hazptr, protects);
}

static struct lull_cohort empty = LULL_COHORT_INIT;
static int asked;

static void asks(int sig)
{
	(void)sig;
	lull_cohort_destroy(&empty); /* in any context, as it is empty */
	asked += lull_cohort_is_empty(&empty);
}

static void asks_in_callback(struct lull_head *head)
{
	(void)head;
	asks(0);
}

TEST(empty)
{
	struct lull_cohort c;
	struct lull_head head;

	c.state = 0x5a5a; /* of the process that has not been forked */
	assert_false(lull_cohort_is_empty(&c));
	lull_cohort_init(&c);
	assert_true(lull_cohort_is_empty(&c));
	lull_cohort_wait(&c);
	assert_int_equal(lull_cohort_wait_timeout(&c, 0), 0);
	lull_rcu_read_lock();
	asks(0);
	lull_rcu_read_unlock();
	lull_rcu_call(&head, asks_in_callback);
	lull_rcu_barrier();
	signal(SIGUSR1, asks);
	raise(SIGUSR1);
	assert_int_equal(asked, 3);
}

/* The callback gets the head that it was called with, and a waiter sees all that it did, and when it has done it. */
static int begun, may_return;
static struct lull_cohort_head *seen;
static int done;

static void takes_long(struct lull_cohort_head *head)
{
	seen = head;
	lull_store_release(&begun, 1);
	await_flag(&may_return, 1);
	done = 1;
}

TEST(has_returned)
{
	struct lull_cohort c = LULL_COHORT_INIT;
	struct lull_cohort_head head;

	for (int i = 0; i < WAYS; i++) {
		begun = may_return = done = 0;
		ways[i](&c, &head, takes_long);
		await_flag(&begun, 1);
		assert_int_equal(lull_cohort_wait_timeout(&c, 20), -ETIMEDOUT);
		lull_store_release(&may_return, 1);
		lull_cohort_wait(&c);
		assert_int_equal(done, 1);
		assert_ptr_equal(seen, &head);
	}
}

/* Other callbacks retire into the cohort, many generations. */
static struct lull_cohort many;
static int generations;

static void retires_again(struct lull_cohort_head *head)
{
	if (++generations < 60)
		ways[generations % WAYS](head->cohort, head, retires_again);
}

TEST(generations)
{
	static const enum lull_reclaim_mode modes[] = { LULL_RECLAIM_THREAD, LULL_RECLAIM_POLL, LULL_RECLAIM_CALLER };
	struct lull_cohort_head head;

	for (int mode = 0; mode < 3; mode++) {
		set_mode(modes[mode]);
		generations = 0;
		lull_cohort_call_rcu(&many, &head, retires_again);
		lull_cohort_wait(&many);
		assert_int_equal(generations, 60);
	}
}

static long links;

static void links_again(struct lull_cohort_head *head)
{
	if (--links)
		lull_cohort_call_hazptr(&many, head, links_again);
}

TEST(generations_at_once)
{
	enum { LINKS = 40000 }; /* more than are saved up: see reclaim.h */
	struct lull_reclaim_counts before, after;
	struct lull_cohort_head head;

	links = LINKS;
	lull_reclaim_stats(&before);
	lull_cohort_call_hazptr(&many, &head, links_again);
	lull_cohort_wait(&many);
	lull_reclaim_stats(&after);
	assert_int_equal(links, 0);
	assert_in_range(after.wakeups - before.wakeups, 0, LINKS / 10);
}

/* A caller that finds it empty without a wait sees as much. */
static int written_in_callback;

static void writes(struct lull_cohort_head *head)
{
	(void)head;
	written_in_callback = 7;
}

TEST(is_empty_shows)
{
	struct lull_cohort c = LULL_COHORT_INIT;
	struct lull_cohort_head head;

	lull_cohort_call_rcu(&c, &head, writes);
	AWAIT(lull_cohort_is_empty(&c));
	assert_int_equal(written_in_callback, 7);
}

/* The callbacks of one queue run one after the other. */
static void waits_for_flag(struct lull_head *head)
{
	(void)head;
	lull_store_release(&begun, 1);
	await_flag(&may_return, 1);
}

TEST(behind_others)
{
	struct lull_cohort c = LULL_COHORT_INIT;
	struct lull_head others;
	int gone = 0;

	begun = may_return = 0;
	lull_rcu_call(&others, waits_for_flag);
	await_flag(&begun, 1);
	lull_cohort_call_rcu(&c, &new_member(&gone)->cohort, member_gone);
	assert_int_equal(lull_cohort_wait_timeout(&c, 20), -ETIMEDOUT);
	assert_int_equal(gone, 0);
	lull_store_release(&may_return, 1);
	lull_cohort_wait(&c);
	assert_int_equal(gone, 1);
}

/* ---- what it does not wait for ------------------------------------------------------------------------ */

static void unrelated(enum lull_reclaim_mode mode)
{
	struct lull_cohort mine = LULL_COHORT_INIT, theirs = LULL_COHORT_INIT;
	int gone = 0, their_gone = 0;
	struct member *member = new_member(&their_gone), *published = member;
	pthread_t holder = start_reader(protects, &published);

	set_mode(mode);
	lull_cohort_call_hazptr(&theirs, &member->cohort, member_gone);
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	for (int i = 0; i < WAYS; i++) {
		ways[i](&mine, &new_member(&gone)->cohort, member_gone);
		lull_cohort_wait(&mine);
		assert_int_equal(gone, i + 1);
	}
	assert_int_equal(their_gone, 0);
	end_reader(holder);
	lull_cohort_destroy(&theirs);
	assert_int_equal(their_gone, 1);
}

TEST(unrelated)
{
	unrelated(LULL_RECLAIM_THREAD);
	unrelated(LULL_RECLAIM_POLL);
	unrelated(LULL_RECLAIM_CALLER);
}

/* A reader in a section holds up no cohort of which nothing waits for sections. */
TEST(no_section)
{
	struct lull_cohort c = LULL_COHORT_INIT;
	int gone = 0;
	pthread_t reader = start_reader(reads, NULL), waiter;
	struct lull_hazptr_hold hold;
	struct member *published;

	for (int i = 0; i < 2; i++) {
		set_mode(i ? LULL_RECLAIM_POLL : LULL_RECLAIM_THREAD);
		lull_rcu_free(malloc(16));
		lull_cohort_call_hazptr(&c, &new_member(&gone)->cohort, member_gone);
		lull_cohort_wait(&c);
		assert_int_equal(gone, i + 1);
	}
	/* The thread that waits in its turn does not wait for that reader either. */
	published = new_member(&gone);
	lull_hazptr_acquire_member(&hold, &published, cohort.head);
	lull_cohort_call_hazptr(&c, &published->cohort, member_gone);
	waiter = start_waiter(&c);
	nap_ms(50);
	lull_hazptr_release(&hold, published);
	join_thread(waiter);
	assert_int_equal(gone, 3);
	end_reader(reader);
}

/* ---- who runs the callbacks --------------------------------------------------------------------------- */

static pthread_t ran_on;

static void notes_thread(struct lull_cohort_head *head)
{
	(void)head;
	ran_on = pthread_self();
}

TEST(who)
{
	struct lull_cohort c = LULL_COHORT_INIT;
	struct lull_cohort_head head;

	for (int i = 0; i < WAYS; i++) {
		set_mode(LULL_RECLAIM_THREAD);
		ways[i](&c, &head, notes_thread);
		lull_cohort_wait(&c);
		assert_false(pthread_equal(ran_on, pthread_self()));
		set_mode(LULL_RECLAIM_POLL);
		ways[i](&c, &head, notes_thread);
		assert_int_equal(lull_cohort_wait_timeout(&c, UINT64_MAX), 0);
		assert_true(pthread_equal(ran_on, pthread_self()));
	}
	/* Others' as well. */
	lull_rcu_read_lock();
	lull_cohort_call_rcu(&many, &head, notes_thread);
	lull_rcu_read_unlock();
	for (int i = 0; i < WAYS; i++) {
		int gone = 0;

		ways[i](&c, &new_member(&gone)->cohort, member_gone);
		lull_cohort_destroy(&c);
		assert_int_equal(gone, 1);
	}
	lull_cohort_wait(&many);
}

static int left_ran;

static void notes_run(struct lull_cohort_head *head)
{
	(void)head;
	lull_add_release(&left_ran, 1);
}

/* An object that another thread has deferred and left behind: under CALLER it would have run that itself. */
static void *retires_one(void *arg)
{
	lull_cohort_call_rcu(&many, (struct lull_cohort_head *)arg, notes_run);
	return NULL;
}

TEST(left_behind)
{
	static const enum lull_reclaim_mode modes[] = { LULL_RECLAIM_THREAD, LULL_RECLAIM_POLL, LULL_RECLAIM_CALLER };
	struct lull_cohort_head head;

	for (int mode = 0; mode < 3; mode++) {
		set_mode(modes[mode]);
		left_ran = 0;
		join_thread(start_thread(retires_one, &head));
		assert_int_equal(lull_cohort_wait_timeout(&many, PATIENCE_NS / 1000000), 0);
		assert_int_equal(lull_load_acquire(&left_ran), 1);
	}
}

/* The program begins to poll while a thread waits: from then on that thread has to. */
TEST(mode_changes)
{
	struct lull_cohort c = LULL_COHORT_INIT;
	int gone = 0;
	struct member *member = new_member(&gone), *published = member;
	pthread_t reader = start_reader(protects, &published), waiter;

	lull_cohort_call_hazptr(&c, &member->cohort, member_gone);
	waiter = start_waiter(&c);
	set_mode(LULL_RECLAIM_POLL);
	end_reader(reader);
	join_thread(waiter);
	assert_int_equal(gone, 1);
}

/* The bytes that are said to wait count. */
TEST(sized)
{
	static void (*const sized[WAYS])(struct lull_cohort *c, struct lull_cohort_head *head, lull_cohort_func func,
					 size_t bytes) = { lull_cohort_call_rcu_sized, lull_cohort_call_hazptr_sized,
							   lull_cohort_call_rcu_hazptr_sized };
	struct lull_cohort c = LULL_COHORT_INIT;
	struct lull_reclaim_counts stats;
	struct lull_cohort_head head;

	set_mode(LULL_RECLAIM_POLL);
	for (int i = 0; i < WAYS; i++) {
		sized[i](&c, &head, notes_thread, 1000);
		lull_reclaim_stats(&stats);
		assert_int_equal(stats.bytes, 1000);
		lull_cohort_wait(&c);
		ways[i](&c, &head, notes_thread);
		lull_reclaim_stats(&stats);
		assert_int_equal(stats.bytes, sizeof(head));
		lull_cohort_wait(&c);
	}
}

/* ---- its end ----------------------------------------------------------------------------------------- */

/* Once a wait has returned, nothing touches the cohort: the memory is freed, and used for others, at once. */
static void *retires_into(void *arg)
{
	static int gone;

	lull_cohort_call_hazptr((struct lull_cohort *)arg, &new_member(&gone)->cohort, member_gone);
	return NULL;
}

TEST(freed_at_once)
{
	for (int i = 0; i < 300; i++) {
		struct lull_cohort *c = (struct lull_cohort *)calloc(1, sizeof(*c));

		if (i % 4)
			retires_into(c);
		else
			join_thread(start_thread(retires_into, c));
		lull_cohort_destroy(c);
		assert_int_equal(c->state & UINT64_C(0xffffffffff), 0);
		c->state = UINT64_C(0xffffffffffffffff);
		free(c);
	}
}

/* Many threads retire, several wait, and each cohort gets what is its own. */
enum { THREADS = 4, EACH = 1500 };

struct crowd {
	struct lull_cohort cohort;
	int gone, go;
};

static void *retires_and_waits(void *arg)
{
	struct crowd *crowd = (struct crowd *)arg;
	int gone = 0;
	struct lull_cohort own = LULL_COHORT_INIT;

	await_flag(&crowd->go, 1);
	for (int i = 0; i < 100; i++) {
		ways[i % WAYS](&crowd->cohort, &new_member(&crowd->gone)->cohort, member_gone);
		ways[i % WAYS](&own, &new_member(&gone)->cohort, member_gone);
		lull_cohort_wait(&own);
		assert_int_equal(lull_load_relaxed(&gone), i + 1);
	}
	return NULL;
}

static void *retires_mostly(void *arg)
{
	struct crowd *crowd = (struct crowd *)arg;

	await_flag(&crowd->go, 1);
	for (int i = 0; i < EACH; i++)
		ways[i % WAYS](&crowd->cohort, &new_member(&crowd->gone)->cohort, member_gone);
	return NULL;
}

TEST(crowd)
{
	static const enum lull_reclaim_mode modes[] = { LULL_RECLAIM_THREAD, LULL_RECLAIM_POLL, LULL_RECLAIM_CALLER };
	pthread_t thread[THREADS];

	for (int mode = 0; mode < 3; mode++) {
		struct crowd crowd;

		memset(&crowd, 0, sizeof(crowd));
		lull_cohort_init(&crowd.cohort);
		set_mode(modes[mode]);
		for (int i = 0; i < THREADS; i++)
			thread[i] = start_thread(i % 2 ? retires_and_waits : retires_mostly, &crowd);
		lull_store_release(&crowd.go, 1);
		for (int i = 0; i < THREADS; i++)
			join_thread(thread[i]);
		lull_cohort_destroy(&crowd.cohort);
		assert_int_equal(crowd.gone, THREADS / 2 * (EACH + 100));
	}
}

/* ---- contexts ----------------------------------------------------------------------------------------- */

TEST(online)
{
	struct lull_cohort c = LULL_COHORT_INIT;
	int gone = 0;

	lull_rcu_online();
	lull_cohort_call_rcu(&c, &new_member(&gone)->cohort, member_gone);
	lull_cohort_wait(&c); /* would else wait for itself */
	assert_int_equal(gone, 1);
	assert_true(lull_rcu_read_lock_held()); /* online again */
	lull_rcu_offline();
}

TEST(misuse)
{
	EXPECT_MISUSE("lull_cohort_wait in a read section would wait for itself for ever; *") {
		lull_rcu_read_lock();
		lull_cohort_wait(&many);
	}
	EXPECT_MISUSE("lull_cohort_wait_timeout in a read section would wait for *") {
		lull_rcu_read_lock();
		lull_cohort_wait_timeout(&many, 10);
	}
	EXPECT_MISUSE("lull_cohort_destroy in a read section would wait for itself for ever; *") {
		static int gone;

		set_mode(LULL_RECLAIM_POLL);
		lull_cohort_call_rcu(&many, &new_member(&gone)->cohort, member_gone);
		lull_rcu_read_lock();
		lull_cohort_destroy(&many);
	}
}

/* A thread that waits long for a reader says so, and says which. */
static int stalls;
static uint32_t blamed, slots;

static void note_stall(const struct lull_stall *stall, void *arg)
{
	(void)arg;
	if (stall->what != LULL_WAIT_HAZPTR_BARRIER)
		return;
	lull_store_relaxed(&blamed, stall->tid);
	lull_store_relaxed(&slots, stall->slots);
	lull_add_release(&stalls, 1);
}

TEST(report)
{
	struct lull_cohort c = LULL_COHORT_INIT;
	int gone = 0;
	struct member *member = new_member(&gone), *published = member;
	pthread_t holder = start_reader(protects, &published), waiter;
	struct lull_hazptr_hold unrelated_hold;
	int *unrelated_source = &stalls;

	stalls = 0;
	lull_hazptr_acquire(&unrelated_hold, &unrelated_source);
	lull_cohort_call_hazptr(&c, &member->cohort, member_gone);
	lull_debug_set_stall_hook(note_stall, NULL);
	set_stall_ms(20);
	waiter = start_waiter(&c);
	AWAIT(lull_load_acquire(&stalls) >= 1);
	set_stall_ms(0);
	end_reader(holder);
	join_thread(waiter);
	lull_debug_set_stall_hook(NULL, NULL);
	lull_hazptr_release(&unrelated_hold, unrelated_source);
	assert_int_not_equal(blamed, 0);
	assert_int_equal(slots, 1);
}
