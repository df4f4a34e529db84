/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences, no-rseq */
/*
 * percpu_ref.c - percpu_ref.h: what each call does, from init to exit, in each way to count;
 * memory. Also as C++, and run without restartable sequences.
 */
#include <signal.h>

#include "count/support.h"

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

/* Dead, confirmed, without a reference: what is left to be had of it. */
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

static void live(struct object *o, bool counts_apart)
{
	int released = o->released;

	assert_false(lull_percpu_ref_is_dying(&o->ref));
	assert_false(lull_percpu_ref_is_zero(&o->ref));
	lull_percpu_ref_get(&o->ref);
	lull_percpu_ref_get_many(&o->ref, 10);
	assert_true(lull_percpu_ref_tryget(&o->ref));
	assert_true(lull_percpu_ref_tryget_many(&o->ref, 5));
	assert_true(lull_percpu_ref_tryget_live(&o->ref));
	lull_percpu_ref_put(&o->ref);
	lull_percpu_ref_put_many(&o->ref, 17);
	if (counts_apart) /* nobody knows that there is one reference left */
		assert_true(lull_load_relaxed(&o->ref.count) > 1);
	else
		assert_int_equal(lull_load_relaxed(&o->ref.count), 1);
	assert_false(lull_percpu_ref_is_zero(&o->ref));
	assert_int_equal(o->released, released);
}

TEST(life)
{
	struct object o;

	for (int i = 0; i < WAYS_TO_BE; i++) {
		object_init(&o, ways[i]);
		live(&o, !(ways[i] & LULL_PERCPU_REF_INIT_ATOMIC));
		lull_percpu_ref_get_many(&o.ref, 3);
		lull_percpu_ref_kill(&o.ref);
		assert_true(lull_percpu_ref_is_dying(&o.ref));
		settle();
		/* Killed, with three references: more of them, but not by tryget_live. */
		assert_false(lull_percpu_ref_tryget_live(&o.ref));
		assert_true(lull_percpu_ref_tryget(&o.ref));
		assert_true(lull_percpu_ref_tryget_many(&o.ref, 2));
		lull_percpu_ref_get(&o.ref);
		lull_percpu_ref_get_many(&o.ref, 2);
		lull_percpu_ref_put_many(&o.ref, 6);
		lull_percpu_ref_put_many(&o.ref, 2);
		assert_false(lull_percpu_ref_is_zero(&o.ref));
		assert_int_equal(o.released, 0);
		assert_int_equal(lull_load_relaxed(&o.ref.count), 1);
		lull_percpu_ref_put(&o.ref);
		assert_int_equal(o.released, 1);
		assert_true(pthread_equal(o.released_by, pthread_self()));
		check_over(&o);
		check_exit(&o);
		assert_int_equal(o.released, 1);
	}
	check_silence();
}

/*
 * What was got on a CPU, all put by way of the shared count, as whoever is interrupted each time does,
 * and the other way round: that is not the end.
 */
TEST(interrupted_each_time)
{
	struct object o;

	object_init(&o, LULL_PERCPU_REF_ALLOW_REINIT);
	for (int life = 1; life <= 3; life++) {
		for (int i = 0; i < 1000; i++)
			lull_percpu_ref_get(&o.ref);
		for (int i = 0; i < 1000; i++)
			lull__percpu_ref_put_slow(&o.ref, 1);
		for (int i = 0; i < 1000; i++)
			lull__percpu_ref_get_slow(&o.ref, 1);
		assert_true(lull__percpu_ref_tryget_slow(&o.ref, 1));
		assert_true(lull__percpu_ref_tryget_live_slow(&o.ref, 1));
		for (int i = 0; i < 1002; i++)
			lull_percpu_ref_put(&o.ref);
		assert_int_equal(o.released, life - 1);
		lull_percpu_ref_kill(&o.ref);
		expect_released(&o, life);
		lull_percpu_ref_reinit(&o.ref);
	}
	lull_percpu_ref_exit(&o.ref);
	check_silence();
}

/* Gets and puts that nobody interrupts leave the shared count alone, until that is the one. */
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

