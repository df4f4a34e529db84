/* SPDX-License-Identifier: MIT */
/*
 * oracle.h - does the thread that owns a lock run just now? The oracles of mutex.h.
 */
#ifndef LULL_ORACLE_H
#define LULL_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

enum lull__runs {
	LULL__RUNS_NO,	     /* it does not: spinning is in vain, or in its way */
	LULL__RUNS_UNKNOWN,  /* nobody knows */
	LULL__RUNS_BELIEVED, /* as far as is known */
	LULL__RUNS_YES,	     /* the kernel says so */
};

/* What one waiter has seen of the thread that it waits for. All zeros: nothing. */
struct lull__sighting {
	uint32_t tid, cpu, beats;
};

struct lull__oracle {
	const char *name;
	bool inline_locks; /* it need not be told of locks */
	bool when_asked;   /* never chosen unless asked for by name */
	bool (*usable)(void);
	enum lull__runs (*runs)(struct lull__sighting *sighting, uint32_t tid);
	/* The calling thread: locks for the first time; is about to try for a lock; has it. NULL: need not be told. */
	void (*thread_enter)(void);
	void (*tries)(void);
	void (*acquired)(void);
	/* It has let go of a lock, or given up. Also told when another oracle has been chosen since. */
	void (*released)(void);
	/* Its time slice is over, and it runs on by courtesy of the kernel. */
	bool (*slice_over)(void);
};

/* The two that need nothing but rseq, or nothing at all. The wings have others; hooks.h lists all. */
extern const struct lull__oracle lull__oracle_rseq, lull__oracle_none;

enum lull__runs lull__oracle_rseq_runs(struct lull__sighting *sighting, uint32_t tid);
bool lull__oracle_rseq_usable(void);

extern uint32_t lull__spinners_max; /* of one lock; 0: there is one CPU */

void lull__oracle_init(void); /* reads LULL_OWNER_ORACLE */

/* What the chosen one says, and is told. */
enum lull__runs lull__oracle_runs(struct lull__sighting *sighting, uint32_t tid);
bool lull__oracle_slice_over(void);
bool lull__oracle_inline_locks(void);
void lull__oracle_thread_enter(void);
void lull__oracle_tries(void);
void lull__oracle_acquired(void);
void lull__oracle_released(void);

#endif /* LULL_ORACLE_H */
