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
 * Three more things are watched. A mailbox per updater: a section that sees what was written after a grace period must
 * also see what was written before it, in whatever order it looks. Blocks of malloc memory that are retired with
 * lull_rcu_free(): they must not change. And the contents of an element, written plainly before it is published.
 *
 * Hazard pointers, simple ones, and the bridge are tortured with the same pipe. There an element is older with each
 * wait for the readers of this one element that ends, and a reader holds it from the protection to the release,
 * wherever that is and whichever thread does it.
 *
 * Counts are tortured with objects of their own: torture_count.h; so are mutexes: torture_mutex.h;
 * so is the hash table: torture_hash.h; and locks for many readers: rwsem/rwsem.c.
 *
 * From time to time all threads pause. Then no thread holds anything, each element must be back in its place, and
 * limits and lack of memory can be tried with no thread in the way (torture/limits.c).
 */
#ifndef LULL_LAB_TORTURE_H
#define LULL_LAB_TORTURE_H

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

/*
 * ThreadSanitizer ends a child that makes threads; AddressSanitizer leaves it with locks whose owners are gone. Both
 * need more address space than there is memory.
 */
#if defined(LULL__TSAN) || defined(__SANITIZE_ADDRESS__)
#define TORTURE_HAS_SANITIZER true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TORTURE_HAS_SANITIZER true
#endif
#endif
#ifndef TORTURE_HAS_SANITIZER
#define TORTURE_HAS_SANITIZER false
#endif

/* Parts that can be left out, in the order of --help. */
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

#define TORTURE_FORMS 8u /* ways to wait, at most; each flavor has its own */

/*
 * Faults in how the library is used, rather than in the library; `--busted` only. The run has to find these, too.
 */
enum torture_use_fault {
	FAULT_NONE,
	FAULT_LOOK_AFTER_CLEAR, /* an object is looked at after its hazard pointer was cleared */
	FAULT_NO_SECOND_LOOK,	  /* a pointer is protected, and not looked at again */
	FAULT_NO_QUIESCENT,	  /* an online thread says nothing for ever */
	FAULT_EARLY_QUIESCENT,  /* an online thread says that it is quiescent while it holds something */
	FAULT_FREE_AT_ONCE,	  /* items taken out of the hash table are freed without a wait */
	FAULT_REPLACE_IN_TWO,	  /* remove and insert in the place of replace */
	FAULT_KILL_TWICE,	  /* of a percpu_ref */
	/* Faults in a round of flavor wild, for the checks of its supervisor and its own. */
	FAULT_HANGS,
	FAULT_DIES,
	FAULT_EXITS,	    /* with a status that is not 0 */
	FAULT_SAYS,	    /* something on standard error */
	FAULT_WRITES_DATA,  /* to the file that has the number of standard error */
	FAULT_STAYS,	    /* after SIGTERM */
	FAULT_LEAVES_CHILD, /* which outlives it */
	FAULT_LEAKS,	    /* memory, in a burst of threads */
	FAULT_NO_EFFECT,    /* of a condition */
	FAULT_ODD_THREAD,   /* a thread of the library's, by its name, at the wrong priority */
	FAULT_STARVES,	    /* a reader holds up a stream of cookies */
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
	uint32_t is_deferred; /* its callback has yet to run */
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

/* Counts of what sections have seen. */
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
	uint64_t handler_rng; /* the handler interrupts users of the other one */
	struct torture_tally tally, handler_tally;
	uint64_t work; /* rounds of whatever it does; whether it moves */
	uint64_t waits; /* which of its waits for readers it is in; 0: none (torture/hang.c) */
	uint32_t rests; /* or waits, and so holds nothing */
	timer_t timer;
	uint32_t has_timer;
	bool is_running;
} __attribute__((aligned(TORTURE_LINE)));

struct torture {
	/* Settings. */
	uint64_t seed;
	double seconds;
	unsigned readers, updaters;
	bool without[NR_PARTS];
	bool children_forbidden; /* by a sanitizer: PART_FORK is without */
	bool mixed_reclaim; /* the mode changes all the time */
	const struct torture_flavor *flavor; /* NULL: all, one after the other */
	const char *fault_name; /* --busted; NULL: none */
	enum torture_use_fault use_fault;
	unsigned read_delay_us, update_delay_us; /* up to that, on top of what is usual */
	unsigned shuffle_ms, stutter_ms;	 /* how often */
	unsigned stat_s;			 /* a line for people, all so many seconds; 0: none */
	unsigned stall_ms;			 /* a reader sleeps that long, again and again; 0: none */
	unsigned flood_most;			 /* callbacks of one flood */
	unsigned hard_items;			 /* hard limit of the reclaimer, who helps; 0: as configured */
	unsigned memory_mib;			 /* memory left for deferrals in a pause; 0: no limit */
	unsigned sleepers, short_lived;		 /* threads */
	const char *conditions;			 /* of flavor wild; NULL: drawn */
	unsigned patience_s;			 /* of flavor wild: after this a round hangs */

