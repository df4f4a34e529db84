/* SPDX-License-Identifier: MIT */
/*
 * worker.c - a thread with a queue of callbacks: see worker.h.
 *
 * The thread takes all that waits, waits for a grace period, and runs it. All that others look at is under the lock of
 * the worker. A thread that has work for this one changes `event` under the lock, and the thread takes `event` under
 * the lock before it sleeps on it: it does not sleep if it has work. The thread of a worker of the online kind is
 * online while it runs callbacks, because callbacks of such programs read without a lock.
 *
 * binary/call_rcu.c has such threads, too, and shares nothing with these. Its programs run as they are: its threads
 * wait for domains that lull knows nothing of, and it stands on os and base. Callbacks that run here are lull's,
 * with lull's grace periods, checks and reports. All that is left to share is a queue of two words and a sleep, and the
 * queues differ: a push there takes no lock, since liburcu's takes none; here a barrier and a fork need the queue to
 * stand still.
 */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>

#include "section.h"
#include "worker.h"

static __thread struct call_rcu_data *of_thread[LULL__URCU_KINDS] __attribute__((tls_model("initial-exec")));
static __thread bool on_worker __attribute__((tls_model("initial-exec")));

struct call_rcu_data *lull__urcu_of_thread(unsigned kind)
{
	return of_thread[kind];
}

void lull__urcu_set_of_thread(struct call_rcu_data *crdp, unsigned kind)
{
	of_thread[kind] = crdp;
}

void lull__urcu_worker_init(struct call_rcu_data *w, unsigned kind, int cpu)
{
	w->last = &w->first;
	w->kind = kind;
	w->cpu = cpu;
}

/* ---- the thread ------------------------------------------------------------------------------- */

/* With the lock. */
static void change_event(struct call_rcu_data *w)
{
	lull_store_relaxed(&w->event, w->event + 1);
}

/* Take what waits; it is in no queue then, and still to be found by a forked child. With the lock. */
static void take_batch(struct call_rcu_data *w)
{
	w->batch = w->first;
	w->first = NULL;
	w->last = &w->first;
}

/* Run what has waited. Relaxed stores: the lock is not held, and only a forked child looks here. */
static void run_batch(struct call_rcu_data *w)
{
	struct lull_head *head;

	lull_rcu_synchronize();
	lull__self.callback_depth++;
	while ((head = w->batch) != NULL) {
		lull_store_relaxed(&w->batch, head->next);
		lull__ground.call("a callback of call_rcu()", head);
	}
	lull__self.callback_depth--;
}

static void sleep_offline(struct call_rcu_data *w, uint32_t event)
{
	bool online = lull__urcu_is_online();

	if (online)
		lull_rcu_offline();
	lull__ground.sleep(&w->event, event);
	if (online)
		lull_rcu_online();
}

/* Take a batch, if there is one and nothing keeps the thread from it. Returns false at the end of the thread. */
static bool next_batch(struct call_rcu_data *w)
{
	for (;;) {
		uint32_t event;
		bool pauses;

		lull__ground.lock_take(&w->lock);
		event = w->event;
		if (w->stop) {
			lull__ground.lock_leave(&w->lock);
			return false;
		}
		pauses = w->pause && !w->paused;
		if (w->pause) {
			w->paused = true;
			lull_store_relaxed(&w->answer, w->answer + pauses);
		} else {
			take_batch(w);
		}
		w->asleep = !w->batch;
		lull__ground.lock_leave(&w->lock);
		if (w->batch)
			return true;
		if (pauses)
			lull__ground.wake(&w->answer, INT_MAX);
		sleep_offline(w, event);
	}
}

static void *work(void *arg)
{
	struct call_rcu_data *w = arg;

	on_worker = true;
	of_thread[w->kind] = w; /* callbacks that its callbacks defer come back to @w */
	lull_thread_register();
	if (w->kind == LULL__URCU_ONLINE)
		lull_rcu_online();
	while (next_batch(w))
		run_batch(w);
	lull__urcu_offline();
	return NULL;
}

/* ---- start and stop --------------------------------------------------------------------------- */

static void set_cpu(pthread_attr_t *attr, int cpu)
{
	cpu_set_t set;

	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_attr_setaffinity_np(attr, sizeof(set), &set);
}

/* Without signals, but for those of faults: handlers of the program's are not for this thread. */
static int create(struct call_rcu_data *w, int cpu)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
	pthread_attr_t attr;
	sigset_t most, saved;
	int err = pthread_attr_init(&attr);

	if (err)
		return err;
	set_cpu(&attr, cpu);
	sigfillset(&most);
	for (unsigned i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigdelset(&most, faults[i]);
	pthread_sigmask(SIG_SETMASK, &most, &saved);
	err = pthread_create(&w->thread, &attr, work, w);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	pthread_attr_destroy(&attr);
	return err;
}

