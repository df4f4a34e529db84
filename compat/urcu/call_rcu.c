/* SPDX-License-Identifier: MIT */
/*
 * call_rcu.c - the threads that run callbacks, and their queues.
 *
 * A queue is a stack that anyone pushes to, and that its worker takes as a whole and turns round. Whoever pushes to
 * an empty stack wakes the worker. So a call that comes alone is served at once. A worker begins a grace period every
 * PACE_NS at most, as each may interrupt all readers: where many calls come they are served together.
 */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>

#include "../../src/base/message.h"
#include "call_rcu.h"

#define PACE_NS	   500000u
#define RETRY_NS   10000000u /* between two tries to start a thread that somebody waits for */
#define DEFER_MOST 4096u     /* deferred by defer_rcu(): more wait for some to be called */

struct call_rcu_data {
	struct rcu_head *pushed; /* the newest first */
	uint32_t event;		 /* changes when the worker should look */
	uint32_t urgent;	 /* somebody waits for this queue */
	uint32_t has_thread;
	uint32_t stop, ended;
	struct lull__lock running; /* held while callbacks run */
	struct rcu_head *batch;	   /* those that have not been called yet of what the worker has taken */
	struct urcu_domain *domain;
	struct call_rcu_data *next; /* of the domain's; under its lock */
	pthread_t thread;
	unsigned long flags;
	int cpu;
};

static __thread struct call_rcu_data *own __attribute__((tls_model("initial-exec"))); /* of the calling thread, if it is a worker */

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

static bool push(struct call_rcu_data *w, struct rcu_head *head)
{
	struct rcu_head *newest = lull_load_relaxed(&w->pushed);

	do
		head->next = newest;
	/*
	 * ORDER URCU-5: the unlinking and the head before it is on the queue; pairs with URCU-5 in take();
	 * without it the grace period misses the unlinking, or the worker calls what is not there yet;
	 * model/urcu/queue.litmus
	 */
	while (!lull_cas_release(&w->pushed, &newest, head));
	return !newest;
}

/* Take all that waits, the oldest first. */
static struct rcu_head *take(struct call_rcu_data *w)
{
	struct rcu_head *oldest = NULL, *next;

	/* ORDER URCU-5: the queue before the grace period, and what was pushed before it is called; pairs with
	 * URCU-5 in push(); without it as there; model/urcu/queue.litmus */
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

	lull__lock(&w->running);
	w->domain->reads(true);
	while ((head = w->batch)) {
		w->batch = head->next;
		head->func(head);
	}
	w->domain->reads(false);
	lull__unlock(&w->running);
}

/* Is it too early for a grace period after that of @last_ns? Then sleep until it is time, or something happens. */
static bool rest(struct call_rcu_data *w, uint32_t event, uint64_t last_ns)
{
	uint64_t due_ns = last_ns + PACE_NS;

	if (lull_load_relaxed(&w->urgent) || lull__is_past(due_ns))
		return false;
	lull__futex_wait(&w->event, event, due_ns);
	return true;
}

static void *work(void *arg)
{
	struct call_rcu_data *w = arg;
	uint64_t last_ns = 0;

	own = w;
	pthread_setname_np(pthread_self(), "lull-call-rcu");
	if (w->cpu >= 0) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET((unsigned)w->cpu % CPU_SETSIZE, &set);
		sched_setaffinity(0, sizeof(set), &set); /* that CPU may not be there */
	}
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
			w->batch = take(w);
		lull__unlock(&w->running);
		lull__urcu_synchronize(w->domain);
		run(w);
	}
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
	lull__block_signals(&saved); /* for the thread to begin so: liburcu's run no handlers either */
	err = pthread_create(&w->thread, NULL, work, w);
	lull__restore_signals(&saved);
	if (!err)
		lull_store_relaxed(&w->has_thread, 1u);
	return err;
}

static bool has_started(struct call_rcu_data *w)
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
	if (!has_started(worker))
		lull__say("no thread can be started that runs callbacks; they wait");
	return worker->thread;
}

void lull__urcu_defer(struct call_rcu_data *worker, struct rcu_head *head)
{
	bool first = push(worker, head);

	if (lull_unlikely(!lull_load_relaxed(&worker->has_thread))) {
		lull__urcu_init();
		has_started(worker);
	} else if (first) {
		nudge(worker);
	}
}

static struct call_rcu_data *published(struct call_rcu_data **where)
{
	/*
	 * ORDER URCU-8: the place of a worker before the worker; pairs with URCU-8 in publish(); without it a queue
	 * is used before it is there; model/urcu/worker.litmus
	 */
	return lull_load_acquire(where);
}

static void publish(struct call_rcu_data **where, struct call_rcu_data *w)
{
	/* ORDER URCU-8: the worker before its place; pairs with URCU-8 in published(); without it as there;
	 * model/urcu/worker.litmus */
	lull_store_release(where, w);
}

static pthread_mutex_t create_lock = PTHREAD_MUTEX_INITIALIZER;

struct call_rcu_data *lull__urcu_default_worker(struct urcu_domain *d)
{
	struct call_rcu_data *w = published(&d->by_default);

