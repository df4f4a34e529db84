/* SPDX-License-Identifier: MIT */
/* lull hashscale --reload: tallies, and what is said of them; see reload.h. */
#include "instruments/hash/reload.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/figures.h"
#include "common/options.h"
#include "common/units.h"
#include "engine/text_table.h"

void hashscale_add_reload(struct hashscale_tally *t, uint64_t ns)
{
	/* There is room for a power of two, less one. */
	if (!(t->reloads & (t->reloads + 1))) {
		t->reload_ns = realloc(t->reload_ns, (2 * t->reloads + 1) * sizeof(*t->reload_ns));
		if (!t->reload_ns)
			options_fail("out of memory");
	}
	t->reload_ns[t->reloads++] = ns;
}

void hashscale_add_tally(struct hashscale_tally *to, const struct hashscale_tally *t)
{
	size_t i;

	to->slices++;
	for (i = 0; i < t->reloads; i++)
		hashscale_add_reload(to, t->reload_ns[i]);
	to->given_up += t->given_up;
	bench_lock_waits_add(&to->updates, &t->updates);
	for (i = 0; i < 2; i++) {
		to->lookups[i] += t->lookups[i];
		to->lookups_ns[i] += t->lookups_ns[i];
	}
	to->waiting = t->waiting > to->waiting ? t->waiting : to->waiting;
}

/* Return the tally that counts: the quiet slices', if there are any. */
static const struct hashscale_tally *counted(const struct hashscale_cell *c)
{
	return &c->tally[!c->tally[0].slices];
}

static double mops(const struct hashscale_tally *t, bool during)
{
	return t->lookups_ns[during] ? (double)t->lookups[during] * 1e3 / (double)t->lookups_ns[during] : 0;
}

/* ---- results --------------------------------------------------------------------------------- */

static struct bench_latency update_waits(const struct bench_lock_waits *w)
{
	double count = (double)w->count;
	struct bench_latency l = { .count = w->count };

	if (!w->count)
		return l;
	l.min = bench_lock_waits_above(w, (count - 1) / count);
	l.mean = (double)w->sum / count;
	l.p50 = bench_lock_waits_above(w, 0.5);
	l.p90 = bench_lock_waits_above(w, 0.1);
	l.p99 = bench_lock_waits_above(w, 0.01);
	l.max = (double)w->max;
	return l;
}

/* A time; what was given up took longer than the limit. */
static void cell_time(struct bench_table *table, double ns, uint64_t limit_ns)
{
	bench_cell(table, "%s%s", ns < (double)limit_ns ? "" : "> ", units_time(ns).text);
}

static void cell_updates(struct bench_table *table, const struct bench_latency *l, uint64_t limit_ns)
{
	const double ns[] = { l->p50, l->p99, l->max };
	size_t i;

	for (i = 0; i < sizeof(ns) / sizeof(ns[0]); i++)
		if (l->count)
			cell_time(table, ns[i], limit_ns);
		else
			bench_cell(table, "-");
}

static void report_cell(struct hashscale *run, struct bench_table *table, const struct hashscale_cell *c, uint64_t limit_ns)
{
	const struct hashscale_tally *t = counted(c);
	struct bench_latency whole = bench_latency_of(t->reload_ns, t->reloads), one = update_waits(&t->updates);
	const char *name = c->entry->scheme->name;
	json_t *row = jsonout_latency(run->json, name, c->readers, "reload", &whole);

	jsonout_set(row, "given_up", json_integer((json_int_t)t->given_up));
	jsonout_set(row, "lookups_mops", json_real(mops(t, true)));
	jsonout_set(row, "lookups_mops_in_pauses", json_real(mops(t, false)));
	jsonout_set(row, "deferred_items", json_integer((json_int_t)t->waiting));
	jsonout_set(row, "slices", json_integer(t->slices));
	jsonout_set(row, "slices_disturbed", json_integer(c->tally[1].slices));
	jsonout_latency(run->json, name, c->readers, "reload_update", &one);
	bench_cell(table, "%s", name);
	cell_time(table, whole.p50, limit_ns);
	cell_time(table, whole.max, limit_ns);
	bench_cell(table, "%zu of %zu", t->reloads - t->given_up, t->reloads);
	cell_updates(table, &one, limit_ns);
	bench_cell(table, "%.2f", mops(t, true));
	bench_cell(table, "%.2f", mops(t, false));
	bench_cell(table, "%zu", t->waiting);
}

void hashscale_report_reloads(struct hashscale *run, const struct hashscale_cell *cell, size_t count, uint64_t limit_ns)
{
	struct bench_table *table = bench_table_new("scheme|reload, median|slowest|through|one update, p50|p99|max|"
						    "M lookups/s meanwhile|in pauses|elements waiting");
	unsigned readers = cell[0].readers;
	size_t i;

	printf("\n%u reader%s\n", readers, readers == 1 ? "" : "s");
	for (i = 0; i < count; i++)
		report_cell(run, table, &cell[i], limit_ns);
	bench_table_print(table);
}

void hashscale_print_disturbed(const struct hashscale_cell *cell, size_t cells)
{
	unsigned all = 0, disturbed = 0, used = 0;
	size_t i;

	for (i = 0; i < cells; i++) {
		disturbed += cell[i].tally[1].slices;
		all += cell[i].tally[0].slices + cell[i].tally[1].slices;
		used += !cell[i].tally[0].slices;
	}
	if (disturbed)
		printf("\nOther programs took a tenth of the processors or more in %u of %u slices. These slices are left out",
		       disturbed, all);
	if (used)
		printf(", except in %u of %zu rows, which have no others", used, cells);
	if (disturbed)
		puts(".");
}
