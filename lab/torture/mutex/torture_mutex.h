/* SPDX-License-Identifier: MIT */
/*
 * lull torture: how the mutex is tortured.
 *
 * Each lock guards a pair of plain numbers. They are equal whenever the lock is free; its owner makes them differ for a
 * while; and in a pause they are equal to the number of times that the lock was taken. Readers lock in all ways there
 * are, and take tokens, for which they wait with a condition variable. Updaters arrange meetings: threads on stacks of
 * the torture's own that lock, wait for a broadcast, are cancelled, or exit while others wait for them; the last one
 * frees the lock. They also start processes that are killed. A stack cannot be read once its thread was joined, so that
 * a waiter that looks at a thread that is gone is found.
 *
 * A wake-up that is lost is found without a clock. A thread that is about to call the library says so, and for which
 * lock. If all threads in a call for one lock sleep in the kernel and have not moved from one look to the next, none of
 * them is about to wake another: then the word must say that the lock is held and that a thread waits, and name an
 * owner that exists. The machine's speed does not matter: a slow thread does not sleep.
 */
#ifndef LULL_LAB_TORTURE_MUTEX_H
#define LULL_LAB_TORTURE_MUTEX_H

#include <lull/cond.h>
#include <lull/mutex_robust.h>

#include "torture/torture.h"

/* Facts about a lock for the threads that watch it. Never freed: it outlives the lock's own memory. */
struct mutex_watch {
	const uint32_t *word; /* NULL: there is no lock any more */
	const uint32_t *ready; /* of a lock with a condition; not 0: no thread has to wait for it */
	bool is_shared;	       /* by processes */
	/*
	 * Time after which waiters look for themselves: a thread that should have woken them may have died, and no
	 * wake-up is lost if they look within this time, or the kernel wakes them. 0: no thread dies.
	 */
	uint32_t heal_us;
	uint32_t entries;      /* times it was taken; written by the owner */
};

#define MUTEX_HEAL_US 6000000u /* waiters for a robust lock look again after 5 s at most */

struct mutex_pair {
	uint64_t a, b; /* accessed plainly, so that a sanitizer sees the order */
};

struct mutex_lock {
	struct lull_mutex m;
	struct mutex_pair pair;
	uint64_t taken;
	struct mutex_watch watch;
} __attribute__((aligned(TORTURE_LINE)));

/* A thread that takes two locks takes them in this order. */
#define MUTEX_LOCKS 4u

enum mutex_form { MUTEX_MEET, MUTEX_STARVE, MUTEX_BROADCAST, MUTEX_CANCEL, MUTEX_EXIT, MUTEX_KILL, MUTEX_FORMS };

struct torture_mutexes {
	struct mutex_lock lock[MUTEX_LOCKS];
	uint64_t busy, timeouts, tokens, tokens_late, freed, cancelled, exited, killed, died, visited;
};

extern struct torture_mutexes torture_mutexes;

/* ---- torture/mutex/lock.c: locks, in all ways ------------------------------------------------ */

/* False: it is busy, or was for too long. */
bool torture_mutex_take(struct lull_mutex *m, struct mutex_watch *watch, uint64_t *rng);
void torture_mutex_drop(struct lull_mutex *m, struct mutex_watch *watch);
/* Use the pair. The caller has the lock. */
void torture_mutex_visit(struct mutex_pair *pair, uint64_t ns, const char *where);
struct mutex_lock *torture_mutex_any(uint64_t *rng);
/* A deadline, past or a little later. */
uint64_t torture_mutex_deadline(uint64_t *rng);

/* ---- torture/mutex/cond.c: condition variables ----------------------------------------------- */

void torture_token_init(void);
void torture_token_use(struct torturer *t);
void torture_token_check(const char *when);
/* Signal or broadcast @c, with @m held or not; @m is unlocked. */
void torture_mutex_announce(struct lull_cond *c, struct lull_mutex *m, bool all, bool held);

/* ---- torture/mutex/short_lived.c, torture/mutex/thread_end.c: meetings, and threads that end ---- */

void torture_meet_init(void);
void torture_meet(struct torturer *t, enum mutex_form form);
/* pthread_create() on the calling updater's stack number @n; join all, each as soon as it has ended. */
void torture_meet_start(struct torturer *maker, unsigned n, struct torturer *t, void *(*run)(void *));
void torture_meet_join(struct torturer *maker, struct torturer *const *t, unsigned n, const void *result);
#define MEET_MOST 6u
/* Return the watch for the lock of a meeting; an updater has one meeting at a time. */
struct mutex_watch *torture_meet_watch(const struct torturer *maker);

void torture_mutex_cancel(struct torturer *t);
void torture_mutex_exit(struct torturer *t);

/* ---- torture/mutex/processes.c: processes ---------------------------------------------------- */

void torture_kill_init(void);
void torture_mutex_kill(struct torturer *t);
void torture_kill_check(const char *when);

/* ---- torture/mutex/sleepers.c: who is in a call ---------------------------------------------- */

struct mutex_op;

void torture_watch_init(void);
/* Note that from here on the calling thread may sleep, wake and be woken for the lock of @watch. */
struct mutex_op *torture_op_begin(struct mutex_watch *watch);
void torture_op_end(struct mutex_op *op);
void torture_op_forget(pid_t pid); /* a process that was killed in the middle of something */
/* Watch another lock from here on; .word NULL: none, because the lock's memory goes. */
void torture_watch_set(struct mutex_watch *watch, const struct mutex_watch *to);

void *torture_watcher(void *arg);

#endif
