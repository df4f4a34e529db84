/* SPDX-License-Identifier: MIT */
/*
 * call_rcu.c - the threads that run callbacks, and their queues.
 *
 * A queue is a stack that anyone pushes to, and that its worker takes as a whole and turns round. A push to an empty
 * stack wakes the worker. So a call that comes alone is served at once. A worker begins a grace period every
 * URCU_PACE_NS at most, as each may interrupt all readers: where many calls come they are served together.
 *
 * source/worker.c has such threads for programs that are compiled against lull; why there are two is said there.
 */
#include <limits.h>
#include <sched.h>
#include <stdlib.h>

#include "../../src/base/message.h"
#include "call_rcu_worker.h"

#define URCU_PACE_NS	   500000u
#define URCU_RETRY_NS   10000000u /* between two tries to start a thread that is waited for */
#define URCU_AGAIN_NS 1000000000u /* ... where there was none to start; and before a wait is looked at that may never end */

__thread struct call_rcu_data *lull__urcu_own_worker __attribute__((tls_model("initial-exec")));

/* ---- queues ------------------------------------------------------------------------------------------- */

static void nudge(struct call_rcu_data *w)
{
	/*
	 * ORDER URCU-6: what was pushed before the event; pairs with URCU-6 in work(); without it the worker
	 * finds the queue empty, takes the event for an old one, and sleeps; model/urcu/nudge.litmus
	 */
	lull_add_release(&w->event, 1u);
	lull__futex_wake(&w->event, INT_MAX);
}

static bool urcu_push(struct call_rcu_data *w, struct rcu_head *head)
{
	struct rcu_head *newest = lull_load_relaxed(&w->pushed);

	do
		head->next = newest;
	/*
	 * ORDER URCU-5: the unlinking and the head before it is on the queue; pairs with URCU-5 in urcu_take();
	 * without it the grace period misses the unlinking, or the worker calls what is not there yet;
	 * model/urcu/queue.litmus
	 */
	while (!lull_cas_release(&w->pushed, &newest, head));
	return !newest;
}

/* Take all that waits, the oldest first. */
static struct rcu_head *urcu_take(struct call_rcu_data *w)
{
	struct rcu_head *oldest = NULL, *next;

	/* ORDER URCU-5: the queue before the grace period, and what was pushed before it is called; pairs with
	 * URCU-5 in urcu_push(); without it as there; model/urcu/queue.litmus */
	for (struct rcu_head *head = lull_xchg_acquire(&w->pushed, NULL); head; head = next) {
		next = head->next;
		head->next = oldest;
		oldest = head;
	}
	return oldest;
}

static void run(struct call_rcu_data *w)
{
	struct rcu_head *head;
	size_t called = 0;

	lull__lock(&w->running);
	w->domain->reads(true);
	while ((head = w->batch)) {
		w->batch = head->next;
		head->func(head);
		called++;
	}
	lull_sub_relaxed(&w->waiting, called);
	w->domain->reads(false);
	lull__unlock(&w->running);
}

/* Is it too early for a grace period after that of @last_ns? Then sleep until it is time, or something happens. */
static bool rest(struct call_rcu_data *w, uint32_t event, uint64_t last_ns)
{
	uint64_t due_ns = last_ns + URCU_PACE_NS;

	if (lull_load_relaxed(&w->urgent) || lull__is_past(due_ns))
		return false;
	lull__futex_wait(&w->event, event, due_ns);
	return true;
}

static void begin(struct call_rcu_data *w)
{
	cpu_set_t set;

	lull__urcu_own_worker = w;
	w->domain->be_worker(w); /* callbacks that its callbacks defer come back to @w */
	pthread_setname_np(pthread_self(), "lull-call-rcu");
	if (w->cpu >= 0) {
		CPU_ZERO(&set);
		CPU_SET((unsigned)w->cpu % CPU_SETSIZE, &set);
		sched_setaffinity(0, sizeof(set), &set); /* that CPU may not be there */
	}
	w->domain->reads(true);
	w->domain->reads(false);
}

static void *work(void *arg)
{
	struct call_rcu_data *w = arg;
	uint64_t last_ns = 0;

	begin(w);
	for (;;) {
		/*
		 * ORDER URCU-6: the event before the queue; pairs with URCU-6 in nudge(); without it as there;
		 * model/urcu/nudge.litmus
		 */
		uint32_t event = lull_load_acquire(&w->event);

		if (lull_load_relaxed(&w->stop))
			break;
		if (!w->batch && !lull_load_relaxed(&w->pushed)) {
			lull__futex_wait(&w->event, event, LULL__NEVER);
			continue;
		}
		if (!w->batch && rest(w, event, last_ns))
			continue;
		lull_store_relaxed(&w->urgent, 0u);
		last_ns = lull__now_ns();
		lull__lock(&w->running); /* no fork in between loses what is taken */
		if (!w->batch) /* else a child goes on with what its parent's worker had taken */
			w->batch = urcu_take(w);
		lull__unlock(&w->running);
		lull_store_relaxed(&w->waits_for, lull_load_relaxed(&w->domain->started) + 1);
		lull__urcu_synchronize(w->domain);
		lull_store_relaxed(&w->waits_for, 0ul);
		run(w);
	}
	if (w->domain->record() && w->domain->record()->registered)
		w->domain->leave(); /* there may be no thread to notice the exit */
	/*
	 * ORDER URCU-7: all that the worker did before it has ended; pairs with URCU-7 in end_thread(); without it
	 * its queue is freed under it; model/urcu/ended.litmus
	 */
	lull_store_release(&w->ended, 1u);
	lull__futex_wake(&w->ended, INT_MAX);
	return NULL;
}

