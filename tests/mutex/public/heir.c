/* SPDX-License-Identifier: MIT */
/* runs: c++, oracles */
/*
 * heir.c - which waiters become the heir of a mutex, and when: none in front of a thread that the kernel prefers. What
 * becomes of those whose time is up. (Who is the next heir, and is given the lock: hostile/steps.c.)
 */
#include "mutex/support.h"

#include <sys/resource.h>

/* ---- patience ------------------------------------------------------------------------------------------------- */

/* Not before its patience is at an end, however often it gets up and looks. */
TEST(patience)
{
	struct lull_mutex m = LULL_MUTEX_INIT;
	struct waiter w;
	uint64_t start_ns, heir_ns = 0;

	assert_int_equal(LULL_MUTEX_PATIENCE_MS, 5);
	handle(SIGUSR1, does_nothing);
	lull_mutex_lock(&m);
	for (int i = 0; i < 5; i++) {
		start_ns = now_ns();
		waiter_start(&w, &m, 0);
		while (!(lull_load_relaxed(&m.rest) & HEIR_TID)) {
			check_patience(start_ns, "an heir", __FILE__, __LINE__);
			pthread_kill(w.thread, SIGUSR1);
			usleep(100);
		}
		heir_ns = now_ns();
		assert_true(heir_ns - start_ns >= LULL_MUTEX_PATIENCE_MS * MS);
		assert_int_equal(lull_load_relaxed(&m.rest) & HEIR_TID, lull_load_acquire(&w.tid));
		make_heir(&w); /* asleep, and HEIR is set */
		lull_mutex_unlock(&m);
		waiter_join(&w);
		lull_mutex_lock(&m);
	}
	lull_mutex_unlock(&m);
	lull_mutex_destroy(&m);
}

/* ---- rank ----------------------------------------------------------------------------------------------------- */

/* How a thread is scheduled, as far as one may choose. */
struct standing {
	int policy, nice;
};

static void stand(const struct standing *standing)
{
	struct sched_param param;

	memset(&param, 0, sizeof(param));
	if (standing->policy != SCHED_OTHER)
		assert_int_equal(syscall(SYS_sched_setscheduler, 0, standing->policy, &param), 0);
	assert_int_equal(setpriority(PRIO_PROCESS, my_tid(), standing->nice), 0);
}

/* A thread that does nothing, but its id may stand in a lock's word. */
struct bystander {
	struct standing standing;
	uint32_t tid;
	int end;
};

static void *stands_by(void *arg)
{
	struct bystander *b = (struct bystander *)arg;

	stand(&b->standing);
	lull_store_release(&b->tid, my_tid());
	await_flag(&b->end, 1);
	return NULL;
}

/* Waits for a lock, in a standing of its own; counts its signals. */
struct heir_apparent {
	struct standing standing;
	struct waiter w;
};

static int interruptions;

static void counts_interruption(int signal)
{
	(void)signal;
	lull_store_release(&interruptions, interruptions + 1);
}

static void *waits_standing(void *arg)
{
	struct heir_apparent *h = (struct heir_apparent *)arg;

	stand(&h->standing);
	return waits(&h->w);
}

/* Its patience is at an end. Make it look at the lock, and sleep again. */
static void look_again(struct heir_apparent *h)
{
	int before = lull_load_acquire(&interruptions);

	await_asleep(h->w.m, LULL__MUTEX_WAITERS, &h->w.tid);
	pthread_kill(h->w.thread, SIGUSR1);
	AWAIT(lull_load_acquire(&interruptions) != before);
	await_asleep(h->w.m, LULL__MUTEX_WAITERS, &h->w.tid);
}

/*
 * A thread of @heir's standing waits while one of @first's, and then one of @then's has the lock. Return whether the
 * waiter has become the heir.
 */
static bool becomes_heir(struct standing first, struct standing then, struct standing heir)
{
	struct lull_mutex m = LULL_MUTEX_INIT;
	struct bystander owners[2];
	pthread_t threads[2];
	struct heir_apparent h;
	bool is_heir;

	memset(owners, 0, sizeof(owners));
	memset(&h, 0, sizeof(h));
	owners[0].standing = first;
	owners[1].standing = then;
	h.standing = heir;
	h.w.m = &m;
	handle(SIGUSR1, counts_interruption);
	for (int i = 0; i < 2; i++) {
		threads[i] = start_thread(stands_by, &owners[i]);
		AWAIT(lull_load_acquire(&owners[i].tid));
	}
	lull_store_relaxed(&m.word, owners[0].tid);
	h.w.thread = start_thread(waits_standing, &h);
	await_asleep(&m, LULL__MUTEX_WAITERS, &h.w.tid);
	lull_store_relaxed(&m.word, owners[1].tid | LULL__MUTEX_WAITERS);
	nap_ms(2 * LULL_MUTEX_PATIENCE_MS);
	for (int i = 0; i < 3; i++)
		look_again(&h);
	is_heir = (lull_load_relaxed(&m.rest) & HEIR_TID) == h.w.tid;
	assert_int_equal((lull_load_relaxed(&m.word) & LULL__MUTEX_HEIR) != 0, is_heir);
	lull_store_relaxed(&m.word, lull_load_relaxed(&m.word) & LULL__MUTEX_HEIR ? h.w.tid | LULL__MUTEX_WAITERS : 0u);
	wake_one_for(&m);
	waiter_join(&h.w);
	for (int i = 0; i < 2; i++) {
		lull_store_release(&owners[i].end, 1);
		join_thread(threads[i]);
	}
	return is_heir;
}

