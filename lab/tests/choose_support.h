/* SPDX-License-Identifier: MIT */
/*
 * choose_support.h - what the tests of the verdicts share: the words that came out, and whether something was said.
 */
#ifndef LULL_TEST_CHOOSE_SUPPORT_H
#define LULL_TEST_CHOOSE_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "../choose/choose.h"

static char line[CHOOSE_LINES_MAX][CHOOSE_LINE];
static size_t lines;

static inline bool said(const char *words)
{
	size_t i;

	for (i = 0; i < lines; i++)
		if (strstr(line[i], words))
			return true;
	return false;
}

#endif /* LULL_TEST_CHOOSE_SUPPORT_H */
