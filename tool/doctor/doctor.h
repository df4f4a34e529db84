/* SPDX-License-Identifier: MIT */
/* Parts that lull doctor's files share: how a finding is told, and what is kept for the JSON. */
#ifndef LULL_TOOL_DOCTOR_H
#define LULL_TOOL_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bench.h"
#include "common/figures.h"
#include "common/options.h"

struct doctor_finding {
	const char *section;
	char *key, *text;
};

/* The fence of a grace period. */
struct doctor_heavy {
	bool tried;
	struct bench_latency latency;
	double interrupts; /* of each call; negative: not known */
};

struct report {
	const char *section; /* of the findings that come now */
	struct doctor_finding *finding;
	size_t findings;
	struct bench_stat light, full; /* ns that the fence adds */
	struct doctor_heavy alone, sibling;
	bool well;
	char advice[1024];
};

void doctor_section(struct report *r, const char *name);
void doctor_say(struct report *r, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void doctor_forget(struct report *r);

void doctor_say_kernel(struct report *r); /* sections membarrier, rseq, futex */
void doctor_say_mutex(struct report *r);

/* ---- figures of what was measured (fences.c) -------------------------------------------------- */

enum { DOCTOR_NONE, DOCTOR_LIGHT, DOCTOR_FULL, DOCTOR_FENCES };

/* Say, and note in @r, what each fence takes: the time with it, less that without. */
void doctor_say_fences(struct report *r, const struct bench_result results[DOCTOR_FENCES]);
/* The same for @count calls that took @ns, which are sorted; @interrupts in all of them, NULL: not known. */
void doctor_say_heavy(struct report *r, const char *key, uint64_t *ns, size_t count, const uint64_t *interrupts,
		      struct doctor_heavy *told);

/* ---- for programs (json.c, or nojson.c in a build without jansson) ---------------------------- */

struct jsonout;

/* NULL: no JSON is asked for. Where the file cannot be written, exit 2. */
struct jsonout *doctor_json_open(const struct options *opt);
void doctor_json_close(struct jsonout *json, const struct report *r);

#endif
