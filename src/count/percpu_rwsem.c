/* SPDX-License-Identifier: MIT */
/*
 * percpu_rwsem.c - the lock of percpu_rwsem.h where a writer is near: the shared word, and who sleeps for whom.
 *
 * The word has, from the top: how many readers are in and are not in the counters (signed: one may come in a counter
 * and leave here); how many wait; a phase; "a writer". A reader comes in by one step that finds no writer, or is
 * counted among those that wait; an unlock for writing moves all of these up at once, flips the phase, and wakes
 * them. So they are in before any other writer, and a reader whose phase is over knows that it is in: the next flip
 * is a later writer's, which waits for it. The counters are added to the word by the writer that has set the mark:
 * from then on nobody adds to them.
 *
 * Readers and writers sleep on one half of the word, while that half does not change. A reader that leaves does not
 * touch the lock after its step: to wake the writer it needs only the address.
 */
#include <limits.h>

#include <lull/percpu_ref.h>
#include <lull/percpu_rwsem.h>

#include "../base/deadline.h"
#include "../base/fault.h"
#include "../base/hooks.h"
#include "../base/message.h"
#include "../base/wait.h"
#include "../os/os.h"
#include "../rcu/section.h"
#include "half.h"
#include "percpu_cells.h"
#include "sync.h"

#define RWSEM_WRITER 1u				/* in, or waits for readers */
#define RWSEM_PHASE  2u				/* flips when a writer leaves */
#define RWSEM_WAITS  4u				/* one reader that waits */
#define RWSEM_IN     ((uint64_t)1 << 32)	/* one reader that is in */

static int32_t readers_in(uint64_t state)
{
	return (int32_t)(state >> 32);
}

static struct lull__percpu counters_of(const struct lull_percpu_rwsem *sem)
{
	uintptr_t first = sem->sync.idle & ~(uintptr_t)LULL__RSEQ_NOT;

	return (struct lull__percpu){ .chunk = sem->chunk, .first = (intptr_t *)first };
}

/* ---- readers --------------------------------------------------------------------------------- */

/* Add @n to this thread's counter. Returns false if threads have no counters, or there is a mark. */
static bool count_in_threads(struct lull_percpu_rwsem *sem, intptr_t n)
{
	uintptr_t word = lull_load_relaxed(&sem->sync.word), at;

	if ((word & LULL__RSEQ_NOT) != LULL__RCU_SYNC_THREADS)
		return false;
	lull_rcu_read_lock();
	/*
	 * ORDER RSY-2: the word before what the lock guards; pairs with RSY-2 in lull_rcu_sync_exit(); without it the
	 * reader misses what a writer has stored; model/count/rcu-sync-exit.litmus
	 */
	word = lull_load_acquire(&sem->sync.word);
	if (!(word & LULL__RCU_SYNC_BUSY)) {
		at = (uintptr_t)(lull__self.tid % lull__percpu_count()) << LULL__RSEQ_SHIFT;
		lull_add_relaxed((intptr_t *)(word - LULL__RCU_SYNC_THREADS + at), n);
	}
	/* RSY-1: in the section, so before the end of the grace period that follows the mark. */
	lull_rcu_read_unlock();
	return !(word & LULL__RCU_SYNC_BUSY);
}

/* Come in, or be counted among those that wait, if this one @waits. Returns the word as it was. */
static uint64_t come_in(struct lull_percpu_rwsem *sem, bool waits)
{
	uint64_t state = lull_load_relaxed(&sem->state);

	do {
		if ((state & RWSEM_WRITER) && !waits)
			break;
		/*
		 * ORDER RWS-1: the word before what the lock guards; pairs with RWS-1 in let_readers_in(); without it
		 * the reader misses what the last writer has stored; model/count/rwsem-word.litmus
		 */
	} while (!lull_cas_acquire(&sem->state, &state, state + (state & RWSEM_WRITER ? RWSEM_WAITS : RWSEM_IN)));
	return state;
}

