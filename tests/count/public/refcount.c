/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences */
/*
 * refcount.c - refcount.h: each call at random, against a plain number, misuse included, which is named once; a counter
 * that went wrong never leads to a free; the last put sees what was done before.
 */
#include <signal.h>

#include "hazptr/support.h"
#include "random.h"

#include <lull/refcount.h>

#define SATURATED ((unsigned)LULL_REFCOUNT_SATURATED)

SETUP
{
	start_hearing();
}

TEARDOWN
{
	stop_hearing();
}

/* ---- each call, at random ------------------------------------------------------------------------------------------- */

#define AT_END	 "it was at its end"
#define TOO_MANY "too many"
#define NO_TEST	 "the last one was dropped without a test"
#define MORE_PUT "more were put than got"

#define CALL(name, call) static bool name(struct lull_refcount *r, int n) { (void)n; return call; }

CALL(does_inc, (lull_refcount_inc(r), false))
CALL(does_add, (lull_refcount_add(r, n), false))
CALL(does_inc_not_zero, lull_refcount_inc_not_zero(r))
CALL(does_inc_not_zero_acquire, lull_refcount_inc_not_zero_acquire(r))
CALL(does_add_not_zero, lull_refcount_add_not_zero(r, n))
CALL(does_dec_and_test, lull_refcount_dec_and_test(r))
CALL(does_sub_and_test, lull_refcount_sub_and_test(r, n))
CALL(does_dec, (lull_refcount_dec(r), false))
CALL(does_dec_not_one, lull_refcount_dec_not_one(r))
CALL(does_dec_if_one, lull_refcount_dec_if_one(r))

enum kind { GET, GET_NOT_ZERO, PUT_TEST, PUT, PUT_NOT_ONE, PUT_IF_ONE };

static const struct call {
	bool (*run)(struct lull_refcount *r, int n);
	enum kind kind;
	bool many; /* else @n is 1 */
	const char *name;
} calls[] = {
	{ does_inc, GET, false, "lull_refcount_inc" },
	{ does_add, GET, true, "lull_refcount_add" },
	{ does_inc_not_zero, GET_NOT_ZERO, false, "lull_refcount_inc_not_zero" },
	{ does_inc_not_zero_acquire, GET_NOT_ZERO, false, "lull_refcount_inc_not_zero_acquire" },
	{ does_add_not_zero, GET_NOT_ZERO, true, "lull_refcount_add_not_zero" },
	{ does_dec_and_test, PUT_TEST, false, "lull_refcount_dec_and_test" },
	{ does_sub_and_test, PUT_TEST, true, "lull_refcount_sub_and_test" },
	{ does_dec, PUT, false, "lull_refcount_dec" },
	{ does_dec_not_one, PUT_NOT_ONE, false, "lull_refcount_dec_not_one" },
	{ does_dec_if_one, PUT_IF_ONE, false, "lull_refcount_dec_if_one" },
};

enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

/* The answer of a call that finds @count, which becomes what it leaves; @what is wrong with that, or NULL. */
static bool expected(const struct call *call, int n, int *count, const char **what)
{
	int old = *count;

	*what = NULL;
	switch (call->kind) {
	case GET_NOT_ZERO:
		if (old == 0)
			return false;
		/* fallthrough */
	case GET:
		*what = old == 0 ? AT_END : old < 0 || old > INT_MAX - n ? TOO_MANY : NULL;
		*count = *what ? LULL_REFCOUNT_SATURATED : old + n;
		return call->kind == GET_NOT_ZERO;
	case PUT_IF_ONE:
		*count = old == 1 ? 0 : old;
		return old == 1;
	case PUT_NOT_ONE:
		if (old == 1 || old < 0) /* the latter is known to be wrong already */
			return old < 0;
		/* fallthrough */
	case PUT:
		*what = old == 1 ? NO_TEST : old < 1 ? MORE_PUT : NULL;
		*count = *what ? LULL_REFCOUNT_SATURATED : old - 1;
		return call->kind == PUT_NOT_ONE;
	default:
		*what = old < n ? MORE_PUT : NULL;
		*count = *what ? LULL_REFCOUNT_SATURATED : old - n;
		return old == n;
	}
}

