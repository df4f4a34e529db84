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
	int cancel;

	vsnprintf(line, sizeof(line), format, args);
	lull__no_cancel(&cancel);
	(hook ? hook : default_message)(line);
	lull__may_cancel(cancel);
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

/* What the thread holds. */
static void hold_words(const struct lull_stall *stall, char *buf, size_t size)
{
	bool sleeps = stall->state == LULL_THREAD_SLEEPS;
	const char *plural = stall->slots == 1 ? "" : "s";

	if (stall->what == LULL_WAIT_GP && stall->depth)
		snprintf(buf, size, "in a read section (depth %u)", stall->depth);
	else if (stall->what == LULL_WAIT_GP)
		snprintf(buf, size, "online without a quiescent state%s", sleeps ? ", and asleep" : "");
	else
		snprintf(buf, size, "which protects it (%u slot%s in all)", stall->slots, plural);
}

/* What it is doing instead of letting go. */
static void now_words(const struct lull_stall *stall, char *buf, size_t size)
{
	static const char *const states[] = {
		[LULL_THREAD_UNKNOWN] = "",
		[LULL_THREAD_RUNS] = "it runs",
		[LULL_THREAD_SLEEPS] = "it sleeps",
		[LULL_THREAD_STOPPED] = "it is stopped",
		[LULL_THREAD_GONE] = "it has exited and will never let go",
	};
	bool where = stall->where[0] && stall->state != LULL_THREAD_GONE;

	snprintf(buf, size, "%s%s%s%s", stall->state ? "; " : "", states[stall->state], where ? " " : "",
		 where ? stall->where : "");
}

/* One line for those who have set no hook. */
static void default_stall(const struct lull_stall *stall)
{
	char hold[64], now[256], site[160] = "";
	unsigned long long age_ms = stall->age_ms;

	now_words(stall, now, sizeof(now));
	if (stall->what == LULL_WAIT_LIMIT) {
		lull__say("%zu deferred objects (%zu bytes) wait, more than the hard limit; thread \"%s\" (tid %u) "
			  "defers more", stall->waiting_items, stall->waiting_bytes, stall->thread_name, stall->tid);
		return;
	}
	if (stall->what == LULL_WAIT_CALLBACK) {
		lull__say("callback %s has not returned for %llu ms on thread \"%s\" (tid %u)%s; %zu objects (%zu "
			  "bytes) wait behind it", stall->site_name, age_ms, stall->thread_name, stall->tid, now,
			  stall->waiting_items, stall->waiting_bytes);
		return;
	}
	if (stall->site)
		snprintf(site, sizeof(site), " entered at %s", stall->site_name);
	if (!stall->tid) {
		lull__say("%s has waited %llu ms for %u slot%s of nobody in particular; %zu objects (%zu bytes) wait "
			  "behind it", stall->kind, age_ms, stall->slots, stall->slots == 1 ? "" : "s",
			  stall->waiting_items, stall->waiting_bytes);
		return;
	}
	hold_words(stall, hold, sizeof(hold));
	lull__say("%s has waited %llu ms for thread \"%s\" (tid %u), %s%s%s; %zu objects (%zu bytes) wait behind it",
		  stall->kind, age_ms, stall->thread_name, stall->tid, hold, site, now, stall->waiting_items,
		  stall->waiting_bytes);
}

void lull__report_stall(const struct lull_stall *stall)
{
	lull_stall_hook hook;
	void *arg;
	lull__lock(&hook_lock);
	hook = stall_hook;
	arg = stall_arg;
	lull__unlock(&hook_lock);
	if (hook) {
		/*
		 * What it defers is left to others, as in a callback: this thread may lead the grace period that it
		 * would wait for, or be in the middle of the queue.
		 */
		lull__self.callback_depth++;
		hook(stall, arg);
		lull__self.callback_depth--;
		return;
	}
	default_stall(stall);
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
