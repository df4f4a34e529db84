/* SPDX-License-Identifier: MIT */
/* What reads and retires cost in C: the same functions as in read.cc. */
#include <lull/bridge.h>
#include <lull/cohort.h>
#include <lull/hash.h>
#include <lull/hazptr_pool.h>
#include <lull/hlist.h>
#include <lull/list.h>
#include <lull/mutex.h>
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

void count_get(struct counted **to, struct counted **from);
void count_get(struct counted **to, struct counted **from)
{
	struct counted *c = *from;

	*to = c;
	if (c)
		lull_refcount_inc(&c->count);
}

/* Keep, beyond a section, what was found in it. */
struct kept {
	struct lull_hazptr *slot;
	struct node *object;
};

_Noreturn void out_of_memory(void);

void keep(struct kept *kept, struct node *found);
void keep(struct kept *kept, struct node *found)
{
	struct lull_hazptr *slot;

	if (!found) {
		kept->slot = NULL;
		kept->object = NULL;
		return;
	}
	slot = lull_hazptr_pool_get();
	if (lull_unlikely(!slot))
		out_of_memory();
	lull_hazptr_protect_rcu(slot, found, head);
	kept->slot = slot;
	kept->object = found;
}

void drop(struct kept *kept);
void drop(struct kept *kept)
{
	kept->object = NULL;
	if (kept->slot) {
		struct lull_hazptr *slot = kept->slot;

		kept->slot = NULL;
		lull_hazptr_pool_put(slot);
	}
}

void lock_mutex(struct lull_mutex *m);
void lock_mutex(struct lull_mutex *m)
{
	lull_mutex_lock(m);
}

int try_mutex(struct lull_mutex *m);
int try_mutex(struct lull_mutex *m)
{
	return lull_mutex_trylock(m);
}

void unlock_mutex(struct lull_mutex *m);
void unlock_mutex(struct lull_mutex *m)
{
	lull_mutex_unlock(m);
}

void lock_use_unlock_mutex(struct lull_mutex *m, long *what);
void lock_use_unlock_mutex(struct lull_mutex *m, long *what)
{
	lull_mutex_lock(m);
	++*what;
	lull_mutex_unlock(m);
}

struct element {
	long value;
	struct lull_list_head links;
	struct lull_hlist_node bucket;
};

long walk(struct lull_list_head *list);
long walk(struct lull_list_head *list)
{
	struct element *e;
	long sum = 0;

	lull_list_for_each_entry_rcu(e, list, links)
		sum += e->value;
	return sum;
}

long walk_chain(struct lull_hlist_head *chain);
long walk_chain(struct lull_hlist_head *chain)
{
	struct element *e;
	long sum = 0;

	lull_hlist_for_each_entry_rcu(e, chain, bucket)
		sum += e->value;
	return sum;
}

void list_push_front(struct lull_list_head *list, struct element *e);
void list_push_front(struct lull_list_head *list, struct element *e)
{
	lull_list_add_rcu(&e->links, list);
}

void list_push_back(struct lull_list_head *list, struct element *e);
void list_push_back(struct lull_list_head *list, struct element *e)
{
	lull_list_add_tail_rcu(&e->links, list);
}

void list_insert_before(struct lull_list_head *list, struct element *at, struct element *e);
void list_insert_before(struct lull_list_head *list, struct element *at, struct element *e)
{
	(void)list;
	lull_list_add_tail_rcu(&e->links, &at->links);
}

void list_erase(struct lull_list_head *list, struct element *e);
void list_erase(struct lull_list_head *list, struct element *e)
{
	(void)list;
	lull_list_del_rcu(&e->links);
}

void list_erase_both_ways(struct lull_list_head *list, struct element *e);
void list_erase_both_ways(struct lull_list_head *list, struct element *e)
{
	(void)list;
	lull_list_bidir_del_rcu(&e->links);
}

void list_replace(struct lull_list_head *list, struct element *old, struct element *e);
void list_replace(struct lull_list_head *list, struct element *old, struct element *e)
{
	(void)list;
	lull_list_replace_rcu(&old->links, &e->links);
}

void chain_push_front(struct lull_hlist_head *chain, struct element *e);
void chain_push_front(struct lull_hlist_head *chain, struct element *e)
{
	lull_hlist_add_head_rcu(&e->bucket, chain);
}

void chain_push_back(struct lull_hlist_head *chain, struct element *e);
void chain_push_back(struct lull_hlist_head *chain, struct element *e)
{
	lull_hlist_add_tail_rcu(&e->bucket, chain);
}

void chain_insert_before(struct element *at, struct element *e);
void chain_insert_before(struct element *at, struct element *e)
{
	lull_hlist_add_before_rcu(&e->bucket, &at->bucket);
}

void chain_erase(struct element *e);
void chain_erase(struct element *e)
{
	lull_hlist_del_rcu(&e->bucket);
}

void chain_replace(struct element *old, struct element *e);
void chain_replace(struct element *old, struct element *e)
{
	lull_hlist_replace_rcu(&old->bucket, &e->bucket);
}

struct entry {
	struct lull_hash_node node;
	long key, value;
};

static bool is_key(const struct lull_hash_node *node, const void *key)
{
	return lull_hash_entry(node, struct entry, node)->key == *(const long *)key;
}

const long *find(const struct lull_hash *table, const long *key);
const long *find(const struct lull_hash *table, const long *key)
{
	struct lull_hash_node *found = lull_hash_lookup(table, lull_hash_mix64((uint64_t)*key), is_key, key);

	return found ? &lull_hash_entry(found, struct entry, node)->value : NULL;
}

long find_in_section(const struct lull_hash *table, const long *key);
long find_in_section(const struct lull_hash *table, const long *key)
{
	uint64_t hash = lull_hash_mix64((uint64_t)*key);
	struct lull_hash_node *found;
	long value;

	lull_rcu_read_lock();
	found = lull_hash_lookup(table, hash, is_key, key);
	value = found ? lull_hash_entry(found, struct entry, node)->value : 0;
	lull_rcu_read_unlock();
	return value;
}
