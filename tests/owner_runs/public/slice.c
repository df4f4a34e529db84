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

SETUP
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

TEARDOWN
{
	slice.ctrl = NULL;
}

/* Act as the kernel does at the end of a time slice of a thread that has asked. */
static void time_is_over(void)
{
	if (area.request)
		area = (struct ctrl){ 0, 1 };
}

TEST(asks_and_is_done)
{
	lull__slice_begin();
	assert_int_equal(area.request, 1);
	assert_false(lull__slice_granted());
	lull__slice_end();
	assert_int_equal(area.request, 0);
	time_is_over();
	assert_false(lull__slice_granted());
	assert_int_equal(yields, 0);
}

TEST(gives_back_what_was_granted)
{
	lull__slice_begin();
	time_is_over();
	assert_true(lull__slice_granted());
	errno = ERANGE;
	lull__slice_end();
	assert_int_equal(errno, ERANGE);
	assert_int_equal(yields, 1);
	assert_false(lull__slice_granted());
	lull__slice_begin();
	lull__slice_end();
	assert_int_equal(yields, 1);
}

/* Only the outermost asks, and gives back. */
TEST(sections_in_each_other)
{
	lull__slice_begin();
	time_is_over();
	lull__slice_begin();
	assert_int_equal(area.request, 0);
	lull__slice_end();
	assert_int_equal(yields, 0);
	lull__slice_end();
	assert_int_equal(yields, 1);
}

TEST(off)
{
	slice.ctrl = NULL;
	lull__slice_begin();
	assert_false(lull__slice_granted());
	lull__slice_end();
	assert_int_equal(area.request, 0);
	/* Turned on inside a section, whose end then is not that of another one. */
	lull__slice_begin();
	slice.ctrl = &area;
	area.granted = 1;
	lull__slice_end();
	assert_int_equal(yields, 0);
	area.granted = 0;
	lull__slice_begin();
	assert_int_equal(area.request, 1);
	lull__slice_end();
	/* Turned off inside one. */
	lull__slice_begin();
	slice.ctrl = NULL;
	lull__slice_end();
	slice.ctrl = &area;
	lull__slice_begin();
	assert_int_equal(area.request, 1);
	lull__slice_end();
	assert_int_equal(area.request, 0);
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
	assert_offered(true);
	kernel_size = registered_size = 40;
	assert_offered(true);
	registered_size = 32; /* an old C library on a new kernel */
	assert_offered(false);
	registered_size = 33;
	kernel_size = 28;
	assert_offered(false);
	kernel_size = 0;
	assert_offered(false);
	kernel_size = 33;
	kernel_has = false;
	assert_offered(false);
	prctl_error = EINVAL;
	assert_offered(false);
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
