/* SPDX-License-Identifier: MIT */
/* runs: c++, core */
/*
 * shazptr.c - shazptr.h: slots, nesting and the wildcard; waiting, alone and by the thread that scans; which waiters
 * are woken.
 */
#include "hazptr/shazptr.h"

/* ---- what a slot says ------------------------------------------------------------------------ */

BOTH_WAYS(one)
{
	struct lull_shazptr_guard guard;

	assert_gets_through(&name_a);
	guard = lull_shazptr_acquire(&name_a);
	assert_true(nobody_gets_through(&name_a));
	assert_true(others_get_through(&name_b));
	assert_gets_through(&name_b); /* also who holds something else */
	lull_shazptr_clear(guard);
	assert_true(others_get_through(&name_a));

	guard = lull_shazptr_acquire_wildcard();
	assert_true(nobody_gets_through(&name_a));
	assert_true(nobody_gets_through(&name_b));
	lull_shazptr_clear(guard);
	assert_gets_through(&name_a);

	/* NULL is never held, and never waited for. */
	guard = lull_shazptr_acquire_wildcard();
	lull_shazptr_synchronize(NULL);
	assert_int_equal(lull_shazptr_synchronize_timeout(NULL, 0), 0);
	lull_shazptr_clear(guard);

	/* A name is a name, whatever it looks like. */
	for (int i = 0; i < 2; i++) {
		void *odd = (void *)(i ? ~(uintptr_t)2 : 1); /* the lowest address, and the highest that is a name */

		guard = lull_shazptr_acquire(odd);
		assert_true(nobody_gets_through(odd));
		assert_true(others_get_through(&name_a));
		lull_shazptr_clear(guard);
		assert_gets_through(odd);
	}
}

static void guarded(int way)
{
	for (int i = 0; i < 3; i++) {
		LULL_SHAZPTR_GUARD(&name_a);
		assert_true(nobody_gets_through(&name_a));
		if (way == i)
			continue;
		if (way == i + 3)
			break;
		if (way == i + 6)
			return;
		LULL_SHAZPTR_GUARD(&name_b);
		assert_true(nobody_gets_through(&name_c)); /* nested */
	}
}

BOTH_WAYS(guard)
{
	for (int way = 0; way < 9; way += 4) {
		guarded(way);
		assert_gets_through(&name_a);
		assert_gets_through(&name_b);
	}
}

