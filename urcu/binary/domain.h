/* SPDX-License-Identifier: MIT */
/*
 * domain.h - the readers of one flavor, whose words are not lull's, and the grace periods that wait for them.
 *
 * Each flavor is a domain of its own, as in liburcu: its grace periods wait for its readers and for no others. So a
 * section of one flavor may wait for another one, and an online thread of qsbr holds up nobody else.
 *
 * A domain knows a thread from its registration on, by a record that points to the thread's words. The words are
 * what programs see that have inlined their readers; called readers use the same ones, so that a program may mix
 * both.
 *
 * The library carries its own copy of lull, which nobody else sees: none of its names is exported, and it does not
 * count as a copy (src/os/module.c). A program may use another lull beside it. Each of the two waits for its own
 * readers.
 */
#ifndef LULL_URCU_DOMAIN_H
#define LULL_URCU_DOMAIN_H

#include "../../src/base/lock.h"
#include "../../src/base/wait.h"
#include "../worker/workers.h"
#include "urcu_abi.h"

enum urcu_readers {
	URCU_LIGHT,  /* memb, bp: light fences where `has_light` says so, else full ones */
	URCU_FULL,   /* mb: full fences */
	URCU_ONLINE, /* qsbr: full fences in quiescent states, nothing in sections */
};

/* In urcu_reader.slow. */
#define URCU_SLOW_MODE	 1u /* not registered, or light fences are full ones: go out of line */
#define URCU_SLOW_WAITED 2u /* a grace period sleeps until this thread's section ends */

struct urcu_record {
	unsigned long *word;
	uint32_t *slow; /* NULL, or where to store URCU_SLOW_WAITED */
	unsigned long *outside; /* there if slow is: what *word is outside, as called readers leave it */
	int *waiting; /* NULL, or qsbr's flag of that meaning */
	struct urcu_record *next, *prev;
	uint32_t tid;
	bool registered;
	bool enrolled; /* only for waits: it has no section, and is not in `count`; see enrol() in counted.h */
};

struct urcu_domain {
	const char *name;
	enum urcu_readers readers;
	unsigned long *ctr; /* for readers to store in their words */
	uint32_t *futex;    /* where the grace period sleeps; NULL: no reader wakes it */
	int *has_light;	    /* may inlined readers make light fences? NULL: this is not their choice */
	bool only_light;    /* ... and they make no others */

	/* Grace periods; see domain.c. */
	unsigned long number; /* the same as *ctr, at hand */
	struct lull__lock leader;
	uint64_t started, completed;
	struct lull__lock registry;
	struct urcu_record list; /* of registered threads */
	uint32_t linked; /* records in it */
	uint32_t count; /* ... of threads that may have sections */
	bool waits; /* the open grace period began when there were such threads */
	bool slept; /* its leader has slept for it */
	uint64_t began_ns; /* 0: it is not timed */

	struct lull__workers workers; /* for callbacks */
	size_t waiting; /* callbacks of all workers when a report last looked; leader only */
	struct urcu_record *(*record)(void); /* the calling thread's */
	void (*leave)(void);		     /* the calling thread exits */
};

extern struct urcu_domain *const lull__urcu_domains[]; /* ends with NULL */
extern struct urcu_domain lull__urcu_memb, lull__urcu_mb, lull__urcu_bp, lull__urcu_qsbr, lull__urcu_signal;

/*
 * Enter the outermost section, with a light fence that binds the compiler alone: where it must be a real one, that is up
 * to the caller.
 */
static inline void urcu_enter(unsigned long *word, const unsigned long *number)
{
	/*
	 * ORDER URCU-1: the word before the section's loads; pairs with URCU-1 in urcu_begin() (heavy); without it the
	 * scan misses a reader that found the object; model/urcu/enter.tpl
	 * RCU-4: the previous section's loads before this word. Inlined readers have no such order: URCU-2.
	 */
	lull_store_release(word, lull_load_relaxed(number));
	lull_compiler_barrier();
}

