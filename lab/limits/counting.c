/* SPDX-License-Identifier: MIT */
/* counting.c - the cheap operations of counts, and of locks that no other thread wants. See operations.c. */
#include "operation.h"

#include <errno.h>
#include <stdlib.h>

#include <lull/cond.h>
#include <lull/mutex.h>
#include <lull/mutex_robust.h>
#include <lull/percpu_rwsem.h>
#include <lull/rcu_domain.h>
#include <lull/ref_handoff.h>

struct object {
	struct lull_head head;
	struct lull_refcount count;
	struct lull_percpu_ref ref;
};

static struct object object = { .count = LULL_REFCOUNT_INIT(1000000) }, *shared = &object;
static struct lull_refcount one = LULL_REFCOUNT_INIT(1);
static struct lull_mutex mutex;
static struct lull_mutex_robust robust;
static struct lull_cond cond;

static struct lull_rcu_domain domain;
static struct lull_percpu_rwsem rwsem;

static void released(struct lull_percpu_ref *ref) { (void)ref; }
static void locked(void) { lull_mutex_lock(&mutex); }

static void with_ref_of(unsigned flags)
{
	if (lull_percpu_ref_init(&object.ref, released, flags) != 0)
		abort();
}

static void with_ref(void) { with_ref_of(0); }
static void with_shared_ref(void) { with_ref_of(LULL_PERCPU_REF_INIT_ATOMIC); }

static void with_dead_ref(void)
{
	with_ref_of(0);
	lull_percpu_ref_kill(&object.ref);
}

/* ---- counts ------------------------------------------------------------------------------------ */

#define COUNT struct lull_refcount *count = &object.count; keep(count)
#define REF struct lull_percpu_ref *ref = &object.ref; keep(ref)

OPERATION_WITH(refcount_inc, COUNT, lull_refcount_inc(count))
OPERATION_WITH(refcount_add, COUNT, lull_refcount_add(count, 2))
OPERATION_WITH(refcount_dec, COUNT, lull_refcount_dec(count))
OPERATION_WITH(refcount_dec_and_test, COUNT, keep(lull_refcount_dec_and_test(count)))
OPERATION_WITH(refcount_sub_and_test, COUNT, keep(lull_refcount_sub_and_test(count, 2)))
OPERATION_WITH(refcount_last, COUNT, lull_refcount_set(count, 1); keep(lull_refcount_dec_and_test(count)))
OPERATION_WITH(refcount_set_release, COUNT, lull_refcount_set_release(count, 1))
OPERATION_WITH(refcount_read, COUNT, keep(lull_refcount_read(count)))
OPERATION_WITH(refcount_inc_not_zero, COUNT, keep(lull_refcount_inc_not_zero(count)))
OPERATION_WITH(refcount_inc_acquire, COUNT, keep(lull_refcount_inc_not_zero_acquire(count)))
OPERATION_WITH(refcount_dec_not_one, COUNT, keep(lull_refcount_dec_not_one(count)))
OPERATION(refcount_is_one, keep(lull_refcount_dec_not_one(&one)))
OPERATION_WITH(refcount_dec_if_one, COUNT, lull_refcount_set(count, 1); keep(lull_refcount_dec_if_one(count)))

OPERATION_WITH(percpu_get_put, REF, lull_percpu_ref_get(ref); lull_percpu_ref_put(ref))
OPERATION_WITH(percpu_many, REF, lull_percpu_ref_get_many(ref, 3); lull_percpu_ref_put_many(ref, 3))
OPERATION_WITH(percpu_tryget, REF, keep(lull_percpu_ref_tryget(ref)))
OPERATION_WITH(percpu_tryget_live, REF, keep(lull_percpu_ref_tryget_live(ref)))
OPERATION_WITH(percpu_is_dying, REF, keep(lull_percpu_ref_is_dying(ref)))

OPERATION(handoff_rcu, keep(lull_ref_handoff_rcu(&shared, count)))
OPERATION(handoff_rcu_percpu, keep(lull_ref_handoff_rcu_percpu(&shared, ref)))
OPERATION(handoff_hazptr, keep(lull_ref_handoff_hazptr(&shared, head, count)))
OPERATION(handoff_hazptr_percpu, keep(lull_ref_handoff_hazptr_percpu(&shared, head, ref)))

static void with_domain(void)
{
	if (lull_rcu_domain_init(&domain, "limits") != 0)
		abort();
}

