/* SPDX-License-Identifier: MIT */
/*
 * The cost of reads and retires in C and C++, which `compare` compiles this as, too: each function in both languages.
 *	BOTH(type, name, arguments in C, { body in C }, arguments in C++, { body in C++ })
 */
#ifdef __cplusplus
#include <lull/counted.hpp>
#include <lull/hash_map.hpp>
#include <lull/hazard_pointer>
#include <lull/intrusive_hash_map.hpp>
#include <lull/list.hpp>
#include <lull/mutex.hpp>
#include <lull/rcu>
#include <lull/rcu_domain.hpp>
#include <lull/rcu_ptr.hpp>

#define BOTH(type, name, c_arguments, c_body, arguments, ...) extern "C" type name arguments __VA_ARGS__

struct front {
	long before;
};
struct node : front, lull::hazard_pointer_obj_base<node> {
};
struct gone : front, lull::rcu_obj_base<gone> {
	~gone();
};
struct plain : front, lull::rcu_obj_base<plain> {
};
struct member : front, lull::cohort_obj_base<member> {
	~member();
};
struct counted : front, lull::counted_base<counted> {
	~counted();
};
struct bridged : front, lull::bridge_obj_base<bridged> {
};
struct element {
	long value;
	lull_list_head links;
	lull_hlist_node bucket;
};
struct guard {
	lull::mutex &of;

	guard(lull::mutex &m) : of(m) { of.lock(); }
	~guard() { of.unlock(); }
};
using element_list = lull::list<element, &element::links>;
using list_both_ways = lull::list<element, &element::links, true>;
using element_chain = lull::hlist<element, &element::bucket>;
using reference = lull::counted<counted>;
using map = lull::hash_map<long, long>;

extern "C" __attribute__((flatten)) void keep(lull::held<bridged> *kept, bridged *found);

#else
#include <lull/bridge.h>
#include <lull/cohort.h>
#include <lull/hash.h>
#include <lull/hazptr_pool.h>
#include <lull/hlist.h>
#include <lull/list.h>
#include <lull/mutex.h>
#include <lull/rcu_domain.h>
#include <lull/ref_handoff.h>

#define BOTH(type, name, arguments, body, ...)                                                                         \
	type name arguments;                                                                                           \
	type name arguments body

struct node {
	long before;
	struct lull_head head;
};
struct member {
	long before;
	struct lull_cohort_head cohort;
};
struct counted {
	long before;
	struct lull_head head;
	struct lull_refcount count;
};
struct kept {
	struct lull_hazptr *slot;
	struct node *object;
};
struct element {
	long value;
	struct lull_list_head links;
	struct lull_hlist_node bucket;
};
struct entry {
	struct lull_hash_node node;
	long key, value;
};

void reclaim(struct lull_head *head);
void reclaim_member(struct lull_cohort_head *head);
_Noreturn void out_of_memory(void);

static bool is_key(const struct lull_hash_node *node, const void *key)
{
	return lull_hash_entry(node, struct entry, node)->key == *(const long *)key;
}
#endif

/* ---- the standard ------------------------------------------------------------------------------ */

BOTH(struct node *, protect, (struct lull_hazptr **h, struct node **src), { return lull_hazptr_protect(*h, *src, head); },
     (lull::hazard_pointer &h, std::atomic<node *> &src), { return h.protect(src); })

BOTH(void, reset, (struct lull_hazptr **h), { lull_hazptr_clear(*h); }, (lull::hazard_pointer &h), { h.reset_protection(); })

BOTH(int, protect_use_reset, (struct lull_hazptr **h, struct node **src), {
	struct node *n = lull_hazptr_protect(*h, *src, head);
	int value = (int)n->before;

	lull_hazptr_clear(*h);
	return value;
}, (lull::hazard_pointer &h, std::atomic<node *> &src), {
	node *n = h.protect(src);
	int value = static_cast<int>(n->before);

	h.reset_protection();
	return value;
})

BOTH(int, domain_section, (struct lull_rcu_domain *d, int *value), {
	int phase = lull_rcu_domain_read_lock(d);
	int read = lull_load_relaxed(value);

	lull_rcu_domain_read_unlock(d, phase);
	return read;
}, (lull::srcu_domain &d, std::atomic<int> &value), {
	lull::srcu_section section(d);

	return value.load(std::memory_order_relaxed);
})

