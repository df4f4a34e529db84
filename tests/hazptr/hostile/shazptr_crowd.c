/* SPDX-License-Identifier: MIT */
/*
 * shazptr_crowd.c - shazptr.h: many threads that hold, clear and wait: no thread waits for ever, and none sees freed
 * memory.
 */
#include "hazptr/shazptr.h"

/* ---- nobody waits for ever ------------------------------------------------------------------- */

#define WAITS	   200
#define SCANS_LEAST 20 /* or no reader was in the way */
/* Scans that one wait may make: its own, one more after each of two readers, those of naps while a busy machine stops a reader. */
#define SCANS_MOST 40

BOTH_WAYS(toggling_readers)
{
	uint64_t since_ns = now_ns(), before = lull_shazptr_scan_count(), scans = 0;
	pthread_t reader[2];
	int waits = 0;

	lull_store_relaxed(&toggle_stop, 0);
	for (int i = 0; i < 2; i++)
		reader[i] = start_thread(toggles, &name_a);
	for (; waits < WAITS || scans < SCANS_LEAST; waits++) {
		assert_int_equal(lull_shazptr_synchronize_timeout(&name_a, PATIENCE_NS / 1000000), 0);
		scans = lull_shazptr_scan_count() - before;
		check_patience(since_ns, "readers that are in the way", __FILE__, __LINE__);
	}
	print_message("%d waits, %d scans\n", waits, (int)scans);
	assert_true(scans <= (uint64_t)waits * SCANS_MOST);
	lull_store_relaxed(&toggle_stop, 1);
	for (int i = 0; i < 2; i++)
		join_thread(reader[i]);
}

static void *registers(void *arg)
{
	lull_thread_register();
	*(uint32_t *)arg = lull__self.shazptr_group;
	return NULL;
}

/* Threads are spread over 64 groups in turn. Let others pass until it is @group's turn. */
static void pass_groups_up_to(uint32_t group)
{
	uint32_t passed;

	do
		join_thread(start_thread(registers, &passed));
	while ((passed + 1) % 64 != group);
}

/* One of two readers holds the name at any time, and each clears it again and again. */
struct relay {
	pthread_t thread;
	struct relay *other;
	int *stop;
	int turn; /* it is this one's turn to acquire, and to say so */
	int turns;
	int registered;
	uint32_t group;
};

static void *relay_run(void *arg)
{
	struct relay *relay = (struct relay *)arg;

	registers(&relay->group);
	lull_store_release(&relay->registered, 1);
	for (;;) {
		struct lull_shazptr_guard guard;

		AWAIT_SOON(lull_load_acquire(&relay->turn));
		lull_store_relaxed(&relay->turn, 0);
		guard = lull_shazptr_acquire(&name_a);
		lull_add_relaxed(&relay->turns, 1);
		lull_store_release(&relay->other->turn, 1);
		/* Its turn comes again when the other one has acquired. */
		AWAIT_SOON(lull_load_acquire(&relay->turn) || lull_load_acquire(relay->stop));
		lull_shazptr_clear(guard);
		if (lull_load_acquire(relay->stop)) {
			lull_store_release(&relay->other->turn, 1);
			return NULL;
		}
	}
}

BOTH_WAYS(relay_in_one_group)
{
	struct relay relay[2];
	int stop = 0;

	memset(relay, 0, sizeof(relay));
	for (int i = 0; i < 2; i++) {
		relay[i].other = &relay[!i];
		relay[i].stop = &stop;
		if (i)
			pass_groups_up_to(relay[0].group);
		relay[i].thread = start_thread(relay_run, &relay[i]);
		AWAIT(lull_load_acquire(&relay[i].registered));
	}
	assert_int_equal(relay[0].group, relay[1].group);
	lull_store_release(&relay[0].turn, 1);
	AWAIT(lull_load_relaxed(&relay[1].turns) != 0);
	for (int i = 0; i < 20; i++)
		lull_shazptr_synchronize(&name_a);
	lull_store_release(&stop, 1);
	for (int i = 0; i < 2; i++)
		join_thread(relay[i].thread);
}

