/* SPDX-License-Identifier: MIT */
/*
 * rcu_domain.h - RCU for one part of a program: its readers hold up its own updaters, and may sleep.
 *
 * A grace period of rcu.h waits for the sections of all threads, whatever they read. So one reader that sleeps in its
 * section holds up all of the program. A domain has readers of its own:
 *
 *	static struct lull_rcu_domain files;		lull_rcu_domain_init(&files, "files"), once
 *
 *	reader						updater
 *	int phase = lull_rcu_domain_read_lock(&files);	unlink the object
 *	p = lull_rcu_dereference(head);			lull_rcu_domain_synchronize(&files);
 *	... use *p, also sleep ...			free the object
 *	lull_rcu_domain_read_unlock(&files, phase);
 *
 * The updater waits for sections of `files` alone, and nobody else waits for those.
 *
 * How. A domain has counters for each CPU: how many sections began there and how many ended, in two pairs. A
 * section counts its begin in the pair of the current phase, and its end in the same pair, perhaps on another
 * CPU: only sums mean something. A grace period makes a heavy fence (fence.h), waits until the other phase has
 * as many ends as begins, makes that one the current phase, and waits for the phase that was current until
 * then. New readers are in the new phase, so they hold nothing up. The sum of ends is taken before the sum of
 * begins: so an end that is in the sum has its begin there, too, and equal sums mean that none is missing.
 *
 *	reader					grace period
 *	count a begin				unlinking, heavy fence
 *	load the pointer			sum of ends, then of begins: is the begin there?
 *
 * After the heavy fence either the sum has the begin, or the reader's loads see the unlinking. A reader may be
 * interrupted between its look at the phase and its count for as long as it takes. Then it counts in a phase
 * that is not the current one any more. Therefore a grace period waits for both.
 *
 * Cost. A section is some twenty instructions without a locked one: two restartable sequences (detail/rseq.h),
 * twice those of rcu.h. No thread is registered, and none is looked at: a grace period looks at two counters
 * for each CPU that the machine can have, however many threads there are. It ends up to an eighth later than
 * its last reader, 10 ms at most, since readers wake nobody. Memory: 64 bytes for each CPU that the machine can
 * have, and some 500. Where there are no restartable sequences (lull_percpu_ref_per_cpu() says so) a section is
 * two atomic additions, and a full fence with LULL_FENCE=full.
 *
 * When not. rcu.h is cheaper for readers and for whoever defers memory (it needs no head there), limits how
 * much memory waits, and its reports name the thread that is waited for. A report of a domain says how many
 * sections are open: nobody knows whose they are. To keep one object over a sleep, use hazptr.h.
 *
 * Contexts. lull_rcu_domain_read_lock() and lull_rcu_domain_read_unlock() never wait and never fail; they may
 * be called everywhere, also in signal handlers and in sections of this and other domains, but not in a vfork
 * child. A section belongs to no thread: another one may end it. All else: not in signal handlers. fork: in the
 * child no section of the domain is open, also none that the calling thread has begun; it may end it, without
 * effect. Callbacks that wait are called in both processes. From the second fork on (a child's child) sections of
 * domains that were there before are atomic additions. A signal handler must not fork amid a call of this header.
 *
 * Misuse. A grace period inside a section of the same domain waits for itself for ever; after a second a line
 * says how many sections it waits for. An end without a begin, or with the phase of another section that has
 * ended, lets later grace periods end too early or never.
 *
 * Source: SRCU of the Linux kernel (names, semantics, two phases), by P. McKenney; its variant for fast
 * readers, whose updaters make the fences for both.
 */
#ifndef LULL_RCU_DOMAIN_H
#define LULL_RCU_DOMAIN_H

#include <lull/detail/rseq.h>
#include <lull/fence.h>
#include <lull/rcu.h>

LULL_BEGIN_DECLS

struct lull__domain;

struct lull_rcu_domain {
	uint32_t phase;	    /* in which sections begin; above its two bits how many forks led to this process */
	uintptr_t cells[4]; /* where CPU 0's counters of each phase are, and LULL__DOMAIN_SLOW */
	struct lull__domain *data; /* NULL: destroyed */
};

#define LULL__DOMAIN_SLOW 1u /* count out of line */

