/* SPDX-License-Identifier: MIT */
/* runs: alone */
/*
 * join.c - lull__join() when the wall clock steps back meanwhile: the wait does not become longer. This program has its own
 * clock_gettime(), which the library uses, too.
 */
#include <sys/syscall.h>

#include "threads.h"

#include "../src/os/os.h"

#define HOUR 3600

/* As seen from after the step. */
int clock_gettime(clockid_t id, struct timespec *now)
{
	int result = (int)syscall(SYS_clock_gettime, id, now);

	now->tv_sec += id == CLOCK_REALTIME ? HOUR : 0;
	return result;
}

static int go_on;

static void *goes_on(void *unused)
{
	await_flag(&go_on, 1);
	return unused;
}

TEST(clock_steps_back)
{
	pthread_t thread = start_thread(goes_on, NULL);

#if UNDER_TSAN
	lull_store_release(&go_on, 1);
	join_thread(thread);
	SKIP("ThreadSanitizer does not know pthread_clockjoin_np()");
#endif
	alarm(60); /* an hour is longer */
	assert_false(lull__join(thread, 50000000));
	lull_store_release(&go_on, 1);
	for (int i = 0; i < 100 && !lull__join(thread, 500000000); i++)
		assert_true(i < 99);
}
