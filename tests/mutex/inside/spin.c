/* SPDX-License-Identifier: MIT */
/* runs: alone */
/*
 * spin.c - how long waiters of a mutex spin, and when they are counted, by a clock and an oracle made up here.
 */
#include "mutex/support.h"

#include "../src/owner_runs/owner_runs.h"
#include "../src/mutex/waiting.h"

static uint64_t clock_ns;
static enum lull__runs owner_runs;
static uint64_t free_at_ns; /* then the lock becomes free */
static uint64_t counted_at_ns; /* when it was first seen that the waiter is counted; 0: never */
static uint64_t patience_ns = UINT64_MAX; /* the waiter's deadline is so far away */
static struct lull_mutex lock;
static bool shared, woken;
static uint32_t changes;
static uint32_t relaxes;
static uint32_t owners_more; /* the lock passes to the next owner at each pause */
static uint32_t others; /* the word, beside its owner */

#define OWNER 77u
#define STEP_NS 100u

static uint64_t made_up_now(void)
{
	clock_ns += STEP_NS;
	if (clock_ns >= free_at_ns)
		lull_and_relaxed(&lock.word, ~LULL__MUTEX_TID);
	if ((lock.word & LULL__SPINNERS) && !counted_at_ns)
		counted_at_ns = clock_ns;
	return clock_ns;
}

static enum lull__runs made_up_runs(struct lull__sighting *sighting, uint32_t tid)
{
	(void)sighting;
	assert_int_equal(tid, OWNER);
	return owner_runs;
}

#define lull__now_ns made_up_now
#define lull__oracle_runs made_up_runs
#define lull_cpu_relax() (relaxes++, lock.word += owners_more)
#include "../src/mutex/spin.c"

static bool take_it(struct lull__lock_wait *wait, uint32_t word)
{
	if (word & LULL__MUTEX_TID)
		return false;
	assert_true(lull_cas_acquire(&wait->m->word, &word, (word | wait->tid) - (wait->counted ? LULL__SPINNER : 0)));
	wait->counted = false;
	return true;
}

/* Spin for a lock that is free after @until_ns. Returns for how long, or 0 if the waiter has the lock. */
static uint64_t spin_until(uint64_t until_ns)
{
	struct lull__lock_wait wait;
	uint64_t begin_ns = clock_ns;

	memset(&wait, 0, sizeof(wait));
	wait.m = &lock;
	wait.take = take_it;
	wait.tid = my_tid();
	wait.shared = shared;
	wait.woken = woken;
	wait.changes = changes;
	wait.deadline_ns = patience_ns == UINT64_MAX ? UINT64_MAX : clock_ns + patience_ns;
	free_at_ns = until_ns == UINT64_MAX ? UINT64_MAX : clock_ns + until_ns;
	counted_at_ns = 0;
	lull_store_relaxed(&lock.word, OWNER | others);
	if (lull__lock_spin(&wait))
		return 0;
	assert_false(wait.counted);
	/* It may be the heir later, unless a better thread has had the lock meanwhile. */
	assert_true(wait.seen[0] == OWNER || clock_ns == begin_ns);
	return clock_ns - begin_ns;
}

SETUP
{
	clock_ns = 1000000;
	in_vain = 0;
	owner_runs = LULL__RUNS_BELIEVED;
	lull__spinners_max = 1;
	lull_mutex_init(&lock, 0);
	others = 0;
	woken = false;
	changes = 0;
}

/* Of those that spin, only those that did before. */
static void expect_others(void)
{
	assert_int_equal(lock.word & ~LULL__MUTEX_TID, others);
}

TEST(counts_late)
{
	uint64_t begin_ns = clock_ns;

	/* A spinner that has it within a microsecond has not written beside the lock's word. */
	assert_int_equal(spin_until(UNCOUNTED_NS - 2 * STEP_NS), 0);
	assert_int_equal(counted_at_ns, 0);
	expect_others();
	/* One that spins for longer is counted from then on, and leaves. */
	begin_ns = clock_ns;
	assert_int_equal(spin_until(UNCOUNTED_NS * 3), 0);
	assert_in_range(counted_at_ns, begin_ns + UNCOUNTED_NS, begin_ns + UNCOUNTED_NS + 5 * STEP_NS);
	expect_others();
	assert_true(spin_until(UINT64_MAX) > 0);
	expect_others();
}

