/* SPDX-License-Identifier: MIT */
/* lull tradeoff: the table on a terminal. */
#include <stdio.h>
#include <stdlib.h>

#include "common/figures.h"
#include "common/options.h"
#include "engine/text_table.h"
#include "common/units.h"
#include "instruments/tradeoff/tradeoff.h"

/* Properties down, schemes across: a row is a name and one cell for each. */
typedef void (*cell_func)(struct bench_table *table, const struct tradeoff *t,
			  const struct tradeoff_result *s, size_t arg);

static void cell_read(struct bench_table *table, const struct tradeoff *t,
		      const struct tradeoff_result *s, size_t at)
{
	double ns = s->read[at].median;

	(void)t;
	if (!s->read[at].count)
		bench_cell(table, "n/a");
	else
		bench_cell(table, "%s", units_time(ns).text);
}

static void cell_bytes(struct bench_table *table, const struct bench_stat *bytes)
{
	double median = bytes->median;

	if (!bytes->count)
		bench_cell(table, "n/a");
	else
		bench_cell(table, "%s%s", median < 0 ? "-" : "",
			   units_bytes(median < 0 ? -median : median).text);
}

static void cell_object(struct bench_table *table, const struct tradeoff *t,
			const struct tradeoff_result *s, size_t arg)
{
	(void)t;
	(void)arg;
	cell_bytes(table, &s->object_bytes);
}

static void cell_thread(struct bench_table *table, const struct tradeoff *t,
			const struct tradeoff_result *s, size_t arg)
{
	(void)t;
	(void)arg;
	cell_bytes(table, &s->thread_bytes);
}

static void cell_duration(struct bench_table *table, const struct tradeoff *t,
			  const struct tradeoff_result *s, size_t arg)
{
	(void)t;
	(void)arg;
	bench_cell(table, s->may_not_block ? "short" : "can be long");
}

static void cell_latency(struct bench_table *table, const struct bench_latency *l, double ns)
{
	bench_cell(table, "%s", units_time(l->count ? ns : -1).text);
}

static void cell_wait(struct bench_table *table, const struct tradeoff *t,
		      const struct tradeoff_result *s, size_t most)
{
	(void)t;
	cell_latency(table, &s->wait, most ? s->wait.max : s->wait.p50);
}

static void cell_update(struct bench_table *table, const struct tradeoff *t,
			const struct tradeoff_result *s, size_t arg)
{
	(void)t;
	(void)arg;
	cell_latency(table, &s->update, s->update.p50);
}

static void cell_retries(struct bench_table *table, const struct bench_stat *retries)
{
	if (retries->count)
		bench_cell(table, "%.*f", retries->median > 0 && retries->median < 9.95 ? 2 : 0,
			   retries->median);
	else
		bench_cell(table, "n/a");
}

static void cell_restarts(struct bench_table *table, const struct tradeoff *t,
			  const struct tradeoff_result *s, size_t arg)
{
	(void)t;
	(void)arg;
	cell_retries(table, &s->restarts);
}

static void cell_again(struct bench_table *table, const struct tradeoff *t,
		       const struct tradeoff_result *s, size_t arg)
{
	(void)t;
	(void)arg;
	cell_retries(table, &s->steps_again);
}

static void cell_waiting(struct bench_table *table, const struct tradeoff *t,
			 const struct tradeoff_result *s, size_t arg)
{
	(void)t;
	(void)arg;
	if (s->waiting.count)
		bench_cell(table, "%.0f", s->waiting.max);
	else
		bench_cell(table, "n/a");
}

static void cell_waiting_bytes(struct bench_table *table, const struct tradeoff *t,
			       const struct tradeoff_result *s, size_t arg)
{
	struct bench_stat most = s->waiting_bytes;

	(void)t;
	(void)arg;
	most.median = most.max;
	cell_bytes(table, &most);
}

