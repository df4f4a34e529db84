/* SPDX-License-Identifier: MIT */
/* runs: c++, core */
/*
 * shazptr.c - shazptr.h: threads that acquire, nest, clear, wait and come and go at random, against a plain model of what
 * each slot says; how waiters are woken, and what they cost.
 */
#include "hazptr/shazptr.h"
#include "random.h"

/* ---- the model -------------------------------------------------------------------------------- */

enum { READERS = 5, WAITERS = 4, DEPTH = 4, NAMES = 5 };

/* A name is a name, whatever it looks like: also the lowest address, and the highest that is one. */
static void *const name[NAMES] = { &name_a, &name_b, &name_c, (void *)1, (void *)~(uintptr_t)2 };
static char wildcard; /* stands for all */

static struct reader {
	struct actor actor;
	struct lull_shazptr_guard guard[DEPTH];
	int depth;
	void *says;
	bool in_section, is_out; /* unregistered, but for as long as it holds something or is in a section */
} readers[READERS];

static struct {
	struct actor actor;
	void *name;  /* NULL: it does not wait */
	unsigned for_these; /* readers who held the name before, and have not cleared their slots since */
} waiters[WAITERS];

static uint64_t seed;

static int die(int sides)
{
	return (int)dice(&seed, (unsigned)sides);
}

static unsigned readers_of(const void *what)
{
	unsigned found = 0;

	for (int i = 0; i < READERS; i++)
		if (readers[i].says == what || readers[i].says == &wildcard)
			found |= 1u << i;
	return found;
}

/* A second acquisition makes the slot a wildcard, until the last is cleared, in whatever order. */
static void acquires(void *arg)
{
	struct reader *reader = (struct reader *)arg;
	void *what = die(8) ? name[die(NAMES)] : &wildcard;

	reader->guard[reader->depth] = what == &wildcard ? lull_shazptr_acquire_wildcard() : lull_shazptr_acquire(what);
	reader->says = reader->depth++ ? &wildcard : what;
}

static void slot_is_clear(struct reader *reader)
{
	reader->depth = 0;
	reader->says = NULL;
	for (int i = 0; i < WAITERS; i++)
		waiters[i].for_these &= ~(1u << (reader - readers));
}

static void clears(void *arg)
{
	struct reader *reader = (struct reader *)arg;
	int nth = die(reader->depth);

	lull_shazptr_clear(reader->guard[nth]);
	reader->guard[nth] = reader->guard[--reader->depth];
	if (!reader->depth)
		slot_is_clear(reader);
}

static void registers(void *unused)
{
	(void)unused;
	lull_thread_register();
}

static void start_registered(struct actor *actor)
{
	actor_start(actor);
	on(actor, registers, NULL);
}

static void leaves_or_comes(void *arg)
{
	struct reader *reader = (struct reader *)arg;

	lull_thread_register();
	if (!reader->is_out)
		lull_thread_unregister();
	reader->is_out = !reader->is_out;
}

static void enters_or_leaves_section(void *arg)
{
	struct reader *reader = (struct reader *)arg;

	if (reader->in_section)
		lull_rcu_read_unlock();
	else
		lull_rcu_read_lock();
	reader->in_section = !reader->in_section;
}

/* A thread that exits clears its slot, and a line says how deep it was. */
static void exit_reader(struct reader *reader)
{
	char wanted[80];

	if (reader->in_section)
		on(&reader->actor, enters_or_leaves_section, reader);
	snprintf(wanted, sizeof(wanted), "exits with its simple hazard pointer in use (depth %d)", reader->depth);
	heard_lines = 0;
	actor_end(&reader->actor);
	assert_int_equal(heard_lines, reader->depth != 0);
	assert_true(!reader->depth || strstr(heard, wanted));
	slot_is_clear(reader);
	reader->is_out = false;
	start_registered(&reader->actor);
}

static void step(struct reader *reader)
{
	int what = die(20);

	if (what == 0 && !reader->is_out)
		exit_reader(reader);
	else if (what <= 2 && !reader->depth && !reader->in_section)
		on(&reader->actor, leaves_or_comes, reader);
	else if (what <= 4)
		on(&reader->actor, enters_or_leaves_section, reader);
	else if (what <= 12 && reader->depth < DEPTH)
		on(&reader->actor, acquires, reader);
	else if (reader->depth)
		on(&reader->actor, clears, reader);
}

