/* SPDX-License-Identifier: MIT */
/* lull compare: from the four ways that were measured to the one for the workload described. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figures.h"
#include "common/options.h"
#include "common/units.h"
#include "compare/compare.h"

/* A disturbance makes things slower: what was best tells how much the median has suffered. */
static double spread_of(const struct bench_stat *s)
{
	return s->median > 0 ? (s->median - s->min) / s->median : 0;
}

static double at_least_none(const struct bench_stat *bytes)
{
	return bytes->count && bytes->median > 0 ? bytes->median : 0;
}

static void set_way(struct choose_way *way, const struct tradeoff *t,
		    const struct tradeoff_result *s)
{
	size_t i, j;

	way->name = s->name;
	way->effort = s->effort;
	way->may_not_block = s->may_not_block;
	way->object_bytes = at_least_none(&s->object_bytes);
	way->thread_bytes = at_least_none(&s->thread_bytes);
	way->wait_ns = s->wait.count ? s->wait.max : -1;
	way->held_back = s->waiting_bytes.count ? s->waiting_bytes.max : -1;
	for (i = 0; i < CHOOSE_AXES; i++)
		for (j = 0; j < t->values[i]; j++) {
			const struct bench_stat *mix = &s->mix[i][j];

			way->point[i][j] = (struct choose_point){
				mix->count ? mix->median : 0, spread_of(mix), s->mix_waiting[i][j]
			};
		}
}

static void set_work(struct choose_work *work, const struct tradeoff *t)
{
	work->updates = t->updates;
	work->hold_ns = t->hold_ns;
	work->objects = t->objects;
	work->size = t->size;
	work->block = t->block;
	work->threads = t->mix_threads;
	work->slow_ns = t->slow_ns;
	work->update_rate = t->update_rate;
	memcpy(work->value, t->value, sizeof(work->value));
	memcpy(work->values, t->values, sizeof(work->values));
	memcpy(work->at, t->at, sizeof(work->at));
}

void compare_answer(struct compare *data)
{
	const struct tradeoff *t = &data->tradeoff;
	struct choose_way way[TRADEOFF_SCHEMES] = { 0 };
	struct choose_work work = { .way = way, .ways = t->count };
	size_t i;

	set_work(&work, t);
	for (i = 0; i < t->count; i++)
		set_way(&way[i], t, &t->scheme[i]);
	choose_for(&work, &data->verdict);
	data->nr_answers = choose_for_words(&work, &data->verdict, data->answer);
	snprintf(data->workload, sizeof(data->workload),
		 "Your workload: %.3g %% updates, readers hold an object for %s%s, %.0f objects "
		 "of %s, %u thread%s.",
		 100 * t->updates, units_time(t->hold_ns).text,
		 t->block ? " and sleep" : "", t->objects,
		 units_bytes(t->size).text,
		 t->mix_threads, t->mix_threads == 1 ? "" : "s");
}

static json_t *name_of(const struct compare *data, size_t way)
{
	return way == CHOOSE_NOTHING ? json_null() : json_string(data->tradeoff.scheme[way].name);
}

json_t *compare_verdict_json(const struct compare *data)
{
	static const char *const reasons[] = { "only", "faster", "leaner", "easier" };
	static const char *const axes[] = { "updates", "hold_ns", "objects" };
	const struct choose_verdict *v = &data->verdict;
	json_t *to = json_object(), *list = json_array(), *one;
	size_t i;

	json_object_set_new(to, "use", name_of(data, v->best));
	json_object_set_new(to, "runner_up", name_of(data, v->second));
	json_object_set_new(to, "reason", json_string(reasons[v->why]));
	json_object_set_new(to, "matters", json_boolean(v->matters));
	json_object_set_new(to, "if_readers_block", name_of(data, v->blocking));
	json_object_set_new(to, "if_readers_do_not_block", name_of(data, v->unblocked));
	for (i = 0; i < v->changes; i++) {
		const struct choose_change *c = &v->change[i];

		one = json_object();
		json_object_set_new(one, c->above ? "from" : "up_to", json_real(c->from));
		json_object_set_new(one, "of", json_string(axes[c->axis]));
		json_object_set_new(one, "use", name_of(data, c->way));
		json_object_set_new(one, "reason", json_string(reasons[c->why]));
		json_array_append_new(list, one);
	}
	json_object_set_new(to, "changes", list);
	return to;
}
