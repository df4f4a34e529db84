/* SPDX-License-Identifier: MIT */
/*
 * domain_call.c - callbacks after a grace period of a domain, and the thread that runs them.
 *
 * A domain is on the list of those that the thread looks at from its first callback until it has none left.
 * The thread takes all callbacks of its queue as a batch. The batch waits for one grace period, while new callbacks
 * queue up behind it. The thread waits for no domain, so a section that stays open holds up no other domain's
 * callbacks.
 *
 * A barrier counts: it waits until as many have returned as had been deferred when it began. A call that had
 * ended by then is in the queue before any that is counted later, and the queue is served in its order.
 */
#include <limits.h>

#include "../base/callback.h"
#include "../base/fault.h"
#include "../base/message.h"
#include "../base/own_thread.h"
#include "../base/process.h"
#include "../rcu/section.h"
#include "domain.h"
#include "domain_life.h"

#define DOMAIN_PACE_NS 500000u	/* between two grace periods of one domain: each may interrupt all readers */
#define DOMAIN_HELP_NS	       10000000u /* so often a barrier looks whether it must help */
#define DOMAIN_LEAVE_NS	 100000u /* the thread leaves a domain that has no callbacks as soon as it runs */
#define DOMAIN_RESTART_NS     10000000u /* between two tries to start the thread */
#define DOMAIN_EXIT_NS	      100000000u /* exit() waits so long for a callback that does not return */

static struct {
	struct lull__lock lock;	      /* guards the rest, and `is_listed` */
	struct lull__domain *listed; /* those that have callbacks */
	struct lull__domain *served; /* where the thread is */
	uint32_t event;		     /* changes when a domain is listed, or a barrier begins */
	uint32_t barriers;	     /* how many wait: no pace is kept */
	uint32_t forks;
	uint32_t has_thread;
	uint32_t stop; /* the thread is to end */
	uint64_t again_ns; /* it could not be started: no other try before */
	pthread_t thread;
} domain_calls;

static __thread bool in_domain_callback __attribute__((tls_model("initial-exec")));

void lull__domain_calls_init(struct lull__domain *data)
{
	data->last = &data->first;
}

/* ---- one domain ------------------------------------------------------------------------------------ */

/* Move what is queued into the empty batch. A forked child may find it in both. */
static void domain_take(struct lull__domain *data)
{
	lull__lock(&data->lock);
	lull_store_relaxed(&data->batch, data->first);
	lull_compiler_barrier();
	lull_store_relaxed(&data->first, (struct lull_head *)NULL);
	data->last = &data->first;
	lull__unlock(&data->lock);
}

/* One callback has returned that was called when the process had so many @forks behind it: not counted yet? */
static void count_returned(struct lull__domain *data, uint32_t forks)
{
	lull__lock(&data->lock);
	if (data->forks == forks) /* else it has forked, and this is the child: lull__domain_calls_fork_child() */
		lull_store_relaxed(&data->returned, data->returned + 1);
	if (!data->batch)
		lull_store_relaxed(&data->event, data->event + 1);
	lull__unlock(&data->lock);
}

static void domain_run(struct lull__domain *data)
{
	struct lull_head *head;

	lull__self.callback_depth++;
	in_domain_callback = true;
	while ((head = data->batch) != NULL) {
		uint32_t forks = data->forks;

		lull_store_relaxed(&data->batch, head->next);
		lull__tsan_acquire(data->domain);
		lull__tsan_acquire(LULL__TSAN_DEFERRED);
		LULL__CALLBACK("a callback of lull_rcu_domain_call()", head->func(head));
		lull__tsan_release(LULL__TSAN_DEFERRED);
		count_returned(data, forks);
	}
	in_domain_callback = false;
	lull__self.callback_depth--;
	lull__futex_wake(&data->event, INT_MAX);
}

/*
 * Do what can be done for @data now. Returns when to look again; 0: it has no callbacks. By one thread at a
 * time; with @hurries, for a barrier.
 */
static uint64_t serve_batch(struct lull__domain *data, bool hurries)
{
	uint64_t now_ns = lull__now_ns();

	if (!data->batch) {
		if (!lull_load_relaxed(&data->first))
			return 0;
		if (!hurries && now_ns < data->since_ns + DOMAIN_PACE_NS)
			return data->since_ns + DOMAIN_PACE_NS;
		domain_take(data);
		data->cookie = LULL__BUSTED(DOMAIN_EARLY_CALL) ? 0 : lull__domain_cookie(data);
		data->since_ns = now_ns;
	}
	if (!lull__domain_advance(data, data->cookie, true))
		return now_ns + lull__domain_nap_ns(data->since_ns);
	domain_run(data);
	return lull_load_relaxed(&data->first) ? now_ns : 0;
}

