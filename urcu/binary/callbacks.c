/* SPDX-License-Identifier: MIT */
/*
 * callbacks.c - what the workers of ../worker/ ask of liburcu's domains, and defer_rcu().
 */
#include <stdlib.h>

#include "../../src/base/callback.h"
#include "../../src/base/message.h"
#include "domain.h"

#define DEFER_MOST 4096u /* deferred by defer_rcu(): more wait for some to be called */

/* ---- lull's ground, as this copy of lull has it ------------------------------------------------------- */

static void urcu_lock_take(struct lull__lock *lock)
{
	lull__lock(lock);
}

static void urcu_lock_leave(struct lull__lock *lock)
{
	lull__unlock(lock);
}

static void urcu_sleep(uint32_t *word, uint32_t value)
{
	lull__futex_wait(word, value, LULL__NEVER);
}

static void urcu_call(const char *what, struct lull_head *head)
{
	(void)what;
	LULL__CALLBACK(what, head->func(head));
}

/* What workers use of it: fork is up to threads.c. */
const struct lull__ground lull__ground = {
	.init = lull__urcu_init,
	.say = lull__say,
	.misuse = lull__misuse,
	.lock_take = urcu_lock_take,
	.lock_leave = urcu_lock_leave,
	.sleep = urcu_sleep,
	.wake = lull__futex_wake,
	.cpus_possible = lull__cpus_possible,
	.call = urcu_call,
};

/* ---- workers and grace periods -------------------------------------------------------------------------- */

static struct urcu_domain *domain_of(struct lull__workers *of)
{
	return lull_container_of(of, struct urcu_domain, workers);
}

/* *@number is the first grace period that may end the wait; 0: there is no wait. */
void lull__urcu_worker_waits(struct lull__workers *of, uint64_t *number)
{
	struct urcu_domain *d = domain_of(of);

	if (number)
		lull_store_relaxed(number, lull_load_relaxed(&d->started) + 1);
	lull__urcu_synchronize(d);
	if (number)
		lull_store_relaxed(number, (uint64_t)0);
}

/* There may be no thread to notice the exit. */
void lull__urcu_worker_leaves(struct lull__workers *of)
{
	struct urcu_domain *d = domain_of(of);

	if (d->record() && d->record()->registered)
		d->leave();
}

void lull__urcu_never_returns(const char *call)
{
	lull__say("%s in a read section never returns, in %s: it waits for a grace period, and that for the section", call,
		  lull__thread_words(lull__gettid()).text);
}

/*
 * Does @w wait for a grace period that waits for the calling thread's section? The section has an older number than the
 * one that is open, which therefore does not end; and that, or a later one, is what @w waits for. Plain looks: all of
 * this has been so for long.
 */
bool lull__urcu_worker_is_stuck(struct call_rcu_data *w, const char *call)
{
	struct urcu_domain *d = domain_of(w->of);
	unsigned long word = *d->record()->word;
	uint64_t started = lull_load_relaxed(&d->started), completed = lull_load_relaxed(&d->completed);
	bool is_stuck = completed != started && word >> 32 != (uint32_t)started &&
			lull_load_relaxed(&w->waits_for) > completed;

	if (is_stuck)
		lull__say("%s in a read section never returns, in %s: the worker waits for a grace period, and that for the "
			  "section", call, lull__thread_words(lull__gettid()).text);
	return is_stuck;
}

/* While the list of workers changes, return the number of before: a thread that forks may wait for this one. */
size_t lull__urcu_waiting(struct urcu_domain *d)
{
	if (lull__trylock(&d->workers.lock)) {
		d->waiting = 0;
		for (const struct call_rcu_data *w = d->workers.all; w; w = w->next)
			d->waiting += lull_load_relaxed(&w->waiting);
		lull__unlock(&d->workers.lock);
	}
	return d->waiting;
}

/* ---- defer_rcu ------------------------------------------------------------------------------------------------ */

static uint32_t deferred_now;

static void call_deferred(struct lull_head *head)
{
	struct urcu_deferred *deferred = lull_container_of(head, struct urcu_deferred, head);
	void (*fct)(void *p) = deferred->fct;
	void *p = deferred->p;

	free(deferred);
	lull_sub_relaxed(&deferred_now, 1u);
	fct(p);
}

struct urcu_deferred *lull__urcu_deferred(void (*fct)(void *p), void *p)
{
	struct urcu_deferred *deferred = malloc(sizeof(*deferred));

	if (!deferred)
		return NULL;
	*deferred = (struct urcu_deferred){ .head.func = call_deferred, .fct = fct, .p = p };
	lull_add_relaxed(&deferred_now, 1u);
	return deferred;
}

bool lull__urcu_many_deferred(void)
{
	return lull_load_relaxed(&deferred_now) > DEFER_MOST && !lull__worker_here;
}
