/* SPDX-License-Identifier: MIT */
/*
 * percpu_cells.h - counters of which each CPU has its own: cells LULL__PERCPU_STRIDE bytes apart.
 */
#ifndef LULL_PERCPU_H
#define LULL_PERCPU_H

#include <lull/detail/rseq.h>

#define LULL__PERCPU_STRIDE ((size_t)1 << LULL__RSEQ_SHIFT)

struct lull__percpu_chunk;

struct lull__percpu {
	struct lull__percpu_chunk *chunk;
	intptr_t *first; /* CPU 0's, one that counts up and one that counts down; the others follow */
};

/* Allocate a cell of zeros. Returns false if there is no memory. Not in signal handlers. */
bool lull__percpu_alloc(struct lull__percpu *cell);
void lull__percpu_free(struct lull__percpu *cell);

unsigned lull__percpu_count(void); /* return the number of CPUs; not before the first alloc */
/* Sum up what was counted up less what was counted down. Exact only when no thread adds any more. */
intptr_t lull__percpu_sum(const struct lull__percpu *cell);
/* Sum up what was counted up (0) or down (1), with acquire. */
uint64_t lull__percpu_sum_of(const struct lull__percpu *cell, unsigned word);
void lull__percpu_zero(const struct lull__percpu *cell);

#endif /* LULL_PERCPU_H */
