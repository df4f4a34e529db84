/* SPDX-License-Identifier: MIT */
/* lull torture: what went wrong, the line for people while it runs, and the report at the end. See torture.h. */
#include "torture/run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lull/reclaim.h>

#include "common/json.h"

#define MESSAGES 8

/* ---- failures -------------------------------------------------------------------------------- */

static struct {
	uint32_t count;
	struct {
		uint64_t at_ns;
		char text[200];
		uint32_t is_written;
	} message[MESSAGES];
} failures;

/* Also in signal handlers: nothing is allocated or locked here. */
void torture_fail(const char *fmt, ...)
{
	char text[sizeof(failures.message[0].text)];
	uint32_t nr;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (torture.in_child) {
		if (write(torture.child_fd, text, strlen(text)) < 0)
			_exit(2);
		_exit(1);
	}
	nr = lull_add_relaxed(&failures.count, 1u);
	if (nr < MESSAGES) {
		failures.message[nr].at_ns = bench_now_ns() - torture.began_ns;
		memcpy(failures.message[nr].text, text, sizeof(text));
		lull_store_release(&failures.message[nr].is_written, 1u);
	}
	lull_store_release(&torture.stop, 1u);
}

uint32_t torture_failed(void)
{
	return lull_load_relaxed(&failures.count);
}

_Noreturn void torture_give_up(void)
{
	torture_report();
	/* Not of all files: their list may be locked by a fork that hangs. */
	fflush(stdout);
	_exit(EXIT_FAILURE);
}

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

void torture_print_ages(const char *title, const uint64_t *count)
{
	unsigned i;

	printf("%-24s", title);
	for (i = 0; i <= TORTURE_AGES; i++)
		printf(" %llu", (unsigned long long)count[i]);
	putchar('\n');
}

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
	uint32_t failed = torture_failed(), i;

	if (torture.flavor->report)
		torture.flavor->report(&sum);
	else
		print_pipe(&sum);
	print_parts();
	printf("%-24s %llu, with %llu heavy fences\n", "Grace periods:", grace_periods(),
	       (unsigned long long)lull_fence_heavy_count());
	for (i = 0; i < failed && i < MESSAGES; i++)
		if (lull_load_acquire(&failures.message[i].is_written))
			printf("failure after %.3f s: %s\n",
			       (double)failures.message[i].at_ns / 1e9, failures.message[i].text);
	if (failed > MESSAGES)
		printf("... and %u more\n", failed - MESSAGES);
	printf("--- End of test: %s\n", failed ? "FAILURE" : "SUCCESS");
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
