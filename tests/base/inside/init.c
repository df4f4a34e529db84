/* SPDX-License-Identifier: MIT */
/* runs: alone */
/*
 * init.c - src/base/process.c and own_thread.c from the inside: how often the page that notices forks is tried for
 * again; what a child begins with; a second copy of lull; a thread that comes too early.
 */
#include "threads.h"

#include <dlfcn.h>

#include <lull/fence.h>

#define lull__find_copies find_made_up
#define lull__die	  say_and_end
#include "../src/os/os.h"

static uint32_t *page_cleared_by_fork(void);

#define lull__page_cleared_by_fork page_cleared_by_fork
#include "../src/base/own_thread.c"
#include "../src/base/process.c"
#undef lull__page_cleared_by_fork

static const char *first_copy, *second_copy;

void find_made_up(const char *copy_in[2])
{
	copy_in[0] = first_copy;
	copy_in[1] = second_copy;
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

/* After each failure twice as many first uses go by without it; but not more than a thousand. */
TEST(tries_become_rare)
{
	uint32_t saved_failures = page_failures, saved_skips = page_skips;

	page_failures = page_skips = 0;
	for (unsigned i = 0; i < 100; i++) {
		uint32_t skips = (1u << (i < PAGE_DOUBLES ? i : PAGE_DOUBLES)) - 1;

		no_page();
		for (uint32_t skipped = 0; skipped < skips; skipped++)
			assert_true(skips_page());
		assert_false(skips_page());
		assert_false(skips_page());
	}
	page_failures = saved_failures;
	page_skips = saved_skips;
}

static bool has_no_page;
static int asked_for_page;

static uint32_t *page_cleared_by_fork(void)
{
	asked_for_page++;
	return has_no_page ? NULL : lull__page_cleared_by_fork();
}

/* Where the page cannot be had, first uses go on without it, and hardly any of them tries. */
TEST(no_page)
{
	uint32_t *saved_state = init_state, saved_pid = at_load_pid, saved_load = at_load;

	init_state = &at_load;
	at_load = 2;
	at_load_pid = (uint32_t)getpid();
	page_failures = page_skips = 0;
	has_no_page = true;
	asked_for_page = 0;
	for (int i = 0; i < 102400; i++)
		lull__init();
	assert_in_range(asked_for_page, 2, PAGE_DOUBLES + 101);
	assert_ptr_equal(init_state, &at_load);
	has_no_page = false;
	for (int i = 0; i < 1025; i++)
		lull__init();
	assert_ptr_not_equal(init_state, &at_load);
	lull__free_page(init_state);
	page_failures = page_skips = 0;
	at_load_pid = saved_pid;
	at_load = saved_load;
	init_state = saved_state;
}

/* A thread that the child has not was on its way over all CPUs. */
TEST(visit_in_child)
{
	lull__lock(&visit_lock);
	lull__own_thread_fork_child(7);
	assert_int_equal(visit_lock.word, 0);
}

/* Which two have one is said; this one stays, with or without a name. */
TEST(copies)
{
	be_the_only_copy();
	first_copy = "the program";
	be_the_only_copy();
	second_copy = "/lib/other.so";
	if (!setjmp(ended)) {
		be_the_only_copy();
		fail_msg("it goes on");
	}
	assert_string_equal(line, "there are two copies of lull in this process, in the program and in /lib/other.so; neither "
				  "sees the other's readers: link both with the same liblull.so");
	first_copy = second_copy = NULL;
}

/* A library that threads hold pointers into cannot be closed any more. Else it goes when its last opener closes it. */
TEST(stays_loaded)
{
	const char *name = "libBrokenLocale.so.1"; /* part of glibc; hardly anything uses it */
	void *library = dlopen(name, RTLD_LAZY);

	if (!library)
		SKIP("this C library has no such module");
	dlclose(library);
	if (dlopen(name, RTLD_LAZY | RTLD_NOLOAD))
		SKIP("nothing is ever closed here");
	library = dlopen(name, RTLD_LAZY);
	assert_non_null(library);
	lull__stay_loaded(name);
	dlclose(library);
	assert_non_null(dlopen(name, RTLD_LAZY | RTLD_NOLOAD));
	lull__stay_loaded(NULL);
}

/* A thread that comes while another sets the library up waits until that is done. */
static uint32_t being_done = 1;
static int has_come, goes_on;

static void *comes_meanwhile(void *unused)
{
	(void)unused;
	lull_store_release(&has_come, 1);
	set_up_process(&being_done);
	lull_store_release(&goes_on, 1);
	return NULL;
}

TEST(waits_for_set_up)
{
	pthread_t thread = start_thread(comes_meanwhile, NULL);

	await_flag(&has_come, 1);
	nap_ms(50);
	assert_int_equal(lull_load_acquire(&goes_on), 0);
	lull_store_release(&being_done, 2u);
	await_flag(&goes_on, 1);
	join_thread(thread);
}

/* Before the library's own: the first use that there is. */
static enum lull_fence_strategy strategy_at_first;

__attribute__((constructor(101))) static void before_all(void)
{
	setenv("LULL_FENCE", "full", 1);
	strategy_at_first = lull_fence_strategy();
}

/* A thread that asks which fences are made before anything else has used the library gets the answer that stays. */
TEST(strategy_at_first)
{
	assert_int_equal(strategy_at_first, LULL_FENCE_FULL);
	assert_int_equal(lull_fence_strategy(), LULL_FENCE_FULL);
}
