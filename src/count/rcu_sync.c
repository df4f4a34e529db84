/* SPDX-License-Identifier: MIT */
/*
 * rcu_sync.c - raise the readers' flag for a burst of writers, and take it down some time after the last.
 *
 * All is in one word, so that a fork finds it whole. The first writer makes it busy, waits for readers, and opens it
 * for all writers. The last one that leaves queues closes(), which runs after a grace period:
 *
 *	closes()				another writer
 *	nobody is in: sets QUIET
 *						enters, and so takes QUIET back
 *						leaves: closes() is queued already
 *	makes the word idle if it is quiet:
 *	it is not, so it queues itself
 *
 * Readers that are restartable sequences (percpu_rwsem.h) have no acquire. So closes() ends their sequences, between
 * its look and the idle word: what comes later on these CPUs comes after all that a writer did.
 */
#include <limits.h>

#include "../base/callback.h"
#include "../base/hooks.h"
#include "../base/message.h"
#include "../base/process.h"
#include "../base/rseq_use.h"
#include "../os/os.h"
#include "../rcu/section.h"
#include "half.h"
#include "percpu_life.h"
#include "sync.h"

/* Bits of a busy word. */
#define SYNC_OPEN   ((uintptr_t)8)     /* no reader is on the fast path any more */
#define SYNC_QUEUED ((uintptr_t)0x10)  /* closes() is to come, in the process with SYNC_FORKS */
#define SYNC_QUIET  ((uintptr_t)0x20)  /* nobody has come or gone since closes() saw that nobody was in */
#define SYNC_FORKS  ((uintptr_t)0xf00) /* so many forks, modulo 16, led to the process that queued it */
#define SYNC_WRITER ((uintptr_t)0x1000) /* one that has entered */

const uintptr_t lull__rcu_sync_never = LULL__RCU_SYNC_BUSY | SYNC_OPEN | SYNC_WRITER;

static uintptr_t forks_of_sync; /* as SYNC_FORKS */

static bool anybody_in(uintptr_t word)
{
	return (word & LULL__RCU_SYNC_BUSY) && word >= SYNC_WRITER;
}

/* Are the readers restartable sequences? */
static bool has_sequences(const struct lull_rcu_sync *rs)
{
	return rs->idle && !(rs->idle & LULL__RCU_SYNC_THREADS);
}

/* Has closes() been queued in another process? */
static bool queued_by_parent(uintptr_t word)
{
	return (word & LULL__RCU_SYNC_BUSY) && (word & SYNC_QUEUED) && (word & SYNC_FORKS) != forks_of_sync;
}

void lull_rcu_sync_init(struct lull_rcu_sync *rs)
{
	if (forks_of_sync)
		LULL__CHECK(reclaimed, &rs->rcu); /* it may have been lost: see forget_of_parent() */
	*rs = (struct lull_rcu_sync){ 0 };
}

static void await_fast_readers(const struct lull_rcu_sync *rs)
{
	if (has_sequences(rs))
		lull__rseq_barrier(); /* RSY-1 */
	else
		lull_rcu_synchronize(); /* RSY-1 */
}

/*
 * Take back what was queued in the parent, if it is lost: a thread that the child has not got was about to run it at
 * the fork. Once the callbacks that the child has got are over, it will not come.
 */
static void forget_of_parent(struct lull_rcu_sync *rs)
{
	uintptr_t word = lull_load_relaxed(&rs->word);

	if (lull_likely(!queued_by_parent(word)) || lull__self.callback_depth)
		return;
	lull_rcu_barrier();
	word = lull_load_relaxed(&rs->word);
	while (queued_by_parent(word))
		if (lull_cas_relaxed(&rs->word, &word, word & ~(SYNC_QUEUED | SYNC_QUIET))) {
			LULL__CHECK(reclaimed, &rs->rcu);
			return;
		}
}

/* Raise the flag: the first writer. */
static void open_for_writers(struct lull_rcu_sync *rs)
{
	await_fast_readers(rs);
	/*
	 * ORDER RSY-3: the readers' fast paths before other writers; pairs with RSY-3 in lull__rcu_sync_enter();
	 * without it another writer's stores come under a reader that this one has waited for;
	 * model/count/rcu-sync-open.litmus
	 */
	lull_or_release(&rs->word, SYNC_OPEN);
	lull__futex_wake(lull__low_half(&rs->word), INT_MAX);
}

bool lull__rcu_sync_enter(struct lull_rcu_sync *rs, const char *call)
{
	uintptr_t word;

	lull__init();
	lull__rcu_no_section(call);
	forget_of_parent(rs);
	word = lull_load_relaxed(&rs->word);
	for (;;) {
		if (!(word & LULL__RCU_SYNC_BUSY)) {
			/*
			 * ORDER RSY-1: the mark before the wait; pairs with RSY-1 in count_in_threads() and
			 * lull__rseq_add(); without it a reader takes the fast path that the wait has missed;
			 * model/count/rwsem-enter.tpl
			 */
			if (lull_cas_relaxed(&rs->word, &word, LULL__RCU_SYNC_BUSY | SYNC_WRITER)) {
				open_for_writers(rs);
				return true;
			}
			continue;
		}
		/*
		 * ORDER RSY-3: the word before the writer's work; pairs with RSY-3 in open_for_writers(); without it
		 * as there; model/count/rcu-sync-open.litmus
		 */
		if (lull_cas_acquire(&rs->word, &word, (word & ~SYNC_QUIET) + SYNC_WRITER))
			break;
	}
	if (!(word & SYNC_OPEN))
		LULL__CHECK(may_block, call);
	while (!(word & SYNC_OPEN)) {
		word = lull_load_acquire(&rs->word); /* RSY-3 */
		if (!(word & SYNC_OPEN))
			lull__futex_wait(lull__low_half(&rs->word), (uint32_t)word, LULL__NEVER);
	}
	return false;
}