/* By a thread that holds nothing of that name, but perhaps something else. */
static void looks(void *what)
{
	uint64_t ms = die(50) ? 0 : 20, began = now_ns();

	if (readers_of(what)) {
		must(lull_shazptr_synchronize_timeout(what, ms) == -ETIMEDOUT);
		must(now_ns() - began >= ms * 1000000u);
		return;
	}
	lull_shazptr_synchronize(what);
	must(lull_shazptr_synchronize_timeout(what, PATIENCE_MS) == 0);
	must(lull_shazptr_synchronize_timeout(what, UINT64_MAX) == 0);
}

static void look_once(void)
{
	struct reader *reader = &readers[die(READERS)];
	void *what = name[die(NAMES)];

	if (reader->says == what || reader->says == &wildcard)
		looks(what);
	else
		on(&reader->actor, looks, what);
	lull_shazptr_synchronize(NULL); /* never held, and never waited for */
	assert_int_equal(lull_shazptr_synchronize_timeout(NULL, 0), 0);
}

/* A thread waits as long as one holds the name that held it before, and goes on when none holds it. */
static void check_waiters(void)
{
	for (int i = 0; i < WAITERS; i++) {
		bool done = waiters[i].name && !is_waiting(&waiters[i].actor);

		if (!waiters[i].name)
			continue;
		assert_false(done && waiters[i].for_these);
		if (!done && readers_of(waiters[i].name))
			continue;
		actor_await(&waiters[i].actor);
		waiters[i].name = NULL;
	}
}

/* Threads that scans go through: a record is there as long as it is used for something. */
static unsigned registered(void)
{
	unsigned count = 0;

	for (int i = 0; i < READERS; i++)
		count += !readers[i].is_out || readers[i].depth || readers[i].in_section;
	return count;
}

static void begin_wait(int nth)
{
	if (waiters[nth].name)
		return;
	waiters[nth].name = name[die(NAMES)];
	waiters[nth].for_these = readers_of(waiters[nth].name);
	actor_begin(&waiters[nth].actor, waits_for, waiters[nth].name);
}

