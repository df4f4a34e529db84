/* SPDX-License-Identifier: MIT */
/*
 * hash_maps.cc - sections stay in their blocks, elements do not change, and nobody forgets what he has to retire.
 */
#if __cplusplus >= 201703L
#include <string>
#include <utility>

#include <lull/hash_map.hpp>
#include <lull/intrusive_hash_map.hpp>

// wrong 1, from c++17: use of deleted function|deleted (copy |move )?constructor
// wrong 2, from c++17: use of deleted function|deleted (copy |move )?constructor|is implicitly deleted
// wrong 3, from c++17: deleted function
// wrong 4, from c++17: assignment of member|cannot assign to|read-only
// wrong 5, from c++17: assignment of member|cannot assign to|read-only
// wrong 6, from c++17: use of deleted function|deleted (copy |move )?constructor
// wrong 7, from c++17: invalid conversion|no matching|cannot convert|cannot initialize|no viable|invalid user-defined
// wrong 8, from c++17: ignoring return(ed)? value
// wrong 9, from c++17: ignoring return(ed)? value
// wrong 10, from c++17: ignoring return(ed)? value
// wrong 11, from c++17: the member is a lull_hash_node
// wrong 12, from c++17: use of deleted function|deleted operator|selected deleted|is implicitly deleted

struct user {
	std::string name;
	lull_hash_node node;
	lull_rcu_head head;
	int other;
};

using by_name = lull::intrusive_hash_map<user, &user::node, &user::name>;

static void drop(lull_rcu_head *head) noexcept
{
	delete lull_container_of(head, user, head);
}

static lull::hash_map<int, int>::found look(const lull::hash_map<int, int> &m)
{
	return m.find(1); /* made in place */
}

int main()
{
	lull::hash_map<int, int> m;
	by_name users;
	auto one = look(m);

	if (user *gone = users.erase("name"))
		lull_rcu_call(&gone->head, drop);
#if defined WRONG && WRONG == 1
	auto copy = one;
#elif defined WRONG && WRONG == 2
	auto task = [moved = std::move(one)] { return moved->second; };
#elif defined WRONG && WRONG == 3
	auto *for_ever = new lull::hash_map<int, int>::found(m.find(1));
#elif defined WRONG && WRONG == 4
	one->second = 2;
#elif defined WRONG && WRONG == 5
	for (auto &element : m)
		element.second = 2;
#elif defined WRONG && WRONG == 6
	lull::hash_map<int, int> copy(m);
#elif defined WRONG && WRONG == 7
	(void)m.contains("one");
#elif defined WRONG && WRONG == 8
	m.find(1);
#elif defined WRONG && WRONG == 9
	users.erase("name");
#elif defined WRONG && WRONG == 10
	users.insert_or_replace(*new user());
#elif defined WRONG && WRONG == 11
	lull::intrusive_hash_map<user, &user::other, &user::name> wrong;
	(void)wrong;
#elif defined WRONG && WRONG == 12
	one = m.find(2);
#endif
	return one ? one->second : 0;
}
#else
/* C++14 has not got the headers. */
#endif
