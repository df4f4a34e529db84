/* SPDX-License-Identifier: MIT */
/*
 * lull rcuscale: its parts. A block is some calls of one scheme in one setup, on a thread of
 * their own that is pinned to the first CPU; blocks of all schemes take turns.
 */
#ifndef LULL_LAB_RCUSCALE_H
#define LULL_LAB_RCUSCALE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/counters.h"
#include "common/json.h"
#include "gp_scheme.h"

enum rcuscale_what {
	WHAT_SYNCHRONIZE,
	WHAT_CALL,
	WHAT_BARRIER,
	WHAT_BARRIER_QUEUED, /* with one callback outstanding */
	NR_LATENCIES,
	WHAT_REPLACE = NR_LATENCIES,
	WHAT_KILL,	 /* of a percpu_ref until it is confirmed */
	WHAT_INTERRUPTS, /* of other processors, by updates at a fixed rate */
	WHAT_WAKE,	 /* synchronize held up by one reader that sleeps */
	WHAT_PACED,	 /* deferred calls at a fixed rate */
	WHAT_UPDATERS,	 /* several threads that replace */
	WHAT_SCAN,	 /* retiring while many hazard pointers are in use */
	NR_WHATS
};

enum rcuscale_setup {
	SETUP_IDLE,	 /* the measuring thread is alone */
	SETUP_BUSY,	 /* a reader on the second CPU, short sections back to back */
	SETUP_THREADS64, /* 64 registered threads that sleep */
	SETUP_SECTIONS,	 /* a reader with sections of 20 us back to back */
	SETUP_STUCK,	 /* replacement: a reader that sleeps in its section, 200 ms at a time */
	NR_SETUPS
};

/* ---- instruments/rcu/run.c ------------------------------------------------------------------- */

struct rcuscale_job {
	enum rcuscale_what what;
	enum rcuscale_setup setup;
	enum bench_gp_way way; /* replace */
	uint32_t most;	       /* calls, or objects */
	bool quiet;	       /* interrupts: no updates, for comparison */
	uint64_t budget_ns;    /* fewer calls when they take longer */
	uint64_t period_ns;    /* paced: from call to call */
};

struct rcuscale_block {
	uint32_t count; /* samples in ns[], or batches of calls in cost[] */
	uint32_t interrupts_known;
	uint64_t elapsed_ns;
	uint64_t interrupts; /* function calls of one CPU by another, all CPUs, anybody's */
	uint64_t heavy;	     /* lull's heavy fences meanwhile */
	struct bench_gp_replaced replaced;
	struct bench_counted counted; /* by the measuring thread: calls, or replacements */
	double cpu_ns;	   /* of the whole process, per retired object, or per wait */
	uint64_t switches; /* paced: of the whole process, from thread to thread */
	uint64_t *until_ns; /* paced: until each callback ran */
	double own_cpu_ns; /* of the thread that waits, in its call, per wait */
	union {
		uint64_t *ns;
		double *cost; /* ns per retired object */
	};
};

struct rcuscale_scheme {
	const char *name;
	const char *what;
	const struct bench_gp_scheme *gp; /* NULL: lull RCU in a process with full fences */
	bool ours;			  /* its heavy fences are lull's */
};

/* Updates per second for WHAT_INTERRUPTS; how long the reader of WHAT_WAKE sleeps. */
#define RCUSCALE_RATE 100u
#define RCUSCALE_SLEEP_NS 2000000u

/* Starts the scheme's worker threads, if it has any, before a measuring thread is pinned. */
void rcuscale_prime(const struct bench_gp_scheme *scheme);
/* out->ns is allocated. */
void rcuscale_run(const struct bench_gp_scheme *scheme, const struct rcuscale_job *job,
		  struct rcuscale_block *out);
/*
 * The same for lull RCU with full fences, which takes a process of its own: this program again,
 * with --block.
 */
