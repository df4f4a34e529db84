/* SPDX-License-Identifier: MIT */
/*
 * made_up_verdicts FIRST COUNT: what lull compare says of COUNT made-up machines, a line of JSON for each: the text, and
 * the figures that it must agree with. test_sentences.py compares them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef LULL_DEBUG /* its confidence is always low */

#include "../choose/ratio.c"
#include "../choose/workload.c"
#define here words_here
#include "../choose/workload_words.c"
#undef here
#include "../compare/answer.c"

#include "common/json.h"

static uint64_t seed;

/* 0 to 1 */
static double chance(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(seed >> 11) / (double)(UINT64_C(1) << 53);
}

static bool perhaps(double share)
{
	return chance() < share;
}

/* From @least to @most, each power of ten as often as the next. */
static double between(double least, double most)
{
	return least * pow(most / least, chance());
}

static size_t one_of(size_t count)
{
	return (size_t)(chance() * (double)count);
}

static struct bench_stat stat_of(double median, double noise)
{
	return (struct bench_stat){ median * (1 - noise * chance() * 0.5), median, median * (1 + noise * chance()), 5 };
}

/* ---- a machine ------------------------------------------------------------------------------- */

static const struct tradeoff_result known[TRADEOFF_SCHEMES] = {
	{ .name = "refcount", .said = "a reference count", .header = "lull/refcount.h", .effort = 1 },
	{ .name = "percpu_ref", .said = "a count per CPU", .header = "lull/percpu_ref.h", .effort = 3 },
	{ .name = "rcu", .said = "RCU", .header = "lull/rcu.h", .effort = 2, .unbounded = true, .may_not_block = "they wait" },
	{ .name = "hazptr", .said = "hazard pointers", .header = "lull/hazptr.h", .effort = 4 },
	{ .name = "rwlock", .said = "one rwlock", .is_lock = true },
	{ .name = "percpu_rwsem", .said = "one percpu_rwsem", .header = "lull/percpu_rwsem.h", .is_lock = true, .effort = 1 },
	{ .name = "spinlock", .said = "a spin lock for each object", .is_lock = true, .effort = 3,
	  .may_not_block = "others burn processor time" },
};

/* Rounds in which each way has its noise, and all what disturbs them together. */
static void set_point(struct tradeoff_point *p, double ns, double noise, const double *drift, size_t rounds)
{
	double v[CHOOSE_ROUNDS_MAX];
	size_t i;

	memset(p, 0, sizeof(*p));
	for (i = 0; i < rounds; i++)
		p->rounds.ns[p->rounds.count++] = v[i] = ns * drift[i] * (1 + noise * (2 * chance() - 1));
	p->ns = bench_stat_of(v, rounds);
	p->waiting = perhaps(0.5) ? between(10, 1e8) : 0;
}

static void set_axis(struct tradeoff *t, enum choose_axis axis, const double *value, size_t values, size_t at)
{
	memcpy(t->value[axis], value, values * sizeof(*value));
	t->values[axis] = values;
	t->at[axis] = at;
}

static void set_mixes(struct tradeoff *t)
{
	static const size_t counts[] = { 1, 5, 6, 6, 7, 15, 15, 36, 41 };
	size_t rounds = counts[one_of(sizeof(counts) / sizeof(counts[0]))], axis, point, i;
	double drift[CHOOSE_ROUNDS_MAX], base = between(10, 3000), calm = between(0.001, 0.3);

	for (axis = 0; axis < CHOOSE_AXES; axis++)
		for (point = 0; point < t->values[axis]; point++) {
			for (i = 0; i < rounds; i++)
				drift[i] = perhaps(0.1) ? 1 + 3 * chance() : 1;
			for (i = 0; i < t->count; i++) {
				bool same = axis && point == t->at[axis];
				double near = base * (perhaps(0.6) ? 1 + 0.15 * chance() : between(1, 30));
				double noise = perhaps(0.15) ? between(0.1, 0.95) : calm;

				if (same)
					t->scheme[i].mix[axis][point] = t->scheme[i].mix[0][t->at[0]];
				else if (!perhaps(0.03))
					set_point(&t->scheme[i].mix[axis][point], near, noise, drift, rounds);
			}
		}
}

