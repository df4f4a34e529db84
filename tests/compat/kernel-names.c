/* SPDX-License-Identifier: MIT */
/* The code of lull-names.c, with the kernel's names. */
#include <lull/compat/kernel.h>

struct o {
	long key, value;
	struct rcu_head rcu;
	struct list_head list;
	struct hlist_node hash;
	struct hlist_nulls_node nulls;
	refcount_t refs;
};

struct o *gp;
struct list_head head;
struct hlist_head bucket;
struct hlist_nulls_head nulls;
struct percpu_ref ref;
struct srcu_struct srcu;
struct percpu_rw_semaphore sem;
struct rcu_sync sync;

long f_read(void);
long f_read(void)
{
	long value;

	rcu_read_lock();
	value = rcu_dereference(gp)->value;
	rcu_read_unlock();
	return value;
}

long f_guard(void);
long f_guard(void)
{
	guard(rcu)();
	return rcu_dereference_check(gp, gp->value)->key;
}

void f_assign(struct o *p);
void f_assign(struct o *p)
{
	rcu_assign_pointer(gp, p);
	kfree_rcu(rcu_replace_pointer(gp, NULL, p->key), rcu);
	RCU_INIT_POINTER(gp, NULL);
}

long f_list(long key);
long f_list(long key)
{
	struct o *p;

	list_for_each_entry_rcu(p, &head, list)
		if (p->key == key)
			return p->value;
	hlist_for_each_entry_rcu(p, &bucket, hash)
		if (p->key == key)
			return p->value;
	return 0;
}

void f_change(struct o *p, struct o *q);
void f_change(struct o *p, struct o *q)
{
	list_add_tail_rcu(&p->list, &head);
	list_replace_rcu(&p->list, &q->list);
	hlist_add_head_rcu(&p->hash, &bucket);
	hlist_del_init_rcu(&q->hash);
	hlist_nulls_add_head_rcu(&p->nulls, &nulls);
}

long f_hazptr(hazptr_t *h);
long f_hazptr(hazptr_t *h)
{
	struct o *p = hazptr_tryprotect(h, gp, rcu);
	long value = p ? p->value : 0;

	hazptr_clear(h);
	return value;
}

long f_acquire(void);
long f_acquire(void)
{
	struct hazptr_ctx ctx;
	struct o *p = hazptr_acquire(&ctx, &gp);
	long value = p ? p->value : 0;

	hazptr_release(&ctx, p);
	return value;
}

long f_shazptr(void);
long f_shazptr(void)
{
	struct shazptr_guard held = shazptr_acquire(&bucket);
	long value = f_list(1);

	shazptr_clear(held);
	return value;
}

long f_srcu(void);
long f_srcu(void)
{
	int idx = srcu_read_lock(&srcu);
	long value = srcu_dereference(gp, &srcu)->value + srcu_dereference_check(gp, &srcu, gp->value)->key;

	srcu_read_unlock(&srcu, idx);
	return value;
}

bool f_rwsem(void);
bool f_rwsem(void)
{
	percpu_down_read(&sem);
	percpu_up_read(&sem);
	percpu_down_write(&sem);
	percpu_up_write(&sem);
	return percpu_down_read_trylock(&sem) && rcu_sync_is_idle(&sync);
}

bool f_counts(struct o *p);
bool f_counts(struct o *p)
{
	percpu_ref_get(&ref);
	percpu_ref_put(&ref);
	refcount_add(2, &p->refs);
	return refcount_dec_and_test(&p->refs);
}

unsigned long f_polled(void);
unsigned long f_polled(void)
{
	unsigned long cookie = start_poll_synchronize_rcu();

	cond_synchronize_rcu(cookie);
	return poll_state_synchronize_rcu(cookie);
}

int f_access(int *p, int *q);
int f_access(int *p, int *q)
{
	WRITE_ONCE(*p, 1);
	smp_mb();
	smp_store_release(q, 2);
	return READ_ONCE(*p) + smp_load_acquire(q);
}
