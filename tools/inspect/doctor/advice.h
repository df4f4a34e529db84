/* SPDX-License-Identifier: MIT */
/* What lull doctor says at the end: is all well, and if not, what costs and what to do. */
#ifndef LULL_TOOL_ADVICE_H
#define LULL_TOOL_ADVICE_H

#include <stdbool.h>
#include <stddef.h>

struct doctor_state {
	bool has_membarrier; /* the strategy of fences */
	bool asked_for_full; /* by LULL_FENCE, or when it was compiled */
	bool counts_per_cpu; /* percpu_ref */
	bool sees_owners;    /* the mutex */
	unsigned cpus;
};

/* Write one sentence into @text. Returns whether all is well. */
bool doctor_advise(const struct doctor_state *state, char *text, size_t size);

#endif
