/* SPDX-License-Identifier: MIT */
/* runs: alone */
/*
 * shazptr_scan.c - scans of simple hazard pointers, from the inside: this program contains their source, and invents
 * the records of threads, and waiters.
 */
#include <errno.h>

#include <lull/shazptr.h>
#include <lull/stats.h>

#include "threads.h"

static size_t malloc_most = SIZE_MAX; /* larger blocks are not to be had */
static unsigned mallocs;
static int blocks; /* that have not been freed */

static void *counting_malloc(size_t size)
{
	mallocs++;
	if (size > malloc_most)
		return NULL;
	blocks++;
	return malloc(size);
}

static void counting_free(void *memory)
{
	blocks -= memory != NULL;
	free(memory);
}

#include "../src/base/own_thread.h"
#include "../src/base/registry.h"
#include "../src/base/wait.h"

static const uint32_t *woken; /* the last word that threads were woken on, ... */
static int woken_most;	      /* ... how many at most, ... */
static int wakes;	      /* ... and how often */
static int starts, start_error;
static const char *started;

static void note_wake(const uint32_t *word, int how_many)
{
	woken = word;
	woken_most = how_many;
	wakes++;
}

static int note_start(const struct lull__own_thread *own, pthread_t *id)
{
	*id = pthread_self();
	started = own->name;
	starts++;
	return start_error;
}

/* A waiter that scans for itself sleeps: for so long, and then this happens. */
#define CLOCK_NS 1000000u
static uint64_t slept_ns[8];
static unsigned blamed[8];
static int naps;
static bool (*after_nap)(int nth);

static bool nap_instead(struct lull__wait *wait, const uint32_t *word, uint32_t value, uint64_t deadline_ns, uint64_t again_ns,
			lull__blame blame, void *arg)
{
	struct lull_stall first[LULL__BLAME_MOST + 1];
	unsigned holders = 0;

	assert_null(wait);
	assert_int_equal(*word, value);
	assert_int_equal(deadline_ns, LULL__NEVER);
	slept_ns[naps] = again_ns - CLOCK_NS;
	memset(first, 0x5a, sizeof(first));
	blamed[naps] = blame(arg, first, &holders);
	assert_int_equal(holders, blamed[naps]);
	assert_int_equal(first[0].slots, holders);
	return after_nap(naps++);
}

/* Records are looked at under their lock only, and a lock that is not held is never released. */
static struct lull__thread *next_record(const struct lull__thread *record)
{
	assert_int_not_equal(lull_load_relaxed(&lull__registry_lock.word), 0);
	return record->next;
}

static void unlock_held(struct lull__lock *lock)
{
	assert_int_not_equal(lull_load_relaxed(&lock->word), 0);
	lull__unlock(lock);
}

#undef lull__for_each_thread
#define lull__for_each_thread(t)                                                                   \
	for ((t) = next_record(&lull__registry); (t) != &lull__registry; (t) = next_record(t))
#define lull__unlock(lock)		 unlock_held(lock)
#define malloc(size)			 counting_malloc(size)
#define free(memory)			 counting_free(memory)
#define lull__futex_wake(word, how_many) note_wake(word, how_many)
#define lull__own_thread_start(own, id)	 note_start(own, id)
#define lull__now_ns()			 CLOCK_NS
#define lull__wait_sleep(wait, word, value, deadline_ns, again_ns, blame, arg, report)             \
	nap_instead(wait, word, value, deadline_ns, again_ns, blame, arg)
#include "../src/hazptr/shazptr_scan.c"
#include "../src/hazptr/shazptr.c"
#undef malloc
#undef free
#undef lull__unlock

/* ---- records of threads that there are not ------------------------------------------------------------------------ */

enum { RECORDS = 300, NAMES = 8 };
static struct lull__thread invented[RECORDS];
static char name[NAMES];

static uint32_t random_below(uint32_t limit)
{
	static uint32_t random_state = 12345;

	random_state = random_state * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)random_state * limit >> 32);
}

static uintptr_t random_name(void)
{
	uint32_t n = random_below(NAMES + 2);

	return n < NAMES ? (uintptr_t)&name[n] : n == NAMES ? 1 : ~(uintptr_t)2; /* the lowest, and the highest */
}

