/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences, no-rseq */
/*
 * handoff.c - ref_handoff.h: the four ways from a shared pointer to a reference of one's
 * own, each with the way to free that it asks for. Also as C++, and run without restartable
 * sequences.
 */
#include <signal.h>

#include "count/support.h"

#include <lull/ref_handoff.h>

enum finding { BY_RCU, BY_HAZPTR, BY_HAZPTR_PERCPU, BY_RCU_PERCPU, WAYS_TO_FIND };

/* Counted in both ways, of which a test uses one. */
struct item {
	long before[2];
	struct lull_refcount count;
	struct lull_rcu_head head;
	struct lull_percpu_ref ref;
	int value; /* plain: 42 from before it is published until it is freed */
	enum finding way;
};

static struct item *current;
static int freed;

static void free_item(struct lull_rcu_head *head)
{
	struct item *item = lull_container_of(head, struct item, head);

	item->value = -1;
	free(item);
	lull_add_release(&freed, 1);
}

/* The last reference has gone; a thread may be looking at the count. */
static void item_over(struct item *item)
{
	if (item->way == BY_RCU || item->way == BY_RCU_PERCPU)
		lull_rcu_call(&item->head, free_item);
	else
		lull_hazptr_call(&item->head, free_item);
}

static void release_item(struct lull_percpu_ref *ref)
{
	struct item *item = lull_container_of(ref, struct item, ref);

	lull_percpu_ref_exit(ref);
	item_over(item);
}

static bool is_percpu(enum finding way)
{
	return way == BY_HAZPTR_PERCPU || way == BY_RCU_PERCPU;
}

static struct item *new_item(enum finding way)
{
	struct item *item = (struct item *)calloc(1, sizeof(*item));

	assert_non_null(item);
	item->way = way;
	item->value = 42;
	if (is_percpu(way))
		assert_int_equal(lull_percpu_ref_init(&item->ref, release_item, 0), 0);
	else
		lull_refcount_set(&item->count, 1);
	return item;
}

static struct item *find_in(struct item **src, enum finding way)
{
	switch (way) {
	case BY_RCU:
		return lull_ref_handoff_rcu(src, count);
	case BY_HAZPTR:
		return lull_ref_handoff_hazptr(src, head, count);
	case BY_HAZPTR_PERCPU:
		return lull_ref_handoff_hazptr_percpu(src, head, ref);
	default:
		return lull_ref_handoff_rcu_percpu(src, ref);
	}
}

static void put_item(struct item *item)
{
	if (is_percpu(item->way))
		lull_percpu_ref_put(&item->ref);
	else if (lull_refcount_dec_and_test(&item->count))
		item_over(item);
}

/* The pointer's own reference goes when the pointer has gone. */
static void drop(struct item *item)
{
	if (is_percpu(item->way))
		lull_percpu_ref_kill(&item->ref);
	else
		put_item(item);
}

static void replace(struct item *item)
{
	struct item *old = current;

	lull_rcu_assign(current, item);
	if (old)
		drop(old);
}

SETUP
{
	start_hearing();
	lull_store_relaxed(&freed, 0);
}

TEARDOWN
{
	lull_hazptr_barrier();
	assert_int_equal(heard_lines, 0);
	stop_hearing();
}

#define for_each_way(way)                                                                          \
	for (enum finding way = BY_RCU; way < WAYS_TO_FIND; way = (enum finding)(way + 1))

/* ---- one reader ------------------------------------------------------------------------------------- */

TEST(null)
{
	struct item *none = NULL;

	for_each_way(way)
		assert_null(find_in(&none, way));
	assert_false(lull_rcu_read_lock_held());
}

/* A reference of its own: the object outlives the pointer's, and each further one. */
TEST(reference)
{
	struct item *item, *first, *second;

	for_each_way(way) {
		lull_store_relaxed(&freed, 0);
		item = new_item(way);
		replace(item);
		first = find_in(&current, way);
		second = find_in(&current, way);
		assert_ptr_equal(first, item);
		assert_ptr_equal(second, item);
		assert_false(lull_rcu_read_lock_held());
		replace(NULL);
		assert_null(find_in(&current, way));
		lull_hazptr_barrier();
		put_item(first);
		lull_hazptr_barrier();
		assert_int_equal(lull_load_relaxed(&freed), 0);
		assert_int_equal(second->value, 42);
		put_item(second);
		lull_hazptr_barrier();
		expect_count(&freed, 1);
	}
}

/* The source is looked at where it is, whatever its type says, and evaluated once. */
TEST(source)
{
	struct item *items[2] = { new_item(BY_RCU), new_item(BY_RCU) }, **src = items;

	assert_ptr_equal(lull_ref_handoff_rcu(src++, count), items[0]);
	assert_ptr_equal(src, &items[1]);
	assert_ptr_equal(lull_ref_handoff_hazptr(src--, head, count), items[1]);
	assert_ptr_equal(src, &items[0]);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(lull_refcount_read(&items[i]->count), 2);
		put_item(items[i]);
		put_item(items[i]);
	}
	lull_hazptr_barrier();
	assert_int_equal(freed, 2);
}

/* In a read section, and with all of the thread's slots in use. */
TEST(within)
{
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();
	struct lull_hazptr *slot[LULL_HAZPTR_SLOTS];
	struct item *item;

	lull_thread_register();
	for_each_way(way) {
		replace(new_item(way));
		lull_rcu_read_lock();
		for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
			assert_non_null(slot[i] = lull_hazptr_alloc(ctx));
		item = find_in(&current, way);
		assert_ptr_equal(item, current);
		for (int i = LULL_HAZPTR_SLOTS; i > 0; i--)
			lull_hazptr_free(ctx, slot[i - 1]);
		assert_true(lull_rcu_read_lock_held());
		lull_rcu_read_unlock();
		put_item(item);
		replace(NULL);
	}
	lull_hazptr_barrier();
	expect_count(&freed, WAYS_TO_FIND);
}

