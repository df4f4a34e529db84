/* SPDX-License-Identifier: MIT */
/* lull rcuscale: the schemes that there are; see rcu_tables.h. */
#include "instruments/rcu/rcu_tables.h"

#include <stdio.h>
#include <string.h>

#include "engine/peers.h"

/* Order of the list; schemes that only a module has come last. */
static const struct rcuscale_scheme usual[] = {
	{ "rcu", "lull RCU, ordinary threads", NULL, true },
	{ "rcu-builtin", "the same, compiled into the command: what a module costs", NULL, true },
	{ "rcu-qsbr", "lull RCU, online threads", NULL, true },
	{ "rcu-full", "lull RCU where light fences are full ones (a process of its own)", NULL,
	  true },
	{ "hazptr", "lull hazard pointers", NULL, true },
	{ "hazptr-fenced", "lull hazard pointers with full fences", NULL, true },
	{ "hazptr-rcu", "lull bridge from RCU to hazard pointers", NULL, true },
	{ "rcu-cohort", "lull RCU, retired into one cohort", NULL, true },
	{ "shazptr", "lull simple hazard pointers, readers elsewhere", NULL, true },
	{ "shazptr-wildcard", "lull simple hazard pointers, readers everywhere", NULL, true },
	{ "liburcu-memb", "liburcu membarrier flavor", NULL, false },
	{ "liburcu-mb", "liburcu full-barrier flavor", NULL, false },
	{ "liburcu-qsbr", "liburcu quiescent-state flavor", NULL, false },
	{ "liburcu-bp", "liburcu self-registering flavor", NULL, false },
	{ "ck-epoch", "Concurrency Kit epochs", NULL, false },
	{ "ck-hp", "Concurrency Kit hazard pointers", NULL, false },
	{ "percpu_ref", "lull percpu_ref, which is killed", NULL, true },
	{ "membarrier", "a bare membarrier of the kind that percpu_ref uses", NULL, false },
	{ "free-at-once", "no grace period: the limit of replacement", NULL, false },
};

#define NR_USUAL (sizeof(usual) / sizeof(usual[0]))

struct rcuscale_scheme rcuscale_schemes[RCUSCALE_SCHEMES_MAX];
size_t rcuscale_nr_schemes;

static bool is_usual(const char *name)
{
	size_t i;

	for (i = 0; i < NR_USUAL && strcmp(usual[i].name, name); i++)
		;
	return i < NR_USUAL;
}

void rcuscale_find_schemes(void)
{
	static const char *const no_order[] = { NULL };
	const void *found[RCUSCALE_SCHEMES_MAX];
	size_t count, i;

	peers_load(&bench_builtin);
	for (i = 0; i < NR_USUAL; i++) {
		struct rcuscale_scheme s = usual[i];
		bool full = !strcmp(s.name, "rcu-full");

		s.gp = peers_scheme(PEER_GP, s.name);
		if (s.gp || (full && peers_scheme(PEER_GP, "rcu")))
			rcuscale_schemes[rcuscale_nr_schemes++] = s;
	}
	count = peers_schemes(PEER_GP, no_order, found, RCUSCALE_SCHEMES_MAX);
	for (i = 0; i < count && rcuscale_nr_schemes < RCUSCALE_SCHEMES_MAX; i++) {
		const struct bench_gp_scheme *gp = found[i];

		if (!is_usual(gp->name))
			rcuscale_schemes[rcuscale_nr_schemes++] = (struct rcuscale_scheme){ gp->name, gp->what, gp, false };
	}
	if (!rcuscale_nr_schemes)
		peers_need(PEER_GP, "rcu");
}

void rcuscale_list_schemes(void)
{
	size_t i;

	for (i = 0; i < rcuscale_nr_schemes; i++)
		printf("%-18s %s\n", rcuscale_schemes[i].name, rcuscale_schemes[i].what);
	peers_print_missing();
}
