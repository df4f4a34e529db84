/* SPDX-License-Identifier: MIT */
/* runs: full-fences, core */
/*
 * scan.c - hazptr.h: what is retired stays while it is protected, and goes when it is
 * not; how much of it waits; in all modes.
 */
#include "hazptr/fixture.h"

/* ---- retiring ------------------------------------------------------------------------------------ */

/* Not reclaimed while protected, reclaimed when released in any way, without another's help. */
TEST(call)
{
	for (int way = 0; way < WAYS; way++) {
		struct thing *thing = new_thing(&gone);
		struct holder holder;

		start_hearing();
		holder_start(&holder, (enum letting_go)way, &thing);
		lull_hazptr_call(&thing->rcu, thing_gone);
		assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
		assert_int_equal(lull_load_relaxed(&gone), 0);
		assert_int_equal(waiting(), 1);
		holder_let_go(&holder);
		await_count(&gone, 1);
		holder_finish(&holder);
		stop_hearing();
		assert_int_equal(heard_lines, holder_exits(&holder) ? 1 : 0);
		AWAIT(!waiting());
		lull_store_relaxed(&gone, 0);
	}
}

TEST(retire)
{
	for (int way = 0; way < WAYS; way++) {
		struct thing *thing = new_thing(NULL);
		struct holder holder;

		start_hearing();
		holder_start(&holder, (enum letting_go)way, &thing);
		lull_hazptr_retire(thing);
		for (int i = 0; i < 5000; i++)
			lull_hazptr_retire(malloc(sizeof(*thing)));
		await_waiting(1);
		check_alive(thing); /* free() would have written over the first words at least */
		holder_let_go(&holder);
		AWAIT(!waiting());
		holder_finish(&holder);
		stop_hearing();
	}
}

TEST(retire_forms)
{
	struct lull_reclaim_counts stats;
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct thing *thing = new_thing(&gone);

	lull_hazptr_retire(NULL);
	lull_hazptr_retire_sized(NULL, 100);
	assert_int_equal(waiting(), 0);

	/* By who protects it, in a read section, with the bytes counted. */
	lull_hazptr_protect(h, thing, rcu);
	lull_rcu_read_lock();
	lull_hazptr_call_sized(&thing->rcu, thing_gone, 123456);
	lull_rcu_read_unlock();
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	lull_reclaim_stats(&stats);
	assert_int_equal(stats.items, 1);
	assert_true(stats.bytes >= 123456 && stats.bytes < 123456 + 4096);
	lull_hazptr_clear(h);
	await_count(&gone, 1);
	thing = new_thing(NULL);
	lull_hazptr_protect_ptr(h, thing);
	lull_hazptr_retire_sized(thing, sizeof(*thing));
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	check_alive(thing);
	lull_hazptr_free(own(), h);
	lull_hazptr_barrier();
	lull_reclaim_stats(&stats);
	assert_int_equal(stats.items, 0);
	assert_int_equal(stats.bytes, 0);
}

/* A hazard pointer is no read section: what RCU readers do does not matter. */
TEST(read_sections_do_not_matter)
{
	struct thing *thing = new_thing(&gone);

	lull_rcu_read_lock();
	lull_hazptr_call(&thing->rcu, thing_gone);
	await_count(&gone, 1);
	lull_hazptr_retire(malloc(16));
	AWAIT(!waiting());
	lull_rcu_read_unlock();
}

static pthread_t called_by;

static void note_caller(struct lull_rcu_head *head)
{
	lull_store_relaxed(&called_by, pthread_self());
	thing_gone(head);
}

static void *retires_and_exits(void *unused)
{
	lull_hazptr_retire(malloc(24));
	lull_hazptr_call(&new_thing(&gone)->rcu, note_caller);
	return unused;
}

/* Objects that a thread leaves behind are reclaimed without a call, whether it sleeps or is gone. */
TEST(leftovers)
{
	lull_hazptr_retire(malloc(24));
	AWAIT(!waiting());
	for (int i = 0; i < 100; i++)
		join_thread(start_thread(retires_and_exits, NULL));
	await_count(&gone, 100);
	AWAIT(!waiting());
	lull_hazptr_call(&new_thing(&gone)->rcu, note_caller);
	await_count(&gone, 101);
	assert_false(pthread_equal(lull_load_relaxed(&called_by), pthread_self()));
}

/* Orphans that are protected are kept, too. */
static struct thing *orphan;

static void *retires_orphan(void *unused)
{
	lull_hazptr_call(&orphan->rcu, thing_gone);
	return unused;
}

