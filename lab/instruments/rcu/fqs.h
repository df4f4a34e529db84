/* SPDX-License-Identifier: MIT */
/*
 * fqs.h - a polling grace-period engine in the way of the kernel's force-quiescent-state scans.
 *
 * lull's own grace periods are driven by events. This engine is here to be compared with them,
 * and to show what an early report of the driver's own quiescent state is worth (seed: "rcu:
 * Reduce synchronize_rcu() latency by reporting GP kthread's CPU QS early").
 *
 * A grace period waits, scans, waits and scans again. The first scan drops the threads that are offline or have
 * reported a quiescent state, and takes a snapshot of each other thread's counter. Later scans also drop threads whose
 * counter has moved: they were offline meanwhile. The thread that drives the grace period is online while it scans,
 * however often it slept before: so the first scan can only take its snapshot, and only a second one drops it - unless
 * it reports its own quiescent state when the grace period begins, for it is in one then.
 */
#ifndef LULL_LAB_FQS_H
#define LULL_LAB_FQS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct fqs_thread {
	uint64_t counter; /* odd: online; one more at each change; written by the thread alone */
	uint64_t reported; /* newest grace period that it reported a quiescent state for; likewise */
	/* The driver's. */
	uint64_t snapshot;
	bool is_waited_for;
	struct fqs_thread *next;
};

struct fqs {
	uint64_t number; /* of the newest grace period */
	struct fqs_thread *threads;
	pthread_mutex_t lock; /* guards the list; held by a driver throughout */
	uint64_t first_wait_ns, next_wait_ns;
	bool early; /* the driver reports itself when the grace period begins */
};

void fqs_init(struct fqs *fqs, uint64_t first_wait_ns, uint64_t next_wait_ns, bool early);

/* The calling thread, which is offline at first. */
void fqs_register(struct fqs *fqs, struct fqs_thread *self);
void fqs_unregister(struct fqs *fqs, struct fqs_thread *self);

void fqs_online(struct fqs_thread *self);
void fqs_offline(struct fqs_thread *self);
/* The calling thread, online, holds nothing just now. */
void fqs_quiescent(struct fqs *fqs, struct fqs_thread *self);

/* Waits for a grace period; the caller drives it and is online. Returns how many scans it took. */
unsigned fqs_synchronize(struct fqs *fqs, struct fqs_thread *self);

#endif
