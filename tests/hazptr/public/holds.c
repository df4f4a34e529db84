/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences, core */
/*
 * holds.c - hazptr.h: holds, however many; of threads that end, and of signal handlers.
 */
#include <signal.h>

#include <lull/mutex.h>

#include "hazptr/fixture.h"

TEST(hold)
{
	struct lull_hazptr_hold hold;
	struct thing *thing = new_thing(&gone), *none = NULL;

	memset(&hold, 0x5a, sizeof(hold));
	assert_ptr_equal(lull_hazptr_acquire(&hold, &thing), thing);
	assert_false(is_free_of(thing));
	lull_hazptr_call(&thing->rcu, thing_gone);
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	check_alive(thing);
	lull_hazptr_release(&hold, thing);
	await_count(&gone, 1);

	for (int i = 0; i < 20; i++) {
		memset(&hold, 0x5a, sizeof(hold));
		assert_null(lull_hazptr_acquire(&hold, &none));
		lull_hazptr_release(&hold, none);
		lull_hazptr_detach(&hold);
		lull_hazptr_detach(&hold);
	}
	check_all_free(own());
}

/* In this form the hold names the head, wherever that is, as lull_hazptr_call() does. */
TEST(hold_member)
{
	struct offset_thing *thing = (struct offset_thing *)malloc(sizeof(*thing)), *none = NULL;
	struct lull_hazptr_hold hold;

	assert_non_null(thing);
	thing->gone = &gone;
	assert_null(lull_hazptr_acquire_member(&hold, &none, rcu));
	assert_ptr_equal(lull_hazptr_acquire_member(&hold, &thing, rcu), thing);
	assert_false(is_free_of(&thing->rcu));
	assert_true(is_free_of(thing));
	lull_hazptr_call(&thing->rcu, offset_thing_gone);
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	assert_int_equal(lull_load_relaxed(&gone), 0);
	lull_hazptr_release(&hold, thing);
	await_count(&gone, 1);
}

/* Many at once: it cannot fail. Each is released alone, in whatever order. */
static void hold_many(const int *order, int n)
{
	struct lull_hazptr_hold hold[32], nothing;
	struct thing *thing[32], *none = NULL;
	int counts[32];

	memset(hold, 0x5a, sizeof(hold));
	for (int i = 0; i < n; i++) {
		lull_store_relaxed(&counts[i], 0);
		thing[i] = new_thing(&counts[i]);
		assert_ptr_equal(lull_hazptr_acquire(&hold[i], &thing[i]), thing[i]);
	}
	assert_null(lull_hazptr_acquire(&nothing, &none));
	for (int i = 0; i < n; i++)
		lull_hazptr_call(&thing[i]->rcu, thing_gone);
	for (int i = 0; i < n; i++) {
		if (i % 5 == 0)
			assert_int_equal(lull_hazptr_barrier_timeout(5), -ETIMEDOUT);
		for (int j = i; j < n; j++)
			check_alive(thing[order[j]]);
		lull_hazptr_release(&hold[order[i]], thing[order[i]]);
		await_count(&counts[order[i]], 1);
	}
	check_all_free(own());
}

TEST(hold_many)
{
	int order[20];
	const int n = (int)ARRAY_SIZE(order);

	for (int i = 0; i < n; i++)
		order[i] = i;
	hold_many(order, n);
	for (int i = 0; i < n / 2; i++)
		swap(&order[i], &order[n - 1 - i]);
	hold_many(order, n);
	for (int round = 0; round < 5; round++) {
		for (int i = n - 1; i > 0; i--)
			swap(&order[i], &order[random_below((uint32_t)i + 1)]);
		hold_many(order, n);
	}
}

static void *releases_run(void *arg)
{
	struct holder *holder = (struct holder *)arg;

	check_alive(holder->thing);
	lull_hazptr_release(&holder->hold, holder->thing);
	return NULL;
}