TEST(protected_orphan)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());

	orphan = new_thing(&gone);
	lull_hazptr_protect(h, orphan, rcu);
	join_thread(start_thread(retires_orphan, NULL));
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	assert_int_equal(lull_load_relaxed(&gone), 0);
	lull_hazptr_free(own(), h);
	await_count(&gone, 1);
}

TEST(quiet_while_protected)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own()), *other = lull_hazptr_alloc(own());
	struct thing *called = new_thing(&gone), *retired = new_thing(NULL);

	lull_hazptr_protect(h, called, rcu);
	lull_hazptr_protect(other, retired, rcu);
	lull_hazptr_call(&called->rcu, thing_gone);
	lull_hazptr_retire(retired);
	check_quiet(2);
	check_alive(called);
	check_alive(retired);
	lull_hazptr_free(own(), h);
	await_count(&gone, 1);
	check_alive(retired);
	lull_hazptr_free(own(), other);
	AWAIT(!waiting());
}

/* ---- how much waits ------------------------------------------------------------------------------ */

/*
 * The bound that hazptr.h allows. A thread that retires keeps to less, but not while the background thread has its
 * queue, and that may have lost the processor. In POLL mode there is no such thread.
 */
static size_t bound_of(size_t contexts, enum lull_reclaim_mode mode)
{
	size_t threads = lull_thread_count(), slots = (threads + contexts) * LULL_HAZPTR_SLOTS;

	if (mode != LULL_RECLAIM_POLL)
		return 4096 + 128 * threads + 3 * slots;
	return 2 * slots > 1000 ? 2 * slots : 1000;
}

enum { RETIRED = 100000, BLOCK = 64 };

static void check_block(const unsigned char *block)
{
	for (int i = 0; i < BLOCK; i++)
		assert_int_equal(block[i], 0xa7);
}

/*
 * Retire many blocks, of which @contexts * 8 get protected at about even distances, by readers that then
 * do nothing more. Never do more than the bound wait.
 */
static void retire_under_stalled_readers(size_t contexts, enum lull_reclaim_mode mode)
{
	size_t slots = contexts * LULL_HAZPTR_SLOTS, held = 0, bound;
	size_t stride = RETIRED / (slots + 1);
	struct lull_hazptr_context *ctx = (struct lull_hazptr_context *)calloc(contexts + 1, sizeof(*ctx));
	unsigned char **block = (unsigned char **)calloc(slots + 1, sizeof(*block)), *next;
	struct lull_reclaim_counts stats;

	assert_true(ctx && block && stride);
	for (size_t i = 0; i < contexts; i++)
		lull_hazptr_context_init(&ctx[i]);
	lull_reclaim_reset_peak();
	for (size_t i = 0; i < RETIRED; i++) {
		next = (unsigned char *)malloc(BLOCK);
		memset(next, 0xa7, BLOCK);
		if (i % stride == 0 && held < slots) {
			struct lull_hazptr *h = lull_hazptr_alloc(&ctx[held / LULL_HAZPTR_SLOTS]);

			block[held++] = lull_hazptr_protect_ptr(h, next);
		}
		lull_hazptr_retire(next);
		if (i % 97 == 0)
			assert_true(waiting() <= bound_of(contexts, mode));
	}
	bound = bound_of(contexts, mode);
	lull_reclaim_stats(&stats);
	if (stats.peak_items > bound)
		print_error("%zu waited, %zu are allowed\n", stats.peak_items, bound);
	assert_true(stats.peak_items <= bound);
	assert_true(stats.peak_items >= held);
	assert_true(stats.items >= held);
	for (size_t i = 0; i < held; i++)
		check_block(block[i]);
	if (held)
		await_waiting(held);
	for (size_t i = 0; i < held; i++)
		check_block(block[i]);
	for (size_t i = 0; i < contexts; i++)
		lull_hazptr_context_cleanup(&ctx[i]);
	lull_hazptr_barrier();
	assert_int_equal(waiting(), 0);
	free(block);
	free(ctx);
}

TEST(bound)
{
	static const enum lull_reclaim_mode modes[] = { LULL_RECLAIM_THREAD, LULL_RECLAIM_CALLER,
							LULL_RECLAIM_POLL };

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		set_mode(modes[i]);
		retire_under_stalled_readers(0, modes[i]);
		retire_under_stalled_readers(1, modes[i]);
		retire_under_stalled_readers(50, modes[i]);
		retire_under_stalled_readers(200, modes[i]);
	}
}

