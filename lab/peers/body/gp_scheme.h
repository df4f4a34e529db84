/* SPDX-License-Identifier: MIT */
/*
 * Operations that `lull rcuscale` measures: wait for grace periods, defer until after them; with hazard pointers, wait
 * until no reader names an object. Each scheme's bodies come from the same text (gp_body.h), compiled around its own
 * calls. It also measures what it takes to end a percpu_ref (counts/percpu_ref.c).
 */
#ifndef BENCH_GP_SCHEME_H
#define BENCH_GP_SCHEME_H

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include "flavor.h"

/* Ways to retire a replaced object. */
enum bench_gp_way {
	BENCH_GP_CALL,	/* with a callback that frees it */
	BENCH_GP_FREE,	/* by its address alone */
	BENCH_GP_HELP,	/* with a callback, past a limit run by the thread itself (lull) */
	BENCH_GP_PURE,	/* with a callback that any thread may run, because it only frees (lull) */
	BENCH_GP_DEFER, /* liburcu's defer_rcu(): a bounded queue of its own */
	BENCH_GP_NOW,	/* freed at once: the limit, for want of readers */
	BENCH_GP_WAYS
};

struct bench_gp_replaced {
	double ns;     /* per object, from the first malloc() until all are freed */
	uint64_t peak; /* most that were retired and not freed */
};

#define BENCH_GP_COST_BATCH 500u
#define BENCH_GP_SLEEP_NS 1000000u

struct bench_gp_scheme {
	const char *name;
	const char *what;
	void (*thread_enter)(void);
	void (*thread_leave)(void);
	/* For a thread that sleeps: the scheme knows it, and need not wait for it. */
	void (*sleeper_enter)(void);
	void (*sleeper_leave)(void);
	/*
	 * Read sections of hold_ns (0: one access) back to back, until *stop. From
	 * BENCH_GP_SLEEP_NS on the reader does not run meanwhile, it sleeps.
	 */
	void (*read)(const uint32_t *stop, uint64_t hold_ns);
	/*
	 * One read section in which the thread sleeps for sleep_ns, from *held on; *left_ns is the time at which it
	 * leaves. await_holder() is for the thread that must wait for it.
	 */
	void (*hold)(uint64_t sleep_ns, sem_t *held, uint64_t *left_ns);
	void (*await_holder)(void);
	/*
	 * The next three write the time that each of most operations took to ns, stop at
	 * deadline_ns, and return how many it were. On a thread that has entered. call: from the
	 * call to the moment when the callback runs, one at a time. barrier: with `queued`
	 * callbacks outstanding. NULL, as the two above, where a scheme has no such thing.
	 */
	unsigned (*synchronize)(uint64_t *ns, unsigned most, uint64_t deadline_ns);
	unsigned (*call)(uint64_t *ns, unsigned most, uint64_t deadline_ns);
	unsigned (*barrier)(uint64_t *ns, unsigned most, uint64_t deadline_ns, unsigned queued);
	/*
	 * Defer n calls, one every period_ns, and wait until all have run. call_ns: how long each call itself took;
	 * until_ns: from the call until its callback ran. NULL where call is, and where callbacks run in the calling
	 * thread.
	 */
	void (*paced)(unsigned n, uint64_t period_ns, uint64_t *call_ns, uint64_t *until_ns);
	/* Kill most counts, one after the other; ns: until each kill is confirmed. Else as synchronize. May be NULL. */
	unsigned (*kill)(uint64_t *ns, unsigned most, uint64_t deadline_ns);
	bool ways[BENCH_GP_WAYS]; /* none: those below are NULL */
	/* n times: allocate 64 bytes, publish, retire what was there. */
	void (*replace)(enum bench_gp_way way, uint64_t n, struct bench_gp_replaced *out);
	/* The same in a place that only the calling thread knows, and without waiting. BENCH_GP_CALL, _FREE, _NOW. */
	void (*replace_own)(enum bench_gp_way way, uint64_t n);
	/*
	 * Retires n objects that were made before; ns each, for every batch of
	 * BENCH_GP_COST_BATCH. All are freed at the return; gives the processor time of the whole
	 * process per object.
	 */
	double (*retire_cost)(enum bench_gp_way way, unsigned n, double *ns);
};

/* Busy-waits; see ref_scheme.h. */
void bench_ref_delay(uint64_t ns);

extern const struct bench_gp_scheme bench_gp_rcu, bench_gp_rcu_qsbr, bench_gp_liburcu_memb,
	bench_gp_liburcu_mb, bench_gp_liburcu_qsbr, bench_gp_liburcu_bp, bench_gp_ck_epoch,
	bench_gp_free_at_once, bench_gp_hazptr, bench_gp_hazptr_fenced, bench_gp_hazptr_rcu,
	bench_gp_rcu_cohort, bench_gp_shazptr, bench_gp_shazptr_wildcard, bench_gp_ck_hp,
	bench_gp_percpu_ref, bench_gp_membarrier;

#endif
