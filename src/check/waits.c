/* SPDX-License-Identifier: MIT */
/*
 * waits.c - debug builds: the table of threads that wait without a deadline for something other than a mutex.
 *
 * A thread sets its entry when it is about to sleep, and takes it out when it has what it waited for. (What a waiter for
 * a mutex waits for is in the table of owners: owner_runs/owner.c.) Each entry has a lock. A thread waits for that of its
 * own entry alone; who reads another one's, or looks for a free one, passes by what is locked. So no thread depends on one
 * that is stopped while it sets its own. A signal handler that has interrupted its thread under one of the locks does
 * nothing here. Whatever is passed by, or finds no room, may be a circle that is found later, or not.
 */
#ifdef LULL_DEBUG
#include <sched.h>
#include <string.h>

#include "../base/lock.h"
#include "../owner_runs/owner.h"
#include "checks.h"
#include "waits.h"

#define WAITS_BUCKETS 64
#define WAITS_WAYS    8

static struct place {
	struct lull__lock lock; /* all of this; a tid is also looked at without it */
	uint32_t tid;		/* 0: free */
	uint32_t seq;
	struct lull__awaited awaited;
	bool later;	    /* ... but now it runs callbacks or a hook, and waits for nothing */
	const void *cohort; /* the thread is in a callback of it */
} place[WAITS_BUCKETS][WAITS_WAYS];

static uint32_t waits_count;

static __thread struct {
	bool has_place; /* the calling thread has an entry */
	bool locks;	/* ... or has one of the locks, perhaps below a signal handler */
} in_table __attribute__((tls_model("initial-exec")));

static bool place_trylock(struct place *of)
{
	if (in_table.locks)
		return false;
	lull_store_relaxed(&in_table.locks, true);
	lull_compiler_barrier();
	if (lull__trylock(&of->lock))
		return true;
	lull_store_relaxed(&in_table.locks, false);
	return false;
}

static void place_unlock(struct place *of)
{
	lull__unlock(&of->lock);
	lull_compiler_barrier();
	lull_store_relaxed(&in_table.locks, false);
}

/* Find the entry of @tid, or, with 0, a free one, where those of thread @hash are; and lock it. NULL: there is none. */
static struct place *lock_place(uint32_t hash, uint32_t tid)
{
	struct place *bucket = place[hash % WAITS_BUCKETS];

	for (int i = 0; i < WAITS_WAYS; i++) {
		if (lull_load_relaxed(&bucket[i].tid) != tid || !place_trylock(&bucket[i]))
			continue;
		if (bucket[i].tid == tid)
			return &bucket[i];
		place_unlock(&bucket[i]);
	}
	return NULL;
}

/* Lock the calling thread's entry, or a new one; NULL: there is no room, or a handler has interrupted its thread here. */
static struct place *lock_own_place(void)
{
	uint32_t tid = lull__check_tid();
	struct place *own = lock_place(tid, tid);
	unsigned rounds = 0;

	/* Another thread may be reading it, for a moment. */
	while (!own && in_table.has_place && !in_table.locks) {
		lull__give_way(&rounds);
		own = lock_place(tid, tid);
	}
	if (own && !in_table.has_place) { /* of a thread that had the same id, and ended amid its wait */
		own->awaited.kind = LULL__AWAITS_NOTHING;
		own->cohort = NULL;
	}
	if (!own)
		own = lock_place(tid, 0);
	if (own)
		lull_store_relaxed(&own->tid, tid);
	return own;
}

/* Unlock @own, and give it back if nothing is in it. */
static void unlock_own_place(struct place *own)
{
	in_table.has_place = own->awaited.kind != LULL__AWAITS_NOTHING || own->cohort;
	if (!in_table.has_place)
		lull_store_relaxed(&own->tid, 0u);
	place_unlock(own);
}

static bool is_same_wait(const struct lull__awaited *a, const struct lull__awaited *b)
{
	return a->kind == b->kind && a->what == b->what && a->len == b->len && a->number == b->number;
}

void lull__waits_set(uint64_t deadline_ns, const struct lull__awaited *awaited)
{
	struct place *own;

	if (deadline_ns != LULL__NEVER || (awaited->kind <= LULL__AWAITS_LATER && !in_table.has_place))
		return;
	own = lock_own_place();
	if (!own)
		return;
	own->later = awaited->kind == LULL__AWAITS_LATER;
	if (!own->later && !is_same_wait(&own->awaited, awaited)) {
		own->seq = lull_add_relaxed(&waits_count, 1u);
		own->awaited = *awaited;
	}
	unlock_own_place(own);
}

void lull__waits_calls_back(const void *cohort)
{
	struct place *own = lock_own_place();

	if (!own)
		return;
	own->cohort = cohort;
	unlock_own_place(own);
}

void lull__waits_thread_exit(void)
{
	lull__waits_set(LULL__NEVER, &(struct lull__awaited){ .kind = LULL__AWAITS_NOTHING });
	if (in_table.has_place)
		lull__waits_calls_back(NULL);
}

bool lull__waits_of(uint32_t tid, struct lull__wish *wish)
{
	struct lull__owner_wish of_mutex;
	struct place *of;

	wish->tid = tid;
	if (lull__owner_wish(tid, &of_mutex) && !of_mutex.deadline) {
		wish->seq = of_mutex.seq;
		wish->of = (struct lull__awaited){ .kind = LULL__AWAITS_MUTEX, .what = of_mutex.waits };
		return true;
	}
	of = tid ? lock_place(tid, tid) : NULL;
	if (!of)
		return false;
	wish->seq = of->seq;
	wish->of = of->awaited;
	if (of->later)
		wish->of.kind = LULL__AWAITS_NOTHING;
	place_unlock(of);
	return wish->of.kind != LULL__AWAITS_NOTHING;
}

unsigned lull__waits_callers(const void *cohort, uint32_t *tids, unsigned most)
{
	unsigned count = 0;

	for (unsigned i = 0; i < WAITS_BUCKETS * WAITS_WAYS && count < most; i++) {
		struct place *of = &place[i / WAITS_WAYS][i % WAITS_WAYS];

		if (!lull_load_relaxed(&of->tid) || !place_trylock(of))
			continue;
		if (of->tid && of->cohort == cohort)
			tids[count++] = of->tid;
		place_unlock(of);
	}
	return count;
}

/* Forget all in the child, whose one thread waits for nothing. (If a callback has forked, it is not in the table there.) */
void lull__waits_fork_child(void)
{
	memset(place, 0, sizeof(place));
	in_table.has_place = false;
}
#endif
