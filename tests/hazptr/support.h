/* SPDX-License-Identifier: MIT */
/*
 * support.h - what the tests of hazard pointers share: objects that show whether they are
 * alive, threads that protect one, threads that wait.
 */
#ifndef LULL_TEST_HAZPTR_SUPPORT_H
#define LULL_TEST_HAZPTR_SUPPORT_H

#include <errno.h>

#include "child.h"
#include "hazptr/actor.h"

#include <lull/bridge.h>
#include <lull/hazptr_fenced.h>

/* The head comes first, so that it has the address of the object: slots and holds name the same. */
struct thing {
	struct lull_rcu_head rcu;
	int value; /* 42 while it is alive */
	int *gone; /* where its end is counted */
};

/* Wait until *count, changed by another thread, has this value; without eating the processor. */
#define await_count(count, value) AWAIT(lull_load_acquire(count) == (value))

static inline struct thing *new_thing(int *gone)
{
	struct thing *thing = (struct thing *)malloc(sizeof(*thing));

	assert_non_null(thing);
	thing->value = 42;
	thing->gone = gone;
	return thing;
}

/* The callback that ends a thing. */
static inline void thing_gone(struct lull_rcu_head *head)
{
	struct thing *thing = lull_container_of(head, struct thing, rcu);
	int *gone = thing->gone;

	lull_store_relaxed(&thing->value, -1);
	free(thing);
	if (gone)
		lull_add_release(gone, 1);
}

static inline void check_alive(const struct thing *thing)
{
	assert_int_equal(lull_load_relaxed(&thing->value), 42);
}

/*
 * Until all but @kept, which are protected, are reclaimed: they stay. (A barrier's time may be up before the
 * reclaimer has come to anything.)
 */
static inline void await_waiting(size_t kept)
{
	do
		assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	while (waiting() > kept);
	assert_int_equal(waiting(), kept);
}

/* The reclaimer sleeps, without a timer, while @kept objects stay protected and nothing happens. */
static inline void check_quiet(size_t kept)
{
	struct lull_reclaim_counts before, after;
	int noise = 0;

	do {
		assert_true(noise++ < 10); /* at first there are timers that have been set */
		lull_reclaim_stats(&before);
		nap_ms(300);
		lull_reclaim_stats(&after);
		assert_int_equal(after.items, kept);
	} while (after.wakeups != before.wakeups || after.passes != before.passes);
}

/* ---- a thread that protects a thing ------------------------------------------------------------- */

struct holder {
	struct actor actor;
	struct thing **source, *thing;
	struct lull_hazptr_hold hold;
};

static inline void holder_acquires(void *arg)
{
	struct holder *holder = (struct holder *)arg;

	holder->thing = lull_hazptr_acquire(&holder->hold, holder->source);
}

static inline void holder_releases(void *arg)
{
	struct holder *holder = (struct holder *)arg;

	check_alive(holder->thing);
	lull_hazptr_release(&holder->hold, holder->thing);
}

/* Start a thread that protects *source. */
static inline void holder_start(struct holder *holder, struct thing **source)
{
	holder->source = source;
	actor_start(&holder->actor);
	on(&holder->actor, holder_acquires, holder);
	assert_ptr_equal(holder->thing, *source);
}

static inline void holder_end(struct holder *holder)
{
	on(&holder->actor, holder_releases, holder);
	actor_end(&holder->actor);
}

/* ---- a thread that waits ------------------------------------------------------------------------- */

struct waiter {
	pthread_t thread;
	const void *addr;
	size_t len; /* 0: the address alone */
	void (*call)(const void *addr); /* NULL: by the length */
	int done;
	uint64_t cpu_ns;
	long switches; /* how often it went to sleep */
};

static inline uint64_t thread_cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline long thread_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

static inline void *waiter_run(void *arg)
{
	struct waiter *waiter = (struct waiter *)arg;
	long switches = thread_switches();
	uint64_t cpu_ns = thread_cpu_ns();

	if (waiter->call)
		waiter->call(waiter->addr);
	else if (waiter->len)
		lull_hazptr_synchronize_range(waiter->addr, waiter->len);
	else
		lull_hazptr_synchronize(waiter->addr);
	waiter->cpu_ns = thread_cpu_ns() - cpu_ns;
	waiter->switches = thread_switches() - switches;
	lull_store_release(&waiter->done, 1);
	return NULL;
}

static inline void waiter_start(struct waiter *waiter, const void *addr, size_t len)
{
	memset(waiter, 0, sizeof(*waiter));
	waiter->addr = addr;
	waiter->len = len;
	waiter->thread = start_thread(waiter_run, waiter);
}

static inline void waiter_start_by(struct waiter *waiter, void (*call)(const void *addr), const void *addr)
{
	memset(waiter, 0, sizeof(*waiter));
	waiter->addr = addr;
	waiter->call = call;
	waiter->thread = start_thread(waiter_run, waiter);
}

/* Another thread, which protects nothing, finds no thread that protects @addr. */
static inline void *look_run(void *arg)
{
	const void *addr = *(const void **)arg;

	return lull_hazptr_synchronize_timeout(addr, 0) == 0 ? arg : NULL;
}

static inline bool is_free_of(const void *addr)
{
	void *result;

	assert_int_equal(pthread_join(start_thread(look_run, &addr), &result), 0);
	return result != NULL;
}

#endif /* LULL_TEST_HAZPTR_SUPPORT_H */