/* One line with the call, the address, the count and the mistake. */
static void check_heard(const struct lull_refcount *r, const char *name, int count, const char *what)
{
	char line[512];

	snprintf(line, sizeof(line), "%s: refcount %p had %d references: %s. It stays saturated, and its object is never freed",
		 name, (const void *)r, count, what);
	assert_string_equal(heard, line);
	assert_int_equal(heard_lines, 1);
}

/* Up to the very limits; what leads beyond is said once. */
static void call_at_random(struct lull_refcount *r, int *count, uint64_t *random)
{
	const struct call *call = &calls[dice(random, CALLS)];
	int old = *count, n = 1;
	const char *what;
	bool answer;

	if (call->many)
		switch (dice(random, 4)) {
		case 0:
			n = call->kind == PUT_TEST || old < 0 ? old : INT_MAX - old;
			n = old < 0 ? INT_MAX : n > 2 ? n - 2 + (int)dice(random, 3) : 1;
			n += n > 0 && n < INT_MAX;
			n = n < 1 ? INT_MAX : n;
			break;
		default:
			n = 1 + (int)dice(random, 7);
		}
	start_hearing();
	answer = expected(call, n, count, &what);
	assert_int_equal(call->run(r, n), answer);
	assert_int_equal(lull_refcount_read(r), (unsigned)*count);
	if (what && old != LULL_REFCOUNT_SATURATED)
		check_heard(r, call->name, old, what);
	else
		check_silence();
}

static struct lull_refcount three = LULL_REFCOUNT_INIT(3);

TEST(random)
{
	const int starts[] = { 0, 1, 2, 3, 100, INT_MAX, INT_MAX - 1, INT_MAX - 99, -1, -5, -7, LULL_REFCOUNT_SATURATED };
	uint64_t random = test_seed();

	assert_int_equal(lull_refcount_read(&three), 3);
	for (int life = 0; life < 10000; life++) {
		struct lull_refcount r = LULL_REFCOUNT_INIT(1);
		int count = life % 13 ? starts[life % 12] : 1;

		if (life % 13) {
			if (life % 2)
				lull_refcount_set(&r, count);
			else
				lull_refcount_set_release(&r, count);
		}
		assert_int_equal(lull_refcount_read(&r), (unsigned)count);
		for (int n = 0; n < 40; n++)
			call_at_random(&r, &count, &random);
	}
}

/* ---- misuse -------------------------------------------------------------------------------------------------------- */

/* Two threads have put references that do not exist, before either looks: one says so, for both. */
TEST(misuse_by_two)
{
	struct lull_refcount r = LULL_REFCOUNT_INIT(0);

	lull_sub_relaxed(&r.count, 2);
	lull__refcount_misuse(&r, "lull_refcount_dec_and_test", 0, -1);
	check_heard(&r, "lull_refcount_dec_and_test", 0, MORE_PUT);
	lull__refcount_misuse(&r, "lull_refcount_dec", -1, -1);
	check_heard(&r, "lull_refcount_dec_and_test", 0, MORE_PUT);
	assert_int_equal(lull_refcount_read(&r), SATURATED);
}

/* LULL_REFCOUNT_SATURATED is midway between 0 and INT_MIN: 2^30 wrong calls may happen before the first is seen. */
TEST(middle)
{
	struct lull_refcount r;

	assert_int_equal(LULL_REFCOUNT_SATURATED, -(1 << 30));
	for (int i = 0; i < 2; i++) {
		r.count = LULL_REFCOUNT_SATURATED + (i ? 1 : -1) * ((1 << 30) - 1);
		assert_true(r.count < 0);
		assert_true(lull_refcount_inc_not_zero(&r));
		assert_int_equal(lull_refcount_read(&r), SATURATED);
		r.count = LULL_REFCOUNT_SATURATED + (i ? 1 : -1) * ((1 << 30) - 1);
		assert_false(lull_refcount_dec_and_test(&r));
		assert_int_equal(lull_refcount_read(&r), SATURATED);
	}
}

