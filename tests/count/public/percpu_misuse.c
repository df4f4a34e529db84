/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences, no-rseq */
/*
 * percpu_misuse.c - percpu_ref.h: misuse that is told, and misuse that aborts. Also as C++, and run without
 * restartable sequences.
 */
#include "count/support.h"

/* ---- misuse ------------------------------------------------------------------------------------------------------ */

#define AT_END	 "it was at its end"
#define MORE_PUT "more were put than got"

/* Make the calls still allowed on a ref whose count went wrong: nothing comes of them. */
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

USE_SETUP(hearing_setup)
USE_TEARDOWN(settle_teardown)

TEST(too_many_puts)
{
	struct object o;

	for (int i = 0; i < WAYS_TO_BE; i++) {
		/* When it is over. */
		object_init(&o, ways[i]);
		lull_percpu_ref_kill(&o.ref);
		expect_released(&o, 1);
		lull_percpu_ref_put(&o.ref);
		check_heard("lull_percpu_ref_put", &o.ref, 0, MORE_PUT);
		check_never_released(&o, 1);

		/* The last ones, and one more. */
		object_init(&o, ways[i]);
		lull_percpu_ref_get(&o.ref);
		lull_percpu_ref_kill(&o.ref);
		settle();
		lull_percpu_ref_put_many(&o.ref, 2);
		check_heard("lull_percpu_ref_put", &o.ref, 1, MORE_PUT);
		check_never_released(&o, 0);
	}

	/* Unseen when it happens: found by the kill. */
	object_init(&o, 0);
	lull_percpu_ref_put_many(&o.ref, 3);
	assert_int_equal(heard_lines, 0);
	lull_percpu_ref_kill_and_confirm(&o.ref, note_confirm);
	expect_count(&o.confirmed, 1);
	settle();
	check_heard("lull_percpu_ref_put", &o.ref, -2, MORE_PUT);
	check_never_released(&o, 0);
}

/* Found by the kill, which itself holds one reference for a while: that one must not save the day. */
TEST(one_put_too_many)
{
	const unsigned flags[] = { 0, LULL_PERCPU_REF_ALLOW_REINIT };
	struct object o;

	for (int i = 0; i < 2; i++) {
		object_init(&o, flags[i]);
		lull_percpu_ref_put(&o.ref);
		lull_percpu_ref_kill_and_confirm(&o.ref, note_confirm);
		expect_count(&o.confirmed, 1);
		settle();
		check_heard("lull_percpu_ref_put", &o.ref, 0, MORE_PUT);
		check_never_released(&o, 0);
	}

	/* Released without a kill, as the shared count allows; a kill after that has nothing to put. */
	object_init(&o, LULL_PERCPU_REF_INIT_ATOMIC);
	lull_percpu_ref_put(&o.ref);
	expect_released(&o, 1);
	lull_percpu_ref_kill(&o.ref);
	settle();
	check_heard("lull_percpu_ref_put", &o.ref, 0, MORE_PUT);
	check_never_released(&o, 1);

	/* One that may rest at zero still had a put too many: found by the switch. */
	for (int sync = 0; sync < 2; sync++) {
		object_init(&o, LULL_PERCPU_REF_ALLOW_REINIT);
		lull_percpu_ref_put(&o.ref);
		lull_percpu_ref_put(&o.ref);
		if (sync)
			lull_percpu_ref_switch_to_atomic_sync(&o.ref);
		else
			lull_percpu_ref_switch_to_atomic(&o.ref, NULL);
		settle();
		check_heard("lull_percpu_ref_put", &o.ref, -1, MORE_PUT);
		check_never_released(&o, 0);
	}
}