/* In a counter's place: begins, and ends. */
#define LULL__DOMAIN_BEGINS 0
#define LULL__DOMAIN_ENDS   8

LULL_API void lull__rcu_domain_begin_slow(struct lull_rcu_domain *d, unsigned phase) LULL_NOEXCEPT;
LULL_API void lull__rcu_domain_end_slow(struct lull_rcu_domain *d, unsigned phase) LULL_NOEXCEPT;

/*
 * Set up @d. @name, which must stay, is for reports. Returns 0 or -ENOMEM. No other thread may use the domain
 * yet. A zeroed structure is no domain.
 */
LULL_API int lull_rcu_domain_init(struct lull_rcu_domain *d, const char *name);

/*
 * Call all that waits for @d, and give its memory back. No thread may use @d any more. Blocks as
 * lull_rcu_domain_barrier() does. Aborts if a section is open.
 */
LULL_API void lull_rcu_domain_destroy(struct lull_rcu_domain *d);

/* Enter a section of @d. Returns its phase, for the unlock. Any context. */
LULL_INLINE int lull_rcu_domain_read_lock(struct lull_rcu_domain *d)
{
	uint32_t phase = lull_load_relaxed(&d->phase);

	if (lull_unlikely(!lull__rseq_add_to(d->cells[phase & 3u], 1, LULL__DOMAIN_BEGINS)))
		lull__rcu_domain_begin_slow(d, phase);
	/*
	 * ORDER DOM-1: the begin before the section's loads; pairs with DOM-1 in domain_begin() (heavy);
	 * without it the sum has no begin of a reader that found the object; model/domain/enter.tpl A light
	 * fence. Where that is a real one, sections begin out of line.
	 */
	lull_compiler_barrier();
	return (int)phase;
}

/* Leave a section of @d, whose lock returned @phase. Any context, any thread. */
LULL_INLINE void lull_rcu_domain_read_unlock(struct lull_rcu_domain *d, int phase)
{
	/*
	 * ORDER DOM-2: the section's loads before the end; pairs with DOM-2 in is_drained() (heavy, or, where
	 * loads do not come after later stores, acquire); without it the object is freed while its last reader
	 * reads; model/domain/exit.tpl A light fence, as above.
	 */
	lull_compiler_barrier();
	LULL__TSAN_RELEASE(d);
	if (lull_unlikely(!lull__rseq_add_to(d->cells[(unsigned)phase & 3u], 1, LULL__DOMAIN_ENDS)))
		lull__rcu_domain_end_slow(d, (unsigned)phase);
}

/*
 * Wait until each section of @d that began before has ended. Blocks; in a section of @d for ever. An online
 * thread (rcu.h) is offline meanwhile, unless it is in a nested section.
 */
LULL_API void lull_rcu_domain_synchronize(struct lull_rcu_domain *d);

/*
 * Wait in pieces: start returns a cookie, and a grace period that began after it covers all that was unlinked
 * before the call. poll says whether that is over, and pushes it along; it waits for no reader. wait waits for it as
 * lull_rcu_domain_synchronize() does.
 */
LULL_API lull_rcu_cookie lull_rcu_domain_gp_start(struct lull_rcu_domain *d);
LULL_API bool lull_rcu_domain_gp_poll(struct lull_rcu_domain *d, lull_rcu_cookie cookie);
LULL_API void lull_rcu_domain_gp_wait(struct lull_rcu_domain *d, lull_rcu_cookie cookie);

/*
 * Call @func(@head) after a grace period of @d, on a thread of the library's ("lull-domain"), which starts with
 * the first call; one thread for all domains, and lull_reclaim_start() does not start it. Where it cannot
 * start, barriers call. Never blocks, needs no memory, sets no limit to what waits: where updates may come
 * faster than readers leave, synchronize now and then. In sections, too. @head must not be deferred again
 * before @func is called.
 */
LULL_API void lull_rcu_domain_call(struct lull_rcu_domain *d, struct lull_head *head, lull_rcu_func func);

/*
 * Wait until all calls of @d that were deferred before have returned. Blocks. Aborts in a callback of any domain: it
 * would wait for itself.
 */
LULL_API void lull_rcu_domain_barrier(struct lull_rcu_domain *d);

LULL_END_DECLS

#include <lull/detail/tsan_rcu_domain.h>

#endif /* LULL_RCU_DOMAIN_H */
