/* SPDX-License-Identifier: MIT */
/* runs: full-fences, no-rseq, alone */
/*
 * percpu_many.c - lull_percpu_ref_kill_many(): each ref is released once, whatever its neighbours in the
 * array are and do; barriers, which this program counts by its own syscall(). Also run without restartable sequences.
 */
#include <linux/membarrier.h>
#include <sched.h>

#include "count/support.h"
#include "own_syscall.h"

#define GROUP 512 /* the header promises one membarrier for as many */
#define MOST  (2 * GROUP + 1)

static int barriers, failures, visits;

static bool instead_of_syscall(long number, const long *arg, long *result)
{
	(void)number;
	(void)arg;
	(void)result;
#ifdef LULL__RSEQ
	if (number == SYS_membarrier && arg[0] == MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ) {
		lull_add_relaxed(&barriers, 1);
		if (failures > 0) {
			failures--;
			errno = ENOMEM;
			*result = -1;
			return true;
		}
	}
#endif
	return false;
}

/* Refuse to move threads: lull does that when the barrier fails. */
int sched_setaffinity(pid_t tid, size_t size, const cpu_set_t *set)
{
	(void)tid;
	(void)size;
	(void)set;
	lull_add_relaxed(&visits, 1);
	errno = EPERM;
	return -1;
}

static struct object object[MOST];
static struct lull_percpu_ref *refs[MOST];

static void init_all(size_t n, unsigned flags)
{
	for (size_t i = 0; i < n; i++) {
		object_init(&object[i], flags);
		refs[i] = &object[i].ref;
	}
}

/* 20 that are released by @release. */
static void init_with(lull_percpu_ref_func release)
{
	memset(object, 0, 20 * sizeof(object[0]));
	for (size_t i = 0; i < 20; i++) {
		assert_int_equal(lull_percpu_ref_init(&object[i].ref, release, 0), 0);
		refs[i] = &object[i].ref;
	}
}

/* Exactly @times, and none comes later. */
static void expect_all_released(size_t n, int times)
{
	for (size_t i = 0; i < n; i++)
		expect_count(&object[i].released, times);
	settle();
	for (size_t i = 0; i < n; i++)
		assert_int_equal(lull_load_acquire(&object[i].released), times);
}

static void exit_all(size_t n)
{
	for (size_t i = 0; i < n; i++)
		lull_percpu_ref_exit(&object[i].ref);
}

static int barriers_of_kill(size_t n)
{
	int before = lull_load_relaxed(&barriers);

	lull_percpu_ref_kill_many(refs, n);
	return lull_load_relaxed(&barriers) - before;
}

static const size_t sizes[] = { 0, 1, 2, GROUP - 1, GROUP, GROUP + 1, 2 * GROUP, MOST };

enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

/* ---- barriers ---------------------------------------------------------------------------------------------------- */

USE_SETUP(hearing_setup)
USE_TEARDOWN(settle_teardown)

TEST(one_barrier)
{
	for (int i = 0; i < SIZES; i++) {
		size_t n = sizes[i];
		int groups = lull_percpu_ref_per_cpu() ? (int)((n + GROUP - 1) / GROUP) : 0;

		init_all(n, i % 2 ? LULL_PERCPU_REF_ALLOW_REINIT : 0);
		assert_int_equal(barriers_of_kill(n), groups);
		/* A call that needs no grace period is over when it returns. */
		for (size_t j = 0; lull_percpu_ref_per_cpu() && j < n; j++)
			assert_int_equal(object[j].released, 1);
		expect_all_released(n, 1);
		exit_all(n);
	}
	init_all(10, LULL_PERCPU_REF_INIT_ATOMIC);
	assert_int_equal(barriers_of_kill(10), 0);
	expect_all_released(10, 1);
	exit_all(10);
	lull_percpu_ref_kill_many(NULL, 0);
	check_silence();
}

