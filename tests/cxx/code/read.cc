/* SPDX-License-Identifier: MIT */
/* What reads and retires cost in C++: the same functions as in read.c. */
#include <lull/counted.hpp>
#include <lull/hash_map.hpp>
#include <lull/hazard_pointer>
#include <lull/intrusive_hash_map.hpp>
#include <lull/list.hpp>
#include <lull/mutex.hpp>
#include <lull/rcu>
#include <lull/rcu_ptr.hpp>

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
using element_list = lull::list<element, &element::links>;
using list_both_ways = lull::list<element, &element::links, true>;
using element_chain = lull::hlist<element, &element::bucket>;
struct object {
	lull_hash_node node;
	long key, value;
};

using map = lull::hash_map<long, long>;
using intrusive_map = lull::intrusive_hash_map<object, &object::node, &object::key>;

extern "C" {

node *protect(lull::hazard_pointer &h, std::atomic<node *> &src)
{
	return h.protect(src);
}

void reset(lull::hazard_pointer &h)
{
	h.reset_protection();
}

int protect_use_reset(lull::hazard_pointer &h, std::atomic<node *> &src)
{
	node *n = h.protect(src);
	int value = static_cast<int>(n->before);

	h.reset_protection();
	return value;
}

void lock()
{
	lull::rcu_default_domain().lock();
}

void unlock()
{
	lull::rcu_default_domain().unlock();
}

int lock_use_unlock(std::atomic<node *> &src)
{
	int value;

	lull::rcu_default_domain().lock();
	value = static_cast<int>(src.load(std::memory_order_acquire)->before);
	lull::rcu_default_domain().unlock();
	return value;
}

void retire_hazptr(node &n)
{
	n.retire();
}

void retire_rcu(gone &n)
{
	n.retire();
}

void retire_plain(plain &n)
{
	n.retire();
}

/* ---- beyond the standard ----------------------------------------------------------------------- */

int section_read(const lull::rcu_ptr<gone> &src)
{
	lull::rcu_section section;

	return static_cast<int>(src.read()->before) * 3;
}

void publish(lull::rcu_ptr<gone> &src, gone *now)
{
	src.publish(std::unique_ptr<gone>(now));
}

void retire_to_cohort(lull::cohort &c, member &m)
{
	m.retire_to_cohort(c);
}

void count_put(lull::counted<counted> &c)
{
	using reference = lull::counted<counted>;

	c.~reference();
}

void count_get(lull::counted<counted> *to, const lull::counted<counted> &from)
{
	new (to) lull::counted<counted>(from);
}

__attribute__((flatten)) void keep(lull::held<bridged> *kept, bridged *found)
{
	new (kept) lull::held<bridged>(lull::keep(found));
}

void drop(lull::held<bridged> &kept)
{
	kept.reset();
}

void lock_mutex(lull::mutex &m)
{
	m.lock();
}

bool try_mutex(lull::mutex &m)
{
	return m.try_lock();
}

void unlock_mutex(lull::mutex &m)
{
	m.unlock();
}

void lock_use_unlock_mutex(lull::mutex &m, long &what)
{
	struct guard {
		lull::mutex &of;

		guard(lull::mutex &m) : of(m) { of.lock(); }
		~guard() { of.unlock(); }
	} hold(m);

	++what;
}

long walk(element_list &list)
{
	long sum = 0;

	for (const element &e : list)
		sum += e.value;
	return sum;
}

long walk_chain(element_chain &chain)
{
	long sum = 0;

	for (const element &e : chain)
		sum += e.value;
	return sum;
}

void list_push_front(element_list &list, element &e)
{
	list.push_front(e);
}

void list_push_back(element_list &list, element &e)
{
	list.push_back(e);
}

void list_insert_before(element_list &list, element &at, element &e)
{
	list.insert_before(at, e);
}

void list_erase(element_list &list, element &e)
{
	(void)list.erase(e);
}

void list_erase_both_ways(list_both_ways &list, element &e)
{
	(void)list.erase(e);
}

void list_replace(element_list &list, element &old, element &e)
{
	(void)list.replace(old, e);
}

void chain_push_front(element_chain &chain, element &e)
{
	chain.push_front(e);
}

void chain_push_back(element_chain &chain, element &e)
{
	chain.push_back(e);
}

void chain_insert_before(element &at, element &e)
{
	element_chain().insert_before(at, e);
}

void chain_erase(element &e)
{
	(void)element_chain().erase(e);
}

void chain_replace(element &old, element &e)
{
	(void)element_chain().replace(old, e);
}

const long *find(const map &table, const long &key)
{
	const map::value_type *found = table.lookup(key);

	return found ? &found->second : nullptr;
}

long find_in_section(const map &table, const long &key)
{
	auto found = table.find(key);

	return found ? found->second : 0;
}
}
