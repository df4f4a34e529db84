/* SPDX-License-Identifier: MIT */
/*
 * circle.c - src/check/deadlock.c over threads, locks and a clock made up for each case: what is a circle, also when all
 * changes while it is read.
 */
#include "test.h"

#include <lull/mutex.h>

#ifdef LULL_DEBUG
#define lull__waits_of		wish_of_thread
#define lull__holders_of	holders_of_wish
#define lull__now_ns		now_made_up
#define lull__die		say_and_end
#define lull__thread_words	words_of_thread
#define lull__deadlock_check	check_for_deadlock
#define lull__deadlock_look	look_for_deadlock
#include "../src/check/deadlock.c"

#define THREADS 20

/* Thread number n has lock n and waits for lock waits_for[n]; -1: it waits for none. */
static struct lull_mutex lock[THREADS];
static int waits_for[THREADS];
static enum lull__awaits kind[THREADS];
static uint32_t seq[THREADS];
static uint64_t clock_ns;

/* Another thread's act after so many reads: release lock @change, or wait anew. */
static int reads, change_at, change;
static enum { UNLOCKS, WAITS_ANEW, WAITS_NO_MORE } how;

#define TID(n) ((uint32_t)(n) + 500)

static void count_read(void)
{
	if (reads++ != change_at)
		return;
	if (how == UNLOCKS)
		lock[change].word = 0;
	else if (how == WAITS_ANEW)
		seq[change]++;
	else
		waits_for[change] = -1;
}

bool wish_of_thread(uint32_t tid, struct lull__wish *wish)
{
	int n = (int)(tid - TID(0));

	count_read();
	if (n < 0 || n >= THREADS || waits_for[n] < 0)
		return false;
	*wish = (struct lull__wish){ .tid = tid, .seq = seq[n], .of = { .kind = kind[n], .what = &lock[waits_for[n]] } };
	return true;
}

/* The last of several holders is the one in the circle. */
static int bystanders;

unsigned holders_of_wish(const struct lull__wish *wish, uint32_t tids[LULL__HOLDERS_MOST])
{
	const struct lull_mutex *m = (const struct lull_mutex *)wish->of.what;
	unsigned count = 0;
	uint32_t holder;

	count_read();
	holder = m->word & LULL__MUTEX_TID;
	for (int i = 0; i < bystanders; i++)
		tids[count++] = TID(THREADS - 1 - i);
	if (holder)
		tids[count++] = holder;
	return count;
}

uint64_t now_made_up(void)
{
	return clock_ns;
}

struct lull__thread_words words_of_thread(uint32_t tid)
{
	struct lull__thread_words words;

	snprintf(words.text, sizeof(words.text), "thread %u", tid);
	return words;
}

static char line[512];
static jmp_buf ended;

void say_and_end(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	check_for_deadlock(&lock[1], TID(0)); /* as a hook for messages that wants a mutex */
	longjmp(ended, 1);
}

/* The first @n threads wait for each other in a circle, and the others for nothing. */
static void make_circle(int n)
{
	for (int i = 0; i < THREADS; i++) {
		lock[i].word = TID(i);
		waits_for[i] = i < n ? (i + 1) % n : -1;
		seq[i] = 10;
		kind[i] = LULL__AWAITS_MUTEX;
	}
	bystanders = 0;
	reads = 0;
	change_at = -1;
}

static unsigned find(void)
{
	struct cycle_search s;
	unsigned n = find_cycle(TID(0), &s);

	for (unsigned i = 0; i < n; i++)
		assert_true(s.way[i].tid == TID(i) && s.way[i].of.what == &lock[waits_for[i]]);
	return n;
}

TEST(find)
{
	for (int n = 2; n <= CYCLE_MAX; n++) {
		make_circle(n);
		assert_int_equal(find(), n);
	}
	make_circle(CYCLE_MAX + 1); /* too long to be followed */
	assert_int_equal(find(), 0);
	make_circle(1); /* it has just been handed the lock */
	assert_int_equal(find(), 0);
	make_circle(3);
	waits_for[2] = -1; /* the last one runs */
	assert_int_equal(find(), 0);
	make_circle(3);
	lock[2].word = 0;
	assert_int_equal(find(), 0);
	make_circle(3);
	waits_for[2] = 1; /* a circle that the caller is not in */
	assert_int_equal(find(), 0);
	make_circle(3);
	lock[1].word |= 0x80000000u; /* others wait for it, too */
	assert_int_equal(find(), 3);
}

