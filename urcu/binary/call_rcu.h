/* SPDX-License-Identifier: MIT */
/*
 * call_rcu.h - callbacks after a grace period: the threads that run them, which programs may create, pin and join.
 */
#ifndef LULL_URCU_CALL_RCU_H
#define LULL_URCU_CALL_RCU_H

#include "domain.h"

struct call_rcu_data;

/* Let @worker call @head->func after a grace period. Any context but signal handlers. */
void lull__urcu_defer(struct call_rcu_data *worker, struct rcu_head *head);
/* Wait until all that was deferred before has been called. Not in a section; aborts in a callback, for @call. */
void lull__urcu_barrier(struct urcu_domain *d, const char *call);

struct call_rcu_data *lull__urcu_create_worker(struct urcu_domain *d, unsigned long flags, int cpu);
/* @call: NULL, or what is called in a section that grace periods wait for, to be said if it never returns. */
void lull__urcu_free_worker(struct urcu_domain *d, struct call_rcu_data *worker, const char *call);
pthread_t lull__urcu_worker_thread(struct call_rcu_data *worker);

struct call_rcu_data *lull__urcu_default_worker(struct urcu_domain *d);
struct call_rcu_data *lull__urcu_worker_here(struct urcu_domain *d); /* that of this CPU, or the default one */

/* Workers for each CPU. Returns 0, or -errno with errno set, like liburcu. */
struct call_rcu_data *lull__urcu_cpu_worker(struct urcu_domain *d, int cpu);
int lull__urcu_set_cpu_worker(struct urcu_domain *d, int cpu, struct call_rcu_data *worker);
int lull__urcu_create_cpu_workers(struct urcu_domain *d, unsigned long flags);
void lull__urcu_free_cpu_workers(struct urcu_domain *d, const char *call);

/* fork, by a program that says so; without that the child's callbacks are called all the same. */
void lull__urcu_before_fork(struct urcu_domain *d);
void lull__urcu_after_fork_parent(struct urcu_domain *d);
void lull__urcu_after_fork_child(struct urcu_domain *d);
void lull__urcu_register_atfork(struct urcu_domain *d, struct urcu_atfork *atfork);
void lull__urcu_unregister_atfork(struct urcu_domain *d, struct urcu_atfork *atfork);
void lull__urcu_workers_fork_child(struct urcu_domain *d); /* in any child, before its first use */

/* load.c: say so if a module uses liburcu itself, and end the process if that has words of this library. Not for handlers. */
void lull__urcu_look_beside(void);
void lull__urcu_look_no_more(void); /* in a forked child */

/* defer_rcu() */
struct urcu_deferred {
	struct rcu_head head;
	void (*fct)(void *p);
	void *p;
};
struct urcu_deferred *lull__urcu_deferred(void (*fct)(void *p), void *p); /* NULL: there is no memory */
bool lull__urcu_many_deferred(void); /* ... wait, so the caller should, too, if it can */

#endif /* LULL_URCU_CALL_RCU_H */
