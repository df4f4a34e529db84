/* SPDX-License-Identifier: MIT */
/*
 * lull-torture-busted: `lull torture` around a library with faults. `lull torture --busted NAME`
 * starts it.
 */
#include <stdio.h>

#include "busted.h"
#include "main.h"
#include "options.h"
#include "torture.h"

static const struct fault {
	enum lull__busted id;
	const char *name, *what;
} faults[] = {
#define FAULT(id, name, what) { LULL__BUSTED_##id, name, what },
	LULL__BUSTED_FAULTS(FAULT)
};

#define NR_FAULTS (sizeof(faults) / sizeof(faults[0]))

void torture_faults_list(void)
{
	size_t i;

	for (i = 0; i < NR_FAULTS; i++)
		printf("%-18s %s\n", faults[i].name, faults[i].what);
}

void torture_fault_set(const char *name, char **argv)
{
	const char *words[NR_FAULTS + 1] = { NULL };
	size_t i;

	(void)argv;
	for (i = 0; i < NR_FAULTS; i++)
		words[i] = faults[i].name;
	i = options_word("--busted", name, words);
	if (faults[i].id == LULL__BUSTED_NO_HEAVY_FENCE &&
	    lull_fence_strategy() != LULL_FENCE_MEMBARRIER)
		options_bad("--busted %s: light fences are full ones here, nothing depends on the "
			    "heavy one",
			    name);
	lull__busted = faults[i].id;
}

int main(int argc, char **argv)
{
	static char name[] = "torture"; /* for the line that tells how to replay */

	if (argc)
		argv[0] = name;
	return lull_cmd_torture(argc, argv);
}
