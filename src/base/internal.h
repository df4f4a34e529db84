/* SPDX-License-Identifier: MIT */
/*
 * internal.h - what the library's own sources share and users do not see.
 *
 * Lock order, outermost first: the lock of hazard barriers, a reclaim queue's consumer lock
 * (callbacks run under it), the leader's lock of grace periods (the stall hook runs under it), a
 * shard of hazard slots, the lists of who waits in shazptr.c, registry lock, the leader's lock of
 * heavy fences. The watchdog's lock (vigil.c) is taken with consumer locks held, and nothing under it.
 */
#ifndef LULL_INTERNAL_H
#define LULL_INTERNAL_H

#include <pthread.h>
#include <signal.h>

#include <lull/debug.h>
#include <lull/hazptr.h>
#include <lull/rcu.h>
#include <lull/reclaim.h>
#include <lull/shazptr.h>

#include "../check/hooks.h"
#include "lock.h"

#define LULL__CACHELINE 64

/* ---- os/linux.c: what the kernel gives ------------------------------------------------------ */

/*
 * Sleep while *word == value; woken, timed out, interrupted or different: returns. ns 0: no limit.
 */
void lull__futex_wait(uint32_t *word, uint32_t value, uint64_t timeout_ns);
void lull__futex_wake(uint32_t *word, int how_many);

/*
 * The same until a point in time (UINT64_MAX: none), for who wakes with a bit of @bitset; 0: woken;
 * -EAGAIN, -EINTR, -ETIMEDOUT: not.
 */
int lull__futex_wait_until(uint32_t *word, uint32_t value, uint32_t bitset, uint64_t deadline_ns, bool shared);
void lull__futex_wake_some(uint32_t *word, int how_many, uint32_t bitset, bool shared);
/* Wake @wake who sleep on @from, and let the others sleep on @to. 0; -EAGAIN: *from is not @value any more. */
int lull__futex_requeue(uint32_t *from, uint32_t value, int wake, uint32_t *to, bool shared);

bool lull__membarrier_register(void); /* true when private expedited works for this process */
int lull__membarrier(void);	      /* 0 or -errno */
int lull__visit_all_cpus(void);	      /* run on each CPU that any thread may use; 0 or -errno */

bool lull__join(pthread_t thread, uint64_t timeout_ns); /* below a second; false: it does not end */
void lull__fine_timers(void); /* this thread's timed sleeps end when they should */
uint32_t lull__gettid(void);
bool lull__peek(const uint32_t *from, uint32_t *to); /* false: there is no such memory */
unsigned lull__cpus_allowed(void);  /* that the calling thread may run on, 1 at least */
unsigned lull__cpus_possible(void); /* CPU numbers are below this, also of CPUs that are plugged in later */
uint64_t lull__now_ns(void);				      /* CLOCK_MONOTONIC */
uint64_t lull__deadline_ns(uint64_t timeout_ms);	      /* from now, never 0 */

/* ---- os/task.c: what /proc tells about a thread ------------------------------------------------- */

struct lull__task {
	char name[32]; /* "?" when it is gone */
	char where[192];
	enum lull_thread_state state;
};

void lull__task_look(uint32_t tid, struct lull__task *task); /* 0: nobody */
void lull__thread_name(uint32_t tid, char *buf, size_t size); /* async-signal-safe; "?" when it is gone */

/* ---- os/symbol.c ------------------------------------------------------------------------------------ */

void lull__symbol(const void *addr, char *buf, size_t size); /* "" for NULL; takes no lock, the loader's neither */

/* ---- no cancellation where it could end a thread that has a lock of ours -------------------------- */

static inline void lull__no_cancel(int *saved)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, saved);
}

static inline void lull__may_cancel(int saved)
{
	pthread_setcancelstate(saved, NULL);
}

/* ---- os/shared_file.c: memory that other processes can look at ------------------------------------ */

struct lull__shared_file {
	int fd;
	uint64_t device, inode;
};

void *lull__shared_file_make(struct lull__shared_file *file, const char *name, size_t size); /* NULL: none */
void lull__shared_file_drop(struct lull__shared_file *file, void *at, size_t size);

/* ---- debug.c: the only place that prints ---------------------------------------------------- */

/* One line through the message hook, then abort. For misuse and for states that cannot be. */
void lull__die(const char *format, ...) __attribute__((noreturn, cold, format(printf, 1, 2)));
void lull__say(const char *format, ...) __attribute__((cold, format(printf, 1, 2)));
uint32_t lull__stall_ms(void);
void lull__report_stall(const struct lull_stall *stall) __attribute__((cold));

/* ---- thread.c ------------------------------------------------------------------------------- */

/* The registry: every thread's record, linked through next/prev, under this lock. */
extern struct lull__lock lull__registry_lock;
extern struct lull__thread lull__registry; /* list head */
extern uint32_t lull__registry_count;	    /* written under the lock */

void lull__init(void);	 /* once per process; every slow path begins with it */
void lull__ensure_registered(void);
bool lull__note_exit(void); /* this thread's exit will be noticed; false: it is past that already */
void lull__enter_unregistered(void); /* a read section of a thread past its exit handling */
void lull__leave_unregistered(void);
void lull__shazptr_enter_unregistered(uintptr_t addr); /* the same for a simple hazard pointer */
void lull__shazptr_leave_unregistered(void);

