/* SPDX-License-Identifier: MIT */
/* lull torture: one lock, taken in all ways there are, and what it guards. See torture_mutex.h. */
#include "common/clock.h"
#include "torture/mutex/torture_mutex.h"

#include <errno.h>

struct torture_mutexes torture_mutexes;

uint64_t torture_mutex_deadline(uint64_t *rng)
{
	uint64_t now_ns = bench_now_ns();

	switch (torture_random(rng, 4)) {
	case 0:
		return now_ns - torture_random(rng, 1000);
	case 1:
		return now_ns + torture_random(rng, 10000000);
	default:
		return now_ns + torture_random(rng, 200000);
	}
}

static bool take_in_time(struct lull_mutex *m, uint64_t *rng)
{
	int err = lull_mutex_timedlock(m, torture_mutex_deadline(rng));

	if (err && err != -ETIMEDOUT)
		torture_fail("lull_mutex_timedlock() gives %d", err);
	if (err)
		lull_add_relaxed(&torture_mutexes.timeouts, (uint64_t)1);
	return err == 0;
}

static bool take_at_once(struct lull_mutex *m)
{
	if (lull_mutex_trylock(m))
		return true;
	lull_add_relaxed(&torture_mutexes.busy, (uint64_t)1);
	return false;
}

bool torture_mutex_take(struct lull_mutex *m, struct mutex_watch *watch, uint64_t *rng)
{
	struct mutex_op *op = torture_op_begin(watch);
	bool got = true;

	switch (torture_random(rng, 8)) {
	case 0:
		got = take_at_once(m);
		break;
	case 1:
	case 2:
		got = take_in_time(m, rng);
		break;
	default:
		lull_mutex_lock(m);
	}
	if (got)
		lull_store_relaxed(&watch->entries, lull_load_relaxed(&watch->entries) + 1);
	torture_op_end(op);
	return got;
}

void torture_mutex_drop(struct lull_mutex *m, struct mutex_watch *watch)
{
	struct mutex_op *op = torture_op_begin(watch);

	lull_mutex_unlock(m);
	torture_op_end(op);
}

void torture_mutex_visit(struct mutex_pair *pair, uint64_t ns, const char *where)
{
	if (pair->a != pair->b)
		torture_fail("%s: more than one thread has the lock, or its owner does not see what the last one wrote "
			     "(%llu and %llu)",
			     where, (unsigned long long)pair->a, (unsigned long long)pair->b);
	pair->a++;
	if (ns)
		torture_spin_ns(ns);
	if (pair->a != pair->b + 1)
		torture_fail("%s: somebody else was there while it was locked", where);
	pair->b++;
}

struct mutex_lock *torture_mutex_any(uint64_t *rng)
{
	/* Half of the time the one that is wanted most. */
	return &torture_mutexes.lock[torture_once_in(rng, 2) ? 0 : torture_random(rng, MUTEX_LOCKS)];
}