/* A word of a slot: nothing; for one in thirty everything; names. */
static uintptr_t random_word(void)
{
	switch (random_below(30)) {
	case 0:
		return LULL__SHAZPTR_WILDCARD;
	case 1:
	case 2:
		return LULL__SHAZPTR_REST;
	case 3:
	case 4:
	case 5:
		return 0;
	default:
		return random_name();
	}
}

static uint64_t random_groups(void)
{
	uint64_t groups = 0;

	if (random_below(3) == 0)
		return ~(uint64_t)0;
	for (uint32_t i = random_below(20); i > 0; i--)
		groups |= (uint64_t)1 << random_below(LULL__SHAZPTR_GROUPS);
	return groups;
}

#define MOST_TICK 9

static int linked; /* so many are in the registry */

static void invent(int count)
{
	lull__lock(&lull__registry_lock);
	linked = count;
	for (int i = 0; i < count; i++) {
		struct lull__thread *t = &invented[i];

		memset(t, 0, sizeof(*t));
		t->shazptr = random_word();
		t->shazptr_state = random_below(MOST_TICK + 1) * LULL__SHAZPTR_STAMP + random_below(LULL__SHAZPTR_LOW + 1);
		t->shazptr_group = random_below(LULL__SHAZPTR_GROUPS);
		t->next = &lull__registry;
		t->prev = lull__registry.prev;
		t->prev->next = t->next->prev = t;
	}
	lull__unlock(&lull__registry_lock);
}

static void forget(void)
{
	lull__lock(&lull__registry_lock);
	for (; linked > 0; linked--) {
		struct lull__thread *t = &invented[linked - 1];

		t->prev->next = t->next;
		t->next->prev = t->prev;
	}
	lull__unlock(&lull__registry_lock);
}

/* Count those of @count records in whose slots is something. */
static size_t in_use(int count)
{
	size_t used = 0;

	for (int i = 0; i < count; i++)
		used += invented[i].shazptr != 0 && invented[i].shazptr != LULL__SHAZPTR_REST;
	return used;
}

static struct lull__shazptr_waiter random_waiter(void)
{
	struct lull__shazptr_waiter w = { .ptr = random_name() };

	w.tick = random_below(MOST_TICK + 2);
	w.groups = random_groups();
	return w;
}

/* Find what is in the way of @w, in the source's words: the name or the wildcard, with a stamp from before the tick. */
static struct lull__shazptr_way in_the_way(const struct lull__shazptr_waiter *w, int count)
{
	struct lull__shazptr_way way = { .groups = 0 };

	for (int i = 0; i < count; i++) {
		const struct lull__thread *t = &invented[i];
		bool said = t->shazptr == w->ptr || t->shazptr == LULL__SHAZPTR_WILDCARD;
		bool later = t->shazptr_state / 4 >= w->tick;

		if (!said || later || !(w->groups >> t->shazptr_group & 1))
			continue;
		way.groups |= (uint64_t)1 << t->shazptr_group;
		way.unflagged |= !(t->shazptr_state & 1);
	}
	return way;
}

static void free_snapshot(void)
{
	assert_int_equal(blocks, lull__shazptr.snapshot != NULL);
	counting_free(lull__shazptr.snapshot);
	lull__shazptr.snapshot = NULL;
}

/* ---- one scan, and the snapshot ------------------------------------------------------------------------------------ */

static void check_way(const struct lull__shazptr_way *found, const struct lull__shazptr_way *wanted, uint64_t tick)
{
	assert_int_equal(found->groups, wanted->groups);
	assert_int_equal(found->unflagged, wanted->unflagged);
	assert_int_equal(found->tick, tick);
}

