/* SPDX-License-Identifier: MIT */
/* The report of `lull compare`; see report.h. */
#include "report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lull/base.h>

#include "options.h"
#include "outfile.h"
#include "peers.h"
#include "plot.h"

struct report {
	struct outfile *outfile;
	FILE *file;
	const struct compare *data;
};

struct report *report_open(const char *path)
{
	struct report *r = options_alloc(1, sizeof(*r));

	r->outfile = outfile_open("--report", path);
	r->file = outfile_stream(r->outfile);
	if (!plot_available())
		options_fail("gnuplot is needed for the report's pictures and cannot be run here; "
			     "install it with: apt-get install gnuplot-nox");
	return r;
}

static void finish(struct report *r)
{
	int err = outfile_finish(r->outfile);

	if (err)
		options_fail("--report: cannot write '%s': %s", outfile_path(r->outfile),
			     strerror(err));
	outfile_free(r->outfile);
	free(r);
}

/* ---- HTML ------------------------------------------------------------------------------------ */

/* As it is: for markup only. */
__attribute__((format(printf, 2, 3))) static void out(struct report *r, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vfprintf(r->file, format, ap);
	va_end(ap);
}

/* Anything that comes from outside. */
static void out_text(struct report *r, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '&':
			out(r, "&amp;");
			break;
		case '<':
			out(r, "&lt;");
			break;
		case '>':
			out(r, "&gt;");
			break;
		case '"':
			out(r, "&quot;");
			break;
		case '\'':
			out(r, "&#39;");
			break;
		default:
			fputc((unsigned char)*text < ' ' ? ' ' : *text, r->file);
		}
}

static const char style_sheet[] =
	"*{box-sizing:border-box}\n"
	"body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.55 "
	"system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',sans-serif}\n"
	"main{max-width:1240px;margin:0 auto;padding:2.2rem 1.2rem 4rem}\n"
	"h1{font-size:1.9rem;line-height:1.2;margin:0 0 .4rem;letter-spacing:-.01em}\n"
	"h2{font-size:1.25rem;margin:2.6rem 0 .8rem}\n"
	"p{margin:.5rem 0}\n"
	".muted,figcaption,th{color:var(--muted)}\n"
	"code{font:.88em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;"
	"background:var(--card);border:1px solid var(--line);border-radius:6px;padding:.15em .4em;"
	"overflow-wrap:anywhere}\n"
	".advice{background:var(--card);border:1px solid var(--line);border-left:4px solid "
	"var(--accent);border-radius:10px;padding:.7rem 1.2rem}\n"
	".advice p:first-child{font-weight:600}\n"
	".grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr));"
	"gap:1.2rem;align-items:stretch}\n"
	"figure{margin:0;min-width:0;background:var(--card);border:1px solid var(--line);"
	"border-radius:12px;padding:1rem 1rem .8rem}\n"
	"figure h3{margin:0 0 .1rem;font-size:1.02rem}\n"
	"figcaption{font-size:.88rem;line-height:1.4;margin-bottom:.5rem}\n"
	"svg{display:block;width:100%;height:auto}\n"
	".scroll{overflow-x:auto}\n"
	"table{border-collapse:collapse;width:100%;font-size:.86rem;"
	"font-variant-numeric:tabular-nums}\n"
	"th,td{padding:.32rem .6rem;text-align:right;white-space:nowrap;border-bottom:1px solid "
	"var(--line)}\n"
	"th{font-weight:500;vertical-align:bottom}\n"
	"th:first-child,td:first-child{text-align:left}\n"
	"tbody td:first-child{font-weight:500;position:sticky;left:0;background:var(--card)}\n"
	"td small{color:var(--muted);font-size:.82em}\n"
	"td b{color:var(--accent)}\n"
	".box{background:var(--card);border:1px solid var(--line);border-radius:12px;"
	"padding:.4rem .6rem}\n"
	".dot{display:inline-block;width:.65em;height:.65em;border-radius:50%;margin-right:.5em}\n"
	".key{display:grid;grid-template-columns:repeat(auto-fill,minmax(7.2rem,1fr));gap:0 .6rem;"
	"list-style:none;margin:.2rem 0 .4rem;padding:0 0 0 .4rem;font-size:.86rem}\n"
	".key span{display:inline-block;width:1.3em;text-align:center;margin-right:.2em}\n"
	"details{margin-top:.5rem;font-size:.9rem}\n"
	"summary{cursor:pointer;color:var(--muted)}\n"
	"dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:.8rem 0}\n"
	"dt{color:var(--muted)}dd{margin:0;overflow-wrap:anywhere}\n"
	"@media(max-width:36rem){main{padding:1.4rem .7rem 3rem}dl{grid-template-columns:1fr}"
	"dd{margin-bottom:.4rem}figure{padding:.8rem .5rem}}\n";

