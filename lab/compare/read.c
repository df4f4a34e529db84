/* SPDX-License-Identifier: MIT */
/* lull compare: what the instruments have found out, read from their JSON. */
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/options.h"
#include "compare/compare.h"
#include "compare/instrument.h"

/* Colours that stay apart for who sees few, in each picture; marks that do without them. */
static const struct compare_style styles[] = {
	{ "none", COMPARE_UNPROTECTED, 1, "#8a8f98", "#8b949e" },
	{ "rcu", COMPARE_DEFERRED, 7, "#0b57d0", "#6ea8fe" },
	{ "rcu-qsbr", COMPARE_DEFERRED, 9, "#5b8def", "#b3cdff" },
	{ "lull-hash", COMPARE_DEFERRED, 5, "#00869b", "#39c5d8" },
	{ "hazptr", COMPARE_DEFERRED, 13, "#007a5a", "#4fd1a5" },
	{ "hazptr-fenced", COMPARE_DEFERRED, 11, "#1f6f8f", "#7fc4de" },
	{ "hazptr-rcu", COMPARE_DEFERRED, 12, "#3f8f7f", "#8fdcc8" },
	{ "shazptr", COMPARE_DEFERRED, 8, "#1c7ed6", "#4dabf7" },
	{ "seqlock", COMPARE_LOCK, 2, "#3a7d00", "#9bd35a" },
	{ "brlock", COMPARE_LOCK, 4, "#8a6d00", "#d8b83a" },
	{ "spinlock", COMPARE_LOCK, 6, "#6e40c9", "#b79bff" },
	{ "mutex", COMPARE_LOCK, 8, "#57606a", "#9aa4af" },
	{ "rwlock", COMPARE_LOCK, 10, "#7a4a2b", "#d9a06f" },
	{ "percpu_rwsem", COMPARE_LOCK, 3, "#9c5f2e", "#e3b587" },
	{ "refcount", COMPARE_LOCK, 5, "#c8470a", "#ff9466" },
	{ "refcount-lock", COMPARE_LOCK, 12, "#a3261f", "#ff8a80" },
	{ "percpu_ref", COMPARE_DEFERRED, 4, "#b0417f", "#f29ac6" },
	{ "liburcu-memb", COMPARE_DEFERRED, 7, "#1a7f37", "#56d364" },
	{ "liburcu-mb", COMPARE_DEFERRED, 8, "#2da44e", "#7ee787" },
	{ "liburcu-qsbr", COMPARE_DEFERRED, 9, "#0f5323", "#a3f0b1" },
	{ "liburcu-bp", COMPARE_DEFERRED, 10, "#57ab5a", "#3fb950" },
	{ "liburcu-lfht", COMPARE_DEFERRED, 5, "#6a9a1f", "#b4d76b" },
	{ "ck-brlock", COMPARE_LOCK, 4, "#9a5b00", "#f0c36d" },
	{ "ck-epoch", COMPARE_DEFERRED, 7, "#8250df", "#d2a8ff" },
	{ "ck-ht", COMPARE_DEFERRED, 5, "#5a32a3", "#b083f0" },
	{ "cxx-hash_map", COMPARE_DEFERRED, 3, "#00838f", "#4dd0e1" },
	{ "unordered_map", COMPARE_LOCK, 9, "#6d4c41", "#bcaaa4" },
	{ "unordered_map-shared_ptr", COMPARE_LOCK, 11, "#ad1457", "#f48fb1" },
	{ "papaya", COMPARE_DEFERRED, 5, "#b5541c", "#f0a875" },
	{ "flurry", COMPARE_DEFERRED, 8, "#8f3d0f", "#e08a50" },
	{ "scc-index", COMPARE_DEFERRED, 9, "#d07a3f", "#ffc9a0" },
};

static const struct compare_style plain_style = { "", COMPARE_UNPROTECTED, 1, "#57606a", "#8b949e" };

struct compare_scheme *compare_find_scheme(struct compare *data, const char *name)
{
	size_t i;