/* The slots and the snapshot of them say the same. */
TEST(in_the_way)
{
	int held_up = 0;

	for (int round = 0; round < 300; round++) {
		int count = (int)random_below(round % 2 ? RECORDS : 6);

		invent(count);
		assert_true(take_snapshot());
		assert_int_equal(lull__shazptr.count, in_use(count));
		for (int i = 0; i < 20; i++) {
			struct lull__shazptr_waiter w = random_waiter();
			struct lull__shazptr_way wanted = in_the_way(&w, count), way;

			lull__shazptr_visit(&w, &way);
			check_way(&way, &wanted, w.tick);
			memset(&way, 0x5a, sizeof(way));
			find_in_snapshot(&w, &way);
			check_way(&way, &wanted, w.tick);
			held_up += wanted.groups != 0;
		}
		forget();
	}
	assert_in_range(held_up, 1000, 5000); /* of 6000 */
	free_snapshot();
}

/* Room for 64 at first, then for twice as many as there are; it stays, also when there is no memory for more. */
TEST(room)
{
	static const struct {
		int records;
		size_t room;
	} steps[] = { { 0, 0 }, { 1, 64 }, { 64, 64 }, { 65, 130 }, { 130, 130 }, { 3, 130 }, { 131, 262 } };

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		bool grows = i && steps[i].room > steps[i - 1].room;
		struct lull__shazptr_snapshot *before = lull__shazptr.snapshot;

		invent(steps[i].records);
		for (int j = 0; j < steps[i].records; j++)
			invented[j].shazptr = (uintptr_t)&name[j % NAMES];
		mallocs = 0;
		assert_true(take_snapshot());
		assert_int_equal(mallocs, grows);
		assert_int_equal(lull__shazptr.count, steps[i].records);
		assert_int_equal(lull__shazptr.snapshot ? lull__shazptr.snapshot->room : 0, steps[i].room);
		assert_true(grows || lull__shazptr.snapshot == before);
		forget();
	}
	invent(RECORDS);
	for (int j = 0; j < RECORDS; j++)
		invented[j].shazptr = (uintptr_t)&name[0];
	malloc_most = 0;
	mallocs = 0;
	assert_false(take_snapshot());
	assert_int_equal(mallocs, 1);
	assert_int_equal(lull__shazptr.snapshot->room, 262);
	malloc_most = SIZE_MAX;
	assert_true(take_snapshot());
	assert_int_equal(lull__shazptr.snapshot->room, 2 * RECORDS);
	assert_int_equal(lull__shazptr.count, RECORDS);
	forget();
	free_snapshot();
}

/* All of these groups whose stamp is older; whatever they hold now. */
TEST(flag)
{
	static uint64_t before[RECORDS];

	for (int round = 0; round < 100; round++) {
		struct lull__shazptr_way way = { .groups = random_groups(), .tick = random_below(MOST_TICK + 2) };

		invent(RECORDS);
		for (int i = 0; i < RECORDS; i++)
			before[i] = invented[i].shazptr_state;
		lull__shazptr_flag(&way);
		for (int i = 0; i < RECORDS; i++) {
			bool flagged = (way.groups >> invented[i].shazptr_group & 1) && before[i] / 4 < way.tick;

			assert_int_equal(invented[i].shazptr_state, before[i] | (flagged ? LULL__SHAZPTR_WAITED : 0));
		}
		forget();
	}
}

/* A tenth of a millisecond, then four times as long each time, up to 0.4 s. */
TEST(naps)
{
	static const uint64_t naps_us[] = { 100, 400, 1600, 6400, 25600, 102400, 409600, 409600, 409600 };
	unsigned shift = 0;

	for (size_t i = 0; i < sizeof(naps_us) / sizeof(naps_us[0]); i++)
		assert_int_equal(lull__shazptr_nap_ns(&shift), naps_us[i] * 1000);
}

/* ---- scans for all waiters ------------------------------------------------------------------------------------------ */

enum { WAITERS = 12 };
static struct lull__shazptr_waiter waiters[WAITERS];

static uint64_t scans_counted(void)
{
	assert_int_equal(lull_load_relaxed(&lull_stats_page()->shazptr_scans), lull_shazptr_scan_count());
	return lull_shazptr_scan_count();
}

static bool is_listed(const struct lull_list_head *list, const struct lull__shazptr_waiter *w)
{
	struct lull__shazptr_waiter *at;

	lull_list_for_each_entry(at, list, list)
		if (at == w)
			return true;
	return false;
}