/* It kills those it is told to, not the one behind. (What an earlier call left on the stack says yes.) */
TEST(no_more_than_told)
{
	static const size_t told[] = { 1, 2, 100, GROUP - 1 };

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		size_t n = told[i];
		struct object *next = &object[GROUP + n];

		init_all(GROUP + n + 1, 0);
		lull_percpu_ref_kill_many(refs, GROUP);
		lull_percpu_ref_kill_many(refs + GROUP, n);
		expect_all_released(GROUP + n, 1);
		assert_false(lull_percpu_ref_is_dying(&next->ref));
		assert_int_equal(references(next), 1);
		assert_int_equal(next->released, 0);
		lull_percpu_ref_kill(&next->ref);
		expect_released(next, 1);
		exit_all(GROUP + n + 1);
	}
	check_silence();
}

/* Count the barriers of a single kill, and of a switch. */
TEST(barriers_of_one)
{
	int one = lull_percpu_ref_per_cpu(), before;
	struct object *o = &object[0];

	object_init(o, LULL_PERCPU_REF_ALLOW_REINIT);
	for (int life = 1; life <= 3; life++) {
		lull_percpu_ref_get(&o->ref);
		before = lull_load_relaxed(&barriers);
		lull_percpu_ref_kill(&o->ref);
		assert_int_equal(lull_load_relaxed(&barriers) - before, one);
		lull_percpu_ref_put(&o->ref);
		expect_count(&o->released, life);
		lull_percpu_ref_reinit(&o->ref);
		assert_int_equal(lull_load_relaxed(&barriers) - before, one);
	}
	before = lull_load_relaxed(&barriers);
	lull_percpu_ref_switch_to_atomic_sync(&o->ref);
	assert_int_equal(lull_load_relaxed(&barriers) - before, one);
	lull_percpu_ref_kill(&o->ref); /* it counts in one place already */
	assert_int_equal(lull_load_relaxed(&barriers) - before, one);
	expect_count(&o->released, 4);
	settle();
	lull_percpu_ref_exit(&o->ref);
	check_silence();
}

/* ---- mixtures ---------------------------------------------------------------------------------------------------- */

#define MIXTURES 7

/* References that are held besides the owner's. */
static unsigned held(size_t i)
{
	return (unsigned)(i % 3);
}

static void init_mixed(size_t i)
{
	struct object *o = &object[i];

	refs[i] = &o->ref;
	switch (i % MIXTURES) {
	case 4:
		object_init(o, LULL_PERCPU_REF_INIT_DEAD);
		lull_percpu_ref_reinit(&o->ref);
		break;
	case 5:
		object_init(o, 0);
		lull_percpu_ref_switch_to_atomic(&o->ref, NULL); /* under way, where it needs a grace period */
		break;
	case 6:
		object_init(o, LULL_PERCPU_REF_INIT_ATOMIC);
		lull_percpu_ref_switch_to_percpu(&o->ref);
		break;
	default:
		object_init(o, ways[i % MIXTURES]);
	}
	if (held(i))
		lull_percpu_ref_get_many(&o->ref, held(i));
}

static void check_mixed(size_t n)
{
	settle();
	for (size_t i = 0; i < n; i++) {
		assert_true(lull_percpu_ref_is_dying(refs[i]));
		assert_false(lull_percpu_ref_tryget_live(refs[i]));
		assert_int_equal(lull_load_acquire(&object[i].released), !held(i));
		if (!held(i))
			continue;
		assert_int_equal(lull_load_relaxed(&object[i].ref.count), held(i));
		lull_percpu_ref_put_many(refs[i], held(i));
		assert_int_equal(object[i].released, 1);
	}
	expect_all_released(n, 1);
	exit_all(n);
}

/* Ways to count, held or not, sizes of groups: all as if each had been killed alone. */
TEST(mixed)
{
	for (int i = 0; i < SIZES; i++) {
		for (size_t j = 0; j < sizes[i]; j++)
			init_mixed(j);
		lull_percpu_ref_kill_many(refs, sizes[i]);
		check_mixed(sizes[i]);
	}
	check_silence();
}

