/* SPDX-License-Identifier: MIT */
/*
 * inside.h - a callback waits for a cohort: it runs the members of that itself, out of turn.
 *
 * The thread that runs callbacks may be the only one that does. It has queues in hand, in which members may wait behind
 * the callback that waits for them. So it takes members out of any queue, wherever they stand; their places stay, empty,
 * until their turn comes. It looks at the newest entries of its own queues first: there is what the callback itself has
 * just retired, and most often that is all. Else it looks at all callbacks that wait.
 *
 * Two threads may both be in callbacks that wait, and have each other's members in hand:
 *
 *	thread 1, has queue A			thread 2, has queue B
 *	a callback of A waits for a member in B	a callback of B waits for a member in A
 *
 * So a thread opens what it has in hand while it sleeps: then others that wait take members out of it, one at a time. It
 * closes it when they have returned, for whoever waits for the queue (a barrier) waits for them, too.
 */
#ifndef LULL_COHORT_INSIDE_H
#define LULL_COHORT_INSIDE_H

#include <stdbool.h>
#include <stdint.h>

struct lull__queue;

/* Which callbacks are a cohort's, and how many of them have not returned. */
struct lull__members {
	bool (*is_one)(const void *head, const void *cohort);
	uint64_t (*left)(const void *cohort);
	const void *cohort;
};

/* Run those of @m that wait for nothing any more. Returns whether there were any. */
bool lull__cohort_run_inside(const struct lull__members *m);

/* The queues of a thread that waits: others may take members out of them. */
struct lull__opened {
	struct lull__queue *held;
	uint32_t lent; /* members that others run at the moment */
	struct lull__opened *next;
};

/* Open what the calling thread has in hand, and close it again. Between the two it touches none of it. */
void lull__cohort_open(struct lull__opened *opened);
void lull__cohort_close(struct lull__opened *opened);

#endif /* LULL_COHORT_INSIDE_H */
