/* SPDX-License-Identifier: MIT */
/*
 * call.c - liburcu's grace periods, callbacks and threads that run them, on lull's: behind compat/urcu.h.
 *
 * A callback of a flavor that nests goes to lull's reclaimer, unless the program has made a thread for it. One of QSBR
 * goes to a worker at any rate, because only an online thread may run it: it reads without a lock. Which worker: that of
 * the thread, that of its CPU, or the default one, in this order.
 */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "barrier.h"
#include "section.h"
#include "worker.h"

/* A copy of the structure in liburcu's <urcu/flavor.h>. */
struct urcu_atfork {
	void (*before_fork)(void *priv);
	void (*after_fork_parent)(void *priv);
	void (*after_fork_child)(void *priv);
	void *priv;
};

/* ---- which worker -------------------------------------------------------------------------------- */

/* With the lock. */
static void link_worker(struct lull__urcu *urcu, struct call_rcu_data *w, int cpu)
{
	lull__urcu_worker_init(w, (unsigned)(urcu - lull__urcus), cpu);
	w->next = urcu->all;
	urcu->all = w;
	lull_store_relaxed(&urcu->any, 1);
}

/* The default worker needs no memory. Its thread is started as soon as that is possible. */
static struct call_rcu_data *default_worker(unsigned kind)
{
	static struct call_rcu_data defaults[LULL__URCU_KINDS];
	struct lull__urcu *urcu = &lull__urcus[kind];
	struct call_rcu_data *w = &defaults[kind];

	if (lull_likely(lull_rcu_access(urcu->by_default) != NULL))
		return w;
	lull__ground.lock_take(&urcu->lock);
	if (!urcu->by_default) {
		link_worker(urcu, w, -1);
		lull_rcu_assign(urcu->by_default, w);
	}
	lull__ground.lock_leave(&urcu->lock);
	(void)lull__urcu_worker_start(w);
	return w;
}

/* Return the one of @cpu, or NULL. In a section. */
static struct call_rcu_data *worker_of_cpu(struct lull__urcu *urcu, int cpu)
{
	struct call_rcu_data **of_cpu = lull_rcu_dereference(urcu->of_cpu);

	return of_cpu && cpu >= 0 && cpu < urcu->cpus ? lull_rcu_dereference(of_cpu[cpu]) : NULL;
}

/* In a section. NULL: there is none. */
static struct call_rcu_data *chosen_worker(unsigned kind)
{
	struct lull__urcu *urcu = &lull__urcus[kind];
	struct call_rcu_data *w = lull__urcu_of_thread(kind);

	if (!w && lull_rcu_access(urcu->of_cpu))
		w = worker_of_cpu(urcu, sched_getcpu());
	return w ? w : lull_rcu_dereference(urcu->by_default);
}

void lull__urcu_call(struct lull_head *head, lull_rcu_func func, unsigned kind)
{
	struct call_rcu_data *w;

	if (kind == LULL__URCU_ONLINE)
		(void)default_worker(kind);
	if (lull_likely(lull_load_relaxed(&lull__urcus[kind].any))) {
		lull__urcu_read_lock();
		w = chosen_worker(kind);
		if (w)
			lull__urcu_worker_push(w, head, func);
		lull__urcu_read_unlock();
		if (w)
			return;
	}
	lull_rcu_call(head, func);
}

struct call_rcu_data *lull__urcu_default(unsigned kind)
{
	return default_worker(kind);
}

struct call_rcu_data *lull__urcu_of_cpu(int cpu, unsigned kind)
{
	struct call_rcu_data *w;

	lull__urcu_read_lock();
	w = worker_of_cpu(&lull__urcus[kind], cpu);
	lull__urcu_read_unlock();
	return w;
}

struct call_rcu_data *lull__urcu_chosen(unsigned kind)
{
	struct call_rcu_data *w;

	lull__urcu_read_lock();
	w = chosen_worker(kind);
	lull__urcu_read_unlock();
	return w ? w : lull__urcu_default(kind);
}

pthread_t lull__urcu_thread_of(struct call_rcu_data *crdp)
{
	return crdp->thread;
}