/* A reader that is stuck in a read section holds up none of this. */
TEST(bound_under_rcu_reader)
{
	lull_rcu_read_lock();
	for (int i = 0; i < 100000; i++) {
		lull_hazptr_retire(malloc(BLOCK));
		if (i % 97 == 0)
			assert_true(waiting() <= bound_of(0, LULL_RECLAIM_THREAD));
	}
	lull_rcu_read_unlock();
	lull_hazptr_barrier();
}

/*
 * A reader does not hold up callbacks that wait for slots either: not while the reclaimer waits for it, with callbacks
 * that wait for a grace period in hand, for a barrier or not, nor what it parked before.
 */
static int reader_in, reader_out, called_after_reader;

static void *staying_reader(void *unused)
{
	lull_rcu_read_lock();
	lull_store_release(&reader_in, 1);
	await_count(&reader_out, 1);
	lull_rcu_read_unlock();
	return unused;
}

static void count_after_reader(struct lull_rcu_head *head)
{
	thing_gone(head);
	lull_add_release(&called_after_reader, 1);
}

static void *rcu_barrier_run(void *unused)
{
	lull_rcu_barrier();
	return unused;
}

TEST(calls_beside_rcu_reader)
{
	alarm(60);
	for (int with_barrier = 0; with_barrier < 2; with_barrier++) {
		struct thing *kept = new_thing(&gone), *kept_later = new_thing(&gone);
		struct lull_hazptr_hold hold, later;
		pthread_t reader, barrier = pthread_self();

		lull_store_relaxed(&gone, 0);
		reader_in = reader_out = 0;
		lull_store_relaxed(&called_after_reader, 0);
		lull_hazptr_acquire(&hold, &kept);
		lull_hazptr_acquire(&later, &kept_later);
		lull_hazptr_call(&kept->rcu, thing_gone); /* before the reader came */
		reader = start_thread(staying_reader, NULL);
		await_count(&reader_in, 1);
		lull_rcu_call(&new_thing(NULL)->rcu, count_after_reader);
		if (with_barrier)
			barrier = start_thread(rcu_barrier_run, NULL);
		nap_ms(50); /* the reclaimer waits for the reader by now */
		for (int i = 0; i < 20; i++) {
			lull_hazptr_call(&new_thing(&gone)->rcu, thing_gone);
			await_count(&gone, i + 1);
		}
		lull_hazptr_call(&kept_later->rcu, thing_gone);
		AWAIT(waiting() <= 3);
		check_alive(kept);
		check_alive(kept_later);
		lull_hazptr_release(&hold, kept);
		await_count(&gone, 21);
		check_alive(kept_later);
		lull_hazptr_release(&later, kept_later);
		await_count(&gone, 22);
		assert_int_equal(lull_load_relaxed(&called_after_reader), 0);
		lull_store_release(&reader_out, 1);
		join_thread(reader);
		if (with_barrier)
			join_thread(barrier);
		await_count(&called_after_reader, 1);
	}
	alarm(0);
}

/*
 * The reclaimer does not either, when it has taken everything for a barrier and comes to nothing: because of a stuck
 * RCU reader, or in a callback that does not end.
 */
static int stuck, unstick;

static void *stuck_reader(void *unused)
{
	lull_rcu_read_lock();
	lull_store_release(&stuck, 1);
	await_count(&unstick, 1);
	lull_rcu_read_unlock();
	return unused;
}

static void stuck_callback(struct lull_rcu_head *head)
{
	lull_store_release(&stuck, 1);
	await_count(&unstick, 1);
	thing_gone(head);
}

static void retire_under_stuck_reclaimer(void)
{
	pthread_t thread = start_thread(rcu_barrier_run, NULL);
	size_t most = 0;

	await_count(&stuck, 1);
	nap_ms(50);
	for (int i = 0; i < 100000; i++) {
		size_t now;

		lull_hazptr_retire(malloc(BLOCK));
		if (i % 97 == 0 && (now = waiting()) > most)
			most = now;
	}
	lull_store_release(&unstick, 1);
	join_thread(thread);
	lull_hazptr_barrier();
	if (most > bound_of(0, LULL_RECLAIM_THREAD))
		print_error("%zu waited, %zu are allowed\n", most, bound_of(0, LULL_RECLAIM_THREAD));
	assert_true(most <= bound_of(0, LULL_RECLAIM_THREAD));
}

TEST(bound_under_stuck_reclaimer)
{
	pthread_t reader;

	for (int way = 0; way < 2; way++) {
		stuck = unstick = 0;
		lull_hazptr_retire(malloc(BLOCK));
		if (way == 0)
			reader = start_thread(stuck_reader, NULL);
		else
			lull_hazptr_call(&new_thing(NULL)->rcu, stuck_callback);
		await_count(&stuck, 1);
		lull_rcu_free(malloc(BLOCK));
		lull_hazptr_retire(malloc(BLOCK));
		retire_under_stuck_reclaimer();
		if (way == 0)
			join_thread(reader);
	}
}

