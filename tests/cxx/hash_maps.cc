/* SPDX-License-Identifier: MIT */
/*
 * hash_maps.cc - sections stay in their blocks, elements do not change, and no element is left unretired.
 */
// from c++17
#if __cplusplus >= 201703L
#include <string>
#include <utility>

#include <lull/hash_map.hpp>
#include <lull/intrusive_hash_map.hpp>

struct user {
	std::string name;
	lull_hash_node node;
	lull_rcu_head head;
	int other;
};

using map = lull::hash_map<int, int>;
using by_name = lull::intrusive_hash_map<user, &user::node, &user::name>;

static void drop(lull_rcu_head *head) noexcept
{
	delete lull_container_of(head, user, head);
}

static map::found look(const map &m)
{
	return m.find(1); /* made in place */
}

int main()
{
	map m;
	by_name users;
	auto one = look(m);

	if (user *gone = users.erase("name"))
		lull_rcu_call(&gone->head, drop);
	WRONG("deleted", auto copy = one;)
	WRONG("deleted", auto task = [moved = std::move(one)] { return moved->second; };)
	WRONG("deleted", auto *for_ever = new map::found(m.find(1));)
	WRONG("assignment of member|cannot assign to|read-only", one->second = 2;)
	WRONG("assignment of member|cannot assign to|read-only", for (auto &element : m) element.second = 2;)
	WRONG("deleted", map copy(m);)
	WRONG("there is no std::hash of these keys", struct unhashed { int a; }; (void)sizeof(lull::hash_map<unhashed, int>);)
	WRONG("invalid conversion|no matching|cannot convert|cannot initialize|no viable|invalid user-defined", (void)m.contains("one");)
	WRONG("ignoring return", m.find(1);)
	WRONG("ignoring return", users.erase("name");)
	WRONG("ignoring return", users.insert_or_replace(*new user());)
	WRONG("the member is a lull_hash_node", lull::intrusive_hash_map<user, &user::other, &user::name> wrong; (void)wrong;)
	WRONG("deleted", one = m.find(2);)
	return one ? one->second : 0;
}
#else
/* C++14 has not got the headers. */
#endif
