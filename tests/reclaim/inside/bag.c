/* SPDX-License-Identifier: MIT */
/*
 * bag.c - bags: after a burst of threads all is as it was before.
 *
 * Looks at the library from the inside: counts bags and bytes, measures no time.
 */
#include <malloc.h>

#include <lull/hazptr.h>
#include <lull/thread.h>

#include "../src/reclaim/bag.h"
#include "fork_steps.h"
#include "reader.h"

#define MOST_BAGS (4 * LULL__SPARE_BAGS + 3) /* with this thread's, the reclaimer's, and one in use just now */

static size_t bags(void)
{
	struct lull__bag *bag;
	size_t count = 0;
	sigset_t saved;

	lull__block_signals(&saved);
	lull__lock(&lull__reclaimer.bags_lock);
	lull__for_each_bag(bag)
		count++;
	lull__unlock(&lull__reclaimer.bags_lock);
	lull__restore_signals(&saved);
	return count;
}

/* Wait until so many bags are left: the reclaimer frees them in its own time. */
static void await_bags(size_t most)
{
	for (int i = 0; i < 10000 && bags() > most; i++)
		nap_ms(1);
	if (bags() > most)
		print_error("%zu bags are left\n", bags());
	assert_true(bags() <= most);
}

static void nothing(struct lull_head *head)
{
	free(head);
}

static void *defer_everything(void)
{
	lull_rcu_free(malloc(24));
	lull_rcu_call(malloc(sizeof(struct lull_head)), nothing);
	lull_hazptr_retire(malloc(24));
	return NULL;
}

/* ---- a burst ------------------------------------------------------------------------------------------------------ */

#if UNDER_TSAN || defined(LULL_TEST_EMULATED)
#define BURST 100
#else
#define BURST 400 /* valgrind knows 500 threads */
#endif

static int ready;

static void *is_part_of_burst(void *unused)
{
	defer_everything();
	lull_add_release(&ready, 1);
	await_flag(&ready, BURST); /* all at once */
	/* Enough for a scan of all threads' slots, and its table. */
	for (int i = 0; i < 600; i++)
		lull_hazptr_retire(malloc(24));
	return unused;
}

static void burst(void)
{
	static pthread_t threads[BURST];

	ready = 0;
	for (int i = 0; i < BURST; i++)
		threads[i] = start_thread(is_part_of_burst, NULL);
	for (int i = 0; i < BURST; i++)
		join_thread(threads[i]);
	lull_hazptr_barrier();
}

#define LEFT_MOST (LULL__SPARE_BAGS * 32768 + 65536) /* bytes: a tenth of what the smallest process has */

/* How many bytes malloc has given away. 0 where it cannot be asked. */
static size_t allocated(void)
{
#if SANITIZED || defined(LULL_TEST_EMULATED)
	return 0;
#else
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
#endif
}

TEST(burst)
{
	size_t before, after = 0;

	defer_everything();
	lull_hazptr_barrier();
	await_bags(MOST_BAGS);
	before = allocated();
	burst();
	await_bags(MOST_BAGS);
	/* A spare bag has chunks for some kinds, and each thread leaves some bytes in glibc's cache of stacks. */
	for (int i = 0; i < 5000; i++) {
		after = allocated();
		if (after <= before + LEFT_MOST)
			break;
		nap_ms(1);
	}
	if (after > before + LEFT_MOST)
		print_error("%zu bytes before, %zu after\n", before, after);
	assert_true(after <= before + LEFT_MOST);
}

/* While hundreds of threads retire, their scans need no table for each of them. */
static size_t in_burst;

static void *watches_burst(void *unused)
{
	while (lull_load_acquire(&ready) != -1) {
		size_t now = allocated();

		if (now > in_burst)
			in_burst = now;
		nap_ms(1);
	}
	return unused;
}

static size_t memory_of_a_burst(void)
{
	pthread_t watcher;

	in_burst = 0;
	ready = 0;
	watcher = start_thread(watches_burst, NULL);
	burst();
	lull_store_release(&ready, -1);
	join_thread(watcher);
	return in_burst;
}

/*
 * A table has 16 bytes or more for each slot: 26 MiB or more, each time, if each of these threads had one. On a busy machine
 * more may wait to be freed now and then.
 */
TEST(memory_in_burst)
{
	size_t least = SIZE_MAX;

	if (!allocated())
		SKIP(OWN_MEMORY);
	for (int tries = 0; tries < 5 && least > (size_t)16 << 20; tries++) {
		size_t bytes = memory_of_a_burst();

		least = bytes < least ? bytes : least;
	}
	if (least > (size_t)16 << 20)
		fail_msg("%zu bytes", least);
}

