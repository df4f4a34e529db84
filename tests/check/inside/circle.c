/* SPDX-License-Identifier: MIT */
/*
 * circle.c - src/check/deadlock.c over threads, locks and a clock made up for each case: what is a circle, also when all
 * changes while it is read.
 */
#include "test.h"

#ifdef LULL_DEBUG
#define lull__peek		peek_at_lock
#define lull__owner_wish	wish_of_thread
#define lull__owner_set_wish	set_wish
#define lull__now_ns		now_made_up
#define lull__die		say_and_end
#define lull__thread_words	words_of_thread
#define lull__deadlock_check	check_for_deadlock
#include "../src/check/deadlock.c"

#define THREADS 20

/* Thread number n has lock n and waits for lock waits_for[n]; -1: it waits for none. */
static struct lull_mutex lock[THREADS];
static int waits_for[THREADS];
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

bool peek_at_lock(const uint32_t *from, uint32_t *to)
{
	count_read();
	*to = *from;
	return true;
}

bool wish_of_thread(uint32_t tid, struct lull__owner_wish *wish)
{
	int n = (int)(tid - TID(0));

	count_read();
	if (n < 0 || n >= THREADS || waits_for[n] < 0)
		return false;
	*wish = (struct lull__owner_wish){ tid, seq[n], &lock[waits_for[n]] };
	return true;
}

static const struct lull_mutex *wanted_lock;

void set_wish(const struct lull_mutex *m)
{
	wanted_lock = m;
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
	longjmp(ended, 1);
}

/* The first @n threads wait for each other in a circle, and the others for nothing. */
static void make_circle(int n)
{
	for (int i = 0; i < THREADS; i++) {
		lock[i].word = TID(i);
		waits_for[i] = i < n ? (i + 1) % n : -1;
		seq[i] = 10;
	}
	reads = 0;
	change_at = -1;
}

static unsigned find(void)
{
	struct lull__owner_wish cycle[CYCLE_MAX];
	unsigned n = find_cycle(TID(0), cycle);

	for (unsigned i = 0; i < n; i++)
		assert_true(cycle[i].tid == TID(i) && cycle[i].waits == &lock[waits_for[i]]);
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
	assert_ptr_equal(wanted_lock, &lock[1]);
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
	/* A thread that waits for nothing is in no circle. */
	check_for_deadlock(NULL, TID(0));
	assert_null(wanted_lock);
}
#else
TEST(in_debug_builds)
{
	SKIP("only debug builds have this check");
}
#endif
