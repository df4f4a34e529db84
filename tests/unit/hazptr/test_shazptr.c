/* SPDX-License-Identifier: MIT */
/*
 * test_shazptr.c - shazptr.h: slots, nesting and the wildcard; waiting, by oneself and by the thread that
 * scans; threads that end, signals, fork, misuse.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>

#include <lull/shazptr.h>

#include "support.h"

/* Names that are waited for. Nobody follows them. */
static char name_a, name_b, name_c;

/* Without eating the processor of those who are awaited. */
static void await(const int *flag, int value)
{
	while (lull_load_acquire(flag) != value)
		nap_ms(1);
}

static void tell(int *flag)
{
	lull_store_release(flag, 1);
}

/* ---- a thread that holds a name, in one of several ways -------------------------------------- */

enum way {
	ONCE,	  /* the slot says the name */
	WILDCARD, /* the slot is a wildcard from the start */
	NESTED,	  /* ... because of a second acquisition, of something else, which still lasts */
	NESTED_BEFORE, /* ... which is over */
	OUTER_FIRST,   /* ... and the first one is over, but the second lasts */
	WAYS
};

static bool is_wildcard(enum way way)
{
	return way != ONCE;
}

struct holder {
	pthread_t thread;
	const void *ptr;
	enum way way;
	bool exits; /* without clearing */
	int holding, let_go, cleared, finish;
	uint32_t group;
};

static void *holder_run(void *arg)
{
	struct holder *holder = (struct holder *)arg;
	struct lull_shazptr_guard first, second;

	first = holder->way == WILDCARD ? lull_shazptr_acquire_wildcard() : lull_shazptr_acquire(holder->ptr);
	second = first;
	if (holder->way >= NESTED)
		second = lull_shazptr_acquire(&name_c);
	if (holder->way == NESTED_BEFORE)
		lull_shazptr_clear(second);
	if (holder->way == OUTER_FIRST)
		lull_shazptr_clear(first);
	holder->group = lull__self.shazptr_group;
	tell(&holder->holding);
	await(&holder->let_go, 1);
	if (holder->exits)
		return NULL;
	if (holder->way == NESTED)
		lull_shazptr_clear(second);
	lull_shazptr_clear(holder->way == OUTER_FIRST ? second : first);
	tell(&holder->cleared);
	await(&holder->finish, 1);
	return NULL;
}

static void holder_start(struct holder *holder, enum way way, const void *ptr)
{
	bool exits = holder->exits;

	memset(holder, 0, sizeof(*holder));
	holder->exits = exits;
	holder->way = way;
	holder->ptr = ptr;
	holder->thread = start_thread(holder_run, holder);
	await(&holder->holding, 1);
}

static void hold(struct holder *holder, enum way way, const void *ptr)
{
	holder->exits = false;
	holder_start(holder, way, ptr);
}

static void hold_and_exit(struct holder *holder, enum way way, const void *ptr)
{
	holder->exits = true;
	holder_start(holder, way, ptr);
}

/* The slot is clear on return, the thread is still there. */
static void let_go(struct holder *holder)
{
	tell(&holder->let_go);
	await(&holder->cleared, 1);
}

static void finish(struct holder *holder)
{
	tell(&holder->let_go);
	tell(&holder->finish);
	join_thread(holder->thread);
}

/* ---- a thread that waits --------------------------------------------------------------------- */

struct waiter {
	pthread_t thread;
	const void *ptr;
	int done;
	uint64_t cpu_ns;
};

static void *waiter_run(void *arg)
{
	struct waiter *waiter = (struct waiter *)arg;
	struct timespec cpu;

	lull_shazptr_synchronize(waiter->ptr);
	lull_store_release(&waiter->done, 1);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	waiter->cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
	return NULL;
}

static void waiter_start(struct waiter *waiter, const void *ptr)
{
	memset(waiter, 0, sizeof(*waiter));
	waiter->ptr = ptr;
	waiter->thread = start_thread(waiter_run, waiter);
}

/*
 * Whether an updater gets through. One who does is not held to a time; one who does not has been looked for
 * by itself and by the thread that scans.
 */
static bool gets_through(const void *ptr)
{
	return lull_shazptr_synchronize_timeout(ptr, 20) == 0;
}

static void assert_gets_through(const void *ptr)
{
	lull_shazptr_synchronize(ptr);
	assert_int_equal(lull_shazptr_synchronize_timeout(ptr, 60000), 0);
}

static void *look_run(void *arg)
{
	return gets_through(arg) ? arg : NULL;
}

/* The same for a thread that holds something itself. */
static bool others_get_through(void *ptr)
{
	void *result;

	assert_int_equal(pthread_join(start_thread(look_run, ptr), &result), 0);
	return result != NULL;
}

/*
 * Most tests are run with the look by the caller and without. The thread that scans has been started, and is
 * among those that lull_thread_count() counts.
 */
