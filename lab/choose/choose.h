/* SPDX-License-Identifier: MIT */
/*
 * Which protection to use: a verdict in words that follows from measured figures, and from nothing else. Knows no
 * scheme by name; no input and no output of its own, so that it can be tested.
 */
#ifndef LULL_LAB_CHOOSE_H
#define LULL_LAB_CHOOSE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CHOOSE_LINES_MAX 16
#define CHOOSE_LINE 500
#define CHOOSE_NOTHING ((size_t)-1)

/* ---- ratios ---------------------------------------------------------------------------------- */

#define CHOOSE_ROUNDS_MAX 41
#define CHOOSE_ROUNDS_LEAST 6 /* with fewer, even least and most are bounds that are wrong too often */

/* One figure, measured several times. In round i all that is compared was measured at the same time. */
struct choose_rounds {
	double ns[CHOOSE_ROUNDS_MAX];
	size_t count;
};

/* The median of the ratios, and bounds between which it lies with a certainty of about 99 % (97 % for the fewest rounds). */
struct choose_ratio {
	double low, median, high;
};

/*
 * Return a / b, round by round: what disturbed both does not count. With fewer rounds than CHOOSE_ROUNDS_LEAST
 * the bounds are 0 and infinity.
 */
struct choose_ratio choose_ratio(const struct choose_rounds *a, const struct choose_rounds *b);
/* Compare two doubles, for qsort(). */
int choose_compare(const void *a, const void *b);

/* ---- one workload ---------------------------------------------------------------------------- */

/*
 * Chooses a way to keep an object alive for a workload that a user has described. It was measured as described, and
 * again with one setting changed at a time, which shows from where on another answer is right.
 */
enum choose_axis { CHOOSE_UPDATES, CHOOSE_HOLD, CHOOSE_OBJECTS, CHOOSE_AXES };

#define CHOOSE_POINTS_MAX 8
#define CHOOSE_WAYS_MAX 16

struct choose_point {
	struct choose_rounds rounds; /* thread time of an operation, the hold included */
	double ns;		     /* their median; 0: not measured */
	double least, most;	     /* of them */
	double waiting;		     /* bytes that waited to be freed, at most */
};

struct choose_way {
	const char *name;   /* as in tables */
	const char *said;   /* in a sentence: "RCU", "hazard pointers" */
	const char *header; /* where it is declared; NULL: nowhere */
	unsigned effort; /* to use it rightly; 0: known to all */
	const char *may_not_block; /* why its readers may not; NULL: they may */
	bool unbounded; /* one reader that stalls can hold up any amount of memory */
	bool shared;	/* all readers of an object write to the same cache line */
	double read_ns; /* a read, all threads on one object; 0: not measured */
	double read_least, read_most; /* its rounds */
	double predicted_ns; /* the same with work.predict threads; 0: not known */
	double object_bytes, thread_bytes; /* that it adds; 0 also if not measured */
	/* Effects of one reader that stays for slow_ns, at update_rate; negative: not measured. */
	double wait_ns;	  /* until another object was freed, at most */
	double held_back; /* bytes that waited, at most */
	bool memory_unknown; /* there was no time to measure object_bytes, or held_back */
	struct choose_point point[CHOOSE_AXES][CHOOSE_POINTS_MAX];
};

struct choose_work {
	double updates; /* share of operations, 0 to 1 */
	double hold_ns, objects, size;
	bool block;
	unsigned threads, cpus;
	unsigned predict; /* threads that the user's machine may have; 0: as many as were measured */
	bool checked;	/* a debug build: lull's own ways take longer than they would */
	double load;	/* CPUs that other programs used meanwhile */
	double seconds; /* that were given to all of it */
	double slow_ns, update_rate; /* how long the slow reader stayed; updates a second */
	/* Measured values of each axis, ascending; the workload itself is point at[axis]. */
	double value[CHOOSE_AXES][CHOOSE_POINTS_MAX];
	size_t values[CHOOSE_AXES], at[CHOOSE_AXES];
	const struct choose_way *way;
	size_t ways;
};

enum choose_outcome {
	CHOOSE_NONE,   /* nothing was measured that may be used */
	CHOOSE_NOISY,  /* the figures scatter too much to choose by */
	CHOOSE_CLOSE,  /* two or more may be the right one; best is NOTHING, among[] says which */
	CHOOSE_LEVEL,  /* all take the same time: best is the one of the least effort */
	CHOOSE_WINNER, /* best is the one of the least effort among those that are as fast as the fastest */
};

