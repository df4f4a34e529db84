/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences, no-rseq */
/*
 * percpu_ref.c - percpu_ref.h: lives at random, of a ref and of a plain count, from init to exit, in each way to count;
 * memory. Also as C++, and run without restartable sequences.
 */
#include <signal.h>

#include "count/support.h"
#include "random.h"

/* ---- which way ------------------------------------------------------------------------------------ */

USE_SETUP(hearing_setup)
USE_TEARDOWN(settle_teardown)

TEST(per_cpu)
{
	bool expected = false;

#ifdef LULL__RSEQ
	expected = lull_fence_strategy() == LULL_FENCE_MEMBARRIER && __rseq_size > 0;
#endif
	assert_int_equal(lull_percpu_ref_per_cpu(), expected);
	assert_int_equal(lull_percpu_ref_per_cpu(), expected);
	assert_true(sizeof(struct lull_percpu_ref) == 3 * sizeof(void *));
}

/* ---- a life ------------------------------------------------------------------------------------------ */

TEST(init_fails)
{
	struct object o;

	assert_int_equal(lull_percpu_ref_init(&o.ref, NULL, 0), -EINVAL);
	assert_int_equal(lull_percpu_ref_init(&o.ref, note_release, 8), -EINVAL);
	assert_int_equal(lull_percpu_ref_init(&o.ref, note_release, ~0u), -EINVAL);
	assert_int_equal(lull_percpu_ref_init(&o.ref, note_release, 1u << 31), -EINVAL);
	check_silence();
}

/* Dead, confirmed, without a reference: its remaining uses. */
static void check_over(struct object *o)
{
	assert_true(lull_percpu_ref_is_dying(&o->ref));
	assert_true(lull_percpu_ref_is_zero(&o->ref));
	assert_false(lull_percpu_ref_tryget(&o->ref));
	assert_false(lull_percpu_ref_tryget_many(&o->ref, 3));
	assert_false(lull_percpu_ref_tryget_live(&o->ref));
	assert_true(lull_percpu_ref_is_zero(&o->ref));
}

static void check_exit(struct object *o)
{
	lull_percpu_ref_exit(&o->ref);
	check_over(o);
	lull_percpu_ref_exit(&o->ref);
	check_over(o);
}

/* ---- lives at random ------------------------------------------------------------------------------------------------ */

/* The owner's knowledge of its ref. */
static struct {
	struct object o;
	unsigned flags;
	uint64_t random;
	long count; /* the owner's, until it kills, and others' */
	bool dying, in_one_place, stays_so;
	int released, confirmed;
} m;

static unsigned rnd(unsigned sides)
{
	return dice(&m.random, sides);
}

static bool may_come_back(void)
{
	return m.flags != 0;
}

static void begin_life(unsigned flags)
{
	object_init(&m.o, flags);
	m.flags = flags;
	m.dying = flags & LULL_PERCPU_REF_INIT_DEAD;
	m.count = !m.dying;
	m.stays_so = flags & LULL_PERCPU_REF_INIT_ATOMIC;
	m.in_one_place = m.dying || m.stays_so;
	m.released = m.confirmed = 0;
}

/* Act as an interrupted thread: what was got on a CPU is put by way of the shared count, or the other way round. */
static bool is_interrupted(void)
{
	return rnd(3) == 0;
}

/* Alive and with none left it goes on, if it may be brought back at all. */
static bool may_rest(void)
{
	return may_come_back() && !m.dying;
}

/* Dead or in one place with none left: then it is over, or at rest. */
static void count_fewer(long n)
{
	m.count -= n;
	m.released += m.in_one_place && m.count == 0;
}

static void get_some(void)
{
	unsigned n = 1 + rnd(20);
	int how = (int)rnd(5);
	bool got;

	if (how < 2 && (m.count || may_rest())) {
		if (is_interrupted())
			lull__percpu_ref_get_slow(&m.o.ref, how ? n : 1);
		else if (how)
			lull_percpu_ref_get_many(&m.o.ref, n);
		else
			lull_percpu_ref_get(&m.o.ref);
		m.count += how ? n : 1;
		return;
	}
	if (!m.count && m.in_one_place && !lull_percpu_ref_per_cpu())
		settle(); /* until the kill is over there seem to be more */
	if (is_interrupted())
		got = how < 4 ? lull__percpu_ref_tryget_slow(&m.o.ref, how < 3 ? n : 1) :
				lull__percpu_ref_tryget_live_slow(&m.o.ref, 1);
	else
		got = how < 3  ? lull_percpu_ref_tryget_many(&m.o.ref, n) :
		      how == 3 ? lull_percpu_ref_tryget(&m.o.ref) :
				 lull_percpu_ref_tryget_live(&m.o.ref);
	assert_int_equal(got, (m.count || !m.in_one_place) && (how < 4 || !m.dying));
	m.count += got ? how < 3 ? n : 1 : 0;
}

