/* SPDX-License-Identifier: MIT */
/*
 * kinds.hpp - how objects of a class are retired, as its base says, and so how readers may find and keep them.
 *
 * Nothing in here is for programs. hazptr: when no slot names the object. rcu: after a grace period. bridge: after a grace
 * period, and then when no slot names it.
 */
#ifndef LULL_KINDS_HPP
#define LULL_KINDS_HPP

#include <lull/detail/reclaim.hpp>

#include <lull/cohort.h>

namespace lull
{

template <class T, class D> class rcu_obj_base;	   /* lull/rcu */
template <class T, class D> class cohort_obj_base; /* lull/cohort.hpp */
template <class T, class D> class rcu_cohort_obj_base;
template <class T, class D> class bridge_obj_base; /* lull/held.hpp */
template <class T, class D> class bridge_cohort_obj_base;

namespace detail
{

template <class T>
inline constexpr bool is_hazptr_kind = is_protectable<lull::hazard_pointer_obj_base, T> ||
				       is_protectable<lull::cohort_obj_base, T>;
template <class T>
inline constexpr bool is_rcu_kind = is_protectable<lull::rcu_obj_base, T> ||
				    is_protectable<lull::rcu_cohort_obj_base, T>;
template <class T>
inline constexpr bool is_bridge_kind = is_protectable<lull::bridge_obj_base, T> ||
				       is_protectable<lull::bridge_cohort_obj_base, T>;

/* Does a grace period come before the end of a T? Then a T that is found in a section stays until the section ends. */
template <class T> inline constexpr bool waits_for_sections = is_rcu_kind<T> || is_bridge_kind<T>;
/* Does it come after the last slot that names it? */
template <class T> inline constexpr bool waits_for_slots = is_hazptr_kind<T> || is_bridge_kind<T>;

/* The base by whose address slots name a T, beside that of reclaim.hpp. */
template <template <class, class> class Base, class T> struct named_by_base : std::true_type {
	using type = typename base_of<Base, T>::type;
};
template <class T>
struct named_by<T, std::enable_if_t<is_protectable<lull::cohort_obj_base, T>>> : named_by_base<lull::cohort_obj_base, T> {
};
template <class T>
struct named_by<T, std::enable_if_t<is_protectable<lull::bridge_obj_base, T>>> : named_by_base<lull::bridge_obj_base, T> {
};
template <class T>
struct named_by<T, std::enable_if_t<is_protectable<lull::bridge_cohort_obj_base, T>>>
	: named_by_base<lull::bridge_cohort_obj_base, T> {
};

/* Return how far behind the beginning of a T slots name it. */
template <class T> inline std::uintptr_t name_offset() noexcept
{
	using object = std::remove_cv_t<T>;

	return offset_of_base<typename named_by<object>::type, object>();
}

/* ---- heads with a deleter ----------------------------------------------------------------------- */

struct cohort_head_box {
	struct lull_cohort_head member;
};

/* Node as in reclaim.hpp, with room for a cohort. */
template <class D, bool is_empty = std::is_empty_v<D> && !std::is_final_v<D>> struct cohort_node : cohort_head_box, private D {
	D &deleter() noexcept
	{
		return *this;
	}
};

template <class D> struct cohort_node<D, false> : cohort_head_box {
	D stored;

	D &deleter() noexcept
	{
		return stored;
	}
};

/*
 * Retire a T by the C functions. T derives from Base (cohort_obj_base<T, D> or its like), and Base from this class. Its
 * first member is a Node, so both have one address.
 */
template <class Base, class T, class D, class Node> class retirable
{
      protected:
	template <class Is> static void lull__check() noexcept
	{
		static_assert(Is::value, "T must have one such base, of T itself, public and not virtual");
		static_assert(std::is_invocable_v<D &, T *>, "a deleter is called with a T *");
	}

	struct lull_head *lull__prepare(D &&d) noexcept
	{
		lull__node.deleter() = std::move(d);
		return reinterpret_cast<struct lull_head *>(&lull__node);
	}

	struct lull_cohort_head *lull__prepare_member(D &&d) noexcept
	{
		lull__node.deleter() = std::move(d);
		return reinterpret_cast<struct lull_cohort_head *>(&lull__node);
	}

	/* The callbacks: @head is the first member of the node. */
	static void lull__reclaim(struct lull_head *head) noexcept
	{
		lull__end(head);
	}

	static void lull__reclaim_member(struct lull_cohort_head *head) noexcept
	{
		lull__end(head);
	}

      private:
	template <class Head> static void lull__end(Head *head) noexcept
	{
		retirable *self = reinterpret_cast<retirable *>(head);

		delete_by(self->lull__node.deleter(), static_cast<T *>(static_cast<Base *>(self)));
	}

	Node lull__node;
};

} // namespace detail
} // namespace lull

#endif /* LULL_KINDS_HPP */