/* ---- threads ------------------------------------------------------------------------------------------- */

/* With the lock of workers. Returns 0 or an errno value. */
static int start(struct call_rcu_data *w)
{
	sigset_t saved;
	int err;

	if (w->has_thread)
		return 0;
	lull__block_all_but_faults(&saved); /* of its other signals the program's own threads take care */
	err = pthread_create(&w->thread, NULL, work, w);
	lull__restore_signals(&saved);
	if (!err)
		lull_store_relaxed(&w->has_thread, 1u);
	return err;
}

bool lull__urcu_worker_runs(struct call_rcu_data *w)
{
	int err;

	lull__lock(&w->domain->workers_lock);
	err = start(w);
	lull__unlock(&w->domain->workers_lock);
	return !err;
}

struct call_rcu_data *lull__urcu_create_worker(struct urcu_domain *d, unsigned long flags, int cpu)
{
	struct call_rcu_data *w = calloc(1, sizeof(*w));

	if (!w)
		lull__die("no memory for the thread that runs callbacks");
	lull__urcu_init();
	w->domain = d;
	w->flags = flags;
	w->cpu = cpu;
	lull__lock(&d->workers_lock);
	w->next = d->workers;
	d->workers = w;
	start(w); /* else with the first callback */
	lull__unlock(&d->workers_lock);
	return w;
}

pthread_t lull__urcu_worker_thread(struct call_rcu_data *worker)
{
	lull__urcu_init();
	if (!lull__urcu_worker_runs(worker))
		lull__say("no thread can be started that runs callbacks; they wait");
	return worker->thread;
}

void lull__urcu_defer(struct call_rcu_data *worker, struct rcu_head *head)
{
	bool first;

	lull_add_relaxed(&worker->waiting, (size_t)1); /* before it can be called */
	first = urcu_push(worker, head);
	if (lull_unlikely(!lull_load_relaxed(&worker->has_thread))) {
		lull__urcu_init();
		lull__urcu_worker_runs(worker);
	} else if (first) {
		nudge(worker);
	}
}

/* ---- the end of a worker ------------------------------------------------------------------------------ */

/* Put all that waits at @w, which has no thread, behind what waits at @heir. */
static void move_all(struct call_rcu_data *w, struct call_rcu_data *heir)
{
	struct rcu_head *head, *next, *lists[2] = { w->batch, urcu_take(w) };

	w->batch = NULL;
	for (int i = 0; i < 2; i++) {
		for (head = lists[i]; head; head = next) {
			next = head->next;
			urcu_push(heir, head);
		}
	}
	lull_add_relaxed(&heir->waiting, w->waiting);
}

static void wake(struct call_rcu_data *w)
{
	if (lull_load_relaxed(&w->has_thread))
		nudge(w);
	else
		lull__urcu_worker_runs(w);
}

void lull__urcu_worker_bury(struct call_rcu_data *w)
{
	struct call_rcu_data *heir = lull__urcu_default_worker(w->domain);

	move_all(w, heir);
	wake(heir);
	free(w);
}

void lull__urcu_worker_forget(struct call_rcu_data *w)
{
	struct call_rcu_data **at = &w->domain->workers;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
}

/*
 * Does @w wait for a grace period that waits for the calling thread's section? The section has an older number than the
 * one that is open, which therefore does not end; and that, or a later one, is what @w waits for. Plain looks: all of
 * this has been so for long.
 */
static bool waits_for_us(struct call_rcu_data *w)
{
	struct urcu_domain *d = w->domain;
	unsigned long word = *d->record()->word;
	uint64_t started = lull_load_relaxed(&d->started), completed = lull_load_relaxed(&d->completed);

	return completed != started && word >> 32 != (uint32_t)started && lull_load_relaxed(&w->waits_for) > completed;
}

/* @call: NULL, or what is called in a section that grace periods wait for. */
static void end_thread(struct call_rcu_data *w, const char *call)
{
	lull_store_relaxed(&w->stop, 1u);
	nudge(w);
	/* ORDER URCU-7: that the worker has ended before its queue is freed; pairs with URCU-7 in work(); without it
	 * as there; model/urcu/ended.litmus */
	while (!lull_load_acquire(&w->ended)) {
		lull__futex_wait(&w->ended, 0, call ? lull__now_ns() + URCU_AGAIN_NS : LULL__NEVER);
		if (call && waits_for_us(w)) {
			lull__say("%s in a read section never returns, in %s: the worker waits for a grace period, and "
				  "that for the section", call, lull__thread_words(lull__gettid()).text);
			call = NULL;
		}
	}
#if LULL_URCU_VERSION >= 14
	pthread_join(w->thread, NULL); /* before, that was up to the program */
#endif
}

