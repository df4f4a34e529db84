/* SPDX-License-Identifier: MIT */
/*
 * stats_page.c - make the page of stats.h at the first event, and another one in a forked child.
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

static bool off; /* LULL_STATS=off */
static struct lull_stats_page *shared; /* NULL: there is none, or no such page can be made here */

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
	 * Store this last: another process may read the page of one that has just begun. The store is not ordered, so
	 * the reader must not trust the page anyway.
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
	off = is_off();
}

struct lull_stats_page *lull__stats_page_make(struct lull_stats_page *memory)
{
	shared = off ? NULL : lull__shared_file_make(&page_file, LULL_STATS_NAME, sizeof(*shared));
	if (shared)
		memory = shared;
	begin(memory);
	return memory;
}

/* Leave the parent's page alone. The child makes its own at its first event. */
void lull__page_fork_child(uint32_t old_tid)
{
	(void)old_tid;
	if (shared)
		lull__shared_file_drop(&page_file, shared, sizeof(*shared));
	shared = NULL;
	lull__page_forget();
}

const struct lull_stats_page *lull_stats_page(void)
{
	lull__init();
	return lull__page_make(); /* its lock shows the page complete */
}
