/* SPDX-License-Identifier: MIT */
/*
 * stall.h - the watch's part in waits; hooks.h says when these are called.
 */
#ifndef LULL_STALL_H
#define LULL_STALL_H

#include "../base/wait.h"

void lull__stall_begin(struct lull__wait *wait);
void lull__stall_left(const struct lull__wait *wait);
void lull__stall_end(struct lull__wait *wait);
uint64_t lull__stall_blame(struct lull__wait *wait, const struct lull_stall *first, unsigned named, unsigned holders);
void lull__stall_report(const struct lull__wait *wait, struct lull_stall *first, unsigned named);
void lull__stall_over_limit(size_t items, size_t bytes);
void lull__stall_fork_child(uint32_t old_tid);

#endif /* LULL_STALL_H */
