/* SPDX-License-Identifier: MIT */
/* lull compare: what it says on a terminal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/figures.h"
#include "common/options.h"
#include "engine/peers.h"
#include "engine/text_table.h"
#include "common/units.h"
#include "compare/compare.h"
#include "compare/instrument.h"
#include "compare/locks.h"

#define WIDTH 100 /* of lines, or as wide as a terminal that is narrower */

static void cell_median(struct bench_table *table, const struct bench_stat *s)
{
	if (!s->count)
		bench_cell(table, "n/a");
	else
		bench_cell(table, "%.*f",
			   s->median < 9.995   ? 2
			   : s->median < 99.95 ? 1
					       : 0,
			   s->median);
}

static void print_decision(struct compare *data)
{
	struct bench_table *table = bench_table_new(
		"scheme|ns/read|2 thr|x none|update|p99|waiting|B/obj|B/thr|held up by a sleeper");
	static const struct bench_stat missing;
	struct compare_scheme *none = compare_find_scheme(data, "none");
	size_t i;

	for (i = 0; i < data->count; i++) {
		const struct compare_scheme *s = &data->scheme[i];

		bench_cell(table, "%s", s->name);
		cell_median(table, &s->read[0]);
		cell_median(table, &s->read[1]);
		bench_cell_ratio(table, &s->read[0], none ? &none->read[0] : &missing);
		bench_cell(table, "%s",
			   units_time(s->update.count ? s->update.p50 : -1).text);
		bench_cell(table, "%s",
			   units_time(s->update.count ? s->update.p99 : -1).text);
		bench_cell(table, "%s",
			   units_bytes(s->defers ? s->waiting_bytes : -1).text);
		bench_cell(table, "%s", units_bytes(s->object_bytes).text);
		bench_cell(table, "%s", units_bytes(s->thread_bytes).text);
		bench_cell(table, "%s", s->may_block ? s->holds_up : "must not sleep");
	}
	bench_table_print(table);
	printf("\nns/read: one read section, 1 and 2 threads. update: one replacement, median and "
	       "p99.\n"
	       "waiting: most bytes that waited to be freed. B/obj, B/thr: what the scheme "
	       "adds.\n"
	       "held up by a sleeper: what waits for a reader that sleeps.\n");
}

/* Lookups by threads and mixes by updates, side by side where that fits. */
static void print_throughput(const struct compare *data, bool by_threads, bool by_updates)
{
	char *header = options_printf("M operations/s"), column[32];
	struct bench_table *table;
	size_t i, j;

	for (j = 0; j < data->nr_threads && by_threads; j++) {
		snprintf(column, sizeof(column), "|%u thr", data->threads[j]);
		header = compare_append(header, column);
	}
	for (j = 0; j < data->nr_percents && by_updates; j++) {
		snprintf(column, sizeof(column), "|%u %%", data->percent[j]);
		header = compare_append(header, column);
	}
	table = bench_table_new(header);
	for (i = 0; i < data->count; i++) {
		bench_cell(table, "%s", data->scheme[i].name);
		for (j = 0; j < data->nr_threads && by_threads; j++)
			cell_median(table, &data->scheme[i].lookups[j]);
		for (j = 0; j < data->nr_percents && by_updates; j++)
			cell_median(table, &data->scheme[i].mixed[j]);
	}
	putchar('\n');
	bench_table_print(table);
	free(header);
}

static size_t line_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_col < WIDTH)
		return size.ws_col;
	return WIDTH;
}

static void print_wrapped(const char *line)
{
	size_t column = 0, width = line_width();

	while (*line) {
		size_t word = strcspn(line, " ");

		if (column && column + 1 + word > width) {
			printf("\n ");
			column = 1;
		}
		printf("%s%.*s", column ? " " : "", (int)word, line);
		column += word + (column > 0);
		line += word + strspn(line + word, " ");
	}
	putchar('\n');
}

static void print_tables(struct compare *data)
{
	size_t i;

	printf("\n%s\n\n", data->keys);
	print_decision(data);
	if (data->nr_threads <= 4) {
		print_throughput(data, true, true);
	} else {
		print_throughput(data, true, false);
		print_throughput(data, false, true);
	}
	printf("thr: threads, lookups only; %%: of updates, on %u thread%s.\n",
	       data->mixed_threads, data->mixed_threads == 1 ? "" : "s");
	printf("\nFour ways to keep an object alive:\n\n");
	tradeoff_print(&data->tradeoff);
	putchar('\n');
	if (data->locks.count)
		compare_locks_print(&data->locks);
	if (data->locks.nr_answers)
		putchar('\n');
	for (i = 0; i < data->locks.nr_answers; i++)
		print_wrapped(data->locks.answer[i]);
}

void compare_print(struct compare *data, bool full)
{
	size_t i;

	peers_print_broken();
	for (i = 0; i < data->nr_answers; i++) {
		if (i == CHOOSE_HEADLINES)
			printf("\nWhat would change the answer:\n");
		print_wrapped(data->answer[i]);
	}
	putchar('\n');
	print_wrapped(data->workload);
	print_wrapped("Describe another one by --updates, --hold, --objects, --size, --block and --threads.");
	machine_print(&data->machine);
	if (data->left_out) {
		char *line = options_printf(COMPARE_LEFT_OUT, data->left_out);

		print_wrapped(line);
		free(line);
	}
	if (full)
		print_tables(data);
}
