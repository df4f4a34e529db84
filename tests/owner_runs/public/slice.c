/* SPDX-License-Identifier: MIT */
/*
 * The time-slice extension, with an area and a kernel that this test plays: where it is offered, what is
 * asked for when, and when granted time is given back.
 */
#include <errno.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test.h"

#include <lull/detail/rseq.h>

#ifdef LULL__RSEQ
static long fake_syscall(long number);
static int fake_prctl(int what, unsigned long how, unsigned long on, unsigned long zero, unsigned long zero2);
static unsigned long kernel_size;
static unsigned registered_size;
#define syscall	       fake_syscall
#define prctl	       fake_prctl
#define getauxval(tag) kernel_size
#define __rseq_size    registered_size
#endif
#include "../src/owner_runs/time_slice.c"
#include "../src/owner_runs/owner_runs.h"
#undef syscall
#undef prctl
#undef getauxval
#undef __rseq_size

#ifdef LULL__RSEQ

static bool rseq_is_usable;

static bool fake_rseq_usable(void)
{
	return rseq_is_usable;
}

static enum lull__runs fake_rseq_runs(struct lull__sighting *sighting, uint32_t tid)
{
	(void)sighting;
	(void)tid;
	return (enum lull__runs)0;
}

#define lull__oracle_rseq_usable fake_rseq_usable
#define lull__oracle_rseq_runs	 fake_rseq_runs
#include "../src/owner_runs/slice.c"

static struct ctrl area;
static unsigned yields;

static long fake_syscall(long number)
{
	assert_int_equal(number, 471);
	assert_int_equal(area.request, 0); /* it was done with the section before */
	area.granted = 0;
	yields++;
	errno = EDOM;
	return 1;
}

static bool kernel_has, kernel_on; /* the extension; for this thread */
static int prctl_error;

/* Without it the kernel still says that it is off, and EINVAL before it was invented. */
static int fake_prctl(int what, unsigned long how, unsigned long on, unsigned long zero, unsigned long zero2)
{
	assert_int_equal(what, 79);
	assert_int_equal(zero | zero2, 0);
	errno = prctl_error;
	if (prctl_error == EINVAL)
		return -1;
	if (how == 1)
		return kernel_on;
	assert_int_equal(how, 2);
	if (!kernel_has)
		return -1;
	kernel_on = on;
	return 0;
}

static void set_up(void)
{
	kernel_size = registered_size = 33;
	kernel_has = true;
	kernel_on = false;
	prctl_error = 524; /* ENOTSUPP, which no header has */
	area = (struct ctrl){ 0, 0 };
	slice.ctrl = &area;
	slice.depth = 0;
	yields = 0;
}

USE_SETUP(set_up)

TEARDOWN
{
	slice.ctrl = NULL;
}

/* ( begins a section and ) ends it, 0 and 1 turn it off and on, ! is the end of a time slice, as the kernel acts. */
static void act(char what)
{
	errno = ERANGE;
	if (what == '(')
		lull__slice_begin();
	else if (what == ')')
		lull__slice_end();
	else if (what == '!' && area.request)
		area = (struct ctrl){ 0, 1 };
	else if (what == '0' || what == '1')
		slice.ctrl = what == '1' ? &area : NULL;
	else if (what == 'g')
		area.granted = 1;
	assert_int_equal(errno, ERANGE);
	assert_true(lull__slice_granted() == (slice.ctrl && area.granted));
}

static const struct story {
	const char *acts;
	int asks;
	unsigned yields; /* it gives back what was granted */
} stories[] = {
	{ "(", 1, 0 },
	{ "()", 0, 0 },
	{ "()!", 0, 0 },
	{ "(!", 0, 0 },
	{ "(!)", 0, 1 },
	{ "(!)()", 0, 1 },
	/* Only the outermost of sections in each other asks, and gives back. */
	{ "(!(", 0, 0 },
	{ "(!()", 0, 0 },
	{ "(!())", 0, 1 },
	{ "0()", 0, 0 },
	/* Turned on inside a section, whose end then is not that of another one. */
	{ "0(1g)", 0, 0 },
	{ "0(1)(", 1, 0 },
	/* Turned off inside one. */
	{ "(0)1(", 1, 0 },
	{ "(0)1()", 0, 0 },
};

TEST(sections)
{
	for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++) {
		set_up();
		for (const char *at = stories[i].acts; *at; at++)
			act(*at);
		if (area.request != stories[i].asks || yields != stories[i].yields)
			fail_msg("%s: asks %d, yields %u", stories[i].acts, area.request, yields);
	}
}

static void assert_offered(bool expected)
{
	errno = EDOM;
	slice.ctrl = NULL;
	assert_int_equal(lull__slice_offered(), expected);
	assert_false(kernel_on); /* by asking */
	assert_null(slice.ctrl);
	assert_int_equal(lull__slice_enable(), expected);
	assert_int_equal(kernel_on, expected);
	assert_int_equal(errno, EDOM);
	if (expected)
		assert_ptr_equal(slice.ctrl, (char *)__builtin_thread_pointer() + __rseq_offset + 28);
	else
		assert_null(slice.ctrl);
	kernel_on = false;
}

TEST(offered_where_all_have_it)
{
	static const struct {
		unsigned kernel_size, registered_size;
		bool has;
		int error;
		bool offered;
	} cases[] = {
		{ 33, 33, true, 524, true },
		{ 40, 40, true, 524, true },
		{ 40, 32, true, 524, false }, /* an old C library on a new kernel */
		{ 28, 33, true, 524, false },
		{ 0, 33, true, 524, false },
		{ 33, 33, false, 524, false },
		{ 33, 33, false, EINVAL, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		kernel_size = cases[i].kernel_size;
		registered_size = cases[i].registered_size;
		kernel_has = cases[i].has;
		prctl_error = cases[i].error;
		assert_offered(cases[i].offered);
	}
}

/* Both are needed: the extension, and what says on which CPU an owner is. */
TEST(usable_with_both)
{
	for (int both = 0; both < 4; both++) {
		kernel_has = both & 1;
		rseq_is_usable = both & 2;
		assert_true(lull__oracle_slice.usable() == (both == 3));
	}
}

TEST(stays_on_when_asked_again)
{
	assert_true(lull__slice_enable());
	assert_true(lull__slice_offered());
	assert_true(kernel_on);
	/* In a child that was forked, it may no longer be had. */
	kernel_has = kernel_on = false;
	assert_false(lull__slice_enable());
	assert_null(slice.ctrl);
}

#else

TEST(nothing_offered_without_rseq)
{
	assert_false(lull__slice_offered() || lull__slice_enable() || lull__slice_granted());
}

#endif
