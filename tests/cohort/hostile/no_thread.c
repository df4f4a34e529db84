/* SPDX-License-Identifier: MIT */
/* runs: full-fences, alone */
/*
 * no_thread.c - a wait for a cohort where lull's thread cannot be started. This program has its own
 * pthread_create(), which the library uses, too.
 */
#include <dlfcn.h>

#include "cohort/support.h"

static int fails; /* calls, of all threads but the test's own */

/* The attributes tell lull's threads from those of the test. */
int pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*func)(void *), void *arg)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	if (attr && lull_load_relaxed(&fails))
		return EAGAIN;
	return real(id, attr, func, arg);
}

static pthread_t waiter;
static int gone, gone_here;

static void counts(struct lull_cohort_head *head)
{
	if (pthread_equal(pthread_self(), waiter))
		gone_here++;
	member_gone(head);
}

static void *retires_all(void *unused)
{
	for (int i = 0; i < 9; i++)
		ways[i % WAYS]((struct lull_cohort *)unused, &new_member(&gone)->cohort, counts);
	return NULL;
}

TEST_BARE(no_thread)
{
	NEEDS_THREADS_IN_CHILD();
	if (under_valgrind())
		SKIP(VALGRIND_THREADS);
	/* The thread that waits runs them itself, also those of threads that are gone. */
	EXPECT_FINE {
		struct lull_cohort c = LULL_COHORT_INIT;
		pthread_t thread;

		alarm(60);
		lull_debug_set_message_hook(hear);
		lull_store_relaxed(&fails, 1);
		waiter = pthread_self();
		retires_all(&c);
		must(pthread_create(&thread, NULL, retires_all, &c) == 0);
		must(pthread_join(thread, NULL) == 0);
		must(gone == 0);
		lull_cohort_wait(&c);
		must(gone == 18 && gone_here == 18);
		must(strstr(heard, "cannot start the reclaimer's thread") != NULL);
	}
}

TEST_BARE(no_thread_reader)
{
	NEEDS_THREADS_IN_CHILD();
	if (under_valgrind())
		SKIP(VALGRIND_THREADS);
	/* A reader holds a hazard pointer meanwhile: the wait tries again, and ends soon after the reader clears it. */
	EXPECT_FINE {
		struct lull_cohort c = LULL_COHORT_INIT;
		struct member *member = new_member(&gone), *published = member;
		pthread_t holder;

		alarm(60);
		lull_debug_set_message_hook(hear);
		lull_store_relaxed(&fails, 1);
		holder = start_reader(protects, &published);
		lull_cohort_call_hazptr(&c, &member->cohort, counts);
		must(lull_cohort_wait_timeout(&c, 30) == -ETIMEDOUT);
		waiter = start_waiter(&c);
		nap_ms(30);
		must(gone == 0);
		lull_store_release(&reader_may_leave, 1);
		must(pthread_join(waiter, NULL) == 0 && pthread_join(holder, NULL) == 0);
		must(gone == 1);
	}
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
