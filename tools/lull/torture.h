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
 *
 * Hazard pointers, simple ones, and the bridge are tortured with the same pipe. There an element is
 * older with each wait for the readers of this one element that ends, and a reader holds it from
 * the protection to the release, wherever and by whomever that is.
 *
 * Counts are tortured with objects of their own: torture_count.h; so are mutexes: torture_mutex.h.
 */
#ifndef LULL_TOOL_TORTURE_H
#define LULL_TOOL_TORTURE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <lull/bridge.h>
#include <lull/hazptr.h>
#include <lull/rcu.h>
#include <lull/shazptr.h>

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

#define TORTURE_FORMS 7u /* ways to wait, at most; each flavor has its own */

/* Of flavor rcu. */
enum torture_form {
	FORM_SYNC,
	FORM_CALL,
	FORM_POLL,
	FORM_WAIT,
	FORM_COOKIE,
	FORM_BARRIER,
	FORM_DRAIN,
};

struct element {
	struct lull_rcu_head head;
	uint32_t age; /* 0: published, or in the pool */
	uint32_t index;
	uint64_t serial;   /* of this publication */
	uint64_t contents; /* ~serial; accessed plainly, so that a sanitizer sees the order */
	lull_rcu_cookie cookie;
	struct element *next; /* in the pool, or with the updater that removed it */
	unsigned slot;	      /* from which it was removed */
};

/* malloc memory that is retired with lull_rcu_free() or its like; the first words are what free()
 * overwrites. */
struct blob {
	uint64_t serial;
	uint64_t check[3]; /* ~serial */
};

/* malloc memory that a callback frees; its head, which hazard pointers name, is not at its begin. */
struct parcel {
	uint64_t serial;
	uint64_t check[3]; /* ~serial */
	struct lull_rcu_head head;
};

struct torture_slot {
	struct element *element;
	struct blob *blob;
	struct parcel *parcel; /* not of flavor rcu */
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
	const struct torture_flavor *flavor;
	const char *busted;
	bool look_after_clear; /* a fault of the readers: a clear without order allows this */

	/* What readers and updaters share. */
	struct torture_slot slot[TORTURE_SLOTS];
	struct torture_mailbox *mailbox; /* one per updater */
	struct element *elements;
	unsigned nr_elements;
	uint64_t circulation[TORTURE_AGES + 1];
	uint64_t forms[TORTURE_FORMS];
	uint64_t blobs;

	/* Control. */
	uint32_t stop;
	uint32_t over; /* all but the releaser are gone */
	uint32_t pausing;
	/* The others rest: a few threads meet more often than many. */
	uint32_t active_readers, active_updaters;
	struct torturer *threads;
	unsigned nr_threads;
	struct torturer releaser; /* not among `threads`: it never pauses, and is the last to end */
	bool in_child;
	int child_fd; /* where a forked child puts what it found */

	/* Counts of the parts. */
	uint64_t churned, forked, floods, barriers, pauses, callbacks;
	uint64_t handed;  /* holds and contexts that another thread released */
	uint64_t dropped; /* threads that exited while they held something */
};

/* What one use of an element takes, in the simplest form. */
struct torture_use {
	struct lull_hazptr *h;
	struct lull_shazptr_guard guard;
};

/* What is tortured. A function that a flavor does not have is NULL. */
struct torture_flavor {
	const char *name;
	const char *wait; /* what makes an element older */
	const char *form[TORTURE_FORMS];

	void *(*reader)(void *);
	void *(*updater)(void *);
	void (*handler)(struct torturer *t);
	/* For threads that do something else as well: any use, and a short one. */
	void (*use)(struct torturer *t);
	void (*use_shortly)(struct torturer *t, const char *where);
	/* Also late in a thread's exit. */
	void (*wait_once)(void);
	/* More that short-lived threads do; from the second the thread exits. */
	void (*live)(struct torturer *t);
	void (*die)(struct torturer *t);

	/* The simplest form of everything, for forked children. */
	struct element *(*begin)(struct torture_use *use, struct element **where);
	void (*end)(struct torture_use *use);
	void (*wait_for)(struct element *e);
	/* Fork with something in use; the child's first steps. */
	pid_t (*fork)(struct torturer *t);
	void (*child)(struct torturer *t);

	void (*call)(struct lull_rcu_head *head, lull_rcu_func func, size_t bytes);
	void (*free)(void *ptr);
	void (*barrier)(void);