/* Take the registry lock to look at the records; *saved is what registry_leave() puts back. */
struct lull__registry_hold {
	sigset_t saved;
	bool masked;
};
void lull__registry_enter(struct lull__registry_hold *hold);
void lull__registry_leave(const struct lull__registry_hold *hold);

/* The word of a thread outside: where light fences are real ones, each lock must go out of line. */
static inline uint64_t lull__rest_word(void)
{
	return lull__fence_full_mode ? LULL__RCU_REST : 0;
}

#define lull__for_each_thread(t)                                                                   \
	for ((t) = lull__registry.next; (t) != &lull__registry; (t) = (t)->next)

/* ---- fence.c -------------------------------------------------------------------------------- */

void lull__fence_init(void);
void lull__fence_fork_child(void);

/* ---- rcu.c ---------------------------------------------------------------------------------- */

/* Push the grace period of @cookie as far as it goes without waiting; true when it is over. */
bool lull__rcu_advance(lull_rcu_cookie cookie);
/* Is its heavy fence over? It covers what was unlinked before the cookie was taken. */
bool lull__rcu_has_begun(lull_rcu_cookie cookie);
/* As lull__rcu_advance(), waiting, until deadline_ns at the latest (0: for ever). The caller is in no section. */
bool lull__rcu_wait_until(lull_rcu_cookie cookie, uint64_t deadline_ns);
void lull__rcu_wait(lull_rcu_cookie cookie);
lull_rcu_cookie lull__rcu_cookie(void);
void lull__rcu_thread_exit(void); /* the calling thread's section, if any, is dropped */
void lull__rcu_fork_child(void);
void lull__rcu_no_section(const char *call); /* abort when waiting here would never end */

/* ---- hazptr.c, hazscan.c, hazwait.c --------------------------------------------------------- */

struct lull__queue;
struct lull__hazptr_table;

void lull__hazptr_thread_enter(void);	  /* the calling thread's context, on registration ... */
void lull__hazptr_thread_exit(void);	  /* ... whatever it still protects, on exit ... */
void lull__hazptr_thread_leave(void);	  /* ... and no more slots from then on */
void lull__hazptr_no_protection(const char *call); /* abort when its context protects something */
void lull__hazptr_fork_child(uint32_t old_tid);
size_t lull__hazptr_slots(void); /* that a scan looks at */
void lull__hazptr_wake(void);	 /* all who sleep for slots, and barriers that wait for what slots name */

/* The calling thread's table, large enough for the slots of now if there is memory; NULL: none. */
struct lull__hazptr_table *lull__hazptr_reserve(void);
/* Fill it with what all slots say. NULL: nothing to do. */
void lull__hazptr_collect(struct lull__hazptr_table *table);
/* [ready, wait) of @q: ready what no slot named when the table was filled. The consumer. */
void lull__hazptr_sift(struct lull__queue *q, struct lull__hazptr_table *table);
/*
 * Let the slots that name what was kept in @taken say LEFT, and look again. From then on the
 * reclaimer hears when one of them says something else. False: nothing was kept.
 */
bool lull__hazptr_settle(struct lull__queue *taken);

/* Whom a barrier waits for: one of those that protect what it waits for, and how much that is. */
void lull__hazptr_left(struct lull_stall *stall);

/*
 * Wait until every slot that names an address in [addr, addr + len) has been seen not to, false at
 * the deadline (0: none). @call: abort in its name when the calling thread protects that; NULL: no.
 * @full: the domain of hazptr_fenced.h.
 */
bool lull__hazptr_wait(const char *call, const void *addr, size_t len, uint64_t deadline_ns, bool full);

/* ---- shazptr.c ------------------------------------------------------------------------------ */

bool lull__shazptr_held(void); /* by the calling thread */
void lull__shazptr_not_held(const char *call);
void lull__shazptr_thread_exit(void); /* what the calling thread still holds is cleared */
void lull__shazptr_fork_child(void);
/* Under the registry lock: the calling thread comes and goes, or does so for one acquisition. */
void lull__shazptr_thread_enter(void);
void lull__shazptr_thread_leave(void);
void lull__shazptr_late_enter(uintptr_t addr);
void lull__shazptr_late_leave(void);

/* ---- defer.c, reclaim.c --------------------------------------------------------------------- */

void lull__reclaim_thread_exit(void); /* the calling thread's leftovers go to the reclaimer */
void lull__reclaim_fork_child(void);
void lull__reclaim_backlog(size_t *items, size_t *bytes);
void lull__reclaim_limits(uint64_t *items, uint64_t *bytes); /* the hard ones */

/* ---- faults --------------------------------------------------------------------------------- */

/*
 * Only a build with LULL_BUSTED (tests/torture) contains these: `lull torture --busted NAME`
 * switches one of them on, to prove that it is found. Elsewhere nothing is left of them.
 */
#ifdef LULL_BUSTED
#include "busted.h"
#else
#define LULL__BUSTED(fault)	      false
#define lull__busted_word(thread, word) (word)
#define lull__busted_linger()	      ((void)0)
#define lull__busted_pause()	      ((void)0)
#define lull__busted_run(head)	      ((head)->func(head))
#define lull__busted_drop(bag)	      ((void)0)
#endif

#include "../reclaim/bag.h"

#endif /* LULL_INTERNAL_H */