/* Many more slots, all protecting, than there were when this thread retired for the first time. */
TEST(slots_grow)
{
	enum { CONTEXTS = 1500, SLOTS = CONTEXTS * LULL_HAZPTR_SLOTS };
	struct lull_hazptr_context *ctx = (struct lull_hazptr_context *)calloc(CONTEXTS, sizeof(*ctx));
	unsigned char **block = (unsigned char **)calloc(SLOTS, sizeof(*block));

	assert_true(ctx && block);
	lull_hazptr_retire(malloc(BLOCK));
	lull_hazptr_barrier();
	for (int i = 0; i < SLOTS; i++) {
		if (i % LULL_HAZPTR_SLOTS == 0)
			lull_hazptr_context_init(&ctx[i / LULL_HAZPTR_SLOTS]);
		block[i] = (unsigned char *)malloc(BLOCK);
		memset(block[i], 0xa7, BLOCK);
		lull_hazptr_protect_ptr(lull_hazptr_alloc(&ctx[i / LULL_HAZPTR_SLOTS]), block[i]);
		lull_hazptr_retire(block[i]);
		lull_hazptr_retire(malloc(BLOCK));
	}
	await_waiting(SLOTS);
	for (int i = 0; i < 3 * SLOTS; i++)
		lull_hazptr_retire(malloc(BLOCK));
	assert_true(waiting() <= bound_of(CONTEXTS, LULL_RECLAIM_THREAD));
	for (int i = 0; i < SLOTS; i++)
		check_block(block[i]);
	for (int i = 0; i < CONTEXTS; i++)
		lull_hazptr_context_cleanup(&ctx[i]);
	lull_hazptr_barrier();
	assert_int_equal(waiting(), 0);
	free(block);
	free(ctx);
}

/* ---- objects that callbacks retire ---------------------------------------------------------------- */

static int in_callback, early, children;

static void child_gone(struct lull_rcu_head *head)
{
	lull_add_relaxed(&early, lull_load_relaxed(&in_callback));
	thing_gone(head);
}

static void retires_many(struct lull_rcu_head *head)
{
	size_t before = waiting();

	lull_store_relaxed(&in_callback, 1);
	for (int i = 0; i < 3000; i++) {
		lull_hazptr_call(&new_thing(&children)->rcu, child_gone);
		lull_hazptr_retire(malloc(BLOCK));
	}
	/* All of them wait, and count. */
	lull_add_relaxed(&early, waiting() < before + 6000);
	lull_store_relaxed(&in_callback, 0);
	thing_gone(head);
}

/* They are reclaimed when the callback has returned, by any thread. */
TEST(callbacks_retire)
{
	static const enum lull_reclaim_mode modes[] = { LULL_RECLAIM_THREAD, LULL_RECLAIM_CALLER,
							LULL_RECLAIM_POLL };

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		set_mode(modes[i]);
		early = 0;
		lull_store_relaxed(&gone, 0);
		lull_store_relaxed(&children, 0);
		lull_hazptr_call(&new_thing(&gone)->rcu, retires_many);
		lull_hazptr_barrier();
		assert_int_equal(gone, 1);
		assert_int_equal(children, 3000);
		assert_int_equal(early, 0);
		assert_int_equal(waiting(), 0);
	}
}

/* ---- modes --------------------------------------------------------------------------------------- */

static int notified;

static void note(void *arg)
{
	lull_add_relaxed((int *)arg, 1);
}

TEST(poll_mode)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct thing *kept = new_thing(&gone);
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.mode = LULL_RECLAIM_POLL;
	config.notify = note;
	config.notify_arg = &notified;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	notified = 0;
	lull_hazptr_protect(h, kept, rcu);
	lull_hazptr_call(&kept->rcu, note_caller);
	assert_int_equal(notified, 1);
	for (int i = 0; i < 10; i++)
		lull_hazptr_call(&new_thing(&gone)->rcu, note_caller);
	nap_ms(30);
	assert_int_equal(lull_load_relaxed(&gone), 0); /* no other does it */
	assert_int_equal(lull_reclaim_poll(3, 0), 3);
	assert_int_equal(lull_reclaim_poll(100, 0), 7);
	assert_int_equal(gone, 10);
	assert_true(pthread_equal(lull_load_relaxed(&called_by), pthread_self()));
	assert_int_equal(lull_reclaim_poll(100, 0), 0);
	check_alive(kept);
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	check_alive(kept);
	lull_hazptr_clear(h);
	assert_int_equal(lull_reclaim_poll(100, 0), 1);
	assert_int_equal(gone, 11);
	lull_hazptr_free(own(), h);

	/* A barrier does it itself, and what is left goes to the thread. */
	lull_hazptr_call(&new_thing(&gone)->rcu, thing_gone);
	lull_hazptr_barrier();
	assert_int_equal(gone, 12);
	lull_hazptr_call(&new_thing(&gone)->rcu, thing_gone);
	set_mode(LULL_RECLAIM_THREAD);
	await_count(&gone, 13);
}

