/* SPDX-License-Identifier: MIT */
/*
 * full_threads.h - for inside/everything.c: threads that hold, wait, begin and end, and what is so at the fork.
 */
#ifndef TESTS_LIFE_FULL_THREADS_H
#define TESTS_LIFE_FULL_THREADS_H

#include "life/full_objects.h"

/* ---- the threads -------------------------------------------------------------------------------------------- */

enum { STAGE_KEEP, STAGE_DEFER, STAGE_END };

static void arrive(int next)
{
	lull_add_release(&arrived, 1);
	AWAIT(lull_load_acquire(&stage) >= next);
}

static void *reader(void *unused)
{
	struct lull_hazptr_context ctx;
	struct lull_shazptr_guard simple;
	int phase;

	lull_hazptr_context_init(&ctx);
	context[THEIR_CONTEXT] = &ctx;
	keep(THEIR_POOL);
	keep(THEIR_SLOT);
	keep(THEIR_HOLD);
	keep(THEIR_CONTEXT);
	lull_percpu_rwsem_write_lock(&their_written);
	arrive(STAGE_DEFER);
	lull_rcu_read_lock();
	defer(BY_READER, false);
	simple = lull_shazptr_acquire(&their_simple);
	phase = lull_rcu_domain_read_lock(&domain);
	lull_percpu_rwsem_read_lock(&read_by_two);
	lull_percpu_ref_get_many(&refs[0], 2);
	lull_mutex_lock(&their_lock);
	arrive(STAGE_END);
	lull_mutex_unlock(&their_lock);
	lull_percpu_rwsem_read_unlock(&read_by_two);
	lull_rcu_domain_read_unlock(&domain, phase);
	lull_shazptr_clear(simple);
	lull_rcu_read_unlock();
	lull_percpu_rwsem_write_unlock(&their_written);
	for (int keeper = THEIR_SLOT; keeper < KEEPERS; keeper++)
		let_go((enum keeper)keeper);
	lull_hazptr_context_cleanup(&ctx);
	return unused;
}

static void *ended(void *unused)
{
	keep(ENDED_POOL);
	arrive(STAGE_DEFER);
	lull_percpu_ref_get_many(&refs[0], 4);
	defer(BY_ENDED, false);
	return unused;
}

static pthread_key_t key;

static void in_destructor(void *arg)
{
	if (arg == &key) /* once more, after lull has seen that the thread exits */
		pthread_setspecific(key, &stage);
	else
		arrive(STAGE_END);
}

static void *ends(void *unused)
{
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	pthread_setspecific(key, &key);
	return unused;
}

static void *begins(void *unused) /* has not used lull */
{
	arrive(STAGE_END);
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	return unused;
}

static void *waits_for_readers(void *unused)
{
	lull_rcu_synchronize();
	lull_add_release(&woken, 1);
	return unused;
}

static void *waits_for_slot(void *unused)
{
	for (const struct object *o = objects; o < objects + many; o++)
		if (o->keeper == THEIR_SLOT)
			lull_hazptr_synchronize(name_of(o));
	lull_add_release(&woken, 1);
	return unused;
}

static void *waits_for_cohort(void *unused)
{
	lull_cohort_wait(&cohort);
	lull_add_release(&woken, 1);
	return unused;
}

static void *waits_for_barrier(void *unused)
{
	lull_hazptr_barrier();
	lull_add_release(&woken, 1);
	return unused;
}

static void *waits_for_drain(void *unused)
{
	lull_reclaim_drain(UINT64_MAX);
	lull_add_release(&woken, 1);
	return unused;
}

static void *waits_for_simple(void *unused)
{
	lull_shazptr_synchronize(&their_simple);
	lull_add_release(&woken, 1);
	return unused;
}

static void *waits_for_domain(void *unused)
{
	lull_rcu_domain_synchronize(&domain);
	lull_add_release(&woken, 1);
	return unused;
}

static void *waits_for_lock(void *unused)
{
	lull_mutex_lock(&own_lock);
	lull_mutex_unlock(&own_lock);
	lull_add_release(&woken, 1);
	return unused;
}