/* Make the table of CPUs, if there is none yet. With the lock. Returns 0 or -ENOMEM. */
static int make_cpu_table(struct lull__urcu *urcu)
{
	struct call_rcu_data **of_cpu;

	if (urcu->of_cpu)
		return 0;
	urcu->cpus = (int)lull__ground.cpus_possible();
	of_cpu = calloc((size_t)urcu->cpus, sizeof(struct call_rcu_data *));
	if (!of_cpu)
		return -ENOMEM;
	lull_rcu_assign(urcu->of_cpu, of_cpu);
	return 0;
}

int lull__urcu_set_of_cpu(int cpu, struct call_rcu_data *crdp, unsigned kind)
{
	struct lull__urcu *urcu = &lull__urcus[kind];
	int err = cpu < 0 || cpu >= (int)lull__ground.cpus_possible() ? -EINVAL : 0;

	if (!err) {
		lull__ground.lock_take(&urcu->lock);
		err = make_cpu_table(urcu);
		if (!err && crdp && urcu->of_cpu[cpu])
			err = -EEXIST;
		if (!err)
			lull_rcu_assign(urcu->of_cpu[cpu], crdp);
		lull__ground.lock_leave(&urcu->lock);
	}
	if (err)
		errno = -err;
	return err;
}

/* ---- workers come and go -------------------------------------------------------------------------- */

struct call_rcu_data *lull__urcu_create(unsigned long flags, int cpu, unsigned kind)
{
	struct call_rcu_data *w;
	int err;

	(void)flags; /* URCU_CALL_RCU_RT: that the thread need not be woken; it costs nothing here if it need not */
	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	lull__ground.lock_take(&lull__urcus[kind].lock);
	link_worker(&lull__urcus[kind], w, cpu);
	lull__ground.lock_leave(&lull__urcus[kind].lock);
	err = lull__urcu_worker_start(w);
	if (err) {
		lull__urcu_destroy(w);
		errno = err;
		return NULL;
	}
	return w;
}

/* With the lock. */
static void unlink_worker(struct lull__urcu *urcu, struct call_rcu_data *w)
{
	struct call_rcu_data **at = &urcu->all;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
}

/* Take @w away from the CPUs that still have it, so that it is not found any more. Blocks. */
static void forget_worker(struct lull__urcu *urcu, struct call_rcu_data *w)
{
	bool found = false;

	lull__ground.lock_take(&urcu->lock);
	for (int cpu = 0; urcu->of_cpu && cpu < urcu->cpus; cpu++)
		if (urcu->of_cpu[cpu] == w) {
			lull_rcu_assign(urcu->of_cpu[cpu], NULL);
			found = true;
		}
	lull__ground.lock_leave(&urcu->lock);
	if (found)
		lull__urcu_synchronize(w->kind);
	if (lull__urcu_of_thread(w->kind) == w)
		lull__urcu_set_of_thread(NULL, w->kind);
}

/*
 * Give the rest of @w's callbacks to others, as if they were deferred now, and unlink @w. A barrier finds them on one side
 * or the other; one that has been on the other side already sees that a worker has gone. In a section the reclaimer
 * holds no thread back, with the lock. Blocks.
 */
static void give_rest_to_others(struct lull__urcu *urcu, struct call_rcu_data *w)
{
	struct lull_head *head, *next;

	lull__urcu_await_helpers(urcu, w);
	lull__urcu_read_lock();
	for (head = w->first; head; head = next) {
		next = head->next;
		if (urcu->by_default)
			lull__urcu_worker_push(urcu->by_default, head, head->func);
		else
			lull_rcu_call(head, head->func);
	}
	lull__urcu_read_unlock();
	unlink_worker(urcu, w);
	urcu->gone++;
	lull__ground.lock_leave(&urcu->lock);
}

