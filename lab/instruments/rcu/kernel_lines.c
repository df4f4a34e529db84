/* SPDX-License-Identifier: MIT */
/* lull rcuscale: samples in the lines of the kernel's rcuscale; see rcu_tables.h. */
#include "instruments/rcu/rcu_tables.h"

#include <stdio.h>
#include <stdlib.h>

#include <lull/rcu.h>

#include "common/clock.h"
#include "common/options.h"

/* For kvm-recheck-rcuscale.sh, which looks at words by their position. */
void rcuscale_kernel_format(const struct rcuscale_settings *s, double seconds)
{
	struct rcuscale_job job = { .what = WHAT_SYNCHRONIZE,
				    .most = s->calls,
				    .budget_ns = (uint64_t)(seconds * 1e9) };
	const struct rcuscale_scheme *scheme = NULL;
	uint64_t gps = lull_load_relaxed(&lull__rcu_gp), began = bench_now_ns();
	struct rcuscale_block block;
	uint32_t i;

	for (i = 0; i < NR_SETUPS; i++)
		if (s->setup[i])
			job.setup = (enum rcuscale_setup)i;
	for (i = 0; i < rcuscale_nr_schemes; i++)
		if (s->chosen[i])
			scheme = &rcuscale_schemes[i];
	rcuscale_run_scheme(scheme, &job, &block);
	gps = (lull_load_relaxed(&lull__rcu_gp) - gps) / LULL__RCU_STEP;
	if (!gps) /* another library's, or in another process */
		gps = block.count;
	printf("%s-scale: writer 0 gps: %u\n", scheme->name, block.count);
	printf("%s-scale: start: %llu end: %llu duration: %llu gps: %u batches: %llu\n",
	       scheme->name, (unsigned long long)began,
	       (unsigned long long)(began + block.elapsed_ns), (unsigned long long)block.elapsed_ns,
	       block.count, (unsigned long long)gps);
	for (i = 0; i < block.count; i++)
		printf("%s-scale: %4d writer-duration: %5u %llu\n", scheme->name, 0, i,
		       (unsigned long long)block.ns[i]);
	free(block.ns);
}

void rcuscale_check_kernel_format(const struct rcuscale_settings *s, const struct options *opt)
{
	unsigned setups = 0, i;

	for (i = 0; i < NR_SETUPS; i++)
		setups += s->setup[i];
	if (opt->nr_schemes != 1 || setups > 1 || opt->json_path)
		options_bad("--kernel-format: the format has no place for more than one scheme and "
			    "setup; "
			    "name one with --schemes, and no --json");
	for (i = 0; i < rcuscale_nr_schemes; i++)
		if (s->chosen[i] && !rcuscale_can(&rcuscale_schemes[i], WHAT_SYNCHRONIZE))
			options_bad("--kernel-format: %s waits for nothing", rcuscale_schemes[i].name);
}
