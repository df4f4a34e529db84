/* SPDX-License-Identifier: MIT */
/* updates.c - what updaters do: wait for readers, defer, kill, resize, register. See operations.c. */
#include "operation.h"

#include <stdlib.h>

#include <lull/bridge.h>
#include <lull/cohort.h>
#include <lull/debug.h>
#include <lull/hash.h>
#include <lull/hazptr_fenced.h>
#include <lull/percpu_ref.h>
#include <lull/reclaim.h>
#include <lull/shazptr.h>
#include <lull/stats.h>

#define BATCH 64
#define REFS  512

static struct lull_percpu_ref ref, refs[REFS], *ref_at[REFS];
static struct lull_hash table;
static int some;
static lull_rcu_cookie cookie;

static void in_mode(enum lull_reclaim_mode mode)
{
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.mode = mode;
	if (lull_reclaim_configure(&config) != 0)
		abort();
}

static void by_default(void) { in_mode(LULL_RECLAIM_THREAD); }

static void by_default_beside_another(void)
{
	by_default();
	another_thread();
}

/* The cookie's grace period cannot end: this thread is in a section. */
static void with_open_period(void)
{
	another_thread();
	lull_rcu_read_lock();
	cookie = lull_rcu_gp_start();
}

static void online_beside_another(void)
{
	another_thread();
	lull_rcu_online();
}

static void released(struct lull_percpu_ref *killed) { lull_percpu_ref_exit(killed); }

static void with_refs_of(unsigned flags)
{
	for (int i = 0; i < REFS; i++) {
		ref_at[i] = &refs[i];
		if (lull_percpu_ref_init(&refs[i], released, flags) != 0)
			abort();
	}
}

static void with_refs(void) { with_refs_of(0); }
static void with_shared_refs(void) { with_refs_of(LULL_PERCPU_REF_INIT_ATOMIC); }

static void stays(struct lull_percpu_ref *killed) { (void)killed; }

static void with_lasting_ref(void)
{
	if (lull_percpu_ref_init(&ref, stays, LULL_PERCPU_REF_ALLOW_REINIT) != 0)
		abort();
}

static void with_table(void)
{
	static struct lull_hash_node node[64];
	struct lull_hash_config config = { .buckets = 64, .flags = LULL_HASH_FIXED };

	if (lull_hash_init(&table, &config) != 0)
		abort();
	for (int i = 0; i < 64; i++)
		lull_hash_insert_dup(&table, &node[i], (uint64_t)i);
}

static void unregistered(void) { lull_thread_unregister(); }

/* ---- waiting for readers ----------------------------------------------------------------------- */

OPERATION(fence_heavy, lull_fence_heavy())
OPERATION(synchronize, lull_rcu_synchronize())
OPERATION(start_wait, lull_rcu_gp_wait(lull_rcu_gp_start()))
OPERATION(start_poll, if (!lull_rcu_gp_poll(lull_rcu_gp_start())) abort())
OPERATION(start_open, keep(lull_rcu_gp_start()))
OPERATION(poll_open, if (lull_rcu_gp_poll(cookie)) abort())
OPERATION(poll_over, if (!lull_rcu_gp_poll(0)) abort())
OPERATION(online_offline, lull_rcu_online(); lull_rcu_offline())
OPERATION(hazptr_synchronize, lull_hazptr_synchronize(&some))
OPERATION(hazptr_range, keep(lull_hazptr_synchronize_range_timeout(&some, sizeof(some), 1000)))
OPERATION(hazptr_fenced_synchronize, lull_hazptr_fenced_synchronize(&some))
OPERATION(shazptr_synchronize, lull_shazptr_synchronize(&some))

