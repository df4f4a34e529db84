/* SPDX-License-Identifier: MIT */
/* lull labelscale: the results, in JSON and in a table. */
#include "common/figures.h"
#include "engine/text_table.h"
#include "instruments/labels/labelscale.h"

void labelscale_write_json(struct jsonout *json, const char *const *names, const uint64_t *failed, size_t count,
			   unsigned threads, const struct bench_result *results)
{
	size_t i;

	for (i = 0; i < count && json; i++) {
		struct bench_stat per_second = bench_stat_scale(results[i].mops, 1e6);
		json_t *row = jsonout_stat(json, names[i], threads,
					   "opens", "1/s", &per_second);

		jsonout_set(row, "ns", json_real(results[i].ns.median));
		jsonout_set(row, "times_none",
			    json_real(results[i].mops.median / results[0].mops.median));
		jsonout_set(row, "failed", json_integer((json_int_t)failed[i]));
	}
}

void labelscale_print(const char *const *names, size_t count, const struct bench_result *results)
{
	struct bench_table *table = bench_table_new("scheme|thousand opens/s|of none|ns per open");
	size_t i;

	for (i = 0; i < count; i++) {
		struct bench_stat thousands = bench_stat_scale(results[i].mops, 1e3);

		bench_cell(table, "%s", names[i]);
		bench_cell_stat(table, &thousands);
		bench_cell(table, "%.1f %%", 100 * results[i].mops.median / results[0].mops.median);
		bench_cell_stat(table, &results[i].ns);
	}
	bench_table_print(table);
}
