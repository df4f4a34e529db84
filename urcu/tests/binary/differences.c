/* SPDX-License-Identifier: MIT */
/*
 * differences.c - what liburcu lets programs do beyond the plain cycle of lock, unlink, wait and free. Each flavor is
 * used by the names with its prefix, in one program. Passes with liburcu and with its stand-in.
 */
#include <urcu/urcu-memb.h>
#include <urcu/urcu-mb.h>
#include <urcu/urcu-bp.h>
#include <urcu/urcu-qsbr.h>

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <urcu/call-rcu.h>
#include <urcu/flavor.h>

#include "urcu_must.h"

/* With their prefixes they are in no header. */
#define CALLS_OF(flavor)                                                                                               \
	void urcu_##flavor##_call_rcu(struct rcu_head *h, void (*func)(struct rcu_head *h));                           \
	void urcu_##flavor##_barrier(void)

CALLS_OF(memb);
CALLS_OF(bp);
CALLS_OF(qsbr);
struct call_rcu_data *urcu_memb_create_call_rcu_data(unsigned long flags, int cpu);
void urcu_memb_call_rcu_data_free(struct call_rcu_data *worker);
struct call_rcu_data *urcu_memb_get_default_call_rcu_data(void);
struct call_rcu_data *urcu_memb_get_cpu_call_rcu_data(int cpu);
struct call_rcu_data *urcu_memb_get_thread_call_rcu_data(void);
struct call_rcu_data *urcu_memb_get_call_rcu_data(void);
pthread_t urcu_memb_get_call_rcu_thread(struct call_rcu_data *worker);
void urcu_memb_set_thread_call_rcu_data(struct call_rcu_data *worker);
int urcu_memb_set_cpu_call_rcu_data(int cpu, struct call_rcu_data *worker);
int urcu_memb_create_all_cpu_call_rcu_data(unsigned long flags);
void urcu_memb_free_all_cpu_call_rcu_data(void);
void urcu_memb_call_rcu_before_fork(void);
void urcu_memb_call_rcu_after_fork_parent(void);
void urcu_memb_call_rcu_after_fork_child(void);
void urcu_memb_register_rculfhash_atfork(struct urcu_atfork *atfork);
void urcu_memb_unregister_rculfhash_atfork(struct urcu_atfork *atfork);
void urcu_memb_defer_rcu(void (*fct)(void *p), void *p);
int urcu_memb_defer_register_thread(void);
void urcu_memb_defer_unregister_thread(void);
void urcu_memb_defer_barrier(void);
void urcu_memb_defer_barrier_thread(void);

static _Atomic int called;

static void count(struct rcu_head *head)
{
	free(head);
	atomic_fetch_add(&called, 1);
}

static struct rcu_head *head(void)
{
	return calloc(1, sizeof(struct rcu_head));
}

/* ---- sections of several flavors ------------------------------------------------------------------------ */

static void flavors_are_apart(void)
{
	urcu_memb_register_thread();
	urcu_mb_register_thread();
	urcu_qsbr_register_thread();
	urcu_memb_read_lock();
	urcu_bp_synchronize_rcu();
	urcu_mb_synchronize_rcu();
	urcu_qsbr_quiescent_state();
	urcu_qsbr_synchronize_rcu();
	urcu_qsbr_thread_offline();
	urcu_qsbr_thread_online();
	urcu_bp_call_rcu(head(), count);
	urcu_bp_barrier();
	MUST(urcu_memb_read_ongoing());
	urcu_memb_read_unlock();
	/* An online thread of qsbr holds up no other flavor. */
	urcu_memb_synchronize_rcu();
	urcu_memb_call_rcu(head(), count);
	urcu_memb_barrier();
	urcu_qsbr_unregister_thread();
	urcu_mb_unregister_thread();
	urcu_memb_unregister_thread();
	MUST(atomic_load(&called) == 2);
}

static _Atomic int holds, may_go;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Waits, in a section of one flavor, for a lock whose owner waits for another flavor. */
static void *reads_and_locks(void *unused)
{
	(void)unused;
	urcu_memb_register_thread();
	urcu_memb_read_lock();
	atomic_store(&holds, 1);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	urcu_memb_read_unlock();
	urcu_memb_unregister_thread();
	return NULL;
}

static void no_deadlock_between_flavors(void)
{
	pthread_t thread;

	pthread_mutex_lock(&lock);
	MUST(pthread_create(&thread, NULL, reads_and_locks, NULL) == 0);
	AWAIT(atomic_load(&holds));
	urcu_bp_synchronize_rcu();
	urcu_bp_call_rcu(head(), count);
	urcu_bp_barrier();
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
}

