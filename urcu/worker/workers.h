/* SPDX-License-Identifier: MIT */
/*
 * workers.h - the threads that run call_rcu()'s callbacks, which programs may create, pin and join: for both doors.
 *
 * They know no readers. A door has a struct lull__workers for each domain, with the few functions that say what a grace
 * period is there, and around callbacks. All else is lull's ground. Threads that wait here are offline, if their flavor
 * knows that: the doors see to it.
 */
#ifndef LULL_URCU_WORKERS_H
#define LULL_URCU_WORKERS_H

#include <pthread.h>

#include <lull/detail/ground.h>
#include <lull/rcu.h>

struct lull__workers;

struct call_rcu_data {
	struct lull_head *pushed; /* the newest first */
	size_t waiting;		  /* callbacks that have not run, for reports */
	uint32_t event;		  /* changes when the worker should look */
	uint32_t urgent;	  /* a thread waits for this queue */
	uint32_t has_thread;
	uint32_t helped;	   /* a barrier stands in for the thread that it has not got */
	struct call_rcu_data *helpers_choice; /* the worker that was that thread's before */
	uint32_t stop, ended;
	uint64_t waits_for;	   /* for the door: see wait() */
	struct lull__lock running; /* held while callbacks run */
	struct lull_head *batch;   /* those that have not been called yet of what the worker has taken */
	struct lull_head *taken, *taken_next; /* ... and not put there yet, the newest first: for a forked child */
	struct lull__workers *of;
	struct call_rcu_data *next; /* of all; under their lock */
	struct call_rcu_data *next_to_go; /* ... and of those that free_all() frees */
	bool goes;
	pthread_t thread;
	int cpu; /* -1: any */
};

/* A copy of the structure in liburcu's <urcu/flavor.h>. */
struct urcu_atfork {
	void (*before_fork)(void *priv);
	void (*after_fork_parent)(void *priv);
	void (*after_fork_child)(void *priv);
	void *priv;
};

/* The workers of one domain: first what the door fills in. */
struct lull__workers {
	/* Wait for a grace period. *@number is the door's meanwhile, to be looked at by is_stuck(); NULL: no worker waits. */
	void (*wait)(struct lull__workers *of, uint64_t *number);
	/* The calling thread, outside all sections, is about to run callbacks, or has run them. */
	void (*reads)(bool begins);
	/* Return where the calling thread has the worker that the program has chosen for it. */
	struct call_rcu_data **(*chosen)(void);
	/* NULL, or: the thread of a worker ends. */
	void (*leave)(struct lull__workers *of);
	/* NULL, or: say so, and return true, if the calling thread waits in @call for itself, as it waits for @w to end. */
	bool (*is_stuck)(struct call_rcu_data *w, const char *call);
	const char *thread_name; /* or NULL */
	bool leaves_threads;	 /* for the program to join */

	struct lull__lock lock; /* guards the rest */
	struct call_rcu_data *all, *by_default, **of_cpu;
	struct call_rcu_data first; /* the default one: it needs no memory */
	struct urcu_atfork *atfork;
	unsigned atfork_count;
};

/* That of the calling thread, if this is a worker's, or stands in for it. */
extern __thread struct call_rcu_data *lull__worker_here __attribute__((tls_model("initial-exec")));

/* Have @head->func called after a grace period, by @w. Any context but signal handlers. */
void lull__worker_defer(struct call_rcu_data *w, struct lull_head *head);
/* Wait until all that was deferred before has been called. Not in a section, nor in a callback of these. */
void lull__workers_barrier(struct lull__workers *of);

struct call_rcu_data *lull__worker_create(struct lull__workers *of, int cpu); /* NULL: there is no memory */
/* @call: NULL, or what is called in a section that grace periods wait for. Not in a callback of @w. */
void lull__worker_free(struct call_rcu_data *w, const char *call);
bool lull__worker_is_default(const struct call_rcu_data *w); /* which is not freed */
pthread_t lull__worker_thread(struct call_rcu_data *w);

struct call_rcu_data *lull__workers_default(struct lull__workers *of);
struct call_rcu_data *lull__workers_here(struct lull__workers *of); /* this CPU's; else the default one, or NULL */

/* Workers for each CPU. Returns 0, or -errno with errno set, like liburcu. */
struct call_rcu_data *lull__workers_of_cpu(struct lull__workers *of, int cpu);
int lull__workers_set_of_cpu(struct lull__workers *of, int cpu, struct call_rcu_data *w);
int lull__workers_create_all(struct lull__workers *of);
void lull__workers_free_all(struct lull__workers *of, const char *call);

/* fork, by a program that says so; without that the child's callbacks are called all the same. */
void lull__workers_before_fork(struct lull__workers *of);
void lull__workers_after_fork_parent(struct lull__workers *of);
void lull__workers_after_fork_child(struct lull__workers *of);
void lull__workers_register_atfork(struct lull__workers *of, struct urcu_atfork *atfork);
void lull__workers_unregister_atfork(struct lull__workers *of);
void lull__workers_fork_child(struct lull__workers *of); /* in any child, before its first use */

/* ---- what the files of this folder share ------------------------------------------------------------------ */

uint64_t lull__worker_now_ns(void);
/* Sleep while *@word is @value, until @deadline_ns at the latest, and return for any reason. */
void lull__worker_sleep(uint32_t *word, uint32_t value, uint64_t deadline_ns);

/* Add @w, without a thread. With the lock. */
void lull__worker_link(struct lull__workers *of, struct call_rcu_data *w, int cpu);
/* With the lock: see lull__workers_default(). */
struct call_rcu_data *lull__workers_make_default(struct lull__workers *of);
/* Start the thread of @w, unless it has one. Returns 0 or an errno value. With the lock. */
int lull__worker_start(struct call_rcu_data *w);
bool lull__worker_push(struct call_rcu_data *w, struct lull_head *head); /* was the queue empty? */
void lull__worker_nudge(struct call_rcu_data *w);
/* In a forked child: complete the batch that the thread may have been taking. */
void lull__worker_take_on(struct call_rcu_data *w);
/* Do once what its thread would, for @w, whose `helped` the caller has set. Blocks. */
void lull__worker_help(struct call_rcu_data *w);
/* End the thread of @w. @call: see lull__worker_free(). Blocks. */
void lull__worker_end(struct call_rcu_data *w, const char *call);
/* Let the default worker have what @w has not called, and free @w, which has no thread. With the lock. */
void lull__worker_bury(struct call_rcu_data *w);

#endif /* LULL_URCU_WORKERS_H */
