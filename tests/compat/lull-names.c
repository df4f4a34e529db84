/* SPDX-License-Identifier: MIT */
/* The code of kernel-names.c, with lull's names. */
#include <lull/lull.h>

struct o {
	long key, value;
	struct lull_rcu_head rcu;
	struct lull_list_head list;
	struct lull_hlist_node hash;
	struct lull_hlist_nulls_node nulls;
	struct lull_refcount refs;
};

struct o *gp;
struct lull_list_head head;
struct lull_hlist_head bucket;
struct lull_hlist_nulls_head nulls;
struct lull_percpu_ref ref;
struct lull_rcu_domain srcu;
struct lull_percpu_rwsem sem;
struct lull_rcu_sync sync;

long f_read(void);
long f_read(void)
{
	long value;

	lull_rcu_read_lock();
	value = lull_rcu_dereference(gp)->value;
	lull_rcu_read_unlock();
	return value;
}

long f_guard(void);
long f_guard(void)
{
	LULL_RCU_GUARD();
	return lull_rcu_dereference(gp)->key;
}

void f_assign(struct o *p);
void f_assign(struct o *p)
{
	lull_rcu_assign(gp, p);
	lull_rcu_free(lull_rcu_replace(gp, NULL));
	lull_store_relaxed(&gp, NULL);
}

long f_list(long key);
long f_list(long key)
{
	struct o *p;

	lull_list_for_each_entry_rcu(p, &head, list)
		if (p->key == key)
			return p->value;
	lull_hlist_for_each_entry_rcu(p, &bucket, hash)
		if (p->key == key)
			return p->value;
	return 0;
}

void f_change(struct o *p, struct o *q);
void f_change(struct o *p, struct o *q)
{
	lull_list_add_tail_rcu(&p->list, &head);
	lull_list_replace_rcu(&p->list, &q->list);
	lull_hlist_add_head_rcu(&p->hash, &bucket);
	lull_hlist_del_init_rcu(&q->hash);
	lull_hlist_nulls_add_head_rcu(&p->nulls, &nulls);
}

long f_hazptr(struct lull_hazptr *h);
long f_hazptr(struct lull_hazptr *h)
{
	struct o *p = lull_hazptr_tryprotect(h, gp, rcu);
	long value = p ? p->value : 0;

	lull_hazptr_clear(h);
	return value;
}

long f_acquire(void);
long f_acquire(void)
{
	struct lull_hazptr_hold hold;
	struct o *p = lull_hazptr_acquire(&hold, &gp);
	long value = p ? p->value : 0;

	lull_hazptr_release(&hold, p);
	return value;
}

long f_shazptr(void);
long f_shazptr(void)
{
	struct lull_shazptr_guard held = lull_shazptr_acquire(&bucket);
	long value = f_list(1);

	lull_shazptr_clear(held);
	return value;
}

long f_srcu(void);
long f_srcu(void)
{
	int idx = lull_rcu_domain_read_lock(&srcu);
	long value = lull_rcu_dereference(gp)->value + lull_rcu_dereference(gp)->key;

	lull_rcu_domain_read_unlock(&srcu, idx);
	return value;
}

bool f_rwsem(void);
bool f_rwsem(void)
{
	lull_percpu_rwsem_read_lock(&sem);
	lull_percpu_rwsem_read_unlock(&sem);
	lull_percpu_rwsem_write_lock(&sem);
	lull_percpu_rwsem_write_unlock(&sem);
	return lull_percpu_rwsem_read_trylock(&sem) && lull_rcu_sync_is_idle(&sync);
}

bool f_counts(struct o *p);
bool f_counts(struct o *p)
{
	lull_percpu_ref_get(&ref);
	lull_percpu_ref_put(&ref);
	lull_refcount_add(&p->refs, 2);
	return lull_refcount_dec_and_test(&p->refs);
}

unsigned long f_polled(void);
unsigned long f_polled(void)
{
	lull_rcu_cookie cookie = lull_rcu_gp_start();

	lull_rcu_gp_wait(cookie);
	return lull_rcu_gp_poll(cookie);
}

int f_access(int *p, int *q);
int f_access(int *p, int *q)
{
	lull_store_relaxed(p, 1);
	lull_fence_full();
	lull_store_release(q, 2);
	return lull_load_relaxed(p) + lull_load_acquire(q);
}