/* The owner's too, if it is seen when that goes, or if the ref may rest: there is no other way to live on with none. */
static void put_some(void)
{
	bool all = m.dying || (rnd(8) == 0 && (may_rest() || (m.stays_so && m.in_one_place)));
	long held = m.count - (all ? 0 : 1);
	long n;

	if (held < 1)
		return;
	n = rnd(3) ? 1 + (long)rnd((unsigned)held) : held;
	if (is_interrupted())
		lull__percpu_ref_put_slow(&m.o.ref, n);
	else if (n == 1)
		lull_percpu_ref_put(&m.o.ref);
	else
		lull_percpu_ref_put_many(&m.o.ref, (unsigned)n);
	count_fewer(n);
}

static void kills(struct lull_rcu_head *confirms)
{
	lull_percpu_ref_get(&m.o.ref);
	if (confirms)
		lull_percpu_ref_kill_and_confirm(&m.o.ref, note_confirm);
	else if (m.count % 2)
		lull_percpu_ref_kill_and_confirm(&m.o.ref, NULL);
	else
		lull_percpu_ref_kill(&m.o.ref);
	assert_true(lull_percpu_ref_is_dying(&m.o.ref));
	lull_percpu_ref_put(&m.o.ref);
}

/* In a callback, in a read section, nested even, which it does not wait for; with rseq all is over at once. */
static void kill_it(void)
{
	static struct lull_rcu_head head;
	unsigned sections = rnd(3);

	if (m.dying || !m.count)
		return;
	if (rnd(4) == 0) {
		lull_rcu_call(&head, kills);
		lull_rcu_barrier();
		m.confirmed++;
	} else {
		for (unsigned i = 0; i < sections; i++)
			lull_rcu_read_lock();
		kills(m.count % 3 ? &head : NULL);
		m.confirmed += m.count % 3 != 0;
		for (unsigned i = 0; i < sections; i++)
			lull_rcu_read_unlock();
	}
	m.dying = m.in_one_place = true;
	count_fewer(1);
	assert_true(lull_percpu_ref_is_dying(&m.o.ref));
	if (!lull_percpu_ref_per_cpu() && rnd(2))
		return;
	settle();
	assert_int_equal(lull_load_acquire(&m.o.released), m.released);
}

static void revive(void)
{
	if (!m.dying || !may_come_back())
		return;
	if (m.count == 0 && rnd(2)) {
		expect_count(&m.o.released, m.released);
		lull_percpu_ref_reinit(&m.o.ref);
	} else {
		lull_percpu_ref_resurrect(&m.o.ref); /* waits for the kill */
		assert_int_equal(lull_load_acquire(&m.o.confirmed), m.confirmed);
	}
	m.dying = false;
	m.count++;
	m.in_one_place = m.stays_so;
	assert_false(lull_percpu_ref_is_dying(&m.o.ref));
}

/* It stays so over a kill, reinit and resurrect. Without a flag it goes to one count, too; only not back. */
static void switch_it(void)
{
	if (rnd(2)) {
		if (!may_come_back())
			return;
		lull_percpu_ref_switch_to_percpu(&m.o.ref);
		m.stays_so = false;
		m.in_one_place = m.dying;
		return;
	}
	m.released += !m.in_one_place && !m.count;
	if (rnd(2)) {
		lull_percpu_ref_switch_to_atomic_sync(&m.o.ref);
		assert_int_equal(lull_percpu_ref_is_zero(&m.o.ref), m.count == 0);
		assert_int_equal(lull_load_acquire(&m.o.released), m.released);
	} else if (rnd(2)) {
		lull_percpu_ref_switch_to_atomic(&m.o.ref, NULL);
		settle();
	} else {
		lull_percpu_ref_switch_to_atomic(&m.o.ref, note_confirm);
		expect_count(&m.o.confirmed, ++m.confirmed);
		settle();
	}
	m.stays_so = m.in_one_place = true;
}

static void check_life(void)
{
	assert_int_equal(lull_percpu_ref_is_dying(&m.o.ref), m.dying);
	/* Counted in several places, their number is unknown, but this is not the last. */
	if (!m.in_one_place) {
		assert_false(lull_percpu_ref_is_zero(&m.o.ref));
		assert_true(lull_load_relaxed(&m.o.ref.count) > 1);
	} else if (lull_percpu_ref_per_cpu() || rnd(4) == 0) {
		settle();
		assert_int_equal(lull_percpu_ref_is_zero(&m.o.ref), m.count == 0);
		if (m.count)
			assert_int_equal(lull_load_relaxed(&m.o.ref.count), m.count);
		assert_int_equal(lull_load_acquire(&m.o.released), m.released);
		assert_int_equal(lull_load_acquire(&m.o.confirmed), m.confirmed);
	}
}

