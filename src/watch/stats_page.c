/* SPDX-License-Identifier: MIT */
/*
 * stats.c - the page of stats.h: where it is, and that a child gets its own.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/internal.h"
#include "../base/stats_page.h"

/* Until there is one that others can see, and for good where there can be none. */
static struct lull_stats_page private_page;

struct lull_stats_page *lull__stats = &private_page;

static struct lull__shared_file file = { .fd = -1 };

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
	 * Last, for who looks at the page of a process that has just begun; from another process, where
	 * no order of ours is worth anything, so it is looked at with suspicion anyway.
	 */
	lull_store_relaxed(&page->magic, (uint64_t)LULL_STATS_MAGIC);
}

static bool is_off(void)
{
	const char *wish = getenv("LULL_STATS");

	if (!wish || !*wish || strcmp(wish, "on") == 0)
		return false;
	if (strcmp(wish, "off") != 0)
		lull__die("LULL_STATS is \"%.60s\"; it can be on or off", wish);
	return true;
}

void lull__stats_init(void)
{
	void *shared = is_off() ? NULL : lull__shared_file_make(&file, LULL_STATS_NAME, sizeof(private_page));

	if (shared)
		lull__stats = shared;
	begin(lull__stats);
}

/* The parent's page is the parent's: not one number of it may change here. */
void lull__stats_fork_child(void)
{
	bool was_shared = lull__stats != &private_page;

	memset(&private_page, 0, sizeof(private_page));
	if (was_shared) {
		struct lull_stats_page *parents = lull__stats;

		lull__stats = &private_page;
		lull__shared_file_drop(&file, parents, sizeof(*parents));
		parents = lull__shared_file_make(&file, LULL_STATS_NAME, sizeof(private_page));
		if (parents)
			lull__stats = parents;
	}
	begin(lull__stats);
}

const struct lull_stats_page *lull_stats_page(void)
{
	lull__init();
	return lull__stats;
}

const char *lull_wait_kind_name(uint32_t kind)
{
	static const char *const names[LULL_WAIT_KINDS] = {
		[LULL_WAIT_NONE] = "nothing",
		[LULL_WAIT_GP] = "rcu grace period",
		[LULL_WAIT_HAZPTR] = "hazptr synchronize",
		[LULL_WAIT_HAZPTR_BARRIER] = "hazptr barrier",
		[LULL_WAIT_SHAZPTR] = "shazptr synchronize",
		[LULL_WAIT_CALLBACK] = "callback",
		[LULL_WAIT_LIMIT] = "hard limit",
	};

	return kind < LULL_WAIT_KINDS ? names[kind] : "?";
}
