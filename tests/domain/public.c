/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences, no-rseq */
/*
 * public.c - rcu_domain.h: which sections a grace period waits for, and which not; callbacks; many domains.
 */
#include <errno.h>

#include "child.h"
#include "random.h"
#include "threads.h"

#include <lull/lull.h>
#include <lull/rcu_domain.h>

static struct lull_rcu_domain one, two;

SETUP
{
	assert_int_equal(lull_rcu_domain_init(&one, "one"), 0);
	assert_int_equal(lull_rcu_domain_init(&two, "two"), 0);
}

TEARDOWN
{
	lull_rcu_domain_destroy(&one);
	lull_rcu_domain_destroy(&two);
}

/* ---- what a grace period waits for ------------------------------------------------------------------ */

static int inside, leave, over;

/* A section that sleeps. */
static void *stays(void *arg)
{
	struct lull_rcu_domain *d = (struct lull_rcu_domain *)arg;
	int phase = lull_rcu_domain_read_lock(d);

	lull_store_release(&inside, 1);
	while (!lull_load_acquire(&leave))
		nap_ms(1);
	lull_store_release(&over, 1);
	lull_rcu_domain_read_unlock(d, phase);
	return NULL;
}

static pthread_t start_stay(struct lull_rcu_domain *d)
{
	pthread_t thread;

	inside = leave = over = 0;
	thread = start_thread(stays, d);
	await_flag(&inside, 1);
	return thread;
}

static void *waits(void *arg)
{
	lull_rcu_domain_synchronize((struct lull_rcu_domain *)arg);
	assert_int_equal(lull_load_acquire(&over), 1);
	return NULL;
}

/* A section holds up each grace period of its domain, and none of another domain, nor of rcu.h. */
TEST(own_sections)
{
	for (int round = 0; round < 4; round++) { /* in either phase */
		pthread_t reader = start_stay(&one), waiters[3];
		lull_rcu_cookie cookie = lull_rcu_domain_gp_start(&one);

		start_threads(waiters, 3, waits, &one);
		assert_false(lull_rcu_domain_gp_poll(&one, cookie));
		lull_rcu_domain_synchronize(&two);
		lull_rcu_synchronize();
		lull_rcu_barrier();
		nap_ms(20);
		assert_false(lull_rcu_domain_gp_poll(&one, cookie));
		assert_int_equal(over, 0);
		lull_store_release(&leave, 1);
		join_threads(waiters, 3);
		join_thread(reader);
		lull_rcu_domain_gp_wait(&one, cookie);
		assert_true(lull_rcu_domain_gp_poll(&one, cookie));
	}
}

/* New sections hold up no grace period: it ends while there is always one. */
static unsigned came;

static void *comes_again(void *arg)
{
	struct lull_rcu_domain *d = (struct lull_rcu_domain *)arg;

	while (!lull_load_acquire(&leave)) {
		int phase = lull_rcu_domain_read_lock(d), next;

		lull_store_release(&inside, 1);
		lull_add_relaxed(&came, 1u);
		next = lull_rcu_domain_read_lock(d);
		lull_rcu_domain_read_unlock(d, phase);
		sched_yield();
		lull_rcu_domain_read_unlock(d, next);
	}
	return NULL;
}

TEST(new_sections)
{
	pthread_t readers[3];

	inside = leave = 0;
	start_threads(readers, 3, comes_again, &one);
	await_flag(&inside, 1);
	for (int i = 0; i < 20; i++) {
		lull_rcu_cookie cookie = lull_rcu_domain_gp_start(&one);
		unsigned before = lull_load_relaxed(&came);

		AWAIT(lull_rcu_domain_gp_poll(&one, cookie));
		AWAIT_SOON(lull_load_relaxed(&came) != before); /* the readers have not ended, and begin more */
		lull_rcu_domain_synchronize(&one);
	}
	lull_store_release(&leave, 1);
	join_threads(readers, 3);
}