	/* Data that readers and updaters share. */
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
	uint64_t began_ns;
	struct torturer *threads;
	unsigned nr_threads;
	struct torturer releaser; /* not among `threads`: it never pauses, and is the last to end */
	bool in_child;
	int child_fd; /* where a forked child puts what it found */

	/* Counts of the parts. */
	uint64_t churned, forked, floods, barriers, pauses, callbacks;
	uint64_t debris_left, debris_gone; /* of threads that come and go */
	uint64_t handed;  /* holds and contexts that another thread released */
	uint64_t dropped; /* threads that exited while they held something */
};

/* State of one use of an element, in the simplest form. */
struct torture_use {
	struct lull_hazptr *h;
	struct lull_shazptr_guard guard;
	int phase;
};

/* Mechanism that is tortured. A function that a flavor does not have is NULL. */
struct torture_flavor {
	const char *name;
	bool is_bridge;	     /* half of the time what is retired goes the bridge's way */
	bool online_readers; /* and updaters that wait online often */
	bool is_anonymous;   /* reports of the library name no thread */
	bool rounds;	     /* processes of their own, seen from outside; see surroundings/; no call below is theirs */
	const char *wait; /* event that makes an element older */
	const char *form[TORTURE_FORMS];

	void *(*reader)(void *);
	void *(*updater)(void *);
	void (*handler)(struct torturer *t);
	/* Any use, and a short one, for threads that do something else as well. */
	void (*use)(struct torturer *t);
	void (*use_shortly)(struct torturer *t, const char *where);
	/* Waits once; may be called late in a thread's exit. */
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
	void (*settle)(void);		 /* all threads pause, but the releaser */
	void (*check)(const char *when); /* and after the barrier that follows */

	/* Functions of a flavor with something other than the pipe. */
	void (*init)(void);
	void (*report)(const struct torture_tally *sum); /* in the place of the pipe's lines */
	/* Unit that the line on the terminal counts, in the place of grace periods. */
	const char *unit;
	uint64_t (*count)(void);
};

extern struct torture torture;
extern __thread struct torturer *torture_me;

/* ---- torture/state.c -------------------------------------------------------------------------- */

bool torture_stopped(void);
void torture_doing(const char *what);
/*
 * The calling thread begins, or has ended, a wait that only readers can hold up. It holds nothing
 * itself meanwhile.
 */
void torture_wait_begin(void);
void torture_wait_end(void);
/* Rest for a moment, offline and holding nothing: for threads whose turn it is not. */
void torture_rest(struct torturer *t);
void torture_update_delay(struct torturer *t);

/* 0 .. n-1 */
uint64_t torture_random(uint64_t *rng, uint64_t n);
/* True once in n times. */
bool torture_once_in(uint64_t *rng, uint64_t n);
void torture_spin_ns(uint64_t ns);
void torture_sleep_us(uint64_t us);
/* End this forked child when @parent ends, which may have ended already. */
void torture_die_with(pid_t parent);

/* Prepare a thread that is made in the run. Its seed follows from the maker's. */
void torture_thread_init(struct torturer *t, const char *role, unsigned index, uint64_t seed);
/*
 * Signals to the calling thread, up to most_us apart, from here on until timer_stop (by anybody,
 * when the thread is gone at the latest).
 */
#define TORTURE_SIGNAL_US 2000u
void torture_timer_start(struct torturer *t, uint64_t most_us);
void torture_timer_stop(struct torturer *t);

/* ---- torture/fail.c --------------------------------------------------------------------------- */

/* Something is wrong with the library. Any context, signal handlers too; ends the run. */
void torture_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
uint32_t torture_failed(void); /* how often */
void torture_print_failures(void);
/* Report, and end the process: after a failure not all threads can be made to end. */
_Noreturn void torture_give_up(void);
void torture_on_give_up(void (*report)(void)); /* how that reports */

/* ---- torture/park.c --------------------------------------------------------------------------- */

/*
 * The calling thread stays here while a pause is on. It holds nothing, is offline, and has nothing
 * removed.
 */
