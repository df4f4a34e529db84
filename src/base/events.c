/* SPDX-License-Identifier: MIT */
/*
 * events.c - the page of counts until the watch makes one that other processes can read, if it can.
 */
#include "events.h"

static struct lull_stats_page private_page;

struct lull_stats_page *lull__page = &private_page;
