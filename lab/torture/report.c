/* SPDX-License-Identifier: MIT */
/* lull torture: the line for people while it runs, and the report at the end. See run.h. */
#include "torture/flavors.h"
#include "torture/interrupt.h"
#include "torture/run.h"

#include <stdio.h>

#include <lull/reclaim.h>

#include "common/json.h"
#include "common/progress.h"

/* ---- while it runs --------------------------------------------------------------------------- */

static unsigned long long grace_periods(void)
{
	return lull_load_relaxed(&lull__rcu_gp) / LULL__RCU_STEP;
}

/* Racy, for people. */
static uint64_t all_updates(void)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < TORTURE_FORMS; i++)
		sum += lull_load_relaxed(&torture.forms[i]);
	return sum;
}

static double per_second(uint64_t now, uint64_t *last, uint64_t ns)
{
	double rate = ns ? (double)(now - *last) * 1e9 / (double)ns : 0.0;

	*last = now;
	return rate;
}

void torture_status_line(uint64_t now_ns)
{
	static uint64_t last_ns, last_count, last_work, last_updates, lines;
	uint64_t count = torture.flavor->count ? torture.flavor->count() : grace_periods();
	uint64_t ns = last_ns ? now_ns - last_ns : now_ns - torture.began_ns;
	double at_s = (double)(now_ns - torture.began_ns) / 1e9;
	const char *unit = torture.flavor->unit ? torture.flavor->unit : "grace periods";
	struct lull_reclaim_counts waiting;
	char line[256];

	if (ns < 1000000000u)
		return;
	last_ns = now_ns;
	lull_reclaim_stats(&waiting);
	snprintf(line, sizeof(line),
		 "torture: %.0f of %.0f s: per second %.0f %s, %.0f updates, %.0f rounds; %zu objects wait, %u threads, "
		 "%u failures",
		 at_s, torture.seconds, per_second(count, &last_count, ns), unit,
		 per_second(all_updates(), &last_updates, ns), per_second(torture_all_work(), &last_work, ns),
		 waiting.items, lull_thread_count(), torture_failed());
	if (!torture.stat_s)
		bench_progress("%s", line);
	else if (++lines % torture.stat_s == 0)
		printf("%s\n", line);
	fflush(stdout);
}

/* ---- at the end ------------------------------------------------------------------------------ */

static void print_parts(void)
{
	uint64_t handlers = 0;
	unsigned i;

	for (i = 0; i < torture.nr_threads; i++)
		handlers += torture.threads[i].handler_tally.sections;

	printf("%-24s", "Updates:");
	for (i = 0; i < TORTURE_FORMS && torture.flavor->form[i]; i++)
		printf(" %s %llu,", torture.flavor->form[i], (unsigned long long)torture.forms[i]);
	printf(" other objects %llu\n", (unsigned long long)torture.blobs);
	printf("%-24s %llu threads came and went, %llu forked children, %llu uses in signal "
	       "handlers,\n",
	       "Parts:", (unsigned long long)torture.churned, (unsigned long long)torture.forked,
	       (unsigned long long)handlers);
	printf("%-24s %llu floods, %llu counted barriers, %llu pauses, %llu callbacks of "
	       "updaters\n",
	       "", (unsigned long long)torture.floods, (unsigned long long)torture.barriers,
	       (unsigned long long)torture.pauses, (unsigned long long)torture.callbacks);
	if (torture.flavor->die)
		printf("%-24s %llu handed over to another thread, %llu threads that exited while "
		       "they held something\n",
		       "", (unsigned long long)torture.handed, (unsigned long long)torture.dropped);
	torture_stall_report();
	torture_limit_report();
}

static void print_pipe(const struct torture_tally *sum)
{
	bool early = false;
	unsigned i;

	for (i = 2; i <= TORTURE_AGES; i++)
		early = early || sum->age[i];
	torture_print_ages(early ? "Reader Pipe: !!!" : "Reader Pipe:", sum->age);
	if (torture.flavor == &torture_rcu || torture.flavor == &torture_rcu_qsbr)
		torture_print_ages("Reader Batch:", sum->batch);
	torture.circulation[0] = torture.circulation[1] + TORTURE_SLOTS;
	torture_print_ages("Free-Block Circulation:", torture.circulation);
}

void torture_report(void)
{
	struct torture_tally sum = torture_total_tally();
	uint32_t failed = torture_failed();

	if (torture.flavor->report)
		torture.flavor->report(&sum);
	else
		print_pipe(&sum);
	print_parts();
	printf("%-24s %llu, with %llu heavy fences\n", "Grace periods:", grace_periods(),
	       (unsigned long long)lull_fence_heavy_count());
	torture_print_failures();
	printf("--- End of test: %s\n", torture_end_words(failed));
}

static json_t *json_counts(const uint64_t *count)
{
	json_t *array = json_array();
	unsigned i;

	for (i = 0; i <= TORTURE_AGES; i++)
		json_array_append_new(array, json_integer((json_int_t)count[i]));
	return array;
}

void torture_write_json(struct jsonout *json)
{
	struct torture_tally sum = torture_total_tally();
	json_t *root = jsonout_root(json);

	jsonout_set(root, "flavor", json_string(torture.flavor->name));
	jsonout_set(root, "seed", json_integer((json_int_t)torture.seed));
	jsonout_set(root, "failures", json_integer(torture_failed()));
	jsonout_set(root, "reader_pipe", json_counts(sum.age));
	jsonout_set(root, "reader_batch", json_counts(sum.batch));
	jsonout_set(root, "circulation", json_counts(torture.circulation));
	jsonout_set(root, "grace_periods", json_integer((json_int_t)grace_periods()));
	jsonout_close(json);
}
