/* SPDX-License-Identifier: MIT */
/*
 * lull-torture-busted: `lull torture` around a library with faults. `lull torture --busted NAME`
 * starts it.
 */
#include <stdio.h>
#include <string.h>

#include <lull/mutex.h>
#include <lull/percpu_ref.h>

#include "busted.h"
#include "common/commands.h"
#include "common/options.h"
#include "torture/flavors.h"
#include "torture/run.h"

static const struct fault {
	enum lull__busted id;
	const char *name, *flavor, *what;
} faults[] = {
#define FAULT(id, name, flavor, what) { LULL__BUSTED_##id, name, flavor, what },
	LULL__BUSTED_FAULTS(FAULT)
};

#define NR_FAULTS (sizeof(faults) / sizeof(faults[0]))

void torture_faults_list(void)
{
	size_t i;

	for (i = 0; i < NR_FAULTS; i++)
		printf("%-25s %-10s %s\n", faults[i].name, faults[i].flavor, faults[i].what);
}

static const struct torture_flavor *flavor_named(const char *name)
{
	size_t i = 0;

	while (strcmp(torture_flavors[i]->name, name) != 0)
		i++;
	return torture_flavors[i];
}

static void check_fits(const struct fault *fault)
{
	bool is_fence = fault->id == LULL__BUSTED_NO_HEAVY_FENCE || fault->id == LULL__BUSTED_HAZPTR_NO_FENCE;

	if (torture.flavor && strcmp(torture.flavor->name, fault->flavor) != 0)
		options_bad("--busted %s is a fault of --flavor %s, not of %s", fault->name,
			    fault->flavor, torture.flavor->name);
	if (is_fence && lull_fence_strategy() != LULL_FENCE_MEMBARRIER)
		options_bad("--busted %s: light fences are full ones here, nothing depends on the "
			    "heavy one",
			    fault->name);
	if ((fault->id == LULL__BUSTED_PERCPU_NO_BARRIER || fault->id == LULL__BUSTED_PERCPU_NO_RESTART) &&
	    !lull_percpu_ref_per_cpu())
		options_bad("--busted %s: there are no restartable sequences here, nothing depends on the barrier",
			    fault->name);
	if (fault->id == LULL__BUSTED_OWNER_NO_WAIT && strcmp(lull_mutex_oracle_name(), "none") == 0)
		options_bad("--busted %s: the oracle is \"none\" here, nobody looks at another thread's memory",
			    fault->name);
}

static enum torture_use_fault use_fault_of(enum lull__busted id)
{
	switch (id) {
	case LULL__BUSTED_HAZPTR_RELAXED_CLEAR:
		return FAULT_LOOK_AFTER_CLEAR;
	case LULL__BUSTED_HAZPTR_NO_SECOND_LOOK:
		return FAULT_NO_SECOND_LOOK;
	case LULL__BUSTED_QSBR_SILENT:
		return FAULT_NO_QUIESCENT;
	case LULL__BUSTED_QSBR_EARLY:
		return FAULT_EARLY_QUIESCENT;
	case LULL__BUSTED_HASH_FREE_AT_ONCE:
		return FAULT_FREE_AT_ONCE;
	case LULL__BUSTED_HASH_REPLACE_IN_TWO:
		return FAULT_REPLACE_IN_TWO;
	case LULL__BUSTED_KILL_TWICE:
		return FAULT_KILL_TWICE;
	default:
		return FAULT_NONE;
	}
}

/* What a fault needs to be met at all, unless it was given. */
static void set_conditions(enum lull__busted id)
{
	if (id == LULL__BUSTED_STALL_NOT_TOLD && !torture.stall_ms)
		torture.stall_ms = 200;
	if (id == LULL__BUSTED_HARD_IGNORED && !torture.hard_items)
		torture.hard_items = 2000;
	if (id == LULL__BUSTED_OVERFLOW_LOST && !torture.memory_mib)
		torture.memory_mib = 1;
	if (id == LULL__BUSTED_BAG_LEAKED && !torture.short_lived)
		torture.short_lived = 3000;
	/* Its sleeper is woken by whoever reads next, unless all rest. */
	if (id == LULL__BUSTED_NO_RECHECK || id == LULL__BUSTED_HAZPTR_NO_RECHECK)
		torture.stutter_ms = 20;
}

void torture_fault_set(const char *name, char **argv)
{
	const char *words[NR_FAULTS + 1] = { NULL };
	const struct fault *fault;
	size_t i;

	(void)argv;
	for (i = 0; i < NR_FAULTS; i++)
		words[i] = faults[i].name;
	fault = &faults[options_word("--busted", name, words)];
	check_fits(fault);
	torture.flavor = flavor_named(fault->flavor);
	torture.use_fault = use_fault_of(fault->id);
	set_conditions(fault->id);
	lull__busted = fault->id;
	lull__busted_begin();
}

int main(int argc, char **argv)
{
	static char name[] = "torture"; /* for the line that tells how to replay */

	if (argc)
		argv[0] = name;
	return lull_cmd_torture(argc, argv);
}
