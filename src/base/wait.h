/* SPDX-License-Identifier: MIT */
/*
 * wait.h - the one way to wait for readers: sleep, blame those that are in the way, report it.
 *
 * The caller loops: it checks whether the wait is over, and calls lull__wait_sleep() if not. The watch
 * (hooks.h), if there is one, makes the reports and the page that other processes read.
 */
#ifndef LULL_WAIT_H
#define LULL_WAIT_H

#include "deadline.h"
#include "hooks.h"

#define LULL__BLAME_MOST 4u /* threads named in one report */

uint32_t lull__stall_ms(void); /* a wait that lasts this long is a stall; 0: no wait is */

/* One wait, from when a thread is about to sleep. */
struct lull__wait {
	enum lull_wait_kind kind; /* LULL_WAIT_NONE: it is over */
	int place;		  /* for the watch: its place on the page; -1: none */
	uint64_t since_ns;
	uint64_t quiet_until_ns; /* before this time no thread is blamed */
	uint64_t report_ms;	 /* for the watch: report when it has lasted this long; 0: never */
};

/*
 * Describe in @first up to LULL__BLAME_MOST threads or slots that hold the wait up, and return how many are
 * described. Store in *@holders how many there are in all.
 */
typedef unsigned (*lull__blame)(void *arg, struct lull_stall *first, unsigned *holders);

/* A report that is due. A caller that holds a lock keeps it here, releases the lock, and then makes it. */
struct lull__report {
	struct lull__wait wait;
	struct lull_stall first[LULL__BLAME_MOST];
	unsigned named; /* 0: there is nothing to report */
};
void lull__wait_report(struct lull__report *report);

/* Begin a wait; do not ask which threads hold it up before it has lasted @quiet_ns. */
void lull__wait_begin(struct lull__wait *wait, enum lull_wait_kind kind, uint64_t quiet_ns);
void lull__wait_end(struct lull__wait *wait);

/*
 * Blame, and sleep while *@word == @value: until woken, until the next report or @again_ns, or until
 * @deadline_ns. If a report is due, make it instead of sleeping. Returns false, without sleeping, if
 * @deadline_ns is past.
 *
 * @report: NULL, or where a report is stored that is due; then it is not made, and false is returned.
 */
bool lull__wait_sleep(struct lull__wait *wait, uint32_t *word, uint32_t value, uint64_t deadline_ns,
		      uint64_t again_ns, lull__blame blame, void *arg, struct lull__report *report);

#endif /* LULL_WAIT_H */
