/* SPDX-License-Identifier: MIT */
/*
 * lists.cc - the wrong node, a walk that the list is not made for, and elements that are never retired do not compile.
 */
// from c++17
#if __cplusplus >= 201703L
#include <lull/list.hpp>

struct item {
	lull_list_head links;
	lull_hlist_node bucket;
	int number;
};

lull::list<item, &item::links> some;
lull::list<item, &item::links, true> both;
lull::hlist<item, &item::bucket> chain;

int sum(const lull::list<item, &item::links> &all);

int sum(const lull::list<item, &item::links> &all)
{
	int result = 0;

	for (auto &one : all) {
		WRONG("assignment of member|cannot assign to|read-only", one.number = 0;)
		result += one.number;
	}
	return result;
}

int main()
{
	static item a;

	some.push_back(a);
	if (item *gone = some.erase(a))
		both.push_back(*gone);
	for (item &one : both.reversed())
		one.number = sum(some);
	WRONG("the member is a lull_list_head", lull::list<item, &item::bucket> wrong; (void)wrong;)
	WRONG("both_ways only", for (item &one : some.reversed()) one.number = 0;)
	WRONG("ignoring return", both.erase(a);)
	WRONG("ignoring return", both.replace(a, *new item());)
	WRONG("deleted", auto copy = some;)
	WRONG("ignoring return", chain.pop_front();)
	WRONG("the member is a lull_hlist_node", lull::hlist<item, &item::number> wrong; (void)wrong;)
	return chain.empty();
}
#else
/* C++14 has not got the header. */
#endif