void lull__percpu_rwsem_read_lock_slow(struct lull_percpu_rwsem *sem)
{
	uint64_t state, phase;

	if (count_in_threads(sem, 1))
		return;
	state = come_in(sem, true);
	if (!(state & RWSEM_WRITER))
		return;
	LULL__CHECK(may_block, "lull_percpu_rwsem_read_lock");
	for (phase = state & RWSEM_PHASE;;) {
		/*
		 * ORDER RWS-2: the phase before what the lock guards; pairs with RWS-2 in let_readers_in(); without
		 * it the reader misses what the last writer has stored; model/count/rwsem-word.litmus
		 */
		state = lull_load_acquire(&sem->state);
		if ((state & RWSEM_PHASE) != phase)
			return;
		lull__futex_wait(lull__low_half(&sem->state), (uint32_t)state, LULL__NEVER);
	}
}

bool lull__percpu_rwsem_read_trylock_slow(struct lull_percpu_rwsem *sem)
{
	return count_in_threads(sem, 1) || !(come_in(sem, false) & RWSEM_WRITER);
}

void lull__percpu_rwsem_read_unlock_slow(struct lull_percpu_rwsem *sem)
{
	uint64_t state;

	if (count_in_threads(sem, -1))
		return;
	/*
	 * ORDER RWS-3: what the reader did before it is out; pairs with RWS-3 in await_no_readers(); without it a
	 * writer stores under a reader; model/count/rwsem-out.litmus
	 */
	state = lull_sub_release(&sem->state, RWSEM_IN);
	if ((state & RWSEM_WRITER) && readers_in(state) == 1)
		lull__futex_wake(lull__high_half(&sem->state), 1);
}

/* ---- writers --------------------------------------------------------------------------------- */

/* Become the only writer, and have the readers count in the word. */
static void mark(struct lull_percpu_rwsem *sem, const char *call)
{
	struct lull__percpu counters = counters_of(sem);

	if (!lull__rcu_sync_enter(&sem->sync, call) || LULL__BUSTED(RWSEM_NO_SUM))
		return;
	lull_add_relaxed(&sem->state, (uint64_t)lull__percpu_sum(&counters) << 32);
	lull__percpu_zero(&counters);
}

/* A writer's wait for readers. */
struct rwsem_wait {
	uint64_t since_ns, report_ms; /* say so when it has lasted this long; 0: never */
};

/* Sleep while so many are @in; say so if that is a stall, and again at twice, four, eight ... times its length. */
static void sleep_for_readers(struct lull_percpu_rwsem *sem, int32_t in, struct rwsem_wait *wait)
{
	uint64_t due_ns;

	if (!wait->since_ns)
		*wait = (struct rwsem_wait){ lull__now_ns(), lull__stall_ms() };
	due_ns = wait->report_ms ? wait->since_ns + wait->report_ms * 1000000u : LULL__NEVER;
	if (!lull__is_past(due_ns)) {
		lull__futex_wait(lull__high_half(&sem->state), (uint32_t)in, due_ns);
		return;
	}
	lull__say("a writer of percpu_rwsem %p has waited %llu ms for %d reader%s", (void *)sem,
		  (unsigned long long)((lull__now_ns() - wait->since_ns) / 1000000u), in, in == 1 ? "" : "s");
	wait->report_ms *= 2;
}

static void await_no_readers(struct lull_percpu_rwsem *sem)
{
	struct rwsem_wait wait = { 0, 0 };
	int32_t in;

	for (;;) {
		/*
		 * ORDER RWS-3: the word before the writer's stores; pairs with RWS-3 in
		 * lull__percpu_rwsem_read_unlock_slow(); without it as there; model/count/rwsem-out.litmus
		 */
		in = readers_in(lull_load_acquire(&sem->state));
		if (in == 0)
			return;
		if (in < 0)
			lull__die("lull_percpu_rwsem_write_lock: more readers of percpu_rwsem %p have unlocked than "
				  "locked", (void *)sem);
		LULL__CHECK(may_block, "lull_percpu_rwsem_write_lock");
		sleep_for_readers(sem, in, &wait);
	}
}

