/* SPDX-License-Identifier: MIT */
/*
 * lists.cc - the wrong node, a walk that the list is not made for, and elements that nobody retires do not compile.
 */
#if __cplusplus >= 201703L
#include <lull/list.hpp>

// wrong 1, from c++17: the member is a lull_list_head
// wrong 2, from c++17: both_ways only
// wrong 3, from c++17: ignoring return(ed)? value
// wrong 4, from c++17: ignoring return(ed)? value
// wrong 5, from c++17: use of deleted function|deleted (copy |move )?constructor
// wrong 6, from c++17: assignment of member|cannot assign to|read-only
// wrong 7, from c++17: ignoring return(ed)? value
// wrong 8, from c++17: the member is a lull_hlist_node

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
#if defined WRONG && WRONG == 6
		one.number = 0;
#endif
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
#if defined WRONG && WRONG == 1
	lull::list<item, &item::bucket> wrong;
	(void)wrong;
#elif defined WRONG && WRONG == 2
	for (item &one : some.reversed())
		one.number = 0;
#elif defined WRONG && WRONG == 3
	both.erase(a);
#elif defined WRONG && WRONG == 4
	both.replace(a, *new item());
#elif defined WRONG && WRONG == 5
	auto copy = some;
#elif defined WRONG && WRONG == 8
	lull::hlist<item, &item::number> wrong;
	(void)wrong;
#elif defined WRONG && WRONG == 7
	chain.pop_front();
#endif
	return chain.empty();
}
#else
/* C++14 has not got the header. */
#endif