/* Make two mistakes that no counter can see. */
TEST(not_detected)
{
	struct lull_refcount r = LULL_REFCOUNT_INIT(2);

	/* One holder puts twice, and frees the object of the other. */
	assert_false(lull_refcount_dec_and_test(&r));
	assert_true(lull_refcount_dec_and_test(&r));
	/* A get from zero is under way when a thread puts what it does not have. */
	lull_add_relaxed(&r.count, 1);
	assert_true(lull_refcount_dec_and_test(&r));
	check_silence();
}

/* ---- several threads that do wrong -------------------------------------------------------------- */

enum { STORMERS = 4, STORM = 100000 };

static struct {
	struct lull_refcount r;
	int round, ready, done, frees;
} storm;

static void *storm_run(void *arg)
{
	uint32_t random = (uint32_t)(uintptr_t)arg;

	for (int i = 0; i < STORM; i++) {
		random = random * 1664525u + 1013904223u;
		if ((random >> 16) % 3 == 0)
			lull_refcount_inc(&storm.r);
		else if (lull_refcount_dec_and_test(&storm.r))
			lull_add_relaxed(&storm.frees, 1);
	}
	return NULL;
}

/* Gets and puts, many more puts: it was wrong once, so it stays, and no thread may free. */
TEST(storm_after_saturation)
{
	pthread_t threads[STORMERS];

	memset(&storm, 0, sizeof(storm));
	assert_false(lull_refcount_dec_and_test(&storm.r));
	for (int i = 0; i < STORMERS; i++)
		threads[i] = start_thread(storm_run, (void *)(uintptr_t)(i + 1));
	for (int i = 0; i < STORMERS; i++)
		join_thread(threads[i]);
	assert_int_equal(storm.frees, 0);
	assert_true((int)lull_refcount_read(&storm.r) < INT_MIN / 4);
	assert_int_equal(heard_lines, 1);
}

enum { ROUNDS = 1000 };

static int lines;

static void count_line(const char *line)
{
	(void)line;
	lull_add_relaxed(&lines, 1);
}

/* All at once put references that do not exist. */
static void *puts_run(void *unused)
{
	for (int round = 1; round <= ROUNDS; round++) {
		lull_add_release(&storm.ready, 1);
		await_flag(&storm.round, round);
		if (lull_refcount_dec_and_test(&storm.r))
			lull_add_relaxed(&storm.frees, 1);
		lull_add_release(&storm.done, 1);
	}
	return unused;
}

/* Two references, four puts: one of them is the last, and of the two too many one is named. */
TEST(wrong_at_once)
{
	pthread_t threads[STORMERS];

	memset(&storm, 0, sizeof(storm));
	lull_debug_set_message_hook(count_line);
	for (int i = 0; i < STORMERS; i++)
		threads[i] = start_thread(puts_run, NULL);
	for (int round = 1; round <= ROUNDS; round++) {
		await_flag(&storm.ready, STORMERS * round);
		lull_refcount_set(&storm.r, 2);
		lull_store_relaxed(&lines, 0);
		lull_store_relaxed(&storm.frees, 0);
		lull_store_release(&storm.round, round);
		await_flag(&storm.done, STORMERS * round);
		assert_int_equal(lull_load_relaxed(&storm.frees), 1);
		assert_int_equal(lull_load_relaxed(&lines), 1);
		assert_true((int)lull_refcount_read(&storm.r) < 0);
	}
	for (int i = 0; i < STORMERS; i++)
		join_thread(threads[i]);
}

/* ---- threads that do right ------------------------------------------------------------------------ */