static int no_self_scan(void **state)
{
	(void)state;
	lull_shazptr_set_skip_self_scan(true);
	lull_shazptr_synchronize(&name_a);
	return 0;
}

static int self_scan(void **state)
{
	no_self_scan(state);
	lull_shazptr_set_skip_self_scan(false);
	return 0;
}

/* ---- what a slot says ------------------------------------------------------------------------ */

static void test_one(void **state)
{
	struct lull_shazptr_guard guard;

	(void)state;
	assert_gets_through(&name_a);
	guard = lull_shazptr_acquire(&name_a);
	assert_false(others_get_through(&name_a));
	assert_true(others_get_through(&name_b));
	assert_gets_through(&name_b); /* also who holds something else */
	lull_shazptr_clear(guard);
	assert_true(others_get_through(&name_a));

	guard = lull_shazptr_acquire_wildcard();
	assert_false(others_get_through(&name_a));
	assert_false(others_get_through(&name_b));
	lull_shazptr_clear(guard);
	assert_gets_through(&name_a);

	/* Nobody holds NULL, and nobody waits for it. */
	guard = lull_shazptr_acquire_wildcard();
	lull_shazptr_synchronize(NULL);
	assert_int_equal(lull_shazptr_synchronize_timeout(NULL, 0), 0);
	lull_shazptr_clear(guard);

	/* A name is a name, whatever it looks like. */
	guard = lull_shazptr_acquire((void *)1);
	assert_false(others_get_through((void *)1));
	lull_shazptr_clear(guard);
	assert_gets_through((void *)1);
}

static void guarded(int way)
{
	for (int i = 0; i < 3; i++) {
		LULL_SHAZPTR_GUARD(&name_a);
		assert_false(others_get_through(&name_a));
		if (way == i)
			continue;
		if (way == i + 3)
			break;
		if (way == i + 6)
			return;
		LULL_SHAZPTR_GUARD(&name_b);
		assert_false(others_get_through(&name_c)); /* nested */
	}
}

static void test_guard(void **state)
{
	(void)state;
	for (int way = 0; way < 9; way += 4) {
		guarded(way);
		assert_gets_through(&name_a);
		assert_gets_through(&name_b);
	}
}

