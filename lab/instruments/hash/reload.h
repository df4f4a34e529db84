/* SPDX-License-Identifier: MIT */
/* lull hashscale --reload: what its slices add up to, and what is said of it. */
#ifndef LULL_LAB_HASH_RELOAD_H
#define LULL_LAB_HASH_RELOAD_H

#include "instruments/hash/hashscale.h"
#include "lock_scheme.h"

/* Measurements of one slice, or the sum of many. */
struct hashscale_tally {
	unsigned slices;
	uint64_t *reload_ns; /* one that was given up counts as the limit, which is longer than all others */
	size_t reloads, given_up;
	struct bench_lock_waits updates;    /* ns of each */
	uint64_t lookups[2], lookups_ns[2]; /* in pauses; during reloads */
	size_t waiting;			    /* elements at most */
};

/* A scheme beside a number of readers. */
struct hashscale_cell {
	const struct hashscale_entry *entry;
	unsigned readers;
	struct hashscale_tally tally[2]; /* quiet slices; those that other programs disturbed */
};

void hashscale_add_reload(struct hashscale_tally *t, uint64_t ns);
void hashscale_add_tally(struct hashscale_tally *to, const struct hashscale_tally *t);
/* Add the rows and print the table of @count cells, all with as many readers; a time of @limit_ns was given up. */
void hashscale_report_reloads(struct hashscale *run, const struct hashscale_cell *cell, size_t count, uint64_t limit_ns);
/* Say how many slices of all @cells other programs disturbed. */
void hashscale_print_disturbed(const struct hashscale_cell *cell, size_t cells);

#endif