static void out_colours(struct report *r, bool dark)
{
	size_t i;

	out(r, ":root{%s",
	    dark ? "--bg:#0d1117;--fg:#e6edf3;--muted:#9198a1;--line:#343c47;"
		   "--card:#151b23;--accent:#6ea8fe;"
		 : "--bg:#f6f8fa;--fg:#1f2328;--muted:#59636e;--line:#dde2e8;"
		   "--card:#ffffff;--accent:#0b57d0;");
	for (i = 0; i < r->data->count; i++)
		out(r, "--c%u:%s;", r->data->scheme[i].colour,
		    dark ? r->data->scheme[i].style->dark : r->data->scheme[i].style->light);
	out(r, "}\n");
}

static void out_head(struct report *r)
{
	out(r, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	       "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
	       "<meta name=\"color-scheme\" content=\"light dark\">\n"
	       "<title>lull: what each protection costs</title>\n"
	       "<style>\n");
	out_colours(r, false);
	out(r, "@media(prefers-color-scheme:dark){");
	out_colours(r, true);
	out(r, "}\n%s</style>\n</head>\n<body>\n<main>\n", style_sheet);
}

static void out_term(struct report *r, const char *term, const char *text)
{
	out(r, "<dt>%s</dt><dd>", term);
	out_text(r, text);
	out(r, "</dd>\n");
}

static void out_machine(struct report *r)
{
	const struct machine *m = &r->data->machine;
	char text[512];

	out(r, "<dl>\n");
	out_term(r, "keys", r->data->keys);
	snprintf(text, sizeof(text), "%u of %u CPUs, %s", m->cpus_allowed, m->cpus_online,
		 m->cpu_model);
	out_term(r, "machine", text);
	snprintf(text, sizeof(text), "%s, virtualised: %s, governor: %s", m->kernel, m->hypervisor,
		 m->governor);
	out_term(r, "system", text);
	snprintf(text, sizeof(text), "lull %s (fence strategy %s)%s%s, %s", lull_version(),
		 m->fence, *peers_versions() ? ", " : "", peers_versions(), m->compiler);
	out_term(r, "software", text);
	snprintf(text, sizeof(text), "%s, in %.0f s", r->data->when, r->data->took_seconds);
	out_term(r, "measured", text);
	out(r, "<dt>again</dt><dd><code>");
	out_text(r, r->data->command);
	out(r, "</code></dd>\n</dl>\n");
}

