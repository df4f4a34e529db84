/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * srcu.c - the kernel's names for domains, for the lock of many readers, and for what it is made of.
 */
#include "child.h"
#include "threads.h"

#include <lull/compat/kernel.h>

struct object {
	long value;
	struct rcu_head rcu;
};

static struct srcu_struct srcu, other;
static struct object first = { .value = 1 };
static struct object __rcu *published = &first;
static int returned, called;

SETUP
{
	assert_int_equal(init_srcu_struct(&srcu), 0);
	assert_int_equal(init_srcu_struct(&other), 0);
	returned = called = 0;
}

TEARDOWN
{
	cleanup_srcu_struct(&srcu);
	cleanup_srcu_struct(&other);
}

/* ---- srcu.h ------------------------------------------------------------------------------------- */

static void barrier_too(struct srcu_struct *ssp)
{
	srcu_barrier(ssp);
}

static void object_gone(struct rcu_head *head)
{
	assert_ptr_equal(head, &first.rcu);
	lull_add_relaxed(&called, 1);
}

static void *waits(void *how)
{
	(*(void (**)(struct srcu_struct *))how)(&srcu);
	lull_store_release(&returned, 1);
	return NULL;
}

/* Each way to wait waits for a section of this domain, and for none of another. */
TEST(srcu)
{
	void (*ways[])(struct srcu_struct *) = { synchronize_srcu, synchronize_srcu_expedited, barrier_too };

	for (int i = 0; i < 3; i++) {
		int idx = srcu_read_lock(&srcu), beside = srcu_read_lock(&other);
		pthread_t updater;

		returned = called = 0;
		call_srcu(&srcu, &first.rcu, object_gone);
		updater = start_thread(waits, &ways[i]);
		nap_ms(20);
		assert_int_equal(lull_load_acquire(&returned) + lull_load_acquire(&called), 0);
		srcu_read_unlock(&srcu, idx);
		join_thread(updater);
		srcu_barrier(&srcu);
		assert_int_equal(called, 1);
		srcu_read_unlock(&other, beside);
	}
}

DEFINE_LOCK_GUARD_1(counted, int, _T->before = (*_T->lock)++, *_T->lock = _T->before, int before);

static bool has_readers(struct srcu_struct *ssp)
{
	return !poll_state_synchronize_srcu(ssp, start_poll_synchronize_srcu(ssp));
}

/* A section of the domain that is named, and of no other, until the block ends. */
TEST(guard)
{
	int count = 7, *none = NULL;

	{
		guard(srcu)(&srcu);
		guard(counted)(&count);
		guard(counted)(none);
		assert_int_equal(count, 8);
		assert_true(has_readers(&srcu));
		assert_false(has_readers(&other));
	}
	assert_int_equal(count, 7);
	assert_false(has_readers(&srcu));
	scoped_guard(srcu, &srcu)
		assert_true(has_readers(&srcu));
	assert_false(has_readers(&srcu));
}

TEST(srcu_polled)
{
	int idx = srcu_read_lock(&srcu);
	unsigned long state = get_state_synchronize_srcu(&srcu), begun = start_poll_synchronize_srcu(&srcu);

	for (int i = 0; i < 4; i++)
		assert_false(poll_state_synchronize_srcu(&srcu, state) || poll_state_synchronize_srcu(&srcu, begun));
	srcu_read_unlock(&srcu, idx);
	AWAIT(poll_state_synchronize_srcu(&srcu, begun));
	assert_true(poll_state_synchronize_srcu(&srcu, state));
}

static void dereference_without(void)
{
	(void)srcu_dereference(published, &srcu);
}

static void check_without(void)
{
	(void)srcu_dereference_check(published, &srcu, false);
}

TEST(srcu_dereference)
{
	int idx = srcu_read_lock(&srcu), evaluated = 0;

	assert_ptr_equal(srcu_dereference(published, &srcu), &first);
	assert_ptr_equal(srcu_dereference_check(published, &srcu, 0), &first);
	srcu_read_unlock(&srcu, idx);
	assert_ptr_equal(srcu_dereference_check(published, &srcu, ++evaluated), &first);
#ifdef LULL_DEBUG
	assert_int_equal(evaluated, 1);
	expect_misuse(dereference_without, "lull_rcu_dereference: outside a read section");
	expect_misuse(check_without, "lull_rcu_dereference: outside a read section");
#else
	assert_int_equal(evaluated, 0);
	expect_fine(dereference_without);
	expect_fine(check_without);
#endif
}

static void cleans_up_early(void)
{
	(void)srcu_read_lock(&srcu);
	cleanup_srcu_struct(&srcu);
}

/* Reports have the name that the source has. */
TEST(srcu_name)
{
	expect_abort(cleans_up_early, "domain \"&srcu\" has 1 open section");
}

/* ---- percpu-rwsem.h, rcu_sync.h ----------------------------------------------------------------- */

static struct percpu_rw_semaphore sem;

static void *writes(void *unused)
{
	percpu_down_write(&sem);
	lull_store_release(&returned, 1);
	percpu_up_write(&sem);
	return unused;
}

static void *tries_to_read(void *got)
{
	*(bool *)got = percpu_down_read_trylock(&sem);
	return NULL;
}

TEST(rwsem)
{
	bool got = true;
	pthread_t writer;

	percpu_free_rwsem(&sem); /* of zero bytes */
	assert_int_equal(percpu_init_rwsem(&sem), 0);
	percpu_down_read(&sem);
	assert_true(percpu_down_read_trylock(&sem));
	writer = start_thread(writes, NULL);
	percpu_up_read(&sem);
	nap_ms(20);
	assert_int_equal(lull_load_acquire(&returned), 0);
	percpu_up_read(&sem);
	join_thread(writer);
	assert_int_equal(returned, 1);
	percpu_down_write(&sem);
	join_thread(start_thread(tries_to_read, &got));
	assert_false(got);
	percpu_up_write(&sem);
	percpu_free_rwsem(&sem);
	percpu_free_rwsem(&sem);
}

static DEFINE_RCU_SYNC(defined);

TEST(rcu_sync)
{
	struct rcu_sync made;

	memset(&made, 0xff, sizeof(made));
	rcu_sync_init(&made);
	for (struct rcu_sync *rs = &made; rs; rs = rs == &made ? &defined : NULL) {
		assert_true(rcu_sync_is_idle(rs));
		rcu_sync_enter(rs);
		assert_false(rcu_sync_is_idle(rs));
		rcu_sync_exit(rs);
		rcu_barrier();
		AWAIT(rcu_sync_is_idle(rs));
		rcu_sync_dtor(rs);
	}
}
