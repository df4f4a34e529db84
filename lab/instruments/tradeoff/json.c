/* SPDX-License-Identifier: MIT */
/* lull tradeoff: its results as JSON, written and read again. */
#include <string.h>

#include "instruments/tradeoff/tradeoff.h"

static const char *const axis_names[CHOOSE_AXES] = { "updates", "hold", "objects" };

/* ---- written --------------------------------------------------------------------------------- */

static void write_mix(struct jsonout *json, const struct tradeoff *t,
		      const struct tradeoff_result *s, enum choose_axis axis, size_t point)
{
	double value[CHOOSE_AXES] = { t->updates, t->hold_ns, t->objects };
	const struct tradeoff_point *p = &s->mix[axis][point];
	json_t *row = jsonout_stat(json, s->name, t->mix_threads, "mix", "ns", &p->ns);
	json_t *rounds = json_array();
	size_t i;

	value[axis] = t->value[axis][point];
	jsonout_set(row, "axis", json_string(axis_names[axis]));
	jsonout_set(row, "point", json_integer((json_int_t)point));
	jsonout_set(row, "updates", json_real(value[CHOOSE_UPDATES]));
	jsonout_set(row, "hold_ns", json_real(value[CHOOSE_HOLD]));
	jsonout_set(row, "objects", json_real(value[CHOOSE_OBJECTS]));
	jsonout_set(row, "waiting_bytes", json_real(p->waiting));
	for (i = 0; i < p->rounds.count; i++)
		json_array_append_new(rounds, json_real(p->rounds.ns[i]));
	jsonout_set(row, "rounds", rounds);
}

static void write_keeping(struct jsonout *json, const struct tradeoff_result *s)
{
	json_t *row;

	jsonout_stat(json, s->name, 1, "object_bytes", "bytes", &s->object_bytes);
	jsonout_stat(json, s->name, 1, "thread_bytes", "bytes", &s->thread_bytes);
	jsonout_latency(json, s->name, 1, "hold_update", &s->update);
	jsonout_latency(json, s->name, 1, "hold_wait", &s->wait);
	jsonout_stat(json, s->name, 1, "hold_waiting", "objects", &s->waiting);
	jsonout_stat(json, s->name, 1, "hold_waiting_bytes", "bytes", &s->waiting_bytes);
	row = jsonout_stat(json, s->name, 1, "walk_restarts", "per million steps", &s->restarts);
	jsonout_set(row, "steps", json_real(s->steps));
	jsonout_set(row, "deletions", json_real(s->deletions));
	jsonout_stat(json, s->name, 1, "walk_steps_again", "per million steps", &s->steps_again);
}

static void write_scheme(struct jsonout *json, const struct tradeoff *t,
			 const struct tradeoff_result *s)
{
	size_t i, j;

	for (i = 0; i < t->nr_threads; i++)
		if (s->read[i].count)
			jsonout_stat(json, s->name, t->threads[i], "get_put", "ns", &s->read[i]);
	if (!s->is_lock)
		write_keeping(json, s);
	for (i = 0; i < CHOOSE_AXES; i++)
		for (j = 0; j < t->values[i]; j++)
			write_mix(json, t, s, (enum choose_axis)i, j);
}

static json_t *settings(const struct tradeoff *t)
{
	json_t *to = json_object(), *axis, *list;
	size_t i, j;

	json_object_set_new(to, "updates", json_real(t->updates));
	json_object_set_new(to, "hold_ns", json_real(t->hold_ns));
	json_object_set_new(to, "objects", json_real(t->objects));
	json_object_set_new(to, "size", json_real(t->size));
	json_object_set_new(to, "block", json_boolean(t->block));
	json_object_set_new(to, "threads", json_integer(t->mix_threads));
	json_object_set_new(to, "others_cpus", json_real(t->others_cpus));
	json_object_set_new(to, "slow_ns", json_real(t->slow_ns));
	json_object_set_new(to, "update_rate", json_real(t->update_rate));
	json_object_set_new(to, "list", json_integer(t->list));
	axis = json_object();
	for (i = 0; i < CHOOSE_AXES; i++) {
		list = json_array();
		for (j = 0; j < t->values[i]; j++)
			json_array_append_new(list, json_real(t->value[i][j]));
		json_object_set_new(axis, axis_names[i], list);
	}
	json_object_set_new(to, "points", axis);
	return to;
}

void tradeoff_write_json(struct jsonout *json, const struct tradeoff *t)
{
	json_t *root = jsonout_root(json), *schemes, *one;
	size_t i;

	if (!root)
		return;
	json_object_set_new(root, "workload", settings(t));
	schemes = json_array();
	for (i = 0; i < t->count; i++) {
		const struct tradeoff_result *s = &t->scheme[i];

		one = json_object();
		json_object_set_new(one, "scheme", json_string(s->name));
		json_object_set_new(one, "title", json_string(s->title));
		json_object_set_new(one, "what", json_string(s->what));
		json_object_set_new(one, "said", json_string(s->said));
		json_object_set_new(one, "header", s->header ? json_string(s->header) : json_null());
		json_object_set_new(one, "is_lock", json_boolean(s->is_lock));
		json_object_set_new(one, "unbounded", json_boolean(s->unbounded));
		json_object_set_new(one, "effort", json_integer(s->effort));
		json_object_set_new(one, "may_not_block",
				    s->may_not_block ? json_string(s->may_not_block) :
						       json_null());
		json_array_append_new(schemes, one);
		write_scheme(json, t, s);
	}
	json_object_set_new(root, "schemes", schemes);
}

