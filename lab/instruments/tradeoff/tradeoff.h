/* SPDX-License-Identifier: MIT */
/*
 * Results of `lull tradeoff` about the four ways to keep an object alive, for `lull compare` and its report. Everything
 * is measured; nothing is computed from sizes.
 */
#ifndef LULL_LAB_TRADEOFF_H
#define LULL_LAB_TRADEOFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "choose/choose.h"
#include "common/figures.h"
#include "common/json.h"

#define TRADEOFF_SCHEMES 7 /* refcount, percpu_ref, rcu, hazptr, in the order of the slides; three locks */
#define TRADEOFF_THREADS_MAX 40

/* The workload, or the same with one thing changed. */
struct tradeoff_point {
	struct bench_stat ns;	      /* thread time per operation, over the rounds */
	struct choose_rounds rounds;  /* one by one: all schemes have taken part in each */
	double waiting;		      /* bytes that waited to be freed, at most */
};

/* One column of the table. A bench_stat or bench_latency with count 0 was not measured. */
struct tradeoff_result {
	const char *name;     /* "refcount", "percpu_ref", "rcu", "hazptr" */
	const char *title;    /* "atomic count", "per-CPU count", "RCU", "hazard pointer" */
	const char *what;     /* how an object is found and kept, one line */
	const char *said;     /* "RCU", "hazard pointers": in a sentence */
	const char *header;   /* where it is declared; NULL: nowhere */
	const char *may_not_block; /* why its readers may not; NULL: they may */
	bool unbounded;		   /* one reader that stalls can hold up any amount of memory */
	unsigned effort;	   /* see choose.h */
	bool is_lock;		   /* only reads and the mix were measured */
	/*
	 * ns of a get and a put (lock and unlock, protect and clear) of one object that all share,
	 * by tradeoff.threads.
	 */
	struct bench_stat read[TRADEOFF_THREADS_MAX];
	/* Bytes that the scheme adds to what the process really uses (may be a little negative). */
	struct bench_stat object_bytes, thread_bytes;
	/* While one reader stays for slow_ns at a time, beside update_rate updates a second: */
	struct bench_latency update;	 /* time that a replacement costs the updater */
	struct bench_latency wait;	 /* from unlinking to freeing, of objects that no reader holds */
	struct bench_stat waiting;	 /* objects that wait at a time; max: the peak */
	struct bench_stat waiting_bytes; /* the same in bytes */
	/* Walks along a list of which elements are deleted meanwhile. Per million steps: */
	struct bench_stat restarts;    /* back to the head: the element under the reader is gone */
	struct bench_stat steps_again; /* only the step: the next one was deleted meanwhile */
	double steps, deletions;       /* in all, how many were seen */
	/* The workload, and around it, by axis and point (choose.h). */
	struct tradeoff_point mix[CHOOSE_AXES][CHOOSE_POINTS_MAX];
};

struct tradeoff {
	struct tradeoff_result scheme[TRADEOFF_SCHEMES];
	size_t count; /* 0: not measured */
	unsigned threads[TRADEOFF_THREADS_MAX]; /* of read[] */
	size_t nr_threads;
	double slow_ns, update_rate; /* of the slow reader's run; replacements a second */
	double size;		     /* of an object, bytes */
	unsigned list;		     /* elements of the list */
	unsigned mix_threads;
	double others_cpus; /* CPUs that other programs used while the workload was measured */
	double updates, hold_ns, objects; /* of the workload; updates: 0 to 1 */
	bool block;
	double value[CHOOSE_AXES][CHOOSE_POINTS_MAX]; /* see struct choose_work */
	size_t values[CHOOSE_AXES], at[CHOOSE_AXES];
};

/* The table: properties down, schemes across. At most 100 columns wide. */
void tradeoff_print(const struct tradeoff *t);
/* Adds rows and what they need to be read again; and reads that. Names stay those of @root. */
void tradeoff_write_json(struct jsonout *json, const struct tradeoff *t);
void tradeoff_read_json(const json_t *root, struct tradeoff *t);

#endif
