/* SPDX-License-Identifier: MIT */
/* The progress line; see progress.h. */
#include "common/progress.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static bool progress_shown;

void bench_progress(const char *fmt, ...)
{
	static int terminal = -1;
	va_list ap;

	if (terminal < 0)
		terminal = isatty(STDERR_FILENO);
	if (!terminal)
		return;
	fputs("\r\033[K", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fflush(stderr);
	progress_shown = true;
}

void bench_progress_clear(void)
{
	if (!progress_shown)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	progress_shown = false;
}