/* The same, unless another thread does it: then look again soon. */
static uint64_t domain_serve(struct lull__domain *data, bool hurries)
{
	uint64_t again_ns;

	if (!lull__trylock(&data->serving))
		return lull__now_ns() + DOMAIN_HELP_NS;
	data->server = &lull__self;
	again_ns = serve_batch(data, hurries);
	data->server = NULL;
	lull__unlock(&data->serving);
	return again_ns;
}

/* ---- the thread ------------------------------------------------------------------------------------ */

/* Take @data off the list, unless a call has come in between. With the lock of the list. */
static bool unlist_if_done(struct lull__domain *data)
{
	struct lull__domain **at = &domain_calls.listed;
	bool done;

	lull__lock(&data->lock);
	done = !data->first && !data->batch;
	if (done)
		data->is_listed = false;
	lull__unlock(&data->lock);
	if (!done)
		return false;
	while (*at != data)
		at = &(*at)->next_listed;
	*at = data->next_listed;
	return true;
}

/* Serve each domain of the list once. Returns when the next one is due; LULL__NEVER: the list is empty. *@event: now. */
static uint64_t domain_serve_all(uint32_t *event)
{
	uint64_t due_ns = LULL__NEVER;
	struct lull__domain *data, *next;
	bool hurries = lull_load_relaxed(&domain_calls.barriers) != 0;

	lull__lock(&domain_calls.lock);
	*event = domain_calls.event;
	for (data = domain_calls.listed; data; data = next) {
		uint64_t again_ns;

		domain_calls.served = data;
		lull__unlock(&domain_calls.lock);
		again_ns = domain_serve(data, hurries);
		lull__lock(&domain_calls.lock);
		next = data->next_listed;
		if (again_ns == 0 && !unlist_if_done(data))
			again_ns = 1;
		if (again_ns)
			due_ns = lull__earlier(due_ns, again_ns);
	}
	domain_calls.served = NULL;
	lull__unlock(&domain_calls.lock);
	return due_ns;
}

/* Sleep until there is work. Returns true if there is none for too long: then the thread ends. */
static bool domain_sleep_idle(uint32_t event)
{
	uint64_t until_ns = lull__idle_end_ns(lull__now_ns(), 0);
	bool ends;

	while (lull_load_relaxed(&domain_calls.event) == event && !lull__is_past(until_ns))
		lull__futex_wait(&domain_calls.event, event, until_ns);
	lull__lock(&domain_calls.lock);
	ends = domain_calls.event == event && !domain_calls.listed && !lull__own_threads_stay();
	if (ends && !domain_calls.stop) { /* else exit() joins it */
		lull_store_relaxed(&domain_calls.has_thread, 0u);
		pthread_detach(pthread_self());
	}
	lull__unlock(&domain_calls.lock);
	return ends;
}

static void domain_thread(void)
{
	while (!lull_load_relaxed(&domain_calls.stop)) {
		uint32_t event;
		uint64_t due_ns = domain_serve_all(&event);

		if (due_ns != LULL__NEVER)
			lull__futex_wait(&domain_calls.event, event, due_ns);
		else if (domain_sleep_idle(event))
			return;
	}
}

static const struct lull__own_thread domain_own_thread = { "lull-domain", domain_thread };

/* Start the thread, unless it is there. Returns whether it is there. */
static bool start_domain_thread(void)
{
	bool there;

	lull__lock(&domain_calls.lock);
	if (!domain_calls.has_thread && lull__is_past(domain_calls.again_ns)) {
		if (lull__own_thread_start(&domain_own_thread, &domain_calls.thread) == 0)
			lull_store_relaxed(&domain_calls.has_thread, 1u);
		else
			domain_calls.again_ns = lull__now_ns() + DOMAIN_RESTART_NS;
	}
	there = domain_calls.has_thread;
	lull__unlock(&domain_calls.lock);
	return there;
}

static void notify_domain_thread(void)
{
	lull__lock(&domain_calls.lock);
	lull_store_relaxed(&domain_calls.event, domain_calls.event + 1);
	lull__unlock(&domain_calls.lock);
	lull__futex_wake(&domain_calls.event, INT_MAX);
}

/* As the reclaimer's thread (reclaim/wake.c): leak checkers do not report one that has been joined. */
__attribute__((destructor)) static void stop_domain_thread(void)
{
	bool there;

	lull__lock(&domain_calls.lock);
	there = domain_calls.has_thread && !pthread_equal(domain_calls.thread, pthread_self());
	lull_store_relaxed(&domain_calls.stop, (uint32_t)there);
	lull__unlock(&domain_calls.lock);
	if (!there)
		return;
	notify_domain_thread();
	there = !lull__join(domain_calls.thread, DOMAIN_EXIT_NS);
	lull__lock(&domain_calls.lock);
	lull_store_relaxed(&domain_calls.has_thread, (uint32_t)there);
	lull_store_relaxed(&domain_calls.stop, 0u);
	lull__unlock(&domain_calls.lock);
}

