/* SPDX-License-Identifier: MIT */
/*
 * list.hpp - the lists of list.h and hlist.h with types: objects of the user's, walked through while they change.
 *
 *	struct route {
 *		lull_list_head links;
 *		lull_rcu_head head;
 *		...
 *	};
 *	lull::list<route, &route::links> routes;	also of static storage: needs no code to begin
 *
 *	reader, no lock				updater, with the lock of the list
 *	LULL_RCU_GUARD();			routes.push_back(*fresh);
 *	for (route &r : routes)			lull_rcu_call(&routes.erase(*stale)->head, drop);
 *		...				for (route &r : routes.locked())
 *							if (r.is_old())
 *								lull_rcu_call(&routes.erase(r)->head, drop);
 *
 * list.h says what readers see. A list owns nothing, and each function does what the _rcu function of the same name in
 * list.h does, with the same instructions. Nothing allocates, waits (but for splice_back()) or throws. Readers are in a
 * read section, or hold the lock; all others hold the lock. An element that was erased or replaced may not be changed,
 * freed or added anywhere before a grace period has passed.
 */
#ifndef LULL_LIST_HPP
#define LULL_LIST_HPP

#include <type_traits>
#include <utility>

#include <lull/detail/member.hpp>
#include <lull/hlist.h>
#include <lull/list.h>
#include <lull/rcu.h>

