/* SPDX-License-Identifier: MIT */
/*
 * hooks.h - all that the lower floors know of the upper ones: four tables that life.c fills in.
 *
 * Everything else is called downwards. Inside the core one pointer leads up as well: lull__hazptr.on_unpark,
 * which tells the reclaimer that a hazard slot it waits for has been set.
 */
#ifndef LULL_HOOKS_H
#define LULL_HOOKS_H

#include <lull/debug.h>
#include <lull/rcu.h>

/* ---- mechanisms: first use, threads that come and go, fork ------------------------------------- */

/* Functions of one mechanism, for the life of the process and of its threads. NULL: there is nothing to do. */
struct lull__mechanism {
	const char *name;
	void (*init)(void);		      /* once per process, before the first use */
	void (*enter)(void);		      /* the calling thread's record has just been linked in */
	void (*unregister)(const char *call); /* lull_thread_unregister(): abort if in use, else give back */
	void (*exit)(void);		      /* the calling thread exits */
	void (*leave)(void);		      /* the calling thread's record is about to be taken out */
	uint32_t (*tid)(void);		      /* the id in the calling thread's record; 0: not registered yet */
	void (*fork_child)(uint32_t old_tid); /* in a forked child, whose only thread was @old_tid before */
	void (*retry)(void);		      /* try again what failed: lull__retry() in process.h */
	void (*pay)(void);		      /* the calling thread's section has ended, which owed: lull__rcu_owe() */
};

/*
 * In the order of init, enter, exit, leave and fork. Ends with a name that is NULL. enter() and leave() run
 * with the registry lock held and signals blocked.
 */
extern const struct lull__mechanism lull__mechanisms[];

/* ---- watch: waits that last, callbacks that do not return -------------------------------------- */

struct lull__wait;

struct lull__watch {
	/* Make the page of counts, for other processes to read; in @memory if that cannot be. Signals are blocked. */
	struct lull_stats_page *(*page_make)(struct lull_stats_page *memory);
	/* @wait, whose kind and beginning are set, is about to sleep; @wait is over. */
	void (*wait_begin)(struct lull__wait *wait);
	void (*wait_end)(struct lull__wait *wait);
	void (*wait_left)(const struct lull__wait *wait); /* by the calling thread; it may go on in another */
	/*
	 * @wait goes on because of @holders threads or slots, of which the first @named are described.
	 * Publish it. Returns when the next report is due; 0: now.
	 */
	uint64_t (*wait_blame)(struct lull__wait *wait, const struct lull_stall *first, unsigned named, unsigned holders);
	/* Report @wait, and fill the rest of @first in. Calls the program's hook: with no lock held. */
	void (*wait_report)(const struct lull__wait *wait, struct lull_stall *first, unsigned named);
	/* The calling thread defers past the backlog's hard limit: so much waits. */
	void (*over_limit)(size_t items, size_t bytes);
	void (*callbacks_begin)(void); /* the calling thread is about to run callbacks */
	void (*callbacks_end)(void);   /* ... and has run them */
	bool (*start)(void);	       /* start the thread that checks callbacks before it is needed: is it there? */
	void (*process_ends)(void);    /* end the thread that checks callbacks, if there is one */
};

extern const struct lull__watch *const lull__watch; /* NULL: built without */

/* ---- oracles: does the owner of a lock run? (owner_runs/owner_runs.h) --------------------------- */

struct lull__oracle;

/* In the order in which they are tried. Ends with NULL. */
extern const struct lull__oracle *const lull__oracles[];

/* ---- check: how the library is used, in debug builds ------------------------------------------- */

struct lull__queue;
struct lull_mutex;

/* What a thread waits for, without a deadline. */
enum lull__awaits {
	LULL__AWAITS_NOTHING,
	LULL__AWAITS_LATER, /* what it did, but first it runs callbacks or a hook */
	LULL__AWAITS_MUTEX,	   /* what: it */
	LULL__AWAITS_GP,	   /* number: the cookie */
	LULL__AWAITS_HAZPTR,	   /* what, len: the addresses; number: the tick of the clock */
	LULL__AWAITS_RECLAIMER,	   /* number: the ticket of a barrier */
	LULL__AWAITS_PARKED,	   /* a barrier, for what slots name */
	LULL__AWAITS_COHORT,	   /* what: it */
};

struct lull__awaited {
	enum lull__awaits kind;
	const void *what;
	size_t len;
	uint64_t number;
};

#ifdef LULL_DEBUG
struct lull__checks {
	void (*may_block)(const char *call); /* the calling thread may sleep in @call: abort if it holds up what it waits for */
	/* @item is about to be deferred from @site: abort if it is deferred already. @func is NULL for free(3). */
	void (*deferred)(int kind, void *item, lull_rcu_func func, const void *site);
	/* Entries [q->ready, @ready) of @q wait for nothing any more: poison them, so that a late read is found. */
	void (*ready)(const struct lull__queue *q, uint64_t ready);
	void (*reclaimed)(void *item); /* @item is about to be freed, or its callback called */
	void (*protects_none)(const char *call); /* abort if the calling thread protects a retired object */
	void (*mutex_waits)(const struct lull_mutex *m, uint32_t tid); /* thread @tid sleeps for @m, without a deadline */
	void (*waits)(uint64_t deadline_ns, const struct lull__awaited *awaited);
	/*
	 * With no lock of the library's held, abort if what is recorded is part of a circle. Return when to do that again, or
	 * @again_ns, when the thread looks again in any case.
	 */
	uint64_t (*look_for_circle)(uint64_t again_ns);
	void (*calls_back)(const void *cohort); /* the calling thread is in a callback of @cohort, or has left it (NULL) */
	/* A barrier has begun to wait for @item, which a slot names (NULL: for none yet); or has no longer to. */
	void (*awaited)(const void *item, bool begins);
	/* @call is about to wait for slots that only the functions of hazptr_fenced.h may set. */
	void (*fenced_waits)(const char *call, const void *addr, size_t len);
	void (*fork)(bool begins); /* the process is about to fork, or has, in the parent. Signals are blocked */
	bool (*any_domain_open)(void); /* may the calling thread be in a section of a domain? */
};

extern const struct lull__checks lull__checks;

#define LULL__CHECK(hook, ...)                                                                     \
	do {                                                                                       \
		if (lull__checks.hook)                                                             \
			lull__checks.hook(__VA_ARGS__);                                            \
	} while (0)
#define LULL__CHECK_CIRCLE(again_ns) lull__checks.look_for_circle(again_ns)
#else
#define LULL__CHECK_CIRCLE(again_ns) (again_ns)
int lull__no_check(int first, ...); /* is never called, nor its arguments evaluated */
#define LULL__CHECK(hook, ...) ((void)sizeof(lull__no_check(0, __VA_ARGS__)))
#endif

/*
 * Record what the calling thread is about to sleep for, unless it has a deadline: fields of struct lull__awaited. Locks of
 * the library may be held.
 */
#define LULL__CHECK_WAITS(deadline_ns, ...)                                                                              \
	LULL__CHECK(waits, (deadline_ns), &(const struct lull__awaited){ __VA_ARGS__ })

#endif /* LULL_HOOKS_H */