/* ---- for programs ---------------------------------------------------------------------------------- */

static void list_domain(struct lull__domain *data)
{
	lull__lock(&domain_calls.lock);
	lull__lock(&data->lock);
	if (!data->is_listed) {
		data->is_listed = true;
		data->next_listed = domain_calls.listed;
		domain_calls.listed = data;
	}
	lull__unlock(&data->lock);
	lull__unlock(&domain_calls.lock);
	start_domain_thread();
	notify_domain_thread();
}

void lull_rcu_domain_call(struct lull_rcu_domain *d, struct lull_head *head, lull_rcu_func func)
{
	struct lull__domain *data = lull__domain_of(d, "lull_rcu_domain_call");
	bool listed;

	head->func = func;
	head->next = NULL;
	lull__lock(&data->lock);
	lull_store_relaxed(&data->called, data->called + 1);
	lull_store_relaxed(data->last, head); /* the thread looks at the first without the lock */
	lull_compiler_barrier(); /* a forked child looks for the last one by itself */
	data->last = &head->next;
	listed = data->is_listed;
	lull__unlock(&data->lock);
	if (lull_unlikely(!listed || !lull_load_relaxed(&domain_calls.has_thread)))
		list_domain(data);
}

/* Wait until @count calls have returned. Help where no thread does it. */
static void await_returned(struct lull__domain *data, uint64_t count)
{
	for (;;) {
		uint64_t again_ns;
		uint32_t event;
		bool done;

		lull__lock(&data->lock);
		event = data->event;
		done = data->returned >= count;
		lull__unlock(&data->lock);
		if (done)
			return;
		if (start_domain_thread())
			again_ns = lull__now_ns() + DOMAIN_HELP_NS;
		else
			again_ns = domain_serve(data, true);
		if (again_ns > lull__now_ns())
			lull__futex_wait(&data->event, event, again_ns);
	}
}

void lull_rcu_domain_barrier(struct lull_rcu_domain *d)
{
	struct lull__domain *data = lull__domain_of(d, "lull_rcu_domain_barrier");
	bool online = (lull__self.state & LULL__STATE_ONLINE) && !lull__rcu_in_section(), done;
	uint32_t forks = lull_load_relaxed(&domain_calls.forks);
	uint64_t count;

	if (in_domain_callback)
		lull__misuse("lull_rcu_domain_barrier in a callback would wait for itself for ever");
	lull__lock(&data->lock);
	count = data->called;
	done = data->returned == count;
	lull__unlock(&data->lock);
	if (done)
		return;
	if (online)
		lull_rcu_offline();
	lull_add_relaxed(&domain_calls.barriers, 1u);
	notify_domain_thread();
	await_returned(data, count);
	if (lull_load_relaxed(&domain_calls.forks) == forks) /* else a callback has forked here */
		lull_sub_relaxed(&domain_calls.barriers, 1u);
	if (online)
		lull_rcu_online();
}

void lull__domain_calls_end(struct lull__domain *data)
{
	for (;;) {
		bool used;

		lull__lock(&domain_calls.lock);
		used = domain_calls.served == data || (data->is_listed && !unlist_if_done(data));
		lull__unlock(&domain_calls.lock);
		if (!used)
			return;
		lull__nap(DOMAIN_LEAVE_NS);
	}
}

/* ---- fork ------------------------------------------------------------------------------------------ */

void lull__domain_calls_fork_child(struct lull__domain *data)
{
	uint64_t count = 0;

	data->lock.word = 0;
	if (data->server != &lull__self) /* else a callback of it has forked */
		data->server = NULL;
	data->serving.word = data->server != NULL;
	if (data->batch == data->first)
		data->batch = NULL; /* it was about to be taken */
	for (struct lull_head *head = data->batch; head; head = head->next)
		count++;
	data->last = &data->first;
	for (struct lull_head *head = data->first; head; head = head->next) {
		data->last = &head->next;
		count++;
	}
	data->forks++;
	data->returned = data->called - count;
	data->since_ns = lull__now_ns();
	data->cookie = lull__domain_cookie(data);
	data->is_listed = count != 0 || data->serving.word;
	if (data->is_listed) {
		data->next_listed = domain_calls.listed;
		domain_calls.listed = data;
	}
}

/* Before the domains. The thread starts again with a barrier, or a call. */
void lull__domain_call_fork_child(uint32_t old_tid)
{
	bool goes_on = domain_calls.has_thread && pthread_equal(domain_calls.thread, pthread_self());

	(void)old_tid;
	domain_calls.lock.word = 0;
	domain_calls.listed = NULL;
	domain_calls.has_thread = goes_on;
	domain_calls.barriers = domain_calls.stop = 0;
	domain_calls.forks++;
	domain_calls.again_ns = 0;
	if (!goes_on)
		domain_calls.served = NULL;
}