/* Of several that hold a thread up, any may be the next of the circle; the others may wait, run, or be in another circle. */
TEST(branches)
{
	for (int n = 2; n <= 3; n++)
		for (int i = 0; i < (int)LULL__HOLDERS_MOST; i++) {
			make_circle(n);
			bystanders = i;
			for (int by = 0; by < i; by++)
				waits_for[THREADS - 1 - by] = by % 2 ? THREADS - 1 - by : -1;
			assert_int_equal(find(), n);
		}
	make_circle(2);
	bystanders = 1;
	waits_for[1] = -1;
	assert_int_equal(find(), 0);
}

/* All of them wait for all others: the way leads through each thread once, so the search ends. */
TEST(bound)
{
	make_circle(CYCLE_MAX + 2);
	bystanders = (int)LULL__HOLDERS_MOST - 1;
	for (int i = 0; i < THREADS; i++)
		waits_for[i] = (i + 1) % THREADS == 0 ? 1 : (i + 1) % THREADS;
	assert_int_equal(find(), 0);
	assert_in_range(reads, 1, 2 * SEEN_MAX);
}

/* A change before the second read means no circle. Each of three threads, each way, each time. */
TEST(changes)
{
	for (int n = 2; n <= 3; n++)
		for (change = 0; change < n; change++)
			for (int which = 0; which <= 1; which++)
				for (int at = 0; at < 2 * n + 1; at++) {
					make_circle(n);
					how = which ? WAITS_ANEW : UNLOCKS;
					change_at = at;
					/* The first round's reads of it: 2 * thread, and 2 * thread + 1 of its lock. */
					if (how == UNLOCKS ? at > 2 * ((change + n - 1) % n) + 1 : at > 2 * change)
						assert_int_equal(find(), 0);
					else
						(void)find(); /* either way is right */
				}
	for (change = 0; change < 3; change++) {
		make_circle(3);
		how = WAITS_NO_MORE;
		change_at = 6; /* after the first round */
		assert_int_equal(find(), 0);
	}
}

static bool looks_again(void)
{
	if (setjmp(ended))
		return true;
	check_for_deadlock(&lock[1], TID(0));
	return false;
}

/* Two seconds long the same one: a thread that waited anew meanwhile made it another. */
TEST(lasts)
{
	char words[256];

	clock_ns = UINT64_C(1000000000000);
	make_circle(3);
	assert_false(looks_again());
	clock_ns += SURE_NS - 1;
	assert_false(looks_again());
	seq[2]++;
	assert_false(looks_again());
	clock_ns += 1;
	assert_false(looks_again());
	clock_ns += SURE_NS - 2;
	assert_false(looks_again());
	clock_ns += 1;
	assert_true(looks_again());
	snprintf(words, sizeof(words), "deadlock: thread %u waits for mutex %p, held by thread %u waits for mutex %p, held by thread "
		 "%u waits for mutex %p, held by the first", TID(0), (void *)&lock[1], TID(1), (void *)&lock[2], TID(2),
		 (void *)&lock[0]);
	assert_string_equal(line, words);
}

/* Who was stopped for a while, as by a debugger, may let go afterwards. */
TEST(stopped)
{
	clock_ns = UINT64_C(1000000000000);
	make_circle(3);
	said = 0;
	suspicion.said = false;
	for (int look = 1; look < SURE_LOOKS; look++) {
		assert_false(looks_again());
		clock_ns += 100 * (uint64_t)SURE_NS;
	}
	assert_true(looks_again());
}

/* What each kind of edge is called. */
TEST(words)
{
	static const struct {
		enum lull__awaits kind;
		const char *words;
	} rows[] = {
		{ LULL__AWAITS_GP, "waits for a grace period, which waits for the section of" },
		{ LULL__AWAITS_RECLAIMER, "waits in a barrier for callbacks on" },
		{ LULL__AWAITS_PARKED, "waits in a barrier for what a hazard pointer protects of" },
	};
	char wanted[256];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct lull__wish way[2] = { { .tid = 1, .of.kind = rows[i].kind }, { .tid = 2, .of.kind = rows[i].kind } };

		snprintf(wanted, sizeof(wanted), "deadlock: thread 1 %s thread 2 %s the first", rows[i].words, rows[i].words);
		if (!setjmp(ended)) {
			said = 0;
			print_cycle(way, 2);
		}
		assert_string_equal(line, wanted);
	}
}
#else
TEST(in_debug_builds)
{
	SKIP("only debug builds have this check");
}
#endif
