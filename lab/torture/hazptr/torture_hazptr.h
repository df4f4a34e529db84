/* SPDX-License-Identifier: MIT */
/* lull torture: what the parts of flavors hazptr and bridge share. */
#ifndef LULL_LAB_TORTURE_HAZPTR_H
#define LULL_LAB_TORTURE_HAZPTR_H

#include "torture/torture.h"

/* ---- torture/hazptr/object.c, torture/hazptr/reader.c: readers of hazptr and bridge ---------- */

enum torture_kind { KIND_ELEMENT, KIND_BLOB, KIND_PARCEL, NR_KINDS };

/* An object that is held. */
struct grip {
	enum torture_kind kind;
	bool is_full;			 /* by hazptr_fenced.h */
	struct lull_hazptr_context *ctx; /* that has the slot; NULL: a hold */
	struct lull_hazptr *h;
	struct lull_hazptr_hold hold;
	void *object; /* NULL: a slot, and nothing is in it */
	uint64_t serial;
};

/* One slot of the pool is for hazptr_fenced.h alone. */
bool torture_slot_is_full(unsigned slot);
/*
 * Take hold of something by a slot of @ctx, or, if that is NULL or has none, by a hold. False when
 * it did not work out; then there is nothing to release.
 */
bool torture_grip(struct grip *g, struct lull_hazptr_context *ctx, uint64_t *rng);
/* The slot of @g says what slot @nr of the pool leads to: NULL, or the object. */
void *torture_grip_by_slot(struct grip *g, unsigned nr, uint64_t *rng);
/* Note the contents of the object, which are older than its publication and must not change. */
void torture_grip_note(struct grip *g);
void torture_grip_check(const struct grip *g, struct torture_tally *tally, const char *where);
/* Check a last time, and release. */
void torture_grip_end(struct grip *g, struct torture_tally *tally, uint64_t *rng, const char *where);
void torture_keep(struct torturer *t);
void torture_keep_shortly(struct torturer *t, const char *where);
void torture_keep_in_handler(struct torturer *t);
void *torture_keeper(void *arg);

/* ---- torture/hazptr/handover.c: from thread to thread ---------------------------------------- */

void torture_hand_over(struct torturer *t);
/* Release what another thread handed over, if there is anything. */
bool torture_hand_take(struct torturer *t);
/* No fork in between: what is detached is on the list, where a child finds it, or not any more. */
void torture_hand_enter(void);
void torture_hand_leave(void);
void torture_hand_lock(void); /* around fork */
void torture_hand_unlock(void);
/* Release everything in a forked child, whichever thread of the parent held it. */
void torture_hand_inherit(struct torturer *t);
void *torture_releaser(void *arg);
void torture_hand_settle(void); /* wait until the releaser has released all */

/* ---- torture/hazptr/updater.c: updaters of hazptr and bridge --------------------------------- */

void *torture_retirer(void *arg);
bool torture_is_bridge(void);
void torture_retire_debris(struct lull_rcu_head *head, lull_rcu_func func, size_t bytes);
void torture_free_debris(void *ptr);
void torture_wait_kept(struct element *e);
void torture_wait_any(void);

/* ---- torture/hazptr/threads.c: their threads and processes ----------------------------------- */

void torture_keep_live(struct torturer *t);
void torture_keep_die(struct torturer *t);
struct element *torture_keep_begin(struct torture_use *use, struct element **where);
void torture_keep_end(struct torture_use *use);
pid_t torture_keep_fork(struct torturer *t);
void torture_keep_child(struct torturer *t);

#endif
