/* SPDX-License-Identifier: MIT */
/*
 * lull torture --flavor cohort: what its parts share.
 *
 * Members are in a few shared pointers, where readers find them in sections or by hazard pointers. Each updater has a cohort
 * of its own; it replaces members and retires the old ones into that, some of which retire others when they go. Now and
 * then it waits for its cohort, in all ways there are, and begins another one, while others go on.
 *
 * A cohort lives in memory that is used again for the next one, with another number of its life: a callback that finds
 * another number there has been forgotten by a wait. After a wait as many callbacks must have returned as members were
 * retired. A wait must not end while the thread itself keeps a member, and must end though it keeps one of another cohort.
 * A forked child, too, has to wait for what its thread kept at the fork.
 */
#ifndef LULL_LAB_TORTURE_COHORT_H
#define LULL_LAB_TORTURE_COHORT_H

#include <lull/cohort.h>

#include "torture/torture.h"

enum cohort_way { COHORT_RCU, COHORT_HAZPTR, COHORT_BRIDGE, COHORT_WAYS };
enum cohort_form { COHORT_DESTROY, COHORT_WAIT, COHORT_TIMEOUT, COHORT_EMPTY, COHORT_TWO };

struct cohort_life {
	struct lull_cohort cohort;
	uint64_t number;
	uint32_t retired, returned; /* callbacks */
	uint32_t kept_returned; /* of those, members that were kept */
	struct cohort_life *next; /* while it is unused */
};

struct cohort_member {
	struct lull_cohort_head c;
	struct cohort_life *life; /* into which it was retired, ... */
	uint64_t number; /* ... and which one that was */
	uint64_t serial, contents; /* ~serial until it goes; both accessed plainly */
	uint32_t state;
	uint32_t again; /* so many others are retired when it goes, one after the other */
	bool is_kept;
	enum cohort_way way;
};

#define COHORT_PLACES 6u /* two for each way */

struct cohort_place {
	struct cohort_member *member;
} __attribute__((aligned(TORTURE_LINE)));

struct torture_cohorts {
	struct cohort_place place[COHORT_PLACES];
	uint64_t made, gone, ended;
};

extern struct torture_cohorts torture_cohorts;

/* ---- torture/cohort/member.c ------------------------------------------------------------------ */

struct cohort_member *torture_member_new(enum cohort_way way);
/* @m is found nowhere any more. */
void torture_member_retire(struct cohort_life *life, struct cohort_member *m);
void torture_member_check(const struct cohort_member *m, uint64_t serial, const char *where);

struct cohort_life *torture_cohort_begin(void);
/* Check @life after a wait, in which all that was retired into it has gone, and give it back to the pool. */
void torture_cohort_end(struct cohort_life *life, const char *after);
void torture_cohort_lock(void); /* around fork */
void torture_cohort_unlock(void);

/* ---- torture/cohort/reader.c ------------------------------------------------------------------ */

void torture_cohort_use(struct torturer *t);
void torture_cohort_use_shortly(struct torturer *t, const char *where);
void torture_cohort_in_handler(struct torturer *t);
void *torture_cohort_reader(void *arg);

/* ---- torture/cohort/updater.c ----------------------------------------------------------------- */

void *torture_cohort_updater(void *arg);
void torture_cohort_once(void);
void torture_cohort_live(struct torturer *t); /* a short-lived thread leaves something to a cohort of all */
pid_t torture_cohort_fork(struct torturer *t);
void torture_cohort_child(struct torturer *t);
void torture_cohort_init(void);
void torture_cohort_settle(void);
void torture_cohort_check(const char *when);
void torture_cohort_report(const struct torture_tally *sum);

#endif
