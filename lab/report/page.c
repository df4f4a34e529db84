/* SPDX-License-Identifier: MIT */
/* The pieces that the parts of the report are made of: text, cells, figures; see page.h. */
#include "report/page.h"

#include <stdarg.h>

#include "common/units.h"

void out(struct report *r, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vfprintf(r->file, format, ap);
	va_end(ap);
}

void out_text(struct report *r, const char *text)
{
	plot_text(r->file, text);
}

void out_label(struct report *r, const char *label, unsigned colour, unsigned mark)
{
	out(r, "<tr><th scope=\"row\">");
	plot_mark(r->file, mark, colour);
	out_text(r, label);
	out(r, "</th>");
}

void out_name(struct report *r, const struct compare_scheme *s)
{
	out_label(r, s->name, s->colour, s->style->point);
}

void out_stat(struct report *r, const struct bench_stat *s, bool best)
{
	int d = units_decimals(s->median);

	if (!s->count)
		out(r, "<td>n/a</td>");
	else
		out(r, "<td>%s%.*f%s <small>%.*f..%.*f</small></td>", best ? "<b>" : "", d,
		    s->median, best ? "</b>" : "", d, s->min, d, s->max);
}

void out_time(struct report *r, const struct bench_latency *l, double ns)
{
	out(r, "<td>%s</td>", units_time(l->count ? ns : -1).text);
}

void out_size(struct report *r, double bytes)
{
	out(r, "<td>%s</td>", units_bytes(bytes).text);
}

void begin_figure(struct report *r, const char *title, const char *caption)
{
	out(r, "<figure>\n<h3>");
	out_text(r, title);
	out(r, "</h3>\n<figcaption>");
	out_text(r, caption);
	out(r, "</figcaption>\n");
}

void begin_numbers(struct report *r)
{
	out(r, "<details><summary>The numbers</summary><div class=\"scroll\" tabindex=\"0\">"
	       "<table>\n");
}

void end_figure(struct report *r)
{
	out(r, "</tbody></table></div></details>\n</figure>\n");
}

void out_lines(struct report *r, const char (*line)[CHOOSE_LINE], size_t count)
{
	size_t i;

	if (!count)
		return;
	out(r, "<div class=\"advice\">\n");
	for (i = 0; i < count; i++) {
		out(r, "<p>");
		out_text(r, line[i]);
		out(r, "</p>\n");
	}
	out(r, "</div>\n");
}
