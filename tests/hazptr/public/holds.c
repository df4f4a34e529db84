/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences, core */
/*
 * holds.c - hazptr.h: what readers have at any time: under updates, without system calls, at the end of their thread, in
 * signal handlers.
 */
#include <signal.h>

#include <lull/mutex.h>

#include "hazptr/fixture.h"
#include "seccomp.h"

static int flip_stop;

/* One change in each turn: wherever in a turn this thread is preempted, another time something else is there. */
static void *flip_run(void *unused)
{
	static struct thing *const values[] = { &first, &second, NULL };

	for (unsigned turn = 0; !lull_load_relaxed(&flip_stop); turn++)
		lull_hazptr_publish(variable, values[turn % 3]);
	return unused;
}

/* Under a thread that changes the pointer all the time: what comes back is what is protected. */
TEST(protect_what_changes)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	int results[3] = { 0, 0, 0 };
	pthread_t thread;

	flip_stop = 0;
	thread = start_thread(flip_run, NULL);
	for (uint64_t end = now_ns() + 100000000u; now_ns() < end || !results[1] || !results[2];) {
		struct thing *got = random_below(2) ? lull_hazptr_tryprotect(h, variable, rcu)
						    : lull_hazptr_protect(h, variable, rcu);

		assert_true(!got || got == &first || got == &second);
		if (got)
			assert_true(h->addr == (uintptr_t)got);
		results[got == &first ? 1 : got == &second ? 2 : 0]++;
	}
	lull_store_relaxed(&flip_stop, 1);
	join_thread(thread);
	lull_hazptr_free(own(), h);
}

TEST(no_system_calls)
{
	if (SANITIZED || !THREADS_IN_CHILD || under_valgrind()) /* they ask the kernel for themselves */
		SKIP(OWN_MEMORY);
	/* Slots, and more holds than slots. No thread sleeps for any of them. */
	EXPECT_FINE {
		struct lull_hazptr_hold hold[LULL_HAZPTR_SLOTS + 4];

		own();
		lull_hazptr_publish(variable, &first);
		lull_hazptr_synchronize(&first);
		forbid_all();
		for (int round = 0; round < 1000; round++) {
			struct lull_hazptr *h = lull_hazptr_alloc(own());

			if (lull_hazptr_protect(h, variable, rcu) != &first || lull_hazptr_tryprotect_ptr(h, variable) != &first)
				_exit(1);
			for (int i = 0; i < LULL_HAZPTR_SLOTS + 4; i++)
				if (lull_hazptr_acquire(&hold[i], &variable) != &first)
					_exit(1);
			for (int i = 0; i < LULL_HAZPTR_SLOTS + 4; i++)
				lull_hazptr_release(&hold[i], &first);
			lull_hazptr_clear(h);
			lull_hazptr_free(own(), h);
		}
	}
}

/* ---- threads that end ------------------------------------------------------------------------------ */

/* A thread that only locks, and ends; without locks, one that only ends. */
static void *only_locks(void *lock)
{
#ifndef LULL_TEST_CORE
	lull_mutex_lock((struct lull_mutex *)lock);
	lull_mutex_unlock((struct lull_mutex *)lock);
#endif
	(void)lock;
	return NULL;
}

/* By the thread itself, after all; nor is what is detached anything to a thread that only locks, and ends. */
TEST(detach)
{
	struct lull_hazptr_hold hold;
	struct thing *thing = &first;
	static struct lull_mutex lock;

	lull_hazptr_acquire(&hold, &thing);
	lull_hazptr_detach(&hold);
	check_all_free(own());
	join_thread(start_thread(only_locks, &lock));
	assert_false(is_free_of(&first));
	lull_hazptr_release(&hold, &first);
	assert_true(is_free_of(&first));
}

static void *holds_few_on_stack(void *unused)
{
	struct lull_hazptr_hold hold[2];
	struct thing *thing = &first;

	for (int i = 0; i < 2; i++)
		lull_hazptr_acquire(&hold[i], &thing);
	pthread_exit(unused);
}

/* The slots are not on the stack. */
TEST(exit_with_few)
{
	start_hearing();
	join_thread(start_thread(holds_few_on_stack, NULL));
	stop_hearing();
	assert_int_equal(heard_lines, 1);
	assert_non_null(strstr(heard, "protects 2 objects"));
	assert_true(is_free_of(&first));
}

/* Asks for another round as long as glibc gives one, so the last ones come after lull's own destructor. */
#ifdef LULL__TSAN
#define LATE_ROUNDS 2
#else
#define LATE_ROUNDS 100
#endif
static pthread_key_t late_key;
static __thread int late_round;
static __thread bool has_no_slots;
static int late_runs, late_without_slots;

static void late_reader(void *value)
{
	struct lull_hazptr_hold hold[12];
	struct lull_hazptr *h = lull_hazptr_alloc(lull_hazptr_thread_context());

	if (!h)
		has_no_slots = true; /* from the exit handling on, and for good */
	assert_true(!h == has_no_slots);
	lull_add_relaxed(&late_without_slots, !h);
	for (int i = 0; i < 12; i++)
		assert_ptr_equal(lull_hazptr_acquire(&hold[i], &variable), &first);
	assert_int_equal(lull_hazptr_synchronize_timeout(&second, 1000), 0);
	lull_hazptr_retire(malloc(32));
	for (int i = 0; i < 12; i++)
		lull_hazptr_release(&hold[i], &first);
	if (h)
		lull_hazptr_free(lull_hazptr_thread_context(), h);
	lull_add_relaxed(&late_runs, 1);
	if (++late_round < LATE_ROUNDS)
		pthread_setspecific(late_key, value);
}

