/* SPDX-License-Identifier: MIT */
/* What the parts of lull doctor share: how a finding is told. */
#ifndef LULL_TOOL_DOCTOR_H
#define LULL_TOOL_DOCTOR_H

#include "common/json.h"

struct report {
	struct jsonout *json;
	/* "findings" of the JSON and its current section; borrowed, NULL without --json */
	json_t *findings, *section;
};

void doctor_section(struct report *r, const char *name);
void doctor_say(struct report *r, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

void doctor_say_kernel(struct report *r); /* sections membarrier, rseq, futex */
void doctor_say_mutex(struct report *r);

#endif
