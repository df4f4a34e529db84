/* SPDX-License-Identifier: MIT */
/*
 * workers.c - which worker runs a thread's callbacks, those of each CPU, how they come and go, and fork.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "workers.h"

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

void lull__worker_link(struct lull__workers *of, struct call_rcu_data *w, int cpu)
{
	w->of = of;
	w->cpu = cpu;
	w->next = of->all;
	lull_store_relaxed(&of->all, w);
}

struct call_rcu_data *lull__workers_make_default(struct lull__workers *of)
{
	if (!of->by_default) {
		lull__worker_link(of, &of->first, -1);
		urcu_publish(&of->by_default, &of->first);
		(void)lull__worker_start(&of->first); /* else with the first callback */
	}
	return of->by_default;
}

struct call_rcu_data *lull__workers_default(struct lull__workers *of)
{
	struct call_rcu_data *w = urcu_published(&of->by_default);

	if (lull_likely(w != NULL))
		return w;
	lull__ground.init();
	lull__ground.lock_take(&of->lock);
	w = lull__workers_make_default(of);
	lull__ground.lock_leave(&of->lock);
	return w;
}

bool lull__worker_is_default(const struct call_rcu_data *w)
{
	return w == &w->of->first;
}

struct call_rcu_data *lull__worker_create(struct lull__workers *of, int cpu)
{
	struct call_rcu_data *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	lull__ground.init();
	lull__ground.lock_take(&of->lock);
	lull__worker_link(of, w, cpu);
	(void)lull__worker_start(w); /* else with the first callback */
	lull__ground.lock_leave(&of->lock);
	return w;
}

pthread_t lull__worker_thread(struct call_rcu_data *w)
{
	bool has_thread;

	lull__ground.init();
	lull__ground.lock_take(&w->of->lock);
	(void)lull__worker_start(w);
	has_thread = w->has_thread;
	lull__ground.lock_leave(&w->of->lock);
	if (!has_thread)
		lull__ground.say("no thread can be started that runs callbacks; they wait");
	return w->thread;
}

/* ---- workers for each CPU -------------------------------------------------------------------------------- */

static unsigned cpus(void)
{
	static unsigned count;
	unsigned known = lull_load_relaxed(&count);

	if (!known) {
		known = lull__ground.cpus_possible();
		lull_store_relaxed(&count, known);
	}
	return known;
}

struct call_rcu_data *lull__workers_of_cpu(struct lull__workers *of, int cpu)
{
	struct call_rcu_data **of_cpu = lull_load_acquire(&of->of_cpu); /* URCU-8: with no worker yet */

	return of_cpu && cpu >= 0 && (unsigned)cpu < cpus() ? urcu_published(&of_cpu[cpu]) : NULL;
}

struct call_rcu_data *lull__workers_here(struct lull__workers *of)
{
	struct call_rcu_data *w = lull_load_relaxed(&of->of_cpu) ? lull__workers_of_cpu(of, sched_getcpu()) : NULL;

	return w ? w : urcu_published(&of->by_default);
}

static int set_of_cpu(struct lull__workers *of, unsigned cpu, struct call_rcu_data *w)
{
	if (!of->of_cpu)
		lull_store_release(&of->of_cpu, (struct call_rcu_data **)calloc(cpus(), sizeof(w))); /* URCU-8 */
	if (!of->of_cpu)
		return ENOMEM;
	if (w && of->of_cpu[cpu])
		return EEXIST;
	urcu_publish(&of->of_cpu[cpu], w);
	return 0;
}

int lull__workers_set_of_cpu(struct lull__workers *of, int cpu, struct call_rcu_data *w)
{
	int err = EINVAL;

	lull__ground.init();
	if (cpu >= 0 && (unsigned)cpu < cpus()) {
		lull__ground.lock_take(&of->lock);
		err = set_of_cpu(of, (unsigned)cpu, w);
		lull__ground.lock_leave(&of->lock);
	}
	if (err)
		errno = err;
	return -err;
}

int lull__workers_create_all(struct lull__workers *of)
{
	lull__ground.init();
	for (int cpu = 0; cpu < (int)cpus(); cpu++) {
		struct call_rcu_data *w;
		int err;

		if (lull__workers_of_cpu(of, cpu))
			continue;
		w = lull__worker_create(of, cpu);
		if (!w)
			return -ENOMEM;
		err = lull__workers_set_of_cpu(of, cpu, w);
		if (err)
			lull__worker_free(w, NULL);
		if (err && err != -EEXIST) /* another thread may have been faster */
			return err;
	}
	return 0;
}

/* ---- the end of a worker ------------------------------------------------------------------------------ */

/* Take @w away from the CPUs, and from the calling thread, that still have it, so that it is not found any more. */
static void forget(struct call_rcu_data *w, const char *call)
{
	struct lull__workers *of = w->of;
	bool found = false;

	if (*of->chosen() == w)
		*of->chosen() = NULL;
	lull__ground.lock_take(&of->lock);
	for (unsigned cpu = 0; of->of_cpu && cpu < cpus(); cpu++)
		if (of->of_cpu[cpu] == w) {
			lull_store_relaxed(&of->of_cpu[cpu], (struct call_rcu_data *)NULL);
			found = true;
		}
	lull__ground.lock_leave(&of->lock);
	if (found && !call)
		of->wait(of, NULL);
}

