/* SPDX-License-Identifier: MIT */
/* The report's part on locks: a table, how much gets done by threads, how long threads wait. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figures.h"
#include "common/options.h"
#include "common/units.h"
#include "report/page.h"

#define LOCK_COLOURS 950 /* and on */

static const struct look {
	const char *name, *what, *light, *dark;
	unsigned mark;
} looks[] = {
	{ "pthread", "pthread_mutex_t as it is by default: waiters sleep at once", "#57606a", "#9aa4af",
	  PLOT_TRIANGLE },
	{ "pthread-adaptive", "PTHREAD_MUTEX_ADAPTIVE_NP: up to 100 looks, then sleep", "#b0417f",
	  "#f29ac6", PLOT_DOWN },
	{ "lull-mutex", "lull_mutex: spins while the owner is known or believed to run", "#0b57d0",
	  "#6ea8fe", PLOT_CIRCLE_FULL },
	{ "spin-park", "a futex mutex whose waiters pause 100 times, then sleep", "#007a5a",
	  "#4fd1a5", PLOT_DIAMOND },
	{ "futex", "a futex mutex of three states: waiters sleep at once", "#8a6d00", "#d8b83a",
	  PLOT_SQUARE },
	{ "spinlock", "test and set: waiters never sleep", "#c8470a", "#ff9466", PLOT_CROSS },
};

static const struct look *look_of(const struct compare_lock *lock)
{
	size_t i;

	for (i = 0; i < sizeof(looks) / sizeof(looks[0]) - 1 && strcmp(looks[i].name, lock->name); i++)
		;
	return &looks[i];
}

static unsigned colour_of(const struct compare_locks *locks, const struct compare_lock *lock)
{
	return LOCK_COLOURS + (unsigned)(lock - locks->lock);
}

void out_lock_colours(struct report *r, bool dark)
{
	const struct compare_locks *locks = &r->data->locks;
	size_t i;

	for (i = 0; i < locks->count; i++) {
		const struct look *look = look_of(&locks->lock[i]);

		out(r, "--c%u:%s;", colour_of(locks, &locks->lock[i]), dark ? look->dark : look->light);
	}
}

