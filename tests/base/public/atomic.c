/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences */
/*
 * atomic.c - atomic.h: what each access returns and stores, that it has the order that its name says, and that
 * read-modify-writes of several threads come one after the other.
 */
#include "threads.h"

#include <lull/atomic.h>

/* ---- the order in the name ------------------------------------------------------------------------------------ */

/* Expand a macro, and give the text that the compiler sees. */
#define TEXT_OF(...)  TEXT_OF2(__VA_ARGS__)
#define TEXT_OF2(...) #__VA_ARGS__

#define RELAXED TEXT_OF(__ATOMIC_RELAXED)
#define ACQUIRE TEXT_OF(__ATOMIC_ACQUIRE)
#define RELEASE TEXT_OF(__ATOMIC_RELEASE)
#define ACQ_REL TEXT_OF(__ATOMIC_ACQ_REL)

static const struct spelled {
	const char *name, *text, *builtin, *orders;
} spelled[] = {
	{ "load_relaxed", TEXT_OF(lull_load_relaxed(p)), "__atomic_load_n((p), ", RELAXED },
	{ "load_acquire", TEXT_OF(lull_load_acquire(p)), "__atomic_load_n((p), ", ACQUIRE },
	{ "store_relaxed", TEXT_OF(lull_store_relaxed(p, v)), "__atomic_store_n((p), (v), ", RELAXED },
	{ "store_release", TEXT_OF(lull_store_release(p, v)), "__atomic_store_n((p), (v), ", RELEASE },
	{ "xchg_relaxed", TEXT_OF(lull_xchg_relaxed(p, v)), "__atomic_exchange_n((p), (v), ", RELAXED },
	{ "xchg_acquire", TEXT_OF(lull_xchg_acquire(p, v)), "__atomic_exchange_n((p), (v), ", ACQUIRE },
	{ "xchg_release", TEXT_OF(lull_xchg_release(p, v)), "__atomic_exchange_n((p), (v), ", RELEASE },
	{ "xchg_acq_rel", TEXT_OF(lull_xchg_acq_rel(p, v)), "__atomic_exchange_n((p), (v), ", ACQ_REL },
	{ "add_relaxed", TEXT_OF(lull_add_relaxed(p, v)), "__atomic_fetch_add((p), (v), ", RELAXED },
	{ "add_acquire", TEXT_OF(lull_add_acquire(p, v)), "__atomic_fetch_add((p), (v), ", ACQUIRE },
	{ "add_release", TEXT_OF(lull_add_release(p, v)), "__atomic_fetch_add((p), (v), ", RELEASE },
	{ "add_acq_rel", TEXT_OF(lull_add_acq_rel(p, v)), "__atomic_fetch_add((p), (v), ", ACQ_REL },
	{ "sub_relaxed", TEXT_OF(lull_sub_relaxed(p, v)), "__atomic_fetch_sub((p), (v), ", RELAXED },
	{ "sub_release", TEXT_OF(lull_sub_release(p, v)), "__atomic_fetch_sub((p), (v), ", RELEASE },
	{ "or_relaxed", TEXT_OF(lull_or_relaxed(p, v)), "__atomic_fetch_or((p), (v), ", RELAXED },
	{ "or_release", TEXT_OF(lull_or_release(p, v)), "__atomic_fetch_or((p), (v), ", RELEASE },
	{ "and_relaxed", TEXT_OF(lull_and_relaxed(p, v)), "__atomic_fetch_and((p), (v), ", RELAXED },
#define CAS "__atomic_compare_exchange_n((p), (old), (v), "
	/* Strong; and if it fails, it has at most loaded something. */
	{ "cas_relaxed", TEXT_OF(lull_cas_relaxed(p, old, v)), CAS, RELAXED ", " RELAXED },
	{ "cas_acquire", TEXT_OF(lull_cas_acquire(p, old, v)), CAS, ACQUIRE ", " RELAXED },
	{ "cas_release", TEXT_OF(lull_cas_release(p, old, v)), CAS, RELEASE ", " RELAXED },
	{ "cas_acq_rel", TEXT_OF(lull_cas_acq_rel(p, old, v)), CAS, ACQ_REL ", " ACQUIRE },
};

TEST(orders)
{
	for (size_t i = 0; i < sizeof(spelled) / sizeof(spelled[0]); i++) {
		const struct spelled *s = &spelled[i];
		bool is_cas = strncmp(s->name, "cas", 3) == 0;
		char wanted[256];

		snprintf(wanted, sizeof(wanted), "%s%s%s)", s->builtin, is_cas ? TEXT_OF(false) ", " : "", s->orders);
		assert_string_equal(s->text, wanted);
	}
}

