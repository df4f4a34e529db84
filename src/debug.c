/* SPDX-License-Identifier: MIT */
/*
 * debug.c - the hooks through which lull speaks, and the one way in which it aborts.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define LINE_MAX_BYTES 512

static lull_message_hook message_hook;
static struct lull__lock hook_lock; /* stall hook and its argument change together */
static lull_stall_hook stall_hook;
static void *stall_arg;
static uint32_t stall_ms = 1000;

/* Not stdio: the line may come from a signal handler or while stdio's lock is held. */
static void default_message(const char *line)
{
	char buf[LINE_MAX_BYTES + 16];
	int len = snprintf(buf, sizeof(buf), "lull: %s\n", line);
	size_t left = (size_t)len < sizeof(buf) ? (size_t)len : sizeof(buf) - 1;
	const char *at = buf;

	while (left > 0) {
		ssize_t done = write(STDERR_FILENO, at, left);

		if (done <= 0)
			return;
		at += done;
		left -= (size_t)done;
	}
}

static void say(const char *format, va_list args)
{
	lull_message_hook hook = lull_load_relaxed(&message_hook);
	char line[LINE_MAX_BYTES];

	vsnprintf(line, sizeof(line), format, args);
	(hook ? hook : default_message)(line);
}

void lull__say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
}

void lull__die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
	abort();
}

void lull__report_stall(const struct lull_stall *stall)
{
	lull_stall_hook hook;
	void *arg;
	char what[64];
	char where[40] = "";

	lull__lock(&hook_lock);
	hook = stall_hook;
	arg = stall_arg;
	lull__unlock(&hook_lock);
	if (hook) {
		hook(stall, arg);
		return;
	}
	if (stall->slots)
		snprintf(what, sizeof(what), "which protects it (%u slot%s in all)", stall->slots,
			 stall->slots == 1 ? "" : "s");
	else if (stall->depth)
		snprintf(what, sizeof(what), "in a read section (depth %u)", stall->depth);
	else
		snprintf(what, sizeof(what), "online without a quiescent state");
	if (stall->site)
		snprintf(where, sizeof(where), " entered at %p", stall->site);
	lull__say("%s has waited %llu ms for thread \"%s\" (tid %u), %s%s; "
		  "%zu objects (%zu bytes) wait behind it",
		  stall->kind, (unsigned long long)stall->age_ms, stall->thread_name, stall->tid,
		  what, where, stall->waiting_items, stall->waiting_bytes);
}

void lull_debug_set_stall_hook(lull_stall_hook hook, void *arg)
{
	lull__lock(&hook_lock);
	stall_hook = hook;
	stall_arg = arg;
	lull__unlock(&hook_lock);
}

void lull_debug_set_stall_ms(uint32_t ms)
{
	lull_store_relaxed(&stall_ms, ms);
}

uint32_t lull__stall_ms(void)
{
	return lull_load_relaxed(&stall_ms);
}

void lull_debug_set_message_hook(lull_message_hook hook)
{
	lull_store_relaxed(&message_hook, hook);
}

const char *lull_version(void)
{
#define TEXT2(x) #x
#define TEXT(x)	 TEXT2(x)
	return TEXT(LULL_VERSION_MAJOR) "." TEXT(LULL_VERSION_MINOR) "." TEXT(LULL_VERSION_PATCH);
}