/* ---- read ------------------------------------------------------------------------------------ */

static void read_get_put(struct tradeoff *t, struct tradeoff_result *s, const json_t *row)
{
	unsigned threads = (unsigned)jsonin_number(row, "threads");
	size_t i;

	for (i = 0; i < t->nr_threads && t->threads[i] != threads; i++)
		;
	if (i == TRADEOFF_THREADS_MAX)
		return;
	if (i == t->nr_threads)
		t->threads[t->nr_threads++] = threads;
	s->read[i] = jsonin_stat(row);
}

static void read_point(struct tradeoff_point *p, const json_t *row)
{
	const json_t *list = json_object_get(row, "rounds");
	size_t i;

	p->ns = jsonin_stat(row);
	p->waiting = jsonin_number(row, "waiting_bytes");
	p->rounds.count = 0;
	for (i = 0; i < json_array_size(list) && i < CHOOSE_ROUNDS_MAX; i++)
		p->rounds.ns[p->rounds.count++] = json_number_value(json_array_get(list, i));
}

static void read_mix(struct tradeoff *t, struct tradeoff_result *s, const json_t *row)
{
	const char *name = json_string_value(json_object_get(row, "axis"));
	size_t point = (size_t)jsonin_number(row, "point"), axis;

	for (axis = 0; axis < CHOOSE_AXES; axis++)
		if (name && !strcmp(axis_names[axis], name) && point < t->values[axis])
			read_point(&s->mix[axis][point], row);
}

static void read_row(struct tradeoff *t, struct tradeoff_result *s, const json_t *row)
{
	const char *metric = json_string_value(json_object_get(row, "metric"));

	if (!strcmp(metric, "get_put")) {
		read_get_put(t, s, row);
	} else if (!strcmp(metric, "object_bytes")) {
		s->object_bytes = jsonin_stat(row);
	} else if (!strcmp(metric, "thread_bytes")) {
		s->thread_bytes = jsonin_stat(row);
	} else if (!strcmp(metric, "hold_update")) {
		s->update = jsonin_latency(row);
	} else if (!strcmp(metric, "hold_wait")) {
		s->wait = jsonin_latency(row);
	} else if (!strcmp(metric, "hold_waiting")) {
		s->waiting = jsonin_stat(row);
	} else if (!strcmp(metric, "hold_waiting_bytes")) {
		s->waiting_bytes = jsonin_stat(row);
	} else if (!strcmp(metric, "walk_restarts")) {
		s->restarts = jsonin_stat(row);
		s->steps = jsonin_number(row, "steps");
		s->deletions = jsonin_number(row, "deletions");
	} else if (!strcmp(metric, "walk_steps_again")) {
		s->steps_again = jsonin_stat(row);
	} else {
		read_mix(t, s, row);
	}
}

static void read_settings(struct tradeoff *t, const json_t *from)
{
	const double own[CHOOSE_AXES] = { jsonin_number(from, "updates"), jsonin_number(from, "hold_ns"),
					  jsonin_number(from, "objects") };
	const json_t *list;
	size_t i, j;

	t->updates = own[CHOOSE_UPDATES];
	t->hold_ns = own[CHOOSE_HOLD];
	t->objects = own[CHOOSE_OBJECTS];
	t->size = jsonin_number(from, "size");
	t->block = json_is_true(json_object_get(from, "block"));
	t->mix_threads = (unsigned)jsonin_number(from, "threads");
	t->others_cpus = jsonin_number(from, "others_cpus");
	t->slow_ns = jsonin_number(from, "slow_ns");
	t->update_rate = jsonin_number(from, "update_rate");
	t->list = (unsigned)jsonin_number(from, "list");
	for (i = 0; i < CHOOSE_AXES; i++) {
		list = json_object_get(json_object_get(from, "points"), axis_names[i]);
		for (j = 0; j < json_array_size(list) && j < CHOOSE_POINTS_MAX; j++) {
			t->value[i][j] = json_number_value(json_array_get(list, j));
			if (t->value[i][j] == own[i])
				t->at[i] = j;
		}
		t->values[i] = j;
	}
}

void tradeoff_read_json(const json_t *root, struct tradeoff *t)
{
	const json_t *one, *row;
	size_t i, j;

	memset(t, 0, sizeof(*t));
	read_settings(t, json_object_get(root, "workload"));
	json_array_foreach(json_object_get(root, "schemes"), i, one)
	{
		struct tradeoff_result *s = &t->scheme[t->count];

		if (t->count++ == TRADEOFF_SCHEMES)
			return;
		s->name = json_string_value(json_object_get(one, "scheme"));
		s->title = json_string_value(json_object_get(one, "title"));
		s->what = json_string_value(json_object_get(one, "what"));
		s->said = jsonin_text(one, "said");
		s->header = json_string_value(json_object_get(one, "header"));
		s->is_lock = json_is_true(json_object_get(one, "is_lock"));
		s->unbounded = json_is_true(json_object_get(one, "unbounded"));
		s->effort = (unsigned)jsonin_number(one, "effort");
		s->may_not_block = json_string_value(json_object_get(one, "may_not_block"));
		json_array_foreach(json_object_get(root, "results"), j, row)
		{
			if (!strcmp(json_string_value(json_object_get(row, "scheme")), s->name))
				read_row(t, s, row);
		}
	}
}
