/* SPDX-License-Identifier: MIT */
/*
 * support.h - what the tests of hazard pointers share: objects that show whether they are
 * alive, threads that protect one and release it in every way there is, threads that wait.
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

enum letting_go {
	CLEAR,
	CLEAR_FENCED,
	OVERWRITE,	  /* the slot protects another thing */
	OVERWRITE_FENCED,
	FREE_SLOT,	  /* the slot goes back */
	CLEAN_UP,	  /* its context ends */
	RELEASE,	  /* a hold is released */
	RELEASE_OVERFLOW, /* ... which had to use its own slot */
	RELEASE_ELSEWHERE, /* ... by another thread */
	UNREGISTER_LATE,  /* ... of a thread that has given its record back */
	EXIT,		  /* the thread ends without a release */
	EXIT_OVERFLOW,
	WAYS
};

struct holder {
	struct actor actor;
	struct thing **source, *thing;
	enum letting_go way;
	struct lull_hazptr *slot, *others[LULL_HAZPTR_SLOTS];
	struct lull_hazptr_context ctx;
	struct lull_hazptr_hold hold;
};

static inline bool holder_uses_hold(const struct holder *holder)
{
	return holder->way >= RELEASE && holder->way != EXIT;
}

static inline void holder_takes_others(struct holder *holder, bool take)
{
	bool overflow = holder->way == RELEASE_OVERFLOW || holder->way == EXIT_OVERFLOW;

	for (int i = 0; overflow && i < LULL_HAZPTR_SLOTS; i++)
		if (take)
			holder->others[i] = lull_hazptr_alloc(lull_hazptr_thread_context());
		else
			lull_hazptr_free(lull_hazptr_thread_context(), holder->others[i]);
}

static inline void holder_protects(void *arg)
{
	struct holder *holder = (struct holder *)arg;
	struct lull_hazptr_context *ctx = holder->way == CLEAN_UP ? &holder->ctx : lull_hazptr_thread_context();

	lull_thread_register();
	if (holder->way == CLEAN_UP)
		lull_hazptr_context_init(ctx);
	if (!holder_uses_hold(holder)) {
		holder->slot = lull_hazptr_alloc(ctx);
		holder->thing = lull_hazptr_protect(holder->slot, *holder->source, rcu);
		return;
	}
	holder_takes_others(holder, true);
	if (holder->way == UNREGISTER_LATE)
		lull_thread_unregister();
	memset(&holder->hold, 0x5a, sizeof(holder->hold));
	holder->thing = lull_hazptr_acquire(&holder->hold, holder->source);
	if (holder->way == RELEASE_ELSEWHERE)
		lull_hazptr_detach(&holder->hold);
}

static inline void holder_ends_protection(void *arg)
{
	struct holder *holder = (struct holder *)arg;
	struct thing other, *other_source = &other;

	check_alive(holder->thing);
	if (holder->way == CLEAR)
		lull_hazptr_clear(holder->slot);
	else if (holder->way == CLEAR_FENCED)
		lull_hazptr_fenced_clear(holder->slot);
	else if (holder->way == OVERWRITE)
		assert_ptr_equal(lull_hazptr_protect(holder->slot, other_source, rcu), &other);
	else if (holder->way == OVERWRITE_FENCED)
		assert_ptr_equal(lull_hazptr_fenced_protect(holder->slot, other_source, rcu), &other);
	else if (holder->way == FREE_SLOT)
		lull_hazptr_free(lull_hazptr_thread_context(), holder->slot);
	else if (holder->way == CLEAN_UP)
		lull_hazptr_context_cleanup(&holder->ctx);
	holder_takes_others(holder, false);
	if (holder_uses_hold(holder) && holder->way != EXIT_OVERFLOW && holder->way != RELEASE_ELSEWHERE)
		lull_hazptr_release(&holder->hold, holder->thing);
}

/* Start a thread that protects *source. */
static inline void holder_start(struct holder *holder, enum letting_go way, struct thing **source)
{
	memset(holder, 0, sizeof(*holder));
	holder->way = way;
	holder->source = source;
	actor_start(&holder->actor);
	on(&holder->actor, holder_protects, holder);
	assert_ptr_equal(holder->thing, *source);
}

static inline bool holder_exits(const struct holder *holder)
{
	return holder->way == EXIT || holder->way == EXIT_OVERFLOW;
}

/* The protection has ended on return; the thread, where it can, is still there. */
static inline void holder_let_go(struct holder *holder)
{
	on(&holder->actor, holder_ends_protection, holder);
	if (holder_exits(holder))
		actor_end(&holder->actor);
	else if (holder->way == RELEASE_ELSEWHERE)
		lull_hazptr_release(&holder->hold, holder->thing);
}

static inline void holder_frees_slot(void *arg)
{
	lull_hazptr_free(lull_hazptr_thread_context(), ((struct holder *)arg)->slot);
}

static inline void holder_finish(struct holder *holder)
{
	if (holder->way < FREE_SLOT)
		on(&holder->actor, holder_frees_slot, holder);
	if (!holder_exits(holder))
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
