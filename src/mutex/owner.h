/* SPDX-License-Identifier: MIT */
/*
 * owner.h - the thread that owns a lock: where the kernel says on which CPU it last ran, and what became of it in fork.
 */
#ifndef LULL_OWNER_H
#define LULL_OWNER_H

#include <lull/mutex.h>

#include "../base/registry.h"

/* Put the calling thread into the table, with signals blocked. */
void lull__owner_enter(void);
uint32_t lull__owner_tid(void); /* the calling thread's id; 0: it is not there yet */

/* The CPU that the calling thread last ran on in user mode, or -1. */
int lull__owner_my_cpu(void);

/*
 * The CPU that @tid last ran on in user mode, or -1 if nothing is known of it. *@seen: what lull__owner_set_seen() said
 * of that thread.
 */
int lull__owner_cpu(uint32_t tid, bool *seen);

/* An oracle with a table of its own has found the calling thread in it, or has not. */
void lull__owner_set_seen(bool seen);

#ifdef LULL__TSAN
/* What a thread did before its exit comes before what is done once the kernel has told of its death. */
extern char lull__owner_exits;
#endif

/* @tid is what the calling thread was called before it forked this process. */
bool lull__owner_was_me(uint32_t tid);
uint32_t lull__owner_generation(void); /* forks from the first process to this one */

/* Let another thread run that will soon be done, whatever its priority. *@rounds: 0 at first. */
void lull__give_way(unsigned *rounds);

#define LULL__LOOK_AGAIN_NS 100000000u /* how long a waiter sleeps at the most that has to look whether all is well */

#ifdef LULL_DEBUG
/* What a thread says that it waits for; for the search for deadlocks. */
struct lull__owner_wish {
	uint32_t tid, seq;
	const struct lull_mutex *waits;
};
void lull__owner_set_wish(const struct lull_mutex *m);	/* the calling thread waits for @m; NULL: no longer */
bool lull__owner_wish(uint32_t tid, struct lull__owner_wish *wish); /* false: @tid waits for nothing, as far as is known */
#endif

void lull__owner_thread_exit(void); /* nobody looks at this thread's memory from then on */
void lull__owner_fork_child(void);

#endif /* LULL_OWNER_H */