void lull_rcu_sync_enter(struct lull_rcu_sync *rs)
{
	lull__rcu_sync_enter(rs, "lull_rcu_sync_enter");
}

static void closes(struct lull_head *head);

/* As callbacks defer: the caller may hold a lock that other callbacks want, so it runs none of them here, nor waits. */
static void queue_closes(struct lull_rcu_sync *rs)
{
	lull__self.callback_depth++;
	lull_rcu_call(&rs->rcu, closes);
	lull__self.callback_depth--;
}

/* Make the word idle, if nobody has been here for a grace period. Not a look at @rs when that is done. */
static void closes(struct lull_head *head)
{
	struct lull_rcu_sync *rs = lull_container_of(head, struct lull_rcu_sync, rcu);
	uintptr_t word = lull_load_relaxed(&rs->word), quiet, idle = rs->idle;

	do {
		quiet = anybody_in(word) ? word & ~SYNC_QUEUED : word | SYNC_QUIET;
		/*
		 * ORDER RSY-5: the head, as the reclaimer has read it, before the word says that it is not queued;
		 * pairs with RSY-5 in lull_rcu_sync_exit(); without it the head is queued anew, or freed, under the
		 * reclaimer; model/count/rcu-sync-head.litmus
		 */
	} while (!lull_cas_release(&rs->word, &word, quiet));
	if (anybody_in(word))
		return;
	if (has_sequences(rs))
		lull__rseq_barrier(); /* RSY-4 */
	/*
	 * ORDER RSY-4: the barrier before the idle word; pairs with RSY-4 in lull__rseq_add(); without it a reader
	 * that has no acquire misses what a writer has stored; model/count/rwsem-exit.tpl
	 */
	if (lull_cas_release(&rs->word, &quiet, idle)) /* RSY-5 */
		return;
	/* This process queues it now. */
	while (queued_by_parent(quiet) &&
	       !lull_cas_relaxed(&rs->word, &quiet, (quiet & ~SYNC_FORKS) | forks_of_sync))
		;
	lull_rcu_call(&rs->rcu, closes);
}

void lull_rcu_sync_exit(struct lull_rcu_sync *rs)
{
	uintptr_t word = lull_load_relaxed(&rs->word), left;

	do {
		if (!anybody_in(word))
			lull__die("lull_rcu_sync_exit: nobody has entered %p", (void *)rs);
		left = (word - SYNC_WRITER) & ~SYNC_QUIET;
		if (!anybody_in(left) && !(word & SYNC_QUEUED))
			left = (left & ~SYNC_FORKS) | SYNC_QUEUED | forks_of_sync;
		/*
		 * ORDER RSY-2: the writer's work before the word, which closes() makes idle by read-modify-write;
		 * pairs with RSY-2 in lull_rcu_sync_is_idle() and count_in_threads(); without it as there;
		 * model/count/rcu-sync-exit.litmus
		 */
	} while (!lull_cas_release(&rs->word, &word, left));
	if ((word & SYNC_QUEUED) || !(left & SYNC_QUEUED))
		return;
	/*
	 * ORDER RSY-5: the word before the head is queued; pairs with RSY-5 in closes(); without it as there;
	 * model/count/rcu-sync-head.litmus
	 */
	(void)lull_load_acquire(&rs->word);
	queue_closes(rs);
}

void lull_rcu_sync_dtor(struct lull_rcu_sync *rs)
{
	if (anybody_in(lull_load_relaxed(&rs->word)))
		lull__die("lull_rcu_sync_dtor: somebody has entered %p", (void *)rs);
	/* Also where nothing is to be waited for: whether it is depends on when a writer was here. */
	lull__rcu_no_section("lull_rcu_sync_dtor");
	if (lull__self.callback_depth)
		lull__misuse("lull_rcu_sync_dtor in %s would wait for itself for ever", lull__where_called_back());
	/* If the first closes() found that it was not quiet, it has queued a second. */
	for (int i = 0; i < 2; i++) {
		/*
		 * ORDER RSY-5: the word before the memory is freed; pairs with RSY-5 in closes(); without it as there;
		 * model/count/rcu-sync-head.litmus
		 */
		if (!(lull_load_acquire(&rs->word) & LULL__RCU_SYNC_BUSY))
			return;
		lull_rcu_barrier();
	}
}

void lull__rcu_sync_fork_child(uint32_t old_tid)
{
	(void)old_tid;
	forks_of_sync = (forks_of_sync + 0x100) & SYNC_FORKS;
}
