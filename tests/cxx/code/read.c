/* SPDX-License-Identifier: MIT */
/* What reads and retires cost in C: the same functions as in read.cc. */
#include <lull/cohort.h>
#include <lull/hazptr_pool.h>
#include <lull/ref_handoff.h>

struct node {
	long before;
	struct lull_head head;
};

struct node *protect(struct lull_hazptr **h, struct node **src);
struct node *protect(struct lull_hazptr **h, struct node **src)
{
	return lull_hazptr_protect(*h, *src, head);
}

void reset(struct lull_hazptr **h);
void reset(struct lull_hazptr **h)
{
	lull_hazptr_clear(*h);
}

int protect_use_reset(struct lull_hazptr **h, struct node **src);
int protect_use_reset(struct lull_hazptr **h, struct node **src)
{
	struct node *n = lull_hazptr_protect(*h, *src, head);
	int value = (int)n->before;

	lull_hazptr_clear(*h);
	return value;
}

void lock(void);
void lock(void)
{
	lull_rcu_read_lock();
}

void unlock(void);
void unlock(void)
{
	lull_rcu_read_unlock();
}

int lock_use_unlock(struct node **src);
int lock_use_unlock(struct node **src)
{
	int value;

	lull_rcu_read_lock();
	value = (int)lull_load_acquire(src)->before;
	lull_rcu_read_unlock();
	return value;
}

void put(struct lull_hazptr *h);
void put(struct lull_hazptr *h)
{
	lull_hazptr_pool_put(h);
}

void reclaim(struct lull_head *head);

void retire_hazptr(struct node *n);
void retire_hazptr(struct node *n)
{
	lull_hazptr_call_sized(&n->head, reclaim, sizeof(*n));
}

void retire_rcu(struct node *n);
void retire_rcu(struct node *n)
{
	lull_rcu_call_sized(&n->head, reclaim, sizeof(*n));
}

void retire_plain(struct node *n);
void retire_plain(struct node *n)
{
	lull_rcu_call_pure_sized(&n->head, reclaim, sizeof(*n));
}

/* ---- beyond the standard ----------------------------------------------------------------------- */

int section_read(struct node **src);
int section_read(struct node **src)
{
	int value;

	lull_rcu_read_lock();
	value = (int)lull_rcu_dereference(*src)->before * 3;
	lull_rcu_read_unlock();
	return value;
}

void publish(struct node **src, struct node *now);
void publish(struct node **src, struct node *now)
{
	struct node *old = lull_xchg_acq_rel(src, now);

	if (old)
		lull_rcu_call_sized(&old->head, reclaim, sizeof(*old));
}

struct member {
	long before;
	struct lull_cohort_head cohort;
};

void reclaim_member(struct lull_cohort_head *head);

void retire_to_cohort(struct lull_cohort *c, struct member *m);
void retire_to_cohort(struct lull_cohort *c, struct member *m)
{
	lull_cohort_call_hazptr_sized(c, &m->cohort, reclaim_member, sizeof(*m));
}

struct counted {
	long before;
	struct lull_head head;
	struct lull_refcount count;
};

void count_put(struct counted **reference);
void count_put(struct counted **reference)
{
	struct counted *c = *reference;

	if (c && lull_refcount_dec_and_test(&c->count))
		lull_rcu_call_sized(&c->head, reclaim, sizeof(*c));
}