/* Killed or not, used or not: the memory may be init'ed again each time. */
static void end_life(void)
{
	expect_count(&m.o.released, m.released);
	expect_count(&m.o.confirmed, m.confirmed);
	settle();
	assert_int_equal(m.o.released, m.released);
	assert_int_equal(m.o.confirmed, m.confirmed);
	check_exit(&m.o);
	check_silence();
}

/* Each call of an owner in each way to count. A killed ref is confirmed once, and released once, by the last put. */
TEST(random)
{
	m.random = test_seed();
	for (int life = 0; life < (lull_percpu_ref_per_cpu() ? 800 : 200); life++) {
		begin_life(ways[life % WAYS_TO_BE] | (life % 5 ? 0 : LULL_PERCPU_REF_INIT_DEAD));
		for (unsigned n = rnd(40); n; n--) {
			static void (*const steps[])(void) = { get_some, get_some, put_some, put_some, kill_it, revive, revive,
							       switch_it };

			steps[rnd(8)]();
			check_life();
		}
		end_life();
	}
	memset(&m.o, 0, sizeof(m.o));
	check_exit(&m.o);
}

/* ---- at rest ---------------------------------------------------------------------------------------- */

enum { REQUESTS = 3 };
static int requests[REQUESTS], idle_over; /* odd while the thread has a reference */

/* By the owner's thread, lull's or one with a request, or by two of them at the same time. */
static void note_zero(struct lull_percpu_ref *ref)
{
	lull_add_release(&object_of(ref)->released, 1);
}

static void *does_requests(void *number)
{
	for (unsigned i = 0; !lull_load_relaxed(&idle_over); i++) {
		lull_percpu_ref_get(&m.o.ref);
		lull_add_release((int *)number, 1);
		if (i % 8 == 0)
			sched_yield();
		lull_add_release((int *)number, 1);
		lull_percpu_ref_put(&m.o.ref);
		sched_yield();
	}
	return NULL;
}

/* As md of the Linux kernel does it: who holds one from before the switch until after the look is not overlooked. */
TEST(idle_beside_requests)
{
	pthread_t threads[REQUESTS];
	int before[REQUESTS], zeros = 0, rounds = lull_percpu_ref_per_cpu() ? 3000 : 300;
	uint64_t since_ns = now_ns();
	bool zero;

	lull_store_relaxed(&idle_over, 0);
	memset(&m.o, 0, sizeof(m.o));
	assert_int_equal(lull_percpu_ref_init(&m.o.ref, note_zero, LULL_PERCPU_REF_ALLOW_REINIT), 0);
	lull_percpu_ref_put(&m.o.ref);
	for (int i = 0; i < REQUESTS; i++)
		threads[i] = start_thread(does_requests, &requests[i]);
	for (int round = 0; round < rounds || !zeros; round++) {
		check_patience(since_ns, "a moment without requests", __FILE__, __LINE__);
		for (int i = 0; i < REQUESTS; i++)
			before[i] = lull_load_acquire(&requests[i]);
		lull_percpu_ref_switch_to_atomic_sync(&m.o.ref);
		zero = lull_percpu_ref_is_zero(&m.o.ref);
		for (int i = 0; zero && i < REQUESTS; i++)
			assert_false(before[i] % 2 && lull_load_acquire(&requests[i]) == before[i]);
		zeros += zero;
		lull_percpu_ref_switch_to_percpu(&m.o.ref);
		assert_false(lull_percpu_ref_is_zero(&m.o.ref));
	}
	lull_store_relaxed(&idle_over, 1);
	for (int i = 0; i < REQUESTS; i++)
		join_thread(threads[i]);
	lull_percpu_ref_switch_to_atomic_sync(&m.o.ref);
	assert_true(lull_percpu_ref_is_zero(&m.o.ref));
	assert_true(lull_load_acquire(&m.o.released) >= zeros);
	lull_percpu_ref_exit(&m.o.ref);
	check_silence();
}

