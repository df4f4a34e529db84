/* SPDX-License-Identifier: MIT */
/*
 * advice.c - the sentence with which lull doctor ends: what is not at its best, and what to do about it.
 */
#include "test.h"

#include "doctor/advice.c"

static const struct doctor_state best = {
	.has_membarrier = true, .counts_per_cpu = true, .sees_owners = true, .cpus = 2
};

/* It is one sentence, of which each part that is wanted is there. */
static void expect(const struct doctor_state *state, const char *first, const char *second)
{
	char text[1024];

	assert_int_equal(doctor_advise(state, text, sizeof(text)), !first);
	assert_int_equal(text[strlen(text) - 1], '.');
	assert_null(strchr(text, '\n'));
	if (first)
		assert_non_null(strstr(text, first));
	if (second)
		assert_non_null(strstr(text, second));
	assert_int_equal(strstr(text, "; ") != NULL, second != NULL);
	assert_int_equal(strncmp(text, "All is well", 11) == 0, !first);
}

TEST(best)
{
	expect(&best, NULL, NULL);
}

TEST(fences)
{
	struct doctor_state s = best;

	s.has_membarrier = false;
	s.counts_per_cpu = false; /* which comes with it */
	expect(&s, "allow it in the sandbox", NULL);
	s.asked_for_full = true;
	expect(&s, "LULL_FENCE=full", NULL);
	s.has_membarrier = s.counts_per_cpu = true;
	expect(&s, NULL, NULL);
}

TEST(counts)
{
	struct doctor_state s = best;

	s.counts_per_cpu = false;
	expect(&s, "glibc.pthread.rseq", NULL);
}

TEST(mutex)
{
	struct doctor_state s = best;

	s.sees_owners = false;
	expect(&s, "LULL_OWNER_ORACLE", NULL);
	s.counts_per_cpu = false;
	expect(&s, "glibc.pthread.rseq", "LULL_OWNER_ORACLE");
	s.cpus = 1; /* no thread spins there */
	expect(&s, "glibc.pthread.rseq", NULL);
}

/* A buffer that is too small is filled and ended. */
TEST(short)
{
	struct doctor_state s = { .cpus = 2 };
	char text[64];

	for (size_t size = 1; size <= sizeof(text); size++) {
		memset(text, 'x', sizeof(text));
		assert_false(doctor_advise(&s, text, size));
		assert_int_equal(strlen(text), size - 1);
	}
}
