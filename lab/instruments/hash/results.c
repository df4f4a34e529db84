/* SPDX-License-Identifier: MIT */
/* lull hashscale: the results of its slices, in JSON and in tables. */
#include "instruments/hash/hash_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figures.h"
#include "common/options.h"
#include "common/units.h"
#include "engine/text_table.h"

static const struct hashscale_job *find_job(const struct hashscale_job *jobs, size_t count, const char *scheme,
				  unsigned percent)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (jobs[i].percent == percent && !strcmp(jobs[i].entry->scheme->name, scheme))
			return &jobs[i];
	return NULL;
}

void hashscale_note_slice(struct hashscale_job *job, double cpu_ns, uint64_t ops, size_t waiting)
{
	job->cpu = realloc(job->cpu, (job->slices + 1) * sizeof(*job->cpu));
	if (!job->cpu)
		options_fail("out of memory");
	job->cpu[job->slices++] = cpu_ns / (double)ops;
	job->waiting = waiting > job->waiting ? waiting : job->waiting;
}

static json_t *counted_json(const struct bench_stat *s)
{
	return s->count ? json_real(s->median) : json_null();
}

void hashscale_write_json(struct hashscale *run, const struct hashscale_job *jobs, size_t count,
		       unsigned threads)
{
	const struct hashscale_job *none = find_job(jobs, count, "none", 0);
	size_t i;

	for (i = 0; i < count && run->json; i++) {
		const struct hashscale_job *job = &jobs[i];
		json_t *row = jsonout_stat(run->json, job->entry->scheme->name, threads,
					   "operations", "Mops", &job->result.mops);
		double cpu = bench_stat_of(job->cpu, job->slices).median;

		jsonout_set(row, "update_percent", json_integer(job->percent));
		jsonout_set(row, "ns", json_real(job->result.ns.median));
		jsonout_set(row, "cpu_ns", json_real(cpu));
		jsonout_set(row, "times_none",
			    none ? json_real(job->result.ns.median / none->result.ns.median)
				 : json_null());
		jsonout_set(row, "cycles", counted_json(&job->result.cycles));
		jsonout_set(row, "instructions", counted_json(&job->result.instructions));
		jsonout_set(row, "deferred_items", json_integer((json_int_t)job->waiting));
		jsonout_set(row, "slices", json_integer(job->result.slices));
		jsonout_set(row, "slices_dropped", json_integer(job->result.dropped));
		jsonout_set(row, "slices_disturbed", json_integer(job->result.disturbed));
	}
}

/* "46.1 +-2%": the farther of minimum and maximum. */
static void cell_spread(struct bench_table *table, const struct bench_stat *s)
{
	double up = s->max - s->median, down = s->median - s->min;

	if (!s->count)
		bench_cell(table, "n/a");
	else
		bench_cell(table, "%.*f +-%.0f%%", s->median < 9.995 ? 2 : 1, s->median,
			   100 * (up > down ? up : down) / s->median);
}

static char *table_header(const struct hashscale_settings *s, const char *first)
{
	char *header = options_printf("%s", first);
	size_t i;

	for (i = 0; i < s->nr_updates; i++) {
		char *longer = options_printf("%s|%u %%", header, s->updates[i]);

		free(header);
		header = longer;
	}
	return header;
}

void hashscale_print_mops(const struct hashscale *run, const struct hashscale_job *jobs, size_t count)
{
	char *header = table_header(run->settings, "Mops/s by updates");
	const struct hashscale_job *none = find_job(jobs, count, "none", 0), *at_zero = NULL, *job;
	char *with_ratio = options_printf("%s|x none", header);
	struct bench_table *table = bench_table_new(with_ratio);
	size_t i, j;

	for (i = 0; i < run->count; i++) {
		static const struct bench_stat missing;
		const char *name = run->entries[i].scheme->name;

		bench_cell(table, "%s", name);
		for (j = 0; j < run->settings->nr_updates; j++) {
			job = find_job(jobs, count, name, run->settings->updates[j]);
			cell_spread(table, job ? &job->result.mops : &missing);
		}
		at_zero = find_job(jobs, count, name, 0);
		bench_cell_ratio(table, at_zero ? &at_zero->result.ns : &missing,
				 none ? &none->result.ns : &missing);
	}
	bench_table_print(table);
	free(header);
	free(with_ratio);
}

