/* SPDX-License-Identifier: MIT */
/* runs: full-fences, alone */
/*
 * lull's threads when they cannot be started, for a moment or for good: which thread runs callbacks then, and when.
 * This program has its own pthread_create(), which the library uses, too.
 */
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>

#include "child.h"
#include "threads.h"

#include <lull/hazptr.h>
#include <lull/thread.h>

static pthread_t tester;
static int fails, tries; /* fails: how many more calls fail, of all threads but the test's own */

static bool take_failure(void)
{
	lull_add_relaxed(&tries, 1);
	if (lull_load_relaxed(&fails) <= 0)
		return false;
	lull_sub_relaxed(&fails, 1);
	return true;
}

/* The attributes tell lull's threads from those of the test. */
int pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*func)(void *), void *arg)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	if (attr && take_failure())
		return EAGAIN;
	return real(id, attr, func, arg);
}

static int ran, ran_here;

static void count_run(struct lull_head *head)
{
	(void)head;
	if (pthread_equal(pthread_self(), tester))
		lull_add_release(&ran_here, 1);
	lull_add_release(&ran, 1);
}

#define HEADS 3000
static struct lull_head heads[HEADS];

static void defer(int count)
{
	for (int i = 0; i < count; i++)
		lull_rcu_call(&heads[i], count_run);
}

static void begin(int failures)
{
	alarm(60);
	tester = pthread_self();
	lull_debug_set_message_hook(hear);
	lull_store_relaxed(&fails, failures);
}

/* Do @something again and again: sooner or later the thread is there, and nothing is deferred any more. */
static void until_all_ran(void (*something)(void), int count)
{
	while (lull_load_acquire(&ran) != count) {
		something();
		nap_ms(1);
	}
	must(!ran_here);
	must(heard_lines == 1);
	must(strstr(heard, "cannot start the reclaimer's thread"));
}

static void *register_and_exit(void *unused)
{
	(void)unused;
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	return NULL;
}

static void a_thread_exits(void)
{
	pthread_t thread;

	must(pthread_create(&thread, NULL, register_and_exit, NULL) == 0);
	must(pthread_join(thread, NULL) == 0);
}

static void a_hazptr_synchronize(void)
{
	lull_hazptr_synchronize(heads);
}

static void *register_only(void *unused)
{
	(void)unused;
	lull_thread_register();
	lull_thread_unregister();
	return NULL;
}

static void a_thread_registers(void)
{
	pthread_t thread;

	must(pthread_create(&thread, NULL, register_only, NULL) == 0);
	must(pthread_join(thread, NULL) == 0);
}

/* The few of a thread that is gone, and no thread defers again. */
static void *defer_and_exit(void *unused)
{
	(void)unused;
	defer(3);
	return NULL;
}

TEST(few_run_later)
{
	NEEDS_THREADS_IN_CHILD();
	if (under_valgrind())
		SKIP(VALGRIND_THREADS);
	EXPECT_FINE {
		begin(2);
		defer(3);
		until_all_ran(lull_rcu_synchronize, 3);
	}
	EXPECT_FINE {
		begin(2);
		defer(3);
		until_all_ran(a_hazptr_synchronize, 3);
	}
	EXPECT_FINE {
		begin(2);
		defer(3);
		until_all_ran(a_thread_exits, 3);
	}
	EXPECT_FINE {
		begin(2);
		defer(3);
		until_all_ran(a_thread_registers, 3);
	}
	EXPECT_FINE {
		pthread_t thread;

		begin(2);
		must(pthread_create(&thread, NULL, defer_and_exit, NULL) == 0);
		must(pthread_join(thread, NULL) == 0);
		until_all_ran(lull_rcu_synchronize, 3);
	}
}

TEST(never_in_the_deferrer)
{
	NEEDS_THREADS_IN_CHILD();
	if (under_valgrind())
		SKIP(VALGRIND_THREADS);
	/* Many, and no thread ever: none runs in the thread that defers, before it asks. */
	EXPECT_FINE {
		begin(INT32_MAX);
		defer(HEADS);
		lull_rcu_synchronize();
		must(ran == 0);
		must(tries < 100); /* the tries become rare */
		lull_rcu_barrier();
		must(ran == HEADS && ran_here == HEADS);
	}
}

/* Memory left behind by threads that come and go is freed by the others, though there is no thread for it. */
#define COMERS	 3000
#define EACH	 10
#define AT_MOST	 2200 /* what one thread lets wait so that it shares a grace period, twice */

static void *free_some(void *unused)
{
	(void)unused;
	for (int i = 0; i < EACH; i++)
		lull_rcu_free(malloc(64));
	return NULL;
}

TEST(orphans)
{
	NEEDS_THREADS_IN_CHILD();
	if (under_valgrind())
		SKIP(VALGRIND_THREADS);
	EXPECT_FINE {
		struct lull_reclaim_counts stats;
		size_t most = 0;

		begin(INT32_MAX);
		for (int i = 0; i < COMERS; i++) {
			pthread_t thread;

			must(pthread_create(&thread, NULL, free_some, NULL) == 0);
			must(pthread_join(thread, NULL) == 0);
			if (waiting() > most)
				most = waiting();
		}
		lull_reclaim_stats(&stats);
		must(stats.total_items == (uint64_t)COMERS * EACH);
		if (most > AT_MOST)
			fprintf(stderr, "%zu waited\n", most);
		must(most <= AT_MOST);
	}
}

/* The kernel lets no thread with SCHED_DEADLINE start another one: the next thread in need does. */
struct deadline_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static void *defer_by_deadline(void *unused)
{
	struct deadline_attr attr = { .size = sizeof(attr), .policy = 6, .runtime = 10000000, .deadline = 100000000,
				      .period = 100000000 };

	(void)unused;
	if (syscall(SYS_sched_setattr, 0, &attr, 0) != 0)
		_exit(0); /* not allowed here */
	defer(3);
	return NULL;
}

TEST(deadline)
{
	NEEDS_THREADS_IN_CHILD();
	if (under_valgrind())
		SKIP(VALGRIND_THREADS);
	EXPECT_FINE {
		pthread_t thread;

		begin(0);
		must(pthread_create(&thread, NULL, defer_by_deadline, NULL) == 0);
		must(pthread_join(thread, NULL) == 0);
		until_all_ran(lull_rcu_synchronize, 3);
	}
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