void lull_percpu_rwsem_write_lock(struct lull_percpu_rwsem *sem)
{
	lull__rcu_no_section("lull_percpu_rwsem_write_lock");
	lull_mutex_lock(&sem->writers);
	mark(sem, "lull_percpu_rwsem_write_lock");
	lull_or_relaxed(&sem->state, RWSEM_WRITER);
	if (!LULL__BUSTED(RWSEM_NO_WAIT))
		await_no_readers(sem);
}

static void leave(struct lull_percpu_rwsem *sem)
{
	lull_rcu_sync_exit(&sem->sync);
	lull_mutex_unlock(&sem->writers);
}

bool lull_percpu_rwsem_write_trylock(struct lull_percpu_rwsem *sem)
{
	uint64_t state;

	lull__rcu_no_section("lull_percpu_rwsem_write_trylock");
	if (!lull_mutex_trylock(&sem->writers))
		return false;
	mark(sem, "lull_percpu_rwsem_write_trylock");
	state = lull_load_relaxed(&sem->state);
	do {
		if (readers_in(state) != 0) {
			leave(sem);
			return false;
		}
	} while (!lull_cas_acquire(&sem->state, &state, state | RWSEM_WRITER)); /* RWS-3 */
	return true;
}

/* Let all readers that wait in, and no longer say "a writer". */
static void let_readers_in(struct lull_percpu_rwsem *sem)
{
	uint64_t state = lull_load_relaxed(&sem->state), waiting, left;

	do {
		waiting = (uint32_t)state / RWSEM_WAITS;
		left = (state & ~(RWSEM_IN - 1)) + waiting * RWSEM_IN + ((state & RWSEM_PHASE) ^ RWSEM_PHASE);
		/*
		 * ORDER RWS-1: what the writer did before the word; pairs with RWS-1 in come_in(); without it as
		 * there; model/count/rwsem-word.litmus
		 *
		 * ORDER RWS-2: ... before the phase; pairs with RWS-2 in lull__percpu_rwsem_read_lock_slow(); without
		 * it as there; model/count/rwsem-word.litmus
		 */
	} while (!lull_cas_release(&sem->state, &state, left));
	if (waiting)
		lull__futex_wake(lull__low_half(&sem->state), INT_MAX);
}

void lull_percpu_rwsem_write_unlock(struct lull_percpu_rwsem *sem)
{
	if (!(lull_load_relaxed(&sem->state) & RWSEM_WRITER))
		lull__die("lull_percpu_rwsem_write_unlock: percpu_rwsem %p is not locked for writing", (void *)sem);
	let_readers_in(sem);
	leave(sem);
}

/* ---- life ------------------------------------------------------------------------------------ */

void lull_percpu_rwsem_init(struct lull_percpu_rwsem *sem)
{
	struct lull__percpu counters = { NULL, NULL };
	bool rseq = lull_percpu_ref_per_cpu();

	lull_rcu_sync_init(&sem->sync);
	*sem = (struct lull_percpu_rwsem){ .sync.word = lull__rcu_sync_never };
	if (!lull__percpu_alloc(&counters))
		return;
	sem->chunk = counters.chunk;
	sem->sync.word = sem->sync.idle = (uintptr_t)counters.first + (rseq ? 0 : LULL__RCU_SYNC_THREADS);
}

void lull_percpu_rwsem_destroy(struct lull_percpu_rwsem *sem)
{
	struct lull__percpu counters = counters_of(sem);
	int32_t in = readers_in(lull_load_relaxed(&sem->state));

	lull_mutex_destroy(&sem->writers);
	if (sem->chunk) {
		lull_rcu_sync_dtor(&sem->sync);
		in += (int32_t)lull__percpu_sum(&counters);
	}
	if (in)
		lull__die("lull_percpu_rwsem_destroy: percpu_rwsem %p is locked for reading", (void *)sem);
	if (sem->chunk)
		lull__percpu_free(&counters);
	sem->chunk = NULL;
}