struct choose_pick {
	enum choose_outcome outcome;
	size_t best, fastest;	     /* ways, or CHOOSE_NOTHING */
	bool level[CHOOSE_WAYS_MAX]; /* as fast as the fastest, beyond doubt */
	bool among[CHOOSE_WAYS_MAX]; /* CHOOSE_CLOSE: one of these */
	bool tied[CHOOSE_WAYS_MAX];  /* not slower than the best, as far as the figures say */
	bool unranked[CHOOSE_WAYS_MAX]; /* their figures scatter too much; the others are compared without them */
	/* The answer rests on these two: their ratio, and half its width. The rival is the fastest but for the best. */
	size_t rival, than;
	struct choose_ratio lead;
	double scatter;
};

/* Another answer on that side of what was measured. */
struct choose_change {
	enum choose_axis axis;
	bool above;
	size_t still;	       /* the last point in that direction with the same answer */
	size_t point;	       /* the first one with another */
	struct choose_pick pick; /* that answer: CHOOSE_WINNER or CHOOSE_LEVEL */
};

struct choose_verdict {
	struct choose_pick pick;
	size_t next;	/* the fastest of those that are slower beyond doubt, or CHOOSE_NOTHING */
	size_t usual;	/* the usual first choice: the least effort; may be best */
	/* Ways to name if readers had to sleep, if memory had to stay bounded, if readers need not sleep. */
	size_t sleeping, bounded, awake;
	size_t predicted; /* way that reads fastest with work.predict threads; CHOOSE_NOTHING: no prediction */
	struct choose_change change[2 * CHOOSE_AXES];
	size_t changes;
	size_t low[CHOOSE_AXES], high[CHOOSE_AXES]; /* points in between: the same answer */
};

/* The figures must repeat so well that there is a verdict at all, and that it is called certain. */
#define CHOOSE_SCATTER_MOST 0.15
#define CHOOSE_SCATTER_LITTLE 0.04
#define CHOOSE_BEHIND 1.10 /* times the fastest, at least, beyond doubt: slower in another run, too */

void choose_for(const struct choose_work *work, struct choose_verdict *out);
/*
 * Write sentences, each a line without its end, and return how many. The first CHOOSE_HEADLINES say what to use
 * and why, what it costs, and how sure that is; the others what would change the answer.
 */
#define CHOOSE_HEADLINES 3
size_t choose_for_words(const struct choose_work *work, const struct choose_verdict *verdict,
			char line[CHOOSE_LINES_MAX][CHOOSE_LINE]);

/* ---- a lock ---------------------------------------------------------------------------------- */

/* Chooses a lock, where threads want one at a time: several cases, against the usual lock. */
#define CHOOSE_LOCKS_MAX 8
#define CHOOSE_CASES_MAX 96

struct choose_lock {
	const char *name;
	unsigned effort;		 /* to use it rightly; 0: known to all */
	double alone_ns; /* lock and unlock, when no other thread wants it; 0: not measured */
	/* Time for each section, all threads together: 1e9 / sections a second. No rounds: not measured. */
	struct choose_rounds section[CHOOSE_CASES_MAX];
};

struct choose_lock_case {
	unsigned threads;
	bool hogs;   /* other processes burn processor time */
	bool longer; /* sections of longer_ns; else of section_ns */
};

struct choose_locks {
	const struct choose_lock *lock; /* the first is the usual lock */
	size_t locks;
	const struct choose_lock_case *at;
	size_t cases;
	double section_ns, longer_ns;
	bool sleep; /* section_ns is slept */
	unsigned hogs;
};

/* Work done with a lock, divided by the first lock's, round by round: geometric mean of the cases, and the worst. */
struct choose_gain {
	double mean, worst;
	size_t worst_case;
};

struct choose_lock_verdict {
	bool measured; /* false: no two threads were */
	size_t best;   /* CHOOSE_NOTHING: not measured, or none that is certain */
	size_t most;   /* gets most done, though best may be level with it and easier to use */
	bool close[CHOOSE_LOCKS_MAX]; /* one of these would be best; none: the figures scatter too much */
	struct choose_gain gain[CHOOSE_LOCKS_MAX];
	double longer; /* the best one's in long sections; 0: not measured */
	bool pays_alone, pays_longer;
	double noise; /* half the width of the ratio to most; of the median lock */
	size_t rounds; /* the fewest of those that were compared */
};

void choose_lock(const struct choose_locks *in, struct choose_lock_verdict *out);
/* Sentences, as above. */
size_t choose_lock_words(const struct choose_locks *in, const struct choose_lock_verdict *verdict,
			 char line[CHOOSE_LINES_MAX][CHOOSE_LINE]);

#ifdef __cplusplus
}
#endif

#endif
