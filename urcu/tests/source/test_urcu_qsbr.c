/* SPDX-License-Identifier: MIT */
/*
 * test_urcu_qsbr.c - QSBR threads by liburcu's names, and several flavors in one program.
 */
#include "reader.h"

#include <urcu-qsbr.h>
#include <urcu/urcu-bp.h>
#include <urcu/urcu-mb.h>
#include <urcu/urcu-memb.h>
#include <urcu/urcu-signal.h>
/* The header included last has the plain names; QSBR is wanted again. */
#include <urcu/map/urcu-qsbr.h>

static int called, called_online, called_ongoing, step;

static void *qsbr_reader(void *unused)
{
	rcu_register_thread();
	rcu_read_lock();
	lull_store_release(&step, 1);
	await_flag(&step, 2);
	rcu_read_unlock();
	rcu_quiescent_state();
	lull_store_release(&step, 3);
	await_flag(&step, 4);
	rcu_thread_offline();
	lull_store_release(&step, 5);
	await_flag(&step, 6);
	rcu_unregister_thread();
	return unused;
}

/* A grace period waits for a thread that is online, until it says that it reads nothing, or is offline. */
TEST(reader)
{
	pthread_t thread;
	struct urcu_gp_poll_state gp;

	step = 0;
	thread = start_thread(qsbr_reader, NULL);
	await_flag(&step, 1);
	gp = start_poll_synchronize_rcu();
	nap_ms(20);
	assert_false(poll_state_synchronize_rcu(gp));
	lull_store_release(&step, 2);
	await_flag(&step, 3);
	AWAIT(poll_state_synchronize_rcu(gp));
	gp = start_poll_synchronize_rcu();
	assert_false(poll_state_synchronize_rcu(gp));
	lull_store_release(&step, 4);
	await_flag(&step, 5);
	AWAIT(poll_state_synchronize_rcu(gp));
	synchronize_rcu();
	lull_store_release(&step, 6);
	join_thread(thread);
}

TEST(repeated)
{
	rcu_init();
	assert_false(rcu_read_ongoing());
	rcu_register_thread();
	assert_true(rcu_read_ongoing());
	rcu_thread_online();
	rcu_thread_online();
	assert_true(rcu_read_ongoing());
	rcu_thread_offline();
	rcu_thread_offline();
	assert_false(rcu_read_ongoing());
	rcu_thread_online();
	rcu_quiescent_state();
	synchronize_rcu(); /* does not wait for the caller */
	assert_true(rcu_read_ongoing());
	rcu_unregister_thread();
	assert_false(rcu_read_ongoing());
	rcu_exit();
}

static void quiescent_offline(void)
{
	rcu_quiescent_state();
}

TEST(quiescent_offline)
{
	expect_misuse(quiescent_offline, "lull_rcu_quiescent: not online");
}

/* ---- callbacks ------------------------------------------------------------------------------------ */

static void callback(struct rcu_head *head)
{
	(void)head;
	called_online = lull__urcu_is_online();
	called_ongoing = rcu_read_ongoing();
	rcu_read_lock(); /* no instruction: the thread must be online already */
	rcu_read_unlock();
	lull_add_release(&called, 1);
}

TEST(callback_reads)
{
	static struct rcu_head head, other;
	pthread_t reader = start_hold_up();

	called = 0;
	call_rcu(&head, callback);
	nap_ms(20);
	assert_int_equal(lull_load_acquire(&called), 0);
	end_hold_up(reader);
	rcu_barrier();
	assert_int_equal(called, 1);
	assert_true(called_online && called_ongoing);
	/* Also from a thread that is online, which the barrier does not wait for. */
	rcu_register_thread();
	call_rcu(&other, callback);
	rcu_barrier();
	assert_int_equal(called, 2);
	assert_true(rcu_read_ongoing());
	rcu_unregister_thread();
	/* Its thread sleeps, and holds no thread up. */
	synchronize_rcu();
	assert_ptr_equal(get_call_rcu_data(), get_default_call_rcu_data());
}

static int callback_may_go_on;

static void slow_callback(struct rcu_head *head)
{
	(void)head;
	lull_add_release(&called, 1);
	await_flag(&callback_may_go_on, 1);
}

/* A callback's reads are protected as long as it runs. */
TEST(callback_protected)
{
	static struct rcu_head head;
	struct urcu_gp_poll_state gp;

	called = callback_may_go_on = 0;
	call_rcu(&head, slow_callback);
	await_flag(&called, 1);
	gp = start_poll_synchronize_rcu();
	nap_ms(20);
	assert_false(poll_state_synchronize_rcu(gp));
	lull_store_release(&callback_may_go_on, 1);
	AWAIT(poll_state_synchronize_rcu(gp));
	rcu_barrier();
}

/* ---- flavors beside each other ---------------------------------------------------------------------- */

static void quiescent_in_section(void)
{
	uint64_t cookie;

	rcu_register_thread();
	urcu_memb_read_lock();
	cookie = lull_rcu_gp_start();
	rcu_quiescent_state(); /* not yet: the section goes on */
	must(!lull_rcu_gp_poll(cookie));
	must(urcu_memb_read_ongoing());
	urcu_memb_read_unlock();
	must(!urcu_memb_read_ongoing());
	must(rcu_read_ongoing());
	rcu_quiescent_state();
	must(lull_rcu_gp_poll(cookie));
	rcu_unregister_thread();
}