static void out_advice(struct report *r)
{
	size_t i;

	out(r, "<h2>Which one to use</h2>\n<div class=\"advice\">\n");
	for (i = 0; i < r->data->nr_advice; i++) {
		out(r, "<p>");
		out_text(r, r->data->advice[i]);
		out(r, "</p>\n");
	}
	out(r, "</div>\n");
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void out_label(struct report *r, const char *label, unsigned colour)
{
	out(r, "<tr><td><span class=\"dot\" style=\"background:var(--c%u)\"></span>", colour);
	out_text(r, label);
	out(r, "</td>");
}

static void out_name(struct report *r, const struct compare_scheme *s)
{
	out_label(r, s->name, s->colour);
}

static int digits(double v)
{
	return v < 9.995 ? 2 : v < 99.95 ? 1 : 0;
}

/* Median with minimum and maximum; the best of a column stands out. */
static void out_stat(struct report *r, const struct bench_stat *s, bool best)
{
	int d = digits(s->median);

	if (!s->count)
		out(r, "<td>n/a</td>");
	else
		out(r, "<td>%s%.*f%s <small>%.*f..%.*f</small></td>", best ? "<b>" : "", d,
		    s->median, best ? "</b>" : "", d, s->min, d, s->max);
}

static void out_time(struct report *r, const struct bench_latency *l, double ns)
{
	char word[32];

	out(r, "<td>%s</td>", compare_time(word, sizeof(word), l->count ? ns : -1));
}

static void out_size(struct report *r, double bytes)
{
	char word[32];

	out(r, "<td>%s</td>", compare_bytes(word, sizeof(word), bytes));
}

/* ---- the decision table ---------------------------------------------------------------------- */

static const struct compare_scheme *unprotected(const struct compare *data)
{
	size_t i;

	for (i = 0; i < data->count; i++)
		if (!strcmp(data->scheme[i].name, "none"))
			return &data->scheme[i];
	return NULL;
}

static void out_decision(struct report *r)
{
	const struct compare_scheme *none = unprotected(r->data);
	size_t i;

	out(r, "<h2>What each costs</h2>\n<div class=\"box "
	       "scroll\"><table>\n"
	       "<thead><tr><th>scheme</th><th>ns per read,<br>1 thread</th><th>2 threads</th><th>"
	       "x unprotected</th><th>update,<br>median</th><th>update,<br>99 %%</th><th>memory "
	       "that<br>waits, at most</th><th>bytes per<br>object</th><th>bytes per<br>"
	       "thread</th><th>a reader that stays<br>holds up</th><th>and may<br>sleep</th></tr>"
	       "</thead>\n"
	       "<tbody>\n");
	for (i = 0; i < r->data->count; i++) {
		const struct compare_scheme *s = &r->data->scheme[i];

		out_name(r, s);
		out_stat(r, &s->read[0], false);
		out_stat(r, &s->read[1], false);
		if (none && none->read[0].count && s->read[0].count)
			out(r, "<td>%.*f</td>", digits(s->read[0].median / none->read[0].median),
			    s->read[0].median / none->read[0].median);
		else
			out(r, "<td>n/a</td>");
		out_time(r, &s->update, s->update.p50);
		out_time(r, &s->update, s->update.p99);
		out_size(r, s->defers ? s->waiting_bytes : -1);
		out_size(r, s->object_bytes);
		out_size(r, s->thread_bytes);
		out(r, "<td>");
		out_text(r, s->holds_up);
		out(r, "</td><td>%s</td></tr>\n", s->may_block ? "yes" : "no");
	}
	out(r,
	    "</tbody></table></div>\n"
	    "<p class=\"muted\">A read is one read section: enter, load a shared pointer, read a "
	    "field, leave, with the loop around it. An update replaces one element of the table "
	    "while another thread looks up. Small figures are minimum and maximum.</p>\n");
	out(r, "<details><summary>The schemes</summary><dl>\n");
	for (i = 0; i < r->data->count; i++) {
		out(r, "<dt>");
		out_text(r, r->data->scheme[i].name);
		out(r, "</dt><dd>");
		out_text(r, r->data->scheme[i].what);
		out(r, "</dd>\n");
	}
	out(r, "</dl></details>\n");
}

/* ---- pictures -------------------------------------------------------------------------------- */

#define PLOT_WIDTH 460
#define DECADES_LABELLED 5

struct picture {
	const char *id, *title, *caption;
	unsigned height;
	bool key;
	char *commands;
	size_t size;
	FILE *to;
};

static void begin_picture(struct picture *p)
{
	p->to = open_memstream(&p->commands, &p->size);
	if (!p->to)
		options_fail("out of memory");
}

/* Gnuplot's points, as far as they are used here. */
static const char *symbol(unsigned point)
{
	static const char *const symbols[] = { "",	 "+",	   "\u00d7", "",       "\u25a1",
					       "\u25a0", "\u25cb", "\u25cf", "\u25b3", "\u25b2",
					       "\u25bd", "",	   "\u25c7" };

	return point < sizeof(symbols) / sizeof(symbols[0]) ? symbols[point] : "";
}

static void out_key(struct report *r)
{
	size_t i;

	out(r, "<ul class=\"key\">");
	for (i = 0; i < r->data->count; i++) {
		const struct compare_scheme *s = &r->data->scheme[i];

		out(r, "<li><span style=\"color:var(--c%u)\">%s</span>", s->colour,
		    symbol(s->style->point));
		out_text(r, s->name);
		out(r, "</li>");
	}
	out(r, "</ul>\n");
}

/* The figure up to its table, which is the caller's: header cells and rows. */
static void out_picture(struct report *r, struct picture *p)
{
	char *svg;

	fclose(p->to);
	svg = plot_svg(p->id, p->title, PLOT_WIDTH, p->height, p->commands);
	out(r, "<figure>\n<h3>%s</h3>\n<figcaption>%s</figcaption>\n%s", p->title, p->caption, svg);
	if (p->key)
		out_key(r);
	out(r, "<details><summary>The figures</summary><div class=\"scroll\"><table>\n");
	free(svg);
	free(p->commands);
}

static void end_figure(struct report *r)
{
	out(r, "</tbody></table></div></details>\n</figure>\n");
}

typedef const struct bench_stat *(*series_of)(const struct compare_scheme *s, size_t index);

static const struct bench_stat *lookups_of(const struct compare_scheme *s, size_t index)
{
	return &s->lookups[index];
}

static const struct bench_stat *mixed_of(const struct compare_scheme *s, size_t index)
{
	return &s->mixed[index];
}

static bool any(const struct compare_scheme *s, series_of series, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (series(s, i)->count)
			return true;
	return false;
}

/* One line per scheme, with a place on the horizontal axis for each index. */
static void plot_lines(const struct compare *data, struct picture *p, series_of series,
		       size_t count)
{
	const char *comma = "plot";
	size_t i, j;

	for (i = 0; i < data->count; i++) {
		if (!any(&data->scheme[i], series, count))
			continue;
		fprintf(p->to, "$s%zu << END\n", i);
		for (j = 0; j < count; j++)
			if (series(&data->scheme[i], j)->count)
				fprintf(p->to, "%zu %g\n", j, series(&data->scheme[i], j)->median);
		fprintf(p->to, "END\n");
	}
	for (i = 0; i < data->count; i++) {
		const struct compare_scheme *s = &data->scheme[i];

		if (!any(s, series, count))
			continue;
		fprintf(p->to,
			"%s $s%zu with linespoints lc rgb '#0000%02x' lw %s pt %u ps 0.75 dt %d "
			"title '%s'",
			comma, i, s->colour, s->style->family == CHOOSE_DEFERRED ? "1.8" : "1.2",
			s->style->point, s->style->family == CHOOSE_UNPROTECTED ? 2 : 1, s->name);
		comma = ",";
	}
	fprintf(p->to, "\n");
}

static double best_of(const struct compare *data, series_of series, size_t index)
{
	double best = 0;
	size_t i;

	for (i = 0; i < data->count; i++)
		if (data->scheme[i].style->family != CHOOSE_UNPROTECTED &&
		    series(&data->scheme[i], index)->median > best)
			best = series(&data->scheme[i], index)->median;
	return best;
}

static void out_series(struct report *r, series_of series, size_t count)
{
	size_t i, j;

	for (i = 0; i < r->data->count; i++) {
		out_name(r, &r->data->scheme[i]);
		for (j = 0; j < count; j++) {
			const struct bench_stat *s = series(&r->data->scheme[i], j);

			out_stat(r, s, s->count && s->median == best_of(r->data, series, j));
		}
		out(r, "</tr>\n");
	}
}

static void out_by_threads(struct report *r)
{
	struct picture p = {
		.id = "threads",
		.title = "Lookups by threads",
		.height = 340,
		.key = true,
		.caption = "Million lookups per second, all threads together; no updates."
	};
	const struct compare *data = r->data;
	size_t i;

	begin_picture(&p);
	fprintf(p.to,
		"set xlabel 'threads' tc rgb '" PLOT_MUTED
		"'\nset xrange [-0.2:%g]\nset yrange [0:*]\nset xtics (",
		(double)data->nr_threads - 0.8);
	for (i = 0; i < data->nr_threads; i++)
		fprintf(p.to, "%s'%u' %zu", i ? "," : "", data->threads[i], i);
	fprintf(p.to, ")\n");
	plot_lines(data, &p, lookups_of, data->nr_threads);
	out_picture(r, &p);
	out(r, "<thead><tr><th>Mops</th>");
	for (i = 0; i < data->nr_threads; i++)
		out(r, "<th>%u thread%s</th>", data->threads[i], data->threads[i] == 1 ? "" : "s");
	out(r, "</tr></thead>\n<tbody>\n");
	out_series(r, lookups_of, data->nr_threads);
	end_figure(r);
}

static void out_by_updates(struct report *r)
{
	struct picture p = { .id = "updates",
			     .title = "Operations by fraction of updates",
			     .height = 340,
			     .key = true };
	const struct compare *data = r->data;
	char *caption = options_printf("Million operations per second on %u thread%s; logarithmic.",
				       data->mixed_threads, data->mixed_threads == 1 ? "" : "s");
	size_t i;

	p.caption = caption;
	begin_picture(&p);
	fprintf(p.to,
		"set xlabel 'updates' tc rgb '" PLOT_MUTED
		"'\nset xrange [-0.2:%g]\nset logscale y\nset xtics (",
		(double)data->nr_percents - 0.8);
	for (i = 0; i < data->nr_percents; i++)
		fprintf(p.to, "%s'%u %%%%' %zu", i ? "," : "", data->percent[i],
			i); /* a format there */
	fprintf(p.to, ")\n");
	plot_lines(data, &p, mixed_of, data->nr_percents);
	out_picture(r, &p);
	free(caption);
	out(r, "<thead><tr><th>Mops</th>");
	for (i = 0; i < data->nr_percents; i++)
		out(r, "<th>%u %%</th>", data->percent[i]);
	out(r, "</tr></thead>\n<tbody>\n");
	out_series(r, mixed_of, data->nr_percents);
	end_figure(r);
}

/* ---- rows: one below the other, a logarithmic axis ------------------------------------------- */

#define ROWS_MAX 128

struct row {
	const char *label;
	unsigned colour;
	const struct bench_stat *upper, *lower; /* bars */
	const struct bench_latency *latency;
};

static void plot_rows(struct picture *p, const struct row *row, size_t count)
{
	size_t i;

	p->height = 64 + (unsigned)count * 22;
	fprintf(p->to, "set logscale x\nset ytics (");
	for (i = 0; i < count; i++)
		fprintf(p->to, "%s'%s' %zu", i ? "," : "", row[i].label, i);
	fprintf(p->to,
		")\n"
		"set yrange [%g:-0.6]\n"
		"set ytics scale 0\n"
		"set grid noytics\n"
		"set border 1\n"
		"set style fill solid 1 noborder\n"
		"set tmargin 0.5\n",
		(double)count - 0.4);
}

/* Whole decades; a label at each, or at every second one when they are many. */
static void plot_decades(struct picture *p, double least, double most)
{
	double from = floor(log10(least)), to = ceil(log10(most));

	to = to > from ? to : from + 1;
	fprintf(p->to, "set xrange [1e%g:1e%g]\nset xtics 1e%g,%d\n", from, to, from,
		to - from > DECADES_LABELLED ? 100 : 10);
}

static void plot_bar(struct picture *p, const struct bench_stat *s, double from, double top,
		     double bottom, unsigned colour)
{
	if (s->count)
		fprintf(p->to, "%g %g %g %g %u\n", s->median, from, top, bottom, colour);
}

static void plot_bars(struct picture *p, const struct row *row, size_t count)
{
	double least = INFINITY, most = 0, from;
	size_t i;

	for (i = 0; i < count; i++) {
		const struct bench_stat *both[2] = { row[i].upper, row[i].lower }, **one;

		for (one = both; one < both + 2; one++) {
			least = (*one)->count ? fmin(least, (*one)->median) : least;
			most = (*one)->count ? fmax(most, (*one)->median) : most;
		}
	}
	/* No bar without length. */
	from = fmax(least, 1e-3) / 1.5;
	plot_rows(p, row, count);
	plot_decades(p, from, fmax(most, from));
	fprintf(p->to, "$d << END\n");
	from = pow(10, floor(log10(from)));
	for (i = 0; i < count; i++) {
		plot_bar(p, row[i].upper, from, (double)i - 0.36, (double)i - 0.03, row[i].colour);
		plot_bar(p, row[i].lower, from, (double)i + 0.03, (double)i + 0.36, row[i].colour);
	}
	fprintf(p->to, "END\nplot $d using 1:3:2:1:3:4:5 with boxxy lc rgb variable\n");
}

static void out_reads(struct report *r)
{
	struct picture p = {
		.id = "reads",
		.title = "What a read section costs",
		.caption = "Nanoseconds; logarithmic. Upper bar 1 thread, lower bar 2 threads."
	};
	const struct compare *data = r->data;
	struct row row[ROWS_MAX];
	size_t count = 0, i;

	for (i = 0; i < data->count && count < ROWS_MAX; i++) {
		const struct compare_scheme *s = &data->scheme[i];

		if (s->own_section && s->read[0].count)
			row[count++] =
				(struct row){ s->name, s->colour, &s->read[0], &s->read[1], NULL };
	}
	if (!count)
		return;
	begin_picture(&p);
	plot_bars(&p, row, count);
	out_picture(r, &p);
	out(r, "<thead><tr><th>ns</th><th>1 thread</th><th>2 threads</th></tr></thead>\n<tbody>\n");
	for (i = 0; i < count; i++) {
		out_label(r, row[i].label, row[i].colour);
		out_stat(r, row[i].upper, false);
		out_stat(r, row[i].lower, false);
		out(r, "</tr>\n");
	}
	end_figure(r);
}

static void out_replaces(struct report *r)
{
	struct picture p = {
		.id = "replace",
		.title = "What replacing an object costs",
		.caption = "Nanoseconds per object until all of them are freed, one thread, one "
			   "pointer; logarithmic. Upper bar: nobody reads; lower bar: one busy "
			   "reader."
	};
	const struct compare *data = r->data;
	struct row row[COMPARE_REPLACES_MAX];
	char label[COMPARE_REPLACES_MAX][64];
	size_t i;

	if (!data->nr_replaces)
		return;
	for (i = 0; i < data->nr_replaces; i++) {
		const struct compare_replace *c = &data->replace[i];

		snprintf(label[i], sizeof(label[i]), "%s, %s", c->scheme->name, c->way);
		row[i] = (struct row){ label[i], c->scheme->colour, &c->ns[0], &c->ns[1], NULL };
	}
	begin_picture(&p);
	plot_bars(&p, row, data->nr_replaces);
	out_picture(r, &p);
	out(r,
	    "<thead><tr><th>ns</th><th>nobody reads</th><th>busy reader</th><th>objects that<br>"
	    "waited, at most</th><th>with a<br>busy reader</th></tr></thead>\n"
	    "<tbody>\n");
	for (i = 0; i < data->nr_replaces; i++) {
		out_label(r, row[i].label, row[i].colour);
		out_stat(r, row[i].upper, false);
		out_stat(r, row[i].lower, false);
		out(r, "<td>%.0f</td><td>%.0f</td></tr>\n", data->replace[i].peak[0],
		    data->replace[i].peak[1]);
	}
	end_figure(r);
}

typedef const struct bench_latency *(*latency_of)(const struct compare_scheme *s, size_t index);

static const struct bench_latency *update_of(const struct compare_scheme *s, size_t index)
{
	(void)index;
	return &s->update;
}

static const struct bench_latency *wait_of(const struct compare_scheme *s, size_t index)
{
	return &s->wait[index];
}

/* Seconds; zero is not on the axis. */
static double on_axis(double ns)
{
	return fmax(ns, 1) / 1e9;
}

static void plot_latencies(struct picture *p, const struct row *row, size_t count)
{
	double least = INFINITY, most = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		least = fmin(least, on_axis(row[i].latency->min));
		most = fmax(most, on_axis(row[i].latency->max));
	}
	plot_rows(p, row, count);
	plot_decades(p, least, most);
	fprintf(p->to, "set format x '%%.0s %%cs'\n$d << END\n");
	for (i = 0; i < count; i++) {
		const struct bench_latency *l = row[i].latency;

		fprintf(p->to, "%g %g %g %g %zu %u\n", on_axis(l->min), on_axis(l->p50),
			on_axis(l->p99), on_axis(l->max), i, row[i].colour);
	}
	fprintf(p->to,
		"END\n"
		"plot $d using 1:5:($4-$1):(0):6 with vectors nohead lw 1.2 lc rgb variable, $d "
		"using 2:5:2:3:($5-0.16):($5+0.16):6 with boxxy lc rgb variable, $d using 2:5:6 "
		"with points pt 7 ps 0.8 lc rgb variable\n");
}