void torture_pause_point(void);
/*
 * The life of @t, the calling thread: @round again and again, while its index is below *@active, with signals
 * and pauses in between. Returns NULL.
 */
void *torture_rounds(struct torturer *t, const uint32_t *active, void (*round)(struct torturer *t));
/* Run callbacks that are left to the program. */
void torture_poll_callbacks(void);
/* Stop all threads at their pause points; false: the run ends instead. Then let them go on. */
bool torture_park_all(void);
void torture_unpark(void);

/* ---- torture/tally.c -------------------------------------------------------------------------- */

/* Sum up the counts of all threads. */
struct torture_tally torture_total_tally(void);
void torture_print_ages(const char *title, const uint64_t *count);
void torture_add_tally(struct torture_tally *to, const struct torture_tally *from);

/* ---- torture/pool.c -------------------------------------------------------------------------- */

void torture_pool_init(void);
void torture_pool_lock(void); /* around fork */
void torture_pool_unlock(void);
/* Check that each element is published or in the pool. Called after a barrier, while all threads pause. */
void torture_pool_check(const char *when);
void torture_pool_free(void);
struct element *torture_pool_get(void); /* NULL: none is left */
void torture_fill_element(struct element *e);
/* Returns whether that was the last age and it is back in the pool. */
bool torture_grow_older(struct element *e);
/* Call the first before @e's callback is deferred, the second at the callback's begin; false: it ran before. */
void torture_element_defer(struct element *e);
bool torture_element_ran(struct element *e);
struct blob *torture_new_blob(void);
struct parcel *torture_new_parcel(void);
void torture_put_in(struct element **list, struct element *e);
/* Check that an element that was found whole is still whole, and no older than allowed. */
void torture_check_element(const struct element *e, uint64_t serial, struct torture_tally *tally,
			   const char *where);
void torture_check_blob(const struct blob *b, uint64_t serial, const char *where);

/* ---- torture/section.c ------------------------------------------------------------------------ */

/* Objects that a section found, and the values that they must still have at its end. */
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
/*
 * Either order of the loads will do: the section as a whole is before the grace period's end or
 * after its begin.
 */
void torture_read_mailbox(uint64_t *rng);
/* Look at one, in the order in which it is written, with a delay in between. */
void torture_check_mailbox(const struct torture_mailbox *box, uint64_t ns);

void torture_churn_online(struct torturer *t);

/* A use in the simplest form, for forked children of all flavors that have no better one. */
struct element *torture_rcu_begin(struct torture_use *use, struct element **where);
void torture_rcu_end(struct torture_use *use);
void torture_rcu_wait_for(struct element *e);

/* ---- torture/pass.c: what one thread begins and another one ends ------------------------------- */

struct torture_held {
	void (*end)(struct torture_held *held, struct torturer *t); /* also gives its memory back */
};

/* Leave @held to the next thread that does the same, or to the releaser. */
void torture_pass_on(struct torture_held *held, struct torturer *t);
void *torture_pass_releaser(void *arg);
/* Wait until nothing is left to others. Called while all threads pause. */
void torture_pass_await(void);

/* ---- torture/delays.c ------------------------------------------------------------------------- */

/* Wait not at all half of the time; now and then so long that any waiter goes to sleep. */
void torture_linger(uint64_t *rng);
void torture_read_init(void);
/*
 * Make stores that take the memory a long time. The next ones, a thread's RCU word or a hazard pointer among them, wait
 * behind them in the processor's store buffer, while loads go ahead: only a fence, the thread's own or another one's
 * heavy fence, makes up for that.
 */
void torture_fill_store_buffer(uint64_t *rng);

/* ---- torture/drop.c: memory that a callback frees --------------------------------------------- */

/*
 * Memory that a callback frees. It notes that the callback ran, so that a second run is found; with a fault in the
 * library the memory is kept for that.
 */
struct torture_drop {
	struct lull_rcu_head head;
	uint32_t again; /* times that it defers itself once more */
	uint32_t is_deferred;
	struct torture_drop *next; /* whatever its owner likes */
};

/* Begin a callback of @d; false: @d was not deferred. */
bool torture_drop_ran(struct torture_drop *d);
void torture_drop_defer(struct torture_drop *d, lull_rcu_func func);
void torture_drop_free(struct torture_drop *d);

/* Defer some things, for others to see to. */
void torture_leave_debris(uint64_t *rng);
/* Check that all of it is gone. Called after a barrier, while all threads pause. */
void torture_debris_check(const char *when);

#endif
