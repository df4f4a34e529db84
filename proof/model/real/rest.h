/* SPDX-License-Identifier: MIT */
/*
 * rest.h - what src/rcu/ needs of the rest of the library, for the models that are that code as it is: reader.c and
 * grace-period.c. The thread is registered, and what aborts for the caller's mistake is left out: NEVER(), which the
 * model defines, is how its tool calls off an execution. Included after the sources.
 */
static struct lull_stats_page page;
struct lull_stats_page *lull__page_now = &page;

struct lull_stats_page *lull__page_make(void)
{
	return &page;
}

/* The rest of the library has nothing to do when a section that owed has ended, unless the model says so. */
#ifndef PAYS
#include "base/hooks.h"
const struct lull__mechanism lull__mechanisms[] = { { .name = NULL } };
#endif

/* The process is set up, and nothing has failed to start. */
void lull__init(void)
{
}

void lull__retry(void)
{
}

void lull__misuse(const char *format, ...)
{
	(void)format;
	NEVER();
	for (;;)
		;
}

void lull__say(const char *format, ...)
{
	(void)format;
}

struct lull__thread_words lull__thread_words(uint32_t tid)
{
	struct lull__thread_words words = { "" };

	(void)tid;
	return words;
}

uint32_t lull__gettid(void)
{
	return 1;
}

void lull__ensure_registered(void)
{
}

void lull__futex_wake(uint32_t *word, int how_many)
{
	(void)word, (void)how_many;
}

void lull__record_enter(sigset_t *saved)
{
	(void)saved;
	NEVER(); /* for threads past their exit handling */
}

void lull__record_leave(const sigset_t *saved)
{
	(void)saved;
}

void lull__record_link_late(void)
{
}

void lull__record_unlink_late(void)
{
}