/* Killed, revived, killed again: counters that stay are right each time. */
TEST(again)
{
	init_all(20, LULL_PERCPU_REF_ALLOW_REINIT);
	for (int life = 1; life <= 5; life++) {
		for (size_t i = 0; i < 20; i++)
			lull_percpu_ref_get_many(refs[i], 5);
		for (size_t i = 0; i < 20; i++)
			lull_percpu_ref_put_many(refs[i], 5);
		lull_percpu_ref_kill_many(refs, 20);
		expect_all_released(20, life);
		for (size_t i = 0; i < 20; i++)
			lull_percpu_ref_reinit(refs[i]);
	}
	exit_all(20);
	check_silence();
}

/* ---- what a release may do --------------------------------------------------------------------------------------- */

static int freed;
static struct lull_percpu_ref *last_released;

static void exit_and_free(struct lull_percpu_ref *ref)
{
	lull_percpu_ref_exit(ref);
	memset(ref, 0x5a, sizeof(*ref));
	free(object_of(ref));
	lull_add_release(&freed, 1);
}

TEST(release_frees)
{
	lull_store_relaxed(&freed, 0);
	for (int i = 0; i < MOST; i++) {
		struct object *o = (struct object *)malloc(sizeof(*o));

		assert_non_null(o);
		assert_int_equal(lull_percpu_ref_init(&o->ref, exit_and_free, ways[i % WAYS_TO_BE]), 0);
		refs[i] = &o->ref;
	}
	lull_percpu_ref_kill_many(refs, MOST);
	expect_count(&freed, MOST);
	settle();
	assert_int_equal(lull_load_acquire(&freed), MOST);
	check_silence();
}

/* Kill others, of another array; and exit one of this array that was released. */
static void release_and_kill_others(struct lull_percpu_ref *ref)
{
	struct lull_percpu_ref *others[3];
	struct object *o;

	note_release(ref);
	if (last_released)
		lull_percpu_ref_exit(last_released);
	last_released = ref;
	for (int i = 0; i < 3; i++) {
		o = (struct object *)malloc(sizeof(*o));
		must(o && lull_percpu_ref_init(&o->ref, exit_and_free, ways[i]) == 0);
		others[i] = &o->ref;
	}
	lull_percpu_ref_kill_many(others, 3);
}

TEST(release_kills_others)
{
	lull_store_relaxed(&freed, 0);
	last_released = NULL;
	init_with(release_and_kill_others);
	lull_percpu_ref_kill_many(refs, 20);
	expect_all_released(20, 1);
	expect_count(&freed, 60);
	exit_all(20);
	check_silence();
}

/* All of a group are dead, and no longer change, by the time that any is released. */
static void release_and_look(struct lull_percpu_ref *ref)
{
	for (size_t i = 0; i < 20; i++) {
		must(lull_percpu_ref_is_dying(refs[i]));
		must(!lull_percpu_ref_tryget_live(refs[i]));
		/* This takes a lock of the ref's: the kill must not hold it any more. */
		lull_percpu_ref_switch_to_atomic(refs[i], NULL);
	}
	note_release(ref);
}

TEST(release_sees_all_dead)
{
	if (!lull_percpu_ref_per_cpu())
		SKIP("there are no counts per CPU here");
	init_with(release_and_look);
	alarm(100);
	lull_percpu_ref_kill_many(refs, 20);
	alarm(0);
	expect_all_released(20, 1);
	exit_all(20);
	check_silence();
}

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

static void kill_in_callback(struct lull_head *head)
{
	(void)head;
	lull_percpu_ref_kill_many(refs, 20);
}

