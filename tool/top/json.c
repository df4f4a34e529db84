/* SPDX-License-Identifier: MIT */
/* lull top --json: a sample as one line of JSON. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include <lull/debug.h>

#include "top/top.h"

#define MEMBERS 17u /* of the line; one that is not there is missing for lack of memory */

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

/* JSON ends where the numbers of its readers end. */
static json_t *count(uint64_t value)
{
	return value > INT64_MAX ? json_null() : json_integer((json_int_t)value);
}

/* Replace what is no UTF-8, and so no JSON string, and DEL, the one control character that JSON does not escape. */
static json_t *text(const char *from)
{
	json_t *string = strchr(from, '\177') ? NULL : json_string(from);
	char copy[128];

	if (string)
		return string;
	snprintf(copy, sizeof(copy), "%s", from);
	top_clean(copy);
	return json_string(copy);
}

static json_t *number(bool known, double value)
{
	return known ? json_real(value) : json_null();
}

static json_t *rates(const struct top_view *view)
{
	json_t *all = json_object();
	unsigned i;

	for (i = 0; i < TOP_COUNTERS; i++)
		set(all, top_counters[i].key, number(view->rate[i].known, view->rate[i].per_s));
	return all;
}

static json_t *totals(const struct top_view *view)
{
	json_t *all = json_object();
	unsigned i;

	for (i = 0; i < TOP_COUNTERS; i++)
		set(all, top_counters[i].key, count(view->total[i]));
	return all;
}

/* "max" where it is known, and always a time that none was longer than. */
static json_t *latency(const struct top_latency *l)
{
	json_t *told = l->known ? json_object() : json_null();

	if (!l->known)
		return told;
	set(told, "count", count(l->count));
	set(told, "mean", number(l->timed, l->mean));
	set(told, "p50", number(l->timed, l->p50));
	set(told, "p99", number(l->timed, l->p99));
	set(told, "max", number(l->timed && l->max_exact, l->max));
	set(told, "at_most", number(l->timed, l->max));
	return told;
}

static json_t *latencies(const struct top_view *view)
{
	json_t *told = json_object();

	set(told, "lately", latency(&view->lately));
	set(told, "ever", latency(&view->ever));
	return told;
}

static json_t *backlog(const struct top_backlog *b)
{
	json_t *told = json_object();

	set(told, "now", count(b->now));
	set(told, "peak", count(b->peak));
	set(told, "hard_limit", b->hard ? count(b->hard) : json_null());
	return told;
}

static json_t *backlogs(const struct top_view *view)
{
	json_t *told = json_object();

	set(told, "items", backlog(&view->items));
	set(told, "bytes", backlog(&view->bytes));
	return told;
}

static json_t *thread(const struct top_thread *t)
{
	json_t *told = t->tid ? json_object() : json_null();

	if (!t->tid)
		return told;
	set(told, "tid", count(t->tid));
	set(told, "name", text(t->name));
	set(told, "state", text(top_state_name(t)));
	set(told, "where", text(t->where));
	return told;
}

static json_t *one_wait(const struct top_wait *w)
{
	json_t *told = json_object();

	set(told, "kind", text(lull_wait_kind_name(w->kind)));
	set(told, "waiter", thread(&w->waiter));
	set(told, "holder", thread(&w->holder));
	set(told, "holders", count(w->holders));
	set(told, "depth", count(w->depth));
	set(told, "seconds", number(w->age_known, (double)w->age_ns / 1e9));
	set(told, "site", w->site_name[0] ? text(w->site_name) : json_null());
	return told;
}

static json_t *waits(const struct top_view *view)
{
	json_t *all = json_array();
	unsigned i;

	for (i = 0; i < view->nr_waits; i++)
		json_array_append_new(all, one_wait(&view->waits[i]));
	return all;
}

void top_need_json(void)
{
}

char *top_told(const struct top_view *view)
{
	const size_t flags = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9);
	json_t *root = json_object();
	char *line;

	set(root, "tool", text("top"));
	set(root, "version", text(lull_version()));
	set(root, "pid", count(view->pid));
	set(root, "command", text(view->command));
	set(root, "began_ns", count(view->began_ns));
	set(root, "up_seconds", number(view->up_known, view->up_s));
	set(root, "seconds", number(true, view->seconds));
	set(root, "threads", count(view->threads));
	set(root, "fence", text(top_fence_name(view->fence)));
	set(root, "debug", json_boolean(view->debug));
	set(root, "per_second", rates(view));
	set(root, "total", totals(view));
	set(root, "gp_latency_ns", latencies(view));
	set(root, "waiting", backlogs(view));
	set(root, "slots_in_use", count(view->slots_in_use));
	set(root, "kept", count(view->kept));
	set(root, "waits", waits(view));
	line = json_object_size(root) == MEMBERS ? json_dumps(root, flags) : NULL;
	json_decref(root);
	return line;
}