static struct lull_hazptr *cleared_in_poll;

static void clears_amid_poll(struct lull_head *head)
{
	lull_hazptr_clear(cleared_in_poll);
	note_caller(head);
}

/* A slot that is cleared while a poll is under way: the program hears of it when the poll ends, to poll once more. */
TEST(cleared_amid_poll)
{
	struct lull_reclaim_config config;
	void *kept = malloc(16);

	cleared_in_poll = lull_hazptr_alloc(own());
	lull_reclaim_default_config(&config);
	config.mode = LULL_RECLAIM_POLL;
	config.notify = note;
	config.notify_arg = &notified;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	lull_hazptr_protect_ptr(cleared_in_poll, kept);
	lull_hazptr_retire(kept);
	notified = 0;
	for (int i = 0; i < 3; i++)
		assert_int_equal(lull_reclaim_poll(100, 0), 0);
	assert_int_equal(notified, 0); /* parked: there is nothing to do about it */
	lull_hazptr_call(&new_thing(&gone)->rcu, clears_amid_poll);
	notified = 0;
	assert_int_equal(lull_reclaim_poll(100, 0), 1);
	assert_int_equal(gone, 1);
	assert_int_equal(notified, 1);
	assert_int_equal(lull_reclaim_poll(100, 0), 1);
	assert_int_equal(notified, 1);
	assert_int_equal(waiting(), 0);
	lull_hazptr_free(own(), cleared_in_poll);
}

static void *polls_in_vain(void *unused)
{
	assert_int_equal(lull_reclaim_poll(100, 0), 0);
	return unused;
}

/* Others poll meanwhile: they cannot have the queue in which the object is. */
static void clears_amid_polls(struct lull_head *head)
{
	join_thread(start_thread(polls_in_vain, NULL));
	lull_hazptr_clear(cleared_in_poll);
	join_thread(start_thread(polls_in_vain, NULL));
	note_caller(head);
}

/* The program has heard of the slot, and has polled in vain: it hears once more when another poll, or a barrier, ends. */
TEST(cleared_amid_two)
{
	struct lull_reclaim_config config;

	cleared_in_poll = lull_hazptr_alloc(own());
	lull_reclaim_default_config(&config);
	config.mode = LULL_RECLAIM_POLL;
	config.notify = note;
	config.notify_arg = &notified;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	for (int by_barrier = 0; by_barrier < 2; by_barrier++) {
		struct thing *kept = new_thing(&gone);

		gone = 0;
		lull_hazptr_protect(cleared_in_poll, kept, rcu);
		lull_hazptr_call(&kept->rcu, note_caller);
		assert_int_equal(lull_reclaim_poll(100, 0), 0);
		lull_hazptr_call(&new_thing(&gone)->rcu, clears_amid_polls);
		notified = 0;
		if (by_barrier)
			lull_rcu_barrier();
		else
			assert_int_equal(lull_reclaim_poll(100, 0), 1);
		assert_int_equal(gone, 1);
		assert_int_equal(notified, 2);
		assert_int_equal(lull_reclaim_poll(100, 0), 1);
		assert_int_equal(notified, 2);
		assert_int_equal(waiting(), 0);
	}
	lull_hazptr_free(own(), cleared_in_poll);
}

TEST(caller_mode)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct thing *kept = new_thing(&gone);

	set_mode(LULL_RECLAIM_CALLER);
	lull_hazptr_protect(h, kept, rcu);
	lull_hazptr_call(&kept->rcu, thing_gone);
	for (int i = 0; i < 5000; i++) {
		lull_hazptr_call(&new_thing(&gone)->rcu, note_caller);
		if (lull_load_acquire(&gone))
			assert_true(pthread_equal(lull_load_relaxed(&called_by), pthread_self()));
	}
	assert_true(gone > 0);
	await_waiting(1);
	assert_int_equal(lull_load_relaxed(&gone), 5000);
	check_alive(kept);
	lull_hazptr_free(own(), h);
	await_count(&gone, 5001);
}