/* ---- a reader lingers ----------------------------------------------------------------------------------------------- */

static void *defers(void *unused)
{
	(void)unused;
	return defer_everything();
}

/* A thread for each request: the bag of the last one serves the next one, with all that waits there. */
TEST(thread_for_each_request)
{
	pthread_t lingerer;
	size_t seen;

	await_bags(MOST_BAGS);
	lingerer = start_hold_up();
	for (int i = 0; i < 300; i++)
		join_thread(start_thread(defers, NULL));
	seen = bags();
	end_hold_up(lingerer);
	assert_true(seen <= MOST_BAGS);
	lull_hazptr_barrier();
	await_bags(MOST_BAGS);
}

static void *defers_unregistered(void *unused)
{
	lull_thread_unregister();
	for (int i = 0; i < 300; i++)
		defer_everything();
	return unused;
}

TEST(unregistered_thread)
{
	pthread_t lingerer;
	size_t seen;

	lingerer = start_hold_up();
	join_thread(start_thread(defers_unregistered, NULL));
	seen = bags();
	end_hold_up(lingerer);
	assert_true(seen <= MOST_BAGS);
	lull_hazptr_barrier();
	await_bags(MOST_BAGS);
}

static void *defers_and_unregisters(void *unused)
{
	struct lull__bag *bag;

	defer_everything();
	bag = lull__self.bag;
	assert_int_equal(bag->state, BAG_OWNED);
	lull_thread_unregister();
	assert_null(lull__self.bag);
	return unused;
}

/* A thread that unregisters does not keep its bag either: the next one may have it while this one goes on. */
TEST(unregisters)
{
	for (int i = 0; i < 100; i++)
		join_thread(start_thread(defers_and_unregisters, NULL));
	assert_true(bags() <= MOST_BAGS);
	lull_hazptr_barrier();
	await_bags(MOST_BAGS);
}

/* ---- a hazard pointer lingers --------------------------------------------------------------------------------------- */

#define HELD 6

static void *retires(void *object)
{
	lull_hazptr_retire(object);
	lull_add_release(&ready, 1);
	await_flag(&ready, HELD); /* each with a bag of its own */
	return NULL;
}

/* Orphans with objects that a slot names stay, and are not looked at again and again. */
TEST(protected_orphans)
{
	struct lull_reclaim_counts before, after;
	struct lull_hazptr_hold hold[HELD];
	pthread_t threads[HELD];
	void *object[HELD];

	lull_hazptr_barrier();
	ready = 0;
	for (int i = 0; i < HELD; i++) {
		object[i] = malloc(24);
		assert_ptr_equal(lull_hazptr_acquire(&hold[i], &object[i]), object[i]);
	}
	for (int i = 0; i < HELD; i++)
		threads[i] = start_thread(retires, object[i]);
	for (int i = 0; i < HELD; i++)
		join_thread(threads[i]);
	nap_ms(300);
	lull_reclaim_stats(&before);
	nap_ms(300);
	lull_reclaim_stats(&after);
	assert_int_equal(after.items, HELD);
	assert_true(after.passes <= before.passes + 2);
	for (int i = 0; i < HELD; i++)
		lull_hazptr_release(&hold[i], object[i]);
	lull_hazptr_barrier();
}

#define TOGETHER 50

static int have_deferred;

/* Each in a bag of its own, as the others are still there. */
static void *defers_with_others(void *unused)
{
	defers(unused);
	lull_add_release(&have_deferred, 1);
	await_flag(&have_deferred, TOGETHER);
	return unused;
}

/* Counts that are kept in bags are not lost with them. */
TEST(counts_stay)
{
	struct lull_reclaim_counts before, after;
	pthread_t threads[TOGETHER];

	lull_hazptr_barrier();
	lull_reclaim_stats(&before);
	have_deferred = 0;
	for (int i = 0; i < TOGETHER; i++)
		threads[i] = start_thread(defers_with_others, NULL);
	for (int i = 0; i < TOGETHER; i++)
		join_thread(threads[i]);
	lull_hazptr_barrier();
	await_bags(MOST_BAGS);
	lull_reclaim_stats(&after);
	assert_int_equal(after.total_items, before.total_items + 150);
	assert_int_equal(after.items, 0);
	assert_int_equal(after.bytes, 0);
}

/* Walk the bags while threads come and go. */
static int stop_walking, walked;

static void *walks(void *unused)
{
	while (!lull_load_acquire(&stop_walking)) {
		struct lull_reclaim_counts counts;

		lull_reclaim_stats(&counts);
		bags();
		came_round(&walked);
	}
	return unused;
}

