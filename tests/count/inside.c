/* SPDX-License-Identifier: MIT */
/*
 * inside.c - the counters of CPUs, and the lock of a percpu_ref, from the inside: this program contains their
 * sources, counts what they allocate, and lets that fail.
 */
#include <sys/mman.h>

#include "count/support.h"

static int blocks, maps;   /* allocated and not freed */
static int maps_made;	   /* ... also those that were unmapped */
static int allowed = 1000; /* so many allocations, and then no memory */
static size_t map_size;

static bool may_allocate(void)
{
	if (!allowed)
		errno = ENOMEM;
	return allowed && allowed--;
}

static void *counting_calloc(size_t count, size_t size)
{
	if (!may_allocate())
		return NULL;
	blocks++;
	return calloc(count, size);
}

static void counting_free(void *memory)
{
	blocks -= memory != NULL;
	free(memory);
}

static void *counting_mmap(size_t size, int protection, int flags)
{
	if (!may_allocate())
		return MAP_FAILED;
	maps++;
	maps_made++;
	map_size = size;
	return mmap(NULL, size, protection, flags, -1, 0);
}

static int counting_munmap(void *memory, size_t size)
{
	assert_int_equal(size, map_size);
	maps--;
	return munmap(memory, size);
}

#include "../src/base/lock.h"

/* A lock that is not held is never released. */
static void unlock_held(struct lull__lock *lock)
{
	assert_int_not_equal(lull_load_relaxed(&lock->word), 0);
	lull__unlock(lock);
}

/* The word of the last sleep, which is over at once. */
static const uint32_t *slept_for;
static int sleeps;

static void sleep_instead(uint32_t *word, uint32_t value)
{
	assert_int_equal(lull_load_relaxed(word), value);
	slept_for = word;
	sleeps++;
	lull_store_relaxed(word, 0u);
}

#define calloc(count, size)				  counting_calloc(count, size)
#define free(memory)					  counting_free(memory)
#define mmap(at, size, protection, flags, fd, offset)	  counting_mmap(size, protection, flags)
#define munmap(memory, size)				  counting_munmap(memory, size)
#define lull__unlock(lock)				  unlock_held(lock)
#define lull__futex_wait(word, value, until_ns)		  sleep_instead(word, value)
#include "../src/count/percpu_cells.c"
#include "../src/count/percpu_switch.c"
#undef calloc
#undef free
#undef mmap
#undef munmap
#undef lull__unlock
#undef lull__futex_wait

/* ---- cells ------------------------------------------------------------------------------------------------------- */

enum { PAGE = CELLS, MANY = 3 * PAGE };
static struct lull__percpu cell[MANY];

static void take(int n)
{
	assert_true(lull__percpu_alloc(&cell[n]));
	for (unsigned cpu = 0; cpu < percpu.cpus; cpu++)
		for (int word = 0; word < CELL; word++)
			assert_int_equal(of_cpu(&cell[n], cpu)[word], 0);
	/* It is found dirty by the next one, if it is not cleared. */
	of_cpu(&cell[n], percpu.cpus - 1)[1] = of_cpu(&cell[n], 0)[0] = n + 1;
}

static void give_back(int n)
{
	lull__percpu_free(&cell[n]);
	assert_null(cell[n].chunk);
}

USE_SETUP(hearing_setup)
USE_TEARDOWN(settle_teardown)

/* A page of each CPU for as many as there is room for in one; what was given back is taken again. */
TEST(cells)
{
	const uintptr_t stride = LULL__PERCPU_STRIDE;
	intptr_t *freed;

	for (int n = 0; n < MANY; n++) {
		take(n);
		assert_int_equal(maps, n / PAGE + 1);
		assert_int_equal(blocks, maps);
		assert_int_equal(map_size, lull__percpu_count() * stride);
		assert_int_equal(lull__percpu_count(), lull__cpus_possible());
		assert_int_equal((uintptr_t)cell[n].first % stride, n % PAGE * CELL * sizeof(intptr_t));
		assert_ptr_equal(cell[n].first - n % PAGE * CELL, cell[n - n % PAGE].first);
		assert_ptr_equal(cell[n].chunk, cell[n - n % PAGE].chunk);
	}
	/* The chunks are full: the next three take these cells, and nothing is allocated. */
	for (int n = PAGE / 2; n < MANY; n += PAGE) {
		freed = cell[n].first;
		give_back(n);
		take(n);
		assert_ptr_equal(cell[n].first, freed);
	}
	for (int n = PAGE / 2; n < MANY; n += PAGE)
		give_back(n);
	for (int n = MANY - PAGE / 2; n >= 0; n -= PAGE) /* the latest one first, so that each is where it was */
		take(n);
	assert_int_equal(maps_made, 3);
	/* Empty ones go, but for one. */
	for (int n = PAGE; n < 2 * PAGE; n++)
		give_back(n);
	assert_int_equal(maps, 3); /* the only one with room */
	give_back(0);
	give_back(MANY - 1);
	assert_int_equal(maps, 3);
	for (int n = 1; n < PAGE; n++)
		give_back(n);
	assert_int_equal(maps, 2);
	for (int n = 2 * PAGE; n < MANY - 1; n++)
		give_back(n);
	assert_int_equal(maps, 1);
	assert_int_equal(blocks, 1);
	take(0);
	give_back(0);
	assert_int_equal(maps_made, 3);
}

