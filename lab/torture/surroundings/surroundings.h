/* SPDX-License-Identifier: MIT */
/*
 * lull torture --flavor wild: what its parts share.
 *
 * The library as a guest in processes that are not nice to it: limits, sandboxes, calls that fail, a standard error
 * that is not read, first users with odd priorities, bursts of threads, forks, ends of every kind.
 *
 * A supervisor runs rounds, one after the other. Each is lull-lab again, in a process of its own, under a set of
 * conditions that is drawn. A round uses everything that the library has for a moment, checks that nothing was freed
 * early, that all callbacks have run and that memory is as before, and ends. The supervisor judges what it sees from
 * outside: a round that does not end, dies, exits with a wrong status, or says something unexpected on standard error.
 * A round's draws follow from its seed, which is printed, and its conditions can be given: so it can be repeated.
 *
 * A condition says for itself whether it took effect. One that never does, over many rounds, is a failure, too.
 */
#ifndef LULL_LAB_SURROUNDINGS_H
#define LULL_LAB_SURROUNDINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "torture/run.h"

/* In the order of the table in conditions.c. */
enum wild_condition {
	/* Limits and sandboxes. */
	WILD_FSIZE,
	WILD_NO_MEMBARRIER,
	WILD_LOST_MEMBARRIER,
	WILD_NO_MEMFD,
	WILD_NO_AFFINITY,
	WILD_NO_OPENAT,
	WILD_NO_THREADS,
	WILD_NO_MEMORY,
	WILD_NO_CLONE,
	/* Calls of the library that fail now and then. */
	WILD_FAIL_MALLOC,
	WILD_FAIL_THREADS,
	WILD_FAIL_MMAP,
	WILD_FAIL_MEMBARRIER,
	/* Standard error, and the environment. */
	WILD_STDERR_FULL,
	WILD_STDERR_DEAD,
	WILD_STDERR_REUSED,
	WILD_STDERR_CLOSED,
	WILD_TYPO,
	WILD_FULL_FENCE,
	/* The first user of the library, and where all threads run. */
	WILD_FIRST_IDLE,
	WILD_FIRST_FIFO,
	WILD_FIRST_NICE,
	WILD_FIRST_PINNED,
	WILD_ONE_CPU,
	WILD_NICE,
	WILD_IDLE,
	/* The program's work. */
	WILD_BURST,
	WILD_SMALL_STACK,
	WILD_LATE_USE,
	WILD_STALL,
	WILD_FLOOD,
	WILD_IDLE_FREES,
	WILD_CROWD,
	WILD_BIG_PARKED,
	WILD_COOKIES,
	WILD_FAULT,
	WILD_FORK,
	WILD_RAW_FORK,
	WILD_POLL,
	WILD_CALLER,
	/* The end of the process; else main returns. */
	WILD_END_MAIN_EXITS,
	WILD_END_SIGTERM,
	WILD_END_EXIT,
	WILD_END_AT_ONCE,
	WILD_END_CONTEXT,
	/* Another flavor of torture in the place of a bit of everything. */
	WILD_WORK,
	WILD_WORK_LAST = WILD_WORK + 8,
	NR_WILD
};

typedef uint64_t wild_set;
#define WILD_BIT(condition) (UINT64_C(1) << (condition))

_Static_assert(NR_WILD <= 64, "a set has a bit for each");

/* Groups of conditions; a round has at most one condition of each group. */
enum wild_group { GROUP_NONE, GROUP_STDERR, GROUP_FIRST, GROUP_MODE, GROUP_END, GROUP_WORK };

struct wild_row {
	const char *name, *what;
	enum wild_group group;
	wild_set against;	     /* others that it does not go with */
	const char *(*why_not)(void); /* this machine or build cannot have it, for that reason; else NULL */
	const char *line[2];	     /* lines that the library may print because of it */
};

/* ---- conditions.c ---------------------------------------------------------------------------- */

const struct wild_row *wild_row(enum wild_condition c);
/* Bad input ends the process. */
wild_set wild_parse(const char *names);
/* "fork,burst"; in a buffer that the next call uses again. */
const char *wild_names(wild_set set);
bool wild_fits(wild_set set, enum wild_condition c);
/*
 * Return why the condition cannot be had here; NULL: it can. Known failures that are not mended yet are a reason, too.
 */