TEST(in_section_and_callback)
{
	struct lull_head head;

	init_all(20, 0);
	lull_rcu_read_lock();
	lull_percpu_ref_kill_many(refs, 20);
	lull_rcu_read_unlock();
	expect_all_released(20, 1);
	exit_all(20);
	init_all(20, 0);
	lull_rcu_call(&head, kill_in_callback);
	expect_all_released(20, 1);
	exit_all(20);
	check_silence();
}

/* ---- beside others ----------------------------------------------------------------------------------------------- */

#define BUSY	700 /* two groups */
#define HOLDERS 3

static int stop, holders_ready;

static void let_go(struct object *o)
{
	if (!o)
		return;
	must(o->alive == 1);
	lull_percpu_ref_put(&o->ref);
}

/* Hold a few references, of which each is alive. */
static void *hold(void *arg)
{
	size_t first = (size_t)(uintptr_t)arg, i = first;
	struct object *mine[8] = { NULL };
	unsigned at = 0;

	while (!lull_load_relaxed(&stop)) {
		let_go(mine[at]);
		i = (i + 7) % BUSY;
		mine[at] = lull_percpu_ref_tryget_live(&object[i].ref) ? &object[i] : NULL;
		at = (at + 1) % 8;
		if (i == first)
			lull_add_relaxed(&holders_ready, 1);
	}
	for (at = 0; at < 8; at++)
		let_go(mine[at]);
	return NULL;
}

TEST(beside_holders)
{
	int rounds = SANITIZED || under_valgrind() ? 3 : 25;
	pthread_t thread[HOLDERS];

	for (int round = 0; round < rounds; round++) {
		init_all(BUSY, 0);
		lull_store_relaxed(&stop, 0);
		lull_store_relaxed(&holders_ready, 0);
		for (int i = 0; i < HOLDERS; i++)
			thread[i] = start_thread(hold, (void *)(uintptr_t)(i * 100));
		AWAIT_SOON(lull_load_relaxed(&holders_ready));
		lull_percpu_ref_kill_many(refs, BUSY);
		lull_store_relaxed(&stop, 1);
		for (int i = 0; i < HOLDERS; i++)
			join_thread(thread[i]);
		expect_all_released(BUSY, 1);
		exit_all(BUSY);
	}
	check_silence();
}

/* ---- two at once, and one who switches --------------------------------------------------------------------------- */

static struct lull_percpu_ref *half[2][BUSY / 2];
static int killers;

static void *kill_half(void *arg)
{
	lull_add_relaxed(&killers, 1);
	await_flag(&killers, 2);
	lull_percpu_ref_kill_many((struct lull_percpu_ref **)arg, BUSY / 2);
	return NULL;
}

/* Refs whose lock is taken, or that wait for a grace period, when the kill comes. */
static void *switch_all(void *unused)
{
	for (size_t i = 0; !lull_load_relaxed(&stop); i = (i + 1) % 40) {
		lull_percpu_ref_switch_to_atomic(&object[i].ref, NULL);
		lull_percpu_ref_switch_to_percpu(&object[i].ref);
	}
	return unused;
}

TEST(two_at_once)
{
	int rounds = SANITIZED || under_valgrind() ? 3 : 25;
	pthread_t one, two, switcher;

	for (int round = 0; round < rounds; round++) {
		init_all(BUSY, LULL_PERCPU_REF_ALLOW_REINIT);
		for (size_t i = 0; i < BUSY; i++)
			half[i % 2][i / 2] = refs[i];
		lull_store_relaxed(&stop, 0);
		lull_store_relaxed(&killers, 0);
		switcher = start_thread(switch_all, NULL);
		one = start_thread(kill_half, half[0]);
		two = start_thread(kill_half, half[1]);
		join_thread(one);
		join_thread(two);
		lull_store_relaxed(&stop, 1);
		join_thread(switcher);
		expect_all_released(BUSY, 1);
		exit_all(BUSY);
	}
	check_silence();
}

/* ---- misuse, and other processes --------------------------------------------------------------------------------- */

