/* SPDX-License-Identifier: MIT */
/* lull refscale: the results of each scheme, in JSON and in a table; see results.h. */
#include "instruments/read/results.h"

#include <stdio.h>

#include "common/figures.h"
#include "engine/text_table.h"

#define CLOCK_CYCLES 3

bool read_clock_known(void)
{
#ifdef __x86_64__
	return true;
#else
	return false;
#endif
}

void read_fill_in(struct bench_result *r, double instructions, const struct bench_result *clock)
{
	if (!r->cycles.count && read_clock_known())
		r->cycles = bench_stat_scale(r->ns, READ_CLOCK_CHAIN * CLOCK_CYCLES / clock->ns.median);
	if (!r->instructions.count && instructions >= 0)
		r->instructions = (struct bench_stat){ instructions, instructions, instructions, 1 };
}

static const char *metric_name(const struct read_sections *s)
{
	static const char *const names[] = { [MODE_READ] = "read_section",
					     [MODE_CHAIN] = "read_chain",
					     [MODE_HOLD] = "read_hold",
					     [MODE_NESTED] = "read_nested" };

	return names[s->mode];
}

void read_write_json(struct jsonout *json, const struct read_sections *s, const char *scheme, unsigned threads,
		     const struct bench_result *r, const struct bench_result *none, bool counters)
{
	json_t *row = jsonout_stat(json, scheme, threads, metric_name(s), "ns", &r->ns);

	if (!row)
		return;
	jsonout_set(row, "mops", r->mops.count ? json_real(r->mops.median) : json_null());
	jsonout_set(row, "cycles", r->cycles.count ? json_real(r->cycles.median) : json_null());
	jsonout_set(row, "cycles_from",
		    json_string(!r->cycles.count ? "n/a" :
				counters	 ? "counter" :
						   "clock"));
	jsonout_set(row, "instructions",
		    r->instructions.count ? json_real(r->instructions.median) : json_null());
	jsonout_set(row, "instructions_from",
		    json_string(!r->instructions.count ? "n/a" :
				counters	       ? "counter" :
							 "single-step"));
	jsonout_set(row, "times_none", json_real(r->ns.median / none->ns.median));
	jsonout_set(row, "slices", json_integer(r->slices));
	jsonout_set(row, "slices_dropped", json_integer(r->dropped));
	jsonout_set(row, "slices_disturbed", json_integer(r->disturbed));
	if (s->mode == MODE_HOLD)
		jsonout_set(row, "hold_ns", json_integer((json_int_t)s->hold_ns));
	if (s->mode == MODE_NESTED)
		jsonout_set(row, "nested", json_integer(s->nested));
}

void read_print(const char *const *names, size_t count, const struct bench_result *results)
{
	struct bench_table *table =
		bench_table_new("scheme|ns per section|x none|cycles|instructions|Mops/s");
	unsigned disturbed = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		const struct bench_result *r = &results[i];

		bench_cell(table, "%s", names[i]);
		bench_cell_stat(table, &r->ns);
		bench_cell_ratio(table, &r->ns, &results[0].ns);
		if (r->cycles.count)
			bench_cell(table, "%.1f", r->cycles.median);
		else
			bench_cell(table, "n/a");
		if (r->instructions.count)
			bench_cell(table, "%.1f", r->instructions.median);
		else
			bench_cell(table, "n/a");
		bench_cell(table, "%.1f", r->mops.median);
		disturbed += r->disturbed;
	}
	bench_table_print(table);
	if (disturbed)
		printf("(%u slices were disturbed by other programs and had to be used all the "
		       "same)\n",
		       disturbed);
}
