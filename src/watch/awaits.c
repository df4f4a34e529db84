/* SPDX-License-Identifier: MIT */
/*
 * awaits.c - what a thread that holds up others waits for itself.
 */
#include <stdio.h>

#include "../base/events.h"
#include "../base/message.h"
#include "../owner_runs/owner.h"
#include "task.h"

static void mutex_words(const struct lull_mutex *m, char *buf, size_t size)
{
	uint32_t owner = lull__owner_of(m);

	if (owner)
		snprintf(buf, size, "for mutex %p, which %s has%s", (const void *)m, lull__thread_words(owner).text,
			 owner == lull__gettid() ? ", the one that waits here" : "");
	else
		snprintf(buf, size, "for mutex %p", (const void *)m);
}

/* Find the wait of @tid that the page shows. Only this process writes there. */
static void shown_words(uint32_t tid, char *buf, size_t size)
{
	for (unsigned i = 0; i < LULL_STATS_WAITS; i++) {
		const struct lull_stats_wait *shown = &lull__page()->waits[i];
		uint32_t kind = lull_load_relaxed(&shown->kind), holder = lull_load_relaxed(&shown->tid);

		if (kind == LULL_WAIT_NONE || kind == LULL_WAIT_CALLBACK || lull_load_relaxed(&shown->waiter_tid) != tid)
			continue;
		snprintf(buf, size, "for a wait of kind \"%s\"%s%s", lull_wait_kind_name(kind), holder ? ", held up by " : "",
			 holder ? lull__thread_words(holder).text : "");
		return;
	}
}

void lull__task_awaits(uint32_t tid, char *buf, size_t size)
{
	struct lull__owner_wish wish;

	buf[0] = '\0';
	if (tid && lull__owner_wish(tid, &wish))
		mutex_words(wish.waits, buf, size);
	else if (tid)
		shown_words(tid, buf, size);
}
