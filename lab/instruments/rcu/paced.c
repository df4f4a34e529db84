/* SPDX-License-Identifier: MIT */
/* lull rcuscale: deferred calls that come at a fixed rate, as a program's do that is not busy; see rcuscale.h. */
#include "instruments/rcu/rcuscale.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figures.h"
#include "common/options.h"
#include "engine/text_table.h"

static const unsigned rates[] = { 1000, 100000 }; /* calls per second */

#define RATES (sizeof(rates) / sizeof(rates[0]))

/* One scheme at one rate, all rounds. */
struct paced {
	const struct rcuscale_scheme *scheme;
	unsigned rate, calls; /* in a second, in a round */
	uint64_t *call_ns, *until_ns;
	uint32_t count;
	uint64_t elapsed_ns, heavy, switches;
};

static const char *paced_name(const void *rows, size_t i)
{
	return ((const struct paced *)rows)[i].scheme->name;
}

static void run_paced(void *rows, size_t i, uint64_t budget_ns)
{
	struct paced *to = (struct paced *)rows + i;
	struct rcuscale_job job = {
		.what = WHAT_PACED, .setup = SETUP_IDLE, .most = to->calls, .period_ns = 1000000000u / to->rate
	};
	struct rcuscale_block block;

	(void)budget_ns; /* it is in the number of calls */
	rcuscale_run_scheme(to->scheme, &job, &block);
	memcpy(to->call_ns + to->count, block.ns, block.count * sizeof(*block.ns));
	memcpy(to->until_ns + to->count, block.until_ns, block.count * sizeof(*block.until_ns));
	to->count += block.count;
	to->elapsed_ns += block.elapsed_ns;
	to->heavy += block.heavy;
	to->switches += block.switches;
	free(block.ns);
	free(block.until_ns);
}

static void cell_us(struct bench_table *t, double ns)
{
	bench_cell(t, "%.*f", ns < 99950 ? 2 : 0, ns / 1000);
}

static void paced_row(struct bench_table *t, struct paced *p, struct jsonout *json)
{
	const struct rcuscale_scheme *scheme = p->scheme;
	unsigned rate = p->rate;
	struct bench_latency call = bench_latency_of(p->call_ns, p->count), until = bench_latency_of(p->until_ns, p->count);
	double seconds = (double)p->elapsed_ns / 1e9;
	char name[32];
	json_t *row;

	snprintf(name, sizeof(name), "paced_%u_call", rate);
	jsonout_latency(json, scheme->name, 1, name, &call);
	snprintf(name, sizeof(name), "paced_%u_until_run", rate);
	row = jsonout_latency(json, scheme->name, 1, name, &until);
	jsonout_set(row, "switches_per_second", json_real((double)p->switches / seconds));
	jsonout_set(row, "heavy_fences_per_second", scheme->ours ? json_real((double)p->heavy / seconds) : json_null());
	bench_cell(t, "%s", scheme->name);
	bench_cell(t, "%u", rate);
	cell_us(t, call.p50);
	cell_us(t, call.p99);
	cell_us(t, until.p50);
	cell_us(t, until.p99);
	cell_us(t, until.max);
	bench_cell(t, "%.0f", (double)p->switches / seconds);
	if (scheme->ours)
		bench_cell(t, "%.0f", (double)p->heavy / seconds);
	else
		bench_cell(t, "-");
}

void rcuscale_paced(const struct rcuscale_scheme *const *schemes, unsigned rounds, double seconds,
		    struct jsonout *json)
{
	struct bench_table *t = bench_table_new("scheme|calls/s|the call, p50|p99|until it has run, p50|p99|max|"
						"switches/s|heavy fences/s");
	size_t of_rate = 0, count, i;
	struct paced *all;

	while (schemes[of_rate])
		of_rate++;
	count = of_rate * RATES;
	rounds = rcuscale_rounds_in(seconds, rounds, count);
	all = options_alloc(count, sizeof(*all));
	for (i = 0; i < count; i++) {
		all[i].scheme = schemes[i % of_rate];
		all[i].rate = rates[i / of_rate];
		all[i].calls = (unsigned)(seconds / rounds / (double)count * all[i].rate) + 1;
		all[i].call_ns = options_alloc((size_t)all[i].calls * rounds, sizeof(*all[i].call_ns));
		all[i].until_ns = options_alloc((size_t)all[i].calls * rounds, sizeof(*all[i].until_ns));
	}
	rcuscale_rounds(&(struct rcuscale_rounds){ "deferred calls", rounds, count, seconds, all, paced_name, run_paced });
	printf("\ndeferred calls at a fixed rate, idle process; us\n");
	for (i = 0; i < count; i++) {
		if (all[i].count)
			paced_row(t, &all[i], json);
		free(all[i].call_ns);
		free(all[i].until_ns);
	}
	free(all);
	bench_table_print(t);
}