/*
 * A reader is interrupted between its look at the phase and its count, for as long as a grace period, or two. Whichever phase
 * it then counts in, the next grace period waits for it.
 */
TEST(stragglers)
{
	for (int periods = 0; periods < 5; periods++) {
		unsigned phase = one.phase;
		lull_rcu_cookie cookie;

		for (int i = 0; i < periods; i++)
			lull_rcu_domain_synchronize(&one);
		lull__rcu_domain_begin_slow(&one, phase);
		cookie = lull_rcu_domain_gp_start(&one);
		for (int i = 0; i < 4; i++)
			assert_false(lull_rcu_domain_gp_poll(&one, cookie));
		lull_rcu_domain_read_unlock(&one, (int)phase);
		assert_true(lull_rcu_domain_gp_poll(&one, cookie));
	}
}

/* A cookie is for the first grace period that begins after it, also where one is open that began before. */
TEST(cookies)
{
	int first = lull_rcu_domain_read_lock(&one), second;
	lull_rcu_cookie before = lull_rcu_domain_gp_start(&one), after;

	assert_false(lull_rcu_domain_gp_poll(&one, before));
	second = lull_rcu_domain_read_lock(&one);
	after = lull_rcu_domain_gp_start(&one);
	assert_true(after > before);
	lull_rcu_domain_read_unlock(&one, first);
	AWAIT(lull_rcu_domain_gp_poll(&one, before)); /* in its new phase the second one is not waited for */
	for (int i = 0; i < 4; i++)
		assert_false(lull_rcu_domain_gp_poll(&one, after));
	lull_rcu_domain_read_unlock(&one, second);
	assert_true(lull_rcu_domain_gp_poll(&one, after));
}

/* ---- whose sections, and where ---------------------------------------------------------------------- */

static void *ends(void *phase)
{
	lull_rcu_domain_read_unlock(&one, *(int *)phase);
	return NULL;
}

static int interrupted;

static void reads(int sig)
{
	int phase = lull_rcu_domain_read_lock(&one), other = lull_rcu_domain_read_lock(&two);

	(void)sig;
	lull_rcu_domain_read_unlock(&one, phase);
	lull_rcu_domain_read_unlock(&two, other);
	interrupted++;
}

TEST(any_context)
{
	int phase = lull_rcu_domain_read_lock(&one), nested;
	lull_rcu_cookie cookie = lull_rcu_domain_gp_start(&one);

	signal(SIGUSR1, reads);
	raise(SIGUSR1);
	lull_rcu_read_lock();
	nested = lull_rcu_domain_read_lock(&one);
	reads(0);
	assert_int_equal(interrupted, 2);
	assert_false(lull_rcu_domain_gp_poll(&one, cookie));
	join_thread(start_thread(ends, &phase)); /* another thread ends it */
	lull_rcu_domain_read_unlock(&one, nested);
	lull_rcu_read_unlock();
	lull_rcu_domain_gp_wait(&one, cookie);
}

/* An online thread that waits holds up nobody, unless it reads. */
TEST(online)
{
	pthread_t reader = start_stay(&one), waiter;

	lull_rcu_online();
	lull_store_release(&leave, 1);
	lull_rcu_domain_synchronize(&one);
	assert_true(lull_rcu_read_lock_held());
	join_thread(reader);
	reader = start_stay(&one);
	waiter = start_thread(waits, &one);
	lull_store_release(&leave, 1);
	lull_rcu_domain_barrier(&one);
	lull_rcu_offline();
	join_thread(waiter);
	join_thread(reader);
}

static void *waits_online(void *arg)
{
	lull_rcu_online();
	lull_store_release(&inside, 2);
	waits(arg);
	lull_rcu_offline();
	return NULL;
}