	for (i = 0; i < data->count; i++)
		if (!strcmp(data->scheme[i].name, name))
			return &data->scheme[i];
	return NULL;
}

static size_t index_of(const unsigned *list, size_t count, double value)
{
	size_t i;

	for (i = 0; i < count && list[i] != value; i++)
		;
	return i;
}

static const struct compare_style *find_style(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(styles) / sizeof(styles[0]); i++)
		if (!strcmp(styles[i].name, name))
			return &styles[i];
	return &plain_style;
}

void compare_read_schemes(struct compare *data, const json_t *root)
{
	const json_t *list = json_object_get(root, "schemes"), *one;
	size_t i;

	data->count = json_array_size(list);
	data->scheme = options_alloc(data->count, sizeof(*data->scheme));
	json_array_foreach(list, i, one)
	{
		struct compare_scheme *s = &data->scheme[i];

		s->name = jsonin_text(one, "scheme");
		s->what = jsonin_text(one, "what");
		s->holds_up = jsonin_text(one, "holds_up");
		s->style = find_style(s->name);
		s->colour = (unsigned)i + 1;
		s->own_section = !strcmp(jsonin_text(one, "section"), s->name);
		s->may_block = json_is_true(json_object_get(one, "reader_may_block"));
		s->defers = json_is_true(json_object_get(one, "defers"));
		s->object_bytes = jsonin_number(one, "bytes_per_object");
		s->thread_bytes = jsonin_number(one, "bytes_per_thread");
		s->waiting_bytes = -1;
	}
}

void compare_read_keys(struct compare *data, const json_t *root)
{
	const json_t *keys = json_object_get(root, "keys");
	const char *source = jsonin_text(keys, "source");
	double elements = jsonin_number(keys, "elements"), buckets = jsonin_number(keys, "buckets");

	if (*source)
		data->keys =
			options_printf("%.0f keys from %s, %.1f bytes on average, in %.0f buckets",
				       elements, source, jsonin_number(keys, "bytes") / elements, buckets);
	else
		data->keys = options_printf("%.0f integers in %.0f buckets", elements, buckets);
}

void compare_read_lookups(struct compare *data, const json_t *root)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(root, "results"), i, row)
	{
		struct compare_scheme *s = compare_find_scheme(data, jsonin_text(row, "scheme"));
		size_t at = index_of(data->threads, data->nr_threads, jsonin_number(row, "threads"));

		if (s && at < data->nr_threads && !strcmp(jsonin_text(row, "metric"), "operations"))
			s->lookups[at] = jsonin_stat(row);
	}
}

/* The hardware's count; count 0: there is none. */
static struct bench_stat counted(const json_t *row, const char *key)
{
	double value = jsonin_number(row, key);

	return (struct bench_stat){ value, value, value, json_is_number(json_object_get(row, key)) };
}

void compare_read_mixed(struct compare *data, const json_t *root)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(root, "results"), i, row)
	{
		struct compare_scheme *s = compare_find_scheme(data, jsonin_text(row, "scheme"));
		const char *metric = jsonin_text(row, "metric");
		size_t at =
			index_of(data->percent, data->nr_percents, jsonin_number(row, "update_percent"));

		if (!s)
			continue;
		if (!strcmp(metric, "operations") && at < data->nr_percents) {
			s->mixed[at] = jsonin_stat(row);
			s->cpu_ns[at] = jsonin_number(row, "cpu_ns");
			s->cycles[at] = counted(row, "cycles");
			s->instructions[at] = counted(row, "instructions");
		} else if (!strcmp(metric, "update")) {
			s->update = jsonin_latency(row);
		}
		if (jsonin_number(row, "deferred_bytes") > s->waiting_bytes)
			s->waiting_bytes = jsonin_number(row, "deferred_bytes");
	}
}

/* The name of the read section that a scheme is made of, in the other instruments. */
static const char *section_of(const json_t *hashscale, const char *scheme)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(hashscale, "schemes"), i,
			   one) if (!strcmp(jsonin_text(one, "scheme"), scheme)) return jsonin_text(one,
										      "section");
	return "";
}

