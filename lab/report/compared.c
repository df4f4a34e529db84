/* SPDX-License-Identifier: MIT */
/* Results of `lull compare`: the waits that it asks for, and the most threads; see compared.h. */
#include "report/compared.h"

const struct compare_wait compare_waits[COMPARE_WAITS_MAX] = {
	{ "synchronize_idle", "Waiting for readers, nobody reading", "Until synchronize returns" },
	{ "synchronize_busy", "Waiting for readers, one of them busy",
	  "Until synchronize returns, while a thread reads in short sections back to back" },
	{ "call_idle", "From a deferred call to its callback, nobody reading",
	  "One call at a time" },
	{ "call_busy", "From a deferred call to its callback, one busy reader",
	  "One call at a time, while a thread reads in short sections back to back" },
	{ "barrier_queued_idle", "Until a barrier returns, nobody reading",
	  "One deferred call is queued before each" },
	{ "barrier_queued_busy", "Until a barrier returns, one busy reader",
	  "One deferred call is queued before each, while a thread reads in short sections back "
	  "to back" },
};

size_t compare_locks_most(const struct compare_locks *locks)
{
	size_t most = 0, i;

	for (i = 1; i < locks->nr_threads; i++)
		if (locks->threads[i] > locks->threads[most])
			most = i;
	return most;
}
