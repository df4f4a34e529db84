/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * owed.c - a thread pays for what it defers past a limit in a section when the section ends: how much may wait.
 *
 * No test measures a time. Waits end when there is nothing to wait for, so a bound holds on a busy machine, too.
 */
#include <errno.h>

#include <lull/bridge.h>
#include <lull/hash.h>

#include "reader.h"

#if UNDER_TSAN || UNDER_ASAN || defined(LULL_TEST_EMULATED)
#define LESS 8
#elif defined(LULL_DEBUG)
#define LESS 4
#else
#define LESS 1
#endif

#define THREADS 8
#define LOOPS	(100000 / LESS)
#define MOST	32768
#define SOFT	4096 /* soft_items at the start */

struct object {
	struct lull_head head;
	struct lull_hash_node node;
	uint64_t key;
};

static int bad_runs;
static __thread bool inside; /* a section */

static void free_object(struct lull_head *head)
{
	free(lull_container_of(head, struct object, head));
}

/* Pure ones never run in a section. */
static void free_pure(struct lull_head *head)
{
	if (inside)
		lull_add_relaxed(&bad_runs, 1);
	free_object(head);
}

static struct object *new_object(void)
{
	struct object *object = malloc(sizeof(*object));

	assert_non_null(object);
	return object;
}

static struct lull_reclaim_counts counts(void)
{
	struct lull_reclaim_counts counts;

	lull_reclaim_stats(&counts);
	return counts;
}

static long sleeps(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
	return usage.ru_nvcsw;
}

/* As at the start, but for the longest wait, and nothing is taken for abandoned. */
static void configure(enum lull_reclaim_hard on_hard, size_t soft, size_t hard, uint32_t wait_us)
{
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.on_hard = on_hard;
	config.soft_items = soft;
	config.hard_items = hard;
	config.soft_wait_us = wait_us;
	config.linger_ms = 1000000;
	assert_int_equal(lull_reclaim_configure(&config), 0);
}

SETUP
{
	lull_hazptr_barrier();
	configure(LULL_RECLAIM_TELL, SOFT, 1000000, 1000000);
	set_stall_ms(0);
	lull_reclaim_reset_peak();
	bad_runs = 0;
}

/* ---- what is deferred ------------------------------------------------------------------------------------------- */

static void defers_free(void)
{
	lull_rcu_free(new_object());
}

static void defers_call(void)
{
	lull_rcu_call(&new_object()->head, free_object);
}

static void defers_pure(void)
{
	lull_rcu_call_pure(&new_object()->head, free_pure);
}

static void defers_bridge_free(void)
{
	lull_rcu_free_hazptr(new_object());
}

static void defers_bridge_call(void)
{
	lull_rcu_call_hazptr(&new_object()->head, free_object);
}

/* As hash.h teaches: look up, copy, replace, and retire in the same section. */
static struct lull_hash table;

static bool matches(const struct lull_hash_node *node, const void *key)
{
	return lull_container_of(node, struct object, node)->key == *(const uint64_t *)key;
}

static void defers_replaced(void)
{
	static __thread uint64_t next;
	uint64_t key = next++ % 64, hash = lull_hash_mix64(key);
	struct object *old = lull_hash_lookup_entry(&table, hash, matches, &key, struct object, node), *copy = new_object();

	copy->key = old->key;
	if (lull_hash_replace_node(&table, &old->node, &copy->node) == 0)
		lull_rcu_free(old);
	else
		free(copy);
}

static void make_table(void)
{
	assert_int_equal(lull_hash_init(&table, NULL), 0);
	for (uint64_t key = 0; key < 64; key++) {
		struct object *object = new_object();

		object->key = key;
		assert_int_equal(lull_hash_insert(&table, &object->node, lull_hash_mix64(key), matches, &key), 0);
	}
}

static void free_element(struct lull_hash_node *node, void *unused)
{
	(void)unused;
	free(lull_container_of(node, struct object, node));
}

/*
 * Up to @goes_on nobody waits, and from @limit on at each look: those that free themselves at twice the soft limit. In
 * between it depends on whether the background thread has what is pure.
 */
