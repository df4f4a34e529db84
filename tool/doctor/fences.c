/* SPDX-License-Identifier: MIT */
/* lull doctor: what the fences cost, from what was measured. */
#include "doctor/doctor.h"

#include <stdio.h>

#include "common/units.h"

/* Subtract the store and the load without the fence; noise can make the rest a little less than nothing. */
static struct bench_stat say_fence(struct report *r, const char *key, const struct bench_stat *with,
				   const struct bench_stat *without)
{
	double base = without->median, ns = with->median - base;

	doctor_say(r, key, "%s between a store and a load (without: %s)", units_time(ns > 0 ? ns : 0).text,
		   units_time(base).text);
	return (struct bench_stat){ with->min - base, ns, with->max - base, with->count };
}

void doctor_say_fences(struct report *r, const struct bench_result results[DOCTOR_FENCES])
{
	r->light = say_fence(r, "light", &results[DOCTOR_LIGHT].ns, &results[DOCTOR_NONE].ns);
	r->full = say_fence(r, "full", &results[DOCTOR_FULL].ns, &results[DOCTOR_NONE].ns);
}

void doctor_say_heavy(struct report *r, const char *key, uint64_t *ns, size_t count, const uint64_t *interrupts,
		      struct doctor_heavy *told)
{
	struct bench_latency latency = bench_latency_of(ns, count);
	double each = interrupts && count ? (double)*interrupts / (double)count : -1;
	char words[96] = "interrupts n/a";

	if (each >= 0)
		snprintf(words, sizeof(words), "%.2f interrupts each", each);
	if (!count)
		doctor_say(r, key, "n/a: the sibling never had its CPU to itself, other programs are too busy");
	else
		doctor_say(r, key, "%s, p99 %s, %s", units_time(latency.p50).text, units_time(latency.p99).text, words);
	*told = (struct doctor_heavy){ true, latency, each };
}
