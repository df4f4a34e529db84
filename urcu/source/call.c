/* SPDX-License-Identifier: MIT */
/*
 * call.c - liburcu's callbacks and the threads that run them, on lull's grace periods: behind compat/urcu.h.
 *
 * A callback of a flavor that nests goes to lull's reclaimer, unless the program has made a thread for it. One of QSBR
 * goes to a worker at any rate, because only an online thread may run it: it reads without a lock. The worker is that of
 * the thread, that of its CPU, or the default one, in this order. See ../worker/workers.h.
 */
#include "../worker/workers.h"
#include "section.h"

#define SOFT_ITEMS 65536u

/* ---- what workers ask ------------------------------------------------------------------------------- */

static __thread struct call_rcu_data *of_thread[LULL__URCU_KINDS] __attribute__((tls_model("initial-exec")));

static struct call_rcu_data **chosen_that_nests(void)
{
	return &of_thread[LULL__URCU_NESTS];
}

static struct call_rcu_data **chosen_online(void)
{
	return &of_thread[LULL__URCU_ONLINE];
}

static void wait_for_readers(struct lull__workers *of, uint64_t *unused)
{
	(void)of;
	(void)unused;
	lull_rcu_synchronize();
}

static void count_callback(bool begins)
{
	begins ? lull__self.callback_depth++ : lull__self.callback_depth--;
}

static void reads_that_nest(bool begins)
{
	if (begins)
		lull_thread_register();
	count_callback(begins);
}

/* Callbacks of such programs read without a lock. One may go offline, and stay so. */
static void reads_online(bool begins)
{
	if (begins)
		lull__urcu_online();
	count_callback(begins);
	if (!begins)
		lull__urcu_offline();
}

static struct lull__workers workers[LULL__URCU_KINDS] = {
	[LULL__URCU_NESTS] = { .wait = wait_for_readers, .reads = reads_that_nest, .chosen = chosen_that_nests },
	[LULL__URCU_ONLINE] = { .wait = wait_for_readers, .reads = reads_online, .chosen = chosen_online },
};

/* An online thread that waits for a worker must not keep it from its grace period. */
static bool go_offline(void)
{
	bool online = lull__urcu_is_online();

	lull__urcu_offline();
	return online;
}

static void go_back(bool online)
{
	if (online)
		lull_rcu_online();
}

/* ---- which worker -------------------------------------------------------------------------------- */

void lull__urcu_call(struct lull_head *head, lull_rcu_func func, unsigned kind)
{
	struct lull__workers *of = &workers[kind];
	struct call_rcu_data *w = of_thread[kind];

	head->func = func;
	if (!w && lull_load_relaxed(&of->all)) {
		lull__urcu_read_lock(); /* who takes a worker from a CPU waits for it */
		w = lull__workers_here(of);
		if (w)
			lull__worker_defer(w, head);
		lull__urcu_read_unlock();
		if (w)
			return;
	}
	if (!w && kind == LULL__URCU_ONLINE)
		w = lull__workers_default(of);
	if (w)
		lull__worker_defer(w, head);
	else
		lull_rcu_call(head, func);
}

struct call_rcu_data *lull__urcu_of_thread(unsigned kind)
{
	return of_thread[kind];
}

void lull__urcu_set_of_thread(struct call_rcu_data *crdp, unsigned kind)
{
	of_thread[kind] = crdp;
}

struct call_rcu_data *lull__urcu_default(unsigned kind)
{
	return lull__workers_default(&workers[kind]);
}

struct call_rcu_data *lull__urcu_of_cpu(int cpu, unsigned kind)
{
	return lull__workers_of_cpu(&workers[kind], cpu);
}

struct call_rcu_data *lull__urcu_chosen(unsigned kind)
{
	struct call_rcu_data *w = of_thread[kind] ? of_thread[kind] : lull__workers_here(&workers[kind]);

	return w ? w : lull__urcu_default(kind);
}

pthread_t lull__urcu_thread_of(struct call_rcu_data *crdp)
{
	return lull__worker_thread(crdp);
}

