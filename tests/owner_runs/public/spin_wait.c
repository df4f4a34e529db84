/* SPDX-License-Identifier: MIT */
/*
 * spin_wait.c - the oracle `kernel`, over a kernel that this test plays: the calls that it gets, where the oracle is
 * offered, and refused calls.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "seccomp.h"

#include "../src/owner_runs/owner_runs.h"

/* ---- the kernel -------------------------------------------------------------------------------------------------- */

/* The last question, and how often it was asked. */
static struct {
	unsigned asked, asked_plainly;
	const uint32_t *word;
	unsigned long value, bitset;
	unsigned flags;
	bool has_end;
	int64_t sec, nsec;
	int clock;
	uint64_t deadline_ns; /* of the plain wait */
	bool shared;
} call;

static int answer, plain_answer; /* an error, or 0 */

static long fake_syscall(long number, uint32_t *word, unsigned long value, unsigned long bitset, unsigned flags,
			 const void *end, int clock)
{
	assert_int_equal(number, 455);
	call.asked++;
	call.word = word;
	call.value = value;
	call.bitset = bitset;
	call.flags = flags;
	call.clock = clock;
	call.has_end = end != NULL;
	call.sec = end ? ((const int64_t *)end)[0] : 0;
	call.nsec = end ? ((const int64_t *)end)[1] : 0;
	assert_int_equal(*word, value);
	errno = answer;
	return answer ? -1 : 0;
}

static int plain_wait(uint32_t *word, uint32_t value, uint32_t bitset, uint64_t deadline_ns, bool shared)
{
	assert_ptr_equal(word, call.word);
	assert_int_equal(value, call.value);
	assert_int_equal(bitset, call.bitset);
	call.asked_plainly++;
	call.deadline_ns = deadline_ns;
	call.shared = shared;
	return plain_answer;
}

static uint32_t own_tid(void)
{
	return (uint32_t)gettid();
}

#define syscall			    fake_syscall
#define lull__futex_wait_bits	    plain_wait
#define lull__gettid		    own_tid
#define lull__spin_wait		    own_spin_wait
#define lull__spin_wait_offered	    own_spin_wait_offered
#define lull__oracle_kernel	    own_oracle_kernel
#include "../src/owner_runs/spin_wait.c"
#include "../src/owner_runs/kernel.c"
#undef syscall

static uint32_t word;

SETUP
{
	memset(&call, 0, sizeof(call));
	answer = plain_answer = 0;
	word = 77 | 0x80000000u;
	errno = EDOM;
}

TEARDOWN
{
	assert_int_equal(errno, EDOM);
}

/* ---- to wait ----------------------------------------------------------------------------------------------------- */

TEST(asks_for_what_it_is_told)
{
	static const struct {
		uint32_t word, bitset;
		uint64_t deadline_ns;
		bool shared;
		unsigned flags;
	} cases[] = {
		{ 77 | 0x80000000u, 2, 5123456789u, false, 0x02 | 0x10 | 0x80 },
		/* Processes share the word; there is no end; a word and a bitset that are negative in a signed number. */
		{ 0xfffffffeu, 0x80000001u, UINT64_MAX, true, 0x02 | 0x10 },
	};

	for (unsigned i = 0; i < 2; i++) {
		word = cases[i].word;
		assert_int_equal(own_oracle_kernel.wait(&word, word, cases[i].bitset, cases[i].deadline_ns, cases[i].shared), 0);
		assert_int_equal(call.asked, i + 1);
		assert_ptr_equal(call.word, &word);
		assert_int_equal(call.value, cases[i].word);
		assert_int_equal(call.bitset, cases[i].bitset);
		assert_int_equal(call.flags, cases[i].flags);
		assert_int_equal(call.has_end, i == 0);
		if (i == 0)
			assert_true(call.sec == 5 && call.nsec == 123456789 && call.clock == CLOCK_MONOTONIC);
	}
	assert_int_equal(call.asked_plainly, 0);
}

/* The ends of any wait end this one. */
TEST(ends_as_any_wait)
{
	static const int ends[] = { 0, EAGAIN, EINTR, ETIMEDOUT };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		answer = ends[i];
		assert_int_equal(own_oracle_kernel.wait(&word, word, 1, 7, false), -ends[i]);
		assert_int_equal(call.asked, i + 1);
	}
	assert_int_equal(call.asked_plainly, 0);
}

/* The owner is dead, or the caller, or of another process; there is no such call, or flag; a filter forbids it. */
TEST(sleeps_where_it_is_refused)
{
	static const int refusals[] = { ESRCH, EDEADLK, EPERM, EINVAL, ENOSYS, EACCES, EFAULT, ENOMEM };

	answer = ETIMEDOUT; /* though there is no end: a filter says that */
	assert_int_equal(own_oracle_kernel.wait(&word, word, 1, UINT64_MAX, false), 0);
	assert_int_equal(call.asked_plainly, 1);
	memset(&call, 0, sizeof(call));
	plain_answer = -ETIMEDOUT;
	for (unsigned i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		answer = refusals[i];
		assert_int_equal(own_oracle_kernel.wait(&word, word, 1 + i, 12345 + i, i % 2), -ETIMEDOUT);
		assert_int_equal(call.asked, i + 1);
		assert_int_equal(call.asked_plainly, i + 1);
		assert_int_equal(call.deadline_ns, 12345 + i);
		assert_int_equal(call.shared, i % 2);
	}
}

/* ---- whether it is offered --------------------------------------------------------------------------------------- */

TEST(offered_by_a_kernel_that_looks)
{
	static const int others[] = { 0, EAGAIN, EINTR, ETIMEDOUT, EINVAL, ENOSYS, EPERM, ESRCH, EFAULT };

	answer = EDEADLK;
	assert_true(own_oracle_kernel.usable());
	assert_int_equal(call.asked, 1);
	assert_int_equal(call.value, own_tid());
	assert_int_equal(call.flags, 0x02 | 0x10 | 0x80);
	assert_int_not_equal(call.bitset, 0);
	/* The time is out, whatever the kernel takes the flag for. */
	assert_true(call.has_end);
	assert_int_equal(call.sec, 0);
	assert_int_equal(call.nsec, 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		answer = others[i];
		assert_false(own_oracle_kernel.usable());
	}
	assert_int_equal(call.asked_plainly, 0);
}

/* The kernel of this machine says something, at once. */
TEST(answers_at_once)
{
	uint32_t own = lull__gettid();
	const int64_t past[2] = { 0, 0 };

	if (under_valgrind())
		SKIP("valgrind prints a line for a call that it does not know");
	assert_int_equal(syscall(455, &own, (unsigned long)own, ~0ul & 0xffffffffu, 0x92u, past, CLOCK_MONOTONIC), -1);
	errno = EDOM;
}

/* ---- how long to look -------------------------------------------------------------------------------------------- */

TEST(looks_a_few_times)
{
	struct lull__sighting sighting = { .tid = 0 };

	for (int round = 0; round < 2; round++) {
		for (uint32_t tid = 100; tid < 103; tid++) {
			for (int i = 0; i < LOOKS; i++)
				assert_int_equal(own_oracle_kernel.runs(&sighting, tid), LULL__RUNS_UNKNOWN);
			for (int i = 0; i < 3; i++)
				assert_int_equal(own_oracle_kernel.runs(&sighting, tid), LULL__RUNS_NO);
		}
	}
	assert_int_equal(call.asked, 0);
}
