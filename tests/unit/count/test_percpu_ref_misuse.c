/* SPDX-License-Identifier: MIT */
/*
 * test_percpu_ref_misuse.c - percpu_ref.h: misuse that is told, and misuse that aborts. Also as C++, and run without
 * restartable sequences.
 */
#include "count/percpu_ref_support.h"

/* ---- misuse ------------------------------------------------------------------------------------------------------ */

/* What anybody may yet do to a ref whose count went wrong: nothing comes of it. */
static void check_never_released(struct object *o, int released)
{
	for (int i = 0; i < 1000; i++) {
		lull_percpu_ref_put_many(&o->ref, 1u + (unsigned)i % 3);
		if (i % 5 == 0)
			lull_percpu_ref_get(&o->ref);
		if (i % 7 == 0)
			lull_percpu_ref_tryget(&o->ref);
	}
	assert_false(lull_percpu_ref_is_zero(&o->ref));
	settle();
	assert_int_equal(o->released, released);
	assert_int_equal(heard_lines, 1);
	lull_percpu_ref_exit(&o->ref);
	start_hearing();
}

static void test_too_many_puts(void **state)
{
	struct object o;

	(void)state;
	for (int i = 0; i < WAYS_TO_BE; i++) {
		/* When it is over. */
		object_init(&o, ways[i]);
		lull_percpu_ref_kill(&o.ref);
		expect_released(&o, 1);
		lull_percpu_ref_put(&o.ref);
		check_heard("lull_percpu_ref_put: ", &o.ref, " 0 references");
		check_never_released(&o, 1);

		/* The last ones, and one more. */
		object_init(&o, ways[i]);
		lull_percpu_ref_get(&o.ref);
		lull_percpu_ref_kill(&o.ref);
		settle();
		lull_percpu_ref_put_many(&o.ref, 2);
		check_heard("lull_percpu_ref_put: ", &o.ref, " 1 references");
		check_never_released(&o, 0);
	}

	/* While nobody looks: found by the kill. */
	object_init(&o, 0);
	lull_percpu_ref_put_many(&o.ref, 3);
	assert_int_equal(heard_lines, 0);
	lull_percpu_ref_kill_and_confirm(&o.ref, note_confirm);
	expect_count(&o.confirmed, 1);
	settle();
	check_heard("lull_percpu_ref_put: ", &o.ref, "more were put than got");
	check_never_released(&o, 0);
}

/* Found by the kill, which itself holds one reference for a while: that one must not save the day. */
static void test_one_put_too_many(void **state)
{
	const unsigned flags[] = { 0, LULL_PERCPU_REF_ALLOW_REINIT };
	struct object o;

	(void)state;
	for (int i = 0; i < 2; i++) {
		object_init(&o, flags[i]);
		lull_percpu_ref_put(&o.ref);
		lull_percpu_ref_kill_and_confirm(&o.ref, note_confirm);
		expect_count(&o.confirmed, 1);
		settle();
		check_heard("lull_percpu_ref_put: ", &o.ref, " 0 references: more were put than got");
		check_never_released(&o, 0);
	}

	/* Released without a kill, as the shared count allows; a kill after that has nothing to put. */
	object_init(&o, LULL_PERCPU_REF_INIT_ATOMIC);
	lull_percpu_ref_put(&o.ref);
	expect_released(&o, 1);
	lull_percpu_ref_kill(&o.ref);
	settle();
	check_heard("lull_percpu_ref_put: ", &o.ref, " 0 references");
	check_never_released(&o, 1);

	/* ... nor has it a life to go on with. */
	object_init(&o, LULL_PERCPU_REF_INIT_ATOMIC);
	lull_percpu_ref_put(&o.ref);
	lull_percpu_ref_switch_to_percpu(&o.ref);
	check_heard("lull_percpu_ref_switch_to_percpu: ", &o.ref, " 0 references");
	check_never_released(&o, 1);
}

