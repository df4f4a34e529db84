/* SPDX-License-Identifier: MIT */
/* lull top: whether what was read is a page of stats.h, and the counts in it. */
#include <stdio.h>
#include <string.h>

#include "top/top.h"

#define COUNTER(key, label, field, late, bytes)                                  \
	{                                                                        \
		key, label, offsetof(struct lull_stats_page, field), late, bytes \
	}

const struct top_counter top_counters[TOP_COUNTERS] = {
	COUNTER("grace_periods", "grace periods", gp_ended, false, false),
	COUNTER("heavy_fences", "heavy fences", heavy_fences, false, false),
	COUNTER("passes", "passes", passes, false, false),
	COUNTER("wakeups", "wake-ups", wakeups, false, false),
	COUNTER("queued_items", "deferred", queued_items, false, false),
	COUNTER("queued_bytes", "  their bytes", queued_bytes, false, true),
	COUNTER("done_items", "reclaimed", done_items, true, false),
	COUNTER("done_bytes", "  their bytes", done_bytes, true, true),
	COUNTER("scans", "hazptr scans", scans, false, false),
	COUNTER("shazptr_scans", "shazptr scans", shazptr_scans, false, false),
	COUNTER("mutex_sleeps", "mutex sleeps", mutex_sleeps, false, false),
	COUNTER("stalls", "stalls", stalls, false, false),
};

uint64_t top_count(const struct lull_stats_page *page, const struct top_counter *counter)
{
	uint64_t value;

	memcpy(&value, (const char *)page + counter->at, sizeof(value));
	return value;
}

static bool copy_fits(const struct top_copy *copy, uint32_t inner, char *why, size_t size)
{
	const struct lull_stats_page *page = &copy->page;

	if (copy->len < offsetof(struct lull_stats_page, pid))
		snprintf(why, size, "its stats page is cut short: %zu bytes", copy->len);
	else if (page->magic != LULL_STATS_MAGIC)
		snprintf(why, size,
			 page->magic ? "its stats page is not one of lull's" :
				       "its stats page is still empty");
	else if (page->version != LULL_STATS_VERSION)
		snprintf(why, size,
			 "its stats page has version %u, and this command reads version %u",
			 page->version, LULL_STATS_VERSION);
	else if (page->size != sizeof(*page))
		snprintf(why, size, "its stats page says it has %u bytes, version %u has %zu",
			 page->size, LULL_STATS_VERSION, sizeof(*page));
	else if (copy->len < sizeof(*page))
		snprintf(why, size, "its stats page is cut short: %zu bytes of %zu", copy->len,
			 sizeof(*page));
	else if (page->pid != inner)
		snprintf(why, size, "its stats page is that of process %u", page->pid);
	else
		return true;
	return false;
}

bool top_check(const struct top_sample *sample, uint32_t inner, char *why, size_t size)
{
	return copy_fits(&sample->first, inner, why, size) &&
	       copy_fits(&sample->again, inner, why, size);
}

static bool add_up(const struct lull_stats_page *page, uint64_t *sum)
{
	unsigned i;

	for (*sum = 0, i = 0; i < LULL_STATS_BUCKETS; i++)
		if (__builtin_add_overflow(*sum, page->gp_ns[i], sum))
			return false;
	return true;
}

/*
 * The process counts one grace period in several places, and a copy takes its time: within one copy
 * any of them may be ahead. But what the first copy has in one place, the second has in all.
 *
 * Of eight grace periods in a row, one counts as eight in the histogram, if no thread slept for it; each of the others
 * counts as one, if a thread did. So eight of them are at least one in the histogram, and at most fifteen.
 */
bool top_latency_fits(const struct top_sample *sample)
{
	const struct lull_stats_page *first = &sample->first.page, *again = &sample->again.page;
	uint64_t sum_first, sum_again;

	return add_up(first, &sum_first) && add_up(again, &sum_again) && sum_first <= sum_again &&
	       sum_first / 2 <= again->gp_ended + 8 && first->gp_ended / 8 <= sum_again + 1 &&
	       first->gp_ended <= again->gp_started && first->gp_ended <= again->gp_ended;
}