static const struct kind {
	void (*defer)(void);
	int goes_on, limit;
} kinds[] = { { defers_free, 2 * SOFT, 2 * SOFT },
	      { defers_call, SOFT, SOFT },
	      { defers_pure, SOFT, 2 * SOFT },
	      { defers_bridge_free, 2 * SOFT, 2 * SOFT },
	      { defers_bridge_call, SOFT, SOFT },
	      { defers_replaced, 2 * SOFT, 2 * SOFT } };
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void in_section(void (*defer)(void))
{
	lull_rcu_read_lock();
	inside = true;
	lull_rcu_read_lock();
	defer();
	lull_rcu_read_unlock();
	inside = false;
	lull_rcu_read_unlock();
}

/* ---- peaks ------------------------------------------------------------------------------------------------------ */

static int stop;

static void *loops(void *arg)
{
	for (int i = 0; i < LOOPS && !lull_load_relaxed(&stop); i++)
		in_section(((const struct kind *)arg)->defer);
	return NULL;
}

/* Run @kind in all threads; with @stays beside a reader that leaves some time after all should have stopped. */
static size_t peak_of(const struct kind *kind, bool stays, size_t until)
{
	pthread_t threads[THREADS], reader = stays ? start_hold_up() : pthread_self();
	size_t peak;

	lull_reclaim_reset_peak();
	stop = 0;
	for (int i = 0; i < THREADS; i++)
		threads[i] = start_thread(loops, (void *)(uintptr_t)kind);
	if (stays) {
		AWAIT(waiting() >= until);
		nap_ms(200);
		peak = counts().peak_items;
		lull_store_relaxed(&stop, 1);
		end_hold_up(reader);
	}
	for (int i = 0; i < THREADS; i++)
		join_thread(threads[i]);
	if (!stays)
		peak = counts().peak_items;
	lull_hazptr_barrier();
	assert_int_equal(waiting(), 0);
	return peak;
}

/* Eight threads that do nothing but update in sections: bounded, with and without a reader that sleeps. */
TEST(peak)
{
	make_table();
	for (size_t i = 0; i < KINDS; i++)
		for (int stays = 0; stays < 2; stays++) {
			size_t peak = peak_of(&kinds[i], stays, (size_t)kinds[i].limit);

			if (peak > MOST)
				fail_msg("kind %zu%s: peak %zu", i, stays ? " beside a reader" : "", peak);
		}
	assert_int_equal(bad_runs, 0);
	lull_hash_destroy(&table, free_element, NULL);
}

/*
 * HELP keeps its hard limit, to within what each thread defers between two looks, and has nothing to tell. The peak is
 * exact where nothing is reclaimed; else a pass that is preempted while it counts takes it for more.
 */
TEST(peak_under_help)
{
	const size_t hard = 10000;

	make_table();
	configure(LULL_RECLAIM_HELP, 1000, hard, 0);
	start_hearing();
	for (size_t i = 0; i < KINDS; i++)
		for (int stays = 0; stays < 2; stays++) {
			size_t peak = peak_of(&kinds[i], stays, hard - 1000);

			if (peak > (stays ? hard + 2 * 64 * THREADS : MOST))
				fail_msg("kind %zu%s: peak %zu", i, stays ? " beside a reader" : "", peak);
		}
	check_silence();
	stop_hearing();
	assert_int_equal(bad_runs, 0);
	lull_hash_destroy(&table, free_element, NULL);
}

/* ---- who pays, and when ------------------------------------------------------------------------------------------ */

#define MANY 14000

enum { SECTIONS, QUIESCENT, OFFLINE };

struct run {
	const struct kind *kind;
	int where;
	long slept_below, slept; /* up to the limit, and past it */
};

