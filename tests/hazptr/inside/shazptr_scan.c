/* SPDX-License-Identifier: MIT */
/* runs: alone */
/*
 * shazptr_scan.c - scans of simple hazard pointers, from the inside: this program contains their source, and invents
 * the records of threads, and waiters.
 */
#include <lull/shazptr.h>
#include <lull/stats.h>

#include "threads.h"

#include "../src/base/registry.h"
#include "../src/base/wait.h"

static int words_told, events_told; /* how many threads were woken on words of their own, and how often the one that leads */

/* Each begins with a time, and ends when a sleep has lasted for this long; then something happens. */
static uint64_t clock_ns = 1000000u, slept_ns[10];
static unsigned blamed[10];
static int naps;
static bool (*after_nap)(int nth);

static void note_wake(const uint32_t *word, int how_many);
static bool nap_instead(struct lull__wait *wait, const uint32_t *word, uint32_t value, uint64_t deadline_ns, uint64_t again_ns,
			lull__blame blame, void *arg);

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
#define lull__futex_wake(word, how_many) note_wake(word, how_many)
#define lull__now_ns()			 clock_ns
#define lull__is_past(deadline_ns)	 ((deadline_ns) != LULL__NEVER && clock_ns >= (deadline_ns))
#define lull__wait_sleep(wait, word, value, deadline_ns, again_ns, blame, arg, report)             \
	nap_instead(wait, word, value, deadline_ns, again_ns, blame, arg)
#include "../src/hazptr/shazptr_scan.c"
#include "../src/hazptr/shazptr.c"
#undef lull__unlock

static void note_wake(const uint32_t *word, int how_many)
{
	bool event = word == &lull__shazptr.event;

	assert_int_equal(how_many, event ? INT_MAX : 1);
	events_told += event;
	words_told += !event;
}

/* Sleep: the leader on the event, another one on its word. */
static bool nap_instead(struct lull__wait *wait, const uint32_t *word, uint32_t value, uint64_t deadline_ns, uint64_t again_ns,
			lull__blame blame, void *arg)
{
	struct lull__shazptr_waiter *w = (struct lull__shazptr_waiter *)arg;
	struct lull_stall first[LULL__BLAME_MOST + 1];
	unsigned holders = 0;

	assert_null(wait);
	assert_ptr_equal(word, w == lull__shazptr.leader ? &lull__shazptr.event : &w->word);
	assert_int_equal(*word, value);
	assert_int_equal(deadline_ns, LULL__NEVER);
	slept_ns[naps] = again_ns - clock_ns;
	memset(first, 0x5a, sizeof(first));
	blamed[naps] = blame(arg, first, &holders);
	assert_int_equal(holders, blamed[naps]);
	assert_int_equal(first[0].slots, holders);
	clock_ns = again_ns;
	return after_nap(naps++);
}

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

static struct lull__shazptr_waiter random_waiter(void)
{
	struct lull__shazptr_waiter w = { .ptr = random_name() };

	w.tick = random_below(MOST_TICK + 2);
	w.groups = random_groups();
	return w;
}