/* The thread that puts last finds what all have written, and no other there. */
static struct {
	struct lull_refcount r;
	int wrote[STORMERS]; /* plain: ordered by the count alone */
	int sum, frees;
} shared;

struct writer {
	pthread_t thread;
	int *wrote;
};

static void *writer_run(void *arg)
{
	struct writer *writer = (struct writer *)arg;

	for (int i = 0; i < STORM; i++) {
		if (i % 2)
			assert_true(lull_refcount_inc_not_zero(&shared.r));
		else
			lull_refcount_inc(&shared.r);
		++*writer->wrote;
		if (i % 3)
			lull_refcount_dec(&shared.r);
		else
			assert_true(lull_refcount_dec_not_one(&shared.r));
	}
	if (lull_refcount_dec_and_test(&shared.r)) {
		shared.frees++;
		for (int i = 0; i < STORMERS; i++)
			shared.sum += shared.wrote[i];
	}
	return NULL;
}

TEST(last_put_sees_all)
{
	struct writer writers[STORMERS];

	memset(&shared, 0, sizeof(shared));
	lull_refcount_set(&shared.r, STORMERS);
	for (int i = 0; i < STORMERS; i++) {
		writers[i].wrote = &shared.wrote[i];
		writers[i].thread = start_thread(writer_run, &writers[i]);
	}
	for (int i = 0; i < STORMERS; i++)
		join_thread(writers[i].thread);
	assert_int_equal(shared.frees, 1);
	assert_int_equal(shared.sum, STORMERS * STORM);
	assert_int_equal(lull_refcount_read(&shared.r), 0);
	check_silence();
}

/* Memory that becomes one object after the other, looked at by threads that may come a life too late. */
static struct {
	struct lull_refcount r;
	int life, copy; /* plain: written while there is no reference */
	int stop;
} slot;

static void *visitor_run(void *arg)
{
	int *visits = (int *)arg;

	while (!lull_load_relaxed(&slot.stop)) {
		if (!lull_refcount_inc_not_zero_acquire(&slot.r)) {
			sched_yield();
			continue;
		}
		assert_int_equal(slot.life, ~slot.copy);
		++*visits;
		/* The owner has its own until it finds itself alone. */
		lull_refcount_dec(&slot.r);
	}
	return NULL;
}

TEST(reuse)
{
	int visits[2] = { 0, 0 };
	pthread_t threads[2];

	memset(&slot, 0, sizeof(slot));
	for (int i = 0; i < 2; i++)
		threads[i] = start_thread(visitor_run, &visits[i]);
	for (int life = 1; life <= 20000; life++) {
		slot.life = life;
		slot.copy = ~life;
		lull_refcount_set_release(&slot.r, 1);
		if (life % 64 == 0)
			sched_yield();
		AWAIT_SOON(lull_refcount_dec_if_one(&slot.r));
	}
	lull_store_relaxed(&slot.stop, 1);
	for (int i = 0; i < 2; i++)
		join_thread(threads[i]);
	check_silence();
}

/* ---- signal handlers -------------------------------------------------------------------------------- */

static struct lull_refcount in_handler;

static void handler(int signo)
{
	(void)signo;
	lull_refcount_inc(&in_handler);
	assert_false(lull_refcount_dec_and_test(&in_handler));
	if (lull_refcount_read(&in_handler) == 1)
		assert_true(lull_refcount_dec_and_test(&in_handler));
	else
		lull_refcount_inc(&in_handler); /* wrong already: leave it so that the test is red */
}

TEST(signal_handler)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	lull_refcount_set(&in_handler, 1);
	raise(SIGUSR1);
	assert_int_equal(lull_refcount_read(&in_handler), 0);
	check_silence();
	raise(SIGUSR1);
	check_heard(&in_handler, "lull_refcount_inc", 0, AT_END);
	assert_true((int)lull_refcount_read(&in_handler) < 0);
}
