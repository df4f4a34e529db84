/* SPDX-License-Identifier: MIT */
/* runs: c++, oracles */
/*
 * aborts.c - mutex.h, mutex_robust.h, cond.h: each misuse ends the process with one line, which says who does what to
 * which lock, and who holds it.
 */
#include "mutex/sleepers.h"

static struct lull_mutex_robust robust;
static struct lull_mutex *const m = &robust.mutex; /* its word is a mutex's */
static struct lull_mutex shared;
static struct lull_cond cond, shared_cond;

static void name_me(const char *name)
{
	pthread_setname_np(pthread_self(), name);
}

/* ---- not mine ------------------------------------------------------------------------------------------------- */

static void locks(void)
{
	lull_mutex_lock(m);
}

static void locks_with_deadline(void)
{
	lull_mutex_timedlock(m, now_ns() + 100 * MS);
}

static void unlocks(void)
{
	lull_mutex_unlock(m);
}

static void destroys(void)
{
	lull_mutex_destroy(m);
}

static void waits_with_it(void)
{
	lull_cond_wait(&cond, m);
}

static void locks_robust(void)
{
	lull_mutex_robust_lock(&robust);
}

static void unlocks_robust(void)
{
	lull_mutex_robust_unlock(&robust);
}

static void makes_consistent(void)
{
	lull_mutex_robust_consistent(&robust);
}

enum holder { NOBODY, ME_BEFORE, ME, OTHER };

static const struct misuse {
	enum holder holder;
	bool robust;
	void (*call)(void);
	const char *does;
} misuses[] = {
	{ ME, false, locks, "locks" },
	{ ME, false, locks_with_deadline, "locks" },
	{ ME, false, destroys, "destroys" },
	{ NOBODY, false, unlocks, "unlocks" },
	{ ME_BEFORE, false, unlocks, "unlocks" },
	{ NOBODY, false, waits_with_it, "waits for a condition with" },
	{ OTHER, false, unlocks, "unlocks" },
	{ OTHER, false, destroys, "destroys" },
	{ OTHER, false, waits_with_it, "waits for a condition with" },
	{ ME, true, locks_robust, "locks" },
	{ NOBODY, true, unlocks_robust, "unlocks" },
	{ NOBODY, true, makes_consistent, "makes consistent" },
	{ ME_BEFORE, true, makes_consistent, "makes consistent" },
	{ OTHER, true, unlocks_robust, "unlocks" },
	{ OTHER, true, makes_consistent, "makes consistent" },
};

static void hold(const struct misuse *misuse)
{
	if (misuse->robust)
		locks_robust();
	else
		locks();
}

static int holder_has_it;

static void *holds(void *misuse)
{
	name_me("holder");
	hold((const struct misuse *)misuse);
	lull_store_release(&holder_has_it, 1);
	while (pause())
		;
	return NULL;
}

static void commit(const struct misuse *misuse)
{
	char whose[64] = "no thread";

	if (misuse->holder == OTHER) {
		start_thread(holds, (void *)(uintptr_t)misuse);
		await_flag(&holder_has_it, 1);
	} else if (misuse->holder != NOBODY) {
		hold(misuse);
	}
	if (misuse->holder == ME_BEFORE)
		(misuse->robust ? unlocks_robust : unlocks)();
	else if (misuse->holder != NOBODY)
		snprintf(whose, sizeof(whose), "thread \"%s\" (tid %u)", misuse->holder == ME ? "careless" : "holder",
			 lull_mutex_owner(m));
	name_me("careless");
	want_line("thread \"careless\" (tid %u) %s mutex %p, which %s holds", my_tid(), misuse->does, (void *)m, whose);
	misuse->call();
}

static void commit_all(bool between_threads)
{
	for (size_t i = 0; i < sizeof(misuses) / sizeof(misuses[0]); i++) {
		const struct misuse *misuse = &misuses[i];
		bool not_held = misuse->holder == NOBODY || misuse->holder == ME_BEFORE;

		if ((misuse->holder == OTHER) != between_threads || (misuse->robust && kinds_here() != KINDS))
			continue;
		if (UNDER_TSAN && not_held && misuse->call != makes_consistent) /* which says so first */
			continue;
		EXPECT_WANTED_LINE
			commit(misuse);
	}
}

TEST(not_held)
{
	commit_all(false);
}