void rcuscale_run_full(const struct rcuscale_job *job, struct rcuscale_block *out);
/* One or the other. */
void rcuscale_run_scheme(const struct rcuscale_scheme *scheme, const struct rcuscale_job *job,
			 struct rcuscale_block *out);
/* Return whether the scheme has @what. */
bool rcuscale_can(const struct rcuscale_scheme *scheme, enum rcuscale_what what);
/* That process: @arg is what --block got. Writes the block to stdout. */
void rcuscale_serve_block(const char *arg);
/* Return what runs for @scheme, here or in that process; NULL: for lull RCU. */
const struct bench_gp_scheme *rcuscale_gp(const struct rcuscale_scheme *scheme);

/* ---- instruments/rcu/rounds.c ---------------------------------------------------------------- */

/* A table whose rows take turns, block by block. */
struct rcuscale_rounds {
	const char *title;
	unsigned rounds; /* at most; --runs, or the table's own number */
	size_t count;	 /* of rows */
	double seconds;	 /* for all */
	void *rows;
	const char *(*name)(const void *rows, size_t i); /* of a row, for people */
	/* Run a block of row @i, in about @budget_ns. */
	void (*block)(void *rows, size_t i, uint64_t budget_ns);
};

/*
 * Run rounds while there is time, and one in any case. Rows for which all time is over in the first round have no block, and
 * are left out by name.
 */
void rcuscale_rounds(const struct rcuscale_rounds *r);
/* Return how many rounds of @count rows there can be, at most @rounds: a short block measures its own beginning. */
unsigned rcuscale_rounds_in(double seconds, unsigned rounds, size_t count);

/* ---- instruments/rcu/polled.c ---------------------------------------------------------------- */

enum rcuscale_self_qs { SELF_QS_LATE, SELF_QS_EARLY, SELF_QS_BOTH };

struct rcuscale_polled {
	enum rcuscale_self_qs self_qs;
	uint64_t first_us, next_us;
	unsigned calls, runs;
};

/* The two tables of the early report, and lull's own grace periods beside them; shares of the time: 3. */
void rcuscale_polled(const struct rcuscale_polled *polled, struct jsonout *json);

/* ---- instruments/rcu/interrupts.c, paced.c, updaters.c --------------------------------------- */

/* Tables of the schemes to measure; NULL ends the list. Of calls and rounds there are fewer when @seconds are over. */
void rcuscale_interrupts(const struct rcuscale_scheme *const *schemes, unsigned rounds, double seconds,
			 struct jsonout *json);
void rcuscale_wake(const struct rcuscale_scheme *const *schemes, unsigned rounds, unsigned calls,
		   double seconds, struct jsonout *json);
void rcuscale_paced(const struct rcuscale_scheme *const *schemes, unsigned rounds, double seconds,
		    struct jsonout *json);
void rcuscale_scan(const struct rcuscale_scheme *const *schemes, unsigned rounds, double seconds,
		   struct jsonout *json);
/* By so many threads at a time as --threads says; each number has a table and a share of the time. */
void rcuscale_updaters(const struct rcuscale_scheme *const *schemes, const struct options *opt, struct jsonout *json);

/* ---- instruments/rcu/letter_table.c ---------------------------------------------------------- */

#define RCUSCALE_FLAVORS_MAX 8

/* Settings of --flavor. */
struct rcuscale_letter {
	bool flavor[RCUSCALE_FLAVORS_MAX];
	bool given, skip_self_scan, both;
	unsigned calls, rounds;
	double seconds;
	enum rcuscale_setup setup;
};

/* Bad words are options_bad(). */
void rcuscale_letter_flavors(struct rcuscale_letter *letter, const char *arg);
void rcuscale_letter_check(const struct rcuscale_letter *letter);
/* Six lines for each, as the letter that introduced simple hazard pointers has them. */
void rcuscale_letter(const struct rcuscale_letter *letter, struct jsonout *json);

#endif