/* Three at a time, cleared in each order there is: a wildcard from the second to the last clear. */
static void test_nesting(void **state)
{
	static const int order[6][3] = { { 2, 1, 0 }, { 2, 0, 1 }, { 1, 2, 0 },
					{ 1, 0, 2 }, { 0, 1, 2 }, { 0, 2, 1 } };
	char *const name[3] = { &name_a, &name_b, &name_c };
	struct lull_shazptr_guard guard[3];
	char other;

	(void)state;
	for (int i = 0; i < 6; i++) {
		for (int j = 0; j < 3; j++)
			guard[j] = lull_shazptr_acquire(name[j]);
		for (int j = 0; j < 3; j++) {
			assert_false(others_get_through(name[order[i][j]]));
			assert_false(others_get_through(&other));
			lull_shazptr_clear(guard[order[i][j]]);
		}
		for (int j = 0; j < 3; j++)
			assert_gets_through(name[j]);
		assert_gets_through(&other);
		/* And the slot is one for one name again. */
		guard[0] = lull_shazptr_acquire(name[0]);
		assert_false(others_get_through(name[0]));
		assert_true(others_get_through(&other));
		lull_shazptr_clear(guard[0]);
	}
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* Whoever's look it is: who waits for what is held waits until it is cleared, and nobody else does. */
static void test_waits(void **state)
{
	(void)state;
	for (int way = 0; way < WAYS; way++) {
		struct holder holder;
		struct waiter waiter;
		uint64_t scans = lull_shazptr_scan_count();

		hold(&holder, (enum way)way, &name_a);
		waiter_start(&waiter, &name_a);
		nap_ms(30);
		assert_int_equal(lull_load_acquire(&waiter.done), 0);
		assert_true(gets_through(&name_b) == !is_wildcard((enum way)way));
		assert_false(gets_through(&name_a));
		assert_int_equal(lull_load_acquire(&waiter.done), 0);
		assert_true(lull_shazptr_scan_count() > scans);
		let_go(&holder);
		join_thread(waiter.thread);
		assert_int_equal(waiter.done, 1);
		assert_gets_through(&name_a);
		assert_gets_through(&name_b);
		finish(&holder);
	}
}

/* Several who hold the same: the last one counts. */
static void test_waits_for_all(void **state)
{
	enum { N = 4 };
	struct holder holder[N];
	struct waiter waiter;

	(void)state;
	for (int i = 0; i < N; i++)
		hold(&holder[i], i % 2 ? ONCE : WILDCARD, &name_a);
	waiter_start(&waiter, &name_a);
	for (int i = 0; i < N; i++) {
		nap_ms(10);
		assert_int_equal(lull_load_acquire(&waiter.done), 0);
		let_go(&holder[i]);
	}
	join_thread(waiter.thread);
	for (int i = 0; i < N; i++)
		finish(&holder[i]);
}

/* Who waits for different names: each goes on when its own is cleared. */
static void test_each_its_own(void **state)
{
	struct holder holder_a, holder_b;
	struct waiter waiter_a, waiter_b;

	(void)state;
	hold(&holder_a, ONCE, &name_a);
	hold(&holder_b, ONCE, &name_b);
	waiter_start(&waiter_a, &name_a);
	waiter_start(&waiter_b, &name_b);
	nap_ms(20);
	let_go(&holder_b);
	join_thread(waiter_b.thread);
	nap_ms(20);
	assert_int_equal(lull_load_acquire(&waiter_a.done), 0);
	let_go(&holder_a);
	join_thread(waiter_a.thread);
	finish(&holder_a);
	finish(&holder_b);
}

/*
 * Many who wait share the looks: one is enough when the reader clears. A few more come from those who
 * arrive late and from looks by the clock.
 */
static void test_shared_scan(void **state)
{
	enum { N = 60 };
	struct holder holder;
	struct waiter waiter[N];
	uint64_t scans;

	(void)state;
	hold(&holder, ONCE, &name_a);
	for (int i = 0; i < N; i++)
		waiter_start(&waiter[i], &name_a);
	nap_ms(50);
	scans = lull_shazptr_scan_count();
	let_go(&holder);
	for (int i = 0; i < N; i++)
		join_thread(waiter[i].thread);
	scans = lull_shazptr_scan_count() - scans;
	assert_in_range(scans, 1, N / 2);
	finish(&holder);
}

/* Who waits sleeps, and so does the thread that scans: a look now and then, more and more rarely. */
static void test_waiting_is_idle(void **state)
{
	struct holder holder;
	struct waiter waiter;
	uint64_t scans = lull_shazptr_scan_count();

	(void)state;
	hold(&holder, ONCE, &name_a);
	waiter_start(&waiter, &name_a);
	nap_ms(400);
	assert_in_range(lull_shazptr_scan_count() - scans, 1, 40);
	let_go(&holder);
	join_thread(waiter.thread);
	assert_true(waiter.cpu_ns < 200000000u);
	finish(&holder);
	/* Nobody waits any more: no looks at all. */
	nap_ms(20);
	scans = lull_shazptr_scan_count();
	nap_ms(100);
	assert_int_equal(lull_shazptr_scan_count(), scans);
}

static void test_timeout(void **state)
{
	struct holder holder;

	(void)state;
	assert_int_equal(lull_shazptr_synchronize_timeout(&name_a, UINT64_MAX), 0);
	for (int way = 0; way < WAYS; way++) {
		uint64_t began;

		hold(&holder, (enum way)way, &name_a);
		began = now_ns();
		assert_int_equal(lull_shazptr_synchronize_timeout(&name_a, 30), -ETIMEDOUT);
		assert_true(now_ns() - began >= 30000000u);
		assert_int_equal(lull_shazptr_synchronize_timeout(&name_a, 0), -ETIMEDOUT);
		let_go(&holder);
		assert_int_equal(lull_shazptr_synchronize_timeout(&name_a, 60000), 0);
		assert_int_equal(lull_shazptr_synchronize_timeout(&name_a, UINT64_MAX), 0);
		finish(&holder);
	}
}

static int toggle_stop;

static void *toggles(void *ptr)
{
	while (!lull_load_relaxed(&toggle_stop)) {
		struct lull_shazptr_guard guard = lull_shazptr_acquire(ptr);

		for (int i = 0; i < 500; i++)
			lull_cpu_relax();
		lull_shazptr_clear(guard);
	}
	return NULL;
}

/* Who gives up just when it is let go: it is one or the other, and its stack is left alone. */
static void test_timeout_races(void **state)
{
	pthread_t reader;
	int ends[2] = { 0, 0 };

	(void)state;
	lull_store_relaxed(&toggle_stop, 0);
	reader = start_thread(toggles, &name_a);
	for (int i = 0; i < 1000; i++) {
		char paint[512];

		ends[lull_shazptr_synchronize_timeout(&name_a, (uint64_t)(i % 2)) == 0]++;
		memset(paint, i, sizeof(paint));
		assert_int_equal(((volatile char *)paint)[i % 512], (char)i);
	}
	assert_int_equal(ends[0] + ends[1], 1000);
	lull_store_relaxed(&toggle_stop, 1);
	join_thread(reader);
	assert_gets_through(&name_a);
}

/* ---- nobody waits for ever ------------------------------------------------------------------- */

static void test_toggling_readers(void **state)
{
	pthread_t reader[2];

	(void)state;
	lull_store_relaxed(&toggle_stop, 0);
	for (int i = 0; i < 2; i++)
		reader[i] = start_thread(toggles, &name_a);
	for (int i = 0; i < 200; i++)
		lull_shazptr_synchronize(&name_a);
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

/* One of two readers holds the name at any time, and each lets go again and again. */
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
	tell(&relay->registered);
	for (;;) {
		struct lull_shazptr_guard guard;

		while (!lull_load_acquire(&relay->turn))
			sched_yield();
		lull_store_relaxed(&relay->turn, 0);
		guard = lull_shazptr_acquire(&name_a);
		lull_add_relaxed(&relay->turns, 1);
		tell(&relay->other->turn);
		/* Its turn comes again when the other one has acquired. */
		while (!lull_load_acquire(&relay->turn) && !lull_load_acquire(relay->stop))
			sched_yield();
		lull_shazptr_clear(guard);
		if (lull_load_acquire(relay->stop)) {
			tell(&relay->other->turn);
			return NULL;
		}
	}
}

static void test_relay_in_one_group(void **state)
{
	struct relay relay[2];
	int stop = 0;

	(void)state;
	memset(relay, 0, sizeof(relay));
	for (int i = 0; i < 2; i++) {
		relay[i].other = &relay[!i];
		relay[i].stop = &stop;
		if (i)
			pass_groups_up_to(relay[0].group);
		relay[i].thread = start_thread(relay_run, &relay[i]);
		await(&relay[i].registered, 1);
	}
	assert_int_equal(relay[0].group, relay[1].group);
	tell(&relay[0].turn);
	while (lull_load_relaxed(&relay[1].turns) == 0)
		nap_ms(1);
	for (int i = 0; i < 20; i++)
		lull_shazptr_synchronize(&name_a);
	tell(&stop);
	for (int i = 0; i < 2; i++)
		join_thread(relay[i].thread);
}

/* The same with ever new threads. */
static void test_new_threads_in_one_group(void **state)
{
	enum { MOST = 50 };
	struct waiter waiter;
	struct holder holder[2];
	int n;

	(void)state;
	hold(&holder[0], ONCE, &name_a);
	waiter_start(&waiter, &name_a);
	nap_ms(20);
	for (n = 1; n < MOST && !lull_load_acquire(&waiter.done); n++) {
		pass_groups_up_to(holder[(n + 1) % 2].group);
		hold(&holder[n % 2], ONCE, &name_a);
		assert_int_equal(holder[0].group, holder[1].group);
		finish(&holder[(n + 1) % 2]);
		nap_ms(5);
	}
	finish(&holder[(n + 1) % 2]);
	join_thread(waiter.thread);
	assert_true(n < MOST);
}

/* More threads than groups, and than the first snapshot has room for. */
static void test_many_threads(void **state)
{
	enum { N = 150 };
	static struct holder holder[N];
	static char name[N / 2];
	struct waiter waiter[N / 2];

	(void)state;
	for (int i = 0; i < N; i++)
		hold(&holder[i], ONCE, &name[i / 2]);
	assert_gets_through(&name_a);
	for (int i = 0; i < N / 2; i++)
		waiter_start(&waiter[i], &name[i]);
	nap_ms(20);
	for (int i = 0; i < N; i += 2)
		let_go(&holder[i]);
	nap_ms(20);
	for (int i = 0; i < N / 2; i++)
		assert_int_equal(lull_load_acquire(&waiter[i].done), 0);
	/* In another order than that of the threads, of the names, and of the groups. */
	for (int i = 0; i < N / 2; i++) {
		int at = i * 31 % (N / 2);

		let_go(&holder[2 * at + 1]);
		join_thread(waiter[at].thread);
		if (i == N / 4)
			for (int j = i + 1; j < N / 2; j++)
				assert_int_equal(lull_load_acquire(&waiter[j * 31 % (N / 2)].done), 0);
	}
	for (int i = 0; i < N; i++)
		finish(&holder[i]);
}

/* ---- no interrupts --------------------------------------------------------------------------- */

static void test_no_heavy_fences(void **state)
{
	uint64_t fences = lull_fence_heavy_count();
	struct holder holder;
	struct waiter waiter;

	(void)state;
	for (int i = 0; i < 100; i++)
		lull_shazptr_synchronize(&name_b);
	hold(&holder, NESTED, &name_a);
	waiter_start(&waiter, &name_a);
	nap_ms(20);
	let_go(&holder);
	join_thread(waiter.thread);
	finish(&holder);
	assert_int_equal(lull_fence_heavy_count(), fences);
}

/* ---- threads that end, and after ------------------------------------------------------------- */

static void test_exit_while_holding(void **state)
{
	(void)state;
	for (int way = 0; way < WAYS; way++) {
		struct holder holder;
		struct waiter waiter;

		start_hearing();
		hold_and_exit(&holder, (enum way)way, &name_a);
		waiter_start(&waiter, &name_a);
		nap_ms(20);
		assert_int_equal(lull_load_acquire(&waiter.done), 0);
		finish(&holder);
		join_thread(waiter.thread);
		stop_hearing();
		assert_non_null(strstr(heard, "exits with its simple hazard pointer in use"));
		assert_non_null(strstr(heard, way == NESTED ? "(depth 2)" : "(depth 1)"));
		assert_gets_through(&name_a);
	}
}

static void test_unregistered(void **state)
{
	struct lull_shazptr_guard outer, inner;
	unsigned before;

	(void)state;
	lull_shazptr_synchronize(&name_a);
	lull_thread_register();
	before = lull_thread_count();
	lull_thread_unregister();
	assert_int_equal(lull_thread_count(), before - 1);

	/* The record is linked in for as long as something is held, and each time. */
	outer = lull_shazptr_acquire_wildcard();
	assert_int_equal(lull_thread_count(), before);
	lull_shazptr_clear(outer);
	assert_int_equal(lull_thread_count(), before - 1);
	outer = lull_shazptr_acquire(&name_a);
	assert_int_equal(lull_thread_count(), before);
	assert_false(others_get_through(&name_a));
	inner = lull_shazptr_acquire(&name_b);
	assert_false(others_get_through(&name_c));
	lull_shazptr_clear(outer);
	assert_int_equal(lull_thread_count(), before);
	assert_false(others_get_through(&name_c));
	lull_thread_register(); /* not now */
	lull_shazptr_clear(inner);
	assert_int_equal(lull_thread_count(), before - 1);
	assert_true(others_get_through(&name_a));
	assert_gets_through(&name_a);

	/* A read section that ends meanwhile does not take it out, ... */
	lull_rcu_read_lock();
	outer = lull_shazptr_acquire(&name_a);
	assert_int_equal(lull_thread_count(), before);
	lull_rcu_read_unlock();
	assert_int_equal(lull_thread_count(), before);
	assert_false(others_get_through(&name_a));

	/* ... nor the other way round. */
	lull_rcu_read_lock();
	lull_rcu_cookie cookie = lull_rcu_gp_start();
	lull_shazptr_clear(outer);
	assert_int_equal(lull_thread_count(), before);
	assert_true(others_get_through(&name_a));
	assert_false(lull_rcu_gp_poll(cookie));
	lull_rcu_read_unlock();
	assert_int_equal(lull_thread_count(), before - 1);
	assert_true(lull_rcu_gp_poll(cookie));

	lull_thread_register();
	assert_int_equal(lull_thread_count(), before);
	outer = lull_shazptr_acquire(&name_a);
	assert_false(others_get_through(&name_a));
	lull_shazptr_clear(outer);
	assert_int_equal(lull_thread_count(), before);
}

/* Somebody waits for a thread without a record: it hears of the end as well. */
static void *late_holder_run(void *arg)
{
	lull_thread_register();
	lull_thread_unregister();
	return holder_run(arg);
}

static void test_wait_for_unregistered(void **state)
{
	(void)state;
	for (int way = 0; way < WAYS; way++) {
		struct holder holder;
		struct waiter waiter;

		memset(&holder, 0, sizeof(holder));
		holder.way = (enum way)way;
		holder.ptr = &name_a;
		holder.thread = start_thread(late_holder_run, &holder);
		await(&holder.holding, 1);
		waiter_start(&waiter, &name_a);
		nap_ms(20);
		assert_int_equal(lull_load_acquire(&waiter.done), 0);
		let_go(&holder);
		join_thread(waiter.thread);
		finish(&holder);
	}
}

/*
 * The reader that lets go wakes who waits, in whatever way it does. By the clock alone the next look would
 * come half a second after the last, by the time that this reader has held on for; once in ten times it has
 * to be faster.
 */
static bool was_woken(bool exits, bool late)
{
	struct holder holder;
	struct waiter waiter;
	bool woken;

	memset(&holder, 0, sizeof(holder));
	holder.exits = exits;
	holder.ptr = &name_a;
	holder.thread = start_thread(late ? late_holder_run : holder_run, &holder);
	await(&holder.holding, 1);
	waiter_start(&waiter, &name_a);
	nap_ms(160);
	assert_int_equal(lull_load_acquire(&waiter.done), 0);
	tell(&holder.let_go);
	nap_ms(150);
	woken = lull_load_acquire(&waiter.done);
	join_thread(waiter.thread);
	finish(&holder);
	return woken;
}

static void test_wakes(void **state)
{
	bool by_clear = false, by_exit = false, by_late_clear = false;

	(void)state;
	start_hearing();
	for (int i = 0; i < 10 && !by_clear; i++)
		by_clear = was_woken(false, false);
	for (int i = 0; i < 10 && !by_exit; i++)
		by_exit = was_woken(true, false);
	for (int i = 0; i < 10 && !by_late_clear; i++)
		by_late_clear = was_woken(false, true);
	stop_hearing();
	assert_true(by_clear);
	assert_true(by_exit);
	assert_true(by_late_clear);
}

/* As in test_thread.c: the last rounds come after lull's own destructor. */
#ifdef LULL__TSAN
#define LATE_ROUNDS 2
#else
#define LATE_ROUNDS 100
#endif
static pthread_key_t late_key;
static int late_runs;
static __thread int late_round;

static void late_destructor(void *value)
{
	struct lull_shazptr_guard outer = lull_shazptr_acquire(&name_a);
	struct lull_shazptr_guard inner = lull_shazptr_acquire(&name_b);

	lull_shazptr_synchronize(NULL);
	lull_shazptr_clear(inner);
	lull_shazptr_clear(outer);
	outer = lull_shazptr_acquire(&name_a);
	assert_int_equal(lull_shazptr_synchronize_timeout(&name_b, 60000), 0);
	lull_shazptr_clear(outer);
	lull_shazptr_synchronize(&name_a);
	lull_add_relaxed(&late_runs, 1);
	if (++late_round < LATE_ROUNDS)
		pthread_setspecific(late_key, value);
}

static void *ends_late(void *holds)
{
	pthread_setspecific(late_key, &late_key);
	lull_thread_register();
	if (holds) { /* and is told off for it; then it is as if it did not */
		lull_shazptr_acquire(&name_a);
		lull_shazptr_acquire(&name_b);
	}
	return NULL;
}

static void test_late_destructors(void **state)
{
	unsigned before;

	(void)state;
	lull_thread_register();
	before = lull_thread_count();
	late_runs = 0;
	assert_int_equal(pthread_key_create(&late_key, late_destructor), 0);
	start_hearing();
	for (int i = 0; i < 50; i++) {
		join_thread(start_thread(ends_late, i % 8 == 7 ? &late_key : NULL));
		lull_shazptr_synchronize(&name_a);
	}
	stop_hearing();
	assert_true(late_runs >= 100);
	assert_int_equal(lull_thread_count(), before);
	pthread_key_delete(late_key);
}

/* ---- signals --------------------------------------------------------------------------------- */

static int in_handler, handler_may_go;

static void waiting_handler(int unused)
{
	struct lull_shazptr_guard guard = lull_shazptr_acquire(&name_b);

	(void)unused;
	lull_store_release(&in_handler, 1);
	while (!lull_load_acquire(&handler_may_go))
		sched_yield();
	lull_shazptr_clear(guard);
}

static void handle(void (*handler)(int))
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = SA_RESTART;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
}