static void child_inits(size_t n, unsigned flags)
{
	for (size_t i = 0; i < n; i++) {
		must(lull_percpu_ref_init(&object[i].ref, note_release, flags) == 0);
		refs[i] = &object[i].ref;
	}
}

/* The line names the call, the @nth ref and what is wrong with that, and ends there. */
static const char *line_of(size_t nth, const char *call, const char *words)
{
	static char line[256];

	snprintf(line, sizeof(line), "lull: %s: percpu_ref %p %s\n", call, (void *)&object[nth].ref, words);
	return line;
}

TEST(misuse)
{
	const char *all = "lull_percpu_ref_kill_many", *before = "was killed before";

	if (!lull_percpu_ref_per_cpu() && !THREADS_IN_CHILD)
		SKIP(NO_THREADS_IN_CHILD);
	stop_hearing();
	for (int i = 0; i < WAYS_TO_BE; i++) {
		/* Where the call itself does not look, the first one might have freed the ref by then. */
		bool looks = lull_percpu_ref_per_cpu() && !(ways[i] & LULL_PERCPU_REF_INIT_ATOMIC);

		EXPECT_ABORT(line_of(0, looks ? all : "lull_percpu_ref_kill", before)) {
			child_inits(3, ways[i]);
			refs[2] = refs[0];
			lull_percpu_ref_kill_many(refs, 3);
		}
		/* In another group: the first kill is over, and the release too, which has not given the ref back. */
		EXPECT_ABORT(line_of(0, all, before)) {
			child_inits(GROUP + 1, ways[i]);
			refs[GROUP] = refs[0];
			lull_percpu_ref_kill_many(refs, GROUP + 1);
		}
		EXPECT_ABORT(line_of(1, all, before)) {
			child_inits(3, ways[i]);
			lull_percpu_ref_kill(refs[1]);
			lull_percpu_ref_kill_many(refs, 3);
		}
		EXPECT_ABORT(line_of(1, all, "is used after lull_percpu_ref_exit()")) {
			child_inits(3, ways[i]);
			lull_percpu_ref_exit(refs[1]);
			lull_percpu_ref_kill_many(refs, 3);
		}
	}
}

TEST(no_memory)
{
	NEEDS_REAL_MEMORY();
	stop_hearing();
	/* There is nothing left, and nothing is needed. */
	EXPECT_FINE {
		struct rlimit limit = { 1 << 20, 1 << 20 };
		static void *volatile taken;

		set_mode(LULL_RECLAIM_POLL);
		child_inits(20, 0);
		for (size_t i = 0; i < 20; i++)
			object[i].released = 0;
		must(setrlimit(RLIMIT_AS, &limit) == 0);
		for (size_t size = 100000; size > 4; size /= 2)
			do
				taken = malloc(size);
			while (taken);
		lull_percpu_ref_kill_many(refs, 20);
		lull_rcu_barrier();
		for (size_t i = 0; i < 20; i++)
			must(lull_load_acquire(&object[i].released) == 1);
	}
}

TEST(fork)
{
	if (!lull_percpu_ref_per_cpu() && !THREADS_IN_CHILD)
		SKIP(NO_THREADS_IN_CHILD);
	init_all(20, 0);
	EXPECT_FINE {
		lull_percpu_ref_kill_many(refs, 20);
		settle();
		for (size_t i = 0; i < 20; i++)
			must(lull_load_acquire(&object[i].released) == 1);
	}
	lull_percpu_ref_kill_many(refs, 20);
	expect_all_released(20, 1);
	exit_all(20);
}

/* The barrier is tried again until there is memory. */
TEST(barrier_fails)
{
	if (!lull_percpu_ref_per_cpu())
		SKIP("counters are per thread here, and need no such barrier");
	init_all(1, 0);
	visits = 0;
	failures = 3;
	lull_percpu_ref_kill(refs[0]);
	assert_int_equal(failures, 0);
	assert_true(visits > 0);
	expect_all_released(1, 1);
	exit_all(1);
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