TEST(heir_is_not_outranked)
{
	const struct standing normal = { SCHED_OTHER, 0 }, nice5 = { SCHED_OTHER, 5 }, nice19 = { SCHED_OTHER, 19 },
			      batch = { SCHED_BATCH, 5 }, idle = { SCHED_IDLE, 0 };

	if (UNDER_TSAN)
		SKIP(TSAN_MISSES_UNLOCK);
	/* No waiter is let pass in front of those that the kernel prefers. */
	assert_false(becomes_heir(normal, normal, nice19));
	assert_false(becomes_heir(normal, normal, nice5));
	assert_false(becomes_heir(nice5, nice5, nice19));
	assert_false(becomes_heir(normal, normal, idle));
	assert_false(becomes_heir(nice19, nice19, idle));
	/* It is not let pass either when its like has the lock, and one that is preferred had it before. */
	assert_false(becomes_heir(normal, nice19, nice19));
	assert_false(becomes_heir(nice19, idle, idle));
	/* In front of its like, and of those that are less than it, each is. */
	assert_true(becomes_heir(normal, normal, normal));
	assert_true(becomes_heir(nice19, nice19, nice19));
	assert_true(becomes_heir(idle, idle, idle));
	assert_true(becomes_heir(nice5, batch, nice5));
	assert_true(becomes_heir(nice5, nice5, batch));
	assert_true(becomes_heir(nice19, idle, normal));
	assert_true(becomes_heir(idle, idle, nice19));
}

/* ---- time is up ----------------------------------------------------------------------------------------------- */

/* To the heir the lock may be on its way then. */
TEST(heir_times_out)
{
	struct lull_mutex m = LULL_MUTEX_INIT;
	struct waiter w;
	int got = 0;

	for (int i = 0; i < 40; i++) {
		uint64_t deadline_ns = now_ns() + 12 * MS;

		lull_mutex_lock(&m);
		waiter_start(&w, &m, deadline_ns);
		handle(SIGUSR1, does_nothing);
		sleep_until(deadline_ns - 4 * MS);
		pthread_kill(w.thread, SIGUSR1);
		sleep_until(deadline_ns - 60000 + (uint64_t)i * 3000);
		lull_mutex_unlock(&m);
		waiter_join(&w);
		got += w.err == 0;
		assert_true(w.err == 0 || w.err == -ETIMEDOUT);
		/* HEIR, if it is left in the word, goes with the next unlock. */
		lull_mutex_lock(&m);
		lull_mutex_unlock(&m);
		expect_free(&m);
	}
	assert_true(got > 0);
	lull_mutex_destroy(&m);
}

/* An owner has read the heir's name, and is stopped before it has written it down. The heir has to wait for that. */
TEST(heir_is_named_late)
{
	struct lull_mutex m = LULL_MUTEX_INIT;
	struct waiter w;
	uint64_t deadline_ns;

	if (UNDER_TSAN)
		SKIP(TSAN_MISSES_UNLOCK);
	lull_mutex_lock(&m);
	deadline_ns = now_ns() + 1500 * MS;
	waiter_start(&w, &m, deadline_ns);
	make_heir(&w);
	assert_int_equal(lull_and_relaxed(&m.rest, ~HEIR_TID) & HEIR_TID, w.tid);
	sleep_until(deadline_ns + 20 * MS);
	assert_false(lull_load_acquire(&w.done));
	lull_store_release(&m.word, w.tid | LULL__MUTEX_WAITERS);
	await_flag(&w.done, 1);
	assert_int_equal(w.err, 0);
	waiter_join(&w);
	expect_free(&m);
}

static uint64_t late_ns;

static void sleeps_past_deadline(int signal)
{
	(void)signal;
	AWAIT(now_ns() >= late_ns);
}

/* An unlock has taken WAITERS back and woken one of two; before that one looks, the lock is held again. */
static void unlock_and_lock(struct lull_mutex *m)
{
	lull_and_relaxed(&m->word, ~LULL__MUTEX_WAITERS);
	wake_one_for(m);
}

/* Then its time is up: it must not be the only one that knew of the other. */
TEST(gives_up_woken)
{
	struct lull_mutex m = LULL_MUTEX_INIT;
	struct waiter first, second;

	handle(SIGUSR2, sleeps_past_deadline);
	for (int i = 0; i < 4; i++) {
		lull_mutex_lock(&m);
		late_ns = now_ns() + 1000 * MS; /* the first is asleep by then */
		waiter_start(&first, &m, late_ns);
		await_asleep(&m, LULL__MUTEX_WAITERS, &first.tid);
		waiter_start(&second, &m, UINT64_MAX); /* does not look at the clock meanwhile */
		await_asleep(&m, LULL__MUTEX_WAITERS, &second.tid);
		unlock_and_lock(&m);
		pthread_kill(first.thread, SIGUSR2);
		waiter_join(&first);
		assert_int_equal(first.err, -ETIMEDOUT);
		/* At once; or, if it was so late that the other one was woken, when that sleeps again. */
		await_asleep(&m, LULL__MUTEX_WAITERS, &second.tid);
		lull_mutex_unlock(&m);
		waiter_join(&second);
		expect_free(&m);
	}
}
