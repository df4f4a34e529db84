/* SPDX-License-Identifier: MIT */
/*
 * made_up.h - for tests that put made-up samples in and look at every figure that is published: what is printed
 * meanwhile, and the rows of the JSON.
 *
 * Choose samples with which no wrong formula gives the right figure: counts that differ from thread to thread, no time
 * a multiple of another, an odd and an even number of samples.
 */
#ifndef LULL_TEST_MADE_UP_H
#define LULL_TEST_MADE_UP_H

#include <stdio.h>
#include <stdlib.h>

#include "common/json.h"
#include "common/options.h"

static struct {
	FILE *terminal;
	char *text;
	size_t size;
} printed_to;

static inline void assert_same(const char *text, const char *expected)
{
	if (strcmp(text, expected))
		fprintf(stderr, "it says:\n%s\nexpected:\n%s\n", text, expected); /* cmocka cuts long ones short */
	assert_string_equal(text, expected);
}

/* Keep what is printed from now on, until it is asked for. */
static inline void begin_printing(void)
{
	printed_to.terminal = stdout;
	stdout = open_memstream(&printed_to.text, &printed_to.size);
}

/* End that, and compare. */
static inline void assert_printed(const char *expected)
{
	fclose(stdout);
	stdout = printed_to.terminal;
	assert_same(printed_to.text, expected);
	free(printed_to.text);
}

static inline struct jsonout *made_up_json(void)
{
	static char command[] = "made-up";
	struct options opt = OPTIONS_INIT("made-up");

	opt.json_path = "/dev/null";
	opt.command = command;
	return jsonout_open(&opt);
}

/* Compare the rows, a line each and without quotes, and free @json. */
static inline void assert_rows(struct jsonout *json, const char *expected)
{
	json_t *rows = json_object_get(jsonout_root(json), "results"), *row;
	char *text = NULL, *line, *c;
	size_t size, i;
	FILE *to = open_memstream(&text, &size);

	json_array_foreach(rows, i, row) {
		line = json_dumps(row, JSON_COMPACT | JSON_REAL_PRECISION(6));
		for (c = line; *c; c++)
			if (*c != '"')
				fputc(*c, to);
		fputc('\n', to);
		free(line);
	}
	fclose(to);
	assert_same(text, expected);
	free(text);
	jsonout_close(json);
}

#endif /* LULL_TEST_MADE_UP_H */
