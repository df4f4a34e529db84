/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * process.c - cohort.h in forked children: they wait for what they have, and for nothing that only the
 * parent has.
 */
#include "cohort/support.h"

static struct lull_cohort cohort;
static int gone;

static void retire(int n)
{
	ways[n % WAYS](&cohort, &new_member(&gone)->cohort, member_gone);
}

static void child_begins(void)
{
	alarm(60);
	set_mode(LULL_RECLAIM_POLL); /* sanitizers and the emulator start no threads in a child */
}

/* ---- what waits in the queues ----------------------------------------------------------------------- */

enum { OWN = 5, OTHERS = 4, MORE = 6 };

static void *retires_and_stays(void *unused)
{
	for (int i = 0; i < OTHERS; i++)
		retire(i);
	return reads(unused);
}

TEST(queues)
{
	pthread_t thread, waiter;

	set_mode(LULL_RECLAIM_POLL);
	reader_is_in = reader_may_leave = gone = 0;
	for (int i = 0; i < OWN; i++)
		retire(i);
	thread = start_thread(retires_and_stays, NULL);
	await_flag(&reader_is_in, 1);
	EXPECT_FINE {
		child_begins();
		must(!lull_cohort_is_empty(&cohort));
		lull_cohort_wait(&cohort);
		must(gone == OWN + OTHERS);
		for (int i = 0; i < MORE; i++)
			retire(i);
		must(!lull_cohort_is_empty(&cohort));
		lull_cohort_destroy(&cohort);
		must(gone == OWN + OTHERS + MORE);
	}
	/* A child of a child, each of which has used the cohort. */
	EXPECT_FINE {
		pid_t child;
		int status;

		child_begins();
		gone = 0;
		for (int i = 0; i < MORE; i++)
			retire(i);
		child = fork();
		must(child >= 0);
		if (child == 0) {
			lull_cohort_wait(&cohort);
			must(gone == OWN + OTHERS + MORE);
			_exit(0);
		}
		must(waitpid(child, &status, 0) == child && status == 0);
		lull_cohort_wait(&cohort);
		must(gone == OWN + OTHERS + MORE);
	}
	assert_int_equal(gone, 0);
	lull_store_release(&reader_may_leave, 1);
	join_thread(thread);
	waiter = start_thread(waits, &cohort);
	join_thread(waiter);
	assert_int_equal(gone, OWN + OTHERS);
}

/* More than a chunk of a queue holds; another cohort's are all in the chunks behind the first one. */
enum { MANY = 700, FIRST = 300 };
static struct lull_cohort later;

static void retire_many(void)
{
	gone = 0;
	for (int i = 0; i < MANY; i++)
		lull_cohort_call_rcu(i < FIRST ? &cohort : &later, &new_member(&gone)->cohort, member_gone);
}

TEST(many)
{
	set_mode(LULL_RECLAIM_POLL);
	retire_many();
	EXPECT_FINE {
		child_begins();
		must(later.state % (UINT64_C(1) << 40) == 2 * (MANY - FIRST));
		lull_cohort_wait(&later);
		lull_cohort_wait(&cohort);
		must(gone == MANY);
	}
	lull_cohort_wait(&cohort);
	lull_cohort_wait(&later);
	assert_int_equal(gone, MANY);
}

/* ---- callbacks that run at the fork ----------------------------------------------------------------- */

static int begun, may_return;

static void takes_long(struct lull_cohort_head *head)
{
	lull_store_release(&begun, 1);
	await_flag(&may_return, 1);
	member_gone(head);
}

TEST(running_elsewhere)
{
	begun = may_return = gone = 0;
	set_mode(LULL_RECLAIM_POLL);
	lull_cohort_call_hazptr(&cohort, &new_member(&gone)->cohort, takes_long);
	for (int i = 0; i < OWN; i++)
		lull_cohort_call_hazptr(&cohort, &new_member(&gone)->cohort, member_gone);
	set_mode(LULL_RECLAIM_THREAD);
	await_flag(&begun, 1);
	/* It is in the middle of the other thread's callback, and the rest of the batch is still to come. */
	EXPECT_FINE {
		child_begins();
		lull_cohort_wait(&cohort);
		must(gone == OWN);
		retire(0);
		lull_cohort_wait(&cohort);
		must(gone == OWN + 1);
	}
	/* The same of a cohort in which nothing else waits; and the parent's count is as it was. */
	assert_false(lull_cohort_is_empty(&cohort));
	lull_store_release(&may_return, 1);
	lull_cohort_wait(&cohort);
	assert_int_equal(gone, OWN + 1);
}

TEST(nothing_else)
{
	begun = may_return = gone = 0;
	lull_cohort_call_hazptr(&cohort, &new_member(&gone)->cohort, takes_long);
	await_flag(&begun, 1);
	EXPECT_FINE {
		child_begins();
		must(lull_cohort_is_empty(&cohort));
		lull_cohort_wait(&cohort);
		retire(0);
		must(!lull_cohort_is_empty(&cohort));
		lull_cohort_wait(&cohort);
		must(gone == 1);
	}
	lull_store_release(&may_return, 1);
	lull_cohort_wait(&cohort);
	assert_int_equal(gone, 1);
}

