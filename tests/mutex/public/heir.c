/* SPDX-License-Identifier: MIT */
/* runs: c++, oracles */
/*
 * heir.c - which waiters become the heir of a mutex: none in front of a thread that the kernel prefers.
 */
#include "mutex/support.h"

#include <sys/resource.h>

/* Parts of struct lull_mutex's `rest`. */
#define HEIR_TID 0x3fffffu

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
	syscall(SYS_futex, &m.word, 1 /* FUTEX_WAKE */ | 128 /* private */, 1);
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