/* One scan: a waiter with no thread in the way goes on, the others stay on the list, with what is left for them. */
static void check_scan(int records)
{
	struct lull__shazptr_way wanted[WAITERS], left, wanted_left = { .groups = 0 };
	uint64_t scans = scans_counted();
	int released = 0;
	bool any = false;

	wakes = 0;
	for (int i = 0; i < WAITERS; i++) {
		wanted[i] = in_the_way(&waiters[i], records);
		if (waiters[i].done)
			continue;
		any = true;
		released += !wanted[i].groups;
		wanted_left.groups |= wanted[i].groups;
		wanted_left.unflagged |= wanted[i].unflagged;
		if (wanted[i].groups && wanted_left.tick < waiters[i].tick)
			wanted_left.tick = waiters[i].tick;
	}
	memset(&left, 0x5a, sizeof(left));
	scan_for_all(&left);
	check_way(&left, &wanted_left, wanted_left.tick);
	assert_int_equal(scans_counted(), scans + any);
	assert_true(lull_list_empty(&lull__shazptr.queued));
	assert_int_equal(wakes, released);
	assert_true(!released || woken_most == 1);
	for (int i = 0; i < WAITERS; i++) {
		if (!waiters[i].done)
			assert_int_equal(waiters[i].groups, wanted[i].groups);
		assert_int_equal(waiters[i].done, !waiters[i].groups);
		assert_int_equal(is_listed(&lull__shazptr.scanning, &waiters[i]), !waiters[i].done);
	}
}

TEST(scan_for_all)
{
	for (int round = 0; round < 200; round++) {
		int records = (int)random_below(40);

		malloc_most = round % 3 ? SIZE_MAX : 0; /* without memory each waiter's slots are visited */
		if (!malloc_most)
			free_snapshot();
		invent(records);
		for (int i = 0; i < WAITERS; i++) {
			waiters[i] = random_waiter();
			waiters[i].groups |= 1;
			lull_list_add_tail(&waiters[i].list, &lull__shazptr.queued);
		}
		check_scan(records);
		for (int i = 0; i < records; i++) /* some clear it, or take something else, and are not missed */
			if (random_below(3))
				invented[i].shazptr = random_word();
		check_scan(records);
		for (int i = 0; i < records; i++)
			invented[i].shazptr = 0;
		check_scan(records);
		for (int i = 0; i < WAITERS; i++)
			assert_int_equal(waiters[i].done, 1);
		check_scan(records); /* for no thread */
		forget();
	}
	malloc_most = SIZE_MAX;
	free_snapshot();
}

/* A waiter that gives up is off its list, whichever that is, and is told if it came too late. */
TEST(withdraw)
{
	struct lull__shazptr_way left;

	invent(1);
	invented[0].shazptr = (uintptr_t)&name[0];
	invented[0].shazptr_state = 0;
	memset(waiters, 0, sizeof(waiters));
	for (int i = 0; i < 3; i++) {
		waiters[i] = (struct lull__shazptr_waiter){ .ptr = (uintptr_t)&name[i == 1], .tick = 1, .groups = ~(uint64_t)0 };
		lull_list_add_tail(&waiters[i].list, &lull__shazptr.queued);
	}
	assert_false(lull__shazptr_withdraw(&waiters[2]));
	assert_false(is_listed(&lull__shazptr.queued, &waiters[2]));
	scan_for_all(&left);
	assert_true(is_listed(&lull__shazptr.scanning, &waiters[0]));
	assert_true(lull__shazptr_withdraw(&waiters[1]));
	assert_false(lull__shazptr_withdraw(&waiters[0]));
	assert_true(lull_list_empty(&lull__shazptr.scanning));
	assert_int_equal(waiters[0].done, 0);
	forget();
	free_snapshot();
}

/* ---- threads come ---------------------------------------------------------------------------------------------------- */

struct newcomer {
	uintptr_t word;
	uint64_t state;
	uint32_t group;
};