void lull__urcu_destroy(struct call_rcu_data *crdp)
{
	struct lull__urcu *urcu;
	unsigned kind;

	if (!crdp || crdp == lull_rcu_access(lull__urcus[crdp->kind].by_default))
		return; /* as liburcu: the default one stays */
	kind = crdp->kind;
	urcu = &lull__urcus[kind];
	if (lull__rcu_in_section() || lull__self.callback_depth)
		lull__ground.misuse("call_rcu_data_free in a %s would wait for itself for ever",
			     lull__self.callback_depth ? "callback" : "read section");
	if (kind == LULL__URCU_ONLINE)
		(void)default_worker(kind);
	forget_worker(urcu, crdp);
	lull__urcu_worker_stop(crdp);
	give_rest_to_others(urcu, crdp);
	free(crdp);
}

int lull__urcu_create_all(unsigned long flags, unsigned kind)
{
	int cpus = (int)lull__ground.cpus_possible();

	for (int cpu = 0; cpu < cpus; cpu++) {
		struct call_rcu_data *w;
		int err;

		if (lull__urcu_of_cpu(cpu, kind))
			continue;
		w = lull__urcu_create(flags, cpu, kind);
		if (!w)
			return -errno;
		err = lull__urcu_set_of_cpu(cpu, w, kind);
		if (!err)
			continue;
		lull__urcu_destroy(w);
		if (err != -EEXIST) /* another thread was faster */
			return err;
	}
	return 0;
}

void lull__urcu_destroy_all(unsigned kind)
{
	int cpus = (int)lull__ground.cpus_possible();

	for (int cpu = 0; cpu < cpus; cpu++) {
		struct call_rcu_data *w = lull__urcu_of_cpu(cpu, kind);

		if (w)
			lull__urcu_destroy(w);
	}
}

/* ---- fork ------------------------------------------------------------------------------------------- */

/* Flavors of one kind for which the calling thread is about to fork: the first one locks, the last one unlocks. */
static __thread unsigned prepared[LULL__URCU_KINDS] __attribute__((tls_model("initial-exec")));

/* The lock is held until after the fork: no worker comes or goes meanwhile. */
void lull__urcu_before_fork(unsigned kind)
{
	struct lull__urcu *urcu = &lull__urcus[kind];

	if (prepared[kind]++)
		return;
	lull__ground.init();
	lull__ground.lock_take(&urcu->lock);
	if (urcu->atfork)
		urcu->atfork->before_fork(urcu->atfork->priv);
	for (struct call_rcu_data *w = urcu->all; w; w = w->next)
		lull__urcu_worker_pause(w);
}

void lull__urcu_after_fork_parent(unsigned kind)
{
	struct lull__urcu *urcu = &lull__urcus[kind];

	if (!prepared[kind] || --prepared[kind])
		return;
	for (struct call_rcu_data *w = urcu->all; w; w = w->next)
		lull__urcu_worker_go_on(w);
	if (urcu->atfork)
		urcu->atfork->after_fork_parent(urcu->atfork->priv);
	lull__ground.lock_leave(&urcu->lock);
}

/* Callbacks that the workers had are run by new threads of theirs. (liburcu ends all but the default one.) */
void lull__urcu_after_fork_child(unsigned kind)
{
	struct lull__urcu *urcu = &lull__urcus[kind];

	if (!prepared[kind] || --prepared[kind])
		return;
	if (urcu->atfork)
		urcu->atfork->after_fork_child(urcu->atfork->priv);
	for (struct call_rcu_data *w = urcu->all; w; w = w->next)
		(void)lull__urcu_worker_start(w);
}

void lull__urcu_register_atfork(struct urcu_atfork *atfork, unsigned kind)
{
	lull__ground.lock_take(&lull__urcus[kind].lock);
	if (lull__urcus[kind].atfork_count++ == 0)
		lull__urcus[kind].atfork = atfork;
	lull__ground.lock_leave(&lull__urcus[kind].lock);
}

void lull__urcu_unregister_atfork(struct urcu_atfork *atfork, unsigned kind)
{
	(void)atfork;
	lull__ground.lock_take(&lull__urcus[kind].lock);
	if (--lull__urcus[kind].atfork_count == 0)
		lull__urcus[kind].atfork = NULL;
	lull__ground.lock_leave(&lull__urcus[kind].lock);
}
