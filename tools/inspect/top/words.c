/* SPDX-License-Identifier: MIT */
/* lull top: numbers, threads and states in words. */
#include "inspect/top/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <lull/fence.h>

#include "inspect/top/procfile.h"

/* ---- numbers --------------------------------------------------------------------------------- */

/* Three digits, and what stands for so many powers of @step. */
static struct top_word scaled(double value, double step, const char *const *units,
			      unsigned nr_units)
{
	struct top_word w;
	unsigned i = 0;

	while (i + 1 < nr_units && value >= (step > 1000 ? 1023.5 : 999.5)) {
		value /= step;
		i++;
	}
	snprintf(w.text, sizeof(w.text), "%.*f%s", i && value < 99.95 ? 1 : 0, value, units[i]);
	return w;
}

static struct top_word decimal(double value)
{
	static const char *const units[] = { "", " k", " M", " G", " T", " P", " E" };

	return scaled(value, 1000, units, sizeof(units) / sizeof(units[0]));
}

struct top_word top_word_count(uint64_t count)
{
	struct top_word w;

	if (count > 9999999)
		return decimal((double)count);
	snprintf(w.text, sizeof(w.text), "%" PRIu64, count);
	return w;
}

struct top_word top_word_rate(const struct top_rate *rate)
{
	struct top_word w = { "?" };

	if (!rate->known)
		return w;
	if (rate->per_s > 999999)
		return decimal(rate->per_s);
	snprintf(w.text, sizeof(w.text), "%.*f", rate->per_s < 99.95 ? 1 : 0, rate->per_s);
	return w;
}

struct top_word top_word_bytes(double bytes)
{
	static const char *const units[] = { " B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB" };

	return scaled(bytes, 1024, units, sizeof(units) / sizeof(units[0]));
}

struct top_word top_word_ns(double ns)
{
	static const char *const units[] = { " ns", " us", " ms", " s" };

	return scaled(ns, 1000, units, sizeof(units) / sizeof(units[0]));
}

struct top_word top_word_age(double seconds)
{
	uint64_t whole = (uint64_t)seconds;
	struct top_word w;

	if (seconds < 60)
		return top_word_ns(seconds * 1e9);
	if (whole < 3600)
		snprintf(w.text, sizeof(w.text), "%u min %02u s", (unsigned)(whole / 60),
			 (unsigned)(whole % 60));
	else if (whole < 86400)
		snprintf(w.text, sizeof(w.text), "%u h %02u min", (unsigned)(whole / 3600),
			 (unsigned)(whole / 60 % 60));
	else
		snprintf(w.text, sizeof(w.text), "%" PRIu64 " d %02u h", whole / 86400,
			 (unsigned)(whole / 3600 % 24));
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