static void offline_in_section(void)
{
	rcu_register_thread();
	urcu_memb_read_lock();
	rcu_thread_offline();
}

static void online_in_section(void)
{
	urcu_memb_read_lock();
	rcu_thread_online();
}

static void bp_waits_in_memb(void)
{
	urcu_memb_read_lock();
	urcu_bp_synchronize_rcu();
}

static void qsbr_waits_in_memb(void)
{
	urcu_memb_read_lock();
	rcu_register_thread();
}

static void memb_waits_online(void)
{
	rcu_register_thread();
	urcu_memb_synchronize_rcu();
}

static void memb_barrier_online(void)
{
	rcu_register_thread();
	urcu_memb_barrier();
}

/* Calls that liburcu's flavors allow, being apart: the same, or one line. Never a section that protects nothing. */
TEST(other_flavors)
{
	expect_fine(quiescent_in_section);
	expect_misuse(offline_in_section, "lull_rcu_offline: in a read section");
	expect_misuse(online_in_section, "lull_rcu_online: online already, or in a read section");
	expect_misuse(bp_waits_in_memb, "synchronize_rcu in a read section would wait for itself for ever; *all flavors");
	expect_misuse(qsbr_waits_in_memb, "lull_rcu_online: online already, or in a read section");
	expect_misuse(memb_waits_online, "synchronize_rcu of flavor memb, mb, bp or signal in an online thread of flavor qsbr: *");
	expect_misuse(memb_barrier_online, "rcu_barrier of flavor memb, mb, bp or signal in an online thread of flavor qsbr: *");
}

/* One domain: each flavor's grace period waits for each flavor's section. */
#define CHECK_FLAVOR(flavor)                                                                       \
	do {                                                                                       \
		struct urcu_gp_poll_state gp;                                                      \
		urcu_##flavor##_init();                                                            \
		urcu_##flavor##_register_thread();                                                 \
		urcu_##flavor##_read_lock();                                                       \
		assert_true(urcu_##flavor##_read_ongoing());                                       \
		gp = urcu_memb_start_poll_synchronize_rcu();                                       \
		assert_false(urcu_memb_poll_state_synchronize_rcu(gp));                            \
		gp = urcu_##flavor##_start_poll_synchronize_rcu();                                 \
		assert_false(urcu_##flavor##_poll_state_synchronize_rcu(gp));                      \
		urcu_##flavor##_read_unlock();                                                     \
		urcu_##flavor##_quiescent_state();                                                 \
		urcu_##flavor##_thread_offline();                                                  \
		urcu_##flavor##_thread_online();                                                   \
		called = 0;                                                                        \
		urcu_##flavor##_call_rcu(&head, counts);                                           \
		urcu_##flavor##_barrier();                                                         \
		assert_int_equal(called, 1);                                                       \
		urcu_##flavor##_synchronize_rcu();                                                 \
		assert_int_equal(urcu_##flavor##_defer_register_thread(), 0);                      \
		urcu_##flavor##_defer_rcu(deferred_call, &called);                                 \
		urcu_##flavor##_defer_barrier();                                                   \
		urcu_##flavor##_defer_barrier_thread();                                            \
		assert_int_equal(called, 2);                                                       \
		urcu_##flavor##_defer_unregister_thread();                                         \
		urcu_##flavor##_defer_exit();                                                      \
		urcu_##flavor##_unregister_thread();                                               \
		assert_false(urcu_##flavor##_read_ongoing());                                      \
		urcu_##flavor##_exit();                                                            \
	} while (0)

static void counts(struct rcu_head *head)
{
	(void)head;
	lull_add_relaxed(&called, 1);
}

static void deferred_call(void *p)
{
	lull_add_relaxed((int *)p, 1);
}

TEST(prefixes)
{
	static struct rcu_head head;

	CHECK_FLAVOR(memb);
	CHECK_FLAVOR(mb);
	CHECK_FLAVOR(bp);
	CHECK_FLAVOR(signal);
	CHECK_FLAVOR(qsbr);
	urcu_bp_before_fork();
	urcu_bp_after_fork_parent();
	urcu_bp_after_fork_child();
}

/* By the structure, as liburcu-cds calls it. */
static void check_struct(const struct rcu_flavor_struct *flavor, bool online)
{
	static struct rcu_head head;

	flavor->register_thread();
	flavor->read_lock();
	assert_true(flavor->read_ongoing());
	flavor->read_unlock();
	flavor->read_quiescent_state();
	called = 0;
	flavor->update_call_rcu(&head, counts);
	flavor->barrier();
	assert_int_equal(called, 1);
	flavor->update_defer_rcu(deferred_call, &called);
	flavor->barrier();
	assert_int_equal(called, 2);
	flavor->update_synchronize_rcu();
	flavor->thread_offline();
	assert_false(flavor->read_ongoing());
	flavor->thread_online();
	assert_int_equal(flavor->read_ongoing(), online);
	flavor->unregister_thread();
	assert_non_null(flavor->register_rculfhash_atfork);
	assert_non_null(flavor->unregister_rculfhash_atfork);
}

TEST(structures)
{
	check_struct(&urcu_memb_flavor, false);
	check_struct(&urcu_mb_flavor, false);
	check_struct(&urcu_bp_flavor, false);
	check_struct(&urcu_signal_flavor, false);
	check_struct(&urcu_qsbr_flavor, true);
	assert_ptr_equal(&rcu_flavor, &urcu_qsbr_flavor);
}
