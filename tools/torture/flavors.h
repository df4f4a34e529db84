/* SPDX-License-Identifier: MIT */
/* lull torture: what the table of flavors is made of, flavor by flavor. torture.h includes this. */
#ifndef LULL_TOOL_FLAVORS_H
#define LULL_TOOL_FLAVORS_H

#include <stdbool.h>
#include <sys/types.h>

struct torture_tally;
struct torture_use;
struct torturer;
struct element;

/* ---- torture/rcu/online.c: online threads ---------------------------------------------------- */

void torture_online_burst(struct torturer *t);
void *torture_qsbr_reader(void *arg);

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
/* What is in the object is there since before it was published; it must stay what it is. */
void torture_grip_note(struct grip *g);
void torture_grip_check(const struct grip *g, struct torture_tally *tally, const char *where);
/* The last check, and let go. */
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
/* Of the child: release all, in whose hands it may have been. */
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

/* ---- torture/shazptr/shazptr.c --------------------------------------------------------------- */

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

/* ---- torture/hash/reader.c, torture/hash/updater.c; torture_hash.h tells about them ---------- */

void torture_hash(struct torturer *t);
void torture_hash_shortly(struct torturer *t, const char *where);
void torture_hash_in_handler(struct torturer *t);
void *torture_hash_reader(void *arg);
void *torture_hash_updater(void *arg);
pid_t torture_hash_fork(struct torturer *t);
void torture_hash_child(struct torturer *t);
void torture_hash_init(void);
void torture_hash_check(const char *when);
void torture_hash_report(const struct torture_tally *sum);

/* ---- torture/count/reader.c, torture/count/updater.c; torture_count.h tells about them ------- */

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

/* ---- torture/mutex/lock.c; torture_mutex.h tells about it ------------------------------------ */

void torture_mutex(struct torturer *t);
void torture_mutex_shortly(struct torturer *t, const char *where);
void torture_mutex_in_handler(struct torturer *t);
void torture_mutex_die(struct torturer *t);
void torture_mutex_wait_once(void);
void *torture_mutex_reader(void *arg);
void *torture_mutex_updater(void *arg);
void *torture_watcher(void *arg); /* torture/mutex/sleepers.c */
void torture_mutex_change(uint64_t *rng);
pid_t torture_mutex_fork(struct torturer *t);
void torture_mutex_child(struct torturer *t);
void torture_mutex_init(void);
void torture_mutex_check(const char *when);
uint64_t torture_mutex_count(void);
void torture_mutex_report(const struct torture_tally *sum);

#endif