TEST(online_waiter)
{
	pthread_t reader = start_stay(&one), waiter = start_thread(waits_online, &one);

	await_flag(&inside, 2);
	lull_rcu_synchronize(); /* does not wait for it */
	lull_store_release(&leave, 1);
	join_thread(waiter);
	join_thread(reader);
}

/* In debug builds a dereference asks whether any section is open, also in handlers: it sees one that is, whatever others do. */
static void dereferences(int sig)
{
	static int object, *pointer = &object;
	int phase = lull_rcu_domain_read_lock(&one);

	(void)sig;
	assert_ptr_equal(lull_rcu_dereference(pointer), &object);
	lull_rcu_domain_read_unlock(&one, phase);
}

TEST(dereference)
{
	pthread_t other;

	inside = leave = 0;
	other = start_thread(comes_again, &one);
	await_flag(&inside, 1);
	signal(SIGUSR1, dereferences);
	for (int i = 0; i < 3000; i++) {
		dereferences(0);
		if (i % 100 == 0)
			pthread_kill(pthread_self(), SIGUSR1);
	}
	lull_store_release(&leave, 1);
	join_thread(other);
}

/* No thread is registered. */
static void *only_reads(void *unused)
{
	unsigned threads = lull_thread_count();

	reads(0);
	assert_int_equal(lull_thread_count(), threads);
	return unused;
}

TEST(no_registration)
{
	join_thread(start_thread(only_reads, NULL));
}

/* ---- callbacks ---------------------------------------------------------------------------------------- */

enum { CALLS = 100 };

static struct deferred {
	struct lull_head head;
	int number;
} deferred[CALLS];

static int called, early;
static pthread_t caller;

static void counts(struct lull_head *head)
{
	early += !lull_load_acquire(&over);
	if (lull_container_of(head, struct deferred, head)->number == called)
		lull_store_release(&called, called + 1); /* in their order */
	caller = pthread_self();
}

/* They are called after the grace period, in their order, on another thread; not by a barrier of another domain. */
TEST(call)
{
	pthread_t reader = start_stay(&one);
	int phase = lull_rcu_domain_read_lock(&two);

	called = early = 0;
	for (int i = 0; i < CALLS; i++) {
		deferred[i].number = i;
		lull_rcu_domain_call(&one, &deferred[i].head, counts);
	}
	lull_rcu_domain_read_unlock(&two, phase);
	lull_rcu_domain_barrier(&two);
	nap_ms(20);
	assert_int_equal(lull_load_acquire(&called), 0);
	lull_store_release(&leave, 1);
	lull_rcu_domain_barrier(&one);
	assert_int_equal(called, CALLS);
	assert_int_equal(early, 0);
	assert_false(pthread_equal(caller, pthread_self()));
	join_thread(reader);
}

/* A domain whose section stays open holds up no callback of another one. */
TEST(call_beside)
{
	int phase = lull_rcu_domain_read_lock(&two);
	struct deferred other = { { NULL, NULL }, CALLS };

	over = 1;
	called = 0;
	deferred[0].number = 0;
	lull_rcu_domain_call(&two, &other.head, counts);
	lull_rcu_domain_call(&one, &deferred[0].head, counts);
	AWAIT(lull_load_acquire(&called) == 1); /* without a barrier */
	lull_rcu_domain_read_unlock(&two, phase);
	lull_rcu_domain_barrier(&two);
	assert_int_equal(early, 0);
}

static int generations;
static struct lull_head again;

static void defers_again(struct lull_head *head)
{
	if (lull_add_relaxed(&generations, -1) > 1)
		lull_rcu_domain_call(&one, head, defers_again);
}

/* A callback may defer its own head, and wait for another domain. */
TEST(call_again)
{
	generations = 30;
	lull_rcu_domain_call(&one, &again, defers_again);
	AWAIT(lull_load_relaxed(&generations) == 0);
	lull_rcu_domain_barrier(&one);
}

