/* SPDX-License-Identifier: MIT */
/*
 * Shares of the given time for the parts of a command: the instruments that `lull compare` runs, the tables of an
 * instrument. `--seconds` means the same in all: all tables together.
 */
#ifndef LULL_LAB_BUDGET_H
#define LULL_LAB_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For --help, after the options. */
#define BUDGET_HELP \
	"\v--seconds is for everything together, and is kept whatever the threads and schemes. With little time there are " \
	"shorter and fewer rounds, then fewer objects; then what comes last is left out. A line at the end, and " \
	"\"left_out\" in the JSON, name what is missing. What comes first is measured in any case, so that a time that is " \
	"too short for it takes longer. Less than a second is for trying things out: nothing is left out then."

/* Time given out so far, and all of it. */
struct budget {
	double seconds; /* for all parts */
	double given;	/* to those before */
};

/*
 * Return the seconds for a part when @gone have gone: its @share of what is left, where @rest are the shares of all parts
 * that are still to come, it included. A part takes more than it is given, to make its tables say, or on a machine that
 * others use: as much more as the parts before did is held back. 0: there is nothing left, or less than @least; the parts
 * behind it get that.
 */
double budget_for(struct budget *b, double gone, double share, double rest, double least);

struct options;
struct jsonout;

/*
 * The time of this command begins: --seconds, or @standard without it, for tables that have @shares together. With less
 * than a second, which is for trying things out, each table has its least and none is left out.
 */
void budget_begin(const struct options *opt, double standard, double shares);
/*
 * Return the seconds for the next table, which has a name for people. 0: they would be less than @least, so it is noted as
 * left out. The first table is measured in any case.
 */
double budget_next(double share, double least, const char *name);
/* Return whether @part of the time has gone; 1: all of it. */
bool budget_is_over(double part);
/* Return the seconds that are left. */
double budget_left(void);
/* Return whether it is for trying things out: nothing is left out then. */
bool budget_is_short(void);
/* Return most_ns of the bench_plan for a table that has @seconds. */
uint64_t budget_most_ns(double seconds);
/* Rounds of a table, while they fit into its time. */
struct budget_rounds {
	uint64_t until, from, longest_ns;
	unsigned done;
};

struct budget_rounds budget_rounds(double seconds);
/* Return whether another of at most @most fits in, if it takes as long as the longest. The first @least do in any case. */
bool budget_round(struct budget_rounds *r, unsigned least, unsigned most);

/* Note a row as left out. */
void budget_leave_out(const char *name, ...) __attribute__((format(printf, 1, 2)));
/* Note the runs that --runs asks for and that a table has not @done. */
void budget_runs(unsigned done, const char *name);
/* Count @ns of measuring, as planned: what a block should take, not what other programs made of it. */
void budget_planned(double ns);
/* Say in a line, and in @json, what was left out. */
void budget_end(struct jsonout *json);

#ifdef __cplusplus
}
#endif

#endif