/* In a handler that interrupts a reader: both names are held, by the wildcard. */
static void test_handler_nests(void **state)
{
	struct holder holder;

	(void)state;
	in_handler = handler_may_go = 0;
	handle(waiting_handler);
	hold(&holder, ONCE, &name_a);
	assert_true(gets_through(&name_b));
	pthread_kill(holder.thread, SIGUSR1);
	await(&in_handler, 1);
	assert_false(gets_through(&name_a));
	assert_false(gets_through(&name_b));
	assert_false(gets_through(&name_c));
	lull_store_release(&handler_may_go, 1);
	let_go(&holder);
	assert_gets_through(&name_a);
	assert_gets_through(&name_b);
	finish(&holder);
}

static int handled;

static void quick_handler(int unused)
{
	struct lull_shazptr_guard guard = lull_shazptr_acquire(&name_a);

	(void)unused;
	lull_add_relaxed(&handled, 1);
	lull_shazptr_clear(guard);
}

static void *toggles_nested(void *unused)
{
	(void)unused;
	lull_thread_register();
	while (!lull_load_relaxed(&toggle_stop)) {
		struct lull_shazptr_guard outer = lull_shazptr_acquire(&name_a);
		struct lull_shazptr_guard inner = lull_shazptr_acquire(&name_b);

		lull_shazptr_clear(outer);
		lull_shazptr_clear(inner);
	}
	/* Out of balance, it would say so in the end. */
	assert_int_equal(lull__self.shazptr, 0);
	assert_int_equal(lull__self.shazptr_nested, 0);
	return NULL;
}

