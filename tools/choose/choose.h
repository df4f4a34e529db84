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

/* ---- one workload ---------------------------------------------------------------------------- */

/*
 * Which way to keep an object alive suits a workload that somebody has described. It was measured
 * as described, and again with one of these changed at a time, so that there is something to tell
 * from where on another answer is right.
 */
enum choose_axis { CHOOSE_UPDATES, CHOOSE_HOLD, CHOOSE_OBJECTS, CHOOSE_AXES };

#define CHOOSE_POINTS_MAX 8
#define CHOOSE_WAYS_MAX 16

struct choose_point {
	double ns;	/* thread time of an operation, the hold included; 0: not measured */
	double spread;	/* how far that scatters, relative */
	double waiting; /* bytes that waited to be freed, at most */
};

struct choose_way {
	const char *name;
	unsigned effort; /* to use it rightly; 0 is what everybody knows */
	const char *may_not_block; /* why its readers may not; NULL: they may */
	double object_bytes, thread_bytes; /* what it adds; 0 too where it was not measured */
	/* What one reader that stayed for slow_ns did at update_rate; negative: not measured. */
	double wait_ns;	  /* until another object was freed, at most */
	double held_back; /* bytes that waited, at most */
	struct choose_point point[CHOOSE_AXES][CHOOSE_POINTS_MAX];
};

struct choose_work {
	double updates; /* share of operations, 0 to 1 */
	double hold_ns, objects, size;
	bool block;
	unsigned threads;
	double slow_ns, update_rate; /* how long the slow reader stayed; updates a second */
	/* What was measured, ascending, by axis; the workload itself is point at[axis]. */
	double value[CHOOSE_AXES][CHOOSE_POINTS_MAX];
	size_t values[CHOOSE_AXES], at[CHOOSE_AXES];
	const struct choose_way *way;
	size_t ways;
};

/* What speaks for one of two. */
enum choose_reason {
	CHOOSE_ONLY,   /* there is no other */
	CHOOSE_FASTER, /* beyond doubt */
	CHOOSE_LEANER, /* as fast within the scatter; takes much less memory */
	CHOOSE_EASIER, /* as fast within the scatter; easier to use right */
};

/* Another one would be named from there on. */
struct choose_change {
	enum choose_axis axis;
	bool above;   /* from there upwards, else downwards */
	double from;  /* between two measured points; a share, ns, or objects */
	size_t point; /* the nearest that was measured beyond it */
	size_t way;
	enum choose_reason why; /* for that way, against the one that is named */
};

struct choose_verdict {
	size_t best, second;	/* ways, or CHOOSE_NOTHING */
	enum choose_reason why; /* for best, against second */
	size_t fastest;		/* of those that may be used; best is as fast within the scatter */
	bool matters; /* false: two or more may be used, and all are the same */
	bool excluded[CHOOSE_WAYS_MAX]; /* readers have to block, and may not */
	/* Who would be named if readers had to block, and if they had not. */
	size_t blocking, unblocked;
	struct choose_change change[2 * CHOOSE_AXES];
	size_t changes;
	size_t low[CHOOSE_AXES], high[CHOOSE_AXES]; /* points in between: the same answer */
	double noise; /* median spread of what was compared */
};

void choose_for(const struct choose_work *work, struct choose_verdict *out);
/* Sentences, each a line without its end; the first names the choice. Returns how many. */
size_t choose_for_words(const struct choose_work *work, const struct choose_verdict *verdict,
			char line[CHOOSE_LINES_MAX][CHOOSE_LINE]);

/* ---- a lock ---------------------------------------------------------------------------------- */

/* Which lock, where threads want one at a time: several cases, against what everybody takes. */
#define CHOOSE_LOCKS_MAX 8
#define CHOOSE_CASES_MAX 96

struct choose_lock {
	const char *name;
	unsigned effort;		 /* to use it rightly; 0 is what everybody knows */
	double alone_ns;		 /* lock and unlock, when nobody else wants it; 0: not measured */
	double rate[CHOOSE_CASES_MAX];	 /* sections a second, all threads together; 0: not measured */
	double spread[CHOOSE_CASES_MAX]; /* how far that scatters, relative */
};

struct choose_lock_case {
	unsigned threads;
	bool hogs;   /* other processes burn processor time */
	bool longer; /* sections of longer_ns; else of section_ns */
};

struct choose_locks {
	const struct choose_lock *lock; /* the first is what everybody takes */
	size_t locks;
	const struct choose_lock_case *at;
	size_t cases;
	double section_ns, longer_ns;
	bool sleep; /* section_ns is slept */
	unsigned hogs;
};

/* What a lock gets done against the first one: geometric mean over the cases, and the worst. */
struct choose_gain {
	double mean, worst;
	size_t worst_case;
};

struct choose_lock_verdict {
	size_t best; /* CHOOSE_NOTHING: no two threads were measured */
	struct choose_gain gain[CHOOSE_LOCKS_MAX];
	double longer; /* the best one's in long sections; 0: not measured */
	bool pays_alone, pays_longer;
	double noise; /* spread of what was compared */
};

void choose_lock(const struct choose_locks *in, struct choose_lock_verdict *out);
/* Sentences, as above. */
size_t choose_lock_words(const struct choose_locks *in, const struct choose_lock_verdict *verdict,
			 char line[CHOOSE_LINES_MAX][CHOOSE_LINE]);

#ifdef __cplusplus
}
#endif

#endif