static void *registers(void *arg)
{
	struct newcomer *newcomer = (struct newcomer *)arg;

	lull_thread_register();
	*newcomer = (struct newcomer){ lull__self.shazptr, lull__self.shazptr_state, lull__self.shazptr_group };
	return NULL;
}

/* Its slot is as if it had just been cleared, so that no waiter of before waits for it. Groups are taken in turn. */
TEST(newcomers)
{
	struct newcomer last = { 0, 0, 0 }, newcomer;

	for (uint32_t i = 0; i < 70; i++) {
		lull_add_relaxed(&lull__shazptr.clock, (uint64_t)3);
		join_thread(start_thread(registers, &newcomer));
		assert_int_equal(newcomer.word, 0);
		assert_int_equal(newcomer.state, lull__shazptr.clock * LULL__SHAZPTR_STAMP);
		if (i)
			assert_int_equal(newcomer.group, (last.group + 1) % LULL__SHAZPTR_GROUPS);
		last = newcomer;
	}
}

/* ---- waiters come -------------------------------------------------------------------------------------------------- */

/* @told: all threads that scan have heard that there is something new. */
static void check_told(bool told, uint32_t events)
{
	assert_int_equal(lull__shazptr.event, events + told);
	assert_int_equal(wakes, told);
	if (told) {
		assert_ptr_equal(woken, &lull__shazptr.event);
		assert_int_equal(woken_most, INT_MAX);
	}
	wakes = 0;
}

/* The first one starts the thread; each wakes it. Where that fails one line is all that tells. */
TEST(enqueue)
{
	uint32_t events = lull__shazptr.event;

	memset(waiters, 0, sizeof(waiters));
	start_hearing();
	wakes = starts = 0;
	start_error = EAGAIN;
	for (int i = 1; i <= 3; i++) {
		assert_false(lull__shazptr_enqueue(&waiters[0]));
		assert_int_equal(starts, i);
		assert_false(lull__shazptr.running);
		assert_true(lull_list_empty(&lull__shazptr.queued));
		check_told(false, events);
		assert_int_equal(heard_lines, 1);
	}
	assert_string_equal(heard, "cannot start the scanning thread of simple hazard pointers (Resource temporarily unavailable): "
				   "each waiting thread scans for itself");
	starts = start_error = 0;
	for (int i = 0; i < 3; i++) {
		assert_true(lull__shazptr_enqueue(&waiters[i]));
		assert_int_equal(starts, 1);
		assert_true(lull__shazptr.running);
		assert_ptr_equal(lull__shazptr.queued.prev, &waiters[i].list);
		check_told(true, events + (uint32_t)i);
	}
	assert_string_equal(started, "lull-scan");
	assert_int_equal(heard_lines, 1);
	stop_hearing();
	for (int i = 0; i < 3; i++)
		assert_false(lull__shazptr_withdraw(&waiters[i]));
	lull__shazptr.running = false;
}

/* ---- readers let go ------------------------------------------------------------------------------------------------- */

static void check_let_go(bool asked, uint32_t events)
{
	assert_int_equal(lull__self.shazptr, 0);
	assert_int_equal(lull__self.shazptr_nested, 0);
	assert_false(lull__self.shazptr_state & LULL__SHAZPTR_WAITED);
	if (asked)
		assert_int_equal(lull__self.shazptr_state, lull__shazptr.clock * LULL__SHAZPTR_STAMP);
	check_told(asked, events);
}

/* A thread that is asked to says so when it clears its slot, also by its exit, whose line says how deep it was. */
TEST(let_go)
{
	wakes = 0;
	lull_store_relaxed(&lull__self.shazptr_state, (uint64_t)0); /* this thread has been asked before */
	for (int asked = 0; asked < 2; asked++) {
		uint64_t bit = asked ? LULL__SHAZPTR_WAITED : 0;
		struct lull_shazptr_guard guard = lull_shazptr_acquire(&name[0]);
		uint32_t events = lull__shazptr.event;

		lull_or_relaxed(&lull__self.shazptr_state, bit);
		lull_shazptr_clear(guard);
		check_let_go(asked, events);

		start_hearing();
		lull_shazptr_acquire(&name[0]);
		lull_shazptr_acquire(&name[1]);
		events = lull__shazptr.event;
		lull_or_relaxed(&lull__self.shazptr_state, bit);
		lull__shazptr_thread_exit();
		check_let_go(asked, events);
		assert_int_equal(heard_lines, 1);
		assert_non_null(strstr(heard, "exits with its simple hazard pointer in use (depth 2); it is cleared here"));
		lull__shazptr_thread_exit();
		assert_int_equal(heard_lines, 1);
		stop_hearing();
	}
}