/* The callback itself forks: in the child it goes on, and the child's other thread waits for it. */
static pid_t forked;
static struct lull_cohort_head forking_head;

static void forks(struct lull_cohort_head *head)
{
	(void)head;
	forked = fork();
	if (forked == 0) {
		alarm(60);
		must(!lull_cohort_is_empty(&cohort));
	}
}

TEST(callback_forks)
{
	int status;

	gone = 0;
	set_mode(LULL_RECLAIM_POLL);
	lull_cohort_call_rcu(&cohort, &forking_head, forks);
	lull_cohort_wait(&cohort);
	if (forked == 0) { /* both come back from it */
		must(lull_cohort_is_empty(&cohort));
		retire(0);
		lull_cohort_wait(&cohort);
		must(gone == 1);
		_exit(0);
	}
	assert_int_equal(waitpid(forked, &status, 0), forked);
	assert_int_equal(status, 0);
	assert_int_equal(gone, 0);
}

/* ---- children that are not told, and callbacks for which there was no memory --------------------------- */

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
static void expect_exit_0(pid_t child)
{
	int status;

	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static pid_t early_child;

/* It has never used lull, so its first call, in the child, is the one that finds out. */
static void *forks_and_uses_first(void *first)
{
	early_child = _Fork();
	if (early_child == 0) {
		if (*(int *)first == 0) {
			retire(1);
			must(cohort.state % (UINT64_C(1) << 40) == 2 * 2);
		} else {
			must(lull_cohort_is_empty(&later));
		}
		alarm(60);
		lull_cohort_wait(&cohort);
		must(gone == (*(int *)first == 0 ? 2 : 1));
		_exit(0);
	}
	return NULL;
}

static void *polls(void *unused)
{
	while (!lull_load_acquire(&begun))
		lull_reclaim_poll(1, 0);
	return unused;
}

TEST(underscore_fork)
{
	pthread_t poller;

	if (UNDER_TSAN)
		SKIP(TSAN_OVER_FORK);
#ifdef LULL_TEST_EMULATED
	SKIP("the emulator says that it clears the page which notices forks, and does not");
#endif
	for (int first = 0; first < 2; first++) {
		set_mode(LULL_RECLAIM_POLL);
		begun = may_return = gone = 0;
		lull_cohort_call_hazptr(&later, &new_member(&gone)->cohort, takes_long);
		poller = start_thread(polls, NULL);
		await_flag(&begun, 1);
		lull_cohort_call_hazptr(&cohort, &new_member(&gone)->cohort, member_gone);
		join_thread(start_thread(forks_and_uses_first, &first));
		lull_store_release(&may_return, 1);
		join_thread(poller);
		expect_exit_0(early_child);
		lull_cohort_wait(&cohort);
		lull_cohort_wait(&later);
		assert_int_equal(gone, 2);
	}
}
#endif

/* A sanitizer's malloc ends the program, and qemu-user knows no limits. */
#if SANITIZED || defined(LULL_TEST_EMULATED)
#define MALLOC_MAY_FAIL 0
#else
#define MALLOC_MAY_FAIL 1
#endif

static struct lull_cohort_head heads[MANY];
static void *volatile taken; /* else a compiler knows that the memory is unused */

static void counts(struct lull_cohort_head *head)
{
	(void)head;
	gone++;
}

/* `later` has the last one only, for which there was no place in a queue. */
static void grandchild_without_memory(void)
{
	pid_t child = fork();
	int status;

	must(child >= 0);
	if (child == 0) {
		alarm(60);
		must(!lull_cohort_is_empty(&later));
		lull_cohort_wait(&later);
		lull_cohort_wait(&cohort);
		must(gone == MANY);
		_exit(0);
	}
	must(waitpid(child, &status, 0) == child && status == 0);
	lull_cohort_wait(&cohort);
	lull_cohort_wait(&later);
	must(gone == MANY);
}

static void without_memory(void)
{
	static const int limited[] = { RLIMIT_AS, RLIMIT_DATA };
	struct rlimit limits[2];
	struct lull_reclaim_counts stats;

	child_begins();
	gone = 0;
	for (int i = 0; i < 2; i++) {
		struct rlimit none;

		getrlimit(limited[i], &limits[i]);
		none = limits[i];
		none.rlim_cur = 0;
		setrlimit(limited[i], &none);
	}
	for (int i = 0; i < 100000 && (taken = malloc(4000)); i++) /* less than a chunk of a queue */
		;
	for (int i = 0; i < MANY; i++)
		lull_cohort_call_rcu(i < MANY - 1 ? &cohort : &later, &heads[i], counts);
	lull_reclaim_stats(&stats);
	for (int i = 0; i < 2; i++)
		setrlimit(limited[i], &limits[i]);
	must(stats.items == MANY && stats.bytes < MANY * sizeof(heads[0])); /* not all are in queues */
	grandchild_without_memory();
}

TEST(without_memory)
{
	if (!MALLOC_MAY_FAIL || under_valgrind())
		SKIP(OWN_MEMORY);
	/* Debug builds keep a table of deferred objects: let it grow now, while there is memory. */
	for (int i = 0; i < MANY; i++)
		lull_cohort_call_rcu(&cohort, &heads[i], counts);
	lull_cohort_wait(&cohort);
	expect_fine(without_memory);
}
