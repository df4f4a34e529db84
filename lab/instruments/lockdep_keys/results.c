/* SPDX-License-Identifier: MIT */
/* lull keyscale: the results, in JSON and in a table; see keyscale.h. */
#include <stdio.h>

#include "engine/text_table.h"
#include "instruments/lockdep_keys/keyscale.h"

double keyscale_per_second(uint64_t ops, uint64_t ns)
{
	return (double)ops * 1e9 / (double)ns;
}

double keyscale_ms_for_1000(double per_second)
{
	return 1000 * 1000 / per_second;
}

/* Return the time of rcu, which the others are compared with; missing when rcu was not chosen. */
static struct bench_stat base_of(const struct keyscale_scheme *const *scheme, const struct keyscale_result *results)
{
	static const struct bench_stat missing;

	return scheme[0] == keyscale_schemes[0] ? results[0].ms : missing;
}

void keyscale_write_json(struct jsonout *json, const struct keyscale_scheme *const *scheme, size_t count, const char *setup,
			 unsigned lookups, unsigned updaters, const struct keyscale_result *results)
{
	struct bench_stat base = base_of(scheme, results);
	char metric[64];
	size_t i;

	snprintf(metric, sizeof(metric), "unregister_1000_%s", setup);
	for (i = 0; i < count && json; i++) {
		const struct keyscale_result *r = &results[i];
		json_t *row = jsonout_stat(json, keyscale_name(scheme[i]), lookups,
					   metric, "ms", &r->ms);

		jsonout_set(row, "updaters",
			    json_integer((json_int_t)updaters));
		jsonout_set(row, "times_rcu",
			    base.count ? json_real(r->ms.median / base.median) : json_null());
		jsonout_set(row, "p50_ns", json_real(r->one.p50));
		jsonout_set(row, "p99_ns", json_real(r->one.p99));
		jsonout_set(row, "max_ns", json_real(r->one.max));
		jsonout_set(row, "count", json_integer((json_int_t)r->one.count));
		jsonout_set(row, "lookups_per_second",
			    r->per_second.count ? json_real(r->per_second.median) : json_null());
	}
}

void keyscale_print(const struct keyscale_scheme *const *scheme, size_t count, const struct keyscale_result *results)
{
	struct bench_table *table = bench_table_new(
		"scheme|ms for 1000|speed-up|one: p50 us|p99 us|max us|million lookups/s");
	struct bench_stat base = base_of(scheme, results);
	size_t i;

	for (i = 0; i < count; i++) {
		const struct keyscale_result *r = &results[i];
		struct bench_stat millions = bench_stat_scale(r->per_second, 1e-6);

		bench_cell(table, "%s", keyscale_name(scheme[i]));
		bench_cell_stat(table, &r->ms);
		bench_cell_ratio(table, &base, &r->ms);
		bench_cell(table, "%.2f", r->one.p50 / 1000);
		bench_cell(table, "%.2f", r->one.p99 / 1000);
		bench_cell(table, "%.0f", r->one.max / 1000);
		bench_cell_stat(table, &millions);
	}
	bench_table_print(table);
}
