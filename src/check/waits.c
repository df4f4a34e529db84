/* SPDX-License-Identifier: MIT */
/*
 * waits.c - debug builds: the table of threads that wait without a deadline for something other than a mutex.
 *
 * A thread sets its entry when it is about to sleep, and takes it out when it has what it waited for. (What a waiter for
 * a mutex waits for is in the table of owners: owner_runs/owner.c.) Others read the entry as a whole, under the lock. A
 * bucket that is full has no room for another thread: no circle is found then that goes through that one.
 */
#ifdef LULL_DEBUG
#include <string.h>

#include "../base/lock.h"
#include "../owner_runs/owner.h"
#include "waits.h"

#define WAITS_BUCKETS 64
#define WAITS_WAYS    8

static struct place {
	uint32_t tid; /* 0: free */
	uint32_t seq;
	struct lull__awaited awaited;
	const void *cohort; /* the thread is in a callback of it */
} place[WAITS_BUCKETS][WAITS_WAYS];

static struct lull__lock waits_lock; /* the table, and the count of waits. Signals are blocked meanwhile */
static uint32_t waits_count;

/* The calling thread has an entry. */
static __thread bool has_place __attribute__((tls_model("initial-exec")));

/* Find the entry of @tid, or, with 0, a free one, where those of thread @hash are. */
static struct place *find_among(uint32_t hash, uint32_t tid)
{
	struct place *bucket = place[hash % WAITS_BUCKETS];

	for (int i = 0; i < WAITS_WAYS; i++)
		if (bucket[i].tid == tid)
			return &bucket[i];
	return NULL;
}

/* Return the calling thread's entry, or a new one; NULL: there is no room. With the lock held. */
static struct place *own_place(void)
{
	uint32_t tid = lull__gettid();
	struct place *own = find_among(tid, tid);

	if (own && !has_place) /* of a thread that had the same id, and ended amid its wait */
		*own = (struct place){ .tid = tid };
	if (!own)
		own = find_among(tid, 0);
	return own;
}

static void waits_enter(sigset_t *saved)
{
	lull__block_signals(saved);
	lull__lock(&waits_lock);
}

static void waits_leave(const sigset_t *saved)
{
	lull__unlock(&waits_lock);
	lull__restore_signals(saved);
}

/* Give @own back if nothing is in it. */
static void settle_place(struct place *own)
{
	has_place = own->awaited.kind != LULL__AWAITS_NOTHING || own->cohort;
	if (!has_place)
		*own = (struct place){ .tid = 0 };
}

static bool is_same_wait(const struct lull__awaited *a, const struct lull__awaited *b)
{
	return a->kind == b->kind && a->what == b->what && a->len == b->len && a->number == b->number;
}

void lull__waits_set(uint64_t deadline_ns, const struct lull__awaited *awaited)
{
	struct place *own;
	sigset_t saved;

	if (deadline_ns != LULL__NEVER || (awaited->kind == LULL__AWAITS_NOTHING && !has_place))
		return;
	waits_enter(&saved);
	own = own_place();
	if (own && !is_same_wait(&own->awaited, awaited)) {
		own->tid = lull__gettid();
		own->seq = ++waits_count;
		own->awaited = *awaited;
	}
	if (own)
		settle_place(own);
	waits_leave(&saved);
}

void lull__waits_calls_back(const void *cohort)
{
	struct place *own;
	sigset_t saved;

	waits_enter(&saved);
	own = own_place();
	if (own) {
		own->tid = lull__gettid();
		own->cohort = cohort;
		settle_place(own);
	}
	waits_leave(&saved);
}

void lull__waits_thread_exit(void)
{
	lull__waits_set(LULL__NEVER, &(struct lull__awaited){ .kind = LULL__AWAITS_NOTHING });
	if (has_place)
		lull__waits_calls_back(NULL);
}

bool lull__waits_of(uint32_t tid, struct lull__wish *wish)
{
	struct lull__owner_wish of_mutex;
	struct place *of = NULL;
	sigset_t saved;

	wish->tid = tid;
	if (lull__owner_wish(tid, &of_mutex) && !of_mutex.deadline) {
		wish->seq = of_mutex.seq;
		wish->of = (struct lull__awaited){ .kind = LULL__AWAITS_MUTEX, .what = of_mutex.waits };
		return true;
	}
	waits_enter(&saved);
	of = find_among(tid, tid);
	if (of) {
		wish->seq = of->seq;
		wish->of = of->awaited;
	}
	waits_leave(&saved);
	return of && wish->of.kind != LULL__AWAITS_NOTHING;
}

unsigned lull__waits_callers(const void *cohort, uint32_t *tids, unsigned most)
{
	unsigned count = 0;
	sigset_t saved;

	waits_enter(&saved);
	for (unsigned i = 0; i < WAITS_BUCKETS * WAITS_WAYS && count < most; i++) {
		const struct place *of = &place[i / WAITS_WAYS][i % WAITS_WAYS];

		if (of->tid && of->cohort == cohort)
			tids[count++] = of->tid;
	}
	waits_leave(&saved);
	return count;
}

/* Forget all in the child, whose one thread waits for nothing. (If a callback has forked, it is not in the table there.) */
void lull__waits_fork_child(void)
{
	waits_lock.word = 0;
	memset(place, 0, sizeof(place));
	has_place = false;
}
#endif