static void test_handlers_anywhere(void **state)
{
	pthread_t reader;

	(void)state;
	handle(quick_handler);
	lull_store_relaxed(&toggle_stop, 0);
	reader = start_thread(toggles_nested, NULL);
	for (int i = 0; i < 2000; i++) {
		pthread_kill(reader, SIGUSR1);
		if (i % 4 == 0)
			lull_shazptr_synchronize(i % 8 ? &name_a : &name_c);
		else if (i % 16 == 1)
			sched_yield();
	}
	lull_store_relaxed(&toggle_stop, 1);
	join_thread(reader);
	assert_true(lull_load_relaxed(&handled) > 0);
	assert_gets_through(&name_a);
	assert_gets_through(&name_c);
}

/* ---- fork ------------------------------------------------------------------------------------ */

static struct lull_shazptr_guard kept;

/* Whatever other threads hold and wait for is not here. */
static void child_alone(void)
{
	lull_shazptr_synchronize(&name_a);
	must(lull_shazptr_synchronize_timeout(&name_b, 60000) == 0);
}

static void child_with_threads(void)
{
	struct holder holder;
	struct waiter waiter;

	/* What the forking thread holds it still holds. */
	must(!others_get_through(&name_c));
	lull_shazptr_clear(kept);
	must(others_get_through(&name_c));
	lull_shazptr_synchronize(&name_a);
	hold(&holder, ONCE, &name_a);
	waiter_start(&waiter, &name_a);
	nap_ms(20);
	must(!lull_load_acquire(&waiter.done));
	let_go(&holder);
	join_thread(waiter.thread);
	finish(&holder);
}