TEST(is_refused)
{
	/* The most that may spin do so: the waiter spins no more than it does without looking at the clock. */
	others = LULL__SPINNER;
	assert_int_equal(spin_until(UINT64_MAX), 0);
	expect_others();
	/* One of two: room for this one, that takes no other's place when it leaves, counted or not. */
	lull__spinners_max = 2;
	assert_int_equal(spin_until(UNCOUNTED_NS / 2), 0);
	expect_others();
	assert_true(spin_until(UINT64_MAX) > BELIEVED_NS);
	expect_others();
	/* Others have been counted in the meantime. */
	lull__spinners_max = 1;
	others = 0;
	assert_true(spin_until(UINT64_MAX) > BELIEVED_NS);
}

/* While threads sleep one spins, and one that was woken; else as many as may. */
TEST(few_while_some_sleep)
{
	static const struct {
		uint32_t others;
		bool woken, may;
	} cases[] = {
		{ LULL__SPINNER * 2, false, true },
		{ LULL__SPINNER * 3, false, false },
		{ LULL__MUTEX_WAITERS, false, true },
		{ LULL__MUTEX_WAITERS | LULL__SPINNER, false, false },
		{ LULL__MUTEX_WAITERS | LULL__SPINNER, true, true },
		{ LULL__MUTEX_WAITERS | LULL__SPINNER * 2, true, false },
	};

	lull__spinners_max = 3;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		others = cases[i].others;
		woken = cases[i].woken;
		in_vain = 0;
		assert_int_equal(spin_until(UINT64_MAX) > BELIEVED_NS, cases[i].may);
		expect_others();
	}
	/* As few as there are CPUs for them. */
	lull__spinners_max = 1;
	others = LULL__MUTEX_WAITERS | LULL__SPINNER;
	woken = true;
	assert_int_equal(spin_until(UINT64_MAX), 0);
}

static struct lull__lock_wait one_wait(void)
{
	return (struct lull__lock_wait){ .m = &lock, .take = take_it, .tid = my_tid(), .woken = woken, .shared = shared };
}

TEST(is_counted)
{
	struct lull__lock_wait wait;

	/* One that was woken says that others sleep. */
	woken = true;
	wait = one_wait();
	lock.word = OWNER;
	assert_true(may_spin(&wait));
	assert_true(wait.counted && !wait.woken);
	assert_int_equal(lock.word, OWNER | LULL__SPINNER | LULL__MUTEX_WAITERS);
	/* A lock that is free is not left to one that comes after that: it takes it. */
	wait = one_wait();
	lock.word = LULL__MUTEX_WAITERS;
	assert_true(may_spin(&wait));
	assert_true(!wait.counted && wait.woken);
	assert_int_equal(lock.word, LULL__MUTEX_WAITERS | my_tid());
}

/* One that has seen five changes of owners is counted at once, or sleeps. */
TEST(crowd)
{
	for (changes = CHANGES_AWAKE - 1; changes <= CHANGES_AWAKE; changes++) {
		assert_int_equal(spin_until(UNCOUNTED_NS / 2), 0);
		assert_int_equal(counted_at_ns != 0, changes == CHANGES_AWAKE);
		others = LULL__SPINNER | LULL__MUTEX_WAITERS;
		assert_true(spin_until(UNCOUNTED_NS) <= 5 * STEP_NS);
		others = 0;
	}
	shared = true;
	assert_int_equal(spin_until(UNCOUNTED_NS / 2), 0);
	assert_int_equal(counted_at_ns, 0);
	shared = false;
}

