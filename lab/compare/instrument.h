/* SPDX-License-Identifier: MIT */
/* Instruments as processes of their own, for `lull compare`: how one is called, what it says. */
#ifndef LULL_LAB_INSTRUMENT_H
#define LULL_LAB_INSTRUMENT_H

#include <stddef.h>

#include <jansson.h>

#define COMPARE_ARGS_MAX 24

struct compare_command {
	char *arg[COMPARE_ARGS_MAX];
	size_t count;
};

void compare_arg(struct compare_command *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void compare_seconds(struct compare_command *c, double seconds);
/* "--threads=1,2,4" */
void compare_numbers(struct compare_command *c, const char *option, const unsigned *number,
		     size_t count);
/*
 * Runs it, gives its results, and forgets the arguments. When it ends with anything but 0 it has
 * said itself what was wrong, and so does this process end.
 */
json_t *compare_run(struct compare_command *c);

/* @text, which is freed, with @more behind it. */
char *compare_append(char *text, const char *more);

#endif