BOTH(void, lock, (void), { lull_rcu_read_lock(); }, (), { lull::rcu_default_domain().lock(); })
BOTH(void, unlock, (void), { lull_rcu_read_unlock(); }, (), { lull::rcu_default_domain().unlock(); })

BOTH(int, lock_use_unlock, (struct node **src), {
	int value;

	lull_rcu_read_lock();
	value = (int)lull_load_acquire(src)->before;
	lull_rcu_read_unlock();
	return value;
}, (std::atomic<node *> &src), {
	int value;

	lull::rcu_default_domain().lock();
	value = static_cast<int>(src.load(std::memory_order_acquire)->before);
	lull::rcu_default_domain().unlock();
	return value;
})

BOTH(void, retire_hazptr, (struct node *n), { lull_hazptr_call_sized(&n->head, reclaim, sizeof(*n)); }, (node &n), { n.retire(); })
BOTH(void, retire_rcu, (struct node *n), { lull_rcu_call_sized(&n->head, reclaim, sizeof(*n)); }, (gone &n), { n.retire(); })
BOTH(void, retire_plain, (struct node *n), { lull_rcu_call_pure_sized(&n->head, reclaim, sizeof(*n)); }, (plain &n), { n.retire(); })

/* ---- beyond the standard ----------------------------------------------------------------------- */

BOTH(int, section_read, (struct node **src), {
	int value;

	lull_rcu_read_lock();
	value = (int)lull_rcu_dereference(*src)->before * 3;
	lull_rcu_read_unlock();
	return value;
}, (const lull::rcu_ptr<gone> &src), {
	lull::rcu_section section;

	return static_cast<int>(src.read()->before) * 3;
})

BOTH(void, publish, (struct node **src, struct node *now), {
	struct node *old = lull_xchg_acq_rel(src, now);

	if (old)
		lull_rcu_call_sized(&old->head, reclaim, sizeof(*old));
}, (lull::rcu_ptr<gone> &src, gone *now), { src.publish(std::unique_ptr<gone>(now)); })

BOTH(void, retire_to_cohort, (struct lull_cohort *c, struct member *m), {
	lull_cohort_call_hazptr_sized(c, &m->cohort, reclaim_member, sizeof(*m));
}, (lull::cohort &c, member &m), { m.retire_to_cohort(c); })

BOTH(void, count_put, (struct counted **one), {
	struct counted *c = *one;

	if (c && lull_refcount_dec_and_test(&c->count))
		lull_rcu_call_sized(&c->head, reclaim, sizeof(*c));
}, (reference &c), { c.~reference(); })

BOTH(void, count_get, (struct counted **to, struct counted **from), {
	struct counted *c = *from;

	*to = c;
	if (c)
		lull_refcount_inc(&c->count);
}, (reference *to, const reference &from), { new (to) reference(from); })

/* Keep, beyond a section, an object found inside. */
BOTH(void, keep, (struct kept *kept, struct node *found), {
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
}, (lull::held<bridged> *kept, bridged *found), { new (kept) lull::held<bridged>(lull::keep(found)); })

BOTH(void, drop, (struct kept *kept), {
	kept->object = NULL;
	if (kept->slot) {
		struct lull_hazptr *slot = kept->slot;

		kept->slot = NULL;
		lull_hazptr_pool_put(slot);
	}
}, (lull::held<bridged> &kept), { kept.reset(); })

BOTH(void, lock_mutex, (struct lull_mutex *m), { lull_mutex_lock(m); }, (lull::mutex &m), { m.lock(); })
BOTH(bool, try_mutex, (struct lull_mutex *m), { return lull_mutex_trylock(m); }, (lull::mutex &m), { return m.try_lock(); })
BOTH(void, unlock_mutex, (struct lull_mutex *m), { lull_mutex_unlock(m); }, (lull::mutex &m), { m.unlock(); })

BOTH(void, lock_use_unlock_mutex, (struct lull_mutex *m, long *what), {
	lull_mutex_lock(m);
	++*what;
	lull_mutex_unlock(m);
}, (lull::mutex &m, long &what), {
	guard hold(m);

	++what;
})

