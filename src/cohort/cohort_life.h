/* SPDX-License-Identifier: MIT */
/*
 * cohort_life.h - cohorts in the life of a process.
 */
#ifndef LULL_COHORT_LIFE_H
#define LULL_COHORT_LIFE_H

#include <stdint.h>

void lull__cohort_fork_child(uint32_t old_tid);
void lull__cohort_inside_fork_child(void);

#endif /* LULL_COHORT_LIFE_H */