/* From minimum to maximum thin, from median to 99 % thick, the median a dot. */
static void out_latencies(struct report *r, struct picture *p, latency_of latency, size_t index)
{
	const struct compare *data = r->data;
	struct row row[ROWS_MAX];
	size_t count = 0, i;

	for (i = 0; i < data->count && count < ROWS_MAX; i++) {
		const struct compare_scheme *s = &data->scheme[i];

		if (latency(s, index)->count)
			row[count++] =
				(struct row){ s->name, s->colour, NULL, NULL, latency(s, index) };
	}
	if (!count)
		return;
	begin_picture(p);
	plot_latencies(p, row, count);
	out_picture(r, p);
	out(r,
	    "<thead><tr><th></th><th>min</th><th>median</th><th>90 %%</th><th>99 %%</th><th>"
	    "max</th><th>mean</th></tr></thead>\n"
	    "<tbody>\n");
	for (i = 0; i < count; i++) {
		const struct bench_latency *l = row[i].latency;

		out_label(r, row[i].label, row[i].colour);
		out_time(r, l, l->min);
		out_time(r, l, l->p50);
		out_time(r, l, l->p90);
		out_time(r, l, l->p99);
		out_time(r, l, l->max);
		out_time(r, l, l->mean);
		out(r, "</tr>\n");
	}
	end_figure(r);
}