static void test_get_from_zero(void **state)
{
	struct object o;

	(void)state;
	for (int i = 0; i < WAYS_TO_BE; i++) {
		object_init(&o, ways[i]);
		lull_percpu_ref_kill(&o.ref);
		expect_released(&o, 1);
		lull_percpu_ref_get(&o.ref);
		check_heard("lull_percpu_ref_get: ", &o.ref, " 0 references");
		check_never_released(&o, 1);
	}
}

static struct object wrong;

static void *storms(void *unused)
{
	for (int i = 0; i < 100000; i++) {
		lull_percpu_ref_put(&wrong.ref);
		if (i % 3 == 0 && lull_percpu_ref_tryget(&wrong.ref))
			lull_percpu_ref_put(&wrong.ref);
	}
	return unused;
}

/* Many more puts than gets, by many. */
static void test_storm_after_misuse(void **state)
{
	pthread_t threads[4];

	(void)state;
	object_init(&wrong, 0);
	lull_percpu_ref_kill(&wrong.ref);
	expect_released(&wrong, 1);
	lull_percpu_ref_put(&wrong.ref);
	for (int i = 0; i < 4; i++)
		threads[i] = start_thread(storms, NULL);
	for (int i = 0; i < 4; i++)
		join_thread(threads[i]);
	check_never_released(&wrong, 1);
}

/* ---- what aborts --------------------------------------------------------------------------------------------------- */

static struct object doomed;
static unsigned doomed_flags;
static void (*last_call)(void);

static void child_inits(void)
{
	must(lull_percpu_ref_init(&doomed.ref, note_release, doomed_flags) == 0);
}

/* Killed; by way of one count, so that no thread is needed in the child. */
static void child_kills(void)
{
	child_inits();
	lull_percpu_ref_kill(&doomed.ref);
}

static void child_exits(void)
{
	child_inits();
	lull_percpu_ref_exit(&doomed.ref);
	lull_debug_set_message_hook(NULL);
	last_call();
}

static void expect_abort_with(void (*func)(void), unsigned flags, const char *words)
{
	stop_hearing();
	doomed_flags = flags;
	expect_abort(func, words);
}

static void second_kill(void)
{
	child_kills();
	lull_percpu_ref_kill(&doomed.ref);
}

static void second_kill_with_reference(void)
{
	child_inits();
	lull_percpu_ref_get(&doomed.ref);
	lull_percpu_ref_kill(&doomed.ref);
	lull_percpu_ref_kill_and_confirm(&doomed.ref, note_confirm);
}

static void kill_of_dead(void)
{
	child_inits();
	lull_percpu_ref_kill(&doomed.ref);
}

static void test_second_kill(void **state)
{
	(void)state;
	if (lull_percpu_ref_per_cpu() || THREADS_IN_CHILD) {
		expect_abort_with(second_kill, 0, "lull_percpu_ref_kill: percpu_ref ");
		expect_abort_with(second_kill, LULL_PERCPU_REF_ALLOW_REINIT, " was killed before");
		expect_abort_with(second_kill_with_reference, 0, " was killed before");
	}
	expect_abort_with(second_kill, LULL_PERCPU_REF_INIT_ATOMIC, " was killed before");
	expect_abort_with(second_kill_with_reference, LULL_PERCPU_REF_INIT_ATOMIC, " was killed before");
	expect_abort_with(kill_of_dead, LULL_PERCPU_REF_INIT_DEAD, " was killed before");
}

static void reinits(void)
{
	child_kills();
	lull_percpu_ref_reinit(&doomed.ref);
}

static void resurrects(void)
{
	child_kills();
	lull_percpu_ref_resurrect(&doomed.ref);
}

static void reinits_with_reference(void)
{
	child_inits();
	lull_percpu_ref_get(&doomed.ref);
	lull_percpu_ref_kill(&doomed.ref);
	lull_percpu_ref_reinit(&doomed.ref);
}

static void reinits_the_living(void)
{
	child_inits();
	lull_percpu_ref_reinit(&doomed.ref);
}

static void resurrects_the_living(void)
{
	child_inits();
	lull_percpu_ref_resurrect(&doomed.ref);
}

