/* SPDX-License-Identifier: MIT */
/* Numbers in words: short ones, for a screen that changes. */
#ifndef LULL_TOOL_WORDS_H
#define LULL_TOOL_WORDS_H

#include "inspect/top/top.h"

struct top_word {
	char text[32];
};

struct top_word top_word_count(uint64_t count);		    /* "1234567", "12.3 M" */
struct top_word top_word_rate(const struct top_rate *rate); /* a second: "0.5", "12345", "?" */
struct top_word top_word_bytes(double bytes);		    /* "12.3 MiB" */
struct top_word top_word_ns(double ns);			    /* "12.3 us" */
struct top_word top_word_age(double seconds);		    /* "3.2 s", "2 min 05 s" */

#endif