/* ---- values --------------------------------------------------------------------------------------------------- */

TEST(values)
{
	uint64_t word = 5, old;
	int number = -1, wrong;
	int *pointer = &number, *null = NULL;

	assert_int_equal(lull_load_relaxed(&word), 5);
	assert_int_equal(lull_load_acquire(&word), 5);
	lull_store_relaxed(&word, 6u);
	assert_int_equal(word, 6);
	lull_store_release(&word, 7u);
	assert_int_equal(word, 7);
	assert_int_equal(lull_xchg_relaxed(&word, 8u), 7);
	assert_int_equal(lull_xchg_acquire(&word, 9u), 8);
	assert_int_equal(lull_xchg_release(&word, 10u), 9);
	assert_int_equal(lull_xchg_acq_rel(&word, UINT64_MAX), 10);
	assert_true(lull_add_relaxed(&word, 2u) == UINT64_MAX);
	assert_int_equal(lull_add_acquire(&word, 3u), 1);
	assert_int_equal(lull_add_release(&word, 4u), 4);
	assert_int_equal(lull_add_acq_rel(&word, 8u), 8);
	assert_int_equal(lull_sub_relaxed(&word, 1u), 16);
	assert_int_equal(lull_sub_release(&word, 1u), 15);
	assert_int_equal(lull_or_relaxed(&word, 0x30u), 14);
	assert_int_equal(lull_or_release(&word, 0x41u), 0x3e);
	assert_int_equal(lull_and_relaxed(&word, 0x0fu), 0x7f);
	assert_int_equal(word, 0x0f);
	/* A word that is what was expected, and one that is not: then it stays, and is told. */
	old = 0x0f;
	assert_true(lull_cas_relaxed(&word, &old, 1u));
	assert_int_equal(word, 1);
	assert_int_equal(old, 0x0f);
	assert_false(lull_cas_acquire(&word, &old, 2u));
	assert_int_equal(word, 1);
	assert_int_equal(old, 1);
	assert_true(lull_cas_release(&word, &old, 3u));
	assert_false(lull_cas_acq_rel(&word, &old, 4u));
	assert_int_equal(word, 3);
	assert_int_equal(old, 3);
	wrong = 1;
	assert_false(lull_cas_relaxed(&number, &wrong, 2));
	assert_int_equal(wrong, -1);
	assert_true(lull_cas_acquire(&pointer, &pointer, null));
	assert_null(pointer);
}

/* ---- several threads ------------------------------------------------------------------------------------------ */

enum { THREADS = 4, EACH = 20000 };

static uint64_t counted, compared, exchanged;
static uint64_t bits;

/* Each value is found once, and none gets lost. */
static void *changes_all(void *arg)
{
	uint64_t mine = (uint64_t)(uintptr_t)arg, old, *found = (uint64_t *)malloc(sizeof(*found));

	*found = 0;
	for (int i = 0; i < EACH; i++) {
		lull_add_relaxed(&counted, 3u);
		lull_sub_relaxed(&counted, 1u);
		old = lull_load_relaxed(&compared);
		while (!lull_cas_relaxed(&compared, &old, old + 1))
			;
		*found += lull_xchg_relaxed(&exchanged, (uint64_t)1);
		assert_true((lull_or_relaxed(&bits, mine) & mine) == 0);
		assert_true((lull_and_relaxed(&bits, ~mine) & mine) == mine);
	}
	return found;
}

TEST(whole)
{
	pthread_t threads[THREADS];
	uint64_t found = 0;
	void *part;

	for (int i = 0; i < THREADS; i++)
		threads[i] = start_thread(changes_all, (void *)(UINTPTR_MAX / 255 << i)); /* bits in all bytes */
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &part), 0);
		found += *(uint64_t *)part;
		free(part);
	}
	assert_int_equal(counted, 2 * THREADS * EACH);
	assert_int_equal(compared, THREADS * EACH);
	assert_int_equal(found + exchanged, THREADS * EACH);
	assert_int_equal(bits, 0);
}

/* ---- the rest ------------------------------------------------------------------------------------------------- */

static volatile int handled;
static int plain;

static void sees_plain(int signal)
{
	(void)signal;
	handled = *(volatile int *)&plain;
}

