/* SPDX-License-Identifier: MIT */
/* lull torture: what went wrong. See torture.h. */
#include "torture/torture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"

#define MESSAGES 8

static struct {
	uint32_t count;
	struct {
		uint64_t at_ns;
		char text[200];
		uint32_t is_written;
	} message[MESSAGES];
} failures;

/* Also in signal handlers: nothing is allocated or locked here. */
void torture_fail(const char *fmt, ...)
{
	char text[sizeof(failures.message[0].text)];
	uint32_t nr;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (torture.in_child) {
		if (write(torture.child_fd, text, strlen(text)) < 0)
			_exit(2);
		_exit(1);
	}
	nr = lull_add_relaxed(&failures.count, 1u);
	if (nr < MESSAGES) {
		failures.message[nr].at_ns = bench_now_ns() - torture.began_ns;
		memcpy(failures.message[nr].text, text, sizeof(text));
		lull_store_release(&failures.message[nr].is_written, 1u);
	}
	lull_store_release(&torture.stop, 1u);
}

uint32_t torture_failed(void)
{
	return lull_load_relaxed(&failures.count);
}

void torture_print_failures(void)
{
	uint32_t failed = torture_failed(), i;

	for (i = 0; i < failed && i < MESSAGES; i++)
		if (lull_load_acquire(&failures.message[i].is_written))
			printf("failure after %.3f s: %s\n",
			       (double)failures.message[i].at_ns / 1e9, failures.message[i].text);
	if (failed > MESSAGES)
		printf("... and %u more\n", failed - MESSAGES);
}

static void (*last_words)(void);

void torture_on_give_up(void (*report)(void))
{
	last_words = report;
}

_Noreturn void torture_give_up(void)
{
	last_words();
	/* Do not flush all files: a fork that hangs may hold the lock of their list. */
	fflush(stdout);
	_exit(EXIT_FAILURE);
}