TEST(held_by_another)
{
	NEEDS_THREADS_IN_CHILD();
	commit_all(true);
}

/* ---- other lines ---------------------------------------------------------------------------------------------- */

TEST(flags)
{
	EXPECT_WANTED_LINE {
		want_line("lull_mutex_init: unknown flags 0x2");
		lull_mutex_init(m, 2);
	}
	EXPECT_WANTED_LINE {
		want_line("lull_cond_init: unknown flags 0x1");
		lull_cond_init(&cond, 1);
	}
}

TEST(nothing_is_wrong)
{
	if (kinds_here() != KINDS)
		SKIP("no robust mutexes here");
	EXPECT_WANTED_LINE {
		want_line("lull_mutex_robust_consistent: nothing is wrong with mutex %p", (void *)&robust);
		locks_robust();
		makes_consistent();
	}
}

TEST(robust_and_not_shared)
{
	if (kinds_here() != KINDS)
		SKIP("no robust mutexes here");
	EXPECT_WANTED_LINE {
		want_line("condition variable %p is not shared, and mutex %p is robust", (void *)&cond, (void *)&robust);
		locks_robust();
		lull_cond_timedwait_robust(&cond, &robust, 0);
	}
}

TEST(not_both_shared)
{
	EXPECT_WANTED_LINE {
		want_line("condition variable %p and mutex %p are not both shared", (void *)&cond, (void *)&shared);
		lull_mutex_init(&shared, LULL_MUTEX_SHARED);
		lull_mutex_lock(&shared);
		lull_cond_timedwait(&cond, &shared, 0);
	}
	EXPECT_WANTED_LINE {
		want_line("condition variable %p and mutex %p are not both shared", (void *)&shared_cond, (void *)m);
		lull_cond_init(&shared_cond, LULL_MUTEX_SHARED);
		locks();
		lull_cond_wait(&shared_cond, m);
	}
}

/* ---- beside waiters ------------------------------------------------------------------------------------------- */

TEST(beside_waiters)
{
	NEEDS_THREADS_IN_CHILD();
	make_place(0);
	EXPECT_WANTED_LINE {
		start_sleepers(5);
		want_line("condition variable %p is destroyed while threads wait for it", (void *)&place->cond);
		lull_cond_destroy(&place->cond);
	}
	/* One of them was woken, and the others sleep for a signal. */
	EXPECT_WANTED_LINE {
		alarm(60); /* should it wait */
		start_sleepers(5);
		tell(1);
		lull_cond_signal(&place->cond);
		locks();
		name_me("test_cond");
		want_line("thread \"test_cond\" (tid %u) waits for condition variable %p with mutex %p, and others use "
			  "mutex %p",
			  my_tid(), (void *)&place->cond, (void *)m, (void *)&place->lock);
		lull_cond_wait(&place->cond, m);
	}
	/* The heir has yet to look, and the lock is free. */
	EXPECT_WANTED_LINE {
		static struct waiter w;

		locks();
		waiter_start(&w, m, 0);
		make_heir(&w);
		name_me("hasty");
		want_line("thread \"hasty\" (tid %u) destroys mutex %p, for which thread \"impatient\" (tid %u) waits", my_tid(),
			  (void *)m, w.tid);
		pthread_setname_np(w.thread, "impatient");
		lull_store_relaxed(&m->word, 0u);
		destroys();
	}
}

static uint32_t left_in_word;

/* The lock is free, and a thread that spins for it has yet to see that. */
static void destroys_beside_spinner(void)
{
	name_me("hasty");
	want_line("thread \"hasty\" (tid %u) destroys mutex %p, for which another thread waits", my_tid(), (void *)m);
	m->word = left_in_word;
	destroys();
}

/* A number that the parent left there before the fork is nothing to wait for: so there are eight ways to say it. */
TEST(destroy_beside_spinner)
{
	const uint32_t generation = 0x2000000u; /* counts forks, to 7 */
	char text[4096];
	int aborted = 0;

	for (uint32_t i = 0; i < 8; i++) {
		left_in_word = i * generation | SPINNER;
		if (WIFSIGNALED(run_child(destroys_beside_spinner, text, sizeof(text)))) {
			EXPECT_WANTED_LINE
				destroys_beside_spinner();
			aborted++;
		} else {
			expect_fine(destroys_beside_spinner);
		}
	}
	assert_int_equal(aborted, 1);
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
	want_nothing();
}