static void test_fork(void **state)
{
	struct holder holder_a, holder_b;
	struct waiter waiter;

	(void)state;
	hold(&holder_a, ONCE, &name_a);
	hold(&holder_b, WILDCARD, NULL);
	waiter_start(&waiter, &name_a);
	nap_ms(20);
	/* Without the look by the caller even this takes the thread that scans. */
	if (THREADS_IN_CHILD || !lull_shazptr_skip_self_scan())
		expect_fine(child_alone);
	kept = lull_shazptr_acquire(&name_c);
	if (THREADS_IN_CHILD)
		expect_fine(child_with_threads);
	lull_shazptr_clear(kept);
	assert_int_equal(lull_load_acquire(&waiter.done), 0);
	finish(&holder_b);
	finish(&holder_a);
	join_thread(waiter.thread);
}

/* ---- no thread to be had --------------------------------------------------------------------- */

static int is_about_to_wait;

static void *lets_go_later(void *arg)
{
	struct holder *holder = (struct holder *)arg;

	await(&is_about_to_wait, 1);
	nap_ms(100);
	tell(&holder->let_go);
	return NULL;
}

static void no_thread(void)
{
	struct rlimit none = { 0, 0 };
	struct holder holder;
	pthread_t helper;
	uint64_t scans;

	hold(&holder, ONCE, &name_a);
	helper = start_thread(lets_go_later, &holder);
	must(setrlimit(RLIMIT_NPROC, &none) == 0);
	must(setgid(65534) == 0 && setuid(65534) == 0); /* the limit does not bind root */
	must(lull_shazptr_synchronize_timeout(&name_a, 10) == -ETIMEDOUT);
	scans = lull_shazptr_scan_count();
	tell(&is_about_to_wait);
	lull_shazptr_synchronize(&name_a);
	must(lull_load_acquire(&holder.let_go));
	must(lull_shazptr_scan_count() - scans < 40);
	lull_shazptr_synchronize(&name_b);
	join_thread(helper);
	finish(&holder);
}

