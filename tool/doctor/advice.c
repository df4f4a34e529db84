/* SPDX-License-Identifier: MIT */
/* lull doctor: the sentence at the end; see advice.h. */
#include "doctor/advice.h"

#include <stdio.h>

bool doctor_advise(const struct doctor_state *state, char *text, size_t size)
{
	const char *part[3];
	size_t count = 0, len, i;

	if (!state->has_membarrier && state->asked_for_full)
		part[count++] = "read sections cost full fences, as LULL_FENCE=full asks (unset it, unless you want to "
				"spare running threads the interrupts)";
	else if (!state->has_membarrier)
		part[count++] = "read sections cost full fences, because membarrier is forbidden or missing "
				"(allow it in the sandbox, or take Linux 4.14 or newer)";
	if (!state->counts_per_cpu && state->has_membarrier) /* without it they are not per CPU either */
		part[count++] = "percpu_ref counts by atomic additions, because nobody has registered "
				"restartable sequences (take glibc 2.35 or newer, without glibc.pthread.rseq=0)";
	if (!state->sees_owners && state->cpus > 1)
		part[count++] = "a thread that waits for a mutex cannot see whether the owner runs (unset LULL_OWNER_ORACLE, or "
				"switch restartable sequences on)";
	if (!count) {
		snprintf(text, size, "All is well: lull has everything here that makes it fast.");
		return true;
	}
	len = (size_t)snprintf(text, size, "lull works here, but not at its best: ");
	for (i = 0; i < count && len < size; i++)
		len += (size_t)snprintf(text + len, size - len, "%s%s", i ? "; " : "", part[i]);
	if (len < size)
		snprintf(text + len, size - len, ".");
	return false;
}