const char *wild_why_not(enum wild_condition c);
/* Draw the conditions of a round with @first among them. */
wild_set wild_draw(enum wild_condition first, uint64_t *rng);

/* ---- surround.c: before the round's program begins, in its process ------------------------------ */

/* Prepare the process. @err is the pipe of the round's standard error: it may write to @err[1]. */
void wild_surround(wild_set set, uint64_t seed, const int err[2]);
const char *wild_preload_path(void); /* NULL: the library with failing calls is not there */

/* ---- sandbox.c --------------------------------------------------------------------------------- */

/* Returns whether the calls of @nr are answered with @error from now on, in all threads. */
bool wild_forbid(const long *nr, unsigned count, int error);
bool wild_forbid_membarrier(int error);
bool wild_forbid_open(int error);
bool wild_forbid_threads(int error);

/* ---- child.c: a round, seen from outside ------------------------------------------------------- */

struct wild_end {
	char failure[512]; /* "": none */
	uint64_t ns;
	uint64_t effect[NR_WILD];
};

void wild_run_round(wild_set set, uint64_t seed, struct wild_end *end);

/* ---- hostage.c --------------------------------------------------------------------------------- */

/* Print what the kernel says of each thread of @pid. */
void wild_dump_threads(pid_t pid);

/* ---- supervisor.c ------------------------------------------------------------------------------ */

struct wild_record {
	uint64_t rounds, failed, effect;
};

extern struct wild_record wild_records[NR_WILD];

/* ---- summary.c --------------------------------------------------------------------------------- */

void wild_note_failure(wild_set set, uint64_t seed, const char *text);
void wild_print_summary(uint64_t rounds);
void wild_write_json(struct jsonout *json, uint64_t rounds);

/* ---- round.c: what happens in a round's process -------------------------------------------------- */

extern wild_set wild_on;

bool wild_has(enum wild_condition c);
/* Return whether the wait since @since_ns has taken half of the supervisor's patience. */
bool wild_is_overdue(uint64_t since_ns);

/* ---- effects.c ----------------------------------------------------------------------------------- */

void wild_took_effect(enum wild_condition c, uint64_t n);
/* Check the effects that can be asked for at the end; print all for the supervisor. */
void wild_check_effects(void);

/* ---- mix.c: a bit of everything ------------------------------------------------------------------ */

void wild_mix_init(void);
/* The calling thread does @n things; any thread. */
void wild_mix(uint64_t *rng, unsigned n);
/* One deferred callback; false: there is no memory. */
bool wild_post(uint64_t *rng, size_t bytes);
/*
 * Check that all callbacks have run, or, if @alone, will run without help, and that nothing waits. Called when all
 * threads have stopped.
 */
void wild_mix_settle(bool alone);
void wild_mix_end(void);
/* Start anew in a forked child, which does not count callbacks posted before. */
void wild_mix_child(void);

/* ---- pressure.c: limits that are met for a while ------------------------------------------------- */

void wild_become_limited(void); /* after what only root may do */
void wild_press(bool on);

/* ---- guests.c: the library's own threads ------------------------------------------------------- */

void wild_first_use(uint64_t *rng);
void wild_check_guests(void);
/* A handler mends it, on whatever thread the callback runs. */
void wild_fault_in_callback(void);

/* ---- load.c: what goes on beside the mix, in threads of its own ------------------------------------ */

void wild_load_start(void);
void wild_load_child(void);
void wild_load_stop(void);
void wild_cookies(void);

/* ---- burst.c -------------------------------------------------------------------------------------- */

/* Threads come and go; with nothing else at work, memory is as before. */
void wild_burst(uint64_t *rng);

/* ---- forks.c --------------------------------------------------------------------------------------- */

void wild_forks(uint64_t *rng);

/* ---- ends.c ---------------------------------------------------------------------------------------- */

void wild_workers_start(uint64_t *rng);
void wild_workers_stop(void);
_Noreturn void wild_end_round(uint64_t *rng);

#endif
