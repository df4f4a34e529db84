/* SPDX-License-Identifier: MIT */
/* Numbers in words: short ones, for a screen that changes. */
#ifndef LULL_TOOL_WORDS_H
#define LULL_TOOL_WORDS_H

#include "common/units.h"
#include "top/top.h"

struct units_text top_word_count(uint64_t count);		    /* "1234567", "12.3 M" */
struct units_text top_word_rate(const struct top_rate *rate); /* a second: "0.5", "12345", "?" */

#endif
