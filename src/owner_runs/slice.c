/* SPDX-License-Identifier: MIT */
/*
 * slice.c - the oracle that also asks the kernel not to preempt an owner (time_slice.h).
 *
 * That costs something if sections are short, so it is chosen only by name.
 */
#include "owner_runs.h"
#include "time_slice.h"

static bool slice_usable(void)
{
	return lull__slice_offered() && lull__oracle_rseq_usable();
}

static void slice_thread_enter(void)
{
	lull__slice_enable();
}

const struct lull__oracle lull__oracle_slice = {
	.name = "slice",
	.when_asked = true,
	.usable = slice_usable,
	.runs = lull__oracle_rseq_runs,
	.thread_enter = slice_thread_enter,
	.tries = lull__slice_begin,
	.released = lull__slice_end,
	.slice_over = lull__slice_granted,
};