int lull__urcu_worker_start(struct call_rcu_data *w)
{
	bool had;
	int err;

	lull__ground.init();
	lull__ground.lock_take(&w->lock);
	had = w->has_thread;
	w->has_thread = true;
	lull__ground.lock_leave(&w->lock);
	if (had)
		return 0;
	err = create(w, w->cpu);
	if (err == EINVAL && w->cpu >= 0)
		err = create(w, -1); /* a CPU that is not there, or not for us: as liburcu, go on without it */
	if (err) {
		lull__ground.lock_take(&w->lock);
		w->has_thread = false;
		lull__ground.lock_leave(&w->lock);
	}
	return err;
}

/* An online thread that waits for a worker must not keep it from its grace period. */
static bool go_offline(void)
{
	bool online = lull__urcu_is_online();

	if (online)
		lull_rcu_offline();
	return online;
}

void lull__urcu_worker_stop(struct call_rcu_data *w)
{
	bool online = go_offline(), has_thread;

	lull__ground.lock_take(&w->lock);
	w->stop = true;
	has_thread = w->has_thread;
	change_event(w);
	lull__ground.lock_leave(&w->lock);
	lull__ground.wake(&w->event, INT_MAX);
	if (has_thread)
		pthread_join(w->thread, NULL);
	if (online)
		lull_rcu_online();
}

/* ---- queue ------------------------------------------------------------------------------------ */

void lull__urcu_worker_push(struct call_rcu_data *w, struct lull_head *head, lull_rcu_func func)
{
	bool has_thread, asleep;

	head->func = func;
	head->next = NULL;
	lull__ground.lock_take(&w->lock);
	*w->last = head;
	lull_compiler_barrier(); /* see lull__urcu_worker_fork_child() */
	w->last = &head->next;
	has_thread = w->has_thread;
	asleep = w->asleep;
	w->asleep = false;
	change_event(w);
	lull__ground.lock_leave(&w->lock);
	if (asleep)
		lull__ground.wake(&w->event, 1);
	if (lull_unlikely(!has_thread))
		(void)lull__urcu_worker_start(w); /* else the next push tries again, or a barrier helps */
}

void lull__urcu_worker_help(struct call_rcu_data *w)
{
	bool mine, online;

	lull__ground.lock_take(&w->lock);
	mine = !w->has_thread && !w->pause;
	if (mine) {
		w->has_thread = true; /* no other, for now */
		take_batch(w);
	}
	lull__ground.lock_leave(&w->lock);
	if (!mine)
		return;
	online = lull__urcu_is_online();
	if (w->kind == LULL__URCU_ONLINE && !online)
		lull_rcu_online();
	run_batch(w);
	if (w->kind == LULL__URCU_ONLINE && !online)
		lull_rcu_offline();
	lull__ground.lock_take(&w->lock);
	w->has_thread = false;
	lull__ground.lock_leave(&w->lock);
}

/* ---- fork ------------------------------------------------------------------------------------- */

void lull__urcu_worker_pause(struct call_rcu_data *w)
{
	bool online = go_offline();

	lull__ground.lock_take(&w->lock);
	w->pause = true;
	change_event(w);
	lull__ground.lock_leave(&w->lock);
	lull__ground.wake(&w->event, INT_MAX);
	for (;;) {
		uint32_t answer;
		bool waits;

		lull__ground.lock_take(&w->lock);
		answer = w->answer;
		waits = w->has_thread && !w->paused;
		lull__ground.lock_leave(&w->lock);
		if (!waits)
			break;
		lull__ground.sleep(&w->answer, answer);
	}
	if (online)
		lull_rcu_online();
}

void lull__urcu_worker_go_on(struct call_rcu_data *w)
{
	lull__ground.lock_take(&w->lock);
	w->pause = w->paused = false;
	change_event(w);
	lull__ground.lock_leave(&w->lock);
	lull__ground.wake(&w->event, INT_MAX);
}

/* A thread of the parent's may have been in the middle of a push: then the last link may not be known yet. */
void lull__urcu_worker_fork_child(struct call_rcu_data *w)
{
	struct lull_head **end = &w->batch;

	w->lock.word = 0;
	w->helpers = 0;
	w->has_thread = on_worker && pthread_equal(w->thread, pthread_self()); /* a callback has forked */
	w->pause = w->paused = w->asleep = false;
	while (*end)
		end = &(*end)->next;
	*end = w->first;
	w->first = w->batch;
	w->batch = NULL;
	for (end = &w->first; *end;)
		end = &(*end)->next;
	w->last = end;
}