static void deep_nesting(void)
{
	urcu_memb_register_thread();
	for (int i = 0; i < 100000; i++)
		urcu_memb_read_lock();
	for (int i = 0; i < 100000; i++) {
		MUST(urcu_memb_read_ongoing());
		urcu_memb_read_unlock();
	}
	MUST(!urcu_memb_read_ongoing());
	urcu_memb_synchronize_rcu();
	urcu_memb_unregister_thread();
}

static void barrier_in_a_section(void)
{
	urcu_memb_register_thread();
	urcu_memb_read_lock();
	urcu_memb_barrier();
	MUST(urcu_memb_read_ongoing());
	urcu_memb_read_unlock();
	urcu_memb_synchronize_rcu();
	urcu_memb_unregister_thread();
}

/* ---- quiescent-state threads ------------------------------------------------------------------------------ */

static _Atomic int online_in_callback = -1;

static void look_whether_online(struct rcu_head *h)
{
	atomic_store(&online_in_callback, urcu_qsbr_read_ongoing() != 0);
	free(h);
}

static void qsbr_repeats(void)
{
	urcu_qsbr_register_thread();
	MUST(urcu_qsbr_read_ongoing());
	urcu_qsbr_thread_online();
	urcu_qsbr_thread_online();
	urcu_qsbr_quiescent_state();
	urcu_qsbr_thread_offline();
	MUST(!urcu_qsbr_read_ongoing());
	urcu_qsbr_thread_offline();
	urcu_qsbr_synchronize_rcu();
	MUST(!urcu_qsbr_read_ongoing());
	urcu_qsbr_thread_online();
	urcu_qsbr_synchronize_rcu();
	MUST(urcu_qsbr_read_ongoing());
	urcu_qsbr_call_rcu(head(), look_whether_online);
	urcu_qsbr_barrier();
	MUST(urcu_qsbr_read_ongoing());
	MUST(atomic_load(&online_in_callback) == 1);
	urcu_qsbr_unregister_thread();
	MUST(!urcu_qsbr_read_ongoing());
}

/* A thread that does not pass a quiescent state is waited for, and one that is offline is not. */
static void *online_until_told(void *unused)
{
	(void)unused;
	urcu_qsbr_register_thread();
	atomic_store(&holds, 2);
	AWAIT(atomic_load(&may_go));
	urcu_qsbr_quiescent_state();
	AWAIT(atomic_load(&may_go) == 2);
	urcu_qsbr_unregister_thread();
	return NULL;
}

static _Atomic int waited;

static void *waits_for_qsbr(void *unused)
{
	(void)unused;
	urcu_qsbr_synchronize_rcu();
	atomic_store(&waited, 1);
	return NULL;
}

static void qsbr_waits_for_online_threads(void)
{
	pthread_t online, waiter;

	MUST(pthread_create(&online, NULL, online_until_told, NULL) == 0);
	AWAIT(atomic_load(&holds) == 2);
	MUST(pthread_create(&waiter, NULL, waits_for_qsbr, NULL) == 0);
	poll(NULL, 0, 50);
	MUST(!atomic_load(&waited));
	atomic_store(&may_go, 1);
	AWAIT(atomic_load(&waited));
	atomic_store(&may_go, 2);
	pthread_join(online, NULL);
	pthread_join(waiter, NULL);
}

/* ---- the threads that run callbacks ------------------------------------------------------------------------- */

static pthread_t ran_in;

static void note_thread(struct rcu_head *h)
{
	ran_in = pthread_self();
	free(h);
	atomic_fetch_add(&called, 1);
}

static void own_worker(void)
{
	struct call_rcu_data *worker;
	cpu_set_t set, is;
	pthread_t thread;

	urcu_memb_register_thread();
	worker = urcu_memb_create_call_rcu_data(0, -1);
	MUST(worker);
	thread = urcu_memb_get_call_rcu_thread(worker);
	/* It can be pinned. */
	MUST(sched_getaffinity(0, sizeof(set), &set) == 0);
	for (int cpu = 0, kept = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set) && kept++)
			CPU_CLR(cpu, &set);
	MUST(pthread_setaffinity_np(thread, sizeof(set), &set) == 0);
	urcu_memb_set_thread_call_rcu_data(worker);
	MUST(urcu_memb_get_thread_call_rcu_data() == worker && urcu_memb_get_call_rcu_data() == worker);
	atomic_store(&called, 0);
	urcu_memb_call_rcu(head(), note_thread);
	urcu_memb_barrier();
	MUST(atomic_load(&called) == 1 && pthread_equal(ran_in, thread));
	MUST(pthread_getaffinity_np(thread, sizeof(is), &is) == 0 && CPU_EQUAL(&is, &set));
	urcu_memb_set_thread_call_rcu_data(NULL);
	urcu_memb_call_rcu(head(), note_thread);
	urcu_memb_barrier();
	MUST(pthread_equal(ran_in, urcu_memb_get_call_rcu_thread(urcu_memb_get_default_call_rcu_data())));
	urcu_memb_call_rcu_data_free(worker);