void lull__urcu_free_worker(struct urcu_domain *d, struct call_rcu_data *worker, const char *call)
{
	struct call_rcu_data *heir;

	if (!worker || worker == lull_load_relaxed(&d->by_default))
		return;
	lull__urcu_init();
	heir = lull__urcu_default_worker(d);
	lull__lock(&d->workers_lock);
	while (worker->has_thread && !lull_load_relaxed(&worker->ended)) {
		lull__unlock(&d->workers_lock);
		end_thread(worker, call);
		lull__lock(&d->workers_lock); /* a barrier may have started a thread meanwhile, where there was none */
	}
	/*
	 * In one piece, for a barrier: it finds the worker and what waits there, or its heir with the same.
	 *
	 *	call_rcu_data_free()			rcu_barrier()
	 *	takes the worker off the list
	 *						pushes behind what waits at all others, returns
	 *	moves what waited
	 *	...					callbacks from before the barrier run
	 */
	move_all(worker, heir);
	lull__urcu_worker_forget(worker);
	lull__unlock(&d->workers_lock);
	wake(heir);
	free(worker);
}

/* ---- barrier ------------------------------------------------------------------------------------------------ */

/* On the heap: workers of a forked child come to the barrier, and there the waiter's stack may be another's. */
struct barrier {
	uint32_t left; /* how many queues have not come to it yet */
	struct arrival {
		struct rcu_head head;
		struct barrier *barrier;
	} arrivals[];
};

static void barrier_reached(struct rcu_head *head)
{
	uint32_t *left = &((struct arrival *)(void *)head)->barrier->left;

	lull_add_relaxed(&lull__urcu_own_worker->waiting, (size_t)1); /* it was not one of those */
	/*
	 * ORDER URCU-9: the callbacks of a queue before it is counted; pairs with URCU-9 in lull__urcu_barrier();
	 * without it what a callback did is not seen behind the barrier; model/urcu/barrier.litmus
	 */
	if (lull_sub_release(left, 1u) == 1)
		lull__futex_wake(left, INT_MAX);
}

/* Take the lock of workers, and return a barrier with room for each. It is not held while there is no memory. */
static struct barrier *lock_with_room(struct urcu_domain *d)
{
	struct barrier *barrier = NULL;
	size_t room = 0;

	for (;;) {
		size_t count = 0;

		lull__lock(&d->workers_lock);
		for (const struct call_rcu_data *w = d->workers; w; w = w->next)
			count++;
		if (barrier && count <= room)
			return barrier;
		lull__unlock(&d->workers_lock);
		free(barrier);
		room = 2 * count; /* others may create some meanwhile */
		while (!(barrier = calloc(1, sizeof(*barrier) + room * sizeof(*barrier->arrivals))))
			lull__nap(URCU_RETRY_NS);
	}
}

/* Let all workers come to what waits on their queues. Returns false if one has no thread yet. With the lock of workers. */
static bool hurry_all(struct urcu_domain *d)
{
	bool all_run = true;

	for (struct call_rcu_data *w = d->workers; w; w = w->next) {
		lull_store_relaxed(&w->urgent, 1u);
		if (start(w) != 0)
			all_run = false;
		else
			nudge(w);
	}
	return all_run;
}

/* Try again where a thread could not be started. */
static void await_barrier(struct urcu_domain *d, uint32_t *left, uint32_t now, bool *all_run)
{
	uint64_t look_ns = lull__now_ns() + (*all_run ? URCU_AGAIN_NS : URCU_RETRY_NS);

	lull__futex_wait(left, now, look_ns);
	if (!lull__is_past(look_ns))
		return;
	lull__lock(&d->workers_lock);
	*all_run = hurry_all(d);
	lull__unlock(&d->workers_lock);
}

void lull__urcu_barrier(struct urcu_domain *d, const char *call)
{
	struct barrier *barrier;
	struct arrival *one;
	uint32_t now;
	bool all_run;

	if (lull__urcu_own_worker && lull__urcu_own_worker->domain == d)
		lull__misuse("%s in a callback would wait for itself for ever", call);
	lull__urcu_init();
	barrier = lock_with_room(d);
	barrier->left = 1;
	one = barrier->arrivals;
	for (struct call_rcu_data *w = d->workers; w; w = w->next, one++) {
		*one = (struct arrival){ .head.func = barrier_reached, .barrier = barrier };
		lull_add_relaxed(&barrier->left, 1u);
		urcu_push(w, &one->head);
	}
	all_run = hurry_all(d);
	lull__unlock(&d->workers_lock);
	lull_sub_relaxed(&barrier->left, 1u);
	/* ORDER URCU-9: that all queues have come to the barrier before what the caller does next; pairs with URCU-9
	 * in barrier_reached(); without it as there; model/urcu/barrier.litmus */
	while ((now = lull_load_acquire(&barrier->left)) != 0)
		await_barrier(d, &barrier->left, now, &all_run);
	free(barrier);
}