/* Nobody but the owner: kill releases, here, or on the reclaimer's thread. */
TEST(kill_alone)
{
	struct object o;

	for (int i = 0; i < WAYS_TO_BE; i++) {
		object_init(&o, ways[i]);
		lull_percpu_ref_kill(&o.ref);
		if (lull_percpu_ref_per_cpu() || (ways[i] & LULL_PERCPU_REF_INIT_ATOMIC))
			assert_int_equal(o.released, 1);
		expect_released(&o, 1);
		check_over(&o);
		check_exit(&o);
	}
}

/* Confirmed once, before the release, which comes once and with the last put. */
TEST(kill_and_confirm)
{
	struct object o;

	for (int i = 0; i < WAYS_TO_BE; i++) {
		object_init(&o, ways[i]);
		lull_percpu_ref_get(&o.ref);
		lull_percpu_ref_kill_and_confirm(&o.ref, note_confirm);
		expect_count(&o.confirmed, 1);
		assert_false(lull_percpu_ref_tryget_live(&o.ref));
		assert_int_equal(o.released, 0);
		lull_percpu_ref_put(&o.ref);
		expect_released(&o, 1);
		assert_int_equal(o.confirmed, 1);
		lull_percpu_ref_exit(&o.ref);

		object_init(&o, ways[i]);
		lull_percpu_ref_kill_and_confirm(&o.ref, note_confirm);
		expect_released(&o, 1);
		assert_int_equal(o.confirmed, 1);
		lull_percpu_ref_exit(&o.ref);

		object_init(&o, ways[i]);
		lull_percpu_ref_kill_and_confirm(&o.ref, NULL);
		expect_released(&o, 1);
		lull_percpu_ref_exit(&o.ref);
	}
}

