/* SPDX-License-Identifier: MIT */
/*
 * workers.c - which worker runs a thread's callbacks, those of each CPU, fork, and defer_rcu().
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "../../src/base/message.h"
#include "call_rcu_worker.h"

#define DEFER_MOST 4096u /* deferred by defer_rcu(): more wait for some to be called */

/* ---- the default one ---------------------------------------------------------------------------------- */

static struct call_rcu_data *urcu_published(struct call_rcu_data **where)
{
	/*
	 * ORDER URCU-8: the place of a worker before the worker; pairs with URCU-8 in urcu_publish(); without it a queue
	 * is used before it is there; model/urcu/worker.litmus
	 */
	return lull_load_acquire(where);
}

static void urcu_publish(struct call_rcu_data **where, struct call_rcu_data *w)
{
	/* ORDER URCU-8: the worker before its place; pairs with URCU-8 in urcu_published(); without it as there;
	 * model/urcu/worker.litmus */
	lull_store_release(where, w);
}

static pthread_mutex_t create_lock = PTHREAD_MUTEX_INITIALIZER;

struct call_rcu_data *lull__urcu_default_worker(struct urcu_domain *d)
{
	struct call_rcu_data *w = urcu_published(&d->by_default);

	if (lull_likely(w != NULL))
		return w;
	lull__urcu_init();
	pthread_mutex_lock(&create_lock);
	if (!d->by_default)
		urcu_publish(&d->by_default, lull__urcu_create_worker(d, 0, -1));
	pthread_mutex_unlock(&create_lock);
	return d->by_default;
}

/* While the list of workers changes, return the number of before: a thread that is about to fork may wait for this one. */
size_t lull__urcu_waiting(struct urcu_domain *d)
{
	if (lull__trylock(&d->workers_lock)) {
		d->waiting = 0;
		for (const struct call_rcu_data *w = d->workers; w; w = w->next)
			d->waiting += lull_load_relaxed(&w->waiting);
		lull__unlock(&d->workers_lock);
	}
	return d->waiting;
}

/* ---- workers for each CPU -------------------------------------------------------------------------------- */

static unsigned cpus(void)
{
	static unsigned count;
	unsigned known = lull_load_relaxed(&count);

	if (!known) {
		known = lull__cpus_possible();
		lull_store_relaxed(&count, known);
	}
	return known;
}

struct call_rcu_data *lull__urcu_cpu_worker(struct urcu_domain *d, int cpu)
{
	struct call_rcu_data **of_cpu = lull_load_relaxed(&d->of_cpu);

	return of_cpu && cpu >= 0 && (unsigned)cpu < cpus() ? urcu_published(&of_cpu[cpu]) : NULL;
}

struct call_rcu_data *lull__urcu_worker_here(struct urcu_domain *d)
{
	struct call_rcu_data *w = d->of_cpu ? lull__urcu_cpu_worker(d, sched_getcpu()) : NULL;

	return w ? w : lull__urcu_default_worker(d);
}

static int set_cpu_worker(struct urcu_domain *d, unsigned cpu, struct call_rcu_data *worker)
{
	if (!d->of_cpu)
		lull_store_relaxed(&d->of_cpu, (struct call_rcu_data **)calloc(cpus(), sizeof(*d->of_cpu)));
	if (!d->of_cpu)
		return ENOMEM;
	if (worker && d->of_cpu[cpu])
		return EEXIST;
	urcu_publish(&d->of_cpu[cpu], worker);
	return 0;
}

int lull__urcu_set_cpu_worker(struct urcu_domain *d, int cpu, struct call_rcu_data *worker)
{
	int err = EINVAL;

	lull__urcu_init();
	if (cpu >= 0 && (unsigned)cpu < cpus()) {
		lull__lock(&d->workers_lock);
		err = set_cpu_worker(d, (unsigned)cpu, worker);
		lull__unlock(&d->workers_lock);
	}
	if (err)
		errno = err;
	return -err;
}

int lull__urcu_create_cpu_workers(struct urcu_domain *d, unsigned long flags)
{
	lull__urcu_init();
	for (unsigned cpu = 0; cpu < cpus(); cpu++) {
		struct call_rcu_data *w;
		int err;

		if (lull__urcu_cpu_worker(d, (int)cpu))
			continue;
		w = lull__urcu_create_worker(d, flags, (int)cpu);
		err = lull__urcu_set_cpu_worker(d, (int)cpu, w);
		if (err)
			lull__urcu_free_worker(d, w, NULL);
		if (err && err != -EEXIST) /* another thread may have been faster */
			return err;
	}
	return 0;
}

