/* SPDX-License-Identifier: MIT */
/* The parts of `lull tradeoff`, among themselves. */
#ifndef LULL_LAB_WAYS_H
#define LULL_LAB_WAYS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/json.h"
#include "common/options.h"
#include "engine/workload.h"
#include "instruments/tradeoff/tradeoff.h"

/* ---- the schemes ----------------------------------------------------------------------------- */

struct keep; /* an object: what the scheme needs of it, then its body; each scheme has its own */

/* Place where an object is found. */
struct tradeoff_cell {
	struct keep *object;
};

/* Counts of a thread that walks a list. */
struct tradeoff_walk {
	uint64_t steps, restarts, again;
};

/* One operation of the mix. */
struct tradeoff_mix {
	struct tradeoff_cell *cell;
	uint32_t objects;
	size_t size;
	uint64_t below; /* an update, where the upper half of a random number is below this */
	double hold_ns;
	bool block;
};

/*
 * Loops are compiled once for each scheme, around its inline calls (instruments/tradeoff/way_body.h). An object has
 * `head` bytes ahead of its body, and one reference, the pointer's that leads to it.
 */
struct tradeoff_scheme {
	const char *name, *title, *what;
	const char *said, *header; /* see tradeoff.h */
	const char *may_not_block; /* see choose.h */
	bool unbounded;		   /* see choose.h */
	bool is_lock; /* measured for what it costs, not as a way to keep an object; what follows mix is NULL */
	unsigned effort;
	size_t head;
	struct keep *(*make)(size_t size);
	void (*unmake)(struct keep *object); /* no other thread has it */
	/* Get and put n times, of the one object in the cell; a sum over its body. */
	uint64_t (*get_put)(struct tradeoff_cell *cell, uint64_t n);
	uint64_t (*mix)(const struct tradeoff_mix *mix, uint64_t *rng, uint64_t n);
	/* Find an object, stay, and drop it, once. */
	void (*hold)(struct tradeoff_cell *cell, double ns, bool block);
	/* A new object takes the place of the one there, which goes through tradeoff_seen. */
	void (*replace)(struct tradeoff_cell *cell, struct keep *object);
	/* A list of nodes, the pointer to the next in their bodies; the first is never deleted. */
	struct keep *(*list_make)(struct keep *next);
	void (*list_replace)(struct keep *before, struct keep *victim);
	void (*walk)(struct keep *first, struct tradeoff_walk *counts);
	struct keep *(*list_next)(struct keep *node); /* the updater's way along it */
};

extern const struct tradeoff_scheme tradeoff_refcount, tradeoff_percpu_ref, tradeoff_rcu,
	tradeoff_hazptr, tradeoff_rwlock, tradeoff_percpu_rwsem, tradeoff_spinlock;
extern const struct tradeoff_scheme *const tradeoff_schemes[TRADEOFF_SCHEMES];

/*
 * Function to call just before an object that replace() took away is freed. NULL: call nothing, and free in the
 * cheapest way. The body is TRADEOFF_SEEN_SIZE bytes then, and the scheme's from the moment it is retired, except for
 * body[TRADEOFF_STAMP].
 */
extern void (*tradeoff_seen)(const uint64_t *body);
#define TRADEOFF_SEEN_SIZE 64
#define TRADEOFF_STAMP 2

/* Stay @ns with the object that was found, asleep if @block. */
void tradeoff_stay(double ns, bool block);

/* ---- figures.c ------------------------------------------------------------------------------- */

/* Return the bytes of one of @count more than @without; a few pages of noise are none. */
double tradeoff_bytes_each(double with, double without, size_t count);
/* Return what an object takes more than a plain one: memory @before, with @count @plain ones, and @with as many objects. */
double tradeoff_object_bytes(double before, double plain, double with, size_t count);
double tradeoff_per_million(uint64_t what, uint64_t steps);
void tradeoff_add_round(struct tradeoff_point *p, double ns);

/* Time, processor time of this process, and idle time of all CPUs, so far. */
struct tradeoff_moment {
	uint64_t ns, own_ns, idle_ns;
};

/* Return how many CPUs other programs have used; what the system rounds off is given away. */
double tradeoff_others(const struct tradeoff_moment *from, const struct tradeoff_moment *to, unsigned cpus);

/* ---- the measurements ------------------------------------------------------------------------ */

struct tradeoff_run {
	const struct options *opt;
	struct workload work;
	double slow_ns, update_rate;
	double seconds; /* for the part that runs */
	unsigned runs, rounds; /* of the mix; 0: until there is nothing more to learn */
	bool chosen[TRADEOFF_SCHEMES];
	struct tradeoff *result; /* shared with the processes that measure */
};

/* Each runs in a process of its own, of one scheme or of all. */
/* With the number of threads that is result->threads[at]. Returns how many runs there was time for. */
unsigned tradeoff_measure_read(struct tradeoff_run *run, size_t at);
/* Bytes that one object and one thread add. */
void tradeoff_measure_memory(struct tradeoff_run *run, size_t scheme, double *per_object,
			     double *per_thread);
#define TRADEOFF_STAYS 4 /* of the slow reader, at least */
void tradeoff_measure_hold(struct tradeoff_run *run, size_t scheme);
void tradeoff_measure_walk(struct tradeoff_run *run, size_t scheme);
void tradeoff_measure_mix(struct tradeoff_run *run);
/* Which points there are around the workload; afterwards, keep those that there was time for, and name the others. */
void tradeoff_points(struct tradeoff_run *run);
void tradeoff_keep_measured(struct tradeoff_run *run);

/* Updates at a fixed rate: sleeps until one is due. False: it is `until` before that. */
struct tradeoff_pace {
	uint64_t start, until, done;
	double rate;
};

bool tradeoff_due(struct tradeoff_pace *pace);

/* Options_bad() where there can be no such thread. */
void tradeoff_thread(pthread_t *thread, void *(*main)(void *), void *arg);

#endif
