/* SPDX-License-Identifier: MIT */
/*
 * cohort_life.h - cohorts in the life of a process.
 */
#ifndef LULL_COHORT_LIFE_H
#define LULL_COHORT_LIFE_H

#include <stdbool.h>
#include <stdint.h>

void lull__cohort_fork_child(uint32_t old_tid);
void lull__cohort_inside_fork_child(void);

#ifdef LULL_DEBUG
/* Is at @addr the head of a member of @cohort? Both may be freed by now. */
bool lull__cohort_has(const void *cohort, uintptr_t addr);
#endif

#endif /* LULL_COHORT_LIFE_H */