void lull__urcu_free_cpu_workers(struct urcu_domain *d, const char *call)
{
	struct call_rcu_data **freed;
	unsigned count = 0;

	if (!d->of_cpu)
		return;
	freed = calloc(cpus(), sizeof(*freed));
	if (!freed)
		return; /* they go on */
	lull__lock(&d->workers_lock);
	for (unsigned cpu = 0; cpu < cpus(); cpu++) {
		if (d->of_cpu[cpu])
			freed[count++] = d->of_cpu[cpu];
		lull_store_relaxed(&d->of_cpu[cpu], (struct call_rcu_data *)NULL);
	}
	lull__unlock(&d->workers_lock);
	if (call)
		lull__say("%s in a read section never returns, in %s: it waits for a grace period, and that for the section",
			  call, lull__thread_words(lull__gettid()).text);
	lull__urcu_synchronize(d); /* call_rcu() may be about to use one of them */
	while (count)
		lull__urcu_free_worker(d, freed[--count], call);
	free(freed);
}

/* ---- fork ---------------------------------------------------------------------------------------------------- */

void lull__urcu_register_atfork(struct urcu_domain *d, struct urcu_atfork *atfork)
{
	lull__lock(&d->workers_lock);
	if (d->atfork_count++ == 0)
		d->atfork = atfork;
	lull__unlock(&d->workers_lock);
}

void lull__urcu_unregister_atfork(struct urcu_domain *d, struct urcu_atfork *atfork)
{
	(void)atfork;
	lull__lock(&d->workers_lock);
	if (--d->atfork_count == 0)
		d->atfork = NULL;
	lull__unlock(&d->workers_lock);
}

/* Let no callback run, and no thread begin, until the fork is over. */
void lull__urcu_before_fork(struct urcu_domain *d)
{
	if (d->atfork)
		d->atfork->before_fork(d->atfork->priv);
	lull__lock(&d->workers_lock);
	for (struct call_rcu_data *w = d->workers; w; w = w->next)
		if (w != lull__urcu_own_worker)
			lull__lock(&w->running);
}

void lull__urcu_after_fork_parent(struct urcu_domain *d)
{
	for (struct call_rcu_data *w = d->workers; w; w = w->next)
		if (w != lull__urcu_own_worker)
			lull__unlock(&w->running);
	lull__unlock(&d->workers_lock);
	if (d->atfork)
		d->atfork->after_fork_parent(d->atfork->priv);
}

/* The default worker goes on with all that the parent had deferred; the others are no more, as with liburcu. */
void lull__urcu_after_fork_child(struct urcu_domain *d)
{
	struct call_rcu_data *w, *next;

	lull__urcu_init(); /* an unnoticed child frees the locks there */
	if (d->atfork)
		d->atfork->after_fork_child(d->atfork->priv);
	free(d->of_cpu);
	d->of_cpu = NULL;
	for (w = d->workers; w; w = next) {
		next = w->next;
		/* One whose callback forked goes on: its thread is the one that is here. */
		if (w != d->by_default && w != lull__urcu_own_worker) {
			lull__urcu_worker_forget(w);
			lull__urcu_worker_bury(w);
		}
	}
	if (d->by_default)
		lull__urcu_worker_runs(d->by_default);
	d->be_worker(lull__urcu_own_worker && lull__urcu_own_worker->domain == d ? lull__urcu_own_worker : NULL);
}

void lull__urcu_workers_fork_child(struct urcu_domain *d)
{
	d->workers_lock.word = 0;
	for (struct call_rcu_data *w = d->workers; w; w = w->next) {
		w->running.word = 0;
		w->has_thread = w == lull__urcu_own_worker;
		w->stop = w->ended = 0; /* the thread that was ending it is not in this process */
		w->waits_for = 0;
	}
	pthread_mutex_init(&create_lock, NULL);
}

/* ---- defer_rcu ------------------------------------------------------------------------------------------------ */

static uint32_t deferred_now;

static void call_deferred(struct rcu_head *head)
{
	struct urcu_deferred *deferred = (struct urcu_deferred *)(void *)head;
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
	return lull_load_relaxed(&deferred_now) > DEFER_MOST && !lull__urcu_own_worker;
}
