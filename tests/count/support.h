/* SPDX-License-Identifier: MIT */
/*
 * support.h - what the tests of percpu_ref.h share: a counted object that notes what is
 * done to it, and the exact number of its references.
 */
#ifndef LULL_TEST_PERCPU_REF_SUPPORT_H
#define LULL_TEST_PERCPU_REF_SUPPORT_H

#include "hazptr/support.h"

#include <lull/percpu_ref.h>

#if SANITIZED || defined(LULL_TEST_EMULATED)
#define NEEDS_REAL_MEMORY() SKIP(OWN_MEMORY)
#else
#define NEEDS_REAL_MEMORY()                                                                        \
	do {                                                                                       \
		if (under_valgrind())                                                              \
			SKIP(OWN_MEMORY);                                                          \
	} while (0)
#endif

struct object {
	long before; /* the ref is not at the object's address */
	struct lull_percpu_ref ref;
	int alive; /* plain: 1 until release, which the count alone orders */
	int confirmed, released;
	int released_when_confirmed;
	pthread_t released_by;
};

static inline struct object *object_of(struct lull_percpu_ref *ref)
{
	return lull_container_of(ref, struct object, ref);
}

/* The four ways in which a ref may be alive. */
static const unsigned ways[] __attribute__((unused)) = {
	0,
	LULL_PERCPU_REF_ALLOW_REINIT,
	LULL_PERCPU_REF_INIT_ATOMIC,
	LULL_PERCPU_REF_INIT_ATOMIC | LULL_PERCPU_REF_ALLOW_REINIT,
};

enum { WAYS_TO_BE = sizeof(ways) / sizeof(ways[0]) };

static inline void note_release(struct lull_percpu_ref *ref)
{
	struct object *o = object_of(ref);

	o->alive = 0;
	o->released_by = pthread_self();
	lull_add_release(&o->released, 1);
}

static inline void note_confirm(struct lull_percpu_ref *ref)
{
	struct object *o = object_of(ref);

	o->released_when_confirmed += lull_load_acquire(&o->released);
	lull_add_release(&o->confirmed, 1);
}

static inline void object_init(struct object *o, unsigned flags)
{
	memset(o, 0, sizeof(*o));
	memset(&o->ref, 0x5a, sizeof(o->ref)); /* init needs no cleared memory */
	o->alive = 1;
	assert_int_equal(lull_percpu_ref_init(&o->ref, note_release, flags), 0);
}

/* *count becomes @value, in a thousand times the time that it takes at most. */
static inline void expect_count(const int *count, int value)
{
	uint64_t give_up_ns = now_ns() + PATIENCE_NS;

	while (lull_load_acquire(count) != value && now_ns() < give_up_ns)
		sched_yield();
	assert_int_equal(lull_load_acquire(count), value);
}

/* All that kill, switches and their callbacks have to do is done, and so are the consequences. */
static inline void settle(void)
{
	lull_rcu_barrier();
	lull_rcu_barrier();
}

static inline void expect_released(struct object *o, int times)
{
	expect_count(&o->released, times);
	settle();
	assert_int_equal(lull_load_acquire(&o->released), times);
	assert_int_equal(o->released_when_confirmed, 0);
}

/*
 * How many references there are just now; the number does not change meanwhile. It counts in one place
 * afterwards.
 */
static inline long references(struct object *o)
{
	lull_percpu_ref_switch_to_atomic_sync(&o->ref);
	return (long)lull_load_relaxed(&o->ref.count);
}

/* Where CPU 0 counts it. */
static inline uintptr_t cell_of(const struct object *o)
{
	return o->ref.word & ~(uintptr_t)LULL__RSEQ_NOT;
}

static inline void hearing_setup(void)
{
	start_hearing();
}

/* All that has been begun is done, and what has been said does not matter any more. */
static inline void settle_teardown(void)
{
	settle();
	stop_hearing();
}

/* One line that names the call, the ref, how many references it had and what is wrong. */
static inline void check_heard(const char *call, const struct lull_percpu_ref *ref, int count, const char *what)
{
	char line[512];

	snprintf(line, sizeof(line), "%s: percpu_ref %p had %d references: %s. It will never be released", call,
		 (const void *)ref, count, what);
	assert_string_equal(heard, line);
	assert_int_equal(heard_lines, 1);
}

#endif /* LULL_TEST_PERCPU_REF_SUPPORT_H */
