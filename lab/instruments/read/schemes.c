/* SPDX-License-Identifier: MIT */
/* lull refscale: which read sections there are, and in which order. */
#include "instruments/read/schemes.h"

#include <stdio.h>

#include "engine/peers.h"

/* Order of the list; schemes that only a module has come last. All ratios are taken against the first. */
static const char *const order[] = {
	"none", "rcu", "rcu-builtin", "rcu-qsbr", "rcu-domain", "hazptr", "hazptr-alloc", "hazptr-hold",
	"hazptr-fenced", "hazptr-rcu", "shazptr", "shazptr-wildcard", "cxx-rcu", "cxx-hazard_pointer", "cxx-hazard_pointer-make",
	"store-fence-store",
	"seqlock", "brlock", "spinlock", "mutex", "rwlock", "percpu_rwsem", "refcount", "refcount-lock",
	"refcount-rcu", "refcount-hazptr", "percpu_ref", "percpu_ref-rcu", "percpu_ref-hazptr",
	"c11-atomic", "shared_ptr", "atomic-shared_ptr", "liburcu-memb", "liburcu-mb", "liburcu-qsbr", "liburcu-bp",
	"liburcu-memb-call", "ck-brlock", "ck-epoch", "ck-hp", "libcds-hp", "xenium-hp", NULL,
};

size_t read_schemes(const struct bench_ref_scheme **schemes)
{
	const void *found[READ_SCHEMES_MAX];
	size_t count, i;

	peers_load(&bench_builtin);
	count = peers_schemes(PEER_REF, order, found, READ_SCHEMES_MAX);
	for (i = 0; i < count; i++)
		schemes[i] = found[i];
	return count;
}

void read_schemes_need_first(void)
{
	peers_need(PEER_REF, order[0]);
}

void read_schemes_print(const struct bench_ref_scheme *const *schemes, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		printf("%-18s %s\n", schemes[i]->name, schemes[i]->what);
	peers_print_missing();
}