static void *ends_late(void *unused)
{
	pthread_setspecific(late_key, &late_key);
	own();
	return unused;
}

TEST(late_readers)
{
	lull_hazptr_publish(variable, &first);
	start_hearing();
	assert_int_equal(pthread_key_create(&late_key, late_reader), 0);
	for (int i = 0; i < 50; i++) {
		join_thread(start_thread(ends_late, NULL));
		lull_hazptr_synchronize(&first);
	}
	assert_true(late_runs >= 100);
	assert_true(late_without_slots >= (LATE_ROUNDS > 2 ? 50 : 0));
	pthread_key_delete(late_key);
	lull_hazptr_barrier();
	stop_hearing();
	assert_int_equal(heard_lines, 0);
}

/* ---- signal handlers -------------------------------------------------------------------------------- */

static struct thing *signalled_source;
static int handled, handler_stop;
static bool slot_in_use[LULL_HAZPTR_SLOTS]; /* by the signalled thread's code, or its handler's */
static __thread bool is_signalled;

static void take_note(const struct lull_hazptr *h, bool in_use)
{
	size_t n = (size_t)(h - lull_hazptr_thread_context()->slot);

	assert_true(n < LULL_HAZPTR_SLOTS);
	assert_true(lull_load_relaxed(&slot_in_use[n]) != in_use);
	lull_store_relaxed(&slot_in_use[n], in_use);
}

/* A few slots and holds, given back in an order that changes. */
static void use_some(unsigned turn)
{
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();
	struct lull_hazptr *h[3];
	struct lull_hazptr_hold hold;
	struct thing *thing;
	unsigned n = turn % 4, from = turn / 4;

	for (unsigned i = 0; i < n; i++) {
		h[i] = lull_hazptr_alloc(ctx);
		if (!h[i]) {
			n = i;
			break;
		}
		take_note(h[i], true);
		thing = lull_hazptr_protect(h[i], signalled_source, rcu);
		check_alive(thing);
	}
	thing = lull_hazptr_acquire(&hold, &signalled_source);
	check_alive(thing);
	lull_hazptr_release(&hold, thing);
	for (unsigned i = 0; i < n; i++) {
		struct lull_hazptr *next = h[(i + from) % n];

		take_note(next, false);
		lull_hazptr_free(ctx, next);
	}
}

static void using_handler(int unused)
{
	(void)unused;
	if (is_signalled)
		use_some((unsigned)lull_add_relaxed(&handled, 1));
}

static void *signalled_run(void *arg)
{
	struct lull_hazptr_context *ctx = own();
	struct lull_hazptr *h[LULL_HAZPTR_SLOTS];
	struct lull_hazptr_hold hold[4];
	struct thing *thing[4];
	int order[LULL_HAZPTR_SLOTS];
	uint32_t n;

	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		order[i] = i;
	is_signalled = true;
	lull_store_release((int *)arg, 1);
	while (!lull_load_relaxed(&handler_stop)) {
		/* At times nearly all, and holds that have to use their own. */
		n = random_below(LULL_HAZPTR_SLOTS + 1);
		for (uint32_t i = 0; i < n; i++) {
			h[i] = lull_hazptr_alloc(ctx);
			assert_non_null(h[i]);
			take_note(h[i], true);
			check_alive(lull_hazptr_protect(h[i], signalled_source, rcu));
		}
		for (int i = 0; i < 4; i++) {
			thing[i] = lull_hazptr_acquire(&hold[i], &signalled_source);
			check_alive(thing[i]);
		}
		for (uint32_t i = n; i > 1; i--)
			swap(&order[i - 1], &order[random_below(i)]);
		for (uint32_t i = 0, got = 0; got < n && i < LULL_HAZPTR_SLOTS; i++) {
			if ((uint32_t)order[i] >= n)
				continue;
			got++;
			take_note(h[order[i]], false);
			lull_hazptr_free(ctx, h[order[i]]);
		}
		for (int i = 0; i < 4; i++) {
			check_alive(thing[i]);
			lull_hazptr_release(&hold[i], thing[i]);
		}
	}
	is_signalled = false;
	check_all_free(ctx);
	return NULL;
}

struct sender {
	pthread_t thread, target;
};

static void *sender_run(void *arg)
{
	struct sender *sender = (struct sender *)arg;
	uint32_t state = 1;

	while (!lull_load_relaxed(&handler_stop)) {
		pthread_kill(sender->target, SIGUSR1);
		state = state * 1664525u + 1013904223u;
		for (uint32_t i = state >> 22; i > 0; i--)
			lull_cpu_relax();
	}
	return NULL;
}

TEST(signal_handlers)
{
	struct sigaction action;
	struct sender sender;
	pthread_t signalled;
	int ready = 0;

	memset(&action, 0, sizeof(action));
	memset(slot_in_use, 0, sizeof(slot_in_use));
	action.sa_handler = using_handler;
	sigaction(SIGUSR1, &action, NULL);
	handler_stop = handled = 0;
	signalled_source = new_thing(NULL);
	signalled = start_thread(signalled_run, &ready);
	await_count(&ready, 1);
	sender.target = signalled;
	sender.thread = start_thread(sender_run, &sender);
	for (uint64_t end = now_ns() + 1500000000u; now_ns() < end;) {
		struct thing *old = signalled_source;

		lull_hazptr_publish(signalled_source, new_thing(NULL));
		lull_hazptr_call(&old->rcu, thing_gone);
		if (random_below(4) == 0)
			lull_hazptr_synchronize(old + 1);
		nap_ms(0);
	}
	lull_store_relaxed(&handler_stop, 1);
	join_thread(sender.thread);
	join_thread(signalled);
	assert_true(handled > 0);
	lull_hazptr_barrier();
	free(signalled_source);
}
