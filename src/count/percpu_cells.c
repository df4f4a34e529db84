/* SPDX-License-Identifier: MIT */
/*
 * percpu_cells.c - allocate counters of which each CPU has its own.
 *
 * A chunk is a page for each CPU that the machine can have, in a row; cell n of a CPU is the n-th pair of
 * words in its page, which count up and down. So the counters of many refs share the lines of one CPU and
 * no other's, a page comes from memory near the CPU that first counts there, and pages of CPUs that never
 * run this process are never allocated.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../base/lock.h"
#include "../os/os.h"
#include "percpu_cells.h"
#include "percpu_life.h"

#define CELL  2 /* words */
#define CELLS (LULL__PERCPU_STRIDE / (CELL * sizeof(intptr_t)))
#define WORDS (CELLS / 64)

struct lull__percpu_chunk {
	struct lull__percpu_chunk *next, *prev; /* list of the chunks with a free cell */
	intptr_t *base;
	unsigned used, forks;
	uint64_t taken[WORDS];
};

static struct {
	struct lull__lock lock;
	struct lull__percpu_chunk *partial;
	unsigned cpus;
	unsigned forks; /* from the first process to this one */
} percpu;

static void link_chunk(struct lull__percpu_chunk *chunk)
{
	chunk->prev = NULL;
	chunk->next = percpu.partial;
	if (chunk->next)
		chunk->next->prev = chunk;
	percpu.partial = chunk;
}

static void unlink_chunk(struct lull__percpu_chunk *chunk)
{
	if (chunk->prev)
		chunk->prev->next = chunk->next;
	else
		percpu.partial = chunk->next;
	if (chunk->next)
		chunk->next->prev = chunk->prev;
}

/* Return the number of possible CPUs. Threads that compute it at the same time get the same number. */
static unsigned cpus(void)
{
	unsigned count = lull_load_relaxed(&percpu.cpus);

	if (lull_unlikely(!count)) {
		count = lull__cpus_possible();
		lull_store_relaxed(&percpu.cpus, count);
	}
	return count;
}

static struct lull__percpu_chunk *new_chunk(void)
{
	struct lull__percpu_chunk *chunk = calloc(1, sizeof(*chunk));
	int saved = errno;
	void *base;

	if (!chunk)
		return NULL;
	base = mmap(NULL, cpus() * LULL__PERCPU_STRIDE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	errno = saved;
	if (base == MAP_FAILED) {
		free(chunk);
		return NULL;
	}
	chunk->base = base;
	chunk->forks = percpu.forks;
	return chunk;
}

bool lull__percpu_alloc(struct lull__percpu *cell)
{
	struct lull__percpu_chunk *chunk;
	unsigned word = 0, bit;

	lull__lock(&percpu.lock);
	if (!percpu.partial) {
		lull__unlock(&percpu.lock);
		chunk = new_chunk();
		lull__lock(&percpu.lock);
		if (chunk)
			link_chunk(chunk);
	}
	chunk = percpu.partial;
	if (chunk) {
		while (chunk->taken[word] == UINT64_MAX)
			word++;
		bit = (unsigned)__builtin_ctzll(~chunk->taken[word]);
		chunk->taken[word] |= UINT64_C(1) << bit;
		if (++chunk->used == CELLS)
			unlink_chunk(chunk);
		cell->chunk = chunk;
		cell->first = chunk->base + CELL * (word * 64 + bit);
	}
	lull__unlock(&percpu.lock);
	return chunk != NULL;
}

void lull__percpu_free(struct lull__percpu *cell)
{
	struct lull__percpu_chunk *chunk = cell->chunk;
	size_t index;
	bool empty;

	cell->chunk = NULL;
	lull__percpu_zero(cell);
	if (chunk->forks != percpu.forks)
		return; /* the parent's: not on the list, see below */
	index = (size_t)(cell->first - chunk->base) / CELL;
	lull__lock(&percpu.lock);
	chunk->taken[index / 64] &= ~(UINT64_C(1) << index % 64);
	if (chunk->used-- == CELLS)
		link_chunk(chunk);
	/* Keep one empty chunk: the next ref may come soon. */
	empty = chunk->used == 0 && (chunk->next || chunk->prev);
	if (empty)
		unlink_chunk(chunk);
	lull__unlock(&percpu.lock);
	if (empty) {
		munmap(chunk->base, percpu.cpus * LULL__PERCPU_STRIDE);
		free(chunk);
	}
}

unsigned lull__percpu_count(void)
{
	return percpu.cpus;
}

static intptr_t *of_cpu(const struct lull__percpu *cell, unsigned cpu)
{
	return (intptr_t *)(void *)((char *)cell->first + (size_t)cpu * LULL__PERCPU_STRIDE);
}

intptr_t lull__percpu_sum(const struct lull__percpu *cell)
{
	uintptr_t sum = 0;

	for (unsigned cpu = 0; cpu < percpu.cpus; cpu++) {
		intptr_t *count = of_cpu(cell, cpu);

		sum += (uintptr_t)lull_load_relaxed(&count[0]) - (uintptr_t)lull_load_relaxed(&count[1]);
	}
	return (intptr_t)sum;
}

uint64_t lull__percpu_sum_of(const struct lull__percpu *cell, unsigned word)
{
	uint64_t sum = 0;

	for (unsigned cpu = 0; cpu < percpu.cpus; cpu++)
		sum += (uint64_t)lull_load_acquire(of_cpu(cell, cpu) + word); /* DOM-2 */
	return sum;
}

void lull__percpu_zero(const struct lull__percpu *cell)
{
	/* A store would allocate the page of a CPU that has never counted. */
	for (unsigned cpu = 0; cpu < percpu.cpus; cpu++)
		for (unsigned word = 0; word < CELL; word++)
			if (lull_load_relaxed(of_cpu(cell, cpu) + word) != 0)
				lull_store_relaxed(of_cpu(cell, cpu) + word, 0);
}

/*
 * Begin a new list in the child. The lock is not taken for fork: other fork handlers might then wait for a
 * thread that waits for it. So a thread that the child does not have may have been changing the list.
 */
void lull__percpu_cells_fork_child(uint32_t old_tid)
{
	(void)old_tid;
	percpu.lock.word = 0;
	percpu.partial = NULL;
	percpu.forks++;
}