#ifdef JOINS
	MUST(pthread_join(thread, NULL) == 0); /* before 0.14 that is up to the program */
#endif
	urcu_memb_call_rcu_data_free(urcu_memb_get_default_call_rcu_data()); /* does nothing */
	urcu_memb_call_rcu_data_free(NULL);
	urcu_memb_call_rcu(head(), count);
	urcu_memb_barrier();
	MUST(atomic_load(&called) == 3);
	urcu_memb_unregister_thread();
}

/* Callbacks that a freed worker has not called yet are called by the default one. */
static void nothing_is_lost(void)
{
	struct call_rcu_data *worker;

	urcu_memb_register_thread();
	for (int round = 0; round < 5; round++) {
		worker = urcu_memb_create_call_rcu_data(0, -1);
		urcu_memb_set_thread_call_rcu_data(worker);
		atomic_store(&called, 0);
		for (int i = 0; i < 1000; i++)
			urcu_memb_call_rcu(head(), count);
		urcu_memb_set_thread_call_rcu_data(NULL);
		urcu_memb_call_rcu_data_free(worker);
		urcu_memb_barrier();
		MUST(atomic_load(&called) == 1000);
	}
	urcu_memb_unregister_thread();
}

static void workers_of_cpus(void)
{
	struct call_rcu_data *worker;

	urcu_memb_register_thread();
	MUST(urcu_memb_get_cpu_call_rcu_data(0) == NULL);
	MUST(urcu_memb_set_cpu_call_rcu_data(-1, NULL) != 0);
	MUST(urcu_memb_set_cpu_call_rcu_data(1 << 20, NULL) != 0);
	MUST(urcu_memb_create_all_cpu_call_rcu_data(0) == 0);
	worker = urcu_memb_get_cpu_call_rcu_data(0);
	MUST(worker && urcu_memb_get_cpu_call_rcu_data(-1) == NULL);
	MUST(urcu_memb_set_cpu_call_rcu_data(0, worker) == -EEXIST);
	atomic_store(&called, 0);
	for (int i = 0; i < 1000; i++)
		urcu_memb_call_rcu(head(), count);
	urcu_memb_barrier();
	MUST(atomic_load(&called) == 1000);
	urcu_memb_free_all_cpu_call_rcu_data();
	MUST(urcu_memb_get_cpu_call_rcu_data(0) == NULL);
	urcu_memb_call_rcu(head(), count);
	urcu_memb_barrier();
	MUST(atomic_load(&called) == 1001);
	urcu_memb_unregister_thread();
}

/* ---- defer_rcu --------------------------------------------------------------------------------------------- */

static int deferred_order, deferred[20000];

static void note_deferred(void *p)
{
	*(int *)p = ++deferred_order;
}

static void defers(void)
{
	urcu_memb_register_thread();
	MUST(urcu_memb_defer_register_thread() == 0);
	for (int i = 0; i < 20000; i++)
		urcu_memb_defer_rcu(note_deferred, &deferred[i]);
	urcu_memb_defer_barrier_thread();
	for (int i = 0; i < 20000; i++)
		MUST(deferred[i] == i + 1);
	urcu_memb_defer_rcu(note_deferred, &deferred[0]);
	urcu_memb_defer_barrier();
	MUST(deferred[0] == 20001);
	urcu_memb_defer_rcu(note_deferred, &deferred[1]);
	urcu_memb_defer_unregister_thread();
	MUST(deferred[1] == 20002);
	urcu_memb_unregister_thread();
}

/* ---- fork ----------------------------------------------------------------------------------------------------- */

static int hook_calls[3];

static void hook(void *at)
{
	++*(int *)at;
}

static void hook_parent(void *at)
{
	++((int *)at)[1];
}

static void hook_child(void *at)
{
	++((int *)at)[2];
}