static void test_no_thread(void **state)
{
	char text[4096];
	int status;

	(void)state;
	NEEDS_THREADS_IN_CHILD();
	if (geteuid() != 0)
		skip();
	status = run_child(no_thread, text, sizeof(text));
	if (status)
		print_error("%s", text);
	assert_int_equal(status, 0);
	assert_non_null(strstr(text, "cannot start the scanning thread"));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

/* ---- stalls ---------------------------------------------------------------------------------- */

#ifndef LULL_TEST_CORE

static int stalls;
static struct lull_stall last_stall;

static void note_stall(const struct lull_stall *stall, void *arg)
{
	(void)arg;
	last_stall = *stall;
	lull_add_release(&stalls, 1);
}

static void test_stall(void **state)
{
	struct holder holder;
	struct waiter waiter;

	(void)state;
	stalls = 0;
	lull_debug_set_stall_hook(note_stall, NULL);
	lull_debug_set_stall_ms(10);
	hold(&holder, NESTED, &name_a);
	waiter_start(&waiter, &name_a);
	while (lull_load_acquire(&stalls) < 2)
		nap_ms(1);
	assert_int_equal(lull_load_acquire(&waiter.done), 0);
	let_go(&holder);
	join_thread(waiter.thread);
	finish(&holder);
	lull_debug_set_stall_ms(0);
	lull_debug_set_stall_hook(NULL, NULL);
	assert_string_equal(last_stall.kind, "shazptr synchronize");
	assert_int_equal(last_stall.depth, 2);
	assert_true(last_stall.tid != 0);
	assert_true(last_stall.age_ms >= 20);
}
#endif

/* ---- misuse ---------------------------------------------------------------------------------- */

static void waits_for_itself(void)
{
	lull_shazptr_acquire(&name_a);
	lull_shazptr_synchronize(&name_a);
}

static void waits_for_its_wildcard(void)
{
	lull_shazptr_acquire_wildcard();
	lull_shazptr_synchronize(&name_a);
}

static void waits_nested(void)
{
	struct lull_shazptr_guard guard;

	lull_shazptr_acquire(&name_a);
	guard = lull_shazptr_acquire(&name_b);
	lull_shazptr_clear(guard);
	lull_shazptr_synchronize_timeout(&name_c, 1);
}

static void unregisters_while_holding(void)
{
	lull_shazptr_acquire(&name_a);
	lull_thread_unregister();
}

static void test_misuse(void **state)
{
	(void)state;
	expect_abort(waits_for_itself, "lull_shazptr_synchronize of ");
	expect_abort(waits_for_itself, "would wait for itself for ever");
	expect_abort(waits_for_its_wildcard, "would wait for itself for ever");
	expect_abort(waits_nested, "lull_shazptr_synchronize_timeout of ");
	expect_abort(unregisters_while_holding, "lull_thread_unregister while the thread's simple hazard pointer");
}

#ifdef LULL_DEBUG
static void acquires_null(void)
{
	lull_shazptr_acquire(NULL);
}

static void acquires_no_address(void)
{
	lull_shazptr_acquire((void *)~(uintptr_t)1);
}

static void clears_twice(void)
{
	struct lull_shazptr_guard guard = lull_shazptr_acquire(&name_a);

	lull_shazptr_clear(guard);
	lull_shazptr_clear(guard);
}

static void *clears_kept(void *unused)
{
	(void)unused;
	lull_shazptr_clear(kept);
	return NULL;
}

static void clears_elsewhere(void)
{
	kept = lull_shazptr_acquire(&name_a);
	join_thread(start_thread(clears_kept, NULL));
}

static void test_debug_checks(void **state)
{
	(void)state;
	expect_abort(acquires_null, "lull_shazptr_acquire: not an address");
	expect_abort(acquires_no_address, "lull_shazptr_acquire: not an address");
	expect_abort(clears_twice, "lull_shazptr_clear: cleared already");
	if (THREADS_IN_CHILD)
		expect_abort(clears_elsewhere, "lull_shazptr_clear: acquired by another thread");
}
#endif

static void test_tunable(void **state)
{
	uint64_t scans = lull_shazptr_scan_count();

	(void)state;
	lull_shazptr_set_skip_self_scan(false);
	assert_false(lull_shazptr_skip_self_scan());
	for (int i = 0; i < 10; i++)
		lull_shazptr_synchronize(&name_a);
	assert_int_equal(lull_shazptr_scan_count(), scans);
	lull_shazptr_set_skip_self_scan(true);
	assert_true(lull_shazptr_skip_self_scan());
	for (int i = 0; i < 10; i++)
		lull_shazptr_synchronize(&name_a);
	assert_true(lull_shazptr_scan_count() >= scans + 10);
}

/* ---- many threads: nobody sees what was freed ------------------------------------------------ */

struct thing {
	int value; /* 42 while it is alive */
};

#define BUCKETS 4

static struct thing *bucket[BUCKETS];
static int storm_stop;

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
	}
	return NULL;
}