static void row(struct bench_table *table, const struct tradeoff *t, const char *name,
		cell_func cell, size_t arg)
{
	size_t i;

	bench_cell(table, "%s", name);
	for (i = 0; i < t->count; i++)
		if (!t->scheme[i].is_lock)
			cell(table, t, &t->scheme[i], arg);
}

static struct bench_table *new_table(const struct tradeoff *t)
{
	char *header = options_printf("property"), *longer;
	struct bench_table *table;
	size_t i;

	for (i = 0; i < t->count; i++) {
		if (t->scheme[i].is_lock)
			continue;
		longer = options_printf("%s|%s", header, t->scheme[i].title);
		free(header);
		header = longer;
	}
	table = bench_table_new(header);
	free(header);
	return table;
}

static void explain(const struct tradeoff *t)
{
	printf("\nReaders: get and put (lock and unlock, protect and clear), all on one object.\n"
	       "Memory: what an object of %s, and a thread, take beyond what they would without it.\n"
	       "Slow reader: one stays %s at a time, beside %.0f updates a second.\n"
	       "Walks: %u elements, of which %.0f a second are deleted and replaced; per million steps.\n",
	       units_bytes(t->size).text, units_time(t->slow_ns).text, t->update_rate, t->list, t->update_rate);
}

/* All of them, locks too: what an operation takes, and what a read takes that all do on one object. */
static void print_workload(const struct tradeoff *t)
{
	struct bench_table *table = bench_table_new("way|an operation|least|most|rounds|a read|waits");
	size_t i, last = t->nr_threads ? t->nr_threads - 1 : 0;

	printf("\nThe workload: %.3g %% updates, readers hold %s%s, %.0f objects, %u thread%s:\n\n",
	       100 * t->updates, units_time(t->hold_ns).text, t->block ? " asleep" : "", t->objects,
	       t->mix_threads, t->mix_threads == 1 ? "" : "s");
	for (i = 0; i < t->count; i++) {
		const struct tradeoff_result *s = &t->scheme[i];
		const struct tradeoff_point *p = &s->mix[CHOOSE_UPDATES][t->at[CHOOSE_UPDATES]];
		bool known = p->ns.count > 0;

		bench_cell(table, "%s", s->said);
		bench_cell(table, "%s", units_time(known ? p->ns.median : -1).text);
		bench_cell(table, "%s", units_time(known ? p->ns.min : -1).text);
		bench_cell(table, "%s", units_time(known ? p->ns.max : -1).text);
		bench_cell(table, "%zu", p->rounds.count);
		bench_cell(table, "%s", units_time(s->read[last].count ? s->read[last].median : -1).text);
		bench_cell(table, "%s", units_bytes(p->waiting).text);
	}
	bench_table_print(table);
	printf("\nA read: %u thread%s on one object. Waits: memory that waits to be freed, at most.\n",
	       t->nr_threads ? t->threads[last] : 0, t->nr_threads && t->threads[last] == 1 ? "" : "s");
}

void tradeoff_print(const struct tradeoff *t)
{
	struct bench_table *table = new_table(t);
	char name[64];
	size_t i;

	for (i = 0; i < t->nr_threads; i++) {
		snprintf(name, sizeof(name), "Readers, %u thread%s", t->threads[i],
			 t->threads[i] == 1 ? "" : "s");
		row(table, t, name, cell_read, i);
	}
	row(table, t, "Memory overhead, per object", cell_object, 0);
	row(table, t, "  per thread", cell_thread, 0);
	row(table, t, "Protection duration", cell_duration, 0);
	row(table, t, "  slow reader: others' wait", cell_wait, 0);
	row(table, t, "  at most", cell_wait, 1);
	row(table, t, "Traversal retries: restarts", cell_restarts, 0);
	row(table, t, "  of one step", cell_again, 0);
	row(table, t, "Deferred memory, objects", cell_waiting, 0);
	row(table, t, "  bytes", cell_waiting_bytes, 0);
	row(table, t, "Update, slow reader", cell_update, 0);
	bench_table_print(table);
	explain(t);
	print_workload(t);
}