static void forks(void)
{
	struct urcu_atfork atfork = { hook, hook_parent, hook_child, hook_calls };
	int status;
	pid_t child;

	urcu_memb_register_thread();
	urcu_memb_register_rculfhash_atfork(&atfork);
	urcu_memb_register_rculfhash_atfork(&atfork);
	urcu_memb_unregister_rculfhash_atfork(&atfork);
	for (int round = 0; round < 3; round++) {
		atomic_store(&called, 0);
		for (int i = 0; i < 100; i++)
			urcu_memb_call_rcu(head(), count);
		urcu_memb_call_rcu_before_fork();
		child = fork();
		MUST(child >= 0);
		if (child == 0) {
			urcu_memb_call_rcu_after_fork_child();
			urcu_memb_call_rcu(head(), count);
			urcu_memb_synchronize_rcu();
			urcu_memb_barrier();
			MUST(atomic_load(&called) == 101);
			MUST(hook_calls[0] == round + 1 && hook_calls[1] == round && hook_calls[2] == 1);
			_exit(0);
		}
		urcu_memb_call_rcu_after_fork_parent();
		MUST(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
		urcu_memb_barrier();
		MUST(atomic_load(&called) == 100);
	}
	MUST(hook_calls[0] == 3 && hook_calls[1] == 3 && hook_calls[2] == 0);
	urcu_memb_unregister_rculfhash_atfork(&atfork);
	urcu_memb_unregister_thread();
}

/* ---- barriers ---------------------------------------------------------------------------------------------------- */

static _Atomic int reader_is_in, reader_may_go;
static struct call_rcu_data *ending;

static void *stays_in(void *unused)
{
	(void)unused;
	urcu_memb_register_thread();
	urcu_memb_read_lock();
	atomic_store(&reader_is_in, 1);
	while (!atomic_load(&reader_may_go))
		usleep(1000);
	urcu_memb_read_unlock();
	urcu_memb_unregister_thread();
	return NULL;
}

static void *ends_worker(void *unused)
{
	(void)unused;
	urcu_memb_call_rcu_data_free(ending);
	return NULL;
}

static void *lets_reader_go(void *unused)
{
	(void)unused;
	usleep(300000); /* for the barrier to begin, and wait, meanwhile; too short on a busy machine proves less */
	atomic_store(&reader_may_go, 1);
	return NULL;
}

/* A callback was queued before the barrier; its worker ends while the barrier begins. */
static void barrier_beside_a_worker_that_ends(void)
{
	pthread_t reader, ender, opener;

	urcu_memb_register_thread();
	ending = urcu_memb_create_call_rcu_data(0, -1);
	MUST(pthread_create(&reader, NULL, stays_in, NULL) == 0);
	while (!atomic_load(&reader_is_in))
		usleep(1000);
	atomic_store(&called, 0);
	urcu_memb_set_thread_call_rcu_data(ending);
	urcu_memb_call_rcu(malloc(sizeof(struct rcu_head)), count);
	urcu_memb_set_thread_call_rcu_data(NULL);
	usleep(20000);
	MUST(pthread_create(&ender, NULL, ends_worker, NULL) == 0);
	usleep(50000);
	MUST(pthread_create(&opener, NULL, lets_reader_go, NULL) == 0);
	urcu_memb_barrier();
	MUST(atomic_load(&called) == 1);
	pthread_join(opener, NULL);
	pthread_join(reader, NULL);
	pthread_join(ender, NULL);
	urcu_memb_unregister_thread();
}

static void waits_for_bp(struct rcu_head *head)
{
	urcu_bp_barrier();
	count(head);
}

static void barrier_of_another_flavor_in_a_callback(void)
{
	urcu_memb_register_thread();
	atomic_store(&called, 0);
	urcu_memb_call_rcu(malloc(sizeof(struct rcu_head)), waits_for_bp);
	urcu_memb_barrier();
	MUST(atomic_load(&called) == 1);
	urcu_memb_unregister_thread();
}

/* ---- threads that come and go ------------------------------------------------------------------------------------ */

static void *reads_bp_once(void *unused)
{
	(void)unused;
	urcu_bp_read_lock();
	MUST(urcu_bp_read_ongoing());
	urcu_bp_read_unlock();
	return NULL;
}

static void bp_threads(void)
{
	pthread_t thread;

	for (int i = 0; i < 200; i++) {
		MUST(pthread_create(&thread, NULL, reads_bp_once, NULL) == 0);
		pthread_join(thread, NULL);
	}
	urcu_bp_synchronize_rcu();
}

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "flavors_are_apart", flavors_are_apart },
	{ "no_deadlock_between_flavors", no_deadlock_between_flavors },
	{ "deep_nesting", deep_nesting },
	{ "barrier_in_a_section", barrier_in_a_section },
	{ "qsbr_repeats", qsbr_repeats },
	{ "qsbr_waits_for_online_threads", qsbr_waits_for_online_threads },
	{ "own_worker", own_worker },
	{ "nothing_is_lost", nothing_is_lost },
	{ "workers_of_cpus", workers_of_cpus },
	{ "defers", defers },
	{ "forks", forks },
	{ "barrier_beside_a_worker_that_ends", barrier_beside_a_worker_that_ends },
	{ "barrier_of_another_flavor_in_a_callback", barrier_of_another_flavor_in_a_callback },
	{ "bp_threads", bp_threads },
};

int main(int argc, char **argv)
{
	alarm(100);
	for (unsigned i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (argc > 1 && strcmp(argv[1], parts[i].name) != 0)
			continue;
		parts[i].run();
		printf("ok %s\n", parts[i].name);
	}
	return 0;
}
