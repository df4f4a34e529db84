/* SPDX-License-Identifier: MIT */
/* The report's table of all schemes: what each costs, in every respect. */
#include <string.h>

#include "common/figures.h"
#include "common/units.h"
#include "report/page.h"

static const struct compare_scheme *unprotected(const struct compare *data)
{
	size_t i;

	for (i = 0; i < data->count; i++)
		if (!strcmp(data->scheme[i].name, "none"))
			return &data->scheme[i];
	return NULL;
}

static void out_times_none(struct report *r, const struct bench_stat *s,
			   const struct compare_scheme *none)
{
	double times = none && none->read[0].count ? s->median / none->read[0].median : 0;

	if (times > 0 && s->count)
		out(r, "<td>%.*f</td>", units_decimals(times), times);
	else
		out(r, "<td>n/a</td>");
}

static void out_rows(struct report *r)
{
	const struct compare_scheme *none = unprotected(r->data);
	size_t i;

	for (i = 0; i < r->data->count; i++) {
		const struct compare_scheme *s = &r->data->scheme[i];

		out_name(r, s);
		out_stat(r, &s->read[0], false);
		out_stat(r, &s->read[1], false);
		out_times_none(r, &s->read[0], none);
		out_time(r, &s->update, s->update.p50);
		out_time(r, &s->update, s->update.p99);
		out_size(r, s->defers ? s->waiting_bytes : -1);
		out_size(r, s->object_bytes);
		out_size(r, s->thread_bytes);
		out(r, "<td>");
		out_text(r, s->may_block ? s->holds_up : "must not sleep");
		out(r, "</td></tr>\n");
	}
}

void out_decision(struct report *r)
{
	size_t i;

	out(r, "<h2>Every scheme, every figure</h2>\n"
	       "<div class=\"box scroll\" tabindex=\"0\"><table>\n"
	       "<thead><tr><th>scheme</th><th>ns per read,<br>1 thread</th><th>2 threads</th><th>"
	       "x unprotected</th><th>update,<br>median</th><th>update,<br>99 %%</th><th>memory "
	       "that<br>waits, at most</th><th>bytes per<br>object</th><th>bytes per<br>"
	       "thread</th><th>held up by a reader<br>that sleeps</th></tr>"
	       "</thead>\n"
	       "<tbody>\n");
	out_rows(r);
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