static void detach_and_release_elsewhere(struct holder *holder)
{
	holder->thing = new_thing(&gone);
	memset(&holder->hold, 0x5a, sizeof(holder->hold));
	assert_ptr_equal(lull_hazptr_acquire(&holder->hold, &holder->thing), holder->thing);
	lull_hazptr_detach(&holder->hold);
	lull_hazptr_detach(&holder->hold);
	assert_false(is_free_of(holder->thing));
	lull_hazptr_call(&holder->thing->rcu, thing_gone);
	assert_int_equal(lull_hazptr_barrier_timeout(10), -ETIMEDOUT);
	assert_int_equal(lull_load_relaxed(&gone), 0);
	join_thread(start_thread(releases_run, holder));
	await_count(&gone, 1);
	lull_store_relaxed(&gone, 0);
}

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

TEST(detach)
{
	struct lull_hazptr *slot[LULL_HAZPTR_SLOTS];
	static struct lull_mutex lock;
	struct holder holder;

	memset(&holder, 0, sizeof(holder));
	detach_and_release_elsewhere(&holder);
	check_all_free(own());
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		slot[i] = lull_hazptr_alloc(own());
	detach_and_release_elsewhere(&holder); /* it had its own slot all the time */
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		lull_hazptr_free(own(), slot[i]);

	/* By the thread itself, after all; nor is it anything to a thread that only locks, and ends. */
	holder.thing = &first;
	assert_ptr_equal(lull_hazptr_acquire(&holder.hold, &holder.thing), &first);
	lull_hazptr_detach(&holder.hold);
	check_all_free(own());
	join_thread(start_thread(only_locks, &lock));
	assert_false(is_free_of(&first));
	lull_hazptr_release(&holder.hold, &first);
	assert_true(is_free_of(&first));
}

TEST(detach_out_of_order)
{
	struct lull_hazptr_hold hold[12];
	struct thing *thing = &first;

	for (int i = 0; i < 12; i++)
		lull_hazptr_acquire(&hold[i], &thing);
	for (int i = 0; i < 12; i += 2)
		lull_hazptr_detach(&hold[i]);
	for (int i = 0; i < 12; i++) {
		assert_false(is_free_of(&first));
		lull_hazptr_release(&hold[i], thing);
	}
	assert_true(is_free_of(&first));
}

static struct lull_hazptr_hold misused;
static struct thing misused_thing, *misused_source = &misused_thing;

static void *release_misused_run(void *unused)
{
	lull_hazptr_release(&misused, &misused_thing);
	return unused;
}

static void release_by_other(void)
{
	lull_hazptr_acquire(&misused, &misused_source);
	join_thread(start_thread(release_misused_run, NULL));
}

static void release_twice(void)
{
	lull_hazptr_acquire(&misused, &misused_source);
	lull_hazptr_release(&misused, &misused_thing);
	lull_hazptr_release(&misused, &misused_thing);
}

TEST(hold_misuse)
{
	expect_abort(release_twice, "lull_hazptr_release: ");
	EXPECT_ABORT("lull_hazptr_release: ") {
		lull_hazptr_acquire(&misused, &misused_source);
		lull_hazptr_detach(&misused);
		lull_hazptr_release(&misused, &misused_thing);
		lull_hazptr_release(&misused, &misused_thing);
	}
	EXPECT_ABORT("lull_hazptr_release: ") {
		for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
			must(lull_hazptr_alloc(own()));
		release_twice();
	}
	NEEDS_THREADS_IN_CHILD();
	expect_abort(release_by_other, "lull_hazptr_release: another thread holds it");
	EXPECT_ABORT("lull_hazptr_release: another thread holds it") {
		for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
			must(lull_hazptr_alloc(own()));
		release_by_other();
	}
}

/* ---- threads that end ------------------------------------------------------------------------------ */