/* exit of what was never used, never killed, zeroed; the memory may be init'ed again each time. */
TEST(exit)
{
	struct object o;

	for (int i = 0; i < WAYS_TO_BE; i++) {
		object_init(&o, ways[i]);
		check_exit(&o);
		object_init(&o, ways[i]);
		lull_percpu_ref_get_many(&o.ref, 3);
		check_exit(&o);
		object_init(&o, ways[i] | LULL_PERCPU_REF_INIT_DEAD);
		check_exit(&o);
		assert_int_equal(o.released, 0);
	}
	memset(&o, 0, sizeof(o));
	check_exit(&o);
	check_silence();
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

/* kill in a read section, nested even: it does not wait for it. */
TEST(kill_in_section)
{
	struct object o;

	for (int i = 0; i < WAYS_TO_BE; i++) {
		object_init(&o, ways[i]);
		lull_percpu_ref_get(&o.ref);
		lull_rcu_read_lock();
		lull_rcu_read_lock();
		lull_percpu_ref_kill_and_confirm(&o.ref, note_confirm);
		assert_true(lull_percpu_ref_is_dying(&o.ref));
		lull_percpu_ref_put(&o.ref);
		lull_rcu_read_unlock();
		lull_rcu_read_unlock();
		expect_released(&o, 1);
		assert_int_equal(o.confirmed, 1);
		lull_percpu_ref_exit(&o.ref);
	}
}

static struct object in_callback;

static void kills(struct lull_rcu_head *head)
{
	(void)head;
	lull_percpu_ref_get(&in_callback.ref);
	lull_percpu_ref_kill_and_confirm(&in_callback.ref, note_confirm);
	lull_percpu_ref_put(&in_callback.ref);
}

TEST(kill_in_callback)
{
	static struct lull_rcu_head head;

	for (int i = 0; i < WAYS_TO_BE; i++) {
		object_init(&in_callback, ways[i]);
		lull_rcu_call(&head, kills);
		expect_released(&in_callback, 1);
		assert_int_equal(in_callback.confirmed, 1);
		lull_percpu_ref_exit(&in_callback.ref);
	}
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

/* ---- one count ----------------------------------------------------------------------------------------- */

/* Zero can be seen without a kill. */
TEST(init_atomic)
{
	struct object o;

	object_init(&o, LULL_PERCPU_REF_INIT_ATOMIC);
	assert_true(lull_percpu_ref_tryget_live(&o.ref));
	lull_percpu_ref_put(&o.ref);
	assert_false(lull_percpu_ref_is_zero(&o.ref));
	lull_percpu_ref_put(&o.ref);
	assert_int_equal(o.released, 1);
	assert_true(lull_percpu_ref_is_zero(&o.ref));
	assert_false(lull_percpu_ref_is_dying(&o.ref));
	assert_false(lull_percpu_ref_tryget(&o.ref));
	assert_false(lull_percpu_ref_tryget_live(&o.ref));
	lull_percpu_ref_exit(&o.ref);

	/* Until switch_to_percpu, for which it needs no other flag, nor for reinit. */
	object_init(&o, LULL_PERCPU_REF_INIT_ATOMIC);
	lull_percpu_ref_switch_to_percpu(&o.ref);
	live(&o, true);
	lull_percpu_ref_kill(&o.ref);
	expect_released(&o, 1);
	lull_percpu_ref_reinit(&o.ref);
	live(&o, true);
	lull_percpu_ref_kill(&o.ref);
	expect_released(&o, 2);
	lull_percpu_ref_exit(&o.ref);
	check_silence();
}

TEST(init_dead)
{
	struct object o;

	for (int i = 0; i < WAYS_TO_BE; i++) {
		bool atomic = ways[i] & LULL_PERCPU_REF_INIT_ATOMIC;

		object_init(&o, ways[i] | LULL_PERCPU_REF_INIT_DEAD);
		check_over(&o);
		assert_int_equal(o.released, 0);
		lull_percpu_ref_reinit(&o.ref);
		live(&o, !atomic);
		lull_percpu_ref_kill(&o.ref);
		expect_released(&o, 1);
		check_over(&o);
		lull_percpu_ref_resurrect(&o.ref);
		live(&o, !atomic);
		o.released = 0;
		lull_percpu_ref_kill_and_confirm(&o.ref, note_confirm);
		expect_released(&o, 1);
		assert_int_equal(o.confirmed, 1);
		check_exit(&o);
	}
	check_silence();
}

TEST(switch)
{
	struct object o;

	object_init(&o, LULL_PERCPU_REF_ALLOW_REINIT);
	lull_percpu_ref_get_many(&o.ref, 4);
	for (int i = 1; i <= 20; i++) {
		lull_percpu_ref_switch_to_atomic(&o.ref, note_confirm);
		expect_count(&o.confirmed, i);
		settle();
		assert_int_equal(lull_load_relaxed(&o.ref.count), 5);
		assert_true(lull_percpu_ref_tryget_live(&o.ref));
		lull_percpu_ref_get(&o.ref);
		assert_int_equal(lull_load_relaxed(&o.ref.count), 7);
		if (i % 2) {
			lull_percpu_ref_switch_to_percpu(&o.ref);
			lull_percpu_ref_switch_to_percpu(&o.ref);
			assert_true(lull_load_relaxed(&o.ref.count) > 7);
		}
		lull_percpu_ref_put_many(&o.ref, 2);
		assert_int_equal(references(&o), 5);
		assert_int_equal(references(&o), 5);
		if (i % 3 == 0)
			lull_percpu_ref_switch_to_percpu(&o.ref);
	}
	lull_percpu_ref_switch_to_atomic(&o.ref, NULL);
	lull_percpu_ref_put_many(&o.ref, 4);
	assert_int_equal(o.released, 0);
	lull_percpu_ref_switch_to_atomic_sync(&o.ref);
	lull_percpu_ref_put(&o.ref); /* the owner's: without kill */
	expect_released(&o, 1);
	assert_int_equal(o.confirmed, 20);
	lull_percpu_ref_exit(&o.ref);
	check_silence();
}

/* Without a flag it goes to one count, too; only not back. */
TEST(switch_for_good)
{
	struct object o;

	object_init(&o, 0);
	lull_percpu_ref_get(&o.ref);
	assert_int_equal(references(&o), 2);
	lull_percpu_ref_kill_and_confirm(&o.ref, note_confirm);
	assert_int_equal(o.confirmed, 1);
	assert_int_equal(o.released, 0);
	lull_percpu_ref_put(&o.ref);
	assert_int_equal(o.released, 1);
	lull_percpu_ref_exit(&o.ref);
}

/* It stays so over reinit and resurrect; switch_to_percpu of a dead ref counts from the next life on. */
TEST(switch_and_reinit)
{
	struct object o;

	object_init(&o, LULL_PERCPU_REF_ALLOW_REINIT);
	lull_percpu_ref_switch_to_atomic_sync(&o.ref);
	for (int i = 1; i <= 4; i++) {
		lull_percpu_ref_kill(&o.ref);
		assert_int_equal(o.released, i);
		if (i % 2)
			lull_percpu_ref_reinit(&o.ref);
		else
			lull_percpu_ref_resurrect(&o.ref);
		live(&o, false);
	}
	lull_percpu_ref_kill(&o.ref);
	lull_percpu_ref_switch_to_percpu(&o.ref);
	check_over(&o);
	lull_percpu_ref_reinit(&o.ref);
	live(&o, true);
	lull_percpu_ref_kill(&o.ref);
	expect_released(&o, 6);
	check_exit(&o);
	check_silence();
}

/* A dead ref counts in one place already: confirmed, and not a reference more or less. */
TEST(switch_of_dead)
{
	struct object o;

	object_init(&o, LULL_PERCPU_REF_ALLOW_REINIT);
	lull_percpu_ref_get(&o.ref);
	lull_percpu_ref_kill(&o.ref);
	lull_percpu_ref_switch_to_atomic(&o.ref, note_confirm);
	expect_count(&o.confirmed, 1);
	lull_percpu_ref_switch_to_atomic_sync(&o.ref);
	assert_int_equal(o.released, 0);
	lull_percpu_ref_put(&o.ref);
	expect_released(&o, 1);
	lull_percpu_ref_switch_to_atomic(&o.ref, note_confirm);
	expect_count(&o.confirmed, 2);
	lull_percpu_ref_switch_to_atomic(&o.ref, NULL);
	lull_percpu_ref_switch_to_atomic_sync(&o.ref);
	o.released_when_confirmed = 0; /* it was released before, and rightly */
	expect_released(&o, 1);
	check_over(&o);
	lull_percpu_ref_reinit(&o.ref);
	live(&o, false);
	lull_percpu_ref_exit(&o.ref);
	check_silence();
}

/* ---- back to life ----------------------------------------------------------------------------------------- */

TEST(resurrect_with_references)
{
	struct object o;

	object_init(&o, LULL_PERCPU_REF_ALLOW_REINIT);
	lull_percpu_ref_get_many(&o.ref, 5);
	for (int i = 0; i < 20; i++) {
		lull_percpu_ref_kill_and_confirm(&o.ref, note_confirm);
		lull_percpu_ref_put(&o.ref);
		lull_percpu_ref_resurrect(&o.ref); /* waits for the kill */
		assert_int_equal(lull_load_relaxed(&o.confirmed), i + 1);
		assert_false(lull_percpu_ref_is_dying(&o.ref));
		assert_true(lull_percpu_ref_tryget_live(&o.ref));
		if (i % 4 == 3) {
			assert_int_equal(references(&o), 6);
			lull_percpu_ref_switch_to_percpu(&o.ref);
		}
	}
	lull_percpu_ref_kill(&o.ref);
	lull_percpu_ref_put_many(&o.ref, 4);
	settle();
	assert_int_equal(o.released, 0);
	lull_percpu_ref_put(&o.ref);
	expect_released(&o, 1);
	lull_percpu_ref_exit(&o.ref);
	check_silence();
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

static uintptr_t cell_of(const struct object *o)
{
	return o->ref.word & ~(uintptr_t)LULL__RSEQ_NOT;
}

/* The counters go back when the ref was killed; if it may come back, with exit. */
TEST(when_counters_go)
{
	struct object a, b;
	uintptr_t cell;

	for (int keep = 0; keep < 2; keep++) {
		object_init(&a, keep ? LULL_PERCPU_REF_ALLOW_REINIT : 0);
		cell = cell_of(&a);
		lull_percpu_ref_get_many(&a.ref, 7); /* what is left in there is no business of the next's */
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
