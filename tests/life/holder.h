/* SPDX-License-Identifier: MIT */
/*
 * holder.h - a thread that holds all that a call can wait for, until the test lets it go; one at a time.
 */
#ifndef LULL_TEST_HOLDER_H
#define LULL_TEST_HOLDER_H

#include <lull/lull.h>

#include "threads.h"

static struct lull_mutex taken, own_mutex;
static struct lull_mutex_robust robust_taken, own_robust;
static bool has_robust; /* qemu-user has no such mutexes */
static struct lull_cond cond, shared_cond;
static struct lull_percpu_rwsem read_sem, written_sem;
static struct lull_rcu_domain domain;
static struct lull_cohort cohort;

static struct lull_head retired, called, domain_called, *retired_at = &retired;
static struct lull_cohort_head member;
static int fenced_thing, simple_thing, *fenced_at = &fenced_thing;
static lull_rcu_cookie cookie, domain_cookie;
static int held, leave, woken, calls;

static void counts_call(struct lull_head *unused)
{
	(void)unused;
	lull_add_release(&calls, 1);
}

static void counts_member(struct lull_cohort_head *unused)
{
	(void)unused;
	lull_add_release(&calls, 1);
}

static void defer_all(void)
{
	lull_hazptr_call(&retired, counts_call);
	lull_rcu_call(&called, counts_call);
	lull_cohort_call_rcu(&cohort, &member, counts_member);
	lull_rcu_domain_call(&domain, &domain_called, counts_call);
	cookie = lull_rcu_gp_start();
	domain_cookie = lull_rcu_domain_gp_start(&domain);
}

static void wake_all(void)
{
	lull_mutex_lock(&own_mutex);
	if (has_robust)
		assert_int_equal(lull_mutex_robust_lock(&own_robust), 0);
	lull_store_relaxed(&woken, 1);
	lull_cond_broadcast(&cond);
	lull_cond_broadcast(&shared_cond);
	if (has_robust)
		lull_mutex_robust_unlock(&own_robust);
	lull_mutex_unlock(&own_mutex);
}

static void *holds_all(void *unused)
{
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();
	struct lull_hazptr *slot;
	struct lull_hazptr_hold hold;
	struct lull_shazptr_guard guard;
	const void *kept;
	int phase;

	lull_mutex_lock(&taken);
	if (has_robust)
		assert_int_equal(lull_mutex_robust_lock(&robust_taken), 0);
	lull_percpu_rwsem_read_lock(&read_sem);
	lull_percpu_rwsem_write_lock(&written_sem);
	lull_thread_register();
	slot = lull_hazptr_alloc(ctx);
	lull_hazptr_fenced_protect_ptr(slot, fenced_at);
	kept = lull_hazptr_acquire(&hold, &retired_at);
	guard = lull_shazptr_acquire(&simple_thing);
	phase = lull_rcu_domain_read_lock(&domain);
	lull_rcu_read_lock();
	defer_all();
	lull_store_release(&held, 1);
	await_flag(&leave, 1);
	lull_rcu_read_unlock();
	lull_rcu_domain_read_unlock(&domain, phase);
	lull_shazptr_clear(guard);
	lull_hazptr_release(&hold, kept);
	lull_hazptr_fenced_clear(slot);
	lull_hazptr_free(ctx, slot);
	lull_percpu_rwsem_write_unlock(&written_sem);
	lull_percpu_rwsem_read_unlock(&read_sem);
	if (has_robust)
		lull_mutex_robust_unlock(&robust_taken);
	lull_mutex_unlock(&taken);
	wake_all();
	return unused;
}

static pthread_t start_holder(void)
{
	pthread_t thread;

	held = leave = woken = calls = 0;
	thread = start_thread(holds_all, NULL);
	await_flag(&held, 1);
	return thread;
}

/* Has every thread that waited taken its wait off the page? */
static bool page_is_clear(void)
{
	const struct lull_stats_page *page = lull_stats_page();

	for (unsigned i = 0; i < LULL_STATS_WAITS; i++)
		if (lull_load_relaxed(&page->waits[i].kind) != LULL_WAIT_NONE)
			return false;
	return true;
}

static void end_holder(pthread_t thread)
{
	lull_store_release(&leave, 1);
	join_thread(thread);
	assert_int_equal(lull_reclaim_drain(UINT64_MAX), 0);
	lull_rcu_domain_barrier(&domain);
	assert_int_equal(lull_load_acquire(&calls), 4);
	AWAIT(page_is_clear());
}

static void init_holder(void)
{
	lull_mutex_robust_init(&robust_taken, 0);
	lull_mutex_robust_init(&own_robust, 0);
	has_robust = lull_mutex_robust_lock(&own_robust) == 0;
	if (has_robust)
		lull_mutex_robust_unlock(&own_robust);
	lull_cond_init(&shared_cond, LULL_MUTEX_SHARED);
	lull_percpu_rwsem_init(&read_sem);
	lull_percpu_rwsem_init(&written_sem);
	assert_int_equal(lull_rcu_domain_init(&domain, "as before"), 0);
}

#endif /* LULL_TEST_HOLDER_H */
