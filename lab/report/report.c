/* SPDX-License-Identifier: MIT */
/* The report of `lull compare`: the page, its style, what was measured where; see compare_report.h. */
#include "report/compare_report.h"

#include <stdlib.h>
#include <string.h>

#include <lull/debug.h>

#include "common/options.h"
#include "engine/peers.h"
#include "report/page.h"

struct report *report_open(const char *path)
{
	struct report *r = options_alloc(1, sizeof(*r));

	r->outfile = outfile_open("--report", path);
	r->file = outfile_stream(r->outfile);
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

/* ---- the style ------------------------------------------------------------------------------- */

static const char style_sheet[] =
	"*{box-sizing:border-box}\n"
	"body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.55 "
	"system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',sans-serif}\n"
	"main{max-width:1320px;margin:0 auto;padding:2.2rem 1.2rem 4rem}\n"
	"h1{font-size:1.9rem;line-height:1.2;margin:0 0 .4rem;letter-spacing:-.01em}\n"
	"h2{font-size:1.25rem;margin:2.6rem 0 .3rem}\n"
	"h2+p{margin-top:0}\n"
	"p{margin:.5rem 0;max-width:70rem}\n"
	".muted,figcaption,thead th{color:var(--muted)}\n"
	".muted{margin-bottom:.8rem}\n"
	"code{font:.88em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;"
	"background:var(--card);border:1px solid var(--line);border-radius:6px;padding:.15em .4em;"
	"overflow-wrap:anywhere}\n"
	".advice{background:var(--card);border:1px solid var(--line);border-left:4px solid "
	"var(--accent);border-radius:10px;padding:.7rem 1.2rem;margin:.8rem 0}\n"
	".head .advice p:first-child{font-weight:600}\n"
	".grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,23rem),1fr));"
	"gap:1.2rem;align-items:start;margin-top:.8rem}\n"
	".wide{grid-template-columns:repeat(auto-fill,minmax(min(100%,30rem),1fr))}\n"
	"figure{margin:0;min-width:0;background:var(--card);border:1px solid var(--line);"
	"border-radius:12px;padding:1rem 1rem .8rem}\n"
	"figure h3{margin:0 0 .1rem;font-size:1.02rem;line-height:1.3}\n"
	"figcaption{font-size:.88rem;line-height:1.4;margin-bottom:.6rem}\n"
	".scroll{overflow-x:auto}\n"
	"table{border-collapse:collapse;width:100%;font-size:.86rem;"
	"font-variant-numeric:tabular-nums}\n"
	"th,td{padding:.32rem .6rem;text-align:right;white-space:nowrap;border-bottom:1px solid "
	"var(--line);font-weight:400}\n"
	"thead th{font-weight:500;vertical-align:bottom}\n"
	"tr>:first-child{text-align:left}\n"
	"tbody th{font-weight:500;position:sticky;left:0;background:var(--card)}\n"
	"tbody tr:last-child>*{border-bottom:0}\n"
	"small{color:var(--muted);font-size:.85em}\n"
	"td b{color:var(--accent)}\n"
	".box{background:var(--card);border:1px solid var(--line);border-radius:12px;"
	"padding:.4rem .6rem;margin-top:.8rem}\n"
	".ways{min-width:52rem;table-layout:fixed}\n"
	".ways th,.ways td{white-space:normal;text-align:left;vertical-align:top;width:21.5%}\n"
	".ways tr>:first-child{width:14%}\n"
	".ways thead th{color:var(--fg);font-weight:600;font-size:.95rem}\n"
	".ways small{display:block}\n"
	"details{margin-top:.6rem;font-size:.9rem}\n"
	"summary{cursor:pointer;color:var(--muted)}\n"
	"dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:.8rem 0}\n"
	"dt{color:var(--muted)}dd{margin:0;overflow-wrap:anywhere}\n"
	"@media(max-width:36rem){main{padding:1.4rem .6rem 3rem}dl{grid-template-columns:1fr}"
	"dd{margin-bottom:.4rem}figure{padding:.8rem .5rem}.advice{padding:.5rem .8rem}"
	"h1{font-size:1.55rem}.ways tr>:first-child{width:6.5rem}"
	"th,td{padding:.32rem .4rem}}\n"
	"@media print{figure,tr{break-inside:avoid}body{background:none}}\n" PLOT_STYLE
	"svg.mark{display:inline-block;width:14px;height:12px;margin-right:.45em;"
	"vertical-align:-1px}\n";

static void out_colours(struct report *r, bool dark)
{
	size_t i;

	out(r, ":root{%s",
	    dark ? "--bg:#0d1117;--fg:#e6edf3;--muted:#9198a1;--line:#343c47;"
		   "--card:#151b23;--accent:#6ea8fe;" :
		   "--bg:#f6f8fa;--fg:#1f2328;--muted:#59636e;--line:#dde2e8;"
		   "--card:#ffffff;--accent:#0b57d0;");
	for (i = 0; i < r->data->count; i++)
		out(r, "--c%u:%s;", r->data->scheme[i].colour,
		    dark ? r->data->scheme[i].style->dark : r->data->scheme[i].style->light);
	out_way_colours(r, dark);
	out_lock_colours(r, dark);
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

/* ---- the page -------------------------------------------------------------------------------- */

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
	snprintf(text, sizeof(text), "%u of %u CPUs (%u core%s, %u socket%s), %s", m->cpus_allowed,
		 m->cpus_online, m->cores, m->cores == 1 ? "" : "s", m->sockets,
		 m->sockets == 1 ? "" : "s", m->cpu_model);
	out_term(r, "machine", text);
	snprintf(text, sizeof(text), "%s, virtualised: %s, governor: %s", m->kernel, m->hypervisor,
		 m->governor);
	out_term(r, "system", text);
	snprintf(text, sizeof(text), "lull %s (fence strategy %s)%s%s, %s", lull_version(),
		 m->fence, *peers_versions() ? ", " : "", peers_versions(), m->compiler);
	out_term(r, "software", text);
	out_term(r, "keys", r->data->keys);
	snprintf(text, sizeof(text), "%s, in %.0f s", r->data->when, r->data->took_seconds);
	out_term(r, "measured", text);
	out(r, "<dt>again</dt><dd><code>");
	out_text(r, r->data->command);
	out(r, "</code></dd>\n</dl>\n");
}

/* Write what to do, and what would change that; see choose_for_words(). */
static void out_verdict(struct report *r)
{
	const struct compare *data = r->data;
	size_t head = data->nr_answers < CHOOSE_HEADLINES ? data->nr_answers : CHOOSE_HEADLINES;

	out(r, "<div class=\"head\">\n");
	out_lines(r, data->answer, head);
	out(r, "</div>\n");
	if (data->nr_answers > head) {
		out(r, "<h2>What would change the answer</h2>\n");
		out_lines(r, data->answer + head, data->nr_answers - head);
	}
	out(r, "<p class=\"muted\">");
	out_text(r, data->workload);
	out(r, "</p>\n");
	if (data->left_out) {
		char *line = options_printf(COMPARE_LEFT_OUT, data->left_out);

		out(r, "<p>");
		out_text(r, line);
		out(r, "</p>\n");
		free(line);
	}
}

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
	    "Figures are medians, with minimum and maximum. Threads are pinned: one to each core "
	    "of the first socket, then to the next socket, then to what is left of each core. A "
	    "slice of lookups in which a thread was preempted is repeated; with updates every "
	    "slice counts, because some libraries free memory on a thread of their own. Memory "
	    "that waits is counted in elements. What is called a prediction was not measured. "
	    "Threads that want a lock are not pinned; a slice that other programs disturbed is "
	    "repeated. <code>lull hashscale</code>, <code>refscale</code>, <code>rcuscale</code>, "
	    "<code>tradeoff</code> and <code>mutexscale</code> give the same figures in more "
	    "detail.</p>\n");
}

void report_write(struct report *r, const struct compare *data)
{
	r->data = data;
	out_head(r);
	out(r, "<h1>Which protection to use</h1>\n"
	       "<p class=\"muted\">Readers use shared objects while updaters replace them: with "
	       "locks, counts, sequence numbers, RCU or hazard pointers.</p>\n");
	out_verdict(r);
	out_machine(r);
	out_foot_table(r);
	out_way_pictures(r);
	out_figures(r);
	out_latencies(r);
	out_locks(r);
	out_decision(r);
	out_method(r);
	out(r, "</main>\n</body>\n</html>\n");
	finish(r);
}
