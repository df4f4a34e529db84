/* SPDX-License-Identifier: MIT */
/*
 * owner.h - does the thread that owns a lock run just now? The oracles of mutex.h.
 */
#ifndef LULL_OWNER_H
#define LULL_OWNER_H

#include <lull/mutex.h>

#include "../base/internal.h"

enum lull__runs {
	LULL__RUNS_NO,	     /* it does not: spinning is in vain, or in its way */
	LULL__RUNS_UNKNOWN,  /* nobody knows */
	LULL__RUNS_BELIEVED, /* as far as is known */
	LULL__RUNS_YES,	     /* the kernel says so */
};

/* What one waiter has seen of the thread that it waits for. All zeros: nothing. */
struct lull__watch {
	uint32_t tid, cpu, beats;
};

extern uint32_t lull__spinners_max; /* of one lock; 0: there is one CPU */

void lull__owner_init(void);	    /* reads LULL_OWNER_ORACLE */
void lull__owner_thread_exit(void); /* nobody looks at this thread's memory from then on */
void lull__owner_fork_child(void);

/* The calling thread's id; its first lock makes it known to the others. */
uint32_t lull__owner_self(void);

/* The calling thread is about to try for a lock; has it; has let it go, or given up. */
void lull__owner_tries(void);
void lull__owner_acquired(void);
void lull__owner_released(void);

#ifdef LULL__TSAN
/* What a thread did before its exit comes before what is done once the kernel has told of its death. */
extern char lull__owner_exits;
#endif

enum lull__runs lull__owner_runs(struct lull__watch *watch, uint32_t tid);
bool lull__owner_slice_over(void); /* the caller's time slice is, and it runs on by the kernel's leave */

/* @tid is what the calling thread was called before it forked this process. */
bool lull__owner_was_me(uint32_t tid);
uint32_t lull__owner_generation(void); /* forks from the first process to this one */

/* Let another thread run that will soon be done, whatever its priority. *rounds: 0 at first. */
void lull__give_way(unsigned *rounds);

#define LULL__LOOK_AGAIN_NS 100000000u /* how long a waiter sleeps at the most that has to */

#ifdef LULL_DEBUG
/*
 * Deadlocks, in debug builds: a waiter notes what it waits for, and follows from owner to owner, again
 * every now and then. Aborts when that leads back to itself.
 */
void lull__owner_waits(const struct lull_mutex *m, uint32_t tid); /* m NULL: no longer */
#endif

#endif /* LULL_OWNER_H */
