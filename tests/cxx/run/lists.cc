/* SPDX-License-Identifier: MIT */
/*
 * lists.cc - what list.hpp promises: for readers, and for the holder of the lock.
 */
#include <csignal>
#include <string>
#include <vector>

#include <lull/list.hpp>
#include <lull/mutex.hpp>
#include <lull/rcu.h>
#include <lull/reclaim.h>

#include "own_new.hpp"
#include "test.hpp"

/* How often this thread has allocated. */
static thread_local int allocated;

namespace
{

struct base {
	virtual ~base() {}
	std::string name;
	lull_list_head links;
};
struct item : base {
	explicit item(int n) : number(n) { name = std::to_string(n); }
	~item() override { name = "gone"; }
	int number;
	lull_list_head both;
	lull_hlist_node bucket;
	lull_rcu_head head;
};

using one_way = lull::list<item, &item::links>;
using two_ways = lull::list<item, &item::both, true>;
using chain = lull::hlist<item, &item::bucket>;

CONSTANT one_way a_static_list;
CONSTANT two_ways another_static_list;
CONSTANT chain a_static_chain;

template <class List> constexpr bool stays = !std::is_copy_constructible<List>::value && !std::is_move_constructible<List>::value &&
	std::is_trivially_destructible<List>::value && std::is_nothrow_default_constructible<List>::value;
static_assert(stays<one_way> && stays<two_ways> && stays<chain>, "");
static_assert(sizeof(one_way) == sizeof(lull_list_head) && sizeof(chain) == sizeof(void *), "");
static_assert(std::is_same<decltype(*std::declval<const one_way &>().begin()), const item &>::value, "");
static_assert(std::is_same<decltype(*std::declval<one_way &>().begin()), item &>::value, "");

template <class T> T &a() noexcept; /* any T, in what is not evaluated */
template <class L>
constexpr bool throws_nothing = noexcept(a<L>().begin() == a<L>().end()) && noexcept(++a<L>().begin()) && noexcept(*a<const L>().begin()) &&
	noexcept(a<L>().after(a<item>())) && noexcept(a<L>().front()) && noexcept(a<const L>().empty()) &&
	noexcept(++a<L>().locked().begin()) && noexcept(a<L>().push_front(a<item>())) && noexcept(a<L>().push_back(a<item>())) &&
	noexcept(a<L>().insert_before(a<item>(), a<item>())) && noexcept(a<L>().insert_after(a<item>(), a<item>())) &&
	noexcept(a<L>().erase(a<item>())) && noexcept(a<L>().pop_front()) && noexcept(a<L>().replace(a<item>(), a<item>())) &&
	noexcept(a<L>().clear(a<void (*)(item &) noexcept>())) && !noexcept(a<L>().clear(a<void (*)(item &)>()));
static_assert(throws_nothing<one_way> && throws_nothing<two_ways> && throws_nothing<chain>, "");
static_assert(noexcept(a<two_ways>().reversed()) && noexcept(a<one_way>().splice_back(a<one_way>())), "");

using numbers = std::vector<int>;

template <class Range> numbers of(Range &&range)
{
	section s;
	numbers all;

	for (const item &i : range)
		all.push_back(i.number);
	return all;
}

TEST_OF(List, holds_elements, one_way, two_ways, chain)
{
	List l;
	const List &same = l;
	item a(1), b(2), c(3), d(4), e(5);

	MUST(l.empty() && !l.front() && !l.pop_front() && of(l) == numbers{} && of(l.locked()) == numbers{});
	l.push_back(b);
	l.push_front(a);
	l.push_back(c);
	MUST(!l.empty() && l.front() == &a && of(l) == numbers({ 1, 2, 3 }) && of(same) == numbers({ 1, 2, 3 }));
	MUST(of(l.locked()) == numbers({ 1, 2, 3 }));
	l.insert_before(b, d);
	l.insert_after(b, e);
	MUST(of(l) == numbers({ 1, 4, 2, 5, 3 }));
	MUST(l.erase(b) == &b && of(l) == numbers({ 1, 4, 5, 3 }));
	lull_rcu_synchronize();
	MUST(l.replace(d, b) == &d && of(l) == numbers({ 1, 2, 5, 3 }));
	MUST(l.pop_front() == &a && of(l) == numbers({ 2, 5, 3 }));
	MUST(l.erase(c) == &c && l.erase(b) == &b && of(l) == numbers({ 5 }));
	lull_rcu_synchronize();
	l.push_back(a);
	l.push_back(b);
	{
		section s;
		auto at = l.after(e);

		MUST(at->number == 1 && (++at)->number == 2 && at == l.after(a) && ++at == l.end() && at != l.begin());
	}
	/* The body may erase what it stands on, and even overwrite it. */
	for (item &i : l.locked()) {
		if (i.number != 1) {
			MUST(l.erase(i) == &i);
			lull_rcu_synchronize();
			i.links = i.both = {};
			i.bucket = {};
		}
	}
	MUST(of(l) == numbers({ 1 }));
	l.push_back(c);
	int sum = 0;
	l.clear([&](item &i) { sum += i.number; });
	MUST(sum == 4 && l.empty());
	MUST(static_cast<void *>(l.native_handle()) == static_cast<void *>(&l));
}

/* In a read section, where whoever waits for readers would abort. */
TEST_OF(List, neither_allocates_nor_waits, one_way, two_ways, chain)
{
	item a(1), b(2), c(3), d(4);
	section s;

	allocated = 0;
	before_new = [] { allocated++; };
	{
		List l;

		l.push_back(b);
		l.push_front(a);
		l.insert_before(b, c);
		MUST(l.erase(c) == &c && l.replace(b, d) == &b && l.after(a)->number == 4 && l.pop_front() == &a);
		for (item &i : l.locked())
			MUST(l.erase(i) == &i);
		l.clear([](item &) {});
		MUST(l.empty() && !l.front());
	}
	before_new = nullptr;
	MUST(allocated == 0);
}

/* The elements are none of the list's. */
TEST_OF(List, owns_nothing, one_way, two_ways, chain)
{
	item a(1);
	{
		List l;

		l.push_back(a);
	}
	MUST(a.name == "1");
}

/* A ring with the head in it, for code in C too. */
TEST_OF(List, is_a_ring, one_way, two_ways)
{
	lull_list_head item::*node = std::is_same_v<List, one_way> ? &base::links : &item::both;
	List l;
	lull_list_head *head = l.native_handle();
	item a(1), b(2);

	MUST(head->next == head && head->prev == head);
	l.push_back(b);
	lull_list_add_rcu(&(a.*node), head);
	MUST(of(l) == numbers({ 1, 2 }));
	MUST(l.native_handle() == head && head->next == &(a.*node) && (a.*node).next == &(b.*node) && (b.*node).next == head);
	MUST(head->prev == &(b.*node) && (b.*node).prev == &(a.*node) && (a.*node).prev == head);
}

/* Links for readers that walk backwards; and those that a one-way erasure leaves for a second one to find. */
TEST(keeps_the_way_back)
{
	two_ways l;
	one_way m;
	item a(1), b(2), c(3);

	for (item *i : { &a, &b, &c }) {
		l.push_back(*i);
		m.push_back(*i);
	}
	MUST(l.erase(b) == &b && b.both.prev == &a.both && b.both.next == &c.both);
	MUST(l.erase(b) == &b && of(l) == numbers({ 1, 3 })); /* unnoticed, and harmless as long as the neighbours stay */
	MUST(m.erase(b) == &b && b.links.prev == LULL_LIST_POISON && b.links.next == &c.links);
}

bool found_empty;

void look(int)
{
	found_empty = a_static_list.empty() && another_static_list.empty() && a_static_chain.empty();
}

TEST(is_asked_in_a_handler)
{
	std::signal(SIGUSR1, look);
	std::raise(SIGUSR1);
	MUST(found_empty);
}

/* Readers that stand on an element go on from there. */
TEST_OF(List, keeps_readers, one_way, two_ways, chain)
{
	List l;
	item a(1), b(2), c(3), d(4);

	for (item *i : { &a, &b, &c })
		l.push_back(*i);
	section s;
	auto at = l.begin();
	++at;
	MUST(l.erase(b) == &b);
	MUST(at->number == 2 && (++at)->number == 3 && ++at == l.end());
	at = l.begin();
	MUST(l.replace(a, d) == &a);
	MUST(at->number == 1 && (++at)->number == 3);
	MUST(of(l) == numbers({ 4, 3 }));
}

TEST(walks_back)
{
	two_ways l;
	item a(1), b(2), c(3), d(4);

	for (item *i : { &a, &b, &c })
		l.push_back(*i);
	MUST(of(l.reversed()) == numbers({ 3, 2, 1 }));
	section s;
	auto at = ++l.reversed().begin();
	MUST(l.erase(b) == &b && at->number == 2 && (++at)->number == 1 && of(l.reversed()) == numbers({ 3, 1 }));
	at = l.reversed().begin();
	MUST(l.replace(c, d) == &c && at->number == 3 && (++at)->number == 1 && of(l.reversed()) == numbers({ 4, 1 }));
}

TEST(splices)
{
	one_way l, m;
	item a(1), b(2), c(3);

	l.push_back(a);
	l.splice_back(m);
	MUST(of(l) == numbers({ 1 }));
	m.push_back(b);
	m.push_back(c);
	l.splice_back(m);
	MUST(of(l) == numbers({ 1, 2, 3 }) && m.empty());
	a_static_list.push_back(*l.pop_front());
	MUST(of(a_static_list) == numbers({ 1 }));
	MUST(a_static_list.pop_front() == &a && another_static_list.empty() && a_static_chain.empty());
}

/* A reader that stands on an element of the other list may not find itself on this one. */
TEST(splices_behind_readers)
{
	one_way l, m;
	item a(1);
	std::atomic<bool> inside{ false }, left{ false };

	m.push_back(a);
	runner reader([&] {
		section s;

		inside = true;
		while (!m.empty())
			sched_yield();
		nap();
		left = true;
	});
	while (!inside)
		sched_yield();
	l.splice_back(m);
	MUST(left);
	reader.join();
	MUST(of(l) == numbers({ 1 }) && m.empty());
}

void drop(lull_rcu_head *head) noexcept
{
	delete lull::detail::object_of(head, &item::head);
}

/* Each walk meets those that stay, in order, while others come and go. */
TEST_OF(List, is_read_while_it_changes, one_way, two_ways, chain)
{
	List l;
	lull::mutex lock;
	std::atomic<int> over{ 0 };

	for (int i = 0; i < 40; i += 2) {
		lock.lock();
		l.push_back(*new item(i));
		lock.unlock();
	}
	in_threads(4, [&](int me) {
		while (me < 2 && over < 2) {
			int last = -2;
			section s;

			for (const item &i : l) {
				MUST(i.name == std::to_string(i.number));
				if (i.number % 2 == 0) {
					MUST(i.number == last + 2);
					last = i.number;
				}
			}
			MUST(last == 38);
		}
		for (int turn = 0; me >= 2 && turn < 300; turn++) {
			item *fresh = new item(turn % 40 | 1), *other = new item(0), *gone = nullptr;

			lock.lock();
			for (item &i : l.locked()) {
				if (i.number > fresh->number) {
					l.insert_before(i, *fresh);
					break;
				}
				if (i.number % 2) {
					gone = l.erase(i);
					lull_rcu_call(&gone->head, drop);
				}
			}
			if (fresh->number > 38)
				l.push_back(*fresh);
			gone = l.front()->number == 0 ? l.replace(*l.front(), *other) : other;
			lock.unlock();
			lull_rcu_call(&gone->head, drop);
		}
		over += me >= 2;
	});
	l.clear([](item &i) { lull_rcu_call(&i.head, drop); });
	lull_rcu_barrier();
}

/* An element whose address is not its own. */
struct elsewhere {
	int number;
	lull_list_head links;
	lull_hlist_node bucket;

	void operator&() const = delete;
};

TEST(asks_no_element_for_its_address)
{
	lull::list<elsewhere, &elsewhere::links> list;
	lull::hlist<elsewhere, &elsewhere::bucket> bucket;
	elsewhere one{ 1, {}, {} }, two{ 2, {}, {} };

	list.push_back(one);
	bucket.push_front(one);
	MUST(list.replace(one, two)->number == 1 && bucket.replace(one, two)->number == 1);
	MUST(list.begin()->number == 2 && bucket.locked().begin()->number == 2);
	MUST(list.erase(two)->number == 2 && bucket.erase(two)->number == 2);
	MUST(list.empty() && bucket.empty());
}

} // namespace
