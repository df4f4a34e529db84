/* SPDX-License-Identifier: MIT */
/*
 * lull torture --flavor percpu_ref: what its parts share.
 *
 * Objects with a count, a percpu_ref or a refcount, in a few shared pointers. Readers promote what they find there to
 * references of their own by all four lull_ref_handoff forms, and keep them, take more, give them to other threads.
 * Updaters replace the objects and end their lives in all ways there are. The thread that takes the object out of the
 * pointer has the pointer's reference: no locks.
 *
 * Beside the count each object has a shadow of it, an ordinary atomic word that goes up after a reference was taken and
 * down before it is put. It is never higher than the count, so it must be zero at the release. Another word is the
 * phase of the object's life: a reference that is held while it is RELEASED is the error. In a pause, when no thread
 * holds anything, each object whose life has ended must have been released and freed, once.
 */
#ifndef LULL_LAB_TORTURE_COUNT_H
#define LULL_LAB_TORTURE_COUNT_H

#include <lull/ref_handoff.h>

#include "torture/torture.h"

/* Phases of a life. An object's word is one of these plus PHASES times the number of its life. */
enum count_phase { PHASE_LIVE, PHASE_DEAD /* the kill was confirmed */, PHASE_RELEASED, PHASE_FREED, PHASES };

struct counted {
	struct lull_rcu_head head;
	struct lull_percpu_ref ref;
	struct lull_refcount count; /* where it has no percpu_ref */
	bool per_cpu;
	bool by_hazptr; /* readers find it with a hazard pointer, else in a read section */
	bool may_reinit;
	bool may_switch; /* holders may switch it */
	bool rests;	 /* its release leaves it where it is, to be reinited or freed */
	bool confirmed_first;
	uint32_t phase;
	uint32_t shadow;
	uint32_t switches, switched; /* asked for, confirmed */
	struct counted *next;	     /* released in a signal handler */
	uint64_t serial, contents;   /* ~serial until it is freed; both accessed plainly */
};

#define COUNT_PLACES 4u

/* Each kind of count has half of the places, one for each way to find an object. */
struct count_place {
	struct counted *object; /* NULL: the owner is doing something with it */
} __attribute__((aligned(TORTURE_LINE)));

/* References of one holder to one object. */
struct count_hold {
	struct counted *object;
	uint32_t n;
};

enum count_form { COUNT_KILL, COUNT_CONFIRM, COUNT_SWITCH, COUNT_LAST, COUNT_RESURRECT, COUNT_REINIT };

struct torture_counts {
	struct count_place place[COUNT_PLACES];
	uint64_t made, freed, released, confirmed, switched;
};

extern struct torture_counts torture_counts;

/* ---- torture/count/object.c: objects and their lives ----------------------------------------- */

/* Make an object with one reference, the caller's. */
struct counted *torture_counted_new(bool per_cpu, bool by_hazptr, uint64_t *rng);
/* The caller has taken @n references to @o. */
void torture_counted_took(struct counted *o, uint32_t n, const char *where);
void torture_counted_check(const struct counted *o, const char *where);
void torture_counted_put(struct counted *o, uint32_t n, const char *where);
/* Call lull_percpu_ref_tryget_live() while @o is kept from being freed. */
bool torture_counted_tryget_live(struct counted *o, const char *where);
/* The owner's reference goes. In a read section only the plain kill works. */
void torture_counted_kill(struct counted *o, bool confirm);
void torture_counted_switch(struct counted *o, uint64_t *rng);
/* Wait until the kill of @o is confirmed. */
void torture_counted_wait_dead(const struct counted *o);
void torture_counted_resurrect(struct counted *o);
void torture_counted_reinit(struct counted *o);
void torture_counted_drop(struct counted *o, uint64_t *rng); /* of a refcount */
bool torture_counted_is_released(const struct counted *o);
/* Free @o, which was released, when no thread can find it any more. */
void torture_counted_retire(struct counted *o);
void torture_counted_retire_left(void); /* objects released in signal handlers */
void torture_counted_flush(void);	/* give freed objects back to malloc */
struct counted *torture_count_publish(unsigned place, struct counted *o);
bool torture_count_set_handler(bool in_handler); /* this thread; returns what it was */

/* ---- what the flavor is made of: torture/count/reader.c, torture/count/updater.c -------------- */

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

#endif