/*
 * The last part in one piece, for a barrier: it finds the worker and what waits there, or its heir with the same.
 *
 *	call_rcu_data_free()			rcu_barrier()
 *	takes the worker off the list
 *						pushes behind what waits at all others, returns
 *	moves what waited
 *	...					callbacks from before the barrier run
 */
void lull__worker_free(struct call_rcu_data *w, const char *call)
{
	struct lull__workers *of;

	if (!w || lull__worker_is_default(w))
		return;
	of = w->of;
	lull__ground.init();
	forget(w, call);
	for (;;) {
		bool helped, runs;

		lull__ground.lock_take(&of->lock);
		helped = w->helped;
		runs = w->has_thread && !lull_load_relaxed(&w->ended);
		if (!helped && !runs)
			break;
		lull__ground.lock_leave(&of->lock);
		helped ? lull__ground.sleep(&w->helped, 1) : lull__worker_end(w, call);
	}
	lull__worker_bury(w);
	lull__ground.lock_leave(&of->lock);
}

/* All go at once, so that one grace period will do. One may be that of several CPUs. */
void lull__workers_free_all(struct lull__workers *of, const char *call)
{
	struct call_rcu_data *w, *all = NULL;

	if (!lull_load_relaxed(&of->of_cpu))
		return;
	lull__ground.init();
	lull__ground.lock_take(&of->lock);
	for (unsigned cpu = 0; cpu < cpus(); cpu++) {
		w = of->of_cpu[cpu];
		lull_store_relaxed(&of->of_cpu[cpu], (struct call_rcu_data *)NULL);
		if (!w || w->goes || lull__worker_is_default(w))
			continue;
		w->goes = true;
		w->next_to_go = all;
		all = w;
	}
	lull__ground.lock_leave(&of->lock);
	of->wait(of, NULL); /* call_rcu() may be about to use one of them */
	while ((w = all) != NULL) {
		all = w->next_to_go;
		lull__worker_free(w, call);
	}
}

/* ---- fork ---------------------------------------------------------------------------------------------------- */

void lull__workers_register_atfork(struct lull__workers *of, struct urcu_atfork *atfork)
{
	lull__ground.lock_take(&of->lock);
	if (of->atfork_count++ == 0)
		of->atfork = atfork;
	lull__ground.lock_leave(&of->lock);
}

void lull__workers_unregister_atfork(struct lull__workers *of)
{
	lull__ground.lock_take(&of->lock);
	if (--of->atfork_count == 0)
		of->atfork = NULL;
	lull__ground.lock_leave(&of->lock);
}

/* Let no callback run, and no thread begin, until the fork is over. */
void lull__workers_before_fork(struct lull__workers *of)
{
	lull__ground.init();
	if (of->atfork)
		of->atfork->before_fork(of->atfork->priv);
	lull__ground.lock_take(&of->lock);
	for (struct call_rcu_data *w = of->all; w; w = w->next)
		if (w != lull__worker_here)
			lull__ground.lock_take(&w->running);
}

void lull__workers_after_fork_parent(struct lull__workers *of)
{
	for (struct call_rcu_data *w = of->all; w; w = w->next)
		if (w != lull__worker_here)
			lull__ground.lock_leave(&w->running);
	lull__ground.lock_leave(&of->lock);
	if (of->atfork)
		of->atfork->after_fork_parent(of->atfork->priv);
}

/* The default worker goes on with all that the parent had deferred; the others are no more, as with liburcu. */
void lull__workers_after_fork_child(struct lull__workers *of)
{
	struct call_rcu_data *w, *next, *here = lull__worker_here;

	lull__ground.init(); /* an unnoticed child frees the locks there */
	if (of->atfork)
		of->atfork->after_fork_child(of->atfork->priv);
	lull__ground.lock_take(&of->lock);
	free(of->of_cpu);
	of->of_cpu = NULL;
	for (w = of->all; w; w = next) {
		next = w->next;
		/* One whose callback forked goes on: its thread is the one that is here. */
		if (w != here && !lull__worker_is_default(w))
			lull__worker_bury(w);
	}
	if (here)
		here->helpers_choice = NULL; /* it may be gone */
	if (of->by_default)
		(void)lull__worker_start(of->by_default);
	lull__ground.lock_leave(&of->lock);
	*of->chosen() = here && here->of == of ? here : NULL;
}

/* The threads of others that were at work here are not in this process. */
void lull__workers_fork_child(struct lull__workers *of)
{
	of->lock.word = 0;
	for (struct call_rcu_data *w = of->all; w; w = w->next) {
		w->running.word = 0;
		if (w != lull__worker_here)
			w->has_thread = w->helped = 0;
		w->stop = w->ended = 0;
		lull__worker_take_on(w);
		w->waits_for = 0;
	}
}
