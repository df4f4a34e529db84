/* SPDX-License-Identifier: MIT */
/*
 * Which protection to use: a recommendation in words that follows from measured figures, and from
 * nothing else. Knows no scheme by name; no input and no output of its own, so that it can be
 * tested.
 */
#ifndef LULL_TOOL_CHOOSE_H
#define LULL_TOOL_CHOOSE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CHOOSE_FRACTIONS_MAX 16
#define CHOOSE_LINES_MAX 12
#define CHOOSE_LINE 400

enum choose_family {
	CHOOSE_UNPROTECTED, /* a limit, never recommended */
	CHOOSE_LOCK,	    /* readers write to something that they share */
	CHOOSE_DEFERRED,    /* readers do not; memory waits for them, or updaters do */
};

struct choose_row {
	const char *name;
	enum choose_family family;
	unsigned effort;    /* to use it rightly; 0 is what everybody knows */
	const char *demand; /* what it asks of the program, for "where ..."; NULL: nothing in
			       particular */
	bool long_readers;  /* a reader may keep what it found for long, and sleep, at nobody's cost
			     */
	bool bounded;	    /* what waits to be freed is bounded whatever readers do */
	double mops[CHOOSE_FRACTIONS_MAX];   /* all threads together; 0: not measured */
	double spread[CHOOSE_FRACTIONS_MAX]; /* how far the figures scatter, relative */
	/* Until who waits for readers goes on, one of them being busy; 0: not measured. */
	double wait_ns;
	double waiting_bytes; /* most at a time, when every operation of a thread is an update */
};

struct choose_input {
	const struct choose_row *row;
	size_t rows;
	const unsigned *percent; /* of updates, ascending */
	size_t percents;
	unsigned threads;
};

#define CHOOSE_NOTHING ((size_t)-1)

struct choose_pick {
	size_t row;	/* to be used: the least effort among those as fast as the fastest */
	size_t fastest; /* of those that ask nothing in particular */
	size_t beyond;	/* faster than that beyond doubt, but with a demand; else CHOOSE_NOTHING */
	size_t least;	/* the fastest of the least effort: what everybody would have taken */
};

struct choose_result {
	struct choose_pick
		pick[CHOOSE_FRACTIONS_MAX]; /* .row is CHOOSE_NOTHING where nothing was measured */
	double noise;			    /* median spread */
	bool matters;	 /* somewhere something is faster than what everybody would have taken */
	double crossing; /* percent of updates from which the best lock beats the best deferral; <
			    0: none */
};

void choose(const struct choose_input *in, struct choose_result *out);
/* Sentences, each a line without its end. Returns how many. */
size_t choose_words(const struct choose_input *in, const struct choose_result *result,
		    char line[CHOOSE_LINES_MAX][CHOOSE_LINE]);

#ifdef __cplusplus
}
#endif

#endif