static void with_domain_beside_another(void)
{
	another_thread();
	with_domain();
}

#define DOMAIN struct lull_rcu_domain *d = &domain; keep(d)

OPERATION_WITH(domain_section, DOMAIN, lull_rcu_domain_read_unlock(d, lull_rcu_domain_read_lock(d)))
OPERATION_WITH(domain_synchronize, DOMAIN, lull_rcu_domain_synchronize(d))
OPERATION_WITH(domain_start_poll, DOMAIN, if (!lull_rcu_domain_gp_poll(d, lull_rcu_domain_gp_start(d))) abort())
OPERATION_WITH(domain_poll_over, DOMAIN, if (!lull_rcu_domain_gp_poll(d, 0)) abort())
OPERATION_WITH(domain_barrier, DOMAIN, lull_rcu_domain_barrier(d))
OPERATION_WITH(domain_destroy, DOMAIN, if (lull_rcu_domain_init(d, "limits") != 0) abort(); lull_rcu_domain_destroy(d))

/* ---- locks ------------------------------------------------------------------------------------- */

#define MUTEX struct lull_mutex *m = &mutex; keep(m)

OPERATION_WITH(lock, MUTEX, lull_mutex_lock(m); lull_mutex_unlock(m))
OPERATION_WITH(trylock, MUTEX, keep(lull_mutex_trylock(m)); lull_mutex_unlock(m))
OPERATION_WITH(trylock_fails, MUTEX, keep(lull_mutex_trylock(m)))
OPERATION_WITH(timedlock, MUTEX, keep(lull_mutex_timedlock(m, UINT64_MAX)); lull_mutex_unlock(m))
OPERATION_WITH(timedlock_past, MUTEX, keep(lull_mutex_timedlock(m, 1)); lull_mutex_unlock(m))
OPERATION_WITH(is_locked, MUTEX, keep(lull_mutex_is_locked(m)))
OPERATION_WITH(destroy, MUTEX, lull_mutex_init(m, 0); lull_mutex_destroy(m))
/* An emulator may have no list of them: then there is nothing to unlock. */
OPERATION(robust_lock, if (lull_mutex_robust_lock(&robust) == 0) lull_mutex_robust_unlock(&robust))
OPERATION(signal_nobody, lull_cond_signal(&cond))
OPERATION(broadcast_nobody, lull_cond_broadcast(&cond))
OPERATION(wait_past, if (lull_cond_timedwait(&cond, &mutex, 1) != -ETIMEDOUT) abort())
OPERATION(cond_destroy, lull_cond_init(&cond, 0); lull_cond_destroy(&cond))

/* ---- locks of many readers ------------------------------------------------------------------------ */

static void with_rwsem(void) { lull_percpu_rwsem_init(&rwsem); }

/* The mark stays: nobody runs the callback that takes it back. */
static void with_marked_rwsem(void)
{
	with_rwsem();
	lull_percpu_rwsem_write_lock(&rwsem);
	lull_percpu_rwsem_write_unlock(&rwsem);
}

/* The first use of all that a writer needs is behind it. */
static void with_unmarked_rwsem(void)
{
	static struct lull_percpu_rwsem other;

	lull_percpu_rwsem_init(&other);
	lull_percpu_rwsem_write_lock(&other);
	lull_percpu_rwsem_write_unlock(&other);
	with_rwsem();
}

#define RWSEM struct lull_percpu_rwsem *sem = &rwsem; keep(sem)

OPERATION_WITH(rwsem_read, RWSEM, lull_percpu_rwsem_read_lock(sem); lull_percpu_rwsem_read_unlock(sem))
OPERATION_WITH(rwsem_read_try, RWSEM, keep(lull_percpu_rwsem_read_trylock(sem)); lull_percpu_rwsem_read_unlock(sem))
OPERATION_WITH(rwsem_write, RWSEM, lull_percpu_rwsem_write_lock(sem); lull_percpu_rwsem_write_unlock(sem))
OPERATION_WITH(rwsem_destroy, RWSEM, lull_percpu_rwsem_init(sem); lull_percpu_rwsem_destroy(sem))