void compare_leave_out(struct compare *data, const char *separator, const char *name)
{
	data->left_out = data->left_out ? compare_append(compare_append(data->left_out, separator), name)
					: options_printf("%s", name);
}

void compare_read_left_out(struct compare *data, const json_t *root, const char *part)
{
	const json_t *list = json_object_get(root, "left_out"), *name;
	char *of = options_printf("of %s: ", part);
	size_t i;

	if (json_array_size(list))
		compare_leave_out(data, "; ", of);
	json_array_foreach(list, i, name)
		compare_leave_out(data, i ? ", " : "", json_string_value(name));
	free(of);
}

void compare_read_sections(struct compare *data, const json_t *root, const json_t *hashscale)
{
	const json_t *row;
	size_t i, j;

	json_array_foreach(json_object_get(root, "results"), i, row)
	{
		unsigned threads = (unsigned)jsonin_number(row, "threads");

		if (threads < 1 || threads > 2 || strcmp(jsonin_text(row, "metric"), "read_section"))
			continue;
		for (j = 0; j < data->count; j++)
			if (!strcmp(section_of(hashscale, data->scheme[j].name),
				    jsonin_text(row, "scheme")))
				data->scheme[j].read[threads - 1] = jsonin_stat(row);
	}
}

/* Each name once: "none,rcu,..." of all schemes, or of those whose updaters defer or wait. */
char *compare_sections(const struct compare *data, const json_t *hashscale, bool deferring)
{
	char *list = options_printf("%s", "");
	size_t i, j;

	for (i = 0; i < data->count; i++) {
		const char *section = section_of(hashscale, data->scheme[i].name);

		if (deferring && !data->scheme[i].defers &&
		    data->scheme[i].style->family != COMPARE_DEFERRED)
			continue;
		for (j = 0; j < i && strcmp(section_of(hashscale, data->scheme[j].name), section);
		     j++)
			;
		if (j == i)
			list = compare_append(compare_append(list, *list ? "," : ""), section);
	}
	return list;
}

static void read_wait(struct compare_scheme *s, const json_t *row)
{
	size_t i;

	for (i = 0; i < COMPARE_WAITS_MAX; i++)
		if (!strcmp(compare_waits[i].metric, jsonin_text(row, "metric")))
			s->wait[i] = jsonin_latency(row);
}

/* Kills belong to no scheme: the ways that are compared count or defer, this is the end of a count. */
static void read_kill(struct compare *data, const json_t *row)
{
	const char *metric = jsonin_text(row, "metric");
	bool bare = !strcmp(jsonin_text(row, "scheme"), "membarrier");
	size_t at = !strcmp(metric, "kill_busy");

	if (at || !strcmp(metric, "kill_idle"))
		*(bare ? &data->membarrier[at] : &data->kill[at]) = jsonin_latency(row);
}

/* "replace_free_idle": how it is retired, and beside what. */
static void read_replace(struct compare *data, const struct compare_scheme *s, const json_t *row)
{
	struct compare_replace *r = data->replace, *end = r + data->nr_replaces;
	char way[16], beside[16];
	size_t at;

	if (sscanf(jsonin_text(row, "metric"), "replace_%15[^_]_%15s", way, beside) != 2)
		return;
	at = !strcmp(beside, "busy");
	if (!at && strcmp(beside, "idle"))
		return;
	while (r < end && (r->scheme != s || strcmp(r->way, way)))
		r++;
	if (r == end && data->nr_replaces++ == COMPARE_REPLACES_MAX)
		options_fail("rcuscale has more to say than there is room for");
	r->scheme = s;
	memcpy(r->way, way, sizeof(way));
	r->ns[at] = jsonin_stat(row);
	r->peak[at] = jsonin_number(row, "peak_objects");
}

void compare_read_waits(struct compare *data, const json_t *root)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(root, "results"), i, row)
	{
		struct compare_scheme *s = compare_find_scheme(data, jsonin_text(row, "scheme"));

		read_kill(data, row);
		if (!s)
			continue;
		read_wait(s, row);
		read_replace(data, s, row);
	}
}
