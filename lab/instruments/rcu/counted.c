/* SPDX-License-Identifier: MIT */
/* lull rcuscale: cycles and instructions beside times, where the hardware counts them; see rcu_tables.h. */
#include "instruments/rcu/rcu_tables.h"

#include <stdlib.h>

void rcuscale_add_counted(struct bench_counted *sum, const struct bench_counted *more)
{
	sum->ops += more->ops;
	sum->cycles += more->cycles;
	sum->instructions += more->instructions;
}

struct bench_table *rcuscale_table_new(const char *header)
{
	char *longer = options_printf("%s%s", header, bench_counters_work() ? "|cycles|instructions" : "");
	struct bench_table *t = bench_table_new(longer);

	free(longer);
	return t;
}

void rcuscale_counted_cells(struct bench_table *t, const struct bench_counted *c)
{
	if (!bench_counters_work())
		return;
	if (!c->ops) {
		bench_cell(t, "n/a");
		bench_cell(t, "n/a");
		return;
	}
	bench_cell(t, "%.1f", (double)c->cycles / (double)c->ops);
	bench_cell(t, "%.1f", (double)c->instructions / (double)c->ops);
}

void rcuscale_counted_json(json_t *row, const struct bench_counted *c)
{
	double ops = (double)c->ops;

	jsonout_set(row, "cycles", c->ops ? json_real((double)c->cycles / ops) : json_null());
	jsonout_set(row, "instructions", c->ops ? json_real((double)c->instructions / ops) : json_null());
}
