/* SPDX-License-Identifier: MIT */
/* lull hashscale: a scheme at one fraction of updates, and what is said of many. */
#ifndef LULL_LAB_HASH_JOB_H
#define LULL_LAB_HASH_JOB_H

#include "common/bench.h"
#include "instruments/hash/hashscale.h"

/* A scheme at one fraction of updates. */
struct hashscale_job {
	const struct hashscale_entry *entry;
	void *table;
	uint64_t updates; /* of 2^32 */
	unsigned percent;
	double cpu_before;
	double *cpu; /* of the whole process, ns per operation, slice by slice */
	size_t slices;
	size_t waiting; /* elements at most */
	struct bench_result result;
};

#define HASHSCALE_UPDATE_SLICES 3u

/* Single updates of a scheme. */
struct hashscale_update {
	struct hashscale_job job; /* first: it has functions in common with the others */
	size_t elements;
	struct bench_latency slice[HASHSCALE_UPDATE_SLICES + 1]; /* the engine runs one before the first */
	unsigned slices;
};

/* Note what the @ops of a slice have cost all threads in processor time, and how many elements were @waiting at most. */
void hashscale_note_slice(struct hashscale_job *job, double cpu_ns, uint64_t ops, size_t waiting);
/* Write the JSON rows and print the tables of @count jobs, each with @threads. */
void hashscale_write_json(struct hashscale *run, const struct hashscale_job *jobs, size_t count,
			  unsigned threads);
void hashscale_print_mops(const struct hashscale *run, const struct hashscale_job *jobs, size_t count);
void hashscale_print_cpu(const struct hashscale *run, const struct hashscale_job *jobs, size_t count);
/* Print what the operating threads did in user mode, where there are hardware counters. */
void hashscale_print_counted(const struct hashscale *run, const struct hashscale_job *jobs, size_t count);

/* Write the rows and print the table of single updates; frees what the jobs have of the time. */
void hashscale_report_updates(struct hashscale *run, struct hashscale_update *jobs, size_t count, unsigned threads);

#endif