	void *(*releaser)(void *);	 /* a thread that goes on in pauses */
	void (*change)(uint64_t *rng);	 /* settings, now and then */
	void (*settle)(void);		 /* everybody pauses, but the releaser */
	void (*check)(const char *when); /* and after the barrier that follows */

	/* Of a flavor with something other than the pipe. */
	void (*init)(void);
	void (*report)(const struct torture_tally *sum); /* in the place of the pipe's lines */
	/* What the line on the terminal counts, in the place of grace periods. */
	const char *unit;
	uint64_t (*count)(void);
};

extern const struct torture_flavor torture_rcu, torture_hazptr, torture_shazptr, torture_bridge, torture_percpu_ref,
	torture_mutex_flavor;
extern const struct torture_flavor *const torture_flavors[]; /* NULL at the end */

extern struct torture torture;
extern __thread struct torturer *torture_me;

/* ---- torture.c --------------------------------------------------------------------------- */

/* Something is wrong with the library. Any context, signal handlers too; ends the run. */
void torture_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Not all threads can be had to end after that: report, and end the process. */
_Noreturn void torture_give_up(void);

bool torture_stopped(void);
/*
 * The calling thread stays here while a pause is on. It holds nothing, is offline, and has nothing
 * removed.
 */
void torture_pause_point(void);
void torture_doing(const char *what);
/*
 * The life of @t, the calling thread: @round again and again, while its index is below *@active, with signals
 * and pauses in between. Returns NULL.
 */
void *torture_rounds(struct torturer *t, const uint32_t *active, void (*round)(struct torturer *t));

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
struct element *torture_pool_get(void); /* NULL: none is left */
void torture_fill_element(struct element *e);
/* Returns whether that was the last age and it is back in the pool. */
bool torture_grow_older(struct element *e);
struct blob *torture_new_blob(void);
struct parcel *torture_new_parcel(void);
void torture_put_in(struct element **list, struct element *e);
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
void torture_short_section(struct torturer *t, const char *where);
void torture_section_in_handler(struct torturer *t);
void *torture_reader(void *arg);

/* What was found whole is still that, and no older than allowed. */
void torture_check_element(const struct element *e, uint64_t serial, struct torture_tally *tally,
			   const char *where);
void torture_check_blob(const struct blob *b, uint64_t serial, const char *where);

/* As often as not nothing; now and then so long that whoever waits goes to sleep. */
void torture_linger(uint64_t *rng);
void torture_read_init(void);
/*
 * Stores that take the memory a long time. The next ones, a thread's RCU word or a hazard pointer
 * among them, wait behind them in the processor's store buffer, while loads go ahead: only a fence,
 * one's own or somebody else's heavy one, makes up for that.
 */
void torture_fill_store_buffer(uint64_t *rng);

/* ---- torture_keep.c: readers of hazptr and bridge ---------------------------------------- */

enum torture_kind { KIND_ELEMENT, KIND_BLOB, KIND_PARCEL, NR_KINDS };

/* An object that is held. */
struct grip {
	enum torture_kind kind;
	bool is_full;			 /* by hazptr_full.h */
	struct lull_hazptr_context *ctx; /* that has the slot; NULL: a hold */
	struct lull_hazptr *h;
	struct lull_hazptr_hold hold;
	void *object; /* NULL: a slot, and nothing is in it */
	uint64_t serial;
};

/* One slot of the pool is for hazptr_full.h alone. */
bool torture_slot_is_full(unsigned slot);
/*
 * Take hold of something by a slot of @ctx, or, if that is NULL or has none, by a hold. False when
 * it did not work out; then there is nothing to release.
 */
bool torture_grip(struct grip *g, struct lull_hazptr_context *ctx, uint64_t *rng);
void torture_grip_check(const struct grip *g, struct torture_tally *tally, const char *where);
/* The last check, and let go. */
void torture_grip_end(struct grip *g, struct torture_tally *tally, uint64_t *rng, const char *where);
void torture_keep(struct torturer *t);
void torture_keep_shortly(struct torturer *t, const char *where);
void torture_keep_in_handler(struct torturer *t);
void *torture_keeper(void *arg);

/* ---- torture_hand.c: from thread to thread ----------------------------------------------- */