static const struct operation list[] = {
	{ "refcount_inc", NULL, refcount_inc, STEPS },
	{ "refcount_add", NULL, refcount_add, STEPS },
	{ "refcount_dec", NULL, refcount_dec, STEPS },
	{ "refcount_dec_and_test", NULL, refcount_dec_and_test, STEPS },
	{ "refcount_sub_and_test", NULL, refcount_sub_and_test, STEPS },
	{ "refcount_set_dec_and_test_last", NULL, refcount_last, STEPS },
	{ "refcount_set_release", NULL, refcount_set_release, STEPS },
	{ "refcount_read", NULL, refcount_read, STEPS },
	{ "refcount_inc_not_zero", NULL, refcount_inc_not_zero, STEPS },
	{ "refcount_inc_not_zero_acquire", NULL, refcount_inc_acquire, STEPS },
	{ "refcount_dec_not_one", NULL, refcount_dec_not_one, STEPS },
	{ "refcount_dec_not_one_of_one", NULL, refcount_is_one, STEPS },
	{ "refcount_set_dec_if_one", NULL, refcount_dec_if_one, STEPS },
	{ "percpu_ref_get_put", with_ref, percpu_get_put, STEPS | NATIVE },
	{ "percpu_ref_get_put_many", with_ref, percpu_many, STEPS | NATIVE },
	{ "percpu_ref_get_put_in_one_place", with_shared_ref, percpu_get_put, STEPS | NATIVE },
	{ "percpu_ref_tryget", with_ref, percpu_tryget, STEPS | NATIVE },
	{ "percpu_ref_tryget_live", with_ref, percpu_tryget_live, STEPS | NATIVE },
	{ "percpu_ref_tryget_live_of_dead", with_dead_ref, percpu_tryget_live, STEPS | NATIVE },
	{ "percpu_ref_is_dying", with_ref, percpu_is_dying, STEPS | NATIVE },
	{ "rcu_domain_section", with_domain, domain_section, STEPS | NATIVE },
	{ "rcu_domain_synchronize", with_domain, domain_synchronize, NATIVE },
	{ "rcu_domain_synchronize_beside_another", with_domain_beside_another, domain_synchronize, NATIVE },
	{ "rcu_domain_start_poll", with_domain, domain_start_poll, NATIVE },
	{ "rcu_domain_poll_over", with_domain, domain_poll_over, NATIVE },
	{ "rcu_domain_barrier_for_nothing", with_domain, domain_barrier, NATIVE },
	{ "rcu_domain_init_destroy", NULL, domain_destroy, NATIVE },
	{ "percpu_rwsem_read_lock_unlock", with_rwsem, rwsem_read, STEPS | NATIVE },
	{ "percpu_rwsem_read_trylock_unlock", with_rwsem, rwsem_read_try, STEPS | NATIVE },
	{ "percpu_rwsem_read_lock_unlock_marked", with_marked_rwsem, rwsem_read, STEPS | NATIVE },
	{ "percpu_rwsem_write_lock_unlock_first", with_unmarked_rwsem, rwsem_write, ONCE },
	{ "percpu_rwsem_write_lock_unlock_marked", with_marked_rwsem, rwsem_write, 0 },
	{ "percpu_rwsem_init_destroy", NULL, rwsem_destroy, 0 },
	{ "handoff_rcu", NULL, handoff_rcu, STEPS },
	{ "handoff_rcu_percpu", with_ref, handoff_rcu_percpu, STEPS | NATIVE },
	{ "handoff_hazptr", NULL, handoff_hazptr, STEPS },
	{ "handoff_hazptr_percpu", with_ref, handoff_hazptr_percpu, STEPS | NATIVE },
	{ "mutex_lock_unlock", NULL, lock, STEPS },
	{ "mutex_trylock_unlock", NULL, trylock, STEPS },
	{ "mutex_trylock_of_locked", locked, trylock_fails, STEPS },
	{ "mutex_timedlock_unlock", NULL, timedlock, STEPS },
	{ "mutex_timedlock_past_unlock", NULL, timedlock_past, STEPS },
	{ "mutex_is_locked", NULL, is_locked, STEPS },
	{ "mutex_init_destroy", NULL, destroy, STEPS },
	{ "mutex_robust_lock_unlock", NULL, robust_lock, STEPS },
	{ "cond_signal_nobody", NULL, signal_nobody, STEPS },
	{ "cond_broadcast_nobody", NULL, broadcast_nobody, STEPS },
	{ "cond_timedwait_past", locked, wait_past, 0 },
	{ "cond_init_destroy", NULL, cond_destroy, STEPS },
};

const struct operations counting_operations = OPERATIONS(list);
