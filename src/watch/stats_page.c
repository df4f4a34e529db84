/* SPDX-License-Identifier: MIT */
/*
 * stats_page.c - make the page of stats.h, and another one in a forked child.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/events.h"
#include "../base/message.h"
#include "../base/process.h"
#include "../base/registry.h"
#include "../reclaim/reclaim_life.h"
#include "shared_file.h"
#include "stats_page.h"

static struct lull_stats_page *first_page; /* that of events.c */

static struct lull__shared_file page_file = { .fd = -1 };

static void begin(struct lull_stats_page *page)
{
	page->version = LULL_STATS_VERSION;
	page->size = sizeof(*page);
	page->pid = (uint32_t)getpid();
	page->fence = lull__fence_full_mode ? LULL_FENCE_FULL : LULL_FENCE_MEMBARRIER;
#ifdef LULL_DEBUG
	page->debug = 1;
#endif
	page->threads = lull_load_relaxed(&lull__registry_count);
	page->began_ns = lull__now_ns();
	lull__reclaim_limits(&page->hard_items, &page->hard_bytes);
	/*
	 * Last, for another process that reads the page of one that has just begun. The store is not
	 * ordered, so the reader must not trust the page anyway.
	 */
	lull_store_relaxed(&page->magic, (uint64_t)LULL_STATS_MAGIC);
}

static bool is_off(void)
{
	const char *wish = getenv("LULL_STATS");

	if (!wish || !*wish || strcmp(wish, "on") == 0)
		return false;
	if (strcmp(wish, "off") != 0)
		lull__say("LULL_STATS is \"%.60s\", which is ignored; it can be on or off", wish);
	return strcmp(wish, "off") == 0;
}

void lull__page_init(void)
{
	void *shared = is_off() ? NULL : lull__shared_file_make(&page_file, LULL_STATS_NAME, sizeof(*first_page));

	first_page = lull__page;
	if (shared)
		lull__page = shared;
	begin(lull__page);
}

/* Make a new page in the child, without changing any number on the parent's. */
void lull__page_fork_child(uint32_t old_tid)
{
	struct lull_stats_page *parents = lull__page;

	(void)old_tid;
	memset(first_page, 0, sizeof(*first_page));
	lull__page = first_page;
	if (parents != first_page) {
		lull__shared_file_drop(&page_file, parents, sizeof(*parents));
		parents = lull__shared_file_make(&page_file, LULL_STATS_NAME, sizeof(*parents));
		if (parents)
			lull__page = parents;
	}
	begin(lull__page);
}

const struct lull_stats_page *lull_stats_page(void)
{
	lull__init();
	return lull__page;
}