static const struct operation waits[] = {
	{ "fence_heavy", NULL, fence_heavy, 0 },
	{ "fence_heavy_beside_another", another_thread, fence_heavy, 0 },
	{ "synchronize", NULL, synchronize, 0 },
	{ "synchronize_beside_another", another_thread, synchronize, 0 },
	{ "synchronize_online_beside_another", online_beside_another, synchronize, 0 },
	{ "gp_start_wait", NULL, start_wait, 0 },
	{ "gp_start_wait_beside_another", another_thread, start_wait, 0 },
	{ "gp_start_poll_beside_another", another_thread, start_poll, 0 },
	{ "gp_start_while_one_is_open", with_open_period, start_open, 0 },
	{ "gp_poll_of_open", with_open_period, poll_open, 0 },
	{ "gp_poll_of_ended", NULL, poll_over, STEPS },
	{ "online_offline", NULL, online_offline, STEPS },
	{ "hazptr_synchronize", NULL, hazptr_synchronize, 0 },
	{ "hazptr_synchronize_beside_another", another_thread, hazptr_synchronize, 0 },
	{ "hazptr_synchronize_range_beside_another", another_thread, hazptr_range, 0 },
	{ "hazptr_fenced_synchronize_beside_another", another_thread, hazptr_fenced_synchronize, 0 },
	{ "shazptr_synchronize_beside_another", another_thread, shazptr_synchronize, 0 },
};

const struct operations waiting_operations = OPERATIONS(waits);

/* ---- deferring --------------------------------------------------------------------------------- */

struct entry {
	struct lull_head head;
};

static void pure(struct lull_head *head) { free(head); }

static struct lull_cohort cohort;
static void member_gone(struct lull_cohort_head *head) { free(head); }

#define BATCH_OF(...)                                                                              \
	for (int i = 0; i < BATCH; i++) {                                                          \
		void *old = pool_get();                                                            \
		__VA_ARGS__;                                                                       \
	}
#define HEAD (&((struct entry *)old)->head)

OPERATION(free_64, BATCH_OF(lull_rcu_free(old)))
OPERATION(free_sized_64, BATCH_OF(lull_rcu_free_sized(old, POOL_BYTES)))
OPERATION(call_pure_64, BATCH_OF(lull_rcu_call_pure_sized(HEAD, pure, POOL_BYTES)))
OPERATION(call_64, BATCH_OF(lull_rcu_call(HEAD, pure)); keep(lull_reclaim_poll(0, 0)))
OPERATION(hazptr_call_pure_64, BATCH_OF(lull_hazptr_call_pure_sized(HEAD, pure, POOL_BYTES)))
OPERATION(hazptr_call_64, BATCH_OF(lull_hazptr_call_sized(HEAD, pure, POOL_BYTES)); keep(lull_reclaim_poll(0, 0)))
OPERATION(retire_64, BATCH_OF(lull_hazptr_retire(old)))
OPERATION(retire_sized_64, BATCH_OF(lull_hazptr_retire_sized(old, POOL_BYTES)))
OPERATION(fenced_retire_64, BATCH_OF(lull_hazptr_fenced_retire(old)))
OPERATION(free_hazptr_64, BATCH_OF(lull_rcu_free_hazptr(old)))
OPERATION(free_one, lull_rcu_free_sized(pool_get(), POOL_BYTES))
OPERATION(retire_one, lull_hazptr_retire_sized(pool_get(), POOL_BYTES))
OPERATION(free_barrier, BATCH_OF(lull_rcu_free(old)); lull_rcu_barrier())
OPERATION(retire_barrier, BATCH_OF(lull_hazptr_retire(old)); lull_hazptr_barrier())
OPERATION(cohort_rcu, BATCH_OF(lull_cohort_call_rcu(&cohort, old, member_gone)); lull_cohort_wait(&cohort))
OPERATION(cohort_hazptr, BATCH_OF(lull_cohort_call_hazptr(&cohort, old, member_gone)); lull_cohort_wait(&cohort))
OPERATION(cohort_empty, lull_cohort_wait(&cohort))
OPERATION(poll_nothing, keep(lull_reclaim_poll(0, 0)))
OPERATION(free_null, lull_rcu_free(NULL))
OPERATION(reclaim_stats, struct lull_reclaim_counts stats; lull_reclaim_stats(&stats))

/* ---- counts per CPU, tables, threads ----------------------------------------------------------- */

OPERATION(init_exit, if (lull_percpu_ref_init(&ref, released, 0) != 0) abort(); lull_percpu_ref_exit(&ref))
OPERATION(init_kill, if (lull_percpu_ref_init(&ref, released, 0) != 0) abort(); lull_percpu_ref_kill(&ref))
OPERATION(kill_512, lull_percpu_ref_kill_many(ref_at, REFS))
OPERATION(kill_reinit, lull_percpu_ref_kill(&ref); lull_percpu_ref_reinit(&ref))
OPERATION(switch_twice, lull_percpu_ref_switch_to_atomic_sync(&ref); lull_percpu_ref_switch_to_percpu(&ref))

