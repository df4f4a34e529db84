/* SPDX-License-Identifier: MIT */
/*
 * stats_page.h - make the page that other processes can read; for life.c.
 */
#ifndef LULL_STATS_PAGE_H
#define LULL_STATS_PAGE_H

#include <stdint.h>

#include <lull/stats.h>

void lull__page_init(void); /* look whether the page is wanted */
struct lull_stats_page *lull__stats_page_make(struct lull_stats_page *memory);
void lull__page_fork_child(uint32_t old_tid);

#endif /* LULL_STATS_PAGE_H */