/* Gets and puts that are not interrupted leave the shared count alone, until that is the one. */
TEST(counts_apart)
{
	struct object o;
	intptr_t before;
	int apart = 0;

	object_init(&o, 0);
	for (int i = 0; i < 1000; i++) {
		before = lull_load_relaxed(&o.ref.count);
		lull_percpu_ref_get_many(&o.ref, 3);
		assert_true(lull_percpu_ref_tryget(&o.ref));
		assert_true(lull_percpu_ref_tryget_live(&o.ref));
		lull_percpu_ref_put_many(&o.ref, 2);
		lull_percpu_ref_put_many(&o.ref, 2);
		apart += lull_load_relaxed(&o.ref.count) == before;
	}
	assert_true(apart > 500);
	assert_int_equal(references(&o), 1001);
	before = lull_load_relaxed(&o.ref.count);
	lull_percpu_ref_get_many(&o.ref, 3);
	assert_int_equal(lull_load_relaxed(&o.ref.count), before + 3);
	lull_percpu_ref_exit(&o.ref);
}

static void release_and_exit(struct lull_percpu_ref *ref)
{
	note_release(ref);
	lull_percpu_ref_exit(ref);
}

static int freed;

static void release_and_free(struct lull_percpu_ref *ref)
{
	struct object *o = object_of(ref);

	lull_percpu_ref_exit(ref);
	free(o);
	lull_add_release(&freed, 1);
}

/* Release may exit, and free. */
TEST(release_ends_it)
{
	struct object o, *heap;

	lull_store_relaxed(&freed, 0);
	for (int i = 0; i < 2 * WAYS_TO_BE; i++) {
		memset(&o, 0, sizeof(o));
		assert_int_equal(lull_percpu_ref_init(&o.ref, release_and_exit, ways[i / 2]), 0);
		heap = (struct object *)malloc(sizeof(*heap));
		assert_non_null(heap);
		assert_int_equal(lull_percpu_ref_init(&heap->ref, release_and_free, ways[i / 2]), 0);
		if (i % 2) {
			lull_percpu_ref_get(&o.ref);
			lull_percpu_ref_get(&heap->ref);
		}
		lull_percpu_ref_kill(&o.ref);
		lull_percpu_ref_kill(&heap->ref);
		if (i % 2) {
			lull_percpu_ref_put(&o.ref);
			lull_percpu_ref_put(&heap->ref);
		}
		expect_released(&o, 1);
		expect_count(&freed, i + 1);
		check_over(&o);
	}
	check_silence();
}

static pthread_t confirmed_by;

static void note_who_confirms(struct lull_percpu_ref *ref)
{
	confirmed_by = pthread_self();
	note_confirm(ref);
}

/* Readers are waited for in the background: the caller is one of them. */
TEST(kill_without_rseq)
{
	struct object o;

	if (lull_percpu_ref_per_cpu())
		SKIP("counters are per CPU here, not per thread");
	object_init(&o, 0);
	lull_rcu_read_lock();
	lull_percpu_ref_kill_and_confirm(&o.ref, note_who_confirms);
	nap_ms(20);
	assert_int_equal(lull_load_acquire(&o.confirmed), 0);
	assert_int_equal(lull_load_acquire(&o.released), 0);
	lull_rcu_read_unlock();
	expect_released(&o, 1);
	assert_int_equal(o.confirmed, 1);
	assert_false(pthread_equal(confirmed_by, pthread_self()));
	assert_false(pthread_equal(o.released_by, pthread_self()));
	lull_percpu_ref_exit(&o.ref);
}

/* Where callbacks run in poll, so does what a kill has left to do. */
TEST(kill_when_polling)
{
	struct object o;

	set_mode(LULL_RECLAIM_POLL);
	object_init(&o, 0);
	lull_percpu_ref_kill_and_confirm(&o.ref, note_confirm);
	while (lull_load_relaxed(&o.released) == 0)
		lull_reclaim_poll(100, 0);
	assert_int_equal(o.confirmed, 1);
	lull_percpu_ref_exit(&o.ref);
	set_mode(LULL_RECLAIM_THREAD);
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

/* The counters go back when the ref was killed; if it may come back, with exit. */
TEST(when_counters_go)
{
	struct object a, b;
	uintptr_t cell;

	for (int keep = 0; keep < 2; keep++) {
		object_init(&a, keep ? LULL_PERCPU_REF_ALLOW_REINIT : 0);
		cell = cell_of(&a);
		lull_percpu_ref_get_many(&a.ref, 7); /* a rest in the cell, which the next ref must not see */
		lull_percpu_ref_kill(&a.ref);
		settle();
		object_init(&b, 0);
		assert_int_equal(cell_of(&b) == cell, !keep);
		assert_int_equal(references(&b), 1);
		lull_percpu_ref_exit(&b.ref);
		lull_percpu_ref_exit(&a.ref);
		object_init(&b, 0);
		assert_true(cell_of(&b) == cell);
		assert_int_equal(references(&b), 1);
		lull_percpu_ref_exit(&b.ref);
	}
}
