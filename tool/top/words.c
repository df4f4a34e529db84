/* SPDX-License-Identifier: MIT */
/* lull top: numbers, threads and states in words. */
#include "top/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <lull/fence.h>

#include "top/procfile.h"

/* ---- numbers --------------------------------------------------------------------------------- */

struct units_text top_word_count(uint64_t count)
{
	struct units_text w;

	if (count > 9999999)
		return units_count((double)count);
	snprintf(w.text, sizeof(w.text), "%" PRIu64, count);
	return w;
}

struct units_text top_word_rate(const struct top_rate *rate)
{
	struct units_text w = { "?" };

	if (!rate->known)
		return w;
	if (rate->per_s > 999999)
		return units_count(rate->per_s);
	snprintf(w.text, sizeof(w.text), "%.*f", rate->per_s < 99.95 ? 1 : 0, rate->per_s);
	return w;
}

/* ---- threads --------------------------------------------------------------------------------- */

void top_clean(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

const char *top_fence_name(uint32_t fence)
{
	if (fence == LULL_FENCE_MEMBARRIER)
		return "membarrier";
	return fence == LULL_FENCE_FULL ? "full" : "?";
}

void top_thread_is(struct top_thread *t, const char *comm, const char *stat, const char *wchan)
{
	char state = stat ? proc_state_in(stat) : '?';

	t->state = state == '?' ? 0 : state;
	t->gone = state == 'Z' || state == 'X';
	snprintf(t->name, sizeof(t->name), "%s", comm ? comm : "?");
	/* 0: it runs, or the kernel does not tell. */
	snprintf(t->where, sizeof(t->where), "%s", wchan && strcmp(wchan, "0") ? wchan : "");
}

const char *top_state_name(const struct top_thread *t)
{
	if (t->gone)
		return "has exited";
	switch (t->state) {
	case 'R':
		return "runs";
	case 'S':
	case 'I':
		return "sleeps";
	case 'D':
		return "waits for a device";
	case 'T':
	case 't':
		return "is stopped";
	default:
		return "?";
	}
}
