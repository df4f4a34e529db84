/* SPDX-License-Identifier: MIT */
/*
 * lull top: another process's page of stats.h, read, checked, and shown.
 *
 * find.c reads it, check.c says whether it can be one, figures.c makes rates and latencies of two samples, thread.c
 * asks /proc who the threads are; lines.c and json.c put it in words for people and programs, screen.c on a terminal.
 * Nothing that comes from the process is trusted, its threads' names included: it may be broken, which is why a user
 * looks at it, or hostile.
 */
#ifndef LULL_TOOL_TOP_H
#define LULL_TOOL_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lull/stats.h>

#define TOP_PID_MAX 4194304u /* no kernel has higher ones */

/* ---- the page of a process (find.c) ---------------------------------------------------------- */

/* Copy of the page at one time: @len bytes of it, the others are zero. */
struct top_copy {
	struct lull_stats_page page;
	size_t len;
	uint64_t taken_ns; /* CLOCK_MONOTONIC */
};

/* Two copies, one right after the other: what is not the same in both was being changed. */
struct top_sample {
	struct top_copy first, again;
};

enum top_state {
	TOP_OK,
	TOP_ENDED, /* the process has */
	TOP_WRONG, /* top_process.wrong says what */
};

struct top_process {
	uint32_t pid;	  /* of the process, also when a thread of it was asked for */
	uint32_t inner;	  /* its number in its own namespace, which differs in a container */
	uint32_t alive;	  /* a thread that has not exited; the first one may have */
	int proc;	  /* /proc/PID; stays with this process when its number is used again */
	int file;	  /* the page; -1: the program has closed it */
	char link[48];	  /* "task/TID/fd/N", of the file */
	uint64_t address; /* of the page, where there is no file */
	char wrong[256];
};

/* Looks for the page. In the first case of enum top_state the process can be sampled. */
enum top_state top_find(struct top_process *p, uint32_t pid);
/* Take a sample; notices if the process has begun to run another program since. */
enum top_state top_take(struct top_process *p, struct top_sample *sample);
void top_forget(struct top_process *p);

/* ---- whether it can be one (check.c) --------------------------------------------------------- */

/*
 * Return whether the figures make sense; otherwise @why, of @size bytes, says what is wrong. @inner is the process's
 * number in its own namespace.
 */
bool top_check(const struct top_sample *sample, uint32_t inner, char *why, size_t size);

/* Counts, by where they are in the page. */
struct top_counter {
	const char *key;   /* in JSON */
	const char *label; /* on the screen */
	size_t at;
	bool late; /* a difference of counts that are not noted in one moment: it may step back */
	bool bytes;
};

#define TOP_COUNTERS 12u
extern const struct top_counter top_counters[TOP_COUNTERS];

uint64_t top_count(const struct lull_stats_page *page, const struct top_counter *counter);

/* False: there cannot be so many grace periods of these lengths as are said to have ended. */
bool top_latency_fits(const struct top_sample *sample);

/* ---- figures (figures.c, waits.c) ------------------------------------------------------------ */

struct top_rate {
	bool known; /* false: the count went backwards */
	double per_s;
};

/*
 * Latencies in ns of the grace periods that were timed: one in eight of the short ones. They come from buckets:
 * percentiles may be off by half, and a maximum may only be a bound.
 */
struct top_latency {
	bool known;
	uint64_t count; /* of all; the others need timed */
	bool timed;
	double mean, p50, p99, max;
	bool max_exact;
};

struct top_backlog {
	uint64_t now, peak, hard; /* hard 0: no limit */
};

struct top_thread {
	uint32_t tid; /* 0: no thread in particular */
	bool gone;
	char name[64];	/* as it is: any bytes; "?": not known */
	char state;	/* the kernel's letter; 0: not known */
	char where[64]; /* the kernel's function that it sleeps in; "": not known */
};

struct top_wait {
	uint32_t kind;
	struct top_thread waiter, holder;
	uint32_t holders, depth;
	bool age_known;
	uint64_t age_ns;
	uint64_t site;
	char site_name[96]; /* "program+0x12f0", or "" */
};

/* All that is shown. */
struct top_view {
	uint32_t pid;
	char command[64]; /* any bytes */
	uint32_t threads, fence, debug;
	uint64_t began_ns;
	bool up_known;
	double up_s;
	double seconds; /* that the rates are of */
	uint64_t total[TOP_COUNTERS];
	struct top_rate rate[TOP_COUNTERS];
	struct top_latency lately, ever;
	struct top_backlog items, bytes;
	uint64_t slots_in_use, kept;
	struct top_wait waits[LULL_STATS_WAITS]; /* the longest first */
	unsigned nr_waits;
};

/*
 * Compute the figures between two samples that were checked; @before NULL: since the process began. Fill all of @view
 * but command and what /proc says about the threads.
 */
void top_figures(struct top_view *view, const struct top_sample *before,
		 const struct top_sample *after);
/* The waits of the page that have not changed between the copies. */
void top_waits(struct top_view *view, const struct top_sample *sample);

/* ---- who the threads are (thread.c) ---------------------------------------------------------- */

/* Fills command, and name, state, where and site_name of the waits. */
void top_ask(struct top_view *view, const struct top_process *p);
/* From the contents of /proc/PID/task/TID/{comm,stat,wchan}; NULL: could not be read. */
void top_thread_is(struct top_thread *t, const char *comm, const char *stat, const char *wchan);

/* ---- in words (words.c, lines.c) ------------------------------------------------------------- */

/* Printable ASCII only: '?' for each byte that is not. */
void top_clean(char *text);
const char *top_fence_name(uint32_t fence);
const char *top_state_name(const struct top_thread *t); /* "runs", "sleeps", "has exited" ... */

#define TOP_LINES 128u
#define TOP_COLUMNS 256u

enum top_look { TOP_PLAIN, TOP_TITLE, TOP_HEADING, TOP_CALM, TOP_WARN };

struct top_lines {
	unsigned count;
	unsigned columns; /* that there are; at most TOP_COLUMNS - 1 */
	char text[TOP_LINES][TOP_COLUMNS];
	enum top_look look[TOP_LINES];
};

void top_lines(struct top_lines *lines, const struct top_view *view, unsigned columns);

/* ---- for programs (json.c, or nojson.c in a build without jansson) ---------------------------- */

/* Exit 2 in a build without jansson. */
void top_need_json(void);
/* One line, allocated; NULL: no memory. */
char *top_told(const struct top_view *view);

/* ---- on a terminal (screen.c, or noscreen.c in a build without ncurses) ---------------------- */

/* NULL: there is a screen; otherwise why there is none. */
const char *top_screen_open(void);
void top_screen_close(void);
void top_screen_show(const struct top_view *view, double interval_s);
/* Wait this long, or for a key. False: the user wants to leave. */
bool top_screen_wait(double seconds);

#endif