BOTH_WAYS(model)
{
	uint64_t scans = lull_shazptr_scan_count();
	unsigned others;

	seed = test_seed();
	start_hearing();
	for (int i = 0; i < READERS; i++)
		start_registered(&readers[i].actor);
	for (int i = 0; i < WAITERS; i++)
		start_registered(&waiters[i].actor);
	others = lull_thread_count() - READERS;
	for (int n = 0; n < 3000; n++) {
		step(&readers[die(READERS)]);
		if (die(3) == 0)
			begin_wait(die(WAITERS));
		if (die(10) == 0)
			look_once();
		check_waiters();
		assert_int_equal(lull_thread_count(), others + registered());
	}
	for (int i = 0; i < READERS; i++) {
		readers[i].is_out = false;
		exit_reader(&readers[i]);
		actor_end(&readers[i].actor);
	}
	check_waiters();
	for (int i = 0; i < WAITERS; i++)
		actor_end(&waiters[i].actor);
	stop_hearing();
	assert_true(lull_shazptr_scan_count() > scans);
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

/* ---- waiting --------------------------------------------------------------------------------- */

/*
 * Many waiters share the looks: one is enough when the reader clears. A few more come from late ones and from looks by
 * the clock.
 */
TEST_WITH(shared_scan, self_scan, NULL)
{
	enum { N = 60 };
	struct holder holder;
	struct actor waiter[N];
	uint64_t scans;

	hold(&holder, ONCE, &name_a);
	for (int i = 0; i < N; i++)
		start_waiting(&waiter[i], &name_a);
	nap_ms(50);
	scans = lull_shazptr_scan_count();
	let_go(&holder);
	for (int i = 0; i < N; i++)
		end_waiting(&waiter[i]);
	scans = lull_shazptr_scan_count() - scans;
	assert_in_range(scans, 1, N / 2);
	finish(&holder);
}

static void tells_cpu_ns(void *cpu_ns)
{
	struct timespec cpu;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	*(uint64_t *)cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
}

/* Waiting threads sleep, also the one that scans for all: a look now and then, more and more rarely. */
TEST_WITH(waiting_is_idle, self_scan, NULL)
{
	struct holder holder;
	struct actor waiter;
	uint64_t scans = lull_shazptr_scan_count(), cpu_ns;

	hold(&holder, ONCE, &name_a);
	start_waiting(&waiter, &name_a);
	nap_ms(400);
	assert_in_range(lull_shazptr_scan_count() - scans, 1, 40);
	let_go(&holder);
	actor_await(&waiter);
	on(&waiter, tells_cpu_ns, &cpu_ns);
	assert_true(cpu_ns < 200000000u);
	actor_end(&waiter);
	finish(&holder);
	/* No thread waits any more: no looks at all. */
	nap_ms(20);
	scans = lull_shazptr_scan_count();
	nap_ms(100);
	assert_int_equal(lull_shazptr_scan_count(), scans);
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

static struct lull_shazptr_guard guard_of_a;

static void acquires_a(void *unused)
{
	(void)unused;
	guard_of_a = lull_shazptr_acquire(&name_a);
}

static void clears_a(void *unused)
{
	(void)unused;
	lull_shazptr_clear(guard_of_a);
}

static void waits_for_a(void *unused)
{
	(void)unused;
	lull_shazptr_synchronize(&name_a);
	assert_true(lull_rcu_read_lock_held());
}

BOTH_WAYS(in_section)
{
	check_wait_in_section(acquires_a, clears_a, waits_for_a);
}

static int called;

static void waits_in_callback(struct lull_rcu_head *head)
{
	struct lull_shazptr_guard guard = lull_shazptr_acquire(&name_b);

	lull_shazptr_synchronize(&name_a);
	lull_shazptr_clear(guard);
	free(head);
	lull_store_release(&called, 1);
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
	let_go(&holder);
	AWAIT(lull_load_acquire(&called));
	finish(&holder);
}

/* ---- a clear that is missed ------------------------------------------------------------------ */

static void tells_record(void *record)
{
	*(struct lull__thread **)record = &lull__self;
}

/* A reader makes no fence when it clears, and may miss that waiters have just asked for news. So they look again. */
BOTH_WAYS(looks_again)
{
	struct lull__thread *record;
	struct holder holder;
	struct actor waiter;

	alarm(60);
	hold(&holder, ONCE, &name_a);
	on(&holder.actor, tells_record, &record);
	start_waiting(&waiter, &name_a);
	AWAIT(lull_load_relaxed(&record->shazptr_state) & LULL__SHAZPTR_WAITED);
	nap_ms(50);
	assert_true(is_waiting(&waiter));
	lull_store_release(&record->shazptr, (uintptr_t)0); /* as if it had cleared it, and not seen WAITED yet */
	end_waiting(&waiter);
	actor_end(&holder.actor);
	alarm(0);
}

/* ---- no interrupts --------------------------------------------------------------------------- */

BOTH_WAYS(no_heavy_fences)
{
	uint64_t fences = lull_fence_heavy_count();
	struct holder holder;
	struct actor waiter;

	for (int i = 0; i < 100; i++)
		lull_shazptr_synchronize(&name_b);
	hold(&holder, NESTED, &name_a);
	start_waiting(&waiter, &name_a);
	nap_ms(20);
	let_go(&holder);
	end_waiting(&waiter);
	finish(&holder);
	assert_int_equal(lull_fence_heavy_count(), fences);
}

/* ---- woken ----------------------------------------------------------------------------------- */

static void comes_late(void *unused)
{
	(void)unused;
	lull_thread_register();
	lull_thread_unregister();
}

/*
 * A reader that clears wakes the waiters, in whatever way it clears. By the clock alone the next look would
 * come half a second after the last, by the time that this reader has held on for; once in ten times it has
 * to be faster.
 */
static bool was_woken(bool exits, bool late)
{
	struct holder holder;
	struct actor waiter;
	bool woken;

	memset(&holder, 0, sizeof(holder));
	holder.ptr = &name_a;
	actor_start(&holder.actor);
	if (late)
		on(&holder.actor, comes_late, NULL);
	on(&holder.actor, holder_acquires, &holder);
	start_waiting(&waiter, &name_a);
	nap_ms(160);
	assert_true(is_waiting(&waiter));
	if (exits)
		actor_end(&holder.actor);
	else
		let_go(&holder);
	nap_ms(150);
	woken = !is_waiting(&waiter);
	end_waiting(&waiter);
	if (!exits)
		actor_end(&holder.actor);
	return woken;
}

TEST_WITH(wakes, self_scan, NULL)
{
	start_hearing();
	for (int way = 0; way < 3; way++) {
		bool woken = false;

		for (int i = 0; i < 10 && !woken; i++)
			woken = was_woken(way == 1, way == 2);
		assert_true(woken);
	}
	stop_hearing();
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
