/* SPDX-License-Identifier: MIT */
/*
 * worker.h - the background thread that reclaims, and how it is woken.
 */
#ifndef LULL_WORKER_H
#define LULL_WORKER_H

#include <signal.h>

#include "../os/os.h"
#include "bag.h"

extern const struct lull__own_thread lull__reclaimer_thread;

/* Start the thread if it is not running. Returns false if that fails. */
bool lull__start_worker(void);

/* Wake the background thread, or notify the program under POLL: something waits. */
void lull__wake_reclaimer(void);

/*
 * Wake or notify from a reader that clears a slot with PARKED, maybe in a signal handler. Starts no thread.
 */
void lull__notify_from_reader(void);

/*
 * Take the lock of the configuration, with signals blocked: a handler that clears a hazard pointer may also take it, to
 * notify.
 */
static inline void lull__config_enter(sigset_t *saved)
{
	lull__block_signals(saved);
	lull__lock(&lull__reclaimer.config_lock);
}

static inline void lull__config_leave(const sigset_t *saved)
{
	lull__unlock(&lull__reclaimer.config_lock);
	lull__restore_signals(saved);
}

/* Does the background thread sleep too deep for an entry that came before the caller's last light fence? */
static inline bool lull__sleeps(uint32_t too_deep)
{
	return lull_unlikely(lull_at_least_relaxed(&lull__reclaimer.sleep, too_deep));
}

/*
 * Wake the thread if it sleeps too deep for an entry that has just come.
 *
 * ORDER REC-2: the entry before the load of `sleep`; pairs with REC-2 in go_to_sleep() (sleep,
 * heavy, check the queues again); without it the entry waits for the next one;
 * model/reclaim/sleep.tpl
 */
static inline void lull__notify(uint32_t sleeps_too_deep)
{
	lull_fence_light();
	if (lull__sleeps(sleeps_too_deep))
		lull__wake_reclaimer();
}

/*
 * After a sweep by a thread that is not the reclaimer: it may have listed a queue whose entry came in the middle, when the
 * reclaimer found nothing and went to sleep.
 */
static inline void lull__notify_relisted(void)
{
	if (lull_unlikely(lull_load_relaxed(&lull__reclaimer.relisted))) {
		lull_store_relaxed(&lull__reclaimer.relisted, 0u);
		lull__notify(LINGERING); /* REC-19: its fence */
	}
}

/* For lull__wait_sleep() of a thread that waits for callbacks and what they defer: the slots that keep anything parked. */
unsigned lull__blame_parked(void *arg, struct lull_stall *first, unsigned *holders);

#endif /* LULL_WORKER_H */
