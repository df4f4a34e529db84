/* SPDX-License-Identifier: MIT */
/*
 * owner_runs.h - the oracles of mutex.h: is the thread that owns a lock running?
 */
#ifndef LULL_OWNER_RUNS_H
#define LULL_OWNER_RUNS_H

#include <stdbool.h>
#include <stdint.h>

enum lull__runs {
	LULL__RUNS_NO,	     /* no: spinning is in vain, or in its way */
	LULL__RUNS_UNKNOWN,  /* it is not known */
	LULL__RUNS_BELIEVED, /* yes, as far as is known */
	LULL__RUNS_YES,	     /* the kernel says so */
};

/* Record of one waiter about the thread that it waits for. All zeros: it has seen nothing. */
struct lull__sighting {
	uint32_t tid, cpu, beats;
};

struct lull__oracle {
	const char *name;
	bool inline_locks; /* the oracle need not be told of locks */
	bool when_asked;   /* choose it only by name */
	bool (*usable)(void);
	enum lull__runs (*runs)(struct lull__sighting *sighting, uint32_t tid);
	/* Sleep for an owner, as lull__futex_wait_bits() does, which is called if this is NULL. */
	int (*wait)(uint32_t *word, uint32_t value, uint32_t bitset, uint64_t deadline_ns, bool shared);
	/* NULL: the oracle need not be told. */
	void (*thread_enter)(void); /* the calling thread locks for the first time */
	void (*tries)(void);	    /* the calling thread is about to try for a lock */
	void (*acquired)(void);	    /* ... and has it */
	void (*released)(void);	    /* ... has released it, or given up; told to all oracles */
	/* Is the calling thread's time slice over, and does it run on time that the kernel has granted? */
	bool (*slice_over)(void);
};

/* The two that need only rseq, or nothing, and those that a build may leave out. life.c lists them. */
extern const struct lull__oracle lull__oracle_rseq, lull__oracle_none;
extern const struct lull__oracle lull__oracle_bpf, lull__oracle_kernel, lull__oracle_slice;

enum lull__runs lull__oracle_rseq_runs(struct lull__sighting *sighting, uint32_t tid);
bool lull__oracle_rseq_usable(void);

extern uint32_t lull__spinners_max; /* how many threads may spin for one lock; 0: there is one CPU */

void lull__oracle_init(void); /* reads LULL_OWNER_ORACLE */
void lull__oracle_decide(void); /* choose one, if none has been chosen: at each thread's first lock */

/* Call the functions of the chosen oracle. */
enum lull__runs lull__oracle_runs(struct lull__sighting *sighting, uint32_t tid);
bool lull__oracle_slice_over(void);
bool lull__oracle_inline_locks(void);
void lull__oracle_thread_enter(void);
void lull__oracle_tries(void);
bool lull__oracle_waits(void); /* does it have a wait() of its own? */
int lull__oracle_wait(uint32_t *word, uint32_t value, uint32_t bitset, uint64_t deadline_ns, bool shared);
void lull__oracle_sleeps(void); /* the calling thread is about to sleep for the first time in its wait */
void lull__oracle_acquired(void);
void lull__oracle_released(void);

#endif /* LULL_OWNER_RUNS_H */