/* Where others sleep one is counted at its first look, or gives up after a change of owners; while none does, after five. */
TEST(crowd_with_sleepers)
{
	static const struct {
		uint32_t looked_at, changes;
		bool counted, shared, crowd;
	} cases[] = {
		{ LULL__MUTEX_WAITERS, LULL__CROWD_CHANGES, false, false, true },
		{ LULL__MUTEX_WAITERS, LULL__CROWD_CHANGES - 1, false, false, false },
		{ LULL__MUTEX_WAITERS, LULL__CROWD_CHANGES, true, false, false },
		{ LULL__MUTEX_WAITERS, LULL__CROWD_CHANGES, false, true, false },
		{ OWNER, CHANGES_AWAKE, false, false, true },
		{ OWNER, CHANGES_AWAKE - 1, false, false, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct lull__lock_wait wait = one_wait();

		wait.looked_at = cases[i].looked_at;
		wait.changes = cases[i].changes;
		wait.counted = cases[i].counted;
		wait.shared = cases[i].shared;
		assert_int_equal(in_crowd(&wait), cases[i].crowd);
	}
	others = LULL__MUTEX_WAITERS;
	assert_int_equal(spin_until(3 * STEP_NS), 0);
	assert_int_equal(counted_at_ns, clock_ns - 2 * STEP_NS);
	expect_others();
	others = 0;
	assert_int_equal(spin_until(3 * STEP_NS), 0);
	assert_int_equal(counted_at_ns, 0);
}

/* So many pauses between two looks at a lock that has one owner, or others in turn. Other changes of the word are none. */
TEST(pauses)
{
	static const struct {
		bool counted;
		uint32_t change; /* of the word, each time */
		uint32_t pauses[9];
		uint32_t changes;
	} cases[] = {
		{ false, 0, { 1, 3, 4, 4, 4, 4, 4, 4, 4 }, 0 },
		{ false, 1, { 1, 3, 4, 4, 4, 4, 4, 4, 4 }, 8 },
		{ true, 0, { 1, 3, 4, 4, 4, 4, 4, 4, 4 }, 0 },
		{ true, 1, { 1, 3, 7, 15, 31, 63, 64, 64, 64 }, 8 },
		{ true, LULL__MUTEX_WAITERS, { 1, 3, 4, 4, 4, 4, 4, 4, 4 }, 0 },
		{ true, OWNER, { 1, 3, 4, 4, 4, 4, 4, 4, 4 }, 0 }, /* free now and then */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct lull__lock_wait wait = one_wait();

		wait.counted = cases[i].counted;
		lock.word = OWNER;
		for (size_t look = 0; look < 9; look++) {
			lock.word = cases[i].change == OWNER ? lock.word ^ OWNER : lock.word + cases[i].change;
			relaxes = 0;
			pause_a_while(&wait);
			assert_int_equal(relaxes, cases[i].pauses[look]);
		}
		assert_int_equal(wait.changes, cases[i].changes);
		lock.word = wait.looked_at;
		relaxes = 0;
		pause_a_while(&wait);
		assert_int_equal(relaxes, PAUSES);
	}
}

/* A round of looks, in which no clock is read, is short, however often the owners change. */
TEST(round)
{
	struct lull__lock_wait wait = one_wait();

	wait.counted = true;
	lock.word = OWNER;
	relaxes = 0;
	owners_more = 1;
	assert_false(spin_a_while(&wait));
	owners_more = 0;
	assert_in_range(relaxes, LOOK, LOOK + PAUSES_MOST);
}

/* A spinner that wants to leave takes the lock if it is free: the lock was left to this thread. */
TEST(leaves)
{
	static const struct {
		uint32_t word;
		bool mine;
		uint32_t after;
	} cases[] = {
		{ OWNER | LULL__SPINNER, false, OWNER },
		{ OWNER | LULL__SPINNER * 2 | LULL__WATCH, false, OWNER | LULL__SPINNER | LULL__WATCH },
		{ LULL__SPINNER * 2 | LULL__MUTEX_WAITERS, true, LULL__SPINNER | LULL__MUTEX_WAITERS },
		{ LULL__SPINNER, true, 0 },
		{ OWNER, false, OWNER }, /* forked in a handler */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct lull__lock_wait wait = one_wait();

		wait.counted = true;
		lock.word = cases[i].word;
		assert_int_equal(spins_no_more(&wait), cases[i].mine);
		assert_int_equal(lock.word, cases[i].after | (cases[i].mine ? my_tid() : 0));
		assert_false(wait.counted);
	}
}

static void expect_spin(uint64_t ns)
{
	assert_in_range(spin_until(UINT64_MAX), ns, ns + 5 * STEP_NS);
}

/* A waiter that spun in vain twice spins less, looks again now and then, and takes a long wait that paid as a proof. */
TEST(learns)
{
	expect_spin(BELIEVED_NS);
	expect_spin(BELIEVED_NS);
	for (int i = 2; i < 20; i++)
		expect_spin(i % 8 == 0 ? BELIEVED_NS : SHORT_NS);
	/* A short wait that paid proves nothing. */
	assert_int_equal(spin_until(SHORT_NS / 2), 0);
	expect_spin(SHORT_NS);
	for (int i = 21; i < 24; i++)
		expect_spin(SHORT_NS);
	assert_int_equal(spin_until(BELIEVED_NS / 2), 0);
	expect_spin(BELIEVED_NS);
	expect_spin(BELIEVED_NS);
	expect_spin(SHORT_NS);
	/* Answers of the kernel, known or unknown, replace what was believed. */
	owner_runs = LULL__RUNS_UNKNOWN;
	expect_spin(UNKNOWN_NS);
	owner_runs = LULL__RUNS_YES;
	expect_spin(CERTAIN_NS);
	owner_runs = LULL__RUNS_NO;
	assert_in_range(spin_until(UINT64_MAX), 0, 5 * STEP_NS);
}

/* Learn from one spinning: from how long it took, and whether the waiter has the lock. */
TEST(learn)
{
	static const struct {
		unsigned before;
		bool mine;
		uint64_t spun_ns;
		unsigned after;
	} cases[] = {
		{ 5, true, SHORT_NS + 1, 0 }, { 5, true, SHORT_NS, 5 },	  { 5, true, 0, 5 },	   { 0, true, BELIEVED_NS, 0 },
		{ 5, false, SHORT_NS, 6 },    { 5, false, SHORT_NS - 1, 5 }, { 5, false, 0, 5 },	   { 0, false, BELIEVED_NS, 1 },
		{ 0, false, BELIEVED_NS - 1, 0 }, { 1, false, SHORT_NS, 1 }, { 2, false, SHORT_NS, 3 }, { 8, false, SHORT_NS, 8 },
		{ 8, false, BELIEVED_NS, 9 }, { 9, false, SHORT_NS, 10 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct spin spin = { .since_ns = 1000, .first_ns = 5, .last_ns = 1000 + cases[i].spun_ns };

		in_vain = cases[i].before;
		learn(&spin, cases[i].mine);
		assert_int_equal(in_vain, cases[i].after);
	}
}

/* Processes that share a mutex are not counted: one that is killed would stay counted. */
TEST(shared)
{
	lull_mutex_init(&lock, LULL_MUTEX_SHARED);
	shared = true;
	assert_true(spin_until(UINT64_MAX) > BELIEVED_NS);
	assert_int_equal(counted_at_ns, 0);
	others = LULL__MUTEX_WAITERS;
	lull__spinners_max = 3;
	assert_true(spin_until(UINT64_MAX) > BELIEVED_NS);
	expect_others();
	assert_int_equal(lock.rest, LULL_MUTEX_SHARED);
	shared = false;
}

/* No waiter spins past its own deadline, whatever is known of the owner. */
TEST(deadline)
{
	patience_ns = SHORT_NS / 2;
	expect_spin(SHORT_NS / 2);
	owner_runs = LULL__RUNS_YES;
	expect_spin(SHORT_NS / 2);
	patience_ns = 0;
	assert_in_range(spin_until(UINT64_MAX), 0, 5 * STEP_NS);
	patience_ns = UINT64_MAX;
}