/* Store before the barrier: a signal handler of this thread that runs behind it finds the new value. */
TEST(compiler_barrier)
{
	assert_string_equal(TEXT_OF(lull_compiler_barrier()), "__asm__ __volatile__(\"\" ::: \"memory\")");
	signal(SIGUSR1, sees_plain);
	for (int i = 1; i < 10; i++) {
		plain = i;
		lull_compiler_barrier();
		raise(SIGUSR1);
		assert_int_equal(handled, i);
		lull_cpu_relax(); /* changes nothing */
	}
}

static __attribute__((noinline)) uintptr_t says_where(void)
{
	void *here;

	lull__instruction_pointer(here);
	return (uintptr_t)here;
}

TEST(instruction_pointer)
{
	uintptr_t here = says_where();

	assert_in_range(here, (uintptr_t)says_where, (uintptr_t)says_where + 1000);
	assert_true(here == says_where());
}

TEST(tests)
{
	for (int bit = 0; bit < 64; bit++) {
		const uint64_t word = UINT64_C(1) << bit;
		const uint32_t half = bit < 32 ? UINT32_C(1) << bit : 0;

		assert_int_equal(lull_nonzero_relaxed(&half), bit < 32);
		assert_int_equal(lull_at_least_relaxed(&half, 0x80000000), bit == 31);
		assert_int_equal(lull_at_least_relaxed(&half, 5), bit > 2 && bit < 32);
		assert_true(lull_at_least_relaxed(&half, half));
		assert_false(half && lull_at_least_relaxed(&half, half + 1));
		assert_false(lull_own_is_zero(&word));
		assert_int_equal(lull_low_nonzero_relaxed(&word, 0x7f), bit < 7);
		assert_int_equal(lull_low_nonzero_relaxed(&word, 0x50), bit == 4 || bit == 6);
		assert_int_equal(lull_own_low_is_zero(&word, 0xffffffff), bit >= 32);
		assert_int_equal(lull_own_low_is_zero(&word, 0x80000001), bit != 0 && bit != 31);
	}
	for (uint64_t zero = 0; zero < 1; zero++) {
		const uint32_t half = 0;

		assert_true(lull_own_is_zero(&zero));
		assert_false(lull_nonzero_relaxed(&half));
		assert_false(lull_low_nonzero_relaxed(&zero, 0x7f));
		assert_true(lull_own_low_is_zero(&zero, 0xffffffff));
	}
}

/* An addition to the word of one thread, with and without a carry, leaves its neighbours as they are. */
TEST(own_add)
{
	static const uint64_t added[] = { 1, -(uint64_t)1, 0x7fffffff, 0x80000000, UINT64_C(0x123456789abcdef0) };

	for (size_t i = 0; i < sizeof(added) / sizeof(*added); i++) {
		uint64_t words[] = { 7, UINT32_MAX, UINT64_MAX, 7 };

		lull_own_add_relaxed(&words[1], added[i]);
		assert_true(words[1] == UINT32_MAX + added[i]);
		lull_own_add_release(&words[1], added[i]);
		assert_true(words[1] == UINT32_MAX + 2 * added[i]);
		lull_own_add_release(&words[2], added[i]);
		assert_true(words[2] == added[i] - 1);
		lull_own_add_relaxed(&words[2], added[i]);
		assert_true(words[2] == 2 * added[i] - 1);
		assert_true(words[0] == 7 && words[3] == 7);
	}
}

#define OWN_STEP (UINT64_C(1) << 31)

static uint64_t own;
static int told[EACH + 1]; /* before `own` says so; the thread sanitizer finds an order that is missing */

/* No other thread sees half of what is added, nor does any of it get lost; and a release tells what was stored before. */
static void *sees_own(void *unused)
{
	uint64_t before = 0, now;

	(void)unused;
	do {
		now = lull_load_acquire(&own);
		assert_true(now >= before && now % OWN_STEP == 0);
		if (now / OWN_STEP % 2 == 0)
			assert_int_equal(told[now / OWN_STEP], now / OWN_STEP);
		before = now;
	} while (now < OWN_STEP * EACH);
	return NULL;
}

TEST(own_add_whole)
{
	pthread_t thread = start_thread(sees_own, NULL);

	for (int i = 2; i <= EACH; i += 2) {
		lull_own_add_relaxed(&own, OWN_STEP);
		told[i] = i;
		lull_own_add_release(&own, OWN_STEP);
	}
	pthread_join(thread, NULL);
	assert_true(own == OWN_STEP * EACH);
}