namespace lull
{
namespace detail
{

/* A position, and how to go on: @next(node). The end of a list is its head, of an hlist it is NULL. */
template <class T, auto Member, class Node, Node *(*next)(const Node *)> class list_position
{
public:
	explicit list_position(const Node *node) noexcept : at(node) {}
	T &operator*() const noexcept { return *object_of(at, static_cast<Node std::remove_const_t<T>::*>(Member)); }
	T *operator->() const noexcept { return __builtin_addressof(**this); }
	list_position &operator++() noexcept
	{
		at = next(at);
		return *this;
	}
	bool operator==(const list_position &other) const noexcept { return at == other.at; }
	bool operator!=(const list_position &other) const noexcept { return at != other.at; }

private:
	const Node *at;
};

/* The same for the holder of the lock. It looks ahead, so the element may be erased, and freed. */
template <class T, auto Member, class Node> class list_locked_position
{
public:
	explicit list_locked_position(Node *node) noexcept : at(node), ahead(node ? node->next : nullptr) {}
	T &operator*() const noexcept { return *object_of(at, static_cast<Node T::*>(Member)); }
	T *operator->() const noexcept { return __builtin_addressof(**this); }
	list_locked_position &operator++() noexcept
	{
		at = ahead;
		ahead = at ? at->next : nullptr;
		return *this;
	}
	bool operator==(const list_locked_position &other) const noexcept { return at == other.at; }
	bool operator!=(const list_locked_position &other) const noexcept { return at != other.at; }

private:
	Node *at, *ahead;
};

template <class Position> class list_range
{
public:
	list_range(Position from, Position to) noexcept : first(from), last(to) {}
	Position begin() const noexcept { return first; }
	Position end() const noexcept { return last; }

private:
	Position first, last;
};

inline lull_list_head *list_next(const lull_list_head *node) noexcept
{
	return lull_list_next_rcu(node);
}

inline lull_list_head *list_prev(const lull_list_head *node) noexcept
{
	return lull_list_prev_rcu(node);
}

inline lull_hlist_node *hlist_next(const lull_hlist_node *node) noexcept
{
	return lull_hlist_next_rcu(node);
}

} // namespace detail

/*
 * A circular list. @Member is the address of the lull_list_head in T. With @both_ways, readers may walk backwards; all
 * deletions then are the bidir ones, which do not notice that an element is deleted twice.
 */
template <class T, auto Member, bool both_ways = false> class list
{
	template <class Value> using position = detail::list_position<Value, Member, lull_list_head, detail::list_next>;
	template <class Value> using back_position = detail::list_position<Value, Member, lull_list_head, detail::list_prev>;
	using locked_position = detail::list_locked_position<T, Member, lull_list_head>;
	static_assert(detail::points_to<decltype(Member), lull_list_head>, "the member is a lull_list_head");

public:
	using value_type = T;
	using iterator = position<T>;
	using const_iterator = position<const T>;

	constexpr list() noexcept : head{ &head, &head } {}
	list(const list &) = delete;
	list &operator=(const list &) = delete;

	/* ---- readers ---------------------------------------------------------------------------------------- */

	iterator begin() noexcept { return iterator(lull_list_next_rcu(&head)); }
	iterator end() noexcept { return iterator(&head); }
	const_iterator begin() const noexcept { return const_iterator(lull_list_next_rcu(&head)); }
	const_iterator end() const noexcept { return const_iterator(&head); }

	/* Go on behind @element, which was found in this same read section. */
	iterator after(T &element) noexcept { return iterator(lull_list_next_rcu(node_of(element))); }

	/* From the last to the first. */
	auto reversed() noexcept
	{
		static_assert(both_ways, "readers walk backwards on lists with both_ways only");
		return detail::list_range<back_position<T>>(back_position<T>(lull_list_prev_rcu(&head)), back_position<T>(&head));
	}

	/* NULL: it is empty. */
	T *front() noexcept
	{
		lull_list_head *first = lull_list_next_rcu(&head);

		return first != &head ? object(first) : nullptr;
	}

	/* Without the lock the answer is only a hint. Any context. */
	bool empty() const noexcept { return lull_list_empty(&head); }

	/* ---- the holder of the lock -------------------------------------------------------------------------- */

	/* for (T &element : list.locked()): the body may erase the element, but not the next one. */
	auto locked() noexcept
	{
		return detail::list_range<locked_position>(locked_position(head.next), locked_position(&head));
	}

	void push_front(T &element) noexcept { lull_list_add_rcu(node_of(element), &head); }
	void push_back(T &element) noexcept { lull_list_add_tail_rcu(node_of(element), &head); }
	void insert_before(T &at, T &element) noexcept { lull_list_add_tail_rcu(node_of(element), node_of(at)); }
	void insert_after(T &at, T &element) noexcept { lull_list_add_rcu(node_of(element), node_of(at)); }

	/* Take @element off. Returns its address: retire it. */
	[[nodiscard]] T *erase(T &element) noexcept
	{
		if constexpr (both_ways)
			lull_list_bidir_del_rcu(node_of(element));
		else
			lull_list_del_rcu(node_of(element));
		return __builtin_addressof(element);
	}

	/* Take the first element off; NULL: there is none. */
	[[nodiscard]] T *pop_front() noexcept { return head.next != &head ? erase(*object(head.next)) : nullptr; }

	/* Put @element in the place of @old. Returns the address of @old: retire it. */
	[[nodiscard]] T *replace(T &old, T &element) noexcept
	{
		if constexpr (both_ways)
			lull_list_bidir_replace_rcu(node_of(old), node_of(element));
		else
			lull_list_replace_rcu(node_of(old), node_of(element));
		return __builtin_addressof(old);
	}

	/* Take off all elements, and call @retire(element) for each. */
	template <class Retire> void clear(Retire retire) noexcept(noexcept(retire(std::declval<T &>())))
	{
		while (T *element = pop_front())
			retire(*element);
	}

	/* Move all of @other to the end. With both locks; waits for a grace period, so not in a read section. */
	void splice_back(list &other) noexcept { lull_list_splice_tail_init_rcu(&other.head, &head, lull_rcu_synchronize); }

	lull_list_head *native_handle() noexcept { return &head; }

private:
	lull_list_head head;

	static lull_list_head *node_of(T &element) noexcept { return &(element.*Member); }
	static T *object(lull_list_head *node) noexcept
	{
		return detail::object_of(node, static_cast<lull_list_head T::*>(Member));
	}
};

/* A list whose head is one word, for buckets. @Member is the address of the lull_hlist_node in T. */
template <class T, auto Member> class hlist
{
	template <class Value> using position = detail::list_position<Value, Member, lull_hlist_node, detail::hlist_next>;
	using locked_position = detail::list_locked_position<T, Member, lull_hlist_node>;
	static_assert(detail::points_to<decltype(Member), lull_hlist_node>, "the member is a lull_hlist_node");

public:
	using value_type = T;
	using iterator = position<T>;
	using const_iterator = position<const T>;

	constexpr hlist() noexcept : head{ nullptr } {}
	hlist(const hlist &) = delete;
	hlist &operator=(const hlist &) = delete;

	/* ---- readers ---------------------------------------------------------------------------------------- */

	iterator begin() noexcept { return iterator(lull_hlist_first_rcu(&head)); }
	iterator end() noexcept { return iterator(nullptr); }
	const_iterator begin() const noexcept { return const_iterator(lull_hlist_first_rcu(&head)); }
	const_iterator end() const noexcept { return const_iterator(nullptr); }
	iterator after(T &element) noexcept { return iterator(lull_hlist_next_rcu(node_of(element))); }
	T *front() noexcept
	{
		lull_hlist_node *first = lull_hlist_first_rcu(&head);

		return first ? object(first) : nullptr;
	}
	bool empty() const noexcept { return lull_hlist_empty(&head); }

	/* ---- the holder of the lock -------------------------------------------------------------------------- */

	auto locked() noexcept
	{
		return detail::list_range<locked_position>(locked_position(head.first), locked_position(nullptr));
	}
	void push_front(T &element) noexcept { lull_hlist_add_head_rcu(node_of(element), &head); }
	/* Walks to the end. */
	void push_back(T &element) noexcept { lull_hlist_add_tail_rcu(node_of(element), &head); }
	void insert_before(T &at, T &element) noexcept { lull_hlist_add_before_rcu(node_of(element), node_of(at)); }
	void insert_after(T &at, T &element) noexcept { lull_hlist_add_behind_rcu(node_of(element), node_of(at)); }
	[[nodiscard]] T *erase(T &element) noexcept
	{
		lull_hlist_del_rcu(node_of(element));
		return __builtin_addressof(element);
	}
	[[nodiscard]] T *pop_front() noexcept { return head.first ? erase(*object(head.first)) : nullptr; }
	[[nodiscard]] T *replace(T &old, T &element) noexcept
	{
		lull_hlist_replace_rcu(node_of(old), node_of(element));
		return __builtin_addressof(old);
	}
	template <class Retire> void clear(Retire retire) noexcept(noexcept(retire(std::declval<T &>())))
	{
		while (T *element = pop_front())
			retire(*element);
	}

	lull_hlist_head *native_handle() noexcept { return &head; }

private:
	lull_hlist_head head;

	static lull_hlist_node *node_of(T &element) noexcept { return &(element.*Member); }
	static T *object(lull_hlist_node *node) noexcept
	{
		return detail::object_of(node, static_cast<lull_hlist_node T::*>(Member));
	}
};

} // namespace lull

#endif /* LULL_LIST_HPP */