TEST(get_from_zero)
{
	struct object o;

	for (int i = 0; i < WAYS_TO_BE; i++) {
		object_init(&o, ways[i]);
		lull_percpu_ref_kill(&o.ref);
		expect_released(&o, 1);
		lull_percpu_ref_get(&o.ref);
		check_heard("lull_percpu_ref_get", &o.ref, 0, AT_END);
		check_never_released(&o, 1);
	}

	/* Alive, but it may not rest. */
	object_init(&o, 0);
	lull_percpu_ref_put(&o.ref);
	lull_percpu_ref_switch_to_atomic_sync(&o.ref);
	assert_int_equal(o.released, 1);
	lull_percpu_ref_get(&o.ref);
	check_heard("lull_percpu_ref_get", &o.ref, 0, AT_END);
	check_never_released(&o, 1);
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
TEST(storm_after_misuse)
{
	pthread_t threads[4];

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

static void child_inits(unsigned flags)
{
	must(lull_percpu_ref_init(&doomed.ref, note_release, flags) == 0);
}

static void judge_line(const struct child *child, const char *line, const char *file, int at)
{
	judge_child(child_aborted(child) && (*END_OF_ABORT ? strncmp(child->text, line, strlen(line)) : strcmp(child->text, line)) == 0,
		    child, line, file, at);
}

static bool in_child_with_ref(unsigned flags, const char *call, const char *words, int at)
{
	char line[512];

	stop_hearing();
	snprintf(line, sizeof(line), "lull: %s: percpu_ref %p %s\n", call, (void *)&doomed.ref, words);
	if (!in_child_of(judge_line, line, __FILE__, at))
		return false;
	child_inits(flags);
	return true;
}

/* A wrong call on a new ref aborts with "CALL: percpu_ref ADDRESS WORDS", and not a word more. */
#define ABORTS(flags, call, words)                                                                  \
	for (bool in_child_ = in_child_with_ref(flags, call, words, __LINE__); in_child_; in_child_ = (_exit(0), false))

#define KILLED	   "was killed before"
#define NOT_KILLED "was not killed"
#define NO_REINIT  "was not made with LULL_PERCPU_REF_ALLOW_REINIT"
#define HAS_MORE   "still has references"
#define EXITED	   "is used after lull_percpu_ref_exit()"

static const unsigned allow = LULL_PERCPU_REF_ALLOW_REINIT, atomic = LULL_PERCPU_REF_INIT_ATOMIC;

/* A kill by way of one count needs no thread in the child. */
static bool can_kill(unsigned flags)
{
	return lull_percpu_ref_per_cpu() || THREADS_IN_CHILD || (flags & LULL_PERCPU_REF_INIT_ATOMIC);
}

TEST(second_kill)
{
	for (int i = 0; i < WAYS_TO_BE; i++) {
		if (!can_kill(ways[i]))
			continue;
		ABORTS(ways[i], "lull_percpu_ref_kill", KILLED) {
			lull_percpu_ref_kill(&doomed.ref);
			lull_percpu_ref_kill(&doomed.ref);
		}
		ABORTS(ways[i], "lull_percpu_ref_kill", KILLED) {
			lull_percpu_ref_get(&doomed.ref);
			lull_percpu_ref_kill(&doomed.ref);
			lull_percpu_ref_kill_and_confirm(&doomed.ref, note_confirm);
		}
	}
	ABORTS(LULL_PERCPU_REF_INIT_DEAD, "lull_percpu_ref_kill", KILLED)
		lull_percpu_ref_kill(&doomed.ref);
}

TEST(wrong_return_to_life)
{
	if (can_kill(0)) {
		ABORTS(0, "lull_percpu_ref_reinit", NO_REINIT) {
			lull_percpu_ref_kill(&doomed.ref);
			lull_percpu_ref_reinit(&doomed.ref);
		}
		ABORTS(0, "lull_percpu_ref_resurrect", NO_REINIT) {
			lull_percpu_ref_kill(&doomed.ref);
			lull_percpu_ref_resurrect(&doomed.ref);
		}
	}
	for (int i = 1; i < WAYS_TO_BE; i++) {
		if (can_kill(ways[i]))
			ABORTS(ways[i], "lull_percpu_ref_reinit", HAS_MORE) {
				lull_percpu_ref_get(&doomed.ref);
				lull_percpu_ref_kill(&doomed.ref);
				lull_percpu_ref_reinit(&doomed.ref);
			}
		ABORTS(ways[i], "lull_percpu_ref_reinit", NOT_KILLED)
			lull_percpu_ref_reinit(&doomed.ref);
		ABORTS(ways[i], "lull_percpu_ref_resurrect", NOT_KILLED)
			lull_percpu_ref_resurrect(&doomed.ref);
	}
	ABORTS(0, "lull_percpu_ref_switch_to_percpu", NO_REINIT)
		lull_percpu_ref_switch_to_percpu(&doomed.ref);
}

#define CALL(name, call) static void name(void) { call; }

CALL(gets, lull_percpu_ref_get(&doomed.ref))
CALL(gets_many, lull_percpu_ref_get_many(&doomed.ref, 2))
CALL(puts_one, lull_percpu_ref_put(&doomed.ref))
CALL(puts_many, lull_percpu_ref_put_many(&doomed.ref, 2))
CALL(kills_it, lull_percpu_ref_kill(&doomed.ref))
CALL(reinits_it, lull_percpu_ref_reinit(&doomed.ref))
CALL(resurrects_it, lull_percpu_ref_resurrect(&doomed.ref))
CALL(switches_it, lull_percpu_ref_switch_to_atomic(&doomed.ref, NULL))
CALL(switches_it_and_waits, lull_percpu_ref_switch_to_atomic_sync(&doomed.ref))
CALL(switches_it_back, lull_percpu_ref_switch_to_percpu(&doomed.ref))

TEST(use_after_exit)
{
	static const struct {
		void (*func)(void);
		const char *call;
	} calls[] = {
		{ gets, "lull_percpu_ref_get" },
		{ gets_many, "lull_percpu_ref_get" },
		{ puts_one, "lull_percpu_ref_put" },
		{ puts_many, "lull_percpu_ref_put" },
		{ kills_it, "lull_percpu_ref_kill" },
		{ reinits_it, "lull_percpu_ref_reinit" },
		{ resurrects_it, "lull_percpu_ref_resurrect" },
		{ switches_it, "lull_percpu_ref_switch_to_atomic" },
		{ switches_it_and_waits, "lull_percpu_ref_switch_to_atomic" },
		{ switches_it_back, "lull_percpu_ref_switch_to_percpu" },
	};

	for (size_t i = 0; i < 2 * sizeof(calls) / sizeof(calls[0]); i++)
		ABORTS(i % 2 ? atomic : 0, calls[i / 2].call, EXITED) {
			lull_percpu_ref_exit(&doomed.ref);
			lull_debug_set_message_hook(NULL);
			calls[i / 2].func();
		}
}

TEST(wait_in_section)
{
	stop_hearing();
	for (int i = 0; i < 2; i++) {
		EXPECT_ABORT("lull_percpu_ref_switch_to_atomic_sync in a read section would wait for itself for ever; section "
			     "entered at ") {
			child_inits(i ? atomic : 0);
			lull_rcu_read_lock();
			lull_percpu_ref_switch_to_atomic_sync(&doomed.ref);
		}
	}
}

/* Between a kill that waits for readers, and a call that would have to wait for the kill. */
static void revives_in_section(void)
{
	set_mode(LULL_RECLAIM_POLL); /* no thread is needed in the child */
	child_inits(allow);
	lull_rcu_read_lock();
	lull_percpu_ref_get(&doomed.ref);
	lull_percpu_ref_kill(&doomed.ref);
	lull_percpu_ref_resurrect(&doomed.ref);
	must(!lull_percpu_ref_is_dying(&doomed.ref));
	lull_rcu_read_unlock();
}

static void kills_and_revives(struct lull_rcu_head *head)
{
	(void)head;
	lull_percpu_ref_get(&doomed.ref);
	lull_percpu_ref_kill(&doomed.ref);
	lull_percpu_ref_resurrect(&doomed.ref);
}

static void revives_in_callback(void)
{
	static struct lull_rcu_head head;

	set_mode(LULL_RECLAIM_POLL);
	child_inits(allow);
	lull_rcu_call(&head, kills_and_revives);
	lull_rcu_barrier();
	must(!lull_percpu_ref_is_dying(&doomed.ref));
}

/* Restartable sequences are waited for at once, so no switch is under way when a call returns. */
TEST(wait_where_none_may)
{
	stop_hearing();
	if (lull_percpu_ref_per_cpu()) {
		expect_fine(revives_in_section);
		expect_fine(revives_in_callback);
		return;
	}
	expect_abort(revives_in_section, "lull_percpu_ref_resurrect in a read section would wait for itself for ever; section "
					 "entered at ");
	expect_abort(revives_in_callback, "lull_percpu_ref_resurrect in a callback would wait for itself for ever: another "
					  "switch of this percpu_ref is not over\n");
}
