/* SPDX-License-Identifier: MIT */
/* lull compare: from the ways that were measured to the one for the workload described. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figures.h"
#include "common/options.h"
#include "common/units.h"
#include "compare/compare.h"
#include "instruments/read/predict.h"

static double at_least_none(const struct bench_stat *bytes)
{
	return bytes->count && bytes->median > 0 ? bytes->median : 0;
}

static void set_read(struct choose_way *way, const struct compare *data,
		     const struct tradeoff_result *s)
{
	const struct tradeoff *t = &data->tradeoff;
	unsigned measured = t->mix_threads;
	size_t at = 0;

	way->shared = predict_is_shared(s->name);
	while (at < t->nr_threads && t->threads[at] != measured)
		at++;
	if (at == t->nr_threads || !s->read[at].count)
		return;
	way->read_ns = s->read[at].median;
	way->read_least = s->read[at].min;
	way->read_most = s->read[at].max;
	if (data->predict > measured && measured > 1)
		way->predicted_ns = predict_read_ns(way->shared, way->read_ns, measured, data->predict);
}

static void set_way(struct choose_way *way, const struct compare *data,
		    const struct tradeoff_result *s)
{
	const struct tradeoff *t = &data->tradeoff;
	size_t i, j;

	way->name = s->name;
	way->said = s->said;
	way->header = s->header;
	way->effort = s->effort;
	way->may_not_block = s->may_not_block;
	way->unbounded = s->unbounded;
	way->object_bytes = at_least_none(&s->object_bytes);
	way->thread_bytes = at_least_none(&s->thread_bytes);
	way->wait_ns = s->wait.count ? s->wait.max : -1;
	way->held_back = s->waiting_bytes.count ? s->waiting_bytes.max : -1;
	way->memory_unknown = !s->is_lock && (!s->object_bytes.count || !s->waiting_bytes.count);
	set_read(way, data, s);
	for (i = 0; i < CHOOSE_AXES; i++)
		for (j = 0; j < t->values[i]; j++) {
			const struct tradeoff_point *p = &s->mix[i][j];

			way->point[i][j] = (struct choose_point){
				p->rounds, p->ns.count ? p->ns.median : 0, p->ns.min, p->ns.max, p->waiting
			};
		}
}

static void set_work(struct choose_work *work, const struct compare *data)
{
	const struct tradeoff *t = &data->tradeoff;

	work->updates = t->updates;
	work->hold_ns = t->hold_ns;
	work->objects = t->objects;
	work->size = t->size;
	work->block = t->block;
	work->threads = t->mix_threads;
	work->cpus = data->machine.cpus_allowed;
	work->predict = data->predict;
	work->load = t->others_cpus;
#ifdef LULL_DEBUG
	work->checked = true;
#endif
	work->seconds = data->seconds;
	work->slow_ns = t->slow_ns;
	work->update_rate = t->update_rate;
	memcpy(work->value, t->value, sizeof(work->value));
	memcpy(work->values, t->values, sizeof(work->values));
	memcpy(work->at, t->at, sizeof(work->at));
}

void compare_answer(struct compare *data)
{
	const struct tradeoff *t = &data->tradeoff;
	struct choose_way *way = options_alloc(TRADEOFF_SCHEMES, sizeof(*way));
	struct choose_work work = { .way = way, .ways = t->count };
	size_t i;

	set_work(&work, data);
	for (i = 0; i < t->count; i++)
		set_way(&way[i], data, &t->scheme[i]);
	choose_for(&work, &data->verdict);
	data->nr_answers = choose_for_words(&work, &data->verdict, data->answer);
	free(way);
	snprintf(data->workload, sizeof(data->workload),
		 "Your workload: %.3g %% updates, readers %s%s%s, %.0f object%s of %s, %u thread%s.",
		 100 * t->updates, t->hold_ns > 0 ? "hold an object for " : "look at an object",
		 t->hold_ns > 0 ? units_time(t->hold_ns).text : "",
		 !t->block ? "" : t->hold_ns > 0 ? " and sleep" : " and may sleep", t->objects,
		 t->objects == 1 ? "" : "s",
		 units_bytes(t->size).text,
		 t->mix_threads, t->mix_threads == 1 ? "" : "s");
}

static json_t *name_of(const struct compare *data, size_t way)
{
	return way == CHOOSE_NOTHING ? json_null() : json_string(data->tradeoff.scheme[way].name);
}

static json_t *names_of(const struct compare *data, const bool *marked)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < data->tradeoff.count; i++)
		if (marked[i])
			json_array_append_new(list, name_of(data, i));
	return list;
}

/* The ratio that the answer rests on; null: nothing was compared. */
static json_t *lead_json(const struct compare *data, const struct choose_pick *p)
{
	json_t *to;

	if (p->rival == CHOOSE_NOTHING)
		return json_null();
	to = json_object();
	json_object_set_new(to, "of", name_of(data, p->rival));
	json_object_set_new(to, "over", name_of(data, p->than));
	json_object_set_new(to, "low", json_real(p->lead.low));
	json_object_set_new(to, "median", json_real(p->lead.median));
	json_object_set_new(to, "high", isfinite(p->lead.high) ? json_real(p->lead.high) : json_null());
	return to;
}

json_t *compare_verdict_json(const struct compare *data)
{
	static const char *const outcomes[] = { "none", "noisy", "close", "level", "winner" };
	static const char *const axes[] = { "updates", "hold_ns", "objects" };
	const struct choose_verdict *v = &data->verdict;
	json_t *to = json_object(), *list = json_array(), *one;
	size_t i;

	json_object_set_new(to, "outcome", json_string(outcomes[v->pick.outcome]));
	json_object_set_new(to, "use", name_of(data, v->pick.best));
	json_object_set_new(to, "close", names_of(data, v->pick.among));
	json_object_set_new(to, "level", names_of(data, v->pick.level));
	/* JSON has no infinity: null is "not known". */
	json_object_set_new(to, "scatter",
			    isfinite(v->pick.scatter) ? json_real(v->pick.scatter) : json_null());
	json_object_set_new(to, "tied", names_of(data, v->pick.tied));
	json_object_set_new(to, "not_ranked", names_of(data, v->pick.unranked));
	json_object_set_new(to, "lead", lead_json(data, &v->pick));
	json_object_set_new(to, "next", name_of(data, v->next));
	json_object_set_new(to, "if_readers_sleep", name_of(data, v->sleeping));
	json_object_set_new(to, "if_readers_do_not_sleep", name_of(data, v->awake));
	json_object_set_new(to, "if_memory_is_bounded", name_of(data, v->bounded));
	json_object_set_new(to, "predicted", name_of(data, v->predicted));
	json_object_set_new(to, "predicted_threads", json_integer(data->predict));
	for (i = 0; i < v->changes; i++) {
		const struct choose_change *c = &v->change[i];

		one = json_object();
		json_object_set_new(one, "of", json_string(axes[c->axis]));
		json_object_set_new(one, "at", json_real(data->tradeoff.value[c->axis][c->point]));
		json_object_set_new(one, "still", json_real(data->tradeoff.value[c->axis][c->still]));
		json_object_set_new(one, "use", name_of(data, c->pick.best));
		json_array_append_new(list, one);
	}
	json_object_set_new(to, "changes", list);
	return to;
}