TEST(destroy_calls)
{
	struct lull_rcu_domain d;

	assert_int_equal(lull_rcu_domain_init(&d, "short"), 0);
	over = 1;
	called = 0;
	for (int i = 0; i < CALLS; i++) {
		deferred[i].number = i;
		lull_rcu_domain_call(&d, &deferred[i].head, counts);
	}
	lull_rcu_domain_destroy(&d);
	assert_int_equal(called, CALLS);
}

/* ---- crowds --------------------------------------------------------------------------------------------- */

enum { MANY = 600, FEW = 3 };

TEST(many_domains)
{
	static struct lull_rcu_domain many[MANY];
	int phase[MANY];

	for (int i = 0; i < MANY; i++) {
		assert_int_equal(lull_rcu_domain_init(&many[i], "many"), 0);
		phase[i] = lull_rcu_domain_read_lock(&many[i]);
	}
	for (int i = 0; i < MANY; i++) {
		lull_rcu_cookie cookie = lull_rcu_domain_gp_start(&many[i]);

		assert_false(lull_rcu_domain_gp_poll(&many[i], cookie));
		lull_rcu_domain_read_unlock(&many[i], phase[i]);
		assert_true(lull_rcu_domain_gp_poll(&many[i], cookie));
	}
	for (int i = 0; i < MANY; i++)
		lull_rcu_domain_destroy(&many[i]);
}

enum { READERS = 3, ROUNDS = 2000, ALIVE = 0x600d };

struct object {
	struct lull_head head;
	int value;
};

static struct shared {
	struct lull_rcu_domain d;
	struct object *object;
} shared[FEW];
static int stop_readers, came_in;

static void *reads_all(void *unused)
{
	uint64_t random = (uint64_t)(uintptr_t)&random;

	while (!lull_load_acquire(&stop_readers)) {
		struct shared *s = &shared[dice(&random, FEW)];
		int phase = lull_rcu_domain_read_lock(&s->d);
		struct object *object = lull_rcu_dereference(s->object);

		for (unsigned i = dice(&random, 4); i; i--)
			sched_yield();
		assert_int_equal(lull_load_relaxed(&object->value), ALIVE);
		lull_rcu_domain_read_unlock(&s->d, phase);
		came_round(&came_in);
	}
	return unused;
}

static void object_gone(struct lull_head *head)
{
	struct object *object = lull_container_of(head, struct object, head);

	lull_store_relaxed(&object->value, 0xdead);
	free(object);
}

static struct object *new_object(void)
{
	struct object *object = (struct object *)malloc(sizeof(*object));

	assert_non_null(object);
	object->value = ALIVE;
	return object;
}

static void *updates(void *arg)
{
	struct shared *s = (struct shared *)arg;

	for (int i = 0; i < ROUNDS / (under_valgrind() ? 20 : 1); i++) {
		struct object *now = new_object(), *old = lull_rcu_replace(s->object, now);

		if (i % 4) {
			lull_rcu_domain_call(&s->d, &old->head, object_gone);
		} else {
			lull_rcu_domain_synchronize(&s->d);
			object_gone(&old->head);
		}
	}
	return NULL;
}

TEST(storm)
{
	pthread_t readers[READERS], updaters[FEW];

	stop_readers = came_in = 0;
	for (int i = 0; i < FEW; i++) {
		assert_int_equal(lull_rcu_domain_init(&shared[i].d, "storm"), 0);
		shared[i].object = new_object();
	}
	start_threads(readers, READERS, reads_all, NULL);
	AWAIT(lull_load_relaxed(&came_in) > READERS);
	for (int i = 0; i < FEW; i++)
		updaters[i] = start_thread(updates, &shared[i]);
	join_threads(updaters, FEW);
	lull_store_release(&stop_readers, 1);
	join_threads(readers, READERS);
	for (int i = 0; i < FEW; i++) {
		lull_rcu_domain_destroy(&shared[i].d);
		free(shared[i].object);
	}
}
