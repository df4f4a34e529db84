/* SPDX-License-Identifier: MIT */
/*
 * message.c - lines for people, through a hook that can be replaced, or to standard error.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <lull/atomic.h>

#include "message.h"

#define LINE_BYTES 512

static lull_message_hook message_hook;

/* Write @line to standard error. Not by stdio: this may be a signal handler, or stdio's lock may be held. */
static void default_message(const char *line)
{
	char buf[LINE_BYTES + 16];
	int len = snprintf(buf, sizeof(buf), "lull: %s\n", line);
	size_t more = (size_t)len < sizeof(buf) ? (size_t)len : sizeof(buf) - 1;
	const char *at = buf;

	while (more > 0) {
		ssize_t done = write(STDERR_FILENO, at, more);

		if (done <= 0)
			return;
		at += done;
		more -= (size_t)done;
	}
}

static void say_line(const char *line)
{
	lull_message_hook hook = lull_load_relaxed(&message_hook);
	int cancel;

	lull__no_cancel(&cancel);
	(hook ? hook : default_message)(line);
	lull__may_cancel(cancel);
}

void lull__say(const char *format, ...)
{
	char line[LINE_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	say_line(line);
}

void lull__die(const char *format, ...)
{
	char line[LINE_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	say_line(line);
	abort();
}

void lull__misuse(const char *format, ...)
{
	uint32_t tid = lull__gettid();
	char line[LINE_BYTES], name[32];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	lull__thread_name(tid, name, sizeof(name));
	lull__die("%s (thread \"%s\", tid %u)", line, name, tid);
}

struct lull__thread_words lull__thread_words(uint32_t tid)
{
	struct lull__thread_words words;
	char name[32];

	lull__thread_name(tid, name, sizeof(name));
	snprintf(words.text, sizeof(words.text), "thread \"%s\" (tid %u)", name, tid);
	return words;
}

void lull_debug_set_message_hook(lull_message_hook hook)
{
	lull_store_relaxed(&message_hook, hook);
}

#define VERSION_TEXT2(x) #x
#define VERSION_TEXT(x)	 VERSION_TEXT2(x)

const char *lull_version(void)
{
	return VERSION_TEXT(LULL_VERSION_MAJOR) "." VERSION_TEXT(LULL_VERSION_MINOR) "."
	       VERSION_TEXT(LULL_VERSION_PATCH);
}
