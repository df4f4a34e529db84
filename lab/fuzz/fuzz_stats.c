/* SPDX-License-Identifier: MIT */
/*
 * fuzz_stats.c - what lull top makes of a stats page (tool/top/): whatever is on it, and
 * whatever the threads' names are, it is refused or shown, in printable characters and with figures
 * that can be.
 *
 * The input is some choices, the texts that /proc would give, and then the page: as it is, or as
 * changes to a page that is plausible. There are three copies of it, as there are of a process that
 * is looked at twice.
 */
#include "fuzz.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "top/top.h"

#define PID 4711u
#define SECOND UINT64_C(1000000000)
#define NOW (1000 * SECOND)
#define WORDS (sizeof(struct lull_stats_page) / sizeof(uint64_t))

struct texts {
	char comm[80], stat[80], wchan[80];
};

struct copies {
	struct top_sample before, after;
};

static void plausible(struct lull_stats_page *page)
{
	memset(page, 0, sizeof(*page));
	page->magic = LULL_STATS_MAGIC;
	page->version = LULL_STATS_VERSION;
	page->size = sizeof(*page);
	page->pid = PID;
	page->began_ns = NOW - 20 * SECOND;
	page->gp_started = page->gp_ended = 3;
	page->gp_ns[9] = page->gp_ns[39] = 1;
	page->gp_ns[20] = 1;
	page->gp_ns_sum = 1000 * SECOND;
	page->gp_ns_max = 1200 * SECOND;
	page->waits[0] = (struct lull_stats_wait){ .kind = LULL_WAIT_GP,
						   .waiter_tid = 1,
						   .tid = 2,
						   .holders = 1,
						   .since_ns = NOW - SECOND };
}

/* ---- from the input -------------------------------------------------------------------------- */

static void take_text(struct fuzz_input *input, char *to, size_t size)
{
	size_t len = fuzz_byte(input) % size, i;

	for (i = 0; i < len; i++)
		to[i] = (char)fuzz_byte(input);
	to[len] = '\0';
}

static void take_raw(struct fuzz_input *input, struct top_copy *copy)
{
	size_t len = input->left < sizeof(copy->page) ? input->left : sizeof(copy->page);

	memset(&copy->page, 0, sizeof(copy->page));
	memcpy(&copy->page, input->at, len);
	copy->len = len;
	input->at += len;
	input->left -= len;
}

static uint64_t take_value(struct fuzz_input *input)
{
	unsigned choice = fuzz_byte(input), i;
	uint64_t value = 0;

	switch (choice % 8) {
	case 0:
		return choice / 8;
	case 1:
		return UINT64_MAX - choice / 8;
	case 2:
		return (uint64_t)INT64_MAX + choice / 8;
	case 3:
		return NOW + choice / 8;
	case 4:
		return UINT64_C(1) << choice / 8;
	case 5:
		return UINT64_C(1) << 32 << choice / 8;
	default:
		break;
	}
	for (i = 0; i < sizeof(value); i++)
		value = value << 8 | fuzz_byte(input);
	return value;
}

/* Change one word in some of the copies, or the same word in all the later ones. */
static void take_change(struct fuzz_input *input, struct top_copy *const *copies)
{
	unsigned which = fuzz_byte(input), word = fuzz_byte(input) % WORDS, i;
	uint64_t value = take_value(input);

	for (i = 0; i < 3; i++)
		if (which & 1u << i)
			memcpy((char *)&copies[i]->page + word * sizeof(value), &value,
			       sizeof(value));
}

static void take_copies(struct fuzz_input *input, struct copies *c)
{
	struct top_copy *const all[] = { &c->before.again, &c->after.first, &c->after.again };
	unsigned choice = fuzz_byte(input), i;

	for (i = 0; i < 3; i++) {
		plausible(&all[i]->page);
		all[i]->len = sizeof(all[i]->page);
		all[i]->taken_ns = NOW + (i ? SECOND : 0);
		if (choice & 1u << i)
			take_raw(input, all[i]);
	}
	while (input->left)
		take_change(input, all);
	c->before.first = c->before.again;
	if (choice & 8)
		c->after.first = c->after.again;
}

/* ---- what must be so ------------------------------------------------------------------------- */

static void must_be_printable(const char *text)
{
	for (; *text; text++)
		fuzz_must(*text >= ' ' && *text <= '~');
}

static void must_be_latency(const struct top_latency *l)
{
	if (!l->known || !l->timed)
		return;
	fuzz_must(isfinite(l->mean) && isfinite(l->max) && l->mean >= 0);
	fuzz_must(l->p50 >= 0 && l->p50 <= l->p99 && l->p99 <= l->max && l->mean <= l->max);
}

/* The grace periods of a page; false: more than a number can be. */
static bool add_up(const struct lull_stats_page *page, uint64_t *sum)
{
	unsigned i;

	for (*sum = 0, i = 0; i < LULL_STATS_BUCKETS; *sum += page->gp_ns[i++])
		if (page->gp_ns[i] > UINT64_MAX - *sum)
			return false;
	return true;
}