int lull__urcu_set_of_cpu(int cpu, struct call_rcu_data *crdp, unsigned kind)
{
	return lull__workers_set_of_cpu(&workers[kind], cpu, crdp);
}

/* ---- workers come and go -------------------------------------------------------------------------- */

/* @flags: URCU_CALL_RCU_RT, that the thread need not be woken; it costs nothing here if it need not. */
struct call_rcu_data *lull__urcu_create(unsigned long flags, int cpu, unsigned kind)
{
	(void)flags;
	return lull__worker_create(&workers[kind], cpu);
}

static void check_may_free(const char *call)
{
	if (lull__rcu_in_section() || lull__self.callback_depth)
		lull__ground.misuse("%s in a %s would wait for itself for ever", call,
				    lull__self.callback_depth ? "callback" : "read section");
}

void lull__urcu_destroy(struct call_rcu_data *crdp)
{
	bool online;

	if (!crdp || lull__worker_is_default(crdp))
		return; /* as liburcu: the default one stays */
	check_may_free("call_rcu_data_free");
	online = go_offline();
	lull__worker_free(crdp, NULL);
	go_back(online);
}

int lull__urcu_create_all(unsigned long flags, unsigned kind)
{
	(void)flags;
	return lull__workers_create_all(&workers[kind]);
}

void lull__urcu_destroy_all(unsigned kind)
{
	bool online;

	if (!lull_load_relaxed(&workers[kind].of_cpu))
		return;
	check_may_free("free_all_cpu_call_rcu_data");
	online = go_offline();
	lull__workers_free_all(&workers[kind], NULL);
	go_back(online);
}

/* Wait for the callbacks of all workers, and for the reclaimer's. */
void lull__urcu_barrier(unsigned kind)
{
	static int said;
	bool online;

	/* Say so once and return, like liburcu. */
	if (lull__rcu_in_section()) {
		if (!lull_xchg_relaxed(&said, 1))
			lull__ground.say("rcu_barrier in a read section does nothing, as it would wait for itself for ever");
		return;
	}
	if (lull__self.callback_depth)
		lull__ground.misuse("rcu_barrier in a callback would wait for itself for ever");
	lull__urcu_check_may_wait("rcu_barrier", kind);
	online = go_offline();
	lull__workers_barrier(&workers[kind]);
	lull_rcu_barrier();
	go_back(online);
}

/* ---- fork ------------------------------------------------------------------------------------------- */

/* Flavors of one kind for which the calling thread is about to fork: the first one locks, the last one unlocks. */
static __thread unsigned prepared[LULL__URCU_KINDS] __attribute__((tls_model("initial-exec")));

void lull__urcu_before_fork(unsigned kind)
{
	bool online;

	if (prepared[kind]++)
		return;
	online = go_offline();
	lull__workers_before_fork(&workers[kind]);
	go_back(online);
}

void lull__urcu_after_fork_parent(unsigned kind)
{
	if (prepared[kind] && --prepared[kind] == 0)
		lull__workers_after_fork_parent(&workers[kind]);
}

void lull__urcu_after_fork_child(unsigned kind)
{
	if (prepared[kind] && --prepared[kind] == 0)
		lull__workers_after_fork_child(&workers[kind]);
}

void lull__urcu_register_atfork(struct urcu_atfork *atfork, unsigned kind)
{
	lull__workers_register_atfork(&workers[kind], atfork);
}

void lull__urcu_unregister_atfork(struct urcu_atfork *atfork, unsigned kind)
{
	(void)atfork;
	lull__workers_unregister_atfork(&workers[kind]);
}

/* Before anything else in the child, and also without liburcu's handlers. */
static void fork_child(void)
{
	for (int kind = 0; kind < LULL__URCU_KINDS; kind++)
		lull__workers_fork_child(&workers[kind]);
}

/*
 * Without the first a lock that another thread holds at a fork stays locked in the child. The second: call_rcu() of
 * liburcu's never waits, and its programs defer tens of thousands of objects at once.
 */
__attribute__((constructor)) static void stand_on_lull(void)
{
	lull__ground.at_fork_child(fork_child);
	lull__ground.soft_items(SOFT_ITEMS);
}
