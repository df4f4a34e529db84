/* SPDX-License-Identifier: MIT */
/*
 * rseq_use.h - may restartable sequences be used in this process, and how to end those under way.
 */
#ifndef LULL_RSEQ_USE_H
#define LULL_RSEQ_USE_H

#include <lull/detail/rseq.h>

#include <stdbool.h>

/* The system has them, and a barrier that ends them; registers the process for that. */
bool lull__rseq_usable(void);
/*
 * A fence on all CPUs that run this process, after which each sequence that began before is over or
 * will start afresh.
 */
void lull__rseq_barrier(void);
void lull__rseq_fork_child(void); /* where they are in use */

/*
 * Where the kernel writes the number of the CPU that the calling thread last ran on in user mode; NULL:
 * it does not. There as long as the thread is.
 */
const uint32_t *lull__rseq_cpu(void);

#endif /* LULL_RSEQ_USE_H */
