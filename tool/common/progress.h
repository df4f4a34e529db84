/* SPDX-License-Identifier: MIT */
/* The line on stderr that says what is being measured. */
#ifndef LULL_TOOL_PROGRESS_H
#define LULL_TOOL_PROGRESS_H

/*
 * Progress line on stderr: only on a terminal, rewritten in place; bench_progress_clear() wipes it.
 */
void bench_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void bench_progress_clear(void);

#endif
