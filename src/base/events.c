/* SPDX-License-Identifier: MIT */
/*
 * events.c - the page of counts until there is one that other processes can read, and for good where there can be none.
 */
#include "events.h"

static struct lull_stats_page private_page;

struct lull_stats_page *lull__page = &private_page;