static double cpu_of(const struct hashscale_job *job) { return bench_stat_of(job->cpu, job->slices).median; }
static double cycles_of(const struct hashscale_job *job) { return job->result.cycles.median; }
static double instructions_of(const struct hashscale_job *job) { return job->result.instructions.median; }

static void print_one(const struct hashscale *run, const struct hashscale_job *jobs, size_t count, const char *what,
		      double (*figure)(const struct hashscale_job *job))
{
	char *header = table_header(run->settings, what);
	struct bench_table *table = bench_table_new(header);
	size_t i, j;

	for (i = 0; i < run->count; i++) {
		const char *name = run->entries[i].scheme->name;

		bench_cell(table, "%s", name);
		for (j = 0; j < run->settings->nr_updates; j++) {
			const struct hashscale_job *job =
				find_job(jobs, count, name, run->settings->updates[j]);

			if (job)
				bench_cell(table, "%.0f", figure(job));
			else
				bench_cell(table, "n/a");
		}
	}
	bench_table_print(table);
	free(header);
}

void hashscale_print_cpu(const struct hashscale *run, const struct hashscale_job *jobs, size_t count)
{
	putchar('\n');
	print_one(run, jobs, count, "CPU ns/operation", cpu_of);
}

void hashscale_print_counted(const struct hashscale *run, const struct hashscale_job *jobs, size_t count)
{
	putchar('\n');
	print_one(run, jobs, count, "cycles/operation", cycles_of);
	putchar('\n');
	print_one(run, jobs, count, "instructions/operation", instructions_of);
}

/* ---- single updates -------------------------------------------------------------------------- */

/* The median over the slices of each figure, but the extremes of the extremes. */
static struct bench_latency update_latency(const struct hashscale_update *u)
{
	struct bench_latency l = u->slice[1];
	double mean[HASHSCALE_UPDATE_SLICES], p50[HASHSCALE_UPDATE_SLICES], p90[HASHSCALE_UPDATE_SLICES], p99[HASHSCALE_UPDATE_SLICES];
	unsigned i, n = u->slices - 1;

	l.count = 0;
	for (i = 0; i < n; i++) {
		const struct bench_latency *one = &u->slice[i + 1];

		mean[i] = one->mean;
		p50[i] = one->p50;
		p90[i] = one->p90;
		p99[i] = one->p99;
		l.min = one->min < l.min ? one->min : l.min;
		l.max = one->max > l.max ? one->max : l.max;
		l.count += one->count;
	}
	l.mean = bench_stat_of(mean, n).median;
	l.p50 = bench_stat_of(p50, n).median;
	l.p90 = bench_stat_of(p90, n).median;
	l.p99 = bench_stat_of(p99, n).median;
	return l;
}

static void cell_time(struct bench_table *table, double ns)
{
	bench_cell(table, "%s", units_time(ns).text);
}

void hashscale_report_updates(struct hashscale *run, struct hashscale_update *jobs, size_t count, unsigned threads)
{
	struct bench_table *table =
		bench_table_new("scheme|update p50|p90|p99|max|waiting at most|bytes");
	size_t i;

	printf("\nsingle updates, %s\n", threads > 1 ? "while another thread looks up" : "alone");
	for (i = 0; i < count; i++) {
		struct bench_latency l = update_latency(&jobs[i]);
		struct hashscale_job *job = &jobs[i].job;
		json_t *row =
			jsonout_latency(run->json, job->entry->scheme->name, threads, "update", &l);

		jsonout_set(row, "deferred_items", json_integer((json_int_t)job->waiting));
		jsonout_set(row, "deferred_bytes",
			    json_integer((json_int_t)(job->waiting *
						      sizeof(struct bench_hash_element))));
		bench_cell(table, "%s", job->entry->scheme->name);
		cell_time(table, l.p50);
		cell_time(table, l.p90);
		cell_time(table, l.p99);
		cell_time(table, l.max);
		bench_cell(table, "%zu", job->waiting);
		bench_cell(table, "%zu", job->waiting * sizeof(struct bench_hash_element));
		free(job->cpu);
	}
	bench_table_print(table);
}
