/* SPDX-License-Identifier: MIT */
/* lull tradeoff: what most programs begin with, one pthread_rwlock_t over all objects. */
#include <pthread.h>

#include "common/bench.h"

static struct {
	pthread_rwlock_t lock;
} all __attribute__((aligned(BENCH_LINE))) = { PTHREAD_RWLOCK_INITIALIZER };

#define READ_LOCK()    pthread_rwlock_rdlock(&all.lock)
#define READ_UNLOCK()  pthread_rwlock_unlock(&all.lock)
#define WRITE_LOCK()   pthread_rwlock_wrlock(&all.lock)
#define WRITE_UNLOCK() pthread_rwlock_unlock(&all.lock)
#include "instruments/tradeoff/way_shared_lock.h"

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
