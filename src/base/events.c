/* SPDX-License-Identifier: MIT */
/*
 * events.c - the page of counts: made at the first event, by the watch if there is one.
 */
#include <string.h>

#include "events.h"
#include "hooks.h"
#include "lock.h"
#include "../os/os.h"

static struct lull_stats_page private_page;
static struct lull__lock making;

struct lull_stats_page *lull__page_now;

/* Block signals: a handler may count an event. Nothing is counted elsewhere meanwhile, so that no count is lost. */
struct lull_stats_page *lull__page_make(void)
{
	struct lull_stats_page *page = &private_page;
	sigset_t saved;

	lull__block_signals(&saved);
	lull__lock(&making);
	if (lull__page_now)
		page = lull__page_now;
	else if (lull__watch)
		page = lull__watch->page_make(page);
	/*
	 * ORDER PAGE-1: what the page begins with before its place; pairs with PAGE-1 in lull__page(); without it
	 * as there; model/base/page.litmus
	 */
	lull_store_release(&lull__page_now, page);
	lull__unlock(&making);
	lull__restore_signals(&saved);
	return page;
}

void lull__page_forget(void)
{
	memset(&private_page, 0, sizeof(private_page));
	making.word = 0;
	lull__page_now = NULL;
}