static void *runs_on(void *arg)
{
	struct run *run = arg;
	long before;

	in_section(run->kind->defer);
	if (run->where != SECTIONS)
		lull_rcu_online();
	before = sleeps();
	for (int i = 1; i < MANY; i++) {
		if (i == run->kind->goes_on)
			run->slept_below = sleeps() - before;
		if (i == run->kind->limit)
			before = sleeps();
		in_section(run->kind->defer);
		if (run->where == QUIESCENT) {
			lull_rcu_quiescent();
		} else if (run->where == OFFLINE) {
			lull_rcu_offline();
			lull_rcu_online();
		}
	}
	run->slept = sleeps() - before;
	if (run->where != SECTIONS)
		lull_rcu_offline();
	return NULL;
}

/*
 * Each 64 deferrals of sections cost one wait, at the end of one. Online threads pay in a quiescent state, and when they
 * go offline. Up to the limit nobody waits; a busy machine may say so, but not each time.
 */
static void check_waits(const struct kind *kind, int where)
{
	bool went_on = under_valgrind();

	for (int tries = 0; tries < 10; tries++) {
		struct run run = { .kind = kind, .where = where };
		pthread_t reader = start_hold_up();

		join_thread(start_thread(runs_on, &run));
		end_hold_up(reader);
		lull_rcu_barrier();
		if (run.slept < (MANY - kind->limit) / 64 - 8)
			fail_msg("kind %d, %d: slept %ld times past the limit", (int)(kind - kinds), where, run.slept);
		went_on = went_on || run.slept_below < 40;
		if (went_on)
			return;
	}
	fail_msg("kind %d, %d: is held back below the limit", (int)(kind - kinds), where);
}

TEST(each_look_is_paid)
{
	configure(LULL_RECLAIM_TELL, SOFT, 1000000, 500);
	for (size_t i = 0; i + 1 < KINDS; i++)
		for (int where = SECTIONS; where <= OFFLINE; where++)
			check_waits(&kinds[i], where);
}

/* In the section, and at the end of one inside another, nothing waits; nor in callbacks. */
static long slept_inside;
static int callbacks;

static void *defers_in_one_section(void *unused)
{
	long before;

	lull_rcu_read_lock();
	defers_call();
	before = sleeps();
	for (int i = 1; i < MANY; i++)
		in_section(defers_call);
	slept_inside = sleeps() - before;
	lull_rcu_read_unlock();
	return unused;
}

static void defers_in_callback(struct lull_head *head)
{
	long before = sleeps();

	free_object(head);
	for (int i = 0; i < MANY; i++)
		in_section(defers_call);
	slept_inside = sleeps() - before;
	lull_store_release(&callbacks, 1);
}

TEST(not_inside)
{
	for (int tries = 0; tries < 10; tries++) {
		join_thread(start_thread(defers_in_one_section, NULL));
		if (slept_inside < 40)
			break;
	}
	assert_true(slept_inside < 40 || under_valgrind());
	lull_rcu_barrier();
	for (int tries = 0; tries < 10; tries++) {
		callbacks = 0;
		lull_rcu_call(&new_object()->head, defers_in_callback);
		await_flag(&callbacks, 1);
		lull_rcu_barrier();
		if (slept_inside < 40)
			break;
	}
	assert_true(slept_inside < 40 || under_valgrind());
}

/* ---- the section of a handler, and what is left behind ------------------------------------------------------------ */

static int handled;
static long slept_in_handler;

static void reads(int signal)
{
	int saved = errno;
	long before = sleeps();

	(void)signal;
	for (int i = 0; i < 1000; i++) {
		lull_rcu_read_lock();
		lull_rcu_read_unlock();
	}
	lull_store_relaxed(&slept_in_handler, sleeps() - before);
	errno = saved;
	lull_add_release(&handled, 1);
}

static int past_limit, paid;

static void *pays(void *unused)
{
	lull_rcu_read_lock();
	for (int i = 0; i < 2 * MANY; i++)
		defers_call();
	lull_store_release(&past_limit, 1);
	lull_rcu_read_unlock();
	lull_store_release(&paid, 1);
	/* The next section is like any other. */
	assert_int_equal(lull__self.rcu, lull__fence_full_mode ? LULL__RCU_REST : 0);
	assert_int_equal(lull_load_relaxed(&lull__self.flags) & LULL__FLAG_OWES, 0);
	return unused;
}

