/* SPDX-License-Identifier: MIT */
/*
 * wait.h - the one way to wait for other threads: sleep, say who holds the wait up, report it when it lasts.
 *
 * The caller loops: it looks whether what it waits for has come, and calls lull__wait_sleep() if not. Reports,
 * and the page that other processes read, are the business of the watch (hooks.h), if there is one.
 */
#ifndef LULL_WAIT_H
#define LULL_WAIT_H

#include "deadline.h"
#include "hooks.h"

#define LULL__BLAME_MOST 4u /* threads named in one report */

uint32_t lull__stall_ms(void); /* a wait that lasts so long is a stall; 0: none is */

/* One wait, from when somebody is about to sleep. */
struct lull__wait {
	enum lull_wait_kind kind; /* LULL_WAIT_NONE: it is over */
	int place;		  /* the watch's: on the page; -1: none */
	uint64_t since_ns;
	uint64_t quiet_until_ns; /* before this nobody asks who holds it up */
	uint64_t report_ms;	 /* the watch's: report when it has lasted so long; 0: never */
};

/*
 * Describe up to LULL__BLAME_MOST threads or slots that hold the wait up in @first, and return how many those are.
 * Store in *@holders how many there are in all.
 */
typedef unsigned (*lull__blame)(void *arg, struct lull_stall *first, unsigned *holders);

/* Begin a wait; @quiet_ns: for how long not to ask who holds it up. */
void lull__wait_begin(struct lull__wait *wait, enum lull_wait_kind kind, uint64_t quiet_ns);
void lull__wait_end(struct lull__wait *wait);

/*
 * Blame, report if that is due, and sleep while *@word == @value: until woken, until the next report or @again_ns, or
 * until @deadline_ns. Returns false, without sleeping, when that is past.
 */
bool lull__wait_sleep(struct lull__wait *wait, uint32_t *word, uint32_t value, uint64_t deadline_ns,
		      uint64_t again_ns, lull__blame blame, void *arg);

#endif /* LULL_WAIT_H */
