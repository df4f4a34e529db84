/* SPDX-License-Identifier: MIT */
/* lull tradeoff: what most programs begin with, one pthread_rwlock_t over all objects. */
#include <pthread.h>

#include "common/bench.h"
#include "instruments/tradeoff/bare_object.h"
#include "instruments/tradeoff/ways.h"

static struct {
	pthread_rwlock_t lock;
} all __attribute__((aligned(BENCH_LINE))) = { PTHREAD_RWLOCK_INITIALIZER };

struct found {
	struct keep *object;
};

static inline void find(struct found *found, struct tradeoff_cell *cell)
{
	pthread_rwlock_rdlock(&all.lock);
	found->object = cell->object;
}

static inline void drop(struct found *found)
{
	(void)found;
	pthread_rwlock_unlock(&all.lock);
}

static inline uint64_t once(struct tradeoff_cell *cell, struct keep *object)
{
	uint64_t value;

	(void)object;
	pthread_rwlock_rdlock(&all.lock);
	value = cell->object->body[0];
	pthread_rwlock_unlock(&all.lock);
	return value;
}

static inline struct keep *publish(struct tradeoff_cell *cell, struct keep *object)
{
	struct keep *old;

	pthread_rwlock_wrlock(&all.lock);
	old = cell->object;
	cell->object = object;
	pthread_rwlock_unlock(&all.lock);
	return old;
}

static inline void let_go(struct keep *object, size_t size)
{
	(void)size;
	free(object);
}

#define WAY_IS_LOCK
#include "instruments/tradeoff/way_body.h"

const struct tradeoff_scheme tradeoff_rwlock = {
	.name = "rwlock",
	.title = "one rwlock",
	.said = "one rwlock",
	.header = "pthread.h",
	.what = "one pthread_rwlock_t over all objects; a reader has it while it holds an object",
	.is_lock = true,
	.effort = 0,
	MIX_FUNCTIONS,
};