/* Sections of a handler that interrupts the payment are free. */
TEST(handler_does_not_pay)
{
	struct sigaction action = { .sa_handler = reads, .sa_flags = SA_RESTART };
	pthread_t reader = start_hold_up(), thread;

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	past_limit = paid = handled = 0;
	thread = start_thread(pays, NULL);
	await_flag(&past_limit, 1);
	nap_ms(20);
	for (int i = 1; i <= 20 && !lull_load_acquire(&paid); i++) {
		interrupt_until(thread, SIGUSR1, &handled, i);
		assert_true(lull_load_relaxed(&slept_in_handler) < 2 || under_valgrind());
	}
	end_hold_up(reader);
	join_thread(thread);
	assert_int_equal(paid, 1);
}

/* A child keeps the section of its parent's thread, and what that owes; then it reads like any other. */
TEST(fork_owes)
{
	struct child child;

	NEEDS_THREADS_IN_CHILD();
	configure(LULL_RECLAIM_TELL, SOFT, 1000000, 500);
	lull_rcu_read_lock();
	for (int i = 0; i < MANY; i++)
		defers_call();
	assert_int_equal(lull_load_relaxed(&lull__self.flags) & LULL__FLAG_OWES, LULL__FLAG_OWES);
	if (child_begin(&child)) {
		lull_rcu_read_unlock();
		must(lull__self.rcu == (lull__fence_full_mode ? LULL__RCU_REST : 0));
		must(!(lull_load_relaxed(&lull__self.flags) & LULL__FLAG_OWES));
		lull_rcu_barrier();
		_exit(0);
	}
	lull_rcu_read_unlock();
	child_await(&child);
	judge_fine(&child, "", __FILE__, __LINE__);
}

/* An online thread that waits for readers by itself has paid. */
TEST(online_wait_pays)
{
	configure(LULL_RECLAIM_TELL, SOFT, 1000000, 500);
	lull_rcu_online();
	for (int i = 0; i < MANY; i++)
		defers_call();
	assert_int_equal(lull_load_relaxed(&lull__self.flags) & LULL__FLAG_OWES, LULL__FLAG_OWES);
	lull_rcu_synchronize();
	assert_int_equal(lull_load_relaxed(&lull__self.flags) & LULL__FLAG_OWES, 0);
	assert_int_equal(lull__self.rcu & LULL__RCU_LOW, 0);
	lull_rcu_offline();
}

static int online_in_handler, in_quiescent;

static void asks(int signal)
{
	(void)signal;
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	if (lull_load_relaxed(&in_quiescent) && !(lull__self.state & LULL__STATE_ONLINE))
		lull_store_relaxed(&online_in_handler, 0);
	lull_add_release(&handled, 1);
}

static void *pays_online(void *unused)
{
	lull_rcu_online();
	for (int i = 0; i < 2 * MANY; i++)
		defers_call();
	lull_store_release(&in_quiescent, 1);
	lull_rcu_quiescent();
	lull_store_release(&in_quiescent, 0);
	assert_true(lull__self.state & LULL__STATE_ONLINE);
	assert_int_equal(lull__self.rcu & LULL__RCU_LOW, 0);
	lull_rcu_offline();
	return unused;
}

/* While it pays in quiescent(), an online thread is offline, and its handlers read by the ordinary lock. */
TEST(online_pays_offline)
{
	struct sigaction action = { .sa_handler = asks, .sa_flags = SA_RESTART };
	pthread_t reader = start_hold_up(), thread;

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	in_quiescent = handled = 0;
	online_in_handler = 1;
	thread = start_thread(pays_online, NULL);
	await_flag(&in_quiescent, 1);
	for (int i = 1; i <= 50 && lull_load_relaxed(&online_in_handler); i++)
		interrupt_until(thread, SIGUSR1, &handled, i);
	assert_int_equal(online_in_handler, 0);
	end_hold_up(reader);
	join_thread(thread);
}
