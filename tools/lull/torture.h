/* SPDX-License-Identifier: MIT */
/*
 * lull torture: what its parts share.
 *
 * The oracle is a pipe of ages. Updaters take an element from a pool, publish it in a slot and so
 * remove the one that was there; it is 1 old from then on, and a grace period older with each one
 * that ends. A reader that found an element in its section and sees at the section's end that it
 * is more than 1 old has seen a grace period begin and end while it was reading: that is the
 * error. At TORTURE_AGES the element goes back to the pool.
 *
 * Three more things are watched. A mailbox per updater: a section that sees what was written
 * after a grace period must also see what was written before it, in whatever order it looks.
 * Blocks of malloc memory that are retired with lull_rcu_free(): they must stay what they are.
 * And what an element contains, written plainly before it is published.
 */
#ifndef LULL_TOOL_TORTURE_H
#define LULL_TOOL_TORTURE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <lull/rcu.h>

#define TORTURE_AGES 10u
#define TORTURE_SLOTS 4u      /* published pointers of each kind */
#define TORTURE_LINE 128      /* two cache lines, as in bench.h */
#define TORTURE_PATIENCE_S 60 /* nothing moves for so long: it hangs */

/* What can be left out, in the order of --help. */
enum torture_part {
	PART_ONLINE,
	PART_CHURN,
	PART_FORK,
	PART_SIGNALS,
	PART_SHUFFLE,
	PART_STUTTER,
	PART_FLOOD,
	PART_BARRIER,
	NR_PARTS
};

enum torture_form {
	FORM_SYNC,
	FORM_CALL,
	FORM_POLL,
	FORM_WAIT,
	FORM_COOKIE,
	FORM_BARRIER,
	FORM_DRAIN,
	NR_FORMS
};

struct element {
	struct lull_rcu_head head;
	uint32_t age; /* 0: published, or in the pool */
	uint32_t index;
	uint64_t serial;   /* of this publication */
	uint64_t contents; /* ~serial; accessed plainly, so that a sanitizer sees the order */
	lull_rcu_cookie cookie;
	struct element *next; /* in the pool, or with the updater that removed it */
};

/* malloc memory that is retired with lull_rcu_free(); the first words are what free() overwrites. */
struct blob {
	uint64_t serial;
	uint64_t check[3]; /* ~serial */
};

struct torture_slot {
	struct element *element;
	struct blob *blob;
	pthread_mutex_t update;
} __attribute__((aligned(TORTURE_LINE)));

/* Written around a grace period by one updater; only ever grows. */
struct torture_mailbox {
	uint64_t before __attribute__((aligned(TORTURE_LINE)));
	uint64_t after __attribute__((aligned(TORTURE_LINE)));
};

/* What sections have seen. */
struct torture_tally {
	uint64_t sections;
	uint64_t age[TORTURE_AGES + 1];
	/* Grace periods that began meanwhile: legal, shows how close it gets. */
	uint64_t batch[TORTURE_AGES + 1];
};

/* A thread of the run. */
struct torturer {
	const char *role;
	const char *doing; /* for the report of a hang */
	unsigned index;
	uint32_t tid;
	pthread_t thread;
	uint64_t rng;
	uint64_t handler_rng; /* the handler interrupts whoever uses the other one */
	struct torture_tally tally, handler_tally;
	uint64_t work; /* rounds of whatever it does; whether it moves */
	timer_t timer;
	bool has_timer;
	bool is_running;
} __attribute__((aligned(TORTURE_LINE)));

struct torture {
	/* Settings. */
	uint64_t seed;
	double seconds;
	unsigned readers, updaters;
	bool without[NR_PARTS];
	bool mixed_reclaim; /* the mode changes all the time */
	const char *busted;

	/* What readers and updaters share. */
	struct torture_slot slot[TORTURE_SLOTS];
	struct torture_mailbox *mailbox; /* one per updater */
	struct element *elements;
	unsigned nr_elements;
	uint64_t circulation[TORTURE_AGES + 1];
	uint64_t forms[NR_FORMS];
	uint64_t blobs;

	/* Control. */
	uint32_t stop;
	uint32_t pausing;
	/* The others rest: a few threads meet more often than many. */
	uint32_t active_readers, active_updaters;
	struct torturer *threads;
	unsigned nr_threads;
	bool in_child;
	int child_fd; /* where a forked child puts what it found */

	/* Counts of the parts. */
	uint64_t churned, forked, floods, barriers, pauses, callbacks;
};

extern struct torture torture;
extern __thread struct torturer *torture_me;

/* ---- torture.c --------------------------------------------------------------------------- */

/* Something is wrong with the library. Any context, signal handlers too; ends the run. */
void torture_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

bool torture_stopped(void);
/*
 * The calling thread stays here while a pause is on. It holds nothing, is offline, and has nothing
 * removed.
 */
void torture_pause_point(void);
void torture_doing(const char *what);

/* 0 .. n-1 */
uint64_t torture_random(uint64_t *rng, uint64_t n);
/* True once in n times. */
bool torture_once_in(uint64_t *rng, uint64_t n);
void torture_spin_ns(uint64_t ns);
void torture_sleep_us(uint64_t us);

/* For threads that are made in the run. The seed they get follows from the maker's. */
void torture_thread_init(struct torturer *t, const char *role, unsigned index, uint64_t seed);
/*
 * Signals to the calling thread, up to most_us apart, from here on until timer_stop (by anybody,
 * when the thread is gone at the latest).
 */
#define TORTURE_SIGNAL_US 2000u
void torture_timer_start(struct torturer *t, uint64_t most_us);
void torture_timer_stop(struct torturer *t);

/* ---- torture_pipe.c ---------------------------------------------------------------------- */

void torture_pool_init(void);
void torture_pool_lock(void); /* around fork */
void torture_pool_unlock(void);
/* With everybody paused and after a barrier: each element is published or in the pool. */
void torture_pool_check(const char *when);
void torture_pool_free(void);
void *torture_updater(void *arg);

/* ---- torture_read.c ---------------------------------------------------------------------- */

/* What a section found, and what it must still be at the end. */
struct glimpse {
	struct element *element;
	struct blob *blob;
	uint64_t serial, blob_serial, number;
};

void torture_glimpse(struct glimpse *g, uint64_t *rng);
void torture_glimpse_end(const struct glimpse *g, struct torture_tally *tally, const char *where);
/* A section of an ordinary thread, with or without anything unusual in it. */
void torture_section(struct torturer *t);
void torture_read_init(void);
void torture_handler(int signal);
void *torture_reader(void *arg);

/* ---- torture_life.c: threads and processes that come and go ------------------------------ */

void torture_life_init(void);
void *torture_churner(void *arg);
void *torture_forker(void *arg);

/* ---- torture_busted.c; in the program with the faults, tests/torture/main.c -------------- */

void torture_faults_list(void);
/*
 * Returns with the fault switched on; else becomes the program that can, or ends this one as bad
 * input.
 */
void torture_fault_set(const char *name, char **argv);

/* ---- torture_flood.c: callbacks by the thousand, and barriers ---------------------------- */

void *torture_flooder(void *arg);
void *torture_barrier_tester(void *arg);

#endif