/* Find what is in the way of @w, in the source's words: the name or the wildcard, with a stamp from before the tick. */
static struct way in_the_way(const struct lull__shazptr_waiter *w, int count)
{
	struct way way = { .groups = 0 };

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

/* ---- one scan ------------------------------------------------------------------------------------------------------ */

static void check_way(const struct way *found, const struct way *wanted, uint64_t tick)
{
	assert_int_equal(found->groups, wanted->groups);
	assert_int_equal(found->unflagged, wanted->unflagged);
	assert_int_equal(found->tick, wanted->groups ? tick : 0);
}

/* Have @w wait, as the only one, and scan. */
static void scan_for(struct lull__shazptr_waiter *w, struct way *way)
{
	memset(way, 0x5a, sizeof(*way));
	lull_list_add_tail(&w->list, &lull__shazptr.waiters);
	scan_for_all(way);
	assert_int_equal(w->word, w->groups ? LULL__SHAZPTR_LEADS : LULL__SHAZPTR_DONE);
	if (w->groups)
		leave_line(w);
}

/* The look by the caller and the one for all find the same. */
TEST(in_the_way)
{
	int held_up = 0;

	for (int round = 0; round < 300; round++) {
		int count = (int)random_below(round % 2 ? RECORDS : 6);

		invent(count);
		for (int i = 0; i < 20; i++) {
			struct lull__shazptr_waiter w = random_waiter();
			struct way wanted = in_the_way(&w, count), way;

			assert_int_equal(lull__shazptr_visit(&w) & w.groups, wanted.groups);
			scan_for(&w, &way);
			check_way(&way, &wanted, w.tick);
			assert_int_equal(w.groups, wanted.groups);
			held_up += wanted.groups != 0;
		}
		forget();
	}
	assert_in_range(held_up, 1000, 5000); /* of 6000 */
}

/* None is left out, whatever number are copied at a time. */
TEST(each_slot)
{
	static const int numbers[] = { 1, 2, 63, 64, 65, 127, 128, 129, 192, RECORDS };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		for (int one = 0; one < numbers[i]; one++) {
			struct lull__shazptr_waiter w = { .ptr = (uintptr_t)&name[0], .tick = 1, .groups = ~(uint64_t)0 };
			struct way way;

			invent(numbers[i]);
			for (int j = 0; j < numbers[i]; j++) {
				invented[j].shazptr = (uintptr_t)&name[j == one ? 0 : 1];
				invented[j].shazptr_state = 0;
				invented[j].shazptr_group = (uint32_t)j % LULL__SHAZPTR_GROUPS;
			}
			scan_for(&w, &way);
			assert_int_equal(way.groups, (uint64_t)1 << one % LULL__SHAZPTR_GROUPS);
			forget();
		}
}

/* All of these groups whose stamp is older; whatever they hold now. */
TEST(flag)
{
	static uint64_t before[RECORDS];

	for (int round = 0; round < 100; round++) {
		struct way way = { .groups = random_groups(), .tick = random_below(MOST_TICK + 2) };

		invent(RECORDS);
		for (int i = 0; i < RECORDS; i++)
			before[i] = invented[i].shazptr_state;
		flag_slots(&way);
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
		assert_int_equal(shazptr_nap_ns(&shift), naps_us[i] * 1000);
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

/* The words of those that wait: the oldest leads. */
static void check_words(void)
{
	bool first = true;

	for (int i = 0; i < WAITERS; i++) {
		bool waits_still = is_listed(&lull__shazptr.waiters, &waiters[i]);

		assert_int_equal(waiters[i].word, !waits_still ? LULL__SHAZPTR_DONE :
						  first ? LULL__SHAZPTR_LEADS : LULL__SHAZPTR_WAITS);
		if (waits_still && first)
			assert_ptr_equal(lull__shazptr.leader, &waiters[i]);
		first &= !waits_still;
	}
	if (first)
		assert_null(lull__shazptr.leader);
}

/* One scan: a waiter with no thread in the way goes on, the others stay on the list, with what is left for them. */
static void check_scan(int records)
{
	struct way wanted[WAITERS], left, wanted_left = { .groups = 0 };
	const struct lull__shazptr_waiter *leader = lull__shazptr.leader;
	uint64_t scans = scans_counted();
	int released = 0;

	words_told = events_told = 0;
	for (int i = 0; i < WAITERS; i++) {
		wanted[i] = in_the_way(&waiters[i], records);
		if (waiters[i].word == LULL__SHAZPTR_DONE)
			continue;
		released += !wanted[i].groups;
		wanted_left.groups |= wanted[i].groups;
		wanted_left.unflagged |= wanted[i].unflagged;
		if (wanted[i].groups && wanted_left.tick < waiters[i].tick)
			wanted_left.tick = waiters[i].tick;
	}
	memset(&left, 0x5a, sizeof(left));
	scan_for_all(&left);
	check_way(&left, &wanted_left, wanted_left.tick);
	assert_int_equal(scans_counted(), scans + 1);
	for (int i = 0; i < WAITERS; i++) {
		if (waiters[i].word != LULL__SHAZPTR_DONE)
			assert_int_equal(waiters[i].groups, wanted[i].groups);
		assert_int_equal(waiters[i].word == LULL__SHAZPTR_DONE, !waiters[i].groups);
	}
	check_words();
	/* Each that goes on is told, and each that leads now; one that led and was sleeping on the event, too. */
	assert_int_equal(words_told, released + (lull__shazptr.leader && lull__shazptr.leader != leader));
	assert_int_equal(events_told, leader && lull__shazptr.leader != leader);
}

TEST(scan_for_all)
{
	for (int round = 0; round < 200; round++) {
		int records = (int)random_below(40);

		invent(records);
		for (int i = 0; i < WAITERS; i++) {
			waiters[i] = random_waiter();
			waiters[i].groups |= 1;
			lull_list_add_tail(&waiters[i].list, &lull__shazptr.waiters);
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
			assert_int_equal(waiters[i].word, LULL__SHAZPTR_DONE);
		forget();
	}
}

/* ---- the lead -------------------------------------------------------------------------------------------------------- */

static void expect_told(int words, int events)
{
	assert_int_equal(words_told, words);
	assert_int_equal(events_told, events);
	words_told = events_told = 0;
}

/* Let @count wait, for another name each; readers are in the way of all. */
static void have_waiters(int count)
{
	invent(count);
	memset(waiters, 0, sizeof(waiters));
	words_told = events_told = 0;
	for (int i = 0; i < count; i++) {
		uint32_t events = lull__shazptr.event;

		invented[i].shazptr = (uintptr_t)&name[i];
		invented[i].shazptr_state = 0;
		waiters[i] = (struct lull__shazptr_waiter){ .ptr = (uintptr_t)&name[i], .tick = 1, .groups = ~(uint64_t)0 };
		enqueue(&waiters[i]);
		assert_ptr_equal(waits, &waiters[i]);
		assert_ptr_equal(lull__shazptr.waiters.prev, &waiters[i].list);
		assert_int_equal(lull__shazptr.event, events + (i > 0));
		waits = NULL; /* as if another thread did it */
	}
	assert_ptr_equal(lull__shazptr.leader, count ? &waiters[0] : NULL);
	for (int i = 0; i < count; i++)
		assert_int_equal(waiters[i].word, i ? LULL__SHAZPTR_WAITS : LULL__SHAZPTR_LEADS);
}

/* The first that comes leads, at once, and no system call is made; each one that comes later tells it. */
TEST(first_leads)
{
	have_waiters(1);
	expect_told(0, 0);
	assert_false(withdraw(&waiters[0]));
	assert_null(lull__shazptr.leader);
	forget();
	have_waiters(3);
	expect_told(0, 2);
	forget();
}

/* A leader that gives up hands the lead on, to the oldest one; another one just goes. Who is done already, is. */
TEST(withdraw)
{
	struct way left;

	have_waiters(4);
	words_told = events_told = 0;
	assert_false(withdraw(&waiters[1]));
	expect_told(0, 0);
	assert_ptr_equal(lull__shazptr.leader, &waiters[0]);
	lull_store_relaxed(&lull__shazptr.asleep_at, (uint64_t)lull__shazptr.event + 1);
	assert_false(withdraw(&waiters[0]));
	expect_told(1, 0);
	assert_int_equal(waiters[2].word, LULL__SHAZPTR_LEADS);
	assert_ptr_equal(lull__shazptr.leader, &waiters[2]);
	assert_false(leader_sleeps());
	invented[3].shazptr = 0;
	scan_for_all(&left);
	assert_true(withdraw(&waiters[3]));
	assert_false(withdraw(&waiters[2]));
	assert_true(lull_list_empty(&lull__shazptr.waiters));
	assert_null(lull__shazptr.leader);
	forget();
}

/* A leader that seems not to run leads no more, is woken if it sleeps, and is the last to lead again. */
TEST(take_lead)
{
	struct way left;
	uint32_t events;

	have_waiters(3);
	words_told = events_told = 0;
	events = lull__shazptr.event;
	take_lead(&waiters[1]);
	expect_told(2, 1);
	assert_int_equal(lull__shazptr.event, events + 1);
	assert_ptr_equal(lull__shazptr.leader, &waiters[1]);
	assert_int_equal(waiters[0].word, LULL__SHAZPTR_WAITS);
	assert_int_equal(waiters[1].word, LULL__SHAZPTR_LEADS);
	assert_ptr_equal(lull__shazptr.waiters.prev, &waiters[0].list);
	/* Whoever leads or is done, does not take it. */
	take_lead(&waiters[1]);
	invented[2].shazptr = 0;
	scan_for_all(&left);
	take_lead(&waiters[2]);
	assert_int_equal(waiters[2].word, LULL__SHAZPTR_DONE);
	assert_ptr_equal(lull__shazptr.leader, &waiters[1]);
	assert_false(withdraw(&waiters[1]));
	assert_ptr_equal(lull__shazptr.leader, &waiters[0]);
	forget();
}

enum { RUNS, SLEEPS, IS_STUCK };
static int leader_does;

static bool leader_goes_on(int nth)
{
	struct way left;

	(void)nth;
	if (leader_does == RUNS)
		scan_for_all(&left);
	return true;
}

/* Another one looks after a millisecond, then more rarely, and takes the lead if the leader has neither scanned nor a reason to sleep. */
TEST(follow)
{
	static const unsigned wanted_ms[] = { 1, 2, 4, 8, 16, 32, 32, 32 };

	for (leader_does = RUNS; leader_does <= IS_STUCK; leader_does++) {
		unsigned doubled = 0;

		have_waiters(2);
		after_nap = leader_goes_on;
		naps = 0;
		lull_store_relaxed(&lull__shazptr.asleep_at, (uint64_t)lull__shazptr.event + (leader_does == SLEEPS));
		for (int i = 0; i < (leader_does == IS_STUCK ? 1 : 8); i++) {
			assert_ptr_equal(lull__shazptr.leader, &waiters[0]);
			assert_true(follow(&waiters[1], NULL, LULL__NEVER, &doubled));
			assert_int_equal(naps, i + 1);
			assert_int_equal(slept_ns[i], wanted_ms[i] * 1000000u);
		}
		assert_ptr_equal(lull__shazptr.leader, &waiters[leader_does == IS_STUCK]);
		lull_list_init(&lull__shazptr.waiters);
		lull__shazptr.leader = NULL;
		forget();
	}
}

/* In a forked child there is no other waiter; one that waits amid the handler that forks is done, and does not go to sleep. */
TEST(fork_child)
{
	uint32_t events;

	for (int i = 0; i < 3; i++) {
		have_waiters(2);
		lull__lock(&lull__shazptr.lock);
		waits = i < 2 ? &waiters[i] : NULL;
		events = lull__shazptr.event;
		lull__shazptr_fork_child(0);
		assert_int_equal(lull__shazptr.lock.word, 0);
		assert_true(lull_list_empty(&lull__shazptr.waiters));
		assert_null(lull__shazptr.leader);
		assert_true(i == 2 || (waiters[i].word == LULL__SHAZPTR_DONE && lull__shazptr.event != events));
		waits = NULL;
		forget();
	}
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

/* ---- readers let go ------------------------------------------------------------------------------------------------- */

static void check_let_go(bool asked, uint32_t events)
{
	assert_int_equal(lull__self.shazptr, 0);
	assert_int_equal(lull__self.shazptr_nested, 0);
	assert_false(lull__self.shazptr_state & LULL__SHAZPTR_WAITED);
	if (asked)
		assert_int_equal(lull__self.shazptr_state, lull__shazptr.clock * LULL__SHAZPTR_STAMP);
	assert_int_equal(lull__shazptr.event, events + asked);
	expect_told(0, asked);
}

/* A thread that is asked to says so when it clears its slot, also by its exit, whose line says how deep it was. */
TEST(let_go)
{
	words_told = events_told = 0;
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

/* ---- a waiter that leads -------------------------------------------------------------------------------------------- */

/* Only from the second nap on the leader sleeps until something happens. */
static bool another_comes(int nth)
{
	assert_int_equal(leader_sleeps(), nth % 2);
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
TEST(lead)
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
		words_told = events_told = 0;
		assert_int_equal(wait_in_line(&w, NULL, LULL__NEVER), i == 0);
		expect_told(0, 0);
		assert_true(lull_list_empty(&lull__shazptr.waiters));
		assert_int_equal(naps, i ? 3 : 4);
		for (int j = 0; i == 0 && j < 4; j++)
			assert_int_equal(slept_ns[j], wanted_us[j] * 1000);
		for (int j = 0; i == 0 && j < 4; j++)
			assert_int_equal(blamed[j], j < 2 ? 1 : 2);
		assert_int_equal(invented[0].shazptr_state, LULL__SHAZPTR_WAITED);
		assert_int_equal(w.groups, i ? (uint64_t)1 << 7 : 0);
		assert_int_equal(scans_counted() - scans, i ? 7 + 4 : 7);
		waits = NULL;
		forget();
	}
}

/* Also after a test that failed. */
TEARDOWN
{
	forget();
	assert_int_equal(lull__shazptr.lock.word, 0);
	lull_list_init(&lull__shazptr.waiters);
	lull__shazptr.leader = NULL;
	waits = NULL;
}

BEFORE_ALL
{
	lull_thread_register();
	alarm(100);
}
