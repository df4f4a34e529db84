/* SPDX-License-Identifier: MIT */
/*
 * lull torture: what the run as a whole is made of, and the flavors do not see: options, report, pauses,
 * the watch, and what is done to the library beside readers and updaters.
 */
#ifndef LULL_LAB_RUN_H
#define LULL_LAB_RUN_H

#include "torture/torture.h"

/* ---- torture/options.c ----------------------------------------------------------------------- */

struct options;

/* Reads the command line; anything wrong ends the process as bad input. */
void torture_options(struct options *opt, int argc, char **argv);
/* Settings that do not go together, or that this build or machine cannot have: the same. */
void torture_options_check(void);
/* This process is a round, and no supervisor. */
bool torture_is_round_of_wild(void);

/* ---- torture/report.c ------------------------------------------------------------------------ */

void torture_report(void);
struct jsonout;
void torture_write_json(struct jsonout *json);
void torture_status_line(uint64_t now_ns);

/* ---- torture/settle.c ------------------------------------------------------------------------ */

/*
 * Wait for everything that was deferred, and check that each element is where it belongs. Called when no thread holds
 * or removes anything any more.
 */
void torture_settle(const char *when);

/* ---- torture/pause.c ------------------------------------------------------------------------- */

void torture_pause_all(void);
void torture_change_activity(uint64_t *rng);
void torture_shuffle(uint64_t *rng);
void torture_change_reclaim(uint64_t *rng);

/* ---- torture/hang.c -------------------------------------------------------------------------- */

/* The thread that finds out when nothing will ever move again. */
void torture_watch_start(void);
void torture_watch_stop(void);
uint64_t torture_all_work(void); /* rounds of all threads, and pauses */

/* ---- torture/stall.c ------------------------------------------------------------------------- */

/* The library reports stalls, and the run listens. Before the threads are made. */
void torture_stall_init(void);
void *torture_staller(void *arg);
void torture_stall_report(void);

/* ---- torture/threads.c: threads and processes that come and go ------------------------------- */

void torture_life_init(void);
void *torture_churner(void *arg);
void *torture_forker(void *arg);

/* ---- torture/flood.c: callbacks by the thousand, and barriers that are counted --------------- */

void *torture_flooder(void *arg);
void *torture_barrier_tester(void *arg);

/* ---- torture/crowd.c: many threads that sleep, many that are short-lived --------------------- */

void torture_crowd_check(void); /* bad input where the machine cannot have so many */
void torture_sleepers_start(void);
void torture_sleepers_stop(void);
void torture_short_lived(uint64_t *rng);

/* ---- torture/limits.c: in a pause ------------------------------------------------------------ */

void torture_limit_init(void);
/* Meet the limits. Called while all threads pause and nothing waits. */
void torture_limit_meet(void);
void torture_limit_report(void);
/* Grow the calling thread's stack, which must not have to grow while there is no memory. */
void torture_grow_stack(void);

/* ---- torture/all_flavors.c ------------------------------------------------------------------- */

/* One flavor after the other, each in a process of its own. Returns the worst exit status. */
int torture_all(struct options *opt, struct jsonout *json, char **argv);

/* ---- torture/run.c --------------------------------------------------------------------------- */

/* A run of the flavor that is set, from its first thread to its last; not of one in rounds. */
void torture_run(void);

/* ---- torture/wild: rounds, each in a process of its own ---------------------------------------- */

/* Return the exit status. */
int torture_wild_supervise(struct jsonout *json);
int torture_wild_round(void);
void wild_list(void);

/* ---- torture/faults.c; in the program with the faults, lab/torture/busted/main.c ------------------ */

void torture_faults_list(void);
/*
 * Returns with the fault switched on and, if it was not given, the flavor that has it; else becomes
 * the program that can, or ends this one as bad input.
 */
void torture_fault_set(const char *name, char **argv);

#endif
