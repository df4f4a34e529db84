/* SPDX-License-Identifier: MIT */
/* domain_life.h - for life.c. */
#ifndef LULL_DOMAIN_LIFE_H
#define LULL_DOMAIN_LIFE_H

#include <stdbool.h>
#include <stdint.h>

void lull__domain_call_fork_child(uint32_t old_tid);
void lull__domain_fork_child(uint32_t old_tid);

#ifdef LULL_DEBUG
/* Is a section of any domain open, of whichever thread? */
bool lull__domain_any_open(void);
#endif

#endif /* LULL_DOMAIN_LIFE_H */