static void out_lock(struct report *r, const struct compare_lock *lock)
{
	out_label(r, lock->name, colour_of(&r->data->locks, lock), look_of(lock)->mark);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void out_thousands(struct report *r, const struct bench_stat *rate, bool best)
{
	struct bench_stat thousands = bench_stat_scale(*rate, 1e-3);

	out_stat(r, &thousands, best);
}

static void out_times(struct report *r, const struct bench_stat *rate,
		      const struct bench_stat *first)
{
	if (rate->count && first->median > 0)
		out(r, "<td>%.2f</td>", rate->median / first->median);
	else
		out(r, "<td>n/a</td>");
}

static struct units_text time_of(const struct bench_stat *ns)
{
	return units_time(ns->count ? ns->median : -1);
}

static void out_ns(struct report *r, const struct bench_stat *ns)
{
	out(r, "<td>%s</td>", time_of(ns).text);
}

/* ---- by threads ------------------------------------------------------------------------------ */

/* With or without hogs. */
typedef const struct compare_contention *(*contention_of)(const struct compare_lock *lock,
							  size_t at);

static const struct compare_contention *plain_of(const struct compare_lock *lock, size_t at)
{
	return &lock->plain[at];
}

static const struct compare_contention *hogs_of(const struct compare_lock *lock, size_t at)
{
	return &lock->hogs[at];
}

static bool is_best(const struct compare_locks *locks, contention_of of,
		    const struct compare_lock *lock, size_t at)
{
	size_t i;

	for (i = 0; i < locks->count; i++)
		if (of(&locks->lock[i], at)->rate.median > of(lock, at)->rate.median)
			return false;
	return true;
}

static void out_rates(struct report *r, contention_of of, const char *const *label)
{
	const struct compare_locks *locks = &r->data->locks;
	size_t i, j;

	begin_numbers(r);
	out(r, "<thead><tr><th>thousand/s</th>");
	for (j = 0; j < locks->nr_threads; j++)
		out(r, "<th>%s</th>", label[j]);
	out(r, "</tr></thead>\n<tbody>\n");
	for (i = 0; i < locks->count; i++) {
		const struct compare_lock *lock = &locks->lock[i];

		out_lock(r, lock);
		for (j = 0; j < locks->nr_threads; j++)
			out_thousands(r, &of(lock, j)->rate, is_best(locks, of, lock, j));
		out(r, "</tr>\n");
	}
	end_figure(r);
}

static void out_by_threads(struct report *r, const char *id, const char *title, const char *caption,
			   contention_of of)
{
	const struct compare_locks *locks = &r->data->locks;
	double y[COMPARE_LOCKS][COMPARE_THREADS_MAX];
	char word[COMPARE_THREADS_MAX][16];
	const char *label[COMPARE_THREADS_MAX];
	struct plot_series series[COMPARE_LOCKS];
	struct plot_lines plot = { .id = id,
				   .title = title,
				   .desc = caption,
				   .x_title = "threads",
				   .y_title = "thousand sections a second",
				   .x_label = label,
				   .places = locks->nr_threads,
				   .predicted = locks->nr_threads,
				   .series = series,
				   .count = locks->count };
	size_t i, j;

	for (j = 0; j < locks->nr_threads; j++) {
		snprintf(word[j], sizeof(word[j]), "%u", locks->threads[j]);
		label[j] = word[j];
	}
	for (i = 0; i < locks->count; i++) {
		const struct compare_lock *lock = &locks->lock[i];

		for (j = 0; j < locks->nr_threads; j++)
			y[i][j] = of(lock, j)->rate.count ? of(lock, j)->rate.median / 1e3 : NAN;
		series[i] = (struct plot_series){ .name = lock->name,
						  .colour = colour_of(locks, lock),
						  .mark = look_of(lock)->mark,
						  .y = y[i] };
	}
	begin_figure(r, title, caption);
	plot_lines(r->file, &plot);
	out_rates(r, of, label);
}

/* ---- waits ----------------------------------------------------------------------------------- */

#define WORDS 200

struct wait_row {
	const char *label;
	char tip[WORDS];
	const struct compare_lock *lock;
	const struct compare_contention *c;
};

/* NAN: nothing is drawn. */
static double drawn_of(const struct bench_stat *ns)
{
	return ns->count ? ns->median : NAN;
}

static struct plot_row row_of(const struct compare_locks *locks, struct wait_row *row)
{
	const struct compare_contention *c = row->c;

	snprintf(row->tip, WORDS, "%s: mean %s, 99 %% %s, 99.9 %% %s, longest %s", row->label,
		 time_of(&c->wait).text, time_of(&c->p99).text, time_of(&c->p999).text,
		 time_of(&c->longest).text);
	return (struct plot_row){ .label = row->label,
				  .colour = colour_of(locks, row->lock),
				  .thin = { drawn_of(&c->wait), drawn_of(&c->longest) },
				  .thick = { NAN, NAN },
				  .dot = drawn_of(&c->wait),
				  .ring = drawn_of(&c->p99),
				  .tick = drawn_of(&c->p999),
				  .tip = row->tip };
}

static void out_wait_numbers(struct report *r, const struct wait_row *rows, size_t count)
{
	size_t i;

	begin_numbers(r);
	out(r, "<thead><tr><th></th><th>mean</th><th>99 %%</th><th>99.9 %%</th><th>longest</th><th>"
	       "CPU time</th></tr></thead>\n<tbody>\n");
	for (i = 0; i < count; i++) {
		const struct compare_contention *c = rows[i].c;

		out_label(r, rows[i].label, colour_of(&r->data->locks, rows[i].lock),
			  look_of(rows[i].lock)->mark);
		out_ns(r, &c->wait);
		out_ns(r, &c->p99);
		out_ns(r, &c->p999);
		out_ns(r, &c->longest);
		out_ns(r, &c->cpu);
		out(r, "</tr>\n");
	}
	end_figure(r);
}

static void out_waits(struct report *r)
{
	const struct compare_locks *locks = &r->data->locks;
	size_t most = compare_locks_most(locks), count = 0, i;
	struct wait_row rows[2 * COMPARE_LOCKS];
	char label[2 * COMPARE_LOCKS][48];
	struct plot_row drawn[2 * COMPARE_LOCKS];
	char *caption = options_printf("%u thread%s, logarithmic. Dot: mean; ring: 99\u00a0%%; tick: "
				       "99.9\u00a0%%; the line ends at the longest.",
				       locks->threads[most], locks->threads[most] == 1 ? "" : "s");
	struct plot_rows plot = { "lock-waits", "How long a section is waited for", caption, drawn, 0 };

	for (i = 0; i < 2 * locks->count; i++) {
		const struct compare_lock *lock = &locks->lock[i / 2];
		struct wait_row *row = &rows[count];

		row->lock = lock;
		row->c = i % 2 ? &lock->hogs[most] : &lock->plain[most];
		if (!row->c->wait.count)
			continue;
		snprintf(label[i], sizeof(label[i]), "%s%s", lock->name, i % 2 ? ", hogs" : "");
		row->label = label[i];
		drawn[count++] = row_of(locks, row);
	}
	if (count) {
		plot.count = count;
		begin_figure(r, plot.title, caption);
		plot_rows(r->file, &plot);
		out_wait_numbers(r, rows, count);
	}
	free(caption);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void out_lock_table(struct report *r)
{
	const struct compare_locks *locks = &r->data->locks;
	const struct compare_lock *first = &locks->lock[0];
	size_t most = compare_locks_most(locks), i;

	out(r, "<div class=\"box scroll\" tabindex=\"0\"><table>\n<thead><tr><th>lock</th><th>ns, "
	       "nobody<br>waits</th><th>thousand/s,<br>%u thread%s</th><th>x pthread</th><th>beside "
	       "%u<br>hog%s</th><th>x pthread</th><th>sections of<br>%s, x</th><th>mean "
	       "wait</th><th>99.9 %%</th><th>CPU time per<br>section</th></tr></thead>\n<tbody>\n",
	    locks->threads[most], locks->threads[most] == 1 ? "" : "s", locks->hogs,
	    locks->hogs == 1 ? "" : "s", units_time(locks->longer_ns).text);
	for (i = 0; i < locks->count; i++) {
		const struct compare_lock *lock = &locks->lock[i];
		const struct compare_contention *plain = &lock->plain[most], *hogs = &lock->hogs[most];

		out_lock(r, lock);
		out_stat(r, &lock->alone, false);
		out_thousands(r, &plain->rate, is_best(locks, plain_of, lock, most));
		out_times(r, &plain->rate, &first->plain[most].rate);
		out_thousands(r, &hogs->rate, is_best(locks, hogs_of, lock, most));
		out_times(r, &hogs->rate, &first->hogs[most].rate);
		out_times(r, &lock->longer.rate, &first->longer.rate);
		out_ns(r, &plain->wait);
		out_ns(r, &plain->p999);
		out_ns(r, &plain->cpu);
		out(r, "</tr>\n");
	}
	out(r, "</tbody></table></div>\n<p class=\"muted\">Waits and processor time, that of work "
	       "between sections included, are without hogs. Small figures are minimum and "
	       "maximum.</p>\n<details><summary>The locks</summary><dl>\n");
	for (i = 0; i < locks->count; i++)
		out(r, "<dt>%s</dt><dd>%s</dd>\n", locks->lock[i].name, look_of(&locks->lock[i])->what);
	out(r, "</dl></details>\n");
}

/* ---- the part of the page -------------------------------------------------------------------- */

void out_locks(struct report *r)
{
	const struct compare_locks *locks = &r->data->locks;
	char *hogs;

	if (!locks->count)
		return;
	out(r,
	    "<h2>Locks</h2>\n<p class=\"muted\">Threads want one lock, for sections %s %s, with work "
	    "between them that lasts up to %s. Hogs are other processes that burn processor "
	    "time: then owners are preempted, and who spins for one of those spins for "
	    "nothing.</p>\n",
	    locks->sleep ? "that sleep for" : "of",
	    units_time(locks->section_ns).text,
	    units_time(COMPARE_LOCK_OUTSIDE * locks->section_ns).text);
	out_lines(r, locks->answer, locks->nr_answers);
	out(r, "<div class=\"grid\">\n");
	out_by_threads(r, "lock-threads", "What gets done under one lock", "Sections by threads.",
		       plain_of);
	hogs = options_printf("Sections by threads, beside %u process%s that burn%s processor time.",
			      locks->hogs, locks->hogs == 1 ? "" : "es", locks->hogs == 1 ? "s" : "");
	out_by_threads(r, "lock-hogs", "The same beside hogs", hogs, hogs_of);
	free(hogs);
	out_waits(r);
	out(r, "</div>\n");
	out_lock_table(r);
}
