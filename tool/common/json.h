/* SPDX-License-Identifier: MIT */
/*
 * The JSON an instrument writes: a thin layer over jansson that fixes the shape
 *
 *	{ "tool", "version", "machine": {...}, "command", "results": [ {...}, ... ] }
 *
 * and takes care that nothing of it is lost (outfile.h).
 */
#ifndef LULL_TOOL_JSON_H
#define LULL_TOOL_JSON_H

#include <jansson.h>

#include "common/figures.h"
#include "common/options.h"

struct jsonout;

/*
 * NULL when no --json was given; every call below accepts that NULL and does nothing. Unwritable:
 * exit 2.
 */
struct jsonout *jsonout_open(const struct options *opt);
/* Function that adds members to "machine"; set by peers_load(), which knows more about it. */
extern void (*jsonout_more)(json_t *machine);
/*
 * Adds one result row: {"scheme","threads","metric","unit","min","median","max"}. metric says what
 * was measured ("read_section", "synchronize_idle", ...). Returns the row, borrowed, for further
 * members: json_object_set_new(row, "update_percent", json_integer(10)). Returns NULL when json is
 * NULL.
 */
json_t *jsonout_stat(struct jsonout *json, const char *scheme, unsigned threads, const char *metric,
		     const char *unit, const struct bench_stat *stat);
/* The same for a latency distribution; adds "mean", "p50", "p90", "p99" and "count" to the row. */
json_t *jsonout_latency(struct jsonout *json, const char *scheme, unsigned threads,
			const char *metric, const struct bench_latency *lat);
/* The whole document, borrowed, for members beside "results". NULL when json is NULL. */
json_t *jsonout_root(struct jsonout *json);
/* Sets a member unless obj is NULL; takes over value. */
void jsonout_set(json_t *obj, const char *key, json_t *value);
/* A string of any bytes, from outside: JSON has only valid UTF-8, so that in others '?' stands in. */
json_t *jsonout_string(const char *text);
/* Completes the file and frees. A write error is options_fail(). */
void jsonout_close(struct jsonout *json);

/* ---- what an instrument wrote, read again ---------------------------------------------------- */

/* 0, and "", where there is none. Strings belong to @row. */
double jsonin_number(const json_t *row, const char *key);
const char *jsonin_text(const json_t *row, const char *key);
/* Read a row of jsonout_stat() or jsonout_latency(). */
struct bench_stat jsonin_stat(const json_t *row);
struct bench_latency jsonin_latency(const json_t *row);

#endif
