/* SPDX-License-Identifier: MIT */
/* The last sentence of lull doctor: all is well, or what makes lull slow here and what the user can do about it. */
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