static void *unregistered_run(void *unused)
{
	struct lull_hazptr_hold hold[10];

	own();
	lull_thread_unregister();
	assert_null(lull_hazptr_alloc(lull_hazptr_thread_context()));
	for (int i = 0; i < 10; i++)
		assert_ptr_equal(lull_hazptr_acquire(&hold[i], &variable), &first);
	assert_false(is_free_of(&first));
	for (int i = 0; i < 10; i++)
		lull_hazptr_release(&hold[i], &first);
	assert_true(is_free_of(&first));
	lull_hazptr_retire(malloc(16));
	lull_hazptr_synchronize(&first);
	lull_thread_register();
	check_all_free(lull_hazptr_thread_context());
	return unused;
}

TEST(unregistered)
{
	lull_hazptr_publish(variable, &first);
	for (int i = 0; i < 20; i++)
		join_thread(start_thread(unregistered_run, NULL));
}

/* Ends with more holds than slots and a context. Their memory goes when it is gone. */
struct left_behind {
	struct lull_hazptr_hold hold[12];
	struct lull_hazptr_context ctx;
	bool context_first; /* it is the first that the thread has to do with lull */
};

static void *exits_holding(void *arg)
{
	struct left_behind *left = (struct left_behind *)arg;

	if (left->context_first)
		lull_hazptr_context_init(&left->ctx);
	for (int i = 0; i < 12; i++)
		lull_hazptr_acquire(&left->hold[i], &variable);
	if (!left->context_first)
		lull_hazptr_context_init(&left->ctx);
	lull_hazptr_protect(lull_hazptr_alloc(&left->ctx), variable, rcu);
	return NULL;
}

/* On whichever of the 16 lists they were: a thread begins with one by its number. */
TEST(exit_holding)
{
	uint32_t lists = 0;

	lull_hazptr_publish(variable, &first);
	start_hearing();
	for (int i = 0; i < 2000 && (i < 2 || lists != 0xffff); i++) {
		struct left_behind *left = (struct left_behind *)malloc(sizeof(*left));

		assert_non_null(left);
		left->context_first = i % 2;
		heard_lines = 0;
		join_thread(start_thread(exits_holding, left));
		assert_int_equal(heard_lines, 1);
		assert_non_null(strstr(heard, "protects 13 objects"));
		lists |= 1u << left->ctx.shard;
		memset(left, 0x5a, sizeof(*left));
		free(left);
	}
	stop_hearing();
	lull_hazptr_synchronize(&first); /* does not wait for the dead */
	join_thread(start_thread(first_slot_run, NULL));
	lull_hazptr_retire(malloc(16));
	lull_hazptr_barrier();
}

/* A slot of a thread that is gone protects nothing. On its stack it would be no slot at all. */
static struct left_behind *left_with_slot;

static void *leaves_slot(void *unused)
{
	lull_hazptr_context_init(&left_with_slot->ctx);
	must(lull_hazptr_alloc(&left_with_slot->ctx));
	return unused;
}

static int is_holding;

static void *is_cancelled(void *unused)
{
	struct lull_hazptr_hold hold[LULL_HAZPTR_SLOTS + 1];
	struct thing *thing = &first;

	for (int i = 0; i <= LULL_HAZPTR_SLOTS; i++)
		lull_hazptr_acquire(&hold[i], &thing);
	lull_store_release(&is_holding, 1);
	for (;;)
		pause();
	return unused;
}

TEST(exit_misuse)
{
	NEEDS_THREADS_IN_CHILD();
	EXPECT_ABORT("lull_hazptr_protect: a slot of a thread that is no longer registered") {
		struct thing *thing = &first;

		left_with_slot = (struct left_behind *)malloc(sizeof(*left_with_slot));
		join_thread(start_thread(leaves_slot, NULL));
		lull_hazptr_clear(&left_with_slot->ctx.slot[0]);
		lull_hazptr_protect(&left_with_slot->ctx.slot[0], thing, rcu);
	}
	EXPECT_ABORT("with a hazard pointer context or hold left on its stack") {
		pthread_t thread = start_thread(is_cancelled, NULL);

		await_count(&is_holding, 1);
		pthread_cancel(thread);
		pthread_join(thread, NULL);
	}
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
