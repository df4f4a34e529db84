/* SPDX-License-Identifier: MIT */
/* lull torture: what sections have seen, added up. See torture.h. */
#include "torture/torture.h"

#include <stdio.h>

void torture_add_tally(struct torture_tally *to, const struct torture_tally *from)
{
	unsigned i;

	to->sections += from->sections;
	for (i = 0; i <= TORTURE_AGES; i++) {
		to->age[i] += from->age[i];
		to->batch[i] += from->batch[i];
	}
}

struct torture_tally torture_total_tally(void)
{
	struct torture_tally sum = torture.releaser.tally;
	unsigned i, k;

	for (i = 0; i < torture.nr_threads; i++) {
		const struct torture_tally *both[] = { &torture.threads[i].tally,
						       &torture.threads[i].handler_tally };

		for (k = 0; k < 2 * (TORTURE_AGES + 1); k++) {
			sum.age[k / 2] += both[k & 1]->age[k / 2];
			sum.batch[k / 2] += both[k & 1]->batch[k / 2];
		}
		sum.sections += both[0]->sections + both[1]->sections;
	}
	return sum;
}

void torture_print_ages(const char *title, const uint64_t *count)
{
	unsigned i;

	printf("%-24s", title);
	for (i = 0; i <= TORTURE_AGES; i++)
		printf(" %llu", (unsigned long long)count[i]);
	putchar('\n');
}