/* ---- an object on its way out -------------------------------------------------------------------------- */

struct seeker {
	pthread_t thread;
	enum finding way;
	int looking, found;
	struct item *item;
};

static void *seeker_run(void *arg)
{
	struct seeker *seeker = (struct seeker *)arg;

	lull_store_release(&seeker->looking, 1);
	seeker->item = find_in(&current, seeker->way);
	lull_store_release(&seeker->found, 1);
	return NULL;
}

/* Without the pointer's reference while it is still published: readers look again until it is not. */
static void look_again(enum finding way, bool another)
{
	struct item *old = new_item(way), *next = another ? new_item(way) : NULL;
	struct seeker seeker;

	memset(&seeker, 0, sizeof(seeker));
	seeker.way = way;
	replace(old);
	if (is_percpu(way)) {
		lull_percpu_ref_get(&old->ref); /* killed is enough */
		drop(old);
	} else {
		assert_true(lull_refcount_dec_and_test(&old->count));
	}
	seeker.thread = start_thread(seeker_run, &seeker);
	await_flag(&seeker.looking, 1);
	nap_ms(20);
	assert_int_equal(lull_load_acquire(&seeker.found), 0);
	lull_rcu_assign(current, next);
	join_thread(seeker.thread);
	assert_ptr_equal(seeker.item, next);
	/* Now it may be freed, and no sooner. */
	if (is_percpu(way))
		lull_percpu_ref_put(&old->ref);
	else
		item_over(old);
	if (next) {
		put_item(seeker.item);
		replace(NULL);
	}
	lull_hazptr_barrier();
}

TEST(look_again)
{
	for_each_way(way) {
		look_again(way, true);
		look_again(way, false);
	}
	expect_count(&freed, 3 * WAYS_TO_FIND);
}

/* ---- many readers ------------------------------------------------------------------------------------------ */

enum { READERS = 3, KEPT = 4, REPLACEMENTS = 3000 };

struct reader {
	pthread_t thread;
	enum finding way;
	uint64_t turns;
};

static int stop;
static __thread enum finding handler_way;
static __thread int handler_runs;

/* Finds, uses, puts. Freeing is not for handlers: the pointer's reference is there all the time. */
static void handler(int signo)
{
	struct item *item = find_in(&current, handler_way);

	(void)signo;
	if (item)
		assert_int_equal(item->value, 42);
	handler_runs++;
	if (item && !is_percpu(handler_way))
		assert_true(lull_refcount_dec_not_one(&item->count));
	else if (item)
		lull_percpu_ref_put(&item->ref);
}

/* Keeps some for a while, by reference alone. */
static void *reader_run(void *arg)
{
	struct reader *reader = (struct reader *)arg;
	struct item *kept[KEPT] = { NULL, NULL, NULL, NULL };

	while (!lull_load_relaxed(&stop)) {
		struct item **item = &kept[lull_load_relaxed(&reader->turns) % KEPT];

		if (*item) {
			assert_int_equal((*item)->value, 42);
			put_item(*item);
		}
		*item = find_in(&current, reader->way);
		if (*item)
			assert_int_equal((*item)->value, 42);
		lull_store_relaxed(&reader->turns, reader->turns + 1);
	}
	for (int i = 0; i < KEPT; i++)
		if (kept[i])
			put_item(kept[i]);
	return NULL;
}

static void storm(enum finding way)
{
	struct reader readers[READERS];
	int made = 0;

	lull_store_relaxed(&stop, 0);
	lull_store_relaxed(&freed, 0);
	memset(readers, 0, sizeof(readers));
	replace(new_item(way));
	made++;
	for (int i = 0; i < READERS; i++) {
		readers[i].way = way;
		readers[i].thread = start_thread(reader_run, &readers[i]);
	}
	for (int i = 0; i < REPLACEMENTS; i++) {
		bool none = i % 100 == 99;

		replace(none ? NULL : new_item(way));
		made += !none;
		if (i % 64 == 0)
			nap_ms(1);
	}
	replace(NULL);
	lull_store_relaxed(&stop, 1);
	for (int i = 0; i < READERS; i++)
		join_thread(readers[i].thread);
	lull_hazptr_barrier();
	assert_int_equal(lull_load_acquire(&freed), made);
}

TEST(storm)
{
	for_each_way(way)
		storm(way);
}

/* ---- contexts ------------------------------------------------------------------------------------------------- */

/* While the pointer keeps its reference, a handler's put is not the last. */
TEST(signal_handler)
{
	struct sigaction action;
	struct item *item;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	for_each_way(way) {
		handler_way = way;
		handler_runs = 0;
		replace(new_item(way));
		for (int i = 0; i < 100; i++) {
			item = find_in(&current, way);
			raise(SIGUSR1);
			put_item(item);
		}
		assert_int_equal(handler_runs, 100);
		replace(NULL);
	}
	lull_hazptr_barrier();
	expect_count(&freed, WAYS_TO_FIND);
}

static enum finding callback_way;
static struct item *found_in_callback;

static void finds(struct lull_rcu_head *head)
{
	(void)head;
	found_in_callback = find_in(&current, callback_way);
}

TEST(callback)
{
	static struct lull_rcu_head head;

	for_each_way(way) {
		callback_way = way;
		replace(new_item(way));
		lull_rcu_call(&head, finds);
		lull_rcu_barrier();
		assert_ptr_equal(found_in_callback, current);
		replace(NULL);
		put_item(found_in_callback);
	}
	lull_hazptr_barrier();
	expect_count(&freed, WAYS_TO_FIND);
}