BOTH(long, walk, (struct lull_list_head *list), {
	struct element *e;
	long sum = 0;

	lull_list_for_each_entry_rcu(e, list, links)
		sum += e->value;
	return sum;
}, (element_list &list), {
	long sum = 0;

	for (const element &e : list)
		sum += e.value;
	return sum;
})

BOTH(long, walk_chain, (struct lull_hlist_head *chain), {
	struct element *e;
	long sum = 0;

	lull_hlist_for_each_entry_rcu(e, chain, bucket)
		sum += e->value;
	return sum;
}, (element_chain &chain), {
	long sum = 0;

	for (const element &e : chain)
		sum += e.value;
	return sum;
})

#define LIST_CALL(name, c_arguments, c_call, arguments, call) BOTH(void, name, c_arguments, { c_call; }, arguments, { (void)call; })

LIST_CALL(list_push_front, (struct lull_list_head *list, struct element *e), lull_list_add_rcu(&e->links, list),
	  (element_list &list, element &e), (list.push_front(e), 0))
LIST_CALL(list_push_back, (struct lull_list_head *list, struct element *e), lull_list_add_tail_rcu(&e->links, list),
	  (element_list &list, element &e), (list.push_back(e), 0))
LIST_CALL(list_insert_before, (void *list, struct element *at, struct element *e),
	  (void)list; lull_list_add_tail_rcu(&e->links, &at->links),
	  (element_list &list, element &at, element &e), (list.insert_before(at, e), 0))
LIST_CALL(list_erase, (void *list, struct element *e), (void)list; lull_list_del_rcu(&e->links),
	  (element_list &list, element &e), list.erase(e))
LIST_CALL(list_erase_both_ways, (void *list, struct element *e), (void)list; lull_list_bidir_del_rcu(&e->links),
	  (list_both_ways &list, element &e), list.erase(e))
LIST_CALL(list_replace, (void *list, struct element *old, struct element *e),
	  (void)list; lull_list_replace_rcu(&old->links, &e->links),
	  (element_list &list, element &old, element &e), list.replace(old, e))
LIST_CALL(chain_push_front, (struct lull_hlist_head *chain, struct element *e), lull_hlist_add_head_rcu(&e->bucket, chain),
	  (element_chain &chain, element &e), (chain.push_front(e), 0))
LIST_CALL(chain_push_back, (struct lull_hlist_head *chain, struct element *e), lull_hlist_add_tail_rcu(&e->bucket, chain),
	  (element_chain &chain, element &e), (chain.push_back(e), 0))
LIST_CALL(chain_insert_before, (struct element *at, struct element *e), lull_hlist_add_before_rcu(&e->bucket, &at->bucket),
	  (element &at, element &e), (element_chain().insert_before(at, e), 0))
LIST_CALL(chain_erase, (struct element *e), lull_hlist_del_rcu(&e->bucket), (element &e), element_chain().erase(e))
LIST_CALL(chain_replace, (struct element *old, struct element *e), lull_hlist_replace_rcu(&old->bucket, &e->bucket),
	  (element &old, element &e), element_chain().replace(old, e))

BOTH(const long *, find, (const struct lull_hash *table, const long *key), {
	struct lull_hash_node *found = lull_hash_lookup(table, lull_hash_mix64((uint64_t)*key), is_key, key);

	return found ? &lull_hash_entry(found, struct entry, node)->value : NULL;
}, (const map &table, const long &key), {
	const map::value_type *found = table.lookup(key);

	return found ? &found->second : nullptr;
})

BOTH(long, find_in_section, (const struct lull_hash *table, const long *key), {
	uint64_t hash = lull_hash_mix64((uint64_t)*key);
	struct lull_hash_node *found;
	long value;

	lull_rcu_read_lock();
	found = lull_hash_lookup(table, hash, is_key, key);
	value = found ? lull_hash_entry(found, struct entry, node)->value : 0;
	lull_rcu_read_unlock();
	return value;
}, (const map &table, const long &key), {
	auto found = table.find(key);

	return found ? found->second : 0;
})