static void test_storm(void **state)
{
	pthread_t reader[2], updater[2];

	(void)state;
	lull_store_relaxed(&storm_stop, 0);
	for (int i = 0; i < BUCKETS; i++)
		bucket[i] = new_thing();
	for (int i = 0; i < 2; i++) {
		reader[i] = start_thread(storm_reader, NULL);
		updater[i] = start_thread(storm_updater, &bucket[i]);
	}
	nap_ms(300);
	lull_store_relaxed(&storm_stop, 1);
	for (int i = 0; i < 2; i++) {
		join_thread(reader[i]);
		join_thread(updater[i]);
	}
	for (int i = 0; i < BUCKETS; i++)
		free(bucket[i]);
}

#define BOTH_WAYS(test)                                                                            \
	cmocka_unit_test_setup(test, self_scan), cmocka_unit_test_setup(test, no_self_scan)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH_WAYS(test_one),
		BOTH_WAYS(test_guard),
		cmocka_unit_test_setup(test_nesting, self_scan),
		BOTH_WAYS(test_waits),
		BOTH_WAYS(test_waits_for_all),
		BOTH_WAYS(test_each_its_own),
		cmocka_unit_test_setup(test_shared_scan, self_scan),
		cmocka_unit_test_setup(test_waiting_is_idle, self_scan),
		BOTH_WAYS(test_timeout),
		BOTH_WAYS(test_timeout_races),
		BOTH_WAYS(test_toggling_readers),
		BOTH_WAYS(test_relay_in_one_group),
		cmocka_unit_test_setup(test_new_threads_in_one_group, self_scan),
		BOTH_WAYS(test_many_threads),
		BOTH_WAYS(test_no_heavy_fences),
		BOTH_WAYS(test_exit_while_holding),
		cmocka_unit_test_setup(test_unregistered, self_scan),
		BOTH_WAYS(test_wait_for_unregistered),
		cmocka_unit_test_setup(test_wakes, self_scan),
		BOTH_WAYS(test_late_destructors),
		BOTH_WAYS(test_handler_nests),
		BOTH_WAYS(test_handlers_anywhere),
		BOTH_WAYS(test_fork),
		cmocka_unit_test_setup(test_no_thread, self_scan),
#ifndef LULL_TEST_CORE
		BOTH_WAYS(test_stall),
#endif
		BOTH_WAYS(test_misuse),
#ifdef LULL_DEBUG
		cmocka_unit_test_setup(test_debug_checks, self_scan),
#endif
		cmocka_unit_test_setup(test_tunable, self_scan),
		BOTH_WAYS(test_storm),
	};

	set_stall_ms(0); /* a slow machine is not worth a line */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
