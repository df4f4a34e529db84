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
#include "commands.h"
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
		printf("%-25s %-12s %s\n", faults[i].name, faults[i].flavor, faults[i].what);
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
	bool is_fence = fault->id == LULL__BUSTED_NO_HEAVY_FENCE || fault->id == LULL__BUSTED_HAZPTR_NO_FENCE ||
			fault->id == LULL__BUSTED_DOMAIN_NO_FENCE;

	/* Rounds use a bit of everything, and so find some faults of the others. */
	if (torture.flavor && !torture.flavor->rounds && strcmp(torture.flavor->name, fault->flavor) != 0)
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
	static const enum torture_use_fault faults_of_use[NR_FAULTS + 1] = {
		[LULL__BUSTED_HAZPTR_RELAXED_CLEAR] = FAULT_LOOK_AFTER_CLEAR,
		[LULL__BUSTED_HAZPTR_NO_SECOND_LOOK] = FAULT_NO_SECOND_LOOK,
		[LULL__BUSTED_QSBR_SILENT] = FAULT_NO_QUIESCENT,
		[LULL__BUSTED_QSBR_EARLY] = FAULT_EARLY_QUIESCENT,
		[LULL__BUSTED_HASH_FREE_AT_ONCE] = FAULT_FREE_AT_ONCE,
		[LULL__BUSTED_HASH_REPLACE_IN_TWO] = FAULT_REPLACE_IN_TWO,
		[LULL__BUSTED_KILL_TWICE] = FAULT_KILL_TWICE,
		[LULL__BUSTED_WILD_HANGS] = FAULT_HANGS,
		[LULL__BUSTED_WILD_DIES] = FAULT_DIES,
		[LULL__BUSTED_WILD_EXITS] = FAULT_EXITS,
		[LULL__BUSTED_WILD_SAYS] = FAULT_SAYS,
		[LULL__BUSTED_WILD_WRITES_DATA] = FAULT_WRITES_DATA,
		[LULL__BUSTED_WILD_STAYS] = FAULT_STAYS,
		[LULL__BUSTED_WILD_LEAVES_CHILD] = FAULT_LEAVES_CHILD,
		[LULL__BUSTED_WILD_LEAKS] = FAULT_LEAKS,
		[LULL__BUSTED_WILD_NO_EFFECT] = FAULT_NO_EFFECT,
		[LULL__BUSTED_WILD_ODD_THREAD] = FAULT_ODD_THREAD,
		[LULL__BUSTED_WILD_STARVES] = FAULT_STARVES,
	};

	return faults_of_use[id];
}

/* The rounds in which it is met, and no longer waits than they need. */
static void set_round_conditions(enum lull__busted id)
{
	static const char *const names[NR_FAULTS + 1] = {
		[LULL__BUSTED_WILD_WRITES_DATA] = "stderr-closed",
		[LULL__BUSTED_WILD_STAYS] = "end-sigterm",
		[LULL__BUSTED_WILD_LEAKS] = "burst",
		[LULL__BUSTED_WILD_NO_EFFECT] = "fail-malloc",
		[LULL__BUSTED_WILD_STARVES] = "cookies",
		[LULL__BUSTED_FORK_KEEPS_RECORDS] = "fork",
	};

	if (!torture.conditions)
		torture.conditions = names[id] ? names[id] : "none";
	/* Be less patient: faults that show as a wait show soon. */
	torture.patience_s = 10;
}

/* Set the conditions that a fault needs to show at all, unless they were given. */
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
	if (torture.flavor->rounds)
		set_round_conditions(id);
	/* The next reader wakes the sleeper of such a fault, unless all rest. */
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
	if (!torture.flavor || !torture.flavor->rounds)
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