TEST(sum)
{
	intptr_t up = 1000000007;

	assert_true(lull__percpu_alloc(&cell[0]));
	assert_true(lull__percpu_alloc(&cell[1]));
	of_cpu(&cell[1], 0)[0] = 55; /* a neighbour */
	for (unsigned cpu = 0; cpu < percpu.cpus; cpu++) {
		assert_int_equal(lull__percpu_sum(&cell[0]), cpu * (up - 3));
		of_cpu(&cell[0], cpu)[0] = up;
		of_cpu(&cell[0], cpu)[1] = 3;
	}
	assert_int_equal(lull__percpu_sum(&cell[0]), percpu.cpus * (up - 3));
	lull__percpu_zero(&cell[0]);
	assert_int_equal(lull__percpu_sum(&cell[0]), 0);
	assert_int_equal(lull__percpu_sum(&cell[1]), 55);
	of_cpu(&cell[0], 0)[1] = 7;
	assert_int_equal(lull__percpu_sum(&cell[0]), -7);
	give_back(0);
	give_back(1);
}

/* A child takes cells of its own, and what its parent had is cleared and not taken again. */
TEST(cells_of_parent)
{
	struct lull__percpu_chunk *before = percpu.partial;
	struct lull__percpu mine, next;
	int had = maps;

	assert_true(lull__percpu_alloc(&mine));
	of_cpu(&mine, 0)[0] = 5;
	lull_store_relaxed(&percpu.lock.word, 1u); /* of a thread that the child has not */
	lull__percpu_cells_fork_child(1);
	lull__percpu_free(&mine);
	assert_int_equal(mine.first[0], 0);
	assert_null(percpu.partial);
	assert_true(lull__percpu_alloc(&next));
	assert_int_equal(maps, had + 1);
	assert_ptr_not_equal(next.chunk, before);
	lull__percpu_free(&next);
	assert_int_equal(maps, had + 1);
	munmap(before->base, map_size);
	free(before);
	maps--;
	blocks--;
}

/* ---- refs -------------------------------------------------------------------------------------------------------- */

/* Wherever memory runs out: it fails, and nothing is left behind. */
TEST(no_memory)
{
	struct object o;
	int err, had = blocks, nth;

	memset(&o, 0, sizeof(o));
	assert_int_equal(maps, 1);
	munmap(percpu.partial->base, map_size);
	free(percpu.partial);
	percpu.partial = NULL;
	maps--;
	had--;
	blocks--;
	for (nth = 0, err = -ENOMEM; err; nth++) {
		allowed = nth;
		errno = 77;
		err = lull_percpu_ref_init(&o.ref, note_release, 0);
		allowed = 1000;
		assert_int_equal(err, nth < 3 ? -ENOMEM : 0); /* the ref, its chunk, and the chunk's pages */
		if (err) {
			assert_int_equal(blocks, had);
			assert_int_equal(maps, 0);
		}
	}
	assert_int_equal(blocks, had + 2);
	assert_int_equal(maps, 1);
	lull_percpu_ref_kill(&o.ref);
	expect_released(&o, 1);
	lull_percpu_ref_exit(&o.ref);
	assert_int_equal(blocks, had + 1);
	assert_int_equal(maps, 1);
}

/* A switch that ends just now is slept for; one that the parent began is not. */
TEST(change_waits)
{
	struct object o;

	if (!lull_percpu_ref_per_cpu())
		SKIP("where threads have the counters, a thread of lull's ends switches at any time");
	object_init(&o, LULL_PERCPU_REF_ALLOW_REINIT);
	sleeps = 0;
	o.ref.data->switching = state_now(ENDS);
	lull_percpu_ref_switch_to_atomic_sync(&o.ref);
	assert_int_equal(sleeps, 1);
	assert_ptr_equal(slept_for, &o.ref.data->switching);
	lull_percpu_ref_switch_to_percpu(&o.ref);
	process_forks++;
	o.ref.data->switching = state_now(ENDS);
	process_forks--;
	lull_percpu_ref_switch_to_atomic_sync(&o.ref);
	assert_int_equal(sleeps, 1);
	assert_int_equal(o.ref.data->switching, 0);
	lull_percpu_ref_kill(&o.ref);
	expect_released(&o, 1);
	lull_percpu_ref_exit(&o.ref);
}

/* A lock that a thread of the parent's held is free in the child, once, and no other is. */
TEST(lock_of_parent)
{
	struct lull__percpu_data data = { .forks = process_forks };

	lull__lock(&data.lock);
	free_of_parent(&data);
	assert_int_equal(data.lock.word, 1);
	process_forks++;
	lock_data(&data);
	assert_int_equal(data.lock.word, 1);
	free_of_parent(&data);
	assert_int_equal(data.lock.word, 1);
	lull__unlock(&data.lock);
	process_forks--;
	assert_int_equal(mode.lock.word, 0);
}

BEFORE_ALL
{
	alarm(100);
}