static void *waits_for_signal(void *unused)
{
	lull_mutex_lock(&cond_lock);
	lull_cond_wait(&cond, &cond_lock);
	lull_mutex_unlock(&cond_lock);
	lull_add_release(&woken, 1);
	return unused;
}

static void *(*const waiters[])(void *) = {
	waits_for_readers, waits_for_slot,   waits_for_cohort, waits_for_barrier, waits_for_drain,
	waits_for_simple,  waits_for_domain, waits_for_lock,   waits_for_signal,
};

enum { READER, ENDED, ENDS, BEGINS, OTHERS };
enum { WAITERS = sizeof(waiters) / sizeof(waiters[0]) };

static pthread_t other[OTHERS], waiter[WAITERS];

/* ---- what is so at the fork --------------------------------------------------------------------------------- */

static size_t kept_items, owed_items, owed_bytes, members;
static size_t others_items, others_bytes; /* what lull itself has deferred */

static void sum_up(void)
{
	owed_items = others_items + PLAIN;
	owed_bytes = others_bytes + PLAIN * PLAIN_BYTES;
	kept_items = members = 0;
	for (const struct object *o = objects; o < objects + many; o++) {
		owed_items++;
		owed_bytes += size_of(o);
		members += o->kind->is_member;
		kept_items += child_keeps(o);
	}
}

/* The parent has had more than it has at the fork: its peaks, and what it has done, are not the child's. */
static void have_a_past(void)
{
	enum { TIMES = 1000, BYTES = 200 };

	set_mode_and_start(LULL_RECLAIM_POLL);
	lull_rcu_read_lock();
	for (int i = 0; i < TIMES; i++)
		lull_rcu_free_sized(malloc(BYTES), BYTES);
	lull_rcu_read_unlock();
	lull_rcu_barrier();
	set_mode_and_start(LULL_RECLAIM_THREAD);
}

static void make_refs_and_table(void)
{
	for (int i = 0; i < REFS; i++)
		must(lull_percpu_ref_init(&refs[i], note_release, 0) == 0);
	lull_percpu_ref_get(&refs[0]);
	lull_percpu_ref_get_many(&refs[1], (unsigned)references[1]);
	lull_percpu_ref_get_many(&refs[2], (unsigned)references[2]);
	lull_percpu_ref_kill(&refs[1]);
	lull_rcu_barrier();
	init_table(&table, 64, 0);
	fill(&table, 0, HASHED);
	must(table.table->future && lull_hash_buckets(&table) == 64);
	lull_percpu_rwsem_init(&read_by_two);
	lull_percpu_rwsem_init(&own_written);
	lull_percpu_rwsem_init(&their_written);
	must(lull_rcu_domain_init(&domain, "files") == 0);
}

/* How much waits changes by what lull defers for itself. */
static void kill_beside_readers(void)
{
	struct lull_reclaim_counts before, after;

	lull_reclaim_stats(&before);
	lull_percpu_ref_kill(&refs[2]);
	lull_reclaim_stats(&after);
	others_items = after.items - before.items;
	others_bytes = after.bytes - before.bytes;
}

static void start_others(void)
{
	static void *(*const run[OTHERS])(void *) = { reader, ended, ends, begins };

	must(pthread_key_create(&key, in_destructor) == 0);
	for (int i = 0; i < OTHERS; i++)
		other[i] = start_thread(run[i], NULL);
	await_flag(&arrived, OTHERS);
}

static bool all_wait(void)
{
	return (lull_load_relaxed(&cohort.state) & 1) && lull_load_relaxed(&cond.waiters) &&
	       (lull_load_relaxed(&own_lock.word) & LULL__MUTEX_WAITERS) && lull_load_relaxed(&lull__reclaimer.drains) &&
	       lull_load_relaxed(&lull__reclaimer.barrier_lock.word) && lull_load_relaxed(&domain.data->leader.word) &&
	       lull_load_relaxed(&lull__shazptr.leader);
}

static void start_waiters(void)
{
	for (int i = 0; i < WAITERS; i++)
		waiter[i] = start_thread(waiters[i], NULL);
	AWAIT(all_wait());
}

#endif
