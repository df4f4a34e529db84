/* SPDX-License-Identifier: MIT */
/* Results as JSON; see json.h. */
#include "common/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lull/debug.h>

#include "common/figures.h"
#include "common/machine.h"
#include "common/outfile.h"

struct jsonout {
	json_t *root;
	struct outfile *out;
};

void (*jsonout_more)(json_t *machine);

static json_t *machine_json(void)
{
	struct machine m;
	json_t *json;

	machine_read(&m);
	json = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:b}", "cpu", m.cpu_model, "kernel",
			 m.kernel, "governor", m.governor, "virtualised", m.hypervisor, "fence", m.fence, "compiler",
			 m.compiler, "cpus_online", (int)m.cpus_online, "cpus_allowed", (int)m.cpus_allowed, "cores",
			 (int)m.cores, "sockets", (int)m.sockets, "perf_counters", (int)m.perf_counters);
	if (json && jsonout_more)
		jsonout_more(json);
	return json;
}

struct jsonout *jsonout_open(const struct options *opt)
{
	struct jsonout *json;

	if (!opt->json_path)
		return NULL;
	json = options_alloc(1, sizeof(*json));
	json->out = outfile_open("--json", opt->json_path);
	json->root = json_pack("{s:s, s:s, s:o, s:o, s:[]}", "tool", opt->tool, "version",
			       lull_version(), "machine", machine_json(), "command",
			       jsonout_string(opt->command), "results");
	if (!json->root)
		options_fail("out of memory");
	return json;
}

json_t *jsonout_string(const char *text)
{
	json_t *string = json_string(text);
	char *copy, *p;

	if (string)
		return string;
	copy = options_printf("%s", text);
	for (p = copy; *p; p++)
		if ((unsigned char)*p > 126)
			*p = '?';
	string = json_string(copy);
	free(copy);
	return string;
}

json_t *jsonout_root(struct jsonout *json)
{
	return json ? json->root : NULL;
}

void jsonout_set(json_t *obj, const char *key, json_t *value)
{
	if (obj)
		json_object_set_new(obj, key, value);
	else
		json_decref(value);
}

static json_t *number(double value, size_t count)
{
	return count ? json_real(value) : json_null();
}

static json_t *add_row(struct jsonout *json, const char *scheme, unsigned threads,
		       const char *metric, const char *unit)
{
	json_t *row = json_pack("{s:s, s:i, s:s, s:s}", "scheme", scheme, "threads", (int)threads,
				"metric", metric, "unit", unit);

	if (!row || json_array_append_new(json_object_get(json->root, "results"), row) != 0)
		options_fail("out of memory");
	return row;
}

json_t *jsonout_stat(struct jsonout *json, const char *scheme, unsigned threads, const char *metric,
		     const char *unit, const struct bench_stat *stat)
{
	json_t *row;

	if (!json)
		return NULL;
	row = add_row(json, scheme, threads, metric, unit);
	jsonout_set(row, "min", number(stat->min, stat->count));
	jsonout_set(row, "median", number(stat->median, stat->count));
	jsonout_set(row, "max", number(stat->max, stat->count));
	return row;
}

json_t *jsonout_latency(struct jsonout *json, const char *scheme, unsigned threads,
			const char *metric, const struct bench_latency *lat)
{
	json_t *row;

	if (!json)
		return NULL;
	row = add_row(json, scheme, threads, metric, "ns");
	jsonout_set(row, "min", number(lat->min, lat->count));
	jsonout_set(row, "median", number(lat->p50, lat->count));
	jsonout_set(row, "max", number(lat->max, lat->count));
	jsonout_set(row, "mean", number(lat->mean, lat->count));
	jsonout_set(row, "p50", number(lat->p50, lat->count));
	jsonout_set(row, "p90", number(lat->p90, lat->count));
	jsonout_set(row, "p99", number(lat->p99, lat->count));
	jsonout_set(row, "count", json_integer((json_int_t)lat->count));
	return row;
}

/*
 * The results are worth more than the file they were meant for: when the file fails now, they go to
 * stdout, and the complaint says so.
 */
static _Noreturn void write_failed(struct jsonout *json, int err)
{
	if (outfile_is_stdout(outfile_path(json->out)))
		options_fail("--json: cannot write to standard output: %s", strerror(err));
	json_dumpf(json->root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	putchar('\n');
	options_fail("--json: cannot write '%s': %s; the results are on stdout",
		     outfile_path(json->out), strerror(err));
}

void jsonout_close(struct jsonout *json)
{
	FILE *file;
	int err;

	if (!json)
		return;
	/* It may be the same pipe. */
	fflush(stdout);
	file = outfile_stream(json->out);
	/* Ignore errors here: they come again in outfile_finish(), or are remembered there. */
	json_dumpf(json->root, file, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	fputc('\n', file);
	err = outfile_finish(json->out);
	if (err)
		write_failed(json, err);
	outfile_free(json->out);
	json_decref(json->root);
	free(json);
}

/* ---- what an instrument wrote, read again ---------------------------------------------------- */

double jsonin_number(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(row, key));
}

const char *jsonin_text(const json_t *row, const char *key)
{
	const char *value = json_string_value(json_object_get(row, key));

	return value ? value : "";
}

struct bench_stat jsonin_stat(const json_t *row)
{
	struct bench_stat s = { jsonin_number(row, "min"), jsonin_number(row, "median"),
				jsonin_number(row, "max"),
				json_is_number(json_object_get(row, "median")) };

	return s;
}

struct bench_latency jsonin_latency(const json_t *row)
{
	struct bench_latency l = { .min = jsonin_number(row, "min"),
				   .mean = jsonin_number(row, "mean"),
				   .p50 = jsonin_number(row, "p50"),
				   .p90 = jsonin_number(row, "p90"),
				   .p99 = jsonin_number(row, "p99"),
				   .max = jsonin_number(row, "max"),
				   .count = (size_t)jsonin_number(row, "count") };

	return l;
}