OPERATION(table_init, if (lull_hash_init(&table, NULL) != 0) abort(); lull_hash_destroy(&table, NULL, NULL))
OPERATION(resize, if (lull_hash_resize(&table, 128) != 0 || lull_hash_resize(&table, 64) != 0) abort())
OPERATION(finish_resize, lull_hash_finish_resize(&table))

OPERATION(register_unregister, lull_thread_register(); lull_thread_unregister())
OPERATION(section_unregistered, lull_rcu_read_lock(); lull_rcu_read_unlock())
OPERATION(thread_count, keep(lull_thread_count()))
OPERATION(stats_page, keep(lull_stats_page()))

static const struct operation list[] = {
	/* Use POLL, so that no other thread has a part in it. */
	{ "free_64", NULL, free_64, 0 },
	{ "free_sized_64", NULL, free_sized_64, 0 },
	{ "free_sized_64_beside_another", another_thread, free_sized_64, 0 },
	{ "call_pure_sized_64", NULL, call_pure_64, 0 },
	{ "call_64_poll", NULL, call_64, 0 },
	{ "call_64_poll_beside_another", another_thread, call_64, 0 },
	{ "hazptr_call_pure_sized_64", NULL, hazptr_call_pure_64, 0 },
	{ "hazptr_call_sized_64_poll", NULL, hazptr_call_64, 0 },
	{ "hazptr_retire_64", NULL, retire_64, 0 },
	{ "hazptr_retire_sized_64", NULL, retire_sized_64, 0 },
	{ "hazptr_retire_sized_64_beside_another", another_thread, retire_sized_64, 0 },
	{ "hazptr_fenced_retire_64_beside_another", another_thread, fenced_retire_64, 0 },
	{ "free_hazptr_64_beside_another", another_thread, free_hazptr_64, 0 },
	{ "free_64_barrier", NULL, free_barrier, 0 },
	{ "free_64_barrier_beside_another", another_thread, free_barrier, 0 },
	{ "hazptr_retire_64_barrier_beside_another", another_thread, retire_barrier, 0 },
	{ "cohort_call_64_wait", NULL, cohort_rcu, 0 },
	{ "cohort_call_64_wait_beside_another", another_thread, cohort_rcu, 0 },
	{ "cohort_hazptr_64_wait_beside_another", another_thread, cohort_hazptr, 0 },
	{ "cohort_wait_for_nothing", NULL, cohort_empty, 0 },
	{ "reclaim_poll_nothing", NULL, poll_nothing, 0 },
	{ "free_null", NULL, free_null, STEPS },
	{ "reclaim_stats", NULL, reclaim_stats, 0 },
	/* A free that comes alone, which starts no background thread. */
	{ "free_sized_alone", by_default, free_one, 0 },
	{ "free_sized_alone_beside_another", by_default_beside_another, free_one, 0 },
	{ "hazptr_retire_sized_alone_beside_another", by_default_beside_another, retire_one, 0 },

	{ "percpu_ref_init_exit", NULL, init_exit, 0 },
	{ "percpu_ref_init_kill_exit", NULL, init_kill, 0 },
	{ "percpu_ref_kill_many_512", with_refs, kill_512, ONCE },
	{ "percpu_ref_kill_many_512_in_one_place", with_shared_refs, kill_512, ONCE },
	{ "percpu_ref_kill_reinit", with_lasting_ref, kill_reinit, 0 },
	{ "percpu_ref_switch_twice", with_lasting_ref, switch_twice, 0 },
	{ "hash_init_destroy", NULL, table_init, 0 },
	{ "hash_resize_twice", with_table, resize, 0 },
	{ "hash_finish_resize", with_table, finish_resize, 0 },
	{ "thread_register_unregister", unregistered, register_unregister, 0 },
	{ "read_section_of_unregistered", unregistered, section_unregistered, 0 },
	{ "thread_count", NULL, thread_count, 0 },
	{ "stats_page", NULL, stats_page, 0 },
};

const struct operations update_operations = OPERATIONS(list);
