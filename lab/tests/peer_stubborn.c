/* SPDX-License-Identifier: MIT */
/* A module with one scheme, whose updates wait until no other thread is there. */
#include <stddef.h>
#include <unistd.h>

#include <lull/atomic.h>

#include "hash_scheme.h"
#include "peer_module.h"

static unsigned entered; /* threads */

/* A table is its number of elements. */
static void *create(const struct bench_hash_shape *shape)
{
	size_t *elements = malloc(sizeof(*elements));

	if (elements)
		*elements = shape->elements;
	return elements;
}

static void enter(void)
{
	lull_add_acq_rel(&entered, 1);
}

static void leave(void)
{
	lull_add_acq_rel(&entered, -1u);
}

static uint64_t look_up(struct bench_thread *t, void *table, uint64_t n, uint64_t updates)
{
	(void)t;
	(void)table;
	(void)updates;
	return n;
}

/* The table of one element is for finding out how much memory a thread takes. */
static void update(void *table, size_t key)
{
	(void)key;
	while (*(size_t *)table > 1 && lull_load_acquire(&entered) > 1)
		usleep(100);
}

static const struct bench_hash_scheme stubborn = {
	.name = "stubborn",
	.what = "an update waits until nobody else is there",
	.section = "none",
	.holds_up = "all updates",
	.create = create,
	.destroy = free,
	.thread_enter = enter,
	.thread_leave = leave,
	.run = look_up,
	.update = update,
};

static const void *const reload[] = { &stubborn, NULL };

const struct peer_module lull_peer_module = {
	.build = PEER_BUILD,
	.version = "",
	.schemes = { [PEER_RELOAD] = reload },
};