#define LATENCY_LEGEND "; logarithmic. Dot: median; thick: up to 99 %; thin: minimum to maximum."

static void out_update_latency(struct report *r)
{
	struct picture p = { .id = "update",
			     .title = "How long an update takes",
			     .caption = "One replacement in the table while another thread looks "
					"up" LATENCY_LEGEND };

	out_latencies(r, &p, update_of, 0);
}

static void out_waits(struct report *r)
{
	char *caption, *id;
	size_t i;

	for (i = 0; i < COMPARE_WAITS_MAX; i++) {
		struct picture p = { .title = compare_waits[i].title };

		p.caption = caption =
			options_printf("%s%s", compare_waits[i].caption, LATENCY_LEGEND);
		p.id = id = options_printf("wait%zu", i);
		out_latencies(r, &p, wait_of, i);
		free(caption);
		free(id);
	}
}

static void out_pictures(struct report *r)
{
	out(r, "<h2>Pictures</h2>\n<div class=\"grid\">\n");
	out_by_threads(r);
	out_by_updates(r);
	out_reads(r);
	out_update_latency(r);
	out_waits(r);
	out_replaces(r);
	out(r, "</div>\n");
}

/* ---- the page -------------------------------------------------------------------------------- */

static void out_method(struct report *r)
{
	out(r,
	    "<h2>How it was measured</h2>\n"
	    "<p>All schemes have the same keys in the same table: an array of buckets, chains of "
	    "64-byte elements behind pointers, except where a library brings a table of its own. "
	    "A lookup hashes a random key, finds its element and reads it. An update allocates "
	    "an element, puts it in the place of the one with that key, and frees or retires the "
	    "old one.</p>\n"
	    "<p>Schemes take turns in short slices, so that a disturbance falls on all alike. "
	    "Figures are medians, with minimum and maximum. Threads are pinned. A slice of "
	    "lookups in which a thread was preempted is repeated; with updates every slice "
	    "counts, because some libraries free memory on a thread of their own. Memory that "
	    "waits is counted in elements of 64 bytes. <code>lull hashscale</code>, <code>lull "
	    "refscale</code> and <code>lull rcuscale</code> give the same figures in more "
	    "detail.</p>\n");
}

void report_write(struct report *r, const struct compare *data)
{
	r->data = data;
	out_head(r);
	out(r, "<h1>What each protection costs here</h1>\n"
	       "<p class=\"muted\">Readers look things up while updaters replace them: with "
	       "locks, counts, sequence numbers, RCU and hazard pointers.</p>\n");
	out_machine(r);
	out_advice(r);
	out_decision(r);
	out_pictures(r);
	out_method(r);
	out(r, "</main>\n</body>\n</html>\n");
	finish(r);
}