/* No latency is said to be known of buckets that cannot be. */
static void must_be_buckets(const struct top_view *view, const struct lull_stats_page *before,
			    const struct lull_stats_page *after)
{
	const unsigned last = LULL_STATS_BUCKETS - 1;
	uint64_t sum;
	unsigned i;

	fuzz_must(!view->ever.known || add_up(after, &sum));
	if (!before || !view->lately.known || before->began_ns != after->began_ns)
		return;
	for (i = 0; i < LULL_STATS_BUCKETS; i++)
		fuzz_must(before->gp_ns[i] <= after->gp_ns[i]);
	/* It has no upper edge. */
	if (before->gp_ns[last] < after->gp_ns[last])
		fuzz_must(view->lately.max >= (double)after->gp_ns_max);
}

static void must_be_figures(const struct top_view *view)
{
	unsigned i;

	fuzz_must(view->up_s >= 0 && view->up_s <= (double)NOW / SECOND + 1);
	fuzz_must(view->seconds >= 0 && view->seconds <= (double)NOW / SECOND + 1);
	for (i = 0; i < TOP_COUNTERS; i++)
		fuzz_must(!view->rate[i].known ||
			  (isfinite(view->rate[i].per_s) && view->rate[i].per_s >= 0));
	must_be_latency(&view->lately);
	must_be_latency(&view->ever);
	fuzz_must(view->nr_waits <= LULL_STATS_WAITS);
	for (i = 1; i < view->nr_waits; i++)
		fuzz_must(view->waits[i].age_ns <= view->waits[i - 1].age_ns);
}

static void must_be_lines(const struct top_view *view, unsigned columns)
{
	static struct top_lines lines;
	unsigned i;

	top_lines(&lines, view, columns);
	/* TOP_LINES is room for any contents. */
	fuzz_must(lines.count && lines.count < TOP_LINES);
	for (i = 0; i < lines.count; i++) {
		must_be_printable(lines.text[i]);
		fuzz_must(strlen(lines.text[i]) <= columns);
	}
}

static void must_be_positive(json_t *value)
{
	const char *key;
	json_t *part;
	size_t i;

	fuzz_must(!json_is_number(value) || json_number_value(value) >= 0);
	json_object_foreach(value, key, part) must_be_positive(part);
	json_array_foreach(value, i, part) must_be_positive(part);
}

static void must_be_json(const struct top_view *view)
{
	char *line = top_told(view);
	json_t *root;

	fuzz_must(line);
	must_be_printable(line);
	root = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
	fuzz_must(root);
	must_be_positive(root);
	fuzz_must(json_array_size(json_object_get(root, "waits")) == view->nr_waits);
	json_decref(root);
	free(line);
}

/* ---- a look ---------------------------------------------------------------------------------- */

/* Fill @view as top_ask() does. */
static void ask(struct top_view *view, const struct texts *texts)
{
	unsigned i;

	snprintf(view->command, sizeof(view->command), "%s", texts->comm);
	for (i = 0; i < view->nr_waits; i++) {
		top_thread_is(&view->waits[i].waiter, texts->comm, texts->stat, texts->wchan);
		top_thread_is(&view->waits[i].holder, texts->wchan, texts->comm, NULL);
		snprintf(view->waits[i].site_name, sizeof(view->waits[i].site_name), "%s",
			 texts->stat);
	}
}

static void look(const struct top_sample *before, const struct top_sample *after,
		 const struct texts *texts, unsigned columns)
{
	static struct top_view view;

	top_figures(&view, before, after);
	top_waits(&view, after);
	must_be_figures(&view);
	must_be_buckets(&view, before ? &before->again.page : NULL, &after->again.page);
	ask(&view, texts);
	must_be_lines(&view, columns);
	must_be_json(&view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	unsigned columns = fuzz_byte(&input);
	static struct texts texts;
	static struct copies c;
	char why[128] = "";

	take_text(&input, texts.comm, sizeof(texts.comm));
	take_text(&input, texts.stat, sizeof(texts.stat));
	take_text(&input, texts.wchan, sizeof(texts.wchan));
	take_copies(&input, &c);
	if (!top_check(&c.after, PID, why, sizeof(why))) {
		fuzz_must(why[0]);
		must_be_printable(why);
		return 0;
	}
	fuzz_must(c.after.again.page.magic == LULL_STATS_MAGIC &&
		  c.after.again.page.version == LULL_STATS_VERSION);
	fuzz_must(c.after.again.len == sizeof(struct lull_stats_page) &&
		  c.after.again.page.pid == PID);
	look(NULL, &c.after, &texts, columns);
	if (top_check(&c.before, PID, why, sizeof(why)))
		look(&c.before, &c.after, &texts, columns);
	return 0;
}