static void set_costs(struct tradeoff_result *s)
{
	double wait = between(1e3, 1e8);

	s->read[0] = stat_of(between(0.5, 50), 0.5);
	if (!perhaps(0.1))
		s->read[1] = stat_of(between(0.5, 100), 0.5);
	if (s->is_lock || perhaps(0.1))
		return;
	s->object_bytes = perhaps(0.5) ? stat_of(between(1, 2000), 0.1) : (struct bench_stat){ -8, -4, 0, 5 };
	s->thread_bytes = stat_of(between(0.1, 1e6), 0.1);
	if (perhaps(0.1))
		return;
	s->wait = (struct bench_latency){ wait / 9, wait / 2, wait / 3, wait / 1.5, wait / 1.2, wait, 100 };
	s->waiting = stat_of(between(1, 1e5), 0.5);
	s->waiting_bytes = stat_of(between(1, 1e7), 0.5);
}

static void make_up(struct compare *data)
{
	static const double updates[] = { 0, 0.01, 0.5, 1 }, hold[] = { 0, 1000, 10000 }, objects[] = { 1, 1000, 100000 };
	struct tradeoff *t = &data->tradeoff;
	size_t i;

	t->count = TRADEOFF_SCHEMES;
	memcpy(t->scheme, known, sizeof(known));
	t->threads[0] = 1;
	t->threads[1] = t->mix_threads = 4;
	t->nr_threads = 2;
	t->slow_ns = 10e6;
	t->update_rate = 10000;
	t->size = between(8, 1000);
	t->block = perhaps(0.3);
	t->others_cpus = perhaps(0.3) ? 2 * chance() : 0;
	set_axis(t, CHOOSE_UPDATES, updates, 4, one_of(4));
	set_axis(t, CHOOSE_HOLD, hold, 3, one_of(3));
	set_axis(t, CHOOSE_OBJECTS, objects, 3, one_of(3));
	t->updates = updates[t->at[CHOOSE_UPDATES]];
	t->hold_ns = hold[t->at[CHOOSE_HOLD]];
	t->objects = objects[t->at[CHOOSE_OBJECTS]];
	set_mixes(t);
	for (i = 0; i < t->count; i++)
		set_costs(&t->scheme[i]);
	machine_read(&data->machine);
	data->predict = perhaps(0.5) ? 16 : 0;
	data->seconds = 100;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void tell_all(struct compare *data)
{
	struct options opt = OPTIONS_INIT("compare");
	struct jsonout *json;
	json_t *root, *answer = json_array();
	size_t i;

	opt.json_path = "/dev/null";
	opt.command = (char[]){ "made up" };
	json = jsonout_open(&opt);
	root = jsonout_root(json);
	tradeoff_write_json(json, &data->tradeoff);
	json_object_set(root, "ways", json_object_get(root, "schemes"));
	json_object_set_new(root, "verdict", compare_verdict_json(data));
	for (i = 0; i < data->nr_answers; i++)
		json_array_append_new(answer, json_string(data->answer[i]));
	json_object_set_new(root, "answer", answer);
	json_object_set_new(root, "seed", json_integer((json_int_t)seed));
	json_dumpf(root, stdout, JSON_COMPACT);
	putchar('\n');
	jsonout_close(json);
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 2 ? strtoull(argv[1], NULL, 10) : 0, count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, i;
	static struct compare data;

	for (i = first; i < first + count; i++) {
		memset(&data, 0, sizeof(data));
		seed = i * 0x9e3779b97f4a7c15u;
		make_up(&data);
		compare_answer(&data);
		tell_all(&data);
	}
	return fflush(stdout) != 0;
}