static void switches_to_percpu(void)
{
	child_inits();
	lull_percpu_ref_switch_to_percpu(&doomed.ref);
}

static void test_wrong_return_to_life(void **state)
{
	(void)state;
	if (lull_percpu_ref_per_cpu() || THREADS_IN_CHILD) {
		expect_abort_with(reinits, 0, "lull_percpu_ref_reinit: percpu_ref ");
		expect_abort_with(reinits, 0, " was not made with LULL_PERCPU_REF_ALLOW_REINIT");
		expect_abort_with(resurrects, 0, "lull_percpu_ref_resurrect: percpu_ref ");
		expect_abort_with(resurrects, 0, " was not made with LULL_PERCPU_REF_ALLOW_REINIT");
		expect_abort_with(reinits_with_reference, LULL_PERCPU_REF_ALLOW_REINIT, " still has references");
	}
	expect_abort_with(reinits_with_reference, LULL_PERCPU_REF_INIT_ATOMIC, " still has references");
	expect_abort_with(reinits_the_living, LULL_PERCPU_REF_ALLOW_REINIT, " was not killed");
	expect_abort_with(resurrects_the_living, LULL_PERCPU_REF_ALLOW_REINIT, " was not killed");
	expect_abort_with(resurrects_the_living, LULL_PERCPU_REF_INIT_ATOMIC, " was not killed");
	expect_abort_with(switches_to_percpu, 0, "lull_percpu_ref_switch_to_percpu: percpu_ref ");
	expect_abort_with(switches_to_percpu, 0, " was not made with LULL_PERCPU_REF_ALLOW_REINIT");
}

static void gets(void)
{
	lull_percpu_ref_get(&doomed.ref);
}

static void gets_many(void)
{
	lull_percpu_ref_get_many(&doomed.ref, 2);
}

static void puts_one(void)
{
	lull_percpu_ref_put(&doomed.ref);
}

static void puts_many(void)
{
	lull_percpu_ref_put_many(&doomed.ref, 2);
}

static void kills_it(void)
{
	lull_percpu_ref_kill(&doomed.ref);
}

static void reinits_it(void)
{
	lull_percpu_ref_reinit(&doomed.ref);
}

static void resurrects_it(void)
{
	lull_percpu_ref_resurrect(&doomed.ref);
}

static void switches_it(void)
{
	lull_percpu_ref_switch_to_atomic(&doomed.ref, NULL);
}

static void switches_it_and_waits(void)
{
	lull_percpu_ref_switch_to_atomic_sync(&doomed.ref);
}

static void switches_it_back(void)
{
	lull_percpu_ref_switch_to_percpu(&doomed.ref);
}

static void test_use_after_exit(void **state)
{
	static void (*const calls[])(void) = {
		gets,	    gets_many,	   puts_one,	puts_many,	       kills_it,
		reinits_it, resurrects_it, switches_it, switches_it_and_waits, switches_it_back,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		last_call = calls[i];
		expect_abort_with(child_exits, 0, " is used after lull_percpu_ref_exit()");
		expect_abort_with(child_exits, LULL_PERCPU_REF_INIT_ATOMIC, " is used after lull_percpu_ref_exit()");
	}
}

static void waits_in_section(void)
{
	child_inits();
	lull_rcu_read_lock();
	lull_percpu_ref_switch_to_atomic_sync(&doomed.ref);
}

static void test_wait_in_section(void **state)
{
	(void)state;
	expect_abort_with(waits_in_section, 0, "lull_percpu_ref_switch_to_atomic_sync in a read section");
	expect_abort_with(waits_in_section, LULL_PERCPU_REF_INIT_ATOMIC,
			  "lull_percpu_ref_switch_to_atomic_sync in a read section");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, hearing_setup, settle_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_too_many_puts),
		TEST(test_one_put_too_many),
		TEST(test_get_from_zero),
		TEST(test_storm_after_misuse),
		TEST(test_second_kill),
		TEST(test_wrong_return_to_life),
		TEST(test_use_after_exit),
		TEST(test_wait_in_section),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
