/* SPDX-License-Identifier: MIT */
/* runs: full-fences, core */
/*
 * scan.c - hazptr.h: when what is retired goes, and by whom, in each mode; how much of it waits. What stays, and that it
 * goes when it is released in any way, is in slots.c.
 */
#include "hazptr/actor.h"
#include "hazptr/fixture.h"

/* ---- retiring ------------------------------------------------------------------------------------ */

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

/* Blocks of the objects that readers protect, and the contexts by which they do. */
static unsigned char *block[1500 * LULL_HAZPTR_SLOTS];
static struct lull_hazptr_context *keeping[1500];

/* Protect one more block, the @nth. */
static unsigned char *keep_block(size_t nth)
{
	struct lull_hazptr_context **ctx = &keeping[nth / LULL_HAZPTR_SLOTS];

	if (nth % LULL_HAZPTR_SLOTS == 0) {
		*ctx = (struct lull_hazptr_context *)malloc(sizeof(**ctx));
		lull_hazptr_context_init(*ctx);
	}
	block[nth] = (unsigned char *)malloc(BLOCK);
	memset(block[nth], 0xa7, BLOCK);
	return lull_hazptr_protect_ptr(lull_hazptr_alloc(*ctx), block[nth]);
}

static void check_blocks(size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (int j = 0; j < BLOCK; j++)
			assert_int_equal(block[i][j], 0xa7);
}

/* Nothing waits any more when the readers of @contexts have let go. */
static void end_keeping(size_t contexts)
{
	for (size_t i = 0; i < contexts; i++) {
		lull_hazptr_context_cleanup(keeping[i]);
		free(keeping[i]);
	}
	lull_hazptr_barrier();
	assert_int_equal(waiting(), 0);
}

/* Retire many blocks, of which at about even distances @contexts * 8 are protected. Never do more wait than may. */
static void retire_many(size_t contexts, enum lull_reclaim_mode mode)
{
	size_t slots = contexts * LULL_HAZPTR_SLOTS, held = 0, now, most = 0;

	lull_reclaim_reset_peak();
	for (size_t i = 0; i < RETIRED; i++) {
		lull_hazptr_retire(held < slots && i % (RETIRED / (slots + 1)) == 0 ? keep_block(held++) : malloc(BLOCK));
		if (i % 97 == 0 && (now = waiting()) > most)
			most = now;
	}
	if (most > bound_of(contexts, mode))
		print_error("%zu waited, %zu are allowed\n", most, bound_of(contexts, mode));
	assert_true(most <= bound_of(contexts, mode));
}

/* The readers then do nothing more. */
static void retire_under_stalled_readers(size_t contexts, enum lull_reclaim_mode mode)
{
	size_t held = contexts * LULL_HAZPTR_SLOTS;
	struct lull_reclaim_counts stats;

	retire_many(contexts, mode);
	lull_reclaim_stats(&stats);
	assert_true(stats.peak_items >= held && stats.peak_items <= bound_of(contexts, mode));
	assert_true(stats.items >= held);
	check_blocks(held);
	if (held)
		await_waiting(held);
	check_blocks(held);
	end_keeping(contexts);
}

static const enum lull_reclaim_mode modes[] = { LULL_RECLAIM_THREAD, LULL_RECLAIM_CALLER, LULL_RECLAIM_POLL };

TEST(bound)
{
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		set_mode(modes[i]);
		retire_under_stalled_readers(0, modes[i]);
		retire_under_stalled_readers(1, modes[i]);
		retire_under_stalled_readers(50, modes[i]);
		retire_under_stalled_readers(200, modes[i]);
	}
}

/* Many more slots, all protecting, than there were when this thread retired for the first time. */
TEST(slots_grow)
{
	enum { MANY = ARRAY_SIZE(keeping), SLOTS = MANY * LULL_HAZPTR_SLOTS };

	lull_hazptr_retire(malloc(BLOCK));
	lull_hazptr_barrier();
	for (int i = 0; i < SLOTS; i++) {
		lull_hazptr_retire(keep_block((size_t)i));
		lull_hazptr_retire(malloc(BLOCK));
	}
	await_waiting(SLOTS);
	for (int i = 0; i < 3 * SLOTS; i++)
		lull_hazptr_retire(malloc(BLOCK));
	assert_true(waiting() <= bound_of(MANY, LULL_RECLAIM_THREAD));
	check_blocks(SLOTS);
	end_keeping(MANY);
}

static void waits_in_barrier(void *unused)
{
	(void)unused;
	lull_rcu_barrier();
}

static int stuck, unstick;

static void stuck_callback(struct lull_rcu_head *head)
{
	lull_store_release(&stuck, 1);
	await_count(&unstick, 1);
	thing_gone(head);
}

/*
 * A reader that is stuck in a read section holds up none of this, nor does the reclaimer when it has taken everything for a
 * barrier and comes to nothing: because of such a reader, or in a callback that does not end.
 */
TEST(bound_under_rcu_reader)
{
	lull_rcu_read_lock();
	retire_many(0, LULL_RECLAIM_THREAD);
	lull_rcu_read_unlock();
	lull_hazptr_barrier();
}

