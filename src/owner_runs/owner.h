/* SPDX-License-Identifier: MIT */
/*
 * owner.h - the threads that own locks: on which CPU each last ran, and its thread ids before fork.
 */
#ifndef LULL_OWNER_H
#define LULL_OWNER_H

#include <lull/mutex.h>

#include "../base/registry.h"

/* Put the calling thread into the table, with signals blocked. */
void lull__owner_enter(void);
uint32_t lull__owner_tid(void); /* return the calling thread's id; 0: it is not in the table yet */

/* Return the CPU that the calling thread last ran on in user mode, or -1. */
int lull__owner_my_cpu(void);

/*
 * Return the CPU that @tid last ran on in user mode, or -1 if nothing is known of it. *@seen: the value that
 * lull__owner_set_seen() got for that thread.
 */
int lull__owner_cpu(uint32_t tid, bool *seen);

/* Record whether an oracle with a table of its own has found the calling thread in it. */
void lull__owner_set_seen(bool seen);

#ifdef LULL__TSAN
/*
 * Tells ThreadSanitizer that what a thread did before its exit comes before the lock that gets -EOWNERDEAD.
 */
extern char lull__owner_exits;
#endif

/* Is @tid the thread id that the calling thread had before it forked this process? */
bool lull__owner_was_me(uint32_t tid);
uint32_t lull__owner_generation(void); /* count the forks from the first process to this one */

/* Does the kernel prefer @tid to the calling thread: by policy, realtime priority, nice value? false: or not known. */
bool lull__owner_outranks_me(uint32_t tid);

/* Let another thread run that will soon be done, whatever its priority. *@rounds: 0 at first. */
void lull__give_way(unsigned *rounds);

/* Which mutex a thread waits for; for reports and the search for circles. */
struct lull__owner_wish {
	uint32_t tid, seq;
	bool deadline;
	const struct lull_mutex *waits;
};
/* The calling thread is about to sleep for @m, perhaps with a deadline; NULL: no longer. */
void lull__owner_set_wish(const struct lull_mutex *m, bool deadline);
bool lull__owner_wish(uint32_t tid, struct lull__owner_wish *wish); /* does @tid wait, as far as is known? */
/* Return the owner of @m, which may be freed by now: so the kernel reads its word. 0: none. */
uint32_t lull__owner_of(const struct lull_mutex *m);

void lull__owner_thread_exit(void); /* let no thread read this thread's memory from then on */
void lull__owner_fork_child(void);

#endif /* LULL_OWNER_H */
