/* SPDX-License-Identifier: MIT */
/* lull tradeoff: one lull_percpu_rwsem over all objects, whose readers share no line until a writer comes. */
#include <lull/percpu_rwsem.h>

#include "common/bench.h"

static struct {
	struct lull_percpu_rwsem lock;
} all __attribute__((aligned(BENCH_LINE)));

__attribute__((constructor)) static void set_up(void)
{
	lull_percpu_rwsem_init(&all.lock);
}

#define READ_LOCK()    lull_percpu_rwsem_read_lock(&all.lock)
#define READ_UNLOCK()  lull_percpu_rwsem_read_unlock(&all.lock)
#define WRITE_LOCK()   lull_percpu_rwsem_write_lock(&all.lock)
#define WRITE_UNLOCK() lull_percpu_rwsem_write_unlock(&all.lock)
#include "instruments/tradeoff/way_shared_lock.h"

const struct tradeoff_scheme tradeoff_percpu_rwsem = {
	.name = "percpu_rwsem",
	.title = "percpu_rwsem",
	.said = "one percpu_rwsem",
	.header = "lull/percpu_rwsem.h",
	.what = "one lull_percpu_rwsem over all objects; a reader has it while it holds an object, a writer waits for a grace period",
	.is_lock = true,
	.effort = 1,
	MIX_FUNCTIONS,
};