TEST(walkers)
{
	pthread_t walkers[2], threads[8];

	stop_walking = walked = 0;
	for (int i = 0; i < 2; i++)
		walkers[i] = start_thread(walks, NULL);
	for (int round = 0; round < BURST / 10 || lull_load_relaxed(&walked) < BURST; round++) {
		for (int i = 0; i < 8; i++)
			threads[i] = start_thread(defers, NULL);
		for (int i = 0; i < 8; i++)
			join_thread(threads[i]);
	}
	lull_store_release(&stop_walking, 1);
	for (int i = 0; i < 2; i++)
		join_thread(walkers[i]);
	lull_hazptr_barrier();
	await_bags(MOST_BAGS);
}

static bool is_there(const struct lull__bag *wanted)
{
	struct lull__bag *bag;

	lull__lock(&lull__reclaimer.bags_lock);
	lull__for_each_bag(bag)
		if (bag == wanted)
			break;
	lull__unlock(&lull__reclaimer.bags_lock);
	return bag != NULL;
}

static struct lull__bag *pinned;

static void *pins_its_bag(void *unused)
{
	defer_everything();
	lull_add_relaxed(&lull__self.bag->pins, 1u);
	lull_store_release(&pinned, lull__self.bag);
	return unused;
}

/* Nor is a bag that a thread uses outside of a walk. */
TEST(pinned)
{
	await_bags(MOST_BAGS);
	join_thread(start_thread(pins_its_bag, NULL));
	burst();
	for (int i = 0; i < 100; i++) {
		lull_hazptr_barrier();
		lull__sweep();
	}
	assert_true(is_there(pinned));
	lull_sub_release(&pinned->pins, 1u);
	lull_hazptr_barrier();
	await_bags(MOST_BAGS);
}

static int ready_of_eight;

static void *is_one_of_eight(void *unused)
{
	defer_everything();
	lull_add_release(&ready_of_eight, 1);
	await_flag(&ready_of_eight, 8); /* so that there are eight bags */
	return unused;
}

/* A walker may stand on a queue that leaves the list. So no bag is freed, and no place used again, before the walk ends. */
TEST(freed_after_walks)
{
	pthread_t threads[8];
	size_t before;
	uint64_t process;

	process = lull__walk_enter();
	for (int i = 0; i < 8; i++)
		threads[i] = start_thread(is_one_of_eight, NULL);
	for (int i = 0; i < 8; i++)
		join_thread(threads[i]);
	for (int ms = 0; ms < 10000 && !lull_load_relaxed(&lull__reclaimer.left); ms++, nap_ms(1))
		lull__sweep();
	before = bags();
	assert_true(before >= 8);
	for (int i = 0; i < 100; i++) {
		lull__sweep();
		assert_non_null(lull_load_relaxed(&lull__reclaimer.left));
		assert_true(bags() >= before);
	}
	lull__walk_leave(process);
	for (int ms = 0; ms < 10000 && lull_load_relaxed(&lull__reclaimer.left); ms++, nap_ms(1))
		lull__sweep();
	assert_null(lull_load_relaxed(&lull__reclaimer.left));
	await_bags(MOST_BAGS);
}

/* ---- a walk over fork ------------------------------------------------------------------------------------------ */

#if CAN_STEP
static uint64_t walkers(void)
{
	return lull_load_relaxed(&lull__reclaimer.walkers) % LULL__WALKS_OF;
}

static void do_nothing(void)
{
}

/* The inner one is that of a handler. */
static void walks_twice(void)
{
	uint64_t process = lull__walk_enter(), inner;

	must(walkers() > 0);
	inner = lull__walk_enter();
	lull__walk_leave(inner);
	must(walkers() > 0);
	lull__walk_leave(process);
}

static void is_no_walker(void)
{
	must(walkers() == 0);
}

/* The child goes on with the walk, and is counted as long as that lasts, and no longer; also if the handler walks, too. */
TEST(walks_over_fork)
{
	static const struct call calls[] = { { do_nothing, walks_twice, is_no_walker, NULL, NULL },
					     { do_nothing, walks_twice, is_no_walker, NULL, walks_twice } };

	if (under_valgrind())
		SKIP("valgrind steps in its own way");
	set_mode(LULL_RECLAIM_POLL); /* nobody else walks */
	AWAIT(walkers() == 0);
	for (int i = 0; i < 2; i++)
		fork_at_steps(&calls[i]);
	set_mode(LULL_RECLAIM_THREAD);
}
#else
TEST(walks_over_fork)
{
	SKIP("no single steps here");
}
#endif
