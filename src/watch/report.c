/* SPDX-License-Identifier: MIT */
/*
 * report.c - report a stall, in words or to the program's hook.
 */
#include <stdio.h>

#include <lull/rcu.h>

#include "../base/lock.h"
#include "../base/message.h"
#include "report.h"

static struct lull__lock hook_lock; /* stall hook and its argument change together */
static lull_stall_hook stall_hook;
static void *stall_arg;

/* Put into words what the thread of @stall holds. */
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

/* Put into words what that thread is doing now. */
static void now_words(const struct lull_stall *stall, char *buf, size_t size)
{
	static const char *const states[] = {
		[LULL_THREAD_UNKNOWN] = "it waits",
		[LULL_THREAD_RUNS] = "it runs",
		[LULL_THREAD_SLEEPS] = "it sleeps",
		[LULL_THREAD_STOPPED] = "it is stopped",
		[LULL_THREAD_GONE] = "it has exited, so this wait will never end",
	};
	bool where = stall->where[0] && stall->state != LULL_THREAD_GONE;

	snprintf(buf, size, "%s%s%s%s", stall->state || where ? "; " : "", stall->state || where ? states[stall->state] : "",
		 where ? " " : "", where ? stall->where : "");
}

/* Say @stall in one line, if no hook is set. */
static void default_stall(const struct lull_stall *stall)
{
	char hold[64], now[400], site[160] = "";
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
	if (stall->what == LULL_WAIT_DOMAIN) {
		lull__say("a grace period of domain \"%s\" has waited %llu ms for %u open section%s; %zu objects (%zu "
			  "bytes) wait behind it", stall->site_name, age_ms, stall->slots,
			  stall->slots == 1 ? "" : "s", stall->waiting_items, stall->waiting_bytes);
		return;
	}
	if (stall->site)
		snprintf(site, sizeof(site), " entered at %s", stall->site_name);
	if (!stall->tid) {
		lull__say("%s has waited %llu ms for %u slot%s that no thread owns; %zu objects (%zu bytes) wait "
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
		 * Keep this thread from reclaiming what the hook defers, as in a callback: it may be in the middle of
		 * the queue.
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

/*
 * Make the lock free in the child. If another thread had it, it may have been changing the two, and half of that
 * is here: then reports are made as by default.
 */
void lull__report_fork_child(void)
{
	if (hook_lock.word)
		stall_hook = NULL;
	hook_lock.word = 0;
}

const char *lull_wait_kind_name(uint32_t kind)
{
	static const char *const names[LULL_WAIT_KINDS] = {
		[LULL_WAIT_NONE] = "nothing",
		[LULL_WAIT_GP] = "rcu grace period",
		[LULL_WAIT_HAZPTR] = "hazptr synchronize",
		[LULL_WAIT_HAZPTR_BARRIER] = "hazptr barrier",
		[LULL_WAIT_SHAZPTR] = "shazptr synchronize",
		[LULL_WAIT_CALLBACK] = "callback",
		[LULL_WAIT_LIMIT] = "hard limit",
		[LULL_WAIT_DOMAIN] = "rcu domain",
	};

	return kind < LULL_WAIT_KINDS ? names[kind] : "?";
}