	if (lull_likely(w != NULL))
		return w;
	lull__urcu_init();
	pthread_mutex_lock(&create_lock);
	if (!d->by_default)
		publish(&d->by_default, lull__urcu_create_worker(d, 0, -1));
	pthread_mutex_unlock(&create_lock);
	return d->by_default;
}

/* Let the default worker have what @w has not called. @w has no thread. */
static void hand_over(struct call_rcu_data *w)
{
	struct rcu_head *head, *next, *lists[2] = { w->batch, take(w) };

	w->batch = NULL;
	for (int i = 0; i < 2; i++) {
		for (head = lists[i]; head; head = next) {
			next = head->next;
			lull__urcu_defer(lull__urcu_default_worker(w->domain), head);
		}
	}
}

static void forget(struct call_rcu_data *w)
{
	struct call_rcu_data **at = &w->domain->workers;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
}

static void end_thread(struct call_rcu_data *w)
{
	lull_store_relaxed(&w->stop, 1u);
	nudge(w);
	/* ORDER URCU-7: that the worker has ended before its queue is freed; pairs with URCU-7 in work(); without it
	 * as there; model/urcu/ended.litmus */
	while (!lull_load_acquire(&w->ended))
		lull__futex_wait(&w->ended, 0, LULL__NEVER);
#if LULL_URCU_VERSION >= 14
	pthread_join(w->thread, NULL); /* before, that was up to the program */
#endif
}

void lull__urcu_free_worker(struct urcu_domain *d, struct call_rcu_data *worker)
{
	if (!worker || worker == published(&d->by_default))
		return;
	lull__urcu_init();
	lull__lock(&d->workers_lock);
	forget(worker);
	lull__unlock(&d->workers_lock);
	if (worker->has_thread)
		end_thread(worker);
	hand_over(worker);
	free(worker);
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

	return of_cpu && cpu >= 0 && (unsigned)cpu < cpus() ? published(&of_cpu[cpu]) : NULL;
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
	publish(&d->of_cpu[cpu], worker);
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
			lull__urcu_free_worker(d, w);
		if (err && err != -EEXIST) /* another thread may have been faster */
			return err;
	}
	return 0;
}

void lull__urcu_free_cpu_workers(struct urcu_domain *d)
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
	lull__urcu_synchronize(d); /* call_rcu() may be about to use one of them */
	while (count)
		lull__urcu_free_worker(d, freed[--count]);
	free(freed);
}

/* ---- barrier ------------------------------------------------------------------------------------------------ */

struct barrier {
	struct rcu_head head;
	struct barrier *next;
	uint32_t *left; /* how many queues have not come to it yet */
};

static void barrier_reached(struct rcu_head *head)
{
	uint32_t *left = ((struct barrier *)(void *)head)->left;

	/*
	 * ORDER URCU-9: the callbacks of a queue before it is counted; pairs with URCU-9 in lull__urcu_barrier();
	 * without it what a callback did is not seen behind the barrier; model/urcu/barrier.litmus
	 */
	if (lull_sub_release(left, 1u) == 1)
		lull__futex_wake(left, INT_MAX);
}

/* Make sure that @w will come to what waits on its queue. */
static void hurry(struct call_rcu_data *w)
{
	lull_store_relaxed(&w->urgent, 1u);
	while (start(w) != 0)
		lull__nap(RETRY_NS);
	nudge(w);
}

void lull__urcu_barrier(struct urcu_domain *d, const char *call)
{
	struct barrier *all = NULL, *one;
	uint32_t left = 1, now;

	if (own)
		lull__misuse("%s in a callback would wait for itself for ever", call);
	lull__urcu_init();
	lull__lock(&d->workers_lock);
	for (struct call_rcu_data *w = d->workers; w; w = w->next) {
		while (!(one = malloc(sizeof(*one))))
			lull__nap(RETRY_NS);
		*one = (struct barrier){ .head.func = barrier_reached, .next = all, .left = &left };
		all = one;
		lull_add_relaxed(&left, 1u);
		push(w, &one->head);
		hurry(w);
	}
	lull__unlock(&d->workers_lock);
	lull_sub_relaxed(&left, 1u);
	/* ORDER URCU-9: that all queues have come to the barrier before what the caller does next; pairs with URCU-9
	 * in barrier_reached(); without it as there; model/urcu/barrier.litmus */
	while ((now = lull_load_acquire(&left)) != 0)
		lull__futex_wait(&left, now, LULL__NEVER);
	for (; (one = all); free(one))
		all = one->next;
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
		if (w != own)
			lull__lock(&w->running);
}

void lull__urcu_after_fork_parent(struct urcu_domain *d)
{
	for (struct call_rcu_data *w = d->workers; w; w = w->next)
		if (w != own)
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
		if (w != d->by_default) {
			forget(w);
			hand_over(w);
			free(w);
		}
	}
	if (d->by_default)
		has_started(d->by_default);
}

void lull__urcu_workers_fork_child(struct urcu_domain *d)
{
	d->workers_lock.word = 0;
	for (struct call_rcu_data *w = d->workers; w; w = w->next) {
		w->running.word = 0;
		w->has_thread = w == own;
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
	return lull_load_relaxed(&deferred_now) > DEFER_MOST && !own;
}
