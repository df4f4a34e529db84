/* SPDX-License-Identifier: MIT */
/*
 * urcu_life.h - threads that run callbacks in the life of the process; for life.c.
 */
#ifndef LULL_URCU_LIFE_H
#define LULL_URCU_LIFE_H

#include <stdint.h>

void lull__urcu_fork_child(uint32_t old_tid);

#endif /* LULL_URCU_LIFE_H */