/* The same with ever new threads. */
TEST_WITH(new_threads_in_one_group, self_scan, NULL)
{
	enum { MOST = 50 };
	struct actor waiter;
	struct holder holder[2];
	int n;

	hold(&holder[0], ONCE, &name_a);
	start_waiting(&waiter, &name_a);
	nap_ms(20);
	for (n = 1; n < MOST && is_waiting(&waiter); n++) {
		pass_groups_up_to(holder[(n + 1) % 2].group);
		hold(&holder[n % 2], ONCE, &name_a);
		assert_int_equal(holder[0].group, holder[1].group);
		finish(&holder[(n + 1) % 2]);
		nap_ms(5);
	}
	finish(&holder[(n + 1) % 2]);
	end_waiting(&waiter);
	assert_true(n < MOST);
}

/* More threads than groups, and than the first snapshot has room for. */
BOTH_WAYS(many_threads)
{
	enum { N = 150 };
	static struct holder holder[N];
	static char name[N / 2];
	struct actor waiter[N / 2];

	for (int i = 0; i < N; i++)
		hold(&holder[i], ONCE, &name[i / 2]);
	assert_gets_through(&name_a);
	for (int i = 0; i < N / 2; i++)
		start_waiting(&waiter[i], &name[i]);
	nap_ms(20);
	for (int i = 0; i < N; i += 2)
		let_go(&holder[i]);
	nap_ms(20);
	for (int i = 0; i < N / 2; i++)
		assert_true(is_waiting(&waiter[i]));
	/* In another order than that of the threads, of the names, and of the groups. */
	for (int i = 0; i < N / 2; i++) {
		int at = i * 31 % (N / 2);

		let_go(&holder[2 * at + 1]);
		end_waiting(&waiter[at]);
		if (i == N / 4)
			for (int j = i + 1; j < N / 2; j++)
				assert_true(is_waiting(&waiter[j * 31 % (N / 2)]));
	}
	for (int i = 0; i < N; i++)
		finish(&holder[i]);
}

/* ---- many threads: nobody sees what was freed ------------------------------------------------ */

struct thing {
	int value; /* 42 while it is alive */
};

#define BUCKETS 4

static struct thing *bucket[BUCKETS];
static int storm_stop;
static int looks, updates;
#define ROUNDS_LEAST 100

static struct thing *new_thing(void)
{
	struct thing *thing = (struct thing *)malloc(sizeof(*thing));

	assert_non_null(thing);
	thing->value = 42;
	return thing;
}

static void look_at_bucket(struct thing **at)
{
	struct thing *thing = lull_load_acquire(at);

	for (int i = 0; i < 10; i++)
		assert_int_equal(lull_load_relaxed(&thing->value), 42);
}

static void *storm_reader(void *unused)
{
	(void)unused;
	for (unsigned i = 0; !lull_load_relaxed(&storm_stop); i++) {
		struct thing **at = &bucket[i % BUCKETS], **other = &bucket[i / BUCKETS % BUCKETS];
		LULL_SHAZPTR_GUARD(at);

		look_at_bucket(at);
		if (i % 8 == 0) {
			LULL_SHAZPTR_GUARD(other);
			look_at_bucket(other);
		}
		look_at_bucket(at);
		came_round(&looks);
	}
	return NULL;
}

static void *storm_updater(void *arg)
{
	struct thing **at = (struct thing **)arg;

	while (!lull_load_relaxed(&storm_stop)) {
		struct thing *old = lull_xchg_acq_rel(at, new_thing());

		lull_shazptr_synchronize(at);
		lull_store_relaxed(&old->value, -1);
		free(old);
		came_round(&updates);
	}
	return NULL;
}

BOTH_WAYS(storm)
{
	pthread_t reader[2], updater[2];
	uint64_t since_ns = now_ns();

	lull_store_relaxed(&storm_stop, 0);
	looks = updates = 0;
	for (int i = 0; i < BUCKETS; i++)
		bucket[i] = new_thing();
	for (int i = 0; i < 2; i++) {
		reader[i] = start_thread(storm_reader, NULL);
		updater[i] = start_thread(storm_updater, &bucket[i]);
	}
	while (storm_goes_on(since_ns, 300000000u, &looks, ROUNDS_LEAST) || storm_goes_on(since_ns, 0, &updates, ROUNDS_LEAST))
		nap_ms(1);
	lull_store_relaxed(&storm_stop, 1);
	for (int i = 0; i < 2; i++) {
		join_thread(reader[i]);
		join_thread(updater[i]);
	}
	for (int i = 0; i < BUCKETS; i++)
		free(bucket[i]);
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