/* ---- a waiter without the thread ------------------------------------------------------------------------------------ */

static bool another_comes(int nth)
{
	if (nth == 1) {
		invented[1].shazptr = (uintptr_t)&name[0];
		invented[1].shazptr_state = LULL__SHAZPTR_STAMP; /* of a thread that has not been asked */
	}
	if (nth == 3)
		invented[0].shazptr = invented[1].shazptr = 0;
	return true;
}

static bool time_is_up(int nth)
{
	return nth < 2;
}

/* It asks each reader to be woken by it once, and looks again by the clock: soon after that, then more and more rarely. */
TEST(alone)
{
	static const uint64_t wanted_us[] = { 100, 400, 100, 400 };
	uint64_t scans = scans_counted();

	for (int i = 0; i < 2; i++) {
		struct lull__shazptr_waiter w = { .ptr = (uintptr_t)&name[0], .tick = 5, .groups = ~(uint64_t)0 };

		invent(2);
		for (int j = 0; j < 2; j++) {
			invented[j].shazptr = j ? 0 : (uintptr_t)&name[0];
			invented[j].shazptr_state = 0;
			invented[j].shazptr_group = 7;
		}
		naps = 0;
		after_nap = i ? time_is_up : another_comes;
		assert_int_equal(wait_alone(&w, NULL, LULL__NEVER), i == 0);
		assert_int_equal(naps, i ? 3 : 4);
		for (int j = 0; i == 0 && j < 4; j++)
			assert_int_equal(slept_ns[j], wanted_us[j] * 1000);
		for (int j = 0; i == 0 && j < 4; j++)
			assert_int_equal(blamed[j], j < 2 ? 1 : 2);
		assert_int_equal(invented[0].shazptr_state, LULL__SHAZPTR_WAITED);
		assert_int_equal(w.groups, i ? (uint64_t)1 << 7 : 0);
		assert_int_equal(scans_counted() - scans, i ? 7 + 4 : 7);
		forget();
	}
}

/* ---- its end -------------------------------------------------------------------------------------------------------- */

static int ended; /* 1: yes; 2: no */

static void *ends_unless_needed(void *unused)
{
	lull_store_release(&ended, end_unless_needed() ? 1 : 2);
	return unused;
}

static bool would_end(void)
{
	pthread_t thread = start_thread(ends_unless_needed, NULL);

	AWAIT(lull_load_acquire(&ended));
	if (ended == 2)
		join_thread(thread); /* else it is never joined */
	return lull_xchg_relaxed(&ended, 0) == 1;
}

/* The thread ends, with its snapshot, if no thread waits, and exit() has not come to wait for it. */
TEST(end)
{
	lull__shazptr.running = true;
	assert_true(make_room(1));
	lull_list_add_tail(&waiters[0].list, &lull__shazptr.queued);
	assert_false(would_end());
	lull_list_del(&waiters[0].list);
	lull__shazptr.stop = 1;
	assert_false(would_end());
	assert_true(lull__shazptr.running);
	assert_non_null(lull__shazptr.snapshot);
	lull__shazptr.stop = 0;
	assert_true(would_end());
	assert_false(lull__shazptr.running);
	assert_null(lull__shazptr.snapshot);
	assert_int_equal(blocks, 0);
}

/* Also after a test that failed. */
TEARDOWN
{
	forget();
	assert_int_equal(lull__shazptr.lock.word, 0);
	malloc_most = SIZE_MAX;
	lull_list_init(&lull__shazptr.queued);
	lull_list_init(&lull__shazptr.scanning);
	lull__shazptr.running = false;
}

BEFORE_ALL
{
	lull_thread_register();
	alarm(100);
}