TEST(bound_under_stuck_reclaimer)
{
	struct actor reader, barrier;

	actor_start(&reader);
	actor_start(&barrier);
	for (int by_reader = 0; by_reader < 2; by_reader++) {
		stuck = unstick = 0;
		lull_hazptr_retire(malloc(BLOCK));
		if (by_reader) {
			on(&reader, actor_enters, NULL);
		} else {
			lull_hazptr_call(&new_thing(NULL)->rcu, stuck_callback);
			await_count(&stuck, 1);
		}
		lull_rcu_free(malloc(BLOCK));
		lull_hazptr_retire(malloc(BLOCK));
		actor_begin(&barrier, waits_in_barrier, NULL);
		nap_ms(50);
		retire_many(0, LULL_RECLAIM_THREAD);
		if (by_reader)
			on(&reader, actor_leaves, NULL);
		lull_store_release(&unstick, 1);
		actor_await(&barrier);
		lull_hazptr_barrier();
	}
	actor_end(&reader);
	actor_end(&barrier);
}

/*
 * A reader does not hold up callbacks that wait for slots either: not while the reclaimer waits for it, with callbacks
 * that wait for a grace period in hand, for a barrier or not, nor what it parked before.
 */
static int called_after_reader;

static void count_after_reader(struct lull_rcu_head *head)
{
	thing_gone(head);
	lull_add_release(&called_after_reader, 1);
}

static void call_beside_reader(struct actor *reader, struct actor *barrier)
{
	struct thing *kept_first = new_thing(&gone), *kept_later = new_thing(&gone);
	struct lull_hazptr_hold hold, later;

	lull_store_relaxed(&gone, 0);
	lull_store_relaxed(&called_after_reader, 0);
	lull_hazptr_acquire(&hold, &kept_first);
	lull_hazptr_acquire(&later, &kept_later);
	lull_hazptr_call(&kept_first->rcu, thing_gone); /* before the reader came */
	on(reader, actor_enters, NULL);
	lull_rcu_call(&new_thing(NULL)->rcu, count_after_reader);
	if (barrier)
		actor_begin(barrier, waits_in_barrier, NULL);
	nap_ms(50); /* the reclaimer waits for the reader by now */
	for (int i = 0; i < 20; i++) {
		lull_hazptr_call(&new_thing(&gone)->rcu, thing_gone);
		await_count(&gone, i + 1);
	}
	lull_hazptr_call(&kept_later->rcu, thing_gone);
	AWAIT(waiting() <= 3);
	check_alive(kept_first);
	check_alive(kept_later);
	lull_hazptr_release(&hold, kept_first);
	await_count(&gone, 21);
	check_alive(kept_later);
	lull_hazptr_release(&later, kept_later);
	await_count(&gone, 22);
	assert_int_equal(lull_load_relaxed(&called_after_reader), 0);
	on(reader, actor_leaves, NULL);
	if (barrier)
		actor_await(barrier);
	await_count(&called_after_reader, 1);
}

TEST(calls_beside_rcu_reader)
{
	struct actor reader, barrier;

	alarm(60);
	actor_start(&reader);
	actor_start(&barrier);
	call_beside_reader(&reader, NULL);
	call_beside_reader(&reader, &barrier);
	actor_end(&reader);
	actor_end(&barrier);
	alarm(0);
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

/* Nothing is done but by polls, and the program is told that one is due. */
static void set_polling(void)
{
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.mode = LULL_RECLAIM_POLL;
	config.notify = note;
	config.notify_arg = &notified;
	assert_int_equal(lull_reclaim_configure(&config), 0);
}

TEST(poll_mode)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct thing *kept = new_thing(&gone);

	set_polling();
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

static void polls_in_vain(void *unused)
{
	(void)unused;
	assert_int_equal(lull_reclaim_poll(100, 0), 0);
}

static void clears_amid_poll(struct lull_head *head)
{
	lull_hazptr_clear(cleared_in_poll);
	note_caller(head);
}

/* Others poll meanwhile: they cannot have the queue in which the object is. */
static void clears_amid_polls(struct lull_head *head)
{
	struct actor other;

	actor_start(&other);
	on(&other, polls_in_vain, NULL);
	lull_hazptr_clear(cleared_in_poll);
	on(&other, polls_in_vain, NULL);
	actor_end(&other);
	note_caller(head);
}

/*
 * A slot is cleared while a poll, or a barrier, is under way: the program hears of it when that ends, to poll once more.
 * So it does if it has heard of the slot and polled in vain: @notes in all.
 */
static void clear_amid(lull_rcu_func func, bool by_barrier, int notes)
{
	struct thing *thing = new_thing(&gone);

	gone = 0;
	lull_hazptr_protect(cleared_in_poll, thing, rcu);
	lull_hazptr_call(&thing->rcu, note_caller);
	assert_int_equal(lull_reclaim_poll(100, 0), 0);
	notified = 0;
	for (int i = 0; i < 3; i++)
		assert_int_equal(lull_reclaim_poll(100, 0), 0);
	assert_int_equal(notified, 0); /* parked: there is nothing to do about it */
	lull_hazptr_call(&new_thing(&gone)->rcu, func);
	notified = 0;
	if (by_barrier)
		lull_rcu_barrier();
	else
		assert_int_equal(lull_reclaim_poll(100, 0), 1);
	assert_int_equal(gone, 1);
	assert_int_equal(notified, notes);
	assert_int_equal(lull_reclaim_poll(100, 0), 1);
	assert_int_equal(notified, notes);
	assert_int_equal(waiting(), 0);
}

TEST(cleared_amid_poll)
{
	set_polling();
	cleared_in_poll = lull_hazptr_alloc(own());
	clear_amid(clears_amid_poll, false, 1);
	clear_amid(clears_amid_polls, false, 2);
	clear_amid(clears_amid_polls, true, 2);
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