/* Three at a time, cleared in each order there is: a wildcard from the second to the last clear. */
TEST_WITH(nesting, self_scan, NULL)
{
	static const int order[6][3] = { { 2, 1, 0 }, { 2, 0, 1 }, { 1, 2, 0 },
					{ 1, 0, 2 }, { 0, 1, 2 }, { 0, 2, 1 } };
	char *const name[3] = { &name_a, &name_b, &name_c };
	struct lull_shazptr_guard guard[3];
	char other;

	for (int i = 0; i < 6; i++) {
		for (int j = 0; j < 3; j++)
			guard[j] = lull_shazptr_acquire(name[j]);
		for (int j = 0; j < 3; j++) {
			assert_true(nobody_gets_through(name[order[i][j]]));
			assert_true(nobody_gets_through(&other));
			lull_shazptr_clear(guard[order[i][j]]);
		}
		for (int j = 0; j < 3; j++)
			assert_gets_through(name[j]);
		assert_gets_through(&other);
		/* And the slot is one for one name again. */
		guard[0] = lull_shazptr_acquire(name[0]);
		assert_true(nobody_gets_through(name[0]));
		assert_true(others_get_through(&other));
		lull_shazptr_clear(guard[0]);
	}
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* By either look: a thread that waits for what is held waits until it is cleared, and no other waits. */
BOTH_WAYS(waits)
{
	for (int way = 0; way < WAYS; way++) {
		struct holder holder;
		struct waiter waiter;
		uint64_t scans = lull_shazptr_scan_count();

		hold(&holder, (enum way)way, &name_a);
		waiter_start(&waiter, &name_a);
		nap_ms(30);
		assert_int_equal(lull_load_acquire(&waiter.done), 0);
		if (is_wildcard((enum way)way))
			assert_false(gets_through(&name_b));
		else
			assert_gets_through(&name_b);
		assert_false(gets_through(&name_a));
		assert_int_equal(lull_load_acquire(&waiter.done), 0);
		await_scan(scans);
		release_waiter(&holder);
		join_thread(waiter.thread);
		assert_int_equal(waiter.done, 1);
		assert_gets_through(&name_a);
		assert_gets_through(&name_b);
		finish(&holder);
	}
}

/* Several who hold the same: the last one counts. */
BOTH_WAYS(waits_for_all)
{
	enum { N = 4 };
	struct holder holder[N];
	struct waiter waiter;

	for (int i = 0; i < N; i++)
		hold(&holder[i], i % 2 ? ONCE : WILDCARD, &name_a);
	waiter_start(&waiter, &name_a);
	for (int i = 0; i < N; i++) {
		nap_ms(10);
		assert_int_equal(lull_load_acquire(&waiter.done), 0);
		release_waiter(&holder[i]);
	}
	join_thread(waiter.thread);
	for (int i = 0; i < N; i++)
		finish(&holder[i]);
}

/* Threads wait for different names: each goes on when its own is cleared. */
BOTH_WAYS(each_its_own)
{
	struct holder holder_a, holder_b;
	struct waiter waiter_a, waiter_b;

	hold(&holder_a, ONCE, &name_a);
	hold(&holder_b, ONCE, &name_b);
	waiter_start(&waiter_a, &name_a);
	waiter_start(&waiter_b, &name_b);
	nap_ms(20);
	release_waiter(&holder_b);
	join_thread(waiter_b.thread);
	nap_ms(20);
	assert_int_equal(lull_load_acquire(&waiter_a.done), 0);
	release_waiter(&holder_a);
	join_thread(waiter_a.thread);
	finish(&holder_a);
	finish(&holder_b);
}

/*
 * Many waiters share the looks: one is enough when the reader clears. A few more come from late ones and from looks by
 * the clock.
 */
TEST_WITH(shared_scan, self_scan, NULL)
{
	enum { N = 60 };
	struct holder holder;
	struct waiter waiter[N];
	uint64_t scans;

	hold(&holder, ONCE, &name_a);
	for (int i = 0; i < N; i++)
		waiter_start(&waiter[i], &name_a);
	nap_ms(50);
	scans = lull_shazptr_scan_count();
	release_waiter(&holder);
	for (int i = 0; i < N; i++)
		join_thread(waiter[i].thread);
	scans = lull_shazptr_scan_count() - scans;
	assert_in_range(scans, 1, N / 2);
	finish(&holder);
}

/* A waiting thread sleeps, and so does the thread that scans: a look now and then, more and more rarely. */
TEST_WITH(waiting_is_idle, self_scan, NULL)
{
	struct holder holder;
	struct waiter waiter;
	uint64_t scans = lull_shazptr_scan_count();

	hold(&holder, ONCE, &name_a);
	waiter_start(&waiter, &name_a);
	nap_ms(400);
	assert_in_range(lull_shazptr_scan_count() - scans, 1, 40);
	release_waiter(&holder);
	join_thread(waiter.thread);
	assert_true(waiter.cpu_ns < 200000000u);
	finish(&holder);
	/* No thread waits any more: no looks at all. */
	nap_ms(20);
	scans = lull_shazptr_scan_count();
	nap_ms(100);
	assert_int_equal(lull_shazptr_scan_count(), scans);
}

BOTH_WAYS(timeout)
{
	struct holder holder;

	assert_int_equal(lull_shazptr_synchronize_timeout(&name_a, UINT64_MAX), 0);
	for (int way = 0; way < WAYS; way++) {
		uint64_t began;

		hold(&holder, (enum way)way, &name_a);
		began = now_ns();
		assert_int_equal(lull_shazptr_synchronize_timeout(&name_a, 30), -ETIMEDOUT);
		assert_true(now_ns() - began >= 30000000u);
		assert_int_equal(lull_shazptr_synchronize_timeout(&name_a, 0), -ETIMEDOUT);
		release_waiter(&holder);
		assert_int_equal(lull_shazptr_synchronize_timeout(&name_a, 60000), 0);
		assert_int_equal(lull_shazptr_synchronize_timeout(&name_a, UINT64_MAX), 0);
		finish(&holder);
	}
}

BOTH_WAYS(timeout_races)
{
	pthread_t reader;
	int ends[2] = { 0, 0 };

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

/* The time is in milliseconds: no thread waits for minutes. */
TEST_WITH(timeout_ends, self_scan, NULL)
{
	struct holder holder;

	alarm(60);
	hold(&holder, ONCE, &name_a);
	assert_int_equal(lull_shazptr_synchronize_timeout(&name_a, 200), -ETIMEDOUT);
	finish(&holder);
	alarm(0);
}

/* ---- in sections and callbacks --------------------------------------------------------------- */

static int stage; /* 1: in the section, 2: it has waited, 3: it may leave */

/* Waits in a section, and in one that lasts as long as the thread is online. */
static void *waits_in_section(void *online)
{
	if (online)
		lull_rcu_online();
	else
		lull_rcu_read_lock();
	tell(&stage);
	lull_shazptr_synchronize(&name_a);
	assert_true(lull_rcu_read_lock_held());
	lull_store_release(&stage, 2);
	await(&stage, 3);
	if (online)
		lull_rcu_offline();
	else
		lull_rcu_read_unlock();
	return NULL;
}

BOTH_WAYS(in_section)
{
	start_hearing(); /* a debug build warns of the online thread */
	for (int online = 0; online < 2; online++) {
		struct holder holder;
		pthread_t thread;
		lull_rcu_cookie cookie;

		lull_store_relaxed(&stage, 0);
		hold(&holder, ONCE, &name_a);
		thread = start_thread(waits_in_section, online ? &holder : NULL);
		await(&stage, 1);
		cookie = lull_rcu_gp_start();
		nap_ms(30);
		assert_int_equal(lull_load_acquire(&stage), 1);
		release_waiter(&holder);
		await(&stage, 2);
		assert_false(lull_rcu_gp_poll(cookie)); /* it has been in its section all the while */
		lull_store_release(&stage, 3);
		join_thread(thread);
		lull_rcu_gp_wait(cookie);
		finish(&holder);
	}
	stop_hearing();
}

static int called;

static void waits_in_callback(struct lull_rcu_head *head)
{
	struct lull_shazptr_guard guard = lull_shazptr_acquire(&name_b);

	lull_shazptr_synchronize(&name_a);
	lull_shazptr_clear(guard);
	free(head);
	tell(&called);
}

BOTH_WAYS(in_callback)
{
	struct lull_rcu_head *head = (struct lull_rcu_head *)malloc(sizeof(*head));
	struct holder holder;

	assert_non_null(head);
	lull_store_relaxed(&called, 0);
	hold(&holder, ONCE, &name_a);
	lull_rcu_call(head, waits_in_callback);
	nap_ms(30);
	assert_int_equal(lull_load_acquire(&called), 0);
	release_waiter(&holder);
	await(&called, 1);
	finish(&holder);
}

/* ---- a clear that is missed ------------------------------------------------------------------ */

static struct lull__thread *record;

static void *clears_unseen(void *unused)
{
	struct lull_shazptr_guard guard = lull_shazptr_acquire(&name_a);

	lull_store_release(&record, &lull__self);
	await(&stage, 1);
	lull_store_release(&lull__self.shazptr, (uintptr_t)0); /* as if it had not seen WAITED yet */
	await(&stage, 2);
	(void)guard;
	return unused;
}

/* A reader makes no fence when it clears, and may miss that waiters have just asked for news. So they look again. */
BOTH_WAYS(looks_again)
{
	struct waiter waiter;
	pthread_t thread;

	alarm(60);
	lull_store_relaxed(&stage, 0);
	lull_store_relaxed(&record, (struct lull__thread *)NULL);
	thread = start_thread(clears_unseen, NULL);
	AWAIT(lull_load_acquire(&record));
	waiter_start(&waiter, &name_a);
	AWAIT(lull_load_relaxed(&record->shazptr_state) & LULL__SHAZPTR_WAITED);
	nap_ms(50);
	assert_int_equal(lull_load_acquire(&waiter.done), 0);
	tell(&stage);
	join_thread(waiter.thread);
	lull_store_release(&stage, 2);
	join_thread(thread);
	alarm(0);
}

/* ---- no interrupts --------------------------------------------------------------------------- */

BOTH_WAYS(no_heavy_fences)
{
	uint64_t fences = lull_fence_heavy_count();
	struct holder holder;
	struct waiter waiter;

	for (int i = 0; i < 100; i++)
		lull_shazptr_synchronize(&name_b);
	hold(&holder, NESTED, &name_a);
	waiter_start(&waiter, &name_a);
	nap_ms(20);
	release_waiter(&holder);
	join_thread(waiter.thread);
	finish(&holder);
	assert_int_equal(lull_fence_heavy_count(), fences);
}

/* ---- woken ----------------------------------------------------------------------------------- */

/*
 * A reader that clears wakes the waiters, in whatever way it clears. By the clock alone the next look would
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
	tell(&holder.release_waiter);
	nap_ms(150);
	woken = lull_load_acquire(&waiter.done);
	join_thread(waiter.thread);
	finish(&holder);
	return woken;
}

TEST_WITH(wakes, self_scan, NULL)
{
	bool by_clear = false, by_exit = false, by_late_clear = false;

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

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
