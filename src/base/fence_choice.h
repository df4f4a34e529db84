/* SPDX-License-Identifier: MIT */
/*
 * fence_choice.h - choose which kind of fences this process uses: at first use, and again in a forked child.
 */
#ifndef LULL_FENCE_CHOICE_H
#define LULL_FENCE_CHOICE_H

#include <lull/fence.h>

void lull__fence_init(void);
void lull__fence_fork_child(uint32_t old_tid);

#endif /* LULL_FENCE_CHOICE_H */