/* Store @to, which says that a section ends, or that another one begins or ends in a section. */
static inline void urcu_leave(unsigned long *word, unsigned long to)
{
	/*
	 * ORDER URCU-2: the section's loads before the word; pairs with URCU-2 in urcu_end() and urcu_scan(); without it an
	 * object is freed while its last reader reads; model/urcu/exit.tpl
	 */
	lull_store_release(word, to);
	/*
	 * ORDER URCU-3: the word before the look at the futex, or at a flag of the thread's own before that; pairs
	 * with URCU-3 in sleep_for() (heavy); without it the grace period sleeps for ever; model/urcu/wake.tpl
	 * A light fence, as in urcu_enter().
	 */
	lull_compiler_barrier();
}

/* Make ready what waits for the first use: the choice of fences above all. */
void lull__urcu_init(void);

/* The calling thread's registrations have been ended, and no one would end another one: it is for one section. */
extern __thread bool lull__urcu_exiting __attribute__((tls_model("initial-exec")));
/* The calling thread exits; a registration for waits alone may outlive it. */
extern __thread bool lull__urcu_leaving __attribute__((tls_model("initial-exec")));

/*
 * Register the calling thread, or, if that was for waits alone, now for sections. @reads: it may have sections. Returns false
 * if the thread's exit will go unnoticed: then it must unregister before.
 */
bool lull__urcu_register(struct urcu_domain *d, struct urcu_record *record, bool reads);
void lull__urcu_unregister(struct urcu_domain *d, struct urcu_record *record);

/*
 * Before the lock of the list of threads. A signal handler whose first section registers the thread takes that lock, so
 * a thread that is not registered blocks signals until it has unlocked. Sections of qsbr register no thread.
 */
struct urcu_hold {
	bool masked;
	sigset_t saved;
};
void lull__urcu_hold_signals(struct urcu_domain *d, struct urcu_hold *hold);
void lull__urcu_release_signals(const struct urcu_hold *hold);

/* Return what readers store in their words while grace period @number is the newest. */
unsigned long lull__urcu_word(const struct urcu_domain *d, uint64_t number);

/* Wake the grace period that sleeps for the calling thread, which has just left its section. */
void lull__urcu_wake(struct urcu_domain *d, struct urcu_record *record);

/* See rcu.h. synchronize() is not called by a thread in a section of this domain. */
void lull__urcu_synchronize(struct urcu_domain *d);
uint64_t lull__urcu_cookie(struct urcu_domain *d);
bool lull__urcu_poll(struct urcu_domain *d, uint64_t cookie);

/* ---- callbacks.c ------------------------------------------------------------------------------------ */

/* What workers ask. Two functions are a domain's own: its @of_reads registers the calling thread for good. */
void lull__urcu_worker_waits(struct lull__workers *of, uint64_t *number);
void lull__urcu_worker_leaves(struct lull__workers *of);
bool lull__urcu_worker_is_stuck(struct call_rcu_data *w, const char *call);
#define URCU_WORKERS(of_thread, of_reads)                                                          \
	{                                                                                          \
		.wait = lull__urcu_worker_waits, .reads = (of_reads), .chosen = (of_thread),       \
		.leave = lull__urcu_worker_leaves, .is_stuck = lull__urcu_worker_is_stuck,         \
		.thread_name = "lull-call-rcu", .leaves_threads = LULL_URCU_VERSION < 14,          \
	}

/* Say that @call never returns, because it waits for a grace period. */
void lull__urcu_never_returns(const char *call);

/* Count the callbacks that wait, of all workers. Leader only. */
size_t lull__urcu_waiting(struct urcu_domain *d);

/* defer_rcu() */
struct urcu_deferred {
	struct lull_head head;
	void (*fct)(void *p);
	void *p;
};
struct urcu_deferred *lull__urcu_deferred(void (*fct)(void *p), void *p); /* NULL: there is no memory */
bool lull__urcu_many_deferred(void); /* ... wait, so the caller should, too, if it can */

/* ---- load.c ----------------------------------------------------------------------------------------- */

/* Say so if a module uses liburcu itself, and end the process if that has words of this library. Not for handlers. */
void lull__urcu_look_beside(void);
void lull__urcu_look_no_more(void); /* in a forked child */

/* For life.c. */
void lull__urcu_life_init(void);
void lull__urcu_fork_child(uint32_t old_tid);
void lull__urcu_bp_fork_child(void);

#endif /* LULL_URCU_DOMAIN_H */
