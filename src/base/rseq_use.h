/* SPDX-License-Identifier: MIT */
/*
 * rseq_use.h - find out whether this process may use restartable sequences; end those under way.
 */
#ifndef LULL_RSEQ_USE_H
#define LULL_RSEQ_USE_H

#include <lull/detail/rseq.h>

#include <stdbool.h>

/* Does the system have them, and a barrier that ends them? Registers the process for the barrier. */
bool lull__rseq_usable(void);
/*
 * Make a fence on all CPUs that run this process, after which each sequence that began before is over
 * or will start afresh.
 */
void lull__rseq_barrier(void);

/*
 * Return where the kernel writes the number of the CPU that the calling thread last ran on in user
 * mode; NULL: nowhere. The place exists as long as the thread.
 */
const uint32_t *lull__rseq_cpu(void);

#endif /* LULL_RSEQ_USE_H */
