/* SPDX-License-Identifier: MIT */
/* runs: oracles */
/*
 * cond_wait.c - cond.h: a signal that comes after a wait began ends it, also before the waiter sleeps; how
 * long waiters sleep at most. This program's own syscall() stops threads, and reads their deadlines.
 */
#include <linux/futex.h>

#include "mutex/support.h"
#include "own_syscall.h"

static struct lull_mutex lock;
static struct lull_cond cond;
static int ready; /* under the lock */

/* ---- the calls of the library -------------------------------------------------------------------------------- */

static __thread const uint32_t *stops_at; /* the thread stops in its next call for this word, until ... */
static __thread int *stops_for;		   /* ... this is set */
static __thread unsigned sleeps_begun;
static __thread uint64_t last_until_ns, last_call_ns; /* of its last sleep; UINT64_MAX: without end */
static __thread uint32_t *instead; /* sleeps are over at once, and this word is cleared of waiters */
static int stopped;

static void note_sleep(const struct timespec *until)
{
	sleeps_begun++;
	last_call_ns = now_ns();
	last_until_ns = until ? (uint64_t)until->tv_sec * 1000000000u + (uint64_t)until->tv_nsec : UINT64_MAX;
}

static bool instead_of_syscall(long number, const long *arg, long *result)
{
	if (number != SYS_futex)
		return false;
	if ((arg[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET) {
		note_sleep((const struct timespec *)arg[3]);
		if (instead) {
			lull_and_relaxed(instead, ~COUNT);
			errno = ETIMEDOUT;
			*result = -1;
			return true;
		}
	}
	if (stops_at && stops_at == (const uint32_t *)arg[0]) {
		stops_at = NULL;
		lull_store_release(&stopped, 1);
		AWAIT(lull_load_acquire(stops_for));
	}
	return false;
}

/* A wait that hangs ends the test: by a line, where it is awaited, or by this. */
SETUP
{
	alarm(110);
	ready = stopped = 0;
}

/* ---- a signal that comes before the waiter sleeps ------------------------------------------------------------- */

enum { FROM_INSIDE, FROM_OUTSIDE, BROADCAST, BROADCAST_FROM_OUTSIDE, WAYS };

static struct some_lock kind_lock;

static void make_ready(int way)
{
	bool outside = way == FROM_OUTSIDE || way == BROADCAST_FROM_OUTSIDE;

	must(acquire(&kind_lock) == 0);
	ready = 1;
	if (outside)
		release(&kind_lock);
	if (way < BROADCAST)
		lull_cond_signal(&cond);
	else
		lull_cond_broadcast(&cond);
	if (!outside)
		release(&kind_lock);
}

static void wait_once(void)
{
	if (kind_lock.kind == ROBUST)
		assert_int_equal(lull_cond_wait_robust(&cond, &kind_lock.robust), 0);
	else
		lull_cond_wait(&cond, &kind_lock.robust.mutex);
}

struct stopper {
	const uint32_t *at;
	uint32_t tid;
	int has_lock, may_wait, may_go_on, back;
};

static void *waits_and_stops(void *arg)
{
	struct stopper *s = (struct stopper *)arg;

	lull_store_release(&s->tid, my_tid());
	must(acquire(&kind_lock) == 0);
	lull_store_release(&s->has_lock, 1);
	await_flag(&s->may_wait, 1);
	stops_at = s->at;
	stops_for = &s->may_go_on;
	while (!ready)
		wait_once();
	release(&kind_lock);
	lull_store_release(&s->back, 1);
	return NULL;
}

static void *locks_once(void *tid)
{
	lull_store_release((uint32_t *)tid, my_tid());
	must(acquire(&kind_lock) == 0);
	release(&kind_lock);
	return NULL;
}

/*
 * A waiter has unlocked, and is stopped before it sleeps; or earlier, in the call of its unlock that wakes a thread that
 * waits for the lock. Then comes the one signal.
 */
static void signal_before_sleep(enum kind kind, bool in_unlock, int way)
{
	struct lull_mutex *m = &kind_lock.robust.mutex;
	uint32_t flags = kind == PRIVATE ? 0 : LULL_MUTEX_SHARED, other_tid = 0;
	pthread_t thread, other = 0;
	struct stopper s;

	make_lock(&kind_lock, kind);
	lull_cond_init(&cond, flags);
	memset(&s, 0, sizeof(s));
	s.at = !in_unlock ? &cond.seq : kind == PRIVATE ? &m->turn : &m->word;
	ready = stopped = 0;
	thread = start_thread(waits_and_stops, &s);
	AWAIT(lull_load_acquire(&s.has_lock));
	if (in_unlock) {
		other = start_thread(locks_once, &other_tid);
		await_asleep(m, LULL__MUTEX_WAITERS, &other_tid);
	}
	lull_store_release(&s.may_wait, 1);
	AWAIT(lull_load_acquire(&stopped)); /* it has unlocked */
	assert_int_equal(how_many_wait(&cond), 1); /* or a signal has nobody to wake */
	make_ready(way);
	lull_store_release(&s.may_go_on, 1);
	if (in_unlock)
		join_thread(other);
	AWAIT(lull_load_acquire(&s.back)); /* or it sleeps, after a signal that came before that */
	join_thread(thread);
	assert_int_equal(cond.waiters, flags);
	assert_int_equal(lull_mutex_owner(m), 0);
	lull_mutex_destroy(m);
}

TEST(signal_before_sleep)
{
	for (int kind = 0; kind < kinds_here(); kind++) {
		for (int way = 0; way < WAYS; way++) {
			signal_before_sleep((enum kind)kind, false, way);
			signal_before_sleep((enum kind)kind, true, way);
		}
	}
	lull_cond_init(&cond, 0);
}

/* ---- how long they sleep -------------------------------------------------------------------------------------- */

/* The kernel is given the deadline itself. */
TEST(deadlines)
{
	lull_mutex_lock(&lock);
	for (int i = 0; i < 6; i++) {
		uint64_t deadline_ns = i < 5 ? now_ns() + (uint64_t)i * 3 * MS : 0;

		sleeps_begun = 0;
		assert_int_equal(lull_cond_timedwait(&cond, &lock, deadline_ns), -ETIMEDOUT);
		assert_true(now_ns() >= deadline_ns);
		assert_int_equal(sleeps_begun, 1);
		assert_int_equal(last_until_ns, deadline_ns);
		assert_int_equal(lock.word, my_tid());
		assert_int_equal(how_many_wait(&cond), 0);
	}
	lull_mutex_unlock(&lock);
	lull_cond_destroy(&cond);
	lull_mutex_destroy(&lock);
}

struct late {
	uint64_t deadline_ns;
	uint32_t tid;
	int err, back;
};

static void *waits_until_deadline(void *arg)
{
	struct late *late = (struct late *)arg;

	lull_mutex_lock(&lock);
	lull_store_release(&late->tid, my_tid());
	late->err = lull_cond_timedwait(&cond, &lock, late->deadline_ns);
	assert_int_equal(lull_mutex_owner(&lock), my_tid());
	lull_store_release(&late->back, 1);
	lull_mutex_unlock(&lock);
	return NULL;
}

/* The lock is held until after the deadline; @signalled: a signal has come in time. Returns 1 if all was too slow. */
static int wait_for_late_lock(bool signalled)
{
	struct late late;
	pthread_t thread;
	bool in_time;

	memset(&late, 0, sizeof(late));
	late.deadline_ns = now_ns() + 300 * MS;
	thread = start_thread(waits_until_deadline, &late);
	while (!sleeps(&late.tid) && now_ns() < late.deadline_ns)
		nap_ms(1);
	lull_mutex_lock(&lock);
	if (signalled)
		lull_cond_signal(&cond);
	in_time = lull_load_acquire(&late.tid) && now_ns() < late.deadline_ns;
	sleep_until(late.deadline_ns + 20 * MS);
	if (in_time)
		assert_int_equal(lull_load_acquire(&late.back), 0);
	lull_mutex_unlock(&lock);
	join_thread(thread);
	return in_time ? late.err : 1;
}

static int result_of_late_lock(bool signalled)
{
	int result = 1;

	for (int i = 0; i < 20 && result == 1; i++)
		result = wait_for_late_lock(signalled);
	return result;
}

/* It is told that time is up, or not, when it has the lock; and what counts is when the signal came. */
TEST(late_lock)
{
	assert_int_equal(result_of_late_lock(false), -ETIMEDOUT);
	assert_int_equal(result_of_late_lock(true), 0);
	lull_cond_destroy(&cond);
}

/* A sharer of the condition variable may be killed: so its waiters look again, every few seconds. */
TEST(shared_looks_again)
{
	static struct lull_mutex shared_lock;
	static struct lull_cond shared;
	uint32_t nobody = 0;
	uint64_t start_ns;

	lull_mutex_init(&shared_lock, LULL_MUTEX_SHARED);
	lull_cond_init(&shared, LULL_MUTEX_SHARED);
	lull_mutex_lock(&shared_lock);
	start_ns = now_ns();
	instead = &nobody;
	lull_cond_wait(&shared, &shared_lock); /* no thread signals */
	assert_in_range(last_until_ns, start_ns + 2000 * MS, last_call_ns + 10000 * MS);
	/* A deadline farther away is not over then. */
	assert_int_equal(lull_cond_timedwait(&shared, &shared_lock, start_ns + 3600 * 1000 * MS), 0);
	assert_in_range(last_until_ns, start_ns + 2000 * MS, last_call_ns + 10000 * MS);
	instead = NULL;
	/* A deadline that comes first is the deadline. */
	start_ns = now_ns() + 3 * MS;
	assert_int_equal(lull_cond_timedwait(&shared, &shared_lock, start_ns), -ETIMEDOUT);
	assert_int_equal(last_until_ns, start_ns);
	lull_mutex_unlock(&shared_lock);
	assert_int_equal(shared.waiters, LULL_MUTEX_SHARED);
	lull_cond_destroy(&shared);
	lull_mutex_destroy(&shared_lock);
}

/* A waiter that was killed is counted for ever; this one leaves while it is awaited. */
TEST(destroy_waits_a_second)
{
	static struct lull_cond shared;
	uint64_t start_ns = now_ns();

	lull_cond_init(&shared, LULL_MUTEX_SHARED);
	lull_store_relaxed(&shared.waiters, LULL_MUTEX_SHARED | WAITER);
	sleeps_begun = 0;
	instead = &shared.waiters;
	lull_cond_destroy(&shared);
	instead = NULL;
	assert_int_equal(sleeps_begun, 1);
	assert_in_range(last_until_ns, start_ns + 1000 * MS, last_call_ns + 1000 * MS);
}