void torture_hand_over(struct torturer *t);
/* Release what another thread handed over, if there is anything. */
bool torture_hand_take(struct torturer *t);
/* No fork in between: what is detached is on the list, where a child finds it, or not any more. */
void torture_hand_enter(void);
void torture_hand_leave(void);
void torture_hand_lock(void); /* around fork */
void torture_hand_unlock(void);
/* Of the child: release all, in whose hands it may have been. */
void torture_hand_inherit(struct torturer *t);
void *torture_releaser(void *arg);
void torture_hand_settle(void); /* wait until the releaser has released all */

/* ---- torture_retire.c: updaters of hazptr and bridge ------------------------------------- */

void *torture_retirer(void *arg);
bool torture_is_bridge(void);
void torture_retire_debris(struct lull_rcu_head *head, lull_rcu_func func, size_t bytes);
void torture_free_debris(void *ptr);
void torture_wait_kept(struct element *e);
void torture_wait_any(void);

/* ---- torture_keeplife.c: their threads and processes ------------------------------------- */

void torture_keep_live(struct torturer *t);
void torture_keep_die(struct torturer *t);
struct element *torture_keep_begin(struct torture_use *use, struct element **where);
void torture_keep_end(struct torture_use *use);
pid_t torture_keep_fork(struct torturer *t);
void torture_keep_child(struct torturer *t);

/* ---- torture_shazptr.c ------------------------------------------------------------------- */

void torture_shaz(struct torturer *t);
void torture_shaz_shortly(struct torturer *t, const char *where);
void torture_shaz_in_handler(struct torturer *t);
void *torture_shaz_reader(void *arg);
void *torture_shaz_updater(void *arg);
void torture_shaz_change(uint64_t *rng);
void torture_shaz_die(struct torturer *t);
struct element *torture_shaz_begin(struct torture_use *use, struct element **where);
void torture_shaz_end(struct torture_use *use);
void torture_shaz_wait_for(struct element *e);
void torture_shaz_wait_any(void);
pid_t torture_shaz_fork(struct torturer *t);
void torture_shaz_child(struct torturer *t);

/* ---- torture_countread.c, torture_countlife.c; torture_count.h tells about them ----------- */

void torture_count(struct torturer *t);
void torture_count_shortly(struct torturer *t, const char *where);
void torture_count_in_handler(struct torturer *t);
void torture_count_live(struct torturer *t);
void torture_count_die(struct torturer *t);
void *torture_count_reader(void *arg);
void *torture_count_releaser(void *arg);
void torture_count_hand_settle(void); /* wait until the releaser has put all that was handed over */
void *torture_count_updater(void *arg);
void torture_count_once(void);
pid_t torture_count_fork(struct torturer *t);
void torture_count_child(struct torturer *t);
void torture_count_init(void);
void torture_count_settle(void);
void torture_count_check(const char *when);
void torture_count_report(const struct torture_tally *sum);

/* ---- torture_mutex.c; torture_mutex.h tells about it ------------------------------------------ */

void torture_mutex(struct torturer *t);
void torture_mutex_shortly(struct torturer *t, const char *where);
void torture_mutex_in_handler(struct torturer *t);
void torture_mutex_die(struct torturer *t);
void torture_mutex_wait_once(void);
void *torture_mutex_reader(void *arg);
void *torture_mutex_updater(void *arg);
void *torture_watcher(void *arg); /* torture_mutexwatch.c */
void torture_mutex_change(uint64_t *rng);
pid_t torture_mutex_fork(struct torturer *t);
void torture_mutex_child(struct torturer *t);
void torture_mutex_init(void);
void torture_mutex_check(const char *when);
uint64_t torture_mutex_count(void);
void torture_mutex_report(const struct torture_tally *sum);

/* ---- torture_life.c: threads and processes that come and go ------------------------------ */

void torture_life_init(void);
void *torture_churner(void *arg);
void *torture_forker(void *arg);
void torture_churn_online(struct torturer *t);
void torture_leave_debris(uint64_t *rng);
pid_t torture_fork_in_section(struct torturer *t);
/* Of a forked child: @parent may have ended before it, without a word. */
void torture_die_with(pid_t parent);

/* ---- torture_busted.c; in the program with the faults, tests/torture/main.c -------------- */

void torture_faults_list(void);
/*
 * Returns with the fault switched on and, if it was not given, the flavor that has it; else becomes
 * the program that can, or ends this one as bad input.
 */
void torture_fault_set(const char *name, char **argv);

/* ---- torture_flood.c: callbacks by the thousand, and barriers ---------------------------- */

void *torture_flooder(void *arg);
void *torture_barrier_tester(void *arg);

#endif
